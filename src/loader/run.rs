//! The reads of an epoch under way: what is planned, what is being read, and what waits for the consumer.

use std::{collections::VecDeque, time::Instant};

use super::{
    batch::ReadBatch,
    draws::{Drawing, Sources},
    mix::Mix,
    planner::{PlansAhead, Start},
};
use crate::{error::Result, work::Ahead};

/// The reads of an epoch under way.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) drawing: Drawing,
    /// Where the next plan begins.
    pub(super) planned: Start,
    pub(super) reads: VecDeque<(u64, Ahead<PlanRead>)>,
    /// Bytes of `reads`, as estimated.
    pub(super) bytes: u64,
    /// Batches that are read and not handed out.
    pub(super) ready: VecDeque<Result<ReadBatch>>,
    /// The part of a batch whose rest is in the next plan.
    part: Option<Result<ReadBatch>>,
    pub(super) skipped: u64,
    pub(super) last_call: Option<Instant>,
    pub(super) next: NextEpoch,
    /// Number of reads that began in the epoch before, and for which nobody has waited yet.
    pub(super) prepared: usize,
}

/// How far the next epoch has been read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextEpoch {
    #[default]
    Untouched,
    Begun,
    /// As far as is allowed, or another loop runs it.
    Done,
}

impl Run {
    pub(super) fn new(sources: &Sources, mix: Option<&Mix>, epoch: u64, planned: u64) -> Self {
        let drawing = Drawing::new(sources, mix, epoch);
        let (planned, (reads, ready, part)) = (Start::of_step(planned), Default::default());
        Self {
            drawing,
            planned,
            reads,
            bytes: 0,
            ready,
            part,
            skipped: 0,
            last_call: None,
            next: NextEpoch::default(),
            prepared: 0,
        }
    }

    /// Returns what is read ahead.
    pub(super) fn ahead(&mut self, batch_bytes: u64) -> PlansAhead {
        let waiting = (self.ready.len() + usize::from(self.part.is_some())) as u64 * batch_bytes;
        let mut ahead = PlansAhead { plans: self.reads.len(), bytes: self.bytes + waiting, ..PlansAhead::default() };
        for (bytes, read) in &mut self.reads {
            if read.is_running() {
                ahead.running += 1;
                ahead.running_bytes += *bytes;
            }
        }
        ahead
    }

    /// Makes the batches of a plan ready. If the plan before has read a part of the first of them, joins both parts.
    ///
    /// # Errors
    /// - `Invalid`: the columns of the parts differ. The batches of this plan are lost, so the caller drops the run and reads again.
    pub(super) fn make_ready(&mut self, PlanRead { mut batches, goes_on }: PlanRead) -> Result<()> {
        if let Some(part) = self.part.take()
            && !batches.is_empty()
        {
            let joined = match (part, batches.remove(0)) {
                (Ok(part), Ok(rest)) => Ok(part.join(rest)?),
                (Err(error), _) | (_, Err(error)) => Err(error),
            };
            batches.insert(0, joined);
        }
        self.part = if goes_on { batches.pop() } else { None };
        self.ready.extend(batches);
        Ok(())
    }

    pub(super) fn add(&mut self, planned: Start, estimate: u64, read: Ahead<PlanRead>) {
        self.planned = planned;
        self.bytes += estimate;
        self.reads.push_back((estimate, read));
    }
}

/// The batches that a plan has read.
#[derive(Debug)]
pub(super) struct PlanRead {
    pub(super) batches: Vec<Result<ReadBatch>>,
    /// Whether the rest of the last batch is in the next plan.
    pub(super) goes_on: bool,
}
