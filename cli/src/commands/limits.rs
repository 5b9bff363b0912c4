//! `tetrys limits`: lists the limits of tables and of reads.

use std::io::Write;

use clap::Args;
use tetrys::{format::limits, store::READ_LIMITS};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The first list has the largest values that the format allows in a table. The second list has the bounds that a read keeps: sizes, requests, memory, waiting times and retries. A reader refuses a table that exceeds a limit.

Example:
  tetrys limits
  tetrys limits --json"
)]
pub(crate) struct Limits {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Limits {
    pub(crate) fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        // Removes links and code marks of the specification page.
        let plain = |text: &str| text.split(", see [").next().unwrap_or(text).replace('`', "");
        let of_tables: Vec<(String, String)> = limits().into_iter().map(|(what, most)| (plain(what), plain(most))).collect();
        if self.json {
            let of_reads: Vec<(String, String)> = READ_LIMITS.iter().map(|(what, most)| (plain(what), plain(most))).collect();
            let lists = [("tables", of_tables), ("reads", of_reads)];
            let objects = lists.map(|(name, list)| {
                let list = list.into_iter().map(|(what, most)| serde_json::json!({"what": what, "at_most": most}));
                (name.to_owned(), list.collect::<Vec<_>>().into())
            });
            write_json(out, &serde_json::Value::Object(objects.into_iter().collect()))?;
            return Ok(Outcome::Done);
        }
        let lines = |list: Vec<(String, String)>| list.into_iter().map(|(what, most)| vec![what, most]).collect::<Vec<_>>();
        writeln!(out, "{}", text::table(&["of a table", "at most"], &lines(of_tables)))?;
        let of_reads = READ_LIMITS.iter().map(|(what, most)| ((*what).to_owned(), (*most).to_owned())).collect();
        write!(out, "{}", text::table(&["of a read", "at most"], &lines(of_reads)))?;
        Ok(Outcome::Done)
    }
}
