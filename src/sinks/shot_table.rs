//! The table of shots in the terminal.

use comfy_table::presets::UTF8_NO_BORDERS;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::summary::{Met, Row};
use crate::events::ShotKind;
use crate::rules::{Decision, Ruling};
use crate::units::Timestamp;

/// One line a shot: number, start, cue ball, what the cue ball met, ruling, clause, score.
pub fn table(rows: &[Row]) -> String {
    let mut table = Table::new();
    table
        .load_style(UTF8_NO_BORDERS)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(["#", "start", "cue ball", "what it met", "ruling", "clause", "A : B"]);
    for row in rows {
        table.add_row([
            row.no.to_string(),
            clock(row.start),
            cue_ball(row),
            met(row),
            row.ruling.as_ref().map_or_else(|| "none".to_owned(), ruling),
            row.ruling.as_ref().map(|r| r.clauses.join(" ")).unwrap_or_default(),
            row.ruling
                .as_ref()
                .map(|r| format!("{} : {}", r.score.a, r.score.b))
                .unwrap_or_default(),
        ]);
    }
    for column in [0, 1] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Minutes, seconds and tenths: "2:07.4".
pub fn clock(at: Timestamp) -> String {
    let tenths = (at.secs().max(0.0) * 10.0).floor() as u64;
    format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

fn cue_ball(row: &Row) -> String {
    match (row.cue_ball, row.kind) {
        (Some(ball), _) => ball.to_string(),
        (None, ShotKind::Lag) => "lag".to_owned(),
        (None, _) => "?".to_owned(),
    }
}

/// "red › right › foot › left › yellow"; an event that the ruling doubts bears a question mark.
fn met(row: &Row) -> String {
    let doubtful = |i: &usize| row.ruling.as_ref().is_some_and(|r| r.doubtful_events.contains(i));
    let mut text = row
        .met
        .iter()
        .map(|met| {
            let (i, name) = match met {
                Met::Ball(i, ball) => (i, ball.to_string()),
                Met::Rail(i, rail) => (i, rail.to_string()),
                Met::Pocket(i, pocket) => (i, format!("pocket {pocket}")),
                Met::LeftTable(i) => (i, "off the table".to_owned()),
            };
            format!("{name}{}", if doubtful(i) { "?" } else { "" })
        })
        .collect::<Vec<_>>()
        .join(" › ");
    if text.is_empty() && row.kind != ShotKind::Lag {
        "nothing".clone_into(&mut text);
    }
    let flags = row.flags.iter().map(|flag| format!(" [{}]", flag.name().replace('_', " ")));
    text + &flags.collect::<String>()
}

fn ruling(ruling: &Ruling) -> String {
    match ruling.decision {
        Decision::Point if ruling.points == 1 => "point".to_owned(),
        Decision::Point => format!("{} points", ruling.points),
        Decision::Lag => ruling
            .winner
            .map_or_else(|| "lag again".to_owned(), |ball| format!("{ball} wins the lag")),
        other => other.name().replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sinks::Sink;
    use crate::sinks::result::tests::{a_ruling, a_shot};
    use crate::sinks::summary::Tally;
    use crate::update::Update;

    #[test]
    fn a_shot_is_one_line_that_reads_as_a_sentence() {
        let mut tally = Tally::default();
        let review = Ruling {
            decision: Decision::Review,
            doubtful_events: vec![2],
            ..a_ruling()
        };
        tally.take(&Update::Shot(Arc::new(a_shot()))).unwrap();
        tally.take(&Update::Ruling(Arc::new(review))).unwrap();
        let text = table(tally.rows());
        let line = text.lines().find(|l| l.contains("0:03.2")).unwrap();
        for word in ["1", "white", "yellow › left? [occluded]", "review", "C4.1.a", "1 : 0"] {
            assert!(line.contains(word), "{word} is not in {line}");
        }
    }

    #[test]
    fn times_are_minutes_and_seconds() {
        assert_eq!(clock(Timestamp::saturating(127.46)), "2:07.4");
        assert_eq!(clock(Timestamp::saturating(-0.01)), "0:00.0");
    }
}
