//! The stores that a read needs: the store of the table itself, and those of other tables whose objects it refers to.

use std::sync::Arc;

use super::{sent::Sent, store::Store};
use crate::{Error, Result};

/// Some stores, by the number of their owner: 0 is the table that is read, k is the k-th of the `stores` of its manifest. Nearly every
/// read has one.
#[derive(Clone, Debug, Default)]
pub struct Stores {
    first: Option<(u32, Store)>,
    others: Vec<(u32, Store)>,
}

/// How stores are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoreKind {
    /// Local files, through the page cache: the threads that decode read them.
    #[default]
    Local,
    /// Local files, past the page cache: many ranges at a time, before anything is decoded.
    Direct,
    /// At least one store is remote.
    Remote,
}

impl Stores {
    /// Adds the store of an owner that is not there yet.
    pub fn add(&mut self, owner: u32, store: Store) {
        match self.first {
            None => self.first = Some((owner, store)),
            Some(_) => self.others.push((owner, store)),
        }
    }

    fn all(&self) -> impl Iterator<Item = &(u32, Store)> {
        self.first.iter().chain(&self.others)
    }

    /// Whether the store of an owner is there.
    pub fn has(&self, owner: u32) -> bool {
        self.get(owner).is_some()
    }

    /// Returns the store of an owner, if it is there.
    pub fn get(&self, owner: u32) -> Option<&Store> {
        self.all().find(|(number, _)| *number == owner).map(|(_, store)| store)
    }

    /// Returns the store of an owner that a plan names.
    ///
    /// # Errors
    /// - `Internal`: there is none.
    pub fn of(&self, owner: u32) -> Result<&Store> {
        self.get(owner).ok_or_else(|| Error::internal(format!("no store of owner {owner}")))
    }

    /// Returns the numbers of the owners.
    pub fn owners(&self) -> impl Iterator<Item = u32> {
        self.all().map(|(owner, _)| *owner)
    }

    /// Returns the stores.
    pub fn iter(&self) -> impl Iterator<Item = &Store> {
        self.all().map(|(_, store)| store)
    }

    /// Whether all stores are local.
    pub fn is_local(&self) -> bool {
        self.iter().all(Store::is_local)
    }

    /// Returns the kind of all stores together.
    pub fn kind(&self) -> StoreKind {
        match self.is_local() {
            false => StoreKind::Remote,
            true if self.iter().any(Store::reads_direct) => StoreKind::Direct,
            true => StoreKind::Local,
        }
    }

    /// Returns handles that count in `sent` what they send.
    pub(crate) fn counting(mut self, sent: &Arc<Sent>) -> Self {
        self.first.iter_mut().chain(&mut self.others).for_each(|(_, store)| store.count_in(sent));
        self
    }

    /// Returns handles on trial, see [`Store::on_trial`].
    pub(super) fn on_trial(&self) -> Self {
        let on_trial = |(owner, store): &(u32, Store)| (*owner, store.on_trial());
        Self { first: self.first.as_ref().map(on_trial), others: self.others.iter().map(on_trial).collect() }
    }
}
