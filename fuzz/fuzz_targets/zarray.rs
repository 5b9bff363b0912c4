//! Runs the fuzz target `zarray` of `src/lib.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::zarray(data));
