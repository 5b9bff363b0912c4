//! The rows of a table, reduced to hashes for a comparison: a key and a hash of each index column and column group for each row.

use std::{collections::BTreeMap, sync::Arc};

use arrow_array::{Array, ArrayRef, cast::AsArray};
use bytes::Bytes;
use twox_hash::XxHash3_64;

use super::{diff_rows::Origin, diff_segments::paired_key};
use crate::{
    error::{Error, Result},
    format::{LayoutRun, index_columns_reader},
    progress::Progress,
    schema::{ColumnGroup, ColumnId, Schema},
    table::{reading::source::NO_ROW, version::lists::Lists},
    work::Stop,
};

/// Bytes of a row of a table while rows are compared, beside the hashes of its columns.
pub(super) const ROW_BYTES: u64 = 96;

/// Name and type of a column.
pub(super) type Typed = (String, String);

/// Returns the columns of a group, and those of them that are no masked copies.
pub(super) fn columns_of(schema: &Schema, group: &ColumnGroup) -> (Vec<Typed>, Vec<Typed>) {
    let typed = |is_wanted: &dyn Fn(&ColumnId) -> bool| -> Vec<Typed> {
        let columns = group.columns.iter().filter(|id| is_wanted(id)).filter_map(|id| schema.column(*id));
        columns.map(|column| (column.name.clone(), column.ty.to_string())).collect()
    };
    (typed(&|_| true), typed(&|id| !group.masked.contains(id)))
}

/// Name of each column, and a hash for each row.
pub(super) type Hashes = Vec<(String, Vec<u64>)>;

/// Rows of a table, or of a partition of them, reduced to hashes for the comparison.
#[derive(Default)]
pub(super) struct RowHashes {
    /// The ascending numbers of the rows.
    pub(super) numbers: Vec<u64>,
    pub(super) keys: Vec<u128>,
    /// Index columns that are not keys.
    pub(super) index: Hashes,
    pub(super) groups: BTreeMap<String, Prints>,
    /// Bytes that were read for these rows.
    pub(super) bytes: u64,
}

/// The rows of a column group, reduced to hashes for the comparison.
pub(super) struct Prints {
    /// Names and types of the columns.
    pub(super) columns: Vec<(String, String)>,
    /// Those of them that readers read here: a masked copy is read from another group.
    pub(super) valid: Vec<(String, String)>,
    /// A hash for each row: equal if the blocks and the places of the rows in their blocks are equal.
    pub(super) rows: Vec<u64>,
    /// Whether each row has a block of its own.
    pub(super) alone: Vec<bool>,
    /// Source from which the rows can be read; `None` if a row stands for a list of rows.
    pub(super) origin: Option<Origin>,
}

impl RowHashes {
    pub(super) fn origins(&self) -> BTreeMap<String, Origin> {
        self.groups.iter().filter_map(|(name, prints)| Some((name.clone(), prints.origin.clone()?))).collect()
    }

    /// Returns the number in the table of the row at a place.
    pub(super) fn number(&self, place: usize) -> u64 {
        self.numbers.get(place).copied().unwrap_or_default()
    }
}

impl Prints {
    /// Returns the hashes of the rows of a view: `at` has the row of this table for each row of the view. With lists, a row
    /// stands for all rows of its list.
    pub(super) fn at(self, at: &Arc<[i64]>, lists: Option<&Lists>) -> Self {
        let look = |row: u64| {
            let row = usize::try_from(row).unwrap_or(usize::MAX);
            (self.rows.get(row).copied().unwrap_or_default(), self.alone.get(row) == Some(&true))
        };
        let (rows, alone) = at.iter().map(|row| of_view_row(*row, lists, look)).unzip();
        let origin = self.origin.filter(|_| lists.is_none()).map(|origin| Origin { at: Some(Arc::clone(at)), ..origin });
        Self { columns: self.columns, valid: self.valid, rows, alone, origin }
    }
}

/// Returns the rows of a source table that a row of a view stands for: one, those of a list, or none.
pub(super) fn rows_at(row: i64, lists: Option<&Lists>) -> Vec<u64> {
    match (u64::try_from(row), lists) {
        (Ok(first), Some(lists)) => lists.rows(first).collect(),
        (Ok(row), None) => vec![row],
        (Err(_), _) => Vec::new(),
    }
}

/// Returns the hash of a row of a view, and whether it has blocks of its own. `row` is the row of the source table, and `look` returns both
/// for a row of that table.
pub(super) fn of_view_row(row: i64, lists: Option<&Lists>, look: impl Fn(u64) -> (u64, bool)) -> (u64, bool) {
    let (mut hashes, mut alone) = (Vec::new(), true);
    for (hash, is_alone) in rows_at(row, lists).into_iter().map(look) {
        hashes.push(hash);
        alone &= is_alone;
    }
    if row == NO_ROW {
        hashes.push(0);
    }
    match lists {
        None => (hashes.first().copied().unwrap_or_default(), alone),
        Some(_) => (XxHash3_64::oneshot(&hashes.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>()), alone),
    }
}

/// The rows of a segment.
pub(super) struct SegmentRows {
    pub(super) first_row: u64,
    pub(super) rows: u64,
    pub(super) index: IndexOfRows,
}

/// The index of the rows of a segment.
pub(super) enum IndexOfRows {
    /// The index object.
    Read(Bytes),
    /// Equal to that of a segment of the other table: the number of the pair.
    Paired(u64),
}

/// Hashes the index columns at these places of the rows of some segments, in order. `index` has the names of the columns. Returns the
/// number and the key of each row, and the hashes of the columns that are not keys: 0 in paired segments.
pub(super) fn hash_rows(
    segments: Vec<SegmentRows>,
    (schema, places): (&Schema, &[usize]),
    mut index: Hashes,
    keys: &[String],
    (stop, progress): (&Stop, &Progress),
) -> Result<(Vec<u64>, Vec<u128>, Hashes)> {
    let (mut numbers, mut pairs) = (Vec::new(), Vec::new());
    for segment in segments {
        let start = numbers.len();
        numbers.extend(segment.first_row..segment.first_row + segment.rows);
        match segment.index {
            IndexOfRows::Read(bytes) => {
                for batch in index_columns_reader(bytes, schema, segment.rows, places)? {
                    stop.check()?;
                    let batch = batch?;
                    progress.add(batch.num_rows() as u64);
                    for ((_, hashes), array) in index.iter_mut().zip(batch.columns()) {
                        hash_values(array, hashes);
                    }
                }
            }
            IndexOfRows::Paired(pair) => {
                progress.add(segment.rows);
                index.iter_mut().for_each(|(_, hashes)| hashes.resize(numbers.len(), 0));
                pairs.push((start..numbers.len(), pair));
            }
        }
    }
    let of_key = |key: &String| index.iter().find(|(name, _)| name == key).map(|(_, hashes)| hashes.as_slice());
    let columns: Vec<&[u64]> = keys.iter().filter_map(of_key).collect();
    let mut bytes = Vec::with_capacity(8 * columns.len());
    let mut of_rows: Vec<u128> =
        numbers.iter().enumerate().map(|(place, number)| key_of(&columns, place, *number, &mut bytes)).collect();
    for (places, pair) in pairs.into_iter().filter(|_| !keys.is_empty()) {
        of_rows.get_mut(places).into_iter().flatten().zip(0..).for_each(|(key, place)| *key = paired_key(pair, place));
    }
    Ok((numbers, of_rows, index.into_iter().filter(|(name, _)| !keys.contains(name)).collect()))
}

/// Returns the key of a row by the hashes of its key columns, in which the row is at `place`. Without key columns, the key is the
/// number of the row. `bytes` is reused.
pub(super) fn key_of(columns: &[&[u64]], place: usize, row: u64, bytes: &mut Vec<u8>) -> u128 {
    if columns.is_empty() {
        return row.into();
    }
    bytes.clear();
    columns.iter().for_each(|hashes| bytes.extend(hashes.get(place).copied().unwrap_or_default().to_le_bytes()));
    let hashed: &[u8] = bytes;
    let half = |seed| u128::from(XxHash3_64::oneshot_with_seed(seed, hashed));
    half(0) << 64 | half(1)
}

/// Appends a hash of each value. Equal values of one type have equal hashes. Null counts as a value, and floats are compared by
/// their bits.
pub(super) fn hash_values(array: &ArrayRef, hashes: &mut Vec<u64>) {
    const NULL: u64 = 0x6e75_6c6c;
    if let Some(text) = array.as_string_opt::<i64>() {
        hashes.extend(text.iter().map(|value| value.map_or(NULL, |value| XxHash3_64::oneshot(value.as_bytes()))));
    } else if let Some(values) = array.as_boolean_opt() {
        hashes.extend(values.iter().map(|value| value.map_or(NULL, |value| XxHash3_64::oneshot(&[u8::from(value)]))));
    } else {
        // All other index columns are numbers of a fixed width.
        let data = array.to_data();
        let width = data.data_type().primitive_width().unwrap_or_default();
        let values = data.buffers().first().map(|buffer| buffer.as_slice()).unwrap_or_default();
        hashes.extend((0..array.len()).map(|row| {
            let start = (data.offset() + row) * width;
            let value = values.get(start..start + width).filter(|_| array.is_valid(row));
            value.map_or(NULL, XxHash3_64::oneshot)
        }));
    }
}

/// Returns a hash for each row of the runs of a column group, and whether the row has a block of its own. `hashes` has the hash of
/// each block.
pub(super) fn prints_of(group: &str, runs: &[LayoutRun], mut hashes: impl Iterator<Item = u64>) -> Result<(Vec<u64>, Vec<bool>)> {
    let rows = usize::try_from(runs.iter().map(|run| run.rows).sum::<u64>()).unwrap_or_default();
    let (mut prints, mut alone) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for run in runs {
        for block_rows in run.block_rows.iter() {
            let hash = hashes.next().ok_or_else(|| Error::corrupt(format!("group `{group}`: more blocks than hashes")))?;
            for place in 0..u64::from(block_rows) {
                prints.push(print_of(hash, place));
                alone.push(block_rows == 1);
            }
        }
    }
    Ok((prints, alone))
}

/// Returns the hash of a row by that of its block and its place there.
pub(super) fn print_of(block: u64, place: u64) -> u64 {
    block.wrapping_add(place.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
