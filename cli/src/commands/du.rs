//! `tetrys du`: what a table takes, version by version, and what versions share.

use std::io::Write;

use clap::Args;
use tetrys::{Store, Table};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys du sample\n  tetrys du sample --json")]
pub(crate) struct Du {
    /// The table: a path or file:// URL
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Du {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let store: &Store = table.store();
        let usage = Table::usage(store).await?;
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
            "\nstored {}, of these named by no version {}; {} of other tables",
            text::bytes(usage.stored_bytes),
            text::bytes(usage.unnamed_bytes),
            text::counted(usage.pins, "pin"),
        )?;
        Ok(Outcome::Done)
    }
}
