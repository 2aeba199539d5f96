//! From landmarks of known place to a camera: Levenberg-Marquardt with a robust loss, no pixels and no OpenCV.
//!
//! Landmarks are points in the picture that belong to a line or a point of the table. All lines lie in one horizontal plane, the
//! height of the cushion's nose, so a view from straight above cannot tell a long lens far away from a short one near by. Priors on
//! the focal length and the distortion hold the solution there; balls are a few millimetres below that plane, so the choice then
//! hardly moves them.

use nalgebra::{Point2, Point3, Rotation3, SMatrix, SVector, UnitQuaternion, Vector2, Vector3};

use super::Error;
use crate::space::{Camera, ImagePoint};
use crate::table::{Rail, Table};

/// What a landmark belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Somewhere on the line of a rail's nose, at nose height.
    Nose(Rail),
    /// Somewhere on the line where a rail's cushion meets the wooden frame, at nose height; its distance from the nose is solved for.
    ClothEdge(Rail),
    /// A point of known place, metres in the table frame.
    Point(Point3<f64>),
}

/// A point in the picture and what it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Landmark {
    /// Where it was seen, raw pixels.
    pub at: ImagePoint,
    /// What it belongs to.
    pub target: Target,
    /// Standard deviation of `at`, pixels (across the line, for a line).
    pub sigma_px: f64,
}

/// From where the search for the best camera starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// A camera near the truth.
    pub camera: Camera,
    /// Distance of the cloth's outer edge from the nose, metres.
    pub cushion_width_m: f64,
    /// Whether distortion is solved for (else the start's is kept).
    pub solve_distortion: bool,
}

/// What the solver found.
#[derive(Debug, Clone, PartialEq)]
pub struct Solution {
    /// The best camera.
    pub camera: Camera,
    /// Distance of the cloth's outer edge from the nose, metres.
    pub cushion_width_m: f64,
    /// Misfit of each landmark, metres on the table, in the order given; signed for lines (positive: seen too far inside the bed).
    pub residuals_m: Vec<f64>,
    /// Misfit of each landmark in its own standard deviations.
    pub residuals_sigma: Vec<f64>,
    /// Robust sum of squares, in standard deviations, priors included.
    pub cost: f64,
}

impl Solution {
    /// Root mean square and largest misfit, metres, over those of some landmarks that lie within `limit_sigma` standard deviations.
    pub fn misfit_m(&self, landmarks: std::ops::Range<usize>, limit_sigma: f64) -> (f64, f64) {
        let (mut n, mut sum, mut largest) = (0_u32, 0.0, 0.0_f64);
        for (r, s) in self
            .residuals_m
            .iter()
            .zip(&self.residuals_sigma)
            .take(landmarks.end)
            .skip(landmarks.start)
        {
            if s.abs() <= limit_sigma {
                n += 1;
                sum += r * r;
                largest = largest.max(r.abs());
            }
        }
        ((sum / f64::from(n.max(1))).sqrt(), largest)
    }
}

/// Focal length as a share of the picture's longer side before anything is measured: lenses of 24 to 70 mm on a 36 mm sensor give
/// 0.67 to 1.94, their geometric middle is 1.14.
const PRIOR_FOCAL: f64 = 1.14;
/// Standard deviation of the natural logarithm of that share: a factor 1.7 holds two thirds of the lenses above.
const PRIOR_LOG_FOCAL_SIGMA: f64 = 0.53;
/// A focal length further from the prior than this many of its standard deviations is not believed: shares below 0.23 and above 5.6.
#[cfg(feature = "vision")]
const MAX_LOG_FOCAL_SIGMAS: f64 = 3.0;
/// Standard deviation of k1 around 0: a cheap wide lens reaches 0.2, a good one 0.03.
const PRIOR_K1_SIGMA: f64 = 0.1;
/// Standard deviation of k2 around 0: in published lens calibrations a few hundredths where k1 is about 0.1.
const PRIOR_K2_SIGMA: f64 = 0.02;
/// Standard deviation of the cushion's width around the table's, metres: makers differ by some millimetres.
const PRIOR_CUSHION_SIGMA_M: f64 = 0.004;
/// Where the robust loss starts to let go of a landmark, in standard deviations: Cauchy's usual 95 % point.
const CAUCHY_SIGMA: f64 = 2.385;
/// Steps of Levenberg-Marquardt at most; it ends earlier when the cost stands still.
const MAX_STEPS: usize = 40;
/// Tenfold dampings of one step at most: further there is no step left.
const MAX_DAMPINGS: usize = 8;
/// Relative fall of the cost under which the search ends.
const COST_TOLERANCE: f64 = 1e-7;
/// Focal lengths that every search starts from again, as shares of the picture's longer side.
const RESTART_FOCALS: [f64; 3] = [0.75, 1.1, 1.8];
/// A camera is not taken to be further than this from the table, metres: the largest arenas.
const MAX_CAMERA_DISTANCE_M: f64 = 60.0;

/// log focal, k1, k2, rotation (3), translation (3), cushion width.
const N: usize = 10;
type Step = SVector<f64, N>;

/// Sizes of the probing steps for the derivatives, units as in [`Step`]: each moves a landmark by about a hundredth of a pixel.
const PROBE: [f64; N] = [1e-5, 1e-4, 1e-4, 1e-6, 1e-6, 1e-6, 1e-5, 1e-5, 1e-5, 1e-5];

#[derive(Clone, Copy)]
struct State {
    size_px: (u32, u32),
    log_focal: f64,
    k1: f64,
    k2: f64,
    rotation: Rotation3<f64>,
    translation: Vector3<f64>,
    cushion_m: f64,
    /// The cushion's width that the feet of the ties were placed with.
    start_cushion_m: f64,
}

impl State {
    fn of(start: &Start) -> Self {
        let camera = &start.camera;
        let (k1, k2) = camera.distortion();
        Self {
            size_px: (camera.width_px(), camera.height_px()),
            log_focal: camera.focal_px().ln(),
            k1,
            k2,
            rotation: camera.rotation().to_rotation_matrix(),
            translation: camera.translation(),
            cushion_m: start.cushion_width_m,
            start_cushion_m: start.cushion_width_m,
        }
    }

    /// A longer lens comes with a camera further away and with the same bend in pixels: along that step the picture hardly changes,
    /// and the valley of the cost is straight.
    fn moved(&self, step: &Step) -> Self {
        let longer = step[0].exp();
        Self {
            size_px: self.size_px,
            log_focal: self.log_focal + step[0],
            k1: self.k1 * longer.powi(2) + step[1],
            k2: self.k2 * longer.powi(4) + step[2],
            rotation: Rotation3::new(Vector3::new(step[3], step[4], step[5])) * self.rotation,
            translation: self.translation * longer + Vector3::new(step[6], step[7], step[8]),
            cushion_m: self.cushion_m + step[9],
            start_cushion_m: self.start_cushion_m,
        }
    }

    fn camera(&self) -> Option<Camera> {
        let (w, h) = self.size_px;
        let camera = Camera::new(
            w,
            h,
            self.log_focal.exp(),
            picture_centre(w, h),
            self.k1,
            self.k2,
            rotation_vector(&self.rotation),
            self.translation,
        )?;
        (self.translation.norm() < MAX_CAMERA_DISTANCE_M).then_some(camera)
    }
}

/// Axis times angle. A camera that looks straight down is half a turn from the table's frame, where a matrix no longer shows its axis in
/// its antisymmetric part (which is what [`Rotation3::scaled_axis`] reads); the quaternion does.
pub(super) fn rotation_vector(rotation: &Rotation3<f64>) -> Vector3<f64> {
    UnitQuaternion::from_rotation_matrix(rotation).scaled_axis()
}

/// Whether a camera's focal length is one that cameras at billiards tables have. A table of another shape fits only from far away,
/// aslant, through a telescope.
#[cfg(feature = "vision")]
pub(super) fn has_usual_lens(camera: &Camera) -> bool {
    let longer_px = f64::from(camera.width_px().max(camera.height_px()));
    let off = (camera.focal_px() / (PRIOR_FOCAL * longer_px)).ln() / PRIOR_LOG_FOCAL_SIGMA;
    off.abs() <= MAX_LOG_FOCAL_SIGMAS
}

/// The principal point is taken to be the middle of the picture: its true place hardly shows on a flat table.
pub(super) fn picture_centre(width_px: u32, height_px: u32) -> Point2<f64> {
    Point2::new((f64::from(width_px) - 1.0) / 2.0, (f64::from(height_px) - 1.0) / 2.0)
}

/// Standard deviations that stand for 'behind the camera': large, finite, so that the step is refused and not the whole fit.
const UNSEEN_SIGMA: f64 = 1e4;

/// A landmark as the solver sees it: a point of the table, and the direction in the picture in which its distance counts.
struct Tie {
    landmark: Landmark,
    /// The point itself, or the point of the line that the starting camera puts nearest.
    foot: Point3<f64>,
    /// How `foot` moves when the cushion gets wider.
    outward: Vector3<f64>,
    /// Across the line in the picture, one pixel long; `None` for a point, whose distance counts in all directions.
    across: Option<Vector2<f64>>,
}

struct Problem {
    ties: Vec<Tie>,
    cushion_prior_m: f64,
    longer_side_px: f64,
    solve_distortion: bool,
}

impl Tie {
    /// `None` when the starting camera cannot see the line there.
    fn of(landmark: &Landmark, table: &Table, start: &Start) -> Option<Self> {
        let (rail, out_m) = match landmark.target {
            Target::Point(foot) => {
                return Some(Self {
                    landmark: *landmark,
                    foot,
                    outward: Vector3::zeros(),
                    across: None,
                });
            }
            Target::Nose(rail) => (rail, 0.0),
            Target::ClothEdge(rail) => (rail, start.cushion_width_m),
        };
        let seen = start.camera.table_from_image(landmark.at, table.nose_height_m)?;
        let out = rail.outward();
        let foot = seen.0 + out * (table.distance_to_nose_m(seen, rail) + out_m);
        let foot = Point3::new(foot.x, foot.y, table.nose_height_m);
        let along = start.camera.image_jacobian(foot)? * Vector3::new(-out.y, out.x, 0.0);
        let length = along.norm();
        (length > 0.0).then(|| Self {
            landmark: *landmark,
            foot,
            outward: match landmark.target {
                Target::ClothEdge(_) => Vector3::new(out.x, out.y, 0.0),
                _ => Vector3::zeros(),
            },
            across: Some(Vector2::new(-along.y, along.x) / length),
        })
    }

    /// Misfit in standard deviations: one number across a line, two at a point.
    fn residual(&self, camera: &Camera, wider_m: f64) -> [f64; 2] {
        let Some(p) = camera.image_from_world(self.foot + self.outward * wider_m) else {
            return [UNSEEN_SIGMA, 0.0];
        };
        let off = (p.0 - self.landmark.at.0) / self.landmark.sigma_px;
        match self.across {
            Some(across) => [off.dot(&across), 0.0],
            None => [off.x, off.y],
        }
    }
}

impl Problem {
    fn residuals(&self, state: &State) -> Option<Vec<[f64; 2]>> {
        let camera = state.camera()?;
        let wider_m = state.cushion_m - state.start_cushion_m;
        Some(self.ties.iter().map(|t| t.residual(&camera, wider_m)).collect())
    }

    /// Distances from the priors in standard deviations.
    fn priors(&self, state: &State) -> [f64; 4] {
        let log_focal = state.log_focal - (PRIOR_FOCAL * self.longer_side_px).ln();
        [
            log_focal / PRIOR_LOG_FOCAL_SIGMA,
            state.k1 / PRIOR_K1_SIGMA,
            state.k2 / PRIOR_K2_SIGMA,
            (state.cushion_m - self.cushion_prior_m) / PRIOR_CUSHION_SIGMA_M,
        ]
    }

    fn cost(&self, state: &State) -> Option<f64> {
        let c2 = CAUCHY_SIGMA * CAUCHY_SIGMA;
        let data: f64 = self
            .residuals(state)?
            .iter()
            .map(|r| c2 * ((r[0] * r[0] + r[1] * r[1]) / c2).ln_1p())
            .sum();
        let priors: f64 = self.priors(state).iter().map(|r| r * r).sum();
        let cost = data + priors;
        cost.is_finite().then_some(cost)
    }

    /// Normal equations with Cauchy's weights.
    fn linearised(&self, state: &State) -> Option<(SMatrix<f64, N, N>, Step)> {
        let here = self.residuals(state)?;
        let priors = self.priors(state);
        let mut jacobian = vec![[[0.0; 2]; N]; here.len()];
        let mut prior_jacobian = [Step::zeros(); 4];
        for k in 0..N {
            if !self.solve_distortion && (k == 1 || k == 2) {
                continue;
            }
            let mut step = Step::zeros();
            step[k] = PROBE[k];
            let moved = state.moved(&step);
            let there = self.residuals(&moved)?;
            for (row, (a, b)) in prior_jacobian.iter_mut().zip(priors.iter().zip(self.priors(&moved))) {
                row[k] = (b - a) / PROBE[k];
            }
            for (row, (a, b)) in jacobian.iter_mut().zip(here.iter().zip(&there)) {
                row[k] = [(b[0] - a[0]) / PROBE[k], (b[1] - a[1]) / PROBE[k]];
            }
        }
        let (mut h, mut g) = (SMatrix::<f64, N, N>::zeros(), Step::zeros());
        for (r, row) in here.iter().zip(&jacobian) {
            let weight = 1.0 / (1.0 + (r[0] * r[0] + r[1] * r[1]) / (CAUCHY_SIGMA * CAUCHY_SIGMA));
            for axis in 0..2 {
                let j = Step::from_fn(|k, _| row[k][axis]);
                h += weight * j * j.transpose();
                g += weight * r[axis] * j;
            }
        }
        for (j, r) in prior_jacobian.iter().zip(priors) {
            h += j * j.transpose();
            g += r * j;
        }
        if !self.solve_distortion {
            for k in [1, 2] {
                h[(k, k)] = 1.0;
                g[k] = 0.0;
            }
        }
        Some((h, g))
    }
}

impl Problem {
    /// Levenberg-Marquardt: the lowest place downhill from a state, and its cost. `None` when nothing is seen from there.
    fn descend(&self, from: State) -> Option<(State, f64)> {
        let mut state = from;
        let mut cost = self.cost(&state)?;
        let mut damping = 1e-3;
        for _ in 0..MAX_STEPS {
            let Some((h, g)) = self.linearised(&state) else {
                break;
            };
            let mut fell = None;
            for _ in 0..MAX_DAMPINGS {
                let mut damped = h;
                for k in 0..N {
                    damped[(k, k)] += damping * h[(k, k)].max(1e-12);
                }
                let next = damped.cholesky().map(|c| state.moved(&-c.solve(&g)));
                match next.and_then(|s| Some((s, self.cost(&s)?))) {
                    Some((s, c)) if c < cost => {
                        damping = (damping * 0.2).max(1e-9);
                        fell = Some((s, c));
                        break;
                    }
                    _ => damping *= 10.0,
                }
            }
            let Some((s, c)) = fell else {
                break;
            };
            let done = cost - c < COST_TOLERANCE * cost;
            (state, cost) = (s, c);
            if done {
                break;
            }
        }
        Some((state, cost))
    }
}

/// Levenberg-Marquardt from `start`; the principal point is the middle of the picture.
///
/// # Errors
/// [`Error::Unsolvable`] when the landmarks cannot be seen from the start, or hold fewer numbers than a pose has.
pub fn solve(landmarks: &[Landmark], table: &Table, start: &Start) -> Result<Solution, Error> {
    let unsolvable = |reason: &str| Error::Unsolvable {
        reason: reason.to_owned(),
    };
    let numbers: usize = landmarks
        .iter()
        .map(|l| if matches!(l.target, Target::Point(_)) { 2 } else { 1 })
        .sum();
    // Six numbers of the pose and one of the focal length.
    if numbers < 7 {
        return Err(unsolvable("a pose needs four points or seven points on lines"));
    }
    let finite = |l: &Landmark| l.at.x().is_finite() && l.at.y().is_finite() && l.sigma_px > 0.0 && l.sigma_px.is_finite();
    if !landmarks.iter().all(finite) {
        return Err(unsolvable("a point is not a finite number"));
    }
    let (w, h) = (start.camera.width_px(), start.camera.height_px());
    let longer_side_px = f64::from(w.max(h));
    let ties: Option<Vec<Tie>> = landmarks.iter().map(|l| Tie::of(l, table, start)).collect();
    let problem = Problem {
        ties: ties.ok_or_else(|| unsolvable("they cannot be seen from where the search starts"))?,
        cushion_prior_m: table.cushion_width_m,
        longer_side_px,
        solve_distortion: start.solve_distortion,
    };
    // The cost has flat ends toward very long lenses: try some lenses, keep the best.
    let here = State::of(start);
    let longer = |share: f64| {
        let mut step = Step::zeros();
        step[0] = (share * longer_side_px).ln() - here.log_focal;
        here.moved(&step)
    };
    let (state, cost) = std::iter::once(here)
        .chain(RESTART_FOCALS.map(longer))
        .filter_map(|from| problem.descend(from))
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .ok_or_else(|| unsolvable("they cannot be seen from where the search starts"))?;
    let camera = state
        .camera()
        .ok_or_else(|| unsolvable("they put the camera below the table"))?;
    let residuals_sigma = problem
        .residuals(&state)
        .ok_or_else(|| unsolvable("they put the camera below the table"))?
        .iter()
        .map(|r| if r[1].abs() > 0.0 { r[0].hypot(r[1]) } else { r[0] })
        .collect();
    let residuals_m = landmarks
        .iter()
        .map(|l| misfit_m(&camera, table, state.cushion_m, l))
        .collect();
    Ok(Solution {
        camera,
        cushion_width_m: state.cushion_m,
        residuals_m,
        residuals_sigma,
        cost,
    })
}

/// Misfit of a landmark on the table, metres; signed for a line. Not a number when the camera does not see it.
fn misfit_m(camera: &Camera, table: &Table, cushion_m: f64, landmark: &Landmark) -> f64 {
    let line = |rail, out_m: f64| {
        camera
            .table_from_image(landmark.at, table.nose_height_m)
            .map_or(f64::NAN, |p| table.distance_to_nose_m(p, rail) + out_m)
    };
    match landmark.target {
        Target::Nose(rail) => line(rail, 0.0),
        Target::ClothEdge(rail) => line(rail, cushion_m),
        Target::Point(world) => camera
            .image_from_world(world)
            .map_or(f64::NAN, |p| (p.0 - landmark.at.0).norm() * metres_per_px_near(camera, world)),
    }
}

/// Metres on the table that a pixel covers near a point, the mean of both directions.
fn metres_per_px_near(camera: &Camera, world: Point3<f64>) -> f64 {
    camera
        .pixels_per_metre(crate::space::TablePoint::new(world.x, world.y), world.z)
        .map_or(0.0, |j| 1.0 / j.determinant().abs().sqrt().max(1e-6))
}

#[cfg(test)]
mod tests {
    use super::super::corners::solve_from_corners;
    use super::super::corners::tests::{corners, error_mm, truth};
    use super::*;
    use crate::table::RAILS;

    const TABLE: Table = Table::CAROM;

    /// Nose points every few centimetres.
    fn noses(camera: &Camera) -> Vec<Landmark> {
        RAILS
            .into_iter()
            .flat_map(|rail| (-20..=20).map(move |i| (rail, f64::from(i) / 21.0)))
            .map(|(rail, along)| {
                let out = rail.outward();
                let (x, y) = (TABLE.length_m / 2.0, TABLE.width_m / 2.0);
                let at = Point3::new(
                    if out.x == 0.0 { along * x } else { out.x * x },
                    if out.y == 0.0 { along * y } else { out.y * y },
                    TABLE.nose_height_m,
                );
                Landmark {
                    at: camera.image_from_world(at).unwrap(),
                    target: Target::Nose(rail),
                    sigma_px: 0.3,
                }
            })
            .collect()
    }

    fn start(camera: Camera) -> Start {
        Start {
            camera,
            cushion_width_m: TABLE.cushion_width_m,
            solve_distortion: true,
        }
    }

    #[test]
    fn noses_give_pose_lens_and_distortion() {
        // From straight above nothing tells the focal length, and the prior's is a quarter longer than this one. Balls' centres lie 8 mm
        // below the noses and at most 1.6 m from under the camera, 3.1 m below it: a quarter of 8 mm * 1.6 / 3.1 is 1.0 mm.
        for (tilt, k1, limit_mm) in [(0.0, 0.0, 1.05), (0.25, -0.08, 0.5), (-0.1, 0.05, 0.5)] {
            let truth = truth(tilt, k1);
            let rough = solve_from_corners(&corners(&truth, &TABLE), 1920, 1080, &TABLE).unwrap();
            let found = solve(&noses(&truth), &TABLE, &start(rough.camera)).unwrap();
            let error = error_mm(&found.camera, &truth);
            assert!(error < limit_mm, "tilt {tilt}, k1 {k1}: {error} mm");
        }
    }

    #[test]
    fn one_landmark_in_six_may_be_something_else() {
        let truth = truth(0.2, -0.05);
        let mut landmarks = noses(&truth);
        for l in landmarks.iter_mut().step_by(6) {
            l.at = ImagePoint::new(l.at.x() + 25.0, l.at.y() + 25.0);
        }
        let rough = solve_from_corners(&corners(&truth, &TABLE), 1920, 1080, &TABLE).unwrap();
        let found = solve(&landmarks, &TABLE, &start(rough.camera)).unwrap();
        assert!(error_mm(&found.camera, &truth) < 0.5);
        let (rms_m, _) = found.misfit_m(0..landmarks.len(), 6.0);
        assert!(rms_m < 1e-4, "what lies far off does not count: {rms_m}");
    }

    #[test]
    fn the_cushion_s_width_is_measured() {
        let truth = truth(0.1, 0.0);
        let wider = Table {
            length_m: TABLE.length_m + 0.11,
            width_m: TABLE.width_m + 0.11,
            ..TABLE
        };
        let mut landmarks = noses(&truth);
        let outer = corners(&truth, &wider);
        for (a, b, rail) in [
            (outer.head_left, outer.foot_left, Rail::Left),
            (outer.foot_right, outer.head_right, Rail::Right),
        ] {
            landmarks.extend((1..20).map(|i| Landmark {
                at: ImagePoint(a.0 + (b.0 - a.0) * (f64::from(i) / 20.0)),
                target: Target::ClothEdge(rail),
                sigma_px: 0.3,
            }));
        }
        let found = solve(&landmarks, &TABLE, &start(truth)).unwrap();
        assert!((found.cushion_width_m - 0.055).abs() < 2e-4, "{}", found.cushion_width_m);
    }

    #[test]
    fn too_few_landmarks_are_refused() {
        let truth = truth(0.1, 0.0);
        let few = &noses(&truth)[..6];
        assert!(matches!(solve(few, &TABLE, &start(truth)), Err(Error::Unsolvable { .. })));
    }
}
