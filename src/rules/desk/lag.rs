//! The desk for a lag: who wins it, who serves with which ball (C2, P1.2).

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::carom::event;
use super::facts::{Fact, Named, Places, Refereed, Said, Seen, What};
use super::sheet::Sheet;
use crate::ball::Ball;
use crate::events::{EventKind, ShotKind};
use crate::rules::carom::lag::{self, LAG_BALLS};
use crate::rules::reason::LagReason;
use crate::rules::seat::Seat;
use crate::rules::setup::{CueBallChoice, Profile, TieRuling};
use crate::rules::stroke::{Crossing, HeadDistance, Stroke};
use crate::table::{Rail, Table};
use crate::units::Timestamp;

/// How far a lag ball may stand from its place before the referee is told, metres: a third of a ball's radius, plain to see.
const SETUP_OFF_M: f64 = 0.01;

/// How a lag desk starts, as written in a case. In pool the two balls go by `white` for A's and `yellow` for B's.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Start {
    pub cue_balls: BTreeMap<Named<Seat>, Named<Ball>>,
    #[serde(default)]
    pub lanes: BTreeMap<Named<Ball>, Named<Rail>>,
    #[serde(default)]
    pub balls: Places,
    pub side_spot_offset: Option<f64>,
    pub attempt: Option<u32>,
}

/// A lag desk, for carom or, with `pool`, by P1.2.
#[derive(Debug, Clone)]
pub struct LagDesk {
    table: Table,
    profile: Profile,
    pool: bool,
    start: Start,
    stroke: Stroke,
    last_rail: BTreeMap<Ball, (Rail, f64)>,
    fouls: BTreeSet<Ball>,
    past_nose: BTreeSet<Ball>,
    gone: BTreeSet<Ball>,
    cannot_tell: bool,
    sheet: Sheet,
}

impl LagDesk {
    /// A desk for one lag.
    pub fn new(table: Table, profile: Profile, pool: bool, start: Start) -> Self {
        let profile = Profile {
            tie: TieRuling::NoPoint,
            ..profile
        };
        let stroke = Stroke {
            no: 1,
            kind: ShotKind::Lag,
            cue_ball: None,
            events: Vec::new(),
            unsure_orders: Vec::new(),
            before: crate::events::Layout::new(),
            crossings: Vec::new(),
            head_distance: Vec::new(),
            flags: Vec::new(),
            blind_from: None,
        };
        let mut desk = Self {
            table,
            profile,
            pool,
            start,
            stroke,
            last_rail: BTreeMap::new(),
            fouls: BTreeSet::new(),
            past_nose: BTreeSet::new(),
            gone: BTreeSet::new(),
            cannot_tell: false,
            sheet: Sheet::default(),
        };
        if !pool {
            desk.check_setup();
        }
        desk
    }

    fn owner(&self, ball: Ball) -> Option<Seat> {
        self.start.cue_balls.iter().find(|(_, b)| ***b == ball).map(|(s, _)| **s)
    }

    fn ball_of(&self, seat: Seat) -> Option<Ball> {
        self.start.cue_balls.get(&Named(seat)).map(|b| **b)
    }

    /// Each ball midway between side spot and side rail, red on the foot spot (C2.2).
    fn check_setup(&mut self) {
        let aside_m = self.start.side_spot_offset.unwrap_or(self.profile.side_spot_m);
        let lag_y = f64::midpoint(self.table.width_m / 2.0, aside_m);
        let mut valid = true;
        for (ball, at) in &self.start.balls {
            let target = match self.start.lanes.get(ball).map(|r| **r) {
                Some(Rail::Left) => [self.table.head_spot().x(), lag_y],
                Some(Rail::Right) => [self.table.head_spot().x(), -lag_y],
                _ if **ball == Ball::Red => [self.table.foot_spot().x(), 0.0],
                _ => continue,
            };
            if (at[0] - target[0]).hypot(at[1] - target[1]) > SETUP_OFF_M {
                valid = false;
                let notice = json!({"to": "referee", "code": "lag_setup_off", "ball": ball.to_string(), "target": target});
                self.sheet.notices.push(notice);
            }
        }
        self.sheet.setup_valid = Some(valid);
    }

    /// Takes the next fact, in time order.
    pub fn take(&mut self, fact: &Fact) {
        match &fact.what {
            What::Camera(seen) => self.seen(fact.t, seen),
            What::Referee(Refereed::Foul { by, .. }) => {
                let ball = self.ball_of(**by);
                self.fouls.extend(ball);
            }
            What::Referee(Refereed::CannotTell {}) => self.cannot_tell = true,
            What::Referee(Refereed::DrawLots { server }) => {
                if self.judge().lots {
                    self.serve(**server);
                } else {
                    self.sheet.rejected.push("draw_lots");
                }
            }
            What::Player(by, said) => self.player(*by, said),
            _ => {}
        }
    }

    fn seen(&mut self, t: f64, seen: &Seen) {
        let mut add = |kind, confidence, t_err| self.stroke.events.push(event(t, kind, confidence, t_err));
        match seen {
            Seen::CueStrike { ball, .. } => add(EventKind::CueStrike { ball: **ball }, None, None),
            Seen::BallBall { a, b, confidence, t_err } => {
                self.last_rail.remove(&**a);
                self.last_rail.remove(&**b);
                add(EventKind::contact(**a, **b), *confidence, *t_err);
            }
            Seen::Rail {
                ball,
                rail,
                t_end,
                released_m,
                confidence,
                t_err,
                ..
            } => {
                let same = released_m.is_some_and(|m| m <= self.profile.tolerances.rail_release_m);
                let last = self.last_rail.insert(**ball, (**rail, t_end.unwrap_or(t)));
                // A ride or a bounce is one touch (C4.6 by analogy).
                if !last.is_some_and(|(r, until)| r == **rail && (same || until >= t)) {
                    add(
                        EventKind::Rail {
                            ball: **ball,
                            rail: **rail,
                        },
                        *confidence,
                        *t_err,
                    );
                }
            }
            Seen::RailTop { ball, rail } => {
                let last = self.last_rail.insert(**ball, (**rail, t));
                if last.is_none_or(|(r, _)| r != **rail) {
                    add(
                        EventKind::Rail {
                            ball: **ball,
                            rail: **rail,
                        },
                        None,
                        None,
                    );
                }
            }
            Seen::Frame { ball } | Seen::OffTable { ball } => {
                self.gone.insert(**ball);
                add(EventKind::OffTable { ball: **ball }, None, None);
            }
            Seen::Pocketed { ball, .. } => {
                self.gone.insert(**ball);
            }
            Seen::LineCross { ball, line, .. } if line == "long_string" => {
                let at = Timestamp::saturating(t);
                self.stroke.crossings.push(Crossing { at, ball: **ball });
            }
            Seen::BallRest { ball, pos, in_jaws, on } => {
                let distance_m = pos[0] + self.table.length_m / 2.0;
                if in_jaws.is_some() && distance_m < 0.0 {
                    self.past_nose.insert(**ball);
                }
                if on.as_deref() == Some("rail_top") {
                    self.gone.insert(**ball);
                    add(EventKind::OffTable { ball: **ball }, None, None);
                }
                let rest = HeadDistance {
                    distance_m,
                    sigma_m: 0.0,
                };
                self.stroke.head_distance.push((**ball, rest));
            }
            _ => {}
        }
    }

    fn player(&mut self, by: Seat, said: &Said) {
        let winner = self.judge().winner;
        let won = winner == Some(by.to_string());
        let refused = match said {
            Said::ChooseServer { server } if won => {
                self.serve(**server);
                false
            }
            Said::ChooseCueBall { ball } if won && self.profile.cue_ball_choice == CueBallChoice::LagWinner => {
                self.assign(by, **ball);
                false
            }
            Said::ChooseFirst { first } if won => {
                self.sheet.first_to_play = Some(first.to_string());
                false
            }
            _ => true,
        };
        if refused {
            self.sheet.rejected.push(said.code());
        }
    }

    fn serve(&mut self, server: Seat) {
        self.sheet.server = Some(server.to_string());
        if self.profile.cue_ball_choice == CueBallChoice::ServerWhite {
            self.assign(server, Ball::White);
        }
    }

    fn assign(&mut self, seat: Seat, ball: Ball) {
        let other = if ball == Ball::White { Ball::Yellow } else { Ball::White };
        self.sheet.cue_balls = [
            (seat.to_string(), ball.to_string()),
            (seat.other().to_string(), other.to_string()),
        ]
        .into();
    }

    /// The answers after all facts so far.
    pub fn sheet(&self) -> Sheet {
        let mut sheet = self.judge();
        // In carom nobody may measure (C2.14): what the eye cannot tell is never said in figures.
        sheet.cue_balls = if self.sheet.cue_balls.is_empty() {
            self.start
                .cue_balls
                .iter()
                .map(|(s, b)| (s.to_string(), b.to_string()))
                .collect()
        } else {
            self.sheet.cue_balls.clone()
        };
        sheet.next_choice = match &sheet.winner {
            Some(winner) if sheet.server.is_none() => json!({"by": winner, "what": if self.pool { "first" } else { "server" }}),
            _ => json!(null),
        };
        sheet
    }

    fn judge(&self) -> Sheet {
        if self.pool { self.judge_pool() } else { self.judge_carom() }
    }

    fn judge_carom(&self) -> Sheet {
        let mut sheet = self.sheet.clone();
        let mut stroke = self.stroke.clone();
        drop_what_the_other_caused(&mut stroke);
        stroke.events.sort_by_key(|e| e.at);
        let found = lag::assess(&stroke, &self.profile);
        let mut faults = found.faults.clone();
        for (list, ball) in faults.iter_mut().zip(LAG_BALLS) {
            if self.fouls.contains(&ball) && !list.contains(&"C2.9") {
                list.push("C2.9");
            }
            // A ball off the table is one fault; that it never came back is none.
            if self.gone.contains(&ball) {
                list.retain(|f| *f != "C2.3");
            }
        }
        let winner = match (faults[0].is_empty(), faults[1].is_empty()) {
            (false, false) => None,
            (false, true) => Some(Ball::Yellow),
            (true, false) => Some(Ball::White),
            (true, true) if self.cannot_tell => None,
            (true, true) => match found.outcome {
                Ok(LagReason::Nearer(ball)) => Some(ball),
                _ => None,
            },
        };
        for (list, ball) in faults.iter().zip(LAG_BALLS) {
            if let Some(seat) = self.owner(ball) {
                sheet
                    .faults
                    .insert(seat.to_string(), list.iter().map(|&f| f.to_owned()).collect());
            }
        }
        let undecided = winner.is_none() && !self.stroke.events.is_empty();
        let lots = self
            .profile
            .lots_after_lags
            .is_some_and(|n| self.start.attempt.unwrap_or(1) >= n);
        sheet.winner = winner.and_then(|b| self.owner(b)).map(|s| s.to_string());
        sheet.lots = undecided && lots;
        sheet.relag = undecided && !lots;
        sheet
    }

    fn judge_pool(&self) -> Sheet {
        let mut sheet = self.sheet.clone();
        let events = &self.stroke.events;
        let foot = |ball| EventKind::Rail { ball, rail: Rail::Foot };
        let first = |kind: EventKind| events.iter().find(|e| e.kind == kind).map(|e| e.at);
        let mut late = false;
        let mut bad = [false, false];
        for (n, ball) in LAG_BALLS.into_iter().enumerate() {
            let other = LAG_BALLS[1 - n];
            let count = |kind: EventKind| events.iter().filter(|e| e.kind == kind).count();
            let long = [Rail::Left, Rail::Right]
                .map(|rail| count(EventKind::Rail { ball, rail }))
                .iter()
                .sum::<usize>()
                > 0;
            let crossed = self.stroke.crossings.iter().any(|c| c.ball == ball);
            let tests = [
                (crossed, "P1.2.a"),
                (count(foot(ball)) > 1, "P1.2.b"),
                (self.gone.contains(&ball), "P1.2.c"),
                (long, "P1.2.d"),
                (self.past_nose.contains(&ball), "P1.2.e"),
                (self.fouls.contains(&ball), "P1.2.f"),
                (
                    !events.is_empty() && count(foot(ball)) == 0 && !self.gone.contains(&ball),
                    "P1.2.s",
                ),
            ];
            let found: Vec<String> = tests
                .into_iter()
                .filter(|(bad, _)| *bad)
                .map(|(_, rule)| rule.to_owned())
                .collect();
            bad[n] = !found.is_empty();
            if let Some(seat) = self.owner(ball) {
                sheet.faults.insert(seat.to_string(), found);
            }
            let window_s = self.profile.tolerances.simul_window_s;
            if let (Some(struck), Some(touched)) = (first(EventKind::CueStrike { ball }), first(foot(other))) {
                late |= struck.since(touched) > window_s;
            }
        }
        let distance = |ball| {
            self.stroke
                .head_distance
                .iter()
                .find(|(b, _)| *b == ball)
                .map(|(_, d)| d.distance_m)
        };
        let winner = match bad {
            _ if late => None,
            [true, true] => None,
            [true, false] => Some(Ball::Yellow),
            [false, true] => Some(Ball::White),
            [false, false] if self.cannot_tell => None,
            [false, false] => match (distance(Ball::White), distance(Ball::Yellow)) {
                (Some(w), Some(y)) if w < y => Some(Ball::White),
                (Some(w), Some(y)) if y < w => Some(Ball::Yellow),
                _ => None,
            },
        };
        sheet.winner = winner.and_then(|b| self.owner(b)).map(|s| s.to_string());
        sheet.relag = winner.is_none() && !events.is_empty();
        sheet
    }
}

/// What a ball did after a collision that the other one caused by crossing is not its player's fault (C2.8).
fn drop_what_the_other_caused(stroke: &mut Stroke) {
    let hit = EventKind::contact(Ball::White, Ball::Yellow);
    let Some(at) = stroke.events.iter().find(|e| e.kind == hit).map(|e| e.at) else {
        return;
    };
    let crossed = |ball| stroke.crossings.iter().filter(|c| c.ball == ball && c.at <= at).count() % 2 == 1;
    let victim = match LAG_BALLS.map(crossed) {
        [true, false] => Ball::Yellow,
        [false, true] => Ball::White,
        _ => return,
    };
    stroke
        .events
        .retain(|e| e.at <= at || e.kind == hit || !e.kind.involves(victim));
}
