//! Hostile tables: all hashes and checksums are valid, but the data behind them is malicious. Each number of each stored object
//! gets extreme values; there are decompression bombs, overlapping runs, and texts of many megabytes. Opening, reading and
//! verifying such a table gives a typed error, or the written rows, or other rows that verification reports; within a second, and
//! within 64 MiB of memory.

mod bombs;
mod chunks;
#[path = "../common/mod.rs"]
mod common;
mod forge;
mod manifest;
mod repeated;
mod segments;
#[path = "../../fuzz/src/lib.rs"]
#[allow(dead_code, reason = "its re-making of checksums is used here")]
mod targets;

use std::{
    fs,
    panic::AssertUnwindSafe,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use common::tables::{self, Rng, Taste, block_on, cut_by, memory, overwrite, rows_of, tiny_cuts};
use forge::Forged;
use futures::{FutureExt, StreamExt};
use peak_alloc::PeakAlloc;
use tetrys::{Error, ErrorKind, Preset, Schema, Store, Table, WriteOptions};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most memory that opening, reading and verifying may take, in addition to the objects of the table.
const MOST_MEMORY: usize = 64 << 20;
/// The most processor time that opening, reading and verifying may take. A debug build takes several times as long.
const MOST_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

/// Memory and time are measured for the whole process, so one test runs at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the processor time of the process, or the elapsed time if the system does not report processor time.
fn time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let ticks = fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        // Fields 14 and 15, in hundredths of a second. They follow the process name, which may contain spaces.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    });
    ticks.map_or_else(|| START.elapsed(), |ticks| Duration::from_millis(ticks * 10))
}

/// The outcome of a hostile table.
#[derive(Debug, PartialEq)]
enum Seen {
    /// A read failed. This is the first error.
    Refused(ErrorKind, String),
    /// The rows are those that were written.
    Harmless,
    /// The table gives rows, and verification reports damage.
    Reported,
}

/// A sound table and its rows.
struct Sound {
    forged: Forged,
    written: RecordBatch,
}

fn sound_of(schema: Schema, options: WriteOptions, written: RecordBatch) -> Sound {
    let (_, store) = memory();
    block_on(tables::write(store.clone(), schema, options, std::slice::from_ref(&written))).unwrap();
    let mut sound = Sound { forged: Forged::of(&store), written };
    sound.forged.add_page_lengths();
    assert_eq!(sound.look("sound", &sound.forged.sealed()), Seen::Harmless);
    sound
}

fn schema() -> Schema {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .index("weight", "f64")
        .group("camera", [("camera.jpeg", "binary"), ("camera.pose", "f64[3,3]")])
        .group("lidar", [("lidar.points", "f32[?,4]")])
        .group("labels", [("labels.names", "list<utf8>"), ("labels.count", "u32")])
        .sequence_by(["log"])
        .order_by(["time"])
        .build()
        .unwrap()
}

fn sound(preset: Preset) -> Sound {
    let mut rng = Rng(common::seed());
    let written = rows_of(&schema(), &mut rng, &[("a", 5), ("b", 1), ("c", 4)], Taste { nulls: 3, ..Taste::SMALL });
    sound_of(schema(), cut_by(tiny_cuts()).preset(preset), written)
}

impl Sound {
    /// Opens, reads and verifies a table of these objects, and asserts the limits of memory and time.
    #[track_caller]
    fn look(&self, what: &str, objects: &[(String, Vec<u8>)]) -> Seen {
        let (raw, store) = memory();
        block_on(async {
            for (name, bytes) in objects {
                overwrite(&*raw, name, bytes).await;
            }
        });
        let before = (MEMORY.current_usage(), time());
        MEMORY.reset_peak_usage();
        let looked = block_on(AssertUnwindSafe(read_all(store, &self.written)).catch_unwind());
        let (memory, took) = (MEMORY.peak_usage().saturating_sub(before.0), time() - before.1);
        let (errors, same, damage) = looked.unwrap_or_else(|_| panic!("{what}: a panic"));
        assert!(memory <= MOST_MEMORY, "{what}: {memory} bytes of memory; {errors:?}");
        assert!(took <= MOST_TIME, "{what}: {took:?}; {errors:?}");
        for error in &errors {
            use ErrorKind::{Corrupt, Denied, NotFound, Unsupported};
            let about_bytes = [Corrupt, Unsupported, NotFound, Denied].contains(&error.kind());
            assert!(about_bytes && error.to_string().len() < 4096, "{what}: {:?}: {:.300}", error.kind(), error.to_string());
        }
        match errors.into_iter().next() {
            Some(error) => Seen::Refused(error.kind(), error.to_string()),
            None if damage > 0 => Seen::Reported,
            None => {
                assert!(same, "{what}: other rows, and verification finds nothing");
                Seen::Harmless
            }
        }
    }

    /// Returns the first error, and panics if there is none.
    #[track_caller]
    fn refused(&self, what: &str, objects: &[(String, Vec<u8>)]) -> String {
        match self.look(what, objects) {
            Seen::Refused(_, text) => text,
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// Reads the table in every way. Returns the errors, whether the rows are those that were written, and the number of damages that
/// verification reports.
async fn read_all(store: Store, written: &RecordBatch) -> (Vec<Error>, bool, usize) {
    let table = match Table::open_in(store).await {
        Ok(table) => table,
        Err(error) => return (vec![error], false, 0),
    };
    let (mut errors, mut same) = (Vec::new(), table.rows() == written.num_rows() as u64);
    match table.sequences().await {
        Ok(sequences) => {
            let _ = (sequences.len(), sequences.around(0));
        }
        Err(error) => errors.push(error),
    }
    match table.index_batches().await {
        Ok(batches) => match batches.collect::<Result<Vec<_>, _>>() {
            Ok(batches) => same &= equal(&batches, written),
            Err(error) => errors.push(error),
        },
        Err(error) => errors.push(error),
    }
    match table
        .row_loader()
        .scan(64)
        .map(|rows| rows.map(|rows| rows.batch().clone()))
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .collect()
    {
        Ok(batches) => same &= equal::<Vec<_>>(batches, written),
        Err(error) => errors.push(error),
    }
    // One column of each group. If the layout has page lengths, the reader uses them.
    let columns = table.schema().groups().iter().filter_map(|group| table.schema().column(*group.columns.last()?));
    for column in columns.filter(|column| !column.name.starts_with("re:")).take(3) {
        match table.row_loader().columns([&column.name]) {
            Ok(loader) => match loader.get_row(0).await {
                Ok(row) => same &= equal(vec![row.as_rows().batch().clone()], &written.slice(0, 1)),
                Err(error) => errors.push(error),
            },
            Err(error) => errors.push(error),
        }
    }
    #[cfg(feature = "frame")]
    if table.manifest().has_tails() {
        for condition in ["time >= 0 AND log <> 'a'", "weight IS NULL", "weight > 0.5 OR log = 'b'"] {
            errors.extend(table.index().filter_sql(condition).await.err());
        }
    }
    let window = table.row_loader().get_rows(0, -1..=1).await;
    errors.extend(window.err());
    errors.extend(table.info().await.err());
    match table.storage().verify(|_, _| {}).await {
        Ok(verified) => (errors, same, verified.damage.len()),
        Err(error) => {
            errors.push(error);
            (errors, same, 0)
        }
    }
}

fn equal<B: std::borrow::Borrow<Vec<RecordBatch>>>(batches: B, written: &RecordBatch) -> bool {
    let batches = batches.borrow();
    let Some(first) = batches.first() else { return false };
    let Ok(read) = concat_batches(&first.schema(), batches) else { return false };
    // Names are not compared, because a hostile manifest may rename columns.
    read.columns().iter().all(|column| written.columns().contains(column))
}

/// The number of cases with each outcome.
#[derive(Debug, Default)]
struct Tally {
    refused: usize,
    harmless: usize,
    reported: usize,
}

impl Tally {
    fn add(&mut self, seen: &Seen) {
        match seen {
            Seen::Refused(..) => self.refused += 1,
            Seen::Harmless => self.harmless += 1,
            Seen::Reported => self.reported += 1,
        }
    }
}

/// The extreme values of 64-bit numbers.
const EDGES: [u64; 13] = [
    0,
    1,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    1 << 53,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Returns the extreme values of a number of `width` bytes.
fn edges(width: usize) -> Vec<u64> {
    let most = u64::MAX >> (64 - 8 * width);
    let mut edges: Vec<u64> =
        EDGES.into_iter().filter(|edge| *edge <= most).chain([most / 2, most / 2 + 1, most - 1, most, 2, 255]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Chooses the cases of a run: one in `every`, beginning at a case that depends on the seed; all of them in a full run.
struct Turns {
    next: u64,
    every: u64,
}

impl Turns {
    fn new(every: u64) -> Self {
        Self { next: common::seed(), every: if common::full() { 1 } else { every } }
    }

    /// Whether the next case is chosen.
    fn take(&mut self) -> bool {
        self.next = self.next.wrapping_add(1);
        self.next.is_multiple_of(self.every)
    }

    /// Returns the least number of chosen cases out of `cases`.
    fn of(&self, cases: usize) -> usize {
        cases / self.every as usize
    }
}
