//! `tetrys resolve`: tells what became of a commit whose outcome was unknown.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{
    Error,
    table::{Fate, Versions},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    numbers::whole,
    opening,
};

#[derive(Args, Debug)]
#[command(
    after_help = "When a store gives no clear answer to a commit, the command or call that made it says so, with the version that it was to make and the id of the commit. Give both here.

  committed      the change is in the table: do not repeat it
  not committed  another commit made this version, and this one never will: repeat the change
  open           there is no such version yet, and a request that is still under way may make it. --rule-out commits an empty version with this number, so that it cannot
  cannot tell    this version, or one after it, was deleted: look at the rows

Examples:
  tetrys resolve drives --version 4 --commit 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b
  tetrys resolve drives --version 4 --commit 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b --rule-out"
)]
pub(crate) struct Resolve {
    /// The table: a path or URL
    table: String,
    /// The version that the commit was to make
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX))]
    version: u64,
    /// The id of the commit
    #[arg(long, value_name = "ID")]
    commit: String,
    /// If there is no such version yet, commit an empty one, so that this commit cannot arrive any more
    #[arg(long)]
    rule_out: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Resolve {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let Self { version, commit, .. } = &self;
        let id = commit.parse().map_err(|_| {
            Error::invalid(format!("--commit: expected an id such as 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b, found `{commit}`"))
        })?;
        let (store, version) = (opening::all_versions(&self.table).await?, *version);
        let fate = match self.rule_out {
            true => Versions::of(&store).rule_out(version, id).await?,
            false => Versions::of(&store).fate_of(version, id).await?,
        };
        let url = store.url();
        if self.json {
            write_json(out, &json!({"url": url, "version": version, "commit": commit, "outcome": fate}))?;
            return Ok(Outcome::Done);
        }
        let more = match fate {
            Fate::Committed => format!("it made version {version}; do not repeat the change"),
            Fate::NotCommitted => format!("another commit made version {version}; repeat the change"),
            Fate::Open if version == 1 => {
                "there is no version 1 yet; write the table again, and one of the two makes it".to_owned()
            }
            Fate::Open => format!("there is no version {version} yet; wait, or rule it out with --rule-out"),
            Fate::CannotTell => {
                format!("version {version}, or one after it, was deleted; look at the rows before you repeat the change")
            }
        };
        writeln!(out, "{url}: commit {commit}: {fate}: {more}")?;
        Ok(Outcome::Done)
    }
}
