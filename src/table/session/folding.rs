//! Merges neighbouring segments into one. Compaction merges segments anywhere in a table; an append merges the small segments at
//! the end. Merging rewrites index, layouts and hashes, and never payload.
//!
//! The order of magnitude of a segment is the logarithm of its rows to base [`FAN`], rounded down. An append merges the last
//! segments if at least [`FAN`] of them have no larger order than the last one. A table of many small appends therefore has fewer
//! than [`FAN`] segments of each order, and each row moves to another segment at most once per order. Appends stay fast, and the
//! manifests of n appends together take O(n log n) bytes instead of O(n²).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use futures::future::{try_join, try_join_all};

use crate::{
    commit::{self, SegmentIndex},
    error::{Error, ErrorKind, Result},
    format::{
        ColumnBytes, GroupSegment, MAX_SEGMENT_ROWS, Manifest, Segment, SequenceTracker, index_reader, read_hashes, read_layout,
    },
    id::Hash,
    store::Store,
    table::version::{objects::together, table::Table},
    work::{offload_large, waves},
    write::WrittenGroup,
};

/// Number of segments of one order of magnitude that are merged into one.
const FAN: usize = 8;
/// Maximum bytes of index, layouts and hashes that an append reads in order to merge segments.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum bytes of objects that are read together, unless a single one has more.
const BYTES_TOGETHER: u64 = 64 << 20;
/// Maximum number of column groups that are merged together.
const GROUPS_TOGETHER: usize = 32;

/// Merges the small segments at the end of a version. Returns the manifest unchanged if there is nothing to merge.
///
/// # Errors
/// - `Corrupt`: an index, layout or hashes object is damaged.
/// - Errors of the store.
pub(in crate::table) async fn fold_tail(store: &Store, manifest: Manifest) -> Result<Manifest> {
    let Some(start) = small_tail(&manifest.segments) else { return Ok(manifest) };
    let table = Table::of(store.clone(), manifest, Hash::of(b""), Vec::new());
    let part: Vec<&Segment> = table.manifest().segments[start..].iter().collect();
    let folded = table.as_one(store, &part).await;
    let mut manifest = table.manifest().clone();
    match folded {
        Ok(folded) => {
            manifest.segments.truncate(start);
            manifest.segments.push(folded);
            Ok(manifest)
        }
        // The segments together have more text than one segment can hold, so they are not merged.
        Err(error) if error.kind() == ErrorKind::Invalid => Ok(manifest),
        Err(error) => Err(error),
    }
}

/// Returns the position of the first of the trailing segments to merge; `None` if there is nothing to merge.
fn small_tail(segments: &[Segment]) -> Option<usize> {
    let order = |rows: u64| rows.max(1).ilog2() / FAN.ilog2();
    let bytes = |segment: &Segment| {
        let groups = segment.groups.iter().map(|group| group.layout.bytes + group.hashes.bytes);
        groups.sum::<u64>() + segment.index.bytes
    };
    let mut found = None;
    let mut last = order(segments.last()?.rows);
    loop {
        let before = segments.iter().rposition(|segment| order(segment.rows) > last).map_or(0, |place| place + 1);
        // The segments that an earlier round found count as one.
        let many = segments.len() - before - found.map_or(0, |found| segments.len() - found - 1);
        let tail = &segments[before..];
        let rows = tail.iter().map(|segment| segment.rows).sum::<u64>();
        if many < FAN || rows > MAX_SEGMENT_ROWS || tail.iter().map(bytes).sum::<u64>() > MAX_BYTES {
            return found;
        }
        (found, last) = (Some(before), order(rows));
    }
}

impl Table {
    /// Merges neighbouring segments into one and stores its objects, with the salt of `store`. The new segment has the same rows and names the same blocks.
    pub(in crate::table) async fn as_one(&self, store: &Store, part: &[&Segment]) -> Result<Segment> {
        let bytes = |number: usize| {
            let groups = part.iter().filter_map(|segment| segment.groups.get(number));
            groups.map(|group| group.layout.bytes.saturating_add(group.hashes.bytes)).fold(0, u64::saturating_add)
        };
        let joined = async {
            let mut groups = Vec::new();
            for wave in waves((0..self.manifest().schema.groups().len()).map(bytes), BYTES_TOGETHER, GROUPS_TOGETHER) {
                let joined = wave.map(|number| async move { self.put_group(store, self.joined(part, number).await?).await });
                groups.extend(try_join_all(joined.collect::<Vec<_>>()).await?);
            }
            Ok(groups)
        };
        let (one, groups) = try_join(self.indexes_as_one(store, part), joined).await?;
        Ok(Segment { groups, ..one })
    }

    /// Merges the indexes of neighbouring segments into one, and stores it. Returns the segment, still without column groups.
    pub(in crate::table) async fn indexes_as_one(&self, store: &Store, part: &[&Segment]) -> Result<Segment> {
        let first = part.first().copied();
        let schema = Arc::new(self.manifest().schema.clone());
        // The tracker sees these segments only. `continues` is copied from the first one: writers checked it against earlier
        // rows.
        let mut tracker = SequenceTracker::new(&schema);
        let mut index = SegmentIndex::new(&schema, self.manifest().has_tails())?;
        for wave in read_together(part, |segment| segment.index.bytes) {
            let here = &part[wave];
            let reads: Vec<_> = here.iter().map(|segment| self.object("index", &segment.index)).collect();
            let objects = together(reads).await?;
            let rows: Vec<u64> = here.iter().map(|segment| segment.rows).collect();
            let (schema, size) = (Arc::clone(&schema), objects.iter().map(Bytes::len).sum());
            (index, tracker) = offload_large(size, move |stop| {
                for (bytes, rows) in objects.into_iter().zip(rows) {
                    for batch in index_reader(bytes, &schema, rows)? {
                        stop.check()?;
                        index.push(&batch?, &mut tracker)?;
                    }
                }
                Ok((index, tracker))
            })
            .await?;
        }
        let one = index.finish(store, first.map_or(0, |first| first.first_row)).await?;
        Ok(Segment { continues: first.is_some_and(|first| first.continues), ..one })
    }

    /// Stores a column group whose runs use the owner numbers of this version.
    pub(in crate::table) async fn put_group(&self, store: &Store, group: WrittenGroup) -> Result<GroupSegment> {
        let identity = (1..=self.manifest().stores.len() as u32).map(|owner| (owner, owner)).collect();
        commit::put_group(store, group, &identity).await
    }

    /// Joins a column group of neighbouring segments.
    pub(in crate::table) async fn joined(&self, part: &[&Segment], number: usize) -> Result<WrittenGroup> {
        let mut joined = WrittenGroup::default();
        let stores = self.manifest().stores.len();
        let of = |segment: &Segment| {
            let found = segment.groups.get(number).cloned();
            found.ok_or_else(|| Error::internal(format!("a segment without column group {number}")))
        };
        let bytes = |segment: &Segment| of(segment).map_or(0, |group| group.layout.bytes + group.hashes.bytes);
        for wave in read_together(part, bytes) {
            let read = |segment: &Segment| {
                let (stored, rows) = (of(segment), segment.rows);
                async move {
                    let stored = stored?;
                    let (layout, hashes) = (self.object("layout", &stored.layout), self.object("hashes", &stored.hashes));
                    let (layout, hashes) = try_join(layout, hashes).await?;
                    Ok((stored, rows, layout, hashes))
                }
            };
            let reads: Vec<_> = part[wave].iter().map(|segment| read(segment)).collect();
            let parts = together(reads).await?;
            let size = parts.iter().map(|(_, _, layout, hashes)| layout.len() + hashes.len()).sum();
            joined = offload_large(size, move |stop| {
                for (stored, rows, layout, hashes) in parts {
                    stop.check()?;
                    joined.runs.extend(read_layout(layout, stored.columns.len(), rows, stores)?);
                    joined.hashes.extend(read_hashes(hashes, stored.blocks)?);
                    joined.columns.resize(stored.columns.len(), ColumnBytes::default());
                    for (sum, column) in joined.columns.iter_mut().zip(&stored.columns) {
                        (sum.stored, sum.logical) = (sum.stored + column.stored, sum.logical + column.logical);
                    }
                }
                Ok(joined)
            })
            .await?;
        }
        Ok(joined)
    }
}

/// Returns which of these segments are read together: as many as have few bytes.
fn read_together(segments: &[&Segment], bytes: impl Fn(&Segment) -> u64) -> Vec<Range<usize>> {
    waves(segments.iter().map(|segment| bytes(segment)), BYTES_TOGETHER, 256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ObjectRef;

    fn segment(rows: u64, bytes: u64) -> Segment {
        let index = ObjectRef { blake3: Hash::of(b""), bytes };
        Segment {
            first_row: 0,
            rows,
            sequences: 1,
            continues: false,
            index,
            tail: None,
            statistics: Vec::new(),
            groups: Vec::new(),
        }
    }

    #[test]
    fn any_sequence_of_appends_leaves_few_segments_and_moves_a_row_seldom() {
        let mut rng = fastrand::Rng::with_seed(7);
        for case in 0..40 {
            let (mut segments, mut moved, mut appended) = (Vec::new(), 0, 0);
            for _ in 0..2_000 {
                let most = rng.u32(1..14);
                let rows = if case == 0 { 10 } else { 1 << rng.u32(0..most) };
                appended += rows;
                segments.push(segment(rows, 100));
                if let Some(start) = small_tail(&segments) {
                    let rows = segments[start..].iter().map(|segment| segment.rows).sum();
                    moved += rows;
                    segments.truncate(start);
                    segments.push(segment(rows, 100));
                    assert!(small_tail(&segments).is_none(), "one step is enough");
                }
                let orders = appended.ilog2() as usize / 3 + 1;
                assert!(segments.len() <= (FAN - 1) * orders, "{} segments of {appended} rows", segments.len());
            }
            assert_eq!(segments.iter().map(|segment| segment.rows).sum::<u64>(), appended);
            assert!(moved <= appended * (u64::from(appended.ilog2()) / 3 + 1), "{moved} rows moved of {appended}");
        }
    }

    #[test]
    fn large_segments_stay_as_they_are() {
        let many = |rows, bytes| vec![segment(rows, bytes); FAN];
        assert_eq!(small_tail(&many(10, 100)), Some(0));
        assert_eq!(small_tail(&many(10, MAX_BYTES / 4)), None);
        assert_eq!(small_tail(&many(MAX_SEGMENT_ROWS / 4, 100)), None);
        assert_eq!(small_tail(&many(10, 100)[1..]), None);
        assert_eq!(small_tail(&[]), None);
    }
}
