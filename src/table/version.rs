//! One version of a table, open for reading.

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use tokio::sync::OnceCell;

use super::{loader::RowLoader, writer::TableWriter};
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{Manifest, index_reader, read_layout, read_sequences},
    id::{Hash, ObjectRef},
    read::{Layout, Sequences},
    schema::Schema,
    store::Store,
    write::WriteOptions,
};

/// One version of a table. Cheap to clone; immutable, so everything read of it stays true.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch, StringArray};
/// use tetrys::{Schema, Table, WriteOptions};
/// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?; let url = folder.path().join("words").display().to_string();
/// let schema = Schema::builder().index("id", "i64").group("text", [("text.word", "utf8")]).build()?;
/// let writer = Table::create(&url, schema, WriteOptions::default()).await?;
/// let mut partition = writer.partition()?;
/// partition.write(&RecordBatch::try_from_iter([
///     ("id", Arc::new(Int64Array::from(vec![1, 2])) as _),
///     ("text.word", Arc::new(StringArray::from(vec!["one", "two"])) as _),
/// ])?).await?;
/// let table = writer.commit([partition.finish().await?]).await?;
/// assert_eq!((table.version(), table.rows()), (1, 2));
/// assert_eq!(Table::open(&url).await?.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    manifest: Manifest,
    hash: Hash,
    layouts: Vec<OnceCell<Arc<Layout>>>,
    sequences: OnceCell<Arc<Sequences>>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("url", &self.url()).field("version", &self.version()).field("rows", &self.rows()).finish()
    }
}

impl Table {
    /// Opens the newest version of the table at `url` (a path, `file://` or `memory://`), or the one that `url@VERSION` names.
    ///
    /// # Errors
    /// `NotFound` where there is no table or no such version; `Corrupt`; errors of the store.
    pub async fn open(url: &str) -> Result<Self> {
        match split_version(url) {
            Some((root, version)) => Self::open_version(Store::open(root)?, version).await,
            None => Self::open_store(Store::open(url)?).await,
        }
    }

    /// Opens the newest version of the table in `store`.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open_store(store: Store) -> Result<Self> {
        match commit::newest_version(&store).await? {
            Some(version) => Self::open_version(store, version).await,
            None => Err(Error::not_found(format!("{}: no table there (no manifest)", store.url()))),
        }
    }

    /// Opens one version of the table in `store`.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open_version(store: Store, version: u64) -> Result<Self> {
        let (manifest, hash) = commit::load(&store, version).await?;
        Ok(Self::of(store, manifest, hash))
    }

    pub(super) fn of(store: Store, manifest: Manifest, hash: Hash) -> Self {
        let layouts = manifest.schema.groups().iter().map(|_| OnceCell::new()).collect();
        Self { inner: Arc::new(Inner { store, manifest, hash, layouts, sequences: OnceCell::new() }) }
    }

    /// Starts a table at `url`; nothing is visible there before [`TableWriter::commit`].
    ///
    /// # Errors
    /// `Exists` where there is a table already; `Invalid` for impossible options and a schema without index columns; errors of the store.
    pub async fn create(url: &str, schema: Schema, options: WriteOptions) -> Result<TableWriter> {
        TableWriter::create(Store::open(url)?, schema, options).await
    }

    /// Where the table lies.
    pub fn url(&self) -> &str {
        self.inner.store.url()
    }

    /// The store of its objects.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// This version's number.
    pub fn version(&self) -> u64 {
        self.inner.manifest.version
    }

    /// Everything the manifest says.
    pub fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    /// The BLAKE3 that ends the manifest.
    pub fn manifest_hash(&self) -> Hash {
        self.inner.hash
    }

    /// Columns and groups.
    pub fn schema(&self) -> &Schema {
        &self.inner.manifest.schema
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.inner.manifest.rows()
    }

    /// A loader of the table's rows by row number, columns all.
    pub fn row_loader(&self) -> RowLoader {
        RowLoader::of_table(self)
    }

    /// The layout of a column group, loaded on first use.
    ///
    /// # Errors
    /// `Corrupt` where a layout object is not what the manifest says; errors of the store.
    pub async fn layout(&self, group: usize) -> Result<Arc<Layout>> {
        let cell = self.inner.layouts.get(group).ok_or_else(|| Error::internal(format!("no column group {group}")))?;
        let load = || async {
            let columns = self.schema().groups()[group].columns.len();
            let mut runs = Vec::new();
            for segment in &self.inner.manifest.segments {
                let stored = &segment.groups[group];
                let bytes = self.object("layout", &stored.layout).await?;
                let place = format!("layout of column group `{}`", self.schema().groups()[group].name);
                let found = read_layout(bytes, columns, segment.rows).map_err(|error| error.at(&place))?;
                let (blocks, bytes) = found.iter().fold((0, 0_u64), |(blocks, bytes), run| {
                    (blocks + run.lengths.len() as u64, bytes.saturating_add(run.stored_bytes()))
                });
                if (found.len() as u64, blocks, bytes) != (stored.runs, stored.blocks, stored.stored_bytes) {
                    return Err(Error::corrupt(format!(
                        "{place}: {} runs of {blocks} blocks in {bytes} bytes, the manifest says {} of {} in {}",
                        found.len(),
                        stored.runs,
                        stored.blocks,
                        stored.stored_bytes
                    )));
                }
                runs.extend(found);
            }
            Ok(Arc::new(Layout::new(runs)))
        };
        cell.get_or_try_init(load).await.map(Arc::clone)
    }

    /// Where the sequences start, loaded on first use.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn sequences(&self) -> Result<Arc<Sequences>> {
        let load = || async { self.sequences_of(&self.index_objects().await?) };
        self.inner.sequences.get_or_try_init(load).await.map(Arc::clone)
    }

    fn sequences_of(&self, objects: &[Bytes]) -> Result<Arc<Sequences>> {
        let segments = &self.inner.manifest.segments;
        let runs = objects.iter().zip(segments).map(|(bytes, segment)| {
            let runs = read_sequences(bytes, segment.rows)?;
            if runs.len() as u64 == segment.sequences {
                return Ok(runs);
            }
            Err(Error::corrupt(format!("index: {} sequences, the manifest says {}", runs.len(), segment.sequences)))
        });
        let runs = runs.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Sequences::new(segments.iter().map(|segment| segment.continues).zip(&runs))))
    }

    /// The index segments, verified.
    pub(super) async fn index_objects(&self) -> Result<Vec<Bytes>> {
        let mut objects = Vec::new();
        for segment in &self.inner.manifest.segments {
            objects.push(self.object("index", &segment.index).await?);
        }
        Ok(objects)
    }

    /// The index columns of every row in table order, as Arrow batches, without a frame.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn index_batches(&self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let mut batches = Vec::new();
        for (bytes, segment) in self.index_objects().await?.into_iter().zip(&self.inner.manifest.segments) {
            batches.push(index_reader(bytes, self.schema(), segment.rows)?);
        }
        Ok(batches.into_iter().flatten())
    }

    /// The index segments for the frame; the sequences are read from them on the way.
    #[cfg(feature = "frame")]
    pub(super) async fn index_objects_and_sequences(&self) -> Result<Vec<Bytes>> {
        let objects = self.index_objects().await?;
        self.inner.sequences.get_or_try_init(|| async { self.sequences_of(&objects) }).await?;
        Ok(objects)
    }

    /// An object that the manifest names, its size and hash checked before anything is made of it.
    pub(super) async fn object(&self, folder: &str, object: &ObjectRef) -> Result<Bytes> {
        let name = match folder {
            "attachments" => format!("attachments/{}", object.blake3),
            _ => format!("{folder}/{}.parquet", object.blake3),
        };
        let bytes = self.inner.store.get_exact(&name, object.bytes).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::corrupt(format!("{}: {name} is missing", self.url())).with_source(error),
            _ => error,
        })?;
        let found = Hash::of(&bytes);
        if found != object.blake3 {
            return Err(Error::corrupt(format!("{}: {name}: blake3 {found}, the manifest says {}", self.url(), object.blake3)));
        }
        Ok(bytes)
    }

    /// The content of an attachment.
    ///
    /// # Errors
    /// `NotFound` for a name that is not attached; as [`Table::layout`].
    pub async fn attachment(&self, name: &str) -> Result<Bytes> {
        let object = self.inner.manifest.attachments.get(name);
        self.object("attachments", object.ok_or_else(|| Error::not_found(format!("no attachment `{name}`")))?).await
    }
}

/// `url@7` as root and version.
fn split_version(url: &str) -> Option<(&str, u64)> {
    let (root, version) = url.rsplit_once('@')?;
    let canonical = !root.is_empty() && !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit());
    canonical.then(|| version.parse().ok())?.map(|version| (root, version))
}
