//! Runs the fuzz target `semantic_map` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::semantic_map(data));
