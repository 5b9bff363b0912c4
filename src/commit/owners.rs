//! The other tables whose chunks a commit uses: how its manifest names them, how they are told, and what they must still say
//! before the claim. Follows `format-spec/manifest.md#references` and `format-spec/pins.md#pin`.
//!
//! A writer adds its owners and pins them, then looks at their newest manifests, then looks for chunks to reuse, and looks at
//! those manifests once more before it claims its version. A pin that was not needed in the end is taken back.

use std::collections::BTreeSet;

use bytes::Bytes;
use uuid::Uuid;

use super::publish::{hash_of, load, load_newest};
use crate::{
    error::{Error, ErrorKind, Result},
    format::{Condemned, ForeignTable, MAX_PIN, Pin, PinOwner},
    id::{ChunkId, Hash},
    store::{Put, Store},
};

/// The owners of chunks that a table uses, each version of each table once.
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

/// One of them.
#[derive(Clone, Debug)]
struct Owner {
    /// Where it lies; or why that is not known.
    store: Result<Store, String>,
    table: ForeignTable,
    /// The pins that were put there.
    pins: Vec<String>,
}

impl Owner {
    fn url(&self) -> String {
        match &self.store {
            Ok(store) => store.url().to_owned(),
            Err(_) => self.table.urls.first().cloned().unwrap_or_default(),
        }
    }
}

/// An owner that could not be told.
#[derive(Clone, Debug)]
pub struct Unpinned {
    /// Where the owner lies.
    pub url: String,
    /// Why: it is read-only as a rule.
    pub why: String,
}

/// Whose commit it is.
#[derive(Clone, Copy, Debug)]
pub struct Borrower {
    /// The table that will use the chunks.
    pub table: Uuid,
    /// The version of it that is being committed.
    pub version: u64,
    /// Its commit.
    pub commit_id: Uuid,
}

impl Owners {
    /// No owners yet, for a table in `borrower`.
    pub fn new(borrower: Store) -> Self {
        Self { borrower, owners: Vec::new() }
    }

    /// The number by which layouts name this version of the table in `store`, from 1. Version and table that are there already
    /// keep their number.
    ///
    /// # Errors
    /// `Invalid` for a store without a URL that another process could open, or for one version with two hashes.
    pub fn add(&mut self, store: &Store, table: Uuid, version: u64, blake3: Hash) -> Result<u32> {
        let held = self.owners.iter().position(|owner| (owner.table.table, owner.table.version) == (table, version));
        let place = match held {
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
                self.owners.push(Owner { store: Ok(store.clone()), table, pins: Vec::new() });
                self.owners.len() - 1
            }
        };
        u32::try_from(place + 1).map_err(|_| Error::invalid("over 2^32 owners"))
    }

    /// An owner that the version before names already: it keeps its number and its URLs. `store` is where it was found, if it
    /// was.
    pub fn inherit(&mut self, table: ForeignTable, store: Result<Store>) {
        self.owners.push(Owner { store: store.map_err(|error| error.to_string()), table, pins: Vec::new() });
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether nothing is borrowed.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// What the manifest says of them.
    pub fn stores(&self) -> Vec<ForeignTable> {
        self.owners.iter().map(|owner| owner.table.clone()).collect()
    }

    /// The store of an owner, by the number that [`Owners::add`] gave.
    pub fn store(&self, number: u32) -> Option<&Store> {
        self.owners.get((number as usize).checked_sub(1)?)?.store.as_ref().ok()
    }

    /// Puts a pin at every owner. Owners that do not let us write are given back: nobody will know there that their chunks are
    /// used, and a garbage collection there may take them away. Pins put before, for a commit that did not come to be, are
    /// taken back.
    ///
    /// # Errors
    /// Errors of the stores but for missing rights; the pins put so far are taken back.
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

    /// Keeps the owners of these numbers, in this order: they become 1, 2, ..; pins at the others are taken back.
    pub async fn keep(&mut self, numbers: &[u32]) {
        self.unpin(|number| numbers.contains(&number)).await;
        let kept = numbers.iter().filter_map(|number| self.owners.get((*number as usize).checked_sub(1)?).cloned());
        self.owners = kept.collect();
    }

    async fn pin_one(&mut self, place: usize, borrower: Borrower) -> Result<()> {
        let store = self.owners[place].store.clone().map_err(Error::denied)?;
        let urls = store.url_of(&self.borrower).into_iter().collect();
        let ForeignTable { table, version, blake3, .. } = self.owners[place].table;
        // A pin is named by its commit: the second version of one table has a pin of another name.
        let second = self.owners[..place].iter().any(|owner| owner.table.table == table && !owner.pins.is_empty());
        let Borrower { commit_id, .. } = borrower;
        let (commit_id, of_commit) = if second { (Uuid::new_v4(), Some(commit_id)) } else { (commit_id, None) };
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
        // What a retry below us answers when the first try got through is read back.
        if store.put_new(&name, bytes.clone().into()).await? == Put::AlreadyThere && store.get(&name, MAX_PIN).await? != bytes {
            return Err(Error::internal(format!("{}: another pin has the name {name}", store.url())));
        }
        owner.pins.push(name);
        Ok(())
    }

    /// The chunks of each owner that must not be used: its newest manifest marks them for deletion. The pinned versions are
    /// found there.
    ///
    /// # Errors
    /// As [`Owners::marked`].
    pub async fn condemned(&self) -> Result<Vec<BTreeSet<ChunkId>>> {
        let chunks = |objects: Vec<Condemned>| {
            let chunks = objects.into_iter().filter(|object| object.folder == "chunks");
            chunks.map(|object| ChunkId(object.object.blake3)).collect()
        };
        Ok(self.marked().await?.into_iter().map(chunks).collect())
    }

    /// The objects that each owner's newest manifest marks for deletion. The pinned versions are found there. Whoever looks after
    /// it has put its pins, and finds nothing that it uses among these, may use it: garbage collection there looks at the pins
    /// after every mark.
    ///
    /// # Errors
    /// `Conflict` where a version is gone or another one: its owner collected it before it saw the pin. `Unsupported` where the
    /// owner's newest manifest says what this build does not know.
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
                    "{}: version {} is not there any more, or another one; choose a newer version as reference",
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
            let (manifest, _) = match store.lists() {
                true => load_newest(store).await.map_err(place)?.ok_or_else(gone)?,
                // A web server does not list: of it only the version that is named is known.
                false => load(store, owner.table.version).await.map_err(place)?,
            };
            found.push(manifest.marked().cloned().collect());
        }
        Ok(found)
    }

    /// Takes the pins back of owners that `keep` does not want, by number. One that cannot be taken back is harmless: whoever
    /// collects garbage there sees that no version stands behind it.
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
            // The owner has no manifest any more: somebody was quicker.
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
