//! From the readings of a stretch of play to a shot: paths, changes, causes, and how sure we are of each.

use nalgebra::Vector2;

use super::causes::{BallPath, Change, Explanation, Scene, UNEXPLAINED_PRICE};
use super::near;
use super::pieces::{self, Piece, Point, overall};
use super::settle::{self, Account, Settlement};
use super::shots::RawShot;
use super::{Event, EventKind, Sample, Shot, ShotFlag, ShotKind};
use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::Table;
use crate::track::Reading;
use crate::units::{Confidence, Timestamp};

/// Error that every reading has on top of its own, metres: compression and lens residue that change along the path.
const READING_FLOOR_M: f64 = 0.0006;

/// Part of a reading's claimed error that is trusted to be that small or large at most.
const SIGMA_RANGE_M: (f64, f64) = (0.0004, 0.03);

/// A ball faster than this, metres per second, that then moves less than this, metres, and less than this share of the
/// way it should have gone, was shown the same picture twice. The same picture gives the same centre to a few hundredths
/// of a pixel.
const DOUBLED_SPEED_M_S: f64 = 0.15;
const DOUBLED_M: f64 = 0.0003;
const DOUBLED_SHARE: f64 = 0.1;

/// A reading this far off the line between its neighbours, metres, that both of them deny, is no reading of this ball.
const SPIKE_M: f64 = 0.03;

/// Longest time between two accounts of the same contact, in steps between readings.
const SAME_CONTACT_STEPS: f64 = 2.0;

/// A ball must separate from the nose by this much before a further touch of the same rail is a new one, metres
/// (`rail_release_m` of the rule book, C4.6).
const RAIL_RELEASE_M: f64 = 0.003;

/// Most that an event is believed whose explanation fits worse than any believable one: more likely than not, no more.
const BAD_FIT: f64 = 0.6;

/// A moving ball unseen for this long may have done anything, seconds.
const LONG_GAP_S: f64 = 0.25;

fn points_of(readings: &[Reading]) -> Vec<Point> {
    let mut points: Vec<Point> = Vec::with_capacity(readings.len());
    for r in readings {
        let sigma = r
            .axes_m
            .map(|s| s.clamp(SIGMA_RANGE_M.0, SIGMA_RANGE_M.1).hypot(READING_FLOOR_M));
        let point = Point {
            t: r.at.secs(),
            x: r.place.x(),
            y: r.place.y(),
            sigma: sigma.into(),
        };
        // A repaired time stamp: time must advance.
        if points.last().is_some_and(|p| point.t <= p.t + 1e-6) || is_doubled(&points, &point) {
            continue;
        }
        points.push(point);
    }
    points
}

/// Whether a reading comes from the picture of the one before, shown a second time: a moving ball has not moved at all.
fn is_doubled(points: &[Point], next: &Point) -> bool {
    let [.., before, last] = points else { return false };
    let speed = (last.place() - before.place()).norm() / (last.t - before.t);
    let way = (next.place() - last.place()).norm();
    speed > DOUBLED_SPEED_M_S && way < DOUBLED_M && way < DOUBLED_SHARE * speed * (next.t - last.t)
}

/// Takes out readings that lie off the way between their neighbours and that neither neighbour's motion leads to.
fn without_spikes(points: Vec<Point>) -> Vec<Point> {
    let n = points.len();
    let keep: Vec<bool> = (0..n)
        .map(|k| {
            if k < 2 || k + 2 >= n {
                return true;
            }
            let (p, before, after) = (points[k].place(), points[k - 1].place(), points[k + 1].place());
            let detour = (p - before).norm().min((p - after).norm());
            if detour < SPIKE_M + (after - before).norm() {
                return true;
            }
            let lead = |a: &Point, b: &Point, t: f64| b.place() + (b.place() - a.place()) / (b.t - a.t) * (t - b.t);
            let forward = (lead(&points[k - 2], &points[k - 1], points[k].t) - p).norm();
            let backward = (lead(&points[k + 2], &points[k + 1], points[k].t) - p).norm();
            forward.min(backward) < 0.35 * detour
        })
        .collect();
    points.into_iter().zip(keep).filter_map(|(p, k)| k.then_some(p)).collect()
}

fn table_point(v: Vector2<f64>) -> TablePoint {
    TablePoint::new(v.x, v.y)
}

/// Works a shot out from its readings.
pub(crate) fn reconstruct(no: u32, raw: &RawShot, table: &Table) -> Shot {
    let paths: Vec<BallPath> = raw
        .readings
        .iter()
        .map(|(ball, readings)| {
            let points = without_spikes(points_of(readings));
            let pieces = pieces::split(&points);
            BallPath {
                ball: *ball,
                points,
                pieces,
            }
        })
        .collect();
    for path in &paths {
        for p in &path.pieces {
            tracing::trace!(ball = %path.ball, from = p.t_first, to = p.t_last, n = p.len(), terms = p.terms, chi2 = p.chi2, v = ?p.velocity(p.t_first), "piece");
        }
    }
    let mut changes: Vec<Change> = paths.iter().flat_map(BallPath::changes).collect();
    changes.sort_by(|a, b| (a.lo + a.hi).total_cmp(&(b.lo + b.hi)).then(a.ball.cmp(&b.ball)));
    let step_s = usual_step(&paths);
    let scene = Scene {
        table,
        paths: &paths,
        changes: &changes,
        step_s,
    };
    let mut accounts: Vec<Account> = changes
        .iter()
        .map(|c| Account {
            change: c.clone(),
            explanations: scene.explain(c),
        })
        .collect();
    settle::retell(&scene, &mut accounts);
    let settlement = settle::settle_all(&scene, &accounts);

    let mut found: Vec<Event> = Vec::new();
    let mut flags = raw.flags.clone();
    for (k, account) in accounts.iter().enumerate() {
        let strike = settlement.strikes.contains(&k);
        let Some(chosen) = settlement.chosen[k].map(|i| &account.explanations[i]) else {
            continue;
        };
        let ball = account.change.ball;
        if tracing::enabled!(tracing::Level::TRACE) {
            let describe = |e: &Explanation| {
                let mark = if std::ptr::eq(e, chosen) { "*" } else { "" };
                let steps: Vec<_> = e.steps.iter().map(|s| (&s.what, s.t)).collect();
                format!("{mark}{:.1} {steps:?}", e.price)
            };
            let top: Vec<String> = account.explanations.iter().take(4).map(describe).collect();
            tracing::trace!(%ball, lo = account.change.lo, hi = account.change.hi, strike, ?top, "change");
        }
        // What fits so badly may be something else altogether; that a ball was struck is told by all the changes together.
        let at_most = if chosen.price > UNEXPLAINED_PRICE { BAD_FIT } else { 1.0 };
        for step in &chosen.steps {
            let kind = settle::kind_of(ball, &step.what);
            found.push(Event {
                at: Timestamp::saturating(step.t),
                kind,
                place: Some(table_point(step.place)),
                t_err_s: step.t_err,
                confidence: match kind {
                    EventKind::CueStrike { .. } => settlement.confidence(k, kind),
                    _ => Confidence::new(settlement.confidence(k, kind).get().min(at_most)),
                },
            });
        }
        let moving = !account.change.before.is_rest() || !account.change.after.is_rest();
        if moving && account.change.hi - account.change.lo > LONG_GAP_S && !flags.contains(&ShotFlag::Occluded) {
            flags.push(ShotFlag::Occluded);
        }
    }
    let mut events = merged(found, &paths, table, step_s);
    events.extend(settlement.doubts(&events, step_s));
    for (k, p) in settlement.suspicious(&accounts) {
        let change = &accounts[k].change;
        events.extend(near::suspects(&paths, table, change.ball, change.lo, change.hi, p));
    }
    events.extend(near::unseen(&paths, table, &events, step_s));
    let sure = |e: &&Event| e.confidence.get() >= 0.5;
    let struck: Vec<Ball> = events
        .iter()
        .filter(sure)
        .filter_map(|e| {
            if let EventKind::CueStrike { ball } = e.kind {
                Some(ball)
            } else {
                None
            }
        })
        .collect();
    let kind = if settlement.lag && struck.len() == 2 {
        ShotKind::Lag
    } else {
        ShotKind::Shot
    };
    let cue_ball = if struck.len() == 1 { Some(struck[0]) } else { None };
    events.extend(rests(&paths));

    let start = events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::CueStrike { .. }))
        .map(|e| e.at)
        .min()
        .unwrap_or(raw.start_hint);
    let end = events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Rest { .. }))
        .map(|e| e.at)
        .max()
        .unwrap_or(raw.end);
    let end = if flags.contains(&ShotFlag::EndsBeforeRest) {
        raw.end
    } else {
        end.max(start)
    };
    let mut shot = Shot::new(no, kind, start, end, cue_ball, events);
    shot.flags = flags;
    shot.flags.sort_unstable();
    shot.unsure_orders = unsure_orders(shot.events(), &settlement);
    for path in &paths {
        if let Some(first) = path.pieces.first().filter(|p| p.is_rest()) {
            shot.before.insert(path.ball, table_point(first.place(first.t_last)));
        }
        if let Some(last) = resting(path).and_then(|r| r.last()) {
            shot.rest.insert(path.ball, table_point(last.place(last.t_last)));
        }
        shot.paths.insert(path.ball, samples(path));
    }
    shot
}

/// An order is taken as known beyond this probability: the same threshold at which a ruling may rest on an event.
const SURE_ORDER: f64 = 0.999;

/// Pairs of events of one ball whose times do not settle which came first.
fn unsure_orders(events: &[Event], settlement: &Settlement) -> Vec<(usize, usize, Confidence)> {
    let mut out = Vec::new();
    let touch = |e: &Event| matches!(e.kind, EventKind::BallBall { .. } | EventKind::Rail { .. });
    let shared = |a: &Event, b: &Event| {
        ALL_BALLS
            .into_iter()
            .any(|ball| a.kind.involves(ball) && b.kind.involves(ball))
    };
    for (i, a) in events.iter().enumerate() {
        for (j, b) in events.iter().enumerate().skip(i + 1) {
            let apart = b.at.since(a.at);
            let sigma = a.t_err_s.hypot(b.t_err_s).max(1e-5);
            if apart > 5.0 * sigma || !touch(a) || !touch(b) || a.kind == b.kind || !shared(a, b) {
                continue;
            }
            let p = settlement
                .order(a.kind, b.kind, a.at.secs())
                .unwrap_or_else(|| normal_cdf(apart / sigma));
            if (1.0 - SURE_ORDER..SURE_ORDER).contains(&p) {
                out.push((i, j, Confidence::new(p)));
            }
        }
    }
    out
}

const ALL_BALLS: [Ball; 3] = crate::ball::CAROM_BALLS;

/// Standard normal distribution function, to 1e-7 (Abramowitz and Stegun 26.2.17).
fn normal_cdf(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let poly = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let upper = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly;
    if z >= 0.0 { 1.0 - upper } else { upper }
}

/// Median time between readings, seconds.
fn usual_step(paths: &[BallPath]) -> f64 {
    let mut steps: Vec<f64> = paths
        .iter()
        .flat_map(|p| p.points.windows(2).map(|w| w[1].t - w[0].t))
        .collect();
    steps.sort_by(f64::total_cmp);
    steps.get(steps.len() / 2).copied().unwrap_or(1.0 / 30.0)
}

/// One event for each thing that happened: both balls of a contact tell of it, and a rail may be told of twice.
fn merged(mut found: Vec<Event>, paths: &[BallPath], table: &Table, step_s: f64) -> Vec<Event> {
    found.sort_by_key(|e| e.at);
    let mut out: Vec<Event> = Vec::new();
    for event in found {
        let same = out
            .iter_mut()
            .rev()
            .find(|o| o.kind == event.kind && is_same(o, &event, paths, table, step_s));
        let Some(known) = same else {
            out.push(event);
            continue;
        };
        let (w, v) = (known.t_err_s.max(1e-4).powi(-2), event.t_err_s.max(1e-4).powi(-2));
        if matches!(event.kind, EventKind::BallBall { .. }) {
            known.at = Timestamp::saturating((known.at.secs() * w + event.at.secs() * v) / (w + v));
        }
        if v > w {
            known.place = event.place;
            known.t_err_s = event.t_err_s;
        }
        known.confidence = Confidence::new(known.confidence.get().max(event.confidence.get()));
    }
    out.sort_by_key(|e| e.at);
    out
}

fn is_same(a: &Event, b: &Event, paths: &[BallPath], table: &Table, step_s: f64) -> bool {
    let apart = b.at.since(a.at).abs();
    match a.kind {
        EventKind::BallBall { .. } => apart <= (SAME_CONTACT_STEPS * step_s).max(3.0 * (a.t_err_s + b.t_err_s).min(step_s)),
        EventKind::Rail { ball, rail } => {
            let Some(path) = paths.iter().find(|p| p.ball == ball) else {
                return false;
            };
            let contact = table.rail_contact_distance_m();
            let (lo, hi) = (a.at.secs().min(b.at.secs()), a.at.secs().max(b.at.secs()));
            let away = |t: f64| {
                path.piece_at(t)
                    .map_or(0.0, |p| table.distance_to_nose_m(table_point(p.place(t)), rail) - contact)
            };
            // From the line as this ball met it, so that a line that is a little off does not matter.
            let told = |e: &Event| e.place.map_or(0.0, |p| table.distance_to_nose_m(p, rail) - contact);
            let line = told(a).max(told(b));
            (0..=20).all(|k| away(lo + (hi - lo) * f64::from(k) / 20.0) - line < RAIL_RELEASE_M)
        }
        _ => true,
    }
}

/// The pieces at the end of a path in which the ball lies still: one, or several when it lies for long.
fn resting(path: &BallPath) -> Option<&[Piece]> {
    let moving = path.pieces.iter().rposition(|p| p.knows_velocity() && !p.is_rest());
    let first = moving.map_or(0, |k| k + 1);
    let still = path.pieces.get(first..)?;
    let from = still.iter().position(Piece::is_rest)?;
    let to = still.iter().rposition(Piece::is_rest)?;
    still.get(from..=to)
}

/// When each ball that moved came to rest.
fn rests(paths: &[BallPath]) -> Vec<Event> {
    let mut out = Vec::new();
    for path in paths {
        let Some(last) = resting(path).and_then(|r| r.first()) else {
            continue;
        };
        let moving = |p: &&Piece| p.knows_velocity() && !p.is_rest() && p.last < last.first;
        let Some(before) = path.pieces.iter().rfind(moving) else {
            continue;
        };
        // A rolling ball's speed falls evenly: rest is where it would be zero.
        let v = before.velocity(before.t_last);
        let slowing = -before.acceleration().dot(&v) / v.norm().max(1e-6);
        let middle = 0.5 * (before.t_last + last.t_first);
        let t = if slowing > 0.01 {
            before.t_last + v.norm() / slowing
        } else {
            middle
        };
        let slack = 0.1;
        let t = t.clamp(before.t_last - slack, last.t_first + slack);
        out.push(Event {
            at: Timestamp::saturating(t),
            kind: EventKind::Rest { ball: path.ball },
            place: Some(table_point(last.place(last.t_first))),
            t_err_s: (overall(before.velocity_sigma(before.t_last)) / slowing.abs().max(0.02)).min(0.5),
            confidence: Confidence::SURE,
        });
    }
    out
}

/// Distance of a reading from its piece beyond which the neighbouring piece may tell it better, metres: a third of a radius.
const STRAYED_M: f64 = 0.01;

/// The path as samples at the readings' times, smoothed by the pieces.
fn samples(path: &BallPath) -> Vec<Sample> {
    let mut out = Vec::with_capacity(path.points.len());
    for (n, piece) in path.pieces.iter().enumerate() {
        for (k, point) in path.points.iter().enumerate().take(piece.last + 1).skip(piece.first) {
            // At its ends a piece may have swallowed a poor reading that was already on the next way, or still on the last.
            let neighbour = match k {
                _ if k == piece.last => path.pieces.get(n + 1),
                _ if k == piece.first => n.checked_sub(1).and_then(|n| path.pieces.get(n)),
                _ => None,
            };
            let off = |p: &Piece| (p.place(point.t) - point.place()).norm();
            let swallowed = |next: &&Piece| next.knows_velocity() && off(piece) > STRAYED_M && off(next) < off(piece);
            let piece = neighbour.filter(swallowed).unwrap_or(piece);
            let smooth = piece.len() >= 4;
            let place = if smooth { piece.place(point.t) } else { point.place() };
            out.push(Sample {
                at: Timestamp::saturating(point.t),
                place: table_point(place),
                velocity: piece.velocity(point.t),
                sigma_m: if smooth {
                    overall(piece.place_sigma(point.t)).min(overall(point.sigma))
                } else {
                    overall(point.sigma)
                },
                observed: true,
            });
        }
    }
    out
}
