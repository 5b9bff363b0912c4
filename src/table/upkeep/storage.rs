//! The storage of a table as a handle of its own: what its objects are and take, checks of them, and what keeps them small.

use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

use uuid::Uuid;

use super::{Diagnosis, GcPlan, GcSettings, Repair, Usage, UserInfo, Verification, VerifyReach};
use crate::{
    error::Result,
    format::ForeignTable,
    read::Layout,
    store::Store,
    table::{
        session::SessionInfo,
        version::{
            described::{GroupBytes, SegmentInfo},
            table::Table,
        },
    },
    write::{Gathered, Locality},
};

/// The storage of a table: [`Table::storage`] makes the handle of a version, and [`Storage::of`] that of a table whose versions need
/// not be readable. It has what concerns all versions; the handle of a version also has what concerns that version.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Store, Table, table::{GcSettings, Storage, now_ms}};
/// let table = Table::open("/data/sensors").await?;
/// assert!(table.storage().verify(|_, _| {}).await?.damage.is_empty());
/// println!("{} bytes", table.storage().usage().await?.stored_bytes);
///
/// let store = Store::open("/data/sensors")?;
/// let plan = Storage::of(&store).plan_garbage(GcSettings::default(), now_ms()).await?;
/// println!("{} objects would go", plan.delete.len());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Storage<'a, T = Table>(&'a T);

impl Table {
    /// Returns the storage of the table and of this version.
    pub fn storage(&self) -> Storage<'_> {
        Storage(self)
    }
}

impl AsRef<Store> for Store {
    fn as_ref(&self) -> &Store {
        self
    }
}

impl AsRef<Store> for Table {
    fn as_ref(&self) -> &Store {
        self.store()
    }
}

impl<'a> Storage<'a, Store> {
    /// Returns the storage of the table in `store`. No version is opened.
    pub fn of(store: &'a Store) -> Self {
        Self(store)
    }
}

impl<'a> Storage<'a> {
    /// Reads and checks all objects of this version. For a view these are its own objects and the manifests of its sources. Reads
    /// also the pins of the table: a pin that cannot be read stops garbage collection. Calls `progress` with the bytes checked so
    /// far and the bytes in total.
    ///
    /// # Errors
    /// Damage is not an error: [`Verification::damage`] lists it.
    /// - Errors of the store, if they say nothing about the stored bytes.
    pub async fn verify(self, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        self.0.verify(progress).await
    }

    /// Verifies as [`Storage::verify`] does, and also other versions or the sources of a view. Damage there is listed with its
    /// version or its table.
    ///
    /// ```no_run
    /// # async fn example(view: tetrys::Table) -> tetrys::Result<()> {
    /// use tetrys::table::VerifyReach;
    /// let found = view.storage().verify_more(VerifyReach { all_versions: true, sources: true }, |_, _| {}).await?;
    /// assert!(found.damage.is_empty() && found.not_checked.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Damage is not an error: [`Verification::damage`] lists it.
    /// - Errors of the store, if they say nothing about the stored bytes.
    /// - With `all_versions`: the store cannot list its objects.
    pub async fn verify_more(self, reach: VerifyReach, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        self.0.verify_more(reach, progress).await
    }

    /// Merges neighbouring segments up to `segment_rows` rows (at most 4,194,304) and commits the version. No payload moves. A
    /// table of many small appends then opens faster. Segments that lack the bloom filters of the schema get them
    /// ([`SchemaBuilder::bloom_filter`](crate::SchemaBuilder::bloom_filter)). Returns this version if there is nothing to do.
    ///
    /// # Errors
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses (see [`Table::allow_unpinned`]).
    /// - `Conflict`: another writer changed rows.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn compact(self, segment_rows: u64) -> Result<Table> {
        self.0.compact(segment_rows).await
    }

    /// Merges segments as [`Storage::compact`] does, and gathers scattered blocks: copies them side by side into new chunks of this
    /// table, as long as that brings windows of neighbouring rows nearer to `bound`. Small chunks of the table that lie side by side become
    /// one chunk, also if their rows are of several sequences. Many versions, patches, small appends and writers without a bound
    /// scatter blocks. New chunks end by their content, so a few windows may stay beyond the bound:
    /// [`Gathered::after`] says by how much.
    ///
    /// Only the blocks that must move are copied. Pages are copied as stored if the new chunk has the same codecs, and encoded
    /// again otherwise; blocks of other tables are always decoded and compared with their hashes. Blocks that stay may still lie
    /// in other tables. Returns the version and the copied blocks. Returns this version if there is nothing to do.
    ///
    /// ```no_run
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tetrys::{Table, write::Locality};
    /// let table = Table::open("drives").await?;
    /// let bound = Locality { window: 32, extra_ranges: 1, percent: 120 };
    /// let (table, moved) = table.storage().compact_runs(4_194_304, bound).await?;
    /// println!("{} blocks in {} bytes; a window takes {} ranges more", moved.blocks, moved.bytes, moved.after.extra_ranges);
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: the window has no rows.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses (see [`Table::allow_unpinned`]).
    /// - `Conflict`: another writer changed rows.
    /// - `Corrupt`: a copied block does not match its hash. The message names block, chunk and owner.
    /// - Errors of the stores.
    pub async fn compact_runs(self, segment_rows: u64, bound: Locality) -> Result<(Table, Gathered)> {
        self.0.compact_runs(segment_rows, bound).await
    }

    /// Commits a version that uses no other table: copies the chunks of other tables that this version uses, as whole objects,
    /// below its own root. Compares each chunk with the hash in its name. Calls `progress` with the number of chunks copied and
    /// the number of all. Returns this version if it uses no other table.
    ///
    /// # Errors
    /// - `Unsupported`: the table is a view, which has no rows of its own, or this version needs a later writer.
    /// - `Corrupt`: a chunk is missing or damaged. The message names chunk and owner.
    /// - `Conflict`: another writer changed the same part.
    /// - Errors of the stores.
    pub async fn materialize(self, progress: impl FnMut(u64, u64)) -> Result<Table> {
        self.0.materialize(progress).await
    }

    /// Returns the names and sizes in bytes of the table's own objects that this version names. A reader of the version needs
    /// them all, the manifest, and for some tables objects of other tables.
    ///
    /// # Errors
    /// - `Corrupt`: a layout is damaged.
    /// - Errors of the store.
    pub async fn objects(self) -> Result<BTreeMap<String, u64>> {
        self.0.objects().await
    }

    /// Returns the number of segments. Appends add segments, and compaction merges them.
    pub fn segment_count(self) -> usize {
        self.0.segment_count()
    }

    /// Returns the segments, in the order of their rows.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// let table = tetrys::Table::open("/data/sensors").await?;
    /// for segment in table.storage().segments() {
    ///     println!("{:?}: {} bytes", segment.rows, segment.groups.iter().map(|group| group.stored).sum::<u64>());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn segments(self) -> impl ExactSizeIterator<Item = SegmentInfo> {
        self.0.segments()
    }

    /// Returns the size of a column group, given by its number in the schema. The size is 0 if there is no such group.
    pub fn group_bytes(self, group: usize) -> GroupBytes {
        self.0.group_bytes(group)
    }

    /// Returns the other tables to which this version refers: tables whose chunks it uses, and the source tables of a view.
    pub fn owners(self) -> &'a [ForeignTable] {
        self.0.owners()
    }

    /// Returns the layout of a column group, given by its number in the schema. The layout is loaded on first use.
    ///
    /// # Errors
    /// - `Invalid`: there is no column group with this number.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: a layout object is missing or differs from what the manifest says.
    /// - Any error of the store.
    pub async fn layout(self, group: usize) -> Result<Arc<Layout>> {
        self.0.layout(group).await
    }

    /// Returns the layout of a column group for these rows. Of a large layout, only the segments that have these rows are loaded, and other
    /// rows cannot be located: [`Layout::chunk_runs`] is then empty, but [`Layout::locate`] and [`Layout::chunk_run`] find the blocks of
    /// these rows.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// let table = tetrys::Table::open("s3://bucket/fleet").await?;
    /// let layout = table.storage().layout_of_rows(0, 1_000..2_000).await?;
    /// let block = layout.locate(1_500)?.block;
    /// println!("{:?} of {:?}", layout.byte_range(block)?, layout.chunk_run(block)?.chunk());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Storage::layout`].
    pub async fn layout_of_rows(self, group: usize, rows: Range<u64>) -> Result<Arc<Layout>> {
        self.0.layout_of_rows(group, rows).await
    }

    /// Returns the bytes that the loaded parts of large layouts take.
    pub fn layout_memory(self) -> u64 {
        self.0.layout_memory()
    }

    /// Sets the bytes that the loaded parts of large layouts take in this handle and its clones: layouts of more than 4 MiB or 32
    /// segments in a column group. Parts that no read has used for long are dropped; they are read again when they are needed.
    /// One read may take more. The default is the environment variable `TETRYS_LAYOUT_MEMORY`, or 1 GiB.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let table = Table::open("s3://bucket/fleet").await?;
    /// table.storage().set_layout_memory(128 << 20);
    /// let row = table.row_loader().get_row(7).await?;
    /// # Ok(()) }
    /// ```
    pub fn set_layout_memory(self, bytes: u64) {
        self.0.set_layout_memory(bytes);
    }
}

impl<T: AsRef<Store>> Storage<'_, T> {
    /// Returns the write sessions that have files in a store, the one that was written to last first. Lists once, and reads the plans.
    ///
    /// ```
    /// # use tetrys::{Schema, Store, Table, WriteOptions, table::Storage};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// let store = Store::open("memory://")?;
    /// let schema = Schema::builder().index("id", "i64").build()?;
    /// let writer = Table::create_in(store.clone(), schema, WriteOptions::default()).await?;
    /// let plan = writer.plan(Some(3), Vec::new()).await?;
    /// let sessions = Storage::of(&store).sessions().await?;
    /// assert_eq!((sessions[0].session, sessions[0].partitions, sessions[0].finished), (plan.session(), Some(3), 0));
    /// // The plan, and the file that says when the session began.
    /// assert_eq!(Storage::of(&store).abort_session(plan.session()).await?, 2);
    /// assert!(Storage::of(&store).sessions().await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - Errors of the store.
    pub async fn sessions(self) -> Result<Vec<SessionInfo>> {
        Table::sessions(self.0.as_ref()).await
    }

    /// Ends a write session without a commit: deletes its files, and the pins that were left for it if it has a plan. Returns the
    /// number of files: 0 if it was committed or aborted before, or has not written anything. A process that commits it later gets a
    /// `Conflict`, unless it is publishing already, and what a process still writes is garbage.
    ///
    /// # Errors
    /// - `NotFound`: the store has neither a table nor sessions.
    /// - Errors of the store.
    pub async fn abort_session(self, session: Uuid) -> Result<u64> {
        Table::abort_session(self.0.as_ref(), session).await
    }

    /// Looks for what is wrong with the table in `store`: objects that are missing or have another size, manifests and pins that
    /// cannot be read, other tables that are gone, sessions and garbage that are older than `age`, tags of versions that do not
    /// exist, and many small pieces. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// Reads no payload, and sends at most about 2,000 requests, whatever the size of the table: to a small table some twenty, and
    /// one more for each older version. [`Diagnosis::not_checked`] lists what it did not look at. The bytes within objects are
    /// always in this list, and the chunks that only older versions use: [`Storage::verify_more`] reads them.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Store, Table, WriteOptions, table::{Cure, Storage, now_ms}};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # writer.commit([partition.finish().await?]).await?;
    /// let (store, week) = (Store::open(&url)?, Duration::from_secs(7 * 24 * 3600));
    /// assert!(Storage::of(&store).diagnose(week, now_ms()).await?.findings.is_empty());
    /// std::fs::remove_dir_all(folder.path().join("t/chunks"))?;
    /// let found = Storage::of(&store).diagnose(week, now_ms()).await?;
    /// assert!(found.findings[0].what.contains("missing") && found.findings[0].cure == Cure::Copy);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A fault of the table is no error: [`Diagnosis::findings`] lists it.
    /// - `NotFound`: there is no table, and nothing that a writer left.
    /// - `Unsupported`: the newest version needs a newer build to be read, or the store cannot list its objects.
    /// - Errors of the store.
    pub async fn diagnose(self, age: Duration, now: i64) -> Result<Diagnosis> {
        Table::diagnose(self.0.as_ref(), age, now).await
    }

    /// Returns what [`Storage::collect_garbage`] would do now: a dry run. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Denied`: a folder of a local table is a link.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the store.
    pub async fn plan_garbage(self, settings: GcSettings, now: i64) -> Result<GcPlan> {
        Table::plan_garbage(self.0.as_ref(), settings, now).await
    }

    /// Gives up versions that are not kept and objects that no kept version names, and deletes what an earlier call has given up at least
    /// an age ago. So the first call frees no space, and a call an age later does. Versions that other tables have pinned are kept, and
    /// what an open write session may need.
    ///
    /// Only objects whose names a writer of tables makes are deleted; other files stay. Where no manifest is, nothing is deleted: see
    /// [`Storage::collect_abandoned`]. A copy of a table that lacks only its newest manifests looks like an older table with objects
    /// that nobody needs, so complete a copy before you collect its garbage.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Conflict`: other writers committed again and again meanwhile.
    /// - `Denied`: no pin can be written to a table that this one uses, or a folder of a local table is a link.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the stores.
    pub async fn collect_garbage(self, settings: GcSettings, now: i64) -> Result<GcPlan> {
        Table::collect_garbage(self.0.as_ref(), settings, now).await
    }

    /// Returns what [`Storage::collect_abandoned`] would do now: a dry run. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - Errors of the store.
    pub async fn plan_abandoned(self, age: Duration, now: i64) -> Result<GcPlan> {
        Table::plan_abandoned(self.0.as_ref(), age, now).await
    }

    /// Deletes what writers left that started a first version and never committed it, if no part of it is younger than `age`. There
    /// must be no manifest. A copy of a table to which its manifests were not copied yet looks the same, and is deleted too.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use std::time::Duration;
    /// # use tetrys::{ErrorKind, Store, table::{GcSettings, Storage, now_ms}};
    /// # let store = Store::open("memory://")?;
    /// # store.put_new("sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8/plan.json", "a plan".into()).await?;
    /// let error = Storage::of(&store).collect_garbage(GcSettings::default(), now_ms()).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// let plan = Storage::of(&store).collect_abandoned(Duration::ZERO, now_ms() + 1).await?;
    /// assert_eq!((plan.sweep.len(), plan.done), (1, true));
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - `Conflict`: a writer wrote something meanwhile.
    /// - `Denied`: a folder of a local directory is a link.
    /// - Errors of the store.
    pub async fn collect_abandoned(self, age: Duration, now: i64) -> Result<GcPlan> {
        Table::collect_abandoned(self.0.as_ref(), age, now).await
    }

    /// Compares the objects of all versions of the table in `store` with the hashes that name them, and replaces what is damaged or
    /// missing by the object of the same name in `copy`: a folder or bucket to which the table was copied. Calls `progress` with the bytes
    /// compared so far and the bytes in total, of what is known by then. Damaged [pins](Storage::users) are replaced too.
    ///
    /// Nothing is replaced by bytes that differ from what the version states. A sound manifest is replaced only where later versions name
    /// another one. A lost manifest is brought back if the newest version says that it is kept, which it does from the
    /// first garbage collection on. What the objects contain is not checked: [`Storage::verify_more`] does. Garbage collections must not run
    /// meanwhile: what they delete would be brought back, as garbage.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Store, Table, WriteOptions, table::Storage};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = |name: &str| folder.path().join(name).display().to_string();
    /// # let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    /// # let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1])) as _), ("x", Arc::new(Int64Array::from(vec![3])) as _)])?;
    /// # for name in ["drives", "copy"] {
    /// #     let writer = Table::create(&url(name), schema.clone(), WriteOptions::default()).await?;
    /// #     let mut partition = writer.partition()?; partition.write(&batch).await?;
    /// #     writer.commit([partition.finish().await?]).await?;
    /// # }
    /// let (drives, copy) = (Store::open(&url("drives"))?, Store::open(&url("copy"))?);
    /// let (chunk, _) = drives.list("chunks").await?.remove(0);
    /// drives.delete(&chunk).await?;
    /// let repair = Storage::of(&drives).repair(&copy, |_, _| {}).await?;
    /// assert_eq!(repair.repaired, [chunk]);
    /// assert!(Table::open(&url("drives")).await?.storage().verify(|_, _| {}).await?.damage.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An object that cannot be repaired is not an error: [`Repair::damage`] lists it.
    /// - `NotFound`: there is no manifest of a table, or nothing of a table in `copy`.
    /// - `Invalid`: `copy` is the folder of the table itself.
    /// - `Unsupported`: a version needs a later reader, or the table is on a web server.
    /// - `Denied`: an object cannot be written.
    /// - `OutcomeUnknown`: an object was replaced and may not be durable.
    /// - Errors of the stores, if they say nothing about the stored bytes.
    pub async fn repair(self, copy: &Store, progress: impl FnMut(u64, u64)) -> Result<Repair> {
        Table::repair(self.0.as_ref(), copy, progress).await
    }

    /// Returns the storage that the table uses, version by version. Reads all manifests, and each layout once. Versions whose manifest
    /// is damaged are listed apart.
    ///
    /// # Errors
    /// - `Corrupt`: a layout is damaged.
    /// - `Unsupported`: this build cannot read a manifest or a layout.
    /// - Errors of the store.
    pub async fn usage(self) -> Result<Usage> {
        Table::usage(self.0.as_ref()).await
    }

    /// Returns the versions of other tables that use versions of the table in `store`, oldest pin first. Reads the pins, and looks for
    /// each of the other tables that is in the same store.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let table = Table::open("/data/sensors").await?;
    /// for user in table.storage().users().await? {
    ///     println!("version {:?} is used by {:?}: {:?}", user.version, user.url, user.state);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - Errors of the store.
    pub async fn users(self) -> Result<Vec<UserInfo>> {
        Table::users(self.0.as_ref()).await
    }
}
