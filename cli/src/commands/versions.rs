//! `tetrys versions`: the versions of a table, newest first.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{ErrorKind, Table, commit};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys versions sample\n  tetrys info sample@1")]
pub(crate) struct Versions {
    /// The table: a path or file:// URL
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Versions {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let newest = Table::open(&self.table).await?;
        let mut tables = Vec::new();
        for version in commit::versions(newest.store()).await? {
            match Table::open_version(newest.store().clone(), version).await {
                Ok(table) => tables.push(table),
                // Removed since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        tables.sort_unstable_by_key(|table| std::cmp::Reverse(table.version()));
        let writer = |table: &Table| table.manifest().lineage.get("writer").and_then(|writer| writer.as_str()).map(str::to_owned);
        if self.json {
            let described = |table: &Table| {
                let manifest = table.manifest();
                json!({
                    "version": manifest.version,
                    "parent": manifest.parent.as_ref().map(|parent| parent.version),
                    "rows": manifest.rows(),
                    "sequences": manifest.sequences(),
                    "preset": manifest.preset,
                    "writer": writer(table),
                    "manifest_blake3": table.manifest_hash(),
                })
            };
            write_json(out, &tables.iter().map(described).collect::<Vec<_>>())?;
            return Ok(Outcome::Done);
        }
        let lines: Vec<Vec<String>> = tables
            .iter()
            .map(|table| {
                let manifest = table.manifest();
                vec![
                    manifest.version.to_string(),
                    text::count(manifest.rows()),
                    text::count(manifest.sequences()),
                    manifest.preset.clone(),
                    text::printable(&writer(table).unwrap_or_default()),
                    table.manifest_hash().to_string().chars().take(16).collect(),
                ]
            })
            .collect();
        write!(out, "{}", text::table(&[">version", ">rows", ">sequences", "preset", "written by", "manifest"], &lines))?;
        Ok(Outcome::Done)
    }
}
