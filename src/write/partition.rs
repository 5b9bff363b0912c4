//! One partition: rows written independently of all others, by one worker, ending in a receipt.

use std::{fs::File, io::Read, io::Seek, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, cast::AsArray};
use arrow_schema::DataType;
use arrow_select::take::take;
use uuid::Uuid;

use super::{
    flat::FlatColumn,
    group::{CutChunk, GroupWriter},
    receipt::{PartGroup, PartObjects, Receipt},
};
use crate::{
    codec::Preset,
    error::{Error, Result},
    format::{Cuts, HashesWriter, IndexWriter, LayoutRun, LayoutWriter, MAX_SEGMENT_ROWS, SequenceTracker, index_arrow_schema},
    id::{Hash, ObjectRef},
    schema::{Column, ColumnType, Schema},
    store::Store,
};

/// How rows are stored.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// Chooses the codec chains.
    pub preset: Preset,
    /// Where rows are cut into blocks and blocks into chunks.
    pub cuts: Cuts,
    /// Encoded bytes that one partition writer holds in memory before it spills to a temporary file; while a chunk is being
    /// uploaded its own bytes come on top.
    pub write_memory: usize,
    /// Rows of an index segment, at most (and 4,194,304 at most); a segment takes whole partitions, at least one.
    pub segment_rows: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { preset: Preset::default(), cuts: Cuts::default(), write_memory: 512 << 20, segment_rows: MAX_SEGMENT_ROWS }
    }
}

/// Writes one partition.
///
/// A partition is cut at its ends: its rows share no block and no chunk with another one's.
#[derive(Debug)]
pub struct PartitionWriter {
    store: Store,
    session: Uuid,
    number: u32,
    schema: Arc<Schema>,
    write_memory: usize,
    groups: Vec<GroupState>,
    index: IndexPart,
    rows: u64,
    /// False from the start of a write to its end: one that failed, or was dropped half-way, left some columns ahead of others.
    whole: bool,
}

#[derive(Debug)]
struct GroupState {
    writer: GroupWriter,
    columns: Vec<(String, ColumnType)>,
    runs: Vec<LayoutRun>,
    hashes: Vec<Hash>,
}

/// The index columns on their way to Parquet, in a temporary file: memory holds one row group.
struct IndexPart {
    writer: IndexWriter<File>,
    tracker: SequenceTracker,
    sequences: Vec<u32>,
}

impl std::fmt::Debug for IndexPart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexPart").field("sequences", &self.sequences.len()).finish_non_exhaustive()
    }
}

impl PartitionWriter {
    pub(crate) fn new(store: Store, session: Uuid, number: u32, schema: Arc<Schema>, options: &WriteOptions) -> Result<Self> {
        let cuts = options.cuts.check()?;
        let groups = schema
            .groups()
            .iter()
            .map(|group| {
                let columns: Vec<_> = group
                    .columns
                    .iter()
                    .filter_map(|id| schema.column(*id))
                    .map(|column| (column.name.clone(), column.ty.clone()))
                    .collect();
                let types = columns.iter().map(|(_, ty)| ty.clone()).collect();
                GroupState {
                    writer: GroupWriter::new(types, options.preset, cuts),
                    columns,
                    runs: Vec::new(),
                    hashes: Vec::new(),
                }
            })
            .collect();
        let file = tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for the index"))?;
        let index =
            IndexPart { writer: IndexWriter::new(file, &schema)?, tracker: SequenceTracker::new(&schema), sequences: Vec::new() };
        Ok(Self { store, session, number, schema, write_memory: options.write_memory, groups, index, rows: 0, whole: true })
    }

    /// The partition's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Appends rows: a column for every index and group column of the schema, found by name, in any order.
    ///
    /// # Errors
    /// `Invalid` for missing, unknown or ill-typed columns (named), a sequence that comes back, an order that falls; errors of
    /// the store. After an error the partition cannot be finished.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        self.whole = false;
        self.append(batch).await?;
        self.whole = true;
        Ok(())
    }

    async fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        let place = |error: Error| error.at(format!("partition {}, rows from {}", self.number, self.rows));
        if self.rows + batch.num_rows() as u64 > MAX_SEGMENT_ROWS {
            return Err(Error::invalid(format!("partition {}: over {MAX_SEGMENT_ROWS} rows; split it", self.number)));
        }
        self.check_columns(batch).map_err(place)?;
        let starts = self.write_index(batch)?;
        let mut cut = Vec::new();
        for number in 0..self.groups.len() {
            let group = &self.groups[number];
            let flat = group
                .columns
                .iter()
                .map(|(name, ty)| {
                    let column = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")))?;
                    FlatColumn::new(ty, column).map_err(|error| error.at(format!("column `{name}`")))
                })
                .collect::<Result<Vec<_>>>()
                .map_err(|error| error.at(format!("partition {}, rows from {}", self.number, self.rows)))?;
            for (row, starts) in starts.iter().enumerate() {
                self.groups[number].writer.push(&flat, row, *starts, &mut cut)?;
                if !cut.is_empty() {
                    self.upload(number, &mut cut).await?;
                }
            }
        }
        self.rows += batch.num_rows() as u64;
        self.keep_within_memory()
    }

    /// Writes the partition's parts and gives its receipt.
    ///
    /// # Errors
    /// `Invalid` after a write that failed; errors of the store; nothing is visible then, and the partition can be written
    /// again.
    pub async fn finish(mut self) -> Result<Receipt> {
        self.check_whole()?;
        let empty = Receipt { session: self.session, partition: self.number, rows: 0, parts: None };
        if self.rows == 0 {
            return Ok(empty);
        }
        let mut groups = Vec::new();
        for number in 0..self.groups.len() {
            let mut cut = Vec::new();
            self.groups[number].writer.finish(&mut cut)?;
            self.upload(number, &mut cut).await?;
            let group = &mut self.groups[number];
            let (runs, hashes) = (std::mem::take(&mut group.runs), std::mem::take(&mut group.hashes));
            let columns = group.writer.columns().to_vec();
            let layout = LayoutWriter::write(&runs)?;
            let mut writer = HashesWriter::new(Vec::new())?;
            writer.write(&hashes)?;
            groups.push(PartGroup {
                layout: put_part(&self.store, self.session, layout).await?,
                hashes: put_part(&self.store, self.session, writer.finish()?).await?,
                blocks: hashes.len() as u64,
                runs: runs.len() as u64,
                stored_bytes: runs.iter().map(LayoutRun::stored_bytes).sum(),
                columns,
            });
        }
        let IndexPart { writer, sequences, .. } = self.index;
        let mut file = writer.finish(&sequences)?;
        let mut bytes = Vec::new();
        file.rewind()
            .and_then(|()| file.read_to_end(&mut bytes))
            .map_err(|error| Error::from(error).at("the index of a partition"))?;
        let index = put_part(&self.store, self.session, bytes).await?;
        Ok(Receipt { rows: self.rows, parts: Some(PartObjects { index, groups }), ..empty })
    }

    fn check_whole(&self) -> Result<()> {
        match self.whole {
            true => Ok(()),
            false => Err(Error::invalid(format!("partition {}: a write failed before; write the partition again", self.number))),
        }
    }

    fn check_columns(&self, batch: &RecordBatch) -> Result<()> {
        for column in self.schema.columns() {
            if batch.column_by_name(&column.name).is_none() {
                return Err(Error::invalid(format!("no column `{}` in the batch; expected {}", column.name, column.ty)));
            }
        }
        match batch.schema().fields().iter().find(|field| self.schema.column_named(field.name()).is_none()) {
            Some(field) => Err(Error::invalid(format!("column `{}` of the batch is not in the schema", field.name()))),
            None => Ok(()),
        }
    }

    /// Appends the index columns; says of each row whether it starts a sequence.
    fn write_index(&mut self, batch: &RecordBatch) -> Result<Vec<bool>> {
        let arrow = index_arrow_schema(&self.schema);
        let column = |described: &Column| {
            let (name, ty) = (&described.name, &described.ty);
            let column = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")))?;
            index_column(column, &ty.arrow()).ok_or_else(|| {
                let (expected, found) = (ty.arrow(), column.data_type());
                Error::invalid(format!("column `{name}`: expected {ty} (in Arrow {expected}), found {found}"))
            })
        };
        let columns = self.schema.index().map(column).collect::<Result<Vec<_>>>();
        let columns = columns.map_err(|error| error.at(format!("partition {}, rows from {}", self.number, self.rows)))?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let index =
            RecordBatch::try_new_with_options(arrow, columns, &options).map_err(|error| Error::invalid(error.to_string()))?;
        let place = format!("partition {}", self.number);
        let mut starts = vec![false; index.num_rows()];
        for row in self.index.tracker.push(&index).map_err(|error| error.at(&place))? {
            starts[row] = true;
        }
        for starts in &starts {
            match self.index.sequences.last_mut() {
                Some(rows) if !starts => *rows += 1,
                _ => self.index.sequences.push(1),
            }
        }
        self.index.writer.write(&index)?;
        Ok(starts)
    }

    async fn upload(&mut self, group: usize, cut: &mut Vec<CutChunk>) -> Result<()> {
        for cut in cut.drain(..) {
            let run = cut.run()?;
            let group = &mut self.groups[group];
            group.hashes.extend(&cut.hashes);
            self.store.put_content(&run.chunk.object_name(), cut.chunk.bytes.into()).await?;
            group.runs.push(run);
        }
        Ok(())
    }

    fn keep_within_memory(&mut self) -> Result<()> {
        while self.groups.iter().map(|group| group.writer.in_memory()).sum::<usize>() > self.write_memory {
            let Some(largest) = self.groups.iter_mut().max_by_key(|group| group.writer.in_memory()) else { break };
            largest.writer.spill()?;
        }
        Ok(())
    }
}

async fn put_part(store: &Store, session: Uuid, bytes: Vec<u8>) -> Result<ObjectRef> {
    let object = ObjectRef { blake3: Hash::of(&bytes), bytes: bytes.len() as u64 };
    store.put_content(&Receipt::part_name(session, object.blake3), bytes.into()).await?;
    Ok(object)
}

/// The column in the one Arrow type of the index, if it has that type, is text with 32-bit offsets, or a dictionary of either.
fn index_column(column: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    match (column.data_type(), wanted) {
        (found, wanted) if found == wanted => Some(Arc::clone(column)),
        (DataType::Dictionary(..), _) => {
            let dictionary = column.as_any_dictionary_opt()?;
            index_column(&take(dictionary.values(), dictionary.keys(), None).ok()?, wanted)
        }
        (DataType::Utf8, DataType::LargeUtf8) => Some(Arc::new(column.as_string::<i32>().iter().collect::<LargeStringArray>())),
        _ => None,
    }
}
