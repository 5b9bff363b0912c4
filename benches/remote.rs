//! Measures reads from a store with 30 ms latency and 90 MB/s for each stream: the S3 server of the tests with this latency, on
//! the loopback. The result is the share of the limit that a latency model gives; the model counts only waits and bytes.
//!
//! `cargo bench -p tetrys --no-default-features --bench remote`. If `TETRYS_PEERS` names a python with pylance and pyarrow, these
//! read the same rows from the same server (`remote_peers.py`). With the argument `versions`, the bench measures appends of ten
//! rows instead, and `du` and `gc` of the versions that they make. With `costs`, it counts the requests, bytes and dependent rounds
//! of commands: `costs rows=10000,1000000 versions=1,40,250`. With `serve`, it only runs the server, for `peers/loaders.py` and
//! `idle.py`.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray, RecordBatch};
use arrow_schema::{DataType, Field};
use futures::{StreamExt, TryStreamExt, stream};
use tetrys::{
    Preset, Schema, Store, StoreOptions, Table, WriteOptions,
    ingest::frame::{Frame, FrameSettings, ingest},
    store::CacheFolder,
    table::{Cuts, GcSettings, Storage, now_ms},
};
use tetrys_s3_server::{Latency, Server, dependent};

const ROWS: u64 = 100_000;
const SAMPLES: usize = 2_000;
/// Number of samples of the slower engines.
const PEER_SAMPLES: usize = 500;
const IN_FLIGHT: usize = 16;
const FAR: Latency = Latency { per_request: Duration::from_millis(30), bytes_per_second: Some(90_000_000) };

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start();
    server.create_bucket("data");
    if std::env::args().any(|argument| argument == "serve") {
        return serve(&server);
    }
    let options = StoreOptions::only(server.options());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if std::env::args().any(|argument| argument == "costs") {
        return runtime.block_on(costs(&server, &options));
    }
    if std::env::args().any(|argument| argument == "versions") {
        return runtime.block_on(versions(&server, &options));
    }
    runtime.block_on(async {
        let begun = Instant::now();
        write(Store::open_with("s3://data/drives", &options)?).await?;
        println!("{ROWS} rows written in {:.1} s", begun.elapsed().as_secs_f64());
        server.set_latency(FAR);
        first_row(&server, &options).await?;
        samples(&server, &options).await?;
        kept(&server).await
    })?;
    peers(&server)
}

/// Prints the address of the server, and serves until standard input ends. A line `far` or `near` sets the latency, `stall 2` lets
/// every request wait for two seconds; the answer has the requests since the line before, and the bytes that they read.
fn serve(server: &Server) -> Result<(), Box<dyn Error>> {
    println!(r#"{{"endpoint": "{}", "key": "tester", "secret": "{}"}}"#, server.endpoint(), server.secret());
    for line in std::io::stdin().lines() {
        let line = line?;
        match line.split_once(' ') {
            Some(("stall", seconds)) => server.stall(Duration::try_from_secs_f64(seconds.parse()?)?),
            _ => server.set_latency(if line == "far" { FAR } else { Latency::default() }),
        }
        let seen = server.take_requests();
        let read = seen.iter().filter(|request| request.method == "GET").map(|request| {
            let length = server.get(&request.bucket, &request.key).map_or(0, |bytes| bytes.len() as u64);
            request.range.map_or(length, |(first, last)| (last + 1).min(length).saturating_sub(first))
        });
        println!(r#"{{"requests": {}, "bytes": {}}}"#, seen.len(), read.sum::<u64>());
    }
    Ok(())
}

/// Writes rows of a picture of 1 to 3 kB, intrinsics and a pose, with one row for each block, as in tables of wide rows.
async fn write(store: Store) -> Result<(), Box<dyn Error>> {
    let schema = schema()?;
    let cuts = Cuts { block_min: 1, block_target: 64, ..Cuts::default() };
    let options = WriteOptions::default().preset(Preset::Fast).cuts(cuts);
    let writer = Table::create_in(store, schema, options).await?;
    let mut receipts = Vec::new();
    for part in 0..10 {
        let mut partition = writer.partition()?;
        for first in (part * ROWS / 10..(part + 1) * ROWS / 10).step_by(1_000) {
            partition.write(&batch(first..first + 1_000)?).await?;
        }
        receipts.push(partition.finish().await?);
    }
    writer.commit(receipts).await?;
    Ok(())
}

fn schema() -> tetrys::Result<Schema> {
    Schema::builder()
        .index("log", "utf8")
        .index("time", "i64")
        .group("camera", [("camera.jpeg", "binary")])
        .group("intrinsics", [("camera.intrinsics", "f64[9]")])
        .group("ego", [("ego.pose", "f64[9]")])
        .sequence_by(["log"])
        .build()
}

fn batch(rows: std::ops::Range<u64>) -> Result<RecordBatch, Box<dyn Error>> {
    let mut random = fastrand::Rng::with_seed(rows.start);
    let pictures = rows.clone().map(|_| {
        let mut picture = vec![0; random.usize(1_000..3_000)];
        random.fill(&mut picture);
        picture
    });
    let pictures = LargeBinaryArray::from_iter_values(pictures.collect::<Vec<_>>());
    let tensor = |by: f64| -> Result<ArrayRef, Box<dyn Error>> {
        let values =
            Float64Array::from_iter_values(rows.clone().flat_map(|row| (0..9).map(move |i| row as f64 * by + f64::from(i))));
        let field = Arc::new(Field::new("item", DataType::Float64, true));
        Ok(Arc::new(FixedSizeListArray::try_new(field, 9, Arc::new(values), None)?))
    };
    let logs = LargeStringArray::from_iter_values(rows.clone().map(|row| format!("log-{:04}", row / 1_000)));
    let times = Int64Array::from_iter_values(rows.clone().map(|row| row as i64));
    Ok(RecordBatch::try_from_iter([
        ("log", Arc::new(logs) as ArrayRef),
        ("time", Arc::new(times)),
        ("camera.jpeg", Arc::new(pictures)),
        ("camera.intrinsics", tensor(0.5)?),
        ("ego.pose", tensor(0.25)?),
    ])?)
}

/// Measures the time from a URL that was not opened before to the values of one row.
async fn first_row(server: &Server, options: &StoreOptions) -> Result<(), Box<dyn Error>> {
    for (url, row) in [("s3://data/drives", 31_415), ("s3://data/drives@1", 92_653)] {
        let mut times = Vec::new();
        let (mut requests, mut waits) = (0, 0);
        for _ in 0..5 {
            server.take_requests();
            let begun = Instant::now();
            let table = Table::open_with(url, options).await?;
            let loader = table.row_loader().columns(["camera.*"])?;
            loader.get_row(row).await?;
            times.push(begun.elapsed());
            let served = server.take_served();
            (requests, waits) = (served.len(), dependent(&served));
        }
        times.sort();
        println!("first row of {url}: {:.0} ms (median of 5), {requests} requests, {waits} waits", times[2].as_secs_f64() * 1e3);
    }
    Ok(())
}

/// Reads random rows of {picture, intrinsics}, each by its own call, `IN_FLIGHT` at a time; then windows of ten rows.
async fn samples(server: &Server, options: &StoreOptions) -> Result<(), Box<dyn Error>> {
    let table = Table::open_with("s3://data/drives", options).await?;
    let loader = table.row_loader().columns(["camera.*"])?;
    loader.get_rows(0, 0..=0).await?;
    let one = loader.explain(500, 0..=0).await?;
    let ten = loader.explain(500, -9..=0).await?;
    println!("ranges of a row: {}, of a window of ten: {}", one.ranges, ten.ranges);
    let mut random = fastrand::Rng::with_seed(7);
    for (name, window) in [("rows", 0..=0), ("windows of ten", -9..=0)] {
        server.take_requests();
        let begun = Instant::now();
        let reads = stream::iter((0..SAMPLES).map(|_| random.u64(0..ROWS)).collect::<Vec<_>>());
        let reads = reads.map(|row| {
            let (loader, window) = (loader.clone(), window.clone());
            tokio::spawn(async move { loader.get_rows(row, window).await })
        });
        let rows: Vec<_> = reads.buffer_unordered(IN_FLIGHT).try_collect().await?;
        let took = begun.elapsed();
        for row in rows {
            row?;
        }
        let seen = server.take_requests();
        let bytes: u64 = seen.iter().filter_map(|request| request.range).map(|(first, last)| last - first + 1).sum();
        // The model of a sample: its requests run in parallel, so that it waits once, and then for its bytes.
        let each = FAR.per_request.as_secs_f64() + bytes as f64 / SAMPLES as f64 / 90e6;
        let limit = IN_FLIGHT as f64 / each;
        let rate = SAMPLES as f64 / took.as_secs_f64();
        println!(
            "{SAMPLES} random {name}, {IN_FLIGHT} in flight: {rate:.0} /s, the model's limit is {limit:.0} /s: {:.0} %; {} requests",
            100.0 * rate / limit,
            seen.len()
        );
    }
    Ok(())
}

/// Reads the same random rows three times: without a cache, into a cache on disk, and from that cache by a newly opened table.
async fn kept(server: &Server) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let cache = [("cache".to_owned(), folder.path().display().to_string()), ("cache_memory".to_owned(), "0".to_owned())];
    let options = StoreOptions::only(server.options().into_iter().chain(cache));
    let cache_folder = CacheFolder::of(&options)?.ok_or("no cache")?;
    let plain = StoreOptions::only(server.options());
    for (name, options) in [("without a cache", &plain), ("into the cache", &options), ("from the cache", &options)] {
        let loader = Table::open_with("s3://data/drives", options).await?.row_loader().columns(["camera.*"])?;
        loader.get_rows(0, 0..=0).await?;
        server.take_requests();
        let mut random = fastrand::Rng::with_seed(7);
        let begun = Instant::now();
        let reads = stream::iter((0..SAMPLES).map(|_| random.u64(0..ROWS)).collect::<Vec<_>>());
        let reads = reads.map(|row| {
            let loader = loader.clone();
            tokio::spawn(async move { loader.get_row(row).await })
        });
        let rows: Vec<_> = reads.buffer_unordered(IN_FLIGHT).try_collect().await?;
        let rate = SAMPLES as f64 / begun.elapsed().as_secs_f64();
        for row in rows {
            row?;
        }
        let stats = cache_folder.stats()?;
        println!(
            "{SAMPLES} random rows {name}: {rate:.0} /s, {} requests; {} entries, {} bytes kept",
            server.take_requests().len(),
            stats.entries,
            stats.bytes
        );
    }
    Ok(())
}

/// Counts requests, bytes and dependent rounds of commands with 30 ms latency, in tables of narrow rows. Each command opens the table by a
/// store of its own.
async fn costs(server: &Server, options: &StoreOptions) -> Result<(), Box<dyn Error>> {
    let numbers = |name: &str, otherwise: &str| -> Result<Vec<u64>, Box<dyn Error>> {
        let given = std::env::args().find_map(|argument| argument.strip_prefix(name).map(str::to_owned));
        given.as_deref().unwrap_or(otherwise).split(',').map(|one| Ok(one.parse()?)).collect()
    };
    println!(
        "| rows | versions | command | requests | rounds | read | written | requests by kind |\n|---|---|---|---|---|---|---|---|"
    );
    for rows in numbers("rows=", "10000,100000")? {
        let url = format!("s3://data/costs-{rows}");
        let count = |versions: u64, command: &'static str| Count { server, rows, versions, command };
        let open = || Table::open_with(&url, options);
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("rows.parquet");
        let first = narrow(0..1)?;
        let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path)?, first.schema(), None)?;
        for start in (0..rows).step_by(10_000) {
            writer.write(&narrow(start..(start + 10_000).min(rows))?)?;
        }
        writer.close()?;
        let (frame, settings) = (Frame::parquet(&path)?, FrameSettings::default().group("x", ["x.*"]).sequence_by(["log"]));
        let store = || Store::open_with(&url, options);
        count(1, "create").of(async || ingest(&frame, store()?, &settings, |_| {}).await).await?;
        for versions in numbers("versions=", "1,40")? {
            let mut table = open().await?;
            while table.version() < versions {
                table = append_narrow(&table).await?;
            }
            let (row, key) = (rows / 2, |row: u64| Arc::new(Int64Array::from(vec![row as i64])) as ArrayRef);
            count(versions, "open").of(open).await?;
            count(versions, "get").of(async || open().await?.row_loader().take(&[row]).await).await?;
            count(versions, "window").of(async || open().await?.row_loader().get_rows(row, -9..=0).await).await?;
            let head = async || {
                let (table, rows) = (open().await?, (0..10).collect::<Vec<_>>());
                table.take_index(&rows).await?;
                table.row_loader().take(&rows).await
            };
            count(versions, "head").of(head).await?;
            count(versions, "versions").of(async || open().await?.versions().recent(usize::MAX).await).await?;
            count(versions, "du").of(async || Storage::of(open().await?.store()).usage().await).await?;
            let settings = GcSettings { keep_versions: 5, ..GcSettings::default() };
            let later = now_ms() + 8 * 86_400_000;
            count(versions, "gc, dry run").of(async || Storage::of(&store()?).plan_garbage(settings, later).await).await?;
            count(versions, "verify").of(async || open().await?.storage().verify(|_, _| {}).await).await?;
            count(versions, "append").of(async || append_narrow(&open().await?).await).await?;
            let value = Arc::new(Float64Array::from(vec![versions as f64])) as ArrayRef;
            let patch = RecordBatch::try_from_iter([("id", key(row)), ("x.value", value)])?;
            count(versions, "patch").of(async || open().await?.patch(&["id"], &patch, WriteOptions::default()).await).await?;
            let gone = rows / 3 + versions;
            count(versions, "delete").of(async || open().await?.delete([gone], WriteOptions::default()).await).await?;
        }
    }
    Ok(())
}

/// Returns rows of a recording of 2,500 rows, an id, a time and a number.
fn narrow(rows: std::ops::Range<u64>) -> Result<RecordBatch, Box<dyn Error>> {
    let mut random = fastrand::Rng::with_seed(rows.start);
    let logs = LargeStringArray::from_iter_values(rows.clone().map(|row| format!("recording-{:06}", row / 2_500)));
    let times = rows.clone().map(|row| row as i64 * 100 + random.i64(0..20)).collect::<Int64Array>();
    Ok(RecordBatch::try_from_iter([
        ("log", Arc::new(logs) as ArrayRef),
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row as i64)))),
        ("time", Arc::new(times)),
        ("x.value", Arc::new(Float64Array::from_iter_values(rows.map(|_| random.f64())))),
    ])?)
}

/// Appends ten rows with ids that no row has.
async fn append_narrow(table: &Table) -> tetrys::Result<Table> {
    let first = table.rows() + 10 * table.version();
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&narrow(first..first + 10).map_err(|error| tetrys::Error::invalid(error.to_string()))?).await?;
    writer.commit([partition.finish().await?]).await
}

/// Counts one command on a table of so many rows and versions.
struct Count<'a> {
    server: &'a Server,
    rows: u64,
    versions: u64,
    command: &'static str,
}

impl Count<'_> {
    /// Runs the command, and prints its requests.
    async fn of<T>(self, work: impl AsyncFnOnce() -> tetrys::Result<T>) -> tetrys::Result<T> {
        let Self { server, rows, versions, command } = self;
        server.set_latency(Latency { bytes_per_second: None, ..FAR });
        server.take_served();
        let done = work().await;
        let served = server.take_served();
        server.set_latency(Latency::default());
        let (mut kinds, mut read, mut written) = (BTreeMap::<String, usize>::new(), 0, 0);
        for request in served.iter().map(|served| &served.request) {
            let kind = if request.is_list() { "LIST" } else { &request.method };
            let place = request.key.split('/').nth(1).unwrap_or_default();
            *kinds.entry(format!("{kind} {place}").trim_end().to_owned()).or_default() += 1;
            match kind {
                "PUT" => written += request.bytes,
                "GET" => {
                    let length = server.get(&request.bucket, &request.key).map_or(0, |bytes| bytes.len() as u64);
                    read += request.range.map_or(length, |(first, last)| (last + 1).min(length).saturating_sub(first));
                }
                _ => {}
            }
        }
        let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let (requests, rounds) = (served.len(), dependent(&served));
        println!("| {rows} | {versions} | {command} | {requests} | {rounds} | {read} | {written} | {} |", kinds.join(", "));
        done
    }
}

/// Appends ten rows at a time with 30 ms latency, and measures `du` and `gc` after 100 and after 300 versions.
async fn versions(server: &Server, options: &StoreOptions) -> Result<(), Box<dyn Error>> {
    const DAY_MS: i64 = 86_400_000;
    let store = Store::open_with("s3://data/appended", options)?;
    let writer = Table::create_in(store.clone(), schema()?, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&batch(0..10)?).await?;
    let mut table = writer.commit([partition.finish().await?]).await?;
    let mut times = Vec::new();
    server.set_latency(FAR);
    for number in 2..=300 {
        let begun = Instant::now();
        let writer = table.append(WriteOptions::default()).await?;
        let mut partition = writer.partition()?;
        partition.write(&batch(10 * number..10 * number + 10)?).await?;
        table = writer.commit([partition.finish().await?]).await?;
        times.push(begun.elapsed().as_secs_f64());
        if number != 100 && number != 300 {
            continue;
        }
        let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
        let slowest = times.iter().copied().fold(0.0, f64::max);
        println!(
            "{number} versions: an append took {:.2} s (first ten), {:.2} s (last ten), {slowest:.2} s (slowest)",
            mean(&times[..10]),
            mean(&times[times.len() - 10..])
        );
        let manifests: u64 = store.list("manifests").await?.iter().map(|(_, bytes)| bytes).sum();
        println!("  {} segments, {manifests} bytes of all manifests", table.manifest().segments.len());
        let print_figure = |what: &str, begun: Instant| {
            let (took, seen) = (begun.elapsed().as_secs_f64(), server.take_requests());
            let heads = seen.iter().filter(|request| request.method == "HEAD").count();
            println!("  {what}: {took:.2} s, {} requests, {heads} of them HEAD", seen.len());
        };
        server.take_requests();
        let begun = Instant::now();
        Storage::of(&store).usage().await?;
        print_figure("du", begun);
        let settings = GcSettings { keep_versions: 5, ..GcSettings::default() };
        let begun = Instant::now();
        let plan = Storage::of(&store).plan_garbage(settings, now_ms() + 8 * DAY_MS).await?;
        print_figure(&format!("dry gc of {} objects", plan.condemn.len()), begun);
        if number < 300 {
            continue;
        }
        for days in [8, 16] {
            let begun = Instant::now();
            let plan = Storage::of(&store).collect_garbage(settings, now_ms() + days * DAY_MS).await?;
            print_figure(
                &format!("gc --keep 5, {} condemned, {} deleted", plan.condemn.len(), plan.delete.len() + plan.sweep.len()),
                begun,
            );
        }
    }
    Ok(())
}

/// Runs Lance and Parquet with the same rows on the same server.
fn peers(server: &Server) -> Result<(), Box<dyn Error>> {
    let Some(python) = std::env::var_os("TETRYS_PEERS") else {
        println!("no peers: TETRYS_PEERS names no python");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("rows.parquet");
    let first = batch(0..1_000)?;
    let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path)?, first.schema(), None)?;
    writer.write(&first)?;
    for start in (1_000..ROWS).step_by(1_000) {
        writer.write(&batch(start..start + 1_000)?)?;
    }
    writer.close()?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/remote_peers.py");
    let run = |what: &str| -> Result<(), Box<dyn Error>> {
        let mut command = std::process::Command::new(&python);
        command.arg(script).arg(what).arg(&path).env("PEERS_ENDPOINT", server.endpoint()).env("PEERS_KEY", "tester");
        command.env("PEERS_SECRET", server.secret()).env("PEERS_SAMPLES", PEER_SAMPLES.to_string());
        let status = command.env("PEERS_IN_FLIGHT", IN_FLIGHT.to_string()).env("AWS_EC2_METADATA_DISABLED", "true").status()?;
        if status.success() { Ok(()) } else { Err(format!("{what}: {status}").into()) }
    };
    server.set_latency(Latency::default());
    run("write")?;
    server.put("data", "rows.parquet", std::fs::read(folder.path().join("rows.parquet.groups"))?);
    server.set_latency(FAR);
    for what in ["lance", "parquet"] {
        server.take_requests();
        run(what)?;
        let seen = server.take_requests();
        let bytes: u64 = seen.iter().filter_map(|request| request.range).map(|(first, last)| last - first + 1).sum();
        println!("{what}: {} requests for {bytes} bytes, the opening included", seen.len());
    }
    Ok(())
}
