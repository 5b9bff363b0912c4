//! Imports other formats into tables, with one folder per format. Each reads its source as Arrow batches with a schema and table
//! properties. Also exports any table as Parquet or Arrow. The crate `tetrys-l5` imports and exports Level 5 data.

pub mod export;
mod foreign;
pub mod frame;
mod local;
mod nested;
pub mod npy;
mod partitions;
mod seconds;

pub use crate::{panics::guarded, threads::threads};
pub use local::LocalFile;
pub use partitions::{Target, write_partitions, writer};
