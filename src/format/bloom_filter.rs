//! Bloom filters of the columns of row groups: they tell that a row group does not have a value. Follows
//! `format-spec/tails.md#bloom-filters`.
//!
//! The caller has verified the bytes of a filter against its checksum in the tail.

use bytes::Bytes;
use parquet::{
    basic::Type,
    bloom_filter::Sbbf,
    file::{metadata::ColumnChunkMetaData, properties::WriterPropertiesBuilder},
    schema::types::ColumnPath,
};

use super::{
    bounds::{Bound, Kind},
    parquet::{corrupt, parquet},
};
use crate::{error::Result, schema::Schema};

/// Key of the checksums of the bloom filters in the file metadata of an index segment.
pub(super) const FILTERS_KEY: &str = "tetrys.filters";
/// Maximum false-positive rate: at most this share of the row groups without a value passes their filter.
const FALSE_POSITIVES: f64 = 0.05;
/// Maximum stored bytes of a filter that is read. A filter of the most rows of a row group has 64 KiB.
const MAX_BYTES: u64 = 1 << 20;

/// Turns on the bloom filters of the index columns that have the property for it.
pub(super) fn with_bloom_filters(mut properties: WriterPropertiesBuilder, schema: &Schema) -> WriterPropertiesBuilder {
    for column in schema.index().filter(|column| column.has_bloom_filter() && column.ty.may_have_bloom_filter()) {
        // A path of one name: a `.` in the name is no nesting.
        let path = ColumnPath::new(vec![column.name.clone()]);
        properties =
            properties.set_column_bloom_filter_enabled(path.clone(), true).set_column_bloom_filter_fpp(path, FALSE_POSITIVES);
    }
    properties
}

/// Returns the offset and the length of the bloom filter of a column of a row group, as the footer has them.
pub(super) fn place_of(column: &ColumnChunkMetaData) -> Option<(u64, u64)> {
    let (offset, len) = column.bloom_filter_offset().zip(column.bloom_filter_length())?;
    Some((u64::try_from(offset).ok()?, u64::try_from(len).ok()?))
}

/// How a column stores its values, and with that what a bloom filter hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hashed {
    Bits32(Kind),
    Bits64(Kind),
    Text,
}

impl Hashed {
    /// Returns how a column of this kind is hashed that Parquet stores as `stored`; `None` if its filter says nothing.
    pub(super) fn of(kind: Kind, stored: Type, bytes: u64) -> Option<Self> {
        match (kind, stored) {
            _ if bytes > MAX_BYTES => None,
            (Kind::Signed | Kind::Unsigned, Type::INT32) => Some(Self::Bits32(kind)),
            (Kind::Signed | Kind::Unsigned, Type::INT64) => Some(Self::Bits64(kind)),
            (Kind::Text, Type::BYTE_ARRAY) => Some(Self::Text),
            _ => None,
        }
    }
}

/// A bloom filter of a column of a row group.
#[derive(Clone, Debug)]
pub struct BloomFilter {
    filter: Sbbf,
    hashed: Hashed,
}

impl BloomFilter {
    /// Parses the verified bytes of a filter.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes are not a split block bloom filter of Parquet.
    pub(super) fn parse(bytes: &Bytes, hashed: Hashed) -> Result<Self> {
        let filter = parquet(|| Sbbf::from_bytes(bytes))?;
        match filter.num_blocks() {
            0 => Err(corrupt("a bloom filter without bits")),
            _ => Ok(Self { filter, hashed }),
        }
    }

    /// Whether the row group may have a value that is equal to this one. `false` is certain.
    pub fn may_have(&self, value: &Bound) -> bool {
        match (self.hashed, value) {
            (Hashed::Text, Bound::Text(text)) => self.filter.check(text.as_slice()),
            (Hashed::Bits32(Kind::Unsigned), Bound::Integer(value)) => {
                u32::try_from(*value).is_ok_and(|value| self.filter.check(&value.cast_signed()))
            }
            (Hashed::Bits32(_), Bound::Integer(value)) => i32::try_from(*value).is_ok_and(|value| self.filter.check(&value)),
            (Hashed::Bits64(Kind::Unsigned), Bound::Integer(value)) => {
                u64::try_from(*value).is_ok_and(|value| self.filter.check(&value.cast_signed()))
            }
            (Hashed::Bits64(_), Bound::Integer(value)) => i64::try_from(*value).is_ok_and(|value| self.filter.check(&value)),
            _ => true,
        }
    }
}
