//! Compaction of layout runs: copies blocks of one column group that lie scattered over many chunks and owners into new chunks of
//! the table itself.
//!
//! [`Gatherer::plan`] finds the blocks that must move so that every window of neighbouring rows stays within the locality bound,
//! by the rules that writers use, and those of small chunks side by side, which become one chunk. It assumes that they will lie
//! side by side; the caller plans again when the new chunks are known. [`Gatherer::write`] copies exactly these blocks. If the
//! new chunk has the same codec chains, the stored pages are copied and get new checksums; otherwise the pages are decoded and
//! encoded again. Blocks of other tables are always decoded and compared with their logical hashes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use bytes::Bytes;
use serde::Serialize;

use super::{
    adopt::{decode, fetch},
    chunk::OpenChunk,
    groups::WrittenGroup,
    known::Place,
    locality::{Locality, Spot, Worst, excess, last_rows, mend},
};
use crate::{
    error::{Error, Result, counted},
    format::{
        BlockDirectory, CanonicalPage, ColumnBytes, Cuts, DecodedPage, EncodedBlock, EncodedPage, LayoutRun, encode_page,
        logical_block_hash, page_range, stored_page,
    },
    id::{ChunkId, Hash},
    progress::Progress,
    schema::ColumnType,
    store::Store,
};

/// Maximum bytes of blocks that are fetched in one batch.
const FETCHED: u64 = 16 << 20;
/// A chunk is small if its stored bytes are at most a sixteenth of `chunk_min`. `chunk_min` counts logical bytes: the sixteenth leaves out
/// large chunks that compress well.
const SMALL: u64 = 16;
/// Maximum number of blocks that stay where they are and wait for a chunk to end.
const WAITING: usize = 1 << 14;

/// Result of a compaction of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Gathered {
    /// Copies of blocks into new chunks. A block that moves twice counts twice.
    pub blocks: u64,
    /// Copied blocks that were encoded again because the new chunk has other codec chains.
    pub encoded: u64,
    /// Number of new chunks. A later move may have left one of them unused.
    pub chunks: u64,
    /// Bytes of the new chunks.
    pub bytes: u64,
    /// Cost of the most expensive windows before.
    pub before: Worst,
    /// Cost of the most expensive windows after.
    pub after: Worst,
}

impl Gathered {
    /// Combines two results: adds the counts, and takes the larger costs.
    pub fn and(self, other: Self) -> Self {
        Self {
            blocks: self.blocks + other.blocks,
            encoded: self.encoded + other.encoded,
            chunks: self.chunks + other.chunks,
            bytes: self.bytes + other.bytes,
            before: self.before.or(other.before),
            after: self.after.or(other.after),
        }
    }
}

/// Gathers the blocks of one column group, segment by segment.
#[derive(Debug)]
pub struct Gatherer {
    types: Vec<ColumnType>,
    cuts: Cuts,
    bound: Locality,
    write_memory: usize,
    /// A number for each chunk that holds blocks.
    chunks: BTreeMap<(u32, ChunkId), u64>,
    /// The last blocks of the previous segment, as many as a window may touch.
    tail: Vec<Spot>,
    stretch: u64,
}

/// The blocks of a segment that must move, and what windows cost before they do.
#[derive(Debug)]
pub struct Scattered {
    /// Numbers of the blocks.
    pub blocks: Vec<usize>,
    /// Cost of the most expensive windows as the blocks lie now.
    pub before: Worst,
    /// Sum over all windows of the cost that exceeds the bound; 0 if no block must move.
    pub excess: u64,
    /// The number of small chunks that can be part of another one.
    pub joined: u64,
    /// The last blocks of the segment as they lie now, and the number of its last stretch.
    tail: Vec<Spot>,
    stretch: u64,
}

/// The open chunk, the logical bytes in it and in its last sequence, and the hash of its last block.
#[derive(Debug, Default)]
struct Open {
    chunk: OpenChunk,
    bytes: u64,
    sequence_bytes: u64,
    last_hash: u64,
}

/// A segment while it is written: its runs and hashes, and the counts.
#[derive(Debug, Default)]
struct Out {
    group: WrittenGroup,
    gathered: Gathered,
}

impl Gatherer {
    /// Creates a gatherer for a column group with these column types. New chunks end by `cuts`, as far as the copied blocks
    /// allow. The open chunk moves to a temporary file when it has over `write_memory` bytes.
    pub fn new(types: Vec<ColumnType>, cuts: Cuts, bound: Locality, write_memory: usize) -> Self {
        let (chunks, tail, stretch) = Default::default();
        Self { types, cuts, bound, write_memory, chunks, tail, stretch }
    }

    /// Returns the blocks of the next segment that must move. `starts` says for each row of the segment whether it starts a
    /// sequence. Pass the last plan of a segment to [`Gatherer::pass`] before the plan of the next segment.
    pub fn plan(&mut self, group: &WrittenGroup, starts: impl Fn(u64) -> bool) -> Scattered {
        let (fixed, known) = (self.tail.len(), self.chunks.len() as u64);
        let (mut spots, stretch) = self.spots(group, starts);
        let tail = last_rows(&spots, self.bound.window).to_vec();
        let count = spots.len();
        let (_, before) = mend(&mut spots, count, self.bound);
        let is_within = before.percent <= self.bound.percent && before.extra_ranges <= self.bound.extra_ranges as u64;
        let beyond = if is_within { 0 } else { excess(&spots, self.bound) };
        let (again, _) = mend(&mut spots, fixed, self.bound);
        let mut blocks: BTreeSet<usize> = again.into_iter().filter_map(|number| number.checked_sub(fixed)).collect();
        let small = self.small_chunks(group, known);
        let joined = small.iter().map(|(chunks, _)| chunks - 1).sum();
        blocks.extend(small.into_iter().flat_map(|(_, blocks)| blocks));
        let excess = if blocks.is_empty() { 0 } else { beyond };
        Scattered { blocks: blocks.into_iter().collect(), before, excess, joined, tail, stretch }
    }

    /// Returns the blocks of small chunks side by side, of any sequences, with the number of these chunks, where they can be one chunk.
    /// Many small appends leave them. A chunk that several runs share would be several copies, so it stays: one that occurs twice, or is
    /// among the first `known` chunks, those of earlier segments.
    fn small_chunks(&self, group: &WrittenGroup, known: u64) -> Vec<(u64, Range<usize>)> {
        let mut runs_of: BTreeMap<ChunkId, u32> = BTreeMap::new();
        group.runs.iter().for_each(|run| *runs_of.entry(run.chunk).or_default() += 1);
        let is_alone = |run: &LayoutRun| {
            runs_of.get(&run.chunk) == Some(&1) && self.chunks.get(&(run.owner, run.chunk)).is_some_and(|number| *number >= known)
        };
        let (mut found, mut side_by_side, mut block) = (Vec::new(), Vec::new(), 0);
        for run in &group.runs {
            let end = block + run.lengths.len();
            let is_small =
                run.owner == 0 && run.first_block == 0 && ends_chunk(run) && SMALL * run.chunk_bytes <= self.cuts.chunk_min;
            match is_small && is_alone(run) {
                true => side_by_side.push((run.chunk_bytes, block..end)),
                false => joinable(&std::mem::take(&mut side_by_side), &mut found),
            }
            block = end;
        }
        joinable(&side_by_side, &mut found);
        found
    }

    /// Ends a segment whose blocks stay where they lay at this plan. The next call of [`Gatherer::plan`] is for the segment after
    /// it.
    pub fn pass(&mut self, scattered: Scattered) {
        (self.tail, self.stretch) = (scattered.tail, scattered.stretch);
    }

    /// Returns the tail of the previous segment and the blocks of this one, and the number of the last stretch.
    ///
    /// A window may take one extra range where a full chunk ends and the next one begins, as in a table without shared blocks.
    /// Small chunks side by side, such as many small appends leave them, do not justify an extra range.
    fn spots(&mut self, group: &WrittenGroup, starts: impl Fn(u64) -> bool) -> (Vec<Spot>, u64) {
        let mut spots = self.tail.clone();
        let mut stretch = self.stretch + 1;
        let (mut row, mut before) = (0, None);
        for run in &group.runs {
            let next = self.chunks.len() as u64;
            let chunk = *self.chunks.entry((run.owner, run.chunk)).or_insert(next);
            let ends_full = |before: &LayoutRun| ends_chunk(before) && is_full(before.chunk_bytes, self.cuts, &group.columns);
            if before.is_some_and(ends_full) && run.first_block == 0 {
                stretch += 1;
            }
            before = Some(run);
            let mut offset = run.first_offset;
            for (length, rows) in run.lengths.iter().zip(run.block_rows.iter()) {
                let bytes = 8 * u64::from(length);
                spots.push(Spot { rows, starts: starts(row), bytes, stretch, shared: Some((chunk, offset)) });
                offset += bytes;
                row += u64::from(rows);
            }
        }
        (spots, stretch)
    }

    /// Writes the segment with the blocks that [`Gatherer::plan`] named in new chunks; all other blocks stay where they are.
    /// `stores` has the store of each owner that blocks are copied from. Also returns the counts; `before` and `after` are 0.
    ///
    /// # Errors
    /// - `Corrupt`: a block is damaged or does not match its logical hash. The message names block, chunk and owner.
    /// - Errors of the stores.
    pub async fn write(
        &self,
        store: &Store,
        stores: &BTreeMap<u32, Store>,
        group: &WrittenGroup,
        again: &[usize],
        starts: impl Fn(u64) -> bool,
    ) -> Result<(WrittenGroup, Gathered)> {
        let runs = &group.runs;
        let mut out = Out::default();
        out.group.columns.clone_from(&group.columns);
        let (mut open, mut hashes) = (Open::default(), group.hashes.iter().copied());
        let (mut number, mut row, mut moved) = (0, 0, 0);
        let progress = Progress::new("copying blocks", again.len() as u64);
        let mut fetched: std::vec::IntoIter<(Place, Result<Bytes>)> = Vec::new().into_iter();
        for (run_number, run) in runs.iter().enumerate() {
            for block in 0..run.lengths.len() {
                let hash = hashes.next().ok_or_else(|| Error::corrupt("fewer logical hashes than blocks"))?;
                let rows = u64::from(run.block_rows.get(block));
                if again.get(moved) == Some(&number) {
                    if fetched.len() == 0 {
                        let places = places_of(&runs[run_number..], number - block, &again[moved..])?;
                        let bytes = fetch(stores, &places).await?;
                        fetched = places.into_iter().zip(bytes).collect::<Vec<_>>().into_iter();
                    }
                    let (place, bytes) = fetched.next().ok_or_else(|| Error::internal("a block that was not fetched"))?;
                    let at = |error: Error| {
                        error.at(format!("block {} of chunk {} of owner {}", place.ordinal, place.chunk, place.owner))
                    };
                    self.copy(&mut open, store, &mut out, (&place, bytes.map_err(at)?), (starts(row), hash)).await.map_err(at)?;
                    moved += 1;
                    progress.add(1);
                } else {
                    let place = Place::of(run, block, true).ok_or_else(|| Error::internal("a block without a place"))?;
                    open.chunk.push_known(place, starts(row), hash, None);
                }
                (number, row) = (number + 1, row + rows);
            }
            if open.bytes == 0 && open.chunk.entries.len() >= WAITING {
                self.end(&mut open, store, &mut out).await?;
            }
        }
        self.end(&mut open, store, &mut out).await?;
        Ok((out.group, out.gathered))
    }

    /// Appends a stored block to the open chunk.
    async fn copy(
        &self,
        open: &mut Open,
        store: &Store,
        out: &mut Out,
        (place, bytes): (&Place, Bytes),
        (starts, hash): (bool, Hash),
    ) -> Result<()> {
        let directory = BlockDirectory::parse(&bytes, place.seed, place.ordinal, self.types.len())?;
        let mut pages = Vec::new();
        for (page, number) in (0..self.types.len()).zip(0_u16..) {
            pages.push(stored_page(&bytes[page_range(&directory, page)?], place.seed, place.ordinal, number)?);
        }
        let logical = pages.iter().map(EncodedPage::values_len).sum();
        let ended = starts.then_some((open.sequence_bytes, open.last_hash));
        if open.bytes > 0 && self.cuts.chunk_ends_before(open.bytes, logical, ended) {
            self.end(open, store, out).await?;
        }
        let chains = open.chunk.chains_or(&self.types, &place.chains);
        let is_same = chains.iter().map(|(_, chain)| chain).eq(place.chains.iter());
        if !is_same || place.owner > 0 {
            let (_, decoded) = decode(&bytes, place, &self.types)?;
            let canonical: Vec<CanonicalPage> = decoded.iter().map(DecodedPage::to_canonical).collect();
            let texts: Vec<String> = self.types.iter().map(ToString::to_string).collect();
            let found = logical_block_hash(place.rows, texts.iter().map(String::as_str).zip(&canonical));
            if found != hash {
                return Err(Error::corrupt(format!("it has the logical hash {found}, the version says {hash}")));
            }
            if !is_same {
                let encoded = chains.iter().zip(&canonical).map(|((_, chain), page)| encode_page(chain, page));
                let encoded = encoded.collect::<Result<Vec<_>>>()?;
                for ((sum, before), now) in out.group.columns.iter_mut().zip(&pages).zip(&encoded) {
                    sum.stored = (sum.stored + now.stored_len() as u64).saturating_sub(before.stored_len() as u64);
                }
                pages = encoded;
                out.gathered.encoded += 1;
            }
        } else if directory.rows != place.rows {
            return Err(Error::corrupt(format!("{}, the layout says {}", counted(directory.rows, "row"), place.rows)));
        }
        open.chunk.push_encoded(EncodedBlock { rows: place.rows, pages }, starts, hash);
        out.gathered.blocks += 1;
        if starts {
            open.sequence_bytes = 0;
        }
        // A block of nulls has no value bytes, but must still count, so that the chunk is not taken for empty.
        open.bytes += logical.max(1);
        (open.sequence_bytes, open.last_hash) = (open.sequence_bytes + logical, hash.first_u64());
        if self.cuts.chunk_ends_after(open.bytes, logical, open.last_hash) {
            self.end(open, store, out).await?;
        } else if open.chunk.in_memory() > self.write_memory {
            open.chunk.spill()?;
        }
        Ok(())
    }

    /// Ends and stores the open chunk.
    async fn end(&self, open: &mut Open, store: &Store, out: &mut Out) -> Result<()> {
        let cut = std::mem::take(open).chunk.finish(self.types.len(), store.salt())?;
        if let Some(chunk) = cut.chunk {
            out.gathered.chunks += 1;
            out.gathered.bytes += chunk.bytes.len() as u64;
            store.put_content(&chunk.id.object_name(), chunk.bytes.into()).await?;
        }
        out.group.runs.extend(cut.runs);
        out.group.hashes.extend(cut.hashes);
        Ok(())
    }
}

/// Whether a run ends at the end of its chunk.
fn ends_chunk(run: &LayoutRun) -> bool {
    // After the last block a chunk stores two numbers for each block, a checksum and the trailer
    // (`format-spec/chunk.md#directory`).
    let blocks = u64::from(run.first_block) + run.lengths.len() as u64;
    run.first_offset + run.stored_bytes() + 8 * blocks + 8 + 24 == run.chunk_bytes
}

/// Adds to `found` the neighbours among these chunks, given by their bytes and blocks, that become one chunk. None of them has more than
/// half of its bytes, so that a chunk is not copied each time a little is appended behind it.
fn joinable(chunks: &[(u64, Range<usize>)], found: &mut Vec<(u64, Range<usize>)>) {
    let [(_, first), .., (_, last)] = chunks else { return };
    let total: u64 = chunks.iter().map(|(bytes, _)| bytes).sum();
    match chunks.iter().position(|(bytes, _)| 2 * bytes > total) {
        None => found.push((chunks.len() as u64, first.start..last.end)),
        Some(large) => {
            joinable(&chunks[..large], found);
            joinable(&chunks[large + 1..], found);
        }
    }
}

/// Whether a chunk of so many stored bytes is a full one: at least about half the smallest chunk of a writer. The layout has stored bytes
/// only, and a chunk may compress better than the rest of its column group.
fn is_full(chunk_bytes: u64, cuts: Cuts, columns: &[ColumnBytes]) -> bool {
    let sum = |of: fn(&ColumnBytes) -> u64| columns.iter().map(of).map(u128::from).sum::<u128>();
    let (stored, logical) = (sum(|column| column.stored).max(1), sum(|column| column.logical));
    2 * u128::from(chunk_bytes) * logical >= u128::from(cuts.chunk_min) * stored
}

/// Returns the places of the first of these blocks, up to `FETCHED` bytes. `first` is the number of the first block of the runs.
fn places_of(runs: &[LayoutRun], first: usize, numbers: &[usize]) -> Result<Vec<Place>> {
    let (mut places, mut bytes) = (Vec::new(), 0);
    let (mut runs, mut first) = (runs.iter().peekable(), first);
    for number in numbers {
        while let Some(run) = runs.next_if(|run| first + run.lengths.len() <= *number) {
            first += run.lengths.len();
        }
        let run = runs.peek().ok_or_else(|| Error::internal(format!("no block {number}")))?;
        let place = Place::of(run, number - first, true).ok_or_else(|| Error::internal("a block without a place"))?;
        bytes += 8 * u64::from(place.length);
        if bytes > FETCHED && !places.is_empty() {
            break;
        }
        places.push(place);
    }
    Ok(places)
}
