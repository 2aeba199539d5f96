//! Rulings. A pure function of the log: the same log gives the same rulings.

use std::fmt;

use crate::units::Confidence;

/// A player's seat. A plays first unless the log says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Seat {
    A,
    B,
}

impl Seat {
    /// The opponent.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::A => "A",
            Self::B => "B",
        })
    }
}

/// A value for each player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct BySeat<T> {
    pub a: T,
    pub b: T,
}

impl<T> BySeat<T> {
    /// The value of `seat`.
    pub fn get(&self, seat: Seat) -> &T {
        match seat {
            Seat::A => &self.a,
            Seat::B => &self.b,
        }
    }

    /// The value of `seat`, to change.
    pub fn get_mut(&mut self, seat: Seat) -> &mut T {
        match seat {
            Seat::A => &mut self.a,
            Seat::B => &mut self.b,
        }
    }
}

/// What was decided about a shot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The shot ruled on.
    pub shot: u32,
    /// What was decided.
    pub decision: Decision,
    /// Points earned with this stroke.
    pub points: u32,
    /// The clauses it rests on, most specific first: "C4.1.a".
    pub clauses: Vec<String>,
    /// Probability that the decision is right.
    pub confidence: Confidence,
    /// Who played, when known.
    pub player: Option<Seat>,
    /// Who plays next, when known.
    pub next_player: Option<Seat>,
    /// Score after this ruling.
    pub score: BySeat<u32>,
    /// Lag only: the winner's ball; `None` in a lag ruling means lag again.
    pub winner: Option<crate::ball::Ball>,
    /// Review only: the events in doubt, as indices into the shot's events.
    pub doubtful_events: Vec<usize>,
    /// Words for people.
    pub text: Wording,
}
