//! The API without `async`: a table is written, changed in every way, read at each version and garbage collected, without an
//! await.

use std::{sync::Arc, time::Duration};

use crate::common::tables::{cut_by, tiny_cuts};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use tetrys::{
    ErrorKind, Receipt, Schema, Table, TableWriter, WriteOptions, block_on,
    table::{GcSettings, now_ms},
    write::Locality,
};

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

/// Writes the rows as the next partition.
fn write(writer: &TableWriter, rows: &RecordBatch) -> Receipt {
    let mut partition = writer.partition().unwrap();
    block_on(partition.write(rows)).unwrap();
    block_on(partition.finish()).unwrap()
}

fn names(table: &Table, column: &str) -> Vec<String> {
    let loader = table.row_loader().columns([column]).unwrap();
    (0..loader.len()).map(|row| block_on(loader.get_row(row)).unwrap().text(column).unwrap().to_owned()).collect()
}

#[test]
fn a_table_goes_through_every_change_without_async() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let writer = block_on(Table::create(&url("march"), schema(), options())).unwrap();
    writer.set_property("license", "CC0");
    block_on(writer.attach("map", "a map")).unwrap();
    let (mut first, second) = (writer.partition().unwrap(), writer.partition_at(1).unwrap());
    block_on(first.write(&rows("a", 0, 10))).unwrap();
    let receipts = [block_on(first.finish()).unwrap(), block_on(second.finish()).unwrap(), write(&writer, &rows("b", 10, 10))];
    let march = block_on(writer.commit(receipts)).unwrap();
    assert_eq!((march.version(), march.rows(), march.schema().groups().len()), (1, 20, 2));

    // A table that refers to the first table, and its versions.
    let writer = block_on(Table::create(&url("april"), schema(), options())).unwrap();
    let writer = block_on(writer.references([&march])).unwrap();
    let mut partition = writer.partition().unwrap();
    for batch in [rows("a", 0, 10), rows("b", 10, 10)] {
        block_on(partition.write(&batch)).unwrap();
    }
    let mut table = block_on(async { writer.commit([partition.finish().await?]).await }).unwrap();
    assert_eq!(table.store().url(), table.url());
    for step in 0..3 {
        let writer = block_on(table.append(options())).unwrap();
        table = block_on(writer.commit([write(&writer, &rows("x", 20 + 5 * step, 5))])).unwrap();
    }
    assert_eq!((table.version(), table.rows()), (4, 35));
    table = block_on(table.delete([0, 34], options())).unwrap();
    let patch = [("time", Arc::new(Int64Array::from(vec![3])) as ArrayRef), ("name", texts(0..1, "bus"))];
    table = block_on(table.patch(&["time"], &RecordBatch::try_from_iter(patch).unwrap(), options())).unwrap();
    assert_eq!(names(&table, "name")[1..4], ["car 2", "bus 0", "car 4"]);
    let mut replacer = block_on(table.replace_group("labels", options())).unwrap();
    let labels = [("name", texts(0..33, "van")), ("count", Arc::new(Int64Array::from_iter_values(0..33)) as ArrayRef)];
    block_on(replacer.write(&RecordBatch::try_from_iter(labels).unwrap())).unwrap();
    table = block_on(replacer.commit()).unwrap();
    let mut adder = block_on(table.add_group("poses", [("pose", "i64")], options())).unwrap();
    let poses = [("time", Arc::new(Int64Array::from_iter_values((1..34).rev())) as ArrayRef)];
    let poses = [poses[0].clone(), ("pose", Arc::new(Int64Array::from_iter_values((1..34).rev().map(|time| 100 * time))))];
    block_on(adder.write_keyed(&["time"], &RecordBatch::try_from_iter(poses).unwrap())).unwrap();
    table = block_on(adder.commit()).unwrap();
    let pose = block_on(table.row_loader().columns(["pose"]).unwrap().get_row(7)).unwrap();
    assert_eq!(pose.tensor::<i64>("pose").unwrap().values(), [800]);
    let version = table.version();
    table = block_on(table.edit().drop_columns(&["count"]).tag("gold", version).commit()).unwrap();
    assert!(table.schema().column_named("count").is_none());
    table = block_on(table.storage().compact(1 << 20)).unwrap();
    assert_eq!(table.manifest().segments.len(), 1);
    let (next, moved) =
        block_on(table.storage().compact_runs(1 << 20, Locality { extra_ranges: 0, ..Locality::default() })).unwrap();
    assert!(moved.blocks > 0 && moved.after.extra_ranges == 0, "{moved:?}");
    table = block_on(next.storage().materialize(|_, _| {})).unwrap();
    assert!(table.manifest().stores.is_empty());

    assert_eq!(names(&table, "name")[..2], ["van 0", "van 1"]);
    assert_eq!(names(&table, "jpeg")[..2], ["picture 1", "picture 2"]);
    assert!(block_on(table.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    let versions: Vec<u64> = block_on(table.versions().list()).unwrap().iter().map(|info| info.version).collect();
    assert_eq!(versions, (1..=table.version()).rev().collect::<Vec<_>>());
    assert_eq!(block_on(Table::open_version_in(table.store().clone(), 1)).unwrap().rows(), 20);
    assert_eq!(block_on(Table::open(&format!("{}@gold", url("april")))).unwrap().version(), version);
    assert_eq!(block_on(table.storage().usage()).unwrap().versions.len(), versions.len());

    // A garbage collection deletes all versions but the newest and the tagged one, after it has condemned them.
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    let planned = block_on(table.storage().plan_garbage(settings, now_ms())).unwrap();
    assert!(!planned.done && planned.expired.len() == versions.len() - 2, "{:?}", planned.expired);
    assert!(block_on(table.storage().collect_garbage(settings, now_ms())).unwrap().done);
    block_on(table.storage().collect_garbage(settings, now_ms())).unwrap();
    let newest = block_on(Table::open_with(&url("april"), &tetrys::StoreOptions::from_env())).unwrap();
    assert!(block_on(newest.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    let second = block_on(Table::open_version_in(newest.store().clone(), 2));
    assert_eq!(second.unwrap_err().kind(), ErrorKind::NotFound);

    let writer = block_on(newest.overwrite(schema(), options())).unwrap();
    assert_eq!(block_on(writer.commit([write(&writer, &rows("c", 0, 3))])).unwrap().rows(), 3);
    assert!(block_on(Table::create(&url("april"), schema(), options())).is_err());
}
