//! Other formats become tables here, one folder per format: each reads its source as Arrow batches with a schema and table
//! properties. What came as L5 data is also written back from them, and any table as Parquet or Arrow.

pub mod export;
mod foreign;
pub mod frame;
pub mod l5;
mod nested;
mod partitions;

pub use partitions::Target;
