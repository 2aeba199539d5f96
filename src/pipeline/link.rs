//! Links between threads: bounded, named, and waiting when full, so that no frame of a recording is lost.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded};

/// A wait longer than this is told once a link: something behind it hangs or is far too slow.
const LONG_WAIT: Duration = Duration::from_secs(5);

/// The sending end.
#[derive(Debug, Clone)]
pub struct Outlet<T> {
    name: &'static str,
    sender: Sender<T>,
    told: bool,
}

/// The far end of a link is gone: it failed and says so itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FarEndGone;

/// A link that holds at most `depth` values.
pub fn link<T>(name: &'static str, depth: usize) -> (Outlet<T>, Receiver<T>) {
    let (sender, receiver) = bounded(depth);
    let outlet = Outlet {
        name,
        sender,
        told: false,
    };
    (outlet, receiver)
}

impl<T> Outlet<T> {
    /// Waits for room and hands `value` over.
    ///
    /// # Errors
    /// When nobody will ever take it.
    pub fn send(&mut self, mut value: T) -> Result<(), FarEndGone> {
        let since = Instant::now();
        loop {
            match self.sender.send_timeout(value, LONG_WAIT) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Disconnected(_)) => return Err(FarEndGone),
                Err(SendTimeoutError::Timeout(back)) => {
                    value = back;
                    if !self.told {
                        tracing::warn!(
                            link = self.name,
                            waited_s = since.elapsed().as_secs(),
                            "the stage behind this link is slow"
                        );
                        self.told = true;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_arrive_in_order_and_the_end_is_seen() {
        let (mut outlet, inlet) = link("test", 2);
        outlet.send(1).unwrap();
        outlet.send(2).unwrap();
        drop(outlet);
        assert_eq!(inlet.iter().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_sender_learns_that_nobody_listens() {
        let (mut outlet, inlet) = link("test", 1);
        drop(inlet);
        assert_eq!(outlet.send(1), Err(FarEndGone));
    }
}
