//! Edits: versions with the same rows, and other names, properties or tags, or fewer columns. An edit writes no payload, except
//! for column groups that lose some of their columns and keep others.

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, RecordBatch};
use futures::StreamExt;
use serde_json::Value;

use super::columns::GroupRows;
use crate::{
    commit::{self, SegmentIndex},
    error::{Error, Result},
    format::{Manifest, Segment, SequenceTracker, index_arrow_schema, index_reader, is_tag},
    schema::{ColumnId, Schema},
    store::Store,
    table::{
        reading::RowLoader,
        session::{Session, lineage},
        version::table::Table,
    },
    write::{WriteOptions, WrittenGroup},
};

/// Changes that [`Edit::commit`] commits together.
#[derive(Clone, Debug)]
#[must_use = "an edit changes nothing until it is committed"]
pub struct Edit {
    base: Table,
    manifest: Manifest,
    /// A description of each change, for the lineage.
    done: Vec<String>,
    /// The first change that is impossible.
    failed: Option<(crate::ErrorKind, String)>,
}

impl Table {
    /// Starts a version with the same rows, and other names, properties or tags, or fewer columns.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let table = table.edit().rename_column("square.side", "square.width").set_property("license", "CC0").tag("gold", 1).commit().await?;
    /// assert_eq!(table.version(), 2);
    /// assert_eq!(Table::open(&format!("{url}@gold")).await?.version(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit(&self) -> Edit {
        Edit { base: self.clone(), manifest: self.manifest().clone(), done: Vec::new(), failed: None }
    }
}

impl Edit {
    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.failed.is_none()
    }

    fn change(mut self, what: String, change: impl FnOnce(&mut Manifest) -> Result<()>) -> Self {
        if self.failed.is_none() {
            match change(&mut self.manifest) {
                Ok(()) => self.done.push(what),
                Err(error) => self.failed = Some((error.kind(), error.to_string())),
            }
        }
        self
    }

    /// Renames a column. Its stored values stay as they are.
    pub fn rename_column(self, column: &str, name: &str) -> Self {
        self.change(format!("rename {column} to {name}"), |manifest| {
            manifest.schema = manifest.schema.with_name(column, name)?;
            Ok(())
        })
    }

    /// Drops columns. Earlier versions keep them.
    ///
    /// A column group disappears with its last column, and nothing is written for it. A group that keeps other columns is read
    /// and **rewritten**, because its blocks hold all columns: this takes the time to copy the remaining columns, and stores them
    /// again. Memory is bounded: batches of about 16 MiB, and chunks as in any writer. Other groups are not touched.
    pub fn drop_columns(self, columns: &[&str]) -> Self {
        self.change(format!("drop {}", columns.join(", ")), |manifest| {
            let (schema, kept) = manifest.schema.without(columns)?;
            let index: Vec<_> = schema.index().map(|column| column.id).collect();
            manifest.schema = schema;
            for segment in &mut manifest.segments {
                segment.groups = kept.iter().filter_map(|group| segment.groups.get(*group).cloned()).collect();
                segment.statistics.retain(|statistics| index.contains(&statistics.column));
            }
            Ok(())
        })
    }

    /// Sets a table property.
    pub fn set_property(self, key: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.change(format!("set {key}"), |manifest| {
            manifest.properties.insert(key.to_owned(), value);
            Ok(())
        })
    }

    /// Removes a table property.
    pub fn remove_property(self, key: &str) -> Self {
        self.change(format!("unset {key}"), |manifest| match manifest.properties.remove(key) {
            Some(_) => Ok(()),
            None => Err(Error::not_found(format!("no property `{key}`"))),
        })
    }

    /// Sets a column property, such as a unit; `None` removes it.
    pub fn set_column_property(self, column: &str, key: &str, value: Option<Value>) -> Self {
        self.change(format!("set {key} of {column}"), |manifest| {
            manifest.schema = manifest.schema.with_property(column, key, value)?;
            Ok(())
        })
    }

    /// Tags a version with a name, so that `URL@NAME` opens it. A tag that exists moves to this version.
    pub fn tag(self, name: &str, version: u64) -> Self {
        let newest = self.base.version();
        self.change(format!("tag {version} as {name}"), |manifest| {
            // A tag without letters and digits, such as `..`, looks like a path.
            if !is_tag(name) || !name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
                return Err(Error::invalid(format!(
                    "tag `{name}`: expected 1 to 64 letters, digits, `.`, `_` and `-`, with a letter or a digit, not digits alone"
                )));
            }
            if !(1..=newest).contains(&version) {
                return Err(Error::invalid(format!("tag `{name}`: no version {version}, the table has 1 to {newest}")));
            }
            manifest.tags.insert(name.to_owned(), version);
            Ok(())
        })
    }

    /// Removes a tag.
    pub fn untag(self, name: &str) -> Self {
        self.change(format!("untag {name}"), |manifest| match manifest.tags.remove(name) {
            Some(_) => Ok(()),
            None => Err(Error::not_found(format!("no tag `{name}`"))),
        })
    }

    /// Commits the version. The index is rewritten only if index columns were renamed or dropped, and a column group only if it
    /// lost some of its columns. Returns the version that is edited if nothing would be other than there.
    ///
    /// # Errors
    /// - `Invalid`, `NotFound`, `Unsupported`: a change is impossible. The error is that of the first such change.
    /// - `NotFound`: a garbage collection has deleted a version that gets a tag.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses (see [`Table::allow_unpinned`]).
    /// - `Conflict`: another writer changed the same part.
    /// - Errors of the stores.
    pub async fn commit(self) -> Result<Table> {
        let Self { base, mut manifest, done, failed } = self;
        if let Some((kind, message)) = failed {
            return Err(Error::new(kind, message).at(base.url()));
        }
        if manifest == *base.manifest() {
            return Ok(base);
        }
        let mut session = Session::change(&base, true, false).await?;
        let names = |schema: &Schema| schema.index().map(|column| column.name.clone()).collect::<Vec<_>>();
        let mut bytes = shrink_groups(&mut session, &base, &mut manifest).await?;
        if names(&manifest.schema) != names(base.schema()) {
            bytes += rewrite_index(&session.store, &base, &mut manifest).await?;
        }
        let details = BTreeMap::from([("changes".to_owned(), Value::from(done)), ("bytes_added".to_owned(), bytes.into())]);
        let child = session.child()?;
        let Manifest { schema, segments, properties, tags, .. } = manifest;
        let manifest = Manifest { schema, segments, properties, tags, lineage: lineage("edit", details)?, ..child };
        session.publish(manifest).await
    }
}

/// Logical bytes of one batch of copied rows.
const COPIED: u64 = 16 << 20;

/// Rewrites the column groups that lost columns. Returns the bytes of the objects written.
async fn shrink_groups(session: &mut Session, base: &Table, manifest: &mut Manifest) -> Result<u64> {
    let before = base.schema().groups_by_name();
    let mut written = Vec::new();
    for (number, group) in manifest.schema.groups().iter().enumerate() {
        let of_base = *before
            .get(group.name.as_str())
            .ok_or_else(|| Error::internal(format!("column group `{}` from nowhere", group.name)))?;
        if base.schema().groups()[of_base].columns == group.columns {
            continue;
        }
        let preset = base.manifest().preset.parse().unwrap_or_default();
        let options = WriteOptions { preset, ..WriteOptions::default() };
        let mut rows = GroupRows::new(session, base, manifest.schema.clone(), number, options).await?;
        let columns = base.manifest().segments.iter().flat_map(|segment| &segment.groups[of_base].columns);
        let row_bytes = columns.map(|column| column.logical).sum::<u64>() / base.rows().max(1);
        let batch_rows = usize::try_from((COPIED / row_bytes.max(1)).clamp(1, 1 << 14)).unwrap_or(1);
        let mut batches = std::pin::pin!(RowLoader::of_group_columns(base, &group.columns).scan(batch_rows));
        while let Some(batch) = batches.next().await {
            rows.write(&under_new_names(batch?.batch(), &group.columns, base.schema(), &manifest.schema)?).await?;
        }
        let (groups, sharing) = rows.finish()?;
        written.push((number, groups, sharing.new_bytes));
    }
    if written.is_empty() {
        return Ok(0);
    }
    let used: Vec<u32> = written.iter().flat_map(|(_, groups, _)| groups).flat_map(WrittenGroup::owners).collect();
    let owners = session.settle_owners(used, true).await;
    let mut bytes = 0;
    for (number, groups, new_bytes) in written {
        bytes += new_bytes;
        for (segment, group) in manifest.segments.iter_mut().zip(groups) {
            let stored = commit::put_group(&session.store, group, &owners).await?;
            bytes += stored.layout.bytes + stored.hashes.bytes;
            segment.groups[number] = stored;
        }
    }
    Ok(bytes)
}

/// Returns columns of a batch under their names in the new schema.
fn under_new_names(batch: &RecordBatch, ids: &[ColumnId], before: &Schema, now: &Schema) -> Result<RecordBatch> {
    let columns = ids.iter().map(|id| {
        let found = before
            .column(*id)
            .zip(now.column(*id))
            .and_then(|(before, now)| Some((&now.name, batch.column_by_name(&before.name)?)));
        found.map(|(name, array)| (name, ArrayRef::clone(array))).ok_or_else(|| Error::internal(format!("no column {}", id.0)))
    });
    let columns: Vec<_> = columns.collect::<Result<_>>()?;
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .map_err(|error| Error::internal(error.to_string()))
}

/// Rewrites the index segments with the columns and names of the new schema. Returns the bytes of the objects written.
async fn rewrite_index(store: &Store, base: &Table, manifest: &mut Manifest) -> Result<u64> {
    let mut tracker = SequenceTracker::new(&manifest.schema);
    let places: Vec<usize> =
        manifest.schema.index().filter_map(|column| base.schema().index().position(|before| before.id == column.id)).collect();
    let mut bytes = 0;
    for segment in &mut manifest.segments {
        let mut index = SegmentIndex::new(&manifest.schema, segment.tail.is_some())?;
        for batch in index_reader(base.object("index", &segment.index).await?, base.schema(), segment.rows)? {
            let columns = batch?.project(&places).map_err(|error| Error::internal(error.to_string()))?.columns().to_vec();
            let batch = RecordBatch::try_new(index_arrow_schema(&manifest.schema), columns);
            index.push(&batch.map_err(|error| Error::internal(error.to_string()))?, &mut tracker)?;
        }
        let groups = std::mem::take(&mut segment.groups);
        *segment = Segment { groups, ..index.finish(store, segment.first_row).await? };
        bytes += segment.index.bytes;
    }
    Ok(bytes)
}
