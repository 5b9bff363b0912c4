//! Sources that can be read once, from their beginning, become an Arrow file in the temporary folder: CSV, lines of JSON, Arrow
//! streams and standard input. A frame is then read there in any order, and by many workers. The file is gone with the frame.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, Write},
    path::Path,
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray, make_array};
use arrow_ipc::{
    CompressionType,
    reader::StreamReader,
    writer::{FileWriter, IpcWriteOptions},
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;
use tempfile::TempPath;

use super::{
    columns::type_of,
    infer::{Types, csv_schema, json_schema},
};
use crate::{
    error::{Error, ErrorKind, Result},
    ingest::nested::TYPE,
    panics::guarded,
};

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// All that `reader` gives, in a file.
pub(super) fn copied(mut reader: impl Read) -> Result<TempPath> {
    let mut file = tempfile::NamedTempFile::new()?;
    std::io::copy(&mut reader, &mut file)?;
    file.flush()?;
    Ok(file.into_temp_path())
}

/// A CSV file with a line of names as an Arrow file. Types are those that all values of a column have.
///
/// # Errors
/// `Invalid` for a line that has another number of cells, is no UTF-8, or a value that has not the type that `types` says.
pub(super) fn csv(path: &Path, delimiter: u8, types: &Types) -> Result<TempPath> {
    let schema = Arc::new(csv_schema(BufReader::new(File::open(path)?), delimiter, types)?);
    let builder = arrow_csv::ReaderBuilder::new(in_utc(&schema)).with_header(true).with_delimiter(delimiter);
    let mut reader =
        guarded(|| builder.with_batch_size(BATCH_ROWS).build(File::open(path)?)).map_err(|error| invalid("CSV", error))?;
    written(&schema, || zoned(guarded(|| reader.next().transpose()).map_err(|error| invalid("CSV", error))?, &schema))
}

/// Lines of JSON, an object each, as an Arrow file.
///
/// # Errors
/// `Invalid` for a line that is no object, or values of a column that have no type in common.
pub(super) fn ndjson(path: &Path, types: &Types) -> Result<TempPath> {
    let schema = Arc::new(json_schema(BufReader::new(File::open(path)?), types)?);
    let builder = arrow_json::ReaderBuilder::new(in_utc(&schema)).with_batch_size(BATCH_ROWS);
    let file = BufReader::new(File::open(path)?);
    let mut reader = guarded(|| builder.build(file)).map_err(|error| invalid("JSON", error))?;
    written(&schema, || zoned(guarded(|| reader.next().transpose()).map_err(|error| invalid("JSON", error))?, &schema))
}

/// The schema with times of every zone in UTC, as an offset: the readers of text know no zone by its name.
fn in_utc(schema: &ArrowSchema) -> Arc<ArrowSchema> {
    let field = |field: &Arc<Field>| match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Timestamp(*unit, Some("+00:00".into()))))
        }
        _ => Arc::clone(field),
    };
    Arc::new(ArrowSchema::new_with_metadata(schema.fields().iter().map(field).collect::<Fields>(), schema.metadata().clone()))
}

/// The rows with the zones of the schema: instants are the same in all of them.
fn zoned(batch: Option<RecordBatch>, schema: &Arc<ArrowSchema>) -> Result<Option<RecordBatch>> {
    let Some(batch) = batch else { return Ok(None) };
    let failed = |error: arrow_schema::ArrowError| Error::internal(format!("zones of times: {error}"));
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| match array.data_type() == field.data_type() {
        true => Ok(Arc::clone(array)),
        false => array.to_data().into_builder().data_type(field.data_type().clone()).build().map(make_array).map_err(failed),
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns).map(Some).map_err(failed)
}

/// An Arrow stream as an Arrow file. Dictionaries of a stream may change on the way, those of a file may not: values stand for
/// themselves, and the field says that they were few.
///
/// # Errors
/// `Corrupt` where it is no sound stream.
pub(super) fn stream(path: &Path) -> Result<TempPath> {
    let corrupt = |error: String| Error::corrupt(format!("no sound Arrow stream: {}", crate::error::short(error)));
    let file = BufReader::new(File::open(path)?);
    let mut reader = guarded(|| StreamReader::try_new(file, None)).map_err(corrupt)?;
    let fields: Fields = reader.schema().fields().iter().map(decoded_field).collect();
    let schema = Arc::new(ArrowSchema::new_with_metadata(fields, reader.schema().metadata().clone()));
    let read = || {
        let Some(batch) = guarded(|| reader.next().transpose()).map_err(corrupt)? else { return Ok(None) };
        guarded(|| decoded_batch(&batch, &schema)).map(Some).map_err(corrupt)
    };
    written(&schema, read)
}

/// Whether a file begins as an Arrow file does; a stream does not.
pub(super) fn is_arrow_file(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(6).read_to_end(&mut start)?;
    Ok(start == b"ARROW1")
}

/// Whether a file begins as a message of an Arrow stream does.
pub(super) fn may_be_stream(path: &Path) -> Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(4).read_to_end(&mut start)?;
    Ok(start == [0xff; 4])
}

fn written(schema: &SchemaRef, mut next: impl FnMut() -> Result<Option<RecordBatch>>) -> Result<TempPath> {
    let mut file = tempfile::NamedTempFile::new()?;
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).map_err(of_arrow)?;
    let mut writer = FileWriter::try_new_with_options(BufWriter::new(file.as_file_mut()), schema, options).map_err(of_arrow)?;
    while let Some(batch) = next()? {
        if batch.num_rows() > 0 {
            writer.write(&batch).map_err(of_arrow)?;
        }
    }
    writer.finish().map_err(of_arrow)?;
    drop(writer);
    file.as_file_mut().rewind()?;
    Ok(file.into_temp_path())
}

/// The error for lines that a reader of text refuses.
fn invalid(kind: &str, error: String) -> Error {
    Error::invalid(format!("no sound {kind}: {}", crate::error::short(error)))
}

fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::from(error).at("a temporary file"),
        other => Error::new(ErrorKind::Unsupported, format!("a temporary Arrow file: {other}")),
    }
}

fn decoded_field(field: &FieldRef) -> FieldRef {
    let own = Arc::new(Field::clone(field).with_data_type(decoded_type(field.data_type())));
    // Only dictionaries are lost on the way.
    match type_of(field) {
        Some(ty) if own.data_type() != field.data_type() => {
            let mut said = own.metadata().clone();
            said.insert(TYPE.to_owned(), ty.to_string());
            Arc::new(Field::clone(&own).with_metadata(said))
        }
        _ => own,
    }
}

fn decoded_type(ty: &DataType) -> DataType {
    match ty {
        DataType::Dictionary(_, values) => decoded_type(values),
        DataType::List(item) => DataType::List(decoded_field(item)),
        DataType::LargeList(item) => DataType::LargeList(decoded_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(decoded_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(decoded_field).collect()),
        DataType::Map(entries, sorted) => DataType::Map(decoded_field(entries), *sorted),
        other => other.clone(),
    }
}

fn decoded_batch(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let arrays = batch.columns().iter().zip(schema.fields()).map(|(array, field)| decoded(array, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays.collect::<Result<_, _>>()?, &options)
}

fn decoded(array: &ArrayRef, ty: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == ty {
        return Ok(Arc::clone(array));
    }
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        return decoded(&take(dictionary.values(), dictionary.keys(), None)?, ty);
    }
    if let (Some(parts), DataType::Struct(fields)) = (array.as_struct_opt(), ty) {
        let inner = parts.columns().iter().zip(fields).map(|(array, field)| decoded(array, field.data_type()));
        let parts = StructArray::try_new_with_length(
            fields.clone(),
            inner.collect::<Result<_, _>>()?,
            parts.nulls().cloned(),
            parts.len(),
        )?;
        return Ok(Arc::new(parts));
    }
    // Lists and maps: what is inside, with the same offsets and nulls.
    let item = match ty {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => item,
        other => return Err(ArrowError::CastError(format!("{} as {other}", array.data_type()))),
    };
    let data = array.to_data();
    let inside = data
        .child_data()
        .iter()
        .map(|inside| decoded(&make_array(inside.clone()), item.data_type()).map(|array| array.to_data()));
    let data = data.clone().into_builder().data_type(ty.clone()).child_data(inside.collect::<Result<_, _>>()?).build()?;
    Ok(make_array(data))
}
