//! Other formats become tables here, one folder per format: each reads its source as Arrow batches with a schema and table
//! properties, and writes it back from them.

pub mod l5;
