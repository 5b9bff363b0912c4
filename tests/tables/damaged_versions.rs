//! A version whose manifest is damaged does not stop the others: changes, lists and sizes go on, garbage collection names it and stops
//! until it is restored or given up. And a session that wrote what a collection was deleting is refused.

use std::{sync::Arc, time::Duration};

use crate::common::tables::{block_on, memory, overwrite};
use arrow_array::{Int64Array, RecordBatch};
use object_store::{ObjectStoreExt, memory::InMemory};
use tetrys::{
    ErrorKind, Result, Schema, Store, Table, TableWriter, WriteOptions,
    format::manifest_name,
    table::{GcSettings, Storage, VerifyReach, Versions, now_ms},
};

fn rows(from: i64) -> RecordBatch {
    let column = || Arc::new(Int64Array::from_iter_values(from..from + 50)) as _;
    RecordBatch::try_from_iter([("id", column()), ("x", column())]).unwrap()
}

async fn commit(writer: TableWriter, from: i64) -> Result<Table> {
    let mut partition = writer.partition()?;
    partition.write(&rows(from)).await?;
    writer.commit([partition.finish().await?]).await
}

fn schema() -> Schema {
    Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build().unwrap()
}

async fn created(store: Store) -> Table {
    commit(Table::create_in(store, schema(), WriteOptions::default()).await.unwrap(), 0).await.unwrap()
}

fn collect(keep_versions: usize, hours: i64) -> (GcSettings, i64) {
    (GcSettings { keep_versions, age: Duration::from_secs(3600) }, now_ms() + hours * 3_600_000)
}

/// Inverts a byte in the middle of the manifest of a version.
async fn damage(raw: &InMemory, version: u64) {
    let name = manifest_name(version);
    let found = raw.get(&name.as_str().into()).await.unwrap().bytes().await.unwrap();
    let mut bytes = found.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    overwrite(raw, &name, &bytes).await;
}

#[test]
fn a_damaged_old_version_stops_nothing_but_garbage_collection() {
    block_on(async {
        let (raw, store) = memory();
        let mut table = created(store.clone()).await;
        for from in [100, 200, 300] {
            table = commit(table.append(WriteOptions::default()).await.unwrap(), from).await.unwrap();
        }
        table.edit().tag("gold", 3).commit().await.unwrap();
        damage(&raw, 2).await;
        let table = Table::open_in(store.clone()).await.unwrap();
        assert_eq!(Table::open_version_in(store.clone(), 2).await.unwrap_err().kind(), ErrorKind::Corrupt);

        let table = commit(table.append(WriteOptions::default()).await.unwrap(), 400).await.unwrap();
        let ticket = table.append(WriteOptions::default()).await.unwrap().ticket().unwrap();
        let table =
            commit(TableWriter::join(store.clone(), &ticket).unwrap().with_known_blocks().await.unwrap(), 500).await.unwrap();
        assert_eq!((table.version(), table.rows()), (7, 300));
        let table = commit(table.overwrite(schema(), WriteOptions::default()).await.unwrap(), 0).await.unwrap();

        let versions = Versions::of(&store).list().await.unwrap();
        assert_eq!(versions.iter().map(|version| version.version).collect::<Vec<_>>(), [8, 7, 6, 5, 4, 3, 2, 1]);
        let damaged: Vec<u64> =
            versions.iter().filter(|version| version.damage.is_some()).map(|version| version.version).collect();
        assert_eq!(damaged, [2]);
        assert_eq!(versions[5].tags, ["gold"]);
        let usage = Storage::of(&store).usage().await.unwrap();
        assert_eq!((usage.versions.len(), usage.damaged), (7, vec![2]));

        let (settings, now) = collect(1, 2);
        let error = Storage::of(&store).collect_garbage(settings, now).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("or give the version up (`tetrys gc --give-up 2`"), "{error}");
        for (version, kind, says) in [
            (8, ErrorKind::Invalid, "is the newest"),
            (1, ErrorKind::Invalid, "is sound; expected a damaged one"),
            (77, ErrorKind::NotFound, "no version 77"),
        ] {
            let error = table.versions().give_up(version).await.unwrap_err();
            assert!(error.kind() == kind && error.to_string().contains(says), "{version}: {error}");
        }
        damage(&raw, 3).await;
        let error = table.versions().give_up(3).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("has the tag `gold`"), "{error}");
        // Inverted twice, it is as before.
        damage(&raw, 3).await;
        table.versions().give_up(2).await.unwrap();
        for hours in [2, 4, 6, 8] {
            let (settings, now) = collect(1, hours);
            Storage::of(&store).collect_garbage(settings, now).await.unwrap();
        }
        let newest = Table::open_in(store.clone()).await.unwrap();
        let gold = Table::open_version_in(store.clone(), 3).await.unwrap();
        for table in [&newest, &gold] {
            assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
        }
        assert_eq!((newest.rows(), gold.rows()), (50, 150));
    });
}

#[test]
fn a_change_that_meets_another_one_of_the_same_handle_says_so() {
    block_on(async {
        let (_, store) = memory();
        let table = created(store.clone()).await;
        let dropped = table.overwrite(schema(), WriteOptions::default()).await.unwrap();
        commit(dropped, 100).await.unwrap();
        let again = table.overwrite(schema(), WriteOptions::default()).await.unwrap();
        let error = commit(again, 200).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("(version 2 was made by an earlier change of this same handle: "), "{error}");
        let other = Table::open_version_in(store, 1).await.unwrap();
        let error = commit(other.overwrite(schema(), WriteOptions::default()).await.unwrap(), 200).await.unwrap_err();
        assert!(!error.to_string().contains("same handle"), "{error}");
    });
}

#[test]
fn a_session_that_writes_what_a_collection_is_deleting_makes_objects_of_its_own() {
    block_on(async {
        let (_, store) = memory();
        let first = created(store.clone()).await;
        let second = {
            let writer = first.overwrite(schema(), WriteOptions::default()).await.unwrap();
            commit(writer, 1000).await.unwrap()
        };
        let gc = |hours: i64| {
            let (settings, now) = collect(1, hours);
            Storage::of(&store).collect_garbage(settings, now)
        };
        gc(2).await.unwrap();
        gc(4).await.unwrap();
        let deleting = Table::open_in(store.clone()).await.unwrap();
        let floor = deleting.manifest().collections.clone().unwrap().floor;
        assert!(deleting.version() > second.version() && floor > second.version(), "it deletes the first rows");
        let before = store.list("chunks").await.unwrap();

        // The session begins while the objects of the first rows are being deleted, and writes the same rows.
        let ticket = deleting.append(WriteOptions::default()).await.unwrap().ticket().unwrap();
        let worker = TableWriter::join(store.clone(), &ticket).unwrap();
        let mut partition = worker.partition_at(0).unwrap();
        partition.write(&rows(0)).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        let made = store.list("chunks").await.unwrap().into_iter().filter(|object| !before.contains(object)).count();
        assert_eq!(made, 1, "it has written a chunk of its own");
        let committed = TableWriter::join(store.clone(), &ticket).unwrap().commit([receipt]).await.unwrap();
        for hours in [4, 6, 8] {
            gc(hours).await.unwrap();
        }
        assert!(committed.storage().verify(|_, _| {}).await.unwrap().damage.is_empty(), "no version names what was deleted");
    });
}

/// Collects garbage three times, an age after one another, and checks that what is left is sound.
async fn collected(store: &Store) {
    for hours in [4, 6, 8] {
        let (settings, now) = collect(1, hours);
        Storage::of(store).collect_garbage(settings, now).await.unwrap();
    }
    assert!(Versions::of(store).list().await.unwrap().iter().all(|version| version.damage.is_none()));
    let reach = VerifyReach { all_versions: true, sources: false };
    let found = Table::open_in(store.clone()).await.unwrap().storage().verify_more(reach, |_, _| {}).await.unwrap();
    assert!(found.damage.is_empty(), "{found:?}");
}

#[test]
fn damaged_versions_are_given_up_one_by_one() {
    block_on(async {
        let (raw, store) = memory();
        let mut table = created(store.clone()).await;
        for from in [100, 200, 300, 400] {
            table = commit(table.append(WriteOptions::default()).await.unwrap(), from).await.unwrap();
        }
        damage(&raw, 2).await;
        damage(&raw, 4).await;
        for version in [2, 4] {
            let (settings, now) = collect(1, 2);
            let error = Storage::of(&store).collect_garbage(settings, now).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            Table::open_in(store.clone()).await.unwrap().versions().give_up(version).await.unwrap();
        }
        collected(&store).await;
        assert_eq!(Table::open_in(store).await.unwrap().rows(), table.rows());
    });
}

/// The newest manifest lists 64 ancestors. What is damaged beyond them, side by side, is not skipped.
#[test]
fn neighbouring_damaged_versions_of_long_ago_are_named_one_after_the_other() {
    block_on(async {
        let (raw, store) = memory();
        let first = created(store.clone()).await;
        commit(first.overwrite(schema(), WriteOptions::default()).await.unwrap(), 100).await.unwrap();
        let (settings, now) = collect(1, 2);
        Storage::of(&store).collect_garbage(settings, now).await.unwrap();
        let mut table = Table::open_in(store.clone()).await.unwrap();
        assert!(table.manifest().collections.is_some());
        let floor = table.version();
        for version in 0..80 {
            table = table.edit().set_property("version", version).commit().await.unwrap();
        }
        let damaged = [floor + 10, floor + 9, floor + 8];
        for version in damaged {
            damage(&raw, version).await;
        }
        for version in damaged {
            let (settings, now) = collect(1, 4);
            let error = Storage::of(&store).collect_garbage(settings, now).await.unwrap_err();
            let says = format!("what version {version} needs is unknown");
            assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&says), "{error}");
            Table::open_in(store.clone()).await.unwrap().versions().give_up(version).await.unwrap();
        }
        collected(&store).await;
    });
}

#[test]
fn a_lost_manifest_above_the_floor_stops_a_collection_until_it_is_given_up() {
    block_on(async {
        let (_, store) = memory();
        let first = created(store.clone()).await;
        let second = commit(first.overwrite(schema(), WriteOptions::default()).await.unwrap(), 100).await.unwrap();
        let (settings, now) = collect(1, 2);
        let plan = Storage::of(&store).collect_garbage(settings, now).await.unwrap();
        assert_eq!((second.version(), plan.expired), (2, vec![1]));
        for from in [300, 400] {
            let table = Table::open_in(store.clone()).await.unwrap();
            commit(table.append(WriteOptions::default()).await.unwrap(), from).await.unwrap();
        }
        store.delete(&manifest_name(4)).await.unwrap();
        let (settings, now) = collect(1, 4);
        let error = Storage::of(&store).collect_garbage(settings, now).await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::Corrupt && error.to_string().contains("manifest of version 4, which is kept, is missing")
        );
        Table::open_in(store.clone()).await.unwrap().versions().give_up(4).await.unwrap();
        collected(&store).await;
        assert_eq!(Table::open_in(store).await.unwrap().rows(), 150);
    });
}

#[test]
fn a_patch_and_a_deletion_say_whether_an_object_was_lost_or_collected() {
    let patch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![7])) as _),
        ("x", Arc::new(Int64Array::from(vec![70])) as _),
    ])
    .unwrap();
    let change = async |table: &Table, patches: bool| match patches {
        true => table.patch(&["id"], &patch, WriteOptions::default()).await,
        false => table.delete([7], WriteOptions::default()).await,
    };
    block_on(async {
        for patches in [true, false] {
            for folder in ["index", "layout", "hashes", "chunks"] {
                let (_, store) = memory();
                created(store.clone()).await;
                let (lost, _) = store.list(folder).await.unwrap().swap_remove(0);
                store.delete(&lost).await.unwrap();
                let error = change(&Table::open_in(store).await.unwrap(), patches).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{lost}, {patches}: {error}");
                assert!(error.to_string().contains(&lost), "{lost}, {patches}: {error}");
            }
            let (_, store) = memory();
            let first = created(store.clone()).await;
            let second = commit(first.overwrite(schema(), WriteOptions::default()).await.unwrap(), 100).await.unwrap();
            for hours in [2, 4, 6] {
                let (settings, now) = collect(1, hours);
                second.storage().collect_garbage(settings, now).await.unwrap();
            }
            let error = change(&first, patches).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{patches}: {error}");
        }
    });
}
