//! Reads the index of a table part by part, for an index that is larger than memory.
//!
//! Memory holds the index object of one segment, and the columns of one part.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
    sync::Arc,
};

use polars::prelude::DataFrame;
use serde::Serialize;
use serde_json::Value;

use super::{
    index::{Index, IndexSource},
    load::{LARGE, fill, free, others_for},
};
use crate::{
    error::{Error, Result},
    format::{IndexStatistics, Locator, RowGroups},
    index::{self, Filling, with_locators},
    offload::{Stop, offload_large},
    schema::{ColumnType, Primitive, TimeUnit},
    table::{reading::source::LoaderSource, seen::seen_columns, table::Table},
};

/// Rows of a part, unless a row group has more.
const PART_ROWS: u64 = 256 << 10;

/// Reads the index of a table version part by part, in table order.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use polars::prelude::{IntoLazy, col, lit};
/// use tetrys::{RowLoader, Table};
/// let table = Table::open("/data/sensors").await?;
/// let (mut scan, mut found) = (table.scan_index()?, None::<polars::frame::DataFrame>);
/// while let Some(part) = scan.next().await? {
///     let speeds = part.frame(["speed"], true)?;
///     let fast = speeds.lazy().filter(col("speed").gt(lit(50.0))).collect().unwrap();
///     found = Some(found.map_or(fast.clone(), |found| found.vstack(&fast).unwrap()));
/// }
/// let loader = RowLoader::new(&table.index_from(found.unwrap())?)?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct IndexScan {
    table: Table,
    categorical: bool,
    /// Numbers of the segments that are not read yet.
    segments: VecDeque<usize>,
    /// Parts of the segment before these.
    parts: VecDeque<IndexPart>,
}

/// Bounds of the values of a segment, as its writer recorded them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SegmentBounds {
    /// Number of rows.
    pub rows: u64,
    /// Least and largest value of columns of integers, dates, times and text, by name, in units of the frame. Nulls do not count.
    /// Columns whose bounds are unknown are left out.
    pub columns: BTreeMap<String, (Value, Value)>,
}

/// Neighbouring rows of an index, whose columns can be decoded.
#[derive(Clone, Debug)]
pub struct IndexPart {
    table: Table,
    categorical: bool,
    object: Arc<RowGroups>,
    groups: Range<usize>,
    rows: Range<u64>,
}

impl Table {
    /// Starts to read the index part by part. Use it for an index that is larger than memory.
    ///
    /// # Errors
    /// - `Unsupported`: the table is a view, whose index is loaded whole.
    pub fn scan_index(&self) -> Result<IndexScan> {
        if self.is_view() {
            return Err(Error::unsupported(format!(
                "{} version {} is a view: its index is loaded whole; scan its source tables",
                self.url(),
                self.version()
            )));
        }
        let segments = (0..self.manifest().segments.len()).collect();
        Ok(IndexScan { table: self.clone(), categorical: false, segments, parts: VecDeque::new() })
    }

    /// Creates an index from a frame whose locator column has rows of this version, such as rows that a scan has found. The other
    /// columns may be any.
    ///
    /// Rows that are not in the frame are not loaded. Call [`Index::with_sources`] before the index becomes the left side of a
    /// merge.
    ///
    /// # Errors
    /// - `Invalid`: the locator column is missing, or a locator is not a row of this version.
    /// - `Unsupported`: the table is a view, whose locators are those of its sources.
    pub fn index_from(&self, frame: DataFrame) -> Result<Index> {
        if self.is_view() {
            return Err(Error::unsupported(format!("{} is a view: load its index instead", self.url())));
        }
        let tag = Locator::tag(self.manifest().table, self.version());
        let LoaderSource { columns, index, .. } = LoaderSource::of_table(self, None);
        let table = self.clone();
        let source = IndexSource { table, tag, base: 0, columns, index, partners: None, lists: None, whole: None };
        Index::of(DataFrame::empty(), [source].into()).with_frame(frame)
    }
}

impl IndexScan {
    /// Decodes text as categorical columns.
    pub fn categorical(mut self) -> Self {
        self.categorical = true;
        self
    }

    /// Reads only the segments with these numbers, in table order. Call it before the first part is read.
    pub fn only(mut self, segments: impl IntoIterator<Item = usize>) -> Self {
        let chosen: BTreeSet<usize> = segments.into_iter().collect();
        self.segments.retain(|segment| chosen.contains(segment));
        self
    }

    /// Returns the bounds of each segment of the table version, so that a caller can leave out segments without rows that it
    /// wants. Reads nothing.
    pub fn bounds(&self) -> Vec<SegmentBounds> {
        let schema = &self.table.manifest().schema;
        let of = |statistics: &IndexStatistics| {
            let column = schema.column(statistics.column)?;
            let ordered = match &column.ty {
                ColumnType::Scalar(Primitive::Bool | Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64) => false,
                ColumnType::Scalar(_) => true,
                // Frames have other units than seconds.
                ColumnType::Timestamp(unit, _) | ColumnType::Duration(unit) => *unit != TimeUnit::Second,
                ColumnType::Date | ColumnType::Utf8 | ColumnType::Categorical => true,
                _ => false,
            };
            let bounds = statistics.min.clone().zip(statistics.max.clone()).filter(|_| ordered)?;
            Some((column.name.clone(), bounds))
        };
        let segments = self.table.manifest().segments.iter();
        segments
            .map(|segment| SegmentBounds { rows: segment.rows, columns: segment.statistics.iter().filter_map(of).collect() })
            .collect()
    }

    /// Returns a frame without rows, with all index columns and the locator column: the columns that parts have.
    ///
    /// # Errors
    /// - `Internal`: polars refuses a column.
    pub fn empty(&self) -> Result<DataFrame> {
        let (table, places) = (&self.table, seen_columns(self.table.manifest()));
        let frame = Filling::new(&table.described(&places), 0, self.categorical)?.finish()?;
        with_locators(&frame, Locator::tag(table.manifest().table, table.version()), 0..0)
    }

    /// Returns the next rows, or `None` after the last ones. Reads the index object of a segment when its first rows are due.
    ///
    /// # Errors
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - Any error of the store.
    pub async fn next(&mut self) -> Result<Option<IndexPart>> {
        loop {
            if let Some(part) = self.parts.pop_front() {
                return Ok(Some(part));
            }
            let Some(number) = self.segments.front().copied() else { return Ok(None) };
            let segment = self.table.manifest().segments.get(number);
            let segment = segment.ok_or_else(|| Error::internal(format!("no segment {number}")))?;
            let (first_row, rows) = (segment.first_row, segment.rows);
            // The object of the segment before is not used any more, unless the caller keeps a part.
            free(segment.index.bytes > LARGE as u64);
            let objects = self.table.index_objects_of(number..number + 1).await?;
            let bytes = objects.into_iter().next().ok_or_else(|| Error::internal("a segment without an index"))?;
            let table = self.table.clone();
            let object = offload_large(bytes.len() / 16, move |_| RowGroups::new(bytes, &table.manifest().schema, rows)).await?;
            let (object, mut start) = (Arc::new(object), first_row);
            self.segments.pop_front();
            for (groups, rows) in parts(object.rows()) {
                let (table, object) = (self.table.clone(), Arc::clone(&object));
                let rows = start..start + rows;
                start = rows.end;
                self.parts.push_back(IndexPart { table, categorical: self.categorical, object, groups, rows });
            }
        }
    }
}

impl IndexPart {
    /// Returns the row numbers of this part.
    pub fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// Decodes these index columns, in the order of the table, and adds the locator column if `locators`. Other columns are not
    /// decoded.
    ///
    /// # Errors
    /// - `NotFound`: the table has no such index column.
    /// - `Corrupt`: the index is damaged.
    /// - `Unsupported`: a time does not fit into a frame.
    pub fn frame<N: AsRef<str>>(&self, columns: impl IntoIterator<Item = N>, locators: bool) -> Result<DataFrame> {
        let (schema, seen) = (self.table.schema(), seen_columns(self.table.manifest()));
        let mut places = Vec::new();
        for name in columns {
            let name = name.as_ref();
            let place = schema.index().position(|column| column.name == name);
            let place = place.and_then(|place| seen.get(place).copied());
            places.push(place.ok_or_else(|| Error::not_found(format!("{}: no index column `{name}`", self.table.url())))?);
        }
        places.sort_unstable();
        places.dedup();
        let rows = self.rows.end - self.rows.start;
        let mut filling = Filling::new(&self.table.described(&places), rows, self.categorical)?;
        let groups: Vec<_> = self.groups.clone().map(|group| (&*self.object, group)).collect();
        if !places.is_empty() {
            fill(&mut filling, &groups, &places, others_for(rows), &Stop::default())?;
        }
        let frame = match places.is_empty() {
            true => DataFrame::new(usize::try_from(rows).unwrap_or(usize::MAX), Vec::new()).map_err(index::internal)?,
            false => filling.finish()?,
        };
        match locators {
            true => {
                let tag = Locator::tag(self.table.manifest().table, self.table.version());
                with_locators(&frame, tag, self.rows.start.cast_signed()..self.rows.end.cast_signed())
            }
            false => Ok(frame),
        }
    }
}

/// Returns neighbouring row groups and their rows: as many as have [`PART_ROWS`] rows, and at least one.
fn parts(rows: &[u64]) -> Vec<(Range<usize>, u64)> {
    let mut parts = Vec::<(Range<usize>, u64)>::new();
    for (group, rows) in rows.iter().enumerate() {
        match parts.last_mut() {
            Some((groups, held)) if held.saturating_add(*rows) <= PART_ROWS => {
                groups.end = group + 1;
                *held += rows;
            }
            _ => parts.push((group..group + 1, *rows)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_all_row_groups_in_order() {
        let half = PART_ROWS / 2;
        assert!(parts(&[]).is_empty());
        assert_eq!(parts(&[half, half, 1]), [(0..2, PART_ROWS), (2..3, 1)]);
        assert_eq!(parts(&[2 * PART_ROWS, 1]), [(0..1, 2 * PART_ROWS), (1..2, 1)]);
    }
}
