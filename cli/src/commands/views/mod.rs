//! The commands that make views: `merge`, `concat`, `select`, and `run` for recipes.

mod concat;
mod merge;
mod run;
mod select;

use std::{io::Write, path::PathBuf};

use clap::Args;
use tetrys::{Recipe, ViewOptions, recipe::Output};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, committed, say},
    numbers::size,
    progress,
    staging::TemporaryFolder,
    text,
};

pub(crate) use self::{concat::Concat, merge::Merge, run::Run, select::Select};

/// The place of a view.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The new view: a path or URL
    #[arg(long, value_name = "VIEW")]
    out: String,
    /// Write the next version if VIEW already exists; without it an existing view is an error
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    how: How,
}

/// Whether to save the view, and how to print it.
#[derive(Args, Clone, Debug)]
pub(crate) struct How {
    /// Print what the view would be, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The memory of a merge, a selection or a split.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Make views in memory up to this size, and merge, filter and split tables part by part beyond it [default: 2GiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,
    /// The folder for temporary files [default: that of the system]
    #[arg(long, value_name = "FOLDER")]
    temporary_folder: Option<PathBuf>,
}

impl Target {
    fn output(&self) -> Output {
        Output { view: self.out.clone(), update: self.update }
    }
}

/// Makes the views of a recipe for a command, and describes them.
async fn make(command: &'static str, recipe: Recipe, how: How, memory: Memory, out: &mut dyn Write) -> Result<Outcome, Failure> {
    // A dry run may write a view there. Only a view that needs the folder fails without it.
    let folder = how.dry_run.then(|| TemporaryFolder::new(memory.temporary_folder.as_deref()).ok()).flatten();
    let options = ViewOptions {
        allow_unpinned: crate::opening::allow_unpinned(),
        memory_limit: memory.memory_limit,
        temporary_folder: folder.as_ref().map(|folder| folder.path().to_owned()).or(memory.temporary_folder),
        ..ViewOptions::default()
    };
    let bar = progress::watch(command);
    let stores = crate::opening::options();
    let made = if how.dry_run { recipe.dry_run(&stores, &options).await? } else { recipe.run(&stores, &options).await? };
    drop(bar);
    for view in &made {
        if let Some(version) = view.version {
            committed(&view.view, version);
        }
    }
    for view in &made {
        for owner in &view.unpinned {
            say(format_args!(
                "warning: no pin was written to {}: a garbage collection there may delete what this view needs ({})",
                owner.url, owner.why
            ));
        }
        crate::opening::say_what_to_allow(&view.view, &view.must_allow);
        if !how.json {
            let tables = text::counted(view.size.sources.len() as u64, "table");
            let bytes = text::bytes(view.size.index_bytes + view.size.join_bytes);
            let state = view.version.map_or_else(|| "would be".to_owned(), |version| format!("version {version}:"));
            let rows = text::counted(view.size.rows, "row");
            writeln!(out, "{} {state} {rows} of {tables}, {bytes}, no payload copied", view.view)?;
        }
    }
    if how.json {
        match made.as_slice() {
            [view] if recipe.split.is_none() => write_json(out, view)?,
            all => write_json(out, &all)?,
        }
    }
    Ok(Outcome::Done)
}
