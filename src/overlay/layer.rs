//! A transparent sheet to draw on, laid over a picture's YUV planes afterwards. Pixels; the centre of the top-left pixel
//! is at (0, 0) as in [`crate::space`].

use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8, Rect, Shader, Stroke, StrokeDash,
    Transform,
};

use super::palette::Colour;
use super::type_::{Typeface, Weight};
use super::{Error, Picture};
use crate::frame::{ColourRange, Image, Plane};
use crate::space::ImagePoint;

/// Sides of pictures that can be drawn on, pixels: text is unreadable below, and no codec goes above.
const SIDES: std::ops::RangeInclusive<usize> = 64..=16_384;

/// From this height on, video is coded by BT.709, below by BT.601 (what players assume of streams that do not say).
const BT709_FROM_HEIGHT: usize = 720;

/// Circle of radius 1 in four cubic arcs: length of the handles.
const ARC_HANDLE: f32 = 0.552_284_8;

/// The sheet. Colours are premultiplied, so it can be laid over anything, or kept as it is with its opacity.
pub struct Layer {
    sheet: Pixmap,
}

impl Layer {
    /// A clear sheet.
    ///
    /// # Errors
    /// When the size cannot be drawn on.
    pub fn new(width: usize, height: usize) -> Result<Self, Error> {
        let sheet = (SIDES.contains(&width) && SIDES.contains(&height))
            .then(|| Pixmap::new(width as u32, height as u32))
            .flatten();
        sheet.map(|sheet| Self { sheet }).ok_or(Error::Size { width, height })
    }

    /// Pixels across.
    pub fn width(&self) -> f32 {
        self.sheet.width() as f32
    }

    /// Pixels down.
    pub fn height(&self) -> f32 {
        self.sheet.height() as f32
    }

    /// Wipes everything.
    pub fn clear(&mut self) {
        self.sheet.data_mut().fill(0);
    }

    fn fill(&mut self, path: &Path, colour: Colour) {
        self.sheet
            .fill_path(path, &paint(colour), FillRule::Winding, Transform::identity(), None);
    }

    fn stroke(&mut self, path: &Path, width_px: f32, dash: Option<StrokeDash>, colour: Colour) {
        let stroke = Stroke {
            width: width_px,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            dash,
            ..Stroke::default()
        };
        self.sheet
            .stroke_path(path, &paint(colour), &stroke, Transform::identity(), None);
    }

    /// A closed curve through the image of a circle.
    pub fn ring(&mut self, ring: &Ring, width_px: f32, dashed: bool, colour: Colour) {
        let dash = if dashed {
            StrokeDash::new(vec![width_px * 2.2, width_px * 2.2], 0.0)
        } else {
            None
        };
        if let Some(path) = ring.path() {
            self.stroke(&path, width_px, dash, colour);
        }
    }

    /// A filled circle or ellipse.
    pub fn disc(&mut self, ring: &Ring, colour: Colour) {
        if let Some(path) = ring.path() {
            self.fill(&path, colour);
        }
    }

    /// A line through all points.
    pub fn line(&mut self, points: &[ImagePoint], width_px: f32, colour: Colour) {
        let mut builder = PathBuilder::new();
        for (i, p) in points.iter().enumerate() {
            let (x, y) = edge_based(*p);
            if i == 0 {
                builder.move_to(x, y);
            } else {
                builder.line_to(x, y);
            }
        }
        if let Some(path) = builder.finish() {
            self.stroke(&path, width_px, None, colour);
        }
    }

    /// A panel with round corners and a thin edge.
    pub fn panel(&mut self, area: Area, radius_px: f32, edge_px: f32, fill: Colour, edge: Colour) {
        let Some(path) = area.rounded(radius_px) else { return };
        self.fill(&path, fill);
        self.stroke(&path, edge_px, None, edge);
    }

    /// A filled area with round corners.
    pub fn block(&mut self, area: Area, radius_px: f32, colour: Colour) {
        if let Some(path) = area.rounded(radius_px) {
            self.fill(&path, colour);
        }
    }

    /// One line of text; `left` and `baseline` in pixels.
    pub fn text(&mut self, face: &Typeface, text: &str, weight: Weight, size_px: f32, left_baseline: (f32, f32), colour: Colour) {
        let (width, height) = (self.sheet.width() as i32, self.sheet.height() as i32);
        let pixels = self.sheet.pixels_mut();
        face.draw(text, weight, size_px, left_baseline, |x, y, coverage| {
            if (0..width).contains(&x) && (0..height).contains(&y) {
                let pixel = &mut pixels[(y * width + x) as usize];
                *pixel = over(*pixel, colour.faded(coverage));
            }
        });
    }

    /// Lays the sheet over `image`, into `out`. Where the sheet is clear the samples are the image's own.
    pub fn lay_over(&self, image: &Image, out: &mut Picture) {
        copy(image, out);
        let matrix = Yuv::of(image);
        let (width, height) = (out.width, out.height);
        let pixels = self.sheet.pixels();
        let row_of = |y: usize| &pixels[y * width..(y + 1) * width];
        for y in 0..height {
            for (sample, pixel) in out.planes[0][y * width..(y + 1) * width].iter_mut().zip(row_of(y)) {
                if pixel.alpha() > 0 {
                    *sample = matrix.luma(f32::from(*sample), Sum::of(*pixel));
                }
            }
        }
        let chroma_width = width.div_ceil(2);
        for cy in 0..height.div_ceil(2) {
            // The last row or column of an odd picture counts twice.
            let rows = [row_of(2 * cy), row_of((2 * cy + 1).min(height - 1))];
            for cx in 0..chroma_width {
                let (l, r) = (2 * cx, (2 * cx + 1).min(width - 1));
                let four = [rows[0][l], rows[0][r], rows[1][l], rows[1][r]];
                if four.iter().all(|p| p.alpha() == 0) {
                    continue;
                }
                let sum = Sum::mean(four);
                let at = cy * chroma_width + cx;
                let [_, u_plane, v_plane] = &mut out.planes;
                u_plane[at] = matrix.chroma(f32::from(u_plane[at]), sum, matrix.to_u);
                v_plane[at] = matrix.chroma(f32::from(v_plane[at]), sum, matrix.to_v);
            }
        }
    }
}

/// Image of a circle: an ellipse.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ring {
    /// Centre, pixels.
    pub centre: ImagePoint,
    /// Half axes as vectors, pixels.
    pub half_axes: [(f32, f32); 2],
}

impl Ring {
    /// A circle, whatever the camera.
    pub fn circle(centre: ImagePoint, radius_px: f32) -> Self {
        Self {
            centre,
            half_axes: [(radius_px, 0.0), (0.0, radius_px)],
        }
    }

    /// The same ellipse, larger.
    #[must_use]
    pub fn scaled(self, by: f32) -> Self {
        Self {
            half_axes: self.half_axes.map(|(x, y)| (x * by, y * by)),
            ..self
        }
    }

    fn path(&self) -> Option<Path> {
        let (cx, cy) = edge_based(self.centre);
        let [a, b] = self.half_axes;
        let at = |ka: f32, kb: f32| (cx + ka * a.0 + kb * b.0, cy + ka * a.1 + kb * b.1);
        let mut builder = PathBuilder::new();
        let start = at(1.0, 0.0);
        builder.move_to(start.0, start.1);
        // Quarter turns of the unit circle, carried along by the two half axes.
        for (c, s) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            let h = ARC_HANDLE;
            let (p1, p2, p3) = (at(c - h * s, s + h * c), at(h * c - s, h * s + c), at(-s, c));
            builder.cubic_to(p1.0, p1.1, p2.0, p2.1, p3.0, p3.1);
        }
        builder.close();
        builder.finish()
    }
}

/// A rectangle, pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub left: f32,
    pub top: f32,
    pub width: f32,
    pub height: f32,
}

impl Area {
    fn rounded(self, radius: f32) -> Option<Path> {
        let rect = Rect::from_xywh(self.left, self.top, self.width, self.height)?;
        let r = radius.min(self.width / 2.0).min(self.height / 2.0).max(0.0);
        let h = r * (1.0 - ARC_HANDLE);
        let (l, t, rt, b) = (rect.left(), rect.top(), rect.right(), rect.bottom());
        let mut p = PathBuilder::new();
        p.move_to(l + r, t);
        p.line_to(rt - r, t);
        p.cubic_to(rt - h, t, rt, t + h, rt, t + r);
        p.line_to(rt, b - r);
        p.cubic_to(rt, b - h, rt - h, b, rt - r, b);
        p.line_to(l + r, b);
        p.cubic_to(l + h, b, l, b - h, l, b - r);
        p.line_to(l, t + r);
        p.cubic_to(l, t + h, l + h, t, l + r, t);
        p.close();
        p.finish()
    }
}

/// The drawing library counts from the top-left pixel's corner, we from its centre.
fn edge_based(p: ImagePoint) -> (f32, f32) {
    (p.x() as f32 + 0.5, p.y() as f32 + 0.5)
}

fn paint(colour: Colour) -> Paint<'static> {
    let solid = tiny_skia::Color::from_rgba(colour.r, colour.g, colour.b, colour.a);
    Paint {
        shader: Shader::SolidColor(solid.unwrap_or(tiny_skia::Color::TRANSPARENT)),
        anti_alias: true,
        ..Paint::default()
    }
}

/// `colour` over a pixel of the sheet.
fn over(under: PremultipliedColorU8, colour: Colour) -> PremultipliedColorU8 {
    let rest = 1.0 - colour.a;
    let mix = |new: f32, old: u8| (new * colour.a * 255.0 + f32::from(old) * rest).round() as u8;
    let a = mix(1.0, under.alpha());
    let part = |new, old| mix(new, old).min(a);
    let (r, g, b) = (
        part(colour.r, under.red()),
        part(colour.g, under.green()),
        part(colour.b, under.blue()),
    );
    PremultipliedColorU8::from_rgba(r, g, b, a).unwrap_or(under)
}

/// Premultiplied colour of the sheet, 0..=1.
#[derive(Clone, Copy)]
struct Sum {
    rgb: [f32; 3],
    a: f32,
}

impl Sum {
    fn of(p: PremultipliedColorU8) -> Self {
        Self {
            rgb: [p.red(), p.green(), p.blue()].map(|v| f32::from(v) / 255.0),
            a: f32::from(p.alpha()) / 255.0,
        }
    }

    fn mean(four: [PremultipliedColorU8; 4]) -> Self {
        let mut sum = Self { rgb: [0.0; 3], a: 0.0 };
        for part in four.map(Self::of) {
            sum.a += part.a / 4.0;
            for (s, p) in sum.rgb.iter_mut().zip(part.rgb) {
                *s += p / 4.0;
            }
        }
        sum
    }

    fn dot(self, weights: [f32; 3]) -> f32 {
        self.rgb.iter().zip(weights).map(|(v, w)| v * w).sum()
    }
}

/// From linear combinations of R'G'B' in 0..=1 to 8-bit samples.
#[derive(Clone, Copy)]
struct Yuv {
    to_y: [f32; 3],
    to_u: [f32; 3],
    to_v: [f32; 3],
    black: f32,
}

impl Yuv {
    fn of(image: &Image) -> Self {
        // Weights of red and blue in luma (ITU-R BT.709 and BT.601).
        let (kr, kb) = if image.height() >= BT709_FROM_HEIGHT {
            (0.2126, 0.0722)
        } else {
            (0.299, 0.114)
        };
        let (black, luma_span, chroma_span) = match image.range() {
            ColourRange::Limited => (16.0, 219.0, 224.0),
            ColourRange::Full => (0.0, 255.0, 255.0),
        };
        let y = [kr, 1.0 - kr - kb, kb];
        let difference = |k: f32, which: usize| {
            let mut w = y.map(|v| -v);
            w[which] += 1.0;
            w.map(|v| v * chroma_span / (2.0 * (1.0 - k)))
        };
        Self {
            to_y: y.map(|v| v * luma_span),
            to_u: difference(kb, 2),
            to_v: difference(kr, 0),
            black,
        }
    }

    fn luma(&self, under: f32, sheet: Sum) -> u8 {
        (under * (1.0 - sheet.a) + self.black * sheet.a + sheet.dot(self.to_y)).round() as u8
    }

    /// `weights`: those of the plane.
    #[allow(clippy::unused_self)]
    fn chroma(&self, under: f32, sheet: Sum, weights: [f32; 3]) -> u8 {
        (under * (1.0 - sheet.a) + 128.0 * sheet.a + sheet.dot(weights)).round() as u8
    }
}

fn copy(image: &Image, out: &mut Picture) {
    out.width = image.width();
    out.height = image.height();
    out.full_range = image.range() == ColourRange::Full;
    for (plane, from) in out.planes.iter_mut().zip([image.y(), image.u(), image.v()]) {
        copy_plane(from, plane);
    }
}

fn copy_plane(from: Plane<'_>, to: &mut Vec<u8>) {
    to.clear();
    for y in 0..from.height {
        to.extend_from_slice(from.row(y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: Colour = Colour {
        r: 1.0,
        g: 1.0,
        b: 1.0,
        a: 1.0,
    };
    const RED: Colour = Colour {
        r: 1.0,
        g: 0.0,
        b: 0.0,
        a: 1.0,
    };
    /// All of an odd-sized picture.
    const ALL: Area = Area {
        left: -10.0,
        top: -10.0,
        width: 101.0,
        height: 95.0,
    };

    fn painted(draw: impl FnOnce(&mut Layer)) -> Picture {
        let image = Image::filled(81, 75, [100, 90, 160]).unwrap();
        let mut layer = Layer::new(81, 75).unwrap();
        draw(&mut layer);
        let mut out = Picture::default();
        layer.lay_over(&image, &mut out);
        out
    }

    #[test]
    fn a_clear_sheet_changes_nothing() {
        let out = painted(|_| ());
        assert!(out.plane(0).iter().all(|&y| y == 100));
        assert!(out.plane(1).iter().all(|&u| u == 90));
        assert!(out.plane(2).iter().all(|&v| v == 160));
        assert_eq!((out.plane(1).len(), out.row_len(1)), (41 * 38, 41));
    }

    #[test]
    fn opaque_colours_become_the_standards_codes() {
        // BT.601 limited range: white is 235, 128, 128 and red is 81, 90, 240.
        let codes = |colour| {
            let out = painted(|layer| layer.block(ALL, 0.0, colour));
            [out.plane(0)[3000], out.plane(1)[700], out.plane(2)[700]]
        };
        assert_eq!(codes(WHITE), [235, 128, 128]);
        assert_eq!(codes(RED), [81, 90, 240]);
    }

    #[test]
    fn half_opacity_lies_half_way() {
        let out = painted(|layer| layer.block(ALL, 0.0, WHITE.faded(0.5)));
        // (100 + 235) / 2, within the rounding of an 8-bit opacity.
        assert!(out.plane(0)[3000].abs_diff(168) <= 1, "{}", out.plane(0)[3000]);
    }

    #[test]
    fn a_disc_covers_its_own_area() {
        let centre = ImagePoint::new(40.0, 37.0);
        let out = painted(|layer| layer.disc(&Ring::circle(centre, 20.0), WHITE));
        let covered: f64 = out.plane(0).iter().map(|&y| (f64::from(y) - 100.0) / 135.0).sum();
        let expected = std::f64::consts::PI * 400.0;
        assert!((covered - expected).abs() < 0.005 * expected, "{covered} against {expected}");
        let mean_x: f64 = out
            .plane(0)
            .iter()
            .enumerate()
            .map(|(i, &y)| (i % 81) as f64 * (f64::from(y) - 100.0) / 135.0)
            .sum();
        assert!((mean_x / covered - 40.0).abs() < 0.05, "centre at {}", mean_x / covered);
    }

    #[test]
    fn text_outside_the_picture_is_cut_off_not_a_crash() {
        let face = Typeface::new().unwrap();
        let out = painted(|layer| layer.text(&face, "RAILS", Weight::Bold, 60.0, (-20.0, 10.0), WHITE));
        assert!(out.plane(0).contains(&235));
        assert!(Layer::new(20, 3000).is_err());
    }
}
