//! One integration binary: each module is a job of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod calibration;
#[cfg(feature = "vision")]
mod capture;
#[cfg(feature = "vision")]
mod cli;
#[cfg(feature = "vision")]
mod detect;
mod events;
mod rules;
mod sinks;
mod tidy;
