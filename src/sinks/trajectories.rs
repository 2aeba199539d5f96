//! `trajectories.parquet`: every ball's path, one row a sample. Columns: shot, t (s), ball, x, y (m), vx, vy (m/s),
//! sigma (m), observed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::RowAccessor;
use parquet::schema::parser::parse_message_type;

use super::wire::{metres, seconds};
use super::{Error, Sink};
use crate::ball::Ball;
use crate::events::{Sample, Shot};
use crate::space::{TablePoint, TableVelocity};
use crate::units::Timestamp;
use crate::update::Update;

const SCHEMA: &str = "message trajectories {
    REQUIRED INT32 shot;
    REQUIRED DOUBLE t;
    REQUIRED BYTE_ARRAY ball (UTF8);
    REQUIRED DOUBLE x;
    REQUIRED DOUBLE y;
    REQUIRED DOUBLE vx;
    REQUIRED DOUBLE vy;
    REQUIRED DOUBLE sigma;
    REQUIRED BOOLEAN observed;
}";

/// Rows kept before they are written: some 4 MB, three balls for five minutes at 60 frames a second.
const ROWS_PER_GROUP: usize = 50_000;

/// Rows that wait to be written, by column.
#[derive(Debug, Default)]
struct Rows {
    shot: Vec<i32>,
    t: Vec<f64>,
    ball: Vec<ByteArray>,
    x: Vec<f64>,
    y: Vec<f64>,
    vx: Vec<f64>,
    vy: Vec<f64>,
    sigma: Vec<f64>,
    observed: Vec<bool>,
}

impl Rows {
    fn push(&mut self, shot: u32, ball: &ByteArray, sample: &Sample) {
        self.shot.push(i32::try_from(shot).unwrap_or(i32::MAX));
        self.t.push(seconds(sample.at.secs()));
        self.ball.push(ball.clone());
        self.x.push(metres(sample.place.x()));
        self.y.push(metres(sample.place.y()));
        self.vx.push(metres(sample.velocity.x));
        self.vy.push(metres(sample.velocity.y));
        self.sigma.push(metres(sample.sigma_m));
        self.observed.push(sample.observed);
    }
}

/// Writes the paths of each shot.
pub struct Trajectories {
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    rows: Rows,
}

impl Trajectories {
    /// Creates the file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::WriteParquet {
            path: path.to_owned(),
            source,
        };
        let schema = parse_message_type(SCHEMA).map_err(failed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let file = File::create(path).map_err(|e| Error::write(path, e))?;
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            rows: Rows::default(),
        })
    }

    fn take_shot(&mut self, shot: &Shot) -> Result<(), ParquetError> {
        for (ball, path) in &shot.paths {
            let name = ByteArray::from(ball.to_string().into_bytes());
            for sample in path {
                self.rows.push(shot.no, &name, sample);
            }
        }
        if self.rows.shot.len() >= ROWS_PER_GROUP {
            self.write_rows()?;
        }
        Ok(())
    }

    fn write_rows(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.shot.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        write_column::<Int32Type>(&mut group, &rows.shot)?;
        write_column::<DoubleType>(&mut group, &rows.t)?;
        write_column::<ByteArrayType>(&mut group, &rows.ball)?;
        for column in [&rows.x, &rows.y, &rows.vx, &rows.vy, &rows.sigma] {
            write_column::<DoubleType>(&mut group, column)?;
        }
        write_column::<BoolType>(&mut group, &rows.observed)?;
        group.close()?;
        Ok(())
    }

    fn failed(&self, source: ParquetError) -> Error {
        Error::WriteParquet {
            path: self.path.clone(),
            source,
        }
    }
}

fn write_column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("the schema has fewer columns than are written".into()));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

impl Sink for Trajectories {
    fn name(&self) -> &'static str {
        "trajectories"
    }

    fn take(&mut self, update: &Update) -> Result<(), Error> {
        match update {
            Update::Shot(shot) => self.take_shot(shot).map_err(|e| self.failed(e)),
            Update::Ruling(_) | Update::FramesLost { .. } => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.write_rows()
            .and_then(|()| self.writer.finish().map(drop))
            .map_err(|e| self.failed(e))?;
        self.writer.inner().sync_all().map_err(|e| Error::write(&self.path, e))
    }
}

/// Reads every row of a file written here, in its order, and hands it to `row` as (shot, ball, sample).
///
/// # Errors
/// When it cannot be read or is not such a file.
pub fn read(path: &Path, mut row: impl FnMut(u32, Ball, Sample)) -> Result<(), Error> {
    let failed = |source| Error::ReadParquet {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let reader = SerializedFileReader::new(file).map_err(failed)?;
    for values in reader.get_row_iter(None).map_err(failed)? {
        let values = values.map_err(failed)?;
        let number = |column| values.get_double(column).map_err(failed);
        let shot = u32::try_from(values.get_int(0).map_err(failed)?).unwrap_or(0);
        let ball = values.get_string(2).map_err(failed)?;
        let ball = ball
            .parse()
            .map_err(|e: crate::ball::NotABall| failed(ParquetError::General(e.to_string())))?;
        let sample = Sample {
            at: Timestamp::from_secs(number(1)?).unwrap_or(Timestamp::ZERO),
            place: TablePoint::new(number(3)?, number(4)?),
            velocity: TableVelocity::new(number(5)?, number(6)?),
            sigma_m: number(7)?,
            observed: values.get_bool(8).map_err(failed)?,
        };
        row(shot, ball, sample);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sinks::result::tests::a_shot;

    #[test]
    fn paths_come_back_as_they_were_written() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.parquet");
        let mut sink = Trajectories::create(&path).unwrap();
        let shot = a_shot();
        sink.take(&Update::Shot(Arc::new(shot.clone()))).unwrap();
        sink.finish().unwrap();
        let mut rows = Vec::new();
        read(&path, |no, ball, sample| rows.push((no, ball, sample))).unwrap();
        let expected: Vec<_> = shot
            .paths
            .iter()
            .flat_map(|(ball, path)| path.iter().map(|s| (1, *ball, *s)))
            .collect();
        assert_eq!(rows, expected);
        assert_eq!(rows.len(), 3);
    }

    #[test]
    fn no_shots_is_a_valid_empty_file() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.parquet");
        Trajectories::create(&path).unwrap().finish().unwrap();
        read(&path, |_, _, _| panic!("there is no row")).unwrap();
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("t.parquet");
        std::fs::write(&path, "no table").unwrap();
        let error = read(&path, |_, _, _| ()).unwrap_err().to_string();
        assert!(
            error.contains("t.parquet") && error.contains("analyse the recording again"),
            "{error}"
        );
    }
}
