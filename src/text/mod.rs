//! Rulings in English, Korean and Russian, from fluent files.
