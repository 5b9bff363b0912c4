//! `tetrys ingest`: another format's data set becomes a new table.

mod frame;
mod l5;

pub(crate) use frame::Choices;

use std::io::Write;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{Cuts, Error, Preset, Table, WriteOptions, ingest::frame::Frame};

use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Ingest {
    /// A Level 5 prediction data set (zarr): one row a frame, one sequence a scene
    L5(l5::L5),
    /// Any Parquet file: its columns, and the files that a column of paths names
    Parquet(frame::FrameCommand),
    /// Any Arrow IPC file (Feather 2): its columns, and the files that a column of paths names
    Arrow(frame::FrameCommand),
}

/// How the table is written.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    /// How much time to spend on size
    #[arg(long, default_value = "balanced", value_parser = preset())]
    preset: Preset,
    /// Partitions written at once [default: as many as the machine has threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
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
        match self {
            Self::L5(command) => command.run(out).await,
            Self::Parquet(command) => command.run(out, |path| Frame::parquet(path)).await,
            Self::Arrow(command) => command.run(out, |path| Frame::arrow(path)).await,
        }
    }
}

impl Writing {
    /// The options to write the new table `table` with.
    pub(crate) fn options(&self, table: &str) -> Result<WriteOptions, Error> {
        let mut cuts = Cuts::default();
        if let Some(max) = self.chunk_max {
            cuts = cuts.with_chunk_max(max).map_err(|error| error.at("--chunk-max"))?;
        }
        let version = table.rsplit_once('@').map(|(_, version)| version);
        if version.is_some_and(|version| !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit())) {
            return Err(Error::invalid(format!("{table}: expected a new table, found the name of a version")));
        }
        Ok(WriteOptions { preset: self.preset, cuts, ..WriteOptions::default() })
    }

    fn workers(&self) -> usize {
        self.workers.map_or(0, usize::from)
    }
}

/// `file:///home/me/table: 248 rows, 1 sequence`.
pub(crate) fn said_of(table: &Table) -> String {
    let sequences = text::counted(table.manifest().sequences(), "sequence");
    format!("{}: {}, {sequences}", table.url(), text::counted(table.rows(), "row"))
}
