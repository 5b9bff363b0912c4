//! How much memory an import may take: a few compressed bytes may stand for any number, and a log may have any size.

/// Maximum bytes of a chunk or of a message, decompressed, and of the messages of one row together.
pub(crate) const MAX_BYTES: usize = 512 << 20;
/// Encoded bytes that the writers of all logs that are imported at a time hold in memory. While they assemble chunks, they hold up to a
/// quarter more. What is beyond lies in temporary files.
pub(crate) const WRITE_MEMORY: usize = 256 << 20;
/// Decompressed chunks that all logs that are imported at a time keep for the next messages, in bytes.
pub(crate) const CACHE: usize = 96 << 20;
/// Times and places of the messages of all logs that are imported at a time that are in memory, in bytes. Those of one topic may be there
/// twice, while they are sorted.
pub(crate) const MESSAGES: usize = 64 << 20;
/// Bytes that are fetched of a log before they are read.
pub(crate) const AHEAD: u64 = 16 << 20;
