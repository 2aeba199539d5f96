//! Rulings. A pure function of the log: the same log gives the same rulings.
//!
//! State and an input give a new state and outcomes ([`engine`]). A game is a module over shared parts; national differences
//! are values of a [`Profile`]. Confidence is handled in one place, [`doubt`], and by no game: a ruling that hangs on
//! something unsure is a review that names it. Nothing here knows a frame, a pixel or a clock.

pub mod carom;
pub mod cases;
pub mod desk;
pub mod doubt;
pub mod engine;
mod reason;
mod ruling;
mod scorer;
mod seat;
mod setup;
mod standing;
mod stroke;

pub use reason::{LagReason, Miss, Reason, Touch, Unclear};
pub use ruling::{Decision, Ruling, Wording};
pub use scorer::MatchScorer;
pub use seat::{BySeat, Seat};
pub use setup::{Authority, CueBallChoice, GAMES, GameName, MatchSetup, PROFILES, Profile, TieRuling, Tolerances};
pub use standing::Standing;
pub use stroke::{Crossing, HeadDistance, Stroke};
