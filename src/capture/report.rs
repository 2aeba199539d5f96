//! What a recording is, and what was lost while reading it.

use std::path::PathBuf;

use crate::units::Timestamp;

/// Doubtful stretches kept apart; more are merged into the last, so that none is forgotten.
const MAX_DOUBTFUL: usize = 1_000;

/// What a recording says about itself, and its first frame shows.
#[derive(Debug, Clone)]
pub struct SourceInfo {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Container as the ffmpeg libraries call it, such as `mov,mp4,m4a,3gp,3g2,mj2`.
    pub container: String,
    /// Codec as the ffmpeg libraries call it, such as `h264`.
    pub codec: String,
    /// Pixels across, upright (after the rotation that the container asks for).
    pub width: usize,
    /// Pixels down, upright.
    pub height: usize,
    /// Width over height of one upright pixel; 1 when the container does not say.
    pub pixel_aspect: f64,
    /// Length of the video track that the container promises, in seconds.
    pub duration_s: Option<f64>,
    /// Mean frames per second that the container names. For arithmetic on times use the frames' own.
    pub nominal_fps: Option<f64>,
    /// Frames that the container promises; edit lists may show fewer.
    pub n_frames_hint: Option<u64>,
}

/// Why a stretch cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Packets were damaged: frames are missing or partly wrong until the next picture that depends on no other.
    Damaged,
    /// No frame for clearly longer than the frame period.
    Gap,
    /// The source's clock was set back: the time between these frames is not known.
    ClockReset,
}

/// A stretch of the recording that cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doubtful {
    /// The last good frame before.
    pub from: Timestamp,
    /// The first good frame after.
    pub to: Timestamp,
    /// Why.
    pub reason: Reason,
}

/// A recording that ends before it should.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Truncation {
    /// Seconds that could be read.
    pub read_s: f64,
    /// Seconds that the container promises; `None` when it makes no promise in time.
    pub expected_s: Option<f64>,
    /// Bytes that the container promises and the file lacks; 0 when only the time falls short.
    pub missing_bytes: u64,
}

/// Reading stopped because the pictures changed their size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeChange {
    /// The last frame of the first size.
    pub at: Timestamp,
    /// Width and height before, in pixels, as coded (before rotation).
    pub from: (usize, usize),
    /// Width and height after.
    pub to: (usize, usize),
}

/// What has been read so far, and what was lost.
#[derive(Debug, Clone)]
pub struct CaptureReport {
    /// The file.
    pub path: PathBuf,
    /// Frames handed on.
    pub frames: u64,
    /// Packets that the container marks as damaged or the decoder refused; each may be a frame.
    pub damaged_packets: u64,
    /// Frames handed on in which the decoder had to patch over damage.
    pub damaged_frames: u64,
    /// Frames left out because their time did not come after the last frame's.
    pub dropped_bad_time: u64,
    /// Frames whose time the container did not give, placed one frame period after the last.
    pub guessed_time: u64,
    /// Stretches not to be trusted, in time order.
    pub doubtful: Vec<Doubtful>,
    /// Set at the end when the recording ends before it should.
    pub truncated: Option<Truncation>,
    /// Set when reading stopped at a change of size.
    pub size_change: Option<SizeChange>,
}

impl CaptureReport {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            frames: 0,
            damaged_packets: 0,
            damaged_frames: 0,
            dropped_bad_time: 0,
            guessed_time: 0,
            doubtful: Vec::new(),
            truncated: None,
            size_change: None,
        }
    }

    pub(super) fn doubt(&mut self, from: Timestamp, to: Timestamp, reason: Reason) {
        let is_full = self.doubtful.len() >= MAX_DOUBTFUL;
        match self.doubtful.last_mut() {
            Some(last) if is_full || (last.reason == reason && last.from <= from && from <= last.to) => {
                last.to = last.to.max(to);
            }
            _ => {
                // damage is known to be over only at its end, after gaps inside it
                let place = self.doubtful.partition_point(|d| d.from <= from);
                self.doubtful.insert(place, Doubtful { from, to, reason });
            }
        }
    }

    /// One line for each thing that went wrong, for a person: the file, what happened, what it means. Empty when all is well.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let path = self.path.display();
        if let Some(Truncation {
            read_s,
            expected_s,
            missing_bytes,
        }) = self.truncated
        {
            let what = if missing_bytes > 0 {
                "cut off"
            } else {
                "shorter than its header says"
            };
            let advice = "what could be read is used, copy the file again for the rest";
            lines.push(match expected_s {
                Some(expected_s) if expected_s > read_s => {
                    let missing_s = expected_s - read_s;
                    let percent = 100.0 * missing_s / expected_s;
                    format!(
                        "{path}: {what}: {read_s:.1} s of {expected_s:.1} s could be read, {missing_s:.1} s ({percent:.0} %) are missing; \
                         {advice}"
                    )
                }
                _ => format!("{path}: {what}: {read_s:.1} s could be read, at least {missing_bytes} bytes are missing; {advice}"),
            });
        }
        if let Some(SizeChange { at, from, to }) = self.size_change {
            lines.push(format!(
                "{path}: the picture changes from {}x{} to {}x{} after {:.1} s; what lies before is used, split the file there to analyse the rest",
                from.0,
                from.1,
                to.0,
                to.1,
                at.secs()
            ));
        }
        if self.damaged_packets + self.damaged_frames > 0 {
            lines.push(format!(
                "{path}: {} damaged packets and {} damaged frames in {} stretches; rulings that depend on them go to review",
                self.damaged_packets,
                self.damaged_frames,
                self.stretches(Reason::Damaged)
            ));
        }
        if self.stretches(Reason::Gap) > 0 {
            lines.push(format!(
                "{path}: {} gaps in time; rulings that depend on them go to review",
                self.stretches(Reason::Gap)
            ));
        }
        if self.stretches(Reason::ClockReset) > 0 {
            lines.push(format!(
                "{path}: its clock is set back {} times; rulings that depend on these places go to review",
                self.stretches(Reason::ClockReset)
            ));
        }
        if self.dropped_bad_time > 0 {
            lines.push(format!(
                "{path}: {} frames left out because their time does not come after the frame before; the rest is used",
                self.dropped_bad_time
            ));
        }
        if self.guessed_time > 0 {
            lines.push(format!(
                "{path}: {} frames without a time of their own, placed one frame period after the frame before",
                self.guessed_time
            ));
        }
        lines
    }

    fn stretches(&self, reason: Reason) -> usize {
        self.doubtful.iter().filter(|d| d.reason == reason).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> Timestamp {
        Timestamp::saturating(secs)
    }

    #[test]
    fn stretches_are_in_time_order_and_joined_where_they_touch() {
        let mut report = CaptureReport::new("a.mp4".into());
        report.doubt(at(2.0), at(2.5), Reason::Gap);
        report.doubt(at(1.0), at(3.0), Reason::Damaged);
        report.doubt(at(3.5), at(4.0), Reason::Gap);
        report.doubt(at(4.0), at(4.5), Reason::Gap);
        let stretches: Vec<_> = report
            .doubtful
            .iter()
            .map(|d| (d.from.secs(), d.to.secs(), d.reason))
            .collect();
        let expected = [(1.0, 3.0, Reason::Damaged), (2.0, 2.5, Reason::Gap), (3.5, 4.5, Reason::Gap)];
        assert_eq!(stretches, expected);
    }

    #[test]
    fn too_many_stretches_are_merged_not_forgotten() {
        let mut report = CaptureReport::new("a.mp4".into());
        for i in 0..2 * MAX_DOUBTFUL {
            report.doubt(at(i as f64), at(i as f64 + 0.5), Reason::Gap);
        }
        assert_eq!(report.doubtful.len(), MAX_DOUBTFUL);
        assert_eq!(
            report.doubtful.last().map(|d| d.to),
            Some(at(2.0 * MAX_DOUBTFUL as f64 - 0.5))
        );
    }

    #[test]
    fn a_cut_names_what_is_missing_in_seconds_and_per_cent() {
        let mut report = CaptureReport::new("a.mp4".into());
        report.truncated = Some(Truncation {
            read_s: 3.0,
            expected_s: Some(4.0),
            missing_bytes: 7,
        });
        let line = &report.warnings()[0];
        assert!(
            line.starts_with("a.mp4: cut off: 3.0 s of 4.0 s could be read, 1.0 s (25 %) are missing"),
            "{line}"
        );
    }
}
