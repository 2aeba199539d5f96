//! What sinks see: a closed list of everything that can happen.

use std::sync::Arc;

use crate::events::Shot;
use crate::rules::Ruling;

/// One thing that happened, in the order in which it became known.
#[derive(Debug, Clone)]
pub enum Update {
    /// A shot was worked out, start to rest.
    Shot(Arc<Shot>),
    /// A shot was ruled on; a later ruling on the same shot supersedes this one.
    Ruling(Arc<Ruling>),
    /// Frames are missing: how long the gap is, seconds, and where it begins.
    FramesLost {
        /// Time of the last frame before the gap.
        after: crate::units::Timestamp,
        /// Length of the gap, seconds.
        gap_s: f64,
    },
}
