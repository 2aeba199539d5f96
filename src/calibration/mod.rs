//! From an installed camera or a picture to a camera model.
//!
//! [`load`] and [`save`] read and write calibration files, [`solve`] turns landmarks of known place into a camera,
//! [`find`] looks for the landmarks itself: it finds a billiard table in pictures without help. Everything here works in
//! raw pixels on one side and in metres of the table frame ([`crate::space`]) on the other. Nothing here follows a camera
//! over time: a calibration holds for one camera that stands still.

use std::path::PathBuf;

use crate::space::Camera;
use crate::table::Table;

mod corners;
mod file;
#[cfg(feature = "vision")]
mod find_table;
#[cfg(feature = "vision")]
mod preview;
mod solve;

pub use corners::{NoseCorners, solve_from_corners};
pub use file::{FORMAT, load, save};
#[cfg(feature = "vision")]
pub use find_table::{View, find, view_of};
#[cfg(feature = "vision")]
pub use preview::preview;
pub use solve::{Landmark, Solution, Start, Target, solve};

/// A camera, the table it looks at, and how well the two fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Pose, focal length and distortion.
    pub camera: Camera,
    /// Sizes of the table.
    pub table: Table,
    /// Root mean square distance of the landmarks from where the camera puts them, millimetres on the table.
    pub residual_mm: f64,
    /// Largest such distance among the landmarks that the fit kept, millimetres on the table.
    pub residual_max_mm: f64,
    /// Where the calibration comes from, for people: `found in 6 pictures`, `nose corners by hand`.
    pub from: String,
}

/// What can go wrong between a picture or a file and a calibration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No picture shows a whole table of this kind.
    #[error("no billiard table in view: {reason}; use pictures that show the whole table, or give its corners with --corners")]
    NoTable {
        /// The furthest that the search came.
        reason: String,
    },
    /// A table was found or marked, but its lines do not fit one camera.
    #[error(
        "the table's lines do not fit a {length_m:.2} x {width_m:.2} m table: {residual_mm:.1} mm off, {limit_mm:.1} mm allowed; \
         check the kind of table, or give its corners with --corners"
    )]
    Misfit {
        /// Playing surface along x, metres.
        length_m: f64,
        /// Playing surface along y, metres.
        width_m: f64,
        /// Root mean square misfit, millimetres.
        residual_mm: f64,
        /// The bound that it breaks, millimetres.
        limit_mm: f64,
    },
    /// The table that was found is of the other kind.
    #[error(
        "the table in view has {found} pockets, this game is played on one with {expected}; choose the game that is played with --game"
    )]
    WrongTable {
        /// `six` or `no`.
        found: &'static str,
        /// `six` or `none`.
        expected: &'static str,
    },
    /// The landmarks do not determine a camera.
    #[error("these points do not determine a camera: {reason}; give the four nose corners of the table, each in its own place")]
    Unsolvable {
        /// What is missing.
        reason: String,
    },
    /// The file cannot be read.
    #[error("cannot read calibration '{}': {source}; check the path", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("calibration '{}' is not usable: {reason}; write it anew with `cuemark calibrate`", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, one line.
        reason: String,
    },
    /// The file cannot be written.
    #[error("cannot write calibration '{}': {source}; check that the folder exists and has room", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// OpenCV refused a picture.
    #[cfg(feature = "vision")]
    #[error("OpenCV could not work on the picture: {0}; check that the recording is not damaged")]
    OpenCv(#[from] opencv::Error),
    /// The picture of a calibration could not be made.
    #[cfg(feature = "vision")]
    #[error("cannot make a {width}×{height} PNG of the picture; calibrate without --preview")]
    Preview {
        /// Width, pixels.
        width: u32,
        /// Height, pixels.
        height: u32,
    },
}
