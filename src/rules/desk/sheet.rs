//! What a desk answers: one field for each thing that can be asked of it, with its JSON form.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// A foul called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Foul {
    /// The most specific clause.
    pub rule: String,
    /// The offender.
    pub by: String,
    /// `standard` or `serious`.
    pub severity: &'static str,
}

impl Foul {
    /// A standard foul.
    pub fn standard(rule: &str, by: impl ToString) -> Self {
        Self {
            rule: rule.to_owned(),
            by: by.to_string(),
            severity: "standard",
        }
    }

    /// A serious foul.
    pub fn serious(rule: &str, by: impl ToString) -> Self {
        Self {
            severity: "serious",
            ..Self::standard(rule, by)
        }
    }
}

/// A sanction on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Sanction {
    pub by: String,
    pub rule: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sanction: Option<String>,
}

/// Balls by name, with their places.
pub type Spots = BTreeMap<String, [f64; 2]>;

/// Where balls go back to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Restore {
    /// To these places.
    To(Spots),
    /// To a layout that is named: `pre_shot`, `before_touch`, `extrapolate_first_touch`.
    Layout(&'static str),
}

impl Default for Restore {
    fn default() -> Self {
        Self::To(Spots::new())
    }
}

/// The answers. A field that a desk does not touch keeps its default, which reads as "nothing of the kind".
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Sheet {
    pub allowed: Value,
    pub answer: Option<bool>,
    pub applies_to: Vec<String>,
    pub award: Option<String>,
    pub balls: Spots,
    pub call_satisfied: Option<bool>,
    pub conduct: Vec<Sanction>,
    pub conduct_flags: Vec<Sanction>,
    pub cue_ball_next: Option<String>,
    pub cue_balls: BTreeMap<String, String>,
    pub effective_foul: Option<String>,
    pub faults: BTreeMap<String, Vec<String>>,
    pub first_to_play: Option<String>,
    pub flag: Option<String>,
    pub flags: Vec<Sanction>,
    pub fouls: Vec<Foul>,
    pub fouls_in_row: BTreeMap<String, u32>,
    pub granted: Option<bool>,
    pub guide: Spots,
    pub ignored_strikes: Vec<f64>,
    pub inning_run: u32,
    pub legal: Option<bool>,
    pub lots: bool,
    #[serde(rename = "match")]
    pub match_: Option<&'static str>,
    pub next: Option<String>,
    pub next_choice: Value,
    pub notices: Vec<Value>,
    pub on_line: Option<bool>,
    pub pending: Option<String>,
    pub phase: Option<&'static str>,
    pub placement: Spots,
    pub pocketed: Vec<String>,
    /// true, false, `pending` or `proposed`.
    pub point: Value,
    pub points: BTreeMap<String, i64>,
    pub prizes: Option<&'static str>,
    pub procedure: Option<String>,
    pub rack: Option<&'static str>,
    pub rail_counts: Option<bool>,
    pub rails_before_second: Option<u8>,
    pub reason: Option<&'static str>,
    pub rejected: Vec<&'static str>,
    pub relag: bool,
    pub replay: Option<bool>,
    pub respot: Spots,
    pub restore: Restore,
    pub ruling: Option<&'static str>,
    pub score: BTreeMap<String, i64>,
    pub scratch: Option<bool>,
    pub serious: bool,
    pub serious_rule: Option<String>,
    pub server: Option<String>,
    pub set: Option<&'static str>,
    pub sets: BTreeMap<String, u32>,
    pub setup_valid: Option<bool>,
    pub severity: Option<&'static str>,
    pub shot_limit_s: Option<f64>,
    pub spotted: Spots,
    pub stalemate: bool,
    pub stays: Vec<String>,
    pub stroke: Option<&'static str>,
    pub stroke_started: Option<bool>,
    pub suggest: Vec<String>,
    pub suspended: Vec<f64>,
    pub turns_completed: BTreeMap<String, u32>,
    pub turns_left: BTreeMap<String, u32>,
    pub verdict: Option<&'static str>,
    pub warmup_next: Option<String>,
    pub warmup_right: BTreeMap<String, bool>,
    pub winner: Option<String>,
    pub winner_rack: Option<String>,
}

impl Sheet {
    /// Adds a hint for the referee once.
    pub fn hint(&mut self, hint: impl Into<String>) {
        let hint = hint.into();
        if !self.suggest.contains(&hint) {
            self.suggest.push(hint);
        }
    }
}
