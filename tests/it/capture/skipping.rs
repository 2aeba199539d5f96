//! Reading less than everything: samples, keyframes, jumps.

use super::losses::half;
use super::*;

#[test]
fn samples_are_spread_keyframes_with_their_own_times() {
    let dir = TempDir::new().unwrap();
    // a keyframe every 10 frames, 0.4 s
    let how = "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0 -bf 2";
    for name in ["k.mp4", "k.mkv", "k.avi"] {
        let path = clip(&dir, name, FOUR_SECONDS, how);
        let (_, all) = open_and_read(&path);
        let at = |max: usize| times(&sample_keyframes(&path, max).unwrap());
        assert_eq!(at(0).len(), 0, "{name}");
        assert_eq!(at(1), [0.0], "{name}");
        let samples = sample_keyframes(&path, 5).unwrap();
        assert_times(&samples, [0.0, 0.8, 1.6, 2.4, 3.2], name);
        for sample in &samples {
            let same = all.iter().find(|f| (f.at.secs() - sample.at.secs()).abs() < TICK_S).unwrap();
            assert!(pixels(sample) == pixels(same), "{name}: {:?}", sample.at);
        }
        let many = sample_keyframes(&path, 1000).unwrap();
        assert_times(&many, (0..10).map(|i| f64::from(i) * 0.4), name);
    }
}

#[test]
fn every_keyframe_in_turn() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0 -bf 2";
    for name in ["k.mp4", "k.mkv", "k.avi", "k.ts"] {
        let path = clip(&dir, name, FOUR_SECONDS, how);
        let mut scan = Keyframes::open(&path).unwrap();
        let mut frames = Vec::new();
        while let Some(frame) = scan.next_frame().unwrap() {
            frames.push(frame);
        }
        assert_times(&frames, (0..10).map(|i| f64::from(i) * 0.4), name);
    }
}

#[test]
fn keyframe_times_are_the_recordings_own_behind_an_edit_list() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0 -bf 2";
    let whole = clip(&dir, "whole.mp4", FOUR_SECONDS, how);
    let cut = dir.path().join("cut.mp4");
    ffmpeg(&["-ss", "1", "-i", whole.to_str().unwrap(), "-c", "copy", cut.to_str().unwrap()]);
    let samples = sample_keyframes(&cut, 100).unwrap();
    // 1.0 s is shown first, then the keyframes at 1.2, 1.6, ... 3.6 s of the whole
    assert_times(&samples, [0.0, 0.2, 0.6, 1.0, 1.4, 1.8, 2.2, 2.6], "cut");
}

#[test]
fn skipping_lands_on_the_keyframe_before_and_reads_on() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0 -bf 2";
    for name in ["s.mp4", "s.mkv", "fragments.mp4"] {
        let how = format!(
            "{how}{}",
            if name.starts_with('f') {
                " -movflags frag_keyframe+empty_moov"
            } else {
                ""
            }
        );
        let path = clip(&dir, name, FOUR_SECONDS, &how);
        let all = open_and_read(&path).1;
        // (frames read first, where to go, frame it leads to): between keyframes, on one, back into the stretch already read, the end
        for (n_read, to_s, lands) in [(0, 1.97, 40), (3, 2.0, 50), (13, 0.7, 13), (13, 0.8, 20), (5, 99.0, 90)] {
            let mut recording = Recording::open(&path, 2).unwrap();
            for _ in 0..n_read {
                recording.next_frame().unwrap().unwrap();
            }
            assert!(recording.skip_to(Timestamp::saturating(to_s)), "{name} {to_s}");
            let frames = read(&mut recording);
            let what = format!("{name}: {n_read} frames, then to {to_s} s");
            assert_times(&frames, times(&all[lands..]), &what);
            assert!(raw(&frames) == raw(&all[lands..]), "{what}");
            assert!(frames.iter().zip(&all[lands..]).all(|(f, a)| f.no == a.no), "{what}: numbers");
            assert_eq!(recording.report().frames, (n_read + frames.len()) as u64, "{what}");
            assert_clean(&recording, &what);
        }
        let mut recording = Recording::open(&path, 2).unwrap();
        assert!(!recording.skip_to(Timestamp::ZERO), "{name}: nothing lies before");
        assert_eq!(read(&mut recording).len(), 100);
    }
    let stream = clip(&dir, "s.ts", FOUR_SECONDS, how);
    let mut recording = Recording::open(&stream, 2).unwrap();
    assert!(!recording.skip_to(Timestamp::saturating(2.0)), "no index to rely on");
    assert_eq!(read(&mut recording).len(), 100);
}

#[test]
fn samples_of_a_file_without_an_index() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -g 10 -keyint_min 10 -sc_threshold 0 -bf 0";
    let stream = clip(&dir, "k.ts", FOUR_SECONDS, how);
    let samples = times(&sample_keyframes(&stream, 6).unwrap());
    assert!(samples.len() >= 4, "{samples:?}");
    assert!(
        samples.iter().all(|s| (s / 0.4 - (s / 0.4).round()).abs() < 0.01),
        "{samples:?}"
    );
    assert!(*samples.last().unwrap() > 2.0, "spread to the end: {samples:?}");
    // neither length nor times: read through and thinned
    let bare = clip(&dir, "k.h264", FOUR_SECONDS, how);
    assert_times(
        &sample_keyframes(&bare, 100).unwrap(),
        (0..10).map(|i| f64::from(i) * 0.4),
        "bare",
    );
    assert_times(
        &sample_keyframes(&bare, 5).unwrap(),
        (0..5).map(|i| f64::from(i) * 0.8),
        "bare, thinned",
    );
}

#[test]
fn samples_of_a_cut_recording() {
    let dir = TempDir::new().unwrap();
    let how = "-c:v libx264 -pix_fmt yuv420p -g 5 -keyint_min 5 -sc_threshold 0 -bf 0 -movflags faststart";
    let whole = clip(&dir, "k.mp4", FOUR_SECONDS, how);
    let samples = sample_keyframes(&half(&dir, &whole), 8).unwrap();
    assert!((3..=5).contains(&samples.len()), "{}", samples.len());
}
