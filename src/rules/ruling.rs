//! A ruling: what was decided, by which clauses, how sure, and why, as values. Words for people are made in `text`.

use super::reason::Reason;
use super::seat::{BySeat, Seat};
use crate::ball::Ball;
use crate::units::Confidence;

/// What was decided about a shot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Decision {
    /// Carom: the stroke scored.
    Point,
    /// Carom: a clean stroke that did not score.
    NoPoint,
    /// Pool: a clean stroke.
    Legal,
    /// A foul.
    Foul,
    /// The lag was decided, or is to be played again.
    Lag,
    /// Cuemark cannot tell; a person must look.
    #[default]
    Review,
}

impl Decision {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::NoPoint => "no_point",
            Self::Legal => "legal",
            Self::Foul => "foul",
            Self::Lag => "lag",
            Self::Review => "review",
        }
    }
}

/// A ruling in three languages.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct Wording {
    pub en: String,
    pub ko: String,
    pub ru: String,
}

/// One ruling on one shot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ruling {
    /// The shot ruled on.
    pub shot: u32,
    /// What was decided.
    pub decision: Decision,
    /// Points earned with this stroke.
    pub points: u32,
    /// The clauses it rests on, most specific first: "C4.1.a".
    pub clauses: Vec<String>,
    /// Probability that the decision is right; for a review, that the likeliest decision would have been right.
    pub confidence: Confidence,
    /// Who played, when known.
    pub player: Option<Seat>,
    /// Who plays next, when known.
    pub next_player: Option<Seat>,
    /// Score after this ruling.
    pub score: BySeat<u32>,
    /// Lag only: the winner's ball; `None` in a lag ruling means lag again.
    pub winner: Option<Ball>,
    /// Review only: the events in doubt, as indices into the shot's events.
    pub doubtful_events: Vec<usize>,
    /// Whether it counts. Under `assist` nothing does before the referee's word (C4.9).
    pub proposed: bool,
    /// Why.
    pub reason: Reason,
    /// Words for people; empty until `text` has worded it.
    pub text: Wording,
}
