//! The Parquet files of segments and join maps: writes them, and reads untrusted ones. Follows `format-spec/segment.md#segment`.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::{
    arrow::{
        ArrowWriter,
        arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
        arrow_writer::ArrowWriterOptions,
    },
    basic::{Compression, ZstdLevel},
    file::{
        metadata::{KeyValue, ParquetMetaData},
        properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder},
        reader::ChunkReader,
    },
    schema::types::ColumnPath,
};

use super::unfold::{Unfolding, check_footer};
use crate::{
    error::{Error, Result, counted, guarded, short},
    id::Salt,
};

/// Maximum number of rows of a Parquet row group. A writer holds one row group in memory.
pub(super) const ROW_GROUP_ROWS: usize = 64 << 10;
/// Maximum number of rows of a page that a reader can read alone.
const PAGE_ROWS: usize = 8 << 10;

/// The most numbers in the dictionary of an index column in a row group, and the most bytes of texts there. The values that follow are written
/// as they are: who reads one row reads the dictionary too, and that of values which all differ is as long as the column.
const DISTINCT: usize = 8 << 10;
const TEXTS: usize = 256 << 10;

/// A Parquet reader whose footer is parsed.
pub(super) type Builder = ParquetRecordBatchReaderBuilder<Bytes>;

/// Converts an error of a Parquet writer.
pub(super) fn written(error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => Error::from(*io).at("writing a segment"),
            Err(source) => Error::internal(format!("writing a segment: {source}")),
        },
        error => Error::unavailable(format!("writing a segment: {error}")),
    }
}

/// Creates the error for a damaged segment.
pub(super) fn corrupt(error: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("segment: {error}"))
}

/// Creates a deterministic writer of the given columns: the same rows give the same bytes.
pub(super) fn writer<W: Write + Send>(out: W, schema: SchemaRef, dictionary: bool, compressed: bool) -> Result<ArrowWriter<W>> {
    writer_with(out, schema, properties(dictionary, compressed)?.set_offset_index_disabled(true))
}

/// Creates a deterministic writer of index columns that also writes statistics of row groups and pages, and where pages are.
/// `with_filters` turns on bloom filters.
pub(super) fn writer_of_statistics<W: Write + Send>(
    out: W,
    schema: SchemaRef,
    with_filters: impl FnOnce(WriterPropertiesBuilder) -> WriterPropertiesBuilder,
) -> Result<ArrowWriter<W>> {
    let properties = properties(true, true)?.set_statistics_enabled(EnabledStatistics::Page);
    let properties = schema.fields().iter().fold(properties, |properties, field| {
        let bytes = field.data_type().primitive_width().map_or(TEXTS, |width| DISTINCT * width);
        properties.set_column_dictionary_page_size_limit(ColumnPath::new(vec![field.name().clone()]), bytes)
    });
    writer_with(out, schema, with_filters(properties.set_data_page_row_count_limit(PAGE_ROWS)))
}

fn writer_with<W: Write + Send>(out: W, schema: SchemaRef, properties: WriterPropertiesBuilder) -> Result<ArrowWriter<W>> {
    let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(out, schema, options).map_err(written)
}

fn properties(dictionary: bool, compressed: bool) -> Result<WriterPropertiesBuilder> {
    let compression = match compressed {
        true => Compression::ZSTD(ZstdLevel::try_new(3).map_err(written)?),
        false => Compression::UNCOMPRESSED,
    };
    Ok(WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(dictionary)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_created_by("tetrys format 1".to_owned()))
}

/// The key of the salt in the metadata of a file.
const SALT_KEY: &str = "tetrys.salt";

/// Puts a salt into a file, if there is one.
pub(super) fn put_salt<W: Write + Send>(writer: &mut ArrowWriter<W>, salt: Salt) {
    if let Some(salt) = salt.0 {
        writer.append_key_value_metadata(KeyValue::new(SALT_KEY.to_owned(), salt.to_string()));
    }
}

/// Calls the Parquet reader on stored bytes. The reader may panic on damaged bytes; such a panic becomes a `Corrupt` error.
pub(super) fn parquet<T, E: std::fmt::Display>(read: impl FnOnce() -> Result<T, E>) -> Result<T> {
    guarded(read).map_err(|text| corrupt(short(text)))
}

/// Opens a file for reading. Checks the footer, the byte ranges of the columns, and the decompressed size of the pages.
pub(super) fn open(bytes: Bytes, options: ArrowReaderOptions) -> Result<Builder> {
    check_footer(&bytes).map_err(|error| error.at("segment"))?;
    let builder = parquet(|| Builder::try_new_with_options(bytes.clone(), options))?;
    let mut unfolding = Unfolding::of(bytes.len() as u64);
    for column in builder.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let place = usize::try_from(start).ok().zip(usize::try_from(column.compressed_size()).ok());
        let pages = place.and_then(|(start, len)| bytes.get(start..start.checked_add(len)?));
        let Some(pages) = pages else {
            let (len, size) = (column.compressed_size(), bytes.len());
            return Err(corrupt(format!("a column of {} at {start}, in {}", counted(len, "byte"), counted(size, "byte"))));
        };
        unfolding.column(pages).map_err(|error| error.at("segment"))?;
    }
    Ok(builder)
}

/// Checks that the row groups of a file have exactly `rows` rows. A few bytes of Parquet can claim, and repeat, any number of rows.
pub(super) fn check_rows(metadata: &ParquetMetaData, rows: u64) -> Result<()> {
    let claimed = metadata.row_groups().iter().map(|group| group.num_rows());
    let sum = claimed.chain([0]).try_fold(0_i64, |sum, rows| sum.checked_add(rows).filter(|_| rows >= 0));
    match sum == i64::try_from(rows).ok() && Some(metadata.file_metadata().num_rows()) == sum {
        true => Ok(()),
        false => Err(corrupt(format!("{}, expected {rows}", counted(metadata.file_metadata().num_rows(), "row")))),
    }
}

/// Reads the batches of a file of exactly `rows` rows.
pub(super) fn batches_of(builder: Builder, rows: u64) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    check_rows(builder.metadata(), rows)?;
    selected(builder, rows)
}

/// Reads the batches that a reader selects, which are exactly `rows` rows.
pub(super) fn selected<T: ChunkReader + 'static>(
    builder: ParquetRecordBatchReaderBuilder<T>,
    rows: u64,
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<T>> {
    let mut reader = parquet(|| builder.with_batch_size(ROW_GROUP_ROWS).build())?;
    // Rows left to read. `None` after the last batch or after an error.
    let mut left = Some(rows);
    Ok(std::iter::from_fn(move || {
        let missing = left.take()?;
        match parquet(|| reader.next().transpose()) {
            Ok(Some(batch)) => match missing.checked_sub(batch.num_rows() as u64) {
                Some(rest) => {
                    left = Some(rest);
                    Some(Ok(batch))
                }
                None => Some(Err(corrupt(format!("more than the {} expected", counted(rows, "row"))))),
            },
            Err(error) => Some(Err(error)),
            Ok(None) if missing > 0 => Some(Err(corrupt(format!("{}, expected {rows}", counted(rows - missing, "row"))))),
            Ok(None) => None,
        }
    }))
}
