//! The cache of decoded blocks.
//!
//! Small rows share a block, and a later read often needs other rows of the same block: random rows, overlapping windows, the end
//! of one batch and the start of the next. So a block is cached if a read returned some of its rows but not all. A block that was
//! read whole is not cached by default, because a scan would evict everything else. The cache has a bound in bytes; `quick_cache` chooses the
//! pages to evict.

use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use quick_cache::{Weighter, unsync::Cache};

use super::{gather::Gather, layout::BlockPlace, page::Page};
use crate::{error::Result, work::BoundedLock};

/// Approximate bytes that a cached page takes in addition to its arrays.
const BESIDE: usize = 256;
/// Expected bytes of a page; determines only the initial capacity of the cache.
const USUAL: usize = 16 << 10;

/// The cache of decoded pages that all reads of a loader share, bounded in bytes.
pub struct BlockCache {
    bytes: usize,
    /// Whether blocks that a read takes whole are cached too.
    whole: bool,
    pages: BoundedLock<Option<Cache<PageKey, Page, Weight>>>,
}

/// The cache key of a page: the table's number in the loader, the column group, the block and the page number.
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
        (page.bytes() + BESIDE) as u64
    }
}

impl BlockCache {
    /// Creates a cache of at most `bytes` bytes. With 0, nothing is cached.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, whole: false, pages: BoundedLock::default() }
    }

    /// Creates a cache that also keeps blocks of which a read takes every row.
    pub fn of_whole_blocks(bytes: usize) -> Self {
        Self { whole: true, ..Self::new(bytes) }
    }

    /// Returns the bound in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn pages(&self) -> Option<MutexGuard<'_, Option<Cache<PageKey, Page, Weight>>>> {
        self.pages.lock()
    }
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockCache").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// The cached pages of some blocks at one moment. A plan is made from a snapshot, so that planning needs no lock.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Which of the blocks are cached after the read.
    pub(super) rule: CacheRule,
    /// For each block, whether all of its wanted pages were cached. Empty if the cache could not be asked: none were.
    are_cached: Vec<bool>,
    /// The wanted pages of the cached blocks, one block after another.
    pub(super) pages: Vec<Page>,
}

impl Snapshot {
    /// Whether all wanted pages of a block were cached. `number` is the index of the block among those that were asked for.
    pub(super) fn has(&self, number: usize) -> bool {
        self.are_cached.get(number) == Some(&true)
    }
}

/// Which blocks are cached after a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CacheRule {
    #[default]
    Nothing,
    /// Blocks of which a read returned some rows but not all.
    ReadInPart,
    Everything,
}

impl CacheRule {
    /// Whether a block of `rows` rows is cached after a read that takes `taken` of them.
    pub(super) fn takes(self, taken: u32, rows: u32) -> bool {
        match self {
            Self::Nothing => false,
            Self::ReadInPart => taken < rows,
            Self::Everything => true,
        }
    }
}

/// The cached pages of one table of a loader.
#[derive(Clone, Debug)]
pub struct CachedBlocks {
    /// The cache, shared by all tables of the loader.
    pub blocks: Arc<BlockCache>,
    /// The number of the table in the loader.
    pub source: usize,
}

impl CachedBlocks {
    /// Whether the cache may hold anything.
    pub(super) fn is_on(&self) -> bool {
        self.blocks.bytes > 0
    }

    /// Returns what the cache holds of the wanted pages of each block.
    pub fn snapshot(&self, group: usize, blocks: impl ExactSizeIterator<Item = BlockPlace>, pages: &[usize]) -> Snapshot {
        let rule = match (self.is_on(), self.blocks.whole) {
            (false, _) => CacheRule::Nothing,
            (true, false) => CacheRule::ReadInPart,
            (true, true) => CacheRule::Everything,
        };
        let cached_pages = if self.is_on() { self.blocks.pages() } else { None };
        let Some(cached_pages) = cached_pages.as_ref().and_then(|cached_pages| cached_pages.as_ref()) else {
            return Snapshot { rule, ..Snapshot::default() };
        };
        let mut found: Vec<Page> = Vec::with_capacity(blocks.len() * pages.len());
        let all = blocks.map(|block| {
            let before = found.len();
            found.extend(pages.iter().map_while(|page| cached_pages.get(&self.key(group, block, *page)).cloned()));
            let all = found.len() == before + pages.len();
            found.truncate(if all { found.len() } else { before });
            all
        });
        Snapshot { rule, are_cached: all.collect(), pages: found }
    }

    /// Adds copies of the pages of some blocks to the cache. The pages are copied because a decoded page may be a slice of a much
    /// larger buffer. A block that takes more than a quarter of the cache is not added.
    ///
    /// # Errors
    /// - `Unsupported`: a copy of a page does not fit in one Arrow array.
    pub(super) fn add(&self, group: usize, pages: &[usize], blocks: &[(BlockPlace, &[Page])]) -> Result<()> {
        let bytes = |decoded: &[Page]| decoded.iter().map(Page::bytes).sum::<usize>();
        let small = blocks.iter().filter(|(_, decoded)| bytes(decoded) <= self.blocks.bytes / 4);
        let copied = small.flat_map(|(block, decoded)| {
            pages.iter().zip(*decoded).map(|(number, page)| Ok((self.key(group, *block, *number), copy(page)?)))
        });
        let copied = copied.collect::<Result<Vec<_>>>()?;
        if let Some(mut cached_pages) = self.blocks.pages() {
            let bytes = self.blocks.bytes;
            let cache = cached_pages
                .get_or_insert_with(|| Cache::with_weighter((bytes / USUAL).clamp(16, 1 << 16), bytes as u64, Weight));
            copied.into_iter().for_each(|(key, page)| cache.insert(key, page));
        }
        Ok(())
    }

    fn key(&self, group: usize, block: BlockPlace, page: usize) -> PageKey {
        PageKey { source: self.source, group, block, page }
    }
}

fn copy(page: &Page) -> Result<Page> {
    match page {
        Page::Fixed { rows, values } => Ok(Page::Fixed { rows: *rows, values: Bytes::copy_from_slice(values) }),
        Page::Array(data) => {
            let mut copy = Gather::apart(data.data_type(), data.len())?;
            copy.append(page, 0, data.len())?;
            Ok(Page::Array(Arc::new(copy.data()?)))
        }
    }
}
