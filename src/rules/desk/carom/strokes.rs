//! What the camera sees at a carom desk: strokes, from the tip's contact to the last ball at rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{CaromDesk, How, NEAR_GAP_M, Open, Played, RailTouch, event, layout, named, point, review_of, spots};
use crate::ball::Ball;
use crate::events::{EventKind, ShotKind};
use crate::rules::carom::scoring::{self, Scoring};
use crate::rules::desk::facts::{Direction, Named, Seen};
use crate::rules::desk::respot::{Layout, respot};
use crate::rules::desk::sheet::Restore;
use crate::rules::reason::{Miss, Reason, Unclear};
use crate::rules::ruling::Decision;
use crate::rules::seat::Seat;
use crate::rules::setup::{Authority, Profile, TieRuling};
use crate::rules::stroke::Stroke;
use crate::space::TablePoint;

impl CaromDesk {
    pub(super) fn seen(&mut self, t: f64, seen: &Seen) {
        match seen {
            Seen::CueStrike {
                ball,
                by,
                dir,
                intent,
                style,
                ..
            } => {
                let how = How {
                    dir: dir.map(|d| *d),
                    preliminary: intent.as_deref() == Some("preliminary"),
                    masse: style.as_deref() == Some("masse"),
                };
                self.strike(t, **ball, by.map(|s| *s), how);
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
                let touch = RailTouch {
                    ball: **ball,
                    rail: **rail,
                    end: t_end.unwrap_or(t).max(t),
                    unreleased: released_m.is_some_and(|m| m < self.profile.tolerances.rail_release_m),
                    at_start: *at_start,
                    confidence: *confidence,
                    t_err: *t_err,
                };
                self.rail(t, touch);
            }
            Seen::RailTop { ball, rail } => {
                // A hop on a rail belongs to the touch before it (C5.19).
                let touch = RailTouch {
                    ball: **ball,
                    rail: **rail,
                    end: t,
                    unreleased: true,
                    at_start: false,
                    confidence: None,
                    t_err: None,
                };
                self.rail(t, touch);
            }
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

    pub(super) fn strike(&mut self, t: f64, ball: Ball, by: Option<Seat>, how: How) {
        if !self.in_play() {
            return;
        }
        if self.suspended {
            self.sheet.ignored_strikes.push(t);
            return;
        }
        if self.open.is_some() {
            // Who strikes into a running stroke is told by his ball, when nobody names him.
            let by = by.or_else(|| self.balls.owner(&ball)).unwrap_or(self.turn);
            self.strike_while_moving(by);
            return;
        }
        let by = by.unwrap_or(self.turn);
        let serve = self.start.serve && self.played.is_empty();
        if !self.marks.is_empty() {
            self.sheet.hint("marking_suspected");
        }
        self.hint_at_near(ball, how.dir);
        self.sheet.pending = None;
        self.respot_asked = None;
        self.played.push(Played { by, ball, points: 0 });
        let mut open = Open {
            by,
            ball,
            serve,
            preliminary: how.preliminary,
            masse: how.masse,
            dir: how.dir,
            events: vec![event(t, EventKind::CueStrike { ball }, None, None)],
            last_rail: BTreeMap::new(),
            jumped: BTreeSet::new(),
            interfered: BTreeSet::new(),
            touched: BTreeSet::new(),
            separated: false,
            fouled: false,
            replay: false,
            rests: Layout::new(),
            declared: None,
        };
        let into = match how.dir {
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

    /// The stroke before is not over: a double touch, and it does not score (C6.3.h); after a nudge, C6.3.f.
    pub(super) fn strike_while_moving(&mut self, by: Seat) {
        let Some(open) = &mut self.open else { return };
        let (fouled, nudge) = (open.fouled, open.preliminary);
        open.fouled = true;
        match (fouled, nudge) {
            (true, _) => {}
            (false, true) => self.second_touch(by),
            (false, false) => self.foul("C6.3.h", by),
        }
    }

    /// The nudge before a stroke, then a second touch: the stroke is void, the layout is what the nudge made of it (C6.3.f).
    pub(super) fn second_touch(&mut self, by: Seat) {
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
    pub(super) fn hint_at_near(&mut self, ball: Ball, dir: Option<Direction>) {
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

    pub(super) fn contact(&mut self, t: f64, a: Ball, b: Ball, confidence: Option<f64>, t_err: Option<f64>) {
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

    fn rail(&mut self, t: f64, touch: RailTouch) {
        let RailTouch {
            ball, rail, at_start, ..
        } = touch;
        let resting = self.frozen_rails.get(&ball) == Some(&rail);
        let Some(open) = &mut self.open else { return };
        if open.jumped.contains(&ball) {
            return;
        }
        open.touched.insert(ball);
        let last = open.last_rail.insert(ball, (rail, touch.end));
        let goes_on = last.is_some_and(|(r, until)| r == rail && (touch.unreleased || until >= t));
        // The rail that it lay on when the stroke began is no touch until it leaves and comes back (C6.3.b).
        if !(goes_on || (at_start && (resting || last.is_none()))) {
            open.events
                .push(event(t, EventKind::Rail { ball, rail }, touch.confidence, touch.t_err));
        }
    }

    pub(super) fn jump(&mut self, ball: Ball, clause: &'static str) {
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

    pub(super) fn moved_by_hand(&mut self, ball: Ball, from: Option<[f64; 2]>, agent: Option<&str>) {
        // Who stops a dead ball does his duty (C5.20).
        let dead = self.open.as_ref().is_some_and(|o| o.jumped.contains(&ball));
        if !self.in_play() || dead || agent == Some("referee_hand") {
            return;
        }
        self.put_back(ball, from.map(point));
    }

    /// Notes that a ball goes back to where it lay.
    pub(super) fn put_back(&mut self, ball: Ball, from: Option<TablePoint>) {
        let Some(place) = from.or_else(|| self.layout.get(&ball).copied()) else {
            return;
        };
        if let Restore::To(spots) = &mut self.sheet.restore {
            spots.insert(ball.to_string(), [place.x(), place.y()]);
        }
    }

    pub(super) fn all_rest(&mut self, frozen: Option<&Vec<Vec<Named<Ball>>>>) {
        // A nudge is no stroke yet: a second touch, or the referee, says what it was (C6.3.f).
        let nudge = self.open.as_ref().is_some_and(|o| o.preliminary && !o.fouled);
        let Some(open) = self.open.take_if(|_| !nudge) else { return };
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

    pub(super) fn judge(&mut self, open: &Open) {
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
    pub(super) fn conclude(&mut self, by: Seat, scored: bool) {
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

    pub(super) fn end(&mut self, winner: Seat) {
        self.sheet.match_ = Some("over");
        self.sheet.winner = Some(winner.to_string());
    }

    pub(super) fn assess(&self, open: &Open) -> scoring::Assessment {
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
    pub(super) fn settle_jumped(&mut self, open: &Open) {
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

    pub(super) fn spot(&mut self, moved: &[Ball]) {
        let own = *self.balls.get(self.turn);
        let placed = respot(moved, &self.layout, own, &self.table, self.profile.tolerances.spot_clear_m);
        self.sheet.respot.extend(spots(&placed));
        self.layout.extend(placed);
    }
}
