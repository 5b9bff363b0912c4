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

use super::version::Table;
use crate::{
    commit,
    error::{Error, Result},
    format::Manifest,
    id::{Hash, ObjectRef},
    schema::Schema,
    store::Store,
    write::{PartitionWriter, Receipt, WriteOptions},
};

/// The session that makes version 1 of a table.
///
/// Partitions are written anywhere, by anyone, in any order; their numbers order their rows in the table. Nothing is visible
/// before [`TableWriter::commit`], and a session that stops half-way leaves a table that does not exist.
#[derive(Debug)]
pub struct TableWriter {
    pub(super) store: Store,
    pub(super) session: Uuid,
    /// Who the table and its commit will be: known from the start, so that a commit that is made again is the same one.
    pub(super) table: Uuid,
    pub(super) commit_id: Uuid,
    pub(super) schema: Arc<Schema>,
    pub(super) options: WriteOptions,
    pub(super) partitions: AtomicU32,
    pub(super) extras: Mutex<Extras>,
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
        let session = Uuid::new_v4();
        let (table, commit_id) = (Uuid::new_v4(), Uuid::new_v4());
        let partitions = AtomicU32::new(0);
        Ok(Self { store, session, table, commit_id, schema: Arc::new(schema), options, partitions, extras: Mutex::default() })
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
        PartitionWriter::new(self.store.clone(), self.session, number, Arc::clone(&self.schema), &self.options)
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
        let object = ObjectRef { blake3: Hash::of(&content), bytes: content.len() as u64 };
        self.store.put_content(&format!("attachments/{}", object.blake3), content).await?;
        self.extras().attachments.insert(name.into(), object);
        Ok(())
    }

    /// Makes the table exist with the rows of these receipts, one for every partition, in any order.
    ///
    /// # Errors
    /// `Invalid` for missing or conflicting receipts and broken sequences; `Conflict` where another writer made a table here in
    /// the meantime; `OutcomeUnknown` where it cannot be told; errors of the store.
    pub async fn commit(self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        let receipts = commit::in_order(self.session, self.partitions.load(Ordering::Relaxed), receipts)?;
        let segments = match commit::merge(&self.store, &self.schema, &receipts, self.options.segment_rows).await {
            Ok(segments) => segments,
            // A session that was committed has swept its parts.
            Err(error) => return self.committed().await?.ok_or(error),
        };
        let extras = self.extras.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut lineage = extras.lineage;
        lineage.insert("writer".to_owned(), concat!("tetrys ", env!("CARGO_PKG_VERSION")).into());
        let manifest = Manifest {
            table: self.table,
            version: 1,
            parent: None,
            commit_id: self.commit_id,
            schema: Arc::unwrap_or_clone(self.schema),
            preset: self.options.preset.name().to_owned(),
            cuts: self.options.cuts,
            segments,
            attachments: extras.attachments,
            properties: extras.properties,
            lineage: serde_json::to_value(lineage).map_err(|error| Error::internal(error.to_string()))?,
            stores: Vec::new(),
            condemned: Vec::new(),
            write_features: Vec::new(),
        };
        let hash = commit::publish(&self.store, &manifest).await?;
        // The table exists. What the session leaves behind is garbage: failing to sweep it must not fail the commit.
        let folder = format!("sessions/{}", self.session);
        for (name, _) in self.store.list(&folder).await.unwrap_or_default() {
            let _ = self.store.delete(&name).await;
        }
        Ok(Table::of(self.store, manifest, hash, Vec::new()))
    }
}
