//! Other formats become tables here, one folder per format: each reads its source as Arrow batches with a schema and table
//! properties; what came as L5 data is also written back from them.

pub mod frame;
pub mod l5;
mod partitions;

pub use partitions::Target;
