//! The open chunk of one column group: encoded blocks until the chunk is cut, in memory or, past the writer's budget, in a
//! temporary file.
//!
//! A chunk is named by its bytes and its checksums are seeded by all its logical hashes, so nothing of it can be stored before
//! its last block is known; memory never decides where a chunk ends.

use std::{
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, Write},
};

use crate::{
    codec::{Chain, Preset},
    error::{Error, Result},
    format::{CanonicalPage, ChunkWriter, EncodedBlock, EncodedPage, FinishedChunk, encode_page},
    id::Hash,
    schema::ColumnType,
};

/// Blocks of a chunk that is not cut yet.
#[derive(Debug, Default)]
pub(super) struct OpenChunk {
    columns: Vec<(ColumnType, Chain)>,
    hashes: Vec<Hash>,
    blocks: Vec<EncodedBlock>,
    /// Stored bytes of all blocks, of those in memory, and the file that holds the others.
    stored: usize,
    in_memory: usize,
    spilled: Option<Spilled>,
}

#[derive(Debug)]
struct Spilled {
    file: File,
    /// Rows and page lengths of each block in the file.
    blocks: Vec<(u32, Vec<usize>)>,
}

impl OpenChunk {
    /// Encodes and appends a block; the first one chooses the codec chains.
    pub(super) fn push(
        &mut self,
        preset: Preset,
        types: &[ColumnType],
        rows: u32,
        pages: &[CanonicalPage],
        hash: Hash,
    ) -> Result<Vec<u64>> {
        if self.columns.is_empty() {
            self.columns = types
                .iter()
                .zip(pages)
                .map(|(ty, page)| Ok((ty.clone(), preset.choose(ty, &page.values)?)))
                .collect::<Result<Vec<_>>>()?;
        }
        let encoded =
            self.columns.iter().zip(pages).map(|((_, chain), page)| encode_page(chain, page)).collect::<Result<Vec<_>>>()?;
        let page_bytes = encoded.iter().map(|page| page.stored_len() as u64).collect();
        let block = EncodedBlock { rows, pages: encoded };
        self.stored += block.stored_len();
        self.in_memory += block.stored_len();
        self.blocks.push(block);
        self.hashes.push(hash);
        Ok(page_bytes)
    }

    /// Whether it holds no block.
    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Encoded bytes held in memory.
    pub(super) fn in_memory(&self) -> usize {
        self.in_memory
    }

    /// Moves the blocks in memory to a temporary file.
    pub(super) fn spill(&mut self) -> Result<()> {
        let failed = |error: std::io::Error| Error::from(error).at("spilling an open chunk to a temporary file");
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => self.spilled.insert(Spilled { file: tempfile::tempfile().map_err(failed)?, blocks: Vec::new() }),
        };
        let mut out = BufWriter::new(&mut spilled.file);
        for block in self.blocks.drain(..) {
            let mut lengths = Vec::with_capacity(block.pages.len());
            for page in &block.pages {
                out.write_all(page.unsigned()).map_err(failed)?;
                lengths.push(page.unsigned().len());
            }
            spilled.blocks.push((block.rows, lengths));
        }
        out.flush().map_err(failed)?;
        drop(out);
        self.in_memory = 0;
        Ok(())
    }

    /// Closes the chunk: its bytes, its name and its logical block hashes.
    pub(super) fn finish(&mut self) -> Result<(FinishedChunk, Vec<Chain>, Vec<Hash>)> {
        let Self { columns, hashes, blocks, stored, spilled, .. } = std::mem::take(self);
        let mut chunk = ChunkWriter::new(&columns, &hashes, stored)?;
        if let Some(Spilled { mut file, blocks }) = spilled {
            let failed = |error: std::io::Error| Error::from(error).at("reading an open chunk back from its temporary file");
            file.rewind().map_err(failed)?;
            let mut file = BufReader::new(file);
            for (rows, lengths) in blocks {
                let mut pages = Vec::with_capacity(lengths.len());
                for length in lengths {
                    let mut bytes = vec![0; length];
                    file.read_exact(&mut bytes).map_err(failed)?;
                    pages.push(EncodedPage::from_unsigned(bytes));
                }
                chunk.push(&EncodedBlock { rows, pages })?;
            }
        }
        for block in blocks {
            chunk.push(&block)?;
        }
        Ok((chunk.finish(), columns.into_iter().map(|(_, chain)| chain).collect(), hashes))
    }
}
