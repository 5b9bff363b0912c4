//! All calls of the library work inside a runtime of one thread, in a task of a multi-threaded runtime, in a `LocalSet`, and
//! outside of a runtime: with equal results and without a panic. polars and `tetrys::block_on` wait on runtimes of their own.
#![cfg(feature = "frame")]

use std::{path::Path, sync::Arc, time::Duration};

use crate::common::tables::boxed;
use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use polars::prelude::{col, lit};
use tetrys::{
    Error, Index, Merge, Pick, RowLoader, Schema, Table, ViewOptions, WriteOptions, block_on, blocking,
    table::{Cuts, GcSettings, now_ms},
    write::Reuse,
};

fn schema(name: &str) -> Schema {
    let data = format!("{name}.data");
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group(name, [(data, "binary")])
        .sequence_by(["log"])
        .build()
        .unwrap()
}

/// Returns rows of two logs.
fn batch(name: &str, rows: i64) -> RecordBatch {
    let logs = (0..rows).map(|row| if row < rows / 2 { "x" } else { "y" });
    let columns: [(String, ArrayRef); 3] = [
        ("log".to_owned(), Arc::new(LargeStringArray::from_iter_values(logs))),
        ("time".to_owned(), Arc::new(Int64Array::from_iter_values(0..rows))),
        (format!("{name}.data"), Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(|row| vec![row as u8; 9])))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

async fn written(url: &str, name: &str, rows: i64) -> Table {
    let writer = Table::create(url, schema(name), WriteOptions::default()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&batch(name, rows)).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

/// Runs all calls on two tables. Returns one number for each result.
async fn every_call(folder: &Path) -> Vec<usize> {
    let url = |name: &str| folder.join(name).display().to_string();
    let (a, b) = (written(&url("a"), "a", 20).await, written(&url("b"), "b", 16).await);
    let (left, right) = (a.index().await.unwrap(), b.index().await.unwrap());
    let keys = Merge::on(["log", "time"]);
    let mut indexes: Vec<Index> = vec![
        left.filter(col("time").gt(lit(4))).unwrap(),
        left.select([col("time")]).unwrap(),
        left.with_columns([(col("time") * lit(2)).alias("twice")]).unwrap(),
        left.sort(["time"], true).unwrap(),
        left.sample(5, 1).unwrap(),
        left.unique(["log"]).unwrap(),
        left.sql("SELECT * FROM t WHERE time > 4 ORDER BY time").unwrap(),
        left.merge(&right, &keys).unwrap(),
        left.merge(&right, &keys.clone().left()).unwrap(),
        left.merge(&right, &keys.clone().first()).unwrap(),
        left.merge(&right, &Merge::on(["log"]).group_to_list()).unwrap(),
        left.merge(&right, &Merge::on(["log"]).as_of("time", Pick::Nearest).first()).unwrap(),
        Index::concat_filling([&left, &right]).unwrap(),
    ];
    indexes.extend(left.split(["time"], [("train", 0.5), ("test", 0.5)], "").unwrap().into_iter().map(|(_, part)| part));
    let grouped = left.query("SELECT log, COUNT(*) AS n FROM t GROUP BY log").unwrap();
    let view = indexes[7].filter(col("time").gt(lit(10))).unwrap().save(&url("view")).await.unwrap().table;
    let again = view.index().await.unwrap().with_sources().await.unwrap().merge(&right, &keys).unwrap();
    let mut done = vec![grouped.height(), again.len(), view.rebind([url("a")]).await.unwrap().version() as usize];
    for index in indexes {
        let rows = RowLoader::new(&index).unwrap().get_rows(0, -1..=0).await.unwrap();
        done.extend([index.len(), rows.mask().iter().filter(|there| **there).count()]);
    }
    let shorter = a.delete([3], WriteOptions::default()).await.unwrap();
    let diff = shorter.diff(&a, ["log", "time"]).await.unwrap();
    done.extend([shorter.rows() as usize, diff.removed.len(), a.storage().verify(|_, _| {}).await.unwrap().damage.len()]);
    let collected = a.storage().collect_garbage(GcSettings::default(), 0).await.unwrap();
    done.push(collected.delete.len());
    done.extend(every_blocking_call(folder));
    done
}

/// Runs all calls on the same handles without async.
fn every_blocking_call(folder: &Path) -> Vec<usize> {
    let url = |name: &str| folder.join(name).display().to_string();
    let table = block_on(boxed(|| async { Ok::<_, Error>(written(&url("c"), "c", 6).await) })).unwrap();
    let index = block_on(block_on(Table::open(&url("c"))).unwrap().index()).unwrap();
    let merged = index.merge(&index, &Merge::on(["log", "time"])).unwrap();
    let view = block_on(merged.save_with(url("blocking-view"), &ViewOptions::default())).unwrap().table;
    let opened = block_on(Table::open(view.url())).unwrap();
    let merged = block_on(block_on(opened.index()).unwrap().with_sources()).unwrap();
    let loader = RowLoader::new(&merged).unwrap().columns(["*"]).unwrap();
    let times = tetrys::TimeOffsets::new("time", ["-1", "0"]).unwrap();
    vec![
        block_on(table.diff(&table, ["log", "time"])).unwrap().added.len(),
        block_on(table.storage().verify(|_, _| {})).unwrap().damage.len(),
        block_on(opened.rebind([url("c")])).unwrap().version() as usize,
        block_on(loader.get_row(2)).unwrap().bytes("c.data").unwrap().len(),
        block_on(loader.get_rows(2, -1..=0)).unwrap().len(),
        block_on(loader.get_windows(&[1, 2], &times)).unwrap().len(),
        block_on(loader.get_parts(4, [("c.*", 0..=0)])).unwrap().len(),
        block_on(loader.take(&[5, 0])).unwrap().len(),
        blocking::iter(loader.scan(4)).map(|rows| rows.unwrap().len()).sum(),
        block_on(loader.explain(4, -1..=0)).unwrap().ranges,
        table.row_loader().len() as usize,
    ]
}

/// Runs all calls on a runtime that only waits for this one future.
fn outside() -> Vec<usize> {
    let folder = tempfile::tempdir().unwrap();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(every_call(folder.path()))
}

/// This panic is the reason for `src/index/aside.rs`. If this test fails, polars has fixed the panic and the file can be removed.
#[tokio::test(flavor = "current_thread")]
async fn polars_itself_panics_in_a_runtime_of_one_thread() {
    let folder = tempfile::tempdir().unwrap();
    let index = written(&folder.path().join("a").display().to_string(), "a", 4).await.index().await.unwrap();
    let frame = index.lazy().filter(col("time").gt(lit(1)));
    let alone = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| frame.collect()));
    let payload = alone.unwrap_err();
    let payload = payload.downcast_ref::<&str>().map(ToString::to_string).or(payload.downcast_ref::<String>().cloned());
    assert!(payload.unwrap().contains("can call blocking only when running on the multi-threaded runtime"));
    assert_eq!(index.filter(col("time").gt(lit(1))).unwrap().len(), 2);
}

#[tokio::test(flavor = "current_thread")]
async fn a_runtime_of_one_thread_carries_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let done = every_call(folder.path()).await;
    assert_eq!(done, tokio::task::spawn_blocking(outside).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_of_a_runtime_of_many_threads_carries_every_call() {
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            tokio::spawn(async {
                let folder = tempfile::tempdir().unwrap();
                every_call(folder.path()).await
            })
        })
        .collect();
    let wanted = tokio::task::spawn_blocking(outside).await.unwrap();
    for task in tasks {
        assert_eq!(task.await.unwrap(), wanted);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_set_carries_every_call() {
    let local = tokio::task::LocalSet::new();
    let done = local.run_until(async {
        let here = tokio::task::spawn_local(async {
            let folder = tempfile::tempdir().unwrap();
            every_call(folder.path()).await
        });
        here.await.unwrap()
    });
    let done = done.await;
    assert_eq!(done, tokio::task::spawn_blocking(outside).await.unwrap());
}

#[test]
fn the_handles_without_async_need_no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let done = every_blocking_call(folder.path());
    assert!(outside().ends_with(&done));
}

/// Lists of more blocks than are read where a future is polled: 70,000 rows, each with a block of its own. In a build with assertions, reading
/// such a list panics if it holds the executor.
#[test]
fn long_lists_of_blocks_are_read_off_the_executor() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| folder.path().join(name).display().to_string();
    let cuts = Cuts { block_min: 1, block_target: 2, ..Cuts::default() };
    let options = || WriteOptions::default().cuts(cuts);
    let numbers = |name: &str, rows: std::ops::Range<i64>| {
        let columns = [("time", rows.clone()), (name, rows)];
        RecordBatch::try_from_iter(columns.map(|(name, rows)| (name, Arc::new(Int64Array::from_iter_values(rows)) as ArrayRef)))
            .unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let schema = Schema::builder().index("time", "i64").group("a", [("x", "i64")]).build().unwrap();
        let writer = Table::create(&url("a"), schema, options()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&numbers("x", 0..70_000)).await.unwrap();
        let first = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let stored = &first.manifest().segments[0].groups[0];
        assert!(stored.hashes.bytes > 1 << 20, "{stored:?}");
        let writer = first.append(options().reuse(Reuse::Any)).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&numbers("x", 70_000..70_010)).await.unwrap();
        let appended = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let changed = RecordBatch::try_from_iter([
            ("time", Arc::new(Int64Array::from(vec![5])) as ArrayRef),
            ("x", Arc::new(Int64Array::from(vec![-5])) as ArrayRef),
        ]);
        let patched = appended.patch(&["time"], &changed.unwrap(), options()).await.unwrap();
        let found = patched.diff(&first, ["time"]).await.unwrap();
        assert_eq!((found.added.len(), found.changed.as_slice()), (10, &[5][..]));
        let deleted = patched.delete([7], options()).await.unwrap();
        let mut writer = deleted.replace_group("a", options()).await.unwrap();
        writer.write(&numbers("x", 0..deleted.rows() as i64).project(&[1]).unwrap()).await.unwrap();
        let replaced = writer.commit().await.unwrap();
        let view = |name: &str, least: i64| {
            let (table, url) = (replaced.clone(), url(name));
            async move { table.index().filter(col("time").gt(lit(least))).await.unwrap().save(&url).await.unwrap().table }
        };
        let (one, other) = (view("one", 10).await, view("other", 20).await);
        assert_eq!(other.diff(&one, ["time"]).await.unwrap().removed.len(), 10);
        assert!(replaced.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        assert_eq!(replaced.storage().usage().await.unwrap().versions.len(), 5);
        let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
        assert!(replaced.storage().collect_garbage(settings, now_ms()).await.unwrap().done);
        let schema = replaced.schema().clone();
        let writer = Table::create(&url("references"), schema, options()).await.unwrap().references([&replaced]).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&numbers("x", 0..60_000)).await.unwrap();
        let borrowed = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let own = borrowed.storage().materialize(|_, _| {}).await.unwrap();
        assert!(own.manifest().stores.is_empty());
    });
}

/// A thread has a stack of 2 MiB, unless its program wants another. A build without optimisation keeps the temporary values of a future in the
/// frame that polls it. There, too, a call takes less than half of the stack: of a change, also where it goes on from a version of another writer.
#[test]
fn a_call_takes_less_than_half_of_the_stack_of_a_thread() {
    async fn appended(table: &Table) {
        let writer = boxed(|| table.append(WriteOptions::default())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let rows = batch("a", 20).slice(10, 5);
        boxed(|| partition.write(&rows)).await.unwrap();
        let receipt = boxed(|| partition.finish()).await.unwrap();
        boxed(|| writer.commit([receipt])).await.unwrap();
    }
    async fn every_call(url: &str, views: &str) {
        let first = boxed(|| written(url, "a", 20)).await;
        boxed(|| appended(&first)).await;
        boxed(|| appended(&first)).await;
        let (rows, values) = (batch("a", 20).slice(5, 1), vec![b"other".as_slice()]);
        let changed: [(&str, ArrayRef); 3] = [
            ("log", rows.column(0).clone()),
            ("time", rows.column(1).clone()),
            ("a.data", Arc::new(LargeBinaryArray::from_iter_values(values))),
        ];
        let changed = RecordBatch::try_from_iter(changed).unwrap();
        boxed(|| first.patch(&["log", "time"], &changed, WriteOptions::default())).await.unwrap();
        let newest = boxed(|| Table::open(url)).await.unwrap();
        boxed(|| newest.delete([7], WriteOptions::default())).await.unwrap();
        let mut writer = boxed(|| first.add_group("b", [("b.data", "binary")], WriteOptions::default())).await.unwrap();
        let rows = batch("b", 20).project(&[2]).unwrap();
        boxed(|| writer.write(&rows)).await.unwrap();
        boxed(|| writer.commit()).await.unwrap_err();
        let newest = boxed(|| Table::open(url)).await.unwrap();
        boxed(|| newest.edit().rename_column("a.data", "a.values").commit()).await.unwrap();
        let newest = boxed(|| Table::open(url)).await.unwrap();
        boxed(|| newest.storage().compact(1 << 20)).await.unwrap();
        boxed(|| newest.diff(&first, ["log", "time"])).await.unwrap();
        assert!(boxed(|| newest.storage().verify(|_, _| {})).await.unwrap().damage.is_empty());
        let index = boxed(|| async { newest.index().await }).await.unwrap();
        let view = boxed(|| index.save(views)).await.unwrap().table;
        let index = boxed(|| async { view.index().await }).await.unwrap();
        let loader = RowLoader::new(&index).unwrap();
        assert_eq!(boxed(|| loader.get_row(2)).await.unwrap().bytes("a.values").unwrap(), [2; 9]);
        assert_eq!(boxed(|| loader.get_rows(2, -1..=0)).await.unwrap().len(), 2);
        assert_eq!(boxed(|| loader.take(&[5, 0])).await.unwrap().len(), 2);
        let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
        boxed(|| newest.storage().collect_garbage(settings, now_ms())).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let [url, views] = ["table", "view"].map(|name| folder.path().join(name).display().to_string());
    let calls = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(boxed(|| every_call(&url, &views)));
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, calls).unwrap().join().unwrap();
    });
}
