//! `tetrys rebind`: records the new places of tables that a view, or a table with references, uses.

use std::io::Write;

use clap::Args;

use super::write_json;
use crate::{
    failure::{Failure, Outcome, committed},
    opening,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Use it after a table was moved or copied to another place. The result is a new version of TABLE that looks for the moved table at the new place first, then at the old one. No rows and no payload are written. The command compares the UUID of the moved table and the hash of the version that is used, and refuses any other table.

Example:
  tetrys rebind labelled /disk2/sensors"
)]
pub(crate) struct Rebind {
    /// The view, or the table with references: a path or URL
    table: String,
    /// The new places of tables that TABLE uses: paths or URLs
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
        committed(table.url(), table.version());
        let stores = table.storage().owners();
        opening::say_what_to_allow(table.url(), &table.must_allow().await);
        if self.json {
            let output = serde_json::json!({"url": table.url(), "version": table.version(), "stores": stores});
            write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{} version {} now looks for", table.url(), table.version())?;
        for store in stores {
            writeln!(out, "  table {} version {} at {}", store.table, store.version, store.urls.join(", then "))?;
        }
        Ok(Outcome::Done)
    }
}
