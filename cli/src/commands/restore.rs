//! `tetrys restore`: writes a version with the content of an earlier one.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{Error, ErrorKind, Table, TableUrl};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, committed},
    opening, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The result is a new version with the rows, columns, properties and attachments of the version that TABLE names. No payload is read or copied: the new version names the objects of the earlier one, so it costs as much as `tetrys edit`. The versions in between stay, and restoring one of them takes the restore back. Tags stay where they are. Views of the table read the versions that they were made of, before and after.

A version whose manifest is missing cannot be restored: `tetrys gc` deletes the manifests of versions that are not kept, and a tag keeps a version. Objects that garbage collection has condemned and not deleted yet are kept again.

Examples:
  tetrys restore drives@3
  tetrys restore drives@gold --json"
)]
pub(crate) struct Restore {
    /// The table and the version to restore: TABLE@3, or TABLE@TAG
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Restore {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (newest, version) = self.found().await?;
        let next = newest.versions().restore(version).await?;
        let is_new = next.version() != newest.version();
        if is_new {
            committed(next.url(), next.version());
        }
        let (url, made, rows) = (next.url(), next.version(), next.rows());
        if self.json {
            write_json(out, &json!({"url": url, "version": made, "restored": is_new.then_some(version), "rows": rows}))?;
            return Ok(Outcome::Done);
        }
        match is_new {
            true => writeln!(out, "{url}: version {made} with the content of version {version}, {}", text::counted(rows, "row"))?,
            false if version == made => {
                writeln!(out, "{url}: nothing to restore: version {made} is the newest; name an earlier one, as in TABLE@1")?;
            }
            false => writeln!(out, "{url}: nothing to restore: version {made} has the content of version {version} already")?,
        }
        Ok(Outcome::Done)
    }

    /// Opens the newest version, and returns the number of the version to restore, which need not exist.
    async fn found(&self) -> Result<(Table, u64), Error> {
        match opening::table(&self.table).await {
            Ok(table) => Ok((opening::newest(&table).await?, table.version())),
            Err(error) => match TableUrl::new(&self.table) {
                // The newest version tells which versions there are.
                url if error.kind() == ErrorKind::NotFound
                    && let Some(version) = url.version() =>
                {
                    opening::all_versions(url.root()).await?;
                    opening::table(url.root()).await.map(|newest| (newest, version)).map_err(|_| error)
                }
                _ => Err(error),
            },
        }
    }
}
