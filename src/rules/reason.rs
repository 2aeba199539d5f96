//! Why a ruling is what it is, as values from which any language can be worded.

use crate::ball::Ball;
use crate::events::{EventKind, ShotFlag};
use crate::table::Rail;

/// What the cue ball met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Touch {
    Ball(Ball),
    Rail(Rail),
}

/// Why a clean stroke did not score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Miss {
    /// No object ball was met.
    NoBall,
    /// Only this object ball was met.
    OneBall(Ball),
    /// The second object ball came too early.
    FewRails {
        /// Rails before it.
        rails: u8,
        /// Rails that the game asks for.
        needed: u8,
        /// The second object ball.
        second: Ball,
    },
    /// On the serve the red was not met first (C3.7).
    ServeNotRedFirst,
    /// The last rail needed and the second object ball were met at once (C4.3).
    Simultaneous {
        /// The rail.
        rail: Rail,
        /// The second object ball.
        second: Ball,
    },
}

/// Why nobody can tell from what was seen.
#[derive(Debug, Clone, PartialEq)]
pub enum Unclear {
    /// It hangs on whether this happened.
    Event {
        /// The event.
        kind: EventKind,
        /// Probability that it happened.
        probability: f64,
    },
    /// It hangs on which of two came first.
    Order {
        /// Seen as the first.
        first: EventKind,
        /// Seen as the second.
        second: EventKind,
        /// Time between them, seconds.
        gap_s: f64,
        /// Its standard deviation, seconds.
        err_s: f64,
    },
    /// The stroke would score, but the balls were not seen to stop (C4.10).
    Pending,
    /// It may yet score: the balls were not seen to stop.
    Unfinished,
    /// Part of the stroke is missing or cannot be trusted.
    Missing(ShotFlag),
    /// Which ball the cue struck was not seen.
    StrikeUnseen,
    /// The cue struck a ball that is nobody's.
    NotACueBall(Ball),
    /// The struck ball is the opponent's, or an earlier ruling is wrong: a wrong ball is for people to raise (C6.7).
    WrongBall(Ball),
    /// The cue struck twice while balls moved: a double touch, if it was the same stroke, is for the referee (C6.3).
    TwoStrikes,
    /// Whether this was the serve decides it (C3.7).
    ServeOrNot,
    /// A lag ball was not seen at rest.
    LagRestUnseen(Ball),
    /// The lag distances are too close to the limit of the eye for the camera's error (C2.13).
    LagTooClose,
    /// The match was over.
    AfterTheEnd,
    /// There is no rule module for this game yet.
    NoModule,
}

/// Why the lag was decided so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LagReason {
    /// This ball stopped nearer to the head rail.
    Nearer(Ball),
    /// The other player's lag was at fault.
    OtherAtFault {
        /// The winner's ball.
        winner: Ball,
        /// The ball at fault.
        loser: Ball,
    },
    /// Both were at fault.
    BothAtFault,
    /// The eye cannot tell which is nearer.
    TooCloseForTheEye,
}

/// Why a ruling is what it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Reason {
    /// Not stated: a ruling read back from a file has words only.
    #[default]
    Unstated,
    /// The cue ball's way, up to the second object ball.
    Scored(Vec<Touch>),
    /// A clean stroke that did not score.
    Missed(Miss),
    /// A ball left the table or touched its frame (C5.12).
    JumpBall(Ball),
    /// A lag.
    Lag(LagReason),
    /// Cannot tell.
    Unclear(Unclear),
    /// A person ruled.
    Person,
}
