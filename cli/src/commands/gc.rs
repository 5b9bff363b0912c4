//! `tetrys gc`: what no version needs is condemned, and deleted when that is old enough.

use std::{io::Write, time::Duration};

use clap::Args;
use tetrys::{
    Table,
    table::{GcSettings, now_ms},
};

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Without --yes nothing is changed. With it, a first call condemns what no kept version names, in a new version; a call at least --age later deletes it. Versions with a tag, and those that other tables use, are kept.\n\nExamples:\n  tetrys gc drives --keep 3\n  tetrys gc drives --keep 3 --yes"
)]
pub(crate) struct Gc {
    /// The table: a path or file:// URL
    table: String,
    /// Versions to keep, newest first [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
    /// What is younger is left alone, in hours
    #[arg(long, value_name = "HOURS", default_value_t = 168)]
    age: u32,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Gc {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let store = crate::opening::store(&self.table)?;
        let age = Duration::from_secs(u64::from(self.age) * 3600);
        let settings = GcSettings { keep_versions: self.keep.unwrap_or(0) as usize, age };
        let plan = match self.yes {
            true => Table::collect_garbage(&store, settings, now_ms()).await?,
            false => Table::plan_garbage(&store, settings, now_ms()).await?,
        };
        if self.json {
            write_json(out, &plan)?;
            return Ok(Outcome::Done);
        }
        let verb = |done: &'static str, planned: &'static str| if plan.done { done } else { planned };
        let objects = |objects: &std::collections::BTreeMap<String, u64>| {
            format!("{}, {}", text::counted(objects.len() as u64, "object"), text::bytes(objects.values().sum()))
        };
        writeln!(out, "{}  {}", verb("condemned", "to condemn"), objects(&plan.condemn))?;
        writeln!(out, "{}  {}", verb("deleted", "to delete"), objects(&plan.delete))?;
        writeln!(out, "{}  {}", verb("swept", "to sweep"), objects(&plan.sweep))?;
        if plan.waiting > 0 {
            writeln!(out, "too young  {}", text::counted(plan.waiting, "object"))?;
        }
        for version in &plan.pinned {
            writeln!(out, "version {version} stays: other tables use it")?;
        }
        if !self.yes && !plan.is_empty() {
            writeln!(out, "nothing was changed; --yes does it")?;
        }
        Ok(Outcome::Done)
    }
}
