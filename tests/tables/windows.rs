//! Windows of neighbouring rows: one range for each column group within a chunk and at most two across the end of a chunk, never
//! past the end of a sequence, with the rows that were written and a mask, for every start row.

use crate::common;
use std::{collections::BTreeSet, sync::Arc};

use crate::common::tables::{self, Rng, Taste, assert_rows, block_on, cut_by, memory, over, rows_of, tiny_cuts};
use arrow_array::RecordBatch;
use tetrys::{Edge, Offsets, Preset, Schema, Table, read::window, store::CountingStore, table::Cuts};

/// The rows of each recording. One has a single row, and one is shorter than a window.
const RUNS: [(&str, usize); 5] = [("a", 90), ("b", 1), ("c", 70), ("d", 6), ("e", 43)];

/// Returns wide and small rows: points of 16 KB, images of 6 KB, and a few numbers.
fn written() -> (Schema, RecordBatch) {
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("lidar", [("lidar.points", "f32[1024,4]")])
        .group("camera", [("camera.raw", "u8[64,96]")])
        .group("ego", [("ego.pose", "f64[3,3]"), ("ego.note", "utf8")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap();
    let batch = rows_of(&schema, &mut Rng(common::seed()), &RUNS, Taste { nulls: 9, length: 5, smooth: false });
    (schema, batch)
}

fn table(cuts: Cuts) -> (Table, RecordBatch, CountingStore) {
    let (schema, batch) = written();
    let (raw, store) = memory();
    let options = cut_by(cuts).preset(Preset::Fast);
    block_on(tables::write(store, schema, options, std::slice::from_ref(&batch))).unwrap();
    let counting = CountingStore::new(raw);
    let table = block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap();
    (table, batch, counting)
}

/// Returns the rows of the sequence around a row.
fn sequence_of(row: u64) -> std::ops::Range<u64> {
    let mut start = 0;
    for (_, rows) in RUNS {
        let end = start + rows as u64;
        if row < end {
            return start..end;
        }
        start = end;
    }
    panic!("row {row} of {start}")
}

fn padded(row: u64, offsets: &Offsets) -> Vec<Option<u64>> {
    let sequence = sequence_of(row);
    offsets.as_slice().iter().map(|offset| row.checked_add_signed(*offset).filter(|row| sequence.contains(row))).collect()
}

/// Explains every window of ten rows, backward and forward, and reads some of them. Returns the number of windows, the number of
/// chunks, and how often the rows of one window and one group lie in two chunks.
fn every_window(cuts: Cuts) -> (usize, usize, usize) {
    let (table, written, counting) = table(cuts);
    let loader = table.row_loader().cache_bytes(0);
    let mut rng = Rng(common::seed());
    let (mut windows, mut chunks, mut crossings) = (0, BTreeSet::new(), 0);
    let layouts: Vec<_> = (0..3).map(|group| block_on(table.storage().layout(group)).unwrap()).collect();
    for offsets in [-9..=0, 0..=9, -4..=5] {
        let offsets = Offsets::try_from(offsets).unwrap();
        for row in 0..table.rows() {
            let rows = padded(row, &offsets);
            let explained = block_on(loader.explain(row, offsets.clone())).unwrap();
            for (group, layout) in explained.groups.iter().zip(&layouts) {
                let chunk = |row: &u64| layout.run(layout.locate(*row).unwrap().block).unwrap().chunk;
                let touched: BTreeSet<_> = rows.iter().flatten().map(chunk).collect();
                assert_eq!(group.ranges, touched.len(), "window at {row}, group `{}`", group.name);
                assert!(group.ranges <= 2, "window at {row}, group `{}`: {} ranges", group.name, group.ranges);
                assert_eq!(group.bytes, group.payload_bytes, "neighbours leave no gap");
                crossings += usize::from(group.ranges == 2);
                chunks.extend(touched);
            }
            windows += 1;
            if common::full() || rng.once_in(8) {
                counting.reset();
                let read = block_on(loader.get_rows(row, offsets.clone())).unwrap();
                let seen = counting.reset();
                assert_eq!((seen.requests(), seen.bytes_read), (explained.requests as u64, explained.bytes));
                assert_rows(&read, &written, &rows);
                assert_eq!(read.mask(), rows.iter().map(Option::is_some).collect::<Vec<_>>());
            }
        }
    }
    (windows, chunks.len(), crossings)
}

#[test]
fn a_window_is_one_range_per_group_inside_a_chunk_and_at_most_two_across_an_edge() {
    let (windows, chunks, crossings) = every_window(Cuts::default().with_chunk_max(1 << 20).unwrap());
    println!("chunks of at most 1 MiB: {windows} windows over {chunks} chunks, {crossings} times across an edge");
    assert!(chunks > 6 && crossings > 0);
}

#[test]
fn a_window_is_one_range_per_group_where_chunks_are_large() {
    let (windows, chunks, crossings) = every_window(Cuts::default());
    println!("default chunks: {windows} windows over {chunks} chunks, {crossings} times across an edge");
    assert_eq!((chunks, crossings), (3, 0));
}

#[test]
fn one_row_over_all_groups_is_one_range_per_group() {
    let (table, _, _) = table(Cuts::default().with_chunk_max(1 << 20).unwrap());
    let loader = table.row_loader();
    for row in 0..table.rows() {
        let explained = block_on(loader.explain_take(&[row])).unwrap();
        assert_eq!((explained.ranges, explained.requests, explained.hops), (3, 3, 1), "row {row}");
    }
    let one = table.row_loader().columns(["ego.*"]).unwrap();
    assert_eq!(block_on(one.explain_take(&[7])).unwrap().ranges, 1);
}

/// Writes a small table of the same recordings, in which every window is read.
fn small() -> (Table, RecordBatch) {
    let schema = tables::sensors();
    let written = rows_of(&schema, &mut Rng(common::seed()), &[("a", 12), ("b", 1), ("c", 7)], Taste::NOISE);
    let table = block_on(tables::write(memory().1, schema, cut_by(tiny_cuts()), std::slice::from_ref(&written))).unwrap();
    (table, written)
}

#[test]
fn every_window_of_a_table_pads_skips_or_fails_at_the_ends_of_its_sequence() {
    let (table, written) = small();
    let sequences = [0..12_u64, 12..13, 13..20];
    let mut windows = 0;
    for offsets in ["-3..=0", "0..=3", "-2..3", "5,-5,0,0", "-100", "2147483647,-2147483647"] {
        let offsets: Offsets = offsets.parse().unwrap();
        for row in 0..table.rows() {
            let sequence = sequences.iter().find(|sequence| sequence.contains(&row)).unwrap();
            let place = |offset: &i64| row.checked_add_signed(*offset).filter(|row| sequence.contains(row));
            let padded: Vec<_> = offsets.as_slice().iter().map(place).collect();
            let skipped: Vec<_> = padded.iter().copied().filter(Option::is_some).collect();
            let read = |edge| block_on(table.row_loader().edge(edge).get_rows(row, offsets.clone()));
            let pad = read(Edge::Pad).unwrap();
            assert_rows(&pad, &written, &padded);
            assert_eq!(pad.mask(), padded.iter().map(Option::is_some).collect::<Vec<_>>());
            let skip = read(Edge::Skip).unwrap();
            assert_rows(&skip, &written, &skipped);
            assert_eq!(skip.mask(), vec![true; skipped.len()]);
            match read(Edge::Error) {
                Ok(rows) => {
                    assert!(padded.iter().all(Option::is_some), "offsets {offsets:?} at {row}");
                    assert_rows(&rows, &written, &padded);
                }
                Err(error) => {
                    let offset = offsets.as_slice().iter().find(|offset| place(offset).is_none()).unwrap();
                    let (start, end) = (sequence.start, sequence.end);
                    let text = format!("offset {offset} from row {row} leaves its sequence, rows {start}..{end}");
                    assert_eq!(error.to_string(), text);
                }
            }
            windows += 3;
        }
    }
    println!("{windows} small windows");
}

#[cfg(feature = "frame")]
#[test]
fn a_window_counts_rows_of_the_table_and_not_of_the_filtered_index() {
    use polars::prelude::{col, lit};
    let (table, written) = small();
    let index = block_on(table.index()).unwrap();
    let filtered = index.filter(col("time").gt(lit(1_250))).unwrap();
    let loader = tetrys::RowLoader::new(&filtered).unwrap();
    // Position 0 is row 3. Its window contains rows that the filter has removed.
    assert_eq!(block_on(loader.get_row(0)).unwrap().as_rows().table_rows(), [Some(3)]);
    assert_rows(&block_on(loader.get_rows(0, -4..=1)).unwrap(), &written, &[None, Some(0), Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn the_sequences_of_a_table_are_those_of_its_partitions_joined() {
    let schema = tables::sensors();
    let mut rng = Rng(common::seed());
    // A sequence may continue in the next partition.
    let parts = [&[("a", 3), ("b", 2)][..], &[("b", 4), ("c", 1)][..]].map(|runs| rows_of(&schema, &mut rng, runs, Taste::SMALL));
    let table = {
        let mut parts = parts.to_vec();
        let times = arrow_array::Int64Array::from(vec![9_000, 9_000, 9_100, 9_200, 0]);
        let mut columns = parts[1].columns().to_vec();
        columns[1] = Arc::new(times);
        parts[1] = RecordBatch::try_new(parts[1].schema(), columns).unwrap();
        block_on(tables::write(memory().1, schema, cut_by(tiny_cuts()), &parts)).unwrap()
    };
    let sequences = block_on(table.sequences()).unwrap();
    assert_eq!((0..sequences.len()).filter_map(|number| sequences.rows(number)).collect::<Vec<_>>(), [0..3, 3..9, 9..10]);
    let across = window(&sequences, 5, &Offsets::try_from(-3..=4).unwrap(), Edge::Pad).unwrap();
    assert_eq!(across, [None, Some(3), Some(4), Some(5), Some(6), Some(7), Some(8), None]);
    assert_eq!(table.manifest().sequences(), 3);
}
