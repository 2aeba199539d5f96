//! Lettering: two weights of one built-in typeface (Inter, SIL Open Font License; licence beside the files).

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont};

use super::Error;

/// Latin and Cyrillic, cut down with fonttools' pyftsubset.
const MEDIUM: &[u8] = include_bytes!("fonts/Inter-Medium.otf");
const BOLD: &[u8] = include_bytes!("fonts/Inter-Bold.otf");

/// Weight of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// For sentences.
    Medium,
    /// For numbers and headings.
    Bold,
}

/// The typeface.
pub struct Typeface {
    medium: FontRef<'static>,
    bold: FontRef<'static>,
}

impl Typeface {
    /// Reads the built-in files.
    ///
    /// # Errors
    /// When the program file is damaged.
    pub fn new() -> Result<Self, Error> {
        let font = |bytes| FontRef::try_from_slice(bytes).map_err(|_| Error::Font);
        Ok(Self {
            medium: font(MEDIUM)?,
            bold: font(BOLD)?,
        })
    }

    fn font(&self, weight: Weight) -> &FontRef<'static> {
        match weight {
            Weight::Medium => &self.medium,
            Weight::Bold => &self.bold,
        }
    }

    /// `size_px` is the height of a line of type: capitals are some 0.6 of it.
    fn glyphs<'a>(&'a self, text: &'a str, weight: Weight, size_px: f32) -> impl Iterator<Item = (GlyphId, f32)> + 'a {
        let font = self.font(weight).as_scaled(PxScale::from(size_px));
        let mut x = 0.0;
        let mut last = None;
        text.chars().map(move |c| {
            let id = font.glyph_id(c);
            if let Some(last) = last {
                x += font.kern(last, id);
            }
            last = Some(id);
            let at = x;
            x += font.h_advance(id);
            (id, at)
        })
    }

    /// Width of `text`, pixels.
    pub fn width(&self, text: &str, weight: Weight, size_px: f32) -> f32 {
        let font = self.font(weight).as_scaled(PxScale::from(size_px));
        self.glyphs(text, weight, size_px)
            .last()
            .map_or(0.0, |(id, at)| at + font.h_advance(id))
    }

    /// Height of capitals, pixels.
    pub fn cap_height(&self, weight: Weight, size_px: f32) -> f32 {
        let font = self.font(weight);
        font.outline_glyph(font.glyph_id('H').with_scale(size_px))
            .map_or(0.0, |h| h.px_bounds().height())
    }

    /// `text` with "…" in place of what does not fit into `width_px`.
    pub fn fit(&self, text: &str, weight: Weight, size_px: f32, width_px: f32) -> String {
        if self.width(text, weight, size_px) <= width_px {
            return text.to_owned();
        }
        let mut kept: String = text.to_owned();
        while kept.pop().is_some() {
            let short = format!("{}…", kept.trim_end());
            if self.width(&short, weight, size_px) <= width_px {
                return short;
            }
        }
        String::new()
    }

    /// Calls `dot(x, y, coverage)` for each pixel of `text` whose baseline starts at (`left`, `baseline`).
    pub fn draw(
        &self,
        text: &str,
        weight: Weight,
        size_px: f32,
        (left, baseline): (f32, f32),
        mut dot: impl FnMut(i32, i32, f32),
    ) {
        let font = self.font(weight);
        for (id, x) in self.glyphs(text, weight, size_px) {
            let glyph = id.with_scale_and_position(size_px, ab_glyph::point(left + x, baseline));
            if let Some(outline) = font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                outline.draw(|dx, dy, coverage| dot(corner.x as i32 + dx as i32, corner.y as i32 + dy as i32, coverage));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_text_is_wider_and_what_does_not_fit_is_cut() {
        let face = Typeface::new().unwrap();
        let width = |t: &str| face.width(t, Weight::Medium, 20.0);
        assert!(width("rails") > width("rail") && width("") == 0.0);
        let cut = face.fit("three rails before the second ball", Weight::Medium, 20.0, 100.0);
        assert!(cut.ends_with('…') && width(&cut) <= 100.0, "{cut}");
        assert_eq!(face.fit("rail", Weight::Medium, 20.0, 100.0), "rail");
    }

    #[test]
    fn both_alphabets_are_there() {
        let face = Typeface::new().unwrap();
        for c in "Az09:›…—×Жя№".chars() {
            assert!(face.medium.glyph_id(c).0 != 0 && face.bold.glyph_id(c).0 != 0, "no {c}");
        }
    }
}
