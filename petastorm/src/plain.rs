//! Imports a plain Parquet store, a folder of Parquet files without a Petastorm schema, as frames: one partition a file.
//!
//! Fields in the names of folders (`field=value`) become columns. Such files, and files of an object store, are copied to the
//! temporary folder first, one per worker.

use std::{fs::File, path::PathBuf, sync::Arc};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use futures::{StreamExt, TryStreamExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::reader::Length;
use tempfile::{NamedTempFile, TempPath};
use tetrys::{
    Error, Result, Store, Table,
    extension::{blocking, threads, writer},
    ingest::{
        Target,
        frame::{Frame, FrameFormat, FrameSettings, TextSettings, ingest as ingest_frame, write_partition},
    },
};

use crate::{
    dataset::{Dataset, Parts},
    footer::guarded,
    settings::IngestSettings,
};

/// Rows copied at a time.
const COPIED_ROWS: usize = 1024;
/// Bytes copied at a time.
const COPIED_BYTES: u64 = 8 << 20;

/// Imports the files of the store.
pub(crate) async fn ingest(
    dataset: &Dataset,
    store: Store,
    settings: &IngestSettings,
    progress: impl Fn(u64) + Send + Sync + 'static,
) -> Result<Table> {
    let parts = &dataset.parts;
    if settings.decode {
        return Err(Error::invalid(format!(
            "{}: decode: a plain Parquet store says of no column that it has pictures",
            parts.source
        )));
    }
    let frames = FrameSettings {
        index: settings.index.clone(),
        groups: settings.groups.clone(),
        drop: settings.drop.clone(),
        sequence_by: settings.sequence_by.clone(),
        order_by: settings.order_by.clone(),
        options: settings.options.clone(),
        ..FrameSettings::default()
    };
    let folders: Arc<[Folder]> = folders(parts).into();
    let first = Opened::open(parts, 0, &folders).await?;
    if parts.files.len() == 1 {
        return ingest_frame(&first.frame, store, &frames, progress).await;
    }
    if settings.options.target == Target::Overwrite {
        return Err(Error::unsupported(format!(
            "{}: a plain Parquet store of {} files cannot replace the rows of a table; import it as a new table, with the old one \
             as a reference",
            parts.source,
            parts.files.len()
        )));
    }
    let base = settings.options.base(&store).await?;
    let schema = match &base {
        None => frames.schema(&first.frame)?,
        Some(table) => frames.schema_for(&first.frame, table)?,
    };
    drop(first);
    let writer = writer(store, base, schema, &settings.options).await?;
    let workers = if settings.options.workers == 0 { threads() } else { settings.options.workers };
    let mut done = 0;
    let (writer_ref, frames, folders) = (&writer, &frames, &folders);
    let written = futures::stream::iter(0..parts.files.len()).map(|file| async move {
        let opened = Opened::open(parts, file, folders).await?;
        let number = u32::try_from(file).map_err(|_| Error::unsupported("over 2^32 files"))?;
        let receipt = write_partition(&opened.frame, writer_ref, number, frames).await;
        let name = parts.source.at(&parts.files[file].name);
        parts.source.check(&parts.files[file].name, &parts.files[file].stamp)?;
        // The frame names the file, unless it is a copy.
        receipt.map_err(|error| if opened.copy.is_some() { error.at(name) } else { error })
    });
    let mut written = std::pin::pin!(written.buffer_unordered(workers));
    let mut receipts = Vec::new();
    while let Some(receipt) = written.try_next().await? {
        done += receipt.rows;
        progress(done);
        receipts.push(receipt);
    }
    let again = dataset.clone();
    blocking(move || again.parts.check_unchanged()).await?;
    writer.commit(receipts).await
}

/// A field in the names of folders.
struct Folder {
    name: String,
    /// Whether all values are whole numbers.
    whole: bool,
}

fn folders(parts: &Parts) -> Vec<Folder> {
    let names = parts.files.first().map(|file| file.folders.as_slice()).unwrap_or_default();
    let whole = |place: usize| {
        let values = || parts.files.iter().filter_map(|file| file.folders.get(place)?.1.as_deref());
        let is_whole = |value: &str| value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
        values().all(is_whole) && values().next().is_some()
    };
    names.iter().enumerate().map(|(place, (name, _))| Folder { name: name.clone(), whole: whole(place) }).collect()
}

/// A file as a frame, and its copy if it has one.
struct Opened {
    frame: Frame,
    copy: Option<TempPath>,
}

impl Opened {
    async fn open(parts: &Arc<Parts>, file: usize, folders: &Arc<[Folder]>) -> Result<Self> {
        let (parts, folders) = (Arc::clone(parts), Arc::clone(folders));
        blocking(move || {
            let (path, format, copy) = match parts.source.local(&parts.files[file].name) {
                Some(path) if folders.is_empty() => (path, FrameFormat::Parquet, None),
                _ if folders.is_empty() => {
                    let copy = fetched(&parts, file)?;
                    (copy.to_path_buf(), FrameFormat::Parquet, Some(copy))
                }
                _ => {
                    let copy = with_folders(&parts, file, &folders)?;
                    (copy.to_path_buf(), FrameFormat::Arrow, Some(copy))
                }
            };
            let frame = Frame::open(path, format, &TextSettings::default());
            let frame = frame.map_err(|error| error.at(parts.source.at(&parts.files[file].name)))?;
            Ok(Self { frame, copy })
        })
        .await
    }
}

fn temporary() -> Result<NamedTempFile> {
    NamedTempFile::new().map_err(|error| Error::from(error).at("a temporary file"))
}

/// Copies a file of an object store.
fn fetched(parts: &Parts, file: usize) -> Result<TempPath> {
    let (reader, _) = parts.open_file(file)?;
    let mut copy = temporary()?;
    let mut at = 0;
    while at < reader.len() {
        let len = COPIED_BYTES.min(reader.len() - at);
        std::io::Write::write_all(&mut copy, &reader.read(at, usize::try_from(len).unwrap_or(0))?)?;
        at += len;
    }
    Ok(copy.into_temp_path())
}

/// Copies a file with a column for each field in the names of its folders.
fn with_folders(parts: &Parts, file: usize, folders: &[Folder]) -> Result<TempPath> {
    let place = |error: Error| error.at(parts.source.at(&parts.files[file].name));
    let fetched = if parts.source.local("").is_none() { Some(fetched(parts, file)?) } else { None };
    let path: Option<PathBuf> =
        fetched.as_ref().map(|copy| copy.to_path_buf()).or_else(|| parts.source.local(&parts.files[file].name));
    let source = File::open(path.ok_or_else(|| Error::internal("no file"))?)?;
    let metadata = guarded(|| ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())).map_err(place)?;
    let reader =
        guarded(|| ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata).with_batch_size(COPIED_ROWS).build());
    let mut reader = reader.map_err(place)?;
    let own = arrow_array::RecordBatchReader::schema(&reader);
    if let Some(folder) = folders.iter().find(|folder| own.field_with_name(&folder.name).is_ok()) {
        return Err(place(Error::invalid(format!("column `{}` is in the file and in the names of its folders", folder.name))));
    }
    let types =
        folders.iter().map(|folder| Field::new(&folder.name, if folder.whole { DataType::Int64 } else { DataType::Utf8 }, true));
    let schema: SchemaRef =
        Arc::new(ArrowSchema::new(types.map(Arc::new).chain(own.fields().iter().cloned()).collect::<Vec<_>>()));
    let failed = |error: arrow_schema::ArrowError| Error::unavailable(format!("a temporary file: {error}")).with_source(error);
    let mut writer = FileWriter::try_new(temporary()?, &schema).map_err(failed)?;
    while let Some(batch) = guarded(|| reader.next().transpose()).map_err(place)? {
        let values = folders.iter().zip(&parts.files[file].folders).map(|(folder, (_, value))| -> ArrayRef {
            let rows = std::iter::repeat_n(value.as_deref(), batch.num_rows());
            match folder.whole {
                true => Arc::new(rows.map(|value| value?.parse().ok()).collect::<Int64Array>()),
                false => Arc::new(rows.collect::<StringArray>()),
            }
        });
        let columns = values.chain(batch.columns().iter().cloned()).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(failed)?;
        writer.write(&batch).map_err(failed)?;
    }
    Ok(writer.into_inner().map_err(failed)?.into_temp_path())
}
