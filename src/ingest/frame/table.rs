//! Imports a frame. Reads the columns of sequences and their order first, so that wrongly ordered rows fail before any payload is
//! read. Then writes the partitions in parallel.

use std::{ops::Range, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use serde_json::json;

use super::{
    blobs::Files,
    columns::FrameColumn,
    settings::{FrameSettings, Types},
    source::{Batches, Frame},
};
use crate::{
    error::{Error, Result, counted},
    format::{MAX_SEGMENT_ROWS, SequenceTracker},
    ingest::{
        partitions::write_partitions,
        target::{Target, writer},
    },
    schema::{ColumnType, Schema},
    store::Store,
    table::{Table, TableWriter},
    work::{Stop, next_of, offload},
    write::Receipt,
};

/// Imports a frame as a table in `store`. `progress` receives the number of rows written so far. Memory holds a few batches per
/// worker, and what the [`WriteOptions`](crate::WriteOptions) allow.
///
/// # Errors
/// After an error there is no new table or version.
/// - `Exists`: there is a table already.
/// - `NotFound`: a pattern matches no column, or a file is missing. The message names row and path.
/// - `Denied`: a file is outside the root.
/// - `Invalid`: the settings break a rule of schemas; the rows of a sequence are not consecutive, or their order falls; arrays of
///   files differ in type. The message names the row and the file.
/// - `Unsupported`: a column has a type without a column type.
/// - `Corrupt`: the frame is damaged.
/// - Errors of the store.
pub async fn ingest(
    frame: &Frame,
    store: Store,
    settings: &FrameSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Table> {
    let place = |error: Error| error.at(frame.path().display());
    let base = settings.options.base(&store).await?;
    let types = base.as_ref().map_or(Types::OfFiles, |table| settings.types_for(table));
    let settings = &settings.offload_types(frame, types).await?;
    let (schema, columns) = match &base {
        None => settings.choose(frame.columns()).map_err(place)?,
        Some(table) => settings.choose_for(frame, table).map_err(place)?,
    };
    let writer = writer(store, base, schema.clone(), &settings.options).await?;
    writer.set_lineage(
        "source",
        json!({"kind": frame.kind(), "file": frame.path().file_name().map(|name| name.to_string_lossy().into_owned())}),
    );
    let target = match settings.options.partition_rows {
        0 if settings.blobs.is_empty() => ROWS,
        0 => ROWS_WITH_FILES,
        rows => rows.min(MAX_SEGMENT_ROWS),
    };
    let cut = frame.clone();
    let partitions = offload(move |stop| partitions(&cut, &schema, target, stop)).await?;
    let plan = plan(frame, settings, columns)?;
    let (frame, missing) = (frame.clone(), settings.missing_files.clone());
    let absent = move |writer: &TableWriter| {
        let absent: serde_json::Map<_, _> = missing.counts().into_iter().map(|(blob, count)| (blob, count.into())).collect();
        if !absent.is_empty() {
            writer.set_lineage("missing_files", absent);
        }
    };
    write_partitions(writer, partitions, settings.options.workers, move |rows| plan.rows(&frame, rows), progress, absent).await
}

/// Plans which columns a reader takes from the frame, and which files it reads for columns of paths.
pub(super) fn plan(frame: &Frame, settings: &FrameSettings, columns: Vec<FrameColumn>) -> Result<Arc<FramePlan>> {
    let files = Files::new(settings.root_of(frame), settings)?;
    let of_blob = |paths: &str| frame.columns().iter().find(|column| column.name == paths).cloned();
    let paths = settings.blobs.iter().map(|blob| of_blob(&blob.paths).ok_or_else(|| Error::internal("a blob without paths")));
    Ok(Arc::new(FramePlan { columns, paths: paths.collect::<Result<_>>()?, files }))
}

/// Writes all rows of a frame as one partition of a session that this process has joined. Returns the receipt for the commit.
///
/// # Errors
/// - `Invalid`: the frame with these settings has another schema than the session; the settings break a rule of schemas; the rows
///   of a sequence are not consecutive, or their order falls.
/// - `NotFound`: a pattern matches no column, or a file is missing.
/// - `Denied`: a file is outside the root.
/// - `Unsupported`: a column has a type without a column type.
/// - `Corrupt`: the frame is damaged.
/// - Errors of the store.
pub async fn write_partition(frame: &Frame, writer: &TableWriter, number: u32, settings: &FrameSettings) -> Result<Receipt> {
    let place = |error: Error| error.at(frame.path().display());
    let settings = &settings.offload_types(frame, Types::OfTable(writer.schema().clone())).await?;
    let mut columns = frame.columns_for(writer.schema());
    // The first file of a session decides whether structs of nulls are told from null structs.
    columns.retain(|column| !column.is_nulls || writer.schema().column_named(&column.name).is_some());
    let (schema, columns) = settings.choose_as(Target::of(writer), &columns, writer.schema()).map_err(place)?;
    if schema != *writer.schema() {
        return Err(place(Error::invalid(format!(
            "expected the columns of the other rows, with the same types, groups and order: {}",
            difference(&schema, writer.schema())
        ))));
    }
    let plan = plan(frame, settings, columns)?;
    let mut partition = writer.partition_at(number)?;
    let mut batches = plan.rows(frame, 0..frame.rows())?;
    while let (Some(batch), rest) = next_of(batches).await? {
        partition.write(&batch?).await.map_err(place)?;
        batches = rest;
    }
    partition.finish().await.map_err(place)
}

/// Says how a schema differs from the expected one.
fn difference(found: &Schema, expected: &Schema) -> String {
    let lacking = |from: &Schema, other: &Schema| {
        let lacking = from.columns().iter().find(|column| other.column_named(&column.name).is_none());
        lacking.map(|column| (column.name.clone(), column.ty.clone()))
    };
    if let Some((name, ty)) = lacking(expected, found) {
        return format!("column `{name}` ({ty}) is missing");
    }
    if let Some((name, ty)) = lacking(found, expected) {
        return format!("column `{name}` ({ty}) is not among them");
    }
    let types = found.columns().iter().filter_map(|column| Some((column, expected.column_named(&column.name)?)));
    match types.into_iter().find(|(column, other)| column.ty != other.ty) {
        Some((column, other)) => format!("column `{}`: expected {}, found {}", column.name, other.ty, column.ty),
        None => "the index, the groups, the order or the properties of the columns differ".to_owned(),
    }
}

/// Default rows of a partition.
const ROWS: u64 = 8192;
/// Default rows of a partition if files are read, because files are usually large.
const ROWS_WITH_FILES: u64 = 1024;

/// Most partitions of one frame. A damaged file may say that it has any number of rows.
const PARTITIONS: u64 = 1_000_000;

/// Cuts the rows into partitions: at the first sequence start after `target` rows, or at the maximum size of a partition.
fn partitions(frame: &Frame, schema: &Schema, target: u64, stop: &Stop) -> Result<Vec<Range<u64>>> {
    if frame.rows() / target.clamp(1, MAX_SEGMENT_ROWS) >= PARTITIONS {
        let message = format!("{} in partitions of {target}: more than {PARTITIONS} partitions", counted(frame.rows(), "row"));
        return Err(
            Error::invalid(format!("{message}; expected fewer rows, or more rows in a partition")).at(frame.path().display())
        );
    }
    let mut cuts = vec![0];
    let mut cut = |row: u64| {
        if row - cuts.last().copied().unwrap_or(0) >= target {
            cuts.push(row);
        }
    };
    if schema.sequence_by().len() + schema.order_by().len() == 0 {
        (0..frame.rows()).step_by(usize::try_from(target).unwrap_or(usize::MAX)).for_each(&mut cut);
    } else {
        let (tracked, columns) = tracked(frame, schema)?;
        let mut tracker = SequenceTracker::new(&tracked);
        let mut row = 0;
        for batch in frame.batches(0..frame.rows(), &roots(&columns))? {
            stop.check()?;
            let batch = of_columns(&columns, &batch?)?;
            let starts = tracker.push(&batch).map_err(|error| error.at(frame.path().display()))?;
            starts.into_iter().for_each(|start| cut(row + start as u64));
            row += batch.num_rows() as u64;
        }
    }
    cuts.push(frame.rows());
    Ok(at_most(MAX_SEGMENT_ROWS, &cuts))
}

/// Returns the ranges between cuts, in parts of at most `most` rows: a sequence may be longer than the maximum size of a partition.
fn at_most(most: u64, cuts: &[u64]) -> Vec<Range<u64>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    for pair in cuts.windows(2).filter(|pair| pair[0] < pair[1]) {
        let starts = (pair[0]..pair[1]).step_by(usize::try_from(most).unwrap_or(usize::MAX));
        parts.extend(starts.map(|start| start..(start + most).min(pair[1])));
    }
    parts
}

/// Returns the columns that define sequences and their order, with a schema of their own.
fn tracked(frame: &Frame, schema: &Schema) -> Result<(Schema, Vec<FrameColumn>)> {
    let needed = |name: &str| schema.sequence_by().chain(schema.order_by()).any(|column| column.name == name);
    let columns: Vec<FrameColumn> = frame.columns().iter().filter(|column| needed(&column.name)).cloned().collect();
    let mut builder = Schema::builder();
    for column in &columns {
        builder = builder.index(&column.name, column.ty.as_ref().unwrap_or(&ColumnType::Utf8));
    }
    let names =
        |columns: &mut dyn Iterator<Item = &crate::schema::Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
    let builder = builder.sequence_by(names(&mut schema.sequence_by())).order_by(names(&mut schema.order_by()));
    Ok((builder.build()?, columns))
}

fn roots(columns: &[FrameColumn]) -> Vec<&str> {
    columns.iter().map(|column| column.root.as_str()).collect()
}

fn of_columns(columns: &[FrameColumn], batch: &RecordBatch) -> Result<RecordBatch> {
    let arrays = columns.iter().map(|column| column.array(batch)).collect::<Result<Vec<ArrayRef>>>()?;
    let fields = columns.iter().zip(&arrays).map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true));
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|error| Error::internal(error.to_string()))
}

/// Columns and files to read for each row.
pub(super) struct FramePlan {
    columns: Vec<FrameColumn>,
    /// Column of paths for each blob.
    paths: Vec<FrameColumn>,
    files: Files,
}

impl FramePlan {
    pub(super) fn rows(self: &Arc<Self>, frame: &Frame, range: Range<u64>) -> Result<FrameBatches> {
        let roots: Vec<&str> = self.columns.iter().chain(&self.paths).map(|column| column.root.as_str()).collect();
        Ok(FrameBatches {
            plan: Arc::clone(self),
            batches: frame.batches(range.clone(), &roots)?,
            first: range.start,
            pending: None,
        })
    }
}

/// Batches with the columns of the table's schema.
pub(super) struct FrameBatches {
    plan: Arc<FramePlan>,
    batches: Batches,
    /// Row number in the frame of the first row in `pending`, or of the next batch.
    first: u64,
    /// A batch, the paths for its rows, and how many of its rows are done.
    pending: Option<(RecordBatch, Vec<ArrayRef>, usize)>,
}

impl Iterator for FrameBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.pending.is_none() {
            match self.batches.next()?.and_then(|batch| self.taken(&batch)) {
                Ok(pending) => self.pending = Some(pending),
                Err(error) => return Some(Err(error)),
            }
        }
        let (batch, paths, done) = self.pending.take()?;
        let rows = match paths.is_empty() {
            true => Ok(batch.clone()),
            false => self.plan.files.beside(&batch, &paths, done, self.first),
        };
        if let Ok(rows) = &rows {
            match done + rows.num_rows() {
                done if done < batch.num_rows() => self.pending = Some((batch, paths, done)),
                _ => self.first += batch.num_rows() as u64,
            }
        }
        Some(rows)
    }
}

impl FrameBatches {
    fn taken(&self, batch: &RecordBatch) -> Result<(RecordBatch, Vec<ArrayRef>, usize)> {
        let paths = self.plan.paths.iter().map(|column| column.array(batch)).collect::<Result<_>>()?;
        Ok((of_columns(&self.plan.columns, batch)?, paths, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_that_is_longer_than_a_partition_lies_in_several() {
        let parts = |most, cuts: &[u64]| at_most(most, cuts).into_iter().map(|part| (part.start, part.end)).collect::<Vec<_>>();
        assert_eq!(parts(10, &[0, 4, 35, 45, 45]), [(0, 4), (4, 14), (14, 24), (24, 34), (34, 35), (35, 45)]);
        assert_eq!(parts(1, &[0, 2]), [(0, 1), (1, 2)]);
        assert_eq!(
            parts(MAX_SEGMENT_ROWS, &[0, MAX_SEGMENT_ROWS + 1]),
            [(0, MAX_SEGMENT_ROWS), (MAX_SEGMENT_ROWS, MAX_SEGMENT_ROWS + 1)]
        );
        assert!(parts(7, &[0, 0]).is_empty() && parts(7, &[0]).is_empty());
    }
}
