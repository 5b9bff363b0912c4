//! `tetrys compact` and `tetrys materialize`: the same rows, stored otherwise.

use std::io::Write;

use clap::Args;
use tetrys::Table;

use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys compact drives")]
pub(crate) struct Compact {
    /// The table: a path or file:// URL
    table: String,
    /// Rows of a segment, at most
    #[arg(long, value_name = "N", default_value_t = 4_194_304, value_parser = clap::value_parser!(u64).range(1..=4_194_304))]
    segment_rows: u64,
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys materialize again\n  tetrys info again")]
pub(crate) struct Materialize {
    /// The table: a path or file:// URL
    table: String,
}

impl Compact {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let next = table.compact(self.segment_rows).await?;
        let count = |table: &Table| table.manifest().segments.len() as u64;
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
        Ok(Outcome::Done)
    }
}

impl Materialize {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut chunks = 0;
        let next = table.materialize(|done, _| chunks = done).await?;
        match next.version() == table.version() {
            true => writeln!(out, "{}: it refers to no other table", table.url())?,
            false => writeln!(out, "{}: version {}, {} copied", next.url(), next.version(), text::counted(chunks, "chunk"))?,
        }
        Ok(Outcome::Done)
    }
}
