//! From a decoder's frame to an upright 8-bit YUV 4:2:0 [`Image`], without a copy where the decoder's format allows it.

use std::sync::Arc;

use ffmpeg::format::Pixel;
use ffmpeg::{color, filter, frame};
use ffmpeg_next as ffmpeg;

use crate::frame::{ColourRange, Image, PlaneStore};

/// A frame whose buffers belong to the libraries' own pool; they go back there when the last user lets go.
struct Planes(frame::Video);

impl PlaneStore for Planes {
    fn bytes(&self, plane: usize) -> &[u8] {
        if plane < self.0.planes() { self.0.data(plane) } else { &[] }
    }
}

/// How a picture has to be turned or mirrored to stand upright.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    None,
    Clockwise,
    Half,
    CounterClockwise,
    MirrorX,
    MirrorY,
    Transpose,
    AntiTranspose,
}

impl Turn {
    /// From a display matrix: nine native-endian 32-bit numbers, rows `a b u`, `c d v`, `x y w`, that take a stored point
    /// (p, q) to the shown (a p + c q, b p + d q) (ISO/IEC 14496-12, 6.2.2). Angles between are rounded to a quarter turn: a
    /// camera's matrix has no other, and measuring in a resampled picture would only blur it.
    pub fn from_display_matrix(matrix: &[u8]) -> Self {
        let at = |i: usize| {
            let bytes = matrix.get(4 * i..4 * i + 4)?;
            Some(i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)))
        };
        let (Some(a), Some(b), Some(c), Some(d)) = (at(0), at(1), at(3), at(4)) else {
            return Self::None;
        };
        if a.abs() + d.abs() >= b.abs() + c.abs() {
            match (a < 0, d < 0) {
                (false, false) => Self::None,
                (true, true) => Self::Half,
                (true, false) => Self::MirrorX,
                (false, true) => Self::MirrorY,
            }
        } else {
            match (b < 0, c < 0) {
                (false, true) => Self::Clockwise,
                (true, false) => Self::CounterClockwise,
                (false, false) => Self::Transpose,
                (true, true) => Self::AntiTranspose,
            }
        }
    }

    /// Whether width and height change places.
    pub fn swaps_sides(self) -> bool {
        matches!(
            self,
            Self::Clockwise | Self::CounterClockwise | Self::Transpose | Self::AntiTranspose
        )
    }

    /// Filters that do it. `vflip` alone only turns the row order around in place, which [`Image`] cannot express: a copying
    /// filter follows it.
    fn filters(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Clockwise => Some("transpose=clock"),
            Self::Half => Some("vflip,hflip"),
            Self::CounterClockwise => Some("transpose=cclock"),
            Self::MirrorX => Some("hflip"),
            Self::MirrorY => Some("vflip,copy"),
            Self::Transpose => Some("transpose=cclock_flip"),
            Self::AntiTranspose => Some("transpose=clock_flip"),
        }
    }
}

/// What the filter chain was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    format: Pixel,
    width: u32,
    height: u32,
    range: ColourRange,
}

/// Makes images; keeps the conversion for the last seen layout.
pub(super) struct Pictures {
    turn: Turn,
    chain: Option<(Layout, filter::Graph)>,
}

impl Pictures {
    pub fn new(turn: Turn) -> Self {
        Self { turn, chain: None }
    }

    /// The frame as an upright image, with its own buffers where possible.
    ///
    /// # Errors
    /// What the libraries say when the format cannot be converted.
    pub fn image(&mut self, frame: frame::Video) -> Result<Image, ffmpeg::Error> {
        let layout = Layout {
            format: frame.format(),
            width: frame.width(),
            height: frame.height(),
            range: colour_range(&frame),
        };
        if self.turn == Turn::None && matches!(layout.format, Pixel::YUV420P | Pixel::YUVJ420P) && runs_downward(&frame) {
            return wrap(frame, layout.range);
        }
        let graph = match &mut self.chain {
            Some((built_for, graph)) if *built_for == layout => graph,
            chain => &mut chain.insert((layout, build(layout, self.turn)?)).1,
        };
        let missing = ffmpeg::Error::FilterNotFound;
        graph.get("in").ok_or(missing)?.source().add(&frame)?;
        let mut upright = frame::Video::empty();
        graph.get("out").ok_or(missing)?.sink().frame(&mut upright)?;
        wrap(upright, layout.range)
    }
}

fn wrap(frame: frame::Video, range: ColourRange) -> Result<Image, ffmpeg::Error> {
    if frame.planes() < 3 || !runs_downward(&frame) {
        return Err(ffmpeg::Error::InvalidData);
    }
    let (width, height) = (frame.width() as usize, frame.height() as usize);
    let strides = [frame.stride(0), frame.stride(1), frame.stride(2)];
    Image::new(width, height, strides, range, Arc::new(Planes(frame))).ok_or(ffmpeg::Error::InvalidData)
}

/// Whether rows follow each other upward in memory; some raw formats store the last row first, with a negative stride.
fn runs_downward(frame: &frame::Video) -> bool {
    (0..frame.planes()).all(|p| i32::try_from(frame.stride(p)).is_ok())
}

/// A descriptor's name: the only part of it that the bindings show safely and that tells families apart.
fn name(format: Pixel) -> &'static str {
    format.descriptor().map_or("", ffmpeg::format::pixel::Descriptor::name)
}

/// Luma and chroma already, as opposed to RGB, palette or grey, which are converted into limited range.
fn is_yuv(format: Pixel) -> bool {
    [
        "yuv", "nv", "p0", "p2", "p4", "uyvy", "uyyv", "yvyu", "y2", "ayuv", "vuy", "xv",
    ]
    .iter()
    .any(|family| name(format).starts_with(family))
}

fn colour_range(frame: &frame::Video) -> ColourRange {
    let format = frame.format();
    if name(format).starts_with("yuvj") || is_yuv(format) && frame.color_range() == color::Range::JPEG {
        ColourRange::Full
    } else {
        ColourRange::Limited
    }
}

/// Converts where needed, then turns; the colour range stays as it is, so that no level is rounded twice.
fn build(layout: Layout, turn: Turn) -> Result<filter::Graph, ffmpeg::Error> {
    let Layout {
        format,
        width,
        height,
        range,
    } = layout;
    let mut steps = Vec::new();
    if !matches!(format, Pixel::YUV420P | Pixel::YUVJ420P) {
        let range = match range {
            ColourRange::Full => "full",
            ColourRange::Limited => "limited",
        };
        let source = if is_yuv(format) { range } else { "auto" };
        steps.push(format!("scale=in_range={source}:out_range={range}:flags=bilinear"));
        steps.push("format=yuv420p".to_owned());
    }
    steps.extend(turn.filters().map(str::to_owned));
    if steps.is_empty() {
        steps.push("copy".to_owned());
    }
    let mut graph = filter::Graph::new();
    let missing = ffmpeg::Error::FilterNotFound;
    // each picture passes at once, so the filters' own clock is of no consequence
    let source = format!(
        "video_size={width}x{height}:pix_fmt={}:time_base=1/1:pixel_aspect=1/1",
        name(format)
    );
    graph.add(&filter::find("buffer").ok_or(missing)?, "in", &source)?;
    graph.add(&filter::find("buffersink").ok_or(missing)?, "out", "")?;
    graph.output("in", 0)?.input("out", 0)?.parse(&steps.join(","))?;
    graph.validate()?;
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(a: i32, b: i32, c: i32, d: i32) -> Turn {
        let matrix = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30];
        Turn::from_display_matrix(&matrix.iter().flat_map(|n| n.to_ne_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn display_matrices_name_their_turn() {
        assert_eq!(turn(1, 0, 0, 1), Turn::None);
        assert_eq!(turn(0, 1, -1, 0), Turn::Clockwise);
        assert_eq!(turn(-1, 0, 0, -1), Turn::Half);
        assert_eq!(turn(0, -1, 1, 0), Turn::CounterClockwise);
        assert_eq!(turn(-1, 0, 0, 1), Turn::MirrorX);
        assert_eq!(turn(1, 0, 0, -1), Turn::MirrorY);
        assert_eq!(turn(0, 1, 1, 0), Turn::Transpose);
        assert_eq!(turn(0, -1, -1, 0), Turn::AntiTranspose);
    }

    #[test]
    fn a_matrix_cut_short_turns_nothing() {
        assert_eq!(Turn::from_display_matrix(&[0; 7]), Turn::None);
    }

    /// A 3×2 picture of one plane's worth of distinct luma, as (width, height, rows).
    fn turned(turn: Turn, format: Pixel) -> (usize, usize, Vec<Vec<u8>>) {
        let mut frame = frame::Video::new(format, 3, 2);
        for plane in 0..frame.planes() {
            frame.data_mut(plane).fill(128);
        }
        let stride = frame.stride(0);
        for (i, y) in [100u8, 110, 120, 130, 140, 150].into_iter().enumerate() {
            frame.data_mut(0)[i / 3 * stride + i % 3] = y;
        }
        let image = Pictures::new(turn).image(frame).unwrap();
        let luma = image.y();
        (
            image.width(),
            image.height(),
            (0..luma.height).map(|r| luma.row(r).to_vec()).collect(),
        )
    }

    #[test]
    fn pictures_stand_upright_after_their_turn() {
        let rows = |rows: &[&[u8]]| rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>();
        for format in [Pixel::YUV420P, Pixel::NV12, Pixel::YUV444P] {
            assert_eq!(
                turned(Turn::None, format),
                (3, 2, rows(&[&[100, 110, 120], &[130, 140, 150]]))
            );
            assert_eq!(
                turned(Turn::Clockwise, format),
                (2, 3, rows(&[&[130, 100], &[140, 110], &[150, 120]]))
            );
            assert_eq!(
                turned(Turn::Half, format),
                (3, 2, rows(&[&[150, 140, 130], &[120, 110, 100]]))
            );
            assert_eq!(
                turned(Turn::CounterClockwise, format),
                (2, 3, rows(&[&[120, 150], &[110, 140], &[100, 130]]))
            );
            assert_eq!(
                turned(Turn::MirrorX, format),
                (3, 2, rows(&[&[120, 110, 100], &[150, 140, 130]]))
            );
            assert_eq!(
                turned(Turn::MirrorY, format),
                (3, 2, rows(&[&[130, 140, 150], &[100, 110, 120]]))
            );
            assert_eq!(
                turned(Turn::Transpose, format),
                (2, 3, rows(&[&[100, 130], &[110, 140], &[120, 150]]))
            );
            assert_eq!(
                turned(Turn::AntiTranspose, format),
                (2, 3, rows(&[&[150, 120], &[140, 110], &[130, 100]]))
            );
        }
    }
}
