//! `tetrys info`: shows a table in numbers.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};
use tetrys::{Table, table::IndexMemory};

use super::{schema::properties_text, write_json};
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Prints the URL, version and UUID, rows and sequences, bytes of chunks, index and other metadata, tags, the tables that it refers to, and properties. For each column group it prints the columns, blocks, stored bytes, logical (uncompressed) bytes and their ratio; for a view, the tables behind it.

With --memory, it loads the index and prints the bytes that it takes in memory: those of each column, and those of a row. It loads the index a second time with text as categorical columns (categorical=True in Python).

Examples:
  tetrys info sample
  tetrys info sample@1 --json
  tetrys info sample --memory"
)]
pub(crate) struct Info {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Load the index, and print its bytes in memory instead
    #[arg(long)]
    memory: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        if self.memory {
            return memory(&crate::opening::table(&self.table).await?, self.json, out).await;
        }
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

/// Prints the bytes of the index in memory, with text as text and as categorical columns.
async fn memory(table: &Table, json: bool, out: &mut dyn Write) -> Result<Outcome, Failure> {
    // One after the other: an index may fill half of the memory.
    let plain = table.index().await?.memory();
    let categorical = table.index().categorical().await?.memory();
    let per_row = |bytes: u64| bytes as f64 / plain.rows.max(1) as f64;
    if json {
        let memory_json = |memory: &IndexMemory| {
            let columns: Vec<Value> = memory
                .columns
                .iter()
                .map(|column| {
                    let (name, r#type) = (&column.name, &column.r#type);
                    json!({"name": name, "type": r#type, "bytes": column.bytes, "bytes_per_row": per_row(column.bytes)})
                })
                .collect();
            json!({
                "bytes": memory.bytes(),
                "bytes_per_row": per_row(memory.bytes()),
                "locator_bytes": memory.locator_bytes,
                "columns": columns,
            })
        };
        let (plain_json, categorical) = (memory_json(&plain), memory_json(&categorical));
        write_json(
            out,
            &json!({"url": table.url(), "version": table.version(), "rows": plain.rows, "index": plain_json, "categorical": categorical}),
        )?;
        return Ok(Outcome::Done);
    }
    let row = |name: &str, r#type: &str, bytes: [u64; 2]| {
        vec![
            text::printable(name),
            r#type.to_owned(),
            format!("{:.1}", per_row(bytes[0])),
            format!("{:.1}", per_row(bytes[1])),
            text::bytes(bytes[0]),
        ]
    };
    let columns = plain.columns.iter().zip(&categorical.columns);
    let mut rows: Vec<_> = columns.map(|(a, b)| row(&a.name, &a.r#type, [a.bytes, b.bytes])).collect();
    rows.push(row("locators", "", [plain.locator_bytes, categorical.locator_bytes]));
    rows.push(row("all", "", [plain.bytes(), categorical.bytes()]));
    let row_count = text::counted(plain.rows, "row");
    writeln!(out, "{} version {}: the index of {row_count} in memory", table.url(), table.version())?;
    write!(out, "{}", text::table(&["column", "type", ">bytes per row", ">if categorical", ">bytes"], &rows))?;
    Ok(Outcome::Done)
}
