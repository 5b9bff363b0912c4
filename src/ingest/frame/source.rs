//! A frame in a file: its number of rows, its columns, and its rows in batches of bounded size. Sources that can only be read
//! from the start are spooled first.
//!
//! The Parquet and Arrow readers may panic on damaged bytes. A panic counts as damage, like any other error.

use std::{
    collections::BTreeSet,
    fmt::Display,
    io::{BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, FileReaderBuilder, read_footer_length};
use parquet::arrow::{
    ProjectionMask,
    arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder},
};

use super::{
    columns::{FrameColumn, columns},
    data::{Data, DataReader, Stamp},
    nulls, spool,
    text::TextSettings,
};
use crate::{
    error::{self, Error, Result, counted, short},
    ingest::{local::LocalFile, nested::NULLS},
    schema::{ColumnType, Schema},
};

/// Maximum uncompressed bytes of a batch, estimated from the metadata of the file.
const BATCH_BYTES: u64 = 8 << 20;
/// Maximum rows of a batch.
const BATCH_ROWS: u64 = 1024;

/// File format of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFormat {
    /// Parquet: plain, or compressed with Snappy, Zstandard, LZ4, gzip or Brotli.
    Parquet,
    /// An Arrow IPC file (Feather 2) or stream: plain, or compressed with LZ4 or Zstandard.
    Arrow,
    /// CSV with a header line. The separator of cells can be set.
    Csv,
    /// Line-delimited JSON, one object per line.
    Ndjson,
}

impl FrameFormat {
    const NAMES: [(Self, &'static str); 4] =
        [(Self::Parquet, "parquet"), (Self::Arrow, "arrow"), (Self::Csv, "csv"), (Self::Ndjson, "ndjson")];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(format, _)| *format == self).map_or("", |(_, name)| name)
    }

    /// Returns the format for the extension of a file: `.csv` and `.tsv`, `.ndjson` and `.jsonl`, `.arrow`, `.arrows`, `.feather`
    /// and `.ipc`; Parquet for all others.
    pub fn of_path(path: &Path) -> Self {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match ending.as_str() {
            "arrow" | "arrows" | "feather" | "ipc" => Self::Arrow,
            "csv" | "tsv" => Self::Csv,
            "ndjson" | "jsonl" => Self::Ndjson,
            _ => Self::Parquet,
        }
    }
}

/// A file whose rows become a table: Parquet, Arrow, CSV or line-delimited JSON.
#[derive(Clone, Debug)]
pub struct Frame {
    path: PathBuf,
    /// Folder of the files that it names.
    folder: PathBuf,
    format: FrameFormat,
    /// What rows are read from: the original file or a copy.
    data: Data,
    file: FileKind,
    /// Size and time of the data when it was opened.
    stamp: Stamp,
    rows: u64,
    columns: Vec<FrameColumn>,
    /// Columns that say which structs are null, of structs that need none: they are null where all their fields are null.
    nulls: Vec<FrameColumn>,
    /// Columns of text whose values are times with a zone, and the type that would hold them.
    times: Vec<(String, ColumnType)>,
}

#[derive(Clone, Debug)]
enum FileKind {
    Parquet(ArrowReaderMetadata),
    /// First row of each record batch, and at the end the total number of rows.
    Arrow(Vec<u64>),
}

impl Frame {
    /// Opens a Parquet file: plain, or compressed with Snappy, Zstandard, LZ4, gzip or Brotli.
    ///
    /// # Errors
    /// - `NotFound`: the file does not exist.
    /// - `Corrupt`: the file is not a valid Parquet file.
    /// - `Invalid`: two columns have the same name.
    pub fn parquet(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path, FrameFormat::Parquet, &TextSettings::default())
    }

    /// Opens an Arrow IPC file (Feather 2) or stream: plain, or compressed with LZ4 or Zstandard. A stream is copied to the
    /// temporary folder.
    ///
    /// # Errors
    /// - `NotFound`: the file does not exist.
    /// - `Corrupt`: the file is not a valid Arrow IPC file or stream.
    /// - `Invalid`: two columns have the same name.
    pub fn arrow(path: impl AsRef<Path>) -> Result<Self> {
        Self::open(path, FrameFormat::Arrow, &TextSettings::default())
    }

    /// Opens a file of this format, or a pipe (`/dev/stdin`, a FIFO, the process substitution of a shell). Pipes, text and Arrow
    /// streams are copied to the temporary folder: the call reads all of them on the calling thread. Of Parquet and Arrow files it
    /// reads the struct columns whose statistics do not exclude nulls. So async code should call it through `spawn_blocking`. Later reads of the frame do not block the executor.
    ///
    /// # Errors
    /// - `NotFound`: the file does not exist, or the text settings name a column that does not exist.
    /// - `Corrupt`: a Parquet or Arrow file is damaged.
    /// - `Invalid`: a line does not fit the format; the message names it. Or two columns have the same name. Or the path leads to
    ///   a folder, a socket or a device.
    /// - `Conflict`: the file changed while it was copied.
    /// - `Unsupported`: the text settings name a type that is not read from text.
    pub fn open(path: impl AsRef<Path>, format: FrameFormat, text: &TextSettings) -> Result<Self> {
        let path = path.as_ref();
        let data = match LocalFile::open(path)? {
            LocalFile::Regular(_) => Data::File(path.to_owned()),
            // The readers below read their file more than once and in any order.
            LocalFile::Pipe(pipe) => spool::copied(pipe).map_err(|error| error.at(path.display()))?,
        };
        let frame = Self::of_data(path.to_owned(), data, format, text);
        frame.map(Self::with_nulls).map_err(|error| error.at(path.display()))
    }

    /// Reads a frame from a reader, such as standard input or a response, into the temporary folder. The path of the frame is
    /// `-`.
    ///
    /// # Errors
    /// - `Corrupt`: Parquet or Arrow bytes are damaged.
    /// - `Invalid`: a line does not fit the format, or two columns have the same name.
    /// - `NotFound`: the text settings name a column that does not exist.
    /// - `Unsupported`: the text settings name a type that is not read from text.
    /// - Errors of the reader.
    pub fn read(reader: impl Read, format: FrameFormat, text: &TextSettings) -> Result<Self> {
        let frame = Self::of_data(PathBuf::from("-"), spool::copied(reader)?, format, text);
        frame.map(Self::with_nulls).map_err(|error| error.at("standard input"))
    }

    fn of_data(path: PathBuf, mut data: Data, format: FrameFormat, text: &TextSettings) -> Result<Self> {
        // A pipe lies in no folder: `/dev/fd/63`.
        let is_file = matches!(data, Data::File(_));
        let folder = path.parent().filter(|folder| is_file && !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        let found = data.stamp()?;
        let copied = || match format {
            FrameFormat::Parquet => Ok(None),
            FrameFormat::Arrow if spool::is_arrow_file(&data)? || !spool::may_be_stream(&data)? => Ok(None),
            FrameFormat::Arrow => spool::stream(&data).map(|data| Some(spool::Copy { data, times: Vec::new() })),
            FrameFormat::Csv => {
                let is_tsv = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("tsv"));
                let delimiter = text.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' });
                spool::csv(&data, delimiter, text).map(Some)
            }
            FrameFormat::Ndjson => spool::ndjson(&data, text).map(Some),
        };
        let copy = copied();
        // The types of text are inferred in a pass of their own, which must see the same bytes as the copy.
        data.check_unchanged(&found)?;
        let mut times = Vec::new();
        if let Some(copy) = copy? {
            (data, times) = (copy.data, copy.times);
        }
        let stamp = data.stamp()?;
        let (file, rows, columns) = match format {
            FrameFormat::Parquet => {
                let file = data.open()?;
                let metadata = guarded("Parquet", || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))?;
                let groups = metadata.metadata().row_groups().iter();
                let mut rows = groups.map(|group| u64::try_from(group.num_rows()).ok());
                let rows = rows.try_fold(0_u64, |sum, rows| sum.checked_add(rows?));
                let rows = rows.ok_or_else(|| Error::corrupt("row groups of negative or impossible length"))?;
                let columns = columns(metadata.schema().fields())?;
                (FileKind::Parquet(metadata), rows, columns)
            }
            _ => {
                let starts = batch_starts(BufReader::new(data.open()?))?;
                let file = data.open()?;
                let reader = guarded("Arrow", || FileReader::try_new(file, None))?;
                let rows = starts.last().copied().unwrap_or(0);
                let columns = columns(reader.schema().fields())?;
                (FileKind::Arrow(starts), rows, columns)
            }
        };
        Ok(Self { path, folder, format, data, file, stamp, rows, columns, nulls: Vec::new(), times })
    }

    /// Returns the path of the frame: `-` if it came from a reader.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of the files that the frame names: its own, or the current one for a pipe or a reader.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the columns: the name, and the column type or `None` if no type fits. The fields of structs are columns.
    pub fn column_types(&self) -> impl Iterator<Item = (&str, Option<&crate::ColumnType>)> {
        self.columns.iter().map(|column| (column.name.as_str(), column.ty.as_ref()))
    }

    pub(super) fn columns(&self) -> &[FrameColumn] {
        &self.columns
    }

    /// Returns the columns for rows that join a table. It may have columns that say which structs are null.
    pub(super) fn columns_for(&self, table: &Schema) -> Vec<FrameColumn> {
        let is_there =
            |column: &&FrameColumn| table.column_named(&column.name).is_some_and(|column| column.properties.contains_key(NULLS));
        let columns = self.columns.iter().chain(self.nulls.iter().filter(is_there));
        columns.map(|column| column.clone().joining(table)).collect()
    }

    /// Leaves out the columns that say which structs are null, of structs that need none.
    fn with_nulls(mut self) -> Self {
        let roots: BTreeSet<String> =
            self.columns.iter().filter(|column| column.is_nulls).map(|column| column.root.clone()).collect();
        let mut found = BTreeSet::new();
        for root in &roots {
            match &self.file {
                FileKind::Parquet(metadata) if nulls::has_values(metadata, root) => {}
                // What cannot be read is an error when the column is read. It may be left out.
                _ => drop(
                    self.batches(0..self.rows, &[root])
                        .and_then(|mut batches| batches.try_for_each(|batch| nulls::find(&batch?, root, &mut found))),
                ),
            }
        }
        let needs =
            |column: &FrameColumn| !column.is_nulls || column.name.rsplit_once('.').is_some_and(|(name, _)| found.contains(name));
        (self.columns, self.nulls) = std::mem::take(&mut self.columns).into_iter().partition(needs);
        self
    }

    /// Returns the columns that have no column type: the name and the Arrow type. [`FrameSettings`](super::FrameSettings) can
    /// leave them out.
    pub fn unsupported(&self) -> impl Iterator<Item = (&str, String)> {
        self.columns.iter().filter(|column| column.ty.is_none()).map(|column| (column.name.as_str(), column.arrow.to_string()))
    }

    /// Returns the columns that stay text, although all their values are times with a zone, such as `2020-02-29T12:00:00+01:00`:
    /// the name, and the type that would hold them. [`TextSettings::types`] can declare it. In CSV, times that end in `Z` are no
    /// text.
    pub fn times_as_text(&self) -> impl Iterator<Item = (&str, &ColumnType)> {
        self.times.iter().map(|(name, ty)| (name.as_str(), ty))
    }

    /// Returns the name of the file format.
    pub(super) fn kind(&self) -> &'static str {
        self.format.name()
    }

    /// Returns the rows of `range` in batches. The batches have at least the top-level fields in `roots`.
    pub(super) fn batches(&self, range: Range<u64>, roots: &[&str]) -> Result<Batches> {
        let range = range.start.min(self.rows)..range.end.min(self.rows);
        let opened = self.data.open().and_then(|file| match &self.file {
            FileKind::Parquet(metadata) => parquet_batches(file, metadata, &range, roots).map(Reader::Parquet),
            FileKind::Arrow(starts) => arrow_batches(file, starts, &range, roots),
        });
        let reader = opened.map_err(|error| error.at(self.path.display()))?;
        let frame = self.clone();
        Ok(Batches { frame, reader, left: range.end - range.start })
    }
}

/// The batches of a range of rows. Ends after the first error. The last batch is an error if the file has changed.
pub(super) struct Batches {
    /// Keeps a copy until it is read.
    frame: Frame,
    reader: Reader,
    left: u64,
}

enum Reader {
    Parquet(ParquetRecordBatchReader),
    /// The reader, the rows to skip in the first batch, and the rest of the current batch.
    Arrow(Box<FileReader<DataReader>>, usize, Option<RecordBatch>),
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            return None;
        }
        let batch = match &mut self.reader {
            Reader::Parquet(reader) => guarded("Parquet", || reader.next().transpose()),
            Reader::Arrow(reader, skip, pending) => next_slice(reader, skip, pending),
        };
        let batch = batch.and_then(|batch| {
            let batch = batch.ok_or_else(|| Error::corrupt(format!("{} missing at the end", counted(self.left, "row"))))?;
            let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.num_rows());
            Ok(batch.slice(0, rows))
        });
        self.left = batch.as_ref().map_or(0, |batch| self.left - batch.num_rows() as u64);
        let frame = &self.frame;
        let unchanged = if self.left == 0 { frame.data.check_unchanged(&frame.stamp) } else { Ok(()) };
        // A file that changes while it is read may look damaged, too.
        Some(unchanged.and(batch).map_err(|error| error.at(frame.path.display())))
    }
}

fn corrupt(kind: &str, error: impl Display) -> Error {
    // The Arrow and Parquet libraries name the types of Rust that a number does not fit.
    let message = error.to_string().replace(" to usize", " to a place");
    Error::corrupt(format!("not a valid {kind} file: {message}"))
}

/// Calls a reader of untrusted bytes. Its errors and panics become `Corrupt`.
fn guarded<T, E: Display>(kind: &str, read: impl FnOnce() -> Result<T, E>) -> Result<T> {
    error::guarded(read).map_err(|text| corrupt(kind, short(text)))
}

fn parquet_batches(
    file: DataReader,
    metadata: &ArrowReaderMetadata,
    range: &Range<u64>,
    roots: &[&str],
) -> Result<ParquetRecordBatchReader> {
    // Row groups outside the range are not read.
    let (mut groups, mut first, mut start, mut bytes, mut rows) = (Vec::new(), None, 0, 0, 0);
    for (number, group) in metadata.metadata().row_groups().iter().enumerate() {
        let end = start + u64::try_from(group.num_rows()).unwrap_or(0);
        if start < range.end && range.start < end {
            first.get_or_insert(start);
            groups.push(number);
            bytes += u64::try_from(group.total_byte_size()).unwrap_or(0);
            rows += end - start;
        }
        start = end;
    }
    let batch_rows = (BATCH_BYTES / (bytes / rows.max(1)).max(1)).clamp(1, BATCH_ROWS);
    let size = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    guarded("Parquet", || {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        let fields = builder.schema().fields();
        let wanted = roots.iter().filter_map(|root| fields.iter().position(|field| field.name() == root));
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        builder
            .with_projection(mask)
            .with_row_groups(groups)
            .with_offset(size(range.start - first.unwrap_or(range.start)))
            .with_limit(size(range.end - range.start))
            .with_batch_size(size(batch_rows))
            .build()
    })
}

fn arrow_batches(file: DataReader, starts: &[u64], range: &Range<u64>, roots: &[&str]) -> Result<Reader> {
    let first = starts.partition_point(|start| *start <= range.start).saturating_sub(1);
    let skip = range.start - starts.get(first).copied().unwrap_or(0);
    let reader = guarded("Arrow", || {
        let mut file = file;
        let schema = FileReaderBuilder::new().build(&mut file)?.schema();
        let wanted = roots.iter().filter_map(|root| schema.index_of(root).ok()).collect();
        let mut reader = FileReaderBuilder::new().with_projection(wanted).build(file)?;
        if !range.is_empty() {
            reader.set_index(first)?;
        }
        Ok::<_, arrow_schema::ArrowError>(reader)
    })?;
    Ok(Reader::Arrow(Box::new(reader), usize::try_from(skip).unwrap_or(usize::MAX), None))
}

/// Returns the next rows. Limits their number, because later steps copy them.
fn next_slice(
    reader: &mut FileReader<DataReader>,
    skip: &mut usize,
    pending: &mut Option<RecordBatch>,
) -> Result<Option<RecordBatch>> {
    let batch = loop {
        match pending.take() {
            Some(batch) if batch.num_rows() > 0 => break batch,
            _ => match guarded("Arrow", || reader.next().transpose())? {
                Some(batch) => {
                    let from = std::mem::take(skip).min(batch.num_rows());
                    *pending = Some(batch.slice(from, batch.num_rows() - from));
                }
                None => return Ok(None),
            },
        }
    };
    let bytes = batch.get_array_memory_size() as u64 / batch.num_rows() as u64;
    let rows = usize::try_from((BATCH_BYTES / bytes.max(1)).clamp(1, BATCH_ROWS)).unwrap_or(1).min(batch.num_rows());
    *pending = Some(batch.slice(rows, batch.num_rows() - rows));
    Ok(Some(batch.slice(0, rows)))
}

/// Returns the first row of each record batch and the total number of rows. Reads only the metadata of the batches.
fn batch_starts(mut file: impl Read + Seek) -> Result<Vec<u64>> {
    let none = || Error::corrupt("not an Arrow IPC file or stream: it has no valid footer");
    let size = file.seek(SeekFrom::End(0))?;
    let mut read = |start: u64, bytes: u64| -> Result<Vec<u8>> {
        // Check the size before allocating.
        if start.checked_add(bytes).is_none_or(|end| end > size) {
            return Err(corrupt("Arrow", format!("expected {} at {start}, the file ends at {size}", counted(bytes, "byte"))));
        }
        file.seek(SeekFrom::Start(start))?;
        let mut content = vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)];
        file.read_exact(&mut content)?;
        Ok(content)
    };
    let end = read(size.checked_sub(10).ok_or_else(none)?, 10)?;
    let len = end.first_chunk::<10>().and_then(|end| read_footer_length(*end).ok()).ok_or_else(none)? as u64;
    let footer = read(size.checked_sub(10 + len).ok_or_else(none)?, len)?;
    let footer = arrow_ipc::root_as_footer(&footer).map_err(|error| corrupt("Arrow", error))?;
    let mut starts = vec![0_u64];
    for block in footer.recordBatches().into_iter().flatten() {
        let number = |number: i64| u64::try_from(number).map_err(|error| corrupt("Arrow", error));
        let head = read(number(block.offset())?, number(block.metaDataLength().into())?)?;
        number(block.bodyLength())?;
        // Since 2019, four bytes of 0xff precede the length of a message.
        let message = if head.starts_with(&[0xff; 4]) { head.get(8..) } else { head.get(4..) };
        let message = arrow_ipc::root_as_message(message.unwrap_or_default()).map_err(|error| corrupt("Arrow", error))?;
        let batch = message.header_as_record_batch().ok_or_else(|| corrupt("Arrow", "a block that is not a record batch"))?;
        let rows = number(batch.length())?;
        let end = starts.last().copied().unwrap_or(0).checked_add(rows);
        starts.push(end.ok_or_else(|| corrupt("Arrow", "over 2^64 rows"))?);
    }
    Ok(starts)
}
