//! `tetrys query`: queries the index of a table in SQL.

use std::io::Write;

use clap::Args;
use polars::prelude::{AnyValue, Column, DataFrame, DataType, TimeUnit};
use serde_json::{Map, Value};
use tetrys::{Error, ErrorKind, Index, Table};

use crate::{
    cells,
    failure::{Failure, Outcome, say},
    numbers::whole,
    output::{Format, row_name},
    text, times,
};

#[derive(Args, Debug)]
#[command(
    after_help = "In SQL, the index is the table `t`: all index columns, and `row`, the row number that `tetrys get` and `tetrys explain` take as ROW (called `row_` if the index has a column `row`). Columns of column groups are not in it; `tetrys schema` lists all columns.

A query is one SELECT, or WITH and a SELECT, in the SQL of polars. It changes nothing. Put names with dots or capital letters in double quotes. `POW` gives floating point numbers; `LPAD` and `RPAD` fill up to 1,000 characters.

Examples:
  tetrys query sample 'SELECT row, host, agents_count FROM t WHERE agents_count > 100 LIMIT 5'
  tetrys query sample 'SELECT host, COUNT(*) AS frames FROM t GROUP BY host ORDER BY frames DESC'
  tetrys query sample 'SELECT * FROM t' --csv > index.csv"
)]
pub(crate) struct Query {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// The query: SELECT .. FROM t, in the SQL of polars
    sql: String,
    /// Most rows to print as a text table; --json, --ndjson and --csv print all rows
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 40, value_parser = whole(0..=usize::MAX))]
    shown: usize,
    /// Also print the locator columns: numbers that name a row of one version of one table, for other tools
    #[arg(long)]
    locators: bool,
    #[command(flatten)]
    format: Format,
}

impl Query {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut index = needed(&table, &self.sql).await?;
        let row = row_name("row", &table.schema().index().map(|column| column.name.as_str()).collect::<Vec<_>>());
        if row != "row" {
            say(format_args!("note: the index has a column `row`; the number of a row is in `{row}`"));
        }
        index = numbered(&index, &table, &row)?;
        let answer = match index.query(&self.sql) {
            Ok(answer) => answer,
            Err(error) => {
                let whole = numbered(&table.index().await?, &table, &row)?;
                return Err(explained(&error.to_string(), &self.sql, &table, &whole).into());
            }
        };
        // A join of the table with itself has its columns several times, as `NAME:ALIAS`.
        let is_locator = |column: &&Column| Index::is_locator(column.name().split(':').next().unwrap_or_default());
        let hidden = |column: &&Column| !self.locators && is_locator(column);
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

/// Loads the part of the index that an SQL query over the table `t` needs.
async fn needed(table: &Table, sql: &str) -> Result<Index, Error> {
    match table.index().for_query(sql).await {
        // The query is not valid, which the query itself explains better.
        Err(error) if error.kind() == ErrorKind::Invalid => table.index().await,
        loaded => loaded,
    }
}

/// Returns the index with its row numbers in `table` as a further column. The index must not have a column of this name.
fn numbered(index: &Index, table: &Table, name: &str) -> Result<Index, Error> {
    let rows: Vec<i64> = match index.len() as u64 == table.rows() {
        true => (0..index.len() as i64).collect(),
        false => index.rows_of(table)?.into_iter().map(u64::cast_signed).collect(),
    };
    let columns = std::iter::once(Column::new(name.into(), rows)).chain(index.frame().columns().iter().cloned());
    let frame = DataFrame::new_infer_height(columns.collect());
    index.with_frame(frame.map_err(|error| Error::internal(error.to_string()))?)
}

/// Returns the numbers of the rows for which a condition is true.
pub(super) async fn rows_where(table: &Table, condition: &str) -> Result<Vec<u64>, Error> {
    let row = row_name("row", &table.schema().index().map(|column| column.name.as_str()).collect::<Vec<_>>());
    let index = needed(table, &format!("SELECT 1 AS one FROM t WHERE ({condition})")).await?;
    let found = numbered(&index, table, &row)?.filter_sql(condition)?;
    let found = found.frame();
    let rows = found.column(&row).and_then(|rows| rows.i64().map(|rows| rows.into_no_null_iter().collect::<Vec<i64>>()));
    let rows = rows.map_err(|error| Error::invalid(format!("`{condition}`: {error}")))?;
    rows.into_iter().map(|row| u64::try_from(row).map_err(|_| Error::internal("a row below 0"))).collect()
}

/// Returns the error of a query with a hint about what was probably meant.
fn explained(message: &str, sql: &str, table: &Table, index: &Index) -> Error {
    let message = message.strip_prefix(&format!("`{sql}`: ")).unwrap_or(message);
    let missing = message.split_once("unable to find column").and_then(|(_, message)| message.split(['"', '\'', '`']).nth(1));
    let hint = match missing {
        Some(column) if table.schema().column_named(column).is_some() => {
            format!("`{column}` is a column of a group, which SQL does not read; read it with `tetrys get`")
        }
        _ => match index.hint(missing.unwrap_or_default()) {
            near if near.starts_with("nearest") => near,
            columns => format!("the index is called t; {columns}"),
        },
    };
    Error::invalid(format!("query: {message}\n  hint: {hint}"))
}

/// Converts a polars value to JSON.
pub(super) fn json(value: AnyValue<'_>) -> Value {
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
        AnyValue::DatetimeOwned(ticks, ticked, zone) => times::timestamp(ticks, unit(ticked), zone.is_some()),
        AnyValue::Duration(ticks, _) => ticks.into(),
        AnyValue::List(series) => series.iter().map(json).collect(),
        AnyValue::Struct(..) | AnyValue::StructOwned(_) => {
            let DataType::Struct(fields) = value.dtype() else { return value.to_string().into() };
            let values = value._iter_struct_av().map(json);
            Value::Object(fields.iter().map(|field| field.name.to_string()).zip(values).collect::<Map<_, _>>())
        }
        // Categorical values become text.
        other => other.get_str().map_or_else(|| other.to_string(), str::to_owned).into(),
    }
}
