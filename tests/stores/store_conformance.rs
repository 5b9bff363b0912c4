//! The stores conform to their contracts: the wrappers pass the suite that `object_store` uses for its own backends, and a
//! `Store` returns exactly the requested bytes, or an error that names the place.

use std::fs;
use std::io::{Seek, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, integration};
use tempfile::TempDir;
use tetrys::store::{
    CountingStore, Counts, Fault, Faults, FaultyStore, Latency, LatencyStore, Put, RangeRequest, SPLIT_ABOVE, Store, StoreOptions,
};
use tetrys::{Error, ErrorKind};
use tetrys_s3_server::{Protocol, Server};

const MIB: usize = 1 << 20;

/// Wraps a backend.
type Wrap = fn(Arc<dyn ObjectStore>) -> Box<dyn ObjectStore>;

/// Runs the whole suite. Each part gets a new store, because it expects an empty one.
async fn conforms(wrap: Wrap, backend: impl Fn() -> Arc<dyn ObjectStore>, updates_and_attributes: bool) {
    let new = || wrap(backend());
    integration::put_get_delete_list(&*new()).await;
    integration::get_opts(&*new()).await;
    integration::put_opts(&*new(), updates_and_attributes).await;
    integration::stream_get(&*new()).await;
    integration::list_uses_directories_correctly(&*new()).await;
    integration::list_with_delimiter(&*new()).await;
    integration::list_with_offset_exclusivity(&*new()).await;
    integration::rename_and_copy(&*new()).await;
    integration::copy_if_not_exists(&*new()).await;
    integration::copy_rename_nonexistent_object(&*new()).await;
    integration::multipart_out_of_order(&*new()).await;
    integration::multipart_race_condition(&*new(), true).await;
    let missing = integration::get_nonexistent_object(&*new(), None).await.unwrap_err();
    assert!(matches!(missing, object_store::Error::NotFound { .. }), "{missing}");
    if updates_and_attributes {
        integration::put_get_attributes(&*new()).await;
    }
}

async fn conforms_over_memory(wrap: Wrap) {
    conforms(wrap, || Arc::new(InMemory::new()), true).await;
}

async fn conforms_over_a_directory(wrap: Wrap) {
    let folder = tempfile::tempdir().unwrap();
    let fresh = || {
        let root = tempfile::tempdir_in(folder.path()).unwrap().keep();
        Arc::new(LocalFileSystem::new_with_prefix(root).unwrap()) as Arc<dyn ObjectStore>
    };
    conforms(wrap, fresh, false).await;
}

/// Fast enough for the suite, and slow enough to run through every wait.
const NEAR: Latency = Latency { per_request: Duration::from_micros(10), bytes_per_second: Some(20_000_000_000) };

#[tokio::test]
async fn a_counting_store_over_memory_conforms() {
    conforms_over_memory(|inner| Box::new(CountingStore::new(inner))).await;
}

#[tokio::test]
async fn a_counting_store_over_a_directory_conforms() {
    conforms_over_a_directory(|inner| Box::new(CountingStore::new(inner))).await;
}

#[tokio::test]
async fn a_latency_store_over_memory_conforms() {
    conforms_over_memory(|inner| Box::new(LatencyStore::new(inner, NEAR))).await;
}

#[tokio::test]
async fn a_latency_store_over_a_directory_conforms() {
    conforms_over_a_directory(|inner| Box::new(LatencyStore::new(inner, NEAR))).await;
}

#[tokio::test]
async fn a_faulty_store_without_faults_over_memory_conforms() {
    conforms_over_memory(|inner| Box::new(FaultyStore::new(inner))).await;
}

#[tokio::test]
async fn a_faulty_store_without_faults_over_a_directory_conforms() {
    conforms_over_a_directory(|inner| Box::new(FaultyStore::new(inner))).await;
}

#[tokio::test]
async fn wrappers_upon_wrappers_conform() {
    conforms_over_memory(|inner| Box::new(CountingStore::new(LatencyStore::new(FaultyStore::new(inner), NEAR)))).await;
}

// --- Store ---

/// The resources of the stores, which must live as long as the stores.
struct Homes {
    _folder: TempDir,
    _servers: Vec<Server>,
}

/// Returns a store of every kind: a plain directory, a counted directory, memory, S3, Azure and Google.
fn stores() -> (Homes, Vec<Store>) {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let plain = Store::open(folder.path().join("not yet/there").to_str().unwrap()).unwrap();
    let counted = Store::new(Arc::new(CountingStore::new(files)), "counted/root".into(), "file:///counted");
    let mut stores = vec![plain, counted, Store::open("memory://").unwrap()];
    let servers = Protocol::ALL.map(|protocol| {
        let server = Server::start_as(protocol);
        server.create_bucket("data");
        let options = StoreOptions::only(server.options());
        stores.push(Store::open_with(&server.url("data", "remote/root"), &options).unwrap());
        server
    });
    (Homes { _folder: folder, _servers: servers.into() }, stores)
}

fn counted() -> (CountingStore, Store) {
    let counting = CountingStore::new(InMemory::new());
    let store = Store::new(Arc::new(counting.clone()), "root".into(), "memory://counted");
    (counting, store)
}

fn faulty() -> (FaultyStore, Store) {
    let faulty = FaultyStore::new(InMemory::new());
    let store = Store::new(Arc::new(faulty.clone()), "root".into(), "memory://faulty");
    (faulty, store)
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

fn file_of(bytes: &[u8]) -> fs::File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

/// Returns the kind of the error, after checking that the message names the object and the store.
fn placed<T: std::fmt::Debug>(store: &Store, name: &str, result: Result<T, Error>) -> ErrorKind {
    let error = result.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(name) && text.contains(store.url()), "{text}");
    error.kind()
}

#[tokio::test]
async fn what_was_put_is_what_is_read() {
    let (_folder, stores) = stores();
    for store in &stores {
        let data = pattern(100_000);
        assert_eq!(store.put_new("chunks/aa/one", data.clone().into()).await.unwrap(), Put::Created);
        assert_eq!(store.size("chunks/aa/one").await.unwrap(), 100_000);
        assert_eq!(store.get("chunks/aa/one", 100_000).await.unwrap(), data);
        assert_eq!(store.get_exact("chunks/aa/one", 100_000).await.unwrap(), data);
        let ranges = [0..0, 0..1, 99_999..100_000, 100_000..100_000, 0..100_000, 31_007..62_001, 5..5];
        let requests = ranges.clone().map(|range| RangeRequest::new("chunks/aa/one", 100_000, range));
        let answers = store.read(&requests).await.unwrap();
        for (range, answer) in ranges.into_iter().zip(answers) {
            assert_eq!(answer, data[range.start as usize..range.end as usize], "{range:?} of {store:?}");
        }
    }
}

#[tokio::test]
async fn a_new_object_never_replaces_an_old_one() {
    let (_folder, stores) = stores();
    for store in &stores {
        assert_eq!(store.put_new("a", "old".into()).await.unwrap(), Put::Created);
        assert_eq!(store.put_new("a", "newer".into()).await.unwrap(), Put::AlreadyThere);
        assert_eq!(store.get("a", 10).await.unwrap(), "old");
    }
}

#[tokio::test]
async fn of_many_writers_of_one_name_exactly_one_creates_it() {
    let (_folder, stores) = stores();
    for store in &stores {
        let puts = (0..16).map(|i| store.put_new("manifests/0", format!("writer {i}").into()));
        let puts: Vec<Put> = futures::future::try_join_all(puts).await.unwrap();
        assert_eq!(puts.iter().filter(|put| **put == Put::Created).count(), 1, "{store:?}");
        assert_eq!(store.list("").await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn files_of_every_size_go_up_whole_and_once() {
    let (_folder, stores) = stores();
    for store in &stores {
        for bytes in [0, 1, 8 * MIB, 8 * MIB + 1, 20 * MIB + 7] {
            let data = pattern(bytes);
            let name = format!("chunks/aa/{bytes}");
            assert_eq!(store.put_file(&name, file_of(&data), bytes as u64).await.unwrap(), Put::Created);
            assert_eq!(store.put_file(&name, file_of(&data), bytes as u64).await.unwrap(), Put::AlreadyThere);
            assert!(store.get_exact(&name, bytes as u64).await.unwrap() == data, "{name} of {store:?}");
        }
    }
}

#[tokio::test]
async fn a_large_file_goes_up_in_parts_of_eight_mib_and_not_at_all_if_it_is_there() {
    let (counting, store) = counted();
    let data = pattern(20 * MIB);
    store.put_file("a", file_of(&data), data.len() as u64).await.unwrap();
    let Counts { heads, puts, uploads, parts, completes, bytes_written, .. } = counting.reset();
    assert_eq!((heads, puts, uploads, parts, completes, bytes_written), (1, 0, 1, 3, 1, 20 << 20));
    store.put_file("a", file_of(&data), data.len() as u64).await.unwrap();
    let again = counting.reset();
    assert_eq!((again.heads, again.requests(), again.bytes_written), (1, 1, 0));
}

#[tokio::test]
async fn a_file_that_disagrees_with_its_size_or_its_name_is_an_error() {
    let (_folder, stores) = stores();
    for store in &stores {
        for bytes in [10, 9 * MIB] {
            let name = format!("a{bytes}");
            let short = store.put_file(&name, file_of(&pattern(bytes - 1)), bytes as u64).await;
            assert_eq!(placed(store, &name, short), ErrorKind::Invalid);
            assert_eq!(kind(store.size(&name).await), ErrorKind::NotFound, "nothing is visible after a failed upload");
            store.put_new(&name, "something else".into()).await.unwrap();
            let other = store.put_file(&name, file_of(&pattern(bytes)), bytes as u64).await;
            assert_eq!(placed(store, &name, other), ErrorKind::Corrupt);
        }
    }
}

#[tokio::test]
async fn ranges_outside_the_object_are_refused_before_any_request() {
    let (counting, store) = counted();
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    let wrong = [0..11, 11..11, 6..5, 0..u64::MAX];
    for range in wrong {
        let error = store.read(&[RangeRequest::new("a", 10, 0..1), RangeRequest::new("a", 10, range.clone())]).await;
        assert_eq!(placed(&store, &format!("{}..{}", range.start, range.end), error), ErrorKind::Corrupt);
    }
    assert_eq!(counting.snapshot().requests(), 0);
}

#[tokio::test]
async fn a_short_object_is_corrupt_and_names_both_lengths() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put_new("chunks/aa/short", "0123456789".into()).await.unwrap();
        for range in [0..4, 8..12, 10..11, 15..20] {
            let request = RangeRequest::new("chunks/aa/short", 20, range.clone());
            for result in [Some(store.read(std::slice::from_ref(&request)).await.map(|_| Bytes::new())), store.read_now(&request)]
            {
                let Some(result) = result else { continue };
                let text = result.as_ref().unwrap_err().to_string();
                let range = format!("{}..{}", range.start, range.end);
                for word in [&*range, "20", "10", "chunks/aa/short", store.url()] {
                    assert!(text.contains(word), "{word} in {text}");
                }
                assert_eq!(kind(result), ErrorKind::Corrupt);
            }
        }
        assert_eq!(placed(store, "short", store.get_exact("chunks/aa/short", 11).await), ErrorKind::Corrupt);
        assert_eq!(placed(store, "short", store.get_exact("chunks/aa/short", 9).await), ErrorKind::Corrupt);
        assert_eq!(placed(store, "short", store.get("chunks/aa/short", 9).await), ErrorKind::Corrupt);
    }
}

#[tokio::test]
async fn an_object_above_the_limit_is_refused_before_its_body_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let files = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    fs::File::create(folder.path().join("big")).unwrap().set_len(1 << 40).unwrap();
    let stores = [
        Store::open(folder.path().to_str().unwrap()).unwrap(),
        Store::new(Arc::new(CountingStore::new(files)), Path::default(), "file:///counted"),
    ];
    for store in stores {
        assert_eq!(placed(&store, "big", store.get("big", 1 << 30).await), ErrorKind::Corrupt);
    }
}

#[tokio::test]
async fn a_file_cut_short_behind_an_open_handle_is_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    store.put_new("a", "0123456789".into()).await.unwrap();
    let request = RangeRequest::new("a", 10, 4..9);
    assert_eq!(store.read_now(&request).unwrap().unwrap(), "45678");
    fs::OpenOptions::new().write(true).open(folder.path().join("a")).unwrap().set_len(6).unwrap();
    assert_eq!(placed(&store, "4..9", store.read_now(&request).unwrap()), ErrorKind::Corrupt);
}

#[tokio::test]
async fn a_body_that_ends_early_is_corrupt() {
    let (faulty, store) = faulty();
    store.put_new("a", pattern(30 * MIB).into()).await.unwrap();
    for range in [0..1, 10..1000, 5..30 << 20] {
        faulty.arm(Faults::none().at(0, Fault::Torn));
        let read = store.read(&[RangeRequest::new("a", 30 << 20, range)]).await;
        assert_eq!(placed(&store, "a", read), ErrorKind::Corrupt);
    }
    faulty.arm(Faults::none().at(0, Fault::Torn));
    assert_eq!(placed(&store, "a", store.get("a", u64::MAX).await), ErrorKind::Corrupt);
}

#[tokio::test]
async fn each_range_is_one_request_long_ones_are_split_and_empty_ones_free() {
    let (counting, store) = counted();
    let data = pattern(40 * MIB);
    store.put_new("a", data.clone().into()).await.unwrap();
    counting.reset();
    let bytes = data.len() as u64;
    let ranges = [3..3, 100..200, 200..300, 100..200, 0..SPLIT_ABOVE, 1..SPLIT_ABOVE + 2, 0..bytes, bytes..bytes];
    let answers = store.read(&ranges.clone().map(|range| RangeRequest::new("a", bytes, range))).await.unwrap();
    for (range, answer) in ranges.iter().zip(&answers) {
        assert!(*answer == data[range.start as usize..range.end as usize], "{range:?}");
        assert!(answer.is_empty() || (answer.as_ptr() as usize).is_multiple_of(8), "{range:?} starts unaligned");
    }
    let counts = counting.reset();
    let mut seen: Vec<String> = counts.gets.iter().map(|get| get.to_string()).collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            "root/a 0..10485760",
            "root/a 0..12582912",
            "root/a 1..6291458",
            "root/a 100..200",
            "root/a 100..200",
            "root/a 10485760..20971520",
            "root/a 200..300",
            "root/a 20971520..31457280",
            "root/a 31457280..41943040",
            "root/a 6291458..12582914",
        ]
    );
    assert_eq!(counts.requests(), 10);
    assert_eq!(counts.bytes_read, ranges.iter().map(|range| range.end - range.start).sum::<u64>());
}

#[tokio::test]
async fn an_answer_never_keeps_a_larger_buffer_alive() {
    let (_counting, store) = counted();
    store.put_new("a", pattern(MIB).into()).await.unwrap();
    let answer = store.read(&[RangeRequest::new("a", MIB as u64, 10..20)]).await.unwrap().remove(0);
    let vec = Vec::from(answer.try_into_mut().expect("the only owner"));
    assert!(vec.capacity() < 100, "{} bytes kept for 10", vec.capacity());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_local_ranges_come_back_in_order_and_equal_what_is_read_now() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    assert!(store.is_local());
    let objects = 300;
    let data = pattern(70_000);
    for i in 0..objects {
        store.put_new(&format!("chunks/{i}"), data[i..].to_vec().into()).await.unwrap();
    }
    let requests: Vec<_> = (0..5000_usize)
        .map(|i| {
            let object = (i * 7919) % objects;
            let start = (i * 104_729) % 60_000;
            let bytes = (data.len() - object) as u64;
            RangeRequest::new(format!("chunks/{object}"), bytes, start as u64..(start + i % 3000) as u64)
        })
        .collect();
    let answers = store.read(&requests).await.unwrap();
    for (request, answer) in requests.iter().zip(answers) {
        assert_eq!(answer, store.read_now(request).unwrap().unwrap());
        let object: usize = request.name["chunks/".len()..].parse().unwrap();
        assert_eq!(answer, data[object + request.range.start as usize..object + request.range.end as usize]);
        assert!(answer.is_empty() || (answer.as_ptr() as usize).is_multiple_of(8));
    }
}

#[tokio::test]
async fn threads_that_share_a_handle_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let data = pattern(4 * MIB + 5);
    store.put_new("a", data.clone().into()).await.unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (store, data) = (&store, &data);
            scope.spawn(move || {
                for i in 0..300 {
                    let start = (i * 104_729 + thread * 7919) % (3 * MIB);
                    let end = start + (i * 65_537) % MIB;
                    let request = RangeRequest::new("a", data.len() as u64, start as u64..end as u64);
                    assert!(store.read_now(&request).unwrap().unwrap() == data[start..end], "{start}..{end}");
                }
            });
        }
    });
}

#[test]
fn every_call_can_move_between_threads() {
    fn moves(_: impl Send) {}
    fn shared(_: &(impl Send + Sync)) {}
    let store = Store::open("memory://").unwrap();
    shared(&store);
    moves(store.get("a", 1));
    moves(store.get_exact("a", 1));
    moves(store.size("a"));
    moves(store.read(&[]));
    moves(store.put_new("a", "x".into()));
    moves(store.put_file("a", file_of(b"x"), 1));
    moves(store.list(""));
    moves(store.list_first("", 1));
    moves(store.delete("a"));
}

#[tokio::test]
async fn a_store_that_is_not_plain_local_has_nothing_to_read_now() {
    let (_counting, store) = counted();
    assert!(!store.is_local());
    assert!(store.read_now(&RangeRequest::new("a", 1, 0..1)).is_none());
}

#[test]
fn a_local_store_needs_no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let requests: Vec<_> = (0..100).map(|i| RangeRequest::new("a", 9_000_000, i * 1000..8_000_000)).collect();
    let mut work = Box::pin(async {
        store.put_new("a", vec![7; 9_000_000].into()).await.unwrap();
        store.read(&requests).await.unwrap().len()
    });
    // No operation waits, so a single poll finishes the future.
    let done = std::future::Future::poll(work.as_mut(), &mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert_eq!(done, std::task::Poll::Ready(100));
}

#[tokio::test]
async fn what_is_missing_is_not_found() {
    let (_folder, stores) = stores();
    for store in &stores {
        let request = RangeRequest::new("no/such", 10, 0..5);
        assert_eq!(placed(store, "no/such", store.get("no/such", 10).await), ErrorKind::NotFound);
        assert_eq!(placed(store, "no/such", store.size("no/such").await), ErrorKind::NotFound);
        assert_eq!(placed(store, "no/such", store.read(std::slice::from_ref(&request)).await), ErrorKind::NotFound);
        if let Some(now) = store.read_now(&request) {
            assert_eq!(placed(store, "no/such", now), ErrorKind::NotFound);
        }
        store.delete("no/such").await.unwrap();
        assert_eq!(store.list("").await.unwrap(), []);
        assert_eq!(store.list("no").await.unwrap(), []);
    }
}

#[tokio::test]
async fn what_is_deleted_is_gone_also_behind_a_cached_handle() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put_new("a", "0123456789".into()).await.unwrap();
        let request = RangeRequest::new("a", 10, 0..5);
        store.read(std::slice::from_ref(&request)).await.unwrap();
        store.delete("a").await.unwrap();
        assert_eq!(kind(store.read(&[request]).await), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn names_that_could_leave_the_root_are_refused_everywhere() {
    let (_folder, stores) = stores();
    for store in &stores {
        for name in ["../a", "a/../../b", "/etc/hostname", "", "a//b", ".", "a b", "a#1", "a%2f"] {
            assert_eq!(kind(store.get(name, 10).await), ErrorKind::Invalid, "{name:?}");
            assert_eq!(kind(store.size(name).await), ErrorKind::Invalid, "{name:?}");
            assert_eq!(kind(store.put_new(name, "x".into()).await), ErrorKind::Invalid, "{name:?}");
            assert_eq!(kind(store.put_file(name, file_of(b"x"), 1).await), ErrorKind::Invalid, "{name:?}");
            assert_eq!(kind(store.delete(name).await), ErrorKind::Invalid, "{name:?}");
            let request = RangeRequest::new(name, 10, 0..5);
            assert_eq!(kind(store.read(std::slice::from_ref(&request)).await), ErrorKind::Invalid, "{name:?}");
            if let Some(now) = store.read_now(&request) {
                assert_eq!(kind(now), ErrorKind::Invalid, "{name:?}");
            }
        }
        assert_eq!(kind(store.list("../..").await), ErrorKind::Invalid);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_out_of_the_directory_and_special_files_are_refused() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("inside")).unwrap();
    fs::write(folder.path().join("secret"), "0123456789").unwrap();
    fs::write(root.join("inside/real"), "0123456789").unwrap();
    symlink(folder.path().join("secret"), root.join("out")).unwrap();
    symlink(folder.path(), root.join("up")).unwrap();
    symlink(root.join("inside/real"), root.join("in")).unwrap();
    symlink("/dev/zero", root.join("endless")).unwrap();
    let store = Store::open(root.to_str().unwrap()).unwrap();
    let read = |name: &str| store.read_now(&RangeRequest::new(name, 10, 0..5)).unwrap();
    assert_eq!(read("in").unwrap(), "01234");
    for name in ["out", "up/secret", "endless"] {
        assert_eq!(placed(&store, name, read(name)), ErrorKind::Denied);
        assert_eq!(placed(&store, name, store.get(name, 10).await), ErrorKind::Denied);
    }
    assert_eq!(placed(&store, "inside", read("inside")), ErrorKind::Corrupt, "a folder in the place of an object");
}

#[cfg(unix)]
#[tokio::test]
async fn without_permission_reads_and_writes_are_denied() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    store.put_new("a", "0123456789".into()).await.unwrap();
    fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(folder.path().join("a")).is_ok() {
        return; // The superuser may do anything; `failure.rs` holds the same mapping without the file system.
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    assert_eq!(placed(&store, "a", store.get("a", 10).await), ErrorKind::Denied);
    assert_eq!(placed(&store, "a", store.read(&[RangeRequest::new("a", 10, 0..1)]).await), ErrorKind::Denied);
    assert_eq!(placed(&store, "b", store.put_new("b", "x".into()).await), ErrorKind::Denied);
    assert_eq!(placed(&store, "c/d", store.put_new("c/d", "x".into()).await), ErrorKind::Denied);
    assert_eq!(placed(&store, "a", store.delete("a").await), ErrorKind::Denied);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn listings_are_sorted_relative_and_complete() {
    let (_folder, stores) = stores();
    for store in &stores {
        let mut names: Vec<String> = (0..40).map(|i| format!("manifests/{:04}.json", (i * 17) % 41)).collect();
        names.extend(["manifests.old", "manifests/sub/x", "chunks/aa/b"].map(str::to_owned));
        for name in &names {
            store.put_new(name, name.clone().into()).await.unwrap();
        }
        names.sort();
        let all: Vec<_> = names.iter().map(|name| (name.clone(), name.len() as u64)).collect();
        assert_eq!(store.list("").await.unwrap(), all, "{store:?}");
        let manifests: Vec<_> = all.iter().filter(|(name, _)| name.starts_with("manifests/")).cloned().collect();
        assert_eq!(store.list("manifests").await.unwrap(), manifests);
        assert_eq!(store.list("manifests/").await.unwrap(), manifests);
        let first: Vec<_> = manifests.iter().map(|(name, _)| name.clone()).take(3).collect();
        assert_eq!(store.list_first("manifests", 3).await.unwrap(), first);
        assert_eq!(store.list_first("manifests", 0).await.unwrap(), [""; 0]);
        assert_eq!(store.list_first("manifests", 1000).await.unwrap().len(), manifests.len());
    }
}

#[tokio::test]
async fn urls_open_what_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("a b%20#ä?");
    let by_path = Store::open(path.to_str().unwrap()).unwrap();
    assert!(!path.exists(), "opening makes nothing");
    by_path.put_new("x/y", "z".into()).await.unwrap();
    assert!(path.join("x/y").is_file());
    let by_url = Store::open(by_path.url()).unwrap();
    assert!(by_url.url().starts_with("file:///"), "{by_url:?}");
    assert_eq!(by_url.get("x/y", 1).await.unwrap(), "z");
    assert_eq!(by_url.list("").await.unwrap(), [("x/y".to_owned(), 1)]);
    assert_eq!(by_path.list("").await.unwrap(), [("x/y".to_owned(), 1)]);
    assert_eq!(format!("{by_url:?}"), format!("Store({:?})", by_url.url()));

    let roundabout = folder.path().join("new/../a b%20#ä?");
    assert_eq!(kind(Store::open(roundabout.to_str().unwrap())), ErrorKind::Invalid);
    fs::write(folder.path().join("file"), "").unwrap();
    assert_eq!(kind(Store::open(folder.path().join("file").to_str().unwrap())), ErrorKind::Invalid);
    assert_eq!(kind(Store::open(folder.path().join("file/below").to_str().unwrap())), ErrorKind::Invalid);
    assert_eq!(kind(Store::open("")), ErrorKind::Invalid);
    assert_eq!(kind(Store::open("file:///a?b")), ErrorKind::Invalid);
    assert_eq!(kind(Store::open("file://elsewhere/a")), ErrorKind::Invalid);
}

#[tokio::test]
async fn memory_is_private_unless_it_has_a_name() {
    let (one, two) = (Store::open("memory://").unwrap(), Store::open("memory://").unwrap());
    one.put_new("a", "x".into()).await.unwrap();
    assert_eq!(kind(two.get("a", 1).await), ErrorKind::NotFound);
    let (one, two) = (Store::open("memory://shared").unwrap(), Store::open("memory://shared").unwrap());
    one.put_new("a", "x".into()).await.unwrap();
    assert_eq!(two.get("a", 1).await.unwrap(), "x");
    drop((one, two));
    assert_eq!(kind(Store::open("memory://shared").unwrap().get("a", 1).await), ErrorKind::NotFound);
}

#[test]
fn an_unknown_scheme_is_named_and_its_secrets_are_not() {
    let error = Store::open("ftp://key:secret@host/table").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`ftp`") && !error.to_string().contains("secret"), "{error}");
}

/// A full disk: a file system of 64 KiB, if the machine allows to mount one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_says_so_and_leaves_nothing_visible() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(folder.path())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        return; // `failure.rs` holds the same mapping without the file system.
    }
    let store = Store::open(folder.path().to_str().unwrap()).unwrap();
    let small = store.put_new("a", vec![1; MIB].into()).await;
    let large = store.put_file("b", file_of(&vec![1; 9 * MIB]), 9 << 20).await;
    let listed = store.list("").await;
    drop(store);
    let unmounted = std::process::Command::new("umount").arg(folder.path()).status().unwrap();
    assert!(unmounted.success());
    for result in [small, large] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("the disk is full"), "{error}");
    }
    assert_eq!(listed.unwrap(), []);
}

// --- the wrappers ---

#[tokio::test]
async fn every_verb_is_counted_once() {
    let counting = CountingStore::new(InMemory::new());
    let (a, b) = (Path::from("a"), Path::from("b"));
    counting.put(&a, "0123456789".into()).await.unwrap();
    counting.get_range(&a, 2..5).await.unwrap();
    counting.get(&b).await.unwrap_err();
    counting.get_ranges(&a, &[0..1, 1..2]).await.unwrap();
    counting.head(&a).await.unwrap();
    counting.copy(&a, &b).await.unwrap();
    counting.rename(&b, &Path::from("c")).await.unwrap();
    counting.list(None).try_collect::<Vec<_>>().await.unwrap();
    counting.list_with_delimiter(None).await.unwrap();
    counting.delete(&a).await.unwrap();
    let mut upload = counting.put_multipart(&a).await.unwrap();
    upload.put_part("123".into()).await.unwrap();
    upload.complete().await.unwrap();
    counting.put_multipart(&a).await.unwrap().abort().await.unwrap();

    let Counts { gets, heads, puts, uploads, parts, completes, aborts, lists, deletes, copies, renames, failed, .. } =
        counting.snapshot();
    assert_eq!(gets.iter().map(|get| get.bytes).collect::<Vec<_>>(), [3, 0, 1, 1]);
    assert_eq!((heads, puts, uploads, parts, completes, aborts), (1, 1, 2, 1, 1, 1));
    assert_eq!((lists, deletes, copies, renames, failed), (2, 1, 1, 1, 1));
    assert_eq!(counting.snapshot().requests(), 16);
    assert_eq!((counting.snapshot().bytes_read, counting.snapshot().bytes_written), (5, 13));
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_exact_under_concurrency() {
    let (counting, store) = counted();
    store.put_new("a", pattern(1000).into()).await.unwrap();
    counting.reset();
    let tasks = (0..8).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            let requests: Vec<_> = (0..500).map(|i| RangeRequest::new("a", 1000, i..i + 2)).collect();
            store.read(&requests).await.unwrap();
        })
    });
    futures::future::join_all(tasks).await;
    let counts = counting.snapshot();
    assert_eq!((counts.requests(), counts.bytes_read), (4000, 8000));
}

#[tokio::test]
async fn a_far_store_takes_a_request_s_time_and_its_bytes_time() {
    let latency = Latency { per_request: Duration::from_millis(30), bytes_per_second: Some(10 << 20) };
    let far = LatencyStore::new(InMemory::new(), latency);
    let store = Store::new(Arc::new(far), Path::default(), "memory://far");
    let start = Instant::now();
    store.put_new("a", vec![0; MIB].into()).await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(130), "{:?}", start.elapsed());
    // Concurrent requests wait together: 20 of them take less than ten times as long as one, unless the machine is busy meanwhile.
    let requests: Vec<_> = (0..20).map(|_| RangeRequest::new("a", MIB as u64, 0..MIB as u64)).collect();
    let mut together = false;
    for _ in 0..50 {
        let start = Instant::now();
        store.read(&requests).await.unwrap();
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(130), "{took:?}");
        together = together || took < Duration::from_millis(1300);
        if together {
            break;
        }
    }
    assert!(together, "each request waits for the one before");
    let start = Instant::now();
    store.list("").await.unwrap();
    store.delete("a").await.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn each_operation_fails_where_it_is_told_to() {
    for fault in Fault::ALL {
        let (faulty, store) = faulty();
        faulty.arm(Faults::none().at(0, fault));
        let failed = store.put_new("a", "0123456789".into()).await;
        assert_eq!(placed(&store, "a", failed), ErrorKind::Unavailable);
        let left = match fault {
            Fault::Before => None,
            Fault::After => Some(10),
            Fault::Torn => Some(5),
        };
        assert_eq!(store.size("a").await.ok(), left, "{fault:?}");
        assert!(!faulty.crashed());
        assert_eq!(faulty.log(), ["put root/a", "head root/a"]);
    }
}

#[tokio::test]
async fn after_a_crash_every_operation_fails_until_the_store_is_armed_again() {
    let (faulty, store) = faulty();
    store.put_new("a", "x".into()).await.unwrap();
    faulty.arm(Faults::none().at(1, Fault::After).then_crash());
    store.put_new("b", "x".into()).await.unwrap();
    assert_eq!(kind(store.put_new("c", "x".into()).await), ErrorKind::Unavailable);
    assert!(faulty.crashed());
    assert_eq!(kind(store.get("a", 1).await), ErrorKind::Unavailable);
    assert_eq!(kind(store.list("").await), ErrorKind::Unavailable);
    assert_eq!(kind(store.delete("a").await), ErrorKind::Unavailable);
    assert_eq!(kind(store.put_new("d", "x".into()).await), ErrorKind::Unavailable);
    faulty.arm(Faults::none());
    let names: Vec<_> = store.list("").await.unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test]
async fn an_upload_that_fails_anywhere_is_absent_or_whole_and_a_rerun_succeeds() {
    let data = pattern(20 * MIB);
    let (faulty, store) = faulty();
    store.put_file("a", file_of(&data), data.len() as u64).await.unwrap();
    let operations = faulty.operations();
    assert_eq!(operations, 6, "{:?}", faulty.log());
    for operation in 0..operations {
        for fault in Fault::ALL {
            for crash in [false, true] {
                store.delete("a").await.unwrap();
                let faults = Faults::none().at(operation, fault);
                faulty.arm(if crash { faults.then_crash() } else { faults });
                let put = store.put_file("a", file_of(&data), data.len() as u64).await;
                faulty.arm(Faults::none());
                let whole = match store.size("a").await {
                    Ok(bytes) => bytes == data.len() as u64,
                    // Only the last request completes the upload: its answer may be lost, and then the store has the object.
                    Err(error) => error.kind() == ErrorKind::NotFound && put.is_err(),
                };
                assert!(whole, "operation {operation} {fault:?} crash {crash}: {put:?}");
                assert!(put.is_err() || operation + 1 == operations, "operation {operation} {fault:?} crash {crash}");
                store.put_file("a", file_of(&data), data.len() as u64).await.unwrap();
                assert!(store.get_exact("a", data.len() as u64).await.unwrap() == data);
            }
        }
    }
}

#[tokio::test]
async fn a_listing_that_fails_half_way_is_an_error_not_a_shorter_listing() {
    let (faulty, store) = faulty();
    for i in 0..10 {
        store.put_new(&format!("{i}"), "x".into()).await.unwrap();
    }
    for fault in Fault::ALL {
        faulty.arm(Faults::none().at(0, fault));
        assert_eq!(kind(store.list("").await), ErrorKind::Unavailable);
    }
    faulty.arm(Faults::none().at(0, Fault::Torn));
    let entries: Vec<_> = faulty.list(None).collect().await;
    assert_eq!(entries.iter().filter(|entry| entry.is_ok()).count(), 5);
}

#[test]
fn seeded_faults_are_the_same_each_time_and_about_as_many_as_asked() {
    let faults = Faults::seeded(42, 10);
    let drawn: Vec<_> = (0..10_000).map(|operation| faults.of(operation)).collect();
    assert_eq!(drawn, (0..10_000).map(|operation| Faults::seeded(42, 10).of(operation)).collect::<Vec<_>>());
    for fault in Fault::ALL {
        let count = drawn.iter().filter(|drawn| **drawn == Some(fault)).count();
        assert!((200..500).contains(&count), "{fault:?} {count} times");
    }
    assert_ne!(drawn, (0..10_000).map(|operation| Faults::seeded(43, 10).of(operation)).collect::<Vec<_>>());
}
