//! What is fixed before a match: the game, the players, and the profile of national or event rules as plain values.

use std::fmt;
use std::str::FromStr;

use super::seat::{BySeat, Seat};
use crate::ball::Ball;

/// A game that can be named on the command line and in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[allow(missing_docs)]
pub enum GameName {
    #[default]
    ThreeCushion,
    OneCushion,
    StraightRail,
    Balkline472,
    NineBall,
    EightBall,
    TenBall,
    Straight141,
    Blackball,
}

/// All games in a fixed order.
pub const GAMES: [GameName; 9] = [
    GameName::ThreeCushion,
    GameName::OneCushion,
    GameName::StraightRail,
    GameName::Balkline472,
    GameName::NineBall,
    GameName::EightBall,
    GameName::TenBall,
    GameName::Straight141,
    GameName::Blackball,
];

impl GameName {
    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::ThreeCushion => "three-cushion",
            Self::OneCushion => "one-cushion",
            Self::StraightRail => "straight-rail",
            Self::Balkline472 => "balkline-47-2",
            Self::NineBall => "nine-ball",
            Self::EightBall => "eight-ball",
            Self::TenBall => "ten-ball",
            Self::Straight141 => "14.1",
            Self::Blackball => "blackball",
        }
    }

    /// Rails that the cue ball must touch before it first meets the second object ball; `None` for a pool game.
    pub fn rails_needed(self) -> Option<u8> {
        match self {
            Self::ThreeCushion => Some(3),
            Self::OneCushion => Some(1),
            Self::StraightRail | Self::Balkline472 => Some(0),
            Self::NineBall | Self::EightBall | Self::TenBall | Self::Straight141 | Self::Blackball => None,
        }
    }

    /// Whether it is played with three balls and without pockets.
    pub fn is_carom(self) -> bool {
        self.rails_needed().is_some()
    }
}

impl fmt::Display for GameName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for GameName {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        GAMES.into_iter().find(|g| g.name() == s).ok_or_else(|| {
            let known: Vec<_> = GAMES.iter().map(|g| g.name()).collect();
            format!("'{s}' is not a game: use {}", known.join(", "))
        })
    }
}

/// Who has the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Authority {
    /// Cuemark rules on what a camera can decide.
    #[default]
    Auto,
    /// Cuemark proposes; nothing is official before the referee's word (C4.9).
    Assist,
}

/// What a third rail and a second ball within the window of C4.3 lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TieRuling {
    /// Review. The choice for a camera: it may know an order that no eye sees, and C4.3 is written for eyes, so a
    /// person decides which of the two counts.
    #[default]
    Review,
    /// No point, as C4.3 says of what the eye sees as one moment. The choice for times that a person vouches for.
    NoPoint,
}

/// Sizes below which two things count as the same. Seconds and metres; defaults from the rule specification, section 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Two contacts no further apart than this are simultaneous when their order matters (C4.3, C2.5).
    pub simul_window_s: f64,
    /// A gap at or under which frozen is suggested, never decided (C5.1).
    pub frozen_eps_m: f64,
    /// A spot is blocked when a ball put there would have a gap under this to another ball (C5.9).
    pub spot_clear_m: f64,
    /// Gap left to the cue ball by a spotted pool ball (P1.4.c).
    pub cue_gap_m: f64,
    /// Smallest difference of distance to the head rail that the naked eye sees (C2.13).
    pub lag_eye_m: f64,
    /// Separation from the nose after which a further contact is a new touch (C4.5, C4.6); also the gap of C5.5.
    pub rail_release_m: f64,
    /// Motionless time after which a ball at the lip is not pocketed (P8.3.c).
    pub settle_s: f64,
    /// A branch less likely than this does not keep a ruling from standing.
    pub review_probability: f64,
}

impl Tolerances {
    /// The defaults of the rule specification. `review_probability` is a choice of ours: an automatic call may hang on a doubt
    /// of one in a thousand, not more.
    pub const DEFAULT: Self = Self {
        simul_window_s: 0.010,
        frozen_eps_m: 0.0005,
        spot_clear_m: 0.001,
        cue_gap_m: 0.001,
        lag_eye_m: 0.005,
        rail_release_m: 0.003,
        settle_s: 5.0,
        review_probability: 0.001,
    };
}

impl Default for Tolerances {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Who gets which cue ball after the lag (C2.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CueBallChoice {
    /// The winner of the lag chooses (C2.17.i).
    LagWinner,
    /// The server plays white (C2.17.k).
    ServerWhite,
}

/// National or event rules as values. A difference between profiles is a field here, never a branch on a name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// The name used in files.
    pub name: &'static str,
    /// A side rail after the foot rail loses the lag (C2.16.k) or does not matter (C2.16.i).
    pub lag_side_rail_is_fault: bool,
    /// Lots decide from this undecided lag on (C2.15); `None`: lag until it is decided.
    pub lots_after_lags: Option<u32>,
    /// Who gets which cue ball.
    pub cue_ball_choice: CueBallChoice,
    /// Farthest that a side spot may lie from the head spot, metres (C3.4).
    pub side_spot_max_m: f64,
    /// Where the side spots are marked, metres from the head spot.
    pub side_spot_m: f64,
    /// The player who did not serve has a last inning to draw level (not in the source document: off; C4.14).
    pub equalising_inning: bool,
    /// Points of a scoring stroke that met a rail before any ball; 1 but for tours that reward it.
    pub rail_first_points: u32,
    /// Raise a wrong ball (C6.7) without a person's word. Off in every profile: people raise it, cuemark only hints.
    pub auto_raise_wrong_ball: bool,
    /// What a tie of third rail and second ball leads to.
    pub tie: TieRuling,
    /// Sizes.
    pub tolerances: Tolerances,
}

impl Profile {
    /// The Korean document's account of the international rules.
    pub const INTERNATIONAL: Self = Self {
        name: "international",
        lag_side_rail_is_fault: false,
        lots_after_lags: Some(2),
        cue_ball_choice: CueBallChoice::LagWinner,
        side_spot_max_m: 0.1524,
        side_spot_m: 0.15,
        equalising_inning: false,
        rail_first_points: 1,
        auto_raise_wrong_ball: false,
        tie: TieRuling::Review,
        tolerances: Tolerances::DEFAULT,
    };

    /// The Korean rules of the same document (C2.16.k, C2.17.k).
    pub const KOREAN: Self = Self {
        name: "korean",
        lag_side_rail_is_fault: true,
        cue_ball_choice: CueBallChoice::ServerWhite,
        ..Self::INTERNATIONAL
    };

    /// World organisation (UMB): side spots at 18.25 cm, a tied lag is repeated without end.
    pub const UMB: Self = Self {
        name: "umb",
        lots_after_lags: None,
        side_spot_max_m: 0.1825,
        side_spot_m: 0.1825,
        ..Self::INTERNATIONAL
    };

    /// Korean professional tour: a stroke that meets a rail first scores two.
    pub const PBA: Self = Self {
        name: "pba",
        rail_first_points: 2,
        ..Self::UMB
    };

    /// Pool by the WPA's general rules; the carom fields are not used.
    pub const WPA: Self = Self {
        name: "wpa",
        lag_side_rail_is_fault: true,
        lots_after_lags: None,
        ..Self::INTERNATIONAL
    };
}

/// All profiles in a fixed order.
pub const PROFILES: [Profile; 5] = [
    Profile::INTERNATIONAL,
    Profile::KOREAN,
    Profile::UMB,
    Profile::PBA,
    Profile::WPA,
];

impl Default for Profile {
    fn default() -> Self {
        Self::INTERNATIONAL
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        PROFILES.into_iter().find(|p| p.name == s).ok_or_else(|| {
            let known: Vec<_> = PROFILES.iter().map(|p| p.name).collect();
            format!("'{s}' is not a profile: use {}", known.join(", "))
        })
    }
}

/// Everything fixed before the first stroke.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MatchSetup {
    /// The game.
    pub game: GameName,
    /// The players' names; may be empty.
    pub players: BySeat<String>,
    /// Points that win; `None`: play on.
    pub target: Option<u32>,
    /// National or event rules.
    pub profile: Profile,
    /// Who has the last word.
    pub authority: Authority,
    /// Carom: each player's cue ball. `None`: the first ball struck is A's, the other one B's.
    pub cue_balls: Option<BySeat<Ball>>,
    /// Who plays first. `None`: whoever owns the first ball struck.
    pub first: Option<Seat>,
}
