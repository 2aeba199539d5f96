//! From the container's ticks to seconds since the first frame, strictly increasing whatever the container says.

use crate::units::Timestamp;

/// Pictures by which a codec may reorder: `MaxDpbFrames` of H.264 and HEVC.
pub(super) const MAX_REORDERED: u32 = 16;

/// A run of frames behind the last time, each later than the one before it, after which the source's clock is taken to have
/// been set back (files joined end to end, a camera's restarted counter) rather than single frames to be wrong: longer than any
/// reordering.
const RESET_RUN: u32 = MAX_REORDERED + 1;

/// What became of a frame's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Placed {
    /// The container's own time.
    At(Timestamp),
    /// The container gave none: one frame period after the last.
    Guessed(Timestamp),
    /// The container's clock was set back: one frame period after the last, but the true distance is unknown.
    Reset(Timestamp),
    /// Not later than the last frame; the frame has no place.
    Behind,
}

/// Places each frame in turn.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    secs_per_tick: Option<f64>,
    period_s: f64,
    /// A tick and the time it stands for.
    anchor: Option<(i64, f64)>,
    first_tick: Option<i64>,
    last_s: Option<f64>,
    behind: u32,
    behind_tick: i64,
}

impl Clock {
    /// `secs_per_tick`: the stream's time base in seconds, if it has one; `period_s`: nominal time from frame to frame. Both
    /// positive.
    pub fn new(secs_per_tick: Option<f64>, period_s: f64) -> Self {
        Self {
            secs_per_tick,
            period_s,
            anchor: None,
            first_tick: None,
            last_s: None,
            behind: 0,
            behind_tick: i64::MIN,
        }
    }

    /// Nominal seconds from frame to frame.
    pub fn period_s(&self) -> f64 {
        self.period_s
    }

    /// The container's time of the first frame.
    pub fn first_tick(&self) -> Option<i64> {
        self.first_tick
    }

    /// The container's time of the first frame, in seconds.
    pub fn start_s(&self) -> Option<f64> {
        Some(self.first_tick? as f64 * self.secs_per_tick?)
    }

    /// The time that `tick` stands for, on the clock as it runs now.
    pub fn seconds(&self, tick: i64) -> Option<f64> {
        let (zero, zero_s) = self.anchor?;
        Some(zero_s + (i128::from(tick) - i128::from(zero)) as f64 * self.secs_per_tick?)
    }

    /// Time of the next frame in presentation order, whose container time is `tick`.
    pub fn place(&mut self, tick: Option<i64>) -> Placed {
        let next_s = self.last_s.map_or(0.0, |s| s + self.period_s);
        if self.last_s.is_none() {
            self.first_tick = tick;
        }
        if let Some(tick) = tick {
            self.anchor.get_or_insert((tick, next_s));
        }
        let Some((tick, at_s)) = tick.and_then(|tick| Some((tick, self.seconds(tick)?))) else {
            return self.accept(next_s).map_or(Placed::Behind, Placed::Guessed);
        };
        if self.last_s.is_none_or(|last| at_s > last) {
            return self.accept(at_s).map_or(Placed::Behind, Placed::At);
        }
        self.behind = if tick > self.behind_tick { self.behind + 1 } else { 1 };
        self.behind_tick = tick;
        if self.behind < RESET_RUN {
            return Placed::Behind;
        }
        self.anchor = Some((tick, next_s));
        self.accept(next_s).map_or(Placed::Behind, Placed::Reset)
    }

    fn accept(&mut self, at_s: f64) -> Option<Timestamp> {
        let at = Timestamp::from_secs(at_s)?;
        self.last_s = Some(at_s);
        self.behind = 0;
        self.behind_tick = i64::MIN;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_S: f64 = 0.001;
    const PERIOD_S: f64 = 0.04;

    fn check(ticks: &[Option<i64>], expected: &[Option<f64>]) {
        let mut clock = Clock::new(Some(TICK_S), PERIOD_S);
        let got: Vec<Option<f64>> = ticks
            .iter()
            .map(|&t| match clock.place(t) {
                Placed::At(at) | Placed::Guessed(at) | Placed::Reset(at) => Some((at.secs() * 1e6).round() / 1e6),
                Placed::Behind => None,
            })
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn the_first_frame_is_time_zero_whatever_its_tick() {
        check(&[Some(-80), Some(-40), Some(10)], &[Some(0.0), Some(0.04), Some(0.09)]);
    }

    #[test]
    fn a_missing_time_is_one_period_after_the_last() {
        check(&[Some(500), None, Some(570)], &[Some(0.0), Some(0.04), Some(0.07)]);
        check(
            &[None, None, Some(900), Some(950)],
            &[Some(0.0), Some(0.04), Some(0.08), Some(0.13)],
        );
    }

    #[test]
    fn a_doubled_or_backward_time_has_no_place() {
        check(
            &[Some(0), Some(40), Some(40), Some(20), Some(80)],
            &[Some(0.0), Some(0.04), None, None, Some(0.08)],
        );
    }

    #[test]
    fn a_clock_set_back_goes_on_after_a_run() {
        let mut clock = Clock::new(Some(TICK_S), PERIOD_S);
        assert!(matches!(clock.place(Some(1_000_000)), Placed::At(_)));
        assert!(matches!(clock.place(Some(1_005_000)), Placed::At(_)));
        let lost = (0..).take_while(|i| clock.place(Some(i * 40)) == Placed::Behind).count();
        assert_eq!(lost, 16, "the run less the frame that ends it");
        let Placed::At(next) = clock.place(Some(17 * 40)) else {
            panic!("the new clock must hold")
        };
        assert!((next.secs() - (5.0 + 2.0 * PERIOD_S)).abs() < 1e-9);
    }

    #[test]
    fn without_a_time_base_the_rate_is_steady() {
        let mut clock = Clock::new(None, PERIOD_S);
        assert_eq!(clock.place(Some(7)), Placed::Guessed(Timestamp::ZERO));
        assert_eq!(clock.place(Some(7)), Placed::Guessed(Timestamp::saturating(0.04)));
    }

    #[test]
    fn extreme_ticks_do_not_overflow() {
        let mut clock = Clock::new(Some(1.0), PERIOD_S);
        clock.place(Some(i64::MIN));
        assert!(matches!(clock.place(Some(i64::MAX)), Placed::At(at) if at.secs() > 1e19));
    }
}
