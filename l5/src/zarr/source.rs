//! The objects of a zarr group: in a directory, in an object store, or in a zip file (`.zarr.zip`) whose entries may lie below one top
//! folder. All return bytes by key (`agents/0`) up to a limit, and the names of the arrays. Zip files may lie in an object store too.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs::File,
    io::{BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
};

use crate::count::counted;
use tetrys::{Error, ErrorKind, Result, Store, StoreOptions, blocking::runtime, extension::LocalFile, store::RangeRequest};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Maximum bytes of `.zgroup`, `.zattrs` and `.zarray`.
pub(super) const MAX_METADATA: u64 = 16 << 20;
/// Maximum number of missing chunks that are looked for.
pub(super) const MAX_MISSING: usize = 10_000;
/// Maximum nesting of groups.
const MAX_DEPTH: usize = 8;
/// Bytes of a zip file in an object store that are read at a time.
const REMOTE_READ: usize = 1 << 20;

/// An open zarr v2 group. Clones share it, and any thread may read.
#[derive(Clone, Debug)]
pub struct ZarrGroup {
    /// The path or URL, for messages.
    place: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Directory(PathBuf),
    Store(Store),
    Zip { archive: Arc<Mutex<Archive>>, prefix: String, bytes: u64 },
}

type Archive = zip::ZipArchive<BufReader<Box<dyn Archived>>>;

/// A zip file: a local one, or an object of a store.
trait Archived: Read + Seek + Send + std::fmt::Debug {}

impl Archived for File {}
impl Archived for RemoteFile {}

impl ZarrGroup {
    /// Opens the group at `path`: a directory, a zip file, or the URL of either in an object store (`s3://bucket/sample.zarr`).
    ///
    /// # Errors
    /// - `NotFound`: nothing exists at `path`.
    /// - `Invalid`: it is not a zarr group.
    /// - `Unsupported`: it is a zarr v3 group.
    /// - Errors of the store.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &StoreOptions::from_env())
    }

    /// Opens the group at `path` as [`Self::open`] does, with options of its object store.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_with(path: impl AsRef<Path>, stores: &StoreOptions) -> Result<Self> {
        let path = path.as_ref();
        match path.to_str().filter(|url| url.contains("://")) {
            None => {
                let metadata = std::fs::metadata(path).map_err(|error| Error::from(error).at(path.display()))?;
                let kind = if metadata.is_dir() {
                    Kind::Directory(path.to_path_buf())
                } else {
                    let file = LocalFile::regular(path, "a folder or a zip file")?;
                    zipped(BufReader::new(Box::new(file)), metadata.len(), &path.display().to_string())?
                };
                Self::checked(path.display().to_string(), kind)
            }
            Some(url) => match url.rsplit_once('/').filter(|(_, name)| name.ends_with(".zip")) {
                None => Self::open_in(Store::open_with(url, stores)?),
                Some((folder, name)) => Self::open_zip_in(&Store::open_with(folder, stores)?, name),
            },
        }
    }

    /// Opens the group whose objects lie at the root of a store.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_in(store: Store) -> Result<Self> {
        Self::checked(store.url().to_owned(), Kind::Store(store))
    }

    /// Opens the group in the zip file `name` of a store.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_zip_in(store: &Store, name: &str) -> Result<Self> {
        let place = format!("{}/{name}", store.url());
        let (of, object) = (store.clone(), name.to_owned());
        let bytes = wait(async move { of.size(&object).await })?;
        let file = RemoteFile { store: store.clone(), name: name.into(), bytes, at: 0 };
        let kind = zipped(BufReader::with_capacity(REMOTE_READ, Box::new(file)), bytes, &place)?;
        Self::checked(place, kind)
    }

    /// Checks that there is a zarr v2 group.
    fn checked(place: String, kind: Kind) -> Result<Self> {
        let source = Self { place, kind };
        if source.read(".zgroup", MAX_METADATA)?.is_none() {
            if source.read("zarr.json", MAX_METADATA)?.is_some() {
                return Err(Error::unsupported(format!(
                    "{source}: expected a zarr v2 group (.zgroup), found zarr v3 (zarr.json)"
                )));
            }
            let found = match source.read(".zarray", MAX_METADATA)? {
                Some(_) => "a zarr array (.zarray)",
                None => "no .zgroup",
            };
            return Err(Error::invalid(format!("{source}: not a zarr group: expected .zgroup, found {found}")));
        }
        Ok(source)
    }

    /// Returns the bytes at `key`, or `None` if the key does not exist.
    ///
    /// # Errors
    /// - `Corrupt`: there are more than `limit` bytes, or a zip entry cannot be decoded.
    /// - Errors of the file system.
    pub fn read(&self, key: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        Ok(self.read_into(key, limit, &mut bytes)?.then_some(bytes))
    }

    /// Reads the bytes at `key` into a buffer that the caller reuses. Returns whether the key exists.
    ///
    /// # Errors
    /// - `Corrupt`: there are more than `limit` bytes, or a zip entry cannot be decoded.
    /// - Errors of the file system.
    pub fn read_into(&self, key: &str, limit: u64, bytes: &mut Vec<u8>) -> Result<bool> {
        bytes.clear();
        let place = || format!("{self}: {key}");
        let mut fill = |reader: &mut dyn Read, stated: u64| -> Result<bool> {
            let too_long = || Error::corrupt(format!("{}: expected at most {}, found more", place(), counted(limit, "byte")));
            if stated > limit {
                return Err(too_long());
            }
            // The size in a zip entry may be wrong, so it only limits the first allocation.
            bytes.reserve(stated.min(1 << 20) as usize);
            reader.take(limit + 1).read_to_end(bytes).map_err(|error| Error::from(error).at(place()))?;
            if bytes.len() as u64 > limit { Err(too_long()) } else { Ok(true) }
        };
        match &self.kind {
            Kind::Store(store) => {
                let (store, name) = (store.clone(), key.to_owned());
                match wait(async move { store.get(&name, limit).await }) {
                    Ok(found) => bytes.extend_from_slice(&found),
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                    Err(error) => return Err(error.at(place())),
                }
                Ok(true)
            }
            Kind::Directory(folder) => {
                let mut file = match LocalFile::regular(folder.join(key), "a file") {
                    Ok(file) => file,
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                    Err(error) => return Err(error.at(self)),
                };
                let stated = file.metadata().map_err(|error| Error::from(error).at(place()))?.len();
                fill(&mut file, stated)
            }
            Kind::Zip { archive, prefix, .. } => {
                let mut archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                match archive.by_name(&format!("{prefix}{key}")) {
                    Ok(mut entry) => {
                        let stated = entry.size();
                        fill(&mut entry, stated)
                    }
                    Err(zip::result::ZipError::FileNotFound) => Ok(false),
                    Err(error) => Err(Error::corrupt(format!("{}: {error}", place())).with_source(error)),
                }
            }
        }
    }

    /// Returns those of `chunks`, which are chunks of the array `name` with their keys inside of it, that do not exist: the first
    /// [`MAX_MISSING`]. A hostile array may claim any number of chunks.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(super) fn missing(&self, name: &str, chunks: impl Iterator<Item = (u64, String)>) -> Result<Vec<u64>> {
        type Exists<'a> = Box<dyn Fn(&str) -> Result<bool> + 'a>;
        let found: Exists<'_> = match &self.kind {
            Kind::Directory(folder) => Box::new(|key| {
                let path = folder.join(key);
                path.try_exists().map_err(|error| Error::from(error).at(path.display()))
            }),
            Kind::Store(store) => {
                let (store, name) = (store.clone(), name.to_owned());
                let listed = wait(async move { store.list(&name).await }).map_err(|error| error.at(self))?;
                let listed: BTreeSet<String> = listed.into_iter().map(|(name, _)| name).collect();
                Box::new(move |key| Ok(listed.contains(key)))
            }
            Kind::Zip { archive, prefix, .. } => {
                let archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                Box::new(move |key| Ok(archive.index_for_name(&format!("{prefix}{key}")).is_some()))
            }
        };
        let mut missing = Vec::new();
        for (chunk, key) in chunks {
            if !found(&format!("{name}/{key}"))? {
                missing.push(chunk);
            }
            if missing.len() == MAX_MISSING {
                break;
            }
        }
        Ok(missing)
    }

    /// Returns the bytes of all objects of the group, or of the zip file.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub fn stored_bytes(&self) -> Result<u64> {
        match &self.kind {
            Kind::Zip { bytes, .. } => Ok(*bytes),
            Kind::Store(store) => {
                let store = store.clone();
                Ok(wait(async move { store.list("").await })
                    .map_err(|error| error.at(self))?
                    .iter()
                    .map(|(_, bytes)| bytes)
                    .sum())
            }
            Kind::Directory(folder) => {
                let (mut total, mut folders) = (0, vec![folder.clone()]);
                while let Some(folder) = folders.pop() {
                    let failed = |error: std::io::Error| Error::from(error).at(folder.display());
                    for entry in std::fs::read_dir(&folder).map_err(failed)? {
                        let entry = entry.map_err(failed)?;
                        match entry.file_type().map_err(failed)?.is_dir() {
                            true => folders.push(entry.path()),
                            false => total += entry.metadata().map_err(failed)?.len(),
                        }
                    }
                }
                Ok(total)
            }
        }
    }

    /// Returns the names of all arrays, sorted: `agents`, `agents_mask/0.5`.
    ///
    /// # Errors
    /// - Errors of the file system.
    pub fn arrays(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        match &self.kind {
            Kind::Directory(folder) => walk(folder, "", MAX_DEPTH, &mut names)?,
            Kind::Store(store) => {
                let store = store.clone();
                let listed = wait(async move { store.list("").await }).map_err(|error| error.at(self))?;
                names.extend(listed.iter().filter_map(|(name, _)| name.strip_suffix("/.zarray").map(str::to_owned)));
            }
            Kind::Zip { archive, prefix, .. } => {
                let archive = archive.lock().unwrap_or_else(PoisonError::into_inner);
                for name in archive.file_names() {
                    let Ok(name) = name else { continue };
                    if let Some(array) = name.strip_prefix(prefix.as_str()).and_then(|name| name.strip_suffix("/.zarray")) {
                        names.insert(array.to_owned());
                    }
                }
            }
        }
        Ok(names.into_iter().collect())
    }
}

/// Finds the arrays below the group `group` of a folder. Does not list the folders of arrays, which may hold very many chunks.
fn walk(root: &Path, group: &str, depth: usize, names: &mut BTreeSet<String>) -> Result<()> {
    let folder = root.join(group);
    let entries = std::fs::read_dir(&folder).map_err(|error| Error::from(error).at(folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| Error::from(error).at(folder.display()))?;
        let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
        if !entry.path().is_dir() {
            continue;
        }
        let name = if group.is_empty() { name } else { format!("{group}/{name}") };
        if entry.path().join(".zarray").exists() {
            names.insert(name);
        } else if depth > 0 {
            walk(root, &name, depth - 1, names)?;
        }
    }
    Ok(())
}

/// Waits for a request to a store. The runtime of blocking calls sends it.
fn wait<T: Send + 'static>(request: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let (done, answer) = mpsc::channel();
    // Sending fails if nobody waits any more.
    runtime()?.spawn(async move { drop(done.send(request.await)) });
    let answer = || answer.recv().unwrap_or_else(|_| Err(Error::unavailable("the runtime of blocking calls is shutting down")));
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        // This thread may be a worker of the runtime that sends the request: another thread takes over its tasks.
        Ok(RuntimeFlavor::MultiThread) => block_in_place(answer),
        _ => answer(),
    }
}

/// An object of a store, as a file that is read in ranges.
#[derive(Debug)]
struct RemoteFile {
    store: Store,
    name: Arc<str>,
    bytes: u64,
    at: u64,
}

impl Read for RemoteFile {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let end = self.bytes.min(self.at.saturating_add(into.len() as u64));
        if end <= self.at {
            return Ok(0);
        }
        let (store, range) = (self.store.clone(), RangeRequest::new(Arc::clone(&self.name), self.bytes, self.at..end));
        let found = wait(async move { store.read(&[range]).await }).map_err(std::io::Error::other)?;
        let piece = found.first().ok_or_else(|| std::io::Error::other("a read of a range without an answer"))?;
        into[..piece.len()].copy_from_slice(piece);
        self.at = end;
        Ok(piece.len())
    }
}

impl Seek for RemoteFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(distance) => self.bytes.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.at.checked_add_signed(distance),
        };
        self.at = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl std::fmt::Display for ZarrGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.place.fmt(f)
    }
}

fn zipped(file: BufReader<Box<dyn Archived>>, bytes: u64, place: &str) -> Result<Kind> {
    let archive = zip::ZipArchive::new(file).map_err(|error| {
        Error::invalid(format!("{place}: not a zarr group: expected a directory or a zip file, found {error}")).with_source(error)
    })?;
    let prefix = top_folder(archive.file_names().filter_map(|name| name.ok()));
    Ok(Kind::Zip { archive: Arc::new(Mutex::new(archive)), prefix, bytes })
}

/// Returns the shortest folder that contains a `.zgroup`, with a final slash. Empty if it is the top folder.
fn top_folder<'a>(names: impl Iterator<Item = Cow<'a, str>>) -> String {
    names
        .filter_map(|name| {
            name.strip_suffix(".zgroup").filter(|folder| folder.is_empty() || folder.ends_with('/')).map(str::to_owned)
        })
        .min_by_key(|folder| (folder.len(), folder.clone()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tetrys::error::ErrorKind;

    #[test]
    fn a_directory_that_is_no_zarr_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let error = ZarrGroup::open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().ends_with("not a zarr group: expected .zgroup, found no .zgroup"), "{error}");
        std::fs::write(folder.path().join("zarr.json"), "{}").unwrap();
        assert_eq!(ZarrGroup::open(folder.path()).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(ZarrGroup::open(folder.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(ZarrGroup::open(folder.path().join("zarr.json")).unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn more_bytes_than_the_limit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".zgroup"), "{}").unwrap();
        std::fs::write(folder.path().join("0"), [7; 100]).unwrap();
        let source = ZarrGroup::open(folder.path()).unwrap();
        assert_eq!(source.read("0", 100).unwrap(), Some(vec![7; 100]));
        assert_eq!(source.read("0", 99).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(source.read("1", 99).unwrap(), None);
    }

    #[test]
    fn objects_of_a_store_are_read_like_files() {
        let store = Store::open("memory://").unwrap();
        let put = |name: &'static str, bytes: Vec<u8>| {
            let store = store.clone();
            wait(async move { store.put_new(name, bytes.into()).await }).unwrap();
        };
        assert_eq!(ZarrGroup::open_in(store.clone()).unwrap_err().kind(), ErrorKind::Invalid);
        put(".zgroup", b"{}".to_vec());
        put("agents/.zarray", vec![1; 10]);
        put("agents/0", vec![7; 100]);
        put("agents_mask/0.5/.zarray", vec![2; 20]);
        let source = ZarrGroup::open_in(store.clone()).unwrap();
        assert_eq!(source.arrays().unwrap(), ["agents", "agents_mask/0.5"]);
        assert_eq!(source.read("agents/0", 100).unwrap(), Some(vec![7; 100]));
        assert_eq!(source.read("agents/0", 99).unwrap_err().kind(), ErrorKind::Corrupt);
        assert_eq!(source.read("agents/1", 99).unwrap(), None);
        assert_eq!(source.stored_bytes().unwrap(), 132);
    }

    #[test]
    fn tasks_on_all_workers_of_the_runtime_read_objects_of_a_store() {
        let store = Store::open("memory://").unwrap();
        let writer = store.clone();
        wait(async move { writer.put_new(".zgroup", b"{}".to_vec().into()).await }).unwrap();
        let tasks = (0..256).map(|_| {
            let store = store.clone();
            runtime().unwrap().spawn(async move { ZarrGroup::open_in(store).map(drop) })
        });
        let tasks: Vec<_> = tasks.collect();
        runtime().unwrap().block_on(async {
            for task in tasks {
                task.await.unwrap().unwrap();
            }
        });
    }

    #[test]
    fn a_file_in_a_store_is_read_from_any_place() {
        let store = Store::open("memory://").unwrap();
        let (bytes, writer) = ((0..=255).collect::<Vec<u8>>(), store.clone());
        let content = bytes.clone();
        wait(async move { writer.put_new("file", content.into()).await }).unwrap();
        let mut file = RemoteFile { store, name: "file".into(), bytes: 256, at: 0 };
        let mut read = |to: SeekFrom, len: usize| -> std::io::Result<Vec<u8>> {
            file.seek(to)?;
            let mut found = Vec::new();
            (&mut file).take(len as u64).read_to_end(&mut found)?;
            Ok(found)
        };
        assert_eq!(read(SeekFrom::Start(10), 5).unwrap(), bytes[10..15]);
        assert_eq!(read(SeekFrom::Current(-3), 4).unwrap(), bytes[12..16]);
        assert_eq!(read(SeekFrom::End(-4), 100).unwrap(), bytes[252..]);
        assert!(read(SeekFrom::Start(1 << 40), 5).unwrap().is_empty());
        assert_eq!(read(SeekFrom::End(-257), 1).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_shortest_folder_with_a_group_is_the_top() {
        let top = |names: &[&'static str]| top_folder(names.iter().map(|name| Cow::Borrowed(*name)));
        assert_eq!(top(&["a.zarr/m/.zgroup", "a.zarr/.zgroup", "a.zarr/scenes/0"]), "a.zarr/");
        assert_eq!(top(&["x/.zgroup", ".zgroup"]), "");
        assert_eq!(top(&["x.zgroup"]), "");
    }
}
