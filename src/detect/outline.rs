//! The ellipse that a ball covers in the picture.

use nalgebra::{Matrix2, Vector2};

use crate::space::{Camera, TablePoint};

/// Centre and shape of a ball's silhouette, pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outline {
    pub centre: Vector2<f64>,
    /// Takes the unit circle to the silhouette around its centre.
    shape: Matrix2<f64>,
    /// Takes the silhouette around its centre to the unit circle.
    inverse: Matrix2<f64>,
}

impl Outline {
    /// Silhouette of a ball on the cloth. `None` when the camera cannot see it.
    pub fn of_ball(camera: &Camera, at: TablePoint, radius_m: f64) -> Option<Self> {
        let (centre, a) = camera.ball_outline(at, radius_m)?;
        // `a` = L L', so the ellipse is the unit circle under L'^-1.
        let inverse = a.cholesky()?.l().transpose();
        let shape = inverse.try_inverse()?;
        Some(Self {
            centre: centre.0.coords,
            shape,
            inverse,
        })
    }

    /// The same shape elsewhere.
    pub fn moved_to(self, centre: Vector2<f64>) -> Self {
        Self { centre, ..self }
    }

    /// Radius of the circle of equal area, pixels.
    pub fn mean_radius_px(&self) -> f64 {
        self.shape.determinant().abs().sqrt()
    }

    /// Covered area, square pixels.
    pub fn area_px2(&self) -> f64 {
        std::f64::consts::PI * self.shape.determinant().abs()
    }

    /// Second moments of the covered area about its centre, square pixels.
    pub fn moments_px2(&self) -> Matrix2<f64> {
        self.shape * self.shape.transpose() / 4.0
    }

    /// Distance from the centre in units of the radius in that direction: 1 on the edge.
    pub fn relative_distance(&self, p: Vector2<f64>) -> f64 {
        (self.inverse * (p - self.centre)).norm()
    }

    /// `n` points around the centre at `scale` times the edge.
    pub fn ring(&self, n: usize, scale: f64) -> impl Iterator<Item = Vector2<f64>> + '_ {
        (0..n).map(move |i| {
            let a = std::f64::consts::TAU * i as f64 / n as f64;
            self.centre + self.shape * Vector2::new(a.cos(), a.sin()) * scale
        })
    }

    /// Distance from the centre to the edge in a direction of unit length, pixels.
    pub fn extent(&self, direction: Vector2<f64>) -> f64 {
        1.0 / (self.inverse * direction).norm()
    }

    /// Outward normal (unit length) at a point of the edge.
    pub fn normal(&self, p: Vector2<f64>) -> Vector2<f64> {
        (self.inverse.transpose() * (self.inverse * (p - self.centre))).normalize()
    }
}
