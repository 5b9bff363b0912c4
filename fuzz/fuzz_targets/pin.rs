//! Runs the fuzz target `pin` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(init: tetrys_fuzz::parquet_may_panic(), |data: &[u8]| tetrys_fuzz::pin(data));
