//! What the empty table looks like: the colour of the cloth at every cell, learnt from frames in which people and balls
//! stand here and there, and the lamp's brightness of the moment against it.

use super::colour::Colour;
use super::grid::{Cells, Grid};
use crate::frame::Image;

/// Bits dropped from U and V in the histogram that finds the cloth: bins of four levels, wider than a coder's noise.
const BIN_SHIFT: u32 = 2;
const BINS: usize = 256 >> BIN_SHIFT;
/// Brightness of cloth against its typical brightness: half in a player's shadow under the darkest nose, half as much more
/// under the middle of a lamp.
const CLOTH_BRIGHTNESS: std::ops::RangeInclusive<f32> = 0.25..=1.5;
/// Chroma of cloth against typical cloth scaled to its brightness, sum over U and V in levels: lamps' tints and coder noise
/// stay within, the darkest part of a red ball on burgundy cloth does not.
const CLOTH_CHROMA: f32 = 9.0;
/// Noise floor of coded video, levels: a quantiser step at usual rates.
const NOISE_FLOOR: f32 = 2.0;
/// Cells between the ones looked at for brightness and view.
const PROBE_STRIDE: usize = 7;
/// The lamp's brightness against the learnt one beyond which this is not the same picture: a fade or another camera.
const GAIN_RANGE: std::ops::RangeInclusive<f32> = 0.4..=2.2;
/// Least share of the probed cells that look like the learnt cloth. A player and his shadow cover a third of a table
/// seen from an end; a cut leaves next to nothing.
const LEAST_CLOTH_SHARE: f32 = 0.4;
/// A probed cell is cloth when it lies within this many levels (sum over U and V, and luma apart).
const PROBE_TOLERANCE: f32 = 24.0;
/// Rings of cells around what was never cloth that are not trusted either: a ball's blurred edge.
const UNTRUSTED_RINGS: usize = 2;

/// The cloth at every cell.
pub(super) struct Cloth {
    /// Typical cloth.
    pub typical: Colour,
    /// Noise of luma and of chroma, levels.
    pub noise: [f32; 2],
    /// Colour at each cell.
    pub cells: Cells,
}

/// How this frame's light differs from the learnt one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Light {
    /// Brightness over learnt brightness.
    pub gain: f32,
    /// Shift of U and V, levels, after the gain.
    pub shift: [f32; 2],
}

impl Light {
    /// The learnt light itself.
    pub const SAME: Self = Self {
        gain: 1.0,
        shift: [0.0; 2],
    };

    /// A sample triple as it would look in the learnt light.
    pub fn undo(self, raw: [f32; 3]) -> Colour {
        Colour([
            (raw[0] - Colour::BLACK[0]) / self.gain,
            (raw[1] - Colour::BLACK[1]) / self.gain - self.shift[0],
            (raw[2] - Colour::BLACK[2]) / self.gain - self.shift[1],
        ])
    }

    /// Tables that do the same to bytes.
    pub fn tables(self) -> [[u8; 256]; 3] {
        let mut tables = [[0; 256]; 3];
        for i in 0..256 {
            let undone = self.undo([i as f32; 3]).to_bytes();
            for (table, byte) in tables.iter_mut().zip(undone) {
                table[i] = byte;
            }
        }
        tables
    }
}

impl Cloth {
    /// Learns from the cells of some frames. `None` without frames.
    pub fn learn(grid: &Grid, samples: &[Cells]) -> Option<Self> {
        let typical = typical_cloth(grid, samples)?;
        let mut cells = Cells::new(grid);
        let mut known = vec![false; grid.len()];
        let mut seen: Vec<[u8; 3]> = Vec::with_capacity(samples.len());
        let mut spread = [vec![0_usize; 256], vec![0_usize; 256]];
        for (row, span) in grid.spans.iter().enumerate() {
            for i in row * grid.width + span.start..row * grid.width + span.end {
                seen.clear();
                seen.extend(
                    samples
                        .iter()
                        .map(|s| [s.y[i], s.u[i], s.v[i]])
                        .filter(|&p| is_cloth(typical, p)),
                );
                // A cell that was cloth in fewer than a third of the frames has something standing on it.
                if seen.len() * 3 < samples.len() || seen.is_empty() {
                    continue;
                }
                known[i] = true;
                let m = [0, 1, 2].map(|k| median(seen.iter().map(|p| p[k])));
                (cells.y[i], cells.u[i], cells.v[i]) = (m[0], m[1], m[2]);
                for p in &seen {
                    spread[0][usize::from(p[0].abs_diff(m[0]))] += 1;
                    spread[1][usize::from(p[1].abs_diff(m[1]))] += 1;
                }
            }
        }
        fill_unknown(grid, &mut cells, known)?;
        Some(Self {
            typical,
            noise: [deviation(&spread[0]), deviation(&spread[1])],
            cells,
        })
    }

    /// Colour of the empty table at a cell.
    pub fn at(&self, cell: usize) -> Colour {
        Colour::from_bytes([self.cells.y[cell], self.cells.u[cell], self.cells.v[cell]])
    }

    /// The light of this frame; `None` when the picture is not the learnt table.
    pub fn light(&self, grid: &Grid, image: &Image) -> Option<Light> {
        let mut probes = Vec::with_capacity(grid.len() / (PROBE_STRIDE * PROBE_STRIDE) + 1);
        let (luma, blue, red) = (image.y(), image.u(), image.v());
        for (row, span) in grid.spans.iter().enumerate().step_by(PROBE_STRIDE) {
            let c = grid.chroma_index(row);
            let (y, u, v) = (luma.row(2 * c), blue.row(c), red.row(c));
            for column in span.clone().step_by(PROBE_STRIDE) {
                let (x, i) = (grid.chroma_index(column), row * grid.width + column);
                let learnt = self.at(i);
                let now = [y[2 * x], u[x], v[x]].map(f32::from);
                probes.push((learnt, now));
            }
        }
        let gain = median_f32(
            probes
                .iter()
                .map(|(learnt, now)| (now[0] - Colour::BLACK[0]) / learnt.0[0].max(1.0)),
        )?;
        if !GAIN_RANGE.contains(&gain) {
            return None;
        }
        let mut light = Light { gain, shift: [0.0; 2] };
        for k in 0..2 {
            let shift = median_f32(probes.iter().map(|(learnt, now)| light.undo(*now).0[k + 1] - learnt.0[k + 1]))?;
            light.shift[k] = shift;
        }
        let alike = probes.iter().filter(|(learnt, now)| {
            let d = light.undo(*now).minus(*learnt);
            d.0[1].abs() + d.0[2].abs() < PROBE_TOLERANCE && d.0[0].abs() < PROBE_TOLERANCE
        });
        let in_view = alike.count() as f32 >= LEAST_CLOTH_SHARE * probes.len() as f32;
        let shifted = light.shift.iter().any(|s| s.abs() > PROBE_TOLERANCE / 2.0);
        (in_view && !shifted).then_some(light)
    }
}

/// The most frequent colour where balls can be: the cloth covers more of it than anything else.
fn typical_cloth(grid: &Grid, samples: &[Cells]) -> Option<Colour> {
    let mut histogram = vec![0_usize; BINS * BINS];
    let bin = |u: u8, v: u8| usize::from(u >> BIN_SHIFT) * BINS + usize::from(v >> BIN_SHIFT);
    let each = |visit: &mut dyn FnMut(u8, u8, u8)| {
        for s in samples {
            for (row, span) in grid.spans.iter().enumerate() {
                for i in row * grid.width + span.start..row * grid.width + span.end {
                    visit(s.y[i], s.u[i], s.v[i]);
                }
            }
        }
    };
    each(&mut |_, u, v| histogram[bin(u, v)] += 1);
    let (peak, &count) = histogram
        .iter()
        .enumerate()
        .max_by_key(|&(i, &n)| (n, std::cmp::Reverse(i)))?;
    if count == 0 {
        return None;
    }
    let (peak_u, peak_v) = (peak / BINS, peak % BINS);
    let mut levels = [vec![0_usize; 256], vec![0_usize; 256], vec![0_usize; 256]];
    each(&mut |y, u, v| {
        let (bu, bv) = (usize::from(u >> BIN_SHIFT), usize::from(v >> BIN_SHIFT));
        if bu.abs_diff(peak_u) <= 1 && bv.abs_diff(peak_v) <= 1 {
            for (level, value) in levels.iter_mut().zip([y, u, v]) {
                level[usize::from(value)] += 1;
            }
        }
    });
    Some(Colour::from_bytes([0, 1, 2].map(|k| quantile(&levels[k], 0.5))))
}

/// Whether a sample may be cloth in more or less light.
fn is_cloth(typical: Colour, sample: [u8; 3]) -> bool {
    let c = Colour::from_bytes(sample);
    let s = c.0[0] / typical.0[0].max(1.0);
    let d = c.minus(typical.scaled(s));
    CLOTH_BRIGHTNESS.contains(&s) && d.0[1].abs() + d.0[2].abs() < CLOTH_CHROMA
}

/// Gives cells that were never seen empty the mean of their nearest known neighbours. `None` when none is known.
fn fill_unknown(grid: &Grid, cells: &mut Cells, mut known: Vec<bool>) -> Option<()> {
    let inside: Vec<(usize, usize)> = grid
        .spans
        .iter()
        .enumerate()
        .flat_map(|(row, span)| span.clone().map(move |column| (row, column)))
        .collect();
    let around = |known: &[bool], row: usize, column: usize, wanted: bool| {
        let rows = row.saturating_sub(1)..=(row + 1).min(grid.height - 1);
        let mut found = Vec::new();
        for r in rows {
            for c in column.saturating_sub(1)..=(column + 1).min(grid.width - 1) {
                if grid.spans[r].contains(&c) && known[r * grid.width + c] == wanted {
                    found.push(r * grid.width + c);
                }
            }
        }
        found
    };
    for _ in 0..UNTRUSTED_RINGS {
        let before = known.clone();
        for &(row, column) in &inside {
            if before[row * grid.width + column] && around(&before, row, column, false).len() >= 3 {
                known[row * grid.width + column] = false;
            }
        }
    }
    let mut holes: Vec<(usize, usize)> = inside
        .iter()
        .copied()
        .filter(|&(row, column)| !known[row * grid.width + column])
        .collect();
    if holes.len() == inside.len() {
        return None;
    }
    while !holes.is_empty() {
        let before = known.clone();
        let left = holes.len();
        holes.retain(|&(row, column)| {
            let near = around(&before, row, column, true);
            if near.is_empty() {
                return true;
            }
            let i = row * grid.width + column;
            let mean = |plane: &[u8]| (near.iter().map(|&j| usize::from(plane[j])).sum::<usize>() / near.len()) as u8;
            (cells.y[i], cells.u[i], cells.v[i]) = (mean(&cells.y), mean(&cells.u), mean(&cells.v));
            known[i] = true;
            false
        });
        if holes.len() == left {
            break;
        }
    }
    Some(())
}

/// Standard deviation behind a histogram of absolute deviations: the 68 % point, at least the noise floor.
fn deviation(histogram: &[usize]) -> f32 {
    f32::from(quantile(histogram, 0.68)).max(NOISE_FLOOR)
}

fn quantile(histogram: &[usize], share: f64) -> u8 {
    let wanted = share * histogram.iter().sum::<usize>() as f64;
    let mut sum = 0;
    for (level, n) in histogram.iter().enumerate() {
        sum += n;
        if sum as f64 >= wanted && sum > 0 {
            return level as u8;
        }
    }
    0
}

/// Median of bytes (the upper one of an even number); 0 for none.
pub(super) fn median(values: impl Iterator<Item = u8>) -> u8 {
    let mut histogram = [0_usize; 256];
    values.for_each(|v| histogram[usize::from(v)] += 1);
    quantile(&histogram, 0.5)
}

fn median_f32(values: impl Iterator<Item = f32>) -> Option<f32> {
    let mut all: Vec<f32> = values.collect();
    if all.is_empty() {
        return None;
    }
    let middle = all.len() / 2;
    Some(*all.select_nth_unstable_by(middle, f32::total_cmp).1)
}
