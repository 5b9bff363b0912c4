//! Runs the fuzz target `ros_bag` of `src/logs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::logs::ros_bag(data));
