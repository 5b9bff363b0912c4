//! Runs the fuzz target `petastorm_pickle` of `src/petastorm.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::petastorm::pickle(data));
