//! Reads a result folder back: what was seen and ruled, for whoever draws or rules on it again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::wire::{Header, Line};
use super::{Error, folder, trajectories};
use crate::events::Shot;
use crate::rules::Ruling;

/// A match as it was analysed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// What was analysed.
    pub header: Header,
    /// Shots in time order, with their paths.
    pub shots: Vec<Shot>,
    /// The ruling that counts, by shot.
    pub rulings: BTreeMap<u32, Ruling>,
}

/// Reads `match.jsonl` and `trajectories.parquet` in `dir`. Kinds of lines that are not known are skipped.
///
/// # Errors
/// When a file is missing or not of cuemark.
pub fn read(dir: &Path) -> Result<Recorded, Error> {
    let mut recorded = read_match(&dir.join(folder::MATCH))?;
    let numbers: BTreeMap<u32, usize> = recorded.shots.iter().enumerate().map(|(i, s)| (s.no, i)).collect();
    trajectories::read(&dir.join(folder::TRAJECTORIES), |no, ball, sample| {
        if let Some(&i) = numbers.get(&no) {
            recorded.shots[i].paths.entry(ball).or_default().push(sample);
        }
    })?;
    Ok(recorded)
}

/// Reads `match.jsonl` alone; the shots have no paths.
///
/// # Errors
/// When the file is missing or not of cuemark.
pub fn read_match(path: &Path) -> Result<Recorded, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let not_a_match = |line, reason| Error::NotAMatch {
        path: path.to_owned(),
        line,
        reason,
    };
    let mut header = None;
    let (mut shots, mut rulings) = (Vec::new(), BTreeMap::new());
    for (i, text) in BufReader::new(File::open(path).map_err(failed)?).lines().enumerate() {
        let line: Line = serde_json::from_str(&text.map_err(failed)?).map_err(|e| not_a_match(i + 1, e.to_string()))?;
        match line {
            Line::Header(h) if i == 0 => header = Some(h),
            _ if header.is_none() => return Err(not_a_match(1, "the first line is not a header".into())),
            Line::Shot(line) => shots.push(line.to_shot()),
            Line::Ruling(line) => {
                rulings.insert(line.shot, line.to_ruling());
            }
            Line::Header(_) | Line::End(_) | Line::Unknown => {}
        }
    }
    let header = header.ok_or_else(|| not_a_match(1, "the file is empty".into()))?;
    Ok(Recorded { header, shots, rulings })
}

#[cfg(test)]
pub(in crate::sinks) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ball::Ball;
    use crate::events::{Event, EventKind, Sample, ShotFlag, ShotKind};
    use crate::rules::{BySeat, Decision, Seat, Wording};
    use crate::sinks::Sink;
    use crate::sinks::journal::Journal;
    use crate::sinks::trajectories::Trajectories;
    use crate::space::{TablePoint, TableVelocity};
    use crate::table::{Rail, Table};
    use crate::units::{Confidence, Timestamp};
    use crate::update::Update;

    /// White meets yellow, then the left rail; red does not move.
    pub(in crate::sinks) fn a_shot() -> Shot {
        let at = Timestamp::saturating;
        let event = |t, kind, place: Option<(f64, f64)>, t_err_s, p| Event {
            at: at(t),
            kind,
            place: place.map(|(x, y)| TablePoint::new(x, y)),
            t_err_s,
            confidence: Confidence::new(p),
        };
        let (white, yellow) = (Ball::White, Ball::Yellow);
        let rail = EventKind::Rail {
            ball: white,
            rail: Rail::Left,
        };
        let events = vec![
            event(3.217, EventKind::CueStrike { ball: white }, None, 0.004, 1.0),
            event(
                3.641_234_6,
                EventKind::contact(yellow, white),
                Some((0.812_349, -0.000_001)),
                0.004,
                0.99876,
            ),
            event(4.102, rail, Some((0.4, 0.68)), 0.004, 0.998),
            event(11.905, EventKind::Rest { ball: white }, None, 0.02, 1.0),
        ];
        let mut shot = Shot::new(1, ShotKind::Serve, at(3.217), at(11.905), Some(white), events);
        shot.before.insert(white, TablePoint::new(-0.71, 0.0));
        shot.rest.insert(white, TablePoint::new(0.1, -0.2));
        shot.flags.push(ShotFlag::Occluded);
        shot.unsure_orders.push((1, 2, Confidence::new(0.75)));
        let sample = |t, x, observed| Sample {
            at: at(t),
            place: TablePoint::new(x, 0.25),
            velocity: TableVelocity::new(1.5, -0.5),
            sigma_m: 0.0007,
            observed,
        };
        shot.paths
            .insert(white, vec![sample(3.2, -0.71, true), sample(3.25, -0.7, false)]);
        shot.paths.insert(Ball::Red, vec![sample(3.2, 0.71, true)]);
        shot
    }

    pub(in crate::sinks) fn a_ruling() -> Ruling {
        Ruling {
            shot: 1,
            decision: Decision::Point,
            points: 1,
            clauses: vec!["C4.1.a".into()],
            confidence: Confidence::new(0.99),
            player: Some(Seat::A),
            next_player: Some(Seat::A),
            score: BySeat { a: 1, b: 0 },
            winner: None,
            doubtful_events: Vec::new(),
            text: Wording {
                en: "Point.".into(),
                ko: "득점".into(),
                ru: "Очко.".into(),
            },
            ..Ruling::default()
        }
    }

    #[test]
    fn a_folder_comes_back_as_it_was_written_and_the_last_ruling_counts() {
        let tmp = tempfile::tempdir().unwrap();
        let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, None);
        let mut journal = Journal::create(&tmp.path().join(folder::MATCH), header.clone()).unwrap();
        let mut trajectories = Trajectories::create(&tmp.path().join(folder::TRAJECTORIES)).unwrap();
        let overruled = Ruling {
            decision: Decision::NoPoint,
            points: 0,
            ..a_ruling()
        };
        let updates = [
            Update::Shot(Arc::new(a_shot())),
            Update::Ruling(Arc::new(a_ruling())),
            Update::Ruling(Arc::new(overruled.clone())),
        ];
        for update in &updates {
            journal.take(update).unwrap();
            trajectories.take(update).unwrap();
        }
        journal.end(true).unwrap();
        trajectories.finish().unwrap();
        let recorded = read(tmp.path()).unwrap();
        assert_eq!(recorded.header, header);
        assert_eq!(recorded.rulings, BTreeMap::from([(1, overruled)]));
        assert_eq!(recorded.shots.len(), 1);
        assert_eq!(recorded.shots[0].paths, a_shot().paths);
        assert_eq!(recorded.shots[0].events()[2], a_shot().events()[2]);
    }

    #[test]
    fn other_files_are_refused_with_the_line() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("match.jsonl");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_match(&path).unwrap_err().to_string()
        };
        assert!(refused("").contains("line 1: the file is empty"));
        assert!(refused("not json\n").contains("line 1: expected"));
        assert!(refused("{\"type\":\"end\",\"shots\":0,\"complete\":true}\n").contains("the first line is not a header"));
        assert!(
            read_match(&tmp.path().join("none"))
                .unwrap_err()
                .to_string()
                .contains("cuemark analyse --out")
        );
    }
}
