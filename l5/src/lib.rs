//! Level 5 data in Tetrys tables: import and export, and the samples that L5Kit's users train on.
//!
//! A Level 5 data set is a zarr group of structured arrays: scenes, frames, agents and traffic light faces. [`ingest`] makes a table of
//! it with one row for each frame, and [`export_table`] writes it back, record by record. [`reading`] reads the frames around some
//! positions with one plan, and [`Sampler`] computes the samples of L5Kit's `EgoDataset` and `AgentDataset` from them.
//!
//! All computations are pure functions over [`arrays`]: they read no table, and do not wait.
//!
//! ```no_run
//! # async fn example() -> tetrys::Result<()> {
//! use tetrys::Store;
//! use tetrys::ingest::IngestOptions;
//! use tetrys_l5::{Dataset, ingest};
//! let table = ingest(&Dataset::open("sample.zarr")?, Store::open("sample")?, &IngestOptions::default(), |_| {}).await?;
//! # Ok(()) }
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`zarr`] | data sets in zarr: reading, writing, generating |
//! | [`arrays`] | columns of frames, agents and faces: the input of all computations |
//! | [`reading`] | the frames around positions of a table |
//! | [`sampling`] | samples of the ego car and of agents |
//! | [`filter`](mod@filter) [`mask`] [`geometry`] | which agents count; transforms |
//! | [`map`](mod@map) | semantic maps |
//! | [`raster`] | pictures of boxes, lanes and aerial photographs |
//! | [`picture`] | a sample as a picture |
//! | [`kinematic`] | the motion of a car, fitted to a trajectory |
//! | [`vectorized`] | samples as polylines |
//! | [`evaluation`] | metrics of predictions, and their files |
//!
//! The behaviour of L5Kit is that of its last version (commit f554545).

pub mod arrays;
mod count;
pub mod evaluation;
pub mod filter;
pub mod geometry;
pub mod kinematic;
pub mod map;
pub mod mask;
mod parallel;
pub mod picture;
pub mod raster;
pub mod reading;
mod sampler;
pub mod sampling;
mod selection;
mod vector_sampler;
pub mod vectorized;
pub mod zarr;

pub use sampler::{Batch, Sampler};
pub use vector_sampler::{EgoPoses, VectorBatch, VectorPlace, VectorSampler};
pub use zarr::{Dataset, Exporter, GeneratorSettings, Scene, export, export_table, ingest};
