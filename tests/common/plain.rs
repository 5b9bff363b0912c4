//! Arrow values in the form that the reference reader prints: null, booleans, integers, text, floats and bytes as hexadecimal
//! digits (floats by their bits), lists, and tensors as `{"shape": [..], "values": [..]}`. Also runs the reference reader, if
//! there is a Python.

#![allow(dead_code, reason = "each suite uses its part")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types};
use arrow_schema::DataType;
use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use tetrys::{
    ColumnType, Schema, Store, Table, WriteOptions,
    format::{BlockDirectory, CanonicalPage, ChunkDirectory, ChunkHeader, PagePlace, Parent, decode_page},
    schema::Primitive,
};

use crate::common;

/// Returns every value of a column.
pub(crate) fn values(ty: &ColumnType, column: &ArrayRef) -> Vec<Value> {
    (0..column.len()).map(|row| value(ty, column, row)).collect()
}

fn value(ty: &ColumnType, array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match ty {
        ColumnType::List(item) => values(item, &array.as_list::<i64>().value(row)).into(),
        ColumnType::Tensor { element, shape } => {
            let element = ColumnType::Scalar(*element);
            let (shape, items) = match ty.fixed_elements() {
                Some(_) => {
                    let shape: Vec<u64> = shape.iter().map(|extent| u64::from(extent.unwrap())).collect();
                    (shape, array.as_fixed_size_list().value(row))
                }
                None => {
                    let fields = array.as_struct();
                    let shape = fields.column(1).as_fixed_size_list().value(row);
                    let shape = shape.as_primitive::<types::Int32Type>().values().iter().map(|extent| *extent as u64);
                    (shape.collect(), fields.column(0).as_list::<i64>().value(row))
                }
            };
            json!({"shape": shape, "values": values(&element, &items)})
        }
        // Arrow has no bf16, so its bits are stored as integers.
        ColumnType::Scalar(Primitive::Bf16) => format!("{:04x}", array.as_primitive::<types::UInt16Type>().value(row)).into(),
        _ => scalar(array, row),
    }
}

fn scalar(array: &ArrayRef, row: usize) -> Value {
    macro_rules! integers {
        ($($pattern:pat => $arrow:ty),*) => {
            match array.data_type() {
                $($pattern => return array.as_primitive::<$arrow>().value(row).into(),)*
                _ => {}
            }
        };
    }
    integers! {
        DataType::Int8 => types::Int8Type, DataType::Int16 => types::Int16Type, DataType::Int32 => types::Int32Type,
        DataType::Int64 => types::Int64Type, DataType::UInt8 => types::UInt8Type, DataType::UInt16 => types::UInt16Type,
        DataType::UInt32 => types::UInt32Type, DataType::UInt64 => types::UInt64Type, DataType::Date32 => types::Date32Type
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Float16 => format!("{:04x}", array.as_primitive::<types::Float16Type>().value(row).to_bits()).into(),
        DataType::Float32 => format!("{:08x}", array.as_primitive::<types::Float32Type>().value(row).to_bits()).into(),
        DataType::Float64 => format!("{:016x}", array.as_primitive::<types::Float64Type>().value(row).to_bits()).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::LargeBinary => hex(array.as_binary::<i64>().value(row)).into(),
        DataType::Timestamp(..) | DataType::Duration(_) => array.to_data().buffer::<i64>(0)[row].into(),
        other => panic!("no plain form of {other}"),
    }
}

/// Returns lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the columns of a table with these rows, in schema order.
pub(crate) fn columns(schema: &Schema, rows: &RecordBatch) -> Value {
    let column = |described: &tetrys::schema::Column| {
        let values = values(&described.ty, rows.column_by_name(&described.name).unwrap());
        json!({"id": described.id.0, "name": described.name, "type": described.ty.to_string(), "values": values})
    };
    schema.columns().iter().map(column).collect()
}

/// Returns a Python with the packages of the reference reader. If there is none, records the test as skipped and returns `None`.
pub(crate) fn python() -> Option<PathBuf> {
    common::python(&["tests/reference_reader/requirements.txt"])
}

/// Runs a script of the reference reader, which is the package in `python/reader`.
pub(crate) fn run(python: &Path, script: &str, arguments: &[&str]) -> Output {
    let script = common::root().join("tests/reference_reader").join(script);
    let package = common::root().join("python/reader");
    Command::new(python).arg("-B").arg(script).args(arguments).env("PYTHONPATH", package).output().unwrap()
}

/// Returns the output of a script, which must succeed.
#[track_caller]
pub(crate) fn printed(python: &Path, script: &str, arguments: &[&str]) -> String {
    let output = run(python, script, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the type text, rows and canonical form of every page of a stored chunk.
pub(crate) fn pages_of_chunk(chunk: &[u8]) -> Vec<(String, u32, CanonicalPage)> {
    let header = ChunkHeader::parse(chunk).unwrap();
    let mut pages = Vec::new();
    for (ordinal, (range, rows)) in (0..).zip(ChunkDirectory::parse(chunk, &header).unwrap().blocks) {
        let block = Bytes::copy_from_slice(&chunk[range]);
        let directory = BlockDirectory::parse(&block, header.seed, ordinal, header.columns.len()).unwrap();
        for (page, (range, (ty, chain))) in (0..).zip(directory.pages.into_iter().zip(&header.columns)) {
            let place = PagePlace { seed: header.seed, ordinal, page, rows, ty, chain };
            pages.push((ty.to_string(), rows, decode_page(block.slice(range), place).unwrap().to_canonical()));
        }
    }
    pages
}

/// Commits the next version of the table in a directory: its segments and the segments of `rows`, which are written to another
/// store first. The new segments may continue the last sequence of the table.
pub(crate) fn append_segment(path: &Path, schema: &Schema, options: &WriteOptions, rows: &RecordBatch) {
    common::tables::block_on(async {
        let store = Store::open(path.to_str().unwrap()).unwrap();
        let table = Table::open_in(store.clone()).await.unwrap();
        let (_, beside) = common::tables::memory();
        let other = common::tables::write(beside.clone(), schema.clone(), options.clone(), std::slice::from_ref(rows));
        let other = other.await.unwrap();
        for (name, bytes) in common::tables::objects(&beside).await {
            if !name.starts_with("manifests/") {
                store.put_content(&name, bytes.into()).await.unwrap();
            }
        }
        let mut manifest = table.manifest().clone();
        manifest.parent = Some(Parent { version: manifest.version, blake3: table.manifest_hash() });
        manifest.version += 1;
        manifest.commit_id = other.manifest().commit_id;
        let last = |batch: &RecordBatch, row: usize| -> Vec<Value> {
            let key = schema.sequence_by().map(|column| batch.column_by_name(&column.name).unwrap().slice(row, 1));
            schema.sequence_by().zip(key).flat_map(|(column, value)| values(&column.ty, &value)).collect()
        };
        let index: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
        let before = index.last().filter(|batch| batch.num_rows() > 0).map(|batch| last(batch, batch.num_rows() - 1));
        for (number, mut segment) in other.manifest().segments.iter().cloned().enumerate() {
            segment.first_row = manifest.rows();
            segment.continues = number == 0 && before.as_ref() == Some(&last(rows, 0));
            manifest.segments.push(segment);
        }
        tetrys::commit::publish(&store, &manifest).await.unwrap();
    });
}

/// Reads a table with the library. Returns its content in the form that the reference reader prints.
pub(crate) async fn contents(table: &Table) -> Value {
    let scanned: Vec<_> = table.row_loader().scan(7).map(|rows| rows.unwrap().batch().clone()).collect().await;
    let index: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
    let column = |described: &tetrys::schema::Column| {
        let holds = |batch: &&RecordBatch| batch.column_by_name(&described.name).is_some();
        let parts = if table.schema().index().any(|column| column.id == described.id) { &index } else { &scanned };
        let found = parts.iter().filter(holds);
        let values: Vec<Value> =
            found.flat_map(|batch| values(&described.ty, batch.column_by_name(&described.name).unwrap())).collect();
        let mut described_json =
            json!({"id": described.id.0, "name": described.name, "type": described.ty.to_string(), "values": values});
        if table.view().is_some() {
            described_json.as_object_mut().unwrap().remove("id");
        }
        described_json
    };
    let columns: Vec<Value> = table.schema().columns().iter().map(column).collect();
    let manifest = table.manifest();
    json!({
        "table": manifest.table, "version": manifest.version, "rows": manifest.rows(), "sequences": manifest.sequences(),
        "columns": columns,
    })
}

/// Returns the bytes of hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2).map(|byte| u8::from_str_radix(&digits[2 * byte..2 * byte + 2], 16).unwrap()).collect()
}
