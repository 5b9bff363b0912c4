//! `tetrys export`: writes a table as the L5 data set that it was made from, or any table or view as a Parquet or Arrow file.

use std::{
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{Args, Subcommand};
use serde_json::json;
use tetrys::{
    Error,
    ingest::export::{ExportFormat, ExportSettings, export},
};
use tetrys_l5::export_table;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    progress,
    staging::{StagedFile, folder_of},
    text,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// Write a table that `ingest l5` made as a Level 5 data set (zarr), record for record as before
    L5(L5),
    /// Write any table or view as a Parquet file, compressed with Zstandard
    Parquet(File),
    /// Write any table or view as an Arrow IPC file (Feather 2), compressed with LZ4, or as a stream to stdout
    Arrow(File),
}

#[derive(Args, Debug)]
#[command(
    after_help = "Rows stream through bounded memory. The file appears when it is complete. Columns get back the types that they had before ingest: decimals, times of day, structs, lists of structs, maps; --flat writes them as the table stores them. A tensor with one variable extent becomes a list. In Parquet, times in seconds and date64 become finer times.

Examples:
  tetrys export parquet drives --columns 'log_id,timestamp,ego.*' --out ego.parquet
  tetrys export parquet busy --where 'agents_count > 100' --out busy.parquet
  tetrys export arrow drives@3 --out - > drives.arrows"
)]
pub(crate) struct File {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Columns to write, of the index and of groups, as patterns: `ego.*` [default: all]
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    columns: Vec<String>,
    /// Write only the rows for which this condition is true: SQL over index columns and `row`, as in `tetrys query`
    #[arg(long = "where", value_name = "SQL")]
    filter: Option<String>,
    /// Write columns as the table stores them: one column for each field of structs, lists of structs and maps, and decimals as
    /// text
    #[arg(long)]
    flat: bool,
    /// The new file; - is stdout. An existing file is never replaced
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print no progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Gives the zarr back from which `tetrys ingest l5` made the table, with the same records. Other tables are refused; export these as Parquet or Arrow.

Example:
  tetrys export l5 sample back.zarr"
)]
pub(crate) struct L5 {
    /// The table: a path or URL; TABLE@3 is version 3
    table: String,
    /// The new zarr directory; it appears when it is complete
    target: PathBuf,
    /// Print no progress bar and no summary
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Export {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::L5(command) => command.run(out).await,
            Self::Parquet(command) => command.run(out, ExportFormat::Parquet).await,
            Self::Arrow(command) if is_stdout(&command.out) => command.run(out, ExportFormat::ArrowStream).await,
            Self::Arrow(command) => command.run(out, ExportFormat::Arrow).await,
        }
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

impl File {
    async fn run(self, out: &mut dyn Write, format: ExportFormat) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let stdout = is_stdout(&self.out);
        if stdout && self.json {
            return Err(Error::invalid("--json: not possible with --out -, which writes the rows to stdout").into());
        }
        if !stdout && let Ok(found) = self.out.symlink_metadata() {
            let found = if self.out.is_dir() {
                "a folder"
            } else if found.is_file() {
                "a file"
            } else {
                "something that is no file"
            };
            return Err(Error::exists(format!("{}: expected the name of a new file, found {found}", self.out.display())).into());
        }
        let table = crate::opening::table(&self.table).await?;
        let rows = match &self.filter {
            Some(filter) => Some(super::query::rows_where(&table, filter).await?),
            None => None,
        };
        let total = rows.as_ref().map_or(table.rows(), |rows| rows.len() as u64);
        let settings = ExportSettings { columns: self.columns, rows, flat: self.flat };
        let bar = progress::rows("export", total, self.quiet);
        let moved = bar.clone();
        let report = move |rows| moved.set_position(rows);
        let place = |error: std::io::Error| Failure::from(Error::from(error).at(self.out.display()));
        if stdout {
            out.flush()?;
            let done = export(&table, BufWriter::new(std::io::stdout()), format, &settings, report).await;
            bar.finish_and_clear();
            done?;
            return Ok(Outcome::Done);
        }
        let mut file = StagedFile::new(&self.out).map_err(place)?;
        let done = export(&table, BufWriter::new(file.file()), format, &settings, report).await;
        bar.finish_and_clear();
        let rows = done?;
        let bytes = file.file().metadata().map_err(place)?.len();
        file.publish(&self.out, false).map_err(place)?;
        if self.json {
            let (url, version) = (table.url(), table.version());
            write_json(
                out,
                &json!({"url": url, "version": version, "out": self.out.display().to_string(), "rows": rows, "bytes": bytes}),
            )?;
        } else if !self.quiet {
            let (rows, took) = (text::counted(rows, "row"), text::time(started.elapsed()));
            writeln!(out, "{}: {rows}, {} in {took}", self.out.display(), text::bytes(bytes))?;
        }
        Ok(Outcome::Done)
    }
}

impl L5 {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let command = self;
        let started = Instant::now();
        let table = crate::opening::table(&command.table).await?;
        let bar = progress::rows("export", table.rows(), command.quiet);
        let write = async |folder: &Path| export_table(&table, folder, |rows| bar.set_position(rows)).await;
        let done = folder_of(&command.target, write).await;
        bar.finish_and_clear();
        done?;
        if command.json {
            let (url, target) = (table.url(), command.target.display().to_string());
            write_json(out, &json!({"url": url, "version": table.version(), "target": target, "frames": table.rows()}))?;
        } else if !command.quiet {
            let frames = text::counted(table.rows(), "frame");
            writeln!(out, "{}: {frames} in {}", command.target.display(), text::time(started.elapsed()))?;
        }
        Ok(Outcome::Done)
    }
}
