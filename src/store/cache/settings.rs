//! The settings of the cache in the store options: folder and sizes.

use std::path::PathBuf;

use crate::{
    Error, Result,
    store::{options::StoreOptions, size::parse_size},
};

/// Default and minimum size of a cache on disk, in bytes.
const DISK: u64 = 10 << 30;
const LEAST_DISK: u64 = 16 << 20;
/// Default size of a cache in memory if there is a folder, in bytes.
const MEMORY: u64 = 64 << 20;

/// The settings of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Folder; `None` for a cache in memory only.
    pub(super) folder: Option<PathBuf>,
    pub(super) disk_bytes: u64,
    pub(super) memory_bytes: u64,
}

impl Settings {
    /// Parses the settings; `None` if the options enable no cache.
    ///
    /// # Errors
    /// - `Invalid`: a size is malformed or too small.
    pub(super) fn of(options: &StoreOptions) -> Result<Option<Self>> {
        let size = |name: &str| options.of_cache(name).map(|text| size(name, text)).transpose();
        let folder = options.of_cache("tetrys_cache").filter(|text| !text.is_empty());
        let folder = folder.map(|text| std::path::absolute(text).map_err(|error| Error::from(error).at("store option cache")));
        let folder = folder.transpose()?;
        let disk_bytes = size("tetrys_cache_size")?.unwrap_or(DISK);
        if disk_bytes < LEAST_DISK {
            return Err(Error::invalid(format!(
                "store option cache_size: expected at least {LEAST_DISK} bytes, found {disk_bytes}"
            )));
        }
        let in_memory = if folder.is_some() { MEMORY } else { 0 };
        let memory_bytes = size("tetrys_cache_memory")?.unwrap_or(in_memory);
        Ok((folder.is_some() || memory_bytes > 0).then_some(Self { folder, disk_bytes, memory_bytes }))
    }
}

/// Parses a number of bytes: `4096`, `512MiB`, `10GB`.
fn size(name: &str, text: &str) -> Result<u64> {
    parse_size(text).ok_or_else(|| Error::invalid(format!("store option {name}: expected a size such as 512MiB or 20GB")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn settings(options: &[(&str, &str)]) -> Result<Option<Settings>> {
        Settings::of(&StoreOptions::only(options.iter().copied()))
    }

    #[test]
    fn there_is_no_cache_unless_it_is_asked_for() {
        assert_eq!(settings(&[]).unwrap(), None);
        assert_eq!(settings(&[("cache", ""), ("cache_size", "1GiB"), ("region", "r")]).unwrap(), None);
        let on_disk = settings(&[("tetrys_cache", "/var/cache/a")]).unwrap().unwrap();
        assert_eq!(
            (on_disk.folder.unwrap().to_str(), on_disk.disk_bytes, on_disk.memory_bytes),
            (Some("/var/cache/a"), DISK, MEMORY)
        );
        let in_memory = settings(&[("cache_memory", "1MB")]).unwrap().unwrap();
        assert_eq!((in_memory.folder, in_memory.memory_bytes), (None, 1_000_000));
    }

    #[test]
    fn sizes_have_units_and_a_least() {
        for (text, bytes) in [("20000000", 20_000_000), ("32MiB", 32 << 20), ("20 GB", 20_000_000_000), ("1tib", 1 << 40)] {
            assert_eq!(settings(&[("cache", "/c"), ("cache_size", text)]).unwrap().unwrap().disk_bytes, bytes);
        }
        for text in ["much", "-1", "", "1.5GiB", "99999999999TiB", "1MiB"] {
            let error = settings(&[("cache", "/c"), ("cache_size", text)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}: {error}");
        }
    }
}
