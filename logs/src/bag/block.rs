//! Parts of a bag that are read at once: chunks, and runs of messages outside of chunks.

use std::collections::BTreeSet;

/// Part of a bag that is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u64,
    /// Its bytes. Those of a chunk of an index also have what lies between it and the next one: the places of its messages.
    pub(super) len: u64,
    pub(super) kind: Kind,
    /// The channels of its messages, if an index says them.
    pub(super) channels: Option<BTreeSet<u16>>,
    pub(super) is_indexed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Chunk,
    /// The last chunk of a bag that was cut, or whose recorder did not finish it.
    Cut,
    /// Messages outside of chunks.
    Plain,
}
