//! Runs the fuzz target `l5_config` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::l5_config(data));
