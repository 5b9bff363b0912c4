//! The open chunk of one column group: its blocks until the chunk is cut, encoded in memory or, past the writer's budget, in a
//! temporary file; blocks that are known already are held as the places where they lie.
//!
//! A chunk is named by its bytes and its checksums are seeded by all its logical hashes, so nothing of it can be stored before
//! its last block is known; memory never decides where a chunk ends.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    sync::Arc,
};

use super::{known::Place, locality::Spot, sample::Sample};
use crate::{
    codec::{Chain, Preset},
    error::{Error, Result},
    format::{
        CanonicalPage, ChunkWriter, EncodedBlock, EncodedPage, FinishedChunk, LayoutRun, PackedLengths, PageLengths,
        directory_len, encode_page,
    },
    id::Hash,
    offload::Stop,
    schema::ColumnType,
};

/// Blocks of a chunk that is not cut yet, or that was cut and is not stored yet.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    /// Chosen by the first block that is encoded, and again once the chunk is cut.
    columns: Vec<(ColumnType, Chain)>,
    /// Sampled pages of each column, for the second choice; none where the chains were given.
    samples: Vec<Sample>,
    pub(super) entries: Vec<Entry>,
    /// Bytes of the values of the blocks encoded here, before encoding.
    canonical: usize,
    /// Stored bytes of the blocks encoded here, of those in memory, and the file that holds the others.
    stored: usize,
    in_memory: usize,
    spilled: Option<(File, u64)>,
    /// Canonical bytes that wait to be compared.
    unproven: u64,
}

/// A block of it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) hash: Hash,
    pub(super) rows: u32,
    /// Whether a sequence starts with it.
    pub(super) starts: bool,
    pub(super) body: Body,
}

/// Where a block's bytes are.
#[derive(Debug)]
pub(super) enum Body {
    /// Encoded, in memory.
    Memory(EncodedBlock),
    /// Encoded, in the temporary file: where, and the length of each page.
    Spilled(u64, Vec<usize>),
    /// Stored already; with its pages where what lies there is still to be compared with them.
    Known(Place, Option<Vec<CanonicalPage>>),
}

/// A chunk that is cut, ready to be stored.
#[derive(Debug)]
pub(super) struct CutChunk {
    /// `None` where all its blocks are known.
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
        presets: &[Preset],
        types: &[ColumnType],
        (rows, starts): (u32, bool),
        pages: &[CanonicalPage],
        hash: Hash,
    ) -> Result<()> {
        let block = self.encode(presets, types, rows, pages)?;
        self.push_encoded(block, starts, hash);
        Ok(())
    }

    /// The codec chain of each column; those of `offered` where no block was encoded yet.
    pub(super) fn chains_or(&mut self, types: &[ColumnType], offered: &[Chain]) -> &[(ColumnType, Chain)] {
        if self.columns.is_empty() {
            self.columns = types.iter().cloned().zip(offered.iter().cloned()).collect();
        }
        &self.columns
    }

    /// Appends a block that is encoded already, by the chains of this chunk.
    pub(super) fn push_encoded(&mut self, block: EncodedBlock, starts: bool, hash: Hash) {
        self.stored += block.stored_len();
        self.in_memory += block.stored_len();
        self.entries.push(Entry { hash, rows: block.rows, starts, body: Body::Memory(block) });
    }

    /// Appends a block that is stored already; `pages` where it has to be compared.
    pub(super) fn push_known(&mut self, place: Place, starts: bool, hash: Hash, pages: Option<Vec<CanonicalPage>>) {
        self.unproven += pages.iter().flatten().map(CanonicalPage::bytes).sum::<u64>();
        self.entries.push(Entry { hash, rows: place.rows, starts, body: Body::Known(place, pages) });
    }

    /// Encodes a block; the first one chooses the codec chains for now.
    fn encode(&mut self, presets: &[Preset], types: &[ColumnType], rows: u32, pages: &[CanonicalPage]) -> Result<EncodedBlock> {
        if self.columns.is_empty() {
            self.columns = types
                .iter()
                .zip(presets)
                .zip(pages)
                .map(|((ty, preset), page)| Ok((ty.clone(), preset.choose(ty, &page.values)?)))
                .collect::<Result<Vec<_>>>()?;
            self.samples = types.iter().map(|_| Sample::new()).collect();
        }
        self.canonical += pages.iter().map(|page| page.values.len()).sum::<usize>();
        self.samples.iter_mut().zip(pages).for_each(|(sample, page)| sample.push(&page.values));
        let pages =
            self.columns.iter().zip(pages).map(|((_, chain), page)| encode_page(chain, page)).collect::<Result<Vec<_>>>()?;
        Ok(EncodedBlock { rows, pages })
    }

    /// Chooses the codec chains again, now that blocks from all over the chunk are known, and encodes the columns again whose chain
    /// is another one.
    pub(super) fn choose_again(&mut self, presets: &[Preset], stop: &Stop) -> Result<()> {
        let mut changed = Vec::new();
        for (number, ((sample, preset), (ty, chain))) in
            std::mem::take(&mut self.samples).iter().zip(presets).zip(&self.columns).enumerate()
        {
            stop.check()?;
            if sample.pages().len() > 1 {
                let chosen = preset.choose_again(ty, chain, sample.pages())?;
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
                Body::Known(..) => {}
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

    /// A known block is stored again, from its pages.
    pub(super) fn store_again(
        &mut self,
        number: usize,
        presets: &[Preset],
        types: &[ColumnType],
        pages: &[CanonicalPage],
    ) -> Result<()> {
        let Some(rows) = self.entries.get(number).map(|entry| entry.rows) else { return Ok(()) };
        let block = self.encode(presets, types, rows, pages)?;
        self.stored += block.stored_len();
        self.in_memory += block.stored_len();
        self.entries[number].body = Body::Memory(block);
        Ok(())
    }

    /// Removes and gives the blocks that still have to be compared.
    pub(super) fn take_unproven(&mut self) -> Vec<(usize, Vec<CanonicalPage>)> {
        self.unproven = 0;
        let pages = self.entries.iter_mut().enumerate().filter_map(|(number, entry)| match &mut entry.body {
            Body::Known(_, pages) => pages.take().map(|pages| (number, pages)),
            _ => None,
        });
        pages.collect()
    }

    /// Canonical bytes that wait to be compared.
    pub(super) fn unproven(&self) -> u64 {
        self.unproven
    }

    /// Whether it holds no block.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes held in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.in_memory
    }

    /// Bytes of the values of the blocks encoded here, before encoding.
    pub(super) fn canonical(&self) -> usize {
        self.canonical
    }

    /// Bytes that it will be stored in, about, wherever they are now.
    pub(super) fn stored(&self) -> usize {
        self.stored
    }

    /// Moves the encoded blocks in memory to a temporary file.
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

    /// The blocks as the locality bound needs them; `number_of` numbers the chunks that hold known ones.
    pub(super) fn spots(&self, stretch: u64, mut number_of: impl FnMut(&Place) -> u64) -> Vec<Spot> {
        let spot = |entry: &Entry| {
            let (bytes, shared) = match &entry.body {
                Body::Memory(block) => (block.stored_len() as u64, None),
                Body::Spilled(_, lengths) => {
                    let pages: usize = lengths.iter().map(|length| length + 8).sum();
                    ((directory_len(lengths.len()) + pages) as u64, None)
                }
                Body::Known(place, _) => (8 * u64::from(place.length), Some((number_of(place), place.offset))),
            };
            Spot { rows: entry.rows, starts: entry.starts, bytes, stretch, shared }
        };
        self.entries.iter().map(spot).collect()
    }

    /// The place of a known block.
    pub(super) fn place(&self, number: usize) -> Option<&Place> {
        match &self.entries.get(number)?.body {
            Body::Known(place, _) => Some(place),
            _ => None,
        }
    }

    /// Page lengths of a known block, found out while it was looked at.
    pub(super) fn set_pages(&mut self, number: usize, lengths: Vec<u32>) {
        if let Some(Entry { body: Body::Known(place, _), .. }) = self.entries.get_mut(number) {
            place.pages = Some(lengths);
        }
    }

    /// Closes the chunk: its bytes and its name, if any block was encoded, and the layout runs of all blocks.
    pub(super) fn finish(self, columns: usize) -> Result<CutChunk> {
        let Self { columns: chains, entries, stored, spilled, .. } = self;
        let is_own = |entry: &&Entry| !matches!(entry.body, Body::Known(..));
        let own: Vec<Hash> = entries.iter().filter(is_own).map(|entry| entry.hash).collect();
        let chunk = match own.is_empty() {
            true => None,
            false => {
                let mut chunk = ChunkWriter::new(&chains, &own, stored)?;
                let mut spilled = spilled.map(|(file, _)| BufReader::new(file));
                for entry in &entries {
                    match &entry.body {
                        Body::Memory(block) => chunk.push(block)?,
                        Body::Spilled(offset, lengths) => {
                            let file = spilled.as_mut().ok_or_else(|| Error::internal("no temporary file"))?;
                            chunk.push(&EncodedBlock { rows: entry.rows, pages: read_back(file, *offset, lengths)? })?;
                        }
                        Body::Known(..) => {}
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
                    while entries.get(next).is_some_and(|entry| is_own(&entry)) {
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
    // Blocks lie in the file in their order, unless some were stored again: as a rule this does not move.
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

/// Whether two known blocks lie behind each other, so that one run holds both.
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

/// Page lengths, where they pay.
fn paying(columns: usize, lengths: &[u32], pages: &[Vec<u32>]) -> Option<PageLengths> {
    let eights: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    let pay = pages.len() == lengths.len() && PageLengths::pay(columns, lengths.len() as u64, 8 * eights);
    if pay { PageLengths::of(pages) } else { None }
}

/// The run of blocks that lie behind each other in a chunk that is stored already.
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

/// The run of some blocks of a new chunk.
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
