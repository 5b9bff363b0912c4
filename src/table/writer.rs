//! A write session: gives out partitions, takes their receipts, commits once.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;

use super::{
    session::{Session, follow, lineage},
    version::Table,
};
use crate::{
    commit::{self, MergeInto, Unpinned},
    error::{Error, Result},
    format::{Manifest, SequenceTracker},
    id::ObjectRef,
    schema::Schema,
    store::Store,
    write::{PartitionWriter, Receipt, Sharing, WriteOptions},
};

/// The session that makes a version of a table out of new rows: the first version ([`Table::create`]), one with more rows
/// ([`Table::append`]), or one with other rows ([`Table::overwrite`]).
///
/// Partitions are written anywhere, by anyone, in any order; their numbers order their rows in the table. Nothing is visible
/// before [`TableWriter::commit`], and a session that stops half-way leaves the table as it was.
#[derive(Debug)]
pub struct TableWriter {
    pub(super) session: Session,
    pub(super) id: Uuid,
    pub(super) rows: Rows,
    pub(super) schema: Arc<Schema>,
    pub(super) options: WriteOptions,
    pub(super) partitions: AtomicU32,
    pub(super) extras: Mutex<Extras>,
}

/// What becomes of the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    Created,
    Appended,
    Overwritten,
}

#[derive(Debug, Default)]
pub(super) struct Extras {
    properties: BTreeMap<String, Value>,
    lineage: BTreeMap<String, Value>,
    attachments: BTreeMap<String, ObjectRef>,
}

impl TableWriter {
    /// Starts a table in `store`. The schema has at least one index column.
    ///
    /// # Errors
    /// As [`Table::create`].
    pub async fn create(store: Store, schema: Schema, options: WriteOptions) -> Result<Self> {
        options.cuts.check()?;
        if schema.index().len() == 0 {
            // An index segment counts its rows by its columns.
            return Err(Error::invalid("the schema has no index column, at least one is needed"));
        }
        store.ensure_create_only().await?;
        if let Some(version) = commit::newest_version(&store).await? {
            return Err(Error::exists(format!("{}: a table is there already, at version {version}", store.url())));
        }
        Self::of(Session::create(store), Rows::Created, schema, options)
    }

    pub(super) fn of(session: Session, rows: Rows, schema: Schema, options: WriteOptions) -> Result<Self> {
        options.cuts.check()?;
        let (partitions, extras) = (AtomicU32::new(0), Mutex::default());
        Ok(Self { session, id: Uuid::new_v4(), rows, schema: Arc::new(schema), options, partitions, extras })
    }

    /// Starts a version with more rows than this one.
    pub(super) async fn append(base: &Table, options: WriteOptions) -> Result<Self> {
        // Rows are cut as the table's rows are, so that they are the same wherever they are written.
        let options = WriteOptions { cuts: base.manifest().cuts, ..options };
        let mut session = Session::change(base, true).await?;
        session.know(&[], &options).await?;
        Self::of(session, Rows::Appended, base.schema().clone(), options)
    }

    /// Starts a version with other rows than this one.
    pub(super) async fn overwrite(base: &Table, schema: Schema, options: WriteOptions) -> Result<Self> {
        if schema.index().len() == 0 {
            return Err(Error::invalid("the schema has no index column, at least one is needed"));
        }
        let schema = schema.with_ids_after(base.schema())?;
        let mut session = Session::change(base, false).await?;
        session.know(&[], &options).await?;
        Self::of(session, Rows::Overwritten, schema, options)
    }

    /// Lets the table share chunks with others: a block that one of them has, by its logical hash, is neither encoded nor
    /// stored again, but referred to where it lies. What they say of their blocks is compared before it is believed. Each of
    /// them learns of it by a pin, unless it cannot be written: see [`TableWriter::unpinned`].
    ///
    /// The first version of a table has no other blocks to share; later ones share those of the versions before in any case.
    ///
    /// # Errors
    /// `Invalid` after the first partition was given out, and for a table in a store that has no name; `Conflict` where a
    /// referenced version is not there any more; `Corrupt`; errors of the stores.
    pub async fn references<'a>(mut self, tables: impl IntoIterator<Item = &'a Table>) -> Result<Self> {
        if self.partitions.load(Ordering::Relaxed) > 0 {
            return Err(Error::invalid("references come before the first partition"));
        }
        let tables: Vec<Table> = tables.into_iter().cloned().collect();
        if !tables.is_empty() {
            self.session.know(&tables, &self.options).await?;
        }
        Ok(self)
    }

    /// Tables whose chunks may be used and that could not be told: a garbage collection there may take the chunks away.
    pub fn unpinned(&self) -> &[Unpinned] {
        &self.session.unpinned
    }

    /// The schema that rows must have.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The next partition.
    ///
    /// # Errors
    /// `Unavailable` where no temporary file can be made.
    pub fn partition(&self) -> Result<PartitionWriter> {
        self.partition_at(self.partitions.fetch_add(1, Ordering::Relaxed))
    }

    /// Partition `number`, for callers that number them.
    ///
    /// # Errors
    /// As [`TableWriter::partition`].
    pub fn partition_at(&self, number: u32) -> Result<PartitionWriter> {
        self.partitions.fetch_max(number.saturating_add(1), Ordering::Relaxed);
        let known = self.session.known.clone();
        PartitionWriter::new(self.session.store.clone(), self.id, number, Arc::clone(&self.schema), &self.options, known)
    }

    /// The number of the next partition, for somebody else to write: in another process by [`TableWriter::join`] and
    /// [`TableWriter::partition_at`]. Its receipt is waited for by the commit.
    pub fn reserve(&self) -> u32 {
        self.partitions.fetch_add(1, Ordering::Relaxed)
    }

    /// Says something of the table, kept in its manifest.
    pub fn set_property(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().properties.insert(key.into(), value.into());
    }

    /// Says what the table was made from, kept in its manifest.
    pub fn set_lineage(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().lineage.insert(key.into(), value.into());
    }

    fn extras(&self) -> std::sync::MutexGuard<'_, Extras> {
        // Nothing panics while it is held; a poisoned value would still be whole.
        self.extras.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Stores a small object beside the rows (a map, a calibration) under `name`.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn attach(&self, name: impl Into<String>, content: impl Into<Bytes>) -> Result<()> {
        let content: Bytes = content.into();
        let object = ObjectRef::of(&content);
        self.session.store.put_content(&object.name_in("attachments"), content).await?;
        self.extras().attachments.insert(name.into(), object);
        Ok(())
    }

    /// Makes the version exist with the rows of these receipts, one for every partition, in any order.
    ///
    /// Where another writer committed a version since, this one is put on top of it if they changed different things.
    ///
    /// # Errors
    /// `Invalid` for missing or conflicting receipts and broken sequences; `Conflict` where another writer made a table here in
    /// the meantime, or changed the same; `OutcomeUnknown` where it cannot be told; errors of the store.
    pub async fn commit(self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        let Self { mut session, id, rows, schema, options, partitions, extras } = self;
        let receipts = commit::in_order(id, partitions.load(Ordering::Relaxed), receipts)?;
        let groups = receipts.iter().flat_map(|receipt| &receipt.parts).flat_map(|parts| &parts.groups);
        let used: Vec<u32> = groups.flat_map(|group| &group.owners).copied().collect();
        let owners = session.settle_owners(used, rows == Rows::Appended).await;
        let mut tracker = SequenceTracker::new(&schema);
        let base = session.base.as_ref().filter(|_| rows == Rows::Appended).map(Table::manifest);
        for number in 0..base.map_or(0, |base| base.segments.len()) {
            if let Some(base) = base {
                follow(&session.store, base, number, &mut tracker).await?;
            }
        }
        let first_row = base.map_or(0, Manifest::rows);
        let into = MergeInto { schema: &schema, tracker, first_row, segment_rows: options.segment_rows, owners: &owners };
        let segments = match commit::merge(&session.store, &receipts, into).await {
            Ok(segments) => segments,
            // A session that was committed has swept its parts.
            Err(error) if rows == Rows::Created => return session.committed().await?.ok_or(error),
            Err(error) => return Err(error),
        };
        let sharing = receipts.iter().fold(Sharing::default(), |sum, receipt| sum.and(receipt.sharing.clone()));
        let extras = extras.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut said = extras.lineage;
        let objects = segments.iter().flat_map(|segment| {
            let groups = segment.groups.iter().flat_map(|group| [group.layout.bytes, group.hashes.bytes]);
            groups.chain([segment.index.bytes])
        });
        said.insert("bytes_added".to_owned(), (sharing.new_bytes + objects.sum::<u64>()).into());
        if session.known.is_some() {
            let shared = serde_json::to_value(&sharing).map_err(|error| Error::internal(error.to_string()))?;
            said.insert("shared".to_owned(), shared);
        }
        let operation = match rows {
            Rows::Created => "create",
            Rows::Appended => "append",
            Rows::Overwritten => "overwrite",
        };
        let mut manifest = match rows {
            Rows::Created => Manifest {
                table: session.table,
                version: 1,
                parent: None,
                commit_id: session.commit_id,
                schema: Arc::unwrap_or_clone(schema),
                preset: options.preset.name().to_owned(),
                cuts: options.cuts,
                segments,
                attachments: BTreeMap::new(),
                properties: BTreeMap::new(),
                tags: BTreeMap::new(),
                lineage: Value::Null,
                stores: session.owners.stores(),
                condemned: Vec::new(),
                write_features: Vec::new(),
                view: None,
            },
            Rows::Appended => {
                let mut child = session.child()?;
                child.segments.extend(segments);
                child
            }
            Rows::Overwritten => Manifest {
                schema: Arc::unwrap_or_clone(schema),
                preset: options.preset.name().to_owned(),
                cuts: options.cuts,
                segments,
                ..session.child()?
            },
        };
        manifest.lineage = lineage(operation, said)?;
        manifest.attachments.extend(extras.attachments);
        manifest.properties.extend(extras.properties);
        let store = session.store.clone();
        let table = session.publish(manifest).await?;
        // The version exists. What the session leaves behind is garbage: failing to sweep it must not fail the commit.
        for (name, _) in store.list(&format!("sessions/{id}")).await.unwrap_or_default() {
            let _ = store.delete(&name).await;
        }
        Ok(table)
    }
}
