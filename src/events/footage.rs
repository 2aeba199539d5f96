//! Footage that is edited: where one picture is cut to another of the same view, and where a shot is shown again.
//!
//! Both are told by the balls. No ball is elsewhere after a blink without having rolled there, and no two strokes send all
//! balls along the same ways, so what retraces a shot already seen, in the same order, is that shot once more, at whatever
//! speed. Metres and seconds.

use std::collections::{BTreeMap, VecDeque};

use crate::ball::Ball;
use crate::observation::{FrameObservations, Observation};
use crate::space::TablePoint;
use crate::track::{MAX_BALL_SPEED_M_S, Reading};
use crate::units::Timestamp;

/// A ball this far from where it can have come to has not rolled there, metres: more than any error of a reading.
const ELSEWHERE_M: f64 = 0.05;

/// How much farther than at its last known speed a ball may have rolled while the picture was gone: the speed itself is known
/// to some per cent, and nobody strikes a ball in the fraction of a second for which a cut or a fade lasts.
const FARTHER: f64 = 1.5;

/// An observation this near to where a ball should be may be that ball, whatever it was taken for, metres: one radius.
const SAME_PLACE_M: f64 = 0.03;

/// A ball not seen for longer says nothing, seconds.
const REMEMBERED_S: f64 = 1.0;

/// Two readings at most so far apart in time tell a speed, seconds.
const SPEED_OVER_S: f64 = 0.2;

/// Confidence times coverage of an observation that is taken for the ball it resembles.
const PLAIN: f64 = 0.6;

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Timestamp,
    place: TablePoint,
    speed_m_s: f64,
    /// Whether the picture was lost since.
    blinked: bool,
}

/// Watches for cuts that leave the table in view.
#[derive(Debug, Clone, Default)]
pub(crate) struct Continuity {
    last: BTreeMap<Ball, Seen>,
}

impl Continuity {
    /// Takes the next frame; whether the picture was cut just before it.
    pub fn is_cut(&mut self, seen: &FrameObservations) -> bool {
        if !seen.table_in_view {
            for ball in self.last.values_mut() {
                ball.blinked = true;
            }
            return false;
        }
        self.last.retain(|_, s| seen.at.since(s.at) <= REMEMBERED_S);
        let mut plain: BTreeMap<Ball, &Observation> = BTreeMap::new();
        for o in &seen.balls {
            let Some((ball, confidence)) = o.kinds.first() else { continue };
            let looks = confidence.get() * o.coverage;
            let better = |kept: &&Observation| kept.kinds.first().map_or(0.0, |k| k.1.get()) * kept.coverage < looks;
            if looks >= PLAIN && plain.get(ball).is_none_or(better) {
                plain.insert(*ball, o);
            }
        }
        let elsewhere = |(ball, now): (&Ball, &&Observation)| {
            let before = self.last.get(ball)?;
            let dt = seen.at.since(before.at);
            let speed = if before.blinked {
                FARTHER * before.speed_m_s
            } else {
                MAX_BALL_SPEED_M_S
            };
            let gone = now.at.distance(before.place) > ELSEWHERE_M + speed * dt;
            let empty = seen.balls.iter().all(|o| o.at.distance(before.place) > SAME_PLACE_M);
            (gone && empty).then_some(before.blinked)
        };
        let moved: Vec<bool> = plain.iter().filter_map(elsewhere).collect();
        // Between two frames one ball may be mistaken, after a blink none is.
        let cut = moved.len() > 1 || moved.contains(&true);
        if cut {
            self.last.clear();
        }
        for (ball, o) in plain {
            let speed_m_s = self.last.get(&ball).map_or(0.0, |before| {
                let dt = seen.at.since(before.at);
                if dt > 0.0 && dt <= SPEED_OVER_S {
                    before.place.distance(o.at) / dt
                } else {
                    before.speed_m_s
                }
            });
            self.last.insert(
                ball,
                Seen {
                    at: seen.at,
                    place: o.at,
                    speed_m_s,
                    blinked: false,
                },
            );
        }
        cut
    }
}

/// Shots kept to compare with: a broadcast repeats the last few and, at the end, the best of a match.
const MOST_KEPT: usize = 60;

/// Time between two looks at the balls of a shot, seconds: a fast ball rolls 0.3 m in it.
const LOOK_S: f64 = 0.1;

/// Looks taken at most of what may be a repetition.
const MOST_LOOKS: usize = 150;

/// All balls within this of where they were at one moment of the earlier shot, metres: two looks at the same film from the same
/// place agree to a millimetre, and between two readings a ball at 3 m/s is placed to a centimetre.
const SAME_LAYOUT_M: f64 = 0.02;

/// Share of the looks that must agree; the first and last may be mixed with another picture.
const AGREEING: f64 = 0.9;

/// Way that all balls together must have made, metres: over less, two soft strokes may look alike.
const LEAST_WAY_M: f64 = 0.2;

/// Places of the balls of one shot over time.
type Film = BTreeMap<Ball, Vec<(f64, TablePoint)>>;

/// Shots seen, to know one that is shown again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    films: VecDeque<Film>,
}

impl Memory {
    /// Keeps a shot.
    pub fn keep(&mut self, readings: &BTreeMap<Ball, Vec<Reading>>) {
        if self.films.len() == MOST_KEPT {
            self.films.pop_front();
        }
        self.films.push_back(film(readings));
    }

    /// Whether these readings repeat a shot that was kept.
    pub fn repeats(&self, readings: &BTreeMap<Ball, Vec<Reading>>) -> bool {
        let again = film(readings);
        self.films.iter().rev().any(|before| retraces(&again, before))
    }
}

/// Every reading that is at least half a look after the last one kept.
fn film(readings: &BTreeMap<Ball, Vec<Reading>>) -> Film {
    let mut film = Film::new();
    for (ball, readings) in readings {
        let mut kept: Vec<(f64, TablePoint)> = Vec::new();
        for r in readings {
            let t = r.at.secs();
            if kept.last().is_none_or(|k| t - k.0 >= 0.25 * LOOK_S) {
                kept.push((t, r.place));
            }
        }
        film.insert(*ball, kept);
    }
    film
}

/// Where the ball was at `t`: between two readings on the line between them, outside them where it was last.
fn place(way: &[(f64, TablePoint)], t: f64) -> Option<TablePoint> {
    let k = way.partition_point(|p| p.0 <= t);
    match (k.checked_sub(1).and_then(|i| way.get(i)), way.get(k)) {
        (Some(a), Some(b)) => {
            let f = (t - a.0) / (b.0 - a.0).max(f64::MIN_POSITIVE);
            Some(TablePoint(a.1.0 + (b.1.0 - a.1.0) * f))
        }
        (Some(p), None) | (None, Some(p)) => Some(p.1),
        (None, None) => None,
    }
}

fn span(film: &Film) -> Option<(f64, f64)> {
    let from = film.values().filter_map(|w| w.first()).map(|p| p.0).min_by(f64::total_cmp)?;
    let to = film.values().filter_map(|w| w.last()).map(|p| p.0).max_by(f64::total_cmp)?;
    Some((from, to))
}

fn layouts(film: &Film, balls: &[Ball], step_s: f64) -> Vec<Vec<TablePoint>> {
    let Some((from, to)) = span(film) else { return Vec::new() };
    let n = ((to - from) / step_s).ceil().max(1.0) as usize;
    (0..=n)
        .filter_map(|k| {
            let t = from + (to - from) * k as f64 / n as f64;
            balls.iter().map(|b| place(film.get(b)?, t)).collect()
        })
        .collect()
}

/// Whether all balls go in `again` where they went in `before`, in the same order, whatever the speed.
fn retraces(again: &Film, before: &Film) -> bool {
    let seen = |film: &Film, ball: &Ball| film.get(ball).is_some_and(|w| !w.is_empty());
    let balls: Vec<Ball> = again.keys().copied().filter(|b| seen(again, b) && seen(before, b)).collect();
    // With fewer than all balls of a carom game too much may agree by chance.
    if balls.len() < again.len().max(before.len()) || balls.is_empty() {
        return false;
    }
    let Some((from, to)) = span(again) else { return false };
    let now = layouts(again, &balls, LOOK_S.max((to - from) / MOST_LOOKS as f64));
    let then = layouts(before, &balls, 0.25 * LOOK_S);
    let apart = |a: &[TablePoint], b: &[TablePoint]| a.iter().zip(b).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
    let way: f64 = now
        .windows(2)
        .map(|w| w[0].iter().zip(&w[1]).map(|(p, q)| p.distance(*q)).sum::<f64>())
        .sum();
    if way < LEAST_WAY_M {
        return false;
    }
    // Where in the earlier shot each look belongs, never going back.
    let mut reached = 0;
    let mut agreeing = 0;
    for layout in &now {
        let from_here = then.iter().enumerate().skip(reached);
        let nearest = from_here.min_by(|p, q| apart(layout, p.1).total_cmp(&apart(layout, q.1)));
        if let Some((k, found)) = nearest
            && apart(layout, found) <= SAME_LAYOUT_M
        {
            reached = k;
            agreeing += 1;
        }
    }
    f64::from(agreeing) >= AGREEING * now.len() as f64
}
