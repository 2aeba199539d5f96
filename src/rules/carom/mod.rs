//! Carom: what the games with three balls and no pockets share.

pub mod game;
pub mod lag;
pub mod scoring;
pub mod serve;
