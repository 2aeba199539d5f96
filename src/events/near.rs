//! What may have happened without showing: a ball that rolled along a rail at touching distance, two balls that passed
//! with no more between them than the error of the picture. Such things are kept as doubts, never as events.

use super::causes::BallPath;
use super::pieces::Piece;
use super::{Event, EventKind};
use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::{RAILS, Table};
use crate::units::{Confidence, Timestamp};

/// A ball this near the line on which it touches a rail may have touched, metres (plus one error of its own): the error
/// of calibrated nose lines.
const RAIL_REACH_M: f64 = 0.0025;

/// Two centres this much more than two radii apart may have touched, metres (plus two errors of their own).
const CONTACT_REACH_M: f64 = 0.003;

/// A known event of the same kind this near in time is the touch itself, seconds.
const SAME_TOUCH_S: f64 = 0.15;

/// Probability given to what could have happened unseen: small, but a ruling may not hang on it.
const UNSEEN: f64 = 0.1;

/// An impulse shows when it moves the later readings by this many standard deviations.
const VISIBLE_SIGMAS: f64 = 5.0;

fn doubt(t: f64, kind: EventKind, place: TablePoint, t_err_s: f64) -> Event {
    Event {
        at: Timestamp::saturating(t),
        kind,
        place: Some(place),
        t_err_s,
        confidence: Confidence::new(UNSEEN),
    }
}

/// How far from the place of an unexplained change the ball's unseen doings may lie, metres: one ball.
const SUSPECT_REACH_M: f64 = 0.06;

/// What may have happened, besides what is known, about an unexplained change of `ball` between `lo` and `hi` seconds: a
/// touch of any rail or ball that was near enough. `p` is how likely it is that something did.
pub(crate) fn suspects(paths: &[BallPath], table: &Table, ball: Ball, lo: f64, hi: f64, p: f64) -> Vec<Event> {
    let mut out = Vec::new();
    let Some(path) = paths.iter().find(|x| x.ball == ball) else { return out };
    let middle = 0.5 * (lo + hi);
    // Readings about the change, on both sides, and how far the ball went between them.
    let about = |t: &f64| *t >= lo - (hi - lo) && *t <= hi + (hi - lo);
    let near: Vec<_> = path.points.iter().filter(|q| about(&q.t)).collect();
    let mut push = |kind: EventKind, place: TablePoint| {
        out.push(Event {
            at: Timestamp::saturating(middle),
            kind,
            place: Some(place),
            t_err_s: (hi - lo).max(0.005),
            confidence: Confidence::new(p),
        });
    };
    for rail in RAILS {
        let gap = |q: &&&super::pieces::Point| table.distance_to_nose_m(TablePoint::new(q.x, q.y), rail) - table.rail_contact_distance_m();
        if let Some(q) = near.iter().find(|q| gap(q) < SUSPECT_REACH_M) {
            push(EventKind::Rail { ball, rail }, TablePoint::new(q.x, q.y));
        }
    }
    for other in paths.iter().filter(|o| o.ball != ball) {
        let Some(piece) = other.piece_at(middle) else { continue };
        let close = near.iter().find(|q| (q.place() - piece.place(q.t)).norm() < 2.0 * table.ball_radius_m + SUSPECT_REACH_M);
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
    out.extend(contacts(paths, table, events, step_s));
    out
}

fn rails(paths: &[BallPath], table: &Table, events: &[Event]) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    for path in paths {
        for (k, piece) in path.pieces.iter().enumerate() {
            if piece.is_rest() || !piece.knows_velocity() {
                continue;
            }
            // A ball that leaves a rail on which it rested has not touched it (RULES.md, `at_start`).
            let from_rest = k > 0 && path.pieces[k - 1].is_rest();
            for point in &path.points[piece.first..=piece.last] {
                if from_rest && point.t - piece.t_first < SAME_TOUCH_S {
                    continue;
                }
                let at = piece.place(point.t);
                let place = TablePoint::new(at.x, at.y);
                for rail in RAILS {
                    let gap = table.distance_to_nose_m(place, rail) - table.rail_contact_distance_m();
                    let kind = EventKind::Rail { ball: path.ball, rail };
                    if gap < RAIL_REACH_M + piece.place_sigma(point.t)
                        && !known(events, kind, point.t)
                        && !known(&out, kind, point.t)
                    {
                        out.push(doubt(point.t, kind, place, 0.5 * SAME_TOUCH_S));
                    }
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
    let sigma = path.points[piece.first].sigma;
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
                    let gap = (a.place(t) - b.place(t)).norm() - reach;
                    let sigma = a.place_sigma(t).hypot(b.place_sigma(t));
                    if moving && gap < CONTACT_REACH_M + 2.0 * sigma && !known(events, kind, t) && !known(&out, kind, t) {
                        if least.is_none_or(|l| gap < l.1) {
                            least = Some((t, gap));
                        }
                    } else if let Some((at, gap)) = least.take() {
                        out.extend(passing(p, q, table, at, gap, step_s).map(|place| doubt(at, kind, place, step_s)));
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
    let depth = (CONTACT_REACH_M + a.place_sigma(t) + b.place_sigma(t) - gap).max(0.0005);
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
