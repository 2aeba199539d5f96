//! Corrects a camera that is roughly right by the edges across the rails, and says what speaks for it.
//!
//! Each rail goes through four stages, each with a narrower strip and a smaller error than the one before, and falls back to the first
//! when its nose is lost: a bar of letters along a rail may have led the rough camera astray there.

use super::super::solve::{Landmark, Solution, Start, Target, solve};
use super::cloth::ClothColour;
use super::edges::{ClothCheck, Course, Look, RailView, course, light_table, rail_pixel, read_rail};
use crate::frame::Image;
use crate::space::Camera;
use crate::table::{RAILS, Rail, Table};

/// What is looked for on a rail, and how well it is known where.
struct Stage {
    /// Half width of the strip in which an edge is looked for, metres.
    window_m: f64,
    /// ... and at least so many pixels, for rails far away.
    window_px: f64,
    /// Standard deviation of a nose edge, pixels: at first an edge may be another one than the nose. In the end a single edge is good to a
    /// tenth, but all edges of a rail share an error of the same size (shade beside the step, blur, sharpening), which does not average
    /// out over the rail's 60 stations: as independent numbers they are worth sqrt(60) * 0.13 = 1 pixel each. With less, that error would
    /// outweigh what is known of lenses and be read as a longer or a shorter one.
    nose_sigma_px: f64,
    /// The same of the cloth's outer edge: in the end a seam whose shade differs from rail to rail.
    cloth_edge_sigma_px: f64,
    /// Distance between stations, metres: a few mean little once the edges are known to a pixel, many average the noise out.
    spacing_m: f64,
}

/// Strips from the error of a rough figure, three small pixels, to what the blur of a picture leaves.
const STAGES: [Stage; 4] = [
    Stage {
        window_m: 0.028,
        window_px: 6.0,
        nose_sigma_px: 2.5,
        cloth_edge_sigma_px: 3.0,
        spacing_m: 0.07,
    },
    Stage {
        window_m: 0.014,
        window_px: 3.0,
        nose_sigma_px: 1.5,
        cloth_edge_sigma_px: 2.0,
        spacing_m: 0.07,
    },
    Stage {
        window_m: 0.009,
        window_px: 2.0,
        nose_sigma_px: 1.0,
        cloth_edge_sigma_px: 2.0,
        spacing_m: 0.045,
    },
    Stage {
        window_m: 0.007,
        window_px: 2.0,
        nose_sigma_px: 1.0,
        cloth_edge_sigma_px: 2.0,
        spacing_m: 0.045,
    },
];
/// A strip is never wider than this to each side, metres, so that the nose is not taken for the cloth's edge.
const MAX_WINDOW_M: f64 = 0.03;
/// Passes over the rails at most: the stages, and one rail that has to be looked for again.
const MAX_PASSES: usize = 8;

/// Where the bed must look like cloth, metres outward from the foot of the nose: beyond the shade of the cushion.
const BED_CHECK_M: [f64; 2] = [-0.075, -0.045];
/// Where the cushion must look like cloth, as shares of its width.
const CUSHION_CHECK: [f64; 2] = [0.25, 0.75];
/// Least step of light at an edge, as a share of the brighter side; noise after the median over pictures is a few hundredths.
const MIN_CONTRAST: f64 = 0.04;
/// Edges of one course lie within this many pixels of it.
const COURSE_TOLERANCE_PX: f64 = 1.2;
/// ... or within this, metres: a cushion is not straighter.
const COURSE_TOLERANCE_M: f64 = 0.001_5;
/// Landmarks further off than this, in standard deviations, do not count in the residual: they are something else (a hand, a logo).
const OUTLIER_SIGMA: f64 = 3.0;
/// A rail whose clear stations show the nose less often than this is lost.
const LOST_AGREEMENT: f64 = 0.5;
/// One lost rail is left to the other three when all of them show their noses at least so often.
const SURE_AGREEMENT: f64 = 0.8;
/// A reading with two rails that show their nose at less than this share of their stations leads nowhere.
const MIN_RAIL_SUPPORT: f64 = 0.2;
/// Largest root mean square misfit of the noses, metres: what is left on a real table, whose cushions are not quite straight.
const MAX_RESIDUAL_M: f64 = 0.003;
/// ... and in pixels, for pictures whose pixels are large.
const MAX_RESIDUAL_PX: f64 = 0.5;

/// A camera with what speaks for it.
pub(super) struct Fit {
    pub(super) solution: Solution,
    /// Share of stations with the nose on each rail, in the order of [`RAILS`].
    pub(super) nose_support: [f64; 4],
    /// The same share of those stations that some picture shows clearly.
    pub(super) agreement: [f64; 4],
    /// Share of stations with the cloth's edge, over all rails.
    edge_support: f64,
    /// Misfit of the noses, metres.
    pub(super) residual_m: f64,
    pub(super) residual_max_m: f64,
    /// Metres that a pixel covers across the rails, the mean of the four.
    metres_per_px: f64,
}

impl Fit {
    /// Share of stations with a nose, the mean of the rails.
    pub(super) fn support(&self) -> f64 {
        self.nose_support.iter().sum::<f64>() / 4.0
    }

    /// Agreement of the rail where it is least.
    pub(super) fn weakest_agreement(&self) -> f64 {
        self.agreement.iter().copied().fold(1.0, f64::min)
    }

    /// What speaks for this reading: noses and cloth edges where they should be, close to their lines. At most 2.
    pub(super) fn score(&self) -> f64 {
        self.support() + 0.5 * self.weakest_agreement() + 0.5 * self.edge_support - 0.3 * self.residual_m / self.limit_m()
    }

    /// Largest misfit that is accepted, metres.
    pub(super) fn limit_m(&self) -> f64 {
        MAX_RESIDUAL_M.max(MAX_RESIDUAL_PX * self.metres_per_px)
    }
}

/// Corrects `camera`. `None` when hardly anything is where this reading expects it.
pub(super) fn refined(images: &[&Image], camera: Camera, table: &Table, colour: ClothColour) -> Option<Fit> {
    let mut start = Start {
        camera,
        cushion_width_m: table.cushion_width_m,
        solve_distortion: true,
    };
    let mut stages = [0_usize; 4];
    let last_stage = STAGES.len() - 1;
    for pass in 1..=MAX_PASSES {
        let views = read_rails(images, &start.camera, table, start.cushion_width_m, colour, &stages);
        let evidence = Evidence::of(&views, &stages, start.cushion_width_m);
        let nose_support = evidence.nose_support();
        let agreement = evidence.agreement();
        tracing::trace!(pass, ?stages, ?nose_support, ?agreement, "pass over the rails");
        if nose_support.iter().filter(|s| **s < MIN_RAIL_SUPPORT).count() > 1 {
            return None;
        }
        let is_lost = agreement.map(|a| a < LOST_AGREEMENT);
        let n_sure = agreement.iter().filter(|a| **a >= SURE_AGREEMENT).count();
        let left_out = if n_sure == 3 { is_lost } else { [false; 4] };
        let (landmarks, n_nose) = evidence.landmarks(&start.camera, table, &stages, left_out);
        let solution = solve(&landmarks, table, &start).ok()?;
        start = Start {
            camera: solution.camera,
            cushion_width_m: solution.cushion_width_m,
            solve_distortion: true,
        };
        if pass == MAX_PASSES || stages == [last_stage; 4] {
            let noses = 0..n_nose;
            let (residual_m, residual_max_m) = solution.misfit_m(noses, OUTLIER_SIGMA);
            return Some(Fit {
                solution,
                nose_support,
                agreement,
                edge_support: evidence.edge_support(),
                residual_m,
                residual_max_m,
                metres_per_px: views.iter().map(|v| v.metres_per_px).sum::<f64>() / 4.0,
            });
        }
        for (stage, lost) in stages.iter_mut().zip(is_lost) {
            *stage = if lost { 0 } else { (*stage + 1).min(last_stage) };
        }
    }
    None
}

/// Reads all four rails, each as its stage asks.
fn read_rails(
    images: &[&Image],
    camera: &Camera,
    table: &Table,
    cushion_width_m: f64,
    colour: ClothColour,
    stages: &[usize; 4],
) -> [RailView; 4] {
    let light = images.first().map_or([0.0; 256], |image| light_table(image));
    RAILS.map(|rail| {
        let stage = stages[rail as usize];
        let look = Look {
            spacing_m: STAGES[stage].spacing_m,
            smooth: stage > 0,
            check: ClothCheck {
                colour,
                bed_m: BED_CHECK_M,
                // A rough camera does not know the cushion from the wood.
                cushion_m: (stage > 0).then_some(CUSHION_CHECK.map(|share| share * cushion_width_m)),
            },
        };
        read_rail(images, camera, table, rail, &light, &look)
    })
}

/// How far the noses in a picture lie from where a camera puts them, root mean square, metres. `None` when three of them are not near.
pub(super) fn shift_m(image: &Image, camera: &Camera, table: &Table, colour: ClothColour) -> Option<f64> {
    let passes = [[1; 4], [0; 4]];
    passes.into_iter().find_map(|stages| {
        let views = read_rails(&[image], camera, table, table.cushion_width_m, colour, &stages);
        let evidence = Evidence::of(&views, &stages, table.cushion_width_m);
        let agreement = evidence.agreement();
        let support = evidence.nose_support();
        let seen = |i: &usize| agreement[*i] >= SURE_AGREEMENT && support[*i] >= MIN_RAIL_SUPPORT;
        let rails: Vec<usize> = (0..4).filter(seen).collect();
        let offs: Vec<f64> = rails
            .iter()
            .filter_map(|i| evidence.noses[*i].as_ref())
            .flat_map(|c| c.edges.iter().map(|e| e.out_m))
            .collect();
        let mean_square = offs.iter().map(|o| o * o).sum::<f64>() / offs.len().max(1) as f64;
        (rails.len() >= 3).then(|| mean_square.sqrt())
    })
}

/// The courses of the noses and of the cloth's outer edge along the rails, in the order of [`RAILS`].
struct Evidence<'a> {
    views: &'a [RailView; 4],
    noses: [Option<Course>; 4],
    cloth_edges: [Option<Course>; 4],
}

impl<'a> Evidence<'a> {
    fn of(views: &'a [RailView; 4], stages: &[usize; 4], cushion_m: f64) -> Self {
        let course_on = |i: usize, middle_m: f64, sign: f64| {
            let (view, stage) = (&views[i], &STAGES[stages[i]]);
            let window_m = stage.window_m.max((stage.window_px * view.metres_per_px).min(MAX_WINDOW_M));
            let tolerance_m = (COURSE_TOLERANCE_PX * view.metres_per_px).max(COURSE_TOLERANCE_M);
            let mut edges = view.edges(middle_m - window_m, middle_m + window_m, MIN_CONTRAST);
            edges.retain(|e| e.contrast * sign > 0.0);
            course(&edges, view.stations.len(), tolerance_m)
        };
        let all = |middle_m: f64, sign: f64| -> [Option<Course>; 4] { std::array::from_fn(|i| course_on(i, middle_m, sign)) };
        // Cloth may be brighter or darker than the wood or the seam, but it is the same on all rails.
        let strength = |courses: &[Option<Course>; 4]| courses.iter().flatten().map(|c| c.strength).sum::<f64>();
        let (rising, falling) = (all(cushion_m, 1.0), all(cushion_m, -1.0));
        let cloth_edges = if strength(&rising) > strength(&falling) {
            rising
        } else {
            falling
        };
        Self {
            views,
            // The top of the cushion is lit, the gap below its nose is dark.
            noses: all(0.0, 1.0),
            cloth_edges,
        }
    }

    fn n_noses(&self, i: usize) -> f64 {
        self.noses[i].as_ref().map_or(0, |c| c.edges.len()) as f64
    }

    fn nose_support(&self) -> [f64; 4] {
        std::array::from_fn(|i| self.n_noses(i) / self.views[i].stations.len().max(1) as f64)
    }

    fn agreement(&self) -> [f64; 4] {
        std::array::from_fn(|i| {
            let n_clear = self.views[i].stations.iter().filter(|s| s.is_clear()).count();
            self.n_noses(i) / n_clear.max(1) as f64
        })
    }

    fn edge_support(&self) -> f64 {
        let seen: usize = self.cloth_edges.iter().flatten().map(|c| c.edges.len()).sum();
        let of: usize = self.views.iter().map(|v| v.stations.len()).sum();
        seen as f64 / of.max(1) as f64
    }

    /// Noses first, then cloth edges, without the rails that are left out; and the number of noses.
    fn landmarks(&self, camera: &Camera, table: &Table, stages: &[usize; 4], left_out: [bool; 4]) -> (Vec<Landmark>, usize) {
        let on = |courses: &[Option<Course>; 4], target: fn(Rail) -> Target, sigma_px: fn(&Stage) -> f64| -> Vec<Landmark> {
            (0..4)
                .filter(|i| !left_out[*i])
                .filter_map(|i| Some((i, courses[i].as_ref()?)))
                .flat_map(|(i, course)| course.edges.iter().map(move |e| (i, e)))
                .filter_map(|(i, e)| {
                    Some(Landmark {
                        at: rail_pixel(camera, table, RAILS[i], e.along, e.out_m)?,
                        target: target(RAILS[i]),
                        sigma_px: sigma_px(&STAGES[stages[i]]),
                    })
                })
                .collect()
        };
        let mut landmarks = on(&self.noses, Target::Nose, |s| s.nose_sigma_px);
        let n_nose = landmarks.len();
        landmarks.extend(on(&self.cloth_edges, Target::ClothEdge, |s| s.cloth_edge_sigma_px));
        (landmarks, n_nose)
    }
}
