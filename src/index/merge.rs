//! Finds for each row of a left frame its partner in a right frame: the row with equal keys, or the one nearest in time.

use polars::prelude::*;

use super::{
    aside::{check_process, collect},
    frame::internal,
    unframe::{stored_unit, type_text},
};
use crate::{
    error::{Error, Mark, Result},
    read::{Pick, TimeSpan, Times},
};

/// How to merge two indexes.
///
/// ```
/// use tetrys::{Merge, Pick};
/// let by_key = Merge::on(["log_id", "timestamp"]);                                    // rows with a partner only
/// let labelled = Merge::on(["log_id", "frame"]).left().suffix("_labels");             // all rows of the left table
/// let by_time = Merge::on(["log_id"]).as_of("timestamp", Pick::Nearest).tolerance("50ms")?;
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Merge {
    on: Vec<(String, String)>,
    as_of: Option<(String, String, Pick)>,
    tolerance: Option<(TimeSpan, String)>,
    keep_left: bool,
    several: Several,
    suffix: String,
}

/// Choice among several right rows with equal keys (and equal times, in a merge by time).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Several {
    Refused,
    First,
    Last,
    Lists,
}

impl Merge {
    /// Merges rows with equal values in these columns. Null equals nothing. Rows without a partner are left out.
    pub fn on<N: Into<String>>(keys: impl IntoIterator<Item = N>) -> Self {
        let on = keys.into_iter().map(Into::into).map(|key: String| (key.clone(), key)).collect();
        Self { on, as_of: None, tolerance: None, keep_left: false, several: Several::Refused, suffix: "_right".to_owned() }
    }

    /// Merges like [`Merge::on`], for keys with different names on both sides: pairs of left and right name.
    pub fn on_pairs<L: Into<String>, R: Into<String>>(keys: impl IntoIterator<Item = (L, R)>) -> Self {
        let on = keys.into_iter().map(|(left, right)| (left.into(), right.into())).collect();
        Self { on, ..Self::on(Vec::<String>::new()) }
    }

    /// Also merges by time. Among the right rows with equal keys, `pick` chooses the nearest one, the last one before or the
    /// first one after the left row's time. If an earlier and a later row are equally near, the earlier one wins. Several right
    /// rows with equal keys and equal times are an error, unless [`Merge::first`] or [`Merge::last`] chooses one of them.
    pub fn as_of(mut self, time: impl Into<String>, pick: Pick) -> Self {
        let time = time.into();
        self.as_of = Some((time.clone(), time, pick));
        self
    }

    /// Merges by time like [`Merge::as_of`], for time columns with different names on both sides.
    pub fn as_of_pair(mut self, left: impl Into<String>, right: impl Into<String>, pick: Pick) -> Self {
        self.as_of = Some((left.into(), right.into(), pick));
        self
    }

    /// Maximum distance in time of a partner: `50ms`, or a number in units of the time column. The property `unit` of an integer
    /// column gives its unit.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a time span.
    pub fn tolerance(mut self, tolerance: impl AsRef<str>) -> Result<Self> {
        self.tolerance = Some((tolerance.as_ref().parse()?, tolerance.as_ref().to_owned()));
        Ok(self)
    }

    /// Keeps left rows without a partner. Their right columns are null, and are marked as missing in the mask.
    pub fn left(mut self) -> Self {
        self.keep_left = true;
        self
    }

    /// Keeps only rows with a partner. This is the default.
    pub fn inner(mut self) -> Self {
        self.keep_left = false;
        self
    }

    /// Takes the first of several right rows with equal keys (and equal times, in a merge by time), in the order of the right
    /// frame. Without this choice such rows are an error.
    pub fn first(mut self) -> Self {
        self.several = Several::First;
        self
    }

    /// Takes the last of several right rows with equal keys (and equal times, in a merge by time). See [`Merge::first`].
    pub fn last(mut self) -> Self {
        self.several = Several::Last;
        self
    }

    /// Makes a list of several right rows with equal keys. Each column of the right table becomes a list of its values at these
    /// rows, in table order. Its index columns become lists in the frame, and in a saved view.
    ///
    /// The right index must belong to one table and have each row at most once.
    pub fn group_to_list(mut self) -> Self {
        self.several = Several::Lists;
        self
    }

    /// Suffix for right columns whose names exist on the left, in the index or in a column group. The default is `_right`.
    pub fn suffix(mut self, suffix: impl Into<String>) -> Self {
        self.suffix = suffix.into();
        self
    }

    /// Whether left rows without a partner stay.
    pub(crate) fn keeps_left(&self) -> bool {
        self.keep_left
    }

    /// Returns the name of a right column in the merged index. `taken` says whether the merged index already has a name.
    pub(crate) fn renamed(&self, name: &str, taken: impl Fn(&str) -> bool) -> String {
        let mut renamed = name.to_owned();
        while taken(&renamed) {
            renamed.push_str(if self.suffix.is_empty() { "_right" } else { &self.suffix });
        }
        renamed
    }

    /// Returns the pairs of left and right key, without the time of a merge by time.
    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.on
    }

    /// Whether several right rows with equal keys (and equal times, in a merge by time) are an error.
    pub(crate) fn refuses_several(&self) -> bool {
        self.several == Several::Refused
    }

    /// Whether the first of several right rows with equal keys is taken, and not the last.
    pub(crate) fn takes_first(&self) -> bool {
        self.several == Several::First
    }

    /// Returns the merge with one more key, of this name on both sides, instead of the keys at these places.
    pub(crate) fn by(&self, key: &str, instead_of: &[usize]) -> Self {
        let rest = self.on.iter().enumerate().filter(|(place, _)| !instead_of.contains(place)).map(|(_, pair)| pair.clone());
        Self { on: [(key.to_owned(), key.to_owned())].into_iter().chain(rest).collect(), ..self.clone() }
    }

    /// Returns the error for two right rows with equal keys.
    pub(crate) fn same_keys(&self, first: u64, second: u64) -> Error {
        let names = self.on.iter().map(|(_, right)| right.as_str());
        let refused = match &self.as_of {
            None => Error::invalid(format!(
                "merge: row {second} on the right has the same {} as row {first}; take the first of such rows, the last, or all \
                 of them as a list (`first`, `last`, `group_to_list`)",
                names.collect::<Vec<_>>().join(", ")
            )),
            Some((_, time, _)) => Error::invalid(format!(
                "merge: rows {first} and {second} on the right have the same {}; take the first of such rows or the last \
                 (`first`, `last`)",
                names.chain([time.as_str()]).collect::<Vec<_>>().join(", ")
            )),
        };
        refused.marked(Mark::Merge)
    }

    /// Returns the left keys, including the time of a merge by time.
    pub(crate) fn left_keys(&self) -> impl Iterator<Item = &str> {
        let time = self.as_of.iter().map(|(left, ..)| left.as_str());
        self.on.iter().map(|(left, _)| left.as_str()).chain(time)
    }

    /// Returns the right keys if the right rows become lists, else `None`.
    ///
    /// # Errors
    /// - `Invalid`: lists are combined with a merge by time, or there is no key.
    pub(crate) fn list_keys(&self) -> Result<Option<Vec<&str>>> {
        let lists = self.several == Several::Lists;
        if lists && (self.as_of.is_some() || self.on.is_empty()) {
            let what = "merge: lists of rows need key columns, and are not merged by time; leave the time column out";
            return Err(Error::invalid(what).marked(Mark::Merge));
        }
        Ok(lists.then(|| self.on.iter().map(|(_, right)| right.as_str()).collect()))
    }

    /// Returns the time columns of a merge by time: left name and right name.
    pub(crate) fn times(&self) -> Option<(&str, &str)> {
        self.as_of.as_ref().map(|(left, right, _)| (left.as_str(), right.as_str()))
    }

    /// Whether this right column is a key. The merged frame has each key once, under its left name.
    pub(crate) fn is_right_key(&self, name: &str) -> bool {
        self.on.iter().any(|(_, right)| right == name)
    }

    /// Returns for each row of `left` the number of its partner in `right`, or `None`. `unit` is the unit of integer times in
    /// nanoseconds, if known.
    ///
    /// # Errors
    /// - `NotFound`: a key column does not exist.
    /// - `Invalid`: the keys have different types; there is no key; a time column holds no times; the tolerance is negative;
    ///   several right rows have equal keys, and neither [`Merge::first`] nor [`Merge::last`] chooses one.
    /// - `Unsupported`: this process was forked from one that has used frames.
    pub(crate) fn partners(&self, left: &DataFrame, right: &DataFrame, unit: Option<i64>) -> Result<Vec<Option<IdxSize>>> {
        self.partners_among(left, right, unit, |row| row as u64)
    }

    /// Finds partners as [`Merge::partners`] does. `number` returns the number of a row of `right` for errors.
    pub(crate) fn partners_among(
        &self,
        left: &DataFrame,
        right: &DataFrame,
        unit: Option<i64>,
        number: impl Fn(usize) -> u64,
    ) -> Result<Vec<Option<IdxSize>>> {
        check_process()?;
        for (left_key, right_key) in &self.on {
            same_type(left, left_key, right, right_key)?;
        }
        match &self.as_of {
            None if self.on.is_empty() => Err(Error::invalid("merge: no key to merge on").marked(Mark::Merge)),
            None => self.equal_partners(left, right, number),
            Some((left_time, right_time, pick)) => {
                same_type(left, left_time, right, right_time)?;
                self.nearest_partners(left, right, (left_time, right_time), *pick, unit, number)
            }
        }
    }

    fn equal_partners(&self, left: &DataFrame, right: &DataFrame, number: impl Fn(usize) -> u64) -> Result<Vec<Option<IdxSize>>> {
        let (groups, mut chosen) = self.groups(left, right)?;
        for (row, group) in groups.right.iter().enumerate() {
            let Some(slot) = group.and_then(|group| chosen.get_mut(group as usize)) else { continue };
            match self.several {
                Several::First => {}
                Several::Last => *slot = row as IdxSize,
                Several::Refused | Several::Lists if *slot as usize == row => {}
                Several::Refused | Several::Lists => return Err(self.same_keys(number(*slot as usize), number(row))),
            }
        }
        Ok(groups.left.iter().map(|group| group.and_then(|group| chosen.get(group as usize).copied())).collect())
    }

    fn nearest_partners(
        &self,
        left: &DataFrame,
        right: &DataFrame,
        (left_time, right_time): (&str, &str),
        pick: Pick,
        unit: Option<i64>,
        number: impl Fn(usize) -> u64,
    ) -> Result<Vec<Option<IdxSize>>> {
        let (left_times, per_tick) = ticks(left, left_time)?;
        let (right_times, _) = ticks(right, right_time)?;
        let tolerance = match &self.tolerance {
            Some((span, text)) => {
                let ticks = span.ticks(per_tick.or(unit), left_time).map_err(|error| error.marked(Mark::Merge))?;
                if ticks < 0 {
                    return Err(Error::invalid(format!("merge: tolerance {text}: expected 0 or more")).marked(Mark::Merge));
                }
                Some(ticks)
            }
            None => None,
        };
        let (left_groups, right_groups) = match self.on.is_empty() {
            true => (vec![Some(0); left.height()], vec![Some(0); right.height()]),
            false => {
                let (groups, _) = self.groups(left, right)?;
                (groups.left, groups.right)
            }
        };
        // Right rows with a time, sorted by group and time.
        let mut order: Vec<(u32, i64, IdxSize)> = Vec::with_capacity(right.height());
        for (row, (group, time)) in right_groups.iter().zip(&right_times).enumerate() {
            if let (Some(group), Some(time)) = (group, time) {
                order.push((*group, *time, row as IdxSize));
            }
        }
        if !order.is_sorted() {
            order.sort_unstable();
        }
        let same = |a: &(u32, i64, IdxSize), b: &(u32, i64, IdxSize)| (a.0, a.1) == (b.0, b.1);
        match self.several {
            Several::First => order.dedup_by(|next, kept| same(next, kept)),
            // `dedup_by` keeps the first of equal entries, so copy the last row into it.
            Several::Last => order.dedup_by(|next, kept| {
                let equal = same(next, kept);
                if equal {
                    *kept = *next;
                }
                equal
            }),
            Several::Refused | Several::Lists => {
                if let Some([first, second]) = order.array_windows().find(|[a, b]| same(a, b)) {
                    return Err(self.same_keys(number(first.2 as usize), number(second.2 as usize)));
                }
            }
        }
        let mut starts = vec![0_u64];
        for (place, (group, _, _)) in order.iter().enumerate() {
            while starts.len() <= *group as usize {
                starts.push(place as u64);
            }
        }
        let times = Times::new(order.iter().map(|(_, time, _)| Some(*time)), None, true);
        let partner = |(group, time): (&Option<u32>, &Option<i64>)| {
            let (group, time) = ((*group)? as usize, (*time)?);
            let start = *starts.get(group)?;
            let end = starts.get(group + 1).copied().unwrap_or(order.len() as u64);
            let found = times.nearest(start..end, time, pick, tolerance)?;
            order.get(found as usize).map(|(_, _, row)| *row)
        };
        Ok(left_groups.iter().zip(&left_times).map(partner).collect())
    }

    /// Numbers the distinct keys of the right frame. Returns the key number of each row of both frames, and the first right row
    /// of each key.
    fn groups(&self, left: &DataFrame, right: &DataFrame) -> Result<(Groups, Vec<IdxSize>)> {
        const ROW: &str = "__row";
        const GROUP: &str = "__group";
        let keys = |frame: &DataFrame, name: fn(&(String, String)) -> &str| -> Result<DataFrame> {
            let columns = self.on.iter().enumerate().map(|(place, pair)| {
                let column = frame.column(name(pair)).map_err(internal)?;
                // Compare the stored integers, because times in different zones are equal if they are the same instant.
                let column = match column.dtype() {
                    DataType::Datetime(..) => column.to_physical_repr(),
                    _ => column.clone(),
                };
                Ok(column.with_name(format!("__{place}").into()))
            });
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let frame = DataFrame::new(frame.height(), columns).map_err(internal)?;
            frame.with_row_index(ROW.into(), None).map_err(internal)
        };
        let names: Vec<Expr> = (0..self.on.len()).map(|place| col(format!("__{place}"))).collect();
        let right = keys(right, |(_, right)| right)?;
        let height = right.height();
        let firsts = right
            .clone()
            .lazy()
            .drop_nulls(None)
            .group_by_stable(names.clone())
            .agg([col(ROW).first()])
            .with_row_index(GROUP, None);
        let firsts = collect(firsts).map_err(internal)?;
        let group_of = |frame: DataFrame, height: usize| -> Result<Vec<Option<u32>>> {
            let firsts = firsts.clone().lazy().drop(cols([ROW]));
            let found = frame.lazy().join(firsts, names.clone(), names.clone(), JoinArgs::new(JoinType::Inner));
            let found = collect(found).map_err(internal)?;
            let rows = found.column(ROW).map_err(internal)?.idx().map_err(internal)?.clone();
            let groups = found.column(GROUP).map_err(internal)?.idx().map_err(internal)?.clone();
            let mut out = vec![None; height];
            for (row, group) in rows.iter().zip(groups.iter()) {
                if let (Some(row), Some(group)) = (row, group)
                    && let Some(slot) = out.get_mut(row as usize)
                {
                    *slot = Some(group);
                }
            }
            Ok(out)
        };
        let left_height = left.height();
        let left = group_of(keys(left, |(left, _)| left)?, left_height)?;
        let right = group_of(right, height)?;
        let rows = firsts.column(ROW).map_err(internal)?.idx().map_err(internal)?.clone();
        Ok((Groups { left, right }, rows.iter().flatten().collect()))
    }
}

/// Key number of each row; `None` if a key is null or does not occur on the right.
struct Groups {
    left: Vec<Option<u32>>,
    right: Vec<Option<u32>>,
}

fn key<'a>(frame: &'a DataFrame, name: &str, side: &str) -> Result<&'a Column> {
    frame.column(name).map_err(|_| {
        let names: Vec<&str> =
            frame.columns().iter().map(|column| column.name().as_str()).filter(|name| !super::is_locator(name)).collect();
        let what = format!("merge: no column `{name}` on the {side}; there are: {}", names.join(", "));
        Error::not_found(what).marked(Mark::Merge)
    })
}

fn same_type(left: &DataFrame, left_key: &str, right: &DataFrame, right_key: &str) -> Result<()> {
    let (left, right) = (key(left, left_key, "left")?, key(right, right_key, "right")?);
    let same = match (left.dtype(), right.dtype()) {
        (DataType::Datetime(unit, Some(_)), DataType::Datetime(other, Some(_))) => unit == other,
        (left, right) => left == right,
    };
    match same {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "merge: key `{left_key}` is {} on the left and `{right_key}` is {} on the right: cast one of them",
            type_text(left),
            type_text(right)
        ))
        .marked(Mark::Merge)),
    }
}

/// Returns the values of a time column as integers, and the length of its unit in nanoseconds if the type has one.
fn ticks(frame: &DataFrame, name: &str) -> Result<(Vec<Option<i64>>, Option<i64>)> {
    let series = frame.column(name).map_err(internal)?.as_materialized_series();
    let per_tick = match series.dtype() {
        DataType::Datetime(unit, _) | DataType::Duration(unit) => Some(stored_unit(*unit).nanoseconds()),
        DataType::Date => Some(86_400_000_000_000),
        ty if ty.is_integer() => None,
        ty => return Err(Error::invalid(format!("merge: column `{name}` is {ty}: it has no times")).marked(Mark::Merge)),
    };
    let physical = series.to_physical_repr().strict_cast(&DataType::Int64);
    let unreadable = |error| Error::invalid(format!("merge: cannot read column `{name}` as times: {error}")).marked(Mark::Merge);
    let physical = physical.map_err(unreadable)?;
    Ok((physical.i64().map_err(internal)?.iter().collect(), per_tick))
}
