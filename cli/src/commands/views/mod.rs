//! The commands that make views: `merge`, `concat`, `select`, and `run` for recipes of all of them.

mod concat;
mod merge;
mod run;
mod select;

use std::io::Write;

use clap::Args;
use serde_json::json;
use tetrys::{Error, Index, Result, index::is_locator};

use super::write_json;
use crate::{
    failure::{Failure, Outcome, say},
    recipe::{Output, Recipe},
    text,
};

pub(crate) use self::{concat::Concat, merge::Merge, run::Run, select::Select};

/// Where a view goes.
#[derive(Args, Debug)]
pub(crate) struct Target {
    /// The new view: a path or file:// URL
    #[arg(long, value_name = "VIEW")]
    out: String,
    /// Make it the next version, where VIEW is a view already
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    how: How,
}

/// What is done, and what is said of it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct How {
    /// Say what the view would be, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Target {
    fn output(&self) -> Output {
        Output { view: self.out.clone(), update: self.update }
    }
}

/// Makes the views of a recipe, and says what they are.
async fn make(recipe: Recipe, how: How, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let output = recipe.output.clone().ok_or_else(|| Error::invalid("recipe: no [output] with a `view`"))?;
    let mut said = Vec::new();
    for (part, index) in recipe.execute().await? {
        let url = part.as_ref().map_or_else(|| output.view.clone(), |part| format!("{}/{part}", output.view));
        let index = storable(index)?;
        let mut writer = index.view_writer().lineage("recipe", recipe.lineage());
        if let Some(part) = &part {
            writer = writer.lineage("part", part.as_str());
        }
        let size = writer.size().await?;
        let mut view = json!({
            "view": url, "rows": size.rows, "columns": size.columns, "sources": size.sources, "index_bytes": size.index_bytes,
            "join_bytes": size.join_bytes, "payload_bytes": size.payload_bytes, "written": !how.dry_run,
        });
        let mut version = None;
        if !how.dry_run {
            let saved = match output.update {
                true => writer.save_over(&crate::opening::table(&url).await?).await?,
                false => writer.save_in(crate::opening::store(&url)?).await?,
            };
            for owner in &saved.unpinned {
                say(format_args!(
                    "note: {} could not be told that this view needs it; expiring versions there may break the view ({})",
                    owner.url, owner.why
                ));
            }
            version = Some(saved.table.version());
            view["version"] = saved.table.version().into();
            view["uuid"] = saved.table.manifest().table.to_string().into();
        }
        if !how.json {
            let tables = text::counted(size.sources.len() as u64, "table");
            let bytes = text::bytes(size.index_bytes + size.join_bytes);
            let state = version.map_or_else(|| "would be".to_owned(), |version| format!("version {version}:"));
            writeln!(out, "{url} {state} {} of {tables}, {bytes}, no payload copied", text::counted(size.rows, "row"))?;
        }
        said.push(view);
    }
    if how.json {
        match (recipe.split.is_some(), said.pop()) {
            (false, Some(view)) => write_json(out, &view)?,
            (_, last) => write_json(out, &said.into_iter().chain(last).collect::<Vec<_>>())?,
        }
    }
    Ok(Outcome::Done)
}

/// The index without lists, which an index of a table cannot hold: they stay where they are, in the tables.
fn storable(index: Index) -> Result<Index> {
    let frame = index.frame();
    let is_list = |column: &&polars::prelude::Column| matches!(column.dtype(), polars::prelude::DataType::List(_));
    let lists: Vec<&str> = frame.columns().iter().filter(is_list).map(|column| column.name().as_str()).collect();
    if lists.is_empty() {
        return Ok(index);
    }
    say(format_args!("note: left out of the view's index, being lists of rows: {}", lists.join(", ")));
    let kept = frame.columns().iter().filter(|column| !is_locator(column.name()) && !is_list(column));
    index.select(kept.map(|column| polars::prelude::col(column.name().clone())))
}
