//! `tetrys explain`: shows what a read would cost, from its plan alone.

use std::io::Write;

use clap::Args;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    reading::Reading,
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Plans the read that `tetrys get` would do with the same row, columns and window, and reads metadata only. Use it before you read many rows from an object store. A range is a run of bytes in one chunk; a long range is split into several requests. `payload` are the bytes of the blocks that hold the rows; `bytes` also counts gaps that are read because they are cheaper than another request. Dependent hops are rounds of requests that wait for each other.

Examples:
  tetrys explain sample 120
  tetrys explain sample 120 --columns 'agents.pose.*' --offsets=-10..=0"
)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    reading: Reading,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ExplainCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (table, loader) = self.reading.open().await?;
        let row = self.reading.row;
        let explain = match self.reading.choice.window(&table)? {
            Some(window) => loader.explain(row, window).await?,
            None => loader.explain_take(&[row]).await?,
        };
        if self.json {
            write_json(out, &explain)?;
            return Ok(Outcome::Done);
        }
        writeln!(
            out,
            "{}, {}, {} of which {} are payload, {}\n",
            text::counted(explain.ranges as u64, "range"),
            text::counted(explain.requests as u64, "request"),
            text::counted(explain.bytes, "byte"),
            text::count(explain.payload_bytes),
            text::counted(explain.hops as u64, "dependent hop"),
        )?;
        let rows: Vec<_> = explain
            .groups
            .iter()
            .map(|group| {
                let numbers = [group.blocks, group.ranges, group.requests].map(|number| text::count(number as u64));
                let mut cells = vec![group.name.clone()];
                cells.extend(numbers);
                cells.extend([text::count(group.bytes), text::count(group.payload_bytes), group.columns.join(" ")]);
                cells
            })
            .collect();
        let headings = ["column group", ">blocks", ">ranges", ">requests", ">bytes", ">payload", "columns"];
        write!(out, "{}", text::table(&headings, &rows))?;
        Ok(Outcome::Done)
    }
}
