//! Measures reads from a local directory with an empty page cache, as training does on data larger than memory: `take` of 64
//! random rows, with `cold_reads` = `cached` (the default) and `direct`, against plain files of the same bytes that are read by one
//! thread and by 16 threads.
//!
//! `cargo bench --bench cold_reads [-- ROWS]`: 1,000 rows by default. Needs about 850 MB in a temporary directory. A pass reads
//! each row once, in random order or in the order of the table, 64 rows at a time. Before each pass the page cache is emptied: all of it where this process may
//! write to `/proc/sys/vm/drop_caches`, else the pages of the files that are read. The contenders take turns for five rounds, and a
//! ratio is the ratio of the medians.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field};
use tetrys::{Preset, Schema, StoreOptions, Table, WriteOptions};

const POINTS: usize = 20_000;
const IMAGE: usize = 80 << 10;
const ROUNDS: usize = 5;
const BATCH: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let (table, files) = (folder.path().join("table"), folder.path().join("files"));
    fs::create_dir(&files)?;
    let table = runtime.block_on(write(&table.display().to_string(), &files, rows))?;
    println!("{rows} rows, {} threads; page cache: {}\n", std::thread::available_parallelism()?, empty_cache(folder.path())?);
    let direct = StoreOptions::new([("cold_reads", "direct")]);
    let direct = runtime.block_on(Table::open_with(table.url(), &direct))?;
    println!(
        "| read | cached /s | direct /s | 16 threads, files /s | 1 thread, files /s | of 16 threads: cached; direct | cached, of 1 thread |"
    );
    println!("|---|---|---|---|---|---|---|");
    let cases = [
        ("random sweeps of 320 KB", "lidar.points", true),
        ("random images of 80 KB", "camera.jpeg", true),
        ("sweeps in order", "lidar.points", false),
        ("images in order", "camera.jpeg", false),
    ];
    for (name, column, random) in cases {
        let mut order: Vec<u64> = (0..rows as u64).collect();
        let mut speeds = [const { Vec::new() }; 4];
        for round in 0..ROUNDS {
            if random {
                fastrand::Rng::with_seed(round as u64).shuffle(&mut order);
            }
            let loader_of = |table: &Table| table.row_loader().columns([column]).map(|loader| loader.cache_bytes(0));
            let loaders = [loader_of(&table)?, loader_of(&direct)?];
            for loader in &loaders {
                // Everything but the payload is in memory: layouts are read once a process.
                runtime.block_on(loader.take(&order[..1]))?;
            }
            for (contender, speeds) in speeds.iter_mut().enumerate() {
                empty_cache(folder.path())?;
                let start = Instant::now();
                for batch in order.chunks(BATCH) {
                    match contender {
                        0 | 1 => drop(std::hint::black_box(runtime.block_on(loaders[contender].take(batch))?)),
                        2 => read_files(&files, column, batch, 16)?,
                        _ => read_files(&files, column, batch, 1)?,
                    }
                }
                speeds.push(rows as f64 / start.elapsed().as_secs_f64());
            }
        }
        let [cached, direct, many, one] = speeds.map(median);
        let (of_many, of_one) = ([cached / many, direct / many], cached / one);
        println!(
            "| {name} | {cached:.0} | {direct:.0} | {many:.0} | {one:.0} | {:.2}; {:.2} | {of_one:.2} |",
            of_many[0], of_many[1]
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn file(folder: &Path, column: &str, row: u64) -> PathBuf {
    folder.join(format!("{column}.{row}"))
}

/// Reads the files of some rows, shared by threads.
fn read_files(folder: &Path, column: &str, rows: &[u64], threads: usize) -> std::io::Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> std::io::Result<()> {
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            std::hint::black_box(fs::read(file(folder, column, *row))?);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no thread panics"))
    })
}

/// Empties the page cache, and says how.
fn empty_cache(folder: &Path) -> std::io::Result<&'static str> {
    rustix::fs::sync();
    if fs::write("/proc/sys/vm/drop_caches", "1").is_ok() {
        return Ok("all of it is dropped before each pass");
    }
    for entry in walk(folder)? {
        rustix::fs::fadvise(File::open(entry)?, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok("the pages of the files are dropped before each pass")
}

fn walk(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(walk(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Writes a table, and beside it a file for each value.
async fn write(url: &str, files: &Path, rows: usize) -> Result<Table, Box<dyn std::error::Error>> {
    let schema = Schema::builder()
        .index("frame", "i64")
        .group("lidar", [("lidar.points", format!("f32[{POINTS},4]"))])
        .group("camera", [("camera.jpeg", "binary"), ("camera.exposure", "f32")])
        .build()?;
    let writer = Table::create(url, schema, WriteOptions::default().preset(Preset::Fast)).await?;
    let mut partition = writer.partition()?;
    let mut random = fastrand::Rng::with_seed(7);
    for start in (0..rows).step_by(20) {
        let count = 20.min(rows - start);
        let points = Float32Array::from_iter_values((0..count * POINTS * 4).map(|_| random.f32() * 80.0));
        let images: Vec<Vec<u8>> = (0..count).map(|_| std::iter::repeat_with(|| random.u8(..)).take(IMAGE).collect()).collect();
        for (row, image) in (start as u64..).zip(&images) {
            let first = (row as usize - start) * POINTS * 4;
            let bytes: Vec<u8> =
                points.values()[first..first + POINTS * 4].iter().flat_map(|value| value.to_le_bytes()).collect();
            fs::write(file(files, "lidar.points", row), bytes)?;
            fs::write(file(files, "camera.jpeg", row), image)?;
        }
        let item = Arc::new(Field::new("item", DataType::Float32, true));
        let columns: [(&str, ArrayRef); 4] = [
            ("frame", Arc::new(Int64Array::from_iter_values((start..start + count).map(|row| row as i64)))),
            ("lidar.points", Arc::new(FixedSizeListArray::try_new(item, (POINTS * 4) as i32, Arc::new(points), None)?)),
            ("camera.jpeg", Arc::new(LargeBinaryArray::from_iter_values(images))),
            ("camera.exposure", Arc::new(Float32Array::from(vec![0.01; count]))),
        ];
        partition.write(&RecordBatch::try_from_iter(columns)?).await?;
    }
    Ok(writer.commit([partition.finish().await?]).await?)
}
