//! The engine: state and input give state and outcomes, and the log is the truth.
//!
//! A [`Game`] is a pure step function. A [`Match`] keeps the log, folds the game over it, and folds it anew when a person
//! corrects an earlier ruling: nobody ever sets a score.

use super::ruling::{Decision, Ruling};
use super::stroke::Stroke;

/// One thing that a game may have to rule on.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A stroke, from the strike to the last ball at rest.
    Stroke(Box<Stroke>),
}

impl Input {
    /// The number of the shot, when it is one.
    pub fn shot(&self) -> Option<u32> {
        match self {
            Self::Stroke(stroke) => Some(stroke.no),
        }
    }
}

/// One thing that follows.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A ruling; a later one on the same shot supersedes it.
    Ruling(Box<Ruling>),
}

/// The rules of one game as a step function: same state and input, same result.
pub trait Game {
    /// All that the past means for the future.
    type State: Clone;

    /// The state before the first stroke.
    fn opening(&self) -> Self::State;

    /// Takes one input. `word` is the referee's decision on it, when there is one: it goes before the game's own.
    fn step(&self, state: &mut Self::State, input: &Input, word: Option<Decision>) -> Vec<Outcome>;
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    input: Input,
    word: Option<Decision>,
    outcomes: Vec<Outcome>,
}

/// A match under way: a log and what follows from it.
#[derive(Debug, Clone)]
pub struct Match<G: Game> {
    game: G,
    log: Vec<Entry>,
    state: G::State,
}

impl<G: Game> Match<G> {
    /// A match before its first stroke.
    pub fn new(game: G) -> Self {
        let state = game.opening();
        Self {
            game,
            log: Vec::new(),
            state,
        }
    }

    /// Appends to the log; what follows from this input.
    pub fn play(&mut self, input: Input) -> Vec<Outcome> {
        let outcomes = self.game.step(&mut self.state, &input, None);
        self.log.push(Entry {
            input,
            word: None,
            outcomes: outcomes.clone(),
        });
        outcomes
    }

    /// The referee's decision on an earlier shot; `None` takes it back. The log is folded anew; returned are the outcomes that
    /// are not what they were, in log order. A number that is not in the log changes nothing.
    pub fn correct(&mut self, shot: u32, word: Option<Decision>) -> Vec<Outcome> {
        for entry in self.log.iter_mut().filter(|e| e.input.shot() == Some(shot)) {
            entry.word = word;
        }
        self.state = self.game.opening();
        let mut changed = Vec::new();
        for entry in &mut self.log {
            let outcomes = self.game.step(&mut self.state, &entry.input, entry.word);
            if outcomes != entry.outcomes {
                changed.extend(outcomes.iter().cloned());
                entry.outcomes = outcomes;
            }
        }
        changed
    }

    /// What the log has come to.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// The game.
    pub fn game(&self) -> &G {
        &self.game
    }
}
