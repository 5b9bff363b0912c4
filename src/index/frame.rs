//! Converts index segments to a polars frame: reads with arrow's Parquet and copies column by column.

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray, types};
use arrow_schema::DataType as Arrow;
use polars::prelude::*;
use polars_arrow::array::{Array as _, Utf8ViewArray};

use super::locate::{is_locator, locator_column};
use crate::{
    error::{Error, ErrorKind, Result, counted},
    format::Locator,
    schema::{Column as TableColumn, ColumnType},
};

/// Returns the frame of a table version of `expected` rows: the `described` index columns, without locators.
///
/// Timestamps keep their time zone, or get UTC if polars does not know the zone. Seconds become milliseconds.
///
/// # Errors
/// - `Corrupt`: the number of rows differs from `expected`.
/// - `Unsupported`: a time in seconds does not fit into 64-bit milliseconds; a column has a type that frames lack.
/// - `Internal`: polars refuses a column.
/// - Errors of `batches`.
pub fn frame(
    described: &[&TableColumn],
    expected: u64,
    batches: impl IntoIterator<Item = Result<RecordBatch>>,
) -> Result<DataFrame> {
    let names: Vec<String> = described.iter().map(|column| column.name.clone()).collect();
    let mut columns: Vec<Option<Series>> = vec![None; names.len()];
    let mut rows = 0_u64;
    for batch in batches {
        let batch = batch?;
        rows += batch.num_rows() as u64;
        for ((chunks, array), name) in columns.iter_mut().zip(batch.columns()).zip(&names) {
            let next = series(name, array)?;
            match chunks {
                Some(chunks) => {
                    chunks.append(&next).map_err(internal)?;
                }
                None => *chunks = Some(next),
            }
        }
    }
    if rows != expected {
        return Err(Error::corrupt(format!("index of {}, the manifest says {expected}", counted(rows, "row"))));
    }
    let mut all: Vec<Column> = Vec::with_capacity(names.len());
    for (column, (name, described)) in columns.into_iter().zip(names.iter().zip(described)) {
        let mut series = match column {
            Some(series) => series,
            None => series(name, &arrow_array::new_empty_array(&described.ty.arrow()))?,
        };
        if described.ty == ColumnType::Categorical {
            series = series.cast(&DataType::from_categories(Categories::global())).map_err(internal)?;
        }
        all.push(series.rechunk().into());
    }
    let height = usize::try_from(rows).map_err(|_| Error::unsupported(format!("{} in a frame", counted(rows, "row"))))?;
    DataFrame::new(height, all).map_err(internal)
}

/// Returns the frame with a locator column for source `tag`: one table row for each frame row, −1 for none.
///
/// # Errors
/// - `Internal`: the number of rows differs from the frame's.
pub fn with_locators(frame: &DataFrame, tag: u16, rows: impl Iterator<Item = i64>) -> Result<DataFrame> {
    let locator = |row: i64| u64::try_from(row).map_or(Locator::NONE, |row| Locator { tag, row }.to_i64());
    let locators = Column::new(locator_column(tag).into(), rows.map(locator).collect::<Vec<i64>>());
    let columns = frame.columns().iter().cloned().chain([locators]).collect();
    DataFrame::new(frame.height(), columns).map_err(internal)
}

/// Returns the frame without its locator columns.
///
/// # Errors
/// - `Internal`: polars refuses the columns.
pub fn without_locators(frame: &DataFrame) -> Result<DataFrame> {
    let columns = frame.columns().iter().filter(|column| !is_locator(column.name())).cloned().collect();
    DataFrame::new(frame.height(), columns).map_err(internal)
}

/// Returns the rows at these places.
///
/// # Errors
/// - `Unsupported`: a place does not fit into the row numbers of polars.
/// - `Internal`: there is no such row.
pub(crate) fn taken(frame: &DataFrame, places: impl IntoIterator<Item = usize>) -> Result<DataFrame> {
    let place = |place: usize| {
        IdxSize::try_from(place).map_err(|_| Error::unsupported(format!("row {place} in a frame: polars counts in 32 bits")))
    };
    let places = places.into_iter().map(place).collect::<Result<Vec<IdxSize>>>()?;
    frame.take(&IdxCa::from_vec(PlSmallStr::EMPTY, places)).map_err(internal)
}

/// Copies the rows of a frame, so that they do not keep the memory of the frame that they were chosen from.
///
/// # Errors
/// - `Internal`: polars refuses the columns.
pub(crate) fn own_rows(frame: &DataFrame) -> Result<DataFrame> {
    let copied = taken(frame, 0..frame.height())?;
    // Copied texts still refer to the bytes of all texts. A text that repeats is there once, and copied for each row.
    let copy = |chunk: &Utf8ViewArray| {
        let long = chunk.views().iter().filter(|view| !view.is_inline()).map(|view| view.length as usize);
        if long.sum::<usize>() < chunk.total_buffer_len() { chunk.clone().gc() } else { chunk.clone() }
    };
    let own = |column: &Column| match column.as_materialized_series().try_str() {
        Some(texts) => StringChunked::from_chunk_iter(column.name().clone(), texts.downcast_iter().map(copy)).into_column(),
        None => column.clone(),
    };
    DataFrame::new(copied.height(), copied.columns().iter().map(own).collect()).map_err(internal)
}

/// Returns the time zone in frames for the time zone of an index column: the same one, or UTC if polars does not know it.
pub(crate) fn shown_zone(zone: Option<&str>) -> Option<TimeZone> {
    zone.map(|zone| TimeZone::opt_try_new(Some(zone)).ok().flatten().unwrap_or(TimeZone::UTC))
}

pub(crate) fn internal(error: PolarsError) -> Error {
    Error::new(ErrorKind::Internal, format!("polars: {error}"))
}

fn series(name: &str, array: &ArrayRef) -> Result<Series> {
    macro_rules! numbers {
        ($($arrow:ty),*) => {
            match array.data_type() {
                $(ty if *ty == <$arrow as types::ArrowPrimitiveType>::DATA_TYPE => {
                    let array = array.as_primitive::<$arrow>();
                    return Ok(match array.null_count() {
                        0 => Series::new(name.into(), array.values().as_ref()),
                        _ => Series::new(name.into(), array.iter().collect::<Vec<_>>()),
                    });
                })*
                _ => {}
            }
        };
    }
    numbers!(
        types::Int8Type,
        types::Int16Type,
        types::Int32Type,
        types::Int64Type,
        types::UInt8Type,
        types::UInt16Type,
        types::UInt32Type,
        types::UInt64Type,
        types::Float32Type,
        types::Float64Type
    );
    let ticks = |unit: &arrow_schema::TimeUnit| -> Result<Int64Chunked> {
        let data = array.to_data();
        let values = data.buffer::<i64>(0);
        let scaled = |value: &i64| match unit {
            arrow_schema::TimeUnit::Second => milliseconds(name, *value),
            _ => Ok(*value),
        };
        (0..array.len())
            .map(|row| array.is_valid(row).then(|| values.get(row)).flatten().map(scaled).transpose())
            .collect::<Result<_>>()
    };
    let named = |series: Series| series.with_name(name.into());
    match array.data_type() {
        Arrow::LargeUtf8 => Ok(Series::new(name.into(), array.as_string::<i64>().iter().collect::<Vec<_>>())),
        Arrow::Boolean => Ok(Series::new(name.into(), array.as_boolean().iter().collect::<Vec<_>>())),
        Arrow::Date32 => {
            let days: Int32Chunked = array.as_primitive::<types::Date32Type>().iter().collect();
            Ok(named(days.into_date().into_series()))
        }
        Arrow::Timestamp(arrow, zone) => {
            Ok(named(ticks(arrow)?.into_datetime(unit_of(*arrow), shown_zone(zone.as_deref())).into_series()))
        }
        Arrow::Duration(arrow) => Ok(named(ticks(arrow)?.into_duration(unit_of(*arrow)).into_series())),
        other => Err(unsupported(name, other)),
    }
}

/// Returns the bytes of a column in memory.
pub(crate) fn bytes_of(column: &Column) -> u64 {
    let series = column.as_materialized_series();
    let Ok(text) = series.str() else { return series.estimated_size() as u64 };
    let of = |array: &polars_arrow::array::Utf8ViewArray| {
        let texts: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
        let nulls = array.validity().map_or(0, |nulls| nulls.len().div_ceil(8));
        (size_of_val(array.views().as_slice()) + texts + nulls) as u64
    };
    text.downcast_iter().map(of).sum()
}

/// Returns the error for a type that frames lack.
pub(super) fn unsupported(name: &str, ty: &Arrow) -> Error {
    Error::unsupported(format!("index column `{name}`: a frame cannot hold {ty}"))
}

/// Returns the unit in frames, which have no seconds.
pub(super) fn unit_of(unit: arrow_schema::TimeUnit) -> TimeUnit {
    match unit {
        // The values in seconds are scaled.
        arrow_schema::TimeUnit::Second | arrow_schema::TimeUnit::Millisecond => TimeUnit::Milliseconds,
        arrow_schema::TimeUnit::Microsecond => TimeUnit::Microseconds,
        arrow_schema::TimeUnit::Nanosecond => TimeUnit::Nanoseconds,
    }
}

/// Converts seconds to milliseconds.
pub(super) fn milliseconds(name: &str, seconds: i64) -> Result<i64> {
    seconds.checked_mul(1000).ok_or_else(|| {
        Error::unsupported(format!(
            "index column `{name}`: {seconds} seconds do not fit into 64-bit milliseconds, the unit in frames; load only other \
             columns"
        ))
    })
}
