//! Loads the rows of an index for which conditions are true, a few row groups at a time on each thread.
//!
//! ```text
//! row groups -> columns of the conditions -> conditions -> rows -> other columns of these rows
//! ```
//!
//! Where it saves many bytes, the other columns are read only when the rows are known: see `late.rs`.
//!
//! Memory holds the bytes of a few segments, some columns of some row groups, and the chosen rows.

use std::{collections::VecDeque, ops::Range, sync::Arc};

use polars::prelude::{BooleanChunked, DataFrame, Expr, IntoLazy, PolarsError, PolarsResult};

use super::{
    index::refused,
    load::{Decoding, LARGE, SequencesRead, fill, first_of, free, neighbours, others_for},
    segments::{IndexPlan, SegmentBytes, SegmentRead, rows_within},
};
use crate::{
    error::{Error, Result, counted},
    format::RowGroups,
    index::{Filling, aside, check_process, collect, filtered, internal, locate, locator_column, own_rows, taken, with_locators},
    table::version::table::Table,
    work::{Stop, offload_large, share},
};

/// Bytes of segments that are read together.
pub(super) const READ_BYTES: u64 = 64 << 20;
/// Rows among which a thread chooses at a time, unless a row group has more. The columns of the conditions for so many rows fit into
/// the caches of the processor.
const ROWS: u64 = 128 << 10;
/// Columns without a condition are decoded for the chosen rows alone, if at most one row of so many is chosen. If more rows are
/// chosen, skipping the others takes longer than decoding all rows.
pub(super) const FEW: usize = 8;

/// Returns for each row of a frame whether it is chosen.
pub(super) type Mask = dyn Fn(DataFrame) -> PolarsResult<BooleanChunked> + Send + Sync;

/// A condition of the user.
#[derive(Clone)]
pub(super) enum Condition {
    Expression(Box<Expr>),
    Sql(String),
    /// A function of some columns.
    Function(Vec<String>, Arc<Mask>),
}

impl std::fmt::Debug for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Expression(expression) => f.debug_tuple("Expression").field(expression).finish(),
            Self::Sql(sql) => f.debug_tuple("Sql").field(sql).finish(),
            Self::Function(columns, _) => f.debug_tuple("Function").field(columns).finish_non_exhaustive(),
        }
    }
}

impl Condition {
    /// Returns the rows of a frame for which the condition is true.
    pub(super) fn filter(&self, frame: DataFrame) -> Result<DataFrame> {
        check_process()?;
        match self {
            Self::Expression(expression) => {
                let frame = frame.lazy().filter(expression.as_ref().clone());
                collect(frame).map_err(|error| refused("filter", &error))
            }
            Self::Sql(sql) => filtered(&frame, sql),
            Self::Function(columns, mask) => {
                let failed = |error: PolarsError| refused("filter_with", &error);
                let chosen = frame.select(columns).map_err(failed)?;
                // On a thread of a runtime, polars panics if the function collects a lazy frame.
                let mask = aside(|| mask(chosen)).map_err(failed)?;
                if mask.len() != frame.height() {
                    let rows = counted(frame.height(), "row");
                    return Err(Error::invalid(format!(
                        "filter_with: the function returned {} for {rows}",
                        counted(mask.len(), "value")
                    )));
                }
                frame.filter(&mask).map_err(failed)
            }
        }
    }
}

/// Conditions that look at one row at a time, and the columns that are wanted of the rows that they choose.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) conditions: Vec<Condition>,
    /// Ascending places of the columns that the conditions read.
    pub(super) read: Vec<usize>,
    /// Ascending places of the columns that are wanted.
    pub(super) wanted: Vec<usize>,
    /// Tag of the locators.
    pub(super) tag: u16,
    /// The rows of the table that are chosen from; `None` for all rows.
    pub(super) rows: Option<Range<u64>>,
}

impl Table {
    /// Loads the planned rows that the conditions choose, with their locators.
    pub(super) async fn load_chosen(&self, plan: IndexPlan, choice: Choice) -> Result<DataFrame> {
        // A condition that is refused fails before anything is read.
        choice.without_rows(self)?;
        let columns = plan.columns.len();
        let stages = self.plan_stages(plan, &choice.read).await?;
        self.load_stages(stages, columns, choice).await
    }

    /// Loads the rows of these segments that the conditions choose, with their locators. `columns` columns are read. Returns also the
    /// rows that were read.
    pub(super) async fn load_planned(
        &self,
        reads: Vec<SegmentRead>,
        columns: usize,
        choice: Choice,
    ) -> Result<(DataFrame, Vec<SegmentRead>)> {
        let choice = Arc::new(choice);
        let none = choice.without_rows(self)?;
        let (sequences, is_large) = (SequencesRead::new(self, reads.len()), reads.iter().any(|read| read.bytes > LARGE as u64));
        let start = |_: &[SegmentRead]| Choosing {
            choice: Arc::clone(&choice),
            chosen: Vec::new(),
            rows: 0,
            sequences: sequences.clone(),
        };
        let decoded = self.decoded(reads, columns, READ_BYTES, start).await;
        free(is_large);
        let (choosing, reads) = decoded?;
        let (table, rows) = (self.clone(), usize::try_from(choosing.rows).unwrap_or(usize::MAX));
        let frame = offload_large(rows, move |_| {
            choosing.sequences.keep(&table);
            let mut frame = none;
            for chosen in choosing.chosen {
                frame.vstack_mut_owned(chosen).map_err(internal)?;
            }
            frame.rechunk_mut();
            Ok(frame)
        });
        Ok((frame.await?, reads))
    }
}

/// The rows that are chosen while segments are decoded.
struct Choosing {
    choice: Arc<Choice>,
    chosen: Vec<DataFrame>,
    /// Number of chosen rows.
    rows: u64,
    sequences: SequencesRead,
}

impl Decoding for Choosing {
    const READS_AHEAD: bool = true;

    fn decode(&mut self, table: &Table, read: Vec<(SegmentRead, SegmentBytes)>, stop: &Stop) -> Result<()> {
        let others = others_for(read.iter().map(|(read, _)| read.height()).sum());
        let mut rows: VecDeque<Range<u64>> = read.iter().flat_map(|(read, _)| read.table_rows(table)).collect();
        let open = |(read, bytes): (SegmentRead, SegmentBytes)| {
            stop.check()?;
            Ok::<_, Error>((self.sequences.parse(table, &read, &bytes)?, read.open(table, &bytes)?))
        };
        let (lengths, opened): (Vec<_>, Vec<_>) = share(read, others, open)?.into_iter().unzip();
        self.sequences.extend(lengths);
        let groups = opened.iter().flat_map(|object| object.rows().enumerate().map(move |(group, rows)| ((object, group), rows)));
        let (groups, heights): (Vec<_>, Vec<_>) = groups.unzip();
        let parts = neighbours(&heights, ROWS).into_iter();
        let parts = parts.map(|(part, height)| (groups.get(part).unwrap_or_default(), first_of(&mut rows, height)));
        let chosen = share(parts.collect(), others, |(groups, rows): (&[_], Vec<Range<u64>>)| {
            stop.check()?;
            self.choice.rows(table, groups, &rows, stop)
        })?;
        let chosen = chosen.into_iter().filter(|frame| frame.height() > 0);
        let before = self.rows;
        self.chosen.extend(chosen.inspect(|frame| self.rows += frame.height() as u64));
        // An error if the system does not have the memory for the chosen rows in one piece.
        if self.rows > before {
            drop(Filling::new(&table.described(&self.choice.wanted), self.rows, false)?);
        }
        Ok(())
    }
}

impl Choice {
    /// Returns the wanted columns without a row.
    pub(super) fn without_rows(&self, table: &Table) -> Result<DataFrame> {
        self.rows(table, &[], &[], &Stop::default())
    }

    /// Returns the chosen rows of these row groups. `rows` has the numbers of their rows in the table.
    fn rows(&self, table: &Table, groups: &[(&RowGroups, usize)], rows: &[Range<u64>], stop: &Stop) -> Result<DataFrame> {
        let height = rows.iter().map(|rows| rows.end - rows.start).sum();
        let read = decoded(table, groups, &self.read, height, stop)?;
        let height = read.height();
        let all = with_locators(&read, self.tag, rows.iter().flat_map(|rows| rows.start.cast_signed()..rows.end.cast_signed()))?;
        let all = match &self.rows {
            Some(wanted) => slice(&all, rows_within(rows.iter().cloned(), wanted)),
            None => all,
        };
        let chosen = self.conditions.iter().try_fold(all, |frame, condition| condition.filter(frame))?;
        let others: Vec<usize> = self.wanted.iter().filter(|place| !self.read.contains(place)).copied().collect();
        let count = chosen.height();
        let others = match count {
            _ if others.is_empty() => DataFrame::empty_with_height(count),
            _ if count == height => decoded(table, groups, &others, count as u64, stop)?,
            _ => {
                let places = places(&locate(&chosen, self.tag, table.rows(), false)?, rows)?;
                match places.len().saturating_mul(FEW) <= height {
                    true => decoded_at(table, groups, &others, &places, stop)?,
                    false => taken(&decoded(table, groups, &others, height as u64, stop)?, places)?,
                }
            }
        };
        let frame = side_by_side(table, &self.wanted, self.tag, &chosen, &others)?;
        if count < height { own_rows(&frame) } else { Ok(frame) }
    }
}

/// Returns rows of a frame, given as the first row and their number.
pub(super) fn slice(frame: &DataFrame, (first, count): (u64, u64)) -> DataFrame {
    frame.slice(i64::try_from(first).unwrap_or(i64::MAX), usize::try_from(count).unwrap_or(usize::MAX))
}

/// Returns the wanted columns and the locators of rows, of which `chosen` has some and `others` the others.
pub(super) fn side_by_side(
    table: &Table,
    wanted: &[usize],
    tag: u16,
    chosen: &DataFrame,
    others: &DataFrame,
) -> Result<DataFrame> {
    let wanted = table.described(wanted).into_iter().map(|column| column.name.clone());
    let column = |name: String| chosen.column(&name).or_else(|_| others.column(&name)).cloned().map_err(internal);
    let columns = wanted.chain([locator_column(tag)]).map(column).collect::<Result<_>>()?;
    DataFrame::new(chosen.height(), columns).map_err(internal)
}

/// Decodes some columns of row groups with so many rows.
fn decoded(table: &Table, groups: &[(&RowGroups, usize)], columns: &[usize], rows: u64, stop: &Stop) -> Result<DataFrame> {
    if columns.is_empty() {
        let rows = usize::try_from(rows).map_err(|_| Error::unsupported("too many rows"))?;
        return Ok(DataFrame::empty_with_height(rows));
    }
    let mut filling = Filling::new(&table.described(columns), rows, false)?;
    fill(&mut filling, groups, columns, 0, stop)?;
    filling.finish()
}

/// Decodes some columns of the rows at these ascending places among the rows of row groups.
fn decoded_at(
    table: &Table,
    groups: &[(&RowGroups, usize)],
    columns: &[usize],
    places: &[usize],
    stop: &Stop,
) -> Result<DataFrame> {
    let (mut parts, mut left, mut before) = (Vec::new(), places, 0);
    for (object, group) in groups {
        let rows = object.rows().nth(*group).unwrap_or_default();
        let end = before + usize::try_from(rows).map_err(|_| Error::unsupported("too many rows"))?;
        let (here, after) = left.split_at(left.partition_point(|place| *place < end));
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for place in here.iter().map(|place| place - before) {
            match ranges.last_mut() {
                Some(range) if range.end == place => range.end += 1,
                _ => ranges.push(place..place + 1),
            }
        }
        if !ranges.is_empty() {
            parts.push(object.with_rows(*group, &ranges)?);
        }
        (left, before) = (after, end);
    }
    decoded(table, &parts.iter().map(|part| (part, 0)).collect::<Vec<_>>(), columns, places.len() as u64, stop)
}

/// Returns the place of each of these ascending rows among the rows of ascending ranges.
pub(super) fn places(found: &[i64], rows: &[Range<u64>]) -> Result<Vec<usize>> {
    let (mut rest, mut before) = (rows.iter().cloned(), 0);
    let mut range = rest.next();
    let mut place = |row: u64| {
        while let Some(here) = range.as_ref().filter(|here| here.end <= row) {
            before += here.end - here.start;
            range = rest.next();
        }
        let here = range.as_ref().filter(|here| here.start <= row)?;
        usize::try_from(before + row - here.start).ok()
    };
    let found = found.iter().map(|row| u64::try_from(*row).ok().and_then(&mut place));
    found.map(|place| place.ok_or_else(|| Error::internal("a chosen row that was not read"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_places_among_ranges() {
        assert_eq!(places(&[], &[]).unwrap(), [] as [usize; 0]);
        assert_eq!(places(&[3, 5, 9, 20, 22], &[3..6, 8..10, 15..15, 20..23]).unwrap(), [0, 2, 4, 5, 7]);
        for row in [-1, 2, 6, 7, 9] {
            assert!(places(&[row], &[3..6, 8..9]).is_err(), "row {row}");
        }
        assert!(places(&[3], &[]).is_err());
    }
}
