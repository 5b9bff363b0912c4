//! Parts of a file that are read at once: chunks, and runs of messages outside of chunks.

use super::records::ChunkIndex;

/// Part of a file that is read at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(super) kind: Kind,
    /// The entry of the chunk in the index of the file.
    pub(super) index: Option<Box<ChunkIndex>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Chunk,
    /// The last chunk of a file that was cut.
    Cut,
    /// Messages outside of chunks.
    Plain,
}

impl Block {
    pub(super) fn new(start: u64, len: u64, kind: Kind) -> Self {
        Self { start, len, kind, index: None }
    }

    /// Returns the range of the message indexes of a chunk, if the index of the file says that there are some.
    pub(crate) fn index_range(&self) -> Option<(u64, u64)> {
        let index = self.index.as_ref().filter(|index| index.message_index_len > 0)?;
        Some((self.start.saturating_add(self.len), index.message_index_len))
    }

    /// Whether the block may have messages of these channels, as far as the index says.
    pub(crate) fn may_have(&self, channels: &dyn Fn(u16) -> bool) -> bool {
        match &self.index {
            Some(index) if index.message_index_len > 0 => index.message_indexes.keys().any(|id| channels(*id)),
            _ => true,
        }
    }
}
