//! Writes what happened: files that other programs read, and the table in the terminal.
//!
//! A sink takes [`Update`]s in order and knows nothing of frames, pixels or threads. Only [`wire`] decides what the
//! published JSON looks like; only [`folder`] decides what a finished result is.

pub mod folder;
pub mod journal;
pub mod result;
pub mod shot_table;
pub mod summary;
pub mod trajectories;
pub mod wire;

use std::path::{Path, PathBuf};

use crate::update::Update;

/// Takes updates in the order in which they became known.
pub trait Sink: Send {
    /// For thread names and timings: "journal".
    fn name(&self) -> &'static str;

    /// Takes the next update.
    ///
    /// # Errors
    /// When it cannot be written; the run ends.
    fn take(&mut self, update: &Update) -> Result<(), Error>;

    /// No more updates: completes and syncs what is written. Also called when the run ended in an error, so that what
    /// had been written stays readable.
    ///
    /// # Errors
    /// When it cannot be written.
    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// A result cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error("cannot write {}: {source}; check that the folder exists, is writable and that the disk has room", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: {source}", path.display())]
    WriteParquet {
        path: PathBuf,
        source: parquet::errors::ParquetError,
    },
    #[error("cannot read {}: {source}; give the folder that 'cuemark analyse --out' wrote", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot read {}: {source}; analyse the recording again", path.display())]
    ReadParquet {
        path: PathBuf,
        source: parquet::errors::ParquetError,
    },
    #[error("{} line {line}: {reason}; analyse the recording again", path.display())]
    NotAMatch { path: PathBuf, line: usize, reason: String },
    #[error("output folder {} cannot be used: {source}; choose a folder that can be written with --out", dir.display())]
    FolderNotWritable { dir: PathBuf, source: std::io::Error },
    #[error("output folder {} is a file; choose a folder with --out", dir.display())]
    FolderIsAFile { dir: PathBuf },
    #[error(
        "output folder {} already holds another result ({what}); choose another with --out or remove it first",
        dir.display()
    )]
    FolderTaken { dir: PathBuf, what: String },
}

impl Error {
    fn write(path: &Path, source: std::io::Error) -> Self {
        Self::Write {
            path: path.to_owned(),
            source,
        }
    }
}
