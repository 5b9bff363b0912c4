//! Parses stored bytes into checked structs and writes them: one file per page of `format-spec/`, no I/O, no async.
//!
//! The bytes may be hostile: every length is bounded before use, and nothing panics. The modules above do not check again what a
//! constructor here has accepted.
#![deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_possible_truncation)]

mod block;
mod bloom_filter;
mod bounds;
mod canonical;
mod checksum;
mod chunk;
mod collections;
mod cursor;
mod cuts;
mod join;
mod layout;
mod lengths;
mod limits;
mod locator;
mod manifest;
mod page;
mod page_sums;
mod parquet;
mod pin;
mod row_groups;
mod sealed;
mod segment;
mod sequence;
mod tail;
mod unfold;
mod view;

pub use block::{
    BlockDirectory, DecodedPage, EncodedBlock, EncodedPage, PageHead, PagePlace, decode_page, directory_len, encode_page,
    page_range, stored_page, verify_parts,
};
pub use bloom_filter::BloomFilter;
pub use bounds::{Bound, Bounds};
pub use canonical::{CanonicalPage, PageBuilder, Structure, logical_block_hash};
pub use checksum::ChunkSeed;
pub use chunk::{ChunkDirectory, ChunkHeader, ChunkWriter, FinishedChunk};
pub use collections::{
    Ancestor, Collections, Condemned, Expired, GivenUp, Kept, Lists, MAX_ENTRIES_HERE, MAX_LISTS, MAX_RECENT, OBJECT_FOLDERS,
    StoredLists,
};
pub use cuts::Cuts;
pub use join::{JoinWriter, read_join, write_join};
pub use layout::{LayoutRun, LayoutWriter, PageLengths, read_layout};
pub use lengths::PackedLengths;
pub use limits::LIMITS;
pub use locator::Locator;
pub use manifest::{
    ColumnBytes, ForeignTable, GroupSegment, IndexStatistics, MAX_SEGMENT_ROWS, Manifest, Parent, Segment, is_tag, manifest_hash,
    manifest_name, stated_hash, version_of_name,
};
pub use page::{fixed_to_array, page_to_array};
pub use pin::{MAX_PIN, Pin, PinOwner};
pub use row_groups::RowGroups;
pub use segment::{
    HashesWriter, IndexWriter, index_arrow_schema, index_columns_reader, index_reader, read_hashes, read_sequences,
};
pub(crate) use sequence::appears_again;
pub use sequence::{SequenceColumns, SequenceKey, SequenceTracker};
pub use tail::{IndexTail, SegmentPart, StoredFilter};
pub use view::{View, ViewColumn, ViewIndexColumn, ViewSource, read_lists};

// For tests and fuzz targets.
#[cfg(feature = "unstable")]
pub use {checksum::chunk_seed, chunk::TRAILER_LEN, manifest::FORMAT, sequence::StartedSequences, tail::PagePiece};
