//! `tetrys compact` and `tetrys materialize`: write a version with the same rows in another layout.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{
    Table,
    table::{Locality, Worst},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, committed},
    numbers::whole,
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Use it after many small appends, versions or patches. The result is a new version with the same rows; older versions stay as they are.

With --index, which is the default without --runs, only small index segments are merged, so that the table opens faster, and the bloom filters that `tetrys edit --bloom-filter` asked for are added; no payload is read or copied.

With --runs, scattered blocks of neighbouring rows are also copied side by side into new chunks of this table, so that a window of up to --window rows takes at most --extra-ranges more ranges than in a table that was written at once, and reads at most --percent of the bytes of its blocks. Small chunks side by side, such as many small appends leave, become one. New chunks end by their content, so a few windows may stay beyond the bound. Other blocks stay where they are. Blocks are copied without decoding them where possible.

Examples:
  tetrys compact drives --index
  tetrys compact drives --runs
  tetrys compact drives --runs --window 32 --extra-ranges 0 --json"
)]
pub(crate) struct Compact {
    /// The table: a path or URL
    table: String,
    /// Maximum rows of an index segment
    #[arg(long, value_name = "N", default_value_t = 4_194_304, value_parser = whole(1..=4_194_304_u64))]
    segment_rows: u64,
    /// Merge small index segments, and neither read nor copy payload; the default
    #[arg(long, conflicts_with = "runs")]
    index: bool,
    /// Also copy scattered blocks side by side into new chunks of this table
    #[arg(long)]
    runs: bool,
    /// With --runs: rows of the widest window to optimise for
    #[arg(long, value_name = "N", default_value_t = 16, requires = "runs", value_parser = whole(1..=4096_u64))]
    window: u64,
    /// With --runs: ranges that a window may take in addition to those of a table that was written at once
    #[arg(long, value_name = "N", default_value_t = 1, requires = "runs", value_parser = whole(0..=u16::MAX))]
    extra_ranges: u16,
    /// With --runs: bytes that a window may read, in percent of the bytes of its blocks
    #[arg(long, value_name = "N", default_value_t = 150, requires = "runs", value_parser = whole(100..=u64::MAX))]
    percent: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
#[command(
    after_help = "A table that was written with --reference refers to chunks of other tables. Use this command before you delete or move these tables. The result is a new version whose chunks are all in this table; each copied chunk is checked against its hash. Views cannot be materialized.

Example:
  tetrys materialize again
  tetrys info again"
)]
pub(crate) struct Materialize {
    /// The table: a path or URL
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Compact {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let bar = progress::watch("compact");
        let (next, moved) = match self.runs && !self.index {
            true => {
                let bound = Locality { window: self.window, extra_ranges: usize::from(self.extra_ranges), percent: self.percent };
                let (next, moved) = table.storage().compact_runs(self.segment_rows, bound).await?;
                (next, Some(moved))
            }
            false => (table.storage().compact(self.segment_rows).await?, None),
        };
        drop(bar);
        if next.version() != table.version() {
            committed(next.url(), next.version());
        }
        let count = |table: &Table| table.storage().segment_count() as u64;
        if self.json {
            let segments = json!({"before": count(&table), "after": count(&next)});
            let added = (next.version() != table.version()).then(|| next.lineage()["bytes_added"].clone());
            let output =
                json!({"url": next.url(), "version": next.version(), "segments": segments, "runs": moved, "bytes_added": added});
            write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        match next.version() == table.version() {
            true => {
                let segments = text::counted(count(&table), "segment");
                writeln!(out, "{}: {segments}, nothing to compact: still version {}", table.url(), table.version())?;
            }
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
                format!("{}, {} % of its bytes", text::counted(worst.extra_ranges, "extra range"), worst.percent.max(100))
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
        let bar = progress::watch("materialize");
        let next = table.storage().materialize(|done, _| chunks = done).await?;
        drop(bar);
        if next.version() != table.version() {
            committed(next.url(), next.version());
        }
        if self.json {
            let output = json!({"url": next.url(), "version": next.version(), "chunks_copied": chunks});
            write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        match next.version() == table.version() {
            true => writeln!(out, "{}: the table refers to no other table", table.url())?,
            false => writeln!(out, "{}: version {}, {} copied", next.url(), next.version(), text::counted(chunks, "chunk"))?,
        }
        Ok(Outcome::Done)
    }
}
