//! Writes several column groups of the same rows side by side. Takes record batches; stores chunks and returns layout runs.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, cast::AsArray};
use arrow_schema::DataType;

use super::{
    adopt::Adopter,
    chunk::{CutChunk, OpenChunk},
    flat::FlatColumn,
    group::GroupWriter,
    known::{Finder, Known},
    options::WriteOptions,
    receipt::Sharing,
};
use crate::{
    codec::{Chooser, Medium, Preset},
    error::{Error, Result},
    format::{ColumnBytes, LayoutRun},
    id::Hash,
    schema::{Column, ColumnType, NULLABLE, PRESET, Schema},
    store::Store,
    work::{Ahead, SMALL, Stop, offload, offload_large},
};

/// Maximum canonical bytes of known blocks that wait for comparison, in each group.
const UNPROVEN: u64 = 8 << 20;

/// Maximum number of chunks that one writer uploads at a time. The groups of a table tend to end their chunks at the same rows.
const AT_ONCE: usize = 3;
/// Maximum number of uploads at a time while all of them together have at most [`SMALL_CHUNKS`] bytes: a table of many column groups
/// may end thousands of small chunks together.
const SMALL_AT_ONCE: usize = 32;
/// Bytes of so many small chunks.
const SMALL_CHUNKS: usize = 4 << 20;

/// Writes some column groups of consecutive rows. Uploads a few chunks at a time while it takes in further rows.
#[derive(Debug)]
pub struct GroupsWriter {
    store: Store,
    known: Option<Arc<Known>>,
    write_memory: usize,
    groups: Vec<GroupState>,
    /// Number of groups, including a group that another thread is working on.
    count: usize,
    /// Uploads in progress, the oldest first.
    storing: VecDeque<Storing>,
}

/// A finished chunk that is being uploaded.
#[derive(Debug)]
struct Storing {
    group: usize,
    bytes: usize,
    /// Bytes of its blocks that are in memory beside these bytes: while the chunk is put together.
    copied: Arc<AtomicUsize>,
    /// The finished chunk, and its newly stored bytes.
    cut: Ahead<(CutChunk, u64)>,
}

#[derive(Debug)]
struct GroupState {
    writer: GroupWriter,
    adopter: Adopter,
    /// Finished chunks that are not uploaded yet.
    cut: Vec<OpenChunk>,
    columns: Vec<Column>,
    written: WrittenGroup,
}

/// Result of writing one column group.
#[derive(Clone, Debug, Default)]
pub struct WrittenGroup {
    /// Layout runs of its blocks.
    pub runs: Vec<LayoutRun>,
    /// Logical hashes of its blocks.
    pub hashes: Vec<Hash>,
    /// Stored and logical bytes of each column.
    pub columns: Vec<ColumnBytes>,
}

impl WrittenGroup {
    /// Returns the numbers of the other tables whose chunks the group uses, in ascending order.
    pub fn owners(&self) -> Vec<u32> {
        let owners: BTreeSet<u32> = self.runs.iter().map(|run| run.owner).filter(|owner| *owner > 0).collect();
        owners.into_iter().collect()
    }

    /// Returns the stored bytes of its blocks.
    pub fn stored_bytes(&self) -> u64 {
        self.runs.iter().map(LayoutRun::stored_bytes).sum()
    }
}

impl GroupsWriter {
    /// Creates a writer of some column groups, given by their positions in the schema.
    ///
    /// # Errors
    /// - `Invalid`: the cut limits are impossible, or a column names a preset that does not exist.
    pub fn new(
        store: Store,
        schema: &Schema,
        groups: impl IntoIterator<Item = usize>,
        options: &WriteOptions,
        known: Option<Arc<Known>>,
    ) -> Result<Self> {
        let cuts = options.cuts.check()?;
        let medium = if store.is_local() { Medium::Disk } else { Medium::ObjectStore };
        let groups = groups.into_iter().filter_map(|group| schema.groups().get(group)).map(|group| {
            let columns: Vec<Column> = group.columns.iter().filter_map(|id| schema.column(*id)).cloned().collect();
            let types: Vec<ColumnType> = columns.iter().map(|column| column.ty.clone()).collect();
            let chooser = |column| Ok(preset_of(column, options.preset)?.on(medium));
            let choosers = columns.iter().map(chooser).collect::<Result<Vec<Chooser>>>()?;
            let finder = known.as_ref().and_then(|known| Finder::new(known, &types));
            Ok(GroupState {
                written: WrittenGroup { columns: vec![ColumnBytes::default(); types.len()], ..WrittenGroup::default() },
                writer: GroupWriter::new(types, choosers, cuts, finder, options.share_repeats),
                adopter: Adopter::new(options.locality),
                cut: Vec::new(),
                columns,
            })
        });
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let count = groups.len();
        Ok(Self { store, groups, count, known, write_memory: options.write_memory, storing: VecDeque::new() })
    }

    /// Appends the rows of a batch, whose columns are found by name. `starts` says for each row whether it starts a sequence.
    /// Other threads encode large batches.
    ///
    /// # Errors
    /// The rows written so far are useless after an error.
    /// - `Invalid`: a column is missing, of a wrong type, or null where nulls are not allowed; an earlier call was dropped before
    ///   its end.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    /// - Errors of the store.
    pub async fn append(&mut self, batch: &RecordBatch, starts: &[bool]) -> Result<()> {
        self.check_whole()?;
        let (named, starts): (_, Arc<[bool]>) = (ByName::new(batch), starts.into());
        for number in 0..self.groups.len() {
            let columns = self.groups[number].columns_of(&named)?;
            let much = columns.iter().map(slice_bytes).fold(0, usize::saturating_add) > SMALL;
            let mut rows = BatchRows { columns, starts: Arc::clone(&starts), flat: None, next: 0 };
            loop {
                if much {
                    // If this future is dropped, the group is lost. `check_whole` then refuses further writes.
                    let mut group = self.groups.remove(number);
                    let (group, taken) = offload(move |stop| {
                        group.take_in(&mut rows, stop)?;
                        Ok((group, rows))
                    })
                    .await?;
                    self.groups.insert(number, group);
                    rows = taken;
                } else {
                    self.groups[number].take_in(&mut rows, &Stop::default())?;
                }
                if !self.groups[number].cut.is_empty() {
                    self.store_cut(number).await?;
                }
                if self.groups[number].writer.open().unproven() > UNPROVEN {
                    self.prove(number).await?;
                }
                self.keep_within_memory().await?;
                if rows.next == starts.len() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn check_whole(&self) -> Result<()> {
        match self.groups.len() == self.count {
            true => Ok(()),
            false => Err(Error::invalid("an earlier write was dropped before its end; write these rows again from the start")),
        }
    }

    /// Ends the open blocks and chunks. Returns the written groups, and how many blocks were shared.
    ///
    /// # Errors
    /// - `Invalid`: an earlier call was dropped before its end, or a value cannot be stored.
    /// - Errors of the store.
    pub async fn finish(mut self) -> Result<(Vec<WrittenGroup>, Sharing)> {
        self.check_whole()?;
        for number in 0..self.groups.len() {
            let group = &mut self.groups[number];
            group.writer.finish(&mut group.cut)?;
            self.store_cut(number).await?;
        }
        while !self.storing.is_empty() {
            self.stored().await?;
        }
        let mut sharing = Sharing::default();
        let mut written = Vec::new();
        for mut group in self.groups {
            for (column, logical) in group.written.columns.iter_mut().zip(group.writer.logical()) {
                column.logical = *logical;
            }
            sharing = sharing.and(group.adopter.sharing);
            written.push(group.written);
        }
        Ok((written, sharing))
    }

    /// Whether the open block of every group is empty.
    pub fn is_between_blocks(&self) -> bool {
        self.groups.iter().all(|group| group.writer.is_between_blocks())
    }

    /// Ends the open block of every group, because a block that is stored already holds the rows that follow. A chunk that ends
    /// here is uploaded with the next row.
    ///
    /// # Errors
    /// - `Invalid`: a value cannot be stored.
    pub fn end_block(&mut self) -> Result<()> {
        for group in &mut self.groups {
            group.writer.end_open_block(&mut group.cut)?;
        }
        Ok(())
    }

    async fn prove(&mut self, number: usize) -> Result<()> {
        let Some(known) = &self.known else { return Ok(()) };
        let GroupState { writer, adopter, .. } = &mut self.groups[number];
        let (types, choosers) = writer.types();
        let (types, choosers) = (types.to_vec(), choosers.to_vec());
        adopter.prove(known, writer.open(), &types, &choosers).await
    }

    async fn store_cut(&mut self, number: usize) -> Result<()> {
        for mut chunk in std::mem::take(&mut self.groups[number].cut) {
            let GroupState { writer, adopter, .. } = &mut self.groups[number];
            let (types, choosers) = writer.types();
            let (work, own) = (chunk.stored().max(chunk.canonical()), choosers.to_vec());
            chunk = offload_large(work, move |stop| chunk.choose_again(&own, stop).map(|()| chunk)).await?;
            adopter.settle(self.known.as_deref(), &mut chunk, types, choosers).await?;
            let (columns, bytes, store) = (types.len(), chunk.stored(), self.store.clone());
            let copied = Arc::new(AtomicUsize::new(chunk.in_memory()));
            while self.is_storing_many(bytes) || !self.is_within_memory(bytes, chunk.in_memory()) {
                if !self.storing.is_empty() {
                    self.stored().await?;
                } else if !self.spill_largest()? {
                    break;
                }
            }
            let copies = Arc::clone(&copied);
            let cut = Ahead::start(async move {
                let salt = store.salt();
                let mut cut = offload_large(bytes, move |_| chunk.finish(columns, salt)).await?;
                copies.store(0, Ordering::Relaxed);
                let mut new_bytes = 0;
                if let Some(chunk) = &mut cut.chunk {
                    new_bytes = chunk.bytes.len() as u64;
                    store.put_content(&chunk.id.object_name(), std::mem::take(&mut chunk.bytes).into()).await?;
                }
                Ok((cut, new_bytes))
            });
            self.storing.push_back(Storing { group: number, bytes, copied, cut: cut.await });
        }
        Ok(())
    }

    /// Whether a chunk of so many bytes waits until another upload ends, because there are many.
    fn is_storing_many(&self, bytes: usize) -> bool {
        let storing: usize = self.storing.iter().map(|storing| storing.bytes).sum();
        let many = if storing + bytes <= SMALL_CHUNKS { SMALL_AT_ONCE } else { AT_ONCE };
        self.storing.len() >= many
    }

    /// Whether the open chunks, those that are being uploaded, and another one of `more` bytes are within the bound of memory. While a chunk
    /// is put together, `copied` bytes of its blocks are in memory too: a quarter of the bound is for these.
    fn is_within_memory(&self, more: usize, copied: usize) -> bool {
        let open = self.groups.iter().map(|group| group.writer.in_memory()).sum::<usize>();
        let total = self.storing.iter().map(|storing| storing.bytes).fold(open.saturating_add(more), usize::saturating_add);
        let copied =
            self.storing.iter().map(|storing| storing.copied.load(Ordering::Relaxed)).fold(copied, usize::saturating_add);
        total <= self.write_memory && total.saturating_add(copied) <= self.write_memory.saturating_add(self.write_memory / 4)
    }

    /// Moves the largest open chunk to its temporary file. Returns false if no open chunk is in memory.
    fn spill_largest(&mut self) -> Result<bool> {
        let Some(largest) = self.groups.iter_mut().max_by_key(|group| group.writer.in_memory()) else { return Ok(false) };
        if largest.writer.in_memory() == 0 {
            return Ok(false);
        }
        largest.writer.spill()?;
        Ok(true)
    }

    /// Waits for the oldest upload and records its result.
    async fn stored(&mut self) -> Result<()> {
        let Some(Storing { group, cut, .. }) = self.storing.pop_front() else { return Ok(()) };
        let (cut, new_bytes) = cut.done().await?;
        let GroupState { adopter, written, .. } = &mut self.groups[group];
        adopter.count(&cut, new_bytes);
        written.runs.extend(cut.runs);
        written.hashes.extend(cut.hashes);
        written.columns.iter_mut().zip(cut.stored).for_each(|(column, stored)| column.stored += stored);
        Ok(())
    }

    async fn keep_within_memory(&mut self) -> Result<()> {
        while !self.is_within_memory(0, 0) {
            if !self.storing.is_empty() {
                self.stored().await?;
            } else if !self.spill_largest()? {
                break;
            }
        }
        Ok(())
    }
}

/// The columns of a batch by their names. Of columns with one name, the first.
pub(super) struct ByName<'a>(HashMap<&'a str, &'a ArrayRef>);

impl<'a> ByName<'a> {
    pub(super) fn new(batch: &'a RecordBatch) -> Self {
        let fields = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
        // The first column of a name is inserted last.
        Self(fields.zip(batch.columns()).rev().collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a ArrayRef> {
        self.0.get(name).copied()
    }
}

/// The columns of a group in a batch, and how many of its rows the group has taken in.
struct BatchRows {
    columns: Vec<ArrayRef>,
    starts: Arc<[bool]>,
    flat: Option<Vec<FlatColumn>>,
    next: usize,
}

impl GroupState {
    /// Takes in rows until a chunk ends, too many bytes wait for comparison, or the batch ends.
    fn take_in(&mut self, rows: &mut BatchRows, stop: &Stop) -> Result<()> {
        let flat = match rows.flat.take() {
            Some(flat) => flat,
            None => self.flatten(&rows.columns)?,
        };
        while let Some(starts) = rows.starts.get(rows.next) {
            stop.check()?;
            self.writer.push(&flat, rows.next, *starts, &mut self.cut)?;
            rows.next += 1;
            if !self.cut.is_empty() || self.writer.open().unproven() > UNPROVEN {
                break;
            }
        }
        rows.flat = Some(flat);
        Ok(())
    }

    /// Returns this group's columns in a batch.
    fn columns_of(&self, named: &ByName<'_>) -> Result<Vec<ArrayRef>> {
        let column = |name: &String| named.get(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")));
        self.columns.iter().map(|described| column(&described.name).cloned()).collect()
    }

    fn flatten(&self, columns: &[ArrayRef]) -> Result<Vec<FlatColumn>> {
        let flat = self.columns.iter().zip(columns).map(|(described, column)| {
            let Column { name, ty, .. } = described;
            check_nulls(described, column)?;
            FlatColumn::new(ty, column).map_err(|error| error.at(format!("column `{name}`")))
        });
        flat.collect()
    }
}

/// Returns the bytes of the values in an array's slice. For a list, only the items between its first and last offset count.
pub(crate) fn slice_bytes(array: &ArrayRef) -> usize {
    fn items<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
        let (first, last) = (list.value_offsets()[0].as_usize(), list.value_offsets()[list.len()].as_usize());
        size_of_val(list.value_offsets()) + slice_bytes(&list.values().slice(first, last - first))
    }
    match array.data_type() {
        DataType::List(_) => items(array.as_list::<i32>()),
        DataType::LargeList(_) => items(array.as_list::<i64>()),
        DataType::FixedSizeList(..) => slice_bytes(array.as_fixed_size_list().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(slice_bytes).fold(0, usize::saturating_add),
        _ => array.to_data().get_slice_memory_size().unwrap_or(usize::MAX),
    }
}

/// Returns the preset of a column: its own one if it has the property, else `preset`.
fn preset_of(column: &Column, preset: Preset) -> Result<Preset> {
    let Some(own) = column.properties.get(PRESET) else { return Ok(preset) };
    let named = own.as_str().map_or_else(|| Err(Error::invalid(format!("{own}: expected text"))), str::parse);
    named.map_err(|error: Error| error.at(format!("column `{}`: its property `{PRESET}`", column.name)))
}

/// Checks that a column that is declared without nulls has none.
///
/// # Errors
/// - `Invalid`: a row is null. The message names the column and the row.
pub(super) fn check_nulls(described: &Column, column: &ArrayRef) -> Result<()> {
    if described.is_nullable() {
        return Ok(());
    }
    let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    match nulls.and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
        Some(row) => Err(Error::invalid(format!(
            "column `{}`: row {row} of the batch is null, and the column is declared without nulls (property `{NULLABLE}`)",
            described.name
        ))),
        None => Ok(()),
    }
}
