//! Reads the sources: who may import whom, where pictures and containers may be named, and what has no place in tests.

use std::fs;
use std::path::{Path, PathBuf};

const WORDS: &[&str] = &["units", "space", "ball", "table", "frame", "observation"];
/// In their own order: each may import those before it.
const CORE: &[&str] = &["track", "events", "rules", "update", "referee"];
const EDGES: &[&str] = &["calibration", "capture", "config", "detect", "overlay", "sinks", "text"];
const OPENCV: &[&str] = &["detect", "calibration/find_table", "calibration/preview", "calibration/mod"];
const FFMPEG: &[&str] = &["capture", "overlay/video", "overlay/mod"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below `dir`, as path below it and text.
fn sources(dir: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut dirs: Vec<PathBuf> = vec![root().join(dir)];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path.strip_prefix(root().join(dir)).unwrap().to_str().unwrap().to_owned();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no source in {dir}");
    found
}

/// Code without comments and without its tests, which may name anything.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().map(|l| l.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

fn module(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

/// Modules of the crate that `code` names.
fn imports(code: &str) -> Vec<&str> {
    let all = [WORDS, CORE, EDGES, &["pipeline"]].concat();
    let mut named: Vec<&str> = Vec::new();
    for after in code.split("crate::").skip(1) {
        let first = |s: &str| {
            s.trim_start()
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .unwrap_or("")
                .to_owned()
        };
        let names: Vec<String> = match after.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or("").split(',').map(first).collect(),
            None => vec![first(after)],
        };
        named.extend(all.iter().copied().filter(|m| names.iter().any(|n| n == m)));
    }
    named
}

#[test]
fn imports_point_up_only() {
    for (file, text) in sources("src") {
        let own = module(&file);
        let code = code(&text);
        for other in imports(&code).into_iter().filter(|other| *other != own) {
            let place = |m: &str| CORE.iter().position(|c| *c == m);
            let allowed = if WORDS.contains(&own) {
                WORDS.contains(&other)
            } else if let Some(own) = place(own) {
                WORDS.contains(&other) || place(other).is_some_and(|other| other < own)
            } else if EDGES.contains(&own) {
                WORDS.contains(&other) || CORE.contains(&other)
            } else {
                own == "pipeline"
            };
            assert!(
                allowed,
                "src/{file} imports {other}: words <- core <- edges <- pipeline, and no edge imports another"
            );
        }
    }
}

#[test]
fn opencv_and_ffmpeg_stay_where_pictures_are() {
    for (file, text) in sources("src") {
        let code = code(&text);
        let may = |places: &[&str]| places.iter().any(|p| file.starts_with(p));
        assert!(!code.contains("opencv::") || may(OPENCV), "src/{file} names opencv");
        assert!(!code.contains("ffmpeg") || may(FFMPEG), "src/{file} names ffmpeg");
    }
}

#[test]
fn the_core_does_no_input_or_output() {
    for (file, text) in sources("src") {
        if !CORE.contains(&module(&file)) && !WORDS.contains(&module(&file)) {
            continue;
        }
        for word in ["std::fs", "std::io", "std::thread", "std::time", "SystemTime", "println!"] {
            assert!(!code(&text).contains(word), "src/{file} uses {word}");
        }
    }
}

#[test]
fn tests_are_never_switched_off_and_never_sleep() {
    for dir in ["src", "tests"] {
        for (file, text) in sources(dir) {
            // Put together here, so that this file does not find itself.
            for word in [
                concat!("#[ig", "nore"),
                concat!("#[should_", "panic"),
                concat!("thread::sl", "eep"),
            ] {
                assert!(!text.contains(word), "{dir}/{file} has {word}");
            }
        }
    }
}

#[test]
fn the_package_speaks_of_itself_alone() {
    let mut texts: Vec<(String, String)> = ["src", "tests", "benches"].into_iter().flat_map(sources).collect();
    for file in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "Makefile", "docs/formats.md"] {
        texts.push((file.to_owned(), fs::read_to_string(root().join(file)).unwrap()));
    }
    for (file, text) in texts {
        for word in [concat!("/wo", "rk/"), concat!("/tm", "p/")] {
            assert!(!text.contains(word), "{file} names {word}");
        }
    }
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    assert!(architecture.lines().count() < 150);
}
