//! Windows: the rows at given offsets from a row, within its sequence.

use std::ops::{Range, RangeInclusive};

use super::times::TimeOffsets;
use crate::{
    error::{Error, Result, counted},
    format::PackedLengths,
    id::Digest,
};

/// The rows of a window around a row, given by row offsets or by time offsets.
///
/// A window is created from ranges and lists of row offsets, from [`Offsets`] and from [`TimeOffsets`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// Rows at these row offsets.
    Rows(Offsets),
    /// Rows at these time offsets.
    Times(TimeOffsets),
}

impl Window {
    /// The number of offsets, and so of the rows of a padded window.
    #[expect(clippy::len_without_is_empty, reason = "a window has an offset")]
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(offsets) => offsets.len(),
            Self::Times(times) => times.len(),
        }
    }
}

impl Window {
    /// Adds the window to a hash.
    pub(crate) fn digest<'a>(&self, to: &'a mut Digest) -> &'a mut Digest {
        match self {
            Self::Rows(offsets) => to.number(0).numbers(offsets.as_slice().iter().map(|offset| offset.cast_unsigned())),
            Self::Times(times) => times.digest(to.number(1)),
        }
    }
}

impl From<Offsets> for Window {
    fn from(offsets: Offsets) -> Self {
        Self::Rows(offsets)
    }
}

impl From<&Offsets> for Window {
    fn from(offsets: &Offsets) -> Self {
        Self::Rows(offsets.clone())
    }
}

impl From<TimeOffsets> for Window {
    fn from(times: TimeOffsets) -> Self {
        Self::Times(times)
    }
}

impl From<&TimeOffsets> for Window {
    fn from(times: &TimeOffsets) -> Self {
        Self::Times(times.clone())
    }
}

impl From<&Window> for Window {
    fn from(window: &Window) -> Self {
        window.clone()
    }
}

impl TryFrom<RangeInclusive<i64>> for Window {
    type Error = Error;

    fn try_from(range: RangeInclusive<i64>) -> Result<Self> {
        Offsets::try_from(range).map(Self::Rows)
    }
}

impl TryFrom<Range<i64>> for Window {
    type Error = Error;

    fn try_from(range: Range<i64>) -> Result<Self> {
        Offsets::try_from(range).map(Self::Rows)
    }
}

impl TryFrom<Vec<i64>> for Window {
    type Error = Error;

    fn try_from(offsets: Vec<i64>) -> Result<Self> {
        Offsets::new(offsets).map(Self::Rows)
    }
}

impl<const N: usize> TryFrom<[i64; N]> for Window {
    type Error = Error;

    fn try_from(offsets: [i64; N]) -> Result<Self> {
        Offsets::new(offsets).map(Self::Rows)
    }
}

/// The rule for missing rows of a window: rows outside the sequence, or time offsets without a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edge {
    /// Missing rows are null, and false in the mask.
    #[default]
    Pad,
    /// Missing rows are left out.
    Skip,
    /// A missing row is an error.
    Error,
}

/// Row offsets of a window; 0 is the row itself. The absolute value of each offset is below 2^31.
///
/// ```
/// use tetrys::Offsets;
/// assert_eq!(Offsets::try_from(-2..=0)?.as_slice(), [-2, -1, 0]);
/// assert_eq!("-10..=0".parse::<Offsets>()?.len(), 11);
/// assert_eq!("-20,-10,0".parse::<Offsets>()?.as_slice(), [-20, -10, 0]);
/// assert_eq!("-20..=0/10".parse::<Offsets>()?, Offsets::try_from(-20..=0)?.step_by(10)?);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Offsets(Vec<i64>);

/// The most rows of a window, and of the windows of a batch.
pub(crate) const MAX_WINDOW: u64 = 1 << 24;
/// The most rows of a window over a table that has fewer rows.
const MAX_MISSING: u64 = 10_000;

impl Offsets {
    /// Creates offsets in the given order. Offsets may repeat.
    ///
    /// # Errors
    /// - `Invalid`: there are no offsets, more than 16,777,216, or the absolute value of one is 2^31 or more.
    pub fn new(offsets: impl Into<Vec<i64>>) -> Result<Self> {
        let offsets = offsets.into();
        if offsets.is_empty() || offsets.len() as u64 > MAX_WINDOW {
            return Err(Error::invalid(format!("{} offsets: expected 1 to {MAX_WINDOW}", offsets.len())));
        }
        match offsets.iter().find(|offset| offset.unsigned_abs() >= 1 << 31) {
            Some(offset) => Err(Error::invalid(format!("offset {offset}: expected less than 2^31 in size"))),
            None => Ok(Self(offsets)),
        }
    }

    /// Keeps every `stride`-th offset, beginning with the first.
    ///
    /// # Errors
    /// - `Invalid`: the stride is 0.
    pub fn step_by(self, stride: usize) -> Result<Self> {
        match stride {
            0 => Err(Error::invalid("stride 0: expected 1 or more")),
            _ => Ok(Self(self.0.into_iter().step_by(stride).collect())),
        }
    }

    /// Returns the offsets in order.
    pub fn as_slice(&self) -> &[i64] {
        &self.0
    }

    /// Returns the number of offsets; never 0.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl TryFrom<RangeInclusive<i64>> for Offsets {
    type Error = Error;

    fn try_from(range: RangeInclusive<i64>) -> Result<Self> {
        let count = i128::from(*range.end()) - i128::from(*range.start()) + 1;
        if count > i128::from(MAX_WINDOW) || range.start().unsigned_abs() >= 1 << 31 || range.end().unsigned_abs() >= 1 << 31 {
            return Err(Error::invalid(format!("offsets {range:?}: expected at most {MAX_WINDOW}, each less than 2^31 in size")));
        }
        Self::new(range.collect::<Vec<_>>())
    }
}

impl TryFrom<Range<i64>> for Offsets {
    type Error = Error;

    fn try_from(range: Range<i64>) -> Result<Self> {
        if range.is_empty() {
            return Err(Error::invalid(format!("offsets {range:?}: expected at least one offset")));
        }
        Self::try_from(range.start..=range.end - 1)
    }
}

impl TryFrom<Vec<i64>> for Offsets {
    type Error = Error;

    fn try_from(offsets: Vec<i64>) -> Result<Self> {
        Self::new(offsets)
    }
}

impl<const N: usize> TryFrom<[i64; N]> for Offsets {
    type Error = Error;

    fn try_from(offsets: [i64; N]) -> Result<Self> {
        Self::new(offsets)
    }
}

impl std::str::FromStr for Offsets {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let malformed =
            || Error::invalid(format!("offsets `{text}`: expected A..=B, A..B (with /STRIDE if wished) or A,B,.., e.g. -10..=0"));
        let number = |text: &str| text.trim().parse::<i64>().map_err(|_| malformed());
        if let Some((range, stride)) = text.split_once('/') {
            let stride = stride.trim().parse().map_err(|_| malformed())?;
            return range.parse::<Self>()?.step_by(stride);
        }
        match text.split_once("..") {
            Some((start, end)) => match end.strip_prefix('=') {
                Some(end) => Self::try_from(number(start)?..=number(end)?),
                None => Self::try_from(number(start)?..number(end)?),
            },
            None => Self::new(text.split(',').map(number).collect::<Result<Vec<_>>>()?),
        }
    }
}

/// The sequences of a table. They stay packed as the segments have them, so that they take no more memory than what is stored, also
/// where several segments have the same lengths.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    segments: Vec<SegmentRuns>,
    rows: u64,
    len: usize,
}

/// The runs of a segment: its parts of sequences.
#[derive(Clone, Debug)]
struct SegmentRuns {
    runs: PackedLengths,
    first_row: u64,
    /// Number of the sequences that begin in the segments before.
    before: usize,
    /// Whether the first run continues the last sequence of the segment before.
    continues: bool,
    /// First row of the sequence of the first run.
    start: u64,
    /// End of the sequence of the last run.
    end: u64,
}

impl SegmentRuns {
    /// Returns the rows of the sequence of run `number`; `None` if there is no such run.
    fn sequence(&self, number: usize) -> Option<Range<u64>> {
        let last = self.runs.len().checked_sub(1)?;
        if number > last {
            return None;
        }
        let first_row = self.first_row + self.runs.sum_of_first(number);
        let start = if number == 0 { self.start } else { first_row };
        let end = if number == last { self.end } else { first_row + u64::from(self.runs.get(number)) };
        Some(start..end)
    }
}

impl Sequences {
    internal! {
        /// Creates the sequences from the run lengths of each segment. The flag of a segment says whether its first run continues the
        /// last sequence of the segment before.
        fn new<'a>(segments: impl IntoIterator<Item = (bool, &'a PackedLengths)>) -> Self {
            let (mut found, mut rows, mut len): (Vec<SegmentRuns>, u64, usize) = Default::default();
            for (continues, runs) in segments.into_iter().filter(|(_, runs)| !runs.is_empty()) {
                let (first_row, last) = (rows, found.last());
                let continues = continues && last.is_some();
                // The end of the last sequence, for now: a later segment may continue it.
                rows = rows.saturating_add(runs.sum());
                let start = match last {
                    Some(last) if continues => last.sequence(last.runs.len() - 1).map_or(first_row, |rows| rows.start),
                    _ => first_row,
                };
                found.push(SegmentRuns { runs: runs.clone(), first_row, before: len, continues, start, end: rows });
                len += runs.len() - usize::from(continues);
            }
            let mut after: Option<(bool, u64)> = None;
            for segment in found.iter_mut().rev() {
                if let Some((true, end)) = after {
                    segment.end = end;
                }
                let first_end =
                    if segment.runs.len() == 1 { segment.end } else { segment.first_row + u64::from(segment.runs.get(0)) };
                after = Some((segment.continues, first_end));
            }
            Self { segments: found, rows, len }
        }
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows of sequence `number`; `None` if there is no such sequence.
    pub fn rows(&self, number: usize) -> Option<Range<u64>> {
        // Of the segments before which so many sequences begin, the last one has it: in the others, none begins.
        let place = self.segments.partition_point(|segment| segment.before <= number).checked_sub(1)?;
        let segment = self.segments.get(place).filter(|_| number < self.len)?;
        segment.sequence(number - segment.before + usize::from(segment.continues))
    }

    /// Returns the rows of the sequence that holds `row`; `None` if the row is outside the table.
    pub fn around(&self, row: u64) -> Option<Range<u64>> {
        let place = self.segments.partition_point(|segment| segment.first_row <= row).checked_sub(1)?;
        let segment = self.segments.get(place)?;
        segment.sequence(segment.runs.find(row - segment.first_row)?.0)
    }
}

/// Returns the table rows of the window around `row`. Under [`Edge::Pad`], a row outside the sequence is `None`.
///
/// # Errors
/// - `Invalid`: `row` is outside the table, a row is missing under [`Edge::Error`], or there are more than 10,000 offsets and more
///   than the table has rows.
pub fn window(sequences: &Sequences, row: u64, offsets: &Offsets, edge: Edge) -> Result<Vec<Option<u64>>> {
    let most = sequences.rows.max(MAX_MISSING);
    if offsets.len() as u64 > most {
        let rows = counted(sequences.rows, "row");
        return Err(Error::invalid(format!("{} offsets: expected at most {most}, because the table has {rows}", offsets.len())));
    }
    let sequence = sequences.around(row).ok_or_else(|| Error::invalid(format!("row {row} is outside 0..{}", sequences.rows)))?;
    let mut rows = Vec::with_capacity(offsets.len());
    for offset in offsets.as_slice() {
        match row.checked_add_signed(*offset).filter(|row| sequence.contains(row)) {
            Some(row) => rows.push(Some(row)),
            None => match edge {
                Edge::Pad => rows.push(None),
                Edge::Skip => {}
                Edge::Error => {
                    return Err(Error::invalid(format!(
                        "offset {offset} from row {row} leaves its sequence, rows {}..{}",
                        sequence.start, sequence.end
                    )));
                }
            },
        }
    }
    Ok(rows)
}

impl Edge {
    /// Applies the rule to the missing rows of a time window around `row`.
    ///
    /// # Errors
    /// - `Invalid`: a row is missing under [`Edge::Error`].
    pub fn apply(self, rows: Vec<Option<u64>>, row: u64, sequence: Range<u64>) -> Result<Vec<Option<u64>>> {
        match self {
            Self::Pad => Ok(rows),
            Self::Skip => Ok(rows.into_iter().filter(Option::is_some).collect()),
            Self::Error => match rows.iter().position(Option::is_none) {
                Some(place) => Err(Error::invalid(format!(
                    "time offset number {place} from row {row} has no row in its sequence, rows {}..{}",
                    sequence.start, sequence.end
                ))),
                None => Ok(rows),
            },
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]
mod tests {
    use super::*;

    fn packed(runs: &[u32]) -> PackedLengths {
        let mut node = Vec::new();
        PackedLengths::write(runs, &mut node);
        PackedLengths::from_bytes(&node, runs.len()).unwrap()
    }

    fn sequences(runs: &[u32]) -> Sequences {
        Sequences::new([(false, &packed(runs))])
    }

    #[test]
    fn sequences_of_random_segments_are_those_of_a_plain_list() {
        // A generator of small numbers, so that runs that fill whole segments and continue are frequent.
        let mut state = 7_u64;
        let mut below = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..2_000 {
            let segments: Vec<(bool, PackedLengths)> = (0..1 + below(6))
                .map(|_| {
                    let runs: Vec<u32> = (0..1 + below(4)).map(|_| u32::try_from(1 + below(3)).unwrap()).collect();
                    (below(2) == 0, packed(&runs))
                })
                .collect();
            let (mut starts, mut rows) = (Vec::new(), 0);
            for (number, (continues, runs)) in segments.iter().enumerate() {
                for (place, run) in runs.iter().enumerate() {
                    if place > 0 || number == 0 || !continues {
                        starts.push(rows);
                    }
                    rows += u64::from(run);
                }
            }
            let count = starts.len();
            starts.push(rows);
            let found = Sequences::new(segments.iter().map(|(continues, runs)| (*continues, runs)));
            let plain: Vec<Range<u64>> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
            assert_eq!((0..count).map(|number| found.rows(number).unwrap()).collect::<Vec<_>>(), plain, "{segments:?}");
            assert_eq!((found.len(), found.rows(count), found.around(rows)), (count, None, None));
            for row in 0..rows {
                assert_eq!(found.around(row), plain.iter().find(|rows| rows.contains(&row)).cloned(), "{row} of {segments:?}");
            }
        }
        assert!(Sequences::new([]).is_empty() && Sequences::new([]).around(0).is_none());
    }

    #[test]
    fn a_window_has_no_more_offsets_than_the_table_has_rows() {
        let offsets = |count: i64| Offsets::try_from(0..count).unwrap();
        let small = sequences(&[5, 5]);
        assert_eq!(window(&small, 0, &offsets(10_000), Edge::Pad).unwrap().len(), 10_000);
        let error = window(&small, 0, &offsets(10_001), Edge::Skip).unwrap_err().to_string();
        assert_eq!(error, "10001 offsets: expected at most 10000, because the table has 10 rows");
        assert_eq!(window(&sequences(&[20_000]), 0, &offsets(20_000), Edge::Error).unwrap().len(), 20_000);
    }

    #[test]
    fn sequences_take_no_more_memory_than_what_is_stored() {
        // A node of five bytes says that each of 4,194,304 rows is a sequence: 64 GB, were each of them a number.
        let mut node = Vec::new();
        PackedLengths::write(&[1], &mut node);
        let runs = PackedLengths::from_bytes(&node, 4_194_304).unwrap();
        let sequences = Sequences::new((0..2_000).map(|_| (false, &runs)));
        assert_eq!(sequences.len(), 2_000 * 4_194_304);
        assert_eq!((sequences.rows(5_000_000_000), sequences.around(7)), (Some(5_000_000_000..5_000_000_001), Some(7..8)));
    }

    #[test]
    fn a_window_never_leaves_its_sequence() {
        let sequences = sequences(&[3, 1, 4]);
        let offsets = Offsets::try_from(-2..=1).unwrap();
        let window = |row, edge| window(&sequences, row, &offsets, edge);
        assert_eq!(window(0, Edge::Pad).unwrap(), [None, None, Some(0), Some(1)]);
        assert_eq!(window(3, Edge::Pad).unwrap(), [None, None, Some(3), None]);
        assert_eq!(window(4, Edge::Skip).unwrap(), [Some(4), Some(5)]);
        assert_eq!(window(6, Edge::Error).unwrap(), [Some(4), Some(5), Some(6), Some(7)]);
        assert_eq!(window(7, Edge::Error).unwrap_err().to_string(), "offset 1 from row 7 leaves its sequence, rows 4..8");
        assert_eq!(window(8, Edge::Pad).unwrap_err().to_string(), "row 8 is outside 0..8");
    }

    #[test]
    fn offsets_past_2_to_the_31_are_refused() {
        for text in
            ["0..=2147483648", "-2147483648", "0..=9223372036854775807", "-9223372036854775808..0", "", "a", "1..1", "3..=1"]
        {
            assert!(text.parse::<Offsets>().is_err(), "{text}");
        }
        assert_eq!("2147483647".parse::<Offsets>().unwrap().as_slice(), [2_147_483_647]);
    }
}
