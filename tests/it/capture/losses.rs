//! What cannot be read is refused with the reason; what is cut or damaged is read as far as it goes, and the loss is measured.

use super::*;

#[test]
fn a_hole_in_time_is_reported() {
    let dir = TempDir::new().unwrap();
    let how = "-vf select='lt(n\\,25)+gte(n\\,50)' -vsync vfr -c:v libx264 -pix_fmt yuv420p";
    let path = clip(&dir, "hole.mp4", FOUR_SECONDS, how);
    let (recording, frames) = open_and_read(&path);
    assert_eq!(frames.len(), 75);
    let doubtful = recording.report().doubtful;
    assert_eq!(doubtful.len(), 1);
    assert_eq!(doubtful[0].reason, Reason::Gap);
    assert!((doubtful[0].from.secs() - 0.96).abs() < TICK_S && (doubtful[0].to.secs() - 2.0).abs() < TICK_S);
}

/// Opening must fail, naming the file and saying `part` in one line.
fn assert_refused(path: &Path, part: &str) -> Error {
    let Err(error) = Recording::open(path, 2) else {
        panic!("{} must not open", path.display())
    };
    let line = error.to_string();
    assert!(line.starts_with(&path.display().to_string()) && line.contains(part), "{line}");
    assert!(
        !line.contains('\n') && line.contains(';'),
        "one line, with what to do: {line}"
    );
    let samples = sample_keyframes(path, 3).map(|frames| frames.len());
    assert_eq!(samples.map_err(|e| e.to_string()), Err(line), "samples fail alike");
    error
}

#[test]
fn what_is_no_video_is_refused_with_the_reason() {
    let dir = TempDir::new().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    assert_refused(&dir.path().join("none.mp4"), "no such file");
    assert_refused(dir.path(), "is a folder");
    assert_refused(Path::new("/dev/null"), "a device or pipe");
    assert_refused(&file("empty.mp4", b""), "empty (0 bytes)");
    assert_refused(&file("text.mp4", "frame 1: a ball\n".repeat(500).as_bytes()), "it is text");
    assert_refused(
        &file("list.mp4", b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\na.mp4\n"),
        "it is text",
    );
    assert_refused(&file("script.mp4", b"ffconcat version 1.0\nfile a.mp4\n"), "it is text");
    let noise: Vec<u8> = (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_refused(&file("noise.mp4", &noise), "not a video");
    assert_refused(
        &file("stub.mkv", &[0x1a, 0x45, 0xdf, 0xa3]),
        "Matroska/WebM file that is damaged",
    );
    let sound = clip(&dir, "sound.m4a", "sine=duration=1", "-c:a aac");
    assert!(matches!(assert_refused(&sound, "sound only"), Error::AudioOnly { .. }));
}

#[test]
fn a_cover_picture_is_no_video() {
    let dir = TempDir::new().unwrap();
    let how = "-f lavfi -i color=size=32x32:duration=0.04 -map 0 -map 1 -c:a aac -c:v mjpeg -disposition:v attached_pic";
    let path = clip(&dir, "cover.m4a", "sine=duration=1", how);
    assert_refused(&path, "sound only");
}

#[test]
fn a_track_without_frames_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = clip(&dir, "none.mp4", ONE_SECOND, "-c:v libx264 -pix_fmt yuv420p -frames:v 0");
    assert_refused(&path, "no video track");
    // a header that promises frames, all of whose data is zero
    let whole = clip(
        &dir,
        "whole.mp4",
        ONE_SECOND,
        "-c:v libx264 -pix_fmt yuv420p -movflags faststart",
    );
    let mut content = fs::read(&whole).unwrap();
    let at = content.windows(4).position(|w| w == b"mdat").unwrap();
    content[at + 4..].fill(0);
    let path = dir.path().join("zeroed.mp4");
    fs::write(&path, content).unwrap();
    assert_refused(&path, "no frame that can be decoded");
}

/// A copy of the first half of the bytes.
pub fn half(dir: &TempDir, whole: &Path) -> PathBuf {
    let content = fs::read(whole).unwrap();
    let path = dir
        .path()
        .join(format!("half_{}", whole.file_name().unwrap().to_str().unwrap()));
    fs::write(&path, &content[..content.len() / 2]).unwrap();
    path
}

#[test]
fn an_mp4_cut_before_its_index_says_so() {
    let dir = TempDir::new().unwrap();
    let whole = clip(&dir, "a.mp4", FOUR_SECONDS, "-c:v libx264 -pix_fmt yuv420p");
    let error = assert_refused(&half(&dir, &whole), "index (moov) is missing");
    assert!(matches!(error, Error::NoIndex { .. }));
}

#[test]
fn what_is_left_of_a_cut_recording_is_read_and_the_rest_is_measured() {
    let dir = TempDir::new().unwrap();
    let h264 = "-c:v libx264 -pix_fmt yuv420p -g 10";
    let cases = [
        ("front.mp4", format!("{h264} -movflags faststart"), true),
        ("fragments.mp4", format!("{h264} -movflags frag_keyframe+empty_moov"), false),
        ("m.mkv", h264.to_owned(), true),
        ("v.webm", "-c:v libvpx-vp9 -pix_fmt yuv420p -g 10".to_owned(), true),
        ("a.avi", "-c:v mjpeg -pix_fmt yuvj420p".to_owned(), true),
    ];
    for (name, how, length_is_known) in cases {
        let whole = clip(&dir, name, FOUR_SECONDS, &how);
        let all = open_and_read(&whole).1;
        let (recording, frames) = open_and_read(&half(&dir, &whole));
        assert!(frames.len() > 20 && frames.len() < 80, "{name}: {} frames", frames.len());
        for frame in &frames {
            let same = all.iter().find(|f| (f.at.secs() - frame.at.secs()).abs() < TICK_S).unwrap();
            assert!(pixels(frame) == pixels(same), "{name}: {:?}", frame.at);
        }
        let report = recording.report();
        let cut = report.truncated.unwrap_or_else(|| panic!("{name}: not flagged"));
        assert!(
            (cut.read_s - frames.last().unwrap().at.secs() - 1.0 / 25.0).abs() < TICK_S,
            "{name}: {cut:?}"
        );
        assert_eq!(cut.expected_s.map(f64::round), length_is_known.then_some(4.0), "{name}");
        assert!(cut.missing_bytes > 0, "{name}");
        assert_eq!(
            report.damaged_packets, 0,
            "{name}: the packet that the cut goes through is part of the cut"
        );
        let warning = &report.warnings()[0];
        assert!(warning.contains("cut off") && warning.contains("missing"), "{warning}");
    }
}

/// A copy with a twelfth of its bytes overwritten, from the middle on.
fn damaged(dir: &TempDir, whole: &Path) -> PathBuf {
    let mut content = fs::read(whole).unwrap();
    let n = content.len();
    for (i, byte) in content[n / 2..n / 2 + n / 12].iter_mut().enumerate() {
        *byte = (i * 151) as u8;
    }
    let path = dir
        .path()
        .join(format!("damaged_{}", whole.file_name().unwrap().to_str().unwrap()));
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn damage_in_an_avi_shows_as_missing_time() {
    let dir = TempDir::new().unwrap();
    let source = "testsrc2=size=320x240:rate=25:duration=4";
    let whole = clip(&dir, "m.avi", source, "-c:v mjpeg -pix_fmt yuvj420p");
    let (recording, frames) = open_and_read(&damaged(&dir, &whole));
    assert!((85..100).contains(&frames.len()), "{}", frames.len());
    let short = recording.report().truncated.unwrap();
    assert!((short.read_s - frames.len() as f64 / 25.0).abs() < TICK_S, "{short:?}");
    assert_eq!((short.expected_s, short.missing_bytes), (Some(4.0), 0));
    assert!(recording.report().warnings()[0].contains("shorter than its header says"));
}

#[test]
fn damage_in_the_middle_is_counted_and_passed() {
    let dir = TempDir::new().unwrap();
    let source = "testsrc2=size=320x240:rate=25:duration=4";
    let cases = [
        ("d.mp4", "-c:v libx264 -pix_fmt yuv420p -g 25"),
        ("d.mkv", "-c:v libx264 -pix_fmt yuv420p -g 25"),
        ("d.ts", "-c:v libx264 -pix_fmt yuv420p -g 25"),
        (
            "h.mp4",
            "-c:v libx265 -pix_fmt yuv420p -g 25 -x265-params log-level=none:keyint=25",
        ),
        ("v.webm", "-c:v libvpx-vp9 -pix_fmt yuv420p -g 25"),
    ];
    for (name, how) in cases {
        let whole = clip(&dir, name, source, how);
        let all = open_and_read(&whole).1;
        // one thread: with more, the decoder's marks on damaged pictures may come too late to be seen
        let mut recording = Recording::open(&damaged(&dir, &whole), 1).unwrap();
        let frames = read(&mut recording);
        let report = recording.report();
        assert!(!report.doubtful.is_empty(), "{name}: {report:?}");
        assert!(frames.len() > 50, "{name}: {} frames", frames.len());
        assert!(
            (frames.last().unwrap().at.secs() - 3.96).abs() < TICK_S,
            "{name}: read to the end"
        );
        assert!(report.truncated.is_none(), "{name}: {:?}", report.truncated);
        // whatever differs from the whole recording lies in a doubtful stretch
        for frame in &frames {
            let Some(good) = all.iter().find(|g| (g.at.secs() - frame.at.secs()).abs() < TICK_S) else {
                panic!("{name}: a frame at {:?} that the whole has not", frame.at)
            };
            if pixels(frame) != pixels(good) {
                let is_doubted = report.doubtful.iter().any(|d| d.from <= frame.at && frame.at <= d.to);
                assert!(
                    is_doubted,
                    "{name}: wrong pixels at {:?} are not doubted: {:?}",
                    frame.at, report.doubtful
                );
            }
        }
    }
}

#[test]
fn a_change_of_size_ends_the_recording_with_what_was_read() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -bf 0";
    let small = clip(&dir, "small.ts", ONE_SECOND, how);
    let large = clip(&dir, "large.ts", "testsrc=size=128x96:rate=25:duration=1", how);
    let joined = dir.path().join("joined.ts");
    fs::write(&joined, [fs::read(small).unwrap(), fs::read(large).unwrap()].concat()).unwrap();
    let (recording, frames) = open_and_read(&joined);
    assert_eq!(frames.len(), 25);
    assert!(frames.iter().all(|f| (f.image.width(), f.image.height()) == (64, 48)));
    let change = recording.report().size_change.unwrap();
    assert_eq!((change.from, change.to), ((64, 48), (128, 96)));
    assert!((change.at.secs() - 0.96).abs() < TICK_S);
    assert!(recording.report().warnings()[0].contains("64x48 to 128x96"));
}

#[test]
fn a_clock_set_back_goes_on_and_is_doubted() {
    let dir = TempDir::new().unwrap();
    let part = clip(&dir, "part.ts", FOUR_SECONDS, "-c:v libx264 -pix_fmt yuv420p -bf 0");
    let content = fs::read(part).unwrap();
    let joined = dir.path().join("joined.ts");
    fs::write(&joined, [&content[..], &content[..]].concat()).unwrap();
    let (recording, frames) = open_and_read(&joined);
    let report = recording.report();
    assert_eq!(frames.len() as u64 + report.dropped_bad_time, 200);
    assert!(report.dropped_bad_time < 20, "{report:?}");
    assert!(times(&frames).windows(2).all(|w| w[0] < w[1]));
    assert_eq!(report.doubtful.iter().filter(|d| d.reason == Reason::ClockReset).count(), 1);
}
