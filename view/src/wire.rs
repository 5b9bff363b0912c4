//! Rows as an Arrow IPC stream. The metadata of its schema says which rows they are, and that of a field which type its column has.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, RecordBatchOptions, cast::AsArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use serde_json::{Value, json};
use tetrys::{ColumnType, Error, Result, table::Rows};

/// Most bytes of an answer, and of what is read for one.
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// Most characters of a text in the grid.
const CELL: usize = 300;

/// Writes index columns of these rows, which come in parts.
///
/// # Errors
/// - `Invalid`: the rows are larger than an answer may be.
pub(crate) fn index_rows(parts: &[RecordBatch], rows: &[u64]) -> Result<Vec<u8>> {
    let Some(first) = parts.first() else { return Err(Error::internal("rows for the page: no part")) };
    let batch = concat_batches(first.schema_ref(), parts).map_err(internal)?;
    let fields = first.schema_ref().fields().iter().map(|field| field.as_ref().clone()).collect();
    written(fields, batch.columns().to_vec(), rows.len(), [(ROWS, json!(rows))])
}

/// Cuts long texts: a grid shows their beginning.
pub(crate) fn cut(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(cut_texts).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).map_err(internal)
}

/// Returns the bytes of columns in memory.
pub(crate) fn size(columns: &[ArrayRef]) -> u64 {
    let bytes = columns.iter().map(|column| column.to_data().get_slice_memory_size().unwrap_or(usize::MAX));
    bytes.fold(0, usize::saturating_add) as u64
}

/// Returns the bytes of a value of a type whose values all have the same size.
pub(crate) fn decoded_size(ty: &ColumnType) -> Option<u64> {
    match ty {
        ColumnType::Scalar(_) | ColumnType::Date | ColumnType::Timestamp(..) | ColumnType::Duration(_) => {
            Some(ty.element_width() as u64)
        }
        ColumnType::Tensor { shape, .. } => {
            let extents = shape.iter().copied().collect::<Option<Vec<u32>>>()?;
            Some(extents.into_iter().fold(ty.element_width() as u64, |size, extent| size.saturating_mul(extent.into())))
        }
        _ => None,
    }
}

fn internal(error: ArrowError) -> Error {
    Error::internal(format!("rows for the page: {error}"))
}

/// The names of metadata: which rows these are, which tables of a merge have each of them, and what it took to read them.
pub(crate) const ROWS: &str = "tetrys.rows";
const MASKS: &str = "tetrys.masks";
const READ: &str = "tetrys.read";

/// Writes rows with their columns as they are. `read` is what it took to read them.
///
/// # Errors
/// - `Invalid`: the rows are larger than an answer may be.
pub(crate) fn rows(rows: &Rows, position: u64, is_window: bool, read: Value) -> Result<Vec<u8>> {
    let types = rows.column_types();
    let typed = |(field, ty): (&Arc<Field>, &tetrys::ColumnType)| {
        let metadata = HashMap::from([("tetrys.type".to_owned(), ty.to_string())]);
        Field::new(field.name(), field.data_type().clone(), true).with_metadata(metadata)
    };
    let fields = rows.batch().schema_ref().fields().iter().zip(types).map(typed).collect();
    let numbers = if is_window { json!(rows.table_rows()) } else { json!([position]) };
    let metadata = [(ROWS, numbers), (MASKS, json!(rows.partners())), (READ, read)];
    written(fields, rows.batch().columns().to_vec(), rows.len(), metadata)
}

/// Writes columns of these rows.
///
/// # Errors
/// - `Invalid`: the rows are larger than an answer may be.
pub(crate) fn written(
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
    rows: usize,
    metadata: impl IntoIterator<Item = (&'static str, Value)>,
) -> Result<Vec<u8>> {
    let bytes = size(&columns);
    if bytes > MOST_BYTES {
        return Err(too_large("these rows", bytes));
    }
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        fields.into_iter().zip(columns).map(|(field, column)| plain(field, &column)).unzip();
    let metadata = metadata.into_iter().map(|(name, value)| (name.to_owned(), value.to_string()));
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata.collect::<HashMap<_, _>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options).map_err(internal)?;
    let mut writer = StreamWriter::try_new(Vec::with_capacity(bytes as usize + 4096), &schema).map_err(internal)?;
    writer.write(&batch).map_err(internal)?;
    writer.into_inner().map_err(internal)
}

/// Sends dates and times as their whole numbers, since the page has no other exact form of nanoseconds. The type stays in the metadata.
fn plain(field: Field, column: &ArrayRef) -> (Field, ArrayRef) {
    let mut metadata = field.metadata().clone();
    if !metadata.contains_key("tetrys.type") {
        metadata.insert("tetrys.type", type_name(field.data_type()));
    }
    let ty = match field.data_type() {
        DataType::Timestamp(..) | DataType::Duration(_) => DataType::Int64,
        DataType::Date32 => DataType::Int32,
        _ => return (field.with_metadata(metadata), Arc::clone(column)),
    };
    match column.to_data().into_builder().data_type(ty.clone()).build() {
        Ok(data) => (field.with_data_type(ty).with_metadata(metadata), arrow_array::make_array(data)),
        Err(_) => (field.with_metadata(metadata), Arc::clone(column)),
    }
}

pub(crate) fn too_large(what: &str, bytes: u64) -> Error {
    Error::invalid(format!(
        "{what} take {:.1} MB: the viewer shows at most {} MB at once",
        bytes as f64 / 1e6,
        MOST_BYTES / 1_000_000
    ))
}

fn cut_texts(array: &ArrayRef) -> ArrayRef {
    match array.as_string_opt::<i64>() {
        Some(texts) if texts.iter().flatten().any(|text| text.len() > CELL) => {
            let first = |text: &str| match text.char_indices().nth(CELL) {
                Some((end, _)) => format!("{}\u{2026}", &text[..end]),
                None => text.to_owned(),
            };
            Arc::new(texts.iter().map(|text| text.map(first)).collect::<LargeStringArray>())
        }
        _ => Arc::clone(array),
    }
}

/// Returns the name of an Arrow type as column types are written.
pub(crate) fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Boolean => "bool".to_owned(),
        DataType::LargeUtf8 => "utf8".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => format!("{ty}").replace("Int", "i"),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 => format!("{ty}").replace("UInt", "u"),
        DataType::Float32 => "f32".to_owned(),
        DataType::Float64 => "f64".to_owned(),
        DataType::Timestamp(unit, zone) => {
            format!("timestamp[{unit}{}]", zone.as_ref().map(|zone| format!(",{zone}")).unwrap_or_default())
        }
        DataType::Duration(unit) => format!("duration[{unit}]"),
        other => other.to_string(),
    }
}
