//! Measures the import of an L5 data set against its lower bound: decoding its zarr, and encoding the same bytes with the codecs
//! of the preset. Also compares the chain of each column with the best one that the preset allows, and measures the memory for
//! data sets of growing size.
//!
//! `cargo bench --bench ingest [-- SCENES]`: 1,650 scenes by default, with 409,200 frames and 32 million agents; needs about 10
//! GB in a temporary directory. The comparison uses a tenth of the scenes and one thread, and alternates three rounds; figures
//! are medians.

use std::{path::Path, process::Command, sync::Arc, time::Instant};

use tetrys::{
    Preset, Store, Table, WriteOptions,
    format::{BlockDirectory, CanonicalPage, PagePlace, decode_page, encode_page, page_range},
    ingest::IngestOptions,
};
use tetrys_l5::{
    Dataset, GeneratorSettings, ingest,
    zarr::array::{Array, Cursor},
    zarr::source::ZarrGroup,
};

#[path = "../tests/common/chains.rs"]
mod chains;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 3;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if let [command, source, target, workers] = arguments.as_slice()
        && command == "peak"
    {
        return peak(source, target, workers.parse()?);
    }
    let scenes: u32 = arguments.first().map_or(Ok(1650), |text| text.parse())?;
    compare(scenes.div_ceil(10))?;
    println!("\n| scenes | frames | agents | workers | decoded | seconds | VmHWM |\n|---|---|---|---|---|---|---|");
    for share in [4, 2, 1] {
        let folder = tempfile::tempdir()?;
        let source = folder.path().join("source.zarr");
        let settings = GeneratorSettings { seed: 11, scenes: scenes / share, ..GeneratorSettings::default() };
        settings.generate(&source)?;
        let dataset = Dataset::open(&source)?;
        for workers in [1, 2] {
            let target = folder.path().join(format!("table{workers}"));
            let mut child = Command::new(std::env::current_exe()?);
            let child = child.arg("peak").args([&source, &target]).arg(workers.to_string()).output()?;
            if !child.status.success() {
                return Err(String::from_utf8_lossy(&child.stderr).into());
            }
            println!(
                "| {} | {} | {} | {workers} | {:.2} GB | {}",
                scenes / share,
                dataset.frames_len(),
                dataset.agents_len(),
                dataset.decoded_bytes() as f64 / 1e9,
                String::from_utf8_lossy(&child.stdout).trim(),
            );
            std::fs::remove_dir_all(target)?;
        }
    }
    Ok(())
}

/// Runs one import in this process, which does nothing else, and prints its time and the peak memory that the kernel reports.
fn peak(source: &str, target: &str, workers: usize) -> Outcome<()> {
    let start = Instant::now();
    let dataset = Dataset::open(source)?;
    take_in(&dataset, Path::new(target), workers, Preset::Balanced)?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM: unknown");
    println!("{:.1} | {} |", start.elapsed().as_secs_f64(), line.trim_start_matches("VmHWM:").trim());
    Ok(())
}

fn take_in(dataset: &Dataset, target: &Path, workers: usize, preset: Preset) -> Outcome<Table> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let write = WriteOptions::default().preset(preset);
    let settings = IngestOptions { write, workers, ..IngestOptions::default() };
    let store = Store::open(target.to_str().ok_or("not UTF-8")?)?;
    Ok(runtime.block_on(ingest(dataset, store, &settings, |_| {}))?)
}

fn compare(scenes: u32) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("source.zarr");
    GeneratorSettings { seed: 11, scenes, ..GeneratorSettings::default() }.generate(&source)?;
    let dataset = Dataset::open(&source)?;
    let mega = dataset.decoded_bytes() as f64 / 1e6;
    println!("{mega:.0} MB decoded, one thread; MB of decoded records a second\n");
    println!("| preset | ingest | zarr decode | encode | decode + encode | ratio |\n|---|---|---|---|---|---|");
    let mut columns = Vec::new();
    for preset in [Preset::Fast, Preset::Balanced] {
        let (mut whole, mut decode, mut encode) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let target = folder.path().join(format!("{preset}{round}"));
            let start = Instant::now();
            let table = take_in(&dataset, &target, 1, preset)?;
            whole.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            decode_zarr(&source)?;
            decode.push(start.elapsed().as_secs_f64());
            encode.push(encode_again(&table)?);
            if round == 0 {
                let runtime = tokio::runtime::Builder::new_current_thread().build()?;
                columns.extend(runtime.block_on(chains::chains_of(&table, &target, preset)).into_iter().map(|of| (preset, of)));
            }
            std::fs::remove_dir_all(target)?;
        }
        let [whole, decode, encode] = [whole, decode, encode].map(|mut seconds| {
            seconds.sort_by(f64::total_cmp);
            seconds[ROUNDS / 2]
        });
        println!(
            "| {preset} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
            mega / whole,
            mega / decode,
            mega / encode,
            mega / (decode + encode),
            (decode + encode) / whole
        );
    }
    println!("\n| preset | column | chain | cost | best chain | more |\n|---|---|---|---|---|---|");
    for (preset, of) in &columns {
        let (taken, best) = &of.chains;
        println!("| {preset} | {} | {taken} | {} | {best} | {:+.2} % |", of.column, of.taken, of.more());
    }
    Ok(())
}

fn decode_zarr(path: &Path) -> Outcome<()> {
    let source = ZarrGroup::open(path)?;
    for name in source.arrays()? {
        let Some(array) = Array::open(&source, &name)? else { continue };
        let records = array.meta().len;
        Cursor::new(Arc::new(array)).visit(0..records, |bytes| {
            std::hint::black_box(bytes);
            Ok(())
        })?;
    }
    Ok(())
}

/// Measures the seconds to encode every page of the table again with its chain, without the time to read and decode the pages.
fn encode_again(table: &Table) -> Outcome<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let mut seconds = 0.0;
    for (number, group) in table.schema().groups().iter().enumerate() {
        let layout = runtime.block_on(table.storage().layout(number))?;
        let columns = group.columns.iter().filter_map(|id| table.schema().column(*id));
        let types: Vec<_> = columns.map(|column| column.ty.clone()).collect();
        let root = table.url().trim_start_matches("file://").to_owned();
        for run in layout.runs() {
            let chunk = bytes::Bytes::from(std::fs::read(Path::new(&root).join(run.chunk.object_name()))?);
            let mut start = run.first_offset as usize;
            for block in 0..run.lengths.len() {
                let end = start + 8 * run.lengths.get(block) as usize;
                let bytes = chunk.slice(start..end);
                start = end;
                let ordinal = run.first_block + block as u32;
                let directory = BlockDirectory::parse(&bytes, run.seed, ordinal, types.len())?;
                for (page, (ty, chain)) in types.iter().zip(run.chains.iter()).enumerate() {
                    let place = PagePlace { seed: run.seed, ordinal, page: page as u16, rows: directory.rows, ty, chain };
                    let plain: CanonicalPage = decode_page(bytes.slice(page_range(&directory, page)?), place)?.to_canonical();
                    let timed = Instant::now();
                    std::hint::black_box(encode_page(chain, &plain)?);
                    seconds += timed.elapsed().as_secs_f64();
                }
            }
        }
    }
    Ok(seconds)
}
