//! What detect says about one frame: balls in metres with honest covariance. No pixel survives beyond this point.

use crate::ball::Ball;
use crate::space::{TableCovariance, TablePoint};
use crate::units::{Confidence, FrameNo, Timestamp};

/// One ball seen in one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Which ball it may be, most likely first; never empty, never one forced label.
    pub kinds: Vec<(Ball, Confidence)>,
    /// Centre projected on the cloth at the middle of the exposure.
    pub at: TablePoint,
    /// Covariance of `at`, square metres.
    pub covariance: TableCovariance,
    /// Share of the ball's disc that was seen, 0..=1.
    pub coverage: f64,
}

/// All that was seen in one frame; one per frame, also when nothing was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameObservations {
    /// Number of the frame.
    pub no: FrameNo,
    /// Middle of the exposure.
    pub at: Timestamp,
    /// Whether the picture was the table from the known camera; false in a cut, a fade or when the camera moved.
    pub table_in_view: bool,
    /// The balls.
    pub balls: Vec<Observation>,
}
