//! Recordings of every kind that the ffmpeg command can make, tiny, read back: counts, times, sizes, pixels, losses.

mod losses;
mod skipping;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cuemark::capture::{Error, Keyframes, Reason, Recording, sample_keyframes};
use cuemark::frame::{ColourRange, Frame, Plane};
use cuemark::units::Timestamp;
use tempfile::TempDir;

/// Millisecond ticks (Matroska) round a time by half of one.
const TICK_S: f64 = 0.001;

/// Runs the ffmpeg command; what it writes to stdout.
fn ffmpeg<S: AsRef<OsStr>>(args: &[S]) -> Vec<u8> {
    let out = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y"])
        .args(args)
        .output()
        .expect("the tests need the ffmpeg command");
    assert!(out.status.success(), "ffmpeg: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// A moving test picture written with the options `how` to `name`.
fn clip(dir: &TempDir, name: &str, source: &str, how: &str) -> PathBuf {
    let path = dir.path().join(name);
    let mut args: Vec<&OsStr> = ["-f", "lavfi", "-i", source].map(OsStr::new).to_vec();
    args.extend(how.split_whitespace().map(OsStr::new));
    args.push(path.as_os_str());
    ffmpeg(&args);
    path
}

const ONE_SECOND: &str = "testsrc=size=64x48:rate=25:duration=1";
const FOUR_SECONDS: &str = "testsrc2=size=64x48:rate=25:duration=4";

fn read(recording: &mut Recording) -> Vec<Frame> {
    let mut frames = Vec::new();
    while let Some(frame) = recording.next_frame().unwrap() {
        frames.push(frame);
    }
    frames
}

fn open_and_read(path: &Path) -> (Recording, Vec<Frame>) {
    let mut recording = Recording::open(path, 2).unwrap_or_else(|e| panic!("{e}"));
    let frames = read(&mut recording);
    (recording, frames)
}

fn times(frames: &[Frame]) -> Vec<f64> {
    frames.iter().map(|f| f.at.secs()).collect()
}

fn assert_times(frames: &[Frame], expected: impl IntoIterator<Item = f64>, what: &str) {
    let expected: Vec<f64> = expected.into_iter().collect();
    let got = times(frames);
    assert_eq!(got.len(), expected.len(), "{what}: frames");
    for (i, (g, e)) in got.iter().zip(&expected).enumerate() {
        assert!((g - e).abs() <= TICK_S, "{what}: frame {i} at {g}, expected {e}");
    }
}

fn assert_clean(recording: &Recording, what: &str) {
    let report = recording.report();
    assert_eq!(report.warnings(), Vec::<String>::new(), "{what}");
    assert!(report.doubtful.is_empty(), "{what}: {:?}", report.doubtful);
}

fn bytes(plane: Plane<'_>) -> Vec<u8> {
    (0..plane.height).flat_map(|y| plane.row(y).to_vec()).collect()
}

fn pixels(frame: &Frame) -> Vec<u8> {
    let image = &frame.image;
    [bytes(image.y()), bytes(image.u()), bytes(image.v())].concat()
}

/// All frames as raw planes, as ours.
fn raw(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(pixels).collect()
}

/// All frames as raw planes, as the ffmpeg command decodes them.
fn reference(path: &Path, format: &str) -> Vec<u8> {
    let args = [
        "-i",
        path.to_str().unwrap(),
        "-vsync",
        "passthrough",
        "-pix_fmt",
        format,
        "-f",
        "rawvideo",
        "-",
    ];
    ffmpeg(&args)
}

#[test]
fn every_codec_in_every_container() {
    let dir = TempDir::new().unwrap();
    let cases = [
        ("h264.mp4", "-c:v libx264 -pix_fmt yuv420p", "h264"),
        ("h264_b.mkv", "-c:v libx264 -pix_fmt yuv420p -bf 3", "h264"),
        ("h264.mov", "-c:v libx264 -pix_fmt yuv420p", "h264"),
        ("h264.ts", "-c:v libx264 -pix_fmt yuv420p", "h264"),
        ("h264_b.avi", "-c:v libx264 -pix_fmt yuv420p -bf 2", "h264"),
        ("h264.flv", "-c:v libx264 -pix_fmt yuv420p", "h264"),
        (
            "hevc.mp4",
            "-c:v libx265 -pix_fmt yuv420p -x265-params log-level=none",
            "hevc",
        ),
        (
            "hevc.mkv",
            "-c:v libx265 -pix_fmt yuv420p -x265-params log-level=none",
            "hevc",
        ),
        ("vp9.webm", "-c:v libvpx-vp9 -pix_fmt yuv420p", "vp9"),
        ("vp9.mkv", "-c:v libvpx-vp9 -pix_fmt yuv420p", "vp9"),
        ("mpeg4.avi", "-c:v mpeg4", "mpeg4"),
        (
            "fragments.mp4",
            "-c:v libx264 -pix_fmt yuv420p -g 5 -movflags frag_keyframe+empty_moov",
            "h264",
        ),
    ];
    for (name, how, codec) in cases {
        let path = clip(&dir, name, ONE_SECOND, how);
        let (recording, frames) = open_and_read(&path);
        let info = recording.info();
        assert_eq!((info.codec.as_str(), info.width, info.height), (codec, 64, 48), "{name}");
        assert_eq!(info.bytes, fs::metadata(&path).unwrap().len(), "{name}");
        assert_times(&frames, (0..25).map(|i| f64::from(i) / 25.0), name);
        assert!(frames.iter().enumerate().all(|(i, f)| f.no.0 == i as u64), "{name}: numbers");
        assert_eq!(recording.report().frames, 25, "{name}");
        assert_clean(&recording, name);
        assert!(
            raw(&frames) == reference(&path, "yuv420p"),
            "{name}: pixels differ from the ffmpeg command's"
        );
    }
}

#[test]
fn the_header_is_reported() {
    let dir = TempDir::new().unwrap();
    let path = clip(&dir, "a.mp4", FOUR_SECONDS, "-c:v libx264 -pix_fmt yuv420p -vf setsar=4/3");
    let recording = Recording::open(&path, 2).unwrap();
    let info = recording.info();
    assert_eq!(
        (info.duration_s, info.nominal_fps, info.n_frames_hint),
        (Some(4.0), Some(25.0), Some(100))
    );
    assert!((info.pixel_aspect - 4.0 / 3.0).abs() < 1e-9);
    assert_eq!(recording.report().frames, 0, "nothing is handed on yet");
}

#[test]
fn motion_jpeg_is_full_range() {
    let dir = TempDir::new().unwrap();
    for name in ["m.avi", "m.mov", "m.mkv"] {
        let path = clip(&dir, name, ONE_SECOND, "-c:v mjpeg -pix_fmt yuvj420p");
        let (recording, frames) = open_and_read(&path);
        assert_times(&frames, (0..25).map(|i| f64::from(i) / 25.0), name);
        assert!(frames.iter().all(|f| f.image.range() == ColourRange::Full));
        assert!(raw(&frames) == reference(&path, "yuvj420p"), "{name}");
        assert_clean(&recording, name);
    }
}

#[test]
fn colour_range_comes_from_the_frame() {
    let dir = TempDir::new().unwrap();
    let full = clip(&dir, "full.mp4", ONE_SECOND, "-c:v libx264 -pix_fmt yuvj420p -color_range pc");
    let limited = clip(&dir, "limited.mp4", ONE_SECOND, "-c:v libx264 -pix_fmt yuv420p");
    assert_eq!(open_and_read(&full).1[0].image.range(), ColourRange::Full);
    assert_eq!(open_and_read(&limited).1[0].image.range(), ColourRange::Limited);
}

#[test]
fn odd_sizes_keep_every_pixel() {
    let dir = TempDir::new().unwrap();
    let source = "testsrc=size=65x49:rate=25:duration=0.4";
    let cases = [
        ("vp9.webm", "-c:v libvpx-vp9 -pix_fmt yuv420p", "yuv420p"),
        ("mjpeg.avi", "-c:v mjpeg -pix_fmt yuvj420p", "yuvj420p"),
        ("ffv1.mkv", "-c:v ffv1 -pix_fmt yuv420p", "yuv420p"),
    ];
    for (name, how, format) in cases {
        let path = clip(&dir, name, source, how);
        let (_, frames) = open_and_read(&path);
        let image = &frames[0].image;
        assert_eq!(
            (image.width(), image.height(), image.u().width, image.v().height),
            (65, 49, 33, 25),
            "{name}"
        );
        assert_eq!(frames.len(), 10);
        assert!(raw(&frames) == reference(&path, format), "{name}");
    }
}

#[test]
fn pictures_are_turned_upright() {
    let dir = TempDir::new().unwrap();
    let plain = clip(&dir, "plain.mp4", ONE_SECOND, "-c:v libx264 -pix_fmt yuv420p -vf setsar=2/1");
    for (angle, size, aspect) in [("90", (48, 64), 0.5), ("180", (64, 48), 2.0), ("270", (48, 64), 0.5)] {
        let path = dir.path().join(format!("turned{angle}.mp4"));
        let rotate = format!("rotate={angle}");
        ffmpeg(&[
            "-i",
            plain.to_str().unwrap(),
            "-c",
            "copy",
            "-metadata:s:v:0",
            &rotate,
            path.to_str().unwrap(),
        ]);
        let (recording, frames) = open_and_read(&path);
        assert_eq!((recording.info().width, recording.info().height), size, "{angle}");
        assert!((recording.info().pixel_aspect - aspect).abs() < 1e-9, "{angle}");
        assert_eq!(frames.len(), 25);
        assert!(
            raw(&frames) == reference(&path, "yuv420p"),
            "{angle}: the ffmpeg command turns it otherwise"
        );
        let keys = sample_keyframes(&path, 1).unwrap();
        assert!(raw(&keys) == raw(&frames[..1]), "{angle}: samples are turned too");
    }
}

#[test]
fn other_pixel_formats_become_8_bit_420() {
    let dir = TempDir::new().unwrap();
    // (format, how far luma may be off: rounding of two bits, or of RGB to luma and back)
    let cases = [
        ("yuv422p", 0, ColourRange::Limited),
        ("yuv444p", 0, ColourRange::Limited),
        ("yuv420p10le", 1, ColourRange::Limited),
        ("yuv422p10le", 1, ColourRange::Limited),
        ("gray", 1, ColourRange::Limited),
        ("bgr0", 1, ColourRange::Limited),
        ("yuvj422p", 0, ColourRange::Full),
    ];
    for (format, luma_off, range) in cases {
        let name = format!("{format}.mkv");
        let codec = if format == "yuvj422p" { "mjpeg -q:v 1" } else { "ffv1" };
        // one colour, so that the expected samples can be named: a table's green-blue
        let path = clip(
            &dir,
            &name,
            "color=c=0x2060A0:size=64x48:rate=25:duration=0.2",
            &format!("-c:v {codec} -pix_fmt {format}"),
        );
        let (_, frames) = open_and_read(&path);
        assert_eq!(frames.len(), 5, "{format}");
        let image = &frames[0].image;
        assert_eq!(image.range(), range, "{format}");
        assert_eq!((image.u().width, image.u().height), (32, 24), "{format}");
        let (y, u, v) = (bytes(image.y()), bytes(image.u()), bytes(image.v()));
        // ITU-R BT.601 of (0x20, 0x60, 0xA0): Y' 84.1 of 255, Cb +42.8, Cr -37.2, scaled to the range
        let expected = match (range, format) {
            (_, "gray") => [88, 128, 128],
            (ColourRange::Limited, _) => [88, 166, 95],
            (ColourRange::Full, _) => [84, 171, 91],
        };
        for (plane, expected, off) in [(y, expected[0], luma_off.max(1)), (u, expected[1], 1), (v, expected[2], 1)] {
            let worst = plane.iter().map(|&s| (i32::from(s) - expected).abs()).max().unwrap();
            assert!(worst <= off, "{format}: {} where {expected} is expected", plane[0]);
        }
    }
}

#[test]
fn luma_of_422_and_444_is_untouched() {
    let dir = TempDir::new().unwrap();
    for format in ["yuv422p", "yuv444p", "yuvj444p"] {
        let codec = if format == "yuvj444p" { "mjpeg" } else { "libx264" };
        let path = clip(
            &dir,
            &format!("{format}.mkv"),
            "testsrc=size=66x50:rate=25:duration=0.2",
            &format!("-c:v {codec} -pix_fmt {format}"),
        );
        let (_, frames) = open_and_read(&path);
        let ours: Vec<u8> = frames.iter().flat_map(|f| bytes(f.image.y())).collect();
        let args = ["-i", path.to_str().unwrap(), "-vf", "extractplanes=y", "-f", "rawvideo", "-"];
        assert!(ours == ffmpeg(&args), "{format}");
    }
}

#[test]
fn interlaced_material_is_decoded_as_whole_frames() {
    let dir = TempDir::new().unwrap();
    let how = "-vf tinterlace=interleave_top,fieldorder=tff -c:v libx264 -pix_fmt yuv420p -flags +ildct+ilme";
    let path = clip(&dir, "i.mp4", "testsrc=size=64x48:rate=50:duration=1", how);
    let (recording, frames) = open_and_read(&path);
    assert_times(&frames, (0..25).map(|i| f64::from(i) / 25.0), "interlaced");
    assert_clean(&recording, "interlaced");
    assert!(raw(&frames) == reference(&path, "yuv420p"));
}

#[test]
fn variable_rate_keeps_its_times() {
    let dir = TempDir::new().unwrap();
    let kept = |n: u32| n.is_multiple_of(3) || n == 1;
    for name in ["vfr.mp4", "vfr.mkv"] {
        let how = "-vf select='not(mod(n\\,3))+eq(n\\,1)' -vsync vfr -c:v libx264 -pix_fmt yuv420p -bf 2";
        let path = clip(&dir, name, FOUR_SECONDS, how);
        let (_, frames) = open_and_read(&path);
        assert_times(&frames, (0..100).filter(|&n| kept(n)).map(|n| f64::from(n) / 25.0), name);
    }
}

#[test]
fn doubled_pictures_are_frames_too() {
    let dir = TempDir::new().unwrap();
    let path = clip(&dir, "double.mp4", ONE_SECOND, "-vf fps=50 -c:v libx264 -pix_fmt yuv420p");
    let (recording, frames) = open_and_read(&path);
    assert_times(&frames, (0..50).map(|i| f64::from(i) / 50.0), "doubled");
    assert_clean(&recording, "doubled");
}

#[test]
fn the_first_frame_shown_is_time_zero() {
    let dir = TempDir::new().unwrap();
    let late = clip(
        &dir,
        "late.mkv",
        ONE_SECOND,
        "-c:v libx264 -pix_fmt yuv420p -output_ts_offset 7.5",
    );
    let (recording, frames) = open_and_read(&late);
    assert_times(&frames, (0..25).map(|i| f64::from(i) / 25.0), "late start");
    assert_clean(&recording, "late start");
    // an edit list hides the frames before the cut, which the ones after it need
    let whole = clip(&dir, "whole.mp4", FOUR_SECONDS, "-c:v libx264 -pix_fmt yuv420p -g 50 -bf 2");
    let cut = dir.path().join("cut.mp4");
    ffmpeg(&[
        "-ss",
        "1.2",
        "-i",
        whole.to_str().unwrap(),
        "-c",
        "copy",
        cut.to_str().unwrap(),
    ]);
    let (recording, frames) = open_and_read(&cut);
    assert_times(&frames, (0..70).map(|i| f64::from(i) / 25.0), "edit list");
    assert_clean(&recording, "edit list");
    assert!(raw(&frames) == reference(&cut, "yuv420p"));
}

#[test]
fn a_stream_without_times_gets_its_rate() {
    let dir = TempDir::new().unwrap();
    let path = clip(&dir, "bare.h264", ONE_SECOND, "-c:v libx264 -pix_fmt yuv420p -bf 0");
    let (_, frames) = open_and_read(&path);
    assert_times(&frames, (0..25).map(|i| f64::from(i) / 25.0), "elementary stream");
}

#[test]
fn sound_beside_the_picture_is_passed_over() {
    let dir = TempDir::new().unwrap();
    let path = clip(
        &dir,
        "sound.mp4",
        ONE_SECOND,
        "-f lavfi -i sine=duration=3 -c:v libx264 -pix_fmt yuv420p -c:a aac",
    );
    let (recording, frames) = open_and_read(&path);
    assert_eq!(frames.len(), 25);
    assert_clean(&recording, "longer sound is no missing picture");
}

#[test]
fn names_are_only_names() {
    use std::os::unix::ffi::OsStrExt;
    let dir = TempDir::new().unwrap();
    let plain = clip(&dir, "a.mp4", ONE_SECOND, "-c:v libx264 -pix_fmt yuv420p");
    for name in [&b"pipe:0"[..], b"concat:x.mp4", b"caf\xe9.mp4", b"noending"] {
        let odd = dir.path().join(OsStr::from_bytes(name));
        fs::copy(&plain, &odd).unwrap();
        assert_eq!(open_and_read(&odd).1.len(), 25);
    }
}

/// AVI has no times, it counts chunks: lost ones show only in that the file ends early.
#[test]
fn the_number_of_threads_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let path = clip(&dir, "t.mp4", FOUR_SECONDS, "-c:v libx264 -pix_fmt yuv420p -bf 2");
    let with = |threads: usize| {
        let frames = read(&mut Recording::open(&path, threads).unwrap());
        (times(&frames), raw(&frames))
    };
    assert!(with(1) == with(2) && with(2) == with(0) && with(0) == with(1000));
}

#[test]
fn a_recording_moves_to_another_thread() {
    fn assert_send<T: Send>() {}
    assert_send::<Recording>();
}
