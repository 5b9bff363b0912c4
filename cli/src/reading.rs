//! What `get`, `explain` and `layout` are asked for: a row or the window around it, and columns.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{ColumnType, Edge, Error, Offsets, Pick, Result, RowLoader, Table, TimeOffsets, Window, schema::Column};

use crate::text;

/// A row or a window of a table.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
    /// The row, counted from 0 over the whole table
    pub(crate) row: u64,
    #[command(flatten)]
    pub(crate) choice: Choice,
}

/// What of a row is read, and which rows around it.
#[derive(Args, Debug, Default)]
pub(crate) struct Choice {
    /// Columns to read, as a pattern: `agents.pose.*`, `*.jpeg`, `re:ego\..+`; `*` crosses dots; may be given several times [default: all]
    #[arg(long, value_name = "P")]
    columns: Vec<String>,
    /// Read the rows at these offsets around ROW, inside its sequence: `-10..=0`, `-10..1`, `-50..=0/5` (every fifth) or `-20,-10,0`
    #[arg(long, value_name = "A..=B", allow_hyphen_values = true, requires = "row")]
    offsets: Option<Offsets>,
    /// Read the rows at these times around ROW, inside its sequence: `-1s,-500ms,0s` (`ns us ms s min h`, or units of the column)
    #[arg(
        long,
        value_name = "T,..",
        allow_hyphen_values = true,
        value_delimiter = ',',
        requires = "row",
        conflicts_with = "offsets"
    )]
    times: Vec<String>,
    /// With --times: the index column that has the times [default: the first of timestamps, or of a unit of time]
    #[arg(long, value_name = "COLUMN", requires = "times")]
    time_column: Option<String>,
    /// With --times: take no row that is further away than this, `50ms` [default: half the distance to the nearest other time, ROW's being one]
    #[arg(long, value_name = "T", requires = "times")]
    tolerance: Option<String>,
    /// With --times: take the nearest row, the last before or the first after
    #[arg(long, default_value = "nearest", value_parser = pick(), requires = "times")]
    pick: Pick,
    /// What to do with places that have no row in the sequence: pad with null rows (see the mask), skip them, or stop with an error
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
    /// The table, and a loader of the columns asked for.
    pub(crate) async fn open(&self) -> Result<(Table, RowLoader)> {
        let table = crate::opening::table(&self.table).await?;
        let loader = self.choice.loader(&table)?;
        Ok((table, loader))
    }
}

impl Choice {
    /// These columns of these rows, as far as they exist.
    pub(crate) fn of(columns: &[&str], offsets: Offsets) -> Self {
        Self {
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            offsets: Some(offsets),
            edge: Edge::Skip,
            ..Self::default()
        }
    }

    /// The window around a row, if one is asked for.
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
                let none = || Error::invalid(format!("{}: no index column has times; name one with --time-column", table.url()));
                first.ok_or_else(none)?.name.clone()
            }
        };
        let times = TimeOffsets::new(column, &self.times)?.pick(self.pick);
        let times = self.tolerance.as_ref().map_or(Ok(times.clone()), |tolerance| times.within(tolerance))?;
        Ok(Some(times.into()))
    }

    /// A loader of the columns asked for.
    pub(crate) fn loader(&self, table: &Table) -> Result<RowLoader> {
        let loader = table.row_loader().edge(self.edge);
        if self.columns.is_empty() { Ok(loader) } else { loader.columns(&self.columns) }
    }
}

/// Timestamps, and numbers whose column says a unit of time.
fn has_times(column: &Column) -> bool {
    matches!(column.ty, ColumnType::Timestamp(..))
        || text::unit(column).is_some_and(|unit| ["s", "ms", "us", "ns"].contains(&unit.as_str()))
}
