//! How long the main job takes against decoding every frame of the same clip in this process with the same threads, and
//! the peak of memory. Ratios are taken pairwise in one run, so that a busy machine slows both sides.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::Context;
use cuemark::capture::Recording;
use cuemark::pipeline::analyse::{Job, analyse};
use cuemark::pipeline::progress::Screen;
use cuemark::rules::MatchSetup;

/// Pairs measured; the median is told.
const PAIRS: usize = 7;

fn main() -> anyhow::Result<()> {
    let default = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clips/smoke_carom_1080p60.mp4"));
    // `cargo bench -- CLIP` measures another clip; cargo itself adds `--bench`.
    let clip = std::env::args()
        .skip(1)
        .find(|a| !a.starts_with('-'))
        .map_or(default, PathBuf::from);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let out = tempfile::tempdir()?;
    let job = Job {
        video: clip.clone(),
        out: out.path().join("result"),
        setup: MatchSetup::default(),
        calibration: None,
        from_s: None,
        to_s: None,
        threads,
    };
    let mut pairs = Vec::new();
    let (mut cpu_whole_s, mut cpu_decode_s) = (0.0, 0.0);
    for _ in 0..PAIRS {
        let decode = timed(|| {
            let mut recording = Recording::open(&clip, threads)?;
            while recording.next_frame()?.is_some() {}
            Ok(())
        })?;
        let whole = timed(|| {
            analyse(&job, &Screen::silent(), &AtomicBool::new(false))?;
            Ok(())
        })?;
        cpu_decode_s += decode.cpu_s;
        cpu_whole_s += whole.cpu_s;
        pairs.push((whole.wall_s / decode.wall_s, whole.wall_s, decode.wall_s));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, whole, decode) = pairs[PAIRS / 2];
    println!("{}, {threads} threads, median of {PAIRS} pairs", clip.display());
    println!(
        "analyse / decode every frame: {ratio:.2} ({whole:.2} s / {decode:.2} s), from {:.2} to {:.2}",
        pairs[0].0,
        pairs[PAIRS - 1].0
    );
    // Unlike the wall clock it does not depend on who else uses the machine.
    println!("the same by processor time: {:.2}", cpu_whole_s / cpu_decode_s);
    println!("peak memory: {} MB", peak_memory_mb()?);
    Ok(())
}

/// What some work took.
struct Took {
    wall_s: f64,
    /// Of all threads together.
    cpu_s: f64,
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Took> {
    let (start, cpu_s) = (Instant::now(), cpu_s()?);
    work()?;
    Ok(Took {
        wall_s: start.elapsed().as_secs_f64(),
        cpu_s: self::cpu_s()? - cpu_s,
    })
}

/// Clock ticks a second in `/proc`: `USER_HZ`, 100 on every Linux that Rust runs on.
const TICKS_PER_S: f64 = 100.0;

/// Processor time of this process so far, user and system, seconds (proc(5), fields 14 and 15 of `stat`).
fn cpu_s() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field, the program's name, ends with the last bracket.
    let (_, rest) = stat.rsplit_once(')').context("stat has no program name")?;
    let ticks: f64 = rest
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|t| t.parse::<f64>().ok())
        .sum();
    Ok(ticks / TICKS_PER_S)
}

/// Largest resident size of this process so far, from the kernel.
fn peak_memory_mb() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .context("the kernel tells no peak")?;
    let kb: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kb / 1024)
}
