//! `tetrys versions`: lists the versions of a table, newest first.

use std::io::{IsTerminal, Write};

use clap::Args;
use tetrys::{TimeUnit, table::VersionInfo};

use crate::{
    failure::{Failure, Outcome, say},
    numbers::whole,
    output::Format,
    text, times,
};

/// Versions that are shown in a terminal.
const SHOWN: usize = 20;

#[derive(Args, Debug)]
#[command(
    after_help = "Prints when and by which operation each version was made, its tags, rows and sequences, and the bytes that it added. TABLE@3 opens version 3, and TABLE@TAG the version with a tag, in every command that reads a table. A web server cannot list versions: name one (TABLE@3), and the list ends there.

Examples:
  tetrys versions sample
  tetrys versions sample --limit 3
  tetrys info sample@1
  tetrys info sample@gold"
)]
pub(crate) struct Versions {
    /// The table or view: a path or URL
    table: String,
    /// Show the newest N versions; 0 for all [default: 20 in a terminal, else all]
    #[arg(long, short = 'n', value_name = "N", value_parser = whole(0..=usize::MAX))]
    limit: Option<usize>,
    #[command(flatten)]
    format: Format,
}

impl Versions {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let newest = crate::opening::table(&self.table).await?;
        let short = self.format.is_text() && std::io::stdout().is_terminal();
        let limit = self.limit.unwrap_or(if short { SHOWN } else { 0 });
        let (versions, has_older) = newest.versions().recent(if limit == 0 { usize::MAX } else { limit }).await?;
        let when = |version: &VersionInfo| version.written_ms.map(|ms| times::timestamp(ms / 1000, TimeUnit::Second, true));
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
                "damage",
            ]
            .map(str::to_owned);
            let rows = versions.iter().map(|version| {
                Ok(vec![
                    version.version.into(),
                    version.parent.into(),
                    when(version).into(),
                    version.operation.clone().into(),
                    version.tags.join(" ").into(),
                    version.rows.into(),
                    version.sequences.into(),
                    version.bytes_added.into(),
                    version.preset.as_str().into(),
                    version.writer.clone().into(),
                    version.manifest_blake3.as_str().into(),
                    version.damage.clone().into(),
                ])
            });
            self.format.write(out, &names, rows)?;
            return Ok(Outcome::Done);
        }
        let lines: Vec<Vec<String>> = versions
            .iter()
            .map(|version| {
                vec![
                    version.version.to_string(),
                    when(version).and_then(|when| when.as_str().map(str::to_owned)).unwrap_or_default(),
                    text::printable(&version.tags.join(" ")),
                    match &version.damage {
                        Some(_) => "(damaged)".to_owned(),
                        None => text::printable(version.operation.as_deref().unwrap_or_default()),
                    },
                    text::count(version.rows),
                    text::count(version.sequences),
                    version.bytes_added.map_or(String::new(), text::bytes),
                    version.preset.clone(),
                    text::printable(version.writer.as_deref().unwrap_or_default()),
                    version.manifest_blake3.chars().take(16).collect(),
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
        if has_older {
            out.flush()?;
            say("older versions are not shown; --limit 0 shows all");
        }
        for damage in versions.iter().filter_map(|version| version.damage.as_ref()) {
            writeln!(out, "damaged: {}", text::printable(damage))?;
        }
        Ok(Outcome::Done)
    }
}
