//! The cache on disk and in memory, over a real server that counts requests. Cached data is not requested again and is used only
//! if it is right. The cache folder stays within its bound and contains only its own files. Killed processes, damage and a full
//! disk make reads slower and nothing worse.

use crate::common;
use std::{
    env, fs,
    io::{BufRead, BufReader},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant, SystemTime},
};

use crate::common::{
    s3,
    tables::{self, Rng, assert_rows, block_on, cut_by, joined, tiny_cuts, two_partitions},
};
use tetrys::{
    ErrorKind, Result, Store, StoreOptions, Table,
    loader::{DataLoader, LoaderOptions},
    store::{CacheFolder, RangeRequest},
};
use tetrys_s3_server::{Fault, Request, Server};

const MIB: u64 = 1 << 20;
const BOUND: u64 = 16 * MIB;

/// Returns options for this server with a cache of 16 MiB in this folder, and no cache in memory unless `more` sets one.
fn cached(server: &Server, folder: &Path, more: &[(&str, &str)]) -> StoreOptions {
    let pairs = [("cache", folder.to_str().unwrap()), ("cache_size", "16MiB"), ("cache_memory", "0")];
    s3::options_and(server, &[&pairs, more].concat())
}

fn cache(folder: &Path) -> CacheFolder {
    CacheFolder::of(&StoreOptions::only([("cache", folder.to_str().unwrap())])).unwrap().unwrap()
}

/// Returns the requests since the last call for objects that may be cached.
fn payload(server: &Server) -> Vec<Request> {
    let kept = |request: &Request| request.method == "GET" && !request.is_list() && !request.key.contains("/manifests/");
    server.take_requests().into_iter().filter(kept).collect()
}

/// Returns an object name that is a hash of content.
fn name(number: u64) -> String {
    format!("chunks/{number:02x}/{:064x}", number * 0x9e37_79b9)
}

/// Returns the content of object `number`. All frames of the content differ.
fn content(number: u64, bytes: u64) -> Vec<u8> {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    let noise = NOISE.get_or_init(|| Rng(7).bytes(300_007));
    let mut found = noise[(number as usize * 4_099) % noise.len()..].to_vec();
    while (found.len() as u64) < bytes {
        found.extend_from_slice(noise);
    }
    found.truncate(bytes as usize);
    found
}

async fn read(store: &Store, number: u64, bytes: u64, range: std::ops::Range<u64>) -> Result<Vec<u8>> {
    let trial = store.on_trial();
    let answer = trial.read(&[RangeRequest::new(name(number), bytes, range)]).await?;
    trial.admit().await;
    Ok(answer[0].to_vec())
}

/// Returns all files below a folder, without following links.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

/// Returns the cache entries.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let is_entry =
        |path: &PathBuf| path.file_name().unwrap().len() == 45 && path.parent().unwrap().file_name().unwrap().len() == 3;
    files(folder).into_iter().filter(is_entry).collect()
}

/// Writes a table on the server.
fn table(server: &Server) -> (arrow_array::RecordBatch, u64) {
    let (schema, partitions) = two_partitions(common::seed());
    block_on(tables::write(s3::store(server, "t"), schema, cut_by(tiny_cuts()), &partitions)).unwrap();
    server.take_requests();
    let all = joined(&partitions);
    let rows = all.num_rows() as u64;
    (all, rows)
}

/// Opens the table again, reads all rows and some windows, and compares them.
async fn read_all(options: &StoreOptions, all: &arrow_array::RecordBatch) -> Result<()> {
    let table = Table::open_with("s3://data/t", options).await?;
    let every: Vec<u64> = (0..table.rows()).collect();
    let rows = table.row_loader().take(&every).await?;
    assert_rows(&rows, all, &every.iter().map(|row| Some(*row)).collect::<Vec<_>>());
    for row in [0, 7, 12] {
        let window = table.row_loader().get_rows(row, -2..=2).await?;
        let there = window.table_rows().to_vec();
        assert_rows(&window, all, &there);
    }
    Ok(())
}

#[test]
fn a_second_read_asks_for_nothing_but_what_is_newest() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, _) = table(&server);
    let options = cached(&server, folder.path(), &[]);
    block_on(read_all(&options, &all)).unwrap();
    assert!(payload(&server).len() > 6);
    block_on(read_all(&options, &all)).unwrap();
    let asked: Vec<Request> = server.take_requests();
    assert_eq!(asked.len(), 3, "a listing, a manifest and its successor: {asked:?}");
    assert!(asked[0].is_list() && asked[1..].iter().all(|request| request.key.contains("/manifests/")), "{asked:?}");

    // Without the cache, the same reads send the same requests: a cache is only used if it was asked for.
    block_on(read_all(&s3::options(&server), &all)).unwrap();
    assert!(payload(&server).len() > 6);
}

#[test]
fn a_loader_counts_what_it_sent_apart_from_what_it_planned() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    table(&server);
    let options = cached(&server, folder.path(), &[]);
    let epoch = || {
        block_on(async {
            let table = Table::open_with("s3://data/t", &options).await.unwrap();
            let mut loader = DataLoader::new(table.row_loader().cache_bytes(0), LoaderOptions::new(4)).await.unwrap();
            while loader.next().await.unwrap().is_some() {}
            let sent = payload(&server).iter().filter(|request| request.key.contains("/chunks/")).count() as u64;
            assert_eq!(loader.stats().requests, sent);
            (sent, loader.stats().requested_bytes, loader.planned_reads())
        })
    };
    let (first, second) = (epoch(), epoch());
    assert!(first.0 > 0 && first.0 <= first.2.requests, "{first:?}");
    assert_eq!((second.0, second.1, second.2), (0, 0, first.2), "the cache answers, and the plans are the same");
}

#[test]
fn small_answers_stay_in_memory_within_their_bound() {
    let server = s3::server();
    server.put("data", &format!("t/{}", name(1)), content(1, 4 * MIB));
    let store = |memory: &str| Store::open_with("s3://data/t", &s3::options_and(&server, &[("cache_memory", memory)])).unwrap();
    block_on(async {
        let roomy = store("8MiB");
        let ranges: Vec<u64> = (0..200).map(|i| i * 20_000).collect();
        for round in 0..3 {
            for start in &ranges {
                let answer = read(&roomy, 1, 4 * MIB, *start..*start + 16_000).await.unwrap();
                assert_eq!(answer, content(1, 4 * MIB)[*start as usize..*start as usize + 16_000]);
            }
            assert_eq!(payload(&server).len(), if round == 0 { 200 } else { 0 }, "round {round}");
        }
        // A plain read is not verified, so its result is not cached.
        roomy.read(&[RangeRequest::new(name(1), 4 * MIB, 0..16_000)]).await.unwrap();
        assert_eq!(payload(&server).len(), 1);
        let narrow = store("1MiB");
        for start in ranges.iter().chain(&ranges) {
            read(&narrow, 1, 4 * MIB, *start..*start + 16_000).await.unwrap();
        }
        let asked = payload(&server).len();
        assert!((300..=400).contains(&asked), "3.2 MB through 1 MiB: {asked} of 400 were asked for");
    });
}

#[test]
fn of_ranges_that_overlap_only_what_is_missing_is_asked_for() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (bytes, whole) = (5 * MIB, content(1, 5 * MIB));
    server.put("data", &format!("t/{}", name(1)), whole.clone());
    let store = Store::open_with("s3://data/t", &cached(&server, folder.path(), &[])).unwrap();
    let asked = |range: std::ops::Range<u64>| {
        let answer = block_on(read(&store, 1, bytes, range.clone())).unwrap();
        assert!(answer == whole[range.start as usize..range.end as usize], "{range:?}");
        payload(&server).into_iter().map(|request| request.range.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(asked(1_000_000..1_200_000), [(1_000_000, 1_199_999)]);
    assert_eq!(asked(1_000_000..1_200_000), []);
    assert_eq!(asked(1_100_000..1_150_000), [], "a part, across the edge of a frame");
    assert_eq!(asked(1_100_000..1_300_000), [(1_200_000, 1_299_999)]);
    assert_eq!(asked(900_000..1_250_000), [(900_000, 999_999)]);
    assert_eq!(asked(800_000..1_400_000), [(800_000, 1_399_999)], "one request, also where the middle is there");
    assert_eq!(asked(4_000_000..5_000_000), [(4_000_000, 4_999_999)]);
    assert_eq!(asked(0..5 * MIB).len(), 1);
    assert_eq!(asked(0..5 * MIB), []);
    // Random ranges within the cached ones.
    let mut rng = Rng(common::seed());
    for _ in 0..common::cases(40) {
        let start = rng.below(5 * MIB);
        assert_eq!(asked(start..start + rng.below(5 * MIB - start + 1)), []);
    }
}

#[test]
fn equal_names_in_two_stores_never_mix() {
    let (one, two, folder) = (s3::server(), s3::server(), tempfile::tempdir().unwrap());
    one.create_bucket("other");
    let places = [(&one, "data", "t"), (&one, "data", "u"), (&one, "other", "t"), (&two, "data", "t")];
    for (number, (server, bucket, path)) in places.iter().enumerate() {
        server.put(bucket, &format!("{path}/{}", name(1)), content(100 + number as u64, 50_000));
    }
    for round in 0..2 {
        for (number, (server, bucket, path)) in places.iter().enumerate() {
            let options = cached(server, folder.path(), &[("cache_memory", "4MiB")]);
            let store = Store::open_with(&format!("s3://{bucket}/{path}"), &options).unwrap();
            let answer = block_on(read(&store, 1, 50_000, 10..40_000)).unwrap();
            assert!(answer == content(100 + number as u64, 50_000)[10..40_000]);
            assert_eq!(payload(server).len(), 1 - round, "round {round}, place {number}");
        }
    }
    assert_eq!(cache(folder.path()).stats().unwrap().entries, 4);
}

#[test]
fn damaged_entries_are_dropped_and_read_again() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, _) = table(&server);
    let options = cached(&server, folder.path(), &[]);
    let (mut rng, mut of_others) = (Rng(common::seed()), 0);
    for round in 0..common::cases(6) {
        block_on(read_all(&options, &all)).unwrap();
        payload(&server);
        let left = entries(folder.path());
        assert!(left.len() > 6);
        let other = fs::read(&left[0]).unwrap();
        for path in &left {
            let mut bytes = fs::read(path).unwrap();
            match rng.below(6) {
                0 => {
                    let place = rng.below(bytes.len() as u64) as usize;
                    bytes[place] ^= 1 << rng.below(8);
                    fs::write(path, &bytes).unwrap();
                }
                1 => fs::write(path, &bytes[..rng.below(bytes.len() as u64) as usize]).unwrap(),
                2 => fs::write(path, [&bytes[..], &[0]].concat()).unwrap(),
                // A copy of another entry. The first entry itself may be cut already.
                3 if *path != left[0] => fs::write(path, &other).unwrap(),
                4 => {
                    fs::remove_file(path).unwrap();
                    std::os::unix::fs::symlink("/dev/zero", path).unwrap();
                }
                _ => {
                    fs::remove_file(path).unwrap();
                    fs::create_dir(path).unwrap();
                    if rng.below(2) == 0 {
                        fs::write(path.join("of others"), "kept").unwrap();
                        of_others += 1;
                    }
                }
            }
        }
        block_on(read_all(&options, &all)).unwrap();
        assert!(!payload(&server).is_empty(), "round {round}");
        // The entries are written again, whatever replaced them.
        block_on(read_all(&options, &all)).unwrap();
        assert!(payload(&server).is_empty(), "round {round}");
        for path in &left {
            assert!(fs::symlink_metadata(path).unwrap().is_file(), "round {round}: {}", path.display());
        }
    }
    let kept = files(folder.path()).into_iter().filter(|path| path.ends_with("of others")).count();
    assert!(of_others > 0 && kept == of_others, "{kept} of {of_others} files of others are still there");
}

#[test]
fn what_fails_its_checks_is_not_kept_and_what_was_kept_wrong_is_mended() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, rows) = table(&server);
    let options = cached(&server, folder.path(), &[("cache_memory", "4MiB")]);
    // A bit flips in transit in every object that may be cached.
    let kept = |request: &Request| request.method == "GET" && !request.is_list() && !request.key.contains("/manifests/");
    server.on_request(move |request| kept(request).then_some(Fault::Flip(1_000)));
    let error = block_on(read_all(&options, &all)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(cache(folder.path()).stats().unwrap().entries, 0);
    server.behave();
    block_on(read_all(&options, &all)).unwrap();

    // The cache accepted wrong bytes and stored them with a valid checksum: ranges of chunks and whole objects.
    cache(folder.path()).clear().unwrap();
    server.on_request(move |request| kept(request).then_some(Fault::Flip(1_000)));
    let other = cached(&server, folder.path(), &[]);
    let store = Store::open_with("s3://data/t", &other).unwrap();
    let mut wrong = 0;
    for key in server.names("data").iter().filter_map(|key| key.strip_prefix("t/")).filter(|key| !key.contains("manifests")) {
        let bytes = server.get("data", &format!("t/{key}")).unwrap().len() as u64;
        let trial = store.on_trial();
        block_on(trial.read(&[RangeRequest::new(key, bytes, 0..bytes)])).unwrap();
        block_on(trial.admit());
        wrong += 1;
    }
    assert_eq!(cache(folder.path()).stats().unwrap().entries, wrong);
    server.behave();
    server.take_requests();
    block_on(read_all(&other, &all)).unwrap();
    assert!(!payload(&server).is_empty(), "{rows} rows of the store itself");
    block_on(read_all(&other, &all)).unwrap();
    payload(&server);
    block_on(read_all(&other, &all)).unwrap();
    assert!(payload(&server).is_empty());
}

#[test]
fn verifying_looks_at_the_store_whatever_the_cache_has() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, _) = table(&server);
    let options = cached(&server, folder.path(), &[]);
    block_on(read_all(&options, &all)).unwrap();
    let opened = block_on(Table::open_with("s3://data/t", &options)).unwrap();
    assert!(block_on(opened.storage().verify(|_, _| {})).unwrap().damage.is_empty());
    let keys: Vec<String> = server.names("data").into_iter().filter(|key| !key.contains("/manifests/")).collect();
    for key in &keys {
        let sound = server.get("data", key).unwrap();
        let mut damaged = sound.to_vec();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        server.put("data", key, damaged);
        let damage = block_on(opened.storage().verify(|_, _| {})).unwrap().damage;
        assert!(!damage.is_empty(), "{key}");
        server.put("data", key, sound);
    }
}

#[test]
fn the_bound_holds_and_what_was_used_last_stays() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let bytes = 3 * MIB + 77;
    (0..20).for_each(|number| server.put("data", &format!("t/{}", name(number)), content(number, bytes)));
    let store = Store::open_with("s3://data/t", &cached(&server, folder.path(), &[])).unwrap();
    let old = SystemTime::now() - Duration::from_secs(10_000);
    block_on(async {
        for number in 0..20 {
            assert!(read(&store, number, bytes, 0..bytes).await.unwrap() == content(number, bytes));
            // The first entry is used again and again; all others age.
            for (age, path) in entries(folder.path()).iter().enumerate() {
                fs::File::open(path).unwrap().set_modified(old + Duration::from_secs(number * 100 + age as u64)).unwrap();
            }
            read(&store, 0, bytes, 0..bytes).await.unwrap();
            let stats = cache(folder.path()).stats().unwrap();
            assert!(stats.bytes <= BOUND, "{stats:?}");
            let on_disk: u64 = entries(folder.path()).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
            assert!(on_disk <= stats.bytes);
        }
        payload(&server);
        read(&store, 0, bytes, 0..bytes).await.unwrap();
        assert!(payload(&server).is_empty(), "the one that was always used is there");
        read(&store, 2, bytes, 0..bytes).await.unwrap();
        assert_eq!(payload(&server).len(), 1, "one that was not used for long is gone");
    });
    let stats = cache(folder.path()).stats().unwrap();
    assert!(stats.bytes > BOUND / 2 && stats.writers == 1, "{stats:?}");
    drop(store);
    assert_eq!(cache(folder.path()).stats().unwrap().writers, 0);
    let cleared = cache(folder.path()).clear().unwrap();
    assert_eq!((cleared.entries, cleared.bytes), (stats.entries, stats.bytes));
    assert!(entries(folder.path()).is_empty());
}

/// Reads all objects once, in an order drawn by `rng`. Returns how many of them were asked for.
async fn epoch(server: &Server, store: &Store, objects: u64, bytes: u64, rng: &mut Rng) -> u64 {
    let mut order: Vec<u64> = (0..objects).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, rng.below(at as u64 + 1) as usize);
    }
    payload(server);
    for number in order {
        assert!(read(store, number, bytes, 0..bytes).await.unwrap() == content(number, bytes));
    }
    payload(server).len() as u64
}

#[test]
fn epochs_over_twice_the_bound_find_half_of_the_data_and_other_data_takes_its_place() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (objects, bytes, mut rng) = (64, MIB / 2, Rng(common::seed()));
    (0..objects).for_each(|number| server.put("data", &format!("t/{}", name(number)), content(number, bytes)));
    (0..objects).for_each(|number| server.put("data", &format!("u/{}", name(number)), content(number, bytes)));
    let options = cached(&server, folder.path(), &[]);
    let store = Store::open_with("s3://data/t", &options).unwrap();
    let asked: Vec<u64> = (0..4).map(|_| block_on(epoch(&server, &store, objects, bytes, &mut rng))).collect();
    // An entry of 512 KiB takes a little more than that, and a lease of 2 MiB is not used up. The least recently used would go
    // with 54 of 64 requests.
    assert!(asked[0] == objects && asked[1..].iter().all(|asked| (32..=44).contains(asked)), "{asked:?}");
    drop(store);

    // For a process that opens the cache now, all of this is old.
    let other = Store::open_with("s3://data/u", &options).unwrap();
    let asked: Vec<u64> = (0..3).map(|_| block_on(epoch(&server, &other, objects, bytes, &mut rng))).collect();
    assert!(asked[0] == objects && asked[1..].iter().all(|asked| (32..=44).contains(asked)), "{asked:?}");

    // In the same process, the cache follows slowly: of the bytes that are not found, one in 32 is added.
    let store = Store::open_with("s3://data/t", &options).unwrap();
    let asked: Vec<u64> = (0..24).map(|_| block_on(epoch(&server, &store, objects, bytes, &mut rng))).collect();
    assert!(asked[0] > 56 && asked[23] < 52, "{asked:?}");
    assert!(cache(folder.path()).stats().unwrap().bytes <= BOUND);
}

#[test]
fn files_of_others_stay_and_links_are_not_followed() {
    let (server, outside) = (s3::server(), tempfile::tempdir().unwrap());
    let folder = outside.path().join("cache");
    let bytes = 3 * MIB;
    (0..20).for_each(|number| server.put("data", &format!("t/{}", name(number)), content(number, bytes)));
    let store = Store::open_with("s3://data/t", &cached(&server, &folder, &[])).unwrap();
    block_on(read(&store, 0, bytes, 0..bytes)).unwrap();
    let entry = entries(&folder)[0].clone();
    // A folder that is not part of the cache but looks like it, reached by a link; and files next to those of the cache.
    let elsewhere = outside.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let old = SystemTime::now() - Duration::from_secs(1_000_000);
    let mine = [
        elsewhere.join(entry.file_name().unwrap()),
        folder.join("notes.txt"),
        folder.join("leases/notes.txt"),
        folder.join("new/notes.txt"),
        entry.with_file_name("notes.txt"),
        entry.with_file_name(format!("{}x", entry.file_name().unwrap().to_str().unwrap())),
    ];
    for path in &mine {
        fs::write(path, "precious").unwrap();
        fs::File::open(path).unwrap().set_modified(old).unwrap();
    }
    let shard = (0..4096).map(|n| folder.join(format!("{n:03x}"))).find(|shard| !shard.exists()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &shard).unwrap();
    let linked = entry.with_file_name(format!("{:032x}-00000-000010", 7));
    std::os::unix::fs::symlink(&mine[1], &linked).unwrap();
    // All entries are evicted several times, then the cache is cleared.
    for number in 0..20 {
        for path in entries(&folder) {
            fs::File::open(path).unwrap().set_modified(old).unwrap();
        }
        assert!(block_on(read(&store, number, bytes, 0..bytes)).unwrap() == content(number, bytes));
    }
    assert!(!entry.exists());
    cache(&folder).clear().unwrap();
    for path in &mine {
        assert_eq!(fs::read_to_string(path).unwrap(), "precious", "{}", path.display());
    }
    assert!(linked.is_symlink() && shard.is_symlink());
}

#[test]
fn a_folder_that_cannot_be_a_cache_is_left_alone() {
    let (server, outside) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, _) = table(&server);
    let full = outside.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("notes.txt"), "precious").unwrap();
    let file = outside.path().join("file");
    fs::write(&file, "precious").unwrap();
    for folder in [full.clone(), file.clone(), file.join("below"), PathBuf::from("/proc/nothing")] {
        let options = cached(&server, &folder, &[]);
        block_on(read_all(&options, &all)).unwrap();
        block_on(read_all(&options, &all)).unwrap();
        assert!(payload(&server).len() > 12, "read without a cache");
    }
    assert_eq!(files(outside.path()), [file, full.join("notes.txt")]);
    assert_eq!(cache(&full).clear().unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(fs::read_to_string(full.join("notes.txt")).unwrap(), "precious");
}

#[test]
fn nothing_in_a_cache_holds_a_secret_or_a_name() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    let (all, _) = table(&server);
    let token = "canary-token-77aa";
    let options = cached(&server, folder.path(), &[("session_token", token)]);
    block_on(read_all(&options, &all)).unwrap();
    let content = files(folder.path());
    assert!(content.len() > 6);
    for path in content {
        let bytes = fs::read(&path).unwrap();
        for secret in [server.secret(), token, &server.endpoint(), "s3://", "data/t"] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", path.display());
            let inside = path.strip_prefix(folder.path()).unwrap();
            assert!(!inside.to_str().unwrap().contains(secret), "{}", path.display());
        }
    }
    for text in [format!("{options:?}"), format!("{:?}", cache(folder.path()))] {
        assert!(!text.contains(server.secret()) && !text.contains(token), "{text}");
    }
}

const CHILD_OPTIONS: &str = "TETRYS_CACHE_TEST_OPTIONS";
const CHILD_ROUNDS: &str = "TETRYS_CACHE_TEST_ROUNDS";
const CHILD_SEED: &str = "TETRYS_CACHE_TEST_SEED";
/// The number of objects that the processes read: more than twice the size of their cache.
const OBJECTS: u64 = 24;
const OBJECT: u64 = 3 * MIB / 2 + 11;

/// Not a test of its own: one of the processes that share a cache. It reads random ranges and compares each of them.
#[test]
fn a_process_that_reads() {
    let Ok(options) = env::var(CHILD_OPTIONS) else { return };
    let rounds: u64 = env::var(CHILD_ROUNDS).unwrap().parse().unwrap();
    let mut rng = Rng(env::var(CHILD_SEED).unwrap().parse().unwrap());
    let pairs = options.lines().map(|line| StoreOptions::parse_pair(line).unwrap());
    let store = Store::open_with("s3://data/t", &StoreOptions::only(pairs)).unwrap();
    let contents: Vec<Vec<u8>> = (0..OBJECTS).map(|number| content(number, OBJECT)).collect();
    println!("begun");
    block_on(async {
        for _ in 0..rounds {
            let number = rng.below(OBJECTS);
            let start = rng.below(OBJECT);
            let scale = rng.below(21);
            let end = (start + 1 + rng.below(1 << scale)).min(OBJECT);
            let answer = read(&store, number, OBJECT, start..end).await.unwrap();
            assert!(answer == contents[number as usize][start as usize..end as usize], "{number} {start}..{end}");
        }
    });
    println!("{rounds} right");
}

fn options_text(server: &Server, folder: &Path) -> String {
    let pairs = [("cache", folder.to_str().unwrap()), ("cache_size", "16MiB"), ("cache_memory", "1MiB")];
    let own = pairs.map(|(name, value)| format!("{name}={value}"));
    let lines: Vec<String> = server.options().into_iter().map(|(name, value)| format!("{name}={value}")).chain(own).collect();
    lines.join("\n")
}

fn child(options: &str, rounds: u64, seed: u64) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "s3_cache::a_process_that_reads", "--nocapture"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env(CHILD_OPTIONS, options).env(CHILD_ROUNDS, rounds.to_string()).env(CHILD_SEED, seed.to_string());
    command
}

fn objects(server: &Server) {
    (0..OBJECTS).for_each(|number| server.put("data", &format!("t/{}", name(number)), content(number, OBJECT)));
}

#[test]
fn processes_share_a_cache() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    objects(&server);
    let options = options_text(&server, folder.path());
    let first = child(&options, 12, 5).output().unwrap();
    assert!(String::from_utf8_lossy(&first.stdout).contains("12 right"), "{}", String::from_utf8_lossy(&first.stderr));
    assert!(!payload(&server).is_empty());
    let second = child(&options, 12, 5).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stdout).contains("12 right"));
    assert_eq!(payload(&server), [], "the same reads by another process");
    let together: Vec<Child> = (0..6).map(|seed| child(&options, 60, seed).spawn().unwrap()).collect();
    for child in together {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let stats = cache(folder.path()).stats().unwrap();
    assert!(stats.bytes <= BOUND && stats.writers == 0, "{stats:?}");
}

#[test]
fn processes_killed_at_any_time_leave_a_cache_that_is_right_and_within_its_bound() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    objects(&server);
    let options = options_text(&server, folder.path());
    let kills = if common::full() { 240 } else { 20 };
    let mut rng = Rng(common::seed());
    // Waits until the process reads. Its output is kept open.
    let spawn = |seed| {
        let mut child = child(&options, 1_000_000, seed).stderr(Stdio::inherit()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("begun") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "it ended before it began");
        }
        (child, output, Instant::now())
    };
    let mut running: Vec<_> = (0..4).map(spawn).collect();
    let (mut killed, mut most, mut half_written) = (0, 0, 0);
    // The kills begin when the cache is nearly full, however long that takes.
    while most <= BOUND / 2 {
        most = cache(folder.path()).stats().unwrap().bytes;
        let ended = running.iter_mut().any(|(child, ..)| child.try_wait().unwrap().is_some());
        assert!(!ended, "a process ended before the cache was nearly full");
        std::thread::sleep(Duration::from_millis(10));
    }
    while killed < kills {
        let number = rng.below(4) as usize;
        // The kill comes at a random moment.
        let age = Duration::from_millis(20 + rng.below(300));
        let (child, _, begun) = &mut running[number];
        std::thread::sleep(age.saturating_sub(begun.elapsed()));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "it read something wrong, or failed: {status}");
        killed += 1;
        half_written += files(&folder.path().join("new")).len().min(1);
        let stats = cache(folder.path()).stats().unwrap();
        most = most.max(stats.bytes);
        assert!(stats.bytes <= BOUND, "after {killed} kills: {stats:?}");
        running[number] = spawn(killed + 100);
    }
    for (mut child, ..) in running {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // The next writer cleans up, and all reads are right.
    let before = entries(folder.path()).len();
    let last = child(&options, 300, 9).output().unwrap();
    assert!(String::from_utf8_lossy(&last.stdout).contains("300 right"), "{}", String::from_utf8_lossy(&last.stderr));
    assert_eq!((files(&folder.path().join("new")), files(&folder.path().join("leases"))), (vec![], vec![]));
    let stats = cache(folder.path()).stats().unwrap();
    assert!(stats.bytes <= BOUND && stats.entries > 0, "{stats:?}");
    println!("{killed} kills, at most {most} bytes, {half_written} times something half written, {before} entries at the end");
}

#[test]
fn a_full_disk_makes_reads_slower_and_warns_once() {
    let (server, folder) = (s3::server(), tempfile::tempdir().unwrap());
    objects(&server);
    // Files of more than 4 KiB cannot be written, as on a full disk.
    let mut limited = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact s3_cache::a_process_that_reads --nocapture";
    limited.args(["-c", script]).arg(env::current_exe().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    limited.env(CHILD_OPTIONS, options_text(&server, folder.path())).env(CHILD_ROUNDS, "60").env(CHILD_SEED, "3");
    let output = limited.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(out.contains("60 right"), "{out} {err}");
    assert_eq!(err.matches("warning: cache").count(), 1, "{err}");
    assert!(files(&folder.path().join("new")).is_empty(), "what could not be written is gone");
}
