//! The commands: what was typed becomes calls of the library, what comes back becomes words.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use rayon::prelude::*;

use cuemark::calibration::{self, NoseCorners};
use cuemark::config;
use cuemark::events::notation;
use cuemark::pipeline::analyse::{self, Done, Job};
use cuemark::pipeline::burn::{self, Burn};
use cuemark::pipeline::progress::Screen;
use cuemark::rules::{MatchScorer, MatchSetup, cases};
use cuemark::sinks::{Sink, folder, result, shot_table, summary};
use cuemark::space::ImagePoint;
use cuemark::table::Table;
use cuemark::text::Speaker;
use cuemark::update::Update;

use crate::cli;

/// The clip of `cuemark demo`: rendered, so that its truth is known and nobody's rights are touched.
const DEMO_CLIP: &[u8] = include_bytes!("../fixtures/clips/smoke_carom_1080p60.mp4");
/// Name of the clip in the demo's result folder.
const DEMO_NAME: &str = "smoke_carom_1080p60.mp4";

/// `Ok(false)`: something could not be done and has been told on stderr.
type Outcome = anyhow::Result<bool>;

pub fn analyse(args: &cli::Analyse, stop: &AtomicBool) -> Outcome {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from >= to
    {
        anyhow::bail!("--from {from} lies behind --to {to}; nothing is left to analyse");
    }
    let mut setup = match &args.match_file {
        Some(path) => config::load_match(path)?,
        None => MatchSetup::default(),
    };
    setup.game = config::supported(args.game.unwrap_or(setup.game))?;
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let n_jobs = usize::from(args.jobs).min(args.videos.len());
    let jobs: Vec<Job> = args
        .videos
        .iter()
        .zip(folders(&args.videos, &args.out))
        .map(|(video, out)| Job {
            video: video.clone(),
            out,
            setup: setup.clone(),
            calibration: args.calibration.clone(),
            from_s: args.from,
            to_s: args.to,
            threads: decoder_threads(n_cores, n_jobs),
        })
        .collect();
    let screen = Screen::default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_jobs).build()?;
    // Outcomes come in the order of the command line, whichever is done first.
    let whole: Vec<bool> = pool.install(|| {
        jobs.par_iter()
            .map(|job| match one(job, args.overlay, &screen, stop) {
                Ok(whole) => whole,
                Err(error) => {
                    screen.say(&format!("error: {}", one_line(&error)));
                    false
                }
            })
            .collect()
    });
    Ok(whole.into_iter().all(|whole| whole))
}

/// Analyses one recording and tells what came of it; false when the recording was cut short.
fn one(job: &Job, overlay: bool, screen: &Screen, stop: &AtomicBool) -> Outcome {
    let done = analyse::analyse(job, screen, stop)?;
    if overlay {
        let burn = Burn {
            dir: job.out.clone(),
            out: job.out.join(folder::OVERLAY),
            video: Some(job.video.clone()),
            threads: job.threads,
            from_s: job.from_s,
            to_s: job.to_s,
        };
        burn::burn(&burn, screen, stop).context("the analysis is complete, the overlay is not")?;
    }
    tell(job, &done, overlay)?;
    // Of a recording that is cut short the first line says so; what else is damaged follows from it and is in the summary.
    let (word, n_told) = if done.run.complete {
        ("warning", usize::MAX)
    } else {
        ("error", 1)
    };
    for warning in done.run.warnings.iter().take(n_told) {
        screen.say(&format!("{word}: {warning}"));
    }
    Ok(done.run.complete)
}

fn tell(job: &Job, done: &Done, overlay: bool) -> anyhow::Result<()> {
    let run = &done.run;
    let rows = done.tally.rows();
    let shots = if rows.is_empty() {
        "no shot found".to_owned()
    } else {
        shot_table::table(rows)
    };
    let figures = format!(
        "{}: {:.1} s of video in {:.1} s ({:.1}x real time), table fitted to {:.1} mm",
        job.video.display(),
        run.duration_s - job.from_s.unwrap_or(0.0),
        run.timings.wall_s,
        run.timings.times_real_time,
        run.calibration.residual_mm.unwrap_or(0.0),
    );
    let mut lines = vec![shots, String::new(), figures];
    let files = [folder::MATCH, folder::TRAJECTORIES, folder::SUMMARY, folder::CALIBRATION];
    let files = files.into_iter().chain(overlay.then_some(folder::OVERLAY));
    lines.extend(files.map(|file| listed(&done.out.join(file))));
    print(&lines)
}

/// A written file, as it is listed below what was found.
fn listed(path: &Path) -> String {
    format!("  {}", path.display())
}

/// Result folder of each recording: `out` itself for one, a folder named after each for several.
fn folders(videos: &[PathBuf], out: &Path) -> Vec<PathBuf> {
    if videos.len() == 1 {
        return vec![out.to_owned()];
    }
    let mut taken = BTreeMap::new();
    videos
        .iter()
        .map(|video| {
            let stem = video.file_stem().unwrap_or(video.as_os_str()).to_string_lossy().into_owned();
            let nth = taken.entry(stem.clone()).and_modify(|n| *n += 1).or_insert(1);
            out.join(if *nth == 1 { stem } else { format!("{stem}-{nth}") })
        })
        .collect()
}

pub fn calibrate(args: &cli::Calibrate) -> Outcome {
    let samples = analyse::samples(&args.source)?;
    let Some(first) = samples.first() else {
        anyhow::bail!(
            "{}: shows no picture; give a recording or a picture of the table",
            args.source.display()
        );
    };
    let table = Table::CAROM;
    let calibration = match args.corners {
        Some(cli::Corners([head_left, foot_left, foot_right, head_right])) => {
            let at = |(x, y)| ImagePoint::new(x, y);
            let corners = NoseCorners {
                head_left: at(head_left),
                foot_left: at(foot_left),
                foot_right: at(foot_right),
                head_right: at(head_right),
            };
            let (width, height) = (first.image.width() as u32, first.image.height() as u32);
            calibration::solve_from_corners(&corners, width, height, &table)?
        }
        None => analyse::find(&args.source, &samples, &table)?,
    };
    calibration::save(&calibration, &args.out)?;
    let mut lines = vec![
        format!(
            "table fitted to {:.2} mm ({:.2} mm at worst), {}",
            calibration.residual_mm, calibration.residual_max_mm, calibration.from
        ),
        listed(&args.out),
    ];
    if let Some(path) = &args.preview {
        let png = calibration::preview(&first.image, &calibration)?;
        fs::write(path, png).with_context(|| format!("cannot write {}", path.display()))?;
        lines.push(listed(path));
    }
    print(&lines)?;
    Ok(true)
}

pub fn rule(args: &cli::Rule) -> Outcome {
    if let Some(path) = &args.cases {
        let file = fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut stdout = std::io::stdout().lock();
        let (_, n_failed) = cases::run_cases(std::io::BufReader::new(file), &mut stdout)
            .with_context(|| format!("cannot run the cases in {}", path.display()))?;
        return Ok(n_failed == 0);
    }
    let (shots, setup, table) = match (&args.match_log, &args.shot) {
        (Some(path), _) => {
            let recorded = result::read_match(path)?;
            let setup = MatchSetup {
                game: config::supported(recorded.header.game.parse().map_err(anyhow::Error::msg)?)?,
                ..MatchSetup::default()
            };
            let table = Table {
                length_m: recorded.header.table.length_m,
                width_m: recorded.header.table.width_m,
                ball_radius_m: recorded.header.ball_radius_m,
                ..Table::CAROM
            };
            (recorded.shots, setup, table)
        }
        (None, Some(shot)) => {
            let shot = notation::parse(shot).with_context(|| format!("'{shot}' is not a shot"))?;
            (vec![shot], MatchSetup::default(), Table::CAROM)
        }
        (None, None) => anyhow::bail!("nothing to rule on; give --cases, --match or --shot"),
    };
    let mut scorer = MatchScorer::new(&table, &setup);
    let speaker = Speaker::new();
    let mut tally = summary::Tally::default();
    for shot in shots {
        let rulings = scorer.play(&shot);
        tally.take(&Update::Shot(shot.into()))?;
        for mut ruling in rulings {
            speaker.word(&mut ruling);
            tally.take(&Update::Ruling(ruling.into()))?;
        }
    }
    let mut lines = vec![shot_table::table(tally.rows())];
    if let (Some(_), Some(ruling)) = (&args.shot, tally.rows().first().and_then(|row| row.ruling.as_ref())) {
        lines.extend([String::new(), ruling.text.en.clone()]);
    }
    print(&lines)?;
    Ok(true)
}

/// Decoder threads of each of `n_jobs` recordings. Alone it gets one more than there are cores: the decoder's threads wait
/// for one another, and a spare one keeps the cores busy (some 5 % of the time of a 1080p recording on two cores).
fn decoder_threads(n_cores: usize, n_jobs: usize) -> usize {
    if n_jobs == 1 { n_cores + 1 } else { (n_cores / n_jobs).max(1) }
}

pub fn overlay(args: &cli::Overlay, stop: &AtomicBool) -> Outcome {
    let burn = Burn {
        dir: args.dir.clone(),
        out: args.out.clone(),
        video: args.video.clone(),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
        from_s: None,
        to_s: None,
    };
    burn::burn(&burn, &Screen::default(), stop)?;
    print(&[listed(&args.out)])?;
    Ok(true)
}

pub fn demo(args: &cli::Demo, stop: &AtomicBool) -> Outcome {
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create {}", args.out.display()))?;
    let video = args.out.join(DEMO_NAME);
    fs::write(&video, DEMO_CLIP).with_context(|| format!("cannot write {}", video.display()))?;
    let args = cli::Analyse {
        videos: vec![video],
        out: args.out.clone(),
        game: None,
        calibration: None,
        match_file: None,
        overlay: true,
        from: None,
        to: None,
        jobs: 1,
    };
    analyse(&args, stop)
}

/// The error and its causes on one line. A cause that the message before it already tells is not told again.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = cause.to_string().replace('\n', " ");
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line = format!("{line}: {text}");
        }
    }
    line
}

/// One call, so that two recordings analysed at the same time do not mix their lines.
fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all((lines.join("\n") + "\n").as_bytes())?;
    Ok(stdout.flush()?)
}
