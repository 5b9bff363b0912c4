//! Runs the fuzz target `join` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: tetrys_fuzz::parquet_may_panic(), |data: &[u8]| tetrys_fuzz::join(data));
