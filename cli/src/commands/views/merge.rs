//! `tetrys merge`: joins two tables as a view.

use std::io::Write;

use clap::Args;
use tetrys::recipe::{Join, Recipe, Several, Source};

use super::{Memory, Target, make};
use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "The view has rows of LEFT with the columns of both tables. It copies no payload and refers to LEFT and RIGHT, so keep both. It is read like every table; windows over it follow LEFT.

A row of LEFT is joined with the row of RIGHT that has equal values in the columns of --on. With --how asof, the last column of --on is a time: of the rows of RIGHT whose other columns are equal, --pick and --tolerance choose one by its time. A row of LEFT without a partner is left out, unless you pass --how left or, with asof, --keep-left.

Indexes that are larger than --memory-limit are merged part by part. That is fast for tables with sequences by the same keys, and for sorted tables. Other tables, and all with --group-to-list, go through temporary files. Views are merged in memory.

Examples:
  tetrys merge sensors labels --on log_id,timestamp --out labelled
  tetrys merge sensors labels --on log_id,timestamp=time_us --how left --out labelled
  tetrys merge cameras lidar --on log_id,timestamp --how asof --pick nearest --tolerance 50ms --out synced
  tetrys merge huge labels --on log_id,timestamp --memory-limit 8GiB --temporary-folder /scratch --out labelled
  tetrys merge sensors@3 boxes --on log_id,frame --group-to-list --out boxed --dry-run"
)]
pub(crate) struct Merge {
    /// The left table or view: a path or URL; TABLE@3 is version 3
    left: String,
    /// The right table or view
    right: String,
    /// The key: index columns with equal values in rows that belong together; LEFT=RIGHT if their names differ
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', required = true)]
    on: Vec<String>,
    /// inner: keep rows that have a partner; left: keep all rows of LEFT; asof: join by time
    #[arg(long, default_value = "inner", value_parser = ["inner", "left", "asof"])]
    how: String,
    /// With --how asof: take the last row at or before the time (backward), the first row at or after it (forward), or the
    /// nearest row [default: backward]
    #[arg(long, value_name = "WAY", value_parser = ["backward", "forward", "nearest"])]
    pick: Option<String>,
    /// With --how asof: the largest distance in time, as `50ms` or as a number in units of the time column [default: no limit]
    #[arg(long, value_name = "SPAN")]
    tolerance: Option<String>,
    /// With --how asof: keep rows of LEFT that have no partner
    #[arg(long)]
    keep_left: bool,
    /// If several rows of RIGHT have the same key (and time), take the first; without one of these options they are an error
    #[arg(long, conflicts_with_all = ["last", "group_to_list"])]
    first: bool,
    /// If several rows of RIGHT have the same key (and time), take the last
    #[arg(long, conflicts_with = "group_to_list")]
    last: bool,
    /// If several rows of RIGHT have the same key, make lists of their values
    #[arg(long)]
    group_to_list: bool,
    /// Suffix for names of RIGHT columns that LEFT also has [default: _right]
    #[arg(long, value_name = "TEXT")]
    suffix: Option<String>,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    memory: Memory,
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
            group_to_list: self.group_to_list,
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
        make("merge", recipe, self.target.how, self.memory, out).await
    }
}
