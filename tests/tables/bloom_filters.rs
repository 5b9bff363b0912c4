//! Bloom filters of an index: conditions on keys that no bounds find choose the same rows and read less, a counting store sees what
//! `explain` says, and damage never drops a row.
#![cfg(feature = "frame")]

use std::{ops::Range, sync::Arc};

use arrow_array::{
    ArrayRef, Int16Array, Int64Array, LargeStringArray, RecordBatch, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use bytes::Bytes;
use object_store::{ObjectStore, ObjectStoreExt, memory::InMemory, path::Path};
use polars::prelude::{Expr, NamedFrom, Series, col, lit};
use tetrys::{
    ErrorKind, Index, IndexTails, Schema, Table, WriteOptions,
    format::{IndexTail, Manifest, Parent, StoredFilter, manifest_name},
    id::{Hash, ObjectRef},
    store::CountingStore,
};
use twox_hash::XxHash3_64;

use crate::common::{
    self,
    tables::{Rng, block_on, memory, over, overwrite, write},
};

const KEYS: [&str; 7] = ["id", "key", "code", "number", "small", "stamp", "name"];
/// Rows of each segment: the first has three row groups.
const ROWS: [u64; 2] = [140_000, 20_000];

fn schema(filters: &[&str]) -> Schema {
    let schema = Schema::builder().index("log", "utf8").index("id", "i64").index("key", "u64").index("code", "i64");
    let schema = schema
        .index("number", "u32")
        .index("small", "i16")
        .index("stamp", "timestamp[us]")
        .index("name", "utf8")
        .index("kind", "categorical");
    let schema = filters.iter().fold(schema, |schema, column| schema.bloom_filter(*column));
    schema.group("g", [("n", "u32")]).sequence_by(["log"]).build().unwrap()
}

/// A number below 2^63 that is different for each row, in no order.
fn scattered(row: u64) -> u64 {
    (row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1
}

fn rows(rng: &mut Rng, of: Range<u64>) -> RecordBatch {
    let each: Vec<u64> = of.collect();
    let mut valid = |value: u64| (!rng.once_in(50)).then_some(value);
    let mut column = |value: &dyn Fn(u64) -> u64| each.iter().map(|row| valid(value(*row))).collect::<Vec<Option<u64>>>();
    let (id, code, number) = (column(&scattered), column(&|row| scattered(row) >> 1), column(&|row| scattered(row) >> 31));
    let key = column(&|row| scattered(row) >> 11);
    let (small, stamp, name) = (column(&|row| scattered(row) >> 51), column(&|row| scattered(row) >> 8), column(&scattered));
    RecordBatch::try_from_iter([
        (
            "log",
            Arc::new(LargeStringArray::from_iter_values(each.iter().map(|row| format!("log-{:03}", row / 1_000)))) as ArrayRef,
        ),
        ("id", Arc::new(id.into_iter().map(|value| value.map(|value| value as i64)).collect::<Int64Array>())),
        ("key", Arc::new(key.into_iter().collect::<UInt64Array>())),
        ("code", Arc::new(code.into_iter().map(|value| value.map(|value| -(value as i64))).collect::<Int64Array>())),
        ("number", Arc::new(number.into_iter().map(|value| value.map(|value| value as u32)).collect::<UInt32Array>())),
        ("small", Arc::new(small.into_iter().map(|value| value.map(|value| value as i16 - 2_048)).collect::<Int16Array>())),
        (
            "stamp",
            Arc::new(stamp.into_iter().map(|value| value.map(|value| value as i64)).collect::<TimestampMicrosecondArray>()),
        ),
        (
            "name",
            Arc::new(name.into_iter().map(|value| value.map(|value| format!("{value:016x}"))).collect::<LargeStringArray>()),
        ),
        ("kind", Arc::new(LargeStringArray::from_iter_values(each.iter().map(|row| format!("kind {}", row / 70_000))))),
        ("n", Arc::new(UInt32Array::from_iter_values(each.iter().map(|row| *row as u32)))),
    ])
    .unwrap()
}

fn table(filters: &[&str]) -> (Arc<InMemory>, Table, CountingStore) {
    let mut rng = Rng(common::seed());
    let parts = [rows(&mut rng, 0..ROWS[0]), rows(&mut rng, ROWS[0]..ROWS[0] + ROWS[1])];
    let (raw, store) = memory();
    let options = WriteOptions::default().segment_rows(10).index_tails(IndexTails::All);
    block_on(write(store, schema(filters), options, &parts)).unwrap();
    let counting = CountingStore::new(raw.clone() as Arc<dyn ObjectStore>);
    (raw, block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap(), counting)
}

/// Returns a handle that has read nothing yet.
fn fresh(table: &Table) -> Table {
    table.allow(Vec::<String>::new())
}

fn same(found: &Index, expected: &Index, what: &str) {
    assert!(found.frame().equals_missing(expected.frame()), "{what}:\n{}\n{}", found.frame(), expected.frame());
}

/// Returns the bloom filters of a segment, and its index object.
fn filters(raw: &InMemory, table: &Table, segment: usize) -> (Vec<StoredFilter>, String, Bytes) {
    let segment = &table.manifest().segments[segment];
    let name = format!("index/{}.parquet", segment.index.blake3);
    let object = block_on(async { raw.get(&Path::from(name.as_str())).await.unwrap().bytes().await.unwrap() });
    let tail = object.slice(object.len() - segment.tail.as_ref().unwrap().bytes as usize..);
    let tail = IndexTail::parse(&tail, segment.index.bytes, table.schema(), segment.rows).unwrap();
    let every: Vec<usize> = (0..table.schema().index().count()).collect();
    (tail.filters(&every, std::slice::from_ref(&(0..segment.rows))), name, object)
}

/// A condition on a key: the value of a row, or one that no row has.
fn condition(rng: &mut Rng) -> (String, Expr) {
    let row = rng.below((ROWS[0] + ROWS[1]) * 5 / 4);
    let value = scattered(row);
    match rng.below(8) {
        0 if rng.once_in(2) => (format!("key = {}", value >> 11), col("key").eq(lit(value >> 11))),
        0 => (format!("id = {value}"), col("id").eq(lit(value as i64))),
        1 => (format!("code = {}", -((value >> 1) as i64)), col("code").eq(lit(-((value >> 1) as i64)))),
        2 => (format!("number = {}", value >> 31), col("number").eq(lit(value >> 31))),
        3 => {
            let small = (value >> 51) as i64 - 2_048;
            (format!("small = {small}"), col("small").eq(lit(small)))
        }
        4 => (format!("name = '{value:016x}'"), col("name").eq(lit(format!("{value:016x}")))),
        5 => {
            let two = [scattered(row + 3) as i64, value as i64];
            (format!("id IN ({}, {})", two[0], two[1]), col("id").is_in(lit(Series::new("".into(), two)).implode(true), false))
        }
        6 => {
            let name = format!("{:016x}", scattered(row + 70_000));
            (format!("(id = {value} OR name = '{name}')"), col("id").eq(lit(value as i64)).or(col("name").eq(lit(name))))
        }
        _ => (format!("(kind = 'kind 1' AND id = {value})"), col("kind").eq(lit("kind 1")).and(col("id").eq(lit(value as i64)))),
    }
}

#[test]
fn a_condition_on_a_key_chooses_the_same_rows_and_reads_less() {
    let mut rng = Rng(common::seed());
    let (_, table, counting) = table(&[&KEYS[..], &["kind"]].concat());
    let (_, plain, _) = self::table(&[]);
    let whole = block_on(plain.index()).unwrap();
    let (mut less, mut none) = (0, 0);
    let cases = if common::full() { 400 } else { 40 };
    for _ in 0..cases {
        let (sql, expression) = condition(&mut rng);
        let expected = whole.filter(expression.clone()).unwrap();
        let found = block_on(fresh(&table).index().filter(expression)).unwrap();
        assert_eq!(found.len(), expected.len(), "{sql}");
        let request = |table: &Table| table.index().filter_sql(&*sql).columns(["log", "id"]);
        let (explained, without) = (block_on(request(&table).explain()).unwrap(), block_on(request(&plain).explain()).unwrap());
        counting.reset();
        let by_sql = block_on(request(&fresh(&table))).unwrap();
        let gets = counting.reset().gets.into_iter().filter(|get| get.path.starts_with("index/"));
        let gets: Vec<u64> = gets.map(|get| get.bytes).collect();
        let (requests, bytes) = (gets.len() as u64, gets.iter().sum::<u64>());
        match explained.late_bytes {
            0 => assert_eq!((requests, bytes), (explained.requests, explained.bytes), "{sql}: {explained}"),
            late => assert!((explained.bytes - late..=explained.bytes).contains(&bytes), "{sql}: {bytes} bytes, {explained}"),
        }
        let expected = whole.filter_sql(&sql).unwrap().select([col("log"), col("id")]).unwrap();
        assert!(by_sql.frame().columns()[..2] == expected.frame().columns()[..2], "{sql}");
        less += u64::from(explained.rows < without.rows);
        none += u64::from(explained.rows == 0);
    }
    // A small integer is in every row group, and a filter may be wrong for one of twenty.
    assert!(less * 2 > cases && none > 0, "{less} of {cases} conditions read fewer rows, {none} none");
}

#[test]
fn one_row_of_a_key_is_found_in_its_row_group() {
    let (_, table, _) = table(&["id"]);
    let request = |row: u64| table.index().columns(["log"]).filter(col("id").eq(lit(scattered(row) as i64)));
    let found: Vec<_> = (0..40).map(|case| block_on(request(case * 3_999).explain()).unwrap()).collect();
    // Each filter of the four row groups is wrong for at most one of twenty values.
    let read: u64 = found.iter().map(|explained| explained.row_groups_read + explained.whole_objects).sum();
    assert!((36..60).contains(&read), "{read} row groups for 40 rows");
    // Where bounds find the rows, no filter is read.
    let (without, with) = (block_on(table.index().columns(["log"]).filter_sql("log = 'log-003'").explain()).unwrap(), &found[0]);
    assert!(without.bytes < with.bytes, "{without}, {with}");
}

#[test]
fn a_damaged_filter_drops_no_row_and_is_found() {
    let (raw, table, _) = table(&KEYS);
    let whole = block_on(table.index()).unwrap();
    let (found, name, sound) = filters(&raw, &table, 0);
    assert_eq!(found.len(), 3 * KEYS.len());
    let mut rng = Rng(common::seed());
    for case in 0..if common::full() { 300 } else { 24 } {
        let range = rng.pick(&found).range();
        let mut bytes = sound.to_vec();
        let here = range.start as usize..range.end as usize;
        match case % 3 {
            // A filter without any value would exclude all rows.
            0 => bytes[here.start + 20..here.end].fill(0),
            1 => bytes[here].fill(0xff),
            _ => bytes[here.start + rng.below((here.end - here.start) as u64) as usize] ^= 1 << rng.below(8),
        }
        block_on(overwrite(&*raw, &name, &bytes));
        for key in ["id", "code", "name"] {
            let row = rng.below(ROWS[0]);
            let value = match key {
                "id" => lit(scattered(row) as i64),
                "code" => lit(-((scattered(row) >> 1) as i64)),
                _ => lit(format!("{:016x}", scattered(row))),
            };
            let condition = col(key).eq(value);
            match block_on(fresh(&table).index().filter(condition.clone())) {
                Ok(index) => same(&index, &whole.filter(condition).unwrap(), key),
                // The whole object was read, and has another hash.
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}"),
            }
        }
        let verified = block_on(fresh(&table).storage().verify(|_, _| {})).unwrap();
        assert_eq!(verified.damage.len(), 1, "{:?}", verified.damage);
    }
}

#[test]
fn verification_finds_a_filter_that_lacks_a_value_although_its_checksum_is_right() {
    let (raw, table, _) = table(&["id"]);
    let (found, _, sound) = filters(&raw, &table, 1);
    let [filter] = found.as_slice() else { panic!("{found:?}") };
    let here = filter.range().start as usize..filter.range().end as usize;
    let sum = |bytes: &[u8]| {
        let sum = XxHash3_64::oneshot_with_seed(filter.range().start, &bytes[here.clone()]);
        sum.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let mut bytes = sound.to_vec();
    bytes[here.start + 20..here.end].fill(0);
    let (old, new) = (sum(&sound), sum(&bytes));
    let place = bytes.windows(old.len()).rposition(|window| window == old.as_bytes()).unwrap();
    bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
    let mut manifest: Manifest = table.manifest().clone();
    manifest.parent = Some(Parent { version: manifest.version, blake3: table.manifest_hash() });
    manifest.version += 1;
    let segment = &mut manifest.segments[1];
    let tail = &bytes[bytes.len() - segment.tail.as_ref().unwrap().bytes as usize..];
    (segment.index, segment.tail) = (ObjectRef::of(&bytes), Some(ObjectRef::of(tail)));
    assert_eq!(segment.index.blake3, Hash::of(&bytes));
    block_on(overwrite(&*raw, &format!("index/{}.parquet", segment.index.blake3), &bytes));
    block_on(overwrite(&*raw, &manifest_name(manifest.version), &manifest.to_bytes().unwrap().0));
    let forged = block_on(Table::open_in(over(raw))).unwrap();
    let verified = block_on(forged.storage().verify(|_, _| {})).unwrap();
    let lacks = |problem: &str| problem.contains("bloom filter of column `id` lacks the value of row");
    assert!(verified.damage.iter().any(|damage| lacks(&damage.problem)), "{:?}", verified.damage);
}

#[test]
fn filters_are_asked_for_in_the_schema_and_later() {
    let schema = |column: &str, ty: &str| Schema::builder().index(column, ty).group("g", [("n", "u32"), ("text", "utf8")]);
    for ty in ["f64", "f32", "bool"] {
        let error = schema("key", ty).bloom_filter("key").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("`key`") && error.to_string().contains(ty), "{error}");
    }
    assert_eq!(schema("key", "u8").bloom_filter("text").build().unwrap_err().kind(), ErrorKind::Invalid);
    assert!(schema("key", "u8").bloom_filter("none").build().unwrap_err().to_string().contains("none"));

    let (raw, table, _) = table(&[]);
    block_on(async {
        let error = table.edit().set_column_property("n", tetrys::schema::BLOOM_FILTER, Some(true.into())).commit().await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
        let asked =
            table.edit().set_column_property("id", tetrys::schema::BLOOM_FILTER, Some(true.into())).commit().await.unwrap();
        let request = |table: &Table| fresh(table).index().columns(["log"]).filter(col("id").eq(lit(scattered(77_000) as i64)));
        let before = request(&asked).explain().await.unwrap();
        // Segments that are not merged get filters, too.
        let mut after = asked;
        for segment_rows in [1, 1 << 20] {
            let next = after.storage().compact(segment_rows).await.unwrap();
            assert_eq!(next.manifest().segments.len(), if segment_rows == 1 { 2 } else { 1 });
            let explained = request(&next).explain().await.unwrap();
            assert!(explained.rows < before.rows, "{before}, {explained}");
            assert_eq!(request(&next).await.unwrap().len(), request(&after).await.unwrap().len());
            assert!(next.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
            assert_eq!(next.storage().compact(segment_rows).await.unwrap().version(), next.version());
            after = next;
        }
        drop(raw);
    });
}
