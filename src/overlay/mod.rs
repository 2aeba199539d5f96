//! Draws what was found on the pictures of a recording: rings, trails, rail counter, event markers, ruling and score.
//!
//! A picture keeps its YUV planes; only what lies under a graphic changes. The one place that turns metres into pixels
//! for people to look at. It decides nothing: what it shows was found and ruled before.

mod layer;
mod paint;
mod palette;
mod scene;
mod type_;
mod video;

pub use paint::Painter;
pub use video::Encoder;

use std::path::PathBuf;

/// Graphics cannot be drawn or written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error("a picture of {width}x{height} pixels is too small or too large to draw on; overlays need 64 to 16384 pixels a side")]
    Size { width: usize, height: usize },
    #[error("the built-in font cannot be read; the program file is damaged, install cuemark again")]
    Font,
    #[error("no H.264 encoder (libx264) in the installed ffmpeg libraries; install Debian's libavcodec with libx264")]
    NoEncoder,
    #[error("cannot write the video {}: {source}; check that the folder exists, is writable and that the disk has room", path.display())]
    Write { path: PathBuf, source: ffmpeg_next::Error },
}

/// A picture to encode: three planes without gaps between rows, chroma half as wide and high, rounded up.
#[derive(Debug, Clone, Default)]
pub struct Picture {
    width: usize,
    height: usize,
    full_range: bool,
    planes: [Vec<u8>; 3],
}

impl Picture {
    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Bytes of plane 0 (Y), 1 (U) or 2 (V), row after row.
    pub fn plane(&self, plane: usize) -> &[u8] {
        &self.planes[plane]
    }

    /// Samples in a row of `plane`.
    pub fn row_len(&self, plane: usize) -> usize {
        if plane == 0 { self.width } else { self.width.div_ceil(2) }
    }
}
