//! Plans which rows and columns of index segments are read, and reads their bytes.
//!
//! ```text
//! predicate -> segments, by the statistics of the manifest
//!           -> row groups and pages, by the tail of each segment
//!           -> row groups, by their bloom filters
//!           -> byte ranges
//! ```
//!
//! A segment without a tail is read as a whole, and so is one whose tail or pages fail their checks.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::{
    error::{Error, Result},
    format::{Bounds, IndexTail, PackedLengths, RowGroups, Segment, SegmentPart, StoredFilter},
    index::{Piece, Predicate, both, bounded},
    ranges::joined,
    schema::ColumnType,
    table::version::{
        table::{Table, recorded_sequences},
        tails::is_most_of,
    },
};

/// The most segments that are planned or read at a time.
pub(super) const SEGMENTS_AT_ONCE: usize = 16;

/// The columns to read, and the predicate by which rows are skipped.
#[derive(Clone, Debug)]
pub(super) struct IndexPlan {
    /// Ascending places of index columns.
    pub(super) columns: Vec<usize>,
    pub(super) predicate: Predicate,
    /// The rows of the table to read; `None` for all rows.
    pub(super) rows: Option<Range<u64>>,
    /// Columns whose bytes a bloom filter may save.
    saved: Vec<usize>,
    /// Whether tails help to read less.
    reads_tails: bool,
}

impl IndexPlan {
    pub(super) fn new(table: &Table, columns: Vec<usize>, predicate: Predicate) -> Self {
        let is_part = columns.len() < table.manifest().schema.index().len();
        let reads_tails = table.manifest().has_tails() && (is_part || predicate.is_useful());
        Self { saved: columns.clone(), columns, predicate, rows: None, reads_tails }
    }

    /// Returns a plan for these rows among those of this plan.
    pub(super) fn of_rows(self, rows: Option<Range<u64>>) -> Self {
        Self { rows, ..self }
    }

    /// Whether the plan may leave out rows.
    pub(super) fn leaves_out_rows(&self) -> bool {
        self.rows.is_some() || self.predicate.is_useful()
    }

    /// Returns a plan for the same rows, and for these columns among those of this plan.
    pub(super) fn of_conditions(&self, table: &Table, columns: &[usize]) -> Self {
        let plan = Self::new(table, columns.to_vec(), self.predicate.clone()).of_rows(self.rows.clone());
        Self { saved: self.columns.clone(), ..plan }
    }

    /// Whether the tail of a segment is read.
    pub(super) fn reads_tail_of(&self, segment: &Segment) -> bool {
        // Of a segment that has some of the rows, and others.
        let end = segment.first_row + segment.rows;
        let is_cut = || self.rows.as_ref().is_some_and(|rows| rows.start > segment.first_row || rows.end < end);
        segment.tail.is_some() && (self.reads_tails || is_cut())
    }
}

/// The rows of a segment that are read, and where they are.
#[derive(Clone, Debug)]
pub(super) struct SegmentRead {
    /// Number of the segment.
    pub(super) segment: usize,
    /// Ascending ranges of rows of the segment.
    pub(super) rows: Vec<Range<u64>>,
    /// Bytes that are read of these rows.
    pub(super) bytes: u64,
    /// The byte ranges of the bloom filters that were read to plan this.
    pub(super) filters: Vec<Range<u64>>,
    /// The byte ranges; `None` for the whole object.
    pub(super) part: Option<(Arc<IndexTail>, Arc<SegmentPart>)>,
}

/// The bytes of a segment, or of a part of it.
#[derive(Clone, Debug)]
pub(super) enum SegmentBytes {
    Whole(Bytes),
    Part(Vec<Bytes>),
}

impl SegmentRead {
    /// Plans to read a segment as a whole.
    pub(super) fn whole(number: usize, segment: &Segment) -> Self {
        Self {
            segment: number,
            rows: joined(std::iter::once(0..segment.rows)),
            bytes: segment.index.bytes,
            filters: Vec::new(),
            part: None,
        }
    }

    /// Returns the number of rows.
    pub(super) fn height(&self) -> u64 {
        self.rows.iter().map(|rows| rows.end - rows.start).sum()
    }

    /// Returns the rows as rows of the table.
    pub(super) fn table_rows(&self, table: &Table) -> impl Iterator<Item = Range<u64>> {
        let first = table.manifest().segments.get(self.segment).map_or(0, |segment| segment.first_row);
        self.rows.iter().map(move |rows| first + rows.start..first + rows.end)
    }

    /// Parses the row groups of these bytes.
    pub(super) fn open(&self, table: &Table, bytes: &SegmentBytes) -> Result<RowGroups> {
        match (bytes, &self.part) {
            (SegmentBytes::Whole(bytes), _) => RowGroups::new(bytes.clone(), &table.manifest().schema, self.stored(table)?.rows),
            (SegmentBytes::Part(fetched), Some((tail, part))) => tail.open(part, fetched),
            (SegmentBytes::Part(_), None) => Err(Error::internal("a part of a segment without a plan")),
        }
    }

    /// Parses the length of each sequence of the segment.
    pub(super) fn sequences(&self, table: &Table, bytes: &SegmentBytes) -> Result<PackedLengths> {
        let segment = self.stored(table)?;
        match (bytes, &self.part) {
            (SegmentBytes::Whole(bytes), _) => recorded_sequences(bytes, segment),
            (SegmentBytes::Part(_), Some((tail, _))) => {
                let runs = tail.sequences()?;
                match runs.len() as u64 == segment.sequences {
                    true => Ok(runs),
                    false => Err(Error::corrupt("a tail with another number of sequences than the manifest says")),
                }
            }
            (SegmentBytes::Part(_), None) => Err(Error::internal("a part of a segment without a plan")),
        }
    }

    /// Plans to read columns of ascending rows of the segment, if this plan is for a part of it.
    pub(super) fn of_rows(&self, columns: &[usize], rows: Vec<Range<u64>>) -> Self {
        let Some((tail, _)) = &self.part else { return self.clone() };
        let part = tail.part(columns, &rows);
        let (bytes, filters) = (part.bytes(), Vec::new());
        Self { segment: self.segment, rows, bytes, filters, part: Some((Arc::clone(tail), Arc::new(part))) }
    }

    fn stored<'a>(&self, table: &'a Table) -> Result<&'a Segment> {
        let segment = table.manifest().segments.get(self.segment);
        segment.ok_or_else(|| Error::internal(format!("no segment {}", self.segment)))
    }
}

/// Returns the position of the first of `rows` among the rows of ascending ranges, and how many of `rows` the ranges have.
pub(super) fn rows_within(ranges: impl IntoIterator<Item = Range<u64>>, rows: &Range<u64>) -> (u64, u64) {
    let common = |one: &Range<u64>, other: Range<u64>| one.end.min(other.end).saturating_sub(one.start.max(other.start));
    ranges
        .into_iter()
        .fold((0, 0), |(before, count), range| (before + common(&range, 0..rows.start), count + common(&range, rows.clone())))
}

impl SegmentBytes {
    /// Returns the number of bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Part(parts) => parts.iter().map(Bytes::len).sum(),
        }
    }
}

impl Table {
    /// Plans to read a segment; `None` if it has none of the wanted rows, or if the statistics of the manifest exclude all its rows. There
    /// are no rows if the tail excludes them all.
    pub(super) async fn plan_segment(&self, plan: &IndexPlan, number: usize) -> Result<Option<SegmentRead>> {
        let Some(segment) = self.manifest().segments.get(number) else { return Ok(None) };
        let (all, mut wanted) = (0..segment.rows, 0..segment.rows);
        if let Some(rows) = &plan.rows {
            let within = |row: u64| row.saturating_sub(segment.first_row).min(segment.rows);
            wanted = within(rows.start)..within(rows.end);
            if wanted.is_empty() {
                return Ok(None);
            }
        }
        if plan.predicate.is_useful() {
            let types: Vec<&ColumnType> = self.manifest().schema.index().map(|column| &column.ty).collect();
            let statistics = segment.statistics.iter().zip(types);
            let bounds: Vec<Bounds> = statistics.map(|(statistics, ty)| Bounds::of_segment(statistics, ty)).collect();
            let of_segment = |column: usize| bounded(bounds.get(column).map(|bounds| (all.clone(), bounds)));
            if plan.predicate.rows(&all, &of_segment).is_empty() {
                return Ok(None);
            }
        }
        let whole = SegmentRead::whole(number, segment);
        if !plan.reads_tail_of(segment) {
            return Ok(Some(whole));
        }
        let Some(tail) = self.index_tail(number).await? else { return Ok(Some(whole)) };
        let (mut rows, mut filters) = (joined(std::iter::once(wanted)), Vec::new());
        if plan.predicate.is_useful() {
            let groups = plan.predicate.rows(&all, &|column| bounded(tail.row_group_bounds(column)));
            rows = both(&rows, &both(&groups, &plan.predicate.rows(&all, &|column| bounded(tail.page_bounds(column)))));
            (rows, filters) = self.filtered(plan, segment, &tail, rows).await?;
        }
        if rows.is_empty() {
            return Ok(Some(SegmentRead { rows, bytes: 0, filters, ..whole }));
        }
        let part = tail.part(&plan.columns, &rows);
        if is_most_of(&part, segment) {
            return Ok(Some(SegmentRead { filters, ..whole }));
        }
        Ok(Some(SegmentRead { segment: number, rows, bytes: part.bytes(), filters, part: Some((tail, Arc::new(part))) }))
    }

    /// Leaves out the rows of the row groups that have no row for the predicate, by the bloom filters of these row groups. Returns
    /// also the byte ranges of the filters that were read. A filter that fails its checks leaves out nothing.
    async fn filtered(
        &self,
        plan: &IndexPlan,
        segment: &Segment,
        tail: &IndexTail,
        rows: Vec<Range<u64>>,
    ) -> Result<(Vec<Range<u64>>, Vec<Range<u64>>)> {
        let columns: Vec<usize> = plan.predicate.equal_columns().into_iter().collect();
        let filters = tail.useful_filters(&columns, &plan.saved, &rows);
        let ranges: Vec<Range<u64>> = filters.iter().map(StoredFilter::range).collect();
        let Some(opened) = self.open_filters(segment, &filters).await? else { return Ok((rows, ranges)) };
        let places: BTreeMap<(usize, usize), usize> =
            filters.iter().enumerate().map(|(place, filter)| ((filter.group(), filter.column()), place)).collect();
        let pieces = |column: usize| {
            let groups = tail.row_group_bounds(column).into_iter().enumerate();
            let filter = |group| places.get(&(group, column)).and_then(|place| opened.get(*place));
            groups.map(|(group, (rows, bounds))| Piece { rows, bounds, filter: filter(group) }).collect()
        };
        let may_have = plan.predicate.rows(&(0..segment.rows), &pieces);
        Ok((both(&rows, &may_have), ranges))
    }

    /// Plans to read these columns of the rows of a part: of the whole segment, if they are most of it.
    pub(super) fn with_columns(&self, read: &SegmentRead, columns: &[usize]) -> Result<SegmentRead> {
        let (segment, filters) = (read.stored(self)?, read.filters.clone());
        let wider = SegmentRead { filters: filters.clone(), ..read.of_rows(columns, read.rows.clone()) };
        Ok(match &wider.part {
            Some((_, part)) if is_most_of(part, segment) => SegmentRead { filters, ..SegmentRead::whole(read.segment, segment) },
            _ => wider,
        })
    }

    /// Plans to read each segment, as [`Self::plan_segment`] does.
    pub(super) async fn plan_each(&self, plan: &IndexPlan) -> Result<Vec<Option<SegmentRead>>> {
        let reads = (0..self.manifest().segments.len()).map(|number| self.plan_segment(plan, number)).collect::<Vec<_>>();
        stream::iter(reads).buffered(SEGMENTS_AT_ONCE).try_collect().await
    }

    /// Plans to read all segments. Segments without a row are left out.
    pub(super) async fn plan_segments(&self, plan: &IndexPlan) -> Result<Vec<SegmentRead>> {
        let reads = self.plan_each(plan).await?;
        Ok(reads.into_iter().flatten().filter(|read| !read.rows.is_empty()).collect())
    }

    /// Reads and verifies the bytes of a segment. If a part of it fails its checks, the whole segment is read, with all its rows.
    pub(super) async fn segment_bytes(&self, read: SegmentRead) -> Result<(SegmentRead, SegmentBytes)> {
        let segment = read.stored(self)?;
        if let Some((tail, part)) = &read.part {
            if let Some(fetched) = self.index_part(segment, tail, part).await? {
                return Ok((read, SegmentBytes::Part(fetched)));
            }
            self.forget_tail(read.segment);
        }
        let bytes = SegmentBytes::Whole(self.object("index", &segment.index).await?);
        let whole = SegmentRead::whole(read.segment, segment);
        Ok((whole, bytes))
    }
}
