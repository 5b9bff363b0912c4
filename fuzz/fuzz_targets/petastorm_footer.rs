//! Runs the fuzz target `petastorm_footer` of `src/petastorm.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::petastorm::footer(data));
