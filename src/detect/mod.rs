//! Pictures to ball observations. Pixels become metres at the end of this stage and nowhere else.
//!
//! [`Detector::new`] learns from some frames what the empty cloth looks like at every place and what colours the balls
//! have. [`Detector::detect`] then looks at every place a ball can be at a resolution where a ball is some eight cells
//! across ([`scan`]), and measures what may be a ball at full resolution ([`refine`]). Everything stays in the decoder's
//! YUV. The result depends on the samples and on this frame alone.

mod cloth;
mod colour;
mod grid;
mod outline;
mod refine;
mod scan;
mod view;

use std::ops::Range;

use nalgebra::Matrix2;

use crate::ball::Ball;
use crate::frame::{Frame, Image};
use crate::observation::{FrameObservations, Observation};
use crate::space::{Camera, TablePoint};
use crate::table::Table;
use crate::units::FrameNo;

use cloth::{Cloth, Light};
use colour::Palette;
use grid::{Cells, Grid};
use refine::Scene;
use scan::{Candidate, Scan};
use view::View;

/// The edge of a ball seen aslant is found too far up, because its lower limb is as dark as its shadow: share of the
/// upright diameter in the picture, and how far that varies with lamps and cloth. Median over rendered clips from three
/// heights, 0.014 in each; the half-way edge of a sphere lit from above gives the same sign.
const LIMB_BIAS: f64 = 0.014;
const LIMB_SPREAD: f64 = 0.02;
/// Least visible share of a ball that is observed: with less, the edge no longer fixes the centre.
const LEAST_COVERAGE: f64 = 0.35;
/// Colour of more area than this many balls is no ball.
const MOST_COVERAGE: f64 = 1.6;
/// Share of the ball in its cells over what its sweep explains. Balls in rendered clips lie in 0.75..=1.8 (98 %), arms and
/// hands below 0.71, shafts that look like streaks mostly above 2.
const PURITY: Range<f64> = 0.72..2.0;
/// Distance of a ball's colour from the cloth's from which the share is told reliably, deviations of a ball's colour.
const DISTINCT: f64 = 8.0;
/// Share of a ball's edge that must be seen to learn from it.
const WHOLE_EDGE: f64 = 0.7;
/// Two observations nearer than this many radii are one ball: real ones are two radii apart.
const SAME_BALL_RADII: f64 = 1.2;

/// Why no detector can be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The camera does not look at the table.
    #[error("the calibrated camera sees no part of the table's bed: calibrate again for this recording")]
    NoBed,
    /// A sample has another size than the calibrated camera.
    #[error(
        "frames are {frame_width}x{frame_height} pixels, the calibration is for {width}x{height}: calibrate again for this recording"
    )]
    Size {
        /// Pixels across a frame.
        frame_width: usize,
        /// Pixels down a frame.
        frame_height: usize,
        /// Pixels across the calibrated picture.
        width: u32,
        /// Pixels down the calibrated picture.
        height: u32,
    },
    /// No sample shows cloth where the calibration has the bed.
    #[error(
        "none of the {0} sample frames shows cloth where the calibration has the bed: check that the calibration belongs to this recording"
    )]
    NoCloth(usize),
    /// A ball that this detector does not know.
    #[error("balls of this kind cannot be detected yet: {0}; use the balls of a carom game")]
    UnknownBall(Ball),
}

/// Finds the balls of one recording.
pub struct Detector {
    view: View,
    grid: Grid,
    cloth: Cloth,
    palette: Palette,
    cells: Cells,
    scan: Scan,
    /// Pixels from an even column to its chroma sample.
    siting_px: f64,
}

impl std::fmt::Debug for Detector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Detector")
            .field("view", &self.view)
            .field("cloth", &self.palette.cloth)
            .field("kinds", &self.palette.kinds)
            .finish_non_exhaustive()
    }
}

impl Detector {
    /// Learns cloth and ball colours from `samples`, frames spread over the recording; some twenty are plenty.
    ///
    /// # Errors
    /// When the camera sees no bed, a sample's size is not the camera's, no cloth is seen, or a ball is not a carom ball.
    pub fn new(camera: &Camera, table: &Table, balls: &[Ball], samples: &[Frame]) -> Result<Self, Error> {
        if let Some(&ball) = balls.iter().find(|b| matches!(b, Ball::Cue | Ball::Numbered(_))) {
            return Err(Error::UnknownBall(ball));
        }
        let view = View {
            camera: *camera,
            table: *table,
        };
        let grid = Grid::new(camera, table).ok_or(Error::NoBed)?;
        let mut read = Vec::with_capacity(samples.len());
        for frame in samples {
            if !fits(camera, &frame.image) {
                return Err(Error::Size {
                    frame_width: frame.image.width(),
                    frame_height: frame.image.height(),
                    width: camera.width_px(),
                    height: camera.height_px(),
                });
            }
            let mut cells = Cells::new(&grid);
            cells.read(&grid, &frame.image, &Light::SAME.tables());
            read.push(cells);
        }
        let cloth = Cloth::learn(&grid, &read).ok_or(Error::NoCloth(samples.len()))?;
        let mut scan = Scan::new(&grid);
        let mut cells = Cells::new(&grid);
        let mut blobs = Vec::new();
        for frame in samples {
            if let Some(light) = cloth.light(&grid, &frame.image) {
                cells.read(&grid, &frame.image, &light.tables());
                blobs.push(scan.blobs(&grid, &cells, &cloth, &view));
            }
        }
        let palette = Palette::new(cloth.typical, colour::learn_kinds(balls, &blobs));
        tracing::debug!(cloth = ?palette.cloth, kinds = ?palette.kinds, "colours learnt");
        let mut detector = Self {
            view,
            grid,
            cloth,
            palette,
            cells,
            scan,
            siting_px: 0.0,
        };
        detector.siting_px = detector.learn_siting(samples);
        Ok(detector)
    }

    /// Whether chroma is sited on even columns (0, the default of H.264) or half way to the next (0.5, what many converters
    /// write without saying so). Seen from how far a ball's edges in luma lie from those in chroma.
    fn learn_siting(&mut self, samples: &[Frame]) -> f64 {
        let mut shifts = Vec::new();
        for frame in samples {
            let Some(light) = self.cloth.light(&self.grid, &frame.image) else {
                continue;
            };
            for c in self.look(frame, light) {
                let scene = self.scene(&frame.image, light);
                let x = |weights| {
                    let scene = Scene { weights, ..scene };
                    scene.measure(&c).filter(|m| m.edge > WHOLE_EDGE).map(|m| m.outline.centre.x)
                };
                shifts.extend(x([1.0, 0.0]).zip(x([0.0, 1.0])).map(|(luma, chroma)| luma - chroma));
            }
        }
        shifts.sort_by(f64::total_cmp);
        let shift = shifts.get(shifts.len() / 2).copied().unwrap_or(0.0);
        tracing::debug!(shift, n = shifts.len(), "chroma siting");
        if shift > 0.25 { 0.5 } else { 0.0 }
    }

    /// Scans a frame for what may be balls.
    fn look(&mut self, frame: &Frame, light: Light) -> Vec<Candidate> {
        self.cells.read(&self.grid, &frame.image, &light.tables());
        self.scan.classify(&self.grid, &self.cells, &self.cloth, &self.palette);
        self.scan.candidates(&self.grid, &self.palette, &self.view)
    }

    fn scene<'a>(&'a self, image: &'a Image, light: Light) -> Scene<'a> {
        Scene {
            grid: &self.grid,
            view: &self.view,
            palette: &self.palette,
            image,
            light,
            scan: &self.scan,
            siting_px: self.siting_px,
            weights: refine::WEIGHTS,
        }
    }

    /// The balls in one frame.
    pub fn detect(&mut self, frame: &Frame) -> FrameObservations {
        let mut result = FrameObservations {
            no: frame.no,
            at: frame.at,
            table_in_view: false,
            balls: Vec::new(),
        };
        if !fits(&self.view.camera, &frame.image) {
            return result;
        }
        let Some(light) = self.cloth.light(&self.grid, &frame.image) else {
            return result;
        };
        result.table_in_view = true;
        let candidates = self.look(frame, light);
        let scene = self.scene(&frame.image, light);
        let mut found: Vec<(f64, Observation)> = candidates.iter().filter_map(|c| observe(frame.no, &scene, c)).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, ball) in found {
            let apart = SAME_BALL_RADII * self.view.table.ball_radius_m;
            if result.balls.iter().all(|kept| kept.at.distance(ball.at) > apart) {
                result.balls.push(ball);
            }
        }
        result
    }
}

fn fits(camera: &Camera, image: &Image) -> bool {
    image.width() == camera.width_px() as usize && image.height() == camera.height_px() as usize
}

/// Measures a candidate and judges whether it is a ball; with a figure of merit.
fn observe(no: FrameNo, scene: &Scene<'_>, candidate: &Candidate) -> Option<(f64, Observation)> {
    let Some(measured) = scene.measure(candidate) else {
        tracing::trace!(frame = no.0, ?candidate, "refused");
        return None;
    };
    let lean = scene.view.upright_px(measured.outline.centre)?;
    let at = scene.view.on_bed(measured.outline.centre - lean * LIMB_BIAS)?;
    let inside = scene.inside(candidate, &measured);
    let coverage = inside.coverage;
    tracing::trace!(
        frame = no.0,
        ?candidate,
        ?measured,
        ?inside,
        x = at.x(),
        y = at.y(),
        "measured"
    );
    if !(LEAST_COVERAGE..MOST_COVERAGE).contains(&coverage) || !purity_of_balls(scene.palette, candidate).contains(&inside.purity)
    {
        return None;
    }
    let ball = Observation {
        kinds: scene.palette.rank(&inside.weights),
        at,
        covariance: covariance_m2(
            scene,
            measured.covariance_px2 + lean * lean.transpose() * LIMB_SPREAD.powi(2),
            at,
        )?,
        coverage: coverage.min(1.0),
    };
    Some((measured.edge + coverage, ball))
}

/// The purity a ball may have. Where ball and cloth are alike, a dark part of the ball looks like a mixture and less is
/// asked for.
fn purity_of_balls(palette: &Palette, candidate: &Candidate) -> Range<f64> {
    let alike = (palette.distance_to_cloth(candidate.kind) / DISTINCT).min(1.0);
    PURITY.start * alike..PURITY.end
}

/// Square pixels to square metres at `at`.
fn covariance_m2(scene: &Scene<'_>, covariance_px2: Matrix2<f64>, at: TablePoint) -> Option<crate::space::TableCovariance> {
    let metres = scene
        .view
        .camera
        .pixels_per_metre(at, scene.view.table.ball_radius_m)?
        .try_inverse()?;
    Some(metres * covariance_px2 * metres.transpose())
}
