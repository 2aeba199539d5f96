//! A picture with the found table drawn over it, for people to judge a calibration by eye.

use nalgebra::Point3;
use opencv::core::{Mat, Point, Scalar};
use opencv::imgproc;
use opencv::prelude::*;
use tiny_skia::{ColorU8, Pixmap};

use super::{Calibration, Error};
use crate::frame::Image;
use crate::space::{Camera, TablePoint};

/// Pieces that a line is drawn in: distortion bends it.
const PIECES: u32 = 64;
/// Fractional bits of drawn coordinates.
const SHIFT: i32 = 4;
/// Colours, blue green red: noses, cloth's outer edge, grid of the diamonds, spots.
const NOSE: (f64, f64, f64) = (40.0, 40.0, 255.0);
const CLOTH_EDGE: (f64, f64, f64) = (60.0, 220.0, 255.0);
const GRID: (f64, f64, f64) = (255.0, 255.0, 255.0);
const SPOT: (f64, f64, f64) = (255.0, 120.0, 255.0);
/// Diamonds divide the length into eight and the width into four.
const LENGTH_PARTS: u32 = 8;
const WIDTH_PARTS: u32 = 4;

/// Draws nose lines, the cloth's outer edge, the grid of the diamonds and the spots over a picture; returns a PNG file's bytes.
///
/// # Errors
/// [`Error::OpenCv`] when OpenCV cannot draw, [`Error::Preview`] when the picture cannot be written as PNG.
pub fn preview(image: &Image, calibration: &Calibration) -> Result<Vec<u8>, Error> {
    let mut canvas = bgr(image)?;
    let (camera, table) = (&calibration.camera, &calibration.table);
    let (x, y, nose) = (table.length_m / 2.0, table.width_m / 2.0, table.nose_height_m);
    let thin = (image.width() as i32 / 1000).max(1);
    for i in 1..LENGTH_PARTS {
        let at = x * (2.0 * f64::from(i) / f64::from(LENGTH_PARTS) - 1.0);
        line(
            &mut canvas,
            camera,
            Point3::new(at, -y, 0.0),
            Point3::new(at, y, 0.0),
            GRID,
            thin,
        )?;
    }
    for i in 1..WIDTH_PARTS {
        let at = y * (2.0 * f64::from(i) / f64::from(WIDTH_PARTS) - 1.0);
        line(
            &mut canvas,
            camera,
            Point3::new(-x, at, 0.0),
            Point3::new(x, at, 0.0),
            GRID,
            thin,
        )?;
    }
    for (out, colour) in [(0.0, NOSE), (table.cushion_width_m, CLOTH_EDGE)] {
        let (x, y) = (x + out, y + out);
        let corners = [(-x, y), (x, y), (x, -y), (-x, -y)].map(|(x, y)| Point3::new(x, y, nose));
        for i in 0..4 {
            line(&mut canvas, camera, corners[i], corners[(i + 1) % 4], colour, thin)?;
        }
    }
    for spot in [table.head_spot(), table.center_spot(), table.foot_spot()] {
        ring(&mut canvas, camera, spot, table.ball_radius_m)?;
    }
    png(&canvas)
}

/// PNG by tiny-skia: OpenCV's own encoder would tie a hundred libraries of other picture formats to the program, which
/// take longer to load than a short clip to analyse.
fn png(canvas: &Mat) -> Result<Vec<u8>, Error> {
    let (width, height) = (canvas.cols() as u32, canvas.rows() as u32);
    let mut picture = Pixmap::new(width, height).ok_or(Error::Preview { width, height })?;
    for (to, from) in picture.pixels_mut().iter_mut().zip(canvas.data_bytes()?.chunks_exact(3)) {
        *to = ColorU8::from_rgba(from[2], from[1], from[0], u8::MAX).premultiply();
    }
    picture.encode_png().map_err(|_| Error::Preview { width, height })
}

fn ring(canvas: &mut Mat, camera: &Camera, at: TablePoint, radius_m: f64) -> Result<(), Error> {
    let on = |i: u32| {
        let a = std::f64::consts::TAU * f64::from(i) / f64::from(PIECES);
        Point3::new(at.x() + radius_m * a.cos(), at.y() + radius_m * a.sin(), 0.0)
    };
    for i in 0..PIECES {
        piece(canvas, camera, on(i), on(i + 1), SPOT, 1)?;
    }
    Ok(())
}

fn line(
    canvas: &mut Mat,
    camera: &Camera,
    a: Point3<f64>,
    b: Point3<f64>,
    colour: (f64, f64, f64),
    thick: i32,
) -> Result<(), Error> {
    let on = |i: u32| a + (b - a) * (f64::from(i) / f64::from(PIECES));
    for i in 0..PIECES {
        piece(canvas, camera, on(i), on(i + 1), colour, thick)?;
    }
    Ok(())
}

fn piece(
    canvas: &mut Mat,
    camera: &Camera,
    a: Point3<f64>,
    b: Point3<f64>,
    colour: (f64, f64, f64),
    thick: i32,
) -> Result<(), Error> {
    let fixed = |v: f64| (v * f64::from(1 << SHIFT)).round() as i32;
    if let (Some(a), Some(b)) = (camera.image_from_world(a), camera.image_from_world(b)) {
        imgproc::line(
            canvas,
            Point::new(fixed(a.x()), fixed(a.y())),
            Point::new(fixed(b.x()), fixed(b.y())),
            Scalar::new(colour.0, colour.1, colour.2, 0.0),
            thick,
            imgproc::LINE_AA,
            SHIFT,
        )?;
    }
    Ok(())
}

/// The picture in blue, green, red; odd sizes lose their last row or column, which 4:2:0 cannot hold.
fn bgr(image: &Image) -> Result<Mat, Error> {
    let (width, height) = (image.width() / 2 * 2, image.height() / 2 * 2);
    let mut packed = Vec::with_capacity(width * height * 3 / 2);
    for r in 0..height {
        packed.extend_from_slice(&image.y().row(r)[..width]);
    }
    for plane in [image.u(), image.v()] {
        for r in 0..height / 2 {
            packed.extend_from_slice(&plane.row(r)[..width / 2]);
        }
    }
    let yuv = Mat::new_rows_cols_with_data((height * 3 / 2) as i32, width as i32, &packed)?;
    let mut out = Mat::default();
    imgproc::cvt_color_def(&yuv, &mut out, imgproc::COLOR_YUV2BGR_I420)?;
    Ok(out)
}
