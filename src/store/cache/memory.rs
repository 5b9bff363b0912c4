//! The cache in memory: small ranges exactly as requested. `quick_cache` decides on eviction (a variant of Clock-PRO, which a
//! scan does not flush).

use std::ops::Range;

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};

use super::entry::ObjectKey;
use crate::store::buffers;

/// Maximum length of a cached range: a longer one would evict many small ones, and reading it from disk costs little more.
const LONGEST: u64 = 256 << 10;
/// Approximate overhead of an entry in bytes.
const BESIDE: u64 = 160;
/// Expected length of a range; only sizes the map.
const USUAL: u64 = 16 << 10;

type Asked = (ObjectKey, u64, u64);

/// A cache in memory.
pub(super) struct Memory(Cache<Asked, Bytes, Weight>);

#[derive(Clone)]
struct Weight;

impl Weighter<Asked, Bytes> for Weight {
    fn weight(&self, _: &Asked, bytes: &Bytes) -> u64 {
        bytes.len() as u64 + BESIDE
    }
}

impl Memory {
    /// Creates a cache of at most `bytes` bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let items = usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).clamp(16, 1 << 20);
        Self(Cache::with_weighter(items, bytes, Weight))
    }

    pub(super) fn find(&self, object: ObjectKey, range: &Range<u64>) -> Option<Bytes> {
        self.0.get(&(object, range.start, range.end))
    }

    pub(super) fn add(&self, object: ObjectKey, range: &Range<u64>, bytes: &Bytes) {
        if bytes.len() as u64 <= LONGEST {
            // A slice of a recycled buffer keeps all of the buffer in memory.
            let bytes = if bytes.len() < buffers::LONG { bytes.clone() } else { Bytes::copy_from_slice(bytes) };
            self.0.insert((object, range.start, range.end), bytes);
        }
    }

    pub(super) fn drop_range(&self, object: ObjectKey, range: &Range<u64>) {
        self.0.remove(&(object, range.start, range.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_it_may_and_no_more() {
        let memory = Memory::new(1 << 20);
        let name = format!("chunks/0a/{}", "0a".repeat(32));
        let object = ObjectKey::new("s", &name, &name).unwrap();
        let bytes = Bytes::from(vec![7; 4096]);
        (0..2_000_u64).for_each(|start| memory.add(object, &(start..start + 4096), &bytes));
        let found = (0..2_000_u64).filter(|start| memory.find(object, &(*start..*start + 4096)).is_some()).count();
        assert!((150..=256).contains(&found), "{found} answers of 4 KiB in 1 MiB");
        memory.add(object, &(0..LONGEST + 1), &Bytes::from(vec![7; LONGEST as usize + 1]));
        assert_eq!(memory.find(object, &(0..LONGEST + 1)), None);
        memory.add(object, &(1..5), &Bytes::from_static(b"four"));
        memory.drop_range(object, &(1..5));
        assert_eq!(memory.find(object, &(1..5)), None);
    }
}
