//! Draws what was found on a picture.
