//! Plans a merge of tables that are clustered in the same way: for some rows on the left, the ranges of rows on the right that can
//! have their partners. Reads the key columns of both tables once.
//!
//! ```text
//! left   a a a a b b b b c c c c        keys of sequences: runs of equal values
//!        0 1 2 3 0 1 2 3 0 1 2 3        time
//!                  |
//! right  b b b b b b a a a c            the run of `b`; if its times rise, only the rows around the times on the left
//! ```
//!
//! No order of the runs is expected. A single run of all rows is what a table without sequences has.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use polars::prelude::{BooleanChunked, ChunkCompareEq, Column, DataFrame, DataType, Int64Chunked};

use super::task::at_source;
use crate::{
    error::{Error, Mark, Result},
    index::{Merge, internal},
    schema::{ColumnType, Primitive},
    table::{combine::splits::Values, index::scan::IndexPart, version::table::Table},
    work::offload,
};

/// Distance of the rows whose times are remembered.
const MARK_ROWS: u64 = 16 << 10;
/// Rows that are decoded together in a table.
const GROUP_ROWS: u64 = 64 << 10;
/// Index objects of the right table in memory.
pub(super) const OBJECTS_ON_THE_RIGHT: usize = 2;
/// Estimated bytes of a remembered run.
const RUN_BYTES: u64 = 256;
/// The right side is decoded at most about so many times.
const MOST_TIMES: u64 = 4;

/// Neighbouring rows on the left, and the rows on the right among which their partners are.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) left: Range<u64>,
    /// The number of the run key of some of the rows on the left.
    pub(super) runs: Vec<(Range<u64>, u32)>,
    /// Ascending ranges on the right, with the number of their run key.
    pub(super) right: Vec<(Range<u64>, u32)>,
}

/// A plan, and the places of the keys that are equal within a run.
#[derive(Debug)]
pub(super) struct MergePlan {
    pub(super) steps: Vec<Step>,
    pub(super) clustered: Vec<usize>,
}

/// The columns by which a plan is made.
struct Keys {
    /// Places of the keys that define sequences on both sides.
    clustered: Vec<usize>,
    /// The key that rises within a run: left and right name.
    order: Option<(String, String)>,
    /// Whether the merge has further keys.
    has_others: bool,
}

/// Plans a merge. Returns `None` if the tables are not clustered alike: if `most` rows on the right would not do for some rows on
/// the left, or the right side would be decoded several times. `memory` bounds the bytes of the plan. `sources` has the names of the tables in
/// a recipe.
///
/// # Errors
/// - `Invalid`: keys on the right are equal, and the merge neither takes the first nor the last.
/// - `Corrupt`: an index object is missing or damaged.
/// - Errors of the stores.
pub(super) async fn plan(
    (left, right): (&Table, &Table),
    sources: Option<&[String; 2]>,
    merge: &Merge,
    most: u64,
    memory: u64,
) -> Result<Option<MergePlan>> {
    let Some(keys) = Keys::of(left, right, merge) else { return Ok(None) };
    let runs = right_runs(right, &keys, merge, memory).await.map_err(|error| at_source(sources, 1, error))?;
    let Some(runs) = runs else { return Ok(None) };
    let steps = left_steps((left, right), (&keys, merge), &runs, most, memory).await;
    let Some(steps) = steps.map_err(|error| at_source(sources, 0, error))? else { return Ok(None) };
    Ok(Some(MergePlan { steps, clustered: keys.clustered }))
}

impl Keys {
    fn of(left: &Table, right: &Table, merge: &Merge) -> Option<Self> {
        let ty =
            |table: &Table, name: &str| table.schema().index().find(|column| column.name == name).map(|column| column.ty.clone());
        let is_of_sequence = |table: &Table, name: &str| table.schema().sequence_by().any(|column| column.name == name);
        let (mut clustered, mut others) = (Vec::new(), Vec::new());
        for (place, (a, b)) in merge.pairs().iter().enumerate() {
            let is_clustered = is_of_sequence(left, a) && is_of_sequence(right, b);
            match is_clustered && ty(right, b).is_some_and(|ty| has_values(&ty)) {
                true => clustered.push(place),
                false => others.push((a.clone(), b.clone())),
            }
        }
        let order = match merge.times() {
            Some((a, b)) => Some((a.to_owned(), b.to_owned())),
            None => {
                let is_ordered = |(_, b): &(String, String)| ty(right, b).is_some_and(|ty| has_order(&ty));
                others.iter().position(is_ordered).map(|place| others.remove(place))
            }
        };
        (!clustered.is_empty() || order.is_some()).then_some(Self { clustered, order, has_others: !others.is_empty() })
    }

    /// Returns the names of the columns on one side.
    fn names<'a>(&'a self, merge: &'a Merge, of: fn(&(String, String)) -> &String) -> (Vec<&'a String>, Option<&'a String>) {
        let clustered = self.clustered.iter().filter_map(|place| merge.pairs().get(*place)).map(of).collect();
        (clustered, self.order.as_ref().map(of))
    }
}

/// Whether [`Values`] reads the type.
fn has_values(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Scalar(scalar) => {
            !matches!(scalar, Primitive::U64 | Primitive::F16 | Primitive::Bf16 | Primitive::F32 | Primitive::F64)
        }
        _ => true,
    }
}

/// Whether values of the type are integers that fit into 64 bits.
fn has_order(ty: &ColumnType) -> bool {
    match ty {
        ColumnType::Scalar(Primitive::Bool) => false,
        ColumnType::Utf8 | ColumnType::Categorical => false,
        _ => has_values(ty),
    }
}

/// Neighbouring rows on the right with equal clustered keys.
struct Run {
    rows: Range<u64>,
    /// Whether the order key never decreases.
    rises: bool,
    /// Some rows with their order key: the first one that has a key, and one each [`MARK_ROWS`] rows.
    marks: Vec<(u64, i64)>,
    /// The last row with an order key.
    last: Option<(u64, i64)>,
}

impl Run {
    /// Returns the rows among which the partners of rows with order keys in `low..=high` are, and the rows beside these partners
    /// with equal keys.
    fn around(&self, low: i64, high: i64) -> Range<u64> {
        let Some((first, _)) = self.marks.first() else { return 0..0 };
        // The last row before `low` may be one of several with equal keys, which begin after the mark before.
        let before =
            |key: i64| self.marks.partition_point(|(_, other)| *other < key).checked_sub(1).and_then(|at| self.marks.get(at));
        let start = before(low).and_then(|(_, key)| before(*key)).map_or(*first, |(row, _)| *row);
        let after = |key: i64| self.marks.get(self.marks.partition_point(|(_, other)| *other <= key));
        let end = after(high).and_then(|(_, key)| after(*key)).map_or(self.rows.end, |(row, _)| *row);
        start..end
    }
}

/// The runs of the right table.
#[derive(Default)]
struct Runs {
    /// The number of each run key.
    keys: HashMap<Vec<u8>, u32>,
    /// The runs of each run key, in table order.
    of_key: Vec<Vec<Run>>,
}

/// A piece of a part of an index: rows with equal clustered keys.
struct Piece {
    rows: Range<usize>,
    /// `None` if a key is null.
    key: Option<Vec<u8>>,
}

/// Cuts the rows of a frame where the values of these columns change.
fn pieces(frame: &DataFrame, names: &[&String]) -> Result<Vec<Piece>> {
    let height = frame.height();
    let columns: Vec<&Column> = names.iter().map(|name| frame.column(name).map_err(internal)).collect::<Result<_>>()?;
    let mut changes: Option<BooleanChunked> = None;
    for column in &columns {
        let series = column.as_materialized_series();
        let rest = height.saturating_sub(1);
        let differ = series.slice(1, rest).not_equal_missing(&series.slice(0, rest)).map_err(internal)?;
        changes = Some(changes.map_or(differ.clone(), |changes| changes | differ));
    }
    let changes: Option<Vec<usize>> =
        changes.map(|changes| changes.iter().zip(1..).filter_map(|(is, row)| (is == Some(true)).then_some(row)).collect());
    let starts: Vec<usize> = [0].into_iter().chain(changes.unwrap_or_default()).collect();
    // Only the keys of the first rows are looked at.
    let at: polars::prelude::IdxCa = starts.iter().map(|row| u32::try_from(*row).ok()).collect();
    let heads = columns.iter().map(|column| column.take(&at).map_err(internal)).collect::<Result<Vec<_>>>()?;
    let values = heads.iter().map(Values::of).collect::<Result<Vec<_>>>()?;
    let ends = starts.iter().skip(1).copied().chain([height]);
    let nulls: Vec<BooleanChunked> = heads.iter().map(|head| head.as_materialized_series().is_null()).collect();
    let found = starts.iter().zip(ends).enumerate().filter(|(_, (start, end))| *start < end).map(|(place, (start, end))| {
        let has_null = nulls.iter().any(|nulls| nulls.get(place) == Some(true));
        let mut key = Vec::new();
        values.iter().for_each(|values| values.write(place, &mut key));
        Piece { rows: *start..end, key: (!has_null).then_some(key) }
    });
    Ok(found.collect())
}

/// Returns the order key of each row.
fn ordered(frame: &DataFrame, name: Option<&String>) -> Result<Option<Int64Chunked>> {
    let Some(name) = name else { return Ok(None) };
    let column = frame.column(name).map_err(internal)?.as_materialized_series().to_physical_repr();
    let column = column.strict_cast(&DataType::Int64);
    let column = column
        .map_err(|error| Error::invalid(format!("merge: cannot read column `{name}` as times: {error}")).marked(Mark::Merge))?;
    Ok(Some(column.i64().map_err(internal)?.rechunk().into_owned()))
}

/// Calls `see` with the rows in a range that have an order key.
fn each_ordered(order: &Int64Chunked, rows: Range<usize>, mut see: impl FnMut(usize, i64) -> Result<()>) -> Result<()> {
    match order.cont_slice() {
        Ok(values) => {
            let values = values.get(rows.clone()).unwrap_or_default();
            rows.zip(values).try_for_each(|(row, value)| see(row, *value))
        }
        Err(_) => rows.filter_map(|row| Some((row, order.get(row)?))).try_for_each(|(row, value)| see(row, value)),
    }
}

/// Finds the runs of the right table. Returns `None` if there are too many, or if equal keys could be overlooked.
async fn right_runs(right: &Table, keys: &Keys, merge: &Merge, memory: u64) -> Result<Option<Runs>> {
    let mut runs = Runs::default();
    let (names, order) = keys.names(merge, |(_, right)| right);
    let mut scan = right.scan_index()?.columns(names.iter().copied().chain(order))?;
    let mut count = 0_u64;
    while let Some(part) = scan.next().await? {
        let first = rows_of(&part).start;
        let frame = decoded(part, &names, order).await?;
        let of_part = pieces(&frame, &names)?;
        let order = ordered(&frame, order)?;
        for piece in of_part {
            let Some(key) = piece.key else { continue };
            let number = u32::try_from(runs.of_key.len()).map_err(|_| Error::unsupported("more than 4 billion runs"))?;
            let number = *runs.keys.entry(key).or_insert(number) as usize;
            if number == runs.of_key.len() {
                runs.of_key.push(Vec::new());
            }
            let Some(of_key) = runs.of_key.get_mut(number) else { continue };
            let rows = first + piece.rows.start as u64..first + piece.rows.end as u64;
            match of_key.last_mut() {
                Some(run) if run.rows.end == rows.start => run.rows.end = rows.end,
                _ => {
                    count += 1;
                    of_key.push(Run { rows: rows.clone(), rises: true, marks: Vec::new(), last: None });
                }
            }
            let is_one = of_key.len() == 1;
            let Some(run) = of_key.last_mut() else { continue };
            let refuses = merge.refuses_several() && !keys.has_others;
            match &order {
                Some(order) => each_ordered(order, piece.rows, |row, value| {
                    let row = first + row as u64;
                    if let Some((before, last)) = run.last {
                        if refuses && value == last {
                            return Err(merge.same_keys(before, row));
                        }
                        run.rises &= value >= last;
                    }
                    if run.marks.last().is_none_or(|(at, _)| row - at >= MARK_ROWS) {
                        run.marks.push((row, value));
                    }
                    run.last = Some((row, value));
                    Ok(())
                })?,
                None if refuses && run.rows.end - run.rows.start > 1 => {
                    return Err(merge.same_keys(run.rows.start, run.rows.start + 1));
                }
                None => {}
            }
            // Equal keys in different places would be overlooked.
            let overlooks = !is_one || keys.has_others || !run.rises;
            if merge.refuses_several() && overlooks {
                return Ok(None);
            }
        }
        if count.saturating_mul(RUN_BYTES) > memory {
            return Ok(None);
        }
    }
    Ok(Some(runs))
}

/// Finds the rows on the right for each part of the left table.
async fn left_steps(
    (left, right): (&Table, &Table),
    (keys, merge): (&Keys, &Merge),
    runs: &Runs,
    most: u64,
    memory: u64,
) -> Result<Option<Vec<Step>>> {
    let (names, order) = keys.names(merge, |(left, _)| left);
    let mut scan = left.scan_index()?.columns(names.iter().copied().chain(order))?;
    let (mut steps, mut cost, mut piece_count) = (Vec::new(), Cost::default(), 0_u64);
    let most_groups = MOST_TIMES * (right.rows() / GROUP_ROWS + right.segment_count() as u64) + left.rows() / GROUP_ROWS;
    let most_objects = MOST_TIMES * right.segment_count() as u64;
    // The row of the next time may differ in another key, so that the partner of a merge by time may be far away.
    let is_near = !(keys.has_others && merge.times().is_some());
    while let Some(part) = scan.next().await? {
        let rows = rows_of(&part);
        let (frame, first) = (decoded(part, &names, order).await?, rows.start);
        let of_part = pieces(&frame, &names)?;
        let order = ordered(&frame, order)?;
        let mut step = Step { left: rows, runs: Vec::new(), right: Vec::new() };
        // The lowest and the highest order key of each run key.
        let mut bounds_of: BTreeMap<u32, Option<(i64, i64)>> = BTreeMap::new();
        for piece in of_part {
            let Some(number) = piece.key.and_then(|key| runs.keys.get(&key).copied()) else { continue };
            let mut bounds: Option<(i64, i64)> = None;
            if let Some(order) = &order {
                each_ordered(order, piece.rows.clone(), |_, value| {
                    let (low, high) = bounds.unwrap_or((value, value));
                    bounds = Some((low.min(value), high.max(value)));
                    Ok(())
                })?;
                if bounds.is_none() {
                    continue;
                }
            }
            step.runs.push((first + piece.rows.start as u64..first + piece.rows.end as u64, number));
            let known = bounds_of.entry(number).or_insert(bounds);
            *known = known.zip(bounds).map(|((low, high), (lower, higher))| (low.min(lower), high.max(higher)));
        }
        for (number, bounds) in bounds_of {
            for run in runs.of_key.get(number as usize).into_iter().flatten() {
                let rows = match bounds {
                    Some((low, high)) if run.rises && is_near => run.around(low, high),
                    _ => run.rows.clone(),
                };
                if !rows.is_empty() {
                    step.right.push((rows, number));
                }
            }
            if (step.right.len() as u64).saturating_mul(RUN_BYTES / 8) > memory {
                return Ok(None);
            }
        }
        step.right = disjoint(step.right);
        piece_count += (step.runs.len() + step.right.len()) as u64;
        if cost.add(right, &step) > most {
            return Ok(None);
        }
        steps.push(step);
        if cost.groups > most_groups || cost.objects > most_objects || piece_count.saturating_mul(RUN_BYTES / 8) > memory {
            return Ok(None);
        }
    }
    Ok(Some(steps))
}

/// Sorts ranges, and joins those that overlap, which have the same number.
fn disjoint(mut ranges: Vec<(Range<u64>, u32)>) -> Vec<(Range<u64>, u32)> {
    ranges.sort_unstable_by_key(|(rows, _)| (rows.start, rows.end));
    let mut joined: Vec<(Range<u64>, u32)> = Vec::with_capacity(ranges.len());
    for (rows, number) in ranges {
        match joined.last_mut() {
            Some((last, of)) if *of == number && rows.start <= last.end => last.end = last.end.max(rows.end),
            _ => joined.push((rows, number)),
        }
    }
    joined
}

/// Row groups and index objects that a plan reads of the right table.
#[derive(Default)]
struct Cost {
    /// Row groups that are decoded.
    groups: u64,
    /// Index objects that are read.
    objects: u64,
    /// Row groups of the last step.
    loaded: Vec<(usize, u64)>,
    /// Segments whose objects are in memory.
    segments: Vec<usize>,
}

impl Cost {
    /// Adds a step. Returns the rows of its row groups.
    fn add(&mut self, right: &Table, step: &Step) -> u64 {
        let (segments, mut touched) = (&right.manifest().segments, Vec::new());
        for (range, _) in &step.right {
            let mut start = range.start;
            while start < range.end {
                let number = segments.partition_point(|segment| segment.first_row + segment.rows <= start);
                let Some(segment) = segments.get(number) else { break };
                let group = (start - segment.first_row) / GROUP_ROWS;
                if touched.last() != Some(&(number, group)) {
                    touched.push((number, group));
                }
                start = (segment.first_row + (group + 1) * GROUP_ROWS).min(segment.first_row + segment.rows);
            }
        }
        for (number, _) in &touched {
            if self.segments.last() == Some(number) {
                continue;
            }
            match self.segments.iter().position(|existing| existing == number) {
                Some(place) => drop(self.segments.remove(place)),
                None => self.objects += 1,
            }
            self.segments.push(*number);
            if self.segments.len() > OBJECTS_ON_THE_RIGHT {
                self.segments.remove(0);
            }
        }
        self.groups += touched.iter().filter(|group| !self.loaded.contains(group)).count() as u64;
        self.loaded = touched;
        (self.loaded.len() as u64).saturating_mul(GROUP_ROWS)
    }
}

/// Returns the rows of a part of a scan that leaves out no row.
pub(super) fn rows_of(part: &IndexPart) -> Range<u64> {
    let rows = part.rows();
    rows.first().map_or(0, |first| first.start)..rows.last().map_or(0, |last| last.end)
}

/// Decodes the key columns of a part.
async fn decoded(part: IndexPart, names: &[&String], order: Option<&String>) -> Result<DataFrame> {
    let names: Vec<String> = names.iter().copied().chain(order).cloned().collect();
    offload(move |_| part.frame(names, false)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_around_keys_have_the_neighbours_and_their_equals() {
        let mut rng = fastrand::Rng::with_seed(5);
        for _ in 0..2_000 {
            let mut keys: Vec<i64> = (0..rng.usize(1..60)).map(|_| rng.i64(0..30)).collect();
            keys.sort_unstable();
            // Any of the rows may be a mark, and the first one is.
            let marks = (100..).zip(keys.iter().copied()).filter(|(row, _)| *row == 100 || rng.u8(0..4) == 0).collect();
            let run = Run { rows: 100..100 + keys.len() as u64, rises: true, marks, last: None };
            let low = rng.i64(-3..33);
            let high = rng.i64(low..34);
            let found = run.around(low, high);
            let before = keys.iter().copied().filter(|key| *key < low).max();
            let after = keys.iter().copied().filter(|key| *key > high).min();
            for (row, key) in (100..).zip(&keys) {
                let is_wanted = (low..=high).contains(key) || Some(*key) == before || Some(*key) == after;
                assert!(!is_wanted || found.contains(&row), "row {row} of {keys:?} around {low}..={high}: {found:?}");
            }
        }
    }

    #[test]
    fn overlapping_ranges_of_a_run_are_joined() {
        assert_eq!(disjoint(vec![(5..9, 1), (0..3, 0), (2..5, 0), (7..8, 1), (9..9, 1)]), [(0..5, 0), (5..9, 1)]);
    }
}
