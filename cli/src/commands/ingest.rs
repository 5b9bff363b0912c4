//! `tetrys ingest`: another format's data set becomes a new table.

use std::{
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{
    Cuts, Error, Preset, Store, WriteOptions,
    ingest::l5::{Dataset, IngestSettings, ingest},
};

use crate::{
    failure::{Failure, Outcome, say},
    progress, text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Ingest {
    /// A Level 5 prediction data set (zarr): one row a frame, one sequence a scene
    L5(L5),
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys ingest l5 sample.zarr sample --preset compact\n  tetrys info sample")]
pub(crate) struct L5 {
    /// The zarr: a directory or a zip file
    source: PathBuf,
    /// The new table: a path or file:// URL where no table is yet
    table: String,
    /// How much time to spend on size
    #[arg(long, default_value = "balanced", value_parser = preset())]
    preset: Preset,
    /// Partitions written at once [default: as many as the machine has threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// Frames a partition, at least; partitions end with scenes
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u64).range(1..))]
    partition_rows: u64,
    /// Largest chunk (the unit of storing and sharing) in uncompressed bytes: 1000000, 16MiB [default: 128MiB]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    chunk_max: Option<u64>,
    /// No progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(["fast", "balanced", "compact"]).try_map(|text| text.parse::<Preset>())
}

/// `1000000`, `16MiB`, `16M`.
fn byte_count(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" | "B" => 0,
        "K" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err("expected a number of bytes, KiB, MiB or GiB: 1000000, 16MiB".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a number of bytes, KiB, MiB or GiB: 1000000, 16MiB".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

impl Ingest {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Self::L5(command) = self;
        let started = Instant::now();
        let settings = command.settings()?;
        let store = Store::open(&command.table)?;
        let dataset = Dataset::open(&command.source).map_err(Failure::Input)?;
        for warning in dataset.warnings() {
            say(format_args!("warning: {warning}"));
        }
        let bar = progress::rows("ingest", dataset.frames_len(), command.quiet);
        let moved = bar.clone();
        let table = ingest(&dataset, store, &settings, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let table = table.map_err(Failure::Input)?;
        if command.quiet {
            return Ok(Outcome::Done);
        }
        let stored: u64 = table.store().list("").await?.iter().map(|(_, bytes)| bytes).sum();
        let given = stored_bytes(&command.source)?;
        writeln!(
            out,
            "{}: {}, {} in {}",
            table.url(),
            text::counted(table.rows(), "row"),
            text::counted(table.manifest().sequences(), "sequence"),
            text::time(started.elapsed()),
        )?;
        writeln!(
            out,
            "in      {} ({} decoded)\nstored  {}, {} of what came in",
            text::bytes(given),
            text::bytes(dataset.decoded_bytes()),
            text::bytes(stored),
            text::ratio(stored, given),
        )?;
        Ok(Outcome::Done)
    }
}

impl L5 {
    fn settings(&self) -> Result<IngestSettings, Failure> {
        let mut cuts = Cuts::default();
        if let Some(max) = self.chunk_max {
            cuts = cuts.with_chunk_max(max).map_err(|error| error.at("--chunk-max"))?;
        }
        if self
            .table
            .rsplit_once('@')
            .is_some_and(|(_, version)| !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit()))
        {
            return Err(Error::invalid(format!("{}: expected a new table, found the name of a version", self.table)).into());
        }
        Ok(IngestSettings {
            write: WriteOptions { preset: self.preset, cuts, ..WriteOptions::default() },
            workers: self.workers.map_or(0, usize::from),
            partition_rows: self.partition_rows,
        })
    }
}

/// Bytes of a file, or of all files below a folder.
fn stored_bytes(path: &Path) -> Result<u64, Error> {
    let in_folder = || -> std::io::Result<u64> {
        let mut total = 0;
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let entry = entry?;
                match entry.file_type()?.is_dir() {
                    true => folders.push(entry.path()),
                    false => total += entry.metadata()?.len(),
                }
            }
        }
        Ok(total)
    };
    let bytes = if path.is_dir() { in_folder() } else { std::fs::metadata(path).map(|file| file.len()) };
    bytes.map_err(|error| Error::from(error).at(path.display()))
}
