//! The published files against their JSON Schemas in `docs/schema/`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use cuemark::ball::Ball;
use cuemark::events::{Event, EventKind, Shot, ShotFlag, ShotKind};
use cuemark::rules::{BySeat, Decision, Ruling, Seat, Wording};
use cuemark::sinks::Sink;
use cuemark::sinks::journal::Journal;
use cuemark::sinks::summary::{self, CalibrationNote, Run, Tally, Timings};
use cuemark::sinks::wire::{Header, Players};
use cuemark::space::TablePoint;
use cuemark::table::{POCKETS, RAILS, Table};
use cuemark::units::{Confidence, Timestamp};
use cuemark::update::Update;
use jsonschema::Validator;
use serde_json::Value;

fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
    let schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn holds(schema: &Validator, value: &Value) {
    let errors: Vec<String> = schema
        .iter_errors(value)
        .map(|e| format!("{e} at {}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:?} in {value}");
}

/// A shot with every kind of event, every rail, pocket and flag.
fn everything() -> Shot {
    let ball = Ball::White;
    let kinds = [EventKind::CueStrike { ball }, EventKind::contact(ball, Ball::Red)]
        .into_iter()
        .chain(RAILS.map(|rail| EventKind::Rail { ball, rail }))
        .chain(POCKETS.map(|pocket| EventKind::Pocket { ball, pocket }))
        .chain([EventKind::OffTable { ball: Ball::Yellow }, EventKind::Rest { ball }]);
    let events = kinds.enumerate().map(|(i, kind)| Event {
        at: Timestamp::saturating(i as f64 / 3.0),
        kind,
        place: (i % 2 == 0).then(|| TablePoint::new(0.1, -0.2)),
        t_err_s: 0.001,
        confidence: Confidence::new(0.9),
    });
    let at = Timestamp::saturating;
    let mut shot = Shot::new(1, ShotKind::Serve, at(0.0), at(5.0), Some(ball), events.collect());
    shot.before.insert(ball, TablePoint::new(0.0, 0.0));
    shot.rest.insert(Ball::Red, TablePoint::new(1.0, 0.5));
    shot.unsure_orders.push((1, 2, Confidence::new(0.6)));
    shot.flags = vec![
        ShotFlag::StartsBeforeRecording,
        ShotFlag::EndsBeforeRest,
        ShotFlag::Cut,
        ShotFlag::CameraMoved,
        ShotFlag::FramesLost,
        ShotFlag::Occluded,
    ];
    shot
}

fn rulings() -> Vec<Ruling> {
    let ruling = |decision| Ruling {
        shot: 1,
        decision,
        points: u32::from(decision == Decision::Point),
        clauses: vec!["C4.1.a".into()],
        confidence: Confidence::new(0.97),
        player: Some(Seat::A),
        next_player: Some(Seat::B),
        score: BySeat { a: 1, b: 0 },
        text: Wording {
            en: "Point.".into(),
            ko: "득점".into(),
            ru: "Очко.".into(),
        },
        ..Ruling::default()
    };
    let mut rulings: Vec<Ruling> = [Decision::Point, Decision::NoPoint, Decision::Legal, Decision::Foul]
        .map(ruling)
        .into();
    rulings.push(Ruling {
        winner: Some(Ball::White),
        player: None,
        next_player: None,
        ..ruling(Decision::Lag)
    });
    rulings.push(Ruling {
        winner: None,
        ..ruling(Decision::Lag)
    });
    rulings.push(Ruling {
        doubtful_events: vec![1, 4],
        proposed: true,
        ..ruling(Decision::Review)
    });
    rulings
}

#[test]
fn every_line_that_can_be_written_holds_the_schema() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("match.jsonl");
    let players = Players {
        A: "Kim".into(),
        B: "Lee".into(),
    };
    let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, Some(players));
    let mut journal = Journal::create(&path, header).unwrap();
    let lag = Shot::new(2, ShotKind::Lag, Timestamp::ZERO, Timestamp::ZERO, None, Vec::new());
    for shot in [everything(), lag] {
        journal.take(&Update::Shot(Arc::new(shot))).unwrap();
    }
    for ruling in rulings() {
        journal.take(&Update::Ruling(Arc::new(ruling))).unwrap();
    }
    journal.end(false).unwrap();

    let schema = schema("match.schema.json");
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 1 + 2 + 7 + 1);
    for line in &lines {
        holds(&schema, line);
    }
}

#[test]
fn the_schema_refuses_what_is_not_published() {
    let schema = schema("match.schema.json");
    for wrong in [
        r#"{"type":"end","shots":1}"#,
        r#"{"type":"end","shots":-1,"complete":true}"#,
        r#"{"type":"shot","shot":1,"kind":"break","start_s":0,"end_s":1,"cue_ball":null,"events":[],"before":{},"rest":{},"flags":[]}"#,
        r#"{"type":"shot","shot":1,"kind":"shot","start_s":0,"end_s":1,"cue_ball":"white","before":{},"rest":{},"flags":[],
            "events":[{"t":1,"type":"rail","ball":"white","t_err":0.1,"confidence":1}]}"#,
        r#"{"type":"shot","shot":1,"kind":"shot","start_s":0,"end_s":1,"cue_ball":"white","before":{},"rest":{},"flags":[],
            "events":[{"t":1,"type":"rest","ball":"white","rail":"head","t_err":0.1,"confidence":1}]}"#,
    ] {
        let value: Value = serde_json::from_str(wrong).unwrap();
        assert!(!schema.is_valid(&value), "accepted: {wrong}");
    }
}

#[test]
fn the_summary_holds_its_schema() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("summary.json");
    let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, None);
    let mut tally = Tally::default();
    tally.take(&Update::Shot(Arc::new(everything()))).unwrap();
    tally.take(&Update::Ruling(Arc::new(rulings().remove(0)))).unwrap();
    let run = Run {
        video: "folder/clip.mp4".into(),
        duration_s: 9.05,
        frames: 544,
        complete: true,
        warnings: vec!["a gap".into()],
        calibration: CalibrationNote {
            source: "found in the picture".into(),
            residual_mm: Some(0.4),
        },
        timings: Timings {
            wall_s: 3.0,
            times_real_time: 3.0,
            setup_s: 0.5,
            stages_s: [("capture".to_owned(), 2.0)].into(),
        },
    };
    summary::write(&path, &header, &tally, &run).unwrap();
    let value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    holds(&schema("summary.schema.json"), &value);
    assert_eq!(summary::read_video(&path).unwrap(), "folder/clip.mp4");
}
