//! The options of a data loader.

use std::sync::Arc;

use super::{
    decode::Decode,
    order::Shuffle,
    shards::{Last, Shards},
};
use crate::{
    environment::setting,
    error::{Error, Result},
    read::{TimeSpan, Window},
};

/// The rule for samples that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnError {
    /// Returns the error instead of the batch. The next call continues with the next batch.
    #[default]
    Raise,
    /// Leaves the sample out of its batch, up to this number of samples in an epoch. A batch of which nothing is left is filled with
    /// a sample from the start of the epoch, which [`Batch::padding`](super::Batch::padding) marks, so that no rank stops.
    Skip {
        /// Samples that may be left out.
        limit: u64,
    },
}

/// The options of a [`DataLoader`](super::DataLoader).
///
/// ```
/// use tetrys::loader::{Last, LoaderOptions, Shuffle};
/// let options = LoaderOptions::new(64).shuffle(Shuffle::Global).seed(7).rank(0, 8).last(Last::Pad);
/// # let _ = options;
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct LoaderOptions {
    pub(super) shards: Shards,
    pub(super) shuffle: Shuffle,
    pub(super) seed: u64,
    pub(super) prefetch: u64,
    pub(super) windows: Vec<(String, Window)>,
    pub(super) on_error: OnError,
    pub(super) skip_incomplete: bool,
    pub(super) max_step: Option<TimeSpan>,
    pub(super) choice: Choice,
    pub(super) decoders: Vec<(String, Arc<dyn Decode>)>,
}

/// Which samples an epoch draws.
#[derive(Clone, Debug, Default)]
pub(super) enum Choice {
    /// Every position once.
    #[default]
    All,
    /// By the weight of each position.
    Weights { weights: Vec<f64>, replace: bool, draws: Option<u64> },
    /// Every class equally often, by the class of each position.
    Classes { classes: Vec<u32>, draws: Option<u64> },
}

/// Default bound of the bytes that are read ahead.
const PREFETCH: u64 = 512 << 20;

/// The least of it that one of several processes takes.
const LEAST_PREFETCH: u64 = 64 << 20;

/// The environment variable with the number of processes of this machine that train.
const PROCESSES: &str = "LOCAL_WORLD_SIZE";

impl LoaderOptions {
    /// Creates options for batches of `batch_size` samples on each rank. The order is a global shuffle with seed 0, on one rank;
    /// the remainder of an epoch is dropped, and up to 512 MiB are read ahead.
    pub fn new(batch_size: u64) -> Self {
        let shards = Shards { batch_size, rank: 0, world_size: 1, last: Last::Drop };
        let (shuffle, seed, windows, on_error, choice) = Default::default();
        Self {
            shards,
            shuffle,
            seed,
            prefetch: PREFETCH,
            windows,
            on_error,
            skip_incomplete: false,
            max_step: None,
            choice,
            decoders: Vec::new(),
        }
    }

    /// Sets the order of the samples.
    pub fn shuffle(mut self, shuffle: Shuffle) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Sets the seed of the order. Every seed and every epoch gives another order.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the rank of this process among `world_size` processes, from 0. Each gets its own share of every step.
    pub fn rank(mut self, rank: u64, world_size: u64) -> Self {
        (self.shards.rank, self.shards.world_size) = (rank, world_size);
        self
    }

    /// Sets the rule for the remainder of an epoch.
    pub fn last(mut self, last: Last) -> Self {
        self.shards.last = last;
        self
    }

    /// Sets the bound of the bytes that are read ahead and wait, in bytes of decoded rows. A batch that is larger is read alone.
    pub fn prefetch(mut self, bytes: u64) -> Self {
        self.prefetch = bytes;
        self
    }

    /// Returns the bound of [`prefetch`](Self::prefetch) for one of the processes of this machine: its share of 512 MiB, but at least
    /// 64 MiB. The environment variable `LOCAL_WORLD_SIZE`, which `torchrun` sets, has their number.
    ///
    /// ```
    /// use tetrys::loader::LoaderOptions;
    /// let options = LoaderOptions::new(64).prefetch(LoaderOptions::shared_prefetch()?);
    /// # let _ = options;
    /// # Ok::<(), tetrys::Error>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: the value of the variable is not a number.
    pub fn shared_prefetch() -> Result<u64> {
        let processes = setting(PROCESSES, "the number of processes of this machine", |text| text.trim().parse::<i64>().ok())?;
        Ok(share_of_prefetch(processes.map_or(1, |processes| u64::try_from(processes).unwrap_or(1))))
    }

    /// Reads the columns that match `pattern` as a window around each sample. Columns without a window are read at the sample
    /// itself.
    ///
    /// # Errors
    /// - `Invalid`: the window is malformed.
    pub fn window<W>(mut self, pattern: impl Into<String>, window: W) -> Result<Self>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.windows.push((pattern.into(), Window::try_from(window)?));
        Ok(self)
    }

    /// Returns the rows of the widest window; 1 without windows.
    pub(super) fn widest(&self) -> u64 {
        self.windows.iter().map(|(_, window)| window.len() as u64).max().unwrap_or(1)
    }

    /// Decodes the columns that match `pattern`, which hold bytes, to tensors. A value that cannot be decoded is a sample that cannot
    /// be read.
    pub fn decode(mut self, pattern: impl Into<String>, decoder: impl Decode + 'static) -> Self {
        self.decoders.push((pattern.into(), Arc::new(decoder)));
        self
    }

    /// Sets what happens to a sample that cannot be read.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Leaves out samples whose windows reach beyond their sequence.
    pub fn skip_incomplete(mut self, skip: bool) -> Self {
        self.skip_incomplete = skip;
        self
    }

    /// Also leaves out samples whose windows reach over a gap in time: two rows of the table that follow each other, from the first
    /// to the last row of the window, are further apart than `max_step`. The times are those of the first `order_by` column.
    ///
    /// # Errors
    /// - `Invalid`: `max_step` is not a span of time, as in `150ms`, or negative.
    pub fn max_step(mut self, max_step: impl AsRef<str>) -> Result<Self> {
        (self.skip_incomplete, self.max_step) = (true, Some(TimeSpan::distance(max_step.as_ref(), "max_step")?));
        Ok(self)
    }

    /// Draws samples by weight, `weights[p]` for position p: with `replace`, as often as the weights say; without, each sample at
    /// most once. An epoch has `draws` draws, by default one for each position.
    pub fn weights(mut self, weights: Vec<f64>, replace: bool, draws: Option<u64>) -> Self {
        self.choice = Choice::Weights { weights, replace, draws };
        self
    }

    /// Draws every class equally often, `classes[p]` for position p: numbers from 0 without gaps. Smaller classes repeat. An
    /// epoch has `draws` draws, by default one for each position.
    pub fn balanced(mut self, classes: Vec<u32>, draws: Option<u64>) -> Self {
        self.choice = Choice::Classes { classes, draws };
        self
    }
}

/// Returns the bound of the bytes that one of so many processes reads ahead.
pub(super) fn share_of_prefetch(processes: u64) -> u64 {
    (PREFETCH / processes.max(1)).max(LEAST_PREFETCH)
}
