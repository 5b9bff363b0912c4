//! `tetrys compact` and `tetrys materialize`: the same rows, stored otherwise.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{
    Table,
    table::{Locality, Worst},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Payload stays where it is, unless --runs is given. Then blocks of neighbouring rows that lie scattered over many chunks and tables (as many versions, patches or small appends leave them) are copied side by side into new chunks, until every window of --window rows takes at most --extra-ranges ranges more, and --percent of its bytes, than in a table that was written at once. Only the blocks concerned are copied, as they are stored where that is possible. Versions before stay as they are.

Examples:
  tetrys compact drives
  tetrys compact drives --runs
  tetrys compact drives --runs --window 32 --extra-ranges 0 --json"
)]
pub(crate) struct Compact {
    /// The table: a path or file:// URL
    table: String,
    /// Rows of a segment, at most
    #[arg(long, value_name = "N", default_value_t = 4_194_304, value_parser = clap::value_parser!(u64).range(1..=4_194_304))]
    segment_rows: u64,
    /// Copy blocks that lie scattered into chunks of the table's own, side by side
    #[arg(long)]
    runs: bool,
    /// Rows of the widest window that counts
    #[arg(long, value_name = "N", default_value_t = 16, requires = "runs", value_parser = clap::value_parser!(u64).range(1..=4096))]
    window: u64,
    /// Ranges that a window may take beyond those of a table written at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "runs")]
    extra_ranges: u16,
    /// Bytes that a window may read, in percent of its own
    #[arg(long, value_name = "N", default_value_t = 150, requires = "runs", value_parser = clap::value_parser!(u64).range(100..))]
    percent: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys materialize again\n  tetrys info again")]
pub(crate) struct Materialize {
    /// The table: a path or file:// URL
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Compact {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let (next, moved) = match self.runs {
            true => {
                let bound = Locality { window: self.window, extra_ranges: usize::from(self.extra_ranges), percent: self.percent };
                let (next, moved) = table.compact_runs(self.segment_rows, bound).await?;
                (next, Some(moved))
            }
            false => (table.compact(self.segment_rows).await?, None),
        };
        let count = |table: &Table| table.segment_count() as u64;
        if self.json {
            let segments = json!({"before": count(&table), "after": count(&next)});
            let added = (next.version() != table.version()).then(|| next.lineage()["bytes_added"].clone());
            let said =
                json!({"url": next.url(), "version": next.version(), "segments": segments, "runs": moved, "bytes_added": added});
            write_json(out, &said)?;
            return Ok(Outcome::Done);
        }
        match next.version() == table.version() {
            true => writeln!(out, "{}: {}, nothing to put together", table.url(), text::counted(count(&table), "segment"))?,
            false => {
                writeln!(
                    out,
                    "{}: version {}, {} of {}",
                    next.url(),
                    next.version(),
                    text::counted(count(&next), "segment"),
                    count(&table)
                )?;
            }
        }
        if let Some(moved) = moved {
            let worst = |worst: Worst| {
                format!("{} more, {} % of its bytes", text::counted(worst.extra_ranges, "range"), worst.percent.max(100))
            };
            writeln!(
                out,
                "copied  {}, {} in {}\nworst window  {} before, {} now",
                text::counted(moved.blocks, "block"),
                text::bytes(moved.bytes),
                text::counted(moved.chunks, "chunk"),
                worst(moved.before),
                worst(moved.after),
            )?;
        }
        Ok(Outcome::Done)
    }
}

impl Materialize {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut chunks = 0;
        let next = table.materialize(|done, _| chunks = done).await?;
        if self.json {
            let said = json!({"url": next.url(), "version": next.version(), "chunks_copied": chunks});
            write_json(out, &said)?;
            return Ok(Outcome::Done);
        }
        match next.version() == table.version() {
            true => writeln!(out, "{}: it refers to no other table", table.url())?,
            false => writeln!(out, "{}: version {}, {} copied", next.url(), next.version(), text::counted(chunks, "chunk"))?,
        }
        Ok(Outcome::Done)
    }
}
