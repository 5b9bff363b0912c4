//! What garbage collections have decided about a table: each version repeats it after the first collection. Follows
//! `format-spec/collections.md`.
//!
//! The newest manifest answers whether a change may still be committed, whether a claim became a version, and what may be deleted. So a
//! manifest has the floor, the nearest ancestors, and three lists; long lists are an object of their own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::sealed::{self, there};
use crate::{
    error::{Error, Result, counted, short},
    id::{Hash, ObjectRef},
};

/// Maximum number of ancestors in [`Collections::recent`].
pub const MAX_RECENT: usize = 64;
/// Maximum number of entries of the three lists together in a manifest. More of them are an object.
pub const MAX_ENTRIES_HERE: usize = 1000;
/// Maximum size of the object that has the lists, in bytes.
pub const MAX_LISTS: u64 = 256 << 20;
/// The folders of the objects that versions name, and that a garbage collection may delete.
pub const OBJECT_FOLDERS: [&str; 7] = ["attachments", "chunks", "collections", "hashes", "index", "joins", "layout"];

/// The decisions of the garbage collections until a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collections {
    /// No manifest above this version was ever deleted, and a change that began below it is over.
    pub floor: u64,
    /// The version that the last collection made.
    pub last: u64,
    /// The session of several processes that made this version; `None` if one process made it alone.
    pub session: Option<Uuid>,
    /// The nearest ancestors, newest first: at least the parent.
    pub recent: Vec<Ancestor>,
    /// What is kept and what is given up.
    pub lists: StoredLists,
}

/// A version from which another one descends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// Version number.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
    /// The commit that made it.
    pub commit_id: Uuid,
    /// The session of several processes that made it; `None` if one process made it alone.
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    pub session: Option<Uuid>,
}

/// Where the lists are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredLists {
    /// In the manifest.
    Here(Lists),
    /// In an object of the folder `collections`.
    Object(ObjectRef),
}

/// What is kept, and what is given up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// The versions at or below the floor that stay, in rising order.
    pub kept: Vec<Kept>,
    /// The versions that are given up, in rising order, until their manifests are gone.
    pub expired: Vec<Expired>,
    /// The objects that are given up, sorted by folder and hash, until they are gone.
    pub condemned: Vec<GivenUp>,
}

/// A version at or below the floor that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Version number.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
}

/// A version that is given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// Version number.
    pub version: u64,
    /// The BLAKE3 at the end of its manifest.
    pub blake3: Hash,
    /// The version that listed it first.
    pub at: u64,
}

/// An object that garbage collection is going to delete or is deleting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condemned {
    /// Folder of the object: `attachments`, `chunks`, `collections`, `hashes`, `index`, `joins` or `layout`.
    pub folder: String,
    /// Hash and size of the object.
    #[serde(flatten)]
    pub object: ObjectRef,
}

impl Condemned {
    /// Returns the name of the object below the root of the table.
    pub fn name(&self) -> String {
        self.object.name_in(&self.folder)
    }
}

/// An object that is given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenUp {
    /// The object.
    #[serde(flatten)]
    pub object: Condemned,
    /// The version that listed it first; 0 if a build marked it for deletion that did not write `collections`.
    pub at: u64,
}

/// The JSON of the member `collections` of a manifest.
#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    floor: u64,
    last: u64,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    session: Option<Uuid>,
    recent: Vec<Ancestor>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    kept: Option<Vec<Kept>>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    expired: Option<Vec<Expired>>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    condemned: Option<Vec<GivenUp>>,
    #[serde(default, deserialize_with = "there", skip_serializing_if = "Option::is_none")]
    lists: Option<ObjectRef>,
}

/// The JSON of an object of lists.
#[derive(Serialize, Deserialize)]
struct ListsRecord {
    /// The version whose commit stored the object first. So no two versions store objects of one name.
    version: u64,
    kept: Vec<Kept>,
    expired: Vec<Expired>,
    condemned: Vec<GivenUp>,
}

impl Record {
    pub(super) fn of(collections: &Collections) -> Self {
        let Collections { floor, last, session, recent, lists } = collections.clone();
        let (kept, expired, condemned, lists) = match lists {
            StoredLists::Here(Lists { kept, expired, condemned }) => (Some(kept), Some(expired), Some(condemned), None),
            StoredLists::Object(object) => (None, None, None, Some(object)),
        };
        Self { floor, last, session, recent, kept, expired, condemned, lists }
    }

    /// Checks the member of the manifest of this version. `parent` has the version and the hash of its parent.
    ///
    /// # Errors
    /// - `Corrupt`: a member is missing or impossible.
    pub(super) fn checked(self, version: u64, parent: Option<(u64, Hash)>) -> Result<Collections> {
        let Self { floor, last, session, recent, kept, expired, condemned, lists } = self;
        let corrupt = |what: String| Error::corrupt(format!("manifest: collections: {what}"));
        if floor >= version || floor > last || last > version {
            return Err(corrupt(format!("floor {floor} and last collection {last} in version {version}")));
        }
        let first = recent.first().map(|first| (first.version, first.blake3));
        if first.is_none() || first != parent {
            return Err(corrupt("the first of `recent` is not the parent".to_owned()));
        }
        let falls = recent.is_sorted_by(|a, b| a.version > b.version) && recent.iter().all(|ancestor| ancestor.version > 0);
        if recent.len() > MAX_RECENT || !falls {
            let found = counted(recent.len(), "ancestor");
            return Err(corrupt(format!("`recent` has {found}: expected at most {MAX_RECENT}, each older than the one before")));
        }
        let lists = match (kept, expired, condemned, lists) {
            (Some(kept), Some(expired), Some(condemned), None) => {
                let lists = Lists { kept, expired, condemned };
                lists.check(floor, version)?;
                StoredLists::Here(lists)
            }
            (None, None, None, Some(object)) => StoredLists::Object(object),
            _ => return Err(corrupt("expected `kept`, `expired` and `condemned`, or `lists` alone".to_owned())),
        };
        Ok(Collections { floor, last, session, recent, lists })
    }
}

impl Lists {
    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.kept.len() + self.expired.len() + self.condemned.len()
    }

    /// Whether a version at or below the floor stays. The lists are sorted: a manifest with others is refused.
    pub fn is_kept(&self, version: u64) -> bool {
        self.kept_hash(version).is_some()
    }

    /// Returns the hash of the manifest of a version at or below the floor; `None` if it is not kept.
    pub fn kept_hash(&self, version: u64) -> Option<Hash> {
        let place = self.kept.binary_search_by_key(&version, |kept| kept.version).ok()?;
        self.kept.get(place).map(|kept| kept.blake3)
    }

    /// Returns the version that gave up a version first; `None` if it is not given up.
    pub fn expired_at(&self, version: u64) -> Option<u64> {
        let place = self.expired.binary_search_by_key(&version, |expired| expired.version).ok()?;
        self.expired.get(place).map(|expired| expired.at)
    }

    /// Returns the versions that listed what is given up first.
    pub fn ats(&self) -> impl Iterator<Item = u64> {
        let expired = self.expired.iter().map(|expired| expired.at);
        expired.chain(self.condemned.iter().map(|given_up| given_up.at))
    }

    /// Returns the bytes of an object with these lists, which the commit of `version` stores.
    ///
    /// # Errors
    /// - `Internal`: the lists cannot be written as JSON.
    pub fn to_bytes(&self, version: u64) -> Result<Vec<u8>> {
        let Self { kept, expired, condemned } = self.clone();
        let record = ListsRecord { version, kept, expired, condemned };
        serde_json::to_vec(&record).map_err(|error| Error::internal(format!("lists of collections: {error}")))
    }

    /// Parses an object of lists that a manifest of this version names. The caller has verified the bytes against the hash in the
    /// manifest.
    ///
    /// # Errors
    /// - `Corrupt`: the bytes are no such lists, or contradict the floor.
    pub fn parse(bytes: &[u8], floor: u64, version: u64) -> Result<Self> {
        let record: ListsRecord = sealed::read("lists of collections", bytes)?;
        if record.version == 0 || record.version > version {
            let found = record.version;
            return Err(Error::corrupt(format!("lists of collections: of version {found}, in version {version}")));
        }
        let lists = Self { kept: record.kept, expired: record.expired, condemned: record.condemned };
        lists.check(floor, version)?;
        Ok(lists)
    }

    fn check(&self, floor: u64, version: u64) -> Result<()> {
        let corrupt = |what: &str| Err(Error::corrupt(format!("collections of version {version}: {what}")));
        let is_kept = |kept: &Kept| (1..=floor).contains(&kept.version);
        if !self.kept.is_sorted_by(|a, b| a.version < b.version) || !self.kept.iter().all(is_kept) {
            return corrupt("`kept` is not sorted, or has a version above the floor");
        }
        let is_expired = |expired: &Expired| expired.version > 0 && expired.version < expired.at && expired.at <= version;
        if !self.expired.is_sorted_by(|a, b| a.version < b.version) || !self.expired.iter().all(is_expired) {
            return corrupt("`expired` is not sorted, or has an impossible version");
        }
        let kept: BTreeSet<u64> = self.kept.iter().map(|kept| kept.version).collect();
        if self.expired.iter().any(|expired| kept.contains(&expired.version)) {
            return corrupt("a version is both kept and expired");
        }
        let key = |given_up: &'_ GivenUp| (given_up.object.folder.clone(), given_up.object.object.blake3);
        if !self.condemned.is_sorted_by(|a, b| key(a) < key(b)) || self.condemned.iter().any(|given_up| given_up.at > version) {
            return corrupt("`condemned` is not sorted, or has an object of a later version");
        }
        match self.condemned.iter().find(|given_up| !OBJECT_FOLDERS.contains(&given_up.object.folder.as_str())) {
            Some(foreign) => corrupt(&format!("a condemned object in `{}`", short(&foreign.object.folder))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]
mod tests {
    use super::*;

    fn lists() -> Lists {
        let blake3 = Hash::of(b"one");
        let object = |folder: &str| Condemned { folder: folder.to_owned(), object: ObjectRef { blake3, bytes: 7 } };
        Lists {
            kept: vec![Kept { version: 2, blake3 }],
            expired: vec![Expired { version: 3, blake3, at: 5 }, Expired { version: 6, blake3, at: 9 }],
            condemned: vec![GivenUp { object: object("chunks"), at: 0 }, GivenUp { object: object("index"), at: 9 }],
        }
    }

    #[test]
    fn lists_come_back_from_their_object() {
        let bytes = lists().to_bytes(9).unwrap();
        assert_eq!(Lists::parse(&bytes, 4, 9).unwrap(), lists());
        assert_eq!(Lists::parse(&bytes, 4, 12).unwrap(), lists());
        assert!(Lists::parse(&bytes, 4, 8).is_err(), "made after the version that names it");
        assert!(Lists::parse(&bytes, 1, 9).is_err(), "a kept version above the floor");
        assert_ne!(bytes, lists().to_bytes(10).unwrap());
    }

    #[test]
    fn a_version_is_found_in_its_list() {
        let lists = lists();
        assert_eq!([1, 2, 3].map(|version| lists.is_kept(version)), [false, true, false]);
        assert_eq!([2, 3, 6, 7].map(|version| lists.expired_at(version)), [None, Some(5), Some(9), None]);
    }

    #[test]
    fn impossible_lists_are_refused() {
        let refused = |change: fn(&mut Lists)| {
            let mut lists = lists();
            change(&mut lists);
            let error = Lists::parse(&lists.to_bytes(9).unwrap(), 4, 9).unwrap_err();
            assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt, "{error}");
            error.to_string()
        };
        assert!(refused(|lists| lists.kept[0].version = 5).contains("above the floor"));
        assert!(refused(|lists| lists.kept[0].version = 3).contains("both kept and expired"));
        assert!(refused(|lists| lists.expired.reverse()).contains("not sorted"));
        assert!(refused(|lists| lists.expired[0].at = 3).contains("impossible version"));
        assert!(refused(|lists| lists.expired[1].at = 10).contains("impossible version"));
        assert!(refused(|lists| lists.condemned.reverse()).contains("not sorted"));
        assert!(refused(|lists| lists.condemned[0].at = 10).contains("later version"));
        assert!(refused(|lists| lists.condemned[0].object.folder = "..".to_owned()).contains("condemned object in `..`"));
    }
}
