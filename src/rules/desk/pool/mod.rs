//! The desk at a pool table, general part: strokes and their fouls, spotting, ball in hand, calls, settling, interference,
//! protests, three fouls, clocks, sanctions (P1, P6, P8). What a game adds is `game_cfg`; a foul in doubt is not called.

mod start;
mod stroke;
mod words;

pub use start::{BallFrozen, Format, GameConfig, Obvious, PendingFoul, Previous, RailFrozen, Start};

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use self::stroke::{PlayedFrom, Stroke, camera_fouls, in_order};
use super::facts::{Direction, Fact, Heard, Named, Seen, What};
use super::sheet::{Foul, Restore, Sanction, Sheet};
use super::spotting::spot;
use crate::ball::Ball;
use crate::rules::seat::Seat;
use crate::rules::setup::Tolerances;
use crate::space::TablePoint;
use crate::table::{Pocket, Table};

/// A ball slower than this settles rather than moves, metres per second (P1.7.d): a settling ball makes millimetres in a second.
const SETTLING_MPS: f64 = 0.01;
/// Without a shot limit a stroke after this long is worth a hint about slow play, seconds: twice the usual limit of 30 s.
const SLOW_S: f64 = 60.0;
/// Turns that each player gets once no progress was announced (P1.12.a).
const STALEMATE_TURNS: u32 = 3;
/// A cue ball in the air off a cue raised by at least this is a jump shot, degrees (P8.16); off a lower one a scoop is likely.
const JUMP_ELEVATION_DEG: f64 = 20.0;
/// A ball cut by at least this is barely grazed (P6.7.c), degrees: the reading of the rule specification.
const GRAZE_DEG: f64 = 70.0;
/// Rounding of positions, metres.
const EXACT_M: f64 = 1e-9;

/// A pool desk.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts of one table")]
pub struct PoolDesk {
    table: Table,
    tolerances: Tolerances,
    start: Start,
    layout: BTreeMap<Ball, TablePoint>,
    turn: Option<Seat>,
    open: Option<Stroke>,
    /// Fouls seen but, under `assist`, not yet called (P6.0.c).
    uncalled: Vec<Foul>,
    /// Who played the last stroke, and whether its series was already counted.
    last_by: Option<Seat>,
    counted: bool,
    fouls_in_row: BTreeMap<Seat, u32>,
    warned: BTreeSet<Seat>,
    call: Option<(Ball, Pocket)>,
    safety: bool,
    still: BTreeMap<Ball, (f64, Option<TablePoint>, bool)>,
    moving: bool,
    free_since: Option<f64>,
    limit_s: Option<f64>,
    overtime: bool,
    suspended: bool,
    placement: Option<(f64, f64)>,
    placement_ok: bool,
    tied: Vec<Ball>,
    turns_left: Option<BTreeMap<Seat, u32>>,
    agreed: BTreeSet<Seat>,
    agent: Option<String>,
    template: bool,
    checks: Vec<bool>,
    struck: bool,
    /// Fouls of the present stroke or turn, in `sheet.fouls` from here.
    fresh: usize,
    sheet: Sheet,
}

fn point(p: [f64; 2]) -> TablePoint {
    TablePoint::new(p[0], p[1])
}

impl PoolDesk {
    /// A desk at a nine-foot table.
    pub fn new(start: Start) -> Self {
        let mut desk = Self {
            table: Table::POOL_9FT,
            tolerances: Tolerances::DEFAULT,
            layout: start.balls.iter().map(|(b, p)| (**b, point(*p))).collect(),
            turn: Some(*start.shooter),
            open: None,
            uncalled: Vec::new(),
            last_by: None,
            counted: false,
            fouls_in_row: start.fouls_in_row.iter().map(|(s, n)| (**s, *n)).collect(),
            warned: start.warned.iter().filter(|(_, w)| **w).map(|(s, _)| **s).collect(),
            call: None,
            safety: false,
            still: BTreeMap::new(),
            moving: false,
            free_since: None,
            limit_s: start.shot_limit_s,
            overtime: false,
            suspended: start.suspended,
            placement: None,
            placement_ok: false,
            tied: Vec::new(),
            turns_left: None,
            agreed: BTreeSet::new(),
            agent: None,
            template: start.rack_template.as_deref() == Some("on_bed"),
            checks: Vec::new(),
            struck: false,
            fresh: 0,
            sheet: Sheet::default(),
            start,
        };
        desk.sheet.match_ = Some("running");
        let mut to_spot: Vec<Ball> = desk.start.to_spot.iter().map(|b| **b).collect();
        desk.spot_all(&mut to_spot);
        if let Some(foul) = desk.start.pending_foul.clone() {
            desk.sheet.fouls.push(Foul::standard(&foul.rule, *foul.by));
        }
        desk
    }

    fn line(&self) -> f64 {
        self.table.head_spot().x()
    }

    fn behind_string(&self) -> bool {
        self.start.in_hand.as_deref() == Some("behind_head_string")
    }

    /// Spots balls in ascending order, each among those already spotted.
    fn spot_all(&mut self, balls: &mut [Ball]) {
        balls.sort();
        for &ball in balls.iter() {
            if let Some(at) = spot(&self.layout, &self.table, self.tolerances.cue_gap_m) {
                self.layout.insert(ball, at);
                self.sheet.spotted.insert(ball.to_string(), [at.x(), at.y()]);
            }
        }
    }

    /// Takes the next fact, in time order.
    pub fn take(&mut self, fact: &Fact) {
        match &fact.what {
            What::Camera(seen) => self.seen(fact.t, seen),
            What::Referee(word) => self.referee(fact.t, word),
            What::Player(by, said) => self.player(*by, said),
            What::Clock(clock) => self.clock(fact.t, clock),
            What::Audio(Heard::SharpCrack {}) => self.sheet.hint("miscue"),
            What::Audio(Heard::NoClick {}) => self.sheet.hint("push_suspected"),
        }
    }

    /// The answers after all facts so far.
    pub fn sheet(&self) -> Sheet {
        let mut sheet = self.sheet.clone();
        sheet.fouls.sort_by_key(in_order);
        let mut fresh: Vec<&Foul> = self.sheet.fouls.iter().skip(self.fresh).collect();
        fresh.sort_by_key(|f| in_order(f));
        if self.struck || !fresh.is_empty() {
            sheet.legal = Some(fresh.is_empty());
        }
        sheet.effective_foul = fresh.first().map(|f| f.rule.clone());
        if let Some(worst) = fresh.first() {
            sheet.severity = Some(worst.severity);
        }
        if self.open.is_some() {
            sheet.stroke = Some("in_progress");
        }
        sheet.fouls_in_row = [Seat::A, Seat::B]
            .map(|s| (s.to_string(), self.fouls_in_row.get(&s).copied().unwrap_or(0)))
            .into();
        sheet.next = self.turn.map(|s| s.to_string());
        sheet.balls = self.layout.iter().map(|(b, p)| (b.to_string(), [p.x(), p.y()])).collect();
        let kept = |b: &String| !sheet.spotted.contains_key(b);
        sheet.stays = self.layout.keys().map(ToString::to_string).filter(kept).collect();
        sheet.allowed = match self.checks.as_slice() {
            [] => Value::Null,
            [one] => json!(one),
            many => json!(many),
        };
        sheet.shot_limit_s = self.limit_s;
        if let Some(left) = &self.turns_left {
            sheet.turns_left = left.iter().map(|(s, n)| (s.to_string(), *n)).collect();
        }
        sheet
    }

    // --- the camera

    fn seen(&mut self, t: f64, seen: &Seen) {
        if let Seen::CueStrike {
            ball,
            by,
            dir,
            from,
            elevation_deg,
            cut_deg,
            ..
        } = seen
        {
            let by = by.map(|s| *s);
            self.strike(t, **ball, by, dir.map(|d| *d), *elevation_deg, *cut_deg);
            if let (Some(from), Some(open)) = (from, &mut self.open) {
                open.from = Some(point(*from));
            }
            return;
        }
        match seen {
            Seen::AllRest { keeps_turn, .. } => self.all_rest(t, *keeps_turn),
            Seen::TranslationRest { spinning } => self.moving = !spinning.is_empty(),
            Seen::Moving { speed_mps, .. } => self.moving = speed_mps.is_none_or(|v| v > SETTLING_MPS),
            Seen::Drift { ball, to, speed_mps } => {
                if let Some(to) = to {
                    self.layout.insert(**ball, point(*to));
                }
                self.moving |= speed_mps.is_some_and(|v| v > SETTLING_MPS);
            }
            Seen::Motionless { ball, pos, at_lip } => {
                let at = pos.map(point).or_else(|| self.layout.get(&**ball).copied());
                self.still.insert(**ball, (t, at, *at_lip));
            }
            Seen::Pocketed { ball, pocket } => self.pocketed(t, **ball, **pocket),
            Seen::Placed { ball, pos, pos_sigma_m } => {
                self.layout.insert(**ball, point(*pos));
                if **ball == Ball::Cue {
                    let sigma_m = pos_sigma_m.unwrap_or(0.0);
                    self.placement = Some((pos[0], sigma_m));
                    if self.behind_string() && sigma_m > 0.0 && (pos[0] - self.line()).abs() <= sigma_m {
                        self.sheet.hint("placement_uncertain");
                    }
                }
            }
            Seen::BallsMoved { balls } => {
                for (ball, to) in balls {
                    if let Some(at) = self.layout.insert(**ball, point(*to)) {
                        self.sheet.guide.insert(ball.to_string(), [at.x(), at.y()]);
                    }
                }
            }
            Seen::MovedByNonball { agent, .. } => self.agent.clone_from(agent),
            Seen::CueMovedByTip {
                forward_stroke: true, ..
            } => {
                self.sheet.stroke_started = Some(true);
                self.strike(t, Ball::Cue, None, None, None, None);
            }
            Seen::CueLyingOnTable { hands_on: false } => self.sheet.hint("cue_on_table"),
            Seen::CueAccelSecondPeak { .. } | Seen::CueFollowsThrough { .. } => self.sheet.hint("double_hit_suspected"),
            Seen::SideOfCueContact {} => self.sheet.hint("side_of_cue_suspected"),
            Seen::MarkDetected { official: false } | Seen::ForeignMark { .. } => self.sheet.hint("marking_suspected"),
            Seen::Query { what, ball } => self.query(what.as_deref(), ball.map(|b| *b)),
            Seen::RailTop { .. } => self.sheet.rail_counts = Some(true),
            _ => {}
        }
        if let Some(open) = &mut self.open {
            open.take(t, seen);
            if let Seen::Airborne { ball } = seen
                && **ball == Ball::Cue
            {
                let jump = open.elevation_deg.is_some_and(|e| e >= JUMP_ELEVATION_DEG);
                self.sheet.hint(if jump { "jump_shot" } else { "scoop_suspected" });
            }
        }
        if let Seen::BallBall { a, b, .. } = seen {
            self.still.remove(&**a);
            self.still.remove(&**b);
        }
    }

    fn query(&mut self, what: Option<&str>, ball: Option<Ball>) {
        let at = ball.and_then(|b| self.layout.get(&b));
        if let (Some("behind_head_string"), Some(at)) = (what, at) {
            let past_m = at.x() - self.line();
            self.sheet.on_line = Some(past_m.abs() <= EXACT_M);
            self.sheet.answer = Some(past_m < -EXACT_M);
        }
    }

    fn strike(
        &mut self,
        t: f64,
        ball: Ball,
        by: Option<Seat>,
        dir: Option<Direction>,
        elevation_deg: Option<f64>,
        cut_deg: Option<f64>,
    ) {
        let by = by.or(self.turn).unwrap_or(*self.start.shooter);
        if self.suspended {
            self.sheet.flags.push(Sanction {
                by: by.to_string(),
                rule: "P6.17.4".to_owned(),
                sanction: None,
            });
            self.sheet.pending = Some("ref_penalty".to_owned());
            return;
        }
        let still_open = self.open.is_some();
        self.close_previous();
        let keep_overtime = self.overtime;
        self.fresh = if keep_overtime {
            self.sheet.fouls.len().saturating_sub(1)
        } else {
            self.sheet.fouls.len()
        };
        let mut stroke = Stroke::new(by, ball, t, dir);
        stroke.elevation_deg = elevation_deg;
        self.open = Some(stroke);
        self.struck = true;
        self.last_by = Some(by);
        self.counted = false;
        self.placement_ok |= self.placement.is_some_and(|(x, s)| s > 0.0 && (x - self.line()).abs() <= s);
        if self.turn.is_some_and(|turn| turn != by) {
            self.camera_foul("P6.13.a", by);
        }
        if self.moving || still_open {
            self.camera_foul("P6.9", by);
        }
        if ball != Ball::Cue {
            self.sheet.hint("object_ball_struck_with_tip");
            self.camera_foul("P6.6.a", by);
        }
        if let (Some(since), false) = (self.free_since, keep_overtime) {
            match self.limit_s {
                Some(limit) if t > since + limit => self.camera_foul("P6.15.c", by),
                None if t > since + SLOW_S => self.sheet.hint(format!("slow_play:{by}")),
                _ => {}
            }
        }
        let near = matches!(dir, Some(Direction::TowardBall(b)) if self.start.gap_to.contains_key(&Named(b)));
        if near && cut_deg.is_none_or(|cut| cut < GRAZE_DEG) {
            self.sheet.hint("double_hit_possible");
        }
        if self.template {
            self.sheet.hint("template_on_bed");
        }
        self.moving = false;
        self.overtime = false;
        self.free_since = None;
    }

    /// The next stroke begins: what was not called did not happen (P6.0.c).
    fn close_previous(&mut self) {
        if !self.uncalled.is_empty() {
            self.uncalled.clear();
            if let Some(by) = self.last_by.filter(|_| !self.counted) {
                self.fouls_in_row.insert(by, 0);
            }
        }
        self.counted = true;
    }

    fn camera_foul(&mut self, rule: &str, by: Seat) {
        if !self.start.game_cfg.in_force(rule) {
            return;
        }
        if self.start.authority.as_deref() == Some("assist") {
            self.sheet.hint(rule);
            self.uncalled.push(Foul::standard(rule, by));
        } else {
            self.add(Foul::standard(rule, by));
        }
    }

    fn add(&mut self, foul: Foul) {
        if !self
            .sheet
            .fouls
            .iter()
            .skip(self.fresh)
            .any(|f| f.rule == foul.rule && f.by == foul.by)
        {
            self.sheet.fouls.push(foul);
        }
    }

    fn pocketed(&mut self, t: f64, ball: Ball, pocket: Pocket) {
        if let Some(&(since, at, _)) = self.still.get(&ball)
            && t - since >= self.tolerances.settle_s
        {
            // At the lip for five seconds: not pocketed, put back (P8.3.c, P1.7.b).
            if let (Some(at), Restore::To(spots)) = (at, &mut self.sheet.restore) {
                spots.insert(ball.to_string(), [at.x(), at.y()]);
            }
            if self.open.is_some() {
                self.sheet.pending = Some("ref_settle_affected".to_owned());
            }
            return;
        }
        self.layout.remove(&ball);
        if let Some(open) = &mut self.open {
            open.pocketed.push((ball, pocket));
        }
        if ball != Ball::Cue {
            self.sheet.pocketed.push(ball.to_string());
        }
    }

    fn all_rest(&mut self, t: f64, keeps_turn: Option<bool>) {
        self.moving = false;
        self.free_since = Some(t);
        let Some(open) = self.open.take() else { return };
        for (since, _, _) in self.still.values().filter(|s| s.2) {
            let until = since + self.tolerances.settle_s;
            self.sheet
                .notices
                .push(json!({"t": t, "to": "referee", "code": "hold_5s", "until": until}));
        }
        let by = open.by;
        if open.replay {
            self.turn = Some(by);
            return;
        }
        self.judge(&open);
        let fouled = self.sheet.fouls.len() > self.fresh;
        if self.uncalled.is_empty() {
            self.count(by);
        }
        let cfg = &self.start.game_cfg;
        let passes = fouled || self.safety;
        let spot_safety = self.safety && cfg.spot_after_safety;
        let spot_off = cfg.spot_off_table;
        self.turn = match keeps_turn {
            _ if passes => Some(if self.out_of_turn(by) {
                by.other()
            } else {
                self.turn.unwrap_or(by).other()
            }),
            Some(true) => Some(by),
            Some(false) => Some(by.other()),
            None => None,
        };
        if self.turn == Some(by.other()) {
            *self.sheet.turns_completed.entry(by.to_string()).or_default() += 1;
            self.warned.remove(&by);
        }
        let mut back: Vec<Ball> = Vec::new();
        if spot_safety {
            back.extend(open.pocketed.iter().map(|(b, _)| *b).filter(|b| *b != Ball::Cue));
        }
        if spot_off {
            back.extend(open.off_table.iter().copied().filter(|b| *b != Ball::Cue));
        }
        self.spot_all(&mut back);
        self.call = None;
        self.safety = false;
    }

    fn out_of_turn(&self, by: Seat) -> bool {
        self.turn.is_some_and(|turn| turn != by)
    }

    /// What the camera makes of a stroke that is over.
    fn judge(&mut self, open: &Stroke) {
        let behind = self.behind_string();
        let placed_wrong = self.placement.filter(|_| behind && !self.placement_ok).map(|(x, _)| x);
        let from = open.from.map(TablePoint::x).filter(|_| behind);
        let line = self.line();
        let played_from = match placed_wrong.or(from) {
            _ if !behind => PlayedFrom::Anywhere,
            Some(x) if x >= line - EXACT_M => PlayedFrom::WrongSide,
            _ => PlayedFrom::BehindString,
        };
        let found = camera_fouls(open, &self.start, &self.tolerances, played_from, |ball| {
            self.start
                .balls
                .get(&Named(ball))
                .map(|p| point(*p))
                .is_some_and(|p| p.x() < line - EXACT_M)
        });
        for rule in found.rules {
            // A deliberate 6.11 swallows the accidental one.
            let worse = rule.starts_with("P6.11") && self.sheet.fouls.iter().any(|f| f.rule == "P6.11.c");
            if !worse {
                self.camera_foul(rule, open.by);
            }
        }
        self.sheet.scratch = Some(found.scratch);
        if found.split_hit {
            self.sheet.hint("split_hit");
        }
        if self
            .sheet
            .fouls
            .iter()
            .skip(self.fresh)
            .any(|f| f.rule.starts_with("P6.11") || f.rule == "P6.10")
        {
            self.sheet.award = Some("ball_in_hand".to_owned());
        }
        if self.start.game_cfg.call_shot {
            let meant = self
                .call
                .or_else(|| self.start.obvious.as_ref().map(|o| (*o.ball, *o.pocket)));
            self.sheet.call_satisfied = Some(meant.is_some_and(|m| open.pocketed.contains(&m)));
        }
    }

    /// The series of fouls of the player who played (P6.14): one for a stroke, whatever came together (P6.0.b).
    fn count(&mut self, by: Seat) {
        if self.counted {
            return;
        }
        self.counted = true;
        let fouled = self.sheet.fouls.iter().skip(self.fresh).any(|f| f.by == by.to_string());
        let cfg = &self.start.game_cfg;
        let rule_on = cfg.three_foul_rule && cfg.in_force("P6.14");
        let row = self.fouls_in_row.entry(by).or_default();
        if !fouled {
            *row = 0;
        } else if *row >= 2 && rule_on && !self.warned.contains(&by) {
            // Not warned: the third counts as the second (P6.14.c).
        } else {
            *row += 1;
            if *row >= 3 && rule_on {
                self.sheet.serious = true;
                self.sheet.serious_rule = Some("P6.14.a".to_owned());
            }
        }
    }
}
