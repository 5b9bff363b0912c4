//! Splits on disk: random tables are split in memory and part by part, with the same views.
#![cfg(feature = "frame")]

use std::{path::Path, sync::Arc};

use crate::{
    common::{
        self,
        tables::{Rng, Taste, block_on, column, cut_by, tiny_cuts, write},
    },
    own_process,
};
use arrow_array::{ArrayRef, Float64Array, Int64Array, LargeStringArray, RecordBatch, TimestampSecondArray, UInt64Array};
use tetrys::{ErrorKind, Index, IndexTails, Merge, Schema, Store, Table, ViewOptions, ViewTarget, table::ViewSize};

const COLUMNS: [(&str, &str); 7] = [
    ("log", "utf8"),
    ("time", "timestamp[s]"),
    ("camera", "i32"),
    ("score", "f64"),
    ("kind", "categorical"),
    ("sunny", "bool"),
    ("day", "date"),
];

/// Writes a table of so many rows in some segments.
async fn stored(store: Store, rng: &mut Rng, rows: usize, segments: usize) -> Table {
    let schema = COLUMNS.iter().fold(Schema::builder(), |schema, (name, ty)| schema.index(*name, *ty));
    let schema = schema.group("lidar", [("lidar.count", "i64")]).build().unwrap();
    let logs = 1 + rng.below(20);
    let log = |rng: &mut Rng| (!rng.once_in(9)).then(|| format!("a recording with the number {}", rng.below(logs)));
    let arrays = COLUMNS.iter().map(|(name, ty)| -> (&str, ArrayRef, bool) {
        let array: ArrayRef = match *name {
            "log" => Arc::new((0..rows).map(|_| log(rng)).collect::<LargeStringArray>()),
            "time" => Arc::new((0..rows).map(|row| (!rng.once_in(9)).then_some(row as i64)).collect::<TimestampSecondArray>()),
            _ => column(rng, &ty.parse().unwrap(), rows, Taste::SMALL),
        };
        (name, array, true)
    });
    let mut arrays: Vec<_> = arrays.collect();
    arrays.push(("lidar.count", Arc::new(Int64Array::from_iter_values(0..rows as i64)), true));
    let all = RecordBatch::try_from_iter_with_nullable(arrays).unwrap();
    let tails = *rng.pick(&[IndexTails::All, IndexTails::None, IndexTails::Large]);
    let options = || cut_by(tiny_cuts()).index_tails(tails);
    let mut table = None::<Table>;
    for part in 0..segments {
        let at = |part: usize| rows * part / segments;
        let writer = match &table {
            None => Table::create_in(store.clone(), schema.clone(), options()).await.unwrap(),
            Some(table) => table.append(options()).await.unwrap(),
        };
        let mut partition = writer.partition().unwrap();
        partition.write(&all.slice(at(part), at(part + 1) - at(part))).await.unwrap();
        table = Some(writer.commit([partition.finish().await.unwrap()]).await.unwrap());
    }
    table.unwrap()
}

/// Saves a view of some rows of a table: sorted rows, rows with their partners in another table, or rows of two tables.
async fn view_of(rng: &mut Rng, folder: &Path, table: &Table, kind: u64) -> Table {
    let index = table.index().await.unwrap();
    let other = stored(store(folder, "other"), rng, 40, 2).await.index().await.unwrap();
    let made = match kind {
        0 => index.filter_sql("camera < 5").unwrap().sort(["score"], true).unwrap(),
        1 => index.merge(&other, &Merge::on(["kind", "sunny"]).last().left()).unwrap().filter_sql("camera < 5").unwrap(),
        _ => {
            let other = other.filter_sql("sunny").unwrap();
            Index::concat([&index, &other]).unwrap()
        }
    };
    made.save(&below(folder, "view")).await.unwrap().table
}

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

fn below(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

fn random_shares(rng: &mut Rng) -> Vec<(String, f64)> {
    let parts = 1 + rng.below(5);
    let weights: Vec<f64> = (0..parts).map(|_| 1.0 + rng.below(9) as f64).collect();
    // With the last weight or without, so that rows are in no part.
    let sum: f64 = weights.iter().sum::<f64>() * if rng.once_in(3) { 1.3 } else { 1.0 };
    (0..).zip(weights).map(|(number, weight): (u32, _)| (format!("part-{number}"), weight / sum)).collect()
}

/// Conditions. One of them needs all rows.
const CONDITIONS: [&str; 6] =
    ["camera > 1", "sunny", "log IS NOT NULL", "kind = 'a' OR score > 0", "score > AVG(score)", "time < '1970-01-01 00:30:00'"];

fn limited(memory: u64) -> ViewOptions {
    ViewOptions { memory_limit: Some(memory), ..ViewOptions::default() }
}

#[test]
fn splits_part_by_part_equal_splits_in_memory() {
    let mut rng = Rng(common::seed());
    let mut views = 0;
    for turn in 0..if common::full() { 200 } else { 16 } {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir(folder.join("scratch")).unwrap();
        let rows = *rng.pick(&[0, 9, 200, 3_000, 80_000]) as usize;
        let segments = 1 + rng.below(4) as usize;
        let mut table = block_on(stored(store(folder, "t"), &mut rng, rows, segments));
        let kind = rng.below(6);
        if kind < 3 {
            table = block_on(view_of(&mut rng, folder, &table, kind));
        }
        let keys: Vec<&str> =
            (0..1 + rng.below(2)).map(|_| *rng.pick(&["log", "time", "camera", "kind", "sunny", "day"])).collect();
        let (shares, salt) = (random_shares(&mut rng), rng.below(3).to_string());
        let conditions: Vec<&str> = (0..rng.below(3)).map(|_| *rng.pick(&CONDITIONS)).collect();
        let kept = rng.once_in(3).then(|| {
            let mut kept: Vec<&str> = vec!["score"];
            kept.extend(keys.iter().filter(|key| **key != "score"));
            kept.dedup();
            kept.sort_unstable();
            kept.dedup();
            kept
        });
        let what =
            format!("turn {turn}: kind {kind}, {rows} rows, {segments} segments, {keys:?}, {shares:?}, {conditions:?}, {kept:?}");
        let mut index = block_on(table.index()).unwrap();
        for condition in &conditions {
            index = index.filter_sql(condition).unwrap();
        }
        if let Some(kept) = &kept {
            index = index.select(kept.iter().map(|name| tetrys::polars::prelude::col(*name))).unwrap();
        }
        let expected = index.split(&keys, shares.clone(), &salt).unwrap();
        let mut plain = Vec::new();
        for (name, part) in &expected {
            plain.push(block_on(part.save(&below(folder, &format!("plain/{name}")))).unwrap().table);
        }
        let mut split = table.split(keys, shares.clone()).salt(salt);
        split = conditions.iter().fold(split, |split, condition| split.filter_sql(*condition));
        if let Some(kept) = &kept {
            split = split.columns(kept.iter().copied());
        }
        for (number, memory) in [0, 1 << 26, u64::MAX].into_iter().enumerate() {
            let options = ViewOptions { temporary_folder: Some(folder.join("scratch")), ..limited(memory) };
            let sizes = block_on(split.clone().sizes(&options)).unwrap();
            let saved = block_on(split.clone().save(&below(folder, &format!("views-{number}")), &options));
            let saved = saved.unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(saved.len(), plain.len());
            for (((name, saved), plain), (sized, size)) in saved.iter().zip(&plain).zip(&sizes) {
                let (found, plain) = (saved.table.manifest(), plain.manifest());
                assert!(plain.table != found.table && name == sized);
                // Objects are named by the hash of their bytes.
                assert_eq!(found.segments, plain.segments, "{name}, memory {memory}, {what}");
                assert_eq!((&found.schema, &found.view), (&plain.schema, &plain.view), "{name}, memory {memory}, {what}");
                assert_eq!(found.lineage["part"], name.as_str());
                let index_bytes = plain.segments.iter().map(|segment| segment.index.bytes).sum();
                assert_eq!((size.rows, size.index_bytes), (saved.table.rows(), index_bytes));
                assert_eq!(size, &saved.size, "{name}, memory {memory}, {what}");
                views += 1;
            }
            let first = block_on(saved[0].1.table.index()).unwrap();
            assert!(first.frame().equals_missing(block_on(plain[0].index()).unwrap().frame()), "{what}");
        }
        assert_eq!(std::fs::read_dir(folder.join("scratch")).unwrap().count(), 0);
    }
    assert!(views > 30, "{views} views");
    println!("{views} views");
}

#[test]
fn parts_that_are_no_folders_of_their_own_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let table = block_on(stored(store(folder.path(), "table"), &mut Rng(common::seed()), 9, 1));
    for (names, expected) in [
        (["a", "a"], "two parts have the name `a`"),
        (["a", "../b"], "part `../b`: expected the name of a folder, without slash or backslash"),
        (["a", ""], "part ``: expected"),
    ] {
        for memory in [0, u64::MAX] {
            let split = table.split(["log"], names.map(|name| (name, 0.5)));
            let sizes = block_on(split.clone().sizes(&limited(memory))).map(drop).unwrap_err();
            let saved = block_on(split.save(&below(folder.path(), "parts/of/it"), &limited(memory))).map(drop).unwrap_err();
            for error in [sizes, saved] {
                assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(expected), "{error}");
            }
        }
    }
    assert!(!folder.path().join("parts").exists());
}

#[test]
fn large_unsigned_keys_split_rows() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::builder().index("id", "u64").group("g", [("n", "i64")]).build().unwrap();
    let ids: Vec<u64> = (0..200).map(|row: u64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15)).chain([0, u64::MAX]).collect();
    let numbers = Arc::new(Int64Array::from_iter_values(0..ids.len() as i64)) as ArrayRef;
    let rows = RecordBatch::try_from_iter([("id", Arc::new(UInt64Array::from(ids)) as ArrayRef), ("n", numbers)]).unwrap();
    let table = block_on(write(store(folder.path(), "t"), schema, cut_by(tiny_cuts()), &[rows])).unwrap();
    let counts = [0, u64::MAX].map(|limit| {
        let split = table.split(["id"], [("a", 0.5), ("b", 0.5)]);
        let saved = block_on(split.save(&below(folder.path(), &format!("views-{limit}")), &limited(limit))).unwrap();
        saved.iter().map(|(_, saved)| saved.table.rows()).collect::<Vec<u64>>()
    });
    assert!(
        counts[0] == counts[1] && counts[0].iter().sum::<u64>() == 202 && counts[0].iter().all(|rows| *rows > 50),
        "{counts:?}"
    );
}

#[test]
fn views_of_a_split_are_updated_and_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let table = block_on(stored(store(folder, "t"), &mut Rng(5), 500, 2));
    let (split, options) = (|| table.split(["camera"], [("a", 0.5), ("b", 0.5)]), limited(0));
    let url = below(folder, "views");
    let first = block_on(split().save(&url, &options.clone().property("made", "here").lineage("by", "a test"))).unwrap();
    assert_eq!(first[1].1.table.manifest().properties["made"], "here");
    assert_eq!(first[1].1.table.manifest().lineage["by"], "a test");
    assert_eq!(block_on(split().save(&url, &options)).unwrap_err().kind(), ErrorKind::Exists);
    let views: Vec<Table> = first.iter().map(|(_, saved)| saved.table.clone()).collect();
    let next = block_on(split().filter_sql("sunny").save(ViewTarget::Next(views.clone()), &options)).unwrap();
    let rows = |views: &[(String, tetrys::SavedView)]| views.iter().map(|(_, saved)| saved.table.rows()).sum::<u64>();
    assert_eq!((next[0].1.table.version(), rows(&first)), (2, 500));
    assert_eq!(rows(&next), block_on(table.index().filter_sql("sunny")).unwrap().len() as u64);
    assert_eq!(next[0].1.table.manifest().properties["made"], "here");
    let again = block_on(views[0].split(["log"], [("all", 1.0)]).save(&below(folder, "again"), &options)).unwrap();
    assert_eq!(again[0].1.table.rows(), views[0].rows());
    // Nothing is published if two parts have one name.
    for limit in [0, u64::MAX] {
        let twice = table.split(["camera"], [("a", 0.5), ("a", 0.5)]);
        let error = block_on(twice.save(&below(folder, "twice"), &limited(limit))).unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("two parts have the name `a`"), "{error}");
    }
    assert_eq!(block_on(Table::open(&below(folder, "twice/a"))).unwrap_err().kind(), ErrorKind::NotFound);

    let kind = |error: tetrys::Result<Vec<(String, ViewSize)>>| error.unwrap_err().kind();
    let limits = [0, u64::MAX];
    for limit in limits {
        let options = limited(limit);
        let split = |keys: &[&str], shares: &[(&str, f64)]| table.split(keys.iter().copied(), shares.iter().copied());
        assert_eq!(kind(block_on(split(&["nothing"], &[("a", 1.0)]).sizes(&options))), ErrorKind::NotFound);
        assert_eq!(kind(block_on(split(&["score"], &[("a", 1.0)]).sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&[], &[("a", 1.0)]).sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&["log"], &[]).sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&["log"], &[("a", 0.7), ("b", 0.7)]).sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&["log"], &[("a", 1.0)]).filter_sql("camera >").sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&["log"], &[("a", 1.0)]).filter_sql("nothing > 1").sizes(&options))), ErrorKind::Invalid);
        assert_eq!(kind(block_on(split(&["log"], &[("a", 1.0)]).columns(["nothing"]).sizes(&options))), ErrorKind::NotFound);
        assert_eq!(kind(block_on(split(&["log"], &[("a", 1.0)]).columns(["camera"]).sizes(&options))), ErrorKind::NotFound);
    }
    let nowhere = ViewOptions { temporary_folder: Some(folder.join("nowhere")), ..limited(0) };
    let error = block_on(split().save(&below(folder, "more"), &nowhere)).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("nowhere"), "{error}");
    assert!(!folder.join("more").exists(), "nothing is there after an error");
    assert_eq!(block_on(split().save(&views[0], &options)).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_full_disk_is_an_error_that_names_the_folder() {
    const CHILD: &str = "TETRYS_TEST_SPLIT_FULL_DISK";
    if let Some(folder) = own_process::asked(CHILD) {
        let folder = Path::new(&folder);
        let table = block_on(Table::open(&below(folder, "t"))).unwrap();
        let options = ViewOptions { temporary_folder: Some(folder.to_owned()), ..limited(0) };
        let split = table.split(["log"], [("a", 0.5), ("b", 0.5)]);
        println!("{}", block_on(split.save(&below(folder, "views"), &options)).unwrap_err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    block_on(stored(store(folder.path(), "t"), &mut Rng(common::seed()), 20_000, 1));
    let message = own_process::on_full_disk("large_splits::a_full_disk_is_an_error_that_names_the_folder", CHILD, folder.path());
    let expected = format!("split: a temporary file in {}: ", folder.path().display());
    assert!(message.contains(&expected), "{message}");
    assert!(!folder.path().join("views").exists(), "nothing is there after an error");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Writes the index of a table of `rows` rows without column groups: recordings of 1,000 rows.
async fn long_table(store: Store, rows: u64) {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").index("speed", "f64");
    let schema = schema.sequence_by(["log"]).order_by(["time"]).build().unwrap();
    let writer = Table::create_in(store, schema, cut_by(tiny_cuts()).segment_rows(1)).await.unwrap();
    let mut receipts = Vec::new();
    for first in (0..rows).step_by(100_000) {
        let mut partition = writer.partition().unwrap();
        let logs = (first..first + 100_000).map(|row| format!("recording-{:08}-of-many", row / 1_000));
        let batch = RecordBatch::try_from_iter([
            ("log", Arc::new(LargeStringArray::from_iter_values(logs)) as ArrayRef),
            ("time", Arc::new(Int64Array::from_iter_values((first..first + 100_000).map(|row| (row % 1_000) as i64)))),
            ("speed", Arc::new(Float64Array::from_iter_values((first..first + 100_000).map(|row| row as f64)))),
        ]);
        partition.write(&batch.unwrap()).await.unwrap();
        receipts.push(partition.finish().await.unwrap());
    }
    writer.commit(receipts).await.unwrap();
}

#[test]
fn a_split_part_by_part_takes_a_part_of_the_memory() {
    const CHILD: &str = "TETRYS_TEST_SPLIT_MEMORY";
    if let Some((limit, folder)) = own_process::asked_limit(CHILD) {
        let table = block_on(Table::open(&below(&folder, "t"))).unwrap();
        own_process::print_peak(|| {
            let split = table.split(["log"], [("train", 0.8), ("test", 0.2)]);
            let views = block_on(split.save(&below(&folder, &format!("views-{limit}")), &limited(limit))).unwrap();
            assert_eq!(views.iter().map(|(_, saved)| saved.table.rows()).sum::<u64>(), table.rows());
        });
        return;
    }
    if !own_process::memory_is_measured() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    block_on(long_table(store(folder.path(), "t"), 4_000_000));
    own_process::assert_limit_halves_peak(
        "large_splits::a_split_part_by_part_takes_a_part_of_the_memory",
        CHILD,
        64 << 20,
        folder.path(),
    );
}
