//! Time windows: the rows nearest to given times around a row, within its sequence.

use std::{ops::Range, str::FromStr};

use crate::{
    error::{Error, Result},
    id::Digest,
};

/// Time offsets of a window, relative to the time of a row.
///
/// Each offset selects one row of the same sequence: the row nearest to the target time, the last row before it, or the first row
/// after it ([`Pick`]). Of two rows that are equally near, the earlier one is selected.
///
/// An offset is text with a unit, e.g. `-500ms` (`ns us ms s min h`), or a plain number in units of the column.
///
/// The selected row must lie within a tolerance of the target time; otherwise the row is missing. [`TimeOffsets::within`] sets
/// the tolerance. The default tolerance of an offset is half the distance to the nearest other offset; 0 always counts as another
/// offset. So with offsets of whole seconds no selected row is more than half a second off, and the row itself never takes the
/// place of a missing row.
///
/// ```
/// use tetrys::TimeOffsets;
/// let history = TimeOffsets::new("timestamp", ["-1s", "-500ms", "0s"])?.nearest("50ms")?;
/// assert_eq!(history.len(), 3);
/// assert!(TimeOffsets::new("timestamp", ["-1 parsec"]).is_err());
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct TimeOffsets {
    column: String,
    deltas: Vec<Delta>,
    pick: Pick,
    tolerance: Option<Delta>,
}

/// The rule that selects the row for a target time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// The row whose time is nearest.
    #[default]
    Nearest,
    /// The last row that is not later.
    Before,
    /// The first row that is not earlier.
    After,
}

/// A span of time, parsed from text with a unit, e.g. `-500ms` (`ns us ms s min h`), or from a plain number in units of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan(Delta);

impl FromStr for TimeSpan {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.parse().map(Self)
    }
}

impl TimeSpan {
    /// Parses a span of 0 or more. `what` names it in errors.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a span of time, or negative.
    pub fn distance(text: &str, what: &str) -> Result<Self> {
        let parsed: Delta = text.parse()?;
        let (Delta::Nanoseconds(size) | Delta::Ticks(size)) = parsed;
        match size < 0 {
            true => Err(Error::invalid(format!("{what} {text}: expected 0 or more"))),
            false => Ok(Self(parsed)),
        }
    }

    /// Converts the span to units of a column, rounded down. `nanoseconds_per_tick` is `None` for a column of plain numbers.
    ///
    /// # Errors
    /// - `Invalid`: the span has a unit, but the column has none.
    pub fn ticks(self, nanoseconds_per_tick: Option<i64>, column: &str) -> Result<i128> {
        match (self.0, nanoseconds_per_tick) {
            (Delta::Ticks(ticks), _) => Ok(ticks),
            (Delta::Nanoseconds(0), None) => Ok(0),
            (Delta::Nanoseconds(span), Some(per_tick)) => Ok(span.div_euclid(i128::from(per_tick).max(1))),
            (Delta::Nanoseconds(_), None) => Err(no_unit(column)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delta {
    Nanoseconds(i128),
    /// In units of the column.
    Ticks(i128),
}

impl Delta {
    fn digest(self, to: &mut Digest) {
        let (unit, value) = match self {
            Self::Nanoseconds(value) => (0, value),
            Self::Ticks(value) => (1, value),
        };
        to.number(unit).wide(value);
    }
}

/// The most rows of a window.
const MAX_WINDOW: usize = 1 << 24;

impl TimeOffsets {
    /// Adds the offsets to a hash.
    pub(crate) fn digest<'a>(&self, to: &'a mut Digest) -> &'a mut Digest {
        let Self { column, deltas, pick, tolerance } = self;
        to.text(column).number(deltas.len() as u64);
        deltas.iter().for_each(|delta| delta.digest(to));
        to.number(match pick {
            Pick::Nearest => 0,
            Pick::Before => 1,
            Pick::After => 2,
        });
        to.number(u64::from(tolerance.is_some()));
        tolerance.iter().for_each(|delta| delta.digest(to));
        to
    }

    /// Creates offsets relative to the value of an index column: an integer, timestamp, duration or date. The rows of the window
    /// have the order of the offsets.
    ///
    /// # Errors
    /// - `Invalid`: there are no offsets, more than 16,777,216, or one of them is not a span of time.
    pub fn new<D: AsRef<str>>(column: impl Into<String>, deltas: impl IntoIterator<Item = D>) -> Result<Self> {
        Self::of_at_most(MAX_WINDOW, column.into(), deltas)
    }

    fn of_at_most<D: AsRef<str>>(most: usize, column: String, deltas: impl IntoIterator<Item = D>) -> Result<Self> {
        // One more than the limit, so that an endless iterator ends.
        let deltas = deltas.into_iter().take(most + 1).map(|delta| delta.as_ref().parse());
        let deltas = deltas.collect::<Result<Vec<Delta>>>()?;
        if deltas.is_empty() || deltas.len() > most {
            let found = if deltas.is_empty() { "no" } else { "too many" };
            return Err(Error::invalid(format!("{found} time offsets: expected 1 to {most}")));
        }
        Ok(Self { column, deltas, pick: Pick::Nearest, tolerance: None })
    }

    /// Selects the nearest row, if its distance from the target time is at most `tolerance`.
    ///
    /// # Errors
    /// - `Invalid`: the tolerance is not a span of time, or negative.
    pub fn nearest(self, tolerance: impl AsRef<str>) -> Result<Self> {
        self.pick(Pick::Nearest).within(tolerance)
    }

    /// Sets the rule that selects the row for a target time.
    pub fn pick(mut self, pick: Pick) -> Self {
        self.pick = pick;
        self
    }

    /// Sets the tolerance: the largest distance of a selected row from its target time.
    ///
    /// # Errors
    /// - `Invalid`: the tolerance is not a span of time, or negative.
    pub fn within(mut self, tolerance: impl AsRef<str>) -> Result<Self> {
        self.tolerance = Some(TimeSpan::distance(tolerance.as_ref(), "tolerance")?.0);
        Ok(self)
    }

    /// Returns the name of the index column that has the times.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Returns the number of offsets; never 0.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.deltas.len()
    }

    internal! {
        /// Returns the row that each offset from `row` selects in `sequence`, the rows of its sequence. `None` means that no row lies
        /// within the tolerance, or that `row` has no time.
        ///
        /// # Errors
        /// - `Invalid`: a span has a unit, but the column has none.
        fn rows(&self, times: &Times, sequence: Range<u64>, row: u64) -> Result<Vec<Option<u64>>> {
            let tolerance =
                self.tolerance.map(|tolerance| TimeSpan(tolerance).ticks(times.nanoseconds_per_tick, &self.column)).transpose()?;
            let Some(now) = times.get(row) else { return Ok(vec![None; self.deltas.len()]) };
            let per_tick = times.nanoseconds_per_tick.map(i128::from);
            let nearest_others = match tolerance {
                Some(_) => Vec::new(),
                None => self.nearest_others(per_tick)?,
            };
            let found = self.deltas.iter().enumerate().map(|(place, delta)| {
                let target = Target::of(now, *delta, per_tick, &self.column)?;
                Ok(times.find(sequence.clone(), target, self.pick).filter(|found| {
                    let Some(time) = times.get(*found) else { return false };
                    match (tolerance, nearest_others.get(place)) {
                        (Some(tolerance), _) => target.distance(time) <= tolerance,
                        (None, Some(Some(other))) => 2 * target.nanoseconds(time, per_tick) <= *other,
                        // 0 is the only offset, so there is no other offset to measure against.
                        (None, _) => true,
                    }
                }))
            });
            found.collect()
        }
    }

    /// Returns the distance of each offset from the nearest other offset, where 0 always counts as an offset. The unit is
    /// nanoseconds, or ticks if the column has no unit.
    fn nearest_others(&self, per_tick: Option<i128>) -> Result<Vec<Option<i128>>> {
        let at = |delta: &Delta| match (*delta, per_tick) {
            (Delta::Ticks(ticks), per_tick) => Ok(ticks * per_tick.unwrap_or(1)),
            (Delta::Nanoseconds(span), Some(_)) => Ok(span),
            (Delta::Nanoseconds(0), None) => Ok(0),
            (Delta::Nanoseconds(_), None) => Err(no_unit(&self.column)),
        };
        let at = self.deltas.iter().map(at).collect::<Result<Vec<i128>>>()?;
        let mut sorted: Vec<i128> = at.iter().copied().chain([0]).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let nearest = |offset: &i128| {
            let place = sorted.binary_search(offset).ok()?;
            let before = place.checked_sub(1).and_then(|before| sorted.get(before)).map(|before| offset - before);
            let after = sorted.get(place + 1).map(|after| after - offset);
            before.into_iter().chain(after).min()
        };
        Ok(at.iter().map(nearest).collect())
    }
}

impl FromStr for Delta {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        let malformed =
            || Error::invalid(format!("time offset `{text}`: expected a number with ns, us, ms, s, min or h, e.g. -500ms"));
        let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let scale: i128 = match unit {
            "" => return number.trim().parse::<i64>().map(|ticks| Self::Ticks(ticks.into())).map_err(|_| malformed()),
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return Err(malformed()),
        };
        let number = number.trim();
        let (negative, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
        let valid = |digits: &str| !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|digit| digit.is_ascii_digit());
        if !valid(whole) || !valid(part) {
            return Err(malformed());
        }
        let whole: i128 = whole.parse().map_err(|_| malformed())?;
        let places = 10_i128.pow(u32::try_from(part.len()).map_err(|_| malformed())?);
        let part = part.parse::<i128>().map_err(|_| malformed())? * scale;
        if part % places != 0 {
            return Err(Error::invalid(format!("time offset `{text}`: expected a whole number of nanoseconds")));
        }
        let size = whole * scale + part / places;
        Ok(Self::Nanoseconds(if negative { -size } else { size }))
    }
}

/// A target time, which need not be a whole number of ticks of the column: `scaled / per_tick` ticks.
#[derive(Clone, Copy, Debug)]
struct Target {
    scaled: i128,
    /// Nanoseconds of a tick, or 1 if `scaled` is in ticks.
    per_tick: i128,
}

impl Target {
    fn of(now: i64, delta: Delta, per_tick: Option<i128>, column: &str) -> Result<Self> {
        match (delta, per_tick) {
            (Delta::Ticks(ticks), _) => Ok(Self { scaled: i128::from(now) + ticks, per_tick: 1 }),
            (Delta::Nanoseconds(0), None) => Ok(Self { scaled: now.into(), per_tick: 1 }),
            (Delta::Nanoseconds(span), Some(per_tick)) => Ok(Self { scaled: i128::from(now) * per_tick + span, per_tick }),
            (Delta::Nanoseconds(_), None) => Err(no_unit(column)),
        }
    }

    /// Returns the distance of a time in ticks, rounded up.
    fn distance(self, time: i64) -> i128 {
        let distance = (i128::from(time) * self.per_tick - self.scaled).abs();
        (distance + self.per_tick - 1) / self.per_tick
    }

    /// Returns the distance of a time in nanoseconds, or in ticks if the column has no unit.
    fn nanoseconds(self, time: i64, per_tick: Option<i128>) -> i128 {
        // The gap of a target in ticks is in ticks; any other gap is in nanoseconds already.
        self.gap(time) * if self.per_tick == 1 { per_tick.unwrap_or(1) } else { 1 }
    }

    fn compare(self, time: i64) -> std::cmp::Ordering {
        (i128::from(time) * self.per_tick).cmp(&self.scaled)
    }

    fn gap(self, time: i64) -> i128 {
        (i128::from(time) * self.per_tick - self.scaled).abs()
    }
}

fn no_unit(column: &str) -> Error {
    Error::invalid(format!("index column `{column}` has no unit of time: give offsets as plain numbers of its units"))
}

/// The values of an index column that has times, one for each row.
#[derive(Clone, Debug)]
pub struct Times {
    values: Vec<i64>,
    /// Which values are not null; `None` if no value is null.
    valid: Option<Vec<bool>>,
    nanoseconds_per_tick: Option<i64>,
    /// Whether the times of each sequence are ascending, nulls first.
    sorted: bool,
}

impl Times {
    /// Creates the times of these values. `nanoseconds_per_tick` is `None` for plain integers. `sorted` states that the times of
    /// each sequence are ascending, nulls first.
    pub fn new(values: impl IntoIterator<Item = Option<i64>>, nanoseconds_per_tick: Option<i64>, sorted: bool) -> Self {
        let values = values.into_iter();
        let mut times = Self { values: Vec::with_capacity(values.size_hint().0), valid: None, nanoseconds_per_tick, sorted };
        for value in values {
            if value.is_none() && times.valid.is_none() {
                times.valid = Some(vec![true; times.values.len()]);
            }
            if let Some(valid) = &mut times.valid {
                valid.push(value.is_some());
            }
            times.values.push(value.unwrap_or(0));
        }
        times
    }

    fn get(&self, row: u64) -> Option<i64> {
        let row = usize::try_from(row).ok()?;
        let there = self.valid.as_ref().is_none_or(|valid| valid.get(row).copied().unwrap_or(false));
        self.values.get(row).copied().filter(|_| there)
    }

    /// Counts the steps in time that are larger than `most`. Returns, for each row, their number from row 0 up to this row: rows
    /// `a..=b` of a sequence have no such step between them if both have the same number. A step from or to a null counts too.
    ///
    /// # Errors
    /// - `Invalid`: the span has a unit, but `column`, the name of the column, has none.
    pub fn large_steps(&self, most: TimeSpan, column: &str) -> Result<Vec<u32>> {
        let per_tick = self.nanoseconds_per_tick.map(i128::from);
        // In nanoseconds, or in ticks if the column has no unit.
        let (most, scale) = match (most.0, per_tick) {
            (Delta::Ticks(ticks), _) => (ticks, 1),
            (Delta::Nanoseconds(span), Some(per_tick)) => (span, per_tick),
            (Delta::Nanoseconds(_), None) => return Err(no_unit(column)),
        };
        let time = |row: usize| self.get(row as u64).map(i128::from);
        let is_large = |row: usize| match row.checked_sub(1).map(|before| (time(before), time(row))) {
            Some((Some(before), Some(time))) => (time - before).abs() * scale > most,
            Some(_) => true,
            None => false,
        };
        let mut steps = 0;
        let count = |row| {
            steps += u32::from(is_large(row));
            steps
        };
        Ok((0..self.values.len()).map(count).collect())
    }

    /// Returns the row of `rows` that `pick` selects for a time, if it is at most `tolerance` ticks away.
    pub fn nearest(&self, rows: Range<u64>, time: i64, pick: Pick, tolerance: Option<i128>) -> Option<u64> {
        let target = Target { scaled: time.into(), per_tick: 1 };
        let found = self.find(rows, target, pick)?;
        let distance = self.get(found).map(|time| target.gap(time))?;
        tolerance.is_none_or(|tolerance| distance <= tolerance).then_some(found)
    }

    fn find(&self, sequence: Range<u64>, target: Target, pick: Pick) -> Option<u64> {
        if !self.sorted {
            return self.find_unsorted(sequence, target, pick);
        }
        // The first row that is not earlier than the target. Nulls come before all other rows.
        let first = first_where(sequence.clone(), |row| self.get(row).is_some_and(|time| target.compare(time).is_ge()));
        let there = |row: u64| Some(row).filter(|row| sequence.contains(row) && self.get(*row).is_some());
        let after = there(first);
        let before = || match after.and_then(|row| self.get(row)) {
            // Several rows may have exactly this time; the last of them is selected.
            Some(time) if target.compare(time).is_eq() => {
                there(first_where(first..sequence.end, |row| self.get(row).is_none_or(|next| next > time)) - 1)
            }
            _ => first.checked_sub(1).and_then(there),
        };
        match pick {
            Pick::After => after,
            Pick::Before => before(),
            Pick::Nearest => {
                let earlier = first.checked_sub(1).and_then(there);
                let gap = |row: u64| self.get(row).map_or(i128::MAX, |time| target.gap(time));
                match (earlier, after) {
                    (Some(earlier), Some(after)) if gap(after) < gap(earlier) => Some(after),
                    // Several rows may have the same time; the first of them is selected.
                    (Some(earlier), _) => {
                        let time = self.get(earlier)?;
                        there(first_where(sequence.clone(), |row| self.get(row).is_some_and(|other| other >= time)))
                    }
                    (None, after) => after,
                }
            }
        }
    }

    fn find_unsorted(&self, sequence: Range<u64>, target: Target, pick: Pick) -> Option<u64> {
        let rows = sequence.filter_map(|row| self.get(row).map(|time| (row, time)));
        let found = match pick {
            Pick::Nearest => rows.min_by_key(|(row, time)| (target.gap(*time), *time, *row)),
            Pick::Before => rows.filter(|(_, time)| target.compare(*time).is_le()).max_by_key(|(row, time)| (*time, *row)),
            Pick::After => rows.filter(|(_, time)| target.compare(*time).is_ge()).min_by_key(|(row, time)| (*time, *row)),
        };
        found.map(|(row, _)| row)
    }
}

/// Returns the first row for which `there` is true, or the end of `rows`. `there` must stay true for all later rows.
fn first_where(rows: Range<u64>, there: impl Fn(u64) -> bool) -> u64 {
    let (mut start, mut end) = (rows.start, rows.end);
    while start < end {
        let middle = start + (end - start) / 2;
        if there(middle) { end = middle } else { start = middle + 1 }
    }
    start
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    fn window(times: &[Option<i64>], sorted: bool, text: &str, pick: Pick, tolerance: Option<&str>) -> Vec<Option<u64>> {
        let offsets = TimeOffsets::new("t", text.split(',')).unwrap().pick(pick);
        let offsets = match tolerance {
            Some(tolerance) => offsets.within(tolerance).unwrap(),
            None => offsets,
        };
        let times = Times::new(times.iter().copied(), Some(1_000_000), sorted);
        offsets.rows(&times, 0..times.values.len() as u64, 3).unwrap()
    }

    #[test]
    fn the_nearest_the_last_before_and_the_first_after() {
        let times = [None, Some(0), Some(90), Some(210), Some(300), Some(300), Some(420)];
        for sorted in [true, false] {
            let window = |text, pick, tolerance| window(&times, sorted, text, pick, tolerance);
            assert_eq!(window("-100ms,0s,+100ms", Pick::Nearest, None), [Some(2), Some(3), Some(4)]);
            assert_eq!(window("-100ms,0s,+90ms", Pick::Before, None), [Some(2), Some(3), Some(5)]);
            assert_eq!(window("-100ms,0s,+100ms,1s", Pick::After, Some("110ms")), [Some(3), Some(3), Some(6), None]);
            assert_eq!(window("-100ms,0s,+100ms,1s", Pick::After, None), [None, Some(3), None, None]);
            assert_eq!(window("-100ms,-165ms,5s", Pick::Nearest, Some("20ms")), [Some(2), None, None]);
            // 45 is as far from 0 as from 90: the earlier row is selected.
            assert_eq!(window("-165ms", Pick::Nearest, Some("45ms")), [Some(1)]);
            assert_eq!(window("-165ms", Pick::Nearest, Some("44.999999ms")), [None]);
            assert_eq!(window("-1h", Pick::Before, None), [None]);
            assert_eq!(window("-120,90", Pick::Nearest, Some("0")), [Some(2), Some(4)]);
            assert_eq!(window("89.5ms", Pick::Before, Some("1s")), [Some(3)]);
            assert_eq!(window("89.5ms", Pick::Before, None), [None]);
        }
    }

    #[test]
    fn without_a_tolerance_a_row_is_taken_for_the_offset_that_is_nearest_alone() {
        let times = [None, Some(0), Some(90), Some(210), Some(300), Some(300), Some(420)];
        for sorted in [true, false] {
            for pick in [Pick::Nearest, Pick::Before, Pick::After] {
                let window = |text| window(&times, sorted, text, pick, None);
                // The row itself is never selected for another offset, however far its neighbours are.
                assert_eq!(window("-10s,0s,10s"), [None, Some(3), None], "{pick:?}");
                assert_eq!(window("0s"), [Some(3)], "{pick:?}");
                assert_eq!(window("0"), [Some(3)], "{pick:?}");
            }
            let window = |text| window(&times, sorted, text, Pick::Nearest, None);
            // The default tolerance is 60 ms. The targets are 90 and 330 ms; the rows at 90 and 300 ms are 0 and 30 ms away.
            assert_eq!(window("-120ms,+120ms"), [Some(2), Some(4)]);
            assert_eq!(window("-40ms,-80ms"), [None, None]);
            assert_eq!(window("-140ms,-160ms"), [None, None]);
            // Plain numbers are ticks of the column; a tick is a millisecond here.
            assert_eq!(window("-140,140ms"), [Some(2), Some(4)]);
        }
    }

    #[test]
    fn large_steps_are_counted_up_to_each_row() {
        let times =
            |per_tick| Times::new([Some(0), Some(100), Some(251), Some(200), None, Some(300), Some(300)], per_tick, false);
        let steps = |most: &str, per_tick| times(per_tick).large_steps(most.parse().unwrap(), "t").unwrap();
        assert_eq!(steps("100ms", Some(1_000_000)), [0, 0, 1, 1, 2, 3, 3]);
        assert_eq!(steps("150.9ms", Some(1_000_000)), [0, 0, 1, 1, 2, 3, 3]);
        assert_eq!(steps("151ms", Some(1_000_000)), [0, 0, 0, 0, 1, 2, 2]);
        assert_eq!(steps("50", None), [0, 1, 2, 3, 4, 5, 5]);
        assert!(times(None).large_steps("1s".parse().unwrap(), "t").unwrap_err().to_string().contains("`t` has no unit"));
    }

    #[test]
    fn as_many_offsets_as_the_limit_are_taken_and_an_endless_iterator_ends() {
        let of = |offsets: &mut dyn Iterator<Item = &str>| TimeOffsets::of_at_most(3, "t".to_owned(), offsets);
        assert_eq!(of(&mut std::iter::repeat_n("1s", 3)).unwrap().len(), 3);
        for mut many in
            [Box::new(std::iter::repeat_n("1s", 4)) as Box<dyn Iterator<Item = &str>>, Box::new(std::iter::repeat("1s"))]
        {
            assert_eq!(of(&mut many).unwrap_err().to_string(), "too many time offsets: expected 1 to 3");
        }
        let error = TimeOffsets::new("t", [""; 0]).unwrap_err().to_string();
        assert_eq!(error, "no time offsets: expected 1 to 16777216");
    }

    #[test]
    fn what_is_no_span_of_time_is_refused() {
        for text in ["", "ms", "1.ms", ".5s", "1d", "--1s", "1e3s", "0.0000000001s", "9999999999999999999s", "5 5ms"] {
            assert!(TimeOffsets::new("t", [text]).is_err(), "{text}");
        }
        assert!(TimeOffsets::new("t", ["1s"]).unwrap().within("-1s").is_err());
        let times = Times::new([Some(1)], None, true);
        let error = TimeOffsets::new("t", ["1s"]).unwrap().rows(&times, 0..1, 0).unwrap_err();
        assert!(error.to_string().contains("`t` has no unit of time"), "{error}");
    }
}
