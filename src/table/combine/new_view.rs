//! A new view: a table with the index columns of a frame, with join maps and without payload. Stores its index and join maps, and
//! publishes it. Follows `format-spec/views.md#members`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
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
    format::{Cuts, Manifest, Parent, Segment, View, ViewColumn, ViewIndexColumn, ViewSource, index_arrow_schema, write_join},
    id::ObjectRef,
    index::{is_locator, shown_zone, stored_type, unframed},
    schema::{Column, ColumnId, ColumnType, Primitive, Schema, TimeUnit},
    store::Store,
    table::{
        index::index::{Index, IndexSource},
        session::Session,
        version::{table::Table, temporary::MEMORY_LIMIT},
    },
    work::offload_large,
};

/// How views are saved.
///
/// ```
/// use tetrys::ViewOptions;
/// let options = ViewOptions { memory_limit: Some(8 << 30), ..ViewOptions::default() };
/// let options = options.property("owner", "perception").lineage("made by", "nightly.rs");
/// assert_eq!(options.properties["owner"], "perception");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ViewOptions {
    /// Properties of the views.
    pub properties: BTreeMap<String, Value>,
    /// Lineage entries of the views. Views of a split get the name of their part as the entry `part`, and views of a recipe get
    /// the recipe as the entry `recipe`.
    pub lineage: BTreeMap<String, Value>,
    /// Whether to save the views even if no pin can be written to a source, most often because it is read-only. A garbage
    /// collection there may then delete rows that the views need. If false, saving returns `Denied` in this case.
    pub allow_unpinned: bool,
    /// Memory in bytes up to which tables are merged and split in memory. Larger ones are read part by part. A merge then takes
    /// about this limit, plus the index objects of three segments, plus a few hundred megabytes. A split takes about this limit,
    /// plus the index object of a segment or a join map of a view as they are stored, plus a few hundred megabytes; the more
    /// views there are, and the lower the limit is, the more often the index is read. The default is 2 GiB.
    pub memory_limit: Option<u64>,
    /// Folder for temporary files of merges and splits part by part. They are deleted when they are closed, even if the process is
    /// killed. The default is the folder of the system.
    pub temporary_folder: Option<PathBuf>,
}

impl ViewOptions {
    /// Sets a property of the views.
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.properties.insert(key.into(), value.into());
        self
    }

    /// Sets a lineage entry of the views.
    pub fn lineage(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.lineage.insert(key.into(), value.into());
        self
    }

    pub(in crate::table) fn memory(&self) -> u64 {
        self.memory_limit.unwrap_or(MEMORY_LIMIT)
    }
}

/// A view that was saved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SavedView {
    /// The view as a table.
    pub table: Table,
    /// Sources without a pin, most often because they are read-only. A garbage collection there may delete versions that this
    /// view needs.
    pub unpinned: Vec<Unpinned>,
    /// Size of the view.
    pub size: ViewSize,
}

/// Size of a view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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

/// A view that is not saved yet.
pub(in crate::table) struct NewView {
    /// The name of its part of a split.
    pub(in crate::table) part: Option<String>,
    /// The index with the columns and sources of the view. It has no rows if they are stored part by part.
    pub(in crate::table) index: Index,
}

/// Where a view is stored, and the version before it if it is the next version of a view.
pub(in crate::table) type Place = (Store, Option<Table>);

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
    /// Returns the stored column behind a column of the frame; `None` if no source has an index column of this name.
    pub(in crate::table) fn stored_column(&self, name: &str) -> Option<&Column> {
        let named = |source: &IndexSource| source.index.iter().find(|(existing, _)| existing == name).map(|(_, id)| *id);
        self.sources.iter().find_map(|source| source.table.manifest().schema.column(named(source)?))
    }
}

impl NewView {
    /// Returns the size of the view with these objects.
    pub(in crate::table) fn size_of(&self, stored: &Stored) -> ViewSize {
        ViewSize {
            rows: stored.segments.iter().map(|segment| segment.rows).sum(),
            columns: self.index.column_names().map(str::to_owned).collect(),
            index_bytes: stored.segments.iter().map(|segment| segment.index.bytes).sum(),
            join_bytes: stored.sources.iter().flat_map(ViewSource::maps).map(|object| object.bytes).sum(),
            payload_bytes: 0,
            sources: self.index.tables().map(|table| format!("{}@{}", table.url(), table.version())).collect(),
        }
    }

    /// Begins the view. Its objects may be stored after that.
    pub(in crate::table) fn begin(&self, (store, before): &Place, options: &ViewOptions) -> Result<Publishing> {
        let mut session = Session::first_or_next(store, before.as_ref(), options.allow_unpinned);
        let numbers = self
            .index
            .tables()
            .map(|table| session.owners.add(table.store(), table.manifest().table, table.version(), table.manifest_hash()));
        let numbers = numbers.collect::<Result<Vec<u32>>>()?;
        Ok(Publishing { session, numbers })
    }

    /// Publishes a view whose objects are stored.
    pub(in crate::table) async fn finish(
        &self,
        Publishing { mut session, numbers }: Publishing,
        (store, before): Place,
        stored: Stored,
        options: &ViewOptions,
    ) -> Result<SavedView> {
        let (size, before) = (self.size_of(&stored), before.as_ref());
        let sources = stored.sources.into_iter().zip(&numbers).map(|(source, store)| ViewSource { store: *store, ..source });
        let mut lineage = options.lineage.clone();
        lineage.extend(self.part.iter().map(|part| ("part".to_owned(), part.as_str().into())));
        lineage.insert("writer".to_owned(), concat!("tetrys ", env!("CARGO_PKG_VERSION")).into());
        let inherited = before.map(Table::manifest);
        let mut properties = inherited.map(|before| before.properties.clone()).unwrap_or_default();
        properties.extend(options.properties.clone());
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
        let tables = || self.index.tables();
        let allowed = tables().flat_map(Table::allowed).cloned().chain(tables().map(|table| table.url().to_owned()));
        let allowed: BTreeSet<String> = allowed.collect();
        let saved = Table::of(store, saved.manifest().clone(), saved.manifest_hash(), allowed.into_iter().collect());
        // The sources are open already, so they need not be opened by their URLs.
        saved.inner.sources.set(tables().cloned().collect());
        Ok(SavedView { table: saved, unpinned: session.unpinned, size })
    }

    /// Stores index segments and join maps. Returns sources whose `store` is 0; the caller sets their numbers.
    pub(in crate::table) async fn store(&self, (store, before): &Place) -> Result<Stored> {
        let (schema, rows) = self.schema(before.as_ref())?;
        let (index, height) = (self.index.clone(), self.index.frame.bare().height());
        let size = height.saturating_mul(8 * self.index.sources.len());
        let located = offload_large(size, move |_| index.located()).await?;
        let (index, described, arrow) = (self.index.clone(), schema.clone(), index_arrow_schema(&schema));
        let batches = (0..height).step_by(BATCH_ROWS);
        let batches = batches.map(move |start| batch_of(&index, &located, (&described, &arrow), start));
        let tails = before.as_ref().is_some_and(|before| before.manifest().has_tails());
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
                let object = |rows: Vec<Option<u64>>| write_join(&rows, salt).map(|bytes| (ObjectRef::of(&bytes), bytes));
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
        let existing = before.map(|table| table.manifest().schema.columns()).unwrap_or_default();
        let mut next = existing.iter().map(|column| column.id.0 + 1).max().unwrap_or(0);
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
                    properties
                        .retain(|key, value| key != "arrow" || !value.as_str().is_some_and(|value| value.starts_with("list<")));
                    properties.extend(own);
                }
            }
            let id = existing
                .iter()
                .find(|existing| existing.name == name && existing.ty == ty)
                .map_or_else(&mut fresh, |existing| existing.id);
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
