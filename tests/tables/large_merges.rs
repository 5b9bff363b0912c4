//! Merges on disk: random tables are merged in memory and part by part, with the same result.
#![cfg(feature = "frame")]

use std::{path::Path, sync::Arc};

use crate::{
    common::{
        self,
        tables::{Rng, block_on, cut_by, over, tiny_cuts},
    },
    own_process,
};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use object_store::memory::InMemory;
use tetrys::{ErrorKind, Merge, Pick, RowLoader, Schema, Store, Table, ViewOptions, store::CountingStore};

/// A row of a table: log, time and camera, all nullable.
#[derive(Clone, Debug)]
struct Key {
    log: Option<String>,
    time: Option<i64>,
    camera: Option<i64>,
}

/// How a table is stored.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The most rows.
    rows: u64,
    /// Logs are sequences in which times rise.
    is_sorted: bool,
    partitions: u64,
}

fn keys(rng: &mut Rng, shape: Shape) -> Vec<Key> {
    let logs = 1 + rng.below(6);
    let times = 1 + rng.below(3 * shape.rows);
    let null = |rng: &mut Rng| rng.once_in(12);
    let key = |rng: &mut Rng, log: Option<String>| Key {
        log,
        time: (!null(rng)).then(|| rng.below(times) as i64),
        camera: (!null(rng)).then(|| rng.below(3) as i64),
    };
    let log = |rng: &mut Rng| format!("recording-{}", rng.below(logs));
    if !shape.is_sorted {
        return (0..rng.below(shape.rows + 1))
            .map(|_| {
                let log = (!null(rng)).then(|| log(rng));
                key(rng, log)
            })
            .collect();
    }
    let mut names: Vec<Option<String>> = (0..logs).map(|log| Some(format!("recording-{log}"))).chain([None]).collect();
    let mut rows = Vec::new();
    while !names.is_empty() {
        let log = names.remove(rng.below(names.len() as u64) as usize);
        let mut run: Vec<Key> = (0..rng.below(shape.rows / (logs + 1) + 1)).map(|_| key(rng, log.clone())).collect();
        // Times never decrease; rows without a time come first.
        run.sort_by_key(|row| row.time);
        rows.append(&mut run);
    }
    rows
}

async fn stored(store: Store, name: &str, keys: &[Key], shape: Shape) -> Table {
    let mut schema = Schema::builder().index("log", "utf8").index("time", "i64").index("camera", "i64");
    schema = schema.index(format!("{name}_id"), "i64").index("note", "utf8").group(name, [(format!("{name}.value"), "i64")]);
    if shape.is_sorted {
        schema = schema.sequence_by(["log"]).order_by(["time"]);
    }
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..keys.len() as i64));
    let notes = (0..keys.len()).map(|row| (row % 7 > 0).then(|| format!("{name} {row}: a text of more than twelve bytes")));
    let all = RecordBatch::try_from_iter_with_nullable([
        ("log", Arc::new(keys.iter().map(|key| key.log.as_deref()).collect::<LargeStringArray>()) as ArrayRef, true),
        ("time", Arc::new(keys.iter().map(|key| key.time).collect::<Int64Array>()), true),
        ("camera", Arc::new(keys.iter().map(|key| key.camera).collect::<Int64Array>()), true),
        (&format!("{name}_id"), Arc::clone(&ids), true),
        ("note", Arc::new(notes.collect::<LargeStringArray>()), true),
        (&format!("{name}.value"), ids, true),
    ])
    .unwrap();
    // Each append makes a segment of its own.
    let options = || cut_by(tiny_cuts());
    let (mut table, rows) = (None::<Table>, all.num_rows());
    for part in 0..shape.partitions {
        let at = |part: u64| rows * part as usize / shape.partitions as usize;
        let batch = all.slice(at(part), at(part + 1) - at(part));
        let writer = match &table {
            None => Table::create_in(store.clone(), schema.clone().build().unwrap(), options()).await.unwrap(),
            Some(table) => table.append(options()).await.unwrap(),
        };
        let mut partition = writer.partition().unwrap();
        partition.write(&batch).await.unwrap();
        table = Some(writer.commit([partition.finish().await.unwrap()]).await.unwrap());
    }
    table.unwrap()
}

fn table_of(store: Store, name: &str, keys: &[Key], shape: Shape) -> Table {
    block_on(stored(store, name, keys, shape))
}

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

/// Returns the join map and the lists of each source of a view.
fn joins(view: &Table) -> Vec<[Option<Vec<Option<u64>>>; 2]> {
    let sources = &view.manifest().view.as_ref().unwrap().sources;
    let read = |object: Option<&tetrys::id::ObjectRef>, left: u64, right: u64| {
        let object = object?;
        let bytes = block_on(view.store().get_exact(&object.name_in("joins"), object.bytes)).unwrap();
        Some(tetrys::format::read_join(bytes, left, right).unwrap())
    };
    let both = |source: &tetrys::format::ViewSource| {
        let (base, own) = (sources[source.base].rows, source.rows);
        [read(source.join.as_ref(), base, own), read(source.lists.as_ref(), own, own)]
    };
    sources.iter().map(both).collect()
}

fn random_merge(rng: &mut Rng) -> Merge {
    let pick = *rng.pick(&[Pick::Nearest, Pick::Before, Pick::After]);
    let number = rng.below(7);
    let merge_is_by_time = number > 3;
    let merge = match number {
        0 => Merge::on(["log", "time"]),
        1 => Merge::on(["time"]),
        2 => Merge::on(["log", "time", "camera"]),
        3 => Merge::on(["camera", "log"]),
        4 => Merge::on(Vec::<String>::new()).as_of("time", pick),
        5 => Merge::on(["log", "camera"]).as_of("time", pick),
        _ => Merge::on(["log"]).as_of("time", pick).tolerance(rng.below(20).to_string()).unwrap(),
    };
    // A merge by time makes no lists.
    let merge = match if merge_is_by_time { rng.below(3) } else { rng.below(5) } {
        0 => merge,
        1 => merge.first(),
        2 => merge.last(),
        _ => merge.group_to_list(),
    };
    if rng.once_in(2) { merge.left() } else { merge }
}

fn limited(memory: u64) -> ViewOptions {
    ViewOptions { memory_limit: Some(memory), ..ViewOptions::default() }
}

#[test]
fn merges_part_by_part_equal_merges_in_memory() {
    let mut rng = Rng(common::seed());
    let (mut merged, mut refused) = (0, 0);
    for turn in 0..if common::full() { 400 } else { 24 } {
        let folder = tempfile::tempdir().unwrap();
        let made = |rng: &mut Rng, name: &str| {
            let rows = *rng.pick(&[8, 200, 200, 3_000]);
            let shape = Shape { rows, is_sorted: rng.once_in(2), partitions: 1 + rng.below(4) };
            let keys = keys(rng, shape);
            (table_of(store(folder.path(), name), name, &keys, shape), shape)
        };
        let ((a, left), (b, right)) = (made(&mut rng, "a"), made(&mut rng, "b"));
        let merge = random_merge(&mut rng);
        let what = format!("turn {turn}: {merge:?}, left {left:?} of {}, right {right:?} of {}", a.rows(), b.rows());
        let expected = block_on(a.index()).unwrap().merge(&block_on(b.index()).unwrap(), &merge);
        for (number, memory) in [0, 1 << 14].into_iter().enumerate() {
            let options = ViewOptions { temporary_folder: Some(folder.path().to_owned()), ..limited(memory) };
            let large = a.merge(&b, merge.clone());
            let url = folder.path().join(format!("view-{number}")).display().to_string();
            let found = block_on(large.clone().save(&url, &options));
            let (expected, found) = match (&expected, found) {
                (Ok(expected), Ok(found)) => (expected, found.table),
                (Err(expected), Err(found)) => {
                    assert_eq!(found.kind(), expected.kind(), "{found}\n{expected}\n{what}");
                    assert!(found.to_string().contains("on the right ha"), "{found}\n{what}");
                    refused += 1;
                    continue;
                }
                (expected, found) => panic!("{what}, memory {memory}: {:?}, expected {:?}", found.err(), expected.as_ref().err()),
            };
            let plain = block_on(expected.save(&format!("{url}-plain"))).unwrap().table;
            assert_eq!(found.schema(), plain.schema(), "{what}");
            assert_eq!(joins(&found), joins(&plain), "{what}, memory {memory}");
            let (of_disk, of_memory) = (block_on(found.index()).unwrap(), block_on(plain.index()).unwrap());
            assert!(of_disk.frame().equals_missing(of_memory.frame()), "{what}, memory {memory}");
            let columns =
                |index: &tetrys::Index| RowLoader::new(index).unwrap().column_names().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(columns(&of_disk), columns(&of_memory));
            assert_eq!(block_on(large.size(&options)).unwrap().rows, plain.rows());
            merged += 1;
        }
        let left_over: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        let is_known = |name: &std::ffi::OsString| {
            ["a", "b"].iter().any(|known| name == known) || name.to_string_lossy().starts_with("view-")
        };
        assert!(left_over.iter().all(is_known), "{left_over:?}");
    }
    assert!(merged > 15 && refused > 1, "{merged} merges, {refused} refused");
}

#[test]
fn the_partner_by_time_and_another_key_may_be_far_away() {
    let folder = tempfile::tempdir().unwrap();
    let key = |time: i64, camera: i64| Key { log: Some("recording".to_owned()), time: Some(time), camera: Some(camera) };
    let shape = Shape { rows: 100_000, is_sorted: true, partitions: 1 };
    let left = table_of(store(folder.path(), "a"), "a", &[key(50_000, 1)], shape);
    let rights: Vec<Key> = (0..100_000).map(|time| key(time, i64::from(time == 0))).collect();
    let right = table_of(store(folder.path(), "b"), "b", &rights, shape);
    for (number, keys) in [vec!["camera"], vec!["log", "camera"]].into_iter().enumerate() {
        let merge = Merge::on(keys).as_of("time", Pick::Before).last();
        let url = folder.path().join(format!("view-{number}")).display().to_string();
        let view = block_on(left.merge(&right, merge).save(&url, &limited(1 << 24)));
        let view = view.unwrap().table;
        assert_eq!(joins(&view)[1], [Some(vec![Some(0)]), None]);
    }
}

#[test]
fn a_table_that_is_merged_with_itself_is_loaded_once() {
    let counting = CountingStore::new(InMemory::new());
    let keys: Vec<Key> = (0..40).map(|time| Key { log: Some("a".to_owned()), time: Some(time), camera: None }).collect();
    let table = table_of(over(Arc::new(counting.clone())), "a", &keys, Shape { rows: 40, is_sorted: true, partitions: 3 });
    counting.reset();
    let size = block_on(table.merge(&table, Merge::on(["log", "time"])).size(&ViewOptions::default())).unwrap();
    let objects = counting.reset().gets.iter().filter(|get| get.path.starts_with("index/")).count();
    assert_eq!((size.rows, objects), (40, 3));
}

#[test]
fn errors_of_loading_name_the_source_of_the_recipe() {
    let folder = tempfile::tempdir().unwrap();
    let keys = |count: i64| -> Vec<Key> {
        (0..count).map(|time| Key { log: Some(format!("log {}", time % 7)), time: Some(time), camera: None }).collect()
    };
    let shape = Shape { rows: 90, is_sorted: false, partitions: 2 };
    let tables = ["a", "b"].map(|name| table_of(store(folder.path(), name), name, &keys(90), shape));
    let damaged = &tables[1].manifest().segments[1].index;
    let file = folder.path().join("b").join(damaged.name_in("index"));
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let text = |from: &str, rest: &str| {
        format!(
            "from = '{from}'\n{rest}\n[sources]\na = '{}'\nb = '{}'\n[output]\nview = '{}'\n",
            url("a"),
            url("b"),
            url("view")
        )
    };
    let join = |with: &str| format!("join = [{{ with = '{with}', on = ['log', 'time'] }}]");
    for memory in [0, 1 << 30] {
        for recipe in [text("a", &join("b")), text("b", &join("a")), text("b", "filter = \"time > 3\""), text("b", "")] {
            let parsed = tetrys::Recipe::parse(&recipe).unwrap();
            let error = block_on(parsed.run(&tetrys::StoreOptions::from_env(), &limited(memory))).unwrap_err();
            assert!(
                error.kind() == ErrorKind::Corrupt && error.to_string().contains("source `b`: "),
                "{memory}, {recipe}: {error}"
            );
        }
    }
}

#[test]
fn a_view_that_is_there_is_updated_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng(7);
    let shape = Shape { rows: 60, is_sorted: true, partitions: 2 };
    let [a, b] = ["a", "b"].map(|name| {
        let keys = keys(&mut rng, shape);
        table_of(store(folder.path(), name), name, &keys, shape)
    });
    let url = folder.path().join("view").display().to_string();
    let options = limited(0).property("made", "here").lineage("by", "a test");
    let first = block_on(a.merge(&b, Merge::on(["log", "time"]).last()).save(&url, &options)).unwrap().table;
    assert_eq!(first.manifest().properties["made"], "here");
    assert_eq!(first.manifest().lineage["by"], "a test");
    let error = block_on(a.merge(&b, Merge::on(["log", "time"]).last()).save(&url, &options)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    let next = block_on(a.merge(&b, Merge::on(["log", "time"]).last().left()).save(&first, &options)).unwrap().table;
    assert_eq!((next.version(), next.rows()), (2, a.rows()));
    let error = block_on(a.merge(&b, Merge::on(["log"])).save(&a, &options)).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("rows of its own"), "{error}");
    let error = block_on(a.merge(&b, Merge::on(["nothing"])).save(&format!("{url}2"), &options)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[test]
fn a_full_disk_is_an_error_that_names_the_folder_and_the_bytes() {
    const CHILD: &str = "TETRYS_TEST_FULL_DISK";
    if let Some(folder) = own_process::asked(CHILD) {
        let folder = Path::new(&folder);
        let [a, b] = ["a", "b"].map(|name| block_on(Table::open(folder.join(name).to_str().unwrap())).unwrap());
        // No order, so the rows go through files.
        let options = ViewOptions { temporary_folder: Some(folder.to_owned()), ..limited(0) };
        let large = a.merge(&b, Merge::on(["note"]).last());
        println!("{}", block_on(large.save(folder.join("view").to_str().unwrap(), &options)).unwrap_err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng(common::seed());
    let shape = Shape { rows: 3_000, is_sorted: false, partitions: 1 };
    for name in ["a", "b"] {
        let keys: Vec<Key> = (0..3_000).flat_map(|_| keys(&mut rng, Shape { rows: 40, ..shape })).take(40_000).collect();
        table_of(store(folder.path(), name), name, &keys, shape);
    }
    let message = own_process::on_full_disk(
        "large_merges::a_full_disk_is_an_error_that_names_the_folder_and_the_bytes",
        CHILD,
        folder.path(),
    );
    let expected = format!("merge: the temporary files in {} have ", folder.path().display());
    assert!(
        message.contains(&expected) && message.contains("bytes and cannot grow") && message.contains("higher memory limit"),
        "{message}"
    );
    assert!(!folder.path().join("view").exists(), "nothing is there after an error");
}

/// Writes the index of a table of `rows` rows without column groups: recordings of 1,000 rows, in blocks of four that change places.
async fn long_table(folder: &Path, name: &str, rows: u64) {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index(name, "f64");
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let store = store(folder, name);
    let writer = Table::create_in(store, schema, cut_by(tiny_cuts()).segment_rows(1)).await.unwrap();
    let mut receipts = Vec::new();
    for first in (0..rows).step_by(100_000) {
        let mut partition = writer.partition().unwrap();
        let number = |row: u64| if name == "a" { row / 1_000 } else { (row / 1_000) ^ 3 };
        let batch = RecordBatch::try_from_iter([
            (
                "log",
                Arc::new(LargeStringArray::from_iter_values(
                    (first..first + 100_000).map(|row| format!("recording-{:08}-of-many", number(row))),
                )) as ArrayRef,
            ),
            ("time", Arc::new(Int64Array::from_iter_values((first..first + 100_000).map(|row| (row % 1_000) as i64)))),
            (name, Arc::new((first..first + 100_000).map(|row| Some(row as f64)).collect::<arrow_array::Float64Array>())),
        ]);
        partition.write(&batch.unwrap()).await.unwrap();
        receipts.push(partition.finish().await.unwrap());
    }
    writer.commit(receipts).await.unwrap();
}

#[test]
fn a_merge_part_by_part_takes_a_part_of_the_memory() {
    const CHILD: &str = "TETRYS_TEST_MERGE_MEMORY";
    if let Some((limit, folder)) = own_process::asked_limit(CHILD) {
        let [a, b] = ["a", "b"].map(|name| block_on(Table::open(folder.join(name).to_str().unwrap())).unwrap());
        own_process::print_peak(|| {
            let large = a.merge(&b, Merge::on(["log", "time"]));
            let url = folder.join(format!("view-{limit}")).display().to_string();
            let view = block_on(large.save(&url, &limited(limit))).unwrap().table;
            assert_eq!(view.rows(), a.rows());
        });
        return;
    }
    if !own_process::memory_is_measured() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        block_on(long_table(folder.path(), name, 3_000_000));
    }
    own_process::assert_limit_halves_peak(
        "large_merges::a_merge_part_by_part_takes_a_part_of_the_memory",
        CHILD,
        1 << 20,
        folder.path(),
    );
}
