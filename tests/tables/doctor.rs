//! `Storage::diagnose` finds what is wrong with a table, says what mends it, and sends a bounded number of requests.

use std::{path::Path, sync::Arc, time::Duration};

use crate::common::tables::{self, Rng, Taste, block_on, cut_by, memory, over, rows_of, sensors, tiny_cuts, two_partitions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use object_store::{ObjectStore, memory::InMemory};
use tetrys::{
    ErrorKind, Schema, Store, Table, WriteOptions,
    format::manifest_name,
    store::CountingStore,
    table::{Cure, Diagnosis, Finding, GcSettings, Locality, Storage, now_ms},
};

const HOUR: Duration = Duration::from_secs(3600);

fn store(folder: &Path, name: &str) -> Store {
    Store::open(folder.join(name).to_str().unwrap()).unwrap()
}

fn later(hours: i64) -> i64 {
    now_ms() + 3_600_000 * hours
}

async fn table(store: Store) -> Table {
    let (schema, partitions) = two_partitions(3);
    tables::write(store, schema, cut_by(tiny_cuts()), &partitions).await.unwrap()
}

/// Writes a table that uses blocks of `owner`, a table that [`table`] wrote, and so leaves a pin there.
async fn use_blocks_of(owner: &Table, store: Store) {
    let writer = Table::create_in(store, owner.schema().clone(), cut_by(tiny_cuts())).await.unwrap();
    let writer = writer.references([owner]).await.unwrap();
    let mut partition = writer.partition().unwrap();
    partition.write(&two_partitions(3).1[0]).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap();
}

async fn diagnose(store: &Store) -> Diagnosis {
    Storage::of(store).diagnose(HOUR, now_ms()).await.unwrap()
}

/// What is never checked.
const BYTES: &str = "the bytes of objects: names and sizes were compared; `verify` reads them";

/// Returns the only finding.
fn only(found: Diagnosis) -> Finding {
    let [finding] = found.findings.as_slice() else { panic!("expected one finding: {found:?}") };
    finding.clone()
}

/// Writes a table of so many partitions of two rows, each a segment of its own.
async fn pieces(store: Store, count: i64) -> Table {
    let schema = Schema::builder().index("id", "i64").group("g", [("g.x", "i64")]).build().unwrap();
    let column = |part: i64| Arc::new(Int64Array::from(vec![2 * part, 2 * part + 1])) as ArrayRef;
    let batches: Vec<RecordBatch> =
        (0..count).map(|part| RecordBatch::try_from_iter([("id", column(part)), ("g.x", column(part))]).unwrap()).collect();
    tables::write(store, schema, WriteOptions::default().segment_rows(1), &batches).await.unwrap()
}

#[test]
fn a_sound_table_has_no_findings_and_takes_few_requests() {
    block_on(async {
        let counting = CountingStore::new(InMemory::new());
        let store = over(Arc::new(counting.clone()));
        let mut newest = table(store.clone()).await;
        counting.reset();
        let found = diagnose(&store).await;
        assert!(found.findings.is_empty() && found.notes.is_empty(), "{found:?}");
        assert_eq!(found.not_checked, [BYTES]);
        assert_eq!((found.version, found.is_damaged()), (Some(1), false));
        let few = counting.reset();
        assert!(few.requests() <= 30, "{few:?}");
        for number in 0..300 {
            newest = newest.edit().set_property("n", number).commit().await.unwrap();
        }
        counting.reset();
        let found = diagnose(&store).await;
        let many = counting.reset();
        // The 256 newest manifests are read, and not all 301.
        assert!(many.requests() <= few.requests() + 255, "{many:?}, {few:?}");
        assert_eq!(found.not_checked, ["45 older versions; `verify` of all versions reads them", BYTES]);
        assert!(found.findings.is_empty() && newest.version() == 301, "{found:?}");
    });
}

#[test]
fn missing_and_short_objects_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(store(folder.path(), "t")).await;
        let (name, bytes) =
            table.storage().objects().await.unwrap().into_iter().find(|(name, _)| name.starts_with("chunks/")).unwrap();
        let file = folder.path().join("t").join(&name);
        std::fs::File::options().write(true).open(&file).unwrap().set_len(bytes - 1).unwrap();
        let finding = only(diagnose(table.store()).await);
        assert_eq!((finding.place.as_str(), &finding.cure), (name.as_str(), &Cure::Copy));
        assert!(finding.what.contains(&format!("has {} bytes, expected {bytes}", bytes - 1)), "{finding:?}");
        std::fs::remove_file(&file).unwrap();
        let found = diagnose(table.store()).await;
        assert!(found.is_damaged() && only(found).what == "an object of version 1 is missing");
        // Every small object is looked for too; ten are named, and the rest counted.
        for folder in [folder.path().join("t/hashes"), folder.path().join("t/index"), folder.path().join("t/layout")] {
            std::fs::remove_dir_all(folder).unwrap();
        }
        let found = diagnose(table.store()).await;
        assert!(found.findings.iter().filter(|finding| finding.place.starts_with("index/")).count() >= 1, "{found:?}");
    });
}

#[test]
fn objects_of_older_versions_are_looked_for_and_what_is_not_is_said() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let first = table(store(folder.path(), "t")).await;
        let second = first.delete(3..9, WriteOptions::default()).await.unwrap();
        let found = diagnose(second.store()).await;
        assert!(found.findings.is_empty() && found.version == Some(2), "{found:?}");
        let [chunks, bytes] = found.not_checked.as_slice() else { panic!("{found:?}") };
        assert!(chunks.contains("that only older versions use; `verify` of all versions reads them"), "{found:?}");
        assert_eq!(bytes, BYTES);
        let kept = second.storage().objects().await.unwrap();
        let (of_first, mut old) = (first.storage().objects().await.unwrap(), first.storage().objects().await.unwrap());
        old.retain(|name, _| !kept.contains_key(name) && !name.starts_with("chunks/"));
        assert!(old.len() >= 3, "an index, a layout and hashes: {old:?}");
        for (name, bytes) in old {
            let (file, aside) = (folder.path().join("t").join(&name), folder.path().join("aside"));
            std::fs::rename(&file, &aside).unwrap();
            let found = diagnose(second.store()).await;
            assert!(found.is_damaged(), "{name}");
            let finding = only(found);
            assert_eq!((finding.what.as_str(), finding.place.as_str()), ("an object of version 1 is missing", name.as_str()));
            std::fs::write(&file, "short").unwrap();
            let finding = only(diagnose(second.store()).await);
            assert_eq!(finding.what, format!("an object of version 1 has 5 bytes, expected {bytes}"));
            std::fs::rename(&aside, &file).unwrap();
        }
        // One that both versions name is named once.
        let third = second.edit().set_property("a", 1).commit().await.unwrap();
        let name = kept.keys().find(|name| name.starts_with("index/") && !of_first.contains_key(*name)).unwrap();
        std::fs::remove_file(folder.path().join("t").join(name)).unwrap();
        assert_eq!(only(diagnose(third.store()).await).what, "an object of versions 2..=3 is missing");
    });
}

#[cfg(unix)]
#[test]
fn a_folder_or_a_pipe_in_the_place_of_an_object_is_one_finding_among_others() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(store(folder.path(), "t")).await;
        let objects = table.storage().objects().await.unwrap();
        for kind in ["chunks/", "hashes/", "index/", "layout/"] {
            let name = objects.keys().find(|name| name.starts_with(kind)).unwrap();
            let (file, aside) = (folder.path().join("t").join(name), folder.path().join("aside"));
            std::fs::rename(&file, &aside).unwrap();
            for (make, remove, expected) in [("mkdir", "rmdir", "found a folder"), ("mkfifo", "rm", "found a pipe")] {
                let run = |command: &str| assert!(std::process::Command::new(command).arg(&file).status().unwrap().success());
                run(make);
                let finding = only(diagnose(table.store()).await);
                assert!(finding.place == *name && finding.cure == Cure::Copy && finding.what.contains(expected), "{finding:?}");
                let opened = Table::open_in(store(folder.path(), "t")).await.unwrap();
                let verified = opened.storage().verify(|_, _| {}).await.unwrap();
                assert!(verified.damage.iter().any(|damage| damage.problem.contains(expected)), "{verified:?}");
                run(remove);
            }
            std::fs::rename(&aside, &file).unwrap();
        }
        // A file in the place of a folder of objects.
        let chunks = folder.path().join("t/chunks");
        std::fs::remove_dir_all(&chunks).unwrap();
        std::fs::write(&chunks, "mine").unwrap();
        assert!(diagnose(table.store()).await.is_damaged());
        let opened = Table::open_in(store(folder.path(), "t")).await.unwrap();
        assert!(!opened.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
}

#[test]
fn manifests_that_cannot_be_read_are_damage() {
    block_on(async {
        let (raw, store) = memory();
        let first = table(store.clone()).await;
        let second = first.edit().set_property("a", 1).commit().await.unwrap();
        let third = second.edit().set_property("a", 2).commit().await.unwrap();
        tables::overwrite(&*raw, &manifest_name(1), b"{}").await;
        let finding = only(diagnose(&store).await);
        assert!(finding.place == manifest_name(1) && finding.what.starts_with("version 1 cannot be read: "), "{finding:?}");
        assert_eq!(finding.cure, Cure::GiveUp(1));
        // The rest is looked at where an older version can be read.
        tables::overwrite(&*raw, &manifest_name(third.version()), b"{}").await;
        let found = diagnose(&store).await;
        let whats: Vec<&str> = found.findings.iter().map(|finding| finding.what.split(':').next().unwrap()).collect();
        assert_eq!(whats, ["the newest manifest cannot be read, so that the table cannot be opened", "version 1 cannot be read"]);
        assert!(found.findings.iter().all(|finding| finding.cure == Cure::CopyOrMove(2)), "{found:?}");
        assert!(found.version.is_none() && found.not_checked[0].ends_with("version 2 was looked at"), "{found:?}");
        tables::overwrite(&*raw, &manifest_name(second.version()), b"{}").await;
        let found = diagnose(&store).await;
        assert_eq!((found.version, found.not_checked.len()), (None, 1), "{found:?}");
        assert!(found.is_damaged() && only(found).what.starts_with("the newest manifest cannot be read, and no other can: "));
    });
}

#[test]
fn a_manifest_that_does_not_belong_there_is_named_with_the_version_that_is_newest_without_it() {
    block_on(async {
        let (raw, store) = memory();
        table(store.clone()).await.edit().set_property("a", 1).commit().await.unwrap();
        // Nobody committed such a version.
        tables::overwrite(&*raw, &manifest_name(1_000_000), b"mine").await;
        let finding = only(diagnose(&store).await);
        assert_eq!((finding.place, finding.cure), (manifest_name(1_000_000), Cure::CopyOrMove(2)));
        store.delete(&manifest_name(1_000_000)).await.unwrap();
        // One of another table opens, and names what is not there.
        let (_, other) = memory();
        let mut newest = table(other.clone()).await;
        for number in 0..3 {
            newest = newest.edit().set_property("n", number).commit().await.unwrap();
        }
        let manifest = other.get(&manifest_name(4), 1 << 20).await.unwrap();
        store.put_new(&manifest_name(4), manifest.into()).await.unwrap();
        let found = diagnose(&store).await;
        assert!(found.is_damaged());
        assert_eq!((&found.findings[0].place, &found.findings[0].cure), (&manifest_name(4), &Cure::Move(2)), "{found:?}");
        store.delete(&manifest_name(4)).await.unwrap();
        assert!(diagnose(&store).await.findings.is_empty());
    });
}

#[test]
fn files_of_others_are_noted_once_and_are_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(store(folder.path(), "t")).await;
        std::fs::write(folder.path().join("t/index/#1"), "mine").unwrap();
        let found = table.storage().diagnose(HOUR, later(2)).await.unwrap();
        assert!(found.findings.is_empty(), "{found:?}");
        assert_eq!(
            found.notes,
            ["index/#1: a file with a name that Tetrys gives to none; no command deletes it: remove it by hand"]
        );
        for name in ["chunks/readme", "pins/notes.txt", "sessions/2024.txt", "manifests/old.json"] {
            std::fs::create_dir_all(folder.path().join("t").join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join("t").join(name), "mine").unwrap();
        }
        let found = table.storage().diagnose(HOUR, later(2)).await.unwrap();
        assert!(found.findings.is_empty(), "{found:?}");
        assert!(matches!(found.notes.as_slice(), [note] if note.contains(", and 4 more: ")), "{found:?}");
        // What a killed writer left has the name of an object.
        let name = table.storage().objects().await.unwrap().into_keys().find(|name| name.starts_with("index/")).unwrap();
        std::fs::write(folder.path().join(format!("t/{name}#1")), "half").unwrap();
        let finding = only(table.storage().diagnose(HOUR, later(2)).await.unwrap());
        assert_eq!((finding.place, finding.cure), (format!("{name}#1"), Cure::CollectGarbage));
        table.storage().collect_garbage(GcSettings { keep_versions: 0, age: HOUR }, later(2)).await.unwrap();
        assert!(table.storage().diagnose(HOUR, later(2)).await.unwrap().findings.is_empty());
    });
}

#[test]
fn pins_of_tables_that_are_not_there_any_more_say_what_they_keep() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let first = table(store(folder.path(), "t")).await;
        use_blocks_of(&first, store(folder.path(), "user")).await;
        assert!(first.storage().diagnose(HOUR, later(2)).await.unwrap().notes.is_empty());
        std::fs::rename(folder.path().join("user"), folder.path().join("moved")).unwrap();
        assert!(diagnose(first.store()).await.notes.is_empty(), "its first version may not be committed yet");
        let found = first.storage().diagnose(HOUR, later(2)).await.unwrap();
        let pin = first.store().list("pins").await.unwrap()[0].0.clone();
        let [note] = found.notes.as_slice() else { panic!("{found:?}") };
        assert!(
            note.starts_with("version 1 is kept for ../user, ") && note.ends_with(&format!("delete its pins: {pin}")),
            "{note}"
        );
        assert!(found.findings.is_empty(), "{found:?}");
        // Another table at that place is not the one that left the pin.
        table(store(folder.path(), "user")).await;
        assert_eq!(first.storage().diagnose(HOUR, later(2)).await.unwrap().notes, found.notes);
        // Garbage collection cannot know, and keeps the pin.
        first.storage().collect_garbage(GcSettings { keep_versions: 1, age: HOUR }, later(2)).await.unwrap();
        assert_eq!(first.store().list("pins").await.unwrap()[0].0, pin);
    });
}

#[test]
fn what_writers_left_is_found_when_it_is_old() {
    block_on(async {
        let (_, store) = memory();
        let writer = Table::create_in(store.clone(), two_partitions(3).0, cut_by(tiny_cuts())).await.unwrap();
        let error = Storage::of(&store).diagnose(HOUR, now_ms()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let mut partition = writer.partition().unwrap();
        partition.write(&two_partitions(3).1[0]).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        let found = diagnose(&store).await;
        assert!(found.findings.is_empty() && found.not_checked[0].contains("the writer may be at work"), "{found:?}");
        assert_eq!(only(Storage::of(&store).diagnose(HOUR, later(2)).await.unwrap()).cure, Cure::CollectAbandoned);
        let table = writer.commit([receipt]).await.unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows_of(&sensors(), &mut Rng(5), &[("x", 4)], Taste::SMALL)).await.unwrap();
        partition.finish().await.unwrap();
        // It may still be committed.
        assert!(diagnose(&store).await.findings.is_empty());
        let finding = only(Storage::of(&store).diagnose(HOUR, later(2)).await.unwrap());
        assert!(finding.cure == Cure::CollectGarbage && finding.place.starts_with("sessions/"), "{finding:?}");
        assert!(finding.since_ms.is_some_and(|since| since <= now_ms()));
        // A version ends the session, and then its files are deleted.
        for hours in [2, 4] {
            Storage::of(&store).collect_garbage(GcSettings { keep_versions: 0, age: HOUR }, later(hours)).await.unwrap();
        }
        let found = Storage::of(&store).diagnose(HOUR, later(4)).await.unwrap();
        assert!(found.findings.iter().all(|finding| !finding.place.starts_with("sessions/")), "{found:?}");
    });
}

#[test]
fn a_table_that_lost_its_manifests_is_not_taken_for_one_that_was_never_committed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let first = table(store(folder.path(), "t")).await;
        use_blocks_of(&first, store(folder.path(), "user")).await;
        std::fs::remove_dir_all(folder.path().join("t/manifests")).unwrap();
        let finding = only(first.storage().diagnose(HOUR, later(2)).await.unwrap());
        assert!(finding.cure == Cure::Copy && finding.what.contains("its manifests were lost"), "{finding:?}");
        let before = first.store().list("").await.unwrap();
        let error = first.storage().collect_abandoned(HOUR, later(2)).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Exists && error.to_string().contains("have left 1 pin, each"), "{error}");
        assert_eq!(first.store().list("").await.unwrap(), before, "nothing was deleted");
    });
}

#[test]
fn condemned_objects_are_due_an_age_later() {
    block_on(async {
        let (_, store) = memory();
        table(store.clone()).await.delete(3..9, WriteOptions::default()).await.unwrap();
        let settings = GcSettings { keep_versions: 1, age: HOUR };
        assert!(!Storage::of(&store).collect_garbage(settings, later(2)).await.unwrap().condemn.is_empty());
        assert!(diagnose(&store).await.findings.is_empty());
        let finding = only(Storage::of(&store).diagnose(HOUR, later(3)).await.unwrap());
        assert!(finding.cure == Cure::CollectGarbage && finding.what.contains("are given up"), "{finding:?}");
        assert!(!Storage::of(&store).collect_garbage(settings, later(4)).await.unwrap().delete.is_empty());
        assert!(Storage::of(&store).diagnose(HOUR, later(6)).await.unwrap().findings.is_empty(), "the lists name what is gone");
        Storage::of(&store).collect_garbage(settings, later(6)).await.unwrap();
        assert!(Storage::of(&store).diagnose(HOUR, later(7)).await.unwrap().findings.is_empty());
    });
}

#[test]
fn a_tag_and_a_pin_of_a_version_that_is_gone_are_found() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let first = table(store(folder.path(), "t")).await;
        use_blocks_of(&first, store(folder.path(), "user")).await;
        let second = first.edit().tag("gold", 1).commit().await.unwrap();
        assert!(diagnose(second.store()).await.findings.is_empty());
        second.store().delete(&manifest_name(1)).await.unwrap();
        let found = diagnose(second.store()).await;
        let cures: Vec<&Cure> = found.findings.iter().map(|finding| &finding.cure).collect();
        assert_eq!(cures, [&Cure::Untag("gold".to_owned()), &Cure::MakeAnew("../user".to_owned())]);
        let again = second.edit().untag("gold").commit().await.unwrap();
        assert_eq!(diagnose(again.store()).await.findings.len(), 1);
        // A pin that nobody can read stops garbage collection.
        let pin = again.store().list("pins").await.unwrap()[0].0.clone();
        std::fs::write(folder.path().join("t").join(&pin), "{}").unwrap();
        let finding = only(diagnose(again.store()).await);
        assert!(finding.place == pin && finding.what.contains("so that no garbage is collected"), "{finding:?}");
        // Its advice is to verify, which reads pins.
        let damage = again.storage().verify(|_, _| {}).await.unwrap().damage;
        assert!(finding.cure == Cure::Copy && damage.len() == 1 && damage[0].object == pin, "{damage:?}");
        // The table that uses the version knows too.
        let finding = only(diagnose(&store(folder.path(), "user")).await);
        assert_eq!((finding.place.as_str(), finding.cure), ("../t@1", Cure::Rebind));
    });
}

/// Writes the table `t`. Returns a view of some of its rows.
#[cfg(feature = "frame")]
async fn view_of_a_table(folder: &Path) -> Store {
    let table = table(store(folder, "t")).await;
    let url = folder.join("view").display().to_string();
    table.index().filter_sql("log = 'a'").await.unwrap().save(&url).await.unwrap();
    Store::open(&url).unwrap()
}

#[cfg(feature = "frame")]
#[test]
fn a_view_whose_table_was_moved_asks_for_a_rebind() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let view = view_of_a_table(folder.path()).await;
        assert!(diagnose(&view).await.findings.is_empty());
        std::fs::rename(folder.path().join("t"), folder.path().join("moved")).unwrap();
        let finding = only(diagnose(&view).await);
        assert!(finding.cure == Cure::Rebind && finding.what.starts_with("rows of this view are in a table"), "{finding:?}");
        let opened = Table::open_in(view.clone()).await.unwrap();
        opened.rebind([folder.path().join("moved").display().to_string()]).await.unwrap();
        assert!(diagnose(&view).await.findings.is_empty());
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_view_whose_table_is_damaged_names_the_damage() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let view = view_of_a_table(folder.path()).await;
        let not_checked = diagnose(&view).await.not_checked;
        assert!(not_checked[0].starts_with("the rows of 1 version of other tables"), "{not_checked:?}");
        let manifest = folder.path().join("t").join(manifest_name(1));
        let bytes = std::fs::read(&manifest).unwrap();
        std::fs::write(&manifest, &bytes[..bytes.len() / 2]).unwrap();
        let found = diagnose(&view).await;
        assert!(found.is_damaged());
        let finding = only(found);
        assert_eq!((finding.place, finding.cure), (format!("../t/{}", manifest_name(1)), Cure::Copy));
        assert!(finding.what.starts_with("rows of this view are in a table that is damaged: "), "{}", finding.what);
        assert!(finding.what.contains("/t version 1: "), "{}", finding.what);
        // A version that is not there is named, and no path.
        std::fs::remove_file(&manifest).unwrap();
        let finding = only(diagnose(&view).await);
        assert!(finding.cure == Cure::Rebind && finding.what.ends_with("/t: no version 1"), "{finding:?}");
    });
}

#[test]
fn many_small_pieces_ask_for_a_compaction_that_does_something() {
    block_on(async {
        let (_, store) = memory();
        let table = pieces(store.clone(), 40).await;
        let found = diagnose(&store).await;
        let cures: Vec<&Cure> = found.findings.iter().map(|finding| &finding.cure).collect();
        assert_eq!(cures, [&Cure::Compact, &Cure::CompactRuns], "{found:?}");
        let merged = table.storage().compact(4 << 20).await.unwrap();
        assert_eq!(only(diagnose(&store).await).cure, Cure::CompactRuns);
        let (_, moved) =
            merged.storage().compact_runs(4 << 20, Locality { window: 16, extra_ranges: 1, percent: 150 }).await.unwrap();
        assert!(moved.blocks > 0);
        assert!(diagnose(&store).await.findings.is_empty());
        assert!(diagnose(&pieces_store(31).await).await.findings.is_empty());
    });
}

async fn pieces_store(count: i64) -> Store {
    let (_, store) = memory();
    pieces(store.clone(), count).await;
    store
}

#[test]
fn a_folder_without_a_table_is_not_found() {
    block_on(async {
        let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let error = Storage::of(&over(objects)).diagnose(HOUR, now_ms()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    });
}
