//! Tables written and changed without `async`: sessions, versions with other rows or columns, and what is done with old ones.

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
    /// As [`crate::Table::create`].
    ///
    /// # Errors
    /// As there.
    pub fn create(url: &str, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(table::Table::create(url, schema, options)).map(TableWriter)
    }

    /// As [`crate::Table::open_with`].
    ///
    /// # Errors
    /// As there.
    pub fn open_with(url: &str, options: &StoreOptions) -> Result<Self> {
        wait(table::Table::open_with(url, options)).map(Self)
    }

    /// As [`crate::Table::create_with`].
    ///
    /// # Errors
    /// As there.
    pub fn create_with(url: &str, reached: &StoreOptions, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(table::Table::create_with(url, reached, schema, options)).map(TableWriter)
    }

    /// As [`crate::Table::append`].
    ///
    /// # Errors
    /// As there.
    pub fn append(&self, options: WriteOptions) -> Result<TableWriter> {
        wait(self.0.append(options)).map(TableWriter)
    }

    /// As [`crate::Table::overwrite`].
    ///
    /// # Errors
    /// As there.
    pub fn overwrite(&self, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        wait(self.0.overwrite(schema, options)).map(TableWriter)
    }

    /// As [`crate::Table::replace_group`].
    ///
    /// # Errors
    /// As there.
    pub fn replace_group(&self, name: &str, options: WriteOptions) -> Result<GroupReplacer> {
        wait(self.0.replace_group(name, options)).map(GroupReplacer)
    }

    /// As [`crate::Table::add_group`].
    ///
    /// # Errors
    /// As there.
    pub fn add_group<N: Into<String>, T: ToString>(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = (N, T)>,
        options: WriteOptions,
    ) -> Result<GroupReplacer> {
        let columns: Vec<(String, String)> = columns.into_iter().map(|(name, ty)| (name.into(), ty.to_string())).collect();
        wait(self.0.add_group(name, columns, options)).map(GroupReplacer)
    }

    /// As [`crate::Table::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete(&self, rows: impl IntoIterator<Item = u64>, options: WriteOptions) -> Result<Self> {
        wait(self.0.delete(rows.into_iter().collect::<Vec<_>>(), options)).map(Self)
    }

    /// As [`crate::Table::patch`].
    ///
    /// # Errors
    /// As there.
    pub fn patch(&self, on: &[&str], patch: &RecordBatch, options: WriteOptions) -> Result<Self> {
        wait(self.0.patch(on, patch, options)).map(Self)
    }

    /// As [`crate::Table::edit`] and [`Edit::commit`]: names, properties, tags, fewer columns.
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
    /// As there.
    pub fn edit(&self, change: impl FnOnce(Edit) -> Edit) -> Result<Self> {
        wait(change(self.0.edit()).commit()).map(Self)
    }

    /// As [`crate::Table::compact`].
    ///
    /// # Errors
    /// As there.
    pub fn compact(&self, segment_rows: u64) -> Result<Self> {
        wait(self.0.compact(segment_rows)).map(Self)
    }

    /// As [`crate::Table::compact_runs`].
    ///
    /// # Errors
    /// As there.
    pub fn compact_runs(&self, segment_rows: u64, bound: Locality) -> Result<(Self, Gathered)> {
        wait(self.0.compact_runs(segment_rows, bound)).map(|(table, gathered)| (Self(table), gathered))
    }

    /// As [`crate::Table::materialize`].
    ///
    /// # Errors
    /// As there.
    pub fn materialize(&self, progress: impl FnMut(u64, u64) + Send) -> Result<Self> {
        wait(self.0.materialize(progress)).map(Self)
    }

    /// This version's number.
    pub fn version(&self) -> u64 {
        self.0.version()
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }

    /// As [`crate::Table::schema`].
    pub fn schema(&self) -> &Schema {
        self.0.schema()
    }

    /// The versions that the table has, newest first.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn versions(&self) -> Result<Vec<u64>> {
        let mut versions = wait(commit::versions(self.0.store()))?;
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(*version));
        Ok(versions)
    }

    /// Another version of the same table.
    ///
    /// # Errors
    /// As [`crate::Table::open_version`].
    pub fn at_version(&self, version: u64) -> Result<Self> {
        wait(table::Table::open_version(self.0.store().clone(), version)).map(Self)
    }

    /// As [`crate::Table::usage`].
    ///
    /// # Errors
    /// As there.
    pub fn usage(&self) -> Result<Usage> {
        wait(table::Table::usage(self.0.store()))
    }

    /// As [`crate::Table::plan_garbage`], now.
    ///
    /// # Errors
    /// As there.
    pub fn plan_garbage(&self, settings: GcSettings) -> Result<GcPlan> {
        wait(table::Table::plan_garbage(self.0.store(), settings, now_ms()))
    }

    /// As [`crate::Table::collect_garbage`], now.
    ///
    /// # Errors
    /// As there.
    pub fn collect_garbage(&self, settings: GcSettings) -> Result<GcPlan> {
        wait(table::Table::collect_garbage(self.0.store(), settings, now_ms()))
    }

    /// The store of its objects.
    pub fn store(&self) -> &Store {
        self.0.store()
    }
}

/// A write session; see [`crate::TableWriter`].
#[derive(Debug)]
pub struct TableWriter(table::TableWriter);

impl TableWriter {
    /// As [`crate::TableWriter::references`].
    ///
    /// # Errors
    /// As there.
    pub fn references<'a>(self, tables: impl IntoIterator<Item = &'a Table>) -> Result<Self> {
        let tables: Vec<_> = tables.into_iter().map(|table| &table.0).collect();
        wait(self.0.references(tables)).map(Self)
    }

    /// As [`crate::TableWriter::partition`].
    ///
    /// # Errors
    /// As there.
    pub fn partition(&self) -> Result<PartitionWriter> {
        self.0.partition().map(PartitionWriter)
    }

    /// As [`crate::TableWriter::partition_at`].
    ///
    /// # Errors
    /// As there.
    pub fn partition_at(&self, number: u32) -> Result<PartitionWriter> {
        self.0.partition_at(number).map(PartitionWriter)
    }

    /// As [`crate::TableWriter::set_property`].
    pub fn set_property(&self, key: impl Into<String>, value: impl Into<Value>) {
        self.0.set_property(key, value);
    }

    /// As [`crate::TableWriter::attach`].
    ///
    /// # Errors
    /// As there.
    pub fn attach(&self, name: impl Into<String>, content: impl Into<Bytes>) -> Result<()> {
        let (name, content): (String, Bytes) = (name.into(), content.into());
        wait(self.0.attach(name, content))
    }

    /// Writes these batches as the next partition and gives its receipt.
    ///
    /// # Errors
    /// As [`crate::PartitionWriter::write`].
    pub fn write(&self, batches: impl IntoIterator<Item = RecordBatch>) -> Result<Receipt> {
        let mut partition = self.partition()?;
        for batch in batches {
            partition.write(&batch)?;
        }
        partition.finish()
    }

    /// As [`crate::TableWriter::receipts`].
    ///
    /// # Errors
    /// As there.
    pub fn receipts(&self) -> Result<Vec<Receipt>> {
        wait(self.0.receipts())
    }

    /// As [`crate::TableWriter::abandon`].
    pub fn abandon(&self, partition: u32) {
        self.0.abandon(partition);
    }

    /// As [`crate::TableWriter::commit`].
    ///
    /// # Errors
    /// As there.
    pub fn commit(&self, receipts: impl IntoIterator<Item = Receipt>) -> Result<Table> {
        wait(self.0.commit(receipts.into_iter().collect::<Vec<_>>())).map(Table)
    }

    /// The session for asynchronous use.
    pub fn as_async(&self) -> &table::TableWriter {
        &self.0
    }
}

/// Writes a partition; see [`crate::PartitionWriter`].
#[derive(Debug)]
pub struct PartitionWriter(write::PartitionWriter);

impl PartitionWriter {
    /// As [`crate::PartitionWriter::write`].
    ///
    /// # Errors
    /// As there.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        wait(self.0.write(batch))
    }

    /// As [`crate::PartitionWriter::finish`].
    ///
    /// # Errors
    /// As there.
    pub fn finish(self) -> Result<Receipt> {
        wait(self.0.finish())
    }
}

/// Writes one column group of every row; see [`table::GroupReplacer`].
#[derive(Debug)]
pub struct GroupReplacer(table::GroupReplacer);

impl GroupReplacer {
    /// As [`table::GroupReplacer::write`].
    ///
    /// # Errors
    /// As there.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        wait(self.0.write(batch))
    }

    /// As [`table::GroupReplacer::write_keyed`].
    ///
    /// # Errors
    /// As there.
    pub fn write_keyed(&mut self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        wait(self.0.write_keyed(on, batch))
    }

    /// As [`table::GroupReplacer::commit`].
    ///
    /// # Errors
    /// As there.
    pub fn commit(self) -> Result<Table> {
        wait(self.0.commit()).map(Table)
    }
}
