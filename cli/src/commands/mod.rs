//! One file for each command.

mod completions;
mod demo;
mod explain;
mod export;
mod generate;
mod get;
mod head;
mod info;
mod ingest;
mod layout;
mod limits;
mod query;
mod schema;
mod selftest;
mod session;
mod stats;
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
    /// Write a table from several processes: begin, write partitions, commit
    #[command(subcommand)]
    Session(session::Session),
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
    /// The first rows: their index, and the shapes, sizes and pictures of what they hold
    Head(head::Head),
    /// What the index columns hold: nulls, least, greatest, distinct values, a histogram
    Stats(stats::Stats),
    /// Ask the index in SQL
    Query(query::Query),
    /// The versions of a table, newest first
    Versions(versions::Versions),
    /// Read a row, or the window of rows around it
    Get(get::Get),
    /// What reading a row or window costs, before it is done: ranges, requests, bytes
    Explain(explain::ExplainCommand),
    /// Where rows lie: partitions, chunks and blocks, as text or as a picture
    Layout(layout::LayoutCommand),
    /// Check every byte of a table against the hashes that name it
    Verify(verify::Verify),
    /// Whether a store can carry tables: create-only puts, races, ranges, parts, a verdict a line
    Selftest(selftest::Selftest),
    /// What a table may hold, and what a reader takes upon itself
    Limits(limits::Limits),
    /// The script by which a shell completes commands and options
    Completions(completions::Completions),
    /// The manual: a page for every command
    Man(completions::Man),
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
            Self::Stats(command) => command.run(out).await,
            Self::Query(command) => command.run(out).await,
            Self::Layout(command) => command.run(out).await,
            Self::Selftest(command) => command.run(out).await,
            Self::Session(command) => command.run(out).await,
            Self::Limits(command) => command.run(out),
            Self::Completions(command) => command.run(out),
            Self::Man(command) => command.run(out),
        }
    }
}

/// A value as indented JSON and a line feed.
fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| tetrys::Error::internal(error.to_string()))?;
    writeln!(out, "{text}")?;
    Ok(())
}
