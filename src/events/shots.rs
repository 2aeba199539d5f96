//! Cuts the stream of readings into shots: from the first ball that leaves its resting place until all are at rest.
//!
//! Nothing here says what happened within a shot; see `causes`. Metres and seconds.

use std::collections::{BTreeMap, VecDeque};

use nalgebra::Vector2;

use super::ShotFlag;
use crate::ball::Ball;
use crate::observation::FrameObservations;
use crate::track::{Reading, readings_of_stretch};
use crate::units::Timestamp;

/// Rest is judged over this long, seconds: a referee wants 0.3–0.5 s below the threshold.
const REST_WINDOW_S: f64 = 0.4;

/// Below this speed a ball counts as at rest, metres per second. A rolling ball loses some 0.1 m/s each second, so it is
/// passed within a tenth of a second of true rest.
const REST_SPEED_M_S: f64 = 0.008;

/// All balls must rest for this long, seconds, before the stretch is closed: the end of the slowest ball's roll is then told
/// from rest by what follows it (at a roll's 0.1 m/s² it would have gone on another 5 mm).
const SETTLED_S: f64 = 0.3;

/// A ball has left its place when this far from it and going, metres …
const LEAVE_M: f64 = 0.006;
/// … in this many successive readings, or …
const LEAVE_READINGS: usize = 3;
/// … when this far away in two (about half a ball).
const LEAVE_FAR_M: f64 = 0.025;

/// Displacements are also held against this many standard deviations of the reading.
const LEAVE_SIGMAS: f64 = 5.0;

/// A ball covered more than this cannot show that it has left: a hand beside it shifts its visible middle.
const LEAVE_MIN_COVERAGE: f64 = 0.7;

/// Frames kept from before a shot, seconds: enough to know the resting places to a fraction of a millimetre, and to see
/// that what looked like a ball and left was none.
const BEFORE_SHOT_S: f64 = 2.5;

/// A ball not seen for this long while others rest no longer holds a shot open, seconds (arms hide a ball up to 1.5 s).
const UNSEEN_S: f64 = 2.0;

/// Out of view for less than this is an arm, a head or a lamp before the camera, seconds: no editor shows another picture
/// for so short a time.
const CUT_S: f64 = 0.2;

/// Out of view for this long ends a shot, seconds; shorter and the balls cannot have been lost.
const CUT_ENDS_SHOT_S: f64 = 0.5;

/// A stretch in which no ball got farther than this from where it began is no shot, metres: about one ball radius.
const MIN_TRAVEL_M: f64 = 0.03;

/// A shot lasts no longer, seconds: the longest strokes take some 20 s. Bounds the memory of a shot.
const MAX_SHOT_S: f64 = 60.0;

/// A gap between frames this many times the usual one, and at least this long, loses what happened in it.
const GAP_FACTOR: f64 = 3.5;
const MIN_GAP_S: f64 = 0.1;

/// Readings of a stretch of play, before anything is known about it.
#[derive(Debug, Clone)]
pub(crate) struct RawShot {
    /// First reading of the ball that left first.
    pub start_hint: Timestamp,
    /// Last reading.
    pub end: Timestamp,
    pub readings: BTreeMap<Ball, Vec<Reading>>,
    pub flags: Vec<ShotFlag>,
}

#[derive(Debug, Clone, Default)]
struct BallState {
    history: VecDeque<Reading>,
    /// Resting place, known while the ball has not left it.
    anchor: Option<Vector2<f64>>,
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some(values[values.len() / 2])
}

fn median_place<'a>(readings: impl Iterator<Item = &'a Reading> + Clone) -> Option<Vector2<f64>> {
    let x = median(readings.clone().map(|r| r.place.x()).collect())?;
    let y = median(readings.map(|r| r.place.y()).collect())?;
    Some(Vector2::new(x, y))
}

impl BallState {
    /// The place where the ball rests now, if it does.
    fn resting_place(&self, now: Timestamp) -> Option<Vector2<f64>> {
        let window: Vec<&Reading> = self
            .history
            .iter()
            .rev()
            .take_while(|r| now.since(r.at) <= REST_WINDOW_S)
            .collect();
        let (newest, oldest) = (window.first()?, window.last()?);
        let span = newest.at.since(oldest.at);
        if window.len() < 4 || span < 0.6 * REST_WINDOW_S {
            return None;
        }
        let half = window.len() / 2;
        let (late, early) = (
            median_place(window[..half].iter().copied())?,
            median_place(window[half..].iter().copied())?,
        );
        let sigma = median(window.iter().map(|r| r.sigma_m).collect())?;
        // The error of a median of n/2 readings is some 1.25 sigma / sqrt(n/2).
        let noise = 3.0 * 1.25 * sigma * (2.0 / half as f64).sqrt();
        let allowed = REST_SPEED_M_S * span / 2.0 + noise.min(0.002);
        ((late - early).norm() <= allowed).then_some(median_place(window.iter().copied())?)
    }

    /// Time of the first of the readings that show the ball gone from its anchor.
    fn left_at(&self) -> Option<Timestamp> {
        let anchor = self.anchor?;
        let gone = |r: &Reading, least: f64| {
            r.coverage >= LEAVE_MIN_COVERAGE && (r.place.0.coords - anchor).norm() > least.max(LEAVE_SIGMAS * r.sigma_m)
        };
        let n = self.history.len();
        let far = n >= 2 && self.history.range(n - 2..).all(|r| gone(r, LEAVE_FAR_M));
        let near = n >= LEAVE_READINGS && self.history.range(n - LEAVE_READINGS..).all(|r| gone(r, LEAVE_M));
        if !far && !near {
            return None;
        }
        let count = if near { LEAVE_READINGS } else { 2 };
        Some(self.history[n - count].at)
    }

    /// Whether the last readings show steady motion; for balls whose resting place was never seen.
    fn in_motion(&self) -> bool {
        let n = self.history.len();
        if n < 4 {
            return false;
        }
        let last: Vec<&Reading> = self.history.range(n - 4..).collect();
        if last.iter().any(|r| r.coverage < LEAVE_MIN_COVERAGE) {
            return false;
        }
        let steps: Vec<Vector2<f64>> = last.windows(2).map(|w| w[1].place.0 - w[0].place.0).collect();
        let sigma = last.iter().map(|r| r.sigma_m).fold(0.0, f64::max);
        let total = last[3].place.distance(last[0].place);
        total > LEAVE_FAR_M.max(LEAVE_SIGMAS * sigma) && steps.windows(2).all(|w| w[0].dot(&w[1]) > 0.0)
    }

    fn trim_before(&mut self, at: Timestamp) {
        while self.history.front().is_some_and(|r| r.at < at) {
            self.history.pop_front();
        }
    }
}

/// Finds where shots begin and end.
#[derive(Debug, Clone)]
pub(crate) struct ShotFinder {
    balls: BTreeMap<Ball, BallState>,
    open: Option<Open>,
    /// What was seen lately, or since the open shot began.
    frames: VecDeque<FrameObservations>,
    last_frame: Option<Timestamp>,
    usual_step_s: f64,
    out_of_view_since: Option<Timestamp>,
    /// No ball has been seen at rest since the recording (or the view) began.
    fresh: bool,
}

#[derive(Debug, Clone)]
struct Open {
    start_hint: Timestamp,
    /// Since when all balls have been at rest.
    still_since: Option<Timestamp>,
    flags: Vec<ShotFlag>,
}

impl Open {
    fn flag(&mut self, flag: ShotFlag) {
        if !self.flags.contains(&flag) {
            self.flags.push(flag);
        }
    }
}

impl ShotFinder {
    pub fn new(balls: impl Iterator<Item = Ball>) -> Self {
        Self {
            balls: balls.map(|b| (b, BallState::default())).collect(),
            open: None,
            frames: VecDeque::new(),
            last_frame: None,
            usual_step_s: 0.0,
            out_of_view_since: None,
            fresh: true,
        }
    }

    /// Takes the readings that began to count with this frame; returns a shot when one has ended.
    pub fn observe(&mut self, seen: &FrameObservations, readings: &[(Ball, Reading)]) -> Option<RawShot> {
        let now = seen.at;
        self.frames.push_back(seen.clone());
        if self.open.is_none() {
            while self.frames.front().is_some_and(|f| now.since(f.at) > BEFORE_SHOT_S) {
                self.frames.pop_front();
            }
        }
        if let Some(last) = self.last_frame {
            let step = now.since(last);
            if let Some(open) = &mut self.open
                && step > MIN_GAP_S
                && step > GAP_FACTOR * self.usual_step_s
            {
                open.flag(ShotFlag::FramesLost);
            }
            // A slow average of the frame interval; one gap hardly moves it.
            self.usual_step_s = if self.usual_step_s > 0.0 {
                0.95 * self.usual_step_s + 0.05 * step.min(2.0 * self.usual_step_s)
            } else {
                step
            };
        }
        self.last_frame = Some(now);
        if !seen.table_in_view {
            return self.out_of_view(now);
        }
        self.out_of_view_since = None;
        for (ball, reading) in readings {
            if let Some(state) = self.balls.get_mut(ball) {
                state.history.push_back(*reading);
            }
        }
        if self.open.is_some() {
            self.close_if_at_rest(now, SETTLED_S)
        } else {
            self.open_if_left(now)
        }
    }

    /// Whether the picture has just been lost for so long that where the balls were says nothing.
    pub fn lost_view(&self) -> bool {
        let away_s = self
            .out_of_view_since
            .zip(self.last_frame)
            .map(|(since, now)| now.since(since));
        self.open.is_none() && away_s.is_some_and(|s| s >= CUT_S)
    }

    fn out_of_view(&mut self, now: Timestamp) -> Option<RawShot> {
        let away_s = now.since(*self.out_of_view_since.get_or_insert(now));
        if away_s < CUT_S {
            return None;
        }
        if let Some(open) = &mut self.open {
            open.flag(ShotFlag::Cut);
            if away_s < CUT_ENDS_SHOT_S {
                return None;
            }
            open.flag(ShotFlag::EndsBeforeRest);
        }
        let shot = self.close();
        self.forget();
        shot
    }

    /// The picture was cut before the frame that comes next.
    pub fn cut(&mut self) -> Option<RawShot> {
        if let Some(open) = &mut self.open {
            open.flag(ShotFlag::Cut);
            open.flag(ShotFlag::EndsBeforeRest);
        }
        let shot = self.close();
        self.forget();
        self.frames.clear();
        shot
    }

    fn forget(&mut self) {
        for state in self.balls.values_mut() {
            *state = BallState::default();
        }
        self.fresh = true;
    }

    fn open_if_left(&mut self, now: Timestamp) -> Option<RawShot> {
        let mut left = self.balls.values().filter_map(BallState::left_at).min();
        if left.is_some() && !self.confirmed_departure(now) {
            left = None;
        }
        let unknown_moving = self.balls.values().any(|s| s.anchor.is_none() && s.in_motion());
        if let Some(start_hint) = left.or(unknown_moving.then_some(now)) {
            let mut open = Open {
                start_hint,
                still_since: None,
                flags: Vec::new(),
            };
            if left.is_none() && self.fresh {
                open.flag(ShotFlag::StartsBeforeRecording);
            }
            self.open = Some(open);
            return None;
        }
        for state in self.balls.values_mut() {
            if let Some(place) = state.resting_place(now) {
                // A ball that creeps away must not drag its anchor along.
                if state.anchor.is_none_or(|a| (a - place).norm() < LEAVE_M) {
                    state.anchor = Some(place);
                    self.fresh = false;
                }
            }
            let seen_lately = state.history.back().is_some_and(|r| now.since(r.at) <= UNSEEN_S);
            if seen_lately {
                state.trim_before(now.plus(-BEFORE_SHOT_S - REST_WINDOW_S));
            }
        }
        None
    }

    /// Looks at all that was seen lately at once: has a ball left its place, or was something else taken for it? In the
    /// latter case the balls' histories are put right.
    fn confirmed_departure(&mut self, now: Timestamp) -> bool {
        let readings = readings_of_stretch(self.frames.make_contiguous(), self.balls.keys().copied());
        let gone = self.balls.iter().any(|(ball, state)| {
            let mut whole = state.clone();
            whole.history = readings.get(ball).map(|r| r.iter().copied().collect()).unwrap_or_default();
            whole.left_at().is_some_and(|t| now.since(t) <= REST_WINDOW_S)
        });
        if !gone {
            for (ball, state) in &mut self.balls {
                if let Some(kept) = readings.get(ball) {
                    state.history = kept.iter().copied().collect();
                }
            }
        }
        gone
    }

    /// Ends the open shot when all balls have been at rest for `settled_s` seconds.
    fn close_if_at_rest(&mut self, now: Timestamp, settled_s: f64) -> Option<RawShot> {
        let start = self.open.as_ref()?.start_hint;
        if now.since(start) > MAX_SHOT_S {
            self.open.as_mut()?.flag(ShotFlag::EndsBeforeRest);
            return self.close();
        }
        if now.since(start) < REST_WINDOW_S {
            return None;
        }
        let mut hidden_while_moving = false;
        for state in self.balls.values() {
            let Some(last) = state.history.back() else { continue };
            let unseen = now.since(last.at);
            if state.resting_place(now).is_some() {
                continue;
            }
            if unseen < UNSEEN_S {
                self.open.as_mut()?.still_since = None;
                return None;
            }
            hidden_while_moving |= state.resting_place(last.at).is_none();
        }
        let since = *self.open.as_mut()?.still_since.get_or_insert(now);
        if settled_s > now.since(since) {
            return None;
        }
        if hidden_while_moving {
            self.open.as_mut()?.flag(ShotFlag::Occluded);
        }
        self.close()
    }

    fn close(&mut self) -> Option<RawShot> {
        let open = self.open.take()?;
        let readings = readings_of_stretch(self.frames.make_contiguous(), self.balls.keys().copied());
        let mut end = open.start_hint;
        let mut travelled = false;
        for kept in readings.values() {
            if let (Some(first), Some(last)) = (kept.first(), kept.last()) {
                end = end.max(last.at);
                travelled |= kept
                    .iter()
                    .any(|r| r.place.distance(first.place) > MIN_TRAVEL_M.max(LEAVE_SIGMAS * r.sigma_m));
            }
        }
        let now = self.last_frame.unwrap_or(end);
        for (ball, state) in &mut self.balls {
            // From here on the ball is where the whole stretch says it is.
            if let Some(kept) = readings.get(ball) {
                state.history = kept
                    .iter()
                    .filter(|r| now.since(r.at) <= 2.0 * REST_WINDOW_S)
                    .copied()
                    .collect();
            }
            state.anchor = state.resting_place(now);
        }
        // The next shot's resting places begin with this one's end.
        while self.frames.front().is_some_and(|f| now.since(f.at) > REST_WINDOW_S) {
            self.frames.pop_front();
        }
        travelled.then_some(RawShot {
            start_hint: open.start_hint,
            end,
            readings,
            flags: open.flags,
        })
    }

    /// No more frames.
    pub fn finish(&mut self) -> Option<RawShot> {
        let now = self.last_frame?;
        self.open.as_ref()?;
        let shot = self.close_if_at_rest(now, 0.0);
        if shot.is_some() || self.open.is_none() {
            return shot;
        }
        if let Some(open) = &mut self.open {
            open.flag(ShotFlag::EndsBeforeRest);
        }
        self.close()
    }
}
