//! A write session: creates partitions, takes their receipts, and commits once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use futures::future::{join3, try_join};
use serde_json::Value;
use uuid::Uuid;

use super::{
    files::sweep,
    joined::Joined,
    planned::Planned,
    session::{Session, SessionKind, lineage},
    start::Start,
    vacant::{is_new_name, is_vacant},
};
use crate::{
    commit::{self, MergeInto, Unpinned},
    error::{Error, ErrorKind, Result, json_fault},
    format::{Manifest, Segment, SequenceTracker},
    id::{ObjectRef, Salt},
    machine,
    schema::Schema,
    store::{Store, StoreOptions},
    table::version::{objects::together, table::Table},
    work::boxed,
    write::{BufferedParts, IndexTails, PartitionWriter, Receipt, Reuse, Sharing, WriteOptions},
};

/// A write session, which makes a version from new rows: the first version of a table ([`Table::create`]), a version with more
/// rows ([`Table::append`]), or one with other rows ([`Table::overwrite`]).
///
/// Any number of tasks or processes write partitions, in any order. The table holds the partitions in the order of their numbers.
/// Nothing is visible before [`TableWriter::commit`], and a session that stops before leaves the table as it was.
#[derive(Debug)]
pub struct TableWriter {
    pub(in crate::table) session: Session,
    pub(in crate::table) id: Uuid,
    pub(in crate::table) kind: SessionKind,
    pub(in crate::table) schema: Arc<Schema>,
    pub(in crate::table) options: WriteOptions,
    pub(in crate::table) partitions: AtomicU32,
    pub(in crate::table) extras: Mutex<Extras>,
    /// Puts the file that says when the session began, before its first object.
    pub(in crate::table) start: Arc<Start>,
    /// The parts of this process that are not stored.
    pub(in crate::table) buffered: Arc<BufferedParts>,
    /// Whether a commit with all receipts was tried.
    pub(in crate::table) ended: AtomicBool,
    /// Whether other processes may write partitions: this writer has made a ticket, or joined with one.
    pub(in crate::table) has_ticket: AtomicBool,
    /// What the ticket says, if another process started the session.
    pub(in crate::table) joined: Option<Joined>,
    /// The partitions of the session, if they are planned.
    pub(in crate::table) planned: Option<Planned>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Extras {
    properties: BTreeMap<String, Value>,
    pub(in crate::table) lineage: BTreeMap<String, Value>,
    attachments: BTreeMap<String, ObjectRef>,
    abandoned: BTreeSet<u32>,
}

impl Extras {
    /// Returns the attachments and the properties.
    pub(in crate::table) fn to_parts(&self) -> (BTreeMap<String, ObjectRef>, BTreeMap<String, Value>) {
        (self.attachments.clone(), self.properties.clone())
    }

    /// Sets the attachments and the properties.
    pub(in crate::table) fn say(&mut self, attachments: BTreeMap<String, ObjectRef>, properties: BTreeMap<String, Value>) {
        (self.attachments, self.properties) = (attachments, properties);
    }
}

impl Table {
    /// Starts a new table at `url`. Nothing is visible there before [`TableWriter::commit`].
    ///
    /// # Errors
    /// - `Exists`: there is a table already, or something that is not of a table.
    /// - `Invalid`: the options are impossible, the schema has no index column, or the name of the table contains `@`.
    /// - Errors of the store.
    pub async fn create(url: &str, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        Self::create_in(Store::open(url)?, schema, options).await
    }

    /// Starts a new table as [`Table::create`] does, with options of its store.
    ///
    /// # Errors
    /// - `Exists`: there is a table already, or something that is not of a table.
    /// - `Invalid`: the options are impossible, the schema has no index column, or the name of the table contains `@`.
    /// - Errors of the store.
    pub async fn create_with(url: &str, stores: &StoreOptions, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        Self::create_in(Store::open_with(url, stores)?, schema, options).await
    }

    /// Starts a new table in `store`. The schema has at least one index column.
    ///
    /// # Errors
    /// - `Exists`: there is a table already, or something that is not of a table.
    /// - `Invalid`: the options are impossible, the schema has no index column, or the name of the table contains `@`.
    /// - Errors of the store.
    pub async fn create_in(store: Store, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::create(store, schema, options).await
    }

    /// Starts a version with more rows. They follow the rows of the table and are cut with its cut limits. Blocks of its last segment
    /// are not stored again, unless its hashes take over 1 MiB; with [`Reuse::Any`](crate::table::Reuse::Any), neither are those of the
    /// whole version and of earlier ones.
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
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses, unless [`WriteOptions::allow_unpinned`].
    /// - Errors of the stores.
    pub async fn append(&self, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::append(self, options).await
    }

    /// Starts a version that replaces all rows, and the schema. Properties, attachments and tags stay. Blocks of this version and
    /// of earlier ones are not stored again.
    ///
    /// # Errors
    /// - `Invalid`: the options are impossible, or the schema has no index column.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks an earlier version uses, unless
    ///   [`WriteOptions::allow_unpinned`].
    /// - Errors of the stores.
    pub async fn overwrite(&self, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::overwrite(self, schema, options).await
    }
}

impl TableWriter {
    async fn create(store: Store, schema: Schema, options: WriteOptions) -> Result<Self> {
        let _ = options.cuts.check()?;
        if schema.index().len() == 0 {
            // Without a column, an index segment could not hold a number of rows.
            return Err(Error::invalid("the schema has no index column, at least one is needed"));
        }
        is_new_name(&store)?;
        store.ensure_create_only().await?;
        let is_something_left = is_vacant(&store, "").await?.is_something_left;
        let id = machine::new_id();
        let store = store.salted(Salt(is_something_left.then_some(id)));
        let session = Session { allow_unpinned: options.allow_unpinned, ..Session::create(store) };
        Self::of(session, id, SessionKind::Create, schema, options)
    }

    /// Begins a session with this id, which replaces the salt of the store if it has one.
    pub(in crate::table) fn of(
        mut session: Session,
        id: Uuid,
        kind: SessionKind,
        schema: Schema,
        options: WriteOptions,
    ) -> Result<Self> {
        let _ = options.cuts.check()?;
        // All processes of the session make the same objects of the same rows.
        let is_salted = session.store.salt() != Salt::NONE;
        session.store = session.store.salted(Salt(is_salted.then_some(id)));
        let since = session.since.unwrap_or_else(|| session.base.as_ref().map_or(0, Table::version));
        let start = Arc::new(Start::new(session.store.clone(), id, since));
        let (partitions, extras, buffered, ended, has_ticket) = Default::default();
        let (schema, joined, planned) = (Arc::new(schema), None, None);
        Ok(Self { session, id, kind, schema, options, partitions, extras, start, buffered, ended, has_ticket, joined, planned })
    }

    /// Starts a version of `base` with more rows.
    pub(in crate::table) async fn append(base: &Table, options: WriteOptions) -> Result<Self> {
        // With the cut limits of the table, equal rows make equal blocks, so that blocks can be reused.
        let options = WriteOptions { cuts: base.manifest().cuts, ..options };
        let collected = boxed(|| collected_since(base));
        // A session that pins no other table writes nothing when it begins, so the look for a collection runs at the same time.
        let only_reads = base.manifest().stores.is_empty() && matches!(options.reuse, Reuse::Auto | Reuse::None);
        let (newest, begun) = match only_reads {
            true => {
                let begun = boxed(|| Session::rows(base, None, true, &options));
                // The commit starts from the last row, and finds it in memory then.
                let (newest, begun, _) = join3(collected, begun, boxed(|| base.tracker_after_last_row())).await;
                (newest?, Some(begun))
            }
            false => (collected.await?, None),
        };
        // Rows are appended to the newest version in any case. What an older one names may be deleted.
        let alike = newest.as_ref().filter(|newest| is_alike(newest, base)).map(|newest| newest.like(base));
        let base = alike.as_ref().unwrap_or(base);
        let session = match (newest, begun) {
            (None, Some(begun)) => begun?,
            (newest, _) => boxed(|| Session::rows(base, newest, true, &options)).await?,
        };
        let session = Session { folds: true, ..session };
        Self::of(session, machine::new_id(), SessionKind::Append, base.schema().clone(), options)
    }

    /// Starts a version of `base` with other rows.
    pub(in crate::table) async fn overwrite(base: &Table, schema: Schema, options: WriteOptions) -> Result<Self> {
        if schema.index().len() == 0 {
            return Err(Error::invalid("the schema has no index column, at least one is needed"));
        }
        let schema = schema.with_ids_after(base.schema())?;
        let collected = collected_since(base).await?;
        let session = boxed(|| Session::rows(base, collected, false, &options)).await?;
        Self::of(session, machine::new_id(), SessionKind::Overwrite, schema, options)
    }

    /// Lets the table share chunks of other tables. If one of them has a block with the same logical hash, the writer refers to
    /// that block and neither encodes nor stores it again. Before it reuses a block, the writer compares the block with its hash.
    /// A pin in each of these tables keeps the chunks from garbage collection; [`TableWriter::unpinned`] lists tables without
    /// one.
    ///
    /// A version shares blocks with earlier versions of the same table also without references: see
    /// [`Reuse`](crate::table::Reuse).
    ///
    /// # Errors
    /// - `Invalid`: a partition was started already, a table is a copy of this one, or other processes cannot open the store of a
    ///   table by a URL.
    /// - `Denied`: no pin can be written to one of the tables, unless [`WriteOptions::allow_unpinned`].
    /// - `Conflict`: a referenced version no longer exists.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn references<'a>(mut self, tables: impl IntoIterator<Item = &'a Table>) -> Result<Self> {
        if self.partitions.load(Ordering::Relaxed) > 0 {
            return Err(Error::invalid("a partition was started already; add references before the first partition"));
        }
        let tables: Vec<Table> = tables.into_iter().cloned().collect();
        if !tables.is_empty() {
            self.session.know(&tables, &self.options).await?;
        }
        Ok(self)
    }

    /// Returns the tables whose chunks may be used although no pin could be written there. A garbage collection there may delete
    /// these chunks.
    pub fn unpinned(&self) -> &[Unpinned] {
        &self.session.unpinned
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether the session appends rows to an existing table, and uses the schema of that table.
    pub fn appends(&self) -> bool {
        self.kind == SessionKind::Append
    }

    /// Whether the session replaces the rows of an existing table.
    pub fn overwrites(&self) -> bool {
        self.kind == SessionKind::Overwrite
    }

    /// Starts the next partition.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    /// - `Invalid`: all 4,294,967,295 numbers are used.
    pub fn partition(&self) -> Result<PartitionWriter> {
        self.partition_at(self.reserve())
    }

    /// Starts partition `number`, from 0 to 4,294,967,294, for callers that number the partitions themselves.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    /// - `Invalid`: the number is too large.
    pub fn partition_at(&self, number: u32) -> Result<PartitionWriter> {
        if number == u32::MAX {
            return Err(Error::invalid(format!("partition {number}: a session has partitions 0 to {}", u32::MAX - 1)));
        }
        self.partitions.fetch_max(number + 1, Ordering::Relaxed);
        let known = self.session.known.clone();
        let (store, schema, start) = (self.session.store.clone(), Arc::clone(&self.schema), Arc::clone(&self.start));
        let writer = PartitionWriter::new(store, self.id, number, schema, &self.options, known)?;
        Ok(writer.after(start).holding(Arc::clone(&self.buffered)))
    }

    /// Reserves the number of the next partition, so that another process can write it by [`TableWriter::join`] and
    /// [`TableWriter::partition_at`]. The commit requires a receipt of it. Returns 4,294,967,295, which `partition_at` refuses,
    /// if all numbers are used.
    pub fn reserve(&self) -> u32 {
        let next = |number: u32| number.checked_add(1);
        self.partitions.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(u32::MAX)
    }

    /// Sets a table property.
    pub fn set_property(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().properties.insert(key.into(), value.into());
    }

    /// Removes a property that was set in this session. One that the table had before stays.
    pub fn remove_property(&self, key: &str) {
        self.extras().properties.remove(key);
    }

    /// Sets a lineage entry of the version, such as the name of a source file.
    pub fn set_lineage(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.extras().lineage.insert(key.into(), value.into());
    }

    pub(in crate::table) fn extras(&self) -> std::sync::MutexGuard<'_, Extras> {
        // No code panics while it holds the lock; even then the value would be complete.
        self.extras.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Stores a small object, such as a map or a calibration, beside the rows under `name`.
    ///
    /// # Errors
    /// - Errors of the store.
    pub async fn attach(&self, name: impl Into<String>, content: impl Into<Bytes>) -> Result<()> {
        let content: Bytes = content.into();
        let object = ObjectRef::of(&content);
        self.start.begin().await?;
        self.session.store.put_content(&object.name_in("attachments"), content).await?;
        self.extras().attachments.insert(name.into(), object);
        Ok(())
    }

    /// Returns the receipts of finished partitions that the store or this writer has, in the order of their numbers. Use them to commit if
    /// receipts were lost on the way. A partition that was written twice with different rows has two receipts.
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
    /// - `Corrupt`: a receipt cannot be read.
    /// - Errors of the store.
    pub async fn receipts(&self) -> Result<Vec<Receipt>> {
        self.receipts_beside(&[]).await
    }

    /// Returns the receipts in the store and in memory, without those in `given`.
    async fn receipts_beside(&self, given: &[Receipt]) -> Result<Vec<Receipt>> {
        let given: BTreeSet<String> = given.iter().map(|receipt| Ok(receipt.stored()?.0)).collect::<Result<_>>()?;
        let store = &self.session.store;
        let mut found = Vec::new();
        for receipt in self.buffered.receipts() {
            if !given.contains(&receipt.stored()?.0) {
                found.push(receipt);
            }
        }
        if self.buffered.is_nothing_stored() {
            found.sort_by_key(|receipt| (receipt.partition, receipt.attempt));
            return Ok(found);
        }
        let read = |(name, bytes): (String, u64)| async move {
            match store.get_exact(&name, bytes).await {
                Ok(text) => serde_json::from_slice::<Receipt>(&text)
                    .map(Some)
                    .map_err(|error| Error::corrupt(format!("{}: {name}: not a receipt: {}", store.url(), json_fault(&error)))),
                // Another process has committed the session and swept its folder.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        };
        let listed = store.list(&format!("sessions/{}", self.id)).await?.into_iter();
        let wanted: Vec<(String, u64)> = listed.filter(|(name, _)| name.ends_with(".receipt") && !given.contains(name)).collect();
        found.extend(together(wanted.into_iter().map(read)).await?.into_iter().flatten());
        found.sort_by_key(|receipt| (receipt.partition, receipt.attempt));
        Ok(found)
    }

    /// Returns one receipt for each partition, in order. Other processes may have finished partitions that this writer does not
    /// know. Their receipts are in the store, and the commit requires those partitions too, unless the session has a plan.
    async fn in_order(&self, given: Vec<Receipt>, abandoned: &BTreeSet<u32>) -> Result<Vec<Receipt>> {
        if let Some(planned) = &self.planned {
            return planned.chosen(&self.session.store, self.id, given).await;
        }
        if self.has_ticket.load(Ordering::Relaxed) {
            for receipt in self.receipts_beside(&given).await? {
                self.expect_partitions(receipt.partition.saturating_add(1));
            }
        }
        commit::in_order(self.id, self.partitions.load(Ordering::Relaxed), abandoned, given)
    }

    /// Leaves out the rows of a partition. The commit then requires no receipt of it.
    pub fn abandon(&self, partition: u32) {
        self.extras().abandoned.insert(partition);
    }

    /// Commits the version with the rows of these receipts, given in any order. Every partition that was not abandoned needs a
    /// receipt, also one that another process has finished: [`TableWriter::receipts`] has it. If receipts
    /// are missing, nothing happens, and `commit` can be called again.
    ///
    /// If another writer committed meanwhile, the version is rebased onto that commit, provided that both changed different
    /// parts.
    ///
    /// # Errors
    /// The session is over after any error but that of a missing receipt.
    /// - `Invalid`: receipts are missing or contradict each other, or sequences break the rules.
    /// - `Conflict`: another writer created the table or changed the same part.
    /// - `OutcomeUnknown`: it is unknown whether the version exists.
    /// - Errors of the stores.
    pub async fn commit(&self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        let extras = self.extras().clone();
        let (mut session, receipts) = match self.begun(receipts.into_iter().collect(), &extras).await? {
            Begun::Now(session, receipts) => (*session, receipts),
            Begun::Before(table) => return Ok(table),
        };
        if self.ended.swap(true, Ordering::Relaxed) {
            return Err(Error::invalid(format!("{}: the session is over: a commit was tried before", session.store.url())));
        }
        let owners = self.owners(&mut session, &receipts).await?;
        let segments = match self.segments(&session, &receipts, &owners).await {
            Ok(segments) => segments,
            Err(error) => {
                let error = self.conflict_of_rows(&session, error);
                return self.made_meanwhile(session, error).await;
            }
        };
        let manifest = self.manifest(&session, segments, &receipts, extras)?;
        let store = session.store.clone();
        let table = boxed(|| session.publish(manifest)).await?;
        // The version exists, so a failure to delete the files of the session must not fail the commit.
        self.start.set_over();
        // A process that was forked from this one stores what it writes.
        let is_nothing_stored = self.buffered.is_nothing_stored() && receipts.iter().all(|receipt| self.buffered.has(receipt));
        let _ = match is_nothing_stored {
            true => self.start.delete_file().await,
            false => sweep(&store, self.id).await,
        };
        self.buffered.clear();
        if let Some(joined) = &self.joined {
            joined.unpin().await;
        }
        Ok(table)
    }

    /// Puts the receipts in order and bases the commit on a version. Finds the version if the session was committed before.
    async fn begun(&self, given: Vec<Receipt>, extras: &Extras) -> Result<Begun> {
        let mut session = self.session.clone();
        session.shared = self.has_ticket.load(Ordering::Relaxed).then_some(self.id);
        session.since = Some(self.start.since());
        if session.shared.is_some() {
            // Each committer puts pins of its own, also where only the newest version has owners. So one that fails removes its own
            // pins, and leaves those of the others.
            session.start_over();
        }
        let Some(joined) = &self.joined else {
            return match self.in_order(given, &extras.abandoned).await {
                Ok(receipts) => Ok(Begun::Now(Box::new(session), receipts)),
                // The same commit may have succeeded before, for this process or for another one of the session.
                Err(error) if self.has_ticket.load(Ordering::Relaxed) => {
                    session.made_before().await?.map(Begun::Before).ok_or(error)
                }
                Err(error) => Err(error),
            };
        };
        let first = session.clone();
        let committed = || first.committed_after(joined.since);
        if let Some(table) = committed().await? {
            return Ok(Begun::Before(table));
        }
        // Check the receipts before any owner is pinned.
        let receipts = match self.in_order(given, &extras.abandoned).await {
            Ok(receipts) => receipts,
            // A commit that has succeeded meanwhile swept the receipts.
            Err(error) => return committed().await?.map(Begun::Before).ok_or(error),
        };
        let mut session = joined.begin_commit(session, self.kind, &self.schema).await?;
        // Another process may have committed the session before the newest version was opened.
        if let Some(table) = committed().await? {
            session.owners.unpin(|_| false).await;
            return Ok(Begun::Before(table));
        }
        Ok(Begun::Now(Box::new(session), receipts))
    }

    /// Drops the owners of which no part uses a chunk. Returns the number in the new manifest of each one that is used, by its number in
    /// the parts.
    async fn owners(&self, session: &mut Session, receipts: &[Receipt]) -> Result<BTreeMap<u32, u32>> {
        let groups = receipts.iter().flat_map(|receipt| &receipt.parts).flat_map(|parts| &parts.groups);
        let used: BTreeSet<u32> = groups.flat_map(|group| &group.owners).copied().collect();
        let keeps_rows = self.kind == SessionKind::Append;
        let Some(joined) = &self.joined else { return Ok(session.settle_owners(used, keeps_rows).await) };
        let numbers = joined.adopt(session, &used).await?;
        let settled = session.settle_owners(numbers.values().copied(), keeps_rows).await;
        Ok(numbers.into_iter().filter_map(|(part, number)| Some((part, *settled.get(&number)?))).collect())
    }

    /// Merges the parts into segments, which follow those of the base version if the session appends.
    async fn segments(&self, session: &Session, receipts: &[Receipt], owners: &BTreeMap<u32, u32>) -> Result<Vec<Segment>> {
        let base = session.base.as_ref().filter(|_| self.kind == SessionKind::Append);
        let tracker = match base {
            Some(base) => boxed(|| base.tracker_after_last_row()).await?,
            None => SequenceTracker::new(&self.schema),
        };
        let with_tails = session.base.as_ref().is_some_and(|base| base.manifest().has_tails());
        let first_row = base.map_or(0, Table::rows);
        let into = MergeInto {
            schema: &self.schema,
            tracker,
            first_row,
            segment_rows: self.options.segment_rows,
            owners,
            whole_sequences: self.planned.is_some(),
            tails: if with_tails { IndexTails::All } else { self.options.index_tails },
            buffered: &self.buffered,
        };
        let merged = boxed(|| commit::merge(&session.store, receipts, into));
        // Parts in memory are there also where a collection has deleted their chunks.
        let (segments, tracker) = match &session.base {
            Some(_) => try_join(merged, self.start.ensure_open()).await?.0,
            // No floor ends a create, so it looks after its objects are there.
            None => {
                let merged = merged.await?;
                self.start.ensure_open().await?;
                merged
            }
        };
        match base {
            Some(base) => boxed(|| base.check_followed(&tracker, receipts)).await.map(|()| segments),
            None => Ok(segments),
        }
    }

    /// After a garbage collection, an append starts from the newest version. Returns a conflict if its rows do not follow the rows there,
    /// and any other error as it is.
    fn conflict_of_rows(&self, session: &Session, error: Error) -> Error {
        match &session.newest {
            Some(newest) if self.kind == SessionKind::Append && error.kind() == ErrorKind::Invalid => {
                let (url, version) = (newest.url(), newest.version());
                let message = format!(
                    "{url}: version {version} is newer than the one that this change was made from: {error}; reload and retry"
                );
                Error::conflict(message).with_source(error)
            }
            _ => error,
        }
    }

    /// Returns the version that another process has committed for this session: such a commit deletes the parts, which are then missing
    /// here. Without one, returns the error.
    async fn made_meanwhile(&self, mut session: Session, error: Error) -> Result<Table> {
        let made = match &self.joined {
            Some(joined) => {
                session.owners.unpin(|_| false).await;
                session.committed_after(joined.since).await?
            }
            None => session.made_before().await?,
        };
        match made {
            Some(table) => Ok(table),
            // Where a collection did not wait for the session, it has deleted the parts.
            None => Err(session.over_by_now().await?.unwrap_or(error)),
        }
    }

    /// Returns the manifest of the new version.
    fn manifest(&self, session: &Session, segments: Vec<Segment>, receipts: &[Receipt], extras: Extras) -> Result<Manifest> {
        let sharing = receipts.iter().fold(Sharing::default(), |sum, receipt| sum.and(receipt.sharing.clone()));
        let mut details = extras.lineage;
        let objects = segments.iter().flat_map(|segment| {
            let groups = segment.groups.iter().flat_map(|group| [group.layout.bytes, group.hashes.bytes]);
            groups.chain([segment.index.bytes])
        });
        details.insert("bytes_added".to_owned(), (sharing.new_bytes + objects.sum::<u64>()).into());
        if session.known.is_some() || sharing.blocks > 0 {
            let shared = serde_json::to_value(&sharing).map_err(|error| Error::internal(error.to_string()))?;
            details.insert("shared".to_owned(), shared);
        }
        let mut manifest = match self.kind {
            SessionKind::Create => Manifest { segments, stores: session.owners.stores(), ..self.without_rows(session) },
            SessionKind::Append => {
                let mut child = session.child()?;
                child.segments.extend(segments);
                child
            }
            SessionKind::Overwrite => {
                let Manifest { schema, preset, cuts, .. } = self.without_rows(session);
                Manifest { schema, preset, cuts, segments, ..session.child()? }
            }
        };
        if let Some(id) = session.shared {
            // Every process of the session must find the version, whatever entry of this name the caller has set.
            details.insert(commit::SESSION.to_owned(), id.to_string().into());
        }
        manifest.lineage = lineage(self.kind.name(), details)?;
        manifest.attachments.extend(extras.attachments);
        manifest.properties.extend(extras.properties);
        Ok(manifest)
    }

    /// Returns the manifest of a version 1 of this table, with the schema and the options of the session and without rows.
    pub(in crate::table) fn without_rows(&self, session: &Session) -> Manifest {
        Manifest {
            table: session.table,
            version: 1,
            parent: None,
            commit_id: session.commit_id,
            schema: Schema::clone(&self.schema),
            preset: self.options.preset.name().to_owned(),
            cuts: self.options.cuts,
            segments: Vec::new(),
            attachments: BTreeMap::new(),
            properties: BTreeMap::new(),
            tags: BTreeMap::new(),
            lineage: Value::Object(serde_json::Map::new()),
            stores: Vec::new(),
            condemned: Vec::new(),
            deleting: None,
            collections: None,
            write_features: Vec::new(),
            view: None,
        }
    }
}

/// How a commit starts.
enum Begun {
    /// With this session and these receipts, in order.
    Now(Box<Session>, Vec<Receipt>),
    /// The session was committed before, as this version.
    Before(Table),
}

/// Returns the newest version of a table, if there was a garbage collection since this version.
///
/// # Errors
/// - Errors of the store.
async fn collected_since(base: &Table) -> Result<Option<Table>> {
    let store = base.store();
    if !store.lists() || commit::newest_version(store).await?.is_none_or(|newest| newest <= base.version()) {
        return Ok(None);
    }
    let newest = Table::open_in(store.clone()).await?;
    let last = newest.manifest().last_collection();
    Ok(Some(newest).filter(|newest| last > base.version() && newest.id() == base.id()))
}

/// Whether rows of one version can be appended to another one as they are.
fn is_alike(one: &Table, other: &Table) -> bool {
    (one.schema(), one.manifest().cuts) == (other.schema(), other.manifest().cuts)
        && one.view().is_some() == other.view().is_some()
}
