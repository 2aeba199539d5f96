//! How far a run is, for a person at a terminal. Nothing here changes a result.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::units::Timestamp;

/// Times are shown in milliseconds of video.
const MS_PER_S: f64 = 1000.0;

/// Redraws a second.
const REDRAWS_HZ: u8 = 5;

/// Bars for several recordings at once; silent when stderr is no terminal.
#[derive(Debug)]
pub struct Screen {
    bars: MultiProgress,
}

impl Default for Screen {
    fn default() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr_with_hz(REDRAWS_HZ)
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            bars: MultiProgress::with_draw_target(target),
        }
    }
}

impl Screen {
    /// Shows nothing.
    pub fn silent() -> Self {
        Self {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::hidden()),
        }
    }

    /// A bar for one recording of `duration_s` seconds, when that is known.
    pub fn bar(&self, name: &str, duration_s: Option<f64>) -> Progress {
        let bar = match duration_s {
            Some(duration_s) => ProgressBar::new((duration_s * MS_PER_S) as u64),
            None => ProgressBar::no_length(),
        };
        let bar = self.bars.add(bar);
        let shape = if duration_s.is_some() {
            "{prefix} {wide_bar:.green/black.bright} {percent:>3} %  {msg}  {eta} left"
        } else {
            "{prefix} {spinner} {msg}"
        };
        // The templates above are constant; were one wrong, the plain bar would do.
        if let Ok(style) = ProgressStyle::with_template(shape) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.set_prefix(name.to_owned());
        Progress {
            bar,
            started: Instant::now(),
        }
    }

    /// Prints above the bars.
    pub fn say(&self, line: &str) {
        if self.bars.is_hidden() {
            eprintln!("{line}");
        } else {
            // A terminal that cannot be written to is no reason to end a run.
            let _ = self.bars.println(line);
        }
    }
}

/// One bar.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
}

impl Progress {
    /// A frame of this time went through.
    pub fn seen(&self, at: Timestamp) {
        self.bar.set_position((at.secs().max(0.0) * MS_PER_S) as u64);
        let elapsed = self.started.elapsed();
        if elapsed > Duration::ZERO && !self.bar.is_hidden() {
            self.bar
                .set_message(format!("{:.1}× real time", at.secs() / elapsed.as_secs_f64()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
