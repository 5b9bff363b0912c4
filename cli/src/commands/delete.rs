//! `tetrys delete`: writes a version without the rows that match a predicate.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{Error, WriteOptions};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, committed},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The result is a new version without the rows for which the predicate is true. Older versions keep these rows; `tetrys gc` frees their space once no kept version has them. A version without any rows is refused. If no row matches, there is no new version.

Examples:
  tetrys delete drives --where 'agents_count = 0' --dry-run
  tetrys delete drives --where 'log_id < 7'"
)]
pub(crate) struct Delete {
    /// The table: a path or URL
    table: String,
    /// The rows to delete: a condition over index columns, as after WHERE in SQL
    #[arg(long = "where", value_name = "PREDICATE")]
    predicate: String,
    /// Print how many rows would be deleted, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let bar = progress::watch("delete");
        // The columns of the condition are read, and no others.
        let gone = table.index().columns([""; 0]).filter_sql(&*self.predicate).await?;
        let rows = gone.rows_of(&table)?;
        let count = text::counted(rows.len() as u64, "row");
        let deleted = rows.len() as u64;
        if rows.is_empty() && !self.dry_run {
            let (url, version, rows) = (table.url(), table.version(), table.rows());
            match self.json {
                true => write_json(out, &json!({"url": url, "version": version, "rows_deleted": 0, "rows": rows}))?,
                false => writeln!(out, "{url}: no row matches, nothing to delete: still version {version}")?,
            }
            return Ok(Outcome::Done);
        }
        if self.dry_run {
            if self.json {
                let output =
                    json!({"url": table.url(), "version": null, "rows_deleted": deleted, "rows": table.rows() - deleted});
                write_json(out, &output)?;
                return Ok(Outcome::Done);
            }
            writeln!(out, "{count} of {} would be deleted", text::count(table.rows()))?;
            return Ok(Outcome::Done);
        }
        if rows.len() as u64 == table.rows() {
            return Err(Error::invalid("--where: every row of the table matches; a version needs at least one row").into());
        }
        let next = table.delete(rows, WriteOptions::default()).await?;
        drop(bar);
        committed(next.url(), next.version());
        if self.json {
            let output = json!({"url": next.url(), "version": next.version(), "rows_deleted": deleted, "rows": next.rows()});
            write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}: version {} without {count}, {} left", next.url(), next.version(), text::counted(next.rows(), "row"))?;
        Ok(Outcome::Done)
    }
}
