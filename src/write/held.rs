//! The parts of partitions whose session has one process: they stay in memory, and only the commit reads them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::receipt::Receipt;
use crate::id::Hash;

/// Most bytes of parts in memory. Further parts are stored.
const MAX_HELD: usize = 64 << 20;

/// The parts and receipts of a session that are not stored.
#[derive(Debug, Default)]
pub(crate) struct HeldParts(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    parts: HashMap<Hash, Bytes>,
    bytes: usize,
    receipts: Vec<Receipt>,
    /// Whether other processes take part: they find parts and receipts in the store.
    is_shared: bool,
    /// Whether something of the session was stored.
    is_stored: bool,
}

impl HeldParts {
    /// Keeps nothing: all is stored.
    pub(super) fn none() -> Self {
        let held = Self::default();
        held.share();
        held
    }

    /// Notes that other processes take part in the session. What is held stays here, so this process must commit it.
    pub(crate) fn share(&self) {
        self.held().is_shared = true;
    }

    /// Keeps a part. Returns false if it must be stored instead.
    pub(super) fn keep(&self, hash: Hash, part: &Bytes) -> bool {
        let mut held = self.held();
        if held.is_shared || held.bytes + part.len() > MAX_HELD {
            held.is_stored = true;
            return false;
        }
        if held.parts.insert(hash, part.clone()).is_none() {
            held.bytes += part.len();
        }
        true
    }

    /// Keeps a receipt. Returns false if it must be stored instead.
    pub(super) fn keep_receipt(&self, receipt: &Receipt) -> bool {
        let mut held = self.held();
        match held.is_shared {
            true => held.is_stored = true,
            false => held.receipts.push(receipt.clone()),
        }
        !held.is_shared
    }

    /// Returns a part, if it is here.
    pub(crate) fn part(&self, hash: &Hash) -> Option<Bytes> {
        self.held().parts.get(hash).cloned()
    }

    /// Returns the receipts that are here.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        self.held().receipts.clone()
    }

    /// Forgets the parts and receipts.
    pub(crate) fn clear(&self) {
        let mut held = self.held();
        (held.parts, held.receipts, held.bytes) = Default::default();
    }

    /// Returns one more than the highest partition whose receipt is here; 0 if there is none.
    pub(crate) fn partitions(&self) -> u32 {
        self.held().receipts.iter().map(|receipt| receipt.partition.saturating_add(1)).max().unwrap_or(0)
    }

    /// Whether all that the session has is here.
    pub(crate) fn has_all(&self) -> bool {
        let held = self.held();
        !held.is_shared && !held.is_stored
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // No code panics while it holds the lock; even then the value would be complete.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
