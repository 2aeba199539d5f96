//! Joins the stages: threads and their shutdown, one recording or many, and the second pass that burns graphics in.
//! The only place that wires channels, and the only one that knows every edge.

pub mod analyse;
pub mod burn;
mod link;
pub mod progress;
mod stages;

pub use stages::{Spent, run};

use std::path::PathBuf;

use crate::{calibration, capture, config, detect, overlay, sinks};

/// Why a command could not do its work. The edges' own messages name the file and say what to do.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error(transparent)]
    Capture(#[from] capture::Error),
    #[error("{}: {source}", video.display())]
    Find { video: PathBuf, source: calibration::Error },
    #[error(transparent)]
    Calibration(#[from] calibration::Error),
    #[error(
        "{}: the calibration is for pictures of {}x{} pixels, these have {}x{}; calibrate this camera with 'cuemark calibrate'",
        video.display(), calibrated.0, calibrated.1, pictures.0, pictures.1
    )]
    OtherPictureSize {
        video: PathBuf,
        calibrated: (usize, usize),
        pictures: (usize, usize),
    },
    #[error("{}: {source}", video.display())]
    Detect { video: PathBuf, source: detect::Error },
    #[error(transparent)]
    Config(#[from] config::Error),
    #[error(transparent)]
    Sink(#[from] sinks::Error),
    #[error(transparent)]
    Overlay(#[from] overlay::Error),
    #[error("{}: no frame lies between --from and --to; the recording is {duration_s:.1} s long", video.display())]
    NothingInRange { video: PathBuf, duration_s: f64 },
    #[error("stopped by hand after {at_s:.1} s of video; what was found so far is in the files that end in .partial")]
    Interrupted { at_s: f64 },
    #[error("stopped by hand after {at_s:.1} s of video; the overlay is not written, the analysis is complete")]
    OverlayInterrupted { at_s: f64 },
    #[error("{}: not the recording that this result was made from ({expected}); give it with --video", video.display())]
    OtherVideo { video: PathBuf, expected: String },
    #[error("cannot start the thread '{name}': {source}; close other programs or raise the limit of processes")]
    Thread { name: &'static str, source: std::io::Error },
    #[error("the stage '{name}' stopped without a word; please report it with the recording")]
    Died { name: &'static str },
}
