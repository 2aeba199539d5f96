//! What the rules look at: the facts of one stroke, without pictures and paths.

use crate::ball::Ball;
use crate::events::{Event, EventKind, Layout, Shot, ShotFlag, ShotKind};
use crate::table::Table;
use crate::units::{Confidence, Timestamp};

/// Longest time that the cue ball may go unseen within a stroke before touches could have been missed, seconds. In this time a
/// ball at a usual 2 m/s rolls 0.4 m: a rail and a ball, or two rails near a corner, fit between two sightings.
const LONGEST_BLIND_S: f64 = 0.2;

/// A ball's centre went over the long string (y = 0).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// When.
    pub at: Timestamp,
    /// Which ball.
    pub ball: Ball,
}

/// How near to the head rail a ball stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadDistance {
    /// Distance of the centre from the head rail's nose line, metres.
    pub distance_m: f64,
    /// Standard deviation, metres.
    pub sigma_m: f64,
}

/// The facts of one stroke, enough to rule on it and small enough to keep for a whole match.
#[derive(Debug, Clone, PartialEq)]
pub struct Stroke {
    /// Number of the shot, from 1.
    pub no: u32,
    /// What kind of stretch of play.
    pub kind: ShotKind,
    /// The struck ball, when known.
    pub cue_ball: Option<Ball>,
    /// In time order.
    pub events: Vec<Event>,
    /// Pairs whose order is unsure: indices into `events`, P(first before second).
    pub unsure_orders: Vec<(usize, usize, Confidence)>,
    /// Where the balls lay before it.
    pub before: Layout,
    /// Crossings of the long string by either cue ball, in time order.
    pub crossings: Vec<Crossing>,
    /// Distance of white and yellow at rest from the head rail, where seen.
    pub head_distance: Vec<(Ball, HeadDistance)>,
    /// What keeps us from knowing all of it.
    pub flags: Vec<ShotFlag>,
    /// The first stretch, of those long enough to hide touches, in which the cue ball was not seen; when no path is known, all
    /// of the stroke.
    pub blind_from: Option<Timestamp>,
}

impl Stroke {
    /// The facts of a shot that a camera saw. Length and width of `table` in metres.
    pub fn from_shot(shot: &Shot, table: &Table) -> Self {
        let lag = shot.kind == ShotKind::Lag;
        Self {
            no: shot.no,
            kind: shot.kind,
            cue_ball: shot.cue_ball,
            events: shot.events().to_vec(),
            unsure_orders: shot.unsure_orders.clone(),
            before: shot.before.clone(),
            crossings: if lag { crossings(shot) } else { Vec::new() },
            head_distance: if lag { head_distances(shot, table) } else { Vec::new() },
            flags: shot.flags.clone(),
            blind_from: shot.cue_ball.and_then(|ball| blind_from(shot, ball)),
        }
    }

    /// Whether `flag` is set.
    pub fn has(&self, flag: ShotFlag) -> bool {
        self.flags.contains(&flag)
    }

    /// Indices of the strikes, in time order.
    pub fn strikes(&self) -> impl Iterator<Item = usize> + '_ {
        let strike = |e: &Event| matches!(e.kind, EventKind::CueStrike { .. });
        self.events.iter().enumerate().filter(move |(_, e)| strike(e)).map(|(i, _)| i)
    }
}

/// Start of the first stretch longer than [`LONGEST_BLIND_S`] without a sighting of `ball`, between strike and end.
fn blind_from(shot: &Shot, ball: Ball) -> Option<Timestamp> {
    let mut last = shot.start;
    let samples = shot.paths.get(&ball).map_or(&[][..], Vec::as_slice);
    for s in samples.iter().filter(|s| s.observed && s.at >= shot.start) {
        if s.at.since(last) > LONGEST_BLIND_S {
            return Some(last);
        }
        last = s.at;
    }
    // A ball at rest is not news: a path may end when the ball does.
    let at_rest = shot
        .events()
        .iter()
        .any(|e| e.kind == (EventKind::Rest { ball }) && e.at.since(last) <= LONGEST_BLIND_S);
    (!at_rest && shot.end.since(last) > LONGEST_BLIND_S).then_some(last)
}

/// When each path changes from one side of the long string to the other.
fn crossings(shot: &Shot) -> Vec<Crossing> {
    let mut all = Vec::new();
    for (&ball, path) in &shot.paths {
        for pair in path.windows(2) {
            if pair[0].place.y() * pair[1].place.y() < 0.0 {
                all.push(Crossing { at: pair[1].at, ball });
            }
        }
    }
    all.sort_by_key(|c| (c.at, c.ball));
    all
}

/// Position error of a ball at rest when no path tells it, metres: two millimetres, the accuracy asked of detection.
const REST_SIGMA_M: f64 = 0.002;

fn head_distances(shot: &Shot, table: &Table) -> Vec<(Ball, HeadDistance)> {
    let mut all = Vec::new();
    for ball in [Ball::White, Ball::Yellow] {
        let Some(&at) = shot.rest.get(&ball) else { continue };
        let last = shot.paths.get(&ball).and_then(|p| p.last());
        let distance_m = table.distance_to_nose_m(at, crate::table::Rail::Head);
        let sigma_m = last.map_or(REST_SIGMA_M, |s| s.sigma_m);
        all.push((ball, HeadDistance { distance_m, sigma_m }));
    }
    all
}
