//! The detector on drawn pictures: a camera of known pose, balls of known place.

use std::sync::{Arc, OnceLock};

use cuemark::ball::{Ball, CAROM_BALLS};
use cuemark::detect::{Detector, Error};
use cuemark::frame::{ColourRange, Frame, Image};
use cuemark::observation::{FrameObservations, Observation};
use cuemark::space::{Camera, ImagePoint, TablePoint};
use cuemark::table::Table;
use cuemark::units::{FrameNo, Timestamp};
use nalgebra::{Matrix2, Point2, Vector2, Vector3};

const WIDTH: usize = 1280;
const HEIGHT: usize = 720;
/// Luma, blue and red difference of what is drawn.
const CLOTH: [f64; 3] = [100.0, 166.0, 92.0];
const WOOD: [f64; 3] = [60.0, 120.0, 136.0];
const WHITE: [f64; 3] = [205.0, 122.0, 131.0];
const ORANGE: [f64; 3] = [188.0, 96.0, 158.0];
const RED: [f64; 3] = [75.0, 114.0, 198.0];
const SKIN: [f64; 3] = [110.0, 112.0, 150.0];

/// Straight above the table, 3.2 m high, turned a little.
fn camera() -> Camera {
    Camera::new(
        WIDTH as u32,
        HEIGHT as u32,
        1180.0,
        Point2::new(639.5, 359.5),
        -0.02,
        0.0,
        Vector3::new(3.12, 0.02, 0.01),
        Vector3::new(0.01, -0.02, 3.2),
    )
    .expect("a camera above the table")
}

/// A ball in the picture: colour, centre, and the way it goes while the shutter is open, metres.
struct Drawn {
    colour: [f64; 3],
    at: TablePoint,
    way: Vector2<f64>,
}

fn at_rest(colour: [f64; 3], x: f64, y: f64) -> Drawn {
    moving(colour, x, y, 0.0, 0.0)
}

fn moving(colour: [f64; 3], x: f64, y: f64, way_x: f64, way_y: f64) -> Drawn {
    Drawn {
        colour,
        at: TablePoint::new(x, y),
        way: Vector2::new(way_x, way_y),
    }
}

/// Draws the table and the balls; `cover` is a rectangle of skin over all, pixels (left, top, right, bottom).
fn draw(no: u64, balls: &[Drawn], cover: Option<[f64; 4]>, brightness: f64) -> Frame {
    const STEPS: usize = 15;
    let (camera, table) = (camera(), Table::CAROM);
    let on_table = |p: TablePoint| {
        p.x().abs() < table.length_m / 2.0 + table.cushion_width_m && p.y().abs() < table.width_m / 2.0 + table.cushion_width_m
    };
    let swept = |ball: &Drawn| -> Vec<(Point2<f64>, Matrix2<f64>)> {
        let step = |s: usize| TablePoint(ball.at.0 + ball.way * ((s as f64 + 0.5) / STEPS as f64 - 0.5));
        let outline = |s| camera.ball_outline(step(s), table.ball_radius_m).expect("in view");
        (0..STEPS).map(outline).map(|(c, a)| (c.0, a)).collect()
    };
    let outlines: Vec<_> = balls.iter().map(swept).collect();
    let light = |x: f64, y: f64| -> [f64; 3] {
        if cover.is_some_and(|[l, t, r, b]| x > l && x < r && y > t && y < b) {
            return SKIN;
        }
        let ground = camera.table_from_image(ImagePoint::new(x, y), 0.0).is_some_and(on_table);
        let mut seen = if ground { CLOTH } else { WOOD };
        let p = Point2::new(x, y);
        for (ball, outlines) in balls.iter().zip(&outlines) {
            if (p - outlines[STEPS / 2].0).norm() > 100.0 {
                continue;
            }
            let mut share = 0.0;
            for (c, a) in outlines {
                // An edge one pixel soft, as a lens makes it.
                let d = ((p - *c).dot(&(a * (p - *c)))).sqrt();
                let radius = a.determinant().sqrt().sqrt().recip();
                share += ((1.0 - d) * radius + 0.5).clamp(0.0, 1.0) / STEPS as f64;
            }
            seen = [0, 1, 2].map(|k| seen[k] * (1.0 - share) + ball.colour[k] * share);
        }
        seen
    };
    let byte = |k: usize, v: f64| {
        let black = if k == 0 { 16.0 } else { 128.0 };
        (black + (v - black) * brightness).round() as u8
    };
    let mut planes = [
        vec![0; WIDTH * HEIGHT],
        vec![0; WIDTH * HEIGHT / 4],
        vec![0; WIDTH * HEIGHT / 4],
    ];
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            planes[0][y * WIDTH + x] = byte(0, light(x as f64, y as f64)[0]);
        }
    }
    for y in 0..HEIGHT / 2 {
        for x in 0..WIDTH / 2 {
            let seen = light(2.0 * x as f64, 2.0 * y as f64 + 0.5);
            planes[1][y * WIDTH / 2 + x] = byte(1, seen[1]);
            planes[2][y * WIDTH / 2 + x] = byte(2, seen[2]);
        }
    }
    let strides = [WIDTH, WIDTH / 2, WIDTH / 2];
    Frame {
        no: FrameNo(no),
        at: Timestamp::ZERO,
        image: Image::new(WIDTH, HEIGHT, strides, ColourRange::Limited, Arc::new(planes)).expect("planes fit"),
    }
}

fn trained() -> Detector {
    static SAMPLES: OnceLock<[Frame; 3]> = OnceLock::new();
    let samples = SAMPLES.get_or_init(|| {
        [
            draw(
                0,
                &[at_rest(WHITE, -0.4, 0.3), at_rest(ORANGE, 0.8, 0.2), at_rest(RED, 0.1, -0.4)],
                None,
                1.0,
            ),
            draw(
                1,
                &[at_rest(WHITE, 0.5, -0.3), at_rest(ORANGE, -0.9, 0.1), at_rest(RED, 0.1, -0.4)],
                None,
                1.0,
            ),
            draw(
                2,
                &[at_rest(WHITE, 1.0, 0.5), at_rest(ORANGE, -0.2, -0.5), at_rest(RED, -1.1, 0.4)],
                None,
                1.0,
            ),
        ]
    });
    Detector::new(&camera(), &Table::CAROM, &CAROM_BALLS, samples).expect("the table is in the samples")
}

/// The observation that is most likely `kind`; there must be just one.
fn the(kind: Ball, seen: &FrameObservations) -> &Observation {
    let of_kind: Vec<&Observation> = seen.balls.iter().filter(|b| b.kinds[0].0 == kind).collect();
    assert_eq!(of_kind.len(), 1, "{kind} in {:?}", seen.balls);
    of_kind[0]
}

#[track_caller]
fn assert_near(seen: &Observation, x: f64, y: f64, limit_mm: f64) {
    let error_mm = seen.at.distance(TablePoint::new(x, y)) * 1e3;
    assert!(error_mm < limit_mm, "{error_mm:.2} mm off: {seen:?}");
}

#[test]
fn resting_balls_are_found_to_half_a_millimetre_and_named() {
    let seen = trained().detect(&draw(
        7,
        &[
            at_rest(WHITE, -1.2, 0.55),
            at_rest(ORANGE, 0.3, -0.1),
            at_rest(RED, 1.3, -0.6),
        ],
        None,
        1.0,
    ));
    assert!(seen.table_in_view);
    assert_eq!(seen.no, FrameNo(7));
    assert_eq!(seen.balls.len(), 3);
    assert_near(the(Ball::White, &seen), -1.2, 0.55, 0.5);
    assert_near(the(Ball::Yellow, &seen), 0.3, -0.1, 0.5);
    assert_near(the(Ball::Red, &seen), 1.3, -0.6, 0.5);
    for ball in &seen.balls {
        assert!(ball.kinds[0].1.get() > 0.9, "{ball:?}");
        assert!(ball.coverage > 0.8, "{ball:?}");
    }
}

#[test]
fn a_streak_of_three_diameters_is_measured_at_its_middle_with_more_doubt_along_it() {
    let seen = trained().detect(&draw(
        0,
        &[moving(WHITE, -0.3, 0.2, 0.19, 0.0), at_rest(RED, 0.6, 0.0)],
        None,
        1.0,
    ));
    let white = the(Ball::White, &seen);
    assert_near(white, -0.3, 0.2, 3.0);
    assert!(white.covariance[(0, 0)] > white.covariance[(1, 1)], "{white:?}");
    let red = the(Ball::Red, &seen);
    assert!(white.covariance[(0, 0)] > 10.0 * red.covariance[(0, 0)], "{white:?} {red:?}");
}

#[test]
fn touching_balls_are_both_found() {
    let seen = trained().detect(&draw(0, &[at_rest(WHITE, 0.0, 0.0), at_rest(RED, 0.0615, 0.0)], None, 1.0));
    assert_near(the(Ball::White, &seen), 0.0, 0.0, 1.0);
    assert_near(the(Ball::Red, &seen), 0.0615, 0.0, 1.0);
}

#[test]
fn a_ball_touching_a_rail_is_found() {
    let y = Table::CAROM.width_m / 2.0 - Table::CAROM.rail_contact_distance_m();
    let seen = trained().detect(&draw(0, &[at_rest(ORANGE, 0.4, y)], None, 1.0));
    assert_near(the(Ball::Yellow, &seen), 0.4, y, 1.0);
}

#[test]
fn a_ball_half_under_a_hand_is_found_with_more_doubt_and_less_coverage() {
    let c = camera()
        .image_from_table(TablePoint::new(0.5, 0.1), Table::CAROM.ball_radius_m)
        .expect("in view");
    let hand = [c.x() + 2.0, c.y() - 60.0, c.x() + 120.0, c.y() + 60.0];
    let mut detector = trained();
    let free = detector.detect(&draw(0, &[at_rest(WHITE, 0.5, 0.1)], None, 1.0));
    let half = detector.detect(&draw(1, &[at_rest(WHITE, 0.5, 0.1)], Some(hand), 1.0));
    let (free, half) = (the(Ball::White, &free), the(Ball::White, &half));
    assert_near(half, 0.5, 0.1, 3.0);
    assert!(half.coverage < 0.75, "{half:?}");
    assert!(half.covariance.trace() > free.covariance.trace(), "{half:?} {free:?}");
}

#[test]
fn an_arm_is_no_ball() {
    // Two diameters wide, from beyond the rail to the middle of the table.
    let seen = trained().detect(&draw(0, &[], Some([500.0, 0.0, 546.0, 420.0]), 1.0));
    assert!(seen.table_in_view);
    assert_eq!(seen.balls, []);
}

#[test]
fn a_dimmed_lamp_changes_nothing() {
    let seen = trained().detect(&draw(0, &[at_rest(RED, 0.2, 0.3), at_rest(ORANGE, -0.5, 0.0)], None, 0.8));
    assert_near(the(Ball::Red, &seen), 0.2, 0.3, 0.7);
    assert_near(the(Ball::Yellow, &seen), -0.5, 0.0, 0.7);
}

#[test]
fn a_card_of_the_cloths_colour_is_not_the_table() {
    let card = Image::filled(WIDTH, HEIGHT, CLOTH.map(|v| v as u8)).expect("a picture");
    let seen = trained().detect(&Frame {
        no: FrameNo(3),
        at: Timestamp::ZERO,
        image: card,
    });
    assert!(!seen.table_in_view);
    assert_eq!(seen.balls, []);
}

#[test]
fn the_same_frames_give_the_same_observations() {
    let frame = draw(0, &[at_rest(WHITE, 0.7, 0.1), moving(RED, -0.2, 0.3, 0.03, 0.02)], None, 1.0);
    let (mut a, mut b) = (trained(), trained());
    b.detect(&draw(9, &[at_rest(ORANGE, 0.0, 0.0)], None, 1.0));
    assert_eq!(a.detect(&frame), b.detect(&frame));
}

#[test]
fn errors_say_what_to_do() {
    let frame = |w, h| Frame {
        no: FrameNo(0),
        at: Timestamp::ZERO,
        image: Image::filled(w, h, [16, 128, 128]).expect("a picture"),
    };
    let wrong_size = Detector::new(&camera(), &Table::CAROM, &CAROM_BALLS, &[frame(640, 360)]);
    assert!(matches!(wrong_size, Err(Error::Size { frame_width: 640, .. })));
    let none = Detector::new(&camera(), &Table::CAROM, &CAROM_BALLS, &[]);
    assert!(matches!(none, Err(Error::NoCloth(0))));
    let pool = Detector::new(&camera(), &Table::CAROM, &[Ball::Cue], &[frame(WIDTH, HEIGHT)]);
    assert_eq!(
        pool.expect_err("no pool yet").to_string(),
        "balls of this kind cannot be detected yet: cue; use the balls of a carom game"
    );
}
