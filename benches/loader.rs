//! Measures the data loader: samples per second against `take` of the same batches, small rows against a table that fits the block
//! cache and one of 20 times the cache, the peak memory of three epochs, block shuffle from an S3 server against ranges of 8 MiB, and
//! the start of an epoch over 10^8 positions.
//!
//! `cargo bench -p tetrys --no-default-features --bench loader`. Local directory with a warm page cache; the S3 server of the tests,
//! on the loopback, with 30 ms latency and 90 MB/s for each stream. The contenders take turns for five rounds (three for S3), and a
//! ratio is the ratio of the medians of one run. With the argument `s3`, only the reads from S3 are measured.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeBinaryArray, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field};
use futures::{StreamExt, TryStreamExt, stream};
use tetrys::{
    Preset, RowLoader, Schema, Store, StoreOptions, Table, WriteOptions,
    loader::{DataLoader, LoaderOptions, Shuffle},
    store::RangeRequest,
};
use tetrys_s3_server::{Latency, Server};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const FAR: Latency = Latency { per_request: Duration::from_millis(30), bytes_per_second: Some(90_000_000) };
const IMAGE: usize = 80 << 10;
const POINTS: usize = 20_000;

fn main() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let Some(url) = std::env::args().skip_while(|argument| argument != "memory").nth(1) {
        return runtime.block_on(memory(&url));
    }
    println!("{} threads\n", std::thread::available_parallelism()?);
    if std::env::args().any(|argument| argument == "s3") {
        return runtime.block_on(from_s3());
    }
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let wide =
            write_wide(Table::create(&folder.path().join("wide").display().to_string(), wide_schema()?, fast()).await?, 600)
                .await?;
        let small = write_small(&folder.path().join("small").display().to_string(), 65_536).await?;
        println!("| samples | loader /s | `take` of the same batches /s | ratio |\n|---|---|---|---|");
        let all = 64 << 20;
        for (name, table, column, batch, cache) in [
            ("sweeps of 320 KB, batches of 32", &wide, "lidar.points", 32, all),
            ("images of 80 KB, batches of 64", &wide, "camera.jpeg", 64, all),
            ("rows of 800 bytes, batches of 1,024", &small, "words.ids", 1024, all),
            ("rows of 800 bytes, 20 times the cache", &small, "words.ids", 1024, 65_536 * 800 / 20),
        ] {
            let rows = table.row_loader().cache_bytes(cache).columns([column])?;
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 0..5 {
                let mut loader = DataLoader::new(rows.clone(), LoaderOptions::new(batch).seed(round)).await?;
                // One epoch warms the caches of both.
                let batches = epoch(&mut loader).await?.1;
                ours.push(epoch(&mut loader).await?.0);
                theirs.push(takes(&rows, &batches).await?);
            }
            let (ours, theirs) = (median(ours), median(theirs));
            println!("| {name} | {ours:.0} | {theirs:.0} | {:.2} |", ours / theirs);
        }
        println!();
        // A process of its own: this one has buffers of the measurements above.
        let child = std::process::Command::new(std::env::current_exe()?).args(["memory", wide.url()]).status()?;
        assert!(child.success());
        from_s3().await?;
        start_of_an_epoch(&small).await
    })
}

fn fast() -> WriteOptions {
    WriteOptions::default().preset(Preset::Fast)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs an epoch. Returns samples per second and the positions of each batch.
async fn epoch(loader: &mut DataLoader) -> Outcome<(f64, Vec<Vec<u64>>)> {
    let (start, mut batches) = (Instant::now(), Vec::new());
    while let Some(batch) = loader.next().await? {
        batches.push(batch.positions.clone());
        std::hint::black_box(batch);
    }
    let samples: usize = batches.iter().map(Vec::len).sum();
    Ok((samples as f64 / start.elapsed().as_secs_f64(), batches))
}

async fn takes(rows: &RowLoader, batches: &[Vec<u64>]) -> Outcome<f64> {
    let start = Instant::now();
    for batch in batches {
        std::hint::black_box(rows.take(batch).await?);
    }
    let samples: usize = batches.iter().map(Vec::len).sum();
    Ok(samples as f64 / start.elapsed().as_secs_f64())
}

/// Measures the peak memory of each of three epochs, above that before the first, in units of the bound of what is read ahead.
async fn memory(url: &str) -> Outcome<()> {
    const BOUND: u64 = 64 << 20;
    let table = Table::open(url).await?;
    let rows = table.row_loader().columns(["lidar.points"])?;
    let before = resident("VmRSS")?;
    let mut loader = DataLoader::new(rows, LoaderOptions::new(32).prefetch(BOUND)).await?;
    let mut peaks = Vec::new();
    for _ in 0..3 {
        // Sets the peak to the present size.
        std::fs::write("/proc/self/clear_refs", "5")?;
        epoch(&mut loader).await?;
        peaks.push(format!("{:.2}", (resident("VmHWM")?.saturating_sub(before)) as f64 / BOUND as f64));
    }
    let batch = 32 * POINTS as u64 * 16;
    println!("peak memory of three epochs of sweeps, in units of the bound of 64 MiB: {}", peaks.join(", "));
    println!("(a batch, which the consumer holds, has {:.2})\n", batch as f64 / BOUND as f64);
    Ok(())
}

/// Returns a size of this process in bytes.
fn resident(what: &str) -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')).ok_or("no such line")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// Returns the processor time of this process in seconds, over all threads.
fn processor_seconds() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let times = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // Fields 14 and 15 of proc(5), in ticks of 10 ms.
    let ticks: u64 = times.skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap_or(0)).sum();
    Ok(ticks as f64 / 100.0)
}

/// Compares block shuffle with reads of the same chunks in ranges of 8 MiB, 16 at a time.
async fn from_s3() -> Outcome<()> {
    let server = Server::start();
    server.create_bucket("data");
    let options = StoreOptions::only(server.options());
    let store = Store::open_with("s3://data/wide", &options)?;
    let table = write_wide(Table::create_in(store.clone(), wide_schema()?, fast()).await?, 4_000).await?;
    let rows = table.row_loader().columns(["camera.*"])?;
    let layout = table.storage().layout(1).await?;
    let payload: u64 = layout.runs().iter().map(|run| run.stored_bytes()).sum();
    let mut chunks = Vec::new();
    for run in layout.runs() {
        let starts = (0..run.chunk_bytes).step_by(8 << 20);
        chunks.extend(starts.map(|start| {
            RangeRequest::new(run.chunk.object_name(), run.chunk_bytes, start..(start + (8 << 20)).min(run.chunk_bytes))
        }));
    }
    server.set_latency(FAR);
    let (mut ours, mut theirs, mut bytes) = (Vec::new(), Vec::new(), 0);
    let (mut our_work, mut their_work) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let options = LoaderOptions::new(64).seed(round).shuffle(Shuffle::Block { rows: 100, window: 4 });
        let mut loader = DataLoader::new(rows.clone(), options).await?;
        server.take_requests();
        let (work, start) = (processor_seconds()?, Instant::now());
        let (speed, _) = epoch(&mut loader).await?;
        our_work.push((processor_seconds()? - work) / start.elapsed().as_secs_f64());
        bytes = server.take_requests().iter().filter_map(|request| request.range).map(|(first, last)| last - first + 1).sum();
        ours.push(speed * IMAGE as f64 / 1e6);
        let (work, start) = (processor_seconds()?, Instant::now());
        let reads = stream::iter(&chunks).map(|range| store.read(std::slice::from_ref(range))).buffered(16);
        let read: u64 = reads
            .try_fold(0, |sum, read| async move { Ok(sum + read.iter().map(|bytes| bytes.len() as u64).sum::<u64>()) })
            .await?;
        theirs.push(read as f64 / 1e6 / start.elapsed().as_secs_f64());
        their_work.push((processor_seconds()? - work) / start.elapsed().as_secs_f64());
    }
    server.set_latency(Latency::default());
    let (ours, theirs) = (median(ours), median(theirs));
    println!(
        "| block shuffle from S3, 30 ms and 90 MB/s a stream | loader MB/s | ranges of 8 MiB MB/s | ratio | bytes / payload |\n|---|---|---|---|---|"
    );
    println!("| images of 80 KB | {ours:.0} | {theirs:.0} | {:.2} | {:.2} |", ours / theirs, bytes as f64 / payload as f64);
    // Server and reader are one process: with all cores busy, the ratio is one of processor time and not of the network.
    let (our_work, their_work) = (median(our_work), median(their_work));
    println!("busy cores, with the server: loader {our_work:.2}, ranges {their_work:.2}\n");
    Ok(())
}

/// Measures the first batch of an epoch whose order has 10^8 draws.
async fn start_of_an_epoch(table: &Table) -> Outcome<()> {
    let rows = table.row_loader().columns(["words.ids"])?;
    let weights = vec![1.0; usize::try_from(rows.len())?];
    let options = LoaderOptions::new(32).weights(weights, true, Some(100_000_000));
    let mut loader = DataLoader::new(rows, options).await?;
    let mut times = Vec::new();
    for number in 0..20 {
        loader.set_epoch(number);
        let start = Instant::now();
        std::hint::black_box(loader.next().await?);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    println!("first batch of an epoch of 10^8 draws: {:.2} ms", median(times));
    Ok(())
}

fn wide_schema() -> tetrys::Result<Schema> {
    Schema::builder()
        .index("frame", "i64")
        .group("lidar", [("lidar.points", format!("f32[{POINTS},4]"))])
        .group("camera", [("camera.jpeg", "binary")])
        .build()
}

async fn write_wide(writer: tetrys::TableWriter, rows: usize) -> Outcome<Table> {
    let mut partition = writer.partition()?;
    let mut random = fastrand::Rng::with_seed(7);
    for start in (0..rows).step_by(20) {
        let count = 20.min(rows - start);
        let points = Float32Array::from_iter_values((0..count * POINTS * 4).map(|_| random.f32() * 80.0));
        let images: Vec<Vec<u8>> = (0..count).map(|_| std::iter::repeat_with(|| random.u8(..)).take(IMAGE).collect()).collect();
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        let columns: [(&str, ArrayRef); 3] = [
            ("frame", Arc::new(Int64Array::from_iter_values((start..start + count).map(|row| row as i64)))),
            ("lidar.points", Arc::new(FixedSizeListArray::try_new(item, (POINTS * 4) as i32, Arc::new(points), None)?)),
            ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values(images))),
        ];
        partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    }
    Ok(writer.commit([partition.finish().await?]).await?)
}

async fn write_small(url: &str, rows: usize) -> Outcome<Table> {
    let schema = Schema::builder().index("frame", "i64").group("words", [("words.ids", "u32[200]")]).build()?;
    let writer = Table::create(url, schema, WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    let mut random = fastrand::Rng::with_seed(7);
    for start in (0..rows).step_by(4096) {
        let count = 4096.min(rows - start);
        let words = UInt32Array::from_iter_values((0..count * 200).map(|_| random.u32(0..50_000)));
        let item = Arc::new(Field::new("item", DataType::UInt32, true));
        let columns: [(&str, ArrayRef); 2] = [
            ("frame", Arc::new(Int64Array::from_iter_values((start..start + count).map(|row| row as i64)))),
            ("words.ids", Arc::new(FixedSizeListArray::try_new(item, 200, Arc::new(words), None)?)),
        ];
        partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    }
    Ok(writer.commit([partition.finish().await?]).await?)
}
