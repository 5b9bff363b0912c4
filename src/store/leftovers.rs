//! Leftovers of writers in a local directory that no listing shows: unfinished files of killed processes, and empty folders. The
//! backend writes a local object to a name that ends in `#` and a number, and renames the file when it is complete.

use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::time::UNIX_EPOCH;

use super::{
    failure::{self, Doing},
    inner::blocking,
    local::is_unfinished,
    remote::listing::Listed,
    store::Store,
};
use crate::{Error, Result};

/// Maximum depth of folders of objects below the root.
const DEEPEST: usize = 4;

impl Store {
    /// Lists the unfinished files below these folders, sorted by name. Only local directories have such files.
    ///
    /// # Errors
    /// - `Denied`, `Unavailable`: the file system refuses or fails.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use tetrys::store::Store;
    /// # let folder = tempfile::tempdir().unwrap();
    /// std::fs::create_dir_all(folder.path().join("chunks/aa"))?;
    /// std::fs::write(folder.path().join("chunks/aa/one#1"), b"half of it")?; // a killed writer left it
    /// let store = Store::open(folder.path().to_str().unwrap())?;
    /// assert!(store.list("chunks").await?.is_empty());
    /// let begun = store.list_unfinished(&["chunks"]).await?;
    /// assert_eq!(begun[0].name, "chunks/aa/one#1");
    /// store.delete_unfinished(&begun[0].name).await?;
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    pub async fn list_unfinished(&self, folders: &[&str]) -> Result<Vec<Listed>> {
        let Some(root) = self.local_root() else { return Ok(Vec::new()) };
        let (url, folders) = (self.url().to_owned(), folders.iter().map(|folder| (*folder).to_owned()).collect::<Vec<_>>());
        blocking(move || {
            let mut found = Vec::new();
            for folder in folders {
                let failed = |error: std::io::Error| failure::disk(&error, Doing::Listing, &folder, &url);
                unfinished(&root.join(&folder), &folder, DEEPEST, &mut found).map_err(failed)?;
            }
            found.sort_by(|one: &Listed, other| one.name.cmp(&other.name));
            Ok(found)
        })
        .await
    }

    /// Deletes a file that [`Store::list_unfinished`] found. Deleting a file that does not exist is not an error.
    ///
    /// # Errors
    /// - `Invalid`: `name` is not the name of an unfinished file, or the store is not a local directory.
    /// - `Denied`, `Unavailable`: the file system refuses or fails.
    pub async fn delete_unfinished(&self, name: &str) -> Result<()> {
        let steps_out = name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
        let Some(root) = self.local_root().filter(|_| is_unfinished(name) && !steps_out) else {
            return Err(Error::invalid(format!("{}: {name} is not the name of an unfinished file", self.url())));
        };
        let (url, name) = (self.url().to_owned(), name.to_owned());
        blocking(move || match fs::remove_file(root.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(failure::disk(&error, Doing::Deleting, &name, &url))
            }
            _ => Ok(()),
        })
        .await
    }

    /// Removes a folder of a local directory if it contains only empty folders. Failures are ignored. A concurrent writer that
    /// needs the folder creates it again.
    pub(crate) async fn remove_empty(&self, folder: &str) {
        let Some(root) = self.local_root() else { return };
        let folder = root.join(folder);
        let _ = blocking(move || {
            remove_empty(&folder, DEEPEST);
            Ok(())
        })
        .await;
    }

    fn local_root(&self) -> Option<PathBuf> {
        self.inner.files.as_ref().map(|files| files.root().to_owned())
    }
}

fn unfinished(folder: &FilePath, place: &str, depth: usize, found: &mut Vec<Listed>) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let slash = if place.is_empty() { "" } else { "/" };
        let Some(name) = entry.file_name().to_str().map(|name| format!("{place}{slash}{name}")) else { continue };
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            unfinished(&entry.path(), &name, depth - 1, found)?;
        } else if kind.is_file() && is_unfinished(&name) {
            // The writer has finished or deleted the file in the meantime.
            let Ok(about) = entry.metadata() else { continue };
            let since = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
            found.push(Listed::new(name, about.len(), i64::try_from(since.as_millis()).unwrap_or(i64::MAX)));
        }
    }
    Ok(())
}

fn remove_empty(folder: &FilePath, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path(), depth - 1);
        }
    }
    // Fails if the folder is not empty.
    let _ = fs::remove_dir(folder);
}
