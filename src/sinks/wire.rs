//! The published shape of `match.jsonl`, version `cuemark.match/1`, and nothing else.
//!
//! Core types do not serialise themselves: a name here is a promise to other programs, a name there is not. Seconds from
//! the first frame's presentation time to the microsecond; metres in the table's frame to a hundredth of a millimetre.
//! Nothing here depends on the clock, the machine or the folder, so two runs write the same bytes.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ball::{Ball, CAROM_BALLS};
use crate::events::{Event, EventKind, Shot, ShotFlag, ShotKind};
use crate::rules::{BySeat, Decision, Ruling, Seat, Wording};
use crate::space::TablePoint;
use crate::table::{POCKETS, Pocket, RAILS, Rail, Table};
use crate::units::{Confidence, Timestamp};

/// Name and version of the format, in every header.
pub const FORMAT: &str = "cuemark.match/1";

/// One line of `match.jsonl`. A reader skips what it does not know: later versions may add kinds of lines and keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// First line.
    Header(Header),
    /// A shot as seen.
    Shot(Box<ShotLine>),
    /// A ruling; the last one for a shot counts.
    Ruling(Box<RulingLine>),
    /// Last line: a file without it was not finished.
    End(End),
    /// A kind of line that this version does not know.
    #[serde(other)]
    Unknown,
}

/// What was analysed, and on which table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// Name of the file, without its folder.
    pub source: String,
    /// Size of the file, bytes: tells two recordings of one name apart.
    pub source_bytes: u64,
    /// "three-cushion".
    pub game: String,
    /// Playing surface.
    pub table: TableSize,
    /// Ball radius, metres.
    pub ball_radius_m: f64,
    /// Players' names by seat, when they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players: Option<Players>,
}

/// Playing surface nose to nose, metres.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TableSize {
    pub length_m: f64,
    pub width_m: f64,
}

/// Names of the players.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(non_snake_case, missing_docs)]
pub struct Players {
    pub A: String,
    pub B: String,
}

impl Header {
    /// A header for `source` on `table`.
    pub fn new(source: String, source_bytes: u64, game: &str, table: &Table, players: Option<Players>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            source,
            source_bytes,
            game: game.to_owned(),
            table: TableSize {
                length_m: table.length_m,
                width_m: table.width_m,
            },
            ball_radius_m: table.ball_radius_m,
            players,
        }
    }
}

/// A shot as seen; see [`Shot`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ShotLine {
    pub shot: u32,
    pub kind: Name<ShotKind>,
    pub start_s: f64,
    pub end_s: f64,
    pub cue_ball: Option<Name<Ball>>,
    /// What happened: events that are more likely than not.
    pub events: Vec<EventLine>,
    /// What may have happened too: events that are less likely than not, kept because a ruling may hang on them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub possible_events: Vec<EventLine>,
    /// Layout before the stroke.
    #[serde(default)]
    pub before: BTreeMap<Name<Ball>, Place>,
    /// Layout at rest; a ball that was not seen at rest is missing.
    pub rest: BTreeMap<Name<Ball>, Place>,
    pub flags: Vec<Name<ShotFlag>>,
    /// Pairs of events whose order the times cannot settle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsure_orders: Vec<UnsureOrder>,
}

/// Metres in the table's frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Place {
    pub x: f64,
    pub y: f64,
}

/// Two events, by their numbers in the shot, and the probability that they happened in that order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct UnsureOrder {
    pub first: usize,
    pub second: usize,
    pub confidence: f64,
}

/// One event of a shot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventLine {
    /// Number in the shot's time order, over `events` and `possible_events` together, from 0.
    pub no: usize,
    /// Seconds.
    pub t: f64,
    /// What happened, to which balls.
    #[serde(flatten)]
    pub what: What,
    /// Where the ball was, metres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Where the ball was, metres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Standard deviation of `t`, seconds.
    pub t_err: f64,
    /// Probability that it happened.
    pub confidence: f64,
}

/// Kind of event with the balls, rail or pocket that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum What {
    CueStrike { ball: Name<Ball> },
    BallBall { balls: [Name<Ball>; 2] },
    Rail { ball: Name<Ball>, rail: Name<Rail> },
    Pocket { ball: Name<Ball>, pocket: Name<Pocket> },
    OffTable { ball: Name<Ball> },
    Rest { ball: Name<Ball> },
}

/// A ruling; see [`Ruling`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RulingLine {
    pub shot: u32,
    pub decision: Name<Decision>,
    pub points: u32,
    pub rules: Vec<String>,
    pub confidence: f64,
    pub player: Option<Name<Seat>>,
    pub next_player: Option<Name<Seat>>,
    pub score: Score,
    /// In a lag ruling only: the winner's ball, or null for lag again.
    #[serde(default, skip_serializing_if = "Winner::is_absent")]
    pub winner: Winner,
    /// In a review: the events in doubt, by their numbers in the shot.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful_events: Vec<usize>,
    /// In a ruling that replaces earlier ones: how many rulings on this shot came before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<u32>,
    /// Set when it is not official before the referee's word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proposed: bool,
    pub text: Text,
}

/// The key `winner`: missing says "no lag", null says "lag again".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Winner {
    /// Not a lag.
    #[default]
    Absent,
    /// Lag again.
    Nobody,
    /// The winner's ball.
    Ball(Ball),
}

impl Winner {
    fn of(ruling: &Ruling) -> Self {
        match (ruling.decision, ruling.winner) {
            (Decision::Lag, Some(ball)) => Self::Ball(ball),
            (Decision::Lag, None) => Self::Nobody,
            _ => Self::Absent,
        }
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

impl Serialize for Winner {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ball(ball) => Name(*ball).serialize(s),
            Self::Nobody | Self::Absent => s.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for Winner {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Option::<Name<Ball>>::deserialize(d)?.map_or(Self::Nobody, |ball| Self::Ball(ball.0)))
    }
}

/// Points by seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(non_snake_case, missing_docs)]
pub struct Score {
    pub A: u32,
    pub B: u32,
}

/// A ruling in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Text {
    pub en: String,
    pub ko: String,
    pub ru: String,
}

/// The last line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Number of shots.
    pub shots: u32,
    /// Whether the whole recording was read; false when it is damaged or cut short.
    pub complete: bool,
}

/// Seconds to the microsecond: a tenth of the finest time error that a 240 Hz camera allows.
pub fn seconds(t: f64) -> f64 {
    rounded(t, 1e6)
}

/// Metres to 0.01 mm: a hundredth of the position error aimed at.
pub fn metres(v: f64) -> f64 {
    rounded(v, 1e5)
}

/// Probabilities to four digits.
fn probability(p: Confidence) -> f64 {
    rounded(p.get(), 1e4)
}

/// Adding zero turns -0.0 into 0.0: a sign without meaning must not make two results differ.
fn rounded(v: f64, per_unit: f64) -> f64 {
    (v * per_unit).round() / per_unit + 0.0
}

impl From<TablePoint> for Place {
    fn from(at: TablePoint) -> Self {
        Self {
            x: metres(at.x()),
            y: metres(at.y()),
        }
    }
}

impl EventLine {
    fn new(no: usize, event: &Event) -> Self {
        Self {
            no,
            t: seconds(event.at.secs()),
            what: match event.kind {
                EventKind::CueStrike { ball } => What::CueStrike { ball: Name(ball) },
                EventKind::BallBall { a, b } => What::BallBall {
                    balls: [Name(a), Name(b)],
                },
                EventKind::Rail { ball, rail } => What::Rail {
                    ball: Name(ball),
                    rail: Name(rail),
                },
                EventKind::Pocket { ball, pocket } => What::Pocket {
                    ball: Name(ball),
                    pocket: Name(pocket),
                },
                EventKind::OffTable { ball } => What::OffTable { ball: Name(ball) },
                EventKind::Rest { ball } => What::Rest { ball: Name(ball) },
            },
            x: event.place.map(|p| metres(p.x())),
            y: event.place.map(|p| metres(p.y())),
            t_err: seconds(event.t_err_s),
            confidence: probability(event.confidence),
        }
    }
}

impl EventLine {
    fn to_event(&self) -> Event {
        Event {
            at: Timestamp::saturating(self.t),
            kind: match self.what {
                What::CueStrike { ball } => EventKind::CueStrike { ball: ball.0 },
                What::BallBall { balls: [p, q] } => EventKind::contact(p.0, q.0),
                What::Rail { ball, rail } => EventKind::Rail {
                    ball: ball.0,
                    rail: rail.0,
                },
                What::Pocket { ball, pocket } => EventKind::Pocket {
                    ball: ball.0,
                    pocket: pocket.0,
                },
                What::OffTable { ball } => EventKind::OffTable { ball: ball.0 },
                What::Rest { ball } => EventKind::Rest { ball: ball.0 },
            },
            place: self.x.zip(self.y).map(|(x, y)| TablePoint::new(x, y)),
            t_err_s: self.t_err,
            confidence: Confidence::new(self.confidence),
        }
    }
}

impl From<&Shot> for ShotLine {
    fn from(shot: &Shot) -> Self {
        let layout = |l: &BTreeMap<Ball, TablePoint>| l.iter().map(|(ball, at)| (Name(*ball), Place::from(*at))).collect();
        let lines = |likely: bool| {
            let events = shot.events().iter().enumerate();
            events.filter(|(_, e)| e.is_likely() == likely).map(|(no, e)| EventLine::new(no, e)).collect()
        };
        Self {
            shot: shot.no,
            kind: Name(shot.kind),
            start_s: seconds(shot.start.secs()),
            end_s: seconds(shot.end.secs()),
            cue_ball: shot.cue_ball.map(Name),
            events: lines(true),
            possible_events: lines(false),
            before: layout(&shot.before),
            rest: layout(&shot.rest),
            flags: shot.flags.iter().copied().map(Name).collect(),
            unsure_orders: shot
                .unsure_orders
                .iter()
                .map(|&(first, second, p)| UnsureOrder {
                    first,
                    second,
                    confidence: probability(p),
                })
                .collect(),
        }
    }
}

impl ShotLine {
    /// The shot again, without its paths: those are in `trajectories.parquet`.
    pub fn to_shot(&self) -> Shot {
        let at = Timestamp::saturating;
        let layout = |l: &BTreeMap<Name<Ball>, Place>| l.iter().map(|(ball, p)| (ball.0, TablePoint::new(p.x, p.y))).collect();
        let mut lines: Vec<&EventLine> = self.events.iter().chain(&self.possible_events).collect();
        lines.sort_by_key(|line| line.no);
        let events = lines.into_iter().map(EventLine::to_event).collect();
        let mut shot = Shot::new(
            self.shot,
            self.kind.0,
            at(self.start_s),
            at(self.end_s),
            self.cue_ball.map(|b| b.0),
            events,
        );
        shot.before = layout(&self.before);
        shot.rest = layout(&self.rest);
        shot.flags = self.flags.iter().map(|f| f.0).collect();
        shot.unsure_orders = self
            .unsure_orders
            .iter()
            .map(|o| (o.first, o.second, Confidence::new(o.confidence)))
            .collect();
        shot
    }
}

impl RulingLine {
    /// `earlier` counts the rulings on the same shot that came before.
    pub fn new(ruling: &Ruling, earlier: u32) -> Self {
        Self {
            shot: ruling.shot,
            decision: Name(ruling.decision),
            points: ruling.points,
            rules: ruling.clauses.clone(),
            confidence: probability(ruling.confidence),
            player: ruling.player.map(Name),
            next_player: ruling.next_player.map(Name),
            score: Score {
                A: ruling.score.a,
                B: ruling.score.b,
            },
            winner: Winner::of(ruling),
            doubtful_events: ruling.doubtful_events.clone(),
            supersedes: (earlier > 0).then_some(earlier),
            proposed: ruling.proposed,
            text: Text {
                en: ruling.text.en.clone(),
                ko: ruling.text.ko.clone(),
                ru: ruling.text.ru.clone(),
            },
        }
    }

    /// The ruling again.
    pub fn to_ruling(&self) -> Ruling {
        Ruling {
            shot: self.shot,
            decision: self.decision.0,
            points: self.points,
            clauses: self.rules.clone(),
            confidence: Confidence::new(self.confidence),
            player: self.player.map(|s| s.0),
            next_player: self.next_player.map(|s| s.0),
            score: BySeat {
                a: self.score.A,
                b: self.score.B,
            },
            winner: match self.winner {
                Winner::Ball(ball) => Some(ball),
                Winner::Nobody | Winner::Absent => None,
            },
            doubtful_events: self.doubtful_events.clone(),
            proposed: self.proposed,
            text: Wording {
                en: self.text.en.clone(),
                ko: self.text.ko.clone(),
                ru: self.text.ru.clone(),
            },
            ..Ruling::default()
        }
    }
}

/// A value that is written as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name<T>(pub T);

/// Values that have a name in files.
pub trait Named: Sized + Copy {
    /// For the error: "a ball".
    const WHAT: &'static str;

    /// The name.
    fn to_name(self) -> String;

    /// `None` when no value has that name.
    fn from_name(name: &str) -> Option<Self>;
}

impl<T: Named> Serialize for Name<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0.to_name())
    }
}

impl<'de, T: Named> Deserialize<'de> for Name<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let name = String::deserialize(d)?;
        T::from_name(&name)
            .map(Name)
            .ok_or_else(|| D::Error::custom(format_args!("'{name}' is not {}", T::WHAT)))
    }
}

impl<T: Named> fmt::Display for Name<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_name())
    }
}

impl Named for Ball {
    const WHAT: &'static str = "a ball";

    fn to_name(self) -> String {
        self.to_string()
    }

    fn from_name(name: &str) -> Option<Self> {
        name.parse().ok()
    }
}

/// The value among `all` whose name is `name`.
fn find<T: Named>(all: &[T], name: &str) -> Option<T> {
    all.iter().copied().find(|v| v.to_name() == name)
}

macro_rules! named {
    ($type:ty, $what:literal, $all:expr, $name:expr) => {
        impl Named for $type {
            const WHAT: &'static str = $what;

            fn to_name(self) -> String {
                let name: fn($type) -> &'static str = $name;
                name(self).to_owned()
            }

            fn from_name(name: &str) -> Option<Self> {
                find(&$all, name)
            }
        }
    };
}

named!(Rail, "a rail", RAILS, Rail::name);
named!(Pocket, "a pocket", POCKETS, Pocket::name);
named!(
    ShotKind,
    "a kind of shot",
    [ShotKind::Shot, ShotKind::Serve, ShotKind::Lag],
    |kind| match kind {
        ShotKind::Shot => "shot",
        ShotKind::Serve => "serve",
        ShotKind::Lag => "lag",
    }
);
named!(
    ShotFlag,
    "a flag of a shot",
    [
        ShotFlag::StartsBeforeRecording,
        ShotFlag::EndsBeforeRest,
        ShotFlag::Cut,
        ShotFlag::CameraMoved,
        ShotFlag::FramesLost,
        ShotFlag::Occluded,
    ],
    ShotFlag::name
);
named!(
    Decision,
    "a decision",
    [
        Decision::Point,
        Decision::NoPoint,
        Decision::Legal,
        Decision::Foul,
        Decision::Lag,
        Decision::Review,
    ],
    Decision::name
);
named!(Seat, "a seat", [Seat::A, Seat::B], |seat| match seat {
    Seat::A => "A",
    Seat::B => "B",
});

/// Short names of balls in one-line accounts of a shot: the first letter in carom, the number in pool.
pub fn initial(ball: Ball) -> String {
    if CAROM_BALLS.contains(&ball) || ball == Ball::Cue {
        ball.to_string().chars().take(1).flat_map(char::to_uppercase).collect()
    } else {
        ball.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinks::result::tests::{a_ruling, a_shot};

    #[test]
    fn a_shot_is_written_in_the_published_shape() {
        let line = Line::Shot(Box::new(ShotLine::from(&a_shot())));
        assert_eq!(
            serde_json::to_string(&line).unwrap(),
            concat!(
                r#"{"type":"shot","shot":1,"kind":"serve","start_s":3.217,"end_s":11.905,"cue_ball":"white","events":["#,
                r#"{"no":0,"t":3.217,"type":"cue_strike","ball":"white","t_err":0.004,"confidence":1.0},"#,
                r#"{"no":1,"t":3.641235,"type":"ball_ball","balls":["white","yellow"],"x":0.81235,"y":0.0,"t_err":0.004,"confidence":0.9988},"#,
                r#"{"no":2,"t":4.102,"type":"rail","ball":"white","rail":"left","x":0.4,"y":0.68,"t_err":0.004,"confidence":0.998},"#,
                r#"{"no":3,"t":11.905,"type":"rest","ball":"white","t_err":0.02,"confidence":1.0}],"#,
                r#""before":{"white":{"x":-0.71,"y":0.0}},"rest":{"white":{"x":0.1,"y":-0.2}},"flags":["occluded"],"#,
                r#""unsure_orders":[{"first":1,"second":2,"confidence":0.75}]}"#
            )
        );
    }

    #[test]
    fn a_shot_comes_back_as_it_was_written() {
        let line = ShotLine::from(&a_shot());
        let text = serde_json::to_string(&line).unwrap();
        let again: ShotLine = serde_json::from_str(&text).unwrap();
        assert_eq!(ShotLine::from(&again.to_shot()), line);
    }

    #[test]
    fn a_ruling_comes_back_as_it_was_written() {
        let ruling = a_ruling();
        let text = serde_json::to_string(&RulingLine::new(&ruling, 0)).unwrap();
        assert!(!text.contains("winner") && !text.contains("supersedes"), "{text}");
        let again: RulingLine = serde_json::from_str(&text).unwrap();
        assert_eq!(again.to_ruling(), ruling);
    }

    #[test]
    fn a_lag_without_winner_says_so() {
        let ruling = Ruling {
            decision: Decision::Lag,
            winner: None,
            ..a_ruling()
        };
        let text = serde_json::to_string(&RulingLine::new(&ruling, 2)).unwrap();
        assert!(
            text.contains(r#""winner":null"#) && text.contains(r#""supersedes":2"#),
            "{text}"
        );
        let again: RulingLine = serde_json::from_str(&text).unwrap();
        assert_eq!(again.winner, Winner::Nobody);
    }

    #[test]
    fn unknown_lines_and_keys_are_skipped_and_wrong_names_are_named() {
        let unknown: Line = serde_json::from_str(r#"{"type":"applause","db":90}"#).unwrap();
        assert_eq!(unknown, Line::Unknown);
        let newer: Line = serde_json::from_str(r#"{"type":"end","shots":2,"complete":true,"new":1}"#).unwrap();
        assert_eq!(
            newer,
            Line::End(End {
                shots: 2,
                complete: true
            })
        );
        let wrong =
            serde_json::from_str::<EventLine>(r#"{"no":0,"t":1,"type":"rail","ball":"white","rail":"top","t_err":0,"confidence":1}"#);
        assert!(wrong.unwrap_err().to_string().contains("'top' is not a rail"));
    }

    #[test]
    fn every_value_has_one_name() {
        assert_eq!(Ball::from_name("cue"), Some(Ball::Cue));
        assert_eq!(Decision::from_name("no_point"), Some(Decision::NoPoint));
        assert_eq!(ShotFlag::from_name("ends_before_rest"), Some(ShotFlag::EndsBeforeRest));
        assert_eq!(Pocket::from_name("side_left"), Some(Pocket::SideLeft));
        assert_eq!(Seat::from_name("C"), None);
    }
}
