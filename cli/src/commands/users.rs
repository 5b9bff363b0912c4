//! `tetrys users`: lists the versions of other tables that use versions of a table.

use std::io::Write;

use clap::Args;
use tetrys::table::{Storage, User, UserInfo};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    opening, text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "A table or view that uses chunks or rows of another table leaves a pin there, so that garbage collection keeps the version that it uses. This lists the pins.

  exists      the version of the other table is there
  gone        it is not: its commit failed, or it was deleted. `tetrys gc` deletes the pin
  not there   there is no such table at the place that the pin names: it was deleted, or moved. Nothing deletes the pin; if the table was deleted, delete the pin
  unknown     the table cannot be reached from here, or is in another store; or the version is not committed yet, or damaged

Examples:
  tetrys users drives
  tetrys users drives --json"
)]
pub(crate) struct Users {
    /// The table: a path or URL
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Users {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let store = opening::all_versions(&self.table).await?;
        let users = Storage::of(&store).users().await?;
        if self.json {
            write_json(out, &users)?;
            return Ok(Outcome::Done);
        }
        if users.is_empty() {
            writeln!(out, "{}: no other table uses it", text::printable(store.url()))?;
            return Ok(Outcome::Done);
        }
        let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        let lines: Vec<Vec<String>> = users
            .iter()
            .map(|user| {
                vec![
                    number(user.version),
                    text::printable(user.url.as_deref().unwrap_or_default()),
                    number(user.user_version),
                    times::moment(user.written_ms),
                    state(user).to_owned(),
                    text::printable(&user.pin),
                ]
            })
            .collect();
        write!(out, "{}", text::table(&[">version", "used by", ">its version", "since", "state", "pin"], &lines))?;
        for damage in users.iter().filter_map(|user| user.damage.as_ref()) {
            writeln!(out, "damaged: {}", text::printable(damage))?;
        }
        Ok(Outcome::Done)
    }
}

fn state(user: &UserInfo) -> &'static str {
    match user.state {
        Some(User::Exists) => "exists",
        Some(User::Gone) => "gone",
        Some(User::NotThere) => "not there",
        Some(User::Unknown) => "unknown",
        None => "damaged",
    }
}
