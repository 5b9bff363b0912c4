//! The sizes at which reads change their way, each with the benchmark in `benches/` that shows why.

// -------------------------------------------------------------------------------------------------- on which thread

/// The most work that a read does on the calling thread, in stored bytes to decode: 1 MiB takes about a millisecond. Larger reads
/// run off the executor. (`small_rows`: handing a read of a few rows to another thread takes longer than the read.)
pub(super) const HERE: u64 = 1 << 20;
/// A local plan of at most this many ranges, and of [`PIECE`] bytes, is fetched on the calling thread. (`small_rows`.)
pub(super) const INLINE_RANGES: usize = 8;
/// Number of bytes that are copied (plain pages) or produced (encoded pages) in the time that decoding one stored byte takes.
/// (`codecs`.)
pub(super) const BYTES_AS_ONE: u64 = 4;
/// Cost of placing one value in the result, in stored bytes to decode. (`small_rows`.)
pub(super) const VALUE: u64 = 32;

// ------------------------------------------------------------------------------------------------- on how many threads

/// Several threads decode a group of more stored bytes than this. (`local_reads`.)
pub(super) const PARALLEL_ABOVE: u64 = 1 << 20;
/// Several threads copy a group of plain pages of more bytes than this. For fewer bytes, moving them between the caches of two
/// cores costs more time than the second core saves. (`local_reads`.)
pub(super) const PARALLEL_PLAIN_ABOVE: u64 = 32 << 20;

// ------------------------------------------------------------------------------------------------- how files are read

/// Stored bytes of a group that a thread reads, verifies and copies at a time, so that they stay in the cache of its core. A plan
/// of at most so many bytes fetches all ranges first. (`local_reads`.)
pub(super) const PIECE: u64 = 256 << 10;
/// Stored bytes of a piece if several threads share a group: enough work to be worth waking a thread. (`local_reads`.)
pub(super) const SHARED_PIECE: u64 = 512 << 10;
/// The lowest average of stored bytes of a page for zero-copy reads. For such pages another file read costs less than a copy.
/// (`local_reads`.)
pub(super) const LONG: u64 = 32 << 10;

// ------------------------------------------------------------------------------------------------------- cold disks

/// Bytes that the disk is asked for ahead of the reads. (`cold_reads`.)
pub(super) const LEAD: u64 = 64 << 20;
/// Ranges of a plan that are probed: a probe takes 0.3 us, and reading a range from the page cache 1 us and more. (`local_reads`.)
pub(super) const PROBES: usize = 8;
/// A plan of one range of at most so many bytes is one request to the disk by itself. (`cold_reads`.)
pub(super) const ONE_REQUEST: u64 = 256 << 10;
