//! Compares block targets of 4 to 64 KiB for small rows: reads of single rows and random batches, a scan, and the stored size.
//!
//! `cargo bench --bench small_rows [-- ROWS]`: 65,536 rows by default, in sequences of 256, with two groups that are read
//! separately: `words` is u32[200] (small numbers, 800 bytes for each row), `pose` a position, a rotation, a speed and a time
//! (112 bytes). Local directory, warm page cache; the targets alternate for three rounds, and figures are medians. Compare
//! figures of one run only.

use std::{sync::Arc, time::Instant};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow_schema::Field;
use futures::StreamExt;
use tetrys::{
    Preset, RowLoader, Schema, Table, WriteOptions,
    table::{Coalesce, Cuts},
};

const ROUNDS: usize = 3;
const BATCH: usize = 1000;
const SEQUENCE: usize = 256;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(65_536);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{rows} rows, {} threads\n", std::thread::available_parallelism()?);
    println!("| preset | group | target KiB | single rows /s | rows /s in batches of {BATCH} | scan rows /s | stored MB |");
    println!("|---|---|---|---|---|---|---|");
    for preset in [Preset::Balanced, Preset::Fast] {
        let mut tables = Vec::new();
        for kib in [4, 8, 16, 32, 64] {
            let folder = tempfile::tempdir()?;
            let url = folder.path().to_str().ok_or("not UTF-8")?.to_owned();
            let table = runtime.block_on(write(&url, rows, preset, kib << 10))?;
            tables.push((kib, table, folder));
        }
        for group in ["words", "pose"] {
            let mut figures = vec![[const { Vec::new() }; 3]; tables.len()];
            for _ in 0..ROUNDS {
                for ((_, table, _), figures) in tables.iter().zip(&mut figures) {
                    let measured = runtime.block_on(measure(table, group))?;
                    figures.iter_mut().zip(measured).for_each(|(all, one)| all.push(one));
                }
            }
            for ((kib, table, _), figures) in tables.iter().zip(figures) {
                let [single, batch, scan] = figures.map(|mut all| {
                    all.sort_by(f64::total_cmp);
                    all[ROUNDS / 2]
                });
                let stored = runtime.block_on(stored(table, group))?;
                println!("| {preset} | {group} | {kib} | {single:.0} | {batch:.0} | {scan:.0} | {:.2} |", stored as f64 / 1e6);
            }
        }
    }
    Ok(())
}

async fn write(url: &str, rows: usize, preset: Preset, target: u64) -> tetrys::Result<Table> {
    let schema = Schema::builder()
        .index("log", "i64")
        .index("frame", "i64")
        .group("words", [("words.ids", "u32[200]")])
        .group(
            "pose",
            [("pose.position", "f64[3]"), ("pose.rotation", "f64[3,3]"), ("pose.speed", "f32[2]"), ("pose.time", "i64")],
        )
        .sequence_by(["log"])
        .build()?;
    let cuts = Cuts { block_min: target / 2, block_target: target, block_max: target * 4, ..Cuts::default() };
    let writer = Table::create(url, schema, WriteOptions::default().preset(preset).cuts(cuts)).await?;
    let mut partition = writer.partition()?;
    let mut random = fastrand::Rng::with_seed(7);
    for start in (0..rows).step_by(1024) {
        partition.write(&batch(start, 1024.min(rows - start), &mut random)).await?;
    }
    writer.commit([partition.finish().await?]).await
}

fn batch(start: usize, rows: usize, random: &mut fastrand::Rng) -> RecordBatch {
    let tensor = |values: ArrayRef, size: usize| -> ArrayRef {
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(FixedSizeListArray::try_new(item, size as i32, values, None).unwrap())
    };
    // The numbers of words of a text: a few are frequent, most are rare.
    let words: Vec<u32> = (0..rows * 200).map(|_| (random.f64().powi(4) * 30_000.0) as u32).collect();
    let (mut positions, mut rotations, mut speeds, mut times) = (vec![], vec![], vec![], vec![]);
    for row in start..start + rows {
        let (log, t) = (row / SEQUENCE, (row % SEQUENCE) as f64 * 0.1);
        let heading = 0.05 * t + log as f64;
        let (sin, cos) = heading.sin_cos();
        positions.extend([10.0 * t * cos + 1000.0 * log as f64, 10.0 * t * sin, 0.01 * random.f64()]);
        rotations.extend([cos, -sin, 0.0, sin, cos, 0.0, 0.0, 0.0, 1.0]);
        speeds.extend([10.0 + random.f32(), 0.1 * random.f32()]);
        times.push(1_600_000_000_000_000_000 + row as i64 * 100_000_000 + random.i64(0..1_000_000));
    }
    let ints = |f: &dyn Fn(usize) -> i64| Arc::new(Int64Array::from_iter_values((start..start + rows).map(f))) as ArrayRef;
    RecordBatch::try_from_iter([
        ("log", ints(&|row| (row / SEQUENCE) as i64)),
        ("frame", ints(&|row| row as i64)),
        ("words.ids", tensor(Arc::new(UInt32Array::from(words)), 200)),
        ("pose.position", tensor(Arc::new(Float64Array::from(positions)), 3)),
        ("pose.rotation", tensor(Arc::new(Float64Array::from(rotations)), 9)),
        ("pose.speed", tensor(Arc::new(Float32Array::from(speeds)), 2)),
        ("pose.time", Arc::new(Int64Array::from(times))),
    ])
    .unwrap()
}

/// Measures rows per second of single reads, of batches and of a scan.
async fn measure(table: &Table, group: &str) -> tetrys::Result<[f64; 3]> {
    let mut random = fastrand::Rng::with_seed(3);
    let loader = table.row_loader().columns([format!("{group}.*")])?.cache_bytes(0);
    let singles: Vec<u64> = (0..2000).map(|_| random.u64(0..table.rows())).collect();
    let start = Instant::now();
    for row in &singles {
        std::hint::black_box(loader.get_row(*row).await?);
    }
    let single = singles.len() as f64 / start.elapsed().as_secs_f64();
    let batches: Vec<Vec<u64>> = (0..10).map(|_| (0..BATCH).map(|_| random.u64(0..table.rows())).collect()).collect();
    let start = Instant::now();
    for rows in &batches {
        std::hint::black_box(loader.take(rows).await?);
    }
    let batch = (batches.len() * BATCH) as f64 / start.elapsed().as_secs_f64();
    let start = Instant::now();
    scan(&loader).await?;
    Ok([single, batch, table.rows() as f64 / start.elapsed().as_secs_f64()])
}

async fn scan(loader: &RowLoader) -> tetrys::Result<()> {
    let mut batches = std::pin::pin!(loader.clone().coalesce(Coalesce::LOCAL).scan(1024));
    while let Some(batch) = batches.next().await {
        std::hint::black_box(batch?);
    }
    Ok(())
}

/// Returns the bytes of all chunks of a group.
async fn stored(table: &Table, group: &str) -> tetrys::Result<u64> {
    let number = table.schema().groups().iter().position(|other| other.name == group);
    let layout = table.storage().layout(number.unwrap_or_default()).await?;
    Ok(layout.runs().iter().map(|run| run.chunk_bytes).sum())
}
