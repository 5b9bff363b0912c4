//! Reads rows and windows of one or several tables into Arrow columns.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use futures::future::{join, join_all, try_join_all};

use super::{
    index_values,
    parts::{Found, Part, Wanted, distinct, named, one_below_the_other},
    rows::{Row, Rows},
    source::{GroupPages, LoaderSource, Slots, SourcePart},
    windows::Windows,
};
use crate::{
    error::{Error, Result},
    offload::{Stop, offload, yield_now},
    once::Once,
    read::{BlockCache, CachedBlocks, Coalesce, Counted, Edge, Explain, Flights, ReadCounts, Window, window},
    schema::{self, ColumnGroup, ColumnId, ColumnType},
    table::table::Table,
};

/// Reads rows of a table, or of several merged tables, by position in an index or by table row.
///
/// A loader is cheap to clone, can be shared by threads, and does not use polars after it is created.
///
/// A loader and its clones share a cache of decoded blocks and the requests in flight: concurrent reads that need the same bytes
/// of a remote store send one request.
///
/// A read of local files or cached blocks that takes about a millisecond or less runs on the thread that polls it. A longer read
/// runs on other threads and does not block the executor. Dropping the future of a read cancels it: no further requests are sent,
/// and other threads stop at the next block. A read needs a tokio runtime only if its store does.
#[derive(Clone, Debug)]
pub struct RowLoader {
    /// The source tables. The loader of a view sets them in its first read, all other loaders when they are created.
    sources: Arc<Once<Arc<[LoaderSource]>>>,
    view: Option<Table>,
    len: u64,
    pub(super) columns: Vec<Wanted>,
    /// All group columns; [`RowLoader::columns`] chooses from them.
    every: Arc<[Wanted]>,
    /// All index columns; [`RowLoader::columns`] chooses from them.
    every_index: Arc<[Wanted]>,
    edge: Edge,
    coalesce: Option<Coalesce>,
    cache: Arc<BlockCache>,
    flights: Arc<Flights>,
    counts: Arc<ReadCounts>,
    /// Computed by the first read, and again after a change of columns or costs. This saves time in reads of small rows.
    prepared: Arc<OnceLock<Prepared>>,
}

/// The state that all reads of all wanted columns share.
#[derive(Clone, Debug)]
struct Prepared {
    /// The groups to read from each source, and the wanted pages of each group.
    groups: Vec<Vec<GroupPages>>,
    /// The columns of the result.
    schema: SchemaRef,
    types: Arc<[ColumnType]>,
}

/// Default size of the cache of decoded blocks, in bytes.
const CACHE_BYTES: usize = 64 << 20;
/// The most positions that are looked up, or values that are assembled, on the calling thread: about a millisecond of work.
const FEW: usize = 16 << 10;
/// Number of windows after which `get_windows` and `explain_windows` yield to other futures of the executor.
const WINDOWS_AT_ONCE: usize = 256;

impl Table {
    /// Returns a loader for all rows and all group columns of the table. Positions are row numbers.
    pub fn row_loader(&self) -> RowLoader {
        RowLoader::of_table(self)
    }
}

impl RowLoader {
    pub(in crate::table) fn of_table(table: &Table) -> Self {
        let Some(view) = table.view() else {
            return Self::of_sources([LoaderSource::of_table(table, None)].into(), table.rows());
        };
        let columns = view.sources.iter().enumerate().flat_map(|(number, source)| {
            source.columns.iter().map(move |column| (number, column.name.as_str(), column.id, source.type_of(column)))
        });
        // The source tables are not open yet. Their index columns have the types of the view's index columns.
        let types: HashMap<&str, &ColumnType> = table.schema().index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let index = view.sources.iter().enumerate().flat_map(|(number, source)| {
            let typed = source.index.iter().filter_map(|column| Some((column, *types.get(column.name.as_str())?)));
            typed.map(move |(column, ty)| (number, column.name.as_str(), column.id, ty.clone()))
        });
        let mut loader = Self::of_columns(columns, index, table.rows());
        loader.view = Some(table.clone());
        loader
    }

    /// Creates a loader for all rows and these group columns of a table that is no view. Its cost does not depend on the other
    /// columns, because a change of many column groups makes one for each.
    pub(in crate::table) fn of_group_columns(table: &Table, ids: &[ColumnId]) -> Self {
        Self::of_sources([LoaderSource::of_columns(table, None, ids)].into(), table.rows())
    }

    /// Returns the source tables. For a view, [`RowLoader::bind`] must have opened them.
    pub(super) fn sources(&self) -> &[LoaderSource] {
        self.sources.get().map(|sources| &**sources).unwrap_or_default()
    }

    /// Returns the same loader with counts of its own, which start at 0.
    pub(crate) fn counted(self) -> Self {
        Self { counts: Arc::default(), ..self }
    }

    /// Returns what the reads of this loader and of its clones asked for.
    pub(crate) fn counts(&self) -> Counted {
        self.counts.get()
    }

    /// Opens the source tables of a view. Every read calls this first.
    pub(super) async fn bind(&self) -> Result<()> {
        if let Some(view) = &self.view {
            let view = view.clone();
            self.sources.get_or_load(|| view.bound_sources()).await?;
        }
        Ok(())
    }

    /// Creates a loader of `len` positions. Columns of the same name must have the same type in all sources.
    pub(in crate::table) fn of_sources(sources: Arc<[LoaderSource]>, len: u64) -> Self {
        let columns = sources.iter().enumerate().flat_map(|(number, source)| {
            let typed = source.columns.iter().filter_map(|(name, id)| source.type_of(*id).map(|ty| (name.as_str(), *id, ty)));
            typed.map(move |(name, id, ty)| (number, name, id, ty))
        });
        let index = sources.iter().enumerate().flat_map(|(number, source)| {
            let typed = source.index.iter().filter_map(|(name, id)| source.index_type(*id).map(|ty| (name.as_str(), *id, ty)));
            typed.map(move |(name, id, ty)| (number, name, id, ty))
        });
        let loader = Self::of_columns(columns, index, len);
        Self { sources: Arc::new(Once::from(sources)), ..loader }
    }

    /// Creates a loader without sources from its group columns and index columns: source number, name, id and type of each.
    fn of_columns<'a>(
        groups: impl Iterator<Item = (usize, &'a str, ColumnId, ColumnType)>,
        index: impl Iterator<Item = (usize, &'a str, ColumnId, ColumnType)>,
        len: u64,
    ) -> Self {
        let columns = named(groups, false);
        let (every, every_index) = (columns.clone().into(), named(index, true).into());
        let (sources, edge, coalesce, flights, counts, prepared) = Default::default();
        let cache = Arc::new(BlockCache::new(CACHE_BYTES));
        Self { sources, view: None, len, columns, every, every_index, edge, coalesce, cache, flights, counts, prepared }
    }

    /// Restricts the loader to the columns that match any of the patterns, e.g. `lidar.*`, `*.jpeg` or `re:...`.
    ///
    /// A pattern that matches no group column, e.g. `timestamp`, selects index columns. Index columns come first in the result.
    /// Their values come from the tables, so a window has them also for rows that a filter has removed from the index.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column; the message names the nearest column.
    /// - `Invalid`: a pattern is malformed, or an index column has different types in the tables.
    pub fn columns<P: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let [names, index] = [&self.every, &self.every_index].map(|columns| columns.iter().map(|column| column.name.as_str()));
        let (chosen, of_index) = index_values::select(&names.collect::<Vec<_>>(), &index.collect::<Vec<_>>(), patterns)?;
        let of_index: Vec<Wanted> = of_index.into_iter().filter_map(|place| self.every_index.get(place).cloned()).collect();
        if let Some(column) = of_index.iter().find(|column| column.is_mixed) {
            return Err(Error::invalid(format!(
                "index column `{}` has different types in the concatenated tables: read it from the frame instead",
                column.name
            )));
        }
        self.columns =
            of_index.into_iter().chain(chosen.into_iter().filter_map(|place| self.every.get(place).cloned())).collect();
        self.prepared = Arc::default();
        Ok(self)
    }

    /// Sets the rule for missing rows of windows. The default is [`Edge::Pad`].
    pub fn edge(mut self, edge: Edge) -> Self {
        self.edge = edge;
        self
    }

    /// Sets the rule for coalescing byte ranges. By default, it is [`Coalesce::LOCAL`] or [`Coalesce::REMOTE`], as the store is.
    pub fn coalesce(mut self, coalesce: Coalesce) -> Self {
        self.coalesce = Some(coalesce);
        self.prepared = Arc::default();
        self
    }

    /// Sets the size of the cache of decoded blocks in bytes; the default is 64 MiB, and 0 turns the cache off. The cache starts
    /// empty.
    ///
    /// Small rows share a block. A block of which a read returned some rows but not all is cached, so that its other rows need no
    /// request and no decoding. [`RowLoader::explain`] does not count cached blocks.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache = Arc::new(BlockCache::new(bytes));
        self
    }

    /// Also caches blocks of which a read takes every row. Long windows in random order read such blocks again and again. A scan then
    /// evicts everything else from the cache. The cache starts empty.
    pub fn cache_whole_blocks(mut self) -> Self {
        self.cache = Arc::new(BlockCache::of_whole_blocks(self.cache.bytes()));
        self
    }

    /// Returns the number of positions.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no positions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of the columns that are read, in order.
    pub fn column_names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// Returns the names of the columns that are read and that match a pattern, in order.
    ///
    /// # Errors
    /// - `NotFound`: the pattern matches no column that is read.
    /// - `Invalid`: the pattern is malformed.
    pub fn column_names_matching(&self, pattern: &str) -> Result<Vec<&str>> {
        let places = self.places(pattern)?;
        Ok(places.into_iter().filter_map(|place| self.columns.get(place)).map(|column| column.name.as_str()).collect())
    }

    /// Reads the row at a position.
    ///
    /// # Errors
    /// - `Invalid`: the position is outside the loader.
    /// - `Corrupt`, `Conflict`: stored data is damaged or missing, or a garbage collection has deleted the table version.
    /// - `Denied`, `NotFound`: another table, whose chunks or rows are needed, is not allowed or cannot be found.
    /// - Any error of the stores.
    pub async fn get_row(&self, position: u64) -> Result<Row> {
        self.bind().await?;
        Ok(Row::new(self.read(self.slots(&[position])?).await?))
    }

    /// Reads the window around a position, given by row offsets (`-10..=0`, [`Offsets`](crate::Offsets)) or by
    /// [`TimeOffsets`](crate::TimeOffsets). It follows the rows of the unfiltered table, within the sequence of the row.
    ///
    /// # Errors
    /// - `Invalid`: the position is outside the loader, the offsets are invalid, a row is missing under [`Edge::Error`], or a
    ///   column belongs to a table that was joined by hand.
    /// - Any other error of [`RowLoader::get_row`].
    pub async fn get_rows<W>(&self, position: u64, window: W) -> Result<Rows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        let everything = self.every_column();
        self.read(self.window_slots(position, &Window::try_from(window)?, &everything).await?).await
    }

    /// Reads the windows around several positions. A block that several windows share is read and decoded once.
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_rows`], for any of the positions.
    pub async fn get_windows<W>(&self, positions: &[u64], window: W) -> Result<Windows>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        let (slots, starts) = self.windows_slots(positions, &Window::try_from(window)?, &self.every_column()).await?;
        Ok(Windows::new(self.read(slots).await?, starts))
    }

    /// Returns the window's row numbers in the unfiltered table, and `None` for missing rows. No chunk is read.
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_rows`].
    pub async fn window_rows<W>(&self, position: u64, window: W) -> Result<Vec<Option<u64>>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        Ok(self.window_of(position, &Window::try_from(window)?, &[]).await?.1)
    }

    /// Reads windows of different columns around one position, e.g. ten lidar sweeps and one label. Each pair of column pattern
    /// and window gives one [`Rows`]. A block that several parts share is read and decoded once.
    ///
    /// ```no_run
    /// # async fn example(loader: tetrys::RowLoader) -> tetrys::Result<()> {
    /// use tetrys::Offsets;
    /// let parts = [("lidar.*", Offsets::try_from(-9..=0)?), ("labels.*", Offsets::new([0])?)];
    /// let [lidar, labels] = loader.get_parts(120, parts).await?.try_into().expect("one for each part");
    /// assert_eq!((lidar.len(), labels.len()), (10, 1));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column of the loader.
    /// - Any error of [`RowLoader::get_rows`].
    pub async fn get_parts<P: AsRef<str>, W>(&self, position: u64, parts: impl IntoIterator<Item = (P, W)>) -> Result<Vec<Rows>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        let parts = self.part_slots(position, parts).await?;
        self.read_parts(parts.iter().map(|(columns, slots)| Part { columns: columns.clone(), slots }).collect()).await
    }

    /// Reads the rows at these positions, in this order. Positions may repeat. Each block is read and decoded once.
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_row`], for any of the positions.
    pub async fn take(&self, positions: &[u64]) -> Result<Rows> {
        self.bind().await?;
        self.read(self.slots_of(positions).await?).await
    }

    /// Returns the cost of reading the window around a position. The window `0..=0` is the row alone.
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_rows`].
    pub async fn explain<W>(&self, position: u64, window: W) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.explain_windows(&[position], window).await
    }

    /// Returns the cost of [`RowLoader::get_windows`].
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_windows`].
    pub async fn explain_windows<W>(&self, positions: &[u64], window: W) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        let (slots, _) = self.windows_slots(positions, &Window::try_from(window)?, &self.every_column()).await?;
        self.explain_parts(&[Part { columns: self.every_column(), slots: &slots }]).await
    }

    /// Returns the cost of [`RowLoader::get_parts`].
    ///
    /// # Errors
    /// The errors of [`RowLoader::get_parts`].
    pub async fn explain_of_parts<P: AsRef<str>, W>(
        &self,
        position: u64,
        parts: impl IntoIterator<Item = (P, W)>,
    ) -> Result<Explain>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        self.bind().await?;
        let parts = self.part_slots(position, parts).await?;
        let parts: Vec<Part<'_>> = parts.iter().map(|(columns, slots)| Part { columns: columns.clone(), slots }).collect();
        self.explain_parts(&parts).await
    }

    /// Returns the cost of [`RowLoader::take`].
    ///
    /// # Errors
    /// The errors of [`RowLoader::take`].
    pub async fn explain_take(&self, positions: &[u64]) -> Result<Explain> {
        self.bind().await?;
        self.explain_parts(&[Part { columns: self.every_column(), slots: &self.slots_of(positions).await? }]).await
    }

    pub(super) async fn explain_parts(&self, parts: &[Part<'_>]) -> Result<Explain> {
        let mut total = Explain::default();
        for (number, source) in self.sources().iter().enumerate() {
            let wanted = self.source_parts(number, parts);
            if !wanted.is_empty() {
                let groups = self.groups(number, &distinct(parts))?;
                let wanted: Vec<SourcePart<'_>> = wanted.into_iter().map(|(_, part)| part).collect();
                let plan = source.plan(wanted, &groups, self.coalesce, self.cached_blocks(number)).await?;
                total = total.and(source.explain(plan).await?);
            }
        }
        Ok(total)
    }

    /// Returns the indexes of the columns that match any of the patterns.
    pub(super) fn select<P: AsRef<str>>(&self, columns: &[Wanted], patterns: impl IntoIterator<Item = P>) -> Result<Vec<usize>> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let tables = self.sources().iter().map(|source| &source.table).chain(&self.view);
        let index: Vec<&str> = tables.flat_map(|table| table.schema().index()).map(|column| column.name.as_str()).collect();
        schema::select(&names, &index, patterns)
    }

    pub(super) fn every_column(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    /// Returns the rows at positions. Many positions are looked up off the executor.
    pub(super) async fn slots_of(&self, positions: &[u64]) -> Result<Slots> {
        if positions.len() <= FEW {
            return self.slots(positions);
        }
        let (loader, positions) = (self.clone(), positions.to_vec());
        offload(move |_| loader.slots(&positions)).await
    }

    fn slots(&self, positions: &[u64]) -> Result<Slots> {
        for position in positions {
            self.check(*position)?;
        }
        let rows = |source: &LoaderSource| positions.iter().map(|position| source.row_at(*position)).collect();
        Ok(Slots { of: self.sources().iter().map(rows).collect() })
    }

    pub(in crate::table) fn check(&self, position: u64) -> Result<()> {
        match position < self.len {
            true => Ok(()),
            false => Err(Error::invalid(format!("row {position} is outside 0..{}", self.len()))),
        }
    }

    /// Returns the first base that has a row at a position, and the window's rows there. Prefetches the layouts of `columns`.
    pub(super) async fn window_of(&self, position: u64, wanted: &Window, columns: &[usize]) -> Result<(usize, Vec<Option<u64>>)> {
        self.check(position)?;
        let bases = self.sources().iter().enumerate().filter(|(number, source)| source.base == *number);
        let there = bases.filter_map(|(number, source)| source.row_at(position).map(|row| (number, source, row))).next();
        let (base, source, row) =
            there.ok_or_else(|| Error::invalid(format!("row {position} of the frame is in no table: a window needs a row")))?;
        let sequences = match source.table.sequences_now() {
            Some(sequences) => sequences,
            // The layouts that the read needs are prefetched concurrently, which saves a round trip.
            None => {
                let ahead = self.sources().iter().enumerate().map(|(number, source)| {
                    let groups = self.groups(number, columns).unwrap_or_default();
                    source.table.layouts_ahead(groups.iter().map(GroupPages::group).collect::<Vec<_>>())
                });
                join(source.table.sequences(), join_all(ahead)).await.0?
            }
        };
        let rows = match wanted {
            Window::Rows(offsets) => window(&sequences, row, offsets, self.edge)?,
            Window::Times(times) => {
                let values = source.table.times(times.column()).await?;
                let sequence = sequences.around(row).ok_or_else(|| Error::internal(format!("row {row} in no sequence")))?;
                self.edge.apply(times.rows(&values, sequence.clone(), row)?, row, sequence)?
            }
        };
        Ok((base, rows))
    }

    /// Returns the rows of the window around a position, for these columns.
    async fn window_slots(&self, position: u64, wanted: &Window, columns: &[usize]) -> Result<Slots> {
        let (base, rows) = self.window_of(position, wanted, columns).await?;
        let mut of = Vec::with_capacity(self.sources().len());
        for (number, source) in self.sources().iter().enumerate() {
            let merged = source.base == base;
            if !merged && source.row_at(position).is_some() {
                let reads = |column: &&Wanted| column.is_stored_in(number);
                if let Some(column) = columns.iter().filter_map(|column| self.columns.get(*column)).find(reads) {
                    return Err(source.no_join_map(&column.name));
                }
            }
            of.push(match merged {
                true => rows.iter().map(|row| row.and_then(|row| source.partner(row))).collect(),
                false => vec![None; rows.len()],
            });
        }
        Ok(Slots { of })
    }

    /// Returns the rows of the windows around several positions, and the start of each window.
    pub(super) async fn windows_slots(
        &self,
        positions: &[u64],
        window: &Window,
        columns: &[usize],
    ) -> Result<(Slots, Vec<usize>)> {
        let mut starts = vec![0];
        let mut all = Slots { of: vec![Vec::new(); self.sources().len()] };
        for (number, position) in positions.iter().enumerate() {
            if number % WINDOWS_AT_ONCE == WINDOWS_AT_ONCE - 1 {
                yield_now().await;
            }
            all.extend(self.window_slots(*position, window, columns).await?);
            starts.push(all.len());
        }
        Ok((all, starts))
    }

    async fn part_slots<P: AsRef<str>, W>(
        &self,
        position: u64,
        parts: impl IntoIterator<Item = (P, W)>,
    ) -> Result<Vec<(Vec<usize>, Slots)>>
    where
        Window: TryFrom<W>,
        Error: From<<Window as TryFrom<W>>::Error>,
    {
        let mut found = Vec::new();
        for (pattern, window) in parts {
            let columns = self.select(&self.columns, [pattern])?;
            let slots = self.window_slots(position, &Window::try_from(window)?, &columns).await?;
            found.push((columns, slots));
        }
        Ok(found)
    }

    /// Returns the columns and rows that each part reads from a source, with the number of the part. Empty parts are left out.
    fn source_parts<'a>(&self, number: usize, parts: &[Part<'a>]) -> Vec<(usize, SourcePart<'a>)> {
        let mut found = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let slots: &'a Slots = part.slots;
            let lists = self.sources().get(number).and_then(|source| source.lists.as_ref());
            let Some(rows) = slots.of.get(number).filter(|rows| rows.iter().any(Option::is_some)) else { continue };
            let wanted = part.columns.iter().filter_map(|column| self.columns.get(*column)).filter(|column| !column.of_index);
            let columns: Vec<ColumnId> =
                wanted.flat_map(|column| &column.origins).filter(|(origin, _)| *origin == number).map(|(_, id)| *id).collect();
            if !columns.is_empty() {
                let rows = lists.map_or(Cow::Borrowed(rows.as_slice()), |lists| Cow::Owned(lists.rows_of(rows)));
                found.push((place, SourcePart { columns, rows }));
            }
        }
        found
    }

    /// Returns the index columns that the parts read from a source: the number of the part, the column, and the rows.
    fn index_parts<'a>(&self, number: usize, parts: &[Part<'a>]) -> Vec<(usize, ColumnId, &'a [Option<u64>])> {
        let mut found = Vec::new();
        for (place, part) in parts.iter().enumerate() {
            let slots: &'a Slots = part.slots;
            let Some(rows) = slots.of.get(number).filter(|rows| rows.iter().any(Option::is_some)) else { continue };
            let wanted = part.columns.iter().filter_map(|column| self.columns.get(*column)).filter(|column| column.of_index);
            let ids = wanted.flat_map(|column| &column.origins).filter(|(origin, _)| *origin == number).map(|(_, id)| *id);
            found.extend(ids.map(|id| (place, id, rows.as_slice())));
        }
        found
    }

    /// Returns the numbers of the column groups that this loader reads of a source, ascending.
    pub(super) fn groups_read(&self, number: usize) -> Vec<usize> {
        let ids: Vec<ColumnId> = self
            .columns
            .iter()
            .filter(|column| !column.of_index)
            .flat_map(|column| &column.origins)
            .filter(|(origin, _)| *origin == number)
            .map(|(_, id)| *id)
            .collect();
        let groups = self.sources().get(number).map(|source| source.table.manifest().schema.groups()).unwrap_or_default();
        // A masked column is read from a later group.
        let has = |group: &ColumnGroup, id: &ColumnId| group.columns.contains(id) && !group.masked.contains(id);
        let is_read = |(_, group): &(usize, &ColumnGroup)| ids.iter().any(|id| has(group, id));
        groups.iter().enumerate().filter(is_read).map(|(number, _)| number).collect()
    }

    fn cached_blocks(&self, source: usize) -> CachedBlocks {
        CachedBlocks { blocks: Arc::clone(&self.cache), source }
    }

    fn prepared(&self) -> Result<&Prepared> {
        match self.prepared.get() {
            Some(prepared) => Ok(prepared),
            None => {
                let groups = (0..self.sources().len()).map(|number| self.choose_groups(number, &self.every_column()));
                let groups = groups.collect::<Result<Vec<_>>>()?;
                let fields: Vec<_> = self.columns.iter().map(|column| column.ty.arrow_field(&column.name)).collect();
                let types = self.columns.iter().map(|column| column.ty.clone()).collect();
                let prepared = Prepared { groups, schema: Arc::new(ArrowSchema::new(fields)), types };
                Ok(self.prepared.get_or_init(|| prepared))
            }
        }
    }

    /// Returns the groups to read from a source for these columns, each given once.
    pub(super) fn groups(&self, number: usize, columns: &[usize]) -> Result<Cow<'_, [GroupPages]>> {
        if columns.len() == self.columns.len() {
            return Ok(self.prepared()?.groups.get(number).map_or(Cow::Borrowed(&[]), |groups| Cow::Borrowed(groups)));
        }
        self.choose_groups(number, columns).map(Cow::Owned)
    }

    fn choose_groups(&self, number: usize, columns: &[usize]) -> Result<Vec<GroupPages>> {
        let wanted = columns.iter().filter_map(|column| self.columns.get(*column)).filter(|column| !column.of_index);
        let wanted = wanted.flat_map(|column| &column.origins);
        let ids: Vec<ColumnId> = wanted.filter(|(origin, _)| *origin == number).map(|(_, id)| *id).collect();
        self.sources()[number].choose_groups(&ids, self.coalesce)
    }

    async fn read(&self, slots: Slots) -> Result<Rows> {
        let mut rows = self.read_parts(vec![Part { columns: self.every_column(), slots: &slots }]).await?;
        rows.pop().ok_or_else(|| Error::internal("a read without rows"))
    }

    pub(super) async fn read_parts(&self, parts: Vec<Part<'_>>) -> Result<Vec<Rows>> {
        let columns = distinct(&parts);
        let mut reads = self.sources().iter().enumerate().map(|(number, source)| {
            let wanted = self.source_parts(number, &parts);
            let groups = self.groups(number, &columns);
            let of_index = self.index_parts(number, &parts);
            async move {
                let mut all = BTreeMap::new();
                for (place, id, rows) in of_index {
                    all.insert((place, id), source.index_at(id, rows).await?);
                }
                if wanted.is_empty() {
                    return Ok(all);
                }
                let (places, wanted): (Vec<usize>, Vec<SourcePart<'_>>) = wanted.into_iter().unzip();
                let plan = source.plan(wanted, &groups?, self.coalesce, self.cached_blocks(number)).await?;
                self.counts.add(&plan.plan);
                let found = source.read(plan, &self.flights, self.counts.sent()).await?;
                all.extend(found.into_iter().map(|((part, id), array)| ((places[part], id), array)));
                Ok::<_, Error>(all)
            }
        });
        let found: Vec<Found> = match (self.sources(), reads.next()) {
            ([_], Some(read)) => vec![read.await?],
            (_, first) => try_join_all(first.into_iter().chain(reads)).await?,
        };
        let values: usize = parts.iter().map(|part| part.slots.len().saturating_mul(part.columns.len())).sum();
        if found.len() <= 1 || values <= FEW {
            return self.all_rows(&parts, found, &Stop::default());
        }
        let loader = self.clone();
        let parts: Vec<_> = parts.into_iter().map(|part| (part.columns, part.slots.clone())).collect();
        offload(move |stop| {
            let parts: Vec<_> = parts.iter().map(|(columns, slots)| Part { columns: columns.clone(), slots }).collect();
            loader.all_rows(&parts, found, stop)
        })
        .await
    }

    fn all_rows(&self, parts: &[Part<'_>], mut found: Vec<Found>, stop: &Stop) -> Result<Vec<Rows>> {
        let rows = parts.iter().enumerate().map(|(place, part)| {
            stop.check()?;
            self.rows_of(place, part, &mut found)
        });
        rows.collect()
    }

    /// Assembles the rows of a part from the arrays of all sources.
    fn rows_of(&self, place: usize, part: &Part<'_>, found: &mut [Found]) -> Result<Rows> {
        let len = part.slots.len();
        let wanted: Vec<&Wanted> = part.columns.iter().filter_map(|column| self.columns.get(*column)).collect();
        let mut arrays = Vec::with_capacity(wanted.len());
        for column in &wanted {
            let mut origins = Vec::with_capacity(column.origins.len());
            for (source, id) in &column.origins {
                if let Some(array) = found.get_mut(*source).and_then(|found| found.remove(&(place, *id))) {
                    let lists = self.sources().get(*source).and_then(|source| source.lists.as_ref());
                    let array = match (lists, part.slots.of.get(*source)) {
                        (Some(lists), Some(slots)) => lists.arrays(slots, array)?,
                        _ => array,
                    };
                    origins.push((*source, array));
                }
            }
            let array = match origins.as_slice() {
                [] => new_null_array(&column.ty.arrow(), len),
                [(_, array)] => ArrayRef::clone(array),
                several => one_below_the_other(several, part.slots)?,
            };
            debug_assert_eq!(array.len(), len);
            arrays.push(array);
        }
        let (schema, types) = match wanted.len() == self.columns.len() {
            true => self.prepared().map(|prepared| (Arc::clone(&prepared.schema), Arc::clone(&prepared.types)))?,
            false => {
                let fields: Vec<_> = wanted.iter().map(|column| column.ty.arrow_field(&column.name)).collect();
                (Arc::new(ArrowSchema::new(fields)), wanted.iter().map(|column| column.ty.clone()).collect())
            }
        };
        let options = RecordBatchOptions::new().with_row_count(Some(len));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
        if let [only] = part.slots.of.as_slice() {
            return Ok(Rows::new(batch, types, only.clone()));
        }
        let there = |source: usize, row: usize| part.slots.of.get(source).and_then(|rows| rows.get(row)).copied().flatten();
        let bases = self.sources().iter().enumerate().filter(|(number, source)| source.base == *number);
        let bases: Vec<usize> = bases.map(|(number, _)| number).collect();
        let rows = (0..len).map(|row| bases.iter().find_map(|base| there(*base, row))).collect();
        let partners = wanted
            .iter()
            .map(|column| (0..len).map(|row| column.origins.iter().any(|(source, _)| there(*source, row).is_some())).collect());
        Ok(Rows::new(batch, types, rows).with_partners(partners.collect()))
    }
}
