//! Rows of an index by their numbers: the same values as in the whole index, by few of its bytes.

use std::{fs::File, sync::Arc};

use crate::common::{
    self,
    tables::{Rng, block_on, over, write},
};
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray, RecordBatch, UInt64Array};
use arrow_select::{concat::concat_batches, take::take_record_batch};
use object_store::memory::InMemory;
use tetrys::{
    ErrorKind, Schema, Store, Table, WriteOptions,
    ingest::export::{ExportFormat, ExportSettings, export},
    store::CountingStore,
    write::IndexTails,
};

fn schema() -> Schema {
    let schema = Schema::builder().index("log", "utf8").index("id", "i64").index("noise", "i64");
    schema.sequence_by(["log"]).order_by(["id"]).group("x", [("x", "i64")]).build().unwrap()
}

/// Returns rows whose index has about 12 bytes a row.
fn batch(rng: &mut Rng, from: i64, to: i64) -> RecordBatch {
    let logs = (from..to).map(|row| (row % 7 != 0).then(|| format!("log {:06}", row / 1000)));
    let sorted = logs.zip(from..to).map(|(log, row)| log.unwrap_or_else(|| format!("log {:06}", row / 1000)));
    let noise = (from..to).map(|_| (!rng.once_in(9)).then(|| rng.next() as i64));
    let columns: [(&str, ArrayRef); 4] = [
        ("log", Arc::new(LargeStringArray::from_iter_values(sorted))),
        ("id", Arc::new(Int64Array::from_iter_values(from..to))),
        ("noise", Arc::new(Int64Array::from_iter(noise))),
        ("x", Arc::new(Int64Array::from_iter_values((from..to).map(|row| row * 3)))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap()
}

/// Writes a table of so many rows, in segments of at least so many.
async fn table(store: Store, rows: i64, segment_rows: u64, tails: IndexTails) -> Table {
    let mut rng = Rng(common::seed());
    let step = rows.min(60_000);
    let parts: Vec<RecordBatch> =
        (0..rows).step_by(step as usize).map(|from| batch(&mut rng, from, (from + step).min(rows))).collect();
    write(store, schema(), WriteOptions::default().segment_rows(segment_rows).index_tails(tails), &parts).await.unwrap()
}

async fn whole(table: &Table) -> RecordBatch {
    let batches: Vec<RecordBatch> = table.index_batches().await.unwrap().collect::<tetrys::Result<_>>().unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn taken(all: &RecordBatch, rows: &[u64]) -> RecordBatch {
    take_record_batch(all, &UInt64Array::from(rows.to_vec())).unwrap()
}

/// Draws rows: few or many, in any order, some several times.
fn drawn(rng: &mut Rng, rows: u64) -> Vec<u64> {
    let from = rng.below(rows);
    match rng.below(4) {
        0 => Vec::new(),
        1 => (from..rows.min(from + rng.below(3000))).collect(),
        2 => (0..rng.below(40)).map(|_| rng.below(rows)).collect(),
        _ => (0..rng.below(2000)).map(|_| rows - 1 - rng.below(rows.min(500))).collect(),
    }
}

#[test]
fn rows_of_the_index_are_those_of_the_whole_index() {
    let mut rng = Rng(common::seed());
    let (folder, mut number) = (tempfile::tempdir().unwrap(), 0);
    for (rows, segment_rows, tails) in [
        (70_000, 1 << 20, IndexTails::All),
        (130_000, 1, IndexTails::All),
        (70_000, 1, IndexTails::None),
        (50, 1, IndexTails::All),
    ] {
        let store = |name: &str| Store::open(folder.path().join(name).to_str().unwrap()).unwrap();
        number += 1;
        let plain = block_on(table(store(&format!("t{number}")), rows, segment_rows, tails));
        let index = block_on(async { plain.index().filter_sql("id % 3 = 0").await }).unwrap();
        let view = block_on(index.save(&format!("{}/v{number}", folder.path().display()))).unwrap().table;
        for table in [plain, view] {
            let all = block_on(whole(&table));
            assert_eq!(all.num_rows() as u64, table.rows());
            for round in 0..common::cases(30) {
                let rows = if round == 0 { (0..table.rows()).collect() } else { drawn(&mut rng, table.rows()) };
                let found = block_on(table.take_index(&rows)).unwrap();
                assert_eq!(found, taken(&all, &rows), "{} rows of {}", rows.len(), table.url());
            }
            let outside = block_on(table.take_index(&[0, table.rows()])).unwrap_err();
            assert_eq!(
                (outside.kind(), outside.to_string()),
                (ErrorKind::Invalid, format!("row {0} is outside 0..{0}", table.rows()))
            );
        }
    }
}

#[test]
fn an_export_of_some_rows_has_their_index_and_reads_little_of_the_others() {
    block_on(async {
        let counting = CountingStore::new(InMemory::new());
        let store = over(Arc::new(counting.clone()));
        table(store.clone(), 180_000, 1, IndexTails::All).await;
        let table = Table::open_in(store.clone()).await.unwrap();
        let (all, index) =
            (whole(&table).await, table.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>());
        let folder = tempfile::tempdir().unwrap();
        let mut rng = Rng(common::seed());
        for round in 0..6 {
            let mut rows = if round == 0 { vec![100_001, 100_000, 100_000] } else { drawn(&mut rng, table.rows()) };
            let table = Table::open_in(store.clone()).await.unwrap();
            counting.reset();
            let settings = ExportSettings { rows: Some(rows.clone()), ..ExportSettings::default() };
            let path = folder.path().join(round.to_string());
            export(&table, File::create(&path).unwrap(), ExportFormat::Arrow, &settings, |_| ()).await.unwrap();
            let read = counting.reset();
            if round == 0 {
                // The pages of one row group of the three segments.
                assert!(read.bytes_read < index * 3 / 10, "{read:?} of {index} bytes");
            }
            let found: Vec<RecordBatch> =
                arrow_ipc::reader::FileReader::try_new(File::open(&path).unwrap(), None).unwrap().map(Result::unwrap).collect();
            rows.sort_unstable();
            assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.len());
            let expected = taken(&all, &rows);
            for name in ["log", "id", "noise"] {
                let column = |batch: &RecordBatch| batch.column_by_name(name).unwrap().clone();
                let found: Vec<ArrayRef> = found.iter().map(column).collect();
                let found: Vec<&dyn Array> = found.iter().map(AsRef::as_ref).collect();
                if !found.is_empty() {
                    assert_eq!(&arrow_select::concat::concat(&found).unwrap(), &column(&expected), "{name}");
                }
            }
        }
    });
}

/// A loader with an index column reads rows of a large index one by one at first, and loads the column before that has cost more.
#[test]
fn a_loader_reads_index_values_of_rows_until_the_whole_index_is_as_cheap() {
    block_on(async {
        let counting = CountingStore::new(InMemory::new());
        let store = over(Arc::new(counting.clone()));
        table(store.clone(), 120_000, 1, IndexTails::All).await;
        let table = Table::open_in(store).await.unwrap();
        let all = whole(&table).await;
        let index = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>();
        let table = Table::open_in(table.store().clone()).await.unwrap();
        let loader = table.row_loader().columns(["noise", "x"]).unwrap();
        let (mut rng, mut of_index) = (Rng(common::seed()), Vec::new());
        for _ in 0..300 {
            counting.reset();
            let rows = [rng.below(table.rows()), rng.below(table.rows())];
            let found = loader.take(&rows).await.unwrap();
            assert_eq!(found.column("noise").unwrap(), taken(&all, &rows).column_by_name("noise").unwrap());
            let gets = counting.reset().gets;
            of_index.push(gets.iter().filter(|get| get.path.starts_with("index/")).map(|get| get.bytes).sum::<u64>());
        }
        assert!(of_index[0] < index / 2, "{of_index:?} of {index}");
        assert_eq!(of_index.last(), Some(&0), "the column is in memory");
        assert!(of_index.iter().sum::<u64>() <= index * 3, "{of_index:?} of {index}");
    });
}
