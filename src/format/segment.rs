//! Segments: the index, the layouts and the hashes of up to 4 Mi rows, as Parquet. Follows `format-spec/segment.md#index`,
//! `format-spec/segment.md#layout` and `format-spec/segment.md#hashes`.
//!
//! The bytes given to the readers here already passed the BLAKE3 that the manifest holds of them.

use std::{io::Write, ops::Range, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, RecordBatch, UInt32Array, UInt64Array,
    cast::AsArray,
    types::{UInt32Type, UInt64Type},
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use bytes::Bytes;
use parquet::{
    arrow::{ArrowWriter, ProjectionMask, arrow_reader::ArrowReaderOptions},
    file::metadata::KeyValue,
};

use super::{
    block::{MIN_PAGE, directory_len},
    checksum::ChunkSeed,
    chunk::MAX_CHUNK,
    cursor::Cursor,
    lengths::PackedLengths,
    parquet::{Builder, batches_of, corrupt, open, writer, written},
};
use crate::{
    codec::Chain,
    error::{Error, Result},
    id::{ChunkId, Hash},
    schema::Schema,
};

/// Key of the sequence runs in an index segment's file metadata (`format-spec/segment.md#sequences`).
const SEQUENCES_KEY: &str = "tetrys.sequences";

/// The Arrow schema of the index columns.
pub fn index_arrow_schema(schema: &Schema) -> SchemaRef {
    Arc::new(ArrowSchema::new(schema.index().map(|column| column.ty.arrow_field(&column.name)).collect::<Vec<_>>()))
}

/// Writes an index segment batch by batch.
pub struct IndexWriter<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> IndexWriter<W> {
    /// A writer of the index columns of `schema`.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn new(out: W, schema: &Schema) -> Result<Self> {
        writer(out, index_arrow_schema(schema), true, true).map(Self)
    }

    /// Appends rows; columns as [`index_arrow_schema`] says.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(written)
    }

    /// Closes the segment with the length of each of its sequences and gives the output back.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn finish(mut self, sequences: &[u32]) -> Result<W> {
        let mut packed = (sequences.len() as u64).to_le_bytes().to_vec();
        PackedLengths::write(sequences, &mut packed);
        let hex: String = packed.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.append_key_value_metadata(KeyValue::new(SEQUENCES_KEY.to_owned(), hex));
        self.0.into_inner().map_err(written)
    }
}

/// Reads an index segment of exactly `rows` rows; every batch has the columns of [`index_arrow_schema`].
///
/// # Errors
/// `Corrupt` where the file is not the Parquet that the schema asks for.
pub fn index_reader(bytes: Bytes, schema: &Schema, rows: u64) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    batches_of(open_index(bytes, schema)?, rows)
}

/// As [`index_reader`], with some of the index columns (rising numbers); the others are not decoded.
///
/// # Errors
/// As [`index_reader`].
pub fn index_columns_reader(
    bytes: Bytes,
    schema: &Schema,
    rows: u64,
    columns: &[usize],
) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<>> {
    let builder = open_index(bytes, schema)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    batches_of(builder.with_projection(mask), rows)
}

fn open_index(bytes: Bytes, schema: &Schema) -> Result<Builder> {
    let expected = index_arrow_schema(schema);
    let builder = open(bytes, ArrowReaderOptions::new().with_schema(Arc::clone(&expected)))?;
    if builder.schema().fields().len() != expected.fields().len() {
        return Err(corrupt("columns differ from the schema's index columns"));
    }
    Ok(builder)
}

/// The length of each sequence of an index segment of `rows` rows.
///
/// # Errors
/// `Corrupt` where the runs are missing or do not add up to `rows`.
pub fn read_sequences(bytes: &Bytes, rows: u64) -> Result<PackedLengths> {
    let builder = open(bytes.clone(), ArrowReaderOptions::new())?;
    let metadata = builder.metadata().file_metadata();
    let entries = metadata.key_value_metadata().map(Vec::as_slice).unwrap_or_default();
    let hex = entries.iter().find(|entry| entry.key == SEQUENCES_KEY).and_then(|entry| entry.value.as_deref());
    let hex = hex.ok_or_else(|| corrupt(format!("no `{SEQUENCES_KEY}` in the file metadata")))?;
    // Before it is read: a count, a base and a width, and at most 32 bits a run.
    if hex.len() as u64 / 2 > rows.saturating_mul(4).saturating_add(8 + 5) {
        return Err(corrupt(format!("`{SEQUENCES_KEY}` of {} digits for {rows} rows", hex.len())));
    }
    let digit = |digit: &u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let (pairs, odd) = hex.as_bytes().as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect::<Option<Vec<u8>>>();
    let bytes = bytes.filter(|_| odd.is_empty());
    let parsed = bytes.as_deref().and_then(<[u8]>::split_first_chunk::<8>).and_then(|(count, node)| {
        let count = usize::try_from(u64::from_le_bytes(*count)).ok().filter(|count| *count as u64 <= rows)?;
        PackedLengths::from_bytes(node, count).ok()
    });
    let runs = parsed.ok_or_else(|| corrupt(format!("`{SEQUENCES_KEY}` is not a node of packed lengths")))?;
    if runs.sum() != rows || runs.iter().any(|run| run == 0) {
        return Err(corrupt(format!("sequences of {} rows in all, expected {rows}", runs.sum())));
    }
    Ok(runs)
}

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

    fn fit(&self, lengths: &PackedLengths) -> bool {
        let least = MIN_PAGE as u64 / 8;
        self.others.iter().all(|node| node.iter().all(|length| u64::from(length) >= least))
            && lengths
                .iter()
                .enumerate()
                .all(|(block, length)| self.page(block, length, self.derived).is_some_and(|page| page.end - page.start >= least))
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
                "run of chunk {}: {} blocks from block {} at {} in {} bytes, {} rows, {} chains for {columns} columns: does not add up",
                self.chunk,
                self.lengths.len(),
                self.first_block,
                self.first_offset,
                self.chunk_bytes,
                self.rows,
                self.chains.len()
            ))
        })
    }
}

fn layout_arrow_schema() -> SchemaRef {
    let field = |name: &str, ty| Field::new(name, ty, false);
    Arc::new(ArrowSchema::new(vec![
        field("chunk", DataType::FixedSizeBinary(32)),
        field("owner", DataType::UInt32),
        field("chunk_bytes", DataType::UInt64),
        field("seed", DataType::UInt64),
        field("chains", DataType::Binary),
        field("first_block", DataType::UInt32),
        field("blocks", DataType::UInt32),
        field("first_offset", DataType::UInt64),
        field("rows", DataType::UInt64),
        field("lengths", DataType::Binary),
        field("block_rows", DataType::Binary),
        field("page_lengths", DataType::Binary),
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
        let schema = layout_arrow_schema();
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
    let options = ArrowReaderOptions::new().with_schema(layout_arrow_schema());
    let builder = open(bytes, options)?;
    let count = u64::try_from(builder.metadata().file_metadata().num_rows()).map_err(corrupt)?;
    if count > rows {
        return Err(corrupt(format!("{count} runs for {rows} rows")));
    }
    let (mut runs, mut covered) = (Vec::new(), 0_u64);
    for batch in batches_of(builder, count)? {
        let batch = batch?;
        if batch.columns().iter().any(|column| column.null_count() > 0) {
            return Err(corrupt("a null in a layout"));
        }
        let column = |name: &str| batch.column_by_name(name).ok_or_else(|| corrupt(format!("no column `{name}`")));
        let wrong = || corrupt("a layout column of another type");
        let u32s = |name: &str| column(name)?.as_primitive_opt::<UInt32Type>().ok_or_else(wrong);
        let u64s = |name: &str| column(name)?.as_primitive_opt::<UInt64Type>().ok_or_else(wrong);
        let binary = |name: &str| column(name)?.as_binary_opt::<i32>().ok_or_else(wrong);
        let chunks = column("chunk")?.as_fixed_size_binary_opt().ok_or_else(wrong)?;
        let (owners, chunk_bytes, seeds, chains) = (u32s("owner")?, u64s("chunk_bytes")?, u64s("seed")?, binary("chains")?);
        let (first_blocks, blocks, offsets, run_rows) =
            (u32s("first_block")?, u32s("blocks")?, u64s("first_offset")?, u64s("rows")?);
        let (lengths, block_rows, pages) = (binary("lengths")?, binary("block_rows")?, binary("page_lengths")?);
        for row in 0..batch.num_rows() {
            // Before the blocks are looked at one by one: each has a row.
            covered = covered.checked_add(run_rows.value(row)).filter(|covered| *covered <= rows).ok_or_else(|| {
                corrupt(format!("a run of {} rows behind {covered}, expected {rows} in all", run_rows.value(row)))
            })?;
            if u64::from(blocks.value(row)) > run_rows.value(row) {
                return Err(corrupt(format!("a run of {} blocks and {} rows", blocks.value(row), run_rows.value(row))));
            }
            let count = usize::try_from(blocks.value(row)).map_err(corrupt)?;
            let mut rest = chains.value(row);
            let mut parsed = Vec::new();
            while !rest.is_empty() {
                let (chain, after) = Chain::read(rest)?;
                parsed.push(chain);
                rest = after;
            }
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
                chains: parsed.into(),
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
        return Err(corrupt(format!("layout of {covered} rows, expected {rows}")));
    }
    Ok(runs)
}

/// Writes a hashes segment.
pub struct HashesWriter<W: Write + Send>(ArrowWriter<W>);

impl<W: Write + Send> HashesWriter<W> {
    /// A writer of logical block hashes in layout order.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn new(out: W) -> Result<Self> {
        let schema = Arc::new(ArrowSchema::new(vec![Field::new("hash", DataType::FixedSizeBinary(32), false)]));
        writer(out, schema, false, false).map(Self)
    }

    /// Appends hashes.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn write(&mut self, hashes: &[Hash]) -> Result<()> {
        let column = hash_array(hashes.iter().copied())?;
        let batch = RecordBatch::try_from_iter([("hash", column)]).map_err(|error| Error::internal(error.to_string()))?;
        self.0.write(&batch).map_err(written)
    }

    /// Closes the segment and gives the output back.
    ///
    /// # Errors
    /// `Unavailable` where `out` cannot be written.
    pub fn finish(self) -> Result<W> {
        self.0.into_inner().map_err(written)
    }
}

fn hash_array(hashes: impl Iterator<Item = Hash>) -> Result<ArrayRef> {
    let bytes: Vec<u8> = hashes.flat_map(|hash| hash.0).collect();
    let array = FixedSizeBinaryArray::try_new(32, bytes.into(), None).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Arc::new(array))
}

/// Reads a hashes segment of exactly `blocks` hashes.
///
/// # Errors
/// `Corrupt` where the file is not the Parquet asked for.
pub fn read_hashes(bytes: Bytes, blocks: u64) -> Result<Vec<Hash>> {
    let builder = open(bytes, ArrowReaderOptions::new())?;
    let mut hashes = Vec::new();
    for batch in batches_of(builder, blocks)? {
        let batch = batch?;
        let column = batch.column_by_name("hash").and_then(|column| column.as_fixed_size_binary_opt());
        let column = column.ok_or_else(|| corrupt("no column `hash` of 32 bytes"))?;
        for value in column {
            hashes.push(value.and_then(Hash::from_slice).ok_or_else(|| corrupt("a hash that is not 32 bytes"))?);
        }
    }
    Ok(hashes)
}
