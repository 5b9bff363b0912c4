//! Reads index columns of some rows of a version: only the pages that have them, where a segment has a tail. A segment without a tail is
//! read as a whole, and so is one whose tail or pages fail their checks.

use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::{concat::concat_batches, take::take_record_batch};
use bytes::Bytes;
use futures::future::try_join_all;

use super::{
    seen::seen_columns,
    table::Table,
    tails::{TAILS_AT_ONCE, is_most_of},
};
use crate::{
    error::{Error, Result},
    format::{IndexTail, Segment, index_arrow_schema, index_columns_reader},
    ranges::{check_ranges, joined},
    schema::Schema,
    work::{Stop, offload_large, waves},
};

/// Bytes of an index object that is read as a whole, without its tail.
const SMALL: u64 = 256 << 10;
/// Most bytes of index objects that are read together, unless a single one has more.
pub(in crate::table) const BYTES_TOGETHER: u64 = 64 << 20;

/// Batches with some index columns, and the number of each of their rows.
pub(in crate::table) type NumberedBatches = Box<dyn Iterator<Item = Result<(Vec<u64>, RecordBatch)>> + Send>;

type Each<T> = Box<dyn Iterator<Item = T> + Send>;

/// Rows of a segment, and some of their index columns.
pub(in crate::table) enum IndexRead {
    /// All rows, in the object.
    Whole(Bytes),
    /// The rows in these ranges.
    Part(Vec<Range<u64>>, Vec<RecordBatch>),
}

impl Table {
    /// Returns the index columns of all rows in table order, as Arrow batches, without polars.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says. Batches of the iterator may be `Corrupt`
    ///   too.
    /// - Any error of the store.
    pub async fn index_batches(&self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let (objects, seen, table) = (self.index_objects().await?, seen_columns(self.manifest()), self.clone());
        // A segment is opened when its turn comes: of an object that many segments name, there is one reader at a time.
        let batches = objects.into_iter().enumerate().flat_map(move |(number, bytes)| {
            let manifest = table.manifest();
            let rows = manifest.segments.get(number).map_or(0, |segment| segment.rows);
            match index_columns_reader(bytes, &manifest.schema, rows, &seen) {
                Ok(batches) => Box::new(batches) as Box<dyn Iterator<Item = Result<RecordBatch>> + Send>,
                Err(error) => Box::new(std::iter::once(Err(error))),
            }
        });
        Ok(batches)
    }

    /// Returns the index columns of rows, given as ranges in ascending order, as Arrow batches: their schema, and the batches. Reads only the
    /// pages of the index that have these rows where a segment has an index tail
    /// ([`WriteOptions::index_tails`](crate::WriteOptions::index_tails)), and the whole index of a segment if it is small or has no tail.
    /// A view has its own index columns.
    ///
    /// # Errors
    /// - `Invalid`: a range ends outside the table, or before the range in front of it.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - Errors of the store.
    pub async fn index_rows(&self, rows: &[Range<u64>]) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        check_ranges(rows, self.rows())?;
        let places = seen_columns(self.manifest());
        Ok((self.index_schema_of(&places)?, self.index_batches_of(&places, rows).await?))
    }

    /// Returns the index columns of some rows: a row of the batch for each of `rows`, in this order. Reads as [`Table::index_rows`] does.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let schema = Schema::builder().index("time", "i64").build()?;
    /// # let batch = RecordBatch::try_from_iter([("time", Arc::new(Int64Array::from(vec![70, 80, 90])) as _)])?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?; partition.write(&batch).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let rows = table.take_index(&[2, 0]).await?; // of a table with the times 70, 80, 90
    /// assert_eq!(rows.column_by_name("time").unwrap().as_ref(), &Int64Array::from(vec![90, 70]));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a row is outside the table.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - Errors of the store.
    pub async fn take_index(&self, rows: &[u64]) -> Result<RecordBatch> {
        self.take_index_of(&seen_columns(self.manifest()), rows).await
    }

    /// Returns the index columns at these ascending places, as [`Table::take_index`] does.
    pub(in crate::table) async fn take_index_of(&self, places: &[usize], rows: &[u64]) -> Result<RecordBatch> {
        if let Some(row) = rows.iter().find(|row| **row >= self.rows()) {
            return Err(Error::invalid(format!("row {row} is outside 0..{}", self.rows())));
        }
        let mut wanted = rows.to_vec();
        wanted.sort_unstable();
        wanted.dedup();
        let batches = self.index_batches_of(places, &ranges_of(&wanted)).await?;
        let (schema, rows) = (self.index_schema_of(places)?, rows.to_vec());
        let work = batches.iter().map(RecordBatch::get_array_memory_size).sum();
        offload_large(work, move |_| {
            let internal = |error: arrow_schema::ArrowError| Error::internal(format!("index rows: {error}"));
            let all = concat_batches(&schema, &batches).map_err(internal)?;
            if rows == wanted {
                return Ok(all);
            }
            let places: UInt64Array = rows.iter().map(|row| wanted.binary_search(row).ok().map(|place| place as u64)).collect();
            take_record_batch(&all, &places).map_err(internal)
        })
        .await
    }

    /// Returns the index columns at these ascending places of rows in ascending ranges.
    pub(in crate::table) async fn index_batches_of(&self, places: &[usize], rows: &[Range<u64>]) -> Result<Vec<RecordBatch>> {
        let parts = self.rows_by_segment(rows);
        let bytes = |number: usize| self.manifest().segments.get(number).map_or(0, |segment| segment.index.bytes);
        let mut batches = Vec::new();
        // Together, they may be read as a whole.
        for wave in waves(parts.iter().map(|(number, _)| bytes(*number)), BYTES_TOGETHER, TAILS_AT_ONCE) {
            let here = parts[wave].iter().map(|(number, rows)| self.segment_rows(*number, rows.clone(), places));
            batches.extend(try_join_all(here).await?.into_iter().flatten());
        }
        Ok(batches)
    }

    /// Returns the segments that have rows of these ascending ranges, each with its rows, numbered within it.
    pub(crate) fn rows_by_segment(&self, rows: &[Range<u64>]) -> Vec<(usize, Vec<Range<u64>>)> {
        let within = |(number, segment): (usize, &Segment)| {
            let (first, end) = (segment.first_row, segment.first_row + segment.rows);
            let from = rows.partition_point(|range| range.end <= first);
            let to = rows.partition_point(|range| range.start < end);
            let here = rows.get(from..to).unwrap_or_default().iter();
            let here = here.map(|range| range.start.max(first) - first..range.end.min(end) - first);
            let here: Vec<Range<u64>> = here.filter(|range| !range.is_empty()).collect();
            (!here.is_empty()).then_some((number, here))
        };
        self.manifest().segments.iter().enumerate().filter_map(within).collect()
    }

    /// Returns index columns of rows of a segment, given as ascending ranges.
    async fn segment_rows(&self, number: usize, wanted: Vec<Range<u64>>, places: &[usize]) -> Result<Vec<RecordBatch>> {
        let segment = self.segment(number)?;
        let tail = self.useful_tail(number, segment).await?;
        let bytes = match self.read_rows(number, segment, tail, places, wanted.clone()).await? {
            IndexRead::Part(_, batches) => return Ok(batches),
            IndexRead::Whole(bytes) => bytes,
        };
        let (schema, rows, places) = (self.manifest().schema.clone(), segment.rows, places.to_vec());
        offload_large(bytes.len(), move |stop| {
            let (mut found, mut first) = (Vec::new(), 0);
            for batch in index_columns_reader(bytes, &schema, rows, &places)? {
                stop.check()?;
                let batch = batch?;
                let end = first + batch.num_rows() as u64;
                let from = wanted.partition_point(|range| range.end <= first);
                for range in wanted.iter().skip(from).take_while(|range| range.start < end) {
                    let (start, stop) = (range.start.max(first), range.end.min(end));
                    found.push(batch.slice((start - first) as usize, (stop - start) as usize));
                }
                first = end;
            }
            Ok(found)
        })
        .await
    }

    /// Returns some index columns of one row of a segment, as a batch with one row.
    ///
    /// # Errors
    /// - `Corrupt`: the index is damaged.
    /// - Errors of the store.
    pub(in crate::table) async fn index_row(&self, number: usize, row: u64, places: &[usize]) -> Result<RecordBatch> {
        let found = self.segment_rows(number, std::iter::once(row..row + 1).collect(), places).await?;
        found.into_iter().next().ok_or_else(|| Error::internal(format!("no row {row} in segment {number}")))
    }

    /// Returns the tail of a segment, unless the whole segment is as soon read.
    pub(in crate::table) async fn useful_tail(&self, number: usize, segment: &Segment) -> Result<Option<Arc<IndexTail>>> {
        match segment.index.bytes <= SMALL {
            true => Ok(None),
            false => self.index_tail(number).await,
        }
    }

    /// Reads index columns of some rows of a segment, given as ascending ranges.
    pub(in crate::table) async fn read_rows(
        &self,
        number: usize,
        segment: &Segment,
        tail: Option<Arc<IndexTail>>,
        places: &[usize],
        rows: Vec<Range<u64>>,
    ) -> Result<IndexRead> {
        if let Some(tail) = tail {
            let rows = joined(rows);
            let part = Arc::new(tail.part(places, &rows));
            if !is_most_of(&part, segment) {
                if let Some(fetched) = self.index_part(segment, &tail, &part).await? {
                    let schema = self.manifest().schema.clone();
                    let size = fetched.iter().map(Bytes::len).sum();
                    if let Ok(batches) = offload_large(size, move |_: &Stop| tail.read(&part, &fetched, &schema)).await {
                        return Ok(IndexRead::Part(rows, batches));
                    }
                }
                self.forget_tail(number);
            }
        }
        Ok(IndexRead::Whole(self.object("index", &segment.index).await?))
    }

    /// Whether a loader reads the values of these ascending rows alone. A small index, and one whose large segments have no tails, is loaded
    /// whole, and so is one for which reads of single rows have cost as much: a segment counts as [`SMALL`] bytes each time.
    pub(in crate::table) fn reads_index_by_rows(&self, rows: &[u64]) -> bool {
        let segments = &self.manifest().segments;
        let index: u64 = segments.iter().map(|segment| segment.index.bytes).sum();
        let has_tails = || segments.iter().all(|segment| segment.tail.is_some() || segment.index.bytes <= SMALL);
        if index <= SMALL || self.inner.spent_on_rows.load(Ordering::Relaxed) >= index || !has_tails() {
            return false;
        }
        let cost = SMALL * self.rows_by_segment(&ranges_of(rows)).len() as u64;
        self.inner.spent_on_rows.fetch_add(cost, Ordering::Relaxed) + cost <= index
    }

    /// Returns a segment of the manifest.
    pub(in crate::table) fn segment(&self, number: usize) -> Result<&Segment> {
        self.manifest().segments.get(number).ok_or_else(|| Error::internal(format!("no segment {number}")))
    }

    /// Returns the Arrow schema of the index columns at these places.
    fn index_schema_of(&self, places: &[usize]) -> Result<SchemaRef> {
        let projected = index_arrow_schema(&self.manifest().schema).project(places);
        projected.map(Arc::new).map_err(|error| Error::internal(format!("index rows: {error}")))
    }
}

impl IndexRead {
    /// Returns the size of the work on the rows, in bytes.
    pub(in crate::table) fn work(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Part(_, batches) => batches.iter().map(RecordBatch::get_array_memory_size).sum(),
        }
    }

    /// Returns batches of the rows with their numbers in the segment, which has `rows` rows.
    pub(in crate::table) fn numbered(self, schema: &Schema, rows: u64, places: &[usize]) -> Result<NumberedBatches> {
        let (mut numbers, batches): (Each<u64>, Each<Result<RecordBatch>>) = match self {
            Self::Whole(bytes) => (Box::new(0..rows), Box::new(index_columns_reader(bytes, schema, rows, places)?)),
            Self::Part(ranges, batches) => (Box::new(ranges.into_iter().flatten()), Box::new(batches.into_iter().map(Ok))),
        };
        Ok(Box::new(batches.map(move |batch| batch.map(|batch| (numbers.by_ref().take(batch.num_rows()).collect(), batch)))))
    }
}

/// Returns ascending rows as ranges.
pub(crate) fn ranges_of(rows: &[u64]) -> Vec<Range<u64>> {
    joined(rows.iter().map(|row| *row..row + 1))
}
