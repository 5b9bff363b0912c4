//! Imports that are interrupted, or in which logs fail: the same import again reads what is missing alone, and the table is the same as
//! without a failure.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, SystemTime},
};

use arrow_array::RecordBatch;
use serde_json::Value;
use tetrys::{ErrorKind, Store, StoreOptions, Table, table::Cuts};
use tetrys_logs::{IngestSettings, Ingested, LogSource, OpenOptions, REPORT, Recipe, ingest};

use crate::{
    bag_writing::{self, BagParts},
    common::{cases, random},
    rows::{STAMPED, stamped, topic},
    writing::{Message, Parts, Topic, write},
};

const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n[[match]]\nname = \"b\"\ntopic = \"/b\"\ntime = \"log\"\n\
    policy = \"last\"\ntolerance = \"50ns\"\n";

/// The messages of two topics, with values that belong to this log alone.
fn messages_of(log: i64, messages: u64) -> ([Topic; 2], Vec<Message>) {
    let value = |at: u64| 1_000_000 * log + i64::try_from(at).unwrap();
    let of = |at: u64| [stamped(1, 98 + 10 * at, 0, -value(at)), stamped(0, 100 + 10 * at, 0, value(at))];
    (["/a", "/b"].map(|name| topic(name, "here/Value", STAMPED)), (0..messages).flat_map(of).collect())
}

/// A recording with these messages.
fn recording(log: i64, messages: u64) -> Vec<u8> {
    let (topics, messages) = messages_of(log, messages);
    write(&topics, &messages, &Parts::default())
}

fn settings(options: &StoreOptions) -> IngestSettings {
    let open = OpenOptions { store: options.clone(), ..OpenOptions::default() };
    IngestSettings { open, workers: 1, ..IngestSettings::new(Recipe::parse(RECIPE).unwrap()) }
}

/// Runs an import until so many rows are written, and drops it, as Ctrl-C does. Returns whether it was done before.
pub(crate) async fn dropped_after(rows: u64, logs: &[LogSource], store: &Store, settings: &IngestSettings) -> bool {
    let written = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&written);
    let import = ingest(logs, store.clone(), settings, move |rows| count.store(rows, Ordering::Relaxed));
    let enough = async {
        while written.load(Ordering::Relaxed) < rows {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    };
    tokio::select! {
        made = import => made.map(|_| true).unwrap(),
        () = enough => false,
    }
}

/// An import that waits where it first reports progress.
struct Waiting {
    import: Pin<Box<dyn Future<Output = tetrys::Result<Ingested>>>>,
    /// The import goes on when this is dropped.
    gate: Sender<()>,
}

impl Waiting {
    /// Starts an import, and returns when it has written its first batch, and waits.
    async fn start(logs: &[LogSource], store: &Store, settings: &IngestSettings) -> Self {
        let (reached, is_reached): (Sender<()>, Receiver<()>) = channel();
        let (gate, closed): (Sender<()>, Receiver<()>) = channel();
        let closed = Mutex::new(closed);
        let progress = move |_: u64| {
            let _ = reached.send(());
            // Nothing is ever sent: this returns when the other end is dropped.
            let _ = closed.lock().unwrap().recv();
        };
        let (logs, store, settings) = (logs.to_vec(), store.clone(), settings.clone());
        let mut import: Pin<Box<dyn Future<Output = tetrys::Result<Ingested>>>> =
            Box::pin(async move { ingest(&logs, store, &settings, progress).await });
        // The worker of the import blocks its thread, so the import itself need not be polled while it waits.
        tokio::select! {
            made = &mut import => panic!("the import ended before it had written a batch: {made:?}"),
            reached = tokio::task::spawn_blocking(move || is_reached.recv()) => reached.unwrap().unwrap(),
        }
        Self { import, gate }
    }

    /// Lets the import go on to its end.
    async fn finish(self) -> tetrys::Result<Ingested> {
        drop(self.gate);
        self.import.await
    }

    /// Drops the import, as Ctrl-C does.
    fn interrupt(self) {
        drop(self.import);
        drop(self.gate);
    }
}

/// The names of the logs whose receipts an interrupted import has left.
async fn written(store: &Store, logs: &[LogSource]) -> BTreeSet<String> {
    let listed = store.list("sessions").await.unwrap();
    let number = |name: &str| name.strip_suffix(".receipt")?.rsplit('/').next()?.get(..10)?.parse::<usize>().ok();
    listed.iter().filter_map(|(name, _)| Some(logs[number(name)?].name.clone())).collect()
}

/// All rows of a table, and its report.
async fn content(table: &Table) -> (Vec<RecordBatch>, Value, Value) {
    assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    let index = table.index_batches().await.unwrap().map(Result::unwrap).collect::<Vec<_>>();
    let all: Vec<u64> = (0..table.rows()).collect();
    let payload = table.row_loader().take(&all).await.unwrap().batch().clone();
    let report = serde_json::from_slice(&table.attachment(REPORT).await.unwrap()).unwrap();
    (index.into_iter().chain([payload]).collect(), report, table.lineage()["matches"].clone())
}

/// The names of the logs of which bytes were read.
fn read_of(requests: &[tetrys_s3_server::Request]) -> BTreeSet<String> {
    let name = |path: &str| Some(path.split_once("logs/")?.1.strip_suffix(".mcap")?.to_owned());
    requests.iter().filter(|request| request.method == "GET").filter_map(|request| name(&request.key)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_import_goes_on_without_reading_a_written_log_again() {
    let mut rng = random();
    let mut taken_over = 0;
    for case in 0..cases(4) {
        let server = tetrys_s3_server::Server::start();
        server.create_bucket("data");
        let mut logs = Vec::new();
        for number in 0..6 {
            // One of the logs has no rows, and one is larger than a batch.
            let messages = [0, 3_000, 40, 200, 1_100, 7][(number + case) % 6];
            server.put("data", &format!("logs/{number}.mcap"), recording(i64::try_from(number).unwrap(), messages));
            logs.push(LogSource::of(&format!("s3://data/logs/{number}.mcap")).unwrap());
        }
        let options = StoreOptions::only(server.options());
        let mut settings = settings(&options);
        let open = |name: &str| Store::open_with(&format!("s3://data/{name}"), &options).unwrap();
        let whole = ingest(&logs, open("whole"), &settings, |_| {}).await.unwrap();
        let expected = content(&whole.table).await;
        let store = open("table");
        let (mut done, mut rows) = (false, 0);
        for _ in 0..3 {
            rows += 1 + rng.below(1_000) as u64;
            settings.workers = 1 + rng.below(3);
            let before = written(&store, &logs).await;
            server.take_requests();
            done = dropped_after(rows, &logs, &store, &settings).await;
            // What the dropped import had begun may still end.
            tokio::time::sleep(Duration::from_millis(200)).await;
            let again = read_of(&server.take_requests());
            let again: BTreeSet<&String> = again.intersection(&before).collect();
            assert!(again.is_empty(), "case {case}: {again:?} were read again");
            if done {
                break;
            }
        }
        let before = written(&store, &logs).await;
        server.take_requests();
        let made = ingest(&logs, store.clone(), &settings, |_| {}).await.unwrap();
        let read = read_of(&server.take_requests());
        if !done {
            let others: BTreeSet<String> =
                logs.iter().map(|log| log.name.clone()).filter(|name| !before.contains(name)).collect();
            assert_eq!(read, others, "case {case}");
            assert_eq!(made.resumed.iter().cloned().collect::<BTreeSet<_>>(), before, "case {case}");
            assert_eq!(made.report.logs.len(), 6);
        }
        taken_over += before.len();
        assert_eq!(content(&made.table).await, expected, "case {case}");
        assert_eq!(made.table.version(), 1);
        assert!(written(&store, &logs).await.is_empty(), "the session is over");
    }
    assert!(taken_over > 0, "no import was interrupted behind a log");
}

/// Writes logs to a folder. Returns them, and the store of a table there.
fn written_logs(folder: &Path, sizes: &[u64]) -> (Vec<LogSource>, Vec<PathBuf>, Store) {
    let paths: Vec<PathBuf> = (0..sizes.len()).map(|log| folder.join(format!("log{log}.mcap"))).collect();
    for ((path, messages), log) in paths.iter().zip(sizes).zip(0..) {
        std::fs::write(path, recording(log, *messages)).unwrap();
    }
    let logs = paths.iter().map(|path| LogSource::of(path.to_str().unwrap()).unwrap()).collect();
    (logs, paths, Store::open(folder.join("table").to_str().unwrap()).unwrap())
}

/// Interrupts an import behind its first log, and returns the names of the logs that are written.
async fn interrupted(logs: &[LogSource], store: &Store, settings: &IngestSettings) -> BTreeSet<String> {
    for rows in [1_100, 1_200, 1_500, 2_000, 2_500] {
        assert!(!dropped_after(rows, logs, store, settings).await, "the import was done before it was interrupted");
        tokio::time::sleep(Duration::from_millis(200)).await;
        let found = written(store, logs).await;
        if found.contains("log0") {
            return found;
        }
    }
    panic!("no log was written");
}

const SIZES: [u64; 3] = [1_000, 4_000, 3_000];

#[tokio::test(flavor = "multi_thread")]
async fn a_written_log_is_taken_over_by_its_receipt_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, paths, store) = written_logs(folder.path(), &SIZES);
    let settings = settings(&StoreOptions::default());
    let whole = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
    let found = interrupted(&logs, &store, &settings).await;
    // An import that reads this log again fails: its bytes are zeros. Its size and its time are as before.
    let modified = paths[0].metadata().unwrap().modified().unwrap();
    std::fs::write(&paths[0], vec![0; recording(0, SIZES[0]).len()]).unwrap();
    File::options().write(true).open(&paths[0]).unwrap().set_modified(modified).unwrap();
    let made = ingest(&logs, store, &settings, |_| {}).await.unwrap();
    assert!(made.failed.is_empty(), "{:?}", made.failed);
    assert_eq!(made.resumed.iter().cloned().collect::<BTreeSet<_>>(), found);
    assert_eq!(content(&made.table).await, content(&whole.table).await);
}

/// The names of the chunks of a table.
async fn chunks(store: &Store) -> BTreeSet<String> {
    store.list("chunks").await.unwrap().into_iter().map(|(name, _)| name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_that_was_interrupted_before_its_first_log_goes_on_in_its_session_and_leaves_nothing() {
    let (folder, mut rng) = (tempfile::tempdir().unwrap(), random());
    let path = |name: &str| folder.path().join(name);
    let open = |name: &str| Store::open(path(name).to_str().unwrap()).unwrap();
    let mut logs = Vec::new();
    for (name, count) in [("log0.mcap", 3_000_u64), ("log1.mcap", 300)] {
        let message = |at: u64, bytes: Vec<u8>| Message { topic: 0, log_time: 100 + at, publish_time: 0, data: bytes };
        let mut bytes = || (0..1_000).map(|_| rng.below(256) as u8).collect::<Vec<u8>>();
        let messages: Vec<Message> =
            (0..count).map(|at| message(at, [&1_000_u32.to_le_bytes()[..], &bytes()].concat())).collect();
        std::fs::write(path(name), write(&[topic("/a", "here/Data", "uint8[] data")], &messages, &Parts::default())).unwrap();
        logs.push(LogSource::of(path(name).to_str().unwrap()).unwrap());
    }
    // A batch has over a hundred chunks, so that most of them are stored before it is written. Few messages are in memory.
    let cuts =
        Cuts { block_min: 1_000, block_target: 2_000, block_max: 4_000, chunk_min: 2_000, chunk_target: 4_000, chunk_max: 8_000 };
    let recipe = Recipe::parse("[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n").unwrap();
    let settings = IngestSettings { recipe, message_memory: 0, ..settings(&StoreOptions::default()) };
    let settings = IngestSettings { write: settings.write.clone().cuts(cuts), ..settings };
    let whole = IngestSettings { message_memory: 64 << 20, ..settings.clone() };
    let whole = ingest(&logs, open("whole"), &whole, |_| {}).await.unwrap();
    assert!(!whole.went_on);
    let expected = content(&whole.table).await;

    let store = open("table");
    Waiting::start(&logs, &store, &settings).await.interrupt();
    assert!(written(&store, &logs).await.is_empty(), "a log was written before the import was interrupted");
    let stored = chunks(&store).await;
    assert!(stored.len() > 10, "{} chunks were stored before the import was interrupted", stored.len());
    // Imports with other options of storing, other times, or other rules have sessions of their own, and leave this one.
    let others = [
        (IngestSettings { write: settings.write.clone().segment_rows(1_000), ..settings.clone() }, false),
        (IngestSettings { span: (Some(0), None), ..settings.clone() }, false),
        (IngestSettings { open: OpenOptions { strict: true, ..settings.open.clone() }, ..settings.clone() }, false),
        (settings.clone(), true),
    ];
    copied(&path("table"), &path("changed"));
    for (number, (other, goes_on)) in others.into_iter().enumerate() {
        let name = format!("copy{number}");
        copied(&path("table"), &path(&name));
        let made = ingest(&logs, open(&name), &other, |_| {}).await.unwrap();
        assert_eq!(made.went_on, goes_on, "{number}");
        assert_eq!(open(&name).list("sessions").await.unwrap().is_empty(), goes_on, "{number}");
        assert!(!made.table.properties().contains_key("logs.made_of"), "{number}");
    }

    let made = ingest(&logs, store.clone(), &settings, |_| {}).await.unwrap();
    assert!(made.went_on && made.resumed.is_empty() && made.failed.is_empty());
    assert_eq!(content(&made.table).await, expected);
    assert!(store.list("sessions").await.unwrap().is_empty(), "the session is over");
    let after = chunks(&store).await;
    assert!(stored.is_subset(&after) && after == chunks(&open("whole")).await, "chunks of the interrupted import are used");

    // So do imports of files that have changed.
    let later = SystemTime::now() + Duration::from_secs(5);
    File::options().write(true).open(path("log1.mcap")).unwrap().set_modified(later).unwrap();
    let made = ingest(&logs, open("changed"), &settings, |_| {}).await.unwrap();
    assert!(!made.went_on && !open("changed").list("sessions").await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_that_fails_leaves_the_session_of_one_that_is_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, paths, store) = written_logs(folder.path(), &[50, 2_000]);
    let settings = settings(&StoreOptions::default());
    // The table says which columns there are, so that an import of a log that cannot be read begins a session.
    ingest(&logs[..1], store.clone(), &settings, |_| {}).await.unwrap();
    let waiting = Waiting::start(&logs, &store, &settings).await;
    // A file that is missing, with the name of the log that is being imported.
    let missing = LogSource::of(folder.path().join("typo/log1.mcap").to_str().unwrap()).unwrap();
    let error = ingest(&[missing], store.clone(), &settings, |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    // A damaged file in the place of the first, which the waiting import has open. Size and time are as before, so this import goes on in
    // the same session.
    let (damaged, modified) = (folder.path().join("damaged"), paths[1].metadata().unwrap().modified().unwrap());
    std::fs::write(&damaged, vec![0_u8; recording(1, 2_000).len()]).unwrap();
    File::options().write(true).open(&damaged).unwrap().set_modified(modified).unwrap();
    std::fs::rename(&damaged, &paths[1]).unwrap();
    let error = ingest(&logs, store.clone(), &settings, |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");

    let made = waiting.finish().await.unwrap();
    assert!(made.failed.is_empty() && !made.went_on, "{:?}", made.failed);
    assert_eq!((made.table.version(), made.table.rows()), (2, 2_050));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_file_has_changed_is_read_again() {
    for is_longer in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (logs, paths, store) = written_logs(folder.path(), &SIZES);
        let settings = settings(&StoreOptions::default());
        interrupted(&logs, &store, &settings).await;
        std::fs::write(&paths[0], recording(9, SIZES[0] + u64::from(is_longer))).unwrap();
        let later = SystemTime::now() + Duration::from_secs(5);
        File::options().write(true).open(&paths[0]).unwrap().set_modified(later).unwrap();
        let whole = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
        let made = ingest(&logs, store.clone(), &settings, |_| {}).await.unwrap();
        assert!(!made.resumed.contains(&"log0".to_owned()), "{:?}", made.resumed);
        assert_eq!(content(&made.table).await, content(&whole.table).await);
        // A session of which nothing was taken over may be at work elsewhere: it stays until a collection.
        assert_eq!(written(&store, &logs).await.is_empty(), !made.resumed.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_import_takes_nothing_over() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, _, store) = written_logs(folder.path(), &SIZES);
    let first = settings(&StoreOptions::default());
    interrupted(&logs, &store, &first).await;
    let other_recipe = IngestSettings { recipe: Recipe::parse(&RECIPE.replace("50ns", "1ns")).unwrap(), ..first.clone() };
    let other_span = IngestSettings { span: (Some(200), None), ..first.clone() };
    let fewer_logs = &logs[..2];
    let others = [(&logs[..], &other_recipe), (&logs[..], &other_span), (fewer_logs, &first)];
    for (number, (logs, settings)) in others.into_iter().enumerate() {
        // The session of the first import is there each time.
        let copy = folder.path().join(format!("copy{number}"));
        copied(&folder.path().join("table"), &copy);
        let made = ingest(logs, Store::open(copy.to_str().unwrap()).unwrap(), settings, |_| {}).await.unwrap();
        assert_eq!(made.resumed, [""; 0], "{number}");
        let whole = ingest(logs, Store::open("memory://").unwrap(), settings, |_| {}).await.unwrap();
        assert_eq!(content(&made.table).await, content(&whole.table).await, "{number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_import_of_ros_1_bags_goes_on_until_a_definition_changes() {
    for is_changed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("here")).unwrap();
        std::fs::write(path("here/Other.idl"), "module here { module msg { struct Other { long a; }; }; };").unwrap();
        let mut logs = Vec::new();
        for (number, messages) in (0..).zip(SIZES) {
            let (topics, messages) = messages_of(number, messages);
            let bag = path(&format!("log{number}.bag"));
            std::fs::write(&bag, bag_writing::write(&topics, &messages, &BagParts { compression: "lz4", ..BagParts::default() }))
                .unwrap();
            logs.push(LogSource::of(bag.to_str().unwrap()).unwrap());
        }
        let mut settings = settings(&StoreOptions::default());
        settings.open.msgs = vec![path("here").display().to_string()];
        let store = Store::open(path("table").to_str().unwrap()).unwrap();
        let mut found = interrupted(&logs, &store, &settings).await;
        if is_changed {
            std::fs::write(path("here/Other.idl"), "module here { module msg { struct Other { long long a; }; }; };").unwrap();
            found.clear();
        }
        let made = ingest(&logs, store, &settings, |_| {}).await.unwrap();
        assert_eq!(made.resumed.iter().cloned().collect::<BTreeSet<_>>(), found);
        let whole = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
        assert_eq!(content(&made.table).await, content(&whole.table).await);
    }
}

/// Copies a folder. An object that is just being stored has another name by the time it is copied, and is left out.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copied(&entry.path(), &target),
            false => match std::fs::copy(entry.path(), target) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                copied => drop(copied.unwrap()),
            },
        }
    }
}

/// The rows of each log of a table, by its name.
async fn by_log(table: &Table) -> BTreeMap<String, Vec<RecordBatch>> {
    let (batches, ..) = content(table).await;
    let payload = batches.last().unwrap();
    let mut found: BTreeMap<String, Vec<RecordBatch>> = BTreeMap::new();
    let mut row = 0;
    for index in &batches[..batches.len() - 1] {
        let names = arrow_array::cast::AsArray::as_string::<i64>(index.column_by_name("log").unwrap());
        for at in 0..index.num_rows() {
            let rows = found.entry(names.value(at).to_owned()).or_default();
            rows.extend([index.slice(at, 1), payload.slice(row, 1)]);
            row += 1;
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_is_named_and_the_others_are_there_and_later_it_is_too() {
    let mut rng = random();
    for case in 0..cases(4) {
        let folder = tempfile::tempdir().unwrap();
        let sizes: Vec<u64> = (0..5).map(|_| 1 + rng.below(300) as u64).collect();
        let (logs, paths, store) = written_logs(folder.path(), &sizes);
        let settings =
            IngestSettings { open: OpenOptions { strict: true, ..OpenOptions::default() }, ..settings(&StoreOptions::default()) };
        let whole = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
        let (mut damaged, mut version) = (BTreeSet::new(), 0);
        for _ in 0..1 + rng.below(4) {
            let number = rng.below(5);
            let mut bytes = std::fs::read(&paths[number]).unwrap();
            // The checksum of a chunk stands before the name of its compression. No chunk may be left that is whole.
            let names = bytes.windows(4).enumerate().filter(|(_, part)| part == b"zstd").map(|(at, _)| at);
            let names: Vec<usize> = names.collect();
            match rng.below(3) {
                0 if !names.is_empty() => names.iter().for_each(|name| bytes[name - 8] = bytes[name - 8].wrapping_add(1)),
                1 => *bytes.last_mut().unwrap() = 0,
                _ => bytes.truncate(bytes.len() / 2),
            }
            std::fs::write(&paths[number], bytes).unwrap();
            damaged.insert(number);
        }
        let mut missing: BTreeSet<usize> = damaged.clone();
        loop {
            let made: Ingested = ingest(&logs, store.clone(), &settings, |_| {}).await.unwrap();
            let failed: BTreeSet<String> = made.failed.iter().map(|(name, _)| name.clone()).collect();
            assert_eq!(failed, missing.iter().map(|number| logs[*number].name.clone()).collect(), "case {case}");
            for (name, error) in &made.failed {
                assert!(error.to_string().contains(&format!("{name}.mcap")), "{error}");
            }
            assert_eq!(made.table.version(), version + 1);
            version += 1;
            assert_eq!(made.present.len() + made.report.logs.len() + missing.len(), 5);
            assert!(store.list("sessions").await.unwrap().is_empty());
            // One log after the other is mended.
            let Some(number) = missing.pop_first() else {
                let (found, expected) = (by_log(&made.table).await, by_log(&whole.table).await);
                assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
                for (log, rows) in &expected {
                    assert!(&found[log] == rows, "case {case}: the rows of {log} differ");
                }
                break;
            };
            std::fs::write(&paths[number], recording(i64::try_from(number).unwrap(), sizes[number])).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_of_which_nothing_is_written_leaves_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, paths, store) = written_logs(folder.path(), &[50, 50]);
    let made = ingest(&logs[..1], store.clone(), &settings(&StoreOptions::default()), |_| {}).await.unwrap();
    std::fs::write(&paths[1], "no recording").unwrap();
    let error = ingest(&logs[1..], store.clone(), &settings(&StoreOptions::default()), |_| {}).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(store.list("sessions").await.unwrap().is_empty());
    assert_eq!(Table::open_in(store).await.unwrap().version(), made.table.version());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_do_one_import_make_one_version() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, _, store) = written_logs(folder.path(), &SIZES);
    let settings = settings(&StoreOptions::default());
    let whole = ingest(&logs, Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
    interrupted(&logs, &store, &settings).await;
    // Both find the session that was interrupted.
    let one = ingest(&logs, store.clone(), &settings, |_| {});
    let other = ingest(&logs, store.clone(), &settings, |_| {});
    let (one, other) = tokio::join!(one, other);
    for made in [one.unwrap(), other.unwrap()] {
        assert!(made.failed.is_empty(), "{:?}", made.failed);
        assert_eq!((made.table.version(), made.report.logs.len()), (1, 3));
        assert_eq!(content(&made.table).await, content(&whole.table).await);
    }
}
