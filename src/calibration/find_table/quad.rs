//! Four-sided figures in the outline of a region. Plain geometry in pixels.

use nalgebra::{Matrix2, Point2, Vector2};

/// A line that may bend: unit normal, distance from the origin, and how far it bends away along the normal by the square of the
/// distance from `middle`.
#[derive(Debug, Clone, Copy)]
struct Line {
    normal: Vector2<f64>,
    distance: f64,
    bend: f64,
    middle: Point2<f64>,
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

/// How far a side's middle may lie from the straight line through its ends, as a share of the outline's extent: distortion of wide lenses.
const BEND_SHARE: f64 = 0.016;
/// Bends that are tried between none and that, on each side.
const BENDS: i32 = 4;
/// The outline follows a side where it is within this many pixels of it: it is made of whole pixels, roughened by noise.
const FOLLOW_PX: f64 = 1.6;
/// Points of the outline that count, about: more do not make a side clearer.
const COUNTED_POINTS: usize = 500;
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
    let lines = lines(&points, lo + (hi - lo) / 2.0, (hi - lo).norm());
    let mut found: Vec<(f64, Quad)> = Vec::new();
    for a in 0..lines.len() {
        for b in a + 1..lines.len() {
            for c in b + 1..lines.len() {
                for d in c + 1..lines.len() {
                    let sides = [lines[a], lines[b], lines[c], lines[d]];
                    if let Some((score, quad)) = quad_of(sides, &points, lo, hi) {
                        found.push((score, quad));
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MAX_QUADS).map(|(_, q)| q).collect()
}

/// Sides of the outline: the line that most points follow, then the next among the others, and so on.
fn lines(points: &[Point2<f64>], middle: Point2<f64>, extent: f64) -> Vec<Line> {
    let n = points.len();
    let mut lines = Vec::new();
    if n < 48 {
        return lines;
    }
    let mut free: Vec<Point2<f64>> = points.iter().copied().step_by(n.div_ceil(COUNTED_POINTS)).collect();
    let all = free.len();
    // A bend of `k` px^-1 lifts the ends of a side of the outline's extent by k (extent / 2)^2.
    let bend_of = |i: i32| f64::from(i) / f64::from(BENDS) * BEND_SHARE * extent / (extent * extent / 4.0);
    let bends: Vec<f64> = (-BENDS..=BENDS).map(bend_of).collect();
    while lines.len() < MAX_LINES {
        let mut best: Option<(usize, Line)> = None;
        for i in (0..n).step_by(n / 48) {
            for gap in [n / 24, n / 12, n / 6] {
                let (p, q) = (points[i], points[(i + gap) % n]);
                for bend in &bends {
                    let Some(line) = line_through(p, q, *bend, middle) else {
                        continue;
                    };
                    let count = free.iter().filter(|p| line.off(**p).abs() <= FOLLOW_PX).count();
                    if best.is_none_or(|(most, _)| count > most) {
                        best = Some((count, line));
                    }
                }
            }
        }
        let Some((count, line)) = best else {
            break;
        };
        if (count as f64) < MIN_LINE_SHARE * all as f64 {
            break;
        }
        free.retain(|p| line.off(*p).abs() > 2.0 * FOLLOW_PX);
        lines.push(line);
    }
    lines
}

impl Line {
    /// Signed distance of a point, positive along the normal.
    fn off(&self, p: Point2<f64>) -> f64 {
        let along = self.normal.perp(&(p - self.middle));
        self.normal.dot(&p.coords) - self.distance - self.bend * along * along
    }
}

/// The line through two points with a given bend.
fn line_through(p: Point2<f64>, q: Point2<f64>, bend: f64, middle: Point2<f64>) -> Option<Line> {
    let d = q - p;
    if d.norm() <= 1.0 {
        return None;
    }
    // The chord of a bent line is turned against its tangent at the middle; one correction is enough for small bends.
    let straight = Vector2::new(-d.y, d.x).normalize();
    let (a, b) = (straight.perp(&(p - middle)), straight.perp(&(q - middle)));
    let along = Vector2::new(-straight.y, straight.x);
    let normal = (straight + along * (bend * (a + b))).normalize();
    let line = Line {
        normal,
        distance: 0.0,
        bend,
        middle,
    };
    Some(Line {
        distance: f64::midpoint(line.off(p), line.off(q)),
        ..line
    })
}

fn meet(a: Line, b: Line) -> Option<Point2<f64>> {
    let m = Matrix2::new(a.normal.x, a.normal.y, b.normal.x, b.normal.y);
    // Sides that meet at less than 10 degrees are not neighbours of a table seen from above.
    if m.determinant().abs() < 0.17 {
        return None;
    }
    let inverse = m.try_inverse()?;
    let mut corner = Point2::from(inverse * Vector2::new(a.distance, b.distance));
    // Bends are small: each round gains a digit.
    for _ in 0..3 {
        corner -= inverse * Vector2::new(a.off(corner), b.off(corner));
    }
    Some(corner)
}

fn quad_of(sides: [Line; 4], points: &[Point2<f64>], lo: Point2<f64>, hi: Point2<f64>) -> Option<(f64, Quad)> {
    // Each side must have the outline's middle on one side; sort them by the direction in which they lie from it.
    let middle = lo + (hi - lo) / 2.0;
    let mut sides = sides.map(|s| {
        if s.off(middle) > 0.0 {
            Line {
                normal: -s.normal,
                distance: -s.distance,
                bend: -s.bend,
                ..s
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
                sides[i].off(**p).abs() <= FOLLOW_PX && t > 0.03 * length && t < 0.97 * length
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
    let outside = points
        .iter()
        .filter(|p| sides.iter().any(|s| s.off(**p) > 2.0 * FOLLOW_PX))
        .count() as f64
        / points.len() as f64;
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
