//! The commit and garbage-collection protocol of Tetrys: its [`decisions`] as pure functions. The library has them, and the tests of
//! this crate check models of the protocol by machine that call the same functions, and those of [`outcomes`]. See `docs/protocol.md`.

#[path = "../../src/commit/decisions.rs"]
pub mod decisions;
pub mod outcomes;
