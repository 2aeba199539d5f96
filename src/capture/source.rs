//! Opening a file: its container, its video track and a decoder for it, with errors that name the cause.

use std::fs::{self, File};
use std::path::Path;

use ffmpeg::codec::{self, decoder, packet};
use ffmpeg::format::context::{Input, StreamIo};
use ffmpeg::format::stream::Disposition;
use ffmpeg::media::Type;
use ffmpeg::{Dictionary, Packet, Rational};
use ffmpeg_next as ffmpeg;

use super::container::{self, Container, Shape};
use super::error::Error;
use super::picture::Turn;

/// Demuxers that may be tried: containers of recordings, elementary streams and single pictures. Formats that make the libraries
/// open other files or addresses (playlists, concatenation scripts, manifests) are left out: what is read is the file given.
const DEMUXERS: &str = "mov,mp4,matroska,webm,avi,mpegts,mpeg,mpegvideo,h264,hevc,m4v,mjpeg,ivf,flv,asf,ogg,mxf,nut,dv,gif,\
                        jpeg_pipe,png_pipe,wav,mp3,flac,aac";

/// Largest picture in pixels: `MaxFS` of the highest H.264 level (6.2, table A-1), 139,264 macroblocks of 256 pixels. Bounds
/// what a hostile header can make the decoder allocate.
const MAX_PIXELS: u32 = 139_264 * 256;

/// Decoder threads beyond which more only cost memory: each holds a picture.
const MAX_THREADS: usize = 16;

/// Frame rates outside are the container's nonsense (a time base taken for a rate), not a camera's.
const SANE_FPS: std::ops::RangeInclusive<f64> = 0.1..=1000.0;

/// Frame period taken when the container names none: 25 frames/s, what the ffmpeg libraries assume too.
const DEFAULT_PERIOD_S: f64 = 1.0 / 25.0;

/// Demuxer errors in a row after which the rest is given up: past a cut, a demuxer may report each packet that its index
/// promises.
const MAX_ERRORS_IN_A_ROW: u32 = 1_000;

/// Ticks per second of the libraries' own clock, in which places to seek to and lengths of files are given.
const LIBRARY_TICKS_PER_S: f64 = ffmpeg::ffi::AV_TIME_BASE as f64;

/// An open file with its video track.
pub(super) struct Source {
    pub input: Input,
    pub shape: Shape,
    pub stream: usize,
    pub codec: String,
    pub turn: Turn,
    pub secs_per_tick: Option<f64>,
    pub fps: Option<f64>,
    pub duration_s: Option<f64>,
    /// Whether `duration_s` is the video track's own and not the container's, which sound may make longer.
    pub duration_is_tracks: bool,
    pub n_frames: Option<u64>,
    time_base: Rational,
}

/// What reading on found.
pub(super) struct Next {
    /// `None` at the end, or where nothing more can be read.
    pub packet: Option<Packet>,
    /// Places that the demuxer could not make out and went past.
    pub n_errors: u32,
}

/// The value of a ratio that makes sense as a duration, rate or shape.
pub(super) fn positive(q: Rational) -> Option<f64> {
    (q.numerator() > 0 && q.denominator() > 0).then(|| f64::from(q))
}

/// `hh:mm:ss.fraction`, as Matroska writers tag a track's length.
fn tagged_duration(text: &str) -> Option<f64> {
    let mut parts = text.trim().splitn(3, ':');
    let (h, m, s) = (parts.next()?, parts.next()?, parts.next()?);
    let secs = f64::from(h.parse::<u32>().ok()?) * 3600.0 + f64::from(m.parse::<u32>().ok()?) * 60.0 + s.parse::<f64>().ok()?;
    (secs.is_finite() && secs > 0.0).then_some(secs)
}

impl Source {
    /// Opens `path` and finds its video track.
    ///
    /// # Errors
    /// See [`Error`]: not a readable regular file, not a video, or no picture in it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        quieten();
        let meta = fs::metadata(path).map_err(|e| Error::io(path, e))?;
        if !meta.is_file() {
            let what = if meta.is_dir() { "a folder" } else { "a device or pipe" };
            return Err(Error::NotAFile {
                path: path.to_path_buf(),
                what,
            });
        }
        if meta.len() == 0 {
            return Err(Error::Empty {
                path: path.to_path_buf(),
            });
        }
        let mut file = File::open(path).map_err(|e| Error::io(path, e))?;
        let shape = container::inspect(&mut file).map_err(|e| Error::io(path, e))?;
        std::io::Seek::rewind(&mut file).map_err(|e| Error::io(path, e))?;
        let mut options = Dictionary::new();
        options.set("format_whitelist", DEMUXERS);
        // The libraries read through our own file handle, so a name such as `pipe:0` or one that is not UTF-8 is a name only.
        let input = StreamIo::from_read_seek(file)
            .and_then(|io| ffmpeg::format::input_from_stream(io, None, Some(options)))
            .map_err(|e| Error::not_opened(path, &shape, e))?;
        Self::describe(path, input, shape)
    }

    fn describe(path: &Path, input: Input, shape: Shape) -> Result<Self, Error> {
        let is_cover = |s: &ffmpeg::Stream| s.disposition().contains(Disposition::ATTACHED_PIC);
        let Some(stream) = input.streams().best(Type::Video).filter(|s| !is_cover(s)) else {
            let path = path.to_path_buf();
            let has_sound = input.streams().any(|s| s.parameters().medium() == Type::Audio);
            return Err(if has_sound {
                Error::AudioOnly { path }
            } else {
                Error::NoVideoTrack { path }
            });
        };
        let time_base = stream.time_base();
        let turn = stream
            .side_data()
            .find(|s| s.kind() == packet::side_data::Type::DisplayMatrix)
            .map_or(Turn::None, |s| Turn::from_display_matrix(s.data()));
        let fps = [stream.avg_frame_rate(), stream.rate()]
            .into_iter()
            .filter_map(positive)
            .find(|fps| SANE_FPS.contains(fps));
        let tagged = stream.metadata().get("DURATION").and_then(tagged_duration);
        let ticks = positive(time_base)
            .filter(|_| stream.duration() > 0)
            .map(|tick| stream.duration() as f64 * tick);
        let n_frames = u64::try_from(stream.frames()).ok().filter(|&n| n > 0);
        // for a cut AVI the libraries shorten the length to what is there; its header's count of frames stays
        let counted = match (n_frames, fps) {
            (Some(n), Some(fps)) if shape.container == Container::Avi => Some(n as f64 / fps),
            _ => None,
        };
        let whole = (input.duration() > 0).then(|| input.duration() as f64 / LIBRARY_TICKS_PER_S);
        Ok(Self {
            stream: stream.index(),
            codec: stream.parameters().id().name().to_owned(),
            turn,
            secs_per_tick: positive(time_base),
            fps,
            duration_s: tagged.or(counted).or(ticks).or(whole),
            // elsewhere the libraries fill in the container's length for every track
            duration_is_tracks: tagged.is_some()
                || ticks.is_some() && matches!(shape.container, Container::IsoMedia | Container::Avi),
            n_frames,
            time_base,
            shape,
            input,
        })
    }

    /// Nominal time from frame to frame, in seconds.
    pub fn period_s(&self) -> f64 {
        self.fps.map_or(DEFAULT_PERIOD_S, f64::recip)
    }

    /// Whether the length written in the file counts from the container's time zero and not from the first frame (RFC 9559: the
    /// Segment's Duration belongs to its timestamps).
    pub fn duration_is_end(&self) -> bool {
        self.shape.container == Container::Matroska
    }

    /// Goes to the last keyframe not after `at_s` seconds of the container's time; false when the demuxer cannot.
    pub fn seek(&mut self, at_s: f64) -> bool {
        // rounded up: a keyframe's own time must find that keyframe
        let place = (at_s * LIBRARY_TICKS_PER_S).ceil() as i64;
        self.input.seek(place, ..place).is_ok()
    }

    /// The next packet of the video track.
    pub fn next_packet(&mut self) -> Next {
        let mut n_errors = 0;
        loop {
            let mut packet = Packet::empty();
            match packet.read(&mut self.input) {
                Ok(()) if packet.stream() == self.stream => {
                    return Next {
                        packet: Some(packet),
                        n_errors,
                    };
                }
                Ok(()) => {}
                // the demuxer has gone past the damage and can go on
                Err(ffmpeg::Error::InvalidData) if n_errors < MAX_ERRORS_IN_A_ROW => n_errors += 1,
                Err(_) => return Next { packet: None, n_errors },
            }
        }
    }

    /// Whether a seek finds the keyframe asked for and every packet carries its time.
    pub fn seeks_exactly(&self) -> bool {
        matches!(self.shape.container, Container::IsoMedia | Container::Matroska)
    }

    /// Whether packets can be lost without a word, so that a hole in time may be lost pictures on which later ones depend. Where
    /// an index lists every packet, a hole is the camera's.
    pub fn may_lose_packets(&self) -> bool {
        self.shape.container != Container::IsoMedia
    }

    /// Whether a packet marked as damaged is one that the file's end cuts short. Half a picture decodes into a picture that is half
    /// wrong. In a transport stream the mark says that something before it was lost, and the packet may be whole.
    pub fn damaged_is_short(&self) -> bool {
        self.shape.container != Container::Unknown
    }

    /// A decoder for the video track.
    ///
    /// # Errors
    /// [`Error::NoDecoder`] when the libraries have none or refuse the track's header.
    pub fn decoder(&self, path: &Path, threads: usize, keyframes_only: bool) -> Result<decoder::Video, Error> {
        let refused = || Error::NoDecoder {
            path: path.to_path_buf(),
            codec: self.codec.clone(),
        };
        let stream = self.input.stream(self.stream).ok_or_else(refused)?;
        let parameters = stream.parameters();
        let codec = decoder::find(parameters.id()).ok_or_else(refused)?;
        let mut context = codec::Context::from_parameters(parameters).map_err(|_| refused())?.decoder();
        context.set_packet_time_base(self.time_base);
        let mut options = Dictionary::new();
        options.set("threads", &threads.clamp(1, MAX_THREADS).to_string());
        options.set("max_pixels", &MAX_PIXELS.to_string());
        if keyframes_only {
            options.set("skip_frame", "nokey");
        }
        context
            .open_as_with(codec, options)
            .and_then(decoder::Opened::video)
            .map_err(|_| refused())
    }
}

/// The libraries write to stderr on their own; what matters of it comes back as errors and counts. With our own log at debug
/// level their warnings are let through.
fn quieten() {
    let level = if tracing::enabled!(tracing::Level::DEBUG) {
        ffmpeg::log::Level::Warning
    } else {
        ffmpeg::log::Level::Quiet
    };
    ffmpeg::log::set_level(level);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tagged_durations() {
        assert_eq!(tagged_duration("00:01:02.500000000"), Some(62.5));
        assert_eq!(tagged_duration("1:00:00"), Some(3600.0));
        assert_eq!(tagged_duration("soon"), None);
        assert_eq!(tagged_duration("00:00:NaN"), None);
    }
}
