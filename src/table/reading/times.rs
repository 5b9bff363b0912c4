//! The times of a table's rows: the values of one index column. They stay in memory once a time window has used them.

use std::sync::{Arc, PoisonError};

use arrow_array::{Array, ArrayRef, cast::AsArray, types};
use arrow_schema::DataType;

use crate::{
    error::{Error, Result},
    read::Times,
    schema::{Column, ColumnType, TimeUnit},
    table::version::table::Table,
    work::offload_large,
};

impl Table {
    /// Returns the values of an index column as times, loaded on first use.
    ///
    /// # Errors
    /// - `NotFound`: there is no such index column.
    /// - `Invalid`: the type of the column has no times.
    /// - `Unsupported`: a value is larger than 2^63 - 1.
    /// - `Conflict`: a garbage collection has deleted this version.
    /// - `Corrupt`: an index object is missing or damaged.
    /// - Any error of the store.
    pub(in crate::table) async fn times(&self, name: &str) -> Result<Arc<Times>> {
        let column = self.schema().index().find(|column| column.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.schema().index().map(|column| column.name.as_str()).collect();
            Error::not_found(format!("no index column `{name}`; there are: {}", names.join(", ")))
        })?;
        let cached = self.inner.times.lock().unwrap_or_else(PoisonError::into_inner).get(&column.id).cloned();
        if let Some(times) = cached {
            return Ok(times);
        }
        // The values, and each of them with a flag.
        self.fits_in_memory(8 + 16)?;
        let objects = self.index_objects().await?;
        let (table, of) = (self.clone(), column.clone());
        let values =
            offload_large(self.index_work(&objects, 1), move |stop| ticks(&of, &table.index_column(objects, of.id, stop)?));
        let values = values.await?;
        let sorted = self.schema().order_by().next().is_some_and(|first| first.id == column.id);
        let times = Arc::new(Times::new(values, nanoseconds_per_tick(column), sorted));
        self.inner.times.lock().unwrap_or_else(PoisonError::into_inner).insert(column.id, Arc::clone(&times));
        Ok(times)
    }
}

/// Returns the nanoseconds of a tick of a column, or `None` if the column has no unit of time. Timestamps, durations and dates
/// have a unit by type; an integer column has one if its property `unit` is `s`, `ms`, `us` or `ns`.
pub(in crate::table) fn nanoseconds_per_tick(column: &Column) -> Option<i64> {
    match &column.ty {
        ColumnType::Timestamp(unit, _) | ColumnType::Duration(unit) => Some(unit.nanoseconds()),
        ColumnType::Date => Some(86_400 * TimeUnit::Second.nanoseconds()),
        _ => TimeUnit::parse(column.properties.get("unit")?.as_str()?).map(TimeUnit::nanoseconds),
    }
}

fn ticks(column: &Column, array: &ArrayRef) -> Result<Vec<Option<i64>>> {
    macro_rules! integers {
        ($($arrow:ty),*) => {$(
            if let Some(array) = array.as_primitive_opt::<$arrow>() {
                let value = |value| i64::try_from(value).map_err(|_| {
                    Error::unsupported(format!("index column `{}`: time {value}: expected at most 2^63 - 1", column.name))
                });
                return array.iter().map(|found| found.map(value).transpose()).collect();
            }
        )*};
    }
    match array.data_type() {
        DataType::Timestamp(..) | DataType::Duration(_) => {
            let data = array.to_data();
            let values = data.buffer::<i64>(0);
            return Ok((0..array.len()).map(|row| values.get(row).copied().filter(|_| array.is_valid(row))).collect());
        }
        DataType::Date32 => {
            let days = array.as_primitive::<types::Date32Type>();
            return Ok(days.iter().map(|day| day.map(i64::from)).collect());
        }
        _ => {}
    }
    integers!(
        types::Int8Type,
        types::Int16Type,
        types::Int32Type,
        types::Int64Type,
        types::UInt8Type,
        types::UInt16Type,
        types::UInt32Type,
        types::UInt64Type
    );
    Err(Error::invalid(format!("index column `{}` is {}: it has no times", column.name, column.ty)))
}
