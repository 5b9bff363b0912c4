//! Leftovers of writers in a local directory that no listing shows: unfinished files of killed processes, and empty folders. A
//! writer writes a local object to a name that ends in `#` and a number, and renames the file when it is complete.

use super::{
    local::{LocalFiles, is_unfinished},
    remote::listing::Listed,
    store::Store,
};
use crate::{Error, Result};

impl Store {
    /// Lists the unfinished files below these folders, sorted by name. Only local directories have such files.
    ///
    /// # Errors
    /// - `Denied`: a folder is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
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
        let folders = folders.iter().map(|folder| (*folder).to_owned()).collect::<Vec<_>>();
        let list = move |files: &LocalFiles| {
            let found = folders.iter().map(|folder| files.unfinished(folder)).collect::<Result<Vec<_>>>()?;
            let mut found: Vec<Listed> = found.into_iter().flatten().collect();
            found.sort_by(|one, other| one.name.cmp(&other.name));
            Ok(found)
        };
        Ok(self.inner.on_disk(list).await?.unwrap_or_default())
    }

    /// Deletes a file that [`Store::list_unfinished`] found. Deleting a file that does not exist is not an error.
    ///
    /// # Errors
    /// - `Invalid`: `name` is not the name of an unfinished file, or the store is not a local directory.
    /// - `Denied`: a folder of the name is a link, or the file system refuses.
    /// - `Unavailable`: the file system fails.
    pub async fn delete_unfinished(&self, name: &str) -> Result<()> {
        let steps_out = name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
        if self.inner.files.is_none() || !is_unfinished(name) || steps_out {
            return Err(Error::invalid(format!("{}: {name} is not the name of an unfinished file", self.url())));
        }
        let name = name.to_owned();
        self.inner.on_disk(move |files| files.remove(&name)).await.map(drop)
    }

    /// Removes the folders directly in a folder of a local directory that are empty and whose names are `ours`, and then the
    /// folder itself if it is empty. Failures are ignored. A concurrent writer that needs a folder creates it again.
    pub(crate) async fn remove_empty(&self, folder: &'static str, ours: fn(&str) -> bool) {
        let removed = self.inner.on_disk(move |files| {
            files.remove_empty(folder, ours);
            Ok(())
        });
        let _ = removed.await;
    }
}
