//! The desk at a carom table: warm-up, serve, strokes, frozen and jumped balls, fouls, wrong balls, conduct (C1, C3 to C7).
//!
//! A stroke is open from the tip's contact until nothing moves or spins. Whether it scores is judged by [`scoring`]; this
//! module says who plays, what people's words do to it, and where balls go.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::facts::{Clocked, Direction, Fact, Heard, Named, Places, Refereed, Said, Seen, What};
use super::respot::{Layout, respot};
use super::sheet::{Foul, Restore, Sanction, Sheet, Spots};
use crate::ball::{Ball, CAROM_BALLS};
use crate::events::{Event, EventKind, ShotKind};
use crate::rules::carom::scoring::{self, Scoring};
use crate::rules::reason::{Miss, Reason, Unclear};
use crate::rules::ruling::Decision;
use crate::rules::seat::{BySeat, Seat};
use crate::rules::setup::{Authority, Profile, TieRuling};
use crate::rules::stroke::Stroke;
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

/// What is known of the open stroke.
#[derive(Debug, Clone)]
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
    moved_frozen: bool,
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
    emergency: bool,
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
            emergency: false,
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

    // --- the camera

    fn seen(&mut self, t: f64, seen: &Seen) {
        match seen {
            Seen::CueStrike {
                ball,
                by,
                dir,
                intent,
                style,
                ..
            } => {
                let preliminary = intent.as_deref() == Some("preliminary");
                let masse = style.as_deref() == Some("masse");
                self.strike(t, **ball, by.map(|s| *s), dir.map(|d| *d), preliminary, masse);
            }
            Seen::BallBall { a, b, confidence, t_err } => self.contact(t, **a, **b, *confidence, *t_err),
            Seen::Rail {
                ball,
                rail,
                t_end,
                released_m,
                at_start,
                confidence,
                t_err,
            } => {
                let same = released_m.is_some_and(|m| m <= self.profile.tolerances.rail_release_m);
                let end = t_end.unwrap_or(t).max(t);
                self.rail(t, **ball, **rail, end, same, *at_start, (*confidence, *t_err));
            }
            Seen::RailTop { ball, rail } => self.rail(t, **ball, **rail, t, true, false, (None, None)),
            Seen::Frame { ball } | Seen::OffTable { ball } => self.jump(**ball, "C5.12"),
            Seen::BallRest { ball, pos, on, .. } => {
                if on.as_deref() == Some("rail_top") {
                    self.jump(**ball, "C5.22");
                } else if let Some(open) = &mut self.open {
                    open.rests.insert(**ball, point(*pos));
                } else {
                    self.layout.insert(**ball, point(*pos));
                }
            }
            Seen::AllRest { frozen, .. } => self.all_rest(frozen.as_ref()),
            Seen::Separated { gap_m, .. } => {
                if let Some(open) = &mut self.open {
                    open.separated |= *gap_m > self.profile.tolerances.rail_release_m;
                }
            }
            Seen::FrozenSuggested { balls } => {
                let names: Vec<_> = balls.iter().map(|b| b.to_string()).collect();
                self.sheet.hint(format!("frozen:{}", names.join("-")));
            }
            Seen::FrozenBallMoved { .. } => {
                if let Some(open) = &mut self.open {
                    open.moved_frozen = true;
                }
            }
            Seen::MovedByNonball { ball, from, agent } => self.moved_by_hand(**ball, *from, agent.as_deref()),
            Seen::BallsMoved { balls } => {
                for ball in balls.keys() {
                    self.put_back(**ball, None);
                }
            }
            Seen::ForeignMark { kind, .. } => self.marks.push(kind.clone().unwrap_or_default()),
            Seen::ForeignMarkRemoved {} => self.marks.clear(),
            Seen::CueAccelSecondPeak { .. } | Seen::CueFollowsThrough { .. } => self.sheet.hint("double_touch_suspected"),
            Seen::SideOfCueContact {} => self.sheet.hint("side_of_cue_suspected"),
            Seen::Placed { ball, pos, .. } => {
                self.layout.insert(**ball, point(*pos));
            }
            _ => {}
        }
    }

    fn strike(&mut self, t: f64, ball: Ball, by: Option<Seat>, dir: Option<Direction>, preliminary: bool, masse: bool) {
        if !self.in_play() {
            return;
        }
        if self.suspended {
            self.sheet.ignored_strikes.push(t);
            return;
        }
        let by = by.unwrap_or(self.turn);
        if let Some(open) = &mut self.open {
            let (fouled, nudge) = (open.fouled, open.preliminary);
            open.fouled = true;
            if fouled {
                return;
            }
            if nudge {
                self.second_touch(by);
            } else {
                self.foul("C6.3.h", by);
            }
            return;
        }
        let serve = self.start.serve && self.played.is_empty();
        if !self.marks.is_empty() {
            self.sheet.hint("marking_suspected");
        }
        self.hint_at_near(ball, dir);
        self.sheet.pending = None;
        self.respot_asked = None;
        self.played.push(Played { by, ball, points: 0 });
        let mut open = Open {
            by,
            ball,
            serve,
            preliminary,
            masse,
            dir,
            events: vec![event(t, EventKind::CueStrike { ball }, None, None)],
            last_rail: BTreeMap::new(),
            jumped: BTreeSet::new(),
            interfered: BTreeSet::new(),
            touched: BTreeSet::new(),
            separated: false,
            moved_frozen: false,
            fouled: false,
            replay: false,
            rests: Layout::new(),
            declared: None,
        };
        let into = match dir {
            Some(Direction::TowardBall(b)) => self.frozen_with(ball).contains(&b),
            Some(Direction::TowardRail(r)) => self.frozen_rails.get(&ball) == Some(&r),
            _ => false,
        };
        open.fouled = into;
        self.open = Some(open);
        if into {
            self.foul("C6.3.b", by);
        }
    }

    /// The nudge before a stroke, then a second touch: the stroke is void, the layout is what the nudge made of it (C6.3.f).
    fn second_touch(&mut self, by: Seat) {
        self.foul("C6.3.f", by);
        let Some(open) = &self.open else { return };
        let at_rest = open.touched.is_empty() && open.rests.contains_key(&open.ball);
        self.sheet.restore = if at_rest {
            Restore::To(spots(&open.rests))
        } else {
            Restore::Layout("extrapolate_first_touch")
        };
    }

    /// Playing toward something near but not touching is no foul; the referee may like to know (C6.3.c).
    fn hint_at_near(&mut self, ball: Ball, dir: Option<Direction>) {
        let Some(&at) = self.layout.get(&ball) else { return };
        let radius_m = self.table.ball_radius_m;
        let gap_m = match dir {
            Some(Direction::TowardRail(rail)) if !self.frozen_rails.contains_key(&ball) => {
                self.table.distance_to_nose_m(at, rail) - radius_m
            }
            Some(Direction::TowardBall(other)) if !self.frozen_with(ball).contains(&other) => {
                let Some(there) = self.layout.get(&other) else { return };
                (at.x() - there.x()).hypot(at.y() - there.y()) - 2.0 * radius_m
            }
            _ => return,
        };
        if gap_m <= NEAR_GAP_M {
            self.sheet.hint("double_touch_possible");
        }
    }

    fn contact(&mut self, t: f64, a: Ball, b: Ball, confidence: Option<f64>, t_err: Option<f64>) {
        let frozen = self.open.as_ref().map(|o| self.frozen_with(o.ball)).unwrap_or_default();
        let Some(open) = &mut self.open else { return };
        open.last_rail.remove(&a);
        open.last_rail.remove(&b);
        // What a jumped ball does is dead; what it moves goes back (C5.20, C5.21).
        match (open.jumped.contains(&a), open.jumped.contains(&b)) {
            (false, false) => {}
            (true, false) => {
                open.interfered.insert(b);
                return;
            }
            (false, true) => {
                open.interfered.insert(a);
                return;
            }
            (true, true) => return,
        }
        open.touched.extend([a, b]);
        let kind = EventKind::contact(a, b);
        let first = open.events.len() == 1;
        // Never detached from the ball that it was frozen to: it was played into it (C5.3, C5.5, C6.3.b).
        let met = kind.other(open.ball);
        let sure_away = open.dir.is_some() && !open.masse;
        let into = first && met.is_some_and(|m| frozen.contains(&m)) && !open.separated && !sure_away && !open.fouled;
        open.events.push(event(t, kind, confidence, t_err));
        if into {
            open.fouled = true;
            let by = open.by;
            self.foul("C6.3.b", by);
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn rail(&mut self, t: f64, ball: Ball, rail: Rail, end: f64, same: bool, at_start: bool, doubt: (Option<f64>, Option<f64>)) {
        let resting = self.frozen_rails.get(&ball) == Some(&rail);
        let Some(open) = &mut self.open else { return };
        if open.jumped.contains(&ball) {
            return;
        }
        open.touched.insert(ball);
        let last = open.last_rail.insert(ball, (rail, end));
        let goes_on = last.is_some_and(|(r, until)| r == rail && (same || until >= t));
        // The rail that it lay on when the stroke began is no touch until it leaves and comes back (C6.3.b).
        if !(goes_on || (at_start && (resting || last.is_none()))) {
            open.events.push(event(t, EventKind::Rail { ball, rail }, doubt.0, doubt.1));
        }
    }

    fn jump(&mut self, ball: Ball, clause: &'static str) {
        let Some(open) = &mut self.open else { return };
        if !open.jumped.insert(ball) {
            return;
        }
        let by = open.by;
        let again = self.sheet.fouls.iter().any(|f| f.rule == clause && f.by == by.to_string());
        if let Some(open) = &mut self.open {
            open.fouled = true;
        }
        if !again {
            self.foul(clause, by);
        }
    }

    fn moved_by_hand(&mut self, ball: Ball, from: Option<[f64; 2]>, agent: Option<&str>) {
        // Who stops a dead ball does his duty (C5.20).
        let dead = self.open.as_ref().is_some_and(|o| o.jumped.contains(&ball));
        if !self.in_play() || dead || agent == Some("referee_hand") {
            return;
        }
        self.put_back(ball, from.map(point));
    }

    /// Notes that a ball goes back to where it lay.
    fn put_back(&mut self, ball: Ball, from: Option<TablePoint>) {
        let Some(place) = from.or_else(|| self.layout.get(&ball).copied()) else {
            return;
        };
        if let Restore::To(spots) = &mut self.sheet.restore {
            spots.insert(ball.to_string(), [place.x(), place.y()]);
        }
    }

    fn all_rest(&mut self, frozen: Option<&Vec<Vec<Named<Ball>>>>) {
        let Some(open) = self.open.take() else { return };
        if !self.in_play() {
            return;
        }
        for (ball, at) in open
            .rests
            .iter()
            .map(|(b, p)| (*b, *p))
            .chain(layout(&self.start.balls_at_rest))
        {
            if !open.interfered.contains(&ball) {
                self.layout.insert(ball, at);
            }
        }
        let groups = frozen.or(self.start.frozen_at_rest.as_ref()).map(|g| named(g));
        self.frozen = groups.unwrap_or_else(|| {
            // Balls that touched before and were not touched since still do (C5.11).
            let still = |g: &Vec<Ball>| !g.iter().any(|b| open.touched.contains(b) || *b == open.ball);
            self.frozen.iter().filter(|g| still(g)).cloned().collect()
        });
        self.frozen_rails.clear();
        if open.replay {
            self.turn = open.by;
            self.sheet.point = json!(false);
            return;
        }
        if open.fouled {
            self.settle_jumped(&open);
            return;
        }
        self.judge(&open);
    }

    fn judge(&mut self, open: &Open) {
        let found = self.assess(open);
        self.sheet.rails_before_second = found.rails_before_second;
        match &found.reason {
            Reason::Missed(Miss::Simultaneous { .. }) => self.sheet.reason = Some("simultaneous"),
            Reason::Unclear(Unclear::Event { kind, .. }) => {
                self.sheet.verdict = Some("unclear");
                self.sheet.hint(review_of(*kind));
            }
            Reason::Unclear(_) => self.sheet.verdict = Some("unclear"),
            _ => {}
        }
        let scored = match open.declared {
            Some(word) => word,
            None if self.authority == Authority::Assist && found.decision == Decision::Point => {
                self.sheet.point = json!("proposed");
                self.sheet.pending = Some("ref_point".to_owned());
                return;
            }
            None => found.decision == Decision::Point,
        };
        self.conclude(open.by, scored);
    }

    /// A clean stroke is over: the point counts, or the turn passes (C4.10, C4.12, C4.13).
    fn conclude(&mut self, by: Seat, scored: bool) {
        self.sheet.point = json!(scored);
        self.sheet.pending = None;
        if !scored {
            self.turn = by.other();
            return;
        }
        self.turn = by;
        self.sheet.inning_run += 1;
        let score = self.score.entry(by).or_default();
        *score += 1;
        let total = *score;
        if let Some(last) = self.played.last_mut() {
            last.points = 1;
        }
        if self.start.target.is_some_and(|target| total >= target) {
            self.end(by);
        }
    }

    fn end(&mut self, winner: Seat) {
        self.sheet.match_ = Some("over");
        self.sheet.winner = Some(winner.to_string());
    }

    fn assess(&self, open: &Open) -> scoring::Assessment {
        let profile = Profile {
            tie: TieRuling::NoPoint,
            ..self.profile
        };
        let rules = Scoring::new(3, &profile);
        let mut events = open.events.clone();
        events.sort_by_key(|e| e.at);
        let stroke = Stroke {
            no: 1,
            kind: if open.serve { ShotKind::Serve } else { ShotKind::Shot },
            cue_ball: Some(open.ball),
            events,
            unsure_orders: Vec::new(),
            before: crate::events::Layout::new(),
            crossings: Vec::new(),
            head_distance: Vec::new(),
            flags: Vec::new(),
            blind_from: None,
        };
        scoring::assess(&stroke, &if open.serve { rules.on_serve() } else { rules })
    }

    /// Jumped balls are spotted as the incoming player sees them, once the others lie still (C5.14, C5.15); what a dead ball
    /// moved goes back (C5.21).
    fn settle_jumped(&mut self, open: &Open) {
        let moved: Vec<Ball> = open.jumped.iter().copied().collect();
        for ball in &moved {
            self.layout.remove(ball);
        }
        self.spot(&moved);
        for &ball in open.interfered.difference(&open.jumped) {
            let told = self.start.counterfactual_rest.as_ref().and_then(|p| p.get(&Named(ball)));
            let place = told.map(|p| point(*p));
            self.put_back(ball, place);
        }
    }

    fn spot(&mut self, moved: &[Ball]) {
        let own = *self.balls.get(self.turn);
        let placed = respot(moved, &self.layout, own, &self.table, self.profile.tolerances.spot_clear_m);
        self.sheet.respot.extend(spots(&placed));
        self.layout.extend(placed);
    }

    // --- fouls

    /// The foul costs the turn, and the stroke, while it is open, its point (C4.11, C4.13).
    fn foul(&mut self, rule: &str, by: Seat) {
        self.sheet.fouls.push(Foul::standard(rule, by));
        self.turn = by.other();
        if let Some(open) = &mut self.open {
            open.fouled = true;
            self.sheet.point = json!(false);
            self.sheet.pending = None;
        }
    }

    /// Balls in a frozen group with `ball`.
    fn frozen_with(&self, ball: Ball) -> BTreeSet<Ball> {
        let mut group = BTreeSet::from([ball]);
        // Three balls: two rounds reach every chain.
        for _ in 0..2 {
            let joined: Vec<Ball> = self
                .frozen
                .iter()
                .filter(|g| g.iter().any(|b| group.contains(b)))
                .flatten()
                .copied()
                .collect();
            group.extend(joined);
        }
        group.remove(&ball);
        group
    }

    fn referee(&mut self, t: f64, word: &Refereed) {
        match word {
            Refereed::Foul {
                foul,
                by,
                ball,
                agent,
                kind,
            } => {
                let rule = self.rule_of(foul, agent.as_deref(), kind.as_deref());
                let open = self.open.is_some();
                self.foul(rule, **by);
                if rule.starts_with("C6.4") {
                    self.restore_after_touch(ball.map(|b| *b), open);
                }
            }
            Refereed::Point {} => self.declare(true),
            Refereed::NoPoint {} => self.declare(false),
            Refereed::ConfirmFrozen {} => {
                if let Some(by) = self.respot_asked.take() {
                    self.sheet.pending = None;
                    let own = *self.balls.get(by);
                    let mut moved: Vec<Ball> = self.frozen_with(own).into_iter().collect();
                    moved.push(own);
                    self.frozen.retain(|g| !g.iter().any(|b| moved.contains(b)));
                    self.spot(&moved);
                }
            }
            Refereed::DenyFrozen {} => {
                if self.respot_asked.take().is_some() {
                    self.sheet.pending = None;
                    self.sheet.rejected.push("request_respot");
                }
                self.frozen.clear();
            }
            Refereed::WrongBall { by } => {
                let offender = by.map_or_else(|| self.played.last().map_or(self.turn, |p| p.by), |s| *s);
                if !self.raise_wrong_ball(offender) {
                    self.sheet.rejected.push("wrong_ball");
                }
            }
            Refereed::Conduct {
                by,
                item,
                sanction,
                authority,
            } => {
                self.conduct(by, item, sanction.as_deref(), authority.as_deref());
            }
            Refereed::Emergency {} | Refereed::Interference { affected: true, .. } => self.emergency(),
            Refereed::Restored {} => self.emergency = false,
            Refereed::Suspend {} => {
                self.suspended = true;
                self.sheet.suspended = vec![t];
            }
            Refereed::Resume {} => {
                self.suspended = false;
                self.sheet.suspended.push(t);
            }
            Refereed::Arrival { player } => {
                let start = self.start.match_start_t.unwrap_or(f64::INFINITY);
                self.sheet
                    .warmup_right
                    .insert(player.to_string(), t <= start - LATEST_ARRIVAL_S);
            }
            Refereed::WarmupOrder { order } => {
                self.warmup_order = order.iter().map(|s| **s).collect();
                self.sheet.warmup_next = self.warmup_order.first().map(ToString::to_string);
            }
            _ => {}
        }
    }

    /// The clause of a foul that the referee named.
    fn rule_of(&self, foul: &str, agent: Option<&str>, kind: Option<&str>) -> &'static str {
        match foul {
            "double_touch" if self.played_into_frozen() => "C6.3.b",
            "double_touch" | "double_hit" => "C6.3.a",
            "second_touch" | "illicit_shot" => "C6.3.f",
            "moving_balls" | "balls_moving" | "played_while_moving" => "C6.3.h",
            "push" => "C6.5.a",
            "feet_off_floor" => "C6.6.a",
            "shoe_on_cloth" => "C6.6.d",
            "table_jolt" | "jolt" | "blowing" | "wind" | "fanning" => "C6.4.c",
            "jump_ball" => "C5.12",
            "wrong_ball" => "C6.7.b",
            "marking" => match kind.or(self.marks.last().map(String::as_str)) {
                Some("sweat" | "chalk_dust" | "dust" | "hand" | "powder" | "fingerprint") => "C6.8.c",
                Some(_) => "C6.8.b",
                None => "C6.8.a",
            },
            _ if matches!(agent, Some("breath" | "palm" | "wind" | "jolt")) => "C6.4.c",
            _ => "C6.4.b",
        }
    }

    fn played_into_frozen(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match open.dir {
            Some(Direction::TowardBall(b)) => self.frozen_with(open.ball).contains(&b),
            Some(Direction::TowardRail(r)) => self.frozen_rails.get(&open.ball) == Some(&r),
            _ => false,
        }
    }

    /// A ball touched at rest goes back to its place, a moving one to where it would have stopped (C6.4.d).
    fn restore_after_touch(&mut self, ball: Option<Ball>, open: bool) {
        if let Some(told) = self.start.counterfactual_rest.as_ref().filter(|_| open) {
            self.sheet.restore = Restore::To(told.iter().map(|(b, p)| (b.to_string(), *p)).collect());
            return;
        }
        let noted = matches!(&self.sheet.restore, Restore::To(spots) if !spots.is_empty());
        let known = ball.filter(|b| !open && self.layout.contains_key(b));
        match known {
            _ if noted => {}
            Some(ball) => self.put_back(ball, None),
            None => self.sheet.restore = Restore::Layout("before_touch"),
        }
    }

    fn declare(&mut self, point: bool) {
        if let Some(open) = &mut self.open {
            open.declared = Some(point);
        } else if self.sheet.point == json!("proposed") || self.sheet.verdict == Some("unclear") {
            if let Some(by) = self.played.last().map(|p| p.by) {
                self.conclude(by, point);
            }
        } else if !point && self.sheet.point == json!(true) {
            if let Some(by) = self.void_last() {
                self.conclude(by, false);
            }
        }
    }

    fn emergency(&mut self) {
        self.emergency = true;
        if let Some(open) = &mut self.open {
            open.replay = true;
            self.sheet.restore = Restore::Layout("pre_shot");
            self.sheet.replay = Some(true);
        }
    }

    /// Takes back the points of the most recent stroke; who played it.
    fn void_last(&mut self) -> Option<Seat> {
        let last = self.played.last_mut()?;
        let (by, points) = (last.by, std::mem::take(&mut last.points));
        *self.score.entry(by).or_default() -= points;
        if points > 0 && self.sheet.match_ == Some("over") {
            self.sheet.match_ = Some("running");
            self.sheet.winner = None;
        }
        Some(by)
    }

    /// C6.7: the most recent stroke that was started is void, all earlier ones stand; false when there is nothing to raise.
    fn raise_wrong_ball(&mut self, offender: Seat) -> bool {
        let wrong = self
            .played
            .last()
            .is_some_and(|p| p.by == offender && p.ball == *self.balls.get(offender.other()));
        if wrong {
            self.void_last();
            self.sheet.point = json!(false);
            self.foul("C6.7.b", offender);
            if let Some(open) = &mut self.open {
                open.fouled = true;
            }
        }
        wrong
    }

    fn conduct(&mut self, by: &str, item: &str, sanction: Option<&str>, authority: Option<&str>) {
        let letter = match item {
            "dress" => "a",
            "deliberate_foul" | "intentional_foul" => "b",
            "slow_play" | "excessive_time" | "habitual_delay" | "delay" => "c",
            "left_seat" => "d",
            "noise" | "loud_voice" => "e",
            "reconsider" | "request_reconsider" | "repeated_request" => "g",
            "blocking_referee" => "h",
            "disturbance" => "i",
            _ => "f",
        };
        // Expulsion is for the committee alone (C7.4).
        if sanction == Some("expulsion") && authority != Some("committee") {
            self.sheet.rejected.push("conduct");
            return;
        }
        self.sheet.conduct.push(Sanction {
            by: by.to_owned(),
            rule: format!("C7.3.{letter}"),
            sanction: sanction.map(str::to_owned),
        });
        if matches!(sanction, Some("ejection" | "expulsion"))
            && let Ok(seat) = by.parse::<Seat>()
        {
            self.end(seat.other());
        }
        if self.sheet.pending.as_deref() == Some("ref_conduct") {
            self.sheet.pending = None;
        }
    }

    // --- players and clocks

    fn player(&mut self, by: Seat, said: &Said) {
        let between = self.open.is_none();
        let refused = match said {
            Said::RequestRespot {} => {
                let own = *self.balls.get(by);
                let right = between && by == self.turn && !self.frozen_with(own).is_empty();
                if right {
                    self.respot_asked = Some(by);
                    self.sheet.pending = Some("confirm_frozen".to_owned());
                }
                !right
            }
            Said::ClaimWrongBall { target } => {
                let offender = target.map_or(by.other(), |s| *s);
                offender == by || !self.raise_wrong_ball(offender)
            }
            Said::ChooseSideSpot { side } => !self.choose_side_spot(by, side),
            Said::RequestCorrection { ball } => {
                let right = between && self.played.is_empty() && by == self.server();
                if right {
                    let place = self.serve_place(**ball);
                    self.sheet.placement = spots(&Layout::from([(**ball, place)]));
                    self.sheet.pending = Some("ref_place".to_owned());
                }
                !right
            }
            Said::RequestReconsider { decision } => {
                let asked = self.reconsiderations.entry((by, *decision)).or_default();
                *asked += 1;
                if *asked > 1 {
                    self.sheet.conduct_flags.push(Sanction {
                        by: by.to_string(),
                        rule: "C7.3.g".to_owned(),
                        sanction: None,
                    });
                    self.sheet.pending = Some("ref_conduct".to_owned());
                }
                false
            }
            Said::WarmupStartRequest {} => self.warmup_order.first().is_none_or(|first| *first != by),
            Said::Concede {} => {
                self.end(by.other());
                false
            }
            Said::CorrectCueBall {} => !between || by == self.turn,
            Said::RequestChangeCueBall { .. } | Said::RequestMeasurement {} | Said::DeclineTurn {} => true,
            _ => false,
        };
        if refused {
            self.sheet.rejected.push(said.code());
        }
    }

    fn choose_side_spot(&mut self, by: Seat, side: &str) -> bool {
        let server = self.server();
        let sign = match side {
            "left" => 1.0,
            "right" => -1.0,
            _ => return false,
        };
        if by != server || self.start.phase != "serve_setup" {
            return false;
        }
        let aside_m = self.start.side_spot_offset.unwrap_or(self.profile.side_spot_m);
        let own = *self.balls.get(server);
        let head = self.table.head_spot();
        self.layout = CAROM_BALLS.map(|b| (b, self.serve_place(b))).into();
        self.layout.insert(own, TablePoint::new(head.x(), sign * aside_m));
        self.sheet.placement = spots(&self.layout);
        self.sheet.phase = Some("serve");
        self.turn = server;
        true
    }

    fn clock(&mut self, t: f64, clock: &Clocked) {
        match clock {
            Clocked::WarmupStart { player } => self.warmup = Some((**player, t, 0)),
            Clocked::SlowPlay { player } => {
                if self.is_habit(**player) {
                    self.sheet.hint(format!("habitual_delay:{}", **player));
                }
            }
            _ => {}
        }
        let Some((player, began, said)) = &mut self.warmup else {
            return;
        };
        let length_s = self.start.warmup_s.unwrap_or(300.0);
        let mut notice = |code: &str, due: f64| {
            let to = player.to_string();
            self.sheet.notices.push(json!({"t": due, "to": to, "code": code}));
        };
        let (warn, over) = (*began + length_s - WARMUP_WARNING_S, *began + length_s);
        if *said == 0 && t >= warn && t >= *began {
            notice("one_minute_left", warn);
            *said = 1;
        }
        if *said == 1 && t >= over {
            notice("warmup_over", over);
            *said = 2;
        }
    }

    /// Most of several strokes took twice as long as the opponent's usual one.
    fn is_habit(&self, player: Seat) -> bool {
        let times = |s: Seat| self.start.shot_times_s.get(&Named(s)).cloned().unwrap_or_default();
        let (own, mut other) = (times(player), times(player.other()));
        other.sort_by(f64::total_cmp);
        let usual_s = other.get(other.len() / 2).copied().unwrap_or(0.0);
        let slow = own.iter().filter(|&&s| s > 2.0 * usual_s).count();
        own.len() >= HABIT_STROKES && slow * 2 > own.len()
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
