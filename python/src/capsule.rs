//! Imports and exports Arrow data through the C stream interface (`__arrow_c_stream__`) of polars, pandas, pyarrow and DuckDB.
//!
//! Only this file and `arrays.rs` have `unsafe` code: a capsule is a pointer, and only its name tells the type behind it. The
//! crates arrow and polars read and write the same C struct.
#![allow(unsafe_code, reason = "the C stream interface is one of pointers; each use says why it is sound")]

use std::{ffi::CStr, ptr, sync::Arc};

use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator,
    cast::AsArray,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi},
    ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema, SchemaRef};
use polars::prelude::{CompatLevel, DataFrame, PolarsError, Series};
use polars_arrow::{
    array::{Array as PolarsArray, StructArray},
    datatypes::{ArrowDataType, Field},
    ffi::{ArrowArrayStream, ArrowArrayStreamReader, export_iterator},
};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyTuple},
};

use crate::error::{IntoPython, Invalid};

const NAME: &CStr = c"arrow_array_stream";

/// Prefix of the columns in which pandas exports its row labels.
pub(crate) const ROW_LABELS: &str = "__index_level_";

/// Exports a frame as a stream of one batch.
pub(crate) fn of_frame<'py>(py: Python<'py>, frame: &DataFrame) -> PyResult<Bound<'py, PyCapsule>> {
    let mut frame = frame.clone();
    frame.rechunk_mut();
    let level = CompatLevel::oldest();
    let columns = || frame.columns().iter().map(|column| column.as_materialized_series());
    let fields = columns().map(|series| series.dtype().to_arrow_field(series.name().clone(), level)).collect();
    let arrays = columns().map(|series| series.to_arrow(0, level)).collect();
    let ty = ArrowDataType::Struct(fields);
    let batch = StructArray::try_new(ty.clone(), frame.height(), arrays, None).map_err(|error| refused(&error)).py()?;
    let batches = std::iter::once(Ok(Box::new(batch) as Box<dyn PolarsArray>));
    let stream = export_iterator(Box::new(batches), Field::new("".into(), ty, false));
    PyCapsule::new_with_value(py, stream, NAME)
}

/// Imports a frame from any object with `__arrow_c_stream__`.
pub(crate) fn frame(object: &Bound<'_, PyAny>) -> PyResult<DataFrame> {
    let capsule = capsule(object)?;
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name holds this struct. The consumer may move it out once, and leaves an empty struct, which
    // counts as released.
    let stream = Box::new(unsafe { ptr::replace(pointer, ArrowArrayStream::empty()) });
    // SAFETY: by the name of the capsule, the producer guarantees a stream that follows the interface.
    let mut reader = unsafe { ArrowArrayStreamReader::try_new(stream) }.map_err(|error| refused(&error)).py()?;
    let ArrowDataType::Struct(fields) = reader.field().dtype().clone() else {
        return Err(Invalid::new_err("expected a frame, found a single column"));
    };
    let mut chunks: Vec<Vec<Box<dyn PolarsArray>>> = vec![Vec::new(); fields.len()];
    let mut rows = 0;
    // SAFETY: the stream follows the interface, as its producer guarantees.
    while let Some(batch) = unsafe { reader.next() } {
        let batch = batch.map_err(|error| refused(&error)).py()?;
        rows += batch.len();
        let batch = batch.as_any().downcast_ref::<StructArray>().ok_or_else(|| Invalid::new_err("a batch is not a struct"))?;
        if batch.null_count() > 0 {
            return Err(Invalid::new_err("a row of the frame is null: expected values of its columns"));
        }
        for (column, array) in chunks.iter_mut().zip(batch.values()) {
            column.push(array.clone());
        }
    }
    let mut columns = Vec::with_capacity(fields.len());
    for (field, mut arrays) in fields.iter().zip(chunks) {
        if field.name.starts_with(ROW_LABELS) {
            continue;
        }
        if arrays.is_empty() {
            arrays.push(polars_arrow::array::new_empty_array(field.dtype().clone()));
        }
        let series = tetrys::extension::guarded(|| Series::try_from((field, arrays)));
        let series = series.map_err(|failure| {
            // polars panics at types that it was built without.
            let why = if failure.contains("feature") { "no index has its type: cast it to another one" } else { &failure };
            Invalid::new_err(format!("column `{}`: {why}", field.name))
        });
        columns.push(series?.into());
    }
    DataFrame::new(rows, columns).map_err(|error| refused(&error)).py()
}

/// The capsule of a schema, and the capsule of an array.
pub(crate) type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

/// Exports an array as a capsule of its schema and a capsule of its data.
pub(crate) fn of_array<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Capsules<'py>> {
    let (array, schema) = to_ffi(&array.to_data()).map_err(|error| malformed(&error)).py()?;
    Ok((PyCapsule::new_with_value(py, schema, c"arrow_schema")?, PyCapsule::new_with_value(py, array, c"arrow_array")?))
}

/// Exports record batches as a stream.
pub(crate) fn of_batches(py: Python<'_>, schema: SchemaRef, batches: Vec<RecordBatch>) -> PyResult<Bound<'_, PyCapsule>> {
    let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), NAME)
}

/// Imports record batches from any object with `__arrow_c_stream__`: at least one, which has no rows if the object has none.
pub(crate) fn batches(object: &Bound<'_, PyAny>) -> PyResult<Vec<RecordBatch>> {
    let reader = ArrayStreamReader::try_new(stream(object)?).map_err(|error| malformed(&error)).py()?;
    let DataType::Struct(columns) = reader.field().data_type().clone() else {
        return Err(Invalid::new_err("expected a frame, found a single column"));
    };
    let mut batches = Vec::new();
    let mut before = 0;
    for rows in reader {
        let rows = rows.map_err(|error| malformed(&error)).py()?;
        if let Some(row) = (0..rows.len()).find(|row| rows.is_null(*row)) {
            return Err(Invalid::new_err(format!("row {} of the frame is null: expected values of its columns", before + row)));
        }
        before += rows.len();
        batches.push(RecordBatch::from(rows.as_struct()));
    }
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(Arc::new(Schema::new(columns))));
    }
    Ok(batches)
}

/// Imports a column (a polars series, or an array or chunked array of pyarrow): at least one array, and their field.
pub(crate) fn arrays(object: &Bound<'_, PyAny>) -> PyResult<(ArrowField, Vec<ArrayRef>)> {
    if object.getattr_opt("__arrow_c_stream__")?.is_none()
        && let Some(export) = object.getattr_opt("__arrow_c_array__")?
    {
        let (field, array) = one_array(&export.call0()?)?;
        return Ok((field, vec![array]));
    }
    let reader = ArrayStreamReader::try_new(stream(object)?).map_err(|error| malformed(&error)).py()?;
    let field = ArrowField::clone(reader.field().as_ref());
    let empty = arrow_array::new_empty_array(field.data_type());
    let mut arrays = reader.collect::<Result<Vec<_>, _>>().map_err(|error| malformed(&error)).py()?;
    arrays.retain(|array: &ArrayRef| !array.is_empty());
    if arrays.is_empty() {
        arrays.push(empty);
    }
    Ok((field, arrays))
}

/// Imports the result of `__arrow_c_array__`: a capsule of a schema, and a capsule of an array.
fn one_array(capsules: &Bound<'_, PyAny>) -> PyResult<(ArrowField, ArrayRef)> {
    let (schema, array) = capsules.cast::<PyTuple>()?.extract::<Capsules<'_>>()?;
    let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>().as_ptr();
    let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>().as_ptr();
    // SAFETY: capsules of these names hold these structs. `from_raw` moves them out and marks the originals as released.
    let (schema, array) = unsafe { (FFI_ArrowSchema::from_raw(schema), FFI_ArrowArray::from_raw(array)) };
    let field = ArrowField::try_from(&schema).map_err(|error| malformed(&error)).py()?;
    // SAFETY: by the names of the capsules, the producer guarantees an array that follows the interface and has this schema.
    let data = unsafe { from_ffi(array, &schema) }.map_err(|error| malformed(&error)).py()?;
    Ok((field, arrow_array::make_array(data)))
}

fn stream(object: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = capsule(object)?;
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<FFI_ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name holds this struct. `from_raw` moves it out and marks the original as released.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer) })
}

fn capsule<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let Some(export) = object.getattr_opt("__arrow_c_stream__")? else {
        return Err(Invalid::new_err(format!(
            "{}: expected a frame with `__arrow_c_stream__`, such as one of polars, pandas, pyarrow or DuckDB",
            object.get_type().name()?
        )));
    };
    Ok(export.call0()?.cast_into::<PyCapsule>()?)
}

fn refused(error: &PolarsError) -> tetrys::Error {
    tetrys::Error::invalid(format!("polars: {error}"))
}

fn malformed(error: &ArrowError) -> tetrys::Error {
    match error {
        // Such as the integers of 128 bits of polars.
        ArrowError::CDataInterface(text) if text.contains("still not supported") => {
            let ty = text.split('"').filter(|part| !part.is_empty()).nth(1).unwrap_or(text);
            tetrys::Error::invalid(format!(
                "no column type for values that Arrow's C interface calls `{ty}`: cast them to another type"
            ))
        }
        ArrowError::CDataInterface(text) => tetrys::Error::invalid(format!("the object's Arrow data are malformed: {text}")),
        other => tetrys::Error::invalid(format!("Arrow: {other}")),
    }
}
