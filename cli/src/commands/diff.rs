//! `tetrys diff`: compares two tables or versions.

use std::{io::Write, path::PathBuf};

use clap::Args;
use serde_json::{Map, Value, json};
use tetrys::table::{Diff, DiffOptions};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::size,
    progress, text,
};

/// Most row numbers that are listed without `--all`.
const NAMED: usize = 20;

#[derive(Args, Debug)]
#[command(
    after_help = "Rows of the two tables are matched by the index columns of --on; without --on by the sequence and order columns, and in tables without these by row number.

No payload is read: the command compares index columns, and the logical hashes of blocks, which do not depend on codecs. Several small rows may share one block. If such a block differs, any of its rows may differ, and the count is printed as `at most`. --exact reads these rows and compares their values.

Keys and hashes of tables that take more than --memory-limit go through temporary files. A comparison of views also takes 8 bytes of memory for each row and source.

Examples:
  tetrys diff sensors@6 sensors@7
  tetrys diff labels_v1 labels_v2 --on log_id,timestamp --json
  tetrys diff labels_v1 labels_v2 --exact --exit-code && echo the same"
)]
pub(crate) struct DiffCommand {
    /// The old table or version: a path or URL; TABLE@3 is version 3
    before: String,
    /// The new table or version
    now: String,
    /// The key: index columns that match rows of the two tables [default: the sequence and order columns, else row numbers]
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    on: Vec<String>,
    /// List the numbers of all rows that were added, removed and changed, not only the first 20 of each
    #[arg(long)]
    all: bool,
    /// Read the rows that may differ because they share a block with a row that differs, and compare their values
    #[arg(long)]
    exact: bool,
    /// Compare tables in memory up to this size, and through temporary files beyond it [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,
    /// The folder for temporary files [default: that of the system]
    #[arg(long, value_name = "FOLDER")]
    temporary_folder: Option<PathBuf>,
    /// Exit with 4 if anything differs or may differ
    #[arg(long)]
    exit_code: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl DiffCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        crate::opening::named([&self.before, &self.now]);
        let (before, now) = (crate::opening::table(&self.before).await?, crate::opening::table(&self.now).await?);
        let (exact, memory_limit, temporary_folder) = (self.exact, self.memory_limit, self.temporary_folder);
        let bar = progress::watch("diff");
        let found = now.diff_with(&before, &self.on, &DiffOptions { exact, memory_limit, temporary_folder }).await?;
        drop(bar);
        let outcome = if self.exit_code && !found.is_empty() { Outcome::Differs } else { Outcome::Done };
        let named = if self.all { usize::MAX } else { NAMED };
        if self.json {
            write_json(out, &as_json(&found, named))?;
            return Ok(outcome);
        }
        let by = if found.keys.is_empty() { "row number".to_owned() } else { found.keys.join(", ") };
        writeln!(out, "{} -> {}, matched by {by}\n", text::counted(found.rows[0], "row"), text::counted(found.rows[1], "row"))?;
        let listed = |rows: &[u64]| {
            let mut shown: Vec<String> = rows.iter().take(named).map(u64::to_string).collect();
            if rows.len() > named {
                shown.push("..".to_owned());
            }
            shown.join(" ")
        };
        let count = |rows: &[u64]| text::count(rows.len() as u64);
        // All rows of a block that differs count as changed, and some of them may not differ.
        let is_counted = found.groups.iter().all(|group| group.exact || group.changed.is_none());
        let (most, least) = if is_counted { ("", "") } else { ("at most ", "at least ") };
        let mut lines = vec![
            vec!["added".to_owned(), count(&found.added), listed(&found.added)],
            vec!["removed".to_owned(), count(&found.removed), listed(&found.removed)],
            vec!["changed".to_owned(), format!("{most}{}", count(&found.changed)), listed(&found.changed)],
            vec!["unchanged".to_owned(), format!("{least}{}", text::count(found.unchanged)), String::new()],
        ];
        lines.retain(|line| line[1] != "0" || line[0] == "unchanged");
        write!(out, "{}", text::table(&["rows", ">", "row numbers (of removed rows: in the old table)"], &lines))?;
        let mut parts: Vec<Vec<String>> = Vec::new();
        for column in found.index.iter().filter(|column| column.changed > 0) {
            parts.push(vec![format!("index column {}", text::printable(&column.name)), text::count(column.changed)]);
        }
        for group in &found.groups {
            let changed = match group.changed {
                None => "other columns".to_owned(),
                Some(0) => continue,
                Some(changed) if group.exact => text::count(changed),
                Some(changed) => format!("at most {}", text::count(changed)),
            };
            parts.push(vec![format!("column group {}", text::printable(&group.name)), changed]);
        }
        for (what, columns) in [("new column", &found.columns_added), ("removed column", &found.columns_removed)] {
            parts.extend(columns.iter().map(|(name, ty)| vec![format!("{what} {}", text::printable(name)), ty.clone()]));
        }
        parts.extend(
            found.not_compared.iter().map(|name| vec![format!("column {}", text::printable(name)), "not compared".to_owned()]),
        );
        if !parts.is_empty() {
            write!(out, "\n{}", text::table(&["where", ">rows that differ"], &parts))?;
        }
        let payload = match found.payload_bytes {
            0 => "no payload read".to_owned(),
            bytes => format!("{} of payload read", text::bytes(bytes)),
        };
        let rest = if found.is_exact() { "" } else { "; some counts are upper limits, --exact compares values" };
        writeln!(out, "\n{} of index and hashes compared, {payload}{rest}", text::bytes(found.bytes_read))?;
        Ok(outcome)
    }
}

fn as_json(found: &Diff, named: usize) -> Value {
    let rows = |rows: &[u64]| json!({"count": rows.len(), "rows": rows.iter().take(named).collect::<Vec<_>>()});
    let columns = |columns: &[(String, String)]| -> Map<String, Value> {
        columns.iter().map(|(name, ty)| (name.clone(), ty.as_str().into())).collect()
    };
    json!({
        "keys": found.keys, "rows_before": found.rows[0], "rows_now": found.rows[1], "added": rows(&found.added),
        "removed": rows(&found.removed), "changed": rows(&found.changed), "unchanged": found.unchanged, "index": found.index,
        "groups": found.groups, "columns_added": columns(&found.columns_added), "columns_removed": columns(&found.columns_removed),
        "not_compared": found.not_compared, "exact": found.is_exact(), "bytes_read": found.bytes_read,
        "payload_bytes": found.payload_bytes,
    })
}
