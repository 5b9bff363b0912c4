//! One file for each command.

mod demo;
mod explain;
mod export;
mod generate;
mod get;
mod head;
mod info;
mod ingest;
mod schema;
mod verify;
mod versions;

use std::io::Write;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole story on generated data, offline, in well under a minute
    Demo(demo::Demo),
    /// Take a data set in as a new table
    #[command(subcommand)]
    Ingest(ingest::Ingest),
    /// Write a table back as the data set it was made from
    #[command(subcommand)]
    Export(export::Export),
    /// Make up a data set of any size
    #[command(subcommand)]
    Generate(generate::Generate),
    /// What a table is, in numbers: rows, sequences, column groups, bytes
    Info(info::Info),
    /// Columns, their types and groups
    Schema(schema::SchemaCommand),
    /// The first rows of the index
    Head(head::Head),
    /// The versions of a table, newest first
    Versions(versions::Versions),
    /// Read a row, or the window of rows around it
    Get(get::Get),
    /// What reading a row or window costs, before it is done: ranges, requests, bytes
    Explain(explain::ExplainCommand),
    /// Check every byte of a table against the hashes that name it
    Verify(verify::Verify),
}

impl Command {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::Demo(command) => command.run(out).await,
            Self::Generate(command) => command.run(out).await,
            Self::Schema(command) => command.run(out).await,
            Self::Head(command) => command.run(out).await,
            Self::Versions(command) => command.run(out).await,
            Self::Ingest(command) => command.run(out).await,
            Self::Export(command) => command.run(out).await,
            Self::Info(command) => command.run(out).await,
            Self::Get(command) => command.run(out).await,
            Self::Explain(command) => command.run(out).await,
            Self::Verify(command) => command.run(out).await,
        }
    }
}

/// A value as indented JSON and a line feed.
fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| tetrys::Error::internal(error.to_string()))?;
    writeln!(out, "{text}")?;
    Ok(())
}
