//! Joins track, events and rules by plain calls: one deterministic thread, no failure.

use std::sync::Arc;

use crate::ball::CAROM_BALLS;
use crate::events::{EventFinder, Shot};
use crate::observation::FrameObservations;
use crate::rules::{MatchScorer, MatchSetup, Standing};
use crate::table::Table;
use crate::track::Tracker;
use crate::units::Timestamp;
use crate::update::Update;

/// A gap between frames this long is told to the sinks, seconds: at 25 frames a second, two frames in a row.
const GAP_TOLD_S: f64 = 0.1;

/// A gap is also held against the usual step between frames, so that a slow source is not all gaps.
const GAP_FACTOR: f64 = 3.5;

/// Watches observations and yields shots and rulings.
#[derive(Debug, Clone)]
pub struct Referee {
    table: Table,
    tracker: Tracker,
    finder: EventFinder,
    scorer: MatchScorer,
    last: Option<Timestamp>,
    usual_step_s: f64,
}

impl Referee {
    /// A referee for a match by `setup` on a table of these sizes.
    pub fn new(table: Table, setup: &MatchSetup) -> Self {
        Self {
            table,
            tracker: Tracker::new(&CAROM_BALLS),
            finder: EventFinder::new(table, CAROM_BALLS.into_iter()),
            scorer: MatchScorer::new(&table, setup),
            last: None,
            usual_step_s: 0.0,
        }
    }

    /// The table it watches.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How the match stands.
    pub fn standing(&self) -> Standing {
        self.scorer.standing()
    }

    /// Takes the next frame's observations, in time order. A frame that is not later than the last is passed over.
    pub fn observe(&mut self, seen: &FrameObservations) -> Vec<Update> {
        let mut updates = Vec::new();
        if let Some(last) = self.last {
            let step = seen.at.since(last);
            if step <= 0.0 {
                return updates;
            }
            if self.usual_step_s > 0.0 && step > GAP_TOLD_S && step > GAP_FACTOR * self.usual_step_s {
                updates.push(Update::FramesLost {
                    after: last,
                    gap_s: step,
                });
            } else {
                self.usual_step_s = if self.usual_step_s > 0.0 {
                    0.95 * self.usual_step_s + 0.05 * step
                } else {
                    step
                };
            }
        }
        self.last = Some(seen.at);
        if let Some(ended) = self.finder.cut(seen) {
            self.tracker.forget();
            updates.extend(ended.into_iter().flat_map(|s| self.rule(s)));
        }
        if self.finder.lost_view() {
            self.tracker.forget();
        }
        let readings = if seen.table_in_view {
            self.tracker.update(seen)
        } else {
            Vec::new()
        };
        let shot = self.finder.observe(seen, &readings);
        updates.extend(shot.into_iter().flat_map(|s| self.rule(s)));
        updates
    }

    /// No more frames: closes what is open.
    pub fn finish(&mut self) -> Vec<Update> {
        self.finder.finish().map(|shot| self.rule(shot)).unwrap_or_default()
    }

    fn rule(&mut self, shot: Shot) -> Vec<Update> {
        let rulings = self.scorer.play(&shot);
        let mut updates = vec![Update::Shot(Arc::new(shot))];
        updates.extend(rulings.into_iter().map(|r| Update::Ruling(Arc::new(r))));
        updates
    }
}
