//! How a match stands: derived from the log, never set.

use super::seat::{BySeat, Seat};
use crate::ball::Ball;

/// How a match stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    /// Points.
    pub score: BySeat<u32>,
    /// Innings begun.
    pub innings: BySeat<u32>,
    /// Most points in one inning.
    pub high_run: BySeat<u32>,
    /// Points in the present inning.
    pub run: u32,
    /// Whose turn it is; `None` at the start, after the end, and after a review.
    pub turn: Option<Seat>,
    /// Each player's cue ball, once known.
    pub cue_balls: Option<BySeat<Ball>>,
    /// The winner, once there is one.
    pub winner: Option<Seat>,
    /// Shots ruled on, lags left out.
    pub shots: u32,
    /// Of those, how many went to review.
    pub reviews: u32,
}

impl Standing {
    /// Points an inning; 0 before the first inning.
    pub fn average(&self, seat: Seat) -> f64 {
        let innings = *self.innings.get(seat);
        if innings == 0 {
            0.0
        } else {
            f64::from(*self.score.get(seat)) / f64::from(innings)
        }
    }
}
