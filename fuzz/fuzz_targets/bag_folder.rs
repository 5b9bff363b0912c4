//! Runs the fuzz target `bag_folder` of `src/logs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::logs::bag_folder(data));
