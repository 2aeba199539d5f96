//! Integration tests, one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(feature = "vision")]
mod capture;
