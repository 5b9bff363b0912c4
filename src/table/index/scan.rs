//! Reads the index of a table part by part, for an index that is larger than memory.
//!
//! Memory holds the index object of one segment, the columns of one part, and up to 128 MiB of tails.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use polars::prelude::{DataFrame, Expr};

use super::{
    index::{Index, IndexSource},
    load::{LARGE, fill, first_of, free, neighbours, others_for},
    segments::IndexPlan,
};
use crate::{
    error::{Error, Result},
    format::{Locator, RowGroups},
    index::{self, Filling, Predicate, frame_bytes, of_expression, of_serialized, with_locators, without_locators},
    schema::{Column, ColumnType},
    table::version::{seen::seen_columns, table::Table},
    work::{Stop, offload_large},
};

/// Rows of a part, unless a row group has more.
const PART_ROWS: u64 = 256 << 10;
/// Bytes of work in memory for each byte of the whole frame, and for each row.
const COPIES: u64 = 3;
const ROW_BYTES: u64 = 64;

/// Reads the index of a table version part by part, in table order.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use polars::prelude::{IntoLazy, col, lit};
/// use tetrys::{RowLoader, Table};
/// let table = Table::open("/data/sensors").await?;
/// let fast = col("speed").gt(lit(50.0));
/// let (mut scan, mut found) = (table.scan_index()?.columns(["speed"])?.prune(&fast), None::<polars::frame::DataFrame>);
/// while let Some(part) = scan.next().await? {
///     let speeds = part.frame(["speed"], true)?;
///     let rows = speeds.lazy().filter(fast.clone()).collect().unwrap();
///     found = Some(found.map_or(rows.clone(), |found| found.vstack(&rows).unwrap()));
/// }
/// let loader = RowLoader::new(&table.index_from(found.unwrap())?)?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use]
pub struct IndexScan {
    table: Table,
    categorical: bool,
    plan: IndexPlan,
    /// Numbers of the segments that are not read yet.
    segments: VecDeque<usize>,
    /// Parts of the segment before these.
    parts: VecDeque<IndexPart>,
}

/// Rows of one segment of an index, whose columns can be decoded.
#[derive(Clone, Debug)]
pub struct IndexPart {
    table: Table,
    categorical: bool,
    /// Ascending places of the columns that were read.
    columns: Arc<[usize]>,
    object: Arc<RowGroups>,
    groups: Range<usize>,
    rows: Vec<Range<u64>>,
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
        Ok(self.scan_stored(seen_columns(self.manifest()), Predicate::Anything))
    }

    /// Starts to read these stored index columns part by part, also the row columns of a view, where the predicate may be true.
    /// Columns and predicate are over places in the stored index.
    pub(in crate::table) fn scan_stored(&self, columns: Vec<usize>, predicate: Predicate) -> IndexScan {
        let segments = (0..self.manifest().segments.len()).collect();
        let plan = IndexPlan::new(self, columns, predicate);
        IndexScan { table: self.clone(), categorical: false, plan, segments, parts: VecDeque::new() }
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
        Index::of(DataFrame::empty(), [IndexSource::of_table(self, None)].into()).with_frame(frame)
    }
}

impl Table {
    /// Returns the index of this table, which is no view, without its rows.
    pub(in crate::table) fn empty_index(&self) -> Result<Index> {
        let frame = self.scan_index()?.empty()?;
        let source = IndexSource::of_table(self, Some(without_locators(&frame)?));
        Ok(Index::of(frame, [source].into()))
    }

    /// Estimates the bytes that it takes to work with the whole index in memory.
    pub(in crate::table) fn bytes_in_memory(&self) -> u64 {
        let sources = self.view().map(|view| view.sources.as_slice()).unwrap_or_default();
        let joined = sources.iter().filter(|source| source.maps().next().is_some());
        let maps = joined.filter_map(|source| sources.get(source.base)).map(|base| base.rows.saturating_mul(8));
        let frame = frame_bytes(&self.stored_index(), self.rows(), false).saturating_add(self.index_object_bytes());
        let frame = maps.fold(frame, u64::saturating_add);
        frame.saturating_mul(COPIES).saturating_add(self.rows().saturating_mul(ROW_BYTES))
    }

    /// Estimates the bytes of a row of the index in memory.
    pub(in crate::table) fn row_bytes(&self) -> u64 {
        let stored = self.index_object_bytes().div_ceil(self.rows().max(1));
        frame_bytes(&self.stored_index(), 1 << 10, false).div_ceil(1 << 10) + stored + 16
    }

    fn stored_index(&self) -> Vec<&Column> {
        self.described(&(0..self.manifest().schema.index().len()).collect::<Vec<_>>())
    }

    /// Returns the bytes of the index objects, at least what the texts take. [`frame_bytes`] leaves out long texts.
    fn index_object_bytes(&self) -> u64 {
        self.manifest().segments.iter().map(|segment| segment.index.bytes).sum()
    }
}

impl IndexScan {
    /// Decodes text as categorical columns.
    pub fn categorical(mut self) -> Self {
        self.categorical = true;
        self
    }

    /// Reads only these index columns. Call it before the first part is read.
    ///
    /// # Errors
    /// - `NotFound`: the table has no such index column.
    pub fn columns<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Result<Self> {
        self.plan = IndexPlan::new(&self.table, places_of(&self.table, names)?, self.plan.predicate);
        Ok(self)
    }

    /// Skips rows for which the expression cannot be true, by the statistics of segments, row groups and pages. Other rows for
    /// which it is not true remain, so filter the frame of each part, too. Call it before the first part is read.
    ///
    /// Comparisons of columns with literals, `is_in`, `is_null` and `is_not_null`, and these joined by `and` and `or`, exclude rows.
    pub fn prune(self, expression: &Expr) -> Self {
        // Without skipped rows, the caller still has all rows that it filters.
        let predicate = of_expression(&self.named(), expression).map_or(Predicate::Anything, |found| found.predicate);
        self.pruned_by(predicate)
    }

    /// Skips rows as [`IndexScan::prune`] does, by an expression that polars has written as JSON (`Expr.meta.serialize` in Python).
    /// Of an expression that is not known here, no row is skipped.
    pub fn prune_json(self, expression: &str) -> Self {
        let predicate = of_serialized(&self.named(), expression);
        self.pruned_by(predicate)
    }

    fn named(&self) -> Vec<(&str, &ColumnType)> {
        self.table.schema().index().map(|column| (column.name.as_str(), &column.ty)).collect()
    }

    fn pruned_by(mut self, predicate: Predicate) -> Self {
        let both = Predicate::All(vec![self.plan.predicate, predicate]);
        self.plan = IndexPlan::new(&self.table, self.plan.columns, both);
        self
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

    /// Returns the next rows, or `None` after the last ones. Reads the columns of a segment when its first rows are due.
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
            let Some(read) = self.table.plan_segment(&self.plan, number).await?.filter(|read| !read.rows.is_empty()) else {
                self.segments.pop_front();
                continue;
            };
            // The bytes of the segment before are not used any more, unless the caller keeps a part.
            free(read.bytes > LARGE as u64);
            let (read, bytes) = self.table.segment_bytes(read).await?;
            let rows: Vec<Range<u64>> = read.table_rows(&self.table).collect();
            let table = self.table.clone();
            let object = Arc::new(offload_large(bytes.len() / 16, move |_| read.open(&table, &bytes)).await?);
            self.segments.pop_front();
            let columns: Arc<[usize]> = self.plan.columns.as_slice().into();
            let (heights, mut rows) = (object.rows().collect::<Vec<_>>(), rows.into());
            for (groups, height) in neighbours(&heights, PART_ROWS) {
                self.parts.push_back(IndexPart {
                    table: self.table.clone(),
                    categorical: self.categorical,
                    columns: Arc::clone(&columns),
                    object: Arc::clone(&object),
                    groups,
                    rows: first_of(&mut rows, height),
                });
            }
        }
    }
}

impl IndexPart {
    /// Returns the row numbers of this part, as ascending ranges.
    pub fn rows(&self) -> &[Range<u64>] {
        &self.rows
    }

    /// Returns the number of rows.
    pub fn len(&self) -> u64 {
        self.rows.iter().map(|rows| rows.end - rows.start).sum()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Decodes these index columns, in the order of the table, and adds the locator column if `locators`. Other columns are not
    /// decoded.
    ///
    /// # Errors
    /// - `NotFound`: the scan has no such index column.
    /// - `Corrupt`: the index is damaged.
    /// - `Unsupported`: a time does not fit into a frame.
    pub fn frame<N: AsRef<str>>(&self, columns: impl IntoIterator<Item = N>, locators: bool) -> Result<DataFrame> {
        let (places, rows) = (places_of(&self.table, columns)?, self.len());
        if let Some(other) = places.iter().find(|place| !self.columns.contains(place)) {
            let described = self.table.described(&[*other]);
            let name = described.first().map_or("", |column| column.name.as_str());
            return Err(Error::not_found(format!("`{name}` is not one of the columns of the scan")));
        }
        let frame = match places.is_empty() {
            true => DataFrame::new(usize::try_from(rows).unwrap_or(usize::MAX), Vec::new()).map_err(index::internal)?,
            false => self.stored(&places, &Stop::default())?,
        };
        match locators {
            true => {
                let tag = Locator::tag(self.table.manifest().table, self.table.version());
                let rows = self.rows.iter().flat_map(|rows| rows.start.cast_signed()..rows.end.cast_signed());
                with_locators(&frame, tag, rows)
            }
            false => Ok(frame),
        }
    }

    /// Decodes stored index columns, given by ascending places that were read.
    pub(in crate::table) fn stored(&self, places: &[usize], stop: &Stop) -> Result<DataFrame> {
        let mut filling = Filling::new(&self.table.described(places), self.len(), self.categorical)?;
        let groups: Vec<_> = self.groups.clone().map(|group| (&*self.object, group)).collect();
        fill(&mut filling, &groups, places, others_for(self.len()), stop)?;
        filling.finish()
    }
}

/// Returns the ascending places of these index columns.
fn places_of<N: AsRef<str>>(table: &Table, names: impl IntoIterator<Item = N>) -> Result<Vec<usize>> {
    let (schema, seen) = (table.schema(), seen_columns(table.manifest()));
    let mut places = Vec::new();
    for name in names {
        let name = name.as_ref();
        let place = schema.index().position(|column| column.name == name);
        let place = place.and_then(|place| seen.get(place).copied());
        places.push(place.ok_or_else(|| Error::not_found(format!("{}: no index column `{name}`", table.url())))?);
    }
    places.sort_unstable();
    places.dedup();
    Ok(places)
}
