//! What garbage collections decide, and what commits and sessions make of it: a session at work is never robbed, an idle one is told that it
//! is over, no name comes back, and the newest version tells what became of older ones.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use crate::common::tables::{self, Rng, Taste, block_on, cut_by, joined, rows_of, sensors, tiny_cuts, two_partitions};
use arrow_array::RecordBatch;
use futures::future::join_all;
use tetrys::{
    ErrorKind, Store, Table, TableWriter, WriteOptions,
    format::{Collections, StoredLists},
    machine::Simulation,
    table::{Fate, GcSettings, Storage, Versions},
    write::Receipt,
};

const HOUR: Duration = Duration::from_secs(3600);

fn store(folder: &Path) -> Store {
    Store::open(folder.join("t").to_str().unwrap()).unwrap()
}

/// Returns the time this many hours from now.
fn later(hours: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(hours * 3600)
}

/// Collects garbage with a clock that is this many hours ahead, and keeps this many versions.
async fn collect(store: &Store, versions: usize, hours: u64) -> tetrys::table::GcPlan {
    let settings = GcSettings { keep_versions: versions, age: HOUR };
    let now = later(hours).duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() as i64;
    Storage::of(store).collect_garbage(settings, now).await.unwrap()
}

async fn newest(store: &Store) -> Table {
    Table::open_in(store.clone()).await.unwrap()
}

async fn overwrite(table: &Table, rows: &[RecordBatch]) -> tetrys::Result<Table> {
    let writer = table.overwrite(sensors(), cut_by(tiny_cuts())).await?;
    writer.commit(written(&writer, rows).await).await
}

async fn written(writer: &TableWriter, rows: &[RecordBatch]) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    for batch in rows {
        let mut partition = writer.partition().unwrap();
        partition.write(batch).await.unwrap();
        receipts.push(partition.finish().await.unwrap());
    }
    receipts
}

async fn assert_rows(table: &Table, expected: &RecordBatch) {
    let all: Vec<u64> = (0..table.rows()).collect();
    let rows: Vec<_> = all.iter().copied().map(Some).collect();
    tables::assert_rows(&table.row_loader().take(&all).await.unwrap(), expected, &rows);
    let damage = table.storage().verify(|_, _| {}).await.unwrap().damage;
    assert!(damage.is_empty(), "{damage:?}");
}

/// Lets the files of all sessions look as if they were written this many hours from now.
fn touch(folder: &Path, hours: u64) {
    for session in fs::read_dir(folder.join("t/sessions")).unwrap() {
        for file in fs::read_dir(session.unwrap().path()).unwrap() {
            fs::File::options().write(true).open(file.unwrap().path()).unwrap().set_modified(later(hours)).unwrap();
        }
    }
}

fn decided(table: &Table) -> Collections {
    table.manifest().collections.clone().expect("there was a collection")
}

/// The names of all objects of a table but its manifests.
async fn objects(store: &Store) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in ["chunks", "collections", "hashes", "index", "layout"] {
        names.extend(store.list(folder).await.unwrap().into_iter().map(|(name, _)| name));
    }
    names
}

#[test]
fn a_session_at_work_is_never_robbed_however_long_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = two_partitions(3);
        let first = tables::write(store(folder.path()), schema, cut_by(tiny_cuts()), &rows).await.unwrap();
        let second = overwrite(&first, &rows[..1]).await.unwrap();
        // The rows of the first version are garbage, and the session writes them again.
        let writer = second.overwrite(sensors(), cut_by(tiny_cuts())).await.unwrap();
        let ticket = writer.ticket().unwrap();
        let mut receipts = Vec::new();
        for hours in 0..12_u32 {
            let worker = TableWriter::join(store(folder.path()), &ticket).unwrap();
            let worker = if hours % 2 == 0 { worker.with_known_blocks().await.unwrap() } else { worker };
            let mut partition = worker.partition_at(hours).unwrap();
            if hours < 2 {
                partition.write(&rows[hours as usize]).await.unwrap();
            }
            receipts.push(partition.finish().await.unwrap());
            touch(folder.path(), hours.into());
            let plan = collect(&store(folder.path()), 1, hours.into()).await;
            assert_eq!(plan.open_sessions, [ticket.session()]);
            assert!(plan.until_ms.is_some());
        }
        let floor = decided(&newest(&store(folder.path())).await).floor;
        assert!(floor <= second.version(), "the floor waits for the session");
        let committer = TableWriter::join(store(folder.path()), &ticket).unwrap();
        let table = committer.commit(receipts).await.unwrap();
        assert_rows(&table, &joined(&rows)).await;
        for hours in [14, 16, 18] {
            collect(&store(folder.path()), 1, hours).await;
        }
        assert_rows(&newest(&store(folder.path())).await, &joined(&rows)).await;
        assert!(decided(&newest(&store(folder.path())).await).floor > second.version(), "nothing waits any more");
    });
}

/// One partition may take longer than the age.
#[test]
fn a_session_is_at_work_while_rows_of_a_partition_arrive() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Simulation::start(1);
    block_on(async {
        let (schema, rows) = two_partitions(3);
        let first = tables::write(store(folder.path()), schema, cut_by(tiny_cuts()), &rows).await.unwrap();
        let second = overwrite(&first, &rows[..1]).await.unwrap();
        let writer = second.overwrite(sensors(), cut_by(tiny_cuts())).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let half = rows[1].num_rows() / 2;
        partition.write(&rows[1].slice(0, half)).await.unwrap();
        let (begins, longer) = (files(&folder.path().join("t/sessions")), Duration::from_secs(7200));
        let [begin] = &begins[..] else { panic!("one file says when the session began: {begins:?}") };
        let written = || fs::metadata(begin).unwrap().modified().unwrap();
        // A file that is young is not put again.
        let before = SystemTime::now() - longer;
        fs::File::options().write(true).open(begin).unwrap().set_modified(before).unwrap();
        let content = fs::read(begin).unwrap();
        partition.write(&rows[1].slice(half, 0)).await.unwrap();
        assert_eq!(written(), before);
        machine.pass(longer);
        partition.write(&rows[1].slice(half, rows[1].num_rows() - half)).await.unwrap();
        assert!(written() > before + longer / 2 && fs::read(begin).unwrap() == content);
        assert_eq!(collect(&store(folder.path()), 1, 0).await.open_sessions.len(), 1);
        for _ in 0..3 {
            collect(&store(folder.path()), 1, 0).await;
        }
        let receipt = partition.finish().await.unwrap();
        assert_rows(&writer.commit([receipt]).await.unwrap(), &rows[1]).await;
    });
}

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn an_idle_session_is_told_that_it_is_over_and_a_wrong_clock_does_no_more_than_that() {
    for ahead in [2, 8 * 24] {
        let folder = tempfile::tempdir().unwrap();
        block_on(async {
            let (schema, rows) = two_partitions(4);
            let store = store(folder.path());
            let table = tables::write(store.clone(), schema, cut_by(tiny_cuts()), &rows[..1]).await.unwrap();
            let writer = table.append(WriteOptions::default()).await.unwrap();
            let ticket = writer.ticket().unwrap();
            let receipts = written(&writer, &rows[1..]).await;
            for hours in [ahead, ahead + 2, ahead + 4, ahead + 6] {
                collect(&store, 1, hours).await;
            }
            assert_eq!(store.list("sessions").await.unwrap(), []);
            // The process that has everything in memory, and one that joins.
            let joined_later = TableWriter::join(store.clone(), &ticket).unwrap();
            for error in
                [writer.commit(receipts.clone()).await.unwrap_err(), joined_later.commit(receipts.clone()).await.unwrap_err()]
            {
                assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("is over"), "{error}");
            }
            assert_rows(&newest(&store).await, &rows[0]).await;
            let again = newest(&store).await.append(WriteOptions::default()).await.unwrap();
            let table = again.commit(written(&again, &rows[1..]).await).await.unwrap();
            assert_rows(&table, &joined(&rows)).await;
        });
    }
}

#[test]
fn the_same_rows_are_written_again_beside_collections_and_no_name_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = two_partitions(5);
        let store = store(folder.path());
        let mut table = tables::write(store.clone(), schema, cut_by(tiny_cuts()), &rows[..1]).await.unwrap();
        let (mut seen, mut gone) = (objects(&store).await, BTreeSet::new());
        let mut is_collected = false;
        for round in 0..6_u64 {
            // The other half of the rows, and then the same as before the last collection.
            for half in [1, 0] {
                table = overwrite(&table, &rows[half..=half]).await.unwrap();
                if round % 2 == 1 {
                    table = table.edit().set_property("round", round).commit().await.unwrap();
                    table = table.delete([0], WriteOptions::default()).await.unwrap();
                    drop(without(&table, "labels.count").await);
                }
                collect(&store, 1, 2 + round * 6 + half as u64 * 2).await;
                let there = objects(&store).await;
                gone.extend(seen.difference(&there).cloned());
                if is_collected {
                    let back: Vec<&String> = there.intersection(&gone).collect();
                    assert!(back.is_empty(), "round {round}: {back:?}");
                }
                is_collected = true;
                seen = there;
                table = newest(&store).await;
            }
        }
        assert!(gone.len() > 30, "{}", gone.len());
    });
}

/// Drops a column and compacts: both write index, layouts and hashes.
async fn without(table: &Table, column: &str) -> Table {
    let dropped = table.edit().drop_columns(&[column]).commit().await.unwrap();
    dropped.storage().compact(1 << 20).await.unwrap()
}

#[test]
fn a_session_is_committed_once_also_when_its_version_is_long_gone() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = two_partitions(6);
        let store = store(folder.path());
        let table = tables::write(store.clone(), schema, cut_by(tiny_cuts()), &rows[..1]).await.unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let (ticket, receipts) = (writer.ticket().unwrap(), written(&writer, &rows[1..]).await);
        let made = writer.commit(receipts.clone()).await.unwrap();
        let again = |receipts: Vec<Receipt>| {
            let writer = TableWriter::join(store.clone(), &ticket).unwrap();
            async move { writer.commit(receipts).await }
        };
        assert_eq!(again(receipts.clone()).await.unwrap().version(), made.version());
        overwrite(&made, &rows[..1]).await.unwrap();
        for hours in [2, 4, 6, 8] {
            collect(&store, 1, hours).await;
        }
        assert_eq!(Table::open_version_in(store.clone(), made.version()).await.unwrap_err().kind(), ErrorKind::NotFound);
        let error = again(receipts.clone()).await.unwrap_err();
        let expected = format!("was committed as version {}", made.version());
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains(&expected), "{error}");
        // The newest version still tells what became of the commit.
        let fate = |commit| Versions::of(&store).fate_of(made.version(), commit);
        assert_eq!(fate(made.manifest().commit_id).await.unwrap(), Fate::Committed);
        assert_eq!(fate(uuid::Uuid::from_u128(1)).await.unwrap(), Fate::NotCommitted);
        // And when it no longer does, the session is over.
        let mut table = newest(&store).await;
        for number in 0..70 {
            table = table.edit().set_property("number", number).commit().await.unwrap();
        }
        assert!(decided(&table).recent.iter().all(|ancestor| ancestor.version > made.version()));
        let error = again(receipts.clone()).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("is over"), "{error}");
        assert_eq!(fate(made.manifest().commit_id).await.unwrap(), Fate::CannotTell);
        assert_rows(&newest(&store).await, &rows[0]).await;
    });
}

#[test]
fn long_lists_are_an_object_that_appends_do_not_copy() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = two_partitions(7);
        let store = store(folder.path());
        let mut table = tables::write(store.clone(), schema, cut_by(tiny_cuts()), &rows[..1]).await.unwrap();
        for seed in 100..170 {
            table = overwrite(&table, &two_partitions(seed).1).await.unwrap();
        }
        collect(&store, 1, 2).await;
        let collected = newest(&store).await;
        let StoredLists::Object(object) = decided(&collected).lists else { panic!("expected an object") };
        assert_eq!(store.list("collections").await.unwrap().len(), 1);
        assert!(object.bytes > 100_000, "{}", object.bytes);
        let edited = collected.edit().set_property("after", 1).commit().await.unwrap();
        assert_eq!(decided(&edited).lists, StoredLists::Object(object.clone()));
        let manifest = store.list("manifests").await.unwrap().into_iter().map(|(_, bytes)| bytes).max().unwrap();
        assert!(manifest < 60_000, "{manifest}");
        // What is needed again leaves the lists.
        let restored = edited.versions().restore(1).await.unwrap();
        assert_ne!(decided(&restored).lists, StoredLists::Object(object));
        assert_rows(&restored, &rows[0]).await;
        // The objects of lists go with the versions that name them.
        for (half, hours) in [(1, [4, 6, 8]), (0, [10, 12, 14]), (1, [16, 18, 20])] {
            overwrite(&newest(&store).await, &rows[half..=half]).await.unwrap();
            for hours in hours {
                collect(&store, 1, hours).await;
            }
        }
        let table = newest(&store).await;
        assert!(
            matches!(decided(&table).lists, StoredLists::Here(lists) if lists.condemned.is_empty() && lists.expired.is_empty())
        );
        assert_eq!(store.list("collections").await.unwrap(), []);
        assert_rows(&table, &rows[1]).await;
    });
}

#[test]
fn what_a_create_that_died_has_left_is_not_used_by_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (schema, rows) = two_partitions(8);
        let store = store(folder.path());
        let create = || Table::create_in(store.clone(), schema.clone(), cut_by(tiny_cuts()));
        let died = create().await.unwrap();
        written(&died, &rows).await;
        let left = objects(&store).await;
        assert!(!left.is_empty());
        let writer = create().await.unwrap();
        let receipts = written(&writer, &rows).await;
        // A collection begins before the create commits, and deletes after it.
        for name in left {
            store.delete(&name).await.unwrap();
        }
        let table = writer.commit(receipts).await.unwrap();
        assert_rows(&table, &joined(&rows)).await;
    });
}

/// Returns a table, a store beside it for one that uses its chunks, and the rows of the table.
async fn owner_and_other(folder: &Path) -> (Table, Store, Vec<RecordBatch>) {
    let (schema, rows) = two_partitions(8);
    let owner = tables::write(store(folder), schema, cut_by(tiny_cuts()), &rows).await.unwrap();
    (owner, Store::open(folder.join("u").to_str().unwrap()).unwrap(), rows)
}

#[test]
fn committers_of_one_ticket_delete_no_pin_of_the_one_that_won() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (owner, other, rows) = owner_and_other(folder.path()).await;
        let store = owner.store().clone();
        let writer = Table::create_in(other.clone(), sensors(), cut_by(tiny_cuts())).await.unwrap();
        let writer = writer.references([&owner]).await.unwrap();
        let (ticket, receipts) = (writer.ticket().unwrap(), written(&writer, &rows).await);
        assert_eq!(receipts.iter().map(|receipt| receipt.sharing.new_bytes).sum::<u64>(), 0, "all blocks are those of the owner");
        let commit = || async { TableWriter::join(other.clone(), &ticket).unwrap().commit(receipts.clone()).await };
        // The last committer was never heard of again: it was stopped after some of its requests.
        let mut stopped = Box::pin(commit());
        for _ in 0..20 {
            let _ = futures::poll!(&mut stopped);
            tokio::task::yield_now().await;
        }
        let made = join_all([commit(), commit(), commit()]).await;
        drop(stopped);
        let hashes: BTreeSet<_> = made.into_iter().flatten().map(|table| (table.version(), table.manifest_hash())).collect();
        assert_eq!(hashes.len(), 1, "{hashes:?}");
        // Nothing but a pin keeps the version whose chunks the other table uses.
        overwrite(&owner, &two_partitions(9).1[..1]).await.unwrap();
        for hours in [2, 4, 6, 8] {
            collect(&store, 1, hours).await;
        }
        assert_rows(&newest(&other).await, &joined(&rows)).await;
        assert_eq!(Table::open_version_in(store.clone(), 1).await.unwrap().manifest_hash(), owner.manifest_hash());
    });
}

#[test]
fn committers_of_a_ticket_without_owners_keep_the_pins_of_what_the_newest_version_uses() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (owner, other, rows) = owner_and_other(folder.path()).await;
        let store = owner.store().clone();
        let table = tables::write(other.clone(), sensors(), cut_by(tiny_cuts()), &rows[..1]).await.unwrap();
        // A session that appends nothing begins before another writer refers to the owner.
        let ticket = table.append(WriteOptions::default()).await.unwrap().ticket().unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap().references([&owner]).await.unwrap();
        let receipts = written(&writer, &rows[1..]).await;
        let second = writer.commit(receipts).await.unwrap();
        assert_eq!(second.manifest().stores.len(), 1);
        let commit = || async { TableWriter::join(other.clone(), &ticket).unwrap().commit([]).await };
        let made = join_all([commit(), commit(), commit(), commit()]).await;
        let made: BTreeSet<u64> = made.into_iter().flatten().map(|table| table.version()).collect();
        assert_eq!(made.len(), 1, "{made:?}");
        // The version that the others referred to goes, and its pin; then the owner gives up what only a pin keeps.
        overwrite(&owner, &two_partitions(9).1[..1]).await.unwrap();
        for hours in [2, 4, 6, 8] {
            collect(&other, 1, hours).await;
        }
        for hours in [10, 12, 14, 16] {
            collect(&store, 1, hours).await;
        }
        assert_eq!(Table::open_version_in(other.clone(), second.version()).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_rows(&newest(&other).await, &joined(&rows)).await;
    });
}

#[test]
fn rows_of_a_log_that_is_not_the_last_one_any_more_are_a_conflict_also_behind_a_collection() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (store, mut rng) = (store(folder.path()), Rng(10));
        let [one, two] = ["x", "y"].map(|name| rows_of(&sensors(), &mut rng, &[(name, 8)], Taste::SMALL));
        let first = tables::write(store.clone(), sensors(), cut_by(tiny_cuts()), &[one.slice(0, 4)]).await.unwrap();
        let second = first.edit().set_property("a", 1).commit().await.unwrap();
        collect(&store, 1, 2).await;
        let append = |table: Table, rows: RecordBatch| async move {
            let writer = table.append(WriteOptions::default()).await?;
            writer.commit(written(&writer, &[rows]).await).await
        };
        let made = append(newest(&store).await, two).await.unwrap();
        assert!(decided(&made).last > second.version());
        let error = append(second, one.slice(4, 4)).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("; reload and retry"), "{error}");
    });
}
