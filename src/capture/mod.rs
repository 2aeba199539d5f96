//! Frames with true timestamps, through the ffmpeg libraries in-process.
