//! What may have happened without showing: a ball that rolled along a rail at touching distance, two balls that passed
//! with no more between them than the error of the picture. Such things are kept as doubts, never as events.

use super::causes::BallPath;
use super::pieces::{Piece, Point, along, overall};
use super::{Event, EventKind};
use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::{RAILS, Rail, Table};
use crate::units::{Confidence, Timestamp};

/// A ball this near the line on which it touches a rail may have touched, metres (plus one error of its own): the error
/// of calibrated nose lines.
const RAIL_REACH_M: f64 = 0.0025;

/// Two centres this much more than two radii apart may have touched, metres (plus two errors of their own).
const CONTACT_REACH_M: f64 = 0.002;

/// Least time error of a doubtful touch, and slack when a known one is looked for near it, seconds.
const SLACK_S: f64 = 0.005;

/// A known event of the same kind this near in time is the touch itself, seconds.
const SAME_TOUCH_S: f64 = 0.15;

/// Probability given to what could have happened unseen: small, but a ruling may not hang on it.
const UNSEEN: f64 = 0.1;

/// An impulse shows when it moves the later readings by this many standard deviations.
const VISIBLE_SIGMAS: f64 = 5.0;

fn doubt(t: f64, kind: EventKind, place: TablePoint, t_err_s: f64, p: f64) -> Event {
    Event {
        at: Timestamp::saturating(t),
        kind,
        place: Some(place),
        t_err_s,
        confidence: Confidence::new(p),
    }
}

/// How far from the place of an unexplained change the ball's unseen doings may lie, metres: one ball.
const SUSPECT_REACH_M: f64 = 0.06;

/// What may have happened, besides what is known, about an unexplained change of `ball` between `lo` and `hi` seconds: a
/// touch of any rail or ball that was near enough. `p` is how likely it is that something did.
pub(crate) fn suspects(paths: &[BallPath], table: &Table, ball: Ball, lo: f64, hi: f64, p: f64) -> Vec<Event> {
    let mut out = Vec::new();
    let Some(path) = paths.iter().find(|x| x.ball == ball) else {
        return out;
    };
    let middle = 0.5 * (lo + hi);
    // Readings about the change, on both sides, and how far the ball went between them.
    let about = |t: &f64| *t >= lo - (hi - lo) && *t <= hi + (hi - lo);
    let near: Vec<_> = path.points.iter().filter(|q| about(&q.t)).collect();
    let mut push = |kind: EventKind, place: TablePoint| {
        out.push(doubt(middle, kind, place, (hi - lo).max(SLACK_S), p));
    };
    for rail in RAILS {
        let gap = |q: &&&Point| table.distance_to_nose_m(TablePoint::new(q.x, q.y), rail) - table.rail_contact_distance_m();
        if let Some(q) = near.iter().find(|q| gap(q) < SUSPECT_REACH_M) {
            push(EventKind::Rail { ball, rail }, TablePoint::new(q.x, q.y));
        }
    }
    for other in paths.iter().filter(|o| o.ball != ball) {
        let Some(piece) = other.piece_at(middle) else { continue };
        let close = near
            .iter()
            .find(|q| (q.place() - piece.place(q.t)).norm() < 2.0 * table.ball_radius_m + SUSPECT_REACH_M);
        if let Some(q) = close {
            push(EventKind::contact(ball, other.ball), TablePoint::new(q.x, q.y));
        }
    }
    out
}

/// Whether an event of this kind is known about `t`.
fn known(events: &[Event], kind: EventKind, t: f64) -> bool {
    events
        .iter()
        .any(|e| e.kind == kind && (e.at.secs() - t).abs() < SAME_TOUCH_S)
}

/// Touches that cannot be excluded.
pub(crate) fn unseen(paths: &[BallPath], table: &Table, events: &[Event], step_s: f64) -> Vec<Event> {
    let mut out = rails(paths, table, events);
    for path in paths {
        for piece in path.pieces.iter().filter(|p| bent(p)) {
            let hidden = suspects(paths, table, path.ball, piece.t_first, piece.t_last, UNSEEN);
            let within = piece.t_first - SLACK_S..=piece.t_last + SLACK_S;
            let told = |kind| events.iter().any(|e| e.kind == kind && within.contains(&e.at.secs()));
            out.extend(hidden.into_iter().filter(|e| !told(e.kind)));
        }
    }
    out.extend(contacts(paths, table, events, step_s));
    out
}

/// A piece of no more readings than this can hide a touch between two of them.
const SHORT_PIECE: usize = 4;

/// Squared residuals that a short smooth piece stays below in 99 of 100 cases, by its number of readings above two: chi
/// squared of two degrees of freedom each (the accelerations are all but known).
const SMOOTH_CHI2: [f64; 2] = [9.2, 13.3];

/// Whether a piece too short to be split shows that its readings do not lie on one smooth way.
fn bent(piece: &Piece) -> bool {
    let limit = piece.len().checked_sub(3).and_then(|k| SMOOTH_CHI2.get(k));
    limit.is_some_and(|&limit| piece.chi2 > limit)
}

/// How near a ball must come to a rail's contact line for a touch to be possible, metres. Over a long smooth piece only a
/// ball that rolls along the rail can touch unseen; in a short one, one that came near between two readings.
fn rail_reach(piece: &Piece, point: &Point, rail: Rail) -> f64 {
    let n = rail.outward();
    let reach = RAIL_REACH_M + along(piece.place_sigma(point.t), n);
    if piece.len() <= SHORT_PIECE {
        reach + 3.0 * along(point.sigma, n)
    } else {
        reach
    }
}

fn rails(paths: &[BallPath], table: &Table, events: &[Event]) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for path in paths {
        for rail in RAILS {
            let kind = EventKind::Rail { ball: path.ball, rail };
            let gap = |x: f64, y: f64| table.distance_to_nose_m(TablePoint::new(x, y), rail) - table.rail_contact_distance_m();
            // Which readings lie within reach of the rail while the ball moves.
            let near: Vec<bool> = {
                let mut near = vec![false; path.points.len()];
                for (k, piece) in path.pieces.iter().enumerate() {
                    if piece.is_rest() {
                        continue;
                    }
                    // A ball that leaves a rail on which it rested has not touched it (RULES.md, `at_start`).
                    let rested = path.pieces[..k].last().filter(|p| p.is_rest());
                    let frozen = rested.is_some_and(|p| gap(p.place(p.t_last).x, p.place(p.t_last).y) < RAIL_REACH_M);
                    for (i, point) in path.points.iter().enumerate().take(piece.last + 1).skip(piece.first) {
                        let leaving = frozen && point.t - piece.t_first < SAME_TOUCH_S;
                        let at = piece.place(point.t);
                        near[i] = !leaving && gap(at.x, at.y) < rail_reach(piece, point, rail);
                    }
                }
                near
            };
            // Each run of such readings is one possible touch, unless a known one lies within it.
            let mut i = 0;
            while i < near.len() {
                if !near[i] {
                    i += 1;
                    continue;
                }
                let first = i;
                while i < near.len() && near[i] {
                    i += 1;
                }
                let from = path.points[first.saturating_sub(1)].t;
                let to = path.points[i.min(near.len() - 1)].t;
                let told = events
                    .iter()
                    .any(|e| e.kind == kind && (from - SLACK_S..=to + SLACK_S).contains(&e.at.secs()));
                if !told {
                    let p = path.points[first];
                    out.push(doubt(
                        0.5 * (path.points[first].t + path.points[i - 1].t),
                        kind,
                        TablePoint::new(p.x, p.y),
                        (to - from) / 2.0,
                        UNSEEN,
                    ));
                }
            }
        }
    }
    out
}

/// The least change of velocity that the readings on the shorter side of `t` within a piece would show.
fn visible_impulse(piece: &Piece, path: &BallPath, t: f64) -> f64 {
    let side = (t - piece.t_first).min(piece.t_last - t).max(0.0);
    let n = path.points[piece.first..=piece.last]
        .iter()
        .filter(|p| (p.t - t).abs() <= side)
        .count()
        / 2;
    if n < 2 || side <= 0.0 {
        return f64::INFINITY;
    }
    let sigma = overall(path.points[piece.first].sigma);
    VISIBLE_SIGMAS * sigma / (side * (n as f64).sqrt() / 2.0)
}

fn contacts(paths: &[BallPath], table: &Table, events: &[Event], step_s: f64) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    let reach = 2.0 * table.ball_radius_m;
    for (i, p) in paths.iter().enumerate() {
        for q in &paths[i + 1..] {
            let kind = EventKind::contact(p.ball, q.ball);
            let (Some(first), Some(last)) = (p.points.first(), p.points.last()) else {
                continue;
            };
            let mut least: Option<(f64, f64)> = None;
            let mut t = first.t;
            while t < last.t {
                if let (Some(a), Some(b)) = (p.piece_at(t), q.piece_at(t)) {
                    let moving = !(a.is_rest() && b.is_rest());
                    let apart = a.place(t) - b.place(t);
                    let (gap, n) = (apart.norm() - reach, apart / apart.norm().max(f64::MIN_POSITIVE));
                    let sigma = along(a.place_sigma(t), n).hypot(along(b.place_sigma(t), n));
                    if moving && gap < CONTACT_REACH_M + 2.0 * sigma && !known(events, kind, t) && !known(&out, kind, t) {
                        if least.is_none_or(|l| gap < l.1) {
                            least = Some((t, gap));
                        }
                    } else if let Some((at, gap)) = least.take() {
                        out.extend(passing(p, q, table, at, gap, step_s).map(|place| doubt(at, kind, place, step_s, UNSEEN)));
                    }
                }
                t += 0.5 * step_s;
            }
        }
    }
    out
}

/// Where two balls passed, when a touch at that gap could have gone unseen.
fn passing(p: &BallPath, q: &BallPath, table: &Table, t: f64, gap: f64, step_s: f64) -> Option<TablePoint> {
    let (a, b) = (p.piece_at(t)?, q.piece_at(t)?);
    let relative = (a.velocity(t) - b.velocity(t)).norm();
    // The thinnest touch that the error of the gap allows turns this share of the relative speed into impulse.
    let apart = a.place(t) - b.place(t);
    let n = apart / apart.norm().max(f64::MIN_POSITIVE);
    let depth = (CONTACT_REACH_M + along(a.place_sigma(t), n) + along(b.place_sigma(t), n) - gap).max(0.0005);
    let impulse = relative * (depth / table.ball_radius_m).sqrt();
    // A change of velocity within a step of the passing is the sign of a touch; the settling has dealt with it.
    let inside = |x: &Piece| t - x.t_first > step_s && x.t_last - t > step_s;
    let shows = |x: &Piece, path: &BallPath| inside(x) && visible_impulse(x, path, t) < impulse;
    if shows(a, p) || shows(b, q) {
        return None;
    }
    let middle = (a.place(t) + b.place(t)) / 2.0;
    Some(TablePoint::new(middle.x, middle.y))
}
