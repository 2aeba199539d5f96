//! Sub-pixel centres. A ball at rest or slow is found by where its edge crosses half way between the colours on both
//! sides, ray by ray, so that shading inside and shadow outside do not pull; a streak by the middle of its colour.

use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

use super::cloth::{Cloth, Light};
use super::colour::{CLOTH, Class, Colour, Palette, median_colour};
use super::grid::{Cells, Grid};
use super::outline::Outline;
use super::scan::{Candidate, Scan, excess, swept_area};
use super::view::View;
use crate::frame::Plane;

/// Rays around a ball: one every two to five pixels of its edge.
const RAYS: usize = 36;
/// Least distance of one sample from the next along a ray, pixels: the picture holds nothing finer than half a pixel.
const SAMPLE_STEP_PX: f64 = 0.5;
/// Most samples on each side of the expected edge; long rays only have to bring the next round near.
const SAMPLES_PER_SIDE: f64 = 7.0;
/// Half length of a ray around the expected edge, first and later rounds: ball radii, and at least so many pixels (the
/// blur of lens and coder).
const REACH: [f64; 3] = [0.4, 0.22, 0.16];
const LEAST_REACH_PX: [f64; 3] = [3.5, 2.5, 2.2];
/// Least distance of both colours, levels: less is lost in coder noise.
const LEAST_CONTRAST: f32 = 9.0;
/// Least cosine between the change across a dark limb and that from cloth to ball.
const LIMB_LIKENESS: f32 = 0.7;
/// Weights of luma and chroma: chroma has half as many samples, coded more coarsely.
pub(super) const WEIGHTS: [f32; 2] = [1.0, 0.7];
/// Sweep in ball radii from which a ball is measured by the middle of its streak.
pub(super) const STREAK: f64 = 1.1;
/// Reach beyond a streak's blurred ends and sides in two rounds, ball radii.
const STREAK_REACH: [f64; 2] = [0.5, 0.35];
/// Lines across each end and side of a streak, relative to its width or length.
const STREAK_LINES: [f64; 5] = [-1.0, -0.5, 0.0, 0.5, 1.0];
/// Error of a streak's middle, share of radius and of half the way: uneven light while the shutter was open.
const STREAK_ERROR: f64 = 0.05;
/// Both sides of a streak together may lie so many radii off a ball's width.
const STREAK_WIDTH_TOLERANCE: f64 = 0.7;
/// Spread of the common offset of all edges, pixels: sharpening, lens blur and an error in the radius move all alike.
const OFFSET_SPREAD_PX: f64 = 0.5;
/// Tukey's constant for 95 % efficiency, in deviations.
const TUKEY: f64 = 4.685;
/// Least deviation of an edge, pixels, when judging outliers and the error of the mean.
const LEAST_DEVIATION_PX: f64 = 0.2;
/// Length of edge over which errors are alike, pixels: a chroma sample and a coder's block detail.
const CORRELATED_PX: f64 = 6.0;
/// Error that more edge does not reduce, pixels: shading and shadow.
const BIAS_PX: f64 = 0.12;
/// Area of the spots over the area of the main colour that is believed; the spots of tournament balls cover a fifth.
const MOST_SPOTS: f64 = 0.5;
/// Part of the radius within which the colours of a ball are counted: inside the blurred edge.
const DISC: f64 = 0.95;
/// Chord of a ball half way between its axis and the edge of its middle, in radii: 2 sqrt(1 - 0.33^2).
const MIDDLE_CHORD: f64 = 1.9;
/// Part of the radius that counts as the middle.
const CORE: f64 = 0.65;
/// Least share of the rays that must find the ball's edge.
const LEAST_RAYS: f64 = 0.3;

/// Least share of the rays that end on cloth that agree on one ball's edge; a finger or a sleeve has other curves.
const LEAST_FIT: f64 = 0.5;

/// A ball measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub outline: Outline,
    /// Way during the exposure, pixels.
    pub sweep: Vector2<f64>,
    pub covariance_px2: Matrix2<f64>,
    /// Share of the edge that was found, or of the streak's area.
    pub edge: f64,
    /// Share of the rays ending on cloth that agree.
    pub fit: f64,
    /// Whether it was measured as a streak.
    pub is_streak: bool,
}

/// Why a ray gives no edge.
enum NoEdge {
    /// Something else stands there.
    Hidden,
    /// What is seen there is no ball's edge.
    Against,
}

/// What lies within an outline.
#[derive(Debug, Clone)]
pub(super) struct Inside {
    /// Area by kind, cells.
    pub weights: Vec<f64>,
    /// Area of the ball's colour, spots included, over the ball's area.
    pub coverage: f64,
    /// Distance of the middle's colour from the ball's in any light, deviations of a ball's colour; 0 when nothing of the
    /// ball's class is seen there.
    pub strangeness: f64,
    /// Mean share of the ball in the cells that have its colour, over what its sweep explains: near 1 for a ball, less for
    /// skin that resembles a mixture of ball and cloth, more for a shaft taken for a streak.
    pub purity: f64,
}

impl Inside {
    /// Share of one kind among all kinds, 0..=1.
    pub fn own_share(&self, kind: u8) -> f64 {
        let all: f64 = self.weights.iter().sum();
        self.weights
            .get(usize::from(kind))
            .map_or(0.0, |w| w / all.max(f64::MIN_POSITIVE))
    }
}

/// Everything a measurement looks at.
pub(super) struct Scene<'a> {
    pub grid: &'a Grid,
    pub view: &'a View,
    pub palette: &'a Palette,
    /// Luma, blue and red difference.
    pub planes: [Plane<'a>; 3],
    pub light: Light,
    pub scan: &'a Scan,
    pub cells: &'a Cells,
    pub cloth: &'a Cloth,
    /// Pixels from an even column to its chroma sample: 0 or 0.5.
    pub siting_px: f64,
    /// Weights of luma and chroma where colours are compared.
    pub weights: [f32; 2],
}

impl Scene<'_> {
    /// Measures a candidate; `None` when its edge is not a ball's.
    pub fn measure(&self, candidate: &Candidate) -> Option<Measured> {
        let outline = self.view.outline(candidate.centre)?;
        if candidate.sweep.norm() > STREAK * outline.mean_radius_px() {
            self.measure_streak(candidate, outline)
        } else {
            self.measure_edge(candidate, outline)
        }
    }

    fn measure_edge(&self, candidate: &Candidate, mut outline: Outline) -> Option<Measured> {
        let radius = outline.mean_radius_px();
        let mut result = None;
        for (reach, least) in REACH.into_iter().zip(LEAST_REACH_PX) {
            let (edges, against) = self.edges(candidate, &outline, (reach * radius).max(least));
            if (edges.len() as f64) < LEAST_RAYS * RAYS as f64 {
                return None;
            }
            let (shift, covariance, used) = solve(&edges, radius)?;
            if shift.norm() > radius {
                return None;
            }
            outline = self.view.outline(outline.centre + shift)?;
            result = Some(Measured {
                outline,
                sweep: candidate.sweep,
                covariance_px2: covariance,
                edge: used / RAYS as f64,
                fit: used / (edges.len() as f64 + against),
                is_streak: false,
            });
        }
        result.filter(|r| r.edge >= LEAST_RAYS && r.fit >= LEAST_FIT)
    }

    /// Offsets of the seen edge from the expected one along its normal, pixels, and the number of rays that speak against
    /// a ball's edge.
    fn edges(&self, candidate: &Candidate, outline: &Outline, reach_px: f64) -> (Vec<(Vector2<f64>, f64)>, f64) {
        let near_rail = self.near_rail(outline);
        let mut found = Vec::with_capacity(RAYS);
        let mut against = 0.0;
        for p in outline.ring(RAYS, 1.0) {
            let n = outline.normal(p);
            if near_rail && self.view.behind_nose(p + n) {
                continue;
            }
            let reach = reach_px + candidate.sweep.dot(&n).abs() / 2.0;
            match self.crossing(candidate, p, n, reach) {
                Ok(offset) => found.push((n, offset)),
                Err(NoEdge::Against) => against += 1.0,
                Err(NoEdge::Hidden) => {}
            }
        }
        (found, against)
    }

    /// Way along `n` from `p` to where the picture is half way between the colours at both ends of the ray, pixels.
    fn crossing(&self, candidate: &Candidate, p: Vector2<f64>, n: Vector2<f64>, reach_px: f64) -> Result<f64, NoEdge> {
        let step = (reach_px / SAMPLES_PER_SIDE).max(SAMPLE_STEP_PX);
        let half = (reach_px / step).round() as i32;
        let at = |i: i32| self.sample(p + n * (f64::from(i) * step));
        let inside = at(-half).mean(at(1 - half));
        let outside = at(half).mean(at(half - 1));
        match self.palette.classify(outside) {
            Class::Cloth => {}
            // The ball's colour goes on: a sleeve, a shaft, an arm. Any other thing may touch the ball.
            Class::Kind(kind) if kind == candidate.kind => return Err(NoEdge::Against),
            _ if self.palette.is_cloth_beside_ball(outside) => {}
            _ => return Err(NoEdge::Hidden),
        }
        let spread = [1.0 / self.weights[0], 1.0 / self.weights[1], 1.0 / self.weights[1]];
        let across = inside.minus(outside);
        let contrast2 = across.dot(across, spread);
        // Spots are another ball's colour; a dark limb may look like cloth, but changes toward the ball's colour.
        let is_ball = match self.palette.classify(inside) {
            Class::Kind(_) => true,
            Class::Cloth => self.palette.kinds.get(usize::from(candidate.kind)).is_some_and(|(_, ball)| {
                let expected = ball.minus(self.palette.cloth);
                let lengths = (contrast2 * expected.dot(expected, spread)).sqrt();
                across.dot(expected, spread) > LIMB_LIKENESS * lengths && contrast2 >= LEAST_CONTRAST * LEAST_CONTRAST
            }),
            Class::Other => false,
        };
        if !is_ball {
            return Err(NoEdge::Against);
        }
        if contrast2 < LEAST_CONTRAST * LEAST_CONTRAST {
            return Err(NoEdge::Hidden);
        }
        // Each sample's share of the inside adds its step to the length that is inside.
        let inner: f32 = (-half..=half)
            .map(|i| (at(i).minus(outside).dot(across, spread) / contrast2).clamp(0.0, 1.0))
            .sum();
        Ok((f64::from(inner) - 0.5 - f64::from(half)) * step)
    }

    fn near_rail(&self, outline: &Outline) -> bool {
        outline.ring(8, 1.3).any(|p| self.view.behind_nose(p))
    }

    /// The middle between the two ends of a streak, and between its two sides.
    ///
    /// Along the way a swept ball's colour rises over the shorter of way and diameter; half of it is reached at the larger
    /// of radius and half the way, on both ends alike, so the middle needs no exact length.
    fn measure_streak(&self, candidate: &Candidate, mut outline: Outline) -> Option<Measured> {
        let along = candidate.sweep.normalize();
        let across = Vector2::new(-along.y, along.x);
        let radius = [outline.extent(along), outline.extent(across)];
        let mut half_way = candidate.sweep.norm() / 2.0;
        let mut result = None;
        for reach in STREAK_REACH {
            let (c, end) = (outline.centre, half_way.max(radius[0]));
            let ramp = half_way.min(radius[0]) + reach * radius[0];
            let ends = [along, -along].map(|n| {
                let starts = STREAK_LINES.map(|t| c + n * end + across * (t * 0.5 * radius[1]));
                self.middle_crossing(candidate, &starts, n, ramp)
            });
            let sides = [across, -across].map(|n| {
                let starts = STREAK_LINES.map(|t| c + n * radius[1] + along * (t * 0.8 * half_way));
                self.middle_crossing(candidate, &starts, n, (reach * radius[1]).max(LEAST_REACH_PX[0]))
            });
            let (shift_along, error_along) = match ends {
                [Some(front), Some(back)] => {
                    half_way = (half_way + front.midpoint(back)).max(radius[0] / 2.0);
                    ((front - back) / 2.0, STREAK_ERROR * radius[0] + STREAK_ERROR * half_way)
                }
                // One end is hidden: the other is as good as the length is known.
                [Some(front), None] => (front / 2.0, half_way / 2.0),
                [None, Some(back)] => (-back / 2.0, half_way / 2.0),
                [None, None] => return None,
            };
            let (shift_across, error_across) = match sides {
                [Some(left), Some(right)] => ((left - right) / 2.0, STREAK_ERROR * radius[1]),
                [Some(left), None] => (left, 2.0 * STREAK_ERROR * radius[1]),
                [None, Some(right)] => (-right, 2.0 * STREAK_ERROR * radius[1]),
                [None, None] => return None,
            };
            // Sides nearer to each other than a ball is wide are a shaft's.
            if let [Some(left), Some(right)] = sides
                && (left + right).abs() > STREAK_WIDTH_TOLERANCE * radius[1]
            {
                return None;
            }
            let shift = along * shift_along + across * shift_across;
            if shift.norm() > half_way + radius[0] {
                return None;
            }
            outline = self.view.outline(outline.centre + shift)?;
            let seen = ends.iter().chain(&sides).flatten().count() as f64 / 4.0;
            let spread = |d: Vector2<f64>, e: f64| d * d.transpose() * (e * e + BIAS_PX * BIAS_PX);
            result = Some(Measured {
                outline,
                sweep: along * (2.0 * half_way),
                covariance_px2: spread(along, error_along) + spread(across, error_across),
                edge: seen,
                fit: seen,
                is_streak: true,
            });
        }
        result
    }

    /// Median way along `n` from the starts to where the picture is half way between streak and cloth, pixels.
    fn middle_crossing(&self, candidate: &Candidate, starts: &[Vector2<f64>], n: Vector2<f64>, reach_px: f64) -> Option<f64> {
        let mut found: Vec<f64> = starts
            .iter()
            .filter_map(|&p| self.crossing(candidate, p, n, reach_px).ok())
            .collect();
        found.sort_by(f64::total_cmp);
        (2 * found.len() > starts.len()).then(|| found[found.len() / 2])
    }

    /// What lies within a ball's outline, swept along its way.
    pub fn inside(&self, candidate: &Candidate, measured: &Measured) -> Inside {
        let Measured { outline, sweep, .. } = measured;
        let mut core = Vec::new();
        let mut shown = Vec::new();
        let mut weights = vec![0.0; self.palette.kinds.len()];
        let (mut own, mut n_own, mut spots) = (0.0, 0.0, 0.0);
        let pitch = self.grid.pitch_px();
        let radius = outline.mean_radius_px();
        let reach = sweep.norm() / 2.0 + radius;
        let along = sweep.try_normalize(f64::EPSILON).unwrap_or_default();
        let columns = Grid::range(self.grid.column(outline.centre.x), reach / pitch, self.grid.width);
        let rows = Grid::range(self.grid.row(outline.centre.y), reach / pitch, self.grid.height);
        for row in rows {
            for column in columns.clone() {
                let p = self.grid.centre(column, row).0.coords;
                let t = (p - outline.centre)
                    .dot(&along)
                    .clamp(-sweep.norm() / 2.0, sweep.norm() / 2.0);
                if outline.relative_distance(p - along * t) > DISC {
                    continue;
                }
                let m = self.scan.mixture(row * self.grid.width + column);
                if m != CLOTH {
                    shown.push(row * self.grid.width + column);
                }
                if let Class::Kind(k) = m.class {
                    if k == candidate.kind && outline.relative_distance(p) < CORE {
                        core.push(self.cells.at(row * self.grid.width + column));
                    }
                    let share = f64::from(m.share) / 255.0;
                    weights[usize::from(k)] += share;
                    if k == candidate.kind {
                        own += share;
                        n_own += 1.0;
                    } else if self.palette.may_be_spot(candidate.kind, k) {
                        spots += share;
                    }
                }
            }
        }
        let n = outline.area_px2() * DISC * DISC / (pitch * pitch);
        if candidate.silhouette {
            return self.inside_silhouette(candidate.kind, &shown, n, swept_area(outline, *sweep));
        }
        // A ball's light is spread over its disc and the two half discs' worth of way beside it.
        let dilution = 1.0 + sweep.norm() / radius * std::f64::consts::FRAC_2_PI;
        // The middle sees the ball for the time in which the ball crosses it, and cloth for the rest.
        let share = (MIDDLE_CHORD * radius / sweep.norm().max(f64::MIN_POSITIVE)).min(1.0);
        let strangeness = median_colour(&core).map_or(0.0, |c| self.palette.distance_to_kind(candidate.kind, c, share as f32));
        Inside {
            strangeness,
            weights,
            coverage: (own + f64::min(spots, MOST_SPOTS * own)) / n,
            purity: own / f64::max(n_own, 1.0) * dilution,
        }
    }

    /// The same where the light of all cells together tells the ball: `ball_cells` is the ball's area at rest, `swept` the
    /// area it sweeps over that.
    fn inside_silhouette(&self, kind: u8, shown: &[usize], ball_cells: f64, swept: f64) -> Inside {
        let light = excess(shown, self.cells, self.cloth).scaled((1.0 / ball_cells) as f32);
        let makeup = self.palette.makeup(kind, light);
        let mut weights = vec![0.0; self.palette.kinds.len()];
        if let Some(w) = weights.get_mut(usize::from(kind)) {
            *w = ball_cells;
        }
        Inside {
            weights,
            coverage: shown.len() as f64 / ball_cells / swept,
            strangeness: if makeup.is_ball() { makeup.strangeness } else { f64::INFINITY },
            purity: 1.0,
        }
    }

    /// The picture at a point, bilinear, in the learnt light.
    fn sample(&self, p: Vector2<f64>) -> Colour {
        let (x, y) = (p.x as f32, p.y as f32);
        let (cx, cy) = ((x - self.siting_px as f32) / 2.0, (y - 0.5) / 2.0);
        let luma = bilinear([self.planes[0]], x, y);
        let chroma = bilinear([self.planes[1], self.planes[2]], cx, cy);
        self.light.undo([luma[0], chroma[0], chroma[1]])
    }
}

/// Values between samples of planes of one size; the planes' edges go on outside.
fn bilinear<const N: usize>(planes: [Plane<'_>; N], x: f32, y: f32) -> [f32; N] {
    let (width, height) = planes.first().map_or((1, 1), |p| (p.width, p.height));
    let x = x.clamp(0.0, (width - 1) as f32);
    let y = y.clamp(0.0, (height - 1) as f32);
    let (left, top) = (x as usize, y as usize);
    let (fx, fy) = (x - left as f32, y - top as f32);
    let right = (left + 1).min(width - 1);
    planes.map(|plane| {
        let mix = |row: &[u8]| f32::from(row[left]) * (1.0 - fx) + f32::from(row[right]) * fx;
        mix(plane.row(top)) * (1.0 - fy) + mix(plane.row(top + 1)) * fy
    })
}

/// Shift of the centre that explains the edges, its covariance (square pixels), and the number of edges that agree.
///
/// Robust least squares (Tukey's weights) for the shift and a common offset of all edges.
fn solve(edges: &[(Vector2<f64>, f64)], radius_px: f64) -> Option<(Vector2<f64>, Matrix2<f64>, f64)> {
    const ROUNDS: usize = 6;
    let mut x = Vector3::zeros();
    let mut weights = vec![1.0; edges.len()];
    let mut deviation = LEAST_DEVIATION_PX;
    let mut normal = Matrix3::identity();
    for round in 0..ROUNDS {
        normal = Matrix3::zeros();
        normal[(2, 2)] = (deviation / OFFSET_SPREAD_PX).powi(2);
        let mut right = Vector3::zeros();
        for ((n, s), w) in edges.iter().zip(&weights) {
            let row = Vector3::new(n.x, n.y, 1.0);
            normal += row * row.transpose() * *w;
            right += row * (*s * *w);
        }
        x = normal.try_inverse()? * right;
        let residual = |(n, s): &(Vector2<f64>, f64)| s - n.x * x[0] - n.y * x[1] - x[2];
        let mut sizes: Vec<f64> = edges.iter().map(|e| residual(e).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        // 1.4826 turns the median of absolute values of a normal variable into its deviation.
        deviation = (1.4826 * sizes[sizes.len() / 2]).max(LEAST_DEVIATION_PX);
        if round + 1 < ROUNDS {
            for (w, e) in weights.iter_mut().zip(edges) {
                let u = residual(e) / (TUKEY * deviation);
                *w = if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 };
            }
        }
    }
    let used: f64 = weights.iter().sum();
    let per_ray_px = std::f64::consts::TAU * radius_px / RAYS as f64;
    let alike = (CORRELATED_PX / per_ray_px).max(1.0);
    let inverse = normal.try_inverse()?;
    let mut covariance: Matrix2<f64> = inverse.fixed_view::<2, 2>(0, 0) * (deviation * deviation * alike);
    covariance += Matrix2::identity() * BIAS_PX.powi(2);
    Some((Vector2::new(x[0], x[1]), covariance, used))
}
