//! The files of a data set: in a local folder, or in an object store. Lists them, reads them, and notices when one changes.
//!
//! All calls block, so they run on threads of their own. Object stores are read through the runtime that opened the source.

use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::UNIX_EPOCH,
};

use bytes::{Buf, Bytes};
use futures::TryStreamExt;
use parquet::{
    errors::{ParquetError, Result as ParquetResult},
    file::reader::{ChunkReader, Length},
};
use tetrys::{
    Error, Result,
    extension::LocalFile,
    object_store::{self, ObjectStore, ObjectStoreExt, path::Path as ObjectPath},
};
use tokio::runtime::Handle;

/// Maximum folders inside each other.
const MAX_DEPTH: usize = 32;

/// Where the files are.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    url: String,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// A folder, or one file.
    Local(PathBuf),
    Remote {
        objects: Arc<dyn ObjectStore>,
        prefix: ObjectPath,
        runtime: Handle,
    },
}

/// The state of a file: a file with another stamp is another file.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970. Whole seconds for an object: HTTP headers have no more, listings may.
    modified: i128,
    /// ETag of an object.
    tag: Option<String>,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let tags = || self.tag.is_none() || other.tag.is_none() || self.tag == other.tag;
        self.bytes == other.bytes && self.modified == other.modified && tags()
    }
}

/// The files by their names relative to the source, which sort as Petastorm sorts them.
pub(crate) type Listing = BTreeMap<String, Stamp>;

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl Source {
    /// Opens a path, a `file://` URL, or a URL of an object store. Credentials come from `options`, and from the environment.
    ///
    /// # Errors
    /// - `Invalid`, `Unsupported`: the URL is malformed or has a secret, or its scheme is unknown.
    pub(crate) fn open(url: &str, options: Vec<(String, String)>) -> Result<Self> {
        let of_path = |path: PathBuf| Self { url: path.display().to_string(), place: Place::Local(path) };
        let Some((scheme, _)) = url.split_once("://") else { return Ok(of_path(PathBuf::from(url))) };
        let parsed = url::Url::parse(url).map_err(|error| Error::invalid(format!("URL {url}: {error}")))?;
        if scheme == "file" {
            let path = parsed.to_file_path().map_err(|()| Error::invalid(format!("URL {url} is not a local path")))?;
            return Ok(of_path(path));
        }
        if !matches!(scheme, "s3" | "s3a" | "gs" | "az" | "abfs" | "abfss") {
            return Err(Error::unsupported(format!(
                "URL {url}: expected a path, or a URL that begins with file://, s3://, gs://, az:// or abfss://; \
                 copy the data set there"
            )));
        }
        // `abfss://container@account.host/path` has the container in the place of the user.
        let user = !parsed.username().is_empty() && !scheme.starts_with("abfs");
        if user || parsed.password().is_some() || parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(Error::invalid(
                "the URL of a data set has no user, password, query or fragment; credentials are in the environment",
            ));
        }
        tetrys::store::install_crypto_provider();
        let (objects, prefix) = object_store::parse_url_opts(&parsed, with_environment(options))
            .map_err(|error| Error::invalid(format!("URL {url}: {error}")))?;
        let runtime =
            Handle::try_current().map_err(|error| Error::unsupported(format!("URL {url} outside of tokio: {error}")))?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), place: Place::Remote { objects: objects.into(), prefix, runtime } })
    }

    /// Returns the place of a file for messages.
    pub(crate) fn at(&self, name: &str) -> String {
        if name.is_empty() { self.url.clone() } else { format!("{}/{name}", self.url.trim_end_matches('/')) }
    }

    /// Returns the path of a local file.
    pub(crate) fn local(&self, name: &str) -> Option<PathBuf> {
        match &self.place {
            Place::Local(root) if name.is_empty() => Some(root.clone()),
            Place::Local(root) => Some(root.join(name)),
            Place::Remote { .. } => None,
        }
    }

    /// Lists all files. A source that is one file has the empty name.
    ///
    /// # Errors
    /// - `NotFound`: there is nothing.
    /// - `Unsupported`: a name is not UTF-8, or a folder is a symbolic link.
    /// - Errors of the file system or the store.
    pub(crate) fn list(&self) -> Result<Listing> {
        let listing = match &self.place {
            Place::Local(root) => {
                let mut found = Listing::new();
                let metadata = std::fs::metadata(root).map_err(|error| Error::from(error).at(&self.url))?;
                match metadata.is_dir() {
                    true => walk(root, "", 0, &mut found)?,
                    false if !metadata.is_file() => drop(LocalFile::regular(root, "a folder or a file")?),
                    false => drop(found.insert(String::new(), Stamp::of_file(&metadata))),
                }
                found
            }
            Place::Remote { objects, prefix, runtime } => {
                let listed = objects.list(Some(prefix)).try_collect::<Vec<_>>();
                let listed = runtime.block_on(listed).map_err(|error| self.failed(error, ""))?;
                let named = listed.into_iter().filter_map(|object| {
                    let name = object.location.as_ref().strip_prefix(prefix.as_ref())?.trim_start_matches('/').to_owned();
                    Some((name, Stamp::of_object(&object)))
                });
                let mut found: Listing = named.filter(|(name, _)| !name.is_empty()).collect();
                // A listing has what is below a prefix, so it leaves out an object of that name.
                if found.is_empty() && !prefix.as_ref().is_empty() {
                    match self.stamp("") {
                        Ok(stamp) => drop(found.insert(String::new(), stamp)),
                        Err(error) if error.kind() == tetrys::ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
                found
            }
        };
        match listing.is_empty() {
            true => Err(Error::not_found(format!("{self}: expected a data set, found no files"))),
            false => Ok(listing),
        }
    }

    /// Returns the current stamp of a file.
    pub(crate) fn stamp(&self, name: &str) -> Result<Stamp> {
        match (&self.place, self.local(name)) {
            (Place::Remote { objects, prefix, runtime }, _) => {
                let object = runtime.block_on(objects.head(&location(prefix, name))).map_err(|error| self.failed(error, name))?;
                Ok(Stamp::of_object(&object))
            }
            (Place::Local(root), path) => {
                let path = path.unwrap_or_else(|| root.clone());
                std::fs::metadata(&path)
                    .map(|metadata| Stamp::of_file(&metadata))
                    .map_err(|error| Error::from(error).at(self.at(name)))
            }
        }
    }

    /// Checks that a file is still the one that was listed.
    ///
    /// # Errors
    /// - `Conflict`: the file changed, or was deleted.
    pub(crate) fn check(&self, name: &str, listed: &Stamp) -> Result<()> {
        match self.stamp(name) {
            Ok(stamp) if stamp == *listed => Ok(()),
            Ok(stamp) => {
                Err(self.changed(name, &format!("{} bytes became {} bytes, or its time changed", listed.bytes, stamp.bytes)))
            }
            Err(error) if error.kind() == tetrys::ErrorKind::NotFound => Err(self.changed(name, "it was deleted")),
            Err(error) => Err(error),
        }
    }

    /// The error for a file that changed during the import.
    pub(crate) fn changed(&self, name: &str, how: &str) -> Error {
        Error::new(
            tetrys::ErrorKind::Conflict,
            format!("{}: the data set changed during the import ({how}); import again when nothing writes to it", self.at(name)),
        )
    }

    /// Opens a file for Parquet readers.
    pub(crate) fn reader(&self, name: &str, stamp: &Stamp) -> Result<FileReader> {
        let bytes = match (&self.place, self.local(name)) {
            (Place::Remote { .. }, _) => FileBytes::Remote { source: self.clone(), name: name.into(), buffer: None },
            (Place::Local(root), path) => {
                let path = path.unwrap_or_else(|| root.clone());
                let file = File::open(path).map_err(|error| Error::from(error).at(self.at(name)))?;
                FileBytes::Local(Arc::new(file))
            }
        };
        Ok(FileReader { bytes, len: stamp.bytes })
    }

    /// Reads a range of a remote file.
    fn fetch(&self, name: &str, start: u64, len: usize) -> Result<Bytes> {
        let Place::Remote { objects, prefix, runtime } = &self.place else {
            return Err(Error::internal("a local file read as an object"));
        };
        let range = start..start + len as u64;
        let bytes =
            runtime.block_on(objects.get_range(&location(prefix, name), range)).map_err(|error| self.failed(error, name))?;
        match bytes.len() == len {
            true => Ok(bytes),
            false => Err(self.changed(name, &format!("expected {len} bytes at {start}, found {}", bytes.len()))),
        }
    }

    fn failed(&self, error: object_store::Error, name: &str) -> Error {
        let message = format!("{}: {error}", self.at(name));
        match &error {
            object_store::Error::NotFound { .. } => Error::not_found(message),
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => Error::denied(message),
            _ => Error::unavailable(message),
        }
        .with_source(error)
    }
}

/// Returns the options, behind those of the environment, which they replace.
fn with_environment(options: Vec<(String, String)>) -> Vec<(String, String)> {
    let known = |name: &str| ["aws_", "google_", "azure_"].iter().any(|prefix| name.starts_with(prefix));
    let named = std::env::vars().map(|(name, value)| (name.to_ascii_lowercase(), value)).filter(|(name, _)| known(name));
    let mut all: Vec<(String, String)> = named.chain(options).collect();
    if all.iter().any(|(name, value)| name.contains("endpoint") && value.starts_with("http://")) {
        all.push(("allow_http".to_owned(), "true".to_owned()));
    }
    all
}

fn location(prefix: &ObjectPath, name: &str) -> ObjectPath {
    // Names come from listings, so they are encoded already.
    ObjectPath::parse(format!("{prefix}/{name}")).unwrap_or_else(|_| prefix.clone().join(name))
}

impl Stamp {
    fn of_file(metadata: &std::fs::Metadata) -> Self {
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |time| i128::try_from(time.as_nanos()).unwrap_or(i128::MAX));
        Self { bytes: metadata.len(), modified, tag: None }
    }

    fn of_object(object: &object_store::ObjectMeta) -> Self {
        let modified = i128::from(object.last_modified.timestamp()) * 1_000_000_000;
        Self { bytes: object.size, modified, tag: object.e_tag.as_ref().map(|tag| tag.trim_matches('"').to_owned()) }
    }
}

fn walk(root: &Path, below: &str, depth: usize, found: &mut Listing) -> Result<()> {
    let folder = root.join(below);
    let place = |error: io::Error| Error::from(error).at(folder.display());
    if depth > MAX_DEPTH {
        return Err(Error::unsupported(format!("{}: over {MAX_DEPTH} folders inside each other", folder.display())));
    }
    for entry in std::fs::read_dir(&folder).map_err(place)? {
        let entry = entry.map_err(place)?;
        let file_name = entry.file_name();
        let named =
            file_name.to_str().ok_or_else(|| Error::unsupported(format!("{}: expected a name in UTF-8", entry.path().display())));
        let name = if below.is_empty() { named?.to_owned() } else { format!("{below}/{}", named?) };
        let own = entry.file_type().map_err(place)?;
        let metadata = match std::fs::metadata(entry.path()) {
            Ok(metadata) => metadata,
            // A temporary file of a writer, or a link to nothing.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::from(error).at(entry.path().display())),
        };
        match metadata.is_dir() {
            // A link may lead back up, and its rows would be read twice.
            true if own.is_symlink() => {
                return Err(Error::unsupported(format!(
                    "{}: a symbolic link to a folder; import that folder itself",
                    entry.path().display()
                )));
            }
            true => walk(root, &name, depth + 1, found)?,
            false if !metadata.is_file() => drop(LocalFile::regular(entry.path(), "a folder or a file")?),
            false => drop(found.insert(name, Stamp::of_file(&metadata))),
        }
    }
    Ok(())
}

/// The bytes of a file, for Parquet readers. Clones share it.
#[derive(Clone)]
pub(crate) struct FileReader {
    bytes: FileBytes,
    len: u64,
}

#[derive(Clone)]
enum FileBytes {
    Local(Arc<File>),
    /// `buffer` has a range of the file, read ahead.
    Remote {
        source: Source,
        name: Arc<str>,
        buffer: Option<(u64, Bytes)>,
    },
}

impl FileReader {
    /// Returns the bytes of a range.
    pub(crate) fn read(&self, start: u64, len: usize) -> Result<Bytes> {
        match &self.bytes {
            FileBytes::Local(file) => {
                let mut bytes = vec![0; len];
                let mut file: &File = file;
                file.seek(SeekFrom::Start(start))?;
                file.read_exact(&mut bytes)?;
                Ok(bytes.into())
            }
            FileBytes::Remote { buffer: Some((first, bytes)), .. }
                if start >= *first && start + len as u64 <= first + bytes.len() as u64 =>
            {
                let at = usize::try_from(start - first).unwrap_or(usize::MAX);
                Ok(bytes.slice(at..at + len))
            }
            FileBytes::Remote { source, name, .. } => source.fetch(name, start, len),
        }
    }

    /// Returns a reader that holds a range of the file in memory, if the file is remote: one request for what will be read.
    pub(crate) fn ahead(&self, start: u64, end: u64) -> Result<Self> {
        let mut ahead = self.clone();
        if let FileBytes::Remote { source, name, buffer } = &mut ahead.bytes {
            let end = end.min(self.len);
            let len = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
            *buffer = Some((start, source.fetch(name, start, len)?));
        }
        Ok(ahead)
    }
}

impl Length for FileReader {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for FileReader {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        match &self.bytes {
            FileBytes::Local(file) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(BufReader::new(file)))
            }
            FileBytes::Remote { buffer: Some((first, bytes)), .. } if start >= *first && start <= first + bytes.len() as u64 => {
                let at = usize::try_from(start - first).unwrap_or(usize::MAX);
                Ok(Box::new(bytes.slice(at..).reader()))
            }
            // Page headers are small.
            FileBytes::Remote { .. } => {
                let len = usize::try_from((self.len - start.min(self.len)).min(1 << 16)).unwrap_or(0);
                Ok(Box::new(self.get_bytes(start, len)?.reader()))
            }
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.len) {
            return Err(ParquetError::EOF(format!("expected {length} bytes at {start}, the file has {} bytes", self.len)));
        }
        self.read(start, length).map_err(|error| ParquetError::External(Box::new(error)))
    }
}
