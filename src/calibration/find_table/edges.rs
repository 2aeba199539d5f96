//! Brightness across the rails, and the edges in it to a fraction of a pixel. No OpenCV.
//!
//! A camera near the truth says where the rails should be. Across each rail, at many stations along it, the picture is read along
//! a line that runs from the bed outward in the plane of the noses; places are metres outward from the nose line.

use nalgebra::Point3;

use super::cloth::{ClothColour, black_level};
use crate::frame::{ColourRange, Image};
use crate::space::{Camera, ImagePoint, TablePoint};
use crate::table::{Rail, Table};

/// Part of a rail next to each corner that is not looked at, metres: the corner's own shade.
const CORNER_MARGIN_M: f64 = 0.05;
/// The same where a pocket is, from its middle.
const POCKET_MARGIN_M: f64 = 0.13;
/// What is read across a rail, metres outward from the nose: from the bed to the wood beyond the cushion.
const READ_FROM_M: f64 = -0.09;
const READ_TO_M: f64 = 0.13;
/// Samples a pixel.
const SAMPLES_PER_PX: f64 = 2.0;
/// Finest step, metres; a table that fills a 4K picture has 0.8 mm pixels.
const MIN_STEP_M: f64 = 0.000_3;
/// Width of the smoothing before slopes are taken, pixels: about the blur of a sharp lens and a video codec.
const SMOOTHING_PX: f64 = 1.0;
/// Exponent from luma above black to light: BT.709 and sRGB cameras lie between 2.0 and 2.4. Edges in light lie where they are; edges
/// in luma are drawn toward the dark side.
const GAMMA: f64 = 2.2;

/// Read light across one rail at one station.
pub(super) struct Station {
    /// Place along the rail, -1 to 1.
    pub(super) along: f64,
    /// Light (0 to 1), from the bed outward.
    light: Vec<f32>,
}

impl Station {
    /// Whether any picture shows the rail here.
    pub(super) fn is_clear(&self) -> bool {
        self.light.iter().any(|v| v.is_finite())
    }
}

/// Everything that was read across one rail.
pub(super) struct RailView {
    pub(super) stations: Vec<Station>,
    /// Metres from one sample to the next.
    pub(super) step_m: f64,
    /// Metres that a pixel covers across the rail.
    pub(super) metres_per_px: f64,
}

/// A place where light rises or falls outward.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    /// Which station.
    pub(super) station: usize,
    pub(super) along: f64,
    /// Metres outward from where the nose line was thought to be.
    pub(super) out_m: f64,
    /// Change of light over the smoothing width as a share of the light around; positive for a rise outward.
    pub(super) contrast: f64,
}

/// A point of the table at nose height: `out_m` outward from a rail's nose, at -1 to 1 along it.
pub(super) fn rail_point(table: &Table, rail: Rail, along: f64, out_m: f64) -> TablePoint {
    let out = rail.outward();
    let (half_x, half_y) = (table.length_m / 2.0, table.width_m / 2.0);
    let at = match rail {
        Rail::Head | Rail::Foot => nalgebra::Vector2::new(out.x * half_x, along * half_y),
        Rail::Left | Rail::Right => nalgebra::Vector2::new(along * half_x, out.y * half_y),
    };
    let at = at + out * out_m;
    TablePoint::new(at.x, at.y)
}

/// Pixel of such a point.
pub(super) fn rail_pixel(camera: &Camera, table: &Table, rail: Rail, along: f64, out_m: f64) -> Option<ImagePoint> {
    let p = rail_point(table, rail, along, out_m);
    camera.image_from_world(Point3::new(p.x(), p.y(), table.nose_height_m))
}

/// What the places across a rail must look like for a picture to count there: metres outward from the nose, from and to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClothCheck {
    pub(super) colour: ClothColour,
    /// Cloth of the bed, measured from the foot of the cushion's face where that shows.
    pub(super) bed_m: [f64; 2],
    /// Cloth of the cushion, once the camera is good enough to know where that is.
    pub(super) cushion_m: Option<[f64; 2]>,
}

/// How a rail is read.
pub(super) struct Look {
    /// Distance between stations along the rail, metres.
    pub(super) spacing_m: f64,
    /// Whether each station is averaged with its neighbours: for a camera so good that edges run along the stations.
    pub(super) smooth: bool,
    pub(super) check: ClothCheck,
}

/// Light by luma.
pub(super) type LightTable = [f32; 256];

/// From luma to light for pictures like this one.
pub(super) fn light_table(image: &Image) -> LightTable {
    let black = black_level(image);
    let white = match image.range() {
        ColourRange::Limited => 235.0,
        ColourRange::Full => 255.0,
    };
    std::array::from_fn(|y| ((y as f64 - black) / (white - black)).max(0.0).powf(GAMMA) as f32)
}

/// Reads a rail in all pictures; each sample is the median over those pictures in which no person, graphic or other thing that is not
/// cloth lies over the rail there.
pub(super) fn read_rail(
    images: &[&Image],
    camera: &Camera,
    table: &Table,
    rail: Rail,
    light: &LightTable,
    look: &Look,
) -> RailView {
    let check = &look.check;
    let length_m = match rail {
        Rail::Head | Rail::Foot => table.width_m,
        Rail::Left | Rail::Right => table.length_m,
    };
    let metres_per_px = metres_per_px(camera, table, rail);
    let step_m = (metres_per_px / SAMPLES_PER_PX).max(MIN_STEP_M);
    let samples = ((READ_TO_M - READ_FROM_M) / step_m) as usize + 1;
    let count = (length_m / look.spacing_m) as usize;
    let margin_m = if table.has_pockets { POCKET_MARGIN_M } else { CORNER_MARGIN_M };
    let span = 1.0 - 2.0 * margin_m / length_m;
    let face_m = visible_face_m(camera, table, rail);
    let stations: Vec<Station> = (0..count)
        .filter_map(|i| {
            let along = span * (2.0 * (i as f64 + 0.5) / count as f64 - 1.0);
            let side_pocket =
                table.has_pockets && matches!(rail, Rail::Left | Rail::Right) && (along * length_m / 2.0).abs() < POCKET_MARGIN_M;
            if side_pocket {
                return None;
            }
            // Over 22 cm a picture is straight to far less than a pixel's hundredth: three points make the line.
            let ends = [READ_FROM_M, READ_TO_M, f64::midpoint(READ_FROM_M, READ_TO_M)];
            let [a, b, m] = ends.map(|out| rail_pixel(camera, table, rail, along, out));
            let (a, b, m) = (a?, b?, m?);
            // Parabola through the three pixels.
            let pixel = |out_m: f64| {
                let t = (out_m - READ_FROM_M) / (READ_TO_M - READ_FROM_M);
                let (wa, wm, wb) = ((1.0 - t) * (1.0 - 2.0 * t), 4.0 * t * (1.0 - t), t * (2.0 * t - 1.0));
                (wa * a.x() + wm * m.x() + wb * b.x(), wa * a.y() + wm * m.y() + wb * b.y())
            };
            let bed = check
                .bed_m
                .map(|out_m| rail_pixel(camera, table, rail, along, out_m + face_m));
            let cushion = check
                .cushion_m
                .map(|ends| ends.map(|out_m| rail_pixel(camera, table, rail, along, out_m)));
            let clear: Vec<&Image> = images
                .iter()
                .copied()
                .filter(|image| check.holds(image, bed) && cushion.is_none_or(|c| check.holds(image, c)))
                .collect();
            let mut values = Vec::with_capacity(samples);
            let mut over = Vec::with_capacity(images.len());
            for k in 0..samples {
                let (x, y) = pixel(READ_FROM_M + k as f64 * step_m);
                over.clear();
                over.extend(clear.iter().filter_map(|image| bilinear(image, x, y, light)));
                over.sort_unstable_by(f32::total_cmp);
                values.push(match over.len() {
                    0 => f32::NAN,
                    n if n % 2 == 1 => over[n / 2],
                    n => f32::midpoint(over[n / 2 - 1], over[n / 2]),
                });
            }
            Some(Station { along, light: values })
        })
        .collect();
    let stations = if look.smooth { smoothed(&stations) } else { stations };
    RailView {
        stations,
        step_m,
        metres_per_px,
    }
}

/// Each station averaged with its two neighbours, where they are clear.
fn smoothed(stations: &[Station]) -> Vec<Station> {
    let mean = |n: usize| {
        let near = &stations[n.saturating_sub(1)..(n + 2).min(stations.len())];
        let own = &stations[n];
        let clear: Vec<&Station> = near
            .iter()
            .filter(|s| s.is_clear() && s.light.len() == own.light.len())
            .collect();
        let at = |k: usize| clear.iter().map(|s| s.light[k]).sum::<f32>() / clear.len() as f32;
        Station {
            along: own.along,
            light: if own.is_clear() {
                (0..own.light.len()).map(at).collect()
            } else {
                own.light.clone()
            },
        }
    };
    (0..stations.len()).map(mean).collect()
}

/// Metres that a pixel covers across the middle of a rail.
fn metres_per_px(camera: &Camera, table: &Table, rail: Rail) -> f64 {
    let step_m = 0.01;
    let ends = [-step_m, step_m].map(|out| rail_pixel(camera, table, rail, 0.0, out));
    match ends {
        [Some(a), Some(b)] if (b.0 - a.0).norm() > 1e-3 => 2.0 * step_m / (b.0 - a.0).norm(),
        _ => step_m,
    }
}

/// Places that a check looks at on the bed and on the cushion.
const CHECK_PLACES: u32 = 6;

impl ClothCheck {
    /// Whether the mean colour between two pixels is that of cloth.
    fn holds(&self, image: &Image, ends: [Option<ImagePoint>; 2]) -> bool {
        let [Some(a), Some(b)] = ends else {
            return false;
        };
        let mut sum = [0.0; 3];
        for i in 0..CHECK_PLACES {
            let p = a.0 + (b.0 - a.0) * (f64::from(i) / f64::from(CHECK_PLACES - 1));
            let Some(colour) = colour_at(image, p.x, p.y) else {
                return false;
            };
            sum = [sum[0] + colour[0], sum[1] + colour[1], sum[2] + colour[2]];
        }
        self.colour.is_like(sum.map(|s| s / f64::from(CHECK_PLACES)))
    }
}

/// Where the foot of a rail's nose, on the cloth, shows in the plane of the noses, metres outward from the nose; 0 when the nose hides it.
/// Between the two lies the cushion's face, which is dark.
fn visible_face_m(camera: &Camera, table: &Table, rail: Rail) -> f64 {
    let foot = rail_point(table, rail, 0.0, 0.0);
    camera
        .image_from_table(foot, 0.0)
        .and_then(|pixel| camera.table_from_image(pixel, table.nose_height_m))
        .map_or(0.0, |seen| (-table.distance_to_nose_m(seen, rail)).min(0.0))
}

/// Luma above black and chroma from neutral of the nearest pixel. `None` outside the picture.
pub(super) fn colour_at(image: &Image, x: f64, y: f64) -> Option<[f64; 3]> {
    if !(x >= 0.0 && y >= 0.0 && x < image.width() as f64 && y < image.height() as f64) {
        return None;
    }
    let (c, r) = (x as usize, y as usize);
    Some([
        f64::from(image.y().row(r)[c]) - black_level(image),
        f64::from(image.u().row(r / 2)[c / 2]) - 128.0,
        f64::from(image.v().row(r / 2)[c / 2]) - 128.0,
    ])
}

/// Light at a place between pixels. `None` outside the picture.
fn bilinear(image: &Image, x: f64, y: f64, light: &LightTable) -> Option<f32> {
    let plane = image.y();
    if !(x >= 0.0 && y >= 0.0 && x < plane.width as f64 - 1.0 && y < plane.height as f64 - 1.0) {
        return None;
    }
    let (c, r) = (x as usize, y as usize);
    let (fx, fy) = ((x - c as f64) as f32, (y - r as f64) as f32);
    let (top, bottom) = (plane.row(r), plane.row(r + 1));
    let of = |v: u8| light[usize::from(v)];
    let upper = of(top[c]) * (1.0 - fx) + of(top[c + 1]) * fx;
    let lower = of(bottom[c]) * (1.0 - fx) + of(bottom[c + 1]) * fx;
    Some(upper * (1.0 - fy) + lower * fy)
}

impl RailView {
    /// All edges with places from `from_m` to `to_m` and at least `least` contrast.
    pub(super) fn edges(&self, from_m: f64, to_m: f64, least: f64) -> Vec<Edge> {
        let sigma = SMOOTHING_PX * self.metres_per_px / self.step_m;
        let reach = (3.0 * sigma).ceil() as usize;
        // Derivative of a Gaussian, scaled so that a step of 1 gives a peak of 1.
        let kernel: Vec<f64> = (0..=2 * reach)
            .map(|i| {
                let x = i as f64 - reach as f64;
                x * (-x * x / (2.0 * sigma * sigma)).exp() / (sigma * sigma)
            })
            .collect();
        let smooth: Vec<f64> = (0..=2 * reach)
            .map(|i| {
                let x = i as f64 - reach as f64;
                (-x * x / (2.0 * sigma * sigma)).exp() / (sigma * std::f64::consts::TAU.sqrt())
            })
            .collect();
        let first = (((from_m - READ_FROM_M) / self.step_m).floor().max(0.0) as usize).max(reach + 1);
        let last = ((to_m - READ_FROM_M) / self.step_m).ceil() as usize;
        let mut found = Vec::new();
        for (n, station) in self.stations.iter().enumerate() {
            let last = last.min(station.light.len().saturating_sub(reach + 2));
            if first >= last {
                continue;
            }
            let slope_at = |k: usize| -> f64 {
                kernel
                    .iter()
                    .zip(&station.light[k - reach..])
                    .map(|(w, v)| w * f64::from(*v))
                    .sum()
            };
            let around_at = |k: usize| -> f64 {
                smooth
                    .iter()
                    .zip(&station.light[k - reach..])
                    .map(|(w, v)| w * f64::from(*v))
                    .sum()
            };
            let slopes: Vec<f64> = (first - 1..=last + 1).map(slope_at).collect();
            for i in 1..slopes.len() - 1 {
                let (a, b, c) = (slopes[i - 1], slopes[i], slopes[i + 1]);
                let peak = b.abs() >= a.abs() && b.abs() > c.abs();
                if !peak || !(a + b + c).is_finite() {
                    continue;
                }
                let k = first - 1 + i;
                // Light on the brighter side.
                let two = (2.0 * sigma).ceil() as usize;
                let sides = [
                    k.saturating_sub(two).max(reach),
                    (k + two).min(station.light.len() - reach - 1),
                ]
                .map(around_at);
                let contrast = b / sides[0].max(sides[1]).max(1e-3);
                if contrast.abs() < least {
                    continue;
                }
                let bend = a - 2.0 * b + c;
                let shift = if bend.abs() > 1e-12 {
                    (0.5 * (a - c) / bend).clamp(-0.5, 0.5)
                } else {
                    0.0
                };
                found.push(Edge {
                    station: n,
                    along: station.along,
                    out_m: READ_FROM_M + (k as f64 + shift) * self.step_m,
                    contrast,
                });
            }
        }
        found
    }
}

/// An edge that runs along a rail, straight or bent a little.
#[derive(Debug, Clone)]
pub(super) struct Course {
    /// The edges on it, one a station at most.
    pub(super) edges: Vec<Edge>,
    /// Sum of their contrasts.
    pub(super) strength: f64,
}

/// Trials of the random search for a course: with a third of the edges on it, all but one in a thousand searches meet three of them.
const TRIALS: usize = 260;
/// A contrast above this counts no more: a very dark gap is not a better edge than a dark one.
const ENOUGH_CONTRAST: f64 = 0.5;

/// The smooth course that the most and strongest edges follow within `tolerance_m`; no further than `reach_m` from where it starts.
pub(super) fn course(edges: &[Edge], stations: usize, tolerance_m: f64) -> Option<Course> {
    if edges.len() < 3 {
        return None;
    }
    // A fixed sequence: the same pictures must give the same answer.
    let mut seed: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut draw = |n: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) as usize) % n
    };
    let mut best: Option<Course> = None;
    for _ in 0..TRIALS {
        let picks = [0; 3].map(|_: usize| edges[draw(edges.len())]);
        let apart = |a: Edge, b: Edge| (a.along - b.along).abs() > 0.25;
        if !(apart(picks[0], picks[1]) && apart(picks[1], picks[2]) && apart(picks[0], picks[2])) {
            continue;
        }
        let points: Vec<(f64, f64)> = picks.iter().map(|e| (e.along, e.out_m)).collect();
        let Some(coefficients) = parabola(&points) else {
            continue;
        };
        let found = follow(edges, stations, coefficients, tolerance_m);
        if best.as_ref().is_none_or(|b| found.strength > b.strength) {
            best = Some(found);
        }
    }
    let mut best = best?;
    for _ in 0..2 {
        let points: Vec<(f64, f64)> = best.edges.iter().map(|e| (e.along, e.out_m)).collect();
        if let Some(coefficients) = parabola(&points) {
            let again = follow(edges, stations, coefficients, tolerance_m);
            if again.strength >= best.strength {
                best = again;
            }
        }
    }
    Some(best)
}

fn follow(edges: &[Edge], stations: usize, c: [f64; 3], tolerance_m: f64) -> Course {
    let mut on: Vec<Option<(f64, Edge)>> = vec![None; stations];
    for e in edges {
        let off = (e.out_m - (c[0] + e.along * (c[1] + e.along * c[2]))).abs();
        let slot = &mut on[e.station];
        if off <= tolerance_m && slot.is_none_or(|(o, _)| off < o) {
            *slot = Some((off, *e));
        }
    }
    let edges: Vec<Edge> = on.into_iter().flatten().map(|(_, e)| e).collect();
    let strength = edges.iter().map(|e| e.contrast.abs().min(ENOUGH_CONTRAST)).sum();
    Course { edges, strength }
}

/// Least squares; `None` when the points do not determine one.
fn parabola(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    let (mut h, mut g) = (nalgebra::Matrix3::<f64>::zeros(), nalgebra::Vector3::<f64>::zeros());
    for (t, v) in points {
        let row = nalgebra::Vector3::new(1.0, *t, t * t);
        h += row * row.transpose();
        g += row * *v;
    }
    h.lu().solve(&g).filter(|c| c.iter().all(|v| v.is_finite())).map(Into::into)
}
