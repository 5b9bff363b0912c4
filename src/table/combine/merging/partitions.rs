//! Finds partners by partitions on disk, for tables that are not clustered alike: rows of both sides with equal keys get into one
//! partition by a hash of their keys. Each partition is joined in memory. The partners go to buckets of neighbouring rows on the
//! left, so that they can be read in the order of the left table.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use polars::prelude::{Column, DataFrame, DataType, IdxCa, IdxSize, PlSmallStr, UniqueKeepStrategy};
use twox_hash::XxHash3_64;

use super::{
    runs::rows_of,
    spans::one_below_another,
    spill::{Spill, Spilled},
    task::{Task, at_source},
};
use crate::{
    error::{Error, Mark, Result, counted},
    index::{NO_PARTNER, internal},
    progress::Progress,
    table::{
        combine::merge::{Partners, into_lists},
        version::table::Table,
    },
    work::{Stop, offload},
};

/// The column with the row numbers of a table. The first character keeps it apart from columns of users.
const ROW: &str = "\u{1}row";
/// The column with the row numbers of the left table, beside those of the right one.
const LEFT_ROW: &str = "\u{1}left";
/// Maximum number of partitions of a side, and of buckets. All these files are open at the same time.
const MOST_FILES: u64 = 64;
/// Minimum bytes of the working memory.
const LEAST_MEMORY: u64 = 16 << 20;

/// The partners of all rows on the left, in files.
pub(super) struct Buckets {
    /// Rows on the left of each bucket.
    rows: u64,
    /// The columns of the rows on the right, without rows.
    like: DataFrame,
    files: VecDeque<Spilled>,
    /// If the rows on the right become lists: the first row of the list of each row, or −1.
    pub(super) lists: Option<Vec<i64>>,
    next: u64,
    end: u64,
    /// The bucket that is being read: its first row, the rows on the right, and the partner of each row on the left.
    pending: Option<(u64, DataFrame, Vec<i64>, Partners)>,
}

/// Rows on the left, the frame of rows on the right with their row numbers, and the partner of each row on the left.
pub(super) type Found = (Range<u64>, DataFrame, Vec<i64>, Partners);

impl Buckets {
    /// Returns the partners of the next rows on the left, at most `most` rows; `None` after the last row.
    ///
    /// # Errors
    /// - `Unavailable`: a file cannot be read.
    pub(super) async fn next(&mut self, most: u64) -> Result<Option<Found>> {
        if self.next >= self.end {
            return Ok(None);
        }
        let first = self.next / self.rows * self.rows;
        let pending = match self.pending.take() {
            Some(pending) if pending.0 == first => pending,
            _ => {
                let file = self.files.pop_front().ok_or_else(|| Error::internal("fewer buckets than rows"))?;
                let rows = usize::try_from(self.rows.min(self.end - first)).unwrap_or(usize::MAX);
                let like = self.like.clone();
                let (frame, numbers, partners) = offload(move |stop| bucket(file, like, first, rows, stop)).await?;
                (first, frame, numbers, partners)
            }
        };
        let rows = self.next..self.end.min(first + self.rows).min(self.next + most);
        let here = (rows.start - first) as usize..(rows.end - first) as usize;
        let partners = pending.3.get(here).unwrap_or_default().to_vec();
        let found = (rows.clone(), pending.1.clone(), pending.2.clone(), partners);
        self.next = rows.end;
        self.pending = Some(pending);
        Ok(Some(found))
    }
}

/// Reads a bucket of `rows` rows on the left, from row `first` on.
fn bucket(file: Spilled, like: DataFrame, first: u64, rows: usize, stop: &Stop) -> Result<(DataFrame, Vec<i64>, Partners)> {
    let mut partners: Partners = vec![None; rows];
    let parts = file.read()?.map(|part| stop.check().and(part)).collect::<Result<Vec<_>>>()?;
    if parts.is_empty() {
        return Ok((like, Vec::new(), partners));
    }
    let mut frame = one_below_another(&parts)?;
    for (place, left) in numbers(&frame, LEFT_ROW)?.into_iter().enumerate() {
        let slot = usize::try_from(left - first.cast_signed()).ok().and_then(|row| partners.get_mut(row));
        *slot.ok_or_else(|| Error::internal(format!("row {left} in a bucket of others")))? = IdxSize::try_from(place).ok();
    }
    let right = numbers(&frame, ROW)?;
    frame = frame.drop(LEFT_ROW).and_then(|frame| frame.drop(ROW)).map_err(internal)?;
    Ok((frame, right, partners))
}

/// Finds the partners of all rows on the left.
///
/// # Errors
/// - `Invalid`: keys on the right are equal, and the merge neither takes the first nor the last.
/// - `Unsupported`: a merge by time has more rows with equal keys than fit into the memory.
/// - `Unavailable`: a temporary file cannot be written or read.
/// - Errors of the stores.
pub(super) async fn partitioned(task: &Arc<Task>) -> Result<Buckets> {
    let memory = task.memory.max(LEAST_MEMORY);
    let bytes = task.right.rows() * task.right_bytes + task.left.rows() * 64;
    let count = match task.merge.pairs().is_empty() {
        true => 1,
        false => (bytes.saturating_mul(8) / task.memory.max(1)).clamp(1, MOST_FILES) as usize,
    };
    let left: Vec<String> = distinct(task.merge.left_keys());
    let right: Vec<String> = task.right_frame.columns().iter().map(|column| column.name().to_string()).collect();
    let left_on: Vec<String> = task.merge.pairs().iter().map(|(left, _)| left.clone()).collect();
    let right_on: Vec<String> = task.merge.pairs().iter().map(|(_, right)| right.clone()).collect();
    let times = task.merge.times().map(|(left, right)| (left.to_owned(), right.to_owned())).unzip();
    let at = |side| move |error| at_source(task.sources.as_ref(), side, error);
    let lefts = scattered(task, &task.left, (left, left_on, times.0), count).await.map_err(at(0))?;
    let rights = scattered(task, &task.right, (right, right_on, times.1), count).await.map_err(at(1))?;
    let mut lists = match task.merge.list_keys()? {
        Some(_) => {
            task.right.fits_in_memory(size_of::<i64>() as u64)?;
            Some(vec![NO_PARTNER; usize::try_from(task.right.rows()).unwrap_or(usize::MAX)])
        }
        None => None,
    };
    // A bucket takes a part of the memory, and there are not too many. In a merge to lists a row on the left takes a whole list.
    let most = if lists.is_some() { 0 } else { task.memory / 8 / task.right_bytes.max(1) };
    let rows = most.max(1 << 10).max(task.left.rows().div_ceil(MOST_FILES));
    let none = with_numbers(&task.right_frame, ROW, 0..0)?;
    let like = task.kept(&listed(task, none, lists.as_deref_mut())?)?;
    let stored = with_numbers(&like, ROW, 0..0).and_then(|like| with_numbers(&like, LEFT_ROW, 0..0))?;
    let files = (0..task.left.rows().div_ceil(rows)).map(|_| Spill::new(&task.folder, &stored));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    for (left, right) in lefts.into_iter().zip(rights) {
        let task = Arc::clone(task);
        (files, lists) = offload(move |stop| {
            join(&task, (left, right), memory, rows, (&mut files, lists.as_deref_mut()), stop)?;
            Ok((files, lists))
        })
        .await?;
    }
    let files = files.into_iter().map(Spill::finish).collect::<Result<VecDeque<_>>>()?;
    Ok(Buckets { rows, like, files, lists, next: 0, end: task.left.rows(), pending: None })
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if all.iter().all(|existing| existing != name) {
            all.push(name.to_owned());
        }
    }
    all
}

fn with_numbers(frame: &DataFrame, name: &str, numbers: impl Iterator<Item = i64>) -> Result<DataFrame> {
    let numbers = Column::new(name.into(), numbers.collect::<Vec<i64>>());
    DataFrame::new(frame.height(), frame.columns().iter().cloned().chain([numbers]).collect()).map_err(internal)
}

fn numbers(frame: &DataFrame, name: &str) -> Result<Vec<i64>> {
    let column = frame.column(name).map_err(internal)?.as_materialized_series();
    Ok(column.i64().map_err(internal)?.iter().flatten().collect())
}

/// Writes the rows of one side to the partitions of their keys, with their row numbers. Leaves out rows with a null key: they have
/// no partner. `columns`, keys and time are names.
async fn scattered(
    task: &Arc<Task>,
    table: &Table,
    (columns, keys, time): (Vec<String>, Vec<String>, Option<String>),
    count: usize,
) -> Result<Vec<Spilled>> {
    let names = Arc::new((columns, keys, time));
    let (scan, mut files) = (table.scan_index()?, None::<Vec<Spill>>);
    let like = scan.empty()?.select(names.0.iter().map(String::as_str)).map_err(internal)?;
    let like = with_numbers(&like, ROW, 0..0)?;
    let mut scan = scan.columns(&names.0)?;
    let progress = Progress::new("sorting rows by key", table.rows());
    while let Some(part) = scan.next().await? {
        let rows = rows_of(&part);
        progress.add(rows.end - rows.start);
        let (names, like, folder) = (Arc::clone(&names), like.clone(), task.folder.clone());
        files = offload(move |stop| {
            let mut files = match files {
                Some(files) => files,
                None => (0..count).map(|_| Spill::new(&folder, &like)).collect::<Result<Vec<_>>>()?,
            };
            let frame = part.frame(&names.0, false)?;
            let frame = frame.select(names.0.iter().map(String::as_str)).map_err(internal)?;
            let rows = rows_of(&part);
            let frame = with_numbers(&frame, ROW, rows.start.cast_signed()..rows.end.cast_signed())?;
            let places = places(&frame, &names.1, names.2.as_ref(), count)?;
            for (file, rows) in files.iter_mut().zip(sorted(&places, count)) {
                stop.check()?;
                file.write(&frame.take(&IdxCa::from_vec(PlSmallStr::EMPTY, rows)).map_err(internal)?)?;
            }
            Ok(Some(files))
        })
        .await?;
    }
    match files {
        Some(files) => files.into_iter().map(Spill::finish).collect(),
        None => (0..count).map(|_| Spill::new(&task.folder, &like)?.finish()).collect(),
    }
}

/// Returns the rows of each of `count` places.
fn sorted(places: &[Option<usize>], count: usize) -> Vec<Vec<IdxSize>> {
    let mut rows = vec![Vec::new(); count];
    for (row, place) in (0..).zip(places) {
        if let Some(rows) = place.and_then(|place| rows.get_mut(place)) {
            rows.push(row);
        }
    }
    rows
}

/// Returns the partition of each row, by a hash of its keys; `None` if a key or the time is null.
fn places(frame: &DataFrame, keys: &[String], time: Option<&String>, count: usize) -> Result<Vec<Option<usize>>> {
    let mut hashes: Vec<Option<u64>> = vec![Some(0); frame.height()];
    let mut mix = |values: &mut dyn Iterator<Item = Option<u64>>| {
        for (hash, value) in hashes.iter_mut().zip(values) {
            *hash = hash.zip(value).map(|(hash, value)| (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        }
    };
    for name in keys {
        let series = frame.column(name).map_err(internal)?.as_materialized_series();
        match series.dtype() {
            DataType::String | DataType::Categorical(..) | DataType::Enum(..) => {
                let texts = series.cast(&DataType::String).map_err(internal)?;
                let texts = texts.str().map_err(internal)?;
                mix(&mut texts.iter().map(|text| text.map(|text| XxHash3_64::oneshot(text.as_bytes()))));
            }
            DataType::Float32 | DataType::Float64 => {
                let numbers = series.cast(&DataType::Float64).map_err(internal)?;
                // Zeros of both signs are equal, and so are all NaN.
                let bits = |number: f64| match number {
                    0.0 => 0,
                    number if number.is_nan() => f64::NAN.to_bits(),
                    number => number.to_bits(),
                };
                mix(&mut numbers.f64().map_err(internal)?.iter().map(|number| number.map(bits)));
            }
            DataType::UInt64 => mix(&mut series.u64().map_err(internal)?.iter()),
            _ => {
                let numbers = series.to_physical_repr().cast(&DataType::Int64).map_err(internal)?;
                mix(&mut numbers.i64().map_err(internal)?.iter().map(|number| number.map(i64::cast_unsigned)));
            }
        }
    }
    if let Some(time) = time {
        let there = frame.column(time).map_err(internal)?.as_materialized_series().is_not_null();
        hashes.iter_mut().zip(there.iter()).for_each(|(hash, there)| *hash = hash.filter(|_| there == Some(true)));
    }
    Ok(hashes.into_iter().map(|hash| hash.map(|hash| ((hash >> 32) % count as u64) as usize)).collect())
}

/// Returns the rows on the right as lists, if the merge makes lists of them, and notes the first row of the list of each row.
fn listed(task: &Task, right: DataFrame, lists: Option<&mut [i64]>) -> Result<DataFrame> {
    let (Some(keys), Some(firsts)) = (task.merge.list_keys()?, lists) else { return Ok(right) };
    let (frame, lists) = into_lists(&right, ROW, &keys)?;
    for list in (0..lists.len()).filter_map(|list| lists.get_as_series(list)) {
        let rows = list.i64().map_err(internal)?;
        let first = rows.first().unwrap_or(NO_PARTNER);
        for row in rows.iter().flatten() {
            let slot = usize::try_from(row).ok().and_then(|row| firsts.get_mut(row));
            *slot.ok_or_else(|| Error::internal(format!("row {row} in a list")))? = first;
        }
    }
    Ok(frame)
}

/// Joins a partition, and appends the partners to the buckets of `rows` rows on the left. Also notes the lists on the right.
fn join(
    task: &Task,
    (left, right): (Spilled, Spilled),
    memory: u64,
    rows: u64,
    (buckets, lists): (&mut [Spill], Option<&mut [i64]>),
    stop: &Stop,
) -> Result<()> {
    if left.rows == 0 && (right.rows == 0 || !(task.merge.refuses_several() || lists.is_some())) {
        return Ok(());
    }
    let right = right_side(task, right, memory, stop)?;
    let right = listed(task, right, lists)?;
    let right_rows = numbers(&right, ROW)?;
    let number = |row: usize| right_rows.get(row).map_or(0, |row| row.cast_unsigned());
    let (kept, mut parts, mut bytes) = (task.kept(&right)?, Vec::new(), 0);
    let kept = with_numbers(&kept, ROW, right_rows.iter().copied())?;
    let most = memory / 4 / 64;
    let mut lefts = left.read()?.peekable();
    // A partition without rows on the left is checked for equal keys.
    let mut is_first = true;
    while is_first || lefts.peek().is_some() {
        is_first = false;
        stop.check()?;
        for part in lefts.by_ref() {
            let part = part?;
            bytes += part.height() as u64;
            parts.push(part);
            if bytes >= most {
                break;
            }
        }
        let left = match parts.is_empty() {
            true => with_numbers(&task.left_frame, ROW, 0..0)?,
            false => one_below_another(&parts)?,
        };
        (parts, bytes) = (Vec::new(), 0);
        let found = task.merge.partners_among(&left, &right, task.unit, number)?;
        let left_rows = numbers(&left, ROW)?;
        let pairs: Vec<(i64, IdxSize)> =
            left_rows.into_iter().zip(found).filter_map(|(row, partner)| Some((row, partner?))).collect();
        // The rows on the left rise, so those of a bucket are neighbours.
        for pairs in pairs.chunk_by(|(a, _), (b, _)| a.cast_unsigned() / rows == b.cast_unsigned() / rows) {
            let at = IdxCa::from_vec(PlSmallStr::EMPTY, pairs.iter().map(|(_, partner)| *partner).collect());
            let frame = with_numbers(&kept.take(&at).map_err(internal)?, LEFT_ROW, pairs.iter().map(|(row, _)| *row))?;
            let bucket = pairs.first().and_then(|(row, _)| buckets.get_mut((row.cast_unsigned() / rows) as usize));
            bucket.ok_or_else(|| Error::internal("a row without a bucket"))?.write(&frame)?;
        }
    }
    Ok(())
}

/// Reads the right side of a partition. In a merge by keys, several rows with equal keys become one if there are many rows.
fn right_side(task: &Task, right: Spilled, memory: u64, stop: &Stop) -> Result<DataFrame> {
    let (all, limit) = (right.rows, (task.memory / 4 / task.right_bytes.max(1)).max(1 << 10));
    let (is_by_time, is_list) = (task.merge.times().is_some(), task.merge.list_keys()?.is_some());
    if is_by_time && all.saturating_mul(task.right_bytes) > memory {
        return Err(Error::unsupported(format!(
            "merge: {} on the right may have equal keys, and need more than the memory limit of {}: set a higher limit, or sort \
             both tables by their keys and times",
            counted(all, "row"),
            counted(task.memory, "byte")
        ))
        .marked(Mark::Merge));
    }
    let names: Vec<String> = distinct(task.merge.pairs().iter().map(|(_, right)| right.as_str()));
    let keep = if task.merge.takes_first() { UniqueKeepStrategy::First } else { UniqueKeepStrategy::Last };
    let (mut parts, mut bytes, mut distinct_rows) = (Vec::new(), 0_u64, 0_u64);
    for part in right.read()? {
        stop.check()?;
        let part = part?;
        bytes += part.height() as u64;
        parts.push(part);
        if !is_by_time && !is_list && bytes > limit.saturating_add(2 * distinct_rows) {
            let frame = one_below_another(&parts)?;
            let unique = frame.unique_stable(Some(&names), keep, None).map_err(internal)?;
            if unique.height() < frame.height() && task.merge.refuses_several() {
                // The join below names the rows.
                parts = vec![frame];
                break;
            }
            distinct_rows = unique.height() as u64;
            (parts, bytes) = (vec![unique], distinct_rows);
        }
    }
    match parts.is_empty() {
        true => with_numbers(&task.right_frame, ROW, 0..0),
        false => one_below_another(&parts),
    }
}
