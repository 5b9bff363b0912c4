//! A restored version has the content of an earlier one, and costs a manifest.

use std::{path::Path, sync::Arc, time::Duration};

use crate::common::tables::{
    self, Rng, Taste, assert_reads, block_on, cut_by, joined, memory, over, rows_of, sensors, tiny_cuts, two_partitions,
};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch};
use arrow_select::concat::concat_batches;
use object_store::memory::InMemory;
use tetrys::{
    ErrorKind, Schema, Store, Table, WriteOptions,
    format::manifest_name,
    store::CountingStore,
    table::{GcSettings, now_ms},
};

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

/// Writes a table of twenty rows.
async fn table(store: Store) -> (Table, RecordBatch) {
    let (schema, partitions) = two_partitions(3);
    (tables::write(store, schema, cut_by(tiny_cuts()), &partitions).await.unwrap(), joined(&partitions))
}

async fn delete(table: &Table, rows: std::ops::Range<u64>) -> Table {
    table.delete(rows, WriteOptions::default()).await.unwrap()
}

fn keep(versions: usize) -> GcSettings {
    GcSettings { keep_versions: versions, age: Duration::from_secs(3600) }
}

fn later(hours: i64) -> i64 {
    now_ms() + 3_600_000 * hours
}

/// Writes other rows, with other columns, over a table.
async fn overwrite(table: &Table) -> Table {
    let schema = Schema::builder().index("id", "i64").group("g", [("g.x", "i64")]).build().unwrap();
    let writer = table.overwrite(schema, WriteOptions::default()).await.unwrap();
    let mut partition = writer.partition().unwrap();
    let column = || Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
    partition.write(&RecordBatch::try_from_iter([("id", column()), ("g.x", column())]).unwrap()).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

#[test]
fn rows_columns_and_properties_come_back_and_only_a_manifest_is_written() {
    block_on(async {
        let counting = CountingStore::new(InMemory::new());
        let (first, rows) = table(over(Arc::new(counting.clone()))).await;
        let first = first.edit().set_property("license", "CC0").commit().await.unwrap();
        let changed = first.edit().remove_property("license").tag("gold", 1).commit().await.unwrap();
        let other = overwrite(&delete(&changed, 3..9).await).await;
        let before: Vec<String> = tables::objects(first.store()).await.into_iter().map(|(name, _)| name).collect();
        counting.reset();
        let edited = other.edit().set_property("a", 1).commit().await.unwrap();
        let edit = counting.reset();
        let restored = edited.versions().restore(2).await.unwrap();
        let counts = counting.reset();
        // It also reads the earlier manifest.
        assert_eq!(counts.requests(), edit.requests() + 1, "{counts:?}, {edit:?}");
        let manifest = first.store().size(&manifest_name(7)).await.unwrap();
        assert_eq!((restored.version(), counts.bytes_written), (7, manifest));
        let new = tables::objects(first.store()).await.into_iter().map(|(name, _)| name).filter(|name| !before.contains(name));
        assert_eq!(new.collect::<Vec<_>>(), [manifest_name(7), manifest_name(6)]);
        assert_reads(&restored, &rows).await;
        assert_eq!(restored.properties(), first.properties());
        // The tags are those of the table, and the lineage says what was done.
        assert_eq!(restored.versions().tags()["gold"], 1);
        assert_eq!((&restored.lineage()["operation"], &restored.lineage()["restored"]), (&"restore".into(), &2.into()));
        assert_eq!(first.versions().list().await.unwrap()[0].bytes_added, Some(0));
        // A restore is taken back by another one.
        assert_eq!(restored.versions().restore(5).await.unwrap().schema().groups().len(), 1);
    });
}

#[test]
fn the_id_of_a_column_that_was_there_in_between_is_not_used_again() {
    block_on(async {
        let (first, _) = table(memory().1).await;
        let other = overwrite(&first).await;
        let restored = other.versions().restore(1).await.unwrap();
        let reopened = Table::open_in(restored.store().clone()).await.unwrap();
        let mut writer = reopened.add_group("more", [("more.x", "i64")], WriteOptions::default()).await.unwrap();
        let column = Arc::new(Int64Array::from_iter_values(0..20)) as ArrayRef;
        writer.write(&RecordBatch::try_from_iter([("more.x", column)]).unwrap()).await.unwrap();
        let more = writer.commit().await.unwrap();
        let used = other.schema().columns().iter().map(|column| column.id).max().unwrap();
        assert!(more.schema().column_named("more.x").unwrap().id > used);
        assert!(more.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
}

#[test]
fn nothing_is_restored_where_nothing_differs() {
    block_on(async {
        let (first, _) = table(memory().1).await;
        assert_eq!(first.versions().restore(1).await.unwrap().version(), 1);
        let restored = delete(&first, 0..2).await.versions().restore(1).await.unwrap();
        assert_eq!((restored.version(), restored.versions().restore(1).await.unwrap().version()), (3, 3));
    });
}

#[test]
fn a_version_that_was_collected_is_named_with_those_that_exist() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, _) = table(store(folder.path(), "t")).await;
        let newest = delete(&delete(&first, 0..2).await, 0..2).await;
        for version in [0, 9] {
            let error = newest.versions().restore(version).await.unwrap_err();
            let expected = format!("no version {version}: the newest is 3, and the first was 1");
            assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(&expected), "{error}");
        }
        for hours in [2, 4, 6] {
            first.storage().collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        let newest = Table::open_in(first.store().clone()).await.unwrap();
        let error = newest.versions().restore(1).await.unwrap_err();
        let expected = "no version 1: its manifest is missing; the table has 3, 4";
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(expected), "{error}");
    });
}

#[test]
fn what_is_condemned_is_kept_again_for_a_restored_version() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (first, rows) = table(store(folder.path(), "t")).await;
        overwrite(&first).await;
        assert!(!first.storage().collect_garbage(keep(1), later(2)).await.unwrap().condemn.is_empty());
        let newest = Table::open_in(first.store().clone()).await.unwrap();
        let restored = newest.versions().restore(1).await.unwrap();
        for hours in [4, 6, 8] {
            first.storage().collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        assert!(Table::open_version_in(first.store().clone(), 1).await.is_err(), "version 1 itself is not kept");
        assert_reads(&Table::open_version_in(first.store().clone(), restored.version()).await.unwrap(), &rows).await;
    });
}

#[test]
fn another_writer_comes_first_or_stands_behind_the_restored_rows() {
    block_on(async {
        let (first, rows) = table(memory().1).await;
        let second = delete(&first, 3..9).await;
        let writer = second.append(WriteOptions::default()).await.unwrap();
        let more = rows_of(&sensors(), &mut Rng(5), &[("x", 4)], Taste::SMALL);
        let mut partition = writer.partition().unwrap();
        partition.write(&more).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        let restored = second.versions().restore(1).await.unwrap();
        // A restore never overwrites what it did not see.
        let error = second.versions().restore(1).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("version 3 was committed"), "{error}");
        // An append that began before it goes on top of it.
        let longer = writer.commit([receipt]).await.unwrap();
        assert_eq!((restored.version(), longer.version()), (3, 4));
        assert_reads(&longer, &concat_batches(&rows.schema(), [&rows, &more]).unwrap()).await;
    });
}

#[test]
fn chunks_of_another_table_are_referenced_and_pinned_again() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (owner, rows) = table(store(folder.path(), "owner")).await;
        let (schema, partitions) = two_partitions(3);
        let user = Table::create_in(store(folder.path(), "user"), schema, cut_by(tiny_cuts())).await.unwrap();
        let user = user.references([&owner]).await.unwrap();
        let mut receipts = Vec::new();
        for batch in &partitions {
            let mut partition = user.partition().unwrap();
            partition.write(batch).await.unwrap();
            receipts.push(partition.finish().await.unwrap());
        }
        let user = user.commit(receipts).await.unwrap();
        assert_eq!(user.storage().owners().len(), 1);
        let own = user.storage().materialize(|_, _| {}).await.unwrap();
        let pins = owner.store().list("pins").await.unwrap().len();
        let restored = own.versions().restore(1).await.unwrap();
        assert_eq!(
            (restored.storage().owners(), owner.store().list("pins").await.unwrap().len()),
            (user.storage().owners(), pins + 1)
        );
        assert_reads(&restored, &rows).await;
        // Without the owner the version cannot be restored, and leaves no manifest.
        std::fs::remove_dir_all(folder.path().join("owner")).unwrap();
        let own = restored.versions().restore(2).await.unwrap();
        let error = own.versions().restore(1).await.unwrap_err();
        assert!(error.to_string().contains("owner"), "{error}");
        assert_eq!(Table::open_in(own.store().clone()).await.unwrap().version(), 4);
    });
}

/// The newest version may go on to use what its owner gives up and has not deleted; an earlier one, whose pin may be gone, may not.
#[test]
fn nothing_is_restored_that_an_owner_gives_up() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (owner, rows) = table(store(folder.path(), "owner")).await;
        let (schema, partitions) = two_partitions(3);
        let user = Table::create_in(store(folder.path(), "user"), schema, cut_by(tiny_cuts())).await.unwrap();
        let user = user.references([&owner]).await.unwrap();
        let mut receipts = Vec::new();
        for batch in &partitions {
            let mut partition = user.partition().unwrap();
            partition.write(batch).await.unwrap();
            receipts.push(partition.finish().await.unwrap());
        }
        let user = user.commit(receipts).await.unwrap();
        let own = user.storage().materialize(|_, _| {}).await.unwrap();
        // The owner lost the pin, and gives its first version up.
        std::fs::remove_dir_all(folder.path().join("owner/pins")).unwrap();
        overwrite(&owner).await;
        let plan = owner.storage().collect_garbage(keep(1), later(2)).await.unwrap();
        assert_eq!((plan.expired.as_slice(), plan.delete.len()), (&[1][..], 0));
        let error = own.versions().restore(1).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("owner"), "{error}");
        assert_eq!(Table::open_in(own.store().clone()).await.unwrap().version(), 2);
        // A change of the version that uses it goes on, and puts a pin, which keeps it.
        std::fs::remove_file(folder.path().join("user").join(manifest_name(2))).unwrap();
        let edited = user.edit().set_property("a", 1).commit().await.unwrap();
        for hours in [4, 6, 8] {
            owner.storage().collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        assert_reads(&edited, &rows).await;
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_view_reads_its_earlier_rows_again() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (table, _) = table(store(folder.path(), "t")).await;
        let url = folder.path().join("view").display().to_string();
        let logs = |log: &str| table.index().filter_sql(format!("log = '{log}'"));
        let first = logs("a").await.unwrap().save(&url).await.unwrap().table;
        let second = logs("b").await.unwrap().save(&first).await.unwrap().table;
        let restored = second.versions().restore(1).await.unwrap();
        assert_eq!((restored.version(), restored.rows(), second.rows()), (3, 7, 1));
        // The rows of a view are read through its index.
        let logs: Vec<RecordBatch> = restored.index_batches().await.unwrap().collect::<Result<_, _>>().unwrap();
        let log = logs[0].column_by_name("log").unwrap();
        assert_eq!(log.as_any().downcast_ref::<LargeStringArray>().unwrap().value(6), "a");
        assert_eq!(restored.row_loader().take(&[6]).await.unwrap().len(), 1);
    });
}
