//! Encodes pictures to H.264 in mp4, in-process.

use std::path::{Path, PathBuf};

use ffmpeg_next as ffmpeg;

use ffmpeg::format::Pixel;
use ffmpeg::util::color;
use ffmpeg::{Dictionary, Packet, Rational, codec, encoder, format, frame};

use super::{Error, Picture};
use crate::units::Timestamp;

/// Clock of the written stream, ticks a second: the one that mp4 and MPEG systems use, and a multiple of all common rates.
const TICKS_PER_S: i32 = 90_000;
/// Constant rate factor of x264: visually clean for graphics with hard edges.
const CRF: &str = "20";
/// Speed of x264: twice as fast as its default for a tenth more bytes.
const PRESET: &str = "veryfast";
/// Pictures that x264 looks ahead; its default of 40 would hold 120 MB of 1080p.
const LOOK_AHEAD: &str = "10";
/// Pictures between keyframes at most, so that players can seek: two seconds at 60 frames a second.
const KEYFRAME_EVERY: u32 = 120;

/// Writes an mp4 file.
pub struct Encoder {
    path: PathBuf,
    output: format::context::Output,
    codec: encoder::Video,
    frame: frame::Video,
    stream_clock: Rational,
    last_ticks: Option<i64>,
}

impl Encoder {
    /// Creates `path` for pictures like `first`; the last column or row of an odd-sized picture is left out, since H.264
    /// as players know it has even sizes. `fps` is a hint, each picture has its own time.
    ///
    /// # Errors
    /// When the file cannot be written or there is no encoder.
    pub fn create(path: &Path, first: &Picture, fps: Option<f64>, threads: usize) -> Result<Self, Error> {
        let failed = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        if path.to_str().is_none() {
            return Err(failed(ffmpeg::Error::Other {
                errno: ffmpeg::util::error::EINVAL,
            }));
        }
        ffmpeg::init().map_err(failed)?;
        // The encoder's account of itself is nothing for users; failures come back as errors.
        ffmpeg::log::set_level(ffmpeg::log::Level::Fatal);
        let h264 = encoder::find_by_name("libx264").ok_or(Error::NoEncoder)?;
        let mut output = format::output_as(path, "mp4").map_err(failed)?;
        let (width, height) = ((first.width() & !1) as u32, (first.height() & !1) as u32);
        let clock = Rational::new(1, TICKS_PER_S);
        let range = if first.full_range {
            color::Range::JPEG
        } else {
            color::Range::MPEG
        };

        let mut video = codec::context::Context::new_with_codec(h264)
            .encoder()
            .video()
            .map_err(failed)?;
        video.set_width(width);
        video.set_height(height);
        video.set_format(Pixel::YUV420P);
        video.set_time_base(clock);
        video.set_frame_rate(fps.map(Rational::from));
        video.set_gop(KEYFRAME_EVERY);
        video.set_color_range(range);
        // Players seek to pictures that depend on none before them.
        let mut flags = codec::Flags::CLOSED_GOP;
        if output.format().flags().contains(format::Flags::GLOBAL_HEADER) {
            flags |= codec::Flags::GLOBAL_HEADER;
        }
        video.set_flags(flags);
        let mut options = Dictionary::new();
        options.set("preset", PRESET);
        options.set("crf", CRF);
        options.set("rc-lookahead", LOOK_AHEAD);
        options.set("threads", &threads.max(1).to_string());
        let encoder = video.open_with(options).map_err(failed)?;

        let mut stream = output.add_stream(h264).map_err(failed)?;
        stream.set_time_base(clock);
        stream.set_parameters(&encoder);
        let mut options = Dictionary::new();
        // The index comes first, so that a browser can play while it loads.
        options.set("movflags", "+faststart");
        output.write_header_with(options).map_err(failed)?;
        let stream_clock = output.stream(0).map_or(clock, |s| s.time_base());
        let mut frame = frame::Video::new(Pixel::YUV420P, width, height);
        frame.set_color_range(range);
        Ok(Self {
            path: path.to_owned(),
            output,
            codec: encoder,
            frame,
            stream_clock,
            last_ticks: None,
        })
    }

    /// Encodes the next picture. A picture whose time does not come after the last one's by a tick is left out.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, picture: &Picture, at: Timestamp) -> Result<(), Error> {
        let ticks = (at.secs() * f64::from(TICKS_PER_S)).round() as i64;
        if self.last_ticks.is_some_and(|last| ticks <= last) {
            return Ok(());
        }
        self.last_ticks = Some(ticks);
        // The encoder may still hold the last picture's buffer.
        let mut frame = frame::Video::new(Pixel::YUV420P, self.frame.width(), self.frame.height());
        frame.set_color_range(self.frame.color_range());
        for plane in 0..3 {
            let stride = frame.stride(plane);
            let width = frame.plane_width(plane) as usize;
            let rows = picture.plane(plane).chunks_exact(picture.row_len(plane).max(1));
            for (to, from) in frame.data_mut(plane).chunks_exact_mut(stride).zip(rows) {
                to[..width].copy_from_slice(&from[..width]);
            }
        }
        frame.set_pts(Some(ticks));
        self.frame = frame;
        self.codec.send_frame(&self.frame).map_err(|e| self.failed(e))?;
        self.drain()
    }

    /// Writes what the encoder still holds, and the index.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<(), Error> {
        self.codec.send_eof().map_err(|e| self.failed(e))?;
        self.drain()?;
        self.output.write_trailer().map_err(|e| self.failed(e))
    }

    fn drain(&mut self) -> Result<(), Error> {
        let mut packet = Packet::empty();
        // An error means that nothing is ready yet, or no longer: the encoder has told real failures when it was sent to.
        while self.codec.receive_packet(&mut packet).is_ok() {
            packet.set_stream(0);
            packet.rescale_ts(Rational::new(1, TICKS_PER_S), self.stream_clock);
            packet.write_interleaved(&mut self.output).map_err(|e| self.failed(e))?;
        }
        Ok(())
    }

    fn failed(&self, source: ffmpeg::Error) -> Error {
        Error::Write {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Image;
    use crate::overlay::layer::Layer;

    fn grey(luma: u8) -> Picture {
        let mut out = Picture::default();
        let image = Image::filled(99, 66, [luma, 128, 128]).unwrap();
        Layer::new(99, 66).unwrap().lay_over(&image, &mut out);
        out
    }

    #[test]
    fn pictures_come_back_at_their_times() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("grey.mp4.partial");
        let times = [0.0, 0.04, 0.0401, 0.2, 0.2];
        let mut encoder = Encoder::create(&path, &grey(60), Some(25.0), 1).unwrap();
        for (i, t) in times.into_iter().enumerate() {
            encoder.write(&grey(60 + 20 * i as u8), Timestamp::saturating(t)).unwrap();
        }
        encoder.finish().unwrap();
        let mut input = format::input(&path).unwrap();
        let clock = f64::from(input.stream(0).unwrap().time_base());
        let parameters = input.stream(0).unwrap().parameters();
        let decoder = codec::context::Context::from_parameters(parameters)
            .unwrap()
            .decoder()
            .video()
            .unwrap();
        assert_eq!((decoder.width(), decoder.height()), (98, 66));
        let mut seen: Vec<f64> = input
            .packets()
            .filter_map(|(_, p)| p.pts())
            .map(|t| t as f64 * clock)
            .collect();
        seen.sort_by(f64::total_cmp);
        // The fifth does not come after the fourth.
        assert_eq!(seen.len(), 4);
        for (seen, expected) in seen.into_iter().zip(times) {
            assert!((seen - expected).abs() < 1e-4, "{seen} for {expected}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_one_clear_error() {
        let error = Encoder::create(Path::new("/nowhere/at/all.mp4"), &grey(60), None, 1)
            .err()
            .unwrap();
        assert!(error.to_string().contains("/nowhere/at/all.mp4"), "{error}");
    }
}
