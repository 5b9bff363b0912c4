//! Windows: the rows at given offsets from a row, within its sequence.

use std::ops::{Range, RangeInclusive};

use super::times::TimeOffsets;
use crate::{
    error::{Error, Result},
    format::PackedLengths,
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
pub struct Offsets(Vec<i64>);

/// The most rows of a window.
const MAX_WINDOW: u64 = 1 << 24;

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

/// The sequences of a table, given by their first rows.
#[derive(Clone, Debug, Default)]
pub struct Sequences {
    /// The first row of each sequence, then the number of rows of the table.
    starts: Vec<u64>,
}

impl Sequences {
    /// Creates the sequences from the run lengths of each segment. The flag of a segment says whether its first run continues the
    /// last sequence of the segment before.
    pub fn new<'a>(segments: impl IntoIterator<Item = (bool, &'a PackedLengths)>) -> Self {
        let mut starts: Vec<u64> = Vec::new();
        let mut row = 0;
        for (continues, runs) in segments {
            for (number, run) in runs.iter().enumerate() {
                if !(continues && number == 0) {
                    starts.push(row);
                }
                row += u64::from(run);
            }
        }
        starts.push(row);
        Self { starts }
    }

    /// Returns the number of sequences.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Whether there are no sequences.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the rows of sequence `number`; `None` if there is no such sequence.
    pub fn rows(&self, number: usize) -> Option<Range<u64>> {
        Some(*self.starts.get(number)?..*self.starts.get(number + 1)?)
    }

    /// Returns the rows of the sequence that holds `row`; `None` if the row is outside the table.
    pub fn around(&self, row: u64) -> Option<Range<u64>> {
        let number = self.starts.partition_point(|start| *start <= row).checked_sub(1)?;
        self.rows(number)
    }
}

/// Returns the table rows of the window around `row`. Under [`Edge::Pad`], a row outside the sequence is `None`.
///
/// # Errors
/// - `Invalid`: `row` is outside the table, or a row is missing under [`Edge::Error`].
pub fn window(sequences: &Sequences, row: u64, offsets: &Offsets, edge: Edge) -> Result<Vec<Option<u64>>> {
    let sequence = sequences
        .around(row)
        .ok_or_else(|| Error::invalid(format!("row {row} is outside 0..{}", sequences.starts.last().copied().unwrap_or(0))))?;
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
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    fn sequences(runs: &[u32]) -> Sequences {
        let mut node = Vec::new();
        PackedLengths::write(runs, &mut node);
        Sequences::new([(false, &PackedLengths::from_bytes(&node, runs.len()).unwrap())])
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
