//! Exports a table back to L5: writes the original zarr group from the table's properties and its rows in frame order. Arrays,
//! dtypes, chunks, compressor and record bytes are equal to the original. Compressed chunks may differ, because encoders differ.
//!
//! The export streams: memory holds one chunk per array and one batch. The target appears when it is complete.

use std::path::Path;

use arrow_array::{
    Array as _, ArrayRef, BooleanArray, FixedSizeListArray, Int64Array, LargeListArray, LargeStringArray, RecordBatch,
    StructArray, UInt32Array, UInt64Array,
};
use serde_json::Value;

use super::{
    array::ArrayMeta,
    array_writer::ArrayWriter,
    columns::{
        AGENT_INTERVAL, AGENTS, Columns, END_TIME, FRAME_INTERVAL, FRAMES, FieldColumn, HOST, MASK_PREFIX, SCENES, START_TIME,
        TIMESTAMP, TL_FACES, TL_INTERVAL,
    },
    dataset::mask_name,
    dtype::{Field, encode_text},
    scenes::{self, Scene},
    staging::Staging,
};
use tetrys::{
    error::{Error, Result},
    schema::{ColumnType, Primitive},
};

/// Writes the rows of a table as an L5 zarr group. See [`Exporter`].
///
/// ```no_run
/// use tetrys_l5::{Dataset, export};
/// let dataset = Dataset::open("sample.zarr")?;
/// export(dataset.properties(), dataset.rows(0..dataset.frames_len())?, "copy.zarr")?;
/// # Ok::<(), tetrys::Error>(())
/// ```
///
/// # Errors
/// - `Exists`: something exists at `target`.
/// - `Invalid`: the properties were not written by the ingest, or the batches do not fit them.
/// - Errors of the batches and of the file system.
pub fn export(
    properties: &Value,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
    target: impl AsRef<Path>,
) -> Result<()> {
    let mut exporter = Exporter::create(properties, target)?;
    for batch in batches {
        exporter.push(&batch?)?;
    }
    exporter.finish()
}

/// Writes an L5 zarr group batch by batch. An exporter that is dropped before [`finish`](Self::finish) leaves nothing behind.
pub struct Exporter {
    group: Staging,
    columns: Columns,
    frames: ArrayWriter,
    agents: ArrayWriter,
    tl_faces: Option<ArrayWriter>,
    masks: Vec<ArrayWriter>,
}

impl Exporter {
    /// Starts the zarr directory `target` from the properties of a table that [`Dataset`](super::Dataset) made. Writes all
    /// scenes.
    ///
    /// # Errors
    /// - `Exists`: something exists at `target`.
    /// - `Invalid`: the properties were not written by the ingest.
    /// - Errors of the file system.
    pub fn create(properties: &Value, target: impl AsRef<Path>) -> Result<Self> {
        let properties =
            properties.get("l5").ok_or_else(|| Error::invalid("properties: expected the key `l5` of an ingested L5 data set"))?;
        let objects = properties
            .get("objects")
            .and_then(Value::as_object)
            .ok_or_else(|| Error::invalid("property l5.objects: expected an object of texts"))?;
        let mut masks = Vec::new();
        for (key, text) in objects {
            let array = key.strip_suffix("/.zarray").or_else(|| key.strip_suffix("/.zattrs"));
            let known = [".zgroup", ".zattrs", "agents_mask/.zgroup"].contains(&key.as_str())
                || array.is_some_and(|name| [SCENES, FRAMES, AGENTS, TL_FACES].contains(&name) || mask_name(name).is_some());
            // Keys become paths, so only keys that the ingest writes are accepted.
            if !known || !text.is_string() {
                return Err(Error::invalid(format!("property l5.objects: `{key}` is not as the ingest wrote it")));
            }
            masks.extend(key.strip_suffix("/.zarray").filter(|name| mask_name(name).is_some()));
        }
        let meta = |name: &str| -> Result<Option<ArrayMeta>> {
            let text = objects.get(&format!("{name}/.zarray")).and_then(Value::as_str);
            text.map(|text| ArrayMeta::parse(text.to_owned()).map_err(|error| error.at(format!("array {name}")))).transpose()
        };
        let require = |name: &str| {
            meta(name)?.ok_or_else(|| Error::invalid(format!("property l5.objects: expected `{name}/.zarray`, found none")))
        };
        let (scene_meta, frame_meta, agent_meta, tl_meta) =
            (require(SCENES)?, require(FRAMES)?, require(AGENTS)?, meta(TL_FACES)?);
        let mask_metas = masks.iter().map(|name| require(name)).collect::<Result<Vec<_>>>()?;
        let mask_types: Vec<_> = masks
            .iter()
            .zip(&mask_metas)
            .map(|(name, meta)| (&name[MASK_PREFIX.len()..], &meta.dtype, meta.inner.as_slice()))
            .collect();
        let tl_dtype = tl_meta.as_ref().map(|meta| &meta.dtype);
        let columns = Columns::new(&scene_meta.dtype, &frame_meta.dtype, &agent_meta.dtype, tl_dtype, &mask_types)?;
        let scenes = scenes::from_json(properties.get("scenes").unwrap_or(&Value::Null))?;

        let group = Staging::new(target.as_ref())?;
        for (key, text) in objects {
            group.write(key, text.as_str().unwrap_or_default().as_bytes())?;
        }
        write_scenes(ArrayWriter::create(&group, SCENES, scene_meta)?, &scenes)?;
        let masks =
            masks.iter().zip(mask_metas).map(|(name, meta)| ArrayWriter::create(&group, name, meta)).collect::<Result<_>>()?;
        Ok(Self {
            columns,
            frames: ArrayWriter::create(&group, FRAMES, frame_meta)?,
            agents: ArrayWriter::create(&group, AGENTS, agent_meta)?,
            tl_faces: tl_meta.map(|meta| ArrayWriter::create(&group, TL_FACES, meta)).transpose()?,
            masks,
            group,
        })
    }

    /// Appends the rows of `batch`. It has the index columns `timestamp`, `agents_count`, `agents_start`, `tl_faces_count`,
    /// `tl_faces_start` and `frame`, and all group columns, in any order.
    ///
    /// # Errors
    /// - `Invalid`: a column is missing, has another type or has nulls; the rows do not follow the previous ones; or the number
    ///   of values differs from the counts.
    /// - Errors of the file system.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let (agents, tl_faces) = self.push_frames(batch)?;
        push_records(&mut self.agents, batch, &self.columns.agents, &agents)?;
        if let Some(writer) = &mut self.tl_faces {
            push_records(writer, batch, &self.columns.tl_faces, &tl_faces)?;
        }
        for (writer, column) in self.masks.iter_mut().zip(&self.columns.masks) {
            push_records(writer, batch, std::slice::from_ref(column), &agents)?;
        }
        Ok(())
    }

    /// Checks that all rows were written, and renames the directory to its target.
    ///
    /// # Errors
    /// - `Invalid`: the number of records of an array differs from its shape.
    /// - `Exists`: something appeared at the target meanwhile.
    /// - Errors of the file system.
    pub fn finish(self) -> Result<()> {
        for writer in [self.frames, self.agents].into_iter().chain(self.tl_faces).chain(self.masks) {
            writer.finish()?;
        }
        self.group.publish()
    }

    /// Writes the frames of `batch`. Returns the numbers of agents and faces of each frame.
    fn push_frames(&mut self, batch: &RecordBatch) -> Result<(Vec<u64>, Vec<u64>)> {
        let dtype = &self.frames.meta().dtype;
        let record_len = dtype.record_len();
        let (frame, timestamp) = (index::<UInt64Array>(batch, "frame")?, index::<Int64Array>(batch, "timestamp")?);
        let intervals = [
            ("agents_start", "agents_count", dtype.field(AGENT_INTERVAL), self.agents.records()),
            (
                "tl_faces_start",
                "tl_faces_count",
                dtype.field(TL_INTERVAL),
                self.tl_faces.as_ref().map_or(0, ArrayWriter::records),
            ),
        ];
        let mut records = vec![0; batch.num_rows() * record_len];
        for ((number, record), row) in (self.frames.records()..).zip(records.chunks_exact_mut(record_len)).zip(0..) {
            expect(batch, "frame", row, number, frame.value(row))?;
            let timestamp_field = dtype.require(TIMESTAMP)?;
            record[timestamp_field.offset..][..8].copy_from_slice(&timestamp.value(row).to_le_bytes());
        }
        let [agents, tl_faces] = intervals.map(|(start_name, count_name, field, mut next)| -> Result<Vec<u64>> {
            let (start, count) = (index::<UInt64Array>(batch, start_name)?, index::<UInt32Array>(batch, count_name)?);
            let mut counts = Vec::with_capacity(batch.num_rows());
            for (record, row) in records.chunks_exact_mut(record_len).zip(0..) {
                expect(batch, start_name, row, next, start.value(row))?;
                let count = u64::from(count.value(row));
                if let Some(field) = field {
                    record[field.offset..][..8].copy_from_slice(&next.to_le_bytes());
                    record[field.offset + 8..][..8].copy_from_slice(&(next + count).to_le_bytes());
                }
                next += count;
                counts.push(count);
            }
            Ok(counts)
        });
        let each = vec![1; batch.num_rows()];
        for column in &self.columns.ego {
            scatter_column(batch, column, &each, &mut records, record_len)?;
        }
        self.frames.push(&records)?;
        Ok((agents?, tl_faces?))
    }
}

fn write_scenes(mut writer: ArrayWriter, scenes: &[Scene]) -> Result<()> {
    let dtype = writer.meta().dtype.clone();
    let (interval, host) = (dtype.require(FRAME_INTERVAL)?, dtype.require(HOST)?);
    let (start_time, end_time) = (dtype.require(START_TIME)?, dtype.require(END_TIME)?);
    let mut record = vec![0; dtype.record_len()];
    for scene in scenes {
        let mut put = |field: &Field, at: usize, value: [u8; 8]| record[field.offset + at..][..8].copy_from_slice(&value);
        put(interval, 0, scene.frames.start.to_le_bytes());
        put(interval, 8, scene.frames.end.to_le_bytes());
        put(start_time, 0, scene.start_time.to_le_bytes());
        put(end_time, 0, scene.end_time.to_le_bytes());
        encode_text(&scene.host, &mut record[host.offset..host.offset + host.len]).map_err(|error| error.at("array scenes"))?;
        writer.push(&record)?;
    }
    writer.finish()
}

/// Writes the records in the rows of `batch`. Row `i` has `counts[i]` of them.
fn push_records(writer: &mut ArrayWriter, batch: &RecordBatch, columns: &[FieldColumn], counts: &[u64]) -> Result<()> {
    let record_len = writer.meta().record_len();
    let total = counts.iter().sum::<u64>();
    if columns.is_empty() || total == 0 {
        return Ok(());
    }
    // Check that the columns have as many values as the counts say, before the counts decide the size of an allocation.
    for column in columns {
        rows_of(batch, column, counts)?;
    }
    let mut records = vec![0; total as usize * record_len];
    for column in columns {
        scatter_column(batch, column, counts, &mut records, record_len)?;
    }
    writer.push(&records)
}

/// Returns the values of a column and the range of them that belongs to the batch. Checks that row `i` has the values of
/// `counts[i]` records.
fn rows_of(batch: &RecordBatch, column: &FieldColumn, counts: &[u64]) -> Result<(ArrayRef, usize, usize)> {
    let wrong = |found: &dyn std::fmt::Display| {
        Err(Error::invalid(format!("column `{}`: expected {} without nulls, found {found}", column.name, column.ty)))
    };
    let array = any(batch, &column.name)?;
    if array.null_count() > 0 {
        return wrong(&"nulls");
    }
    let each = match &column.ty {
        ColumnType::Tensor { element, .. } => column.field.len / element.width(),
        _ => 1,
    };
    if let Some(list) = array.as_any().downcast_ref::<FixedSizeListArray>() {
        let first = list.value_offset_at(0);
        if list.value_length() as usize != each {
            return wrong(list.data_type());
        }
        return Ok((list.values().clone(), first, first + list.len() * each));
    }
    let data = match array.as_any().downcast_ref::<StructArray>() {
        Some(tensor) => tensor.column_by_name("data").cloned(),
        None => Some(array.clone()),
    };
    let Some(list) = data.as_ref().and_then(|data| data.as_any().downcast_ref::<LargeListArray>()) else {
        return match &column.ty {
            ColumnType::Scalar(_) => Ok((array.clone(), 0, array.len())),
            _ => wrong(array.data_type()),
        };
    };
    if list.null_count() > 0 || list.values().null_count() > 0 {
        return wrong(&"nulls");
    }
    let offsets = list.value_offsets();
    for (row, (bounds, count)) in offsets.windows(2).zip(counts).enumerate() {
        expect(batch, &column.name, row, count * each as u64, (bounds[1] - bounds[0]) as u64)?;
    }
    Ok((list.values().clone(), offsets[0] as usize, offsets[counts.len()] as usize))
}

/// Writes one column's values into its field of each record.
fn scatter_column(
    batch: &RecordBatch,
    column: &FieldColumn,
    counts: &[u64],
    records: &mut [u8],
    record_len: usize,
) -> Result<()> {
    let field = &column.field;
    let (values, first, last) = rows_of(batch, column, counts)?;
    let wrong = || {
        let found = values.data_type();
        Error::invalid(format!("column `{}`: expected {}, found values of {found}", column.name, column.ty))
    };
    let element = match &column.ty {
        ColumnType::Scalar(element) | ColumnType::Tensor { element, .. } => *element,
        _ => {
            let text = values.as_any().downcast_ref::<LargeStringArray>().ok_or_else(wrong)?;
            for (record, at) in records.chunks_exact_mut(record_len).zip(first..last) {
                encode_text(text.value(at), &mut record[field.offset..field.offset + field.len])
                    .map_err(|error| error.at(format!("column `{}`", column.name)))?;
            }
            return Ok(());
        }
    };
    if *values.data_type() != element.arrow() {
        return Err(wrong());
    }
    let unpacked: Vec<u8>;
    let data = values.to_data();
    let bytes = if element == Primitive::Bool {
        let bits = values.as_any().downcast_ref::<BooleanArray>().ok_or_else(wrong)?;
        unpacked = (first..last).map(|at| u8::from(bits.value(at))).collect();
        &unpacked
    } else {
        let (from, to) = ((data.offset() + first) * element.width(), (data.offset() + last) * element.width());
        data.buffers().first().and_then(|buffer| buffer.get(from..to)).ok_or_else(wrong)?
    };
    for (record, value) in records.chunks_exact_mut(record_len).zip(bytes.chunks_exact(field.len)) {
        record[field.offset..field.offset + field.len].copy_from_slice(value);
    }
    Ok(())
}

fn any<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("export: expected a column `{name}`, found none")))
}

fn index<'a, T: arrow_array::Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T> {
    let array = any(batch, name)?;
    array.as_any().downcast_ref::<T>().filter(|array| array.null_count() == 0).ok_or_else(|| {
        Error::invalid(format!("export: column `{name}`: not of the type that the ingest gave it, found {}", array.data_type()))
    })
}

/// Returns an error if a row does not follow the previous ones, or has too many or too few values.
fn expect(batch: &RecordBatch, column: &str, row: usize, expected: u64, found: u64) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    let rows = batch.num_rows();
    Err(Error::invalid(format!("export: column `{column}`, row {row} of {rows}: expected {expected}, found {found}")))
}
