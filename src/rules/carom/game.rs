//! A carom match: turns, cue balls, score and innings on top of [`super::scoring`].
//!
//! What a camera sees is who was struck; whose turn it is follows from the rulings. After a review the turn is unknown, and
//! the next struck ball tells who played, but never what an earlier stroke scored. A struck ball that is not the turn's is
//! never raised as a wrong ball (C6.7): before the stroke nobody may be told (C6.7.d), afterwards people raise it. It goes to
//! review, for an earlier ruling may be what is wrong.

use super::lag::{self, LagAssessment};
use super::scoring::{self, Assessment, Scoring};
use super::serve;
use crate::ball::Ball;
use crate::events::ShotKind;
use crate::rules::engine::{Game, Input, Outcome};
use crate::rules::reason::{Reason, Unclear};
use crate::rules::ruling::{Decision, Ruling, Wording};
use crate::rules::seat::{BySeat, Seat};
use crate::rules::setup::{Authority, MatchSetup};
use crate::rules::standing::Standing;
use crate::rules::stroke::Stroke;
use crate::table::Table;
use crate::units::Confidence;

/// A carom game whose strokes score by rails before the second ball.
#[derive(Debug, Clone)]
pub struct Carom {
    table: Table,
    setup: MatchSetup,
    scoring: Scoring,
}

/// What the past strokes of a carom match mean for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaromState {
    /// Score, innings, turn.
    pub standing: Standing,
    /// Who played last.
    last_player: Option<Seat>,
    /// Whether the last player's inning went on after his last stroke, as far as known.
    inning_open: bool,
}

impl Carom {
    /// A game that needs `rails_needed` rails before the second ball.
    pub fn new(table: Table, setup: MatchSetup, rails_needed: u8) -> Self {
        let scoring = Scoring::new(rails_needed, &setup.profile);
        Self { table, setup, scoring }
    }

    /// The stroke alone. The opening stroke of a match may be a serve that nobody announced: where that changes the decision,
    /// nobody can tell.
    fn assess(&self, stroke: &Stroke, opening: bool) -> Assessment {
        let asked = match stroke.kind {
            ShotKind::Serve => return scoring::assess(stroke, &self.scoring.on_serve()),
            ShotKind::Shot | ShotKind::Lag => scoring::assess(stroke, &self.scoring),
        };
        let Some(cue) = stroke.cue_ball else { return asked };
        // Only three-cushion has the serve of C3.7.
        let may_be_serve = opening && self.scoring.rails_needed == 3;
        if !may_be_serve || !serve::looks_like_serve(&stroke.before, cue, &self.table, &self.setup.profile) {
            return asked;
        }
        let as_serve = scoring::assess(stroke, &self.scoring.on_serve());
        if as_serve.decision == asked.decision {
            return asked;
        }
        Assessment {
            decision: Decision::Review,
            clauses: vec!["C3.7", "C3.8"],
            confidence: Confidence::NONE,
            reason: Reason::Unclear(Unclear::ServeOrNot),
            ..asked
        }
    }

    fn rule_lag(&self, state: &mut CaromState, stroke: &Stroke, word: Option<Decision>) -> Ruling {
        let found = lag::assess(stroke, &self.setup.profile);
        // Who serves is the winner's choice (C2.4): the first struck ball will tell.
        state.standing.turn = self.setup.first;
        let reason = lag_reason(&found);
        let decided = found.outcome.is_ok();
        Ruling {
            shot: stroke.no,
            decision: word.unwrap_or(if decided { Decision::Lag } else { Decision::Review }),
            clauses: owned(&found.clauses()),
            confidence: found.confidence,
            score: state.standing.score,
            winner: found.winner(),
            doubtful_events: found.doubtful,
            proposed: decided && self.setup.authority == Authority::Assist && word.is_none(),
            reason,
            ..Ruling::default()
        }
    }

    fn rule_stroke(&self, state: &mut CaromState, stroke: &Stroke, word: Option<Decision>) -> Ruling {
        let opening = state.standing.shots == 0;
        state.standing.shots += 1;
        if state.standing.winner.is_some() && word.is_none() {
            return Ruling {
                shot: stroke.no,
                clauses: owned(&["C4.14"]),
                score: state.standing.score,
                reason: Reason::Unclear(Unclear::AfterTheEnd),
                ..Ruling::default()
            };
        }
        let mut player = stroke.cue_ball.and_then(|ball| owner_of(state, ball));
        let mut found = self.assess(stroke, opening);
        if let Some(ball) = stroke.cue_ball {
            let wrong_turn = player.is_some() && state.standing.turn.is_some_and(|turn| Some(turn) != player);
            let unclear = if player.is_none() {
                Some((vec!["C6.7.a"], Unclear::NotACueBall(ball)))
            } else if wrong_turn {
                player = None;
                Some((vec!["C6.7.b", "C6.7.a"], Unclear::WrongBall(ball)))
            } else {
                None
            };
            if let Some((clauses, unclear)) = unclear {
                found.decision = Decision::Review;
                found.clauses = clauses;
                found.reason = Reason::Unclear(unclear);
                found.confidence = Confidence::NONE;
                // What the wrong turn rests on is the strike.
                found.doubtful = stroke.strikes().take(1).collect();
            }
        }
        let own = found.decision;
        let decision = word.unwrap_or(own);
        // C4.9: in assist a point, a foul and the end of the match wait for the referee.
        let proposed =
            word.is_none() && self.setup.authority == Authority::Assist && matches!(decision, Decision::Point | Decision::Foul);
        let points = match decision {
            Decision::Point if found.rail_first => self.setup.profile.rail_first_points,
            Decision::Point => 1,
            _ => 0,
        };
        self.count(state, player, decision, if proposed { 0 } else { points }, proposed);
        let by_word = word.is_some_and(|w| w != own);
        Ruling {
            shot: stroke.no,
            decision,
            points,
            clauses: if by_word { owned(&["C4.9"]) } else { owned(&found.clauses) },
            confidence: if word.is_some() { Confidence::SURE } else { found.confidence },
            player,
            next_player: state.standing.turn,
            score: state.standing.score,
            winner: None,
            doubtful_events: if by_word || decision != Decision::Review {
                Vec::new()
            } else {
                found.doubtful
            },
            proposed,
            reason: if by_word { Reason::Person } else { found.reason },
            text: Wording::default(),
        }
    }

    /// Moves turn, score and innings on.
    fn count(&self, state: &mut CaromState, player: Option<Seat>, decision: Decision, points: u32, proposed: bool) {
        let standing = &mut state.standing;
        if let Some(player) = player
            && !(state.inning_open && state.last_player == Some(player))
        {
            *standing.innings.get_mut(player) += 1;
            standing.run = 0;
        }
        if let Some(player) = player.filter(|_| points > 0) {
            let score = standing.score.get_mut(player);
            *score = score.saturating_add(points);
            standing.run = standing.run.saturating_add(points);
            let high = standing.high_run.get_mut(player);
            *high = (*high).max(standing.run);
            if self.setup.target.is_some_and(|target| *standing.score.get(player) >= target) {
                standing.winner = Some(player);
            }
        }
        standing.turn = match (decision, player) {
            _ if standing.winner.is_some() || proposed => None,
            (Decision::Point, Some(player)) => Some(player),
            (Decision::NoPoint | Decision::Foul, Some(player)) => Some(player.other()),
            _ => None,
        };
        standing.reviews += u32::from(decision == Decision::Review);
        state.inning_open = !matches!(decision, Decision::NoPoint | Decision::Foul);
        state.last_player = player.or(state.last_player);
    }
}

impl Game for Carom {
    type State = CaromState;

    fn opening(&self) -> CaromState {
        let standing = Standing {
            turn: self.setup.first,
            cue_balls: self.setup.cue_balls,
            ..Standing::default()
        };
        CaromState {
            standing,
            ..CaromState::default()
        }
    }

    fn step(&self, state: &mut CaromState, input: &Input, word: Option<Decision>) -> Vec<Outcome> {
        let Input::Stroke(stroke) = input;
        let ruling = match stroke.kind {
            ShotKind::Lag => self.rule_lag(state, stroke, word),
            ShotKind::Shot | ShotKind::Serve => self.rule_stroke(state, stroke, word),
        };
        vec![Outcome::Ruling(Box::new(ruling))]
    }
}

/// Whose ball this is. The first cue ball struck in a match without a given assignment is that of the player whose turn it is
/// given to be, or A's. `None` for the red.
fn owner_of(state: &mut CaromState, ball: Ball) -> Option<Seat> {
    let other = match ball {
        Ball::White => Ball::Yellow,
        Ball::Yellow => Ball::White,
        Ball::Red | Ball::Cue | Ball::Numbered(_) => return None,
    };
    let first = state.standing.turn.unwrap_or(Seat::A);
    let balls = state.standing.cue_balls.get_or_insert(match first {
        Seat::A => BySeat { a: ball, b: other },
        Seat::B => BySeat { a: other, b: ball },
    });
    balls.owner(&ball)
}

fn lag_reason(found: &LagAssessment) -> Reason {
    match &found.outcome {
        Ok(reason) => Reason::Lag(*reason),
        Err(unclear) => Reason::Unclear(unclear.clone()),
    }
}

fn owned(clauses: &[&str]) -> Vec<String> {
    clauses.iter().map(|&c| c.to_owned()).collect()
}
