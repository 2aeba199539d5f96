//! Where things are. Two spaces and the one camera model that joins them.
//!
//! * **Image**: raw pixels, x right, y down, the centre of the top-left pixel at (0, 0).
//! * **Table**: metres, origin at the centre of the playing surface on the cloth, x toward the foot rail, y toward the
//!   left rail as seen from the head looking to the foot, z up; right-handed. A [`TablePoint`] is a ball's centre
//!   projected on the cloth; the centre itself is one ball radius higher.

use nalgebra::{Matrix2, Matrix2x3, Point2, Point3, Rotation3, UnitQuaternion, Vector2, Vector3};

/// Raw pixels, y down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImagePoint(pub Point2<f64>);

impl ImagePoint {
    /// Pixels right and down of the centre of the top-left pixel.
    pub fn new(x: f64, y: f64) -> Self {
        Self(Point2::new(x, y))
    }

    /// Pixels to the right.
    pub fn x(self) -> f64 {
        self.0.x
    }

    /// Pixels down.
    pub fn y(self) -> f64 {
        self.0.y
    }
}

/// Metres on the table; see the module.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TablePoint(pub Point2<f64>);

impl TablePoint {
    /// Metres toward the foot rail and toward the left rail.
    pub fn new(x: f64, y: f64) -> Self {
        Self(Point2::new(x, y))
    }

    /// Metres toward the foot rail.
    pub fn x(self) -> f64 {
        self.0.x
    }

    /// Metres toward the left rail.
    pub fn y(self) -> f64 {
        self.0.y
    }

    /// Metres between two points.
    pub fn distance(self, other: Self) -> f64 {
        (self.0 - other.0).norm()
    }
}

/// Metres per second on the table.
pub type TableVelocity = Vector2<f64>;

/// Covariance of a [`TablePoint`], square metres.
pub type TableCovariance = Matrix2<f64>;

/// Pinhole camera with two radial distortion terms (Brown's model as OpenCV writes it: `K`, `dist = [k1, k2, 0, 0, 0]`).
///
/// `camera = rotation * world + translation`, the camera looking along +z, x right, y down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    width_px: u32,
    height_px: u32,
    focal_px: f64,
    centre_px: Point2<f64>,
    k1: f64,
    k2: f64,
    rotation: Rotation3<f64>,
    translation: Vector3<f64>,
}

/// Iterations of the fixed-point undistortion; each gains more than a digit for the distortions of real lenses.
const UNDISTORT_ITERATIONS: usize = 12;

impl Camera {
    /// Builds a camera from `rotation_vector` (axis times angle, radians) and `translation` (metres).
    ///
    /// `None` when a number is not finite, the focal length is not positive, or the camera is not above the table
    /// looking down on its centre.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        width_px: u32,
        height_px: u32,
        focal_px: f64,
        centre_px: Point2<f64>,
        k1: f64,
        k2: f64,
        rotation_vector: Vector3<f64>,
        translation: Vector3<f64>,
    ) -> Option<Self> {
        let numbers = [focal_px, centre_px.x, centre_px.y, k1, k2];
        let finite = numbers.iter().all(|v| v.is_finite())
            && rotation_vector.iter().all(|v| v.is_finite())
            && translation.iter().all(|v| v.is_finite());
        if !finite || focal_px <= 0.0 || translation.z <= 0.0 || width_px == 0 || height_px == 0 {
            return None;
        }
        let camera = Self {
            width_px,
            height_px,
            focal_px,
            centre_px,
            k1,
            k2,
            rotation: Rotation3::new(rotation_vector),
            translation,
        };
        (camera.position().z > 0.0).then_some(camera)
    }

    /// Picture width, pixels.
    pub fn width_px(&self) -> u32 {
        self.width_px
    }

    /// Picture height, pixels.
    pub fn height_px(&self) -> u32 {
        self.height_px
    }

    /// Focal length, pixels.
    pub fn focal_px(&self) -> f64 {
        self.focal_px
    }

    /// Principal point, pixels.
    pub fn centre_px(&self) -> Point2<f64> {
        self.centre_px
    }

    /// Radial distortion terms k1 and k2.
    pub fn distortion(&self) -> (f64, f64) {
        (self.k1, self.k2)
    }

    /// Rotation from table to camera as axis times angle, radians.
    pub fn rotation_vector(&self) -> Vector3<f64> {
        self.rotation.scaled_axis()
    }

    /// Rotation from table to camera.
    pub fn rotation(&self) -> UnitQuaternion<f64> {
        UnitQuaternion::from_rotation_matrix(&self.rotation)
    }

    /// Translation from table to camera, metres.
    pub fn translation(&self) -> Vector3<f64> {
        self.translation
    }

    /// Where the camera stands, table frame, metres.
    pub fn position(&self) -> Point3<f64> {
        Point3::from(-(self.rotation.inverse() * self.translation))
    }

    /// Image of a point in the room. `None` when it lies behind the camera.
    pub fn image_from_world(&self, world: Point3<f64>) -> Option<ImagePoint> {
        let c = self.rotation * world.coords + self.translation;
        if c.z <= 1e-9 {
            return None;
        }
        let (x, y) = (c.x / c.z, c.y / c.z);
        let r2 = x * x + y * y;
        let d = 1.0 + r2 * (self.k1 + r2 * self.k2);
        Some(ImagePoint::new(
            self.centre_px.x + self.focal_px * x * d,
            self.centre_px.y + self.focal_px * y * d,
        ))
    }

    /// Image of the centre of a ball that lies on the cloth: the point a ball radius above `at`.
    pub fn image_from_table(&self, at: TablePoint, height_m: f64) -> Option<ImagePoint> {
        self.image_from_world(Point3::new(at.x(), at.y(), height_m))
    }

    /// Direction of the ray through a pixel, in the table frame (not normalised).
    fn ray(&self, image: ImagePoint) -> Vector3<f64> {
        let xd = (image.x() - self.centre_px.x) / self.focal_px;
        let yd = (image.y() - self.centre_px.y) / self.focal_px;
        let (mut x, mut y) = (xd, yd);
        for _ in 0..UNDISTORT_ITERATIONS {
            let r2 = x * x + y * y;
            let d = 1.0 + r2 * (self.k1 + r2 * self.k2);
            if d < 0.1 {
                break;
            }
            x = xd / d;
            y = yd / d;
        }
        self.rotation.inverse() * Vector3::new(x, y, 1.0)
    }

    /// Where the ray through a pixel meets the horizontal plane `height_m` above the cloth. `None` when it does not.
    pub fn table_from_image(&self, image: ImagePoint, height_m: f64) -> Option<TablePoint> {
        let ray = self.ray(image);
        let from = self.position();
        let s = (height_m - from.z) / ray.z;
        (s.is_finite() && s > 0.0).then(|| TablePoint::new(from.x + s * ray.x, from.y + s * ray.y))
    }

    /// Derivative of [`Self::image_from_table`]: pixels per metre.
    pub fn pixels_per_metre(&self, at: TablePoint, height_m: f64) -> Option<Matrix2<f64>> {
        let h = 1e-4;
        let step = |dx: f64, dy: f64| self.image_from_table(TablePoint::new(at.x() + dx, at.y() + dy), height_m);
        let (xp, xm, yp, ym) = (step(h, 0.0)?, step(-h, 0.0)?, step(0.0, h)?, step(0.0, -h)?);
        let (dx, dy) = ((xp.0 - xm.0) / (2.0 * h), (yp.0 - ym.0) / (2.0 * h));
        Some(Matrix2::new(dx.x, dy.x, dx.y, dy.y))
    }

    /// The ellipse that a ball lying at `at` covers in the picture: centre and the matrix `A` with
    /// `(p - centre)' A (p - centre) <= 1` inside, pixels. Local distortion is taken as affine, which is exact to a few
    /// hundredths of a pixel over a ball.
    pub fn ball_outline(&self, at: TablePoint, radius_m: f64) -> Option<(ImagePoint, Matrix2<f64>)> {
        let centre = Point3::new(at.x(), at.y(), radius_m);
        let c = self.rotation * centre.coords + self.translation;
        let d2 = c.norm_squared();
        if c.z <= radius_m || d2 <= radius_m * radius_m {
            return None;
        }
        // Silhouette circle: seen from the camera it is a circle around the axis to the centre. Sample the tangent cone.
        let axis = c / d2.sqrt();
        let side = axis
            .cross(&if axis.x.abs() < 0.9 { Vector3::x() } else { Vector3::y() })
            .normalize();
        let up = axis.cross(&side);
        let tan = radius_m / (d2 - radius_m * radius_m).sqrt();
        let n = 16;
        let mut points = Vec::with_capacity(n);
        let mut mean = Vector2::zeros();
        for i in 0..n {
            let a = std::f64::consts::TAU * i as f64 / n as f64;
            let ray = axis + (side * a.cos() + up * a.sin()) * tan;
            let (x, y) = (ray.x / ray.z, ray.y / ray.z);
            let r2 = x * x + y * y;
            let d = 1.0 + r2 * (self.k1 + r2 * self.k2);
            let p = Vector2::new(
                self.centre_px.x + self.focal_px * x * d,
                self.centre_px.y + self.focal_px * y * d,
            );
            mean += p / n as f64;
            points.push(p);
        }
        // For points on an ellipse c + M (cos, sin) the covariance is M M' / 2, and A = (M M')^-1.
        let cov: Matrix2<f64> = points
            .iter()
            .map(|p| (p - mean) * (p - mean).transpose())
            .sum::<Matrix2<f64>>()
            / n as f64;
        let a = (cov * 2.0).try_inverse()?;
        Some((ImagePoint(Point2::from(mean)), a))
    }

    /// Derivative of the image point with respect to the world point, pixels per metre; `None` behind the camera.
    pub fn image_jacobian(&self, world: Point3<f64>) -> Option<Matrix2x3<f64>> {
        let h = 1e-5;
        let mut j = Matrix2x3::zeros();
        for k in 0..3 {
            let mut e = Vector3::zeros();
            e[k] = h;
            let d = (self.image_from_world(world + e)?.0 - self.image_from_world(world - e)?.0) / (2.0 * h);
            j.set_column(k, &d);
        }
        Some(j)
    }
}
