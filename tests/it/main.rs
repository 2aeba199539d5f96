//! One integration binary: each module is a job of its own.

mod rules;
