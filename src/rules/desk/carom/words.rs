//! What people and clocks say at a carom desk: fouls, points, wrong balls, requests, conduct.

use std::collections::BTreeSet;

use serde_json::json;

use super::{CaromDesk, HABIT_STROKES, LATEST_ARRIVAL_S, WARMUP_WARNING_S, spots};
use crate::ball::{Ball, CAROM_BALLS};
use crate::rules::desk::facts::{Clocked, Direction, Named, Refereed, Said};
use crate::rules::desk::respot::Layout;
use crate::rules::desk::sheet::{Foul, Restore, Sanction};
use crate::rules::seat::Seat;
use crate::space::TablePoint;

impl CaromDesk {
    /// The foul costs the turn, and the stroke, while it is open, its point (C4.11, C4.13).
    pub(super) fn foul(&mut self, rule: &str, by: Seat) {
        self.sheet.fouls.push(Foul::standard(rule, by));
        self.turn = by.other();
        if let Some(open) = &mut self.open {
            open.fouled = true;
            self.sheet.point = json!(false);
            self.sheet.pending = None;
        }
    }

    /// Balls in a frozen group with `ball`.
    pub(super) fn frozen_with(&self, ball: Ball) -> BTreeSet<Ball> {
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

    pub(super) fn referee(&mut self, t: f64, word: &Refereed) {
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
    pub(super) fn rule_of(&self, foul: &str, agent: Option<&str>, kind: Option<&str>) -> &'static str {
        let named = |words: &[&str]| words.iter().any(|w| foul.contains(w));
        if named(&["double", "second_touch", "illicit"]) {
            return match foul {
                _ if named(&["second_touch", "illicit"]) => "C6.3.f",
                _ if self.played_into_frozen() => "C6.3.b",
                _ => "C6.3.a",
            };
        }
        if named(&["moving"]) {
            return "C6.3.h";
        }
        if named(&["push"]) {
            return "C6.5.a";
        }
        if named(&["shoe"]) {
            return "C6.6.d";
        }
        if named(&["feet", "foot"]) {
            return "C6.6.a";
        }
        if named(&["jolt", "blow", "wind", "fan"]) || matches!(agent, Some("breath" | "palm" | "wind" | "jolt")) {
            return "C6.4.c";
        }
        if named(&["jump"]) {
            return "C5.12";
        }
        if named(&["wrong_ball"]) {
            return "C6.7.b";
        }
        if named(&["mark"]) {
            return match kind.or(self.marks.last().map(String::as_str)) {
                Some("sweat" | "chalk_dust" | "dust" | "hand" | "powder" | "fingerprint") => "C6.8.c",
                Some(_) => "C6.8.b",
                None => "C6.8.a",
            };
        }
        // Anything but the front face of the tip (C6.4.a).
        "C6.4.b"
    }

    pub(super) fn played_into_frozen(&self) -> bool {
        let Some(open) = &self.open else { return false };
        match open.dir {
            Some(Direction::TowardBall(b)) => self.frozen_with(open.ball).contains(&b),
            Some(Direction::TowardRail(r)) => self.frozen_rails.get(&open.ball) == Some(&r),
            _ => false,
        }
    }

    /// A ball touched at rest goes back to its place, a moving one to where it would have stopped (C6.4.d).
    pub(super) fn restore_after_touch(&mut self, ball: Option<Ball>, open: bool) {
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

    pub(super) fn declare(&mut self, point: bool) {
        if let Some(open) = &mut self.open {
            open.declared = Some(point);
        } else if self.sheet.point == json!("proposed") || self.sheet.verdict == Some("unclear") {
            if let Some(by) = self.played.last().map(|p| p.by) {
                self.conclude(by, point);
            }
        } else if !point
            && self.sheet.point == json!(true)
            && let Some(by) = self.void_last()
        {
            self.conclude(by, false);
        }
    }

    pub(super) fn emergency(&mut self) {
        if let Some(open) = &mut self.open {
            open.replay = true;
            self.sheet.restore = Restore::Layout("pre_shot");
            self.sheet.replay = Some(true);
        }
    }

    /// Takes back the points of the most recent stroke; who played it.
    pub(super) fn void_last(&mut self) -> Option<Seat> {
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
    pub(super) fn raise_wrong_ball(&mut self, offender: Seat) -> bool {
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

    pub(super) fn conduct(&mut self, by: &str, item: &str, sanction: Option<&str>, authority: Option<&str>) {
        let letter = conduct_letter(item);
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

    pub(super) fn player(&mut self, by: Seat, said: &Said) {
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

    pub(super) fn choose_side_spot(&mut self, by: Seat, side: &str) -> bool {
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

    pub(super) fn clock(&mut self, t: f64, clock: &Clocked) {
        match clock {
            Clocked::WarmupStart { player } => self.warmup = Some((**player, t, 0)),
            Clocked::SlowPlay { player } if self.is_habit(**player) => {
                self.sheet.hint(format!("habitual_delay:{}", **player));
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
    pub(super) fn is_habit(&self, player: Seat) -> bool {
        let times = |s: Seat| self.start.shot_times_s.get(&Named(s)).cloned().unwrap_or_default();
        let (own, mut other) = (times(player), times(player.other()));
        other.sort_by(f64::total_cmp);
        let usual_s = other.get(other.len() / 2).copied().unwrap_or(0.0);
        let slow = own.iter().filter(|&&s| s > 2.0 * usual_s).count();
        own.len() >= HABIT_STROKES && slow * 2 > own.len()
    }
}

/// The item of C7.3 that the referee named, told by its key word; what is none of them is improper behaviour (f).
fn conduct_letter(item: &str) -> &'static str {
    const ITEMS: [(&str, &[&str]); 8] = [
        ("a", &["dress", "attire", "cloth"]),
        ("b", &["deliberate", "intentional"]),
        ("g", &["reconsider", "repeated"]),
        ("c", &["slow", "delay", "interval", "time"]),
        ("d", &["seat"]),
        ("e", &["noise", "loud", "voice"]),
        ("h", &["block", "view", "path"]),
        ("i", &["disturb", "spectator"]),
    ];
    let found = ITEMS.iter().find(|(_, words)| words.iter().any(|w| item.contains(w)));
    found.map_or("f", |(letter, _)| letter)
}
