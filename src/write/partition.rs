//! One partition: rows written independently of all others, by one worker, ending in a receipt.

use std::{fs::File, io::Read, io::Seek, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, cast::AsArray, make_array};
use arrow_schema::DataType;
use arrow_select::take::take;
use uuid::Uuid;

use super::{
    groups::{GroupsWriter, check_nulls},
    known::Known,
    options::WriteOptions,
    receipt::{PartGroup, PartObjects, Receipt, Sharing},
};
use crate::{
    error::{Error, Result},
    format::{HashesWriter, IndexWriter, LayoutWriter, MAX_SEGMENT_ROWS, SequenceTracker, index_arrow_schema},
    id::ObjectRef,
    offload::{offload, offload_large},
    schema::{Column, Schema},
    store::Store,
};

/// Rows whose index columns are encoded on the calling thread at most: about a millisecond of work.
const HERE: usize = 4 << 10;

/// Writes one partition.
///
/// A partition is cut at its ends: its rows share no block and no chunk with another one's.
#[derive(Debug)]
pub struct PartitionWriter {
    store: Store,
    session: Uuid,
    number: u32,
    schema: Arc<Schema>,
    groups: GroupsWriter,
    /// None while it is at work elsewhere, and for good where that was given up.
    index: Option<IndexPart>,
    rows: u64,
    /// False from the start of a write to its end: one that failed, or was dropped half-way, left some columns ahead of others.
    whole: bool,
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
    pub(crate) fn new(
        store: Store,
        session: Uuid,
        number: u32,
        schema: Arc<Schema>,
        options: &WriteOptions,
        known: Option<Arc<Known>>,
    ) -> Result<Self> {
        let groups = GroupsWriter::new(store.clone(), &schema, 0..schema.groups().len(), options, known)?;
        let file = tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for the index"))?;
        let index =
            IndexPart { writer: IndexWriter::new(file, &schema)?, tracker: SequenceTracker::new(&schema), sequences: Vec::new() };
        Ok(Self { store, session, number, schema, groups, index: Some(index), rows: 0, whole: true })
    }

    /// The partition's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Appends rows: a column for every index and group column of the schema, found by name, in any order. A large batch is encoded
    /// by other threads, and the executor goes on meanwhile. A call whose future is dropped stops soon, and ends the partition as an
    /// error does.
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
        let here = format!("partition {}, rows from {}", self.number, self.rows);
        let place = |error: Error| error.at(&here);
        if self.rows + batch.num_rows() as u64 > MAX_SEGMENT_ROWS {
            return Err(Error::invalid(format!("partition {}: over {MAX_SEGMENT_ROWS} rows; split it", self.number)));
        }
        self.check_columns(batch).map_err(place)?;
        let mut index = self.index.take().ok_or_else(|| Error::internal("a partition without its index"))?;
        let (schema, part, rows) = (Arc::clone(&self.schema), batch.clone(), self.rows);
        let number = self.number;
        let write = move || {
            let starts = index.write(&schema, &part, number, rows)?;
            Ok((index, starts))
        };
        let (index, starts) = if batch.num_rows() <= HERE { write()? } else { offload(move |_| write()).await? };
        self.index = Some(index);
        self.groups.append(batch, &starts).await.map_err(place)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Writes the partition's parts and gives its receipt, which is left in the store too until the session ends:
    /// [`TableWriter::receipts`](crate::TableWriter::receipts) finds it there.
    ///
    /// # Errors
    /// `Invalid` after a write that failed; errors of the store; nothing is visible then, and the partition can be written
    /// again.
    pub async fn finish(self) -> Result<Receipt> {
        self.check_whole()?;
        let (session, partition) = (self.session, self.number);
        if self.rows == 0 {
            let receipt = Receipt { session, partition, rows: 0, parts: None, sharing: Sharing::default() };
            return kept(&self.store, receipt).await;
        }
        let (written, sharing) = self.groups.finish().await?;
        let mut groups = Vec::new();
        for group in written {
            let mut hashes = HashesWriter::new(Vec::new())?;
            hashes.write(&group.hashes)?;
            groups.push(PartGroup {
                layout: put_part(&self.store, self.session, LayoutWriter::write(&group.runs)?).await?,
                hashes: put_part(&self.store, self.session, hashes.finish()?).await?,
                blocks: group.hashes.len() as u64,
                runs: group.runs.len() as u64,
                owners: group.owners(),
                stored_bytes: group.stored_bytes(),
                columns: group.columns,
            });
        }
        let IndexPart { writer, sequences, .. } = self.index.ok_or_else(|| Error::internal("a partition without its index"))?;
        let work = usize::try_from(self.rows.saturating_mul(16)).unwrap_or(usize::MAX);
        let bytes = offload_large(work, move |_| {
            let mut file = writer.finish(&sequences)?;
            let mut bytes = Vec::new();
            file.rewind()
                .and_then(|()| file.read_to_end(&mut bytes))
                .map_err(|error| Error::from(error).at("the index of a partition"))?;
            Ok(bytes)
        });
        let bytes = bytes.await?;
        let index = put_part(&self.store, self.session, bytes).await?;
        let receipt = Receipt { session, partition, rows: self.rows, parts: Some(PartObjects { index, groups }), sharing };
        kept(&self.store, receipt).await
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
}

impl IndexPart {
    /// Appends the index columns; says of each row whether it starts a sequence.
    fn write(&mut self, schema: &Schema, batch: &RecordBatch, partition: u32, rows: u64) -> Result<Vec<bool>> {
        let column = |described: &Column| {
            let (name, ty) = (&described.name, &described.ty);
            let column = batch.column_by_name(name).ok_or_else(|| Error::invalid(format!("no column `{name}`")))?;
            check_nulls(described, column)?;
            index_column(column, &ty.arrow()).ok_or_else(|| {
                let (expected, found) = (ty.arrow(), column.data_type());
                Error::invalid(format!("column `{name}`: expected {ty} (in Arrow {expected}), found {found}"))
            })
        };
        let columns = schema.index().map(column).collect::<Result<Vec<_>>>();
        let columns = columns.map_err(|error| error.at(format!("partition {partition}, rows from {rows}")))?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let index = RecordBatch::try_new_with_options(index_arrow_schema(schema), columns, &options)
            .map_err(|error| Error::invalid(error.to_string()))?;
        let mut starts = vec![false; index.num_rows()];
        for row in self.tracker.push(&index).map_err(|error| error.at(format!("partition {partition}")))? {
            starts[row] = true;
        }
        for starts in &starts {
            match self.sequences.last_mut() {
                Some(rows) if !starts => *rows += 1,
                _ => self.sequences.push(1),
            }
        }
        self.writer.write(&index)?;
        Ok(starts)
    }
}

/// The receipt, after it was left in the store as well.
async fn kept(store: &Store, receipt: Receipt) -> Result<Receipt> {
    let (name, text) = receipt.stored()?;
    store.put_content(&name, text.into()).await?;
    Ok(receipt)
}

async fn put_part(store: &Store, session: Uuid, bytes: Vec<u8>) -> Result<ObjectRef> {
    let object = ObjectRef::of(&bytes);
    store.put_content(&Receipt::part_name(session, object.blake3), bytes.into()).await?;
    Ok(object)
}

/// The column in the one Arrow type of the index, if it has that type, is text with 32-bit offsets, a dictionary of either, or
/// instants in another time zone.
pub fn index_column(column: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    match (column.data_type(), wanted) {
        (found, wanted) if found == wanted => Some(Arc::clone(column)),
        (DataType::Dictionary(..), _) => {
            let dictionary = column.as_any_dictionary_opt()?;
            index_column(&take(dictionary.values(), dictionary.keys(), None).ok()?, wanted)
        }
        (DataType::Timestamp(unit, Some(_)), DataType::Timestamp(wanted_unit, Some(_))) if unit == wanted_unit => {
            let instants = column.to_data().into_builder().data_type(wanted.clone()).build().ok()?;
            Some(make_array(instants))
        }
        (DataType::Utf8, DataType::LargeUtf8) => Some(Arc::new(column.as_string::<i32>().iter().collect::<LargeStringArray>())),
        _ => None,
    }
}
