//! Measures tables of very many rows, partitions and versions: memory and time of the index, of a commit, and of the history.
//!
//! ```sh
//! cargo bench -p tetrys --bench scale                    # sizes of the table in benches/README.md; 40 GB of disk
//! cargo bench -p tetrys --bench scale -- rows=2000000 receipts=10000 versions=1000 only=frame,receipts,versions python=python3
//! cargo bench -p tetrys --bench scale -- merge=100000000 asof=10000000 only=merge    # tables of 3 index columns; 12 GB of disk
//! ```
//!
//! `only=petabyte` prints the tables of docs/guide/scale.md: the bytes of every kind of object, and the requests and bytes of every
//! operation, of a table with 1 MB of payload in each row, and what they are at 10^9 rows. A counting object store counts them.
//!
//! Layouts, hashes and index segments are real: the crate writes them. Their contents are synthetic, and there is no payload:
//! no chunk exists, because none of the figures reads one. Only `versions` writes small tables whole, by real appends.
//!
//! Each figure runs in a process of its own, which does nothing else, on a local disk with a warm page cache. `peak` is the most
//! memory of the process above what it had before (`VmHWM` minus `VmRSS`). With `python=`, a Python with pyarrow and DuckDB reads
//! the same Parquet files, and the figure is a ratio within the run. With `table=PATH`, the table of the frame is kept there, and
//! later runs use it.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, Float32Array, Int64Array, LargeStringArray, RecordBatch};
use object_store::local::LocalFileSystem;
use tetrys::{
    Merge, Pick, Preset, Receipt, Schema, Store, Table, ViewOptions, WriteOptions,
    codec::Chain,
    commit::{self, SegmentIndex},
    format::{
        ChunkSeed, ColumnBytes, GroupSegment, HashesWriter, IndexWriter, LayoutRun, LayoutWriter, MAX_SEGMENT_ROWS, Manifest,
        PackedLengths, Segment, SequenceTracker,
    },
    id::{ChunkId, Hash, ObjectRef},
    schema::BLOOM_FILTER,
    store::{CountingStore, Counts},
    table::{Cuts, GcSettings, IndexRequest, Reuse, Storage, now_ms},
    write::{PartGroup, PartObjects},
};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of a recording.
const LOG: u64 = 3_000;
/// Stored bytes of a row of payload, which does not exist.
const PAYLOAD: u32 = 80_000;
/// The same, for the petabyte plan: 10^9 rows are 1 PB.
const MEGABYTE: u32 = 1_000_000;
const BILLION: f64 = 1e9;
/// The index columns of the frame: 2 texts, 4 i64, 6 f32.
const FLOATS: [&str; 6] = ["speed", "yaw", "x", "y", "z", "score"];

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [figure, url] = arguments.as_slice()
        && !figure.contains('=')
    {
        return runtime.block_on(measure(figure, url));
    }
    let mut given = BTreeMap::new();
    for argument in &arguments {
        let (name, value) = argument.split_once('=').ok_or_else(|| format!("{argument}: expected name=value"))?;
        given.insert(name.to_owned(), value.to_owned());
    }
    let number =
        |name: &str, otherwise: u64| given.get(name).map_or(Ok(otherwise), |value| value.replace('_', "").parse::<u64>());
    let (rows, receipts, each) = (number("rows", 20_000_000)?, number("receipts", 100_000)?, number("each", 100)?);
    let versions = number("versions", 10_000)?;
    let (merged, asof) = (number("merge", 100_000_000)?, number("asof", 10_000_000)?);
    let wanted = |figure: &str| given.get("only").is_none_or(|only| only.split(',').any(|one| one == figure));
    let folder = match given.get("folder") {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let url = |name: &str| folder.path().join(name).display().to_string();
    println!("| figure | seconds | result |\n|---|---|---|");
    if wanted("frame") {
        // A table that is kept is generated once.
        let table = given.get("table").cloned().unwrap_or_else(|| url("frame"));
        let start = Instant::now();
        if !Path::new(&table).exists() {
            runtime.block_on(generate(&table, rows, PAYLOAD))?;
        }
        let generated = runtime.block_on(Table::open(&table))?;
        let bytes = generated.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>();
        let (rows, each) = (generated.rows(), bytes as f64 / generated.rows() as f64);
        print_figure("generate", start.elapsed(), &format!("{rows} rows, index of {each:.1} B a row"));
        for figure in ["open", "first", "columns", "all", "text", "scan", "where"] {
            child(figure, &table)?;
        }
        if let Some(python) = given.get("python") {
            peers(python, &Path::new(&table).join("index"))?;
            child("where", &table)?;
        }
        for figure in ["key", "filters", "key"] {
            child(figure, &table)?;
        }
        if !given.contains_key("table") {
            fs::remove_dir_all(&table)?;
        }
    }
    // Only if it is asked for by name.
    if given.contains_key("only") && wanted("petabyte") {
        let table = url("petabyte");
        runtime.block_on(generate(&table, rows, MEGABYTE))?;
        child("petabyte", &table)?;
        fs::remove_dir_all(&table)?;
    }
    if wanted("receipts") {
        let (table, parts) = (url("receipts"), folder.path().join("receipts.json"));
        child_of(&["receipts", &table, &parts.display().to_string(), &receipts.to_string(), &each.to_string()])?;
        fs::remove_dir_all(&table)?;
    }
    if wanted("merge") {
        let (left, right, seldom) = (url("left"), url("right"), url("seldom"));
        let shuffled = url("shuffled");
        let start = Instant::now();
        runtime.block_on(generate_keys(&left, merged, 1, "speed", Order::Forward))?;
        runtime.block_on(generate_keys(&right, merged, 1, "label", Order::Backward))?;
        runtime.block_on(generate_keys(&seldom, asof, (merged / asof).max(1), "label", Order::Backward))?;
        runtime.block_on(generate_keys(&shuffled, asof, 1, "label", Order::Shuffled))?;
        print_figure("generate tables to merge", start.elapsed(), &format!("{merged} x {merged} and {asof} rows of 3 columns"));
        for (name, right, how) in [
            ("merge by (log, time)", &right, "keys"),
            ("as-of merge", &seldom, "asof"),
            ("merge by (log, time) through files", &shuffled, "keys"),
        ] {
            let view = url("view");
            child_of(&["merge", &left, right, &view, how, name])?;
            fs::remove_dir_all(&view)?;
        }
        [left, right, seldom, shuffled].iter().try_for_each(fs::remove_dir_all)?;
    }
    if wanted("versions") {
        runtime.block_on(append(&url("versions"), versions))?;
        for figure in ["newest", "history", "garbage", "compact"] {
            child(figure, &url("versions"))?;
        }
    }
    Ok(())
}

fn print_figure(figure: &str, took: Duration, result: &str) {
    println!("| {figure} | {:.3} | {result} |", took.as_secs_f64());
}

/// Measures a figure in a process of its own.
fn child(figure: &str, url: &str) -> Outcome<()> {
    child_of(&[figure, url])
}

fn child_of(arguments: &[&str]) -> Outcome<()> {
    let ended = Command::new(std::env::current_exe()?).args(["figure", &arguments.join("\n")]).output()?;
    print!("{}", String::from_utf8_lossy(&ended.stdout));
    match ended.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", arguments[0], String::from_utf8_lossy(&ended.stderr)).into()),
    }
}

/// Measures a figure in this process.
async fn measure(figure: &str, what: &str) -> Outcome<()> {
    let what: Vec<&str> = if figure == "figure" { what.split('\n').collect() } else { vec![figure, what] };
    let (figure, url) = (what[0], what[1]);
    let memory = |choose: fn(IndexRequest) -> IndexRequest, name: &'static str| async move {
        let table = Table::open(url).await?;
        let before = status("VmRSS:")?;
        fs::write("/proc/self/clear_refs", "5")?;
        let start = Instant::now();
        let index = choose(table.index()).await?;
        let (took, peak) = (start.elapsed(), status("VmHWM:")?.saturating_sub(before));
        let memory = index.memory();
        let (bytes, rows) = (memory.bytes() as f64, memory.rows as f64);
        print_figure(
            name,
            took,
            &format!(
                "{:.2} B a row, of which locators {:.2}; peak {:.3} of the frame; {:.1} M rows/s",
                bytes / rows,
                memory.locator_bytes as f64 / rows,
                peak as f64 / bytes,
                rows / took.as_secs_f64() / 1e6
            ),
        );
        Outcome::Ok(())
    };
    match figure {
        "open" => {
            let start = Instant::now();
            let table = Table::open(url).await?;
            print_figure(
                "open",
                start.elapsed(),
                &format!("{} rows, {} segments", table.rows(), table.storage().segment_count()),
            );
        }
        "columns" => {
            let four = |request: IndexRequest| request.columns(["log_id", "time", "speed", "yaw"]).categorical();
            memory(four, "index, 4 of 12 columns").await?;
        }
        "all" => memory(IndexRequest::categorical, "index, 12 columns, text categorical").await?,
        "text" => memory(|request| request, "index, 12 columns").await?,
        "scan" => {
            let table = Table::open(url).await?;
            let before = status("VmRSS:")?;
            fs::write("/proc/self/clear_refs", "5")?;
            let (start, mut scan, mut rows) = (Instant::now(), table.scan_index()?, 0);
            while let Some(part) = scan.next().await? {
                rows += part.frame(["time", "speed"], true)?.height();
            }
            let peak = status("VmHWM:")?.saturating_sub(before);
            print_figure("scan of 2 columns", start.elapsed(), &format!("{rows} rows; peak {:.0} MB", peak as f64 / 1e6));
        }
        "first" => {
            let before = status("VmRSS:")?;
            fs::write("/proc/self/clear_refs", "5")?;
            let start = Instant::now();
            let table = Table::open(url).await?;
            let row = table.rows() / 2;
            // The payload of the row does not exist: its place does.
            let found = table.row_loader().explain(row, 0..=0).await?;
            let peak = (status("VmHWM:")?.saturating_sub(before)) as f64 / 1e6;
            print_figure(
                "open, and find the payload of a row",
                start.elapsed(),
                &format!("{} range; peak {peak:.0} MB", found.requests),
            );
        }
        "where" => {
            let table = Table::open(url).await?;
            let before = status("VmRSS:")?;
            fs::write("/proc/self/clear_refs", "5")?;
            let start = Instant::now();
            let found = table.index().columns(["log_id", "time"]).filter_sql("agents = 7").await?.len();
            let (took, peak) = (start.elapsed(), status("VmHWM:")?.saturating_sub(before));
            let speed = table.rows() as f64 / took.as_secs_f64() / 1e6;
            print_figure(
                "where agents = 7, 2 columns",
                took,
                &format!("{found} rows; {speed:.1} M rows/s; peak {:.0} MB", peak as f64 / 1e6),
            );
        }
        "key" => {
            let table = Table::open(url).await?;
            let rows: Vec<u64> = (0..20).map(|case| table.rows() / 20 * case + case).collect();
            let request = |row: u64| table.index().columns(["log_id", "time"]).filter_sql(format!("id = {}", id(row)));
            let (mut bytes, mut groups) = (0, 0);
            for row in &rows {
                let explain = request(*row).explain().await?;
                (bytes, groups) = (bytes + explain.bytes, groups + explain.row_groups_read);
            }
            let start = Instant::now();
            for row in &rows {
                assert_eq!(request(*row).await?.len(), 1);
            }
            let (took, share) = (start.elapsed() / 20, bytes as f64 / 20.0);
            let of = table.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>() as f64;
            let filters = if table.schema().index().any(|column| column.has_bloom_filter()) { "with" } else { "without" };
            let result = format!(
                "{:.1} row groups, {:.1} MB, {:.2} % of the index",
                groups as f64 / 20.0,
                share / 1e6,
                100.0 * share / of
            );
            print_figure(&format!("where id = x, {filters} bloom filters"), took, &result);
        }
        "filters" => {
            let table = Table::open(url).await?;
            let table = table.edit().set_column_property("id", BLOOM_FILTER, Some(true.into())).commit().await?;
            let start = Instant::now();
            let next = table.storage().compact(MAX_SEGMENT_ROWS).await?;
            let bytes = |table: &Table| table.manifest().segments.iter().map(|segment| segment.index.bytes).sum::<u64>() as f64;
            let added = (bytes(&next) - bytes(&table)) / next.rows() as f64;
            print_figure("add bloom filters of id", start.elapsed(), &format!("{added:.2} B a row"));
        }
        "receipts" => {
            let (receipts, each): (u32, u64) = (what[3].parse()?, what[4].parse()?);
            commit_receipts(url, receipts, each).await?;
        }
        "petabyte" => petabyte(url).await?,
        "merge" => {
            let (left, right) = (Table::open(url).await?, Table::open(what[2]).await?);
            let merge = match what[4] {
                "asof" => Merge::on(["log_id"]).as_of("time", Pick::Nearest),
                _ => Merge::on(["log_id", "time"]),
            };
            let before = status("VmRSS:")?;
            fs::write("/proc/self/clear_refs", "5")?;
            let start = Instant::now();
            let options = ViewOptions { memory_limit: Some(1 << 30), ..ViewOptions::default() };
            let view = left.merge(&right, merge).save(what[3], &options).await?.table;
            let (took, peak) = (start.elapsed(), status("VmHWM:")?.saturating_sub(before));
            let (rows, of_left, of_right) = (view.rows(), left.rows(), right.rows());
            print_figure(what[5], took, &format!("{of_left} x {of_right}: {rows} rows; peak {:.0} MB", peak as f64 / 1e6));
        }
        "newest" => {
            Table::open(url).await?;
            let start = Instant::now();
            let table = Table::open(url).await?;
            print_figure(
                "open the newest version",
                start.elapsed(),
                &format!("version {}, {} segments", table.version(), table.storage().segment_count()),
            );
        }
        "history" => {
            let table = Table::open(url).await?;
            let start = Instant::now();
            let versions = table.versions().list().await?.len();
            print_figure(
                "history",
                start.elapsed(),
                &format!("{versions} versions; peak {:.0} MB", status("VmHWM:")? as f64 / 1e6),
            );
        }
        "garbage" => {
            let store = Store::open(url)?;
            let start = Instant::now();
            let settings = GcSettings { keep_versions: 10, age: Duration::ZERO };
            let plan = Storage::of(&store).plan_garbage(settings, now_ms() + 1).await?;
            let (objects, peak) = (plan.condemn.len(), status("VmHWM:")? as f64 / 1e6);
            print_figure(
                "plan of a garbage collection",
                start.elapsed(),
                &format!("condemns {objects} objects; peak {peak:.0} MB"),
            );
        }
        "compact" => {
            let table = Table::open(url).await?;
            let start = Instant::now();
            let next = table.storage().compact(MAX_SEGMENT_ROWS).await?;
            let (before, after) = (table.storage().segment_count(), next.storage().segment_count());
            print_figure("compact --index", start.elapsed(), &format!("{before} segments to {after}"));
        }
        other => return Err(format!("no figure `{other}`").into()),
    }
    Ok(())
}

/// Prints the bytes of every kind of object and the requests and bytes of every operation, of this table and at 10^9 rows.
async fn petabyte(url: &str) -> Outcome<()> {
    let counting = CountingStore::new(Arc::new(LocalFileSystem::new_with_prefix(url)?));
    let open = || Table::open_in(Store::new(Arc::new(counting.clone()), object_store::path::Path::default(), "memory://table"));
    let table = open().await?;
    let (manifest, rows) = (table.manifest(), table.rows());
    let factor = BILLION / rows as f64;
    let sum = |bytes: &dyn Fn(&Segment) -> u64| manifest.segments.iter().map(bytes).sum::<u64>();
    let segments = manifest.segments.len() as u64;
    // One segment of hashes is written; the others are as long for each block.
    let mut hashes = HashesWriter::new(Vec::new())?;
    let blocks = rows.min(MAX_SEGMENT_ROWS);
    hashes.write(&(0..blocks).map(|row| Hash::of(&row.to_le_bytes())).collect::<Vec<_>>())?;
    let hashes = (hashes.finish()?.len() as f64 / blocks as f64 * rows as f64) as u64;
    println!(
        "\n| object | objects | bytes | bytes a row | objects at 10^9 rows | bytes at 10^9 rows |\n|---|---|---|---|---|---|"
    );
    for (name, objects, bytes, grows) in [
        ("manifest", 1, manifest.to_bytes()?.0.len() as u64, false),
        ("index", segments, sum(&|segment| segment.index.bytes), true),
        ("of these, tails", segments, sum(&|segment| segment.tail.as_ref().map_or(0, |tail| tail.bytes)), true),
        ("layout of a group", segments, sum(&|segment| segment.groups.iter().map(|group| group.layout.bytes).sum()), true),
        ("hashes of a group", segments, hashes, true),
        (
            "chunks of a group",
            sum(&|segment| segment.groups.iter().map(|group| group.runs).sum()),
            sum(&|segment| segment.groups.iter().map(|group| group.stored_bytes).sum()),
            true,
        ),
    ] {
        let (each, all) = (bytes as f64 / rows as f64, objects as f64 * if grows { factor } else { 1.0 });
        println!("| {name} | {objects} | {bytes} | {each:.3} | {all:.0} | {:.3e} |", bytes as f64 * factor);
    }
    println!(
        "\n| operation | result | requests | bytes | seconds | requests at 10^9 rows | bytes at 10^9 rows |\n|---|---|---|---|---|---|---|"
    );
    let report = |name: &str, result: String, start: Instant, counts: Counts, more_requests: bool, more_bytes: bool| {
        let took = start.elapsed().as_secs_f64();
        let at = |number: u64, more: bool| number as f64 * if more { factor } else { 1.0 };
        let (requests, bytes) = (counts.requests(), counts.bytes_read);
        let (most_requests, most_bytes) = (at(requests, more_requests), at(bytes, more_bytes));
        println!("| {name} | {result} | {requests} | {bytes} | {took:.3} | {most_requests:.0} | {most_bytes:.3e} |");
    };
    counting.reset();
    let start = Instant::now();
    let table = open().await?;
    report(
        "open the newest version",
        format!("{} segments", table.storage().segment_count()),
        start,
        counting.reset(),
        false,
        true,
    );
    let start = Instant::now();
    let explained = table.row_loader().explain(rows / 2, 0..=0).await?;
    let layouts = sum(&|segment| segment.groups.iter().map(|group| group.layout.bytes).sum());
    let counts = counting.reset();
    // Whether the layouts of all segments are read.
    let all = segments > 1 && counts.bytes_read * 2 > layouts;
    report("find a row: its layout", format!("{} range of payload", explained.requests), start, counts, all, all);
    let log = format!("recording-{:08}-of-car-{:02}", rows / 2 / LOG, rows / 2 / LOG % 40);
    let start = Instant::now();
    let found = table.index().filter_sql(format!("log_id = '{log}'")).await?.len();
    report("where log_id = x", format!("{found} rows"), start, counting.reset(), false, false);
    let start = Instant::now();
    let found = table.index().filter_sql(format!("log_id = '{log}' AND agents = 7")).columns(["time"]).await?.len();
    report("the same again, and agents = 7", format!("{found} rows"), start, counting.reset(), false, false);
    let start = Instant::now();
    let found = table.index().filter_sql("agents = 7").columns(["time"]).await?.len();
    report("where agents = 7, not clustered", format!("{found} rows"), start, counting.reset(), true, true);
    let start = Instant::now();
    let memory = table.index().columns(["log_id", "time", "speed", "yaw"]).categorical().await?.memory();
    let each = memory.bytes() as f64 / memory.rows as f64;
    report("load 4 of 12 columns", format!("{each:.1} B a row in memory"), start, counting.reset(), true, true);
    let (start, mut scan, mut found) = (Instant::now(), table.scan_index()?.columns(["time", "speed"])?, 0);
    while let Some(part) = scan.next().await? {
        found += part.frame(["time", "speed"], false)?.height();
    }
    report("scan 2 of 12 columns", format!("{found} rows"), start, counting.reset(), true, true);
    Ok(())
}

/// Reads the same columns of the same files with pyarrow and DuckDB.
fn peers(python: &str, folder: &Path) -> Outcome<()> {
    let script = r#"
import glob, sys, time
files, columns = sorted(glob.glob(sys.argv[1] + "/*.parquet")), ["log_id", "time", "speed", "yaw"]
try:
    import pyarrow.parquet as pq
    start = time.time(); rows = pq.read_table(files, columns=columns, read_dictionary=["log_id"]).num_rows; took = time.time() - start
    print(f"| pyarrow, 4 of 12 columns | {took:.3f} | {rows / took / 1e6:.1f} M rows/s |")
except ImportError: pass
try:
    import duckdb
    duckdb.sql("SET enable_progress_bar = false")
    start = time.time(); rows = duckdb.sql(f"SELECT {', '.join(columns)} FROM read_parquet({files})").arrow().read_all().num_rows; took = time.time() - start
    print(f"| DuckDB, 4 of 12 columns | {took:.3f} | {rows / took / 1e6:.1f} M rows/s |")
    all = duckdb.sql(f"SELECT count(*) FROM read_parquet({files})").fetchall()[0][0]
    for case in range(3):
        query = f"SELECT log_id, time FROM read_parquet({files}) WHERE agents = 7"
        start = time.time(); rows = duckdb.sql(query).arrow().read_all().num_rows; took = time.time() - start
        print(f"| DuckDB, where agents = 7, 2 columns | {took:.3f} | {rows} rows; {all / took / 1e6:.1f} M rows/s |")
except ImportError: pass
"#;
    let ended = Command::new(python).args(["-c", script]).arg(folder).output()?;
    print!("{}", String::from_utf8_lossy(&ended.stdout));
    match ended.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ended.stderr).into()),
    }
}

/// Returns a memory figure of this process, in bytes.
fn status(field: &str) -> Outcome<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let found = text.lines().find_map(|line| line.strip_prefix(field)?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(found.ok_or_else(|| format!("no {field}"))? * 1024)
}

fn schema() -> Outcome<Schema> {
    let mut schema = Schema::builder().index("log_id", "utf8").index("time", "i64").index("weather", "utf8");
    for name in ["frame", "agents", "id"] {
        schema = schema.index(name, "i64");
    }
    for name in FLOATS {
        schema = schema.index(name, "f32");
    }
    let schema = schema.group("lidar", [("lidar.points", "binary")]).sequence_by(["log_id"]).order_by(["time"]);
    Ok(schema.build()?)
}

/// A number that is different for each row, in no order.
fn id(row: u64) -> i64 {
    (row as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64)
}

/// Returns index columns: recordings of [`LOG`] rows in order, and values as they come from sensors.
fn index_rows(rows: std::ops::Range<u64>, log: u64, random: &mut fastrand::Rng) -> Outcome<RecordBatch> {
    const WEATHER: [&str; 4] = ["clear", "heavy rain at night", "rain", "snow"];
    let ints = |value: &mut dyn FnMut(u64) -> i64| Arc::new(rows.clone().map(value).collect::<Int64Array>()) as ArrayRef;
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        (
            "log_id",
            Arc::new(LargeStringArray::from_iter_values(
                rows.clone().map(|row| format!("recording-{:08}-of-car-{:02}", row / log, row / log % 40)),
            )),
        ),
        ("time", ints(&mut |row| 1_700_000_000_000_000 + row as i64 * 100_000 + (row * 7919 % 1_000) as i64)),
        ("weather", Arc::new(LargeStringArray::from_iter_values(rows.clone().map(|row| WEATHER[(row / log % 4) as usize])))),
        ("frame", ints(&mut |row| (row % log) as i64)),
        ("agents", ints(&mut |_| random.i64(0..120))),
        ("id", ints(&mut |row| id(row))),
    ];
    for (number, name) in FLOATS.iter().enumerate() {
        let value = |row: u64| ((row as f32 / 40.0 + number as f32).sin() * 1_000.0).round() / 8.0 + random.f32();
        columns.push((name, Arc::new(rows.clone().map(value).collect::<Vec<f32>>().into_iter().collect::<Float32Array>())));
    }
    Ok(RecordBatch::try_from_iter(columns)?)
}

/// Writes the index, the layouts and the manifest of a table of `rows` rows.
async fn generate(url: &str, rows: u64, payload: u32) -> Outcome<()> {
    let (store, schema, mut random) = (Store::open(url)?, schema()?, fastrand::Rng::with_seed(1));
    let (mut segments, mut tracker) = (Vec::new(), SequenceTracker::new(&schema));
    for first_row in (0..rows).step_by(MAX_SEGMENT_ROWS as usize) {
        let rows = MAX_SEGMENT_ROWS.min(rows - first_row);
        let mut index = SegmentIndex::new(&schema, true)?;
        for start in (first_row..first_row + rows).step_by(1 << 16) {
            let end = (start + (1 << 16)).min(first_row + rows);
            index.push(&index_rows(start..end, LOG, &mut random)?, &mut tracker)?;
        }
        let (layout, runs, stored_bytes) = layout(rows, payload, &mut random)?;
        let object = ObjectRef::of(&layout);
        store.put_content(&object.name_in("layout"), layout.into()).await?;
        let hashes = ObjectRef { blake3: Hash::of(b"not written"), bytes: 32 * rows };
        let columns = vec![ColumnBytes { stored: stored_bytes, logical: stored_bytes }];
        let group = GroupSegment { layout: object, hashes, blocks: rows, runs, stored_bytes, columns };
        segments.push(Segment { groups: vec![group], ..index.finish(&store, first_row).await? });
    }
    publish(&store, schema, segments, 1).await
}

/// The order of the recordings of a table of keys.
#[derive(Clone, Copy)]
enum Order {
    Forward,
    Backward,
    /// As a random permutation.
    Shuffled,
}

/// Writes the index of a table of `rows` rows without column groups: recordings, times and one number. Of the times of a table
/// with `every` 1, it has one in `every`.
async fn generate_keys(url: &str, rows: u64, every: u64, value: &str, order: Order) -> Outcome<()> {
    let schema = Schema::builder().index("log_id", "utf8").index("time", "i64").index(value, "f32");
    let schema = schema.sequence_by(["log_id"]).order_by(["time"]).build()?;
    let (store, log) = (Store::open(url)?, (LOG / every).max(1));
    let (mut segments, mut tracker) = (Vec::new(), SequenceTracker::new(&schema));
    let mut logs: Vec<u64> = (0..rows.div_ceil(log)).collect();
    match order {
        Order::Forward => {}
        // Blocks of recordings change places.
        Order::Backward => logs.chunks_mut(7).for_each(<[u64]>::reverse),
        Order::Shuffled => fastrand::Rng::with_seed(3).shuffle(&mut logs),
    }
    let of = |row: u64| logs[(row / log) as usize];
    for first_row in (0..rows).step_by(MAX_SEGMENT_ROWS as usize) {
        let rows = MAX_SEGMENT_ROWS.min(rows - first_row);
        let mut index = SegmentIndex::new(&schema, true)?;
        for start in (first_row..first_row + rows).step_by(1 << 16) {
            let here = start..(start + (1 << 16)).min(first_row + rows);
            let names = here.clone().map(|row| format!("recording-{:08}-of-car-{:02}", of(row), of(row) % 40));
            let time = |row: u64| 1_700_000_000_000_000 + ((of(row) * log + row % log) * every * 100_000) as i64;
            let batch = RecordBatch::try_from_iter([
                ("log_id", Arc::new(LargeStringArray::from_iter_values(names)) as ArrayRef),
                ("time", Arc::new(here.clone().map(time).collect::<Int64Array>())),
                (
                    value,
                    Arc::new(
                        here.clone()
                            .map(|row| (row as f32 / 40.0).sin())
                            .collect::<Vec<_>>()
                            .into_iter()
                            .collect::<Float32Array>(),
                    ),
                ),
            ])?;
            index.push(&batch, &mut tracker)?;
        }
        segments.push(index.finish(&store, first_row).await?);
    }
    let number = url.bytes().fold(7_u128, |sum, byte| sum.wrapping_mul(131).wrapping_add(byte.into()));
    publish(&store, schema, segments, number).await
}

async fn publish(store: &Store, schema: Schema, segments: Vec<Segment>, number: u128) -> Outcome<()> {
    let manifest = Manifest {
        table: Uuid::from_u128(number),
        version: 1,
        parent: None,
        commit_id: Uuid::from_u128(2),
        schema,
        preset: Preset::default().to_string(),
        cuts: Cuts::default(),
        segments,
        attachments: Default::default(),
        properties: Default::default(),
        tags: Default::default(),
        lineage: serde_json::json!({}),
        stores: Vec::new(),
        condemned: Vec::new(),
        collections: None,
        deleting: None,
        write_features: Vec::new(),
        view: None,
    };
    commit::publish(store, &manifest).await?;
    Ok(())
}

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 20;

/// Returns the layout of `rows` rows with a block of about `payload` bytes each, the number of its runs, and the bytes of all blocks.
fn layout(rows: u64, payload: u32, random: &mut fastrand::Rng) -> Outcome<(Vec<u8>, u64, u64)> {
    let each = CHUNK / u64::from(payload);
    let pack = |numbers: &[u32]| {
        let mut node = Vec::new();
        PackedLengths::write(numbers, &mut node);
        PackedLengths::from_bytes(&node, numbers.len())
    };
    let (mut runs, mut stored_bytes) = (Vec::new(), 0);
    for start in (0..rows).step_by(each as usize) {
        let blocks = each.min(rows - start) as usize;
        // Compressed sensor data has lengths that differ.
        let (least, most) = (payload / 8 - payload / 64, payload / 8 + payload / 64);
        let lengths: Vec<u32> = (0..blocks).map(|_| random.u32(least..most)).collect();
        let bytes = lengths.iter().map(|length| 8 * u64::from(*length)).sum::<u64>();
        stored_bytes += bytes;
        runs.push(LayoutRun {
            chunk: ChunkId(Hash::of(&random.u128(..).to_le_bytes())),
            owner: 0,
            chunk_bytes: 64 + bytes + 8 * blocks as u64,
            seed: ChunkSeed(random.u64(..)),
            chains: Arc::from([Chain::PLAIN]),
            first_block: 0,
            first_offset: 40,
            rows: blocks as u64,
            lengths: pack(&lengths)?,
            block_rows: pack(&vec![1; blocks])?,
            pages: None,
        });
    }
    Ok((LayoutWriter::write(&runs)?, runs.len() as u64, stored_bytes))
}

/// Commits receipts of partitions of `each` rows, whose parts are written directly.
async fn commit_receipts(url: &str, receipts: u32, each: u64) -> Outcome<()> {
    let (schema, mut random) = (schema()?, fastrand::Rng::with_seed(2));
    let writer = Table::create(url, schema.clone(), WriteOptions::default().reuse(Reuse::None)).await?;
    // Other processes may write partitions, as they do on a cluster.
    let session = writer.ticket()?.session();
    let start = Instant::now();
    let put = |bytes: Vec<u8>| -> Outcome<ObjectRef> {
        let object = ObjectRef::of(&bytes);
        let file = Path::new(url).join(Receipt::part_name(session, object.blake3));
        fs::create_dir_all(file.parent().ok_or("no folder")?)?;
        fs::write(file, bytes)?;
        Ok(object)
    };
    let mut all = Vec::with_capacity(receipts as usize);
    for partition in 0..receipts {
        let first = u64::from(partition) * each;
        let mut index = IndexWriter::of_few_rows(Vec::new(), &schema)?;
        index.write(&index_rows(first..first + each, each, &mut random)?)?;
        let mut hashes = HashesWriter::new(Vec::new())?;
        hashes.write(&(first..first + each).map(|row| Hash::of(&row.to_le_bytes())).collect::<Vec<_>>())?;
        let (layout, runs, stored_bytes) = layout(each, PAYLOAD, &mut random)?;
        let columns = vec![ColumnBytes { stored: stored_bytes, logical: stored_bytes }];
        let (index, layout, hashes) = (put(index.finish(&[u32::try_from(each)?])?)?, put(layout)?, put(hashes.finish()?)?);
        let group = PartGroup { layout, hashes, blocks: each, runs, owners: Vec::new(), stored_bytes, columns };
        let parts = Some(PartObjects { index, groups: vec![group] });
        let (attempt, label, note, sharing) = (Uuid::from_u128(random.u128(..)), None, None, Default::default());
        all.push(Receipt { session, partition, attempt, label, note, rows: each, parts, sharing });
    }
    print_figure("write the parts", start.elapsed(), &format!("{receipts} partitions of {each} rows"));
    let before = status("VmRSS:")?;
    fs::write("/proc/self/clear_refs", "5")?;
    let start = Instant::now();
    let table = writer.commit(all).await?;
    let peak = status("VmHWM:")?;
    print_figure(
        "commit the receipts",
        start.elapsed(),
        &format!(
            "{} rows in {} segments; peak {:.0} MB, of which the receipts {:.0} MB",
            table.rows(),
            table.storage().segment_count(),
            peak as f64 / 1e6,
            before as f64 / 1e6
        ),
    );
    Ok(())
}

/// Makes a table of so many versions, each of which appends ten rows.
async fn append(url: &str, versions: u64) -> Outcome<()> {
    let schema = Schema::builder().index("log", "i64").index("time", "i64").group("x", [("x", "i64")]).sequence_by(["log"]);
    let (schema, options) = (schema.build()?, || WriteOptions::default().reuse(Reuse::None));
    let start = Instant::now();
    let mut table: Option<Table> = None;
    for version in 0..versions as i64 {
        let ints = |value: &dyn Fn(i64) -> i64| Arc::new(Int64Array::from_iter_values((0..10).map(value))) as ArrayRef;
        let batch = RecordBatch::try_from_iter([
            ("log", ints(&|_| version)),
            ("time", ints(&|row| row)),
            ("x", ints(&|row| version + row)),
        ])?;
        let writer = match &table {
            None => Table::create(url, schema.clone(), options()).await?,
            Some(table) => table.append(options()).await?,
        };
        let mut partition = writer.partition()?;
        partition.write(&batch).await?;
        table = Some(writer.commit([partition.finish().await?]).await?);
    }
    print_figure("append", start.elapsed(), &format!("{versions} versions"));
    Ok(())
}
