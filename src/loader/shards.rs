//! Batches: which samples of an epoch a rank gets at each step.

use crate::error::{Error, Result, counted};

/// The rule for the samples that remain at the end of an epoch, if they do not fill a batch on every rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Last {
    /// Leaves the remainder out.
    #[default]
    Drop,
    /// Fills the last batches with samples from the start of the epoch. [`Batch::padding`](super::Batch::padding) marks them.
    Pad,
    /// Delivers shorter last batches.
    Short,
}

/// The largest batch and the most ranks.
const MOST: u64 = 1 << 24;

/// The share of a rank: the batches of step t are the next `batch_size * world_size` samples of the epoch, and rank r takes every
/// `world_size`-th of them, from the r-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shards {
    pub(super) batch_size: u64,
    pub(super) rank: u64,
    pub(super) world_size: u64,
    pub(super) last: Last,
}

/// The samples of one batch, by their numbers in the epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) numbers: Vec<u64>,
    /// Number of samples at the end of `numbers` that only fill the batch.
    pub(super) padding: usize,
}

impl Shards {
    /// Checks the sizes.
    ///
    /// # Errors
    /// - `Invalid`: a size is 0 or too large, or the rank is outside `0..world_size`.
    pub(super) fn check(&self) -> Result<()> {
        let Self { batch_size, rank, world_size, .. } = *self;
        for (what, value) in [("batch size", batch_size), ("world size", world_size)] {
            if !(1..=MOST).contains(&value) {
                return Err(Error::invalid(format!("{what} {value}: expected 1 to {MOST}")));
            }
        }
        match rank < world_size {
            true => Ok(()),
            false => Err(Error::invalid(format!("rank {rank}: expected 0 to {}", world_size - 1))),
        }
    }

    /// Describes the share for a message: `batches of 8 on rank 0 of 2`.
    pub(super) fn describe(&self) -> String {
        let last = match self.last {
            Last::Drop => "without the remainder",
            Last::Pad => "with a padded remainder",
            Last::Short => "with a short remainder",
        };
        format!("batches of {} on rank {} of {}, {last}", self.batch_size, self.rank, self.world_size)
    }

    /// Returns the samples that all ranks take in one step.
    pub(super) fn step(&self) -> u64 {
        self.batch_size * self.world_size
    }

    /// Returns the number of steps behind the first `offset` of `samples` samples. It is the same on all ranks.
    pub(super) fn steps(&self, samples: u64, offset: u64) -> u64 {
        let left = samples.saturating_sub(offset);
        match self.last {
            Last::Drop => left / self.step(),
            Last::Pad | Last::Short => left.div_ceil(self.step()),
        }
    }

    /// Checks that every rank gets a sample in the last step.
    ///
    /// # Errors
    /// - `Invalid`: with [`Last::Short`], the last step has fewer samples than there are ranks.
    pub(super) fn check_last(&self, samples: u64, offset: u64) -> Result<()> {
        let left = samples.saturating_sub(offset) % self.step();
        match self.last == Last::Short && left > 0 && left < self.world_size {
            true => Err(Error::invalid(format!(
                "the last step has {} for {} ranks: some ranks would get none; use last = drop or pad",
                counted(left, "sample"),
                self.world_size
            ))),
            false => Ok(()),
        }
    }

    /// Returns this rank's share of the step behind the first `offset` of `samples` samples; `None` behind the last step.
    pub(super) fn share(&self, samples: u64, offset: u64) -> Option<Share> {
        if self.steps(samples, offset) == 0 {
            return None;
        }
        let wanted = (0..self.batch_size).map(|place| offset + self.rank + place * self.world_size);
        let numbers: Vec<u64> = match self.last {
            Last::Pad => wanted.clone().map(|number| number % samples).collect(),
            Last::Drop | Last::Short => wanted.clone().filter(|number| *number < samples).collect(),
        };
        let real = wanted.filter(|number| *number < samples).count();
        Some(Share { padding: numbers.len() - real, numbers })
    }
}
