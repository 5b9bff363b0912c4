//! Imports the data sets of three old releases of Petastorm and compares every field of every row with what Petastorm decodes.
//! The data sets lie beside the checkout, in `shared/petastorm`; without them only the names of the test pass.

use std::{collections::BTreeMap, path::PathBuf};

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types::Int32Type};
use arrow_schema::DataType;
use futures::{StreamExt, pin_mut};
use serde_json::Value;
use tetrys::{Error, ErrorKind, Store, Table, ingest::IngestOptions};
use tetrys_petastorm::{Dataset, IngestSettings, ROW_GROUP, SCHEMA, ingest};

fn shared() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/petastorm"));
    path.exists().then_some(path)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
}

async fn imported(release: &str, store: &str, settings: &IngestSettings) -> Result<Table, Error> {
    let dataset = Dataset::open(shared().unwrap().join("legacy").join(release).display().to_string()).await?;
    assert_eq!(dataset.warnings(), [""; 0]);
    ingest(&dataset, Store::open(store)?, settings, |_| {}).await
}

/// Returns all columns of a table, each as one list of arrays.
async fn columns(table: &Table) -> BTreeMap<String, Vec<ArrayRef>> {
    let mut found: BTreeMap<String, Vec<ArrayRef>> = BTreeMap::new();
    let mut add = |batch: &RecordBatch| {
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            (0..array.len()).for_each(|row| found.entry(field.name().clone()).or_default().push(array.slice(row, 1)));
        }
    };
    for batch in table.index_batches().await.unwrap() {
        add(&batch.unwrap());
    }
    let loader = table.row_loader();
    let rows = loader.scan(7);
    pin_mut!(rows);
    while let Some(read) = rows.next().await {
        add(read.unwrap().batch());
    }
    found
}

fn decoded(base64: &str) -> Vec<u8> {
    let digit =
        |byte: u8| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|code| *code == byte);
    let mut bytes = Vec::new();
    let (mut bits, mut bit_count) = (0_u32, 0);
    for digit in base64.bytes().filter_map(digit) {
        bits = bits << 6 | u32::try_from(digit).unwrap();
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push(u8::try_from(bits >> bit_count & 0xff).unwrap());
        }
    }
    bytes
}

/// The bytes of the numbers in a list of fixed size.
fn elements(array: &ArrayRef) -> Vec<u8> {
    let values = array.as_fixed_size_list().value(0);
    let data = values.to_data();
    let width = data.data_type().primitive_width().unwrap();
    data.buffers()[0].as_slice()[data.offset() * width..][..data.len() * width].to_vec()
}

/// Compares one value with the golden one.
fn check(columns: &BTreeMap<String, Vec<ArrayRef>>, name: &str, row: usize, golden: &Value) {
    let place = format!("{name}, row {row}");
    let of = |name: &str| &columns.get(name).unwrap_or_else(|| panic!("{name}"))[row];
    let array = of(name);
    if golden.is_null() {
        assert!(array.is_null(0), "{place}");
        return;
    }
    assert!(!array.is_null(0), "{place}");
    match golden["k"].as_str().unwrap() {
        "decimal" => assert_eq!(array.as_string::<i64>().value(0), golden["v"], "{place}"),
        "scalar" => {
            let value: Value = match array.data_type() {
                DataType::LargeUtf8 => array.as_string::<i64>().value(0).into(),
                DataType::Boolean => array.as_boolean().value(0).into(),
                DataType::Int64 => array.as_primitive::<arrow_array::types::Int64Type>().value(0).into(),
                DataType::Int32 => array.as_primitive::<Int32Type>().value(0).into(),
                DataType::UInt8 => array.as_primitive::<arrow_array::types::UInt8Type>().value(0).into(),
                DataType::Float64 => {
                    let value = array.as_primitive::<arrow_array::types::Float64Type>().value(0);
                    assert_eq!(format!("{:016x}", value.to_bits()), golden["bits"], "{place}");
                    golden["v"].clone()
                }
                other => panic!("{place}: {other}"),
            };
            assert_eq!(value, golden["v"], "{place}");
        }
        _ => {
            let (dtype, bytes) = (golden["dtype"].as_str().unwrap(), decoded(golden["b64"].as_str().unwrap()));
            let Some(list) = array.as_list_opt::<i64>() else {
                assert_eq!(elements(array), bytes, "{place}");
                return;
            };
            let width = of(&format!("{name}.width")).as_primitive::<Int32Type>().value(0);
            assert_eq!(&dtype[2..], width.to_string(), "{place}");
            let shape: Vec<i32> =
                of(&format!("{name}.shape")).as_fixed_size_list().value(0).as_primitive::<Int32Type>().values().to_vec();
            assert_eq!(serde_json::json!(shape), golden["shape"], "{place}");
            let mut stored = Vec::new();
            let items = list.value(0);
            for item in 0..items.len() {
                let end = stored.len();
                if dtype.contains('S') {
                    stored.extend(items.as_binary::<i64>().value(item));
                    stored.resize(end + usize::try_from(width).unwrap(), 0);
                } else {
                    stored.extend(items.as_string::<i64>().value(item).chars().flat_map(|code| u32::from(code).to_le_bytes()));
                    stored.resize(end + 4 * usize::try_from(width).unwrap(), 0);
                }
            }
            assert_eq!(stored, bytes, "{place}");
        }
    }
}

#[test]
fn every_field_of_every_row_equals_what_petastorm_decodes() {
    let Some(shared) = shared() else { return };
    run(async {
        for release in ["0.4.0", "0.5.1", "0.7.6"] {
            let store = format!("memory://{release}");
            let options = IngestOptions { partition_rows: 17, ..IngestOptions::default() };
            let settings = IngestSettings { decode: true, options, ..IngestSettings::default() };
            let table = imported(release, &store, &settings).await.unwrap();
            let columns = columns(&table).await;
            let text = std::fs::read_to_string(shared.join(format!("{release}.rows.jsonl"))).unwrap();
            let goldens: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!((goldens.len() as u64, table.rows()), (100, 100));
            let fields = table.properties()[SCHEMA]["fields"].as_array().unwrap().clone();
            assert_eq!(fields.len(), goldens[0].as_object().unwrap().len());
            for (row, golden) in goldens.iter().enumerate() {
                fields.iter().for_each(|field| check(&columns, field.as_str().unwrap(), row, &golden[field.as_str().unwrap()]));
                let group = columns[ROW_GROUP][row].as_primitive::<arrow_array::types::UInt32Type>().value(0);
                assert_eq!(group as usize, row / 10);
            }
        }
    });
}

#[test]
fn a_second_import_beside_the_first_stores_nothing_new() {
    if shared().is_none() {
        return;
    }
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let table = imported("0.7.6", &at("one"), &IngestSettings::default()).await.unwrap();
        let options = IngestOptions { references: vec![table], ..IngestOptions::default() };
        let settings = IngestSettings { options, ..IngestSettings::default() };
        let again = imported("0.7.6", &at("two"), &settings).await.unwrap();
        assert_eq!(again.lineage()["shared"]["new_bytes"], 0, "{:?}", again.lineage());
        let exists = imported("0.7.6", &at("one"), &IngestSettings::default()).await.unwrap_err();
        assert_eq!(exists.kind(), ErrorKind::Exists);
    });
}

#[test]
fn a_data_set_in_an_object_store_becomes_the_same_table() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("legacy/0.5.1");
    let server = tetrys_s3_server::Server::start();
    server.create_bucket("data");
    let mut folders = vec![folder.clone()];
    while let Some(path) = folders.pop() {
        for entry in std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let name = entry.strip_prefix(&folder).unwrap().display().to_string();
                    server.put("data", &format!("sets/old/{name}"), std::fs::read(&entry).unwrap());
                }
            }
        }
    }
    run(async {
        let dataset = Dataset::open_with("s3://data/sets/old", server.options()).await.unwrap();
        let table = ingest(&dataset, Store::open("memory://remote").unwrap(), &IngestSettings::default(), |_| {}).await.unwrap();
        let local = imported("0.5.1", "memory://local", &IngestSettings::default()).await.unwrap();
        let (remote, local) = (columns(&table).await, columns(&local).await);
        assert_eq!(remote.keys().collect::<Vec<_>>(), local.keys().collect::<Vec<_>>());
        for (name, values) in &local {
            assert!(values.iter().zip(&remote[name]).all(|(one, other)| one == other) && values.len() == 100, "{name}");
        }
        let missing = Dataset::open_with("s3://data/sets/none", server.options()).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    });
}
