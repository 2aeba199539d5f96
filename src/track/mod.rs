//! Observations to trajectories. Pure: no input or output, no clock, no failure.
