//! The output folder: whose it is, and when a result is whole.
//!
//! While a recording is analysed every file bears the ending `.partial`; it is valid and readable as far as it goes, and
//! stays when the run ends in an error or the process is killed. When all is done the earlier result goes, the files get
//! their names, and `match.jsonl` gets its name last: **where `match.jsonl` is, the result is whole and of one run.**
//!
//! A folder that holds a result of the same recording (file name and size) is written anew; one that holds another
//! result is refused. Files of other names are not touched.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::Error;
use super::wire::Line;

/// Shots and rulings.
pub const MATCH: &str = "match.jsonl";
/// Every ball's path.
pub const TRAJECTORIES: &str = "trajectories.parquet";
/// Counts, score and timings.
pub const SUMMARY: &str = "summary.json";
/// The camera and table that were used.
pub const CALIBRATION: &str = "calibration.toml";
/// The recording with graphics.
pub const OVERLAY: &str = "overlay.mp4";

/// All files of a result; the last to be named is the one that says that the result is whole.
const FILES: [&str; 5] = [OVERLAY, CALIBRATION, TRAJECTORIES, SUMMARY, MATCH];

/// Longest header line that is read, bytes: ours has a few hundred; a file of another kind may have no line ends at all.
const MAX_HEADER_BYTES: u64 = 64 * 1024;

/// A folder that this run may write to.
#[derive(Debug)]
pub struct Folder {
    dir: PathBuf,
    created: bool,
}

impl Folder {
    /// Claims `dir`, which is created when missing, for a result of the recording named `source` with `source_bytes`
    /// bytes.
    ///
    /// # Errors
    /// When it is a file, cannot be written, or holds another result.
    pub fn claim(dir: &Path, source: &str, source_bytes: u64) -> Result<Self, Error> {
        if dir.is_file() {
            return Err(Error::FolderIsAFile { dir: dir.to_owned() });
        }
        let not_writable = |source| Error::FolderNotWritable {
            dir: dir.to_owned(),
            source,
        };
        let created = !dir.exists();
        fs::create_dir_all(dir).map_err(not_writable)?;
        let folder = Self {
            dir: dir.to_owned(),
            created,
        };
        if let Some(what) = folder.held_by_another(source, source_bytes) {
            return Err(Error::FolderTaken {
                dir: dir.to_owned(),
                what,
            });
        }
        // Found out now, not after the whole recording was read.
        File::options()
            .append(true)
            .create(true)
            .open(folder.partial(MATCH))
            .map_err(not_writable)?;
        Ok(folder)
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where `file` is while it is not yet whole.
    pub fn partial(&self, file: &str) -> PathBuf {
        partial(&self.dir.join(file))
    }

    /// What the folder holds already, when that is not an earlier result of the same recording.
    fn held_by_another(&self, source: &str, source_bytes: u64) -> Option<String> {
        let whole = self.dir.join(MATCH);
        for path in [whole.clone(), partial(&whole)] {
            match read_header(&path) {
                Held::Nothing => {}
                Held::Result { name, bytes } if name == source && bytes == source_bytes => {}
                Held::Result { name, .. } if name == source => {
                    return Some(format!("of a different recording that is also called {name}"));
                }
                Held::Result { name, .. } => return Some(format!("of {name}")),
                Held::Other => return Some(format!("{} is not of cuemark", path.display())),
            }
        }
        let alone = |file: &&&str| !whole.exists() && self.dir.join(file).exists();
        FILES.iter().find(alone).map(|file| format!("{file} without {MATCH}"))
    }

    /// There was nothing to write after all: removes what this run has begun.
    pub fn discard(self) {
        for file in FILES {
            // Best effort: the error that ended the run is the one to report. The rest is done on dropping.
            let _ = fs::remove_file(self.partial(file));
        }
    }

    /// All that this run writes is written: replaces the earlier result by it.
    ///
    /// # Errors
    /// When a file cannot be renamed.
    pub fn commit(self) -> Result<(), Error> {
        // Names are taken away from the most telling file on and given back to it last, so no mix ever looks whole.
        for file in FILES.iter().rev() {
            let path = self.dir.join(file);
            if path.exists() {
                fs::remove_file(&path).map_err(|e| Error::write(&path, e))?;
            }
        }
        for file in FILES {
            let path = self.dir.join(file);
            if partial(&path).exists() {
                fs::rename(partial(&path), &path).map_err(|e| Error::write(&path, e))?;
            }
        }
        sync_folder(&self.dir);
        Ok(())
    }
}

impl Drop for Folder {
    /// A run that failed before it had anything to say leaves nothing behind.
    fn drop(&mut self) {
        for file in FILES {
            let path = self.partial(file);
            if fs::metadata(&path).is_ok_and(|m| m.len() == 0) {
                // Best effort: the error that ended the run is the one to report.
                let _ = fs::remove_file(&path);
            }
        }
        if self.created {
            // Removes an empty folder only.
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// `path` with `.partial` behind it.
pub fn partial(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Gives `partial(path)` its name once it is whole.
///
/// # Errors
/// When it cannot be renamed.
pub fn name_whole(path: &Path) -> Result<(), Error> {
    fs::rename(partial(path), path).map_err(|e| Error::write(path, e))?;
    if let Some(dir) = path.parent() {
        sync_folder(dir);
    }
    Ok(())
}

/// Names survive a power cut only when the folder is synced too. Some file systems cannot; the files are whole anyway.
fn sync_folder(dir: &Path) {
    if let Ok(dir) = File::open(dir) {
        let _ = dir.sync_all();
    }
}

/// What a file called `match.jsonl` is.
enum Held {
    Nothing,
    Result { name: String, bytes: u64 },
    Other,
}

fn read_header(path: &Path) -> Held {
    let Ok(file) = File::open(path) else {
        return Held::Nothing;
    };
    let mut line = String::new();
    match BufReader::new(file.take(MAX_HEADER_BYTES)).read_line(&mut line) {
        Ok(0) => Held::Nothing,
        Ok(_) => match serde_json::from_str(&line) {
            Ok(Line::Header(header)) => Held::Result {
                name: header.source,
                bytes: header.source_bytes,
            },
            _ => Held::Other,
        },
        Err(_) => Held::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinks::wire::Header;
    use crate::table::Table;

    fn header_line(source: &str, bytes: u64) -> String {
        let header = Header::new(source.to_owned(), bytes, "three-cushion", &Table::CAROM, None);
        serde_json::to_string(&Line::Header(header)).unwrap() + "\n"
    }

    #[test]
    fn a_run_that_says_nothing_leaves_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let out = tmp.path().join("out");
        drop(Folder::claim(&out, "a.mp4", 10).unwrap());
        assert!(!out.exists());
    }

    #[test]
    fn files_get_their_names_at_the_end_and_old_ones_go() {
        let tmp = tempfile::tempdir().unwrap();
        let out = tmp.path();
        fs::write(out.join(MATCH), header_line("a.mp4", 10)).unwrap();
        fs::write(out.join(OVERLAY), "old").unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        let folder = Folder::claim(out, "a.mp4", 10).unwrap();
        fs::write(folder.partial(MATCH), "new").unwrap();
        assert!(
            fs::read_to_string(out.join(MATCH)).unwrap().contains("header"),
            "not yet whole"
        );
        folder.commit().unwrap();
        assert_eq!(fs::read_to_string(out.join(MATCH)).unwrap(), "new");
        assert!(!out.join(OVERLAY).exists() && !partial(&out.join(MATCH)).exists());
        assert_eq!(fs::read_to_string(out.join("notes.txt")).unwrap(), "mine");
    }

    #[test]
    fn another_result_is_refused_and_kept() {
        let refused = |held: &str, file: &str| {
            let tmp = tempfile::tempdir().unwrap();
            fs::write(tmp.path().join(file), held).unwrap();
            let error = Folder::claim(tmp.path(), "a.mp4", 10).unwrap_err().to_string();
            assert_eq!(fs::read_to_string(tmp.path().join(file)).unwrap(), held);
            assert!(error.contains("already holds another result"), "{error}");
            error
        };
        assert!(refused(&header_line("b.mp4", 10), MATCH).contains("(of b.mp4)"));
        assert!(refused(&header_line("b.mp4", 10), "match.jsonl.partial").contains("(of b.mp4)"));
        assert!(refused(&header_line("a.mp4", 11), MATCH).contains("also called a.mp4"));
        assert!(refused("something else", MATCH).contains("not of cuemark"));
        assert!(refused("{}", SUMMARY).contains("summary.json without match.jsonl"));
    }

    #[test]
    fn a_file_in_the_way_is_named() {
        let tmp = tempfile::tempdir().unwrap();
        let file = tmp.path().join("out");
        fs::write(&file, "").unwrap();
        assert!(matches!(Folder::claim(&file, "a", 1), Err(Error::FolderIsAFile { .. })));
        let below = Folder::claim(&file.join("below"), "a", 1).unwrap_err();
        assert!(matches!(below, Error::FolderNotWritable { .. }), "{below}");
    }
}
