//! `tetrys patch`, `tetrys replace-group` and `tetrys add-group`: change columns of an existing table from a file.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use tetrys::{
    Error, Table,
    ingest::{
        IngestOptions,
        frame::{self, Frame, FrameSettings},
    },
};

use super::{
    ingest::{Files, Kind, Storing, Text, say_left_out, say_missing},
    write_json,
};
use crate::{
    failure::{Failure, Outcome, committed},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Use it to correct a few rows, for example labels. FRAME has the key columns of --on, which find the rows in the table, and the columns whose values change; these must all be in one column group. Leave other columns out with --drop.

The result is a new version of the table; older versions keep the old values. Only blocks with changed rows are stored again. FRAME is held in memory.

Examples:
  tetrys patch drives relabelled.parquet --on log_id,timestamp
  tetrys patch drives masks.arrow --on log_id,timestamp --blob camera.mask=path --drop path,reviewer"
)]
pub(crate) struct Patch {
    #[command(flatten)]
    given: Given,
    /// The key: index columns that find the rows of the table. Each row of the table must have a key of its own
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', required = true)]
    on: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Use it when all values of a group change, for example with a new version of the labels. To change a few rows use `tetrys patch`.

Without --on, FRAME must have exactly the rows of the table, in the same order, and streams through bounded memory. With --on, rows are found by key: FRAME may have them in any order and is held in memory, and rows of the table that are not in FRAME get nulls. FRAME must have all columns of the group; leave columns out that are neither in the group nor in the key with --drop.

The result is a new version of the table. Other column groups and the index are not written, and blocks with equal values are not stored again.

Examples:
  tetrys replace-group drives labels labels-v8.parquet
  tetrys replace-group drives labels labels-v8.parquet --on log_id,timestamp --json"
)]
pub(crate) struct ReplaceGroup {
    #[command(flatten)]
    given: GivenGroup,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Use it to store further data about existing rows, for example predictions or thumbnails. All columns of FRAME except those of --on become the group.

Without --on, FRAME must have exactly the rows of the table, in the same order, and streams through bounded memory; if it also has index columns of the table, that is an error: name them with --on, or leave them out with --drop. With --on, rows are found by key: FRAME may have them in any order and is held in memory, and rows of the table that are not in FRAME get nulls.

The result is a new version of the table. Existing data is not written again.

Examples:
  tetrys add-group drives depth depth.parquet --on log_id,timestamp
  tetrys add-group drives lidar sweeps.csv --on log_id,timestamp --npy lidar.points=path --drop path
  tetrys add-group drives thumbs frames.parquet --blob camera.thumb=thumb_path --drop log_id,timestamp,thumb_path"
)]
pub(crate) struct AddGroup {
    #[command(flatten)]
    given: GivenGroup,
}

/// The table, the input file, and how to read and store it.
#[derive(Args, Debug)]
struct Given {
    /// The table: a path or URL
    table: String,
    /// The input file (Parquet, Arrow IPC, CSV or NDJSON) or a pipe; - is standard input. CSV and NDJSON values
    /// are read with the types of the table
    frame: PathBuf,
    #[command(flatten)]
    taken: Taken,
}

#[derive(Args, Debug)]
struct GivenGroup {
    /// The table: a path or URL
    table: String,
    /// The name of the column group
    group: String,
    /// The input file (Parquet, Arrow IPC, CSV or NDJSON) or a pipe; - is standard input. CSV and NDJSON values
    /// are read with the types of the table
    frame: PathBuf,
    /// The key: index columns that find the rows of the table. Each row of the table must have a key of its own [default: no key;
    /// rows are in table order]
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    on: Vec<String>,
    #[command(flatten)]
    taken: Taken,
}

#[derive(Args, Debug)]
struct Taken {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    kind: Kind,
    #[command(flatten)]
    text: Text,
    #[command(flatten)]
    storing: Storing,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Taken {
    fn settings(&self, table: &Table) -> FrameSettings {
        let options = IngestOptions { write: self.storing.options(Some(table)), ..IngestOptions::default() };
        FrameSettings { options, ..self.files.clone().settings(&self.text) }
    }

    /// Prints the new version.
    fn print_version(&self, out: &mut dyn Write, next: &Table) -> Result<Outcome, Failure> {
        committed(next.url(), next.version());
        let lineage = &next.lineage();
        if self.json {
            let (url, version, rows) = (next.url(), next.version(), next.rows());
            write_json(out, &json!({"url": url, "version": version, "rows": rows, "lineage": lineage}))?;
            return Ok(Outcome::Done);
        }
        let number = |what: &str| lineage.get(what).and_then(|number| number.as_u64());
        let group = lineage.get("group").and_then(|group| group.as_str()).map(text::printable).unwrap_or_default();
        let rows = number("rows_patched").unwrap_or(next.rows());
        writeln!(
            out,
            "{}: version {}, {} of column group {group}, {} added",
            next.url(),
            next.version(),
            text::counted(rows, "row"),
            text::bytes(number("bytes_added").unwrap_or(0))
        )?;
        Ok(Outcome::Done)
    }
}

fn words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

impl Taken {
    /// Opens the input file. Values of CSV and NDJSON are read with the types of the table.
    fn open(&self, path: &Path, table: &Table) -> Result<Frame, Failure> {
        self.kind.open(path, &self.text, &self.files, Some(table.schema()))
    }
}

async fn newest(url: &str) -> Result<Table, Error> {
    crate::opening::table(url).await
}

impl Patch {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Given { table, frame, taken } = self.given;
        let table = newest(&table).await?;
        let frame = taken.open(&frame, &table)?;
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let bar = progress::watch("patch");
        let next = frame::patch(&frame, &table, &words(&self.on), &settings).await.map_err(Failure::Input)?;
        drop(bar);
        say_missing(&settings.missing_files);
        taken.print_version(out, &next)
    }
}

impl ReplaceGroup {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let GivenGroup { table, group, frame, on, taken } = self.given;
        let table = newest(&table).await?;
        let frame = taken.open(&frame, &table)?;
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let bar = progress::watch("replace-group");
        let next = frame::replace_group(&frame, &table, &group, &words(&on), &settings).await.map_err(Failure::Input)?;
        drop(bar);
        say_missing(&settings.missing_files);
        taken.print_version(out, &next)
    }
}

impl AddGroup {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let GivenGroup { table, group, frame, on, taken } = self.given;
        let table = newest(&table).await?;
        let frame = taken.open(&frame, &table)?;
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let bar = progress::watch("add-group");
        let next = frame::add_group(&frame, &table, &group, &words(&on), &settings).await.map_err(Failure::Input)?;
        drop(bar);
        say_missing(&settings.missing_files);
        taken.print_version(out, &next)
    }
}
