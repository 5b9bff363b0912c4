//! Garbage collection deletes what no kept version needs, an age after it was condemned, and nothing else: not what another
//! table uses, not what a writer just stored, and not under the feet of a commit.

mod common;

use std::{path::Path, sync::Arc, time::Duration};

use arrow_array::{RecordBatch, UInt32Array};
use common::tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, rows_of, sensors, tiny_cuts, two_partitions};
use tetrys::{ErrorKind, Store, Table, TableWriter, WriteOptions, table::GcSettings};

const HOUR: Duration = Duration::from_secs(3600);

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

/// So many hours from now.
fn later(hours: i64) -> i64 {
    now() + hours * 3_600_000
}

fn keep(versions: usize) -> GcSettings {
    GcSettings { keep_versions: versions, age: HOUR }
}

/// A table whose labels were replaced twice.
async fn table(store: Store) -> (Vec<Table>, RecordBatch) {
    let (schema, partitions) = two_partitions(1);
    let first = tables::write(store, schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
    let (mut versions, mut rows) = (vec![first], joined(&partitions));
    for value in 1..3 {
        let mut columns = rows.columns().to_vec();
        columns[rows.schema().index_of("labels.count").unwrap()] = Arc::new(UInt32Array::from(vec![value; 20]));
        rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
        let mut writer = versions.last().unwrap().replace_group("labels", WriteOptions::default()).await.unwrap();
        writer.write(&rows).await.unwrap();
        versions.push(writer.commit().await.unwrap());
    }
    (versions, rows)
}

async fn assert_sound(table: &Table, written: &RecordBatch) {
    let table = Table::open_version(table.store().clone(), table.version()).await.unwrap();
    let all: Vec<u64> = (0..table.rows()).collect();
    let rows: Vec<_> = all.iter().copied().map(Some).collect();
    assert_rows(&table.row_loader().take(&all).await.unwrap(), written, &rows);
    assert!(table.verify(|_, _| {}).await.unwrap().damage.is_empty());
}

#[test]
fn what_is_condemned_is_deleted_an_age_later() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, rows) = table(store.clone()).await;
        let before = store.list("chunks").await.unwrap().len();
        // Too young, then old enough; a plan alone does nothing.
        assert!(Table::plan_garbage(&store, keep(1), now()).await.unwrap().condemn.is_empty());
        let plan = Table::plan_garbage(&store, keep(1), later(2)).await.unwrap();
        assert!(!plan.condemn.is_empty() && plan.delete.is_empty() && plan.expired == [2, 1], "{plan:?}");
        assert_eq!(Table::open_store(store.clone()).await.unwrap().version(), 3);
        let plan = Table::collect_garbage(&store, keep(1), later(2)).await.unwrap();
        assert!(plan.done && store.list("chunks").await.unwrap().len() == before);
        // Old versions are read until then.
        assert_sound(&versions[0], &joined(&two_partitions(1).1)).await;
        let plan = Table::collect_garbage(&store, keep(1), later(4)).await.unwrap();
        assert!(plan.done && !plan.delete.is_empty(), "{plan:?}");
        assert!(store.list("chunks").await.unwrap().len() < before);
        let newest = Table::open_store(store.clone()).await.unwrap();
        assert_sound(&newest, &rows).await;
        assert_eq!(Table::open_version(store.clone(), 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        // In the end nothing is left that no version names.
        for hours in [6, 8, 10] {
            Table::collect_garbage(&store, keep(1), later(hours)).await.unwrap();
        }
        let newest = Table::open_store(store.clone()).await.unwrap();
        assert_sound(&newest, &rows).await;
        assert_eq!(Table::usage(&store).await.unwrap().unnamed_bytes, 0);
        assert!(newest.version() >= 4, "numbers are never used again");
    });
}

#[test]
fn nothing_goes_where_all_versions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, _) = table(store.clone()).await;
        assert!(Table::plan_garbage(&store, GcSettings::default(), later(1_000)).await.unwrap().is_empty());
        versions[2].edit().tag("gold", 1).commit().await.unwrap();
        let plan = Table::plan_garbage(&store, keep(1), later(1_000)).await.unwrap();
        assert_eq!(plan.expired, [3, 2], "the tagged version stays");
    });
}

#[test]
fn a_version_that_another_table_uses_stays_until_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let owner = store(folder.path(), "owner");
        let (versions, _) = table(owner.clone()).await;
        let rows = joined(&two_partitions(1).1);
        let writer = TableWriter::create(store(folder.path(), "user"), sensors(), cut_by(tiny_cuts())).await.unwrap();
        let writer = writer.references([&versions[0]]).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows).await.unwrap();
        let user = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert_eq!(user.info().await.unwrap().own_chunk_bytes, 0);
        for hours in [2, 4, 6, 8] {
            let plan = Table::collect_garbage(&owner, keep(1), later(hours)).await.unwrap();
            assert_eq!(plan.pinned, [1], "{plan:?}");
        }
        assert_sound(&user, &rows).await;
        // Its own chunks: the tie is cut, and the version that had it is deleted.
        user.materialize(|_, _| {}).await.unwrap();
        for hours in [10, 12, 14] {
            Table::collect_garbage(user.store(), keep(1), later(hours)).await.unwrap();
        }
        for hours in [16, 18, 20] {
            Table::collect_garbage(&owner, keep(1), later(hours)).await.unwrap();
        }
        assert_eq!(owner.list("pins").await.unwrap(), []);
        assert_eq!(Table::open_version(owner.clone(), 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_sound(&Table::open_store(user.store().clone()).await.unwrap(), &rows).await;
    });
}

#[test]
fn a_commit_and_a_condemnation_do_not_pass_each_other() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, rows) = table(store.clone()).await;
        // A writer that began before the condemnation, and might use what it condemns.
        let mut writer = versions[2].replace_group("labels", WriteOptions::default()).await.unwrap();
        writer.write(&joined(&two_partitions(1).1)).await.unwrap();
        Table::collect_garbage(&store, keep(1), later(2)).await.unwrap();
        let error = writer.commit().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("garbage collection"), "{error}");
        // One that begins now does not find the condemned blocks, nor may it write them under their names.
        let newest = Table::open_store(store.clone()).await.unwrap();
        let mut writer = newest.replace_group("labels", WriteOptions::default()).await.unwrap();
        writer.write(&joined(&two_partitions(1).1)).await.unwrap();
        let error = writer.commit().await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("about to be deleted"), "{error}");
        // Others go on, and the condemnation stays.
        let appended = newest.append(WriteOptions::default()).await.unwrap();
        let mut partition = appended.partition().unwrap();
        partition.write(&rows_of(&sensors(), &mut Rng(5), &[("z", 3)], Taste::NOISE)).await.unwrap();
        let appended = appended.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert!(!appended.manifest().condemned.is_empty());
        Table::collect_garbage(&store, keep(1), later(4)).await.unwrap();
        let newest = Table::open_store(store.clone()).await.unwrap();
        assert_eq!(newest.rows(), rows.num_rows() as u64 + 3);
        assert!(newest.verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
}

#[test]
fn what_a_failed_writer_left_is_collected_and_what_a_new_one_has_is_not() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, rows) = table(store.clone()).await;
        let writer = versions[2].append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows_of(&sensors(), &mut Rng(6), &[("left", 9)], Taste::NOISE)).await.unwrap();
        partition.finish().await.unwrap();
        drop(writer);
        let plan = Table::plan_garbage(&store, GcSettings { age: HOUR, ..GcSettings::default() }, now()).await.unwrap();
        assert!(plan.is_empty() && plan.waiting > 0, "{plan:?}");
        for hours in [2, 4, 6] {
            Table::collect_garbage(&store, GcSettings { age: HOUR, ..GcSettings::default() }, later(hours)).await.unwrap();
        }
        let usage = Table::usage(&store).await.unwrap();
        assert_eq!((usage.unnamed_bytes, store.list("sessions").await.unwrap().len()), (0, 0));
        assert_sound(&Table::open_store(store).await.unwrap(), &rows).await;
    });
}
