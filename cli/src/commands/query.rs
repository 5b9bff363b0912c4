//! `tetrys query`: SQL over the index of a table.

use std::io::Write;

use clap::Args;
use polars::prelude::{AnyValue, Column, DataFrame, DataType, TimeUnit};
use serde_json::{Map, Value};
use tetrys::{Error, Index, Table, index::is_locator, table::hints};

use crate::{
    cells,
    failure::{Failure, Outcome, say},
    output::{Format, row_name},
    text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "The index is the table `t`; its column `row` is the ROW of `tetrys get` and `tetrys explain` (`row_` where the index has a column `row`, and so on). A query asks and changes nothing: it is one SELECT, or WITH and a SELECT. Columns whose names have dots or capitals stand in double quotes.

Examples:
  tetrys query sample 'SELECT row, host, agents_count FROM t WHERE agents_count > 100 LIMIT 5'
  tetrys query sample 'SELECT host, COUNT(*) AS frames FROM t GROUP BY host ORDER BY frames DESC'
  tetrys query sample 'SELECT * FROM t' --csv > index.csv"
)]
pub(crate) struct Query {
    /// The table: a path or URL; TABLE@3 is its version 3
    table: String,
    /// The query, SELECT or WITH, in the SQL of polars
    sql: String,
    /// Rows of the printed table, at most; --json, --ndjson and --csv print all
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 40)]
    shown: usize,
    /// Keep the locator columns, by which other tools name rows
    #[arg(long)]
    locators: bool,
    #[command(flatten)]
    format: Format,
}

impl Query {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut index = table.index().await?;
        let row = row_name("row", &index.column_names().collect::<Vec<_>>());
        if row != "row" {
            say(format_args!("note: the index has a column `row`; the number of a row is in `{row}`"));
        }
        let rows: Vec<i64> = (0..index.len() as i64).collect();
        let columns = std::iter::once(Column::new(row.into(), rows)).chain(index.frame().columns().iter().cloned());
        let frame = DataFrame::new_infer_height(columns.collect());
        index = index.with_frame(frame.map_err(|error| Error::internal(error.to_string()))?)?;
        let answer = index.query(&self.sql).map_err(|error| explained(&error.to_string(), &self.sql, &table, &index))?;
        let hidden = |column: &&Column| !self.locators && is_locator(column.name());
        let columns: Vec<&Column> = answer.columns().iter().filter(|column| !hidden(column)).collect();
        let names: Vec<String> = columns.iter().map(|column| column.name().to_string()).collect();
        let shown = if self.format.is_text() { answer.height().min(self.shown) } else { answer.height() };
        let value = |column: &Column, row| {
            column.get(row).map(json).map_err(|error| Failure::from(Error::internal(format!("polars: {error}"))))
        };
        let rows = (0..shown).map(|row| columns.iter().map(|column| value(column, row)).collect());
        self.format.write(out, &names, rows)?;
        if shown < answer.height() {
            out.flush()?;
            say(format_args!(
                "{}, the first {} shown; -n N shows more, --csv and --ndjson all",
                text::counted(answer.height() as u64, "row"),
                text::count(shown as u64)
            ));
        }
        Ok(Outcome::Done)
    }
}

/// What polars says, and what was probably meant.
fn explained(said: &str, sql: &str, table: &Table, index: &Index) -> Error {
    let said = said.strip_prefix(&format!("`{sql}`: ")).unwrap_or(said);
    // Behind it come the columns, with locators among them, and the plan.
    let said = said.split("; valid columns").next().and_then(|said| said.split("\n\n").next()).unwrap_or_default().trim();
    let missing = said.split_once("unable to find column").and_then(|(_, said)| said.split(['"', '\'', '`']).nth(1));
    let hint = match missing {
        Some(column) if table.schema().column_named(column).is_some() => {
            format!("`{column}` is a column of a group, which SQL does not read; see it with `tetrys get`")
        }
        Some(column) if let Some(near) = hints::nearest(column, index.column_names()) => format!("nearest: `{near}`"),
        _ => format!("the index is called t; its columns: {}", hints::listed(index.column_names())),
    };
    Error::invalid(format!("query: {said}\n  hint: {hint}"))
}

/// A value of a frame as JSON.
fn json(value: AnyValue<'_>) -> Value {
    let unit = |unit: TimeUnit| match unit {
        TimeUnit::Milliseconds => tetrys::TimeUnit::Millisecond,
        TimeUnit::Microseconds => tetrys::TimeUnit::Microsecond,
        TimeUnit::Nanoseconds => tetrys::TimeUnit::Nanosecond,
    };
    match value {
        AnyValue::Null => Value::Null,
        AnyValue::Boolean(value) => value.into(),
        AnyValue::String(text) => text.into(),
        AnyValue::StringOwned(text) => text.as_str().into(),
        AnyValue::UInt8(number) => number.into(),
        AnyValue::UInt16(number) => number.into(),
        AnyValue::UInt32(number) => number.into(),
        AnyValue::UInt64(number) => number.into(),
        AnyValue::Int8(number) => number.into(),
        AnyValue::Int16(number) => number.into(),
        AnyValue::Int32(number) => number.into(),
        AnyValue::Int64(number) => number.into(),
        AnyValue::Float32(number) => cells::float(number.to_string()),
        AnyValue::Float64(number) => cells::float(number.to_string()),
        AnyValue::Date(days) => times::date(days.into()),
        AnyValue::Datetime(ticks, ticked, zone) => times::timestamp(ticks, unit(ticked), zone.is_some()),
        AnyValue::Duration(ticks, _) => ticks.into(),
        AnyValue::List(series) => series.iter().map(json).collect(),
        AnyValue::Struct(..) | AnyValue::StructOwned(_) => {
            let DataType::Struct(fields) = value.dtype() else { return value.to_string().into() };
            let values = value._iter_struct_av().map(json);
            Value::Object(fields.iter().map(|field| field.name.to_string()).zip(values).collect::<Map<_, _>>())
        }
        // Categories are text.
        other => other.get_str().map_or_else(|| other.to_string(), str::to_owned).into(),
    }
}
