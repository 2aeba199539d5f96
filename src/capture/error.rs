//! What can go wrong with a recording, one line each: the file, the reason, what to do.

use std::io;
use std::path::{Path, PathBuf};

use ffmpeg_next as ffmpeg;

use super::container::{Container, Shape};

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing at that path.
    #[error("{}: no such file; check the path", path.display())]
    Missing {
        /// The path as given.
        path: PathBuf,
    },
    /// A folder, device, socket or pipe.
    #[error("{}: is {what}, not a video file; give the path of a recording", path.display())]
    NotAFile {
        /// The path as given.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// Zero bytes.
    #[error("{}: the file is empty (0 bytes); copy or record it again", path.display())]
    Empty {
        /// The path as given.
        path: PathBuf,
    },
    /// The operating system refuses.
    #[error("{}: cannot be read ({source}); check that the file is readable and the disk is sound", path.display())]
    Io {
        /// The path as given.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// An MP4 or MOV whose index was never written or is cut away.
    #[error(
        "{}: the file is cut off or was never finished: its index (moov) is missing, so none of its {bytes} bytes can be decoded; \
         copy it again from the camera, or rebuild the index with a repair tool and a whole recording from the same camera",
        path.display()
    )]
    NoIndex {
        /// The path as given.
        path: PathBuf,
        /// Size of what is there.
        bytes: u64,
    },
    /// No demuxer knows the content.
    #[error("{}: not a video ({looks}); give a recording as mp4, mov, mkv, webm, avi or ts", path.display())]
    NotVideo {
        /// The path as given.
        path: PathBuf,
        /// What the content looks like.
        looks: String,
    },
    /// Sound, no picture.
    #[error("{}: holds sound only and no picture; give the file with the video track", path.display())]
    AudioOnly {
        /// The path as given.
        path: PathBuf,
    },
    /// A container without any video track.
    #[error("{}: has no video track; give the file with the picture", path.display())]
    NoVideoTrack {
        /// The path as given.
        path: PathBuf,
    },
    /// The ffmpeg libraries lack the decoder.
    #[error("{}: no decoder for {codec} in the installed ffmpeg libraries; convert the file to H.264", path.display())]
    NoDecoder {
        /// The path as given.
        path: PathBuf,
        /// Codec as the libraries call it.
        codec: String,
    },
    /// A video track from which not one picture decodes.
    #[error("{}: the video track holds no frame that can be decoded; copy or record it again", path.display())]
    NoFrames {
        /// The path as given.
        path: PathBuf,
    },
    /// Pixels in a form that cannot be brought to 8-bit YUV 4:2:0.
    #[error("{}: pictures of format {format} cannot be converted ({source}); convert the file to 8-bit H.264", path.display())]
    Pixels {
        /// The path as given.
        path: PathBuf,
        /// Pixel format as the libraries call it.
        format: String,
        /// What the libraries say.
        source: ffmpeg::Error,
    },
}

impl Error {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            Self::Missing { path }
        } else {
            Self::Io { path, source }
        }
    }

    /// The reason behind a refusal of the demuxers, from the content itself.
    pub(super) fn not_opened(path: &Path, shape: &Shape, cause: ffmpeg::Error) -> Self {
        let path = path.to_path_buf();
        if shape.container == Container::IsoMedia && !shape.has_index {
            return Self::NoIndex {
                path,
                bytes: shape.bytes,
            };
        }
        let looks = match shape.container {
            Container::Text => "it is text".to_owned(),
            Container::Unknown => "its content is of no known kind".to_owned(),
            known => format!("a {known} file that is damaged or cut off at the front: {cause}"),
        };
        Self::NotVideo { path, looks }
    }
}
