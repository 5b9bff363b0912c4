//! `tetrys delete`: a version without some rows.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{Error, WriteOptions};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The rows are those that the predicate over the index is true for; the table before stays as version it was.\n\nExamples:\n  tetrys delete drives --where 'log_id < 7'\n  tetrys delete drives --where 'agents_count = 0' --dry-run"
)]
pub(crate) struct Delete {
    /// The table: a path or file:// URL
    table: String,
    /// Which rows: a condition over index columns, as in SQL behind WHERE
    #[arg(long = "where", value_name = "PREDICATE")]
    predicate: String,
    /// Say how many rows there are, and leave them
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let index = table.index().await?;
        let gone = index.filter_sql(&self.predicate)?;
        let rows = gone.rows_of(&table)?;
        let count = text::counted(rows.len() as u64, "row");
        let deleted = rows.len() as u64;
        if self.dry_run || rows.is_empty() {
            if self.json {
                let said = json!({"url": table.url(), "version": null, "rows_deleted": deleted, "rows": table.rows() - deleted});
                write_json(out, &said)?;
                return Ok(Outcome::Done);
            }
            writeln!(out, "{count} of {} would be deleted", text::count(table.rows()))?;
            return Ok(Outcome::Done);
        }
        if rows.len() as u64 == table.rows() {
            return Err(Error::invalid("that is every row of the table").into());
        }
        let next = table.delete(rows, WriteOptions::default()).await?;
        if self.json {
            let said = json!({"url": next.url(), "version": next.version(), "rows_deleted": deleted, "rows": next.rows()});
            write_json(out, &said)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}: version {} without {count}, {} left", next.url(), next.version(), text::counted(next.rows(), "row"))?;
        Ok(Outcome::Done)
    }
}
