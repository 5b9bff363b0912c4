//! Encodes and decodes the values of a page: one file per codec, one registry of codec ids.
//!
//! A [`Chain`] lists the codec steps in the order of encoding; the empty chain is `plain`. Follows
//! `format-spec/codecs.md#chains`.

mod bitshuffle;
mod chain;
mod interleave;
mod lz4;
mod pco;
mod preset;
mod transpose;
mod zstd;

pub use chain::{Chain, Step};
pub use pco::NumberType;
pub(crate) use preset::SAMPLE;
pub use preset::{Chooser, Medium, Preset};
