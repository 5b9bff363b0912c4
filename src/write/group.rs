//! The rows of one column group on their way into chunks: cut into blocks, hashed, encoded, cut into chunks.
//!
//! Pure: a row goes in, now and then a finished chunk comes out.

use std::sync::Arc;

use super::{chunk::OpenChunk, flat::FlatColumn};
use crate::{
    codec::{Chain, Preset},
    error::Error,
    error::Result,
    format::{
        ColumnBytes, Cuts, FinishedChunk, LayoutRun, PackedLengths, PageBuilder, PageLengths, Structure, logical_block_hash,
    },
    id::Hash,
    schema::ColumnType,
};

/// One column group of one partition.
#[derive(Debug)]
pub(super) struct GroupWriter {
    types: Vec<ColumnType>,
    type_texts: Vec<String>,
    preset: Preset,
    cuts: Cuts,
    pages: Vec<PageBuilder>,
    /// Rows and logical bytes of the open block, and whether it starts a sequence.
    block: (u32, u64, bool),
    chunk: OpenChunk,
    /// Logical bytes of the open chunk, and of its last sequence.
    chunk_bytes: u64,
    sequence_bytes: u64,
    last_hash: u64,
    columns: Vec<ColumnBytes>,
}

/// A chunk cut off a group, not stored yet.
#[derive(Debug)]
pub(super) struct CutChunk {
    pub(super) chunk: FinishedChunk,
    pub(super) chains: Vec<Chain>,
    pub(super) hashes: Vec<Hash>,
}

impl GroupWriter {
    pub(super) fn new(types: Vec<ColumnType>, preset: Preset, cuts: Cuts) -> Self {
        Self {
            pages: types.iter().map(PageBuilder::new).collect(),
            type_texts: types.iter().map(ToString::to_string).collect(),
            columns: vec![ColumnBytes::default(); types.len()],
            types,
            preset,
            cuts,
            block: (0, 0, false),
            chunk: OpenChunk::default(),
            chunk_bytes: 0,
            sequence_bytes: 0,
            last_hash: 0,
        }
    }

    /// Appends one row; `starts` says that it starts a sequence. Gives the chunks that it cut off.
    pub(super) fn push(&mut self, columns: &[FlatColumn], row: usize, starts: bool, out: &mut Vec<CutChunk>) -> Result<()> {
        let (mut bytes, mut hash) = (0, 0);
        for column in columns {
            let (column_bytes, next) = column.measure(row, hash);
            (bytes, hash) = (bytes + column_bytes, next);
        }
        let (rows, held, _) = self.block;
        if rows > 0 && (starts || self.cuts.block_ends_before(held, bytes)) {
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
        if self.cuts.block_ends_after(self.block.1, bytes, hash) {
            self.end_block(out)?;
        }
        Ok(())
    }

    /// Ends the open block and chunk.
    pub(super) fn finish(&mut self, out: &mut Vec<CutChunk>) -> Result<()> {
        if self.block.0 > 0 {
            self.end_block(out)?;
        }
        self.end_chunk(out)
    }

    /// What each column took so far.
    pub(super) fn columns(&self) -> &[ColumnBytes] {
        &self.columns
    }

    /// Encoded bytes in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.chunk.in_memory()
    }

    /// Moves encoded bytes out of memory.
    pub(super) fn spill(&mut self) -> Result<()> {
        self.chunk.spill()
    }

    fn end_block(&mut self, out: &mut Vec<CutChunk>) -> Result<()> {
        let (rows, bytes, starts) = std::mem::take(&mut self.block);
        let pages: Vec<_> = self.pages.iter_mut().map(PageBuilder::finish).collect();
        for (page, ty) in pages.iter().zip(&self.types) {
            // What a reader will refuse is refused here.
            Structure::parse(ty, rows, &page.structure, page.values.len())
                .map_err(|error| Error::invalid(format!("a value that cannot be stored: {error}")))?;
        }
        let hash = logical_block_hash(rows, self.type_texts.iter().map(String::as_str).zip(&pages));
        let ended = starts.then_some((self.sequence_bytes, self.last_hash));
        if self.cuts.chunk_ends_before(self.chunk_bytes, bytes, ended) {
            self.end_chunk(out)?;
        }
        if starts {
            self.sequence_bytes = 0;
        }
        let stored = self.chunk.push(self.preset, &self.types, rows, &pages, hash)?;
        for ((column, page), stored) in self.columns.iter_mut().zip(&pages).zip(stored) {
            column.stored += stored;
            column.logical += page.bytes();
        }
        self.chunk_bytes += bytes;
        self.sequence_bytes += bytes;
        self.last_hash = hash.first_u64();
        if self.cuts.chunk_ends_after(self.chunk_bytes, bytes, self.last_hash) {
            self.end_chunk(out)?;
        }
        Ok(())
    }

    fn end_chunk(&mut self, out: &mut Vec<CutChunk>) -> Result<()> {
        (self.chunk_bytes, self.sequence_bytes) = (0, 0);
        if !self.chunk.is_empty() {
            let (chunk, chains, hashes) = self.chunk.finish()?;
            out.push(CutChunk { chunk, chains, hashes });
        }
        Ok(())
    }
}

impl CutChunk {
    /// The layout run of the whole chunk.
    pub(super) fn run(&self) -> Result<LayoutRun> {
        let pack = |numbers: &[u32]| {
            let mut node = Vec::new();
            PackedLengths::write(numbers, &mut node);
            PackedLengths::from_bytes(&node, numbers.len())
        };
        let eights: u64 = self.chunk.lengths.iter().map(|length| u64::from(*length)).sum();
        let pay = PageLengths::pay(self.chains.len(), self.chunk.lengths.len() as u64, 8 * eights);
        Ok(LayoutRun {
            chunk: self.chunk.id,
            owner: 0,
            chunk_bytes: self.chunk.bytes.len() as u64,
            seed: self.chunk.seed,
            chains: Arc::from(self.chains.as_slice()),
            first_block: 0,
            first_offset: self.chunk.first_offset,
            rows: self.chunk.rows.iter().map(|rows| u64::from(*rows)).sum(),
            lengths: pack(&self.chunk.lengths)?,
            block_rows: pack(&self.chunk.rows)?,
            pages: if pay { PageLengths::of(&self.chunk.page_lengths) } else { None },
        })
    }
}
