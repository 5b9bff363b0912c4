//! Hostile tables: every hash and checksum is right, and what they guard is made to harm. Each number of each stored object at
//! the edges of its type, bombs, runs that overlap, texts of many megabytes. Whoever opens, reads and verifies such a table gets
//! a typed error or the rows, or other rows that verification reports; within a second, and within 64 MiB of memory.

mod common;
#[path = "hostile/forge.rs"]
mod forge;
#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code, reason = "its re-making of checksums is used here")]
mod targets;

use std::{
    fs,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_select::concat::concat_batches;
use common::tables::{self, Rng, Taste, block_on, cut_by, memory, overwrite, rows_of, tiny_cuts};
use forge::{Forged, LayoutRow, columns_of, parquet_of, write_layout};
use futures::{FutureExt, StreamExt};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};
use targets::sign_chunk;
use tetrys::{
    Error, ErrorKind, Preset, Schema, Store, Table, WriteOptions,
    format::{BlockDirectory, ChunkDirectory, ChunkHeader, PackedLengths},
};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Memory that a look may take beyond what the table's objects take.
const MOST_MEMORY: usize = 64 << 20;
/// Processor time that a look may take; in a build without optimization.
const MOST_TIME: Duration = Duration::from_secs(1);

/// Memory and time are those of the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Processor time of the process so far; where the system does not tell, time as it passes.
fn time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let ticks = fs::read_to_string("/proc/self/stat").ok().and_then(|text| {
        // Behind the name, which may hold blanks: fields 14 and 15, in hundredths of a second.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    });
    ticks.map_or_else(|| START.elapsed(), |ticks| Duration::from_millis(ticks * 10))
}

/// What a hostile table did.
#[derive(Debug, PartialEq)]
enum Seen {
    /// Some way of reading gave this error, the first of them.
    Refused(ErrorKind, String),
    /// The rows came as they were written.
    Harmless,
    /// Rows came, and verification finds damage.
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
    let sound = Sound { forged: Forged::of(&store), written };
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
    sound_of(schema(), WriteOptions { preset, ..cut_by(tiny_cuts()) }, written)
}

impl Sound {
    /// Opens, reads and verifies these objects; holds them to the limits.
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
            let about_bytes = matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::NotFound);
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

    /// The first error, which must come.
    #[track_caller]
    fn refused(&self, what: &str, objects: &[(String, Vec<u8>)]) -> String {
        match self.look(what, objects) {
            Seen::Refused(_, text) => text,
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// The errors of every way to read, whether the rows are those that were written, and how much damage verification finds.
async fn read_all(store: Store, written: &RecordBatch) -> (Vec<Error>, bool, usize) {
    let table = match Table::open_store(store).await {
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
    let window = table.row_loader().get_rows(0, -1..=1).await;
    errors.extend(window.err());
    errors.extend(table.info().await.err());
    match table.verify(|_, _| {}).await {
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
    // Under whatever name: a hostile manifest may rename.
    read.columns().iter().all(|column| written.columns().contains(column))
}

/// How many cases of each outcome.
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

/// The edges of 64-bit numbers.
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

/// The edges of a number of so many bytes.
fn edges(width: usize) -> Vec<u64> {
    let most = u64::MAX >> (64 - 8 * width);
    let mut edges: Vec<u64> =
        EDGES.into_iter().filter(|edge| *edge <= most).chain([most / 2, most / 2 + 1, most - 1, most, 2, 255]).collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

// ------------------------------------------------------------------------------------------------------------- the manifest

/// The path to every value of some JSON.
fn paths(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| paths(value, format!("{path}/{name}"), found)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, value)| paths(value, format!("{path}/{at}"), found)),
        _ => {}
    }
    found.push(path);
}

#[test]
fn every_member_of_the_manifest_at_every_edge_harms_nobody() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let mut members = Vec::new();
    paths(&sound.forged.manifest, String::new(), &mut members);
    let (mut tally, mut numbers) = (Tally::default(), 0);
    let others = [json!(null), json!([]), json!({}), json!(""), json!(true), json!(-1), json!(1.5), json!("a")];
    for path in &members {
        let is_number = sound.forged.manifest.pointer(path).unwrap().is_number();
        numbers += usize::from(is_number);
        let values: Vec<Value> =
            if is_number { EDGES.iter().map(|edge| json!(edge)).chain(others.clone()).collect() } else { others.to_vec() };
        for value in values {
            let mut forged = sound.forged.clone();
            *forged.manifest.pointer_mut(path).unwrap() = value.clone();
            tally.add(&sound.look(&format!("manifest, {path} = {value}"), &forged.sealed()));
        }
        // Gone, where it is a member.
        if let Some((parent, name)) = path.rsplit_once('/') {
            let mut forged = sound.forged.clone();
            if let Some(members) = forged.manifest.pointer_mut(parent).and_then(Value::as_object_mut) {
                members.remove(name);
                tally.add(&sound.look(&format!("manifest without {path}"), &forged.sealed()));
            }
        }
    }
    println!("manifest: {} values, {numbers} of them numbers: {tally:?}", members.len());
    assert!(numbers > 40 && tally.refused > 500);
}

#[test]
fn wrong_statistics_change_no_answer() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let texts = [json!("zzz"), json!(""), json!(null)];
    let numbers = [json!(u64::MAX), json!(i64::MIN), json!(0), json!(1e308), json!(null)];
    for column in 0..3 {
        for value in if column == 0 { &texts[..] } else { &numbers[..] } {
            for bound in ["min", "max"] {
                let mut forged = sound.forged.clone();
                forged.manifest["segments"][0]["statistics"][column][bound] = value.clone();
                let what = format!("{bound} of column {column} = {value}");
                assert_eq!(sound.look(&what, &forged.sealed()), Seen::Harmless, "{what}");
            }
        }
        let mut forged = sound.forged.clone();
        forged.manifest["segments"][0]["statistics"].as_array_mut().unwrap().swap(column, (column + 1) % 3);
        sound.refused("statistics in another order", &forged.sealed());
    }
}

#[test]
fn a_manifest_that_is_deep_long_doubled_or_no_text_is_refused() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let json = serde_json::to_string(&sound.forged.manifest).unwrap();
    let with = |member: &str| format!("{},{member}}}", json.strip_suffix('}').unwrap()).into_bytes();
    let refused = |what: &str, bytes: &[u8], text: &str| {
        let error = sound.refused(what, &sound.forged.sealed_with(bytes));
        assert!(error.contains(text), "{what}: {error}");
    };
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    refused("deep arrays in a new member", &with(&format!("\"new\":{}", deep("[", "]"))), "recursion limit");
    refused(
        "deep objects",
        json.replace("\"properties\":{}", &format!("\"properties\":{{\"a\":{}}}", deep("{\"a\":", "}").replace(":}", ":0}")))
            .as_bytes(),
        "recursion limit",
    );
    refused("arrays that never end", "[".repeat(1_000_000).as_bytes(), "");
    refused("a member twice", &with("\"rows\":10"), "`rows` is there twice");
    refused("an unknown member twice", &with("\"new\":1,\"new\":2"), "`new` is there twice");
    refused(
        "a property twice",
        json.replace("\"properties\":{}", r#""properties":{"a":1,"\u0061":2}"#).as_bytes(),
        "`a` is there twice",
    );
    refused(
        "an unknown read feature",
        json.replace("\"read_features\":[]", "\"read_features\":[\"views\"]").as_bytes(),
        "read feature `views`",
    );
    refused("another format", json.replace("\"format\":1", "\"format\":2").as_bytes(), "format 2");
    refused(
        "another store",
        json.replace("\"stores\":[]", "\"stores\":[{\"url\":\"http://127.0.0.1\"}]").as_bytes(),
        "other tables",
    );
    refused("a number with a fraction", json.replace("\"rows\":10", "\"rows\":10.0").as_bytes(), "manifest");
    refused(
        "a number of a thousand digits",
        json.replace("\"rows\":10", &format!("\"rows\":{}", "9".repeat(1000))).as_bytes(),
        "manifest",
    );
    refused("a mark before the JSON", &[b"\xef\xbb\xbf", json.as_bytes()].concat(), "manifest");
    refused(
        "no UTF-8 in a name",
        &[
            json.split("camera.pose").next().unwrap().as_bytes(),
            b"\xff\xfe",
            json.split_once("camera.pose").unwrap().1.as_bytes(),
        ]
        .concat(),
        "manifest",
    );
    refused("half a surrogate in a name", json.replace("camera.pose", "\\ud83d").as_bytes(), "manifest");
    let long = "n".repeat(10 << 20);
    for (what, from) in [
        ("column", "camera.pose"),
        ("group", "\"name\":\"lidar\""),
        ("type", "f32[?,4]"),
        ("feature", "\"read_features\":[]"),
        ("uuid", "\"table\":\""),
    ] {
        let to = match what {
            "group" => format!("\"name\":\"{long}\""),
            "feature" => format!("\"read_features\":[\"{long}\"]"),
            "uuid" => format!("\"table\":\"{long}"),
            _ => long.clone(),
        };
        refused(&format!("a {what} of 10 MiB"), json.replace(from, &to).as_bytes(), "");
    }
    // What nobody has to understand may be long.
    let harmless = with(&format!("\"new\":\"{long}\""));
    assert_eq!(sound.look("an unknown member of 10 MiB", &sound.forged.sealed_with(&harmless)), Seen::Harmless);
}

#[test]
fn very_many_columns_with_scattered_ids_are_looked_up_quickly() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let mut forged = sound.forged.clone();
    let schema = &mut forged.manifest["schema"];
    let mut ids: Vec<u32> = (10..60_010).collect();
    ids.reverse();
    let index = schema["index"].as_array_mut().unwrap();
    index.extend(ids.iter().map(|id| json!(id)));
    let columns = schema["columns"].as_array_mut().unwrap();
    columns.extend(ids.iter().map(|id| json!({"id": id, "name": format!("c{id}"), "type": "i64"})));
    sound.refused("60,000 index columns", &forged.sealed());
}

// -------------------------------------------------------------------------------------------------------------- the segments

#[test]
fn every_column_of_a_layout_at_every_edge_harms_nobody() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let mut tally = Tally::default();
    for group in 0..3 {
        let rows = sound.forged.layout(group);
        let mut look = |what: String, rows: &[LayoutRow]| {
            let mut forged = sound.forged.clone();
            forged.set_layout(group, rows);
            tally.add(&sound.look(&format!("layout of group {group}: {what}"), &forged.sealed()));
        };
        for run in [0, rows.len() - 1] {
            type Set = fn(&mut LayoutRow, u64);
            let fields: [(&str, usize, Set); 7] = [
                ("owner", 4, |row, value| row.owner = value as u32),
                ("chunk_bytes", 8, |row, value| row.chunk_bytes = value),
                ("seed", 8, |row, value| row.seed = value),
                ("first_block", 4, |row, value| row.first_block = value as u32),
                ("blocks", 4, |row, value| row.blocks = value as u32),
                ("first_offset", 8, |row, value| row.first_offset = value),
                ("rows", 8, |row, value| row.rows = value),
            ];
            for (name, width, set) in fields {
                for value in edges(width) {
                    let mut changed = rows.clone();
                    set(&mut changed[run], value);
                    look(format!("{name} of run {run} = {value}"), &changed);
                }
            }
            for (name, node) in [
                ("lengths", (|row| &mut row.lengths) as fn(&mut LayoutRow) -> &mut Vec<u8>),
                ("block_rows", |row| &mut row.block_rows),
            ] {
                for value in edges(4) {
                    let mut changed = rows.clone();
                    node(&mut changed[run])[..4].copy_from_slice(&(value as u32).to_le_bytes());
                    look(format!("base of {name} of run {run} = {value}"), &changed);
                }
                for width in [0, 1, 7, 8, 31, 32, 33, 64, 255] {
                    let mut changed = rows.clone();
                    node(&mut changed[run])[4] = width;
                    look(format!("width of {name} of run {run} = {width}"), &changed);
                }
                for len in 0..node(&mut rows.clone()[run]).len() {
                    let mut changed = rows.clone();
                    node(&mut changed[run]).truncate(len);
                    look(format!("{name} of run {run} cut to {len}"), &changed);
                }
                let mut changed = rows.clone();
                node(&mut changed[run]).push(0);
                look(format!("{name} of run {run} with a byte more"), &changed);
            }
            for at in 0..rows[run].chains.len() {
                for value in [0, 1, 2, 3, 4, 5, 9, 127, 128, 255] {
                    let mut changed = rows.clone();
                    changed[run].chains[at] = value;
                    look(format!("byte {at} of the chains of run {run} = {value}"), &changed);
                }
            }
        }
    }
    println!("layouts: {tally:?}");
    assert!(tally.refused > 300);
}

#[test]
fn runs_that_overlap_go_backwards_or_claim_very_many_blocks_harm_nobody() {
    let _alone = alone();
    let mut rng = Rng(common::seed());
    let written = rows_of(&schema(), &mut rng, &[("a", 25), ("b", 1), ("c", 34)], Taste::NOISE);
    let sound = sound_of(schema(), cut_by(tiny_cuts()), written);
    let rows = sound.forged.layout(1);
    assert!(rows.len() >= 2, "{} runs", rows.len());
    let node = |numbers: &[u32]| {
        let mut bytes = Vec::new();
        PackedLengths::write(numbers, &mut bytes);
        bytes
    };
    let look = |what: &str, rows: &[LayoutRow]| {
        let mut forged = sound.forged.clone();
        forged.set_layout(1, rows);
        sound.look(what, &forged.sealed())
    };
    let mut backwards = rows.clone();
    backwards.reverse();
    assert_ne!(look("runs in reverse", &backwards), Seen::Harmless);
    let mut twice = rows.clone();
    twice[1] = LayoutRow { rows: rows[1].rows, ..rows[0].clone() };
    look("the first run twice", &twice);
    assert!(matches!(look("a run more", &[&rows[..], &rows[..1]].concat()), Seen::Refused(..)));
    assert!(matches!(look("a run less", &rows[1..]), Seen::Refused(..)));
    assert!(matches!(look("no run", &[]), Seen::Refused(..)));
    // Two runs over the same bytes: blocks of the one within the other.
    let mut overlapping = rows.clone();
    overlapping[0].first_offset -= 8;
    assert!(matches!(look("a run that begins 8 bytes early", &overlapping), Seen::Refused(..)));

    let claim = |blocks: u32, rows_claimed: u64| {
        let mut claiming = rows.clone();
        claiming[0] = LayoutRow {
            blocks,
            rows: rows_claimed,
            lengths: node(&[1]),
            block_rows: node(&[1]),
            chunk_bytes: 1 << 30,
            first_offset: 0,
            ..rows[0].clone()
        };
        claiming
    };
    for blocks in [1 << 20, (1 << 27) - 1, u32::MAX] {
        assert!(matches!(look("one-row blocks without number", &claim(blocks, u64::from(blocks))), Seen::Refused(..)));
        assert!(matches!(look("blocks without rows", &claim(blocks, 60)), Seen::Refused(..)));
    }
    // The table claims as many rows, so that the layout is asked for all of them.
    let mut forged = sound.forged.clone();
    forged.set_layout(1, &claim(u32::MAX, u64::from(u32::MAX))[..1]);
    for path in ["/rows", "/segments/0/rows"] {
        *forged.manifest.pointer_mut(path).unwrap() = json!(4 << 20);
    }
    sound.refused("4 Mi rows in very many blocks", &forged.sealed());
    let mut forged = sound.forged.clone();
    forged.set_object("/groups/1/layout", write_layout(&vec![rows[0].clone(); 300_000]));
    sound.refused("300,000 runs for ten rows", &forged.sealed());
}

#[test]
fn an_index_whose_sequences_are_cut_wrong_or_missing_is_found() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let columns = columns_of(&sound.forged.object("/index"));
    let look = |what: &str, columns: Vec<(String, ArrayRef, bool)>, metadata: &[(&str, &str)]| {
        let mut forged = sound.forged.clone();
        forged.set_object("/index", parquet_of(columns, metadata));
        sound.look(what, &forged.sealed())
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let runs = |runs: &[u32]| {
        let mut bytes = (runs.len() as u64).to_le_bytes().to_vec();
        PackedLengths::write(runs, &mut bytes);
        bytes
    };
    const KEY: &str = "tetrys.sequences";
    let right = runs(&[5, 1, 4]);
    let mut tally = Tally::default();
    assert_eq!(look("as it was", columns.clone(), &[(KEY, &hex(&right))]), Seen::Harmless);
    for (what, text) in [
        ("upper case", hex(&right).to_uppercase()),
        ("half a byte more", hex(&right) + "0"),
        ("a byte more", hex(&right) + "00"),
        ("no hexadecimal", "zz".repeat(right.len())),
        ("a plus", "+1".repeat(right.len())),
        ("not ASCII", "é".repeat(right.len())),
        ("empty", String::new()),
        ("10 MiB of zeros", "0".repeat(10 << 20)),
    ] {
        assert!(matches!(look(what, columns.clone(), &[(KEY, &text)]), Seen::Refused(..)), "{what}");
    }
    assert!(matches!(look("no metadata", columns.clone(), &[]), Seen::Refused(..)));
    for len in 0..right.len() {
        assert!(matches!(look("cut", columns.clone(), &[(KEY, &hex(&right[..len]))]), Seen::Refused(..)));
    }
    for count in EDGES {
        let text = hex(&[&count.to_le_bytes()[..], &right[8..]].concat());
        tally.add(&look(&format!("{count} runs"), columns.clone(), &[(KEY, &text)]));
    }
    for base in edges(4) {
        let text = hex(&[&right[..8], &(base as u32).to_le_bytes()[..], &right[12..]].concat());
        tally.add(&look(&format!("base {base}"), columns.clone(), &[(KEY, &text)]));
    }
    for width in 0..=255 {
        let text = hex(&[&right[..12], &[width], &right[13..]].concat());
        tally.add(&look(&format!("width {width}"), columns.clone(), &[(KEY, &text)]));
    }
    assert!(tally.harmless <= 2, "{tally:?}");
    // Runs that add up, and are not those of the values: only whoever compares them sees it.
    for wrong in [&[4, 2, 4][..], &[5, 2, 3], &[1, 1, 8]] {
        let mut forged = sound.forged.clone();
        forged.set_object("/index", parquet_of(columns.clone(), &[(KEY, &hex(&runs(wrong)))]));
        let (raw, store) = memory();
        let verified = block_on(async {
            for (name, bytes) in forged.sealed() {
                overwrite(&*raw, &name, &bytes).await;
            }
            Table::open_store(store).await.unwrap().verify(|_, _| {}).await.unwrap()
        });
        assert!(verified.damage.iter().any(|damage| damage.problem.contains("starts at row")), "{verified:?}");
    }

    // Other shapes of Parquet.
    let metadata = [(KEY, hex(&right))];
    let metadata: Vec<(&str, &str)> = metadata.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let slice = |from: usize, len: usize| {
        columns.iter().map(|(name, array, nullable)| (name.clone(), array.slice(from, len), *nullable)).collect::<Vec<_>>()
    };
    for (what, columns) in [
        ("a row less", slice(0, 9)),
        ("no row", slice(0, 0)),
        ("a column less", columns[..2].to_vec()),
        ("a column more", [&columns[..], &[("more".to_owned(), columns[1].1.clone(), true)]].concat()),
        ("columns in another order", vec![columns[1].clone(), columns[0].clone(), columns[2].clone()]),
        ("another type", vec![columns[0].clone(), ("time".to_owned(), columns[0].1.clone(), true), columns[2].clone()]),
        (
            "no UTF-8",
            vec![
                ("log".to_owned(), Arc::new(LargeBinaryArray::from_iter_values(vec![b"\xff\xfe"; 10])) as ArrayRef, true),
                columns[1].clone(),
                columns[2].clone(),
            ],
        ),
    ] {
        assert!(matches!(look(what, columns, &metadata), Seen::Refused(..)), "{what}");
    }
    println!("sequences: {tally:?}");
}

#[test]
fn parquet_that_unfolds_is_stopped() {
    let _alone = alone();
    let sound = sound(Preset::Balanced);
    let look = |what: &str, path: &str, bytes: Vec<u8>| {
        assert!(bytes.len() < 4 << 20, "{what}: {} bytes", bytes.len());
        let mut forged = sound.forged.clone();
        forged.set_object(path, bytes);
        sound.look(what, &forged.sealed())
    };
    let refused =
        |what: &str, path: &str, bytes: Vec<u8>| assert!(matches!(look(what, path, bytes), Seen::Refused(..)), "{what}");
    // Rows are read without hashes.
    let reported = |what: &str, path: &str, bytes: Vec<u8>| assert_eq!(look(what, path, bytes), Seen::Reported, "{what}");
    const MANY: usize = 4 << 20;
    let zeros: ArrayRef = Arc::new(Int64Array::from(vec![0; MANY]));
    let text: ArrayRef = Arc::new(LargeStringArray::from(vec![""; MANY]));
    let weights: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![0.0; MANY]));
    let index = parquet_of(
        vec![("log".to_owned(), text, true), ("time".to_owned(), zeros, true), ("weight".to_owned(), weights, true)],
        &[],
    );
    refused("an index of 4 Mi rows for ten", "/index", index);
    let same: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(32, vec![7; 32 * (MANY >> 3)].into(), None).unwrap());
    reported("hashes of very many blocks", "/groups/0/hashes", parquet_of(vec![("hash".to_owned(), same, false)], &[]));
    let nothing: ArrayRef = Arc::new(FixedSizeBinaryArray::try_new(32, Vec::<u8>::new().into(), None).unwrap());
    reported("no hash", "/groups/0/hashes", parquet_of(vec![("hash".to_owned(), nothing, false)], &[]));
    for bytes in [
        Vec::new(),
        b"PAR1".to_vec(),
        b"PAR1\0\0\0\0PAR1".to_vec(),
        b"PAR1\xff\xff\xff\x7fPAR1".to_vec(),
        b"PAR1\xff\xff\xff\xffPAR1".to_vec(),
        vec![0; 1 << 20],
    ] {
        for path in ["/index", "/groups/0/layout"] {
            refused("hardly any Parquet", path, bytes.clone());
        }
        reported("hardly any Parquet", "/groups/0/hashes", bytes);
    }
}

// ---------------------------------------------------------------------------------------------------------------- the chunks

/// The numbers of a chunk: what each is, where it lies, how many bytes it takes.
fn numbers_of(chunk: &[u8]) -> Vec<(String, usize, usize)> {
    let header = ChunkHeader::parse(chunk).unwrap();
    let directory = ChunkDirectory::parse(chunk, &header).unwrap();
    let u32_at = |at: usize| u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
    let mut found: Vec<(String, usize, usize)> =
        [("version", 8, 2), ("reserved", 10, 2), ("header_len", 12, 4), ("seed", 16, 8), ("columns", 24, 4)]
            .map(|(name, at, width)| (name.to_owned(), at, width))
            .to_vec();
    let mut at = 28;
    for (column, (ty, _)) in header.columns.iter().enumerate() {
        found.push((format!("type length of column {column}"), at, 2));
        at += 2 + ty.to_string().len();
        let steps = usize::from(chunk[at]);
        found.push((format!("steps of column {column}"), at, 1));
        for step in 0..steps {
            found.push((format!("codec of step {step} of column {column}"), at + 1 + 2 * step, 1));
            found.push((format!("parameter of step {step} of column {column}"), at + 2 + 2 * step, 1));
        }
        at += 1 + 2 * steps;
    }
    let trailer = chunk.len() - 24;
    found.extend([
        ("directory offset".to_owned(), trailer, 8),
        ("blocks".to_owned(), trailer + 8, 8),
        ("end magic".to_owned(), trailer + 16, 8),
    ]);
    let (offset, count) = (u32_at(trailer), directory.blocks.len());
    for number in [0, count - 1] {
        found.push((format!("length of block {number}"), offset + 4 * number, 4));
        found.push((format!("rows of block {number}"), offset + 4 * (count + number), 4));
        let (place, _) = &directory.blocks[number];
        let block = bytes::Bytes::copy_from_slice(&chunk[place.clone()]);
        let pages = BlockDirectory::parse(&block, header.seed, number as u32, header.columns.len()).unwrap().pages;
        found.push((format!("rows in block {number}"), place.start, 4));
        found.push((format!("pages of block {number}"), place.start + 4, 4));
        for (page, range) in pages.iter().enumerate() {
            let name = format!("page {page} of block {number}");
            found.push((format!("length of {name}"), place.start + 8 + 4 * page, 4));
            let start = place.start + range.start;
            for (what, at, width) in [
                ("structure_len", 0, 4),
                ("values_stored_len", 4, 4),
                ("values_len", 8, 4),
                ("flags", 12, 1),
                ("reserved", 13, 1),
            ] {
                found.push((format!("{what} of {name}"), start + at, width));
            }
            // Validity kinds, bases, widths and bits: each byte of the structure, and each four.
            let structure = u32_at(start);
            for at in 0..structure {
                found.push((format!("byte {at} of the structure of {name}"), start + 16 + at, 1));
                if at + 4 <= structure {
                    found.push((format!("bytes {at}.. of the structure of {name}"), start + 16 + at, 4));
                }
            }
            let values = start + 16 + structure.next_multiple_of(8);
            found.extend((0..u32_at(start + 4).min(12)).map(|at| (format!("byte {at} of the values of {name}"), values + at, 1)));
        }
    }
    found
}

#[test]
fn every_number_of_a_chunk_at_every_edge_harms_nobody() {
    let _alone = alone();
    let mut cases = 0;
    for preset in [Preset::Balanced, Preset::Fast] {
        let sound = sound(preset);
        let (mut tally, mut fields) = (Tally::default(), 0);
        for group in 0..3 {
            let run = 0;
            let chunk = sound.forged.chunk(&sound.forged.layout(group)[run]);
            for (name, at, width) in numbers_of(&chunk) {
                fields += 1;
                for value in edges(width) {
                    if width == 1 && !common::full() && ![0, 1, 2, 3, 4, 32, 127, 128, 255].contains(&value) {
                        continue;
                    }
                    let mut bytes = chunk.clone();
                    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
                    sign_chunk(&mut bytes);
                    let mut forged = sound.forged.clone();
                    forged.set_chunk(group, run, bytes);
                    tally.add(&sound.look(&format!("{preset}, chunk of group {group}: {name} = {value}"), &forged.sealed()));
                }
            }
        }
        println!("{preset}: {fields} numbers in chunks: {tally:?}");
        cases += tally.refused + tally.harmless + tally.reported;
    }
    assert!(cases > 3000, "{cases}");
}

// ------------------------------------------------------------------------------------------------------------------- bombs

/// A table of one row whose page is the given one, under the chain.
fn one_page(ty: &str, chain: &[u8], page: Vec<u8>) -> (Sound, Vec<(String, Vec<u8>)>) {
    let schema = Schema::builder().index("time", "i64").group("g", [("g.value", ty)]).build().unwrap();
    let mut rng = Rng(1);
    let columns = schema
        .columns()
        .iter()
        .map(|column| (column.name.clone(), tables::column(&mut rng, &column.ty, 1, Taste { nulls: 0, ..Taste::SMALL })));
    let written = RecordBatch::try_from_iter(columns).unwrap();
    let sound = sound_of(schema, WriteOptions::default(), written);
    let seed = 7_u64;
    let mut chunk = Vec::new();
    chunk.extend(b"TETRYSCH");
    chunk.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    chunk.extend(seed.to_le_bytes());
    chunk.extend(1_u32.to_le_bytes());
    chunk.extend((ty.len() as u16).to_le_bytes());
    chunk.extend(ty.as_bytes());
    chunk.extend(chain);
    chunk.resize(chunk.len().next_multiple_of(8) + 8, 0);
    let header = chunk.len();
    chunk[12..16].copy_from_slice(&(header as u32).to_le_bytes());
    chunk.extend([1_u32, 1, page.len() as u32 + 8, 0].map(u32::to_le_bytes).concat());
    chunk.extend([0; 8]);
    chunk.extend(&page);
    chunk.extend([0; 8]);
    let (end, block) = (chunk.len(), chunk.len() - header);
    chunk.extend([block as u32 / 8, 1].map(u32::to_le_bytes).concat());
    chunk.extend([0; 8]);
    chunk.extend([end as u64, 1].map(u64::to_le_bytes).concat());
    chunk.extend(b"TETRYSND");
    sign_chunk(&mut chunk);
    let mut forged = sound.forged.clone();
    let mut row = forged.layout(0)[0].clone();
    (row.seed, row.chains, row.first_offset) = (seed, chain.to_vec(), header as u64);
    row.lengths[..4].copy_from_slice(&(block as u32 / 8).to_le_bytes());
    forged.set_layout(0, &[row]);
    forged.set_chunk(0, 0, chunk);
    let objects = forged.sealed();
    (sound, objects)
}

/// A page less its checksum; `values_len` is a claim.
fn page(structure: &[u8], stored: &[u8], values_len: u32) -> Vec<u8> {
    let mut page: Vec<u8> = [structure.len() as u32, stored.len() as u32, values_len, 0].map(u32::to_le_bytes).concat();
    page.extend(structure);
    page.resize(page.len().next_multiple_of(8), 0);
    page.extend(stored);
    page.resize(page.len().next_multiple_of(8), 0);
    page
}

/// Validity: all there; then one length, or extent.
fn one(length: u32) -> Vec<u8> {
    [&[0][..], &length.to_le_bytes(), &[0]].concat()
}

#[test]
fn a_page_that_claims_more_than_its_bytes_can_give_is_refused_before_memory_is_taken() {
    let _alone = alone();
    const GIB: u32 = 1 << 30;
    let frame = zstd::bulk::compress(&[0; 100], 3).unwrap();
    let lz4 = lz4_flex::block::compress(&[0; 100]);
    for (chain, stored, text) in [
        (&[1, 3, 3][..], &frame, "zstd: 1073741824 bytes from a frame of"),
        (&[1, 2, 0], &lz4, "lz4: 1073741824 bytes from a block of"),
        (&[2, 1, 4, 3, 3], &frame, "zstd: 1073741824"),
    ] {
        for (ty, structure) in [
            ("binary", one(GIB)),
            ("utf8", one(GIB)),
            ("u8[?]", one(GIB)),
            ("list<bool>", [one(GIB), vec![0]].concat()),
            ("list<list<u8>>", [one(GIB), one(1), vec![0]].concat()),
            ("list<list<u8>>", [one(GIB), vec![2, 1, 0, 0, 0, 0], vec![2]].concat()),
        ] {
            let (sound, objects) = one_page(ty, chain, page(&structure, stored, GIB));
            let error = sound.refused(ty, &objects);
            assert!(error.contains(text), "{ty}: {error}");
        }
    }
    // A claim within what the bytes could give is followed no further than the bytes go.
    for claim in [frame.len() as u32 * (32 << 10), 1 << 20, 101] {
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(claim), &frame, claim));
        sound.refused("more than the frame gives", &objects);
    }
    // A frame that gives a gibibyte, and a page that says it gives one: the decoder stops at what the page says.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    for _ in 0..1 << 10 {
        std::io::Write::write_all(&mut encoder, &vec![0; 1 << 20]).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 200 << 10, "{}", bomb.len());
    for claim in [bomb.len() as u32 + 1, 1 << 20] {
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(claim), &bomb, claim));
        let error = sound.refused("a gibibyte of zeros", &objects);
        assert!(error.contains("zstd"), "{error}");
    }
    // What a frame's header says of its size is no better than any other claim.
    for claimed in [0_u64, 1 << 31, 1 << 53, u64::MAX - 2] {
        let mut lying = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1110_0000];
        lying.extend(claimed.to_le_bytes());
        lying.extend([0b0000_0011, 0, 0x10, 7]);
        let (sound, objects) = one_page("binary", &[1, 3, 3], page(&one(4096), &lying, 4096));
        sound.refused("a frame that lies about its size", &objects);
    }
}

#[test]
fn slots_that_take_no_bytes_are_bounded_in_number_and_counted_quickly() {
    let _alone = alone();
    let zeros = |count: u32| [&[0][..], &count.to_le_bytes(), &[0]].concat();
    for (ty, structure) in [
        ("list<utf8>", [zeros(u32::MAX), zeros(0)].concat()),
        ("list<utf8>", [zeros((1 << 20) + 1), zeros(0)].concat()),
        ("list<f32[?,?,0]>", [zeros(u32::MAX), vec![0], zeros(7)[1..].to_vec(), zeros(7)[1..].to_vec()].concat()),
        ("list<list<list<u8>>>", [zeros(1 << 20), zeros(1 << 20), zeros(1 << 20), vec![0]].concat()),
        (
            "u8[?,?,?]",
            [vec![0], zeros(u32::MAX)[1..].to_vec(), zeros(u32::MAX)[1..].to_vec(), zeros(u32::MAX)[1..].to_vec()].concat(),
        ),
    ] {
        let (sound, objects) = one_page(ty, &[0], page(&structure, &[], 0));
        sound.refused(ty, &objects);
    }
    // A mebi of empty texts, and of empty tensors: as many as a page may claim without a byte of values.
    for (ty, structure) in [
        ("list<utf8>", [zeros(1 << 20), zeros(0)].concat()),
        ("list<u8[?,?]>", [zeros(1 << 20), vec![0], zeros(0)[1..].to_vec(), zeros(9)[1..].to_vec()].concat()),
    ] {
        let (sound, objects) = one_page(ty, &[0], page(&structure, &[], 0));
        assert_eq!(sound.look(ty, &objects), Seen::Reported, "{ty}");
    }
}

#[test]
fn a_tensor_of_500_mb_of_zeros_comes_back() {
    if !common::full() {
        return common::skip("a tensor of 500 MB: TETRYS_FULL=1 runs it");
    }
    let _alone = alone();
    let schema = Schema::builder().index("time", "i64").group("g", [("g.zeros", "u8[?]")]).build().unwrap();
    for preset in [Preset::Fast, Preset::Balanced, Preset::Compact] {
        let bytes = 500_000_000;
        let data = arrow_array::LargeListArray::new(
            Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt8, true)),
            arrow_buffer::OffsetBuffer::from_lengths([bytes]),
            Arc::new(arrow_array::UInt8Array::from(vec![0; bytes])),
            None,
        );
        let shape = arrow_array::FixedSizeListArray::new(
            Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::Int32, true)),
            1,
            Arc::new(arrow_array::Int32Array::from(vec![bytes as i32])),
            None,
        );
        let arrow_schema::DataType::Struct(fields) = schema.columns()[1].ty.arrow() else { panic!("a tensor") };
        let tensor = arrow_array::StructArray::new(fields, vec![Arc::new(data), Arc::new(shape)], None);
        let time: ArrayRef = Arc::new(Int64Array::from(vec![0]));
        let written = RecordBatch::try_from_iter([("time", time), ("g.zeros", Arc::new(tensor))]).unwrap();
        let (_, store) = memory();
        let options = WriteOptions { preset, ..WriteOptions::default() };
        let table = block_on(tables::write(store, schema.clone(), options, std::slice::from_ref(&written))).unwrap();
        let row = block_on(table.row_loader().get_rows(0, 0..=0)).unwrap();
        tables::assert_rows(&row, &written, &[Some(0)]);
    }
}
