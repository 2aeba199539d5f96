//! How a pool desk starts: the layout, the game's switches, what was declared before.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::ball::Ball;
use crate::rules::desk::facts::{Named, Places};
use crate::rules::seat::Seat;
use crate::table::{Pocket, Rail};

/// What a game adds to the general rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[allow(missing_docs)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a game, each independent")]
pub struct GameConfig {
    /// `"all"` or a list of clauses.
    #[serde(default)]
    pub fouls_in_force: Value,
    /// `"any"` or a list of balls.
    #[serde(default)]
    pub legal_first: Value,
    pub scored_by: Option<String>,
    #[serde(default)]
    pub three_foul_rule: bool,
    #[serde(default)]
    pub call_shot: bool,
    #[serde(default)]
    pub spot_after_safety: bool,
    #[serde(default)]
    pub spot_off_table: bool,
    #[serde(default)]
    pub push_out: bool,
    pub stalemate: Option<String>,
    #[serde(default)]
    pub overrides: BTreeMap<String, String>,
}

impl GameConfig {
    /// Whether the game has adopted this foul (P6.0.a) and not switched it off (P1.0.a).
    pub fn in_force(&self, rule: &str) -> bool {
        let covers = |clause: &str| rule == clause || rule.strip_prefix(clause).is_some_and(|rest| rest.starts_with('.'));
        let listed = match &self.fouls_in_force {
            Value::Array(list) => list.iter().any(|c| c.as_str().is_some_and(covers)),
            _ => true,
        };
        listed && !self.overrides.iter().any(|(c, v)| v == "off" && covers(c))
    }

    /// Whether `ball` may be met first (P6.2).
    pub fn may_be_first(&self, ball: Ball) -> bool {
        match &self.legal_first {
            Value::Array(list) => list.iter().any(|b| match b {
                Value::String(s) => *s == ball.to_string(),
                Value::Number(n) => n.as_u64().is_some_and(|n| n.to_string() == ball.to_string()),
                _ => false,
            }),
            _ => true,
        }
    }
}

/// A declared contact of a ball with a rail.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct RailFrozen {
    pub ball: Named<Ball>,
    pub rail: Named<Rail>,
}

/// A declared contact of two balls (P6.7.f).
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct BallFrozen {
    pub a: Named<Ball>,
    pub b: Named<Ball>,
    pub by: String,
}

/// A shot that needs no call (P1.6.d).
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Obvious {
    pub ball: Named<Ball>,
    pub pocket: Named<Pocket>,
}

/// A foul called and protested against.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct PendingFoul {
    pub rule: String,
    pub by: Named<Seat>,
}

/// How racks make sets and sets a match (P8.9).
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Format {
    pub sets_to_win: u32,
    pub racks_per_set: u32,
}

/// The stroke before.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Previous {
    #[serde(default)]
    pub push_out: bool,
}

/// How a pool desk starts, as written in a case.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Start {
    pub shooter: Named<Seat>,
    pub authority: Option<String>,
    #[serde(default)]
    pub game_cfg: GameConfig,
    #[serde(default)]
    pub balls: Places,
    pub in_hand: Option<String>,
    #[serde(default)]
    pub to_spot: Vec<Named<Ball>>,
    #[serde(default)]
    pub fouls_in_row: BTreeMap<Named<Seat>, u32>,
    #[serde(default)]
    pub warned: BTreeMap<Named<Seat>, bool>,
    #[serde(default)]
    pub declared_rail_frozen: Vec<RailFrozen>,
    #[serde(default)]
    pub declared_frozen: Vec<BallFrozen>,
    #[serde(default)]
    pub gap_to: BTreeMap<Named<Ball>, f64>,
    pub obvious: Option<Obvious>,
    #[serde(default)]
    pub racks: BTreeMap<Named<Seat>, u32>,
    #[serde(default)]
    pub sets: BTreeMap<Named<Seat>, u32>,
    pub race_to: Option<u32>,
    pub format: Option<Format>,
    pub shot_limit_s: Option<f64>,
    pub pending_foul: Option<PendingFoul>,
    pub rack_template: Option<String>,
    #[serde(default)]
    pub suspended: bool,
    pub previous: Option<Previous>,
}
