//! Reads manifests: the newest version, all versions, one version. Follows `format-spec/manifest.md`.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures::future::join;

use crate::{
    error::{Error, ErrorKind, Mark, Result, counted},
    format::{self, Manifest, manifest_hash, manifest_name, version_of_name},
    id::Hash,
    store::{Listed, Store},
    work::offload_large,
};

/// Maximum size of a manifest.
pub(super) const MAX_MANIFEST: u64 = 256 << 20;

/// Maximum attempts to find the newest version while listings lack a version that exists.
pub(super) const LOOKS: usize = 3;

const MANIFESTS: &str = "manifests";

fn is_manifest(name: &str) -> bool {
    version_of_name(name).is_some()
}

/// Returns the manifests of the table at this root by version, with the times when they were written.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn manifests(store: &Store) -> Result<BTreeMap<u64, Listed>> {
    let listed = store.list_expected(MANIFESTS, usize::MAX, is_manifest).await?;
    Ok(listed.into_iter().filter_map(|listed| Some((version_of_name(&listed.name)?, listed))).collect())
}

/// Returns the versions of the table at this root, newest first.
///
/// # Errors
/// - Errors of the store.
pub async fn versions(store: &Store) -> Result<Vec<u64>> {
    let names = store.names_expected(MANIFESTS, usize::MAX, is_manifest).await?;
    // The name of a newer version sorts first.
    Ok(names.iter().filter_map(|name| version_of_name(name)).collect())
}

/// Returns the newest version, or `None` if there is no table at this root.
///
/// # Errors
/// - Errors of the store.
pub async fn newest_version(store: &Store) -> Result<Option<u64>> {
    // The newest versions have the names that sort first. Lists all names only if none of the first ones is a manifest's.
    const LOOK: usize = 8;
    let first = store.names_expected(MANIFESTS, LOOK, is_manifest).await?;
    match first.iter().filter_map(|name| version_of_name(name)).max() {
        None if first.len() == LOOK => Ok(versions(store).await?.first().copied()),
        newest => Ok(newest),
    }
}

/// Returns the manifest of the newest version and the hash at its end, or `None` if there is no table at this root.
///
/// Over plain HTTP a flipped bit in the listing may hide the newest version. There the reader also asks for the next version, at
/// the same time as it fetches the manifest.
///
/// # Errors
/// - `Unavailable`: listings lack a version that exists.
/// - `NotFound`: every listing named a version that does not exist.
/// - `Corrupt`, `Unsupported`: this build cannot read the manifest.
/// - Errors of the store.
pub async fn load_newest(store: &Store) -> Result<Option<(Manifest, Hash)>> {
    // Lower bound of the newest version.
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
            // Versions do not vanish while they are the newest: the listed name was garbled in transit.
            Err(error) if error.kind() == ErrorKind::NotFound => missing = Some(error),
            // This listing has the version that the previous one lacked, so it is right. A further version may have been
            // committed since.
            loaded if at_least > 0 && version >= at_least => return loaded.map(Some),
            loaded => match has_next? {
                false if version >= at_least => return loaded.map(Some),
                false => {}
                true => at_least = at_least.max(version.saturating_add(1)),
            },
        }
    }
    Err(missing.unwrap_or_else(|| {
        Error::unavailable(format!("{}: version {at_least} exists, but listings of manifests lack it; retry", store.url()))
    }))
}

/// Whether the next version exists. Skips the request if the transport cannot garble a listing.
async fn has_successor(store: &Store, version: u64) -> Result<bool> {
    if !store.is_plain() {
        return Ok(false);
    }
    let Some(next) = version.checked_add(1) else { return Ok(false) };
    match store.size(&manifest_name(next)).await {
        Ok(_) => Ok(true),
        // Some stores answer `Denied` for an absent object if the caller has no permission to list.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Denied) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns the manifest of a version and the hash at its end.
///
/// # Errors
/// - `NotFound`: the version does not exist.
/// - `Corrupt`: the manifest is damaged or malformed.
/// - `Unsupported`: the manifest has a format number or a feature that this build does not know.
/// - Errors of the store.
pub async fn load(store: &Store, version: u64) -> Result<(Manifest, Hash)> {
    load_sealed(store, version).await.map(|(manifest, hash, _)| (manifest, hash))
}

/// Returns the manifest of a version, the hash at its end, and its stored bytes.
///
/// # Errors
/// - `NotFound`: the version does not exist.
/// - `Corrupt`: the manifest is damaged or malformed.
/// - `Unsupported`: the manifest has a format number or a feature that this build does not know.
/// - Errors of the store.
pub async fn load_sealed(store: &Store, version: u64) -> Result<(Manifest, Hash, Bytes)> {
    let name = manifest_name(version);
    let place = |error: Error| error.at(format!("{} version {version}", store.url()));
    let read = || async {
        let bytes = store.get(&name, MAX_MANIFEST).await.map_err(|error| not_there(store, version, error))?;
        let copy = bytes.clone();
        let parsed = offload_large(bytes.len(), move |_| Manifest::parse(&copy, version)).await;
        let (manifest, hash) = parsed.map_err(place)?;
        Ok((manifest, hash, bytes))
    };
    store.twice_where_damaged(read).await
}

/// Returns the stored bytes of a version's manifest and the hash at their end, in any format version.
///
/// # Errors
/// - `NotFound`: the version does not exist.
/// - `Corrupt`: the manifest does not match its hash.
/// - Errors of the store.
pub async fn sealed(store: &Store, version: u64) -> Result<(Bytes, Hash)> {
    let read = || async {
        let bytes = store.get(&manifest_name(version), MAX_MANIFEST).await.map_err(|error| not_there(store, version, error))?;
        let hash = manifest_hash(&bytes).map_err(|error| error.at(format!("{} version {version}", store.url())))?;
        Ok((bytes, hash))
    };
    store.twice_where_damaged(read).await
}

/// Returns the hash that the end of a version's manifest states, also if the manifest is damaged.
///
/// # Errors
/// - Errors of the store.
pub async fn stated_hash(store: &Store, version: u64) -> Result<Option<Hash>> {
    match store.get(&manifest_name(version), MAX_MANIFEST).await {
        Ok(bytes) => Ok(format::stated_hash(&bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Names the version instead of its manifest if the manifest does not exist.
fn not_there(store: &Store, version: u64, error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound if error.is(Mark::NoObject) => {
            Error::not_found(format!("{}: no version {version}", store.url())).with_source(error)
        }
        _ => error,
    }
}

/// Returns the error for a version that does not exist. It says which versions do, if the store can list them.
pub async fn no_version(store: &Store, version: u64) -> Error {
    /// Most versions whose numbers the message lists.
    const SHOWN: usize = 16;
    let place = format!("{}: no version {version}", store.url());
    let mut kept = match versions(store).await {
        Ok(kept) => kept,
        // There is no such bucket.
        Err(error) if error.kind() == ErrorKind::NotFound => return error,
        Err(_) => return Error::not_found(place),
    };
    kept.sort_unstable();
    let message = match kept.as_slice() {
        [] => "no table there (no manifest)".to_owned(),
        [.., newest] if !(1..=*newest).contains(&version) => format!("the newest is {newest}, and the first was 1"),
        [first, .., last] if kept.len() > SHOWN => {
            let count = counted(kept.len(), "version");
            format!("its manifest is missing; the table has {count} from {first} to {last}")
        }
        kept => {
            let kept: Vec<String> = kept.iter().map(u64::to_string).collect();
            format!("its manifest is missing; the table has {}", kept.join(", "))
        }
    };
    Error::not_found(format!("{place}: {message}"))
}

/// Returns the hash of a version's manifest, in any format version.
///
/// # Errors
/// - `NotFound`: the version does not exist.
/// - `Corrupt`: the manifest does not match its hash.
/// - Errors of the store.
pub async fn hash_of(store: &Store, version: u64) -> Result<Hash> {
    sealed(store, version).await.map(|(_, hash)| hash)
}
