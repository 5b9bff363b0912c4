//! Verification of column groups: their layouts, their hashes, and the chunks with their blocks. Reads and checks several chunks at a time,
//! and reports them in the order of the table.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use tokio::sync::Semaphore;

use super::verify::{Part, Seen, Verification, Work, is_damage};
use crate::{
    error::{Error, Result, counted},
    format::{
        BlockDirectory, ChunkDirectory, ChunkHeader, GroupSegment, LayoutRun, PagePlace, Segment, decode_page,
        logical_block_hash, page_range,
    },
    id::{ChunkId, Hash},
    schema::ColumnType,
    table::version::table::Table,
    work::{Ahead, Stop, offload, offload_large, threads},
};

/// Number of segments of a column group whose layouts and hashes are read at a time.
const SEGMENTS: usize = 16;
/// Number of chunks that are read and checked at a time.
const CHUNKS: usize = 32;
/// Most bytes of these chunks, in MiB. A larger chunk is read alone.
const ROOM: u32 = 256;

/// The result of the check of one object, or of several.
#[derive(Default)]
struct Checked {
    objects: u64,
    chunks: u64,
    blocks: u64,
    bytes: u64,
    /// Bytes that are done, as the manifest counts them.
    done: u64,
    /// The names of damaged objects, and their errors.
    failed: Vec<(String, Error)>,
}

impl Checked {
    /// Records damage and continues, as [`Verification::note`] does.
    fn note<T>(&mut self, object: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Err(error) if is_damage(&error) => {
                self.failed.push((object.to_owned(), error));
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

/// A run of blocks in a chunk, and the hash of each block; `None` if the hashes object could not be read.
type CheckedRun = (LayoutRun, Vec<Option<Hash>>);

/// The chunks of a column group, with the runs that lie in them. Several runs may lie in one chunk, which is read once.
type ChunkRuns = BTreeMap<(u32, ChunkId), Vec<CheckedRun>>;

/// The table whose column groups are checked, and the bounds of these checks.
#[derive(Clone)]
struct Checks {
    table: Table,
    seen: Seen,
    /// The memory for chunks, in MiB.
    room: Arc<Semaphore>,
    /// The threads that decode chunks.
    threads: Arc<Semaphore>,
}

impl Table {
    /// Checks the stored objects of all column groups, except for segments that were checked in another version.
    pub(super) async fn verify_groups(
        &self,
        found: &mut Verification,
        seen: &Seen,
        work: &mut Work<impl FnMut(u64, u64)>,
    ) -> Result<()> {
        let checks = Checks {
            table: self.clone(),
            seen: seen.clone(),
            room: Arc::new(Semaphore::new(ROOM as usize)),
            threads: Arc::new(Semaphore::new(threads())),
        };
        // A view has none of its own.
        let groups = self.manifest().schema.groups().len();
        let mut running = VecDeque::new();
        let mut next = Ahead::start(checks.clone().group(0)).await;
        for number in 0..groups {
            let (checked, chunks) = next.done().await?;
            // While the chunks of a group are checked, the layouts and hashes of the next one are read.
            next = match number + 1 < groups {
                true => Ahead::start(checks.clone().group(number + 1)).await,
                false => Ahead::Done(Ok(<(Checked, ChunkRuns)>::default())),
            };
            running.push_back(Ahead::Done(Ok(checked)));
            for (place, runs) in chunks {
                if running.len() >= CHUNKS
                    && let Some(first) = running.pop_front()
                {
                    found.add(first.done().await?, work)?;
                }
                running.push_back(Ahead::start(checks.clone().chunk(number, place, runs)).await);
            }
        }
        for check in running {
            found.add(check.done().await?, work)?;
        }
        Ok(())
    }
}

impl Verification {
    fn add(&mut self, checked: Checked, work: &mut Work<impl FnMut(u64, u64)>) -> Result<()> {
        self.objects += checked.objects;
        self.chunks += checked.chunks;
        self.blocks += checked.blocks;
        self.bytes += checked.bytes;
        for (object, error) in checked.failed {
            self.note(&object, Err::<(), _>(error))?;
        }
        work.add(checked.done);
        Ok(())
    }
}

impl Checks {
    /// Reads the layouts and the hashes of a column group.
    async fn group(self, number: usize) -> Result<(Checked, ChunkRuns)> {
        let (table, mut checked, mut chunks) = (&self.table, Checked::default(), ChunkRuns::new());
        let Some(group) = table.manifest().schema.groups().get(number) else { return Ok((checked, chunks)) };
        let place = format!("layout of column group `{}`", group.name);
        let segments = table.manifest().segments.iter();
        let new: Vec<(&Segment, &GroupSegment)> = segments
            .map(|segment| (segment, &segment.groups[number]))
            .filter(|(segment, stored)| self.seen.is_new(table.group_part(number, segment.rows, stored)))
            .collect();
        let reads: Vec<_> = new.into_iter().map(|(segment, stored)| self.segment(number, segment, stored)).collect();
        let mut reads = stream::iter(reads).buffered(SEGMENTS);
        while let Some((stored, hashes, runs)) = reads.next().await {
            let hashes = checked.note(&stored.hashes.name_in("hashes"), hashes)?;
            checked.objects += 2;
            checked.bytes += stored.layout.bytes + stored.hashes.bytes;
            checked.done += stored.layout.bytes + stored.hashes.bytes;
            let Some(runs) = checked.note(&place, runs)? else {
                checked.done += stored.stored_bytes;
                continue;
            };
            let mut block = 0;
            for run in runs {
                let end = block + run.lengths.len();
                let of_run = (block..end).map(|block| hashes.as_ref().and_then(|hashes| hashes.get(block).copied())).collect();
                block = end;
                chunks.entry((run.owner, run.chunk)).or_default().push((run, of_run));
            }
        }
        Ok((checked, chunks))
    }

    /// Reads the hashes and the layout of a column group in a segment.
    async fn segment<'a>(
        &self,
        number: usize,
        segment: &Segment,
        stored: &'a GroupSegment,
    ) -> (&'a GroupSegment, Result<Vec<Hash>>, Result<Vec<LayoutRun>>) {
        let (hashes, runs) = futures::join!(self.table.block_hashes(stored), self.table.segment_layout(segment, number));
        (stored, hashes, runs)
    }

    /// Reads a chunk and checks it against the runs that were not checked before, if there are any.
    async fn chunk(self, number: usize, (owner, chunk): (u32, ChunkId), runs: Vec<CheckedRun>) -> Result<Checked> {
        let (name, types) = (chunk.object_name(), self.table.types_of(number));
        let done = runs.iter().map(|(run, _)| run.stored_bytes()).sum();
        let mut checked = Checked { done, ..Checked::default() };
        let Some(store) = checked.note(&name, self.table.store_of(owner).await)? else { return Ok(checked) };
        let mut runs = runs;
        runs.retain(|run| self.seen.is_new(run_part(store.url(), &types, run)));
        let Some(size) = runs.first().map(|(run, _)| run.chunk_bytes) else { return Ok(checked) };
        let room = size.div_ceil(1 << 20).min(ROOM.into()) as u32;
        let _room = self.room.acquire_many(room).await.map_err(|_| Error::internal("the memory for chunks is closed"))?;
        let read = || async {
            let bytes = store.get_exact(&name, size).await?;
            let read = bytes.clone();
            let hash =
                if store.is_local() { chunk.0 } else { offload_large(size as usize / 4, move |_| Ok(Hash::of(&read))).await? };
            match hash == chunk.0 {
                true => Ok(bytes),
                false => Err(Error::corrupt(format!("found blake3 {hash}, its name has {chunk}"))),
            }
        };
        let bytes = store.twice_where_damaged(read).await;
        let Some(bytes) = checked.note(&name, bytes)? else { return Ok(checked) };
        (checked.objects, checked.chunks, checked.bytes) = (1, 1, bytes.len() as u64);
        let _thread = self.threads.acquire().await.map_err(|_| Error::internal("the threads for chunks are closed"))?;
        let blocks = offload(move |stop| verify_chunk(chunk, &bytes, &types, runs, stop)).await;
        checked.blocks = checked.note(&name, blocks)?.unwrap_or(0);
        Ok(checked)
    }
}

/// Returns a hash that identifies a run and its hashes. It does not depend on the owner number, which does not change the bytes.
fn run_part(url: &str, types: &[ColumnType], (run, hashes): &CheckedRun) -> Part {
    let run = LayoutRun { owner: 0, ..run.clone() };
    Hash::of(format!("{url} {types:?} {run:?} {hashes:?}").as_bytes())
}

/// Checks a whole chunk against the runs that point into it. Returns the number of blocks checked.
fn verify_chunk(chunk: ChunkId, bytes: &Bytes, types: &[ColumnType], runs: Vec<CheckedRun>, stop: &Stop) -> Result<u64> {
    let hash = Hash::of(bytes);
    if hash != chunk.0 {
        return Err(Error::corrupt(format!("found blake3 {hash}, its name has {chunk}")));
    }
    let header = ChunkHeader::parse(bytes)?;
    let directory = ChunkDirectory::parse(bytes, &header)?;
    if !header.columns.iter().map(|(ty, _)| ty).eq(types) {
        return Err(Error::corrupt("chunk header: the column types differ from those of the column group"));
    }
    let mut checked = 0;
    for (run, hashes) in runs {
        if header.seed != run.seed || !header.columns.iter().map(|(_, chain)| chain).eq(run.chains.iter()) {
            return Err(Error::corrupt("chunk header: the seed or the codec chains differ from those of the layout"));
        }
        for (number, hash) in hashes.into_iter().enumerate() {
            stop.check()?;
            let ordinal = run.first_block as usize + number;
            let start = run.first_offset + 8 * run.lengths.sum_of_first(number);
            let end = start + 8 * u64::from(run.lengths.get(number));
            let place = format!("block {ordinal} at {start}..{end}");
            let expected = (start as usize..end as usize, run.block_rows.get(number));
            if directory.blocks.get(ordinal) != Some(&expected) {
                return Err(Error::corrupt(format!("{place}: the chunk's directory has {:?}", directory.blocks.get(ordinal))));
            }
            let block = bytes.slice(expected.0);
            verify_page_lengths(&header, &run, number, &block).map_err(|error| error.at(&place))?;
            verify_block(&header, ordinal as u32, expected.1, block, hash).map_err(|error| error.at(place))?;
            checked += 1;
        }
    }
    Ok(checked)
}

/// Checks that the pages of a block lie where the layout says, if the layout has page lengths.
fn verify_page_lengths(header: &ChunkHeader, run: &LayoutRun, number: usize, block: &Bytes) -> Result<()> {
    if run.pages.is_none() {
        return Ok(());
    }
    let directory = BlockDirectory::parse(block, header.seed, run.first_block + number as u32, header.columns.len())?;
    let start = run.first_offset + 8 * run.lengths.sum_of_first(number);
    for page in 0..header.columns.len() {
        let found = page_range(&directory, page)?;
        let range = run.page_range(number, page);
        if range != Some(start + found.start as u64..start + found.end as u64) {
            return Err(Error::corrupt(format!("page {page} at {found:?} in its block, the layout says {range:?} in the chunk")));
        }
    }
    Ok(())
}

fn verify_block(header: &ChunkHeader, ordinal: u32, rows: u32, block: Bytes, hash: Option<Hash>) -> Result<()> {
    let directory = BlockDirectory::parse(&block, header.seed, ordinal, header.columns.len())?;
    if directory.rows != rows {
        return Err(Error::corrupt(format!("{}, the layout says {rows}", counted(directory.rows, "row"))));
    }
    let mut pages = Vec::new();
    for (page, (ty, chain)) in header.columns.iter().enumerate() {
        let stored = block.slice(page_range(&directory, page)?);
        let place = PagePlace { seed: header.seed, ordinal, page: page as u16, rows, ty, chain };
        let decoded = decode_page(stored, place)?;
        decoded.to_array(ty)?;
        pages.push((ty.to_string(), decoded.to_canonical()));
    }
    let found = logical_block_hash(rows, pages.iter().map(|(ty, page)| (ty.as_str(), page)));
    match hash {
        Some(hash) if hash != found => Err(Error::corrupt(format!("logical hash {found}, the hashes object says {hash}"))),
        _ => Ok(()),
    }
}
