//! Writes what happened.
