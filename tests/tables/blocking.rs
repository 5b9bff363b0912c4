//! The API without `async`: a table is written, changed in every way, read at each version and garbage collected, without an
//! await.

use std::{sync::Arc, time::Duration};

use crate::common::tables::{cut_by, tiny_cuts};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use tetrys::{ErrorKind, Schema, WriteOptions, blocking::Table, table::GcSettings, write::Locality};

fn schema() -> Schema {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]);
    schema.group("camera", [("jpeg", "utf8")]).group("labels", [("name", "utf8"), ("count", "i64")]).build().unwrap()
}

fn texts(rows: impl Iterator<Item = i64>, word: &str) -> ArrayRef {
    Arc::new(LargeStringArray::from_iter_values(rows.map(|row| format!("{word} {row}"))))
}

/// Returns `count` rows of one log, beginning with time `start`.
fn rows(log: &str, start: i64, count: i64) -> RecordBatch {
    let rows = || start..start + count;
    RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values(rows().map(|_| log))) as ArrayRef),
        ("time", Arc::new(Int64Array::from_iter_values(rows()))),
        ("jpeg", texts(rows(), "picture")),
        ("name", texts(rows(), "car")),
        ("count", Arc::new(Int64Array::from_iter_values(rows()))),
    ])
    .unwrap()
}

fn options() -> WriteOptions {
    cut_by(tiny_cuts())
}

fn names(table: &Table, column: &str) -> Vec<String> {
    let loader = table.row_loader().columns([column]).unwrap();
    (0..loader.len()).map(|row| loader.get_row(row).unwrap().text(column).unwrap().to_owned()).collect()
}

#[test]
fn a_table_goes_through_every_change_without_async() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let writer = Table::create(&url("march"), schema(), options()).unwrap();
    writer.set_property("license", "CC0");
    writer.attach("map", "a map").unwrap();
    let (mut first, second) = (writer.partition().unwrap(), writer.partition_at(1).unwrap());
    first.write(&rows("a", 0, 10)).unwrap();
    let receipts = [first.finish().unwrap(), second.finish().unwrap(), writer.write([rows("b", 10, 10)]).unwrap()];
    let march = writer.commit(receipts).unwrap();
    assert_eq!((march.version(), march.rows(), march.schema().groups().len()), (1, 20, 2));

    // A table that refers to the first table, and its versions.
    let writer = Table::create(&url("april"), schema(), options()).unwrap().references([&march]).unwrap();
    let receipt = writer.write([rows("a", 0, 10), rows("b", 10, 10)]).unwrap();
    let mut table = writer.commit([receipt]).unwrap();
    assert_eq!(table.store().url(), table.as_async().url());
    for step in 0..3 {
        let writer = table.append(options()).unwrap();
        let receipt = writer.write([rows("x", 20 + 5 * step, 5)]).unwrap();
        table = writer.commit([receipt]).unwrap();
    }
    assert_eq!((table.version(), table.rows()), (4, 35));
    table = table.delete([0, 34], options()).unwrap();
    let patch = [("time", Arc::new(Int64Array::from(vec![3])) as ArrayRef), ("name", texts(0..1, "bus"))];
    table = table.patch(&["time"], &RecordBatch::try_from_iter(patch).unwrap(), options()).unwrap();
    assert_eq!(names(&table, "name")[1..4], ["car 2", "bus 0", "car 4"]);
    let mut replacer = table.replace_group("labels", options()).unwrap();
    let labels = [("name", texts(0..33, "van")), ("count", Arc::new(Int64Array::from_iter_values(0..33)) as ArrayRef)];
    replacer.write(&RecordBatch::try_from_iter(labels).unwrap()).unwrap();
    table = replacer.commit().unwrap();
    let mut adder = table.add_group("poses", [("pose", "i64")], options()).unwrap();
    let poses = [("time", Arc::new(Int64Array::from_iter_values((1..34).rev())) as ArrayRef)];
    let poses = [poses[0].clone(), ("pose", Arc::new(Int64Array::from_iter_values((1..34).rev().map(|time| 100 * time))))];
    adder.write_keyed(&["time"], &RecordBatch::try_from_iter(poses).unwrap()).unwrap();
    table = adder.commit().unwrap();
    let pose = table.row_loader().columns(["pose"]).unwrap().get_row(7).unwrap();
    assert_eq!(pose.tensor::<i64>("pose").unwrap().values(), [800]);
    let version = table.version();
    table = table.edit(|edit| edit.drop_columns(&["count"]).tag("gold", version)).unwrap();
    assert!(table.schema().column_named("count").is_none());
    table = table.compact(1 << 20).unwrap();
    assert_eq!(table.as_async().manifest().segments.len(), 1);
    let (next, moved) = table.compact_runs(1 << 20, Locality { extra_ranges: 0, ..Locality::default() }).unwrap();
    assert!(moved.blocks > 0 && moved.after.extra_ranges == 0, "{moved:?}");
    table = next.materialize(|_, _| {}).unwrap();
    assert!(table.as_async().manifest().stores.is_empty());

    assert_eq!(names(&table, "name")[..2], ["van 0", "van 1"]);
    assert_eq!(names(&table, "jpeg")[..2], ["picture 1", "picture 2"]);
    assert!(table.verify().unwrap().damage.is_empty());
    let versions = table.versions().unwrap();
    assert_eq!(versions, (1..=table.version()).rev().collect::<Vec<_>>());
    assert_eq!(table.at_version(1).unwrap().rows(), 20);
    assert_eq!(Table::open(&format!("{}@gold", url("april"))).unwrap().version(), version);
    assert_eq!(table.usage().unwrap().versions.len(), versions.len());

    // A garbage collection deletes all versions but the newest and the tagged one, after it has condemned them.
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    let planned = table.plan_garbage(settings).unwrap();
    assert!(!planned.done && planned.expired.len() == versions.len() - 2, "{:?}", planned.expired);
    assert!(table.collect_garbage(settings).unwrap().done);
    table.collect_garbage(settings).unwrap();
    let newest = Table::open_with(&url("april"), &tetrys::StoreOptions::from_env()).unwrap();
    assert!(newest.verify().unwrap().damage.is_empty());
    assert_eq!(newest.at_version(2).unwrap_err().kind(), ErrorKind::NotFound);

    let writer = newest.overwrite(schema(), options()).unwrap();
    let receipt = writer.write([rows("c", 0, 3)]).unwrap();
    assert_eq!(writer.commit([receipt]).unwrap().rows(), 3);
    assert!(Table::create(&url("april"), schema(), options()).is_err());
}
