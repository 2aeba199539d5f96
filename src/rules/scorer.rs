//! Scoring of a recorded or live match, shot by shot: the face of the rules that the pipeline sees.

use super::carom::game::Carom;
use super::engine::{Input, Match, Outcome};
use super::reason::{Reason, Unclear};
use super::ruling::{Decision, Ruling};
use super::setup::MatchSetup;
use super::standing::Standing;
use super::stroke::Stroke;
use crate::events::Shot;
use crate::table::Table;

/// Rules on the shots of one match and keeps its standing.
#[derive(Debug, Clone)]
pub struct MatchScorer {
    table: Table,
    rules: Rules,
}

#[derive(Debug, Clone)]
enum Rules {
    Carom(Box<Match<Carom>>),
    /// A game without a module: every shot goes to review.
    None(Standing),
}

impl MatchScorer {
    /// A scorer for a match on `table` (metres) by `setup`.
    pub fn new(table: &Table, setup: &MatchSetup) -> Self {
        let rules = match setup.game.rails_needed() {
            Some(rails) => Rules::Carom(Box::new(Match::new(Carom::new(*table, setup.clone(), rails)))),
            None => Rules::None(Standing::default()),
        };
        Self { table: *table, rules }
    }

    /// Rules on the next shot. Usually one ruling; a ruling on an earlier shot supersedes what was ruled on it. The rulings are
    /// not worded yet: see `text`.
    pub fn play(&mut self, shot: &Shot) -> Vec<Ruling> {
        match &mut self.rules {
            Rules::Carom(game) => {
                let stroke = Stroke::from_shot(shot, &self.table);
                rulings(game.play(Input::Stroke(Box::new(stroke))))
            }
            Rules::None(standing) => {
                standing.shots += 1;
                standing.reviews += 1;
                vec![Ruling {
                    shot: shot.no,
                    reason: Reason::Unclear(Unclear::NoModule),
                    ..Ruling::default()
                }]
            }
        }
    }

    /// The referee's decision on an earlier shot; `None` takes it back. Everything after it is ruled on anew; returned are the
    /// rulings that changed.
    pub fn correct(&mut self, shot: u32, word: Option<Decision>) -> Vec<Ruling> {
        match &mut self.rules {
            Rules::Carom(game) => rulings(game.correct(shot, word)),
            Rules::None(_) => Vec::new(),
        }
    }

    /// How the match stands.
    pub fn standing(&self) -> Standing {
        match &self.rules {
            Rules::Carom(game) => game.state().standing,
            Rules::None(standing) => *standing,
        }
    }
}

fn rulings(outcomes: Vec<Outcome>) -> Vec<Ruling> {
    outcomes
        .into_iter()
        .map(|outcome| match outcome {
            Outcome::Ruling(ruling) => *ruling,
        })
        .collect()
}
