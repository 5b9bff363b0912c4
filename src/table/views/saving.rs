//! Saving an index as a view: a table of its own, with the index columns of the frame, join maps and no payload.
//! Follows `format-spec/views.md#members`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Preset,
    commit::{self, Unpinned},
    error::{Error, Result},
    format::{Cuts, Manifest, Parent, Segment, View, ViewColumn, ViewIndexColumn, ViewSource, index_arrow_schema, write_join},
    id::ObjectRef,
    index::{column_type, is_locator, shown_zone, unframed},
    schema::{Column, ColumnId, ColumnType, Primitive, Schema, TimeUnit},
    store::Store,
    table::{
        changing::{session::Session, writer::is_new_name},
        frame::index::{Index, IndexSource},
        table::Table,
    },
};

/// Saves an index as a view; made by [`Index::view_writer`].
#[derive(Clone, Debug)]
pub struct ViewWriter {
    index: Index,
    properties: BTreeMap<String, Value>,
    lineage: BTreeMap<String, Value>,
    allow_unpinned: bool,
}

/// A view that was saved.
#[derive(Clone, Debug)]
pub struct SavedView {
    /// The view, open.
    pub table: Table,
    /// Sources that could not be told that their rows are used, being read-only as a rule: whoever expires versions there does
    /// not know of this view.
    pub unpinned: Vec<Unpinned>,
}

/// What a view would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViewSize {
    /// Its rows.
    pub rows: u64,
    /// Its index columns.
    pub columns: Vec<String>,
    /// Bytes of its index.
    pub index_bytes: u64,
    /// Bytes of its join maps.
    pub join_bytes: u64,
    /// Bytes of payload that it would copy: always 0.
    pub payload_bytes: u64,
    /// The table versions that its rows come from.
    pub sources: Vec<String>,
}

/// What is stored of a view before its manifest.
struct Stored {
    schema: Schema,
    segments: Vec<Segment>,
    sources: Vec<ViewSource>,
}

/// Rows that become Arrow at a time.
const BATCH_ROWS: usize = 1 << 16;

impl Index {
    /// Saves the index as a view: a table that has these rows, in this order, and copies no payload. Merges, filters, sorts,
    /// samples and splits are all kept this way; columns computed by [`Index::with_columns`] are kept as index columns.
    ///
    /// The view is opened, read and merged like every table. It is bound to the versions of the tables behind it, which are told
    /// that they are needed.
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
    /// `Exists` where there is a table already; `Denied` where a table behind it cannot be told that its rows are used (see
    /// [`ViewWriter::allow_unpinned`]); `Invalid` for a column that an index cannot hold, and for an index without
    /// columns; `Conflict` where a source was collected in the meantime; errors of the stores.
    pub async fn save(&self, url: &str) -> Result<SavedView> {
        self.view_writer().save(url).await
    }

    /// As [`Index::save`], with more to say: properties, lineage, or a view that gets a new version.
    pub fn view_writer(&self) -> ViewWriter {
        ViewWriter { index: self.clone(), properties: BTreeMap::new(), lineage: BTreeMap::new(), allow_unpinned: false }
    }

    /// The stored column that a column of the frame is, where one of the sources has it under this name.
    pub(in crate::table) fn stored_column(&self, name: &str) -> Option<&Column> {
        let named = |source: &IndexSource| source.index.iter().find(|(held, _)| held == name).map(|(_, id)| *id);
        self.sources.iter().find_map(|source| source.table.manifest().schema.column(named(source)?))
    }
}

impl ViewWriter {
    /// Says something of the view, kept in its manifest.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.properties.insert(key.into(), value.into());
        self
    }

    /// Says what the view was made from, kept in its manifest.
    #[must_use]
    pub fn lineage(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.lineage.insert(key.into(), value.into());
        self
    }

    /// Saves the view although a table behind it cannot be told that its rows are used, being read-only as a rule: a garbage
    /// collection there may then delete them. Without this, that is an error.
    #[must_use]
    pub fn allow_unpinned(mut self, allowed: bool) -> Self {
        self.allow_unpinned = allowed;
        self
    }

    /// Saves a new view at `url`.
    ///
    /// # Errors
    /// As [`Index::save`].
    pub async fn save(self, url: &str) -> Result<SavedView> {
        self.save_in(Store::open(url)?).await
    }

    /// Saves a new view in `store`.
    ///
    /// # Errors
    /// As [`Index::save`].
    pub async fn save_in(self, store: Store) -> Result<SavedView> {
        is_new_name(&store)?;
        match commit::newest_version(&store).await? {
            Some(version) => Err(Error::exists(format!(
                "{}: a table is there already, at version {version}; save it as the next version of that view (an update) if that is meant",
                store.url()
            ))),
            None => self.publish(store, None).await,
        }
    }

    /// Saves the next version of a view. Its properties and attachments stay where no new ones are given.
    ///
    /// # Errors
    /// `Invalid` where it is no view; `Conflict` where it has a newer version; as [`Index::save`].
    pub async fn save_over(self, view: &Table) -> Result<SavedView> {
        view.next_version_may_be_written()?;
        if view.view().is_none() {
            return Err(Error::invalid(format!("{} has rows of its own: a view cannot be its next version", view.url())));
        }
        self.publish(view.store().clone(), Some(view)).await
    }

    /// What [`ViewWriter::save`] would store, without storing it.
    ///
    /// # Errors
    /// As [`Index::save`].
    pub async fn size(&self) -> Result<ViewSize> {
        let stored = self.store(&Store::open("memory://")?, None).await?;
        let joins = stored.sources.iter().flat_map(ViewSource::maps);
        Ok(ViewSize {
            rows: stored.segments.iter().map(|segment| segment.rows).sum(),
            columns: self.index.column_names().map(str::to_owned).collect(),
            index_bytes: stored.segments.iter().map(|segment| segment.index.bytes).sum(),
            join_bytes: joins.map(|object| object.bytes).sum(),
            payload_bytes: 0,
            sources: self.index.tables().map(|table| format!("{}@{}", table.url(), table.version())).collect(),
        })
    }

    async fn publish(self, store: Store, before: Option<&Table>) -> Result<SavedView> {
        let mut session = Session::create(store.clone());
        session.allow_unpinned = self.allow_unpinned || before.is_some_and(|before| before.inner.allow_unpinned);
        session.base = before.cloned();
        if let Some(before) = before {
            session.table = before.manifest().table;
        }
        let numbers = self.index.sources.iter().map(|source| {
            let IndexSource { table, .. } = source;
            session.owners.add(table.store(), table.manifest().table, table.version(), table.manifest_hash())
        });
        let numbers = numbers.collect::<Result<Vec<u32>>>()?;
        // A view without columns to look at, or with one that cannot be stored, is refused before anybody is told.
        let stored = self.store(&store, before).await?;
        let sources = stored.sources.into_iter().zip(&numbers).map(|(source, store)| ViewSource { store: *store, ..source });
        let mut lineage = self.lineage.clone();
        lineage.insert("writer".to_owned(), concat!("tetrys ", env!("CARGO_PKG_VERSION")).into());
        let inherited = before.map(Table::manifest);
        let mut properties = inherited.map(|before| before.properties.clone()).unwrap_or_default();
        properties.extend(self.properties.clone());
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
            write_features: Vec::new(),
            view: Some(View { sources: sources.collect() }),
        };
        let saved = session.publish_with(&manifest, false).await?;
        // Whoever put these tables together has allowed them.
        let tables = || self.index.sources.iter().map(|source| &source.table);
        let allowed = tables().flat_map(Table::allowed).cloned().chain(tables().map(|table| table.url().to_owned()));
        let allowed: BTreeSet<String> = allowed.collect();
        let saved = Table::of(store, saved.manifest().clone(), saved.manifest_hash(), allowed.into_iter().collect());
        // They are open already, and so need not be found by their URLs.
        let tables = self.index.sources.iter().map(|source| source.table.clone()).collect();
        saved.inner.sources.set(tables);
        Ok(SavedView { table: saved, unpinned: session.unpinned })
    }

    /// Stores index segments and join maps. The numbers of the sources among `stores` are not known yet.
    async fn store(&self, store: &Store, before: Option<&Table>) -> Result<Stored> {
        let Index { frame, sources } = &self.index;
        let (schema, rows) = self.schema(before)?;
        let located = self.index.located()?;
        let arrow = index_arrow_schema(&schema);
        let user: Vec<_> = frame.columns().iter().filter(|column| !is_locator(column.name())).collect();
        let batch = |start: usize| {
            let end = frame.height().min(start + BATCH_ROWS);
            let typed = user.iter().zip(schema.index());
            let mut columns = typed
                .map(|(column, described)| unframed(&column.slice(start as i64, end - start), &described.ty))
                .collect::<Result<Vec<ArrayRef>>>()?;
            for rows in &located {
                let rows = rows.get(start..end).ok_or_else(|| Error::internal("a source with fewer rows than the frame"))?;
                columns.push(Arc::new(Int64Array::from(rows.to_vec())));
            }
            let options = RecordBatchOptions::new().with_row_count(Some(end - start));
            RecordBatch::try_new_with_options(Arc::clone(&arrow), columns, &options)
                .map_err(|error| Error::internal(format!("index of a view: {error}")))
        };
        let segments = commit::index_segments(store, &schema, (0..frame.height()).step_by(BATCH_ROWS).map(batch)).await?;
        let mut described = Vec::with_capacity(sources.len());
        for (source, row) in sources.iter().zip(rows) {
            let partners = source.partners.as_ref();
            let join = partners.map(|rows| rows.iter().map(|row| u64::try_from(*row).ok()).collect::<Vec<_>>());
            let lists = source.lists.as_ref().map(|lists| lists.firsts(source.table.rows()));
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
                join: put_join(store, join.as_deref()).await?,
                lists: put_join(store, lists.as_deref()).await?,
                columns: columns.collect::<Result<_>>()?,
                index: source.index.iter().map(|(name, id)| ViewIndexColumn { id: *id, name: name.clone() }).collect(),
            });
        }
        Ok(Stored { schema, segments, sources: described })
    }

    /// The index columns of the view, and the row columns among them. A column that the view had before keeps its id.
    fn schema(&self, before: Option<&Table>) -> Result<(Schema, Vec<ColumnId>)> {
        let held = before.map(|table| table.manifest().schema.columns()).unwrap_or_default();
        let mut next = held.iter().map(|column| column.id.0 + 1).max().unwrap_or(0);
        let mut fresh = || {
            let id = ColumnId(next);
            next += 1;
            id
        };
        let mut columns: Vec<Column> = Vec::new();
        for column in self.index.frame.columns().iter().filter(|column| !is_locator(column.name())) {
            let name = column.name().to_string();
            let (mut ty, mut properties) = (column_type(column)?, BTreeMap::new());
            if let Some(stored) = self.index.stored_column(&name) {
                // A zone that frames do not know is kept, where they show what they show for it. Seconds are milliseconds there.
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
                    properties = stored.properties.clone();
                }
            }
            let id = held.iter().find(|held| held.name == name && held.ty == ty).map_or_else(&mut fresh, |held| held.id);
            columns.push(Column { id, name, ty, properties });
        }
        unique_names(&self.index)?;
        if columns.is_empty() {
            return Err(Error::invalid("a view without index columns: keep one at least"));
        }
        let mut rows = Vec::new();
        for number in 0..self.index.sources.len() {
            let mut name = format!("_row_{number}");
            while columns.iter().any(|column| column.name == name) {
                name.insert(0, '_');
            }
            // Always a new id: so the ids of a view only rise, and none is used again.
            let id = fresh();
            columns.push(Column { id, name, ty: ColumnType::Scalar(Primitive::I64), properties: BTreeMap::new() });
            rows.push(id);
        }
        let index = columns.iter().map(|column| column.id).collect();
        Ok((Schema::from_parts(columns, Vec::new(), index, Vec::new(), Vec::new())?, rows))
    }
}

/// No name is that of an index column and of a group column.
pub(in crate::table) fn unique_names(index: &Index) -> Result<()> {
    let grouped = index.sources.iter().flat_map(|source| source.columns.iter().map(move |(name, _)| (source, name)));
    match grouped.into_iter().find(|(_, name)| index.frame.column(name).is_ok()) {
        Some((source, name)) => Err(Error::invalid(format!(
            "column `{name}` is an index column of the frame and a group column of {}: give the index column another name \
             in the frame, or leave it out of it",
            source.table.url()
        ))),
        None => Ok(()),
    }
}

async fn put_join(store: &Store, partners: Option<&[Option<u64>]>) -> Result<Option<ObjectRef>> {
    let Some(partners) = partners else { return Ok(None) };
    let bytes = write_join(partners)?;
    let object = ObjectRef::of(&bytes);
    store.put_content(&object.name_in("joins"), bytes.into()).await?;
    Ok(Some(object))
}
