//! Joins track, events and rules by plain calls: one deterministic thread, no failure.

use crate::observation::FrameObservations;
use crate::table::Table;
use crate::update::Update;

/// Watches observations and yields shots and rulings.
#[derive(Debug)]
pub struct Referee {
    table: Table,
}

impl Referee {
    /// A referee for a table of these sizes.
    pub fn new(table: Table) -> Self {
        Self { table }
    }

    /// The table it watches.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Takes the next frame's observations, in time order.
    pub fn observe(&mut self, _seen: &FrameObservations) -> Vec<Update> {
        Vec::new()
    }

    /// No more frames: closes what is open.
    pub fn finish(&mut self) -> Vec<Update> {
        Vec::new()
    }
}
