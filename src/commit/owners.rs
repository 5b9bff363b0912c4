//! Owners: the other tables whose chunks a table uses. This file names them in the manifest, pins them, and checks them before
//! the claim. Follows `format-spec/manifest.md#references` and `format-spec/pins.md#pin`.
//!
//! A writer adds and pins its owners first. Then it reads their newest manifests, and after that it looks for chunks to reuse. It
//! reads these manifests once more before it claims its version. In the end it removes the pins that it does not need.

use std::collections::BTreeSet;

use bytes::Bytes;
use uuid::Uuid;

use super::{
    decided::Decided,
    decisions,
    versions::{hash_of, load, load_newest},
};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{Condemned, ForeignTable, MAX_PIN, Pin, PinOwner},
    id::{ChunkId, Hash},
    machine,
    store::{Put, Store},
};

/// The owners of chunks that a table uses. Each version of each table occurs once.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use tetrys::{Store, commit::Owners, id::Hash};
/// use uuid::Uuid;
///
/// let labels = Store::open("memory://bucket/labels")?;
/// let sensors = Store::open("memory://bucket/sensors")?;
/// let mut owners = Owners::new(labels);
/// let first = owners.add(&sensors, Uuid::from_u128(1), 3, Hash::of(b"manifest"))?;
/// assert_eq!(owners.add(&sensors, Uuid::from_u128(1), 3, Hash::of(b"manifest"))?, first);
/// assert_eq!(owners.stores()[0].urls, ["../sensors"]);
/// # Ok::<(), tetrys::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Owners {
    borrower: Store,
    owners: Vec<Owner>,
}

/// One owner.
#[derive(Clone, Debug)]
struct Owner {
    /// Store of the owner, or the error of opening it.
    store: Result<Store, (ErrorKind, String)>,
    table: ForeignTable,
    /// Names of the pins that we put there.
    pins: Vec<String>,
    /// Whether the base version of the change uses it: then that version has a pin.
    is_of_base: bool,
}

impl Owner {
    fn url(&self) -> String {
        match &self.store {
            Ok(store) => store.url().to_owned(),
            Err(_) => self.table.urls.first().cloned().unwrap_or_default(),
        }
    }
}

/// An owner that could not be pinned.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unpinned {
    /// URL of the owner.
    pub url: String,
    /// Why the pin could not be put. The usual reason is that the owner is read-only.
    pub why: String,
}

/// The commit that uses the chunks.
#[derive(Clone, Copy, Debug)]
pub struct Borrower {
    /// Table that will use the chunks.
    pub table: Uuid,
    /// Version of that table that is being committed.
    pub version: u64,
    /// Id of the commit.
    pub commit_id: Uuid,
}

impl Owners {
    /// Creates an empty list of owners for a table in `borrower`.
    pub fn new(borrower: Store) -> Self {
        Self { borrower, owners: Vec::new() }
    }

    /// Adds a version of the table in `store`. Returns its number in layouts, from 1. A version that was added before keeps its
    /// number.
    ///
    /// # Errors
    /// - `Invalid`: other processes cannot open the store by a URL, or the version was added with another hash.
    pub fn add(&mut self, store: &Store, table: Uuid, version: u64, blake3: Hash) -> Result<u32> {
        let existing = self.owners.iter().position(|owner| (owner.table.table, owner.table.version) == (table, version));
        let place = match existing {
            Some(place) if self.owners[place].table.blake3 == blake3 => place,
            Some(place) => {
                return Err(Error::invalid(format!(
                    "{}: version {version} of table {table} has the manifest hash {blake3}, at {} it has {}",
                    store.url(),
                    self.owners[place].url(),
                    self.owners[place].table.blake3
                )));
            }
            None => {
                let urls = vec![self.borrower.url_of(store)?];
                let table = ForeignTable { table, version, blake3, urls };
                self.owners.push(Owner { store: Ok(store.clone()), table, pins: Vec::new(), is_of_base: false });
                self.owners.len() - 1
            }
        };
        u32::try_from(place + 1).map_err(|_| Error::invalid("over 2^32 owners"))
    }

    /// Adds an owner that the base version of the change names already, with the same number and URLs. `store` is its store, or the
    /// reason why it was not found.
    pub fn inherit(&mut self, table: ForeignTable, store: Result<Store>) {
        self.push(table, store);
        if let Some(owner) = self.owners.last_mut() {
            owner.is_of_base = true;
        }
    }

    /// Adds an owner as [`Owners::inherit`] does, which another version than the base names: its pin may be gone.
    pub fn push(&mut self, table: ForeignTable, store: Result<Store>) {
        let store = store.map_err(|error| (error.kind(), error.to_string()));
        self.owners.push(Owner { store, table, pins: Vec::new(), is_of_base: false });
    }

    /// Adds an owner as [`Owners::push`] does, unless this version of the table was added before. Returns its number.
    pub fn adopt(&mut self, table: ForeignTable, store: Result<Store>) -> u32 {
        let is_it = |owner: &Owner| {
            (owner.table.table, owner.table.version, owner.table.blake3) == (table.table, table.version, table.blake3)
        };
        let place = self.owners.iter().position(is_it).unwrap_or_else(|| {
            self.push(table, store);
            self.owners.len() - 1
        });
        u32::try_from(place + 1).unwrap_or(u32::MAX)
    }

    /// Returns the number of owners.
    pub(crate) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns the owners for the manifest.
    pub fn stores(&self) -> Vec<ForeignTable> {
        self.owners.iter().map(|owner| owner.table.clone()).collect()
    }

    /// Returns the store of an owner, by the number that [`Owners::add`] returned.
    pub fn store(&self, number: u32) -> Option<&Store> {
        self.owners.get((number as usize).checked_sub(1)?)?.store.as_ref().ok()
    }

    /// Whether an owner was not found because its store, at this URL, gave no answer: it may be there, and give one later.
    pub fn is_silent(&self, url: &str) -> bool {
        let silent = self.owners.iter().filter(|owner| matches!(owner.store, Err((ErrorKind::Unavailable, _))));
        silent.map(Owner::url).any(|silent| silent == url)
    }

    /// Puts a pin at every owner. Returns the owners without write permission: garbage collection there does not know that their
    /// chunks are used, and may delete them. Removes the pins of an earlier, failed commit.
    ///
    /// # Errors
    /// After an error the new pins are removed.
    /// - Errors of the stores, except missing permissions.
    pub async fn pin(&mut self, borrower: Borrower) -> Result<Vec<Unpinned>> {
        let before: Vec<Vec<String>> = self.owners.iter_mut().map(|owner| std::mem::take(&mut owner.pins)).collect();
        let mut unpinned = Vec::new();
        for place in 0..self.owners.len() {
            match self.pin_one(place, borrower).await {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unsupported) => {
                    unpinned.push(Unpinned { url: self.owners[place].url(), why: error.to_string() });
                }
                Err(error) => {
                    self.unpin(|_| false).await;
                    return Err(error);
                }
            }
        }
        for (owner, mut names) in self.owners.iter().zip(before) {
            names.retain(|name| !owner.pins.contains(name));
            if let Ok(store) = &owner.store {
                take_back(store, &names).await;
            }
        }
        Ok(unpinned)
    }

    /// Keeps the owners with these numbers, in this order, and renumbers them from 1. Removes the pins at all other owners.
    pub async fn retain(&mut self, numbers: &[u32]) {
        self.unpin(|number| numbers.contains(&number)).await;
        let kept = numbers.iter().filter_map(|number| self.owners.get((*number as usize).checked_sub(1)?).cloned());
        self.owners = kept.collect();
    }

    async fn pin_one(&mut self, place: usize, borrower: Borrower) -> Result<()> {
        let store = self.owners[place].store.clone().map_err(|(_, why)| Error::denied(why))?;
        let urls = store.url_of(&self.borrower).into_iter().collect();
        let ForeignTable { table, version, blake3, .. } = self.owners[place].table;
        // The commit id names a pin. A second version of the same table therefore needs another name for its pin.
        let second = self.owners[..place].iter().any(|owner| owner.table.table == table && !owner.pins.is_empty());
        let Borrower { commit_id, .. } = borrower;
        let (commit_id, of_commit) = if second { (machine::new_id(), Some(commit_id)) } else { (commit_id, None) };
        let pin = Pin {
            owner: PinOwner { table, version, blake3 },
            table: borrower.table,
            version: borrower.version,
            commit_id,
            of_commit,
            urls,
        };
        let owner = &mut self.owners[place];
        let (name, bytes) = (pin.name(), Bytes::from(pin.to_bytes()?));
        // The store client also answers this if its first try got through and it retried, so read the pin back.
        if store.put_new(&name, bytes.clone().into()).await? == Put::AlreadyThere && store.get(&name, MAX_PIN).await? != bytes {
            return Err(Error::internal(format!("{}: another pin has the name {name}", store.url())));
        }
        owner.pins.push(name);
        // The process that made the version may have been killed before it was durable.
        store.settle("manifests").await
    }

    /// Returns the chunks of each owner that its newest manifest marks for deletion. They must not be used. Checks that the
    /// pinned versions exist.
    ///
    /// # Errors
    /// - `Conflict`: a version no longer exists or was replaced, because its owner collected it before it saw the pin.
    /// - `Unsupported`: an owner's newest manifest has a feature that this build does not know.
    /// - Errors of the stores.
    pub async fn condemned(&self) -> Result<Vec<BTreeSet<ChunkId>>> {
        let chunks = |objects: Vec<Condemned>| {
            let chunks = objects.into_iter().filter(|object| object.folder == "chunks");
            chunks.map(|object| ChunkId(object.object.blake3)).collect()
        };
        Ok(self.marked().await?.into_iter().map(chunks).collect())
    }

    /// Returns the objects that each owner's newest manifest marks for deletion. Checks that the pinned versions exist.
    ///
    /// A writer that put its pins before this call may use every object that is not marked: garbage collection reads the pins
    /// again after it marks objects.
    ///
    /// # Errors
    /// - `Conflict`: a version no longer exists or was replaced, because its owner collected it before it saw the pin.
    /// - `Unsupported`: an owner's newest manifest has a feature that this build does not know.
    /// - Errors of the stores.
    pub async fn marked(&self) -> Result<Vec<Vec<Condemned>>> {
        let mut found = Vec::new();
        for owner in &self.owners {
            let Ok(store) = &owner.store else {
                found.push(Vec::new());
                continue;
            };
            let place = |error: Error| error.at(format!("referenced table {}", store.url()));
            let gone = || {
                Error::conflict(format!(
                    "{}: version {} no longer exists or was replaced; choose a newer version as reference",
                    store.url(),
                    owner.table.version
                ))
            };
            match hash_of(store, owner.table.version).await {
                Ok(hash) if hash == owner.table.blake3 => {}
                Ok(_) => return Err(gone()),
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(gone().with_source(error)),
                Err(error) => return Err(place(error)),
            }
            let (manifest, hash) = match store.lists() {
                true => load_newest(store).await.map_err(place)?.ok_or_else(gone)?,
                // A plain web server does not list, so only the named version can be checked there.
                false => load(store, owner.table.version).await.map_err(place)?,
            };
            let decided = Decided::by(store, &manifest, hash).await.map_err(place)?;
            let (version, blake3) = (owner.table.version, owner.table.blake3);
            let may_use = match owner.is_of_base {
                true => decisions::may_go_on_borrowing(&decided, version, blake3),
                false => decisions::may_borrow(&decided, version, blake3),
            };
            if !owner.pins.is_empty() && !may_use {
                let url = store.url();
                return Err(Error::conflict(format!(
                    "{url}: version {version} is given up by a garbage collection there; choose a newer version as reference"
                )));
            }
            // Where no pin could be put, what is there is used as long as it is not being deleted.
            let given_up = decided.lists().condemned.iter();
            let is_final = given_up.filter(|given_up| decisions::is_final(given_up.at, decisions::Newest::floor(&decided)));
            found.push(manifest.marked().chain(is_final.map(|given_up| &given_up.object)).cloned().collect());
        }
        Ok(found)
    }

    /// Removes the pins at the owners whose numbers `keep` rejects. A pin that cannot be removed is harmless: garbage collection
    /// there sees that no version belongs to it.
    pub async fn unpin(&mut self, keep: impl Fn(u32) -> bool) {
        for (number, owner) in (1..).zip(&mut self.owners) {
            if !keep(number) {
                let names = std::mem::take(&mut owner.pins);
                if let Ok(store) = &owner.store {
                    take_back(store, &names).await;
                }
            }
        }
    }
}

async fn take_back(store: &Store, names: &[String]) {
    for name in names {
        let _ = store.delete(name).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borrower(version: u64) -> Borrower {
        Borrower { table: Uuid::from_u128(9), version, commit_id: Uuid::from_u128(u128::from(version)) }
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn each_version_of_an_owner_is_pinned_under_a_name_of_its_own() {
        let (labels, sensors) = ("memory://owners-1/labels", "memory://owners-1/sensors");
        let (labels, sensors) = (Store::open(labels).unwrap(), Store::open(sensors).unwrap());
        let mut owners = Owners::new(labels);
        let hash = Hash::of(b"one");
        assert_eq!(
            [owners.add(&sensors, Uuid::nil(), 1, hash).unwrap(), owners.add(&sensors, Uuid::nil(), 2, hash).unwrap()],
            [1, 2]
        );
        assert_eq!(owners.add(&sensors, Uuid::nil(), 1, hash).unwrap(), 1);
        assert!(
            owners.add(&sensors, Uuid::nil(), 1, Hash::of(b"two")).unwrap_err().to_string().contains("has the manifest hash")
        );
        block_on(async {
            assert!(owners.pin(borrower(1)).await.unwrap().is_empty());
            let mut pins = Vec::new();
            for (name, bytes) in sensors.list("pins").await.unwrap() {
                pins.push(Pin::parse(&sensors.get_exact(&name, bytes).await.unwrap(), &name).unwrap());
            }
            pins.sort_by_key(|pin| pin.owner.version);
            assert_eq!(
                pins.iter().map(|pin| (pin.owner.version, pin.commit())).collect::<Vec<_>>(),
                [(1, Uuid::from_u128(1)), (2, Uuid::from_u128(1))]
            );
            assert_eq!(pins[0].urls, ["../labels"]);
            // The owner's manifest no longer exists, as after a garbage collection.
            assert_eq!(owners.condemned().await.unwrap_err().kind(), ErrorKind::Conflict);
            owners.unpin(|number| number == 2).await;
            assert_eq!(sensors.list("pins").await.unwrap().len(), 1);
        });
    }

    #[test]
    fn a_store_without_a_name_cannot_be_borrowed_from() {
        let (nameless, named) = (Store::open("memory://").unwrap(), Store::open("memory://owners-2/t").unwrap());
        let error = Owners::new(named.clone()).add(&nameless, Uuid::nil(), 1, Hash::of(b"")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(Owners::new(nameless).add(&named, Uuid::nil(), 1, Hash::of(b"")).unwrap(), 1);
    }
}
