//! One file for each command.

mod cache;
mod columns;
mod compact;
mod completions;
mod delete;
mod demo;
mod diff;
mod du;
mod edit;
mod explain;
mod export;
mod gc;
mod generate;
mod get;
mod head;
mod info;
mod ingest;
mod layout;
mod limits;
mod query;
mod rebind;
mod schema;
mod selftest;
mod session;
mod stats;
mod verify;
mod versions;
mod views;

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
    /// What a table takes, version by version, and what versions share
    Du(du::Du),
    /// Say other things of the same rows: names, properties, tags, fewer columns
    Edit(edit::EditCommand),
    /// Give some rows other values in columns of one group, from a frame and by key
    Patch(columns::Patch),
    /// Give a column group other values, from a frame, in order or by key
    ReplaceGroup(columns::ReplaceGroup),
    /// Add a column group from a frame, in order or by key
    AddGroup(columns::AddGroup),
    /// Make a version without some rows
    Delete(delete::Delete),
    /// Put small segments together and, on request, blocks that lie scattered
    Compact(compact::Compact),
    /// Copy what a table uses of other tables, and cut the ties
    Materialize(compact::Materialize),
    /// Find, condemn and delete what no version needs; a dry run unless told otherwise
    Gc(gc::Gc),
    /// Read a row, or the window of rows around it
    Get(get::Get),
    /// What reading a row or window costs, before it is done: ranges, requests, bytes
    Explain(explain::ExplainCommand),
    /// Where rows lie: partitions, chunks and blocks, as text or as a picture
    Layout(layout::LayoutCommand),
    /// Put two tables side by side, as a view that copies nothing
    Merge(views::Merge),
    /// Put tables one below the other, as a view
    Concat(views::Concat),
    /// Keep some rows of a table, or parts for training and testing, as views
    Select(views::Select),
    /// Make views by a recipe: sources, joins, filters, columns, splits
    Run(views::Run),
    /// What differs between two tables or versions: rows added, removed, changed
    Diff(diff::DiffCommand),
    /// Tell a view where tables that moved are now
    Rebind(rebind::Rebind),
    /// Check every byte of a table against the hashes that name it
    Verify(verify::Verify),
    /// Whether a store can carry tables: create-only puts, races, ranges, parts, a verdict a line
    Selftest(selftest::Selftest),
    /// What a table may hold, and what a reader takes upon itself
    Limits(limits::Limits),
    /// What was read of remote stores and is kept on this machine
    #[command(subcommand)]
    Cache(cache::Cache),
    /// The script by which a shell completes commands and options
    Completions(completions::Completions),
    /// The manual: a page for every command
    Man(completions::Man),
}

impl Command {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::Demo(command) => command.run(out).await,
            Self::Du(command) => command.run(out).await,
            Self::Gc(command) => command.run(out).await,
            Self::Edit(command) => command.run(out).await,
            Self::Delete(command) => command.run(out).await,
            Self::Patch(command) => command.run(out).await,
            Self::ReplaceGroup(command) => command.run(out).await,
            Self::AddGroup(command) => command.run(out).await,
            Self::Compact(command) => command.run(out).await,
            Self::Materialize(command) => command.run(out).await,
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
            Self::Merge(command) => command.run(out).await,
            Self::Concat(command) => command.run(out).await,
            Self::Select(command) => command.run(out).await,
            Self::Run(command) => command.run(out).await,
            Self::Diff(command) => command.run(out).await,
            Self::Rebind(command) => command.run(out).await,
            Self::Layout(command) => command.run(out).await,
            Self::Selftest(command) => command.run(out).await,
            Self::Session(command) => command.run(out).await,
            Self::Limits(command) => command.run(out),
            Self::Cache(command) => command.run(out),
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
