//! The stored bytes: the library, and a reader that knows only the format pages, read back what was written.

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
