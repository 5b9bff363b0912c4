//! `tetrys patch`, `tetrys replace-group` and `tetrys add-group`: a frame as a change of a table that is there.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::json;
use tetrys::{
    Error, Table,
    ingest::frame::{self, Frame, FrameSettings},
};

use super::{
    ingest::{Files, Kind, Storing, Text, say_left_out, say_missing},
    write_json,
};
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The frame has the key, which finds the rows, and the columns whose values change, all of one column group. Blocks without such rows stay where they are; the others are cut and stored anew. The frame is held in memory. The table before stays as the version it was.

Examples:
  tetrys patch drives relabelled.parquet --on log_id,timestamp
  tetrys patch drives masks.arrow --on log_id,timestamp --blob camera.mask=path --drop path,reviewer"
)]
pub(crate) struct Patch {
    #[command(flatten)]
    given: Given,
    /// The index columns that find the rows; no two rows of the table have the same values in them
    #[arg(long, value_name = "C,..", value_delimiter = ',', required = true)]
    on: Vec<String>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Every row of the table gets the value that the frame has for it. Without --on the frame has the rows of the table in its order, and streams through bounded memory; with --on rows are found by key, the frame is held in memory, and a row that it has not gets nulls. The frame has no other columns: leave them out with --drop. No other column group is read or written, and no index. Blocks that were stored before are not stored again.

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
    after_help = "The columns of the frame, but those of --on, are the group. Without --on the frame has the rows of the table in its order, and streams through bounded memory; with --on rows are found by key, the frame is held in memory, and a row that it has not gets nulls. Index columns of the table beside the group are an error without --on: they are a key. Nothing that is there is read or written again, but for the index columns of --on.

Examples:
  tetrys add-group drives depth depth.parquet --on log_id,timestamp
  tetrys add-group drives thumbs frames.parquet --blob camera.thumb=thumb_path --drop log_id,timestamp,thumb_path"
)]
pub(crate) struct AddGroup {
    #[command(flatten)]
    given: GivenGroup,
}

/// The table, the frame, and how it is read and written.
#[derive(Args, Debug)]
struct Given {
    /// The table: a path or URL
    table: String,
    /// The file that holds the frame; - is standard input
    frame: PathBuf,
    #[command(flatten)]
    taken: Taken,
}

#[derive(Args, Debug)]
struct GivenGroup {
    /// The table: a path or URL
    table: String,
    /// The column group
    group: String,
    /// The file that holds the frame; - is standard input
    frame: PathBuf,
    /// The index columns that find the rows; no two rows of the table have the same values in them
    #[arg(long, value_name = "C,..", value_delimiter = ',')]
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
        FrameSettings { write: self.storing.options(Some(table)), ..self.files.clone().settings() }
    }

    /// Says what came of it.
    fn said(&self, out: &mut dyn Write, next: &Table) -> Result<Outcome, Failure> {
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
    /// The frame in a file.
    fn open(&self, path: &Path) -> Result<Frame, Failure> {
        self.text.open(path, self.kind.of(path))
    }
}

async fn newest(url: &str) -> Result<Table, Error> {
    crate::opening::table(url).await
}

impl Patch {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Given { table, frame, taken } = self.given;
        let (table, frame) = (newest(&table).await?, taken.open(&frame)?);
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let next = frame::patch(&frame, &table, &words(&self.on), &settings).await.map_err(Failure::Input)?;
        say_missing(&settings.missing_files);
        taken.said(out, &next)
    }
}

impl ReplaceGroup {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let GivenGroup { table, group, frame, on, taken } = self.given;
        let (table, frame) = (newest(&table).await?, taken.open(&frame)?);
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let next = frame::replace_group(&frame, &table, &group, &words(&on), &settings).await.map_err(Failure::Input)?;
        say_missing(&settings.missing_files);
        taken.said(out, &next)
    }
}

impl AddGroup {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let GivenGroup { table, group, frame, on, taken } = self.given;
        let (table, frame) = (newest(&table).await?, taken.open(&frame)?);
        let settings = taken.settings(&table);
        say_left_out(&frame, &settings);
        let next = frame::add_group(&frame, &table, &group, &words(&on), &settings).await.map_err(Failure::Input)?;
        say_missing(&settings.missing_files);
        taken.said(out, &next)
    }
}
