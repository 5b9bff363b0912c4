//! Loads a part of the index of a table: some columns, and the rows for which conditions are true.
//!
//! ```text
//! conditions -> predicate -> rows and byte ranges of segments -> columns -> conditions, row by row
//! ```

use std::{
    collections::BTreeSet,
    ops::Range,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures::{
    FutureExt,
    future::{BoxFuture, try_join},
};
use polars::prelude::{BooleanChunked, Categories, DataFrame, DataType, Expr, PolarsResult};

use super::{
    choose::{Choice, Condition, slice},
    index::{Index, IndexSource},
    late::Stage,
    segments::{IndexPlan, SegmentRead, rows_within},
};
use crate::{
    error::Result,
    format::Segment,
    index::{
        self, Pushdown, of_columns, of_condition, of_expression, of_query, of_serialized, own_rows, sees_categories,
        with_locators,
    },
    ranges::check_ranges,
    schema::{ColumnType, select},
    store::range_parts,
    table::version::{seen::seen_columns, table::Table},
};

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
    /// Expressions that polars has written as JSON.
    pruned: Vec<String>,
    rows: Option<Range<u64>>,
    categorical: bool,
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
    /// Rows of which columns are decoded, before the conditions are evaluated.
    pub rows: u64,
    /// Requests to the store, if the conditions choose all rows.
    pub requests: u64,
    /// Bytes of these requests. At most so many are read, unless a part is damaged: then its object is read as a whole.
    pub bytes: u64,
    /// Bytes among them of columns that no condition reads, if these are read last: then only the pages that have chosen rows are read.
    pub late_bytes: u64,
    /// Bytes of all index objects of the table.
    pub index_bytes: u64,
}

impl IndexExplain {
    /// Returns all numbers with their names.
    pub fn entries(&self) -> [(&'static str, u64); 10] {
        [
            ("segments", self.segments),
            ("objects", self.objects),
            ("whole_objects", self.whole_objects),
            ("row_groups", self.row_groups),
            ("row_groups_read", self.row_groups_read),
            ("rows", self.rows),
            ("requests", self.requests),
            ("bytes", self.bytes),
            ("late_bytes", self.late_bytes),
            ("index_bytes", self.index_bytes),
        ]
    }
}

impl std::fmt::Display for IndexExplain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { segments, objects, whole_objects, row_groups, row_groups_read, rows, .. } = self;
        let Self { requests, bytes, late_bytes, index_bytes, .. } = self;
        writeln!(f, "segments    {objects} of {segments} ({whole_objects} read as a whole)")?;
        writeln!(f, "row groups  {row_groups_read} of {row_groups} in the others")?;
        writeln!(f, "rows        {rows} decoded")?;
        writeln!(f, "requests    {requests}")?;
        write!(f, "bytes       {bytes} of {index_bytes}")?;
        match late_bytes {
            0 => Ok(()),
            _ => write!(f, " ({late_bytes} of them only where rows are chosen)"),
        }
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

impl IndexRequest {
    pub(super) fn new(table: Table) -> Self {
        let (columns, conditions, query, pruned, rows) = Default::default();
        Self { request: Request { table, columns, conditions, query, pruned, rows, categorical: false }, running: None }
    }

    /// Chooses the index columns that match any of the patterns. Columns that only the conditions need are read too, but are not in
    /// the result.
    pub fn columns<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        self.request.columns.get_or_insert_default().extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Chooses rows of the table by their numbers. Conditions, also those with aggregations, then look at these rows alone. A second call
    /// replaces the first.
    ///
    /// Of a segment with an index tail ([`WriteOptions::index_tails`](crate::WriteOptions::index_tails)), only the pages that have these rows
    /// are read. Any other segment that has one of them is read whole, and so is the index of a view. Only these rows stay in memory: call
    /// [`Index::with_sources`] before the result becomes the left side of a merge.
    ///
    /// The load fails as `Invalid` if the rows are not all in the table.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("time", "i64").build()?;
    /// # let batch = RecordBatch::try_from_iter([("time", Arc::new(Int64Array::from(vec![70, 80, 90])) as _)])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?; partition.write(&batch).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let index = table.index().rows(1..3).await?; // of a table with the times 70, 80, 90
    /// assert_eq!(index.to_frame().column("time")?.i64()?.to_vec(), [Some(80), Some(90)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(mut self, rows: Range<u64>) -> Self {
        self.request.rows = Some(rows);
        self
    }

    /// Chooses the rows for which the expression is true: those of [`Index::filter`]. If the condition looks at one row at a time, only
    /// the chosen rows stay in memory: call [`Index::with_sources`] before the result becomes the left side of a merge.
    ///
    /// Comparisons of columns with literals, `is_in` of a list, `is_null` and `is_not_null`, and these joined by `and` and `or`,
    /// exclude segments and pages before they are read. An expression with an aggregation or a window reads all rows.
    pub fn filter(mut self, predicate: Expr) -> Self {
        self.request.conditions.push(Condition::Expression(Box::new(predicate)));
        self
    }

    /// Chooses the rows for which an SQL condition is true: those of [`Index::filter_sql`]. If the condition looks at one row at a time,
    /// only the chosen rows stay in memory: call [`Index::with_sources`] before the result becomes the left side of a merge.
    pub fn filter_sql(mut self, condition: impl Into<String>) -> Self {
        self.request.conditions.push(Condition::Sql(condition.into()));
        self
    }

    /// Chooses the rows for which a function returns true. It gets these columns of some rows of the table, as stored, and returns a
    /// value for each of these rows. It must look at one row at a time: it may get no rows, some rows or all rows, from several threads
    /// at once. Only the chosen rows stay in memory, unless the table is a view or another condition looks at several rows: then all
    /// rows are loaded first.
    ///
    /// The function cannot exclude segments before they are read. To skip segments, add an [`IndexRequest::filter`] of a column that is
    /// compared with a literal.
    ///
    /// The load fails as `NotFound` if there is no such index column, and as `Invalid` if the function returns an error or another
    /// number of values.
    ///
    /// ```no_run
    /// # async fn example(table: &tetrys::Table) -> tetrys::Result<()> {
    /// let near = table.index().filter_with(["x", "y"], |frame| {
    ///     let (x, y) = (frame.column("x")?.f64()?, frame.column("y")?.f64()?);
    ///     Ok(x.iter().zip(y.iter()).map(|(x, y)| Some(x?.hypot(y?) < 10.0)).collect())
    /// });
    /// println!("{} rows", near.await?.len());
    /// # Ok(()) }
    /// ```
    pub fn filter_with<C: Into<String>>(
        mut self,
        columns: impl IntoIterator<Item = C>,
        mask: impl Fn(DataFrame) -> PolarsResult<BooleanChunked> + Send + Sync + 'static,
    ) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        self.request.conditions.push(Condition::Function(columns, Arc::new(mask)));
        self
    }

    /// Leaves out rows for which a function does not return true, as [`IndexRequest::filter_with`] does, where that is safe. Else this call
    /// changes nothing: filter the frame of the result, too.
    ///
    /// The function evaluates an expression that looks at one row at a time. `expression` is the expression as polars has written it as JSON,
    /// or `None` if polars could not. It is not safe if the function reads no column, or a column that is not in the index; if the name
    /// of a column is a pattern of polars; or if the expression may see the numbers of categories, which each part of the index has for
    /// itself. Call [`IndexRequest::categorical`] before.
    pub fn prune_with<C: Into<String>>(
        self,
        columns: impl IntoIterator<Item = C>,
        expression: Option<&str>,
        mask: impl Fn(DataFrame) -> PolarsResult<BooleanChunked> + Send + Sync + 'static,
    ) -> Self {
        let columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        match self.request.works_in_parts(&columns, expression) {
            true => self.filter_with(columns, mask),
            false => self,
        }
    }

    /// Leaves out columns and rows that an SQL query does not need. [`Index::query`] of the result gives the same answer as that of
    /// the whole index. The result may have rows for which the condition of the query is not true.
    pub fn for_query(mut self, sql: impl Into<String>) -> Self {
        self.request.query = Some(sql.into());
        self
    }

    /// Leaves out rows for which an expression cannot be true, by the statistics of segments, row groups and pages. polars has written
    /// the expression as JSON (`Expr.meta.serialize` in Python). It must look at one row at a time. The result may have rows for which
    /// it is not true, and all rows if the expression is not known here.
    pub fn prune_json(mut self, expression: impl Into<String>) -> Self {
        self.request.pruned.push(expression.into());
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

    /// Plans to read the index, and returns the segments, rows and bytes of the plan. This reads the tails of the segments that may
    /// have a row, and nothing else. Tails count although the table keeps them in memory afterwards. For a view, it counts the index
    /// objects of the view, without the join maps and the tables of its sources.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no index column.
    /// - `Invalid`: a pattern, a condition or a query is malformed, or the rows are not all in the table.
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
        let Some((plan, read)) = self.planned()? else {
            segments.iter().for_each(|segment| whole(&mut explain, segment));
            return Ok(explain);
        };
        let read = read.unwrap_or_else(|| plan.columns.clone());
        let stages = self.table.plan_stages(plan, &read).await?;
        for (stage, segment) in stages.segments.into_iter().zip(segments) {
            let Some(Stage { first: read, then }) = stage else { continue };
            let tail = segment.tail.as_ref().filter(|_| stages.plan.reads_tail_of(segment)).map_or(0, |tail| tail.bytes);
            let late = then.iter().flat_map(|then| &then.part).flat_map(|(_, part)| part.ranges());
            let late: Vec<u64> = late.map(|range| range.end - range.start).collect();
            explain.late_bytes += late.iter().sum::<u64>();
            let filters = read.filters.iter().map(|range| range.end - range.start);
            for range in [tail].into_iter().chain(filters).chain(late) {
                explain.requests += range_parts(range) as u64;
                explain.bytes += range;
            }
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
        // Conditions are evaluated over text.
        let early_types = self.categorical && self.conditions.is_empty();
        let Some((plan, read)) = self.planned()? else {
            // A view.
            let (early, late) = if self.conditions.is_empty() { (chosen, None) } else { (None, chosen) };
            let index = self.table.index_of(early, early_types).await?;
            let index = match &self.rows {
                Some(rows) => index.with_frame(own_rows(&slice(&index.to_frame(), (rows.start, rows.end - rows.start)))?)?,
                None => index,
            };
            return self.conditioned(index, late);
        };
        if let Some(read) = read {
            let wanted = chosen.unwrap_or_else(|| plan.columns.clone());
            let (conditions, tag) = (self.conditions.clone(), self.table.locator_tag(&plan.columns)?);
            let layouts = if plan.leaves_out_rows() { 0..0 } else { self.table.small_layouts() };
            let columns = plan.columns.clone();
            let load = self.table.load_chosen(plan, Choice { conditions, read, wanted, tag, rows: self.rows.clone() });
            let (frame, ()) = try_join(load, self.table.layouts_ahead(layouts).map(Ok)).await?;
            return self.with_types(self.table.index_of_rows(frame, None, &columns));
        }
        let stored = self.table.manifest().schema.index().len();
        let loaded = match plan.leaves_out_rows() {
            true => {
                let reads = self.table.plan_segments(&plan).await?;
                let (frame, reads) = self.table.load_segments(reads, &plan.columns, early_types).await?;
                let ranges = || reads.iter().flat_map(|read: &SegmentRead| read.table_rows(&self.table));
                let wanted = self.rows.clone().unwrap_or(0..self.table.rows());
                let frame = match rows_within(ranges(), &wanted) {
                    (_, count) if count == frame.height() as u64 => frame,
                    part => own_rows(&slice(&frame, part))?,
                };
                let rows = ranges().map(|rows| rows.start.max(wanted.start)..rows.end.min(wanted.end));
                let rows = rows.flat_map(|rows| rows.start.cast_signed()..rows.end.cast_signed());
                let whole = (frame.height() as u64 == self.table.rows()).then(|| frame.clone());
                let frame = with_locators(&frame, self.table.locator_tag(&plan.columns)?, rows)?;
                self.table.index_of_rows(frame, whole, &plan.columns)
            }
            false => self.table.index_of((plan.columns.len() < stored).then(|| plan.columns.clone()), early_types).await?,
        };
        let more = plan.columns != chosen.clone().unwrap_or_else(|| (0..stored).collect());
        self.conditioned(loaded, chosen.filter(|_| more))
    }

    /// Whether a condition on these columns that looks at one row at a time gives the same rows in every part of the index.
    fn works_in_parts(&self, columns: &[String], expression: Option<&str>) -> bool {
        let schema = self.table.schema();
        let types = columns.iter().map(|name| schema.index().find(|column| column.name == *name).map(|column| &column.ty));
        let Some(types) = types.collect::<Option<Vec<&ColumnType>>>().filter(|types| !types.is_empty()) else { return false };
        let is_pattern = |name: &String| name == "*" || (name.starts_with('^') && name.ends_with('$'));
        let is_categorical = |ty: &&ColumnType| match ty {
            ColumnType::Utf8 => self.categorical,
            ty => **ty == ColumnType::Categorical,
        };
        !columns.iter().any(is_pattern)
            && (!types.iter().any(is_categorical) || expression.is_some_and(|expression| !sees_categories(expression)))
    }

    /// Returns the places of the chosen columns, ascending; `None` for all columns.
    fn chosen(&self) -> Result<Option<Vec<usize>>> {
        let Some(patterns) = &self.columns else { return Ok(None) };
        let names: Vec<&str> = self.table.schema().index().map(|column| column.name.as_str()).collect();
        let seen = seen_columns(self.table.manifest());
        Ok(Some(select(&names, &[], patterns)?.into_iter().filter_map(|place| seen.get(place).copied()).collect()))
    }

    /// Returns the columns to read and the predicate by which rows are skipped; `None` for a view. Returns also the columns that the
    /// conditions read, if there are conditions and each of them looks at one row at a time.
    fn planned(&self) -> Result<Option<(IndexPlan, Option<Vec<usize>>)>> {
        let schema = self.table.schema();
        let named: Vec<(&str, &ColumnType)> = schema.index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let mut needs = Pushdown::nothing();
        for condition in &self.conditions {
            needs = needs.then(match condition {
                Condition::Expression(expression) => of_expression(&named, expression)?,
                Condition::Sql(sql) => of_condition(&named, sql)?,
                Condition::Function(columns, _) => of_columns(&named, columns)?,
            });
        }
        let read = (needs.by_row && !self.conditions.is_empty()).then(|| needs.columns.clone());
        for expression in &self.pruned {
            needs = needs.then(Pushdown { predicate: of_serialized(&named, expression), ..Pushdown::nothing() });
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
        if let Some(rows) = &self.rows {
            check_ranges(std::slice::from_ref(rows), self.table.rows())?;
        }
        if self.table.view().is_some() {
            return Ok(None);
        }
        let mut columns: BTreeSet<usize> = chosen.into_iter().collect();
        match needs.columns {
            Some(more) => columns.extend(more),
            None => columns.extend(0..named.len()),
        }
        let columns: Vec<usize> = columns.into_iter().collect();
        let read = read.map(|read| read.map_or_else(|| columns.clone(), |read| read.into_iter().collect()));
        Ok(Some((IndexPlan::new(&self.table, columns, needs.predicate).of_rows(self.rows.clone()), read)))
    }

    /// Evaluates the conditions, and keeps the chosen columns.
    fn conditioned(&self, mut index: Index, chosen: Option<Vec<usize>>) -> Result<Index> {
        for condition in &self.conditions {
            index = index.with_frame(condition.filter(index.to_frame())?)?;
        }
        if let Some(chosen) = chosen {
            index = self.only(&index, &chosen)?;
        }
        self.with_types(index)
    }

    /// Makes texts categorical, if that is wanted.
    fn with_types(&self, index: Index) -> Result<Index> {
        let texts = index.frame.bare().columns().iter().filter(|column| column.dtype() == &DataType::String);
        let texts: Vec<_> = texts.map(|column| column.name().clone()).collect();
        // A frame with locators takes 16 bytes a row more while it is made.
        if !self.categorical || texts.is_empty() {
            return Ok(index);
        }
        let mut frame = index.to_frame();
        for name in texts {
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
    /// - `Invalid`: a pattern or a condition is malformed, polars cannot evaluate a condition, or the rows are not all in the table.
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

    /// Returns the index of some rows. The frame has locators, and columns among these. `whole` has all rows, if they are loaded.
    fn index_of_rows(&self, frame: DataFrame, whole: Option<DataFrame>, columns: &[usize]) -> Index {
        let index = self.described(columns).into_iter().map(|column| (column.name.clone(), column.id)).collect();
        let source = IndexSource { index, ..IndexSource::of_table(self, whole) };
        Index::of(frame, [source].into())
    }
}
