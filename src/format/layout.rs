//! Layouts: where the blocks of a column group lie, as runs of blocks in chunks. Follows `format-spec/segment.md#layout`.
//!
//! The bytes given to [`read_layout`] already passed the BLAKE3 that the manifest holds of them.

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, RecordBatch, UInt32Array, UInt64Array,
    cast::AsArray,
    types::{UInt32Type, UInt64Type},
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ArrowReaderOptions;

use super::{
    block::{MIN_PAGE, directory_len},
    checksum::ChunkSeed,
    chunk::MAX_CHUNK,
    cursor::Cursor,
    lengths::PackedLengths,
    parquet::{batches_of, corrupt, open, writer, written},
    segment::hash_array,
};
use crate::{
    codec::Chain,
    error::{Error, Result, counted},
    id::{ChunkId, Hash},
};

/// Consecutive blocks in one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutRun {
    /// Names the chunk.
    pub chunk: ChunkId,
    /// 0 for this table's own chunks, k for the k-th of the manifest's `stores`.
    pub owner: u32,
    /// Size of the chunk.
    pub chunk_bytes: u64,
    /// Seeds the chunk's checksums.
    pub seed: ChunkSeed,
    /// The chunk's codec chain for each column of the group.
    pub chains: Arc<[Chain]>,
    /// Number within the chunk of the first block here.
    pub first_block: u32,
    /// Its offset within the chunk.
    pub first_offset: u64,
    /// Rows of all blocks here.
    pub rows: u64,
    /// Stored bytes of each block, in units of 8.
    pub lengths: PackedLengths,
    /// Rows of each block.
    pub block_rows: PackedLengths,
    /// Where the pages of each block lie, if the layout says it.
    pub pages: Option<PageLengths>,
}

/// Stored bytes of each page of each block, so that one page can be read alone (`format-spec/segment.md#page-lengths`).
///
/// One page follows from the length of its block; it is the one whose lengths vary most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLengths {
    derived: usize,
    /// In units of 8, one node for each other page.
    others: Box<[PackedLengths]>,
}

impl PageLengths {
    /// Whether pages are worth their lengths: blocks of 16 KiB and pages of 1 KiB, on average (`format-spec/segment.md#page-lengths`).
    pub fn pay(pages: usize, blocks: u64, stored_bytes: u64) -> bool {
        pages > 1 && stored_bytes >= blocks.saturating_mul((16 << 10).max((pages as u64) << 10))
    }

    /// Of blocks whose pages have these stored bytes, divided by 8; `None` where a block has fewer than two pages.
    pub fn of(blocks: &[Vec<u32>]) -> Option<Self> {
        let pages = blocks.first().map_or(0, Vec::len);
        if pages < 2 || blocks.iter().any(|block| block.len() != pages) {
            return None;
        }
        let nodes = (0..pages).map(|page| {
            let lengths: Vec<u32> = blocks.iter().filter_map(|block| block.get(page).copied()).collect();
            let mut node = Vec::new();
            PackedLengths::write(&lengths, &mut node);
            PackedLengths::from_bytes(&node, lengths.len()).ok()
        });
        let mut others = nodes.collect::<Option<Vec<_>>>()?;
        let widest = others.iter().map(PackedLengths::width).max()?;
        let derived = others.iter().position(|node| node.width() == widest)?;
        others.remove(derived);
        Some(Self { derived, others: others.into() })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(u16::try_from(self.derived).unwrap_or(u16::MAX).to_le_bytes());
        for node in &self.others {
            PackedLengths::write(&node.iter().collect::<Vec<_>>(), out);
        }
    }

    fn read(bytes: &[u8], columns: usize, blocks: usize) -> Result<Option<Self>> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut cursor = Cursor::new(bytes, "page lengths");
        let derived = usize::from(cursor.u16()?);
        if columns < 2 || derived >= columns {
            return Err(corrupt(format!("page lengths without those of page {derived} of {columns}")));
        }
        let others = (1..columns).map(|_| PackedLengths::read(&mut cursor, blocks)).collect::<Result<_>>()?;
        cursor.end()?;
        Ok(Some(Self { derived, others }))
    }

    /// Where in its block of `length` eights the page lies, in eights; `None` where the pages do not fit the block.
    fn page(&self, block: usize, length: u32, page: usize) -> Option<Range<u64>> {
        let directory = directory_len(self.others.len() + 1) as u64 / 8;
        let known: u64 = self.others.iter().map(|node| u64::from(node.get(block))).sum();
        let derived = u64::from(length).checked_sub(directory)?.checked_sub(known)?;
        let before = self.others.iter().take(page - usize::from(page > self.derived));
        let start = directory + before.map(|node| u64::from(node.get(block))).sum::<u64>();
        let start = if page > self.derived { start + derived } else { start };
        let len = match page.cmp(&self.derived) {
            std::cmp::Ordering::Equal => derived,
            std::cmp::Ordering::Less => u64::from(self.others.get(page)?.get(block)),
            std::cmp::Ordering::Greater => u64::from(self.others.get(page - 1)?.get(block)),
        };
        Some(start..start + len)
    }

    /// Whether the pages fit their blocks. Nodes of equal lengths are looked at once and not for each block: they take five
    /// bytes for any number of blocks, and a group may have tens of thousands.
    fn fit(&self, lengths: &PackedLengths) -> bool {
        let least = MIN_PAGE as u64 / 8;
        let (equal, varying): (Vec<_>, Vec<_>) = self.others.iter().partition(|node| node.width() == 0);
        let equal: u64 = equal.iter().map(|node| u64::from(node.least())).sum();
        let all = directory_len(self.others.len() + 1) as u64 / 8 + equal + least;
        let fits = |block, length| {
            let known: u64 = varying.iter().map(|node| u64::from(node.get(block))).sum();
            all + known <= u64::from(length)
        };
        self.others.iter().all(|node| u64::from(node.least()) >= least)
            && match varying.is_empty() {
                true => all <= u64::from(lengths.least()),
                false => lengths.iter().enumerate().all(|(block, length)| fits(block, length)),
            }
    }
}

impl LayoutRun {
    /// Stored bytes of all blocks here.
    pub fn stored_bytes(&self) -> u64 {
        self.lengths.sum().saturating_mul(8)
    }

    /// Where a page lies in the chunk, if the layout says it.
    pub fn page_range(&self, block: usize, page: usize) -> Option<Range<u64>> {
        let start = self.first_offset + 8 * self.lengths.sum_of_first(block);
        let page = self.pages.as_ref()?.page(block, self.lengths.get(block), page)?;
        Some(start + 8 * page.start..start + 8 * page.end)
    }

    /// Some neighbouring blocks of the run, as a run.
    ///
    /// # Errors
    /// `Internal` for blocks that it does not have, or none.
    pub fn slice(&self, blocks: Range<usize>) -> Result<Self> {
        let outside = || Error::internal(format!("blocks {blocks:?} of a run of {}", self.lengths.len()));
        if blocks.is_empty() || blocks.end > self.lengths.len() {
            return Err(outside());
        }
        let part = |node: &PackedLengths| {
            let numbers: Vec<u32> = blocks.clone().map(|block| node.get(block)).collect();
            let mut bytes = Vec::new();
            PackedLengths::write(&numbers, &mut bytes);
            PackedLengths::from_bytes(&bytes, numbers.len())
        };
        let pages = self.pages.as_ref().map(|_| {
            let eights = |block, page| {
                let range = self.page_range(block, page)?;
                u32::try_from((range.end - range.start) / 8).ok()
            };
            let of_block = |block| (0..self.chains.len()).map(|page| eights(block, page)).collect::<Option<Vec<u32>>>();
            blocks.clone().map(of_block).collect::<Option<Vec<_>>>()
        });
        let block_rows = part(&self.block_rows)?;
        Ok(Self {
            first_block: self.first_block + u32::try_from(blocks.start).map_err(|_| outside())?,
            first_offset: self.first_offset + 8 * self.lengths.sum_of_first(blocks.start),
            rows: block_rows.sum(),
            lengths: part(&self.lengths)?,
            block_rows,
            pages: pages.flatten().as_deref().and_then(PageLengths::of),
            chains: Arc::clone(&self.chains),
            ..*self
        })
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let pages = self.pages.iter().flat_map(|pages| &pages.others).map(|node| size_of::<PackedLengths>() + node.heap_bytes());
        self.lengths.heap_bytes() + self.block_rows.heap_bytes() + pages.sum::<usize>()
    }

    fn check(&self, columns: usize) -> Result<()> {
        let end = self.stored_bytes().checked_add(self.first_offset);
        let sound = self.block_rows.sum() == self.rows
            && self.rows > 0
            && self.block_rows.all_within(1..=u32::MAX)
            && self.lengths.all_within(1..=1 << 27)
            && end.is_some_and(|end| end <= self.chunk_bytes)
            && self.chunk_bytes <= MAX_CHUNK as u64
            && self.first_offset.is_multiple_of(8)
            && self.first_block.checked_add(u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)).is_some()
            && self.chains.len() == columns
            && self.pages.as_ref().is_none_or(|pages| pages.others.len() + 1 == columns && pages.fit(&self.lengths));
        sound.then_some(()).ok_or_else(|| {
            corrupt(format!(
                "run of chunk {}: {} from block {} at {} in {}, {}, {} for {}: does not add up",
                self.chunk,
                counted(self.lengths.len(), "block"),
                self.first_block,
                self.first_offset,
                counted(self.chunk_bytes, "byte"),
                counted(self.rows, "row"),
                counted(self.chains.len(), "chain"),
                counted(columns, "column")
            ))
        })
    }
}

/// The columns of a layout, its byte arrays as `binary`.
fn layout_arrow_schema(binary: &DataType) -> SchemaRef {
    let field = |name: &str, ty| Field::new(name, ty, false);
    Arc::new(ArrowSchema::new(vec![
        field("chunk", DataType::FixedSizeBinary(32)),
        field("owner", DataType::UInt32),
        field("chunk_bytes", DataType::UInt64),
        field("seed", DataType::UInt64),
        field("chains", binary.clone()),
        field("first_block", DataType::UInt32),
        field("blocks", DataType::UInt32),
        field("first_offset", DataType::UInt64),
        field("rows", DataType::UInt64),
        field("lengths", binary.clone()),
        field("block_rows", binary.clone()),
        field("page_lengths", binary.clone()),
    ]))
}

/// Writes layout segments.
pub struct LayoutWriter;

impl LayoutWriter {
    /// The layout segment of these runs.
    ///
    /// # Errors
    /// `Internal` where Parquet refuses, which it does not for runs that were checked.
    pub fn write(runs: &[LayoutRun]) -> Result<Vec<u8>> {
        let node = |lengths: &PackedLengths| {
            let mut out = Vec::with_capacity(lengths.stored_bytes());
            PackedLengths::write(&lengths.iter().collect::<Vec<_>>(), &mut out);
            out
        };
        let chains = |run: &LayoutRun| {
            let mut out = Vec::new();
            run.chains.iter().for_each(|chain| chain.write(&mut out));
            out
        };
        let pages = |run: &LayoutRun| {
            let mut out = Vec::new();
            run.pages.iter().for_each(|pages| pages.write(&mut out));
            out
        };
        let binary = |items: Vec<Vec<u8>>| Arc::new(BinaryArray::from_iter_values(items)) as ArrayRef;
        let u32s = |f: &dyn Fn(&LayoutRun) -> u32| Arc::new(UInt32Array::from_iter_values(runs.iter().map(f))) as ArrayRef;
        let u64s = |f: &dyn Fn(&LayoutRun) -> u64| Arc::new(UInt64Array::from_iter_values(runs.iter().map(f))) as ArrayRef;
        let columns: Vec<ArrayRef> = vec![
            hash_array(runs.iter().map(|run| run.chunk.0))?,
            u32s(&|run| run.owner),
            u64s(&|run| run.chunk_bytes),
            u64s(&|run| run.seed.0),
            binary(runs.iter().map(chains).collect()),
            u32s(&|run| run.first_block),
            u32s(&|run| u32::try_from(run.lengths.len()).unwrap_or(u32::MAX)),
            u64s(&|run| run.first_offset),
            u64s(&|run| run.rows),
            binary(runs.iter().map(|run| node(&run.lengths)).collect()),
            binary(runs.iter().map(|run| node(&run.block_rows)).collect()),
            binary(runs.iter().map(pages).collect()),
        ];
        let schema = layout_arrow_schema(&DataType::Binary);
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|error| Error::internal(error.to_string()))?;
        let mut writer = writer(Vec::new(), schema, false, true)?;
        writer.write(&batch).map_err(written)?;
        writer.into_inner().map_err(written)
    }
}

/// Reads a layout segment of a group with `columns` columns, as far as it covers exactly `rows` rows; `stores` is how many other
/// tables its manifest names.
///
/// # Errors
/// `Corrupt` where a run does not add up or lies in a table that the manifest does not name.
pub fn read_layout(bytes: Bytes, columns: usize, rows: u64, stores: usize) -> Result<Vec<LayoutRun>> {
    let options = ArrowReaderOptions::new().with_schema(layout_arrow_schema(&DataType::BinaryView));
    let builder = open(bytes, options)?;
    let count = u64::try_from(builder.metadata().file_metadata().num_rows()).map_err(corrupt)?;
    if count > rows {
        return Err(corrupt(format!("{} for {}", counted(count, "run"), counted(rows, "row"))));
    }
    let (mut runs, mut covered) = (Vec::new(), 0_u64);
    // Most runs have the chains of others, and share them.
    let mut known: BTreeMap<Vec<u8>, Arc<[Chain]>> = BTreeMap::new();
    for batch in batches_of(builder, count)? {
        let batch = batch?;
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return Err(corrupt("a null in a layout"));
        }
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| corrupt(format!("no column `{name}`")));
        let wrong = || corrupt("a layout column of another type");
        let u32s = |name: &str| column(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(wrong);
        let u64s = |name: &str| column(name)?.as_primitive_opt::<UInt64Type>().ok_or_else(wrong);
        let binary = |name: &str| column(name)?.as_binary_view_opt().ok_or_else(wrong);
        let chunks = column("chunk")?.as_fixed_size_binary_opt().ok_or_else(wrong)?;
        let (owners, chunk_bytes, seeds, chains) = (u32s("owner")?, u64s("chunk_bytes")?, u64s("seed")?, binary("chains")?);
        let (first_blocks, blocks, offsets, run_rows) =
            (u32s("first_block")?, u32s("blocks")?, u64s("first_offset")?, u64s("rows")?);
        let (lengths, block_rows, pages) = (binary("lengths")?, binary("block_rows")?, binary("page_lengths")?);
        for row in 0..batch.num_rows() {
            // Before the blocks are looked at one by one: each has a row.
            covered = covered.checked_add(run_rows.value(row)).filter(|covered| *covered <= rows).ok_or_else(|| {
                corrupt(format!("a run of {} behind {covered}, expected {rows} in all", counted(run_rows.value(row), "row")))
            })?;
            if u64::from(blocks.value(row)) > run_rows.value(row) {
                return Err(corrupt(format!(
                    "a run of {} and {}",
                    counted(blocks.value(row), "block"),
                    counted(run_rows.value(row), "row")
                )));
            }
            let count = usize::try_from(blocks.value(row)).map_err(corrupt)?;
            let chains = match known.get(chains.value(row)) {
                Some(known) => Arc::clone(known),
                None => {
                    let parsed = read_chains(chains.value(row))?;
                    known.insert(chains.value(row).to_vec(), Arc::clone(&parsed));
                    parsed
                }
            };
            if owners.value(row) as usize > stores {
                return Err(corrupt(format!(
                    "a layout with owner {}, the manifest names {stores} other tables",
                    owners.value(row)
                )));
            }
            let run = LayoutRun {
                chunk: ChunkId(Hash::from_slice(chunks.value(row)).ok_or_else(wrong)?),
                owner: owners.value(row),
                chunk_bytes: chunk_bytes.value(row),
                seed: ChunkSeed(seeds.value(row)),
                chains,
                first_block: first_blocks.value(row),
                first_offset: offsets.value(row),
                rows: run_rows.value(row),
                lengths: PackedLengths::from_bytes(lengths.value(row), count)?,
                block_rows: PackedLengths::from_bytes(block_rows.value(row), count)?,
                pages: PageLengths::read(pages.value(row), columns, count)?,
            };
            run.check(columns)?;
            runs.push(run);
        }
    }
    if covered != rows {
        return Err(corrupt(format!("layout of {}, expected {rows}", counted(covered, "row"))));
    }
    Ok(runs)
}

fn read_chains(mut bytes: &[u8]) -> Result<Arc<[Chain]>> {
    let mut chains = Vec::new();
    while !bytes.is_empty() {
        let (chain, rest) = Chain::read(bytes)?;
        chains.push(chain);
        bytes = rest;
    }
    Ok(chains.into())
}
