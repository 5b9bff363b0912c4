//! Damage is detected: every byte of every object of a small table is flipped, and every object is cut at every length, extended
//! and swapped. Opening, verifying and reading then give an error or the rows that were written; never a panic, and never other
//! rows.

use crate::common;
use std::{
    panic::AssertUnwindSafe,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::common::tables::{self, Rng, block_on, joined, memory, overwrite, tiny_cuts, two_partitions};
use arrow_array::RecordBatch;
use futures::{FutureExt, StreamExt};
use object_store::memory::InMemory;
use tetrys::{Error, ErrorKind, Store, Table, store::Put};

/// A sound table: its objects, its rows, and a random generator.
struct Sound {
    rng: Rng,
    objects: Vec<(String, Vec<u8>)>,
    written: RecordBatch,
}

fn sound() -> Sound {
    let seed = common::seed();
    let (schema, partitions) = two_partitions(seed);
    let (_, store) = memory();
    block_on(async {
        tables::write(store.clone(), schema, tables::cut_by(tiny_cuts()), &partitions).await.unwrap();
        let sound = Sound { rng: Rng(seed), objects: tables::objects(&store).await, written: joined(&partitions) };
        let verified = Table::open_in(store).await.unwrap().storage().verify(|_, _| {}).await.unwrap();
        assert!(verified.damage.is_empty(), "{verified:?}");
        sound
    })
}

impl Sound {
    fn total(&self) -> usize {
        self.objects.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// Returns a new store with the same objects.
    async fn copy(&self) -> (std::sync::Arc<InMemory>, Store) {
        let (raw, store) = memory();
        for (name, bytes) in &self.objects {
            overwrite(&*raw, name, bytes).await;
        }
        (raw, store)
    }
}

/// The result of opening and verifying a damaged table.
#[derive(Debug)]
enum Found {
    /// The table cannot be opened.
    AtOpening(Error),
    /// The table can be opened, and verification reports this damage.
    Damage(Vec<String>),
}

/// Opens and verifies the table, and reads everything that depends on the object `name` (all rows, or the whole index). The reads
/// must fail or be correct.
async fn look(store: &Store, name: &str, written: &RecordBatch) -> Found {
    let table = match Table::open_in(store.clone()).await {
        Ok(table) => table,
        Err(error) => return Found::AtOpening(error),
    };
    let verified = table.storage().verify(|_, _| {}).await.unwrap();
    let damage = verified.damage.into_iter().map(|damage| format!("{}: {}", damage.object, damage.problem)).collect();
    if name.starts_with("index/") {
        match table.index_batches().await.and_then(|batches| batches.collect::<Result<Vec<_>, _>>()) {
            Ok(batches) => {
                for column in batches[0].schema().fields() {
                    assert_eq!(batches[0].column_by_name(column.name()), written.column_by_name(column.name()));
                }
            }
            Err(error) => assert!(is_about_bytes(&error), "{:?}: {error}", error.kind()),
        }
    }
    if name.starts_with("hashes/") {
        return Found::Damage(damage);
    }
    match table.row_loader().scan(64).collect::<Vec<_>>().await.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(read) => {
            let rows: Vec<_> = (0..written.num_rows() as u64).map(Some).collect();
            assert_eq!(read.len(), 1);
            tables::assert_rows(&read[0], written, &rows);
        }
        Err(error) => assert!(is_about_bytes(&error), "{:?}: {error}", error.kind()),
    }
    Found::Damage(damage)
}

fn is_about_bytes(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::NotFound)
}

/// Replaces an object by each damaged version, looks at the table, and restores the object. `cases` are (object, description,
/// bytes).
fn each_is_found(sound: &Sound, cases: impl Iterator<Item = (usize, String, Vec<u8>)> + Send) -> usize {
    let (cases, count) = (Mutex::new(cases), AtomicUsize::new(0));
    let work = || {
        block_on(async {
            let (raw, store) = sound.copy().await;
            loop {
                let Some((object, what, bytes)) = cases.lock().unwrap().next() else { break };
                let (name, whole) = &sound.objects[object];
                overwrite(&*raw, name, &bytes).await;
                let found = AssertUnwindSafe(look(&store, name, &sound.written)).catch_unwind().await;
                let place = format!("{name}, {} bytes, {what}", whole.len());
                match found.unwrap_or_else(|_| panic!("a panic over {place}")) {
                    Found::AtOpening(error) => {
                        assert!(name.starts_with("manifests/") && is_about_bytes(&error), "{place}: {error}");
                    }
                    Found::Damage(damage) => assert!(!damage.is_empty(), "{place}: not noticed"),
                }
                overwrite(&*raw, name, whole).await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
    };
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    count.into_inner()
}

#[test]
fn a_flipped_byte_of_any_object_is_found() {
    let sound = sound();
    let mut rng = sound.rng.clone();
    // A full run flips each bit of each byte alone. Otherwise a random choice takes a quarter of the bytes, and flips all bits or one.
    let masks = if common::full() { (0..8).map(|bit| 1 << bit).collect::<Vec<u8>>() } else { vec![0xff] };
    let places = sound.objects.iter().enumerate().flat_map(|(object, (_, bytes))| (0..bytes.len()).map(move |at| (object, at)));
    let chosen: Vec<(usize, usize)> = places.filter(|_| common::full() || rng.once_in(4)).collect();
    let count = chosen.len() * masks.len();
    let cases = chosen.into_iter().flat_map(|(object, at)| masks.iter().map(move |mask| (object, at, *mask))).map(
        |(object, at, mask)| {
            let mask = if mask == 0xff && rng.once_in(2) { 1 << rng.below(8) } else { mask };
            let mut bytes = sound.objects[object].1.clone();
            bytes[at] ^= mask;
            (object, format!("byte {at} flipped by {mask:#04x}"), bytes)
        },
    );
    let flips = each_is_found(&sound, cases);
    println!("{flips} flips of {} bytes in {} objects, each found", sound.total(), sound.objects.len());
    assert!(flips == count && count > sound.total() / 5);
}

#[test]
fn every_object_cut_at_any_length_is_found() {
    let sound = sound();
    let mut rng = sound.rng.clone();
    let places = sound.objects.iter().enumerate().flat_map(|(object, (_, bytes))| (0..bytes.len()).map(move |len| (object, len)));
    // The first and last lengths of each object are always tried, and one in sixteen of the others; all of them in a full run.
    let chosen = places.filter(|(object, len)| {
        let from_end = sound.objects[*object].1.len() - len;
        common::full() || *len < 4 || from_end < 4 || rng.once_in(16)
    });
    let cuts = each_is_found(
        &sound,
        chosen.map(|(object, len)| (object, format!("cut to {len} bytes"), sound.objects[object].1[..len].to_vec())),
    );
    println!("{cuts} cuts of {} bytes in {} objects, each found", sound.total(), sound.objects.len());
    assert!(cuts > sound.total() / 20);
}

#[test]
fn an_object_that_grew_is_found() {
    let sound = sound();
    let grown = (0..sound.objects.len()).flat_map(|object| {
        let bytes = &sound.objects[object].1;
        [
            (object, "one zero more".to_owned(), [bytes, &[0][..]].concat()),
            (object, "twice".to_owned(), [&bytes[..], bytes].concat()),
        ]
    });
    println!("{} grown objects, each found", each_is_found(&sound, grown));
}

#[test]
fn an_object_in_the_place_of_another_is_found() {
    let sound = sound();
    let pairs = (0..sound.objects.len()).flat_map(|a| (0..sound.objects.len()).map(move |b| (a, b)));
    let swapped =
        pairs.filter(|(a, b)| a != b).map(|(a, b)| (a, format!("holds {}", sound.objects[b].0), sound.objects[b].1.clone()));
    println!("{} swapped objects, each found", each_is_found(&sound, swapped));
}

#[test]
fn damage_in_the_files_of_a_directory_is_found_likewise() {
    let sound = sound();
    let mut rng = sound.rng.clone();
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &sound.objects {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let cases = common::cases(8);
    for (name, whole) in &sound.objects {
        for case in 0..cases {
            let at = rng.below(whole.len() as u64) as usize;
            let mut bytes = whole.clone();
            if case % 2 == 0 {
                bytes.truncate(at)
            } else {
                bytes[at] ^= 1 << rng.below(8)
            };
            std::fs::write(folder.path().join(name), &bytes).unwrap();
            // The store is opened again, because a store keeps handles of open files.
            let store = Store::open(folder.path().to_str().unwrap()).unwrap();
            match block_on(look(&store, name, &sound.written)) {
                Found::AtOpening(error) => assert!(is_about_bytes(&error), "{name}: {error}"),
                Found::Damage(damage) => assert!(!damage.is_empty(), "{name}, byte {at}, case {case}: not noticed"),
            }
        }
        std::fs::write(folder.path().join(name), whole).unwrap();
    }
    println!("{} damaged files, each found", sound.objects.len() * cases);
}

#[test]
fn a_missing_object_is_found_and_named() {
    let sound = sound();
    for (missing, _) in &sound.objects {
        block_on(async {
            let (_, store) = sound.copy().await;
            store.delete(missing).await.unwrap();
            match look(&store, missing, &sound.written).await {
                Found::AtOpening(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{missing}: {error}"),
                Found::Damage(damage) => {
                    let name = missing.rsplit('/').next().unwrap();
                    assert!(damage.iter().any(|damage| damage.contains(name)), "{missing}: {damage:?}");
                }
            }
        });
    }
    println!("{} missing objects, each found", sound.objects.len());
}

#[test]
fn an_object_that_nobody_names_harms_nothing() {
    let sound = sound();
    block_on(async {
        let (_, store) = sound.copy().await;
        for name in ["chunks/00/stray", "manifests/notes.txt", "manifests/18446744073709551615.json", "stray"] {
            assert_eq!(store.put_new(name, "stray".into()).await.unwrap(), Put::Created);
        }
        let Found::Damage(damage) = look(&store, "stray", &sound.written).await else { panic!("it opens") };
        assert!(damage.is_empty(), "{damage:?}");
    });
}
