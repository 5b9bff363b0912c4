//! `tetrys rebind`: where the tables are now that a view, or a table with references, uses.

use std::io::Write;

use clap::Args;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    opening,
};

#[derive(Args, Debug)]
#[command(
    after_help = "A table that moved is known by its UUID and by the hash of the version that is used; another one is refused. The table gets a new version that looks at the new places first; no row and no payload is written.

Example:
  tetrys rebind labelled /disk2/sensors"
)]
pub(crate) struct Rebind {
    /// The view, or the table with references: a path or file:// URL
    table: String,
    /// Where tables that it uses are now
    #[arg(required = true, value_name = "MOVED")]
    moved: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Rebind {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        opening::named(&self.moved);
        let table = opening::table(&self.table).await?.rebind_with(&self.moved, &opening::options()).await?;
        let stores = table.owners();
        opening::say_what_to_allow(table.url(), &table.must_allow().await);
        if self.json {
            let said = serde_json::json!({"url": table.url(), "version": table.version(), "stores": stores});
            write_json(out, &said)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{} version {} looks for", table.url(), table.version())?;
        for store in stores {
            writeln!(out, "  table {} version {} at {}", store.table, store.version, store.urls.join(", then "))?;
        }
        Ok(Outcome::Done)
    }
}
