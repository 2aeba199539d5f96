//! The two players.

use std::fmt;
use std::str::FromStr;

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

impl FromStr for Seat {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "A" => Ok(Self::A),
            "B" => Ok(Self::B),
            other => Err(format!("'{other}' is not a seat: use A or B")),
        }
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

impl<T: PartialEq> BySeat<T> {
    /// Whose value this is; A's when both have it.
    pub fn owner(&self, value: &T) -> Option<Seat> {
        [Seat::A, Seat::B].into_iter().find(|&s| self.get(s) == value)
    }
}
