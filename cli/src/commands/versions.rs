//! `tetrys versions`: the versions of a table, newest first.

use std::io::Write;

use clap::Args;
use tetrys::{ErrorKind, Table, commit};

use crate::{
    failure::{Failure, Outcome},
    output::Format,
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tetrys versions sample\n  tetrys info sample@1")]
pub(crate) struct Versions {
    /// The table: a path or URL
    table: String,
    #[command(flatten)]
    format: Format,
}

impl Versions {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let newest = crate::opening::table(&self.table).await?;
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
        if !self.format.is_text() {
            let names = ["version", "parent", "rows", "sequences", "preset", "writer", "manifest_blake3"].map(str::to_owned);
            let rows = tables.iter().map(|table| {
                let manifest = table.manifest();
                Ok(vec![
                    manifest.version.into(),
                    manifest.parent.as_ref().map(|parent| parent.version).into(),
                    manifest.rows().into(),
                    manifest.sequences().into(),
                    manifest.preset.as_str().into(),
                    writer(table).into(),
                    table.manifest_hash().to_string().into(),
                ])
            });
            self.format.write(out, &names, rows)?;
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
