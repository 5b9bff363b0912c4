//! The samples that an epoch draws from the sources of a loader: which sample comes when, and how several are read.

use std::sync::Arc;

use futures::future::try_join_all;

use super::{
    mix::{Mix, Place},
    order::Epoch,
    permutation::hash,
    source::Source,
};
use crate::{error::Result, read::Explain, table::Windows};

/// Returns the random number of a sample, which [`Decode::of_sample`](super::Decode::of_sample) gets. It depends on the seed of the
/// loader, the epoch, and the number of the sample in the epoch, which counts the samples of all ranks from 0.
///
/// So it depends neither on ranks, batch sizes or threads, nor on whether the epoch was resumed. A row that an epoch draws twice gets
/// two numbers.
///
/// ```
/// use tetrys::loader::sample_random;
/// assert_eq!(sample_random(7, 0, 3), sample_random(7, 0, 3));
/// assert_ne!(sample_random(7, 0, 3), sample_random(7, 1, 3));
/// ```
pub fn sample_random(seed: u64, epoch: u64, sample: u64) -> u64 {
    // Other numbers of three parts have a salt in the third place: `order.rs`.
    hash(&[seed, epoch, sample, 0])
}

/// A sample of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw {
    pub(super) source: usize,
    pub(super) position: u64,
    /// See [`sample_random`].
    pub(super) random: u64,
}

/// The sources of a loader.
#[derive(Clone, Debug)]
pub(super) struct Sources(pub(super) Arc<[Source]>);

impl Sources {
    /// Reads samples. Returns the windows of each part, one for each sample.
    pub(super) async fn read(&self, draws: &[Draw]) -> Result<Vec<Windows>> {
        if let [source] = &*self.0 {
            return read(source, draws).await;
        }
        let mut of_sources: Vec<Vec<Draw>> = vec![Vec::new(); self.0.len()];
        let mut places = Vec::with_capacity(draws.len());
        for draw in draws {
            places.push((draw.source, of_sources[draw.source].len()));
            of_sources[draw.source].push(*draw);
        }
        let read = self.0.iter().zip(&of_sources).map(|(source, draws)| read(source, draws));
        let read = try_join_all(read).await?;
        let parts = read.first().map_or(0, Vec::len);
        (0..parts)
            .map(|part| Windows::interleave(&read.iter().map(|windows| &windows[part]).collect::<Vec<_>>(), &places))
            .collect()
    }

    /// Returns the cost of [`Sources::read`].
    pub(super) async fn explain(&self, draws: &[Draw]) -> Result<Explain> {
        let mut cost = Explain::default();
        for (number, source) in self.0.iter().enumerate() {
            let of_source = draws.iter().filter(|draw| draw.source == number).map(|draw| draw.position).collect::<Vec<_>>();
            cost = cost.and(source.rows.explain_samples(&of_source, &source.parts).await?);
        }
        Ok(cost)
    }

    /// Estimates the decoded bytes of a sample, from the layouts.
    pub(super) async fn decoded_bytes(&self) -> Result<u64> {
        let mut most = 0;
        for source in self.0.iter() {
            most = most.max(source.rows.sample_bytes(&source.parts).await?);
        }
        Ok(most)
    }

    /// Returns the name of a sample for messages.
    pub(super) fn name(&self, draw: Draw) -> String {
        match self.0.len() {
            1 => format!("sample at position {}", draw.position),
            _ => format!("loader {}, sample at position {}", draw.source, draw.position),
        }
    }
}

async fn read(source: &Source, draws: &[Draw]) -> Result<Vec<Windows>> {
    let positions: Vec<u64> = draws.iter().map(|draw| draw.position).collect();
    source.read(&positions, draws.iter().map(|draw| draw.random).collect()).await
}

/// The samples of an epoch, in their order.
#[derive(Debug)]
pub(super) struct Drawing {
    sources: Sources,
    mix: Option<Mix>,
    /// Where the mix stood at the last draw.
    place: Place,
    epoch: u64,
    /// How often each source began again before the draws that were asked for last, and the order of that pass.
    passes: Vec<(u64, Epoch)>,
}

impl Drawing {
    pub(super) fn new(sources: &Sources, mix: Option<&Mix>, epoch: u64) -> Self {
        let passes = sources.0.iter().map(|source| (0, source.order.epoch(epoch))).collect();
        Self { sources: sources.clone(), mix: mix.cloned(), place: Place::default(), epoch, passes }
    }

    /// Returns the `k`-th sample of the epoch.
    pub(super) fn at(&mut self, k: u64) -> Draw {
        let sample = k;
        let (number, k) = self.mix.as_ref().map_or((0, k), |mix| mix.at(k, &mut self.place));
        let (source, (pass, epoch)) = (&self.sources.0[number], &mut self.passes[number]);
        let len = source.order.len().max(1);
        if k / len != *pass {
            *pass = k / len;
            *epoch = source.order.epoch(self.epoch.wrapping_add(*pass << 32));
        }
        let random = sample_random(source.order.seed(), self.epoch, sample);
        Draw { source: number, position: source.position(epoch.at(k % len)), random }
    }

    /// Returns the end of the window of draw `k`, whose draws are shuffled together, if there is one source; and whether samples are
    /// shuffled in windows: what is read together is needed together.
    pub(super) fn window(&self, k: u64) -> (Option<u64>, bool) {
        match (&self.mix, &*self.passes) {
            (None, [(_, epoch)]) if epoch.shuffles_in_windows() => (Some(epoch.shuffled_with(k).1), true),
            (_, passes) => (None, passes.iter().any(|(_, epoch)| epoch.shuffles_in_windows())),
        }
    }
}
