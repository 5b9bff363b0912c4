//! `tetrys limits`: lists the limits of tables and of reads.

use std::io::Write;

use clap::Args;
use tetrys::{store::READ_LIMITS, table::LIMITS};

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
        if self.json {
            let objects = |list: &[(&str, &str)]| -> serde_json::Value {
                list.iter().map(|(what, most)| serde_json::json!({"what": what, "at_most": most})).collect()
            };
            write_json(out, &serde_json::json!({"tables": objects(LIMITS), "reads": objects(&READ_LIMITS)}))?;
            return Ok(Outcome::Done);
        }
        let lines =
            |list: &[(&str, &str)]| list.iter().map(|(what, most)| vec![(*what).into(), (*most).into()]).collect::<Vec<_>>();
        writeln!(out, "{}", text::table(&["of a table", "at most"], &lines(LIMITS)))?;
        write!(out, "{}", text::table(&["of a read", "at most"], &lines(&READ_LIMITS)))?;
        Ok(Outcome::Done)
    }
}
