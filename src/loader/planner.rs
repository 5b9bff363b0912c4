//! Chooses the batches of a read plan, and how much is read ahead.

use super::{
    batch::Planned,
    draws::Drawing,
    shards::{Shards, Share},
};

/// Bytes of the batches that one read plan covers: enough that blocks and ranges that they share are read once, and few enough
/// that the first of them does not wait long, and that the results stay in the cache of the processor.
const PLAN_BYTES: u64 = 4 << 20;
/// The most batches that one read plan covers.
const PLAN_BATCHES: usize = 16;
/// The most plans that are read at a time.
pub(super) const PLANS: usize = 16;
/// Bytes of the plans that are read at a time, as estimated; a single plan may have more. So many bytes keep a store busy that sends
/// 1.3 GB/s and answers after 100 ms. A higher bound is slower where memory is new to the process: the kernel clears each page.
const UNDER_WAY: u64 = 128 << 20;

/// Chooses the batches that one read plan covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planner {
    pub(super) shards: Shards,
    /// Number of samples of the epoch.
    pub(super) samples: u64,
    /// Bytes of a batch; 0 if they are not known.
    pub(super) batch_bytes: u64,
    /// Bound of the bytes that are read ahead.
    pub(super) prefetch: u64,
}

impl Planner {
    /// Returns the bytes of the batches of a plan that begins at draw `first`. Samples that are shuffled together are read together,
    /// so that their blocks are read once.
    pub(super) fn plan_bytes(&self, drawing: &Drawing, first: u64) -> u64 {
        match self.shuffled_up_to(drawing, first) {
            (_, true) => self.prefetch / 3,
            (_, false) => PLAN_BYTES.min(self.prefetch / 4),
        }
    }

    /// Returns the batches of the plan that begins at draw `first`, and the first draw of the next plan.
    pub(super) fn plan(&self, drawing: &mut Drawing, first: u64) -> (Vec<Planned>, u64) {
        let (plan_bytes, (together, _)) = (self.plan_bytes(drawing, first), self.shuffled_up_to(drawing, first));
        let (mut batches, mut planned) = (Vec::new(), first);
        while let Some(Share { numbers, padding }) = self.shards.share(self.samples, planned) {
            batches.push(Planned { draws: numbers.into_iter().map(|number| drawing.at(number)).collect(), padding });
            planned += self.shards.step();
            let is_apart = planned >= together && batches.len() >= PLAN_BATCHES;
            // Before the size of a sample is known, one batch is read alone.
            if self.batch_bytes == 0 || is_apart || self.batch_bytes * (batches.len() as u64 + 1) > plan_bytes {
                break;
            }
        }
        (batches, planned)
    }

    /// Whether a plan of `bytes` bytes may be read ahead, while batches of `waiting` bytes wait for the consumer or are being read, the
    /// latter `under_way` bytes.
    pub(super) fn may_read(&self, bytes: u64, waiting: u64, under_way: u64) -> bool {
        self.batch_bytes > 0 && waiting + bytes <= self.prefetch && (under_way == 0 || under_way + bytes <= UNDER_WAY)
    }

    fn shuffled_up_to(&self, drawing: &Drawing, first: u64) -> (u64, bool) {
        drawing.shuffled_up_to(first.min(self.samples.saturating_sub(1)))
    }
}
