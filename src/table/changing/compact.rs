//! Changes how a version is stored, and keeps its rows: merges segments, gathers scattered blocks, and copies chunks of other
//! tables.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use serde_json::Value;

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{GroupSegment, LayoutRun, MAX_SEGMENT_ROWS, Segment, read_layout},
    id::{ChunkId, Hash, ObjectRef},
    progress::Progress,
    schema::ColumnGroup,
    store::Store,
    table::{
        session::{Session, lineage},
        version::{table::Table, tails::TAILS_AT_ONCE},
    },
    work::{offload_large, waves},
    write::{Gathered, Gatherer, Locality, WriteOptions, WrittenGroup},
};

impl Table {
    /// Does what `Storage::compact` says.
    pub(crate) async fn compact(&self, segment_rows: u64) -> Result<Self> {
        Ok(self.compacted(segment_rows, None).await?.0)
    }

    /// Does what `Storage::compact_runs` says.
    pub(crate) async fn compact_runs(&self, segment_rows: u64, bound: Locality) -> Result<(Self, Gathered)> {
        if bound.window == 0 {
            return Err(Error::invalid("the window has 0 rows, expected at least 1"));
        }
        self.compacted(segment_rows, Some(bound)).await
    }

    async fn compacted(&self, segment_rows: u64, bound: Option<Locality>) -> Result<(Self, Gathered)> {
        let most = segment_rows.clamp(1, MAX_SEGMENT_ROWS);
        let all: Vec<&Segment> = self.manifest().segments.iter().collect();
        let parts = waves(all.iter().map(|segment| segment.rows), most, usize::MAX);
        let parts: Vec<&[&Segment]> = parts.into_iter().map(|part| &all[part]).collect();
        let lacking = self.segments_without_filters().await?;
        if bound.is_none() && lacking.is_empty() && parts.iter().all(|part| part.len() == 1) {
            return Ok((self.clone(), Gathered::default()));
        }
        let mut session = Session::change(self, true, false).await?;
        let options = WriteOptions::default();
        let gatherer = |group: &ColumnGroup| {
            let types = group.columns.iter().filter_map(|id| self.schema().column(*id)).map(|column| column.ty.clone());
            bound.map(|bound| Gatherer::new(types.collect(), self.manifest().cuts, bound, options.write_memory))
        };
        let mut gatherers: Vec<Option<Gatherer>> = self.schema().groups().iter().map(gatherer).collect();
        let (mut segments, mut bytes, mut gathered) = (Vec::new(), 0, Gathered::default());
        // Each group and the index go over all rows.
        let progress = Progress::new("merging segments", self.rows().saturating_mul(gatherers.len() as u64 + 1));
        for part in parts {
            let rows = part.iter().map(|segment| segment.rows).sum();
            let mut groups = Vec::new();
            for (number, gatherer) in gatherers.iter_mut().enumerate() {
                let mut moved = false;
                let group = match (gatherer, part) {
                    (None, [_]) => None,
                    (None, _) => Some(self.joined(part, number).await?),
                    (Some(gatherer), _) => {
                        let (group, of_group) = self.gathered(&session.store, part, number, gatherer).await?;
                        moved = of_group.blocks > 0;
                        gathered = gathered.and(of_group);
                        Some(group)
                    }
                };
                groups.push(match (group, part) {
                    (Some(group), parts) if moved || parts.len() > 1 => {
                        let stored: GroupSegment = self.put_group(&session.store, group).await?;
                        // Moving blocks keeps their hashes, so the hashes object may exist already.
                        let is_new = |object: &&ObjectRef| parts.iter().all(|part| part.groups[number].hashes != **object);
                        bytes +=
                            [&stored.layout, &stored.hashes].into_iter().filter(is_new).map(|object| object.bytes).sum::<u64>();
                        stored
                    }
                    (_, parts) => parts[0].groups[number].clone(),
                });
                progress.add(rows);
            }
            if let [only] = part
                && !lacking.contains(&only.first_row)
            {
                segments.push(Segment { groups, ..(*only).clone() });
                progress.add(rows);
                continue;
            }
            let segment = Segment { groups, ..self.indexes_as_one(&session.store, part).await? };
            progress.add(rows);
            bytes += segment.index.bytes;
            segments.push(segment);
        }
        if segments == self.manifest().segments {
            session.owners.unpin(|_| false).await;
            return Ok((self.clone(), gathered));
        }
        let mut manifest = session.child()?;
        let mut details = BTreeMap::from([
            ("segments".to_owned(), Value::from(segments.len())),
            ("segments_before".to_owned(), manifest.segments.len().into()),
            ("bytes_added".to_owned(), (bytes + gathered.bytes).into()),
        ]);
        if bound.is_some() {
            details.insert("blocks_moved".to_owned(), gathered.blocks.into());
        }
        manifest.segments = segments;
        manifest.lineage = lineage("compact", details)?;
        Ok((session.publish(manifest).await?, gathered))
    }

    /// Returns the first rows of the segments that lack a bloom filter which the schema asks for, and could have it.
    async fn segments_without_filters(&self) -> Result<BTreeSet<u64>> {
        let wanted = self.schema().index().enumerate();
        let wanted = wanted.filter(|(_, column)| column.has_bloom_filter() && column.ty.may_have_bloom_filter());
        let (wanted, mut found) = (wanted.map(|(place, _)| place).collect::<Vec<usize>>(), BTreeSet::new());
        if wanted.is_empty() {
            return Ok(found);
        }
        let reads = (0..self.manifest().segments.len()).map(|number| self.read_tail(number)).collect::<Vec<_>>();
        let tails: Vec<_> = stream::iter(reads).buffered(TAILS_AT_ONCE).try_collect().await?;
        for (tail, segment) in tails.iter().zip(&self.manifest().segments) {
            let Some(tail) = tail else { continue };
            if tail.filters(&wanted, std::slice::from_ref(&(0..segment.rows))).len() < tail.row_groups() * wanted.len() {
                found.insert(segment.first_row);
            }
        }
        Ok(found)
    }

    /// Joins a column group of neighbouring segments, with its scattered blocks in new chunks. Returns also what moved.
    ///
    /// A new chunk ends by its content, which is not known before its blocks are read. So the new places may be as bad as the old
    /// ones. Then the version keeps the old places, and garbage collection deletes the new chunks: otherwise each compaction would
    /// publish the same move again. While windows become cheaper, the loop moves what is still scattered.
    async fn gathered(
        &self,
        store: &Store,
        part: &[&Segment],
        number: usize,
        gatherer: &mut Gatherer,
    ) -> Result<(WrittenGroup, Gathered)> {
        let mut group = self.joined(part, number).await?;
        let sequences = self.sequences().await?;
        let first_row = part.first().map_or(0, |segment| segment.first_row);
        let starts = |row: u64| sequences.around(first_row + row).is_some_and(|rows| rows.start == first_row + row);
        let mut scattered = gatherer.plan(&group, starts);
        let mut all = Gathered { before: scattered.before, ..Gathered::default() };
        while !scattered.blocks.is_empty() {
            let stores = self.owners_of(&group, &scattered.blocks).await?;
            let (next, moved) = gatherer.write(store, &stores, &group, &scattered.blocks, starts).await?;
            let left = gatherer.plan(&next, starts);
            // Small chunks are joined where that makes no window more expensive.
            if (left.excess, left.joined) >= (scattered.excess, scattered.joined) {
                break;
            }
            (group, scattered, all) = (next, left, all.and(moved));
        }
        all.after = scattered.before;
        gatherer.pass(scattered);
        Ok((group, all))
    }

    /// Returns the stores of the owners of these blocks of a group. The stores of other owners may be out of reach.
    async fn owners_of(&self, group: &WrittenGroup, blocks: &[usize]) -> Result<BTreeMap<u32, Store>> {
        let (mut stores, mut block) = (BTreeMap::new(), 0);
        for run in &group.runs {
            let end = block + run.lengths.len();
            let first = blocks.partition_point(|number| *number < block);
            if blocks.get(first).is_some_and(|number| *number < end) && !stores.contains_key(&run.owner) {
                stores.insert(run.owner, self.store_of(run.owner).await?);
            }
            block = end;
        }
        Ok(stores)
    }

    /// Does what `Storage::materialize` says.
    pub(crate) async fn materialize(&self, mut progress: impl FnMut(u64, u64)) -> Result<Self> {
        if self.view().is_some() {
            return Err(Error::unsupported(format!(
                "{} version {} is a view: its rows belong to other tables; materialize those tables, or write its rows to a new \
                 table",
                self.url(),
                self.version()
            )));
        }
        if self.manifest().stores.is_empty() {
            return Ok(self.clone());
        }
        let mut chunks: BTreeSet<(u32, ChunkId, u64)> = BTreeSet::new();
        for group in 0..self.schema().groups().len() {
            let layout = self.layout(group).await?;
            chunks.extend(layout.runs().iter().filter(|run| run.owner > 0).map(|run| (run.owner, run.chunk, run.chunk_bytes)));
        }
        // The new version uses no chunk of an owner, so no owner is pinned.
        let session = Session::change(self, false, false).await?;
        let (mut done, mut bytes) = (0, 0);
        let copied = Progress::new("copying chunks", chunks.iter().map(|(_, _, size)| size).sum());
        for (owner, chunk, size) in &chunks {
            let store = self.store_of(*owner).await?;
            let name = chunk.object_name();
            let content: Bytes = store.get_exact(&name, *size).await.map_err(|error| match error.kind() {
                ErrorKind::NotFound => Error::corrupt(format!("{}: {name} is missing", store.url())).with_source(error),
                _ => error,
            })?;
            let found = Hash::of(&content);
            if found != chunk.0 {
                return Err(Error::corrupt(format!("{}: {name}: its content has blake3 {found}", store.url())));
            }
            self.store().put_content(&name, content).await?;
            (done, bytes) = (done + 1, bytes + size);
            copied.add(*size);
            progress(done, chunks.len() as u64);
        }
        let mut manifest = session.child()?;
        for segment in &mut manifest.segments {
            for stored in &mut segment.groups {
                let layout = self.object("layout", &stored.layout).await?;
                let (columns, rows, stores) = (stored.columns.len(), segment.rows, self.manifest().stores.len());
                let own: Vec<LayoutRun> = offload_large(layout.len(), move |_| {
                    let runs = read_layout(layout, columns, rows, stores)?;
                    Ok(runs.into_iter().map(|run| LayoutRun { owner: 0, ..run }).collect())
                })
                .await?;
                stored.layout = commit::put_layout(&session.store, &own).await?;
            }
        }
        let details = BTreeMap::from([("chunks_copied".to_owned(), Value::from(done)), ("bytes_added".to_owned(), bytes.into())]);
        manifest.lineage = lineage("materialize", details)?;
        session.publish(manifest).await
    }
}
