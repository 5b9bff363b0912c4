//! Saves the rows of a table as the views of a split, even if the index is larger than memory. Reads the index part by part.
//!
//! ```text
//! index --- some row groups at a time ---> conditions ---> hash of the keys ---> rows of each view ---> segments of each view
//! ```
//!
//! The views equal those of [`Index::split`] and [`Index::save`], byte by byte.

use std::{ops::Range, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use futures::future::{join, try_join_all};
use polars::prelude::{BooleanChunked, DataFrame};

use super::{
    new_view::{BATCH_ROWS, NewView, Place, Stored, ViewOptions},
    splits::{places, ranges},
};
use crate::{
    commit::IndexSegments,
    error::{Error, Result, counted, listed},
    format::{Locator, Segment, ViewSource, index_arrow_schema},
    id::ObjectRef,
    index::{Predicate, Pushdown, check_process, filtered, internal, locate, of_condition, unframed, with_locators},
    schema::{Column, ColumnType, Schema},
    store::Store,
    table::{
        index::{index::Index, scan::IndexPart},
        reading::source::NO_ROW,
        version::{seen::seen_columns, table::Table, temporary::Folder},
    },
    work::{Stop, offload},
};

/// Indexes with the names of their parts.
pub(in crate::table) type Parts = Vec<(Option<String>, Index)>;

/// The most views that are written at a time. Each has a temporary file.
const MOST_VIEWS: u64 = 64;

/// The rows of a table that are split by the hash of a key, to be saved as a view for each part even if the index is larger than
/// memory. [`Table::split`] creates it.
///
/// The views are those of [`Index::split`], saved by [`Index::save`]: the same rows in the same order. If the index does not fit
/// into the memory limit, it is read part by part. Rows that a condition with an aggregation or a window chooses are always split
/// in memory.
#[must_use = "a split writes nothing until it is saved"]
#[derive(Clone, Debug)]
pub struct TableSplit {
    table: Table,
    /// `None` for one view of all rows.
    by: Option<SplitBy>,
    conditions: Vec<String>,
    columns: Option<Vec<String>>,
    /// Name of the table in a recipe, for errors of loading it.
    source: Option<String>,
}

#[derive(Clone, Debug)]
struct SplitBy {
    keys: Vec<String>,
    shares: Vec<(String, f64)>,
    salt: String,
}

impl Table {
    /// Describes a split of the rows of this table by the hash of a key into named parts of about these shares.
    /// [`TableSplit::save`] reads the index and saves each part as a view.
    pub fn split<K: Into<String>, N: Into<String>>(
        &self,
        keys: impl IntoIterator<Item = K>,
        shares: impl IntoIterator<Item = (N, f64)>,
    ) -> TableSplit {
        let shares = shares.into_iter().map(|(name, share)| (name.into(), share)).collect();
        let by = SplitBy { keys: keys.into_iter().map(Into::into).collect(), shares, salt: String::new() };
        TableSplit { by: Some(by), ..self.unsplit() }
    }

    /// Describes one view of the rows of this table.
    pub(crate) fn unsplit(&self) -> TableSplit {
        TableSplit { table: self.clone(), by: None, conditions: Vec::new(), columns: None, source: None }
    }
}

impl TableSplit {
    /// Sets the salt of the hash. Another salt gives other parts.
    pub fn salt(mut self, salt: impl Into<String>) -> Self {
        if let Some(by) = &mut self.by {
            by.salt = salt.into();
        }
        self
    }

    /// Splits only rows for which an SQL condition is true, as [`Index::filter_sql`] does. If repeated, all conditions must be true.
    pub fn filter_sql(mut self, condition: impl Into<String>) -> Self {
        self.conditions.push(condition.into());
        self
    }

    /// Keeps only these index columns, in this order. The keys must be among them.
    pub fn columns<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Names the table as a recipe does, for errors of loading it.
    pub(crate) fn of_source(self, name: &str) -> Self {
        Self { source: Some(name.to_owned()), ..self }
    }

    /// Whether the split is made in memory.
    ///
    /// # Errors
    /// - `Invalid`: a condition is malformed.
    pub(in crate::table) fn is_in_memory(&self, options: &ViewOptions) -> Result<bool> {
        Ok(self.table.bytes_in_memory() <= options.memory() || !self.needs()?.by_row)
    }

    /// Returns what the conditions need.
    fn needs(&self) -> Result<Pushdown> {
        let schema = self.table.schema();
        let named: Vec<(&str, &ColumnType)> = schema.index().map(|column| (column.name.as_str(), &column.ty)).collect();
        let needs = Pushdown::nothing();
        self.conditions.iter().try_fold(needs, |needs, condition| Ok(needs.then(of_condition(&named, condition)?)))
    }

    /// Returns the name of the part of each view.
    pub(in crate::table) fn names(&self) -> Vec<Option<String>> {
        match &self.by {
            Some(by) => by.shares.iter().map(|(name, _)| Some(name.clone())).collect(),
            None => vec![None],
        }
    }

    /// Returns the rows of the index with the columns that are kept.
    fn kept(&self, index: Index) -> Result<Index> {
        let Some(columns) = &self.columns else { return Ok(index) };
        if let Some(name) = columns.iter().find(|name| !index.column_names().any(|existing| existing == **name)) {
            return Err(Error::not_found(format!("split: no column `{name}`; there are: {}", listed(index.column_names()))));
        }
        index.only(&columns.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Returns the index of each part.
    fn parts_of(&self, index: Index) -> Result<Parts> {
        let Some(SplitBy { keys, shares, salt }) = &self.by else { return Ok(vec![(None, index)]) };
        let parts = index.split(keys, shares.iter().map(|(name, share)| (name.as_str(), *share)), salt)?;
        Ok(parts.into_iter().map(|(name, part)| (Some(name), part)).collect())
    }

    /// Splits the whole index.
    pub(in crate::table) async fn in_memory(self) -> Result<Parts> {
        let index = self.conditions.iter().fold(self.table.index(), |request, condition| request.filter_sql(condition));
        let index = index.await.map_err(|error| at_source(self.source.as_ref(), error))?;
        offload(move |_| self.parts_of(self.kept(index)?)).await
    }

    /// Splits an index without rows: indexes with the columns and sources of the result.
    pub(in crate::table) async fn without_rows(&self) -> Result<Parts> {
        let index = self.table.index_without_rows().await?;
        let index = self.conditions.iter().try_fold(index, |index, condition| index.filter_sql(condition))?;
        self.parts_of(self.kept(index)?)
    }

    /// Splits part by part, and stores the index of each view.
    pub(in crate::table) async fn store(
        &self,
        views: &[NewView],
        targets: &[Place],
        options: &ViewOptions,
    ) -> Result<Vec<Stored>> {
        check_process()?;
        let (needs, folder) = (self.needs()?, Folder::new("split", options.temporary_folder.clone()));
        let seen = seen_columns(self.table.manifest());
        let named = self.table.schema().index().zip(seen.iter().copied());
        let is_wanted = |number: usize, name: &str| match (&self.columns, &needs.columns) {
            (Some(names), Some(places)) => places.contains(&number) || names.iter().any(|existing| existing == name),
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
        let shares: Vec<Option<Range<f64>>> = match &self.by {
            Some(by) => ranges(&by.shares)?.into_iter().map(Some).collect(),
            None => vec![None],
        };
        let task = Arc::new(Task {
            table: self.table.clone(),
            places,
            sources,
            source: self.source.clone(),
            conditions: self.conditions.clone(),
            by: self.by.clone(),
            predicate,
        });
        // A view holds the rows of a batch, and the row group of a segment.
        let each = self.table.row_bytes().saturating_mul(4 * BATCH_ROWS as u64);
        let at_once = usize::try_from((options.memory() / 2 / each.max(1)).clamp(1, MOST_VIEWS)).unwrap_or(1);
        let (mut stored, mut outs, mut schemas) = (Vec::with_capacity(views.len()), Vec::new(), Vec::new());
        for ((view, (store, before)), share) in views.iter().zip(targets).zip(shares) {
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
        for (((view, (store, _)), (schema, rows)), segments) in views.iter().zip(targets).zip(schemas).zip(segments) {
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

/// Adds the name of a source in a recipe to an error of loading it.
fn at_source(source: Option<&String>, error: Error) -> Error {
    match source {
        Some(name) => error.at(format!("source `{name}`")),
        None => error,
    }
}

/// How the parts of an index become rows of views.
struct Task {
    table: Table,
    /// Name of the table in a recipe, for errors of loading it.
    source: Option<String>,
    /// Ascending places of the stored columns that are read.
    places: Vec<usize>,
    sources: Sources,
    conditions: Vec<String>,
    by: Option<SplitBy>,
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
                let part = scan.next().await.map_err(|error| at_source(self.source.as_ref(), error))?;
                let task = Arc::clone(self);
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
        let places = match &self.by {
            Some(by) => places(&chosen, &by.keys, &by.salt)?,
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
    pending: Vec<RecordBatch>,
}

impl Rows {
    fn new(schema: &Schema, share: Option<Range<f64>>) -> Self {
        Self { share, columns: schema.index().cloned().collect(), arrow: index_arrow_schema(schema), pending: Vec::new() }
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
        self.pending.push(RecordBatch::try_new_with_options(Arc::clone(&self.arrow), arrays, &options).map_err(of_arrow)?);
        Ok(())
    }

    /// Returns batches of [`BATCH_ROWS`] rows, and the rest if it is the last one. Segments are cut into batches in the same way as
    /// those of a view that is saved from memory.
    fn batches(&mut self, is_last: bool) -> Result<Vec<RecordBatch>> {
        let rows: usize = self.pending.iter().map(RecordBatch::num_rows).sum();
        if rows == 0 || (rows < BATCH_ROWS && !is_last) {
            return Ok(Vec::new());
        }
        let all = concat_batches(&self.arrow, &self.pending).map_err(of_arrow)?;
        let full = if is_last { rows } else { rows / BATCH_ROWS * BATCH_ROWS };
        self.pending = if full < rows { vec![all.slice(full, rows - full)] } else { Vec::new() };
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
