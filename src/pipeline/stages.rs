//! The threads: capture → detect → referee → one a sink. Each is scoped and named; the first error ends the run, and
//! what lies behind it drains, so that what had been written is complete as far as it goes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::Error;
use super::link::{FarEndGone, Outlet, link};
use crate::frame::Frame;
use crate::observation::FrameObservations;
use crate::sinks::{self, Sink};
use crate::units::Timestamp;
use crate::update::Update;

/// Pictures between capture and detect. The decoder yields pictures in bursts, as many as it has threads, so a few even the
/// two out; a 1080p picture is 3 MB, so more would only cost memory.
const PICTURES: usize = 4;
/// Observations between detect and referee: a second at 60 frames a second, small.
const OBSERVATIONS: usize = 64;
/// Updates to a sink: more shots than a minute of play has.
const UPDATES: usize = 64;

/// What a run took.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// Seconds each stage worked, without what it waited for others.
    pub stages_s: BTreeMap<String, f64>,
    /// Frames that went through.
    pub n_frames: u64,
    /// Time of the last frame.
    pub last: Timestamp,
}

/// A stage's own result with the time that it worked.
struct Worked<T> {
    value: T,
    busy: Duration,
}

/// Runs all stages to the end of the source.
///
/// `next_frame` yields frames in time order and `None` at the end; `detect` measures one; `referee` is given each
/// frame's observations, then `None` once, and yields what has become known. `seen` is told of each frame that passed.
///
/// # Errors
/// The first stage's error in the order of the stages.
pub fn run(
    next_frame: impl FnMut() -> Result<Option<Frame>, Error> + Send,
    detect: impl FnMut(&Frame) -> FrameObservations + Send,
    referee: impl FnMut(Option<&FrameObservations>) -> Vec<Update> + Send,
    sinks: Vec<&mut dyn Sink>,
    seen: &(dyn Fn(Timestamp) + Sync),
) -> Result<Spent, Error> {
    let (pictures_out, pictures) = link("capture to detect", PICTURES);
    let (observations_out, observations) = link("detect to referee", OBSERVATIONS);
    thread::scope(|scope| {
        let capture = spawn(scope, "capture", move || capture(next_frame, pictures_out))?;
        let detect = spawn(scope, "detect", move || Ok(measure(detect, &pictures, observations_out)))?;
        let mut outlets = Vec::new();
        let mut writers = Vec::new();
        for sink in sinks {
            let (outlet, updates) = link("referee to sink", UPDATES);
            outlets.push(outlet);
            let name = sink.name();
            writers.push((name, spawn(scope, name, move || write(sink, &updates).map_err(Error::from))?));
        }
        let referee = spawn(scope, "referee", move || Ok(judge(referee, &observations, outlets, seen)))?;

        let mut stages_s = BTreeMap::new();
        let mut first_error = None;
        let mut note = |name: &str, busy: Result<Duration, Error>| match busy {
            Ok(busy) => {
                stages_s.insert(name.to_owned(), busy.as_secs_f64());
            }
            Err(error) => {
                first_error.get_or_insert(error);
            }
        };
        note("capture", join("capture", capture).map(|w| w.busy));
        note("detect", join("detect", detect).map(|w| w.busy));
        let referee = join("referee", referee);
        let (n_frames, last) = referee.as_ref().map_or((0, Timestamp::ZERO), |w| w.value);
        note("referee", referee.map(|w| w.busy));
        for (name, writer) in writers {
            note(name, join(name, writer).map(|w| w.busy));
        }
        let spent = Spent {
            stages_s,
            n_frames,
            last,
        };
        first_error.map_or(Ok(spent), Err)
    })
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> Result<T, Error> + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, Result<T, Error>>, Error> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn_scoped(scope, work)
        .map_err(|source| Error::Thread { name, source })
}

fn join<T>(name: &'static str, handle: ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    handle.join().unwrap_or(Err(Error::Died { name }))
}

fn capture(
    mut next_frame: impl FnMut() -> Result<Option<Frame>, Error>,
    mut pictures: Outlet<Frame>,
) -> Result<Worked<()>, Error> {
    let mut busy = Duration::ZERO;
    loop {
        let start = Instant::now();
        let frame = next_frame()?;
        busy += start.elapsed();
        let Some(frame) = frame else { break };
        if pictures.send(frame) == Err(FarEndGone) {
            break;
        }
    }
    Ok(Worked { value: (), busy })
}

fn measure(
    mut detect: impl FnMut(&Frame) -> FrameObservations,
    pictures: &Receiver<Frame>,
    mut observations: Outlet<FrameObservations>,
) -> Worked<()> {
    let mut busy = Duration::ZERO;
    for frame in pictures {
        let start = Instant::now();
        let seen = detect(&frame);
        // Back to the pool before we may have to wait.
        drop(frame);
        busy += start.elapsed();
        if observations.send(seen) == Err(FarEndGone) {
            break;
        }
    }
    Worked { value: (), busy }
}

fn judge(
    mut referee: impl FnMut(Option<&FrameObservations>) -> Vec<Update>,
    observations: &Receiver<FrameObservations>,
    mut sinks: Vec<Outlet<Arc<Update>>>,
    seen: &(dyn Fn(Timestamp) + Sync),
) -> Worked<(u64, Timestamp)> {
    let mut busy = Duration::ZERO;
    let mut passed = (0, Timestamp::ZERO);
    let mut announce = |updates: Vec<Update>| {
        updates.into_iter().map(Arc::new).all(|update| {
            // A sink that is gone has failed and says so; the others still get the update.
            let sent: Vec<_> = sinks.iter_mut().map(|sink| sink.send(Arc::clone(&update))).collect();
            sent.into_iter().all(|s| s.is_ok())
        })
    };
    let mut heard = true;
    for frame in observations {
        let start = Instant::now();
        let updates = referee(Some(&frame));
        busy += start.elapsed();
        passed = (passed.0 + 1, frame.at);
        seen(frame.at);
        heard = announce(updates);
        if !heard {
            break;
        }
    }
    if heard {
        let start = Instant::now();
        let updates = referee(None);
        busy += start.elapsed();
        announce(updates);
    }
    Worked { value: passed, busy }
}

fn write(sink: &mut dyn Sink, updates: &Receiver<Arc<Update>>) -> Result<Worked<()>, sinks::Error> {
    let mut busy = Duration::ZERO;
    for update in updates {
        let start = Instant::now();
        sink.take(&update)?;
        busy += start.elapsed();
    }
    let start = Instant::now();
    sink.finish()?;
    Ok(Worked {
        value: (),
        busy: busy + start.elapsed(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::frame::Image;
    use crate::units::FrameNo;

    /// Keeps what it is given; fails at the update numbered `fails_at`.
    #[derive(Default)]
    struct Kept {
        gaps_s: Vec<f64>,
        finished: bool,
        fails_at: Option<usize>,
    }

    impl Sink for Kept {
        fn name(&self) -> &'static str {
            "kept"
        }

        fn take(&mut self, update: &Update) -> Result<(), sinks::Error> {
            if self.fails_at == Some(self.gaps_s.len()) {
                return Err(sinks::Error::FolderIsAFile { dir: "full".into() });
            }
            if let Update::FramesLost { gap_s, .. } = update {
                self.gaps_s.push(*gap_s);
            }
            Ok(())
        }

        fn finish(&mut self) -> Result<(), sinks::Error> {
            self.finished = true;
            Ok(())
        }
    }

    fn frames(n: u64, error_after: bool) -> impl FnMut() -> Result<Option<Frame>, Error> + Send {
        let mut no = 0;
        move || {
            if no == n {
                return if error_after {
                    Err(Error::Interrupted { at_s: 1.0 })
                } else {
                    Ok(None)
                };
            }
            no += 1;
            Ok(Some(Frame {
                no: FrameNo(no - 1),
                at: Timestamp::saturating(no as f64),
                image: Image::filled(2, 2, [16, 128, 128]).unwrap(),
            }))
        }
    }

    fn detect(frame: &Frame) -> FrameObservations {
        FrameObservations {
            no: frame.no,
            at: frame.at,
            table_in_view: true,
            balls: Vec::new(),
        }
    }

    /// One update a frame that carries the frame's time, and -1 at the end.
    fn referee(seen: Option<&FrameObservations>) -> Vec<Update> {
        vec![Update::FramesLost {
            after: Timestamp::ZERO,
            gap_s: seen.map_or(-1.0, |s| s.at.secs()),
        }]
    }

    #[test]
    fn every_sink_gets_every_update_in_order() {
        let (mut a, mut b) = (Kept::default(), Kept::default());
        let told = AtomicU64::new(0);
        let seen = |_: Timestamp| {
            told.fetch_add(1, Ordering::Relaxed);
        };
        let spent = run(frames(200, false), detect, referee, vec![&mut a, &mut b], &seen).unwrap();
        let expected: Vec<f64> = (1..=200).map(f64::from).chain([-1.0]).collect();
        assert_eq!(a.gaps_s, expected);
        assert_eq!(b.gaps_s, expected);
        assert!(a.finished && b.finished);
        assert_eq!((spent.n_frames, spent.last.secs(), told.into_inner()), (200, 200.0, 200));
    }

    #[test]
    fn an_error_of_the_source_ends_the_run_and_keeps_what_came_before() {
        let mut kept = Kept::default();
        let error = run(frames(3, true), detect, referee, vec![&mut kept], &|_| ()).unwrap_err();
        assert!(matches!(error, Error::Interrupted { .. }));
        assert_eq!(kept.gaps_s, [1.0, 2.0, 3.0, -1.0]);
        assert!(kept.finished);
    }

    #[test]
    fn a_sink_that_fails_ends_an_endless_run() {
        let mut kept = Kept {
            fails_at: Some(5),
            ..Kept::default()
        };
        let error = run(frames(u64::MAX, false), detect, referee, vec![&mut kept], &|_| ()).unwrap_err();
        assert!(matches!(error, Error::Sink(_)), "{error}");
        assert_eq!(kept.gaps_s.len(), 5);
    }
}
