//! `tetrys select`: filters, sorts, samples or splits the rows of a table as views.

use std::io::Write;

use clap::Args;
use tetrys::recipe::{KeySplit, Recipe, Several, Source};

use super::{Memory, Target, make};
use crate::{
    commands::named_once,
    failure::{Failure, Outcome},
    numbers::{number, whole},
};

#[derive(Args, Debug)]
#[command(
    after_help = "The view copies no payload and refers to the table, so keep the table. Conditions are SQL over the index columns, as in `tetrys query`. Windows over the view also read rows that the view leaves out.

--split makes several views, for example for training and testing: VIEW/train, VIEW/val and so on. The hash of the split columns decides the part of a row. So all rows with the same values, for example of one recording, are in one part, and rows that are added later do not move other rows.

An index that is larger than --memory-limit is filtered and split part by part. --column, --sort, --sample, and conditions over more than one row, such as aggregations, always work in memory.

Examples:
  tetrys select sensors --where 'agents_count > 100' --out busy
  tetrys select sensors --where 'speed < 1' --sort timestamp --keep log_id,timestamp --out slow
  tetrys select sensors --sample 1000 --seed 7 --out some
  tetrys select sensors --split log_id --shares train=0.8,val=0.1,test=0.1 --out splits
  tetrys select huge --split log_id --shares train=0.9,test=0.1 --memory-limit 8GiB --temporary-folder /scratch --out splits"
)]
pub(crate) struct Select {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Keep rows for which this condition is true. If repeated, all conditions must be true
    #[arg(long = "where", value_name = "SQL")]
    filter: Vec<String>,
    /// Add an index column that is computed in SQL. May be repeated
    #[arg(long = "column", value_name = "NAME=SQL", value_parser = pair)]
    columns: Vec<(String, String)>,
    /// Sort the rows by these index columns
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    sort: Vec<String>,
    /// Sort in descending order
    #[arg(long, requires = "sort")]
    descending: bool,
    /// Keep N rows, drawn at random
    #[arg(long, value_name = "N", value_parser = whole(0..=usize::MAX))]
    sample: Option<usize>,
    /// Seed of the random sample; the same seed draws the same rows
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample", value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Keep only these index columns, as patterns [default: all]
    #[arg(long, value_name = "PATTERN,..", value_delimiter = ',')]
    keep: Vec<String>,
    /// Split the rows into parts by the hash of these index columns; needs --shares
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',', requires = "shares")]
    split: Vec<String>,
    /// The parts of the split and their shares of the rows: train=0.8,test=0.2
    #[arg(long, value_name = "PART=SHARE,..", value_delimiter = ',', value_parser = share, requires = "split")]
    shares: Vec<(String, f64)>,
    /// Text that is hashed with the split columns; another text gives another split
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "split")]
    salt: String,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    memory: Memory,
}

/// Parses `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses `train=0.8`.
fn share(text: &str) -> Result<(String, f64), String> {
    let (name, value) = pair(text)?;
    Ok((name, number(&value)?))
}

impl Select {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let shares = named_once(self.shares, "--shares")?;
        let recipe = Recipe {
            sources: [("table".to_owned(), Source::Table(self.table))].into(),
            from: Some("table".to_owned()),
            columns: named_once(self.columns, "--column")?,
            filter: Several(self.filter),
            sort: Several(self.sort),
            descending: self.descending,
            sample: self.sample,
            seed: self.seed,
            keep: Several(self.keep),
            split: (!shares.is_empty()).then_some(KeySplit { by: Several(self.split), salt: self.salt, shares }),
            output: Some(self.target.output()),
            ..Recipe::default()
        };
        make("select", recipe, self.target.how, self.memory, out).await
    }
}
