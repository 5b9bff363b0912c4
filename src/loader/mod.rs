//! Training batches: every sample of an index once an epoch, in random order, shared between ranks, and resumable.

mod data_loader;
mod options;
mod order;
mod permutation;
mod shards;
mod state;
#[cfg(test)]
mod tests;

pub use data_loader::{Batch, DataLoader, LoaderStats};
pub use options::{LoaderOptions, OnError};
pub use order::{Shuffle, ShuffleQuality};
pub use shards::Last;
pub use state::LoaderState;
