//! The desk at a pool table, general part: strokes and their fouls, spotting, ball in hand, calls, settling, interference,
//! protests, three fouls, clocks, sanctions (P1, P6, P8). What a game adds is `game_cfg`; a foul in doubt is not called.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::{Clocked, Direction, Fact, Heard, Named, Places, Refereed, Said, Seen, What};
use super::pool_stroke::{Stroke, camera_fouls, in_order};
use super::sheet::{Foul, Restore, Sanction, Sheet};
use super::spotting::spot;
use crate::ball::Ball;
use crate::rules::seat::Seat;
use crate::rules::setup::Tolerances;
use crate::space::TablePoint;
use crate::table::{Pocket, Rail, Table};

/// A ball slower than this settles rather than moves, metres per second (P1.7.d): a settling ball makes millimetres in a second.
const SETTLING_MPS: f64 = 0.01;
/// Without a shot limit a stroke after this long is worth a hint about slow play, seconds: twice the usual limit of 30 s.
const SLOW_S: f64 = 60.0;
/// Turns that each player gets once no progress was announced (P1.12.a).
const STALEMATE_TURNS: u32 = 3;
/// A cue ball in the air off a cue raised by at least this is a jump shot, degrees (P8.16); off a lower one a scoop is likely.
const JUMP_ELEVATION_DEG: f64 = 20.0;
/// Rounding of positions, metres.
const EXACT_M: f64 = 1e-9;

/// What a game adds to the general rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs)]
pub struct GameConfig {
    /// `"all"` or a list of clauses.
    #[serde(default)]
    pub fouls_in_force: Value,
    /// `"any"` or a list of balls.
    #[serde(default)]
    pub legal_first: Value,
    pub scored_by: Option<String>,
    #[serde(default)]
    pub three_foul_rule: bool,
    #[serde(default)]
    pub call_shot: bool,
    #[serde(default)]
    pub spot_after_safety: bool,
    #[serde(default)]
    pub spot_off_table: bool,
    #[serde(default)]
    pub push_out: bool,
    pub stalemate: Option<String>,
    #[serde(default)]
    pub overrides: BTreeMap<String, String>,
}

impl GameConfig {
    /// Whether the game has adopted this foul (P6.0.a) and not switched it off (P1.0.a).
    pub fn in_force(&self, rule: &str) -> bool {
        let covers = |clause: &str| rule == clause || rule.strip_prefix(clause).is_some_and(|rest| rest.starts_with('.'));
        let listed = match &self.fouls_in_force {
            Value::Array(list) => list.iter().any(|c| c.as_str().is_some_and(covers)),
            _ => true,
        };
        listed && !self.overrides.iter().any(|(c, v)| v == "off" && covers(c))
    }

    /// Whether `ball` may be met first (P6.2).
    pub fn may_be_first(&self, ball: Ball) -> bool {
        match &self.legal_first {
            Value::Array(list) => list.iter().any(|b| match b {
                Value::String(s) => *s == ball.to_string(),
                other => other.to_string() == ball.to_string(),
            }),
            _ => true,
        }
    }
}

/// A declared contact of a ball with a rail.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct RailFrozen {
    pub ball: Named<Ball>,
    pub rail: Named<Rail>,
}

/// A declared contact of two balls (P6.7.f).
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct BallFrozen {
    pub a: Named<Ball>,
    pub b: Named<Ball>,
    pub by: String,
}

#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Obvious {
    pub ball: Named<Ball>,
    pub pocket: Named<Pocket>,
}

#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct PendingFoul {
    pub rule: String,
    pub by: Named<Seat>,
}

#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Format {
    pub sets_to_win: u32,
    pub racks_per_set: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Previous {
    #[serde(default)]
    pub push_out: bool,
}

/// How a pool desk starts, as written in a case.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Start {
    pub shooter: Named<Seat>,
    pub authority: Option<String>,
    #[serde(default)]
    pub game_cfg: GameConfig,
    #[serde(default)]
    pub balls: Places,
    pub in_hand: Option<String>,
    #[serde(default)]
    pub to_spot: Vec<Named<Ball>>,
    #[serde(default)]
    pub fouls_in_row: BTreeMap<Named<Seat>, u32>,
    #[serde(default)]
    pub warned: BTreeMap<Named<Seat>, bool>,
    #[serde(default)]
    pub declared_rail_frozen: Vec<RailFrozen>,
    #[serde(default)]
    pub declared_frozen: Vec<BallFrozen>,
    #[serde(default)]
    pub gap_to: BTreeMap<Named<Ball>, f64>,
    pub obvious: Option<Obvious>,
    #[serde(default)]
    pub racks: BTreeMap<Named<Seat>, u32>,
    #[serde(default)]
    pub sets: BTreeMap<Named<Seat>, u32>,
    pub race_to: Option<u32>,
    pub format: Option<Format>,
    pub shot_limit_s: Option<f64>,
    pub pending_foul: Option<PendingFoul>,
    pub rack_template: Option<String>,
    #[serde(default)]
    pub suspended: bool,
    pub previous: Option<Previous>,
}

/// A pool desk.
#[derive(Debug, Clone)]
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
        if let Seen::CueStrike { ball, by, dir, from, elevation_deg, cut_deg, .. } = seen {
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
            Seen::CueMovedByTip { forward_stroke, .. } => {
                if *forward_stroke {
                    self.sheet.stroke_started = Some(true);
                    self.strike(t, Ball::Cue, None, None, None, None);
                }
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
        self.fresh = if keep_overtime { self.sheet.fouls.len().saturating_sub(1) } else { self.sheet.fouls.len() };
        let mut stroke = Stroke::new(by, ball, t, dir, cut_deg);
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
        if !self.sheet.fouls.iter().skip(self.fresh).any(|f| f.rule == foul.rule && f.by == foul.by) {
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
            self.sheet.notices.push(json!({"t": t, "to": "referee", "code": "hold_5s", "until": until}));
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
            _ if passes => Some(if self.out_of_turn(by) { by.other() } else { self.turn.unwrap_or(by).other() }),
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
        let from = open.from.map(|p| p.x()).filter(|_| behind);
        let line = self.line();
        let found = camera_fouls(
            open,
            &self.start,
            &self.tolerances,
            behind,
            placed_wrong.or(from).is_some_and(|x| x >= line - EXACT_M),
            |ball| self.start.balls.get(&Named(ball)).map(|p| point(*p)).is_some_and(|p| p.x() < line - EXACT_M),
        );
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
        if self.sheet.fouls.iter().skip(self.fresh).any(|f| f.rule.starts_with("P6.11") || f.rule == "P6.10") {
            self.sheet.award = Some("ball_in_hand".to_owned());
        }
        if self.start.game_cfg.call_shot {
            let meant = self.call.or_else(|| self.start.obvious.as_ref().map(|o| (*o.ball, *o.pocket)));
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

    // --- the referee

    fn referee(&mut self, t: f64, word: &Refereed) {
        match word {
            Refereed::Foul { foul, by, ball, agent, .. } => self.called(foul, **by, ball.map(|b| *b), agent.as_deref()),
            Refereed::Unsportsmanlike { by, item, penalty } => self.unsportsmanlike(**by, item, penalty.as_deref()),
            Refereed::Conduct { by, item, sanction, .. } => {
                if let Ok(seat) = by.parse() {
                    self.unsportsmanlike(seat, item, sanction.as_deref());
                }
            }
            Refereed::WarnTwoFouls { player } => {
                // Good only from the start of the turn to the tip's contact (P6.14.c).
                if self.turn == Some(**player) && self.open.is_none() {
                    self.warned.insert(**player);
                }
            }
            Refereed::Interference { affected, ball } => self.interference(*affected, ball.map(|b| *b)),
            Refereed::Emergency {} => self.interference(true, None),
            Refereed::CannotRestore {} => self.stalemate(),
            Refereed::SettleAffected { affected } => {
                self.sheet.replay = Some(*affected);
                self.sheet.pending = None;
                if *affected {
                    self.sheet.restore = Restore::Layout("pre_shot");
                    self.sheet.fouls.truncate(self.fresh);
                    self.turn = self.last_by;
                }
            }
            Refereed::Supported { ball, would_fall } => {
                if *would_fall && !self.sheet.pocketed.contains(&ball.to_string()) {
                    self.sheet.pocketed.push(ball.to_string());
                    self.layout.remove(&**ball);
                    // Had it been known at rest, no rail would have been asked for (P6.3).
                    let rail = self.sheet.fouls.iter().skip(self.fresh).position(|f| f.rule == "P6.3");
                    if let Some(n) = rail {
                        self.sheet.fouls.remove(self.fresh + n);
                    }
                }
            }
            Refereed::ForeignContact { ball, would_have_left: true } => {
                if let Some(open) = &mut self.open {
                    open.off_table.insert(**ball);
                }
            }
            Refereed::AnnounceNoProgress {} => {
                self.turns_left = Some([Seat::A, Seat::B].map(|s| (s, STALEMATE_TURNS)).into());
            }
            Refereed::Progress {} => self.turns_left = None,
            Refereed::NoProgress {} => {
                if self.turns_left.as_ref().is_some_and(|left| left.values().all(|n| *n == 0)) {
                    self.stalemate();
                }
            }
            Refereed::ImposeShotLimit { seconds } => {
                self.limit_s = Some(*seconds);
                self.sheet.applies_to = [Seat::A, Seat::B].map(|s| s.to_string()).into();
            }
            Refereed::Suspend {} | Refereed::ForwardToAppeals {} => {
                self.suspended = true;
                self.sheet.suspended = vec![t];
            }
            Refereed::Resume {} => self.resume(t),
            Refereed::AppealResult { overturned } => {
                self.resume(t);
                if *overturned && self.start.pending_foul.is_some() {
                    self.sheet.fouls.clear();
                    self.fresh = 0;
                }
            }
            Refereed::Uphold {} => self.sheet.ruling = Some("upheld"),
            Refereed::Overturn {} => {
                self.sheet.ruling = Some("overturned");
                self.sheet.fouls.truncate(self.fresh);
            }
            Refereed::Placed { ball, pos } => {
                self.layout.insert(**ball, point(*pos));
            }
            Refereed::PlacementOk {} => {
                self.placement_ok = true;
                self.sheet.pending = None;
                let to = self.turn.map(|s| s.to_string());
                self.sheet.notices.push(json!({"to": to, "code": "placement_ok"}));
            }
            Refereed::EquipmentCheck { item, colour_matches_cloth, count, own_similar, amount } => {
                let allowed = match item.as_str() {
                    "own_chalk" | "chalk" => *colour_matches_cloth != Some(false),
                    "bridge" => count.is_none_or(|n| n <= 2) && *own_similar != Some(false),
                    "talc" | "powder" => amount.as_deref() != Some("excessive"),
                    "glove" | "extension" => true,
                    cue => cue.ends_with("cue"),
                };
                if !allowed && item == "bridge" {
                    self.sheet.flag = Some("P6.17.h".to_owned());
                }
                self.checks.push(allowed);
            }
            Refereed::SawUnscrew { by, cue } => {
                let opponent = by.other();
                let racks = self.start.racks.get(&Named(opponent)).copied().unwrap_or(0);
                let deciding = self.start.race_to.is_some_and(|race| racks + 1 == race);
                if cue == "playing" && deciding && self.turn == Some(opponent) {
                    self.end(opponent);
                }
            }
            Refereed::RackWon { by } => self.rack_won(**by),
            _ => {}
        }
    }

    fn resume(&mut self, t: f64) {
        if std::mem::take(&mut self.suspended) && !self.sheet.suspended.is_empty() {
            self.sheet.suspended.push(t);
        }
    }

    fn called(&mut self, foul: &str, by: Seat, ball: Option<Ball>, agent: Option<&str>) {
        let rule = self.rule_of(foul, ball, agent);
        let present = self.open.as_ref().map(|o| o.by);
        // Too late for the stroke before (P6.0.c).
        let late = present.is_some_and(|p| p != by) || (self.last_by.is_some_and(|p| p != by) && self.turn != Some(by) && self.struck);
        if late || !self.start.game_cfg.in_force(rule) {
            self.sheet.rejected.push("foul");
            return;
        }
        self.uncalled.clear();
        self.add(Foul::standard(rule, by));
        if self.open.is_none() {
            if self.last_by != Some(by) {
                self.counted = false;
            }
            self.recount(by);
            self.turn = Some(by.other());
        }
    }

    /// Counts a foul that was called after the stroke had been counted as clean.
    fn recount(&mut self, by: Seat) {
        let first = self.sheet.fouls.len() == self.fresh + 1;
        if self.counted && first {
            let before = self.start.fouls_in_row.get(&Named(by)).copied().unwrap_or(0);
            self.fouls_in_row.insert(by, before);
            self.counted = false;
        }
        self.count(by);
    }

    fn rule_of(&self, foul: &str, ball: Option<Ball>, agent: Option<&str>) -> &'static str {
        let agent = agent.or(self.agent.as_deref());
        let toward_near = self.open.as_ref().and_then(|o| o.dir).is_some_and(|d| match d {
            Direction::TowardBall(b) => self.start.gap_to.contains_key(&Named(b)),
            _ => false,
        });
        match foul {
            "scratch" | "cue_ball_pocketed" | "cue_ball_off_table" => "P6.1",
            "wrong_ball_first" => "P6.2",
            "no_rail" | "no_rail_after_contact" => "P6.3",
            "feet_off_floor" => "P6.4",
            "off_table" | "ball_off_table" => "P6.5",
            "double_hit" | "double_touch" if toward_near => "P6.7.b",
            "double_hit" | "double_touch" => "P6.7.a",
            "push" => "P6.8",
            "balls_moving" | "moving_balls" => "P6.9",
            "bad_placement" | "placement" => "P6.10",
            "cue_on_table" => "P6.12",
            "out_of_turn" => "P6.13.a",
            "slow_play" | "shot_limit" => "P6.15.c",
            "template" => "P6.16",
            "side_of_cue_evident" => "P6.6.b",
            _ => match agent {
                Some("chalk" | "bridge" | "hair" | "body" | "clothing" | "cue_ball_in_hand") => "P6.6.c",
                _ if ball == Some(Ball::Cue) => "P6.6.b",
                _ => "P6.6.a",
            },
        }
    }

    fn unsportsmanlike(&mut self, by: Seat, item: &str, penalty: Option<&str>) {
        let rule = match item {
            "distraction" => "P6.17.1",
            "moved_ball" => "P6.17.2",
            "deliberate_miscue" => "P6.17.3",
            "played_after_call" => "P6.17.4",
            "practice" => "P6.17.5",
            "marking_table" => "P6.17.6",
            "delaying" => "P6.17.7",
            "improper_equipment" => "P6.17.h",
            "deliberate_scoop" => "P8.18.d",
            "intentional_6_11" => "P6.11.c",
            "out_of_turn" => "P6.13.b",
            _ => "P6.17.0",
        };
        // With no penalty stated the usual one is that of a serious foul (P6.17.0).
        let penalty = penalty.unwrap_or("serious_foul");
        self.sheet.conduct.push(Sanction {
            by: by.to_string(),
            rule: rule.to_owned(),
            sanction: Some(penalty.to_owned()),
        });
        self.sheet.fouls.retain(|f| !(rule == "P6.13.b" && f.rule == "P6.13.a"));
        self.sheet.fouls.retain(|f| !(rule == "P6.11.c" && f.rule.starts_with("P6.11")));
        self.fresh = self.fresh.min(self.sheet.fouls.len());
        match penalty {
            "warning" => return,
            "standard_foul" => {
                self.add(Foul::standard(rule, by));
                if self.open.is_none() {
                    self.counted = false;
                    self.count(by);
                }
                return;
            }
            _ => self.add(Foul::serious(rule, by)),
        }
        match penalty {
            "loss_of_rack" => {
                self.sheet.rack = Some("lost");
                self.sheet.winner_rack = Some(by.other().to_string());
            }
            "loss_of_set" => self.sheet.set = Some("lost"),
            "loss_of_match" => self.end(by.other()),
            "disqualification" => {
                self.end(by.other());
                self.sheet.prizes = Some("may_be_withdrawn");
            }
            _ => {}
        }
    }

    fn interference(&mut self, affected: bool, ball: Option<Ball>) {
        self.sheet.replay = Some(affected);
        if !affected {
            if let (Some(ball), Restore::To(spots)) = (ball, &mut self.sheet.restore) {
                let at = self.layout.get(&ball).copied();
                spots.extend(at.map(|p| (ball.to_string(), [p.x(), p.y()])));
            }
            return;
        }
        self.sheet.restore = Restore::Layout("pre_shot");
        if let Some(open) = &mut self.open {
            open.replay = true;
            self.turn = Some(open.by);
        }
    }

    fn stalemate(&mut self) {
        self.sheet.stalemate = true;
        self.sheet.procedure.clone_from(&self.start.game_cfg.stalemate);
    }

    fn end(&mut self, winner: Seat) {
        self.sheet.match_ = Some("over");
        self.sheet.winner = Some(winner.to_string());
    }

    fn rack_won(&mut self, by: Seat) {
        let racks = self.start.racks.entry(Named(by)).or_default();
        *racks += 1;
        let racks = *racks;
        self.sheet.rack = Some("won");
        self.sheet.winner_rack = Some(by.to_string());
        if self.start.race_to.is_some_and(|race| racks >= race) {
            self.end(by);
        }
        let Some(format) = self.start.format.clone() else { return };
        if racks >= format.racks_per_set {
            self.sheet.set = Some("won");
            *self.start.sets.entry(Named(by)).or_default() += 1;
            self.start.racks.clear();
        }
        let sets = |s: Seat| self.start.sets.get(&Named(s)).copied().unwrap_or(0);
        self.sheet.sets = [Seat::A, Seat::B].map(|s| (s.to_string(), sets(s))).into();
        if sets(by) >= format.sets_to_win {
            self.end(by);
        }
    }

    // --- players and clocks

    fn player(&mut self, by: Seat, said: &Said) {
        let before_stroke = self.open.is_none() && !self.struck;
        let own_turn = self.turn.is_none_or(|turn| turn == by);
        let refused = match said {
            Said::Call { ball, pocket } => {
                let good = before_stroke && own_turn && self.call.is_none() && !self.safety;
                if good {
                    self.call = Some((**ball, **pocket));
                    self.sheet.pending = None;
                }
                !good
            }
            Said::CallSafety {} => {
                let good = before_stroke && own_turn && self.call.is_none();
                self.safety |= good;
                !good
            }
            Said::AskCall {} => {
                let shooter = self.turn.unwrap_or(*self.start.shooter).to_string();
                self.sheet.pending = Some(format!("call_from:{shooter}"));
                self.sheet.notices.push(json!({"to": shooter, "code": "state_call"}));
                false
            }
            Said::AskPlacement {} => {
                self.sheet.pending = Some("ref_placement".to_owned());
                false
            }
            Said::RequestSpotNearest {} => {
                self.request_spot_nearest();
                false
            }
            Said::ChooseBall { ball } => {
                let good = self.tied.contains(&**ball);
                if good {
                    self.tied.clear();
                    self.sheet.pending = None;
                    self.respot_nearest(**ball);
                }
                !good
            }
            Said::Concede {} => {
                self.end(by.other());
                false
            }
            Said::AgreeStalemate {} => {
                self.agreed.insert(by);
                if self.agreed.len() == 2 {
                    self.stalemate();
                }
                false
            }
            Said::Protest { kind } => {
                let good = matches!(kind.as_deref(), Some("fact" | "rule"));
                if good {
                    self.sheet.pending = Some("ref_protest".to_owned());
                }
                !good
            }
            Said::DeclineTurn {} => {
                let after_push_out = self.start.previous.as_ref().is_some_and(|p| p.push_out);
                let good = self.start.game_cfg.push_out && after_push_out && own_turn && before_stroke;
                if good {
                    self.turn = Some(by.other());
                }
                !good
            }
            Said::Plea {} | Said::DeclareFrozen { .. } | Said::PushOut {} | Said::ChooseFirst { .. } => false,
            _ => true,
        };
        if refused {
            self.sheet.rejected.push(said.code());
        }
    }

    /// In hand behind the string with every object ball behind it: the nearest one may go to the foot spot (P1.5.d to f).
    fn request_spot_nearest(&mut self) {
        let line = self.line();
        let objects: Vec<(Ball, f64)> = self.layout.iter().filter(|(b, _)| **b != Ball::Cue).map(|(b, p)| (*b, p.x())).collect();
        let all_behind = !objects.is_empty() && objects.iter().all(|(_, x)| *x < line - EXACT_M);
        let granted = self.behind_string() && all_behind;
        self.sheet.granted = Some(granted);
        if !granted {
            return;
        }
        let nearest = objects.iter().map(|(_, x)| *x).fold(f64::NEG_INFINITY, f64::max);
        let equal = objects.iter().filter(|(_, x)| nearest - x < self.tolerances.lag_eye_m);
        self.tied = equal.map(|(b, _)| *b).collect();
        if let [only] = self.tied[..] {
            self.tied.clear();
            self.respot_nearest(only);
        } else {
            self.sheet.pending = Some("choose_ball".to_owned());
        }
    }

    fn respot_nearest(&mut self, ball: Ball) {
        self.layout.remove(&ball);
        self.spot_all(&mut [ball]);
    }

    fn clock(&mut self, t: f64, clock: &Clocked) {
        match clock {
            Clocked::TurnStart { player } => {
                self.turn = Some(**player);
                self.warned.remove(&**player);
                self.free_since = Some(t);
            }
            Clocked::TurnEnd { player } => {
                if let Some(n) = self.turns_left.as_mut().and_then(|left| left.get_mut(&**player)) {
                    *n = n.saturating_sub(1);
                }
                *self.sheet.turns_completed.entry(player.to_string()).or_default() += 1;
                self.turn = Some(player.other());
            }
            Clocked::NewRack {} => {
                if self.start.game_cfg.scored_by.as_deref() != Some("points") {
                    self.fouls_in_row.clear();
                    self.start.fouls_in_row.clear();
                }
            }
            Clocked::SlowPlay { player } => self.sheet.hint(format!("slow_play:{}", **player)),
            Clocked::Tick {} => {
                let over = self.limit_s.zip(self.free_since).is_some_and(|(limit, since)| t > since + limit);
                if over && self.open.is_none() && !self.overtime {
                    let by = self.turn.unwrap_or(*self.start.shooter);
                    self.overtime = true;
                    self.camera_foul("P6.15.c", by);
                }
            }
            Clocked::WarmupStart { .. } => {}
        }
    }
}
