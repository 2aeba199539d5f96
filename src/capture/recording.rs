//! A recording read from front to back, every frame.

use std::path::Path;

use ffmpeg::codec::packet;
use ffmpeg::error::EAGAIN;
use ffmpeg::{Packet, decoder, frame};
use ffmpeg_next as ffmpeg;

use super::clock::{Clock, MAX_REORDERED, Placed};
use super::error::Error;
use super::picture::Pictures;
use super::report::{CaptureReport, Reason, SizeChange, SourceInfo, Truncation};
use super::source::{self, Source};
use crate::frame::Frame;
use crate::units::{FrameNo, Timestamp};

/// Decoder errors in a row without one frame between them after which the rest is given up, some 15 s of pictures at 60
/// frames/s: what follows is hardly a recording, and a decoder may report for ever.
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

/// Pictures by which encoders in common use reorder (x264 by 2 at its default settings, hardware by less).
const USUALLY_REORDERED: u32 = 4;

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
    jump: Jump,
    /// A packet that was read to see where a seek led.
    peeked: Option<Packet>,
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

/// Where reading stands after a seek.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    /// Reading on.
    None,
    /// Pictures before the keyframe depend on some that were passed over.
    ToKeyframe,
    /// The seek led back: pictures up to the last one handed on are known.
    ToNew,
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
    /// Opens the file and decodes its first frame. `threads`: decoder threads, at least 1. Frames do not depend on their number.
    /// With more than one the H.264 decoder may hand a picture on before another thread has noted damage in it, so a slightly
    /// damaged picture can go unnoticed.
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
            jump: Jump::None,
            peeked: None,
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

    /// Passes over what lies before `at`: the next frame is a keyframe not after `at`, as a rule the last, or simply the next frame
    /// when that keyframe has been passed already. True when it was a jump. Only forward, and only in containers whose times and
    /// index can be relied on (MP4, MOV, Matroska, `WebM`); elsewhere nothing is passed over. After a jump frame numbers go on from
    /// the nominal rate's, never backward; the stretch passed over is not reported as a gap.
    pub fn skip_to(&mut self, at: Timestamp) -> bool {
        let Some(last) = self.last else {
            return false;
        };
        if self.stage != Stage::Reading || at <= last || !self.source.seeks_exactly() || !self.land_before(at) {
            return false;
        }
        self.decoder.flush();
        self.newest_tick = None;
        self.jump = Jump::ToKeyframe;
        self.report.frames -= u64::from(self.first.take().is_some());
        true
    }

    /// Seeks so that the next packet is a keyframe shown at or before `at`. The libraries may search by decoding times (they do in
    /// fragmented files), which lie up to the reordering depth before the times shown; then earlier ones follow.
    fn land_before(&mut self, at: Timestamp) -> bool {
        let Some(start_s) = self.clock.start_s() else {
            return false;
        };
        let earlier_s = |pictures: u32| (at.secs() - f64::from(pictures) * self.clock.period_s()).max(0.0);
        for place_s in [at.secs(), earlier_s(USUALLY_REORDERED), earlier_s(MAX_REORDERED), 0.0] {
            if !self.source.seek(start_s + place_s) {
                return false;
            }
            self.peeked = self.source.next_packet().packet;
            let shown_s = self.peeked.as_ref().and_then(|p| self.clock.seconds(p.pts()?));
            if shown_s.is_some_and(|s| s <= at.secs()) {
                break;
            }
        }
        true
    }

    /// The container's time of the first frame.
    pub(super) fn first_tick(&self) -> Option<i64> {
        self.clock.first_tick()
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
                    self.errors_in_a_row += 1;
                    if self.errors_in_a_row > MAX_ERRORS_IN_A_ROW {
                        self.finish();
                    }
                }
            }
        }
        Ok(None)
    }

    /// Gives the decoder one packet, or tells it that there are no more.
    fn feed(&mut self) {
        let Some(packet) = self.peeked.take().or_else(|| self.next_packet()) else {
            self.stage = Stage::Draining;
            if self.decoder.send_eof().is_err() {
                self.finish();
            }
            return;
        };
        self.newest_tick = self.newest_tick.max(packet.pts().or(packet.dts()));
        let is_damaged = packet.flags().contains(packet::Flags::CORRUPT);
        if is_damaged && self.source.damaged_is_short() {
            // at a cut this is the packet that it goes through, and part of what is reported as missing
            if self.source.shape.missing_bytes == 0 {
                self.note_damaged_packet();
            }
        } else if self.decoder.send_packet(&packet).is_err() || is_damaged {
            self.note_damaged_packet();
        }
    }

    fn next_packet(&mut self) -> Option<Packet> {
        let next = self.source.next_packet();
        if next.n_errors > 0 {
            self.note_damage(self.newest_tick);
        }
        next.packet
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
        let has_jumped = self.jump != Jump::None;
        if has_jumped && !self.lands(&decoded) {
            return Ok(None);
        }
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
        if !has_jumped {
            self.watch_gap(&decoded, at);
        }
        self.watch_damage(&decoded, at);
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

    /// Whether a picture after a seek is the first to hand on; if so, counting goes on from its time.
    fn lands(&mut self, decoded: &frame::Video) -> bool {
        let Some(at_s) = decoded.timestamp().and_then(|tick| self.clock.seconds(tick)) else {
            return false;
        };
        if self.jump == Jump::ToKeyframe && decoded.is_key() {
            self.jump = Jump::ToNew;
        }
        if self.jump == Jump::ToKeyframe || self.last.is_some_and(|last| at_s <= last.secs()) {
            return false;
        }
        self.jump = Jump::None;
        self.next_no = self.next_no.max((at_s / self.clock.period_s()).round() as u64);
        true
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

    fn watch_gap(&mut self, decoded: &frame::Video, at: Timestamp) {
        if let Some(last) = self.last
            && at.since(last) > GAP_S.max(GAP_PERIODS * self.clock.period_s())
        {
            self.report.doubt(last, at, Reason::Gap);
            if self.source.may_lose_packets() {
                self.note_damage(decoded.timestamp());
            }
        }
    }

    fn finish(&mut self) {
        self.stage = Stage::Done;
        let Some(last) = self.last else { return };
        if let Some(damage) = self.damage.take().filter(|damage| damage.from < last) {
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
