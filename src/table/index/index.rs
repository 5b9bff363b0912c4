//! The index of a table: a polars frame with locator columns, by which a loader reads its rows.

use std::{ops::Range, sync::Arc};

use futures::future::join;
use polars::prelude::{
    Column, DataFrame, Expr, IntoLazy, LazyFrame, PlSmallStr, PolarsError, SortMultipleOptions, UniqueKeepStrategy, col,
};

use super::located::Located;
use crate::{
    error::{Error, Result, counted, hint, short},
    format::Locator,
    index::{self, check_process, is_locator, locate, locator_column, within},
    schema::ColumnId,
    table::{
        reading::{
            loader::RowLoader,
            source::{LoaderSource, NO_ROW},
        },
        version::{index_rows::ranges_of, lists::Lists, seen::seen_columns, table::Table},
    },
};

/// The advice for an index whose rows are not ranges of one table.
const AS_VIEW: &str = "save it as a view, and read the view (in Python, pass `view`, a URL at which to save it)";

/// A frame of index columns, with a locator column for each source table, and the source tables.
///
/// A locator is an integer that names one row of a source table. The frame can be filtered, sorted, sampled or joined with any
/// polars operation: its rows can be read as long as its locator columns are kept. The methods of this type keep them.
/// [`Index::with_frame`] takes a frame that was made in any other way.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use polars::prelude::{col, lit};
/// use tetrys::{RowLoader, Table};
/// let index = Table::open("/data/sensors").await?.index().await?;
/// let busy = index.filter(col("agents_count").gt(lit(100)))?;
/// let loader = RowLoader::new(&busy)?.columns(["agents.pose.*"])?;
/// let history = loader.get_rows(0, -10..=0).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Index {
    pub(in crate::table) frame: Located,
    pub(in crate::table) sources: Arc<[IndexSource]>,
}

/// A source table of a frame.
#[derive(Clone, Debug)]
pub(in crate::table) struct IndexSource {
    pub(in crate::table) table: Table,
    /// The tag in the name of the locator column.
    pub(in crate::table) tag: u16,
    /// The number of the source into which this source was merged, or its own number.
    pub(in crate::table) base: usize,
    /// The group columns, by the names in the result of a read.
    pub(in crate::table) columns: Arc<[(String, ColumnId)]>,
    /// The index columns, by their names in the merged frame.
    pub(in crate::table) index: Arc<[(String, ColumnId)]>,
    /// The row of this source for each row of the base; `None` for a base.
    pub(in crate::table) partners: Option<Arc<[i64]>>,
    /// The lists of this source, if its rows are read as lists.
    pub(in crate::table) lists: Option<Arc<Lists>>,
    /// For a base: all rows of its table in table order, with its columns and those of the indexes merged into it. `None` if they
    /// are not loaded, as for the base of a view that does not have all rows of the base.
    pub(in crate::table) whole: Option<DataFrame>,
}

impl Table {
    /// Loads the index with these columns, given by ascending places, or with all. If `categorical`, text becomes categorical.
    pub(in crate::table) async fn index_of(&self, columns: Option<Vec<usize>>, categorical: bool) -> Result<Index> {
        let columns = columns.unwrap_or_else(|| seen_columns(self.manifest()));
        if self.view().is_some() {
            return self.index_of_view(&columns, categorical).await;
        }
        let tag = self.locator_tag(&columns)?;
        let (whole, ()) = join(self.load_frame(&columns, categorical), self.layouts_ahead(self.small_layouts())).await;
        let whole = whole?;
        let named = self.schema().index().enumerate().filter(|(place, _)| columns.contains(place));
        let index = named.map(|(_, column)| (column.name.clone(), column.id)).collect();
        let frame = Located::of_rows(whole.clone(), tag, 0);
        let source = IndexSource { index, ..IndexSource::of_table(self, Some(whole)) };
        Ok(Index { frame, sources: [source].into() })
    }

    /// Returns the tag of the locators of this version, in a frame with these columns.
    ///
    /// # Errors
    /// - `Invalid`: a column has the name of the locator column.
    pub(super) fn locator_tag(&self, columns: &[usize]) -> Result<u16> {
        let tag = Locator::tag(self.manifest().table, self.version());
        let locators = locator_column(tag);
        match self.described(columns).into_iter().find(|column| column.name == locators) {
            Some(column) => {
                Err(Error::invalid(format!("index column `{}` has the name of the locator column: rename it", column.name)))
            }
            None => Ok(tag),
        }
    }
}

impl IndexSource {
    /// Creates the only source of a frame, with all columns of the table. `whole` has all rows of the table, if they are loaded.
    pub(in crate::table) fn of_table(table: &Table, whole: Option<DataFrame>) -> Self {
        let LoaderSource { columns, index, .. } = LoaderSource::of_table(table, None);
        let tag = Locator::tag(table.manifest().table, table.version());
        Self { table: table.clone(), tag, base: 0, columns, index, partners: None, lists: None, whole }
    }
}

impl Index {
    /// Creates an index from a frame with the locator columns of these sources.
    pub(in crate::table) fn of(frame: DataFrame, sources: Arc<[IndexSource]>) -> Self {
        let tag = match &*sources {
            [only] => Some(only.tag),
            _ => None,
        };
        Self { frame: Located::new(frame, tag), sources }
    }

    /// Returns the frame, with its locator columns.
    ///
    /// The locators of consecutive rows of one table, as in an index that is not filtered, take no memory until this method is
    /// called first. [`Index::to_frame`] makes them anew for each call.
    pub fn frame(&self) -> &DataFrame {
        self.frame.borrowed()
    }

    /// Returns the frame, with its locator columns. The other columns are shared and not copied.
    pub fn to_frame(&self) -> DataFrame {
        self.frame.frame()
    }

    /// Returns the frame as a lazy frame. [`Index::with_frame`] turns the collected result into an index again.
    ///
    /// The method `collect` of polars panics inside a tokio runtime of one thread, and in a `LocalSet`. The methods of this type
    /// do not panic there.
    pub fn lazy(&self) -> LazyFrame {
        self.to_frame().lazy()
    }

    /// Returns the table version to which the locators refer. For a merged index, it is the first of the table versions.
    pub fn table(&self) -> &Table {
        // An index has at least one source.
        &self.sources[0].table
    }

    /// Returns the table versions to which the locators refer, in the order in which they were merged.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.sources.iter().map(|source| &source.table)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows for which the expression is true.
    ///
    /// # Errors
    /// - `Invalid`: polars cannot evaluate the expression.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn filter(&self, predicate: Expr) -> Result<Self> {
        within([&predicate], || self.collect("filter", self.lazy().filter(predicate.clone())))
    }

    /// Returns an index with only these columns. The locator columns are kept without being named.
    ///
    /// # Errors
    /// - `Invalid`: polars cannot evaluate an expression.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn select(&self, columns: impl IntoIterator<Item = Expr>) -> Result<Self> {
        let locators = self.sources.iter().map(|source| col(locator_column(source.tag)));
        let columns: Vec<Expr> = columns.into_iter().chain(locators).collect();
        within(&columns, || self.collect("select", self.lazy().select(&columns)))
    }

    /// Adds columns that are computed from the existing columns.
    ///
    /// # Errors
    /// - `Invalid`: polars cannot evaluate an expression, or an expression overwrites a locator column with values that are no
    ///   rows.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn with_columns(&self, columns: impl IntoIterator<Item = Expr>) -> Result<Self> {
        let columns: Vec<Expr> = columns.into_iter().collect();
        within(&columns, || self.collect("with_columns", self.lazy().with_columns(&columns)))
    }

    /// Sorts the rows by these columns. The sort is stable.
    ///
    /// # Errors
    /// - `Invalid`: the index has no such column.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn sort<N: Into<PlSmallStr>>(&self, by: impl IntoIterator<Item = N>, descending: bool) -> Result<Self> {
        check_process()?;
        let options = SortMultipleOptions::default().with_order_descending(descending).with_maintain_order(true);
        let by: Vec<PlSmallStr> = by.into_iter().map(Into::into).collect();
        self.with_rows(self.to_frame().sort(by, options).map_err(|error| refused("sort", &error))?)
    }

    /// Draws `rows` rows at random without replacement, in random order. The same seed gives the same rows.
    ///
    /// # Errors
    /// - `Invalid`: the index has fewer rows.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Self> {
        check_process()?;
        if rows > self.len() {
            return Err(Error::invalid(format!("sample: expected at most {}, found {rows}", counted(self.len(), "row"))));
        }
        self.with_rows(
            self.to_frame().sample_n_literal(rows, false, Some(true), Some(seed)).map_err(|error| refused("sample", &error))?,
        )
    }

    /// Returns up to `rows` consecutive rows, beginning with row `start`. A negative start counts from the end.
    pub fn slice(&self, start: i64, rows: usize) -> Self {
        Self { frame: self.frame.slice(start, rows), sources: Arc::clone(&self.sources) }
    }

    /// Returns the first row of each combination of values in these columns.
    ///
    /// # Errors
    /// - `Invalid`: the index has no such column.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn unique<N: Into<String>>(&self, by: impl IntoIterator<Item = N>) -> Result<Self> {
        check_process()?;
        let by: Vec<String> = by.into_iter().map(Into::into).collect();
        let frame = self.to_frame().unique_stable(Some(&by), UniqueKeepStrategy::First, None);
        self.with_rows(frame.map_err(|error| refused("unique", &error))?)
    }

    /// Returns the rows for which an SQL condition is true. The condition is the text after WHERE, e.g. `agents_count > 100`.
    ///
    /// The condition must be a single expression over the columns and not a query. So a condition from an untrusted source can
    /// only choose rows.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a single expression, or polars cannot evaluate the condition.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn filter_sql(&self, condition: &str) -> Result<Self> {
        self.with_frame(index::filtered(&self.to_frame(), condition)?)
    }

    /// Whether an SQL condition is known to look at one row at a time. Then [`Index::filter_sql`] chooses the same rows part by part as over
    /// all rows at once. Conditions with aggregations and functions are not known to.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// let index = tetrys::Table::open("/data/sensors").await?.index().await?;
    /// assert!(index.is_by_row("agents_count > 100 OR host = 'a'")?);
    /// assert!(!index.is_by_row("agents_count = MAX(agents_count)")?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: the text is not a single expression.
    pub fn is_by_row(&self, condition: &str) -> Result<bool> {
        index::is_by_row(self.column_names(), condition)
    }

    /// Adds columns that SQL expressions compute from the existing columns. Each pair is a name and an expression, e.g.
    /// `("busy", "agents_count > 100")`.
    ///
    /// # Errors
    /// - `Invalid`: a text is not a single expression over the columns, a name is already in use, or polars cannot evaluate an
    ///   expression.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn with_columns_sql<N: AsRef<str>, S: AsRef<str>>(&self, columns: impl IntoIterator<Item = (N, S)>) -> Result<Self> {
        let columns: Vec<(N, S)> = columns.into_iter().collect();
        let columns: Vec<(&str, &str)> = columns.iter().map(|(name, sql)| (name.as_ref(), sql.as_ref())).collect();
        self.with_frame(index::with_columns(&self.to_frame(), &columns)?)
    }

    /// Runs an SQL query and returns its result as a frame, e.g. `SELECT host, COUNT(*) FROM t GROUP BY host`. In the query, the
    /// index is the table `t`.
    ///
    /// If the query keeps the locator columns, as `SELECT *` does, [`Index::with_frame`] turns the result into an index.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a single SELECT, optionally after a WITH, or polars cannot run the query.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn query(&self, sql: &str) -> Result<DataFrame> {
        index::query(&self.to_frame(), sql)
    }

    /// Runs an SQL query and returns its result as an index, e.g. `SELECT * FROM t WHERE agents_count > 100`. In the query, the
    /// index is the table `t`.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a single SELECT, optionally after a WITH, polars cannot run the query, or the query drops a
    ///   locator column.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn sql(&self, sql: &str) -> Result<Self> {
        self.with_frame(self.query(sql)?)
    }

    /// Returns an index with only these columns, by exact name and in this order. The locator columns are kept.
    pub(crate) fn only(&self, names: &[&str]) -> Result<Self> {
        let frame = self.to_frame();
        let named = names.iter().filter_map(|name| frame.column(name).ok());
        let locators = frame.columns().iter().filter(|column| is_locator(column.name()));
        let columns: Vec<Column> = named.chain(locators).cloned().collect();
        self.with_frame(DataFrame::new(frame.height(), columns).map_err(index::internal)?)
    }

    /// Returns an index of the same tables with another frame. The locator columns of the frame name the rows.
    ///
    /// # Errors
    /// - `Invalid`: a locator column is missing, or a locator is not a row of its table version.
    pub fn with_frame(&self, frame: DataFrame) -> Result<Self> {
        let found = Self::of(frame, Arc::clone(&self.sources));
        let rows = found.located()?;
        found.knowing_its_frame(rows.first().map(Vec::as_slice))
    }

    /// Creates an index from a frame that the caller has joined from the frames of several indexes.
    ///
    /// Single rows and batches of rows can be read from all tables. A window can only be read from the tables of the first index,
    /// because the partners of the other rows of the window are unknown. For windows over all tables, merge the indexes with
    /// [`Index::merge`] instead.
    ///
    /// # Errors
    /// - `Invalid`: there are no indexes, two indexes have the same table version or a group column of the same name, a locator
    ///   column is missing, or a locator is not a row of its table version.
    pub fn joined_by_hand<'a>(frame: DataFrame, indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        let mut sources: Vec<IndexSource> = Vec::new();
        for index in indexes {
            let before = sources.len();
            for source in index.sources.iter() {
                if sources.iter().any(|existing| existing.tag == source.tag) {
                    return Err(Error::invalid(format!(
                        "{} is in two of the indexes: merge the indexes instead",
                        source.table.url()
                    )));
                }
                let taken =
                    |name: &String| sources.iter().flat_map(|source| source.columns.iter()).any(|(known, _)| known == name);
                if let Some((name, _)) = source.columns.iter().find(|(name, _)| taken(name)) {
                    return Err(Error::invalid(format!("column `{name}` is in two tables: merge the indexes instead")));
                }
                sources.push(IndexSource { base: before + source.base, ..source.clone() });
            }
        }
        if sources.is_empty() {
            return Err(Error::invalid("no index for the frame: expected at least one"));
        }
        let found = Self::of(frame, sources.into());
        found.check()?;
        Ok(found)
    }

    /// Returns the row numbers in `table` of the rows of the frame, in frame order. Rows of the frame without a row in `table`
    /// are left out.
    ///
    /// # Errors
    /// - `NotFound`: `table` is not one of the table versions of this index.
    /// - `Invalid`: a locator is not a row of its table version.
    pub fn rows_of(&self, table: &Table) -> Result<Vec<u64>> {
        let is_it = |source: &IndexSource| {
            (source.table.manifest().table, source.table.version()) == (table.manifest().table, table.version())
        };
        let place = self.sources.iter().position(is_it);
        let place = place
            .ok_or_else(|| Error::not_found(format!("the index has no rows of {} version {}", table.url(), table.version())))?;
        let rows = self.located()?.swap_remove(place);
        Ok(rows.into_iter().filter_map(|row| u64::try_from(row).ok()).collect())
    }

    /// Returns the only table version of this index.
    ///
    /// # Errors
    /// - `Invalid`: the index has rows of several tables, or of none.
    pub fn only_table(&self) -> Result<&Table> {
        match &*self.sources {
            [only] => Ok(&only.table),
            several => Err(Error::invalid(format!("an index with rows of {}: {AS_VIEW}", counted(several.len(), "table")))),
        }
    }

    /// Returns the rows of the frame as ranges of rows of `table`, in ascending order, such as [`RowLoader::splits`](crate::RowLoader::splits)
    /// takes.
    ///
    /// # Errors
    /// - `NotFound`: `table` is not one of the table versions of this index.
    /// - `Invalid`: rows are not in `table`, repeat, or are not in its order; or a locator is not a row of its table version.
    pub fn row_ranges(&self, table: &Table) -> Result<Vec<Range<u64>>> {
        let rows = self.rows_of(table)?;
        if rows.len() != self.len() || rows.iter().zip(rows.iter().skip(1)).any(|(row, next)| row >= next) {
            return Err(Error::invalid(format!("an index whose rows repeat or are not in the order of the table: {AS_VIEW}")));
        }
        Ok(ranges_of(&rows))
    }

    /// Checks that this process may use frames, and records that it does. The threads of polars do not survive a fork, so polars
    /// would hang in a child of a process that has used them. The methods of this type check this; call it before own work with
    /// polars, such as collecting [`Index::lazy`].
    ///
    /// # Errors
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub fn check_process() -> Result<()> {
        check_process()
    }

    /// Whether the name of a column is that of a locator column. Locators name rows of a table, and only Tetrys writes them.
    pub fn is_locator(column: &str) -> bool {
        is_locator(column)
    }

    /// Returns a hint for a column name that the index does not have: the nearest name, or all.
    pub fn hint(&self, column: &str) -> String {
        hint(column, self.column_names().collect::<Vec<_>>())
    }

    /// Returns the names of the columns that are not locator columns.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.frame.bare().columns().iter().map(|column| column.name().as_str()).filter(|name| !is_locator(name))
    }

    /// Whether the frame has all rows of its only table, in table order.
    fn has_every_row(&self) -> bool {
        match &*self.sources {
            [source] => {
                let plain = source.base == 0 && source.partners.is_none() && source.lists.is_none();
                plain && self.frame.first_row() == Some(0) && self.len() as u64 == source.table.rows()
            }
            _ => false,
        }
    }

    fn collect(&self, what: &str, frame: LazyFrame) -> Result<Self> {
        check_process()?;
        self.with_rows(index::collect(frame).map_err(|error| refused(what, &error))?)
    }

    /// Returns an index of the same tables with a frame from an operation that keeps the locator columns, unless an expression of
    /// the caller overwrites them.
    fn with_rows(&self, frame: DataFrame) -> Result<Self> {
        self.with_frame(frame)
    }

    fn check(&self) -> Result<()> {
        self.located().map(|_| ())
    }

    /// Returns the row of each source for each row of the frame, -1 where the source has no row.
    ///
    /// # Errors
    /// - `Invalid`: a locator column is missing, a locator is not a row of its table version or not the first row of its list, or
    ///   a row of the frame has no row in any source.
    pub(in crate::table) fn located(&self) -> Result<Vec<Vec<i64>>> {
        let partial = self.sources.len() > 1;
        if let (Some(first), [source]) = (self.frame.first_row(), &*self.sources)
            && source.lists.is_none()
        {
            let end = first.saturating_add(self.len() as u64);
            return match end <= source.table.rows() {
                true => Ok(vec![(first.cast_signed()..end.cast_signed()).collect()]),
                false => Err(Error::invalid(format!("row {} is outside 0..{}", end - 1, source.table.rows()))),
            };
        }
        let frame = self.to_frame();
        let located = self.sources.iter().map(|source| locate(&frame, source.tag, source.table.rows(), partial));
        let located = located.collect::<Result<Vec<_>>>()?;
        for (source, rows) in self.sources.iter().zip(&located) {
            if let Some(row) = source.lists.as_ref().and_then(|lists| lists.first_stranger(rows)) {
                return Err(Error::invalid(format!(
                    "row {row} of {} is not the first row of a list of the merge",
                    source.table.url()
                )));
            }
        }
        let nowhere = |row: &usize| located.iter().all(|rows| rows.get(*row) == Some(&NO_ROW));
        match (0..self.len()).find(|row| partial && nowhere(row)) {
            Some(row) => Err(Error::invalid(format!("frame row {row}: the locators of all tables are -1 (no row)"))),
            None => Ok(located),
        }
    }
}

impl RowLoader {
    /// Creates a loader whose positions are the rows of the index.
    ///
    /// # Errors
    /// - `Invalid`: a locator is not a row of its table version.
    pub fn new(index: &Index) -> Result<Self> {
        if let [source] = &*index.sources
            && index.has_every_row()
        {
            // Position p is row p, so the loader keeps no rows.
            let columns = Arc::clone(&source.columns);
            let source =
                LoaderSource { columns, index: Arc::clone(&source.index), ..LoaderSource::of_table(&source.table, None) };
            return Ok(Self::of_sources([source].into(), index.len() as u64));
        }
        let mut sources = Vec::with_capacity(index.sources.len());
        for (source, at) in index.sources.iter().zip(index.located()?) {
            sources.push(LoaderSource {
                table: source.table.clone(),
                base: source.base,
                partners: source.partners.clone(),
                at: Some(at.into()),
                lists: source.lists.clone(),
                columns: Arc::clone(&source.columns),
                index: Arc::clone(&source.index),
            });
        }
        Ok(Self::of_sources(sources.into(), index.len() as u64))
    }
}

pub(in crate::table) fn refused(what: &str, error: &PolarsError) -> Error {
    Error::invalid(format!("{what}: {}", short(index::error_text(error))))
}
