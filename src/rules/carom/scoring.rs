//! Scoring in carom: how many rails the cue ball touched before it first met the second object ball.
//!
//! The four patterns of C4.1 are one test: rail touches before the first contact with the second distinct object ball. One
//! number separates the games: three for three-cushion, one for one-cushion, none for straight rail and balkline.
//!
//! Doubt. A point in doubt is not given and a foul in doubt is not called, so whatever is unsure goes to review (see
//! [`crate::rules::doubt`]). Two cases need care:
//!
//! - **C4.3**, last rail and second ball at once. The eye's moment is `simul_window_s`. With the rail seen first but within
//!   the window, or so near to it that the time errors reach into it, [`TieRuling`] decides between the clause's "no point"
//!   and review. Review is the camera's default: it may see an order that no eye sees, and a confident "no point" would then
//!   rest on a convention, not on what happened.
//! - **Balls not seen to stop** (C4.10). A point is pending, so review. A miss is ruled only when it can no longer become a
//!   point: the second object ball was met with too few rails.

use crate::ball::Ball;
use crate::events::{Event, EventKind, ShotFlag};
use crate::rules::doubt::{self, Doubt, Weighed, normal_tail};
use crate::rules::reason::{Miss, Reason, Touch, Unclear};
use crate::rules::ruling::Decision;
use crate::rules::setup::{Profile, TieRuling};
use crate::rules::stroke::Stroke;
use crate::units::Confidence;

/// What makes a stroke score in one game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// Rails before the first contact with the second object ball.
    pub rails_needed: u8,
    /// Whether the red must be met before anything else: the serve (C3.7).
    pub red_first: bool,
    /// C4.3: last needed rail and second ball no further apart than this are simultaneous, seconds.
    pub window_s: f64,
    /// What a tie leads to.
    pub tie: TieRuling,
    /// Branches less likely than this are not asked.
    pub review_probability: f64,
}

impl Scoring {
    /// The scoring of a game that needs `rails_needed` rails, by `profile`.
    pub fn new(rails_needed: u8, profile: &Profile) -> Self {
        Self {
            rails_needed,
            red_first: false,
            window_s: profile.tolerances.simul_window_s,
            tie: profile.tie,
            review_probability: profile.tolerances.review_probability,
        }
    }

    /// The same on the serve.
    #[must_use]
    pub fn on_serve(self) -> Self {
        Self { red_first: true, ..self }
    }
}

/// What the stroke alone says, whoever played it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// Point, no point, foul or review.
    pub decision: Decision,
    /// The clauses, most specific first.
    pub clauses: Vec<&'static str>,
    /// Probability that the likeliest decision is right.
    pub confidence: Confidence,
    /// Events in doubt: indices into the stroke's events.
    pub doubtful: Vec<usize>,
    /// Why.
    pub reason: Reason,
    /// Whether a rail was met before any ball.
    pub rail_first: bool,
    /// Rails touched before the first contact with the second object ball; `None` when it was never met.
    pub rails_before_second: Option<u8>,
}

impl Assessment {
    fn review(clauses: &[&'static str], unclear: Unclear) -> Self {
        Self {
            decision: Decision::Review,
            clauses: clauses.to_vec(),
            confidence: Confidence::NONE,
            doubtful: Vec::new(),
            reason: Reason::Unclear(unclear),
            rail_first: false,
            rails_before_second: None,
        }
    }
}

/// The verdict on one sequence of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Scored,
    Missed(Cause),
    /// C4.3 applies: the last rail needed and the second ball, as event indices.
    Tie(usize, usize),
    /// A ball left the table: event index.
    Jump(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    NoBall,
    OneBall(Ball),
    FewRails,
    ServeNotRedFirst,
}

impl Verdict {
    fn decision(self, tie: TieRuling) -> Decision {
        match self {
            Self::Scored => Decision::Point,
            Self::Missed(_) => Decision::NoPoint,
            Self::Tie(..) if tie == TieRuling::NoPoint => Decision::NoPoint,
            Self::Tie(..) => Decision::Review,
            Self::Jump(_) => Decision::Foul,
        }
    }
}

/// What one walk along the cue ball's way found.
#[derive(Debug, Clone, Copy, Default)]
struct Way {
    rails: u8,
    rails_before_first: u8,
    first: Option<Ball>,
    /// Event index of the first thing met.
    first_met: Option<usize>,
    /// Event index of the contact with the second distinct object ball.
    second: Option<usize>,
    /// Event index of the last rail needed.
    last_needed: Option<usize>,
    jump: Option<usize>,
}

/// Walks along the cue ball's way up to the second object ball; ball contacts and rails after it cannot matter.
fn walk(events: &[Event], sequence: &[usize], cue: Ball, needed: u8) -> Way {
    let mut way = Way::default();
    for &i in sequence {
        match events[i].kind {
            EventKind::OffTable { .. } => way.jump = way.jump.or(Some(i)),
            EventKind::Rail { ball, .. } if ball == cue && way.second.is_none() => {
                way.rails = way.rails.saturating_add(1);
                way.first_met = way.first_met.or(Some(i));
                if way.rails == needed {
                    way.last_needed = Some(i);
                }
            }
            kind => {
                let Some(met) = kind.other(cue).filter(|_| way.second.is_none()) else {
                    continue;
                };
                way.first_met = way.first_met.or(Some(i));
                match way.first {
                    None => {
                        way.first = Some(met);
                        way.rails_before_first = way.rails;
                    }
                    Some(first) if first != met => way.second = Some(i),
                    Some(_) => {}
                }
            }
        }
    }
    way
}

fn verdict(events: &[Event], way: &Way, rules: &Scoring) -> Verdict {
    if let Some(i) = way.jump {
        return Verdict::Jump(i);
    }
    let Some(first) = way.first else {
        return Verdict::Missed(Cause::NoBall);
    };
    if rules.red_first && (first != Ball::Red || way.rails_before_first > 0) {
        return Verdict::Missed(Cause::ServeNotRedFirst);
    }
    let Some(second) = way.second else {
        return Verdict::Missed(Cause::OneBall(first));
    };
    if way.rails < rules.rails_needed {
        return Verdict::Missed(Cause::FewRails);
    }
    match way.last_needed {
        Some(rail) if events[second].at.since(events[rail].at) <= rules.window_s => Verdict::Tie(rail, second),
        _ => Verdict::Scored,
    }
}

/// Rules on a stroke by what was seen of it, with the doubt test. Knows nothing of turns and scores.
pub fn assess(stroke: &Stroke, rules: &Scoring) -> Assessment {
    let Some(cue) = stroke.cue_ball else {
        return Assessment::review(&["C4.2"], Unclear::StrikeUnseen);
    };
    for flag in [ShotFlag::StartsBeforeRecording, ShotFlag::Cut, ShotFlag::CameraMoved] {
        if stroke.has(flag) {
            return Assessment::review(&["C4.2"], Unclear::Missing(flag));
        }
    }
    let mut strikes = stroke.strikes();
    let strike = strikes.next();
    if let Some(again) = strikes.next() {
        let mut review = Assessment::review(&["C6.3.a", "C6.3.h"], Unclear::TwoStrikes);
        review.doubtful = strike.into_iter().chain([again]).collect();
        return review;
    }
    if let Some(i) = strike.filter(|&i| 1.0 - stroke.events[i].confidence.get() > rules.review_probability) {
        let mut review = Assessment::review(&["C4.2"], Unclear::StrikeUnseen);
        review.doubtful.push(i);
        return review;
    }

    let events = &stroke.events;
    let weighed = weigh(stroke, cue, rules);
    let way = walk(events, &likeliest(events), cue, rules.rails_needed);
    let mut found = Assessment {
        rail_first: way.rails_before_first > 0,
        rails_before_second: way.second.map(|_| way.rails),
        confidence: weighed.confidence,
        ..conclude(stroke, cue, weighed.verdict, &way, rules)
    };
    if let Some(&worst) = weighed.dissents.first().and_then(|d| d.doubts.first()) {
        let (clause, unclear) = match worst {
            Doubt::Event(i) => ("C4.4", unclear_event(&events[i])),
            Doubt::Order(i, j) => ("C4.3", unclear_order(&events[i], &events[j])),
        };
        let mut doubtful: Vec<usize> = weighed
            .dissents
            .iter()
            .flat_map(|d| &d.doubts)
            .flat_map(|&d| named(d))
            .flatten()
            .collect();
        doubtful.sort_unstable();
        doubtful.dedup();
        return Assessment {
            decision: Decision::Review,
            clauses: vec![clause, "C4.2"],
            doubtful,
            reason: Reason::Unclear(unclear),
            ..found
        };
    }
    let decided = match weighed.verdict {
        Verdict::Jump(i) => Some(i),
        Verdict::Missed(Cause::ServeNotRedFirst) => way.first_met,
        _ => way.second,
    };
    if let Some(unclear) = what_is_missing(stroke, found.decision, decided) {
        found.clauses = if unclear == Unclear::Pending {
            vec!["C4.10"]
        } else {
            vec!["C4.2"]
        };
        found.decision = Decision::Review;
        found.reason = Reason::Unclear(unclear);
    }
    found
}

/// The doubt test for a carom stroke.
fn weigh(stroke: &Stroke, cue: Ball, rules: &Scoring) -> Weighed<Verdict> {
    let events = &stroke.events;
    let touches_cue = |kind: EventKind| match kind {
        EventKind::OffTable { .. } => true,
        EventKind::Rail { ball, .. } => ball == cue,
        EventKind::BallBall { .. } => kind.other(cue).is_some(),
        EventKind::CueStrike { .. } | EventKind::Pocket { .. } | EventKind::Rest { .. } => false,
    };
    // A ball off the table is a foul whenever it happens; two rails, or two contacts with one ball, can change places freely.
    let off = |kind: EventKind| matches!(kind, EventKind::OffTable { .. });
    let order_matters = |p: EventKind, q: EventKind| !off(p) && !off(q) && p.other(cue) != q.other(cue);
    let mut weighed = doubt::weigh(
        stroke,
        rules.review_probability,
        touches_cue,
        order_matters,
        |sequence| verdict(events, &walk(events, sequence, cue, rules.rails_needed), rules),
        |a, b| a.decision(rules.tie) == b.decision(rules.tie),
    );
    // C4.3 asks for more than the order: the time errors may reach into the window, or out of it.
    if let Some(dissent) = window_doubt(stroke, cue, weighed.verdict, rules) {
        weighed.confidence = Confidence::new(weighed.confidence.get() - dissent.probability);
        weighed.dissents.insert(0, dissent);
    }
    weighed
}

/// The chance that C4.3 applies to a point, or does not apply to a tie ruled no point.
fn window_doubt(stroke: &Stroke, cue: Ball, found: Verdict, rules: &Scoring) -> Option<doubt::Dissent> {
    let events = &stroke.events;
    let (rail, second, gap_sign) = match found {
        Verdict::Scored => {
            let way = walk(events, &likeliest(events), cue, rules.rails_needed);
            (way.last_needed?, way.second?, 1.0)
        }
        Verdict::Tie(rail, second) if rules.tie == TieRuling::NoPoint => (rail, second, -1.0),
        Verdict::Tie(..) | Verdict::Missed(_) | Verdict::Jump(_) => return None,
    };
    let (a, b) = (&events[rail], &events[second]);
    let beyond_s = (b.at.since(a.at) - rules.window_s) * gap_sign;
    let probability = if beyond_s <= 0.0 {
        0.0
    } else {
        normal_tail(beyond_s, a.t_err_s.hypot(b.t_err_s))
    };
    (probability > rules.review_probability).then_some(doubt::Dissent {
        doubts: vec![Doubt::Order(rail, second)],
        probability,
    })
}

/// The decision when nothing speaks against the verdict.
fn conclude(stroke: &Stroke, cue: Ball, verdict: Verdict, way: &Way, rules: &Scoring) -> Assessment {
    let events = &stroke.events;
    let decision = verdict.decision(rules.tie);
    let second = way.second.and_then(|i| events[i].kind.other(cue));
    let (clauses, reason, doubtful) = match verdict {
        Verdict::Scored => (
            vec![pattern(way.rails_before_first, rules)],
            Reason::Scored(touches(events, way, cue)),
            vec![],
        ),
        Verdict::Missed(cause) => {
            let miss = match (cause, second) {
                (Cause::OneBall(ball), _) => Miss::OneBall(ball),
                (Cause::FewRails, Some(second)) => Miss::FewRails {
                    rails: way.rails,
                    needed: rules.rails_needed,
                    second,
                },
                (Cause::NoBall, _) | (Cause::FewRails, None) => Miss::NoBall,
                (Cause::ServeNotRedFirst, _) => Miss::ServeNotRedFirst,
            };
            let clause = if cause == Cause::ServeNotRedFirst { "C3.7" } else { "C6.1" };
            (vec![clause, "C4.13"], Reason::Missed(miss), vec![])
        }
        Verdict::Tie(i, j) if rules.tie == TieRuling::NoPoint => {
            let reason = match (events[i].kind, events[j].kind.other(cue)) {
                (EventKind::Rail { rail, .. }, Some(second)) => Reason::Missed(Miss::Simultaneous { rail, second }),
                _ => Reason::Missed(Miss::NoBall),
            };
            (vec!["C4.3", "C4.13"], reason, vec![])
        }
        Verdict::Tie(i, j) => {
            let unclear = unclear_order(&events[i], &events[j]);
            (vec!["C4.3"], Reason::Unclear(unclear), vec![i, j])
        }
        Verdict::Jump(i) => {
            let ball = match events[i].kind {
                EventKind::OffTable { ball } => ball,
                _ => cue,
            };
            (vec!["C5.12", "C5.13"], Reason::JumpBall(ball), vec![])
        }
    };
    Assessment {
        decision,
        clauses,
        confidence: Confidence::SURE,
        doubtful,
        reason,
        rail_first: false,
        rails_before_second: None,
    }
}

/// The clause of a scoring pattern: by the rails before the first ball.
fn pattern(rails_before_first: u8, rules: &Scoring) -> &'static str {
    match rails_before_first {
        0 => "C4.1.a",
        n if n >= rules.rails_needed => "C4.1.b",
        1 => "C4.1.c",
        _ => "C4.1.d",
    }
}

/// The cue ball's way up to the second object ball, for people.
fn touches(events: &[Event], way: &Way, cue: Ball) -> Vec<Touch> {
    let end = way.second.unwrap_or(events.len());
    let likely = events.iter().take(end + 1).filter(|e| e.is_likely());
    likely
        .filter_map(|e| match e.kind {
            EventKind::Rail { ball, rail } if ball == cue => Some(Touch::Rail(rail)),
            kind => kind.other(cue).map(Touch::Ball),
        })
        .collect()
}

/// Why the decision cannot stand although no single event is in doubt.
fn what_is_missing(stroke: &Stroke, decision: Decision, decided: Option<usize>) -> Option<Unclear> {
    if decision == Decision::Review {
        return None;
    }
    for flag in [ShotFlag::FramesLost, ShotFlag::Occluded] {
        let blind_before = |from| decided.is_none_or(|i| stroke.events[i].at > from);
        if stroke.has(flag) && stroke.blind_from.is_some_and(blind_before) {
            return Some(Unclear::Missing(flag));
        }
    }
    if stroke.has(ShotFlag::EndsBeforeRest) {
        match decision {
            Decision::Point => return Some(Unclear::Pending),
            Decision::NoPoint if decided.is_none() => return Some(Unclear::Unfinished),
            _ => {}
        }
    }
    None
}

/// The events that more likely happened than not.
fn likeliest(events: &[Event]) -> Vec<usize> {
    (0..events.len()).filter(|&i| events[i].is_likely()).collect()
}

fn named(doubt: Doubt) -> [Option<usize>; 2] {
    match doubt {
        Doubt::Event(i) => [Some(i), None],
        Doubt::Order(i, j) => [Some(i), Some(j)],
    }
}

fn unclear_event(e: &Event) -> Unclear {
    Unclear::Event {
        kind: e.kind,
        probability: e.confidence.get(),
    }
}

fn unclear_order(a: &Event, b: &Event) -> Unclear {
    Unclear::Order {
        first: a.kind,
        second: b.kind,
        gap_s: b.at.since(a.at),
        err_s: a.t_err_s.hypot(b.t_err_s),
    }
}
