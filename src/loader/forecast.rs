//! Predicts the requests, bytes and memory of an epoch from the index and the layouts alone.

use std::time::Duration;

use serde::Serialize;

use super::{
    data_loader::DataLoader,
    draws::Drawing,
    order::ShuffleQuality,
    planner::{PLANS, Planner, Start},
};
use crate::{
    error::Result,
    read::{CONCURRENT, Explain},
};

/// The cost of an epoch on this rank, as planned: no payload is read for it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// Samples of the epoch on all ranks.
    pub samples: u64,
    /// Batches of the epoch on this rank.
    pub batches: u64,
    /// Samples of a batch.
    pub batch_size: u64,
    /// Batches of the read plans that were looked at. The figures below are means over them.
    pub looked_at: u64,
    /// Batches that one read plan covers.
    pub batches_of_plan: f64,
    /// Requests to the stores for each batch.
    pub requests_of_batch: f64,
    /// Requested bytes of each batch, with gaps between blocks.
    pub bytes_of_batch: f64,
    /// Bytes of the blocks that a batch needs.
    pub payload_of_batch: f64,
    /// Reads of local files for each batch.
    pub file_reads_of_batch: f64,
    /// Bytes of the columns of a batch, estimated from the layouts; without what [`Decode`](super::Decode) makes of them.
    pub decoded_of_batch: u64,
    /// Bytes of decoded batches that are read ahead.
    pub memory: u64,
    /// Plans that are read at a time.
    pub plans: u64,
    /// How well the order mixes the index.
    pub quality: ShuffleQuality,
}

/// Plans of an epoch that are looked at.
const LOOKED_AT: u64 = 8;

impl Forecast {
    /// Predicts the samples that this rank reads in a second from a store that answers a request after `latency` and delivers
    /// `bytes_per_second`. Decoding is not counted: the processor may be the limit.
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    pub fn samples_per_second(&self, latency: Duration, bytes_per_second: f64) -> f64 {
        let transfer = self.bytes_of_batch / bytes_per_second;
        // A plan waits for each round of its requests; several plans wait at a time.
        let rounds = (self.requests_of_batch * self.batches_of_plan / CONCURRENT as f64).ceil();
        let waiting = rounds * latency.as_secs_f64() / (self.batches_of_plan.max(1.0) * self.plans.max(1) as f64);
        self.batch_size as f64 / transfer.max(waiting).max(f64::MIN_POSITIVE)
    }
}

impl DataLoader {
    /// Predicts what an epoch costs, from the index and the layouts alone.
    ///
    /// # Errors
    /// - Errors of the stores.
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    pub async fn forecast(&self) -> Result<Forecast> {
        let (samples, batches) = (self.samples(), self.len());
        let decoded_of_batch = self.sources.decoded_bytes().await?.saturating_mul(self.shards.batch_size);
        let planner = Planner { shards: self.shards, samples, batch_bytes: decoded_of_batch.max(1), prefetch: self.prefetch };
        let mut drawing = Drawing::new(&self.sources, self.mix.as_ref(), self.epoch);
        let (mut drawn, mut plans, mut cost) = (0_u64, 0_u64, Explain::default());
        for part in 0..LOOKED_AT {
            // Plans from all over the epoch. A step may be in the middle of a window: the plan behind that window is a usual one.
            let step = batches * part / LOOKED_AT * self.shards.step();
            let start = Start::of_step(step);
            let start = if part == 0 { start } else { planner.plan(&mut drawing, start).next };
            let planned = planner.plan(&mut drawing, start).batches;
            if planned.is_empty() {
                break;
            }
            let draws: Vec<_> = planned.iter().flat_map(|batch| &batch.draws).copied().collect();
            cost = cost.and(self.sources.explain(&draws).await?);
            (drawn, plans) = (drawn + draws.len() as u64, plans + 1);
        }
        let drawn_batches = drawn as f64 / self.shards.batch_size as f64;
        let mean = |count: f64| if drawn > 0 { count / drawn_batches } else { 0.0 };
        let batches_of_plan = drawn_batches / plans.max(1) as f64;
        let of_plan = (decoded_of_batch as f64 * batches_of_plan).max(1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few plans")]
        let at_a_time = (self.prefetch as f64 / of_plan).floor().clamp(1.0, PLANS as f64) as u64;
        let ahead = decoded_of_batch.saturating_mul(batches);
        Ok(Forecast {
            samples,
            batches,
            batch_size: self.shards.batch_size,
            looked_at: drawn.div_ceil(self.shards.batch_size),
            batches_of_plan,
            requests_of_batch: mean(cost.requests as f64),
            bytes_of_batch: mean(cost.bytes as f64),
            payload_of_batch: mean(cost.payload_bytes as f64),
            file_reads_of_batch: mean(cost.file_reads as f64),
            decoded_of_batch,
            memory: ahead.min(self.prefetch.max(decoded_of_batch)),
            plans: at_a_time,
            quality: self.quality().await?,
        })
    }
}
