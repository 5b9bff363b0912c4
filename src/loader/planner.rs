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
/// The most windows of a shuffle that one read plan covers.
const PLAN_WINDOWS: usize = 64;
/// The most plans that are read at a time.
pub(super) const PLANS: usize = 16;
/// The most plans that are being read or wait for the consumer.
const PLANS_AHEAD: usize = 256;
/// Bytes of the plans that are read at a time, as estimated. So many bytes keep a store busy that sends 1.3 GB/s and answers after 100 ms.
/// A higher bound is slower where memory is new to the process: the kernel clears each page.
const UNDER_WAY: u64 = 128 << 20;
/// Plans that are read at a time whatever their bytes, such as windows of a shuffle: the requests of one begin while the bytes of the other
/// come.
const LARGE_PLANS: usize = 2;

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

/// Where a plan begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Start {
    /// The first draw of a step, of which not everything is planned.
    pub(super) step: u64,
    /// The first draw that is not planned. The plan before reads earlier draws of this step.
    pub(super) draw: u64,
}

impl Start {
    /// Returns the start at the first draw of a step.
    pub(super) fn of_step(step: u64) -> Self {
        Self { step, draw: step }
    }
}

/// The plans that are being read, and those that wait for the consumer. Bytes are estimated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlansAhead {
    pub(super) plans: usize,
    pub(super) bytes: u64,
    /// Number of those that are being read.
    pub(super) running: usize,
    pub(super) running_bytes: u64,
}

impl std::ops::Add for PlansAhead {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            plans: self.plans + other.plans,
            bytes: self.bytes + other.bytes,
            running: self.running + other.running,
            running_bytes: self.running_bytes + other.running_bytes,
        }
    }
}

/// A read plan: its batches, and where the plan behind it begins.
#[derive(Debug)]
pub(super) struct BatchPlan<B> {
    pub(super) batches: Vec<B>,
    /// Whether the next plan has the rest of the last batch.
    pub(super) goes_on: bool,
    /// Where the next plan begins.
    pub(super) next: Start,
}

impl Planner {
    /// Returns the bytes of the plan that begins at `start`, as estimated. Samples that are shuffled together are read together, so that
    /// their blocks are read once.
    pub(super) fn plan_bytes(&self, drawing: &Drawing, start: Start) -> u64 {
        let (first, windows) = (self.own_draw(start), |draw| self.window(drawing, draw));
        let most = self.most_bytes(windows(first).1);
        match self.end_of_windows(&windows, first, most) {
            Some(end) => (end - first).saturating_mul(self.batch_bytes) / self.shards.step(),
            None => most.max(self.batch_bytes),
        }
    }

    /// Returns the bytes that a plan may have; a single batch may have more.
    fn most_bytes(&self, is_window: bool) -> u64 {
        if is_window { self.prefetch / 3 } else { PLAN_BYTES.min(self.prefetch / 4) }
    }

    /// Returns the plan that begins at `start`.
    pub(super) fn plan(&self, drawing: &mut Drawing, start: Start) -> BatchPlan<Planned> {
        let plan = self.shares(|draw| self.window(drawing, draw), start);
        let planned = plan.batches.into_iter().map(|Share { numbers, padding }| Planned {
            draws: numbers.into_iter().map(|number| drawing.at(number)).collect(),
            padding,
        });
        BatchPlan { batches: planned.collect(), goes_on: plan.goes_on, next: plan.next }
    }

    /// Returns the draws of the plan that begins at `start`. `windows` returns the end of the window of a draw, and whether there are windows.
    /// If a window fits into the plan, the plan ends where a window ends, even in the middle of a batch: the next plan then has the rest of
    /// that batch, whose samples are in blocks of the next window.
    pub(super) fn shares(&self, windows: impl Fn(u64) -> (Option<u64>, bool), start: Start) -> BatchPlan<Share> {
        let first = self.own_draw(start);
        let (together, is_window) = windows(first);
        let plan_bytes = self.most_bytes(is_window);
        let window = self.end_of_windows(&windows, first, plan_bytes);
        let mut plan = BatchPlan { batches: Vec::new(), goes_on: false, next: start };
        while let Some(Share { mut numbers, padding }) = self.shards.share(self.samples, plan.next.step) {
            let real = numbers.len() - padding;
            let place_of = |draw: u64| numbers[..real].partition_point(|number| *number < draw);
            let (before, within) = (place_of(plan.next.draw), window.map_or(numbers.len(), place_of));
            let is_cut =
                |end: &u64| *end < self.samples && within < numbers.len() && (within > before || !plan.batches.is_empty());
            if let Some(end) = window.filter(is_cut) {
                if within > before {
                    plan.batches.push(Share { numbers: numbers[before..within].to_vec(), padding: 0 });
                    plan.goes_on = true;
                }
                plan.next.draw = end;
                break;
            }
            plan.batches.push(Share { numbers: numbers.split_off(before), padding });
            plan.next = Start::of_step(plan.next.step + self.shards.step());
            let is_full = self.batch_bytes * (plan.batches.len() as u64 + 1) > plan_bytes;
            let is_done = match window {
                Some(end) => plan.next.step >= end,
                None => is_full || (together.is_none_or(|end| plan.next.step >= end) && plan.batches.len() >= PLAN_BATCHES),
            };
            // Before the size of a sample is known, one batch is read alone.
            if self.batch_bytes == 0 || is_done {
                break;
            }
        }
        plan
    }

    /// Returns the first draw of this rank that is not planned, if it is in the step of `start`.
    fn own_draw(&self, Start { step, draw }: Start) -> u64 {
        let Shards { rank, world_size, .. } = self.shards;
        let own = step + rank;
        let own = own + draw.saturating_sub(own).next_multiple_of(world_size);
        if own < self.samples.min(step + self.shards.step()) { own } else { draw }
    }

    /// Returns the end of the windows that a plan reads whole from draw `first` on; `None` if not one fits in it, or there are none.
    fn end_of_windows(&self, windows: &impl Fn(u64) -> (Option<u64>, bool), first: u64, plan_bytes: u64) -> Option<u64> {
        let step = self.shards.step();
        let most = first.saturating_add(plan_bytes.saturating_mul(step).checked_div(self.batch_bytes)?);
        let enough = first.saturating_add(step.saturating_mul(PLAN_BATCHES as u64)).min(self.samples);
        let mut end = windows(first).0.filter(|end| (first + 1..=most).contains(end))?;
        for _ in 1..PLAN_WINDOWS {
            match windows(end).0 {
                Some(next) if end < enough && end < next && next <= most => end = next,
                _ => break,
            }
        }
        Some(end)
    }

    /// Whether a plan of `bytes` bytes may be read beside those that are `ahead`.
    pub(super) fn may_read(&self, bytes: u64, ahead: PlansAhead) -> bool {
        let is_soon = ahead.running < LARGE_PLANS || ahead.running_bytes + bytes <= UNDER_WAY;
        let few = ahead.running < PLANS && ahead.plans < PLANS_AHEAD;
        self.batch_bytes > 0 && ahead.bytes + bytes <= self.prefetch && is_soon && few
    }

    fn window(&self, drawing: &Drawing, draw: u64) -> (Option<u64>, bool) {
        drawing.window(draw.min(self.samples.saturating_sub(1)))
    }
}
