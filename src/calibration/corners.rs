//! A camera from four corners: the way in for a person who marks them, and the start for everything finer.

use nalgebra::{Matrix3, Point3, Rotation3, SMatrix, SVector};

use super::solve::{Landmark, Solution, Start, Target, picture_centre, rotation_vector, solve};
use super::{Calibration, Error};
use crate::space::{Camera, ImagePoint};
use crate::table::Table;

/// The four corners where the nose lines meet, raw pixels; names as in [`Rail`](crate::table::Rail).
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)]
pub struct NoseCorners {
    pub head_left: ImagePoint,
    pub foot_left: ImagePoint,
    pub foot_right: ImagePoint,
    pub head_right: ImagePoint,
}

/// Focal lengths to start from, as shares of the picture's longer side: from a wide angle to a telephoto lens.
const START_FOCALS: [f64; 5] = [0.6, 0.85, 1.2, 1.7, 2.6];
/// Standard deviation of a corner that a person clicked, pixels.
const CLICK_SIGMA_PX: f64 = 1.0;

/// A camera from the four corners of the nose lines: the best of several focal lengths to start from. Distortion cannot be told
/// from four points and is left at zero.
///
/// # Errors
/// [`Error::Unsolvable`] when the corners do not make a four-sided figure that a camera above the table could see.
pub fn solve_from_corners(corners: &NoseCorners, width_px: u32, height_px: u32, table: &Table) -> Result<Calibration, Error> {
    let solution = rectangle_solution(corners, (width_px, height_px), table, 0.0)?;
    let (rms_m, max_m) = solution.misfit_m(0..solution.residuals_m.len(), f64::INFINITY);
    Ok(Calibration {
        camera: solution.camera,
        table: *table,
        residual_mm: rms_m * 1e3,
        residual_max_mm: max_m * 1e3,
        from: "nose corners by hand".to_owned(),
    })
}

/// The camera that sees a rectangle, `grown_m` larger on every side than the noses and at their height, with these corners.
pub(super) fn rectangle_solution(
    corners: &NoseCorners,
    size_px: (u32, u32),
    table: &Table,
    grown_m: f64,
) -> Result<Solution, Error> {
    let (x, y, z) = (
        table.length_m / 2.0 + grown_m,
        table.width_m / 2.0 + grown_m,
        table.nose_height_m,
    );
    let pairs = [
        (corners.head_left, Point3::new(-x, y, z)),
        (corners.foot_left, Point3::new(x, y, z)),
        (corners.foot_right, Point3::new(x, -y, z)),
        (corners.head_right, Point3::new(-x, -y, z)),
    ];
    let landmarks = pairs.map(|(at, world)| Landmark {
        at,
        target: Target::Point(world),
        sigma_px: CLICK_SIGMA_PX,
    });
    let unsolvable = || Error::Unsolvable {
        reason: "the corners are not those of a table seen from above, in the order head left, foot left, foot right, head right"
            .to_owned(),
    };
    let homography = homography_from(&pairs).ok_or_else(unsolvable)?;
    let longer = f64::from(size_px.0.max(size_px.1));
    let mut best: Option<Solution> = None;
    for share in START_FOCALS {
        let Some(camera) = camera_from_homography(&homography, share * longer, size_px, z) else {
            continue;
        };
        let start = Start {
            camera,
            cushion_width_m: table.cushion_width_m,
            solve_distortion: false,
        };
        if let Ok(found) = solve(&landmarks, table, &start)
            && best.as_ref().is_none_or(|b| found.cost < b.cost)
        {
            best = Some(found);
        }
    }
    best.ok_or_else(unsolvable)
}

/// The homography that takes `(x, y, 1)` of the table to pixels.
fn homography_from(pairs: &[(ImagePoint, Point3<f64>); 4]) -> Option<Matrix3<f64>> {
    let mut a = SMatrix::<f64, 8, 8>::zeros();
    let mut b = SVector::<f64, 8>::zeros();
    for (i, (p, w)) in pairs.iter().enumerate() {
        for (row, v, first) in [(2 * i, p.x(), 0), (2 * i + 1, p.y(), 3)] {
            a[(row, first)] = w.x;
            a[(row, first + 1)] = w.y;
            a[(row, first + 2)] = 1.0;
            a[(row, 6)] = -v * w.x;
            a[(row, 7)] = -v * w.y;
            b[row] = v;
        }
    }
    let s = a.lu().solve(&b)?;
    s.iter()
        .all(|v| v.is_finite())
        .then(|| Matrix3::new(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], 1.0))
}

/// The nearest true pose to a homography of the plane `height_m` above the cloth, for a given focal length.
fn camera_from_homography(h: &Matrix3<f64>, focal_px: f64, (width, height): (u32, u32), height_m: f64) -> Option<Camera> {
    let c = picture_centre(width, height);
    let k = Matrix3::new(focal_px, 0.0, c.x, 0.0, focal_px, c.y, 0.0, 0.0, 1.0);
    let m = k.try_inverse()? * h;
    let scale = (m.column(0).norm() * m.column(1).norm()).sqrt();
    let m = m / if m[(2, 2)] < 0.0 { -scale } else { scale };
    let (a, b) = (m.column(0).into_owned(), m.column(1).into_owned());
    let svd = Matrix3::from_columns(&[a, b, a.cross(&b)]).svd(true, true);
    let rotation = Rotation3::from_matrix_unchecked(svd.u? * svd.v_t?);
    if rotation.matrix().determinant() < 0.0 {
        return None;
    }
    let translation = m.column(2).into_owned() - rotation.matrix().column(2) * height_m;
    Camera::new(width, height, focal_px, c, 0.0, 0.0, rotation_vector(&rotation), translation)
}

#[cfg(test)]
pub(super) mod tests {
    use nalgebra::Vector3;

    use super::*;
    use crate::space::TablePoint;

    const TABLE: Table = Table::CAROM;

    /// A camera 3 m above the table that looks down, turned by `tilt` about the long axis.
    pub(in crate::calibration) fn truth(tilt: f64, k1: f64) -> Camera {
        let rotation = Rotation3::from_axis_angle(&Vector3::x_axis(), std::f64::consts::PI + tilt);
        let translation = Vector3::new(0.02, -0.01, 3.1);
        Camera::new(
            1920,
            1080,
            1750.0,
            picture_centre(1920, 1080),
            k1,
            0.0,
            rotation_vector(&rotation),
            translation,
        )
        .unwrap()
    }

    pub(in crate::calibration) fn corners(camera: &Camera, table: &Table) -> NoseCorners {
        let (x, y, z) = (table.length_m / 2.0, table.width_m / 2.0, table.nose_height_m);
        let pixel = |x, y| camera.image_from_world(Point3::new(x, y, z)).unwrap();
        NoseCorners {
            head_left: pixel(-x, y),
            foot_left: pixel(x, y),
            foot_right: pixel(x, -y),
            head_right: pixel(-x, -y),
        }
    }

    /// Largest error at the height of balls' centres, millimetres.
    pub(in crate::calibration) fn error_mm(found: &Camera, truth: &Camera) -> f64 {
        (-9..=9)
            .flat_map(|i| (-9..=9).map(move |j| TablePoint::new(f64::from(i) * 0.15, f64::from(j) * 0.07)))
            .map(|at| {
                let pixel = truth.image_from_table(at, TABLE.ball_radius_m).unwrap();
                found.table_from_image(pixel, TABLE.ball_radius_m).unwrap().distance(at) * 1e3
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn four_corners_without_distortion_are_enough() {
        let truth = truth(0.3, 0.0);
        let found = solve_from_corners(&corners(&truth, &TABLE), 1920, 1080, &TABLE).unwrap();
        assert!(found.residual_mm < 0.5, "{}", found.residual_mm);
        assert!(error_mm(&found.camera, &truth) < 1.0);
    }

    #[test]
    fn corners_of_no_table_are_refused() {
        let good = corners(&truth(0.1, 0.0), &TABLE);
        let mirrored = NoseCorners {
            head_left: good.foot_left,
            foot_left: good.head_left,
            foot_right: good.head_right,
            head_right: good.foot_right,
        };
        let one_place = NoseCorners {
            head_left: good.head_left,
            foot_left: good.head_left,
            foot_right: good.head_left,
            head_right: good.head_left,
        };
        let endless = NoseCorners {
            head_left: ImagePoint::new(f64::NAN, 0.0),
            ..good
        };
        for bad in [mirrored, one_place, endless] {
            let answer = solve_from_corners(&bad, 1920, 1080, &TABLE);
            assert!(matches!(answer, Err(Error::Unsolvable { .. })), "{answer:?}");
        }
    }
}
