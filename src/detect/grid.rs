//! Where balls can be in the picture, and a coarse copy of the picture there: one cell every few pixels, so that a ball is
//! six to twelve cells across whatever the resolution.

use std::ops::Range;

use nalgebra::Vector2;

use super::outline::Outline;
use crate::frame::Image;
use crate::space::{Camera, ImagePoint, TablePoint};
use crate::table::Table;

/// A ball's least diameter in cells. Five cells across give some 20 cells of area: enough to see that it is round, few
/// enough to look at every cell of every frame.
const CELLS_ACROSS: f64 = 5.0;
/// Steps along each rail when the outline of all possible balls is traced; 20 steps leave less than a pixel on a curved rail.
const STEPS_PER_RAIL: usize = 20;

/// Geometry of the cells.
pub(super) struct Grid {
    /// Chroma samples from one cell to the next; a chroma sample is two pixels.
    step: usize,
    /// Cells across and down.
    pub width: usize,
    pub height: usize,
    /// For each row the cells that some ball on the bed can cover.
    pub spans: Vec<Range<usize>>,
}

impl Grid {
    /// `None` when no ball on this table can be seen by this camera.
    pub fn new(camera: &Camera, table: &Table) -> Option<Self> {
        let mut edge = Vec::new();
        let mut least_diameter_px = f64::INFINITY;
        let inset = table.rail_contact_distance_m();
        let (x, y) = (table.length_m / 2.0 - inset, table.width_m / 2.0 - inset);
        for i in 0..=STEPS_PER_RAIL {
            let t = 2.0 * i as f64 / STEPS_PER_RAIL as f64 - 1.0;
            for (px, py) in [(t * x, y), (t * x, -y), (x, t * y), (-x, t * y)] {
                let Some(outline) = Outline::of_ball(camera, TablePoint::new(px, py), table.ball_radius_m) else {
                    continue;
                };
                least_diameter_px = least_diameter_px.min(2.0 * outline.mean_radius_px());
                edge.extend(outline.ring(16, 1.0));
            }
        }
        if edge.is_empty() {
            return None;
        }
        let step = ((least_diameter_px / CELLS_ACROSS / 2.0).floor() as usize).max(1);
        let chroma = |px: u32| (px as usize).div_ceil(2);
        let mut grid = Self {
            step,
            width: chroma(camera.width_px()) / step,
            height: chroma(camera.height_px()) / step,
            spans: Vec::new(),
        };
        let hull = convex_hull(edge);
        grid.spans = (0..grid.height).map(|row| grid.span(&hull, row)).collect();
        grid.spans.iter().any(|s| !s.is_empty()).then_some(grid)
    }

    /// Cells of `row` inside the hull.
    fn span(&self, hull: &[Vector2<f64>], row: usize) -> Range<usize> {
        let y = self.centre(0, row).y();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (a, b) in hull.iter().zip(hull.iter().cycle().skip(1)) {
            if (a.y <= y) != (b.y <= y) {
                let x = a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y);
                low = low.min(x);
                high = high.max(x);
            }
        }
        if low > high {
            return 0..0;
        }
        let last = self.width as f64;
        let from = self.column(low).ceil().clamp(0.0, last) as usize;
        let to = (self.column(high).floor() + 1.0).clamp(0.0, last) as usize;
        from..to.max(from)
    }

    /// Pixels from one cell to the next.
    pub fn pitch_px(&self) -> f64 {
        2.0 * self.step as f64
    }

    /// The chroma sample that stands for a cell.
    pub fn chroma_index(&self, cell: usize) -> usize {
        cell * self.step + self.step / 2
    }

    /// Centre of a cell, pixels. Chroma is sited on the even columns and between rows (the default of H.264, annex E).
    pub fn centre(&self, column: usize, row: usize) -> ImagePoint {
        ImagePoint::new(
            2.0 * self.chroma_index(column) as f64,
            2.0 * self.chroma_index(row) as f64 + 0.5,
        )
    }

    /// The column, with fraction, whose centre lies at `x_px`.
    pub fn column(&self, x_px: f64) -> f64 {
        (x_px / 2.0 - (self.step / 2) as f64) / self.step as f64
    }

    /// The row, with fraction, whose centre lies at `y_px`.
    pub fn row(&self, y_px: f64) -> f64 {
        ((y_px - 0.5) / 2.0 - (self.step / 2) as f64) / self.step as f64
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.width * self.height
    }
}

/// The picture at the cells, three planes of `width * height` bytes; cells outside the spans are left as they were.
pub(super) struct Cells {
    pub y: Vec<u8>,
    pub u: Vec<u8>,
    pub v: Vec<u8>,
}

impl Cells {
    pub fn new(grid: &Grid) -> Self {
        Self {
            y: vec![0; grid.len()],
            u: vec![0; grid.len()],
            v: vec![0; grid.len()],
        }
    }

    /// Reads the cells of all spans, each value sent through its plane's table.
    pub fn read(&mut self, grid: &Grid, image: &Image, tables: &[[u8; 256]; 3]) {
        let (luma, blue, red) = (image.y(), image.u(), image.v());
        for (row, span) in grid.spans.iter().enumerate() {
            if span.is_empty() {
                continue;
            }
            let c = grid.chroma_index(row);
            let first = grid.chroma_index(span.start);
            let at = row * grid.width + span.start..row * grid.width + span.end;
            let (out_y, out_u, out_v) = (&mut self.y[at.clone()], &mut self.u[at.clone()], &mut self.v[at]);
            let (y0, y1) = (&luma.row(2 * c)[2 * first..], &luma.row(2 * c + 1)[2 * first..]);
            match grid.step {
                1 => pick_means::<2>(y0, y1, &tables[0], out_y),
                2 => pick_means::<4>(y0, y1, &tables[0], out_y),
                3 => pick_means::<6>(y0, y1, &tables[0], out_y),
                n => {
                    for (out, i) in out_y.iter_mut().zip((0..).step_by(2 * n)) {
                        *out = tables[0][usize::from(y0[i].midpoint(y1[i]))];
                    }
                }
            }
            for (plane, table, out) in [(blue, &tables[1], out_u), (red, &tables[2], out_v)] {
                let samples = &plane.row(c)[first..];
                match grid.step {
                    1 => pick::<1>(samples, table, out),
                    2 => pick::<2>(samples, table, out),
                    3 => pick::<3>(samples, table, out),
                    n => {
                        for (out, i) in out.iter_mut().zip((0..).step_by(n)) {
                            *out = table[usize::from(samples[i])];
                        }
                    }
                }
            }
        }
    }
}

/// Every `N`th sample; the last one may stand in a chunk cut short by the end of the row.
fn pick<const N: usize>(samples: &[u8], table: &[u8; 256], out: &mut [u8]) {
    let (chunks, rest) = samples.as_chunks::<N>();
    let mut chunks = chunks.iter().map(|c| c[0]).chain(rest.first().copied());
    for out in out {
        *out = chunks.next().map_or(*out, |v| table[usize::from(v)]);
    }
}

/// Mean of two rows at every `N`th sample.
fn pick_means<const N: usize>(upper: &[u8], lower: &[u8], table: &[u8; 256], out: &mut [u8]) {
    let ((a, rest_a), (b, rest_b)) = (upper.as_chunks::<N>(), lower.as_chunks::<N>());
    let whole = a.iter().zip(b).map(|(a, b)| a[0].midpoint(b[0]));
    let mut means = whole.chain(rest_a.first().zip(rest_b.first()).map(|(a, b)| a.midpoint(*b)));
    for out in out {
        *out = means.next().map_or(*out, |v| table[usize::from(v)]);
    }
}

/// Corners of the convex hull in order (Andrew's monotone chain).
fn convex_hull(mut points: Vec<Vector2<f64>>) -> Vec<Vector2<f64>> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    let half = |points: &mut dyn Iterator<Item = Vector2<f64>>| {
        let mut chain: Vec<Vector2<f64>> = Vec::new();
        for p in points {
            while let [.., a, b] = chain[..] {
                if (b - a).perp(&(p - a)) > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(p);
        }
        chain.pop();
        chain
    };
    let mut hull = half(&mut points.iter().copied());
    hull.extend(half(&mut points.iter().rev().copied()));
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hull_of_a_square_with_a_point_inside_is_the_square() {
        let points = [(0.0, 0.0), (4.0, 0.0), (2.0, 1.0), (4.0, 4.0), (0.0, 4.0)];
        let hull = convex_hull(points.iter().map(|&(x, y)| Vector2::new(x, y)).collect());
        assert_eq!(hull.len(), 4);
        assert!(!hull.contains(&Vector2::new(2.0, 1.0)));
    }
}
