//! The second pass: graphics burnt into the recording of an analysed match.
use super::Error;
use super::progress::Screen;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What to burn, and where to.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub struct Burn {
    pub dir: PathBuf,
    pub out: PathBuf,
    pub video: Option<PathBuf>,
    pub threads: usize,
    pub from_s: Option<f64>,
    pub to_s: Option<f64>,
}

/// Burns.
///
/// # Errors
/// None yet.
pub fn burn(_: &Burn, _: &Screen, _: &AtomicBool) -> Result<(), Error> {
    Ok(())
}
