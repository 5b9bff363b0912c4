//! Replaces the values of a column group, or adds a column group. Other groups and the index stay as they are.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::take::take_record_batch;
use serde_json::Value;

use crate::{
    commit,
    error::{Error, Result, counted},
    format::Manifest,
    read::Sequences,
    schema::{ColumnType, PRESET, Schema},
    store::Store,
    table::{
        session::{Session, lineage},
        version::table::Table,
    },
    write::{GroupsWriter, Known, Sharing, WriteOptions, WrittenGroup},
};

/// Writes one column group of every row of a table, in table order.
#[derive(Debug)]
pub struct GroupReplacer {
    session: Session,
    rows: GroupRows,
    operation: &'static str,
}

/// Cuts the rows of one column group into blocks for the segments of a table.
#[derive(Debug)]
pub(in crate::table) struct GroupRows {
    base: Table,
    store: Store,
    known: Option<Arc<Known>>,
    schema: Schema,
    /// Number of the group in the new schema.
    group: usize,
    options: WriteOptions,
    sequences: Arc<Sequences>,
    /// The next row, and the first sequence that starts at this row or later.
    row: u64,
    sequence: usize,
    /// Whether every write so far was completed.
    whole: bool,
    open: Option<GroupsWriter>,
    written: Vec<WrittenGroup>,
    sharing: Sharing,
}

impl Table {
    /// Starts a version with new values in the columns of a group. Write the rows in table order ([`GroupReplacer::write`]) or by
    /// key ([`GroupReplacer::write_keyed`]). Copies of these columns in other groups are no longer read.
    ///
    /// # Errors
    /// - `NotFound`: there is no such group.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses, unless [`WriteOptions::allow_unpinned`].
    /// - Errors of the stores.
    pub async fn replace_group(&self, name: &str, options: WriteOptions) -> Result<GroupReplacer> {
        let group = self.schema().groups().iter().position(|group| group.name == name);
        let group = group.ok_or_else(|| {
            let names: Vec<&str> = self.schema().groups().iter().map(|group| group.name.as_str()).collect();
            Error::not_found(format!("{}: no column group `{name}`; it has {}", self.url(), names.join(", ")))
        })?;
        let schema = self.schema().with_group_valid(group)?;
        GroupReplacer::new(self, schema, group, "replace_group", options).await
    }

    /// Starts a version with one more column group. Write the rows as with [`Table::replace_group`].
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
    /// let mut writer = table.add_group("area", [("square.area", "i64")], WriteOptions::default()).await?;
    /// let areas = Int64Array::from_iter_values((0..10).map(|side| side * side));
    /// writer.write(&RecordBatch::try_from_iter([("square.area", Arc::new(areas) as _)])?).await?;
    /// let table = writer.commit().await?;
    /// assert_eq!(table.schema().groups().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a name exists already, or a type is impossible.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses, unless [`WriteOptions::allow_unpinned`].
    /// - Errors of the stores.
    pub async fn add_group<N: Into<String>, T: ToString>(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = (N, T)>,
        options: WriteOptions,
    ) -> Result<GroupReplacer> {
        let typed = columns.into_iter().map(|(name, ty)| {
            let name: String = name.into();
            let ty: ColumnType = ty.to_string().parse().map_err(|error: Error| error.at(format!("column `{name}`")))?;
            Ok((name, ty))
        });
        let typed: Vec<(String, ColumnType)> = typed.collect::<Result<_>>()?;
        self.add_group_of(name, typed.into_iter().map(|(name, ty)| (name, ty, BTreeMap::new())), options).await
    }

    /// Starts a version as [`Table::add_group`] does, with column properties. If the preset of `options` is not the table's, it
    /// becomes a property of each column.
    pub(crate) async fn add_group_of(
        &self,
        name: &str,
        columns: impl IntoIterator<Item = (String, ColumnType, BTreeMap<String, Value>)>,
        options: WriteOptions,
    ) -> Result<GroupReplacer> {
        let preset = options.preset.name();
        let columns = columns.into_iter().map(|(name, ty, mut properties)| {
            if preset != self.manifest().preset {
                properties.entry(PRESET.to_owned()).or_insert_with(|| preset.into());
            }
            (name, ty, properties)
        });
        let schema = self.schema().with_group_of(name, columns)?;
        let group = schema.groups().len() - 1;
        GroupReplacer::new(self, schema, group, "add_group", options).await
    }
}

impl GroupReplacer {
    async fn new(base: &Table, schema: Schema, group: usize, operation: &'static str, options: WriteOptions) -> Result<Self> {
        let mut session = Session::change(base, true, options.allow_unpinned).await?;
        let rows = GroupRows::new(&mut session, base, schema, group, options).await?;
        Ok(Self { session, rows, operation })
    }

    /// Writes the next rows of the table, in table order. The batch has the columns of the group, in any order, and no others.
    ///
    /// # Errors
    /// Nothing can be committed after an error.
    /// - `Invalid`: there are more rows than in the table, or a column is missing, unknown or of a wrong type.
    /// - Errors of the store.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_columns(&[], batch)?;
        self.rows.write(batch).await
    }

    fn check_columns(&self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        self.check_names(on, batch.schema().fields().iter().map(|field| field.name().as_str()))
    }

    /// Checks that each name is that of a column of the group or of the key `on`.
    pub(crate) fn check_names<'a>(&self, on: &[&str], names: impl Iterator<Item = &'a str>) -> Result<()> {
        let GroupRows { base, schema, group, .. } = &self.rows;
        let group = &schema.groups()[*group];
        let is_its = |name: &str| group.columns.iter().filter_map(|id| schema.column(*id)).any(|column| column.name == name);
        let others: Vec<&str> = names.filter(|name| !is_its(name) && !on.contains(name)).collect();
        base.check_others(&group.name, &others, on)
    }

    /// Writes all rows of the table at once, matched by key: a row gets the values of the row of `batch` with the same values in
    /// the index columns `on`, or nulls if there is none. The batch has the columns of the group and of the key, and no others.
    ///
    /// # Errors
    /// Nothing can be committed after an error.
    /// - `Invalid`: other rows were written before, a key does not occur in the table or occurs twice, or a column is missing,
    ///   unknown or of a wrong type.
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub async fn write_keyed(&mut self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        self.check_columns(on, batch)?;
        let GroupRows { base, schema, group, row, .. } = &self.rows;
        if *row > 0 {
            return Err(Error::invalid(format!("{} written before: pass all rows by key in one batch", counted(*row, "row"))));
        }
        let rows = base.aligned(on, batch).await?;
        // Table rows without a match become null, so the fields must be nullable even if the batch has no nulls.
        let group = schema.groups()[*group].columns.iter().filter_map(|id| schema.column(*id));
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for column in group {
            let name = &column.name;
            let array = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")))?;
            let field = batch.schema().field_with_name(name).map_err(|error| Error::invalid(error.to_string()))?.clone();
            fields.push(field.with_nullable(true));
            arrays.push(ArrayRef::clone(array));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(ArrowSchema::new(fields).into(), arrays, &options);
        let batch = batch.map_err(|error| Error::invalid(error.to_string()))?;
        for part in rows.chunks(1 << 16) {
            let rows = take_record_batch(&batch, &UInt64Array::from(part.to_vec()));
            self.rows.write(&rows.map_err(|error| Error::invalid(error.to_string()))?).await?;
        }
        Ok(())
    }

    /// Commits the version.
    ///
    /// # Errors
    /// - `Invalid`: rows are missing, or an earlier write failed.
    /// - `Conflict`: another writer changed the same group or the rows.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses, unless [`WriteOptions::allow_unpinned`].
    /// - Errors of the stores.
    pub async fn commit(self) -> Result<Table> {
        let Self { mut session, rows, operation } = self;
        let (schema, group) = (rows.schema.clone(), rows.group);
        let (written, sharing) = rows.finish()?;
        let used: Vec<u32> = written.iter().flat_map(WrittenGroup::owners).collect();
        let owners = session.settle_owners(used, true).await;
        let mut manifest = session.child()?;
        let mut bytes = sharing.new_bytes;
        for (segment, written) in manifest.segments.iter_mut().zip(written) {
            let stored = commit::put_group(&session.store, written, &owners).await?;
            bytes += stored.layout.bytes + stored.hashes.bytes;
            match segment.groups.get_mut(group) {
                Some(place) => *place = stored,
                None => segment.groups.push(stored),
            }
        }
        let name = schema.groups()[group].name.clone();
        let details = BTreeMap::from([("group".to_owned(), Value::from(name)), ("bytes_added".to_owned(), bytes.into())]);
        let manifest = Manifest { schema, lineage: lineage(operation, details)?, ..manifest };
        session.publish(manifest).await
    }
}

impl Table {
    /// Refuses a new group whose name is taken, and columns of it that have the names of index columns and are not in the key `on`.
    pub(crate) fn check_new_group(&self, group: &str, names: &[&str], on: &[&str]) -> Result<()> {
        self.schema().is_new_group(group)?;
        let is_key = |name: &&str| self.schema().index().any(|existing| existing.name == **name);
        self.check_others(group, &names.iter().copied().filter(is_key).collect::<Vec<_>>(), on)
    }

    /// Refuses columns (`others`) that belong neither to the group nor to the key `on`. A batch with index columns and without
    /// `on` is ambiguous: its rows may be in another order than those of the table. No column is dropped silently.
    fn check_others(&self, group: &str, others: &[&str], on: &[&str]) -> Result<()> {
        let is_key = |name: &&str| self.schema().index().any(|existing| existing.name == **name);
        let keys: Vec<&str> = others.iter().copied().filter(is_key).collect();
        match (others, keys.as_slice()) {
            ([], _) => Ok(()),
            (_, [_, ..]) if on.is_empty() => Err(Error::invalid(format!(
                "index columns {} beside those of column group `{group}`: name the key that identifies the rows (`on`), or leave \
                 these columns out if the rows are in table order",
                listed(&keys),
            ))),
            _ => Err(Error::invalid(format!(
                "columns {} are neither of column group `{group}` nor of the key: leave them out",
                listed(others)
            ))),
        }
    }
}

fn listed(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}

impl GroupRows {
    /// Starts the rows of column group number `group` of `schema`, one for every row of `base`. Known blocks are not stored
    /// again.
    pub(in crate::table) async fn new(
        session: &mut Session,
        base: &Table,
        schema: Schema,
        group: usize,
        options: WriteOptions,
    ) -> Result<Self> {
        let options = WriteOptions { cuts: base.manifest().cuts, ..options };
        if session.known.is_none() {
            session.know(&[], &options).await?;
        }
        let (written, sharing) = Default::default();
        Ok(Self {
            base: base.clone(),
            store: session.store.clone(),
            known: session.known.clone(),
            schema,
            group,
            options,
            sequences: base.sequences().await?,
            row: 0,
            sequence: 0,
            whole: true,
            open: None,
            written,
            sharing,
        })
    }

    /// Writes the next rows, as [`GroupReplacer::write`] does.
    pub(in crate::table) async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        if self.row + batch.num_rows() as u64 > self.base.rows() {
            return Err(Error::invalid(format!(
                "a batch of {} starts at row {}, the table has {}",
                counted(batch.num_rows(), "row"),
                self.row,
                counted(self.base.rows(), "row")
            )));
        }
        // After an error, or if this future is dropped, rows are missing.
        self.whole = false;
        let mut taken = 0;
        while taken < batch.num_rows() {
            // A block ends where a segment ends.
            let segments = &self.base.manifest().segments;
            let segment = segments.get(self.written.len()).ok_or_else(|| Error::internal("no segment for a row"))?;
            let end = segment.first_row + segment.rows;
            let rows = usize::try_from(end - self.row).unwrap_or(usize::MAX).min(batch.num_rows() - taken);
            let starts: Vec<bool> = (0..rows as u64).map(|row| self.starts(self.row + row)).collect();
            let mut writer = match self.open.take() {
                Some(open) => open,
                None => GroupsWriter::new(self.store.clone(), &self.schema, [self.group], &self.options, self.known.clone())?,
            };
            let place = |error: Error| error.at(format!("rows from {}", self.row));
            writer.append(&batch.slice(taken, rows), &starts).await.map_err(place)?;
            self.row += rows as u64;
            taken += rows;
            if self.row == end {
                let (written, sharing) = writer.finish().await?;
                self.written.extend(written);
                self.sharing = std::mem::take(&mut self.sharing).and(sharing);
            } else {
                self.open = Some(writer);
            }
        }
        self.whole = true;
        Ok(())
    }

    fn check_whole(&self) -> Result<()> {
        match self.whole {
            true => Ok(()),
            false => Err(Error::invalid("an earlier write of this column group failed or was dropped: begin the change again")),
        }
    }

    fn starts(&mut self, row: u64) -> bool {
        while self.sequences.rows(self.sequence).is_some_and(|rows| rows.start < row) {
            self.sequence += 1;
        }
        self.sequences.rows(self.sequence).is_some_and(|rows| rows.start == row)
    }

    /// Returns the written column group of each segment.
    ///
    /// # Errors
    /// - `Invalid`: rows are missing, or an earlier write failed or was dropped.
    pub(in crate::table) fn finish(self) -> Result<(Vec<WrittenGroup>, Sharing)> {
        self.check_whole()?;
        match self.row == self.base.rows() && self.open.is_none() {
            true => Ok((self.written, self.sharing)),
            false => {
                Err(Error::invalid(format!("found {} written, the table has {}", counted(self.row, "row"), self.base.rows())))
            }
        }
    }
}
