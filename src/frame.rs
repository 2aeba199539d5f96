//! A picture as it comes from the decoder: 8-bit YUV 4:2:0 planes, never turned into BGR for measuring.

use std::fmt;
use std::sync::Arc;

use crate::units::{FrameNo, Timestamp};

/// Owner of the bytes of three planes: a decoder's pooled buffer, or plain vectors in tests.
pub trait PlaneStore: Send + Sync {
    /// Bytes of plane 0 (Y), 1 (U) or 2 (V), row after row with [`Image`]'s stride.
    fn bytes(&self, plane: usize) -> &[u8];
}

impl PlaneStore for [Vec<u8>; 3] {
    fn bytes(&self, plane: usize) -> &[u8] {
        &self[plane]
    }
}

/// How Y, U and V map to light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColourRange {
    /// Y in 16..=235 ("TV", the default of most video).
    #[default]
    Limited,
    /// Y in 0..=255 ("PC", JPEG).
    Full,
}

/// One plane: `height` rows of `width` bytes, each row `stride` bytes after the last.
#[derive(Clone, Copy)]
pub struct Plane<'a> {
    /// All bytes of the plane.
    pub bytes: &'a [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Samples in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl<'a> Plane<'a> {
    /// Row `y`, `width` bytes. Rows outside the plane are clamped to its edge.
    pub fn row(&self, y: usize) -> &'a [u8] {
        let y = y.min(self.height.saturating_sub(1));
        &self.bytes[y * self.stride..y * self.stride + self.width]
    }
}

/// A YUV 4:2:0 picture; chroma planes are half as wide and high, rounded up.
#[derive(Clone)]
pub struct Image {
    width: usize,
    height: usize,
    strides: [usize; 3],
    range: ColourRange,
    store: Arc<dyn PlaneStore>,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image")
            .field("width", &self.width)
            .field("height", &self.height)
            .field("range", &self.range)
            .finish_non_exhaustive()
    }
}

impl Image {
    /// `None` when a plane is too short for its size and stride, or the size is zero.
    pub fn new(width: usize, height: usize, strides: [usize; 3], range: ColourRange, store: Arc<dyn PlaneStore>) -> Option<Self> {
        if width == 0 || height == 0 {
            return None;
        }
        let image = Self {
            width,
            height,
            strides,
            range,
            store,
        };
        let fits = (0..3).all(|p| {
            let (w, h) = image.plane_size(p);
            image.strides[p] >= w && image.store.bytes(p).len() >= image.strides[p] * (h - 1) + w
        });
        fits.then_some(image)
    }

    /// A picture of one colour, mainly for tests.
    pub fn filled(width: usize, height: usize, yuv: [u8; 3]) -> Option<Self> {
        let (cw, ch) = (width.div_ceil(2), height.div_ceil(2));
        let planes = [vec![yuv[0]; width * height], vec![yuv[1]; cw * ch], vec![yuv[2]; cw * ch]];
        Self::new(width, height, [width, cw, cw], ColourRange::Limited, Arc::new(planes))
    }

    /// Pixels across.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Pixels down.
    pub fn height(&self) -> usize {
        self.height
    }

    /// How the samples map to light.
    pub fn range(&self) -> ColourRange {
        self.range
    }

    fn plane_size(&self, plane: usize) -> (usize, usize) {
        if plane == 0 {
            (self.width, self.height)
        } else {
            (self.width.div_ceil(2), self.height.div_ceil(2))
        }
    }

    fn plane(&self, plane: usize) -> Plane<'_> {
        let (width, height) = self.plane_size(plane);
        Plane {
            bytes: self.store.bytes(plane),
            stride: self.strides[plane],
            width,
            height,
        }
    }

    /// Luma.
    pub fn y(&self) -> Plane<'_> {
        self.plane(0)
    }

    /// Blue-difference chroma, neutral at 128.
    pub fn u(&self) -> Plane<'_> {
        self.plane(1)
    }

    /// Red-difference chroma, neutral at 128.
    pub fn v(&self) -> Plane<'_> {
        self.plane(2)
    }
}

/// A picture with its number and its true time.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Decoding order.
    pub no: FrameNo,
    /// Presentation time from the container: the middle of the exposure.
    pub at: Timestamp,
    /// The pixels.
    pub image: Image,
}
