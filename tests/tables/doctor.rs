//! `Table::diagnose` finds what is wrong with a table, says what mends it, and sends a bounded number of requests.

use std::{path::Path, sync::Arc, time::Duration};

use crate::common::tables::{self, Rng, Taste, block_on, cut_by, memory, over, rows_of, sensors, tiny_cuts, two_partitions};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use object_store::{ObjectStore, memory::InMemory};
use tetrys::{
    ErrorKind, Schema, Store, Table, WriteOptions,
    format::manifest_name,
    store::CountingStore,
    table::{Cure, Diagnosis, Finding, GcSettings, Locality, now_ms},
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
    Table::diagnose(store, HOUR, now_ms()).await.unwrap()
}

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
        assert!(found.findings.is_empty() && found.not_checked.is_empty(), "{found:?}");
        assert_eq!((found.version, found.is_damaged()), (Some(1), false));
        let few = counting.reset();
        assert!(few.requests() <= 30, "{few:?}");
        for number in 0..100 {
            newest = newest.edit().set_property("n", number).commit().await.unwrap();
        }
        counting.reset();
        let found = diagnose(&store).await;
        let many = counting.reset();
        // The 64 newest manifests are read, and not all 101.
        assert!(many.requests() <= few.requests() + 63, "{many:?}, {few:?}");
        assert_eq!(found.not_checked, ["37 older versions"]);
        assert!(found.findings.is_empty() && newest.version() == 101, "{found:?}");
    });
}

#[test]
fn missing_and_short_objects_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(store(folder.path(), "t")).await;
        let (name, bytes) = table.objects().await.unwrap().into_iter().find(|(name, _)| name.starts_with("chunks/")).unwrap();
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
fn manifests_that_cannot_be_read_are_damage() {
    block_on(async {
        let (raw, store) = memory();
        let second = table(store.clone()).await.edit().set_property("a", 1).commit().await.unwrap();
        tables::overwrite(&*raw, &manifest_name(1), b"{}").await;
        let finding = only(diagnose(&store).await);
        assert!(finding.place == manifest_name(1) && finding.what.starts_with("version 1 cannot be read: "), "{finding:?}");
        tables::overwrite(&*raw, &manifest_name(second.version()), b"{}").await;
        let found = diagnose(&store).await;
        assert_eq!((found.version, found.not_checked.len()), (None, 1), "{found:?}");
        assert!(found.is_damaged() && only(found).what.starts_with("the newest manifest cannot be read: "));
    });
}

#[test]
fn what_writers_left_is_found_when_it_is_old() {
    block_on(async {
        let (_, store) = memory();
        let writer = Table::create_in(store.clone(), two_partitions(3).0, cut_by(tiny_cuts())).await.unwrap();
        let error = Table::diagnose(&store, HOUR, now_ms()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let mut partition = writer.partition().unwrap();
        partition.write(&two_partitions(3).1[0]).await.unwrap();
        let receipt = partition.finish().await.unwrap();
        assert_eq!(only(diagnose(&store).await).cure, Cure::CollectAbandoned);
        let table = writer.commit([receipt]).await.unwrap();
        let writer = table.append(WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows_of(&sensors(), &mut Rng(5), &[("x", 4)], Taste::SMALL)).await.unwrap();
        partition.finish().await.unwrap();
        // It may still be committed.
        assert!(diagnose(&store).await.findings.is_empty());
        let finding = only(Table::diagnose(&store, HOUR, later(2)).await.unwrap());
        assert!(finding.cure == Cure::CollectGarbage && finding.place.starts_with("sessions/"), "{finding:?}");
        assert!(finding.since_ms.is_some_and(|since| since <= now_ms()));
        Table::collect_garbage(&store, GcSettings { keep_versions: 0, age: HOUR }, later(2)).await.unwrap();
        let found = Table::diagnose(&store, HOUR, later(2)).await.unwrap();
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
        let finding = only(Table::diagnose(first.store(), HOUR, later(2)).await.unwrap());
        assert!(finding.cure == Cure::Copy && finding.what.contains("its manifests were lost"), "{finding:?}");
        let before = first.store().list("").await.unwrap();
        let error = Table::collect_abandoned(first.store(), HOUR, later(2)).await.unwrap_err();
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
        assert!(!Table::collect_garbage(&store, settings, later(2)).await.unwrap().condemn.is_empty());
        assert!(diagnose(&store).await.findings.is_empty());
        let finding = only(Table::diagnose(&store, HOUR, later(3)).await.unwrap());
        assert!(finding.cure == Cure::CollectGarbage && finding.what.contains("are condemned"), "{finding:?}");
        Table::collect_garbage(&store, settings, later(4)).await.unwrap();
        let finding = only(Table::diagnose(&store, HOUR, later(6)).await.unwrap());
        assert!(finding.cure == Cure::CollectGarbage && finding.what.contains("marked for deletion"), "{finding:?}");
        Table::collect_garbage(&store, settings, later(6)).await.unwrap();
        assert!(Table::diagnose(&store, HOUR, later(7)).await.unwrap().findings.is_empty());
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
        // The table that uses the version knows too.
        let finding = only(diagnose(&store(folder.path(), "user")).await);
        assert_eq!((finding.place.as_str(), finding.cure), ("../t@1", Cure::Rebind));
    });
}

#[cfg(feature = "frame")]
#[test]
fn a_view_whose_table_was_moved_asks_for_a_rebind() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let table = table(store(folder.path(), "t")).await;
        let url = folder.path().join("view").display().to_string();
        table.index().filter_sql("log = 'a'").await.unwrap().save(&url).await.unwrap();
        let view = Store::open(&url).unwrap();
        assert!(diagnose(&view).await.findings.is_empty());
        std::fs::rename(folder.path().join("t"), folder.path().join("moved")).unwrap();
        let finding = only(diagnose(&view).await);
        assert!(finding.cure == Cure::Rebind && finding.what.starts_with("rows of this view are in a table"), "{finding:?}");
        let opened = Table::open_in(view.clone()).await.unwrap();
        opened.rebind([folder.path().join("moved").display().to_string()]).await.unwrap();
        assert!(diagnose(&view).await.findings.is_empty());
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
        let merged = table.compact(4 << 20).await.unwrap();
        assert_eq!(only(diagnose(&store).await).cure, Cure::CompactRuns);
        let (_, moved) = merged.compact_runs(4 << 20, Locality { window: 16, extra_ranges: 1, percent: 150 }).await.unwrap();
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
        let error = Table::diagnose(&over(objects), HOUR, now_ms()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    });
}
