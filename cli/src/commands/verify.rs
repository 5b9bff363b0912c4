//! `tetrys verify`: verifies every byte of a version, of all versions, and of the tables behind a view; repairs a table with a copy.

use std::{io::Write, time::Instant};

use clap::Args;
use tetrys::{
    ErrorKind,
    table::{Damage, Repair, Storage, Verification, VerifyReach},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, chain},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Reads every object of one version, the chunks that it uses of other tables, and the pins of the table, and compares them with their hashes and checksums. The local cache is not used. For a view, only its own objects are checked, without --sources. The command lists each damaged object and exits with 3 if it finds damage. It also lists what it did not check.

With --repair --from COPY, the command compares the objects of all versions with the hashes in their names, and replaces those that are damaged or missing by the objects of the same names in COPY: a folder or bucket to which the table was copied. It replaces nothing by bytes that no version states. It exits with 3 if damage is left. Run no garbage collection meanwhile, and verify afterwards.

Examples:
  tetrys verify sample && echo sound
  tetrys verify sample --all-versions
  tetrys verify labelled --sources
  tetrys verify sample --repair --from /backup/sample"
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
    /// Replace damaged and missing objects of all versions by those of a copy
    #[arg(long, requires = "from", conflicts_with_all = ["all_versions", "sources"])]
    repair: bool,
    /// The copy of the table, with --repair: a path or URL
    #[arg(long, value_name = "COPY", requires = "repair")]
    from: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let started = Instant::now();
        if let Some(copy) = &self.from {
            return self.repair(copy, started, out).await;
        }
        let found = self.verify().await?;
        if self.json {
            write_json(out, &found)?;
        } else {
            for Damage { object, problem, .. } in &found.damage {
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

    async fn repair(&self, copy: &str, started: Instant, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let (store, copy) = (crate::opening::all_versions(&self.table).await?, crate::opening::all_versions(copy).await?);
        let bar = progress::bytes("compare", 0, false);
        let repair = Storage::of(&store)
            .repair(&copy, |done, total| {
                bar.set_length(total);
                bar.set_position(done);
            })
            .await;
        bar.finish_and_clear();
        let repair = repair?;
        let Repair { objects, bytes, repaired, damage, not_checked, .. } = &repair;
        if self.json {
            write_json(out, &repair)?;
        } else {
            for name in repaired {
                writeln!(out, "repaired: {name}")?;
            }
            for Damage { object, problem, .. } in damage {
                writeln!(out, "damage left: {object}: {}", text::printable(problem))?;
            }
            let left = match damage.len() as u64 {
                0 => String::new(),
                left => format!(", damage left in {}", text::counted(left, "place")),
            };
            writeln!(
                out,
                "{} repaired{left}: {} compared, {} read in {}",
                text::counted(repaired.len() as u64, "object"),
                text::counted(*objects, "object"),
                text::bytes(*bytes),
                text::time(started.elapsed()),
            )?;
            for rest in not_checked {
                writeln!(out, "not compared: {}", text::printable(rest))?;
            }
        }
        Ok(if damage.is_empty() { Outcome::Done } else { Outcome::Damage })
    }

    async fn verify(&self) -> Result<Verification, Failure> {
        let table = match crate::opening::table(&self.table).await {
            Ok(table) => table,
            // Reports a damaged manifest like any other damage.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let mut found = Verification::default();
                found.objects = 1;
                found.damage = vec![Damage::new("manifest", chain(&error))];
                found.not_checked = vec!["all else: the manifest says what belongs to the table".to_owned()];
                return Ok(found);
            }
            Err(error) => return Err(error.into()),
        };
        let bar = progress::bytes("verify", 0, false);
        let reach = VerifyReach { all_versions: self.all_versions, sources: self.sources };
        let found = table
            .storage()
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
