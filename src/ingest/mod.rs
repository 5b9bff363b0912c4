//! Imports other formats into tables, with one folder per format. Each reads its source as Arrow batches with a schema and table
//! properties. Also exports any table as Parquet or Arrow. The crate `tetrys-l5` imports and exports Level 5 data.

pub mod export;
mod foreign;
pub mod frame;
mod nested;
mod seconds;
// `tetrys::extension` gives users what is in these.
pub(crate) mod local;
pub(crate) mod npy;
pub(crate) mod partitions;
pub(crate) mod target;

pub use target::{IngestOptions, Roles, Target};
