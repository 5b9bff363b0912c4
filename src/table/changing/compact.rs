//! Versions with the same rows, stored otherwise: fewer and larger segments, or nothing that lies in other tables.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::Value;

use super::session::{Session, lineage};
use crate::{
    commit::{self, SegmentIndex},
    error::{Error, ErrorKind, Result},
    format::{GroupSegment, LayoutRun, MAX_SEGMENT_ROWS, Segment, SequenceTracker, index_reader, read_layout},
    id::{ChunkId, Hash, ObjectRef},
    schema::ColumnGroup,
    table::table::Table,
    write::{Gathered, Gatherer, Locality, WriteOptions, WrittenGroup},
};

impl Table {
    /// A version whose segments have up to `segment_rows` rows (4,194,304 at most): neighbours are put together, payload stays
    /// where it is. A table that many small appends made opens faster then. Where nothing can be put together, this version.
    ///
    /// # Errors
    /// `Conflict` where another writer changed rows; `Corrupt`; errors of the store.
    pub async fn compact(&self, segment_rows: u64) -> Result<Self> {
        Ok(self.compacted(segment_rows, None).await?.0)
    }

    /// As [`Table::compact`], and blocks that lie scattered are put side by side in chunks of the table's own, until every window
    /// of neighbouring rows keeps `bound`: what many versions, patches, small appends or writers without a bound leave. Only the
    /// blocks concerned are copied, as they are stored where the codecs of a chunk are the same; other tables are still referred
    /// to for the rest. Says what was moved. Where there is nothing to do, it is this version.
    ///
    /// ```no_run
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use tetrys::{Table, write::Locality};
    /// let table = Table::open("drives").await?;
    /// let bound = Locality { window: 32, extra_ranges: 1, percent: 120 };
    /// let (table, moved) = table.compact_runs(4_194_304, bound).await?;
    /// println!("{} blocks in {} bytes; a window takes {} ranges more", moved.blocks, moved.bytes, moved.after.extra_ranges);
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `Invalid` for a window of no rows; `Corrupt`, naming block, chunk and owner, where what is copied is not what its hash
    /// says; else as [`Table::compact`].
    pub async fn compact_runs(&self, segment_rows: u64, bound: Locality) -> Result<(Self, Gathered)> {
        if bound.window == 0 {
            return Err(Error::invalid("a window of no rows; expected at least 1"));
        }
        self.compacted(segment_rows, Some(bound)).await
    }

    async fn compacted(&self, segment_rows: u64, bound: Option<Locality>) -> Result<(Self, Gathered)> {
        let most = segment_rows.clamp(1, MAX_SEGMENT_ROWS);
        let mut parts: Vec<Vec<&Segment>> = Vec::new();
        for segment in &self.manifest().segments {
            match parts.last_mut().filter(|part| part.iter().map(|segment| segment.rows).sum::<u64>() + segment.rows <= most) {
                Some(part) => part.push(segment),
                None => parts.push(vec![segment]),
            }
        }
        if bound.is_none() && parts.iter().all(|part| part.len() == 1) {
            return Ok((self.clone(), Gathered::default()));
        }
        let mut session = Session::change(self, true, false).await?;
        let options = WriteOptions::default();
        let gatherer = |group: &ColumnGroup| {
            let types = group.columns.iter().filter_map(|id| self.schema().column(*id)).map(|column| column.ty.clone());
            bound.map(|bound| Gatherer::new(types.collect(), self.manifest().cuts, bound, options.write_memory))
        };
        let mut gatherers: Vec<Option<Gatherer>> = self.schema().groups().iter().map(gatherer).collect();
        let mut tracker = SequenceTracker::new(self.schema());
        let (mut segments, mut bytes) = (Vec::new(), 0);
        for part in &parts {
            let first_row = part.first().map_or(0, |segment| segment.first_row);
            let mut index = SegmentIndex::new(self.schema())?;
            for segment in part {
                for batch in index_reader(self.object("index", &segment.index).await?, self.schema(), segment.rows)? {
                    index.push(&batch?, &mut tracker)?;
                }
            }
            let mut groups = Vec::new();
            for (number, gatherer) in gatherers.iter_mut().enumerate() {
                let mut moved = false;
                let group = match (gatherer, part.as_slice()) {
                    (None, [_]) => None,
                    (None, _) => Some(self.joined(part, number).await?),
                    (Some(gatherer), _) => {
                        let (group, has_moved) = self.gathered(part, number, gatherer).await?;
                        moved = has_moved;
                        Some(group)
                    }
                };
                groups.push(match (group, part.as_slice()) {
                    (Some(group), parts) if moved || parts.len() > 1 => {
                        let stored: GroupSegment = self.put_group(group).await?;
                        // Blocks that moved have the hashes that they had.
                        let is_new = |object: &&ObjectRef| parts.iter().all(|part| part.groups[number].hashes != **object);
                        bytes +=
                            [&stored.layout, &stored.hashes].into_iter().filter(is_new).map(|object| object.bytes).sum::<u64>();
                        stored
                    }
                    (_, parts) => parts[0].groups[number].clone(),
                });
            }
            if let [only] = part.as_slice() {
                segments.push(Segment { groups, ..(*only).clone() });
                continue;
            }
            let segment = index.finish(self.store(), first_row, groups).await?;
            bytes += segment.index.bytes;
            segments.push(segment);
        }
        let gathered = gatherers.iter().flatten().map(Gatherer::gathered).fold(Gathered::default(), Gathered::and);
        if segments == self.manifest().segments {
            session.owners.unpin(|_| false).await;
            return Ok((self.clone(), gathered));
        }
        let mut manifest = session.child()?;
        let mut said = BTreeMap::from([
            ("segments".to_owned(), Value::from(segments.len())),
            ("segments_before".to_owned(), manifest.segments.len().into()),
            ("bytes_added".to_owned(), (bytes + gathered.bytes).into()),
        ]);
        if bound.is_some() {
            said.insert("blocks_moved".to_owned(), gathered.blocks.into());
        }
        manifest.segments = segments;
        manifest.lineage = lineage("compact", said)?;
        Ok((session.publish(manifest).await?, gathered))
    }

    /// A column group of neighbouring segments as one, its scattered blocks in new chunks; and whether there were any.
    async fn gathered(&self, part: &[&Segment], number: usize, gatherer: &mut Gatherer) -> Result<(WrittenGroup, bool)> {
        let group = self.joined(part, number).await?;
        let sequences = self.sequences().await?;
        let first_row = part.first().map_or(0, |segment| segment.first_row);
        let starts = |row: u64| sequences.around(first_row + row).is_some_and(|rows| rows.start == first_row + row);
        let again = gatherer.plan(&group, starts);
        if again.is_empty() {
            return Ok((group, false));
        }
        // Only owners that blocks are copied from have to be there.
        let (mut stores, mut block) = (BTreeMap::new(), 0);
        for run in &group.runs {
            let end = block + run.lengths.len();
            let first = again.partition_point(|number| *number < block);
            if again.get(first).is_some_and(|number| *number < end) && !stores.contains_key(&run.owner) {
                stores.insert(run.owner, self.store_of(run.owner).await?);
            }
            block = end;
        }
        Ok((gatherer.write(self.store(), &stores, group, &again, starts).await?, true))
    }

    /// A version that needs no other table: the chunks that it uses of others are copied below its own root, whole, and the ties
    /// are cut. Each is compared with its name. `progress` is told the chunks done, and those in all.
    ///
    /// # Errors
    /// `Unsupported` of a view, which has no rows of its own; `Corrupt` naming chunk and owner where one is missing or damaged;
    /// `Conflict` where another writer changed the same; errors of the stores.
    pub async fn materialize(&self, mut progress: impl FnMut(u64, u64)) -> Result<Self> {
        if self.view().is_some() {
            return Err(Error::unsupported(format!(
                "{} version {} is a view: its rows and the sequences of its windows are those of other tables; materialize those, \
                 or write its rows to a new table",
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
        // Rows stay, ties do not: the version keeps none of the owners.
        let session = Session::change(self, false, false).await?;
        let (mut done, mut bytes) = (0, 0);
        for (owner, chunk, size) in &chunks {
            let store = self.store_of(*owner).await?;
            let name = chunk.object_name();
            let content: Bytes = store.get_exact(&name, *size).await.map_err(|error| match error.kind() {
                ErrorKind::NotFound => Error::corrupt(format!("{}: {name} is missing", store.url())).with_source(error),
                _ => error,
            })?;
            let found = Hash::of(&content);
            if found != chunk.0 {
                return Err(Error::corrupt(format!("{}: {name}: blake3 {found}", store.url())));
            }
            self.store().put_content(&name, content).await?;
            (done, bytes) = (done + 1, bytes + size);
            progress(done, chunks.len() as u64);
        }
        let mut manifest = session.child()?;
        for segment in &mut manifest.segments {
            for stored in &mut segment.groups {
                let layout = self.object("layout", &stored.layout).await?;
                let runs = read_layout(layout, stored.columns.len(), segment.rows, self.manifest().stores.len())?;
                let own: Vec<LayoutRun> = runs.into_iter().map(|run| LayoutRun { owner: 0, ..run }).collect();
                stored.layout = commit::put_layout(self.store(), &own).await?;
            }
        }
        let said = BTreeMap::from([("chunks_copied".to_owned(), Value::from(done)), ("bytes_added".to_owned(), bytes.into())]);
        manifest.lineage = lineage("materialize", said)?;
        session.publish(manifest).await
    }
}
