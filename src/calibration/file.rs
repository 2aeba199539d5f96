//! Calibration files: TOML, versioned, unknown keys refused, numbers checked before anything uses them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use nalgebra::{Point2, Vector3};
use serde::{Deserialize, Serialize};

use super::{Calibration, Error};
use crate::space::Camera;
use crate::table::Table;

/// Name and version of the file format, the value of its `format` key.
pub const FORMAT: &str = "cuemark.calibration/1";

/// Largest file that is read, bytes: a calibration has some 30 short lines.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Largest size of a table, a ball or a part of one, metres: anything larger is a slip of units (a snooker table is 3.57 m).
const MAX_SIZE_M: f64 = 10.0;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    format: String,
    image: RawImage,
    camera: RawCamera,
    table: RawTable,
    #[serde(default)]
    fit: RawFit,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawImage {
    width_px: u32,
    height_px: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCamera {
    focal_px: f64,
    centre_px: [f64; 2],
    #[serde(default)]
    k1: f64,
    #[serde(default)]
    k2: f64,
    rotation_vector: [f64; 3],
    translation_m: [f64; 3],
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    length_m: f64,
    width_m: f64,
    ball_radius_m: f64,
    nose_height_m: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cushion_width_m: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diamond_offset_m: Option<f64>,
    #[serde(default)]
    has_pockets: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawFit {
    residual_mm: f64,
    residual_max_mm: f64,
    source: String,
}

/// Reads a calibration file.
///
/// # Errors
/// [`Error::Read`] when the file cannot be read, [`Error::Format`] when it is too large, not this format, has unknown keys, or its
/// numbers make no camera or table.
pub fn load(path: &Path) -> Result<Calibration, Error> {
    let read_error = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(read_error)?.len();
    if size > MAX_FILE_BYTES {
        return Err(Error::Format {
            path: path.to_owned(),
            reason: format!("it has {size} bytes, more than {MAX_FILE_BYTES}"),
        });
    }
    let text = fs::read_to_string(path).map_err(read_error)?;
    parse(&text).map_err(|reason| Error::Format {
        path: path.to_owned(),
        reason,
    })
}

/// Writes a calibration file: first a temporary neighbour, then a rename, so that a reader or a power cut never meets half a file.
///
/// # Errors
/// [`Error::Write`] when the folder does not exist, is not writable or is full; [`Error::Format`] never for a value that
/// [`super::find`] or [`load`] returned.
pub fn save(calibration: &Calibration, path: &Path) -> Result<(), Error> {
    let text = toml::to_string(&raw(calibration)).map_err(|e| Error::Format {
        path: path.to_owned(),
        reason: one_line(&e.to_string()),
    })?;
    write_atomically(path, text.as_bytes()).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?
        .to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = fs::File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&part, path));
    if moved.is_err() {
        // The error that matters is the one above; a part that cannot be removed was never there.
        let _ = fs::remove_file(&part);
    }
    moved
}

fn raw(calibration: &Calibration) -> RawFile {
    let (camera, table) = (&calibration.camera, &calibration.table);
    let (k1, k2) = camera.distortion();
    RawFile {
        format: FORMAT.to_owned(),
        image: RawImage {
            width_px: camera.width_px(),
            height_px: camera.height_px(),
        },
        camera: RawCamera {
            focal_px: camera.focal_px(),
            centre_px: camera.centre_px().coords.into(),
            k1,
            k2,
            rotation_vector: camera.rotation().scaled_axis().into(),
            translation_m: camera.translation().into(),
        },
        table: RawTable {
            length_m: table.length_m,
            width_m: table.width_m,
            ball_radius_m: table.ball_radius_m,
            nose_height_m: table.nose_height_m,
            cushion_width_m: Some(table.cushion_width_m),
            diamond_offset_m: Some(table.diamond_offset_m),
            has_pockets: table.has_pockets,
        },
        fit: RawFit {
            residual_mm: calibration.residual_mm,
            residual_max_mm: calibration.residual_max_mm,
            source: calibration.from.clone(),
        },
    }
}

/// The reason for a refusal is one line for people.
fn parse(text: &str) -> Result<Calibration, String> {
    let raw: RawFile = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |s| text[..s.start.min(text.len())].lines().count().max(1));
        format!("line {line}: {}", one_line(e.message()))
    })?;
    if raw.format != FORMAT {
        return Err(format!("its format is '{}', this program reads '{FORMAT}'", raw.format));
    }
    let usual = if raw.table.has_pockets {
        Table::POOL_9FT
    } else {
        Table::CAROM
    };
    let table = Table {
        length_m: raw.table.length_m,
        width_m: raw.table.width_m,
        ball_radius_m: raw.table.ball_radius_m,
        nose_height_m: raw.table.nose_height_m,
        cushion_width_m: raw.table.cushion_width_m.unwrap_or(usual.cushion_width_m),
        diamond_offset_m: raw.table.diamond_offset_m.unwrap_or(usual.diamond_offset_m),
        has_pockets: raw.table.has_pockets,
    };
    let sizes = [
        ("length_m", table.length_m),
        ("width_m", table.width_m),
        ("ball_radius_m", table.ball_radius_m),
        ("nose_height_m", table.nose_height_m),
        ("cushion_width_m", table.cushion_width_m),
        ("diamond_offset_m", table.diamond_offset_m),
    ];
    for (name, value) in sizes {
        if !(value > 0.0 && value <= MAX_SIZE_M) {
            return Err(format!(
                "table.{name} is {value}, it must be above 0 and at most {MAX_SIZE_M} m"
            ));
        }
    }
    for (name, value) in [
        ("residual_mm", raw.fit.residual_mm),
        ("residual_max_mm", raw.fit.residual_max_mm),
    ] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(format!("fit.{name} is {value}, it must be 0 or more"));
        }
    }
    let camera = Camera::new(
        raw.image.width_px,
        raw.image.height_px,
        raw.camera.focal_px,
        Point2::from(raw.camera.centre_px),
        raw.camera.k1,
        raw.camera.k2,
        Vector3::from(raw.camera.rotation_vector),
        Vector3::from(raw.camera.translation_m),
    )
    .ok_or_else(|| "its [image] and [camera] numbers make no camera above the table that looks at its centre".to_owned())?;
    Ok(Calibration {
        camera,
        table,
        residual_mm: raw.fit.residual_mm,
        residual_max_mm: raw.fit.residual_max_mm,
        from: raw.fit.source,
    })
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}
