//! One version of a table, open for reading.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use futures::{
    FutureExt,
    stream::{self, StreamExt, TryStreamExt},
};

use super::seen::{ViewRows, seen_columns, seen_schema};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted, short},
    format::{
        ForeignTable, LayoutRun, Manifest, Segment, index_columns_reader, is_tag, manifest_name, read_layout, read_sequences,
    },
    id::{Hash, ObjectRef},
    offload::offload_large,
    once::Once,
    read::{Layout, ReadPlan, Sequences, Times},
    schema::{ColumnId, Schema},
    store::{Place, Store, StoreOptions, how_to_allow},
};

/// Objects that are read at a time: each is held whole until the last one is there.
const OBJECTS_AT_ONCE: usize = 16;

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
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    store: Store,
    manifest: Manifest,
    schema: Schema,
    hash: Hash,
    layouts: Vec<Once<Arc<Layout>>>,
    /// Errors of layouts that were loaded ahead. The next reader of the layout gets them.
    damaged_ahead: Mutex<BTreeMap<usize, Error>>,
    sequences: Once<Arc<Sequences>>,
    /// One for each index column that windows in time asked for.
    pub(super) times: Mutex<BTreeMap<ColumnId, Arc<Times>>>,
    /// One for each index column that rows were read with.
    pub(super) index_values: Mutex<BTreeMap<ColumnId, Arc<Once<ArrayRef>>>>,
    /// One for each of the manifest's `stores`.
    foreign: Vec<Once<Store>>,
    /// Where absolute URLs of other tables may lead, beside what the options of the store allow.
    pub(super) allowed: Vec<String>,
    /// Whether versions may be made of it although a table that they use cannot be told so.
    pub(super) allow_unpinned: bool,
    /// Of a view: the tables of its sources, and the rows of them.
    pub(super) sources: Once<Arc<[Table]>>,
    pub(super) view: Once<Arc<ViewRows>>,
}

/// Bytes of the longest URL that is followed.
const MAX_URL: usize = 4096;

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("url", &self.url()).field("version", &self.version()).field("rows", &self.rows()).finish()
    }
}

impl Table {
    /// Opens the newest version of the table at `url` (a path or any URL of [`Store::open_with`]), or the one that `url@VERSION`
    /// or `url@TAG` names.
    ///
    /// # Errors
    /// `NotFound` where there is no table, no such version or no such tag; `Corrupt`; errors of the store.
    pub async fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &StoreOptions::from_env()).await
    }

    /// As [`Table::open`], the store being reached as `options` say.
    ///
    /// # Errors
    /// As [`Table::open`]; `Invalid` for options that cannot be.
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
        match split_name(url) {
            Some((root, name)) => match name.parse() {
                Ok(version) => Self::open_version(store(root)?, version).await,
                // A folder may be called `labels@v7`: it is one if there is a table.
                Err(_) => match Self::open_store(store(url)?).await {
                    Err(error) if error.kind() == ErrorKind::NotFound => Self::open_tag(store(root)?, name).await,
                    opened => opened,
                },
            },
            None => Self::open_store(store(url)?).await,
        }
    }

    /// Opens the version of the table in `store` that has this tag in the newest one.
    ///
    /// # Errors
    /// `NotFound` for a tag that is not there, naming those that are; as [`Table::open`].
    pub async fn open_tag(store: Store, tag: &str) -> Result<Self> {
        let newest = Self::open_store(store.clone()).await?;
        match newest.manifest().tags.get(tag) {
            Some(version) => Self::open_version(store, *version).await,
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
    /// As [`Table::open`].
    pub async fn open_store(store: Store) -> Result<Self> {
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
    /// As [`Table::open`].
    pub async fn open_version(store: Store, version: u64) -> Result<Self> {
        let (manifest, hash) = commit::load(&store, version).await?;
        Ok(Self::of(store, manifest, hash, Vec::new()))
    }

    pub(super) fn of(store: Store, manifest: Manifest, hash: Hash, allowed: Vec<String>) -> Self {
        let layouts = manifest.schema.groups().iter().map(|_| Once::default()).collect();
        let foreign = manifest.stores.iter().map(|_| Once::default()).collect();
        Self {
            inner: Arc::new(Inner {
                store,
                schema: seen_schema(&manifest),
                manifest,
                hash,
                layouts,
                damaged_ahead: Mutex::default(),
                sequences: Once::default(),
                times: Mutex::default(),
                index_values: Mutex::default(),
                foreign,
                allowed,
                allow_unpinned: false,
                sources: Once::default(),
                view: Once::default(),
            }),
        }
    }

    /// The same version, which may also follow references to absolute URLs at or below one of `urls`: `s3://bucket/team`
    /// allows `s3://bucket/team/sensors`, and neither `s3://bucket/teams` nor `s3://bucket/team/../other`. What was allowed
    /// before stays so. [`StoreOptions::allow`] says it for all tables that are opened with the options.
    ///
    /// Relative references, into neighbours of this table, are followed always; nothing else that a stored byte names is.
    pub fn allow<P: Into<String>>(&self, urls: impl IntoIterator<Item = P>) -> Self {
        let (store, manifest) = (self.inner.store.clone(), self.inner.manifest.clone());
        let mut allowed: Vec<String> = self.inner.allowed.iter().cloned().chain(urls.into_iter().map(Into::into)).collect();
        allowed.sort_unstable();
        allowed.dedup();
        Self::of(store, manifest, self.inner.hash, allowed).unpinned_if(self.inner.allow_unpinned)
    }

    /// The URLs that this handle was [allowed](Table::allow), beside those of its store's options.
    pub fn allowed(&self) -> &[String] {
        &self.inner.allowed
    }

    /// The URLs in other stores that a reader of this version has to [allow](StoreOptions::allow): those by which it refers to
    /// tables that are no neighbours of it, and of a view those of the tables behind it, as far as they can be opened.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{StoreOptions, Table};
    /// let options = StoreOptions::from_env().allow(["s3://lab/sensors"]);
    /// let view = Table::open_with("/data/labelled", &options).await?;
    /// assert_eq!(view.must_allow().await, ["s3://lab/sensors"]);
    /// # Ok(()) }
    /// ```
    pub async fn must_allow(&self) -> Vec<String> {
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut tables = vec![self.clone()];
        while let Some(table) = tables.pop() {
            if !seen.insert((table.manifest().table, table.version())) {
                continue;
            }
            // The first URL is where the table was last known to lie.
            let first = table.manifest().stores.iter().filter_map(|foreign| foreign.urls.first());
            found.extend(first.filter(|url| url.contains("://")).cloned());
            // Of a table that cannot be opened it is not known where it leads.
            tables.extend(table.sources().await.iter().flat_map(|sources| sources.iter().cloned()));
        }
        found.into_iter().collect()
    }

    /// The same version, of which others may be made although a table whose chunks they use cannot be told so: it is read-only, or
    /// out of reach. A garbage collection there may delete the chunks later. Without this, such a change is an error.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::Table;
    /// let labels = Table::open("/data/labels").await?; // uses chunks below /archive, which cannot be written to
    /// labels.allow_unpinned().edit().set_property("license", "CC0").commit().await?;
    /// # Ok(()) }
    /// ```
    pub fn allow_unpinned(&self) -> Self {
        let (store, manifest) = (self.inner.store.clone(), self.inner.manifest.clone());
        Self::of(store, manifest, self.inner.hash, self.inner.allowed.clone()).unpinned_if(true)
    }

    fn unpinned_if(mut self, allowed: bool) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.allow_unpinned = allowed;
        }
        self
    }

    /// The store that holds the chunks of an owner: 0 is this table, k the k-th of the manifest's `stores`.
    ///
    /// # Errors
    /// `Denied` where no URL of it may be followed; errors of opening it.
    pub(super) async fn store_of(&self, owner: u32) -> Result<Store> {
        let Some(number) = (owner as usize).checked_sub(1) else { return Ok(self.inner.store.clone()) };
        let cell = self.inner.foreign.get(number).ok_or_else(|| Error::internal(format!("no store {owner}")))?;
        let table = self.clone();
        let open =
            || async move { table.open_foreign(&table.inner.manifest.stores[number]).await.map(|(store, _)| store) }.boxed();
        cell.get_or_load(open).await
    }

    /// The first of its URLs that may be followed and has the very manifest; with the bytes of that.
    pub(super) async fn open_foreign(&self, foreign: &ForeignTable) -> Result<(Store, Bytes)> {
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
                // What is wrong with a stored URL is no mistake of the caller.
                Err(error) if error.kind() == ErrorKind::Invalid => refused.push(Error::denied(error.to_string())),
                Err(error) => refused.push(error),
            }
        }
        // What the caller can change comes first: a URL to allow, before one where there is nothing.
        let place_of =
            refused.iter().position(|error| error.kind() == ErrorKind::Denied).unwrap_or(refused.len().saturating_sub(1));
        let first = if refused.is_empty() { Error::not_found("no URL") } else { refused.swap_remove(place_of) };
        Err(first.at(place()))
    }

    /// The URL that is opened for a stored one: a neighbour, or what lies below one of those that are allowed.
    fn followed(&self, stored: &str) -> Result<String> {
        if !stored.contains("://") {
            // Not shown whole: it may be long.
            if stored.len() > MAX_URL || stored.contains('%') && Place::of(&format!("file:///{stored}")).is_err() {
                return Err(Error::denied(format!("{}: a URL with masked separators, or over {MAX_URL} bytes", short(stored))));
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

    /// The stores that a plan reads from, by owner.
    pub(super) async fn stores_of(&self, plan: &ReadPlan) -> Result<BTreeMap<u32, Store>> {
        let mut stores = BTreeMap::new();
        for range in plan.groups.iter().flat_map(|group| &group.ranges) {
            if let Entry::Vacant(owner) = stores.entry(range.owner) {
                owner.insert(self.store_of(range.owner).await?);
            }
        }
        Ok(stores)
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

    /// The manifest.
    #[cfg(feature = "unstable")]
    pub fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    #[cfg(not(feature = "unstable"))]
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.inner.manifest
    }

    /// The BLAKE3 that ends the manifest.
    pub fn manifest_hash(&self) -> Hash {
        self.inner.hash
    }

    /// Columns and groups. Those of a view are its index and, for each table behind it, a group with the columns that are read
    /// from there; the manifest has what is stored.
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }

    /// How many rows.
    pub fn rows(&self) -> u64 {
        self.inner.manifest.rows()
    }

    /// The layout of a column group, loaded on first use.
    ///
    /// # Errors
    /// `Invalid` for a number that no column group has; `Corrupt` where a layout object is not what the manifest says; errors of
    /// the store.
    pub async fn layout(&self, group: usize) -> Result<Arc<Layout>> {
        let groups = self.inner.layouts.len();
        let outside = || Error::invalid(format!("column group {group} is outside 0..{groups}"));
        let cell = self.inner.layouts.get(group).ok_or_else(outside)?;
        let table = self.clone();
        let load = || {
            async move {
                let damaged = table.inner.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(&group);
                if let Some(error) = damaged {
                    return Err(error);
                }
                let segments = &table.inner.manifest.segments;
                let read: Vec<_> = segments.iter().map(|segment| table.segment_layout(segment, group)).collect();
                let runs: Vec<Vec<LayoutRun>> = stream::iter(read).buffered(OBJECTS_AT_ONCE).try_collect().await?;
                let columns = segments.iter().flat_map(|segment| &segment.groups[group].columns);
                let logical = columns.fold(0, |sum: u64, column| sum.saturating_add(column.logical));
                let bytes = runs.iter().map(|runs| size_of_val(runs.as_slice())).sum();
                offload_large(bytes, move |_| {
                    Ok(Arc::new(Layout::new(runs.into_iter().flatten().collect()).with_logical_bytes(logical)))
                })
                .await
            }
            .boxed()
        };
        cell.get_or_load(load).await
    }

    /// The runs of a column group in one segment, as its layout has them.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub(super) async fn segment_layout(&self, segment: &Segment, group: usize) -> Result<Vec<LayoutRun>> {
        let stored = segment.groups[group].clone();
        let bytes = self.object("layout", &stored.layout).await?;
        let manifest = &self.inner.manifest;
        let (rows, stores) = (segment.rows, manifest.stores.len());
        let columns = manifest.schema.groups()[group].columns.len();
        let place = format!("layout of column group `{}`", manifest.schema.groups()[group].name);
        offload_large(bytes.len(), move |_| {
            let found = read_layout(bytes, columns, rows, stores).map_err(|error| error.at(&place))?;
            let (blocks, bytes) = found.iter().fold((0, 0_u64), |(blocks, bytes), run| {
                (blocks + run.lengths.len() as u64, bytes.saturating_add(run.stored_bytes()))
            });
            if (found.len() as u64, blocks, bytes) != (stored.runs, stored.blocks, stored.stored_bytes) {
                return Err(Error::corrupt(format!(
                    "{place}: {} of {} in {}, the manifest says {} of {} in {}",
                    counted(found.len(), "run"),
                    counted(blocks, "block"),
                    counted(bytes, "byte"),
                    stored.runs,
                    stored.blocks,
                    stored.stored_bytes
                )));
            }
            Ok(found)
        })
        .await
    }

    /// Where the sequences start, loaded on first use.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn sequences(&self) -> Result<Arc<Sequences>> {
        let table = self.clone();
        let load = || async move { table.decode_sequences(table.index_objects().await?).await }.boxed();
        self.inner.sequences.get_or_load(load).await
    }

    async fn decode_sequences(&self, objects: Vec<Bytes>) -> Result<Arc<Sequences>> {
        let table = self.clone();
        offload_large(self.index_work(&objects, 1), move |_| table.sequences_of(&objects)).await
    }

    /// Bytes of work that decoding so many index columns is, about.
    pub(super) fn index_work(&self, objects: &[Bytes], columns: usize) -> usize {
        let rows = usize::try_from(self.rows()).unwrap_or(usize::MAX);
        objects.iter().map(Bytes::len).sum::<usize>().max(rows.saturating_mul(8).saturating_mul(columns))
    }

    fn sequences_of(&self, objects: &[Bytes]) -> Result<Arc<Sequences>> {
        let segments = &self.inner.manifest.segments;
        let runs = objects.iter().zip(segments).map(|(bytes, segment)| {
            let runs = read_sequences(bytes, segment.rows)?;
            if runs.len() as u64 == segment.sequences {
                return Ok(runs);
            }
            Err(Error::corrupt(format!("index: {}, the manifest says {}", counted(runs.len(), "sequence"), segment.sequences)))
        });
        let runs = runs.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(Sequences::new(segments.iter().map(|segment| segment.continues).zip(&runs))))
    }

    /// The index segments, verified.
    pub(super) async fn index_objects(&self) -> Result<Vec<Bytes>> {
        self.objects_of("index", self.inner.manifest.segments.iter().map(|segment| segment.index.clone())).await
    }

    /// Several objects side by side, in order.
    async fn objects_of(&self, folder: &str, objects: impl Iterator<Item = ObjectRef>) -> Result<Vec<Bytes>> {
        let reads: Vec<_> = objects.map(|object| async move { self.object(folder, &object).await }).collect();
        stream::iter(reads).buffered(OBJECTS_AT_ONCE).try_collect().await
    }

    /// The sequences where they are loaded.
    pub(super) fn sequences_now(&self) -> Option<Arc<Sequences>> {
        self.inner.sequences.get().map(Arc::clone)
    }

    /// Loads the layouts of these groups beside something else that is waited for. The error of a damaged one is kept for
    /// whoever needs it next; what fails otherwise is asked for again where it is needed.
    pub(super) async fn layouts_ahead(&self, groups: impl IntoIterator<Item = usize>) {
        let load = |group: usize| async move {
            // Somebody may have put the object right since.
            self.inner.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(&group);
            if let Err(error) = self.layout(group).await
                && error.kind() == ErrorKind::Corrupt
            {
                self.inner.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).insert(group, error);
            }
        };
        futures::future::join_all(groups.into_iter().map(load).collect::<Vec<_>>()).await;
    }

    /// The groups whose layouts are worth loading beside the index, before it is known what will be read: all, where the store
    /// is far and they are together not larger than it is, or a few MiB.
    #[cfg(feature = "frame")]
    fn small_layouts(&self) -> std::ops::Range<usize> {
        const FEW_BYTES: u64 = 4 << 20;
        const FEW_OBJECTS: usize = 32;
        let segments = &self.inner.manifest.segments;
        let index: u64 = segments.iter().map(|segment| segment.index.bytes).sum();
        let layouts = || segments.iter().flat_map(|segment| &segment.groups);
        let bytes: u64 = layouts().map(|group| group.layout.bytes).sum();
        let far = !self.inner.store.is_local();
        let small = bytes <= index.max(FEW_BYTES) && layouts().count() <= FEW_OBJECTS;
        if far && small { 0..self.schema().groups().len() } else { 0..0 }
    }

    /// The index columns of every row in table order, as Arrow batches, without a frame.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn index_batches(&self) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
        let (mut batches, seen) = (Vec::new(), seen_columns(self.manifest()));
        for (bytes, segment) in self.index_objects().await?.into_iter().zip(&self.inner.manifest.segments) {
            batches.push(index_columns_reader(bytes, &self.inner.manifest.schema, segment.rows, &seen)?);
        }
        Ok(batches.into_iter().flatten())
    }

    /// The index segments for the frame; the sequences are read from them on the way.
    #[cfg(feature = "frame")]
    pub(super) async fn index_objects_and_sequences(&self) -> Result<Vec<Bytes>> {
        let (objects, ()) = futures::future::join(self.index_objects(), self.layouts_ahead(self.small_layouts())).await;
        let objects = objects?;
        let (table, held) = (self.clone(), objects.clone());
        self.inner.sequences.get_or_load(|| async move { table.decode_sequences(held).await }.boxed()).await?;
        Ok(objects)
    }

    /// That this build knows all that a writer of the next version has to.
    pub(super) fn next_version_may_be_written(&self) -> Result<()> {
        match self.manifest().write_features.first() {
            Some(feature) => Err(Error::unsupported(format!(
                "{} version {}: write feature `{feature}` is not known to this build: a newer one must write the next version",
                self.url(),
                self.version()
            ))),
            None => Ok(()),
        }
    }

    /// An object that the manifest names, its size and hash checked before anything is made of it.
    pub(super) async fn object(&self, folder: &str, object: &ObjectRef) -> Result<Bytes> {
        let name = object.name_in(folder);
        let checked = |store: Store| {
            let name = name.clone();
            async move {
                let bytes = store.get_exact(&name, object.bytes).await?;
                // Hashing is some four times as fast as decoding.
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
        let (store, trial) = (&self.inner.store, self.inner.store.on_trial());
        let found = match checked(trial.clone()).await {
            Ok(bytes) => {
                trial.keep().await;
                Ok(bytes)
            }
            // Of the cache, or of the way here, and not of the store: once more, from there.
            Err(error) if error.kind() == ErrorKind::Corrupt && (trial.reject().await || !store.is_local()) => {
                checked(store.clone()).await
            }
            Err(error) => Err(error),
        };
        match found {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(&name, error).await),
            found => found,
        }
    }

    /// What it means that an object of this version is not there: the version was collected since it was opened, or damaged.
    pub(super) async fn missing(&self, name: &str, error: Error) -> Error {
        let (url, version) = (self.url(), self.version());
        let gone = self.inner.store.size(&manifest_name(version)).await;
        match gone.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            true => {
                Error::conflict(format!("{url}: version {version} was deleted by a garbage collection; open the newest version"))
            }
            false => Error::corrupt(format!("{url}: {name} is missing")),
        }
        .with_source(error)
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

/// `url@7` as root and version, `url@gold` as root and tag.
pub(crate) fn split_name(url: &str) -> Option<(&str, &str)> {
    let (root, name) = url.rsplit_once('@')?;
    let is_version = !name.is_empty() && name.bytes().all(|digit| digit.is_ascii_digit()) && name.parse::<u64>().is_ok();
    (!root.is_empty() && (is_version || is_tag(name))).then_some((root, name))
}
