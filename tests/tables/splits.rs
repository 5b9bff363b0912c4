//! Splits of reads: every row is in one split, splits begin at chunks of the largest group, and their batches have the rows of
//! the table and no more bytes than asked for.

#![allow(clippy::single_range_in_vec_init, reason = "one range of rows is meant")]

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use crate::common::{
    self,
    tables::{Rng, Taste, block_on, cut_by, memory, rows_of, sensors, tiny_cuts},
};
use arrow_array::{Array, ArrayRef, Int64Array, LargeBinaryArray, RecordBatch, cast::AsArray};
use arrow_select::concat::concat_batches;
use futures::{StreamExt, TryStreamExt};
#[cfg(feature = "frame")]
use polars::prelude::{BooleanChunked, NewChunkedArray};
use tetrys::{ErrorKind, Offsets, RowLoader, Schema, SplitSize, Table, Window, WriteOptions};

/// Returns random ranges in ascending order within `0..len`.
fn ranges(rng: &mut Rng, len: u64) -> Vec<Range<u64>> {
    let (mut found, mut row) = (Vec::new(), 0);
    while row < len {
        let start = row + rng.below(9);
        row = (start + rng.below(30)).min(len);
        if start < row {
            found.push(start..row);
        }
    }
    found
}

async fn sensor_table(rng: &mut Rng) -> (Table, RecordBatch) {
    let logs: Vec<String> = (0..1 + rng.below(4)).map(|log| format!("log {log}")).collect();
    let runs: Vec<(&str, usize)> = logs.iter().map(|log| (log.as_str(), 1 + rng.below(60) as usize)).collect();
    let half = runs.len() / 2;
    let parts: Vec<RecordBatch> = [&runs[..half], &runs[half..]]
        .into_iter()
        .filter(|runs| !runs.is_empty())
        .map(|runs| rows_of(&sensors(), rng, runs, Taste::NOISE))
        .collect();
    let table = common::tables::write(memory().1, sensors(), cut_by(tiny_cuts()), &parts).await.unwrap();
    let all = concat_batches(&parts[0].schema(), &parts).unwrap();
    (table, all)
}

/// Returns the rows at which a chunk of a group begins.
async fn chunk_starts(table: &Table, group: usize) -> BTreeSet<u64> {
    let layout = table.storage().layout(group).await.unwrap();
    let (mut row, mut chunk, mut starts) = (0, None, BTreeSet::new());
    for run in layout.runs() {
        if chunk.replace(run.chunk) != Some(run.chunk) {
            starts.insert(row);
        }
        row += run.rows;
    }
    starts
}

async fn all_batches(loader: &RowLoader, rows: Vec<Range<u64>>, bytes: usize) -> Vec<RecordBatch> {
    let batches = loader.batches(rows, bytes, Vec::new()).unwrap();
    batches.map_ok(|parts| parts[0].rows().batch().clone()).try_collect().await.unwrap()
}

/// Returns the bytes of the values of a batch.
fn size(batch: &RecordBatch) -> usize {
    fn of(array: &dyn Array) -> usize {
        match array.data_type() {
            arrow_schema::DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let (first, last) = (list.value_offsets()[0] as usize, list.value_offsets()[list.len()] as usize);
                8 * (list.len() + 1) + of(&list.values().slice(first, last - first))
            }
            arrow_schema::DataType::Struct(_) => array.as_struct().columns().iter().map(|column| of(column)).sum(),
            arrow_schema::DataType::FixedSizeList(..) => of(array.as_fixed_size_list().values()),
            _ => array.to_data().get_slice_memory_size().unwrap(),
        }
    }
    batch.columns().iter().map(|column| of(column)).sum()
}

#[test]
fn random_splits_and_their_batches_have_the_rows_of_the_table() {
    let cases = common::cases(40) as u64;
    for case in 0..cases {
        block_on(async {
            let mut rng = Rng(common::seed().wrapping_add(case));
            let (table, all) = sensor_table(&mut rng).await;
            let choices: [&[&str]; 4] = [&["*"], &["lidar.*", "time"], &["labels.count"], &["log", "time"]];
            let patterns = *rng.pick(&choices);
            let loader = match rng.below(4) {
                0 => table.row_loader().all_columns().unwrap(),
                _ => table.row_loader().columns(patterns).unwrap(),
            };
            let rows = if rng.below(2) == 0 { vec![0..table.rows()] } else { ranges(&mut rng, table.rows()) };
            let wanted = 1 + rng.below(6);
            let splits = loader.splits(&rows, SplitSize::Count(wanted)).await.unwrap();
            assert!(splits.len() as u64 <= wanted);
            let covered: Vec<u64> = splits.iter().flat_map(|split| split.rows.iter().cloned().flatten()).collect();
            assert_eq!(covered, rows.iter().cloned().flatten().collect::<Vec<_>>());
            if let [whole] = &rows[..]
                && loader.column_names().eq(["time", "lidar.points"])
                && *whole == (0..table.rows())
            {
                let starts = chunk_starts(&table, 1).await;
                if starts.len() as u64 >= wanted {
                    assert!(splits.iter().all(|split| starts.contains(&split.rows[0].start)), "{splits:?}, chunks {starts:?}");
                }
            }
            let bound = *rng.pick(&[1, 200, 3_000, 1 << 20]);
            for split in &splits {
                let found = all_batches(&loader, split.rows.clone(), bound).await;
                assert!(found.iter().all(|batch| batch.num_rows() == 1 || size(batch) <= bound));
                let places: Vec<u64> = split.rows.iter().cloned().flatten().collect();
                let found = concat_batches(&found[0].schema(), &found).unwrap();
                let wanted = arrow_array::UInt64Array::from(places.clone());
                for (field, column) in found.schema().fields().iter().zip(found.columns()) {
                    let expected = arrow_select::take::take(all.column_by_name(field.name()).unwrap(), &wanted, None).unwrap();
                    assert_eq!(column, &expected, "column `{}`", field.name());
                }
                for (schema, index) in
                    [table.index_rows(&split.rows).await.unwrap(), loader.index_rows(&split.rows).await.unwrap()]
                {
                    let index = concat_batches(&schema, &index).unwrap();
                    for (field, column) in index.schema().fields().iter().zip(index.columns()) {
                        let expected =
                            arrow_select::take::take(all.column_by_name(field.name()).unwrap(), &wanted, None).unwrap();
                        assert_eq!(column, &expected, "index column `{}`", field.name());
                    }
                }
            }
        });
    }
}

#[test]
fn batches_are_bounded_whatever_a_row_weighs() {
    block_on(async {
        let schema = Schema::builder().index("i", "i64").group("a", [("a.blob", "binary")]).build().unwrap();
        let mut rng = Rng(5);
        // Ten light rows, heavy ones, and rows that compress a thousandfold.
        let lengths: Vec<usize> = (0..90).map(|row| [10, 300_000, 1_000_000][row / 30]).collect();
        let blobs: Vec<Vec<u8>> =
            lengths.iter().map(|len| if *len == 1_000_000 { vec![0; *len] } else { rng.bytes(*len) }).collect();
        let columns: [(&str, ArrayRef); 2] = [
            ("i", Arc::new(Int64Array::from_iter_values(0..90))),
            ("a.blob", Arc::new(LargeBinaryArray::from_iter_values(&blobs))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let table =
            common::tables::write(memory().1, schema, WriteOptions::default(), std::slice::from_ref(&batch)).await.unwrap();
        for bound in [1, 1_000, 700_000, 5_000_000, usize::MAX] {
            let found = all_batches(&table.row_loader(), vec![0..90], bound).await;
            for one in &found {
                assert!(one.num_rows() == 1 || size(one) <= bound, "{} rows of {} bytes for {bound}", one.num_rows(), size(one));
            }
            let found = concat_batches(&found[0].schema(), &found).unwrap();
            assert_eq!(found.column(0), batch.column(1));
        }
    });
}

#[test]
fn windows_of_a_split_are_those_of_the_loader() {
    block_on(async {
        let mut rng = Rng(9);
        let (table, _) = sensor_table(&mut rng).await;
        let loader = table.row_loader();
        let window = || Window::Rows(Offsets::new([-2, 0, 1]).unwrap());
        let parts = vec![("lidar.*".to_owned(), window()), ("labels.count".to_owned(), Window::Rows(Offsets::new([0]).unwrap()))];
        let batches: Vec<_> = loader.batches(vec![0..table.rows()], 900, parts).unwrap().try_collect().await.unwrap();
        assert!(batches.len() > 1);
        let every: Vec<u64> = (0..table.rows()).collect();
        let whole = loader.clone().columns(["lidar.*"]).unwrap().get_windows(&every, window()).await.unwrap();
        let found: Vec<RecordBatch> = batches.iter().map(|parts| parts[0].rows().batch().clone()).collect();
        assert_eq!(&concat_batches(&found[0].schema(), &found).unwrap(), whole.rows().batch());
        assert_eq!(batches.iter().map(|parts| parts[1].len()).sum::<usize>() as u64, table.rows());
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_view_is_split_by_the_chunks_of_its_sources() {
    block_on(async {
        let mut rng = Rng(21);
        let store = tetrys::Store::open("memory://splits/t").unwrap();
        let logs: Vec<String> = (0..6).map(|log| format!("log {log}")).collect();
        let runs: Vec<(&str, usize)> = logs.iter().map(|log| (log.as_str(), 40)).collect();
        let batch = rows_of(&sensors(), &mut rng, &runs, Taste::NOISE);
        let table =
            common::tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), std::slice::from_ref(&batch)).await.unwrap();
        let chosen = table.index().await.unwrap().filter_sql("time % 300 = 0").unwrap();
        let view = chosen.save("memory://splits/v").await.unwrap();
        let view = view.table;
        let loader = view.row_loader().columns(["lidar.*"]).unwrap();
        let splits = loader.splits(&[0..view.rows()], SplitSize::Count(4)).await.unwrap();
        assert!(splits.len() > 2, "{splits:?}");
        let mut found = Vec::new();
        for split in &splits {
            found.extend(all_batches(&loader, split.rows.clone(), 500).await);
        }
        let every: Vec<u64> = (0..view.rows()).collect();
        let whole = loader.take(&every).await.unwrap();
        assert_eq!(&concat_batches(&found[0].schema(), &found).unwrap(), whole.batch());
        let starts = chunk_starts(&table, 1).await;
        let rows = whole.table_rows();
        for split in &splits[1..] {
            // Between the last row of the split before and the first of this one, a chunk of the source begins.
            let first = split.rows[0].start as usize;
            let (before, here) = (rows[first - 1].unwrap(), rows[first].unwrap());
            assert!(starts.range(before + 1..=here).next().is_some(), "{before}..{here}, chunks {starts:?}");
        }
    });
}

/// The index of a view is its own. A task that reads it alone needs no source table.
#[cfg(feature = "frame")]
#[test]
fn the_index_of_a_view_is_read_beside_payload_and_without_its_sources() {
    block_on(async {
        let (mut rng, folder) = (Rng(common::seed()), tempfile::tempdir().unwrap());
        let url = |name: &str| folder.path().join(name).display().to_string();
        let batch = rows_of(&sensors(), &mut rng, &[("a", 70), ("b", 50)], Taste::NOISE);
        let store = tetrys::Store::open(&url("t")).unwrap();
        let table = common::tables::write(store, sensors(), cut_by(tiny_cuts()), std::slice::from_ref(&batch)).await.unwrap();
        let chosen = table.index().await.unwrap().filter_sql("time % 300 = 0").unwrap().sort(["time"], true).unwrap();
        chosen.save(&*url("v")).await.unwrap();
        let loader = Table::open(&url("v")).await.unwrap().row_loader().all_columns().unwrap();
        let every: Vec<u64> = (0..loader.len()).collect();
        let expected = loader.take(&every).await.unwrap().batch().clone();
        let found = all_batches(&loader, vec![0..loader.len()], 700).await;
        assert!(found.len() > 1);
        assert_eq!(concat_batches(&found[0].schema(), &found).unwrap(), expected);
        std::fs::remove_dir_all(url("t")).unwrap();
        let alone = Table::open(&url("v")).await.unwrap().row_loader().columns(["time", "log"]).unwrap();
        let splits = alone.splits(&[0..alone.len()], SplitSize::Count(3)).await.unwrap();
        assert_eq!(splits.len(), 3);
        let mut found = Vec::new();
        for split in splits {
            found.extend(all_batches(&alone, split.rows, 200).await);
        }
        let found = concat_batches(&found[0].schema(), &found).unwrap();
        for name in ["time", "log"] {
            assert_eq!(found.column_by_name(name), expected.column_by_name(name), "{name}");
        }
        let payload = Table::open(&url("v")).await.unwrap().row_loader();
        assert!(payload.batches(vec![0..1], 10, Vec::new()).unwrap().next().await.unwrap().is_err());
    });
}

#[cfg(feature = "frame")]
#[test]
fn an_index_has_ranges_of_rows_if_they_are_in_the_order_of_one_table() {
    block_on(async {
        let mut rng = Rng(common::seed());
        let (table, _) = sensor_table(&mut rng).await;
        let (other, _) = sensor_table(&mut rng).await;
        let index = table.index().await.unwrap();
        for _ in 0..common::cases(20) {
            let rows = ranges(&mut rng, table.rows());
            let numbers: Vec<u64> = rows.iter().cloned().flatten().collect();
            let kept: Vec<bool> = (0..table.rows()).map(|row| numbers.binary_search(&row).is_ok()).collect();
            let frame = index.to_frame().filter(&BooleanChunked::from_slice("".into(), &kept)).unwrap();
            let found = index.with_frame(frame).unwrap();
            assert_eq!(found.only_table().unwrap().url(), table.url());
            let found = found.row_ranges(&table).unwrap();
            assert_eq!(found.iter().cloned().flatten().collect::<Vec<_>>(), numbers);
            assert!(found.windows(2).all(|pair| pair[0].end < pair[1].start), "{found:?}");
        }
        let kind_and_hint = |error: tetrys::Error| (error.kind(), error.to_string().contains("save it as a view"));
        let turned = index.sort(["time"], true).unwrap();
        // There are at most four logs, so one of them has two times.
        if table.rows() > 4 {
            assert_eq!(kind_and_hint(turned.row_ranges(&table).unwrap_err()), (ErrorKind::Invalid, true));
        }
        assert_eq!(index.row_ranges(&other).unwrap_err().kind(), ErrorKind::NotFound);
        let both = tetrys::Index::concat([&index, &other.index().await.unwrap()]).unwrap();
        assert_eq!(kind_and_hint(both.only_table().unwrap_err()), (ErrorKind::Invalid, true));
    });
}

#[test]
fn impossible_ranges_and_sizes_are_refused() {
    block_on(async {
        let mut rng = Rng(1);
        let (table, _) = sensor_table(&mut rng).await;
        let (loader, len) = (table.row_loader(), table.rows());
        #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
        let wrong = [vec![0..len + 1], vec![3..1], vec![2..3, 1..2], vec![u64::MAX..u64::MAX]];
        for rows in wrong {
            assert_eq!(loader.splits(&rows, SplitSize::Count(2)).await.unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(loader.batches(rows.clone(), 10, Vec::new()).err().unwrap().kind(), ErrorKind::Invalid);
            assert_eq!(table.index_rows(&rows).await.unwrap_err().kind(), ErrorKind::Invalid);
        }
        assert_eq!(loader.batches(vec![0..1], 0, Vec::new()).err().unwrap().kind(), ErrorKind::Invalid);
        let none = vec![("no.column".to_owned(), Window::Rows(Offsets::new([0]).unwrap()))];
        assert_eq!(loader.batches(vec![0..1], 10, none).err().unwrap().kind(), ErrorKind::NotFound);
        assert!(loader.splits(&[], SplitSize::Count(0)).await.unwrap().is_empty());
        assert!(loader.batches(Vec::new(), 10, Vec::new()).unwrap().next().await.is_none());
    });
}
