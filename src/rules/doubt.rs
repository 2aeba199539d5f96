//! The doubt test, in one place: a ruling stands only if it survives everything that may have been otherwise.
//!
//! A stroke is judged as most likely seen, then again
//! - with and without each event that is not certain, and with each pair of such changes at once,
//! - without all events that are not certain together (what made one of them wrong may have made all of them wrong),
//! - with each pair of events swapped whose order is unsure: declared so, or closer than their joint time error.
//!
//! A branch less likely than a limit is not asked. No game handles confidence itself: it judges a plain sequence of events.

use super::stroke::Stroke;
use crate::events::{Event, EventKind};
use crate::units::Confidence;

/// One thing that may have been otherwise. Numbers are indices into the stroke's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// Whether this event happened.
    Event(usize),
    /// Which of these came first.
    Order(usize, usize),
}

/// A branch that leads to another decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Dissent {
    /// The doubts that it hangs on together, the least certain first; never empty.
    pub doubts: Vec<Doubt>,
    /// Its probability.
    pub probability: f64,
}

/// The likeliest verdict and what speaks against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighed<V> {
    /// The verdict on the stroke as most likely seen.
    pub verdict: V,
    /// Probability that the decision is right.
    pub confidence: Confidence,
    /// Every doubt that changes the decision, likeliest first. Empty: the decision stands.
    pub dissents: Vec<Dissent>,
}

/// Most changes considered in pairs. Beyond it only single changes and all absences together are judged, so that a stroke
/// with hundreds of faint events costs no more than a few hundred judgements.
const MOST_PAIRED: usize = 24;

/// Most faint events looked at, the most doubtful first; a real stroke has a handful.
const MOST_FACTORS: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Factor {
    doubt: Doubt,
    /// Probability that it was otherwise than in the likeliest sequence.
    otherwise: f64,
}

/// Weighs the verdict on `stroke`.
///
/// - `relevant`: events that can matter for the verdict; the others are left out of every branch.
/// - `order_matters`: whether the order of two relevant events can matter.
/// - `limit`: branches less likely than this are not asked.
/// - `judge`: the verdict on a sequence of events, given as indices into the stroke's events.
/// - `same`: whether two verdicts are the same decision.
pub fn weigh<V>(
    stroke: &Stroke,
    limit: f64,
    relevant: impl Fn(EventKind) -> bool,
    order_matters: impl Fn(EventKind, EventKind) -> bool,
    mut judge: impl FnMut(&[usize]) -> V,
    same: impl Fn(&V, &V) -> bool,
) -> Weighed<V> {
    let events = &stroke.events;
    let kept: Vec<usize> = (0..events.len())
        .filter(|&i| events[i].confidence.get() > limit && relevant(events[i].kind))
        .collect();
    let likeliest: Vec<usize> = kept.iter().copied().filter(|&i| events[i].is_likely()).collect();
    let verdict = judge(&likeliest);

    let factors = factors(stroke, &kept, limit, &order_matters);
    if factors.is_empty() {
        return Weighed {
            verdict,
            confidence: Confidence::SURE,
            dissents: Vec::new(),
        };
    }

    let mut dissents = Vec::new();
    let mut sequence = Vec::with_capacity(kept.len());
    let mut flips = vec![false; factors.len()];
    for (i, f) in factors.iter().enumerate() {
        branch(events, &kept, &[*f], &mut sequence);
        if !same(&judge(&sequence), &verdict) {
            flips[i] = true;
            dissents.push(Dissent {
                doubts: vec![f.doubt],
                probability: f.otherwise,
            });
        }
    }
    // Pairs of changes neither of which matters alone.
    let quiet: Vec<Factor> = factors
        .iter()
        .zip(&flips)
        .filter(|(_, flip)| !**flip)
        .map(|(f, _)| *f)
        .collect();
    for (i, a) in quiet.iter().take(MOST_PAIRED).enumerate() {
        for b in quiet.iter().take(MOST_PAIRED).skip(i + 1) {
            let probability = a.otherwise * b.otherwise;
            if probability <= limit {
                continue;
            }
            branch(events, &kept, &[*a, *b], &mut sequence);
            if !same(&judge(&sequence), &verdict) {
                // Factors come the most doubtful first.
                let doubts = vec![a.doubt, b.doubt];
                dissents.push(Dissent { doubts, probability });
            }
        }
    }
    // All that is not certain absent at once: as likely as the least doubtful of them, when one cause is behind all.
    let absent: Vec<Factor> = factors
        .iter()
        .copied()
        .filter(|f| matches!(f.doubt, Doubt::Event(i) if events[i].is_likely()))
        .collect();
    if absent.len() > 1 {
        branch(events, &kept, &absent, &mut sequence);
        let least = absent.iter().map(|f| f.otherwise).fold(f64::INFINITY, f64::min);
        if dissents.is_empty() && !same(&judge(&sequence), &verdict) {
            dissents.push(Dissent {
                doubts: absent.iter().map(|f| f.doubt).collect(),
                probability: least,
            });
        }
    }
    dissents.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let against: f64 = dissents.iter().map(|d| d.probability).sum();
    Weighed {
        verdict,
        confidence: Confidence::new(1.0 - against),
        dissents,
    }
}

/// What may have been otherwise, the most doubtful first.
fn factors(stroke: &Stroke, kept: &[usize], limit: f64, order_matters: impl Fn(EventKind, EventKind) -> bool) -> Vec<Factor> {
    let events = &stroke.events;
    let mut all = Vec::new();
    for &i in kept {
        let c = events[i].confidence.get();
        let otherwise = c.min(1.0 - c);
        if otherwise > limit {
            all.push(Factor {
                doubt: Doubt::Event(i),
                otherwise,
            });
        }
    }
    for (n, &i) in kept.iter().enumerate() {
        for &j in &kept[n + 1..] {
            if !order_matters(events[i].kind, events[j].kind) {
                continue;
            }
            let otherwise = declared_swap(stroke, i, j).unwrap_or_else(|| swap_probability(&events[i], &events[j]));
            if otherwise > limit {
                all.push(Factor {
                    doubt: Doubt::Order(i, j),
                    otherwise,
                });
            }
        }
    }
    if all.len() > 1 {
        all.sort_by(|a, b| b.otherwise.total_cmp(&a.otherwise));
        all.truncate(MOST_FACTORS);
    }
    all
}

/// P(j before i) as the event finder declared it; `None` when it did not.
fn declared_swap(stroke: &Stroke, i: usize, j: usize) -> Option<f64> {
    stroke.unsure_orders.iter().find_map(|&(a, b, p)| match (a, b) {
        _ if (a, b) == (i, j) => Some(1.0 - p.get()),
        _ if (a, b) == (j, i) => Some(p.get()),
        _ => None,
    })
}

/// P(`later` came first): the times are normal about their estimates and independent. `earlier.at <= later.at`.
fn swap_probability(earlier: &Event, later: &Event) -> f64 {
    normal_tail(later.at.since(earlier.at), earlier.t_err_s.hypot(later.t_err_s))
}

/// The sequence of indices with `changes` made to the likeliest one.
fn branch(events: &[Event], kept: &[usize], changes: &[Factor], sequence: &mut Vec<usize>) {
    let toggled = |i: usize| changes.iter().any(|f| f.doubt == Doubt::Event(i));
    sequence.clear();
    sequence.extend(kept.iter().copied().filter(|&i| events[i].is_likely() != toggled(i)));
    for change in changes {
        let Doubt::Order(i, j) = change.doubt else { continue };
        let place = |k: usize, sequence: &[usize]| sequence.iter().position(|&x| x == k);
        if let (Some(a), Some(b)) = (place(i, sequence), place(j, sequence)) {
            // The later of the two goes just before the earlier one.
            let (first, last) = (a.min(b), a.max(b));
            sequence[first..=last].rotate_right(1);
        }
    }
}

/// P(X > `x`) of a normal value with mean 0 and standard deviation `sigma`; a step function when `sigma` is 0.
///
/// Abramowitz and Stegun 26.2.17, absolute error under 7.5e-8: far below any limit used here.
pub(crate) fn normal_tail(x: f64, sigma: f64) -> f64 {
    if sigma.is_nan() || sigma <= 0.0 {
        return if x > 0.0 || (x == 0.0 && sigma == 0.0) { 0.0 } else { 1.0 };
    }
    let z = x / sigma;
    if z < 0.0 {
        return 1.0 - normal_tail(-x, sigma);
    }
    if z > 8.0 {
        return 0.0;
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_the_normal_curve() {
        // Values from any table of the standard normal distribution.
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.158_655),
            (2.0, 0.022_750),
            (3.0, 0.001_350),
            (-1.0, 0.841_345),
        ] {
            assert!((normal_tail(z * 0.004, 0.004) - p).abs() < 1e-6, "z = {z}");
        }
        assert!(
            (normal_tail(0.001, 0.0), normal_tail(-0.001, 0.0)) == (0.0, 1.0),
            "no error: a step"
        );
    }
}
