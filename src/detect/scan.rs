//! The coarse look at every cell: which ball colours cover it, and where a ball's worth of one colour lies together.

use nalgebra::{Matrix2, SymmetricEigen, Vector2};

use super::cloth::Cloth;
use super::colour::{self, CLOTH, Class, Colour, Mixture, Palette};
use super::grid::{Cells, Grid};
use super::outline::Outline;
use super::view::View;

/// Deviations of noise that a cell must differ from the empty table before its colour is looked up.
const NOTICED_DEVIATIONS: f32 = 4.0;
/// Least difference in luma and in chroma (sum of both) that is looked up, levels: below it nothing is a tenth of a ball.
const NOTICED: [f32; 2] = [14.0, 8.0];
/// Least share of a ball's area, of one colour, that may be a ball partly covered.
const LEAST_AREA: f64 = 0.25;
/// Share of a ball's area that a patch of all colours must have to be a ball with its spots.
const WHOLE_AREA: f64 = 0.4;
/// Share of such a patch that is of the ball's main colour: spots and lamps cover less than half of a ball.
const LEAST_OWN: f64 = 0.4;
/// Share of a ball's area above which something of the ball's colour must be touching it.
const MOST_AREA: f64 = 1.35;
/// The same for a streak, whose faint cells are each counted a little high.
const MOST_STREAK_AREA: f64 = 2.2;
/// Width of a streak against the ball's, second moments: less is a shaft, more is not a ball in motion.
const LEAST_WIDTH: f64 = 0.45;
const MOST_WIDTH: f64 = 1.7;
/// Sweep in ball radii below which a blob counts as round: spots and reflections make that much.
const LEAST_SWEEP: f64 = 0.5;
/// Most balls' worth of sweep believed: 12 m/s (above any measured stroke) with the shutter open for 1/25 s is 480 mm.
const MOST_SWEEP: f64 = 16.0;
/// A ball inside a larger patch: least excess of own colour within the disc over own colour around it, disc areas.
const LEAST_CONTRAST: f64 = 0.45;
/// Share of a ball's disc that the thick end of a shaft can fill: 14 mm (common tips are 11 to 14 mm, the first 0.3 m of a
/// carom shaft is below 15 mm) across the middle of 61.5 mm is 0.3; more is something else.
const SHAFT_FILL: f64 = 0.42;
/// The ring around a ball that must be something else, in ball radii.
const RING: std::ops::Range<f64> = 1.2..1.65;
/// Cells that differ from cloth over the cells that the swept ball covers: the dark limb of a ball like the cloth is lost,
/// and so are the faint ends of its streak.
const SILHOUETTE_AREA: std::ops::Range<f64> = 0.35..1.4;
/// Distance of a ball's colour from the cloth's, deviations of a ball's colour, below which its spots hide it: a red ball on
/// burgundy cloth has 3.4 to 5, on other cloths more than 8.
const ALIKE: f64 = 8.0;
/// Patches larger than this many balls are people.
const MOST_PATCH: f64 = 60.0;
/// Two candidates of a kind nearer than this many cells lead to the same ball: a fifth to a third of its diameter.
const SAME_CELLS: f64 = 1.5;
/// Candidates kept per kind, the most ball-like first.
const MOST_CANDIDATES: usize = 4;

/// Something that may be a ball.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    /// Place in the palette.
    pub kind: u8,
    /// Centre, pixels.
    pub centre: Vector2<f64>,
    /// Way during the exposure, pixels; zero when no streak is seen. The sign is unknown.
    pub sweep: Vector2<f64>,
    /// Area of the colour over a ball's area.
    pub area: f64,
    /// Told by the silhouette and the light in all of it, not by the colour of each cell.
    pub silhouette: bool,
}

/// A connected patch of cells.
struct Patch {
    cells: Vec<usize>,
    /// Sum of shares, cells.
    mass: f64,
    /// Mean, pixels, and covariance, square pixels, weighted by shares.
    mean: Vector2<f64>,
    moments: Matrix2<f64>,
}

/// What each cell of the current frame shows.
pub(super) struct Scan {
    mixtures: Vec<Mixture>,
    /// Cells that are not cloth.
    noticed: Vec<usize>,
    visited: Vec<u32>,
    round: u32,
}

impl Scan {
    pub fn new(grid: &Grid) -> Self {
        Self {
            mixtures: vec![CLOTH; grid.len()],
            noticed: Vec::new(),
            visited: vec![0; grid.len()],
            round: 0,
        }
    }

    /// What a cell shows; cloth outside the spans.
    pub fn mixture(&self, cell: usize) -> Mixture {
        self.mixtures.get(cell).copied().unwrap_or(CLOTH)
    }

    /// Names every cell's mixture.
    pub fn classify(&mut self, grid: &Grid, cells: &Cells, cloth: &Cloth, palette: &Palette) {
        self.notice(grid, cells, cloth);
        let mixtures = &mut self.mixtures;
        self.noticed.retain(|&i| {
            let sample = [cells.y[i], cells.u[i], cells.v[i]];
            if colour::is_foreground(cloth.at(i), Colour::from_bytes(sample)) {
                mixtures[i] = palette.mixture(sample);
            }
            mixtures[i] != CLOTH
        });
    }

    /// Lists the cells that differ from the empty table; a quick test that lets shadows through.
    fn notice(&mut self, grid: &Grid, cells: &Cells, cloth: &Cloth) {
        for &i in &self.noticed {
            self.mixtures[i] = CLOTH;
        }
        self.noticed.clear();
        let limit = [0, 1].map(|k| (cloth.noise[k] * NOTICED_DEVIATIONS).max(NOTICED[k]).min(255.0) as u8);
        for (row, span) in grid.spans.iter().enumerate() {
            let at = row * grid.width + span.start..row * grid.width + span.end;
            let luma = cells.y[at.clone()].iter().zip(&cloth.cells.y[at.clone()]);
            let blue = cells.u[at.clone()].iter().zip(&cloth.cells.u[at.clone()]);
            let red = cells.v[at.clone()].iter().zip(&cloth.cells.v[at.clone()]);
            for (k, ((l, b), r)) in luma.zip(blue).zip(red).enumerate() {
                let chroma = b.0.abs_diff(*b.1).saturating_add(r.0.abs_diff(*r.1));
                if l.0.abs_diff(*l.1) > limit[0] || chroma > limit[1] {
                    self.noticed.push(at.start + k);
                }
            }
        }
    }

    /// Colours of ball-sized, round blobs with cloth around them, before any ball's colour is known.
    pub fn blobs(&mut self, grid: &Grid, cells: &Cells, cloth: &Cloth, view: &View) -> Vec<Colour> {
        /// Area and second moments of a blob over a ball's.
        const BALL_LIKE: std::ops::Range<f64> = 0.6..1.5;
        /// Part of the radius whose colour is taken: clear of the blurred edge.
        const CORE: f64 = 0.65;
        self.notice(grid, cells, cloth);
        let colour = |i: usize| cells.at(i);
        let mixtures = &mut self.mixtures;
        self.noticed.retain(|&i| {
            let stands_out = colour::is_foreground(cloth.at(i), colour(i));
            if stands_out {
                mixtures[i] = Mixture {
                    class: Class::Other,
                    share: 255,
                };
            }
            stands_out
        });
        let mut found = Vec::new();
        for patch in self.patches(grid, |m| m.class != Class::Cloth) {
            let Some(outline) = view.outline(patch.mean) else { continue };
            let area = patch.mass * grid.pitch_px().powi(2) / outline.area_px2();
            let size = SymmetricEigen::new(patch.moments).eigenvalues / (outline.mean_radius_px().powi(2) / 4.0);
            if !BALL_LIKE.contains(&area) || !BALL_LIKE.contains(&size[0]) || !BALL_LIKE.contains(&size[1]) {
                continue;
            }
            let core: Vec<Colour> = patch
                .cells
                .iter()
                .copied()
                .filter(|&i| outline.relative_distance(centre_of(grid, i)) < CORE)
                .map(colour)
                .collect();
            found.extend(colour::median_colour(&core));
        }
        found
    }

    /// Places that may be balls.
    pub fn candidates(&mut self, grid: &Grid, cells: &Cells, cloth: &Cloth, palette: &Palette, view: &View) -> Vec<Candidate> {
        let mut whole = self.whole_balls(grid, palette, view);
        whole.append(&mut self.silhouettes(grid, cells, cloth, palette, view));
        let mut found = Vec::new();
        for kind in 0..palette.kinds.len() as u8 {
            let mut of_kind = Vec::new();
            for patch in self.patches(grid, |m| m.class == Class::Kind(kind)) {
                let Some(outline) = view.outline(patch.mean) else { continue };
                let area = patch.mass * grid.pitch_px().powi(2) / outline.area_px2();
                if !(LEAST_AREA..MOST_PATCH).contains(&area) {
                    continue;
                }
                let sweep = streak(&patch, &outline);
                if let Some(sweep) = sweep.filter(|s| area < if *s == Vector2::zeros() { MOST_AREA } else { MOST_STREAK_AREA }) {
                    of_kind.push(Candidate {
                        kind,
                        centre: patch.mean,
                        sweep,
                        area,
                        silhouette: false,
                    });
                }
                if sweep.is_none() || area >= MOST_AREA {
                    self.discs_within(grid, &patch, &outline, kind, &mut of_kind);
                }
            }
            of_kind.extend(whole.iter().filter(|c| c.kind == kind));
            of_kind.sort_by(|a, b| (a.area - 1.0).abs().total_cmp(&(b.area - 1.0).abs()));
            let mut kept: Vec<Candidate> = Vec::new();
            for c in of_kind {
                let same = |k: &Candidate| {
                    k.silhouette == c.silhouette
                        && (k.centre - c.centre).norm() < SAME_CELLS * grid.pitch_px()
                        && (k.sweep - c.sweep).norm() < grid.pitch_px()
                };
                if kept.len() < MOST_CANDIDATES && !kept.iter().any(same) {
                    kept.push(c);
                }
            }
            found.append(&mut kept);
        }
        found
    }

    /// Patches of anything but cloth that have the size of a ball: its spots and reflections belong to it, whatever colour.
    fn whole_balls(&mut self, grid: &Grid, palette: &Palette, view: &View) -> Vec<Candidate> {
        let mut found = Vec::new();
        for patch in self.patches(grid, |m| m.class != Class::Cloth) {
            let mut shares = vec![0.0; palette.kinds.len()];
            for &i in &patch.cells {
                if let Class::Kind(k) = self.mixtures[i].class {
                    shares[usize::from(k)] += f64::from(self.mixtures[i].share) / 255.0;
                }
            }
            let Some(kind) = (0..shares.len()).max_by(|&a, &b| shares[a].total_cmp(&shares[b])) else {
                continue;
            };
            let Some(outline) = view.outline(patch.mean) else { continue };
            let area = patch.mass * grid.pitch_px().powi(2) / outline.area_px2();
            if !(WHOLE_AREA..MOST_AREA).contains(&area) || shares[kind] < LEAST_OWN * patch.mass {
                continue;
            }
            if let Some(sweep) = streak(&patch, &outline) {
                found.push(Candidate {
                    kind: kind as u8,
                    centre: patch.mean,
                    sweep,
                    area,
                    silhouette: false,
                });
            }
        }
        found
    }

    /// Patches of anything but cloth with the outline of a ball, at rest or swept, whose light as a whole is that of a ball
    /// hardly different from the cloth. Cell by cell such a ball cannot be told: its spots, smeared, look like a little of
    /// another ball over cloth. But light is not lost in a smear: another ball's would add up to far more.
    fn silhouettes(&mut self, grid: &Grid, cells: &Cells, cloth: &Cloth, palette: &Palette, view: &View) -> Vec<Candidate> {
        let alike: Vec<u8> = (0..palette.kinds.len() as u8)
            .filter(|&k| palette.distance_to_cloth(k) < ALIKE)
            .collect();
        if alike.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for mut patch in self.patches(grid, |m| m.class != Class::Cloth) {
            let Some(at) = view.outline(patch.mean) else { continue };
            let ball_cells = at.area_px2() / grid.pitch_px().powi(2);
            if !(LEAST_AREA..MOST_PATCH).contains(&(patch.cells.len() as f64 / ball_cells)) {
                continue;
            }
            patch = self.measure(grid, patch.cells, |_| 1.0);
            let Some(outline) = view.outline(patch.mean) else { continue };
            let Some(sweep) = streak(&patch, &outline) else { continue };
            let swept = swept_area(&outline, sweep);
            if !SILHOUETTE_AREA.contains(&(patch.mass / ball_cells / swept)) {
                continue;
            }
            let excess = excess(&patch.cells, cells, cloth).scaled((1.0 / ball_cells) as f32);
            for &kind in &alike {
                let makeup = palette.makeup(kind, excess);
                if makeup.is_ball() {
                    found.push(Candidate {
                        kind,
                        centre: patch.mean,
                        sweep,
                        area: makeup.own + makeup.spots,
                        silhouette: true,
                    });
                }
            }
        }
        found
    }

    /// Connected patches (eight neighbours) of what belongs.
    fn patches(&mut self, grid: &Grid, belongs: impl Fn(Mixture) -> bool) -> Vec<Patch> {
        self.round = self.round.wrapping_add(1);
        let mut patches = Vec::new();
        for &seed in &self.noticed {
            if !belongs(self.mixtures[seed]) || self.visited[seed] == self.round {
                continue;
            }
            self.visited[seed] = self.round;
            let mut cells = vec![seed];
            let mut next = 0;
            while let Some(&i) = cells.get(next) {
                next += 1;
                let (row, column) = (i / grid.width, i % grid.width);
                for r in row.saturating_sub(1)..=(row + 1).min(grid.height - 1) {
                    for c in column.saturating_sub(1)..=(column + 1).min(grid.width - 1) {
                        let j = r * grid.width + c;
                        if belongs(self.mixtures[j]) && self.visited[j] != self.round {
                            self.visited[j] = self.round;
                            cells.push(j);
                        }
                    }
                }
            }
            // One cell alone is noise whatever the resolution.
            if cells.len() > 1 {
                patches.push(self.measure(grid, cells, |m| f64::from(m.share) / 255.0));
            }
        }
        patches
    }

    fn measure(&self, grid: &Grid, cells: Vec<usize>, weight: impl Fn(Mixture) -> f64) -> Patch {
        let (mut mass, mut sum, mut squares) = (0.0, Vector2::zeros(), Matrix2::zeros());
        let origin = centre_of(grid, cells[0]);
        for &i in &cells {
            let w = weight(self.mixtures[i]);
            let p = centre_of(grid, i) - origin;
            mass += w;
            sum += w * p;
            squares += w * p * p.transpose();
        }
        let mean = sum / f64::max(mass, f64::MIN_POSITIVE);
        let moments = squares / f64::max(mass, f64::MIN_POSITIVE) - mean * mean.transpose();
        Patch {
            cells,
            mass,
            mean: mean + origin,
            moments,
        }
    }

    /// Looks for discs of the colour that stand out from their surroundings inside a patch that is too large for a ball.
    fn discs_within(&self, grid: &Grid, patch: &Patch, outline: &Outline, kind: u8, found: &mut Vec<Candidate>) {
        let pitch = grid.pitch_px();
        let reach = (outline.mean_radius_px() * RING.end / pitch).ceil() as isize;
        let mut offsets = Vec::new();
        let (mut n_disc, mut n_ring) = (0.0, 0.0);
        for dr in -reach..=reach {
            for dc in -reach..=reach {
                let p = Vector2::new(dc as f64, dr as f64) * pitch;
                let d = outline.relative_distance(outline.centre + p);
                if d < 1.0 {
                    n_disc += 1.0;
                    offsets.push((dr, dc, true));
                } else if RING.contains(&d) {
                    n_ring += 1.0;
                    offsets.push((dr, dc, false));
                }
            }
        }
        let share = |row: isize, column: isize| {
            let inside = (0..grid.height as isize).contains(&row) && (0..grid.width as isize).contains(&column);
            let m = if inside {
                self.mixture(row as usize * grid.width + column as usize)
            } else {
                CLOTH
            };
            if m.class == Class::Kind(kind) {
                f64::from(m.share) / 255.0
            } else {
                0.0
            }
        };
        let mut scored: Vec<(f64, f64, usize)> = Vec::new();
        let mut thick = Vec::new();
        for &i in &patch.cells {
            let (row, column) = ((i / grid.width) as isize, (i % grid.width) as isize);
            if share(row, column) < 0.5 {
                continue;
            }
            let (mut disc, mut ring) = (0.0, 0.0);
            for &(dr, dc, in_disc) in &offsets {
                *(if in_disc { &mut disc } else { &mut ring }) += share(row + dr, column + dc);
            }
            let (disc, ring) = (disc / n_disc, ring / n_ring);
            if disc > SHAFT_FILL {
                thick.push(i);
            }
            if disc - ring > LEAST_CONTRAST {
                scored.push((disc - ring, disc, i));
            }
        }
        // A streak with a shaft behind it: what is too thick for a shaft is the streak's core.
        if !thick.is_empty() && thick.len() < patch.cells.len() {
            let core = self.measure(grid, thick, |m| f64::from(m.share) / 255.0);
            let sweep = streak(&core, outline).unwrap_or_default();
            if sweep != Vector2::zeros() {
                found.push(Candidate {
                    kind,
                    centre: core.mean,
                    sweep,
                    area: core.mass / n_disc,
                    silhouette: false,
                });
            }
        }
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        let mut taken: Vec<Vector2<f64>> = Vec::new();
        for (_, disc, i) in scored {
            let centre = centre_of(grid, i);
            let alone = taken.iter().all(|&t| outline.moved_to(t).relative_distance(centre) > 1.5);
            if alone && taken.len() < MOST_CANDIDATES {
                taken.push(centre);
                found.push(Candidate {
                    kind,
                    centre,
                    sweep: Vector2::zeros(),
                    area: disc,
                    silhouette: false,
                });
            }
        }
    }
}

/// Light of the cells beyond that of the cloth there, cells times levels.
pub(super) fn excess(patch: &[usize], cells: &Cells, cloth: &Cloth) -> Colour {
    patch.iter().fold(Colour([0.0; 3]), |sum, &i| {
        let d = cells.at(i).minus(cloth.at(i));
        Colour([0, 1, 2].map(|k| sum.0[k] + d.0[k]))
    })
}

/// Area that a ball sweeps over its area at rest: the ends are half discs, the middle is as wide as the ball.
pub(super) fn swept_area(outline: &Outline, sweep: Vector2<f64>) -> f64 {
    1.0 + std::f64::consts::FRAC_2_PI * sweep.norm() / outline.mean_radius_px()
}

/// Centre of a cell given by index, pixels.
pub(super) fn centre_of(grid: &Grid, cell: usize) -> Vector2<f64> {
    grid.centre(cell % grid.width, cell / grid.width).0.coords
}

/// The way a ball must have gone to leave this patch; `None` when no swept ball looks like it.
///
/// The second moments of a disc swept along `s` are those of the disc plus `s s' / 12`.
fn streak(patch: &Patch, outline: &Outline) -> Option<Vector2<f64>> {
    let at_rest = outline.moments_px2();
    let r2 = outline.mean_radius_px().powi(2);
    let extra = SymmetricEigen::new(patch.moments - at_rest);
    let long = usize::from(extra.eigenvalues[1] > extra.eigenvalues[0]);
    let width = 1.0 + extra.eigenvalues[1 - long] / (r2 / 4.0);
    if !(LEAST_WIDTH..MOST_WIDTH).contains(&width) {
        return None;
    }
    let length = (12.0 * extra.eigenvalues[long].max(0.0)).sqrt() / r2.sqrt();
    if length > MOST_SWEEP {
        return None;
    }
    let direction: Vector2<f64> = extra.eigenvectors.column(long).into();
    Some(if length < LEAST_SWEEP {
        Vector2::zeros()
    } else {
        direction * (length * r2.sqrt())
    })
}
