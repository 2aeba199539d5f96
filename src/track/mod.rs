//! Observations to readings: which ball is which, frame by frame. Pure: no input or output, no clock, no failure.
//!
//! Metres and seconds. A ball's identity is decided by what it looks like *and* by where it can have got to: a reading that
//! no ball could have reached must be confirmed by the readings after it before it counts (one stray blob never claims a
//! jump). Nothing is smoothed here: the events stage fits motion to the raw readings.

mod stretch;

pub use stretch::readings as readings_of_stretch;

use std::collections::BTreeMap;

use crate::ball::Ball;
use crate::observation::{FrameObservations, Observation};
use crate::space::TablePoint;
use crate::units::Timestamp;

/// No ball in play is faster, metres per second: hard break shots reach 9 m/s at the cue ball, carom strokes 7 m/s.
pub const MAX_BALL_SPEED_M_S: f64 = 9.0;

/// Slack added to what a ball can travel between two readings, metres: half a ball, for a blurred or half hidden centre.
const REACH_SLACK_M: f64 = 0.03;

/// A reading out of reach counts once this many successive ones agree with it.
const CONFIRMING_READINGS: usize = 3;

/// Observations less likely than this to be the ball in question are not considered for it.
const MIN_KIND_CONFIDENCE: f64 = 0.15;

/// Spread of the prediction error of a moving ball over one frame, metres: keeps a contact's kink within a few spreads.
const PREDICTION_SPREAD_M: f64 = 0.02;

/// Share of the distance travelled since the last reading that the prediction may be wrong by, one spread.
const PREDICTION_SPREAD_SHARE: f64 = 0.3;

/// One accepted observation of a known ball.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Middle of the exposure.
    pub at: Timestamp,
    /// Ball centre projected on the cloth.
    pub place: TablePoint,
    /// One standard deviation, metres: geometric mean of the covariance's axes.
    pub sigma_m: f64,
    /// One standard deviation along x and along y, metres.
    pub axes_m: [f64; 2],
    /// Share of the ball that was seen.
    pub coverage: f64,
}

impl Reading {
    fn from_observation(at: Timestamp, seen: &Observation) -> Self {
        let known = |variance: f64| {
            if variance.is_finite() && variance > 0.0 {
                variance.sqrt()
            } else {
                REACH_SLACK_M
            }
        };
        let sigma_m = known(seen.covariance.determinant().max(0.0).sqrt());
        let axes_m = [seen.covariance[(0, 0)], seen.covariance[(1, 1)]].map(known);
        Self {
            at,
            place: seen.at,
            sigma_m,
            axes_m,
            coverage: seen.coverage,
        }
    }
}

#[derive(Debug, Clone, Default)]
struct BallTrack {
    /// The last readings that count, newest last; two are enough to predict.
    recent: Vec<Reading>,
    /// Readings out of reach of `recent` that wait for confirmation.
    pending: Vec<Reading>,
}

impl BallTrack {
    fn predict(&self, at: Timestamp) -> Option<(TablePoint, f64)> {
        let last = self.recent.last()?;
        let dt = at.since(last.at);
        let step = match self.recent.len() {
            0 | 1 => nalgebra::Vector2::zeros(),
            n => {
                let before = &self.recent[n - 2];
                let gap = last.at.since(before.at);
                // After a gap the old velocity says little.
                if gap > 0.0 && dt < 3.0 * gap {
                    (last.place.0 - before.place.0) / gap * dt
                } else {
                    nalgebra::Vector2::zeros()
                }
            }
        };
        Some((
            TablePoint(last.place.0 + step),
            PREDICTION_SPREAD_M + PREDICTION_SPREAD_SHARE * step.norm(),
        ))
    }

    fn within_reach(from: &Reading, to: &Reading) -> bool {
        let dt = to.at.since(from.at).max(0.0);
        from.place.distance(to.place) <= MAX_BALL_SPEED_M_S * dt + REACH_SLACK_M
    }

    /// Takes a reading; returns those that count from now on (several when a pending run is confirmed).
    fn take(&mut self, reading: Reading) -> Vec<Reading> {
        let reachable = self.recent.last().is_none_or(|last| Self::within_reach(last, &reading));
        if reachable {
            self.pending.clear();
            self.push(reading);
            return vec![reading];
        }
        if self.pending.last().is_some_and(|p| !Self::within_reach(p, &reading)) {
            self.pending.clear();
        }
        self.pending.push(reading);
        if self.pending.len() < CONFIRMING_READINGS {
            return Vec::new();
        }
        let confirmed = std::mem::take(&mut self.pending);
        self.recent.clear();
        for r in &confirmed {
            self.push(*r);
        }
        confirmed
    }

    fn push(&mut self, reading: Reading) {
        if self.recent.len() >= 2 {
            self.recent.remove(0);
        }
        self.recent.push(reading);
    }
}

/// Follows a known set of balls.
#[derive(Debug, Clone)]
pub struct Tracker {
    tracks: BTreeMap<Ball, BallTrack>,
}

impl Tracker {
    /// A tracker for exactly these balls.
    pub fn new(balls: &[Ball]) -> Self {
        Self {
            tracks: balls.iter().map(|b| (*b, BallTrack::default())).collect(),
        }
    }

    /// The balls it follows, in order.
    pub fn balls(&self) -> impl Iterator<Item = Ball> + '_ {
        self.tracks.keys().copied()
    }

    /// Forgets where the balls were: after a cut nothing can be predicted.
    pub fn forget(&mut self) {
        for track in self.tracks.values_mut() {
            *track = BallTrack::default();
        }
    }

    /// Gives each ball at most one observation of this frame and each observation to at most one ball.
    ///
    /// Returns the readings that now count; a confirmed jump returns earlier readings too, in time order.
    pub fn update(&mut self, seen: &FrameObservations) -> Vec<(Ball, Reading)> {
        let mut offers: Vec<(f64, Ball, usize)> = Vec::new();
        for (index, observation) in seen.balls.iter().enumerate() {
            for (ball, confidence) in &observation.kinds {
                let Some(track) = self.tracks.get(ball) else { continue };
                if confidence.get() < MIN_KIND_CONFIDENCE {
                    continue;
                }
                // Gaussian in the prediction error up to a few spreads, then flat: a contact may send a ball anywhere.
                let far = match track.predict(seen.at) {
                    Some((place, spread_m)) => (place.distance(observation.at) / spread_m).powi(2).min(MAX_PREDICTION_COST),
                    None => MAX_PREDICTION_COST,
                };
                if far >= MAX_PREDICTION_COST
                    && confidence.get() * observation.coverage < GOOD_LOOKS
                    && track.predict(seen.at).is_some()
                {
                    continue;
                }
                let cost = far - 2.0 * confidence.get().ln() - 2.0 * observation.coverage.clamp(0.05, 1.0).ln();
                offers.push((cost, *ball, index));
            }
        }
        offers.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut used = vec![false; seen.balls.len()];
        let mut served: Vec<Ball> = Vec::new();
        let mut accepted = Vec::new();
        for (_, ball, index) in offers {
            if used[index] || served.contains(&ball) {
                continue;
            }
            used[index] = true;
            served.push(ball);
            if let Some(track) = self.tracks.get_mut(&ball) {
                let reading = Reading::from_observation(seen.at, &seen.balls[index]);
                accepted.extend(track.take(reading).into_iter().map(|r| (ball, r)));
            }
        }
        accepted.sort_by(|a, b| a.1.at.cmp(&b.1.at).then(a.0.cmp(&b.0)));
        accepted
    }
}

/// Confidence times coverage that an observation needs to be taken where the ball was not expected.
const GOOD_LOOKS: f64 = 0.6;

/// Beyond this many squared spreads distance no longer counts against an observation: only its looks do.
const MAX_PREDICTION_COST: f64 = 25.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::TableCovariance;
    use crate::units::{Confidence, FrameNo};

    fn seen(no: u64, balls: &[(Ball, f64, f64)]) -> FrameObservations {
        let at = Timestamp::saturating(no as f64 / 30.0);
        let balls = balls
            .iter()
            .map(|(ball, x, y)| Observation {
                kinds: vec![(*ball, Confidence::new(0.9))],
                at: TablePoint::new(*x, *y),
                covariance: TableCovariance::identity() * 1e-6,
                coverage: 1.0,
            })
            .collect();
        FrameObservations {
            no: FrameNo(no),
            at,
            table_in_view: true,
            balls,
        }
    }

    #[test]
    fn a_single_far_reading_is_not_taken_and_three_are() {
        let mut tracker = Tracker::new(&[Ball::White]);
        for no in 0..5 {
            assert_eq!(tracker.update(&seen(no, &[(Ball::White, 0.0, 0.0)])).len(), 1);
        }
        assert!(tracker.update(&seen(5, &[(Ball::White, 1.0, 0.5)])).is_empty());
        assert_eq!(tracker.update(&seen(6, &[(Ball::White, 0.0, 0.0)])).len(), 1);
        assert!(tracker.update(&seen(7, &[(Ball::White, 1.0, 0.5)])).is_empty());
        assert!(tracker.update(&seen(8, &[(Ball::White, 1.0, 0.5)])).is_empty());
        assert_eq!(tracker.update(&seen(9, &[(Ball::White, 1.0, 0.5)])).len(), 3);
    }

    #[test]
    fn the_nearer_of_two_like_blobs_is_the_ball() {
        let mut tracker = Tracker::new(&[Ball::Red]);
        for no in 0..3 {
            tracker.update(&seen(no, &[(Ball::Red, 0.5, 0.1)]));
        }
        let got = tracker.update(&seen(3, &[(Ball::Red, 0.6, 0.1), (Ball::Red, 0.501, 0.1)]));
        assert_eq!(got.len(), 1);
        assert!(got[0].1.place.distance(TablePoint::new(0.501, 0.1)) < 1e-9);
    }
}
