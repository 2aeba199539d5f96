//! One pool stroke as seen, and the fouls that a camera finds in it (P6.1 to P6.3, P6.5, P6.10, P6.11).

use std::collections::BTreeSet;

use super::facts::{Direction, Seen};
use super::pool::Start;
use super::sheet::Foul;
use crate::ball::Ball;
use crate::rules::seat::Seat;
use crate::rules::setup::Tolerances;
use crate::space::TablePoint;
use crate::table::{Pocket, Rail};

/// What happened in a stroke.
#[derive(Debug, Clone)]
pub(super) struct Stroke {
    pub by: Seat,
    pub ball: Ball,
    pub start_t: f64,
    pub dir: Option<Direction>,
    pub cut_deg: Option<f64>,
    pub elevation_deg: Option<f64>,
    pub from: Option<TablePoint>,
    /// Contacts of the cue ball: time, object ball.
    pub contacts: Vec<(f64, Ball)>,
    /// Touches of rails: time, ball, rail, whether it lay on it when the stroke began.
    pub rails: Vec<(f64, Ball, Rail, bool)>,
    pub left_rail: Vec<(Ball, Rail)>,
    /// When the cue ball first crossed the head string toward the foot.
    pub crossed_t: Option<f64>,
    pub pocketed: Vec<(Ball, Pocket)>,
    pub off_table: BTreeSet<Ball>,
    /// The cue ball touched a ball that is already in a pocket (P8.3.f).
    pub met_pocketed: bool,
    pub replay: bool,
}

impl Stroke {
    pub fn new(by: Seat, ball: Ball, start_t: f64, dir: Option<Direction>, cut_deg: Option<f64>) -> Self {
        Self {
            by,
            ball,
            start_t,
            dir,
            cut_deg,
            elevation_deg: None,
            from: None,
            contacts: Vec::new(),
            rails: Vec::new(),
            left_rail: Vec::new(),
            crossed_t: None,
            pocketed: Vec::new(),
            off_table: BTreeSet::new(),
            met_pocketed: false,
            replay: false,
        }
    }

    pub fn take(&mut self, t: f64, seen: &Seen) {
        match seen {
            Seen::BallBall { a, b, .. } => match (**a, **b) {
                (Ball::Cue, other) | (other, Ball::Cue) => self.contacts.push((t, other)),
                _ => {}
            },
            Seen::Rail { ball, rail, at_start, .. } => self.rails.push((t, **ball, **rail, *at_start)),
            Seen::RailTop { ball, rail } => self.rails.push((t, **ball, **rail, false)),
            Seen::LeavesRail { ball, rail } => self.left_rail.push((**ball, **rail)),
            Seen::LineCross { ball, line, to } if line == "head_string" && **ball == Ball::Cue => {
                if to.as_deref() != Some("head") {
                    self.crossed_t = self.crossed_t.or(Some(t));
                }
            }
            Seen::OffTable { ball } | Seen::Frame { ball } => {
                self.off_table.insert(**ball);
            }
            Seen::BallRest { ball, on, .. } if on.as_deref() == Some("rail_top") => {
                self.off_table.insert(**ball);
            }
            Seen::BallTouchesPocketed { a, .. } => self.met_pocketed |= **a == Ball::Cue,
            _ => {}
        }
    }
}

/// What the camera found in a stroke.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub rules: Vec<&'static str>,
    pub scratch: bool,
    /// A legal and an illegal ball were met too close together to call (P6.2).
    pub split_hit: bool,
}

/// The fouls of a finished stroke. `behind_string`: the cue ball was in hand behind the head string; `placed_wrong`: it was not
/// played from behind it; `is_behind`: whether a ball lay behind it.
pub(super) fn camera_fouls(
    stroke: &Stroke,
    start: &Start,
    tolerances: &Tolerances,
    behind_string: bool,
    placed_wrong: bool,
    is_behind: impl Fn(Ball) -> bool,
) -> Found {
    let mut found = Found::default();
    let cue_pocketed = stroke.met_pocketed || stroke.pocketed.iter().any(|(b, _)| *b == Ball::Cue);
    found.scratch = cue_pocketed;
    if cue_pocketed || stroke.off_table.contains(&Ball::Cue) {
        found.rules.push("P6.1");
    }
    if stroke.off_table.iter().any(|b| *b != Ball::Cue) {
        found.rules.push("P6.5");
    }
    if stroke.ball != Ball::Cue {
        // An object ball struck with the tip is a touched ball (P8.7); nothing more can be asked of the stroke.
        return found;
    }
    let frozen = |ball: Ball| {
        // The shooter's own word does not make a ball frozen (P6.7.f).
        let declared = |f: &super::pool::BallFrozen| {
            let pair = [*f.a, *f.b];
            pair.contains(&Ball::Cue) && pair.contains(&ball) && f.by != stroke.by.to_string()
        };
        start.declared_frozen.iter().any(declared)
    };
    // Playing away from a touching ball is no contact with it (P6.7.g).
    let away = matches!(stroke.dir, Some(Direction::Away | Direction::Parallel));
    let counts = |&&(t, ball): &&(f64, Ball)| !(away && frozen(ball) && t - stroke.start_t <= tolerances.simul_window_s);
    let contacts: Vec<(f64, Ball)> = stroke.contacts.iter().filter(counts).copied().collect();
    let cfg = &start.game_cfg;
    if let Some(&(t, first)) = contacts.first()
        && !cfg.may_be_first(first)
    {
        let legal_too = |&(u, b): &(f64, Ball)| u - t <= tolerances.simul_window_s && cfg.may_be_first(b);
        // Too close to call is the shooter's benefit; a ball that was touching all along is no such case.
        if contacts.iter().any(legal_too) && !frozen(first) {
            found.split_hit = true;
        } else {
            found.rules.push("P6.2");
        }
    } else if let Some(&(t, first)) = contacts.first() {
        let other = |&(u, b): &(f64, Ball)| b != first && u - t <= tolerances.simul_window_s && !cfg.may_be_first(b);
        found.split_hit = contacts.iter().any(other);
    }
    if behind_string && placed_wrong {
        found.rules.push("P6.10");
    }
    let mut unplayed = false;
    if behind_string && !placed_wrong {
        let crossed_before = |t: f64| stroke.crossed_t.is_some_and(|c| c <= t);
        match contacts.first() {
            Some(&(t, ball)) if is_behind(ball) && !crossed_before(t) => found.rules.push("P6.11.a"),
            None if stroke.crossed_t.is_none() => {
                unplayed = true;
                found.rules.push("P6.11.b");
            }
            _ => {}
        }
    }
    if !unplayed && !any_driven(stroke, start, contacts.first().map(|c| c.0)) {
        found.rules.push("P6.3");
    }
    found
}

/// Whether, after the first contact, anything was pocketed or driven to a rail (P6.3, P8.4).
fn any_driven(stroke: &Stroke, start: &Start, first_t: Option<f64>) -> bool {
    // Pocketed or off the table counts as driven (P8.4.d).
    if !stroke.pocketed.is_empty() || !stroke.off_table.is_empty() || stroke.met_pocketed {
        return true;
    }
    let Some(first_t) = first_t else { return false };
    stroke.rails.iter().any(|&(t, ball, rail, at_start)| {
        let declared = start.declared_rail_frozen.iter().any(|f| *f.ball == ball && *f.rail == rail);
        let left = stroke.left_rail.contains(&(ball, rail));
        // A ball declared on a rail counts there only when it left and came back (P8.4.b, c).
        t >= first_t && !(at_start && declared && !left)
    })
}

/// Sorts fouls by gravity, then in the order of the rules (P6.0.b).
pub(super) fn in_order(foul: &Foul) -> (bool, Vec<u32>, String) {
    let numbers = foul.rule.trim_start_matches('P').split('.').map(|part| part.parse().unwrap_or(u32::MAX));
    (foul.severity != "serious", numbers.collect(), foul.rule.clone())
}

