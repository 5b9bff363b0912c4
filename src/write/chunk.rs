//! The open chunk of one column group. It holds the encoded blocks until the chunk ends, in memory or, beyond the writer's
//! budget, in a temporary file. For a known block it holds only the place of the stored block.
//!
//! The name of a chunk is the hash of its bytes, and its checksums are seeded by all its logical hashes. Therefore no byte can be
//! stored before the last block is known. The memory budget has no influence on where a chunk ends.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    sync::Arc,
};

use super::{known::Place, locality::Spot, sample::Sample};
use crate::{
    codec::{Chain, Chooser},
    error::{Error, Result},
    format::{
        CanonicalPage, ChunkWriter, EncodedBlock, EncodedPage, FinishedChunk, LayoutRun, PackedLengths, PageLengths,
        directory_len, encode_page,
    },
    id::{Hash, Salt},
    schema::ColumnType,
    work::Stop,
};

/// Blocks of a chunk that is open, or that has ended and is not uploaded yet.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    /// Codec chains, chosen at the first encoded block and again when the chunk ends.
    columns: Vec<(ColumnType, Chain)>,
    /// Sampled pages of each column for the second choice. Empty if the caller gave the chains.
    samples: Vec<Sample>,
    pub(super) entries: Vec<Entry>,
    /// Value bytes of the blocks encoded here, before encoding.
    canonical: usize,
    /// Stored bytes of the blocks encoded here; those of them in memory; and the file that holds the others.
    stored: usize,
    in_memory: usize,
    spilled: Option<(File, u64)>,
    /// Canonical bytes that wait for comparison.
    unproven: u64,
}

/// A block of an open chunk.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) hash: Hash,
    pub(super) rows: u32,
    /// Whether a sequence starts with this block.
    pub(super) starts: bool,
    pub(super) body: Body,
}

/// Place of a block's bytes.
#[derive(Debug)]
pub(super) enum Body {
    /// Encoded, in memory.
    Memory(EncodedBlock),
    /// Encoded, in the temporary file: the offset, and the length of each page.
    Spilled(u64, Vec<usize>),
    /// The same bytes as the block before it, which is stored in this chunk.
    Repeat,
    /// Stored already. Pages are present if the stored block must still be compared with them.
    Known(Place, Option<Vec<CanonicalPage>>),
}

/// A chunk that has ended and is ready for upload.
#[derive(Debug)]
pub(super) struct CutChunk {
    /// `None` if all its blocks are known.
    pub(super) chunk: Option<FinishedChunk>,
    pub(super) runs: Vec<LayoutRun>,
    pub(super) hashes: Vec<Hash>,
    /// Stored bytes of each column.
    pub(super) stored: Vec<u64>,
}

impl OpenChunk {
    /// Encodes and appends a block.
    pub(super) fn push(
        &mut self,
        choosers: &[Chooser],
        types: &[ColumnType],
        (rows, starts): (u32, bool),
        pages: &[CanonicalPage],
        hash: Hash,
    ) -> Result<()> {
        let block = self.encode(choosers, types, rows, pages)?;
        self.push_encoded(block, starts, hash);
        Ok(())
    }

    /// Returns the codec chain of each column. The chunk takes over `offered` if it has no chains yet.
    pub(super) fn chains_or(&mut self, types: &[ColumnType], offered: &[Chain]) -> &[(ColumnType, Chain)] {
        if self.columns.is_empty() {
            self.columns = types.iter().cloned().zip(offered.iter().cloned()).collect();
        }
        &self.columns
    }

    /// Appends a block that is encoded with this chunk's chains already.
    pub(super) fn push_encoded(&mut self, block: EncodedBlock, starts: bool, hash: Hash) {
        self.stored += block.stored_len();
        self.in_memory += block.stored_len();
        self.entries.push(Entry { hash, rows: block.rows, starts, body: Body::Memory(block) });
    }

    /// Appends a block that is stored already. Pass `pages` if the stored block must still be compared with them.
    pub(super) fn push_known(&mut self, place: Place, starts: bool, hash: Hash, pages: Option<Vec<CanonicalPage>>) {
        self.unproven += pages.iter().flatten().map(CanonicalPage::bytes).sum::<u64>();
        self.entries.push(Entry { hash, rows: place.rows, starts, body: Body::Known(place, pages) });
    }

    /// Whether a block with this hash repeats the last one, and that is stored here and is large enough.
    pub(super) fn repeats(&self, hash: &Hash, rows: u32) -> bool {
        let is_same = self.entries.last().is_some_and(|last| last.hash == *hash && last.rows == rows);
        let repeated = self.entries.iter().rev().find(|entry| !matches!(entry.body, Body::Repeat));
        is_same && repeated.and_then(own_len).is_some_and(|len| len >= REPEATED)
    }

    /// Appends a block that repeats the last one ([`OpenChunk::repeats`]).
    pub(super) fn push_repeat(&mut self, starts: bool) {
        if let Some(Entry { hash, rows, .. }) = self.entries.last() {
            self.entries.push(Entry { hash: *hash, rows: *rows, starts, body: Body::Repeat });
        }
    }

    /// Encodes a block. The first block chooses the preliminary codec chains.
    fn encode(&mut self, choosers: &[Chooser], types: &[ColumnType], rows: u32, pages: &[CanonicalPage]) -> Result<EncodedBlock> {
        if self.columns.is_empty() {
            self.columns = types
                .iter()
                .zip(choosers)
                .zip(pages)
                .map(|((ty, chooser), page)| Ok((ty.clone(), chooser.choose(ty, &page.values)?)))
                .collect::<Result<Vec<_>>>()?;
            self.samples = types.iter().map(|_| Sample::new()).collect();
        }
        self.canonical += pages.iter().map(|page| page.values.len()).sum::<usize>();
        self.samples.iter_mut().zip(pages).for_each(|(sample, page)| sample.push(&page.values));
        let pages =
            self.columns.iter().zip(pages).map(|((_, chain), page)| encode_page(chain, page)).collect::<Result<Vec<_>>>()?;
        Ok(EncodedBlock { rows, pages })
    }

    /// Chooses the codec chains again from sampled blocks of the whole chunk, and re-encodes the columns whose chain changes.
    pub(super) fn choose_again(&mut self, choosers: &[Chooser], stop: &Stop) -> Result<()> {
        let mut changed = Vec::new();
        for (number, ((sample, chooser), (ty, chain))) in
            std::mem::take(&mut self.samples).iter().zip(choosers).zip(&self.columns).enumerate()
        {
            stop.check()?;
            if sample.pages().len() > 1 {
                let chosen = chooser.choose_again(ty, chain, sample.pages())?;
                if chosen != *chain {
                    changed.push((number, chosen));
                }
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        let columns = &self.columns;
        let recode = |pages: &mut [EncodedPage]| -> Result<()> {
            stop.check()?;
            for (number, to) in &changed {
                if let Some((page, (_, from))) = pages.get_mut(*number).zip(columns.get(*number)) {
                    *page = page.recoded(from, to)?;
                }
            }
            Ok(())
        };
        let mut before = self.spilled.take().map(|(file, _)| BufReader::new(file));
        let mut after = None;
        (self.stored, self.in_memory) = (0, 0);
        for entry in &mut self.entries {
            match &mut entry.body {
                Body::Memory(block) => {
                    recode(&mut block.pages)?;
                    self.stored += block.stored_len();
                    self.in_memory += block.stored_len();
                }
                Body::Spilled(offset, lengths) => {
                    let file = before.as_mut().ok_or_else(|| Error::internal("no temporary file"))?;
                    let mut block = EncodedBlock { rows: entry.rows, pages: read_back(file, *offset, lengths)? };
                    recode(&mut block.pages)?;
                    self.stored += block.stored_len();
                    let (file, end) = match &mut after {
                        Some(after) => after,
                        None => after.insert((BufWriter::new(tempfile::tempfile().map_err(spilling)?), 0)),
                    };
                    entry.body = spill_block(&block, file, end)?;
                }
                Body::Repeat | Body::Known(..) => {}
            }
        }
        if let Some((file, end)) = after {
            self.spilled = Some((file.into_inner().map_err(|error| spilling(error.into_error()))?, end));
        }
        for (number, chain) in changed {
            self.columns[number].1 = chain;
        }
        Ok(())
    }

    /// Replaces a known block by a new encoding of its pages.
    pub(super) fn store_again(
        &mut self,
        number: usize,
        choosers: &[Chooser],
        types: &[ColumnType],
        pages: &[CanonicalPage],
    ) -> Result<()> {
        let Some(rows) = self.entries.get(number).map(|entry| entry.rows) else { return Ok(()) };
        let block = self.encode(choosers, types, rows, pages)?;
        self.stored += block.stored_len();
        self.in_memory += block.stored_len();
        self.entries[number].body = Body::Memory(block);
        Ok(())
    }

    /// Removes and returns the pages of the blocks that still wait for comparison.
    pub(super) fn take_unproven(&mut self) -> Vec<(usize, Vec<CanonicalPage>)> {
        self.unproven = 0;
        let pages = self.entries.iter_mut().enumerate().filter_map(|(number, entry)| match &mut entry.body {
            Body::Known(_, pages) => pages.take().map(|pages| (number, pages)),
            _ => None,
        });
        pages.collect()
    }

    /// Returns the canonical bytes that wait for comparison.
    pub(super) fn unproven(&self) -> u64 {
        self.unproven
    }

    /// Whether it holds no block.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the bytes held in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.in_memory
    }

    /// Returns the value bytes of the blocks encoded here, before encoding.
    pub(super) fn canonical(&self) -> usize {
        self.canonical
    }

    /// Returns the approximate stored bytes of the new blocks, in memory or in the temporary file.
    pub(super) fn stored(&self) -> usize {
        self.stored
    }

    /// Moves the encoded blocks from memory to a temporary file.
    pub(super) fn spill(&mut self) -> Result<()> {
        if self.spilled.is_none() {
            self.spilled = Some((tempfile::tempfile().map_err(spilling)?, 0));
        }
        let Some((file, end)) = &mut self.spilled else { return Ok(()) };
        file.seek(SeekFrom::Start(*end)).map_err(spilling)?;
        let mut out = BufWriter::new(file);
        for entry in &mut self.entries {
            if let Body::Memory(block) = &entry.body {
                entry.body = spill_block(block, &mut out, end)?;
            }
        }
        out.flush().map_err(spilling)?;
        drop(out);
        self.in_memory = 0;
        Ok(())
    }

    /// Describes the blocks for the locality bound. `number_of` numbers the chunks that hold known blocks.
    pub(super) fn spots(&self, stretch: u64, mut number_of: impl FnMut(&Place) -> u64) -> Vec<Spot> {
        // A repetition counts as a block of its own, because a window that begins with it reads it.
        let mut last = 0;
        let spot = |entry: &Entry| {
            last = own_len(entry).unwrap_or(last);
            let (bytes, shared) = match &entry.body {
                Body::Memory(_) | Body::Spilled(..) | Body::Repeat => (last, None),
                Body::Known(place, _) => (8 * u64::from(place.length), Some((number_of(place), place.offset))),
            };
            Spot { rows: entry.rows, starts: entry.starts, bytes, stretch, shared }
        };
        self.entries.iter().map(spot).collect()
    }

    /// Returns the place of a known block.
    pub(super) fn place(&self, number: usize) -> Option<&Place> {
        match &self.entries.get(number)?.body {
            Body::Known(place, _) => Some(place),
            _ => None,
        }
    }

    /// Records the page lengths of a known block, found while the block was compared.
    pub(super) fn set_pages(&mut self, number: usize, lengths: Vec<u32>) {
        if let Some(Entry { body: Body::Known(place, _), .. }) = self.entries.get_mut(number) {
            place.pages = Some(lengths);
        }
    }

    /// Ends the chunk. Returns its bytes and name, if any block is new, and the layout runs of all blocks.
    pub(super) fn finish(self, columns: usize, salt: Salt) -> Result<CutChunk> {
        let Self { columns: chains, mut entries, stored, spilled, .. } = self;
        let is_own = |entry: &Entry| !matches!(entry.body, Body::Known(..));
        let is_stored = |entry: &&Entry| own_len(entry).is_some();
        let own: Vec<Hash> = entries.iter().filter(is_stored).map(|entry| entry.hash).collect();
        let chunk = match own.is_empty() {
            true => None,
            false => {
                let mut chunk = ChunkWriter::new(&chains, &own, stored, salt)?;
                let mut spilled = spilled.map(|(file, _)| BufReader::new(file));
                for entry in &mut entries {
                    match &mut entry.body {
                        Body::Memory(block) => {
                            chunk.push(block)?;
                            // The chunk has its bytes now.
                            block.pages = Vec::new();
                        }
                        Body::Spilled(offset, lengths) => {
                            let file = spilled.as_mut().ok_or_else(|| Error::internal("no temporary file"))?;
                            chunk.push(&EncodedBlock { rows: entry.rows, pages: read_back(file, *offset, lengths)? })?;
                        }
                        Body::Repeat | Body::Known(..) => {}
                    }
                }
                Some(chunk.finish())
            }
        };
        let chains: Arc<[Chain]> = chains.into_iter().map(|(_, chain)| chain).collect();
        let mut sums = vec![0; columns];
        let mut runs = Vec::new();
        let (mut next, mut ordinal) = (0, 0);
        while let Some(entry) = entries.get(next) {
            let start = next;
            match &entry.body {
                Body::Known(first, _) => {
                    next += 1;
                    while let Some(Entry { body: Body::Known(place, _), .. }) = entries.get(next)
                        && let Some(Entry { body: Body::Known(before, _), .. }) = entries.get(next - 1)
                        && follows(before, place)
                    {
                        next += 1;
                    }
                    let places = entries[start..next].iter().filter_map(|entry| match &entry.body {
                        Body::Known(place, _) => Some(place),
                        _ => None,
                    });
                    let places: Vec<&Place> = places.collect();
                    add_pages(&mut sums, &places);
                    runs.push(known_run(first, &places)?);
                }
                _ => {
                    // A repetition begins a run, with the last block again.
                    ordinal -= usize::from(matches!(entry.body, Body::Repeat));
                    next += 1;
                    while entries.get(next).is_some_and(|entry| is_own(entry) && !matches!(entry.body, Body::Repeat)) {
                        next += 1;
                    }
                    let chunk = chunk.as_ref().ok_or_else(|| Error::internal("no chunk"))?;
                    let blocks = ordinal..ordinal + (next - start);
                    for block in &chunk.page_lengths[blocks.clone()] {
                        sums.iter_mut().zip(block).for_each(|(sum, length)| *sum += 8 * u64::from(*length));
                    }
                    ordinal = blocks.end;
                    runs.push(own_run(chunk, &chains, blocks)?);
                }
            }
        }
        Ok(CutChunk { chunk, runs, hashes: entries.iter().map(|entry| entry.hash).collect(), stored: sums })
    }
}

/// Least stored bytes of a block that is stored once where it repeats: a run of the layout takes about a hundred.
pub(super) const REPEATED: u64 = 16 << 10;

/// Returns the stored bytes of a block that is stored in the chunk.
fn own_len(entry: &Entry) -> Option<u64> {
    match &entry.body {
        Body::Memory(block) => Some(block.stored_len() as u64),
        Body::Spilled(_, lengths) => {
            let pages: usize = lengths.iter().map(|length| length + 8).sum();
            Some((directory_len(lengths.len()) + pages) as u64)
        }
        Body::Repeat | Body::Known(..) => None,
    }
}

fn spilling(error: std::io::Error) -> Error {
    Error::from(error).at("spilling an open chunk to a temporary file")
}

/// Appends a block to the temporary file, which ends at `end`.
fn spill_block(block: &EncodedBlock, out: &mut impl Write, end: &mut u64) -> Result<Body> {
    let mut lengths = Vec::with_capacity(block.pages.len());
    for page in &block.pages {
        out.write_all(page.unsigned()).map_err(spilling)?;
        lengths.push(page.unsigned().len());
    }
    let start = *end;
    *end += lengths.iter().sum::<usize>() as u64;
    Ok(Body::Spilled(start, lengths))
}

fn read_back(file: &mut BufReader<File>, offset: u64, lengths: &[usize]) -> Result<Vec<EncodedPage>> {
    let failed = |error: std::io::Error| Error::from(error).at("reading an open chunk back from its temporary file");
    // Blocks usually lie in the file in order, so seeks are rare. Only blocks that were stored again lie out of order.
    let here = file.stream_position().map_err(failed)?;
    if here != offset {
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    }
    let pages = lengths.iter().map(|length| {
        let mut bytes = vec![0; *length];
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(EncodedPage::from_unsigned(bytes))
    });
    pages.collect()
}

/// Whether one known block directly follows another one, so that one run can hold both.
fn follows(before: &Place, place: &Place) -> bool {
    (before.owner, before.chunk, before.seed) == (place.owner, place.chunk, place.seed)
        && before.ordinal + 1 == place.ordinal
        && before.offset + 8 * u64::from(before.length) == place.offset
        && (Arc::ptr_eq(&before.chains, &place.chains) || before.chains == place.chains)
}

fn add_pages(sums: &mut [u64], places: &[&Place]) {
    for place in places {
        match (&place.pages, sums.len()) {
            (Some(pages), _) => sums.iter_mut().zip(pages).for_each(|(sum, length)| *sum += 8 * u64::from(*length)),
            (None, 1) => sums[0] += (8 * u64::from(place.length)).saturating_sub(directory_len(1) as u64),
            (None, _) => {}
        }
    }
}

fn pack(numbers: &[u32]) -> Result<PackedLengths> {
    let mut node = Vec::new();
    PackedLengths::write(numbers, &mut node);
    PackedLengths::from_bytes(&node, numbers.len())
}

/// Returns the page lengths, if storing them pays off.
fn paying(columns: usize, lengths: &[u32], pages: &[Vec<u32>]) -> Option<PageLengths> {
    let eights: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let pay = pages.len() == lengths.len() && PageLengths::pay(columns, lengths.len() as u64, 8 * eights);
    if pay { PageLengths::of(pages) } else { None }
}

/// Builds the run of consecutive blocks in a chunk that is stored already.
fn known_run(first: &Place, places: &[&Place]) -> Result<LayoutRun> {
    let lengths: Vec<u32> = places.iter().map(|place| place.length).collect();
    let rows: Vec<u32> = places.iter().map(|place| place.rows).collect();
    let pages: Vec<Vec<u32>> = places.iter().filter_map(|place| place.pages.clone()).collect();
    Ok(LayoutRun {
        chunk: first.chunk,
        owner: first.owner,
        chunk_bytes: first.chunk_bytes,
        seed: first.seed,
        chains: Arc::clone(&first.chains),
        first_block: first.ordinal,
        first_offset: first.offset,
        rows: rows.iter().map(|rows| u64::from(*rows)).sum(),
        lengths: pack(&lengths)?,
        block_rows: pack(&rows)?,
        pages: paying(first.chains.len(), &lengths, &pages),
    })
}

/// Builds the run of some blocks of a new chunk.
fn own_run(chunk: &FinishedChunk, chains: &Arc<[Chain]>, blocks: Range<usize>) -> Result<LayoutRun> {
    let eights = |lengths: &[u32]| lengths.iter().map(|length| u64::from(*length)).sum::<u64>();
    let (lengths, rows) = (&chunk.lengths[blocks.clone()], &chunk.rows[blocks.clone()]);
    Ok(LayoutRun {
        chunk: chunk.id,
        owner: 0,
        chunk_bytes: chunk.bytes.len() as u64,
        seed: chunk.seed,
        chains: Arc::clone(chains),
        first_block: u32::try_from(blocks.start).map_err(|_| Error::invalid("over 2^32 blocks in a chunk"))?,
        first_offset: chunk.first_offset + 8 * eights(&chunk.lengths[..blocks.start]),
        rows: rows.iter().map(|rows| u64::from(*rows)).sum(),
        lengths: pack(lengths)?,
        block_rows: pack(rows)?,
        pages: paying(chains.len(), lengths, &chunk.page_lengths[blocks]),
    })
}
