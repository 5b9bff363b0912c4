//! A version with other values in one column group, or with one group more: no other group is touched, no index rewritten.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_schema::Schema as ArrowSchema;
use arrow_select::take::take_record_batch;
use serde_json::Value;

use super::session::{Session, lineage};
use crate::{
    commit,
    error::{Error, Result, counted},
    format::Manifest,
    read::Sequences,
    schema::{ColumnType, PRESET, Schema},
    store::Store,
    table::table::Table,
    write::{GroupsWriter, Known, Sharing, WriteOptions, WrittenGroup},
};

/// Writes one column group of every row of a table, in table order.
#[derive(Debug)]
pub struct GroupReplacer {
    session: Session,
    rows: GroupRows,
    operation: &'static str,
}

/// The rows of one column group on their way into the segments of a table.
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
    /// The next row, and the sequence that starts at it or behind it.
    row: u64,
    sequence: usize,
    /// Whether every write so far came to its end.
    whole: bool,
    open: Option<GroupsWriter>,
    written: Vec<WrittenGroup>,
    sharing: Sharing,
}

impl Table {
    /// Starts a version in which the columns of a group have other values. The rows are written in table order
    /// ([`GroupReplacer::write`]) or found by key ([`GroupReplacer::write_keyed`]). Other copies of its columns, in other
    /// groups, are not read any more.
    ///
    /// # Errors
    /// `NotFound` where there is no such group; as [`Table::append`].
    pub async fn replace_group(&self, name: &str, options: WriteOptions) -> Result<GroupReplacer> {
        let group = self.schema().groups().iter().position(|group| group.name == name);
        let group = group.ok_or_else(|| {
            let names: Vec<&str> = self.schema().groups().iter().map(|group| group.name.as_str()).collect();
            Error::not_found(format!("{}: no column group `{name}`; it has {}", self.url(), names.join(", ")))
        })?;
        let schema = self.schema().with_group_valid(group)?;
        GroupReplacer::new(self, schema, group, "replace_group", options).await
    }

    /// Starts a version with one more column group; the rows are written as by [`Table::replace_group`].
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
    /// `Invalid` for names that are there and impossible types; as [`Table::append`].
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

    /// As [`Table::add_group`], of columns that have properties. Another preset than the table's is one of them.
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

    /// Writes the next rows of the table: the columns of the group, found by name, and no others.
    ///
    /// # Errors
    /// `Invalid` for more rows than the table has, missing, ill-typed and other columns; errors of the store. After an error
    /// nothing can be committed.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_columns(&[], batch)?;
        self.rows.write(batch).await
    }

    fn check_columns(&self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        self.check_names(on, batch.schema().fields().iter().map(|field| field.name().as_str()))
    }

    /// That these are names of columns of the group and of the key `on`, and no others.
    pub(crate) fn check_names<'a>(&self, on: &[&str], names: impl Iterator<Item = &'a str>) -> Result<()> {
        let GroupRows { base, schema, group, .. } = &self.rows;
        let group = &schema.groups()[*group];
        let is_its = |name: &str| group.columns.iter().filter_map(|id| schema.column(*id)).any(|column| column.name == name);
        let others: Vec<&str> = names.filter(|name| !is_its(name) && !on.contains(name)).collect();
        base.check_others(&group.name, &others, on)
    }

    /// Writes every row of the table at once: each is found in `batch`, which has the columns of the group and of the key and no
    /// others, by the values of the index columns `on`. A row that is not there gets nulls.
    ///
    /// # Errors
    /// `Invalid` after other rows were written, for keys that the table does not have, or has twice; as
    /// [`GroupReplacer::write`].
    pub async fn write_keyed(&mut self, on: &[&str], batch: &RecordBatch) -> Result<()> {
        self.check_columns(on, batch)?;
        let GroupRows { base, schema, group, row, .. } = &self.rows;
        if *row > 0 {
            return Err(Error::invalid(format!("{} written before: give all rows by key in one batch", counted(*row, "row"))));
        }
        let rows = base.aligned(on, batch).await?;
        // Rows that are not there are nulls, also where the batch has none.
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

    /// Makes the version exist.
    ///
    /// # Errors
    /// `Invalid` where rows are missing; `Conflict` where another writer changed the same group or the rows; errors of the
    /// store.
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
        let said = BTreeMap::from([("group".to_owned(), Value::from(name)), ("bytes_added".to_owned(), bytes.into())]);
        let manifest = Manifest { schema, lineage: lineage(operation, said)?, ..manifest };
        session.publish(manifest).await
    }
}

impl Table {
    /// Refuses columns of a new group that are index columns of the table: they are a key that is not named.
    pub(crate) fn check_new_group(&self, group: &str, names: &[&str], on: &[&str]) -> Result<()> {
        let is_key = |name: &&str| self.schema().index().any(|held| held.name == **name);
        self.check_others(group, &names.iter().copied().filter(is_key).collect::<Vec<_>>(), on)
    }

    /// Refuses columns that are neither of the group nor of the key `on`: rows that have keys are not matched by their order, and
    /// nothing that was given is left out without a word.
    fn check_others(&self, group: &str, others: &[&str], on: &[&str]) -> Result<()> {
        let is_key = |name: &&str| self.schema().index().any(|held| held.name == **name);
        let keys: Vec<&str> = others.iter().copied().filter(is_key).collect();
        match (others, keys.as_slice()) {
            ([], _) => Ok(()),
            (_, [_, ..]) if on.is_empty() => Err(Error::invalid(format!(
                "index columns {} beside those of column group `{group}`: name the key that finds the rows (on), or leave these \
                 columns out where the rows stand in the order of the table",
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
    /// Rows of group `group` of `schema` for every row of `base`. What is stored already is not stored again.
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

    /// As [`GroupReplacer::write`].
    pub(in crate::table) async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        if self.row + batch.num_rows() as u64 > self.base.rows() {
            return Err(Error::invalid(format!(
                "{} behind row {}, the table has {}",
                counted(batch.num_rows(), "row"),
                self.row,
                self.base.rows()
            )));
        }
        // An error, or a future that is dropped, leaves rows out.
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

    /// What was written, one for each segment.
    ///
    /// # Errors
    /// `Invalid` where rows are missing.
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
