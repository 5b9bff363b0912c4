//! `tetrys run`: makes views from a recipe file.

use std::{io::Write, path::PathBuf};

use clap::Args;
use tetrys::{Recipe, extension::LocalFile};

use super::{How, Memory, make};
use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "Use a recipe to make the same view again, for example with newer versions of its sources. It is a TOML file. Whatever the order in the file, the steps run in this order: open and join the sources, compute columns, filter, sort and sample rows, keep columns, split, and save the views. Everything is optional except `from` (or `concat`), [sources] and [output]:

  from = 'sensors'                  # or: concat = ['monday', 'tuesday'], with fill = true
  filter = 'speed < 1'              # SQL over index columns, as in `tetrys query`; of a list, all must be true
  sort = 'timestamp'                # descending = true
  sample = 1000                     # seed = 7
  keep = ['log_id', 'timestamp']    # index columns, as patterns

  [sources]
  sensors = 'data/sensors@3'
  labels = { table = 'data/labels', filter = 'quality > 0.5' }

  [[join]]                          # one or several, one after the other
  with = 'labels'
  on = ['log_id', 'timestamp']      # 'left=right' if names differ; with asof the last one is the time
  how = 'asof'                      # or inner (the default), left
  pick = 'nearest'                  # or backward (the default), forward
  tolerance = '50ms'                # also: keep, first, last, group_to_list = true; suffix = '_label'

  [columns]                         # further index columns, computed in SQL
  busy = 'agents_count > 10'

  [split]                           # by the hash of a key; parts are in the order train, val, test, then by name
  by = 'log_id'
  shares = { train = 0.8, val = 0.1, test = 0.1 }

  [output]
  view = 'views/busy'               # with a split: views/busy/train, ..; update = true: write the next version

Examples:
  tetrys run merge.toml --dry-run
  tetrys run merge.toml"
)]
pub(crate) struct Run {
    /// The recipe, a TOML file
    recipe: PathBuf,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    memory: Memory,
}

/// The largest recipe, in bytes.
const MAX_RECIPE: u64 = 16 << 20;

impl Run {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let text = LocalFile::text(&self.recipe, MAX_RECIPE).map_err(Failure::Input)?;
        let recipe = Recipe::parse(&text).map_err(|error| Failure::Input(error.at(self.recipe.display())))?;
        make("run", recipe, self.how, self.memory, out).await
    }
}
