//! The desk at a pool table (general part).

use serde::Deserialize;

use super::facts::Fact;
use super::sheet::Sheet;

/// How a pool desk starts.
#[derive(Debug, Clone, Deserialize)]
pub struct Start {}

/// A pool desk.
#[derive(Debug, Clone)]
pub struct PoolDesk {
    sheet: Sheet,
}

impl PoolDesk {
    /// A desk.
    pub fn new(_start: Start) -> Self {
        Self { sheet: Sheet::default() }
    }

    /// Takes the next fact.
    pub fn take(&mut self, _fact: &Fact) {}

    /// The answers.
    pub fn sheet(&self) -> Sheet {
        self.sheet.clone()
    }
}
