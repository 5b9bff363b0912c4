//! Reads the row groups of an index segment independently, so that several threads can decode one segment. Follows
//! `format-spec/segment.md#index` and `format-spec/tails.md#reading`.
//!
//! The caller has verified the bytes: those of a segment against the BLAKE3 in the manifest, those of a part of it against the page
//! checksums of its tail.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::{RecordBatch, cast::AsArray};
use bytes::{Buf, Bytes};
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection, RowSelectionPolicy},
    },
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

use super::{
    parquet::{check_rows, corrupt, open, parquet, selected},
    segment::{check_text, viewed_options},
};
use crate::{
    error::{Error, Result, counted},
    schema::Schema,
};

/// Row groups of an index segment, or chosen rows of some row groups.
#[derive(Clone, Debug)]
pub struct RowGroups {
    stored: Stored,
    metadata: ArrowReaderMetadata,
    /// Rows of the segment.
    rows: u64,
    groups: Vec<Group>,
    /// Bytes of text that were read, per column.
    text: Arc<[AtomicU64]>,
}

/// A row group of which rows are read.
#[derive(Clone, Debug)]
struct Group {
    /// Its number in the segment.
    number: usize,
    /// Rows that are read.
    rows: u64,
    /// The rows that are read; `None` for all.
    chosen: Option<RowSelection>,
}

impl RowGroups {
    /// Parses the footer of an index segment of exactly `rows` rows.
    ///
    /// # Errors
    /// - `Corrupt`: the file is not Parquet with the expected columns and rows.
    pub fn new(bytes: Bytes, schema: &Schema, rows: u64) -> Result<Self> {
        let builder = open(bytes.clone(), viewed_options(schema))?;
        if builder.schema().fields().len() != schema.index().len() {
            return Err(corrupt("columns differ from the schema's index columns"));
        }
        check_rows(builder.metadata(), rows)?;
        let metadata = parquet(|| ArrowReaderMetadata::try_new(Arc::clone(builder.metadata()), viewed_options(schema)))?;
        let groups = metadata.metadata().row_groups().iter().map(|group| group.num_rows().cast_unsigned()).enumerate();
        let groups = groups.map(|(number, rows)| Group { number, rows, chosen: None }).collect();
        let stored = Stored { object_bytes: bytes.len() as u64, ranges: vec![(0, bytes)] };
        Ok(Self { stored, text: texts(&metadata), metadata, rows, groups })
    }

    /// Returns the same segment with a new bound on its text, for a caller that reads row groups several times.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { text: texts(&self.metadata), ..self.clone() }
    }

    /// Returns some of the rows of one row group, as ascending ranges of the rows that [`RowGroups::read`] returns of it.
    ///
    /// # Errors
    /// - `Internal`: there is no such row group, the ranges do not ascend, or the row group has fewer rows.
    pub(crate) fn with_rows(&self, group: usize, ranges: &[Range<usize>]) -> Result<Self> {
        let Group { number, rows, chosen } = self.groups.get(group).cloned().ok_or_else(|| no_group(group))?;
        let of = usize::try_from(rows).map_err(corrupt)?;
        let mut before = 0;
        for range in ranges {
            if range.start < before || range.end <= range.start || range.end > of {
                let rows = counted(rows, "row");
                return Err(Error::internal(format!("row group {number} of {rows}: rows {range:?} after row {before}")));
            }
            before = range.end;
        }
        let here = RowSelection::from_consecutive_ranges(ranges.iter().cloned(), of);
        let rows = ranges.iter().map(|range| range.len() as u64).sum();
        let chosen = Some(match chosen {
            Some(chosen) => chosen.and_then(&here),
            None => here,
        });
        Ok(Self { groups: vec![Group { number, rows, chosen }], ..self.clone() })
    }

    /// Returns the chosen rows of some row groups of a segment of `rows` rows. Each group is given by its number, its rows in the
    /// segment, and ascending ranges of the segment that have at least one row of it.
    pub(super) fn of_part<'a>(
        stored: Stored,
        metadata: ArrowReaderMetadata,
        rows: u64,
        groups: impl IntoIterator<Item = (usize, Range<u64>, &'a [Range<u64>])>,
    ) -> Result<Self> {
        let group = |(number, group, ranges): (usize, Range<u64>, &[Range<u64>])| {
            let place = |row: u64| usize::try_from(row - group.start).map_err(corrupt);
            let (mut chosen, mut rows) = (Vec::new(), 0);
            for range in ranges {
                let (start, end) = (range.start.max(group.start), range.end.min(group.end));
                if start < end {
                    chosen.push(place(start)?..place(end)?);
                    rows += end - start;
                }
            }
            let of = group.end - group.start;
            let chosen = match rows == of {
                true => None,
                false => Some(RowSelection::from_consecutive_ranges(chosen.into_iter(), usize::try_from(of).map_err(corrupt)?)),
            };
            Ok(Group { number, rows, chosen })
        };
        let groups = groups.into_iter().map(group).collect::<Result<_>>()?;
        Ok(Self { stored, text: texts(&metadata), metadata, rows, groups })
    }

    /// Returns the rows of each row group: the chosen rows, if this is a part of a segment.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = u64> {
        self.groups.iter().map(|group| group.rows)
    }

    /// Reads some columns of a row group: exactly its rows, or the chosen ones. `group` counts the row groups of [`RowGroups::rows`],
    /// `columns` are ascending column numbers. Text is a `Utf8View` whose bytes may be no UTF-8.
    ///
    /// # Errors
    /// - `Corrupt`: the row group is damaged, or has more text than an index may have.
    pub fn read(&self, group: usize, columns: &[usize]) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let Group { number, rows, chosen } = self.groups.get(group).cloned().ok_or_else(|| no_group(group))?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.stored.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        let mut builder = builder.with_projection(mask).with_row_groups(vec![number]);
        if let Some(chosen) = chosen {
            // Another policy would read pages that a part does not have.
            builder = builder.with_row_selection(chosen).with_row_selection_policy(RowSelectionPolicy::Selectors);
        }
        let batches = selected(builder, rows)?;
        let (text, columns, rows) = (Arc::clone(&self.text), columns.to_vec(), self.rows);
        Ok(batches.map(move |batch| {
            let batch = batch?;
            for (array, column) in batch.columns().iter().zip(&columns) {
                let (Some(views), Some(total)) = (array.as_string_view_opt(), text.get(*column)) else { continue };
                check_text(views, |more| total.fetch_add(more, Ordering::Relaxed).saturating_add(more), rows)?;
            }
            Ok(batch)
        }))
    }
}

fn no_group(group: usize) -> Error {
    Error::internal(format!("no row group {group}"))
}

fn texts(metadata: &ArrowReaderMetadata) -> Arc<[AtomicU64]> {
    metadata.schema().fields().iter().map(|_| AtomicU64::new(0)).collect()
}

/// Some byte ranges of an object, for the Parquet reader.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) object_bytes: u64,
    /// Offset and bytes of each range, ascending.
    pub(super) ranges: Vec<(u64, Bytes)>,
}

impl Stored {
    /// Returns a byte range.
    pub(super) fn range(&self, start: u64, len: u64) -> std::result::Result<Bytes, ParquetError> {
        let lost = || ParquetError::General(format!("bytes {start}..+{len} were not read"));
        let place = self.ranges.partition_point(|(offset, _)| *offset <= start).checked_sub(1);
        let (offset, bytes) = place.and_then(|place| self.ranges.get(place)).ok_or_else(lost)?;
        let from = usize::try_from(start - offset).map_err(|_| lost())?;
        let until = usize::try_from(len).ok().and_then(|len| from.checked_add(len)).filter(|until| *until <= bytes.len());
        Ok(bytes.slice(from..until.ok_or_else(lost)?))
    }
}

impl Length for Stored {
    fn len(&self) -> u64 {
        self.object_bytes
    }
}

impl ChunkReader for Stored {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> std::result::Result<Self::T, ParquetError> {
        let place = self.ranges.partition_point(|(offset, _)| *offset <= start).checked_sub(1);
        let range = place.and_then(|place| self.ranges.get(place));
        let left = range.map_or(0, |(offset, bytes)| (bytes.len() as u64).saturating_sub(start - offset));
        self.range(start, left).map(Buf::reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> std::result::Result<Bytes, ParquetError> {
        self.range(start, length as u64)
    }
}
