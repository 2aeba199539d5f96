//! `match.jsonl`, written and synced as it happens: a killed process loses nothing that it had announced.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::wire::{End, Header, Line, RulingLine, ShotLine};
use super::{Error, Sink};
use crate::update::Update;

/// Writes one line an update.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    n_shots: u32,
    /// Rulings written so far, by shot.
    n_rulings: BTreeMap<u32, u32>,
}

impl Journal {
    /// Creates the file with its header.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path, header: Header) -> Result<Self, Error> {
        let file = File::create(path).map_err(|e| Error::write(path, e))?;
        let mut journal = Self {
            path: path.to_owned(),
            file,
            n_shots: 0,
            n_rulings: BTreeMap::new(),
        };
        journal.write(&Line::Header(header))?;
        Ok(journal)
    }

    /// Writes the last line; `complete` when the whole recording was read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(&mut self, complete: bool) -> Result<(), Error> {
        self.write(&Line::End(End {
            shots: self.n_shots,
            complete,
        }))?;
        self.finish()
    }

    /// One call to the system a line, so that a line is there in full or not at all.
    fn write(&mut self, line: &Line) -> Result<(), Error> {
        let mut text = serde_json::to_string(line).map_err(|e| Error::write(&self.path, e.into()))?;
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|e| Error::write(&self.path, e))
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_data().map_err(|e| Error::write(&self.path, e))
    }
}

impl Sink for Journal {
    fn name(&self) -> &'static str {
        "journal"
    }

    fn take(&mut self, update: &Update) -> Result<(), Error> {
        match update {
            Update::Shot(shot) => {
                self.n_shots += 1;
                self.write(&Line::Shot(Box::new(ShotLine::from(&**shot))))
            }
            Update::Ruling(ruling) => {
                let earlier = self.n_rulings.entry(ruling.shot).or_default();
                let line = RulingLine::new(ruling, *earlier);
                *earlier += 1;
                self.write(&Line::Ruling(Box::new(line)))?;
                // A few times a minute at most, while a sync costs milliseconds.
                self.sync()
            }
            Update::FramesLost { .. } => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.file.sync_all().map_err(|e| Error::write(&self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::sinks::result::tests::{a_ruling, a_shot};
    use crate::table::Table;

    #[test]
    fn lines_come_in_order_and_a_second_ruling_supersedes() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("match.jsonl");
        let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, None);
        let mut journal = Journal::create(&path, header).unwrap();
        journal.take(&Update::Shot(Arc::new(a_shot()))).unwrap();
        journal.take(&Update::Ruling(Arc::new(a_ruling()))).unwrap();
        journal.take(&Update::Ruling(Arc::new(a_ruling()))).unwrap();
        journal.end(true).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            concat!(
                r#"{"type":"header","format":"cuemark.match/1","source":"clip.mp4","source_bytes":42,"game":"three-cushion","#,
                r#""table":{"length_m":2.84,"width_m":1.42},"ball_radius_m":0.03075}"#
            )
        );
        assert!(lines[1].starts_with(r#"{"type":"shot","shot":1,"#));
        assert!(
            lines[2].starts_with(r#"{"type":"ruling","shot":1,"decision":"point","points":1,"#)
                && !lines[2].contains("supersedes")
        );
        assert!(lines[3].contains(r#""supersedes":1"#));
        assert_eq!(lines[4..], [r#"{"type":"end","shots":1,"complete":true}"#]);
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        // Every write to this device fails with "no space left".
        let header = Header::new("clip.mp4".into(), 42, "three-cushion", &Table::CAROM, None);
        let error = Journal::create(Path::new("/dev/full"), header).unwrap_err().to_string();
        assert!(error.contains("/dev/full") && error.contains("No space left"), "{error}");
    }
}
