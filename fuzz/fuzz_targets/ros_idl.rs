//! Runs the fuzz target `ros_idl` of `src/logs.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| tetrys_fuzz::logs::idl(data));
