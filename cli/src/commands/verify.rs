//! `tetrys verify`: verifies every byte of a version, of all versions, and of the tables behind a view.

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
    after_help = "Reads every object of one version, the chunks that it uses of other tables, and the pins of the table, and compares them with their hashes and checksums. The local cache is not used. For a view, only its own objects are checked, without --sources. The command lists each damaged object and exits with 3 if it finds damage. It also lists what it did not check.

Examples:
  tetrys verify sample && echo sound
  tetrys verify sample --all-versions
  tetrys verify labelled --sources"
)]
pub(crate) struct Verify {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Check all versions of the table, not only one
    #[arg(long)]
    all_versions: bool,
    /// Also check the tables behind a view
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
                let hint = match rest {
                    _ if rest.starts_with("rows of") => " (--sources)",
                    _ if rest.starts_with("versions: ") => " (--all-versions)",
                    _ => "",
                };
                writeln!(out, "not checked: {}{hint}", text::printable(rest))?;
            }
        }
        Ok(if found.damage.is_empty() { Outcome::Done } else { Outcome::Damage })
    }

    async fn verify(&self) -> Result<Verification, Failure> {
        let table = match crate::opening::table(&self.table).await {
            Ok(table) => table,
            // Reports a damaged manifest like any other damage.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let damage = Damage { object: "manifest".to_owned(), problem: chain(&error) };
                let not_checked = vec!["all else: the manifest says what belongs to the table".to_owned()];
                return Ok(Verification { objects: 1, damage: vec![damage], not_checked, ..Verification::default() });
            }
            Err(error) => return Err(error.into()),
        };
        let bar = progress::bytes("verify", 0, false);
        let reach = VerifyReach { all_versions: self.all_versions, sources: self.sources };
        let found = table
            .verify_more(reach, |done, total| {
                bar.set_length(total);
                // The total counts blocks only, because the manifest does not know the other bytes of chunks.
                bar.set_position(done.min(total));
            })
            .await;
        bar.finish_and_clear();
        Ok(found?)
    }
}
