//! Copies sources that can only be read from the start to an unnamed Arrow file in the temporary folder: CSV, line-delimited
//! JSON, Arrow streams and standard input. Several workers can then read the frame in any order.

use std::{
    io::{BufReader, BufWriter, Read},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray, make_array};
use arrow_data::ArrayData;
use arrow_ipc::{
    CompressionType,
    reader::StreamReader,
    writer::{FileWriter, IpcWriteOptions},
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use arrow_select::take::take;

use super::{
    columns::type_of,
    data::Data,
    infer::{csv_columns, json_columns},
    lines,
    text::TextSettings,
    wanted::Types,
};
use crate::{
    error::{Error, ErrorKind, Result, guarded},
    ingest::nested::TYPE,
    schema::{self, ColumnType},
};

/// Rows of a batch.
const BATCH_ROWS: usize = 1024;

/// Copies a reader to a file.
pub(super) fn copied(mut reader: impl Read) -> Result<Data> {
    let mut file = Data::temporary()?;
    std::io::copy(&mut reader, &mut file)?;
    Ok(Data::Copy(file.into()))
}

/// A copy of text.
pub(super) struct Copy {
    pub(super) data: Data,
    /// Columns that stay text, although all their values are times with a zone: the name, and the type that would hold them.
    pub(super) times: Vec<(String, ColumnType)>,
}

/// Copies a CSV file with a header line to an Arrow file. A column has the type of the settings, or the type that fits all of its
/// values. A blank line is a row with an empty cell if there is one column, and no row if there are several.
///
/// # Errors
/// - `Invalid`: a line has another number of cells or is not UTF-8, or a value does not fit the type in the settings.
/// - `NotFound`: the settings declare the type of a column that does not exist.
/// - `Unsupported`: a declared type is not read from text.
pub(super) fn csv(data: &Data, delimiter: u8, text: &TextSettings) -> Result<Copy> {
    let columns = csv_columns(data, delimiter, &Types::of(text)?)?;
    let schema = Arc::new(columns.schema);
    check_declared(&schema, text)?;
    let builder = arrow_csv::ReaderBuilder::new(parsed(&schema)).with_header(true).with_delimiter(delimiter);
    let rows = lines::csv(data, delimiter)?;
    let mut reader = guarded(|| builder.with_batch_size(BATCH_ROWS).build(rows)).map_err(|error| invalid("CSV", error))?;
    let data =
        written(&schema, || typed(guarded(|| reader.next().transpose()).map_err(|error| invalid("CSV", error))?, &schema))?;
    Ok(Copy { data, times: columns.times })
}

/// Copies line-delimited JSON, with one object per line, to an Arrow file.
///
/// # Errors
/// - `Invalid`: a line is not an object, or has a key twice; the values of a column have no common type, or do not fit the type in
///   the settings.
/// - `NotFound`: the settings declare the type of a column that does not exist.
/// - `Unsupported`: a declared type is not read from text.
pub(super) fn ndjson(data: &Data, text: &TextSettings) -> Result<Copy> {
    let columns = json_columns(lines::text(data)?, &Types::of(text)?)?;
    let schema = Arc::new(columns.schema);
    check_declared(&schema, text)?;
    let builder = arrow_json::ReaderBuilder::new(parsed(&schema)).with_batch_size(BATCH_ROWS);
    let lines = lines::text(data)?;
    let mut reader = guarded(|| builder.build(lines)).map_err(|error| invalid("JSON", error))?;
    let data =
        written(&schema, || typed(guarded(|| reader.next().transpose()).map_err(|error| invalid("JSON", error))?, &schema))?;
    Ok(Copy { data, times: columns.times })
}

/// Checks that all columns of declared types exist.
fn check_declared(schema: &ArrowSchema, text: &TextSettings) -> Result<()> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    match text.types.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => {
            schema::select(&names, &[], [name]).map_err(|error| error.at("type"))?;
            Err(Error::not_found(format!("type: no column `{name}`")))
        }
        None => Ok(()),
    }
}

/// Returns the schema that the text readers parse. They know no names of time zones, and the one of CSV knows no durations.
fn parsed(schema: &ArrowSchema) -> SchemaRef {
    let fields = schema.fields().iter().map(parsed_field).collect::<Fields>();
    Arc::new(ArrowSchema::new_with_metadata(fields, schema.metadata().clone()))
}

fn parsed_field(field: &FieldRef) -> FieldRef {
    let ty = match field.data_type() {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::Duration(_) => DataType::Int64,
        DataType::List(item) => DataType::List(parsed_field(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(parsed_field(item), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(parsed_field).collect()),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(ty))
}

/// Gives values as [`parsed`] their types in the schema. Instants and ticks stay the same.
fn typed(batch: Option<RecordBatch>, schema: &SchemaRef) -> Result<Option<RecordBatch>> {
    let Some(batch) = batch else { return Ok(None) };
    let failed = |error: ArrowError| Error::internal(format!("types of text: {error}"));
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| Ok(make_array(retyped(array.to_data(), field.data_type())?)));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>().map_err(failed)?;
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map(Some).map_err(failed)
}

/// Gives an array another type of the same layout.
fn retyped(data: ArrayData, ty: &DataType) -> Result<ArrayData, ArrowError> {
    if data.data_type() == ty {
        return Ok(data);
    }
    let types: Vec<&DataType> = match ty {
        DataType::List(item) | DataType::FixedSizeList(item, _) => vec![item.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    };
    let children = data.child_data().iter().zip(types).map(|(child, ty)| retyped(child.clone(), ty));
    let children = children.collect::<Result<_, _>>()?;
    data.into_builder().data_type(ty.clone()).child_data(children).build()
}

/// Copies an Arrow stream to an Arrow file. The dictionaries of a stream may change from batch to batch, those of a file may not.
/// Therefore dictionaries are decoded, and the metadata of the field keep the column type.
///
/// # Errors
/// - `Corrupt`: the file is not a valid Arrow stream.
pub(super) fn stream(data: &Data) -> Result<Data> {
    let corrupt = |error: String| Error::corrupt(format!("not a valid Arrow stream: {}", crate::error::short(error)));
    let file = BufReader::new(data.open()?);
    let mut reader = guarded(|| StreamReader::try_new(file, None)).map_err(corrupt)?;
    let fields: Fields = reader.schema().fields().iter().map(decoded_field).collect();
    let schema = Arc::new(ArrowSchema::new_with_metadata(fields, reader.schema().metadata().clone()));
    let read = || {
        let Some(batch) = guarded(|| reader.next().transpose()).map_err(corrupt)? else { return Ok(None) };
        guarded(|| decoded_batch(&batch, &schema)).map(Some).map_err(corrupt)
    };
    written(&schema, read)
}

/// Whether a file starts like an Arrow file. A stream does not.
pub(super) fn is_arrow_file(data: &Data) -> Result<bool> {
    let mut start = Vec::new();
    data.open()?.take(6).read_to_end(&mut start)?;
    Ok(start == b"ARROW1")
}

/// Whether a file starts like an Arrow stream.
pub(super) fn may_be_stream(data: &Data) -> Result<bool> {
    let mut start = Vec::new();
    data.open()?.take(4).read_to_end(&mut start)?;
    Ok(start == [0xff; 4])
}

fn written(schema: &SchemaRef, mut next: impl FnMut() -> Result<Option<RecordBatch>>) -> Result<Data> {
    let file = Data::temporary()?;
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).map_err(of_arrow)?;
    let mut writer = FileWriter::try_new_with_options(BufWriter::new(&file), schema, options).map_err(of_arrow)?;
    while let Some(batch) = next()? {
        if batch.num_rows() > 0 {
            writer.write(&batch).map_err(of_arrow)?;
        }
    }
    writer.finish().map_err(of_arrow)?;
    drop(writer);
    Ok(Data::Copy(file.into()))
}

/// Returns the error for text that a reader refuses.
fn invalid(kind: &str, error: String) -> Error {
    Error::invalid(format!("not valid {kind}: {}", crate::error::short(error)))
}

fn of_arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, error) => Error::from(error).at("a temporary file"),
        other => Error::new(ErrorKind::Unsupported, format!("a temporary Arrow file: {other}")),
    }
}

fn decoded_field(field: &FieldRef) -> FieldRef {
    let own = Arc::new(Field::clone(field).with_data_type(decoded_type(field.data_type())));
    // Only dictionaries change their type.
    match type_of(field) {
        Some(ty) if own.data_type() != field.data_type() => {
            let mut metadata = own.metadata().clone();
            metadata.insert(TYPE.to_owned(), ty.to_string());
            Arc::new(Field::clone(&own).with_metadata(metadata))
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
    // Convert the items of lists and maps; offsets and nulls stay.
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
