//! Reads the rows of an index by ranges of row numbers. Memory holds the row groups of one read, those of the read before, and a
//! few index objects.

use std::{ops::Range, sync::Arc};

use polars::prelude::{Column, DataFrame};

use crate::{
    error::{Error, Result},
    format::RowGroups,
    index::{Filling, frame_bytes, internal},
    table::{
        index::load::{LARGE, fill, free, others_for},
        version::table::Table,
    },
    work::{Stop, offload_large},
};

/// Reads some index columns of a table at ranges of rows.
#[derive(Debug)]
pub(super) struct Spans {
    table: Table,
    /// Ascending places of the columns in the stored schema.
    places: Vec<usize>,
    /// The index objects that were used last, the most recent one last.
    objects: Vec<(usize, Arc<RowGroups>)>,
    /// Maximum number of index objects in memory.
    most: usize,
    /// The row groups of the last read: segment, number and rows.
    loaded: Vec<((usize, usize), DataFrame)>,
}

/// Ranges of rows of one segment, counted from its first row.
type Within = (usize, Vec<Range<u64>>);

impl Spans {
    /// Creates a reader of all index columns of a table, which is no view. It holds up to `most` index objects.
    pub(super) fn new(table: &Table, most: usize) -> Self {
        let places = (0..table.manifest().schema.index().len()).collect();
        Self { table: table.clone(), places, objects: Vec::new(), most, loaded: Vec::new() }
    }

    /// Returns the rows of these ascending ranges, one after another, without locators.
    ///
    /// # Errors
    /// - `Corrupt`: an index object is missing or damaged.
    /// - Errors of the store.
    pub(super) async fn read(&mut self, ranges: &[Range<u64>]) -> Result<DataFrame> {
        let (mut parts, mut used) = (Vec::new(), Vec::new());
        for (segment, ranges) in self.within(ranges)? {
            let object = self.object(segment).await?;
            let (table, places) = (self.table.clone(), self.places.clone());
            let loaded: Vec<_> = self.loaded.iter().chain(&used).filter(|((of, _), _)| *of == segment).cloned().collect();
            let rows = ranges.iter().map(|range| range.end - range.start).sum();
            let work = usize::try_from(frame_bytes(&table.described(&places), rows, false)).unwrap_or(usize::MAX);
            let decode = move |stop: &Stop| decoded(&table, &places, segment, (&object, &loaded), &ranges, stop);
            let (mut found, mut groups) = offload_large(work, decode).await?;
            parts.append(&mut found);
            used.retain(|(key, _)| groups.iter().all(|(other, _)| key != other));
            used.append(&mut groups);
        }
        self.loaded = used;
        match parts.len() {
            0 => Filling::new(&self.table.described(&self.places), 0, false)?.finish(),
            1 => Ok(parts.remove(0)),
            _ => one_below_another(&parts),
        }
    }

    /// Cuts ranges of rows at the segments.
    fn within(&self, ranges: &[Range<u64>]) -> Result<Vec<Within>> {
        let segments = &self.table.manifest().segments;
        let mut found: Vec<Within> = Vec::new();
        for range in ranges {
            let mut start = range.start;
            while start < range.end {
                let number = segments.partition_point(|segment| segment.first_row + segment.rows <= start);
                let segment = segments.get(number).ok_or_else(|| Error::internal(format!("no index row {start}")))?;
                let end = range.end.min(segment.first_row + segment.rows);
                let here = start - segment.first_row..end - segment.first_row;
                match found.last_mut() {
                    Some((last, ranges)) if *last == number => ranges.push(here),
                    _ => found.push((number, vec![here])),
                }
                start = end;
            }
        }
        Ok(found)
    }

    /// Returns the index object of a segment.
    async fn object(&mut self, segment: usize) -> Result<Arc<RowGroups>> {
        if let Some(place) = self.objects.iter().position(|(number, _)| *number == segment) {
            let found = self.objects.remove(place);
            let object = Arc::clone(&found.1);
            self.objects.push(found);
            return Ok(object);
        }
        let described = self.table.manifest().segments.get(segment);
        let described = described.ok_or_else(|| Error::internal(format!("no segment {segment}")))?;
        let (rows, index) = (described.rows, described.index.clone());
        while self.objects.len() >= self.most.max(1) {
            self.objects.remove(0);
            free(index.bytes > LARGE as u64);
        }
        let bytes = self.table.object("index", &index).await?;
        let table = self.table.clone();
        let object = offload_large(bytes.len() / 16, move |_| RowGroups::new(bytes, &table.manifest().schema, rows)).await?;
        let object = Arc::new(object);
        self.objects.push((segment, Arc::clone(&object)));
        Ok(object)
    }
}

/// A row group, and its rows.
type Group = ((usize, usize), DataFrame);

/// Decodes ranges of rows of one segment. `known` has row groups that are decoded already. Returns the rows of each range, and the
/// row groups that they are in.
fn decoded(
    table: &Table,
    places: &[usize],
    segment: usize,
    (object, known): (&RowGroups, &[Group]),
    ranges: &[Range<u64>],
    stop: &Stop,
) -> Result<(Vec<DataFrame>, Vec<Group>)> {
    let group_rows: Vec<u64> = object.rows().collect();
    let mut starts = vec![0_u64];
    for rows in &group_rows {
        starts.push(starts.last().copied().unwrap_or_default() + rows);
    }
    let group_of = |row: u64| starts.partition_point(|start| *start <= row).saturating_sub(1);
    let mut wanted: Vec<usize> = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        wanted.extend(group_of(range.start)..=group_of(range.end - 1));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let is_loaded = |number: &usize| known.iter().any(|((_, known), _)| known == number);
    let missing: Vec<usize> = wanted.iter().copied().filter(|number| !is_loaded(number)).collect();
    let rows_of = |number: &usize| group_rows.get(*number).copied().unwrap_or_default();
    let rows = missing.iter().map(rows_of).sum();
    let mut filling = Filling::new(&table.described(places), rows, false)?;
    // The same row group may be read again for later rows.
    let again = object.again();
    let groups: Vec<_> = missing.iter().map(|group| (&again, *group)).collect();
    fill(&mut filling, &groups, places, others_for(rows), stop)?;
    let filled = filling.finish()?;
    let (mut groups, mut start) = (Vec::with_capacity(wanted.len()), 0);
    for number in &wanted {
        if let Some(group) = known.iter().find(|((_, known), _)| known == number) {
            groups.push(group.clone());
            continue;
        }
        let rows = rows_of(number) as usize;
        groups.push(((segment, *number), filled.slice(start, rows)));
        start += rows as i64;
    }
    let mut parts = Vec::new();
    for range in ranges.iter().filter(|range| !range.is_empty()) {
        for number in group_of(range.start)..=group_of(range.end - 1) {
            let found = groups.iter().find(|((_, known), _)| *known == number);
            let (_, frame) = found.ok_or_else(|| Error::internal("a row group that was not decoded"))?;
            let first = starts.get(number).copied().unwrap_or_default();
            let (from, to) = (range.start.max(first), range.end.min(first + frame.height() as u64));
            parts.push(frame.slice((from - first) as i64, (to - from) as usize));
        }
    }
    Ok((parts, groups))
}

/// Appends frames with the same columns.
pub(super) fn one_below_another(parts: &[DataFrame]) -> Result<DataFrame> {
    let Some((first, rest)) = parts.split_first() else { return Ok(DataFrame::empty()) };
    let mut columns = Vec::with_capacity(first.width());
    for (place, column) in first.columns().iter().enumerate() {
        let mut column: Column = column.clone();
        for part in rest {
            let next = part.columns().get(place).ok_or_else(|| Error::internal("frames with other columns"))?;
            column.append(next).map_err(internal)?;
        }
        columns.push(column.rechunk());
    }
    DataFrame::new(parts.iter().map(DataFrame::height).sum(), columns).map_err(internal)
}
