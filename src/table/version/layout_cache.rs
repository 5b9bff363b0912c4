//! The layouts of a table version that are in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, OnceLock, PoisonError, atomic::AtomicU64},
};

use crate::{
    error::Error,
    read::{GroupColumns, Layout},
    work::Once,
};

/// The layouts of a table version.
#[derive(Debug)]
pub(in crate::table) struct Layouts {
    /// The layout of each column group.
    pub(in crate::table) whole: Vec<Once<Arc<Layout>>>,
    /// Errors of prefetched layouts that are damaged, by column group. The next reader of the layout gets the error.
    pub(in crate::table) damaged_ahead: Mutex<BTreeMap<usize, Error>>,
    /// [`Table::expansion`] of each column group.
    pub(in crate::table) expansions: Vec<OnceLock<u64>>,
    /// [`Table::group_columns`] of each column group.
    pub(in crate::table) columns: Vec<OnceLock<Arc<GroupColumns>>>,
    parts: Mutex<Parts>,
    /// Maximum bytes of the parts, unless one read needs more; [`u64::MAX`] if it is not set.
    pub(in crate::table) memory: AtomicU64,
}

/// Layouts of single segments.
#[derive(Debug, Default)]
struct Parts {
    /// By column group and segment.
    entries: BTreeMap<(usize, usize), Part>,
    /// Number of reads so far.
    reads: u64,
}

/// A layout, and the bytes that it takes in memory.
pub(in crate::table) type SizedLayout = (Arc<Layout>, u64);

#[derive(Debug)]
struct Part {
    layout: Arc<Once<SizedLayout>>,
    /// The last read that used the part.
    used: u64,
}

impl Layouts {
    /// Creates the layouts of a table with so many column groups. None is loaded.
    pub(in crate::table) fn new(groups: usize) -> Self {
        let whole = (0..groups).map(|_| Once::default()).collect();
        let expansions = (0..groups).map(|_| OnceLock::new()).collect();
        let columns = vec![OnceLock::new(); groups];
        let memory = AtomicU64::new(u64::MAX);
        Self { whole, damaged_ahead: Mutex::default(), expansions, columns, parts: Mutex::default(), memory }
    }

    /// Returns the parts of these segments, loaded or not, and marks them as used.
    pub(in crate::table) fn parts(&self, group: usize, segments: &BTreeSet<usize>) -> Vec<Arc<Once<SizedLayout>>> {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.reads += 1;
        let used = parts.reads;
        let part = |segment: &usize| {
            let part = parts.entries.entry((group, *segment)).or_insert_with(|| Part { layout: Arc::default(), used });
            part.used = used;
            Arc::clone(&part.layout)
        };
        segments.iter().map(part).collect()
    }

    /// Returns the bytes that the loaded parts take.
    pub(in crate::table) fn bytes_of_parts(&self) -> u64 {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.entries.values().filter_map(|part| part.layout.get()).map(|(_, bytes)| bytes).sum()
    }

    /// Drops parts that were not used for long, until the others take at most `most` bytes. Parts of the last read stay.
    pub(in crate::table) fn evict(&self, most: u64) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |part: &Part| part.layout.get().map_or(0, |(_, bytes)| *bytes);
        let mut total: u64 = parts.entries.values().map(bytes).sum();
        let mut old: Vec<(u64, (usize, usize))> = parts.entries.iter().map(|(key, part)| (part.used, *key)).collect();
        old.sort_unstable();
        let last = parts.reads;
        for (used, key) in old {
            if total <= most || used == last {
                break;
            }
            if let Some(part) = parts.entries.remove(&key) {
                total = total.saturating_sub(bytes(&part));
            }
        }
    }
}
