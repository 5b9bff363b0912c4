//! `tetrys versions`: the versions of a table, newest first.

use std::{collections::BTreeMap, io::Write};

use clap::Args;
use tetrys::{ErrorKind, Table, TimeUnit, commit, format::manifest_name};

use crate::{
    failure::{Failure, Outcome},
    output::Format,
    text, times,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  tetrys versions sample\n  tetrys info sample@1\n  tetrys info sample@gold")]
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
        let mut when = BTreeMap::new();
        for table in &tables {
            let time = newest.store().modified(&manifest_name(table.version())).await.ok();
            when.insert(table.version(), time.map(|time| times::timestamp(time / 1000, TimeUnit::Second, true)));
        }
        let when = |table: &Table| when.get(&table.version()).cloned().flatten();
        let said =
            |table: &Table, what: &str| table.manifest().lineage.get(what).and_then(|said| said.as_str()).map(str::to_owned);
        let writer = |table: &Table| said(table, "writer");
        let known = newest_tags(&tables);
        let tags = |table: &Table| {
            let tags = known.iter().filter(|(_, version)| *version == table.version()).map(|(tag, _)| tag.as_str());
            tags.collect::<Vec<_>>().join(" ")
        };
        if !self.format.is_text() {
            let names = [
                "version",
                "parent",
                "when",
                "operation",
                "tags",
                "rows",
                "sequences",
                "bytes_added",
                "preset",
                "writer",
                "manifest_blake3",
            ]
            .map(str::to_owned);
            let rows = tables.iter().map(|table| {
                let manifest = table.manifest();
                Ok(vec![
                    manifest.version.into(),
                    manifest.parent.as_ref().map(|parent| parent.version).into(),
                    when(table).into(),
                    said(table, "operation").into(),
                    tags(table).into(),
                    manifest.rows().into(),
                    manifest.sequences().into(),
                    manifest.lineage.get("bytes_added").and_then(|bytes| bytes.as_u64()).into(),
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
                    when(table).and_then(|when| when.as_str().map(str::to_owned)).unwrap_or_default(),
                    text::printable(&tags(table)),
                    text::printable(&said(table, "operation").unwrap_or_default()),
                    text::count(manifest.rows()),
                    text::count(manifest.sequences()),
                    manifest.lineage.get("bytes_added").and_then(|bytes| bytes.as_u64()).map_or(String::new(), text::bytes),
                    manifest.preset.clone(),
                    text::printable(&writer(table).unwrap_or_default()),
                    table.manifest_hash().to_string().chars().take(16).collect(),
                ]
            })
            .collect();
        write!(
            out,
            "{}",
            text::table(
                &[">version", "when", "tags", "made by", ">rows", ">sequences", ">added", "preset", "written by", "manifest"],
                &lines
            )
        )?;
        Ok(Outcome::Done)
    }
}

/// The tags that the newest version has.
fn newest_tags(newest_first: &[Table]) -> Vec<(String, u64)> {
    let tags = newest_first.first().map(|table| table.manifest().tags.clone());
    tags.into_iter().flatten().collect()
}
