//! Threads and shutdown; the only place that wires channels.
