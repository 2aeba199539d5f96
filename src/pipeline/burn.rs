//! The second pass: graphics burnt into the recording of an analysed match.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::Error;
use super::progress::Screen;
use crate::calibration;
use crate::capture::Recording;
use crate::overlay::{Encoder, Painter};
use crate::rules::BySeat;
use crate::sinks::folder::{self, partial};
use crate::sinks::wire::Header;
use crate::sinks::{result, summary};

/// What to burn, and where to.
#[derive(Debug, Clone)]
pub struct Burn {
    /// Result folder of an analysis.
    pub dir: PathBuf,
    /// The video to write.
    pub out: PathBuf,
    /// The recording; `None`: where it lay when it was analysed.
    pub video: Option<PathBuf>,
    /// Threads for decoding and for encoding, at least 1.
    pub threads: usize,
    /// First second of the recording to show.
    pub from_s: Option<f64>,
    /// Last second of the recording to show.
    pub to_s: Option<f64>,
}

/// Writes the video under a name that ends in `.partial` and gives it its own name when it is whole.
///
/// # Errors
/// When the result or the recording cannot be read, or the video cannot be written; the partial file is removed then.
pub fn burn(job: &Burn, screen: &Screen, stop: &AtomicBool) -> Result<(), Error> {
    let recorded = result::read(&job.dir)?;
    let calibration = calibration::load(&job.dir.join(folder::CALIBRATION))?;
    let video = match &job.video {
        Some(video) => video.clone(),
        None => PathBuf::from(summary::read_video(&job.dir.join(folder::SUMMARY))?),
    };
    let mut recording = Recording::open(&video, job.threads)?;
    check_same(&recorded.header, &video, recording.info().bytes)?;
    let names = recorded
        .header
        .players
        .map_or_else(BySeat::default, |p| BySeat { a: p.A, b: p.B });
    let mut painter = Painter::new(
        &calibration.camera,
        &calibration.table,
        recorded.shots,
        recorded.rulings,
        names,
    )?;

    let written = write(job, &mut recording, &mut painter, screen, stop);
    if written.is_err() {
        // Best effort: the error that ended the run is the one to report.
        let _ = std::fs::remove_file(partial(&job.out));
    }
    written?;
    folder::name_whole(&job.out)?;
    Ok(())
}

fn write(job: &Burn, recording: &mut Recording, painter: &mut Painter, screen: &Screen, stop: &AtomicBool) -> Result<(), Error> {
    let name = job.out.file_name().unwrap_or(job.out.as_os_str()).to_string_lossy();
    let progress = screen.bar(&name, job.to_s.or(recording.info().duration_s));
    let fps = recording.info().nominal_fps;
    let mut encoder = None;
    let mut first_at = None;
    while let Some(frame) = recording.next_frame()? {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::OverlayInterrupted { at_s: frame.at.secs() });
        }
        if job.from_s.is_some_and(|from_s| frame.at.secs() < from_s) {
            continue;
        }
        if job.to_s.is_some_and(|to_s| frame.at.secs() > to_s) {
            break;
        }
        let picture = painter.paint(&frame)?;
        let encoder = match &mut encoder {
            Some(encoder) => encoder,
            none => none.insert(Encoder::create(&partial(&job.out), picture, fps, job.threads)?),
        };
        // The video starts with its first picture, wherever that lies in the recording.
        let first_at = *first_at.get_or_insert(frame.at);
        encoder.write(picture, crate::units::Timestamp::saturating(frame.at.since(first_at)))?;
        progress.seen(frame.at);
    }
    let duration_s = recording.info().duration_s.unwrap_or(0.0);
    let encoder = encoder.ok_or_else(|| Error::NothingInRange {
        video: recording.info().path.clone(),
        duration_s,
    })?;
    Ok(encoder.finish()?)
}

/// Rings on another recording would be wrong without anybody noticing at once.
fn check_same(header: &Header, video: &Path, bytes: u64) -> Result<(), Error> {
    if bytes == header.source_bytes {
        return Ok(());
    }
    Err(Error::OtherVideo {
        video: video.to_owned(),
        expected: format!("{}, {} bytes", header.source, header.source_bytes),
    })
}
