//! What `get`, `explain` and `layout` are asked for: a row or the window around it, and columns.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use tetrys::{Edge, Offsets, Result, RowLoader, Table};

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
#[derive(Args, Debug)]
pub(crate) struct Choice {
    /// Columns to read, as a pattern: `agents.pose.*`, `*.jpeg`, `re:ego\..+`; `*` crosses dots; may be given several times [default: all]
    #[arg(long, value_name = "P")]
    columns: Vec<String>,
    /// Read the rows at these offsets around ROW, inside its sequence: `-10..=0`, `-10..1`, `-50..=0/5` (every fifth) or `-20,-10,0`
    #[arg(long, value_name = "A..=B", allow_hyphen_values = true, requires = "row")]
    pub(crate) offsets: Option<Offsets>,
    /// What to do with offsets that leave the sequence: pad with null rows (see the mask), skip them, or stop with an error
    #[arg(long, default_value = "pad", value_parser = edge())]
    pub(crate) edge: Edge,
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
        Self { columns: columns.iter().map(|column| (*column).to_owned()).collect(), offsets: Some(offsets), edge: Edge::Skip }
    }

    /// A loader of the columns asked for.
    pub(crate) fn loader(&self, table: &Table) -> Result<RowLoader> {
        let loader = table.row_loader().edge(self.edge);
        if self.columns.is_empty() { Ok(loader) } else { loader.columns(&self.columns) }
    }
}
