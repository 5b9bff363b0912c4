//! Reads that their caller verifies. What fails its checks is read once more from the store itself, because a bit may have flipped in a
//! cache or in transit.

use futures::future::join_all;

use super::{store::Store, stores::Stores};
use crate::{ErrorKind, Result};

impl Store {
    /// Reads, and reads once more if the result is damaged. Local files are read only once. Bypasses the cache.
    pub(crate) async fn twice_where_damaged<T, R: Future<Output = Result<T>>>(&self, read: impl Fn() -> R) -> Result<T> {
        match read().await {
            Err(error) if error.kind() == ErrorKind::Corrupt && !self.is_local() => read().await,
            done => done,
        }
    }

    /// Reads through the cache. `read` verifies what it reads: fetched bytes enter the cache only if it succeeds. If the result is damaged,
    /// what was read from the cache is evicted, and `read` is called once more for the store itself.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) async fn verified<T, R: Future<Output = Result<T>>>(&self, read: impl Fn(Self) -> R) -> Result<T> {
        let trial = self.on_trial();
        match read(trial.clone()).await {
            Ok(found) => {
                trial.admit().await;
                Ok(found)
            }
            Err(error) if error.kind() == ErrorKind::Corrupt && (trial.reject().await || !self.is_local()) => {
                read(self.clone()).await
            }
            Err(error) => Err(error),
        }
    }
}

/// Reads from several stores, as [`Store::verified`] does from one. Reading a local file again gives the same damage, so it is read once; its
/// handle is closed, so that the next read opens a repaired file. `read` is told whether it is called for the last time.
///
/// # Errors
/// Those of `read`.
pub(crate) async fn verified<T, R: Future<Output = Result<T>>>(
    stores: &Stores,
    mut read: impl FnMut(Stores, bool) -> R,
) -> Result<T> {
    let is_damaged = |found: &Result<T>| found.as_ref().is_err_and(|error| error.kind() == ErrorKind::Corrupt);
    if stores.is_local() {
        let found = read(stores.clone(), true).await;
        if is_damaged(&found) {
            stores.iter().for_each(Store::close_files);
        }
        return found;
    }
    let trials = stores.on_trial();
    let found = read(trials.clone(), false).await;
    if is_damaged(&found) {
        join_all(trials.iter().map(Store::reject)).await;
        stores.iter().for_each(Store::close_files);
        return read(stores.clone(), true).await;
    }
    if found.is_ok() {
        join_all(trials.iter().map(Store::admit)).await;
    }
    found
}
