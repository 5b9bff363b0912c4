//! `tetrys session`: lets several processes write one table. One process begins a session, each process writes partitions, and
//! one process commits.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use tetrys::{
    Error, Receipt, Table, TableWriter, Ticket,
    extension::{LocalFile, writer},
    ingest::{
        IngestOptions, Target,
        frame::{FrameSettings, write_partition},
    },
    table::Storage,
};

use super::{
    ingest::{Choices, Kind, Writing, json_of, say_left_out, say_missing, table_text},
    write_json,
};
use crate::{
    failure::{Failure, Outcome, committed},
    numbers::whole,
    opening,
    staging::StagedFile,
    text, times,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Begin a session, and write its ticket to stdout or a file
    Begin(Begin),
    /// Write a file as one partition of a session, and write its receipt to stdout or a file
    WritePartition(WritePartition),
    /// Publish the partitions of a session as one version of the table
    Commit(Commit),
    /// List the sessions that have files at a table: running ones, and those that nobody committed
    List(List),
    /// Delete the files of a session that nobody will commit
    Abort(Abort),
}

#[derive(Args, Debug)]
#[command(
    after_help = "A session is listed from its first finished partition, or its plan, until it is committed or aborted. A session without a plan was begun by `session begin`; only its ticket tells what it does.

Examples:
  tetrys session list s3://bucket/drives
  tetrys session list s3://bucket/drives --json"
)]
pub(crate) struct List {
    /// The table that was given to `session begin`
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A session whose files are deleted cannot be committed any more; a commit that runs at the same time may still succeed. A process that still writes a partition leaves files that `tetrys gc` deletes, as it deletes the chunks that the session has written. The ids of sessions are in `session list`.

Example:
  tetrys session abort s3://bucket/drives 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b"
)]
pub(crate) struct Abort {
    /// The table that was given to `session begin`
    table: String,
    /// The id of the session
    session: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A session lets several processes, on one or several machines, write one table without a service between them. `begin` fixes the columns and settings and makes a ticket; each `write-partition` writes one file and makes a receipt; `commit` publishes all partitions as one version. Nobody sees any rows before the commit. For one process use `tetrys ingest`.

A session cannot use reference tables: `tetrys ingest` has --reference for these. The types of CSV and NDJSON columns are those of the file given to `begin`; set --type where other files have further values, such as 0.5 after 1. The types of --npy columns are those of the arrays that this file names: set --type where other arrays may have other lengths.

Examples:
  tetrys session begin s3://bucket/drives part-0.parquet --sequence-by log_id --out drives.ticket
  tetrys session begin s3://bucket/drives part-4.parquet --append --out more.ticket
  tetrys session begin s3://bucket/drives part-0.parquet --overwrite --out again.ticket",
    // Shared with `ingest`; a session refuses them.
    mut_arg("workers", |argument| argument.hide(true)),
    mut_arg("reference", |argument| argument.hide(true))
)]
pub(crate) struct Begin {
    /// The new table: a path or URL without a table; with --append or --overwrite, an existing table
    table: String,
    /// A file with the columns that all partitions have, for example the first one; its rows are not stored
    frame: PathBuf,
    #[command(flatten)]
    kind: Kind,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    writing: Writing,
    /// The file for the ticket [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Give the same column options (--index, --group, --blob, --npy, --sequence-by and so on) as to `session begin`; they must make the same schema. If the session appends to a table or overwrites it, the columns follow the session.

The table has the partitions in the order of their numbers. All rows of a sequence must be in one partition. A failed or slow partition may be written again, also by another process: the same file gives the same receipt. A finished partition also leaves its receipt in the store.

Example:
  tetrys session write-partition s3://bucket/drives drives.ticket 3 part-3.parquet --sequence-by log_id --out 3.receipt"
)]
pub(crate) struct WritePartition {
    /// The table that was given to `session begin`. On another machine its folder may have another path; the folder of a new table
    /// must have the same name
    table: String,
    /// The file with the ticket of the session
    ticket: PathBuf,
    /// The number of the partition, from 0
    #[arg(value_parser = whole(0..=u32::MAX))]
    number: u32,
    /// The file with the rows of the partition; - is standard input
    frame: PathBuf,
    #[command(flatten)]
    kind: Kind,
    #[command(flatten)]
    choices: Choices,
    /// The file for the receipt [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: the receipt (which is always JSON) or, with --out, the name of its file
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "The commit needs one receipt for each partition. It stops if a number below the largest one, or a partition that finished in the store, has no receipt; then nothing has happened, and the command can be repeated. --found takes missing receipts from the store, and --abandon leaves a partition out. Pass --partitions, so that a missing last partition is noticed.

If the outcome of a commit is unknown, for example after a lost connection, run the same command again: it never commits twice.

Example:
  tetrys session commit s3://bucket/drives drives.ticket --partitions 4 0.receipt 1.receipt 2.receipt 3.receipt
  tetrys session commit s3://bucket/drives drives.ticket --found --abandon 3"
)]
pub(crate) struct Commit {
    /// The table that was given to `session begin`
    table: String,
    /// The file with the ticket of the session
    ticket: PathBuf,
    /// The files with receipts, in any order; equal receipts count once
    #[arg(required_unless_present = "found")]
    receipts: Vec<PathBuf>,
    /// Also take the receipts that finished partitions left in the store
    #[arg(long)]
    found: bool,
    /// Leave out the rows of this partition. May be repeated
    #[arg(long, value_name = "NUMBER", value_parser = whole(0..=u32::MAX))]
    abandon: Vec<u32>,
    /// The number of partitions: fewer and more are errors. Without it, a last partition that never finished is not noticed
    #[arg(long, value_name = "N", value_parser = whole(0..=u32::MAX))]
    partitions: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Session {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::Begin(command) => command.run(out).await,
            Self::WritePartition(command) => command.run(out).await,
            Self::Commit(command) => command.run(out).await,
            Self::List(command) => command.run(out).await,
            Self::Abort(command) => command.run(out).await,
        }
    }
}

impl List {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let store = opening::all_versions(&self.table).await?;
        let sessions = Storage::of(&store).sessions().await?;
        if self.json {
            write_json(out, &sessions)?;
            return Ok(Outcome::Done);
        }
        if sessions.is_empty() {
            writeln!(out, "{}: no session has files there", text::printable(store.url()))?;
            return Ok(Outcome::Done);
        }
        let lines: Vec<Vec<String>> = sessions
            .iter()
            .map(|session| {
                let planned = session.partitions.map_or_else(String::new, |partitions| format!(" of {partitions}"));
                vec![
                    session.session.to_string(),
                    session.kind.clone().unwrap_or_default(),
                    format!("{}{planned}", session.finished),
                    text::bytes(session.bytes),
                    times::moment(session.first_ms),
                    times::moment(session.last_ms),
                ]
            })
            .collect();
        write!(out, "{}", text::table(&["session", "kind", ">partitions", ">bytes", "first file", "last file"], &lines))?;
        for damage in sessions.iter().filter_map(|session| session.damage.as_ref()) {
            writeln!(out, "damaged: {}", text::printable(damage))?;
        }
        Ok(Outcome::Done)
    }
}

impl Abort {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let id = self.session.parse().map_err(|_| {
            Error::invalid(format!("expected the id of a session, which `tetrys session list` shows, found `{}`", self.session))
        })?;
        let store = opening::all_versions(&self.table).await?;
        let files = Storage::of(&store).abort_session(id).await?;
        let url = text::printable(store.url());
        match self.json {
            true => write_json(out, &serde_json::json!({"url": store.url(), "session": self.session, "files": files}))?,
            false if files == 0 => writeln!(
                out,
                "{url}: session {} has no files: it was committed or aborted, or has not written anything yet",
                self.session
            )?,
            false => writeln!(out, "{url}: session {} ended: {} deleted", self.session, text::counted(files, "file"))?,
        }
        Ok(Outcome::Done)
    }
}

impl Begin {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        self.writing.is_for_one_session()?;
        let (write, target) = (self.writing.options(&self.table).await?, self.writing.target());
        let options = IngestOptions { write, target, ..IngestOptions::default() };
        let base = match target {
            Target::New => None,
            Target::Append | Target::Overwrite => Some(opening::table(&self.table).await?),
        };
        let types = base.as_ref().filter(|_| target == Target::Append).map(Table::schema);
        let frame = self.kind.open(&self.frame, &self.choices.text, &self.choices.files, types)?;
        let settings = FrameSettings { options, ..self.choices.settings() };
        say_left_out(&frame, &settings);
        let (store, schema) = match &base {
            None => (opening::store(&self.table)?, settings.schema(&frame)),
            Some(table) => (table.store().clone(), settings.schema_for(&frame, table)),
        };
        let writer = writer(store, base, schema.map_err(Failure::Input)?, &settings.options).await?;
        write_line(out, self.out.as_deref(), &writer.ticket()?.to_json(), self.writing.json)
    }
}

impl WritePartition {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let writer = joined(&self.table, &self.ticket).await?;
        let frame = self.kind.open(&self.frame, &self.choices.text, &self.choices.files, Some(writer.schema()))?;
        let settings = self.choices.settings();
        say_left_out(&frame, &settings);
        let written = write_partition(&frame, &writer, self.number, &settings).await;
        say_missing(&settings.missing_files);
        let receipt = serde_json::to_string(&written.map_err(Failure::Input)?);
        write_line(out, self.out.as_deref(), &receipt.map_err(|error| Error::internal(error.to_string()))?, self.json)
    }
}

impl Commit {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let writer = joined(&self.table, &self.ticket).await?;
        let receipts = self.receipts.iter().map(|path| {
            let text = text_of(path)?;
            serde_json::from_str::<Receipt>(&text).map_err(|error| {
                let place = format!("{}: expected a receipt of `session write-partition`", path.display());
                Failure::Input(Error::invalid_json(&error).at(place))
            })
        });
        let mut receipts = receipts.collect::<Result<Vec<_>, Failure>>()?;
        if self.found {
            receipts.extend(writer.receipts().await?);
            receipts.retain(|receipt| !self.abandon.contains(&receipt.partition));
        }
        if let Some((partitions, other)) = self.partitions.and_then(|partitions| {
            let beyond =
                receipts.iter().find(|receipt| receipt.partition >= partitions && !self.abandon.contains(&receipt.partition));
            Some((partitions, beyond?.partition))
        }) {
            return Err(Failure::Input(Error::invalid(format!(
                "--partitions {partitions}: expected receipts of partitions below {partitions}, found one of partition {other}"
            ))));
        }
        self.abandon.iter().for_each(|partition| writer.abandon(*partition));
        if let Some(partitions) = self.partitions {
            writer.expect_partitions(partitions);
        }
        let table = writer.commit(receipts).await?;
        committed(table.url(), table.version());
        if self.json {
            write_json(out, &json_of(&table))?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}", table_text(&table))?;
        Ok(Outcome::Done)
    }
}

/// Joins the session of a ticket, which must be of this table.
async fn joined(table: &str, path: &Path) -> Result<TableWriter, Failure> {
    let place = |error: Error| Failure::Input(error.at(path.display()));
    let ticket = Ticket::from_json(&text_of(path)?).map_err(place)?;
    let store = opening::store(table)?;
    ticket.check_place(&store).await?;
    Ok(TableWriter::join(store, &ticket)?)
}

fn text_of(path: &Path) -> Result<String, Failure> {
    LocalFile::text(path, MAX_TEXT).map_err(Failure::Input)
}

/// The largest ticket or receipt, in bytes.
const MAX_TEXT: u64 = 256 << 20;

/// Writes a line to stdout, or atomically to a file.
fn write_line(out: &mut dyn Write, path: Option<&Path>, line: &str, json: bool) -> Result<Outcome, Failure> {
    let Some(path) = path else {
        writeln!(out, "{line}")?;
        return Ok(Outcome::Done);
    };
    let written = StagedFile::new(path).and_then(|mut file| {
        writeln!(file.file(), "{line}")?;
        file.publish(path, true)
    });
    written.map_err(|error| Failure::from(Error::from(error).at(path.display())))?;
    if json {
        write_json(out, &serde_json::json!({"out": path.display().to_string()}))?;
    }
    Ok(Outcome::Done)
}
