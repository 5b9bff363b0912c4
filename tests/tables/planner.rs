//! The planner against brute force, on random tables of tiny blocks and chunks. It finds all wanted blocks, fetches each of them
//! once and coalesces ranges by its cost model. A counting store sees exactly the explained requests, and the rows are those that
//! were written.

use crate::common;
use std::{collections::BTreeSet, sync::Arc};

use crate::common::tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, memory, over, rows_of};
use arrow_array::{Array, LargeBinaryArray, RecordBatch};
use tetrys::{
    ColumnType, Edge, Explain, Offsets, Preset, RowLoader, Rows, Schema, Table, WriteOptions,
    read::{
        BlockBytes, GroupColumns, GroupCost, GroupPlan, GroupRequest, Layout, Slice, Snapshot, SubRange, cover, locate,
        plan_group,
    },
    schema::ColumnId,
    store::{CountingStore, Counts},
    table::{Coalesce, Cuts},
};

/// A table, its rows, the end of each sequence, and the counting store.
struct Sample {
    table: Table,
    written: RecordBatch,
    sequence_ends: Vec<u64>,
    counting: CountingStore,
}

const TYPES: [&str; 8] = ["u8", "i64", "f32[?,4]", "utf8", "binary", "list<utf8>", "f64[3,3]", "bool"];

/// Returns a schema of two to six columns in one to four groups. A column may be in several groups.
fn random_schema(rng: &mut Rng) -> Schema {
    let columns: Vec<(String, &str)> = (0..2 + rng.below(5)).map(|number| (format!("c.{number}"), *rng.pick(&TYPES))).collect();
    let groups = 1 + rng.below(4) as usize;
    let mut members = vec![Vec::new(); groups];
    for column in &columns {
        let home = rng.below(groups as u64) as usize;
        for (group, members) in members.iter_mut().enumerate() {
            if group == home || rng.once_in(4) {
                members.push(column.clone());
            }
        }
    }
    let mut builder = Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]).order_by(["time"]);
    for (number, members) in members.into_iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        builder = builder.group(format!("g{number}"), members);
    }
    builder.build().unwrap()
}

fn random_cuts(rng: &mut Rng) -> Cuts {
    let mut three = |scale: u64| {
        let min = 1 + rng.below(scale);
        let target = min + 1 + rng.below(2 * scale);
        (min, target, target + 1 + rng.below(4 * scale))
    };
    let ((block_min, block_target, block_max), (chunk_min, chunk_target, chunk_max)) = (three(100), three(800));
    Cuts { block_min, block_target, block_max, chunk_min, chunk_target, chunk_max }
}

fn random_table(rng: &mut Rng) -> Sample {
    let schema = random_schema(rng);
    let names: Vec<String> = (0..12).map(|number| format!("log {number}")).collect();
    let mut names = names.iter().map(String::as_str);
    let (mut partitions, mut sequence_ends, mut rows) = (Vec::new(), Vec::new(), 0);
    for _ in 0..1 + rng.below(3) {
        let runs: Vec<(&str, usize)> =
            names.by_ref().take(1 + rng.below(3) as usize).map(|log| (log, 1 + rng.below(25) as usize)).collect();
        for (_, run) in &runs {
            rows += *run as u64;
            sequence_ends.push(rows);
        }
        let taste = if rng.once_in(2) { Taste::SMALL } else { Taste::NOISE };
        partitions.push(rows_of(&schema, rng, &runs, taste));
    }
    let (raw, store) = memory();
    let cuts = random_cuts(rng);
    block_on(tables::write(store, schema, cut_by(cuts), &partitions)).unwrap();
    let counting = CountingStore::new(raw);
    let table = block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap();
    Sample { table, written: joined(&partitions), sequence_ends, counting }
}

fn random_positions(rng: &mut Rng, rows: u64) -> Vec<u64> {
    let start = rng.below(rows);
    match rng.below(6) {
        0 => vec![start],
        1 => (start..rows.min(start + 10)).collect(),
        2 => (start..rows).step_by(1 + rng.below(5) as usize).collect(),
        3 => (0..rows).rev().collect(),
        4 => Vec::new(),
        // The rows are unsorted and repeated, and may be more than the table has.
        _ => (0..rng.below(2 * rows)).map(|_| rng.below(rows)).collect(),
    }
}

fn random_coalesce(rng: &mut Rng) -> Coalesce {
    let drawn = Coalesce { max_gap: rng.below(400), max_bridged: rng.below(3_000), max_range: rng.below(6_000) };
    *rng.pick(&[Coalesce::MEMORY, Coalesce::LOCAL, Coalesce::REMOTE, drawn])
}

/// Returns all blocks of a layout, by adding up lengths: chunk, bytes, rows.
fn blocks_of(layout: &Layout) -> Vec<(String, std::ops::Range<u64>, std::ops::Range<u64>)> {
    let (mut blocks, mut row) = (Vec::new(), 0);
    for run in layout.runs() {
        let mut offset = run.first_offset;
        for (length, rows) in run.lengths.iter().zip(run.block_rows.iter()) {
            let end = offset + 8 * u64::from(length);
            blocks.push((run.chunk.object_name(), offset..end, row..row + u64::from(rows)));
            (offset, row) = (end, row + u64::from(rows));
        }
    }
    blocks
}

/// Compares the plan of a group with a block-by-block search in the layout.
fn check_plan(group: &GroupPlan, layout: &Layout, rows: &[Option<u64>], coalesce: Coalesce) {
    let all = blocks_of(layout);
    let wanted: Vec<_> = all.iter().filter(|(_, _, blocks)| rows.iter().flatten().any(|row| blocks.contains(row))).collect();
    assert_eq!(group.blocks.len(), wanted.len(), "each block once");
    for (planned, (chunk, bytes, blocks)) in group.blocks.iter().zip(&wanted) {
        let BlockBytes::Block(SubRange { range, within }) = &planned.bytes else { panic!("small blocks have no page lengths") };
        let range = &group.ranges[*range];
        let start = range.range.start + within.start as u64;
        assert_eq!((&range.chunk.object_name(), start..start + within.len() as u64), (chunk, bytes.clone()));
        assert!(within.end as u64 <= range.range.end - range.range.start);
        assert_eq!(u64::from(planned.rows), blocks.end - blocks.start);
    }
    let placed = group.slices.iter().flat_map(|slice| match *slice {
        Slice::Missing(rows) => vec![None; rows],
        Slice::Rows { block, start, len } => (start..start + len).map(|row| Some(wanted[block].2.start + row as u64)).collect(),
    });
    assert_eq!((group.rows, placed.collect::<Vec<_>>()), (rows.len(), rows.to_vec()));
    for range in &group.ranges {
        assert!(range.range.start < range.range.end && range.range.end <= range.chunk_bytes, "inside the chunk");
        let chunk = range.chunk.object_name();
        let inside = wanted.iter().filter(|(other, bytes, _)| *other == chunk && range.range.start <= bytes.start);
        let blocks: Vec<_> = inside.filter(|(_, bytes, _)| bytes.end <= range.range.end).collect();
        assert_eq!((blocks[0].1.start, blocks[blocks.len() - 1].1.end), (range.range.start, range.range.end), "no bytes around");
        assert!(blocks.len() == 1 || range.range.end - range.range.start <= coalesce.max_range, "{range:?} is too long");
        for pair in blocks.windows(2) {
            let gap = pair[1].1.start - pair[0].1.end;
            assert!(gap <= coalesce.max_gap, "a gap of {gap} is bridged");
        }
    }
    for pair in group.ranges.windows(2).filter(|pair| pair[0].chunk == pair[1].chunk) {
        let (before, after) = (&pair[0].range, &pair[1].range);
        assert!(before.end <= after.start, "sorted and disjoint");
        let next = wanted.iter().find(|(chunk, bytes, _)| *chunk == pair[1].chunk.object_name() && bytes.start == after.start);
        let bridged = next.unwrap().1.end - before.start;
        let gap = after.start - before.end;
        let most = if gap == 0 { coalesce.max_range } else { coalesce.max_bridged.min(coalesce.max_range) };
        assert!(gap > coalesce.max_gap || bridged > most, "joined where it pays");
    }
}

/// Compares an explained cost with the plan of its groups, and both with the requests that the store saw.
fn check_explained(sample: &Sample, explained: &Explain, rows: &[Option<u64>], coalesce: Coalesce, seen: &Counts) {
    let schema = sample.table.schema();
    let mut ranges = Vec::new();
    let mut columns = BTreeSet::new();
    for group in &explained.groups {
        let number = schema.groups().iter().position(|other| other.name == group.name).unwrap();
        let layout = block_on(sample.table.storage().layout(number)).unwrap();
        let page = |name: &String| {
            assert!(columns.insert(name.clone()), "column `{name}` is read twice");
            let id = schema.column_named(name).unwrap().id;
            schema.groups()[number].columns.iter().position(|other| *other == id).unwrap()
        };
        let pages = &group.columns.iter().map(page).collect();
        let columns = &Arc::new(GroupColumns::new(schema, number).unwrap());
        let request = GroupRequest { columns, pages, layout: &layout };
        let planned = &plan_group(&request, locate(&layout, rows).unwrap(), Snapshot::default(), coalesce).unwrap();
        check_plan(planned, &layout, rows, coalesce);
        assert_eq!((group.ranges, group.blocks), (planned.ranges.len(), planned.blocks.len()));
        assert_eq!(group.bytes, planned.ranges.iter().map(|range| range.range.end - range.range.start).sum::<u64>());
        assert!(group.payload_bytes <= group.bytes);
        let places = group.places.iter().map(|place| (&*place.object, place.owner, place.bytes.clone()));
        assert!(places.eq(planned.ranges.iter().map(|range| (&*range.object, range.owner, range.range.clone()))));
        let needed = group.places.iter().flat_map(|place| &place.blocks).flat_map(|block| &block.bytes);
        assert_eq!(needed.map(|bytes| bytes.end - bytes.start).sum::<u64>(), group.payload_bytes);
        ranges.extend(planned.ranges.iter().map(|range| (range.chunk.object_name(), range.range.clone())));
    }
    let mut gets: Vec<_> = seen.gets.iter().map(|get| (get.path.clone(), get.range.clone())).collect();
    let order = |a: &(String, std::ops::Range<u64>), b: &(String, std::ops::Range<u64>)| {
        (&a.0, a.1.start, a.1.end).cmp(&(&b.0, b.1.start, b.1.end))
    };
    gets.sort_by(order);
    ranges.sort_by(order);
    assert_eq!(gets, ranges);
    assert_eq!((explained.requests as u64, explained.bytes), (seen.requests(), seen.bytes_read));
    assert_eq!((explained.ranges, explained.hops), (ranges.len(), usize::from(!ranges.is_empty())));
}

/// Explains and reads random rows, or a window, of random columns. Returns the cost, the rows, and the expected row numbers.
fn random_read(rng: &mut Rng, sample: &Sample, loader: &RowLoader) -> (Explain, Rows, Vec<Option<u64>>) {
    let rows = sample.table.rows();
    if rng.once_in(2) {
        let positions = random_positions(rng, rows);
        let explained = block_on(loader.explain_take(&positions)).unwrap();
        if loader.column_names().len() > 0 {
            // The way of several tables and parts gives the same as that of one table.
            let alone = loader.clone().cache_bytes(0);
            let general = block_on(alone.get_parts_of_windows(&positions, [("*", 0..=0)])).unwrap();
            assert_eq!(block_on(alone.take(&positions)).unwrap().batch(), general[0].rows().batch());
        }
        sample.counting.reset();
        return (explained, block_on(loader.take(&positions)).unwrap(), positions.into_iter().map(Some).collect());
    }
    let edge = if rng.once_in(2) { Edge::Pad } else { Edge::Skip };
    let loader = loader.clone().edge(edge);
    let offsets: Vec<i64> = match rng.below(3) {
        0 => (-(rng.below(12) as i64)..=0).collect(),
        1 => (0..=rng.below(4) as i64).collect(),
        _ => (0..1 + rng.below(8)).map(|_| rng.below(41) as i64 - 20).collect(),
    };
    let position = rng.below(rows);
    let explained = block_on(loader.explain(position, offsets.clone())).unwrap();
    sample.counting.reset();
    let read = block_on(loader.get_rows(position, offsets.clone())).unwrap();
    (explained, read, tables::window_rows(&sample.sequence_ends, position, &offsets, edge))
}

#[test]
fn random_plans_equal_brute_force_and_what_the_store_saw_and_give_what_was_written() {
    let mut rng = Rng(common::seed());
    let (tables, plans) = (common::cases(40), 25);
    let (mut blocks, mut requests) = (0, 0);
    for _ in 0..tables {
        let sample = random_table(&mut rng);
        for _ in 0..plans {
            let coalesce = random_coalesce(&mut rng);
            let names: Vec<_> = sample.table.schema().select(["*"]).unwrap().into_iter().map(|column| &column.name).collect();
            let chosen: Vec<_> = names.into_iter().filter(|_| !rng.once_in(3)).collect();
            let loader = sample.table.row_loader().coalesce(coalesce).columns(&chosen).unwrap().explain_places();
            let (explained, read, rows) = random_read(&mut rng, &sample, &loader);
            let seen = sample.counting.reset();
            assert_eq!(read.batch().num_columns(), chosen.len());
            assert_rows(&read, &sample.written, &rows);
            check_explained(&sample, &explained, &rows, coalesce, &seen);
            blocks += explained.groups.iter().map(|group| group.blocks).sum::<usize>();
            requests += explained.requests;
        }
    }
    println!("{} random plans over {tables} tables: {blocks} blocks, {requests} requests", tables * plans);
}

/// One loader reads each table repeatedly, so that later reads find cached blocks. The cache has a random size.
#[test]
fn rows_of_kept_blocks_are_what_was_written_and_cost_what_is_explained() {
    let mut rng = Rng(common::seed());
    let (tables, reads) = (common::cases(40), 40);
    let (mut blocks, mut kept) = (0, 0);
    for _ in 0..tables {
        let sample = random_table(&mut rng);
        let keeping = sample.table.row_loader().coalesce(random_coalesce(&mut rng)).cache_bytes(rng.below(40_000) as usize);
        for _ in 0..reads {
            let names: Vec<_> = keeping.column_names().filter(|_| !rng.once_in(3)).map(str::to_owned).collect();
            let loader = keeping.clone().columns(&names).unwrap();
            let mut again = rng.clone();
            let (explained, read, rows) = random_read(&mut rng, &sample, &loader);
            let seen = sample.counting.reset();
            assert_rows(&read, &sample.written, &rows);
            assert_eq!((explained.requests as u64, explained.bytes), (seen.requests(), seen.bytes_read));
            let (alone, _, _) = random_read(&mut again, &sample, &loader.cache_bytes(0));
            let of = |explained: &Explain| explained.groups.iter().map(|group| group.blocks).sum::<usize>();
            assert!(of(&explained) <= of(&alone) && explained.bytes <= alone.bytes, "{explained:?} alone {alone:?}");
            (blocks, kept) = (blocks + of(&alone), kept + of(&alone) - of(&explained));
        }
    }
    assert!(kept > blocks / 10, "{kept} of {blocks}");
    println!("{} reads over {tables} tables: {kept} of {blocks} blocks were kept", tables * reads);
}

#[test]
fn small_rows_at_random_read_each_block_once_and_what_comes_out_whole_is_not_kept() {
    let schema = Schema::builder().index("id", "i64").group("g", [("words", "u32[8]"), ("note", "utf8")]).build().unwrap();
    let mut rng = Rng(common::seed());
    let written = rows_of(&schema, &mut rng, &[("a", 600)], Taste::SMALL);
    let (raw, store) = memory();
    block_on(tables::write(store, schema, cut_by(tables::tiny_cuts()), std::slice::from_ref(&written))).unwrap();
    let counting = CountingStore::new(raw);
    let table = block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap();
    let layout = block_on(table.storage().layout(0)).unwrap();
    let rows: Vec<u32> = layout.runs().iter().flat_map(|run| run.block_rows.iter()).collect();
    let (blocks, lone) = (rows.len() as u64, rows.iter().filter(|rows| **rows == 1).count() as u64);
    assert!((2..500).contains(&blocks), "{blocks} blocks");
    let requests = |loader: &RowLoader, positions: &[u64]| {
        counting.reset();
        for position in positions {
            assert_rows(block_on(loader.get_row(*position)).unwrap().as_rows(), &written, &[Some(*position)]);
        }
        counting.reset().requests()
    };
    let shuffled: Vec<u64> = (0..600).map(|row| row * 241 % 600).collect();
    let loader = table.row_loader().coalesce(Coalesce::MEMORY);
    assert_eq!((requests(&loader, &shuffled), requests(&loader.clone(), &shuffled)), (blocks, lone));
    assert_eq!(requests(&loader.clone().cache_bytes(0), &shuffled), 600);
    assert!(requests(&loader.clone().cache_bytes(20_000), &shuffled) > blocks, "one block of all");
    // A loader of one column caches some pages of a block. A loader of all columns reads the block again, and then both sets of
    // pages are cached.
    let notes = loader.clone().cache_bytes(8 << 20).columns(["note"]).unwrap();
    let all = notes.clone().columns(["*"]).unwrap();
    assert_eq!((requests(&notes, &shuffled), requests(&all, &shuffled), requests(&notes, &shuffled)), (blocks, blocks, lone));
    let scanned = table.row_loader();
    let positions: Vec<u64> = (0..600).collect();
    block_on(scanned.take(&positions)).unwrap();
    assert_eq!(block_on(scanned.explain_take(&positions)).unwrap().groups[0].blocks as u64, blocks);
}

#[test]
fn the_cover_costs_as_little_as_the_best_of_all_sets_of_groups() {
    let mut rng = Rng(common::seed());
    let cases = common::cases(500);
    for _ in 0..cases {
        let columns = 1 + rng.below(6) as u32;
        let groups: Vec<GroupCost> = (0..1 + rng.below(8))
            .map(|_| GroupCost { columns: (0..columns).filter(|_| rng.once_in(2)).map(ColumnId).collect(), cost: rng.below(20) })
            .collect();
        let has_column = |group: &GroupCost, column: u32| group.columns.contains(&ColumnId(column));
        let wanted: Vec<u32> = (0..columns).filter(|_| !rng.once_in(4)).collect();
        let ids: Vec<ColumnId> = wanted.iter().copied().map(ColumnId).collect();
        let sets = (0_u32..1 << groups.len())
            .map(|bits| groups.iter().enumerate().filter(move |(number, _)| bits >> number & 1 == 1).map(|(_, group)| group));
        let covering = sets.filter(|set| wanted.iter().all(|column| set.clone().any(|group| has_column(group, *column))));
        let least = covering.map(|set| set.map(|group| group.cost).sum::<u64>()).min();
        match cover(&ids, &groups) {
            Ok(chosen) => {
                assert!(wanted.iter().all(|column| chosen.iter().any(|number| has_column(&groups[*number], *column))));
                assert_eq!(Some(chosen.iter().map(|number| groups[*number].cost).sum()), least, "{wanted:?} of {groups:?}");
            }
            Err(_) => assert_eq!(least, None),
        }
    }
    println!("{cases} covers, each the cheapest");
}

#[test]
fn a_range_over_12_mib_is_asked_for_in_parts_as_explained() {
    let mut rng = Rng(common::seed());
    let (raw, store) = memory();
    let schema = Schema::builder().index("id", "u8").group("g", [("blob", "binary")]).build().unwrap();
    let blob: Vec<u8> = (0..26 << 17).flat_map(|_| rng.next().to_le_bytes()).collect();
    let id = tables::column(&mut rng, &"u8".parse::<ColumnType>().unwrap(), 1, Taste { nulls: 0, ..Taste::SMALL });
    let batch = RecordBatch::try_from_iter([
        ("id", id),
        ("blob", Arc::new(LargeBinaryArray::from_iter_values([&blob])) as Arc<dyn Array>),
    ])
    .unwrap();
    let options = WriteOptions::default().preset(Preset::Fast);
    block_on(tables::write(store, schema, options, &[batch])).unwrap();
    let counting = CountingStore::new(raw);
    let loader = block_on(Table::open_in(over(Arc::new(counting.clone())))).unwrap().row_loader();
    let explained = block_on(loader.explain(0, Offsets::try_from(0..=0).unwrap())).unwrap();
    counting.reset();
    assert!(block_on(loader.get_row(0)).unwrap().bytes("blob").unwrap() == blob);
    let seen = counting.reset();
    assert_eq!((explained.ranges, explained.requests, explained.hops), (1, 3, 1));
    assert_eq!((explained.requests as u64, explained.bytes), (seen.requests(), seen.bytes_read));
}
