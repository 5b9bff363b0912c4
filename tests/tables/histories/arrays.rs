//! Converts the values of the model to Arrow arrays, and back.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use tetrys::{ColumnType, Schema, schema::Primitive};

use super::model::{Column, Kind, Row, State, Value};

impl Kind {
    pub(crate) fn column_type(self) -> ColumnType {
        match self {
            Self::Int => ColumnType::Scalar(Primitive::I64),
            Self::Text => ColumnType::Utf8,
            Self::Bytes => ColumnType::Binary,
        }
    }
}

/// Returns the schema of a new table with these columns.
pub(crate) fn schema_of(state: &State) -> Schema {
    let mut builder = Schema::builder();
    for column in &state.index {
        builder = builder.index(&column.name, column.kind.column_type());
    }
    for group in &state.groups {
        builder = builder.group(&group.name, group.columns.iter().map(|column| (&column.name, column.kind.column_type())));
    }
    builder.sequence_by([&state.index[0].name]).order_by([&state.index[1].name]).build().unwrap()
}

/// Returns a batch of these columns of these rows.
pub(crate) fn batch_of<'a>(columns: impl IntoIterator<Item = &'a Column>, rows: &[Row]) -> RecordBatch {
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = Default::default();
    for column in columns {
        fields.push(Field::new(&column.name, column.kind.column_type().arrow(), true));
        let values = rows.iter().map(|row| row.value(column));
        arrays.push(match column.kind {
            Kind::Int => {
                Arc::new(values.map(|value| if let Value::Int(int) = value { Some(*int) } else { None }).collect::<Int64Array>())
            }
            Kind::Text => {
                let texts = values.map(|value| if let Value::Text(text) = value { Some(text) } else { None });
                Arc::new(texts.collect::<LargeStringArray>())
            }
            Kind::Bytes => {
                let bytes = values.map(|value| if let Value::Bytes(bytes) = value { Some(bytes) } else { None });
                Arc::new(bytes.collect::<LargeBinaryArray>())
            }
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), arrays, &options).unwrap()
}

/// Returns the values of each column of some batches, by column name.
pub(crate) fn values_of<'a>(batches: impl IntoIterator<Item = &'a RecordBatch>) -> BTreeMap<String, Vec<Value>> {
    let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for batch in batches {
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            found.entry(field.name().clone()).or_default().extend((0..array.len()).map(|row| value_of(array, row)));
        }
    }
    found
}

fn value_of(array: &ArrayRef, row: usize) -> Value {
    let any = array.as_any();
    if array.is_null(row) {
        Value::Null
    } else if let Some(ints) = any.downcast_ref::<Int64Array>() {
        Value::Int(ints.value(row))
    } else if let Some(texts) = any.downcast_ref::<LargeStringArray>() {
        Value::Text(texts.value(row).to_owned())
    } else if let Some(bytes) = any.downcast_ref::<LargeBinaryArray>() {
        Value::Bytes(bytes.value(row).to_vec())
    } else {
        panic!("an array of {}", array.data_type())
    }
}
