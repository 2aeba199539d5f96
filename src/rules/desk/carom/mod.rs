//! The desk at a carom table: warm-up, serve, strokes, frozen and jumped balls, fouls, wrong balls, conduct (C1, C3 to C7).
//!
//! A stroke is open from the tip's contact until nothing moves or spins. Whether it scores is judged by `rules::carom::scoring`; this
//! module says who plays, what people's words do to it, and where balls go.

mod strokes;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::facts::{Direction, Fact, Heard, Named, Places, What};
use super::respot::Layout;
use super::sheet::{Restore, Sheet, Spots};
use crate::ball::{Ball, CAROM_BALLS};
use crate::events::{Event, EventKind};
use crate::rules::ruling::Decision;
use crate::rules::seat::{BySeat, Seat};
use crate::rules::setup::{Authority, Profile};
use crate::space::TablePoint;
use crate::table::{Rail, Table};
use crate::units::{Confidence, Timestamp};

/// Warning before the end of the warm-up, seconds (C1.7).
const WARMUP_WARNING_S: f64 = 60.0;
/// Latest arrival before the match that keeps the right to warm up, seconds (C1.3).
const LATEST_ARRIVAL_S: f64 = 15.0 * 60.0;
/// A gap at or under which playing toward the ball or rail is hinted at as a possible double touch, metres (C6.3.c): about the
/// depth to which a tip follows a struck ball.
const NEAR_GAP_M: f64 = 0.005;
/// Strokes that make a habit of slow play (C7.3.c): never a single one.
const HABIT_STROKES: usize = 3;

/// How a carom desk starts, as written in a case.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Start {
    pub cue_balls: BTreeMap<Named<Seat>, Named<Ball>>,
    pub shooter: Named<Seat>,
    pub server: Option<Named<Seat>>,
    pub score: BTreeMap<Named<Seat>, i64>,
    pub target: Option<i64>,
    #[serde(default)]
    pub serve: bool,
    pub phase: String,
    pub authority: Option<String>,
    pub warmup_s: Option<f64>,
    pub match_start_t: Option<f64>,
    #[serde(default)]
    pub balls: Places,
    #[serde(default)]
    pub balls_at_rest: Places,
    pub counterfactual_rest: Option<Places>,
    #[serde(default)]
    pub frozen: Vec<Vec<Named<Ball>>>,
    #[serde(default)]
    pub frozen_to_rail: BTreeMap<Named<Ball>, Named<Rail>>,
    pub frozen_at_rest: Option<Vec<Vec<Named<Ball>>>>,
    pub side_spot_offset: Option<f64>,
    #[serde(default)]
    pub shot_times_s: BTreeMap<Named<Seat>, Vec<f64>>,
}

/// A stroke that was started; the last one may still be open.
#[derive(Debug, Clone)]
struct Played {
    by: Seat,
    ball: Ball,
    /// Points that it gave, until taken back.
    points: i64,
}

/// How the cue ball was struck.
#[derive(Debug, Clone, Copy)]
struct How {
    dir: Option<Direction>,
    preliminary: bool,
    masse: bool,
}

/// A touch of a rail as seen.
#[derive(Debug, Clone, Copy)]
struct RailTouch {
    ball: Ball,
    rail: Rail,
    /// End of contact, seconds.
    end: f64,
    /// Not released since the last touch of this rail.
    unreleased: bool,
    /// Lay on it when the stroke began.
    at_start: bool,
    confidence: Option<f64>,
    t_err: Option<f64>,
}

/// What is known of the open stroke.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts of one stroke")]
struct Open {
    by: Seat,
    ball: Ball,
    serve: bool,
    preliminary: bool,
    masse: bool,
    dir: Option<Direction>,
    events: Vec<Event>,
    /// Last touched rail of each ball, until it meets a ball: rail, end of contact.
    last_rail: BTreeMap<Ball, (Rail, f64)>,
    /// Balls that touched the frame or left the table: what follows is dead for them (C5.20).
    jumped: BTreeSet<Ball>,
    /// Balls disturbed by a dead ball (C5.21).
    interfered: BTreeSet<Ball>,
    touched: BTreeSet<Ball>,
    separated: bool,
    fouled: bool,
    replay: bool,
    rests: Layout,
    declared: Option<bool>,
}

/// A carom desk.
#[derive(Debug, Clone)]
pub struct CaromDesk {
    table: Table,
    profile: Profile,
    start: Start,
    authority: Authority,
    balls: BySeat<Ball>,
    turn: Seat,
    score: BTreeMap<Seat, i64>,
    layout: Layout,
    frozen: Vec<Vec<Ball>>,
    frozen_rails: BTreeMap<Ball, Rail>,
    open: Option<Open>,
    played: Vec<Played>,
    marks: Vec<String>,
    suspended: bool,
    respot_asked: Option<Seat>,
    warmup: Option<(Seat, f64, u8)>,
    warmup_order: Vec<Seat>,
    reconsiderations: BTreeMap<(Seat, u64), u32>,
    sheet: Sheet,
}

impl CaromDesk {
    /// A desk at `table` by `profile`.
    pub fn new(table: Table, profile: Profile, start: Start) -> Self {
        let ball_of = |seat, other| start.cue_balls.get(&Named(seat)).map_or(other, |b| **b);
        let balls = BySeat {
            a: ball_of(Seat::A, Ball::White),
            b: ball_of(Seat::B, Ball::Yellow),
        };
        let score: BTreeMap<Seat, i64> = [Seat::A, Seat::B]
            .into_iter()
            .map(|s| (s, start.score.get(&Named(s)).copied().unwrap_or(0)))
            .collect();
        let assist = start.authority.as_deref() == Some("assist");
        let mut desk = Self {
            table,
            profile,
            authority: if assist { Authority::Assist } else { Authority::Auto },
            balls,
            turn: *start.shooter,
            score,
            layout: layout(&start.balls),
            frozen: start.frozen.iter().map(|g| g.iter().map(|b| **b).collect()).collect(),
            frozen_rails: start.frozen_to_rail.iter().map(|(b, r)| (**b, **r)).collect(),
            start,
            open: None,
            played: Vec::new(),
            marks: Vec::new(),
            suspended: false,
            respot_asked: None,
            warmup: None,
            warmup_order: Vec::new(),
            reconsiderations: BTreeMap::new(),
            sheet: Sheet::default(),
        };
        desk.sheet.point = json!(false);
        desk.sheet.match_ = Some("running");
        desk.check_serve_setup();
        desk
    }

    /// Takes the next fact, in time order.
    pub fn take(&mut self, fact: &Fact) {
        match &fact.what {
            What::Camera(seen) => self.seen(fact.t, seen),
            What::Referee(word) => self.referee(fact.t, word),
            What::Player(by, said) => self.player(*by, said),
            What::Clock(clock) => self.clock(fact.t, clock),
            What::Audio(Heard::NoClick {}) => self.sheet.hint("push_suspected"),
            What::Audio(Heard::SharpCrack {}) => self.sheet.hint("miscue"),
        }
    }

    /// The answers after all facts so far.
    pub fn sheet(&self) -> Sheet {
        let mut sheet = self.sheet.clone();
        if let Some(open) = self.open.as_ref().filter(|o| !o.fouled && !o.preliminary && self.in_play()) {
            let scored = self.assess(open).decision == Decision::Point;
            sheet.point = if scored { json!("pending") } else { json!(false) };
            sheet.next = None;
        } else {
            sheet.next = Some(self.turn.to_string());
        }
        let before = |s: Seat| self.start.score.get(&Named(s)).copied().unwrap_or(0);
        sheet.score = self.score.iter().map(|(s, n)| (s.to_string(), *n)).collect();
        sheet.points = self.score.iter().map(|(s, n)| (s.to_string(), n - before(*s))).collect();
        sheet.cue_balls = [Seat::A, Seat::B]
            .map(|s| (s.to_string(), self.balls.get(s).to_string()))
            .into();
        sheet.cue_ball_next = Some(self.balls.get(self.turn).to_string());
        let gone: BTreeSet<&String> = match &sheet.restore {
            Restore::To(spots) => sheet.respot.keys().chain(spots.keys()).collect(),
            Restore::Layout(_) => sheet.respot.keys().collect(),
        };
        let names = CAROM_BALLS.iter().map(ToString::to_string);
        sheet.stays = names.filter(|b| !gone.contains(b)).collect();
        sheet
    }

    fn in_play(&self) -> bool {
        self.start.phase != "warmup"
    }

    // --- setting up

    fn check_serve_setup(&mut self) {
        if self.start.phase != "serve_setup" {
            return;
        }
        let far = self.start.side_spot_offset.is_some_and(|d| d > self.profile.side_spot_max_m);
        self.sheet.setup_valid = Some(!far);
        if far {
            let max_m = self.profile.side_spot_max_m;
            self.sheet
                .notices
                .push(json!({"to": "referee", "code": "side_spot_too_far", "max_m": max_m}));
        }
    }

    fn server(&self) -> Seat {
        self.start.server.map_or(self.turn, |s| *s)
    }

    /// Where a ball lies for the serve (C3.3).
    fn serve_place(&self, ball: Ball) -> TablePoint {
        let own = *self.balls.get(self.server());
        match ball {
            Ball::Red => self.table.foot_spot(),
            b if b == own => self.layout.get(&b).copied().unwrap_or(self.table.head_spot()),
            _ => self.table.head_spot(),
        }
    }
}

fn point(p: [f64; 2]) -> TablePoint {
    TablePoint::new(p[0], p[1])
}

fn layout(places: &Places) -> Layout {
    places.iter().map(|(b, p)| (**b, point(*p))).collect()
}

fn spots(layout: &Layout) -> Spots {
    layout.iter().map(|(b, p)| (b.to_string(), [p.x(), p.y()])).collect()
}

fn named(groups: &[Vec<Named<Ball>>]) -> Vec<Vec<Ball>> {
    groups.iter().map(|g| g.iter().map(|b| **b).collect()).collect()
}

pub(super) fn event(t: f64, kind: EventKind, confidence: Option<f64>, t_err: Option<f64>) -> Event {
    Event {
        at: Timestamp::saturating(t),
        kind,
        place: None,
        t_err_s: t_err.unwrap_or(0.0),
        confidence: confidence.map_or(Confidence::SURE, Confidence::new),
    }
}

fn review_of(kind: EventKind) -> String {
    match kind {
        EventKind::BallBall { a, b } => format!("review_contact:{a}-{b}"),
        EventKind::Rail { ball, rail } => format!("review_rail:{ball}-{rail}"),
        _ => "review_stroke".to_owned(),
    }
}
