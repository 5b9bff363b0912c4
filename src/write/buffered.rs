//! The parts of partitions whose session has one process: they stay in memory, and only the commit reads them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use super::receipt::Receipt;
use crate::{id::Hash, work::Process};

/// Most bytes of parts in memory. Further parts are stored.
const MAX_BUFFERED: usize = 64 << 20;

/// The parts and receipts of a session that are not stored.
#[derive(Debug)]
pub(crate) struct BufferedParts {
    /// The process whose memory this is. A child that was forked from it must store its parts.
    process: Process,
    buffer: Mutex<Buffer>,
}

impl Default for BufferedParts {
    fn default() -> Self {
        Self { process: Process::current(), buffer: Mutex::default() }
    }
}

#[derive(Debug, Default)]
struct Buffer {
    parts: HashMap<Hash, Bytes>,
    bytes: usize,
    receipts: Vec<Receipt>,
    /// Whether other processes take part: they find parts and receipts in the store.
    is_shared: bool,
    /// Whether something of the session was stored.
    is_stored: bool,
}

impl BufferedParts {
    /// Stores all that it is given.
    pub(super) fn storing_all() -> Self {
        let buffered = Self::default();
        buffered.share();
        buffered
    }

    /// Notes that other processes take part in the session. What this process holds already stays in its memory: only this process can
    /// commit it, unless a plan stores it.
    pub(crate) fn share(&self) {
        self.lock().is_shared = true;
    }

    /// Keeps a part. Returns false if it must be stored instead.
    pub(super) fn keep(&self, hash: Hash, part: &Bytes) -> bool {
        let mut buffer = self.lock();
        if buffer.is_shared || self.is_forked() || buffer.bytes + part.len() > MAX_BUFFERED {
            buffer.is_stored = true;
            return false;
        }
        if buffer.parts.insert(hash, part.clone()).is_none() {
            buffer.bytes += part.len();
        }
        true
    }

    /// Keeps a receipt. Returns false if it must be stored instead.
    pub(super) fn keep_receipt(&self, receipt: &Receipt) -> bool {
        let mut buffer = self.lock();
        if buffer.is_shared || self.is_forked() {
            buffer.is_stored = true;
            return false;
        }
        buffer.receipts.push(receipt.clone());
        true
    }

    /// Returns a part, if it is here.
    pub(crate) fn part(&self, hash: &Hash) -> Option<Bytes> {
        self.lock().parts.get(hash).cloned()
    }

    /// Returns the receipts that are here.
    pub(crate) fn receipts(&self) -> Vec<Receipt> {
        self.lock().receipts.clone()
    }

    /// Forgets a receipt and its parts, which are stored now.
    pub(crate) fn forget(&self, receipt: &Receipt) {
        let mut buffer = self.lock();
        buffer.receipts.retain(|other| (other.partition, other.attempt) != (receipt.partition, receipt.attempt));
        for object in receipt.objects() {
            if let Some(part) = buffer.parts.remove(&object.blake3) {
                buffer.bytes -= part.len();
            }
        }
    }

    /// Forgets all parts and receipts.
    pub(crate) fn clear(&self) {
        let mut buffer = self.lock();
        (buffer.parts, buffer.receipts, buffer.bytes) = Default::default();
    }

    /// Returns one more than the highest partition whose receipt is here; 0 if there is none.
    pub(crate) fn partitions_until(&self) -> u32 {
        self.lock().receipts.iter().map(|receipt| receipt.partition.saturating_add(1)).max().unwrap_or(0)
    }

    /// Whether the session has neither parts nor receipts in the store.
    pub(crate) fn is_nothing_stored(&self) -> bool {
        let buffer = self.lock();
        !buffer.is_shared && !buffer.is_stored && !self.is_forked()
    }

    /// Whether this receipt is here.
    pub(crate) fn has(&self, receipt: &Receipt) -> bool {
        self.lock().receipts.contains(receipt)
    }

    fn is_forked(&self) -> bool {
        !self.process.is_current()
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        // No code panics while it holds the lock; even then the value would be complete.
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        id::ObjectRef,
        write::{PartObjects, Sharing},
    };
    use uuid::Uuid;

    /// Returns a receipt with one part, and the part.
    fn written(partition: u32, content: &'static [u8]) -> (Receipt, Bytes) {
        let parts = Some(PartObjects { index: ObjectRef::of(content), groups: Vec::new() });
        let (session, attempt, label, note, sharing) = (Uuid::from_u128(1), Uuid::from_u128(2), None, None, Sharing::default());
        (Receipt { session, partition, attempt, label, note, rows: 1, parts, sharing }, Bytes::from_static(content))
    }

    fn keep(buffer: &BufferedParts, (receipt, part): &(Receipt, Bytes)) -> (bool, bool) {
        (buffer.keep(Hash::of(part), part), buffer.keep_receipt(receipt))
    }

    #[test]
    fn forgets_one_receipt_with_its_parts_alone() {
        let (buffered, one, other) = (BufferedParts::default(), written(0, b"one"), written(4, b"other"));
        assert_eq!((keep(&buffered, &one), keep(&buffered, &other)), ((true, true), (true, true)));
        assert_eq!(buffered.partitions_until(), 5);
        buffered.forget(&one.0);
        assert_eq!((buffered.part(&Hash::of(b"one")), buffered.receipts()), (None, vec![other.0.clone()]));
        assert_eq!(buffered.part(&Hash::of(b"other")), Some(other.1));
        buffered.forget(&one.0);
        assert!(buffered.is_nothing_stored() && buffered.has(&other.0) && !buffered.has(&one.0));
    }

    #[test]
    fn keeps_nothing_in_a_forked_process_or_beside_others() {
        let forked = BufferedParts { process: Process::other(), ..Default::default() };
        let shared = BufferedParts::default();
        shared.share();
        for buffered in [forked, shared, BufferedParts::storing_all()] {
            assert_eq!(keep(&buffered, &written(0, b"one")), (false, false));
            assert!(!buffered.is_nothing_stored() && buffered.receipts().is_empty());
        }
    }

    #[test]
    fn stores_what_is_beyond_the_memory() {
        let (buffered, large) = (BufferedParts::default(), Bytes::from(vec![0; MAX_BUFFERED]));
        assert!(buffered.keep(Hash::of(b"a"), &large));
        assert!(buffered.keep_receipt(&written(0, b"one").0) && buffered.is_nothing_stored());
        assert!(!buffered.keep(Hash::of(b"b"), &Bytes::from_static(b"b")));
        assert!(!buffered.is_nothing_stored());
    }
}
