//! From an installed camera or a picture to a camera model.
