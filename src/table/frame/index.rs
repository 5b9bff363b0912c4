//! The index of a table: an ordinary polars frame whose rows can be read.

use std::sync::Arc;

use bytes::Bytes;
use polars::prelude::{
    Column, DataFrame, Expr, IntoLazy, LazyFrame, PlSmallStr, PolarsError, SortMultipleOptions, UniqueKeepStrategy, col,
};

use crate::{
    error::{Error, Result, short},
    format::{Locator, index_columns_reader},
    hints::{listed, nearest},
    index::{self, is_locator, locate, locator_column, with_locators},
    offload::offload_large,
    schema::ColumnId,
    table::{
        lists::Lists,
        reading::{
            loader::RowLoader,
            source::{NO_ROW, Source},
        },
        seen::seen_columns,
        table::Table,
    },
    threads::{share, threads},
};

/// A frame of index columns with a locator column for each table behind it, and those tables.
///
/// Filter, sort, sample or join the frame as you like: as long as its locator columns stay, its rows can be read. The methods
/// here keep them by themselves; [`Index::with_frame`] takes a frame that was made in any other way.
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
    pub(in crate::table) frame: DataFrame,
    pub(in crate::table) sources: Arc<[IndexSource]>,
}

/// A table behind a frame.
#[derive(Clone, Debug)]
pub(in crate::table) struct IndexSource {
    pub(in crate::table) table: Table,
    pub(in crate::table) tag: u16,
    /// The number of the source that it was merged into, or its own.
    pub(in crate::table) base: usize,
    /// The group columns, under the names by which they are read.
    pub(in crate::table) columns: Arc<[(String, ColumnId)]>,
    /// The index columns, under their names in the frame that was merged.
    pub(in crate::table) index: Arc<[(String, ColumnId)]>,
    /// Its row for each row of the base; none of a base.
    pub(in crate::table) partners: Option<Arc<[i64]>>,
    /// Its rows that are lists together.
    pub(in crate::table) lists: Option<Arc<Lists>>,
    /// Of a base: all rows of its table, in their order, with the columns of what was merged into it. `None` where they were not
    /// loaded: the base of a view that has not all of its rows.
    pub(in crate::table) whole: Option<DataFrame>,
}

/// An index of fewer rows is decoded by one thread.
const ROWS_OF_THREADS: u64 = 1 << 16;
/// More would wait for memory.
const MAX_THREADS: usize = 8;

impl Table {
    /// The index of this version, loaded into a frame.
    ///
    /// # Errors
    /// `Corrupt` where an index object is not what the manifest says; errors of the store.
    pub async fn index(&self) -> Result<Index> {
        self.index_of(None).await
    }

    /// The index of this version with those index columns alone that match any of the patterns: an index of hundreds of columns
    /// need not be decoded as a whole.
    ///
    /// # Errors
    /// As [`Table::index`], and `NotFound` for a pattern that matches nothing.
    pub async fn index_columns<P: AsRef<str>>(&self, patterns: impl IntoIterator<Item = P>) -> Result<Index> {
        let names: Vec<&str> = self.schema().index().map(|column| column.name.as_str()).collect();
        let seen = seen_columns(self.manifest());
        let chosen = crate::schema::select(&names, &[], patterns)?;
        self.index_of(Some(chosen.into_iter().map(|place| seen[place]).collect())).await
    }

    async fn index_of(&self, columns: Option<Vec<usize>>) -> Result<Index> {
        if self.view().is_some() {
            return self.index_of_view(columns).await;
        }
        let tag = Locator::tag(self.manifest().table, self.version());
        let objects = self.index_objects_and_sequences().await?;
        let columns = columns.unwrap_or_else(|| (0..self.schema().index().len()).collect());
        let (table, wanted) = (self.clone(), columns.clone());
        let (whole, frame) = offload_large(self.index_work(&objects, columns.len() + 1), move |_| {
            let whole = table.frame_of(&objects, &wanted)?;
            let frame = with_locators(&whole, tag, 0..table.rows().cast_signed())?;
            Ok((whole, frame))
        })
        .await?;
        let named = self.schema().index().enumerate().filter(|(place, _)| columns.contains(place));
        let index = named.map(|(_, column)| (column.name.clone(), column.id)).collect();
        let Source { columns, .. } = Source::of_table(self, None);
        let table = self.clone();
        let source = IndexSource { table, tag, base: 0, columns, index, partners: None, lists: None, whole: Some(whole) };
        Ok(Index { frame, sources: [source].into() })
    }

    /// The frame of some index columns (rising numbers), decoded on several threads where there are many rows.
    pub(in crate::table) fn frame_of(&self, objects: &[Bytes], columns: &[usize]) -> Result<DataFrame> {
        let threads = threads().clamp(1, MAX_THREADS);
        if self.rows() < ROWS_OF_THREADS || threads == 1 || columns.len() < 2 {
            return self.frame_part(objects, columns);
        }
        let parts = columns.chunks(columns.len().div_ceil(threads)).collect();
        let (mut all, mut height) = (Vec::with_capacity(columns.len()), 0);
        for part in share(parts, threads - 1, |part: &[usize]| self.frame_part(objects, part))? {
            height = part.height();
            all.extend(part.columns().iter().cloned());
        }
        DataFrame::new(height, all).map_err(|error| Error::internal(format!("polars: {error}")))
    }

    fn frame_part(&self, objects: &[Bytes], columns: &[usize]) -> Result<DataFrame> {
        let mut batches = Vec::new();
        for (bytes, segment) in objects.iter().zip(&self.manifest().segments) {
            batches.push(index_columns_reader(bytes.clone(), &self.manifest().schema, segment.rows, columns)?);
        }
        let stored = self.manifest().schema.index().enumerate();
        let described = stored.filter(|(place, _)| columns.contains(place)).map(|(_, column)| column);
        index::frame(&described.collect::<Vec<_>>(), self.rows(), batches.into_iter().flatten())
    }
}

impl Index {
    /// The frame.
    pub fn frame(&self) -> &DataFrame {
        &self.frame
    }

    /// The frame as a lazy one; what it becomes is an index again by [`Index::with_frame`].
    ///
    /// `collect` of polars panics inside a tokio runtime of one thread, and in a `LocalSet`; the methods here do not.
    pub fn lazy(&self) -> LazyFrame {
        self.frame.clone().lazy()
    }

    /// The table version that the locators point to; of a merged index the first.
    pub fn table(&self) -> &Table {
        // There is one at least.
        &self.sources[0].table
    }

    /// The table versions that the locators point to, in the order in which they were merged.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Table> {
        self.sources.iter().map(|source| &source.table)
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows for which the expression is true.
    ///
    /// # Errors
    /// `Invalid` where polars refuses the expression.
    pub fn filter(&self, predicate: Expr) -> Result<Self> {
        self.collect("filter", self.lazy().filter(predicate))
    }

    /// These columns alone; locators stay without being named.
    ///
    /// # Errors
    /// `Invalid` where polars refuses an expression.
    pub fn select(&self, columns: impl IntoIterator<Item = Expr>) -> Result<Self> {
        let locators = self.sources.iter().map(|source| col(locator_column(source.tag)));
        self.collect("select", self.lazy().select(columns.into_iter().chain(locators).collect::<Vec<_>>()))
    }

    /// More columns, computed from those there are.
    ///
    /// # Errors
    /// `Invalid` where polars refuses an expression.
    pub fn with_columns(&self, columns: impl IntoIterator<Item = Expr>) -> Result<Self> {
        self.collect("with_columns", self.lazy().with_columns(columns.into_iter().collect::<Vec<_>>()))
    }

    /// The rows in the order of these columns; equal ones stay in their order.
    ///
    /// # Errors
    /// `Invalid` for a column that is not there.
    pub fn sort<N: Into<PlSmallStr>>(&self, by: impl IntoIterator<Item = N>, descending: bool) -> Result<Self> {
        let options = SortMultipleOptions::default().with_order_descending(descending).with_maintain_order(true);
        let by: Vec<PlSmallStr> = by.into_iter().map(Into::into).collect();
        self.keep(self.frame.sort(by, options).map_err(|error| refused("sort", &error))?)
    }

    /// `rows` rows drawn at random, in random order, none twice; the same for the same seed.
    ///
    /// # Errors
    /// `Invalid` for more rows than there are.
    pub fn sample(&self, rows: usize, seed: u64) -> Result<Self> {
        self.keep(self.frame.sample_n_literal(rows, false, Some(true), Some(seed)).map_err(|error| refused("sample", &error))?)
    }

    /// `rows` rows from row `start` on, or as many as there are; a negative start counts from the end.
    pub fn slice(&self, start: i64, rows: usize) -> Self {
        Self { frame: self.frame.slice(start, rows), sources: Arc::clone(&self.sources) }
    }

    /// The first row of each combination of values in these columns.
    ///
    /// # Errors
    /// `Invalid` for a column that is not there.
    pub fn unique<N: Into<String>>(&self, by: impl IntoIterator<Item = N>) -> Result<Self> {
        let by: Vec<String> = by.into_iter().map(Into::into).collect();
        let frame = self.frame.unique_stable(Some(&by), UniqueKeepStrategy::First, None);
        self.keep(frame.map_err(|error| refused("unique", &error))?)
    }

    /// The rows for which a condition in SQL is true, what stands behind WHERE: `agents_count > 100`.
    ///
    /// The condition is one expression over the columns, and no query: what comes from elsewhere can only choose rows.
    ///
    /// # Errors
    /// `Invalid` for anything else, and where polars refuses the condition.
    pub fn filter_sql(&self, condition: &str) -> Result<Self> {
        self.with_frame(index::filtered(&self.frame, condition)?)
    }

    /// More columns, computed in SQL from those there are: names and expressions, `("busy", "agents_count > 100")`.
    ///
    /// # Errors
    /// `Invalid` for what is not one expression over the columns, for a name that is there, and where polars refuses one.
    pub fn with_columns_sql<N: AsRef<str>, S: AsRef<str>>(&self, columns: impl IntoIterator<Item = (N, S)>) -> Result<Self> {
        let columns: Vec<(N, S)> = columns.into_iter().collect();
        let columns: Vec<(&str, &str)> = columns.iter().map(|(name, sql)| (name.as_ref(), sql.as_ref())).collect();
        self.with_frame(index::with_columns(&self.frame, &columns)?)
    }

    /// What a SQL query over the table `t` gives, as a frame: `SELECT host, COUNT(*) FROM t GROUP BY host`.
    ///
    /// Rows are read after [`Index::with_frame`], if the query kept the locators, as `SELECT *` does.
    ///
    /// # Errors
    /// `Invalid` for anything but one SELECT (a WITH may stand before it), and where polars refuses the query.
    pub fn query(&self, sql: &str) -> Result<DataFrame> {
        index::query(&self.frame, sql)
    }

    /// The rows that a SQL query over the table `t` gives: `SELECT * FROM t WHERE agents_count > 100`.
    ///
    /// # Errors
    /// As [`Index::query`], and `Invalid` where it dropped the locators.
    pub fn sql(&self, sql: &str) -> Result<Self> {
        self.with_frame(self.query(sql)?)
    }

    /// These columns alone, by their very names, in this order; locators stay.
    pub(crate) fn only(&self, names: &[&str]) -> Result<Self> {
        let named = names.iter().filter_map(|name| self.frame.column(name).ok());
        let locators = self.frame.columns().iter().filter(|column| is_locator(column.name()));
        let columns: Vec<Column> = named.chain(locators).cloned().collect();
        self.with_frame(DataFrame::new(self.frame.height(), columns).map_err(index::internal)?)
    }

    /// The same tables under another frame, whatever made it: its locator columns say which rows it means.
    ///
    /// # Errors
    /// `Invalid` where a locator column is missing or does not point into its table version.
    pub fn with_frame(&self, frame: DataFrame) -> Result<Self> {
        let found = Self { frame, sources: Arc::clone(&self.sources) };
        let rows = found.located()?;
        found.knowing_its_frame(rows.first().map(Vec::as_slice))
    }

    /// A frame that was joined by hand from those of several indexes: single rows and batches of it can be read. Windows follow
    /// the rows of the first index alone, since nobody knows which rows of the others would stand around; merge the indexes with
    /// [`Index::merge`] instead where windows are wanted.
    ///
    /// # Errors
    /// As [`Index::with_frame`]; `Invalid` for two indexes of one table version, or with columns of one name.
    pub fn joined_by_hand<'a>(frame: DataFrame, indexes: impl IntoIterator<Item = &'a Self>) -> Result<Self> {
        let mut sources: Vec<IndexSource> = Vec::new();
        for index in indexes {
            let before = sources.len();
            for source in index.sources.iter() {
                if sources.iter().any(|held| held.tag == source.tag) {
                    return Err(Error::invalid(format!("{} is there twice: merge the indexes instead", source.table.url())));
                }
                let taken = |name: &String| sources.iter().flat_map(|held| held.columns.iter()).any(|(held, _)| held == name);
                if let Some((name, _)) = source.columns.iter().find(|(name, _)| taken(name)) {
                    return Err(Error::invalid(format!("column `{name}` is in two tables: merge the indexes instead")));
                }
                sources.push(IndexSource { base: before + source.base, ..source.clone() });
            }
        }
        if sources.is_empty() {
            return Err(Error::invalid("a frame without an index"));
        }
        let found = Self { frame, sources: sources.into() };
        found.check()?;
        Ok(found)
    }

    /// The rows of `table`, one of the tables of this index, that stand in the frame, in frame order.
    ///
    /// # Errors
    /// `NotFound` where the index is not of this table version.
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

    /// Whether a column of a frame is a locator, which names a row of a table. The engine makes and reads locators.
    pub fn is_locator(column: &str) -> bool {
        is_locator(column)
    }

    /// A hint for a column that the index does not have: the nearest name, or the names that there are.
    pub fn hint(&self, column: &str) -> String {
        match nearest(column, self.column_names()) {
            Some(near) => format!("nearest: `{near}`"),
            None => format!("its columns: {}", listed(self.column_names())),
        }
    }

    /// The names of the columns that are not locators.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.frame.columns().iter().map(|column| column.name().as_str()).filter(|name| !is_locator(name))
    }

    fn collect(&self, what: &str, frame: LazyFrame) -> Result<Self> {
        self.keep(index::collect(frame).map_err(|error| refused(what, &error))?)
    }

    /// A frame made by something that keeps locators, if it was not told to overwrite them.
    fn keep(&self, frame: DataFrame) -> Result<Self> {
        self.with_frame(frame)
    }

    fn check(&self) -> Result<()> {
        self.located().map(|_| ())
    }

    /// The row of each source for each row of the frame.
    pub(in crate::table) fn located(&self) -> Result<Vec<Vec<i64>>> {
        let partial = self.sources.len() > 1;
        let located = self.sources.iter().map(|source| locate(&self.frame, source.tag, source.table.rows(), partial));
        let located = located.collect::<Result<Vec<_>>>()?;
        for (source, rows) in self.sources.iter().zip(&located) {
            if let Some(row) = source.lists.as_ref().and_then(|lists| lists.first_stranger(rows)) {
                return Err(Error::invalid(format!("row {row} of {} begins no list of the merge", source.table.url())));
            }
        }
        let nowhere = |row: &usize| located.iter().all(|rows| rows.get(*row) == Some(&NO_ROW));
        match (0..self.frame.height()).find(|row| partial && nowhere(row)) {
            Some(row) => Err(Error::invalid(format!("frame row {row}: no partner (-1) in every table"))),
            None => Ok(located),
        }
    }
}

impl RowLoader {
    /// A loader whose positions are the rows of the index.
    ///
    /// # Errors
    /// As [`Index::with_frame`].
    pub fn new(index: &Index) -> Result<Self> {
        let mut sources = Vec::with_capacity(index.sources.len());
        for (source, at) in index.sources.iter().zip(index.located()?) {
            sources.push(Source {
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
    let said = error.to_string();
    // Behind it stand the columns, locators among them, and the whole plan.
    let said = said.split("; valid columns").next().and_then(|said| said.split("\n\n").next()).unwrap_or_default();
    Error::invalid(format!("{what}: {}", short(said.trim())))
}
