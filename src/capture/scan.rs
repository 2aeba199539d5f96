//! A few pictures spread over a recording, for finding the table without decoding it all.

use std::path::Path;

use ffmpeg::codec::packet;
use ffmpeg::{Packet, decoder, frame};
use ffmpeg_next as ffmpeg;

use super::error::Error;
use super::picture::Pictures;
use super::recording::Recording;
use super::source::Source;
use crate::frame::Frame;
use crate::units::{FrameNo, Timestamp};

/// Packets marked as keyframes that may fail to decode before a place in the file is given up; some writers mark every packet.
const MAX_TRIES: usize = 8;

/// Demuxer errors at one place in the file before it is given up.
const MAX_ERRORS: usize = 100;

/// Ticks per second of the libraries' own clock, in which places to seek to are given.
const SEEK_TICKS_PER_S: f64 = ffmpeg::ffi::AV_TIME_BASE as f64;

/// Up to `max` keyframes spread evenly over the file, the first at its front, in time order. Times are the recording's own;
/// numbers count the frames returned, since a seek passes over an unknown number of frames. Costs one seek and one decoded picture
/// for each; keyframes further apart than the spacing asked for give fewer pictures. Where no keyframe decodes, the first frame
/// that does is returned alone, so that the result is empty only for `max` = 0.
///
/// # Errors
/// See [`Error`]: the file cannot be opened, or no frame of it decodes.
pub fn sample_keyframes(path: &Path, max: usize) -> Result<Vec<Frame>, Error> {
    let mut scan = Scan::open(path)?;
    if max == 0 {
        return Ok(Vec::new());
    }
    let Some(first) = scan.next_key(None) else {
        return Ok(Recording::open(path, 1)?.next_frame()?.into_iter().collect());
    };
    let keys = match (first.tick, scan.source.secs_per_tick, scan.source.duration_s) {
        (Some(zero), Some(tick_s), Some(duration_s)) => scan.spread(first, zero, tick_s, duration_s, max),
        _ => scan.thinned(first, max),
    };
    scan.frames(keys)
}

/// A decoded keyframe.
struct Key {
    picture: frame::Video,
    /// The container's time.
    tick: Option<i64>,
    /// Packets of the track before it, when reading from the front without a seek.
    n_before: u64,
}

struct Scan<'a> {
    path: &'a Path,
    source: Source,
    decoder: decoder::Video,
    pictures: Pictures,
    n_packets: u64,
}

impl<'a> Scan<'a> {
    fn open(path: &'a Path) -> Result<Self, Error> {
        let source = Source::open(path)?;
        Ok(Self {
            decoder: source.decoder(path, 1, true)?,
            pictures: Pictures::new(source.turn),
            n_packets: 0,
            path,
            source,
        })
    }

    /// The next keyframe that decodes and is later than `after` in ticks; `None` when there is none near.
    fn next_key(&mut self, after: Option<i64>) -> Option<Key> {
        let (mut tries, mut errors) = (0, 0);
        while tries < MAX_TRIES && errors < MAX_ERRORS {
            let mut packet = Packet::empty();
            match packet.read(&mut self.source.input) {
                Ok(()) => {}
                Err(ffmpeg::Error::InvalidData) => {
                    errors += 1;
                    continue;
                }
                Err(_) => return None,
            }
            if packet.stream() != self.source.stream {
                continue;
            }
            let n_before = self.n_packets;
            self.n_packets += 1;
            if !packet.is_key() || packet.flags().contains(packet::Flags::CORRUPT) {
                continue;
            }
            // places asked for closer together than keyframes are lead back to one that is known
            let tick = packet.pts().or(packet.dts());
            if tick.is_some() && tick <= after {
                return None;
            }
            tries += 1;
            if let Some(picture) = self.decode(&packet) {
                return Some(Key { picture, tick, n_before });
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

    /// Seeks to `max` places at even distances.
    fn spread(&mut self, first: Key, zero: i64, tick_s: f64, duration_s: f64, max: usize) -> Vec<Key> {
        let mut last = zero;
        let mut keys = vec![first];
        for i in 1..max {
            let at_s = zero as f64 * tick_s + duration_s * i as f64 / max as f64;
            if at_s <= last as f64 * tick_s {
                continue;
            }
            let at = (at_s * SEEK_TICKS_PER_S) as i64;
            if self.source.input.seek(at, ..at).is_err() {
                continue;
            }
            if let Some(key) = self.next_key(Some(last)) {
                last = key.tick.unwrap_or(last).max(last);
                keys.push(key);
            }
        }
        keys
    }

    /// Reads to the end, keeping every n-th keyframe with n doubled whenever there are too many: for files whose length or
    /// times are not known.
    fn thinned(&mut self, first: Key, max: usize) -> Vec<Key> {
        let mut keys = vec![first];
        let (mut step, mut seen) = (1usize, 1usize);
        while let Some(key) = self.next_key(None) {
            if seen.is_multiple_of(step) {
                if keys.len() == max {
                    let mut place = 0;
                    keys.retain(|_| {
                        place += 1;
                        place % 2 == 1
                    });
                    step = step.saturating_mul(2);
                }
                if seen.is_multiple_of(step) && keys.len() < max {
                    keys.push(key);
                }
            }
            seen += 1;
        }
        keys
    }

    /// Keyframes as frames: each later than the one before, all of the first one's size.
    fn frames(&mut self, keys: Vec<Key>) -> Result<Vec<Frame>, Error> {
        let tick_s = self.source.secs_per_tick;
        let period_s = self.source.period_s();
        let zero = keys.first().and_then(|key| key.tick);
        let mut frames: Vec<Frame> = Vec::with_capacity(keys.len());
        for Key { picture, tick, n_before } in keys {
            let at_s = match (tick, zero, tick_s) {
                (Some(tick), Some(zero), Some(tick_s)) => tick.saturating_sub(zero) as f64 * tick_s,
                _ => n_before as f64 * period_s,
            };
            let at = Timestamp::saturating(at_s);
            let format = picture.format();
            let image = self.pictures.image(picture).map_err(|source| Error::Pixels {
                path: self.path.to_path_buf(),
                format: format!("{format:?}"),
                source,
            })?;
            let follows = frames
                .last()
                .is_none_or(|last| at > last.at && (image.width(), image.height()) == (last.image.width(), last.image.height()));
            if follows {
                let no = FrameNo(frames.len() as u64);
                frames.push(Frame { no, at, image });
            }
        }
        Ok(frames)
    }
}
