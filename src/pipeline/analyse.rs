//! The main job: one recording in, a result folder out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::progress::Screen;
use super::{Error, stages};
use crate::ball::{Ball, CAROM_BALLS};
use crate::calibration::{self, Calibration};
use crate::capture::{self, Recording};
use crate::detect::Detector;
use crate::frame::Frame;
use crate::referee::Referee;
use crate::rules::MatchSetup;
use crate::sinks::folder::{self, Folder};
use crate::sinks::journal::Journal;
use crate::sinks::summary::{self, CalibrationNote, Run, Tally, Timings};
use crate::sinks::trajectories::Trajectories;
use crate::sinks::wire::{Header, Players};
use crate::table::Table;
use crate::text::Speaker;
use crate::update::Update;

/// Pictures that the table and the colours are learnt from, spread over the recording: enough that a player who leans
/// over the table hides a spot in a minority of them.
const N_SAMPLES: usize = 8;

/// What to do with one recording.
#[derive(Debug, Clone)]
pub struct Job {
    /// The recording.
    pub video: PathBuf,
    /// Result folder.
    pub out: PathBuf,
    /// Game, players, profile.
    pub setup: MatchSetup,
    /// Calibration file; without one the table is found in the picture.
    pub calibration: Option<PathBuf>,
    /// First second of the recording to analyse.
    pub from_s: Option<f64>,
    /// Last second of the recording to analyse.
    pub to_s: Option<f64>,
    /// Threads for decoding, at least 1.
    pub threads: usize,
}

/// What came of it. The files are in the folder.
#[derive(Debug)]
pub struct Done {
    /// The result folder.
    pub out: PathBuf,
    /// The match in short.
    pub tally: Tally,
    /// Figures of the run.
    pub run: Run,
}

/// Analyses one recording. `stop` is looked at before each frame.
///
/// # Errors
/// When nothing could be analysed, or the run broke off: the folder then holds `.partial` files at most. A recording that
/// is cut short is no error here: see [`Run::complete`].
pub fn analyse(job: &Job, screen: &Screen, stop: &AtomicBool) -> Result<Done, Error> {
    let started = Instant::now();
    let mut recording = Recording::open(&job.video, job.threads)?;
    let source = file_name(&job.video);
    let folder = Folder::claim(&job.out, &source, recording.info().bytes)?;

    let samples = capture::sample_keyframes(&job.video, N_SAMPLES)?;
    let (calibration, note) = calibrate(job, &samples)?;
    let size = (recording.info().width, recording.info().height);
    let calibrated = (
        calibration.camera.width_px() as usize,
        calibration.camera.height_px() as usize,
    );
    if size != calibrated {
        return Err(Error::OtherPictureSize {
            video: job.video.clone(),
            calibrated,
            pictures: size,
        });
    }
    let mut detector =
        Detector::new(&calibration.camera, &calibration.table, balls(&job.setup), &samples).map_err(|source| Error::Detect {
            video: job.video.clone(),
            source,
        })?;
    drop(samples);
    let words = Words(Speaker::new());
    let mut referee = Referee::new(calibration.table, &job.setup);
    let setup_s = started.elapsed().as_secs_f64();

    calibration::save(&calibration, &folder.partial(folder::CALIBRATION))?;
    let header = header(job, source, recording.info().bytes, &calibration.table);
    let mut journal = Journal::create(&folder.partial(folder::MATCH), header.clone())?;
    let mut trajectories = Trajectories::create(&folder.partial(folder::TRAJECTORIES))?;
    let mut tally = Tally::default();
    let duration_s = recording.info().duration_s;
    let spent = {
        let progress = screen.bar(&header.source, job.to_s.or(duration_s));
        stages::run(
            || next_frame(&mut recording, job, stop),
            |frame| detector.detect(frame),
            |seen| {
                let updates = match seen {
                    Some(seen) => referee.observe(seen),
                    None => referee.finish(),
                };
                updates.into_iter().map(|update| words.put_into(update)).collect()
            },
            vec![&mut journal, &mut trajectories, &mut tally],
            &|at| progress.seen(at),
        )?
    };
    if spent.n_frames == 0 {
        folder.discard();
        return Err(Error::NothingInRange {
            video: job.video.clone(),
            duration_s: duration_s.unwrap_or(0.0),
        });
    }

    let report = recording.report();
    let complete = report.truncated.is_none() && report.size_change.is_none();
    journal.end(complete)?;
    let wall_s = started.elapsed().as_secs_f64();
    let run = Run {
        video: job.video.display().to_string(),
        duration_s: spent.last.secs(),
        frames: spent.n_frames,
        complete,
        warnings: report.warnings(),
        calibration: note,
        timings: Timings {
            wall_s,
            times_real_time: (spent.last.secs() - job.from_s.unwrap_or(0.0)).max(0.0) / wall_s,
            setup_s,
            stages_s: spent.stages_s,
        },
    };
    summary::write(&folder.partial(folder::SUMMARY), &header, &tally, &run)?;
    folder.commit()?;
    Ok(Done {
        out: job.out.clone(),
        tally,
        run,
    })
}

/// Words rulings before they are told: the rules themselves speak no language.
struct Words(Speaker);

impl Words {
    fn put_into(&self, update: Update) -> Update {
        match update {
            Update::Ruling(mut ruling) => {
                self.0.word(Arc::make_mut(&mut ruling));
                Update::Ruling(ruling)
            }
            other => other,
        }
    }
}

/// The next frame within the stretch that was asked for.
fn next_frame(recording: &mut Recording, job: &Job, stop: &AtomicBool) -> Result<Option<Frame>, Error> {
    loop {
        let Some(frame) = recording.next_frame()? else {
            return Ok(None);
        };
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted { at_s: frame.at.secs() });
        }
        if job.to_s.is_some_and(|to_s| frame.at.secs() > to_s) {
            return Ok(None);
        }
        if job.from_s.is_none_or(|from_s| frame.at.secs() >= from_s) {
            return Ok(Some(frame));
        }
    }
}

fn calibrate(job: &Job, samples: &[Frame]) -> Result<(Calibration, CalibrationNote), Error> {
    let (calibration, source) = match &job.calibration {
        Some(path) => (calibration::load(path)?, file_name(path)),
        None => (
            find(&job.video, samples, &table(&job.setup))?,
            "found in the picture".to_owned(),
        ),
    };
    let note = CalibrationNote {
        source,
        residual_mm: Some(calibration.residual_mm),
    };
    Ok((calibration, note))
}

/// Finds the table in pictures of `video`.
///
/// # Errors
/// When there is none in view.
pub fn find(video: &Path, samples: &[Frame], table: &Table) -> Result<Calibration, Error> {
    let pictures: Vec<_> = samples.iter().map(|frame| &frame.image).collect();
    calibration::find(&pictures, table).map_err(|source| Error::Find {
        video: video.to_owned(),
        source,
    })
}

/// The pictures that a table is looked for in.
///
/// # Errors
/// When the recording cannot be read.
pub fn samples(video: &Path) -> Result<Vec<Frame>, Error> {
    Ok(capture::sample_keyframes(video, N_SAMPLES)?)
}

fn table(_setup: &MatchSetup) -> Table {
    Table::CAROM
}

fn balls(_setup: &MatchSetup) -> &'static [Ball] {
    &CAROM_BALLS
}

fn header(job: &Job, source: String, bytes: u64, table: &Table) -> Header {
    let names = &job.setup.players;
    let players = (!names.a.is_empty() || !names.b.is_empty()).then(|| Players {
        A: names.a.clone(),
        B: names.b.clone(),
    });
    Header::new(source, bytes, job.setup.game.name(), table, players)
}

/// The last part of a path, for files that must not depend on the folder.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
