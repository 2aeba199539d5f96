//! What must have happened where two smooth pieces of a ball's path meet.
//!
//! Every change of a ball's velocity has a cause: a rail, another ball, the cue. Each cause leaves its own marks (a rail
//! turns the normal velocity around at the contact line; two balls change by opposite impulses along the line of their
//! centres, two radii apart), and each is priced by how far the measured paths are from those marks, in squared standard
//! deviations. The cheapest explanation is taken; how much dearer the next one is says how sure we are.
//!
//! Times come from where the paths before and after meet, not from the nearest frame.

use nalgebra::Vector2;

use super::pieces::{self, Piece, Point, along, overall};
use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::{RAILS, Rail, Table};

type V2 = Vector2<f64>;

/// A ball's readings and the pieces they split into.
#[derive(Debug, Clone)]
pub(crate) struct BallPath {
    pub ball: Ball,
    pub points: Vec<Point>,
    pub pieces: Vec<Piece>,
}

/// A change between two pieces of one ball's path.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub ball: Ball,
    pub before: Piece,
    pub after: Piece,
    /// Last reading before and first reading after, seconds.
    pub lo: f64,
    pub hi: f64,
}

/// One event inside a change.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Strike,
    Rail(Rail),
    Contact(Ball),
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub what: What,
    pub t: f64,
    pub t_err: f64,
    pub place: V2,
    /// Change of this ball's velocity by the step, metres per second, and its standard deviation: the partner of a contact
    /// must show the opposite.
    pub push: V2,
    pub push_err: f64,
}

/// A way to explain a change, cheapest first when sorted by `price`.
#[derive(Debug, Clone)]
pub(crate) struct Explanation {
    pub steps: Vec<Step>,
    pub price: f64,
}

/// Systematic error of the calibrated geometry, metres, one standard deviation. A cautious guess, several times the
/// surface error of cameras solved from rendered pictures: real cushions also give way.
const GEOMETRY_M: f64 = 0.003;

/// The same for the distance of two balls that nearly touch, metres: what the geometry has wrong it has wrong for both.
/// A guess too, set while looking at the rendered development clips.
const BETWEEN_BALLS_M: f64 = 0.002;

/// What the piecewise quadratic cannot follow, metres per second and share of the speed.
const VELOCITY_MODEL_M_S: f64 = 0.02;
const VELOCITY_MODEL_SHARE: f64 = 0.015;

/// Part of a contact's impulse that may lie off the line of centres: throw, up to some 6 degrees (Alciatore, "Throw",
/// Billiards Digest 2006), and unequal masses.
const CONTACT_DIRECTION_SHARE: f64 = 0.12;

/// Mismatch of two balls' opposite impulses as a share of the larger: masses differ by some percent, and the first
/// moments after a contact are sliding.
const IMPULSE_SHARE: f64 = 0.2;

/// Change of the tangential velocity at a rail per normal impulse: cushion friction 0.14–0.25 for plain hits, more with
/// side spin; one standard deviation.
const RAIL_TANGENTIAL_SHARE: f64 = 0.3;

/// Range of a cushion's restitution (0.5 for hard strokes to 0.98 measured on snooker cushions), and the spread beyond it.
const RESTITUTION: (f64, f64) = (0.35, 1.0);
const RESTITUTION_SPREAD: f64 = 0.15;

/// Restitution of a cushion at an ordinary speed, for guesses that only gate (measured 0.75–0.9).
const TYPICAL_RESTITUTION: f64 = 0.8;

/// Price of each event of an explanation: an explanation with fewer events is preferred, in squared deviations.
const PRICE_PER_EVENT: f64 = 4.0;

/// Price of a change that nothing caused, in squared deviations: sliding turns to rolling once on a way of some seconds, so
/// that it does so within the very frame in which the ball is at a rail or at another ball has a chance of some per cent.
const PRICE_OF_COINCIDENCE: f64 = 6.0;

/// Price of a contact of which the partner's path tells nothing, in squared deviations: what one ball shows the other shows
/// as well as a rule, so such a contact needs to be twice as plain as one event on its own.
const PRICE_OF_SILENT_PARTNER: f64 = PRICE_PER_EVENT;

/// Deceleration of a rolling ball, metres per second squared: cloths have 0.05 (fast) to 0.15.
const ROLL_M_S2: f64 = 0.1;

/// Way at the end of a roll that a rest can swallow, metres: with more the readings would show that it still rolls.
const CREEP_M: f64 = 0.003;

/// A resting ball that goes this far, metres, was set in motion by something; less may be a shadow that passed.
const STIR_M: f64 = 0.008;

/// Price of a resting ball that starts to roll without a cause, in squared deviations: it does not happen.
const PRICE_OF_STARTING_ALONE: f64 = 30.0;

/// Price of a reading that belongs to neither side of a change, in squared deviations.
const PRICE_OF_STRAY_READING: f64 = 8.0;

/// How far before the last reading at rest a ball may have been struck, frames, one standard deviation: jitter of time
/// stamps, and a shutter that was open a while longer.
const EARLY_STEPS: f64 = 0.1;

/// Above this no explanation is believed.
pub(crate) const UNEXPLAINED_PRICE: f64 = 60.0;

fn sq(x: f64) -> f64 {
    x * x
}

/// Square of how far `value` lies outside `range`, in spreads.
fn outside(value: f64, range: (f64, f64), spread: f64) -> f64 {
    let out = if value < range.0 {
        range.0 - value
    } else if value > range.1 {
        value - range.1
    } else {
        0.0
    };
    sq(out / spread)
}

impl BallPath {
    /// Changes between successive pieces that know their velocity.
    pub fn changes(&self) -> Vec<Change> {
        let known: Vec<&Piece> = self.pieces.iter().filter(|p| p.knows_velocity()).collect();
        known
            .windows(2)
            .map(|w| Change {
                ball: self.ball,
                before: w[0].clone(),
                after: w[1].clone(),
                lo: w[0].t_last,
                hi: w[1].t_first,
            })
            .collect()
    }

    /// The piece that holds at `t` (the nearest in time when `t` falls in a gap).
    pub fn piece_at(&self, t: f64) -> Option<&Piece> {
        let gap = |p: &Piece| (p.t_first - t).max(t - p.t_last).max(0.0);
        self.pieces
            .iter()
            .filter(|p| p.knows_velocity())
            .min_by(|a, b| gap(a).total_cmp(&gap(b)))
    }
}

/// Paths of all balls and the changes in them.
pub(crate) struct Scene<'a> {
    pub table: &'a Table,
    pub paths: &'a [BallPath],
    pub changes: &'a [Change],
    /// Usual time between readings, seconds.
    pub step_s: f64,
}

/// Where two pieces meet along a direction.
struct Meeting {
    t: f64,
    t_err: f64,
    /// How far apart they still are there along the direction, metres (when the meeting lies outside the allowed times).
    miss: f64,
    sigma: f64,
}

/// On either axis.
fn velocity_sigma(p: &Piece, t: f64) -> V2 {
    let model = VELOCITY_MODEL_M_S.hypot(VELOCITY_MODEL_SHARE * p.velocity(t).norm());
    p.velocity_sigma(t).map(|s| s.hypot(model))
}

/// Error of the sum or difference of two independent vectors, on either axis.
fn both(p: V2, q: V2) -> V2 {
    p.zip_map(&q, f64::hypot)
}

/// Error across the unit vector `n`.
fn across(sigma: V2, n: V2) -> f64 {
    along(sigma, V2::new(-n.y, n.x))
}

/// Squared deviations of a vector.
fn deviations2(v: V2, sigma: V2) -> f64 {
    v.component_div(&sigma).norm_squared()
}

impl Scene<'_> {
    fn slack(&self) -> f64 {
        0.6 * self.step_s
    }

    fn meet(&self, a: &Piece, c: &Piece, way: V2, lo: f64, hi: f64) -> Meeting {
        let (lo, hi) = (lo - self.slack(), hi + self.slack());
        let mut t = 0.5 * (lo + hi);
        for _ in 0..6 {
            let gap = (c.place(t) - a.place(t)).dot(&way);
            let rate = (c.velocity(t) - a.velocity(t)).dot(&way);
            if rate.abs() < 1e-9 {
                break;
            }
            t = (t - gap / rate).clamp(lo, hi);
        }
        let sigma = along(both(a.place_sigma(t), c.place_sigma(t)), way);
        let rate = (c.velocity(t) - a.velocity(t)).dot(&way).abs();
        let miss = (c.place(t) - a.place(t)).dot(&way).abs();
        Meeting {
            t,
            t_err: (sigma / rate.max(1e-3)).min(hi - lo),
            miss,
            sigma,
        }
    }

    /// Paths of another ball before and after about `t`.
    fn partner(&self, ball: Ball, lo: f64, hi: f64) -> Option<(&Piece, &Piece)> {
        let slack = self.slack() + self.step_s;
        let middle = 0.5 * (lo + hi);
        let overlap = |c: &&Change| c.ball == ball && c.lo - slack <= hi && c.hi + slack >= lo;
        let nearest = self.changes.iter().filter(overlap).min_by(|p, q| {
            (0.5 * (p.lo + p.hi) - middle)
                .abs()
                .total_cmp(&(0.5 * (q.lo + q.hi) - middle).abs())
        });
        if let Some(change) = nearest {
            return Some((&change.before, &change.after));
        }
        let piece = self.paths.iter().find(|p| p.ball == ball)?.piece_at(middle)?;
        Some((piece, piece))
    }

    /// When two pieces come to (or, with `leaving`, come from) two radii apart within the given times.
    fn touch_time(&self, p: &Piece, q: &Piece, lo: f64, hi: f64, leaving: bool) -> Option<(f64, f64)> {
        let reach = 2.0 * self.table.ball_radius_m;
        let gap = |t: f64| (p.place(t) - q.place(t)).norm() - reach;
        let steps = 64;
        let h = (hi - lo) / f64::from(steps);
        let mut found = None;
        for k in 0..steps {
            let (t0, t1) = (lo + h * f64::from(k), lo + h * f64::from(k + 1));
            let (g0, g1) = (gap(t0), gap(t1));
            let crosses = if leaving {
                g0 <= 0.0 && g1 > 0.0
            } else {
                g0 > 0.0 && g1 <= 0.0
            };
            if crosses {
                found = Some(t0 + h * g0 / (g0 - g1));
                if !leaving {
                    break;
                }
            }
        }
        let t = found?;
        let apart = p.place(t) - q.place(t);
        let n = apart / apart.norm().max(1e-6);
        let closing = (p.velocity(t) - q.velocity(t)).dot(&n).abs();
        let sigma = along(both(p.place_sigma(t), q.place_sigma(t)), n).hypot(BETWEEN_BALLS_M);
        Some((t, sigma / closing.max(1e-3)))
    }

    /// Distance of a ball centre beyond the line on which it touches `rail`; negative on the bed.
    fn beyond_rail(&self, place: V2, rail: Rail) -> f64 {
        let at = TablePoint::new(place.x, place.y);
        self.table.rail_contact_distance_m() - self.table.distance_to_nose_m(at, rail)
    }

    /// All explanations worth a thought, cheapest first. Readings that stand alone between the two pieces are tried as the
    /// end of the first and as the beginning of the second.
    pub fn explain(&self, change: &Change) -> Vec<Explanation> {
        let mut all = self.explain_as_split(change);
        let Some(path) = self.paths.iter().find(|p| p.ball == change.ball) else {
            return all;
        };
        let inner = change.after.first.saturating_sub(change.before.last + 1);
        if inner > 0 {
            let strays = &path.points[change.before.last + 1..change.after.first];
            for e in &mut all {
                e.price += PRICE_OF_STRAY_READING * inner as f64;
                e.price += e.steps.iter().map(|step| self.denied(change, step, strays)).sum::<f64>();
            }
        }
        if (1..=2).contains(&inner) {
            for to_before in 0..=inner {
                let (last, first) = (change.before.last + to_before, change.before.last + to_before + 1);
                let before = pieces::fit(&path.points, change.before.first, last, change.before.terms);
                let after = pieces::fit(&path.points, first, change.after.last, change.after.terms);
                let (Some(before), Some(after)) = (before, after) else {
                    continue;
                };
                let worse = (before.chi2 - change.before.chi2).max(0.0) + (after.chi2 - change.after.chi2).max(0.0);
                let other = Change {
                    ball: change.ball,
                    lo: before.t_last,
                    hi: after.t_first,
                    before,
                    after,
                };
                all.extend(self.explain_as_split(&other).into_iter().map(|e| Explanation {
                    price: e.price + worse,
                    ..e
                }));
            }
        }
        all.sort_by(|a, b| a.price.total_cmp(&b.price));
        all
    }

    /// How plainly the reading nearest in time denies that the ball was at the place of a step (squared deviations): even
    /// a reading that fits neither side of a change tells where the ball was.
    fn denied(&self, change: &Change, step: &Step, strays: &[Point]) -> f64 {
        let away = |p: &&Point| (p.t - step.t).abs();
        let Some(nearest) = strays.iter().min_by(|p, q| away(p).total_cmp(&away(q))) else {
            return 0.0;
        };
        let speed = change
            .before
            .velocity(step.t)
            .norm()
            .max(change.after.velocity(step.t).norm());
        let apart = nearest.place() - step.place;
        let way = self.table.ball_radius_m + speed * away(&nearest) + GEOMETRY_M;
        let sigma = along(nearest.sigma, apart / apart.norm().max(1e-6)) + speed * step.t_err;
        sq((apart.norm() - way).max(0.0) / sigma)
    }

    fn explain_as_split(&self, change: &Change) -> Vec<Explanation> {
        let mut all = vec![self.smooth(change)];
        for rail in RAILS {
            all.extend(self.rail(change, rail));
        }
        for (k, first) in RAILS.into_iter().enumerate() {
            for second in RAILS.into_iter().skip(k + 1) {
                all.extend(self.corner(change, first, second));
            }
            for second in RAILS {
                all.extend(self.rail_then_rail(change, first, second));
            }
        }
        for (k, path) in self.paths.iter().enumerate() {
            if path.ball == change.ball {
                continue;
            }
            if let Some((before, after)) = self.partner(path.ball, change.lo, change.hi) {
                all.extend(self.contact(change, path.ball, before, after));
                if before.is_rest() && !after.is_rest() {
                    // Struck and met this ball between two readings: only the way it went on tells where they met.
                    all.extend(self.contact(change, path.ball, after, after));
                }
            }
            for second in self.paths.iter().skip(k + 1).filter(|s| s.ball != change.ball) {
                all.extend(self.two_contacts(change, path.ball, second.ball));
            }
            for rail in RAILS {
                all.extend(self.contact_then_rail(change, path.ball, rail));
                all.extend(self.rail_then_contact(change, path.ball, rail));
            }
        }
        if change.before.is_rest() {
            all.extend(self.strike(change));
            for path in self.paths {
                if path.ball != change.ball {
                    all.extend(self.strike_then_contact(change, path.ball));
                }
            }
            for rail in RAILS {
                all.extend(self.strike_then_rail(change, rail));
            }
        }
        all.retain(|e| e.price.is_finite());
        all.sort_by(|a, b| a.price.total_cmp(&b.price));
        all
    }

    /// This ball's side of a contact that only the other ball's account places in time: the other met something else too
    /// between two readings (a rail, the cue), so its smooth pieces do not lead to the contact. `told` is the other's step.
    pub fn retold(&self, change: &Change, other: Ball, told: &Step) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        let t = told.t;
        if !(lo..=hi).contains(&t) {
            return None;
        }
        let apart = a.place(t) - told.place;
        let n = apart / apart.norm().max(1e-6);
        let (va, vc) = (a.velocity(t), c.velocity(t));
        let push = vc - va;
        if push.norm() < 1e-6 {
            return None;
        }
        let sigma_v = both(velocity_sigma(a, t), velocity_sigma(c, t));
        let sigma_p = both(a.place_sigma(t), c.place_sigma(t)).map(|s| s.hypot(BETWEEN_BALLS_M).hypot(told.t_err * push.norm()));
        let price = PRICE_PER_EVENT
            + sq((apart.norm() - self.table.ball_radius_m) / along(sigma_p, n))
            + Self::impulse_price(push, n, sigma_v)
            + deviations2(c.place(t) - a.place(t), sigma_p);
        let step = Step {
            what: What::Contact(other),
            t,
            t_err: told.t_err.max(along(sigma_p, push / push.norm()) / push.norm()),
            place: told.place,
            push,
            push_err: overall(sigma_v),
        };
        Some(Explanation {
            steps: vec![step],
            price,
        })
    }

    /// Nothing happened: the ball went from sliding to rolling, or the split fell where it need not.
    fn smooth(&self, change: &Change) -> Explanation {
        let (a, c) = (&change.before, &change.after);
        let t = 0.5 * (change.lo + change.hi);
        let dv = c.velocity(t) - a.velocity(t);
        let gap = c.place(t) - a.place(t);
        let sigma_v = both(velocity_sigma(a, t), velocity_sigma(c, t));
        // The last millimetres of a roll are soon taken for rest.
        let rolls_out = if c.is_rest() {
            (a.velocity(t).norm_squared() / (2.0 * ROLL_M_S2)).min(CREEP_M)
        } else {
            0.0
        };
        let sigma_p = both(both(a.place_sigma(t), c.place_sigma(t)), sigma_v * (0.5 * self.step_s)).map(|s| s.hypot(rolls_out));
        let travel = (c.place(c.t_last) - a.place(a.t_last)).norm();
        let by_itself = a.is_rest() && !c.is_rest() && travel > STIR_M;
        let alone = if by_itself { PRICE_OF_STARTING_ALONE } else { 0.0 };
        // Every ball comes to rest somewhere.
        let coincidence = if c.is_rest() { 0.0 } else { PRICE_OF_COINCIDENCE };
        Explanation {
            steps: Vec::new(),
            price: coincidence + deviations2(dv, sigma_v) + deviations2(gap, sigma_p) + alone,
        }
    }

    /// Price of a rebound from the velocities on its two sides.
    fn rebound_price(rail: Rail, va: V2, vc: V2, sigma_a: V2, sigma_c: V2) -> f64 {
        let n = rail.outward();
        let tangent = V2::new(-n.y, n.x);
        let (into, back) = (va.dot(&n), -vc.dot(&n));
        let spread = both(sigma_a, sigma_c);
        let slip_spread = across(spread, n);
        let (sigma_a, sigma_c, spread) = (along(sigma_a, n), along(sigma_c, n), along(spread, n));
        // Toward the rail before, away from it after.
        let mut price = sq((-into).max(0.0) / sigma_a) + sq((-back).max(0.0) / sigma_c);
        let range = (RESTITUTION.0 * into.max(0.0), RESTITUTION.1 * into.max(0.0));
        price += outside(back, range, RESTITUTION_SPREAD * into.max(0.0) + spread);
        let slip = (vc - va).dot(&tangent);
        price + sq(slip / (RAIL_TANGENTIAL_SHARE * (into + back).max(0.0) + slip_spread))
    }

    fn rail(&self, change: &Change, rail: Rail) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let n = rail.outward();
        let m = self.meet(a, c, n, change.lo, change.hi);
        let (va, vc) = (a.velocity(m.t), c.velocity(m.t));
        if va.dot(&n) < -0.05 || vc.dot(&n) > 0.05 {
            return None;
        }
        let (sigma_before, sigma_after) = (a.place_sigma(m.t), c.place_sigma(m.t));
        let place = if along(sigma_before, n) < along(sigma_after, n) {
            a.place(m.t)
        } else {
            c.place(m.t)
        };
        let beyond = self.beyond_rail(place, rail);
        let at_line = (sq(m.sigma) + sq(GEOMETRY_M)).sqrt();
        let tangent = V2::new(-n.y, n.x);
        let side = (c.place(m.t) - a.place(m.t)).dot(&tangent);
        let sigma_v = (velocity_sigma(a, m.t), velocity_sigma(c, m.t));
        // Sideways the two pieces need not meet exactly at the same instant if the time is a little off.
        let side_sigma = across(both(sigma_before, sigma_after), n)
            .hypot(m.t_err * (vc - va).dot(&tangent))
            .hypot(0.001);
        let price = PRICE_PER_EVENT
            + sq(beyond / at_line)
            + sq(m.miss / m.sigma.max(0.001))
            + sq(side / side_sigma)
            + Self::rebound_price(rail, va, vc, sigma_v.0, sigma_v.1);
        let push_err = overall(both(sigma_v.0, sigma_v.1));
        let steps = vec![Step {
            what: What::Rail(rail),
            t: m.t,
            t_err: m.t_err,
            place,
            push: vc - va,
            push_err,
        }];
        Some(Explanation { steps, price })
    }

    /// Two rails at once: each axis turns around at its own time.
    fn corner(&self, change: &Change, p: Rail, q: Rail) -> Option<Explanation> {
        let (np, nq) = (p.outward(), q.outward());
        if np.dot(&nq).abs() > 0.5 {
            return None;
        }
        let (a, c) = (&change.before, &change.after);
        let mut price = 2.0 * PRICE_PER_EVENT;
        let mut steps = Vec::new();
        for (rail, n) in [(p, np), (q, nq)] {
            let m = self.meet(a, c, n, change.lo, change.hi);
            let (into, back) = (a.velocity(m.t).dot(&n), -c.velocity(m.t).dot(&n));
            if into < 0.0 || back < 0.0 {
                return None;
            }
            let place = a.place(m.t);
            price += sq(self.beyond_rail(place, rail) / (sq(m.sigma) + sq(GEOMETRY_M)).sqrt()) + sq(m.miss / m.sigma.max(0.001));
            let spread = along(both(velocity_sigma(a, m.t), velocity_sigma(c, m.t)), n);
            price += outside(
                back,
                (RESTITUTION.0 * into, RESTITUTION.1 * into),
                (RESTITUTION_SPREAD + RAIL_TANGENTIAL_SHARE) * into + spread,
            );
            let push = n * -(into + back);
            steps.push(Step {
                what: What::Rail(rail),
                t: m.t,
                t_err: m.t_err,
                place,
                push,
                push_err: spread,
            });
        }
        steps.sort_by(|x, y| x.t.total_cmp(&y.t));
        Some(Explanation { steps, price })
    }

    /// One rail and then another (or the first again is left to the split) with an unknown velocity between them.
    fn rail_then_rail(&self, change: &Change, p: Rail, q: Rail) -> Option<Explanation> {
        let (np, nq) = (p.outward(), q.outward());
        if np.dot(&nq).abs() > 0.5 || change.before.is_rest() {
            return None;
        }
        let (a, c) = (&change.before, &change.after);
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        let (t1, e1) = self.line_time(a, p, lo, hi)?;
        let (t2, e2) = self.line_time(c, q, lo, hi)?;
        if t2 <= t1 + 1e-4 {
            return None;
        }
        let (from, to) = (a.place(t1), c.place(t2));
        let between = (to - from) / (t2 - t1);
        let (va, vc) = (a.velocity(t1), c.velocity(t2));
        if va.dot(&np) <= 0.0 || vc.dot(&nq) >= 0.0 || between.dot(&nq) <= 0.0 {
            return None;
        }
        let timing = between.norm() * (e1 + e2) / (t2 - t1);
        let sigma_between = both(a.place_sigma(t1), c.place_sigma(t2)).map(|s| s.hypot(GEOMETRY_M) / (t2 - t1) + timing);
        let price = 2.0 * PRICE_PER_EVENT
            + Self::rebound_price(p, va, between, velocity_sigma(a, t1), sigma_between)
            + Self::rebound_price(q, between, vc, sigma_between, velocity_sigma(c, t2));
        let step = |rail, t, t_err, place, push| Step {
            what: What::Rail(rail),
            t,
            t_err,
            place,
            push,
            push_err: overall(sigma_between),
        };
        Some(Explanation {
            steps: vec![step(p, t1, e1, from, between - va), step(q, t2, e2, to, vc - between)],
            price,
        })
    }

    /// Price of a contact from the change of velocity of `ball` along the line from the partner's centre.
    fn impulse_price(push: V2, toward_ball: V2, sigma: V2) -> f64 {
        let straight = push.dot(&toward_ball);
        let off = push - toward_ball * straight;
        sq((-straight).max(0.0) / along(sigma, toward_ball))
            + sq(off.norm() / (CONTACT_DIRECTION_SHARE * straight.abs() + across(sigma, toward_ball)))
    }

    /// One contact. `pa` and `pc` are the partner's pieces before and after it; the place of the contact is told by `pa`.
    fn contact(&self, change: &Change, other: Ball, pa: &Piece, pc: &Piece) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let middle = 0.5 * (change.lo + change.hi);
        let dv = c.velocity(middle) - a.velocity(middle);
        if dv.norm() < 1e-6 {
            return None;
        }
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        // The meeting of this ball's pieces along its own change of velocity, and the times at which the centres come to,
        // and come from, two radii apart: three measurements of one time. The partner's own change is a fourth; it is
        // held against this one when the two accounts are joined.
        let own = self.meet(a, c, dv.normalize(), change.lo, change.hi);
        let mut times = vec![(own.t, own.t_err)];
        // What follows the contact may hold a rail too, so the way apart counts only where the way together is not known.
        times.extend(
            self.touch_time(a, pa, lo, hi, false)
                .or_else(|| self.touch_time(c, pc, lo, hi, true)),
        );
        let (t, t_err, spread) = self.weighted(&times);
        let here = if overall(a.place_sigma(t)) <= overall(c.place_sigma(t)) {
            a
        } else {
            c
        };
        let sigma_apart = both(here.place_sigma(t), pa.place_sigma(t));
        let here = here.place(t);
        let apart = here - pa.place(t);
        let n = apart / apart.norm().max(1e-6);
        let (va, vc) = (a.velocity(t), c.velocity(t));
        let closing = (va - pa.velocity(t)).dot(&n);
        let sigma_gap = along(sigma_apart, n).hypot(BETWEEN_BALLS_M).hypot(t_err * closing);
        let sigma_v = both(velocity_sigma(a, t), velocity_sigma(c, t));
        let price = PRICE_PER_EVENT
            + sq((apart.norm() - 2.0 * self.table.ball_radius_m) / sigma_gap)
            + Self::impulse_price(vc - va, n, sigma_v)
            + spread
            // Balls do not move apart before they touch.
            + sq(closing.max(0.0) / along(sigma_v + velocity_sigma(pa, t), n));
        let place = here - n * self.table.ball_radius_m;
        let step = Step {
            what: What::Contact(other),
            t,
            t_err,
            place,
            push: vc - va,
            push_err: overall(sigma_v),
        };
        Some(Explanation {
            steps: vec![step],
            price,
        })
    }

    /// Two balls at once: this one was pushed along both lines of centres, as a ball frozen to another is.
    fn two_contacts(&self, change: &Change, p: Ball, q: Ball) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let middle = 0.5 * (change.lo + change.hi);
        let dv = c.velocity(middle) - a.velocity(middle);
        if dv.norm() < 1e-6 {
            return None;
        }
        let own = self.meet(a, c, dv.normalize(), change.lo, change.hi);
        let t = own.t;
        let here = a.place(t);
        let mut price = 2.0 * PRICE_PER_EVENT;
        let mut lines = Vec::new();
        for other in [p, q] {
            let (pa, _) = self.partner(other, change.lo, change.hi)?;
            let apart = here - pa.place(t);
            let closing = (a.velocity(t) - pa.velocity(t)).norm();
            let n = apart / apart.norm().max(1e-6);
            let sigma = along(both(a.place_sigma(t), pa.place_sigma(t)), n)
                .hypot(BETWEEN_BALLS_M)
                .hypot(own.t_err * closing);
            price += sq((apart.norm() - 2.0 * self.table.ball_radius_m) / sigma);
            lines.push(n);
        }
        let push = c.velocity(t) - a.velocity(t);
        let parts = nalgebra::Matrix2::from_columns(&[lines[0], lines[1]]).try_inverse()? * push;
        let sigma_v = overall(both(velocity_sigma(a, t), velocity_sigma(c, t)));
        price += sq((-parts[0]).max(0.0) / sigma_v) + sq((-parts[1]).max(0.0) / sigma_v);
        let err = sigma_v + CONTACT_DIRECTION_SHARE * push.norm();
        let step = |other: Ball, k: usize| Step {
            what: What::Contact(other),
            t,
            t_err: own.t_err,
            place: here - lines[k] * self.table.ball_radius_m,
            push: lines[k] * parts[k],
            push_err: err,
        };
        Some(Explanation {
            steps: vec![step(p, 0), step(q, 1)],
            price,
        })
    }

    /// Mean of several measurements of one time, its error, and how badly they disagree (squared deviations).
    fn weighted(&self, times: &[(f64, f64)]) -> (f64, f64, f64) {
        let weight = |e: f64| 1.0 / sq(e.max(1e-4));
        let total: f64 = times.iter().map(|x| weight(x.1)).sum();
        let t = times.iter().map(|x| x.0 * weight(x.1)).sum::<f64>() / total;
        let spread = times
            .iter()
            .map(|x| sq((x.0 - t) / (sq(x.1) + sq(0.15 * self.step_s)).sqrt()))
            .sum();
        (t, (1.0 / total).sqrt(), spread)
    }

    /// The time at which the partner's own path changed, when it did.
    fn partner_time(&self, pa: &Piece, pc: &Piece) -> Option<(f64, f64)> {
        if std::ptr::eq(pa, pc) {
            return None;
        }
        let middle = 0.5 * (pa.t_last + pc.t_first);
        let dv = pc.velocity(middle) - pa.velocity(middle);
        (dv.norm() > 0.05).then(|| {
            let m = self.meet(pa, pc, dv.normalize(), pa.t_last, pc.t_first);
            (m.t, m.t_err)
        })
    }

    /// A contact whose rail followed before the ball was seen again (or within too few readings to tell apart).
    fn contact_then_rail(&self, change: &Change, other: Ball, rail: Rail) -> Vec<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        let Some((pa, pc)) = self.partner(other, change.lo, change.hi) else {
            return Vec::new();
        };
        let Some((t_rail, e_rail)) = self.line_time(c, rail, lo, hi) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for (t_hit, e_hit) in [self.partner_time(pa, pc), self.touch_time(a, pa, lo, hi, false)]
            .into_iter()
            .flatten()
        {
            if t_hit < lo || t_hit > hi {
                continue;
            }
            // The rail cannot have been reached sooner than the way to it takes at the speed that the rebound tells of.
            let way = -self.beyond_rail(a.place(t_hit), rail);
            let into = -c.velocity(t_rail).dot(&rail.outward()) / TYPICAL_RESTITUTION;
            if into <= 0.0 {
                continue;
            }
            let soonest = t_hit + way.max(0.0005) / into;
            let late = (soonest - t_rail).max(0.0) / (sq(e_rail) + sq(e_hit) + sq(0.1 * self.step_s)).sqrt();
            let t_rail = t_rail.max(soonest);
            let dt = t_rail - t_hit;
            let between = (c.place(t_rail) - a.place(t_hit)) / dt;
            if between.dot(&rail.outward()) <= 0.0 {
                continue;
            }
            let timing = between.norm() * (e_hit + e_rail) / dt;
            let sigma_between = both(a.place_sigma(t_hit), c.place_sigma(t_rail)).map(|s| s.hypot(GEOMETRY_M) / dt + timing);
            let (hit, price) = self.hit(
                a.place(t_hit),
                a.place_sigma(t_hit),
                a.velocity(t_hit),
                between,
                velocity_sigma(a, t_hit) + sigma_between,
                pa,
                other,
                t_hit,
                e_hit,
            );
            let vc = c.velocity(t_rail);
            let price = 2.0 * PRICE_PER_EVENT
                + price
                + sq(late)
                + Self::rebound_price(rail, between, vc, sigma_between, velocity_sigma(c, t_rail));
            let bounce = Step {
                what: What::Rail(rail),
                t: t_rail,
                t_err: e_rail,
                place: c.place(t_rail),
                push: vc - between,
                push_err: overall(sigma_between),
            };
            out.push(Explanation {
                steps: vec![hit, bounce],
                price,
            });
        }
        out
    }

    /// A rail whose contact followed before the ball was seen again.
    fn rail_then_contact(&self, change: &Change, other: Ball, rail: Rail) -> Vec<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        if a.is_rest() {
            return Vec::new();
        }
        let Some((pa, pc)) = self.partner(other, change.lo, change.hi) else {
            return Vec::new();
        };
        let Some((t_rail, e_rail)) = self.line_time(a, rail, lo, hi) else {
            return Vec::new();
        };
        let va = a.velocity(t_rail);
        if va.dot(&rail.outward()) <= 0.0 {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (t_hit, e_hit) in [self.partner_time(pa, pc), self.touch_time(c, pc, lo, hi, true)]
            .into_iter()
            .flatten()
        {
            if t_hit <= t_rail + 1e-4 || t_hit > hi {
                continue;
            }
            let dt = t_hit - t_rail;
            let between = (c.place(t_hit) - a.place(t_rail)) / dt;
            let timing = between.norm() * (e_hit + e_rail) / dt;
            let sigma_between = both(c.place_sigma(t_hit), a.place_sigma(t_rail)).map(|s| s.hypot(GEOMETRY_M) / dt + timing);
            let (hit, price) = self.hit(
                c.place(t_hit),
                c.place_sigma(t_hit),
                between,
                c.velocity(t_hit),
                velocity_sigma(c, t_hit) + sigma_between,
                pa,
                other,
                t_hit,
                e_hit,
            );
            let price =
                2.0 * PRICE_PER_EVENT + price + Self::rebound_price(rail, va, between, velocity_sigma(a, t_rail), sigma_between);
            let bounce = Step {
                what: What::Rail(rail),
                t: t_rail,
                t_err: e_rail,
                place: a.place(t_rail),
                push: between - va,
                push_err: overall(sigma_between),
            };
            out.push(Explanation {
                steps: vec![bounce, hit],
                price,
            });
        }
        out
    }

    /// A contact at a known time, with the velocities of this ball on both sides of it.
    #[allow(clippy::too_many_arguments)]
    fn hit(
        &self,
        here: V2,
        s_here: V2,
        before: V2,
        after: V2,
        sigma_v: V2,
        pa: &Piece,
        other: Ball,
        t: f64,
        t_err: f64,
    ) -> (Step, f64) {
        let there = pa.place(t);
        let apart = here - there;
        let n = apart / apart.norm().max(1e-6);
        let push = after - before;
        let closing = (before - pa.velocity(t)).dot(&n);
        let sigma_gap = along(both(s_here, pa.place_sigma(t)), n)
            .hypot(BETWEEN_BALLS_M)
            .hypot(t_err * closing);
        let price = sq((apart.norm() - 2.0 * self.table.ball_radius_m) / sigma_gap)
            + Self::impulse_price(push, n, sigma_v)
            + sq(closing.max(0.0) / along(sigma_v + velocity_sigma(pa, t), n));
        let place = here - n * self.table.ball_radius_m;
        (
            Step {
                what: What::Contact(other),
                t,
                t_err,
                place,
                push,
                push_err: overall(sigma_v),
            },
            price,
        )
    }

    /// How badly two accounts of one contact disagree: opposite impulses, equal times (squared deviations).
    pub fn mismatch(&self, p: &Step, q: &Step) -> f64 {
        let larger = p.push.norm().max(q.push.norm());
        sq((p.push + q.push).norm() / (IMPULSE_SHARE * larger + p.push_err + q.push_err))
            + sq((p.t - q.t) / (sq(p.t_err) + sq(q.t_err) + sq(0.15 * self.step_s)).sqrt())
    }

    /// Price of a contact whose partner shows no change of its own near that time.
    pub fn lone(step: &Step) -> f64 {
        PRICE_OF_SILENT_PARTNER + sq(step.push.norm() / (VELOCITY_MODEL_M_S + 0.5 * step.push_err))
    }

    /// When a piece lies on the contact line of a rail within the given times.
    fn line_time(&self, p: &Piece, rail: Rail, lo: f64, hi: f64) -> Option<(f64, f64)> {
        let n = rail.outward();
        let mut t = 0.5 * (lo + hi);
        let sigma = along(p.place_sigma(t), n).hypot(GEOMETRY_M);
        let beside = p.velocity(t).dot(&n).abs() * (hi - lo) < sigma;
        if beside && self.beyond_rail(p.place(t), rail).abs() < 3.0 * sigma {
            // Rolling along the rail at touching distance: it may have touched at any of these times.
            return Some((t, 0.5 * (hi - lo)));
        }
        for _ in 0..8 {
            let rate = p.velocity(t).dot(&n);
            if rate.abs() < 1e-3 {
                return None;
            }
            t -= self.beyond_rail(p.place(t), rail) / rate;
            if !(lo - (hi - lo)..=hi + (hi - lo)).contains(&t) {
                return None;
            }
        }
        let err = along(p.place_sigma(t), n).hypot(GEOMETRY_M) / p.velocity(t).dot(&n).abs();
        (lo..=hi).contains(&t).then_some((t, err))
    }

    /// The cue set a resting ball in motion.
    fn strike(&self, change: &Change) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let v = c.velocity(c.t_first);
        if v.norm() < 1e-6 {
            return None;
        }
        let m = self.meet(a, c, v.normalize(), change.lo, change.hi);
        let n = v.normalize();
        let side = (c.place(m.t) - a.place(m.t)).dot(&V2::new(-n.y, n.x));
        let side_sigma = across(both(a.place_sigma(m.t), c.place_sigma(m.t)), n).hypot(0.001);
        let price = PRICE_PER_EVENT + sq(m.miss / m.sigma.max(0.001)) + sq(side / side_sigma);
        Some(Explanation {
            steps: vec![Self::struck(m.t, m.t_err, a.place(m.t), v)],
            price,
        })
    }

    fn struck(t: f64, t_err: f64, place: V2, push: V2) -> Step {
        Step {
            what: What::Strike,
            t,
            t_err,
            place,
            push,
            push_err: 0.1 * push.norm(),
        }
    }

    /// The cue struck the ball and it met another before it was seen moving long enough to know its speed.
    fn strike_then_contact(&self, change: &Change, other: Ball) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let (pa, pc) = self.partner(other, change.lo, change.hi)?;
        if !pa.is_rest() {
            return None;
        }
        let (t_hit, e_hit) = self.partner_time(pa, pc)?;
        let (lo, hi) = (change.lo - self.slack() - self.step_s, change.hi + self.slack());
        if t_hit < lo || t_hit > hi {
            return None;
        }
        let from = a.place(t_hit);
        let here = c.place(t_hit);
        // Equal masses: the velocity before the contact is the sum of the two after it.
        let before = c.velocity(t_hit) + pc.velocity(t_hit);
        let travel = here - from;
        let speed = before.norm();
        if speed < 0.05 {
            return None;
        }
        let t_strike = t_hit - travel.norm() / speed;
        let sigma_v = (velocity_sigma(c, t_hit) + velocity_sigma(pc, t_hit)).add_scalar(IMPULSE_SHARE * 0.5 * speed);
        let spread_here = both(c.place_sigma(t_hit), a.place_sigma(t_hit)).map(|s| s.hypot(BETWEEN_BALLS_M).hypot(e_hit * speed));
        // The way travelled points where the ball went before the contact.
        let direction = before / speed;
        let off = travel - direction * travel.dot(&direction);
        let (sigma_here, turned) = (along(spread_here, direction), across(sigma_v, direction) / speed);
        let (hit, hit_price) = self.hit(here, spread_here, before, c.velocity(t_hit), sigma_v, pa, other, t_hit, e_hit);
        let price = 2.0 * PRICE_PER_EVENT
            + hit_price
            + sq(off.norm() / (across(spread_here, direction) + travel.norm() * turned))
            + outside(
                t_strike,
                (change.lo - self.slack(), change.hi + self.slack()),
                0.2 * self.step_s,
            )
            + sq((-travel.dot(&direction)).max(0.0) / sigma_here);
        let t_err = (sq(e_hit) + sq(sigma_here / speed) + sq(travel.norm() * along(sigma_v, direction) / sq(speed))).sqrt();
        Some(Explanation {
            steps: vec![Self::struck(t_strike, t_err, from, before), hit],
            price,
        })
    }

    /// The cue struck the ball and it met a rail before it was seen moving long enough to know its speed.
    ///
    /// A strike alone foretells that the way leads back to where the ball rested; off a rail it may come from anywhere about
    /// as far as it went. That freedom is paid for by twice the logarithm of how much wider it is than the way is known.
    fn strike_then_rail(&self, change: &Change, rail: Rail) -> Option<Explanation> {
        let (a, c) = (&change.before, &change.after);
        let (lo, hi) = (change.lo - self.slack(), change.hi + self.slack());
        let (t_rail, e_rail) = self.line_time(c, rail, lo, hi)?;
        let vc = c.velocity(t_rail);
        let from = a.place(t_rail);
        let travel = c.place(t_rail) - from;
        let n = rail.outward();
        if travel.dot(&n) <= 0.0 || vc.dot(&n) >= 0.0 {
            return None;
        }
        // Speed before the rail: from a reading on the way when there is one, else from the rebound.
        let path = self.paths.iter().find(|p| p.ball == change.ball)?;
        let on_way = path
            .points
            .iter()
            .find(|p| p.t > change.lo + 1e-6 && p.t < t_rail.min(change.hi - 1e-6));
        let way = travel.norm();
        let typical = -vc.dot(&n) / (0.5 * (RESTITUTION.0 + RESTITUTION.1)) / (travel.dot(&n) / way).max(0.05);
        // The ball still rested when it was last seen resting: at best it went from there to the rail in what was left.
        let fastest = -vc.dot(&n) / RESTITUTION.0 / (travel.dot(&n) / way).max(0.05);
        let early = (change.lo + way / fastest - t_rail).max(0.0);
        let (speed, speed_err) = match on_way {
            Some(p) if t_rail - p.t > 0.2 * self.step_s => {
                let v = (c.place(t_rail) - p.place()).norm() / (t_rail - p.t);
                (v, v * (e_rail / (t_rail - p.t)) + overall(p.sigma) / (t_rail - p.t))
            }
            _ => (typical, 0.4 * typical),
        };
        let before = travel / travel.norm() * speed;
        let t_strike = t_rail - travel.norm() / speed.max(0.05);
        let t_err = (sq(e_rail) + sq(travel.norm() * speed_err / sq(speed.max(0.05)))).sqrt();
        let off = on_way.map_or(0.0, |p| {
            let d = p.place() - from;
            let n = travel / way;
            let side = d.dot(&V2::new(-n.y, n.x));
            sq(side / across(both(p.sigma, a.place_sigma(p.t)), n).hypot(0.002))
        });
        let price = 2.0 * PRICE_PER_EVENT
            + off
            + 2.0 * (1.0 + way / overall(both(c.place_sigma(t_rail), a.place_sigma(t_rail))).hypot(0.001)).ln()
            + sq(early / (sq(e_rail) + sq(EARLY_STEPS * self.step_s)).sqrt())
            + Self::rebound_price(rail, before, vc, V2::repeat(speed_err), velocity_sigma(c, t_rail))
            + outside(
                t_strike,
                (change.lo - self.slack(), change.hi + self.slack()),
                0.2 * self.step_s + t_err,
            );
        let bounce = Step {
            what: What::Rail(rail),
            t: t_rail,
            t_err: e_rail,
            place: c.place(t_rail),
            push: vc - before,
            push_err: speed_err,
        };
        Some(Explanation {
            steps: vec![Self::struck(t_strike, t_err, from, before), bounce],
            price,
        })
    }
}
