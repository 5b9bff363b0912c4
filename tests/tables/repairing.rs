//! A table is repaired with a copy of it: whatever was damaged or lost is again as it was, and nothing else changes. What the copy does
//! not have is named.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc, time::Duration};

use crate::common::{
    self,
    tables::{Rng, block_on},
};
use arrow_array::{Int64Array, RecordBatch};
use futures::StreamExt;
use object_store::{memory::InMemory, path::Path as ObjectPath};
use tetrys::{
    ErrorKind, Schema, Store, Table, TableWriter, WriteOptions,
    format::manifest_name,
    store::CountingStore,
    table::{GcSettings, Repair, Storage, VerifyReach, Versions, now_ms},
};

fn rows(from: i64) -> RecordBatch {
    let column = || Arc::new(Int64Array::from_iter_values(from..from + 50)) as _;
    RecordBatch::try_from_iter([("id", column()), ("x", column())]).unwrap()
}

async fn commit(writer: TableWriter, from: i64) -> Table {
    let mut partition = writer.partition().unwrap();
    partition.write(&rows(from)).await.unwrap();
    writer.commit([partition.finish().await.unwrap()]).await.unwrap()
}

/// Creates a table of four versions.
async fn made(folder: &Path) -> Table {
    let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build().unwrap();
    let writer = Table::create(folder.to_str().unwrap(), schema, WriteOptions::default()).await.unwrap();
    writer.attach("map", "a map of the town").await.unwrap();
    let table = commit(writer, 0).await;
    let table = commit(table.append(WriteOptions::default()).await.unwrap(), 50).await;
    let table = table.edit().tag("gold", 1).commit().await.unwrap();
    commit(table.append(WriteOptions::default()).await.unwrap(), 100).await
}

/// Returns the files below a folder with their content, by their names.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn add(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => add(root, &path, found),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    add(folder, folder, &mut found);
    found
}

fn copy(from: &Path, to: &Path) {
    for (name, content) in files(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

fn store(folder: &Path) -> Store {
    Store::open(folder.to_str().unwrap()).unwrap()
}

async fn repaired(folder: &Path, copy: &Path) -> Repair {
    Storage::of(&store(folder)).repair(&store(copy), |done, total| assert!(done <= total)).await.unwrap()
}

async fn is_sound(folder: &Path) -> bool {
    let reach = VerifyReach { all_versions: true, sources: true };
    let Ok(table) = Table::open(folder.to_str().unwrap()).await else { return false };
    table.storage().verify_more(reach, |_, _| {}).await.unwrap().damage.is_empty()
}

/// Damages a file in a random way. Returns what was done.
fn damage(path: &Path, rng: &mut Rng) -> &'static str {
    let mut content = fs::read(path).unwrap();
    let place = rng.below(content.len() as u64) as usize;
    let how = *rng.pick(&["gone", "flipped", "cut", "longer", "empty", "a folder"]);
    match how {
        "gone" | "a folder" => {
            fs::remove_file(path).unwrap();
            if how == "a folder" {
                fs::create_dir(path).unwrap();
            }
            return how;
        }
        "flipped" => content[place] ^= 1 << rng.below(8),
        "cut" => content.truncate(place),
        "longer" => content.push(0),
        _ => content.clear(),
    }
    fs::write(path, content).unwrap();
    how
}

#[test]
fn whatever_was_damaged_is_again_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let (table, backup) = (home.path().join("t"), home.path().join("backup"));
    block_on(async {
        made(&table).await;
        copy(&table, &backup);
        let whole = files(&table);
        let names: Vec<&String> = whole.keys().collect();
        let mut rng = Rng(common::seed());
        for _ in 0..common::cases(40) {
            let mut done = BTreeMap::new();
            for _ in 0..=rng.below(4) {
                let name = *rng.pick(&names);
                // Before the first collection, a manifest that is gone was deleted, as far as anybody can tell.
                if !done.contains_key(name) && !name.starts_with("manifests/") {
                    done.insert(name.clone(), damage(&table.join(name), &mut rng));
                }
            }
            let repair = repaired(&table, &backup).await;
            let in_the_way: Vec<&String> = done.iter().filter(|(_, how)| **how == "a folder").map(|(name, _)| name).collect();
            let mut left: Vec<&String> = repair.damage.iter().map(|damage| &damage.object).collect();
            left.sort_unstable();
            // What is not damaged is not replaced. A layout behind a folder does not tell its chunks, which may have folders in the way too.
            assert!(repair.repaired.iter().all(|name| done.contains_key(name)), "{done:?}: {repair:?}");
            let is_hidden =
                |name: &&String| name.starts_with("chunks/") && in_the_way.iter().any(|other| other.starts_with("layout/"));
            let reported = in_the_way.iter().filter(|name| left.contains(name) || !is_hidden(name)).copied();
            assert_eq!(left, reported.collect::<Vec<_>>(), "{done:?}: {repair:?}");
            for name in in_the_way {
                fs::remove_dir(table.join(name)).unwrap();
            }
            let rest = repaired(&table, &backup).await;
            assert!(rest.damage.is_empty(), "{done:?}: {rest:?}");
            assert_eq!(files(&table), whole, "{done:?}");
            assert!(is_sound(&table).await);
        }
    });
}

#[test]
fn a_damaged_manifest_is_replaced_by_that_of_the_same_version_only() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name);
    block_on(async {
        made(&place("t")).await;
        copy(&place("t"), &place("backup"));
        let whole = files(&place("t"));
        let flip = |name: &str, at: usize| {
            let mut content = whole[name].clone();
            content[at] ^= 1;
            fs::write(place("t").join(name), content).unwrap();
        };
        let names: Vec<String> = (1..=4).map(manifest_name).collect();
        // All at once: the end of the newest states its own hash, and each states that of the one before.
        for name in &names {
            flip(name, whole[name].len() / 2);
        }
        let repair = repaired(&place("t"), &place("backup")).await;
        assert_eq!(repair.repaired, names.iter().rev().cloned().collect::<Vec<_>>(), "{repair:?}");
        assert_eq!(files(&place("t")), whole);

        // The copy has made a version of its own since.
        let own = Table::open_version_in(store(&place("backup")), 4).await.unwrap();
        own.edit().set_property("made", "in the copy").commit().await.unwrap();
        let here = Table::open(place("t").to_str().unwrap()).await.unwrap();
        let here = here.edit().set_property("made", "here").commit().await.unwrap();
        let newest = manifest_name(here.version());
        let mut content = fs::read(place("t").join(&newest)).unwrap();
        content[20] ^= 1;
        fs::write(place("t").join(&newest), &content).unwrap();
        let repair = repaired(&place("t"), &place("backup")).await;
        assert!(repair.damage[0].problem.contains("it is another one"), "{repair:?}");
        assert_eq!(fs::read(place("t").join(&newest)).unwrap(), content);

        // Nothing tells which version it was.
        content.truncate(100);
        fs::write(place("t").join(&newest), &content).unwrap();
        let repair = repaired(&place("t"), &place("backup")).await;
        assert!(repair.damage[0].problem.contains("nothing here tells"), "{repair:?}");
        assert_eq!((repair.damage.len(), repair.repaired.len()), (1, 0));
    });
}

/// From the first garbage collection on, the newest version says which manifests must be there, and which they are.
#[test]
fn lost_manifests_of_versions_that_are_kept_are_brought_back() {
    let home = tempfile::tempdir().unwrap();
    let (place, backup) = (home.path().join("t"), home.path().join("backup"));
    block_on(async {
        made(&place).await;
        let settings = GcSettings { keep_versions: 2, age: Duration::ZERO };
        for hours in 1..5 {
            Storage::of(&store(&place)).collect_garbage(settings, now_ms() + hours * 3_600_000).await.unwrap();
        }
        let mut table = Table::open(place.to_str().unwrap()).await.unwrap();
        // More ancestors than a manifest lists.
        for version in 0..70 {
            table = table.edit().set_property("version", version).commit().await.unwrap();
        }
        let floor = table.manifest().floor();
        copy(&place, &backup);
        let whole = files(&place);
        // Version 1 has a tag, and 4 was the newest before the collections. Nothing was deleted above the floor.
        let kept: Vec<u64> =
            Versions::of(&store(&place)).list().await.unwrap().into_iter().map(|version| version.version).collect();
        let below: Vec<u64> = kept.iter().copied().filter(|version| *version <= floor).collect();
        assert!(below.contains(&1) && !below.contains(&2) && floor + 65 < table.version(), "{kept:?} {floor}");
        let lost: Vec<u64> =
            kept.iter().copied().filter(|version| *version != table.version() && !version.is_multiple_of(3)).collect();
        for version in &lost {
            fs::remove_file(place.join(manifest_name(*version))).unwrap();
        }
        // Another manifest, which is sound, has the name of one.
        let is_other = |version: &u64| *version > floor && *version != table.version() && version.is_multiple_of(3);
        let other = kept.iter().copied().find(is_other).unwrap();
        let stranger = home.path().join("stranger");
        let mut table_of_others = made(&stranger).await;
        while table_of_others.version() < other {
            table_of_others = table_of_others.edit().set_property("of", table_of_others.version()).commit().await.unwrap();
        }
        fs::copy(stranger.join(manifest_name(other)), place.join(manifest_name(other))).unwrap();
        let repair = repaired(&place, &backup).await;
        let expected = kept.iter().filter(|version| lost.contains(version) || **version == other);
        let expected: Vec<String> = expected.map(|version| manifest_name(*version)).collect();
        assert_eq!((repair.repaired, repair.damage.len()), (expected, 0));
        assert_eq!(files(&place), whole);
        assert!(is_sound(&place).await);

        // What was given up does not come back.
        let repair = repaired(&place, &backup).await;
        assert!(repair.repaired.is_empty() && !place.join(manifest_name(2)).exists());
        // Without the newest manifest, nothing tells what was given up since.
        fs::write(place.join(manifest_name(table.version())), "damaged").unwrap();
        fs::remove_file(place.join(manifest_name(1))).unwrap();
        fs::remove_file(backup.join(manifest_name(table.version()))).unwrap();
        let repair = repaired(&place, &backup).await;
        assert_eq!((repair.repaired.len(), repair.damage.len()), (0, 1));
    });
}

#[test]
fn what_the_copy_does_not_have_is_named() {
    let home = tempfile::tempdir().unwrap();
    let (table, backup) = (home.path().join("t"), home.path().join("backup"));
    block_on(async {
        made(&table).await;
        copy(&table, &backup);
        let chunks: Vec<String> = files(&table).into_keys().filter(|name| name.starts_with("chunks/")).collect();
        assert!(chunks.len() >= 3);
        for name in &chunks {
            fs::write(table.join(name), "damaged").unwrap();
        }
        fs::remove_file(backup.join(&chunks[0])).unwrap();
        fs::write(backup.join(&chunks[1]), "damaged too").unwrap();
        let repair = repaired(&table, &backup).await;
        let left: Vec<&String> = repair.damage.iter().map(|damage| &damage.object).collect();
        assert_eq!(left, [&chunks[0], &chunks[1]]);
        assert!(repair.damage[0].problem.contains("the copy: ") && repair.damage[0].problem.contains("no such object"));
        assert_eq!(repair.repaired, chunks[2..]);
        // What could not be repaired is as it was.
        assert_eq!(fs::read_to_string(table.join(&chunks[0])).unwrap(), "damaged");

        let store = store(&table);
        assert_eq!(Storage::of(&store).repair(&store, |_, _| {}).await.unwrap_err().kind(), ErrorKind::Invalid);
        let empty = Store::open(home.path().join("empty").to_str().unwrap()).unwrap();
        let error = Storage::of(&empty).repair(&store, |_, _| {}).await.unwrap_err();
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("copy the folder `manifests`"), "{error}");
        let error = Storage::of(&store).repair(&empty, |_, _| {}).await.unwrap_err();
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("expected a copy of"), "{error}");
        // A part of a copy is one.
        fs::remove_dir_all(backup.join("manifests")).unwrap();
        let repair = repaired(&table, &backup).await;
        assert_eq!((repair.damage.len(), repair.repaired.len()), (2, 0));
    });
}

/// An open file stays the damaged one when another takes its name.
#[test]
fn a_table_that_is_open_reads_what_was_repaired() {
    let home = tempfile::tempdir().unwrap();
    let (place, backup) = (home.path().join("t"), home.path().join("backup"));
    block_on(async {
        let table = made(&place).await;
        copy(&place, &backup);
        let loader = table.row_loader();
        let read = || async { loader.clone().scan(1000).next().await.unwrap() };
        assert_eq!(read().await.unwrap().len(), 150);
        for name in files(&place).keys().filter(|name| name.starts_with("chunks/")) {
            // In place: the open file is damaged.
            let mut content = fs::read(place.join(name)).unwrap();
            content.iter_mut().for_each(|byte| *byte ^= 1);
            fs::write(place.join(name), content).unwrap();
        }
        assert_eq!(read().await.unwrap_err().kind(), ErrorKind::Corrupt);
        repaired(&place, &backup).await;
        assert_eq!(read().await.unwrap().len(), 150);
    });
}

#[test]
fn a_remote_table_is_repaired_too() {
    let home = tempfile::tempdir().unwrap();
    let backup = home.path().join("backup");
    block_on(async {
        made(&backup).await;
        let table = Store::open("memory://repairing/t").unwrap();
        let whole = files(&backup);
        for (name, content) in &whole {
            table.put_new(name, content.clone().into()).await.unwrap();
        }
        let mut damaged = 0;
        for name in whole.keys().filter(|name| !name.starts_with("manifests/")) {
            table.delete(name).await.unwrap();
            damaged += 1;
            if damaged % 2 == 0 {
                table.put_new(name, "damaged".into()).await.unwrap();
            }
        }
        let repair = Storage::of(&table).repair(&store(&backup), |_, _| {}).await.unwrap();
        assert_eq!((repair.repaired.len(), repair.damage.len()), (damaged, 0));
        for (name, content) in &whole {
            assert_eq!(&table.get_exact(name, content.len() as u64).await.unwrap(), content, "{name}");
        }
    });
}

#[test]
fn a_damaged_pin_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name);
    block_on(async {
        let owner = made(&place("t")).await;
        let writer = Table::create(place("u").to_str().unwrap(), owner.schema().clone(), WriteOptions::default()).await.unwrap();
        commit(writer.references([&owner]).await.unwrap(), 0).await;
        copy(&place("t"), &place("backup"));
        let whole = files(&place("t"));
        let pin = whole.keys().find(|name| name.starts_with("pins/")).unwrap();
        fs::write(place("t").join(pin), "damaged").unwrap();
        assert!(!is_sound(&place("t")).await);
        assert_eq!(repaired(&place("t"), &place("backup")).await.repaired, [pin.as_str()]);
        assert_eq!(files(&place("t")), whole);
        // One that the copy does not have.
        fs::write(place("t").join(pin), "damaged").unwrap();
        fs::remove_file(place("backup").join(pin)).unwrap();
        let repair = repaired(&place("t"), &place("backup")).await;
        assert_eq!((repair.damage[0].object.as_str(), repair.repaired.len()), (pin.as_str(), 0));
    });
}

/// Every object is read once, and a layout once more for the names of its chunks; what is sound is not written.
#[test]
fn a_repair_reads_each_object_once_however_many_versions_name_it() {
    let home = tempfile::tempdir().unwrap();
    let backup = home.path().join("backup");
    block_on(async {
        let mut table = made(&backup).await;
        for version in 0..if common::full() { 96 } else { 16 } {
            table = table.edit().set_property("version", version).commit().await.unwrap();
        }
        let counting = CountingStore::new(InMemory::new());
        let store = Store::new(Arc::new(counting.clone()), ObjectPath::default(), "memory://counted");
        for (name, content) in files(&backup) {
            store.put_new(&name, content.into()).await.unwrap();
        }
        counting.reset();
        let repair = Storage::of(&store).repair(&self::store(&backup), |_, _| {}).await.unwrap();
        assert_eq!((repair.repaired.len(), repair.damage.len()), (0, 0));
        let counts = counting.reset();
        let mut reads = BTreeMap::new();
        counts.gets.iter().for_each(|get| *reads.entry(get.path.clone()).or_insert(0) += 1);
        let most = |path: &str| if path.starts_with("layout/") { 2 } else { 1 };
        assert!(reads.iter().all(|(path, reads)| *reads <= most(path)), "{reads:?}");
        assert_eq!((counts.puts, counts.deletes, counts.lists), (0, 0, 2));
    });
}
