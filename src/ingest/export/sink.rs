//! The output file of an export.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::ParquetError,
    file::properties::WriterProperties,
};

use super::settings::ExportFormat;
use crate::error::{Error, Result};

/// Size at which a row group ends. Memory holds one row group.
const ROW_GROUP_BYTES: usize = 64 << 20;

/// The file being written.
pub(super) enum Sink<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<FileWriter<W>>),
    Stream(Box<StreamWriter<W>>),
}

impl<W: Write + Send> Sink<W> {
    pub(super) fn new(out: W, format: ExportFormat, schema: &SchemaRef) -> Result<Self> {
        let options = || IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).map_err(of_arrow);
        Ok(match format {
            ExportFormat::Parquet => {
                let compression = Compression::ZSTD(ZstdLevel::try_new(3).map_err(of_parquet)?);
                let properties = WriterProperties::builder().set_compression(compression).build();
                Self::Parquet(Box::new(
                    ArrowWriter::try_new(out, SchemaRef::clone(schema), Some(properties)).map_err(of_parquet)?,
                ))
            }
            ExportFormat::Arrow => {
                Self::Arrow(Box::new(FileWriter::try_new_with_options(out, schema, options()?).map_err(of_arrow)?))
            }
            ExportFormat::ArrowStream => {
                Self::Stream(Box::new(StreamWriter::try_new_with_options(out, schema, options()?).map_err(of_arrow)?))
            }
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => {
                writer.write(batch).map_err(of_parquet)?;
                if writer.in_progress_size() > ROW_GROUP_BYTES {
                    writer.flush().map_err(of_parquet)?;
                }
                Ok(())
            }
            Self::Arrow(writer) => writer.write(batch).map_err(of_arrow),
            Self::Stream(writer) => writer.write(batch).map_err(of_arrow),
        }
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Parquet(mut writer) => writer.finish().map(|_| ()).map_err(of_parquet),
            Self::Arrow(mut writer) => writer.finish().map_err(of_arrow),
            Self::Stream(mut writer) => writer.finish().map_err(of_arrow),
        }
    }
}

fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => error.into(),
        other => Error::unsupported(format!("writing Arrow: {other}")),
    }
}

fn of_parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => (*error).into(),
            Err(error) => Error::unsupported(format!("writing Parquet: {error}")),
        },
        other => Error::unsupported(format!("writing Parquet: {other}")),
    }
}
