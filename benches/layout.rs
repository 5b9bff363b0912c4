//! Measures the size of the layout of a large table of wide rows, on disk and in memory, and the time of a cold reader to its
//! first row.
//!
//! `cargo bench --no-default-features --bench layout [-- ROWS]`: 1 M and 20 M rows with four groups of one wide column each, one
//! row for each block, stored blocks of 80 KB ± 30 %, chunks of 64 MiB, sequences of 256 rows.
//!
//! The manifest, the index, the layouts, and the first chunk of each group (32 readable rows) are real: the writers of the crate
//! write them into a local directory. All other chunks (80 GB for each group of 1 M rows) do not exist: their names are made-up
//! hashes, and their lengths are random. The hashes objects, which readers of rows do not load, do not exist either. So opening,
//! layouts, plans and the first row cost what they cost in a real table. A separate process opens the table; the page cache is
//! warm. The locator of a row is one i64 of the frame.

use std::{process::Command, sync::Arc, time::Instant};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tetrys::{
    Preset, Schema, Store, Table,
    codec::Chain,
    commit,
    format::{
        ChunkSeed, ChunkWriter, ColumnBytes, EncodedBlock, GroupSegment, IndexStatistics, IndexWriter, LayoutRun, LayoutWriter,
        MAX_SEGMENT_ROWS, Manifest, PackedLengths, PageBuilder, Segment, encode_page, logical_block_hash,
    },
    id::{ChunkId, Hash, ObjectRef, Salt},
    table::Cuts,
};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const GROUPS: usize = 4;
/// Stored bytes of a block in units of 8: the mean, and the largest deviation from it.
const MEAN: u32 = 10_000;
const SPREAD: u32 = 3_000;
/// Stored bytes of a chunk, and the number of rows of a real chunk.
const CHUNK: u64 = 64 << 20;
const REAL: usize = 32;
const SEQUENCE: u64 = 256;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    if let [command, url] = arguments.as_slice()
        && command == "open"
    {
        return runtime.block_on(open(url));
    }
    let sizes = match arguments.first() {
        Some(rows) => vec![rows.parse()?],
        None => vec![1_000_000, 20_000_000],
    };
    println!(
        "| rows | generated s | layout B a row on disk | index MB | manifest KB | open ms | first row ms | hops | layout B a row \
         in memory | with the locator | plan of a random row us | VmHWM MB |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for rows in sizes {
        let folder = tempfile::tempdir()?;
        let url = folder.path().to_str().ok_or("not UTF-8")?;
        let start = Instant::now();
        let manifest = runtime.block_on(generate(&Store::open(url)?, rows))?;
        let seconds = start.elapsed().as_secs_f64();
        let child = Command::new(std::env::current_exe()?).args(["open", url]).output()?;
        if !child.status.success() {
            return Err(String::from_utf8_lossy(&child.stderr).into());
        }
        let layouts = manifest.segments.iter().flat_map(|segment| &segment.groups).map(|group| group.layout.bytes);
        println!(
            "| {rows} | {seconds:.1} | {:.2} | {:.2} | {:.1} | {}",
            layouts.sum::<u64>() as f64 / rows as f64,
            manifest.segments.iter().map(|segment| segment.index.bytes).sum::<u64>() as f64 / 1e6,
            manifest.to_bytes()?.0.len() as f64 / 1e3,
            String::from_utf8_lossy(&child.stdout).trim()
        );
    }
    Ok(())
}

/// Opens the table, reads its first row and plans others, in this process, which does nothing else.
async fn open(url: &str) -> Outcome<()> {
    let start = Instant::now();
    let table = Table::open(url).await?;
    let opened = start.elapsed().as_secs_f64();
    let loader = table.row_loader();
    let row = loader.get_row(0).await?;
    let first = start.elapsed().as_secs_f64();
    for group in 0..GROUPS {
        assert_eq!(row.bytes(&format!("group{group}.payload"))?, payload(group, 0));
    }
    let mut memory = 0;
    for group in 0..GROUPS {
        memory += table.storage().layout(group).await?.memory_bytes();
    }
    let mut random = fastrand::Rng::with_seed(5);
    let planned = Instant::now();
    for _ in 0..1000 {
        let explained = loader.explain_take(&[random.u64(0..table.rows())]).await?;
        assert_eq!((explained.groups.len(), explained.ranges, explained.hops), (GROUPS, GROUPS, 1));
    }
    let planned = planned.elapsed().as_secs_f64() / 1000.0;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    let each = memory as f64 / table.rows() as f64;
    println!(
        "{:.1} | {:.1} | 4 | {each:.2} | {:.2} | {:.1} | {:.0} |",
        opened * 1e3,
        first * 1e3,
        each + size_of::<i64>() as f64,
        planned * 1e6,
        peak.unwrap_or(f64::NAN) / 1e3
    );
    Ok(())
}

async fn generate(store: &Store, rows: u64) -> Outcome<Manifest> {
    let mut schema = Schema::builder().index("log", "i64").index("frame", "i64").sequence_by(["log"]).order_by(["frame"]);
    for group in 0..GROUPS {
        schema = schema.group(format!("group{group}"), [(format!("group{group}.payload"), "binary")]);
    }
    let schema = schema.build()?;
    let mut random = fastrand::Rng::with_seed(1);
    let mut segments = Vec::new();
    for first_row in (0..rows).step_by(MAX_SEGMENT_ROWS as usize) {
        let rows = MAX_SEGMENT_ROWS.min(rows - first_row);
        let mut groups = Vec::new();
        for group in 0..GROUPS {
            let real = if first_row == 0 { Some(real_run(store, group).await?) } else { None };
            groups.push(layout(store, rows, real, &mut random).await?);
        }
        let (index, statistics, sequences) = index(store, &schema, first_row, rows).await?;
        segments.push(Segment { first_row, rows, sequences, continues: false, index, tail: None, statistics, groups });
    }
    let manifest = Manifest {
        table: Uuid::from_u128(1),
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
    Ok(manifest)
}

async fn index(store: &Store, schema: &Schema, first: u64, rows: u64) -> Outcome<(ObjectRef, Vec<IndexStatistics>, u64)> {
    let mut writer = IndexWriter::new(Vec::new(), schema, false)?;
    let value = |column: usize, row: u64| if column == 0 { row / SEQUENCE } else { row } as i64;
    for start in (first..first + rows).step_by(1 << 16) {
        let end = (start + (1 << 16)).min(first + rows);
        let column = |number| Arc::new(Int64Array::from_iter_values((start..end).map(|row| value(number, row)))) as ArrayRef;
        writer.write(&RecordBatch::try_from_iter([("log", column(0)), ("frame", column(1))])?)?;
    }
    let sequences: Vec<u32> = (0..rows).step_by(SEQUENCE as usize).map(|start| SEQUENCE.min(rows - start) as u32).collect();
    let object = put(store, "index", writer.finish(&sequences)?).await?;
    let statistics = schema.index().enumerate().map(|(number, column)| IndexStatistics {
        column: column.id,
        min: Some(value(number, first).into()),
        max: Some(value(number, first + rows - 1).into()),
        nulls: 0,
    });
    Ok((object, statistics.collect(), sequences.len() as u64))
}

/// Returns a layout of `rows` rows that begins with the run of the real chunk, if given.
async fn layout(store: &Store, rows: u64, real: Option<LayoutRun>, random: &mut fastrand::Rng) -> Outcome<GroupSegment> {
    let mut left = rows - real.as_ref().map_or(0, |run| run.rows);
    let mut runs = Vec::from_iter(real);
    while left > 0 {
        let (mut lengths, mut bytes) = (Vec::new(), 0);
        while bytes < CHUNK && (lengths.len() as u64) < left {
            lengths.push(random.u32(MEAN - SPREAD..=MEAN + SPREAD));
            bytes += 8 * u64::from(lengths[lengths.len() - 1]);
        }
        left -= lengths.len() as u64;
        let chunk = ChunkId(Hash::of(&random.u64(..).to_le_bytes()));
        runs.push(run(chunk, ChunkSeed(random.u64(..)), bytes + 64 + 8 * lengths.len() as u64, 40, &lengths)?);
    }
    let stored_bytes = runs.iter().map(LayoutRun::stored_bytes).sum();
    Ok(GroupSegment {
        layout: put(store, "layout", LayoutWriter::write(&runs)?).await?,
        hashes: ObjectRef { blake3: Hash::of(b"not written"), bytes: 32 * rows },
        blocks: rows,
        runs: runs.len() as u64,
        stored_bytes,
        columns: vec![ColumnBytes { stored: stored_bytes, logical: stored_bytes }],
    })
}

fn run(chunk: ChunkId, seed: ChunkSeed, chunk_bytes: u64, first_offset: u64, lengths: &[u32]) -> Outcome<LayoutRun> {
    let pack = |numbers: &[u32]| {
        let mut node = Vec::new();
        PackedLengths::write(numbers, &mut node);
        PackedLengths::from_bytes(&node, numbers.len())
    };
    Ok(LayoutRun {
        chunk,
        owner: 0,
        chunk_bytes,
        seed,
        chains: Arc::from([Chain::PLAIN]),
        first_block: 0,
        first_offset,
        rows: lengths.len() as u64,
        lengths: pack(lengths)?,
        block_rows: pack(&vec![1; lengths.len()])?,
        pages: None,
    })
}

/// Writes a real chunk; returns its run.
async fn real_run(store: &Store, group: usize) -> Outcome<LayoutRun> {
    let ty = "binary".parse()?;
    let pages = (0..REAL).map(|row| {
        let values = payload(group, row);
        let mut builder = PageBuilder::new(&ty);
        builder.push_validity(0, 1, None);
        builder.push_lengths(1, [values.len() as u32]);
        builder.push_values(&values);
        builder.finish()
    });
    let pages: Vec<_> = pages.collect();
    let hashes: Vec<Hash> = pages.iter().map(|page| logical_block_hash(1, [("binary", page)].into_iter())).collect();
    let mut writer = ChunkWriter::new(&[(ty, Chain::PLAIN)], &hashes, 0, Salt::NONE)?;
    for page in &pages {
        writer.push(&EncodedBlock { rows: 1, pages: vec![encode_page(&Chain::PLAIN, page)?] })?;
    }
    let chunk = writer.finish();
    let run = run(chunk.id, chunk.seed, chunk.bytes.len() as u64, chunk.first_offset, &chunk.lengths)?;
    store.put_content(&chunk.id.object_name(), chunk.bytes.into()).await?;
    Ok(run)
}

fn payload(group: usize, row: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed((group * REAL + row) as u64);
    let bytes = 8 * random.u32(MEAN - SPREAD..=MEAN + SPREAD) as usize;
    std::iter::repeat_with(|| random.u8(..)).take(bytes).collect()
}

async fn put(store: &Store, folder: &str, bytes: Vec<u8>) -> Outcome<ObjectRef> {
    let object = ObjectRef { blake3: Hash::of(&bytes), bytes: bytes.len() as u64 };
    store.put_content(&format!("{folder}/{}.parquet", object.blake3), bytes.into()).await?;
    Ok(object)
}
