//! A frame as a change of a table that is there: other values of some rows, of a column group, or a group more.
//!
//! Rows find their places by key, index columns of the table that the frame has too; or, where no key is given, the frame has the
//! rows of the table in its order, which then stream through bounded memory. By key the frame is held in memory whole.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema as ArrowSchema};
use arrow_select::concat::concat_batches;
use serde_json::Value;

use super::{
    settings::{Blob, FrameSettings},
    source::Frame,
    table::{Plan, plan},
};
use crate::{
    error::{Error, Result},
    ingest::foreign::check_same,
    offload::{next_of, offload},
    schema::ColumnType,
    table::{GroupReplacer, Table},
};

/// A version of `table` in which the rows of the frame, found by the index columns `on`, have other values in the other columns
/// of the frame, which are of one column group. Of the settings, what is left out, the files and how to write count.
///
/// ```no_run
/// # async fn example() -> tetrys::Result<()> {
/// use tetrys::{Table, ingest::frame::{Frame, FrameSettings, patch}};
/// // log_id, timestamp, labels.boxes: the rows that were labelled again.
/// let frame = Frame::parquet("relabelled.parquet")?;
/// let table = patch(&frame, &Table::open("drives").await?, &["log_id", "timestamp"], &FrameSettings::default()).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`Table::patch`] and [`super::ingest`].
pub async fn patch(frame: &Frame, table: &Table, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let taken = Taken::of(frame, settings)?;
    let place = |error: Error| error.at(frame.path().display());
    taken.check(table, on).map_err(place)?;
    table.patch(on, &taken.all(frame).await?, settings.write.clone()).await.map_err(place)
}

/// A version of `table` in which a column group has the values of the frame, in every row: found by the index columns `on`, or
/// where there are none in the order of the table. A row that is not in the frame gets nulls. The frame has the columns of the
/// group and of the key, and no others that are not left out.
///
/// # Errors
/// As [`Table::replace_group`], [`GroupReplacer::write`], [`GroupReplacer::write_keyed`] and [`super::ingest`].
pub async fn replace_group(frame: &Frame, table: &Table, name: &str, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let writer = table.replace_group(name, settings.write.clone()).await?;
    let taken = Taken::of(frame, settings)?;
    let place = |error: Error| error.at(frame.path().display());
    writer.check_names(on, taken.columns.iter().map(|(name, ..)| name.as_str())).map_err(place)?;
    taken.check(table, on).map_err(place)?;
    taken.write(frame, writer, on).await
}

/// A version of `table` with one more column group: the columns of the frame but those of `on`, which find its rows as for
/// [`replace_group`].
///
/// # Errors
/// As [`Table::add_group`] and [`replace_group`]; `Unsupported` for a column whose type has no column type.
pub async fn add_group(frame: &Frame, table: &Table, name: &str, on: &[&str], settings: &FrameSettings) -> Result<Table> {
    let taken = Taken::of(frame, settings)?;
    let columns: Vec<_> = taken.columns.iter().filter(|(name, ..)| !on.contains(&name.as_str())).cloned().collect();
    let names: Vec<&str> = columns.iter().map(|(name, ..)| name.as_str()).collect();
    let place = |error: Error| error.at(frame.path().display());
    table.check_new_group(name, &names, on).map_err(place)?;
    let writer = table.add_group_of(name, columns, settings.write.clone()).await?;
    taken.write(frame, writer, on).await
}

/// The columns that are taken from the frame.
struct Taken {
    plan: Arc<Plan>,
    columns: Vec<(String, ColumnType, BTreeMap<String, Value>)>,
}

impl Taken {
    /// The columns that are not left out, and those of files.
    fn of(frame: &Frame, settings: &FrameSettings) -> Result<Self> {
        let kept = settings.kept(frame.columns())?;
        let typed = kept.iter().filter_map(|column| Some((column.name.clone(), column.ty.clone()?, column.properties.clone())));
        let mut columns: Vec<_> = typed.collect();
        let paths = |blob: &Blob| BTreeMap::from([("paths".to_owned(), Value::from(blob.paths.as_str()))]);
        columns.extend(settings.blobs.iter().map(|blob| (blob.column.clone(), ColumnType::Binary, paths(blob))));
        Ok(Self { plan: plan(frame, settings, kept)?, columns })
    }

    /// Whether the values may join those of the table's columns; of the key columns `on` nothing is written.
    fn check(&self, table: &Table, on: &[&str]) -> Result<()> {
        for (name, ty, properties) in self.columns.iter().filter(|(name, ..)| !on.contains(&name.as_str())) {
            // Another type is found where the rows are written.
            if let Some(column) = table.schema().column_named(name).filter(|column| column.ty == *ty) {
                check_same(column, ty, properties)?;
            }
        }
        Ok(())
    }

    /// All rows at once.
    async fn all(&self, frame: &Frame) -> Result<RecordBatch> {
        let (plan, frame) = (Arc::clone(&self.plan), frame.clone());
        offload(move |stop| {
            let mut batches = Vec::new();
            for batch in plan.rows(&frame, 0..frame.rows())? {
                stop.check()?;
                batches.push(batch?);
            }
            let none = || RecordBatch::new_empty(Arc::new(ArrowSchema::empty()));
            let Some(first) = batches.first() else { return Ok(none()) };
            let failed = |error: ArrowError| Error::invalid(error.to_string()).at(frame.path().display());
            concat_batches(&first.schema(), &batches).map_err(failed)
        })
        .await
    }

    async fn write(&self, frame: &Frame, mut writer: GroupReplacer, on: &[&str]) -> Result<Table> {
        let place = |error: Error| error.at(frame.path().display());
        if on.is_empty() {
            let mut batches = self.plan.rows(frame, 0..frame.rows())?;
            while let (Some(batch), rest) = next_of(batches).await? {
                writer.write(&batch?).await.map_err(place)?;
                batches = rest;
            }
        } else {
            writer.write_keyed(on, &self.all(frame).await?).await.map_err(place)?;
        }
        writer.commit().await.map_err(place)
    }
}
