//! `tetrys stats`: summarises the index columns: nulls, distinct values, minimum, maximum, histogram.

use std::{collections::HashMap, io::Write};

use clap::Args;
use polars::prelude::{AnyValue, DataType, IntoSeries, Series, StringChunked};
use serde_json::{Value, json};
use tetrys::{ColumnType, Error};

use crate::{
    cells,
    failure::{Failure, Outcome},
    output::{Format, cell},
    text, times,
};

/// Most steps of a histogram.
const STEPS: usize = 24;
/// Number of most frequent texts in the JSON output.
const TOP: usize = 5;

#[derive(Args, Debug)]
#[command(
    after_help = "Only the index is read. The histogram of numbers and times has up to 24 equal steps from minimum to maximum, and one mark for each. For texts and booleans it lists the most frequent values and their share of the rows.

Examples:
  tetrys stats sample
  tetrys stats sample --columns agents_count --json"
)]
pub(crate) struct Stats {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Index columns to summarise, as a pattern: `agents_*`. May be repeated [default: all]
    #[arg(long, value_name = "PATTERN")]
    columns: Vec<String>,
    #[command(flatten)]
    format: Format,
}

impl Stats {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let index = match self.columns.as_slice() {
            [] => table.index().await?,
            patterns => table.index_columns(patterns).await?,
        };
        let mut rows = Vec::new();
        for column in table.schema().index().filter(|column| index.frame().column(&column.name).is_ok()) {
            let series = index.frame().column(&column.name).map_err(internal)?.as_materialized_series().clone();
            let Summary { nulls, distinct, min, max, histogram } = summary(&column.ty, &series).map_err(internal)?;
            let unit = text::unit(column).map_or(Value::Null, Value::from);
            let histogram = if self.format.is_text() { histogram.drawn(index.len()) } else { histogram.json() };
            rows.push(vec![
                column.name.clone().into(),
                column.ty.to_string().into(),
                unit,
                nulls.into(),
                distinct.into(),
                min,
                max,
                histogram,
            ]);
        }
        let mut names = ["column", "type", "unit", "nulls", "distinct", "min", "max", "histogram"].map(str::to_owned).to_vec();
        if self.format.is_text() {
            writeln!(out, "{} in {}\n", text::counted(table.rows(), "row"), text::counted(table.sequence_count(), "sequence"))?;
            if rows.iter().all(|row| row[2].is_null()) {
                names.remove(2);
                rows.iter_mut().for_each(|row| drop(row.remove(2)));
            }
            rows.iter_mut().flatten().for_each(|value| {
                let shown = if value.is_null() { String::new() } else { shortened(cell(value.clone())) };
                *value = shown.into();
            });
        }
        self.format.write(out, &names, rows.into_iter().map(Ok))?;
        Ok(Outcome::Done)
    }
}

struct Summary {
    nulls: usize,
    distinct: usize,
    min: Value,
    max: Value,
    histogram: Histogram,
}

enum Histogram {
    /// Number of values in each step.
    Steps(Vec<u64>),
    /// The most frequent values and their counts.
    Top(Vec<(Value, u64)>),
}

fn summary(ty: &ColumnType, series: &Series) -> Result<Summary, polars::prelude::PolarsError> {
    if matches!(series.dtype(), DataType::List(_)) {
        let text = |list: AnyValue<'_>| (!list.is_null()).then(|| super::query::json(list).to_string());
        let texts: StringChunked = series.iter().map(text).collect();
        return summary(ty, &texts.into_series());
    }
    let nulls = series.null_count();
    if matches!(series.dtype(), DataType::Boolean | DataType::String) || *ty == ColumnType::Categorical {
        let texts = series.cast(&DataType::String)?;
        let mut counts: HashMap<&str, u64> = HashMap::new();
        for text in texts.str()?.iter().flatten() {
            *counts.entry(text).or_default() += 1;
        }
        let value = |text: &str| if *series.dtype() == DataType::Boolean { (text == "true").into() } else { text.into() };
        let (min, max) = (counts.keys().min().copied().map(value), counts.keys().max().copied().map(value));
        let distinct = counts.len();
        let mut top: Vec<(&str, u64)> = counts.into_iter().collect();
        top.sort_unstable_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
        let top = top.into_iter().take(TOP).map(|(text, count)| (value(text), count)).collect();
        let (min, max) = (min.unwrap_or_default(), max.unwrap_or_default());
        return Ok(Summary { nulls, distinct, min, max, histogram: Histogram::Top(top) });
    }
    let numbers = series.to_physical_repr().into_owned();
    let distinct = numbers.n_unique()?.saturating_sub(usize::from(nulls > 0));
    let (min, max) = (numbers.min_reduce()?, numbers.max_reduce()?);
    let floats = numbers.cast(&DataType::Float64)?;
    let floats = || floats.f64().into_iter().flat_map(|values| values.iter().flatten()).filter(|value| value.is_finite());
    let (least, most) =
        floats().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)));
    // Steps of whole numbers are at least 1 wide.
    let whole = !matches!(numbers.dtype(), DataType::Float32 | DataType::Float64);
    let most = if whole { most + 1.0 } else { most };
    let count = match most - least {
        span if whole && span < STEPS as f64 => span as usize,
        span if span > 0.0 => STEPS,
        span => usize::from(span == 0.0),
    };
    let mut steps = vec![0; count];
    for value in floats() {
        // Halved, because the span of the largest floats would overflow.
        let place = (value / 2.0 - least / 2.0) / (most / 2.0 - least / 2.0) * count as f64;
        if let Some(step) = steps.get_mut((if place.is_finite() { place as usize } else { 0 }).min(count - 1)) {
            *step += 1;
        }
    }
    Ok(Summary {
        nulls,
        distinct,
        min: shown(ty, min.as_any_value()),
        max: shown(ty, max.as_any_value()),
        histogram: Histogram::Steps(steps),
    })
}

/// Formats a number of a column of this type. polars stores seconds as milliseconds.
fn shown(ty: &ColumnType, value: AnyValue<'_>) -> Value {
    let ticks = value.try_extract::<i64>().ok();
    match (ty, ticks) {
        _ if value.is_null() => Value::Null,
        (ColumnType::Date, Some(days)) => times::date(days),
        (ColumnType::Timestamp(tetrys::TimeUnit::Second, zone), Some(ticks)) => {
            times::timestamp(ticks / 1000, tetrys::TimeUnit::Second, zone.is_some())
        }
        (ColumnType::Timestamp(unit, zone), Some(ticks)) => times::timestamp(ticks, *unit, zone.is_some()),
        (ColumnType::Duration(tetrys::TimeUnit::Second), Some(ticks)) => (ticks / 1000).into(),
        _ => match value {
            AnyValue::Float32(number) => cells::float(number.to_string()),
            AnyValue::Float64(number) => cells::float(number.to_string()),
            AnyValue::UInt64(number) => number.into(),
            _ => ticks.into(),
        },
    }
}

impl Histogram {
    fn json(self) -> Value {
        match self {
            Self::Steps(steps) => json!({"steps": steps}),
            Self::Top(top) => {
                json!({"top": top.into_iter().map(|(value, count)| json!({"value": value, "count": count})).collect::<Vec<_>>()})
            }
        }
    }

    /// Draws one mark per step, or lists the most frequent values with their share of the rows.
    fn drawn(self, rows: usize) -> Value {
        match self {
            Self::Steps(steps) => {
                let most = steps.iter().copied().max().unwrap_or(0).max(1);
                let marks = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
                let mark = |count: &u64| match count {
                    0 => ' ',
                    count => marks[((count * 8).div_ceil(most) as usize).clamp(1, 8) - 1],
                };
                format!("[{}]", steps.iter().map(mark).collect::<String>()).into()
            }
            Self::Top(top) => {
                if top.iter().all(|(_, count)| *count == 1) && rows > 1 {
                    return "all different".into();
                }
                let share = |(value, count): (Value, u64)| {
                    let percent = 100.0 * count as f64 / rows.max(1) as f64;
                    let digits = usize::from(percent < 10.0);
                    format!("{} {percent:.digits$} %", shortened(cell(value)))
                };
                top.into_iter().take(3).map(share).collect::<Vec<_>>().join(", ").into()
            }
        }
    }
}

fn shortened(text: String) -> String {
    const MOST: usize = 60;
    if text.chars().count() <= MOST { text } else { text.chars().take(MOST - 2).chain("..".chars()).collect() }
}

fn internal(error: polars::prelude::PolarsError) -> Error {
    Error::internal(format!("polars: {error}"))
}
