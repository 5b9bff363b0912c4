//! Writes and changes tables without `async`: write sessions, versions with other rows or columns, and maintenance.

use std::time::Duration;

use arrow_array::RecordBatch;
use bytes::Bytes;
use serde_json::Value;

use super::{Table, wait};
use crate::{
    Receipt, Result, Schema, StoreOptions, WriteOptions, commit,
    store::Store,
    table::{self, Edit, GcPlan, GcSettings, Usage, now_ms},
    write::{self, Gathered, Locality},
};

impl Table {
    /// Starts a new table, as [`crate::Table::create`] does.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Invalid`: the options are impossible, or the schema has no index column.
    /// - Errors of the store.
    pub fn create(url: &str, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(table::Table::create(url, schema, options)).map(TableWriter)
    }

    /// Opens a table with options of its store, as [`crate::Table::open_with`] does.
    ///
    /// # Errors
    /// - `NotFound`: there is no table, no such version or no such tag.
    /// - `Corrupt`, `Unsupported`: this build cannot read the manifest.
    /// - `Invalid`: the store options are impossible.
    /// - Errors of the store.
    pub fn open_with(url: &str, options: &StoreOptions) -> Result<Self> {
        wait(table::Table::open_with(url, options)).map(Self)
    }

    /// Starts a new table with options of its store, as [`crate::Table::create_with`] does.
    ///
    /// # Errors
    /// - `Exists`: there is a table already.
    /// - `Invalid`: the options are impossible, or the schema has no index column.
    /// - Errors of the store.
    pub fn create_with(url: &str, stores: &StoreOptions, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(table::Table::create_with(url, stores, schema, options)).map(TableWriter)
    }

    /// Starts a version with more rows, as [`crate::Table::append`] does.
    ///
    /// # Errors
    /// - `Unsupported`: this version needs a later writer.
    /// - Errors of the store.
    pub fn append(&self, options: WriteOptions) -> Result<TableWriter> {
        wait(self.0.append(options)).map(TableWriter)
    }

    /// Starts a version with other rows, as [`crate::Table::overwrite`] does.
    ///
    /// # Errors
    /// - `Unsupported`: this version needs a later writer.
    /// - `Invalid`: the options are impossible, or the schema has no index column.
    /// - Errors of the store.
    pub fn overwrite(&self, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(self.0.overwrite(schema, options)).map(TableWriter)
    }

    /// Starts a version with new values in a column group, as [`crate::Table::replace_group`] does.
    ///
    /// # Errors
    /// - `NotFound`: there is no such group.
    /// - `Unsupported`: this version needs a later writer.
    /// - Errors of the store.
    pub fn replace_group(&self, name: &str, options: WriteOptions) -> Result<GroupReplacer> {
        wait(self.0.replace_group(name, options)).map(GroupReplacer)
    }

    /// Starts a version with one more column group, as [`crate::Table::add_group`] does.
    ///
    /// # Errors
    /// - `Invalid`: a name exists already, or a type is impossible.
    /// - `Unsupported`: this version needs a later writer.
    /// - Errors of the store.
    pub fn add_group<N: Into<String>, T: ToString>(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = (N, T)>,
        options: WriteOptions,
    ) -> Result<GroupReplacer> {
        let columns: Vec<(String, String)> = columns.into_iter().map(|(name, ty)| (name.into(), ty.to_string())).collect();
        wait(self.0.add_group(name, columns, options)).map(GroupReplacer)
    }

    /// Commits a version without these rows, as [`crate::Table::delete`] does.
    ///
    /// # Errors
    /// - `Invalid`: a row is out of range.
    /// - `Conflict`: another writer changed these rows.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn delete(&self, rows: impl IntoIterator<Item = u64>, options: WriteOptions) -> Result<Self> {
        wait(self.0.delete(rows.into_iter().collect::<Vec<_>>(), options)).map(Self)
    }

    /// Commits a version in which some rows have new values in one column group, as [`crate::Table::patch`] does.
    ///
    /// # Errors
    /// - `Invalid`: a key does not occur in the table or occurs twice, or the columns belong to several groups or none.
    /// - `Conflict`: another writer changed this group.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn patch(&self, on: &[&str], patch: &RecordBatch, options: WriteOptions) -> Result<Self> {
        wait(self.0.patch(on, patch, options)).map(Self)
    }

    /// Commits a version with other names, properties or tags, or with fewer columns, as [`crate::Table::edit`] and
    /// [`Edit::commit`] do.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// use tetrys::{Schema, WriteOptions, blocking::Table};
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let rows = |from: i64| RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![from, from + 1])) as _)]);
    /// let schema = Schema::builder().index("id", "i64").build()?;
    /// let table = Table::write(&url, schema, WriteOptions::default(), [rows(0)?])?;
    /// let writer = table.append(WriteOptions::default())?;
    /// let receipt = writer.write([rows(2)?])?;
    /// let table = writer.commit([receipt])?;
    /// let table = table.edit(|edit| edit.tag("gold", 2).set_property("license", "CC0"))?.delete([0], WriteOptions::default())?;
    /// assert_eq!((table.version(), table.rows(), table.versions()?), (4, 3, vec![4, 3, 2, 1]));
    /// assert_eq!(Table::open(&format!("{url}@gold"))?.rows(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`, `NotFound`, `Unsupported`: a change is impossible. The error is that of the first such change.
    /// - `Conflict`: another writer changed the same part.
    /// - Errors of the store.
    pub fn edit(&self, change: impl FnOnce(Edit) -> Edit) -> Result<Self> {
        wait(change(self.0.edit()).commit()).map(Self)
    }

    /// Commits a version with the content of an earlier one, as [`crate::Table::restore`] does. `self` is the newest version.
    ///
    /// # Errors
    /// - `NotFound`: there was no such version, or a garbage collection has deleted it.
    /// - `Conflict`: another writer committed since this version was opened, or a garbage collection deletes an object of the
    ///   earlier version.
    /// - `Unsupported`: this version or the earlier one needs a later writer.
    /// - Errors of the store.
    pub fn restore(&self, version: u64) -> Result<Self> {
        wait(self.0.restore(version)).map(Self)
    }

    /// Commits a version with larger index segments, as [`crate::Table::compact`] does.
    ///
    /// # Errors
    /// - `Conflict`: another writer changed rows.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub fn compact(&self, segment_rows: u64) -> Result<Self> {
        wait(self.0.compact(segment_rows)).map(Self)
    }

    /// Commits a version with scattered blocks gathered into new chunks, as [`crate::Table::compact_runs`] does.
    ///
    /// # Errors
    /// - `Invalid`: the window has no rows.
    /// - `Conflict`: another writer changed rows.
    /// - `Corrupt`: a copied block does not match its hash. The message names block, chunk and owner.
    /// - Errors of the stores.
    pub fn compact_runs(&self, segment_rows: u64, bound: Locality) -> Result<(Self, Gathered)> {
        wait(self.0.compact_runs(segment_rows, bound)).map(|(table, gathered)| (Self(table), gathered))
    }

    /// Commits a version that uses no other table, as [`crate::Table::materialize`] does.
    ///
    /// # Errors
    /// - `Unsupported`: the table is a view.
    /// - `Corrupt`: a chunk is missing or damaged. The message names chunk and owner.
    /// - `Conflict`: another writer changed the same part.
    /// - Errors of the stores.
    pub fn materialize(&self, progress: impl FnMut(u64, u64) + Send) -> Result<Self> {
        wait(self.0.materialize(progress)).map(Self)
    }

    /// Returns the number of this version.
    pub fn version(&self) -> u64 {
        self.0.version()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// Returns the schema of this version.
    pub fn schema(&self) -> &Schema {
        self.0.schema()
    }

    /// Returns the versions of the table, the newest first.
    ///
    /// # Errors
    /// - Errors of the store.
    pub fn versions(&self) -> Result<Vec<u64>> {
        let mut versions = wait(commit::versions(self.0.store()))?;
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(*version));
        Ok(versions)
    }

    /// Opens another version of the same table.
    ///
    /// # Errors
    /// - `NotFound`: there is no such version.
    /// - `Corrupt`, `Unsupported`: this build cannot read the manifest.
    /// - Errors of the store.
    pub fn at_version(&self, version: u64) -> Result<Self> {
        wait(table::Table::open_version_in(self.0.store().clone(), version)).map(Self)
    }

    /// Returns the storage that the table uses, version by version, as [`crate::Table::usage`] does.
    ///
    /// # Errors
    /// - `Corrupt`, `Unsupported`: this build cannot read a manifest or a layout.
    /// - Errors of the store.
    pub fn usage(&self) -> Result<Usage> {
        wait(table::Table::usage(self.0.store()))
    }

    /// Returns what [`Table::collect_garbage`] would do now: a dry run.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Denied`: a folder of a local table is a link.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the store.
    pub fn plan_garbage(&self, settings: GcSettings) -> Result<GcPlan> {
        wait(table::Table::plan_garbage(self.0.store(), settings, now_ms()))
    }

    /// Marks unused objects for deletion and deletes objects that were marked long enough ago, as
    /// [`crate::Table::collect_garbage`] does.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Conflict`: other writers committed again and again meanwhile.
    /// - `Denied`: a pin cannot be written into a table whose chunks this table uses, or a folder of a local table is a link.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the store.
    pub fn collect_garbage(&self, settings: GcSettings) -> Result<GcPlan> {
        wait(table::Table::collect_garbage(self.0.store(), settings, now_ms()))
    }

    /// Returns what [`Table::collect_abandoned`] would do now: a dry run.
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - Errors of the store.
    pub fn plan_abandoned(store: &Store, age: Duration) -> Result<GcPlan> {
        wait(table::Table::plan_abandoned(store, age, now_ms()))
    }

    /// Deletes what writers left that never committed a first version, as [`crate::Table::collect_abandoned`] does.
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - `Conflict`: a writer wrote something meanwhile.
    /// - `Denied`: a folder of a local directory is a link.
    /// - Errors of the store.
    pub fn collect_abandoned(store: &Store, age: Duration) -> Result<GcPlan> {
        wait(table::Table::collect_abandoned(store, age, now_ms()))
    }

    /// Returns the store of the table.
    pub fn store(&self) -> &Store {
        self.0.store()
    }
}

/// A write session. Blocking variant of [`crate::TableWriter`].
#[derive(Debug)]
pub struct TableWriter(pub(super) table::TableWriter);

impl TableWriter {
    /// Lets the table share chunks of other tables, as [`crate::TableWriter::references`] does.
    ///
    /// # Errors
    /// - `Invalid`: a partition was started already, or a table has no URL.
    /// - `Conflict`: a referenced version no longer exists.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub fn references<'a>(self, tables: impl IntoIterator<Item = &'a Table>) -> Result<Self> {
        let tables: Vec<_> = tables.into_iter().map(|table| &table.0).collect();
        wait(self.0.references(tables)).map(Self)
    }

    /// Starts the next partition.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    /// - `Invalid`: all 4,294,967,295 numbers are used.
    pub fn partition(&self) -> Result<PartitionWriter> {
        self.0.partition().map(PartitionWriter)
    }

    /// Starts partition `number`, from 0 to 4,294,967,294.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be created.
    /// - `Invalid`: the number is too large.
    pub fn partition_at(&self, number: u32) -> Result<PartitionWriter> {
        self.0.partition_at(number).map(PartitionWriter)
    }

    /// Sets a table property.
    pub fn set_property(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.set_property(key, value);
    }

    /// Stores a small object, such as a map or a calibration, beside the rows under `name`.
    ///
    /// # Errors
    /// - Errors of the store.
    pub fn attach(&self, name: impl Into<String>, content: impl Into<Bytes>) -> Result<()> {
        let (name, content): (String, Bytes) = (name.into(), content.into());
        wait(self.0.attach(name, content))
    }

    /// Writes these batches as the next partition and returns its receipt.
    ///
    /// # Errors
    /// - `Invalid`: the batches do not fit the schema or break the rules of sequences, or all partition numbers are used.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    /// - `Unavailable`: a temporary file cannot be created.
    /// - Errors of the store.
    pub fn write(&self, batches: impl IntoIterator<Item = RecordBatch>) -> Result<Receipt> {
        let mut partition = self.partition()?;
        for batch in batches {
            partition.write(&batch)?;
        }
        partition.finish()
    }

    /// Returns the receipts of finished partitions that the store has, as [`crate::TableWriter::receipts`] does.
    ///
    /// # Errors
    /// - `Corrupt`: a receipt cannot be read.
    /// - Errors of the store.
    pub fn receipts(&self) -> Result<Vec<Receipt>> {
        wait(self.0.receipts())
    }

    /// Leaves out the rows of a partition. The commit then expects no receipt of it.
    pub fn abandon(&self, partition: u32) {
        self.0.abandon(partition);
    }

    /// Commits the rows of these receipts, as [`crate::TableWriter::commit`] does.
    ///
    /// # Errors
    /// - `Invalid`: receipts are missing or contradict each other, or sequences break the rules.
    /// - `Conflict`: another writer created the table or changed the same part.
    /// - `OutcomeUnknown`: it is unknown whether the version exists.
    /// - Errors of the store.
    pub fn commit(&self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        wait(self.0.commit(receipts.into_iter().collect::<Vec<_>>())).map(Table)
    }

    /// Returns the session for asynchronous use.
    pub fn as_async(&self) -> &table::TableWriter {
        &self.0
    }
}

/// Writes one partition. Blocking variant of [`crate::PartitionWriter`].
#[derive(Debug)]
pub struct PartitionWriter(write::PartitionWriter);

impl PartitionWriter {
    /// Sets the name of what the partition is made from, such as a source file. Error messages and the receipt contain it.
    pub fn label(self, label: impl Into<String>) -> Self {
        Self(self.0.label(label))
    }

    /// Appends rows, as [`crate::PartitionWriter::write`] does.
    ///
    /// # Errors
    /// The partition cannot be finished after an error.
    /// - `Invalid`: a column is missing, unknown, of a wrong type, or null where nulls are not allowed; a sequence reappears
    ///   after it ended; the rows break `order_by`; the partition has over 4,194,304 rows; an earlier write failed.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    /// - Errors of the store.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        wait(self.0.write(batch))
    }

    /// Ends the partition and returns its receipt, as [`crate::PartitionWriter::finish`] does.
    ///
    /// # Errors
    /// - `Invalid`: an earlier write failed.
    /// - Errors of the store.
    pub fn finish(self) -> Result<Receipt> {
        wait(self.0.finish())
    }
}

/// Writes one column group of every row. Blocking variant of [`table::GroupReplacer`].
#[derive(Debug)]
pub struct GroupReplacer(table::GroupReplacer);

impl GroupReplacer {
    /// Writes the next rows in table order, as [`table::GroupReplacer::write`] does.
    ///
    /// # Errors
    /// Nothing can be committed after an error.
    /// - `Invalid`: there are more rows than in the table, or a column is missing, unknown or of a wrong type.
    /// - Errors of the store.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        wait(self.0.write(batch))
    }

    /// Writes all rows of the table, matched by key, as [`table::GroupReplacer::write_keyed`] does.
    ///
    /// # Errors
    /// Nothing can be committed after an error.
    /// - `Invalid`: other rows were written before, a key does not occur in the table or occurs twice, or a column is missing,
    ///   unknown or of a wrong type.
    /// - Errors of the store.
    pub fn write_keyed(&mut self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        wait(self.0.write_keyed(on, batch))
    }

    /// Commits the version.
    ///
    /// # Errors
    /// - `Invalid`: rows are missing.
    /// - `Conflict`: another writer changed the same group or the rows.
    /// - Errors of the store.
    pub fn commit(self) -> Result<Table> {
        wait(self.0.commit()).map(Table)
    }
}
