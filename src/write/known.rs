//! Index of stored blocks by logical hash. It covers tables that are given as references, and earlier versions.
//!
//! Memory stays within a budget: each spool lies in memory or in a temporary file. One spool holds the hashes in table order,
//! another one holds them sorted. After a hit the finder first tries the blocks right behind it, because the next block most
//! likely follows there. It searches only if none of them matches.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    sync::{Arc, Mutex, PoisonError},
};

use serde::{Deserialize, Serialize};

use crate::{
    codec::{Chain, Preset},
    error::{Error, Result, counted},
    format::{ChunkSeed, LayoutRun},
    id::{ChunkId, Hash},
    schema::ColumnType,
    store::Store,
};

/// Which stored blocks a writer may reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reuse {
    /// All blocks, whatever their codecs.
    Any,
    /// Blocks whose codec chains the table's preset could have chosen. Columns with a preset of their own are judged by the
    /// table's preset too.
    SamePreset,
    /// No blocks: everything is stored again.
    None,
    /// Like `Any`, but an append looks at no more of its own table than the last segment, and only if the hashes there take at most 1 MiB;
    /// also at versions of the table that are given as references.
    /// So it reads little, however large the table is.
    #[default]
    Auto,
}

/// Place of a known block.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) owner: u32,
    pub(super) chunk: ChunkId,
    pub(super) chunk_bytes: u64,
    pub(super) seed: ChunkSeed,
    pub(super) chains: Arc<[Chain]>,
    /// Number within the chunk.
    pub(super) ordinal: u32,
    pub(super) offset: u64,
    /// Stored bytes, in units of 8.
    pub(super) length: u32,
    pub(super) rows: u32,
    /// Stored bytes of its pages, in units of 8, if known.
    pub(super) pages: Option<Vec<u32>>,
    /// Whether a writer of this table computed its hash.
    pub(super) is_own: bool,
}

impl Place {
    /// Returns the place of a block of a run.
    pub(super) fn of(run: &LayoutRun, block: usize, is_own: bool) -> Option<Self> {
        let lengths = |page: usize| {
            let range = run.page_range(block, page)?;
            u32::try_from((range.end - range.start) / 8).ok()
        };
        Some(Self {
            owner: run.owner,
            chunk: run.chunk,
            chunk_bytes: run.chunk_bytes,
            seed: run.seed,
            chains: Arc::clone(&run.chains),
            ordinal: run.first_block.checked_add(u32::try_from(block).ok()?)?,
            offset: run.first_offset + 8 * run.lengths.sum_of_first(block),
            length: run.lengths.get(block),
            rows: run.block_rows.get(block),
            pages: (0..run.chains.len()).map(lengths).collect(),
            is_own,
        })
    }
}

/// Collects the known blocks before a writer starts.
#[derive(Debug)]
pub struct KnownBuilder {
    reuse: Reuse,
    preset: Preset,
    budget: usize,
    stores: BTreeMap<u32, Store>,
    condemned: BTreeSet<(u32, ChunkId)>,
    sets: BTreeMap<Vec<String>, Set>,
}

/// Blocks that may be reused. The writers of a session share it.
#[derive(Debug)]
pub struct Known {
    stores: BTreeMap<u32, Store>,
    condemned: BTreeSet<(u32, ChunkId)>,
    sets: BTreeMap<Vec<String>, Set>,
}

/// Blocks of column groups with equal types.
#[derive(Debug, Default)]
struct Set {
    sources: Vec<KnownGroup>,
    /// Hash of every block, source by source.
    hashes: Spool,
    blocks: u64,
    /// Entries of a hash and its number in `hashes`, sorted, each hash once.
    sorted: Spool,
    entries: u64,
}

/// A column group of a table version or of one of its segments.
#[derive(Debug)]
struct KnownGroup {
    first: u64,
    runs: Vec<LayoutRun>,
    /// Number of the first block of each run within the source.
    starts: Vec<u64>,
    /// Whether blocks with the codecs of this run may be reused.
    wanted: Vec<bool>,
    is_own: bool,
}

/// Bytes of an entry in the sorted spool.
const ENTRY: u64 = 40;

impl KnownBuilder {
    /// Creates an empty builder. Holds hashes in up to `budget` bytes of memory, and beyond that in temporary files.
    pub fn new(reuse: Reuse, preset: Preset, budget: usize) -> Self {
        let (stores, condemned) = Default::default();
        Self { reuse, preset, budget, stores, condemned, sets: BTreeMap::new() }
    }

    /// Sets the store of an owner (0: the table being written), and its chunks that must not be used.
    pub fn owner(&mut self, number: u32, store: Store, condemned: impl IntoIterator<Item = ChunkId>) {
        self.stores.insert(number, store);
        self.condemned.extend(condemned.into_iter().map(|chunk| (number, chunk)));
    }

    /// Adds the blocks of a column group with these types: its runs, with the owner numbers of [`KnownBuilder::owner`], and their
    /// hashes. `is_own` says whether the table being written made them. If two blocks have the same hash, the one added first is
    /// used.
    ///
    /// # Errors
    /// - `Corrupt`: the number of hashes differs from the number of blocks.
    /// - `Unavailable`: a temporary file cannot be written.
    pub fn add(&mut self, types: &[ColumnType], runs: Vec<LayoutRun>, hashes: &[Hash], is_own: bool) -> Result<()> {
        if self.reuse == Reuse::None || runs.is_empty() {
            return Ok(());
        }
        let mut starts = Vec::with_capacity(runs.len());
        let mut blocks = 0;
        for run in &runs {
            starts.push(blocks);
            blocks += run.lengths.len() as u64;
        }
        if blocks != hashes.len() as u64 {
            return Err(Error::corrupt(format!("{} for {}", counted(hashes.len(), "logical hash"), counted(blocks, "block"))));
        }
        let wanted = self.wanted(types, &runs)?;
        let set = self.sets.entry(types.iter().map(ToString::to_string).collect()).or_default();
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.0).collect();
        set.hashes.append(&bytes, self.budget / 4)?;
        set.sources.push(KnownGroup { first: set.blocks, runs, starts, wanted, is_own });
        set.blocks += blocks;
        Ok(())
    }

    fn wanted(&self, types: &[ColumnType], runs: &[LayoutRun]) -> Result<Vec<bool>> {
        let mut judged: BTreeMap<String, bool> = BTreeMap::new();
        let wanted = runs.iter().map(|run| {
            if run.chains.len() != types.len() {
                return Ok(false);
            }
            if self.reuse != Reuse::SamePreset {
                return Ok(true);
            }
            let key = run.chains.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            if let Some(known) = judged.get(&key) {
                return Ok(*known);
            }
            let mut fits = true;
            for (ty, chain) in types.iter().zip(run.chains.iter()) {
                fits = fits && self.preset.could_choose(ty, chain)?;
            }
            judged.insert(key, fits);
            Ok(fits)
        });
        wanted.collect()
    }

    /// Sorts the hashes. Returns `None` if no blocks were added.
    ///
    /// # Errors
    /// - `Unavailable`: a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<Option<Arc<Known>>> {
        for set in self.sets.values_mut() {
            set.sort(self.budget / 2)?;
        }
        let known = Known { stores: self.stores, condemned: self.condemned, sets: self.sets };
        Ok((!known.sets.is_empty()).then(|| Arc::new(known)))
    }
}

impl Known {
    /// Returns the store of each owner.
    pub(super) fn stores(&self) -> &BTreeMap<u32, Store> {
        &self.stores
    }
}

impl Set {
    /// Fills `sorted` in several passes. Each pass sorts one range of hashes, as large as the memory budget allows.
    fn sort(&mut self, budget: usize) -> Result<()> {
        let fits = (budget as u64 / ENTRY).max(1);
        let passes = self.blocks.div_ceil(fits).max(1);
        let mut buffer = vec![0; 1 << 20];
        for pass in 0..passes {
            // Hashes are uniform, so equal ranges of their first 64 bits hold about equally many.
            let in_pass = |hash: &[u8]| (u128::from(big_endian(hash)) * u128::from(passes)) >> 64 == u128::from(pass);
            let mut entries: Vec<([u8; 32], u64)> = Vec::new();
            let mut number = 0;
            while number < self.blocks {
                let count = (self.blocks - number).min(buffer.len() as u64 / 32);
                let bytes = &mut buffer[..32 * count as usize];
                self.hashes.read(32 * number, bytes)?;
                for hash in bytes.as_chunks::<32>().0 {
                    if in_pass(hash) {
                        entries.push((*hash, number));
                    }
                    number += 1;
                }
            }
            entries.sort_unstable();
            entries.dedup_by_key(|(hash, _)| *hash);
            let bytes: Vec<u8> =
                entries.iter().flat_map(|(hash, number)| hash.iter().copied().chain(number.to_le_bytes())).collect();
            self.sorted.append(&bytes, budget)?;
            self.entries += entries.len() as u64;
        }
        Ok(())
    }

    /// Whether block `number` has this hash.
    fn is_at(&self, number: u64, hash: &Hash) -> Result<bool> {
        if number >= self.blocks {
            return Ok(false);
        }
        let mut found = [0; 32];
        self.hashes.read(32 * number, &mut found)?;
        Ok(found == hash.0)
    }

    /// Returns the number of a block with this hash. Searches by interpolation, because hashes are uniform.
    fn search(&self, hash: &Hash) -> Result<Option<u64>> {
        let (mut low, mut high) = (0, self.entries);
        let mut entry = [0; ENTRY as usize];
        let (mut least, mut most) = (0_u64, u64::MAX);
        let wanted = big_endian(&hash.0);
        while low < high {
            let span = u128::from(most - least).max(1);
            let guess = u128::from(wanted.saturating_sub(least)) * u128::from(high - low) / span;
            // Each step drops at least 1/64 of the entries, because crafted hashes need not be uniform.
            let guess = (low + guess as u64).clamp(low + (high - low) / 64, high - 1 - (high - low) / 64).clamp(low, high - 1);
            self.sorted.read(ENTRY * guess, &mut entry)?;
            let (found, number) = entry.split_at(32);
            match found.cmp(&hash.0) {
                std::cmp::Ordering::Equal => return Ok(Some(leading(number))),
                std::cmp::Ordering::Less => (low, least) = (guess + 1, big_endian(found)),
                std::cmp::Ordering::Greater => (high, most) = (guess, big_endian(found)),
            }
        }
        Ok(None)
    }

    fn place(&self, number: u64, condemned: &BTreeSet<(u32, ChunkId)>) -> Option<Place> {
        let source = self.sources.get(self.sources.partition_point(|source| source.first <= number).checked_sub(1)?)?;
        let within = number - source.first;
        let run_number = source.starts.partition_point(|start| *start <= within).checked_sub(1)?;
        let run = source.runs.get(run_number)?;
        let block = usize::try_from(within - source.starts.get(run_number)?).ok()?;
        if !*source.wanted.get(run_number)? || (!condemned.is_empty() && condemned.contains(&(run.owner, run.chunk))) {
            return None;
        }
        Place::of(run, block, source.is_own)
    }
}

/// Returns the first 8 bytes as a number that sorts like the bytes.
fn big_endian(hash: &[u8]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

fn leading(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Finds the known blocks of one column group, in table order.
#[derive(Debug)]
pub(super) struct Finder {
    known: Arc<Known>,
    types: Vec<String>,
    /// The block found last.
    last: Option<u64>,
}

/// Number of blocks after the last hit that are tried first. More than one, because rows may have been deleted.
const AHEAD: u64 = 4;

impl Finder {
    /// Creates a finder. Returns `None` if no blocks with these types are known.
    pub(super) fn new(known: &Arc<Known>, types: &[ColumnType]) -> Option<Self> {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        known.sets.contains_key(&types).then(|| Self { known: Arc::clone(known), types, last: None })
    }

    /// Returns the place of a known block with this hash and this number of rows.
    pub(super) fn find(&mut self, hash: &Hash, rows: u32) -> Result<Option<Place>> {
        let Some(set) = self.known.sets.get(&self.types) else { return Ok(None) };
        let mut number = None;
        if let Some(last) = self.last {
            for next in last + 1..=last + AHEAD {
                if set.is_at(next, hash)? {
                    number = Some(next);
                    break;
                }
            }
        }
        let number = match number {
            Some(number) => Some(number),
            None => set.search(hash)?,
        };
        let found = number.and_then(|number| Some((number, set.place(number, &self.known.condemned)?)));
        let Some((number, place)) = found.filter(|(_, place)| place.rows == rows) else { return Ok(None) };
        self.last = Some(number);
        Ok(Some(place))
    }
}

/// Bytes that are written once and read at random: in memory up to a budget, in a temporary file beyond it.
#[derive(Debug)]
enum Spool {
    Memory(Vec<u8>),
    File(Mutex<File>),
}

impl Default for Spool {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

impl Spool {
    fn append(&mut self, bytes: &[u8], budget: usize) -> Result<()> {
        let failed = |error: std::io::Error| Error::from(error).at("a temporary file of known blocks");
        if let Self::Memory(buffer) = self {
            if buffer.len() + bytes.len() <= budget {
                buffer.extend(bytes);
                return Ok(());
            }
            let mut file = tempfile::tempfile().map_err(failed)?;
            file.write_all(buffer).map_err(failed)?;
            *self = Self::File(Mutex::new(file));
        }
        if let Self::File(file) = self {
            let file = file.get_mut().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::End(0)).and_then(|_| file.write_all(bytes)).map_err(failed)?;
        }
        Ok(())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let failed = |error: std::io::Error| Error::from(error).at("a temporary file of known blocks");
        match self {
            Self::Memory(buffer) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let found = buffer.get(start..).and_then(|rest| rest.get(..out.len()));
                out.copy_from_slice(found.ok_or_else(|| Error::internal("read beyond the end of the known blocks"))?);
                Ok(())
            }
            Self::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(out)).map_err(failed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PackedLengths;

    fn run(chunk: u8, blocks: usize) -> LayoutRun {
        let node = |numbers: &[u32]| {
            let mut bytes = Vec::new();
            PackedLengths::write(numbers, &mut bytes);
            PackedLengths::from_bytes(&bytes, numbers.len()).unwrap()
        };
        LayoutRun {
            chunk: ChunkId(Hash([chunk; 32])),
            owner: 1,
            chunk_bytes: 1 << 20,
            seed: ChunkSeed(7),
            chains: Arc::from([Chain::PLAIN]),
            first_block: 0,
            first_offset: 64,
            rows: blocks as u64,
            lengths: node(&vec![5; blocks]),
            block_rows: node(&vec![1; blocks]),
            pages: None,
        }
    }

    fn hash(number: u64) -> Hash {
        Hash::of(&number.to_le_bytes())
    }

    /// 5,000 blocks in two runs, indexed within `budget` bytes of memory.
    fn known(budget: usize) -> (Arc<Known>, Vec<ColumnType>) {
        let types: Vec<ColumnType> = vec!["u8".parse().unwrap()];
        let mut builder = KnownBuilder::new(Reuse::Any, Preset::Fast, budget);
        let hashes: Vec<Hash> = (0..5_000).map(hash).collect();
        builder.add(&types, vec![run(1, 3_000), run(2, 2_000)], &hashes, false).unwrap();
        (builder.finish().unwrap().unwrap(), types)
    }

    #[test]
    fn every_known_block_is_found_where_it_lies_in_any_memory() {
        for budget in [0, 4_096, 64 << 20] {
            let (known, types) = known(budget);
            let mut finder = Finder::new(&known, &types).unwrap();
            for number in (0..5_000).chain((0..5_000).rev()) {
                let place = finder.find(&hash(number), 1).unwrap().unwrap();
                let within = if number < 3_000 { number } else { number - 3_000 };
                assert_eq!((place.chunk.0.0[0], u64::from(place.ordinal)), (1 + u8::from(number >= 3_000), within));
                assert_eq!(place.offset, 64 + 40 * within);
            }
            assert!(finder.find(&hash(5_000), 1).unwrap().is_none());
            assert!(finder.find(&hash(1), 2).unwrap().is_none(), "a block of other rows");
        }
    }

    #[test]
    fn equal_blocks_are_found_behind_the_one_found_last() {
        let types: Vec<ColumnType> = vec!["u8".parse().unwrap()];
        let mut builder = KnownBuilder::new(Reuse::Any, Preset::Fast, 1 << 20);
        builder.add(&types, vec![run(1, 100)], &[hash(1); 100], false).unwrap();
        let known = builder.finish().unwrap().unwrap();
        let mut finder = Finder::new(&known, &types).unwrap();
        let ordinals: Vec<u32> = (0..100).map(|_| finder.find(&hash(1), 1).unwrap().unwrap().ordinal).collect();
        assert_eq!(ordinals, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn condemned_chunks_and_unwanted_codecs_are_not_found() {
        let types: Vec<ColumnType> = vec!["u8".parse().unwrap()];
        let mut builder = KnownBuilder::new(Reuse::SamePreset, Preset::Fast, 1 << 20);
        builder.owner(1, Store::open("memory://").unwrap(), [ChunkId(Hash([2; 32]))]);
        let zstd = LayoutRun { chains: Arc::from([Chain::new(vec![crate::codec::Step::Zstd(12)]).unwrap()]), ..run(3, 1) };
        builder.add(&types, vec![run(1, 1), run(2, 1), zstd], &[hash(1), hash(2), hash(3)], false).unwrap();
        let known = builder.finish().unwrap().unwrap();
        let mut finder = Finder::new(&known, &types).unwrap();
        let found = [1, 2, 3].map(|number| finder.find(&hash(number), 1).unwrap().is_some());
        assert_eq!(found, [true, false, false]);
    }
}
