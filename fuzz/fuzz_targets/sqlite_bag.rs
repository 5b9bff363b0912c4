//! Runs the fuzz target `sqlite_bag` of `src/logs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::logs::sqlite_bag(data));
