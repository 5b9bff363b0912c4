//! Models of the commit and garbage-collection protocol, checked by machine. In each model a few processes share a store, requests
//! are lost, come late or twice, processes die, and clocks say anything.
//!
//! `today/` is a copy of the rules of the library; the tests keep the counterexamples that the models find there. `table/` has
//! the new rules of `docs/protocol.md`; the models find nothing there, and something as soon as a step is left out.

mod checking;
mod claim_gc;
mod create_gc;
#[path = "../../../tests/common/environment.rs"]
mod environment;
mod owner_borrower;
mod requests;
mod session_gc;
mod table;
mod today;
