//! The lag: who may decide who serves (C2). Judged from one stretch of play with both cue balls.
//!
//! A fault of one player gives the lag to the other; faults of both, or distances that the eye cannot tell apart, mean lag
//! again. Distances are compared with what the eye sees (`lag_eye_m`) and never shown (C2.14).

use crate::ball::Ball;
use crate::events::{Event, EventKind, ShotFlag};
use crate::rules::doubt::{self, Doubt};
use crate::rules::reason::{LagReason, Unclear};
use crate::rules::setup::Profile;
use crate::rules::stroke::Stroke;
use crate::table::Rail;
use crate::units::Confidence;

/// How many standard deviations a distance keeps from the limit of the eye before the camera may say which side of it.
const SURE_SIGMAS: f64 = 3.0;

/// The two balls of a lag, in the order used here.
pub const LAG_BALLS: [Ball; 2] = [Ball::White, Ball::Yellow];

/// The ruling on a lag, by balls; who played which is for the match to say.
#[derive(Debug, Clone, PartialEq)]
pub struct LagAssessment {
    /// Faults of white's and of yellow's player: clauses.
    pub faults: [Vec<&'static str>; 2],
    /// What was decided; `Err` says why nobody can tell.
    pub outcome: Result<LagReason, Unclear>,
    /// Probability that it is right.
    pub confidence: Confidence,
    /// Events in doubt: indices into the stroke's events.
    pub doubtful: Vec<usize>,
}

impl LagAssessment {
    /// The winner's ball; `None`: lag again, or nobody can tell.
    pub fn winner(&self) -> Option<Ball> {
        match self.outcome {
            Ok(LagReason::Nearer(winner) | LagReason::OtherAtFault { winner, .. }) => Some(winner),
            Ok(LagReason::BothAtFault | LagReason::TooCloseForTheEye) | Err(_) => None,
        }
    }

    /// The clauses that it rests on.
    pub fn clauses(&self) -> Vec<&'static str> {
        match &self.outcome {
            Ok(LagReason::OtherAtFault { .. }) => self.faults.iter().flatten().copied().collect(),
            Ok(LagReason::BothAtFault) => std::iter::once("C2.12")
                .chain(self.faults.iter().flatten().copied())
                .collect(),
            Ok(LagReason::TooCloseForTheEye) | Err(Unclear::LagTooClose) => vec!["C2.13"],
            Ok(LagReason::Nearer(_)) | Err(_) => vec!["C2.4"],
        }
    }
}

/// Rules on a lag.
pub fn assess(stroke: &Stroke, profile: &Profile) -> LagAssessment {
    let unclear = |unclear: Unclear, doubtful: Vec<usize>| LagAssessment {
        faults: [Vec::new(), Vec::new()],
        outcome: Err(unclear),
        confidence: Confidence::NONE,
        doubtful,
    };
    let bad = [ShotFlag::StartsBeforeRecording, ShotFlag::Cut, ShotFlag::CameraMoved];
    if let Some(flag) = bad.into_iter().find(|&f| stroke.has(f)) {
        return unclear(Unclear::Missing(flag), vec![]);
    }
    let events = &stroke.events;
    let decide = |sequence: &[usize]| {
        let found = faults(stroke, sequence, profile);
        (outcome(stroke, &found, profile), found)
    };
    let weighed = doubt::weigh(
        stroke,
        profile.tolerances.review_probability,
        |kind| !matches!(kind, EventKind::Rest { .. }),
        order_matters,
        decide,
        |a, b| a.0 == b.0,
    );
    if let Some(&worst) = weighed.dissents.first().and_then(|d| d.doubts.first()) {
        return match worst {
            Doubt::Event(i) => {
                let (kind, probability) = (events[i].kind, events[i].confidence.get());
                unclear(Unclear::Event { kind, probability }, vec![i])
            }
            Doubt::Order(i, j) => {
                let (a, b) = (&events[i], &events[j]);
                let order = Unclear::Order {
                    first: a.kind,
                    second: b.kind,
                    gap_s: b.at.since(a.at),
                    err_s: a.t_err_s.hypot(b.t_err_s),
                };
                unclear(order, vec![i, j])
            }
        };
    }
    let (outcome, found) = weighed.verdict;
    let by_rest = matches!(outcome, Ok(LagReason::Nearer(_) | LagReason::TooCloseForTheEye));
    let missing_foot_rail = found.iter().any(|f| f.contains(&"C2.3"));
    if stroke.has(ShotFlag::EndsBeforeRest) && (by_rest || missing_foot_rail) {
        return unclear(Unclear::Missing(ShotFlag::EndsBeforeRest), vec![]);
    }
    LagAssessment {
        faults: found,
        outcome,
        confidence: weighed.confidence,
        doubtful: Vec::new(),
    }
}

/// Orders that a fault can hang on: a strike against the other's foot rail (C2.5), two rails of one ball (C2.6, C2.16), and the
/// rails around a collision.
fn order_matters(p: EventKind, q: EventKind) -> bool {
    match (p, q) {
        (EventKind::CueStrike { ball: a }, EventKind::Rail { ball: b, .. })
        | (EventKind::Rail { ball: b, .. }, EventKind::CueStrike { ball: a }) => a != b,
        (EventKind::Rail { ball: a, rail: r }, EventKind::Rail { ball: b, rail: s }) => a == b && r != s,
        _ => false,
    }
}

/// Faults of white and of yellow in a sequence of events.
fn faults(stroke: &Stroke, sequence: &[usize], profile: &Profile) -> [Vec<&'static str>; 2] {
    LAG_BALLS.map(|ball| {
        let other = if ball == Ball::White { Ball::Yellow } else { Ball::White };
        let mut found = Vec::new();
        let happened = || sequence.iter().map(|&i| &stroke.events[i]);
        let foot = |b: Ball| EventKind::Rail {
            ball: b,
            rail: Rail::Foot,
        };
        let first_at = |kind: EventKind| happened().find(|e| e.kind == kind).map(|e| e.at);

        if let (Some(struck), Some(touched)) = (first_at(EventKind::CueStrike { ball }), first_at(foot(other)))
            && struck.since(touched) > profile.tolerances.simul_window_s
        {
            found.push("C2.5");
        }
        let rails: Vec<Rail> = happened()
            .filter_map(|e| match e.kind {
                EventKind::Rail { ball: b, rail } if b == ball => Some(rail),
                _ => None,
            })
            .collect();
        let first_foot = rails.iter().position(|&r| r == Rail::Foot);
        match first_foot {
            Some(0) => {}
            _ if !rails.is_empty() => found.push("C2.6"),
            _ => found.push("C2.3"),
        }
        if first_foot.is_none() && !rails.is_empty() {
            found.push("C2.3");
        }
        if rails.iter().filter(|&&r| r == Rail::Foot).count() > 1 {
            found.push("C2.10");
        }
        let side = |r: &Rail| matches!(r, Rail::Left | Rail::Right);
        if profile.lag_side_rail_is_fault && first_foot.is_some_and(|n| rails[n..].iter().any(side)) {
            found.push("C2.16.k");
        }
        if happened().any(|e| e.kind == EventKind::contact(ball, Ball::Red)) {
            found.push("C2.11");
        }
        if happened().any(|e| e.kind == (EventKind::OffTable { ball })) {
            found.push("C2.9");
        }
        if collision(stroke, sequence).is_some_and(|hit| crossed_before(stroke, ball, hit)) {
            found.push("C2.8");
        }
        found
    })
}

fn collision<'a>(stroke: &'a Stroke, sequence: &[usize]) -> Option<&'a Event> {
    let hit = EventKind::contact(Ball::White, Ball::Yellow);
    sequence.iter().map(|&i| &stroke.events[i]).find(|e| e.kind == hit)
}

/// Whether the ball lay beyond the long string at the collision; being knocked across afterwards does not count.
fn crossed_before(stroke: &Stroke, ball: Ball, hit: &Event) -> bool {
    stroke.crossings.iter().filter(|c| c.ball == ball && c.at <= hit.at).count() % 2 == 1
}

/// What follows from the faults and the places of rest.
fn outcome(stroke: &Stroke, faults: &[Vec<&'static str>; 2], profile: &Profile) -> Result<LagReason, Unclear> {
    let [white, yellow] = LAG_BALLS;
    match (faults[0].is_empty(), faults[1].is_empty()) {
        (false, false) => return Ok(LagReason::BothAtFault),
        (false, true) => {
            return Ok(LagReason::OtherAtFault {
                winner: yellow,
                loser: white,
            });
        }
        (true, false) => {
            return Ok(LagReason::OtherAtFault {
                winner: white,
                loser: yellow,
            });
        }
        (true, true) => {}
    }
    // A collision without a crosser leaves nobody to blame and no fair distance: lag again (C2.8).
    let hit = EventKind::contact(white, yellow);
    if stroke.events.iter().any(|e| e.kind == hit && e.is_likely()) {
        return Ok(LagReason::TooCloseForTheEye);
    }
    let distance = |ball| {
        let found = stroke.head_distance.iter().find(|(b, _)| *b == ball);
        found.map(|(_, d)| *d).ok_or(Unclear::LagRestUnseen(ball))
    };
    let (w, y) = (distance(white)?, distance(yellow)?);
    let (lead_m, sigma_m) = (y.distance_m - w.distance_m, w.sigma_m.hypot(y.sigma_m));
    let eye_m = profile.tolerances.lag_eye_m;
    if (lead_m.abs() - eye_m).abs() < SURE_SIGMAS * sigma_m {
        return Err(Unclear::LagTooClose);
    }
    Ok(if lead_m.abs() < eye_m {
        LagReason::TooCloseForTheEye
    } else if lead_m > 0.0 {
        LagReason::Nearer(white)
    } else {
        LagReason::Nearer(yellow)
    })
}
