//! Draws what was found on a picture.

/// Graphics cannot be drawn or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {}
