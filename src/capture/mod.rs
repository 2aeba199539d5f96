//! Frames with true timestamps, through the ffmpeg libraries in-process.
//!
//! [`Recording`] reads a file from front to back, [`sample_keyframes`] looks at a few
//! pictures spread over it, [`Keyframes`] at all that can be decoded alone. Planes stay the
//! decoder's own YUV 4:2:0 buffers wherever its format allows; everything else is converted and turned upright once, here.
//! Times are the container's, in seconds from the first frame shown; no time is ever a frame number over a rate unless the
//! container has none. This stage opens regular files only: no network, no playlists, no devices.

mod clock;
mod container;
mod error;
mod picture;
mod recording;
mod report;
mod scan;
mod source;

pub use error::Error;
pub use recording::Recording;
pub use report::{CaptureReport, Doubtful, Reason, SizeChange, SourceInfo, Truncation};
pub use scan::{Keyframes, sample_keyframes};
