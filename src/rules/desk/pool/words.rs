//! What people and clocks say at a pool desk: calls, fouls, sanctions, protests, requests.

use serde_json::json;

use super::{EXACT_M, PoolDesk, STALEMATE_TURNS, point};
use crate::ball::Ball;
use crate::rules::desk::facts::{Clocked, Direction, Named, Refereed, Said};
use crate::rules::desk::sheet::{Foul, Restore, Sanction};
use crate::rules::seat::Seat;

impl PoolDesk {
    pub(super) fn referee(&mut self, t: f64, word: &Refereed) {
        match word {
            Refereed::Foul {
                foul, by, ball, agent, ..
            } => self.called(foul, **by, ball.map(|b| *b), agent.as_deref()),
            Refereed::Unsportsmanlike { by, item, penalty } => self.unsportsmanlike(**by, item, penalty.as_deref()),
            Refereed::Conduct { by, item, sanction, .. } => {
                if let Ok(seat) = by.parse() {
                    self.unsportsmanlike(seat, item, sanction.as_deref());
                }
            }
            // Good only from the start of the turn to the tip's contact (P6.14.c).
            Refereed::WarnTwoFouls { player } if self.turn == Some(**player) && self.open.is_none() => {
                self.warned.insert(**player);
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
            Refereed::Supported { ball, would_fall: true } => {
                let name = ball.to_string();
                let known = self.sheet.pocketed.contains(&name);
                if !known {
                    self.sheet.pocketed.push(ball.to_string());
                    self.layout.remove(&**ball);
                    // Had it been known at rest, no rail would have been asked for (P6.3).
                    let rail = self.sheet.fouls.iter().skip(self.fresh).position(|f| f.rule == "P6.3");
                    if let Some(n) = rail {
                        self.sheet.fouls.remove(self.fresh + n);
                    }
                }
            }
            Refereed::ForeignContact {
                ball,
                would_have_left: true,
            } => {
                if let Some(open) = &mut self.open {
                    open.off_table.insert(**ball);
                }
            }
            Refereed::AnnounceNoProgress {} => {
                self.turns_left = Some([Seat::A, Seat::B].map(|s| (s, STALEMATE_TURNS)).into());
            }
            Refereed::Progress {} => self.turns_left = None,
            Refereed::NoProgress {} if self.turns_left.as_ref().is_some_and(|left| left.values().all(|n| *n == 0)) => {
                self.stalemate();
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
            Refereed::EquipmentCheck {
                item,
                colour_matches_cloth,
                count,
                own_similar,
                amount,
            } => {
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

    pub(super) fn resume(&mut self, t: f64) {
        if std::mem::take(&mut self.suspended) && !self.sheet.suspended.is_empty() {
            self.sheet.suspended.push(t);
        }
    }

    pub(super) fn called(&mut self, foul: &str, by: Seat, ball: Option<Ball>, agent: Option<&str>) {
        let rule = self.rule_of(foul, ball, agent);
        let present = self.open.as_ref().map(|o| o.by);
        // Too late for the stroke before (P6.0.c).
        let late =
            present.is_some_and(|p| p != by) || (self.last_by.is_some_and(|p| p != by) && self.turn != Some(by) && self.struck);
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
    pub(super) fn recount(&mut self, by: Seat) {
        let first = self.sheet.fouls.len() == self.fresh + 1;
        if self.counted && first {
            let before = self.start.fouls_in_row.get(&Named(by)).copied().unwrap_or(0);
            self.fouls_in_row.insert(by, before);
            self.counted = false;
        }
        self.count(by);
    }

    pub(super) fn rule_of(&self, foul: &str, ball: Option<Ball>, agent: Option<&str>) -> &'static str {
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

    pub(super) fn unsportsmanlike(&mut self, by: Seat, item: &str, penalty: Option<&str>) {
        let rule = unsportsmanlike_rule(item);
        // With no penalty stated the usual one is that of a serious foul (P6.17.0).
        let penalty = penalty.unwrap_or("serious_foul");
        self.sheet.conduct.push(Sanction {
            by: by.to_string(),
            rule: rule.to_owned(),
            sanction: Some(penalty.to_owned()),
        });
        self.sheet.fouls.retain(|f| !(rule == "P6.13.b" && f.rule == "P6.13.a"));
        self.sheet
            .fouls
            .retain(|f| !(rule == "P6.11.c" && f.rule.starts_with("P6.11")));
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

    pub(super) fn interference(&mut self, affected: bool, ball: Option<Ball>) {
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

    pub(super) fn stalemate(&mut self) {
        self.sheet.stalemate = true;
        self.sheet.procedure.clone_from(&self.start.game_cfg.stalemate);
    }

    pub(super) fn end(&mut self, winner: Seat) {
        self.sheet.match_ = Some("over");
        self.sheet.winner = Some(winner.to_string());
    }

    pub(super) fn rack_won(&mut self, by: Seat) {
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

    pub(super) fn player(&mut self, by: Seat, said: &Said) {
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
    pub(super) fn request_spot_nearest(&mut self) {
        let line = self.line();
        let objects: Vec<(Ball, f64)> = self
            .layout
            .iter()
            .filter(|(b, _)| **b != Ball::Cue)
            .map(|(b, p)| (*b, p.x()))
            .collect();
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

    pub(super) fn respot_nearest(&mut self, ball: Ball) {
        self.layout.remove(&ball);
        self.spot_all(&mut [ball]);
    }

    pub(super) fn clock(&mut self, t: f64, clock: &Clocked) {
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
                let over = self
                    .limit_s
                    .zip(self.free_since)
                    .is_some_and(|(limit, since)| t > since + limit);
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

/// The clause of unsportsmanlike conduct that the referee named, told by its key word.
fn unsportsmanlike_rule(item: &str) -> &'static str {
    const ITEMS: [(&str, &[&str]); 11] = [
        ("P6.11.c", &["6_11"]),
        ("P6.13.b", &["out_of_turn"]),
        ("P8.18.d", &["scoop"]),
        ("P6.17.3", &["miscue"]),
        ("P6.17.1", &["distract"]),
        ("P6.17.4", &["after_call", "after_foul", "suspen"]),
        ("P6.17.2", &["moved", "moving", "touched", "position"]),
        ("P6.17.5", &["practi"]),
        ("P6.17.6", &["mark"]),
        ("P6.17.7", &["delay", "slow"]),
        ("P6.17.h", &["equipment"]),
    ];
    let found = ITEMS.iter().find(|(_, words)| words.iter().any(|w| item.contains(w)));
    found.map_or("P6.17.0", |(rule, _)| rule)
}
