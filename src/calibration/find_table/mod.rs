//! Finds a billiard table in pictures without help, and solves the camera.
//!
//! 1. The cloth's colour is learnt from the middle of each picture, the region of that colour gives a rough four-sided figure;
//!    pictures whose regions agree belong together, the others (cuts, cards) are left out.
//! 2. The figure may be the noses, the cloth or the wooden frame, with the long side either way: each reading is tried.
//! 3. Edges across the rails, read at a fraction of a pixel, correct the camera and say which reading is right: on a table of this
//!    kind light falls from the cushion to the bed along four noses of known size, and cloth ends a cushion's width further out.
//! 4. What does not fit within a bound is refused: no calibration is better than a wrong one.

mod cloth;
mod edges;
mod quad;

use std::f64::consts::PI;

use nalgebra::{Point2, Rotation3, Vector3};

use self::cloth::{ClothColour, Region, Small};
use self::edges::{ClothCheck, Course, RailView, course, rail_pixel, read_rails};
use self::quad::Quad;
use super::solve::{Landmark, NoseCorners, Solution, Start, Target, rectangle_solution, solve};
use super::{Calibration, Error};
use crate::frame::Image;
use crate::space::{Camera, ImagePoint};
use crate::table::{Rail, Table};

/// Pictures that are looked at, at most: each costs time, and more than these add nothing.
const MAX_IMAGES: usize = 12;
/// Regions that overlap at least this much show the same table from the same camera; a player at the table takes a fifth of it.
const SAME_VIEW_OVERLAP: f64 = 0.65;
/// Cloth is where this share of the pictures has it.
const VOTE_SHARE: f64 = 0.3;
/// Groups of like pictures that are tried, largest first.
const MAX_GROUPS: usize = 3;

/// Width of the wooden frame from the cloth's edge outward, metres: 100 to 150 mm on makers' drawings.
const FRAME_WIDTHS_M: [f64; 3] = [0.125, 0.10, 0.15];
/// Largest misfit of a first reading's corners, as a share of the picture's longer side.
const MAX_CORNER_MISFIT: f64 = 0.03;

/// Half widths of the strips in which edges are looked for, metres: first the error of a rough figure (three small pixels), then what
/// each round leaves.
const ROUNDS_M: [f64; 4] = [0.028, 0.014, 0.009, 0.007];
/// ... and in pixels at least, for rails far away: what the blur of a picture and the camera of the round before leave.
const MIN_WINDOW_PX: [f64; 4] = [6.0, 3.0, 2.0, 2.0];
/// ... but never more than this, metres, so that the nose is not taken for the cloth's edge.
const MAX_WINDOW_M: f64 = 0.03;
/// Where the bed must look like cloth, metres outward from the nose: beyond the shade of the cushion.
const BED_CHECK_M: [f64; 2] = [-0.075, -0.045];
/// Where the cushion must look like cloth, as shares of its width.
const CUSHION_CHECK: [f64; 2] = [0.25, 0.75];
/// Least step of light at an edge, as a share of the brighter side; noise after the median over pictures is a few hundredths.
const MIN_CONTRAST: f64 = 0.06;
/// Edges of one course lie within this many pixels of it.
const COURSE_TOLERANCE_PX: f64 = 1.2;
/// ... or within this, metres: a cushion is not straighter.
const COURSE_TOLERANCE_M: f64 = 0.001_5;
/// Standard deviation of a nose edge, pixels: a step blurred over a pixel, in 8-bit noise.
const NOSE_SIGMA_PX: f64 = 0.25;
/// Standard deviation of the cloth's outer edge, pixels: a seam whose shade differs from rail to rail.
const CLOTH_EDGE_SIGMA_PX: f64 = 0.8;
/// Standard deviation of a point of the rough outline, in small pixels.
const OUTLINE_SIGMA: f64 = 1.0;
/// Points of the rough outline that are used on each side.
const OUTLINE_POINTS: usize = 30;
/// Landmarks further off than this, in standard deviations, do not count in the residual: they are something else (a hand, a logo).
const OUTLIER_SIGMA: f64 = 6.0;

/// Least share of a rail's stations at which its nose must be seen.
const MIN_RAIL_SUPPORT: f64 = 0.2;
/// Least share over all four rails.
const MIN_SUPPORT: f64 = 0.5;
/// Largest root mean square misfit of the noses, metres: half of what shifts a thin contact. Larger pixels allow more, see below.
const MAX_RESIDUAL_M: f64 = 0.003;
/// ... and in pixels, for pictures whose pixels are large.
const MAX_RESIDUAL_PX: f64 = 0.8;

/// A camera with what speaks for it.
struct Fit {
    solution: Solution,
    /// Share of stations with the nose on each rail, in the order of [`crate::table::RAILS`].
    nose_support: [f64; 4],
    /// Share of stations with the cloth's edge, over all rails.
    edge_support: f64,
    residual_m: f64,
    residual_max_m: f64,
    /// Metres that a pixel covers across the rails, the mean of the four.
    metres_per_px: f64,
}

impl Fit {
    fn support(&self) -> f64 {
        self.nose_support.iter().sum::<f64>() / 4.0
    }

    /// What speaks for this reading: noses and cloth edges where they should be, close to their lines.
    fn score(&self) -> f64 {
        let weakest = self.nose_support.iter().copied().fold(1.0, f64::min);
        self.support() + 0.5 * weakest + 0.5 * self.edge_support - 0.3 * self.residual_m / self.limit_m()
    }

    fn limit_m(&self) -> f64 {
        MAX_RESIDUAL_M.max(MAX_RESIDUAL_PX * self.metres_per_px)
    }
}

/// Finds the table in pictures of one camera that stands still. People may hide parts of it, and some pictures may show something
/// else. `table` says which kind of table to look for; the cushion's width in it is only a first guess and is measured.
///
/// The head rail of the result is the one at the left of the picture, or the nearer (lower) one when the table is seen from an end.
///
/// # Errors
/// [`Error::NoTable`] when no picture shows a whole table, [`Error::Misfit`] when something like a table does not fit its sizes,
/// [`Error::OpenCv`] when a picture cannot be worked on.
pub fn find(images: &[&Image], table: &Table) -> Result<Calibration, Error> {
    let no_table = |reason: &str| Error::NoTable {
        reason: reason.to_owned(),
    };
    let stride = images.len().div_ceil(MAX_IMAGES).max(1);
    let images: Vec<&Image> = images.iter().step_by(stride).copied().collect();
    if images.is_empty() {
        return Err(no_table("there are no pictures"));
    }
    let mut regions: Vec<(&Image, Region)> = Vec::new();
    for image in images {
        let small = Small::of(image)?;
        if let Some(colour) = small.central_colour()
            && let Some(region) = small.region(colour)?
        {
            regions.push((image, region));
        }
    }
    let mut failure = no_table("no picture has a large surface of one colour around its middle");
    let mut left: Vec<usize> = (0..regions.len()).collect();
    for _ in 0..MAX_GROUPS {
        let Some(group) = largest_group(&regions, &left) else {
            break;
        };
        left.retain(|i| !group.contains(i));
        let members: Vec<&Region> = group.iter().map(|&i| &regions[i].1).collect();
        let pictures: Vec<&Image> = group.iter().map(|&i| regions[i].0).collect();
        let Some(region) = Region::vote(&members, VOTE_SHARE) else {
            continue;
        };
        match fit_region(&pictures, &region, table)? {
            Some(fit) => match judged(&fit, table, pictures.len()) {
                Ok(found) => return Ok(found),
                Err(e) => failure = e,
            },
            None => failure = no_table("the largest surface of one colour has not the shape of this table"),
        }
    }
    Err(failure)
}

/// The pictures among `left` that look like one of them, the most there are.
fn largest_group(regions: &[(&Image, Region)], left: &[usize]) -> Option<Vec<usize>> {
    left.iter()
        .map(|&seed| {
            left.iter()
                .copied()
                .filter(|&i| regions[seed].1.overlap(&regions[i].1) >= SAME_VIEW_OVERLAP)
                .collect::<Vec<_>>()
        })
        .max_by_key(|group| (group.len(), std::cmp::Reverse(group.first().copied())))
        .filter(|group| !group.is_empty())
}

fn judged(fit: &Fit, table: &Table, n_pictures: usize) -> Result<Calibration, Error> {
    if fit.support() < MIN_SUPPORT || fit.nose_support.iter().any(|s| *s < MIN_RAIL_SUPPORT) {
        return Err(Error::NoTable {
            reason: format!(
                "the surface in the middle has cushion noses on {:.0} % of its sides, {:.0} % are needed",
                100.0 * fit.support(),
                100.0 * MIN_SUPPORT
            ),
        });
    }
    if fit.residual_m > fit.limit_m() {
        return Err(Error::Misfit {
            length_m: table.length_m,
            width_m: table.width_m,
            residual_mm: fit.residual_m * 1e3,
            limit_mm: fit.limit_m() * 1e3,
        });
    }
    Ok(Calibration {
        camera: head_to_the_left_or_near(&fit.solution.camera),
        table: Table {
            cushion_width_m: fit.solution.cushion_width_m,
            ..*table
        },
        residual_mm: fit.residual_m * 1e3,
        residual_max_mm: fit.residual_max_m * 1e3,
        from: format!("found in {n_pictures} picture{}", if n_pictures == 1 { "" } else { "s" }),
    })
}

/// The same camera with the table's frame turned so that the head rail is at the left, or at the bottom when the table stands upright
/// in the picture.
fn head_to_the_left_or_near(camera: &Camera) -> Camera {
    let toward_foot = camera
        .image_jacobian(nalgebra::Point3::origin())
        .map_or(nalgebra::Vector2::x(), |j| j.column(0).into_owned());
    let right = if toward_foot.x.abs() >= toward_foot.y.abs() {
        toward_foot.x >= 0.0
    } else {
        toward_foot.y <= 0.0
    };
    if right {
        return *camera;
    }
    let rotation = camera.rotation().to_rotation_matrix() * Rotation3::from_axis_angle(&Vector3::z_axis(), PI);
    let (k1, k2) = camera.distortion();
    Camera::new(
        camera.width_px(),
        camera.height_px(),
        camera.focal_px(),
        camera.centre_px(),
        k1,
        k2,
        rotation.scaled_axis(),
        camera.translation(),
    )
    .unwrap_or(*camera)
}

/// The best reading of the region's outline.
fn fit_region(images: &[&Image], region: &Region, table: &Table) -> Result<Option<Fit>, Error> {
    let outline = region.outline()?;
    let mut best: Option<Fit> = None;
    let cushion = table.cushion_width_m;
    let levels = [cushion, 0.0].into_iter().chain(FRAME_WIDTHS_M.map(|frame| cushion + frame));
    let quads = quad::quads(&outline);
    tracing::debug!(n = quads.len(), outline = outline.len(), colour = ?region.colour, "figures in the outline");
    for level_m in levels {
        for quad in &quads {
            for turn in 0..2 {
                let Some(camera) = rough_camera(quad, region.scale, turn, images[0], table, level_m) else {
                    continue;
                };
                let Some(fit) = refined(images, camera, table, region.colour) else {
                    continue;
                };
                tracing::debug!(
                    level_m,
                    turn,
                    followed = quad.followed,
                    score = fit.score(),
                    edge = fit.edge_support,
                    residual_mm = fit.residual_m * 1e3,
                    cushion = fit.solution.cushion_width_m,
                    nose = ?fit.nose_support,
                    "reading"
                );
                if best.as_ref().is_none_or(|b| fit.score() > b.score()) {
                    best = Some(fit);
                }
            }
        }
        if best.as_ref().is_some_and(|b| b.score() > GOOD_SCORE) {
            break;
        }
    }
    Ok(best)
}

/// A reading that scores above this is right: noses on five sixths of the rails, cloth edges on half; no other reading is tried.
const GOOD_SCORE: f64 = 1.4;

/// A camera that sees a rectangle `level_m` larger than the noses where the outline's figure is, with distortion from how its sides bend.
fn rough_camera(quad: &Quad, scale: usize, turn: usize, image: &Image, table: &Table, level_m: f64) -> Option<Camera> {
    let full = |p: Point2<f64>| {
        let s = scale as f64;
        ImagePoint::new(p.x * s + (s - 1.0) / 2.0, p.y * s + (s - 1.0) / 2.0)
    };
    let corner = |i: usize| full(quad.corners[(i + turn) % 4]);
    let corners = NoseCorners {
        head_left: corner(0),
        foot_left: corner(1),
        foot_right: corner(2),
        head_right: corner(3),
    };
    let size = (image.width() as u32, image.height() as u32);
    let longer = f64::from(size.0.max(size.1));
    let flat = rectangle_solution(&corners, size, table, level_m).ok()?;
    let misfit_px = (flat.residuals_sigma.iter().map(|r| r * r).sum::<f64>() / 4.0).sqrt();
    if misfit_px > MAX_CORNER_MISFIT * longer {
        return None;
    }
    // To the solver, the rectangle is a table of that size.
    let grown = Table {
        length_m: table.length_m + 2.0 * level_m,
        width_m: table.width_m + 2.0 * level_m,
        ..*table
    };
    let rails = [Rail::Left, Rail::Foot, Rail::Right, Rail::Head];
    let landmarks: Vec<Landmark> = rails
        .iter()
        .enumerate()
        .flat_map(|(i, rail)| {
            let side = &quad.sides[(i + turn) % 4];
            side.iter()
                .step_by(side.len().div_ceil(OUTLINE_POINTS).max(1))
                .map(|p| Landmark {
                    at: full(*p),
                    target: Target::Nose(*rail),
                    sigma_px: OUTLINE_SIGMA * scale as f64,
                })
        })
        .collect();
    let start = Start {
        camera: flat.camera,
        cushion_width_m: table.cushion_width_m,
        solve_distortion: true,
    };
    solve(&landmarks, &grown, &start).ok().map(|s| s.camera)
}

/// Corrects a camera by the edges across the rails, in ever narrower strips.
fn refined(images: &[&Image], camera: Camera, table: &Table, colour: ClothColour) -> Option<Fit> {
    let mut start = Start {
        camera,
        cushion_width_m: table.cushion_width_m,
        solve_distortion: true,
    };
    let mut last = None;
    for (round, window_m) in ROUNDS_M.into_iter().enumerate() {
        let cushion_m = CUSHION_CHECK.map(|share| share * start.cushion_width_m);
        let check = ClothCheck {
            colour,
            bed_m: BED_CHECK_M,
            cushion_m: (round > 0).then_some(cushion_m),
        };
        let views = read_rails(images, &start.camera, table, &check);
        let windows = [window_m, MIN_WINDOW_PX[round]];
        let evidence = Evidence::of(&views, windows, start.cushion_width_m);
        let nose_support = evidence.nose_support();
        tracing::debug!(round, ?nose_support, edge=evidence.edge_support(), mean=?evidence.noses.iter().map(|n|n.as_ref().map(|c|(c.edges.iter().map(|e|e.out_m*1e3).sum::<f64>()/c.edges.len() as f64, c.strength/c.edges.len() as f64))).collect::<Vec<_>>(), edges=?evidence.cloth_edges.iter().map(|n|n.as_ref().map(|c|(c.edges.iter().map(|e|e.out_m*1e3).sum::<f64>()/c.edges.len() as f64, c.edges.len()))).collect::<Vec<_>>(), mpp=?views.iter().map(|v|v.metres_per_px*1e3).collect::<Vec<_>>(), "round");
        // A reading that shows noses on hardly any rail leads nowhere.
        if nose_support.iter().filter(|s| **s < MIN_RAIL_SUPPORT).count() > 1 {
            tracing::debug!(round, ?nose_support, "reading given up");
            return None;
        }
        let landmarks = evidence.landmarks(&start.camera, table);
        let solution = solve(&landmarks, table, &start).ok()?;
        start = Start {
            camera: solution.camera,
            cushion_width_m: solution.cushion_width_m,
            solve_distortion: true,
        };
        let n_nose = evidence.n_nose();
        let nose = Solution {
            residuals_m: solution.residuals_m[..n_nose].to_vec(),
            residuals_sigma: solution.residuals_sigma[..n_nose].to_vec(),
            ..solution.clone()
        };
        let (residual_m, residual_max_m) = nose.misfit_m(OUTLIER_SIGMA);
        last = Some(Fit {
            solution,
            nose_support,
            edge_support: evidence.edge_support(),
            residual_m,
            residual_max_m,
            metres_per_px: views.iter().map(|v| v.metres_per_px).sum::<f64>() / 4.0,
        });
    }
    last
}

/// The courses of the noses and of the cloth's outer edge along the rails.
struct Evidence<'a> {
    views: &'a [RailView],
    noses: Vec<Option<Course>>,
    cloth_edges: Vec<Option<Course>>,
}

impl<'a> Evidence<'a> {
    fn of(views: &'a [RailView], [window_m, window_px]: [f64; 2], cushion_m: f64) -> Self {
        let window_of = |view: &RailView| window_m.max((window_px * view.metres_per_px).min(MAX_WINDOW_M));
        let tolerance_m = |view: &RailView| (COURSE_TOLERANCE_PX * view.metres_per_px).max(COURSE_TOLERANCE_M);
        let noses = views
            .iter()
            .map(|view| {
                let window_m = window_of(view);
                let mut edges = view.edges(-window_m, window_m, MIN_CONTRAST);
                edges.retain(|e| e.contrast > 0.0);
                course(&edges, view.stations.len(), tolerance_m(view))
            })
            .collect();
        // Cloth may be brighter or darker than the wood or the seam, but it is the same on all rails.
        let of_sign = |sign: f64| -> Vec<Option<Course>> {
            views
                .iter()
                .map(|view| {
                    let window_m = window_of(view);
                    let mut edges = view.edges(cushion_m - window_m, cushion_m + window_m, MIN_CONTRAST);
                    edges.retain(|e| e.contrast * sign > 0.0);
                    course(&edges, view.stations.len(), tolerance_m(view))
                })
                .collect()
        };
        let strength = |courses: &[Option<Course>]| courses.iter().flatten().map(|c| c.strength).sum::<f64>();
        let (rising, falling) = (of_sign(1.0), of_sign(-1.0));
        let cloth_edges = if strength(&rising) > strength(&falling) {
            rising
        } else {
            falling
        };
        Self {
            views,
            noses,
            cloth_edges,
        }
    }

    fn nose_support(&self) -> [f64; 4] {
        std::array::from_fn(|i| {
            let seen = self.noses.get(i).and_then(Option::as_ref).map_or(0, |c| c.edges.len());
            let of = self.views.get(i).map_or(1, |v| v.stations.len().max(1));
            seen as f64 / of as f64
        })
    }

    fn n_nose(&self) -> usize {
        self.noses.iter().flatten().map(|c| c.edges.len()).sum()
    }

    fn edge_support(&self) -> f64 {
        let seen: usize = self.cloth_edges.iter().flatten().map(|c| c.edges.len()).sum();
        let of: usize = self.views.iter().map(|v| v.stations.len()).sum();
        seen as f64 / of.max(1) as f64
    }

    /// Noses first, then cloth edges.
    fn landmarks(&self, camera: &Camera, table: &Table) -> Vec<Landmark> {
        let on = |courses: &[Option<Course>], target: fn(Rail) -> Target, sigma_px: f64| -> Vec<Landmark> {
            self.views
                .iter()
                .zip(courses)
                .filter_map(|(view, course)| Some((view.rail, course.as_ref()?)))
                .flat_map(|(rail, course)| course.edges.iter().map(move |e| (rail, *e)))
                .filter_map(|(rail, e)| {
                    Some(Landmark {
                        at: rail_pixel(camera, table, rail, e.along, e.out_m)?,
                        target: target(rail),
                        sigma_px,
                    })
                })
                .collect()
        };
        let mut landmarks = on(&self.noses, Target::Nose, NOSE_SIGMA_PX);
        landmarks.extend(on(&self.cloth_edges, Target::ClothEdge, CLOTH_EDGE_SIGMA_PX));
        landmarks
    }
}
