//! What the newest manifest of a table decides: implements [`decisions::Newest`], makes the member `collections` of the next version, and
//! stores and reads long lists. Follows `format-spec/collections.md`.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    decisions::{self, Newest},
    versions::{load, manifests},
};
use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::{Ancestor, Collections, Condemned, Lists, MAX_ENTRIES_HERE, MAX_LISTS, MAX_RECENT, Manifest, StoredLists},
    id::{Hash, ObjectRef},
    store::{Listed, Store},
};

/// Lineage key of the session id, for a version that several processes made together.
pub(crate) const SESSION: &str = "session";
/// Folder of the objects that hold long lists.
const FOLDER: &str = "collections";

/// A version with what its manifest decides as long as it is the newest one.
#[derive(Clone, Debug)]
pub(crate) struct Decided<'a> {
    manifest: &'a Manifest,
    hash: Hash,
    lists: Lists,
}

impl<'a> Decided<'a> {
    /// Reads the lists of a version, if they are an object.
    ///
    /// # Errors
    /// - `Corrupt`: the lists are missing or damaged.
    /// - Errors of the store.
    pub(crate) async fn by(store: &Store, manifest: &'a Manifest, hash: Hash) -> Result<Self> {
        Ok(Self { manifest, hash, lists: lists_of(store, manifest).await? })
    }

    /// Returns the lists.
    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    /// Returns the version that condemned each object first, by name. Empty where another build condemned the objects.
    pub(crate) fn condemned(&self) -> BTreeMap<String, u64> {
        self.lists.condemned.iter().map(|given_up| (given_up.object.name(), given_up.at)).collect()
    }
}

impl Newest for Decided<'_> {
    type Hash = Hash;
    type Change = Uuid;

    fn version(&self) -> u64 {
        self.manifest.version
    }

    fn hash(&self) -> Hash {
        self.hash
    }

    fn change(&self) -> Uuid {
        session_of(self.manifest).unwrap_or(self.manifest.commit_id)
    }

    fn floor(&self) -> u64 {
        self.manifest.floor()
    }

    fn collected(&self) -> u64 {
        self.manifest.last_collection()
    }

    fn recent(&self) -> impl Iterator<Item = decisions::Ancestor<Hash, Uuid>> {
        self.manifest.collections.iter().flat_map(|collections| &collections.recent).map(|ancestor| decisions::Ancestor {
            version: ancestor.version,
            hash: ancestor.blake3,
            change: ancestor.session.unwrap_or(ancestor.commit_id),
        })
    }

    fn kept(&self) -> impl Iterator<Item = decisions::Named<Hash>> {
        self.lists.kept.iter().map(|kept| decisions::Named { version: kept.version, hash: kept.blake3 })
    }

    fn expired(&self) -> impl Iterator<Item = decisions::Expired<Hash>> {
        self.lists.expired.iter().map(|expired| decisions::Expired {
            version: expired.version,
            hash: expired.blake3,
            at: expired.at,
        })
    }
}

/// Returns the manifests of the table at this root as [`manifests`] does, without those of versions that are given up for good, and those
/// that a late request put where a version was given up. All of them, if the newest one or its lists cannot be read.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn existing(store: &Store) -> Result<BTreeMap<u64, Listed>> {
    let mut found = manifests(store).await?;
    let Some(newest) = found.keys().next_back().copied() else { return Ok(found) };
    if let Ok((manifest, hash)) = load(store, newest).await
        && let Ok(decided) = Decided::by(store, &manifest, hash).await
    {
        let (floor, lists) = (decided.floor(), decided.lists());
        found.retain(|version, _| match lists.expired_at(*version) {
            Some(at) => !decisions::is_final(at, floor),
            None => *version > floor || *version == newest || lists.is_kept(*version),
        });
    }
    Ok(found)
}

/// Returns the session of several processes that made a version; `None` if one process made it alone.
pub(crate) fn session_of(manifest: &Manifest) -> Option<Uuid> {
    match &manifest.collections {
        Some(collections) => collections.session,
        None => Uuid::try_parse(manifest.lineage.get(SESSION)?.as_str()?).ok(),
    }
}

/// Describes a version for its descendants.
pub(crate) fn ancestor(manifest: &Manifest, hash: Hash) -> Ancestor {
    let (version, commit_id, session) = (manifest.version, manifest.commit_id, session_of(manifest));
    Ancestor { version, blake3: hash, commit_id, session }
}

/// Returns the member `collections` of the next version after `parent`, with other lists if there are some; `None` before the first
/// garbage collection.
pub(crate) fn next_collections(
    parent: &Manifest,
    hash: Hash,
    session: Option<Uuid>,
    lists: Option<StoredLists>,
) -> Option<Collections> {
    let before = parent.collections.as_ref()?;
    let recent = std::iter::once(ancestor(parent, hash)).chain(before.recent.iter().cloned()).take(MAX_RECENT).collect();
    let lists = lists.unwrap_or_else(|| before.lists.clone());
    Some(Collections { session, recent, lists, ..before.clone() })
}

/// Returns the lists of a version; empty ones before the first garbage collection.
///
/// # Errors
/// - `Corrupt`: the object with the lists is missing or damaged.
/// - Errors of the store.
pub(crate) async fn lists_of(store: &Store, manifest: &Manifest) -> Result<Lists> {
    let Some(collections) = &manifest.collections else { return Ok(Lists::default()) };
    match &collections.lists {
        StoredLists::Here(lists) => Ok(lists.clone()),
        StoredLists::Object(object) => {
            let name = object.name_in(FOLDER);
            let place = |error: Error| error.at(format!("{}: {name}", store.url()));
            if object.bytes > MAX_LISTS {
                let found = counted(object.bytes, "byte");
                return Err(place(Error::corrupt(format!("{found}, expected at most {MAX_LISTS}"))));
            }
            let read = || async {
                let bytes = store.get_exact(&name, object.bytes).await.map_err(|error| match error.kind() {
                    ErrorKind::NotFound => place(Error::corrupt("it is missing")).with_source(error),
                    _ => error,
                })?;
                let found = Hash::of(&bytes);
                if found != object.blake3 {
                    return Err(place(Error::corrupt(format!("its bytes have the hash {found}"))));
                }
                Lists::parse(&bytes, collections.floor, manifest.version).map_err(place)
            };
            store.twice_where_damaged(read).await
        }
    }
}

/// Puts long lists into an object, which the commit of this version stores. Short ones stay in the manifest.
///
/// # Errors
/// - Errors of the store.
pub(crate) async fn store_lists(store: &Store, lists: Lists, version: u64) -> Result<StoredLists> {
    if lists.entries() <= MAX_ENTRIES_HERE {
        return Ok(StoredLists::Here(lists));
    }
    let bytes = lists.to_bytes(version)?;
    if bytes.len() as u64 > MAX_LISTS {
        let found = counted(bytes.len(), "byte");
        return Err(Error::unsupported(format!("{}: lists of what is given up of {found}, at most {MAX_LISTS}", store.url())));
    }
    let object = ObjectRef::of(&bytes);
    store.put_content(&object.name_in(FOLDER), bytes.into()).await?;
    Ok(StoredLists::Object(object))
}

/// Returns the object of the lists of a version, if they are one.
pub(crate) fn lists_object(manifest: &Manifest) -> Option<Condemned> {
    match &manifest.collections.as_ref()?.lists {
        StoredLists::Object(object) => Some(Condemned { folder: FOLDER.to_owned(), object: object.clone() }),
        StoredLists::Here(_) => None,
    }
}
