//! The vocabulary of the desk: what cameras, referees, players, clocks and microphones may say, with its JSON form.
//!
//! Each fact is an object with `t` (seconds), `type`, and the fields below; for `referee`, `player`, `clock` and `audio` the
//! field `code` says which. Positions are `[x, y]` in metres, balls, rails and pockets go by the names used in files.
//! Fields that no rule reads are ignored; a type or a code that is not listed here is an error.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::ball::Ball;
use crate::rules::seat::Seat;
use crate::table::{Pocket, Rail};

/// A value written as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Named<T>(pub T);

impl<T> Deref for Named<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        // A pool ball may be written as a number.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Name {
            Text(String),
            Number(u64),
        }
        let text = match Name::deserialize(d)? {
            Name::Text(text) => text,
            Name::Number(n) => n.to_string(),
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// A place, metres.
pub type Place = [f64; 2];

/// Places by ball.
pub type Places = BTreeMap<Named<Ball>, Place>;

/// A ball, or anything else, that a stroke was played toward: `toward:left`, `toward:red`, `away`, `parallel`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Direction {
    TowardBall(Ball),
    TowardRail(Rail),
    Away,
    Parallel,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let toward = s.strip_prefix("toward:").or_else(|| s.strip_prefix("toward_"));
        match (s, toward) {
            ("away", _) => Ok(Self::Away),
            ("parallel", _) => Ok(Self::Parallel),
            (_, Some(what)) => {
                let rail = what.parse().map(Self::TowardRail);
                rail.or_else(|_| {
                    what.parse()
                        .map(Self::TowardBall)
                        .map_err(|_| format!("'{s}' is no direction"))
                })
            }
            _ => Err(format!("'{s}' is no direction: use toward:<ball or rail>, away or parallel")),
        }
    }
}

/// What a camera saw, with the fields of the JSON form.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Seen {
    CueStrike {
        ball: Named<Ball>,
        by: Option<Named<Seat>>,
        dir: Option<Named<Direction>>,
        /// `preliminary`: a nudge before the stroke.
        intent: Option<String>,
        /// `masse`.
        style: Option<String>,
        from: Option<Place>,
        elevation_deg: Option<f64>,
        cut_deg: Option<f64>,
    },
    BallBall {
        a: Named<Ball>,
        b: Named<Ball>,
        confidence: Option<f64>,
        t_err: Option<f64>,
    },
    Rail {
        ball: Named<Ball>,
        rail: Named<Rail>,
        /// Stays in contact until then.
        t_end: Option<f64>,
        /// Largest separation since the previous touch of the same rail; absent: clearly separate.
        released_m: Option<f64>,
        /// Was resting on it.
        #[serde(default)]
        at_start: bool,
        confidence: Option<f64>,
        t_err: Option<f64>,
    },
    RailTop {
        ball: Named<Ball>,
        rail: Named<Rail>,
    },
    Frame {
        ball: Named<Ball>,
    },
    OffTable {
        ball: Named<Ball>,
    },
    Pocketed {
        ball: Named<Ball>,
        pocket: Named<Pocket>,
    },
    PocketRebound {
        ball: Named<Ball>,
    },
    BallRest {
        ball: Named<Ball>,
        pos: Place,
        /// `rail_top`.
        on: Option<String>,
        in_jaws: Option<String>,
    },
    AllRest {
        frozen: Option<Vec<Vec<Named<Ball>>>>,
        keeps_turn: Option<bool>,
    },
    TranslationRest {
        #[serde(default)]
        spinning: Vec<Named<Ball>>,
    },
    LineCross {
        ball: Named<Ball>,
        line: String,
        to: Option<String>,
    },
    Motionless {
        ball: Named<Ball>,
        pos: Option<Place>,
        #[serde(default)]
        at_lip: bool,
    },
    Moving {
        balls: Vec<Named<Ball>>,
        speed_mps: Option<f64>,
    },
    Drift {
        ball: Named<Ball>,
        to: Option<Place>,
        speed_mps: Option<f64>,
    },
    Separated {
        a: Named<Ball>,
        b: Named<Ball>,
        gap_m: f64,
    },
    FrozenSuggested {
        balls: Vec<Named<Ball>>,
    },
    FrozenBallMoved {
        ball: Named<Ball>,
    },
    MovedByNonball {
        ball: Named<Ball>,
        agent: Option<String>,
        from: Option<Place>,
    },
    BallsMoved {
        balls: Places,
    },
    Placed {
        ball: Named<Ball>,
        pos: Place,
        pos_sigma_m: Option<f64>,
    },
    Address {
        ball: Named<Ball>,
    },
    ForeignMark {
        #[serde(rename = "where")]
        place: Option<String>,
        kind: Option<String>,
    },
    ForeignMarkRemoved {},
    MarkDetected {
        #[serde(default)]
        official: bool,
    },
    CueAccelSecondPeak {
        ball: Named<Ball>,
    },
    CueFollowsThrough {
        ball: Named<Ball>,
    },
    SideOfCueContact {},
    Leaning {
        ball: Named<Ball>,
        on: Option<Named<Ball>>,
    },
    BallTouchesPocketed {
        a: Named<Ball>,
        b: Option<Named<Ball>>,
    },
    ReturnsToBed {
        ball: Named<Ball>,
    },
    Airborne {
        ball: Named<Ball>,
    },
    Lands {
        ball: Named<Ball>,
    },
    LeavesRail {
        ball: Named<Ball>,
        rail: Named<Rail>,
    },
    CueLyingOnTable {
        #[serde(default)]
        hands_on: bool,
    },
    OnTemplate {
        ball: Named<Ball>,
    },
    CueMovedByTip {
        ball: Named<Ball>,
        forward_stroke: bool,
    },
    Passes {
        ball: Named<Ball>,
    },
    Query {
        what: Option<String>,
        ball: Option<Named<Ball>>,
    },
}

/// What the referee said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Refereed {
    Foul {
        foul: String,
        by: Named<Seat>,
        ball: Option<Named<Ball>>,
        agent: Option<String>,
        kind: Option<String>,
    },
    Note {},
    Point {},
    NoPoint {},
    ConfirmFrozen {},
    DenyFrozen {},
    WrongBall {
        by: Option<Named<Seat>>,
    },
    DrawLots {
        server: Named<Seat>,
    },
    CannotTell {},
    Conduct {
        /// A seat, or somebody else such as `spectator:C`.
        by: String,
        item: String,
        sanction: Option<String>,
        authority: Option<String>,
    },
    Unsportsmanlike {
        by: Named<Seat>,
        item: String,
        penalty: Option<String>,
    },
    Emergency {},
    Suspend {},
    Resume {},
    Interference {
        #[serde(default)]
        affected: bool,
        ball: Option<Named<Ball>>,
    },
    CannotRestore {},
    SettleAffected {
        affected: bool,
    },
    Supported {
        ball: Named<Ball>,
        would_fall: bool,
    },
    ForeignContact {
        ball: Named<Ball>,
        #[serde(default)]
        would_have_left: bool,
    },
    WarnTwoFouls {
        player: Named<Seat>,
    },
    AnnounceNoProgress {},
    Progress {},
    NoProgress {},
    AskSpeedUp {},
    ImposeShotLimit {
        seconds: f64,
    },
    Arrival {
        player: Named<Seat>,
    },
    WarmupOrder {
        order: Vec<Named<Seat>>,
    },
    Restored {},
    RestoreRequested {
        #[serde(default)]
        balls: Vec<Named<Ball>>,
    },
    Placed {
        ball: Named<Ball>,
        pos: Place,
    },
    PlacementOk {},
    EquipmentCheck {
        item: String,
        colour_matches_cloth: Option<bool>,
        count: Option<u32>,
        own_similar: Option<bool>,
        amount: Option<String>,
    },
    SawUnscrew {
        by: Named<Seat>,
        cue: String,
    },
    Uphold {},
    Overturn {},
    ForwardToAppeals {},
    AppealResult {
        #[serde(default)]
        overturned: bool,
    },
    RackWon {
        by: Named<Seat>,
    },
}

/// What a player said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Said {
    RequestRespot {},
    ChooseServer { server: Named<Seat> },
    ChooseCueBall { ball: Named<Ball> },
    ChooseSideSpot { side: String },
    ChooseFirst { first: Named<Seat> },
    ClaimWrongBall { target: Option<Named<Seat>> },
    CorrectCueBall {},
    RequestChangeCueBall {},
    RequestCorrection { ball: Named<Ball> },
    RequestMeasurement {},
    RequestReconsider { decision: u64 },
    WarmupStartRequest {},
    Call { ball: Named<Ball>, pocket: Named<Pocket> },
    CallSafety {},
    AskCall {},
    AskPlacement {},
    RequestSpotNearest {},
    ChooseBall { ball: Named<Ball> },
    Concede {},
    AgreeStalemate {},
    Protest { kind: Option<String> },
    DeclineTurn {},
    ObjectPlacement {},
    Plea {},
    DeclareFrozen { ball: Option<Named<Ball>> },
    PushOut {},
}

impl Said {
    /// The code, as used in lists of what was refused.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RequestRespot {} => "request_respot",
            Self::ChooseServer { .. } => "choose_server",
            Self::ChooseCueBall { .. } => "choose_cue_ball",
            Self::ChooseSideSpot { .. } => "choose_side_spot",
            Self::ChooseFirst { .. } => "choose_first",
            Self::ClaimWrongBall { .. } => "claim_wrong_ball",
            Self::CorrectCueBall {} => "correct_cue_ball",
            Self::RequestChangeCueBall {} => "request_change_cue_ball",
            Self::RequestCorrection { .. } => "request_correction",
            Self::RequestMeasurement {} => "request_measurement",
            Self::RequestReconsider { .. } => "request_reconsider",
            Self::WarmupStartRequest {} => "warmup_start_request",
            Self::Call { .. } => "call",
            Self::CallSafety {} => "call_safety",
            Self::AskCall {} => "ask_call",
            Self::AskPlacement {} => "ask_placement",
            Self::RequestSpotNearest {} => "request_spot_nearest",
            Self::ChooseBall { .. } => "choose_ball",
            Self::Concede {} => "concede",
            Self::AgreeStalemate {} => "agree_stalemate",
            Self::Protest { .. } => "protest",
            Self::DeclineTurn {} => "decline_turn",
            Self::ObjectPlacement {} => "object_placement",
            Self::Plea {} => "plea",
            Self::DeclareFrozen { .. } => "declare_frozen",
            Self::PushOut {} => "push_out",
        }
    }
}

/// What a clock said.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Clocked {
    WarmupStart { player: Named<Seat> },
    Tick {},
    TurnStart { player: Named<Seat> },
    TurnEnd { player: Named<Seat> },
    NewRack {},
    SlowPlay { player: Named<Seat> },
}

/// What a microphone heard.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Heard {
    NoClick {},
    SharpCrack {},
}

/// Who said what.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum What {
    Camera(Box<Seen>),
    Referee(Refereed),
    Player(Seat, Said),
    Clock(Clocked),
    Audio(Heard),
}

/// One fact at its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// Seconds from any zero.
    pub t: f64,
    /// What.
    pub what: What,
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Head {
            t: f64,
            #[serde(rename = "type")]
            kind: String,
            by: Option<serde_json::Value>,
        }
        let value = serde_json::Value::deserialize(d)?;
        let head = Head::deserialize(&value).map_err(D::Error::custom)?;
        if !head.t.is_finite() {
            return Err(D::Error::custom("t is not a finite number of seconds"));
        }
        let what = match head.kind.as_str() {
            "referee" => Refereed::deserialize(value).map(What::Referee),
            "player" => {
                let by = head.by.ok_or_else(|| D::Error::custom("a player's word needs 'by'"))?;
                let by = Named::<Seat>::deserialize(by).map_err(D::Error::custom)?;
                Said::deserialize(value).map(|said| What::Player(*by, said))
            }
            "clock" => Clocked::deserialize(value).map(What::Clock),
            "audio" => Heard::deserialize(value).map(What::Audio),
            _ => Seen::deserialize(value).map(|seen| What::Camera(Box::new(seen))),
        };
        Ok(Self {
            t: head.t,
            what: what.map_err(D::Error::custom)?,
        })
    }
}
