//! Samples of the ego car and of agents, as L5Kit's `EgoDataset` and `AgentDataset` give them.
//!
//! [`sample`] computes a sample from the frames around it, and [`batch`] holds the arrays that samples are written to.

pub mod batch;
pub mod sample;

pub use batch::{Kind, SampleShape, SampleSlots, Samples};
pub use sample::{Moment, SampleSettings, fill_sample};
