//! The commit and garbage-collection protocol of Tetrys: its [`decisions`] as pure functions. The tests of this crate check models
//! of the protocol by machine, and call the same functions. See `docs/protocol.md`.

pub mod decisions;
