//! Imports other formats into tables, with one folder per format. Each reads its source as Arrow batches with a schema and table
//! properties. Also exports: any table as Parquet or Arrow, and tables made from L5 data as L5 data.

pub mod export;
mod foreign;
pub mod frame;
pub mod l5;
mod nested;
mod partitions;

pub use partitions::Target;
