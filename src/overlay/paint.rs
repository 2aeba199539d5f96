//! Composes the graphics of one picture. Sizes on the table follow the camera, sizes of panels the picture.

use std::collections::BTreeMap;

use nalgebra::{Matrix2, Point3};

use super::layer::{Area, Layer, Ring};
use super::palette::{self, Colour};
use super::scene::{self, Done, Moment, Scene, Step};
use super::type_::{Typeface, Weight};
use super::{Error, Picture};
use crate::ball::Ball;
use crate::events::Shot;
use crate::frame::Frame;
use crate::rules::{BySeat, Decision, Ruling, Seat};
use crate::space::{Camera, ImagePoint, TablePoint};
use crate::table::{Rail, Table};
use crate::units::Timestamp;

// On the table: metres and seconds.

/// Ring around a ball, in ball radii: clear of the ball's own edge.
const RING_RADII: f32 = 1.45;
/// Second ring that marks the cue ball, in ball radii.
const CUE_RING_RADII: f32 = 1.85;
/// Width of lines, metres: a quarter of a ball's radius.
const LINE_M: f64 = 0.008;
/// The bright part of a trail is this old at most, seconds.
const TRAIL_S: f64 = 0.9;
/// Strokes that a trail is built up from, each shorter and wider than the last.
const TRAIL_STROKES: u32 = 7;
/// A flash at a contact lasts this long, seconds.
const FLASH_S: f64 = 0.55;
/// Radius at which a flash dies, metres: two balls.
const FLASH_M: f64 = 0.12;
/// Rail numbers lie this far behind the nose line, metres: on the cushion, where no ball comes.
const BADGE_BEHIND_M: f64 = 0.034;
/// Radius of rail numbers, metres: about that of a ball.
const BADGE_M: f64 = 0.030;

// Panels: shares of a picture 1080 pixels high.

/// Height of the picture that the panel sizes are given for, pixels.
const DESIGN_HEIGHT: f32 = 1080.0;
/// Width of the picture that the panel sizes are given for, pixels.
const DESIGN_WIDTH: f32 = 1920.0;
/// Panels do not shrink below this share: smaller letters cannot be read.
const MIN_SCALE: f32 = 0.5;
/// Distance of panels from the picture's edges.
const MARGIN: f32 = 26.0;
/// Height of panels.
const PANEL: f32 = 76.0;
/// Space inside panels.
const PAD: f32 = 20.0;
/// Size of body text.
const BODY: f32 = 27.0;
/// Size of labels.
const LABEL: f32 = 18.0;
/// Size of scores.
const NUMBER: f32 = 48.0;
/// Size of the rail count: to be read from the far end of a room.
const COUNT: f32 = 78.0;
/// Size of the sentence beside a ruling.
const SENTENCE: f32 = 22.0;
/// Rails that a three-cushion point needs: the counter has a pip for each (C4.1).
const N_PIPS: u32 = 3;
/// Rails and balls told in the strip before the oldest give way.
const STRIP_STEPS: usize = 8;

/// Draws a match on the pictures it was found in.
pub struct Painter {
    camera: Camera,
    table: Table,
    scene: Scene,
    names: BySeat<String>,
    face: Typeface,
    layer: Layer,
    out: Picture,
    /// Panel units to pixels.
    unit: f32,
    /// Top of the panels, pixels.
    panel_top: f32,
}

impl Painter {
    /// A painter for pictures of `camera`'s size.
    ///
    /// # Errors
    /// When that size cannot be drawn on.
    pub fn new(
        camera: &Camera,
        table: &Table,
        shots: Vec<Shot>,
        rulings: BTreeMap<u32, Ruling>,
        names: BySeat<String>,
    ) -> Result<Self, Error> {
        let layer = Layer::new(camera.width_px() as usize, camera.height_px() as usize)?;
        let unit = (layer.height() / DESIGN_HEIGHT)
            .min(layer.width() / DESIGN_WIDTH)
            .max(MIN_SCALE);
        let panel_top = panel_top(camera, table, layer.height(), unit);
        Ok(Self {
            camera: *camera,
            table: *table,
            scene: Scene::new(shots, rulings),
            names,
            face: Typeface::new()?,
            layer,
            out: Picture::default(),
            unit,
            panel_top,
        })
    }

    /// `frame` with graphics; the pictures must have the camera's size.
    ///
    /// # Errors
    /// When a picture has another size.
    pub fn paint(&mut self, frame: &Frame) -> Result<&Picture, Error> {
        let (width, height) = (frame.image.width(), frame.image.height());
        if (width as f32, height as f32) != (self.layer.width(), self.layer.height()) {
            return Err(Error::Size { width, height });
        }
        self.layer.clear();
        let mut brush = Brush {
            camera: &self.camera,
            table: &self.table,
            face: &self.face,
            layer: &mut self.layer,
            unit: self.unit,
        };
        if let Some(moment) = self.scene.moment(frame.at) {
            brush.on_table(&moment, frame.at);
            let left = brush.score(&self.scene, &self.names, frame.at, self.panel_top);
            let right = brush.rails(&moment, frame.at, self.panel_top);
            brush.ruling(&moment, self.panel_top, left, right);
        } else {
            brush.score(&self.scene, &self.names, frame.at, self.panel_top);
        }
        self.layer.lay_over(&frame.image, &mut self.out);
        Ok(&self.out)
    }
}

/// Panels stand on the side of the table, above or below, where the picture has more room.
fn panel_top(camera: &Camera, table: &Table, height: f32, unit: f32) -> f32 {
    let (hx, hy) = (
        table.length_m / 2.0 + table.cushion_width_m,
        table.width_m / 2.0 + table.cushion_width_m,
    );
    let corners = [(-hx, -hy), (-hx, hy), (hx, -hy), (hx, hy)];
    let ys = corners.iter().filter_map(|&(x, y)| {
        camera
            .image_from_world(Point3::new(x, y, table.nose_height_m))
            .map(|p| p.y() as f32)
    });
    let (top, bottom) = ys.fold((height, 0.0_f32), |(top, bottom), y| (top.min(y), bottom.max(y)));
    if top > height - bottom + unit {
        MARGIN * unit
    } else {
        height - (MARGIN + PANEL) * unit
    }
}

/// All that is needed to draw one picture.
struct Brush<'a> {
    camera: &'a Camera,
    table: &'a Table,
    face: &'a Typeface,
    layer: &'a mut Layer,
    unit: f32,
}

impl Brush<'_> {
    /// Pixels to a metre around `at`.
    fn scale(&self, at: TablePoint) -> f32 {
        let scale = self.camera.pixels_per_metre(at, self.table.ball_radius_m);
        scale.map_or(0.0, |m| m.determinant().abs().sqrt() as f32)
    }

    /// Width of a line at `at`, pixels; never too thin to see.
    fn line_width(&self, at: TablePoint) -> f32 {
        (LINE_M as f32 * self.scale(at)).max(2.2 * self.unit)
    }

    fn ball_ring(&self, at: TablePoint) -> Option<Ring> {
        let (centre, a) = self.camera.ball_outline(at, self.table.ball_radius_m)?;
        half_axes(a).map(|half_axes| Ring { centre, half_axes })
    }

    /// A circle of `radius_m` on the plane of the ball centres.
    fn circle(&self, at: TablePoint, radius_m: f64) -> Option<Ring> {
        let centre = self.camera.image_from_table(at, self.table.ball_radius_m)?;
        let m = self.camera.pixels_per_metre(at, self.table.ball_radius_m)? * radius_m;
        let column = |c: usize| (m[(0, c)] as f32, m[(1, c)] as f32);
        Some(Ring {
            centre,
            half_axes: [column(0), column(1)],
        })
    }

    fn on_table(&mut self, moment: &Moment<'_>, at: Timestamp) {
        let cue = moment.shot.cue_ball;
        for ball in moment.shot.paths.keys() {
            self.trail(moment, *ball, cue == Some(*ball), at);
        }
        for step in moment.steps {
            self.mark(step, moment.visible, at);
        }
        for standing in &moment.balls {
            let Some(ring) = self.ball_ring(standing.place) else {
                continue;
            };
            let width = self.line_width(standing.place);
            let colour = palette::ball(standing.ball);
            let ring_of = ring.scaled(RING_RADII);
            self.layer
                .ring(&ring_of, width * 2.0, false, palette::SHADE.faded(0.7 * moment.visible));
            self.layer
                .ring(&ring_of, width, !standing.observed, colour.faded(moment.visible));
            if cue == Some(standing.ball) {
                let outer = ring.scaled(CUE_RING_RADII);
                self.layer
                    .ring(&outer, width * 0.6, false, colour.faded(0.75 * moment.visible));
            }
        }
    }

    /// Where the ball has been in this shot: thin and faint all the way for the cue ball, bright for the last moments.
    fn trail(&mut self, moment: &Moment<'_>, ball: Ball, is_cue: bool, at: Timestamp) {
        let course = scene::course(moment.shot, ball, at);
        let height = self.table.ball_radius_m;
        let image = |p: TablePoint| self.camera.image_from_table(p, height);
        let points: Vec<ImagePoint> = course.iter().filter_map(|&(_, place)| image(place)).collect();
        let Some(&(_, head)) = course.last().filter(|_| points.len() == course.len() && points.len() > 1) else {
            return;
        };
        let colour = palette::ball(ball);
        let width = self.line_width(head);
        let share = if is_cue { 0.6 } else { 0.35 };
        self.layer
            .line(&points, width * 1.6, palette::SHADE.faded(0.5 * share * moment.visible));
        self.layer.line(&points, width * 0.7, colour.faded(share * moment.visible));
        for i in 0..TRAIL_STROKES {
            let age_s = TRAIL_S * f64::from(TRAIL_STROKES - i) / f64::from(TRAIL_STROKES);
            let young = course.partition_point(|(t, _)| at.since(*t) > age_s);
            if points.len() - young > 1 {
                let grown = 0.6 + 1.4 * i as f32 / TRAIL_STROKES as f32;
                self.layer
                    .line(&points[young..], width * grown, colour.faded(0.2 * moment.visible));
            }
        }
    }

    /// A flash when it happens; then a ghost of the cue ball at contacts and a number at rails, until the shot goes.
    fn mark(&mut self, step: &Step, visible: f32, at: Timestamp) {
        let age_s = at.since(step.at);
        let colour = match step.what {
            _ if step.doubtful => palette::decision(Decision::Review),
            Done::Struck => palette::INK,
            Done::Met(ball) => palette::ball(ball),
            Done::Touched { n: None, .. } => palette::QUIET,
            Done::Touched { n: Some(_), .. } => palette::DONE,
        };
        let place = match step.what {
            Done::Touched { rail, .. } => self.behind_nose(step.place, rail, 0.0),
            Done::Struck | Done::Met(_) => step.place,
        };
        let width = self.line_width(place);
        if age_s < FLASH_S {
            let grown = (age_s / FLASH_S) as f32;
            // Fast at first, then easing out.
            let eased = 1.0 - (1.0 - grown).powi(3);
            let radius_m = self.table.ball_radius_m + (FLASH_M - self.table.ball_radius_m) * f64::from(eased);
            if let Some(ring) = self.circle(place, radius_m) {
                self.layer.disc(&ring, colour.faded(0.25 * (1.0 - grown) * visible));
                self.layer
                    .ring(&ring, width * 1.4, false, colour.faded((1.0 - grown) * visible));
            }
        }
        match step.what {
            Done::Struck => {}
            Done::Met(_) => {
                if let Some(ring) = self.ball_ring(step.place) {
                    self.layer.disc(&ring, palette::SHADE.faded(0.35 * visible));
                    self.layer.ring(&ring, width * 0.7, true, colour.faded(0.9 * visible));
                }
            }
            Done::Touched { rail, n } => {
                let badge = self.behind_nose(step.place, rail, BADGE_BEHIND_M);
                if let Some(n) = n {
                    self.badge(badge, &n.to_string(), colour, visible, age_s);
                }
            }
        }
    }

    /// The point where a ball at `place` touches `rail`, moved `behind_m` outward.
    fn behind_nose(&self, place: TablePoint, rail: Rail, behind_m: f64) -> TablePoint {
        let outward = self.table.distance_to_nose_m(place, rail) + behind_m;
        TablePoint(place.0 + rail.outward() * outward)
    }

    fn badge(&mut self, at: TablePoint, text: &str, colour: Colour, visible: f32, age_s: f64) {
        let Some(centre) = self.camera.image_from_table(at, self.table.nose_height_m) else {
            return;
        };
        // Pops up a little larger than it stays.
        let pop = 1.0 + 0.5 * (1.0 - (age_s / FLASH_S).min(1.0) as f32).powi(2);
        let radius = (BADGE_M as f32 * self.scale(at)).max(13.0 * self.unit) * pop;
        let disc = Ring::circle(centre, radius);
        self.layer.disc(&disc.scaled(1.14), palette::SHADE.faded(visible));
        self.layer.disc(&disc, colour.faded(visible));
        let size = radius * 1.6;
        let width = self.face.width(text, Weight::Bold, size);
        let cap = self.face.cap_height(Weight::Bold, size);
        let corner = (centre.x() as f32 + 0.5 - width / 2.0, centre.y() as f32 + 0.5 + cap / 2.0);
        let ink = Colour {
            a: 1.0,
            ..palette::PANEL
        };
        self.layer
            .text(self.face, text, Weight::Bold, size, corner, ink.faded(visible));
    }

    // Panels. Each returns the side that its neighbour may use up to, pixels.

    fn panel(&mut self, left: f32, top: f32, width: f32, visible: f32) -> Area {
        let area = Area {
            left,
            top,
            width,
            height: PANEL * self.unit,
        };
        let u = self.unit;
        self.layer.panel(
            area,
            14.0 * u,
            1.5 * u,
            palette::PANEL.faded(visible),
            palette::EDGE.faded(visible),
        );
        area
    }

    /// Text set on the middle line of a panel; returns its width.
    fn words(&mut self, text: &str, weight: Weight, size: f32, left: f32, area: Area, colour: Colour) -> f32 {
        let size = size * self.unit;
        let baseline = area.top + f32::midpoint(area.height, self.face.cap_height(weight, size));
        self.layer.text(self.face, text, weight, size, (left, baseline), colour);
        self.face.width(text, weight, size)
    }

    fn width(&self, text: &str, weight: Weight, size: f32) -> f32 {
        self.face.width(text, weight, size * self.unit)
    }

    /// Names and points; the player at the table is lit.
    fn score(&mut self, scene: &Scene, names: &BySeat<String>, at: Timestamp, top: f32) -> f32 {
        let u = self.unit;
        let score = scene.score(at);
        let playing = scene.player(at);
        let seats = [Seat::A, Seat::B].map(|seat| {
            let name = names.get(seat);
            let name = if name.is_empty() { seat.to_string() } else { name.clone() };
            let name = self.face.fit(&name, Weight::Medium, BODY * u, 260.0 * u);
            (seat, name, score.get(seat).to_string())
        });
        let chip = 30.0 * u;
        let cell = |this: &Self, name: &str, points: &str| {
            chip + this.width(name, Weight::Medium, BODY) + 16.0 * u + this.width(points, Weight::Bold, NUMBER)
        };
        let between = 30.0 * u;
        let width = 2.0 * PAD * u + between + seats.iter().map(|(_, name, points)| cell(self, name, points)).sum::<f32>();
        let area = self.panel(MARGIN * u, top, width, 1.0);
        let mut x = area.left + PAD * u;
        for (seat, name, points) in seats {
            let lit = playing == Some(seat);
            let middle = ImagePoint::new(f64::from(x + 9.0 * u - 0.5), f64::from(area.top + area.height / 2.0 - 0.5));
            let colour = scene.cue_balls().get(seat).map_or(palette::QUIET, palette::ball);
            let dot = Ring::circle(middle, 9.0 * u);
            match scene.cue_balls().get(seat) {
                Some(_) => self.layer.disc(&dot, colour),
                None => self.layer.ring(&dot, 2.0 * u, false, colour),
            }
            let start = x;
            x += chip;
            let ink = if lit { palette::INK } else { palette::QUIET };
            x += self.words(&name, Weight::Medium, BODY, x, area, ink) + 16.0 * u;
            x += self.words(&points, Weight::Bold, NUMBER, x, area, ink);
            if lit {
                let under = Area {
                    left: start,
                    top: area.top + area.height - 5.0 * u,
                    width: x - start,
                    height: 3.0 * u,
                };
                self.layer.block(under, 1.5 * u, palette::DONE);
            }
            x += between;
        }
        area.left + area.width
    }

    /// What the cue ball has met, and how many rails.
    fn rails(&mut self, moment: &Moment<'_>, at: Timestamp, top: f32) -> f32 {
        let u = self.unit;
        let v = moment.visible;
        let rails = moment.steps.iter().rev().find_map(|s| match s.what {
            Done::Touched { n: Some(n), .. } => Some((n, at.since(s.at))),
            _ => None,
        });
        let (n, age_s) = rails.unwrap_or((0, f64::INFINITY));
        let told: Vec<&Step> = moment.steps.iter().filter(|s| s.what != Done::Struck).collect();
        let told = &told[told.len().saturating_sub(STRIP_STEPS)..];

        let pip = 8.0 * u;
        let pip_gap = 8.0 * u;
        let pips_width = N_PIPS as f32 * pip * 2.0 + (N_PIPS - 1) as f32 * pip_gap;
        let label_width = self.width("RAILS", Weight::Bold, LABEL).max(pips_width);
        let number = n.to_string();
        let number_width = self
            .width(&number, Weight::Bold, COUNT)
            .max(self.width("0", Weight::Bold, COUNT));
        let gap = 18.0 * u;
        let step_gap = 11.0 * u;
        let arrow_width = self.width("›", Weight::Medium, BODY);
        let arrows = told.len().saturating_sub(1) as f32 * (2.0 * step_gap + arrow_width);
        let strip_width = told.iter().map(|s| self.step_width(s)).sum::<f32>() + arrows;
        let strip_width = if told.is_empty() { 0.0 } else { strip_width + 2.0 * gap };
        let width = 2.0 * PAD * u + strip_width + label_width + gap + number_width;
        let left = self.layer.width() - MARGIN * u - width;
        let area = self.panel(left, top, width, v);
        let mut x = area.left + PAD * u;
        for (i, step) in told.iter().enumerate() {
            if i > 0 {
                x += step_gap;
                x += self.words("›", Weight::Medium, BODY, x, area, palette::QUIET.faded(v)) + step_gap;
            }
            x += self.step(step, x, area, v);
        }
        if !told.is_empty() {
            x += gap;
            let divider = Area {
                left: x - u,
                top: area.top + PAD * u,
                width: 2.0 * u,
                height: area.height - 2.0 * PAD * u,
            };
            self.layer.block(divider, u, palette::EDGE.faded(v));
            x += gap;
        }
        let (upper, lower) = (
            Area {
                height: area.height * 0.56,
                top: area.top + area.height * 0.06,
                ..area
            },
            area.top + area.height * 0.72,
        );
        let label_left = x + (label_width - self.width("RAILS", Weight::Bold, LABEL)) / 2.0;
        self.words("RAILS", Weight::Bold, LABEL, label_left, upper, palette::QUIET.faded(v));
        let mut pip_left = x + (label_width - pips_width) / 2.0;
        for i in 0..N_PIPS {
            let centre = ImagePoint::new(f64::from(pip_left + pip - 0.5), f64::from(lower - 0.5));
            if i < n {
                self.layer.disc(&Ring::circle(centre, pip), palette::DONE.faded(v));
            } else {
                self.layer
                    .ring(&Ring::circle(centre, pip - u), 2.0 * u, false, palette::QUIET.faded(0.7 * v));
            }
            // The newest one sends out a wave.
            if i + 1 == n && age_s < FLASH_S {
                let grown = (age_s / FLASH_S) as f32;
                let wave = Ring::circle(centre, pip * (1.0 + 1.2 * grown));
                self.layer.ring(&wave, 2.0 * u, false, palette::DONE.faded((1.0 - grown) * v));
            }
            pip_left += 2.0 * pip + pip_gap;
        }
        let colour = if n >= N_PIPS { palette::DONE } else { palette::INK };
        self.words(&number, Weight::Bold, COUNT, x + label_width + gap, area, colour.faded(v));
        area.left
    }

    fn step_width(&self, step: &Step) -> f32 {
        match step.what {
            Done::Met(_) | Done::Struck => 24.0 * self.unit,
            Done::Touched { rail, .. } => self.width(&named(rail, step), Weight::Medium, BODY),
        }
    }

    /// A ball as a dot in its colour, a rail as its name; returns its width.
    fn step(&mut self, step: &Step, left: f32, area: Area, visible: f32) -> f32 {
        match step.what {
            Done::Met(ball) => {
                let r = 12.0 * self.unit;
                let centre = ImagePoint::new(f64::from(left + r - 0.5), f64::from(area.top + area.height / 2.0 - 0.5));
                self.layer.disc(&Ring::circle(centre, r), palette::ball(ball).faded(visible));
            }
            Done::Touched { rail, .. } => {
                let colour = if step.doubtful {
                    palette::decision(Decision::Review)
                } else {
                    palette::INK
                };
                self.words(&named(rail, step), Weight::Medium, BODY, left, area, colour.faded(visible));
            }
            Done::Struck => {}
        }
        self.step_width(step)
    }

    /// The ruling between the other two panels: what, and in words why and by which clause.
    fn ruling(&mut self, moment: &Moment<'_>, top: f32, from: f32, to: f32) {
        let Some((ruling, age_s)) = moment.ruling else { return };
        let u = self.unit;
        let colour = palette::decision(ruling.decision);
        let arrived = (age_s / 0.25).min(1.0) as f32;
        let v = moment.visible * arrived;
        let heading = heading(ruling);
        let heading_width = self.width(&heading, Weight::Bold, BODY) + 2.0 * PAD * u;
        let room = to - from - 2.0 * 14.0 * u - heading_width - 2.0 * PAD * u;
        if room < -2.0 * PAD * u {
            return;
        }
        let words = self.face.fit(&ruling.text.en, Weight::Medium, SENTENCE * u, room.max(0.0));
        let words_width = self.face.width(&words, Weight::Medium, SENTENCE * u);
        let told_width = if words.is_empty() { 0.0 } else { 2.0 * PAD * u + words_width };
        let area = self.panel(from + 14.0 * u, top, heading_width + told_width, v);
        let block = Area {
            width: heading_width,
            ..area
        };
        self.layer.block(block, 14.0 * u, colour.faded(v));
        let ink = Colour {
            a: 1.0,
            ..palette::PANEL
        };
        self.words(&heading, Weight::Bold, BODY, block.left + PAD * u, block, ink.faded(v));
        self.words(
            &words,
            Weight::Medium,
            SENTENCE,
            block.left + heading_width + PAD * u,
            area,
            palette::INK.faded(v),
        );
    }
}

fn named(rail: Rail, step: &Step) -> String {
    format!("{rail}{}", if step.doubtful { "?" } else { "" })
}

fn heading(ruling: &Ruling) -> String {
    match (ruling.decision, ruling.winner) {
        (Decision::Point, _) if ruling.points == 1 => "POINT".to_owned(),
        (Decision::Point, _) => format!("{} POINTS", ruling.points),
        (Decision::Lag, Some(ball)) => format!("LAG: {}", ball.to_string().to_uppercase()),
        (Decision::Lag, None) => "LAG AGAIN".to_owned(),
        (other, _) => other.name().replace('_', " ").to_uppercase(),
    }
}

/// Half axes of the ellipse `(p - c)' A (p - c) = 1`, pixels.
fn half_axes(a: Matrix2<f64>) -> Option<[(f32, f32); 2]> {
    let eigen = a.symmetric_eigen();
    let axis = |i: usize| {
        let length = eigen.eigenvalues[i].sqrt().recip();
        let v = eigen.eigenvectors.column(i) * length;
        length.is_finite().then_some((v[0] as f32, v[1] as f32))
    };
    Some([axis(0)?, axis(1)?])
}

#[cfg(test)]
mod tests {
    use nalgebra::{Point2, Vector3};

    use super::*;
    use crate::events::{Event, EventKind, Sample, ShotKind};
    use crate::frame::Image;
    use crate::space::TableVelocity;
    use crate::units::{Confidence, FrameNo};

    fn at(secs: f64) -> Timestamp {
        Timestamp::saturating(secs)
    }

    /// A camera 4.2 m above the centre of the table, a metre being 200 pixels there.
    fn overhead() -> Camera {
        let down = Vector3::new(std::f64::consts::PI, 0.0, 0.0);
        Camera::new(
            640,
            360,
            840.0,
            Point2::new(319.5, 179.5),
            0.0,
            0.0,
            down,
            Vector3::new(0.0, 0.0, 4.2),
        )
        .unwrap()
    }

    fn painter() -> Painter {
        let sample = |t, x| Sample {
            at: at(t),
            place: TablePoint::new(x, 0.0),
            velocity: TableVelocity::new(0.5, 0.0),
            sigma_m: 0.001,
            observed: true,
        };
        let event = Event {
            at: at(2.0),
            kind: EventKind::Rail {
                ball: Ball::White,
                rail: Rail::Left,
            },
            place: None,
            t_err_s: 0.001,
            confidence: Confidence::SURE,
        };
        let mut shot = Shot::new(1, ShotKind::Shot, at(1.0), at(3.0), Some(Ball::White), vec![event]);
        shot.paths.insert(Ball::White, vec![sample(1.0, -0.5), sample(3.0, 0.5)]);
        Painter::new(&overhead(), &Table::CAROM, vec![shot], BTreeMap::new(), BySeat::default()).unwrap()
    }

    fn painted(secs: f64) -> Vec<u8> {
        let frame = Frame {
            no: FrameNo(0),
            at: at(secs),
            image: Image::filled(640, 360, [60, 128, 128]).unwrap(),
        };
        painter().paint(&frame).unwrap().plane(0).to_vec()
    }

    #[test]
    fn the_ring_is_around_the_ball_and_leaves_it_free() {
        let y = painted(2.0);
        // At 2 s the ball is at the table's centre, its radius 6.2 pixels; the ring lies at 1.45 radii.
        let row = |x: usize| y[180 * 640 + x];
        assert!(row(319 + 10).max(row(319 + 9)) > 150, "no ring at 9 to 10 pixels");
        let above = y[(180 - 3) * 640 + 322];
        assert_eq!(above, 60, "the ball itself is not drawn over");
    }

    #[test]
    fn the_rail_number_stands_behind_the_rail() {
        let before = painted(1.9);
        let after = painted(2.7);
        // 0.71 + 0.095 m toward the left rail, which is up in the picture: 162 pixels, a little more for its height.
        let bright = |y: &[u8]| {
            (5..30)
                .flat_map(|r| (300..340).map(move |c| (r, c)))
                .filter(|(r, c)| y[r * 640 + c] > 120)
                .count()
        };
        assert_eq!(bright(&before), 0);
        assert!(bright(&after) > 50, "{} bright pixels", bright(&after));
    }

    #[test]
    fn between_shots_only_the_score_is_drawn() {
        let y = painted(9.0);
        let changed: Vec<usize> = y
            .iter()
            .enumerate()
            .filter(|(_, y)| **y != 60)
            .map(|(i, _)| i / 640)
            .collect();
        assert!(
            !changed.is_empty() && changed.iter().all(|row| *row > 300),
            "something outside the bottom strip"
        );
    }

    #[test]
    fn a_picture_of_another_size_is_refused() {
        let frame = Frame {
            no: FrameNo(0),
            at: at(1.0),
            image: Image::filled(320, 180, [60, 128, 128]).unwrap(),
        };
        assert!(matches!(
            painter().paint(&frame),
            Err(Error::Size { width: 320, height: 180 })
        ));
    }
}
