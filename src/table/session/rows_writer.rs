//! Writes rows in table order, in as many partitions as they need. Each partition ends where a sequence ends, unless a sequence is too
//! long for that. The partitions depend on the rows alone, not on the batches in which the rows come.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};

use super::writer::TableWriter;
use crate::{
    error::{Error, Result},
    format::{MAX_SEGMENT_ROWS, SequenceKey},
    schema::{Column, Schema},
    work::offload,
    write::{PartitionWriter, Receipt, index_column},
};

/// Maximum rows in which the calling thread looks for the starts of sequences: about a millisecond of work.
const HERE: usize = 4 << 10;

/// Writes rows in table order, in as many partitions of a session as they need. [`TableWriter::rows`] makes it.
///
/// A partition ends at the first end of a sequence after half of its maximum rows, and at its maximum at the latest. So a sequence of at most
/// half of them, 2,097,152 rows, lies in one partition. A longer one may span partitions; its windows are the same.
#[derive(Debug)]
pub struct RowsWriter {
    /// Maximum rows of a partition.
    most: u64,
    /// `None` while the partition ends, and forever after if that fails or is dropped.
    partition: Option<PartitionWriter>,
    /// Rows in the partition.
    rows: u64,
    /// Key of the sequence of the last row. `None` without rows, and without columns that define sequences.
    last: Option<SequenceKey>,
    receipts: Vec<Receipt>,
    /// Whether a write is running, has failed, or was dropped.
    is_broken: bool,
}

impl TableWriter {
    /// Starts rows that become the next partitions of the session, as many as they need. [`TableWriter::partition`] makes a single
    /// partition, of at most 4,194,304 rows.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Store, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    /// # let column = || Arc::new(Int64Array::from(vec![1, 2])) as _;
    /// # let batches = [RecordBatch::try_from_iter([("id", column()), ("x", column())])?];
    /// let writer = Table::create_in(Store::open("memory://")?, schema, WriteOptions::default()).await?;
    /// let mut rows = writer.rows()?;
    /// for batch in &batches {
    ///     rows.write(&writer, batch).await?;
    /// }
    /// let table = writer.commit(rows.finish().await?).await?;
    /// assert_eq!(table.rows(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`TableWriter::partition`].
    pub fn rows(&self) -> Result<RowsWriter> {
        self.rows_up_to(MAX_SEGMENT_ROWS)
    }

    /// As [`TableWriter::rows`], with at most so many rows in a partition: 1 to 4,194,304.
    ///
    /// # Errors
    /// - `Invalid`: the number is out of range.
    /// - Those of [`TableWriter::partition`].
    pub fn rows_up_to(&self, most: u64) -> Result<RowsWriter> {
        if !(1..=MAX_SEGMENT_ROWS).contains(&most) {
            return Err(Error::invalid(format!("rows of a partition: expected 1 to {MAX_SEGMENT_ROWS}, found {most}")));
        }
        Ok(RowsWriter { most, partition: Some(self.partition()?), rows: 0, last: None, receipts: Vec::new(), is_broken: false })
    }
}

impl RowsWriter {
    /// Appends rows, as [`PartitionWriter::write`] does. `writer` is the session that made this.
    ///
    /// # Errors
    /// The rows cannot be finished after an error, or after the future was dropped.
    /// - Those of [`PartitionWriter::write`], without the limit on the rows of a partition.
    /// - Those of [`TableWriter::partition`].
    pub async fn write(&mut self, writer: &TableWriter, batch: &RecordBatch) -> Result<()> {
        if std::mem::replace(&mut self.is_broken, true) {
            return Err(failed());
        }
        self.append(writer, batch).await?;
        self.is_broken = false;
        Ok(())
    }

    async fn append(&mut self, writer: &TableWriter, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        let starts = match self.rows.saturating_add(rows as u64) > self.half() {
            true => starts_of(writer.schema(), batch, self.last.clone()).await?,
            false => Vec::new(),
        };
        // A batch without rows may have a wrong column, too.
        if rows == 0 {
            return self.open()?.write(batch).await;
        }
        let mut from = 0;
        while from < rows {
            let fits = fitting(self.rows, self.most, from..rows, &starts);
            if fits == 0 {
                self.end().await?;
                self.partition = Some(writer.partition()?);
                continue;
            }
            self.open()?.write(&batch.slice(from, fits)).await?;
            self.rows += fits as u64;
            from += fits;
        }
        if let Some((keys, places)) = sequence_columns(writer.schema(), &batch.slice(rows - 1, 1)) {
            self.last = Some(SequenceKey::of(&keys, &places, 0)?);
        }
        Ok(())
    }

    /// Ends the last partition. Returns the receipts of all partitions, in order, for [`TableWriter::commit`]. Without rows, there is one
    /// partition without rows.
    ///
    /// # Errors
    /// Those of [`PartitionWriter::finish`].
    pub async fn finish(mut self) -> Result<Vec<Receipt>> {
        if self.is_broken {
            return Err(failed());
        }
        self.end().await?;
        Ok(self.receipts)
    }

    /// Ends the partition.
    async fn end(&mut self) -> Result<()> {
        let partition = self.partition.take().ok_or_else(failed)?;
        self.receipts.push(partition.finish().await?);
        self.rows = 0;
        Ok(())
    }

    fn open(&mut self) -> Result<&mut PartitionWriter> {
        self.partition.as_mut().ok_or_else(failed)
    }

    fn half(&self) -> u64 {
        self.most.div_ceil(2)
    }
}

fn failed() -> Error {
    Error::invalid("the rows of the session: an earlier write failed; write them again")
}

/// Returns how many of the rows `next` of a batch belong to the open partition, which has `held` rows: 0 if the next one begins. `starts` has
/// the rows of the batch that start sequences, ascending; at least those after half of `most` rows.
fn fitting(filled: u64, most: u64, next: Range<usize>, starts: &[usize]) -> usize {
    let room = |until: u64| usize::try_from(until.saturating_sub(filled)).unwrap_or(usize::MAX);
    let (half, all) = (next.start.saturating_add(room(most.div_ceil(2))), next.start.saturating_add(room(most)).min(next.end));
    let end = starts.get(starts.partition_point(|start| *start < half)..).and_then(|starts| starts.first());
    end.map_or(all, |end| all.min(*end)) - next.start
}

/// Returns the rows of the batch that start sequences. `last` is the key of the row before them.
async fn starts_of(schema: &Schema, batch: &RecordBatch, last: Option<SequenceKey>) -> Result<Vec<usize>> {
    let Some((keys, places)) = sequence_columns(schema, batch) else { return Ok(Vec::new()) };
    if keys.num_rows() <= HERE {
        return starts(&keys, &places, last);
    }
    offload(move |_| starts(&keys, &places, last)).await
}

/// Returns the rows whose key differs from that of the row before: for the first row, from `last`.
fn starts(keys: &RecordBatch, places: &[usize], mut last: Option<SequenceKey>) -> Result<Vec<usize>> {
    let mut starts = Vec::new();
    for row in 0..keys.num_rows() {
        let key = SequenceKey::of(keys, places, row)?;
        if last.as_ref() != Some(&key) {
            starts.push(row);
            last = Some(key);
        }
    }
    Ok(starts)
}

/// Returns the columns that define sequences, and their places. Returns `None` if there are none, or if the batch has other columns: its
/// write says what is wrong with them.
fn sequence_columns(schema: &Schema, batch: &RecordBatch) -> Option<(RecordBatch, Vec<usize>)> {
    let column = |column: &Column| -> Option<(String, ArrayRef)> {
        let array = index_column(batch.column_by_name(&column.name)?, &column.ty.arrow())?;
        Some((column.name.clone(), array))
    };
    let columns = schema.sequence_by().map(column).collect::<Option<Vec<_>>>()?;
    let places = (0..columns.len()).collect::<Vec<_>>();
    match columns.is_empty() {
        true => None,
        false => Some((RecordBatch::try_from_iter(columns).ok()?, places)),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]
mod tests {
    use super::*;

    /// Returns the first row of each sequence, and at the end the number of rows.
    fn firsts(sequences: &[usize]) -> Vec<usize> {
        let mut firsts: Vec<usize> = vec![0];
        for rows in sequences {
            firsts.push(firsts[firsts.len() - 1] + rows);
        }
        firsts
    }

    /// Cuts rows that come in these batches, as the writer does. Returns the rows of each partition.
    fn cut(sequences: &[usize], batches: &[usize], most: u64) -> Vec<usize> {
        let all = firsts(sequences);
        let (mut parts, mut first) = (vec![0_usize], 0_usize);
        for batch in batches {
            let starts: Vec<usize> =
                all.iter().filter(|start| (first..first + batch).contains(*start)).map(|start| start - first).collect();
            let mut from = 0;
            while from < *batch {
                match fitting(*parts.last().unwrap() as u64, most, from..*batch, &starts) {
                    0 => parts.push(0),
                    fits => {
                        *parts.last_mut().unwrap() += fits;
                        from += fits;
                    }
                }
            }
            first += batch;
        }
        parts
    }

    /// Cuts row by row: a plain model.
    fn model(sequences: &[usize], most: u64) -> Vec<usize> {
        let mut parts: Vec<usize> = vec![0];
        for rows in sequences {
            for row in 0..*rows {
                let filled = *parts.last().unwrap();
                if filled as u64 == most || (row == 0 && filled > 0 && filled as u64 * 2 >= most) {
                    parts.push(0);
                }
                *parts.last_mut().unwrap() += 1;
            }
        }
        parts
    }

    #[test]
    fn partitions_end_where_a_plain_model_ends_them_for_any_batches() {
        let mut rng = fastrand::Rng::with_seed(11);
        for _ in 0..2_000 {
            let most = rng.u64(1..40);
            let sequences: Vec<usize> = (0..rng.usize(1..20)).map(|_| rng.usize(1..60)).collect();
            let all: usize = sequences.iter().sum();
            let (mut batches, mut left) = (Vec::new(), all);
            while left > 0 {
                batches.push(rng.usize(1..=left));
                left -= batches[batches.len() - 1];
            }
            let expected = model(&sequences, most);
            assert_eq!(cut(&sequences, &batches, most), expected, "{sequences:?} in {batches:?}, at most {most}");
            assert!(expected.iter().all(|rows| *rows as u64 <= most));
        }
    }

    #[test]
    fn a_sequence_of_at_most_half_of_a_partition_is_never_cut() {
        let mut rng = fastrand::Rng::with_seed(12);
        for _ in 0..2_000 {
            let most = rng.u64(2..40);
            let sequences: Vec<usize> = (0..20).map(|_| rng.usize(1..=usize::try_from(most / 2).unwrap())).collect();
            let starts = firsts(&sequences);
            let mut end = 0;
            for rows in model(&sequences, most) {
                end += rows;
                assert!(starts.contains(&end), "{sequences:?}, at most {most}");
            }
        }
    }
}
