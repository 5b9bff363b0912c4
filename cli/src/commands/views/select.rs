//! `tetrys select`: some rows of a table, or parts of them for training and testing.

use std::{collections::BTreeMap, io::Write};

use clap::Args;
use tetrys::recipe::{Recipe, Several, Source, Split};

use super::{Target, make};
use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "Conditions are those of `tetrys query`: SQL over the index columns. Windows over the view still see the rows around, also those that were left out.

Parts of a split go by the hash of a key: all rows of one recording are in one part, and rows that are added later move nobody. They are saved as VIEW/train, VIEW/val and so on.

Examples:
  tetrys select sensors --where 'agents_count > 100' --out busy
  tetrys select sensors --where 'speed < 1' --sort timestamp --keep log_id,timestamp --out slow
  tetrys select sensors --sample 1000 --seed 7 --out some
  tetrys select sensors --split log_id --shares train=0.8,val=0.1,test=0.1 --out splits"
)]
pub(crate) struct Select {
    /// The table: a path or file:// URL; TABLE@3 is its version 3
    table: String,
    /// Rows for which this is true; may be given several times
    #[arg(long = "where", value_name = "SQL")]
    filter: Vec<String>,
    /// One more index column, computed: `name=SQL`; may be given several times
    #[arg(long = "column", value_name = "NAME=SQL", value_parser = pair::<String>)]
    columns: Vec<(String, String)>,
    /// In the order of these columns
    #[arg(long, value_name = "C,C", value_delimiter = ',')]
    sort: Vec<String>,
    /// The greatest first
    #[arg(long, requires = "sort")]
    descending: bool,
    /// So many rows, drawn at random
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// What they are drawn by
    #[arg(long, value_name = "N", default_value_t = 0, requires = "sample")]
    seed: u64,
    /// These index columns alone, as patterns [default: all]
    #[arg(long, value_name = "P,P", value_delimiter = ',')]
    keep: Vec<String>,
    /// Make parts by the hash of these index columns
    #[arg(long, value_name = "K,K", value_delimiter = ',', requires = "shares")]
    split: Vec<String>,
    /// The parts and their shares; they stand in the order train, val, test, then by name
    #[arg(long, value_name = "PART=SHARE,..", value_delimiter = ',', value_parser = pair::<f64>, requires = "split")]
    shares: Vec<(String, f64)>,
    /// Another salt makes other parts
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true, requires = "split")]
    salt: String,
    #[command(flatten)]
    target: Target,
}

/// `name=value`.
fn pair<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<(String, T), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: expected NAME=VALUE"))?;
    Ok((name.to_owned(), value.parse().map_err(|error: T::Err| format!("`{value}`: {error}"))?))
}

impl Select {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let shares: BTreeMap<String, f64> = self.shares.into_iter().collect();
        let recipe = Recipe {
            sources: [("table".to_owned(), Source::Table(self.table))].into(),
            from: Some("table".to_owned()),
            columns: self.columns.into_iter().collect(),
            filter: Several(self.filter),
            sort: Several(self.sort),
            descending: self.descending,
            sample: self.sample,
            seed: self.seed,
            keep: Several(self.keep),
            split: (!shares.is_empty()).then_some(Split { by: Several(self.split), salt: self.salt, shares }),
            output: Some(self.target.output()),
            ..Recipe::default()
        };
        make(recipe, self.target.how, out).await
    }
}
