//! Sub-pixel centres. A ball at rest or slow is found by where its edge crosses half way between the colours on both
//! sides, ray by ray, so that shading inside and shadow outside do not pull; a streak by the middle of its colour.

use nalgebra::{Matrix2, Matrix3, Vector2, Vector3};

use super::cloth::Light;
use super::colour::{Class, Colour, Palette};
use super::grid::Grid;
use super::outline::Outline;
use super::scan::{Candidate, Scan};
use super::view::View;
use crate::frame::{Image, Plane};

/// Rays around a ball: one every two to five pixels of its edge.
const RAYS: usize = 36;
/// Distance of one sample from the next along a ray, pixels: the picture holds nothing finer than half a pixel.
const SAMPLE_STEP_PX: f64 = 0.5;
/// Half length of a ray around the expected edge, first and later rounds: ball radii, and at least so many pixels (the
/// blur of lens and coder).
const REACH: [f64; 3] = [0.4, 0.22, 0.16];
const LEAST_REACH_PX: [f64; 3] = [3.5, 2.5, 2.2];
/// Samples at each end that give the colours on both sides.
const END_SAMPLES: usize = 2;
/// Least distance of both colours, levels: less is lost in coder noise.
const LEAST_CONTRAST: f32 = 14.0;
/// Weights of luma and chroma: chroma has half as many samples, coded more coarsely.
pub(super) const WEIGHTS: [f32; 2] = [1.0, 0.7];
/// Sweep in ball radii from which a ball is measured by the middle of its streak.
pub(super) const STREAK: f64 = 1.1;
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
/// Part of the radius within which the colours of a ball are counted: inside the blurred edge.
const DISC: f64 = 0.95;
/// Least share of the rays that must find the ball's edge.
const LEAST_RAYS: f64 = 0.3;

/// Least share of the rays that end on cloth that agree on one ball's edge; a finger or a sleeve has other curves.
const LEAST_FIT: f64 = 0.5;

/// A ball measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub outline: Outline,
    pub covariance_px2: Matrix2<f64>,
    /// Share of the edge that was found, or of the streak's area.
    pub edge: f64,
    /// Share of the rays ending on cloth that agree.
    pub fit: f64,
}

/// Everything a measurement looks at.
pub(super) struct Scene<'a> {
    pub grid: &'a Grid,
    pub view: &'a View,
    pub palette: &'a Palette,
    pub image: &'a Image,
    pub light: Light,
    pub scan: &'a Scan,
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
                covariance_px2: covariance,
                edge: used / RAYS as f64,
                fit: used / (edges.len() as f64 + against),
            });
        }
        result.filter(|r| r.edge >= LEAST_RAYS && r.fit >= LEAST_FIT)
    }

    /// Offsets of the seen edge from the expected one along its normal, pixels.
    fn edges(&self, candidate: &Candidate, outline: &Outline, reach_px: f64) -> (Vec<(Vector2<f64>, f64)>, f64) {
        let mut against = 0.0;
        let near_rail = self.near_rail(outline);
        let mut found = Vec::with_capacity(RAYS);
        let mut profile: Vec<Colour> = Vec::new();
        for p in outline.ring(RAYS, 1.0) {
            let n = outline.normal(p);
            let reach = reach_px + candidate.sweep.dot(&n).abs() / 2.0;
            if near_rail && self.view.behind_nose(p + n) {
                continue;
            }
            let half = (reach / SAMPLE_STEP_PX).round() as i32;
            profile.clear();
            profile.extend((-half..=half).map(|i| self.sample(p + n * (f64::from(i) * SAMPLE_STEP_PX))));
            let inside = mean(&profile[..END_SAMPLES]);
            let outside = mean(&profile[profile.len() - END_SAMPLES..]);
            if self.palette.look_up(outside.to_bytes()).class != Class::Cloth {
                continue;
            }
            // Spots are another ball's colour.
            if !matches!(self.palette.look_up(inside.to_bytes()).class, Class::Kind(_)) {
                against += 1.0;
                continue;
            }
            let spread = [1.0 / self.weights[0], 1.0 / self.weights[1], 1.0 / self.weights[1]];
            let across = inside.minus(outside);
            let contrast2 = across.dot(across, spread);
            if contrast2 < LEAST_CONTRAST * LEAST_CONTRAST {
                continue;
            }
            // Each sample's share of the inside adds its step to the length that is inside.
            let inner: f32 = profile
                .iter()
                .map(|c| (c.minus(outside).dot(across, spread) / contrast2).clamp(0.0, 1.0))
                .sum();
            let length = (f64::from(inner) - 0.5) * SAMPLE_STEP_PX;
            found.push((n, length - f64::from(half) * SAMPLE_STEP_PX));
        }
        (found, against)
    }

    fn near_rail(&self, outline: &Outline) -> bool {
        outline.ring(8, 1.3).any(|p| self.view.behind_nose(p))
    }

    /// The middle of the streak's colour.
    fn measure_streak(&self, candidate: &Candidate, outline: Outline) -> Option<Measured> {
        let radius = outline.mean_radius_px();
        let along = candidate.sweep.normalize();
        let across = Vector2::new(-along.y, along.x);
        let half_length = candidate.sweep.norm() / 2.0 + 1.3 * radius;
        let pitch = self.grid.pitch_px();
        let reach = half_length + 1.3 * radius;
        let columns = cell_range(self.grid.column(outline.centre.x), reach / pitch, self.grid.width);
        let rows = cell_range(self.grid.row(outline.centre.y), reach / pitch, self.grid.height);
        let (mut mass, mut sum) = (0.0, Vector2::zeros());
        for row in rows {
            for column in columns.clone() {
                let m = self.scan.mixture(row * self.grid.width + column);
                if m.class != Class::Kind(candidate.kind) {
                    continue;
                }
                let p = self.grid.centre(column, row).0.coords - outline.centre;
                if p.dot(&along).abs() > half_length || p.dot(&across).abs() > 1.3 * radius {
                    continue;
                }
                let w = f64::from(m.share) / 255.0;
                mass += w;
                sum += p * w;
            }
        }
        if mass <= 0.0 {
            return None;
        }
        let area = mass * pitch * pitch / outline.area_px2();
        let spread_along = 0.06 * candidate.sweep.norm() + 0.05 * radius;
        let spread_across = 0.05 * radius;
        let covariance_px2 =
            along * along.transpose() * spread_along.powi(2) + across * across.transpose() * spread_across.powi(2);
        Some(Measured {
            outline: self.view.outline(outline.centre + sum / mass)?,
            covariance_px2,
            edge: area.min(1.0),
            fit: 1.0,
        })
    }

    /// Shares of a ball's disc by kind, and the part of it that looks like the candidate's ball (spots included), 0..=1.
    pub fn inside(&self, candidate: &Candidate, outline: &Outline) -> (Vec<f64>, f64) {
        let mut weights = vec![0.0; self.palette.kinds.len()];
        let (mut own, mut spots) = (0.0, 0.0);
        let pitch = self.grid.pitch_px();
        let radius = outline.mean_radius_px();
        let reach = candidate.sweep.norm() / 2.0 + radius;
        let along = candidate.sweep.try_normalize(f64::EPSILON).unwrap_or_default();
        let columns = cell_range(self.grid.column(outline.centre.x), reach / pitch, self.grid.width);
        let rows = cell_range(self.grid.row(outline.centre.y), reach / pitch, self.grid.height);
        for row in rows {
            for column in columns.clone() {
                let p = self.grid.centre(column, row).0.coords;
                let t = (p - outline.centre)
                    .dot(&along)
                    .clamp(-candidate.sweep.norm() / 2.0, candidate.sweep.norm() / 2.0);
                if outline.relative_distance(p - along * t) > DISC {
                    continue;
                }
                let m = self.scan.mixture(row * self.grid.width + column);
                if let Class::Kind(k) = m.class {
                    let share = f64::from(m.share) / 255.0;
                    weights[usize::from(k)] += share;
                    *(if k == candidate.kind { &mut own } else { &mut spots }) += share;
                }
            }
        }
        let n = outline.area_px2() * DISC * DISC / (pitch * pitch);
        (weights, (own + f64::min(spots, own)) / n)
    }

    /// The picture at a point, bilinear, in the learnt light.
    fn sample(&self, p: Vector2<f64>) -> Colour {
        let (x, y) = (p.x as f32, p.y as f32);
        let (cx, cy) = ((x - self.siting_px as f32) / 2.0, (y - 0.5) / 2.0);
        self.light.undo([
            bilinear(self.image.y(), x, y),
            bilinear(self.image.u(), cx, cy),
            bilinear(self.image.v(), cx, cy),
        ])
    }
}

/// Cells within `reach` of `middle`, clamped to the plane.
fn cell_range(middle: f64, reach: f64, n: usize) -> std::ops::Range<usize> {
    let from = (middle - reach).floor().clamp(0.0, n as f64) as usize;
    let to = (middle + reach + 1.0).ceil().clamp(0.0, n as f64) as usize;
    from..to
}

fn mean(colours: &[Colour]) -> Colour {
    let n = colours.len().max(1) as f32;
    Colour([0, 1, 2].map(|k| colours.iter().map(|c| c.0[k]).sum::<f32>() / n))
}

/// Value between samples; the plane's edge goes on outside.
fn bilinear(plane: Plane<'_>, x: f32, y: f32) -> f32 {
    let x = x.clamp(0.0, (plane.width - 1) as f32);
    let y = y.clamp(0.0, (plane.height - 1) as f32);
    let (left, top) = (x as usize, y as usize);
    let (fx, fy) = (x - left as f32, y - top as f32);
    let right = (left + 1).min(plane.width - 1);
    let (a, b) = (plane.row(top), plane.row(top + 1));
    let mix = |row: &[u8]| f32::from(row[left]) * (1.0 - fx) + f32::from(row[right]) * fx;
    mix(a) * (1.0 - fy) + mix(b) * fy
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
