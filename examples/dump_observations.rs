//! Writes what the detector sees in each frame of a video as JSON lines, for work on tracking and events.
//!
//! `cargo run --release --example dump_observations -- VIDEO CALIBRATION.toml > OUT.jsonl`
//!
//! One line a frame: `{"no":0,"t":0.0,"in_view":true,"balls":[{"kinds":[["white",0.98],…],"x":…,"y":…,"cov":[xx,xy,yy],
//! "coverage":…}]}`, metres and square metres on the table.
#![allow(clippy::print_stdout)]

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use cuemark::ball::CAROM_BALLS;
use cuemark::capture::{Recording, sample_keyframes};
use cuemark::detect::Detector;
use cuemark::space::Camera;
use cuemark::table::Table;
use nalgebra::{Point2, Vector3};

/// Pictures from which the detector learns.
const SAMPLES: usize = 24;

fn main() -> Result<()> {
    if let Some(level) = std::env::var("DETECT_LOG")
        .ok()
        .and_then(|l| l.parse::<tracing::Level>().ok())
    {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .init();
    }
    let mut args = std::env::args().skip(1);
    let video = args.next().context("usage: dump_observations VIDEO CALIBRATION.toml")?;
    let calibration = args.next().context("usage: dump_observations VIDEO CALIBRATION.toml")?;
    let (camera, table) = read_camera(&calibration)?;
    let path = std::path::Path::new(&video);
    let samples = sample_keyframes(path, SAMPLES)?;
    let start = Instant::now();
    let mut detector = Detector::new(&camera, &table, &CAROM_BALLS, &samples)?;
    eprintln!("learning {:.1} ms {detector:?}", start.elapsed().as_secs_f64() * 1e3);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut spent, mut n) = (Duration::ZERO, 0);
    let mut recording = Recording::open(path, 1)?;
    while let Some(frame) = recording.next_frame()? {
        let start = Instant::now();
        let seen = detector.detect(&frame);
        spent += start.elapsed();
        n += 1;
        let balls: Vec<_> = seen
            .balls
            .iter()
            .map(|b| {
                let kinds: Vec<_> = b
                    .kinds
                    .iter()
                    .map(|(k, p)| serde_json::json!([k.to_string(), p.get()]))
                    .collect();
                serde_json::json!({"kinds": kinds, "x": b.at.x(), "y": b.at.y(),
                    "cov": [b.covariance[(0, 0)], b.covariance[(0, 1)], b.covariance[(1, 1)]], "coverage": b.coverage})
            })
            .collect();
        writeln!(
            out,
            "{}",
            serde_json::json!({"no": seen.no.0, "t": seen.at.secs(), "in_view": seen.table_in_view, "balls": balls})
        )?;
    }
    out.flush()?;
    eprintln!(
        "{n} frames, {:.3} ms a frame",
        spent.as_secs_f64() * 1e3 / f64::from(n.max(1))
    );
    Ok(())
}

fn read_camera(path: &str) -> Result<(Camera, Table)> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    let toml: toml::Table = text.parse().with_context(|| format!("parsing {path}"))?;
    let number = |v: &toml::Value| v.as_float().or_else(|| v.as_integer().map(|i| i as f64));
    let get = |section: &str, key: &str| {
        toml.get(section)
            .and_then(|s| s.get(key))
            .cloned()
            .ok_or_else(|| anyhow!("{path}: no {section}.{key}"))
    };
    let scalar =
        |section: &str, key: &str| number(&get(section, key)?).ok_or_else(|| anyhow!("{path}: {section}.{key} is no number"));
    let list = |section: &str, key: &str| -> Result<Vec<f64>> {
        let values = get(section, key)?;
        let values = values
            .as_array()
            .ok_or_else(|| anyhow!("{path}: {section}.{key} is no list"))?;
        Ok(values.iter().filter_map(number).collect())
    };
    let centre = list("camera", "centre_px")?;
    let (r, t) = (list("camera", "rotation_vector")?, list("camera", "translation_m")?);
    let (&[cx, cy], &[rx, ry, rz], &[tx, ty, tz]) = (&centre[..], &r[..], &t[..]) else {
        return Err(anyhow!("{path}: wrong number of values"));
    };
    let camera = Camera::new(
        scalar("image", "width_px")? as u32,
        scalar("image", "height_px")? as u32,
        scalar("camera", "focal_px")?,
        Point2::new(cx, cy),
        scalar("camera", "k1")?,
        scalar("camera", "k2")?,
        Vector3::new(rx, ry, rz),
        Vector3::new(tx, ty, tz),
    )
    .ok_or_else(|| anyhow!("{path}: not a camera"))?;
    let table = Table {
        length_m: scalar("table", "length_m")?,
        width_m: scalar("table", "width_m")?,
        ball_radius_m: scalar("table", "ball_radius_m")?,
        nose_height_m: scalar("table", "nose_height_m")?,
        cushion_width_m: scalar("table", "cushion_width_m")?,
        ..Table::CAROM
    };
    Ok((camera, table))
}
