//! Whether a table whose camera is known has pockets: a carom table and a pool table are both twice as long as wide, and a camera
//! without a scale cannot tell their sizes apart.

use nalgebra::Point3;

use super::cloth::ClothColour;
use super::edges::colour_at;
use crate::frame::Image;
use crate::space::Camera;
use crate::table::Table;

/// Outward distance from the nose lines at which a pocket is looked for, metres: cushion on a carom table, hole on a pool table.
const OUT_M: f64 = 0.02;
/// Half width of the patch that is looked at, metres; a pocket is some 120 mm wide.
const PATCH_M: f64 = 0.008;
/// A hole is darker than this share of the cloth's usual luma: no light reaches its ground.
const HOLE_LUMA: f64 = 0.4;
/// This many of the six places must agree; the others may be covered.
const MIN_PLACES: usize = 4;

/// `None` when too little of the places can be seen to say.
pub(super) fn has_pockets(images: &[&Image], camera: &Camera, table: &Table, colour: &ClothColour) -> Option<bool> {
    let (x, y) = (table.length_m / 2.0 + OUT_M, table.width_m / 2.0 + OUT_M);
    let places = [(-x, y), (0.0, y), (x, y), (-x, -y), (0.0, -y), (x, -y)];
    let (mut n_cloth, mut n_holes) = (0, 0);
    for (px, py) in places {
        let mut patches = images.iter().filter_map(|image| patch(image, camera, table, px, py));
        let (mut is_cloth, mut is_hole) = (false, false);
        for seen in &mut patches {
            is_cloth |= colour.is_like(seen);
            is_hole |= seen[0] < HOLE_LUMA * colour.luma;
        }
        // A dark sleeve may lie over the cushion, but no cloth ever lies over a hole.
        n_cloth += usize::from(is_cloth);
        n_holes += usize::from(is_hole && !is_cloth);
    }
    if n_holes >= MIN_PLACES {
        Some(true)
    } else if n_cloth >= MIN_PLACES {
        Some(false)
    } else {
        None
    }
}

/// Mean colour of a small patch at nose height.
fn patch(image: &Image, camera: &Camera, table: &Table, x: f64, y: f64) -> Option<[f64; 3]> {
    let mut sum = [0.0; 3];
    let offsets = [-PATCH_M, 0.0, PATCH_M];
    for dx in offsets {
        for dy in offsets {
            let pixel = camera.image_from_world(Point3::new(x + dx, y + dy, table.nose_height_m))?;
            let seen = colour_at(image, pixel.x(), pixel.y())?;
            sum = [sum[0] + seen[0], sum[1] + seen[1], sum[2] + seen[2]];
        }
    }
    Some(sum.map(|s| s / (offsets.len() * offsets.len()) as f64))
}
