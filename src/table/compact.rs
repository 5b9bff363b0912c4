//! Versions with the same rows, stored otherwise: fewer and larger segments, or nothing that lies in other tables.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::Value;

use super::{
    session::{Session, lineage},
    version::Table,
};
use crate::{
    commit::{self, SegmentIndex},
    error::{Error, ErrorKind, Result},
    format::{
        ColumnBytes, GroupSegment, LayoutRun, MAX_SEGMENT_ROWS, Segment, SequenceTracker, index_reader, read_hashes, read_layout,
    },
    id::{ChunkId, Hash},
    write::WrittenGroup,
};

impl Table {
    /// A version whose segments have up to `segment_rows` rows (4,194,304 at most): neighbours are put together, payload stays
    /// where it is. A table that many small appends made opens faster then. Where nothing can be put together, this version.
    ///
    /// # Errors
    /// `Conflict` where another writer changed rows; `Corrupt`; errors of the store.
    pub async fn compact(&self, segment_rows: u64) -> Result<Self> {
        let most = segment_rows.clamp(1, MAX_SEGMENT_ROWS);
        let mut parts: Vec<Vec<&Segment>> = Vec::new();
        for segment in &self.manifest().segments {
            match parts.last_mut().filter(|part| part.iter().map(|segment| segment.rows).sum::<u64>() + segment.rows <= most) {
                Some(part) => part.push(segment),
                None => parts.push(vec![segment]),
            }
        }
        if parts.iter().all(|part| part.len() == 1) {
            return Ok(self.clone());
        }
        let session = Session::change(self, true).await?;
        let mut tracker = SequenceTracker::new(self.schema());
        let (mut segments, mut bytes) = (Vec::new(), 0);
        for part in parts {
            let first_row = part.first().map_or(0, |segment| segment.first_row);
            let mut index = SegmentIndex::new(self.schema())?;
            for segment in &part {
                for batch in index_reader(self.object("index", &segment.index).await?, self.schema(), segment.rows)? {
                    index.push(&batch?, &mut tracker)?;
                }
            }
            if let [only] = part.as_slice() {
                segments.push((*only).clone());
                continue;
            }
            let mut groups = Vec::new();
            for number in 0..self.schema().groups().len() {
                let group = self.joined(&part, number).await?;
                let identity = (1..=self.manifest().stores.len() as u32).map(|owner| (owner, owner)).collect();
                let stored: GroupSegment = commit::put_group(self.store(), group, &identity).await?;
                bytes += stored.layout.bytes + stored.hashes.bytes;
                groups.push(stored);
            }
            let segment = index.finish(self.store(), first_row, groups).await?;
            bytes += segment.index.bytes;
            segments.push(segment);
        }
        let mut manifest = session.child()?;
        let said = BTreeMap::from([
            ("segments".to_owned(), Value::from(segments.len())),
            ("segments_before".to_owned(), manifest.segments.len().into()),
            ("bytes_added".to_owned(), bytes.into()),
        ]);
        manifest.segments = segments;
        manifest.lineage = lineage("compact", said)?;
        session.publish(manifest).await
    }

    /// A column group of neighbouring segments as one.
    async fn joined(&self, part: &[&Segment], number: usize) -> Result<WrittenGroup> {
        let mut joined = WrittenGroup::default();
        for segment in part {
            let stored = &segment.groups[number];
            let layout = self.object("layout", &stored.layout).await?;
            joined.runs.extend(read_layout(layout, stored.columns.len(), segment.rows, self.manifest().stores.len())?);
            joined.hashes.extend(read_hashes(self.object("hashes", &stored.hashes).await?, stored.blocks)?);
            joined.columns.resize(stored.columns.len(), ColumnBytes::default());
            for (sum, column) in joined.columns.iter_mut().zip(&stored.columns) {
                (sum.stored, sum.logical) = (sum.stored + column.stored, sum.logical + column.logical);
            }
        }
        Ok(joined)
    }

    /// A version that needs no other table: the chunks that it uses of others are copied below its own root, whole, and the ties
    /// are cut. Each is compared with its name. `progress` is told the chunks done, and those in all.
    ///
    /// # Errors
    /// `Corrupt` naming chunk and owner where one is missing or damaged; `Conflict` where another writer changed the same;
    /// errors of the stores.
    pub async fn materialize(&self, mut progress: impl FnMut(u64, u64)) -> Result<Self> {
        if self.manifest().stores.is_empty() {
            return Ok(self.clone());
        }
        let mut chunks: BTreeSet<(u32, ChunkId, u64)> = BTreeSet::new();
        for group in 0..self.schema().groups().len() {
            let layout = self.layout(group).await?;
            chunks.extend(layout.runs().iter().filter(|run| run.owner > 0).map(|run| (run.owner, run.chunk, run.chunk_bytes)));
        }
        // Rows stay, ties do not: the version keeps none of the owners.
        let session = Session::change(self, false).await?;
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
