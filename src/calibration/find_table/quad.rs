//! Four-sided figures in the outline of a region. Plain geometry in pixels.

use nalgebra::{Matrix2, Point2, Vector2};

/// A line: unit normal and its distance from the origin.
#[derive(Debug, Clone, Copy)]
struct Line {
    normal: Vector2<f64>,
    distance: f64,
}

/// A four-sided figure: corners in order around it (clockwise in the picture), and the outline's points near each side
/// (`sides[i]` runs from `corners[i]` to `corners[i + 1]`).
#[derive(Debug, Clone)]
pub(super) struct Quad {
    pub(super) corners: [Point2<f64>; 4],
    pub(super) sides: [Vec<Point2<f64>>; 4],
    /// Share of the sides that the outline follows, 0 to 1.
    pub(super) followed: f64,
}

/// How far a side may bend away from a straight line, as a share of the outline's extent: distortion of wide lenses.
const BEND_SHARE: f64 = 0.012;
/// Lines that are tried at most: a table has four sides, people and graphics add some.
const MAX_LINES: usize = 9;
/// Least share of the outline that a line must follow to be tried.
const MIN_LINE_SHARE: f64 = 0.03;
/// Figures that are returned at most.
const MAX_QUADS: usize = 4;

/// The best figures, best first.
pub(super) fn quads(outline: &[(f64, f64)]) -> Vec<Quad> {
    let points: Vec<Point2<f64>> = outline.iter().map(|(x, y)| Point2::new(*x, *y)).collect();
    let (Some(lo), Some(hi)) = (
        points.iter().copied().reduce(|a, b| a.inf(&b)),
        points.iter().copied().reduce(|a, b| a.sup(&b)),
    ) else {
        return Vec::new();
    };
    let extent = (hi - lo).norm();
    let bend = (BEND_SHARE * extent).max(1.5);
    let lines = lines(&points, bend);
    let mut found: Vec<(f64, Quad)> = Vec::new();
    for a in 0..lines.len() {
        for b in a + 1..lines.len() {
            for c in b + 1..lines.len() {
                for d in c + 1..lines.len() {
                    let sides = [lines[a], lines[b], lines[c], lines[d]];
                    if let Some((score, quad)) = quad_of(sides, &points, lo, hi, bend) {
                        found.push((score, quad));
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MAX_QUADS).map(|(_, q)| q).collect()
}

/// Straight parts of the outline: the line that most points follow, then the next among the others, and so on.
fn lines(points: &[Point2<f64>], bend: f64) -> Vec<Line> {
    let n = points.len();
    let mut free: Vec<bool> = vec![true; n];
    let mut lines = Vec::new();
    if n < 48 {
        return lines;
    }
    while lines.len() < MAX_LINES {
        let mut best: Option<(usize, Line)> = None;
        for i in (0..n).step_by(n / 48) {
            for gap in [n / 24, n / 12, n / 6] {
                let (p, q) = (points[i], points[(i + gap) % n]);
                let Some(line) = line_through(p, q) else {
                    continue;
                };
                let count = points
                    .iter()
                    .zip(&free)
                    .filter(|(p, f)| **f && line.off(**p).abs() <= bend)
                    .count();
                if best.is_none_or(|(most, _)| count > most) {
                    best = Some((count, line));
                }
            }
        }
        let Some((count, line)) = best else {
            break;
        };
        if (count as f64) < MIN_LINE_SHARE * n as f64 {
            break;
        }
        let near: Vec<Point2<f64>> = points
            .iter()
            .zip(&free)
            .filter(|(p, f)| **f && line.off(**p).abs() <= bend)
            .map(|(p, _)| *p)
            .collect();
        let line = fitted(&near).unwrap_or(line);
        for (p, f) in points.iter().zip(&mut free) {
            *f &= line.off(*p).abs() > bend;
        }
        lines.push(line);
    }
    lines
}

impl Line {
    fn off(&self, p: Point2<f64>) -> f64 {
        self.normal.dot(&p.coords) - self.distance
    }
}

fn line_through(p: Point2<f64>, q: Point2<f64>) -> Option<Line> {
    let d = q - p;
    (d.norm() > 1.0).then(|| {
        let normal = Vector2::new(-d.y, d.x).normalize();
        Line {
            normal,
            distance: normal.dot(&p.coords),
        }
    })
}

/// Total least squares.
fn fitted(points: &[Point2<f64>]) -> Option<Line> {
    if points.len() < 2 {
        return None;
    }
    let mean = points.iter().map(|p| p.coords).sum::<Vector2<f64>>() / points.len() as f64;
    let spread: Matrix2<f64> = points.iter().map(|p| (p.coords - mean) * (p.coords - mean).transpose()).sum();
    let eigen = spread.symmetric_eigen();
    let least = if eigen.eigenvalues[0] < eigen.eigenvalues[1] { 0 } else { 1 };
    let normal = eigen.eigenvectors.column(least).into_owned();
    Some(Line {
        normal,
        distance: normal.dot(&mean),
    })
}

fn meet(a: Line, b: Line) -> Option<Point2<f64>> {
    let m = Matrix2::new(a.normal.x, a.normal.y, b.normal.x, b.normal.y);
    // Sides that meet at less than 10 degrees are not neighbours of a table seen from above.
    if m.determinant().abs() < 0.17 {
        return None;
    }
    m.try_inverse()
        .map(|inverse| Point2::from(inverse * Vector2::new(a.distance, b.distance)))
}

fn quad_of(sides: [Line; 4], points: &[Point2<f64>], lo: Point2<f64>, hi: Point2<f64>, bend: f64) -> Option<(f64, Quad)> {
    // Each side must have the outline's middle on one side; sort them by the direction in which they lie from it.
    let middle = lo + (hi - lo) / 2.0;
    let mut sides = sides.map(|s| {
        if s.off(middle) > 0.0 {
            Line {
                normal: -s.normal,
                distance: -s.distance,
            }
        } else {
            s
        }
    });
    sides.sort_by(|a, b| a.normal.y.atan2(a.normal.x).total_cmp(&b.normal.y.atan2(b.normal.x)));
    // An outline runs through the middles of the region's outermost pixels, the region ends half a pixel further out.
    let sides = sides.map(|s| Line {
        distance: s.distance + 0.5,
        ..s
    });
    let mut corners = [Point2::origin(); 4];
    let room = (hi - lo) * 0.35;
    for i in 0..4 {
        let c = meet(sides[(i + 3) % 4], sides[i])?;
        if c.x < lo.x - room.x || c.x > hi.x + room.x || c.y < lo.y - room.y || c.y > hi.y + room.y {
            return None;
        }
        corners[i] = c;
    }
    let mut area = 0.0;
    for i in 0..4 {
        let (a, b, c) = (corners[i], corners[(i + 1) % 4], corners[(i + 2) % 4]);
        let turn = (b - a).perp(&(c - b));
        if turn <= 0.0 {
            return None;
        }
        area += a.coords.perp(&b.coords) / 2.0;
    }
    let near: [Vec<Point2<f64>>; 4] = std::array::from_fn(|i| {
        let (a, b) = (corners[i], corners[(i + 1) % 4]);
        let along = (b - a).normalize();
        let length = (b - a).norm();
        points
            .iter()
            .filter(|p| {
                let t = (**p - a).dot(&along);
                sides[i].off(**p).abs() <= bend && t > 0.03 * length && t < 0.97 * length
            })
            .map(|p| p + sides[i].normal * 0.5)
            .collect()
    });
    // An outline has about one point a pixel along the longer of its two axes.
    let mut followed = 0.0;
    for i in 0..4 {
        let d = corners[(i + 1) % 4] - corners[i];
        let share = (near[i].len() as f64 / d.x.abs().max(d.y.abs()).max(1.0)).min(1.0);
        // A side that nothing follows is a guess.
        if share < 0.12 {
            return None;
        }
        followed += share / 4.0;
    }
    // A figure is better the more the outline follows it and the less of the outline lies outside.
    let outside = points.iter().filter(|p| sides.iter().any(|s| s.off(**p) > bend)).count() as f64 / points.len() as f64;
    let enclosing = (hi - lo).x * (hi - lo).y;
    let score = followed - outside + 0.2 * (area / enclosing.max(1.0)).min(1.0);
    Some((
        score,
        Quad {
            corners,
            sides: near,
            followed,
        },
    ))
}
