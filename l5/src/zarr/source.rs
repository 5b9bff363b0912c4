//! The objects of a zarr group: in a directory, or in a zip file (`.zarr.zip`) whose entries may lie below one top folder. Both
//! return bytes by key (`agents/0`) up to a limit, and the names of the arrays.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::count::counted;
use tetrys::{Error, Result};

/// Maximum bytes of `.zgroup`, `.zattrs` and `.zarray`.
pub(super) const MAX_METADATA: u64 = 16 << 20;
/// Maximum nesting of groups.
const MAX_DEPTH: usize = 8;

/// An open zarr v2 group. Clones share it, and any thread may read.
#[derive(Clone, Debug)]
pub struct ZarrGroup {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Directory,
    Zip { archive: Arc<Mutex<zip::ZipArchive<BufReader<File>>>>, prefix: String },
}

impl ZarrGroup {
    /// Opens the group at `path`: a directory or a zip file.
    ///
    /// # Errors
    /// - `NotFound`: nothing exists at `path`.
    /// - `Invalid`: it is not a zarr group.
    /// - `Unsupported`: it is a zarr v3 group.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let metadata = std::fs::metadata(&path).map_err(|error| Error::from(error).at(path.display()))?;
        let kind = if metadata.is_dir() { Kind::Directory } else { open_zip(&path)? };
        let source = Self { path, kind };
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
            Kind::Directory => {
                let mut file = match File::open(self.path.join(key)) {
                    Ok(file) => file,
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
                    Err(error) => return Err(Error::from(error).at(place())),
                };
                let stated = file.metadata().map_err(|error| Error::from(error).at(place()))?.len();
                fill(&mut file, stated)
            }
            Kind::Zip { archive, prefix } => {
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

    /// Returns the names of all arrays, sorted: `agents`, `agents_mask/0.5`.
    ///
    /// # Errors
    /// - Errors of the file system.
    pub fn arrays(&self) -> Result<Vec<String>> {
        let mut names = BTreeSet::new();
        match &self.kind {
            Kind::Directory => self.walk("", MAX_DEPTH, &mut names)?,
            Kind::Zip { archive, prefix } => {
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

    /// Finds the arrays below `group`. Does not list the folders of arrays, which may hold very many chunks.
    fn walk(&self, group: &str, depth: usize, names: &mut BTreeSet<String>) -> Result<()> {
        let folder = self.path.join(group);
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
                self.walk(&name, depth - 1, names)?;
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for ZarrGroup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.path.display().fmt(f)
    }
}

fn open_zip(path: &Path) -> Result<Kind> {
    let file = File::open(path).map_err(|error| Error::from(error).at(path.display()))?;
    let archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|error| {
        Error::invalid(format!("{}: not a zarr group: expected a directory or a zip file, found {error}", path.display()))
            .with_source(error)
    })?;
    let prefix = top_folder(archive.file_names().filter_map(|name| name.ok()));
    Ok(Kind::Zip { archive: Arc::new(Mutex::new(archive)), prefix })
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
    fn the_shortest_folder_with_a_group_is_the_top() {
        let top = |names: &[&'static str]| top_folder(names.iter().map(|name| Cow::Borrowed(*name)));
        assert_eq!(top(&["a.zarr/m/.zgroup", "a.zarr/.zgroup", "a.zarr/scenes/0"]), "a.zarr/");
        assert_eq!(top(&["x/.zgroup", ".zgroup"]), "");
        assert_eq!(top(&["x.zgroup"]), "");
    }
}
