//! The referee's desk: facts, words of people and clocks, one at a time, and what follows from them.
//!
//! [`facts`] is the vocabulary with its JSON form, [`sheet`] what a desk answers. A desk is a fold: [`carom`], [`lag`] and
//! [`pool`] each take a table's facts in time order and never look back except where a clause says so.

pub mod carom;
pub mod facts;
pub mod lag;
pub mod pool;
mod pool_stroke;
pub mod respot;
pub mod sheet;
pub mod spotting;
