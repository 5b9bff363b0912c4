//! Decoded blocks, kept for the next read. Small rows share a block, and who reads some of them soon reads others: rows drawn
//! at random, windows that overlap, the end of one batch and the start of the next. So a block of which a read gave some rows
//! and not all is kept, up to a bound; one that came out whole is not, or a scan would drive out everything else. What is
//! evicted is the map's decision (`quick_cache`).

use std::sync::{Arc, Mutex, MutexGuard};

use quick_cache::{Weighter, unsync::Cache};

use super::{decode::Page, flights::Flights, gather::Gather, layout::BlockPlace};
use crate::{error::Result, flight::patiently};

/// Bytes that a page takes beside its values, about.
const BESIDE: usize = 256;
/// Expected bytes of a page; only the initial size of the map depends on it.
const USUAL: usize = 16 << 10;

/// The state that all readers of a loader share: decoded pages of blocks, up to a bound in bytes, and the ranges on their way.
pub struct KeptBlocks {
    bytes: usize,
    pages: Mutex<Option<Cache<PageKey, Page, Weight>>>,
    flights: Flights,
}

/// A page of a block: of which table of a loader, of which of its column groups, which block, which page.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct PageKey {
    source: usize,
    group: usize,
    block: BlockPlace,
    page: usize,
}

#[derive(Clone)]
struct Weight;

impl Weighter<PageKey, Page> for Weight {
    fn weight(&self, _: &PageKey, page: &Page) -> u64 {
        (page.get_array_memory_size() + BESIDE) as u64
    }
}

impl KeptBlocks {
    /// Room for so many bytes; with 0 nothing is kept.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, pages: Mutex::default(), flights: Flights::default() }
    }

    /// The ranges on their way.
    pub(super) fn flights(&self) -> &Flights {
        &self.flights
    }

    fn pages(&self) -> Option<MutexGuard<'_, Option<Cache<PageKey, Page, Weight>>>> {
        patiently(&self.pages)
    }
}

impl std::fmt::Debug for KeptBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptBlocks").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// The kept pages of one table of a loader.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Of all of its tables.
    pub blocks: Arc<KeptBlocks>,
    /// The number of the table.
    pub source: usize,
}

impl Kept {
    /// Nothing is kept.
    pub fn nothing() -> Self {
        Self { blocks: Arc::new(KeptBlocks::new(0)), source: 0 }
    }

    /// Whether anything may be kept.
    pub(super) fn keeps(&self) -> bool {
        self.blocks.bytes > 0
    }

    /// For each block whether all of its wanted pages are kept, and those of all such blocks, one after another.
    pub(super) fn find(&self, group: usize, blocks: &[BlockPlace], pages: &[usize]) -> (Vec<bool>, Vec<Page>) {
        let held = if self.keeps() { self.blocks.pages() } else { None };
        let Some(held) = held.as_ref().and_then(|held| held.as_ref()) else { return (vec![false; blocks.len()], Vec::new()) };
        let mut found: Vec<Page> = Vec::with_capacity(blocks.len() * pages.len());
        let all = blocks.iter().map(|block| {
            let before = found.len();
            found.extend(pages.iter().map_while(|page| held.get(&self.key(group, *block, *page)).cloned()));
            let all = found.len() == before + pages.len();
            found.truncate(if all { found.len() } else { before });
            all
        });
        (all.collect(), found)
    }

    /// Keeps copies of these pages of blocks, for what they were decoded to may be part of much more; of blocks that would take
    /// over a quarter of the room, nothing.
    pub(super) fn add(&self, group: usize, pages: &[usize], blocks: &[(BlockPlace, &[Page])]) -> Result<()> {
        let bytes = |decoded: &[Page]| decoded.iter().map(|page| page.get_array_memory_size()).sum::<usize>();
        let small = blocks.iter().filter(|(_, decoded)| bytes(decoded) <= self.blocks.bytes / 4);
        let copied = small.flat_map(|(block, decoded)| {
            pages.iter().zip(*decoded).map(|(number, page)| Ok((self.key(group, *block, *number), copy(page)?)))
        });
        let copied = copied.collect::<Result<Vec<_>>>()?;
        if let Some(mut held) = self.blocks.pages() {
            let bytes = self.blocks.bytes;
            let cache =
                held.get_or_insert_with(|| Cache::with_weighter((bytes / USUAL).clamp(16, 1 << 16), bytes as u64, Weight));
            copied.into_iter().for_each(|(key, page)| cache.insert(key, page));
        }
        Ok(())
    }

    fn key(&self, group: usize, block: BlockPlace, page: usize) -> PageKey {
        PageKey { source: self.source, group, block, page }
    }
}

fn copy(page: &Page) -> Result<Page> {
    let mut copy = Gather::apart(page.data_type(), page.len())?;
    copy.append(page, 0, page.len())?;
    copy.data().map(Arc::new)
}
