//! What happened on the table: the strike, contacts, rails and rest, each with its time, its time error and how sure we
//! are. Metres and seconds; this module has never heard of pixels or frames' pictures.

mod causes;
mod footage;
mod near;
pub mod notation;
mod pieces;
mod reconstruct;
mod settle;
mod shots;

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::observation::FrameObservations;
use crate::space::TablePoint;
use crate::table::{Pocket, Rail, Table};
use crate::track::Reading;
use crate::units::{Confidence, Timestamp};

/// What kind of thing happened, and to which balls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// The cue struck this ball.
    CueStrike {
        /// The struck ball.
        ball: Ball,
    },
    /// Two balls touched. `a < b`, a contact has no direction.
    BallBall {
        /// One ball.
        a: Ball,
        /// The other.
        b: Ball,
    },
    /// A ball touched a rail: one event for a touch, a ride or chatter without release (C4.6).
    Rail {
        /// The ball.
        ball: Ball,
        /// The rail.
        rail: Rail,
    },
    /// A ball fell into a pocket.
    Pocket {
        /// The ball.
        ball: Ball,
        /// The pocket.
        pocket: Pocket,
    },
    /// A ball left the bed over a rail.
    OffTable {
        /// The ball.
        ball: Ball,
    },
    /// A ball that had moved came to rest.
    Rest {
        /// The ball.
        ball: Ball,
    },
}

impl EventKind {
    /// A contact of two balls, in canonical order.
    pub fn contact(p: Ball, q: Ball) -> Self {
        Self::BallBall {
            a: p.min(q),
            b: p.max(q),
        }
    }

    /// Whether `ball` takes part.
    pub fn involves(self, ball: Ball) -> bool {
        match self {
            Self::BallBall { a, b } => a == ball || b == ball,
            Self::CueStrike { ball: b }
            | Self::Rail { ball: b, .. }
            | Self::Pocket { ball: b, .. }
            | Self::OffTable { ball: b }
            | Self::Rest { ball: b } => b == ball,
        }
    }

    /// The ball that touched `ball`, when this is a contact of it.
    pub fn other(self, ball: Ball) -> Option<Ball> {
        match self {
            Self::BallBall { a, b } if a == ball => Some(b),
            Self::BallBall { a, b } if b == ball => Some(a),
            _ => None,
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When: between frames as a rule.
    pub at: Timestamp,
    /// What.
    pub kind: EventKind,
    /// Where the ball was (contact point of a ball–ball contact); `None` when it was not seen.
    pub place: Option<TablePoint>,
    /// Standard deviation of `at`, seconds.
    pub t_err_s: f64,
    /// Probability that it happened at all. Weak events are kept, so that a missed contact can be doubted.
    pub confidence: Confidence,
}

impl Event {
    /// Whether it more likely happened than not.
    pub fn is_likely(&self) -> bool {
        self.confidence.get() >= 0.5
    }
}

/// What a stretch of play is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ShotKind {
    /// An ordinary stroke.
    #[default]
    Shot,
    /// The opening stroke of a match (C3.7).
    Serve,
    /// Both cue balls struck together to settle who serves (C2).
    Lag,
}

/// Why a shot may not be known in full. Each may force a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShotFlag {
    /// Balls were already moving in the first frame.
    StartsBeforeRecording,
    /// The recording ended, or the picture was cut away, before every ball was at rest.
    EndsBeforeRest,
    /// The picture was cut within the shot.
    Cut,
    /// The camera was knocked or zoomed within the shot.
    CameraMoved,
    /// Frames are missing or damaged within the shot.
    FramesLost,
    /// A moving ball was hidden long enough to matter.
    Occluded,
}

impl ShotFlag {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::StartsBeforeRecording => "starts_before_recording",
            Self::EndsBeforeRest => "ends_before_rest",
            Self::Cut => "cut",
            Self::CameraMoved => "camera_moved",
            Self::FramesLost => "frames_lost",
            Self::Occluded => "occluded",
        }
    }
}

/// One point of a ball's path.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Timestamp,
    /// Where.
    pub place: TablePoint,
    /// Velocity, metres per second.
    pub velocity: crate::space::TableVelocity,
    /// Standard deviation of `place` along its worst axis, metres.
    pub sigma_m: f64,
    /// Seen in a frame (true) or bridged by the model (false).
    pub observed: bool,
}

/// Where each ball lay.
pub type Layout = BTreeMap<Ball, TablePoint>;

/// A shot as seen: from the strike to the last ball at rest. Nothing in it is a ruling.
#[derive(Debug, Clone, PartialEq)]
pub struct Shot {
    /// From 1, in time order.
    pub no: u32,
    /// What kind.
    pub kind: ShotKind,
    /// The strike.
    pub start: Timestamp,
    /// All at rest, or the last thing known.
    pub end: Timestamp,
    /// The ball that the cue struck; `None` for a lag or when it was not seen.
    pub cue_ball: Option<Ball>,
    /// In time order.
    events: Vec<Event>,
    /// Layout before the stroke.
    pub before: Layout,
    /// Layout at rest; a ball that was not seen at rest is missing.
    pub rest: Layout,
    /// What keeps us from knowing all of it.
    pub flags: Vec<ShotFlag>,
    /// Pairs of events whose order the times cannot settle: indices into `events` and P(first before second).
    pub unsure_orders: Vec<(usize, usize, Confidence)>,
    /// Each ball's path, sorted by time.
    pub paths: BTreeMap<Ball, Vec<Sample>>,
}

impl Shot {
    /// Sorts `events` by time; ties keep their order. Orders and paths start empty.
    pub fn new(
        no: u32,
        kind: ShotKind,
        start: Timestamp,
        end: Timestamp,
        cue_ball: Option<Ball>,
        mut events: Vec<Event>,
    ) -> Self {
        events.sort_by_key(|e| e.at);
        Self {
            no,
            kind,
            start,
            end,
            cue_ball,
            events,
            before: Layout::new(),
            rest: Layout::new(),
            flags: Vec::new(),
            unsure_orders: Vec::new(),
            paths: BTreeMap::new(),
        }
    }

    /// All events in time order.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Whether `flag` is set.
    pub fn has(&self, flag: ShotFlag) -> bool {
        self.flags.contains(&flag)
    }
}

/// Finds shots in the stream of readings and works each out when its balls rest.
#[derive(Debug, Clone)]
pub struct EventFinder {
    table: Table,
    shots: shots::ShotFinder,
    continuity: footage::Continuity,
    memory: footage::Memory,
    next_no: u32,
}

impl EventFinder {
    /// A finder for these balls on a table of these sizes.
    pub fn new(table: Table, balls: impl Iterator<Item = Ball>) -> Self {
        Self {
            table,
            shots: shots::ShotFinder::new(balls),
            continuity: footage::Continuity::default(),
            memory: footage::Memory::default(),
            next_no: 1,
        }
    }

    /// Takes a frame and the readings that began to count with it; returns a shot when one has just ended.
    pub fn observe(&mut self, seen: &FrameObservations, readings: &[(Ball, Reading)]) -> Option<Shot> {
        let raw = self.shots.observe(seen, readings);
        raw.and_then(|raw| self.work_out(&raw))
    }

    /// Looks at the next frame before its readings are taken. When the picture was cut just before it, though the table stayed
    /// in view, an open shot ends there and nothing known about the balls holds any more: `Some`, with the shot if one ended.
    pub fn cut(&mut self, seen: &FrameObservations) -> Option<Option<Shot>> {
        self.continuity.is_cut(seen).then(|| {
            let raw = self.shots.cut();
            raw.and_then(|raw| self.work_out(&raw))
        })
    }

    /// Whether the view was lost for so long that nothing known about the balls holds any more.
    pub fn lost_view(&self) -> bool {
        self.shots.lost_view()
    }

    /// No more frames: a shot still open is returned with its flag.
    pub fn finish(&mut self) -> Option<Shot> {
        let raw = self.shots.finish();
        raw.and_then(|raw| self.work_out(&raw))
    }

    /// `None` when it is an earlier shot shown again.
    fn work_out(&mut self, raw: &shots::RawShot) -> Option<Shot> {
        if self.memory.repeats(&raw.readings) {
            tracing::debug!(start = raw.start_hint.secs(), end = raw.end.secs(), "a shot shown again");
            return None;
        }
        self.memory.keep(&raw.readings);
        let shot = reconstruct::reconstruct(self.next_no, raw, &self.table);
        self.next_no += 1;
        Some(shot)
    }
}
