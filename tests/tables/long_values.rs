//! Zero-copy reads of long values in local tables: a table in a directory gives the same rows as the same table in memory, whose
//! values are copied. This holds for columns of every form, nulls at every level, windows across the ends of sequences, and
//! repeated rows. Every damaged byte of a page is detected.

use crate::common;
use std::{fs, path::Path, thread};

use crate::common::tables::{self, Rng, Taste, assert_rows, block_on, memory};
use arrow_array::{Array, RecordBatch};
use arrow_data::ArrayData;
use tetrys::{ColumnType, Edge, ErrorKind, Preset, Schema, Store, StoreOptions, Table, WriteOptions, format::directory_len};

/// Types whose values may be long, and the number of items of a value of about 48 KiB.
const LONG: [(&str, u64); 10] = [
    ("binary", 32_000),
    ("f32[?,4]", 6_000),
    ("f32[12000]", 0),
    ("u8[160,?,3]", 200),
    ("i64[6000]", 0),
    ("list<f32>", 24_000),
    ("list<u8[?]>", 310),
    ("utf8", 40_000),
    ("bool[48000]", 0),
    ("f16[?]", 48_000),
];

/// The same table in a directory, past the page cache, and in memory; its rows, and the end of each sequence.
struct Sample {
    folder: tempfile::TempDir,
    local: Table,
    direct: Table,
    in_memory: Table,
    written: RecordBatch,
    ends: Vec<u64>,
}

/// Writes a group of long columns and a short column, and a group of one long column. The values are noise, which is stored
/// plain.
fn sample(rng: &mut Rng) -> Sample {
    let drawn: Vec<(&str, u64)> = (0..3).map(|_| *rng.pick(&LONG)).collect();
    let named = |number: usize| format!("long.{number}");
    let schema = Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("several", [(named(0), drawn[0].0), (named(1), drawn[1].0), ("short".to_owned(), "f64[3,3]")])
        .group("one", [(named(2), drawn[2].0)])
        .sequence_by(["log"])
        .build()
        .unwrap();
    let runs = [("a", 1 + rng.below(9) as usize), ("b", 1 + rng.below(9) as usize), ("c", 1 + rng.below(4) as usize)];
    let rows = runs.iter().map(|(_, rows)| rows).sum();
    let nulls = if rng.once_in(2) { 4 } else { 0 };
    let taste = Taste { nulls, ..Taste::NOISE };
    let batch = tables::rows_of(&schema, rng, &runs, taste);
    let mut columns = batch.columns().to_vec();
    for (number, (ty, length)) in drawn.iter().enumerate() {
        let place = batch.schema().index_of(&named(number)).unwrap();
        let ty: ColumnType = ty.parse().unwrap();
        columns[place] = tables::column(rng, &ty, rows, Taste { length: *length, ..taste });
    }
    let written = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let (folder, local) = in_directory(schema.clone(), &written);
    let direct = block_on(Table::open_with(local.url(), &StoreOptions::new([("cold_reads", "direct")]))).unwrap();
    let options = WriteOptions::default().preset(Preset::Fast);
    let in_memory = block_on(tables::write(memory().1, schema, options, std::slice::from_ref(&written))).unwrap();
    let ends = (1..=runs.len()).map(|logs| runs[..logs].iter().map(|(_, rows)| *rows as u64).sum()).collect();
    Sample { folder, local, direct, in_memory, written, ends }
}

impl Sample {
    /// Compares the file reads since there were `before` with the explained ones. A page of lists, or of tensors with null elements, may
    /// need one more: what stands before its values may be long.
    fn assert_reads(&self, columns: &[&str], explained: u64, before: u64) -> u64 {
        let done = self.local.store().file_reads() - before;
        let may_be_long = |name: &&str| {
            let is_list = self.local.schema().column_named(name).is_some_and(|column| column.ty.to_string().starts_with("list<"));
            is_list || has_null_items(&self.written.column_by_name(name).unwrap().to_data())
        };
        match columns.iter().any(may_be_long) {
            true => assert!((explained..=2 * explained).contains(&done), "{done} reads, {explained} explained"),
            false => assert_eq!(done, explained, "reads of {columns:?}"),
        }
        done
    }

    /// Returns the number of columns that are stored plain in pages of at least 32 KiB.
    fn long_and_plain(&self) -> usize {
        let groups = self.local.schema().groups().iter().enumerate();
        let columns = groups.flat_map(|(number, group)| {
            let layout = block_on(self.local.storage().layout(number)).unwrap();
            let blocks: usize = layout.runs().iter().map(|run| run.lengths.len()).sum();
            let stored = &self.local.manifest().segments[0].groups[number].columns;
            let long: Vec<bool> = (0..group.columns.len())
                .map(|page| {
                    let plain = layout.runs().iter().all(|run| run.chains[page].is_plain());
                    plain && blocks > 1 && stored[page].stored >= (32 << 10) * blocks as u64
                })
                .collect();
            long
        });
        columns.filter(|long| *long).count()
    }
}

/// Whether items within values, such as elements of tensors, are null.
fn has_null_items(values: &ArrayData) -> bool {
    values.child_data().iter().any(|items| items.null_count() > 0 || has_null_items(items))
}

/// Writes these rows as a table in a directory. Noise is stored plain.
fn in_directory(schema: Schema, rows: &RecordBatch) -> (tempfile::TempDir, Table) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let options = WriteOptions::default().preset(Preset::Fast);
    let table = block_on(tables::write(store, schema, options, std::slice::from_ref(rows))).unwrap();
    (folder, table)
}

/// Drops the pages of all files below a folder, so that the next read comes from the disk.
fn empty_page_cache(folder: &Path) {
    #[cfg(target_os = "linux")]
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            empty_page_cache(&entry);
            continue;
        }
        let file = fs::File::open(entry).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// Writes a table of lidar sweeps in a directory, stored plain, and returns its rows.
fn sweeps(rng: &mut Rng, rows: usize, taste: Taste) -> (tempfile::TempDir, Table, RecordBatch) {
    let schema =
        Schema::builder().index("log", "utf8").index("time", "i64").group("lidar", [("points", "f32[?,4]")]).build().unwrap();
    let written = tables::rows_of(&schema, rng, &[("a", rows)], taste);
    let (folder, table) = in_directory(schema, &written);
    (folder, table, written)
}

#[test]
fn long_values_come_out_of_files_as_they_do_out_of_memory_and_as_they_were_written_with_the_reads_that_are_explained() {
    let mut rng = Rng(common::seed());
    let (mut long, mut reads, mut explained) = (0, 0, 0);
    for _ in 0..common::cases(12) {
        let sample = sample(&mut rng);
        long += sample.long_and_plain();
        let rows = sample.local.rows();
        for _ in 0..8 {
            if rng.once_in(3) {
                empty_page_cache(sample.folder.path());
            }
            let names = ["long.0", "short", "long.1", "long.2"];
            let chosen: Vec<&str> = names.into_iter().filter(|_| !rng.once_in(3)).collect();
            let loader_of = |table: &Table| table.row_loader().columns(&chosen).unwrap();
            let loaders = [&sample.local, &sample.in_memory].map(loader_of);
            let direct = loader_of(&sample.direct);
            let direct_reads = || sample.direct.store().file_reads();
            let cost = loaders[0].clone();
            // The layouts and sequences are read with the explanation.
            let before = |cost: tetrys::Explain| (cost.file_reads as u64, sample.local.store().file_reads());
            if rng.once_in(2) {
                let positions: Vec<u64> = (0..rng.below(2 * rows)).map(|_| rng.below(rows)).collect();
                let wanted: Vec<Option<u64>> = positions.iter().copied().map(Some).collect();
                let (expected, before) = before(block_on(cost.explain_take(&positions)).unwrap());
                let found = loaders.map(|loader| block_on(loader.take(&positions)).unwrap());
                explained += sample.assert_reads(&chosen, expected, before);
                found.iter().for_each(|found| assert_rows(found, &sample.written, &wanted));
                let expected = block_on(direct.explain_take(&positions)).unwrap().file_reads as u64 + direct_reads();
                assert_rows(&block_on(direct.take(&positions)).unwrap(), &sample.written, &wanted);
                assert_eq!(direct_reads(), expected, "direct reads");
            } else {
                let edge = if rng.once_in(3) { Edge::Skip } else { Edge::Pad };
                let (row, offsets) = (rng.below(rows), (0..9).map(|_| rng.below(9) as i64 - 6).collect::<Vec<_>>());
                let wanted = tables::window_rows(&sample.ends, row, &offsets, edge);
                let (expected, before) = before(block_on(cost.edge(edge).explain(row, offsets.clone())).unwrap());
                let found = loaders.map(|loader| block_on(loader.edge(edge).get_rows(row, offsets.clone())).unwrap());
                explained += sample.assert_reads(&chosen, expected, before);
                found.iter().for_each(|found| assert_rows(found, &sample.written, &wanted));
                let direct = direct.edge(edge);
                let expected = block_on(direct.explain(row, offsets.clone())).unwrap().file_reads as u64 + direct_reads();
                assert_rows(&block_on(direct.get_rows(row, offsets.clone())).unwrap(), &sample.written, &wanted);
                assert_eq!(direct_reads(), expected, "direct reads");
            }
            reads += 1;
        }
    }
    println!("{reads} reads, {explained} file reads, all explained; {long} columns of long values stored plain");
    assert!(long > 0, "no column was long and plain: nothing was tested");
}

#[test]
fn a_take_over_a_bound_is_read_by_several_threads_and_gives_what_was_written() {
    let mut rng = Rng(common::seed());
    let taste = Taste { nulls: 6, length: 20_000, smooth: false };
    let (_folder, table, written) = sweeps(&mut rng, 60, taste);
    let positions: Vec<u64> = (0..400).map(|_| rng.below(60)).collect();
    let found = block_on(table.row_loader().take(&positions)).unwrap();
    assert!(found.batch().get_array_memory_size() > 32 << 20);
    assert_rows(&found, &written, &positions.into_iter().map(Some).collect::<Vec<_>>());
}

#[test]
fn every_damaged_byte_of_a_long_page_is_found_and_named() {
    let mut rng = Rng(common::seed());
    let taste = Taste { nulls: 0, length: 12_000, smooth: false };
    let (folder, table, written) = sweeps(&mut rng, 6, taste);
    let layout = block_on(table.storage().layout(0)).unwrap();
    let run = &layout.runs()[0];
    assert!(
        run.chains[0].is_plain()
            && run.lengths.len() == 6
            && table.manifest().segments[0].groups[0].columns[0].stored >= 6 * (32 << 10)
    );
    let file = folder.path().join(run.chunk.object_name());
    let sound = fs::read(&file).unwrap();
    let all: Vec<u64> = (0..6).collect();
    let take = || block_on(async { Table::open(folder.path().to_str().unwrap()).await?.row_loader().take(&all).await });
    let mut tried = 0;
    for block in [0, 3, 5] {
        let start = (run.first_offset + 8 * run.lengths.sum_of_first(block)) as usize + directory_len(1);
        let end = (run.first_offset + 8 * run.lengths.sum_of_first(block + 1)) as usize;
        let inside = (0..20).map(|_| start + rng.below((end - start) as u64) as usize).collect::<Vec<_>>();
        for byte in (start..start + 48).chain(inside).chain(end - 24..end) {
            let mut damaged = sound.clone();
            damaged[byte] ^= 1 << rng.below(8);
            fs::write(&file, &damaged).unwrap();
            let error = take().expect_err(&format!("byte {byte} of block {block} is damaged"));
            assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {byte} of block {block}: {error}");
            let named = format!("column group `lidar`: block {block} of chunk {}", run.chunk);
            assert!(error.to_string().contains(&named), "byte {byte}: {error}");
            tried += 1;
        }
        fs::write(&file, &sound[..end - 4]).unwrap();
        assert_eq!(take().unwrap_err().kind(), ErrorKind::Corrupt);
    }
    // A zero-copy read of the only page of a block does not need the directory of the block. Verification reads the directory.
    let mut damaged = sound.clone();
    damaged[run.first_offset as usize] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert_rows(&take().unwrap(), &written, &all.into_iter().map(Some).collect::<Vec<_>>());
    let reopened = block_on(Table::open(folder.path().to_str().unwrap())).unwrap();
    assert_eq!(block_on(reopened.storage().verify(|_, _| {})).unwrap().damage.len(), 1);
    println!("{tried} damaged bytes");
}

/// Returns the names of the threads of this process, if the operating system lists them.
fn thread_names() -> Option<Vec<String>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let name = |task: std::io::Result<fs::DirEntry>| fs::read_to_string(task.ok()?.path().join("comm")).ok();
    Some(tasks.filter_map(name).map(|name| name.trim_end().to_owned()).collect())
}

#[test]
fn wide_rows_are_shared_by_threads_for_several_readers_and_damage_is_named() {
    let mut rng = Rng(common::seed());
    let schema = Schema::builder()
        .index("log", "utf8")
        .group("left", [("left", "u8[200000]")])
        .group("right", [("right", "u8[200000]")])
        .group("sweep", [("points", "f32[12000,4]")])
        .group("small", [("label", "utf8")])
        .build()
        .unwrap();
    let written = tables::rows_of(&schema, &mut rng, &[("a", 9)], Taste { nulls: 0, length: 5, smooth: false });
    let (folder, table) = in_directory(schema, &written);
    let stored: u64 = table.manifest().segments[0].groups.iter().map(|group| group.stored_bytes).sum();
    assert!(stored > 9 * (512 << 10), "rows of {} bytes are not shared", stored / 9);
    let loader = table.row_loader().cache_bytes(0);
    thread::scope(|scope| {
        for reader in 0..4 {
            let (loader, written) = (loader.clone(), &written);
            scope.spawn(move || {
                for row in (0..36).map(|row| (row + reader) % 9) {
                    let found = block_on(loader.take(&[row])).unwrap();
                    assert_rows(&found, written, &[Some(row)]);
                }
            });
        }
    });

    if let Some(names) = thread_names() {
        let alone = thread::available_parallelism().unwrap().get() == 1 || std::env::var_os("TETRYS_THREADS").is_some();
        assert!(alone || names.contains(&"tetrys-read".to_owned()), "nothing was shared: {names:?}");
    }

    let names = ["left", "right", "sweep", "small"];
    for (number, group) in names.into_iter().enumerate() {
        let layout = block_on(table.storage().layout(number)).unwrap();
        let run = &layout.runs()[0];
        let file = folder.path().join(run.chunk.object_name());
        let sound = fs::read(&file).unwrap();
        let mut damaged = sound.clone();
        damaged[run.first_offset as usize + 8 * run.lengths.get(0) as usize / 2] ^= 16;
        fs::write(&file, &damaged).unwrap();
        let read = block_on(async { Table::open(folder.path().to_str().unwrap()).await?.row_loader().take(&[0]).await });
        let error = read.expect_err(&format!("group {group} is damaged"));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains(&format!("column group `{group}`: block 0 of chunk {}", run.chunk)), "{error}");
        fs::write(&file, &sound).unwrap();
    }
    assert_rows(&block_on(loader.take(&[0])).unwrap(), &written, &[Some(0)]);
}

#[test]
fn an_unknown_way_of_cold_reads_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let open = |value: &str| Store::open_with(folder.path().to_str().unwrap(), &StoreOptions::new([("cold_reads", value)]));
    let error = open("Direct").unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Invalid, "store option `cold_reads`: expected `auto`, `cached` or `direct`, found `Direct`")
    );
    ["auto", "cached", "direct"].iter().for_each(|value| assert!(open(value).unwrap().is_local()));
}
