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
mod pockets;
mod quad;
mod refine;

use std::f64::consts::PI;

use nalgebra::{Point2, Rotation3, Vector3};

use self::cloth::{Likeness, Region, Small};
use self::pockets::has_pockets;
use self::quad::Quad;
use self::refine::{Fit, refined, shift_m};
use super::corners::{NoseCorners, rectangle_solution};
use super::solve::{Landmark, Start, Target, has_usual_lens, rotation_vector, solve};
use super::{Calibration, Error};
use crate::frame::Image;
use crate::space::{Camera, ImagePoint};
use crate::table::{Rail, Table};

/// Pictures that are looked at, at most: each costs time, and more than these add nothing.
const MAX_IMAGES: usize = 12;
/// Regions that overlap at least this much show the same table from the same camera; a player at the table takes a fifth of it.
const SAME_VIEW_OVERLAP: f64 = 0.65;
/// Cloth is where this share of the pictures has it.
const VOTE_SHARE: f64 = 0.2;
/// Groups of like pictures that are tried, largest first.
const MAX_GROUPS: usize = 3;

/// Width of the wooden frame from the cloth's edge outward, metres: 100 to 150 mm on makers' drawings.
const FRAME_WIDTHS_M: [f64; 3] = [0.125, 0.10, 0.15];
/// Largest misfit of a first reading's corners, as a share of the picture's longer side.
const MAX_CORNER_MISFIT: f64 = 0.03;

/// Standard deviation of a point of the rough outline, in small pixels.
const OUTLINE_SIGMA: f64 = 1.0;
/// Points of the rough outline that are used on each side.
const OUTLINE_POINTS: usize = 30;
/// Least share of a rail's stations at which its nose must be seen.
const MIN_RAIL_SUPPORT: f64 = 0.2;
/// Least share over all four rails.
const MIN_SUPPORT: f64 = 0.5;
/// Least share of a rail's stations that some picture shows clearly at which its nose is seen: where nothing covers a rail, it has a nose.
const MIN_AGREEMENT: f64 = 0.65;
/// The same of one rail when the other three show theirs at least at [`PLAIN_AGREEMENT`]: a head over the near rail moves with the picture's
/// rim and looks like neither cloth nor wood, while three rails already tell where the fourth is.
const MIN_AGREEMENT_OF_FOURTH: f64 = 0.5;
/// Share at which a rail shows its nose plainly.
const PLAIN_AGREEMENT: f64 = 0.9;
/// Finds the table in pictures of one camera that stands still. People may hide parts of it, and some pictures may show something
/// else. `table` says which kind of table to look for; the cushion's width in it is only a first guess and is measured.
///
/// The head rail of the result is the one at the left of the picture, or the nearer (lower) one when the table is seen from an end.
///
/// # Errors
/// [`Error::NoTable`] when no picture shows a whole table, [`Error::Misfit`] when something like a table does not fit its sizes,
/// [`Error::OpenCv`] when a picture cannot be worked on.
pub fn find(images: &[&Image], table: &Table) -> Result<Calibration, Error> {
    let stride = images.len().div_ceil(MAX_IMAGES).max(1);
    let images: Vec<&Image> = images.iter().step_by(stride).copied().collect();
    if images.is_empty() {
        return Err(no_table("there are no pictures"));
    }
    let mut smalls = Vec::with_capacity(images.len());
    for image in images {
        smalls.push((image, Small::of(image)?));
    }
    match find_like(&smalls, table, Likeness::Wide) {
        // What was wrong with the wide reading is said, unless the narrow one finds a table.
        Err(wide @ (Error::NoTable { .. } | Error::Misfit { .. })) => {
            find_like(&smalls, table, Likeness::Narrow).map_err(|narrow| match narrow {
                Error::NoTable { .. } | Error::Misfit { .. } => wide,
                other => other,
            })
        }
        found => found,
    }
}

/// [`find`] with one idea of what is like the cloth.
fn find_like(smalls: &[(&Image, Small)], table: &Table, likeness: Likeness) -> Result<Calibration, Error> {
    let mut regions: Vec<(&Image, Region)> = Vec::new();
    for (image, small) in smalls {
        for colour in small.central_colours(likeness) {
            if let Some(region) = small.region(colour)? {
                regions.push((image, region));
                break;
            }
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
                Ok(found) => {
                    if let Some(found) = has_pockets(&pictures, &found.camera, table, &region.colour)
                        && found != table.has_pockets
                    {
                        return Err(Error::WrongTable {
                            found: if found { "six" } else { "no" },
                            expected: if table.has_pockets { "six" } else { "none" },
                        });
                    }
                    return Ok(found);
                }
                Err(e) => failure = e,
            },
            None => failure = no_table("the largest surface of one colour has not the shape of this table"),
        }
    }
    Err(failure)
}

/// What a picture shows, in the light of a calibration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum View {
    /// The calibrated table from the calibrated camera.
    Known {
        /// Root mean square distance of the noses from where the calibration puts them, millimetres on the table: some tenths for a
        /// camera that stands still, millimetres and more for one that was knocked.
        off_mm: f64,
    },
    /// Something else: another camera, a card, a table too much covered, a camera that was moved far.
    Other,
}

/// Says whether a picture shows the calibrated table from the calibrated camera, and how far the camera has moved: for cuts in a
/// broadcast and for knocked cameras. Takes some milliseconds.
///
/// # Errors
/// [`Error::OpenCv`] when the picture cannot be worked on.
pub fn view_of(image: &Image, calibration: &Calibration) -> Result<View, Error> {
    let camera = &calibration.camera;
    if (camera.width_px() as usize, camera.height_px() as usize) != (image.width(), image.height()) {
        return Ok(View::Other);
    }
    let small = Small::of(image)?;
    let off_m = [Likeness::Wide, Likeness::Narrow]
        .into_iter()
        .flat_map(|likeness| small.central_colours(likeness))
        .find_map(|colour| shift_m(image, camera, &calibration.table, colour));
    Ok(off_m.map_or(View::Other, |off_m| View::Known { off_mm: off_m * 1e3 }))
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

fn no_table(reason: &str) -> Error {
    Error::NoTable {
        reason: reason.to_owned(),
    }
}

fn judged(fit: &Fit, table: &Table, n_pictures: usize) -> Result<Calibration, Error> {
    let least = fit.nose_support.iter().copied().fold(1.0, f64::min);
    for (what, share, needed) in [
        ("its sides together", fit.support(), MIN_SUPPORT),
        ("one of its sides", least, MIN_RAIL_SUPPORT),
    ] {
        if share < needed {
            return Err(Error::NoTable {
                reason: format!(
                    "the surface in the middle shows cushion noses on {:.0} % of {what}, {:.0} % are needed",
                    100.0 * share,
                    100.0 * needed
                ),
            });
        }
    }
    let mut agreement = fit.agreement;
    agreement.sort_by(f64::total_cmp);
    let [worst, others @ ..] = agreement;
    let needed = if others[0] >= PLAIN_AGREEMENT {
        MIN_AGREEMENT_OF_FOURTH
    } else {
        MIN_AGREEMENT
    };
    if worst < needed {
        return Err(Error::NoTable {
            reason: format!(
                "the surface in the middle lacks a cushion nose along a side ({:.0} % of it has one, {:.0} % are needed)",
                100.0 * worst,
                100.0 * needed
            ),
        });
    }
    if !has_usual_lens(&fit.solution.camera) {
        return Err(no_table(
            "the surface in the middle would have the shape of this table only through a lens that no camera has",
        ));
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
        rotation_vector(&rotation),
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
                    residual_mm = fit.residual_m * 1e3,
                    cushion = fit.solution.cushion_width_m,
                    nose = ?fit.nose_support,
                    agreement = ?fit.agreement,
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
