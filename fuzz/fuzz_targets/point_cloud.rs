//! Runs the fuzz target `point_cloud` of `src/logs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::logs::points(data));
