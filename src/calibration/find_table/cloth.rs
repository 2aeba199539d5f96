//! Where the cloth is, roughly: the large region of one colour around the middle of the picture, on a shrunken picture.
//!
//! The colour is learnt from the picture. Chroma is taken in proportion to luma, since that is what light and shade leave alone.

use opencv::core::{self, BORDER_CONSTANT, Mat, Point, Size, ToInputArray, Vector};
use opencv::imgproc;
use opencv::prelude::*;

use crate::frame::{ColourRange, Image};

/// Width that pictures are shrunken to, about, pixels: a table's side then still is some hundred pixels long.
const SMALL_WIDTH_PX: usize = 480;
/// Share of the picture's width and height around its middle in which the cloth's colour is looked for: a table that stands upright
/// in a wide picture covers a quarter of the width.
const CENTRAL_SHARE: f64 = 0.5;
/// Edge of a histogram cell in 8-bit levels; smoothed over three cells it holds the chroma of a cloth with its noise.
const CHROMA_CELL: usize = 4;
/// Least share of the central part that the most frequent colour must cover.
const MIN_MODE_SHARE: f64 = 0.1;
/// Luma of cloth as a share of its usual luma: from the shade at the cushions to the bright spot under a lamp.
const LUMA_RANGE: (f64, f64) = (0.4, 2.0);
/// Chroma of cloth may differ by this share of its usual size: what tone curves of cameras leave of shading.
const CHROMA_SLACK: f64 = 0.25;
/// Under bright light chroma grows no further than this: cameras let colours fade toward white.
const MAX_CHROMA_GAIN: f64 = 1.3;
/// ... and by this many levels: noise and the rounding of low bitrates, after shrinking.
const CHROMA_NOISE_LEVELS: f64 = 4.0;
/// Colours around the middle that are tried: cloth, floor, and one more.
const MAX_COLOURS: usize = 3;
/// A region that touches more than this share of the picture's border is a floor or a card, not a table.
const MAX_BORDER_SHARE: f64 = 0.3;
/// Least share of the picture that a table covers: a smaller one cannot be measured.
const MIN_AREA_SHARE: f64 = 0.06;
/// Edge of the square of that median, small pixels.
const CALMING_PX: i32 = 5;
/// Chroma may also differ by this many times its own spread on the cloth (mean absolute deviation): a little beyond 99 % of a normal one.
const CHROMA_SPREADS: f64 = 3.5;
/// ... and where the wood is of the cloth's own hue, by this share, in proportion to the light: dark wood has as little chroma as deep
/// shade on cloth, but less of it than cloth would have in that light.
const NARROW_CHROMA_SLACK: f64 = 0.15;
/// Edge of the square that closing fills, small pixels: the shade under a nose parts the cushion from the bed.
const CLOSING_PX: i32 = 5;
/// Edge of the square that opening takes away, small pixels: cues, arms and letters are thinner.
const OPENING_PX: i32 = 5;

/// A picture shrunken by an even number of pixels, all planes of one size.
pub(super) struct Small {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Pixels of the picture in one small pixel.
    pub(super) scale: usize,
    y: Vec<u8>,
    u: Vec<u8>,
    v: Vec<u8>,
    black: f64,
}

/// Usual colour of the cloth: luma above black, chroma from neutral.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClothColour {
    pub(super) luma: f64,
    pub(super) u: f64,
    pub(super) v: f64,
    /// Mean absolute deviation of the chroma, levels.
    spread: f64,
    likeness: Likeness,
}

/// How like the cloth a colour must be to be taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// In any shade, under any tone curve.
    Wide,
    /// Where the wood is of the cloth's own hue: chroma close to what cloth has in the same light.
    Narrow,
}

impl ClothColour {
    /// How far a colour (luma above black, chroma from neutral) is from the cloth in the same light, levels of chroma.
    fn chroma_off(&self, [y, u, v]: [f64; 3]) -> f64 {
        let light = (y / self.luma).min(MAX_CHROMA_GAIN);
        (u - self.u * light).abs().max((v - self.v * light).abs())
    }

    /// Whether a colour (luma above black, chroma from neutral) may be the cloth in some light.
    pub(super) fn is_like(&self, colour: [f64; 3]) -> bool {
        let light = colour[0] / self.luma;
        let chroma = self.u.hypot(self.v);
        let slack = match self.likeness {
            Likeness::Wide => CHROMA_SLACK * chroma,
            Likeness::Narrow => NARROW_CHROMA_SLACK * chroma * light.min(MAX_CHROMA_GAIN),
        };
        let tolerance = CHROMA_NOISE_LEVELS + slack.max(CHROMA_SPREADS * self.spread);
        light >= LUMA_RANGE.0 && light <= LUMA_RANGE.1 && self.chroma_off(colour) <= tolerance
    }
}

/// Which small pixels are cloth (255) and which are not (0); row after row.
pub(super) struct Region {
    pub(super) bits: Vec<u8>,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) scale: usize,
    pub(super) colour: ClothColour,
}

impl Small {
    pub(super) fn of(image: &Image) -> opencv::Result<Self> {
        // Even, so that chroma samples fall into the same cells.
        let scale = (image.width() as f64 / (2 * SMALL_WIDTH_PX) as f64).round().max(1.0) as usize * 2;
        let (width, height) = (image.width() / scale, image.height() / scale);
        Ok(Self {
            width,
            height,
            scale,
            y: shrink(image.y(), scale, width, height),
            u: calmed(&shrink(image.u(), scale / 2, width, height), width, height)?,
            v: calmed(&shrink(image.v(), scale / 2, width, height), width, height)?,
            black: black_level(image),
        })
    }

    /// Luma above black and chroma from neutral of small pixel `i`.
    fn colour(&self, i: usize) -> [f64; 3] {
        [
            f64::from(self.y[i]) - self.black,
            f64::from(self.u[i]) - 128.0,
            f64::from(self.v[i]) - 128.0,
        ]
    }

    /// The most frequent colours around the middle, most frequent first: the cloth, or the floor beside a table that stands upright.
    pub(super) fn central_colours(&self, likeness: Likeness) -> Vec<ClothColour> {
        let central = self.central();
        let cells = 256 / CHROMA_CELL;
        let mut histogram = vec![0_u32; cells * cells];
        for &i in &central {
            histogram[usize::from(self.u[i]) / CHROMA_CELL * cells + usize::from(self.v[i]) / CHROMA_CELL] += 1;
        }
        let mut colours = Vec::new();
        while colours.len() < MAX_COLOURS {
            let around = |a: usize, b: usize| (a - 1..=a + 1).flat_map(move |a| (b - 1..=b + 1).map(move |b| a * cells + b));
            let Some((cell, count)) = (1..cells - 1)
                .flat_map(|a| (1..cells - 1).map(move |b| (a, b)))
                .map(|(a, b)| ((a, b), around(a, b).map(|i| histogram[i]).sum::<u32>()))
                .max_by_key(|(cell, sum)| (*sum, std::cmp::Reverse(*cell)))
            else {
                break;
            };
            if f64::from(count) < MIN_MODE_SHARE * central.len() as f64 {
                break;
            }
            colours.extend(self.colour_in(&central, cell, likeness));
            for i in around(cell.0, cell.1) {
                histogram[i] = 0;
            }
        }
        colours
    }

    /// Indices of the small pixels around the middle.
    fn central(&self) -> Vec<usize> {
        let span = |n: usize| {
            let edge = (n as f64 * (1.0 - CENTRAL_SHARE) / 2.0) as usize;
            edge..n - edge
        };
        span(self.height)
            .flat_map(|r| span(self.width).map(move |c| r * self.width + c))
            .collect()
    }

    /// Usual colour of the central pixels in a cell of the chroma histogram and its neighbours.
    fn colour_in(&self, central: &[usize], cell: (usize, usize), likeness: Likeness) -> Option<ClothColour> {
        let near = |plane: &[u8], i: usize, cell: usize| (usize::from(plane[i]) / CHROMA_CELL).abs_diff(cell) <= 1;
        let members: Vec<usize> = central
            .iter()
            .copied()
            .filter(|&i| near(&self.u, i, cell.0) && near(&self.v, i, cell.1))
            .collect();
        let luma = luma_mode(members.iter().map(|&i| self.y[i]))?;
        let like: Vec<usize> = members
            .into_iter()
            .filter(|&i| (f64::from(self.y[i]) - luma).abs() <= 0.25 * (luma - self.black).max(8.0))
            .collect();
        let median = |plane: &[u8]| {
            let mut values: Vec<u8> = like.iter().map(|&i| plane[i]).collect();
            values.sort_unstable();
            values.get(values.len() / 2).map(|v| f64::from(*v))
        };
        let mut colour = ClothColour {
            luma: (median(&self.y)? - self.black).max(1.0),
            u: median(&self.u)? - 128.0,
            v: median(&self.v)? - 128.0,
            spread: 0.0,
            likeness,
        };
        let off: f64 = like.iter().map(|&i| colour.chroma_off(self.colour(i))).sum();
        colour.spread = off / like.len().max(1) as f64;
        Some(colour)
    }

    /// The largest region of a colour, without thin things. `None` when it is too small for a table, or runs along the picture's border.
    pub(super) fn region(&self, colour: ClothColour) -> opencv::Result<Option<Region>> {
        let bits: Vec<u8> = (0..self.width * self.height)
            .map(|i| if colour.is_like(self.colour(i)) { 255 } else { 0 })
            .collect();
        let mask = Mat::new_rows_cols_with_data(self.height as i32, self.width as i32, &bits)?;
        let (mut closed, mut opened) = (Mat::default(), Mat::default());
        morphology(&mask, &mut closed, imgproc::MORPH_CLOSE, CLOSING_PX)?;
        morphology(&closed, &mut opened, imgproc::MORPH_OPEN, OPENING_PX)?;
        let (mut labels, mut stats, mut centroids) = (Mat::default(), Mat::default(), Mat::default());
        let n = imgproc::connected_components_with_stats(&opened, &mut labels, &mut stats, &mut centroids, 4, core::CV_32S)?;
        let mut best = (0, 0);
        for label in 1..n {
            let area = *stats.at_2d::<i32>(label, imgproc::CC_STAT_AREA)?;
            if area > best.1 {
                best = (label, area);
            }
        }
        if f64::from(best.1) < MIN_AREA_SHARE * (self.width * self.height) as f64 {
            return Ok(None);
        }
        let bits: Vec<u8> = labels
            .data_typed::<i32>()?
            .iter()
            .map(|l| if *l == best.0 { 255 } else { 0 })
            .collect();
        if border_share(&bits, self.width, self.height) > MAX_BORDER_SHARE {
            return Ok(None);
        }
        Ok(Some(Region {
            bits,
            width: self.width,
            height: self.height,
            scale: self.scale,
            colour,
        }))
    }
}

impl Region {
    /// Overlap of two regions: common area over joint area, 0 for pictures of different size.
    pub(super) fn overlap(&self, other: &Self) -> f64 {
        if (self.width, self.height) != (other.width, other.height) {
            return 0.0;
        }
        let (mut both, mut either) = (0_u32, 1_u32);
        for (a, b) in self.bits.iter().zip(&other.bits) {
            both += u32::from(*a & *b != 0);
            either += u32::from(*a | *b != 0);
        }
        f64::from(both) / f64::from(either)
    }

    /// Cloth where at least `share` of the regions have it: people move about, the table does not.
    pub(super) fn vote(regions: &[&Self], share: f64) -> Option<Self> {
        let first = regions.first()?;
        let least = (share * regions.len() as f64).ceil().max(1.0) as usize;
        let bits = (0..first.bits.len())
            .map(|i| {
                if regions.iter().filter(|r| r.bits[i] != 0).count() >= least {
                    255
                } else {
                    0
                }
            })
            .collect();
        Some(Self { bits, ..**first })
    }

    /// Outline of the region's largest part, small pixels, in order around it.
    pub(super) fn outline(&self) -> opencv::Result<Vec<(f64, f64)>> {
        let mask = Mat::new_rows_cols_with_data(self.height as i32, self.width as i32, &self.bits)?;
        let mut contours: Vector<Vector<Point>> = Vector::new();
        imgproc::find_contours(
            &mask,
            &mut contours,
            imgproc::RETR_EXTERNAL,
            imgproc::CHAIN_APPROX_NONE,
            Point::new(0, 0),
        )?;
        let longest = contours.iter().max_by_key(Vector::len);
        Ok(longest.map_or_else(Vec::new, |c| c.iter().map(|p| (f64::from(p.x), f64::from(p.y))).collect()))
    }
}

fn morphology(from: &impl ToInputArray, to: &mut Mat, operation: i32, edge_px: i32) -> opencv::Result<()> {
    let middle = Point::new(-1, -1);
    let square = imgproc::get_structuring_element(imgproc::MORPH_RECT, Size::new(edge_px, edge_px), middle)?;
    let outside = imgproc::morphology_default_border_value()?;
    imgproc::morphology_ex(from, to, operation, &square, middle, 1, BORDER_CONSTANT, outside)
}

/// Median over a small square: low bitrates leave blotches of colour.
fn calmed(plane: &[u8], width: usize, height: usize) -> opencv::Result<Vec<u8>> {
    let noisy = Mat::new_rows_cols_with_data(height as i32, width as i32, plane)?;
    let mut out = Mat::default();
    imgproc::median_blur(&noisy, &mut out, CALMING_PX)?;
    Ok(out.data_typed::<u8>()?.to_vec())
}

/// Share of the outermost pixels that are set.
fn border_share(bits: &[u8], width: usize, height: usize) -> f64 {
    let is_border = |i: usize| {
        let (r, c) = (i / width, i % width);
        r == 0 || c == 0 || r + 1 == height || c + 1 == width
    };
    let (mut set, mut all) = (0_u32, 0_u32);
    for (_, bit) in bits.iter().enumerate().filter(|(i, _)| is_border(*i)) {
        all += 1;
        set += u32::from(*bit != 0);
    }
    f64::from(set) / f64::from(all.max(1))
}

/// Luma of black.
pub(super) fn black_level(image: &Image) -> f64 {
    match image.range() {
        ColourRange::Limited => 16.0,
        ColourRange::Full => 0.0,
    }
}

/// Mean of each `scale` by `scale` block.
fn shrink(plane: crate::frame::Plane<'_>, scale: usize, width: usize, height: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(width * height);
    let mut sums = vec![0_u32; width];
    let area = (scale * scale) as u32;
    for r in 0..height {
        sums.fill(0);
        for k in 0..scale {
            let row = plane.row(r * scale + k);
            for (sum, block) in sums.iter_mut().zip(row.chunks_exact(scale)) {
                *sum += block.iter().map(|b| u32::from(*b)).sum::<u32>();
            }
        }
        out.extend(sums.iter().map(|s| ((s + area / 2) / area) as u8));
    }
    out
}

/// The most frequent luma, smoothed over 16 levels.
fn luma_mode(values: impl Iterator<Item = u8>) -> Option<f64> {
    let mut histogram = [0_u32; 256];
    for v in values {
        histogram[usize::from(v)] += 1;
    }
    let window = 16;
    (0..=256 - window)
        .map(|a| (a, histogram[a..a + window].iter().sum::<u32>()))
        .max_by_key(|(a, n)| (*n, std::cmp::Reverse(*a)))
        .filter(|(_, n)| *n > 0)
        .map(|(a, _)| a as f64 + window as f64 / 2.0)
}
