//! The rows of a data set as Arrow batches, one row per frame. Partitions consist of whole scenes and depend on the data only, so
//! that any number of threads write the same table. Each thread streams its rows with its own cursors. Its memory holds one
//! decoded chunk per array and one batch.

use std::{ops::Range, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeListArray, Int32Array, Int64Array, LargeListArray, LargeStringArray, RecordBatch,
    StructArray, UInt32Array, UInt64Array, make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef};

use super::{
    array::Cursor,
    columns::{AGENT_INTERVAL, AGENTS, FieldColumn, TIMESTAMP, TL_FACES, TL_INTERVAL},
    dataset::{Dataset, tl_interval},
    dtype::{Dtype, Element, Field, decode_text},
    intervals::{Intervals, i64_at},
};
use tetrys::{
    error::{Error, Result},
    schema::{ColumnType, Primitive},
};

/// Maximum frames of a batch.
const MAX_FRAMES: u64 = 256;
/// Maximum record bytes of a batch, unless a single frame has more.
const MAX_BYTES: u64 = 16 << 20;

impl Dataset {
    /// Divides the rows into partitions that can be read and written independently. A partition is a run of scenes with at least
    /// `target_rows` frames, except for the last one. Partitions are consecutive and cover every frame.
    pub fn partitions(&self, target_rows: u64) -> Vec<Range<u64>> {
        let mut parts = Vec::new();
        let mut start = 0;
        for scene in self.scenes.iter() {
            let end = scene.frames.end;
            if end > start && end - start >= target_rows {
                parts.push(start..end);
                start = end;
            }
        }
        if start < self.frames_len() {
            parts.push(start..self.frames_len());
        }
        parts
    }

    /// Streams the frames in `range` in batches of at most 256 frames or about 16 MiB. A batch has all columns of the schema in
    /// schema order, index columns first, with the types of [`ColumnType::arrow`](tetrys::ColumnType::arrow).
    ///
    /// # Errors
    /// - `Invalid`: the range is outside of the data set.
    ///
    /// Each batch may return `Corrupt`: a chunk cannot be decoded, or text is invalid. The message names array and record.
    pub fn rows(&self, range: Range<u64>) -> Result<FrameBatches> {
        let len = self.frames_len();
        if range.start > range.end || range.end > len {
            return Err(Error::invalid(format!("rows {range:?}: expected inside 0..{len}")));
        }
        let fields: Vec<ArrowField> = self.schema().columns().iter().map(|column| column.ty.arrow_field(&column.name)).collect();
        Ok(FrameBatches {
            schema: Arc::new(ArrowSchema::new(fields)),
            frames: Cursor::new(self.frames.clone()),
            agents: Cursor::new(self.agents.clone()),
            tl_faces: self.tl_faces.clone().map(Cursor::new),
            masks: self.masks.iter().cloned().map(Cursor::new).collect(),
            dataset: self.clone(),
            range,
            intervals: None,
        })
    }
}

/// Streams frames as batches. See [`Dataset::rows`]. Ends after the first error.
pub struct FrameBatches {
    dataset: Dataset,
    schema: SchemaRef,
    range: Range<u64>,
    /// The checks of both intervals. The first frame sets their start.
    intervals: Option<(Intervals, Intervals)>,
    frames: Cursor,
    agents: Cursor,
    tl_faces: Option<Cursor>,
    masks: Vec<Cursor>,
}

impl Iterator for FrameBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.range.is_empty() {
            return None;
        }
        let batch = self.batch();
        if batch.is_err() {
            self.range.start = self.range.end;
        }
        Some(batch)
    }
}

/// The frames of one batch: their records and the records that they refer to.
struct Frames {
    first: u64,
    records: Vec<u8>,
    agents: Vec<Range<u64>>,
    tl_faces: Vec<Range<u64>>,
}

impl FrameBatches {
    /// Returns the Arrow schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let frames = self.take_frames()?;
        let dataset = self.dataset.clone();
        let mut arrays = self.index(&frames)?;
        let each: Vec<u64> = (0..=frames.agents.len() as u64).collect();
        let dtype = &dataset.frames.meta().dtype;
        for column in &dataset.columns.ego {
            let mut values = Values::new(column, frames.agents.len());
            values.push(&frames.records, dtype.record_len())?;
            arrays.push(values.finish(&each)?);
        }
        arrays.extend(columns(&mut self.agents, &dataset.columns.agents, &frames.agents)?);
        if let Some(tl_faces) = &mut self.tl_faces {
            arrays.extend(columns(tl_faces, &dataset.columns.tl_faces, &frames.tl_faces)?);
        }
        for (mask, column) in self.masks.iter_mut().zip(&dataset.columns.masks) {
            arrays.extend(columns(mask, std::slice::from_ref(column), &frames.agents)?);
        }
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(internal)
    }

    /// Reads the frames of the next batch and advances.
    fn take_frames(&mut self) -> Result<Frames> {
        let first = self.range.start;
        let asked = first..self.range.end.min(first + MAX_FRAMES);
        let mut records = self.frames.records(asked)?;
        let array = self.dataset.frames.clone();
        let dtype = &array.meta().dtype;
        let (agent_field, tl_field) = (dtype.require(AGENT_INTERVAL)?, dtype.field(TL_INTERVAL));
        let (agents_len, tl_len) = (self.dataset.agents_len(), self.dataset.tl_faces_len());
        let start_of = |bytes: &[u8]| u64::try_from(i64_at(bytes, 0)).unwrap_or(0);
        let (agent_check, tl_check) = self.intervals.get_or_insert_with(|| {
            let (agents, tl_faces) = (start_of(agent_field.of(&records)), start_of(tl_interval(tl_field, &records)));
            (
                Intervals::new(AGENT_INTERVAL, AGENTS, agents_len).resume(agents),
                Intervals::new(TL_INTERVAL, TL_FACES, tl_len).resume(tl_faces),
            )
        });
        let record_bytes = |cursor: &Cursor| cursor.array().meta().record_len() as u64;
        let agent_bytes = record_bytes(&self.agents) + self.masks.iter().map(record_bytes).sum::<u64>();
        let tl_bytes = self.tl_faces.as_ref().map_or(0, record_bytes);
        let (mut agents, mut tl_faces) = (Vec::new(), Vec::new());
        let mut bytes = 0_u64;
        for (number, record) in (first..).zip(records.chunks_exact(dtype.record_len())) {
            let count = |bytes: &[u8]| (i64_at(bytes, 8) as u64).wrapping_sub(i64_at(bytes, 0) as u64);
            let tl_record = tl_interval(tl_field, record);
            bytes = bytes
                .saturating_add(count(agent_field.of(record)).saturating_mul(agent_bytes))
                .saturating_add(count(tl_record).saturating_mul(tl_bytes));
            if bytes > MAX_BYTES && number > first {
                break;
            }
            let place = || format!("{}, record {number}", array.place());
            agents.push(agent_check.take(agent_field.of(record), place)?);
            tl_faces.push(tl_check.take(tl_record, place)?);
        }
        records.truncate(agents.len() * dtype.record_len());
        self.range.start += agents.len() as u64;
        Ok(Frames { first, records, agents, tl_faces })
    }

    /// Returns the index columns, in the order of [`INDEX`](super::columns::INDEX).
    fn index(&self, frames: &Frames) -> Result<Vec<ArrayRef>> {
        let array = &self.dataset.frames;
        let scenes = &self.dataset.scenes;
        let end = frames.first + frames.agents.len() as u64;
        let mut scene = scenes.partition_point(|scene| scene.frames.end <= frames.first);
        let mut scene_of = Vec::with_capacity(frames.agents.len());
        for frame in frames.first..end {
            while scenes.get(scene).is_some_and(|scene| scene.frames.end <= frame) {
                scene += 1;
            }
            scene_of.push(scene);
        }
        let of = |scene: &usize| {
            scenes.get(*scene).ok_or_else(|| Error::internal(format!("{}: a frame belongs to no scene", array.place())))
        };
        let in_scene = scene_of.iter().map(of).collect::<Result<Vec<_>>>()?;
        let dtype: &Dtype = &array.meta().dtype;
        let timestamp = dtype.require(TIMESTAMP)?;
        let count =
            |ranges: &[Range<u64>]| UInt32Array::from_iter_values(ranges.iter().map(|range| (range.end - range.start) as u32));
        let start = |ranges: &[Range<u64>]| UInt64Array::from_iter_values(ranges.iter().map(|range| range.start));
        Ok(vec![
            Arc::new(UInt32Array::from_iter_values(scene_of.iter().map(|scene| *scene as u32))),
            Arc::new(LargeStringArray::from_iter_values(in_scene.iter().map(|scene| &*scene.host))),
            Arc::new(UInt32Array::from_iter_values(
                (frames.first..end).zip(&in_scene).map(|(frame, scene)| (frame - scene.frames.start) as u32),
            )),
            Arc::new(Int64Array::from_iter_values(
                frames.records.chunks_exact(dtype.record_len()).map(|record| i64_at(timestamp.of(record), 0)),
            )),
            Arc::new(Int64Array::from_iter_values(in_scene.iter().map(|scene| scene.start_time))),
            Arc::new(Int64Array::from_iter_values(in_scene.iter().map(|scene| scene.end_time))),
            Arc::new(count(&frames.agents)),
            Arc::new(count(&frames.tl_faces)),
            Arc::new(start(&frames.agents)),
            Arc::new(start(&frames.tl_faces)),
            Arc::new(UInt64Array::from_iter_values(frames.first..end)),
        ])
    }
}

/// Returns the columns of the records that consecutive `rows` of a batch refer to.
fn columns(cursor: &mut Cursor, columns: &[FieldColumn], rows: &[Range<u64>]) -> Result<Vec<ArrayRef>> {
    let start = rows.first().map_or(0, |row| row.start);
    let end = rows.last().map_or(start, |row| row.end);
    let record_len = cursor.array().meta().record_len();
    let mut values: Vec<Values<'_>> = columns.iter().map(|column| Values::new(column, (end - start) as usize)).collect();
    let place = cursor.array().place();
    let mut at = start;
    cursor.visit(start..end, |records| {
        for column in &mut values {
            column.push(records, record_len).map_err(|error| error.at(format!("{place}, records from {at}")))?;
        }
        at += (records.len() / record_len) as u64;
        Ok(())
    })?;
    let bounds: Vec<u64> = std::iter::once(0).chain(rows.iter().map(|row| row.end - start)).collect();
    values.into_iter().map(|column| column.finish(&bounds)).collect()
}

/// The values of one column, gathered from records.
struct Values<'a> {
    column: &'a FieldColumn,
    records: usize,
    bytes: MutableBuffer,
    filled: usize,
    text: String,
    text_ends: Vec<i64>,
}

impl<'a> Values<'a> {
    fn new(column: &'a FieldColumn, records: usize) -> Self {
        let numbers = matches!(column.field.element, Element::Primitive(_));
        let bytes = MutableBuffer::from_len_zeroed(if numbers { records * column.field.len } else { 0 });
        Self { column, records, bytes, filled: 0, text: String::new(), text_ends: vec![0] }
    }

    fn push(&mut self, records: &[u8], record_len: usize) -> Result<()> {
        let field = &self.column.field;
        if let Element::Text { .. } = field.element {
            for (number, record) in records.chunks_exact(record_len).enumerate() {
                decode_text(field.of(record), &mut self.text)
                    .map_err(|error| error.at(format!("record +{number}: {}", field.name)))?;
                self.text_ends.push(self.text.len() as i64);
            }
            return Ok(());
        }
        let len = records.len() / record_len * field.len;
        gather(records, record_len, field, &mut self.bytes.as_slice_mut()[self.filled..self.filled + len]);
        self.filled += len;
        Ok(())
    }

    /// Returns the array of a column. Row `i` has the records `bounds[i]..bounds[i + 1]`.
    fn finish(self, bounds: &[u64]) -> Result<ArrayRef> {
        let ends = |each: u64| OffsetBuffer::new(bounds.iter().map(|bound| (bound * each) as i64).collect::<ScalarBuffer<i64>>());
        let (element, shape) = match &self.column.ty {
            ColumnType::Scalar(element) => return numbers(*element, self.bytes.into(), self.records),
            ColumnType::Tensor { element, shape } => (*element, shape),
            _ => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(self.text_ends));
                let text = LargeStringArray::try_new(offsets, Buffer::from(self.text.into_bytes()), None).map_err(internal)?;
                let item = Arc::new(ArrowField::new("item", DataType::LargeUtf8, true));
                return Ok(Arc::new(LargeListArray::try_new(item, ends(1), Arc::new(text), None).map_err(internal)?));
            }
        };
        let each = (self.column.field.len / element.width()) as u64;
        let numbers = numbers(element, self.bytes.into(), self.records * each as usize)?;
        let item = Arc::new(ArrowField::new("item", element.arrow(), true));
        if shape.first() != Some(&None) {
            let list = FixedSizeListArray::try_new(item, each as i32, numbers, None).map_err(internal)?;
            return Ok(Arc::new(list));
        }
        let data = LargeListArray::try_new(item, ends(each), numbers, None).map_err(internal)?;
        let counts = bounds.windows(2).map(|bound| (bound[1] - bound[0]) as i32);
        let inner: Vec<i32> = shape.iter().skip(1).map(|extent| extent.unwrap_or(0) as i32).collect();
        let extents: Vec<i32> = counts.flat_map(|count| std::iter::once(count).chain(inner.iter().copied())).collect();
        let item = Arc::new(ArrowField::new("item", DataType::Int32, true));
        let extents =
            FixedSizeListArray::try_new(item, shape.len() as i32, Arc::new(Int32Array::from(extents)), None).map_err(internal)?;
        let DataType::Struct(fields) = self.column.ty.arrow() else {
            return Err(Error::internal(format!("column `{}`: expected a struct of data and shape", self.column.name)));
        };
        Ok(Arc::new(StructArray::try_new(fields, vec![Arc::new(data), Arc::new(extents)], None).map_err(internal)?))
    }
}

/// Returns an array of `len` elements from their bytes.
fn numbers(element: Primitive, bytes: Buffer, len: usize) -> Result<ArrayRef> {
    if element == Primitive::Bool {
        if let Some(other) = bytes.iter().find(|byte| **byte > 1) {
            return Err(Error::corrupt(format!("bool: expected 0 or 1, found {other}")));
        }
        return Ok(Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(len, |at| bytes[at] != 0), None)));
    }
    let data = ArrayData::builder(element.arrow()).len(len).add_buffer(bytes).build().map_err(internal)?;
    Ok(make_array(data))
}

/// Copies one field of each record into a contiguous buffer.
fn gather(records: &[u8], record_len: usize, field: &Field, out: &mut [u8]) {
    fn sized<const N: usize>(records: &[u8], record_len: usize, offset: usize, out: &mut [u8]) {
        for (record, out) in records.chunks_exact(record_len).zip(out.as_chunks_mut::<N>().0) {
            out.copy_from_slice(&record[offset..offset + N]);
        }
    }
    // A copy of constant length compiles to a few moves instead of a call. These are the lengths of L5's fields.
    match field.len {
        1 => sized::<1>(records, record_len, field.offset, out),
        4 => sized::<4>(records, record_len, field.offset, out),
        8 => sized::<8>(records, record_len, field.offset, out),
        12 => sized::<12>(records, record_len, field.offset, out),
        16 => sized::<16>(records, record_len, field.offset, out),
        68 => sized::<68>(records, record_len, field.offset, out),
        len => {
            for (record, out) in records.chunks_exact(record_len).zip(out.chunks_exact_mut(len)) {
                out.copy_from_slice(field.of(record));
            }
        }
    }
}

fn internal(error: ArrowError) -> Error {
    Error::internal(format!("arrow: {error}")).with_source(error)
}
