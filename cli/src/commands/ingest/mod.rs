//! `tetrys ingest`: another format's data set becomes a new table.

mod frame;
mod l5;

pub(crate) use frame::{Choices, Files, Kind, Text, say_left_out, say_missing};

use std::io::Write;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{
    Error, Preset, Table, WriteOptions,
    ingest::{Target, frame::FrameFormat},
    table::{Cuts, Locality, Reuse, Sharing},
};

use crate::{
    failure::{Failure, Outcome, say},
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Ingest {
    /// A Level 5 prediction data set (zarr): one row a frame, one sequence a scene
    L5(l5::L5),
    /// Any Parquet file: its columns, and the files that a column of paths names
    Parquet(frame::FrameCommand),
    /// Any Arrow IPC file (Feather 2) or stream: its columns, and the files that a column of paths names
    Arrow(frame::FrameCommand),
    /// A CSV file with a line of names; a column has the type from which each of its values comes back
    Csv(frame::FrameCommand),
    /// Lines of JSON, an object each
    Ndjson(frame::FrameCommand),
}

/// How rows are stored.
#[derive(Args, Debug)]
pub(crate) struct Storing {
    /// How much time to spend on size [default: that of the table; balanced for a new one]
    #[arg(long, value_parser = preset())]
    preset: Option<Preset>,
    /// The windows you read, as ROWS[,RANGES[,PERCENT]] or none: what shared blocks may cost them; known blocks that would cost
    /// more are stored again
    #[arg(long, value_name = "BOUND", default_value = "16,1,150", value_parser = str::parse::<Locality>)]
    locality: Locality,
}

impl Storing {
    /// The same, for the library: to change `table`, or to write a new one.
    pub(crate) fn options(&self, table: Option<&Table>) -> WriteOptions {
        let own = table.and_then(|table| table.preset().parse().ok());
        let preset = self.preset.or(own).unwrap_or_default();
        let allow_unpinned = crate::opening::allow_unpinned();
        WriteOptions { preset, locality: self.locality, allow_unpinned, ..WriteOptions::default() }
    }
}

/// How the table is written.
#[derive(Args, Debug)]
pub(crate) struct Writing {
    #[command(flatten)]
    storing: Storing,
    /// Partitions written at once [default: as many as the machine has threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    workers: Option<u16>,
    /// Largest chunk (the unit of storing and sharing) in uncompressed bytes: 1000000, 16MiB [default: 128MiB]
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    chunk_max: Option<u64>,
    /// A table whose chunks may be used: what it has is not stored again; may be given several times
    #[arg(long, value_name = "TABLE")]
    reference: Vec<String>,
    /// Which blocks of reference tables and earlier versions are used again
    #[arg(long, default_value = "any", value_parser = reuse())]
    reuse: Reuse,
    /// Add the rows to the table, as a new version
    #[arg(long, conflicts_with = "overwrite")]
    append: bool,
    /// Put the rows in place of those of the table, as a new version; what is the same is not stored again
    #[arg(long)]
    overwrite: bool,
    /// No progress bar and no summary
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
    PossibleValuesParser::new(["any", "same-preset", "none"]).map(|text| match text.as_str() {
        "none" => Reuse::None,
        "same-preset" => Reuse::SamePreset,
        _ => Reuse::Any,
    })
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
            Self::Parquet(command) => command.run(out, FrameFormat::Parquet).await,
            Self::Arrow(command) => command.run(out, FrameFormat::Arrow).await,
            Self::Csv(command) => command.run(out, FrameFormat::Csv).await,
            Self::Ndjson(command) => command.run(out, FrameFormat::Ndjson).await,
        }
    }
}

impl Writing {
    /// The options to write the table `table` with.
    pub(crate) async fn options(&self, table: &str) -> Result<WriteOptions, Error> {
        let mut cuts = Cuts::default();
        if let Some(max) = self.chunk_max {
            cuts = cuts.with_chunk_max(max).map_err(|error| error.at("--chunk-max"))?;
        }
        let version = table.rsplit_once('@').map(|(_, version)| version);
        if version.is_some_and(|version| !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit())) {
            return Err(Error::invalid(format!("{table}: expected a new table, found the name of a version")));
        }
        let base = match self.target() {
            Target::New => None,
            Target::Append | Target::Overwrite => Some(crate::opening::table(table).await?),
        };
        Ok(WriteOptions { cuts, reuse: self.reuse, ..self.storing.options(base.as_ref()) })
    }

    /// That nothing is asked for which partitions of other processes cannot do.
    ///
    /// # Errors
    /// `Unsupported` for reference tables and numbers of workers.
    pub(crate) fn is_for_one_session(&self) -> Result<(), Error> {
        if !self.reference.is_empty() {
            return Err(Error::unsupported(
                "--reference: partitions of other processes look at no reference tables; use `tetrys ingest`",
            ));
        }
        match self.workers {
            Some(_) => Err(Error::unsupported("--workers: each partition of a session is written by a command of its own")),
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

/// `file:///home/me/table: 248 rows, 1 sequence`.
pub(crate) fn said_of(table: &Table) -> String {
    let sequences = text::counted(table.sequence_count(), "sequence");
    format!("{}: {}, {sequences}", table.url(), text::counted(table.rows(), "row"))
}

/// The same as JSON, with what was made of it.
pub(crate) fn json_of(table: &Table) -> serde_json::Value {
    serde_json::json!({
        "url": table.url(), "version": table.version(), "rows": table.rows(), "sequences": table.sequence_count(),
        "preset": table.preset(), "lineage": table.lineage(),
    })
}

/// Warns of owners that could not be told that their chunks are used, and of blocks that were damaged there.
fn say_warnings(table: &Table) {
    let lineage = &table.lineage();
    for url in lineage.get("not_pinned").and_then(|urls| urls.as_array()).into_iter().flatten() {
        let url = text::printable(url.as_str().unwrap_or_default());
        say(format_args!(
            "warning: {url} cannot be written: nobody there knows that its chunks are used, and they may be deleted"
        ));
    }
    if let Some(sharing) = sharing(table).filter(|sharing| sharing.refused > 0) {
        let first = text::printable(&sharing.first_refused.unwrap_or_default());
        say(format_args!(
            "warning: {} are not what their table says, and were stored anew: {first}",
            text::counted(sharing.refused, "block")
        ));
    }
}

fn sharing(table: &Table) -> Option<Sharing> {
    serde_json::from_value(table.lineage().get("shared")?.clone()).ok()
}

/// The lines that an ingest prints about shared blocks; none where it had no tables to share with.
fn said_of_sharing(table: &Table) -> Option<String> {
    let sharing = sharing(table)?;
    let worst = sharing.worst;
    let again = match sharing.stored_again {
        0 => String::new(),
        blocks => format!(
            "\nagain   {} of {} known and stored again, as --locality asks",
            text::bytes(sharing.stored_again_bytes),
            text::counted(blocks, "block")
        ),
    };
    Some(format!(
        "shared  {} of {} stored already, {} new; at worst a window takes {} more and reads {} % of its bytes{again}",
        text::bytes(sharing.bytes),
        text::counted(sharing.blocks, "block"),
        text::bytes(sharing.new_bytes),
        text::counted(worst.extra_ranges, "range"),
        worst.percent.max(100),
    ))
}
