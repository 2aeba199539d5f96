//! The fixed geometry of one recording: camera, table, and what follows from both.

use nalgebra::Vector2;

use super::outline::Outline;
use crate::space::{Camera, ImagePoint, TablePoint};
use crate::table::{RAILS, Table};

/// How far past the place where it touches a rail a ball's centre may seem to lie: 6 mm of calibration and blur.
const RAIL_TOLERANCE_M: f64 = 0.006;
/// A sight line this far beyond the nose is behind the cushion: 1 mm, the reach of a ball under the nose.
const NOSE_TOLERANCE_M: f64 = 0.001;

/// Camera and table.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub camera: Camera,
    pub table: Table,
}

impl View {
    /// Where a ball lies whose silhouette is centred at `centre_px`; `None` when that is off the bed.
    pub fn on_bed(&self, centre_px: Vector2<f64>) -> Option<TablePoint> {
        let at = self
            .camera
            .table_from_image(ImagePoint(centre_px.into()), self.table.ball_radius_m)?;
        let least = self.table.rail_contact_distance_m() - RAIL_TOLERANCE_M;
        RAILS
            .into_iter()
            .all(|rail| self.table.distance_to_nose_m(at, rail) >= least)
            .then_some(at)
    }

    /// Silhouette of a ball centred near `centre_px`, on the bed or not far from it.
    pub fn outline(&self, centre_px: Vector2<f64>) -> Option<Outline> {
        let at = self
            .camera
            .table_from_image(ImagePoint(centre_px.into()), self.table.ball_radius_m)?;
        Outline::of_ball(&self.camera, at, self.table.ball_radius_m)
    }

    /// The upright diameter of a ball at `centre_px` as the picture shows it, from the cloth up, pixels; short when seen
    /// from above.
    pub fn upright_px(&self, centre_px: Vector2<f64>) -> Option<Vector2<f64>> {
        let radius = self.table.ball_radius_m;
        let at = self.camera.table_from_image(ImagePoint(centre_px.into()), radius)?;
        let point = |height| self.camera.image_from_table(at, height);
        Some(point(2.0 * radius)?.0 - point(0.0)?.0)
    }

    /// Whether the cushion hides what lies below its nose on the sight line through this pixel.
    pub fn behind_nose(&self, pixel: Vector2<f64>) -> bool {
        let Some(p) = self
            .camera
            .table_from_image(ImagePoint(pixel.into()), self.table.nose_height_m)
        else {
            return true;
        };
        RAILS
            .into_iter()
            .any(|rail| self.table.distance_to_nose_m(p, rail) < -NOSE_TOLERANCE_M)
    }
}
