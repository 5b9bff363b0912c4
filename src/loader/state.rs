//! The state of a loader: enough to continue an epoch on another machine with another number of ranks.

use serde::{Deserialize, Serialize};

use super::mix::Change;
use crate::{
    error::{Error, Result},
    id::Hash,
};

/// Format of the state. Format 1 had the numbers of the versions of the tables instead of their content.
const FORMAT: u32 = 2;

/// Where a [`DataLoader`](super::DataLoader) stands: the epoch, the samples that all ranks have handed out, and hashes of what
/// the order depends on. It follows the content of the tables, not the numbers of their versions: it fits a version whose segments have the
/// same index, and the same blocks in the column groups that the loader reads. As JSON (`serde_json`) it takes less than 1 KiB, and
/// less than 256 bytes more for each loader of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoaderState {
    format: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Number of the epoch, from 0.
    pub epoch: u64,
    /// Number of samples of the epoch that all ranks together have handed out.
    pub offset: u64,
    #[serde(flatten)]
    pub(super) made_of: MadeOf,
    /// Of a mix: the seeds of its loaders, and the last change of its weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mix: Option<MixState>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixState {
    seeds: Vec<u64>,
    change: Change,
}

/// Hashes of what the order and the batches depend on, each as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeOf {
    pub(super) tables: String,
    #[serde(default)]
    pub(super) content: String,
    /// A field of format 1, which has the versions instead of the content. It is parsed so that the error names the format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) versions: Option<String>,
    pub(super) rows: String,
    pub(super) columns: String,
    pub(super) order: String,
}

impl MadeOf {
    /// Returns the hashes of all sources of a loader.
    pub(super) fn all<'a>(sources: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let of = |part: fn(&Self) -> &str| match &*sources.clone().map(part).collect::<Vec<_>>() {
            [one] => (*one).to_owned(),
            several => Hash::of(several.concat().as_bytes()).to_string().chars().take(16).collect(),
        };
        Self {
            tables: of(|state| &state.tables),
            content: of(|state| &state.content),
            versions: None,
            rows: of(|state| &state.rows),
            columns: of(|state| &state.columns),
            order: of(|state| &state.order),
        }
    }
}

impl LoaderState {
    /// Creates a state; `seeds` has the seed of each source.
    pub(super) fn new(seeds: &[u64], epoch: u64, offset: u64, made_of: MadeOf, change: Option<&Change>) -> Self {
        let mix = change.map(|change| MixState { seeds: seeds.to_vec(), change: change.clone() });
        Self { format: FORMAT, seed: seeds.first().copied().unwrap_or(0), epoch, offset, made_of, mix }
    }

    /// Checks that the state belongs to a loader of `sources` sources with the same tables, rows, columns and order. Returns the seed
    /// of each source, and the last change of the weights of a mix.
    pub(super) fn check(&self, made_of: &MadeOf, sources: usize) -> Result<(Vec<u64>, Option<&Change>)> {
        if self.format != FORMAT {
            return Err(Error::unsupported(format!("loader state: format {}, this build reads {FORMAT}", self.format)));
        }
        if self.made_of.versions.is_some() {
            return Err(Error::invalid(format!("loader state: a field `versions`, which format {FORMAT} does not have")));
        }
        let (theirs, ours) = (&self.made_of, made_of);
        for (what, theirs, ours) in [
            ("the tables", &theirs.tables, &ours.tables),
            ("the content of the tables", &theirs.content, &ours.content),
            ("the rows of the index", &theirs.rows, &ours.rows),
            ("the columns or windows", &theirs.columns, &ours.columns),
            ("the mode of the order", &theirs.order, &ours.order),
        ] {
            if theirs != ours {
                return Err(Error::invalid(format!(
                    "loader state: it was saved by a loader that differs in {what}: hash {theirs}, expected {ours}"
                )));
            }
        }
        let (seeds, change) = match &self.mix {
            Some(MixState { seeds, change }) => (seeds.clone(), Some(change)),
            None => (vec![self.seed], None),
        };
        match seeds.len() == sources {
            true => Ok((seeds, change)),
            false => Err(Error::invalid(format!("loader state: of a mix of {} loaders, expected {sources}", seeds.len()))),
        }
    }
}
