//! The column groups of some rows, written side by side: flat columns in, stored chunks and layout runs out.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
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
    ahead::Ahead,
    codec::Preset,
    error::{Error, Result},
    format::{ColumnBytes, LayoutRun},
    id::Hash,
    offload::{SMALL, Stop, offload, offload_large},
    schema::{Column, ColumnType, NULLABLE, PRESET, Schema},
    store::Store,
};

/// Canonical bytes of known blocks that wait to be compared, at most, in each group.
const UNPROVEN: u64 = 8 << 20;

/// Chunks of one writer that are on their way to the store at a time: the groups of a table tend to cut theirs at the same rows.
const AT_ONCE: usize = 3;

/// Writes some column groups of consecutive rows. Chunks go to the store as they are cut, a few at a time, while the next rows are
/// taken in.
#[derive(Debug)]
pub struct GroupsWriter {
    store: Store,
    known: Option<Arc<Known>>,
    write_memory: usize,
    groups: Vec<GroupState>,
    /// The number of groups, with the one that is being written off the executor.
    count: usize,
    /// The oldest first.
    storing: VecDeque<Storing>,
}

/// A cut chunk on its way to the store.
#[derive(Debug)]
struct Storing {
    group: usize,
    bytes: usize,
    /// Its runs, and its new bytes.
    cut: Ahead<(CutChunk, u64)>,
}

#[derive(Debug)]
struct GroupState {
    writer: GroupWriter,
    adopter: Adopter,
    /// Chunks that are cut and not stored.
    cut: Vec<OpenChunk>,
    columns: Vec<Column>,
    written: WrittenGroup,
}

/// A column group that was written.
#[derive(Clone, Debug, Default)]
pub struct WrittenGroup {
    /// Where its blocks lie.
    pub runs: Vec<LayoutRun>,
    /// Their logical hashes.
    pub hashes: Vec<Hash>,
    /// Bytes of each column.
    pub columns: Vec<ColumnBytes>,
}

impl WrittenGroup {
    /// The numbers of the tables whose chunks it uses, rising, without its own.
    pub fn owners(&self) -> Vec<u32> {
        let owners: BTreeSet<u32> = self.runs.iter().map(|run| run.owner).filter(|owner| *owner > 0).collect();
        owners.into_iter().collect()
    }

    /// Stored bytes of its blocks.
    pub fn stored_bytes(&self) -> u64 {
        self.runs.iter().map(LayoutRun::stored_bytes).sum()
    }
}

impl GroupsWriter {
    /// A writer of these column groups (numbers in the schema).
    ///
    /// # Errors
    /// `Invalid` for impossible cuts, and for a column with a preset that is none.
    pub fn new(
        store: Store,
        schema: &Schema,
        groups: impl IntoIterator<Item = usize>,
        options: &WriteOptions,
        known: Option<Arc<Known>>,
    ) -> Result<Self> {
        let cuts = options.cuts.check()?;
        let groups = groups.into_iter().filter_map(|group| schema.groups().get(group)).map(|group| {
            let columns: Vec<Column> = group.columns.iter().filter_map(|id| schema.column(*id)).cloned().collect();
            let types: Vec<ColumnType> = columns.iter().map(|column| column.ty.clone()).collect();
            let presets = columns.iter().map(|column| preset_of(column, options.preset)).collect::<Result<Vec<Preset>>>()?;
            let finder = known.as_ref().and_then(|known| Finder::new(known, &types));
            Ok(GroupState {
                written: WrittenGroup { columns: vec![ColumnBytes::default(); types.len()], ..WrittenGroup::default() },
                writer: GroupWriter::new(types, presets, cuts, finder),
                adopter: Adopter::new(options.locality),
                cut: Vec::new(),
                columns,
            })
        });
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let count = groups.len();
        Ok(Self { store, groups, count, known, write_memory: options.write_memory, storing: VecDeque::new() })
    }

    /// Appends the rows of a batch, its columns found by name; `starts` says of each row whether it starts a sequence. Much is
    /// encoded off the executor.
    ///
    /// # Errors
    /// `Invalid` for missing or ill-typed columns, named, and where an earlier call was given up; errors of the store. What was
    /// written is of no use then.
    pub async fn append(&mut self, batch: &RecordBatch, starts: &[bool]) -> Result<()> {
        self.check_whole()?;
        for number in 0..self.groups.len() {
            let mut rows = BatchRows { batch: batch.clone(), starts: starts.into(), flat: None, next: 0 };
            let much = self.groups[number].bytes_of(batch) > SMALL;
            loop {
                if much {
                    // If this future is dropped, the group is lost; `check_whole` then refuses further writes.
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
                if rows.next == starts.len() {
                    break;
                }
            }
        }
        self.keep_within_memory().await
    }

    fn check_whole(&self) -> Result<()> {
        match self.groups.len() == self.count {
            true => Ok(()),
            false => Err(Error::invalid("a write was given up before its end; write these rows again from the start")),
        }
    }

    /// Ends the open blocks and chunks and gives every group, and what did not have to be stored.
    ///
    /// # Errors
    /// As [`GroupsWriter::append`].
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

    /// Whether the last row ended a block in every group.
    pub fn is_between_blocks(&self) -> bool {
        self.groups.iter().all(|group| group.writer.is_between_blocks())
    }

    /// Ends the open block of every group: the rows behind it belong to a block that is there.
    ///
    /// # Errors
    /// As [`GroupsWriter::append`]. A chunk that this cuts off is stored with the next row.
    pub fn end_block(&mut self) -> Result<()> {
        for group in &mut self.groups {
            group.writer.end_open_block(&mut group.cut)?;
        }
        Ok(())
    }

    async fn prove(&mut self, number: usize) -> Result<()> {
        let Some(known) = &self.known else { return Ok(()) };
        let GroupState { writer, adopter, .. } = &mut self.groups[number];
        let (types, presets) = writer.types();
        let (types, presets) = (types.to_vec(), presets.to_vec());
        adopter.prove(known, writer.open(), &types, &presets).await
    }

    async fn store_cut(&mut self, number: usize) -> Result<()> {
        for mut chunk in std::mem::take(&mut self.groups[number].cut) {
            let GroupState { writer, adopter, .. } = &mut self.groups[number];
            let (types, presets) = writer.types();
            let (work, own) = (chunk.stored().max(chunk.canonical()), presets.to_vec());
            chunk = offload_large(work, move |stop| chunk.choose_again(&own, stop).map(|()| chunk)).await?;
            adopter.settle(self.known.as_deref(), &mut chunk, types, presets).await?;
            let (columns, bytes, store) = (types.len(), chunk.stored(), self.store.clone());
            while self.storing.len() >= AT_ONCE || (!self.storing.is_empty() && self.storing() + bytes > self.write_memory) {
                self.stored().await?;
            }
            let cut = Ahead::start(async move {
                let mut cut = offload_large(bytes, move |_| chunk.finish(columns)).await?;
                let mut new_bytes = 0;
                if let Some(chunk) = &mut cut.chunk {
                    new_bytes = chunk.bytes.len() as u64;
                    store.put_content(&chunk.id.object_name(), std::mem::take(&mut chunk.bytes).into()).await?;
                }
                Ok((cut, new_bytes))
            });
            self.storing.push_back(Storing { group: number, bytes, cut: cut.await });
        }
        Ok(())
    }

    /// Bytes of the chunks on their way.
    fn storing(&self) -> usize {
        self.storing.iter().map(|storing| storing.bytes).sum()
    }

    /// The oldest chunk on its way is stored.
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
        loop {
            let storing = self.storing();
            let open = self.groups.iter().map(|group| group.writer.in_memory()).sum::<usize>();
            if open + storing <= self.write_memory {
                return Ok(());
            }
            if storing > 0 {
                self.stored().await?;
                continue;
            }
            let Some(largest) = self.groups.iter_mut().max_by_key(|group| group.writer.in_memory()) else { return Ok(()) };
            largest.writer.spill()?;
        }
    }
}

/// The rows of a batch on their way into a group.
struct BatchRows {
    batch: RecordBatch,
    starts: Arc<[bool]>,
    flat: Option<Vec<FlatColumn>>,
    next: usize,
}

impl GroupState {
    /// Takes rows in until a chunk is cut, much waits to be compared, or the batch ends.
    fn take_in(&mut self, rows: &mut BatchRows, stop: &Stop) -> Result<()> {
        let flat = match rows.flat.take() {
            Some(flat) => flat,
            None => self.flatten(&rows.batch)?,
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

    /// Bytes of its columns in a batch.
    fn bytes_of(&self, batch: &RecordBatch) -> usize {
        let columns = self.columns.iter().filter_map(|column| batch.column_by_name(&column.name));
        columns.map(slice_bytes).fold(0, usize::saturating_add)
    }

    fn flatten(&self, batch: &RecordBatch) -> Result<Vec<FlatColumn>> {
        let flat = self.columns.iter().map(|described| {
            let Column { name, ty, .. } = described;
            let column = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")))?;
            check_nulls(described, column)?;
            FlatColumn::new(ty, column).map_err(|error| error.at(format!("column `{name}`")))
        });
        flat.collect()
    }
}

/// Bytes of the values of an array, without those that lie outside its slice: the offsets of a list say which items are its own.
fn slice_bytes(array: &ArrayRef) -> usize {
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

/// The preset of a column: its own where it has one.
fn preset_of(column: &Column, preset: Preset) -> Result<Preset> {
    let Some(own) = column.properties.get(PRESET) else { return Ok(preset) };
    let named = own.as_str().map_or_else(|| Err(Error::invalid(format!("{own}: expected text"))), str::parse);
    named.map_err(|error: Error| error.at(format!("column `{}`: its property `{PRESET}`", column.name)))
}

/// A column that is declared without nulls has none.
///
/// # Errors
/// `Invalid` naming column and row.
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
