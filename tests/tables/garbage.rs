//! Garbage collection deletes the objects that no kept version needs, some time after it has condemned them. It never deletes
//! objects that another table uses, that a writer has just stored, or that a concurrent commit needs.

use crate::common;
use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::common::{
    hooked::{Act, Hooked, no_answer},
    tables::{self, Rng, Taste, assert_rows, block_on, cut_by, joined, of_group, rows_of, sensors, tiny_cuts, two_partitions},
};
use arrow_array::{RecordBatch, UInt32Array};
use object_store::{ObjectStore, local::LocalFileSystem, memory::InMemory, path::Path as ObjectPath};
use tetrys::{
    ErrorKind, Store, StoreOptions, Table, WriteOptions,
    format::{Lists, StoredLists},
    store::CountingStore,
    table::{Fate, GcSettings, Storage, Versions},
};

const HOUR: Duration = Duration::from_secs(3600);
/// A name that the hash of an object could have, and one that the folder of a session could have.
const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const SESSION: &str = "sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8";

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

/// Returns a new store in memory.
fn memory(name: &str) -> Store {
    Store::new(Arc::new(InMemory::new()), "t".into(), format!("memory://{name}/t"))
}

fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

/// Returns the time this many hours from now.
fn later(hours: i64) -> i64 {
    now() + hours * 3_600_000
}

fn keep(versions: usize) -> GcSettings {
    GcSettings { keep_versions: versions, age: HOUR }
}

/// Writes a table and replaces its labels twice.
async fn table(store: Store) -> (Vec<Table>, RecordBatch) {
    table_with(store, cut_by(tiny_cuts())).await
}

async fn table_with(store: Store, options: WriteOptions) -> (Vec<Table>, RecordBatch) {
    let (schema, partitions) = two_partitions(1);
    let first = tables::write(store, schema, options, &partitions).await.unwrap();
    let (mut versions, mut rows) = (vec![first], joined(&partitions));
    for value in 1..3 {
        let mut columns = rows.columns().to_vec();
        columns[rows.schema().index_of("labels.count").unwrap()] = Arc::new(UInt32Array::from(vec![value; 20]));
        rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
        let mut writer = versions.last().unwrap().replace_group("labels", WriteOptions::default()).await.unwrap();
        writer.write(&of_group(&rows, "labels")).await.unwrap();
        versions.push(writer.commit().await.unwrap());
    }
    (versions, rows)
}

async fn assert_sound(table: &Table, written: &RecordBatch) {
    let table = Table::open_version_in(table.store().clone(), table.version()).await.unwrap();
    let all: Vec<u64> = (0..table.rows()).collect();
    let rows: Vec<_> = all.iter().copied().map(Some).collect();
    assert_rows(&table.row_loader().take(&all).await.unwrap(), written, &rows);
    assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
}

#[test]
fn a_reader_of_a_collected_version_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (versions, _) = table(store(folder.path(), "table")).await;
        let old = &versions[1];
        // The reader has the layouts, and no chunk yet.
        for group in 0..old.schema().groups().len() {
            old.storage().layout(group).await.unwrap();
        }
        let loader = old.row_loader();
        for hours in [0, 2, 4, 6] {
            Storage::of(&store(folder.path(), "table")).collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        let expected = "version 2 was deleted by a garbage collection; open the newest version";
        for error in [
            loader.get_row(3).await.unwrap_err(),
            loader.take(&[1, 2]).await.unwrap_err(),
            loader.get_rows(5, -2..=0).await.unwrap_err(),
        ] {
            assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains(expected), "{error}");
        }
        // A chunk that only got lost is damage.
        let newest = Table::open_in(store(folder.path(), "table")).await.unwrap();
        std::fs::remove_dir_all(folder.path().join("table/chunks")).unwrap();
        assert_eq!(newest.row_loader().get_row(3).await.unwrap_err().kind(), ErrorKind::Corrupt);
    });
}

#[test]
fn what_is_condemned_is_deleted_an_age_later() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, rows) = table(store.clone()).await;
        let before = store.list("chunks").await.unwrap().len();
        // The objects are too young, and later old enough. A plan alone deletes nothing.
        assert!(Storage::of(&store).plan_garbage(keep(1), now()).await.unwrap().condemn.is_empty());
        let plan = Storage::of(&store).plan_garbage(keep(1), later(2)).await.unwrap();
        assert!(!plan.condemn.is_empty() && plan.delete.is_empty() && plan.expired == [2, 1], "{plan:?}");
        assert_eq!(Table::open_in(store.clone()).await.unwrap().version(), 3);
        let plan = Storage::of(&store).collect_garbage(keep(1), later(2)).await.unwrap();
        assert!(plan.done && store.list("chunks").await.unwrap().len() == before);
        // Old versions can be read until they are deleted.
        assert_sound(&versions[0], &joined(&two_partitions(1).1)).await;
        let plan = Storage::of(&store).collect_garbage(keep(1), later(4)).await.unwrap();
        assert!(plan.done && !plan.delete.is_empty(), "{plan:?}");
        assert!(store.list("chunks").await.unwrap().len() < before);
        let newest = Table::open_in(store.clone()).await.unwrap();
        assert_sound(&newest, &rows).await;
        assert_eq!(Table::open_version_in(store.clone(), 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        // In the end, only objects that a version names are left.
        for hours in [6, 8, 10] {
            Storage::of(&store).collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        let newest = Table::open_in(store.clone()).await.unwrap();
        assert_sound(&newest, &rows).await;
        assert_eq!(Storage::of(&store).usage().await.unwrap().unnamed_bytes, 0);
        assert!(newest.version() >= 4, "numbers are never used again");
    });
}

#[test]
fn nothing_goes_where_all_versions_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let (versions, _) = table(store.clone()).await;
        assert!(Storage::of(&store).plan_garbage(GcSettings::default(), later(1_000)).await.unwrap().is_empty());
        let plan = Storage::of(&store).collect_garbage(GcSettings::default(), later(1_000)).await.unwrap();
        assert!(plan.is_empty() && plan.done, "{plan:?}");
        versions[2].edit().tag("gold", 1).commit().await.unwrap();
        let plan = Storage::of(&store).plan_garbage(keep(1), later(1_000)).await.unwrap();
        assert_eq!(plan.expired, [3, 2], "the tagged version stays");
    });
}

#[test]
fn a_version_of_a_collection_lives_as_long_as_the_version_whose_rows_it_repeats() {
    block_on(async {
        let store = memory("repeats");
        let (versions, _) = table(store.clone()).await;
        append(&versions[2], 1).await.unwrap();
        let all = GcSettings { keep_versions: 0, age: HOUR };
        // What a writer left is condemned and marked: versions 5 and 6 repeat version 4.
        let left = format!("hashes/{HASH}.parquet");
        store.put_new(&left, "left".into()).await.unwrap();
        for hours in [2, 4] {
            Storage::of(&store).collect_garbage(all, later(hours)).await.unwrap();
        }
        assert!(!store.list("hashes").await.unwrap().iter().any(|(name, _)| *name == left));
        assert_eq!(numbers(&store).await, [6, 5, 4, 3, 2, 1]);
        let newest = append(&Table::open_in(store.clone()).await.unwrap(), 2).await.unwrap();
        assert_eq!(newest.version(), 7);
        for (keep_versions, expired) in [(0, vec![]), (9, vec![]), (4, vec![1]), (2, vec![3, 2, 1]), (1, vec![6, 5, 4, 3, 2, 1])]
        {
            let plan = Storage::of(&store).plan_garbage(GcSettings { keep_versions, age: HOUR }, later(4)).await.unwrap();
            assert_eq!(plan.expired, expired, "keep {keep_versions}");
        }
        newest.edit().tag("gold", 4).commit().await.unwrap();
        let plan = Storage::of(&store).plan_garbage(keep(1), later(4)).await.unwrap();
        assert_eq!(plan.expired, [7, 3, 2, 1], "versions 5 and 6 stay with version 4");
    });
}

#[test]
fn a_kept_version_of_a_later_build_stops_the_collection() {
    block_on(async {
        let (objects, store) = tables::memory();
        let (versions, _) = table(store.clone()).await;
        let name = tetrys::format::manifest_name(2);
        let text = store.get(&name, 1 << 20).await.unwrap();
        let mut manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        manifest.as_object_mut().unwrap().remove("blake3");
        manifest["write_features"] = serde_json::json!(["stars"]);
        let json = serde_json::to_vec(&manifest).unwrap();
        let body = json.strip_suffix(b"}").unwrap();
        let sealed = [body, format!(",\"blake3\":\"{}\"}}\n", tetrys::id::Hash::of(body)).as_bytes()].concat();
        tables::overwrite(&*objects, &name, &sealed).await;
        store.put_new(&format!("hashes/{HASH}.parquet"), "an object of version 2".into()).await.unwrap();
        for settings in [keep(0), keep(2)] {
            let error = Storage::of(&store).collect_garbage(settings, later(2)).await.unwrap_err();
            let text = error.to_string();
            assert!(error.kind() == ErrorKind::Unsupported && text.contains("version 2") && text.contains("`stars`"), "{text}");
        }
        assert_eq!(Table::open_in(store).await.unwrap().version(), versions.len() as u64);
    });
}

#[test]
fn a_version_that_was_deleted_gets_no_tag() {
    block_on(async {
        let store = memory("tags");
        let (versions, _) = table(store.clone()).await;
        collect_all(&store, 1).await;
        let newest = Table::open_in(store.clone()).await.unwrap();
        assert!(!numbers(&store).await.contains(&1));
        let error = newest.edit().tag("gold", 1).commit().await.unwrap_err();
        assert!(
            error.kind() == ErrorKind::NotFound && error.to_string().contains("no version 1: its manifest is missing"),
            "{error}"
        );
        let error = versions[2].edit().tag("gold", 1).commit().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "of a version that is not the newest: {error}");
        assert_eq!(Table::open_in(store).await.unwrap().version(), newest.version());
        assert_eq!(newest.edit().tag("gold", 3).commit().await.unwrap().versions().tags()["gold"], 3);
    });
}

/// Writes a table with the rows of the owner's first version, which uses the chunks of that version.
async fn user_of(owner: &Table, store: Store) -> (Table, RecordBatch) {
    let rows = joined(&two_partitions(1).1);
    let writer = Table::create_in(store, sensors(), cut_by(tiny_cuts())).await.unwrap();
    let writer = writer.references([owner]).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&rows).await.unwrap();
    let user = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
    assert_eq!(user.info().await.unwrap().own_chunk_bytes, 0);
    (user, rows)
}

#[test]
fn nothing_is_bound_to_a_version_that_is_being_collected() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (versions, _) = table(store(folder.path(), "owner")).await;
        let (user, rows) = user_of(&versions[0], store(folder.path(), "user")).await;
        // The owner was copied to another place without its pins, and a garbage collection there is deleting its first version.
        std::fs::rename(folder.path().join("owner"), folder.path().join("moved")).unwrap();
        std::fs::remove_dir_all(folder.path().join("moved/pins")).unwrap();
        let moved = store(folder.path(), "moved");
        Storage::of(&moved).collect_garbage(keep(1), later(2)).await.unwrap();
        let files: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new_with_prefix(folder.path().join("moved")).unwrap());
        let no_deletes = |_: u64, verb: &str, _: &str| if verb == "delete" { Act::Before(no_answer()) } else { Act::Pass };
        let dying = Store::new(Arc::new(Hooked::new(files, no_deletes)), ObjectPath::default(), moved.url());
        Storage::of(&dying).collect_garbage(keep(1), later(4)).await.unwrap_err();
        let error = user.rebind([moved.url()]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("version 1 is given up"), "{error}");
        assert_eq!((numbers(user.store()).await, moved.list("pins").await.unwrap()), (vec![1], Vec::new()));
        // If the version is not given up, the rebind succeeds, and the version stays whole from then on.
        std::fs::remove_dir_all(folder.path().join("moved")).unwrap();
        let (versions, _) = table(store(folder.path(), "owner")).await;
        let (user, _) = user_of(&versions[0], store(folder.path(), "another")).await;
        std::fs::rename(folder.path().join("owner"), folder.path().join("moved")).unwrap();
        std::fs::remove_dir_all(folder.path().join("moved/pins")).unwrap();
        let bound = user.rebind([moved.url()]).await.unwrap();
        for hours in [2, 4, 6, 8] {
            let plan = Storage::of(&moved).collect_garbage(keep(1), later(hours)).await.unwrap();
            assert_eq!(plan.pinned, [1], "{plan:?}");
        }
        assert_sound(&bound, &rows).await;
    });
}

#[test]
fn a_version_that_another_table_uses_stays_until_that_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let owner = store(folder.path(), "owner");
        let (versions, _) = table(owner.clone()).await;
        let (user, rows) = user_of(&versions[0], store(folder.path(), "user")).await;
        for hours in [2, 4, 6, 8] {
            let plan = Storage::of(&owner).collect_garbage(keep(1), later(hours)).await.unwrap();
            assert_eq!(plan.pinned, [1], "{plan:?}");
        }
        assert_sound(&user, &rows).await;
        // The user copies the chunks into its own table. Then the version that refers to the owner is deleted.
        user.storage().materialize(|_, _| {}).await.unwrap();
        for hours in [10, 12, 14] {
            user.storage().collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        for hours in [16, 18, 20] {
            Storage::of(&owner).collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        assert_eq!(owner.list("pins").await.unwrap(), []);
        assert_eq!(Table::open_version_in(owner.clone(), 1).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_sound(&Table::open_in(user.store().clone()).await.unwrap(), &rows).await;
    });
}

/// A pin of a table in another store stays until somebody allows a look there.
#[test]
fn a_pin_of_a_version_that_was_deleted_in_another_store_goes_where_that_store_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (versions, _) = table(store(folder.path(), "owner")).await;
        let elsewhere = Store::open("memory://pins-elsewhere/user").unwrap();
        let (user, rows) = user_of(&versions[0], elsewhere.clone()).await;
        let allowed = StoreOptions::only::<String, String>([]).allow(["memory://pins-elsewhere"]);
        let allowed = Store::open_with(folder.path().join("owner").to_str().unwrap(), &allowed).unwrap();
        let pins_to_sweep = async |store: &Store| {
            let plan = Storage::of(store).plan_garbage(keep(1), later(2)).await.unwrap();
            plan.sweep.into_keys().filter(|name| name.starts_with("pins/")).count()
        };
        assert_eq!(pins_to_sweep(&allowed).await, 0, "the version that uses the owner is there");
        let writer = user.overwrite(sensors(), cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows).await.unwrap();
        writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        collect_all(&elsewhere, 1).await;
        assert!(!numbers(&elsewhere).await.contains(&1));
        assert_eq!(pins_to_sweep(&store(folder.path(), "owner")).await, 0, "nobody has allowed that store");
        assert_eq!(pins_to_sweep(&allowed).await, 1);
    });
}

/// Collects garbage without an age, until there is nothing to do. Returns the number of runs that were needed.
async fn collect_all(store: &Store, versions: usize) -> usize {
    let settings = GcSettings { keep_versions: versions, age: Duration::ZERO };
    for run in 0..12 {
        if Storage::of(store).collect_garbage(settings, now()).await.unwrap().is_empty() {
            return run;
        }
    }
    panic!("garbage collection does not come to an end");
}

async fn append(table: &Table, seed: u64) -> tetrys::Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    let log = format!("log{seed}");
    partition.write(&rows_of(&sensors(), &mut Rng(seed), &[(log.as_str(), 3)], Taste::NOISE)).await?;
    writer.commit([partition.finish().await?]).await
}

async fn numbers(store: &Store) -> Vec<u64> {
    Versions::of(store).list().await.unwrap().iter().map(|version| version.version).collect()
}

/// Asserts that every listed version can be read completely.
async fn assert_all_sound(store: &Store) {
    for version in numbers(store).await {
        let table = Table::open_version_in(store.clone(), version).await.unwrap();
        let report = table.storage().verify(|_, _| {}).await.unwrap();
        assert!(report.damage.is_empty(), "version {version}: {:?}", report.damage);
    }
    Storage::of(store).usage().await.unwrap();
}

#[test]
fn a_change_of_an_old_version_never_takes_a_number_that_was_used() {
    block_on(async {
        for change in 0..6 {
            let store = memory("old");
            let (versions, rows) = table(store.clone()).await;
            versions[2].edit().tag("gold", 1).commit().await.unwrap();
            let mut newest = Table::open_in(store.clone()).await.unwrap();
            for seed in 10..13 {
                newest = append(&newest, seed).await.unwrap();
            }
            collect_all(&store, 1).await;
            let before = Table::open_in(store.clone()).await.unwrap();
            let gold = Table::open_tag_in(store.clone(), "gold").await.unwrap();
            assert!(gold.version() == 1 && !numbers(&store).await.contains(&2));
            let changed = match change {
                0 => append(&gold, 20).await,
                1 => gold.edit().set_property("a", 1).commit().await,
                2 => gold.delete([0], WriteOptions::default()).await,
                3 => {
                    let mut writer = gold.replace_group("labels", WriteOptions::default()).await.unwrap();
                    writer.write(&of_group(&rows, "labels")).await.unwrap();
                    writer.commit().await
                }
                4 => gold.edit().rename_column("labels.note", "labels.text").commit().await,
                _ => {
                    let writer = gold.overwrite(sensors(), WriteOptions::default()).await.unwrap();
                    let mut partition = writer.partition().unwrap();
                    partition.write(&rows).await.unwrap();
                    writer.commit([partition.finish().await.unwrap()]).await
                }
            };
            let after = Table::open_in(store.clone()).await.unwrap();
            match changed {
                Ok(changed) => {
                    assert_eq!(changed.version(), before.version() + 1, "change {change}");
                    let parent = changed.manifest().parent.clone().unwrap();
                    assert_eq!((parent.version, parent.blake3), (before.version(), before.manifest_hash()));
                    assert_eq!(after.manifest().commit_id, changed.manifest().commit_id);
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "change {change}: {error}");
                    assert_eq!(after.version(), before.version());
                }
            }
            assert!(change != 0 && change != 1 || after.version() > before.version(), "change {change} can be put on top");
            assert_all_sound(&store).await;
        }
    });
}

#[test]
fn no_sequence_of_changes_and_collections_wedges_a_table() {
    let mut rng = Rng(common::seed());
    block_on(async {
        for history in 0..if common::full() { 12 } else { 4 } {
            let store = memory("wedge");
            let (versions, rows) = table(store.clone()).await;
            let (mut left, mut log) = (versions, Vec::new());
            for _ in 0..6 {
                let base = rng.pick(&left).clone();
                let newest = Table::open_in(store.clone()).await.unwrap();
                let step = rng.below(7);
                log.push((step, base.version(), newest.version()));
                let changed = match step {
                    0 => append(&newest, rng.next()).await,
                    1 => append(&base, rng.next()).await,
                    2 => newest.edit().tag("gold", 1 + rng.below(newest.version())).commit().await,
                    3 => {
                        let writer = newest.overwrite(sensors(), WriteOptions::default()).await.unwrap();
                        let mut partition = writer.partition().unwrap();
                        partition.write(&rows).await.unwrap();
                        writer.commit([partition.finish().await.unwrap()]).await
                    }
                    _ => {
                        let keep = 1 + rng.below(3) as usize;
                        let settings = GcSettings { keep_versions: keep, age: Duration::ZERO };
                        Storage::of(&store).collect_garbage(settings, now()).await.map(|_| newest.clone())
                    }
                };
                match changed {
                    Ok(changed) => left.push(changed),
                    // A tag for a version that a collection has deleted.
                    Err(error) if step == 2 && error.kind() == ErrorKind::NotFound => {
                        assert!(error.to_string().contains("its manifest is missing; tag a version that exists"), "{error}");
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "history {history} {log:?}: {error}"),
                }
                assert_all_sound(&store).await;
            }
            collect_all(&store, 1).await;
            assert_all_sound(&store).await;
            assert_eq!(Storage::of(&store).usage().await.unwrap().unnamed_bytes, 0, "history {history} {log:?}");
        }
    });
}

#[test]
fn collections_do_not_count_as_versions_and_leave_no_trail_behind_the_kept_ones() {
    block_on(async {
        let store = memory("trail");
        let (versions, _) = table(store.clone()).await;
        let mut newest = versions[2].clone();
        for seed in 10..13 {
            newest = append(&newest, seed).await.unwrap();
        }
        for _ in 0..4 {
            collect_all(&store, 3).await;
        }
        // The versions of collections stay with version 6, whose rows they repeat.
        let left = numbers(&store).await;
        assert!(left[0] > 6 && left.iter().copied().eq((4..=left[0]).rev()), "{left:?}");
        assert_eq!(Table::open_version_in(store.clone(), left[0]).await.unwrap().rows(), newest.rows());
        let plan = Storage::of(&store).plan_garbage(GcSettings { keep_versions: 3, age: Duration::ZERO }, now()).await.unwrap();
        assert!(plan.is_empty() && plan.expired.is_empty(), "{plan:?}");
        let manifest = Table::open_in(store.clone()).await.unwrap().manifest().clone();
        assert!(manifest.condemned.is_empty() && manifest.deleting.is_none(), "a table that is tidy announces nothing");
        let mut appended = Vec::new();
        for seed in 20..23 {
            appended.push(append(&Table::open_in(store.clone()).await.unwrap(), seed).await.unwrap().version());
        }
        for _ in 0..4 {
            collect_all(&store, 3).await;
        }
        let left = numbers(&store).await;
        assert_eq!(left.last(), appended.first(), "{left:?}");
    });
}

fn lists(table: &Table) -> Lists {
    match table.manifest().collections.clone().expect("there was a collection").lists {
        StoredLists::Here(lists) => lists,
        StoredLists::Object(_) => panic!("the lists are short"),
    }
}

async fn labels_of_the_first(base: &Table) -> tetrys::Result<Table> {
    let mut writer = base.replace_group("labels", WriteOptions::default()).await?;
    writer.write(&of_group(&joined(&two_partitions(1).1), "labels")).await?;
    writer.commit().await
}

#[test]
fn a_commit_takes_back_what_it_needs_and_writes_what_is_gone_again() {
    block_on(async {
        let store = memory("withdraw");
        let (versions, _) = table(store.clone()).await;
        // Condemned objects are needed by a writer that began before the condemnation, and by a writer that begins after it.
        let mut writer = versions[2].replace_group("labels", WriteOptions::default()).await.unwrap();
        writer.write(&of_group(&joined(&two_partitions(1).1), "labels")).await.unwrap();
        Storage::of(&store).collect_garbage(keep(1), later(2)).await.unwrap();
        let first = writer.commit().await.unwrap();
        assert_sound(&first, &joined(&two_partitions(1).1)).await;
        let lists = lists(&first);
        assert!(!lists.condemned.is_empty(), "the rest stays condemned");
        let names: Vec<String> = lists.condemned.iter().map(|given_up| given_up.object.name()).collect();
        assert!(first.storage().objects().await.unwrap().keys().all(|name| !names.contains(name)));
        // The same rows can be written again while they are being deleted, and the collection deletes nothing of that.
        let second = append(&first, 30).await.unwrap();
        let overwritten = second.delete(0..second.rows(), WriteOptions::default()).await.unwrap();
        Storage::of(&store).collect_garbage(keep(1), later(4)).await.unwrap();
        drop(overwritten);
        let marked = Storage::of(&store).collect_garbage(keep(1), later(6)).await.unwrap();
        assert!(!marked.delete.is_empty());
        let newest = Table::open_in(store.clone()).await.unwrap();
        let write = async |newest: &Table| {
            let writer = newest.overwrite(sensors(), cut_by(tiny_cuts())).await?;
            let mut receipts = Vec::new();
            for rows in two_partitions(1).1 {
                let mut partition = writer.partition()?;
                partition.write(&rows).await?;
                receipts.push(partition.finish().await?);
            }
            writer.commit(receipts).await
        };
        let again = write(&newest).await.unwrap();
        for hours in [8, 10] {
            Storage::of(&store).collect_garbage(keep(1), later(hours)).await.unwrap();
        }
        assert_sound(&again, &joined(&two_partitions(1).1)).await;
        assert_all_sound(&store).await;
    });
}

#[test]
fn a_collection_that_a_crash_stopped_is_finished_by_the_next_one() {
    // Each delete of the second collection fails in turn, together with all deletes after it.
    for stop in 0..200 {
        let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let deletes = AtomicU64::new(0);
        let hook = move |_: u64, verb: &str, _: &str| match verb == "delete" && deletes.fetch_add(1, Ordering::Relaxed) >= stop {
            true => Act::Before(no_answer()),
            false => Act::Pass,
        };
        let whole = block_on(async {
            let store = Store::new(Arc::clone(&objects), "t".into(), "memory://crash/t");
            let dying = Store::new(Arc::new(Hooked::new(Arc::clone(&objects), hook)), "t".into(), "memory://crash/t");
            table(store.clone()).await;
            Storage::of(&store).collect_garbage(keep(1), later(2)).await.unwrap();
            let died = Storage::of(&dying).collect_garbage(keep(1), later(4)).await;
            assert_all_sound(&store).await;
            for hours in [6, 8, 10, 12] {
                Storage::of(&store).collect_garbage(keep(1), later(hours)).await.unwrap();
                assert_all_sound(&store).await;
            }
            assert_eq!(Storage::of(&store).usage().await.unwrap().unnamed_bytes, 0);
            died.is_ok()
        });
        if whole {
            assert!(stop > 5, "{stop} deletes");
            return;
        }
    }
    panic!("a collection of more than 200 deletes");
}

/// An action of another process at one moment.
type Meanwhile = Arc<dyn Fn() + Send + Sync>;

/// Returns a store of the same objects that runs `meanwhile` just before operation number `at`.
fn interrupted(objects: &Arc<dyn ObjectStore>, at: u64, meanwhile: Meanwhile) -> (Store, Hooked) {
    let hook = move |number: u64, _: &str, _: &str| {
        if number == at {
            let meanwhile = Arc::clone(&meanwhile);
            std::thread::spawn(move || meanwhile()).join().unwrap();
        }
        Act::Pass
    };
    let hooked = Hooked::new(Arc::clone(objects), hook);
    (Store::new(Arc::new(hooked.clone()), "t".into(), "memory://between/t"), hooked)
}

fn plain(objects: &Arc<dyn ObjectStore>) -> Store {
    Store::new(Arc::clone(objects), "t".into(), "memory://between/t")
}

/// Returns an action that runs this many collections.
fn collections(objects: &Arc<dyn ObjectStore>, count: usize) -> Meanwhile {
    let store = plain(objects);
    Arc::new(move || {
        let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
        for _ in 0..count {
            block_on(Storage::of(&store).collect_garbage(settings, now())).unwrap();
        }
    })
}

/// Returns the operations to interrupt: all of them in a full run, otherwise every fifth, with a start that depends on the seed.
fn moments() -> impl Iterator<Item = u64> {
    let step = if common::full() { 1 } else { 5 };
    (common::seed() % step..).step_by(step as usize)
}

#[test]
fn collections_at_any_moment_of_a_commit_lose_nothing() {
    // A rollback to rows that only an old version has is interrupted at each operation, by one collection or by two.
    for count in [1, 2] {
        for at in moments() {
            let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let base = block_on(table_with(plain(&objects), WriteOptions::default())).0.pop().unwrap();
            let (store, hooked) = interrupted(&objects, at, collections(&objects, count));
            let done = block_on(async {
                let base = Table::open_version_in(store.clone(), base.version()).await?;
                labels_of_the_first(&base).await
            });
            block_on(async {
                let place = format!("{count} collections before operation {at}");
                let newest = Table::open_in(plain(&objects)).await.unwrap();
                match done {
                    Ok(done) => {
                        // A collection after the claim makes a version of its own, with the same rows.
                        let fate =
                            Versions::of(&plain(&objects)).fate_of(done.version(), done.manifest().commit_id).await.unwrap();
                        assert_eq!(fate, Fate::Committed, "{place}: a lost commit");
                        for table in [&done, &newest] {
                            assert_sound(table, &joined(&two_partitions(1).1)).await;
                        }
                    }
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{place}: {error}"),
                }
                assert_all_sound(&plain(&objects)).await;
                collect_all(&plain(&objects), 1).await;
                assert_all_sound(&plain(&objects)).await;
            });
            if hooked.operations() <= at {
                assert!(at > 10, "{at} operations");
                break;
            }
        }
    }
}

#[test]
fn a_commit_at_any_moment_of_a_collection_loses_nothing() {
    // A rollback interrupts the first, the second and the third collection at each operation.
    for before in [0, 1, 2] {
        for at in moments() {
            let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            block_on(table_with(plain(&objects), WriteOptions::default()));
            collections(&objects, before)();
            let outcome: Arc<Mutex<Option<tetrys::Result<Table>>>> = Arc::default();
            let (store, kept) = (plain(&objects), Arc::clone(&outcome));
            let commit = move || {
                let done = block_on(async { labels_of_the_first(&Table::open_in(store.clone()).await?).await });
                *kept.lock().unwrap() = Some(done);
            };
            let (store, hooked) = interrupted(&objects, at, Arc::new(commit));
            let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
            block_on(Storage::of(&store).collect_garbage(settings, now())).unwrap();
            block_on(async {
                let place = format!("after {before} collections, before operation {at}");
                let newest = Table::open_in(plain(&objects)).await.unwrap();
                let outcome = outcome.lock().unwrap().take();
                match outcome {
                    Some(Ok(done)) => {
                        assert!(newest.version() >= done.version(), "{place}");
                        assert_sound(&newest, &joined(&two_partitions(1).1)).await;
                    }
                    Some(Err(error)) => assert_eq!(error.kind(), ErrorKind::Conflict, "{place}: {error}"),
                    None => {}
                }
                assert_all_sound(&plain(&objects)).await;
                collect_all(&plain(&objects), 1).await;
                assert_all_sound(&plain(&objects)).await;
            });
            if hooked.operations() <= at {
                assert!(at > 10, "{at} operations");
                break;
            }
        }
    }
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
        let plan = Storage::of(&store).plan_garbage(GcSettings { age: HOUR, ..GcSettings::default() }, now()).await.unwrap();
        assert!(plan.is_empty() && plan.waiting > 0, "{plan:?}");
        for hours in [2, 4, 6] {
            Storage::of(&store).collect_garbage(GcSettings { age: HOUR, ..GcSettings::default() }, later(hours)).await.unwrap();
        }
        let usage = Storage::of(&store).usage().await.unwrap();
        assert_eq!((usage.unnamed_bytes, store.list("sessions").await.unwrap().len()), (0, 0));
        assert_sound(&Table::open_in(store).await.unwrap(), &rows).await;
    });
}

#[test]
fn a_plan_can_be_made_at_any_time_of_any_clock() {
    block_on(async {
        let store = memory("clocks");
        table(store.clone()).await;
        for age in [Duration::ZERO, HOUR, Duration::MAX] {
            for (now, is_old) in [(i64::MIN, false), (-1, false), (0, false), (i64::MAX, age < Duration::MAX)] {
                let plan = Storage::of(&store).plan_garbage(GcSettings { keep_versions: 1, age }, now).await.unwrap();
                assert_eq!(!plan.condemn.is_empty(), is_old, "at {now}, age {age:?}: {plan:?}");
                let created = memory("begun");
                created.put_new(&format!("{SESSION}/plan.json"), "a plan".into()).await.unwrap();
                let plan = Storage::of(&created).plan_abandoned(age, now).await.unwrap();
                assert_eq!((plan.sweep.len(), plan.waiting), if is_old { (1, 0) } else { (0, 1) }, "at {now}, age {age:?}");
            }
        }
    });
}

#[test]
fn no_number_of_a_partition_is_given_out_twice() {
    block_on(async {
        let writer = Table::create_in(memory("partitions"), sensors(), WriteOptions::default()).await.unwrap();
        let refused = |error: tetrys::Error| {
            assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("4294967295"), "{error}");
        };
        assert_eq!((writer.reserve(), writer.reserve()), (0, 1));
        refused(writer.partition_at(u32::MAX).map(|_| ()).unwrap_err());
        assert_eq!(writer.reserve(), 2, "a number that was refused takes none away");
        writer.partition_at(u32::MAX - 1).unwrap();
        for _ in 0..3 {
            assert_eq!(writer.reserve(), u32::MAX, "there are no more");
            refused(writer.partition().map(|_| ()).unwrap_err());
        }
    });
}

/// Returns all files and all empty folders below a folder.
fn leaves(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        let inside: Vec<_> = std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()).collect();
        if inside.is_empty() && next != folder {
            found.push(next.strip_prefix(folder).unwrap().display().to_string());
        }
        for path in inside {
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_create_that_was_given_up_is_collected_and_leaves_room_for_another() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let place = folder.path().join("table");
        let (schema, partitions) = two_partitions(1);
        for missing in
            [Storage::of(&store).plan_garbage(keep(1), now()).await, Storage::of(&store).plan_abandoned(HOUR, now()).await]
        {
            assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        }
        let writer = Table::create_in(store.clone(), schema.clone(), cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&partitions[0]).await.unwrap();
        partition.finish().await.unwrap();
        drop(writer);
        // A file that a killed process was writing, and a file that does not belong to the table.
        let half = format!("hashes/{HASH}.parquet#1");
        std::fs::create_dir_all(place.join("hashes")).unwrap();
        std::fs::write(place.join(&half), b"half of it").unwrap();
        std::fs::write(place.join("notes.txt"), b"mine").unwrap();
        let before = leaves(&place);
        let plan = Storage::of(&store).collect_abandoned(HOUR, now()).await.unwrap();
        assert!(plan.is_empty() && !plan.done && plan.waiting as usize == before.len() - 1, "{plan:?}");
        assert_eq!(leaves(&place), before, "it may be on its way");
        let refused = Storage::of(&store).collect_garbage(keep(1), later(2)).await.unwrap_err();
        assert!(refused.kind() == ErrorKind::NotFound && refused.to_string().contains("--abandoned"), "{refused}");
        assert_eq!(leaves(&place), before, "it may be a copy that is on its way");
        let plan = Storage::of(&store).collect_abandoned(HOUR, later(2)).await.unwrap();
        assert!(plan.done && plan.version == 0 && plan.sweep.contains_key(&half), "{plan:?}");
        let left: Vec<String> = leaves(&place).into_iter().filter(|name| place.join(name).is_file()).collect();
        assert_eq!(left, ["notes.txt"]);
        assert!(!place.join("sessions").exists());
        std::fs::remove_file(place.join("notes.txt")).unwrap();
        let table = tables::write(store, schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
        assert_sound(&table, &joined(&partitions)).await;
        let refused = table.storage().collect_abandoned(HOUR, later(2)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Exists, "{refused}");
    });
}

#[test]
fn files_of_killed_writers_are_seen_and_collected_and_commits_leave_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let store = store(folder.path(), "table");
        let place = folder.path().join("table");
        let (versions, rows) = table(store.clone()).await;
        append(versions.last().unwrap(), 1).await.unwrap().edit().set_property("a", 1).commit().await.unwrap();
        assert!(!place.join("sessions").exists(), "{:?}", leaves(&place));
        let usage = Storage::of(&store).usage().await.unwrap();
        assert_eq!(usage.unnamed_bytes, 0);
        let begun = [
            format!("chunks/{}/{HASH}#1", &HASH[..2]),
            format!("layout/{HASH}.parquet#12"),
            "manifests/00000000000000000009.json#1".to_owned(),
            format!("pins/{}.json#3", uuid::Uuid::from_u128(7)),
            format!("{SESSION}/{HASH}.parquet#7"),
        ];
        for name in &begun {
            std::fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
            std::fs::write(place.join(name), b"begun").unwrap();
        }
        let with = Storage::of(&store).usage().await.unwrap();
        let more = 5 * begun.len() as u64;
        assert_eq!((with.stored_bytes, with.unnamed_bytes), (usage.stored_bytes + more, more));
        let young = Storage::of(&store).collect_garbage(GcSettings { age: HOUR, ..GcSettings::default() }, now()).await.unwrap();
        assert!(young.sweep.is_empty(), "{young:?}");
        let plan =
            Storage::of(&store).collect_garbage(GcSettings { age: HOUR, ..GcSettings::default() }, later(2)).await.unwrap();
        assert_eq!(plan.sweep.keys().cloned().collect::<Vec<_>>(), begun);
        assert!(leaves(&place).iter().all(|name| !name.contains('#')) && !place.join("sessions").exists());
        let after = Storage::of(&store).usage().await.unwrap();
        assert_eq!((after.stored_bytes, after.unnamed_bytes), (usage.stored_bytes, 0));
        assert_sound(&versions[2], &rows).await;
    });
}

#[test]
fn du_and_gc_ask_for_each_manifest_and_each_layout_once_and_for_no_sizes() {
    let settings = |age| GcSettings { keep_versions: 5, age };
    let counted = |count: u64| {
        let counting = CountingStore::new(Arc::new(InMemory::new()) as Arc<dyn ObjectStore>);
        let store = Store::new(Arc::new(counting.clone()), "t".into(), "memory://counted/t");
        block_on(async {
            let (schema, partitions) = two_partitions(1);
            let mut table = tables::write(store.clone(), schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
            let rows = joined(&partitions);
            for number in 2..=count {
                let mut columns = rows.columns().to_vec();
                columns[rows.schema().index_of("labels.count").unwrap()] = Arc::new(UInt32Array::from(vec![number as u32; 20]));
                let rows = RecordBatch::try_new(rows.schema(), columns).unwrap();
                let mut writer = table.replace_group("labels", cut_by(tiny_cuts())).await.unwrap();
                writer.write(&of_group(&rows, "labels")).await.unwrap();
                table = writer.commit().await.unwrap();
            }
            counting.reset();
            let mut found = Vec::new();
            let usage = Storage::of(&store).usage().await.unwrap();
            assert_eq!(usage.versions.len() as u64, count);
            found.push(counting.reset());
            let plan = Storage::of(&store).plan_garbage(settings(HOUR), later(2)).await.unwrap();
            assert!(!plan.condemn.is_empty());
            found.push(counting.reset());
            let condemned = Storage::of(&store).collect_garbage(settings(HOUR), later(2)).await.unwrap().condemn.len() as u64;
            found.push(counting.reset());
            let deleted = Storage::of(&store).collect_garbage(settings(HOUR), later(4)).await.unwrap().delete.len() as u64;
            found.push(counting.reset());
            assert!(condemned > 0 && deleted == condemned, "{condemned} condemned, {deleted} deleted");
            for counts in &found {
                assert_eq!(counts.heads, 0, "{counts:?}");
            }
            let found = found.iter().map(|counts| (counts.gets.len() as u64, counts.lists, counts.puts, counts.deletes));
            (found.collect::<Vec<_>>(), deleted)
        })
    };
    for count in [10, 20, 40] {
        let (found, deleted) = counted(count);
        // The manifests, and the layouts: three of the first version, and one of each later version. A collection reads those of the
        // versions that it keeps.
        let (manifests, layouts, kept) = (count, 3 + count - 1, 2 + 5);
        assert_eq!(found[0], (manifests + layouts, 1, 0, 0), "du");
        assert_eq!(found[1], (manifests + kept, 11, 0, 0), "a dry gc");
        // A collection that publishes reads the newest manifest before its claim, and lists before and after it.
        let [condemning, deleting] = [found[2], found[3]];
        assert_eq!(condemning, (manifests + kept + 1, 13, 1, 0), "a gc that condemns");
        assert_eq!((deleting.0, deleting.1, deleting.2), (manifests + 1 + kept + 1, 13, 1), "a gc that deletes");
        let manifests = deleting.3 - deleted;
        assert!((count - 5..=count).contains(&manifests), "each object once, and {manifests} manifests of {count}");
    }
}

#[test]
fn a_collection_gets_its_turn_although_a_commit_comes_with_each_listing() {
    // Another process commits whenever the collection lists chunks, which takes longest: ten thousand of them are ten requests.
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    block_on(table_with(plain(&objects), WriteOptions::default()));
    // The first versions give something up.
    collections(&objects, 1)();
    let (commits, lists) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (others, counted, listed) = (plain(&objects), Arc::clone(&commits), Arc::clone(&lists));
    let hook = move |_: u64, verb: &str, path: &str| {
        if verb == "list" && path.ends_with("/chunks") {
            listed.fetch_add(1, Ordering::Relaxed);
            let (others, number) = (others.clone(), counted.fetch_add(1, Ordering::Relaxed));
            let commit = move || block_on(async { append(&Table::open_in(others).await.unwrap(), 100 + number).await.unwrap() });
            std::thread::spawn(commit).join().unwrap();
        }
        Act::Pass
    };
    let store = Store::new(Arc::new(Hooked::new(Arc::clone(&objects), hook)), "t".into(), "memory://between/t");
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    for round in 1..=3 {
        let plan = block_on(Storage::of(&store).collect_garbage(settings, now())).unwrap();
        assert!(plan.done && plan.writes_version(), "{plan:?}");
        // What was listed before the commit is used again.
        assert_eq!([commits.load(Ordering::Relaxed), lists.load(Ordering::Relaxed)], [round, round]);
    }
    block_on(async {
        assert_all_sound(&plain(&objects)).await;
        let newest = Table::open_in(plain(&objects)).await.unwrap();
        assert_eq!(newest.rows(), 20 + 3 * 3, "the rows of each commit");
        assert!(!numbers(&plain(&objects)).await.contains(&1), "the first version is gone");
    });
}

#[test]
fn a_collection_lists_again_after_another_one() {
    let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    block_on(table_with(plain(&objects), WriteOptions::default()));
    let lists = Arc::new(AtomicU64::new(0));
    let (others, listed) = (collections(&objects, 1), Arc::clone(&lists));
    let hook = move |_: u64, verb: &str, path: &str| {
        if verb == "list" && path.ends_with("/chunks") && listed.fetch_add(1, Ordering::Relaxed) == 0 {
            let others = Arc::clone(&others);
            std::thread::spawn(move || others()).join().unwrap();
        }
        Act::Pass
    };
    let store = Store::new(Arc::new(Hooked::new(Arc::clone(&objects), hook)), "t".into(), "memory://between/t");
    let settings = GcSettings { keep_versions: 1, age: Duration::ZERO };
    block_on(Storage::of(&store).collect_garbage(settings, now())).unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 2);
    block_on(assert_all_sound(&plain(&objects)));
}
