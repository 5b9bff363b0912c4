//! `tetrys gc`: gives up versions and objects that are not kept, and deletes them in a later call.

use std::{io::Write, time::Duration};

use clap::Args;
use tetrys::{
    Error, Table,
    table::{GcSettings, Storage, now_ms},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, done},
    numbers::whole,
    text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Garbage collection has two phases, so that running readers and writers lose nothing. The first call with --yes gives up the versions that are not kept, and condemns objects that are older than --age and that no kept version needs: a new version lists them, and nothing is deleted. A call at least --age later deletes what is still listed. It waits for write sessions that are open, and says which they are. Run it from a scheduler, for example once a day.

Without --yes the command is a dry run: it prints what it would do. Versions with a tag, and versions that other tables use, are always kept. `to sweep` counts manifests of expired versions, files that killed writers left behind, and pins left by versions of other tables that no longer exist.

If the manifest of a version is damaged, nothing is deleted, because what the version needs is unknown. Repair it with a copy of the table (`tetrys verify TABLE --repair --from COPY`), or give the version up with --give-up.

Only files whose names a writer of tables makes are deleted. Where there is no manifest, nothing is deleted without --abandoned: such a folder may be a copy of a table that is not complete yet. A copy that lacks only its newest manifests looks like an older table with objects that nobody needs, so complete a copy before you run the command on it.

Examples:
  tetrys gc drives --keep 3
  tetrys gc drives --keep 3 --yes
  tetrys gc half-written --abandoned --yes
  tetrys gc drives --give-up 7 --yes"
)]
pub(crate) struct Gc {
    /// The table: a path or URL
    table: String,
    /// Number of newest versions to keep [default: all versions]
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    keep: Option<u32>,
    /// Leave alone what was written or given up less than this many hours ago, and wait for sessions in which something was written since. Choose more than the longest pause of any reader or writer
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = whole(0..=u32::MAX))]
    age: u32,
    /// First give up this version, whose manifest is damaged: the next collections delete it, and what it alone names. May be repeated
    #[arg(long, value_name = "N", value_parser = whole(1..=u64::MAX), conflicts_with = "abandoned", requires = "yes")]
    give_up: Vec<u64>,
    /// Delete the files of writers that never committed a first version; an error if there is a manifest
    #[arg(long, conflicts_with = "keep")]
    abandoned: bool,
    /// Condemn and delete; without this option nothing is changed
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Gc {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let store = crate::opening::all_versions(&self.table).await?;
        let age = Duration::from_secs(u64::from(self.age) * 3600);
        let settings = GcSettings { keep_versions: self.keep.unwrap_or(0) as usize, age };
        if !self.give_up.is_empty() {
            let table = Table::open_in(store.clone()).await?;
            for version in &self.give_up {
                table.versions().give_up(*version).await?;
                done(format!("{}: version {version} was given up before this error", text::printable(store.url())));
            }
        }
        let plan = match (self.abandoned, self.yes) {
            (true, true) => Storage::of(&store).collect_abandoned(age, now_ms()).await?,
            (true, false) => Storage::of(&store).plan_abandoned(age, now_ms()).await?,
            (false, true) => Storage::of(&store).collect_garbage(settings, now_ms()).await?,
            (false, false) => Storage::of(&store).plan_garbage(settings, now_ms()).await?,
        };
        if plan.done && !plan.is_empty() {
            done(format!("{}: the garbage was collected before this error", text::printable(store.url())));
        }
        if self.json {
            let mut output = serde_json::to_value(&plan).map_err(|error| Error::internal(error.to_string()))?;
            if !self.give_up.is_empty() {
                output["given_up"] = serde_json::json!(self.give_up);
            }
            write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        for version in &self.give_up {
            writeln!(out, "given up  version {version}")?;
        }
        let verb = |done: &'static str, planned: &'static str| if self.yes { done } else { planned };
        let objects = |objects: &std::collections::BTreeMap<String, u64>| {
            format!("{}, {}", text::counted(objects.len() as u64, "object"), text::bytes(objects.values().sum()))
        };
        if !plan.expired.is_empty() {
            let versions = text::counted(plan.expired.len() as u64, "version");
            writeln!(out, "{}  {versions}", verb("not kept", "not to keep"))?;
        }
        writeln!(out, "{}  {}", verb("condemned", "to condemn"), objects(&plan.condemn))?;
        writeln!(out, "{}  {}", verb("deleted", "to delete"), objects(&plan.delete))?;
        writeln!(out, "{}  {}", verb("swept", "to sweep"), objects(&plan.sweep))?;
        if plan.writes_version() && plan.condemn.is_empty() && plan.delete.is_empty() && plan.sweep.is_empty() {
            writeln!(out, "{}  a version that lists what is given up or deleted", verb("written", "to write"))?;
        }
        if plan.waiting > 0 {
            writeln!(out, "too young  {}", text::counted(plan.waiting, "object"))?;
        }
        for version in &plan.pinned {
            writeln!(out, "version {version} is kept: other tables use it")?;
        }
        for session in &plan.open_sessions {
            writeln!(out, "session {session} is open: what was given up after it began is not deleted before it ends")?;
        }
        if let Some(until) = plan.until_ms {
            match plan.open_sessions.is_empty() {
                true => writeln!(out, "what is given up can be deleted from {} on", times::moment(until))?,
                false => {
                    writeln!(out, "what is given up can be deleted after {}, and after these sessions", times::moment(until))?
                }
            }
        }
        match self.yes {
            _ if plan.is_empty() => writeln!(out, "nothing to collect now")?,
            true => {}
            false => writeln!(out, "dry run: nothing was changed; pass --yes to condemn and delete")?,
        }
        Ok(Outcome::Done)
    }
}
