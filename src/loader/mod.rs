//! Training batches: every sample of an index once an epoch, in random order, shared between ranks, and resumable.

mod batch;
mod data_loader;
mod decode;
mod draws;
mod forecast;
mod mix;
mod options;
mod order;
mod permutation;
mod planner;
mod prepared;
mod run;
mod shards;
mod source;
mod state;
#[cfg(test)]
mod tests;
mod trace;

pub use batch::Batch;
pub use data_loader::{DataLoader, LoaderStats, PlannedReads};
pub use decode::Decode;
pub use draws::sample_random;
pub use forecast::Forecast;
pub use mix::Stop;
pub use options::{LoaderOptions, OnError};
pub use order::{Shuffle, ShuffleQuality};
pub use shards::Last;
pub use state::LoaderState;
pub use trace::Trace;
