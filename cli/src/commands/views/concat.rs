//! `tetrys concat`: concatenates tables as a view.

use std::io::Write;

use clap::Args;
use tetrys::recipe::{Recipe, Source};

use super::{Memory, Target, make};
use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "The view has the rows of the first table, then those of the second, and so on. It copies no payload and refers to the tables, so keep them. Windows stay within the table of their row. Columns of the same name must have the same type.

Examples:
  tetrys concat monday tuesday wednesday --out week
  tetrys concat old new --fill --out all --dry-run"
)]
pub(crate) struct Concat {
    /// The tables or views, at least two: paths or URLs; TABLE@3 is version 3
    #[arg(required = true, num_args = 2.., value_name = "TABLE")]
    tables: Vec<String>,
    /// Fill columns that are not in all tables with nulls; without it such columns are an error
    #[arg(long)]
    fill: bool,
    #[command(flatten)]
    target: Target,
}

impl Concat {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let named = |(number, table): (usize, String)| (format!("table-{:04}", number + 1), Source::Table(table));
        let sources: std::collections::BTreeMap<_, _> = self.tables.into_iter().enumerate().map(named).collect();
        let recipe = Recipe {
            concat: sources.keys().cloned().collect(),
            sources,
            fill: self.fill,
            output: Some(self.target.output()),
            ..Recipe::default()
        };
        make("concat", recipe, self.target.how, Memory::default(), out).await
    }
}
