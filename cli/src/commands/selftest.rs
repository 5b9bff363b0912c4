//! `tetrys selftest`: tests whether a store does everything that tables need.

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::store::selftest;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    opening, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Use it before you write tables to a new kind of store: some servers accept a create-only put and ignore the condition, which would lose versions. The command writes about 25 MiB below URL/selftest-.., reads about 80 MiB and deletes what it wrote. It prints one line for each claim that must hold, and exits with 1 if a claim does not hold.

Examples:
  tetrys selftest s3://bucket/team
  tetrys selftest s3://bucket/team --option endpoint=http://localhost:9000 --option region=us-east-1"
)]
pub(crate) struct Selftest {
    /// The place to test: a path or URL that you may write to
    url: String,
    /// Print JSON when all tests are done
    #[arg(long)]
    json: bool,
}

impl Selftest {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let store = opening::store(&self.url)?;
        let mut written = Ok(());
        let verdicts = selftest(&store, |verdict| {
            let (word, why) = match &verdict.problem {
                None => ("holds", String::new()),
                Some(problem) => ("FAILS", format!("\n       {}", text::printable(problem))),
            };
            if self.json {
                return;
            }
            let line = writeln!(out, "{word}  {} ({}){why}", verdict.claim, text::time(verdict.time)).and_then(|()| out.flush());
            if written.is_ok() {
                written = line;
            }
        })
        .await;
        written?;
        if self.json {
            let verdicts = verdicts.iter().map(|verdict| {
                json!({"claim": verdict.claim, "holds": verdict.problem.is_none(), "problem": verdict.problem, "seconds": verdict.time.as_secs_f64()})
            });
            write_json(out, &json!({"url": store.url(), "claims": verdicts.collect::<Vec<_>>()}))?;
            out.flush()?;
        }
        match verdicts.iter().filter(|verdict| verdict.problem.is_some()).count() {
            0 => Ok(Outcome::Done),
            failed => {
                Err(tetrys::Error::unsupported(format!("{}: {failed} of {} claims do not hold", store.url(), verdicts.len()))
                    .into())
            }
        }
    }
}
