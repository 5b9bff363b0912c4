//! `tetrys verify`: every byte of a version against the hashes that name it.

use std::{io::Write, time::Instant};

use clap::Args;
use tetrys::{
    ErrorKind,
    table::{Damage, Verification},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, chain},
    progress, text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Lists everything that is not as it was written and then exits with 3.\n\nExample:\n  tetrys verify sample && echo sound"
)]
pub(crate) struct Verify {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
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
        let found = table
            .verify(|done, total| {
                bar.set_length(total);
                // The total is what the manifest knows: blocks, without what chunks hold around them.
                bar.set_position(done.min(total));
            })
            .await;
        bar.finish_and_clear();
        Ok(found?)
    }
}
