//! Arguments of `get`, `explain` and `layout`: a row or a window around it, and columns.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{ColumnType, Edge, Error, Offsets, Pick, Result, RowLoader, Table, TimeOffsets, Window, schema::Column};

use crate::{numbers::whole, text};

/// A row or a window of a table.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// The row number in the table, from 0; `tetrys query` shows it as `row`
    #[arg(value_parser = whole(0..=u64::MAX))]
    pub(crate) row: u64,
    #[command(flatten)]
    pub(crate) choice: Choice,
}

/// The columns and the window to read.
#[derive(Args, Debug, Default)]
pub(crate) struct Choice {
    /// Columns to read, as a pattern: `agents.pose.*`, `*.jpeg`, or a regular expression `re:ego\..+`. `*` also matches dots. May
    /// be repeated [default: the columns of all column groups]
    #[arg(long, value_name = "PATTERN")]
    columns: Vec<String>,
    /// Read a window: the rows at these offsets from ROW, within its sequence. A range `-10..=0` or `-10..1` (end excluded), a
    /// range with a step `-50..=0/5`, or a list `-20,-10,0`
    #[arg(long, value_name = "A..=B", allow_hyphen_values = true, requires = "row")]
    offsets: Option<Offsets>,
    /// Read a window by time: the rows at these times relative to ROW, within its sequence: `-1s,-500ms,0s`. Units are `ns us ms
    /// s min h`; a number alone is in units of the time column
    #[arg(
        long,
        value_name = "T,..",
        allow_hyphen_values = true,
        value_delimiter = ',',
        requires = "row",
        conflicts_with = "offsets"
    )]
    times: Vec<String>,
    /// With --times: the index column that holds the times [default: the first order or index column that is a timestamp or has a
    /// unit of time, else the first order column]
    #[arg(long, value_name = "COLUMN", requires = "times")]
    time_column: Option<String>,
    /// With --times: the largest distance between a wanted time and its row: `50ms` [default: half the distance to the nearest
    /// other wanted time; the time of ROW is a wanted time too]
    #[arg(long, value_name = "T", allow_hyphen_values = true, requires = "times")]
    tolerance: Option<String>,
    /// With --times: take the nearest row, the last row at or before the time, or the first row at or after it
    #[arg(long, default_value = "nearest", value_parser = pick(), requires = "times")]
    pick: Pick,
    /// How to treat offsets of the window without a row in the sequence: pad with nulls (the mask marks them), skip them, or
    /// stop with an error
    #[arg(long, default_value = "pad", value_parser = edge())]
    edge: Edge,
}

fn pick() -> impl TypedValueParser<Value = Pick> {
    PossibleValuesParser::new(["nearest", "before", "after"]).map(|text| match text.as_str() {
        "before" => Pick::Before,
        "after" => Pick::After,
        _ => Pick::Nearest,
    })
}

fn edge() -> impl TypedValueParser<Value = Edge> {
    PossibleValuesParser::new(["pad", "skip", "error"]).map(|text| match text.as_str() {
        "skip" => Edge::Skip,
        "error" => Edge::Error,
        _ => Edge::Pad,
    })
}

impl Reading {
    /// Opens the table and a loader of the requested columns.
    pub(crate) async fn open(&self) -> Result<(Table, RowLoader)> {
        let table = crate::opening::table(&self.table).await?;
        let loader = self.choice.loader(&table)?;
        Ok((table, loader))
    }
}

impl Choice {
    /// Returns the choice of these columns at these offsets, without places that have no row.
    pub(crate) fn of(columns: &[&str], offsets: Offsets) -> Self {
        Self {
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            offsets: Some(offsets),
            edge: Edge::Skip,
            ..Self::default()
        }
    }

    /// Returns the window around the row, if `--offsets` or `--times` asks for one.
    pub(crate) fn window(&self, table: &Table) -> Result<Option<Window>> {
        if self.times.is_empty() {
            return Ok(self.offsets.clone().map(Window::from));
        }
        let schema = table.schema();
        let column = match &self.time_column {
            Some(column) => column.clone(),
            None => {
                let first = schema.order_by().chain(schema.index()).find(|column| has_times(column));
                let first = first.or_else(|| schema.order_by().next());
                let none =
                    || Error::invalid(format!("{}: no index column holds times; name one with --time-column", table.url()));
                first.ok_or_else(none)?.name.clone()
            }
        };
        let times = TimeOffsets::new(column, &self.times)?.pick(self.pick);
        let times = self.tolerance.as_ref().map_or(Ok(times.clone()), |tolerance| times.within(tolerance))?;
        Ok(Some(times.into()))
    }

    /// Returns a loader of the requested columns.
    pub(crate) fn loader(&self, table: &Table) -> Result<RowLoader> {
        let loader = table.row_loader().edge(self.edge);
        if self.columns.is_empty() { Ok(loader) } else { loader.columns(&self.columns) }
    }
}

/// Whether the column is a timestamp or has a unit of time in its properties.
fn has_times(column: &Column) -> bool {
    matches!(column.ty, ColumnType::Timestamp(..))
        || text::unit(column).is_some_and(|unit| ["s", "ms", "us", "ns"].contains(&unit.as_str()))
}
