//! How much memory the data of a log may take: a few compressed bytes may stand for any number.

/// Maximum bytes of a chunk or of a message, decompressed, and of the messages of one row together.
pub(crate) const MAX_BYTES: usize = 512 << 20;
