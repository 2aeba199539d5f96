//! Pictures to ball observations. Pixels become metres at the end of this stage and nowhere else.
