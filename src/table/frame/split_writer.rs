//! Saves the rows of a table as the views of a split, even if the index is larger than memory. Reads the index part by part.
//!
//! ```text
//! index --- some row groups at a time ---> conditions ---> hash of the keys ---> rows of each view ---> segments of each view
//! ```
//!
//! The views equal those of [`Index::split`] and [`Index::save`], byte by byte.

use std::{ops::Range, path::PathBuf, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use futures::future::{join, try_join_all};
use polars::prelude::{BooleanChunked, DataFrame};
use serde_json::Value;

use super::{
    index::Index,
    scan::IndexPart,
    splits::{check_part_names, places, ranges},
};
use crate::{
    commit::IndexSegments,
    error::{Error, Result, counted},
    format::{Locator, Segment, ViewSource, index_arrow_schema},
    hints::listed,
    id::ObjectRef,
    index::{Predicate, Pushdown, check_process, filtered, internal, locate, of_condition, unframed, with_locators},
    offload::{Stop, offload},
    schema::{Column, ColumnType, Schema},
    store::{Store, StoreOptions},
    table::{
        reading::source::NO_ROW,
        seen::seen_columns,
        table::Table,
        temporary::{Folder, MEMORY_LIMIT},
        views::{
            SavedView, ViewSize, ViewWriter,
            saving::{BATCH_ROWS, Publishing, Stored, ViewSettings, check_targets},
        },
    },
};

/// The most views that are written at a time. Each has a temporary file.
const MOST_VIEWS: u64 = 64;

/// Splits the rows of a table by the hash of a key, and saves each part as a view, even if the index is larger than memory.
/// [`Table::split_writer`] creates it.
///
/// The views are those of [`Index::split`], saved by [`Index::save`]: the same rows in the same order. If the index does not fit
/// into the memory limit, it is read part by part. Rows that a condition with an aggregation or a window chooses are always split
/// in memory.
#[derive(Clone, Debug)]
pub struct SplitWriter {
    table: Table,
    /// `None` for one view of all rows.
    split: Option<Split>,
    conditions: Vec<String>,
    columns: Option<Vec<String>>,
    settings: ViewSettings,
    memory: u64,
    folder: Option<PathBuf>,
}

#[derive(Clone, Debug)]
struct Split {
    keys: Vec<String>,
    shares: Vec<(String, f64)>,
    salt: String,
}

impl Table {
    /// Returns a writer that splits the rows of this table by the hash of a key into named parts of about these shares, and saves
    /// each part as a view.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let sensors = Table::open("/data/sensors").await?;
    /// let split = sensors.split_writer(["log_id"], [("train", 0.8), ("val", 0.1), ("test", 0.1)]);
    /// for (name, view) in split.memory_limit(4 << 30).save("/data/splits").await? {
    ///     println!("/data/splits/{name}: {} rows", view.table.rows());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn split_writer<K: Into<String>, N: Into<String>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        shares: impl IntoIterator<Item = (N, f64)>,
    ) -> SplitWriter {
        let shares = shares.into_iter().map(|(name, share)| (name.into(), share)).collect();
        let split = Split { keys: keys.into_iter().map(Into::into).collect(), shares, salt: String::new() };
        SplitWriter { split: Some(split), ..SplitWriter::whole(self) }
    }
}

impl SplitWriter {
    /// Creates a writer of one view of the chosen rows.
    pub(crate) fn whole(table: &Table) -> Self {
        Self {
            table: table.clone(),
            split: None,
            conditions: Vec::new(),
            columns: None,
            settings: ViewSettings::default(),
            memory: MEMORY_LIMIT,
            folder: None,
        }
    }

    /// Sets the salt of the hash. Another salt gives other parts.
    #[must_use]
    pub fn salt(mut self, salt: impl Into<String>) -> Self {
        if let Some(split) = &mut self.split {
            split.salt = salt.into();
        }
        self
    }

    /// Splits only rows for which an SQL condition is true, as [`Index::filter_sql`] does. If repeated, all conditions must be true.
    #[must_use]
    pub fn filter_sql(mut self, condition: impl Into<String>) -> Self {
        self.conditions.push(condition.into());
        self
    }

    /// Keeps only these index columns, in this order. The keys must be among them.
    #[must_use]
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the memory in bytes up to which the split is made in memory. A larger split takes about this limit, plus the index
    /// object of a segment or a join map of a view as they are stored, plus a few hundred megabytes. The more views there are, and
    /// the lower the limit is, the more often the index is read. The default is 2 GiB.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the folder for temporary files: the segment of each view that is being written. They are deleted when they are closed,
    /// even if the process is killed. The default is the folder of the system.
    #[must_use]
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets a property of the views.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.properties.insert(key.into(), value.into());
        self
    }

    /// Sets a lineage entry of the views. The entry `part` is the name of the part.
    #[must_use]
    pub fn lineage(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.lineage.insert(key.into(), value.into());
        self
    }

    /// Sets whether to save the views even if no pin can be written to a source. See [`ViewWriter::allow_unpinned`].
    #[must_use]
    pub fn allow_unpinned(mut self, allowed: bool) -> Self {
        self.settings.allow_unpinned = allowed;
        self
    }

    /// Splits the rows, and saves each part as a new view at `url/name`. Returns the views in the order of the shares. The views are
    /// published one after the other, when the rows of all of them are stored. If that fails, some may be there and others not.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `NotFound`: a key or a column does not exist, or the folder for temporary files.
    /// - `Invalid`: there is no key, a key column is not text, integers, booleans or times, there are no shares, a share is not
    ///   positive, the shares add up to more than 1, two parts have one name, the name of a part is not that of a folder, or a
    ///   condition is malformed.
    /// - `Unavailable`: a temporary file cannot be written, as on a full disk.
    /// - `Denied`: no pin can be written to a source (see [`SplitWriter::allow_unpinned`]).
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save(self, url: &str) -> Result<Vec<(String, SavedView)>> {
        self.save_with(url, &StoreOptions::from_env()).await
    }

    /// Splits and saves as [`SplitWriter::save`] does, with options of the stores of the views.
    ///
    /// # Errors
    /// Those of [`SplitWriter::save`], and `Invalid` for a malformed option.
    pub async fn save_with(self, url: &str, stores: &StoreOptions) -> Result<Vec<(String, SavedView)>> {
        check_part_names(self.names().iter().flatten().map(String::as_str))?;
        let mut targets = Vec::new();
        for name in self.names() {
            targets.push((Store::open_with(&below(url, name.as_deref()), stores)?, None));
        }
        let saved = self.publish(targets).await?;
        Ok(saved.into_iter().map(|(name, view)| (name.unwrap_or_default(), view)).collect())
    }

    /// Splits, and saves the next version of views that exist, which are given in the order of the shares. Their tags and
    /// attachments stay, and so do properties that get no new value.
    ///
    /// # Errors
    /// Those of [`SplitWriter::save`] except `Exists`, `Invalid` if a table is not a view or there are more or fewer views than shares,
    /// and `Conflict` if a view has a newer version.
    pub async fn save_over(self, views: &[Table]) -> Result<Vec<(String, SavedView)>> {
        let saved = self.publish(views.iter().map(|view| (view.store().clone(), Some(view.clone()))).collect()).await?;
        Ok(saved.into_iter().map(|(name, view)| (name.unwrap_or_default(), view)).collect())
    }

    /// Returns the sizes of the views that [`SplitWriter::save`] would save. Large views are written to a folder in the temporary
    /// folder for that, and this folder stays if the process is killed.
    ///
    /// # Errors
    /// Those of [`SplitWriter::save`].
    pub async fn sizes(&self) -> Result<Vec<(String, ViewSize)>> {
        let sizes = self.sized().await?;
        Ok(sizes.into_iter().map(|(name, size)| (name.unwrap_or_default(), size)).collect())
    }

    /// Returns the size of each view, with the name of its part.
    pub(crate) async fn sized(&self) -> Result<Vec<(Option<String>, ViewSize)>> {
        if self.is_in_memory()? {
            let sizes =
                self.in_memory().await?.into_iter().map(|(name, view)| async move { Ok::<_, Error>((name, view.size().await?)) });
            return try_join_all(sizes).await;
        }
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let folder = tempfile::tempdir_in(&folder)
            .map_err(|error| Error::from(error).at(format!("split: a temporary folder in {}", folder.display())))?;
        let views = self.skeletons().await?;
        let target = |number: usize| Store::open(&folder.path().join(number.to_string()).display().to_string());
        let targets = (0..views.len()).map(|number| Ok((target(number)?, None))).collect::<Result<Vec<_>>>()?;
        let stored = self.store(&views, &targets).await?;
        let sized = views.into_iter().zip(stored).map(|((name, view), stored)| {
            let size = view.size_of(&stored.segments, &stored.sources);
            (name, size)
        });
        Ok(sized.collect())
    }

    /// Saves views in these stores, or as the next version of a view there. Returns them with the names of their parts.
    pub(crate) async fn publish(self, targets: Vec<(Store, Option<Table>)>) -> Result<Vec<(Option<String>, SavedView)>> {
        let names = self.names();
        if targets.len() != names.len() {
            let (views, parts) = (counted(targets.len(), "view"), counted(names.len(), "part"));
            return Err(Error::invalid(format!("split: {views} for {parts}")));
        }
        check_part_names(names.iter().flatten().map(String::as_str))?;
        check_targets(&targets).await?;
        let mut saved = Vec::with_capacity(targets.len());
        if self.is_in_memory()? {
            for ((name, view), (store, before)) in self.in_memory().await?.into_iter().zip(targets) {
                saved.push((name, view.publish(store, before.as_ref()).await?));
            }
            return Ok(saved);
        }
        let views = self.skeletons().await?;
        let begin =
            |((_, view), (store, before)): (&(_, ViewWriter), &(Store, Option<Table>))| view.begin(store, before.as_ref());
        let begun = views.iter().zip(&targets).map(begin).collect::<Result<Vec<_>>>()?;
        let salted = begun.iter().map(Publishing::store).zip(&targets);
        let salted: Vec<(Store, Option<Table>)> = salted.map(|(store, (_, before))| (store.clone(), before.clone())).collect();
        let stored = self.store(&views, &salted).await?;
        for ((((name, view), (store, before)), publishing), stored) in views.into_iter().zip(targets).zip(begun).zip(stored) {
            saved.push((name, view.finish(publishing, store, before.as_ref(), stored).await?));
        }
        Ok(saved)
    }

    /// Whether the split is made in memory.
    ///
    /// # Errors
    /// - `Invalid`: a condition is malformed.
    pub(crate) fn is_in_memory(&self) -> Result<bool> {
        Ok(self.is_small() || !self.needs()?.by_row)
    }

    /// Whether the split is made in memory, whatever the conditions are.
    pub(crate) fn is_small(&self) -> bool {
        self.table.bytes_in_memory() <= self.memory
    }

    /// Returns what the conditions need.
    fn needs(&self) -> Result<Pushdown> {
        let schema = self.table.schema();
        let named: Vec<(&str, &ColumnType)> = schema.index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let needs = Pushdown::nothing();
        self.conditions.iter().try_fold(needs, |needs, condition| Ok(needs.then(of_condition(&named, condition)?)))
    }

    /// Returns the name of the part of each view.
    pub(crate) fn names(&self) -> Vec<Option<String>> {
        match &self.split {
            Some(split) => split.shares.iter().map(|(name, _)| Some(name.clone())).collect(),
            None => vec![None],
        }
    }

    fn view_of(&self, (name, index): (Option<String>, Index)) -> (Option<String>, ViewWriter) {
        let mut settings = self.settings.clone();
        settings.lineage.extend(name.iter().map(|name| ("part".to_owned(), name.as_str().into())));
        (name, ViewWriter { index, settings })
    }

    /// Returns the rows of the index with the columns that are kept.
    fn kept(&self, index: Index) -> Result<Index> {
        let Some(columns) = &self.columns else { return Ok(index) };
        if let Some(name) = columns.iter().find(|name| !index.column_names().any(|held| held == **name)) {
            return Err(Error::not_found(format!("split: no column `{name}`; there are: {}", listed(index.column_names()))));
        }
        index.only(&columns.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn parts_of(&self, index: Index) -> Result<Vec<(Option<String>, Index)>> {
        let Some(Split { keys, shares, salt }) = &self.split else { return Ok(vec![(None, index)]) };
        let parts = index.split(keys, shares.iter().map(|(name, share)| (name.as_str(), *share)), salt)?;
        Ok(parts.into_iter().map(|(name, part)| (Some(name), part)).collect())
    }

    /// Splits the whole index.
    async fn in_memory(&self) -> Result<Vec<(Option<String>, ViewWriter)>> {
        let index = self.conditions.iter().fold(self.table.index(), |request, condition| request.filter_sql(condition)).await?;
        let task = self.clone();
        let parts = offload(move |_| task.parts_of(task.kept(index)?)).await?;
        Ok(parts.into_iter().map(|part| self.view_of(part)).collect())
    }

    /// Splits an index without rows: the views have the columns and sources of the result.
    async fn skeletons(&self) -> Result<Vec<(Option<String>, ViewWriter)>> {
        let index = match self.table.is_view() {
            true => self.table.empty_index_of_view().await?,
            false => self.table.empty_index()?,
        };
        let index = self.conditions.iter().try_fold(index, |index, condition| index.filter_sql(condition))?;
        Ok(self.parts_of(self.kept(index)?)?.into_iter().map(|part| self.view_of(part)).collect())
    }

    /// Stores the index of each view.
    async fn store(&self, views: &[(Option<String>, ViewWriter)], targets: &[(Store, Option<Table>)]) -> Result<Vec<Stored>> {
        check_process()?;
        let (needs, folder) = (self.needs()?, Folder::new("split", self.folder.clone()));
        let seen = seen_columns(self.table.manifest());
        let named = self.table.schema().index().zip(seen.iter().copied());
        let is_wanted = |number: usize, name: &str| match (&self.columns, &needs.columns) {
            (Some(names), Some(places)) => places.contains(&number) || names.iter().any(|held| held == name),
            _ => true,
        };
        let wanted = named.enumerate().filter(|(number, (column, _))| is_wanted(*number, &column.name));
        let mut places: Vec<usize> = wanted.map(|(_, (_, place))| place).collect();
        let sources = Sources::of(&self.table);
        places.extend(sources.places());
        places.sort_unstable();
        // The predicate is over the columns that users see.
        let is_same = seen.iter().copied().eq(0..seen.len());
        let predicate = if is_same { needs.predicate } else { Predicate::Anything };
        let shares: Vec<Option<Range<f64>>> = match &self.split {
            Some(split) => ranges(&split.shares)?.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let task = Arc::new(Task {
            table: self.table.clone(),
            places,
            sources,
            conditions: self.conditions.clone(),
            split: self.split.clone(),
            predicate,
        });
        // A view holds the rows of a batch, and the row group of a segment.
        let each = self.table.row_bytes().saturating_mul(4 * BATCH_ROWS as u64);
        let at_once = usize::try_from((self.memory / 2 / each.max(1)).clamp(1, MOST_VIEWS)).unwrap_or(1);
        let (mut stored, mut outs, mut schemas) = (Vec::with_capacity(views.len()), Vec::new(), Vec::new());
        for (((_, view), (store, before)), share) in views.iter().zip(targets).zip(shares) {
            let (schema, rows) = view.schema(before.as_ref())?;
            let tails = before.as_ref().is_some_and(|before| before.manifest().has_tails());
            outs.push((store, Rows::new(&schema, share), IndexSegments::new(schema.clone(), tails, Some(folder.place()))));
            schemas.push((schema, rows));
        }
        let mut segments = Vec::with_capacity(views.len());
        let mut outs = outs.into_iter().peekable();
        while outs.peek().is_some() {
            segments.append(&mut task.run(outs.by_ref().take(at_once).collect(), &folder).await?);
        }
        for ((((_, view), (store, _)), (schema, rows)), segments) in views.iter().zip(targets).zip(schemas).zip(segments) {
            stored.push(Stored { schema, segments, sources: view.described(rows, self.maps(store).await?)? });
        }
        Ok(stored)
    }

    /// Copies the join maps and the lists of the table, if it is a view. Returns those of each source.
    async fn maps(&self, store: &Store) -> Result<Vec<(Option<ObjectRef>, Option<ObjectRef>)>> {
        let Some(view) = self.table.view() else { return Ok(vec![(None, None)]) };
        for object in view.sources.iter().flat_map(ViewSource::maps) {
            store.put_content(&object.name_in("joins"), self.table.object("joins", object).await?).await?;
        }
        Ok(view.sources.iter().map(|source| (source.join.clone(), source.lists.clone())).collect())
    }
}

/// Returns the URL of a view.
fn below(url: &str, part: Option<&str>) -> String {
    part.map_or_else(|| url.to_owned(), |part| format!("{url}/{part}"))
}

/// How the parts of an index become rows of views.
struct Task {
    table: Table,
    /// Ascending places of the stored columns that are read.
    places: Vec<usize>,
    sources: Sources,
    conditions: Vec<String>,
    split: Option<Split>,
    predicate: Predicate,
}

/// Where the rows of an index come from.
enum Sources {
    /// From the table itself.
    Own,
    /// From the sources of a view: place and name of the stored column with the row numbers, and the number of rows of the source.
    OfView(Vec<(usize, String, u64)>),
}

impl Sources {
    fn of(table: &Table) -> Self {
        let Some(view) = table.view() else { return Self::Own };
        let stored = |source: &ViewSource| {
            let (place, column) = table.manifest().schema.index().enumerate().find(|(_, column)| column.id == source.row)?;
            Some((place, column.name.clone(), source.rows))
        };
        Self::OfView(view.sources.iter().filter_map(stored).collect())
    }

    /// Returns the places of the stored columns with row numbers.
    fn places(&self) -> impl Iterator<Item = usize> {
        match self {
            Self::Own => [].as_slice(),
            Self::OfView(columns) => columns.as_slice(),
        }
        .iter()
        .map(|(place, ..)| *place)
    }
}

impl Task {
    /// Reads the index once, and stores the rows of these views. Returns the segments of each.
    async fn run(self: &Arc<Self>, views: Vec<(&Store, Rows, IndexSegments)>, folder: &Folder) -> Result<Vec<Vec<Segment>>> {
        let (mut stores, mut rows, mut outs) = (Vec::new(), Vec::new(), Vec::new());
        for (store, of_view, out) in views {
            stores.push(store);
            rows.push(of_view);
            outs.push(out);
        }
        let mut scan = self.table.scan_stored(self.places.clone(), self.predicate.clone());
        let mut ready: Vec<Vec<RecordBatch>> = vec![Vec::new(); outs.len()];
        loop {
            // Rows are written while the next ones are split.
            let make = async {
                let (part, task) = (scan.next().await?, Arc::clone(self));
                offload(move |stop| {
                    let is_last = part.is_none();
                    let batches = task.batches(part, &mut rows, stop)?;
                    Ok((rows, batches, is_last))
                })
                .await
            };
            let written = outs.into_iter().zip(&stores).zip(ready).map(|((out, store), batches)| {
                let folder = folder.clone();
                out.append(store, batches, move || folder.file())
            });
            let (made, written) = join(make, try_join_all(written)).await;
            let is_last;
            (outs, (rows, ready, is_last)) = (written?, made?);
            if is_last {
                break;
            }
        }
        let finish = outs.into_iter().zip(&stores).zip(ready).map(|((out, store), batches)| {
            let folder = folder.clone();
            async move { out.append(store, batches, move || folder.file()).await?.finish(store).await }
        });
        try_join_all(finish).await
    }

    /// Returns the batches of each view that are full after the rows of a part, or the last ones of all.
    fn batches(&self, part: Option<IndexPart>, views: &mut [Rows], stop: &Stop) -> Result<Vec<Vec<RecordBatch>>> {
        let Some(part) = part else { return views.iter_mut().map(|rows| rows.batches(true)).collect() };
        let frame = part.stored(&self.places, stop)?;
        let tag = Locator::tag(self.table.manifest().table, self.table.version());
        let frame = match &self.sources {
            Sources::Own => with_locators(&frame, tag, part.rows().iter().flat_map(|rows| rows.clone()).map(u64::cast_signed))?,
            Sources::OfView(_) => frame,
        };
        let chosen = self.conditions.iter().try_fold(frame, |frame, sql| filtered(&frame, sql))?;
        let numbers = match &self.sources {
            Sources::Own => vec![locate(&chosen, tag, self.table.rows(), false)?],
            Sources::OfView(columns) => {
                columns.iter().map(|(_, name, rows)| rows_of(&chosen, name, *rows)).collect::<Result<_>>()?
            }
        };
        let places = match &self.split {
            Some(split) => places(&chosen, &split.keys, &split.salt)?,
            None => Vec::new(),
        };
        let take = |rows: &mut Rows| {
            stop.check()?;
            rows.take(&chosen, &numbers, &places)?;
            rows.batches(false)
        };
        views.iter_mut().map(take).collect()
    }
}

/// Rows of a view that are not written yet.
struct Rows {
    /// The places of its rows; `None` for all rows.
    share: Option<Range<f64>>,
    /// The index columns, and the columns of row numbers after them: one for each source.
    columns: Vec<Column>,
    arrow: SchemaRef,
    held: Vec<RecordBatch>,
}

impl Rows {
    fn new(schema: &Schema, share: Option<Range<f64>>) -> Self {
        Self { share, columns: schema.index().cloned().collect(), arrow: index_arrow_schema(schema), held: Vec::new() }
    }

    /// Takes the rows of the view among those of a frame. `numbers` has the row of each source for each of them, and `places` their
    /// places in 0..1.
    fn take(&mut self, frame: &DataFrame, numbers: &[Vec<i64>], places: &[f64]) -> Result<()> {
        let here: Option<BooleanChunked> =
            self.share.as_ref().map(|share| places.iter().map(|place| Some(share.contains(place))).collect());
        let frame = here.as_ref().map_or_else(|| Ok(frame.clone()), |here| frame.filter(here)).map_err(internal)?;
        if frame.height() == 0 {
            return Ok(());
        }
        let chosen = |numbers: &Vec<i64>| -> Int64Array {
            match &self.share {
                Some(share) => {
                    let chosen = numbers.iter().zip(places).filter(|(_, place)| share.contains(*place));
                    Int64Array::from_iter_values(chosen.map(|(number, _)| *number))
                }
                None => Int64Array::from(numbers.clone()),
            }
        };
        // Arrays of their own: columns of text may share the texts of all rows of the part.
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for column in self.columns.iter().take(self.columns.len().saturating_sub(numbers.len())) {
            arrays.push(unframed(frame.column(&column.name).map_err(internal)?, &column.ty)?);
        }
        arrays.extend(numbers.iter().map(|numbers| Arc::new(chosen(numbers)) as ArrayRef));
        let options = RecordBatchOptions::new().with_row_count(Some(frame.height()));
        self.held.push(RecordBatch::try_new_with_options(Arc::clone(&self.arrow), arrays, &options).map_err(of_arrow)?);
        Ok(())
    }

    /// Returns batches of [`BATCH_ROWS`] rows, and the rest if it is the last one. Segments are cut into batches in the same way as
    /// those of a view that is saved from memory.
    fn batches(&mut self, is_last: bool) -> Result<Vec<RecordBatch>> {
        let rows: usize = self.held.iter().map(RecordBatch::num_rows).sum();
        if rows == 0 || (rows < BATCH_ROWS && !is_last) {
            return Ok(Vec::new());
        }
        let all = concat_batches(&self.arrow, &self.held).map_err(of_arrow)?;
        let full = if is_last { rows } else { rows / BATCH_ROWS * BATCH_ROWS };
        self.held = if full < rows { vec![all.slice(full, rows - full)] } else { Vec::new() };
        Ok((0..full).step_by(BATCH_ROWS).map(|start| all.slice(start, BATCH_ROWS.min(full - start))).collect())
    }
}

/// Returns the rows of a source of a view, -1 where it has none.
fn rows_of(frame: &DataFrame, name: &str, rows: u64) -> Result<Vec<i64>> {
    let column = frame.column(name).map_err(internal)?.as_materialized_series().i64().map_err(internal)?.clone();
    let checked = |row: Option<i64>| {
        let there = row.filter(|row| (NO_ROW..rows.cast_signed()).contains(row));
        there.ok_or_else(|| Error::corrupt(format!("index: found row {row:?} of a source that has {}", counted(rows, "row"))))
    };
    column.iter().map(checked).collect()
}

fn of_arrow(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("index of a view: {error}"))
}
