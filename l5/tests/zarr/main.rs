//! Level 5 data sets: imported, read, and exported.

mod bad_input;
mod common;
mod export;
mod fidelity;
mod table;
mod zarr_python;
