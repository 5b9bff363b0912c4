//! The commands, one file each. The first line of help of a command is its line in `tetrys --help`.

mod cache;
mod columns;
mod compact;
mod completions;
mod delete;
mod demo;
mod diff;
mod doctor;
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
mod l5;
mod layout;
mod limits;
mod logs;
mod plan;
mod query;
mod rebind;
mod resolve;
mod restore;
mod schema;
mod selftest;
mod session;
mod stats;
mod topics;
mod users;
mod verify;
mod versions;
mod view;
mod views;

use std::{collections::BTreeMap, fmt::Display, io::Write};

use clap::Subcommand;
use tetrys::Error;

use crate::failure::{Failure, Outcome};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a tour of Tetrys on generated data: offline, in under a minute
    Demo(demo::Demo),
    /// Create a table from a data set (Parquet, Arrow, CSV, NDJSON, L5, logs), or add rows to a table
    #[command(
        subcommand,
        after_help = "Each subcommand creates a new table. With --append or --overwrite it makes a new version of an existing table instead. To write one table from several processes use `tetrys session`.

Examples:
  tetrys ingest parquet frames.parquet drives --sequence-by log_id --order-by timestamp
  tetrys ingest csv more.csv drives --append"
    )]
    Ingest(ingest::Ingest),
    /// Write one table from several processes: begin, write-partition, commit
    #[command(
        subcommand,
        after_help = "One process begins a session and gets a ticket. Each writing process joins with the ticket, writes a partition and gets a receipt. One process commits all receipts as one version of the table. The table, or its new version, exists only after the commit. For one process use `tetrys ingest`.

Example:
  tetrys session begin week monday.csv --index log,time --sequence-by log --out ticket
  tetrys session write-partition week ticket 0 monday.csv --index log,time --sequence-by log --out receipt-0
  tetrys session write-partition week ticket 1 tuesday.csv --index log,time --sequence-by log --out receipt-1
  tetrys session commit week ticket receipt-0 receipt-1 --partitions 2"
    )]
    Session(session::Session),
    /// Write a table or view as Parquet or Arrow, or an L5 table back as its data set
    #[command(
        subcommand,
        after_help = "Examples:
  tetrys export parquet drives --columns 'log_id,timestamp,ego.*' --out ego.parquet
  tetrys export arrow drives@3 --out drives.arrow
  tetrys export l5 sample back.zarr"
    )]
    Export(export::Export),
    /// Generate a data set of any size, to try things with
    #[command(subcommand)]
    Generate(generate::Generate),
    /// Look at Level 5 data
    #[command(subcommand)]
    L5(l5::L5),
    /// Look at MCAP and ROS recordings, before `tetrys ingest logs` makes rows of them
    #[command(subcommand)]
    Logs(logs::Logs),
    /// Show a table in numbers: rows, sequences, column groups, bytes
    Info(info::Info),
    /// Show the columns of a table, with their types and column groups
    Schema(schema::SchemaCommand),
    /// Show the first rows: index values, and shapes, sizes and picture formats of other columns
    Head(head::Head),
    /// Summarise the index columns: nulls, distinct values, minimum, maximum, histogram
    Stats(stats::Stats),
    /// Query the index of a table in SQL
    Query(query::Query),
    /// Look at tables in the browser: rows, columns, pictures, points, sequences
    View(view::View),
    /// List the versions of a table, newest first
    Versions(versions::Versions),
    /// Show the disk space of each version, and what versions share
    Du(du::Du),
    /// Rename or drop columns, set table properties, tag versions
    Edit(edit::EditCommand),
    /// Change values of some rows in one column group; a file has the rows, found by key
    Patch(columns::Patch),
    /// Replace all values of a column group from a file, in table order or by key
    ReplaceGroup(columns::ReplaceGroup),
    /// Add a column group from a file, in table order or by key
    AddGroup(columns::AddGroup),
    /// Delete the rows that match a condition; older versions keep them
    Delete(delete::Delete),
    /// Make an earlier version the newest again, as a new version that copies no payload
    Restore(restore::Restore),
    /// Tell what became of a commit whose outcome was unknown
    Resolve(resolve::Resolve),
    /// Merge small index segments and, with --runs, copy scattered blocks side by side
    Compact(compact::Compact),
    /// Copy the chunks that a table uses of other tables, so that it needs no other table
    Materialize(compact::Materialize),
    /// Collect garbage: objects that no kept version needs; a dry run without --yes
    Gc(gc::Gc),
    /// Read a row, or a window of rows around it
    Get(get::Get),
    /// Show what reading a row or window would cost: ranges, requests, bytes
    Explain(explain::ExplainCommand),
    /// Predict what reading training batches costs: requests, bytes, memory, samples per second
    Plan(plan::Plan),
    /// Read training batches and measure, beside what `plan` predicts
    Throughput(plan::Throughput),
    /// Show where rows are stored, as text or as a picture: chunks and blocks of each group
    Layout(layout::LayoutCommand),
    /// Join two tables by key or by time, as a view that copies no payload
    Merge(views::Merge),
    /// Concatenate tables, as a view that copies no payload
    Concat(views::Concat),
    /// Filter, sort, sample or split the rows of a table, as views that copy no payload
    Select(views::Select),
    /// Make views from a recipe file: sources, joins, filters, columns, splits
    Run(views::Run),
    /// Compare two tables or versions: rows added, removed, changed
    Diff(diff::DiffCommand),
    /// Record the new place of a table that a view or another table refers to
    Rebind(rebind::Rebind),
    /// List the versions of other tables that use versions of this one
    Users(users::Users),
    /// Verify every byte of a table against its checksums and hashes
    Verify(verify::Verify),
    /// Say what is wrong with a table, and the command that mends it
    Doctor(doctor::Doctor),
    /// Test whether a store can hold tables: create-only puts, races, ranges, multipart uploads
    Selftest(selftest::Selftest),
    /// List the limits of tables and of reads
    Limits(limits::Limits),
    /// Show or clear the local cache of data from remote stores
    #[command(
        subcommand,
        after_help = "The cache keeps byte ranges that were read from remote stores on a local disk. It is off unless TETRYS_CACHE or --option cache=FOLDER names its folder.

Examples:
  tetrys cache path --option cache=/var/cache/tetrys
  tetrys cache stats
  tetrys cache clear"
    )]
    Cache(cache::Cache),
    /// Print the script with which a shell completes commands and options
    Completions(completions::Completions),
    /// Print the manual page, or write one for every command
    Man(completions::Man),
    /// URLs, credentials, and references to other tables: the options that every command has
    Stores(topics::Stores),
    /// Recipes of `tetrys ingest logs`: the clock, the matches, and what each key means
    Recipe(topics::Recipe),
}

impl Command {
    /// Returns the message of this command if it is interrupted: how to find out what it did, or how to go on.
    pub(crate) fn interrupted(&self) -> Option<&'static str> {
        match self {
            Self::Ingest(ingest::Ingest::Logs(_)) => Some(
                "interrupted: run the same command again to go on: logs that are written are not read again. Nothing of them is in the \
                 table yet, unless the import was just done",
            ),
            _ if self.commits() => {
                Some("interrupted: the table has its old version or the new one; `tetrys versions TABLE` shows which")
            }
            _ => None,
        }
    }

    /// Whether this command commits a version of a table, so that one that is interrupted may or may not have done so.
    fn commits(&self) -> bool {
        matches!(
            self,
            Self::Ingest(_)
                | Self::Session(_)
                | Self::Edit(_)
                | Self::Patch(_)
                | Self::ReplaceGroup(_)
                | Self::AddGroup(_)
                | Self::Delete(_)
                | Self::Restore(_)
                | Self::Resolve(_)
                | Self::Compact(_)
                | Self::Materialize(_)
                | Self::Gc(_)
                | Self::Rebind(_)
                | Self::Merge(_)
                | Self::Concat(_)
                | Self::Select(_)
                | Self::Run(_)
        )
    }

    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        match self {
            Self::Demo(command) => command.run(out).await,
            Self::Du(command) => command.run(out).await,
            Self::Gc(command) => command.run(out).await,
            Self::Edit(command) => command.run(out).await,
            Self::Delete(command) => command.run(out).await,
            Self::Restore(command) => command.run(out).await,
            Self::Resolve(command) => command.run(out).await,
            Self::Users(command) => command.run(out).await,
            Self::Doctor(command) => command.run(out).await,
            Self::Patch(command) => command.run(out).await,
            Self::ReplaceGroup(command) => command.run(out).await,
            Self::AddGroup(command) => command.run(out).await,
            Self::Compact(command) => command.run(out).await,
            Self::Materialize(command) => command.run(out).await,
            Self::Generate(command) => command.run(out).await,
            Self::L5(command) => command.run(out).await,
            Self::Logs(command) => command.run(out).await,
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
            Self::View(command) => command.run(out).await,
            Self::Plan(command) => command.run(out).await,
            Self::Throughput(command) => command.run(out).await,
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
            Self::Stores(command) => command.run(out),
            Self::Recipe(command) => command.run(out),
        }
    }
}

/// Writes a value as indented JSON and a line feed.
fn write_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| tetrys::Error::internal(error.to_string()))?;
    writeln!(out, "{text}")?;
    Ok(())
}

/// Returns the pairs as a map.
///
/// # Errors
/// - `Invalid`: a name is there twice.
fn named_once<T: Display>(pairs: impl IntoIterator<Item = (String, T)>, option: &str) -> Result<BTreeMap<String, T>, Error> {
    let mut map = BTreeMap::new();
    for (name, value) in pairs {
        if let Some(first) = map.get(&name) {
            return Err(Error::invalid(format!(
                "{option}: found the name `{name}` twice, with `{first}` and `{value}`; give each its own name"
            )));
        }
        map.insert(name, value);
    }
    Ok(map)
}
