//! The command as people use it: the main job on the clip in `fixtures/`, and every bad input that a user may bring.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use tempfile::TempDir;

const CLIP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clips/smoke_carom_1080p60.mp4");
const TRUTH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/clips/smoke_carom_1080p60.json");

/// What a run said.
struct Said {
    code: i32,
    out: String,
    err: String,
}

fn cuemark(args: &[&str]) -> Said {
    let output = cargo_bin_cmd!("cuemark").args(args).output().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A place for one test's files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Makes `name` with ffmpeg's own sources.
    fn ffmpeg(&self, name: &str, args: &[&str]) -> String {
        let path = self.at(name);
        let status = Command::new("ffmpeg")
            .args(["-v", "quiet", "-y"])
            .args(args)
            .arg(&path)
            .status()
            .unwrap();
        assert!(status.success(), "ffmpeg could not make {name}");
        path
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.path(name), bytes).unwrap();
        self.at(name)
    }
}

/// Analysing `video` into a fresh folder fails with one line that holds all of `words`, and leaves nothing behind.
fn refused(place: &Place, video: &str, more: &[&str], words: &[&str]) {
    let out = place.at("out");
    let said = cuemark(&[&["analyse", video, "--out", &out], more].concat());
    assert_eq!(said.code, 1, "{}", said.err);
    one_line(&said.err, words);
    assert_eq!(said.out, "");
    assert!(!Path::new(&out).exists(), "something was left in the output folder");
}

fn one_line(err: &str, words: &[&str]) {
    assert_eq!(err.lines().count(), 1, "not one line: {err}");
    assert!(err.starts_with("error: "), "{err}");
    for word in words {
        assert!(err.contains(word), "'{word}' is not in: {err}");
    }
}

fn lines(dir: &Path) -> Vec<Value> {
    let text = fs::read_to_string(dir.join("match.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An event as type, balls and rail: what has to be the same, whatever the time.
fn key(event: &Value) -> String {
    let mut balls: Vec<&str> = match &event["balls"] {
        Value::Array(balls) => balls.iter().filter_map(Value::as_str).collect(),
        _ => vec![event["ball"].as_str().unwrap()],
    };
    balls.sort_unstable();
    format!(
        "{} {} {}",
        event["type"].as_str().unwrap(),
        balls.join("-"),
        event["rail"].as_str().unwrap_or("")
    )
}

#[test]
fn the_main_job_finds_every_event_and_gives_the_point() {
    let place = Place::new();
    let dir = place.path("result");
    let said = cuemark(&["analyse", CLIP, "--out", &place.at("result")]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("red › right › foot › left › yellow"), "{}", said.out);

    let truth: Value = serde_json::from_str(&fs::read_to_string(TRUTH).unwrap()).unwrap();
    let wanted = |e: &&Value| ["cue_strike", "ball_ball", "rail"].contains(&e["type"].as_str().unwrap());
    let events = |shot: &Value| -> Vec<(String, f64)> {
        let events = shot["events"].as_array().unwrap();
        events
            .iter()
            .filter(wanted)
            .map(|e| (key(e), e["t"].as_f64().unwrap()))
            .collect()
    };
    let lines = lines(&dir);
    let kinds: Vec<&str> = lines.iter().map(|l| l["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["header", "shot", "ruling", "end"]);
    let (found, expected) = (events(&lines[1]), events(&truth["shots"][0]));
    assert_eq!(
        found.iter().map(|e| &e.0).collect::<Vec<_>>(),
        expected.iter().map(|e| &e.0).collect::<Vec<_>>()
    );
    for ((what, t), (_, truth)) in found.iter().zip(&expected) {
        assert!((t - truth).abs() <= 0.010, "{what} at {t} s, truth {truth} s");
    }
    assert_eq!((&lines[2]["decision"], &lines[2]["points"]), (&"point".into(), &1.into()));
    assert_eq!(lines[2]["rules"][0], "C4.1.a");
    assert_eq!(lines[3]["complete"], true);
    for file in ["trajectories.parquet", "summary.json", "calibration.toml"] {
        assert!(dir.join(file).exists(), "{file} is missing");
    }

    // The same again into the same folder: allowed, and the same bytes.
    let first = fs::read(dir.join("match.jsonl")).unwrap();
    assert_eq!(cuemark(&["analyse", CLIP, "--out", &place.at("result")]).code, 0);
    assert!(fs::read(dir.join("match.jsonl")).unwrap() == first, "two runs differ");
    let left: Vec<_> = fs::read_dir(&dir).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert!(!left.iter().any(|f| f.to_str().unwrap().ends_with(".partial")), "{left:?}");

    // Another recording is not welcome there.
    let other = place.file("other.mp4", &fs::read(CLIP).unwrap());
    let said = cuemark(&["analyse", &other, "--out", &place.at("result")]);
    assert_eq!(said.code, 1);
    one_line(
        &said.err,
        &["result", "already holds another result", "smoke_carom_1080p60.mp4"],
    );
    assert!(
        fs::read(dir.join("match.jsonl")).unwrap() == first,
        "the other result was touched"
    );

    // The graphics need nothing but the folder.
    let video = place.at("graphics.mp4");
    let said = cuemark(&["overlay", &place.at("result"), "--out", &video]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let probe = [
        "-v",
        "error",
        "-count_packets",
        "-show_entries",
        "stream=codec_name,nb_read_packets",
        "-of",
        "csv=p=0",
    ];
    let output = Command::new("ffprobe").args(probe).arg(&video).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        format!("h264,{}", truth["n_frames"])
    );

    // Ruled anew, the shots give the same ruling.
    let said = cuemark(&["rule", "--match", dir.join("match.jsonl").to_str().unwrap()]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("point") && said.out.contains("C4.1.a"), "{}", said.out);
}

#[test]
fn a_recording_cut_in_half_is_analysed_as_far_as_it_goes() {
    let place = Place::new();
    let bytes = fs::read(CLIP).unwrap();
    let half = place.file("half.mp4", &bytes[..bytes.len() / 2]);
    let said = cuemark(&["analyse", &half, "--out", &place.at("out")]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["half.mp4", "cut off", "of 9.1 s could be read", "are missing"]);
    let lines = lines(&place.path("out"));
    let shot = lines.iter().find(|l| l["type"] == "shot").unwrap();
    assert!(
        shot["flags"].as_array().unwrap().contains(&"ends_before_rest".into()),
        "{}",
        shot["flags"]
    );
    let ruling = lines.iter().find(|l| l["type"] == "ruling").unwrap();
    assert_eq!(ruling["decision"], "review");
    assert_eq!(lines.last().unwrap()["complete"], false);
}

#[test]
fn one_bad_recording_among_several_does_not_stop_the_others() {
    let place = Place::new();
    let text = place.file("notes.mp4", b"shopping list");
    let said = cuemark(&["analyse", &text, CLIP, "--out", &place.at("out"), "--jobs", "2", "--to", "2"]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["notes.mp4", "not a video"]);
    assert!(place.path("out/smoke_carom_1080p60/match.jsonl").exists());
    assert!(!place.path("out/notes").exists());
}

#[test]
fn a_missing_file() {
    let place = Place::new();
    refused(&place, &place.at("none.mp4"), &[], &["none.mp4", "no such file"]);
}

#[test]
fn a_directory() {
    let place = Place::new();
    fs::create_dir(place.path("folder.mp4")).unwrap();
    refused(&place, &place.at("folder.mp4"), &[], &["folder.mp4", "is a folder"]);
}

#[test]
fn a_text_file_named_mp4() {
    let place = Place::new();
    refused(
        &place,
        &place.file("text.mp4", b"not a video at all\n"),
        &[],
        &["text.mp4", "not a video"],
    );
}

#[test]
fn sound_only() {
    let place = Place::new();
    let audio = place.ffmpeg("audio.mp4", &["-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac"]);
    refused(&place, &audio, &[], &["audio.mp4", "sound only"]);
}

#[test]
fn an_index_without_frames() {
    let place = Place::new();
    // The clip's index comes first; its pictures begin after 7,192 bytes.
    let zero = place.file("zero.mp4", &fs::read(CLIP).unwrap()[..7192]);
    refused(&place, &zero, &[], &["zero.mp4", "no frame"]);
}

#[test]
fn a_file_without_any_track() {
    let place = Place::new();
    let source = ["-f", "lavfi", "-i", "testsrc2=d=1:s=320x180", "-frames:v", "0"];
    refused(
        &place,
        &place.ffmpeg("empty.mp4", &source),
        &[],
        &["empty.mp4", "no video track"],
    );
}

#[test]
fn a_video_without_a_table() {
    let place = Place::new();
    let source = ["-f", "lavfi", "-i", "testsrc2=d=2:s=640x360", "-pix_fmt", "yuv420p"];
    refused(
        &place,
        &place.ffmpeg("pattern.mp4", &source),
        &[],
        &["pattern.mp4", "no billiard table in view"],
    );
}

#[test]
fn a_calibration_file_with_an_unknown_key() {
    let place = Place::new();
    let text = "format = \"cuemark.calibration/1\"\n[image]\nwidth_px = 1920\nheight_px = 1080\nlens = \"wide\"\n";
    let file = place.file("club.toml", text.as_bytes());
    refused(
        &place,
        CLIP,
        &["--calibration", &file],
        &["club.toml", "unknown field `lens`"],
    );
}

#[test]
fn a_calibration_of_another_camera() {
    let place = Place::new();
    let file = place.at("club.toml");
    let said = cuemark(&["calibrate", CLIP, "--out", &file, "--preview", &place.at("found.png")]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("mm") && fs::read(place.path("found.png")).unwrap().starts_with(b"\x89PNG"));
    let small = place.ffmpeg("small.mp4", &["-i", CLIP, "-frames:v", "3", "-vf", "scale=640:360"]);
    refused(
        &place,
        &small,
        &["--calibration", &file],
        &["small.mp4", "1920x1080", "640x360"],
    );
}

#[test]
fn a_match_file_with_an_unknown_key() {
    let place = Place::new();
    let file = place.file("final.toml", b"target = 40\nreferee = 'Kim'\n");
    refused(
        &place,
        CLIP,
        &["--match", &file],
        &["final.toml", "line 2", "unknown field `referee`"],
    );
}

#[test]
fn an_output_folder_that_cannot_be_written() {
    let place = Place::new();
    place.file("file", b"in the way");
    // Below a file nobody can create a folder, not even root.
    let said = cuemark(&["analyse", CLIP, "--out", &place.at("file/out")]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["file/out", "cannot be used"]);
    let said = cuemark(&["analyse", CLIP, "--out", &place.at("file")]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["is a file"]);
}

#[test]
fn a_folder_without_a_result_has_no_overlay() {
    let place = Place::new();
    let said = cuemark(&["overlay", &place.at(""), "--out", &place.at("o.mp4")]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["match.jsonl", "cuemark analyse --out"]);
    assert!(!place.path("o.mp4").exists());
}

#[test]
fn a_stretch_without_frames() {
    let place = Place::new();
    refused(
        &place,
        CLIP,
        &["--from", "100"],
        &["no frame lies between --from and --to", "9.1 s"],
    );
    refused(&place, CLIP, &["--from", "5", "--to", "4"], &["--from 5", "--to 4"]);
}

#[test]
fn a_game_that_is_not_supported_yet() {
    let place = Place::new();
    refused(&place, CLIP, &["--game", "nine-ball"], &["nine-ball", "not supported yet"]);
}

#[test]
fn wrong_usage_is_told_with_exit_code_2() {
    for args in [
        &["analyse", "a.mp4"][..],
        &["analyse", "a.mp4", "--out", "o", "--game", "chess"],
        &["analyse", "a.mp4", "--out", "o", "--jobs", "0"],
        &["analyse", "a.mp4", "--out", "o", "--from", "soon"],
        &["calibrate", "a.mp4", "--out", "o", "--corners", "1,2:3,4"],
        &["rule"],
        &["juggle"],
        &[],
    ] {
        let said = cuemark(args);
        assert_eq!(said.code, 2, "{args:?}: {}", said.err);
        assert!(said.err.contains("--help"), "{args:?}: {}", said.err);
    }
}

#[test]
fn every_command_shows_an_example() {
    for command in ["analyse", "calibrate", "rule", "overlay", "demo"] {
        let said = cuemark(&[command, "--help"]);
        assert_eq!(said.code, 0);
        assert!(said.out.contains(&format!("Example:\n  cuemark {command} ")), "{}", said.out);
    }
}

#[test]
fn a_shot_in_notation_is_ruled_on() {
    let said = cuemark(&["rule", "--shot", "W! W-R W|left W|head W|right W-Y"]);
    assert_eq!(said.code, 0);
    assert!(said.out.contains("point") && said.out.contains("C4.1"), "{}", said.out);
    let said = cuemark(&["rule", "--shot", "W! W|top"]);
    assert_eq!(said.code, 1);
    one_line(&said.err, &["W|top"]);
}
