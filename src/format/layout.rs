//! Layouts: the positions of the blocks of a column group, as runs of blocks in chunks. Follows `format-spec/segment.md#layout`.
//!
//! The caller of [`read_layout`] has verified the bytes against the BLAKE3 in the manifest.

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
    parquet::{batches_of, corrupt, open, put_salt, writer, written},
    segment::hash_array,
};
use crate::{
    codec::Chain,
    error::{Error, Result, counted},
    id::{ChunkId, Hash, Salt},
    work::check_away,
};

/// Consecutive blocks in one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutRun {
    /// Id of the chunk.
    pub chunk: ChunkId,
    /// Owner of the chunk: 0 for this table, k for the k-th of the `stores` of the manifest.
    pub owner: u32,
    /// Size of the chunk in bytes.
    pub chunk_bytes: u64,
    /// Seed of the checksums of the chunk.
    pub seed: ChunkSeed,
    /// Codec chain of each column of the group in this chunk.
    pub chains: Arc<[Chain]>,
    /// Ordinal of the first block of the run: its number within the chunk.
    pub first_block: u32,
    /// Byte offset of the first block within the chunk.
    pub first_offset: u64,
    /// Number of rows of the run.
    pub rows: u64,
    /// Stored length of each block, in units of 8 bytes.
    pub lengths: PackedLengths,
    /// Number of rows of each block.
    pub block_rows: PackedLengths,
    /// Lengths of the pages of each block, if the layout has them.
    pub pages: Option<PageLengths>,
}

/// Stored lengths of the pages of each block, so that a reader can fetch one page alone (`format-spec/segment.md#page-lengths`).
///
/// The length of one page is derived from the length of its block: the page whose lengths vary most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLengths {
    derived: usize,
    /// Lengths in units of 8 bytes: one node for each page except the derived one.
    others: Box<[PackedLengths]>,
}

impl PageLengths {
    /// Whether page lengths are worth their space: blocks have at least 16 KiB and pages at least 1 KiB on average
    /// (`format-spec/segment.md#page-lengths`).
    pub fn pay(pages: usize, blocks: u64, stored_bytes: u64) -> bool {
        pages > 1 && stored_bytes >= blocks.saturating_mul((16 << 10).max((pages as u64) << 10))
    }

    /// Packs the page lengths of some blocks, in units of 8 bytes; `None` if a block has fewer than two pages or another number
    /// of pages than the first.
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
            return Err(corrupt(format!("page lengths: page {derived} of {columns} cannot be derived")));
        }
        let others = (1..columns).map(|_| PackedLengths::read(&mut cursor, blocks)).collect::<Result<_>>()?;
        cursor.end()?;
        Ok(Some(Self { derived, others }))
    }

    /// Returns the range of a page within its block, in units of 8 bytes; `None` if the pages do not fit the block. `length` is
    /// the length of the block in the same unit.
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

    /// Whether the pages fit their blocks. A node with equal lengths is checked once, not for each block: its five bytes may
    /// stand for any number of blocks, and a group may have tens of thousands of columns.
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
    /// Returns the stored bytes of all blocks of the run.
    pub fn stored_bytes(&self) -> u64 {
        self.lengths.sum().saturating_mul(8)
    }

    /// Returns the byte range of a page within the chunk, if the layout has page lengths.
    pub fn page_range(&self, block: usize, page: usize) -> Option<Range<u64>> {
        let start = self.first_offset + 8 * self.lengths.sum_of_first(block);
        let page = self.pages.as_ref()?.page(block, self.lengths.get(block), page)?;
        Some(start + 8 * page.start..start + 8 * page.end)
    }

    /// Returns some consecutive blocks of the run as a run of their own.
    ///
    /// # Errors
    /// - `Internal`: `blocks` is empty or exceeds the run.
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

    /// Returns the bytes that the run takes on the heap.
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
                "run of chunk {}: {} from block {} at offset {} of {}, {}, {} for {}: does not add up",
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

/// Returns the Arrow schema of a layout; `binary` is the type of its byte arrays.
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
    /// Writes the layout segment of these runs.
    ///
    /// # Errors
    /// - `Internal`: the Parquet writer fails. It does not fail for checked runs.
    pub fn write(runs: &[LayoutRun]) -> Result<Vec<u8>> {
        Self::salted(runs, Salt::NONE)
    }

    /// Writes the layout segment of these runs, with a salt.
    ///
    /// # Errors
    /// - `Internal`: the Parquet writer fails. It does not fail for checked runs.
    pub fn salted(runs: &[LayoutRun], salt: Salt) -> Result<Vec<u8>> {
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
        put_salt(&mut writer, salt);
        writer.into_inner().map_err(written)
    }
}

/// Reads a layout segment of a group with `columns` columns. The runs must cover exactly `rows` rows. `stores` is the number of
/// other tables in the manifest.
///
/// # Errors
/// - `Corrupt`: a run is inconsistent, belongs to a table that the manifest does not name, or the runs do not cover `rows` rows.
pub fn read_layout(bytes: Bytes, columns: usize, rows: u64, stores: usize) -> Result<Vec<LayoutRun>> {
    check_away(bytes.len());
    let options = ArrowReaderOptions::new().with_schema(layout_arrow_schema(&DataType::BinaryView));
    let builder = open(bytes, options)?;
    let count = u64::try_from(builder.metadata().file_metadata().num_rows()).map_err(corrupt)?;
    if count > rows {
        return Err(corrupt(format!("{} for {}", counted(count, "run"), counted(rows, "row"))));
    }
    let (mut runs, mut covered) = (Vec::new(), 0_u64);
    // Most runs have equal chains, and share them.
    let mut known: BTreeMap<Vec<u8>, Arc<[Chain]>> = BTreeMap::new();
    for batch in batches_of(builder, count)? {
        let batch = batch?;
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return Err(corrupt("a null in a layout"));
        }
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| corrupt(format!("no column `{name}`")));
        let wrong = || corrupt("a layout column has the wrong type");
        let u32s = |name: &str| column(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(wrong);
        let u64s = |name: &str| column(name)?.as_primitive_opt::<UInt64Type>().ok_or_else(wrong);
        let binary = |name: &str| column(name)?.as_binary_view_opt().ok_or_else(wrong);
        let chunks = column("chunk")?.as_fixed_size_binary_opt().ok_or_else(wrong)?;
        let (owners, chunk_bytes, seeds, chains) = (u32s("owner")?, u64s("chunk_bytes")?, u64s("seed")?, binary("chains")?);
        let (first_blocks, blocks, offsets, run_rows) =
            (u32s("first_block")?, u32s("blocks")?, u64s("first_offset")?, u64s("rows")?);
        let (lengths, block_rows, pages) = (binary("lengths")?, binary("block_rows")?, binary("page_lengths")?);
        for row in 0..batch.num_rows() {
            // Bounds the number of blocks before the blocks are read: each block has at least one row.
            covered = covered.checked_add(run_rows.value(row)).filter(|covered| *covered <= rows).ok_or_else(|| {
                corrupt(format!("a run of {} after {covered}, expected {rows} in all", counted(run_rows.value(row), "row")))
            })?;
            if u64::from(blocks.value(row)) > run_rows.value(row) {
                return Err(corrupt(format!(
                    "a run of {} and {}: each block needs a row",
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
                    "a layout run with owner {}, the manifest names {stores} other tables",
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
