//! Level 5 data sets: taken in, read, and written back.

mod bad_input;
#[path = "../common/mod.rs"]
mod common;
mod export;
mod fidelity;
mod table;
mod zarr_python;
