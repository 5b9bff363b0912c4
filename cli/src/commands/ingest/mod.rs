//! `tetrys ingest`: creates a table from a data set in another format, or a new version of a table.

mod frame;
mod l5;
mod logs;
mod petastorm;

pub(crate) use frame::{Choices, Files, Kind, Text, say_left_out, say_missing};

use std::io::Write;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{
    Error, Preset, Table, TableUrl, WriteOptions,
    ingest::{IngestOptions, Target, frame::FrameFormat},
    table::{Cuts, Locality, Reuse, Sharing},
};

use crate::{
    failure::{Failure, Outcome, say},
    numbers::{size, whole},
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Ingest {
    /// Ingest a Level 5 prediction data set (zarr): one row for each frame, one sequence for each scene
    L5(l5::L5),
    /// Ingest MCAP and ROS recordings: one row for each tick of a clock, one sequence for each log
    Logs(logs::Logs),
    /// Ingest a Petastorm data set, or a folder of Parquet files: one row for each row, one column for each field
    Petastorm(petastorm::Petastorm),
    /// Ingest a Parquet file, and the files whose paths are in its columns
    Parquet(frame::FrameCommand),
    /// Ingest an Arrow IPC file (Feather 2) or stream, and the files whose paths are in its columns
    Arrow(frame::FrameCommand),
    /// Ingest a CSV file with a header line, and the files whose paths are in its columns
    Csv(frame::FrameCommand),
    /// Ingest an NDJSON file (one JSON object per line), and the files whose paths are in its columns
    Ndjson(frame::FrameCommand),
}

/// Options of how rows are stored.
#[derive(Args, Debug)]
pub(crate) struct Storing {
    /// Compression: fast (fastest reads), balanced, or compact (smallest, slow to write, slower to read) [default: the preset of
    /// the table; balanced for a new table]
    #[arg(long, value_parser = preset())]
    preset: Option<Preset>,
    /// How much shared blocks may slow down reading: ROWS[,RANGES[,PERCENT]] or none. A window of up to ROWS rows takes at most
    /// RANGES more ranges, and reads at most PERCENT of the bytes of its blocks. Known blocks that would cost more are stored
    /// again
    #[arg(long, value_name = "BOUND", default_value = "16,1,150", value_parser = str::parse::<Locality>)]
    locality: Locality,
}

impl Storing {
    /// Returns the write options to change `table`, or to write a new table.
    pub(crate) fn options(&self, table: Option<&Table>) -> WriteOptions {
        let own = table.and_then(|table| table.preset().parse().ok());
        let preset = self.preset.or(own).unwrap_or_default();
        let allow_unpinned = crate::opening::allow_unpinned();
        WriteOptions::default().preset(preset).locality(self.locality).allow_unpinned(allow_unpinned)
    }
}

/// Options of how the table is written.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    #[command(flatten)]
    storing: Storing,
    /// Number of partitions to write at once [default: TETRYS_THREADS, or the number of cores]
    #[arg(long, value_name = "N", value_parser = whole(1..=u16::MAX))]
    workers: Option<u16>,
    /// Largest size of a chunk before compression, in bytes: 1000000, 16MiB. A chunk is one object in the store [default: 128MiB]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    chunk_max: Option<u64>,
    /// Share blocks with this table: the new table refers to blocks that this table already has and does not store them again.
    /// May be repeated
    #[arg(long, value_name = "TABLE")]
    reference: Vec<String>,
    /// Which known blocks of reference tables and earlier versions to share: any, only blocks with codecs of the same preset, or
    /// none. auto is any, but --append looks only at the last segment of the table itself, if its hashes take at most 1 MiB
    #[arg(long, default_value = "auto", value_parser = reuse())]
    reuse: Reuse,
    /// Append the rows to the existing table, as a new version
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Replace all rows of the existing table, as a new version; blocks that did not change are not stored again
    #[arg(long)]
    overwrite: bool,
    /// Print no progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(["fast", "balanced", "compact"]).try_map(|text| text.parse::<Preset>())
}

fn reuse() -> impl TypedValueParser<Value = Reuse> {
    PossibleValuesParser::new(["auto", "any", "same-preset", "none"]).map(|text| match text.as_str() {
        "none" => Reuse::None,
        "same-preset" => Reuse::SamePreset,
        "any" => Reuse::Any,
        _ => Reuse::Auto,
    })
}

impl Ingest {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::L5(command) => command.run(out).await,
            Self::Logs(command) => command.run(out).await,
            Self::Petastorm(command) => command.run(out).await,
            Self::Parquet(command) => command.run(out, FrameFormat::Parquet).await,
            Self::Arrow(command) => command.run(out, FrameFormat::Arrow).await,
            Self::Csv(command) => command.run(out, FrameFormat::Csv).await,
            Self::Ndjson(command) => command.run(out, FrameFormat::Ndjson).await,
        }
    }
}

impl Writing {
    /// Returns the options to write the table `table` with.
    pub(crate) async fn options(&self, table: &str) -> Result<WriteOptions, Error> {
        let mut cuts = Cuts::default();
        if let Some(max) = self.chunk_max {
            cuts = cuts.with_chunk_max(max).map_err(|error| error.at("--chunk-max"))?;
        }
        if TableUrl::new(table).version().is_some() {
            return Err(Error::invalid(match self.target() {
                Target::New => format!("{table}: expected a new table, found the name of a version"),
                Target::Append | Target::Overwrite => format!(
                    "{table}: expected a table without a version, because its newest version gets the rows; a folder of this name is {table}/"
                ),
            }));
        }
        let base = match self.target() {
            Target::New => None,
            Target::Append | Target::Overwrite => Some(crate::opening::table(table).await?),
        };
        Ok(self.storing.options(base.as_ref()).cuts(cuts).reuse(self.reuse))
    }

    /// Returns how to import the rows that become the table `table`. 0 is the default for `partition_rows`.
    async fn ingest(&self, table: &str, partition_rows: u64) -> Result<IngestOptions, Error> {
        Ok(IngestOptions {
            write: self.options(table).await?,
            workers: self.workers(),
            partition_rows,
            references: self.references().await?,
            target: self.target(),
        })
    }

    /// Checks that no option is set that a session does not support.
    ///
    /// # Errors
    /// - `Unsupported`: reference tables or a number of workers are given.
    pub(crate) fn is_for_one_session(&self) -> Result<(), Error> {
        if !self.reference.is_empty() {
            return Err(Error::unsupported(
                "--reference: a session cannot use reference tables; use `tetrys ingest`, which is one process",
            ));
        }
        match self.workers {
            Some(_) => Err(Error::unsupported("--workers: each `session write-partition` writes one partition; leave it out")),
            None => Ok(()),
        }
    }

    pub(crate) fn target(&self) -> Target {
        match (self.append, self.overwrite) {
            (true, _) => Target::Append,
            (_, true) => Target::Overwrite,
            _ => Target::New,
        }
    }

    async fn references(&self) -> Result<Vec<Table>, Error> {
        let mut tables = Vec::new();
        crate::opening::named(&self.reference);
        for url in &self.reference {
            tables.push(crate::opening::table(url).await.map_err(|error| error.at("--reference"))?);
        }
        Ok(tables)
    }

    fn workers(&self) -> usize {
        self.workers.map_or(0, usize::from)
    }
}

/// Describes a table: `file:///home/me/table: 248 rows, 1 sequence`.
pub(crate) fn table_text(table: &Table) -> String {
    let sequences = text::counted(table.sequence_count(), "sequence");
    format!("{}: {}, {sequences}", table.url(), text::counted(table.rows(), "row"))
}

/// Returns the bytes of the objects that a version has added to its table.
fn stored_bytes(table: &Table) -> u64 {
    table.lineage().get("bytes_added").and_then(serde_json::Value::as_u64).unwrap_or(0)
}

/// Describes a table as JSON, with its lineage.
pub(crate) fn json_of(table: &Table) -> serde_json::Value {
    serde_json::json!({
        "url": table.url(), "version": table.version(), "rows": table.rows(), "sequences": table.sequence_count(),
        "preset": table.preset(), "lineage": table.lineage(),
    })
}

/// Warns about reference tables without a pin, and about damaged blocks of reference tables.
fn say_warnings(table: &Table) {
    let lineage = &table.lineage();
    for url in lineage.get("not_pinned").and_then(|urls| urls.as_array()).into_iter().flatten() {
        let url = text::printable(url.as_str().unwrap_or_default());
        say(format_args!(
            "warning: no pin was written to {url}: a garbage collection there may delete chunks that the new table uses"
        ));
    }
    if let Some(sharing) = sharing(table).filter(|sharing| sharing.refused > 0) {
        let first = text::printable(&sharing.first_refused.unwrap_or_default());
        say(format_args!(
            "warning: {} of reference tables or earlier versions are damaged and were stored again: {first}",
            text::counted(sharing.refused, "block")
        ));
    }
}

fn sharing(table: &Table) -> Option<Sharing> {
    serde_json::from_value(table.lineage().get("shared")?.clone()).ok()
}

/// Returns the lines that an ingest prints about shared blocks. `None` if there was no table to share with.
fn sharing_text(table: &Table) -> Option<String> {
    let sharing = sharing(table)?;
    let worst = sharing.worst;
    let again = match sharing.stored_again {
        0 => String::new(),
        blocks => format!(
            "\nagain   {} in {} known but stored again, because of --locality",
            text::bytes(sharing.stored_again_bytes),
            text::counted(blocks, "block")
        ),
    };
    let windows = match (worst.extra_ranges, worst.percent) {
        // Nothing is shared, or `--locality none` asks for no prices.
        (_, 0) => String::new(),
        (0, ..=100) => "; windows cost as much as in a table that shares nothing".to_owned(),
        (0, percent) => format!("; sharing costs a window at most {} % more bytes", percent - 100),
        (ranges, ..=100) => format!("; sharing costs a window at most {}", text::counted(ranges, "extra range")),
        (ranges, percent) => {
            format!(
                "; sharing costs a window at most {} and {} % more bytes",
                text::counted(ranges, "extra range"),
                percent - 100
            )
        }
    };
    Some(format!(
        "shared  {} in {} already stored, {} new{windows}{again}",
        text::bytes(sharing.bytes),
        text::counted(sharing.blocks, "block"),
        text::bytes(sharing.new_bytes),
    ))
}
