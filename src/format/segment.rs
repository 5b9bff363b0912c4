//! Segments: the index and the hashes of up to 4,194,304 rows, as Parquet. Layouts are in `layout.rs`. Follows
//! `format-spec/segment.md#index` and `format-spec/segment.md#hashes`.
//!
//! The caller has verified the bytes against the BLAKE3 in the manifest.

use std::{io::Write, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, FixedSizeBinaryArray, RecordBatch, RecordBatchOptions, StringViewArray, builder::LargeStringBuilder,
    cast::AsArray,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;
use parquet::{
    arrow::{ArrowWriter, ProjectionMask, arrow_reader::ArrowReaderOptions},
    file::metadata::{FileMetaData, KeyValue},
};

use super::{
    bloom_filter::{FILTERS_KEY, with_bloom_filters},
    lengths::PackedLengths,
    page_sums::{Kept, PAGES_KEY, PageSums, bytes_of_hex, hex_of},
    parquet::{batches_of, corrupt, open, put_salt, writer, writer_of_statistics, written},
};
use crate::{
    error::{Error, Result, counted},
    id::{Hash, ObjectRef, Salt},
    schema::Schema,
    work::check_away,
};

/// Key of the sequence lengths in the file metadata of an index segment (`format-spec/segment.md#sequences`).
const SEQUENCES_KEY: &str = "tetrys.sequences";

/// Returns the Arrow schema of the index columns.
pub fn index_arrow_schema(schema: &Schema) -> SchemaRef {
    Arc::new(ArrowSchema::new(schema.index().map(|column| column.ty.arrow_field(&column.name)).collect::<Vec<_>>()))
}

/// Maximum length of one text of an index column, in bytes.
const MAX_TEXT: u64 = 64 << 10;

/// Returns the maximum total bytes of text of an index column of `rows` rows. A few bytes of a dictionary can claim very
/// much text.
const fn most_text(rows: u64) -> u64 {
    (16 << 20) + (rows << 10)
}

/// Writes an index segment batch by batch.
pub struct IndexWriter<W: Write + Send> {
    writer: ArrowWriter<Kept<W>>,
    rows: u64,
    /// Bytes of text written so far, per column.
    text: Vec<u64>,
    /// Checksums of the pages, if the segment gets a tail.
    sums: Option<PageSums>,
}

impl<W: Write + Send> IndexWriter<W> {
    /// Creates a writer of the index columns of `schema`. If `tail`, the segment gets a tail, so that parts of it can be read, and
    /// bloom filters of the columns that the schema names.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn new(out: W, schema: &Schema, tail: bool) -> Result<Self> {
        let (out, arrow) = (Kept::new(out, tail), index_arrow_schema(schema));
        let writer = match tail {
            true => writer_of_statistics(out, arrow, |properties| with_bloom_filters(properties, schema))?,
            false => writer(out, arrow, true, true)?,
        };
        Ok(Self { writer, rows: 0, text: vec![0; schema.index().len()], sums: tail.then(PageSums::default) })
    }

    /// Creates a writer of the index columns of a few rows, which are not compressed: to make a decompressor for each column takes
    /// longer than to read them.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn of_few_rows(out: W, schema: &Schema) -> Result<Self> {
        let writer = writer(Kept::new(out, false), index_arrow_schema(schema), true, false)?;
        Ok(Self { writer, rows: 0, text: vec![0; schema.index().len()], sums: None })
    }

    /// Appends rows. The batch has the columns of [`index_arrow_schema`].
    ///
    /// # Errors
    /// - `Invalid`: a text has more than 64 KiB.
    /// - `Unavailable`: `out` cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for ((column, field), total) in batch.columns().iter().zip(batch.schema_ref().fields()).zip(&mut self.text) {
            let Some(text) = column.as_string_opt::<i64>() else { continue };
            let lengths = || text.offsets().lengths().map(|length| length as u64);
            if let Some(length) = lengths().find(|length| *length > MAX_TEXT) {
                let name = field.name();
                return Err(Error::invalid(format!(
                    "index column `{name}`: a text of {}, at most {MAX_TEXT}",
                    counted(length, "byte")
                )));
            }
            *total += lengths().sum::<u64>();
        }
        self.rows += batch.num_rows() as u64;
        self.writer.write(batch).map_err(written)?;
        match &mut self.sums {
            Some(sums) => sums.add(&mut self.writer),
            None => Ok(()),
        }
    }

    /// Finishes the segment. `sequences` has the length of each sequence, in rows. Returns the output.
    ///
    /// # Errors
    /// - `Invalid`: a column has more text than a reader accepts.
    /// - `Unavailable`: `out` cannot be written.
    pub fn finish(self, sequences: &[u32]) -> Result<W> {
        self.finish_with_tail(sequences).map(|(out, _)| out)
    }

    /// Puts a salt into the file.
    pub fn salt(&mut self, salt: Salt) {
        put_salt(&mut self.writer, salt);
    }

    /// Finishes the segment as [`IndexWriter::finish`] does. Returns the output, and the length and the hash of the tail.
    ///
    /// # Errors
    /// - `Invalid`: a column has more text than a reader accepts.
    /// - `Unavailable`: `out` cannot be written.
    pub fn finish_with_tail(mut self, sequences: &[u32]) -> Result<(W, Option<ObjectRef>)> {
        if let Some(total) = self.text.iter().find(|total| **total > most_text(self.rows)) {
            return Err(Error::invalid(format!(
                "an index column with {} of text in {}, at most {}: keep long texts in a column group",
                counted(*total, "byte"),
                counted(self.rows, "row"),
                most_text(self.rows)
            )));
        }
        let mut packed = (sequences.len() as u64).to_le_bytes().to_vec();
        PackedLengths::write(sequences, &mut packed);
        self.writer.append_key_value_metadata(KeyValue::new(SEQUENCES_KEY.to_owned(), hex_of(&packed)));
        if let Some(sums) = &mut self.sums {
            self.writer.flush().map_err(written)?;
            sums.add(&mut self.writer)?;
            self.writer.append_key_value_metadata(KeyValue::new(PAGES_KEY.to_owned(), sums.pages_to_hex()));
            if let Some(filters) = sums.filters_to_hex() {
                self.writer.append_key_value_metadata(KeyValue::new(FILTERS_KEY.to_owned(), filters));
            }
        }
        let (out, tail) = self.writer.into_inner().map_err(written)?.into_parts();
        Ok((out, tail.map(|tail| ObjectRef::of(&tail))))
    }
}

/// Reads an index segment of exactly `rows` rows. Every batch has the columns of [`index_arrow_schema`].
///
/// # Errors
/// - `Corrupt`: the file is not Parquet with the expected columns.
pub fn index_reader(bytes: Bytes, schema: &Schema, rows: u64) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let every: Vec<usize> = (0..schema.index().len()).collect();
    index_columns_reader(bytes, schema, rows, &every)
}

/// Reads some index columns of an index segment of exactly `rows` rows. `columns` are ascending column numbers; other columns are
/// not decoded.
///
/// # Errors
/// - `Corrupt`: the file is not Parquet with the expected columns.
pub fn index_columns_reader(
    bytes: Bytes,
    schema: &Schema,
    rows: u64,
    columns: &[usize],
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let builder = open(bytes, viewed_options(schema))?;
    if builder.schema().fields().len() != schema.index().len() {
        return Err(corrupt("columns differ from the schema's index columns"));
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    copied(batches_of(builder.with_projection(mask), rows)?, schema, rows, columns)
}

/// Returns the options of a reader of index columns. Text is read as views into the pages: repeated texts share the memory of their
/// dictionary entry.
pub(super) fn viewed_options(schema: &Schema) -> ArrowReaderOptions {
    let view = |field: &Arc<Field>| match field.data_type() {
        DataType::LargeUtf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    };
    let viewed = index_arrow_schema(schema).fields().iter().map(view).collect::<Vec<_>>();
    ArrowReaderOptions::new().with_schema(Arc::new(ArrowSchema::new(viewed)))
}

/// Bounds the text of batches of an index segment of `rows` rows, and copies it into arrays of its own.
pub(super) fn copied<I: Iterator<Item = Result<RecordBatch>>>(
    batches: I,
    schema: &Schema,
    rows: u64,
    columns: &[usize],
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<I>> {
    let expected = Arc::new(index_arrow_schema(schema).project(columns).map_err(|error| Error::invalid(error.to_string()))?);
    let mut totals = vec![0_u64; columns.len()];
    let bounded = batches.map(move |batch| batch.and_then(|batch| bound_text(batch, &mut totals, rows)));
    Ok(bounded.flat_map(move |batch| match batch {
        Ok(batch) => {
            let (expected, parts) = (Arc::clone(&expected), parts_of(&batch));
            let copied = parts.into_iter().map(move |rows| with_text(&batch.slice(rows.start, rows.len()), &expected));
            Box::new(copied) as Box<dyn Iterator<Item = Result<RecordBatch>> + Send>
        }
        Err(error) => Box::new(std::iter::once(Err(error))),
    }))
}

/// Bounds the text of a batch before the text is copied. Returns the batch.
fn bound_text(batch: RecordBatch, totals: &mut [u64], rows: u64) -> Result<RecordBatch> {
    for (column, total) in batch.columns().iter().zip(totals) {
        let Some(views) = column.as_string_view_opt() else { continue };
        let add = |more| {
            *total += more;
            *total
        };
        check_text(views, add, rows)?;
    }
    Ok(batch)
}

/// Bounds the text of a column of a segment of `rows` rows. `add` adds the bytes of these texts to those before, and returns the
/// sum.
pub(super) fn check_text(texts: &StringViewArray, add: impl FnOnce(u64) -> u64, rows: u64) -> Result<()> {
    let lengths = || texts.views().iter().map(|view| text_len(*view));
    if add(lengths().sum()) > most_text(rows) || lengths().any(|length| length > MAX_TEXT) {
        return Err(corrupt(format!(
            "a text of more than {MAX_TEXT} bytes, or more than {} in {}",
            most_text(rows),
            counted(rows, "row")
        )));
    }
    Ok(())
}

/// Maximum bytes of text in a batch, unless a single row has more.
const BATCH_TEXT: u64 = 16 << 20;

/// Splits the rows of a batch into ranges with at most [`BATCH_TEXT`] bytes of text.
fn parts_of(batch: &RecordBatch) -> Vec<Range<usize>> {
    let mut lengths = vec![0_u64; batch.num_rows()];
    for column in batch.columns().iter().filter_map(|column| column.as_string_view_opt()) {
        lengths.iter_mut().zip(column.views()).for_each(|(length, view)| *length += text_len(*view));
    }
    let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
    for (row, length) in lengths.into_iter().enumerate() {
        if bytes + length > BATCH_TEXT && row > start {
            parts.push(start..row);
            (start, bytes) = (row, 0);
        }
        bytes += length;
    }
    parts.push(start..batch.num_rows());
    parts
}

/// Returns the length of a text: the low 32 bits of its view.
fn text_len(view: u128) -> u64 {
    u64::try_from(view & u128::from(u32::MAX)).unwrap_or(u64::MAX)
}

/// Copies the text views of a batch into arrays of their own and checks that they are UTF-8.
fn with_text(batch: &RecordBatch, expected: &SchemaRef) -> Result<RecordBatch> {
    let copied = batch.columns().iter().map(|column| -> Result<ArrayRef> {
        let Some(views) = column.as_string_view_opt() else { return Ok(Arc::clone(column)) };
        let bytes: u64 = views.views().iter().map(|view| text_len(*view)).sum();
        let mut text = LargeStringBuilder::with_capacity(views.len(), usize::try_from(bytes).map_err(corrupt)?);
        // The Parquet reader validates UTF-8 only in columns that the file declares as text.
        for value in &views.clone().to_binary_view() {
            text.append_option(value.map(std::str::from_utf8).transpose().map_err(corrupt)?);
        }
        Ok(Arc::new(text.finish()))
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(expected), copied.collect::<Result<_>>()?, &options).map_err(corrupt)
}

/// Reads the length of each sequence of an index segment of `rows` rows.
///
/// # Errors
/// - `Corrupt`: the lengths are missing, malformed, or do not add up to `rows`.
pub fn read_sequences(bytes: &Bytes, rows: u64) -> Result<PackedLengths> {
    let builder = open(bytes.clone(), ArrowReaderOptions::new())?;
    sequences_of(builder.metadata().file_metadata(), rows)
}

/// Parses the length of each sequence from the file metadata of an index segment of `rows` rows.
pub(super) fn sequences_of(metadata: &FileMetaData, rows: u64) -> Result<PackedLengths> {
    let entries = metadata.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let hex = entries.iter().find(|entry| entry.key == SEQUENCES_KEY).and_then(|entry| entry.value.as_deref());
    let hex = hex.ok_or_else(|| corrupt(format!("no `{SEQUENCES_KEY}` in the file metadata")))?;
    // Bounds the text before it is parsed: an 8-byte count, a 5-byte node header, and at most 32 bits per sequence.
    if hex.len() as u64 / 2 > rows.saturating_mul(4).saturating_add(8 + 5) {
        return Err(corrupt(format!("`{SEQUENCES_KEY}` of {} for {}", counted(hex.len(), "digit"), counted(rows, "row"))));
    }
    let bytes = bytes_of_hex(hex);
    let parsed = bytes.as_deref().and_then(<[u8]>::split_first_chunk::<8>).and_then(|(count, node)| {
        let count = usize::try_from(u64::from_le_bytes(*count)).ok().filter(|count| *count as u64 <= rows)?;
        PackedLengths::from_bytes(node, count).ok()
    });
    let runs = parsed.ok_or_else(|| corrupt(format!("`{SEQUENCES_KEY}` is not a node of packed lengths")))?;
    if runs.sum() != rows || runs.iter().any(|run| run == 0) {
        return Err(corrupt(format!("sequences of {} in all, expected {rows}", counted(runs.sum(), "row"))));
    }
    Ok(runs)
}

/// Writes a hashes segment.
pub struct HashesWriter<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> HashesWriter<W> {
    /// Creates a writer of logical block hashes in layout order.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn new(out: W) -> Result<Self> {
        let schema = Arc::new(ArrowSchema::new(vec![Field::new("hash", DataType::FixedSizeBinary(32), false)]));
        writer(out, schema, false, false).map(Self)
    }

    /// Puts a salt into the file.
    pub fn salt(&mut self, salt: Salt) {
        put_salt(&mut self.0, salt);
    }

    /// Appends hashes.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn write(&mut self, hashes: &[Hash]) -> Result<()> {
        let column = hash_array(hashes.iter().copied())?;
        let batch = RecordBatch::try_from_iter([("hash", column)]).map_err(|error| Error::internal(error.to_string()))?;
        self.0.write(&batch).map_err(written)
    }

    /// Finishes the segment and returns the output.
    ///
    /// # Errors
    /// - `Unavailable`: `out` cannot be written.
    pub fn finish(self) -> Result<W> {
        self.0.into_inner().map_err(written)
    }
}

/// Creates an Arrow column of hashes.
pub(super) fn hash_array(hashes: impl Iterator<Item = Hash>) -> Result<ArrayRef> {
    let bytes: Vec<u8> = hashes.flat_map(|hash| hash.0).collect();
    let array = FixedSizeBinaryArray::try_new(32, bytes.into(), None).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Arc::new(array))
}

/// Reads a hashes segment of exactly `blocks` hashes.
///
/// # Errors
/// - `Corrupt`: the file is not Parquet with the expected column and number of rows.
pub fn read_hashes(bytes: Bytes, blocks: u64) -> Result<Vec<Hash>> {
    check_away(bytes.len());
    let builder = open(bytes, ArrowReaderOptions::new())?;
    let mut hashes = Vec::new();
    for batch in batches_of(builder, blocks)? {
        let batch = batch?;
        let column = batch.column_by_name("hash").and_then(|column| column.as_fixed_size_binary_opt());
        let column = column.ok_or_else(|| corrupt("no column `hash` of 32 bytes"))?;
        for value in column {
            hashes.push(value.and_then(Hash::from_slice).ok_or_else(|| corrupt("a hash that is not 32 bytes"))?);
        }
    }
    Ok(hashes)
}
