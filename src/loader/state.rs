//! The state of a loader: enough to continue an epoch on another machine with another number of ranks.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Version of the state.
const FORMAT: u32 = 1;

/// Where a [`DataLoader`](super::DataLoader) stands: the epoch, the samples that all ranks have handed out, and hashes of what
/// the order depends on. As JSON (`serde_json`) it takes less than 1 KiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Hashes of what the order and the batches depend on, each as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeOf {
    pub(super) tables: String,
    pub(super) versions: String,
    pub(super) rows: String,
    pub(super) columns: String,
    pub(super) order: String,
}

impl LoaderState {
    pub(super) fn new(seed: u64, epoch: u64, offset: u64, made_of: MadeOf) -> Self {
        Self { format: FORMAT, seed, epoch, offset, made_of }
    }

    /// Checks that the state belongs to a loader of the same rows, columns and order, with `samples` samples.
    pub(super) fn check(&self, made_of: &MadeOf, samples: u64) -> Result<()> {
        if self.format != FORMAT {
            return Err(Error::unsupported(format!("loader state: format {}, this build reads {FORMAT}", self.format)));
        }
        let (theirs, ours) = (&self.made_of, made_of);
        for (what, theirs, ours) in [
            ("the tables", &theirs.tables, &ours.tables),
            ("the table versions", &theirs.versions, &ours.versions),
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
        match self.offset <= samples {
            true => Ok(()),
            false => Err(Error::invalid(format!("loader state: offset {} in an epoch of {samples} samples", self.offset))),
        }
    }
}
