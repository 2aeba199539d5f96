//! What a file's outermost structure says about itself, without decoding: its kind, whether its index is there, and how many
//! bytes it promises beyond its end. Reads headers only, bounded in number.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Outermost boxes or chunks looked at: a fragment a second for more than a day.
const MAX_BOXES: usize = 200_000;

/// Bytes at the front from which the kind is told; the longest signature ends well before.
const HEAD_BYTES: usize = 512;

/// Kind of file by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    /// MP4, MOV, 3GP (ISO/IEC 14496-12).
    IsoMedia,
    /// Matroska, `WebM` (RFC 9559).
    Matroska,
    /// AVI (RIFF).
    Avi,
    /// Printable characters only.
    Text,
    /// Anything else; may still be a video.
    Unknown,
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IsoMedia => "MP4/MOV",
            Self::Matroska => "Matroska/WebM",
            Self::Avi => "AVI",
            Self::Text => "text",
            Self::Unknown => "unknown",
        })
    }
}

/// The outermost structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub container: Container,
    /// Size of the file.
    pub bytes: u64,
    /// False only when the kind needs an index to be decoded at all and has none.
    pub has_index: bool,
    /// Whether the index comes in pieces, so that the length at the front is not the whole.
    pub is_fragmented: bool,
    /// Bytes that the structure promises and the file does not hold.
    pub missing_bytes: u64,
}

/// Reads the structure from the start of `file`; leaves the position anywhere.
pub(super) fn inspect(file: &mut File) -> io::Result<Shape> {
    let bytes = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::with_capacity(HEAD_BYTES);
    file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let container = kind(&head);
    let mut shape = Shape {
        container,
        bytes,
        has_index: true,
        is_fragmented: false,
        missing_bytes: 0,
    };
    let promised = match container {
        Container::IsoMedia => {
            let walk = walk_iso(file, bytes)?;
            shape.has_index = walk.has_index;
            shape.is_fragmented = walk.is_fragmented;
            Some(walk.end)
        }
        Container::Matroska => matroska_end(&head),
        Container::Avi => walk_riff(file, bytes)?,
        Container::Text | Container::Unknown => None,
    };
    shape.missing_bytes = promised.map_or(0, |end| end.saturating_sub(bytes));
    Ok(shape)
}

fn kind(head: &[u8]) -> Container {
    // Types that open an ISO file in practice; `wide`, `free` and `skip` are old QuickTime fillers before `mdat`.
    const ISO_FIRST: [&[u8]; 9] = [
        b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"styp", b"moof", b"sidx",
    ];
    if head.starts_with(&[0x1a, 0x45, 0xdf, 0xa3]) {
        Container::Matroska
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"AVI ") {
        Container::Avi
    } else if head.get(4..8).is_some_and(|t| ISO_FIRST.contains(&t)) {
        Container::IsoMedia
    } else if !head.is_empty() && head.iter().all(|&b| b >= 0x20 || matches!(b, b'\t' | b'\n' | b'\r')) {
        Container::Text
    } else {
        Container::Unknown
    }
}

/// Fills `buf` from `at`; false when the file ends before.
fn read_at(file: &mut File, at: u64, buf: &mut [u8]) -> io::Result<bool> {
    file.seek(SeekFrom::Start(at))?;
    match file.read_exact(buf) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

fn be32(b: &[u8]) -> u64 {
    b.iter().take(4).fold(0, |n, &x| n << 8 | u64::from(x))
}

/// What the outermost boxes of an ISO file say.
#[derive(Default)]
struct IsoWalk {
    /// Where the last box ends, or says that it does.
    end: u64,
    /// Whether a `moov` lies wholly inside the file.
    has_index: bool,
    /// Whether there is a `moof`.
    is_fragmented: bool,
}

fn walk_iso(file: &mut File, bytes: u64) -> io::Result<IsoWalk> {
    let mut walk = IsoWalk::default();
    for _ in 0..MAX_BOXES {
        let at = walk.end;
        let mut header = [0u8; 8];
        if at >= bytes || !read_at(file, at, &mut header)? {
            break;
        }
        let size = match be32(&header) {
            // the box runs to the end of the file
            0 => bytes - at,
            // 64-bit size follows
            1 => {
                let mut large = [0u8; 8];
                if !read_at(file, at + 8, &mut large)? {
                    break;
                }
                u64::from_be_bytes(large)
            }
            n => n,
        };
        let Some(end) = at.checked_add(size).filter(|_| size >= 8) else {
            break;
        };
        walk.has_index |= &header[4..] == b"moov" && end <= bytes;
        walk.is_fragmented |= &header[4..] == b"moof";
        walk.end = end;
    }
    Ok(walk)
}

/// End of the Segment element, when its size is written.
fn matroska_end(head: &[u8]) -> Option<u64> {
    let header_size_at = 4;
    let (header_size, n) = vint(head.get(header_size_at..)?)?;
    let segment_at = header_size_at + n + usize::try_from(header_size?).ok()?;
    if head.get(segment_at..segment_at.checked_add(4)?)? != [0x18, 0x53, 0x80, 0x67] {
        return None;
    }
    let (size, n) = vint(head.get(segment_at + 4..)?)?;
    ((segment_at + 4 + n) as u64).checked_add(size?)
}

/// An EBML size (RFC 8794, section 6) and its length in bytes; the value is `None` when it means "unknown".
fn vint(b: &[u8]) -> Option<(Option<u64>, usize)> {
    let n = b.first()?.leading_zeros() as usize + 1;
    if n > 8 {
        return None;
    }
    let raw = b.get(..n)?.iter().fold(0u64, |v, &x| v << 8 | u64::from(x));
    let all_ones = (1u64 << (7 * n)) - 1;
    let value = raw & all_ones;
    Some(((value != all_ones).then_some(value), n))
}

/// End that the RIFF chunks promise (large files are several chunks, the `OpenDML` extension).
fn walk_riff(file: &mut File, bytes: u64) -> io::Result<Option<u64>> {
    let mut at = 0u64;
    for _ in 0..MAX_BOXES {
        let mut header = [0u8; 8];
        if at >= bytes || !read_at(file, at, &mut header)? || &header[..4] != b"RIFF" {
            break;
        }
        let size = u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]]));
        // a writer that was stopped leaves 0 or all ones: nothing is promised
        if size == 0 || size == u64::from(u32::MAX) {
            return Ok(None);
        }
        at += 8 + size + size % 2;
    }
    Ok((at > 0).then_some(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn shape(content: &[u8]) -> Shape {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        inspect(&mut file).unwrap()
    }

    #[test]
    fn mp4_with_its_last_box_cut_misses_the_rest_of_it() {
        let mut content = b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x08moov".to_vec();
        content.extend(b"\0\0\0\x64mdat\x01\x02");
        let s = shape(&content);
        assert_eq!(
            (s.container, s.has_index, s.missing_bytes),
            (Container::IsoMedia, true, 100 - 10)
        );
    }

    #[test]
    fn mp4_cut_before_its_index_has_none() {
        let s = shape(b"\0\0\0\x10ftypisom\0\0\0\0\0\0\0\x64mdat\x01\x02");
        assert!(!s.has_index);
    }

    #[test]
    fn a_64_bit_box_and_a_box_to_the_end_are_followed() {
        let s = shape(b"\0\0\0\x01free\0\0\0\0\0\0\0\x12!!\0\0\0\x08moov\0\0\0\0mdat123");
        assert_eq!((s.has_index, s.missing_bytes), (true, 0));
    }

    #[test]
    fn matroska_of_unknown_size_promises_nothing() {
        let ebml = [0x1a, 0x45, 0xdf, 0xa3, 0x80, 0x18, 0x53, 0x80, 0x67];
        assert_eq!(
            shape(&[&ebml[..], &[0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat()).missing_bytes,
            0
        );
        assert_eq!(shape(&[&ebml[..], &[0x85, 1, 2]].concat()).missing_bytes, 3);
    }

    #[test]
    fn avi_promises_its_riff_size() {
        assert_eq!(shape(b"RIFF\x10\0\0\0AVI LIST").missing_bytes, 8);
        assert_eq!(shape(b"RIFF\0\0\0\0AVI LIST").missing_bytes, 0);
    }

    #[test]
    fn text_and_noise_are_told_apart() {
        assert_eq!(shape("Привет, table 1\n".as_bytes()).container, Container::Text);
        assert_eq!(shape(&[0, 1, 2, 3]).container, Container::Unknown);
    }

    #[test]
    fn a_box_smaller_than_its_header_ends_the_walk() {
        assert_eq!(shape(b"\0\0\0\x08free\0\0\0\x02mdat").missing_bytes, 0);
    }
}
