//! Finding tables in drawn pictures whose camera is known, and calibration files on disk.

use std::f64::consts::PI;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use cuemark::calibration::{self, Calibration, Error, load, save};
use cuemark::frame::{ColourRange, Image};
use cuemark::space::{Camera, ImagePoint, TablePoint};
use cuemark::table::Table;
use nalgebra::{Matrix3, Point2, Point3, Rotation3, Vector3};

const WIDTH: usize = 1280;
const HEIGHT: usize = 720;

/// A camera at `from` that looks at `to`, metres; `up` is what points up in the picture.
fn camera(from: [f64; 3], to: [f64; 3], up: [f64; 3], focal_px: f64, k1: f64) -> Camera {
    let (from, to, up) = (Vector3::from(from), Vector3::from(to), Vector3::from(up));
    let z = (to - from).normalize();
    let x = z.cross(&up).normalize();
    let y = z.cross(&x);
    let rotation = Rotation3::from_matrix_unchecked(Matrix3::from_rows(&[x.transpose(), y.transpose(), z.transpose()]));
    let centre = Point2::new((WIDTH as f64 - 1.0) / 2.0, (HEIGHT as f64 - 1.0) / 2.0);
    let translation = -(rotation * from);
    Camera::new(
        WIDTH as u32,
        HEIGHT as u32,
        focal_px,
        centre,
        k1,
        0.0,
        rotation.scaled_axis(),
        translation,
    )
    .unwrap()
}

/// Luma and chroma of what lies under a pixel: floor, wood, cushion, its dark face, bed, and pockets when the table has them.
#[cfg(feature = "vision")]
fn seen(camera: &Camera, table: &Table, cloth: [f64; 3], x: f64, y: f64) -> [f64; 3] {
    const FLOOR: [f64; 3] = [35.0, 128.0, 128.0];
    const WOOD: [f64; 3] = [75.0, 118.0, 138.0];
    const HOLE: [f64; 3] = [17.0, 128.0, 128.0];
    // In shade light and chroma fall together.
    let lit = |share: f64| {
        [
            16.0 + (cloth[0] - 16.0) * share,
            128.0 + (cloth[1] - 128.0) * share,
            128.0 + (cloth[2] - 128.0) * share,
        ]
    };
    let beyond = |p: TablePoint| (p.x().abs() - table.length_m / 2.0).max(p.y().abs() - table.width_m / 2.0);
    let Some(top) = camera.table_from_image(ImagePoint::new(x, y), table.nose_height_m) else {
        return FLOOR;
    };
    let pockets = [-1.0, 0.0, 1.0].map(|i: f64| i * table.length_m / 2.0);
    let is_hole = table.has_pockets
        && pockets.iter().any(|px| {
            [-1.0, 1.0]
                .iter()
                .any(|s| TablePoint::new(*px, s * (table.width_m / 2.0 + 0.02)).distance(top) < 0.06)
        });
    match beyond(top) {
        _ if is_hole => HOLE,
        out if out > table.cushion_width_m + 0.12 => FLOOR,
        out if out > table.cushion_width_m => WOOD,
        out if out > 0.0 => lit(1.05),
        _ => match camera.table_from_image(ImagePoint::new(x, y), 0.0) {
            Some(bed) if beyond(bed) <= 0.0 => lit(1.0 - 0.25 * (beyond(bed) / 0.03).exp()),
            _ => lit(0.35),
        },
    }
}

/// Draws a table, with nine samples in each pixel that is not of one colour.
#[cfg(feature = "vision")]
fn drawn(camera: &Camera, table: &Table, cloth: [f64; 3]) -> [Vec<u8>; 3] {
    let at = |x: f64, y: f64| seen(camera, table, cloth, x, y);
    let across = WIDTH + 1;
    let corners: Vec<[f64; 3]> = (0..across * (HEIGHT + 1))
        .map(|i| at((i % across) as f64 - 0.5, (i / across) as f64 - 0.5))
        .collect();
    let mean = |samples: &[[f64; 3]]| {
        let sum = |k: usize| samples.iter().map(|c| c[k]).sum::<f64>() / samples.len() as f64;
        [sum(0), sum(1), sum(2)]
    };
    let full: Vec<[f64; 3]> = (0..WIDTH * HEIGHT)
        .map(|i| {
            let (c, r) = (i % WIDTH, i / WIDTH);
            let four = [0, 1, across, across + 1].map(|step| corners[r * across + c + step]);
            if four.iter().all(|s| (s[0] - four[0][0]).abs() <= 1.5) {
                return mean(&four);
            }
            let thirds = [-1.0, 0.0, 1.0].map(|d: f64| d / 3.0);
            let nine: Vec<[f64; 3]> = thirds
                .into_iter()
                .flat_map(|dx| thirds.map(|dy| at(c as f64 + dx, r as f64 + dy)))
                .collect();
            mean(&nine)
        })
        .collect();
    let chroma = |k: usize| {
        (0..WIDTH * HEIGHT / 4)
            .map(|i| {
                let (c, r) = (i % (WIDTH / 2) * 2, i / (WIDTH / 2) * 2);
                let four = [(c, r), (c + 1, r), (c, r + 1), (c + 1, r + 1)].map(|(c, r)| full[r * WIDTH + c][k]);
                (four.iter().sum::<f64>() / 4.0).round() as u8
            })
            .collect()
    };
    [full.iter().map(|c| c[0].round() as u8).collect(), chroma(1), chroma(2)]
}

fn image(planes: [Vec<u8>; 3]) -> Image {
    let strides = [WIDTH, WIDTH / 2, WIDTH / 2];
    Image::new(WIDTH, HEIGHT, strides, ColourRange::Limited, Arc::new(planes)).unwrap()
}

/// A rectangle of another colour over the picture: a person, a bar of letters.
#[cfg(feature = "vision")]
fn covered(
    planes: &[Vec<u8>; 3],
    columns: std::ops::Range<usize>,
    rows: std::ops::Range<usize>,
    colour: [u8; 3],
) -> [Vec<u8>; 3] {
    let mut planes = planes.clone();
    for r in rows {
        for c in columns.clone() {
            planes[0][r * WIDTH + c] = colour[0];
            planes[1][r / 2 * (WIDTH / 2) + c / 2] = colour[1];
            planes[2][r / 2 * (WIDTH / 2) + c / 2] = colour[2];
        }
    }
    planes
}

/// Root mean square error over the surface at the height of the balls' centres, millimetres.
fn error_mm(found: &Calibration, truth: &Camera, table: &Table) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for i in -10..=10 {
        for j in -5..=5 {
            let at = TablePoint::new(
                f64::from(i) / 10.0 * 0.95 * table.length_m / 2.0,
                f64::from(j) / 5.0 * 0.95 * table.width_m / 2.0,
            );
            let pixel = truth.image_from_table(at, table.ball_radius_m).unwrap();
            let back = found.camera.table_from_image(pixel, table.ball_radius_m).unwrap();
            sum += back.distance(at).powi(2);
            n += 1.0;
        }
    }
    (sum / n).sqrt() * 1e3
}

const BLUE: [f64; 3] = [95.0, 170.0, 95.0];
const PURPLE: [f64; 3] = [70.0, 155.0, 150.0];
const GREY: [f64; 3] = [100.0, 130.0, 126.0];

fn overhead() -> Camera {
    camera([0.08, -0.05, 3.1], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], 1140.0, -0.06)
}

#[cfg(feature = "vision")]
#[track_caller]
fn check_found(truth: &Camera, table: &Table, cloth: [f64; 3], limit_mm: f64) {
    let picture = image(drawn(truth, table, cloth));
    let found = calibration::find(&[&picture], table).unwrap();
    let error = error_mm(&found, truth, table);
    assert!(error < limit_mm, "{error:.2} mm off, {limit_mm} allowed; {found:?}");
}

// A pixel of these pictures covers 2.7 mm of the table, one at the far rail of the end-on view 8 mm: the limits are about a third of that.

#[cfg(feature = "vision")]
#[test]
fn a_table_from_above_is_found_to_a_fraction_of_a_pixel() {
    check_found(&overhead(), &Table::CAROM, BLUE, 1.3);
}

#[cfg(feature = "vision")]
#[test]
fn any_cloth_will_do() {
    check_found(&overhead(), &Table::CAROM, PURPLE, 1.3);
    check_found(&overhead(), &Table::CAROM, GREY, 1.3);
}

#[cfg(feature = "vision")]
#[test]
fn a_table_seen_from_behind_its_head_rail_is_found() {
    let truth = camera([-2.9, 0.1, 2.3], [-0.25, 0.0, 0.0], [0.0, 0.0, 1.0], 1000.0, -0.03);
    check_found(&truth, &Table::CAROM, BLUE, 4.0);
}

#[cfg(feature = "vision")]
#[test]
fn a_table_that_stands_upright_has_its_head_at_the_bottom() {
    let truth = camera([0.05, 0.02, 3.6], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 700.0, 0.0);
    check_found(&truth, &Table::CAROM, BLUE, 3.0);
}

#[cfg(feature = "vision")]
#[test]
fn the_head_rail_is_at_the_left() {
    // The same view with the table turned: the found frame is the picture's, not the drawing's.
    let turned = camera([-0.08, 0.05, 3.1], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0], 1140.0, -0.06);
    let picture = image(drawn(&turned, &Table::CAROM, BLUE));
    let found = calibration::find(&[&picture], &Table::CAROM).unwrap();
    let head = found.camera.image_from_table(Table::CAROM.head_spot(), 0.0).unwrap();
    let foot = found.camera.image_from_table(Table::CAROM.foot_spot(), 0.0).unwrap();
    assert!(head.x() < foot.x() - 100.0, "head at {head:?}, foot at {foot:?}");
    assert!(error_mm(&found, &overhead(), &Table::CAROM) < 1.3);
}

#[cfg(feature = "vision")]
#[test]
fn people_graphics_and_cards_do_not_mislead() {
    let truth = overhead();
    let table = drawn(&truth, &Table::CAROM, BLUE);
    let bar = |planes: &[Vec<u8>; 3]| covered(planes, 40..660, 592..660, [60, 110, 140]);
    let pictures = [
        image(bar(&covered(&table, 120..240, 40..300, [30, 128, 128]))),
        image(bar(&covered(&table, 1000..1120, 400..680, [140, 110, 150]))),
        Image::filled(WIDTH, HEIGHT, [60, 160, 110]).unwrap(),
        image(bar(&covered(&table, 600..720, 20..240, [25, 128, 128]))),
    ];
    let found = calibration::find(&pictures.each_ref(), &Table::CAROM).unwrap();
    let error = error_mm(&found, &truth, &Table::CAROM);
    assert!(error < 2.0, "{error:.2} mm off; {found:?}");
    assert_eq!(found.from, "found in 3 pictures");
}

#[cfg(feature = "vision")]
#[test]
fn the_kind_of_table_is_told_by_its_pockets() {
    let picture = image(drawn(&overhead(), &Table::POOL_9FT, BLUE));
    let found = calibration::find(&[&picture], &Table::POOL_9FT).unwrap();
    assert!(error_mm(&found, &overhead(), &Table::POOL_9FT) < 1.5);
    let wrong = calibration::find(&[&picture], &Table::CAROM);
    assert!(matches!(wrong, Err(Error::WrongTable { found: "six", .. })), "{wrong:?}");
}

#[cfg(feature = "vision")]
#[test]
fn what_is_no_table_is_refused() {
    let plain = Image::filled(WIDTH, HEIGHT, [90, 150, 100]).unwrap();
    let tiny = Image::filled(3, 2, [90, 150, 100]).unwrap();
    // Too short: 2.0 x 1.42 m.
    let short = Table {
        length_m: 2.0,
        ..Table::CAROM
    };
    let other_shape = image(drawn(&overhead(), &short, BLUE));
    let flat = image(covered(
        &drawn(&overhead(), &short, GREY),
        0..WIDTH,
        0..HEIGHT,
        [200, 128, 128],
    ));
    for picture in [&plain, &tiny, &other_shape, &flat] {
        let answer = calibration::find(&[picture], &Table::CAROM);
        assert!(
            matches!(answer, Err(Error::NoTable { .. } | Error::Misfit { .. })),
            "{answer:?}"
        );
    }
    assert!(matches!(calibration::find(&[], &Table::CAROM), Err(Error::NoTable { .. })));
}

#[cfg(feature = "vision")]
#[test]
fn a_picture_is_known_moved_or_other() {
    use calibration::{View, view_of};
    let truth = overhead();
    let picture = image(drawn(&truth, &Table::CAROM, BLUE));
    let found = calibration::find(&[&picture], &Table::CAROM).unwrap();
    let off_mm = |view: View| match view {
        View::Known { off_mm } => off_mm,
        View::Other => f64::INFINITY,
    };
    assert!(off_mm(view_of(&picture, &found).unwrap()) < 1.0);
    // The camera turned by 3 mrad: 9 mm on the table 3 m away.
    let knocked = camera([0.08, -0.05, 3.1], [0.009, 0.0, 0.0], [0.0, 1.0, 0.0], 1140.0, -0.06);
    let off = off_mm(view_of(&image(drawn(&knocked, &Table::CAROM, BLUE)), &found).unwrap());
    assert!((2.5..12.0).contains(&off), "{off} mm");
    let elsewhere = Image::filled(WIDTH, HEIGHT, [95, 170, 95]).unwrap();
    assert_eq!(view_of(&elsewhere, &found).unwrap(), View::Other);
    let of_other_size = Image::filled(640, 360, [95, 170, 95]).unwrap();
    assert_eq!(view_of(&of_other_size, &found).unwrap(), View::Other);
}

#[cfg(feature = "vision")]
#[test]
fn the_preview_is_a_picture_of_the_same_size() {
    let picture = Image::filled(WIDTH, HEIGHT, [95, 170, 95]).unwrap();
    let png = calibration::preview(&picture, &from_camera(overhead())).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]) as usize;
    assert_eq!((number(16), number(20)), (WIDTH, HEIGHT));
}

fn from_camera(camera: Camera) -> Calibration {
    Calibration {
        camera,
        table: Table::CAROM,
        residual_mm: 0.25,
        residual_max_mm: 1.5,
        from: "a \"test\"\nof two lines".to_owned(),
    }
}

#[test]
fn a_saved_calibration_is_loaded_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.toml");
    let written = from_camera(overhead());
    save(&written, &path).unwrap();
    save(&written, &path).unwrap();
    let read = load(&path).unwrap();
    assert_eq!(
        (read.table, read.residual_mm, &read.from),
        (written.table, written.residual_mm, &written.from)
    );
    let corner = Point3::new(1.42, -0.71, 0.0);
    let pixels = [&written, &read].map(|c| c.camera.image_from_world(corner).unwrap().0);
    assert!((pixels[0] - pixels[1]).norm() < 1e-6);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["table.toml"], "no part of a file is left");
}

#[test]
fn files_that_are_not_calibrations_are_refused_with_the_reason() {
    let good = fs::read_to_string(samples().join("overhead_1080p.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.toml");
    let says = |text: &str, reason: &str| {
        fs::write(&path, text).unwrap();
        let message = load(&path).unwrap_err().to_string();
        assert!(
            message.contains(reason) && message.contains("table.toml") && !message.contains('\n'),
            "{message}"
        );
    };
    says(&good.replace("k1 =", "k9 ="), "k9");
    says(&good.replace("calibration/1", "calibration/2"), "calibration/2");
    says(&good.replace("length_m = 2.84", "length_m = 2840.0"), "length_m");
    says(&good.replace("length_m = 2.84", "length_m = nan"), "length_m");
    says(&good.replace("focal_px = 1780.0", "focal_px = -1.0"), "make no camera");
    says(&good.replace("focal_px = 1780.0", "focal_px = \"long\""), "line");
    says("", "line 1");
    says(&"#".repeat(100_000), "100000 bytes");
    let missing = load(&folder.path().join("none.toml")).unwrap_err().to_string();
    assert!(missing.contains("none.toml"), "{missing}");
    let nowhere = save(&from_camera(overhead()), &folder.path().join("no/such/table.toml"));
    assert!(matches!(nowhere, Err(Error::Write { .. })), "{nowhere:?}");
}

fn samples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/calibration"))
}

#[test]
fn every_sample_in_the_package_loads_and_looks_down_on_its_table() {
    let mut n = 0;
    for entry in fs::read_dir(samples()).unwrap() {
        let found = load(&entry.unwrap().path()).unwrap();
        let centre = found.camera.image_from_table(found.table.center_spot(), 0.0).unwrap();
        assert!(centre.x() > 0.0 && centre.x() < f64::from(found.camera.width_px()));
        assert!(found.camera.rotation_vector().norm() <= PI + 1e-9);
        n += 1;
    }
    assert!(n > 0);
}
