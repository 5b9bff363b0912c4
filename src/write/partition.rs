//! Writes one partition: rows that one worker writes independently of all other partitions. The result is a receipt.

use std::{fs::File, io::Read, io::Seek, sync::Arc};

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch, cast::AsArray, make_array, new_null_array};
use arrow_schema::DataType;
use arrow_select::take::take;
use bytes::Bytes;
use futures::{
    future::{BoxFuture, try_join},
    stream::{self, StreamExt, TryStreamExt},
};
use uuid::Uuid;

use super::{
    buffered::BufferedParts,
    groups::{ByName, GroupsWriter, WrittenGroup, check_nulls},
    known::Known,
    options::WriteOptions,
    receipt::{PartGroup, PartObjects, Receipt, Sharing, partition_place},
};
use crate::{
    error::{Error, Result},
    format::{HashesWriter, IndexWriter, LayoutWriter, MAX_SEGMENT_ROWS, SequenceTracker, index_arrow_schema},
    id::ObjectRef,
    machine,
    schema::{Column, Schema},
    store::Store,
    work::{Ahead, offload, offload_large},
};

/// Maximum rows of a batch whose index columns are encoded on the calling thread: about a millisecond of work.
const HERE: usize = 4 << 10;

/// Maximum rows of an index that stays in memory and is not compressed.
const FEW_ROWS: usize = 4 << 10;

/// Maximum number of column groups whose objects are stored together.
const GROUPS_TOGETHER: usize = 32;

/// How a session begins before a partition of it stores an object.
pub(crate) trait Begin: Send + Sync {
    /// Puts the begin file, before the first object. Later, puts it again where it has become old: a collection takes a session for idle
    /// if all its files are old.
    ///
    /// # Errors
    /// - `Conflict`: the session is over.
    /// - Errors of the store.
    fn put(self: Arc<Self>) -> BoxFuture<'static, Result<()>>;

    /// Looks, after [`Begin::put`], for a collection that may not have seen the file. Once for all partitions of a process; the first
    /// objects are stored at the same time.
    ///
    /// # Errors
    /// - `Conflict`: there was a garbage collection since the version from which the session begins. The session is over.
    /// - Errors of the store.
    fn look(self: Arc<Self>) -> BoxFuture<'static, Result<()>>;
}

/// Writes one partition.
///
/// Blocks and chunks end with the partition: two partitions never share a block or a chunk within one write session.
pub struct PartitionWriter {
    store: Store,
    begin: Option<Arc<dyn Begin>>,
    /// Runs the look for a collection in the background. Callers wait for [`Begin::look`], because the runtime of this task may end first.
    looking: Option<Ahead<()>>,
    buffered: Arc<BufferedParts>,
    session: Uuid,
    number: u32,
    attempt: Uuid,
    label: Option<String>,
    note: Option<String>,
    schema: Arc<Schema>,
    groups: GroupsWriter,
    /// `None` while another thread encodes a batch, and forever after if that call is dropped.
    index: Option<IndexPart>,
    rows: u64,
    /// False while a write runs. A write that fails or is dropped leaves some columns ahead of others, so the flag stays false.
    whole: bool,
}

/// The index columns of the partition.
struct IndexPart {
    /// `None` after an error.
    file: Option<IndexFile>,
    tracker: SequenceTracker,
    sequences: Vec<u32>,
}

/// The Parquet file of the index columns.
enum IndexFile {
    /// Few rows, and the batches that they came in.
    Few(IndexWriter<Vec<u8>>, Vec<RecordBatch>),
    /// A temporary file. Memory holds one row group.
    Many(IndexWriter<File>),
}

impl IndexFile {
    fn new(schema: &Schema) -> Result<Self> {
        Ok(Self::Few(IndexWriter::of_few_rows(Vec::new(), schema)?, Vec::new()))
    }

    fn write(self, schema: &Schema, batch: &RecordBatch) -> Result<Self> {
        match self {
            Self::Few(mut few, mut bytes) => {
                bytes.push(batch.clone());
                if bytes.iter().map(RecordBatch::num_rows).sum::<usize>() <= FEW_ROWS {
                    few.write(batch)?;
                    return Ok(Self::Few(few, bytes));
                }
                let file = tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file for the index"))?;
                let mut many = IndexWriter::new(file, schema, false)?;
                bytes.iter().try_for_each(|batch| many.write(batch))?;
                Ok(Self::Many(many))
            }
            Self::Many(mut many) => {
                many.write(batch)?;
                Ok(Self::Many(many))
            }
        }
    }

    /// Returns the bytes of the file.
    fn finish(self, sequences: &[u32]) -> Result<Vec<u8>> {
        let mut file = match self {
            Self::Few(few, _) => return few.finish(sequences),
            Self::Many(many) => many.finish(sequences)?,
        };
        let mut bytes = Vec::new();
        file.rewind()
            .and_then(|()| file.read_to_end(&mut bytes))
            .map_err(|error| Error::from(error).at("the index of a partition"))?;
        Ok(bytes)
    }
}

impl std::fmt::Debug for PartitionWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { session, number, label, rows, .. } = self;
        f.debug_struct("PartitionWriter")
            .field("session", session)
            .field("number", number)
            .field("label", label)
            .field("rows", rows)
            .finish_non_exhaustive()
    }
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
        let index =
            IndexPart { file: Some(IndexFile::new(&schema)?), tracker: SequenceTracker::new(&schema), sequences: Vec::new() };
        let (attempt, label, note, index) = (machine::new_id(), None, None, Some(index));
        let buffered = Arc::new(BufferedParts::storing_all());
        let (begin, looking) = (None, None);
        let (rows, whole) = (0, true);
        Ok(Self { store, begin, looking, buffered, session, number, attempt, label, note, schema, groups, index, rows, whole })
    }

    /// Sets what is done before each step that stores objects.
    pub(crate) fn after(self, begin: Arc<dyn Begin>) -> Self {
        Self { begin: Some(begin), ..self }
    }

    /// Sets where parts are kept in memory.
    pub(crate) fn holding(self, buffered: Arc<BufferedParts>) -> Self {
        Self { buffered, ..self }
    }

    /// Does what comes before an object. The first call starts the look for a collection, and the next one waits for it.
    async fn begun(&mut self) -> Result<()> {
        let Some(begin) = self.begin.clone() else { return Ok(()) };
        Arc::clone(&begin).put().await?;
        match &self.looking {
            None => self.looking = Some(Ahead::start(begin.look()).await),
            Some(_) => begin.look().await?,
        }
        Ok(())
    }

    /// Sets the name of what the partition is made from, such as a source file. Error messages and the receipt contain it.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Notes something about the partition in its receipt, such as what the writer left out. Nothing but the caller reads it: one that
    /// goes on with a session finds it in [`Receipt::note`].
    ///
    /// ```
    /// # use tetrys::{Schema, Store, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// let schema = Schema::builder().index("id", "i64").build()?;
    /// let writer = Table::create_in(Store::open("memory://")?, schema, WriteOptions::default()).await?;
    /// let mut partition = writer.partition()?;
    /// partition.note("3 frames were damaged");
    /// assert_eq!(partition.finish().await?.note.as_deref(), Some("3 frames were damaged"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn note(&mut self, note: impl Into<String>) {
        self.note = Some(note.into());
    }

    /// Returns the partition's number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Appends rows. The batch has one column for every index and group column of the schema, found by name, in any order.
    ///
    /// Other threads encode a large batch, so that the executor stays free. If the future is dropped, the work stops soon, and
    /// the partition cannot be finished.
    ///
    /// # Errors
    /// The partition cannot be finished after an error.
    /// - `Invalid`: a column is missing, unknown, of a wrong type, or null where nulls are not allowed; a sequence reappears
    ///   after it ended; the rows break `order_by`; the partition has over 4,194,304 rows; an earlier write failed.
    /// - `Unsupported`: a part of a tensor is null, which is neither one element nor the whole tensor.
    /// - Errors of the store.
    pub async fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        self.whole = false;
        self.begun().await?;
        self.append(batch).await?;
        self.whole = true;
        Ok(())
    }

    async fn append(&mut self, batch: &RecordBatch) -> Result<()> {
        let here = format!("{}, rows from {}", self.place(), self.rows);
        let place = |error: Error| error.at(&here);
        if self.rows + batch.num_rows() as u64 > MAX_SEGMENT_ROWS {
            let place = self.place();
            return Err(Error::invalid(format!("{place}: over {MAX_SEGMENT_ROWS} rows; write the rows in several partitions")));
        }
        self.check_columns(batch).map_err(place)?;
        let mut index = self.index.take().ok_or_else(|| Error::internal("the partition has no index"))?;
        let (schema, part, rows) = (Arc::clone(&self.schema), batch.clone(), self.rows);
        let of = self.place();
        let write = move || {
            let starts = index.write(&schema, &part, &of, rows)?;
            Ok((index, starts))
        };
        let (index, starts) = if batch.num_rows() <= HERE { write()? } else { offload(move |_| write()).await? };
        self.index = Some(index);
        self.groups.append(batch, &starts).await.map_err(place)?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Ends the partition and returns its receipt. [`TableWriter::receipts`](crate::TableWriter::receipts) returns it too until the session
    /// ends. If other processes take part in the session, its store gets the receipt and the parts of the partition: index, layouts and
    /// hashes. Otherwise this process keeps them in memory, up to 64 MiB of parts, and must commit them itself.
    ///
    /// # Errors
    /// Readers see nothing of a failed partition, and it can be written again.
    /// - `Invalid`: an earlier write failed.
    /// - Errors of the store.
    pub async fn finish(self) -> Result<Receipt> {
        self.check_whole()?;
        if let Some(begin) = self.begin.clone() {
            begin.put().await?;
        }
        let begin = self.begin;
        let looked = async move {
            match begin {
                Some(begin) => begin.look().await,
                None => Ok(()),
            }
        };
        let (session, partition, attempt, label, note) = (self.session, self.number, self.attempt, self.label, self.note);
        if self.rows == 0 {
            looked.await?;
            let (rows, parts, sharing) = (0, None, Sharing::default());
            let receipt = Receipt { session, partition, attempt, label, note, rows, parts, sharing };
            return kept(&self.store, &self.buffered, receipt).await;
        }
        let ((), (written, sharing)) = try_join(looked, self.groups.finish()).await?;
        let (store, buffered) = (&self.store, &self.buffered);
        let put = |group: WrittenGroup| async move {
            let mut hashes = HashesWriter::new(Vec::new())?;
            hashes.write(&group.hashes)?;
            let layout = put_part(store, buffered, session, LayoutWriter::write(&group.runs)?);
            let (layout, hashes) = try_join(layout, put_part(store, buffered, session, hashes.finish()?)).await?;
            Ok::<_, Error>(PartGroup {
                layout,
                hashes,
                blocks: group.hashes.len() as u64,
                runs: group.runs.len() as u64,
                owners: group.owners(),
                stored_bytes: group.stored_bytes(),
                columns: group.columns,
            })
        };
        let groups = stream::iter(written.into_iter().map(put)).buffered(GROUPS_TOGETHER).try_collect().await?;
        let missing = || Error::internal("the partition has no index");
        let IndexPart { file, sequences, .. } = self.index.ok_or_else(missing)?;
        let file = file.ok_or_else(missing)?;
        let work = usize::try_from(self.rows.saturating_mul(16)).unwrap_or(usize::MAX);
        let bytes = offload_large(work, move |_| file.finish(&sequences)).await?;
        let index = put_part(&self.store, &self.buffered, self.session, bytes).await?;
        let (rows, parts) = (self.rows, Some(PartObjects { index, groups }));
        let receipt = Receipt { session, partition, attempt, label, note, rows, parts, sharing };
        kept(&self.store, &self.buffered, receipt).await
    }

    fn check_whole(&self) -> Result<()> {
        match self.whole {
            true => Ok(()),
            false => Err(Error::invalid(format!("{}: an earlier write failed; write it again", self.place()))),
        }
    }

    fn place(&self) -> String {
        partition_place(self.number, self.label.as_deref())
    }

    fn check_columns(&self, batch: &RecordBatch) -> Result<()> {
        let named = ByName::new(batch);
        for column in self.schema.columns() {
            if named.get(&column.name).is_none() {
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
    /// Appends the index columns. Returns for each row whether it starts a sequence.
    fn write(&mut self, schema: &Schema, batch: &RecordBatch, of: &str, rows: u64) -> Result<Vec<bool>> {
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
        let columns = columns.map_err(|error| error.at(format!("{of}, rows from {rows}")))?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let index = RecordBatch::try_new_with_options(index_arrow_schema(schema), columns, &options)
            .map_err(|error| Error::invalid(error.to_string()))?;
        let mut starts = vec![false; index.num_rows()];
        for row in self.tracker.push(&index).map_err(|error| error.at(of))? {
            starts[row] = true;
        }
        for starts in &starts {
            match self.sequences.last_mut() {
                Some(rows) if !starts => *rows += 1,
                _ => self.sequences.push(1),
            }
        }
        let file = self.file.take().ok_or_else(|| Error::internal("the partition has no index"))?;
        self.file = Some(file.write(schema, &index)?);
        Ok(starts)
    }
}

/// Keeps or stores the receipt and returns it.
async fn kept(store: &Store, buffered: &BufferedParts, receipt: Receipt) -> Result<Receipt> {
    if !buffered.keep_receipt(&receipt) {
        store_buffered(store, buffered, &receipt).await?;
    }
    Ok(receipt)
}

/// Stores a receipt, after those of its parts that are in memory.
pub(crate) async fn store_buffered(store: &Store, buffered: &BufferedParts, receipt: &Receipt) -> Result<()> {
    for object in receipt.objects() {
        if let Some(part) = buffered.part(&object.blake3) {
            store.put_content(&Receipt::part_name(receipt.session, object.blake3), part).await?;
        }
    }
    let (name, text) = receipt.stored()?;
    store.put_content(&name, text.into()).await.map(drop)
}

/// Keeps or stores a part.
async fn put_part(store: &Store, buffered: &BufferedParts, session: Uuid, bytes: Vec<u8>) -> Result<ObjectRef> {
    let (object, bytes) = (ObjectRef::of(&bytes), Bytes::from(bytes));
    if !buffered.keep(object.blake3, &bytes) {
        store.put_content(&Receipt::part_name(session, object.blake3), bytes).await?;
    }
    Ok(object)
}

/// Converts a column to the Arrow type of the index. Accepts that type, nulls of no type, text with 32-bit offsets, dictionaries,
/// and timestamps of the same unit in another time zone. Returns `None` for any other type.
pub fn index_column(column: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    match (column.data_type(), wanted) {
        (found, wanted) if found == wanted => Some(Arc::clone(column)),
        (DataType::Null, wanted) => Some(new_null_array(wanted, column.len())),
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
