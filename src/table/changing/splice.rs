//! Deletes rows, and patches rows: gives them new values in one column group. Blocks without such rows are kept as they are. From
//! a block with such rows on, the remaining rows are cut into new blocks, until a new block ends where an old block ended.
//!
//! Wide rows have a block each, so deleting them writes no chunk.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema as ArrowSchema};
use arrow_select::{filter::filter_record_batch, interleave::interleave};
use bytes::Bytes;
use futures::{
    FutureExt,
    future::{try_join, try_join_all, try_join3},
};
use serde_json::Value;

use crate::{
    commit::{self, SegmentIndex},
    error::{Error, Result, counted},
    format::{ColumnBytes, GroupSegment, LayoutRun, Manifest, Segment, SequenceTracker, index_reader},
    id::Hash,
    progress::Progress,
    read::Sequences,
    schema::ColumnId,
    store::Store,
    table::{
        reading::RowLoader,
        session::{Edge, Session, lineage},
        version::table::{Table, recorded_sequences},
    },
    work::{Once, boxed, offload_large, waves},
    write::{GroupsWriter, WriteOptions, WrittenGroup, canonical_array},
};

/// Maximum number of column groups that are written together.
const GROUPS_TOGETHER: usize = 8;
/// Maximum bytes that the blocks of these groups take, unless a single group has more.
const BYTES_TOGETHER: u64 = 256 << 20;
/// Bytes that a block takes while its group is written, as an estimate: its hash, its lengths, and its places.
const BLOCK_BYTES: u64 = 256;

/// The edit of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Deleted,
    /// The row gets the values of this row of the patch.
    Patched(usize),
}

/// A block of the base segment or a new block: the number of its run, and its number within the run.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Kept(usize, usize),
    Written(usize, usize),
}

impl Table {
    /// Commits a version without these rows; returns this version if there are none. No chunk is changed. The blocks of wide rows, which have a block each, disappear
    /// from the layouts. Of a block with several rows, the remaining rows are written into new blocks.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Table, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # let table = writer.commit([partition.finish().await?]).await?;
    /// let rest = table.delete([0, 1, 2], WriteOptions::default()).await?;
    /// assert_eq!((rest.version(), rest.rows(), table.rows()), (2, 7, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: a row number is not below the number of rows.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses (see [`Table::allow_unpinned`]).
    /// - `Conflict`: another writer deleted rows or changed a column group.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn delete(&self, rows: impl IntoIterator<Item = u64>, options: WriteOptions) -> Result<Self> {
        let edits: BTreeMap<u64, Row> = rows.into_iter().map(|row| (row, Row::Deleted)).collect();
        self.check_rows(&edits)?;
        let details = BTreeMap::from([("rows_deleted".to_owned(), Value::from(edits.len()))]);
        let groups: Vec<usize> = (0..self.schema().groups().len()).collect();
        Splice { base: self, edits, patch: None, groups, options }.commit("delete", details).await
    }

    /// Commits a version in which some rows have new values in columns of one group. `patch` has those columns, and the index
    /// columns `on`, whose values are the key that identifies each row. Returns this version if `patch` has no rows.
    ///
    /// # Errors
    /// - `Invalid`: a key does not occur in the table, or occurs twice in the table or in `patch`; the columns belong to several
    ///   groups or to none; a column has a wrong type.
    /// - `NotFound`: the table has no such column.
    /// - `Unsupported`: the table is a view, or this version needs a later writer.
    /// - `Denied`: no pin can be written to a table whose chunks this one uses (see [`Table::allow_unpinned`]).
    /// - `Conflict`: another writer deleted rows or changed this group.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the stores.
    pub async fn patch(&self, on: &[&str], patch: &RecordBatch, options: WriteOptions) -> Result<Self> {
        let found = self.rows_by_key(on, patch).await?;
        let mut edits = BTreeMap::new();
        for (number, row) in found.into_iter().enumerate() {
            let row =
                row.ok_or_else(|| Error::invalid(format!("row {number} of the patch: its key {on:?} is not in the table")))?;
            if edits.insert(row, Row::Patched(number)).is_some() {
                return Err(Error::invalid(format!("row {number} of the patch: an earlier row has the same key {on:?}")));
            }
        }
        let schema = self.schema();
        let (mut columns, mut groups) = (Vec::new(), BTreeSet::new());
        for (field, array) in
            patch.schema().fields().iter().zip(patch.columns()).filter(|(field, _)| !on.contains(&field.name().as_str()))
        {
            let column =
                schema.column_named(field.name()).ok_or_else(|| Error::not_found(format!("no column `{}`", field.name())))?;
            let place = |error: Error| error.at(format!("column `{}`", column.name));
            let valid = schema.groups().iter().enumerate();
            let valid = valid.filter(|(_, group)| group.columns.contains(&column.id) && !group.masked.contains(&column.id));
            let valid: Vec<usize> = valid.map(|(number, _)| number).collect();
            match valid.as_slice() {
                [one] => groups.extend([*one]),
                [] => return Err(place(Error::invalid("an index column cannot be patched; overwrite the table instead"))),
                _ => return Err(place(Error::invalid("several column groups have it; replace one of these groups instead"))),
            }
            columns.push((column.id, canonical_array(&column.ty, array).map_err(place)?));
        }
        let groups: Vec<usize> = groups.into_iter().collect();
        let [group] = groups.as_slice() else {
            return Err(Error::invalid(format!("the patch has columns of {} column groups, expected one", groups.len())));
        };
        let details = BTreeMap::from([
            ("group".to_owned(), Value::from(schema.groups()[*group].name.clone())),
            ("rows_patched".to_owned(), edits.len().into()),
        ]);
        Splice { base: self, edits, patch: Some(columns), groups, options }.commit("patch", details).await
    }

    fn check_rows(&self, edits: &BTreeMap<u64, Row>) -> Result<()> {
        match edits.last_key_value() {
            Some((row, _)) if *row >= self.rows() => Err(Error::invalid(format!("row {row} is outside 0..{}", self.rows()))),
            _ => Ok(()),
        }
    }
}

struct Splice<'a> {
    base: &'a Table,
    edits: BTreeMap<u64, Row>,
    patch: Option<Vec<(ColumnId, ArrayRef)>>,
    groups: Vec<usize>,
    options: WriteOptions,
}

/// The last row before a segment that stays.
enum Before {
    Nothing,
    /// The last row of this segment, which is as it was.
    Segment(usize),
    Row(Edge),
}

impl Before {
    /// Returns the keys of the row.
    async fn edge(&self, base: &Table) -> Result<Option<Edge>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Segment(number) => {
                let rows = base.manifest().segments.get(*number).map_or(0, |segment| segment.rows);
                boxed(|| base.edge(*number, rows.saturating_sub(1))).await.map(Some)
            }
            Self::Row(edge) => Ok(Some(edge.clone())),
        }
    }
}

/// A segment with edited rows, given by their numbers in it.
struct Edited<'a> {
    segment: &'a Segment,
    /// The manifest of the version, without segments.
    bare: &'a Manifest,
    /// The version, and the number of the segment in it.
    base: (Table, usize),
    edits: Arc<BTreeMap<u64, Row>>,
    is_delete: bool,
    read: Once<ReadIndex>,
}

/// The parts of a segment's index that a patch or deletion reads.
#[derive(Clone)]
struct ReadIndex {
    sequences: Arc<Sequences>,
    /// The whole object, if rows are deleted: it is written again.
    object: Option<Bytes>,
}

impl Edited<'_> {
    async fn index(&self) -> Result<ReadIndex> {
        let load = || {
            let ((base, number), segment, is_delete) = (self.base.clone(), self.segment.clone(), self.is_delete);
            async move {
                if !is_delete {
                    let sequences = Arc::new(base.sequences_of_segment(number).await?);
                    return Ok(ReadIndex { sequences, object: None });
                }
                let object = base.object("index", &segment.index).await?;
                let copy = object.clone();
                let runs = offload_large(copy.len(), move |_| recorded_sequences(&copy, &segment)).await?;
                Ok(ReadIndex { sequences: Arc::new(Sequences::new([(false, &runs)])), object: Some(object) })
            }
            .boxed()
        };
        self.read.get_or_load(load).await
    }
}

impl Splice<'_> {
    async fn commit(self, operation: &str, mut details: BTreeMap<String, Value>) -> Result<Table> {
        if self.edits.is_empty() {
            return Ok(self.base.clone());
        }
        let session = Session::change(self.base, true, self.options.allow_unpinned).await?;
        let mut manifest = session.child()?;
        let (mut segments, mut bytes): (Vec<Segment>, u64) = Default::default();
        let mut before = Before::Nothing;
        let is_delete = self.patch.is_none();
        let parts = (self.groups.len() + usize::from(is_delete)) as u64;
        let progress = Progress::new("writing rows", self.base.rows().saturating_mul(parts));
        let bare = Manifest { segments: Vec::new(), condemned: Vec::new(), ..self.base.manifest().clone() };
        for (number, segment) in self.base.manifest().segments.iter().enumerate() {
            let range = segment.first_row..segment.first_row + segment.rows;
            let edits: BTreeMap<u64, Row> =
                self.edits.range(range.clone()).map(|(row, edit)| (row - segment.first_row, *edit)).collect();
            let is_gone = is_delete && edits.len() as u64 == segment.rows;
            if edits.is_empty() || is_gone {
                progress.add(segment.rows * self.groups.len() as u64);
            }
            if is_gone {
                progress.add(segment.rows);
                continue;
            }
            let first_row = segments.last().map_or(0, |last| last.first_row + last.rows);
            if edits.is_empty() {
                if !is_delete {
                    segments.push(segment.clone());
                    continue;
                }
                // Its index stays. Deleted rows of the segment before can change whether its first row continues a sequence.
                let continues = match before {
                    Before::Segment(last) if last + 1 == number => segment.continues,
                    _ => match before.edge(self.base).await? {
                        Some((sequence, _)) => boxed(|| self.base.edge(number, 0)).await?.0 == sequence,
                        None => false,
                    },
                };
                progress.add(segment.rows);
                segments.push(Segment { first_row, continues, ..segment.clone() });
                before = Before::Segment(number);
                continue;
            }
            let base = (self.base.clone(), number);
            let edited = Edited { segment, bare: &bare, base, edits: Arc::new(edits), is_delete, read: Once::default() };
            let written = boxed(|| self.groups(&session.store, &edited, &progress));
            if !is_delete {
                let (groups, new_bytes) = written.await?;
                bytes += new_bytes;
                segments.push(Segment { groups, ..segment.clone() });
                continue;
            }
            let rest = boxed(|| self.index_of_rest(&session.store, &edited, first_row, &before, &progress));
            let ((groups, new_bytes), (rest, last)) = try_join(written, rest).await?;
            bytes += new_bytes + rest.index.bytes;
            segments.push(Segment { groups, ..rest });
            before = last.map_or(Before::Nothing, Before::Row);
        }
        details.insert("bytes_added".to_owned(), bytes.into());
        manifest.segments = segments;
        manifest.lineage = lineage(operation, details)?;
        // Boxed, because the states of these are large for the stack of a thread.
        boxed(|| session.publish(manifest)).await
    }

    /// Writes the index of a segment without the deleted rows. Returns the segment, still without column groups, and the keys of its last
    /// row.
    async fn index_of_rest(
        &self,
        store: &Store,
        edited: &Edited<'_>,
        first_row: u64,
        before: &Before,
        progress: &Progress,
    ) -> Result<(Segment, Option<Edge>)> {
        let (schema, edits, rows) = (self.base.schema().clone(), Arc::clone(&edited.edits), edited.segment.rows);
        let (index, before) = try_join(edited.index(), before.edge(self.base)).await?;
        let object = index.object.ok_or_else(|| Error::internal("the index was not read"))?;
        let mut tracker = match before {
            Some(edge) => SequenceTracker::after(&schema, first_row, edge),
            None => SequenceTracker::new(&schema),
        };
        let mut writer = SegmentIndex::new(&schema, self.base.manifest().has_tails())?;
        let (writer, tracker) = offload_large(object.len(), move |stop| {
            let mut row = 0;
            for batch in index_reader(object, &schema, rows)? {
                stop.check()?;
                let batch = batch?;
                let stays = |place: usize| !edits.contains_key(&(row + place as u64));
                let mask: BooleanArray = (0..batch.num_rows()).map(|place| Some(stays(place))).collect();
                row += batch.num_rows() as u64;
                let kept = filter_record_batch(&batch, &mask).map_err(|error| Error::internal(error.to_string()))?;
                if kept.num_rows() > 0 {
                    writer.push(&kept, &mut tracker)?;
                }
            }
            Ok((writer, tracker))
        })
        .await?;
        progress.add(rows);
        Ok((writer.finish(store, first_row).await?, tracker.last().cloned()))
    }

    /// Applies the edits to the column groups of a segment, and stores them. Returns all groups of the segment, and the bytes of new
    /// objects.
    async fn groups(&self, store: &Store, edited: &Edited<'_>, progress: &Progress) -> Result<(Vec<GroupSegment>, u64)> {
        let (mut groups, mut bytes) = (edited.segment.groups.clone(), 0);
        let identity: BTreeMap<u32, u32> = (1..=self.base.manifest().stores.len() as u32).map(|owner| (owner, owner)).collect();
        let identity = &identity;
        let work = self.groups.iter().map(|number| edited.segment.groups[*number].blocks.saturating_mul(BLOCK_BYTES));
        for wave in waves(work, BYTES_TOGETHER, GROUPS_TOGETHER) {
            let wave = &self.groups[wave];
            // The layouts that it has read go with it.
            let part = &self.base.of_segment(edited.bare.clone(), edited.segment);
            let options = &self.options_for(wave.len());
            let written = wave.iter().map(|number| async move {
                let (written, new_bytes) = self.group(store, (edited, part), *number, (options, progress)).await?;
                let stored = commit::put_group(store, written, identity).await?;
                Ok::<_, Error>((*number, new_bytes, stored))
            });
            for (number, new_bytes, stored) in try_join_all(written.collect::<Vec<_>>()).await? {
                bytes += new_bytes + stored.layout.bytes + stored.hashes.bytes;
                groups[number] = stored;
            }
        }
        Ok((groups, bytes))
    }

    /// Applies the edits to a column group of a segment. Returns the group, and the bytes of new chunks.
    async fn group(
        &self,
        store: &Store,
        (edited, part): (&Edited<'_>, &Table),
        number: usize,
        (options, progress): (&WriteOptions, &Progress),
    ) -> Result<(WrittenGroup, u64)> {
        let Edited { segment, edits, .. } = edited;
        let base = self.base;
        let group = &base.schema().groups()[number];
        let stored = &segment.groups[number];
        let hashes = part.block_hashes(stored);
        let (layout, hashes, ReadIndex { sequences, .. }) = try_join3(part.layout(number), hashes, edited.index()).await?;
        let runs = layout.runs();
        // Every block: the number of its run, its number within the run, and its rows.
        let mut blocks: Vec<(usize, usize, std::ops::Range<u64>)> = Vec::new();
        let mut row = 0;
        for (run_number, run) in runs.iter().enumerate() {
            for (block, rows) in run.block_rows.iter().enumerate() {
                blocks.push((run_number, block, row..row + u64::from(rows)));
                row += u64::from(rows);
            }
        }
        if blocks.len() != hashes.len() {
            return Err(Error::corrupt(format!(
                "column group `{}`: found {} for {}",
                group.name,
                counted(hashes.len(), "hash"),
                counted(blocks.len(), "block")
            )));
        }
        let starts_at = |row: u64| match row {
            0 => !segment.continues,
            _ => sequences.around(row).is_some_and(|rows| rows.start == row),
        };
        // Rows written between kept blocks: (position in `pieces`, number of rows). Edited blocks are new, so no known blocks.
        let mut writer = GroupsWriter::new(store.clone(), base.schema(), [number], options, None)?;
        let (mut pieces, mut written_rows): (Vec<Option<Piece>>, Vec<(usize, u64)>) = Default::default();
        let mut next = 0;
        let mut gone = Gone::default();
        while let Some((run, block, rows)) = blocks.get(next) {
            if edits.range(rows.clone()).next().is_none() {
                progress.add(rows.end - rows.start);
                pieces.push(Some(Piece::Kept(*run, *block)));
                next += 1;
                continue;
            }
            let mut count = 0;
            // Rewrite until an old and a new block end at the same row. All blocks end before the first row of a sequence.
            while let Some((run, block, rows)) = blocks.get(next) {
                gone.add(&runs[*run], *block);
                let stay: Vec<u64> = rows.clone().filter(|row| edits.get(row) != Some(&Row::Deleted)).collect();
                if !stay.is_empty() {
                    let batch = self.rows_of(part, number, &stay, edits).await?;
                    // No old block crosses a sequence, and the new block is ended before the next sequence starts.
                    let starts = vec![false; stay.len()];
                    count += stay.len() as u64;
                    writer.append(&batch, &starts).await?;
                }
                next += 1;
                progress.add(rows.end - rows.start);
                let ends = blocks.get(next).is_none_or(|(_, _, rows)| starts_at(rows.start));
                if writer.is_between_blocks() || ends {
                    break;
                }
            }
            if count > 0 {
                writer.end_block()?;
                written_rows.push((pieces.len(), count));
                pieces.push(None);
            }
        }
        let (written, sharing) = writer.finish().await?;
        let written = written.into_iter().next().ok_or_else(|| Error::internal("nothing was written"))?;
        let columns = gone.out_of(stored, &written.columns);
        let kept_blocks: BTreeMap<(usize, usize), Hash> =
            blocks.iter().zip(&hashes).map(|((run, block, _), hash)| ((*run, *block), *hash)).collect();
        let spliced = spliced(runs, &kept_blocks, &written, &pieces, &written_rows)?;
        Ok((WrittenGroup { columns, ..spliced }, sharing.new_bytes))
    }

    /// Returns the options for each of so many column groups that are written together, with the cut limits of the table.
    fn options_for(&self, groups: usize) -> WriteOptions {
        let write_memory = self.options.write_memory / groups.max(1);
        WriteOptions { cuts: self.base.manifest().cuts, write_memory, ..self.options.clone() }
    }

    /// Reads rows of a column group of a segment, in all its columns, and applies the patch to them.
    async fn rows_of(&self, part: &Table, number: usize, rows: &[u64], edits: &BTreeMap<u64, Row>) -> Result<RecordBatch> {
        let schema = self.base.schema();
        let ids = &schema.groups()[number].columns;
        let found = RowLoader::of_group_columns(part, ids).take(rows).await?;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for id in ids {
            let column = schema.column(*id).ok_or_else(|| Error::internal(format!("no column {}", id.0)))?;
            let stored = found.column(&column.name)?;
            let patched = self.patch.iter().flatten().find(|(patched, _)| patched == id);
            let array = match patched {
                None => ArrayRef::clone(stored),
                Some((_, patch)) => {
                    let from = rows.iter().enumerate().map(|(place, row)| match edits.get(row) {
                        Some(Row::Patched(number)) => (1, *number),
                        _ => (0, place),
                    });
                    let from: Vec<(usize, usize)> = from.collect();
                    let mixed = interleave(&[stored.as_ref() as &dyn Array, patch.as_ref()], &from);
                    mixed.map_err(|error| Error::invalid(format!("column `{}`: {error}", column.name)))?
                }
            };
            fields.push(Field::new(&column.name, array.data_type().clone(), true));
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(ArrowSchema::new(fields).into(), arrays, &options);
        batch.map_err(|error| Error::internal(error.to_string()))
    }
}

/// Rows and stored bytes of the blocks that are not kept.
#[derive(Debug, Default)]
struct Gone {
    rows: u64,
    bytes: u64,
    /// Stored bytes of the pages of each column, over the blocks whose layout has page lengths.
    pages: Vec<u64>,
    /// Stored bytes of the other blocks.
    unmeasured_bytes: u64,
}

impl Gone {
    fn add(&mut self, run: &LayoutRun, block: usize) {
        self.rows += u64::from(run.block_rows.get(block));
        let bytes = 8 * u64::from(run.lengths.get(block));
        self.bytes += bytes;
        self.pages.resize(run.chains.len(), 0);
        let lengths: Option<Vec<u64>> =
            (0..run.chains.len()).map(|page| run.page_range(block, page).map(|range| range.end - range.start)).collect();
        match lengths {
            Some(lengths) => self.pages.iter_mut().zip(lengths).for_each(|(sum, length)| *sum += length),
            None => self.unmeasured_bytes += bytes,
        }
    }

    /// Returns the bytes of each column without these blocks and with the written ones. Logical bytes, and stored bytes where the
    /// layout has no page lengths, are estimated from the average of the column.
    fn out_of(&self, stored: &GroupSegment, written: &[ColumnBytes]) -> Vec<ColumnBytes> {
        let share = |sum: u64, part: u64, whole: u64| (u128::from(sum) * u128::from(part) / u128::from(whole.max(1))) as u64;
        let columns = stored.columns.iter().enumerate().map(|(page, before)| {
            let estimated = share(before.stored, self.unmeasured_bytes, stored.stored_bytes);
            let from_pages = self.pages.get(page).copied().unwrap_or(0);
            let new = written.get(page).copied().unwrap_or_default();
            ColumnBytes {
                stored: before.stored.saturating_sub(from_pages + estimated) + new.stored,
                logical: before.logical.saturating_sub(share(before.logical, self.bytes, stored.stored_bytes)) + new.logical,
            }
        });
        columns.collect()
    }
}

/// Joins the runs and hashes of kept and written blocks in row order.
fn spliced(
    runs: &[LayoutRun],
    hashes: &BTreeMap<(usize, usize), Hash>,
    written: &WrittenGroup,
    pieces: &[Option<Piece>],
    written_rows: &[(usize, u64)],
) -> Result<WrittenGroup> {
    let mut new_blocks = written
        .runs
        .iter()
        .enumerate()
        .flat_map(|(number, run)| (0..run.lengths.len()).map(move |block| (number, block, run.block_rows.get(block))))
        .zip(&written.hashes);
    let rows_at: BTreeMap<usize, u64> = written_rows.iter().copied().collect();
    let (mut all, mut out): (Vec<Piece>, WrittenGroup) = Default::default();
    for (place, piece) in pieces.iter().enumerate() {
        match piece {
            Some(Piece::Kept(run, block)) => {
                all.push(Piece::Kept(*run, *block));
                out.hashes.push(*hashes.get(&(*run, *block)).ok_or_else(|| Error::internal("a block without a hash"))?);
            }
            _ => {
                let mut left = rows_at.get(&place).copied().unwrap_or(0);
                while left > 0 {
                    let ((run, block, rows), hash) =
                        new_blocks.next().ok_or_else(|| Error::internal("fewer blocks than rows"))?;
                    left = left.checked_sub(u64::from(rows)).ok_or_else(|| Error::internal("a block across a kept one"))?;
                    all.push(Piece::Written(run, block));
                    out.hashes.push(*hash);
                }
            }
        }
    }
    let mut next = 0;
    while let Some(first) = all.get(next) {
        let start = next;
        next += 1;
        while all.get(next).is_some_and(|piece| match (first, piece) {
            (Piece::Kept(run, block), Piece::Kept(other, here)) | (Piece::Written(run, block), Piece::Written(other, here)) => {
                run == other && *here == block + (next - start)
            }
            _ => false,
        }) {
            next += 1;
        }
        let (run, block) = match first {
            Piece::Kept(run, block) => (&runs[*run], *block),
            Piece::Written(run, block) => (&written.runs[*run], *block),
        };
        out.runs.push(run.slice(block..block + (next - start))?);
    }
    Ok(out)
}
