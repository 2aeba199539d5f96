//! Time and doubt as values. Times are seconds on the clock of the source; nothing here counts in frames.

use std::cmp::Ordering;

/// Number of a frame in decoding order, from 0. Numbers are never reused, so a gap is visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameNo(pub u64);

/// A time in seconds from the first frame's presentation time. Sub-frame times are ordinary values.
///
/// Always finite, hence totally ordered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timestamp(f64);

impl Timestamp {
    /// The first frame's presentation time.
    pub const ZERO: Self = Self(0.0);

    /// `None` when `secs` is not finite.
    pub fn from_secs(secs: f64) -> Option<Self> {
        secs.is_finite().then_some(Self(secs))
    }

    /// As [`Self::from_secs`], with a value that is not finite taken as zero; for arithmetic on values known to be finite.
    pub fn saturating(secs: f64) -> Self {
        debug_assert!(secs.is_finite(), "a time must be finite");
        Self(if secs.is_finite() { secs } else { 0.0 })
    }

    /// Seconds since the first frame.
    pub fn secs(self) -> f64 {
        self.0
    }

    /// Seconds from `earlier` to `self`; negative when `earlier` is later.
    pub fn since(self, earlier: Self) -> f64 {
        self.0 - earlier.0
    }

    /// This time moved by `secs`.
    #[must_use]
    pub fn plus(self, secs: f64) -> Self {
        Self::saturating(self.0 + secs)
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A probability in 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Confidence(f64);

impl Confidence {
    /// Certain.
    pub const SURE: Self = Self(1.0);
    /// Impossible.
    pub const NONE: Self = Self(0.0);

    /// Clamps into 0..=1; a value that is not a number counts as 0: no knowledge is no confidence.
    pub fn new(p: f64) -> Self {
        if p.is_nan() { Self(0.0) } else { Self(p.clamp(0.0, 1.0)) }
    }

    /// The probability.
    pub fn get(self) -> f64 {
        self.0
    }
}
