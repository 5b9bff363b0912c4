//! `tetrys du`: shows the disk space of each version, and what versions share.

use std::{io::Write, path::PathBuf};

use clap::Args;
use tetrys::{Store, table::Storage};

use super::{layout::draw_owners, write_json};
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Columns of the output: `added` bytes are in no earlier version; `own` are all objects of the version in this table, of which `shared` are also in other versions and `alone` are not; `referenced` are in other tables. Deleting a version frees its `alone` bytes. A pin is a note of another table that needs a version of this one.

The picture of --plot shows one version, TABLE@3 or the newest: rows from left to right, and a block as high as its bytes per row. Colours show the owner of a block: this version alone, this table with other versions, or another table.

Examples:
  tetrys du sample
  tetrys du sample --json
  tetrys du sample --plot owners.png"
)]
pub(crate) struct Du {
    /// The table: a path or URL; TABLE@3 is version 3, for --plot
    table: String,
    /// Also draw a picture of who owns the blocks, into this PNG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Du {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let store: &Store = table.store();
        let usage = Storage::of(store).usage().await?;
        let owners = match &self.plot {
            Some(file) => {
                let versions: Vec<u64> = usage.versions.iter().map(|version| version.version).collect();
                Some((file, draw_owners(file, &table, &versions).await?))
            }
            None => None,
        };
        if self.json {
            write_json(out, &usage)?;
            return Ok(Outcome::Done);
        }
        let lines: Vec<Vec<String>> = usage
            .versions
            .iter()
            .map(|version| {
                vec![
                    version.version.to_string(),
                    text::printable(&version.operation),
                    text::count(version.rows),
                    text::bytes(version.added_bytes),
                    text::bytes(version.own_bytes),
                    text::bytes(version.shared_bytes),
                    text::bytes(version.alone_bytes),
                    text::bytes(version.referenced_bytes),
                ]
            })
            .collect();
        let heads = [">version", "made by", ">rows", ">added", ">own", ">shared", ">alone", ">referenced"];
        write!(out, "{}", text::table(&heads, &lines))?;
        writeln!(
            out,
            "\nstored {}, of which {} are used by no version; {} from other tables",
            text::bytes(usage.stored_bytes),
            text::bytes(usage.unnamed_bytes),
            text::counted(usage.pins, "pin"),
        )?;
        for version in &usage.damaged {
            writeln!(out, "version {version} is damaged: what it uses counts as used by no version, where no other one uses it")?;
        }
        if let Some((file, owners)) = owners {
            writeln!(out, "\n{}: version {}", file.display(), table.version())?;
            for entry in owners.entries() {
                writeln!(out, "  {}", entry.describe())?;
            }
        }
        Ok(Outcome::Done)
    }
}
