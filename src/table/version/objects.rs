//! Finds the objects that versions name. The layouts of a version name its chunks. Each layout object is read once, even if
//! several versions name it, and many layouts are read concurrently.
//!
//! A missing layout is reported and is not an error: the listing may still contain a version that a garbage collection is
//! removing. The objects found for such a version are incomplete.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::table::Table;
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{Manifest, ViewSource, read_layout},
    id::{ChunkId, Hash, ObjectRef},
    store::Store,
    work::offload_large,
};

/// The most requests in flight at a time.
const AT_ONCE: usize = 64;

/// The objects of the table itself that one version names.
#[derive(Clone, Debug, Default)]
pub(in crate::table) struct Named {
    /// Names and sizes of all objects that are not chunks.
    small: BTreeMap<String, u64>,
    /// The chunks of each layout of the version.
    layouts: Vec<Arc<Chunks>>,
    /// Whether a layout object is missing.
    pub(in crate::table) is_missing_layouts: bool,
}

/// The chunks that one layout names.
#[derive(Debug, Default)]
struct Chunks {
    /// Names and sizes of the chunks of the table itself.
    own: Vec<(String, u64)>,
    /// Stored bytes of the blocks in chunks of other tables.
    referenced_bytes: u64,
}

impl Named {
    /// Returns the names and sizes of all objects. A chunk that several layouts name occurs several times.
    pub(in crate::table) fn objects(&self) -> impl Iterator<Item = (&String, u64)> {
        let chunks = self.layouts.iter().flat_map(|layout| &layout.own);
        self.small.iter().chain(chunks.map(|(name, bytes)| (name, bytes))).map(|(name, bytes)| (name, *bytes))
    }

    /// Returns the stored bytes of the blocks that lie in chunks of other tables.
    pub(in crate::table) fn referenced_bytes(&self) -> u64 {
        self.layouts.iter().map(|layout| layout.referenced_bytes).sum()
    }
}

/// Returns the objects that each of these versions names.
///
/// # Errors
/// - `Corrupt`: a layout object exists but is damaged.
/// - Any error of the store.
pub(in crate::table) async fn named(tables: &[Table]) -> Result<Vec<Named>> {
    Layouts::default().named(tables).await
}

/// The layout objects that were read.
#[derive(Default)]
pub(in crate::table) struct Layouts(BTreeMap<LayoutKey, Arc<Chunks>>);

impl Layouts {
    /// Returns the objects that each of these versions names. Reads the layouts that were not read before.
    ///
    /// # Errors
    /// Those of [`named`].
    pub(in crate::table) async fn named(&mut self, tables: &[Table]) -> Result<Vec<Named>> {
        let mut wanted: BTreeMap<LayoutKey, &Table> = BTreeMap::new();
        for table in tables {
            for key in layouts(table.manifest()).filter(|key| !self.0.contains_key(key)) {
                wanted.entry(key).or_insert(table);
            }
        }
        let read = |(key, table): (LayoutKey, &Table)| {
            let table = table.clone();
            async move {
                match chunks(&table, key).await {
                    Ok(chunks) => Ok(Some((key, Arc::new(chunks)))),
                    Err(error) if is_missing(&error) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        };
        let reads: Vec<_> = wanted.into_iter().map(read).collect();
        self.0.extend(together(reads).await?.into_iter().flatten());
        let named = tables.iter().map(|table| {
            let mut named = Named { small: small(table.manifest()).collect(), ..Named::default() };
            for key in layouts(table.manifest()) {
                match self.0.get(&key) {
                    Some(chunks) => named.layouts.push(Arc::clone(chunks)),
                    None => named.is_missing_layouts = true,
                }
            }
            named
        });
        Ok(named.collect())
    }
}

/// Returns the names and sizes of the objects that `manifest` names and `before` does not. Chunks are included if their layout is
/// not one of `before`.
///
/// # Errors
/// - `Corrupt`: a layout object is missing or damaged.
/// - Any error of the store.
pub(in crate::table) async fn new_objects(
    store: &Store,
    manifest: &Manifest,
    before: &Manifest,
) -> Result<BTreeMap<String, u64>> {
    let known: BTreeSet<String> = small(before).map(|(name, _)| name).collect();
    let mut new: BTreeMap<String, u64> = small(manifest).filter(|(name, _)| !known.contains(name)).collect();
    let table = Table::of(store.clone(), manifest.clone(), Hash::of(b""), Vec::new());
    let layouts: BTreeSet<LayoutKey> = layouts(manifest).filter(|key| !known.contains(&key.object().name_in("layout"))).collect();
    let reads: Vec<_> = layouts.into_iter().map(|key| chunks(&table, key)).collect();
    for chunks in together(reads).await? {
        new.extend(chunks.own);
    }
    Ok(new)
}

/// The name of a layout object, and the names and sizes of the table's own chunks that it names, or why it cannot be read.
pub(in crate::table) type ReadLayout = (String, Result<Vec<(String, u64)>>);

/// Reads the layout objects of one version whose names are `wanted`.
///
/// # Errors
/// - Any error of the store that says nothing about the stored bytes.
pub(in crate::table) async fn read_layouts(table: &Table, wanted: impl Fn(&str) -> bool) -> Result<Vec<ReadLayout>> {
    let keys: BTreeSet<LayoutKey> = layouts(table.manifest()).filter(|key| wanted(&key.object().name_in("layout"))).collect();
    let read = |key: LayoutKey| async move {
        match chunks(table, key).await {
            Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
            read => Ok((key.object().name_in("layout"), read.map(|chunks| chunks.own))),
        }
    };
    let reads: Vec<_> = keys.into_iter().map(read).collect();
    together(reads).await
}

/// A layout object and the numbers that are needed to parse it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LayoutKey {
    blake3: Hash,
    bytes: u64,
    columns: usize,
    rows: u64,
    stores: usize,
}

impl LayoutKey {
    fn object(&self) -> ObjectRef {
        ObjectRef { blake3: self.blake3, bytes: self.bytes }
    }
}

fn layouts(manifest: &Manifest) -> impl Iterator<Item = LayoutKey> {
    let stores = manifest.stores.len();
    manifest.segments.iter().flat_map(move |segment| {
        segment.groups.iter().map(move |group| LayoutKey {
            blake3: group.layout.blake3,
            bytes: group.layout.bytes,
            columns: group.columns.len(),
            rows: segment.rows,
            stores,
        })
    })
}

/// Returns the names and sizes of all objects that are not chunks.
pub(in crate::table) fn small(manifest: &Manifest) -> impl Iterator<Item = (String, u64)> {
    let of = |folder: &'static str| move |object: &ObjectRef| (object.name_in(folder), object.bytes);
    let groups = || manifest.segments.iter().flat_map(|segment| &segment.groups);
    let joins = manifest.view.iter().flat_map(|view| &view.sources).flat_map(ViewSource::maps);
    let index = manifest.segments.iter().map(|segment| &segment.index).map(of("index"));
    index
        .chain(groups().map(|group| &group.layout).map(of("layout")))
        .chain(groups().map(|group| &group.hashes).map(of("hashes")))
        .chain(manifest.attachments.values().map(of("attachments")))
        .chain(joins.map(of("joins")))
        .chain(commit::lists_object(manifest).map(|object| (object.name(), object.object.bytes)))
}

async fn chunks(table: &Table, key: LayoutKey) -> Result<Chunks> {
    let bytes = table.object("layout", &key.object()).await?;
    offload_large(bytes.len(), move |_| {
        let (mut chunks, mut last) = (Chunks::default(), None::<ChunkId>);
        for run in read_layout(bytes, key.columns, key.rows, key.stores)? {
            match run.owner {
                0 if last.replace(run.chunk) != Some(run.chunk) => chunks.own.push((run.chunk.object_name(), run.chunk_bytes)),
                0 => {}
                _ => chunks.referenced_bytes += run.stored_bytes(),
            }
        }
        chunks.own.sort_unstable();
        chunks.own.dedup();
        Ok(chunks)
    })
    .await
}

/// The folders of the objects of a table, and of the files of writers.
pub(in crate::table) const FOLDERS: [&str; 10] =
    ["attachments", "chunks", "collections", "hashes", "index", "joins", "layout", "manifests", "pins", "sessions"];

/// Whether a name at the root, with `/` at the end of a folder, is that of a folder of a table.
pub(in crate::table) fn is_folder(name: &str) -> bool {
    name.strip_suffix('/').is_some_and(|folder| FOLDERS.contains(&folder))
}

/// Opens the versions with these numbers, and returns them with the bytes of their manifests. Versions that no longer exist are
/// left out.
///
/// # Errors
/// - `Corrupt`, `Unsupported`: this build cannot read a manifest.
/// - Any error of the store.
pub(in crate::table) async fn open_versions(
    store: &Store,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<Vec<(Table, Bytes)>> {
    let open = |version: u64| async move {
        match commit::load_sealed(store, version).await {
            Ok((manifest, hash, bytes)) => Ok(Some((Table::of(store.clone(), manifest, hash, Vec::new()), bytes))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    };
    let opened: Vec<_> = numbers.into_iter().map(open).collect();
    Ok(together(opened).await?.into_iter().flatten().collect())
}

/// Opens these versions as [`open_versions`] does. Returns apart those whose manifests are damaged, with the error of each.
///
/// # Errors
/// - `Unsupported`: this build cannot read a manifest.
/// - Errors of the store.
pub(in crate::table) async fn readable_versions(
    store: &Store,
    numbers: impl IntoIterator<Item = u64>,
) -> Result<(Vec<(Table, Bytes)>, BTreeMap<u64, Error>)> {
    let open = |version: u64| async move {
        match open_versions(store, [version]).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(Err((version, error))),
            opened => opened.map(Ok),
        }
    };
    let (mut readable, mut damaged) = (Vec::new(), BTreeMap::new());
    for opened in together(numbers.into_iter().map(open)).await? {
        match opened {
            Ok(opened) => readable.extend(opened),
            Err((version, error)) => drop(damaged.insert(version, error)),
        }
    }
    Ok((readable, damaged))
}

/// Runs many futures concurrently and returns their results in order. The first error ends all of them. A future is created when
/// its turn comes, so there may be very many.
pub(in crate::table) async fn together<T>(work: impl IntoIterator<Item = impl Future<Output = Result<T>>>) -> Result<Vec<T>> {
    stream::iter(work).buffered(AT_ONCE).try_collect().await
}

/// Whether an error, or the cause of the error, is `NotFound`.
pub(in crate::table) fn is_missing(error: &Error) -> bool {
    let cause = std::error::Error::source(error).and_then(|source| source.downcast_ref::<Error>());
    error.kind() == ErrorKind::NotFound || cause.is_some_and(is_missing)
}
