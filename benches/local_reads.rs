//! Measures reads from a local directory with a warm page cache against their lower bound: positioned reads of the same bytes,
//! with the same checksums and the same decompression, and nothing else.
//!
//! `cargo bench --bench local_reads [-- ROWS [ONLY] [rounds=N]]`: 2,000 rows by default; ONLY runs the reads whose name has these
//! words. Needs about 1.5 GB in a temporary directory. Each row is {camera.a..d: 80 KB of noise, camera.intrinsics f64[3,3]},
//! {lidar.points f32[20000,4] in millimetres}, {boxes.a..d f32[64,80]: 80 KB}, {radar.points: 1.3 KB}. Both sides alternate for N
//! rounds (nine); a ratio is the ratio of the medians. The lower bound reads into one buffer that it keeps.

use std::{cell::RefCell, fs::File, os::unix::fs::FileExt, sync::Arc, time::Instant};

use arrow_array::{ArrayRef, FixedSizeListArray, Float32Array, Float64Array, Int64Array, LargeBinaryArray, RecordBatch};
use arrow_schema::{DataType, Field};
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use tetrys::{
    Preset, RowLoader, Schema, Table, WriteOptions,
    format::{BlockDirectory, PagePlace, decode_page, page_range},
    read::{Layout, RowPlace},
    table::Coalesce,
};

const POINTS: usize = 20_000;
const JPEG: usize = 80 << 10;
/// Number of rows of a window: ten before the row, and the row.
const WINDOW: u64 = 11;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(2000);
    let rounds = std::env::args().find_map(|argument| argument.strip_prefix("rounds=")?.parse().ok()).unwrap_or(9);
    let is_name = |argument: &String| argument.parse::<usize>().is_err() && argument != "--bench" && !argument.contains('=');
    let only: String = std::env::args().skip(1).filter(is_name).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{rows} rows, {} threads\n", std::thread::available_parallelism()?);
    println!("| preset | read | ours /s | floor /s | ratio |\n|---|---|---|---|---|");
    for preset in [Preset::Fast, Preset::Balanced] {
        let folder = tempfile::tempdir()?;
        let table = runtime.block_on(write(folder.path().to_str().ok_or("not UTF-8")?, rows, preset))?;
        runtime.block_on(measure(&table, preset, &only, rounds))?;
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
        .group("boxes", ["a", "b", "c", "d"].map(|name| (format!("boxes.{name}"), "f32[64,80]")))
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
    for name in ["a", "b", "c", "d"] {
        columns.push((format!("boxes.{name}"), tensor(meters(rows * 64 * 80), 64 * 80)));
    }
    columns.push(("radar.points".into(), tensor(radar, 64 * 5)));
    debug_assert_eq!(columns[0].1.data_type(), &DataType::Int64);
    RecordBatch::try_from_iter(columns).unwrap()
}

async fn measure(table: &Table, preset: Preset, only: &str, rounds: usize) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = fastrand::Rng::with_seed(3);
    let rows: Vec<u64> = (0..1000).map(|_| random.u64(0..table.rows())).collect();
    let windows: Vec<u64> = rows.iter().copied().filter(|row| *row + 1 >= WINDOW).take(200).collect();
    // Reads a repeated row once, as the engine does.
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    sorted.dedup();
    for (columns, name) in [
        ("lidar.points", "lidar (320 KB)"),
        ("camera.*", "camera (4 images, 330 KB)"),
        ("camera.a", "one image (80 KB)"),
        ("boxes.*", "boxes (4 columns, 80 KB)"),
        ("radar.points", "radar (1.3 KB)"),
    ] {
        let loader = table.row_loader().columns([columns])?.cache_bytes(0);
        let floor = Floor::open(table, columns).await?;
        let floor_of = |row: u64| floor.read(&floor.layout.locate(row)?);
        let compare = async |what: &str, count: usize, ours: Ours<'_>, floor: &dyn Fn() -> Outcome| {
            let what = format!("{what}{name}");
            match what.contains(only) {
                true => compare(preset, &what, count, rounds, ours, floor).await,
                false => Ok(()),
            }
        };
        let (loader, floor) = (&loader, &floor);
        let each = || rows.iter().try_for_each(|row| floor_of(*row));
        let ours = || -> Read<'_> {
            Box::pin(async {
                for row in &rows {
                    std::hint::black_box(loader.get_row(*row).await?);
                }
                Ok(())
            })
        };
        compare("one row, ", rows.len(), &ours, &each).await?;
        let each = || windows.iter().flat_map(|row| row + 1 - WINDOW..=*row).try_for_each(floor_of);
        let ours = || -> Read<'_> {
            Box::pin(async {
                for row in &windows {
                    std::hint::black_box(loader.get_rows(*row, 1 - WINDOW as i64..=0).await?);
                }
                Ok(())
            })
        };
        compare("window of 11 rows, ", windows.len() * WINDOW as usize, &ours, &each).await?;
        let each = || sorted.iter().try_for_each(|row| floor_of(*row));
        let ours = || -> Read<'_> { Box::pin(async { loader.take(&rows).await.map(|rows| drop(std::hint::black_box(rows))) }) };
        compare("take of 1,000 rows, ", rows.len(), &ours, &each).await?;
        let each = || {
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
        compare("scan, ", table.rows() as usize, &|| Box::pin(scan(loader)), &each).await?;
    }
    Ok(())
}

type Outcome = Result<(), Box<dyn std::error::Error>>;
type Ours<'a> = &'a dyn Fn() -> Read<'a>;
type Read<'a> = std::pin::Pin<Box<dyn Future<Output = tetrys::Result<()>> + 'a>>;

/// Alternates both sides; prints the rows per second of each, and the ratio of the medians.
async fn compare(preset: Preset, what: &str, rows: usize, rounds: usize, ours: Ours<'_>, floor: &dyn Fn() -> Outcome) -> Outcome {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
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
    let (ours, floor) = (ours[ours.len() / 2], floor[floor.len() / 2]);
    println!("| {preset} | {what} | {ours:.0} | {floor:.0} | {:.2} |", ours / floor);
}

/// The lower bound: one thread, one positioned read for each block or page into one buffer, checksums, decompression.
struct Floor {
    layout: Arc<Layout>,
    types: Vec<tetrys::ColumnType>,
    /// The page that is read, if that is not the whole block.
    page: Option<usize>,
    files: std::collections::HashMap<tetrys::id::ChunkId, File>,
    buffer: RefCell<BytesMut>,
}

impl Floor {
    async fn open(table: &Table, pattern: &str) -> Result<Self, Box<dyn std::error::Error>> {
        let first = table.schema().select([pattern])?.into_iter().next().ok_or("no such column")?.id;
        let groups = table.schema().groups();
        let number = groups.iter().position(|group| group.columns.contains(&first)).ok_or("no such group")?;
        let layout = table.storage().layout(number).await?;
        let root = std::path::Path::new(table.url().trim_start_matches("file://"));
        let files = layout.runs().iter().map(|run| Ok((run.chunk, File::open(root.join(run.chunk.object_name()))?)));
        let files = files.collect::<std::io::Result<_>>()?;
        let columns = &groups[number].columns;
        let types = columns.iter().filter_map(|id| table.schema().column(*id)).map(|column| column.ty.clone()).collect();
        let is_one = columns.len() > 1 && !pattern.contains('*');
        let page = if is_one { columns.iter().position(|id| *id == first) } else { None };
        Ok(Self { layout, types, page, files, buffer: RefCell::default() })
    }

    fn read(&self, place: &RowPlace) -> Outcome {
        let run = self.layout.run(place.block)?;
        let block = self.layout.byte_range(place.block)?;
        let range = match self.page {
            Some(page) => run.page_range(place.block.block, page).ok_or("the layout has no page lengths")?,
            None => block,
        };
        let mut buffer = self.buffer.take();
        buffer.resize((range.end - range.start) as usize, 0);
        self.files[&run.chunk].read_exact_at(&mut buffer, range.start)?;
        let bytes = buffer.freeze();
        let ordinal = run.first_block + place.block.block as u32;
        let rows = run.block_rows.get(place.block.block);
        let decode = |page: usize, bytes: Bytes| {
            let (ty, chain) = (&self.types[page], &run.chains[page]);
            let place = PagePlace { seed: run.seed, ordinal, page: page as u16, rows, ty, chain };
            decode_page(bytes, place).map(|page| drop(std::hint::black_box(page)))
        };
        match self.page {
            Some(page) => decode(page, bytes.clone())?,
            None => {
                let directory = BlockDirectory::parse(&bytes, run.seed, ordinal, self.types.len())?;
                for page in 0..self.types.len() {
                    decode(page, bytes.slice(page_range(&directory, page)?))?;
                }
            }
        }
        self.buffer.replace(bytes.try_into_mut().unwrap_or_default());
        Ok(())
    }
}
