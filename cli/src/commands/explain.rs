//! `tetrys explain`: shows what a read would cost, from its plan alone.

use std::{io::Write, ops::Range};

use clap::Args;
use tetrys::table::RangePlace;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    reading::Reading,
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Plans the read that `tetrys get` would do with the same row, columns and window, and reads metadata only. Use it before you read many rows from an object store. A range is a run of bytes in one chunk; a long range is split into several requests. `payload` are the bytes of the blocks that hold the rows; `bytes` also counts gaps that are read because they are cheaper than another request. Dependent hops are rounds of requests that wait for each other.

With `--places`, it also names each range: the object, its bytes, and how much of them each block of the rows takes.

Examples:
  tetrys explain sample 120
  tetrys explain sample 120 --places
  tetrys explain sample 120 --columns 'agents.pose.*' --offsets=-10..=0"
)]
pub(crate) struct ExplainCommand {
    #[command(flatten)]
    reading: Reading,
    /// Also print the ranges: object, bytes, and the blocks in them
    #[arg(long)]
    places: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ExplainCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (table, loader) = self.reading.open().await?;
        let loader = if self.places { loader.explain_places() } else { loader };
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
        let ranges = explain.groups.iter().flat_map(|group| group.places.iter().map(|range| (&group.name, range)));
        let rows: Vec<_> = ranges.map(|(group, range)| described(group, range)).collect();
        if !rows.is_empty() {
            let headings = ["column group", "object", ">first byte", ">bytes", ">payload", "blocks"];
            write!(out, "\n{}", text::table(&headings, &rows))?;
        }
        Ok(Outcome::Done)
    }
}

/// Returns the cells of a range.
fn described(group: &str, range: &RangePlace) -> Vec<String> {
    let length = |bytes: &Range<u64>| bytes.end - bytes.start;
    let payload: u64 = range.blocks.iter().flat_map(|block| &block.bytes).map(length).sum();
    let blocks = match (range.blocks.first(), range.blocks.last()) {
        (Some(first), Some(last)) if first.block < last.block => {
            format!("{} of {}..={}", range.blocks.len(), first.block, last.block)
        }
        (Some(only), _) => only.block.to_string(),
        _ => String::new(),
    };
    // An object of another table is named with the number of its store, as the manifest has it.
    let object = match range.owner {
        0 => range.object.to_string(),
        owner => format!("store {owner}: {}", range.object),
    };
    let numbers = [range.bytes.start, length(&range.bytes), payload].map(text::count);
    [group.to_owned(), object].into_iter().chain(numbers).chain([blocks]).collect()
}
