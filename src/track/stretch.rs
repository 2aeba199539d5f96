//! Which observation is which ball over a whole stretch of frames at once.
//!
//! Frame by frame a glove or a sleeve can look like a ball, and the nearest candidate may be the wrong one for seconds.
//! Over a stretch the ball is the path that was seen in the most frames, looked most like itself, and never moved faster
//! than a ball can: the best path through all observations, found by dynamic programming (Viterbi).

use std::collections::BTreeMap;

use super::{MAX_BALL_SPEED_M_S, MIN_KIND_CONFIDENCE, REACH_SLACK_M, Reading};
use crate::ball::Ball;
use crate::observation::FrameObservations;

/// Longest time for which a ball may be hidden within a path, seconds: a player who leans over
/// the table may cover it for as long as he aims.
const MAX_HIDDEN_S: f64 = 4.0;

/// A path that loses a ball and finds it again elsewhere pays this, in frames seen: a ball does not hide while it jumps.
const JUMP_PRICE: f64 = 6.0;

/// Moving this far while unseen is a jump, metres; and so much further for each second it was unseen, as a ball on its way
/// does that is lost for a moment (metres per second, seconds).
const JUMP_M: f64 = 0.1;
const ON_ITS_WAY_M_S: f64 = 1.5;
const MOMENT_S: f64 = 0.25;

/// Lost for no more frames than this is not hidden: in the frame in which two balls touch, one is often not told.
const MAX_LOST_FRAMES: usize = 1;

/// Price of moving, in frames seen per metre: only breaks ties, since balls do move.
const MOVE_PRICE_PER_M: f64 = 0.05;

/// Confidence times coverage below which an observation does not speak for a path, and what it then costs.
const DUBIOUS: f64 = 0.4;
const LEAST_GAIN: f64 = -0.02;

#[derive(Clone, Copy)]
struct Node {
    frame: usize,
    index: usize,
    reading: Reading,
    best: f64,
    from: Option<usize>,
}

/// Readings of each ball over the frames, in time order. Each observation belongs to at most one ball.
pub fn readings(frames: &[FrameObservations], balls: impl Iterator<Item = Ball>) -> BTreeMap<Ball, Vec<Reading>> {
    let balls: Vec<Ball> = balls.collect();
    let mut taken: BTreeMap<(usize, usize), (Ball, f64)> = BTreeMap::new();
    let mut paths: BTreeMap<Ball, Vec<Node>> = BTreeMap::new();
    // Twice: the second time no ball may use what another looks more like.
    for _ in 0..2 {
        for ball in &balls {
            let free = |frame: usize, index: usize, confidence: f64| {
                taken
                    .get(&(frame, index))
                    .is_none_or(|(owner, p)| owner == ball || *p < confidence)
            };
            paths.insert(*ball, best_path(frames, *ball, &free));
        }
        taken.clear();
        for (ball, path) in &paths {
            for node in path {
                let mine = (*ball, kind_confidence(frames, *ball, node.frame, node.index));
                let entry = taken.entry((node.frame, node.index)).or_insert(mine);
                if entry.1 < mine.1 {
                    *entry = mine;
                }
            }
        }
    }
    let owned = |ball: Ball, n: &Node| taken.get(&(n.frame, n.index)).is_some_and(|o| o.0 == ball);
    paths
        .into_iter()
        .map(|(ball, path)| (ball, path.iter().filter(|n| owned(ball, n)).map(|n| n.reading).collect()))
        .collect()
}

fn kind_confidence(frames: &[FrameObservations], ball: Ball, frame: usize, index: usize) -> f64 {
    let kinds = &frames[frame].balls[index].kinds;
    kinds.iter().find(|k| k.0 == ball).map_or(0.0, |k| k.1.get())
}

fn best_path(frames: &[FrameObservations], ball: Ball, free: &dyn Fn(usize, usize, f64) -> bool) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut window = 0;
    for (frame, seen) in frames.iter().enumerate().filter(|(_, f)| f.table_in_view) {
        let first_of_frame = nodes.len();
        while window < nodes.len() && seen.at.since(nodes[window].reading.at) > MAX_HIDDEN_S {
            window += 1;
        }
        for (index, observation) in seen.balls.iter().enumerate() {
            let confidence = kind_confidence(frames, ball, frame, index);
            if confidence < MIN_KIND_CONFIDENCE || !free(frame, index, confidence) {
                continue;
            }
            let reading = Reading::from_observation(seen.at, observation);
            // What looks like half a ball is worth nothing by itself: it counts only where it holds a path together.
            let gain = (confidence * observation.coverage - DUBIOUS).max(LEAST_GAIN);
            // A path may begin anywhere; what it missed before is its own loss.
            let mut node = Node {
                frame,
                index,
                reading,
                best: gain,
                from: None,
            };
            for (k, before) in nodes[window..first_of_frame].iter().enumerate() {
                let dt = seen.at.since(before.reading.at);
                let way = before.reading.place.distance(reading.place);
                if dt <= 0.0 || way > MAX_BALL_SPEED_M_S * dt + REACH_SLACK_M {
                    continue;
                }
                let skipped = frame - before.frame > MAX_LOST_FRAMES + 1;
                let jump = if skipped && way > JUMP_M + ON_ITS_WAY_M_S * dt.min(MOMENT_S) {
                    JUMP_PRICE
                } else {
                    0.0
                };
                let total = before.best + gain - jump - MOVE_PRICE_PER_M * way;
                if total > node.best {
                    node.best = total;
                    node.from = Some(window + k);
                }
            }
            nodes.push(node);
        }
    }
    let mut at = (0..nodes.len()).max_by(|a, b| nodes[*a].best.total_cmp(&nodes[*b].best));
    let mut path = Vec::new();
    while let Some(k) = at {
        path.push(nodes[k]);
        at = nodes[k].from;
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Observation;
    use crate::space::{TableCovariance, TablePoint};
    use crate::units::{Confidence, FrameNo, Timestamp};

    fn white(x: f64, y: f64) -> Observation {
        Observation {
            kinds: vec![(Ball::White, Confidence::new(0.9))],
            at: TablePoint::new(x, y),
            covariance: TableCovariance::identity() * 1e-6,
            coverage: 1.0,
        }
    }

    /// A glove looks like the white ball for a second, then leaves; the ball lies elsewhere all the time.
    #[test]
    fn what_stays_is_the_ball() {
        let frames: Vec<FrameObservations> = (0..90)
            .map(|k| {
                let mut balls = vec![white(0.5, 0.2)];
                if k < 30 {
                    balls.insert(0, white(-0.3, 0.1));
                }
                FrameObservations {
                    no: FrameNo(k),
                    at: Timestamp::saturating(k as f64 / 30.0),
                    table_in_view: true,
                    balls,
                }
            })
            .collect();
        let got = readings(&frames, [Ball::White].into_iter());
        assert_eq!(got[&Ball::White].len(), 90);
        assert!(got[&Ball::White].iter().all(|r| r.place.x() > 0.4));
    }
}
