//! Measures reads from a local directory with a warm page cache against their lower bound: positioned reads of the same bytes,
//! with the same checksums and the same decompression, and nothing else.
//!
//! `cargo bench --bench local_reads [-- ROWS [ONLY]]`: 2,000 rows by default; ONLY runs the reads whose name has these words.
//! Needs about 1.3 GB in a temporary directory. Each row is {camera.a..d: 80 KB of noise, camera.intrinsics f64[3,3]},
//! {lidar.points f32[20000,4] in millimetres}, {radar.points}. Both sides alternate for five rounds; a ratio is the ratio of the
//! medians.

use std::{fs::File, os::unix::fs::FileExt, sync::Arc, time::Instant};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field};
use futures::StreamExt;
use tetrys::{
    Preset, RowLoader, Schema, Table, WriteOptions,
    format::{BlockDirectory, PagePlace, decode_page, page_range},
    read::{Layout, RowPlace},
    table::Coalesce,
};

const POINTS: usize = 20_000;
const JPEG: usize = 80 << 10;
const ROUNDS: usize = 5;
/// Number of rows of a window.
const WINDOW: u64 = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(2000);
    let only: String =
        std::env::args().skip(1).filter(|argument| argument.parse::<usize>().is_err() && argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{rows} rows, {} threads\n", std::thread::available_parallelism()?);
    println!("| preset | read | ours /s | floor /s | ratio |\n|---|---|---|---|---|");
    for preset in [Preset::Fast, Preset::Balanced] {
        let folder = tempfile::tempdir()?;
        let table = runtime.block_on(write(folder.path().to_str().ok_or("not UTF-8")?, rows, preset))?;
        runtime.block_on(measure(&table, preset, &only))?;
    }
    Ok(())
}

async fn write(url: &str, rows: usize, preset: Preset) -> tetrys::Result<Table> {
    let cameras = ["a", "b", "c", "d"].map(|name| (format!("camera.{name}"), "binary".to_owned()));
    let intrinsics = [("camera.intrinsics".to_owned(), "f64[3,3]".to_owned())];
    let schema = Schema::builder()
        .index("log", "i64")
        .index("frame", "i64")
        .group("camera", cameras.into_iter().chain(intrinsics))
        .group("lidar", [("lidar.points", format!("f32[{POINTS},4]"))])
        .group("radar", [("radar.points", "f32[64,5]")])
        .sequence_by(["log"])
        .build()?;
    let writer = Table::create(url, schema, WriteOptions::default().preset(preset)).await?;
    let mut partition = writer.partition()?;
    let mut random = fastrand::Rng::with_seed(7);
    for start in (0..rows).step_by(20) {
        let count = 20.min(rows - start);
        partition.write(&batch(start, count, &mut random)).await?;
    }
    writer.commit([partition.finish().await?]).await
}

fn batch(start: usize, rows: usize, random: &mut fastrand::Rng) -> RecordBatch {
    let tensor = |values: ArrayRef, size: usize| -> ArrayRef {
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(FixedSizeListArray::try_new(item, size as i32, values, None).unwrap())
    };
    let ints = |f: &dyn Fn(usize) -> i64| Arc::new(Int64Array::from_iter_values((start..start + rows).map(f))) as ArrayRef;
    let mut columns: Vec<(String, ArrayRef)> =
        vec![("log".into(), ints(&|row| row as i64 / 250)), ("frame".into(), ints(&|row| row as i64))];
    for name in ["a", "b", "c", "d"] {
        let mut image = vec![0; JPEG];
        let images: Vec<Vec<u8>> = (0..rows)
            .map(|_| {
                random.fill(&mut image);
                image.clone()
            })
            .collect();
        columns.push((format!("camera.{name}"), Arc::new(LargeBinaryArray::from_iter_values(images))));
    }
    let mut meters = |count: usize| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values((0..count).map(|_| (random.i32(-80_000..80_000) as f32) * 0.001)))
    };
    let (lidar, radar) = (meters(rows * POINTS * 4), meters(rows * 64 * 5));
    columns.push(("camera.intrinsics".into(), tensor(Arc::new(Float64Array::from(vec![1.5; rows * 9])), 9)));
    columns.push(("lidar.points".into(), tensor(lidar, POINTS * 4)));
    columns.push(("radar.points".into(), tensor(radar, 64 * 5)));
    debug_assert_eq!(columns[0].1.data_type(), &DataType::Int64);
    RecordBatch::try_from_iter(columns).unwrap()
}

async fn measure(table: &Table, preset: Preset, only: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = fastrand::Rng::with_seed(3);
    let rows: Vec<u64> = (0..1000).map(|_| random.u64(0..table.rows())).collect();
    let asked = |what: &str| what.contains(only);
    for (group, name) in [("lidar", "lidar"), ("camera", "camera (4 images)"), ("radar", "radar")] {
        let loader = table.row_loader().columns([format!("{group}.*")])?.cache_bytes(0);
        let floor = Floor::open(table, group).await?;
        let wide = group != "radar";
        let each = || rows.iter().try_for_each(|row| floor.read(&floor.layout.locate(*row)?));
        let what = format!("one row of {name}");
        if asked(&what) {
            let ours = async || {
                for row in &rows {
                    std::hint::black_box(loader.get_row(*row).await?);
                }
                Ok(())
            };
            compare(preset, &what, rows.len(), ours, each).await?;
        }
        let what = format!("window of ten rows of {name}");
        if asked(&what) && wide {
            let windows: Vec<u64> = rows.iter().copied().filter(|row| *row >= WINDOW).take(200).collect();
            let ours = async || {
                for row in &windows {
                    std::hint::black_box(loader.get_rows(*row, 1 - WINDOW as i64..=0).await?);
                }
                Ok(())
            };
            let each = || {
                let mut read = windows.iter().flat_map(|row| row + 1 - WINDOW..=*row);
                read.try_for_each(|row| floor.read(&floor.layout.locate(row)?))
            };
            compare(preset, &what, windows.len() * WINDOW as usize, ours, each).await?;
        }
        let what = format!("take of 1,000 rows of {name}");
        if asked(&what) && wide {
            let ours = async || loader.take(&rows).await.map(|rows| drop(std::hint::black_box(rows)));
            // Reads a repeated row once, as the engine does.
            let mut sorted = rows.clone();
            sorted.sort_unstable();
            sorted.dedup();
            compare(preset, &what, rows.len(), ours, || {
                sorted.iter().try_for_each(|row| floor.read(&floor.layout.locate(*row)?))
            })
            .await?;
        }
        let what = format!("scan of {name}");
        if asked(&what) && wide {
            let every = || {
                let mut last = None;
                for row in 0..table.rows() {
                    let place = floor.layout.locate(row)?;
                    if last != Some(place.block) {
                        floor.read(&place)?;
                    }
                    last = Some(place.block);
                }
                Ok(())
            };
            compare(preset, &what, table.rows() as usize, async || scan(&loader).await, every).await?;
        }
    }
    Ok(())
}

/// Alternates both sides; prints the rows per second of each, and the ratio of the medians.
async fn compare(
    preset: Preset,
    what: &str,
    rows: usize,
    ours: impl AsyncFn() -> tetrys::Result<()>,
    floor: impl Fn() -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        ours().await?;
        left.push(rows as f64 / start.elapsed().as_secs_f64());
        let start = Instant::now();
        floor()?;
        right.push(rows as f64 / start.elapsed().as_secs_f64());
    }
    print(preset, what, left, right);
    Ok(())
}

async fn scan(loader: &RowLoader) -> tetrys::Result<()> {
    let batches = loader.clone().coalesce(Coalesce::LOCAL);
    let mut batches = std::pin::pin!(batches.scan(32));
    while let Some(batch) = batches.next().await {
        std::hint::black_box(batch?);
    }
    Ok(())
}

fn print(preset: Preset, what: &str, mut ours: Vec<f64>, mut floor: Vec<f64>) {
    ours.sort_by(f64::total_cmp);
    floor.sort_by(f64::total_cmp);
    let (ours, floor) = (ours[ROUNDS / 2], floor[ROUNDS / 2]);
    println!("| {preset} | {what} | {ours:.0} | {floor:.0} | {:.2} |", ours / floor);
}

/// The lower bound: one thread, one positioned read for each block into a new buffer, checksums, decompression.
struct Floor {
    layout: Arc<Layout>,
    types: Vec<tetrys::ColumnType>,
    files: std::collections::HashMap<tetrys::id::ChunkId, File>,
}

impl Floor {
    async fn open(table: &Table, group: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let number = table.schema().groups().iter().position(|other| other.name == group).ok_or("no such group")?;
        let layout = table.layout(number).await?;
        let root = std::path::Path::new(table.url().trim_start_matches("file://"));
        let files = layout.runs().iter().map(|run| Ok((run.chunk, File::open(root.join(run.chunk.object_name()))?)));
        let files = files.collect::<std::io::Result<_>>()?;
        let columns = &table.schema().groups()[number].columns;
        let types = columns.iter().filter_map(|id| table.schema().column(*id)).map(|column| column.ty.clone()).collect();
        Ok(Self { layout, types, files })
    }

    fn read(&self, place: &RowPlace) -> Result<(), Box<dyn std::error::Error>> {
        let run = self.layout.run(place.block)?;
        let range = self.layout.byte_range(place.block)?;
        let mut bytes = vec![0; (range.end - range.start) as usize];
        self.files[&run.chunk].read_exact_at(&mut bytes, range.start)?;
        let bytes = bytes::Bytes::from(bytes);
        let ordinal = run.first_block + place.block.block as u32;
        let directory = BlockDirectory::parse(&bytes, run.seed, ordinal, self.types.len())?;
        for (page, (ty, chain)) in self.types.iter().zip(run.chains.iter()).enumerate() {
            let place = PagePlace { seed: run.seed, ordinal, page: page as u16, rows: directory.rows, ty, chain };
            std::hint::black_box(decode_page(bytes.slice(page_range(&directory, page)?), place)?);
        }
        Ok(())
    }
}
