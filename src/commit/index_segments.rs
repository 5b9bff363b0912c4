//! Index segments without column groups, for views, which have no chunks (`format-spec/views.md#index`).

use arrow_array::RecordBatch;

use super::statistics::Collector;
use crate::{
    error::{Error, Result, counted},
    format::{IndexWriter, MAX_SEGMENT_ROWS, Segment},
    id::ObjectRef,
    schema::Schema,
    store::Store,
};

/// Stores the rows of these batches as segments of one sequence, with tails if `tails`. The batches have the index columns of
/// `schema`.
///
/// # Errors
/// - `Invalid`: a text value is too long.
/// - Errors of `batches` and of the store.
pub async fn index_segments(
    store: &Store,
    schema: &Schema,
    tails: bool,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
) -> Result<Vec<Segment>> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut batches = batches.into_iter().peekable();
    let mut first_row = 0;
    while batches.peek().is_some() {
        let mut writer = IndexWriter::new(Vec::new(), schema, tails)?;
        let mut statistics: Vec<Collector> = schema.index().map(|column| Collector::new(column.id)).collect();
        let mut rows = 0_u64;
        while let Some(batch) = batches.next_if(|batch| match batch {
            Ok(batch) => rows == 0 || rows + batch.num_rows() as u64 <= MAX_SEGMENT_ROWS,
            Err(_) => true,
        }) {
            let batch = batch?;
            statistics.iter_mut().zip(batch.columns()).for_each(|(collector, column)| collector.push(column));
            rows += batch.num_rows() as u64;
            writer.write(&batch)?;
        }
        if rows == 0 {
            break;
        }
        let run = u32::try_from(rows).map_err(|_| Error::internal(format!("{} in one batch", counted(rows, "row"))))?;
        let (bytes, tail) = writer.finish_with_tail(&[run])?;
        let index = ObjectRef::of(&bytes);
        store.put_content(&index.name_in("index"), bytes.into()).await?;
        let statistics = statistics.into_iter().map(Collector::finish).collect();
        let continues = first_row > 0;
        segments.push(Segment { first_row, rows, sequences: 1, continues, index, tail, statistics, groups: Vec::new() });
        first_row += rows;
    }
    Ok(segments)
}
