//! The layouts of a table version in memory. A small layout of a column group is loaded whole, on first use. Of a large one, a read
//! loads the segments that have its rows, and segments that were not used for long are dropped.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, PoisonError, atomic::Ordering},
};

use futures::{
    FutureExt,
    stream::{self, StreamExt, TryStreamExt},
};

use super::{
    layout_cache::SizedLayout,
    table::{OBJECTS_AT_ONCE, Table},
};
use crate::{
    environment::setting,
    error::{Error, ErrorKind, Result, counted},
    format::{GroupSegment, LayoutRun, Manifest, Segment, read_hashes, read_layout},
    id::Hash,
    read::{GroupColumns, Layout},
    store::parse_size,
    work::offload_large,
};

/// The number of runs up to which segments may name the same layout objects any number of times. A writer makes such segments of
/// rows that repeat, which have few runs.
const REPEATED_RUNS: usize = 1 << 20;
/// How many times the runs of the stored layout objects a layout may have beyond that.
const REPEATED_TIMES: usize = 4;

/// The environment variable with the bytes that the loaded parts of large layouts take.
const VARIABLE: &str = "TETRYS_LAYOUT_MEMORY";
/// The default of [`VARIABLE`].
const MEMORY: u64 = 1 << 30;
/// Layouts of a column group up to so many bytes, in up to so many segments, are loaded whole.
const SMALL_BYTES: u64 = 4 << 20;
const SMALL_SEGMENTS: usize = 32;

impl Table {
    /// Does what `Storage::set_layout_memory` says.
    pub(crate) fn set_layout_memory(&self, bytes: u64) {
        self.inner.layouts.memory.store(bytes.min(u64::MAX - 1), Ordering::Relaxed);
    }

    /// Does what `Storage::layout_memory` says.
    pub(crate) fn layout_memory(&self) -> u64 {
        self.inner.layouts.bytes_of_parts()
    }

    /// Returns a segment as a table of its own, whose rows begin at 0. It knows the stores of other tables that this one has opened. The
    /// manifest is that of this version, with any segments.
    pub(in crate::table) fn of_segment(&self, manifest: Manifest, segment: &Segment) -> Self {
        let segments = vec![Segment { first_row: 0, ..segment.clone() }];
        let manifest = Manifest { segments, ..manifest };
        let part = Self::of(self.store().clone(), manifest, self.manifest_hash(), self.inner.allowed.clone());
        for (cell, opened) in part.inner.foreign.iter().zip(&self.inner.foreign) {
            if let Some(store) = opened.get() {
                cell.set(store.clone());
            }
        }
        part
    }

    /// Whether reads load parts of the layout of a column group.
    fn has_large_layout(&self, group: usize) -> bool {
        let segments = &self.manifest().segments;
        let bytes = || segments.iter().filter_map(|segment| segment.groups.get(group)).map(|group| group.layout.bytes);
        segments.len() > 1 && (segments.len() > SMALL_SEGMENTS || bytes().sum::<u64>() > SMALL_BYTES)
    }

    /// Returns the approximate number of decoded bytes for each stored byte of a column group; at least 1.
    pub(in crate::table) fn expansion(&self, group: usize) -> u64 {
        let groups = || self.manifest().segments.iter().filter_map(|segment| segment.groups.get(group));
        let compute = || {
            let columns = groups().flat_map(|group| &group.columns);
            let logical = columns.fold(0, |sum: u64, column| sum.saturating_add(column.logical));
            (logical / groups().map(|group| group.stored_bytes).fold(1, u64::saturating_add)).max(1)
        };
        self.inner.layouts.expansions.get(group).map_or(1, |slot| *slot.get_or_init(compute))
    }

    /// Returns the columns of a column group, prepared for reads.
    ///
    /// # Errors
    /// - `Internal`: there is no such group.
    pub(in crate::table) fn group_columns(&self, group: usize) -> Result<Arc<GroupColumns>> {
        let Some(slot) = self.inner.layouts.columns.get(group) else {
            return Err(Error::internal(format!("no column group {group}")));
        };
        match slot.get() {
            Some(columns) => Ok(Arc::clone(columns)),
            None => {
                let columns = Arc::new(GroupColumns::new(self.schema(), group)?);
                Ok(Arc::clone(slot.get_or_init(|| columns)))
            }
        }
    }

    /// Returns the whole layout of a column group, if it is loaded.
    pub(in crate::table) fn layout_now(&self, group: usize) -> Option<Arc<Layout>> {
        self.inner.layouts.whole.get(group)?.get().cloned()
    }

    /// Returns the segments whose layouts a read of these rows needs, or `None` if it takes the whole layout of the column group.
    pub(in crate::table) fn segments_of(&self, group: usize, rows: impl Iterator<Item = u64>) -> Option<BTreeSet<usize>> {
        let is_loaded = self.inner.layouts.whole.get(group).is_none_or(|layout| layout.get().is_some());
        if is_loaded || !self.has_large_layout(group) {
            return None;
        }
        let all = &self.manifest().segments;
        let (mut segments, mut last) = (BTreeSet::new(), 0..0);
        for row in rows {
            if !last.contains(&row) {
                let number = all.partition_point(|segment| segment.first_row + segment.rows <= row);
                // The plan refuses a row outside.
                let Some(segment) = all.get(number) else { continue };
                last = segment.first_row..segment.first_row + segment.rows;
                segments.insert(number);
            }
        }
        Some(segments)
    }

    /// Returns the layout of a column group for a read of rows in these segments. Other segments are missing in it.
    ///
    /// # Errors
    /// Those of [`Storage::layout`](crate::table::Storage::layout).
    pub(in crate::table) async fn layout_of(&self, group: usize, segments: Option<BTreeSet<usize>>) -> Result<Arc<Layout>> {
        let Some(segments) = segments else { return self.layout(group).await };
        let (layouts, all, expansion) = (&self.inner.layouts, &self.manifest().segments, self.expansion(group));
        let loads = layouts.parts(group, &segments).into_iter().zip(&segments).map(|(part, segment)| {
            let (table, segment) = (self.clone(), *segment);
            async move {
                let load = || {
                    async move {
                        let missing = || Error::internal(format!("no segment {segment}"));
                        let segment = table.manifest().segments.get(segment).ok_or_else(missing)?;
                        let runs = table.segment_layout(segment, group).await?;
                        let layout = Layout::new(runs).with_expansion(expansion);
                        let bytes = layout.memory_bytes() as u64;
                        Ok((Arc::new(layout), bytes))
                    }
                    .boxed()
                };
                part.get_or_load(load).await
            }
        });
        let loads: Vec<_> = loads.collect();
        let loaded: Vec<SizedLayout> = stream::iter(loads).buffered(OBJECTS_AT_ONCE).try_collect().await?;
        layouts.evict(self.most_of_layouts()?);
        let (mut run, mut parts, mut loaded) = (0, Vec::with_capacity(segments.len()), loaded.into_iter());
        for (number, segment) in all.iter().enumerate() {
            if segments.contains(&number)
                && let Some((layout, _)) = loaded.next()
            {
                parts.push((segment.first_row, run, layout));
            }
            let runs = segment.groups.get(group).map_or(0, |group| group.runs);
            run = usize::saturating_add(run, usize::try_from(runs).unwrap_or(usize::MAX));
        }
        Ok(Arc::new(Layout::of_parts(parts, self.rows()).with_expansion(expansion)))
    }

    /// Returns the maximum bytes of the parts of large layouts.
    fn most_of_layouts(&self) -> Result<u64> {
        match self.inner.layouts.memory.load(Ordering::Relaxed) {
            u64::MAX => Ok(setting(VARIABLE, "a size such as 64MiB, or 0", parse_size)?.unwrap_or(MEMORY)),
            set => Ok(set),
        }
    }

    /// Does what `Storage::layout` says.
    pub(crate) async fn layout(&self, group: usize) -> Result<Arc<Layout>> {
        let groups = self.inner.layouts.whole.len();
        let outside = || Error::invalid(format!("column group {group} is outside 0..{groups}"));
        let cell = self.inner.layouts.whole.get(group).ok_or_else(outside)?;
        let table = self.clone();
        let load = || {
            async move {
                let damaged = table.inner.layouts.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(&group);
                if let Some(error) = damaged {
                    return Err(error);
                }
                // Segments of equal blocks have the same layout object. It is read once, and its lengths are shared.
                let (mut distinct, mut seen) = (Vec::new(), BTreeMap::new());
                let segments = &table.manifest().segments;
                let place = |(number, segment): (usize, &Segment)| {
                    let GroupSegment { layout, runs, blocks, stored_bytes, .. } = &segment.groups[group];
                    *seen.entry((layout.blake3, layout.bytes, segment.rows, *runs, *blocks, *stored_bytes)).or_insert_with(|| {
                        distinct.push(number);
                        distinct.len() - 1
                    })
                };
                let places: Vec<usize> = segments.iter().enumerate().map(place).collect();
                let read: Vec<_> = distinct.into_iter().map(|number| table.segment_layout(&segments[number], group)).collect();
                let runs: Vec<Vec<LayoutRun>> = stream::iter(read).buffered(OBJECTS_AT_ONCE).try_collect().await?;
                let expansion = table.expansion(group);
                let count = places.iter().map(|place| runs[*place].len()).sum::<usize>();
                let stored = runs.iter().map(Vec::len).sum::<usize>();
                if count > REPEATED_RUNS && count / REPEATED_TIMES > stored {
                    let (runs, stored) = (counted(count, "run"), counted(stored, "run"));
                    return Err(Error::unsupported(format!(
                        "the layout has {runs}, because many segments name the same layout objects, which have {stored}"
                    )));
                }
                offload_large(count.saturating_mul(size_of::<LayoutRun>()), move |_| {
                    let mut all = Vec::new();
                    if all.try_reserve_exact(count).is_err() {
                        let runs = counted(count, "run");
                        return Err(Error::unsupported(format!("the layout has {runs}, for which there is no memory")));
                    }
                    all.extend(places.into_iter().flat_map(|place| &runs[place]).cloned());
                    Ok(Arc::new(Layout::new(all).with_expansion(expansion)))
                })
                .await
            }
            .boxed()
        };
        cell.get_or_load(load).await
    }

    /// Does what `Storage::layout_of_rows` says.
    pub(crate) async fn layout_of_rows(&self, group: usize, rows: Range<u64>) -> Result<Arc<Layout>> {
        let segments = self.manifest().segments.iter();
        let there = segments.filter(|segment| segment.first_row < rows.end && rows.start < segment.first_row + segment.rows);
        let firsts = there.map(|segment| segment.first_row.max(rows.start));
        self.layout_of(group, self.segments_of(group, firsts)).await
    }

    /// Reads the logical hashes of the blocks of a column group in a segment.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the hashes object is missing or differs from what the manifest says.
    /// - Any error of the store.
    pub(in crate::table) async fn block_hashes(&self, stored: &GroupSegment) -> Result<Vec<Hash>> {
        let (bytes, blocks) = (self.object("hashes", &stored.hashes).await?, stored.blocks);
        offload_large(bytes.len(), move |_| read_hashes(bytes, blocks)).await
    }

    /// Reads the layout of a column group in one segment, and returns its runs.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: the layout object is missing or differs from what the manifest says.
    /// - Any error of the store.
    pub(in crate::table) async fn segment_layout(&self, segment: &Segment, group: usize) -> Result<Vec<LayoutRun>> {
        let stored = segment.groups[group].clone();
        let bytes = self.object("layout", &stored.layout).await?;
        let manifest = self.manifest();
        let (rows, stores) = (segment.rows, manifest.stores.len());
        let columns = manifest.schema.groups()[group].columns.len();
        let place = format!("layout of column group `{}`", manifest.schema.groups()[group].name);
        offload_large(bytes.len(), move |_| {
            let found = read_layout(bytes, columns, rows, stores).map_err(|error| error.at(&place))?;
            let (blocks, bytes) = found.iter().fold((0, 0_u64), |(blocks, bytes), run| {
                (blocks + run.lengths.len() as u64, bytes.saturating_add(run.stored_bytes()))
            });
            if (found.len() as u64, blocks, bytes) != (stored.runs, stored.blocks, stored.stored_bytes) {
                return Err(Error::corrupt(format!(
                    "{place}: {} of {} in {}, the manifest says {} of {} in {}",
                    counted(found.len(), "run"),
                    counted(blocks, "block"),
                    counted(bytes, "byte"),
                    stored.runs,
                    stored.blocks,
                    stored.stored_bytes
                )));
            }
            Ok(found)
        })
        .await
    }

    /// Prefetches the layouts of these groups while the caller waits for something else. The error of a damaged layout is stored
    /// for its next reader. A layout that fails for another reason is loaded again when it is needed.
    pub(in crate::table) async fn layouts_ahead(&self, groups: impl IntoIterator<Item = usize>) {
        let load = |group: usize| async move {
            // The object may have been repaired since the stored error occurred.
            self.inner.layouts.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).remove(&group);
            if let Err(error) = self.layout(group).await
                && error.kind() == ErrorKind::Corrupt
            {
                self.inner.layouts.damaged_ahead.lock().unwrap_or_else(PoisonError::into_inner).insert(group, error);
            }
        };
        // Of large layouts, only the parts that a read needs are loaded, when its rows are known.
        let small = groups.into_iter().filter(|group| !self.has_large_layout(*group));
        futures::future::join_all(small.map(load).collect::<Vec<_>>()).await;
    }

    /// Returns the groups whose layouts are prefetched together with the index, before the wanted columns are known: all groups,
    /// if the store is remote and the layouts are few and small. Small means no larger than the index, or at most 4 MiB.
    #[cfg(feature = "frame")]
    pub(in crate::table) fn small_layouts(&self) -> std::ops::Range<usize> {
        const FEW_BYTES: u64 = 4 << 20;
        const FEW_OBJECTS: usize = 32;
        let segments = &self.manifest().segments;
        let index: u64 = segments.iter().map(|segment| segment.index.bytes).sum();
        let layouts = || segments.iter().flat_map(|segment| &segment.groups);
        let bytes: u64 = layouts().map(|group| group.layout.bytes).sum();
        let far = !self.store().is_local();
        let small = bytes <= index.max(FEW_BYTES) && layouts().count() <= FEW_OBJECTS;
        if far && small { 0..self.schema().groups().len() } else { 0..0 }
    }
}
