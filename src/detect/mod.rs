//! Pictures to ball observations. Pixels become metres at the end of this stage and nowhere else.
//!
//! [`Detector::new`] learns from some frames what the empty cloth looks like at every place and what colours the balls
//! have. [`Detector::detect`] then looks at every place a ball can be at a resolution where a ball is some eight cells
//! across (`scan`), and measures what may be a ball at full resolution (`refine`). Everything stays in the decoder's
//! YUV. The result depends on the samples and on this frame alone.

mod cloth;
mod colour;
mod grid;
mod outline;
mod refine;
mod scan;
mod surround;
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
use outline::Outline;
use refine::{Measured, Scene};
use scan::{Candidate, Scan};
use surround::Surround;
use view::View;

/// The edge of a ball seen aslant is found too far up, because its lower limb is as dark as its shadow: share of the
/// upright diameter in the picture, and how far that varies with lamps and cloth. Median over rendered clips from three
/// heights, 0.014 in each; the half-way edge of a sphere lit from above gives the same sign.
const LIMB_BIAS: f64 = 0.014;
const LIMB_SPREAD: f64 = 0.02;
/// Least visible share of a ball that is observed: with less, the edge no longer fixes the centre.
const LEAST_COVERAGE: f64 = 0.35;
/// The same for a streak, of which a part tells nothing about the middle.
const LEAST_STREAK_COVERAGE: f64 = 0.6;
/// Share of the ball's own colour among all ball colours within its outline; spots cover at most two fifths of a side.
const LEAST_OWN: f64 = 0.55;
/// Colour of more area than this many balls is no ball.
const MOST_COVERAGE: f64 = 1.8;
/// Share of the ball in its cells over what its sweep explains. Balls in rendered clips lie in 0.75..=2.2 (99 %), arms and
/// hands below 0.71, shafts that look like streaks mostly above 2.5.
const PURITY: Range<f64> = 0.72..2.4;
/// Distance of the middle's colour from the ball's, deviations of a ball's colour, beyond which it is something else: skin
/// and wood resemble a mixture of a ball with cloth, but not a ball. Rendered balls of one colour stay below 2.8 (99.8 %),
/// hands begin at 3.3; white spots on a fast red ball smear to 4.6, and are believed when the whole edge is seen.
const STRANGE: f64 = 3.0;
const STRANGE_WHOLE: f64 = 5.0;
/// Share of the edge that counts as the whole of it.
const WHOLE: f64 = 0.76;
/// Distance of a ball's colour from the cloth's from which the share is told reliably, deviations of a ball's colour.
const DISTINCT: f64 = 8.0;
/// The same for a ball hardly different from the cloth, told by its silhouette: more of its lower limb is lost. Median and
/// spread over rendered red balls on burgundy cloth at 0.5 to 3 m/s, seen at 30 to 45 degrees.
const SILHOUETTE_BIAS: f64 = 0.08;
const SILHOUETTE_SPREAD: f64 = 0.05;
/// Error of a centre told by the silhouette across every direction, ball radii: the way of the ball is lost in it.
const SILHOUETTE_ERROR: f64 = 0.08;
/// Chroma samples sit between no and half a pixel right of the even columns.
const SITING_RANGE_PX: f64 = 0.5;
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
    surround: Surround,
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
        if let Some(frame) = samples.iter().find(|f| !fits(camera, &f.image)) {
            return Err(Error::Size {
                frame_width: frame.image.width(),
                frame_height: frame.image.height(),
                width: camera.width_px(),
                height: camera.height_px(),
            });
        }
        let mut surround = Surround::new(&view);
        let images: Vec<&Image> = samples.iter().map(|f| &f.image).collect();
        let chosen = surround.learn(&images);
        let in_view: Vec<&Frame> = samples.iter().zip(chosen).filter(|(_, c)| *c).map(|(f, _)| f).collect();
        let mut read = Vec::with_capacity(in_view.len());
        for frame in &in_view {
            let mut cells = Cells::new(&grid);
            cells.read(&grid, &frame.image, &Light::SAME.tables());
            read.push(cells);
        }
        let cloth = Cloth::learn(&grid, &read).ok_or(Error::NoCloth(samples.len()))?;
        let mut scan = Scan::new(&grid);
        let mut cells = Cells::new(&grid);
        let mut blobs = Vec::new();
        for frame in &in_view {
            if let Some(light) = cloth.light(&grid, &frame.image) {
                cells.read(&grid, &frame.image, &light.tables());
                blobs.push(scan.blobs(&grid, &cells, &cloth, &view));
            }
        }
        let palette = Palette::new(
            cloth.typical,
            colour::learn_kinds(cloth.typical, colour::typical_kinds(balls), &blobs),
        );
        let mut detector = Self {
            view,
            grid,
            cloth,
            palette,
            cells,
            scan,
            surround,
            siting_px: 0.0,
        };
        detector.learn_again(&in_view);
        detector.siting_px = detector.learn_siting(&in_view);
        tracing::debug!(cloth = ?detector.palette.cloth, kinds = ?detector.palette.kinds, "colours learnt");
        Ok(detector)
    }

    /// Learns the balls' colours once more from the balls that the first guess finds: their round edges tell them from
    /// other things better than their blobs do.
    fn learn_again(&mut self, samples: &[&Frame]) {
        /// Part of the radius whose colour is taken: clear of the blurred edge.
        const CORE: f64 = 0.65;
        let mut colours = Vec::new();
        for frame in samples {
            let Some(light) = self.cloth.light(&self.grid, &frame.image) else {
                continue;
            };
            let candidates = self.look(frame, light);
            let scene = self.scene(&frame.image, light);
            let round = |c: &Candidate| scene.measure(c).filter(|m| m.edge > WHOLE && !m.is_streak);
            let mut outlines: Vec<Outline> = Vec::new();
            for m in candidates.iter().filter_map(round) {
                if outlines
                    .iter()
                    .all(|o| o.relative_distance(m.outline.centre) > SAME_BALL_RADII)
                {
                    outlines.push(m.outline);
                }
            }
            colours.push(
                outlines
                    .iter()
                    .filter_map(|o| self.cells.colour_within(&self.grid, o, CORE))
                    .collect(),
            );
        }
        self.palette = Palette::new(
            self.cloth.typical,
            colour::learn_kinds(self.cloth.typical, self.palette.kinds.clone(), &colours),
        );
    }

    /// Whether chroma is sited on even columns (0, the default of H.264) or half way to the next (0.5, what many converters
    /// write without saying so). Seen from how far a ball's edges in luma lie from those in chroma.
    fn learn_siting(&mut self, samples: &[&Frame]) -> f64 {
        let mut shifts = Vec::new();
        for frame in samples {
            let Some(light) = self.cloth.light(&self.grid, &frame.image) else {
                continue;
            };
            for c in self.look(frame, light) {
                let scene = self.scene(&frame.image, light);
                let x = |weights| {
                    let scene = Scene { weights, ..scene };
                    scene.measure(&c).filter(|m| m.edge > WHOLE).map(|m| m.outline.centre.x)
                };
                shifts.extend(x([1.0, 0.0]).zip(x([0.0, 1.0])).map(|(luma, chroma)| luma - chroma));
            }
        }
        shifts.sort_by(f64::total_cmp);
        // The mean of the middle half, drawn toward the middle of both possibilities as one more ball's worth of evidence.
        let n = shifts.len();
        let middle = &shifts[n / 4..n - n / 4];
        let prior = SITING_RANGE_PX / 2.0;
        let mean = (middle.iter().sum::<f64>() + prior) / (middle.len() as f64 + 1.0);
        tracing::debug!(mean, n, "chroma siting");
        mean.clamp(0.0, SITING_RANGE_PX)
    }

    /// Scans a frame for what may be balls.
    fn look(&mut self, frame: &Frame, light: Light) -> Vec<Candidate> {
        self.cells.read(&self.grid, &frame.image, &light.tables());
        self.scan.classify(&self.grid, &self.cells, &self.cloth, &self.palette);
        self.scan
            .candidates(&self.grid, &self.cells, &self.cloth, &self.palette, &self.view)
    }

    fn scene<'a>(&'a self, image: &'a Image, light: Light) -> Scene<'a> {
        Scene {
            grid: &self.grid,
            view: &self.view,
            palette: &self.palette,
            planes: [image.y(), image.u(), image.v()],
            light,
            scan: &self.scan,
            cells: &self.cells,
            cloth: &self.cloth,
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
        if !self.surround.is_in_view(&frame.image, light) {
            return result;
        }
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
    let (bias, spread) = if candidate.silhouette {
        (SILHOUETTE_BIAS, SILHOUETTE_SPREAD)
    } else {
        (LIMB_BIAS, LIMB_SPREAD)
    };
    let at = scene.view.on_bed(measured.outline.centre - lean * bias)?;
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
    let strange = if measured.edge.min(measured.fit) > WHOLE {
        STRANGE_WHOLE
    } else {
        STRANGE
    };
    if inside.strangeness > strange {
        return None;
    }
    let least = if measured.is_streak {
        LEAST_STREAK_COVERAGE
    } else {
        LEAST_COVERAGE
    };
    let own = inside.own_share(candidate.kind);
    if !(least..MOST_COVERAGE).contains(&coverage)
        || own < LEAST_OWN
        || !purity_of_balls(scene.palette, candidate).contains(&inside.purity)
    {
        return None;
    }
    let ball = Observation {
        kinds: scene.palette.rank(&inside.weights),
        at,
        covariance: covariance_m2(
            scene,
            edge_covariance_px2(scene, candidate, &measured) + lean * lean.transpose() * spread.powi(2),
            at,
        )?,
        // Of a ball like the cloth the dark limb is lost, not hidden: the edge tells how much of the ball is free.
        coverage: if candidate.silhouette || scene.palette.distance_to_cloth(candidate.kind) < DISTINCT {
            coverage.max(measured.edge)
        } else {
            coverage
        }
        .min(1.0),
    };
    // Told by its colour a ball is better placed than told by its silhouette.
    let preference = if candidate.silhouette { 0.0 } else { 2.0 };
    Some((preference + measured.edge + coverage, ball))
}

/// Error of the centre as the edges give it. Where ball and cloth are alike, coder noise moves an edge by as much more as
/// the contrast is less.
fn edge_covariance_px2(scene: &Scene<'_>, candidate: &Candidate, measured: &Measured) -> Matrix2<f64> {
    let alike = (scene.palette.distance_to_cloth(candidate.kind) / DISTINCT).clamp(f64::EPSILON, 1.0);
    let mut covariance = measured.covariance_px2 / (alike * alike);
    if candidate.silhouette {
        covariance += Matrix2::identity() * (SILHOUETTE_ERROR * measured.outline.mean_radius_px()).powi(2);
    }
    covariance
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
