//! Deep verification: every object of a version, every byte of it, against the hashes that name it and against each other; and,
//! when asked to, of all versions and of the tables behind a view. What was not looked at is said.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bytes::Bytes;
use serde::Serialize;

use super::version::Table;
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{
        BlockDirectory, ChunkDirectory, ChunkHeader, LayoutRun, PagePlace, SequenceTracker, ViewSource, decode_page,
        index_reader, logical_block_hash, page_range, read_hashes,
    },
    id::{ChunkId, Hash},
    offload::offload,
    schema::ColumnType,
};

/// What a verification found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    /// Objects read, manifests included.
    pub objects: u64,
    /// Chunks among them.
    pub chunks: u64,
    /// Blocks decoded and compared with their logical hashes.
    pub blocks: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Everything that is not as it was written; empty for a sound table.
    pub damage: Vec<Damage>,
    /// What was not looked at: other versions, and the rows of the tables behind a view.
    pub not_checked: Vec<String>,
}

/// How far a verification goes beyond one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReach {
    /// Every version that is there. What several versions have is read once.
    pub all_versions: bool,
    /// Of a view, the versions of the tables behind it.
    pub sources: bool,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, Serialize)]
pub struct Damage {
    /// The object.
    pub object: String,
    /// The place in it, the expected and the found.
    pub problem: String,
}

impl Verification {
    /// Damage is noted; an error that says nothing about the stored bytes (no answer, no rights) ends the verification.
    fn note<T>(&mut self, object: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Unsupported) => {
                self.damage.push(Damage { object: object.to_owned(), problem: error.to_string() });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

impl Table {
    /// Reads and checks everything this version consists of; `progress` is told (bytes done, bytes in all). Of a view these are
    /// its own objects, and the manifests of the tables behind it.
    ///
    /// # Errors
    /// Errors of the store that say nothing about the bytes; damage is not an error but listed.
    pub async fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        self.verify_more(VerifyReach::default(), progress).await
    }

    /// As [`Table::verify`], and other versions or the tables behind a view too. Damage there is listed with its version, or
    /// with its table.
    ///
    /// ```no_run
    /// # async fn example(view: tetrys::Table) -> tetrys::Result<()> {
    /// use tetrys::table::VerifyReach;
    /// let found = view.verify_more(VerifyReach { all_versions: true, sources: true }, |_, _| {}).await?;
    /// assert!(found.damage.is_empty() && found.not_checked.is_empty());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Table::verify`]; of all versions, those of a store that does not list its objects.
    pub async fn verify_more(&self, reach: VerifyReach, mut progress: impl FnMut(u64, u64)) -> Result<Verification> {
        // What is asked about is the store, so what was read before and what is kept near do not count.
        let this = if self.store().is_cached() { self.uncached() } else { self.clone() };
        let mut found = Verification::default();
        let mut seen = Seen::default();
        let mut tables = vec![(String::new(), this.clone())];
        match commit::versions(this.store()).await {
            Ok(versions) => {
                let mut others: Vec<u64> = versions.into_iter().filter(|version| *version != this.version()).collect();
                others.sort_unstable();
                if reach.all_versions {
                    for version in others {
                        let place = format!("version {version}: ");
                        let opened = Self::open_version(this.store().clone(), version).await;
                        let opened = opened.map(|table| table.allow(this.inner.allowed.iter().cloned()));
                        if let Some(table) = found.note(&format!("{place}manifest"), opened)? {
                            tables.push((place, table));
                        }
                    }
                } else if !others.is_empty() {
                    found.not_checked.push(format!("versions: {}", ranges(&others)));
                }
            }
            Err(error) if reach.all_versions => return Err(error),
            Err(_) => found.not_checked.push("other versions, which this store does not list".to_owned()),
        }
        let (mut place, mut done) = (0, 0);
        while let Some((prefix, table)) = tables.get(place).cloned() {
            let before = found.damage.len();
            table.verify_stored(&mut found, &mut seen, |bytes, total| progress(bytes, done + total)).await?;
            for damage in found.damage.iter_mut().skip(before) {
                damage.object.insert_str(0, &prefix);
            }
            done = found.bytes;
            place += 1;
            // Sources that cannot be opened have been noted.
            for source in table.sources().await.iter().flat_map(|sources| sources.iter()) {
                let prefix = format!("{} version {}: ", source.url(), source.version());
                match reach.sources {
                    true if tables.iter().any(|(held, _)| *held == prefix) => {}
                    true => {
                        let source = if source.store().is_cached() { source.uncached() } else { source.clone() };
                        tables.push((prefix, source));
                    }
                    false => {
                        let rows = format!("rows of {} version {}", source.url(), source.version());
                        if !found.not_checked.contains(&rows) {
                            found.not_checked.push(rows);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    fn uncached(&self) -> Self {
        let fresh = Self::of(self.store().uncached(), self.manifest().clone(), self.manifest_hash(), self.inner.allowed.clone());
        if let Some(sources) = self.inner.sources.get() {
            let _ = fresh.inner.sources.set(Arc::clone(sources));
        }
        fresh
    }

    async fn verify_stored(&self, found: &mut Verification, seen: &mut Seen, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        let manifest = self.manifest();
        found.objects += 1;
        let (start, before) = (found.bytes, found.damage.len());
        let objects = manifest.segments.iter().map(|segment| segment.index.bytes).sum::<u64>();
        let stored = manifest.segments.iter().flat_map(|segment| &segment.groups).map(|group| group.stored_bytes).sum::<u64>();
        let total = start + objects + stored;
        for segment in &manifest.segments {
            let name = segment.index.name_in("index");
            if !seen.is_new(self, &name) {
                continue;
            }
            let index = self.object("index", &segment.index).await;
            if let Some(bytes) = found.note(&name, index)? {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
                let rows = index_rows(bytes, &manifest.schema, segment.rows);
                found.note(&name, rows)?;
            }
            progress(found.bytes, total);
        }
        // An index that is damaged has been noted, and would be again.
        if found.damage.len() == before {
            let sequences = self.verify_sequences().await;
            found.note("index", sequences)?;
        }
        for (name, object) in &manifest.attachments {
            if !seen.is_new(self, &object.name_in("attachments")) {
                continue;
            }
            let bytes = self.object("attachments", object).await;
            if let Some(bytes) = found.note(&format!("attachment `{name}`"), bytes)? {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
            }
        }
        if manifest.view.is_some() {
            self.verify_view(found).await?;
        }
        for number in 0..manifest.schema.groups().len() {
            self.verify_group(number, found, seen, |bytes| progress(bytes, total)).await?;
        }
        Ok(())
    }

    /// Join maps, and the sources as far as their manifests: each is a table that can be verified by itself.
    async fn verify_view(&self, found: &mut Verification) -> Result<()> {
        let sources = self.view().map(|view| view.sources.as_slice()).unwrap_or_default();
        let before = found.damage.len();
        // Collected: a future that holds this iterator could not be sent to another thread.
        let joins: Vec<_> = sources.iter().flat_map(ViewSource::maps).collect();
        for object in joins {
            let bytes = self.object("joins", object).await;
            if let Some(bytes) = found.note(&object.name_in("joins"), bytes)? {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
            }
        }
        if found.damage.len() == before {
            let rows = self.view_rows().await;
            found.note("rows of the view", rows)?;
        }
        let sources = self.sources().await;
        found.note("sources of the view", sources)?;
        Ok(())
    }

    /// Windows believe the recorded sequences; here they are compared with the values that make them.
    async fn verify_sequences(&self) -> Result<()> {
        let sequences = self.sequences().await?;
        let mut tracker = SequenceTracker::new(self.schema());
        let (mut number, mut row) = (0, 0);
        for batch in self.index_batches().await? {
            let batch = batch?;
            for start in tracker.push(&batch).map_err(|error| Error::corrupt(error.to_string()))? {
                let (start, recorded) = (row + start as u64, sequences.rows(number));
                if recorded.as_ref().map(|rows| rows.start) != Some(start) {
                    return Err(Error::corrupt(format!(
                        "sequence {number} starts at row {start}, recorded are its rows {recorded:?}"
                    )));
                }
                number += 1;
            }
            row += batch.num_rows() as u64;
        }
        if number != sequences.len() {
            return Err(Error::corrupt(format!("{number} sequences, recorded are {}", sequences.len())));
        }
        Ok(())
    }

    async fn verify_group(
        &self,
        number: usize,
        found: &mut Verification,
        seen: &mut Seen,
        mut progress: impl FnMut(u64),
    ) -> Result<()> {
        let group = &self.schema().groups()[number];
        let types: Vec<ColumnType> =
            group.columns.iter().filter_map(|id| self.schema().column(*id)).map(|column| column.ty.clone()).collect();
        let mut hashes = Vec::new();
        for segment in &self.manifest().segments {
            let stored = &segment.groups[number];
            let name = stored.hashes.name_in("hashes");
            let read = self.object("hashes", &stored.hashes).await.and_then(|bytes| read_hashes(bytes, stored.blocks));
            match found.note(&name, read)? {
                Some(read) => hashes.extend(read.into_iter().map(Some)),
                None => hashes.extend((0..stored.blocks).map(|_| None)),
            }
            found.objects += 2;
            found.bytes += stored.layout.bytes + stored.hashes.bytes;
        }
        let layout = self.layout(number).await;
        let Some(layout) = found.note(&format!("layout of column group `{}`", group.name), layout)? else { return Ok(()) };
        // A chunk may serve several runs: it is read once.
        let mut runs: BTreeMap<(u32, ChunkId), Vec<(usize, &LayoutRun)>> = BTreeMap::new();
        let mut block = 0;
        for run in layout.runs() {
            runs.entry((run.owner, run.chunk)).or_default().push((block, run));
            block += run.lengths.len();
        }
        if block != hashes.len() {
            found.damage.push(Damage {
                object: format!("layout of column group `{}`", group.name),
                problem: format!("{block} blocks, the manifest says {}", hashes.len()),
            });
            return Ok(());
        }
        for ((owner, chunk), runs) in runs {
            let name = chunk.object_name();
            let Some(store) = found.note(&name, self.store_of(owner).await)? else { continue };
            let size = runs.first().map_or(0, |(_, run)| run.chunk_bytes);
            let job: Job =
                runs.iter().map(|(first, run)| ((*run).clone(), hashes[*first..*first + run.lengths.len()].to_vec())).collect();
            if !seen.is_new_job(store.url(), chunk, &types, &job) {
                continue;
            }
            let read = || async {
                let bytes = store.get_exact(&name, size).await?;
                let hash = if store.is_local() { chunk.0 } else { Hash::of(&bytes) };
                match hash == chunk.0 {
                    true => Ok(bytes),
                    false => Err(Error::corrupt(format!("blake3 {hash}, its name says {chunk}"))),
                }
            };
            let bytes = store.twice_where_damaged(read).await;
            let Some(bytes) = found.note(&name, bytes)? else { continue };
            (found.objects, found.chunks, found.bytes) = (found.objects + 1, found.chunks + 1, found.bytes + bytes.len() as u64);
            let types = types.clone();
            let checked = offload(move |_| verify_chunk(chunk, &bytes, &types, job)).await;
            found.blocks += found.note(&name, checked)?.unwrap_or(0);
            progress(found.bytes);
        }
        Ok(())
    }
}

/// The runs of a version that point into a chunk, and the hashes of their blocks.
type Job = Vec<(LayoutRun, Vec<Option<Hash>>)>;

/// The types of the columns, and the runs that were checked with them.
type CheckedRuns = (Vec<ColumnType>, Job);

/// What was checked before: versions of a table have most objects in common.
#[derive(Default)]
struct Seen {
    objects: BTreeSet<String>,
    chunks: BTreeMap<(String, ChunkId), Vec<CheckedRuns>>,
}

impl Seen {
    fn is_new(&mut self, table: &Table, name: &str) -> bool {
        self.objects.insert(format!("{}/{name}", table.url()))
    }

    /// Whether these runs of a chunk were not checked yet; whose chunk it is makes no difference to what it holds.
    fn is_new_job(&mut self, url: &str, chunk: ChunkId, types: &[ColumnType], job: &Job) -> bool {
        let plain: Job = job.iter().map(|(run, hashes)| (LayoutRun { owner: 0, ..run.clone() }, hashes.clone())).collect();
        let known = self.chunks.entry((url.to_owned(), chunk)).or_default();
        if known.iter().any(|(held, runs)| held == types && *runs == plain) {
            return false;
        }
        known.push((types.to_vec(), plain));
        true
    }
}

/// `1..=4, 7` for rising numbers.
fn ranges(numbers: &[u64]) -> String {
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => parts.push((*number, *number)),
        }
    }
    let part = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}..={last}") };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn index_rows(bytes: Bytes, schema: &crate::schema::Schema, rows: u64) -> Result<()> {
    let mut found = 0;
    for batch in index_reader(bytes, schema, rows)? {
        found += batch?.num_rows() as u64;
    }
    if found == rows { Ok(()) } else { Err(Error::corrupt(format!("{found} rows, the manifest says {rows}"))) }
}

/// Checks a whole chunk against the runs that point into it; gives the number of blocks checked.
fn verify_chunk(chunk: ChunkId, bytes: &Bytes, types: &[ColumnType], runs: Job) -> Result<u64> {
    let hash = Hash::of(bytes);
    if hash != chunk.0 {
        return Err(Error::corrupt(format!("blake3 {hash}, its name says {chunk}")));
    }
    let header = ChunkHeader::parse(bytes)?;
    let directory = ChunkDirectory::parse(bytes, &header)?;
    if !header.columns.iter().map(|(ty, _)| ty).eq(types) {
        return Err(Error::corrupt("chunk header: its column types are not those of the column group"));
    }
    let mut checked = 0;
    for (run, hashes) in runs {
        if header.seed != run.seed || !header.columns.iter().map(|(_, chain)| chain).eq(run.chains.iter()) {
            return Err(Error::corrupt("chunk header: seed or codec chains are not those of the layout"));
        }
        for (number, hash) in hashes.into_iter().enumerate() {
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

/// Where the layout says the pages lie, they lie.
fn verify_page_lengths(header: &ChunkHeader, run: &LayoutRun, number: usize, block: &Bytes) -> Result<()> {
    if run.pages.is_none() {
        return Ok(());
    }
    let directory = BlockDirectory::parse(block, header.seed, run.first_block + number as u32, header.columns.len())?;
    let start = run.first_offset + 8 * run.lengths.sum_of_first(number);
    for page in 0..header.columns.len() {
        let found = page_range(&directory, page)?;
        let said = run.page_range(number, page);
        if said != Some(start + found.start as u64..start + found.end as u64) {
            return Err(Error::corrupt(format!("page {page} at {found:?} in its block, the layout says {said:?} in the chunk")));
        }
    }
    Ok(())
}

fn verify_block(header: &ChunkHeader, ordinal: u32, rows: u32, block: Bytes, hash: Option<Hash>) -> Result<()> {
    let directory = BlockDirectory::parse(&block, header.seed, ordinal, header.columns.len())?;
    if directory.rows != rows {
        return Err(Error::corrupt(format!("{} rows, the layout says {rows}", directory.rows)));
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
