//! A write session: gives out partitions, takes their receipts, commits once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use serde_json::Value;
use uuid::Uuid;

use super::session::{SESSION, Session, follow, lineage};
use crate::{
    commit::{self, MergeInto, Unpinned},
    error::{Error, Result},
    format::{Manifest, SequenceTracker},
    id::ObjectRef,
    schema::Schema,
    store::{Store, StoreOptions},
    table::table::{Table, split_name},
    write::{PartitionWriter, Receipt, Sharing, WriteOptions},
};

/// The session that makes a version of a table out of new rows: the first version ([`Table::create`]), one with more rows
/// ([`Table::append`]), or one with other rows ([`Table::overwrite`]).
///
/// Partitions are written anywhere, by anyone, in any order; their numbers order their rows in the table. Nothing is visible
/// before [`TableWriter::commit`], and a session that stops half-way leaves the table as it was.
#[derive(Debug)]
pub struct TableWriter {
    pub(in crate::table) session: Session,
    pub(in crate::table) id: Uuid,
    pub(in crate::table) rows: Rows,
    pub(in crate::table) schema: Arc<Schema>,
    pub(in crate::table) options: WriteOptions,
    pub(in crate::table) partitions: AtomicU32,
    pub(in crate::table) extras: Mutex<Extras>,
    /// A commit was tried that had all receipts.
    pub(in crate::table) ended: AtomicBool,
    /// Other processes may write partitions: this writer has given a ticket, or joined with one.
    pub(in crate::table) has_ticket: AtomicBool,
    /// Of a session that another process began on a table that is there: the version that it found.
    pub(in crate::table) joined: Option<u64>,
}

/// What becomes of the rows that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::table) enum Rows {
    Created,
    Appended,
    Overwritten,
}

#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Extras {
    properties: BTreeMap<String, Value>,
    pub(in crate::table) lineage: BTreeMap<String, Value>,
    attachments: BTreeMap<String, ObjectRef>,
    abandoned: BTreeSet<u32>,
}

impl Table {
    /// Starts a table at `url`; nothing is visible there before [`TableWriter::commit`].
    ///
    /// # Errors
    /// `Exists` where there is a table already; `Invalid` for impossible options and a schema without index columns; errors of the store.
    pub async fn create(url: &str, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::create(Store::open(url)?, schema, options).await
    }

    /// Starts a version with more rows, cut as this table's rows are. Blocks that some earlier version has are not stored again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let rows = |from: i64| {
    /// #     let column = || Arc::new(Int64Array::from_iter_values(from..from + 10)) as _;
    /// #     RecordBatch::try_from_iter([("id", column()), ("square.side", column())])
    /// # };
    /// let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?; partition.write(&rows(0)?).await?;
    /// let table = writer.commit([partition.finish().await?]).await?;
    /// let writer = table.append(WriteOptions::default()).await?;
    /// let mut partition = writer.partition()?;
    /// partition.write(&rows(10)?).await?;
    /// let longer = writer.commit([partition.finish().await?]).await?;
    /// assert_eq!((longer.version(), longer.rows()), (2, 20));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unsupported` where this version needs a later writer; errors of the store.
    pub async fn append(&self, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::append(self, options).await
    }

    /// Starts a version with other rows: all that this version has is left behind, but blocks that are the same are not stored
    /// again. Properties, attachments and tags stay.
    ///
    /// # Errors
    /// As [`Table::append`]; `Invalid` for impossible options and a schema without index columns.
    pub async fn overwrite(&self, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::overwrite(self, schema, options).await
    }

    /// As [`Table::create`], the store being reached as `reached` says.
    ///
    /// # Errors
    /// As [`Table::create`]; `Invalid` for store options that cannot be.
    pub async fn create_with(url: &str, reached: &StoreOptions, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::create(Store::open_with(url, reached)?, schema, options).await
    }
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
        is_new_name(&store)?;
        store.ensure_create_only().await?;
        if let Some(version) = commit::newest_version(&store).await? {
            return Err(Error::exists(format!("{}: a table is there already, at version {version}", store.url())));
        }
        let session = Session { allow_unpinned: options.allow_unpinned, ..Session::create(store) };
        Self::of(session, Rows::Created, schema, options)
    }

    pub(in crate::table) fn of(session: Session, rows: Rows, schema: Schema, options: WriteOptions) -> Result<Self> {
        options.cuts.check()?;
        let (partitions, extras, ended, has_ticket) = Default::default();
        let (id, schema, joined) = (Uuid::new_v4(), Arc::new(schema), None);
        Ok(Self { session, id, rows, schema, options, partitions, extras, ended, has_ticket, joined })
    }

    /// Starts a version with more rows than this one.
    pub(in crate::table) async fn append(base: &Table, options: WriteOptions) -> Result<Self> {
        // Rows are cut as the table's rows are, so that they are the same wherever they are written.
        let options = WriteOptions { cuts: base.manifest().cuts, ..options };
        let mut session = Session::change(base, true, options.allow_unpinned).await?;
        session.folds = true;
        session.know(&[], &options).await?;
        Self::of(session, Rows::Appended, base.schema().clone(), options)
    }

    /// Starts a version with other rows than this one.
    pub(in crate::table) async fn overwrite(base: &Table, schema: Schema, options: WriteOptions) -> Result<Self> {
        if schema.index().len() == 0 {
            return Err(Error::invalid("the schema has no index column, at least one is needed"));
        }
        let schema = schema.with_ids_after(base.schema())?;
        let mut session = Session::change(base, false, options.allow_unpinned).await?;
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

    /// Whether its rows come behind those of a table that is there: their schema is that table's.
    pub fn appends(&self) -> bool {
        self.rows == Rows::Appended
    }

    /// The next partition.
    ///
    /// # Errors
    /// `Unavailable` where no temporary file can be made; `Invalid` where all 4,294,967,295 numbers were given out.
    pub fn partition(&self) -> Result<PartitionWriter> {
        self.partition_at(self.reserve())
    }

    /// Partition `number`, for callers that number them: 0 to 4,294,967,294.
    ///
    /// # Errors
    /// As [`TableWriter::partition`].
    pub fn partition_at(&self, number: u32) -> Result<PartitionWriter> {
        if number == u32::MAX {
            return Err(Error::invalid(format!("partition {number}: a session has partitions 0 to {}", u32::MAX - 1)));
        }
        self.partitions.fetch_max(number + 1, Ordering::Relaxed);
        let known = self.session.known.clone();
        PartitionWriter::new(self.session.store.clone(), self.id, number, Arc::clone(&self.schema), &self.options, known)
    }

    /// The number of the next partition, for somebody else to write: in another process by [`TableWriter::join`] and
    /// [`TableWriter::partition_at`]. Its receipt is waited for by the commit. Where all numbers were given out, 4,294,967,295,
    /// which `partition_at` refuses.
    pub fn reserve(&self) -> u32 {
        let next = |number: u32| number.checked_add(1);
        self.partitions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(u32::MAX)
    }

    /// Says something of the table, kept in its manifest.
    pub fn set_property(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().properties.insert(key.into(), value.into());
    }

    /// Says what the table was made from, kept in its manifest.
    pub fn set_lineage(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().lineage.insert(key.into(), value.into());
    }

    pub(in crate::table) fn extras(&self) -> std::sync::MutexGuard<'_, Extras> {
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

    /// The receipts that finished partitions of this session left in the store, by number: for a commit where some of them were
    /// lost on their way. A partition that was written twice, with other rows, has two.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    /// # let column = || Arc::new(Int64Array::from(vec![1, 2])) as _;
    /// # let batch = RecordBatch::try_from_iter([("id", column()), ("x", column())])?;
    /// let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// let mut partition = writer.partition()?;
    /// partition.write(&batch).await?;
    /// partition.finish().await?; // and its receipt is lost
    /// let broken = writer.partition()?; // and this one never finishes
    /// writer.abandon(broken.number());
    /// let table = writer.commit(writer.receipts().await?).await?;
    /// assert_eq!(table.rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Corrupt` for a receipt that cannot be read; errors of the store.
    pub async fn receipts(&self) -> Result<Vec<Receipt>> {
        self.receipts_beside(&[]).await
    }

    /// The receipts in the store, without those that are given.
    async fn receipts_beside(&self, given: &[Receipt]) -> Result<Vec<Receipt>> {
        let given: BTreeSet<String> = given.iter().map(|receipt| Ok(receipt.stored()?.0)).collect::<Result<_>>()?;
        let mut found = Vec::new();
        let store = &self.session.store;
        for (name, bytes) in store.list(&format!("sessions/{}", self.id)).await? {
            if name.ends_with(".receipt") && !given.contains(&name) {
                let text = store.get_exact(&name, bytes).await?;
                let receipt: Receipt = serde_json::from_slice(&text)
                    .map_err(|error| Error::corrupt(format!("{}: {name}: no receipt: {error}", store.url())))?;
                found.push(receipt);
            }
        }
        found.sort_by_key(|receipt| receipt.partition);
        Ok(found)
    }

    /// One receipt for each partition, in order. Other processes may have finished partitions that this writer does not know of:
    /// they left their receipts in the store, and the commit expects those partitions too.
    async fn in_order(&self, given: Vec<Receipt>, abandoned: &BTreeSet<u32>) -> Result<Vec<Receipt>> {
        if self.has_ticket.load(Ordering::Relaxed) {
            for receipt in self.receipts_beside(&given).await? {
                self.expect_partitions(receipt.partition.saturating_add(1));
            }
        }
        commit::in_order_without(self.id, self.partitions.load(Ordering::Relaxed), abandoned, given)
    }

    /// Leaves the rows of a partition out: the commit asks for no receipt of it any more.
    pub fn abandon(&self, partition: u32) {
        self.extras().abandoned.insert(partition);
    }

    /// Makes the version exist with the rows of these receipts, one for every partition that was not abandoned, in any order.
    /// Where receipts are missing, nothing has happened and the commit can be called again. A partition that another process has
    /// finished is expected too: its receipt lies in the store ([`TableWriter::receipts`]).
    ///
    /// Where another writer committed a version since, this one is put on top of it if they changed different things.
    ///
    /// # Errors
    /// `Invalid` for missing or conflicting receipts and broken sequences; `Conflict` where another writer made a table here in
    /// the meantime, or changed the same; `OutcomeUnknown` where it cannot be told; errors of the store. After another error than
    /// that of a missing receipt the session is over.
    pub async fn commit(&self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        let Self { id, rows, options, .. } = self;
        let (mut session, schema, extras) = (self.session.clone(), Arc::clone(&self.schema), self.extras().clone());
        session.shared = extras.lineage.contains_key(SESSION).then_some(*id);
        let given: Vec<Receipt> = receipts.into_iter().collect();
        let receipts = if let Some(version) = self.joined {
            if let Some(table) = session.committed_after(version).await? {
                return Ok(table);
            }
            // Receipts are looked at before owners are pinned.
            let receipts = self.in_order(given, &extras.abandoned).await?;
            let first = session.clone();
            session = session.on_newest(&schema, options.cuts).await?;
            // Another process may have committed between the look and the opening of the newest version.
            if let Some(table) = first.committed_after(version).await? {
                return Ok(table);
            }
            receipts
        } else {
            self.in_order(given, &extras.abandoned).await?
        };
        if self.ended.swap(true, Ordering::Relaxed) {
            return Err(Error::invalid(format!("{}: the session was committed, or its commit failed", session.store.url())));
        }
        let groups = receipts.iter().flat_map(|receipt| &receipt.parts).flat_map(|parts| &parts.groups);
        let used: Vec<u32> = groups.flat_map(|group| &group.owners).copied().collect();
        let owners = session.settle_owners(used, *rows == Rows::Appended).await;
        let mut tracker = SequenceTracker::new(&schema);
        let base = session.base.as_ref().filter(|_| *rows == Rows::Appended);
        if let Some(base) = base {
            for number in 0..base.manifest().segments.len() {
                follow(base, number, &mut tracker).await?;
            }
        }
        let first_row = base.map_or(0, Table::rows);
        let into = MergeInto { schema: &schema, tracker, first_row, segment_rows: options.segment_rows, owners: &owners };
        let segments = match commit::merge(&session.store, &receipts, into).await {
            Ok(segments) => segments,
            // A session that was committed has swept its parts.
            Err(error) if *rows == Rows::Created => return session.committed().await?.ok_or(error),
            Err(error) => return Err(error),
        };
        let sharing = receipts.iter().fold(Sharing::default(), |sum, receipt| sum.and(receipt.sharing.clone()));
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
                deleting: None,
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
        store.remove_empty("sessions").await;
        Ok(table)
    }
}

/// That users can open a new table of this name: what stands behind `@` is taken for a version or a tag.
pub(in crate::table) fn is_new_name(store: &Store) -> Result<()> {
    // The account of Azure stands behind `@` too.
    let is_account =
        store.url().split_once("://").is_some_and(|(scheme, rest)| scheme.starts_with("abfs") && !rest.contains('/'));
    match split_name(store.url()) {
        Some((root, name)) if !is_account => Err(Error::invalid(format!(
            "{}: expected a new table, found the name of a version: `@{name}` would be read as version or tag `{name}` of {root}; \
             leave it out",
            store.url()
        ))),
        _ => Ok(()),
    }
}
