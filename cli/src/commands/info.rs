//! `tetrys info`: shows a table in numbers.

use std::io::Write;

use clap::Args;

use super::{schema::properties_text, write_json};
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Prints the URL, version and UUID, rows and sequences, bytes of chunks, index and other metadata, tags, the tables that it refers to, and properties. For each column group it prints the columns, blocks, stored bytes, logical (uncompressed) bytes and their ratio; for a view, the tables behind it.

Examples:
  tetrys info sample
  tetrys info sample@1 --json"
)]
pub(crate) struct Info {
    /// The table or view: a path or URL; TABLE@3 is version 3
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
        let mut lines = vec![
            ("table", format!("{} version {}", info.url, info.version)),
            ("uuid", info.uuid),
            ("rows", format!("{} in {}", text::count(info.rows), text::counted(info.sequences, "sequence"))),
            ("preset", info.preset),
            (
                "chunks",
                format!("{}, {}", text::count(info.chunks), text::bytes(info.own_chunk_bytes + info.referenced_chunk_bytes)),
            ),
            (
                "blocks",
                format!(
                    "own {}, of which {} shared with the version before; in other tables {}",
                    text::bytes(info.own_bytes),
                    text::bytes(info.shared_bytes),
                    text::bytes(info.referenced_bytes)
                ),
            ),
            (
                "metadata",
                format!(
                    "index {}, layouts {}, hashes {}",
                    text::bytes(info.index_bytes),
                    text::bytes(info.layout_bytes),
                    text::bytes(info.hashes_bytes)
                ),
            ),
        ];
        // The line is useful only if the table shares blocks.
        if info.referenced_bytes + info.shared_bytes == 0 {
            lines.retain(|(name, _)| *name != "blocks");
        }
        if !info.tags.is_empty() {
            let tags: Vec<String> = info.tags.iter().map(|(tag, version)| format!("{tag} = version {version}")).collect();
            lines.push(("tags", text::printable(&tags.join(", "))));
        }
        if !info.references.is_empty() {
            lines.push(("refers to", text::printable(&info.references.join(", "))));
        }
        let lines: Vec<_> = lines.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect();
        write!(out, "{}", text::table(&["", ""], &lines))?;
        writeln!(out, "{}", properties_text(&info.properties))?;
        if !info.sources.is_empty() {
            let rows: Vec<_> = info
                .sources
                .iter()
                .enumerate()
                .map(|(number, source)| {
                    vec![
                        number.to_string(),
                        format!("{} version {}", source.urls.first().cloned().unwrap_or_default(), source.version),
                        text::count(source.rows),
                        source.columns.len().to_string(),
                        source.merged_into.map_or_else(
                            || "its own".to_owned(),
                            |base| format!("{base}, join map {}", text::bytes(source.join_bytes)),
                        ),
                    ]
                })
                .collect();
            write!(out, "{}", text::table(&[">", "rows of", ">rows", ">columns", "windows follow"], &rows))?;
            return Ok(Outcome::Done);
        }
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
