//! Pictures of a recording without decoding it all: a few for finding the table, or every keyframe for finding where something
//! moves.

use std::path::{Path, PathBuf};

use ffmpeg::codec::packet;
use ffmpeg::{Packet, decoder, frame};
use ffmpeg_next as ffmpeg;

use super::error::Error;
use super::picture::Pictures;
use super::recording::Recording;
use super::source::Source;
use crate::frame::Frame;
use crate::units::{FrameNo, Timestamp};

/// Packets marked as keyframes that may fail to decode in a row before the search is given up; some writers mark every packet.
const MAX_TRIES: usize = 64;

/// Up to `max` keyframes spread evenly over the file, in time order; the first is the recording's first frame. Times are the
/// recording's own; numbers count the frames returned, since a seek passes over an unknown number of frames. Costs one seek and
/// one decoded picture for each; keyframes further apart than the spacing asked for give fewer pictures. Empty only for `max` = 0.
///
/// # Errors
/// See [`Error`]: the file cannot be opened, or no frame of it decodes.
pub fn sample_keyframes(path: &Path, max: usize) -> Result<Vec<Frame>, Error> {
    let mut scan = Keyframes::open(path)?;
    if max == 0 {
        return Ok(Vec::new());
    }
    match (scan.zero, scan.source.secs_per_tick, scan.source.duration_s) {
        (Some(zero), Some(tick_s), Some(duration_s)) => scan.spread(zero as f64 * tick_s, duration_s, max),
        _ => scan.thinned(max),
    }
}

/// Every keyframe of a recording in time order, beginning with its first frame. The whole file is read, only keyframes are
/// decoded.
pub struct Keyframes {
    path: PathBuf,
    source: Source,
    decoder: decoder::Video,
    pictures: Pictures,
    first: Option<Frame>,
    /// The container's time of the first frame.
    zero: Option<i64>,
    /// The container's decoding time of the first packet, for containers that give no other.
    zero_decoding: Option<i64>,
    size: (usize, usize),
    last: Timestamp,
    n_frames: u64,
    /// Packets of the track read so far.
    n_packets: u64,
}

impl Keyframes {
    /// Opens the file and decodes its first frame.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let mut recording = Recording::open(path, 1)?;
        let first = recording.next_frame()?;
        let mut source = Source::open(path)?;
        let first_packet = source.next_packet().packet;
        Ok(Self {
            decoder: source.decoder(path, 1, true)?,
            pictures: Pictures::new(source.turn),
            path: path.to_path_buf(),
            zero: recording.first_tick(),
            zero_decoding: first_packet.and_then(|packet| packet.dts()),
            size: (recording.info().width, recording.info().height),
            first,
            last: Timestamp::ZERO,
            n_frames: 1,
            n_packets: 1,
            source,
        })
    }

    /// The next keyframe; `None` at the end. Times are the recording's own and increase strictly; numbers count the frames
    /// returned. All images have one size.
    ///
    /// # Errors
    /// [`Error::Pixels`] when a picture cannot be converted. Keyframes that do not decode are passed over.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, Error> {
        if let Some(first) = self.first.take() {
            return Ok(Some(first));
        }
        while let Some((picture, at)) = self.next_key() {
            if let Some(frame) = self.place(picture, at)? {
                return Ok(Some(frame));
            }
        }
        Ok(None)
    }

    /// The next keyframe that decodes, and its time.
    fn next_key(&mut self) -> Option<(frame::Video, Timestamp)> {
        let mut tries = 0;
        while tries < MAX_TRIES {
            let packet = self.source.next_packet().packet?;
            let at = self.time(&packet);
            self.n_packets += 1;
            if at <= self.last || !packet.is_key() || packet.flags().contains(packet::Flags::CORRUPT) {
                continue;
            }
            tries += 1;
            if let Some(picture) = self.decode(&packet) {
                return Some((picture, at));
            }
        }
        None
    }

    /// One packet through the decoder, alone.
    fn decode(&mut self, packet: &Packet) -> Option<frame::Video> {
        let mut decoded = frame::Video::empty();
        let result = self
            .decoder
            .send_packet(packet)
            .and_then(|()| self.decoder.send_eof())
            .and_then(|()| self.decoder.receive_frame(&mut decoded));
        self.decoder.flush();
        (result.is_ok() && !decoded.is_corrupt() && !decoded.has_decode_errors()).then_some(decoded)
    }

    /// Time of a keyframe's packet: shown when it is decoded, as pictures that depend on it follow.
    fn time(&self, packet: &Packet) -> Timestamp {
        let since = |tick: Option<i64>, zero: Option<i64>| {
            let ticks = i128::from(tick?) - i128::from(zero?);
            Some(ticks as f64 * self.source.secs_per_tick?)
        };
        let shown_s = since(packet.pts(), self.zero);
        let decoded_s = since(packet.dts(), self.zero_decoding);
        let counted_s = self.n_packets as f64 * self.source.period_s();
        Timestamp::saturating(shown_s.or(decoded_s).unwrap_or(counted_s))
    }

    /// A keyframe as a frame if it has the first one's size.
    fn place(&mut self, picture: frame::Video, at: Timestamp) -> Result<Option<Frame>, Error> {
        let format = picture.format();
        let image = self.pictures.image(picture).map_err(|source| Error::Pixels {
            path: self.path.clone(),
            format: format!("{format:?}"),
            source,
        })?;
        if (image.width(), image.height()) != self.size {
            return Ok(None);
        }
        self.last = at;
        let no = FrameNo(self.n_frames);
        self.n_frames += 1;
        Ok(Some(Frame { no, at, image }))
    }

    /// Seeks to `max` places at even distances. `start_s`: the container's time of the first frame.
    fn spread(&mut self, start_s: f64, duration_s: f64, max: usize) -> Result<Vec<Frame>, Error> {
        let mut frames: Vec<Frame> = self.first.take().into_iter().collect();
        for i in 1..max {
            let at_s = duration_s * i as f64 / max as f64;
            if at_s <= self.last.secs() {
                continue;
            }
            if self.source.seek(start_s + at_s) {
                frames.extend(self.next_frame()?);
            }
        }
        Ok(frames)
    }

    /// Reads to the end, keeping every n-th keyframe with n doubled whenever there are too many: for files whose length or
    /// times are not known.
    fn thinned(&mut self, max: usize) -> Result<Vec<Frame>, Error> {
        let mut frames: Vec<Frame> = Vec::new();
        let (mut step, mut seen) = (1usize, 0usize);
        while let Some(frame) = self.next_frame()? {
            if frames.len() == max && seen.is_multiple_of(step) {
                let mut place = 0;
                frames.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                step = step.saturating_mul(2);
            }
            if frames.len() < max && seen.is_multiple_of(step) {
                frames.push(frame);
            }
            seen += 1;
        }
        Ok(frames)
    }
}
