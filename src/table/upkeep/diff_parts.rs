//! Partitions the rows of a table on disk by a hash of their keys, for a comparison that is larger than memory. Rows of both tables
//! with equal keys are in the partitions of one number, so each partition is compared alone.
//!
//! ```text
//! segment --- index, layouts, hashes ---> a record a row ---> buffer of its partition --- full ---> the end of the file
//!
//! record  | row u64 | key u128 | hash of each index column that is no key u64 | for each group: hash of the row u64, alone u8 |
//! ```

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    ops::Range,
};

use super::{
    diff_hashes::{IndexOfRows, Prints, ROW_BYTES, RowHashes, SegmentRows, columns_of, hash_values, key_of},
    diff_rows::Origin,
    diff_segments::{SegmentToCompare, paired_key},
    diff_views::{Contents, GroupAt, Places, PrintsOfView},
};
use crate::{
    error::{Error, Result, counted},
    format::index_columns_reader,
    progress::Progress,
    schema::Schema,
    table::version::{
        seen::seen_columns,
        temporary::{Counted, Folder},
    },
    work::{Stop, offload},
};

/// The most partitions. Each has a buffer while they are written.
const MOST_PARTS: u64 = 1024;
/// Minimum and maximum bytes of a buffer.
const BUFFER: Range<u64> = 4 << 10..1 << 20;

/// Returns the number of partitions of two tables, so that a partition of both takes about half of the memory.
pub(super) fn parts_for(tables: [(&Places, &[SegmentToCompare]); 2], memory: u64) -> usize {
    let bytes = |(places, chosen): (&Places, &[SegmentToCompare])| {
        places.table().rows_of(chosen).saturating_mul(ROW_BYTES + width(places) as u64)
    };
    let bytes = tables.into_iter().map(bytes).fold(0, u64::saturating_add);
    (bytes.saturating_mul(2) / memory.max(1)).clamp(1, MOST_PARTS) as usize
}

/// Returns the bytes of a record, or more.
fn width(places: &Places) -> usize {
    8 + 16 + 8 * places.table().schema().index().len() + 9 * places.groups().len()
}

/// The rows of a table in partitions, in a temporary file.
pub(super) struct RowsInParts {
    file: File,
    /// The ranges of the file with the records of each partition.
    parts: Vec<Vec<Range<u64>>>,
    /// Index columns that are not keys.
    index: Vec<String>,
    groups: Vec<Group>,
    /// Bytes of index, layouts and hashes that were read.
    pub(super) bytes: u64,
}

/// A column group.
struct Group {
    name: String,
    /// Names and types of the columns, and of those that are no masked copies.
    columns: Vec<(String, String)>,
    valid: Vec<(String, String)>,
    /// `None` if a row stands for a list of rows.
    origin: Option<Origin>,
}

impl RowsInParts {
    /// Reads what is compared of a table, segment by segment. `contents` has the contents whose hashes are read; `None` means all of them.
    /// `memory` bounds the buffers, and the hashes of the sources of a view that are kept.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be written. The message names the folder and the bytes written.
    /// - `NotFound`, `Denied`: the folder does not take a file.
    /// - `Corrupt`: an index, layout or hashes object is damaged.
    /// - Errors of the store.
    pub(super) async fn of(
        (places, chosen): (&Places, &[SegmentToCompare]),
        keys: &[String],
        contents: Option<&Contents>,
        parts: usize,
        memory: u64,
        folder: &Folder,
        progress: &Progress,
    ) -> Result<Self> {
        let table = places.table();
        let schema = &table.manifest().schema;
        let names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
        // The order of the keys is that of the caller, in both tables.
        let of_keys: Vec<usize> = keys.iter().filter_map(|key| names.iter().position(|name| name == key)).collect();
        let others: Vec<usize> = (0..names.len()).filter(|place| !of_keys.contains(place)).collect();
        let compared = places.groups();
        let mut of_view = PrintsOfView::new(places, contents, memory);
        let mut out = Parts::new(folder, parts, memory)?;
        let every = seen_columns(table.manifest());
        let mut bytes = 0;
        for chosen in chosen {
            let segment = table.segment(chosen.segment)?;
            let mut prints = Vec::with_capacity(compared.len());
            for group in &compared {
                let (rows, alone, read) = match table.is_view() {
                    true => of_view.of_rows(group, segment.first_row..segment.first_row + segment.rows).await?,
                    false => table.segment_prints(chosen, group.group, contents).await?,
                };
                prints.push((rows, alone));
                bytes += read;
            }
            let index = match chosen.pair {
                Some(pair) => IndexOfRows::Paired(pair),
                None => {
                    bytes += segment.index.bytes;
                    IndexOfRows::Read(table.object("index", &segment.index).await?)
                }
            };
            let rows = SegmentRows { first_row: segment.first_row, rows: segment.rows, index };
            let (of_keys, others, every, schema) = (of_keys.clone(), others.clone(), every.clone(), schema.clone());
            out = offload(move |stop| {
                write(&mut out, rows, (&schema, &every), (&of_keys, &others), &prints, stop)?;
                Ok(out)
            })
            .await?;
            progress.add(segment.rows);
        }
        let (file, parts) = out.finish()?;
        let index = others.iter().filter_map(|place| names.get(*place)).cloned().collect();
        let described = |of: GroupAt| {
            let schema = &of.table.manifest().schema;
            let (columns, valid) = schema.groups().get(of.group).map(|group| columns_of(schema, group)).unwrap_or_default();
            Group { name: of.name, columns, valid, origin: of.origin }
        };
        let groups = compared.into_iter().map(described).collect();
        Ok(Self { file, parts, index, groups, bytes })
    }

    /// Returns the sources of the column groups.
    pub(super) fn origins(&self) -> BTreeMap<String, Origin> {
        self.groups.iter().filter_map(|group| Some((group.name.clone(), group.origin.clone()?))).collect()
    }

    /// Reads the rows of a partition.
    ///
    /// # Errors
    /// - `Unavailable`: the file cannot be read.
    pub(super) fn part(&self, number: usize) -> Result<RowHashes> {
        let ranges = self.parts.get(number).map(Vec::as_slice).unwrap_or_default();
        let (mut file, mut bytes) = (&self.file, Vec::new());
        for range in ranges {
            let named = |error: std::io::Error| Error::from(error).at("diff: reading a temporary file");
            file.seek(SeekFrom::Start(range.start)).map_err(named)?;
            let expected = range.end - range.start;
            let found = (&mut file).take(expected).read_to_end(&mut bytes).map_err(named)? as u64;
            if found != expected {
                let start = range.start;
                let found = counted(found, "byte");
                return Err(Error::unavailable(format!("diff: a temporary file has {found} at {start}, expected {expected}")));
            }
        }
        let width = 8 + 16 + 8 * self.index.len() + 9 * self.groups.len();
        let rows = bytes.len() / width;
        let (mut numbers, mut keys) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut index = vec![Vec::with_capacity(rows); self.index.len()];
        let mut prints = vec![(Vec::with_capacity(rows), Vec::with_capacity(rows)); self.groups.len()];
        for record in bytes.chunks_exact(width) {
            let mut rest = record;
            numbers.push(number_of(&mut rest));
            let high = number_of(&mut rest);
            keys.push(u128::from(high) << 64 | u128::from(number_of(&mut rest)));
            index.iter_mut().for_each(|hashes| hashes.push(number_of(&mut rest)));
            for (hashes, alone) in &mut prints {
                hashes.push(number_of(&mut rest));
                let flag = rest.split_off_first();
                alone.push(flag == Some(&1));
            }
        }
        let groups = self.groups.iter().zip(prints).map(|(group, (rows, alone))| {
            let (columns, valid, origin) = (group.columns.clone(), group.valid.clone(), group.origin.clone());
            (group.name.clone(), Prints { columns, valid, rows, alone, origin })
        });
        let (groups, index) = (groups.collect(), self.index.iter().cloned().zip(index).collect());
        Ok(RowHashes { numbers, keys, index, groups, bytes: 0 })
    }
}

/// Takes the next number from a record.
fn number_of(rest: &mut &[u8]) -> u64 {
    rest.split_off(..8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// Writes the records of a segment. `keys` and `others` are places of index columns. `prints` has a hash for each row of each group, and
/// whether the row has a block of its own.
fn write(
    out: &mut Parts,
    segment: SegmentRows,
    (schema, places): (&Schema, &[usize]),
    (keys, others): (&[usize], &[usize]),
    prints: &[(Vec<u64>, Vec<bool>)],
    stop: &Stop,
) -> Result<()> {
    let SegmentRows { first_row, rows, index } = segment;
    let mut record = Vec::new();
    let mut put = |key: u128, place: usize, hashes: &dyn Fn(usize) -> u64| {
        record.clear();
        record.extend((first_row + place as u64).to_le_bytes());
        record.extend(((key >> 64) as u64).to_le_bytes());
        record.extend((key as u64).to_le_bytes());
        others.iter().for_each(|other| record.extend(hashes(*other).to_le_bytes()));
        for (hashes, alone) in prints {
            record.extend(hashes.get(place).copied().unwrap_or_default().to_le_bytes());
            record.push(u8::from(alone.get(place) == Some(&true)));
        }
        out.push(key, &record)
    };
    let batches = match index {
        IndexOfRows::Read(bytes) => index_columns_reader(bytes, schema, rows, places)?,
        IndexOfRows::Paired(pair) => {
            for place in 0..rows {
                if place % 8192 == 0 {
                    stop.check()?;
                }
                let key = if keys.is_empty() { (first_row + place).into() } else { paired_key(pair, place) };
                put(key, usize::try_from(place).unwrap_or_default(), &|_| 0)?;
            }
            return Ok(());
        }
    };
    let (mut bytes, mut before) = (Vec::new(), 0_usize);
    for batch in batches {
        stop.check()?;
        let batch = batch?;
        let hashes: Vec<Vec<u64>> = batch
            .columns()
            .iter()
            .map(|column| {
                let mut hashes = Vec::with_capacity(batch.num_rows());
                hash_values(column, &mut hashes);
                hashes
            })
            .collect();
        let of_keys: Vec<&[u64]> = keys.iter().filter_map(|place| hashes.get(*place)).map(Vec::as_slice).collect();
        for place in 0..batch.num_rows() {
            let in_segment = before + place;
            let key = key_of(&of_keys, place, first_row + in_segment as u64, &mut bytes);
            put(key, in_segment, &|other| hashes.get(other).and_then(|hashes| hashes.get(place)).copied().unwrap_or_default())?;
        }
        before += batch.num_rows();
    }
    Ok(())
}

/// A file of partitions that is being written.
struct Parts {
    file: Counted,
    end: u64,
    buffers: Vec<Vec<u8>>,
    /// Bytes of a full buffer.
    full: usize,
    parts: Vec<Vec<Range<u64>>>,
}

impl Parts {
    fn new(folder: &Folder, parts: usize, memory: u64) -> Result<Self> {
        let full = (memory / parts.max(1) as u64).clamp(BUFFER.start, BUFFER.end) as usize;
        Ok(Self { file: folder.counted()?, end: 0, buffers: vec![Vec::new(); parts], full, parts: vec![Vec::new(); parts] })
    }

    /// Appends a record to the partition of its key.
    fn push(&mut self, key: u128, record: &[u8]) -> Result<()> {
        // The lower half of a key is a hash, or the number of a row.
        let part = (key as u64 % self.buffers.len().max(1) as u64) as usize;
        let Some(buffer) = self.buffers.get_mut(part) else { return Err(Error::internal("a row without a partition")) };
        buffer.extend(record);
        if buffer.len() >= self.full { self.flush(part) } else { Ok(()) }
    }

    fn flush(&mut self, part: usize) -> Result<()> {
        let (Some(buffer), Some(ranges)) = (self.buffers.get_mut(part), self.parts.get_mut(part)) else { return Ok(()) };
        if buffer.is_empty() {
            return Ok(());
        }
        self.file.write_all(buffer)?;
        let end = self.end + buffer.len() as u64;
        ranges.push(self.end..end);
        self.end = end;
        buffer.clear();
        Ok(())
    }

    /// Returns the file, and the ranges with the records of each partition.
    fn finish(mut self) -> Result<(File, Vec<Vec<Range<u64>>>)> {
        (0..self.buffers.len()).try_for_each(|part| self.flush(part))?;
        Ok((self.file.into_file(), self.parts))
    }
}
