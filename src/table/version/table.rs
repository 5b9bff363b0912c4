//! A table version, opened for reading.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
};

use arrow_array::ArrayRef;
use bytes::Bytes;
use futures::{
    FutureExt,
    stream::{self, StreamExt, TryStreamExt},
};
use uuid::Uuid;

use super::{
    layout_cache::Layouts,
    seen::{ViewRows, seen_schema},
    tail_cache::Tails,
    url::TableUrl,
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted, short},
    format::{ForeignTable, Manifest, PackedLengths, Segment, SequenceKey, manifest_name, read_sequences},
    id::{Hash, ObjectRef},
    read::{GroupPlan, Sequences, Times},
    schema::{ColumnId, Schema},
    store::{Place, Store, StoreOptions, Stores, how_to_allow},
    work::{Once, offload_large},
};

/// The most metadata objects that are read at a time. Every object stays in memory until the last one has arrived.
pub(in crate::table) const OBJECTS_AT_ONCE: usize = 16;

/// One version of a table. A version is immutable, and the handle is cheap to clone.
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
///
/// A change of a table is a future that commits a version in the end. One that is dropped before it ends has committed, or has not, or
/// a request that is under way still commits it: as if the process had died. The versions tell ([`Versions::list`](crate::table::Versions::list)), and a later
/// change of the same handle that meets such a version as a conflict says so.
#[derive(Clone)]
pub struct Table {
    pub(in crate::table) inner: Arc<Inner>,
}

pub(in crate::table) struct Inner {
    store: Store,
    manifest: Manifest,
    schema: Schema,
    hash: Hash,
    pub(in crate::table) layouts: Layouts,
    sequences: Once<Arc<Sequences>>,
    /// The tails of index segments that were read.
    pub(in crate::table) tails: Tails,
    /// The keys of the last row.
    pub(in crate::table) last_row: Once<(SequenceKey, SequenceKey)>,
    /// The times of each index column that a time window has used.
    pub(in crate::table) times: Mutex<BTreeMap<ColumnId, Arc<Times>>>,
    /// The values of each index column that a row loader has read.
    pub(in crate::table) index_values: Mutex<BTreeMap<ColumnId, Arc<Once<ArrayRef>>>>,
    /// The bytes that loaders have read for index values of single rows, as an estimate.
    pub(in crate::table) spent_on_rows: AtomicU64,
    /// The store of each entry of the manifest's `stores`.
    pub(in crate::table) foreign: Vec<Once<Store>>,
    /// URLs below which absolute references to other tables are followed, in addition to those of the store's options.
    pub(in crate::table) allowed: Vec<String>,
    /// Whether new versions may be written although no pin can be left at a table whose chunks they use.
    pub(in crate::table) allow_unpinned: bool,
    /// Ids of the commits that were claimed for changes of this handle.
    claimed: Mutex<BTreeSet<Uuid>>,
    /// The tables of the sources of a view.
    pub(in crate::table) sources: Once<Arc<[Table]>>,
    /// The rows of the sources of a view.
    pub(in crate::table) view: Once<Arc<ViewRows>>,
}

/// Returns the run lengths of the sequences of a segment, which its index object records.
pub(in crate::table) fn recorded_sequences(index: &Bytes, segment: &Segment) -> Result<PackedLengths> {
    let runs = read_sequences(index, segment.rows)?;
    if runs.len() as u64 == segment.sequences {
        return Ok(runs);
    }
    Err(Error::corrupt(format!("index: {}, the manifest says {}", counted(runs.len(), "sequence"), segment.sequences)))
}

/// The longest URL that is followed, in bytes.
const MAX_URL: usize = 4096;

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("url", &self.url()).field("version", &self.version()).field("rows", &self.rows()).finish()
    }
}

impl Table {
    /// The ids of the commits that were claimed for changes of this handle.
    pub(in crate::table) fn claimed(&self) -> MutexGuard<'_, BTreeSet<Uuid>> {
        // No code panics while it holds the lock; even then the value would be complete.
        self.inner.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a version of the table at `url`, a path or any URL that [`Store::open_with`] accepts. `url@VERSION` opens that
    /// version, `url@TAG` opens the version with that tag, and `url` alone opens the newest version.
    ///
    /// A folder may have a name such as `drives@3`. With a slash at its end, `drives@3/` is always that folder. Without it, version
    /// 3 of the table `drives` comes first, then the table in the folder. For a name that is no number, the folder comes first,
    /// then the tag.
    ///
    /// # Errors
    /// - `NotFound`: there is no table, no such version or no such tag.
    /// - `Corrupt`: the manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know, or the store cannot list its objects and `url`
    ///   names no version.
    /// - Any error of the store.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &StoreOptions::from_env()).await
    }

    /// Opens a version of the table at `url` like [`Table::open`], with these options of the store.
    ///
    /// # Errors
    /// - `Invalid`: an option is malformed, or the options contradict each other.
    /// - `NotFound`: there is no table, no such version or no such tag.
    /// - `Corrupt`: the manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know, or the store cannot list its objects and `url`
    ///   names no version.
    /// - Any error of the store.
    ///
    /// ```no_run
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tetrys::{StoreOptions, Table};
    /// let options = StoreOptions::new([("endpoint", "http://127.0.0.1:9000"), ("aws_profile", "minio")]);
    /// let table = Table::open_with("s3://bucket/drives@7", &options).await?;
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    pub async fn open_with(url: &str, options: &StoreOptions) -> Result<Self> {
        let store = |url: &str| Store::open_with(url, options);
        let named = TableUrl::new(url);
        if let Some(version) = named.version() {
            // A folder may have the name `labels@7`.
            return match Self::open_version_in(store(named.root())?, version).await {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let folder = Self::open_in(store(url)?).await;
                    folder.map_err(|other| if other.kind() == ErrorKind::Corrupt { other } else { error })
                }
                opened => opened,
            };
        }
        // A folder may have the name `labels@v7`. If the folder holds a table, the text after `@` is not a tag.
        match (Self::open_in(store(url)?).await, named.tag()) {
            (Err(error), Some(tag)) if error.kind() == ErrorKind::NotFound => Self::open_tag_in(store(named.root())?, tag).await,
            (opened, _) => opened,
        }
    }

    /// Opens the version of the table in `store` that has this tag. The newest version lists the tags.
    ///
    /// # Errors
    /// - `NotFound`: there is no table or no such tag; the message lists the tags.
    /// - `Corrupt`: a manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know, or the store cannot list its objects.
    /// - Any error of the store.
    pub async fn open_tag_in(store: Store, tag: &str) -> Result<Self> {
        let newest = Self::open_in(store.clone()).await?;
        match newest.manifest().tags.get(tag) {
            Some(version) => Self::open_version_in(store, *version).await,
            None => {
                let tags: Vec<&str> = newest.manifest().tags.keys().map(String::as_str).collect();
                let known = if tags.is_empty() { "it has none".to_owned() } else { format!("it has {}", tags.join(", ")) };
                Err(Error::not_found(format!("{}: no tag `{tag}`; {known}", store.url())))
            }
        }
    }

    /// Opens the newest version of the table in `store`.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Corrupt`: the manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know, or the store cannot list its objects.
    /// - Any error of the store.
    #[tracing::instrument(level = "debug", name = "open", skip_all, fields(url = store.url()))]
    pub async fn open_in(store: Store) -> Result<Self> {
        let newest = commit::load_newest(&store).await.map_err(|error| match error.kind() {
            ErrorKind::Unsupported if !store.lists() => Error::unsupported(format!("{error}; name the version, as in URL@7")),
            _ => error,
        });
        match newest? {
            Some((manifest, hash)) => Ok(Self::of(store, manifest, hash, Vec::new())),
            None => Err(Error::not_found(format!("{}: no table there (no manifest)", store.url()))),
        }
    }

    /// Opens one version of the table in `store`.
    ///
    /// # Errors
    /// - `NotFound`: there is no such version. The message says which versions exist.
    /// - `Corrupt`: the manifest is damaged.
    /// - `Unsupported`: the version needs a feature that this build does not know.
    /// - Any error of the store.
    #[tracing::instrument(level = "debug", name = "open", skip_all, fields(url = store.url(), version))]
    pub async fn open_version_in(store: Store, version: u64) -> Result<Self> {
        let (manifest, hash) = match commit::load(&store, version).await {
            // Another error says that there is no such bucket.
            Err(error)
                if error.kind() == ErrorKind::NotFound && error.to_string().ends_with(&format!("no version {version}")) =>
            {
                return Err(commit::no_version(&store, version).await);
            }
            loaded => loaded?,
        };
        Ok(Self::of(store, manifest, hash, Vec::new()))
    }

    pub(in crate::table) fn of(store: Store, manifest: Manifest, hash: Hash, allowed: Vec<String>) -> Self {
        let layouts = Layouts::new(manifest.schema.groups().len());
        let foreign = manifest.stores.iter().map(|_| Once::default()).collect();
        Self {
            inner: Arc::new(Inner {
                store,
                schema: seen_schema(&manifest),
                manifest,
                hash,
                layouts,
                sequences: Once::default(),
                tails: Tails::default(),
                last_row: Once::default(),
                times: Mutex::default(),
                index_values: Mutex::default(),
                spent_on_rows: AtomicU64::new(0),
                foreign,
                allowed,
                allow_unpinned: false,
                claimed: Mutex::default(),
                sources: Once::default(),
                view: Once::default(),
            }),
        }
    }

    /// Returns the same version, which also follows references to absolute URLs at or below one of `urls`.
    ///
    /// `s3://bucket/team` allows `s3://bucket/team/sensors`, but not `s3://bucket/teams` or `s3://bucket/team/../other`. URLs
    /// that were allowed before stay allowed. [`StoreOptions::allow`] allows URLs for all tables that are opened with the
    /// options.
    ///
    /// Relative references, which lead to neighbours of this table, are always followed. All other URLs in a table are followed
    /// only if they are allowed.
    pub fn allow<P: Into<String>>(&self, urls: impl IntoIterator<Item = P>) -> Self {
        let mut allowed: Vec<String> = self.inner.allowed.iter().cloned().chain(urls.into_iter().map(Into::into)).collect();
        allowed.sort_unstable();
        allowed.dedup();
        self.with(allowed, self.inner.allow_unpinned)
    }

    /// Returns the URLs that [`Table::allow`] allowed for this handle, without those of the store's options.
    pub fn allowed(&self) -> &[String] {
        &self.inner.allowed
    }

    /// Returns the same version, with permission to write new versions that leave no pin at a table whose chunks they use. A pin
    /// cannot be left if that table is read-only or cannot be reached.
    ///
    /// Without a pin, a garbage collection of that table may delete the chunks later. Without this permission, such a change is
    /// an error.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let labels = Table::open("/data/labels").await?; // uses chunks below /archive, which cannot be written to
    /// labels.allow_unpinned().edit().set_property("license", "CC0").commit().await?;
    /// # Ok(()) }
    /// ```
    pub fn allow_unpinned(&self) -> Self {
        self.with(self.inner.allowed.clone(), true)
    }

    /// Returns this version with the settings of another handle.
    pub(in crate::table) fn like(&self, other: &Self) -> Self {
        self.with(other.inner.allowed.clone(), other.inner.allow_unpinned)
    }

    fn with(&self, allowed: Vec<String>, allow_unpinned: bool) -> Self {
        let mut same = Self::of(self.inner.store.clone(), self.inner.manifest.clone(), self.inner.hash, allowed);
        Arc::get_mut(&mut same.inner).into_iter().for_each(|inner| inner.allow_unpinned = allow_unpinned);
        same
    }

    /// Returns the store that holds the chunks of an owner: 0 is this table, k is the k-th of the manifest's `stores`.
    ///
    /// # Errors
    /// - `Denied`: a URL of the owner is not allowed, and no other URL leads to the table.
    /// - `NotFound`: no URL leads to the version with the expected manifest hash.
    /// - Any error of the store.
    pub(in crate::table) async fn store_of(&self, owner: u32) -> Result<Store> {
        let Some(number) = (owner as usize).checked_sub(1) else { return Ok(self.inner.store.clone()) };
        let cell = self.inner.foreign.get(number).ok_or_else(|| Error::internal(format!("no store {owner}")))?;
        let table = self.clone();
        let open =
            || async move { table.open_foreign(&table.inner.manifest.stores[number]).await.map(|(store, _)| store) }.boxed();
        cell.get_or_load(open).await
    }

    /// Opens a referenced table at the first URL that is allowed and has the manifest with the expected hash. Returns the store
    /// and the bytes of the manifest.
    ///
    /// # Errors
    /// - `Denied`: a URL is not allowed, and no other URL leads to the table.
    /// - `NotFound`: no URL leads to the version with the expected manifest hash.
    /// - Any error of the store.
    pub(in crate::table) async fn open_foreign(&self, foreign: &ForeignTable) -> Result<(Store, Bytes)> {
        let place = || format!("{}: referenced table {} version {}", self.url(), foreign.table, foreign.version);
        let mut refused: Vec<Error> = Vec::new();
        for url in &foreign.urls {
            let opened = async {
                let store = self.inner.store.open_other(&self.followed(url)?)?;
                let (bytes, found) = commit::sealed(&store, foreign.version).await?;
                match found == foreign.blake3 {
                    true => Ok((store, bytes)),
                    false => Err(Error::not_found(format!(
                        "{}: version {} there has the manifest hash {found}, expected {}",
                        store.url(),
                        foreign.version,
                        foreign.blake3
                    ))),
                }
            };
            match opened.await {
                Ok(found) => return Ok(found),
                // A malformed stored URL is not an invalid argument of the caller.
                Err(error) if error.kind() == ErrorKind::Invalid => refused.push(Error::denied(error.to_string())),
                Err(error) => refused.push(error),
            }
        }
        // The caller can act on a URL that is not allowed, so that error is reported before any other.
        let place_of =
            refused.iter().position(|error| error.kind() == ErrorKind::Denied).unwrap_or(refused.len().saturating_sub(1));
        let first = if refused.is_empty() { Error::not_found("no URL") } else { refused.swap_remove(place_of) };
        Err(first.at(place()))
    }

    /// Resolves a stored URL to the URL that is opened: a neighbour of this table, or an absolute URL that is allowed.
    ///
    /// # Errors
    /// - `Denied`: the URL is not allowed, or malformed.
    pub(in crate::table) fn followed(&self, stored: &str) -> Result<String> {
        if !stored.contains("://") {
            // The message has a short form of the URL, because the URL may be long.
            if stored.len() > MAX_URL || stored.contains('%') && Place::of(&format!("file:///{stored}")).is_err() {
                return Err(Error::denied(format!("{}: the URL has encoded separators or over {MAX_URL} bytes", short(stored))));
            }
            return self.inner.store.neighbour(stored);
        }
        let place = Place::of(stored)?;
        let given = self.inner.allowed.iter().map(|url| Place::meant(url)).collect::<Result<Vec<_>>>()?;
        if self.inner.store.allows(&place) || given.iter().flatten().any(|allowed| allowed.holds(&place)) {
            return url::Url::parse(stored).map(String::from).map_err(|error| Error::denied(error.to_string()));
        }
        Err(Error::denied(format!("{stored} is in another store and not allowed; {}", how_to_allow(stored))))
    }

    /// Returns the stores that the plans of some groups read from.
    pub(in crate::table) async fn stores_of(&self, groups: &[GroupPlan]) -> Result<Stores> {
        let mut stores = Stores::default();
        let mut last = None;
        for range in groups.iter().flat_map(|group| &group.ranges) {
            if last != Some(range.owner) && !stores.has(range.owner) {
                stores.add(range.owner, self.store_of(range.owner).await?);
            }
            last = Some(range.owner);
        }
        Ok(stores)
    }

    /// Returns the URL of the table's root.
    pub fn url(&self) -> &str {
        self.inner.store.url()
    }

    /// Returns the store that holds the objects of the table.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Returns the number of this version.
    pub fn version(&self) -> u64 {
        self.inner.manifest.version
    }

    internal! {
        /// Returns the manifest.
        fn manifest(&self) -> &Manifest {
            &self.inner.manifest
        }
    }

    /// Returns the BLAKE3 at the end of the manifest.
    pub fn manifest_hash(&self) -> Hash {
        self.inner.hash
    }

    /// Returns the columns and column groups of the version, as a reader sees them.
    ///
    /// A view shows its index columns, and one group for each source table with the columns that are read from there. The
    /// manifest has the schema that is stored.
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.inner.manifest.rows()
    }

    /// Returns the sequences of the table, loaded on first use.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: an index object is missing or differs from what the manifest says.
    /// - Any error of the store.
    pub async fn sequences(&self) -> Result<Arc<Sequences>> {
        let table = self.clone();
        let load = || {
            async move {
                match table.sequences_of_tails().await? {
                    Some(sequences) => Ok(sequences),
                    None => table.decode_sequences(table.index_objects().await?).await,
                }
            }
            .boxed()
        };
        self.inner.sequences.get_or_load(load).await
    }

    async fn decode_sequences(&self, objects: Vec<Bytes>) -> Result<Arc<Sequences>> {
        let table = self.clone();
        offload_large(self.index_work(&objects, 1), move |_| table.sequences_of(&objects)).await
    }

    /// Estimates the work of decoding a number of index columns, in bytes.
    pub(in crate::table) fn index_work(&self, objects: &[Bytes], columns: usize) -> usize {
        let rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        objects.iter().map(Bytes::len).sum::<usize>().max(rows.saturating_mul(8).saturating_mul(columns))
    }

    fn sequences_of(&self, objects: &[Bytes]) -> Result<Arc<Sequences>> {
        let (segments, (firsts, places)) = (&self.inner.manifest.segments, self.distinct_indexes());
        let runs = firsts.into_iter().map(|number| recorded_sequences(&objects[number], &segments[number]));
        let runs = runs.collect::<Result<Vec<_>>>()?;
        let runs = places.into_iter().map(|place| &runs[place]);
        Ok(Arc::new(Sequences::new(segments.iter().map(|segment| segment.continues).zip(runs))))
    }

    /// Returns the first of the segments with the same index object, for each such object, and for each segment the place of its
    /// object among these. A manifest of a few bytes may name one object many times.
    pub(in crate::table) fn distinct_indexes(&self) -> (Vec<usize>, Vec<usize>) {
        let (mut firsts, mut seen) = (Vec::new(), BTreeMap::new());
        let place = |(number, segment): (usize, &Segment)| {
            let tail = segment.tail.as_ref().map(|tail| tail.blake3);
            *seen.entry((segment.index.blake3, segment.index.bytes, segment.rows, segment.sequences, tail)).or_insert_with(|| {
                firsts.push(number);
                firsts.len() - 1
            })
        };
        let places = self.inner.manifest.segments.iter().enumerate().map(place).collect();
        (firsts, places)
    }

    /// Checks that the system has memory for so many bytes for each row. A manifest of a few bytes can claim 2^48 rows.
    ///
    /// # Errors
    /// - `Unsupported`: the system does not have the memory.
    pub(in crate::table) fn fits_in_memory(&self, bytes_of_row: u64) -> Result<()> {
        let bytes = self.rows().saturating_mul(bytes_of_row);
        match usize::try_from(bytes).is_ok_and(|bytes| Vec::<u8>::new().try_reserve_exact(bytes).is_ok()) {
            true => Ok(()),
            false => Err(Error::unsupported(format!(
                "{} version {}: {} need {} of memory, which the system does not have",
                self.url(),
                self.version(),
                counted(self.rows(), "row"),
                counted(bytes, "byte")
            ))),
        }
    }

    /// Reads and verifies the index objects of all segments, in order.
    pub(in crate::table) async fn index_objects(&self) -> Result<Vec<Bytes>> {
        self.objects_of("index", self.inner.manifest.segments.iter().map(|segment| segment.index.clone())).await
    }

    /// Keeps the sequences, given by the run lengths of all segments, unless they are loaded already.
    #[cfg(feature = "frame")]
    pub(in crate::table) fn keep_sequences(&self, runs: &[PackedLengths]) {
        if self.inner.sequences.get().is_none() {
            let continues = self.inner.manifest.segments.iter().map(|segment| segment.continues);
            self.inner.sequences.set(Arc::new(Sequences::new(continues.zip(runs))));
        }
    }

    /// Reads several objects concurrently and returns them in order. An object that is named several times is read once.
    pub(in crate::table) async fn objects_of(
        &self,
        folder: &str,
        objects: impl Iterator<Item = ObjectRef>,
    ) -> Result<Vec<Bytes>> {
        let (mut distinct, mut seen) = (Vec::new(), BTreeMap::new());
        let place = |object: ObjectRef| {
            *seen.entry((object.blake3, object.bytes)).or_insert_with(|| {
                distinct.push(object);
                distinct.len() - 1
            })
        };
        let places: Vec<usize> = objects.map(place).collect();
        let reads: Vec<_> = distinct.into_iter().map(|object| async move { self.object(folder, &object).await }).collect();
        let read: Vec<Bytes> = stream::iter(reads).buffered(OBJECTS_AT_ONCE).try_collect().await?;
        Ok(places.into_iter().map(|place| read[place].clone()).collect())
    }

    /// Returns the sequences if they are loaded.
    pub(in crate::table) fn sequences_now(&self) -> Option<Arc<Sequences>> {
        self.inner.sequences.get().map(Arc::clone)
    }

    /// Checks that this build may write the next version.
    ///
    /// # Errors
    /// - `Unsupported`: the version has a write feature that this build does not know.
    pub(in crate::table) fn next_version_may_be_written(&self) -> Result<()> {
        match self.manifest().write_features.first() {
            Some(feature) => Err(Error::unsupported(format!(
                "{} version {}: write feature `{feature}` is not known to this build: a newer one must write the next version",
                self.url(),
                self.version()
            ))),
            None => Ok(()),
        }
    }

    /// Reads an object that the manifest names, and verifies its size and hash.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the object is missing, or has another size or hash than the manifest says.
    /// - Any error of the store.
    pub(in crate::table) async fn object(&self, folder: &str, object: &ObjectRef) -> Result<Bytes> {
        let name = object.name_in(folder);
        let checked = |store: Store| {
            let name = name.clone();
            async move {
                let bytes = store.get_exact(&name, object.bytes).await?;
                // Hashing is about four times as fast as decoding, so it counts as a quarter of the bytes.
                let hashed = bytes.clone();
                let found = offload_large(bytes.len() / 4, move |_| Ok(Hash::of(&hashed))).await?;
                match found == object.blake3 {
                    true => Ok(bytes),
                    false => {
                        let (url, expected) = (self.url(), object.blake3);
                        Err(Error::corrupt(format!("{url}: {name}: blake3 {found}, the manifest says {expected}")))
                    }
                }
            }
        };
        match self.inner.store.verified(checked).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(&name, error).await),
            found => found,
        }
    }

    /// Returns the error for a missing object of this version: `Conflict` if a garbage collection has deleted the version since
    /// it was opened, `Corrupt` otherwise.
    pub(in crate::table) async fn missing(&self, name: &str, error: Error) -> Error {
        match self.collected(std::iter::once(0)).await {
            Some(collected) => collected,
            None => Error::corrupt(format!("{}: {name} is missing", self.url())),
        }
        .with_source(error)
    }

    /// Returns `Conflict` if a garbage collection has deleted this version since it was opened, or the version that it refers to in
    /// the table of one of these owners of chunks. Owner 0 is this table.
    pub(in crate::table) async fn collected(&self, owners: impl IntoIterator<Item = u32>) -> Option<Error> {
        let is_gone = |store: Store, version: u64| async move {
            store.size(&manifest_name(version)).await.is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let (url, version) = (self.url(), self.version());
        if is_gone(self.inner.store.clone(), version).await {
            let message = format!("{url}: version {version} was deleted by a garbage collection; open the newest version");
            return Some(Error::conflict(message));
        }
        for owner in owners {
            let foreign = (owner as usize).checked_sub(1).and_then(|number| self.manifest().stores.get(number));
            if let (Some(foreign), Ok(store)) = (foreign, self.store_of(owner).await)
                && is_gone(store.clone(), foreign.version).await
            {
                return Some(Error::conflict(format!(
                    "{url} version {version} reads chunks of {} version {}, which a garbage collection there has deleted: make this \
                     table anew from the newest version there",
                    store.url(),
                    foreign.version
                )));
            }
        }
        None
    }

    /// Returns the content of an attachment.
    ///
    /// # Errors
    /// - `NotFound`: the version has no attachment of this name.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the attachment is missing or differs from what the manifest says.
    /// - Any error of the store.
    pub async fn attachment(&self, name: &str) -> Result<Bytes> {
        let object = self.inner.manifest.attachments.get(name);
        self.object("attachments", object.ok_or_else(|| Error::not_found(format!("no attachment `{name}`")))?).await
    }
}
