//! What the user typed, and nothing else.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use cuemark::rules::GameName;

/// A marker for billiards: watches a table in a video, counts rails and contacts, rules on each shot.
#[derive(Debug, Parser)]
#[command(
    name = "cuemark",
    version,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Say more about what is going on (twice: even more).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Analyse recordings: every shot with its events, ruling, score and trajectories.
    #[command(after_help = "Example:\n  cuemark analyse match.mp4 --out result --overlay\n\n\
        Writes result/match.jsonl, trajectories.parquet, summary.json, calibration.toml and overlay.mp4.")]
    Analyse(Analyse),
    /// Find table, camera pose and lens in a picture or recording.
    #[command(
        after_help = "Example:\n  cuemark calibrate match.mp4 --out club_table.toml --preview found.png\n\n\
        Then: cuemark analyse match.mp4 --out result --calibration club_table.toml"
    )]
    Calibrate(Calibrate),
    /// The rules engine alone.
    #[command(after_help = "Example:\n  cuemark rule --match result/match.jsonl\n  \
        cuemark rule --shot 'W! W-R W|left W|head W|right W-Y'")]
    Rule(Rule),
    /// Burn rings, trails, rail counter and rulings into the recording of an analysed match.
    #[command(after_help = "Example:\n  cuemark overlay result --out match_overlay.mp4")]
    Overlay(Overlay),
    /// The main job on a small clip that comes with cuemark.
    #[command(after_help = "Example:\n  cuemark demo --out demo-result")]
    Demo(Demo),
}

/// Options of `analyse`.
#[derive(Debug, Args)]
pub struct Analyse {
    /// Recordings (mp4, mkv, mov, avi, webm).
    #[arg(required = true, value_name = "VIDEO")]
    pub videos: Vec<PathBuf>,
    /// Result folder; with several recordings each has a folder of its own in it.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// The game that is played [default: that of --match, or three-cushion].
    #[arg(long, value_name = "GAME")]
    pub game: Option<GameName>,
    /// Calibration file of this camera; without it the table is found in the picture.
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,
    /// Players, target and profile, as TOML.
    #[arg(long = "match", value_name = "FILE")]
    pub match_file: Option<PathBuf>,
    /// Also write overlay.mp4, the recording with graphics.
    #[arg(long)]
    pub overlay: bool,
    /// Leave out what lies before this second.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub from: Option<f64>,
    /// Leave out what lies behind this second.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub to: Option<f64>,
    /// Recordings analysed at the same time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
}

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub struct Calibrate {
    /// Recording or picture that shows the whole table.
    pub source: PathBuf,
    /// Calibration file to write.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Picture (PNG) of the found table, to look at.
    #[arg(long, value_name = "PNG")]
    pub preview: Option<PathBuf>,
    /// Nose corners by hand, pixels: head left, foot left, foot right, head right, as X,Y:X,Y:X,Y:X,Y.
    #[arg(long, value_name = "CORNERS", value_parser = corners)]
    pub corners: Option<Corners>,
}

/// Four nose corners in pixels: head left, foot left, foot right, head right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Corners(pub [(f64, f64); 4]);

/// Options of `rule`; one of the two.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Rule {
    /// Rule anew on the shots of a match.jsonl.
    #[arg(long = "match", value_name = "FILE")]
    pub match_log: Option<PathBuf>,
    /// Rule on one shot in the notation of docs/formats.md, such as 'W! W-R W|left W|head W|right W-Y'.
    #[arg(long, value_name = "SHOT")]
    pub shot: Option<String>,
}

/// Options of `overlay`.
#[derive(Debug, Args)]
pub struct Overlay {
    /// Result folder of `cuemark analyse`.
    pub dir: PathBuf,
    /// Video to write (mp4).
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The recording, when it has moved since it was analysed.
    #[arg(long, value_name = "VIDEO")]
    pub video: Option<PathBuf>,
}

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// Result folder.
    #[arg(long, value_name = "DIR", default_value = "demo-result")]
    pub out: PathBuf,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(secs) if secs.is_finite() && secs >= 0.0 => Ok(secs),
        _ => Err("give seconds from the start of the recording, such as 12.5".to_owned()),
    }
}

fn corners(text: &str) -> Result<Corners, String> {
    let point = |p: &str| {
        let (x, y) = p.split_once(',')?;
        let (x, y): (f64, f64) = (x.trim().parse().ok()?, y.trim().parse().ok()?);
        (x.is_finite() && y.is_finite()).then_some((x, y))
    };
    let points: Option<Vec<_>> = text.split(':').map(point).collect();
    points
        .and_then(|p| p.try_into().ok())
        .map(Corners)
        .ok_or_else(|| "give four points, such as 148,133:1770,133:1770,945:148,945".to_owned())
}
