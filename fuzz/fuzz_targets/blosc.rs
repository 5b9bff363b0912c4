//! Runs the fuzz target `blosc` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::blosc(data));
