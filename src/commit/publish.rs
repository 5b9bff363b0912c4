//! Claiming a version: a look at the newest one, a create-only put of the next one's manifest, and what an unclear answer means.
//! Follows `format-spec/manifest.md#commit`.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::future::join;

use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{Manifest, manifest_hash, manifest_name, version_of_name},
    id::Hash,
    offload::offload_large,
    store::{Listed, Put, Store},
};

/// A manifest is at most this large.
const MAX_MANIFEST: u64 = 256 << 20;
/// How often an absent manifest is put again after an error.
const ATTEMPTS: usize = 3;

/// Attempts to find the newest version while listings lack a version that exists.
const LOOKS: usize = 3;

/// The manifests of the table at this root by their versions, and when they were written.
///
/// # Errors
/// Errors of the store.
pub(crate) async fn manifests(store: &Store) -> Result<BTreeMap<u64, Listed>> {
    let listed = store.list_expected("manifests", usize::MAX, |name| version_of_name(name).is_some()).await?;
    Ok(listed.into_iter().filter_map(|listed| Some((version_of_name(&listed.name)?, listed))).collect())
}

/// The versions of the table at this root, newest first.
///
/// # Errors
/// Errors of the store.
pub async fn versions(store: &Store) -> Result<Vec<u64>> {
    Ok(manifests(store).await?.into_keys().rev().collect())
}

/// The newest version, if there is a table at this root.
///
/// # Errors
/// Errors of the store.
pub async fn newest_version(store: &Store) -> Result<Option<u64>> {
    // Newest versions have the names that sort first; only if all of the first are unrecognised names, all names are listed.
    const LOOK: usize = 8;
    let first = store.list_expected("manifests", LOOK, |name| version_of_name(name).is_some()).await?;
    match first.iter().filter_map(|listed| version_of_name(&listed.name)).max() {
        None if first.len() == LOOK => Ok(manifests(store).await?.into_keys().next_back()),
        newest => Ok(newest),
    }
}

/// The newest version, its manifest and the hash that ends it, if there is a table at this root.
///
/// Over plain HTTP a bit of the listing may flip on the way and hide the newest version: then the successor of what is taken for
/// it is asked for too, while the manifest is on its way.
///
/// # Errors
/// As [`newest_version`] and [`load`]; `Unavailable` where listings lack a version that is there.
pub async fn load_newest(store: &Store) -> Result<Option<(Manifest, Hash)>> {
    // The newest version is at least this one.
    let mut at_least = 0;
    let mut missing = None;
    for _ in 0..LOOKS {
        let Some(version) = newest_version(store).await? else {
            if at_least == 0 {
                return Ok(None);
            }
            continue;
        };
        let (loaded, has_next) = join(load(store, version), has_successor(store, version)).await;
        match loaded {
            // The newest version stays: what is listed and not there is a name that was garbled on the way.
            Err(error) if error.kind() == ErrorKind::NotFound => missing = Some(error),
            // A listing that has what the one before lacked is right; a successor was committed since.
            loaded if at_least > 0 && version >= at_least => return loaded.map(Some),
            loaded => match has_next? {
                false if version >= at_least => return loaded.map(Some),
                false => {}
                true => at_least = at_least.max(version.saturating_add(1)),
            },
        }
    }
    Err(missing.unwrap_or_else(|| {
        Error::unavailable(format!("{}: version {at_least} is there, and listings of manifests lack it; retry", store.url()))
    }))
}

/// Whether the version after this one is there; not asked for where nothing can garble a listing.
async fn has_successor(store: &Store, version: u64) -> Result<bool> {
    if !store.is_plain() {
        return Ok(false);
    }
    let Some(next) = version.checked_add(1) else { return Ok(false) };
    match store.size(&manifest_name(next)).await {
        Ok(_) => Ok(true),
        // Some stores answer `Denied` for an absent object if the caller may not list.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A look at the newest version of a table. A version is claimed on the ground of one, and no later than [`Look::MAX_AGE`] after
/// it: the numbers behind it are free because they were never used, not because garbage collection removed what had them.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The newest version; `None` where there is no table.
    pub newest: Option<u64>,
    at: Instant,
}

impl Look {
    /// How old a look may be when a claim is sent. Garbage collection beside writers needs an age far above this.
    pub const MAX_AGE: Duration = Duration::from_secs(60);

    /// Looks now.
    ///
    /// # Errors
    /// Errors of the store.
    pub async fn take(store: &Store) -> Result<Self> {
        let at = Instant::now();
        Ok(Self { newest: newest_version(store).await?, at })
    }

    /// Whether it is too old to claim or to delete anything on its ground.
    pub fn is_stale(&self) -> bool {
        self.at.elapsed() > Self::MAX_AGE
    }
}

/// The manifest of a version, and the hash that ends it.
///
/// # Errors
/// `NotFound` where the version is not there; else as [`Manifest::parse`].
pub async fn load(store: &Store, version: u64) -> Result<(Manifest, Hash)> {
    load_sealed(store, version).await.map(|(manifest, hash, _)| (manifest, hash))
}

/// As [`load`], with the bytes that are stored.
///
/// # Errors
/// As [`load`].
pub async fn load_sealed(store: &Store, version: u64) -> Result<(Manifest, Hash, Bytes)> {
    let name = manifest_name(version);
    let place = |error: Error| error.at(format!("{} version {version}", store.url()));
    let read = || async {
        let bytes = store.get(&name, MAX_MANIFEST).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound if error.to_string().ends_with("no such object") => {
                Error::not_found(format!("{}: no version {version}", store.url())).with_source(error)
            }
            _ => error,
        })?;
        let held = bytes.clone();
        let parsed = offload_large(bytes.len(), move |_| Manifest::parse(&held, version)).await;
        let (manifest, hash) = parsed.map_err(place)?;
        Ok((manifest, hash, bytes))
    };
    store.twice_where_damaged(read).await
}

/// The bytes of a version's manifest and the hash that ends them, whatever format it has.
///
/// # Errors
/// `NotFound`, `Corrupt`, errors of the store.
pub async fn sealed(store: &Store, version: u64) -> Result<(Bytes, Hash)> {
    let read = || async {
        let bytes = store.get(&manifest_name(version), MAX_MANIFEST).await?;
        let hash = manifest_hash(&bytes)?;
        Ok((bytes, hash))
    };
    store.twice_where_damaged(read).await
}

/// The hash of a version's manifest, whatever format it has.
///
/// # Errors
/// As [`sealed`].
pub async fn hash_of(store: &Store, version: u64) -> Result<Hash> {
    sealed(store, version).await.map(|(_, hash)| hash)
}

/// Makes the version exist, exactly once.
///
/// On any unclear answer the name is read back: ours is success, another's is a conflict, absent is tried again. A manifest
/// that may not be durable stays an unknown outcome, also where its name shows it: what is read back may be lost with power.
///
/// # Errors
/// `Unsupported` where the store ignores conditions, so that two writers would both be told that they won; `Conflict` where
/// another writer claimed the version; `OutcomeUnknown` where it cannot be read whether we did, or our
/// manifest may not be durable.
pub async fn publish(store: &Store, manifest: &Manifest) -> Result<Hash> {
    claim(store, manifest, None).await
}

/// As [`publish`], on the ground of a look that showed no such version: what is tried again later than [`Look::MAX_AGE`] is looked
/// at again before.
///
/// # Errors
/// As [`publish`].
pub async fn claim(store: &Store, manifest: &Manifest, mut look: Option<Look>) -> Result<Hash> {
    let (bytes, hash) = manifest.to_bytes()?;
    // What no reader would take must not become a version: too large, or properties nested too deep.
    let parsed = Manifest::parse(&bytes, manifest.version).map(drop);
    let fits = if bytes.len() as u64 <= MAX_MANIFEST {
        Ok(())
    } else {
        Err(Error::invalid(format!("{}, expected at most {MAX_MANIFEST}", counted(bytes.len(), "byte"))))
    };
    fits.and(parsed).map_err(|error| {
        Error::invalid(format!("{}: no reader would take version {}: {error}", store.url(), manifest.version)).with_source(error)
    })?;
    let name = manifest_name(manifest.version);
    let place = format!("{}: version {}", store.url(), manifest.version);
    let unknown = |why: &str| {
        let commit = manifest.commit_id;
        Error::outcome_unknown(format!(
            "{place}: {why}; look for commit_id {commit} in version {} before retrying",
            manifest.version
        ))
    };
    store.ensure_create_only().await.map_err(|error| error.at(&place))?;
    let by_another = || Error::conflict(format!("{place} was committed by another writer; reload and retry"));
    let (mut last, mut taken) = (None, false);
    for _ in 0..ATTEMPTS {
        if look.is_some_and(|look| look.is_stale()) {
            let again = Look::take(store).await?;
            if again.newest >= Some(manifest.version) {
                return Err(by_another());
            }
            look = Some(again);
        }
        let cause = match store.put_new(&name, bytes.clone().into()).await {
            Ok(Put::Created) => return Ok(hash),
            // Also what a retry below us answers when the first try got through.
            Ok(Put::AlreadyThere) => {
                taken = true;
                None
            }
            Err(error) => Some(error),
        };
        match store.get(&name, MAX_MANIFEST).await {
            // The bytes hold our commit_id, so equal bytes are ours; the winner's need not be readable by this build.
            Ok(found) if found == bytes => {
                return match cause {
                    Some(error) if error.kind() == ErrorKind::OutcomeUnknown => {
                        Err(unknown("its manifest is there, and may not be durable").with_source(error))
                    }
                    _ => Ok(hash),
                };
            }
            Ok(_) => return Err(by_another()),
            Err(error) if error.kind() == ErrorKind::NotFound => last = cause.or(Some(error)),
            Err(error) => {
                let unknown = unknown("the commit got no clear answer, and its manifest cannot be read back");
                return Err(unknown.with_source(cause.unwrap_or(error)));
            }
        }
    }
    if taken {
        // A read that lags behind the put: whose manifest took the name is not to be seen from here.
        let unknown = unknown("its name is taken, and what took it cannot be read back");
        return Err(match last {
            Some(error) => unknown.with_source(error),
            None => unknown,
        });
    }
    let cause = last.unwrap_or_else(|| Error::unavailable("no answer"));
    Err(Error::new(cause.kind(), format!("{place} was not committed: {cause}")).with_source(cause))
}
