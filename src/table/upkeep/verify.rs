//! Deep verification: reads every object of a version, and compares it with the hash that names it and with the other objects. On
//! request, verifies all versions, and the sources of a view. Lists also the parts that were not checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::RecordBatch;
use bytes::Bytes;
use serde::Serialize;

use super::gc::{listed_pins, read_pin};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted},
    format::{
        BloomFilter, Bounds, GroupSegment, IndexTail, PackedLengths, Segment, SequenceTracker, StoredFilter, ViewSource,
        index_columns_reader, index_reader,
    },
    id::{Hash, ObjectRef},
    read::Sequences,
    schema::{ColumnType, Schema},
    store::Listed,
    table::version::{
        objects::together,
        seen::seen_columns,
        table::{Table, recorded_sequences},
    },
    work::{offload, yield_now},
};

/// Result of a verification.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Number of objects read, with manifests.
    pub objects: u64,
    /// Number of chunks among them.
    pub chunks: u64,
    /// Number of blocks that were decoded and compared with their logical hashes.
    pub blocks: u64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Damage found; empty if the table is intact.
    pub damage: Vec<Damage>,
    /// Parts that were not checked: other versions, the rows of the sources of a view, and pins where the store cannot list them.
    pub not_checked: Vec<String>,
}

/// Parts that a verification checks beyond one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyReach {
    /// Whether all existing versions are checked. Objects that several versions share are read once.
    pub all_versions: bool,
    /// Whether the sources of a view are checked: the table versions whose rows it has.
    pub sources: bool,
}

/// One damaged object.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// Name of the object.
    pub object: String,
    /// The place in the object, the expected and the found value.
    pub problem: String,
}

impl Damage {
    /// Describes a damaged object.
    pub fn new(object: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { object: object.into(), problem: problem.into() }
    }
}

impl Verification {
    /// Records damage and continues. Returns any other error, such as missing rights or no answer, which says nothing about the
    /// stored bytes.
    pub(super) fn note<T>(&mut self, object: &str, result: Result<T>) -> Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_damage(&error) => {
                self.damage.push(Damage { object: object.to_owned(), problem: error.to_string() });
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether an error says something about the stored bytes.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Unsupported)
}

impl Table {
    /// Does what `Storage::verify` says.
    pub(crate) async fn verify(&self, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        self.verify_more(VerifyReach::default(), progress).await
    }

    /// Does what `Storage::verify_more` says.
    pub(crate) async fn verify_more(&self, reach: VerifyReach, progress: impl FnMut(u64, u64)) -> Result<Verification> {
        // Verify the stored objects themselves, not cached copies.
        let this = if self.store().is_cached() { self.uncached() } else { self.clone() };
        let mut found = Verification::default();
        let seen = Seen::default();
        let mut tables = vec![(String::new(), this.clone())];
        match commit::existing(this.store()).await {
            Ok(versions) => {
                let mut others: Vec<u64> = versions.into_keys().filter(|version| *version != this.version()).collect();
                others.sort_unstable();
                if reach.all_versions {
                    for version in others {
                        let place = format!("version {version}: ");
                        let opened = Self::open_version_in(this.store().clone(), version).await;
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
            Err(_) => found.not_checked.push("other versions: the store cannot list its objects".to_owned()),
        }
        let mut place = 0;
        while let Some((_, table)) = tables.get(place).cloned() {
            place += 1;
            // `verify_view` reports sources that cannot be opened.
            for source in table.sources().await.iter().flat_map(|sources| sources.iter()) {
                let prefix = format!("{} version {}: ", source.url(), source.version());
                match reach.sources {
                    true if tables.iter().any(|(known, _)| *known == prefix) => {}
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
        let mut parts = BTreeMap::new();
        for (_, table) in &tables {
            parts.extend(table.parts());
            yield_now().await;
        }
        let mut work = Work { done: 0, total: parts.into_values().sum(), report: progress };
        for (prefix, table) in tables {
            let before = found.damage.len();
            table.verify_stored(&mut found, &seen, &mut work).await?;
            for damage in found.damage.iter_mut().skip(before) {
                damage.object.insert_str(0, &prefix);
            }
        }
        this.verify_pins(&mut found).await?;
        Ok(found)
    }

    /// Checks the pins, by which versions of other tables keep versions of this one. Readers of rows need none.
    async fn verify_pins(&self, found: &mut Verification) -> Result<()> {
        let store = self.store();
        let read = |listed: Listed| async move {
            let read = read_pin(store, &listed.name).await;
            Ok((listed, read))
        };
        let listed = match listed_pins(store).await {
            Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unsupported) => {
                found.not_checked.push("pins: the store cannot list its objects".to_owned());
                return Ok(());
            }
            listed => listed?,
        };
        let reads: Vec<_> = listed.into_iter().map(read).collect();
        for (Listed { name, bytes, .. }, read) in together(reads).await? {
            match read {
                // An error of one pin must not hide what hours of reading have found.
                Err(error) if matches!(error.kind(), ErrorKind::Denied | ErrorKind::Unavailable) => {
                    found.not_checked.push(format!("{name}: {error}"));
                }
                read => {
                    if found.note(&name, read)?.flatten().is_some() {
                        (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes);
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the parts of this version that its manifest names, and the bytes of each.
    fn parts(&self) -> impl Iterator<Item = (Part, u64)> {
        let manifest = self.manifest();
        let object = |folder: &str, object: &ObjectRef| (self.part(&object.name_in(folder)), object.bytes);
        let index = manifest.segments.iter().map(move |segment| object("index", &segment.index));
        let attachments = manifest.attachments.values().map(move |stored| object("attachments", stored));
        let joins = manifest.view.iter().flat_map(|view| &view.sources).flat_map(ViewSource::maps);
        let joins = joins.map(move |stored| object("joins", stored));
        let groups =
            manifest.segments.iter().flat_map(|segment| (0..).zip(&segment.groups).map(move |group| (segment.rows, group)));
        let groups = groups.map(|(rows, (number, group))| (self.group_part(number, rows, group), bytes_of(group)));
        index.chain(attachments).chain(joins).chain(groups)
    }

    /// Returns a hash that identifies an object of this table.
    fn part(&self, name: &str) -> Part {
        Hash::of(format!("{}/{name}", self.url()).as_bytes())
    }

    /// Returns a hash that identifies the stored bytes of a column group in a segment, and the types and owners by which they are
    /// read.
    pub(super) fn group_part(&self, number: usize, rows: u64, group: &GroupSegment) -> Part {
        let stores = &self.manifest().stores;
        let (url, types) = (self.url(), self.types_of(number));
        Hash::of(format!("{url} {types:?} {rows} {group:?} {stores:?}").as_bytes())
    }

    pub(super) fn types_of(&self, number: usize) -> Vec<ColumnType> {
        let columns = self.schema().groups().get(number).into_iter().flat_map(|group| &group.columns);
        columns.filter_map(|id| self.schema().column(*id)).map(|column| column.ty.clone()).collect()
    }

    fn uncached(&self) -> Self {
        let fresh = Self::of(self.store().uncached(), self.manifest().clone(), self.manifest_hash(), self.inner.allowed.clone());
        if let Some(sources) = self.inner.sources.get() {
            fresh.inner.sources.set(Arc::clone(sources));
        }
        fresh
    }

    async fn verify_stored(&self, found: &mut Verification, seen: &Seen, work: &mut Work<impl FnMut(u64, u64)>) -> Result<()> {
        let manifest = self.manifest();
        found.objects += 1;
        self.verify_index(found, seen, work).await?;
        for (name, object) in &manifest.attachments {
            if !seen.is_new(self.part(&object.name_in("attachments"))) {
                continue;
            }
            let bytes = self.object("attachments", object).await;
            if let Some(bytes) = found.note(&format!("attachment `{name}`"), bytes)? {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
            }
            work.add(object.bytes);
        }
        if manifest.view.is_some() {
            self.verify_view(found, seen, work).await?;
        }
        self.verify_groups(found, seen, work).await
    }

    /// Checks the join maps of a view and the manifests of its sources. The sources are tables that can be verified by
    /// themselves.
    async fn verify_view(&self, found: &mut Verification, seen: &Seen, work: &mut Work<impl FnMut(u64, u64)>) -> Result<()> {
        let sources = self.view().map(|view| view.sources.as_slice()).unwrap_or_default();
        let before = found.damage.len();
        // Collected into a vector, because a future that holds this iterator would not be `Send`.
        let joins: Vec<_> = sources.iter().flat_map(ViewSource::maps).collect();
        for object in joins {
            let name = object.name_in("joins");
            if !seen.is_new(self.part(&name)) {
                continue;
            }
            let bytes = self.object("joins", object).await;
            if let Some(bytes) = found.note(&name, bytes)? {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
            }
            work.add(object.bytes);
        }
        if found.damage.len() == before {
            let rows = self.view_rows().await;
            found.note("rows of the view", rows)?;
        }
        let sources = self.sources().await;
        found.note("sources of the view", sources)?;
        Ok(())
    }

    /// Reads each index object once. Checks the new ones, and compares the recorded sequences, which windows rely on, with the
    /// values of the `sequence_by` columns.
    async fn verify_index(&self, found: &mut Verification, seen: &Seen, work: &mut Work<impl FnMut(u64, u64)>) -> Result<()> {
        let segments = &self.manifest().segments;
        let before = found.damage.len();
        let mut starts = Some(SequenceStarts::new(self.schema()));
        for segment in segments {
            let name = segment.index.name_in("index");
            let is_new = seen.is_new(self.part(&name));
            let read = self.object("index", &segment.index).await;
            let Some(bytes) = found.note(if is_new { &name } else { "index" }, read)? else { continue };
            if is_new {
                (found.objects, found.bytes) = (found.objects + 1, found.bytes + bytes.len() as u64);
                work.add(segment.index.bytes);
            }
            if is_new {
                let (table, bytes, segment) = (self.clone(), bytes.clone(), segment.clone());
                let checked = offload(move |_| index_is_sound(&bytes, &table.manifest().schema, &segment));
                found.note(&name, checked.await)?;
            }
            // Damage of an index object is recorded already; the sequences would only report it again.
            if let Some(sequence) = starts.take_if(|_| found.damage.len() == before) {
                let (table, segment) = (self.clone(), segment.clone());
                let added = offload(move |_| sequence.add(&table, &segment, bytes)).await;
                starts = found.note("index", added)?;
            }
        }
        if let Some(starts) = starts.filter(|_| found.damage.len() == before) {
            found.note("index", starts.compare(segments))?;
        }
        Ok(())
    }
}

/// Hash that identifies a part to check.
pub(super) type Part = Hash;

/// Returns the bytes to read for a column group of a segment.
fn bytes_of(group: &GroupSegment) -> u64 {
    group.layout.bytes.saturating_add(group.hashes.bytes).saturating_add(group.stored_bytes)
}

/// Progress of a verification, in bytes as the manifests count them.
pub(super) struct Work<F> {
    done: u64,
    total: u64,
    report: F,
}

impl<F: FnMut(u64, u64)> Work<F> {
    pub(super) fn add(&mut self, bytes: u64) {
        self.done = self.done.saturating_add(bytes).min(self.total);
        (self.report)(self.done, self.total);
    }
}

/// The parts that were checked already; versions of a table share most parts. `Seen` remembers at most [`Seen::MOST`] parts,
/// which take a few tens of MiB. A part that it does not remember is checked again.
#[derive(Clone, Default)]
pub(super) struct Seen(Arc<Mutex<BTreeSet<Part>>>);

impl Seen {
    const MOST: usize = 1 << 20;

    pub(super) fn is_new(&self, part: Part) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.len() < Self::MOST {
            true => seen.insert(part),
            false => !seen.contains(&part),
        }
    }
}

/// Formats ascending numbers as ranges: `1..=4, 7`.
pub(super) fn ranges(numbers: &[u64]) -> String {
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

/// The recorded sequences of the segments so far, and the rows at which sequences start by their values.
struct SequenceStarts {
    tracker: SequenceTracker,
    starts: Vec<u64>,
    rows: u64,
    recorded: Vec<PackedLengths>,
}

impl SequenceStarts {
    fn new(schema: &Schema) -> Self {
        Self { tracker: SequenceTracker::new(schema), starts: Vec::new(), rows: 0, recorded: Vec::new() }
    }

    /// Adds a segment with this index object.
    fn add(mut self, table: &Table, segment: &Segment, bytes: Bytes) -> Result<Self> {
        self.recorded.push(recorded_sequences(&bytes, segment)?);
        let manifest = table.manifest();
        for batch in index_columns_reader(bytes, &manifest.schema, segment.rows, &seen_columns(manifest))? {
            let batch = batch?;
            let starts = self.tracker.push(&batch).map_err(|error| Error::corrupt(error.to_string()))?;
            self.starts.extend(starts.into_iter().map(|start| self.rows + start as u64));
            self.rows += batch.num_rows() as u64;
        }
        Ok(self)
    }

    fn compare(&self, segments: &[Segment]) -> Result<()> {
        let sequences = Sequences::new(segments.iter().map(|segment| segment.continues).zip(&self.recorded));
        for (number, start) in self.starts.iter().enumerate() {
            let recorded = sequences.rows(number);
            if recorded.as_ref().map(|rows| rows.start) != Some(*start) {
                return Err(Error::corrupt(format!(
                    "sequence {number} starts at row {start}, the recorded rows are {recorded:?}"
                )));
            }
        }
        if self.starts.len() != sequences.len() {
            return Err(Error::corrupt(format!(
                "found {}, {} are recorded",
                counted(self.starts.len(), "sequence"),
                sequences.len()
            )));
        }
        Ok(())
    }
}

/// Checks an index object: its number of rows, the statistics of the manifest, and then its tail. Readers skip a tail that is not
/// sound, so damage of the rows themselves is reported first.
fn index_is_sound(bytes: &Bytes, schema: &Schema, segment: &Segment) -> Result<()> {
    let (rows, mut found) = (segment.rows, 0);
    let mut tail = sound_tail(bytes, schema, segment);
    for batch in index_reader(bytes.clone(), schema, rows)? {
        let batch = batch?;
        for ((values, column), statistics) in batch.columns().iter().zip(schema.index()).zip(&segment.statistics) {
            if !Bounds::of_segment(statistics, &column.ty).hold_for(&Bounds::of_values(values)) {
                let name = &column.name;
                return Err(Error::corrupt(format!("the statistics of column `{name}` in the manifest do not hold")));
            }
        }
        if let Ok(Some((sound, filters))) = &tail
            && let Err(error) =
                bounds_hold(sound, schema, found, &batch).and_then(|()| filters_hold(sound, filters, schema, found, &batch))
        {
            tail = Err(error);
        }
        found += batch.num_rows() as u64;
    }
    if found != rows {
        return Err(Error::corrupt(format!("{}, the manifest says {rows}", counted(found, "row"))));
    }
    tail.map(|_| ())
}

/// The bloom filters of an index segment.
type Filters = Vec<(StoredFilter, BloomFilter)>;

/// Checks the hash of the tail of an index object and the checksums of its pages and bloom filters. Returns the tail and the filters;
/// `None` if there is no tail.
fn sound_tail(bytes: &Bytes, schema: &Schema, segment: &Segment) -> Result<Option<(IndexTail, Filters)>> {
    let Some(tail) = &segment.tail else { return Ok(None) };
    let start = bytes.len().saturating_sub(usize::try_from(tail.bytes).unwrap_or(usize::MAX));
    let stored = bytes.slice(start..);
    let found = Hash::of(&stored);
    if found != tail.blake3 {
        return Err(Error::corrupt(format!(
            "tail of {}: blake3 {found}, the manifest says {}",
            counted(stored.len(), "byte"),
            tail.blake3
        )));
    }
    let of_tail = |error: Error| error.at("tail");
    let tail = IndexTail::parse(&stored, segment.index.bytes, schema, segment.rows).map_err(of_tail)?;
    let every: Vec<usize> = (0..schema.index().len()).collect();
    let rows = 0..segment.rows;
    let all = std::slice::from_ref(&rows);
    let part = tail.part(&every, all);
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
    let slice = |range: &Range<u64>| bytes.slice(place(range.start)..place(range.end));
    let pages: Vec<Bytes> = part.ranges().iter().map(slice).collect();
    tail.verify(&part, &pages).map_err(of_tail)?;
    let filters = tail.filters(&every, all).into_iter();
    let filters = filters.map(|filter| Ok((filter.clone(), filter.open(&slice(&filter.range()))?)));
    let filters = filters.collect::<Result<_>>().map_err(of_tail)?;
    Ok(Some((tail, filters)))
}

/// Checks that the bloom filters of a tail have the values of a batch whose first row is row `first` of the segment.
fn filters_hold(tail: &IndexTail, filters: &Filters, schema: &Schema, first: u64, batch: &RecordBatch) -> Result<()> {
    let last = first + batch.num_rows() as u64;
    for (place, opened) in filters {
        let (group, column) = (place.group(), place.column());
        let rows = tail.row_group_bounds(column).into_iter().nth(group).map(|(rows, _)| rows);
        let rows = rows.map_or(0..0, |rows| rows.start.max(first)..rows.end.min(last));
        let Some((values, named)) = batch.columns().get(column).zip(schema.index().nth(column)) else { continue };
        for row in rows {
            // The bounds of a single value are the value.
            let value = Bounds::of_values(&values.slice((row - first) as usize, 1)).min;
            if value.is_some_and(|value| !opened.may_have(&value)) {
                let name = &named.name;
                return Err(Error::corrupt(format!("tail: a bloom filter of column `{name}` lacks the value of row {row}")));
            }
        }
    }
    Ok(())
}

/// Checks that the bounds of a tail hold for a batch whose first row is row `first` of the segment.
fn bounds_hold(tail: &IndexTail, schema: &Schema, first: u64, batch: &RecordBatch) -> Result<()> {
    let last = first + batch.num_rows() as u64;
    for (place, (values, column)) in batch.columns().iter().zip(schema.index()).enumerate() {
        for (rows, bounds) in tail.row_group_bounds(place).into_iter().chain(tail.page_bounds(place)) {
            let (start, end) = (rows.start.max(first), rows.end.min(last));
            let slice = (start < end).then(|| values.slice((start - first) as usize, (end - start) as usize));
            if slice.is_some_and(|values| !bounds.hold_for(&Bounds::of_values(&values))) {
                let name = &column.name;
                return Err(Error::corrupt(format!("tail: the bounds of column `{name}` do not hold in rows {start}..{end}")));
            }
        }
    }
    Ok(())
}
