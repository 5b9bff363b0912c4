//! `tetrys session`: a table written by several processes. One begins a session, any number write partitions of it, one commits.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use tetrys::{
    Error, Receipt, TableWriter, Ticket,
    ingest::{
        Target,
        frame::{FrameSettings, write_partition},
    },
};

use super::{
    ingest::{Choices, Kind, Writing, json_of, said_of, say_left_out, say_missing},
    write_json,
};
use crate::{
    failure::{Failure, Outcome},
    opening, staging,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Session {
    /// Begin a session; its ticket goes to stdout or a file
    Begin(Begin),
    /// Write a frame as one partition of a session; its receipt goes to stdout or a file
    WritePartition(WritePartition),
    /// Make the table exist, with the rows of these receipts
    Commit(Commit),
}

#[derive(Args, Debug)]
#[command(after_help = "Example:
  tetrys session begin s3://bucket/drives part-0.parquet --sequence-by log_id --out drives.ticket
  tetrys session begin s3://bucket/drives part-4.parquet --append --out more.ticket")]
pub(crate) struct Begin {
    /// The new table: a path or URL where no table is yet (or is, with --append)
    table: String,
    /// A frame with the columns of all partitions; its rows are not read
    frame: PathBuf,
    #[command(flatten)]
    kind: Kind,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    writing: Writing,
    /// Where the ticket goes [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(
    after_help = "Partitions follow each other in the table by number, from 0; a sequence lies in one of them. Whoever writes a partition again gets the same receipt.

Example:
  tetrys session write-partition s3://bucket/drives drives.ticket 3 part-3.parquet --sequence-by log_id --out 3.receipt"
)]
pub(crate) struct WritePartition {
    /// The new table, as at the beginning
    table: String,
    /// The session's ticket
    ticket: PathBuf,
    /// The partition's number
    number: u32,
    /// The file that holds the rows; - is standard input
    frame: PathBuf,
    #[command(flatten)]
    kind: Kind,
    #[command(flatten)]
    choices: Choices,
    /// Where the receipt goes [default: stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print JSON: the receipt, which is JSON in any case, or where it went
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "The same command again is the same commit: where the outcome was unknown, it tells.

Example:
  tetrys session commit s3://bucket/drives drives.ticket --partitions 4 0.receipt 1.receipt 2.receipt 3.receipt
  tetrys session commit s3://bucket/drives drives.ticket --found --abandon 3")]
pub(crate) struct Commit {
    /// The new table, as at the beginning
    table: String,
    /// The session's ticket
    ticket: PathBuf,
    /// The receipts, in any order; equal ones count once
    #[arg(required_unless_present = "found")]
    receipts: Vec<PathBuf>,
    /// Take the receipts that finished partitions left in the store as well
    #[arg(long)]
    found: bool,
    /// Leave the rows of this partition out; repeatable
    #[arg(long, value_name = "NUMBER")]
    abandon: Vec<u32>,
    /// How many partitions there are; without it, a last one that never finished is not noticed
    #[arg(long, value_name = "N")]
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
        }
    }
}

impl Begin {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        self.writing.is_for_one_session()?;
        let options = self.writing.options(&self.table).await?;
        let frame = self.choices.text.open(&self.frame, self.kind.of(&self.frame))?;
        let target = self.writing.target();
        let settings = FrameSettings { target, ..self.choices.settings() };
        say_left_out(&frame, &settings);
        let writer = match target {
            Target::New => {
                let schema = settings.schema(&frame).map_err(Failure::Input)?;
                TableWriter::create(opening::store(&self.table)?, schema, options).await?
            }
            Target::Append => {
                let table = opening::table(&self.table).await?;
                settings.schema_for(&frame, &table).map_err(Failure::Input)?;
                table.append(options).await?
            }
            Target::Overwrite => {
                return Err(Error::unsupported("--overwrite: one process does it, by `tetrys ingest .. --overwrite`").into());
            }
        };
        write_line(out, self.out.as_deref(), &writer.ticket()?.to_json(), self.writing.json)
    }
}

impl WritePartition {
    async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let writer = TableWriter::join(opening::store(&self.table)?, &ticket(&self.ticket)?)?;
        let frame = self.choices.text.open(&self.frame, self.kind.of(&self.frame))?;
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
        let writer = TableWriter::join(opening::store(&self.table)?, &ticket(&self.ticket)?)?;
        let receipts = self.receipts.iter().map(|path| {
            let text = text_of(path)?;
            serde_json::from_str::<Receipt>(&text)
                .map_err(|error| Failure::Input(Error::invalid(format!("{}: no receipt: {error}", path.display()))))
        });
        let mut receipts = receipts.collect::<Result<Vec<_>, Failure>>()?;
        if self.found {
            receipts.extend(writer.receipts().await?);
            receipts.retain(|receipt| !self.abandon.contains(&receipt.partition));
        }
        self.abandon.iter().for_each(|partition| writer.abandon(*partition));
        if let Some(partitions) = self.partitions {
            writer.expect_partitions(partitions);
        }
        let table = writer.commit(receipts).await?;
        if self.json {
            write_json(out, &json_of(&table))?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}", said_of(&table))?;
        Ok(Outcome::Done)
    }
}

fn ticket(path: &Path) -> Result<Ticket, Failure> {
    Ticket::from_json(&text_of(path)?).map_err(|error| Failure::Input(error.at(path.display())))
}

fn text_of(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::Input(Error::from(error).at(path.display())))
}

/// A line to stdout, or whole or not at all to a file.
fn write_line(out: &mut dyn Write, path: Option<&Path>, line: &str, json: bool) -> Result<Outcome, Failure> {
    let Some(path) = path else {
        writeln!(out, "{line}")?;
        return Ok(Outcome::Done);
    };
    let written = staging::new_file(path).and_then(|mut file| {
        writeln!(file, "{line}")?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)
    });
    written.map_err(|error| Failure::from(Error::from(error).at(path.display())))?;
    if json {
        write_json(out, &serde_json::json!({"out": path.display().to_string()}))?;
    }
    Ok(Outcome::Done)
}
