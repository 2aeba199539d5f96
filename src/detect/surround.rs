//! What lies around the bed: the wooden frame and the floor beside it. Tells the known view from a close-up, a card or
//! another camera that happens to show the cloth's colour.

use super::cloth::Light;
use super::view::View;
use crate::frame::Image;
use crate::space::ImagePoint;
use crate::table::Table;

/// Where around the bed is looked, metres outward from the outer edge of the cushions: on the frame (5 to 8 cm wide or
/// more on any table of match size).
const OUTWARD_M: [f64; 3] = [0.015, 0.03, 0.045];
/// Distance from one probe to the next along a rail, metres: a ball's diameter or so, less than a hand.
const SPACING_M: f64 = 0.07;
/// A probe looks as learnt within this many levels of luma, and of U and V together: shadows of players fall there too.
const TOLERANCE: f32 = 30.0;
/// Share of the probes that must look as learnt. Players and graphics cover a third or so.
const LEAST_SHARE: f64 = 0.4;
/// With fewer probes in the picture nothing is said.
const LEAST_PROBES: usize = 24;

/// Colours around the bed.
pub(super) struct Surround {
    /// Chroma samples, column and row.
    places: Vec<(usize, usize)>,
    learnt: Vec<[f32; 3]>,
}

impl Surround {
    /// Places around the bed that are in the picture; nothing learnt yet.
    pub fn new(view: &View) -> Self {
        let Table {
            length_m,
            width_m,
            cushion_width_m,
            nose_height_m,
            ..
        } = view.table;
        let mut places = Vec::new();
        for outward in OUTWARD_M {
            let (x, y) = (
                length_m / 2.0 + cushion_width_m + outward,
                width_m / 2.0 + cushion_width_m + outward,
            );
            let mut add = |px: f64, py: f64| {
                let point = view.camera.image_from_world(nalgebra::Point3::new(px, py, nose_height_m));
                if let Some(place) = point.and_then(|p| chroma_place(view, p)) {
                    places.push(place);
                }
            };
            for i in 0..=(2.0 * x / SPACING_M) as usize {
                let t = -x + i as f64 * SPACING_M;
                add(t, y);
                add(t, -y);
            }
            for i in 0..=(2.0 * y / SPACING_M) as usize {
                let t = -y + i as f64 * SPACING_M;
                add(x, t);
                add(-x, t);
            }
        }
        Self {
            places,
            learnt: Vec::new(),
        }
    }

    /// Learns from the largest group of samples that look alike, and says which those are.
    pub fn learn(&mut self, samples: &[&Image]) -> Vec<bool> {
        let seen: Vec<Vec<[f32; 3]>> = samples.iter().map(|image| self.read(image)).collect();
        let like = |a: &[[f32; 3]], b: &[[f32; 3]]| share_alike(a, b) >= LEAST_SHARE;
        let friends = |i: usize| seen.iter().filter(|b| like(&seen[i], b)).count();
        let Some(best) = (0..seen.len()).max_by_key(|&i| (friends(i), std::cmp::Reverse(i))) else {
            return Vec::new();
        };
        if self.places.len() < LEAST_PROBES {
            return vec![true; seen.len()];
        }
        let chosen: Vec<bool> = seen.iter().map(|s| like(&seen[best], s)).collect();
        let group: Vec<&Vec<[f32; 3]>> = seen.iter().zip(&chosen).filter(|(_, c)| **c).map(|(s, _)| s).collect();
        self.learnt = (0..self.places.len())
            .map(|p| {
                [0, 1, 2].map(|k| {
                    let mut values: Vec<f32> = group.iter().map(|s| s[p][k]).collect();
                    values.sort_by(f32::total_cmp);
                    values.get(values.len() / 2).copied().unwrap_or_default()
                })
            })
            .collect();
        chosen
    }

    /// Whether the picture shows the same surroundings.
    pub fn is_in_view(&self, image: &Image, light: Light) -> bool {
        if self.places.len() < LEAST_PROBES || self.learnt.is_empty() {
            return true;
        }
        let now: Vec<[f32; 3]> = self.read(image).into_iter().map(|raw| light.undo(raw).0).collect();
        let learnt: Vec<[f32; 3]> = self.learnt.iter().map(|&raw| Light::SAME.undo(raw).0).collect();
        share_alike(&now, &learnt) >= LEAST_SHARE
    }

    fn read(&self, image: &Image) -> Vec<[f32; 3]> {
        let (y, u, v) = (image.y(), image.u(), image.v());
        let at = |row: &[u8], column: usize| f32::from(row.get(column).copied().unwrap_or_default());
        self.places
            .iter()
            .map(|&(column, row)| [at(y.row(2 * row), 2 * column), at(u.row(row), column), at(v.row(row), column)])
            .collect()
    }
}

fn share_alike(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    let alike = |(p, q): &(&[f32; 3], &[f32; 3])| {
        let d = [0, 1, 2].map(|k| (p[k] - q[k]).abs());
        d[0] < TOLERANCE && d[1] + d[2] < TOLERANCE
    };
    a.iter().zip(b).filter(alike).count() as f64 / a.len().max(1) as f64
}

fn chroma_place(view: &View, p: ImagePoint) -> Option<(usize, usize)> {
    let (width, height) = (f64::from(view.camera.width_px()), f64::from(view.camera.height_px()));
    let inside = p.x() >= 0.0 && p.y() >= 0.0 && p.x() < width - 1.0 && p.y() < height - 1.0;
    inside.then(|| ((p.x() / 2.0) as usize, (p.y() / 2.0) as usize))
}
