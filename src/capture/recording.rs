//! A recording read from front to back, every frame.

use std::path::Path;

use ffmpeg::codec::packet;
use ffmpeg::error::EAGAIN;
use ffmpeg::{Packet, decoder, frame};
use ffmpeg_next as ffmpeg;

use super::clock::{Clock, Placed};
use super::error::Error;
use super::picture::Pictures;
use super::report::{CaptureReport, Reason, SizeChange, SourceInfo, Truncation};
use super::source::{self, Source};
use crate::frame::Frame;
use crate::units::{FrameNo, Timestamp};

/// Errors in a row without one packet or frame between them after which the rest is given up: a demuxer that finds nothing more
/// may report so for ever.
const MAX_ERRORS_IN_A_ROW: u32 = 1_000;

/// Frames further apart than this have a gap between them (when it is also [`GAP_PERIODS`] long). In 0.1 s a ball of a break
/// shot (10 m/s) crosses a table's width: contacts can have gone unseen.
const GAP_S: f64 = 0.1;

/// Frame periods beyond which an interval is a gap: more than one frame in a row is missing.
const GAP_PERIODS: f64 = 2.5;

/// Frame periods that may lie between what a container promises and what is read, for rounding and the last frame's length.
const END_SLACK_PERIODS: f64 = 1.5;

/// Seconds by which the length in a header may be off although nothing is missing: writers round it, or count a sound track's
/// lead-in of a few hundredths of a second.
const HEADER_SLACK_S: f64 = 0.25;

/// Frames of another size that are left out before the size is taken to have changed for good; a damaged header can make one or
/// two. In frames because their times cannot be trusted either.
const FOREIGN_FRAMES: u32 = 8;

/// An open recording.
pub struct Recording {
    source: Source,
    decoder: decoder::Video,
    pictures: Pictures,
    clock: Clock,
    info: SourceInfo,
    report: CaptureReport,
    first: Option<Frame>,
    size: Option<(u32, u32)>,
    foreign: u32,
    next_no: u64,
    last: Option<Timestamp>,
    /// How long the last frame is shown, in seconds.
    last_shown_s: f64,
    damage: Option<Damage>,
    /// The latest container time given to the decoder.
    newest_tick: Option<i64>,
    errors_in_a_row: u32,
    stage: Stage,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Reading,
    /// The file is at its end; the decoder still holds pictures.
    Draining,
    Done,
}

/// Damage whose end has not been seen.
#[derive(Debug, Clone, Copy)]
struct Damage {
    /// The last good frame.
    from: Timestamp,
    /// The container's time up to which packets may be affected: a decoder reports an error before it hands out the sound
    /// pictures that it still holds.
    until_tick: Option<i64>,
}

impl Recording {
    /// Opens the file and decodes its first frame. `threads`: decoder threads, at least 1.
    ///
    /// # Errors
    /// See [`Error`]; every error names the file and what to do. A file of which at least one frame decodes opens.
    pub fn open(path: &Path, threads: usize) -> Result<Self, Error> {
        let source = Source::open(path)?;
        let decoder = source.decoder(path, threads, false)?;
        let info = SourceInfo {
            path: path.to_path_buf(),
            bytes: source.shape.bytes,
            container: source.input.format().name().to_owned(),
            codec: source.codec.clone(),
            width: 0,
            height: 0,
            pixel_aspect: 1.0,
            duration_s: source.duration_s,
            nominal_fps: source.fps,
            n_frames_hint: source.n_frames,
        };
        let mut recording = Self {
            pictures: Pictures::new(source.turn),
            clock: Clock::new(source.secs_per_tick, source.period_s()),
            report: CaptureReport::new(path.to_path_buf()),
            first: None,
            size: None,
            foreign: 0,
            next_no: 0,
            last: None,
            last_shown_s: 0.0,
            damage: None,
            newest_tick: None,
            errors_in_a_row: 0,
            stage: Stage::Reading,
            source,
            decoder,
            info,
        };
        let Some(first) = recording.decode()? else {
            return Err(Error::NoFrames {
                path: path.to_path_buf(),
            });
        };
        if recording.source.duration_is_end()
            && let (Some(end_s), Some(start_s)) = (recording.info.duration_s, recording.clock.start_s())
        {
            recording.info.duration_s = Some(end_s - start_s).filter(|&s| s > 0.0);
        }
        recording.info.width = first.image.width();
        recording.info.height = first.image.height();
        recording.first = Some(first);
        Ok(recording)
    }

    /// What the recording is.
    pub fn info(&self) -> &SourceInfo {
        &self.info
    }

    /// What was read and lost so far; complete once [`Self::next_frame`] has returned `None`.
    pub fn report(&self) -> CaptureReport {
        let mut report = self.report.clone();
        // the first frame is decoded on opening and counts once it is handed on
        report.frames -= u64::from(self.first.is_some());
        report
    }

    /// The next frame in order of presentation; `None` at the end. Times increase strictly, the first is zero; a number left out
    /// is a frame that was dropped. All images have the size in [`Self::info`].
    ///
    /// # Errors
    /// [`Error::Pixels`] when a picture cannot be converted. Damage in the file is no error: see [`Self::report`].
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.decode(),
        }
    }

    fn decode(&mut self) -> Result<Option<Frame>, Error> {
        while self.stage != Stage::Done {
            let mut decoded = frame::Video::empty();
            match self.decoder.receive_frame(&mut decoded) {
                Ok(()) => {
                    self.errors_in_a_row = 0;
                    if let Some(frame) = self.admit(decoded)? {
                        return Ok(Some(frame));
                    }
                }
                Err(ffmpeg::Error::Other { errno: EAGAIN }) if self.stage == Stage::Reading => self.feed(),
                Err(ffmpeg::Error::Eof | ffmpeg::Error::Other { errno: EAGAIN }) => self.finish(),
                Err(_) => {
                    self.note_damaged_packet();
                    if self.too_many_errors() {
                        self.finish();
                    }
                }
            }
        }
        Ok(None)
    }

    /// Gives the decoder one packet, or tells it that there are no more.
    fn feed(&mut self) {
        loop {
            let mut packet = Packet::empty();
            match packet.read(&mut self.source.input) {
                Ok(()) => {
                    self.errors_in_a_row = 0;
                    if packet.stream() != self.source.stream {
                        continue;
                    }
                    self.newest_tick = self.newest_tick.max(packet.pts().or(packet.dts()));
                    let is_damaged = packet.flags().contains(packet::Flags::CORRUPT);
                    let is_refused = is_damaged && self.source.damaged_is_short() || self.decoder.send_packet(&packet).is_err();
                    if is_damaged || is_refused {
                        self.note_damaged_packet();
                    }
                    return;
                }
                // the demuxer has gone past the damage and can go on
                Err(ffmpeg::Error::InvalidData) if !self.too_many_errors() => self.note_damage(self.newest_tick),
                Err(_) => {
                    self.stage = Stage::Draining;
                    if self.decoder.send_eof().is_err() {
                        self.finish();
                    }
                    return;
                }
            }
        }
    }

    /// A decoded picture becomes a frame if it has a place in time and the right size.
    fn admit(&mut self, decoded: frame::Video) -> Result<Option<Frame>, Error> {
        let size = (decoded.width(), decoded.height());
        if self.size.is_none() {
            let aspect = source::positive(decoded.aspect_ratio()).unwrap_or(1.0);
            self.info.pixel_aspect = if self.source.turn.swaps_sides() {
                aspect.recip()
            } else {
                aspect
            };
        }
        let expected = *self.size.get_or_insert(size);
        if size != expected {
            self.foreign += 1;
            self.note_damage(decoded.timestamp());
            if self.foreign > FOREIGN_FRAMES {
                let wide = |(w, h): (u32, u32)| (w as usize, h as usize);
                self.report.size_change = Some(SizeChange {
                    at: self.last.unwrap_or(Timestamp::ZERO),
                    from: wide(expected),
                    to: wide(size),
                });
                self.damage = None;
                self.finish();
            }
            return Ok(None);
        }
        self.foreign = 0;
        let no = FrameNo(self.next_no);
        self.next_no += 1;
        let at = match self.clock.place(decoded.timestamp()) {
            Placed::At(at) => at,
            Placed::Guessed(at) => {
                // AVI times belong to packets, so the pictures that the decoder holds back at the end have none: no loss
                self.report.guessed_time += u64::from(self.stage == Stage::Reading);
                at
            }
            Placed::Reset(at) => {
                self.newest_tick = decoded.timestamp();
                self.report
                    .doubt(self.last.unwrap_or(Timestamp::ZERO), at, Reason::ClockReset);
                at
            }
            Placed::Behind => {
                self.report.dropped_bad_time += 1;
                return Ok(None);
            }
        };
        self.watch_damage(&decoded, at);
        self.watch_gap(at);
        self.last_shown_s = match (self.source.secs_per_tick, decoded.packet().duration) {
            (Some(tick_s), ticks) if ticks > 0 => ticks as f64 * tick_s,
            _ => self.clock.period_s(),
        };
        let format = decoded.format();
        let image = self.pictures.image(decoded).map_err(|source| Error::Pixels {
            path: self.info.path.clone(),
            format: format!("{format:?}"),
            source,
        })?;
        self.last = Some(at);
        self.report.frames += 1;
        Ok(Some(Frame { no, at, image }))
    }

    fn note_damaged_packet(&mut self) {
        self.report.damaged_packets += 1;
        self.note_damage(self.newest_tick);
    }

    fn note_damage(&mut self, until_tick: Option<i64>) {
        let from = self.last.unwrap_or(Timestamp::ZERO);
        let damage = self.damage.get_or_insert(Damage { from, until_tick });
        damage.until_tick = damage.until_tick.max(until_tick);
    }

    fn too_many_errors(&mut self) -> bool {
        self.errors_in_a_row += 1;
        self.errors_in_a_row > MAX_ERRORS_IN_A_ROW
    }

    /// Damage lasts until a sound picture that depends on no other.
    fn watch_damage(&mut self, decoded: &frame::Video, at: Timestamp) {
        let is_damaged = decoded.is_corrupt() || decoded.has_decode_errors();
        if is_damaged {
            self.report.damaged_frames += 1;
            self.note_damage(decoded.timestamp());
        }
        if let Some(damage) = self.damage
            && decoded.is_key()
            && !is_damaged
            && decoded.timestamp() >= damage.until_tick
        {
            self.report.doubt(damage.from, at, Reason::Damaged);
            self.damage = None;
        }
    }

    fn watch_gap(&mut self, at: Timestamp) {
        if let Some(last) = self.last
            && at.since(last) > GAP_S.max(GAP_PERIODS * self.clock.period_s())
        {
            self.report.doubt(last, at, Reason::Gap);
        }
    }

    fn finish(&mut self) {
        self.stage = Stage::Done;
        let Some(last) = self.last else { return };
        if let Some(damage) = self.damage.take() {
            self.report.doubt(damage.from, last, Reason::Damaged);
        }
        if self.report.size_change.is_some() {
            return;
        }
        let read_s = last.secs() + self.last_shown_s;
        // a fragmented file knows of the fragments that are there only
        let expected_s = self.info.duration_s.filter(|_| !self.source.shape.is_fragmented);
        let missing_bytes = self.source.shape.missing_bytes;
        let missing_s = expected_s.map(|s| s - read_s);
        let end_slack_s = END_SLACK_PERIODS * self.clock.period_s();
        let structure_is_cut = missing_bytes > 0 && missing_s.is_none_or(|s| s > end_slack_s);
        let time_falls_short = self.source.duration_is_tracks && missing_s.is_some_and(|s| s > HEADER_SLACK_S.max(end_slack_s));
        if structure_is_cut || time_falls_short {
            self.report.truncated = Some(Truncation {
                read_s,
                expected_s,
                missing_bytes,
            });
        }
    }
}
