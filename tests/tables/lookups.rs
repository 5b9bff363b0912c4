//! Appends, patches and deletes read little of an index, and decide as if they had read all of it.

use std::{collections::HashMap, sync::Arc};

use crate::common::{
    self,
    tables::{Rng, block_on, memory, over},
};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    cast::AsArray,
    types::{Float64Type, Int64Type},
};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use object_store::memory::InMemory;
use tetrys::{
    ErrorKind, Result, Schema, Store, Table, WriteOptions, format::SequenceTracker, store::CountingStore, write::IndexTails,
};

/// The columns of the index of these tables.
const INDEX: [(&str, &str); 4] = [("log", "utf8"), ("lane", "f64"), ("part", "i64"), ("time", "i64")];

/// Draws which columns make sequences, which have bloom filters, and how the index is stored.
fn drawn(rng: &mut Rng) -> (Schema, WriteOptions) {
    let mut some = |names: &[&'static str]| -> Vec<&'static str> { names.iter().copied().filter(|_| rng.once_in(2)).collect() };
    let (sequence_by, filters) = (some(&["part", "log", "lane"]), some(&["log", "part"]));
    let order_by = if rng.once_in(2) { vec!["time"] } else { Vec::new() };
    let schema = INDEX.iter().fold(Schema::builder(), |schema, (name, ty)| schema.index(*name, *ty));
    let schema = schema.sequence_by(sequence_by).order_by(order_by).group("x", [("x", "i64")]);
    let schema = filters.into_iter().fold(schema, |schema, column| schema.bloom_filter(column)).build().unwrap();
    let options = WriteOptions::default().segment_rows(1 + rng.below(30));
    (schema, options.index_tails(*rng.pick(&[IndexTails::All, IndexTails::None])))
}

/// Draws rows of a few sequences that are near `near`, mostly in order.
fn rows(rng: &mut Rng, near: i64) -> RecordBatch {
    let (mut log, mut lane, mut part, mut time) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for sequence in 0..1 + rng.below(4) as i64 {
        let key = near + sequence + rng.below(3) as i64;
        // Some texts are longer than statistics take.
        let text = if key % 5 == 0 { format!("{}{key}", "long".repeat(20)) } else { format!("log {key}") };
        let text = (key % 7 != 3).then_some(text);
        let value = [Some(key as f64), Some(f64::NAN), None, Some(0.0), Some(-0.0)][(key.rem_euclid(9) as usize).min(4)];
        let mut now = rng.below(5) as i64;
        for _ in 0..1 + rng.below(5) {
            log.push(text.clone());
            lane.push(value);
            part.push((key % 4 != 1).then_some(key));
            time.push(now);
            now += if rng.once_in(40) { -1 } else { rng.below(3) as i64 };
        }
    }
    let x = Arc::new(Int64Array::from_iter_values(0..time.len() as i64)) as ArrayRef;
    let columns: [(&str, ArrayRef); 4] = [
        ("log", Arc::new(LargeStringArray::from(log))),
        ("lane", Arc::new(Float64Array::from(lane))),
        ("part", Arc::new(Int64Array::from(part))),
        ("time", Arc::new(Int64Array::from(time))),
    ];
    let columns = columns.into_iter().chain([("x", x)]).map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

async fn written(
    store: &Store,
    table: Option<&Table>,
    schema: &Schema,
    options: &WriteOptions,
    rows: &[RecordBatch],
) -> Result<Table> {
    let writer = match table {
        Some(table) => table.append(options.clone()).await?,
        None => Table::create_in(store.clone(), schema.clone(), options.clone()).await?,
    };
    let mut receipts = Vec::new();
    for rows in rows {
        let mut partition = writer.partition()?;
        partition.write(rows).await?;
        receipts.push(partition.finish().await?);
    }
    writer.commit(receipts).await
}

/// Returns the index columns of all rows, or `None` if they break the rules of sequences.
fn followed(schema: &Schema, batches: &[RecordBatch]) -> Option<Vec<RecordBatch>> {
    let mut tracker = SequenceTracker::new(schema);
    let index = batches.iter().map(|batch| batch.project(&[0, 1, 2, 3]).unwrap());
    index.map(|batch| tracker.push(&batch).map(|_| batch).ok()).collect()
}

async fn index_of(table: &Table) -> RecordBatch {
    let batches: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<Result<_>>().unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn an_append_is_refused_exactly_where_all_rows_together_break_the_rules() {
    let mut rng = Rng(common::seed());
    let (mut refused, mut again, mut accepted) = (0, 0, 0);
    for _ in 0..common::cases(120) {
        let (schema, options) = drawn(&mut rng);
        let (_, store) = memory();
        let (mut table, mut all, mut near) = (None, Vec::new(), 0);
        for _ in 0..2 + rng.below(5) {
            near += rng.below(8) as i64 - 1;
            let new: Vec<RecordBatch> = (0..1 + rng.below(3)).map(|add| rows(&mut rng, near + 4 * add as i64)).collect();
            let together: Vec<RecordBatch> = all.iter().chain(&new).cloned().collect();
            let expected = followed(&schema, &together).is_some();
            match written(&store, table.as_ref(), &schema, &options, &new).await_now() {
                Ok(longer) => {
                    assert!(expected, "{schema:?}: {new:?} after {all:?}");
                    accepted += 1;
                    (table, all) = (Some(longer), together);
                }
                Err(error) => {
                    assert!(!expected && error.kind() == ErrorKind::Invalid, "{error}: {schema:?}: {new:?} after {all:?}");
                    refused += 1;
                    again += u32::from(error.to_string().contains("partition") && error.to_string().contains("appears again"));
                }
            }
        }
        let Some(table) = table else { continue };
        let found = block_on(index_of(&table));
        assert_eq!(found.num_rows(), all.iter().map(RecordBatch::num_rows).sum::<usize>());
        assert!(block_on(table.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    }
    assert!(refused > 20 && again > 5 && accepted > 50, "{refused} {again} {accepted}");
}

/// Returns a value as text; different texts for values with different bits.
fn value(array: &ArrayRef, row: usize) -> String {
    match array.is_null(row) {
        true => "null".to_owned(),
        false => match array.data_type() {
            DataType::LargeUtf8 => format!("{:?}", array.as_string::<i64>().value(row)),
            DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_bits().to_string(),
            _ => array.as_primitive::<Int64Type>().value(row).to_string(),
        },
    }
}

/// Runs a future to its end.
trait Now: Future + Sized {
    fn await_now(self) -> Self::Output {
        block_on(self)
    }
}

impl<F: Future> Now for F {}

#[test]
fn keys_find_the_rows_that_have_them() {
    let mut rng = Rng(common::seed());
    let (mut hits, mut doubled) = (0, 0);
    for _ in 0..common::cases(60) {
        let (schema, options) = drawn(&mut rng);
        let (_, store) = memory();
        let mut table = None;
        for near in 0..4 {
            table = written(&store, table.as_ref(), &schema, &options, &[rows(&mut rng, 20 * near)]).await_now().ok().or(table);
        }
        let Some(table) = table else { continue };
        let index = block_on(index_of(&table));
        let on: Vec<&str> = ["time", "log", "part", "lane"].into_iter().filter(|_| rng.once_in(2)).collect();
        let on = if on.is_empty() { vec!["part"] } else { on };
        let text = |batch: &RecordBatch, row: usize| -> String {
            on.iter().map(|name| value(batch.column_by_name(name).unwrap(), row) + "|").collect()
        };
        // Rows of the table, and others.
        let keys = concat_batches(
            &index.schema(),
            [&index.slice(0, index.num_rows() / 2), &rows(&mut rng, 20).project(&[0, 1, 2, 3]).unwrap()],
        );
        let keys = keys.unwrap();
        let mut places: HashMap<String, Vec<u64>> = HashMap::new();
        (0..index.num_rows()).for_each(|row| places.entry(text(&index, row)).or_default().push(row as u64));
        let expected: Vec<Vec<u64>> =
            (0..keys.num_rows()).map(|row| places.get(&text(&keys, row)).cloned().unwrap_or_default()).collect();
        match block_on(table.rows_by_key(&on, &keys)) {
            Ok(found) => {
                let expected: Vec<Option<u64>> = expected.iter().map(|rows| rows.first().copied()).collect();
                assert_eq!(found, expected);
                hits += found.iter().flatten().count();
            }
            Err(error) => {
                assert!(error.to_string().contains("have the same key"), "{error}");
                assert!(expected.iter().any(|rows| rows.len() > 1));
                doubled += 1;
            }
        }
        // Keys that occur once are found, whatever the others are.
        let once: Vec<usize> = (0..keys.num_rows()).filter(|row| expected[*row].len() < 2).collect();
        for row in once {
            let found = block_on(table.rows_by_key(&on, &keys.slice(row, 1))).unwrap();
            assert_eq!(found, [expected[row].first().copied()]);
            hits += found.iter().flatten().count();
        }
    }
    assert!(hits > 100 && doubled > 5, "{hits} {doubled}");
}

#[test]
fn sequences_are_right_after_any_deletes() {
    let mut rng = Rng(common::seed());
    for _ in 0..common::cases(60) {
        let (schema, options) = drawn(&mut rng);
        let (_, store) = memory();
        let (mut table, mut all) = (None, Vec::new());
        for near in 0..5 {
            let new = rows(&mut rng, 10 * near);
            if let Ok(longer) = written(&store, table.as_ref(), &schema, &options, std::slice::from_ref(&new)).await_now() {
                (table, all) = (Some(longer), [all, vec![new]].concat());
            }
        }
        let Some(mut table) = table else { continue };
        let mut left: Vec<usize> = (0..table.rows() as usize).collect();
        let all = concat_batches(&all[0].schema(), &all).unwrap();
        for _ in 0..3 {
            // Some rows here and there, or many that are neighbours.
            let (start, count) = (rng.below(left.len() as u64), rng.below(1 + left.len() as u64 / 2));
            let gone: Vec<u64> = match rng.once_in(2) {
                true => (0..rng.below(4)).map(|_| rng.below(left.len() as u64)).collect(),
                false => (start..(start + count).min(left.len() as u64)).collect(),
            };
            table = block_on(table.delete(gone.iter().copied(), options.clone())).unwrap();
            left = (0..).zip(left).filter(|(place, _)| !gone.contains(place)).map(|(_, row)| row).collect();
            if left.is_empty() {
                break;
            }
            let kept: Vec<RecordBatch> = left.iter().map(|row| all.slice(*row, 1)).collect();
            let index = followed(&schema, &kept).expect("rows that are left out break no rule");
            let found = block_on(index_of(&table));
            assert_eq!(
                found,
                concat_batches(
                    &found.schema(),
                    &index
                        .iter()
                        .map(|batch| RecordBatch::try_new(found.schema(), batch.columns().to_vec()).unwrap())
                        .collect::<Vec<_>>()
                )
                .unwrap()
            );
            let mut tracker = SequenceTracker::new(&schema);
            let starts: Vec<u64> = tracker.push(&found).unwrap().into_iter().map(|row| row as u64).collect();
            let sequences = block_on(table.sequences()).unwrap();
            let is_start = |row: &u64| sequences.around(*row).unwrap().start == *row;
            assert_eq!((0..table.rows()).filter(is_start).collect::<Vec<_>>(), starts);
            assert!(block_on(table.storage().verify(|_, _| {})).unwrap().damage.is_empty());
        }
    }
}

/// Of two appends at once, the second is put behind the rows of the first by little of the index, and refused where it must be.
#[test]
fn an_append_that_is_rebased_reads_little_of_the_index() {
    block_on(async {
        let counting = CountingStore::new(InMemory::new());
        let store = over(Arc::new(counting.clone()));
        let schema = Schema::builder().index("log", "utf8").index("id", "i64").sequence_by(["log"]).order_by(["id"]);
        let schema = schema.group("x", [("x", "i64")]).bloom_filter("log").build().unwrap();
        let batch = |from: i64, to: i64, log: &dyn Fn(i64) -> String| {
            let logs = LargeStringArray::from_iter_values((from..to).map(log));
            let ids = || Arc::new(Int64Array::from_iter_values(from..to)) as ArrayRef;
            RecordBatch::try_from_iter([("log", Arc::new(logs) as ArrayRef), ("id", ids()), ("x", ids())]).unwrap()
        };
        let old = |row: i64| format!("log {:08}", row / 10);
        let options = WriteOptions::default().segment_rows(1);
        let parts: Vec<RecordBatch> = (0..3).map(|part| batch(part * 60_000, (part + 1) * 60_000, &old)).collect();
        let table = written(&store, None, &schema, &options, &parts).await.unwrap();
        let index: u64 = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum();
        let rows_of = |name: &'static str| batch(0, 5, &move |_| name.to_owned());
        // What the first writer appends, what the second one does, and whether that is refused.
        for (theirs, ours, is_refused) in [("new a", "new b", false), ("new c", "new c", true), ("new d", "log 00000007", true)] {
            let other = Table::open_in(store.clone()).await.unwrap();
            let writer = Table::open_in(store.clone()).await.unwrap().append(options.clone()).await.unwrap();
            let mut partition = writer.partition().unwrap();
            partition.write(&rows_of(ours)).await.unwrap();
            let receipt = partition.finish().await.unwrap();
            let first = written(&store, Some(&other), &schema, &options, &[rows_of(theirs)]).await.unwrap();
            counting.reset();
            let made = writer.commit([receipt]).await;
            let read = counting.reset().bytes_read;
            assert!(read < index / 2, "{read} of {index} bytes");
            match made {
                Err(error) => {
                    assert!(is_refused && [ErrorKind::Invalid, ErrorKind::Conflict].contains(&error.kind()), "{ours}: {error}");
                }
                Ok(made) => {
                    assert!(!is_refused, "{ours}");
                    assert_eq!(made.rows(), first.rows() + 5);
                    assert!(made.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
                }
            }
        }
    });
}

/// Requests and bytes of a change of a row do not follow the table: the issue is the index, so the payload is small.
#[test]
fn changes_read_the_row_groups_that_they_need() {
    let counts = |rows: i64| {
        block_on(async {
            let counting = CountingStore::new(InMemory::new());
            let store = over(Arc::new(counting.clone()));
            let schema = Schema::builder().index("log", "utf8").index("id", "i64").sequence_by(["log"]).order_by(["id"]);
            let schema = schema.group("x", [("x", "i64")]).bloom_filter("id").build().unwrap();
            let batch = |from: i64, to: i64| {
                let logs = LargeStringArray::from_iter_values((from..to).map(|row| format!("log {:08}", row / 1000)));
                let ids = || Arc::new(Int64Array::from_iter_values(from..to)) as ArrayRef;
                RecordBatch::try_from_iter([("log", Arc::new(logs) as ArrayRef), ("id", ids()), ("x", ids())]).unwrap()
            };
            let table = written(&store, None, &schema, &WriteOptions::default(), &[batch(0, rows)]).await.unwrap();
            let table = Table::open_in(table.store().clone()).await.unwrap();
            counting.reset();
            let longer =
                written(&store, Some(&table), &schema, &WriteOptions::default(), &[batch(rows, rows + 10)]).await.unwrap();
            let first = counting.reset();
            let more = batch(rows + 10, rows + 20);
            let longer = written(&store, Some(&longer), &schema, &WriteOptions::default(), &[more]).await.unwrap();
            let append = counting.reset();
            let patch = batch(rows / 2, rows / 2 + 1).project(&[1, 2]).unwrap();
            longer.patch(&["id"], &patch, WriteOptions::default()).await.unwrap();
            let patch = counting.reset();
            delete_by_a_new_handle(&longer, rows as u64 / 2).await;
            [first, append, patch, counting.reset()]
        })
    };
    let (few, many) = (counts(30_000), counts(if common::full() { 1_000_000 } else { 150_000 }));
    for (few, many) in few.iter().zip(&many) {
        // A large segment has a tail, which is read before its pages.
        assert!(many.requests() <= few.requests() + 4, "{few:?} {many:?}");
        println!("{} requests, {} and {} bytes read", few.requests(), few.bytes_read, many.bytes_read);
    }
    // The first append reads the last pages of a segment with a tail, and the second one the segment of the first.
    let most = |number: usize| few[number].bytes_read.max(128 << 10);
    assert!(many[0].bytes_read < most(0) && many[1].bytes_read < most(1), "{many:?}");
    assert!(few[0].requests() <= 17 && few[1].requests() <= 16, "{few:?}");
}

async fn delete_by_a_new_handle(table: &Table, row: u64) {
    // By a handle of its own: the patch was a version after this one.
    let table = Table::open_in(table.store().clone()).await.unwrap();
    table.delete([row], WriteOptions::default()).await.unwrap();
}
