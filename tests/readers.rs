//! Concurrent readers: they share requests in flight, even if the reader that sent the requests is dropped or never polled. Long
//! reads and writes do not block the executor, and end when they are dropped. Rows come one by one and are planned together. The
//! memory that reads keep is bounded by what reads need. Invalid arguments of reading calls are errors.

#![allow(
    clippy::await_holding_lock,
    reason = "each test has a runtime of its own, and the lock is what keeps measurements alone"
)]

mod common;

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::Pin,
    sync::{
        Arc, PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use common::{
    hooked::{Act, Hooked},
    seed,
    tables::{Rng, assert_rows, block_on, cut_by, memory, over, overwrite, tiny_cuts, two_partitions, write},
};
use futures::{FutureExt, StreamExt, TryStreamExt, future::try_join_all};
use peak_alloc::PeakAlloc;
use tetrys::{
    Edge, ErrorKind, Offsets, Preset, Result, Rows, Schema, Store, Table, WriteOptions, blocking,
    ingest::{
        IngestOptions,
        frame::{Frame, FrameSettings, ingest},
    },
    store::{CountingStore, Latency, LatencyStore, release_buffers},
    table::{Coalesce, Cuts},
};
use tokio::{runtime::Builder, task::LocalSet, time::timeout};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory and processor time are measured for the whole process, so a test that measures them runs alone.
static ALONE: RwLock<()> = RwLock::new(());

fn beside_others() -> RwLockReadGuard<'static, ()> {
    ALONE.read().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a table in memory. Returns the table over a store that counts requests and delays each of them, and the rows.
async fn far(wait: Duration) -> (Table, RecordBatch, CountingStore, Arc<dyn object_store::ObjectStore>) {
    let (schema, partitions) = two_partitions(5);
    let (raw, store) = memory();
    let cuts = Cuts { block_min: 600, block_target: 1_000, block_max: 3_000, ..tiny_cuts() };
    write(store, schema, cut_by(Cuts { chunk_min: 3_000, chunk_target: 5_000, chunk_max: 9_000, ..cuts }), &partitions)
        .await
        .unwrap();
    let slow = LatencyStore::new(raw.clone(), Latency { per_request: wait, bytes_per_second: None });
    let counting = CountingStore::new(slow);
    let table = Table::open_in(over(Arc::new(counting.clone()))).await.unwrap();
    // The first read loads the layouts.
    table.row_loader().get_rows(0, 0..=0).await.unwrap();
    counting.reset();
    let all = arrow_select::concat::concat_batches(&partitions[0].schema(), &partitions).unwrap();
    (table, all, counting, raw)
}

#[tokio::test]
async fn readers_at_the_same_time_ask_for_each_range_once() {
    let _others = beside_others();
    let (table, written, counting, _) = far(Duration::from_millis(3)).await;
    let positions: Vec<u64> = (0..200).map(|number| number * 7 % table.rows()).collect();
    let loader = || table.row_loader().coalesce(Coalesce::MEMORY);
    let (one, many) = (loader(), loader());
    for position in &positions {
        one.get_row(*position).await.unwrap();
    }
    let sequence = counting.reset().gets;
    let rows = try_join_all(positions.iter().map(|position| many.get_row(*position))).await.unwrap();
    let together = counting.reset().gets;
    for (row, position) in rows.iter().zip(&positions) {
        assert_rows(row.as_rows(), &written, &[Some(*position)]);
    }
    // Blocks of one row are not cached: sequential reads request them again, but concurrent reads share the requests.
    let places = |gets: &[tetrys::store::Get]| gets.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert!(together.len() <= sequence.len() && together.len() < positions.len() / 2, "{} requests", together.len());
    assert_eq!(together.len(), places(&together).len(), "a range was asked for twice");
    assert_eq!(places(&together), places(&sequence));

    // Requests in flight are shared even without a cache.
    let unkept = loader().cache_bytes(0);
    try_join_all(positions.iter().map(|_| unkept.get_row(3))).await.unwrap();
    assert_eq!(counting.reset().gets.len(), table.schema().groups().len());

    // Overlapping windows request each byte once.
    let windows = loader();
    try_join_all((0..table.rows()).map(|row| windows.get_rows(row, -3..=3))).await.unwrap();
    let mut bytes: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for get in counting.reset().gets {
        let seen = bytes.entry(get.path).or_insert_with(|| vec![false; 1 << 20]);
        for byte in &mut seen[get.range.start as usize..get.range.end as usize] {
            assert!(!std::mem::replace(byte, true), "a byte of {:?} travelled twice", get.range);
        }
    }
}

#[tokio::test]
async fn a_read_comes_to_its_end_where_the_one_that_asked_before_is_dropped_or_never_polled() {
    let _others = beside_others();
    let (table, written, counting, _) = far(Duration::from_millis(5)).await;
    for is_dropped in [true, false] {
        let loader = table.row_loader().cache_bytes(0);
        let mut first = Box::pin(loader.get_row(1));
        assert!(futures::poll!(&mut first).is_pending());
        let mut second = Box::pin(loader.get_row(1));
        assert!(futures::poll!(&mut second).is_pending());
        let first = (!is_dropped).then_some(first);
        let row = timeout(Duration::from_secs(60), second).await.expect("nobody polls the first").unwrap();
        assert_rows(row.as_rows(), &written, &[Some(1)]);
        assert_eq!(counting.reset().gets.len(), table.schema().groups().len());
        drop(first);
        // The cancelled requests are no longer in flight.
        loader.get_row(1).await.unwrap();
        assert_eq!(counting.reset().gets.len(), table.schema().groups().len());
    }
}

/// The first read that needs a layout, the sequences or an index column loads it.
#[tokio::test]
async fn a_read_of_a_cold_table_ends_though_the_one_that_began_to_load_it_is_never_polled_again() {
    let _others = beside_others();
    let (_, written, _, raw) = far(Duration::ZERO).await;
    let slow = LatencyStore::new(raw, Latency { per_request: Duration::from_millis(5), bytes_per_second: None });
    let store = over(Arc::new(slow));
    for polls in 1..6 {
        let table = Table::open_in(store.clone()).await.unwrap();
        let (windows, rows) = (seen(&table), seen(&table));
        let mut asleep: Vec<Pin<Box<dyn Future<Output = Result<Rows>> + '_>>> =
            vec![Box::pin(windows.get_rows(3, -1..=1)), Box::pin(rows.take(&[1]))];
        for _ in 0..polls {
            for first in &mut asleep {
                // A finished future must not be polled again; the others stay as they are.
                if !matches!(futures::poll!(first.as_mut()), std::task::Poll::Pending) {
                    *first = Box::pin(std::future::pending());
                }
            }
            tokio::time::sleep(Duration::from_millis(6)).await;
        }
        let patience = Duration::from_secs(60);
        let loader = table.row_loader();
        let read = timeout(patience, loader.get_rows(3, -1..=1)).await.expect("nobody polls the first window").unwrap();
        assert_rows(&read, &written, &[Some(2), Some(3), Some(4)]);
        let loader = seen(&table);
        let read = timeout(patience, loader.take(&[1])).await.expect("nobody polls the first row").unwrap();
        assert_eq!((read.len(), read.table_rows()), (1, &[Some(1)][..]));
        drop(asleep);
    }
}

/// Returns a loader of all columns, including those of the index.
fn seen(table: &Table) -> tetrys::RowLoader {
    table.row_loader().columns(["*", "time"]).unwrap()
}

#[tokio::test]
async fn an_error_is_that_of_the_read_that_asked_and_no_other() {
    let _others = beside_others();
    let (_, written, _, raw) = far(Duration::ZERO).await;
    let fails = Arc::new(AtomicBool::new(false));
    let failing = Arc::clone(&fails);
    let hook = move |_, _: &str, place: &str| match place.starts_with("chunks/") && failing.swap(false, Ordering::SeqCst) {
        true => Act::After(object_store::Error::Generic { store: "test", source: "the line is cut".into() }),
        false => Act::Pass,
    };
    let slow =
        LatencyStore::new(Hooked::new(raw, hook), Latency { per_request: Duration::from_millis(3), bytes_per_second: None });
    let table = Table::open_in(over(Arc::new(slow))).await.unwrap();
    table.row_loader().get_row(0).await.unwrap();
    let loader = table.row_loader().columns(["camera.*"]).unwrap();
    fails.store(true, Ordering::SeqCst);
    let read = futures::future::join_all((0..5).map(|_| loader.get_row(2))).await;
    assert!(!fails.load(Ordering::SeqCst), "nothing failed");
    let failed: Vec<bool> = read.iter().map(Result::is_err).collect();
    assert_eq!(failed, [true, false, false, false, false]);
    for row in read.into_iter().flatten() {
        assert_rows(row.as_rows(), &written, &[Some(2)]);
    }
}

/// Reads that start, wait, end and are dropped in random order return the rows that were written.
#[test]
fn reads_in_any_order_give_what_was_written_whatever_is_dropped() {
    let _others = beside_others();
    let seed = seed();
    let mut rng = Rng(seed);
    block_on(async {
        let (table, written, counting, raw) = far(Duration::ZERO).await;
        let failures = Arc::new(AtomicU64::new(0));
        let (counted, fails) = (Arc::clone(&failures), Arc::new(AtomicBool::new(false)));
        let (failing, draws) = (Arc::clone(&fails), std::sync::Mutex::new(Rng(seed ^ 1)));
        let hook = move |_, _: &str, place: &str| {
            let fails = failing.load(Ordering::SeqCst) && place.starts_with("chunks/") && draws.lock().unwrap().once_in(12);
            match fails {
                true => {
                    counted.fetch_add(1, Ordering::SeqCst);
                    Act::Before(object_store::Error::Generic { store: "test", source: "lost".into() })
                }
                false => Act::Pass,
            }
        };
        let slow = LatencyStore::new(
            Hooked::new(raw, hook),
            Latency { per_request: Duration::from_micros(300), bytes_per_second: Some(30_000_000) },
        );
        drop((table, counting));
        let table = Table::open_in(over(Arc::new(slow))).await.unwrap();
        table.row_loader().get_rows(0, 0..=0).await.unwrap();
        for round in 0..12 {
            let fails_now = round % 3 == 2;
            fails.store(fails_now, Ordering::SeqCst);
            let keep = *rng.pick(&[0, 4 << 10, 64 << 20]);
            let coalesce = *rng.pick(&[Coalesce::MEMORY, Coalesce::LOCAL, Coalesce::REMOTE]);
            let whole = table.row_loader().cache_bytes(keep).coalesce(coalesce);
            let loaders =
                [whole.clone(), whole.clone().columns(["lidar.*"]).unwrap(), whole.columns(["camera.pose", "labels.*"]).unwrap()];
            type Read = Pin<Box<dyn Future<Output = (Vec<u64>, Result<Rows>)>>>;
            let mut reads: Vec<Read> = Vec::new();
            let check = |(wanted, read): (Vec<u64>, Result<Rows>)| match read {
                Ok(rows) => assert_rows(&rows, &written, &wanted.into_iter().map(Some).collect::<Vec<_>>()),
                Err(error) => assert!(fails_now && error.kind() == ErrorKind::Unavailable, "seed {seed}: {error}"),
            };
            for _ in 0..120 {
                match rng.below(5) {
                    0 | 1 => {
                        let loader = rng.pick(&loaders).clone();
                        let wanted: Vec<u64> = (0..1 + rng.below(6)).map(|_| rng.below(table.rows())).collect();
                        reads.push(Box::pin(async move {
                            let read = loader.take(&wanted).await;
                            (wanted, read)
                        }));
                    }
                    2 if !reads.is_empty() => drop(reads.swap_remove(rng.below(reads.len() as u64) as usize)),
                    3 => tokio::time::sleep(Duration::from_micros(rng.below(600))).await,
                    _ if !reads.is_empty() => {
                        let place = rng.below(reads.len() as u64) as usize;
                        if let std::task::Poll::Ready(done) = futures::poll!(&mut reads[place]) {
                            drop(reads.swap_remove(place));
                            check(done);
                        }
                    }
                    _ => {}
                }
            }
            // Some reads are never polled again while others end.
            let asleep = reads.split_off(reads.len() / 2);
            for read in reads.drain(..) {
                check(timeout(Duration::from_secs(60), read).await.expect("it waits for nobody"));
            }
            drop(asleep);
        }
        assert!(failures.load(Ordering::SeqCst) > 0, "seed {seed}: nothing failed");
    });
}

#[tokio::test]
async fn rows_come_one_by_one_in_order_and_are_planned_together() {
    let _others = beside_others();
    let (table, written, counting, raw) = far(Duration::ZERO).await;
    let positions: Vec<u64> = (0..60).map(|number| number * 13 % table.rows()).collect();
    let loader = || table.row_loader().cache_bytes(0);
    loader().take(&positions).await.unwrap();
    let taken = counting.reset().gets.len();
    let rows: Vec<_> = loader().rows(positions.clone(), 60).try_collect().await.unwrap();
    assert_eq!(counting.reset().gets.len(), taken, "as many requests as `take`");
    for (row, position) in rows.iter().zip(&positions) {
        assert_rows(row.as_rows(), &written, &[Some(*position)]);
    }
    for ahead in [1, 7, 59, 1_000, usize::MAX] {
        let rows: Vec<_> = loader().rows(positions.clone(), ahead).try_collect().await.unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.as_rows().table_rows()[0].unwrap()).collect();
        assert_eq!(found, positions, "{ahead} ahead");
    }
    // The stream takes no more positions than it prefetches.
    let drawn = Arc::new(AtomicU64::new(0));
    let drawing = Arc::clone(&drawn);
    let endless = (0..).map(move |number: u64| {
        drawing.fetch_add(1, Ordering::SeqCst);
        number % 20
    });
    let mut rows = std::pin::pin!(loader().rows(endless, 10));
    for used in 0..100 {
        rows.next().await.unwrap().unwrap();
        let drawn = drawn.load(Ordering::SeqCst);
        assert!(drawn <= used + 20, "{drawn} positions taken for {used} rows");
    }
    // An error belongs to one row. If a chunk is damaged, only the rows with blocks in the damaged part fail.
    let objects = common::tables::objects(&over(raw.clone())).await;
    let (name, bytes) = objects.iter().find(|(name, _)| name.starts_with("chunks/")).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle..].iter_mut().for_each(|byte| *byte ^= 1);
    overwrite(&raw, name, &damaged).await;
    let mut wanted: Vec<u64> = (0..table.rows()).collect();
    wanted.insert(5, table.rows());
    wanted.push(u64::MAX);
    let (mut sound, mut corrupt) = (0, 0);
    let mut rows = std::pin::pin!(loader().rows(wanted.clone(), 8));
    for position in wanted {
        match rows.next().await.expect("a row or its error") {
            Ok(row) => {
                assert_rows(row.as_rows(), &written, &[Some(position)]);
                sound += 1;
            }
            Err(error) if position < table.rows() => {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
                corrupt += 1;
            }
            Err(error) => {
                assert_eq!((error.kind(), error.to_string()), (ErrorKind::Invalid, format!("row {position} is outside 0..20")))
            }
        }
    }
    assert!(rows.next().await.is_none());
    assert!(sound > 0 && corrupt > 0, "{sound} sound, {corrupt} corrupt");
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "what is refused")]
fn senseless_arguments_are_errors_or_nothing_and_never_a_panic() {
    let _others = beside_others();
    let (table, written) = block_on(async {
        let (schema, partitions) = two_partitions(9);
        let table = write(memory().1, schema, WriteOptions::default(), &partitions).await.unwrap();
        (table, arrow_select::concat::concat_batches(&partitions[0].schema(), &partitions).unwrap())
    });
    let rows = table.rows();
    let loader = table.row_loader();
    let invalid = |result: Result<usize>, what: &str| {
        assert_eq!(result.map_err(|error| error.kind()), Err(ErrorKind::Invalid), "{what}");
    };
    block_on(async {
        for outside in [rows, rows + 1, 1 << 32, u64::MAX - 1, u64::MAX] {
            invalid(loader.get_row(outside).await.map(|_| 0), "get_row");
            invalid(loader.take(&[0, outside]).await.map(|rows| rows.len()), "take");
            invalid(loader.get_rows(outside, -1..=0).await.map(|rows| rows.len()), "get_rows");
            invalid(loader.get_windows(&[0, outside], -1..=0).await.map(|windows| windows.len()), "get_windows");
            invalid(loader.get_parts(outside, [("lidar.*", 0..=0)]).await.map(|parts| parts.len()), "get_parts");
            invalid(loader.window_rows(outside, 0..=0).await.map(|rows| rows.len()), "window_rows");
            invalid(loader.explain(outside, 0..=0).await.map(|cost| cost.ranges), "explain");
            invalid(loader.explain_take(&[outside]).await.map(|cost| cost.ranges), "explain_take");
            invalid(loader.rows([outside], 3).try_collect::<Vec<_>>().await.map(|rows| rows.len()), "rows");
        }
        invalid(loader.scan(0).try_collect::<Vec<_>>().await.map(|batches| batches.len()), "scan(0)");
        invalid(loader.rows(0..rows, 0).try_collect::<Vec<_>>().await.map(|rows| rows.len()), "rows(0)");
        invalid(loader.rows([], 0).try_collect::<Vec<_>>().await.map(|rows| rows.len()), "rows(0) of nothing");
        assert_eq!(loader.scan(0).count().await, 1, "one error and the end");
        for batch_rows in [usize::MAX, rows as usize, 1 << 40] {
            let batches: Vec<Rows> = loader.scan(batch_rows).try_collect().await.unwrap();
            assert_eq!(batches.len(), 1, "scan({batch_rows})");
            assert_rows(&batches[0], &written, &(0..rows).map(Some).collect::<Vec<_>>());
        }
        assert_eq!(loader.take(&[]).await.unwrap().len(), 0);
        assert_eq!(loader.get_windows(&[], 0..=3).await.unwrap().len(), 0);
        assert_eq!(loader.get_parts(0, Vec::<(&str, Offsets)>::new()).await.unwrap().len(), 0);
        assert_eq!(loader.rows([], 5).count().await, 0);
        let again = [rows - 1, 0, 0, rows - 1, 0];
        assert_rows(&loader.take(&again).await.unwrap(), &written, &again.map(Some));
        for offsets in [vec![], vec![i64::MAX], vec![i64::MIN], vec![0, 1 << 31]] {
            invalid(Offsets::new(offsets).map(|offsets| offsets.len()), "offsets");
        }
        for range in [i64::MIN..=i64::MAX, i64::MAX..=i64::MIN, 0..=i64::MAX, i64::MIN..=0] {
            invalid(Offsets::try_from(range).map(|offsets| offsets.len()), "a range of offsets");
        }
        for range in [0..0, 1..0, i64::MIN..i64::MIN, i64::MAX..i64::MIN] {
            invalid(Offsets::try_from(range).map(|offsets| offsets.len()), "a range of offsets");
        }
        let windows = loader.get_windows(&[0, 4], 0..=3).await.unwrap();
        for window in [2, usize::MAX - 1, usize::MAX] {
            invalid(windows.get(window).map(|rows| rows.len()), "a window outside");
        }
        let some = loader.take(&[0]).await.unwrap();
        for row in [1, usize::MAX] {
            invalid(some.tensor::<f64>("camera.pose", row).map(|tensor| tensor.len()), "a row outside");
        }
        assert_eq!(some.column("none").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(loader.clone().columns(["none"]).unwrap_err().kind(), ErrorKind::NotFound);
        for group in [3, usize::MAX] {
            invalid(table.storage().layout(group).await.map(|_| 0), "a group that is none");
        }
        // Extreme settings do not change the result.
        let wild = Coalesce { max_gap: u64::MAX, max_bridged: u64::MAX, max_range: u64::MAX };
        let none = Coalesce { max_gap: 0, max_bridged: 0, max_range: 0 };
        for (coalesce, keep) in [(wild, usize::MAX), (none, 0), (wild, 1), (none, usize::MAX)] {
            let loader = table.row_loader().coalesce(coalesce).cache_bytes(keep).edge(Edge::Skip);
            for _ in 0..2 {
                assert_rows(&loader.take(&again).await.unwrap(), &written, &again.map(Some));
                assert_eq!(loader.get_rows(0, (1 << 31) - 2..=(1 << 31) - 1).await.unwrap().len(), 0);
            }
        }
        let no_columns = table.row_loader().columns(Vec::<&str>::new());
        if let Ok(loader) = no_columns {
            assert_eq!(loader.take(&[0, 1]).await.unwrap().len(), 2);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let (schema, partitions) = two_partitions(9);
    let store = Store::open(&folder.path().join("t").display().to_string()).unwrap();
    let loader = tetrys::block_on(write(store, schema, WriteOptions::default(), &partitions)).unwrap().row_loader();
    invalid(blocking::iter(loader.scan(0)).next().unwrap().map(|rows| rows.len()), "blocking scan(0)");
    invalid(blocking::iter(loader.rows([0], 0)).next().unwrap().map(|_| 1), "blocking rows(0)");
    let found: Vec<_> =
        blocking::iter(loader.rows([3, 20, 0], 2)).map(|row| row.map(|row| row.as_rows().table_rows()[0]).ok()).collect();
    assert_eq!(found, [Some(Some(3)), None, Some(Some(0))]);
}

/// Writes a local table of `rows` rows in blocks of several rows. Returns its folder and the table.
fn local(rows: i64, bytes: usize, preset: Preset) -> (tempfile::TempDir, Table) {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("t").display().to_string();
    let schema = sizes();
    let options = WriteOptions::default().preset(preset);
    let table = tetrys::block_on(write(Store::open(&url).unwrap(), schema, options, &[sized(rows, bytes)])).unwrap();
    (folder, table)
}

fn sizes() -> Schema {
    let schema = Schema::builder().index("log", "utf8").index("time", "i64").sequence_by(["log"]);
    schema.group("blob", [("blob", "binary"), ("count", "i64")]).group("label", [("label", "utf8")]).build().unwrap()
}

/// Returns rows with blobs of `bytes` random bytes.
fn sized(rows: i64, bytes: usize) -> RecordBatch {
    let mut rng = Rng(7);
    let numbers = || Int64Array::from_iter_values(0..rows);
    RecordBatch::try_from_iter([
        ("log", Arc::new(LargeStringArray::from_iter_values((0..rows).map(|_| "a"))) as ArrayRef),
        ("time", Arc::new(numbers())),
        ("blob", Arc::new(LargeBinaryArray::from_iter_values((0..rows).map(|_| rng.bytes(bytes))))),
        ("count", Arc::new(numbers())),
        ("label", Arc::new(LargeStringArray::from_iter_values((0..rows).map(|row| format!("label {}", row % 50))))),
    ])
    .unwrap()
}

/// How many times as many rows are read and written where the processor time is compared: it is told in hundredths of a second,
/// and an optimised build needs more rows for as many of them. The long suites are optimised, and have assertions too.
fn more() -> i64 {
    if cfg!(debug_assertions) && !common::full() { 2 } else { 20 }
}

/// Returns the processor time of this thread and of the process, however busy the machine is; the time of the clock where the
/// system tells neither.
fn processor_time() -> [Duration; 2] {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let of_thread = || text("/proc/thread-self/schedstat")?.split_whitespace().next()?.parse().ok().map(Duration::from_nanos);
    let of_process = || {
        // Fields 14 and 15, in hundredths of a second. They follow the process name, which may contain spaces.
        let stat = text("/proc/self/stat")?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(Duration::from_millis(ticks * 10))
    };
    match (of_thread(), of_process()) {
        (Some(thread), Some(process)) => [thread, process],
        _ => [START.elapsed(); 2],
    }
}

/// Returns the processor time of `work` on all threads, and the most that one poll of it took on the thread of the executor: for so
/// long, no other task of the executor runs.
async fn standstill<T>(work: impl Future<Output = T>) -> (T, Duration, Duration) {
    let [_, start] = processor_time();
    let mut longest = Duration::ZERO;
    let mut work = std::pin::pin!(work);
    let done = std::future::poll_fn(|context| {
        let [before, _] = processor_time();
        let polled = work.as_mut().poll(context);
        longest = longest.max(processor_time()[0].saturating_sub(before));
        polled
    });
    let done = done.await;
    (done, processor_time()[1].saturating_sub(start), longest)
}

/// Asserts that work of this processor time did not block the executor: its longest poll takes at most a third of the work.
fn assert_leaves(what: &str, took: Duration, longest: Duration) {
    println!("{what}: {took:?}, the executor stood still for {longest:?} at most");
    assert!(took > Duration::from_millis(60), "{what}: too short to tell: {took:?}");
    assert!(longest < took / 3, "{what}: the executor stood still for {longest:?} of {took:?}");
}

#[test]
fn a_long_local_read_leaves_the_executor_to_others_and_ends_when_it_is_dropped() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let (_folder, table) = local(60_000 * more(), 60, Preset::Balanced);
    let all: Vec<u64> = (0..table.rows()).map(|row| row * 7_919 % table.rows()).collect();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let loader = table.row_loader();
    let took = runtime.block_on(async {
        let (rows, took, longest) = standstill(loader.take(&all)).await;
        assert_eq!(rows.unwrap().len(), all.len());
        assert_leaves("take", took, longest);
        let windows: Vec<u64> = all[..6_000 * more() as usize].to_vec();
        let (rows, took_windows, longest) = standstill(loader.get_windows(&windows, -9..=0)).await;
        assert_eq!(rows.unwrap().len(), windows.len());
        assert_leaves("get_windows", took_windows, longest);
        took
    });
    let [_, start] = processor_time();
    let given_up = runtime.block_on(async { loader.take(&all).now_or_never() });
    assert!(given_up.is_none(), "the first poll did all of the work");
    // Dropping the runtime waits for the blocking work that has begun.
    drop(runtime);
    let spent = processor_time()[1].saturating_sub(start);
    assert!(spent < took * 2 / 3, "the read went on for {spent:?} of {took:?}");

    // Other executors: none, a `LocalSet`, and one thread of a multi-threaded runtime.
    let few = &all[..40_000 * more() as usize];
    let turns = AtomicU64::new(0);
    let others = async {
        loop {
            turns.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            let mut once = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut once, true) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })
            .await;
        }
    };
    let read = futures::executor::block_on(async {
        futures::select_biased! {
            read = Box::pin(loader.take(few)).fuse() => read,
            () = Box::pin(others).fuse() => unreachable!("endless"),
        }
    });
    assert_eq!(read.unwrap().len(), few.len());
    assert!(turns.load(Ordering::Relaxed) > 10, "{turns:?} turns of the other future");
    let local = LocalSet::new();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(local.block_on(&runtime, loader.take(few)).unwrap().len(), few.len());
    let runtime = Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).enable_all().build().unwrap();
    let task = runtime.spawn({
        let (loader, few) = (loader.clone(), few.to_vec());
        async move { loader.take(&few).await }
    });
    assert_eq!(runtime.block_on(task).unwrap().unwrap().len(), few.len());
}

#[test]
fn a_small_local_read_stays_on_its_thread() {
    let _others = beside_others();
    let (_folder, table) = local(500, 600, Preset::Fast);
    let loader = table.row_loader();
    futures::executor::block_on(loader.get_row(0)).unwrap();
    for keep in [0, 64 << 20] {
        let loader = loader.clone().cache_bytes(keep);
        for row in 0..100 {
            assert!(loader.get_row(row * 5).now_or_never().is_some_and(|row| row.is_ok()), "row {row} left the thread");
            assert!(loader.get_rows(row * 5, -9..=0).now_or_never().is_some_and(|rows| rows.is_ok()), "a window left the thread");
        }
    }
}

#[test]
fn a_long_write_leaves_the_executor_to_others_and_ends_when_it_is_dropped() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let batch = sized(40_000 * more(), 200);
    let took = runtime.block_on(async {
        let writer = Table::create(folder.path().join("t").to_str().unwrap(), sizes(), WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        let (written, took, longest) = standstill(partition.write(&batch)).await;
        written.unwrap();
        assert_leaves("write", took, longest);
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let all: Vec<u64> = (0..table.rows()).collect();
        let rows: Vec<_> = all.iter().copied().map(Some).collect();
        assert_rows(&table.row_loader().take(&all).await.unwrap(), &batch, &rows);

        let writer = Table::create(folder.path().join("u").to_str().unwrap(), sizes(), WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        assert!(partition.write(&batch).now_or_never().is_none(), "the first poll did all of the work");
        for again in 0..2 {
            let error = partition.write(&batch).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "write {again}: {error}");
        }
        assert_eq!(partition.finish().await.unwrap_err().kind(), ErrorKind::Invalid);
        took
    });
    let [_, start] = processor_time();
    drop(runtime);
    let spent = processor_time()[1].saturating_sub(start);
    assert!(spent < took / 2, "the write went on for {spent:?} of {took:?}");
}

/// Counts how often another task of the executor runs until `work` ends.
async fn turns_during<T>(work: impl Future<Output = T>) -> (T, u64) {
    let turns = AtomicU64::new(0);
    let others = async {
        loop {
            turns.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    };
    let done = tokio::select! {
        done = work => done,
        () = others => unreachable!("endless"),
    };
    (done, turns.load(Ordering::Relaxed))
}

/// The least number of times that another task must run. Objects in memory are available at once, so without offloading, another
/// task runs only once for each step of a call.
const TURNS: u64 = 200;

/// Asserts that other tasks run more than [`TURNS`] times during one of at most 20 calls. On a busy machine, a call may be done
/// before the executor polls others.
async fn assert_turns(what: &str, call: impl AsyncFn() -> u64) {
    let mut most = 0;
    for _ in 0..20 {
        most = call().await.max(most);
        if most > TURNS {
            return;
        }
    }
    panic!("{what}: at most {most} turns of others");
}

#[test]
fn opening_a_large_table_and_explaining_many_rows_leave_the_executor_to_others() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (raw, store) = memory();
        let rows = sized(60_000 * more(), 8);
        write(store, sizes(), WriteOptions::default(), std::slice::from_ref(&rows)).await.unwrap();
        let open = || Table::open_in(over(raw.clone()));
        #[cfg(feature = "frame")]
        {
            let call = async || {
                let (index, turns) = turns_during(open().await.unwrap().index()).await;
                assert_eq!(index.unwrap().len(), rows.num_rows());
                turns
            };
            assert_turns("index", call).await;
        }
        let table = open().await.unwrap();
        let loader = seen(&table);
        loader.get_row(0).await.unwrap();
        let all: Vec<u64> = (0..50_000 * more() as u64).map(|row| row * 7_919 % table.rows()).collect();
        let call = async || {
            let (cost, turns) = turns_during(loader.explain_take(&all)).await;
            assert!(cost.unwrap().ranges > 0);
            turns
        };
        assert_turns("explain_take", call).await;
        // The longest wait is a small part of the call.
        let (_, took, longest) = standstill(loader.explain_take(&all)).await;
        assert_leaves("explain_take", took, longest);

        // A manifest of many columns.
        let names: Vec<String> = (0..4_000).map(|number| format!("wide.column_{number}")).collect();
        let columns = names.iter().map(|name| (name.as_str(), "i64"));
        let schema = Schema::builder().index("id", "i64").group("wide", columns).build().unwrap();
        let one = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let wide = names.iter().map(|name| (name.as_str(), one())).chain([("id", one())]);
        let (raw, store) = memory();
        write(store, schema, WriteOptions::default(), &[RecordBatch::try_from_iter(wide).unwrap()]).await.unwrap();
        let call = async || {
            let (table, turns) = turns_during(Table::open_in(over(raw.clone()))).await;
            assert_eq!(table.unwrap().schema().columns().len(), 4_001);
            turns
        };
        assert_turns("open", call).await;
    });
}

#[test]
fn taking_a_large_parquet_file_in_leaves_the_executor_to_others() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let batch = sized(150_000, 8).project(&[0, 1, 3]).unwrap();
    let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let frame = Frame::parquet(&path).unwrap();
    let options = IngestOptions { workers: 1, partition_rows: 1 << 20, ..IngestOptions::default() };
    let settings = FrameSettings { options, ..FrameSettings::default() };
    let settings = settings.index(["log", "time"]).sequence_by(["log"]).order_by(["time"]);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (table, took, longest) = standstill(ingest(&frame, memory().1, &settings, |_| {})).await;
        assert_eq!(table.unwrap().rows(), 150_000);
        println!("ingest: {took:?}, the executor stood still for {longest:?} at most");
        // One pass through all rows finds the starts of the partitions.
        assert!(longest < took / 6, "the executor stood still for {longest:?} of {took:?}");
    });
}

#[test]
fn a_row_of_a_slice_of_lists_is_written_on_its_thread() {
    let _others = beside_others();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (rows, items) = (500, 1_000);
        let mut lists = arrow_array::builder::LargeListBuilder::new(arrow_array::builder::Int64Builder::new());
        for row in 0..rows {
            lists.append_value((0..items).map(|item| Some(row * item)));
        }
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
            ("lists", Arc::new(lists.finish())),
        ])
        .unwrap();
        let schema = Schema::builder().index("id", "i64").group("lists", [("lists", "list<i64>")]).build().unwrap();
        let writer = tetrys::Table::create_in(memory().1, schema, WriteOptions::default()).await.unwrap();
        let mut partition = writer.partition().unwrap();
        for row in 0..rows as usize {
            let written = partition.write(&batch.slice(row, 1)).now_or_never();
            written.unwrap_or_else(|| panic!("row {row} left its thread")).unwrap();
        }
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        let all: Vec<u64> = (0..rows as u64).collect();
        let read = table.row_loader().take(&all).await.unwrap();
        assert_rows(&read, &batch, &all.into_iter().map(Some).collect::<Vec<_>>());
    });
}

#[test]
fn reads_of_a_small_table_leave_little_memory_behind() {
    let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let (_folder, table) = local(2_800, 10_000, Preset::Fast);
    let loader = table.row_loader().cache_bytes(0);
    let mut rng = Rng(seed());
    release_buffers();
    let before = MEMORY.current_usage();
    let mut largest = 0;
    for _ in 0..60 {
        let start = rng.below(table.rows() - 1);
        let rows: Vec<u64> = (start..(start + 1 + rng.below(1_400)).min(table.rows())).collect();
        let read = block_on(loader.take(&rows)).unwrap();
        largest = largest.max(read.batch().get_array_memory_size());
    }
    let left = MEMORY.current_usage().saturating_sub(before);
    println!("{} kB left behind by reads of {} kB at most", left >> 10, largest >> 10);
    assert!(left < 4 * largest + (16 << 20), "{left} bytes are left behind by reads of {largest} bytes at most");
    let released = release_buffers();
    assert!(released > 0 && released <= left, "{released} bytes were kept");
    let left = MEMORY.current_usage().saturating_sub(before);
    assert!(left < 16 << 20, "{left} bytes are left behind once they were released");
}
