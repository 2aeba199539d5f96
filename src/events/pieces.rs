//! A ball's readings split into smooth pieces: rest, straight, or constant acceleration.
//!
//! Between two events a ball slides under constant acceleration and then rolls straight under constant deceleration
//! (Marlow, "The Physics of Pocket Billiards", 1995), so each phase is a quadratic in time on each axis. The split with
//! the least total of squared residuals (in standard deviations) plus a price for every parameter is found exactly by
//! dynamic programming (Bellman's segmented least squares).

use nalgebra::{Matrix3, Vector2, Vector3};

/// One reading as fitted here: seconds and metres in the table frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub t: f64,
    pub x: f64,
    pub y: f64,
    /// One standard deviation on either axis, metres.
    pub sigma: Vector2<f64>,
}

impl Point {
    pub fn place(&self) -> Vector2<f64> {
        Vector2::new(self.x, self.y)
    }
}

/// Position as a polynomial in time over the readings `first..=last`.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub first: usize,
    pub last: usize,
    /// Time of the first and last reading, seconds.
    pub t_first: f64,
    pub t_last: f64,
    /// Origin of the polynomial's time, seconds.
    origin: f64,
    x: Vector3<f64>,
    y: Vector3<f64>,
    /// Covariance of either axis's coefficients.
    /// Of the coefficients on either axis.
    covariance: [Matrix3<f64>; 2],
    /// 1 rest, 2 straight, 3 accelerated.
    pub terms: usize,
    pub chi2: f64,
}

/// A single reading says nothing of the velocity; its error is then taken from this, metres per second, one standard
/// deviation: about the fastest that a ball moves.
const UNKNOWN_SPEED_M_S: f64 = 5.0;

impl Piece {
    pub fn len(&self) -> usize {
        self.last - self.first + 1
    }

    /// Whether the piece says how fast the ball moved.
    pub fn knows_velocity(&self) -> bool {
        self.terms == 1 && self.len() >= 3 || self.len() >= 2 && self.terms >= 2
    }

    pub fn is_rest(&self) -> bool {
        self.terms == 1 && self.len() >= 2
    }

    pub fn place(&self, t: f64) -> Vector2<f64> {
        let u = t - self.origin;
        let powers = Vector3::new(1.0, u, u * u);
        Vector2::new(self.x.dot(&powers), self.y.dot(&powers))
    }

    pub fn velocity(&self, t: f64) -> Vector2<f64> {
        let u = t - self.origin;
        let powers = Vector3::new(0.0, 1.0, 2.0 * u);
        Vector2::new(self.x.dot(&powers), self.y.dot(&powers))
    }

    pub fn acceleration(&self) -> Vector2<f64> {
        Vector2::new(2.0 * self.x[2], 2.0 * self.y[2])
    }

    /// One standard deviation of [`Self::place`] on either axis, metres.
    pub fn place_sigma(&self, t: f64) -> Vector2<f64> {
        let u = t - self.origin;
        let beyond = (self.t_first - t).max(t - self.t_last).max(0.0);
        self.sigma_of(Vector3::new(1.0, u, u * u), UNKNOWN_SPEED_M_S * beyond)
    }

    /// One standard deviation of [`Self::velocity`] on either axis, metres per second.
    pub fn velocity_sigma(&self, t: f64) -> Vector2<f64> {
        let u = t - self.origin;
        self.sigma_of(Vector3::new(0.0, 1.0, 2.0 * u), UNKNOWN_SPEED_M_S)
    }

    /// `unknown` is added where too few readings say nothing of the velocity.
    fn sigma_of(&self, powers: Vector3<f64>, unknown: f64) -> Vector2<f64> {
        let unknown = if self.terms == 1 && self.len() < 3 { unknown } else { 0.0 };
        let [x, y] = self
            .covariance
            .map(|c| (powers.dot(&(c * powers)).max(0.0) + unknown * unknown).sqrt());
        Vector2::new(x, y)
    }
}

/// One standard deviation along the unit vector `n` of what has these on the axes.
pub(crate) fn along(sigma: Vector2<f64>, n: Vector2<f64>) -> f64 {
    sigma.component_mul(&n).norm()
}

/// One standard deviation in no direction in particular: the geometric mean of both axes.
pub(crate) fn overall(sigma: Vector2<f64>) -> f64 {
    (sigma.x * sigma.y).sqrt()
}

/// Acceleration of a ball on the cloth, metres per second squared, one standard deviation of its prior: sliding friction
/// of cloth is 0.15–0.25 of gravity. Keeps three readings from being explained by an acceleration no cloth can give.
const ACCELERATION_PRIOR_M_S2: f64 = 2.0;

/// Coefficients and their covariance on each axis, and the sum of squared residuals.
struct Fit {
    axes: [(Vector3<f64>, Matrix3<f64>); 2],
    chi2: f64,
}

/// Sums for a weighted fit of up to three terms on one axis; time relative to the piece's first reading.
#[derive(Clone, Copy, Default)]
struct Axis {
    s: [f64; 5],
    x: [f64; 3],
    xx: f64,
}

impl Axis {
    fn add(&mut self, u: f64, x: f64, sigma: f64) {
        let w = 1.0 / (sigma * sigma);
        let mut power = w;
        for k in 0..5 {
            self.s[k] += power;
            if k < 3 {
                self.x[k] += power * x;
            }
            power *= u;
        }
        self.xx += w * x * x;
    }

    /// Coefficients, their covariance and the residual sum of squares of the fit with `terms` terms.
    fn solve(&self, terms: usize) -> Option<(Vector3<f64>, Matrix3<f64>, f64)> {
        let s = &self.s;
        // Unused terms are pinned to zero by a unit diagonal.
        let m = match terms {
            1 => Matrix3::new(s[0], 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
            2 => Matrix3::new(s[0], s[1], 0.0, s[1], s[2], 0.0, 0.0, 0.0, 1.0),
            // The coefficient of t^2 is half the acceleration.
            _ => Matrix3::new(
                s[0],
                s[1],
                s[2],
                s[1],
                s[2],
                s[3],
                s[2],
                s[3],
                s[4] + (2.0 / ACCELERATION_PRIOR_M_S2).powi(2),
            ),
        };
        let mut inverse = m.try_inverse()?;
        let b = Vector3::new(
            self.x[0],
            if terms > 1 { self.x[1] } else { 0.0 },
            if terms > 2 { self.x[2] } else { 0.0 },
        );
        let c = inverse * b;
        for k in terms..3 {
            inverse[(k, k)] = 0.0;
        }
        let chi2 = (self.xx - c.dot(&b)).max(0.0);
        chi2.is_finite().then_some((c, inverse, chi2))
    }
}

/// The sums of both axes.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: usize,
    axes: [Axis; 2],
}

impl Sums {
    fn add(&mut self, p: &Point, origin: f64, place0: Vector2<f64>) {
        let from = p.place() - place0;
        for k in 0..2 {
            self.axes[k].add(p.t - origin, from[k], p.sigma[k]);
        }
        self.n += 1;
    }

    fn solve(&self, terms: usize) -> Option<Fit> {
        let (x, cov_x, chi2_x) = self.axes[0].solve(terms)?;
        let (y, cov_y, chi2_y) = self.axes[1].solve(terms)?;
        Some(Fit {
            axes: [(x, cov_x), (y, cov_y)],
            chi2: chi2_x + chi2_y,
        })
    }
}

/// Price of one more parameter, in squared standard deviations: about ln(number of readings), as in the Bayesian
/// information criterion, for shots of some hundred readings.
const PRICE_PER_PARAMETER: f64 = 5.0;

/// Price of one more piece on top of its parameters (its place in time is a parameter too), same unit.
const PRICE_PER_PIECE: f64 = 6.0;

/// Longest piece, seconds: a rolling ball's deceleration is constant to the accuracy of a reading for about this long.
const MAX_PIECE_S: f64 = 3.0;

/// A fit this many times worse per degree of freedom than its noise is not extended any further.
const HOPELESS_CHI2_PER_DOF: f64 = 60.0;

fn cheapest(sums: &Sums) -> Option<(f64, usize)> {
    let mut best: Option<(f64, usize)> = None;
    // A single reading can only be a place; two can be a place or a line.
    let most = sums.n.min(3);
    for terms in 1..=most {
        let Some(fit) = sums.solve(terms) else { continue };
        let price = fit.chi2 + PRICE_PER_PARAMETER * (2 * terms) as f64;
        if best.is_none_or(|b| price < b.0) {
            best = Some((price, terms));
        }
    }
    best
}

/// Fits the readings `first..=last`: a resting place for one term, else a place, a velocity and an acceleration, which a
/// cloth's friction bounds, so that even two readings have an honest error.
pub(crate) fn fit(points: &[Point], first: usize, last: usize, terms: usize) -> Option<Piece> {
    let (origin, place0) = (points[first].t, points[first].place());
    let mut sums = Sums::default();
    for p in &points[first..=last] {
        sums.add(p, origin, place0);
    }
    let terms = terms.min(last - first + 1);
    let Fit {
        axes: [(mut x, cov_x), (mut y, cov_y)],
        chi2,
    } = sums.solve(if terms == 1 { 1 } else { 3 })?;
    x[0] += place0.x;
    y[0] += place0.y;
    let (t_first, t_last) = (points[first].t, points[last].t);
    Some(Piece {
        first,
        last,
        t_first,
        t_last,
        origin,
        x,
        y,
        covariance: [cov_x, cov_y],
        terms,
        chi2,
    })
}

/// Splits the readings into pieces; every reading belongs to exactly one.
pub(crate) fn split(points: &[Point]) -> Vec<Piece> {
    let n = points.len();
    // best[j]: least price of the readings before j; from[j]: first reading of the last piece, and its terms.
    let mut best = vec![f64::INFINITY; n + 1];
    let mut from = vec![(0_usize, 1_usize); n + 1];
    best[0] = 0.0;
    for i in 0..n {
        if !best[i].is_finite() {
            continue;
        }
        let (origin, place0) = (points[i].t, points[i].place());
        let mut sums = Sums::default();
        for j in i..n {
            if points[j].t - origin > MAX_PIECE_S {
                break;
            }
            sums.add(&points[j], origin, place0);
            let Some((price, terms)) = cheapest(&sums) else { continue };
            let total = best[i] + price + PRICE_PER_PIECE;
            if total < best[j + 1] {
                best[j + 1] = total;
                from[j + 1] = (i, terms);
            }
            let dof = (2 * sums.n) as f64;
            if sums.n > 8 && price > HOPELESS_CHI2_PER_DOF * dof {
                break;
            }
        }
    }
    let mut cuts = Vec::new();
    let mut j = n;
    while j > 0 {
        let (i, terms) = from[j];
        cuts.push((i, j - 1, terms));
        j = i;
    }
    cuts.reverse();
    cuts.into_iter()
        .filter_map(|(a, b, terms)| fit(points, a, b, terms))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ball rolls to a rail at x = 1 and back: two straight pieces that meet at t = 0.5.
    #[test]
    fn a_rebound_is_two_pieces_that_meet_at_the_rail() {
        let points: Vec<Point> = (0..60)
            .map(|k| {
                let t = f64::from(k) / 60.0 + 0.003;
                let x = if t < 0.5 { 2.0 * t } else { 1.0 - 1.6 * (t - 0.5) };
                // A deterministic stand-in for noise, up to half a standard deviation.
                let wobble = 0.0005 * (f64::from(k) * 2.399).sin();
                Point {
                    t,
                    x: x + wobble,
                    y: 0.3 * t - wobble,
                    sigma: Vector2::repeat(0.001),
                }
            })
            .collect();
        let pieces = split(&points);
        assert_eq!(pieces.len(), 2, "{pieces:?}");
        assert!((pieces[0].velocity(0.5).x - 2.0).abs() < 0.01);
        assert!((pieces[1].velocity(0.5).x + 1.6).abs() < 0.01);
        assert!((pieces[0].place(0.5) - pieces[1].place(0.5)).norm() < 0.001);
    }

    #[test]
    fn rest_is_one_piece_without_velocity() {
        let points: Vec<Point> = (0..40)
            .map(|k| Point {
                t: f64::from(k) / 30.0,
                x: 0.1,
                y: 0.2 + 0.0003 * (f64::from(k) * 2.399).sin(),
                sigma: Vector2::repeat(0.001),
            })
            .collect();
        let pieces = split(&points);
        assert_eq!(pieces.len(), 1);
        assert!(pieces[0].is_rest());
    }
}
