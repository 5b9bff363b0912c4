//! Serializes rows for another process, in Arrow's IPC stream format.

use arrow_array::RecordBatch;
use arrow_ipc::{reader::StreamReader, writer::StreamWriter};
use arrow_schema::ArrowError;
use pyo3::prelude::*;

use crate::error::Invalid;

fn failed(error: &ArrowError) -> PyErr {
    Invalid::new_err(format!("pickled rows: {error}"))
}

pub(crate) fn to_bytes(batch: &RecordBatch) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, batch.schema_ref()).map_err(|error| failed(&error))?;
    writer.write(batch).and_then(|()| writer.finish()).map_err(|error| failed(&error))?;
    drop(writer);
    Ok(bytes)
}

pub(crate) fn from_bytes(bytes: &[u8]) -> PyResult<RecordBatch> {
    let mut batches = StreamReader::try_new(bytes, None).map_err(|error| failed(&error))?;
    let batch = batches.next().ok_or_else(|| Invalid::new_err("pickled rows: no batch"))?;
    batch.map_err(|error| failed(&error))
}
