//! Recordings that the packages of MCAP and ROS wrote: every value of every message equals what their own decoders read.

use std::{collections::BTreeMap, path::Path, process::Command};

use arrow_array::{
    Array, ArrayRef, RecordBatch,
    cast::AsArray,
    types::{
        DurationNanosecondType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType,
        UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Value, json};
use tetrys::{Store, Table};
use tetrys_logs::{IngestSettings, LogSource, Recipe, ingest};

use crate::common::{cases, python, random};

/// Returns a value as the script writes it: a number with a fraction by its bits, and arrays of numbers flat.
fn json(array: &ArrayRef, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    let bits = |value: f64| if value.is_nan() { json!("nan") } else { json!(format!("{:016x}", value.to_bits())) };
    let all = |items: ArrayRef| (0..items.len()).map(|row| json(&items, row)).collect::<Value>();
    macro_rules! number {
        ($ty:ty) => {
            json!(array.as_primitive::<$ty>().value(row))
        };
    }
    match array.data_type() {
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Float32 => bits(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => bits(array.as_primitive::<Float64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => number!(TimestampNanosecondType),
        DataType::Duration(TimeUnit::Nanosecond) => number!(DurationNanosecondType),
        DataType::LargeUtf8 => json!(array.as_string::<i64>().value(row)),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Utf8View => json!(array.as_string_view().value(row)),
        DataType::LargeBinary => {
            json!(array.as_binary::<i64>().value(row).iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
        DataType::LargeList(_) => all(array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => all(array.as_fixed_size_list().value(row)),
        DataType::Struct(_) => json(array.as_struct().column_by_name("data").unwrap(), row),
        other => panic!("{other}"),
    }
}

fn add(rows: &mut [BTreeMap<String, Value>], first: usize, batch: &RecordBatch) {
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        let Some(name) = field.name().strip_prefix("all.") else { continue };
        for row in 0..batch.num_rows() {
            rows[first + row].insert(name.to_owned(), json(array, row));
        }
    }
}

/// Imports every message of the topic `/all`, and returns the values of each.
pub(crate) async fn values(log: &Path, folder: &Path) -> Vec<BTreeMap<String, Value>> {
    let recipe = Recipe::parse("[clock]\ntopic = \"/all\"\nname = \"all\"\ntime = \"log\"").unwrap();
    let url = folder.display().to_string();
    let sources = [LogSource::of(log.to_str().unwrap()).unwrap()];
    let made = ingest(&sources, Store::open(&url).unwrap(), &IngestSettings::new(recipe), |_| {}).await;
    let table: Table = made.unwrap_or_else(|error| panic!("{error}")).table;
    let mut rows = vec![BTreeMap::new(); usize::try_from(table.rows()).unwrap()];
    let mut first = 0;
    for batch in table.index_batches().await.unwrap() {
        let batch = batch.unwrap();
        add(&mut rows, first, &batch);
        first += batch.num_rows();
    }
    let all: Vec<u64> = (0..table.rows()).collect();
    add(&mut rows, 0, table.row_loader().take(&all).await.unwrap().batch());
    rows
}

/// Compares the values of messages with those that the script has read back.
fn compare(folder: &Path, name: &str, found: Vec<BTreeMap<String, Value>>, context: &str) {
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let expected = expected["/all"].as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{name}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let expected = expected.as_object().unwrap();
        let names = |names: Vec<&String>| names.into_iter().cloned().collect::<std::collections::BTreeSet<_>>();
        assert_eq!(names(found.keys().collect()), names(expected.keys().collect()), "{name}: columns");
        for (column, value) in expected {
            assert_eq!(&found[column], value, "{context}: {name}, message {row}, column {column}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_message_equals_what_the_decoders_of_its_own_packages_read() {
    let Some(python) = python(&["tests/ros_python/requirements.txt"]) else { return };
    let script = crate::common::root().join("tests/ros_python/write.py");
    let mut rng = random();
    for case in 0..cases(3) {
        let folder = tempfile::tempdir().unwrap();
        let seed = rng.below(1 << 30).to_string();
        let ran = Command::new(&python).arg(&script).arg(folder.path()).arg(&seed).output().unwrap();
        assert!(ran.status.success(), "seed {seed}: {}", String::from_utf8_lossy(&ran.stderr));
        for name in ["ros1", "ros2", "idl", "proto", "json"] {
            let found = values(&folder.path().join(format!("{name}.mcap")), &folder.path().join(name)).await;
            compare(folder.path(), name, found, &format!("case {case}, seed {seed}"));
        }
        for name in ["bag1-none", "bag1-bz2", "bag1-lz4"] {
            let found = values(&folder.path().join(format!("{name}.bag")), &folder.path().join(name)).await;
            compare(folder.path(), name, found, &format!("case {case}, seed {seed}"));
        }
        let found = values(&folder.path().join("bag-sqlite3-idl"), &folder.path().join("idl-table")).await;
        compare(folder.path(), "bag-sqlite3-idl", found, &format!("case {case}, seed {seed}"));
        for name in
            ["sqlite3", "mcap"].iter().flat_map(|storage| ["none", "message", "file"].map(|mode| format!("bag-{storage}-{mode}")))
        {
            let found = values(&folder.path().join(&name), &folder.path().join(format!("{name}-table"))).await;
            compare(folder.path(), &name, found, &format!("case {case}, seed {seed}"));
        }
    }
}
