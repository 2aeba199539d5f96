//! Which ball: what the rules call it and what it looks like.

use std::fmt;
use std::str::FromStr;

/// Number on a pool ball, 1..=15.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolNumber(u8);

impl PoolNumber {
    /// `None` outside 1..=15.
    pub fn new(n: u8) -> Option<Self> {
        (1..=15).contains(&n).then_some(Self(n))
    }

    /// The number, 1..=15.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// A ball. In carom and pool every ball looks different, so kind and identity are one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ball {
    /// Carom: the plain white cue ball.
    White,
    /// Carom: the yellow (or spotted) cue ball.
    Yellow,
    /// Carom: the red object ball.
    Red,
    /// Pool: the cue ball.
    Cue,
    /// Pool: a numbered object ball.
    Numbered(PoolNumber),
}

/// The three balls of every carom game, in a fixed order.
pub const CAROM_BALLS: [Ball; 3] = [Ball::White, Ball::Yellow, Ball::Red];

impl fmt::Display for Ball {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::White => f.pad("white"),
            Self::Yellow => f.pad("yellow"),
            Self::Red => f.pad("red"),
            Self::Cue => f.pad("cue"),
            Self::Numbered(n) => f.pad(&n.get().to_string()),
        }
    }
}

/// The text is not the name of a ball.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a ball: use white, yellow, red, cue or 1 to 15")]
pub struct NotABall(pub String);

impl FromStr for Ball {
    type Err = NotABall;

    fn from_str(s: &str) -> Result<Self, NotABall> {
        match s {
            "white" => Ok(Self::White),
            "yellow" => Ok(Self::Yellow),
            "red" => Ok(Self::Red),
            "cue" => Ok(Self::Cue),
            other => {
                let plain = !other.starts_with(['+', '0']);
                let n = other.parse().ok().filter(|_| plain).and_then(PoolNumber::new);
                n.map(Self::Numbered).ok_or_else(|| NotABall(other.to_owned()))
            }
        }
    }
}
