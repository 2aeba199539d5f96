//! Cuemark is a marker: it watches one billiards table through one camera, tracks the balls, works out what touched
//! what and when, and rules on each shot by the written rules.
//!
//! A short tour, from the picture to the ruling:
//!
//! 1. [`capture`] reads frames with their true timestamps; [`calibration`] finds the table and the camera's pose.
//! 2. [`detect`] turns a [`frame::Frame`] into [`observation::FrameObservations`]. Pixels become metres here, once.
//! 3. [`track`] joins observations into trajectories, [`events`] finds the strike, contacts, rails and rest in them.
//! 4. [`rules`] is a pure function of the log: the same log gives the same rulings.
//! 5. [`sinks`] write what happened; [`overlay`] draws it.
//!
//! Modules import only from groups above their own: words, then core, then edges, then [`pipeline`].

// words: plain values, no behaviour beyond maths
pub mod ball;
pub mod frame;
pub mod observation;
pub mod space;
pub mod table;
pub mod units;

// core: pure, one thread, never fails
pub mod events;
pub mod referee;
pub mod rules;
pub mod track;
pub mod update;

// edges: input and output, may fail
pub mod calibration;
#[cfg(feature = "vision")]
pub mod capture;
pub mod config;
#[cfg(feature = "vision")]
pub mod detect;
#[cfg(feature = "vision")]
pub mod overlay;
pub mod sinks;
pub mod text;

#[cfg(feature = "vision")]
pub mod pipeline;
