//! Chooses one explanation for every change so that they agree with each other, and says how sure each event is.
//!
//! Both balls of a contact tell of it; their accounts must match in time and impulse. Changes that are close in time are
//! settled together by trying every combination of their best explanations. The price of the best combination with an
//! event against the best without it gives the event's probability; events of combinations that lost by little are kept
//! as doubts.

use std::collections::BTreeMap;

use super::causes::{Change, Explanation, Scene, Step, UNEXPLAINED_PRICE, What};
use super::{Event, EventKind};
use crate::ball::Ball;
use crate::space::TablePoint;
use crate::table::Rail;
use crate::units::{Confidence, Timestamp};

/// Price of a second strike when the balls lie and leave as in a lag: two balls struck by cues happen in a lag only.
const SECOND_STRIKE_PRICE: f64 = 40.0;

/// The same when they do not: two people would have to play at once, or the second ball was set in motion by a touch that
/// no picture shows. The latter is far more likely, so even this is no lag, but a shot of which the cue ball is not known.
const STRAY_STRIKE_PRICE: f64 = 2.0 * UNEXPLAINED_PRICE;

/// A lag ball is set on the head string (C2.2), a quarter of the table's length from its rail, and is sent straight to the
/// other end (C2.3): at most this far off the string, metres (about two balls: set by hand), and off the long axis,
/// as the cosine of 20 degrees (a lag ball that leaves at more touches a side rail first).
const LAG_STRING_M: f64 = 0.12;
const LAG_STRAIGHT: f64 = 0.94;

/// Only the best few explanations of a change can be part of the best joint one.
const MAX_EXPLANATIONS: usize = 7;

/// More changes at once than this are settled in smaller groups; three balls rarely make more.
const MAX_CLUSTER: usize = 5;

/// Changes farther apart than this many steps between readings have no common cause.
const CLUSTER_STEPS: f64 = 2.0;

/// An explanation this dear per change is taken as what honest readings give (chosen by eye, on the rendered development clips); a dearer one says
/// that our model of the errors is too narrow here, and differences between explanations are worth less in proportion.
const EXPECTED_PRICE: f64 = 14.0;

/// Up to this price, in squared deviations, an explanation of one change counts as fitting. Chosen by eye on the rendered
/// development clips, where true explanations cost 4 to 23; not measured on clips held back.
const PRICE_PER_CHANGE_EXPLAINED: f64 = 26.0;

/// Events less likely than this are not kept even as doubts: a ruling may rest on what is 0.999 sure.
const LEAST_CONFIDENCE: f64 = 0.001;

/// A doubt is less likely than not.
const MOST_DOUBT: f64 = 0.49;

/// A group tells of the order of two events only if it tells of the first within this of the time asked for, seconds.
const ORDER_REACH_S: f64 = 0.1;

/// One change with everything that may explain it.
pub(crate) struct Account {
    pub change: Change,
    pub explanations: Vec<Explanation>,
}

/// What was chosen for every account, and the doubts that remain.
#[derive(Default)]
pub(crate) struct Settlement {
    /// Index into each account's explanations.
    pub chosen: Vec<Option<usize>>,
    /// Accounts that are strikes.
    pub strikes: Vec<usize>,
    /// How sure it is that these and no others are.
    pub strike_confidence: f64,
    /// Two balls were struck, from where and the way that a lag is played.
    pub lag: bool,
    groups: Vec<Group>,
}

/// A cluster of changes settled together.
struct Group {
    cluster: Vec<usize>,
    price: f64,
    picked: Vec<usize>,
    rivals: BTreeMap<EventKind, Rival>,
    /// Price of the cheapest joint explanation in which one ball's path tells of the first event before the second.
    orders: BTreeMap<(EventKind, EventKind), f64>,
}

/// The cheapest joint explanation of a cluster with a given event, and without it.
struct Rival {
    with: f64,
    without: f64,
    /// The event as the cheapest explanation with it tells it.
    told: Option<Step>,
}

/// The event that a step tells of: a contact is the same thing told by either ball.
pub(crate) fn kind_of(ball: Ball, what: &What) -> EventKind {
    match what {
        What::Strike => EventKind::CueStrike { ball },
        What::Rail(rail) => EventKind::Rail { ball, rail: *rail },
        What::Contact(other) => EventKind::contact(ball, *other),
    }
}

fn is_strike(e: &Explanation) -> bool {
    e.steps.iter().any(|s| s.what == What::Strike)
}

/// Changes (indices) so close in time that they may have a common cause.
fn clusters(accounts: &[Account], step_s: f64) -> Vec<Vec<usize>> {
    let mut out: Vec<Vec<usize>> = Vec::new();
    let reach = CLUSTER_STEPS * step_s;
    for (k, account) in accounts.iter().enumerate() {
        let near = |m: &usize| {
            let c = &accounts[*m].change;
            account.change.lo <= c.hi + reach && c.lo <= account.change.hi + reach
        };
        match out.last_mut() {
            Some(cluster) if cluster.len() < MAX_CLUSTER && cluster.iter().any(near) => cluster.push(k),
            _ => out.push(vec![k]),
        }
    }
    out
}

/// Adds to every account the contacts that only the partner's account can place: those it tells of together with another
/// event between the same two readings.
pub(crate) fn retell(scene: &Scene, accounts: &mut [Account]) {
    let mut retold: Vec<(usize, Explanation)> = Vec::new();
    for (k, mine) in accounts.iter().enumerate() {
        for theirs in accounts.iter().filter(|a| a.change.ball != mine.change.ball) {
            let several = theirs
                .explanations
                .iter()
                .take(MAX_EXPLANATIONS)
                .filter(|e| e.steps.len() > 1);
            for step in several
                .flat_map(|e| &e.steps)
                .filter(|s| s.what == What::Contact(mine.change.ball))
            {
                retold.extend(scene.retold(&mine.change, theirs.change.ball, step).map(|e| (k, e)));
            }
        }
    }
    for (k, explanation) in retold {
        accounts[k].explanations.push(explanation);
    }
    for account in accounts {
        account.explanations.sort_by(|a, b| a.price.total_cmp(&b.price));
    }
}

/// Price of choosing these explanations together: each must agree with the others about the contacts they share.
fn joint_price(scene: &Scene, accounts: &[Account], cluster: &[usize], chosen: &[&Explanation]) -> f64 {
    let mut price: f64 = chosen.iter().map(|e| e.price).sum();
    for (k, explanation) in cluster.iter().zip(chosen) {
        let ball = accounts[*k].change.ball;
        for step in &explanation.steps {
            let What::Contact(other) = step.what else { continue };
            let told = cluster.iter().zip(chosen).filter(|(m, _)| accounts[**m].change.ball == other);
            let partner = told.flat_map(|(_, e)| &e.steps).filter(|s| s.what == What::Contact(ball));
            let agreement = partner.map(|s| scene.mismatch(step, s)).fold(f64::INFINITY, f64::min);
            // Each of the two accounts carries half of what they disagree by.
            price += if agreement.is_finite() {
                0.5 * agreement
            } else {
                Scene::lone(step)
            };
        }
    }
    price
}

/// Tries all joint explanations of a cluster. The accounts in `strikes`, and only those, are strikes.
fn settle(scene: &Scene, accounts: &[Account], cluster: &[usize], strikes: &[usize]) -> Option<Group> {
    let options: Vec<Vec<usize>> = cluster
        .iter()
        .map(|k| {
            let wanted = strikes.contains(k);
            let all = accounts[*k].explanations.iter().enumerate();
            all.filter(|(_, e)| is_strike(e) == wanted)
                .map(|(i, _)| i)
                .take(MAX_EXPLANATIONS)
                .collect()
        })
        .collect();
    if options.iter().any(Vec::is_empty) {
        return None;
    }
    let mut group = Group {
        cluster: cluster.to_vec(),
        price: f64::INFINITY,
        picked: Vec::new(),
        rivals: BTreeMap::new(),
        orders: BTreeMap::new(),
    };
    for (k, choices) in cluster.iter().zip(&options) {
        let ball = accounts[*k].change.ball;
        for step in choices.iter().flat_map(|i| &accounts[*k].explanations[*i].steps) {
            group.rivals.insert(
                kind_of(ball, &step.what),
                Rival {
                    with: f64::INFINITY,
                    without: f64::INFINITY,
                    told: None,
                },
            );
        }
    }
    let mut counter = vec![0_usize; cluster.len()];
    loop {
        let picked: Vec<usize> = counter.iter().zip(&options).map(|(c, o)| o[*c]).collect();
        let chosen: Vec<&Explanation> = cluster
            .iter()
            .zip(&picked)
            .map(|(k, i)| &accounts[*k].explanations[*i])
            .collect();
        let price = joint_price(scene, accounts, cluster, &chosen);
        for (event, rival) in &mut group.rivals {
            let mut steps = cluster
                .iter()
                .zip(&chosen)
                .flat_map(|(k, e)| e.steps.iter().map(|s| (accounts[*k].change.ball, s)));
            match steps.find(|(ball, s)| kind_of(*ball, &s.what) == *event) {
                Some((_, step)) if price < rival.with => {
                    rival.with = price;
                    rival.told = Some(step.clone());
                }
                None if price < rival.without => rival.without = price,
                _ => {}
            }
        }
        for (k, explanation) in cluster.iter().zip(&chosen) {
            if let [first, second] = &explanation.steps[..] {
                let ball = accounts[*k].change.ball;
                let known = group
                    .orders
                    .entry((kind_of(ball, &first.what), kind_of(ball, &second.what)))
                    .or_insert(f64::INFINITY);
                *known = known.min(price);
            }
        }
        if price < group.price {
            group.price = price;
            group.picked = picked;
        }
        // The next combination, as a counter with one digit per account.
        let mut digit = 0;
        loop {
            if digit == counter.len() {
                return Some(group);
            }
            counter[digit] += 1;
            if counter[digit] < options[digit].len() {
                break;
            }
            counter[digit] = 0;
            digit += 1;
        }
    }
}

/// Tries every ball that the cue may have struck first and settles all changes for each; the cheapest whole wins.
pub(crate) fn settle_all(scene: &Scene, accounts: &[Account]) -> Settlement {
    let mut firsts: Vec<usize> = Vec::new();
    for (k, account) in accounts.iter().enumerate() {
        let ball = account.change.ball;
        let starts = |a: &Account| a.change.before.is_rest() && !a.change.after.is_rest();
        let earlier = accounts[..k]
            .iter()
            .any(|a| a.change.ball == ball && !a.change.after.is_rest());
        // Only cue balls are struck with a cue.
        if !earlier && starts(account) && matches!(ball, Ball::White | Ball::Yellow | Ball::Cue) {
            firsts.push(k);
        }
    }
    let mut hypotheses: Vec<(f64, Vec<usize>)> = firsts.iter().map(|k| (0.0, vec![*k])).collect();
    if let [a, b] = firsts[..] {
        let extra = if is_lag(scene, accounts, a, b) {
            SECOND_STRIKE_PRICE
        } else {
            STRAY_STRIKE_PRICE
        };
        hypotheses.push((extra, vec![a, b]));
    }
    if hypotheses.is_empty() {
        hypotheses.push((0.0, Vec::new()));
    }
    let clusters = clusters(accounts, scene.step_s);
    let mut best: Option<(f64, Settlement)> = None;
    let mut prices = Vec::new();
    for (extra, strikes) in hypotheses {
        let mut price = extra;
        let mut settled = Settlement {
            chosen: vec![None; accounts.len()],
            strikes: strikes.clone(),
            ..Settlement::default()
        };
        for cluster in &clusters {
            let Some(group) = settle(scene, accounts, cluster, &strikes) else {
                price += 10.0 * UNEXPLAINED_PRICE;
                continue;
            };
            price += group.price.min(10.0 * UNEXPLAINED_PRICE);
            for (k, i) in cluster.iter().zip(&group.picked) {
                settled.chosen[*k] = Some(*i);
            }
            settled.groups.push(group);
        }
        tracing::trace!(price, ?strikes, "strike hypothesis");
        prices.push(price);
        if best.as_ref().is_none_or(|b| price < b.0) {
            best = Some((price, settled));
        }
    }
    let Some((price, mut settled)) = best else {
        return Settlement::default();
    };
    let temper = (price / (EXPECTED_PRICE * accounts.len().max(1) as f64)).max(1.0);
    let odds: f64 = prices.iter().map(|p| (-0.5 * (p - price) / temper).exp()).sum();
    settled.strike_confidence = 1.0 / odds;
    settled.lag = matches!(settled.strikes[..], [a, b] if is_lag(scene, accounts, a, b));
    settled
}

/// Whether the two departures are those of a lag (C2.2, C2.3): from the head string, one ball on each side of the long axis,
/// straight towards the foot rail. Which end is the head cannot be seen.
fn is_lag(scene: &Scene, accounts: &[Account], a: usize, b: usize) -> bool {
    let table = scene.table;
    let [(p, v), (q, w)] = [a, b].map(|k| {
        let change = &accounts[k].change;
        (change.before.place(change.lo), change.after.velocity(change.hi))
    });
    let apart = p.y * q.y < 0.0;
    let from = |head: Rail| {
        let foot_ward = if head == Rail::Head { 1.0 } else { -1.0 };
        [(p, v), (q, w)].into_iter().all(|(at, v)| {
            let off = table.distance_to_nose_m(TablePoint::new(at.x, at.y), head) - table.length_m / 4.0;
            off.abs() < LAG_STRING_M && foot_ward * v.x > LAG_STRAIGHT * v.norm()
        })
    };
    apart && (from(Rail::Head) || from(Rail::Foot))
}

impl Group {
    /// Probability of what has price `with` against what has price `without`.
    fn odds(&self, with: f64, without: f64) -> f64 {
        let temper = (self.price / (EXPECTED_PRICE * self.cluster.len() as f64)).max(1.0);
        let against = (0.5 * (with - without) / temper).clamp(-40.0, 40.0).exp();
        1.0 / (1.0 + against)
    }

    fn probability(&self, rival: &Rival) -> f64 {
        self.odds(rival.with, rival.without)
    }
}

impl Settlement {
    /// Probability that `a` came before `b`, when one ball's path was explained by both within one change.
    pub fn order(&self, a: EventKind, b: EventKind, near: f64) -> Option<f64> {
        let told = |g: &&Group| {
            let close = g
                .rivals
                .get(&a)
                .and_then(|r| r.told.as_ref())
                .is_some_and(|s| (s.t - near).abs() < ORDER_REACH_S);
            close && (g.orders.contains_key(&(a, b)) || g.orders.contains_key(&(b, a)))
        };
        let group = self.groups.iter().find(told)?;
        let price = |x: EventKind, y: EventKind| group.orders.get(&(x, y)).copied().unwrap_or(UNEXPLAINED_PRICE * 2.0);
        Some(group.odds(price(a, b), price(b, a)))
    }

    /// How sure an event of an account is.
    pub fn confidence(&self, account: usize, kind: EventKind) -> Confidence {
        if matches!(kind, EventKind::CueStrike { .. }) {
            return Confidence::new(self.strike_confidence);
        }
        let group = self.groups.iter().find(|g| g.cluster.contains(&account));
        let p = group.and_then(|g| g.rivals.get(&kind).map(|r| g.probability(r)));
        Confidence::new(p.unwrap_or(0.5))
    }

    /// Changes that even the chosen explanation does not fit: something else happened there, or something more. Returned are
    /// the account and how likely that is.
    pub fn suspicious(&self, accounts: &[Account]) -> Vec<(usize, f64)> {
        let mut out = Vec::new();
        for (k, account) in accounts.iter().enumerate() {
            let Some(chosen) = self
                .chosen
                .get(k)
                .copied()
                .flatten()
                .and_then(|i| account.explanations.get(i))
            else {
                out.push((k, MOST_DOUBT));
                continue;
            };
            let excess = chosen.price - PRICE_PER_CHANGE_EXPLAINED;
            if excess > 0.0 {
                out.push((k, (excess / PRICE_PER_CHANGE_EXPLAINED).min(1.0) * MOST_DOUBT));
            }
        }
        out
    }

    /// Events of explanations that lost, but not by much: kept so that a ruling that hangs on one of them is doubted.
    pub fn doubts(&self, known: &[Event], step_s: f64) -> Vec<Event> {
        let mut out: Vec<Event> = Vec::new();
        for group in &self.groups {
            for (kind, rival) in &group.rivals {
                let p = group.probability(rival);
                let Some(step) = &rival.told else { continue };
                let near = |e: &Event| e.kind == *kind && (e.at.secs() - step.t).abs() < 3.0 * step_s;
                if p < LEAST_CONFIDENCE || known.iter().any(near) || out.iter().any(near) {
                    continue;
                }
                out.push(Event {
                    at: Timestamp::saturating(step.t),
                    kind: *kind,
                    place: Some(TablePoint::new(step.place.x, step.place.y)),
                    t_err_s: step.t_err,
                    confidence: Confidence::new(p.min(MOST_DOUBT)),
                });
            }
        }
        out
    }
}
