//! Writes the rows of one column group into chunks: cuts rows into blocks, hashes each block, looks for a known block with that
//! hash, encodes the block if there is none, and cuts blocks into chunks.
//!
//! Apart from the look-up of known blocks the writer does no I/O: the caller passes rows and receives finished chunks.

use super::{
    chunk::{OpenChunk, REPEATED},
    flat::FlatColumn,
    known::Finder,
};
use crate::{
    codec::Chooser,
    error::Error,
    error::Result,
    format::{Cuts, PageBuilder, Structure, logical_block_hash},
    schema::ColumnType,
};

/// Writer of one column group of one partition.
#[derive(Debug)]
pub(super) struct GroupWriter {
    types: Vec<ColumnType>,
    type_texts: Vec<String>,
    /// One chooser for each column.
    choosers: Vec<Chooser>,
    cuts: Cuts,
    finder: Option<Finder>,
    /// Whether a large block that is equal to the one before it is stored once.
    share_repeats: bool,
    pages: Vec<PageBuilder>,
    /// Rows and logical bytes of the open block, and whether the block starts a sequence.
    block: (u32, u64, bool),
    chunk: OpenChunk,
    /// Logical bytes of the open chunk, and of the last sequence in it.
    chunk_bytes: u64,
    sequence_bytes: u64,
    last_hash: u64,
    /// Canonical bytes of each column so far.
    logical: Vec<u64>,
}

impl GroupWriter {
    pub(super) fn new(
        types: Vec<ColumnType>,
        choosers: Vec<Chooser>,
        cuts: Cuts,
        finder: Option<Finder>,
        share_repeats: bool,
    ) -> Self {
        Self {
            pages: types.iter().map(PageBuilder::new).collect(),
            type_texts: types.iter().map(ToString::to_string).collect(),
            logical: vec![0; types.len()],
            types,
            choosers,
            cuts,
            finder,
            share_repeats,
            block: (0, 0, false),
            chunk: OpenChunk::default(),
            chunk_bytes: 0,
            sequence_bytes: 0,
            last_hash: 0,
        }
    }

    /// Appends one row. `starts` says whether the row starts a sequence. Pushes the chunks that end here to `out`.
    pub(super) fn push(&mut self, columns: &[FlatColumn], row: usize, starts: bool, out: &mut Vec<OpenChunk>) -> Result<()> {
        let (mut bytes, mut hash) = (0, 0);
        for column in columns {
            let (column_bytes, next) = column.measure(row, hash);
            (bytes, hash) = (bytes + column_bytes, next);
        }
        let (rows, filled, _) = self.block;
        // A large row that a later one may repeat is alone in its block.
        let is_alone = self.share_repeats && bytes >= REPEATED;
        if rows > 0 && (starts || is_alone || self.cuts.block_ends_before(filled, bytes)) {
            self.end_block(out)?;
        }
        if self.block.0 == 0 {
            self.block.2 = starts;
        }
        for (column, page) in columns.iter().zip(&mut self.pages) {
            column.append_to(row..row + 1, page);
        }
        self.block.0 += 1;
        self.block.1 += bytes;
        if is_alone || self.cuts.block_ends_after(self.block.1, bytes, hash) {
            self.end_block(out)?;
        }
        Ok(())
    }

    /// Ends the open block, if it has rows.
    pub(super) fn end_open_block(&mut self, out: &mut Vec<OpenChunk>) -> Result<()> {
        if self.block.0 > 0 { self.end_block(out) } else { Ok(()) }
    }

    /// Ends the open block and the open chunk.
    pub(super) fn finish(&mut self, out: &mut Vec<OpenChunk>) -> Result<()> {
        self.end_open_block(out)?;
        self.end_chunk(out);
        Ok(())
    }

    /// Whether the open block is empty.
    pub(super) fn is_between_blocks(&self) -> bool {
        self.block.0 == 0
    }

    /// Returns the open chunk.
    pub(super) fn open(&mut self) -> &mut OpenChunk {
        &mut self.chunk
    }

    /// Returns the canonical bytes of each column so far.
    pub(super) fn logical(&self) -> &[u64] {
        &self.logical
    }

    /// Returns the types and the choosers of the columns.
    pub(super) fn types(&self) -> (&[ColumnType], &[Chooser]) {
        (&self.types, &self.choosers)
    }

    /// Returns the encoded bytes in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.chunk.in_memory()
    }

    /// Moves the encoded blocks from memory to a temporary file.
    pub(super) fn spill(&mut self) -> Result<()> {
        self.chunk.spill()
    }

    fn end_block(&mut self, out: &mut Vec<OpenChunk>) -> Result<()> {
        let (rows, bytes, starts) = std::mem::take(&mut self.block);
        let pages: Vec<_> = self.pages.iter_mut().map(PageBuilder::finish).collect();
        for (page, ty) in pages.iter().zip(&self.types) {
            // Readers refuse a page that does not parse, so the writer refuses it first.
            Structure::parse(ty, rows, &page.structure, page.values.len())
                .map_err(|error| Error::invalid(format!("cannot store a value: {error}")))?;
        }
        let hash = logical_block_hash(rows, self.type_texts.iter().map(String::as_str).zip(&pages));
        let ended = starts.then_some((self.sequence_bytes, self.last_hash));
        if self.cuts.chunk_ends_before(self.chunk_bytes, bytes, ended) {
            self.end_chunk(out);
        }
        if starts {
            self.sequence_bytes = 0;
        }
        self.logical.iter_mut().zip(&pages).for_each(|(sum, page)| *sum += page.bytes());
        let place = self.finder.as_mut().map(|finder| finder.find(&hash, rows)).transpose()?.flatten();
        match place {
            // Blocks of other tables are compared with the rows before use. So is a block without recorded page lengths.
            Some(place) => {
                let is_clear = place.is_own && (place.pages.is_some() || self.types.len() == 1);
                self.chunk.push_known(place, starts, hash, (!is_clear).then_some(pages));
            }
            None if self.share_repeats && self.chunk.repeats(&hash, rows) => self.chunk.push_repeat(starts),
            None => self.chunk.push(&self.choosers, &self.types, (rows, starts), &pages, hash)?,
        }
        self.chunk_bytes += bytes;
        self.sequence_bytes += bytes;
        self.last_hash = hash.first_u64();
        if self.cuts.chunk_ends_after(self.chunk_bytes, bytes, self.last_hash) {
            self.end_chunk(out);
        }
        Ok(())
    }

    fn end_chunk(&mut self, out: &mut Vec<OpenChunk>) {
        (self.chunk_bytes, self.sequence_bytes) = (0, 0);
        if !self.chunk.is_empty() {
            out.push(std::mem::take(&mut self.chunk));
        }
    }
}
