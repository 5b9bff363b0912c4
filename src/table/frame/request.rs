//! Loads a part of the index of a table: some columns, and the rows for which conditions are true.
//!
//! ```text
//! conditions -> predicate -> segments, by the statistics of the manifest
//!                         -> row groups and pages, by the tail of each segment
//!                         -> byte ranges -> columns -> conditions, row by row
//! ```
//!
//! A segment without a tail is read as a whole, and so is one whose tail or pages fail their checks.

use std::{
    collections::BTreeSet,
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use futures::{
    FutureExt,
    future::BoxFuture,
    stream::{self, StreamExt, TryStreamExt},
};
use polars::prelude::{Categories, DataFrame, DataType, Expr};

use super::{
    index::{Index, IndexSource},
    load::others_for,
};
use crate::{
    error::{Error, Result},
    format::{Bounds, IndexTail, Locator, Segment, SegmentPart, index_columns_reader},
    index::{self, Predicate, Pushdown, both, joined, of_condition, of_expression, of_query, with_locators},
    offload::offload_large,
    schema::{ColumnType, select},
    store::range_parts,
    table::{reading::source::LoaderSource, seen::seen_columns, table::Table},
    threads::share,
};

/// The most segments that are read at a time.
const SEGMENTS_AT_ONCE: usize = 16;
/// A part of a segment of more than this share of its bytes is read with the whole segment: three quarters.
const MOST_OF: (u64, u64) = (3, 4);

/// A request for the index of a table, from [`Table::index`]. Await it to load the index, or choose columns and rows first. Only what
/// is asked for is read, if the table has index tails ([`WriteOptions::index_tails`](crate::WriteOptions::index_tails)).
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use polars::prelude::{col, lit};
/// use tetrys::Table;
/// let table = Table::open("/data/sensors").await?;
/// let busy = table.index().columns(["log_id", "timestamp"]).filter(col("agents_count").gt(lit(100)));
/// println!("{}", busy.clone().explain().await?);
/// let busy = busy.await?;
/// # Ok(()) }
/// ```
#[must_use = "a request does nothing until it is awaited"]
pub struct IndexRequest {
    request: Request,
    running: Option<BoxFuture<'static, Result<Index>>>,
}

#[derive(Clone, Debug)]
struct Request {
    table: Table,
    columns: Option<Vec<String>>,
    conditions: Vec<Condition>,
    query: Option<String>,
    categorical: bool,
}

#[derive(Clone, Debug)]
enum Condition {
    Expression(Box<Expr>),
    Sql(String),
}

/// The segments, rows and bytes that an [`IndexRequest`] reads from the store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexExplain {
    /// Segments of the table.
    pub segments: u64,
    /// Index objects of which anything is read: one for each segment that may have a row.
    pub objects: u64,
    /// Objects among them that are read as a whole.
    pub whole_objects: u64,
    /// Row groups of the segments that are read in parts.
    pub row_groups: u64,
    /// Row groups among them of which anything is read.
    pub row_groups_read: u64,
    /// Rows that are decoded, before the conditions are evaluated.
    pub rows: u64,
    /// Requests to the store.
    pub requests: u64,
    /// Bytes of these requests.
    pub bytes: u64,
    /// Bytes of all index objects of the table.
    pub index_bytes: u64,
}

impl IndexExplain {
    /// Returns all numbers with their names.
    pub fn entries(&self) -> [(&'static str, u64); 9] {
        [
            ("segments", self.segments),
            ("objects", self.objects),
            ("whole_objects", self.whole_objects),
            ("row_groups", self.row_groups),
            ("row_groups_read", self.row_groups_read),
            ("rows", self.rows),
            ("requests", self.requests),
            ("bytes", self.bytes),
            ("index_bytes", self.index_bytes),
        ]
    }
}

impl std::fmt::Display for IndexExplain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { segments, objects, whole_objects, row_groups, row_groups_read, rows, requests, bytes, index_bytes } = self;
        writeln!(f, "segments    {objects} of {segments} ({whole_objects} read as a whole)")?;
        writeln!(f, "row groups  {row_groups_read} of {row_groups} in the others")?;
        writeln!(f, "rows        {rows} decoded")?;
        writeln!(f, "requests    {requests}")?;
        write!(f, "bytes       {bytes} of {index_bytes}")
    }
}

impl Future for IndexRequest {
    type Output = Result<Index>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { request, running } = self.get_mut();
        running.get_or_insert_with(|| request.clone().load().boxed()).poll_unpin(context)
    }
}

impl Clone for IndexRequest {
    fn clone(&self) -> Self {
        Self { request: self.request.clone(), running: None }
    }
}

impl std::fmt::Debug for IndexRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.request.fmt(f)
    }
}

/// How a segment is read: rows of it, and where they are.
struct SegmentRead {
    segment: usize,
    rows: Vec<Range<u64>>,
    part: Option<(Arc<IndexTail>, Arc<SegmentPart>)>,
}

/// The bytes of a segment, or of a part of it.
enum SegmentBytes {
    Whole(Bytes),
    Part(Vec<Bytes>),
}

impl IndexRequest {
    pub(super) fn new(table: Table) -> Self {
        Self { request: Request { table, columns: None, conditions: Vec::new(), query: None, categorical: false }, running: None }
    }

    /// Chooses the index columns that match any of the patterns. Columns that only the conditions need are read too, but are not in
    /// the result.
    pub fn columns<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.request.columns.get_or_insert_default().extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Chooses the rows for which the expression is true. The result is the same as that of [`Index::filter`].
    ///
    /// Comparisons of columns with literals, `is_null` and `is_not_null`, and these joined by `and` and `or`, exclude segments and
    /// pages before they are read. An expression with an aggregation or a window reads all rows.
    pub fn filter(mut self, predicate: Expr) -> Self {
        self.request.conditions.push(Condition::Expression(Box::new(predicate)));
        self
    }

    /// Chooses the rows for which an SQL condition is true. The result is the same as that of [`Index::filter_sql`].
    pub fn filter_sql(mut self, condition: impl Into<String>) -> Self {
        self.request.conditions.push(Condition::Sql(condition.into()));
        self
    }

    /// Leaves out columns and rows that an SQL query does not need. [`Index::query`] of the result gives the same answer as that of
    /// the whole index. The result may have rows for which the condition of the query is not true.
    pub fn for_query(mut self, sql: impl Into<String>) -> Self {
        self.request.query = Some(sql.into());
        self
    }

    /// Loads columns of text as categorical columns: 4 bytes a row, and each distinct text once. A column of text takes 16 bytes a
    /// row and its texts of more than 12 bytes. Conditions are evaluated before, over text.
    ///
    /// Use it for columns with few distinct texts. Expressions compare and group categorical columns as text; some operations on
    /// text need a cast first.
    pub fn categorical(mut self) -> Self {
        self.request.categorical = true;
        self
    }

    /// Returns the names of the columns of the result, without the locator columns.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no index column.
    /// - `Invalid`: a pattern is malformed.
    pub fn column_names(&self) -> Result<Vec<String>> {
        let chosen = self.request.chosen()?;
        let is_chosen = |place: usize| chosen.as_ref().is_none_or(|chosen| chosen.contains(&place));
        let manifest = self.request.table.manifest();
        let seen = seen_columns(manifest).into_iter().filter(|place| is_chosen(*place));
        let columns: Vec<_> = manifest.schema.index().collect();
        Ok(seen.filter_map(|place| columns.get(place)).map(|column| column.name.clone()).collect())
    }

    /// Plans to read the index, and returns the segments, rows and bytes of the plan. This reads the tails of the segments that may have a row, and nothing
    /// else. For a view, it counts the index objects of the view, without the join maps and the tables of its sources.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no index column.
    /// - `Invalid`: a pattern, a condition or a query is malformed.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - Any error of the store.
    pub async fn explain(self) -> Result<IndexExplain> {
        self.request.explain().await
    }
}

impl Request {
    async fn explain(&self) -> Result<IndexExplain> {
        let segments = &self.table.manifest().segments;
        let index_bytes = segments.iter().map(|segment| segment.index.bytes).sum();
        let mut explain = IndexExplain { segments: segments.len() as u64, index_bytes, ..IndexExplain::default() };
        let whole = |explain: &mut IndexExplain, segment: &Segment| {
            explain.objects += 1;
            explain.whole_objects += 1;
            explain.rows += segment.rows;
            explain.requests += 1;
            explain.bytes += segment.index.bytes;
        };
        let Some(plan) = self.planned()?.filter(|plan| !plan.reads_all()) else {
            segments.iter().for_each(|segment| whole(&mut explain, segment));
            return Ok(explain);
        };
        let reads: Vec<_> = (0..segments.len()).map(|number| self.read_of(&plan, number)).collect();
        let reads: Vec<Option<SegmentRead>> = stream::iter(reads).buffered(SEGMENTS_AT_ONCE).try_collect().await?;
        for (read, segment) in reads.into_iter().zip(segments) {
            let Some(read) = read else { continue };
            let tail = segment.tail.as_ref().filter(|_| plan.reads_tails()).map_or(0, |tail| tail.bytes);
            explain.requests += range_parts(tail) as u64;
            explain.bytes += tail;
            match &read.part {
                Some((tail, part)) => {
                    explain.objects += 1;
                    explain.row_groups += tail.row_groups() as u64;
                    explain.row_groups_read += part.row_groups() as u64;
                    explain.rows += part.rows().iter().map(|rows| rows.end - rows.start).sum::<u64>();
                    explain.requests +=
                        part.ranges().iter().map(|range| range_parts(range.end - range.start) as u64).sum::<u64>();
                    explain.bytes += part.bytes();
                }
                None if read.rows.is_empty() => explain.objects += 1,
                None => whole(&mut explain, segment),
            }
        }
        Ok(explain)
    }

    async fn load(self) -> Result<Index> {
        let chosen = self.chosen()?;
        let all = || (0..self.table.manifest().schema.index().len()).collect::<Vec<_>>();
        // Conditions are evaluated over text.
        let early_types = self.categorical && self.conditions.is_empty();
        let Some(plan) = self.planned()? else {
            // A view.
            let (early, late) = if self.conditions.is_empty() { (chosen, None) } else { (None, chosen) };
            return self.conditioned(self.table.index_of(early, early_types).await?, late);
        };
        let loaded = match plan.reads_all() {
            true => self.table.index_of((!plan.is_whole).then(|| plan.columns.clone()), early_types).await?,
            false => self.assembled(&plan, self.read(&plan).await?).await?,
        };
        let more = plan.columns != chosen.clone().unwrap_or_else(all);
        self.conditioned(loaded, chosen.filter(|_| more))
    }

    /// Returns the places of the chosen columns, ascending; `None` for all columns.
    fn chosen(&self) -> Result<Option<Vec<usize>>> {
        let Some(patterns) = &self.columns else { return Ok(None) };
        let names: Vec<&str> = self.table.schema().index().map(|column| column.name.as_str()).collect();
        let seen = seen_columns(self.table.manifest());
        Ok(Some(select(&names, &[], patterns)?.into_iter().filter_map(|place| seen.get(place).copied()).collect()))
    }

    /// Returns the columns to read, and the predicate by which rows are skipped; `None` for a view.
    fn planned(&self) -> Result<Option<Plan>> {
        let schema = self.table.schema();
        let named: Vec<(&str, &ColumnType)> = schema.index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let mut needs = Pushdown::nothing();
        for condition in &self.conditions {
            needs = needs.then(match condition {
                Condition::Expression(expression) => of_expression(&named, expression),
                Condition::Sql(sql) => of_condition(&named, sql)?,
            });
        }
        let mut only = None;
        if let Some(query) = &self.query {
            let found = of_query(&named, query)?;
            only = found.columns.clone();
            needs = needs.then(Pushdown { columns: Some(BTreeSet::new()), ..found });
        }
        let chosen = match self.chosen()? {
            Some(chosen) => chosen,
            None => only.map_or_else(|| (0..named.len()).collect(), |only| only.into_iter().collect()),
        };
        if self.table.view().is_some() {
            return Ok(None);
        }
        let mut columns: BTreeSet<usize> = chosen.into_iter().collect();
        match needs.columns {
            Some(more) => columns.extend(more),
            None => columns.extend(0..named.len()),
        }
        Ok(Some(Plan {
            is_whole: columns.len() == named.len(),
            columns: columns.into_iter().collect(),
            predicate: needs.predicate,
            has_tails: self.table.manifest().has_tails(),
        }))
    }

    /// Plans to read a segment; `None` if no row of it may be chosen.
    async fn read_of(&self, plan: &Plan, number: usize) -> Result<Option<SegmentRead>> {
        let Some(segment) = self.table.manifest().segments.get(number) else { return Ok(None) };
        let all = 0..segment.rows;
        let types: Vec<&ColumnType> = self.table.schema().index().map(|column| &column.ty).collect();
        let bounds: Vec<Bounds> =
            segment.statistics.iter().zip(types).map(|(statistics, ty)| Bounds::of_segment(statistics, ty)).collect();
        let of_segment = |column: usize| bounds.get(column).map(|bounds| (all.clone(), bounds)).into_iter().collect();
        if plan.predicate.rows(&all, &of_segment).is_empty() {
            return Ok(None);
        }
        let whole = |rows: Vec<Range<u64>>| Some(SegmentRead { segment: number, rows, part: None });
        if !plan.reads_tails() {
            return Ok(whole(joined([all])));
        }
        let Some(tail) = self.table.index_tail(segment).await? else { return Ok(whole(joined([all]))) };
        let groups = plan.predicate.rows(&all, &|column| tail.row_group_bounds(column));
        let pages = plan.predicate.rows(&all, &|column| tail.page_bounds(column));
        let rows = both(&groups, &pages);
        if rows.is_empty() {
            return Ok(whole(rows));
        }
        let part = tail.part(&plan.columns, &rows);
        if part.bytes() > segment.index.bytes / MOST_OF.1 * MOST_OF.0 {
            return Ok(whole(joined([all])));
        }
        Ok(Some(SegmentRead { segment: number, rows, part: Some((Arc::new(tail), Arc::new(part))) }))
    }

    /// Reads the segments of a plan.
    async fn read(&self, plan: &Plan) -> Result<Vec<(SegmentRead, SegmentBytes)>> {
        let numbers = 0..self.table.manifest().segments.len();
        let reads: Vec<_> = numbers.map(|number| self.read_segment(plan, number)).collect();
        let read: Vec<Option<(SegmentRead, SegmentBytes)>> = stream::iter(reads).buffered(SEGMENTS_AT_ONCE).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    async fn read_segment(&self, plan: &Plan, number: usize) -> Result<Option<(SegmentRead, SegmentBytes)>> {
        let Some(mut read) = self.read_of(plan, number).await? else { return Ok(None) };
        let Some(segment) = self.table.manifest().segments.get(number).filter(|_| !read.rows.is_empty()) else { return Ok(None) };
        if let Some((tail, part)) = &read.part {
            if let Some(fetched) = self.table.index_part(segment, tail, part).await? {
                return Ok(Some((read, SegmentBytes::Part(fetched))));
            }
            (read.part, read.rows) = (None, joined(std::iter::once(0..segment.rows)));
        }
        let bytes = self.table.object("index", &segment.index).await?;
        Ok(Some((read, SegmentBytes::Whole(bytes))))
    }

    /// Decodes the bytes of the segments, each column once, and returns an index.
    async fn assembled(&self, plan: &Plan, read: Vec<(SegmentRead, SegmentBytes)>) -> Result<Index> {
        let table = self.table.clone();
        let columns = plan.columns.clone();
        let rows: u64 = read.iter().flat_map(|(read, _)| &read.rows).map(|rows| rows.end - rows.start).sum();
        let bytes = |bytes: &SegmentBytes| match bytes {
            SegmentBytes::Whole(bytes) => bytes.len(),
            SegmentBytes::Part(parts) => parts.iter().map(Bytes::len).sum(),
        };
        let stored: usize = read.iter().map(|(_, found)| bytes(found)).sum();
        let decoded = usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(8).saturating_mul(columns.len());
        offload_large(stored.max(decoded), move |_| table.index_of_parts(&read, &columns, rows)).await
    }

    /// Evaluates the conditions, and keeps the chosen columns.
    fn conditioned(&self, mut index: Index, chosen: Option<Vec<usize>>) -> Result<Index> {
        for condition in &self.conditions {
            index = match condition {
                Condition::Expression(expression) => index.filter(expression.as_ref().clone())?,
                Condition::Sql(sql) => index.filter_sql(sql)?,
            };
        }
        if let Some(chosen) = chosen {
            index = self.only(&index, &chosen)?;
        }
        if !self.categorical {
            return Ok(index);
        }
        let mut frame = index.to_frame();
        let texts = frame.columns().iter().filter(|column| column.dtype() == &DataType::String);
        for name in texts.map(|column| column.name().clone()).collect::<Vec<_>>() {
            let typed = frame.column(&name).and_then(|column| column.cast(&DataType::from_categories(Categories::global())));
            frame.with_column(typed.map_err(index::internal)?).map_err(index::internal)?;
        }
        index.with_frame(frame)
    }

    fn only(&self, index: &Index, chosen: &[usize]) -> Result<Index> {
        let described = self.table.described(chosen);
        index.only(&described.iter().map(|column| column.name.as_str()).collect::<Vec<_>>())
    }
}

/// The columns that a request reads, and the predicate by which it skips rows.
struct Plan {
    columns: Vec<usize>,
    predicate: Predicate,
    /// Whether all columns are read.
    is_whole: bool,
    /// Whether the table has segments with tails.
    has_tails: bool,
}

impl Plan {
    /// Whether tails help to read less.
    fn reads_tails(&self) -> bool {
        !self.is_whole || self.predicate.is_useful()
    }

    /// Whether all segments are read as a whole.
    fn reads_all(&self) -> bool {
        !self.predicate.is_useful() && (self.is_whole || !self.has_tails)
    }
}

impl Table {
    /// Loads the index of this version into a frame: all of it, or the columns and rows that the request chooses.
    ///
    /// ```no_run
    /// # async fn example(table: &tetrys::Table) -> tetrys::Result<()> {
    /// let index = table.index().await?;
    /// let monday = table.index().columns(["log_id", "timestamp"]).filter_sql("log_id = 'monday'").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Denied`: a source table of a view is not allowed.
    /// - `NotFound`: a pattern matches no index column, or a source table of a view cannot be found.
    /// - `Invalid`: a pattern or a condition is malformed, or polars cannot evaluate a condition.
    /// - Any error of the store.
    pub fn index(&self) -> IndexRequest {
        IndexRequest::new(self.clone())
    }

    /// Loads the index of this version with only the index columns that match any of the patterns. This is faster if the index
    /// has hundreds of columns.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no index column, or a source table of a view cannot be found.
    /// - `Invalid`: a pattern is malformed.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Denied`: a source table of a view is not allowed.
    /// - Any error of the store.
    pub async fn index_columns<P: AsRef<str>>(&self, patterns: impl IntoIterator<Item = P>) -> Result<Index> {
        self.index().columns(patterns.into_iter().map(|pattern| pattern.as_ref().to_owned())).await
    }

    /// Decodes some index columns of the segments that were read, `rows` rows in all. Several threads decode many rows.
    fn index_of_parts(&self, read: &[(SegmentRead, SegmentBytes)], columns: &[usize], rows: u64) -> Result<Index> {
        let others = others_for(rows);
        let one = |columns: &[usize]| self.frame_of_parts(read, columns, rows);
        let whole = if others == 0 || columns.len() < 2 {
            one(columns)?
        } else {
            let parts = columns.chunks(columns.len().div_ceil(others + 1)).collect();
            let mut all = Vec::with_capacity(columns.len());
            for part in share(parts, others, |part: &[usize]| one(part))? {
                all.extend(part.columns().iter().cloned());
            }
            let height = usize::try_from(rows).map_err(|_| Error::unsupported("too many rows for a frame"))?;
            DataFrame::new(height, all).map_err(index::internal)?
        };
        let tag = Locator::tag(self.manifest().table, self.version());
        let numbers = read.iter().flat_map(|(read, _)| {
            let first = self.manifest().segments.get(read.segment).map_or(0, |segment| segment.first_row);
            read.rows.iter().flat_map(move |rows| (first + rows.start).cast_signed()..(first + rows.end).cast_signed())
        });
        let frame = with_locators(&whole, tag, numbers)?;
        let index = self.described(columns).into_iter().map(|column| (column.name.clone(), column.id)).collect();
        let LoaderSource { columns, .. } = LoaderSource::of_table(self, None);
        let whole = (rows == self.rows()).then_some(whole);
        let source = IndexSource { table: self.clone(), tag, base: 0, columns, index, partners: None, lists: None, whole };
        Ok(Index::of(frame, [source].into()))
    }

    fn frame_of_parts(&self, read: &[(SegmentRead, SegmentBytes)], columns: &[usize], rows: u64) -> Result<DataFrame> {
        let schema = &self.manifest().schema;
        let mut batches: Vec<Box<dyn Iterator<Item = Result<RecordBatch>>>> = Vec::with_capacity(read.len());
        for (read, bytes) in read {
            let Some(segment) = self.manifest().segments.get(read.segment) else { continue };
            batches.push(match (bytes, &read.part) {
                (SegmentBytes::Part(fetched), Some((tail, part))) => Box::new(tail.batches(part, fetched, schema, columns)?),
                (SegmentBytes::Part(_), None) => return Err(Error::internal("a part of a segment without a plan")),
                (SegmentBytes::Whole(bytes), _) => Box::new(index_columns_reader(bytes.clone(), schema, segment.rows, columns)?),
            });
        }
        index::frame(&self.described(columns), rows, batches.into_iter().flatten())
    }
}
