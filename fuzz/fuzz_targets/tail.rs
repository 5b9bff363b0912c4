//! Runs the fuzz target `tail` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: tetrys_fuzz::parquet_may_panic(), |data: &[u8]| tetrys_fuzz::tail(data));
