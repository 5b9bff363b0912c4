//! Tests the NumPy files of every column type, for a window and for a single row.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use crate::binary::{arrays, tetrys};
use crate::common::npz::Npy;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Int16Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch, StructArray,
    TimestampMicrosecondArray,
    builder::{FixedSizeListBuilder, Float32Builder, Int32Builder, LargeListBuilder, LargeStringBuilder, UInt8Builder},
};
use tetrys::{Schema, Table, WriteOptions};

#[test]
fn every_type_becomes_an_array() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let window = get(folder.path(), "get table 1 --offsets=-2..=1 --columns a.* --out window");
    check(&window, "mask", "|b1", &[4], &[0, 1, 1, 1]);
    check(&window, "a.number", "<i2", &[4], &le([0_i16, 7, -8, 9].map(i16::to_le_bytes)));
    check(&window, "a.flag", "|b1", &[4], &[0, 1, 0, 1]);
    check(&window, "a.flag.valid", "|b1", &[4], &[0, 1, 0, 1]);
    check(&window, "a.day", "<M8[D]", &[4], &le([0_i64, -1, 0, 1].map(i64::to_le_bytes)));
    check(&window, "a.time", "<M8[us]", &[4], &le([0_i64, 5, 6, 7].map(i64::to_le_bytes)));
    check(&window, "a.text", "<U3", &[4], &ucs4(&["", "a", "", "日本語"], 3));
    check(&window, "a.bytes", "|u1", &[3], &[1, 2, 3]);
    assert_eq!(window["a.bytes.offsets"].i64s(), [0, 0, 2, 2, 3]);
    check(&window, "a.names", "<U5", &[3], &ucs4(&["one", "", "three"], 5));
    assert_eq!(window["a.names.offsets"].i64s(), [0, 0, 2, 2, 3]);
    check(&window, "a.points", "<f4", &[3, 2], &le([1_f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes)));
    assert_eq!(window["a.points.offsets"].i64s(), [0, 0, 2, 2, 3]);
    check(&window, "a.points.valid", "|b1", &[4], &[0, 1, 0, 1]);
    check(&window, "a.pair", "|u1", &[4, 2], &[0, 0, 1, 2, 3, 4, 5, 6]);
    check(&window, "a.grid", "|u1", &[4], &[1, 2, 3, 4]);
    assert_eq!(window["a.grid.offsets"].i64s(), [0, 0, 2, 2, 4]);
    assert_eq!((window["a.grid.shapes"].i64s(), &window["a.grid.shapes"].shape), (vec![0, 0, 1, 2, 0, 3, 2, 1], &vec![4, 2]));
    check(&window, "a.x%2Fy z", "<i2", &[4], &le([0_i16, 7, -8, 9].map(i16::to_le_bytes)));
    assert_eq!(window.len(), 20, "{:?}", window.keys());
}

#[test]
fn a_row_alone_has_no_leading_axis_and_no_offsets() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let row = get(folder.path(), "get table 0 --columns a.* --out row");
    check(&row, "a.number", "<i2", &[], &7_i16.to_le_bytes());
    check(&row, "a.text", "<U1", &[], &ucs4(&["a"], 1));
    check(&row, "a.bytes", "|u1", &[2], &[1, 2]);
    check(&row, "a.names", "<U3", &[2], &ucs4(&["one", ""], 3));
    check(&row, "a.points", "<f4", &[2, 2], &le([1_f32, 2.0, 3.0, 4.0].map(f32::to_le_bytes)));
    check(&row, "a.pair", "|u1", &[2], &[1, 2]);
    check(&row, "a.grid", "|u1", &[1, 2], &[1, 2]);
    assert_eq!(row.len(), 11, "{:?}", row.keys());
    let lost = get(folder.path(), "get table 1 --columns a.points --out lost");
    check(&lost, "a.points", "<f4", &[0, 2], &[]);
    check(&lost, "a.points.valid", "|b1", &[], &[0]);
}

#[test]
fn what_has_no_array_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let message = tetrys(folder.path(), "get table 0 --columns lists --out out").fails(1);
    assert_eq!(message, "error: column `lists`: list<list<utf8>> as one NumPy array\n");
    let message = tetrys(folder.path(), "get table 0 --columns mask --offsets=0..=0 --out out").fails(1);
    assert_eq!(message, "error: two arrays would be called mask.npy; leave a column out with --columns\n");
    assert!(!folder.path().join("out").exists());
    let shown = tetrys(folder.path(), "get table 0 --columns lists --columns *mask* --json").json();
    assert_eq!(shown["rows"][0]["values"], serde_json::json!({"lists": [["one", ""]], "mask": 7}));
}

fn get(folder: &Path, arguments: &str) -> BTreeMap<String, Npy> {
    tetrys(folder, arguments).ok();
    arrays(&folder.join(arguments.rsplit(' ').next().unwrap()))
}

fn check(files: &BTreeMap<String, Npy>, name: &str, dtype: &str, shape: &[usize], bytes: &[u8]) {
    // A space in a column name is `%20` in the file name.
    let file = files.get(&name.replace(' ', "%20")).unwrap_or_else(|| panic!("no {name} in {:?}", files.keys()));
    assert_eq!((file.dtype.as_str(), file.shape.as_slice(), file.bytes.as_slice()), (dtype, shape, bytes), "{name}");
}

fn le<const N: usize, const W: usize>(values: [[u8; W]; N]) -> Vec<u8> {
    values.concat()
}

fn ucs4(texts: &[&str], width: usize) -> Vec<u8> {
    let padded = |text: &&str| text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect::<Vec<_>>();
    texts.iter().flat_map(padded).flat_map(u32::to_le_bytes).collect()
}

/// Writes a table of three rows. The flag, the text and the points of the second row are null.
fn write_table(folder: &Path) {
    let schema = Schema::builder()
        .index("id", "i64")
        .group("a", [("a.number", "i16"), ("a.flag", "bool"), ("a.day", "date"), ("a.time", "timestamp[us]")])
        .group("b", [("a.text", "utf8"), ("a.bytes", "binary"), ("a.names", "list<utf8>"), ("a.points", "f32[?,2]")])
        .group(
            "c",
            [("a.pair", "u8[2]"), ("a.grid", "u8[?,?]"), ("a.x/y z", "i16"), ("mask", "i16"), ("lists", "list<list<utf8>>")],
        )
        .build()
        .unwrap();
    let numbers = || Arc::new(Int16Array::from(vec![7, -8, 9])) as ArrayRef;
    let mut names = LargeListBuilder::new(LargeStringBuilder::new());
    names.append_value([Some("one"), Some("")]);
    names.append_value([None::<&str>; 0]);
    names.append_value([Some("three")]);
    let mut lists = LargeListBuilder::new(LargeListBuilder::new(LargeStringBuilder::new()));
    lists.values().append_value([Some("one"), Some("")]);
    (0..3).for_each(|_| lists.append(true));
    let mut points = LargeListBuilder::new(FixedSizeListBuilder::new(Float32Builder::new(), 2));
    for row in [&[[1.0, 2.0], [3.0, 4.0]][..], &[], &[[5.0, 6.0]]] {
        for point in row {
            points.values().values().append_slice(point);
            points.values().append(true);
        }
        points.append(!row.is_empty());
    }
    let mut pair = FixedSizeListBuilder::new(UInt8Builder::new(), 2);
    for values in [[1, 2], [3, 4], [5, 6]] {
        pair.values().append_slice(&values);
        pair.append(true);
    }
    let mut data = LargeListBuilder::new(UInt8Builder::new());
    let mut shape = FixedSizeListBuilder::new(Int32Builder::new(), 2);
    for (values, extents) in [(&[1, 2][..], [1, 2]), (&[], [0, 3]), (&[3, 4], [2, 1])] {
        data.append_value(values.iter().copied().map(Some));
        shape.values().append_slice(&extents);
        shape.append(true);
    }
    let grid = StructArray::try_from(vec![("data", Arc::new(data.finish()) as ArrayRef), ("shape", Arc::new(shape.finish()))]);
    let columns: [(&str, ArrayRef); 14] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("a.number", numbers()),
        ("a.flag", Arc::new(BooleanArray::from(vec![Some(true), None, Some(true)]))),
        ("a.day", Arc::new(Date32Array::from(vec![-1, 0, 1]))),
        ("a.time", Arc::new(TimestampMicrosecondArray::from(vec![5, 6, 7]))),
        ("a.text", Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("日本語")]))),
        ("a.bytes", Arc::new(LargeBinaryArray::from_vec(vec![&[1, 2], &[], &[3]]))),
        ("a.names", Arc::new(names.finish())),
        ("a.points", Arc::new(points.finish())),
        ("a.pair", Arc::new(pair.finish())),
        ("a.grid", Arc::new(grid.unwrap())),
        ("a.x/y z", numbers()),
        ("mask", numbers()),
        ("lists", Arc::new(lists.finish())),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    tokio::runtime::Builder::new_multi_thread().build().unwrap().block_on(async {
        let writer = Table::create(&folder.join("table").display().to_string(), schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&batch).await.unwrap();
        writer.commit([partition.finish().await.unwrap()]).await.unwrap();
    });
}
