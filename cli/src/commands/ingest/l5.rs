//! `tetrys ingest l5`: creates a table from a Level 5 data set.

use std::{io::Write, path::PathBuf, time::Instant};

use clap::Args;
use tetrys_l5::{Dataset, ingest};

use super::{Writing, json_of, say_warnings, sharing_text, stored_bytes, table_text};
use crate::{
    commands::write_json,
    failure::{Failure, Outcome, committed, say},
    numbers::whole,
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Makes one row for each frame: the agents and traffic light faces of a frame become tensors of its row. Each scene is a sequence. `tetrys export l5` writes the same zarr again.

Examples:
  tetrys ingest l5 sample.zarr sample --preset compact
  tetrys ingest l5 again.zarr again --reference sample
  tetrys info again"
)]
pub(crate) struct L5 {
    /// The data set: a zarr directory or a zip file of one: a path or URL
    source: PathBuf,
    /// The new table: a path or URL without a table; with --append or --overwrite, an existing table
    table: String,
    /// Minimum frames of a partition, which one worker writes; a partition ends at the end of a scene
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = whole(1..=u64::MAX))]
    partition_rows: u64,
    #[command(flatten)]
    writing: Writing,
}

impl L5 {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let options = self.writing.ingest(&self.table, self.partition_rows).await?;
        let store = crate::opening::store(&self.table)?;
        let dataset = Dataset::open(&self.source).map_err(Failure::Input)?;
        for warning in dataset.warnings() {
            say(format_args!("warning: {warning}"));
        }
        let bar = progress::rows("ingest", dataset.frames_len(), self.writing.quiet);
        let moved = bar.clone();
        let table = ingest(&dataset, store, &options, move |rows| moved.set_position(rows)).await;
        bar.finish_and_clear();
        let table = table.map_err(Failure::Input)?;
        committed(table.url(), table.version());
        crate::opening::say_what_to_allow(table.url(), &table.must_allow().await);
        // Warnings are also printed with --quiet and --json.
        say_warnings(&table);
        if self.writing.json {
            write_json(out, &json_of(&table))?;
            return Ok(Outcome::Done);
        }
        if self.writing.quiet {
            return Ok(Outcome::Done);
        }
        let stored = stored_bytes(&table);
        let given = dataset.group().stored_bytes()?;
        writeln!(out, "{} in {}", table_text(&table), text::time(started.elapsed()))?;
        writeln!(out, "input   {} ({} decoded)", text::bytes(given), text::bytes(dataset.decoded_bytes()))?;
        writeln!(out, "stored  {}, {} of the input", text::bytes(stored), text::ratio(stored, given))?;
        if let Some(shared) = sharing_text(&table) {
            writeln!(out, "{shared}")?;
        }
        Ok(Outcome::Done)
    }
}
