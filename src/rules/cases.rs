//! Executable cases: what was given, what happened, what must follow. One JSON object a line.
//!
//! `{"id", "rule_ids", "game", "profile", "given": {…}, "events": [facts], "expect": {…}}`. Games: `lag_carom`,
//! `three_cushion`, `lag_pool`, `pool_general`. Facts are those of [`super::desk::facts`]. Only the keys present in `expect` are
//! asserted, each against the field of the same name of [`Sheet`]; a key that is none of them is an error, never a pass.
//! `forbidden_output` lists texts that may appear nowhere in the answers. Numbers agree within half a millimetre or
//! millisecond; lists of fouls, hints, refusals and balls are compared without order.

use std::io::{self, BufRead, Write};

use serde::Deserialize;
use serde_json::Value;

use super::desk::carom::CaromDesk;
use super::desk::facts::Fact;
use super::desk::lag::LagDesk;
use super::desk::pool::PoolDesk;
use super::desk::sheet::Sheet;
use super::desk::{carom, lag, pool};
use super::setup::Profile;
use crate::table::Table;

/// How far two numbers may differ: half a millimetre, or half a millisecond.
const WITHIN: f64 = 0.0005;

/// Longest line read, bytes; the longest real case has some four thousand.
const LONGEST_LINE: usize = 1 << 20;

/// What is wrong with a case file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read, or the report not written.
    #[error("line {line}: {source}")]
    Io {
        /// Where.
        line: usize,
        /// Why.
        source: io::Error,
    },
    /// A line is not a case.
    #[error("line {line}: {problem}")]
    Case {
        /// Where.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    game: String,
    profile: String,
    given: Value,
    events: Vec<Value>,
    expect: serde_json::Map<String, Value>,
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The key.
    pub key: String,
    /// What the case says.
    pub expected: Value,
    /// What the engine says.
    pub got: Value,
}

/// Runs all cases; prints each failing one with what was expected and what came, then "N passed, M failed".
/// Returns the numbers of passed and failed cases. Empty lines are skipped.
///
/// # Errors
/// A line that is no case, with its number; nothing after it is run. Reading or writing that fails.
pub fn run_cases(input: impl BufRead, out: &mut impl Write) -> Result<(usize, usize), Error> {
    let (mut passed, mut failed) = (0, 0);
    for (n, text) in input.lines().enumerate() {
        let line = n + 1;
        let io = |source| Error::Io { line, source };
        let text = text.map_err(io)?;
        if text.trim().is_empty() {
            continue;
        }
        let (id, mismatches) = run_case(&text).map_err(|problem| Error::Case { line, problem })?;
        if mismatches.is_empty() {
            passed += 1;
            continue;
        }
        failed += 1;
        writeln!(out, "{id} failed").map_err(io)?;
        for m in &mismatches {
            writeln!(out, "  {}: expected {}, got {}", m.key, m.expected, m.got).map_err(io)?;
        }
    }
    writeln!(out, "{passed} passed, {failed} failed").map_err(|source| Error::Io { line: 0, source })?;
    Ok((passed, failed))
}

/// Runs one case; its id and what was not met.
///
/// # Errors
/// What is wrong with the text, when it is no case.
pub fn run_case(text: &str) -> Result<(String, Vec<Mismatch>), String> {
    if text.len() > LONGEST_LINE {
        return Err(format!("{} bytes; a case has at most {LONGEST_LINE}", text.len()));
    }
    let mut case: Case = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let profile: Profile = case.profile.parse()?;
    if case.game == "lag_pool" {
        rename_lag_balls(&mut case);
    }
    let facts = facts(&case)?;
    let given = |e: serde_json::Error| format!("given: {e}");
    let sheet = match case.game.as_str() {
        "three_cushion" => {
            let start = carom::Start::deserialize(&case.given).map_err(given)?;
            let mut desk = CaromDesk::new(Table::CAROM, profile, start);
            facts.iter().for_each(|f| desk.take(f));
            desk.sheet()
        }
        "lag_carom" | "lag_pool" => {
            let pool = case.game == "lag_pool";
            let start = lag::Start::deserialize(&case.given).map_err(given)?;
            let table = if pool { Table::POOL_9FT } else { Table::CAROM };
            let mut desk = LagDesk::new(table, profile, pool, start);
            facts.iter().for_each(|f| desk.take(f));
            desk.sheet()
        }
        "pool_general" => {
            let start = pool::Start::deserialize(&case.given).map_err(given)?;
            let mut desk = PoolDesk::new(start);
            facts.iter().for_each(|f| desk.take(f));
            desk.sheet()
        }
        other => return Err(format!("'{other}' is not a game of cases")),
    };
    let mismatches = compare(&case, &sheet)?;
    Ok((case.id, mismatches))
}

/// The facts in time order.
fn facts(case: &Case) -> Result<Vec<Fact>, String> {
    let carom = case.game != "pool_general";
    let mut facts: Vec<Fact> = Vec::with_capacity(case.events.len());
    for (n, value) in case.events.iter().enumerate() {
        let fact = Fact::deserialize(value).map_err(|e: serde_json::Error| format!("event {n}: {e}"))?;
        if facts.last().is_some_and(|last| last.t > fact.t) {
            return Err(format!("event {n}: time runs backwards, to {} s", fact.t));
        }
        if let Some(name) = foreign_ball(value, carom) {
            return Err(format!("event {n}: this game has no ball '{name}'"));
        }
        facts.push(fact);
    }
    Ok(facts)
}

/// A ball named in a fact that the game does not have.
fn foreign_ball(fact: &Value, carom: bool) -> Option<String> {
    let names = ["ball", "a", "b"].iter().filter_map(|k| fact.get(*k)?.as_str());
    let is_carom = |name: &str| matches!(name, "white" | "yellow" | "red");
    names.map(str::to_owned).find(|name| is_carom(name) != carom)
}

/// In a pool lag the balls go by names of their own; A's becomes white and B's yellow, in facts and in what is given.
fn rename_lag_balls(case: &mut Case) {
    fn walk(value: &mut Value, names: &[(String, &str)]) {
        let new = |s: &str| names.iter().find(|(old, _)| old == s).map(|(_, new)| (*new).to_owned());
        match value {
            Value::String(s) => *s = new(s).unwrap_or_else(|| s.clone()),
            Value::Array(list) => list.iter_mut().for_each(|v| walk(v, names)),
            Value::Object(map) => {
                for (key, mut inner) in std::mem::take(map) {
                    walk(&mut inner, names);
                    map.insert(new(&key).unwrap_or(key), inner);
                }
            }
            _ => {}
        }
    }
    let name = |seat: &str| case.given.get("lag_balls")?.get(seat)?.as_str().map(str::to_owned);
    let names: Vec<(String, &str)> = [("A", "white"), ("B", "yellow")]
        .into_iter()
        .filter_map(|(seat, ball)| Some((name(seat)?, ball)))
        .collect();
    walk(&mut case.given, &names);
    case.events.iter_mut().for_each(|v| walk(v, &names));
    if let Some(given) = case.given.as_object_mut()
        && let Some(balls) = given.get("lag_balls").cloned()
    {
        given.insert("cue_balls".to_owned(), balls);
    }
}

fn compare(case: &Case, sheet: &Sheet) -> Result<Vec<Mismatch>, String> {
    let answers = serde_json::to_value(sheet).map_err(|e| e.to_string())?;
    let mut mismatches = Vec::new();
    for (key, expected) in &case.expect {
        let got = if key == "forbidden_output" {
            let text = answers.to_string();
            let forbidden = expected.as_array().cloned().unwrap_or_else(|| vec![expected.clone()]);
            let shown = forbidden.into_iter().filter(|f| f.as_str().is_some_and(|f| text.contains(f)));
            let shown: Vec<Value> = shown.collect();
            if shown.is_empty() {
                continue;
            }
            Value::Array(shown)
        } else {
            let got = answers
                .get(key)
                .ok_or_else(|| format!("expect: '{key}' is not something that can be asserted"))?;
            if agrees(key, expected, got) {
                continue;
            }
            got.clone()
        };
        mismatches.push(Mismatch {
            key: key.clone(),
            expected: expected.clone(),
            got,
        });
    }
    Ok(mismatches)
}

/// Whether an answer is what was expected.
fn agrees(key: &str, expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Object(e), Value::Object(g)) => {
            // Places are complete lists of the balls concerned; a tally by player may be asked for one player only.
            let complete = matches!(key, "respot" | "restore" | "spotted" | "placement" | "guide");
            (!complete || e.len() == g.len()) && e.iter().all(|(k, v)| g.get(k).is_some_and(|w| agrees(k, v, w)))
        }
        (Value::Array(e), Value::Array(g)) if matches!(key, "fouls" | "suggest" | "rejected" | "stays" | "pocketed") => {
            e.len() == g.len() && e.iter().all(|v| g.iter().any(|w| agrees("", v, w)))
        }
        (Value::Array(e), Value::Array(g)) => e.len() == g.len() && e.iter().zip(g).all(|(v, w)| agrees("", v, w)),
        (Value::Number(e), Value::Number(g)) => e.as_f64().zip(g.as_f64()).is_some_and(|(e, g)| (e - g).abs() <= WITHIN),
        _ => expected == got,
    }
}
