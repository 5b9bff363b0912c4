//! `tetrys merge`: two tables side by side.

use std::io::Write;

use clap::Args;
use tetrys::recipe::{Join, Recipe, Several, Source};

use super::{Target, make};
use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "The view has the rows of LEFT, and beside them the columns of the rows of RIGHT that belong to them. Windows over it follow LEFT. It holds no payload, and is read like every table.

With --how asof the last key is the time: of the rows of RIGHT with the other keys equal, the nearest one belongs.

Examples:
  tetrys merge sensors labels --on log_id,timestamp --out labelled
  tetrys merge sensors labels --on log_id,timestamp=time_us --how left --out labelled
  tetrys merge cameras lidar --on log_id,timestamp --how asof --pick nearest --tolerance 50ms --out synced
  tetrys merge sensors@3 boxes --on log_id,frame --group-to-list --out boxed --dry-run"
)]
pub(crate) struct Merge {
    /// The table on the left: a path or file:// URL; TABLE@3 is its version 3
    left: String,
    /// The table on the right
    right: String,
    /// Index columns whose values are equal in rows that belong together; LEFT=RIGHT where their names differ
    #[arg(long, value_name = "K,K", value_delimiter = ',', required = true)]
    on: Vec<String>,
    /// inner: rows with a partner; left: all rows of LEFT; asof: by the nearest time
    #[arg(long, default_value = "inner", value_parser = ["inner", "left", "asof"])]
    how: String,
    /// With --how asof: the last row at or before the time, the first at or after it, or the nearest [default: backward]
    #[arg(long, value_name = "WAY", value_parser = ["backward", "forward", "nearest"])]
    pick: Option<String>,
    /// With --how asof: how far away the row may be, as `50ms` or a number in units of the time
    #[arg(long, value_name = "SPAN")]
    tolerance: Option<String>,
    /// With --how asof: keep the rows of LEFT that have no partner
    #[arg(long)]
    keep_left: bool,
    /// Where several rows of RIGHT have the same keys (and time), take the first; else they are an error
    #[arg(long, conflicts_with_all = ["last", "group_to_list"])]
    first: bool,
    /// Where several rows of RIGHT have the same keys (and time), take the last
    #[arg(long, conflicts_with = "group_to_list")]
    last: bool,
    /// Where several rows of RIGHT have the same keys, make lists of them
    #[arg(long)]
    group_to_list: bool,
    /// What is put behind names of RIGHT that LEFT has too [default: _right]
    #[arg(long, value_name = "TEXT")]
    suffix: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Merge {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let join = Join {
            with: "right".to_owned(),
            on: Several(self.on),
            how: Some(self.how),
            pick: self.pick,
            tolerance: self.tolerance,
            keep: self.keep_left,
            first: self.first,
            last: self.last,
            lists: self.group_to_list,
            suffix: self.suffix,
        };
        let sources = [("left", self.left), ("right", self.right)].map(|(name, table)| (name.to_owned(), Source::Table(table)));
        let recipe = Recipe {
            sources: sources.into(),
            from: Some("left".to_owned()),
            join: vec![join],
            output: Some(self.target.output()),
            ..Recipe::default()
        };
        make(recipe, self.target.how, out).await
    }
}
