//! `tetrys info`: a table in numbers.

use std::io::Write;

use clap::Args;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys info sample\n  tetrys info sample@1 --json")]
pub(crate) struct Info {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let info = crate::opening::table(&self.table).await?.info().await?;
        if self.json {
            write_json(out, &info)?;
            return Ok(Outcome::Done);
        }
        let lines = [
            ("table", format!("{} version {}", info.url, info.version)),
            ("uuid", info.uuid),
            ("rows", format!("{} in {}", text::count(info.rows), text::counted(info.sequences, "sequence"))),
            ("preset", info.preset),
            (
                "chunks",
                format!("{}, {}", text::count(info.chunks), text::bytes(info.own_chunk_bytes + info.referenced_chunk_bytes)),
            ),
            (
                "beside",
                format!(
                    "index {}, layouts {}, hashes {}",
                    text::bytes(info.index_bytes),
                    text::bytes(info.layout_bytes),
                    text::bytes(info.hashes_bytes)
                ),
            ),
        ];
        writeln!(out, "{}", text::table(&["", ""], &lines.map(|(name, value)| vec![name.to_owned(), value])))?;
        let rows: Vec<_> = info
            .column_groups
            .iter()
            .map(|group| {
                vec![
                    group.name.clone(),
                    group.columns.len().to_string(),
                    text::count(group.blocks),
                    text::bytes(group.bytes),
                    text::bytes(group.logical_bytes),
                    text::ratio(group.bytes, group.logical_bytes),
                ]
            })
            .collect();
        write!(out, "{}", text::table(&["column group", ">columns", ">blocks", ">stored", ">logical", ">ratio"], &rows))?;
        Ok(Outcome::Done)
    }
}
