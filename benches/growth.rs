//! Counts what each command costs as a table grows: the bytes that it reads and writes inside the table, and its requests on S3. The
//! counts need no quiet machine. `remote.rs` counts requests by their dependent rounds.
//!
//! ```sh
//! cargo bench -p tetrys --bench growth                              # 10^4 and 10^5 narrow rows; rising and random ids; 1 and 100 versions
//! cargo bench -p tetrys --bench growth -- rows=1000000 width=wide   # rows of 80 KB with one block each
//! cargo bench -p tetrys --bench growth -- appends=400               # 400 appends in a row, then versions, du and gc
//! cargo bench -p tetrys --bench growth -- create=1000000            # the requests of a new table, by kind and folder
//! ```
//!
//! Arguments are lists: `rows=10000,1000000 width=narrow,wide ids=rising,random versions=1,100 only=get,patch`. `verify=yes` adds
//! `verify`, `ranges=yes` prints each range that is read on S3, and `folder=PATH` chooses where the tables are made. A table of 10^7
//! narrow rows takes 250 MB of disk, and as much memory.
//!
//! Each command runs in a process of its own, which opens the table first and makes the same calls as the command line. On a local
//! disk the kernel counts the bytes (`/proc/self/io`), so a local figure has a few kB of the process itself. On S3 the server of the
//! tests counts each request, and the last column names the folders: requests and bytes.
//!
//! Narrow tables of at most `real` rows (1,000,000) are ingested whole. In larger tables, and in wide ones, index, layouts and hashes
//! are real and most payload is not: only the chunks of the rows that a command reads exist. The rows of all these chunks have the
//! same payload. `verify` needs a table with all its payload.

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::Path,
    process::Command,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use tetrys::{
    Recipe, Schema, Store, StoreOptions, Table, ViewOptions, WriteOptions,
    commit::{self, SegmentIndex},
    format::{
        ChunkSeed, GroupSegment, HashesWriter, LayoutRun, LayoutWriter, Manifest, PackedLengths, Segment, SequenceTracker,
        read_hashes,
    },
    id::{ChunkId, Hash, ObjectRef},
    ingest::{
        export::{ExportFormat, ExportSettings, export},
        frame::{Frame, FrameSettings, ingest},
    },
    recipe::{Output, Several, Source},
    table::{Cuts, DiffOptions, GcSettings, Storage, now_ms},
};
use tetrys_s3_server::Server;
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rows of a recording.
const LOG: u64 = 2_500;
/// Bytes of a wide row.
const WIDE: usize = 80_000;
/// Rows of a full segment: whole partitions of either width.
const SEGMENT: u64 = 4_190_000;
/// Rows of an append.
const FEW: u64 = 10;
/// The variables that give a child the options of its store, and the file of the rows of a new table.
const OPTIONS: &str = "GROWTH_OPTIONS";
const FRAME: &str = "GROWTH_FRAME";
const COMMANDS: [&str; 17] = [
    "open",
    "get",
    "get with index",
    "window",
    "head",
    "export --where",
    "select",
    "append",
    "diff of an append",
    "patch",
    "diff of a patch",
    "delete",
    "diff of a delete",
    "versions",
    "du",
    "gc",
    "verify",
];

/// What a table holds.
#[derive(Clone, Copy, Debug)]
struct Shape {
    wide: bool,
    random: bool,
    rows: u64,
}

impl Shape {
    /// Rows of a partition.
    fn part(self) -> u64 {
        if self.wide { 500 } else { 10_000 }
    }

    fn id(self, row: u64) -> i64 {
        if self.random { (row as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) } else { row as i64 }
    }

    fn payload(self) -> &'static str {
        if self.wide { "x.bytes" } else { "x.value" }
    }

    /// The row that commands look for, and the one that is deleted.
    fn row(self) -> u64 {
        self.rows / 2
    }

    fn deleted(self) -> u64 {
        self.rows / 3
    }

    fn schema(self) -> Outcome<Schema> {
        let ty = if self.wide { "binary" } else { "f64" };
        let schema = Schema::builder().index("log", "utf8").index("id", "i64").index("time", "i64").index("score", "f32");
        Ok(schema.group("x", [(self.payload(), ty)]).sequence_by(["log"]).build()?)
    }

    fn index(self, rows: std::ops::Range<u64>) -> Vec<(&'static str, ArrayRef)> {
        let mut random = fastrand::Rng::with_seed(rows.start);
        let logs = LargeStringArray::from_iter_values(rows.clone().map(|row| format!("recording-{:06}", row / LOG)));
        let times = rows.clone().map(|row| 1_700_000_000_000 + row as i64 * 100 + random.i64(0..20)).collect::<Int64Array>();
        vec![
            ("log", Arc::new(logs)),
            ("id", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| self.id(row))))),
            ("time", Arc::new(times)),
            ("score", Arc::new(Float32Array::from_iter_values(rows.map(|_| random.f32())))),
        ]
    }

    fn values(self, rows: std::ops::Range<u64>, seed: u64) -> ArrayRef {
        let mut random = fastrand::Rng::with_seed(rows.start ^ seed);
        if !self.wide {
            return Arc::new(Float64Array::from_iter_values(rows.map(|_| random.f64())));
        }
        let bytes = rows.map(|_| {
            let mut row = vec![0; random.usize(WIDE - WIDE / 16..WIDE + WIDE / 16)];
            random.fill(&mut row);
            row
        });
        Arc::new(LargeBinaryArray::from_iter_values(bytes.collect::<Vec<_>>()))
    }

    fn batch(self, rows: std::ops::Range<u64>) -> Outcome<RecordBatch> {
        let mut columns = self.index(rows.clone());
        columns.push((self.payload(), self.values(rows, 0)));
        Ok(RecordBatch::try_from_iter(columns)?)
    }

    /// One row with another payload, by its id.
    fn patch(self) -> Outcome<RecordBatch> {
        let id = Arc::new(Int64Array::from(vec![self.id(self.row())])) as ArrayRef;
        Ok(RecordBatch::try_from_iter([("id", id), (self.payload(), self.values(self.row()..self.row() + 1, 7))])?)
    }

    fn to_text(self) -> String {
        format!("{} {} {}", self.wide, self.random, self.rows)
    }

    fn from_text(text: &str) -> Outcome<Self> {
        let parts: Vec<&str> = text.split(' ').collect();
        Ok(Self { wide: parts[0].parse()?, random: parts[1].parse()?, rows: parts[2].parse()? })
    }
}

/// What one command did.
#[derive(Clone, Debug, Default)]
struct Cost {
    requests: usize,
    read: u64,
    written: u64,
    /// Requests and bytes by kind and folder.
    parts: BTreeMap<(String, String), (usize, u64)>,
    /// Each read: its object and the range.
    ranges: Vec<String>,
}

struct Arguments(BTreeMap<String, String>);

impl Arguments {
    fn of_process() -> Outcome<Self> {
        let mut given = BTreeMap::new();
        for argument in std::env::args().skip(1).filter(|argument| argument != "--bench") {
            let (name, value) = argument.split_once('=').ok_or_else(|| format!("{argument}: expected name=value"))?;
            given.insert(name.to_owned(), value.to_owned());
        }
        Ok(Self(given))
    }

    fn list<'a>(&'a self, name: &str, otherwise: &'a str) -> Vec<&'a str> {
        self.0.get(name).map_or(otherwise, String::as_str).split(',').filter(|one| !one.is_empty()).collect()
    }

    fn numbers(&self, name: &str, otherwise: &str) -> Outcome<Vec<u64>> {
        self.list(name, otherwise).into_iter().map(|one| Ok(one.replace('_', "").parse()?)).collect()
    }

    fn number(&self, name: &str, otherwise: &str) -> Outcome<u64> {
        Ok(self.numbers(name, otherwise)?.into_iter().next().unwrap_or_default())
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let [_, child, command, shape, url] = arguments.as_slice()
        && child == "figure"
    {
        return runtime.block_on(measure(command, Shape::from_text(shape)?, url));
    }
    let given = Arguments::of_process()?;
    let server = Server::start();
    server.create_bucket("data");
    let folder = match given.0.get("folder") {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let bench = Bench { server, runtime, folder, real: given.number("real", "1000000")? };
    let (appends, create) = (given.number("appends", "0")?, given.numbers("create", "")?);
    for rows in &create {
        bench.create(*rows)?;
    }
    let only_these = appends > 0 || !create.is_empty();
    let rows = given.numbers("rows", if appends > 0 { "10000" } else { "10000,100000" })?;
    for wide in given.list("width", "narrow") {
        for ids in given.list("ids", "rising,random") {
            for rows in &rows {
                let shape = Shape { wide: wide == "wide", random: ids == "random", rows: *rows };
                if appends > 0 {
                    bench.appends(shape, appends)?;
                }
                for versions in given.numbers("versions", if only_these { "" } else { "1,100" })? {
                    bench.commands(shape, versions, &given)?;
                }
            }
        }
    }
    Ok(())
}

struct Bench {
    server: Server,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
    real: u64,
}

impl Bench {
    fn url(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Makes a table of so many versions in the folder: each one after the first appends some rows.
    fn make(&self, url: &str, shape: Shape, versions: u64) -> Outcome<()> {
        let start = Instant::now();
        let real = !shape.wide && shape.rows <= self.real;
        match real {
            true => {
                let (frame, settings) = frame(&self.url("frame.parquet"), shape)?;
                self.runtime.block_on(ingest(&frame, Store::open(url)?, &settings, |_| {}))?;
                fs::remove_file(self.url("frame.parquet"))?;
            }
            false => self.runtime.block_on(generate(url, &self.url("template"), shape))?,
        }
        for number in 1..versions {
            self.runtime.block_on(async { append(&Table::open(url).await?, shape, shape.rows + FEW * number).await })?;
        }
        let of = self.runtime.block_on(Table::open(url))?;
        eprintln!("{shape:?}, {versions} versions, {} segments: made in {:.0?}", of.storage().segment_count(), start.elapsed());
        Ok(())
    }

    /// Copies a table from the folder into the bucket.
    fn upload(&self, name: &str) -> Outcome<()> {
        let root = self.folder.path().join(name);
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let key = format!("{name}/{}", path.strip_prefix(&root)?.display());
                self.server.put("data", &key, fs::read(&path)?);
            }
        }
        Ok(())
    }

    /// Runs a command in a process of its own.
    fn child(&self, command: &str, shape: Shape, url: &str) -> Outcome<String> {
        let options = match url.starts_with("s3://") {
            true => self.server.options().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("\n"),
            false => String::new(),
        };
        let ended = Command::new(std::env::current_exe()?)
            .args(["figure", command, &shape.to_text(), url])
            .env(OPTIONS, options)
            .env(FRAME, self.url("frame.parquet"))
            .output()?;
        match ended.status.success() {
            true => Ok(String::from_utf8(ended.stdout)?),
            false => Err(format!("{command} of {url}: {}", String::from_utf8_lossy(&ended.stderr)).into()),
        }
    }

    /// Runs a command on a table in the folder.
    fn local(&self, command: &str, shape: Shape, name: &str) -> Outcome<Cost> {
        let output = self.child(command, shape, &self.url(name))?;
        let numbers: Vec<u64> = output.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Cost { read: numbers[0], written: numbers[1], ..Cost::default() })
    }

    /// Runs a command on a table in the bucket.
    fn remote(&self, command: &str, shape: Shape, name: &str) -> Outcome<Cost> {
        self.server.take_served();
        self.child(command, shape, &format!("s3://data/{name}"))?;
        let served = self.server.take_served();
        let mut cost = Cost { requests: served.len(), ..Cost::default() };
        for request in served.iter().map(|served| &served.request) {
            let query = || url::form_urlencoded::parse(request.query.as_bytes());
            let key = match request.key.as_str() {
                "" => query().find(|(name, _)| name == "prefix").map_or(String::new(), |(_, prefix)| prefix.into_owned()),
                key => key.to_owned(),
            };
            let inside = key.strip_prefix(name).and_then(|key| key.strip_prefix('/'));
            let place = match inside {
                Some(inside) => inside.split('/').next().unwrap_or_default().to_owned(),
                None if key.is_empty() => String::new(),
                None => format!("outside: {}", key.split('/').nth(1).unwrap_or(&key)),
            };
            let kind = match (request.is_list(), request.method.as_str()) {
                (true, _) => "LIST".to_owned(),
                (_, "POST") => format!("POST {}", query().map(|(name, _)| name.into_owned()).next().unwrap_or_default()),
                (_, method) => method.to_owned(),
            };
            let bytes = match request.method.as_str() {
                "PUT" => request.bytes,
                "GET" if !request.is_list() => {
                    let length = self.server.get("data", &request.key).map_or(0, |bytes| bytes.len() as u64);
                    request.range.map_or(length, |(first, last)| (last + 1).min(length).saturating_sub(first))
                }
                _ => 0,
            };
            if request.method == "PUT" {
                cost.written += bytes;
            } else {
                cost.read += bytes;
            }
            if bytes > 0 && request.method == "GET" {
                let range = request.range.map_or("whole".to_owned(), |(first, last)| format!("{first}..{}", last + 1));
                cost.ranges.push(format!("{key} {range}: {bytes}"));
            }
            let part = cost.parts.entry((kind, place)).or_default();
            *part = (part.0 + 1, part.1 + bytes);
        }
        Ok(cost)
    }

    /// Prints the costs of all commands on one table.
    fn commands(&self, shape: Shape, versions: u64, given: &Arguments) -> Outcome<()> {
        let (width, ids) = (if shape.wide { "wide" } else { "narrow" }, if shape.random { "random" } else { "rising" });
        let name = format!("{width}-{ids}-{}-{versions}", shape.rows);
        self.make(&self.url(&name), shape, versions)?;
        self.upload(&name)?;
        println!("\n{} {width} rows, {ids} ids, {versions} versions\n", shape.rows);
        println!("| command | local: read | written | S3: requests | read | written | by kind and folder |");
        println!("|---|---|---|---|---|---|---|");
        let only = given.list("only", "");
        for command in COMMANDS {
            let chosen = only.is_empty() || only.contains(&command);
            if !chosen || command == "verify" && given.list("verify", "no") != ["yes"] {
                continue;
            }
            let (local, far) = (self.local(command, shape, &name)?, self.remote(command, shape, &name)?);
            println!(
                "| {command} | {} | {} | {} | {} | {} | {} |",
                size(local.read),
                size(local.written),
                far.requests,
                size(far.read),
                size(far.written),
                cost_text(&far)
            );
            if given.list("ranges", "no") == ["yes"] {
                far.ranges.iter().for_each(|range| eprintln!("{command}: {range}"));
            }
        }
        fs::remove_dir_all(self.url(&name))?;
        Ok(())
    }

    /// Prints the costs of many appends in a row, and then of looks at the versions.
    fn appends(&self, shape: Shape, appends: u64) -> Outcome<()> {
        let name = format!("appends-{}-{}", shape.rows, shape.random);
        self.make(&self.url(&name), shape, 1)?;
        self.upload(&name)?;
        let all: Vec<Cost> = (0..appends).map(|_| self.remote("append", shape, &name)).collect::<Result<_, _>>()?;
        let middle = |of: &dyn Fn(&Cost) -> u64| {
            let mut all: Vec<u64> = all.iter().map(of).collect();
            all.sort_unstable();
            all[all.len() / 2]
        };
        let (read, written, requests) =
            (middle(&|cost| cost.read), middle(&|cost| cost.written), middle(&|cost| cost.requests as u64));
        println!("\n{appends} appends of {FEW} rows to {shape:?}\n");
        println!("| what | requests | read | written | by kind and folder |\n|---|---|---|---|---|");
        println!("| the median append | {requests} | {} | {} | |", size(read), size(written));
        let sum = |of: &dyn Fn(&Cost) -> u64| all.iter().map(of).sum::<u64>();
        let (read, written) = (sum(&|cost| cost.read), sum(&|cost| cost.written));
        println!("| all | {} | {} | {} | |", sum(&|cost| cost.requests as u64), size(read), size(written));
        for (number, cost) in all.iter().enumerate() {
            let folds = cost.parts.get(&("GET".to_owned(), "index".to_owned())).map_or(0, |part| part.0);
            let marked = [0, 30, 99, 199, 399].contains(&number);
            if marked || folds > 1 {
                let what = if folds > 1 { "that folds segments" } else { "" };
                let (read, written) = (size(cost.read), size(cost.written));
                println!("| append {} {what} | {} | {read} | {written} | {} |", number + 1, cost.requests, cost_text(cost));
            }
        }
        for command in ["open", "versions", "du", "gc", "verify"] {
            let cost = self.remote(command, shape, &name)?;
            println!("| {command} | {} | {} | {} | {} |", cost.requests, size(cost.read), size(cost.written), cost_text(&cost));
        }
        fs::remove_dir_all(self.url(&name))?;
        Ok(())
    }

    /// Prints the requests of a new table.
    fn create(&self, rows: u64) -> Outcome<()> {
        let shape = Shape { wide: false, random: false, rows };
        let _ = frame(&self.url("frame.parquet"), shape)?;
        let name = format!("created-{rows}");
        let cost = self.remote("create", shape, &name)?;
        fs::remove_file(self.url("frame.parquet"))?;
        let objects = self.server.names("data").iter().filter(|key| key.starts_with(&name)).count();
        println!("\n| new table | objects | requests | read | written | by kind and folder |\n|---|---|---|---|---|---|");
        let (read, written) = (size(cost.read), size(cost.written));
        println!("| {rows} narrow rows | {objects} | {} | {read} | {written} | {} |", cost.requests, cost_text(&cost));
        Ok(())
    }
}

/// Returns bytes in a few digits.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.2} MB", bytes as f64 / 1e6),
    }
}

/// Returns requests and bytes by kind and folder.
fn cost_text(cost: &Cost) -> String {
    let mut text = String::new();
    for ((kind, folder), (requests, bytes)) in &cost.parts {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{requests} {kind}");
        if !folder.is_empty() {
            let _ = write!(text, " {folder}");
        }
        if *bytes > 0 {
            let _ = write!(text, " ({})", size(*bytes));
        }
    }
    text
}

/// Writes the rows as a Parquet file, and returns it with the settings that make it a table.
fn frame(path: &str, shape: Shape) -> Outcome<(Frame, FrameSettings)> {
    if !Path::new(path).exists() {
        let first = shape.batch(0..1)?;
        let mut writer = parquet::arrow::ArrowWriter::try_new(fs::File::create(path)?, first.schema(), None)?;
        for start in (0..shape.rows).step_by(10_000) {
            writer.write(&shape.batch(start..(start + 10_000).min(shape.rows))?)?;
        }
        writer.close()?;
    }
    let settings = FrameSettings::default().group("x", ["x.*"]).sequence_by(["log"]);
    Ok((Frame::parquet(path)?, settings))
}

async fn append(table: &Table, shape: Shape, first: u64) -> Outcome<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&shape.batch(first..first + FEW)?).await?;
    Ok(writer.commit([partition.finish().await?]).await?)
}

/// Writes the index, layouts, hashes and manifest of a table of `rows` rows, and the chunks of the rows that commands read.
async fn generate(url: &str, template: &str, shape: Shape) -> Outcome<()> {
    let (schema, part) = (shape.schema()?, shape.part());
    if !shape.rows.is_multiple_of(part) {
        return Err(format!("{} rows: expected whole partitions of {part} rows", shape.rows).into());
    }
    // One partition is real.
    let writer = Table::create(template, schema.clone(), WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    for start in (0..part).step_by(500) {
        partition.write(&shape.batch(start..start + 500)?).await?;
    }
    let made = writer.commit([partition.finish().await?]).await?;
    let layout = made.storage().layout(0).await?;
    let group = made.manifest().segments[0].groups[0].clone();
    let name = group.hashes.name_in("hashes");
    let hashes = read_hashes(made.store().get_exact(&name, group.hashes.bytes).await?, group.blocks)?;
    let store = Store::open(url)?;
    for run in layout.runs() {
        let name = run.chunk.object_name();
        store.put_content(&name, made.store().get_exact(&name, run.chunk_bytes).await?).await?;
    }
    let real = [0, shape.row() / part, shape.deleted() / part];
    let (mut segments, mut tracker) = (Vec::new(), SequenceTracker::new(&schema));
    let mut random = fastrand::Rng::with_seed(1);
    for first_row in (0..shape.rows).step_by(SEGMENT as usize) {
        let rows = SEGMENT.min(shape.rows - first_row);
        let mut index = SegmentIndex::new(&schema, true)?;
        let (mut runs, mut all) = (Vec::new(), HashesWriter::new(Vec::new())?);
        for start in (first_row..first_row + rows).step_by(part as usize) {
            index.push(&RecordBatch::try_from_iter(shape.index(start..start + part))?, &mut tracker)?;
            let is_real = real.contains(&(start / part));
            for run in layout.runs() {
                runs.push(if is_real { run.clone() } else { unreal(run, &mut random)? });
            }
            match is_real {
                true => all.write(&hashes)?,
                false => all.write(&hashes.iter().map(|_| Hash::of(&random.u128(..).to_le_bytes())).collect::<Vec<_>>())?,
            }
        }
        let parts = rows / part;
        let (layout, hashes) = (LayoutWriter::write(&runs)?, all.finish()?);
        let (named, kept) = (ObjectRef::of(&layout), ObjectRef::of(&hashes));
        store.put_content(&named.name_in("layout"), layout.into()).await?;
        store.put_content(&kept.name_in("hashes"), hashes.into()).await?;
        let stored_bytes = runs.iter().map(|run| 8 * run.lengths.sum()).sum();
        let mut columns = group.columns.clone();
        columns.iter_mut().for_each(|column| {
            (column.stored, column.logical) = (column.stored * parts, column.logical * parts);
        });
        let group = GroupSegment {
            layout: named,
            hashes: kept,
            blocks: group.blocks * parts,
            runs: runs.len() as u64,
            stored_bytes,
            columns,
        };
        segments.push(Segment { groups: vec![group], ..index.finish(&store, first_row).await? });
    }
    publish(&store, schema, segments, &made).await?;
    drop(made);
    fs::remove_dir_all(template)?;
    Ok(())
}

/// Returns a run of a chunk that does not exist, with blocks of other lengths.
fn unreal(run: &LayoutRun, random: &mut fastrand::Rng) -> Outcome<LayoutRun> {
    let lengths: Vec<u32> = run.lengths.iter().map(|length| length - random.u32(0..length / 64 + 1)).collect();
    let mut node = Vec::new();
    PackedLengths::write(&lengths, &mut node);
    Ok(LayoutRun {
        chunk: ChunkId(Hash::of(&random.u128(..).to_le_bytes())),
        seed: ChunkSeed(random.u64(..)),
        lengths: PackedLengths::from_bytes(&node, lengths.len())?,
        ..run.clone()
    })
}

async fn publish(store: &Store, schema: Schema, segments: Vec<Segment>, like: &Table) -> Outcome<()> {
    let manifest = Manifest {
        table: Uuid::from_u128(1),
        version: 1,
        parent: None,
        commit_id: Uuid::from_u128(2),
        schema,
        preset: like.manifest().preset.clone(),
        cuts: Cuts::default(),
        segments,
        attachments: Default::default(),
        properties: Default::default(),
        tags: Default::default(),
        lineage: like.manifest().lineage.clone(),
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

/// Runs a command in this process, as the command line does, and prints the bytes that the process read and wrote meanwhile.
async fn measure(command: &str, shape: Shape, url: &str) -> Outcome<()> {
    let given = std::env::var(OPTIONS).unwrap_or_default();
    let given = given.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = StoreOptions::only(given.collect::<Vec<_>>());
    let before = transferred()?;
    run(command, shape, url, &options).await?;
    let after = transferred()?;
    println!("{} {}", after.0 - before.0, after.1 - before.1);
    Ok(())
}

async fn run(command: &str, shape: Shape, url: &str, options: &StoreOptions) -> Outcome<()> {
    let open = || Table::open_with(url, options);
    let (row, id) = (shape.row(), shape.id(shape.row()));
    match command {
        "create" => {
            let (frame, settings) = frame(&std::env::var(FRAME)?, shape)?;
            ingest(&frame, Store::open_with(url, options)?, &settings, |_| {}).await?;
        }
        "open" => drop(open().await?),
        "get" => drop(open().await?.row_loader().take(&[row]).await?),
        "get with index" => {
            let table = open().await?;
            table.row_loader().take(&[row]).await?;
            table.take_index(&[row]).await?;
        }
        "window" => drop(open().await?.row_loader().get_rows(row, -9..=0).await?),
        "head" => {
            let (table, rows) = (open().await?, (0..10).collect::<Vec<_>>());
            table.take_index(&rows).await?;
            table.row_loader().take(&rows).await?;
        }
        "export --where" => {
            let (table, condition) = (open().await?, format!("id = {id}"));
            let index = table.index().for_query(format!("SELECT 1 AS one FROM t WHERE ({condition})")).await?;
            let rows = index.filter_sql(&condition)?.rows_of(&table)?;
            let settings = ExportSettings { rows: Some(rows), ..ExportSettings::default() };
            let rows = export(&table, std::io::sink(), ExportFormat::Parquet, &settings, |_| {}).await?;
            assert_eq!(rows, 1);
        }
        "select" => {
            let recipe = Recipe {
                sources: [("table".to_owned(), Source::Table(url.to_owned()))].into(),
                from: Some("table".to_owned()),
                filter: Several(vec![format!("id = {id}")]),
                output: Some(Output { view: format!("{url}-view"), update: false }),
                ..Recipe::default()
            };
            assert_eq!(recipe.run(options, &ViewOptions::default()).await?[0].size.rows, 1);
        }
        "append" => {
            let table = open().await?;
            let first = table.rows() + FEW * table.version();
            append(&table, shape, first).await?;
        }
        "patch" => drop(open().await?.patch(&["id"], &shape.patch()?, WriteOptions::default()).await?),
        "delete" => {
            let table = open().await?;
            let gone = table.index().filter_sql(format!("id = {}", shape.id(shape.deleted()))).await?;
            table.delete(gone.rows_of(&table)?, WriteOptions::default()).await?;
        }
        diff if diff.starts_with("diff") => {
            let now = open().await?;
            let before = Table::open_with(&format!("{url}@{}", now.version() - 1), options).await?;
            let settings = DiffOptions { exact: false, memory_limit: None, temporary_folder: None };
            let found = now.diff_with(&before, &["id"], &settings).await?;
            assert!(!found.is_empty());
        }
        "versions" => drop(open().await?.versions().recent(usize::MAX).await?),
        "du" => drop(Storage::of(open().await?.store()).usage().await?),
        "gc" => {
            let settings = GcSettings { keep_versions: 5, age: Duration::from_secs(3600) };
            Storage::of(&Store::open_with(url, options)?).plan_garbage(settings, now_ms() + 7_200_000).await?;
        }
        "verify" => assert!(open().await?.storage().verify(|_, _| {}).await?.damage.is_empty()),
        other => return Err(format!("no command `{other}`").into()),
    }
    Ok(())
}

/// Returns the bytes that this process has read and written so far.
fn transferred() -> Outcome<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/io")?;
    let field = |name: &str| -> Outcome<u64> {
        let found = text.lines().find_map(|line| line.strip_prefix(name)).ok_or_else(|| format!("no {name}"))?;
        Ok(found.trim().parse()?)
    };
    Ok((field("rchar:")?, field("wchar:")?))
}
