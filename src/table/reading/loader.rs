//! Reads rows and windows of one or several tables into Arrow columns.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use arrow_array::ArrayRef;
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use futures::future::try_join_all;

use super::{
    index_values,
    result::{Described, result, rows_of_one},
    rows::{Row, Rows},
    select::{Part, Selection, Slots, distinct},
    source::{GroupPages, LoaderSource, SourcePart},
    sources::Sources,
    wanted::{Found, Wanted, ensure_one_type, named},
    windows::Windows,
};
use crate::{
    error::{Error, Result},
    read::{BlockCache, CachedBlocks, Coalesce, Counted, Edge, Explain, Flights, ReadCounts, Window},
    schema::{self, ColumnGroup, ColumnId, ColumnType},
    table::version::{seen::seen_index_names, table::Table},
    work::{Stop, boxed, offload, yield_now},
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
#[must_use]
pub struct RowLoader {
    sources: Sources,
    len: u64,
    pub(super) columns: Vec<Wanted>,
    /// All group columns; [`RowLoader::columns`] chooses from them.
    every: Arc<[Wanted]>,
    /// All index columns; [`RowLoader::columns`] chooses from them.
    every_index: Arc<[Wanted]>,
    edge: Edge,
    coalesce: Option<Coalesce>,
    /// Whether an explained cost has each range.
    places: bool,
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
    /// If one table holds all columns, none of which is an index column: the place of each column among the wanted pages.
    order: Option<Vec<usize>>,
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
        let hidden = &seen_index_names(table.manifest());
        let columns = view.sources.iter().enumerate().flat_map(|(number, source)| {
            let seen = source.columns.iter().filter(move |column| !hidden.contains(column.name.as_str()));
            seen.map(move |column| (number, column.name.as_str(), column.id, source.type_of(column)))
        });
        // The source tables are not open yet. Their index columns have the types of the view's index columns.
        let types: HashMap<&str, &ColumnType> = table.schema().index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let index = view.sources.iter().enumerate().flat_map(|(number, source)| {
            let typed = source.index.iter().filter_map(|column| Some((column, *types.get(column.name.as_str())?)));
            typed.map(move |(column, ty)| (number, column.name.as_str(), column.id, ty.clone()))
        });
        let mut loader = Self::of_columns(columns, index, table.rows());
        loader.sources = Sources::of_view(table);
        loader
    }

    /// Creates a loader for all rows and these group columns of a table that is no view. Its cost does not depend on the other
    /// columns, because a change of many column groups makes one for each.
    pub(in crate::table) fn of_group_columns(table: &Table, ids: &[ColumnId]) -> Self {
        Self::of_sources([LoaderSource::of_columns(table, None, ids)].into(), table.rows())
    }

    /// Returns the same loader with counts of its own, which start at 0.
    pub(crate) fn counted(self) -> Self {
        Self { counts: Arc::default(), ..self }
    }

    /// Returns what the reads of this loader and of its clones asked for.
    pub(crate) fn counts(&self) -> Counted {
        self.counts.get()
    }

    /// Returns the source tables. For a view, [`RowLoader::bind`] must have opened them.
    pub(super) fn sources(&self) -> &[LoaderSource] {
        self.sources.get()
    }

    /// Opens the source tables of a view. Every read calls this first.
    pub(super) async fn bind(&self) -> Result<()> {
        self.sources.open().await
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
        Self { sources: Sources::of(sources), ..loader }
    }

    /// Creates a loader without sources from its group columns and index columns: source number, name, id and type of each.
    fn of_columns<'a>(
        groups: impl Iterator<Item = (usize, &'a str, ColumnId, ColumnType)>,
        index: impl Iterator<Item = (usize, &'a str, ColumnId, ColumnType)>,
        len: u64,
    ) -> Self {
        let columns = named(groups, false);
        let (every, every_index) = (columns.clone().into(), named(index, true).into());
        let (sources, edge, coalesce, places, flights, counts, prepared) = Default::default();
        let cache = Arc::new(BlockCache::new(CACHE_BYTES));
        Self { sources, len, columns, every, every_index, edge, coalesce, places, cache, flights, counts, prepared }
    }

    /// Restricts the loader to the columns that match any of the patterns, e.g. `lidar.*`, `*.jpeg` or `re:...`.
    ///
    /// A pattern that matches no group column, e.g. `timestamp`, selects index columns, and so does a pattern behind `index:`, e.g.
    /// `index:*`. Index columns come first in the result.
    /// Their values come from the tables, so a window has them also for rows that a filter has removed from the index.
    ///
    /// # Errors
    /// - `NotFound`: a pattern matches no column; the message names the nearest column.
    /// - `Invalid`: a pattern is malformed, or an index column has different types in the tables.
    pub fn columns<P: AsRef<str>>(mut self, patterns: impl IntoIterator<Item = P>) -> Result<Self> {
        let [names, index] = [&self.every, &self.every_index].map(|columns| columns.iter().map(|column| column.name.as_str()));
        let (chosen, of_index) = index_values::select(&names.collect::<Vec<_>>(), &index.collect::<Vec<_>>(), patterns)?;
        let of_index: Vec<Wanted> = of_index.into_iter().filter_map(|place| self.every_index.get(place).cloned()).collect();
        ensure_one_type(&of_index)?;
        self.columns =
            of_index.into_iter().chain(chosen.into_iter().filter_map(|place| self.every.get(place).cloned())).collect();
        self.prepared = Arc::default();
        Ok(self)
    }

    /// Reads all columns: the index columns, and then those of the column groups. Without this call, a loader reads the column groups alone.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// let loader = tetrys::Table::open("/data/sensors").await?.row_loader().all_columns()?;
    /// println!("{:?}", loader.column_names().collect::<Vec<_>>());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: a view has an index column that no source table has.
    /// - `Invalid`: an index column has different types in the tables.
    pub fn all_columns(mut self) -> Result<Self> {
        let named = |name: &str| self.every_index.iter().find(|column| column.name == name).cloned();
        let index: Vec<Wanted> = match self.table().filter(|table| table.is_view()) {
            Some(view) => {
                let columns = view.schema().index().map(|column| {
                    let none = || {
                        format!("index column `{}` of {}: no source table has it; name other columns", column.name, view.url())
                    };
                    named(&column.name).ok_or_else(|| Error::not_found(none()))
                });
                columns.collect::<Result<_>>()?
            }
            None => self.every_index.to_vec(),
        };
        ensure_one_type(&index)?;
        // A frame that was joined by hand may have an index column and a group column of one name.
        let payload = self.every.iter().filter(|column| !index.iter().any(|existing| existing.name == column.name)).cloned();
        self.columns = index.iter().cloned().chain(payload).collect();
        self.prepared = Arc::default();
        Ok(self)
    }

    /// Returns the loader of those of its columns for which `keep` is true.
    pub(super) fn only(&self, keep: impl Fn(&Wanted) -> bool) -> Self {
        let columns = self.columns.iter().filter(|column| keep(column)).cloned().collect();
        Self { columns, prepared: Arc::default(), ..self.clone() }
    }

    /// Returns the table whose rows the positions are, in its order, if there is one.
    pub(super) fn table(&self) -> Option<&Table> {
        self.sources.table()
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

    /// Makes [`RowLoader::explain`] and the other explained costs also return each range, with the blocks that are needed of it
    /// ([`ExplainGroup::places`](crate::table::ExplainGroup::places)).
    pub fn explain_places(mut self) -> Self {
        self.places = true;
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
        Ok(Row::new(self.read(self.selection().rows(&[position])?).await?))
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
                let plan = source.plan(wanted, &groups, self.coalesce, &self.cached_blocks(number)).await?;
                total = total.and(source.explain(plan, self.places).await?);
            }
        }
        Ok(total)
    }

    /// Returns the indexes of the columns that match any of the patterns.
    pub(super) fn select<P: AsRef<str>>(&self, columns: &[Wanted], patterns: impl IntoIterator<Item = P>) -> Result<Vec<usize>> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let tables = self.sources.tables();
        let index: Vec<&str> = tables.flat_map(|table| table.schema().index()).map(|column| column.name.as_str()).collect();
        schema::select(&names, &index, patterns)
    }

    pub(super) fn every_column(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    /// Returns the rows at positions. Many positions are looked up off the executor.
    pub(super) async fn slots_of(&self, positions: &[u64]) -> Result<Slots> {
        if positions.len() <= FEW {
            return self.selection().rows(positions);
        }
        let (loader, positions) = (self.clone(), positions.to_vec());
        offload(move |_| loader.selection().rows(&positions)).await
    }

    fn selection(&self) -> Selection<'_> {
        Selection { sources: self.sources(), len: self.len, edge: self.edge }
    }

    /// Returns the first base that has a row at a position, and the window's rows there. Prefetches the layouts of `columns`.
    pub(super) async fn window_of(&self, position: u64, wanted: &Window, columns: &[usize]) -> Result<(usize, Vec<Option<u64>>)> {
        let groups = |number| self.groups(number, columns).map(|groups| groups.iter().map(GroupPages::group).collect());
        self.selection().window(position, wanted, |number| groups(number).unwrap_or_default()).await
    }

    /// Returns the rows of the window around a position, for these columns.
    async fn window_slots(&self, position: u64, wanted: &Window, columns: &[usize]) -> Result<Slots> {
        let (base, rows) = self.window_of(position, wanted, columns).await?;
        let columns = columns.iter().filter_map(|column| self.columns.get(*column));
        self.selection().partners(position, base, &rows, columns)
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
                let order = self.order(&groups);
                let prepared = Prepared { groups, order, schema: Arc::new(ArrowSchema::new(fields)), types };
                Ok(self.prepared.get_or_init(|| prepared))
            }
        }
    }

    /// Returns [`Prepared::order`].
    fn order(&self, groups: &[Vec<GroupPages>]) -> Option<Vec<usize>> {
        let ([source], [groups]) = (self.sources(), groups) else { return None };
        let pages: HashMap<ColumnId, usize> =
            groups.iter().flat_map(GroupPages::ids).enumerate().map(|(place, id)| (id, place)).collect();
        let place = |column: &Wanted| match &*column.origins {
            [(_, id)] if !column.of_index => pages.get(id).copied(),
            _ => None,
        };
        if source.lists.is_some() || self.columns.is_empty() { None } else { self.columns.iter().map(place).collect() }
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
        if let Some(arrays) = self.read_few(&slots).await? {
            let Prepared { schema, types, .. } = self.prepared()?;
            return rows_of_one(Described { schema, types }, arrays, slots);
        }
        // Boxed, so that a read of few rows does not carry what a general one needs.
        let mut rows = boxed(|| self.read_parts(vec![Part { columns: self.every_column(), slots: &slots }])).await?;
        rows.pop().ok_or_else(|| Error::internal("a read without rows"))
    }

    /// Reads few rows of all columns, if one table holds all of them: as [`RowLoader::read_parts`] does, without what several tables or
    /// parts need. Returns the columns, in order.
    async fn read_few(&self, slots: &Slots) -> Result<Option<Vec<ArrayRef>>> {
        let Prepared { groups, order, .. } = self.prepared()?;
        let ([source], [groups], [rows], Some(order)) = (self.sources(), &**groups, &*slots.of, order) else { return Ok(None) };
        if !rows.iter().any(Option::is_some) {
            return Ok(None);
        }
        let Some(layouts) = source.layouts_of_few(rows.len(), groups) else { return Ok(None) };
        let cache = self.cached_blocks(0);
        let plan = source.plan_few(rows, (groups, &layouts), self.coalesce, &cache).await?;
        self.counts.add(&plan.plan);
        let found = source.execute(plan, &cache, &self.flights, self.counts.sent()).await?;
        let array = |place: &usize| found.get(*place).map(|(_, array)| ArrayRef::clone(array));
        Ok(Some(order.iter().map(array).collect::<Option<_>>().ok_or_else(|| Error::internal("a column was not read"))?))
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
                let cache = self.cached_blocks(number);
                let plan = source.plan(wanted, &groups?, self.coalesce, &cache).await?;
                self.counts.add(&plan.plan);
                let found = source.read(plan, &cache, &self.flights, self.counts.sent()).await?;
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
            return self.results(&parts, found, &Stop::default());
        }
        let loader = self.clone();
        let parts: Vec<_> = parts.into_iter().map(|part| (part.columns, part.slots.clone())).collect();
        offload(move |stop| {
            let parts: Vec<_> = parts.iter().map(|(columns, slots)| Part { columns: columns.clone(), slots }).collect();
            loader.results(&parts, found, stop)
        })
        .await
    }

    /// Assembles the rows of each part from the arrays of all sources.
    fn results(&self, parts: &[Part<'_>], mut found: Vec<Found>, stop: &Stop) -> Result<Vec<Rows>> {
        let rows = parts.iter().enumerate().map(|(place, part)| {
            stop.check()?;
            let described = match part.columns.len() == self.columns.len() {
                true => self.prepared().map(|Prepared { schema, types, .. }| Some(Described { schema, types }))?,
                false => None,
            };
            let columns: Vec<&Wanted> = part.columns.iter().filter_map(|column| self.columns.get(*column)).collect();
            result(self.sources(), place, &columns, described, part.slots, &mut found)
        });
        rows.collect()
    }
}
