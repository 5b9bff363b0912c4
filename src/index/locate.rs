//! Converts frame rows to table rows by their locators. Follows `format-spec/locator.md#layout`.

use polars::prelude::*;

use crate::{
    error::{Error, Result},
    format::Locator,
};

/// Value of a locator column in a row without a partner.
pub const NO_PARTNER: i64 = -1;

/// Returns the name of a source's locator column.
pub fn locator_column(tag: u16) -> String {
    format!("_row_{tag:04x}")
}

/// Whether a column has the name of a locator column.
pub fn is_locator(name: &str) -> bool {
    name.strip_prefix("_row_").is_some_and(|tag| tag.len() == 4 && tag.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Returns the table row of every frame row. If `partial`, rows without a partner (−1 or null) are allowed and give −1.
///
/// # Errors
/// - `Invalid`: the locator column is missing, has another type, or holds a null; a locator belongs to another table version or
///   lies beyond the table's rows; a row has no partner and `partial` is false.
pub fn locate(frame: &DataFrame, tag: u16, rows: u64, partial: bool) -> Result<Vec<i64>> {
    let name = locator_column(tag);
    let column = frame.column(&name).map_err(|_| {
        Error::invalid(format!("the frame has no locator column `{name}`: keep it through every operation on the frame"))
    })?;
    let locators = column
        .as_materialized_series()
        .i64()
        .map_err(|_| Error::invalid(format!("locator column `{name}`: expected i64, found {}", column.dtype())))?
        .rechunk();
    let mut out = Vec::with_capacity(frame.height());
    for (place, value) in locators.iter().enumerate() {
        let Some(value) = value.or(partial.then_some(NO_PARTNER)) else {
            return Err(Error::invalid(format!("locator column `{name}`, frame row {place}: null")));
        };
        match Locator::from_i64(value).map_err(|error| error.at(format!("frame row {place}")))? {
            Some(locator) if locator.tag == tag && locator.row < rows => out.push(locator.row.cast_signed()),
            Some(locator) if locator.tag == tag => {
                return Err(Error::invalid(format!("frame row {place}: row {} is outside 0..{rows}", locator.row)));
            }
            Some(locator) => {
                return Err(Error::invalid(format!(
                    "frame row {place}: {locator}, expected source {tag:04x}: it belongs to another table or version"
                )));
            }
            None if partial => out.push(NO_PARTNER),
            None => return Err(Error::invalid(format!("frame row {place}: no partner (-1) in a frame that was not merged"))),
        }
    }
    Ok(out)
}

/// Returns the frame with the locators of `tag` moved to tag `to`, so that two sources with one tag fit into one frame.
///
/// # Errors
/// - `Invalid`: the locator column holds locators of another source.
/// - `Internal`: polars refuses the column.
pub fn retag(frame: &DataFrame, tag: u16, to: u16) -> Result<DataFrame> {
    let name = locator_column(tag);
    let failed = |error: PolarsError| Error::internal(format!("locator column `{name}`: {error}"));
    let column = frame.column(&name).map_err(failed)?.as_materialized_series().i64().map_err(failed)?.clone();
    let moved = column.iter().map(|value| match Locator::from_i64(value.unwrap_or(NO_PARTNER)) {
        Ok(Some(locator)) if locator.tag == tag => Ok(Locator { tag: to, row: locator.row }.to_i64()),
        Ok(None) => Ok(NO_PARTNER),
        _ => Err(Error::invalid(format!("locator column `{name}` holds locators of another source"))),
    });
    let moved = Column::new(locator_column(to).into(), moved.collect::<Result<Vec<i64>>>()?);
    let columns =
        frame.columns().iter().map(|column| if column.name() == name.as_str() { moved.clone() } else { column.clone() });
    DataFrame::new(frame.height(), columns.collect()).map_err(failed)
}
