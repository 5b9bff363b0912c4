//! `tetrys verify`: every byte of a version against the hashes that name it; and of all versions, and of the tables behind a view.

use std::{io::Write, time::Instant};

use clap::Args;
use tetrys::{
    ErrorKind,
    table::{Damage, Verification, VerifyReach},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, chain},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Lists everything that is not as it was written and then exits with 3. Checked is one version, with what it uses of other tables; of a view its own objects. What was not checked is said.

Examples:
  tetrys verify sample && echo sound
  tetrys verify sample --all-versions
  tetrys verify labelled --sources"
)]
pub(crate) struct Verify {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
    /// Check every version that is there, and not one alone
    #[arg(long)]
    all_versions: bool,
    /// Of a view, check the tables behind it too
    #[arg(long)]
    sources: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let found = self.verify().await?;
        if self.json {
            write_json(out, &found)?;
        } else {
            for Damage { object, problem } in &found.damage {
                writeln!(out, "damage: {object}: {problem}")?;
            }
            writeln!(
                out,
                "{}: {}, {} and {} checked, {} read in {}",
                match found.damage.len() as u64 {
                    0 => "sound".to_owned(),
                    damage => format!("damaged in {}", text::counted(damage, "place")),
                },
                text::counted(found.objects, "object"),
                text::counted(found.chunks, "chunk"),
                text::counted(found.blocks, "block"),
                text::bytes(found.bytes),
                text::time(started.elapsed()),
            )?;
            for rest in &found.not_checked {
                let hint = if rest.starts_with("rows of") { "--sources" } else { "--all-versions" };
                writeln!(out, "not checked: {} ({hint})", text::printable(rest))?;
            }
        }
        Ok(if found.damage.is_empty() { Outcome::Done } else { Outcome::Damage })
    }

    async fn verify(&self) -> Result<Verification, Failure> {
        let table = match crate::opening::table(&self.table).await {
            Ok(table) => table,
            // A manifest that cannot be believed is damage like any other.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let damage = Damage { object: "manifest".to_owned(), problem: chain(&error) };
                return Ok(Verification { objects: 1, damage: vec![damage], ..Verification::default() });
            }
            Err(error) => return Err(error.into()),
        };
        let bar = progress::bytes("verify", 0, false);
        let reach = VerifyReach { all_versions: self.all_versions, sources: self.sources };
        let found = table
            .verify_more(reach, |done, total| {
                bar.set_length(total);
                // The total is what the manifest knows: blocks, without what chunks hold around them.
                bar.set_position(done.min(total));
            })
            .await;
        bar.finish_and_clear();
        Ok(found?)
    }
}
