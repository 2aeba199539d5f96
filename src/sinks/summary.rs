//! `summary.json`: what a player or an archive wants to know of a match in one look, and where the time went.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde::Serialize;

use super::wire::{Header, Name, Score, metres, seconds};
use super::{Error, Sink};
use crate::ball::Ball;
use crate::events::{EventKind, Shot, ShotFlag, ShotKind};
use crate::rules::{Decision, Ruling, Seat};
use crate::table::{Pocket, Rail};
use crate::units::Timestamp;
use crate::update::Update;

/// Name and version of the format.
pub const FORMAT: &str = "cuemark.summary/1";

/// What the cue ball met, with the index of the event among the shot's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Met {
    Ball(usize, Ball),
    Rail(usize, Rail),
    Pocket(usize, Pocket),
    LeftTable(usize),
}

/// One shot in short.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Row {
    pub no: u32,
    pub kind: ShotKind,
    pub start: Timestamp,
    pub cue_ball: Option<Ball>,
    /// What the cue ball met, in time order; in a lag, rails of both balls are not told.
    pub met: Vec<Met>,
    pub flags: Vec<ShotFlag>,
    /// The ruling that counts.
    pub ruling: Option<Ruling>,
}

impl Row {
    fn new(shot: &Shot) -> Self {
        let met = shot.cue_ball.map_or_else(Vec::new, |cue| {
            let of_cue = shot.events().iter().enumerate().filter(|(_, e)| e.kind.involves(cue));
            of_cue
                .filter_map(|(i, event)| match event.kind {
                    EventKind::BallBall { .. } => event.kind.other(cue).map(|other| Met::Ball(i, other)),
                    EventKind::Rail { rail, .. } => Some(Met::Rail(i, rail)),
                    EventKind::Pocket { pocket, .. } => Some(Met::Pocket(i, pocket)),
                    EventKind::OffTable { .. } => Some(Met::LeftTable(i)),
                    EventKind::CueStrike { .. } | EventKind::Rest { .. } => None,
                })
                .collect()
        });
        Self {
            no: shot.no,
            kind: shot.kind,
            start: shot.start,
            cue_ball: shot.cue_ball,
            met,
            flags: shot.flags.clone(),
            ruling: None,
        }
    }
}

/// Keeps a match in short while it is written in full elsewhere: some hundred bytes a shot.
#[derive(Debug, Default)]
pub struct Tally {
    rows: Vec<Row>,
    n_gaps: u32,
    lost_s: f64,
}

impl Tally {
    /// The shots so far, in time order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn rulings(&self) -> impl Iterator<Item = &Ruling> {
        self.rows.iter().filter_map(|row| row.ruling.as_ref())
    }
}

impl Sink for Tally {
    fn name(&self) -> &'static str {
        "tally"
    }

    fn take(&mut self, update: &Update) -> Result<(), Error> {
        match update {
            Update::Shot(shot) => self.rows.push(Row::new(shot)),
            Update::Ruling(ruling) => {
                if let Some(row) = self.rows.iter_mut().rev().find(|row| row.no == ruling.shot) {
                    row.ruling = Some((**ruling).clone());
                }
            }
            Update::FramesLost { gap_s, .. } => {
                self.n_gaps += 1;
                self.lost_s += gap_s;
            }
        }
        Ok(())
    }
}

/// What was known of the recording and of this run beside the match itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Run {
    /// The recording as it was named on the command line, to find it again.
    pub video: String,
    /// Time of the last frame, seconds.
    pub duration_s: f64,
    /// Frames analysed.
    pub frames: u64,
    /// Whether the whole recording was read.
    pub complete: bool,
    /// What was wrong with the recording, in words; empty for a sound one.
    pub warnings: Vec<String>,
    /// Where the camera model comes from and how well it fits.
    pub calibration: CalibrationNote,
    /// Where the time went.
    pub timings: Timings,
}

/// Where the camera model comes from and how well it fits.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CalibrationNote {
    /// "found in the picture" or the name of a file.
    pub source: String,
    /// Root mean square distance of the landmarks from where the model puts them, millimetres on the table.
    pub residual_mm: Option<f64>,
}

/// Seconds by the wall clock; a stage's time is what it worked, without what it waited.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timings {
    /// Whole run.
    pub wall_s: f64,
    /// Seconds of video a second.
    pub times_real_time: f64,
    /// Opening the recording, finding the table, learning the colours.
    pub setup_s: f64,
    /// By stage: "capture", "detect", "referee" and each sink.
    pub stages_s: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Summary<'a> {
    format: &'static str,
    source: &'a str,
    game: &'a str,
    shots: Shots,
    rulings: BTreeMap<&'static str, u32>,
    score: Score,
    players: Players,
    recording: Recording<'a>,
    calibration: &'a CalibrationNote,
    timings: &'a Timings,
}

#[derive(Serialize)]
struct Shots {
    total: usize,
    by_kind: BTreeMap<String, u32>,
    by_flag: BTreeMap<&'static str, u32>,
    without_ruling: usize,
}

#[derive(Serialize)]
#[allow(non_snake_case)]
struct Players {
    A: Player,
    B: Player,
}

/// A player's figures as carom leagues print them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Player {
    /// Points of shots that were ruled on.
    pub points: u32,
    /// Turns at the table.
    pub innings: u32,
    /// Points an inning; none before the first inning.
    pub average: Option<f64>,
    /// Most points in one inning.
    pub high_run: u32,
    /// Shots that wait for a person's ruling.
    pub reviews: u32,
}

#[derive(Serialize)]
struct Recording<'a> {
    video: &'a str,
    duration_s: f64,
    frames: u64,
    complete: bool,
    gaps: u32,
    lost_s: f64,
    warnings: &'a [String],
}

/// Where the recording lay when the result at `path` was made.
///
/// # Errors
/// When the file is missing or not a summary.
pub fn read_video(path: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let video = value["recording"]["video"].as_str();
    video.map(str::to_owned).ok_or_else(|| Error::NotAMatch {
        path: path.to_owned(),
        line: 1,
        reason: "it does not name a recording".to_owned(),
    })
}

/// Figures of `seat`. An inning is a run of shots by one player; lags are not part of one.
pub fn player(rulings: impl Iterator<Item = impl std::borrow::Borrow<Ruling>>, seat: Seat) -> Player {
    let mut figures = Player::default();
    let (mut at_table, mut run) = (None, 0);
    for ruling in rulings {
        let ruling = ruling.borrow();
        let (Some(player), true) = (ruling.player, ruling.decision != Decision::Lag) else {
            continue;
        };
        if at_table != Some(player) {
            (at_table, run) = (Some(player), 0);
            figures.innings += u32::from(player == seat);
        }
        if player == seat {
            run += ruling.points;
            figures.points += ruling.points;
            figures.high_run = figures.high_run.max(run);
            figures.reviews += u32::from(ruling.decision == Decision::Review);
        }
        if ruling.next_player.is_some_and(|next| next != player) {
            at_table = None;
        }
    }
    // Leagues print averages to three digits.
    figures.average = (figures.innings > 0).then(|| (f64::from(figures.points) / f64::from(figures.innings) * 1e3).round() / 1e3);
    figures
}

/// Writes the summary of `tally` and `run` to `path`.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, header: &Header, tally: &Tally, run: &Run) -> Result<(), Error> {
    let mut by_kind = BTreeMap::new();
    let mut by_flag = BTreeMap::new();
    for row in &tally.rows {
        *by_kind.entry(Name(row.kind).to_string()).or_default() += 1;
        for flag in &row.flags {
            *by_flag.entry(flag.name()).or_default() += 1;
        }
    }
    let mut rulings = BTreeMap::new();
    for ruling in tally.rulings() {
        *rulings.entry(ruling.decision.name()).or_default() += 1;
    }
    let score = tally.rulings().last().map(|r| r.score).unwrap_or_default();
    let summary = Summary {
        format: FORMAT,
        source: &header.source,
        game: &header.game,
        shots: Shots {
            total: tally.rows.len(),
            by_kind,
            by_flag,
            without_ruling: tally.rows.iter().filter(|row| row.ruling.is_none()).count(),
        },
        rulings,
        score: Score { A: score.a, B: score.b },
        players: Players {
            A: player(tally.rulings(), Seat::A),
            B: player(tally.rulings(), Seat::B),
        },
        recording: Recording {
            video: &run.video,
            duration_s: seconds(run.duration_s),
            frames: run.frames,
            complete: run.complete,
            gaps: tally.n_gaps,
            lost_s: seconds(tally.lost_s),
            warnings: &run.warnings,
        },
        calibration: &CalibrationNote {
            residual_mm: run.calibration.residual_mm.map(metres),
            ..run.calibration.clone()
        },
        timings: &run.timings,
    };
    let mut text = serde_json::to_string_pretty(&summary).map_err(|e| Error::write(path, e.into()))?;
    text.push('\n');
    let mut file = File::create(path).map_err(|e| Error::write(path, e))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|e| Error::write(path, e))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sinks::result::tests::{a_ruling, a_shot};
    use crate::table::Table;

    fn ruled(player: Seat, points: u32) -> Ruling {
        Ruling {
            decision: if points > 0 { Decision::Point } else { Decision::NoPoint },
            points,
            player: Some(player),
            next_player: Some(if points > 0 { player } else { player.other() }),
            ..a_ruling()
        }
    }

    #[test]
    fn innings_averages_and_high_runs_are_those_of_the_league() {
        let (a, b) = (Seat::A, Seat::B);
        // A: 2 points and a miss; B: a miss; A: a miss; B: 1 point.
        let shots = [(a, 1), (a, 1), (a, 0), (b, 0), (a, 0), (b, 1)];
        let rulings: Vec<Ruling> = shots.into_iter().map(|(seat, points)| ruled(seat, points)).collect();
        let expected = Player {
            points: 2,
            innings: 2,
            average: Some(1.0),
            high_run: 2,
            reviews: 0,
        };
        assert_eq!(player(rulings.iter(), a), expected);
        let figures = player(rulings.iter(), b);
        assert_eq!((figures.innings, figures.average, figures.high_run), (2, Some(0.5), 1));
    }

    #[test]
    fn one_player_alone_has_an_inning_after_each_miss() {
        let rulings: Vec<Ruling> = [1, 0, 0].map(|points| ruled(Seat::A, points)).into();
        assert_eq!(player(rulings.iter(), Seat::A).innings, 2);
        assert_eq!(player(rulings.iter(), Seat::B), Player::default());
    }

    #[test]
    fn the_file_holds_counts_score_and_timings() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("summary.json");
        let mut tally = Tally::default();
        tally.take(&Update::Shot(Arc::new(a_shot()))).unwrap();
        tally.take(&Update::Ruling(Arc::new(a_ruling()))).unwrap();
        let lost = Update::FramesLost {
            after: Timestamp::ZERO,
            gap_s: 0.5,
        };
        tally.take(&lost).unwrap();
        assert_eq!(tally.rows()[0].met, [Met::Ball(1, Ball::Yellow), Met::Rail(2, Rail::Left)]);
        let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, None);
        write(&path, &header, &tally, &Run::default()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(value["shots"]["total"], 1);
        assert_eq!(value["shots"]["by_flag"]["occluded"], 1);
        assert_eq!(value["rulings"]["point"], 1);
        assert_eq!(value["score"]["A"], 1);
        assert_eq!(value["players"]["A"]["high_run"], 1);
        assert_eq!(value["recording"]["lost_s"], 0.5);
    }
}
