//! Saves an index as a view: a table with the index columns of the frame, with join maps and without payload. Follows
//! `format-spec/views.md#members`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Preset,
    commit::{self, Unpinned},
    error::{Error, Result},
    format::{Cuts, Manifest, Parent, Segment, View, ViewColumn, ViewIndexColumn, ViewSource, index_arrow_schema, salted_join},
    id::ObjectRef,
    index::{is_locator, shown_zone, stored_type, unframed},
    offload::offload_large,
    schema::{Column, ColumnId, ColumnType, Primitive, Schema, TimeUnit},
    store::{Store, StoreOptions},
    table::{
        frame::index::{Index, IndexSource},
        session::{Session, is_new_name, is_vacant},
        table::Table,
    },
};

/// Saves an index as a view. [`Index::view_writer`] creates it.
#[derive(Clone, Debug)]
pub struct ViewWriter {
    pub(in crate::table) index: Index,
    pub(in crate::table) settings: ViewSettings,
}

/// What the caller sets for a view.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct ViewSettings {
    pub(in crate::table) properties: BTreeMap<String, Value>,
    pub(in crate::table) lineage: BTreeMap<String, Value>,
    pub(in crate::table) allow_unpinned: bool,
}

/// A view that was saved.
#[derive(Clone, Debug)]
pub struct SavedView {
    /// The view as a table.
    pub table: Table,
    /// Sources without a pin, most often because they are read-only. A garbage collection there may delete versions that this
    /// view needs.
    pub unpinned: Vec<Unpinned>,
}

/// Size of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ViewSize {
    /// Number of rows.
    pub rows: u64,
    /// Index columns.
    pub columns: Vec<String>,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// Bytes of the join maps and lists.
    pub join_bytes: u64,
    /// Bytes of payload that the view copies: always 0.
    pub payload_bytes: u64,
    /// Table versions that the rows come from, as `URL@VERSION`.
    pub sources: Vec<String>,
}

/// The objects of a view that are stored before its manifest.
pub(in crate::table) struct Stored {
    pub(in crate::table) schema: Schema,
    pub(in crate::table) segments: Vec<Segment>,
    /// Sources whose `store` is 0, until the view is published.
    pub(in crate::table) sources: Vec<ViewSource>,
}

/// A view that is about to be stored and published.
pub(in crate::table) struct Publishing {
    session: Session,
    /// The number of the table of each source in the manifest.
    numbers: Vec<u32>,
}

impl Publishing {
    /// Returns the store for the objects of the view.
    pub(in crate::table) fn store(&self) -> &Store {
        &self.session.store
    }
}

/// Number of rows of one Arrow batch of the index.
pub(in crate::table) const BATCH_ROWS: usize = 1 << 16;

impl Index {
    /// Saves the index as a new view at `url`: a table that has these rows in this order, and copies no payload. Save merges,
    /// filters, sorts, samples and splits this way. Columns computed by [`Index::with_columns`] become index columns.
    ///
    /// A view is opened, read and merged like any table. It names exact versions of its sources. A pin in each source keeps that
    /// version from garbage collection.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use polars::prelude::{col, lit};
    /// use tetrys::{Merge, RowLoader, Table};
    /// let sensors = Table::open("/data/sensors").await?.index().await?;
    /// let labels = Table::open("/data/labels").await?.index().await?;
    /// let merged = sensors.merge(&labels, &Merge::on(["log_id", "timestamp"]))?;
    /// merged.filter(col("pedestrians").gt(lit(3)))?.save("/data/busy").await?;
    ///
    /// let busy = Table::open("/data/busy").await?.index().await?;
    /// let history = RowLoader::new(&busy)?.columns(["lidar.*", "labels.*"])?.get_rows(0, -10..=0).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Denied`: no pin can be written to a source (see [`ViewWriter::allow_unpinned`]).
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column.
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save(&self, url: &str) -> Result<SavedView> {
        self.view_writer().save(url).await
    }

    /// Returns a writer that saves the index as [`Index::save`] does, with properties and lineage, or as the next version of a
    /// view.
    pub fn view_writer(&self) -> ViewWriter {
        ViewWriter { index: self.clone(), settings: ViewSettings::default() }
    }

    /// Returns the stored column behind a column of the frame; `None` if no source has an index column of this name.
    pub(in crate::table) fn stored_column(&self, name: &str) -> Option<&Column> {
        let named = |source: &IndexSource| source.index.iter().find(|(held, _)| held == name).map(|(_, id)| *id);
        self.sources.iter().find_map(|source| source.table.manifest().schema.column(named(source)?))
    }
}

impl ViewWriter {
    /// Sets a property of the view.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.properties.insert(key.into(), value.into());
        self
    }

    /// Sets a lineage entry of the view, such as the recipe that made it.
    #[must_use]
    pub fn lineage(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.lineage.insert(key.into(), value.into());
        self
    }

    /// Sets whether to save the view even if no pin can be written to a source, most often because it is read-only. A garbage
    /// collection there may then delete rows that the view needs. By default, `save` returns `Denied` in this case.
    #[must_use]
    pub fn allow_unpinned(mut self, allowed: bool) -> Self {
        self.settings.allow_unpinned = allowed;
        self
    }

    /// Saves a new view at `url`.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Denied`: no pin can be written to a source (see [`ViewWriter::allow_unpinned`]).
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column.
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save(self, url: &str) -> Result<SavedView> {
        self.save_in(Store::open(url)?).await
    }

    /// Saves a new view at `url` as [`ViewWriter::save`] does, with options of its store.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Denied`: no pin can be written to a source (see [`ViewWriter::allow_unpinned`]).
    /// - `Invalid`: an option is malformed, the index has no columns, a column of a type that an index cannot hold, or a column
    ///   with the name of a group column.
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save_with(self, url: &str, stores: &StoreOptions) -> Result<SavedView> {
        self.save_in(Store::open_with(url, stores)?).await
    }

    /// Saves a new view in `store`.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Denied`: no pin can be written to a source (see [`ViewWriter::allow_unpinned`]).
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column.
    /// - `Conflict`: a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save_in(self, store: Store) -> Result<SavedView> {
        is_free(&store).await?;
        self.publish(store, None).await
    }

    /// Saves the next version of a view. Its tags and attachments stay, and so do properties that get no new value.
    ///
    /// # Errors
    /// - `Invalid`: the table is not a view; the index has no columns, a column of a type that an index cannot hold, or a column
    ///   with the name of a group column.
    /// - `Unsupported`: the version needs a later writer.
    /// - `Denied`: no pin can be written to a source (see [`ViewWriter::allow_unpinned`]).
    /// - `Conflict`: the view has a newer version, or a garbage collection deleted a version of a source.
    /// - Errors of the stores.
    pub async fn save_over(self, view: &Table) -> Result<SavedView> {
        may_be_next(view)?;
        self.publish(view.store().clone(), Some(view)).await
    }

    /// Returns the size of the view that [`ViewWriter::save`] would store. Stores nothing.
    ///
    /// # Errors
    /// - `Invalid`: the index has no columns, a column of a type that an index cannot hold, or a column with the name of a group
    ///   column.
    pub async fn size(&self) -> Result<ViewSize> {
        let stored = self.store(&Store::open("memory://")?, None).await?;
        Ok(self.size_of(&stored.segments, &stored.sources))
    }

    /// Returns the size of a view with these segments and sources.
    pub(in crate::table) fn size_of(&self, segments: &[Segment], sources: &[ViewSource]) -> ViewSize {
        ViewSize {
            rows: segments.iter().map(|segment| segment.rows).sum(),
            columns: self.index.column_names().map(str::to_owned).collect(),
            index_bytes: segments.iter().map(|segment| segment.index.bytes).sum(),
            join_bytes: sources.iter().flat_map(ViewSource::maps).map(|object| object.bytes).sum(),
            payload_bytes: 0,
            sources: self.index.tables().map(|table| format!("{}@{}", table.url(), table.version())).collect(),
        }
    }

    pub(in crate::table) async fn publish(self, store: Store, before: Option<&Table>) -> Result<SavedView> {
        let publishing = self.begin(&store, before)?;
        // Store the index first: it fails for columns that cannot be stored, before any pin is written.
        let stored = self.store(publishing.store(), before).await?;
        self.finish(publishing, store, before, stored).await
    }

    /// Begins a view, or the next version of one. Its objects may be stored after that.
    pub(in crate::table) fn begin(&self, store: &Store, before: Option<&Table>) -> Result<Publishing> {
        let mut session = Session::first_or_next(store, before, self.settings.allow_unpinned);
        let numbers = self.index.sources.iter().map(|source| {
            let IndexSource { table, .. } = source;
            session.owners.add(table.store(), table.manifest().table, table.version(), table.manifest_hash())
        });
        let numbers = numbers.collect::<Result<Vec<u32>>>()?;
        Ok(Publishing { session, numbers })
    }

    /// Publishes a view whose objects are stored.
    pub(in crate::table) async fn finish(
        self,
        Publishing { mut session, numbers }: Publishing,
        store: Store,
        before: Option<&Table>,
        stored: Stored,
    ) -> Result<SavedView> {
        let sources = stored.sources.into_iter().zip(&numbers).map(|(source, store)| ViewSource { store: *store, ..source });
        let mut lineage = self.settings.lineage.clone();
        lineage.insert("writer".to_owned(), concat!("tetrys ", env!("CARGO_PKG_VERSION")).into());
        let inherited = before.map(Table::manifest);
        let mut properties = inherited.map(|before| before.properties.clone()).unwrap_or_default();
        properties.extend(self.settings.properties.clone());
        let manifest = Manifest {
            table: session.table,
            version: before.map_or(1, |before| before.version() + 1),
            parent: before.map(|before| Parent { version: before.version(), blake3: before.manifest_hash() }),
            commit_id: session.commit_id,
            schema: stored.schema,
            preset: Preset::default().name().to_owned(),
            cuts: Cuts::default(),
            segments: stored.segments,
            attachments: inherited.map(|before| before.attachments.clone()).unwrap_or_default(),
            properties,
            tags: inherited.map(|before| before.tags.clone()).unwrap_or_default(),
            lineage: serde_json::to_value(lineage).map_err(|error| Error::internal(error.to_string()))?,
            stores: session.owners.stores(),
            condemned: inherited.map(|before| before.condemned.clone()).unwrap_or_default(),
            deleting: inherited.and_then(|before| before.deleting.clone()),
            collections: inherited.and_then(|before| before.collections.clone()),
            write_features: Vec::new(),
            view: Some(View { sources: sources.collect() }),
        };
        let saved = session.publish_with(&manifest, false).await?;
        // The caller opened these tables, so their URLs are allowed.
        let tables = || self.index.sources.iter().map(|source| &source.table);
        let allowed = tables().flat_map(Table::allowed).cloned().chain(tables().map(|table| table.url().to_owned()));
        let allowed: BTreeSet<String> = allowed.collect();
        let saved = Table::of(store, saved.manifest().clone(), saved.manifest_hash(), allowed.into_iter().collect());
        // The sources are open already, so they need not be opened by their URLs.
        let tables = self.index.sources.iter().map(|source| source.table.clone()).collect();
        saved.inner.sources.set(tables);
        Ok(SavedView { table: saved, unpinned: session.unpinned })
    }

    /// Stores index segments and join maps. Returns sources whose `store` is 0; the caller sets their numbers.
    async fn store(&self, store: &Store, before: Option<&Table>) -> Result<Stored> {
        let (schema, rows) = self.schema(before)?;
        let (index, height) = (self.index.clone(), self.index.frame.bare().height());
        let size = height.saturating_mul(8 * self.index.sources.len());
        let located = offload_large(size, move |_| index.located()).await?;
        let (index, described, arrow) = (self.index.clone(), schema.clone(), index_arrow_schema(&schema));
        let batches = (0..height).step_by(BATCH_ROWS);
        let batches = batches.map(move |start| batch_of(&index, &located, (&described, &arrow), start));
        let tails = before.is_some_and(|before| before.manifest().has_tails());
        let segments = commit::index_segments(store, &schema, tails, batches).await?;
        let mut maps = Vec::with_capacity(self.index.sources.len());
        for source in self.index.sources.iter() {
            if source.lists.is_some() {
                source.table.fits_in_memory(size_of::<Option<u64>>() as u64)?;
            }
            let (salt, partners, lists, table_rows) =
                (store.salt(), source.partners.clone(), source.lists.clone(), source.table.rows());
            let size =
                partners.as_ref().map_or(0, |rows| rows.len() * 8) + if lists.is_some() { table_rows as usize * 8 } else { 0 };
            let (join, firsts) = offload_large(size, move |_| {
                let join = partners.map(|rows| rows.iter().map(|row| u64::try_from(*row).ok()).collect::<Vec<_>>());
                let firsts = lists.map(|lists| lists.firsts(table_rows));
                let object = |rows: Vec<Option<u64>>| salted_join(&rows, salt).map(|bytes| (ObjectRef::of(&bytes), bytes));
                Ok((join.map(object).transpose()?, firsts.map(object).transpose()?))
            })
            .await?;
            maps.push((put_join(store, join).await?, put_join(store, firsts).await?));
        }
        Ok(Stored { schema, segments, sources: self.described(rows, maps)? })
    }

    /// Describes the sources, whose `store` is still 0. `rows` has the row column, and `maps` the join map and the lists of each.
    pub(in crate::table) fn described(
        &self,
        rows: Vec<ColumnId>,
        maps: Vec<(Option<ObjectRef>, Option<ObjectRef>)>,
    ) -> Result<Vec<ViewSource>> {
        let mut described = Vec::with_capacity(maps.len());
        for ((source, row), (join, lists)) in self.index.sources.iter().zip(rows).zip(maps) {
            let columns = source.columns.iter().map(|(name, id)| {
                let ty = source.table.schema().column(*id).map(|column| column.ty.clone());
                let ty = ty.ok_or_else(|| Error::internal(format!("no column `{name}` in {}", source.table.url())))?;
                Ok(ViewColumn { id: *id, name: name.clone(), ty })
            });
            described.push(ViewSource {
                store: 0,
                rows: source.table.rows(),
                row,
                base: source.base,
                join,
                lists,
                columns: columns.collect::<Result<_>>()?,
                index: source.index.iter().map(|(name, id)| ViewIndexColumn { id: *id, name: name.clone() }).collect(),
            });
        }
        Ok(described)
    }

    /// Returns the schema of the view, and the ids of its row columns. A column that the view had before keeps its id.
    pub(in crate::table) fn schema(&self, before: Option<&Table>) -> Result<(Schema, Vec<ColumnId>)> {
        let held = before.map(|table| table.manifest().schema.columns()).unwrap_or_default();
        let mut next = held.iter().map(|column| column.id.0 + 1).max().unwrap_or(0);
        let mut fresh = || {
            let id = ColumnId(next);
            next += 1;
            id
        };
        let mut columns: Vec<Column> = Vec::new();
        for column in self.index.frame.bare().columns().iter().filter(|column| !is_locator(column.name())) {
            let name = column.name().to_string();
            let (mut ty, mut properties) = stored_type(column)?;
            if let Some(stored) = self.index.stored_column(&name) {
                // Keep the stored time zone if the frame shows the replacement for it, since polars does not know every zone.
                // Polars has no seconds: a column of seconds is one of milliseconds in the frame.
                match (&ty, &stored.ty) {
                    (ColumnType::Timestamp(unit, shown), ColumnType::Timestamp(stored, zone))
                        if (unit == stored || (*stored, *unit) == (TimeUnit::Second, TimeUnit::Millisecond))
                            && shown.as_deref() == shown_zone(zone.as_deref()).as_deref().map(|zone| zone.as_str()) =>
                    {
                        ty = ColumnType::Timestamp(*unit, zone.clone());
                    }
                    _ => {}
                }
                if std::mem::discriminant(&ty) == std::mem::discriminant(&stored.ty) {
                    let own = std::mem::replace(&mut properties, stored.properties.clone());
                    // Texts made from a list that was stored under this name are no lists.
                    properties.retain(|key, said| key != "arrow" || !said.as_str().is_some_and(|said| said.starts_with("list<")));
                    properties.extend(own);
                }
            }
            let id = held.iter().find(|held| held.name == name && held.ty == ty).map_or_else(&mut fresh, |held| held.id);
            columns.push(Column { id, name, ty, properties });
        }
        unique_names(&self.index)?;
        if columns.is_empty() {
            return Err(Error::invalid("a view without index columns: keep at least one"));
        }
        let mut rows = Vec::new();
        for number in 0..self.index.sources.len() {
            let mut name = format!("_row_{number}");
            while columns.iter().any(|column| column.name == name) {
                name.insert(0, '_');
            }
            // Row columns always get new ids, so that no id of a view is ever used again.
            let id = fresh();
            columns.push(Column { id, name, ty: ColumnType::Scalar(Primitive::I64), properties: BTreeMap::new() });
            rows.push(id);
        }
        let index = columns.iter().map(|column| column.id).collect();
        Ok((Schema::from_parts(columns, Vec::new(), index, Vec::new(), Vec::new())?, rows))
    }
}

impl ViewSize {
    /// Returns the size of a saved view.
    ///
    /// # Errors
    /// - Errors of the stores.
    pub(crate) async fn of(view: &Table) -> Result<Self> {
        let (segments, sources) = (&view.manifest().segments, view.sources().await?);
        let maps = view.view().into_iter().flat_map(|view| &view.sources).flat_map(ViewSource::maps);
        Ok(Self {
            rows: view.rows(),
            columns: view.schema().index().map(|column| column.name.clone()).collect(),
            index_bytes: segments.iter().map(|segment| segment.index.bytes).sum(),
            join_bytes: maps.map(|object| object.bytes).sum(),
            payload_bytes: 0,
            sources: sources.iter().map(|table| format!("{}@{}", table.url(), table.version())).collect(),
        })
    }
}

/// Checks that views can be saved: each as a new one in its store, or as the next version of a view.
pub(crate) async fn check_targets(targets: &[(Store, Option<Table>)]) -> Result<()> {
    for (store, before) in targets {
        match before {
            Some(view) => may_be_next(view)?,
            None => is_free(store).await?,
        }
    }
    Ok(())
}

/// Checks that a new view can be saved in a store.
pub(in crate::table) async fn is_free(store: &Store) -> Result<()> {
    is_new_name(store)?;
    is_vacant(store, "; choose another place, or update the view there, which writes its next version").await.map(drop)
}

/// Checks that a view can be the next version of this table.
pub(in crate::table) fn may_be_next(view: &Table) -> Result<()> {
    view.next_version_may_be_written()?;
    match view.is_view() {
        true => Ok(()),
        false => Err(Error::invalid(format!("{} has rows of its own: a view cannot be its next version", view.url()))),
    }
}

/// Checks that no name is that of an index column and of a group column.
pub(in crate::table) fn unique_names(index: &Index) -> Result<()> {
    let grouped = index.sources.iter().flat_map(|source| source.columns.iter().map(move |(name, _)| (source, name)));
    match grouped.into_iter().find(|(_, name)| index.frame.bare().column(name).is_ok()) {
        Some((source, name)) => Err(Error::invalid(format!(
            "column `{name}` is an index column of the frame and a group column of {}: rename the index column in the frame, or \
             drop it",
            source.table.url()
        ))),
        None => Ok(()),
    }
}

/// Returns the index columns of a view in the rows of a batch that begins at `start`. `located` has the rows of each source.
fn batch_of(index: &Index, located: &[Vec<i64>], (schema, arrow): (&Schema, &SchemaRef), start: usize) -> Result<RecordBatch> {
    let frame = index.frame.bare();
    let end = frame.height().min(start + BATCH_ROWS);
    let user = frame.columns().iter().filter(|column| !is_locator(column.name()));
    let mut columns = user
        .zip(schema.index())
        .map(|(column, described)| unframed(&column.slice(start as i64, end - start), &described.ty))
        .collect::<Result<Vec<ArrayRef>>>()?;
    for rows in located {
        let rows = rows.get(start..end).ok_or_else(|| Error::internal("a source with fewer rows than the frame"))?;
        columns.push(Arc::new(Int64Array::from(rows.to_vec())));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(end - start));
    RecordBatch::try_new_with_options(Arc::clone(arrow), columns, &options)
        .map_err(|error| Error::internal(format!("index of a view: {error}")))
}

/// Stores a join map, if there is one.
async fn put_join(store: &Store, join: Option<(ObjectRef, Vec<u8>)>) -> Result<Option<ObjectRef>> {
    let Some((object, bytes)) = join else { return Ok(None) };
    store.put_content(&object.name_in("joins"), bytes.into()).await?;
    Ok(Some(object))
}
