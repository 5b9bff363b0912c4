//! Changes an existing table by a frame: new values for some rows or for a column group, or a new column group.
//!
//! Rows are matched by key: index columns that the frame has too. Without a key the frame has the rows of the table in table
//! order, and streams through bounded memory. With a key, memory holds the whole frame.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema as ArrowSchema};
use arrow_select::concat::concat_batches;
use serde_json::Value;

use super::{
    settings::{Blob, FrameSettings, Types},
    source::Frame,
    table::{FramePlan, plan},
};
use crate::{
    error::{Error, Result},
    ingest::foreign::check_same,
    progress::Progress,
    schema::ColumnType,
    table::{GroupReplacer, Table},
    work::{next_of, offload},
};

/// Creates a version of `table` in which rows have new values. The index columns `on` match the rows of the frame; its other
/// columns must belong to one column group. Of the settings only `drop`, `skip_unsupported`, the blobs and their files, and the
/// write options apply.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Table, ingest::frame::{Frame, FrameSettings, patch}};
/// // The frame has the columns log_id, timestamp and labels.boxes, and the rows that were labelled again.
/// let frame = Frame::parquet("relabelled.parquet")?;
/// let table = patch(&frame, &Table::open("drives").await?, &["log_id", "timestamp"], &FrameSettings::default()).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// - `Invalid`: the frame has no rows; a key does not occur in the table, or occurs twice; the columns belong to several groups or
///   to none.
/// - `NotFound`: a pattern matches no column, or a file is missing.
/// - `Denied`: a file is outside the root.
/// - `Unsupported`: a column has a type without a column type.
/// - `Conflict`: another writer changed the same group.
/// - `Corrupt`: the frame or the table is damaged.
/// - Errors of the store.
pub async fn patch(frame: &Frame, table: &Table, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let taken = Taken::of(frame, table, settings).await?;
    let place = |error: Error| error.at(frame.path().display());
    taken.check(table, on).map_err(place)?;
    table.patch(on, &taken.all(frame, table).await?, settings.options.write.clone()).await.map_err(place)
}

/// Creates a version of `table` in which a column group has new values in every row. The index columns `on` match the rows of the
/// frame; without any, the frame has the rows in table order. With a key, rows that the frame lacks get nulls. The frame has the
/// columns of the group and of the key, and no others except those that the settings leave out.
///
/// # Errors
/// - `NotFound`: there is no such group, a pattern matches no column, or a file is missing.
/// - `Invalid`: the frame has no rows; a key does not occur in the table, or occurs twice; rows or columns are missing, or there are
///   too many.
/// - `Denied`: a file is outside the root.
/// - `Unsupported`: a column has a type without a column type, or the table needs a later writer.
/// - `Conflict`: another writer changed the same group or the rows.
/// - `Corrupt`: the frame or the table is damaged.
/// - Errors of the store.
pub async fn replace_group(frame: &Frame, table: &Table, name: &str, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let writer = table.replace_group(name, settings.options.write.clone()).await?;
    let taken = Taken::of(frame, table, settings).await?;
    let place = |error: Error| error.at(frame.path().display());
    writer.check_names(on, taken.columns.iter().map(|(name, ..)| name.as_str())).map_err(place)?;
    taken.check(table, on).map_err(place)?;
    taken.write(frame, table, writer, on).await
}

/// Creates a version of `table` with one more column group: all columns of the frame except those of `on`. Rows are matched as by
/// [`replace_group`].
///
/// # Errors
/// - `Invalid`: a name exists already; the frame has no rows; a key does not occur in the table, or occurs twice; rows are missing,
///   or there are too many.
/// - `NotFound`: a pattern matches no column, or a file is missing.
/// - `Denied`: a file is outside the root.
/// - `Unsupported`: a column has a type without a column type, or the table needs a later writer.
/// - `Conflict`: another writer changed the rows.
/// - `Corrupt`: the frame or the table is damaged.
/// - Errors of the store.
pub async fn add_group(frame: &Frame, table: &Table, name: &str, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let taken = Taken::of(frame, table, settings).await?;
    let columns: Vec<_> = taken.columns.iter().filter(|(name, ..)| !on.contains(&name.as_str())).cloned().collect();
    let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let place = |error: Error| error.at(frame.path().display());
    table.check_new_group(name, &names, on).map_err(place)?;
    let writer = table.add_group_of(name, columns, settings.options.write.clone()).await?;
    taken.write(frame, table, writer, on).await
}

/// The columns to take from the frame.
struct Taken {
    plan: Arc<FramePlan>,
    columns: Vec<(String, ColumnType, BTreeMap<String, Value>)>,
}

impl Taken {
    /// Takes the columns that are not left out, and the columns of files.
    async fn of(frame: &Frame, table: &Table, settings: &FrameSettings) -> Result<Self> {
        let settings = &settings.offload_types(frame, Types::OfTable(table.schema().clone())).await?;
        let kept = settings.kept(&frame.columns_for(table.schema()))?;
        let typed = kept.iter().filter_map(|column| Some((column.name.clone(), column.ty.clone()?, column.properties.clone())));
        let mut columns: Vec<_> = typed.collect();
        let paths = |blob: &Blob| BTreeMap::from([("paths".to_owned(), Value::from(blob.paths.as_str()))]);
        let of_files = settings.blobs.iter().map(|blob| Ok((blob.column.clone(), blob.ty()?, paths(blob))));
        columns.extend(of_files.collect::<Result<Vec<_>>>()?);
        Ok(Self { plan: plan(frame, settings, kept)?, columns })
    }

    /// Checks that the values come from the same Arrow types as those of the table's columns. Key columns are not written, so
    /// they are not checked.
    fn check(&self, table: &Table, on: &[&str]) -> Result<()> {
        for (name, ty, properties) in self.columns.iter().filter(|(name, ..)| !on.contains(&name.as_str())) {
            // A different column type is found when the rows are written.
            if let Some(column) = table.schema().column_named(name).filter(|column| column.ty == *ty) {
                check_same(column, ty, properties)?;
            }
        }
        Ok(())
    }

    /// Returns all rows as one batch.
    ///
    /// # Errors
    /// - `Invalid`: the frame has no rows, and the table has some.
    async fn all(&self, frame: &Frame, table: &Table) -> Result<RecordBatch> {
        if frame.rows() == 0 && table.rows() > 0 {
            return Err(Error::invalid("expected rows, found none").at(frame.path().display()));
        }
        let fields = self.columns.iter().map(|(name, ty, _)| Field::new(name, ty.arrow(), true));
        let none = RecordBatch::new_empty(Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())));
        let (plan, frame) = (Arc::clone(&self.plan), frame.clone());
        offload(move |stop| {
            let (mut batches, progress) = (Vec::new(), Progress::new("reading rows", frame.rows()));
            for batch in plan.rows(&frame, 0..frame.rows())? {
                stop.check()?;
                let batch = batch?;
                progress.add(batch.num_rows() as u64);
                batches.push(batch);
            }
            let Some(first) = batches.first() else { return Ok(none) };
            let failed = |error: ArrowError| Error::invalid(error.to_string()).at(frame.path().display());
            concat_batches(&first.schema(), &batches).map_err(failed)
        })
        .await
    }

    async fn write(&self, frame: &Frame, table: &Table, mut writer: GroupReplacer, on: &[&str]) -> Result<Table> {
        let place = |error: Error| error.at(frame.path().display());
        if on.is_empty() {
            let progress = Progress::new("writing rows", frame.rows());
            let mut batches = self.plan.rows(frame, 0..frame.rows())?;
            while let (Some(batch), rest) = next_of(batches).await? {
                let batch = batch?;
                writer.write(&batch).await.map_err(place)?;
                progress.add(batch.num_rows() as u64);
                batches = rest;
            }
        } else {
            writer.write_keyed(on, &self.all(frame, table).await?).await.map_err(place)?;
        }
        writer.commit().await.map_err(place)
    }
}
