//! How long the main job takes against decoding every frame of the same clip in this process with the same threads, and
//! the peak of memory. Ratios are taken pairwise in one run, so that a busy machine slows both sides.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

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
        pairs.push((whole.as_secs_f64() / decode.as_secs_f64(), whole, decode));
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (ratio, whole, decode) = pairs[PAIRS / 2];
    println!("{}, {threads} threads, median of {PAIRS} pairs", clip.display());
    println!(
        "analyse / decode every frame: {ratio:.2} ({:.2} s / {:.2} s), from {:.2} to {:.2}",
        whole.as_secs_f64(),
        decode.as_secs_f64(),
        pairs[0].0,
        pairs[PAIRS - 1].0
    );
    println!("peak memory: {} MB", peak_memory_mb()?);
    Ok(())
}

fn timed(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
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
