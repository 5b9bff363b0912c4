//! The bytes: what is written is read back, by the library and by a reader that knows the format pages alone.

#[path = "../common/mod.rs"]
mod common;
mod damage;
mod declared;
mod determinism;
mod fuzz_corpus;
mod golden;
mod properties;
mod reference_reader;
mod refusals;
mod roundtrip;
mod sums;
#[path = "../../fuzz/src/lib.rs"]
mod targets;
mod vectors;
