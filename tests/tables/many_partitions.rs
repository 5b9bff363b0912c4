//! Rows that need several partitions: any batches of random sequences come back in order, in the partitions of a plain model, and
//! windows stay within sequences.

use std::sync::Arc;

use crate::common::{
    self,
    tables::{Rng, Taste, assert_reads, assert_rows, block_on, cut_by, joined, memory, rows_of, sensors, tiny_cuts, window_rows},
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tetrys::{Edge, ErrorKind, Offsets, Receipt, Schema, Table, TableWriter, WriteOptions};

/// Returns the rows of each partition: one ends at the first end of a sequence after half of its maximum, or at its maximum.
fn model(sequences: &[usize], most: u64) -> Vec<u64> {
    let mut parts: Vec<u64> = vec![0];
    for rows in sequences {
        for row in 0..*rows {
            let place = parts.len() - 1;
            if parts[place] == most || (row == 0 && parts[place] > 0 && parts[place] * 2 >= most) {
                parts.push(0);
            }
            let place = parts.len() - 1;
            parts[place] += 1;
        }
    }
    parts
}

/// Cuts rows into random batches, of which some have no rows.
fn batches(rng: &mut Rng, rows: &RecordBatch) -> Vec<RecordBatch> {
    let (mut batches, mut first) = (Vec::new(), 0);
    while first < rows.num_rows() {
        let count = (rng.below(40) as usize).min(rows.num_rows() - first);
        batches.push(rows.slice(first, count));
        first += count;
    }
    batches
}

async fn written(writer: &TableWriter, batches: &[RecordBatch], most: u64) -> tetrys::Result<Vec<Receipt>> {
    let mut rows = writer.rows_up_to(most)?;
    for batch in batches {
        rows.write(writer, batch).await?;
    }
    rows.finish().await
}

fn lengths(receipts: &[Receipt]) -> Vec<u64> {
    receipts.iter().map(|receipt| receipt.rows).collect()
}

#[test]
fn any_batches_of_random_sequences_become_the_partitions_of_a_plain_model() {
    let mut rng = Rng(common::seed());
    block_on(async {
        for case in 0..common::cases(12) {
            let names: Vec<String> = (0..1 + rng.below(6)).map(|number| format!("log-{number}")).collect();
            let runs: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 1 + rng.below(30) as usize)).collect();
            let sequences: Vec<usize> = runs.iter().map(|(_, rows)| *rows).collect();
            let most = 1 + rng.below(60);
            let schema = sensors();
            let rows = rows_of(&schema, &mut rng, &runs, Taste::SMALL);
            let (_, store) = memory();
            let writer = Table::create_in(store, schema, cut_by(tiny_cuts())).await.unwrap();
            let receipts = written(&writer, &batches(&mut rng, &rows), most).await.unwrap();
            assert_eq!(lengths(&receipts), model(&sequences, most), "case {case}: {runs:?}, at most {most}");
            assert_eq!(
                receipts.iter().map(|receipt| receipt.partition as usize).collect::<Vec<_>>(),
                Vec::from_iter(0..receipts.len())
            );
            let table = writer.commit(receipts).await.unwrap();
            assert_eq!(table.sequence_count(), runs.len() as u64);
            assert_reads(&table, &rows).await;
            let ends: Vec<u64> = (1..=runs.len()).map(|count| sequences[..count].iter().sum::<usize>() as u64).collect();
            let offsets = Offsets::try_from(-3..=3).unwrap();
            let loader = table.row_loader();
            for row in 0..table.rows() {
                let wanted = window_rows(&ends, row, offsets.as_slice(), Edge::Pad);
                assert_rows(&loader.get_rows(row, offsets.clone()).await.unwrap(), &rows, &wanted);
            }
        }
    });
}

#[test]
fn appended_and_overwritten_rows_are_cut_too_and_equal_rows_are_not_stored_again() {
    let mut rng = Rng(common::seed());
    block_on(async {
        let schema = sensors();
        let first = rows_of(&schema, &mut rng, &[("a", 9), ("b", 30)], Taste::NOISE);
        let (_, store) = memory();
        let writer = Table::create_in(store, schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        let table = writer.commit(written(&writer, std::slice::from_ref(&first), 16).await.unwrap()).await.unwrap();
        // The sequence `b` goes on.
        let all = rows_of(&schema, &mut rng, &[("a", 9), ("b", 60), ("c", 12)], Taste::NOISE);
        let more = all.slice(39, 42);
        let writer = table.append(cut_by(tiny_cuts())).await.unwrap();
        let receipts = written(&writer, &[more.slice(0, 5), more.slice(5, 37)], 16).await.unwrap();
        assert_eq!(lengths(&receipts), [16, 14, 12]);
        let table = writer.commit(receipts).await.unwrap();
        let both = joined(&[first, more]);
        assert_reads(&table, &both).await;
        assert_eq!(table.sequence_count(), 3);
        let writer = table.overwrite(schema, cut_by(tiny_cuts())).await.unwrap();
        let receipts = written(&writer, std::slice::from_ref(&both), 16).await.unwrap();
        assert_eq!(lengths(&receipts), [9, 16, 16, 16, 12, 12]);
        assert!(receipts.iter().map(|receipt| receipt.sharing.bytes).sum::<u64>() > 0, "{receipts:?}");
        let table = writer.commit(receipts).await.unwrap();
        assert_reads(&table, &both).await;
    });
}

#[test]
fn rows_without_sequences_are_cut_at_the_bound_alone() {
    let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build().unwrap();
    let column = || Arc::new(Int64Array::from_iter_values(0..25)) as ArrayRef;
    let rows = RecordBatch::try_from_iter([("id", column()), ("x", column())]).unwrap();
    block_on(async {
        for (most, expected) in [(10, vec![10, 10, 5]), (25, vec![25]), (24, vec![24, 1]), (1, vec![1; 25])] {
            let (_, store) = memory();
            let writer = Table::create_in(store, schema.clone(), WriteOptions::default()).await.unwrap();
            let receipts = written(&writer, std::slice::from_ref(&rows), most).await.unwrap();
            assert_eq!(lengths(&receipts), expected, "at most {most}");
            assert_reads(&writer.commit(receipts).await.unwrap(), &rows).await;
        }
        let (_, store) = memory();
        let writer = Table::create_in(store, schema.clone(), WriteOptions::default()).await.unwrap();
        for most in [0, 4_194_305] {
            let error = writer.rows_up_to(most).unwrap_err();
            assert_eq!(error.to_string(), format!("rows of a partition: expected 1 to 4194304, found {most}"));
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        // No rows are one partition without rows, which makes an empty table.
        let receipts = writer.rows().unwrap().finish().await.unwrap();
        assert_eq!(lengths(&receipts), [0]);
        assert_eq!(writer.commit(receipts).await.unwrap().rows(), 0);
    });
}

#[test]
fn rows_that_a_partition_refuses_are_refused_and_cannot_be_finished() {
    let mut rng = Rng(common::seed());
    block_on(async {
        let schema = sensors();
        let rows = rows_of(&schema, &mut rng, &[("a", 9), ("b", 9), ("a", 3)], Taste::SMALL);
        let writer = Table::create_in(memory().1, schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        // In one partition the write refuses them, in several the commit.
        let error = written(&writer, std::slice::from_ref(&rows), 100).await.unwrap_err();
        assert!(error.to_string().contains("sequence log=`a` appears again after another one"), "{error}");
        let writer = Table::create_in(memory().1, schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        let receipts = written(&writer, std::slice::from_ref(&rows), 12).await.unwrap();
        let error = writer.commit(receipts).await.unwrap_err();
        assert!(error.to_string().contains("sequence log=`a` appears again after another one"), "{error}");
        let writer = Table::create_in(memory().1, schema, cut_by(tiny_cuts())).await.unwrap();
        let mut lacking = writer.rows_up_to(4).unwrap();
        let error = lacking.write(&writer, &rows.project(&[1, 2]).unwrap()).await.unwrap_err();
        assert!(error.to_string().contains("no column `log` in the batch"), "{error}");
        let error = lacking.finish().await.unwrap_err();
        assert!(error.to_string().contains("an earlier write failed"), "{error}");
    });
}

#[test]
fn after_a_write_was_dropped_the_rows_cannot_be_finished() {
    use futures::FutureExt;
    let schema = Schema::builder().index("log", "i64").group("x", [("x", "i64")]).sequence_by(["log"]).build().unwrap();
    // Another thread looks for the starts of so many rows.
    let column = || Arc::new(Int64Array::from_iter_values((0..5_000).map(|row| row / 100))) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("log", column()), ("x", column())]).unwrap();
    block_on(async {
        let writer = Table::create_in(memory().1, schema, WriteOptions::default()).await.unwrap();
        let mut rows = writer.rows_up_to(8).unwrap();
        // Polled once, and dropped.
        if let Some(done) = rows.write(&writer, &batch).now_or_never() {
            return done.unwrap();
        }
        let error = rows.write(&writer, &batch).await.unwrap_err();
        assert!(error.to_string().contains("an earlier write failed"), "{error}");
        assert_eq!(rows.finish().await.unwrap_err().kind(), ErrorKind::Invalid);
    });
}

#[cfg(feature = "frame")]
#[test]
fn frames_are_cut_as_batches_are() {
    use tetrys::polars::prelude::{Column, DataFrame};
    let schema = Schema::builder().index("log", "utf8").index("id", "i64").group("x", [("x", "f64")]).sequence_by(["log"]);
    let schema = schema.build().unwrap();
    let logs: Vec<&str> = [("a", 7), ("b", 2), ("c", 14)].into_iter().flat_map(|(log, rows)| [log].repeat(rows)).collect();
    let ids: Vec<i64> = (0..23).collect();
    let values: Vec<f64> = ids.iter().map(|id| *id as f64 / 4.0).collect();
    let columns = vec![Column::new("log".into(), logs), Column::new("id".into(), ids), Column::new("x".into(), values)];
    let frame = DataFrame::new(23, columns).unwrap();
    block_on(async {
        let writer = Table::create_in(memory().1, schema, WriteOptions::default()).await.unwrap();
        let mut rows = writer.rows_up_to(8).unwrap();
        for (start, count) in [(0, 5), (5, 0), (5, 18)] {
            rows.write_frame(&writer, &frame.slice(start, count)).await.unwrap();
        }
        let receipts = rows.finish().await.unwrap();
        assert_eq!(lengths(&receipts), [7, 8, 8]);
        let table = writer.commit(receipts).await.unwrap();
        let read = table.row_loader().all_columns().unwrap().take(&(0..23).collect::<Vec<_>>()).await.unwrap();
        assert!(read.to_frame().unwrap().equals_missing(&frame));
    });
}
