//! Frame rows to table rows, by their locators. Follows `format-spec/locator.md#layout`.

use polars::prelude::*;

use crate::{
    error::{Error, Result},
    format::Locator,
};

/// The name of the locator column of a source.
pub fn locator_column(tag: u16) -> String {
    format!("_row_{tag:04x}")
}

/// The table row of every frame row.
///
/// # Errors
/// `Invalid` where the locator column is missing, of another type, null, or points to another table version or past its rows.
pub fn locate(frame: &DataFrame, tag: u16, rows: u64) -> Result<Vec<u64>> {
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
        let value = value.ok_or_else(|| Error::invalid(format!("locator column `{name}`, frame row {place}: null")))?;
        match Locator::from_i64(value).map_err(|error| error.at(format!("frame row {place}")))? {
            Some(locator) if locator.tag == tag && locator.row < rows => out.push(locator.row),
            Some(locator) if locator.tag == tag => {
                return Err(Error::invalid(format!("frame row {place}: row {} is outside 0..{rows}", locator.row)));
            }
            Some(locator) => {
                return Err(Error::invalid(format!(
                    "frame row {place}: {locator}, expected source {tag:04x}: it belongs to another table or version"
                )));
            }
            None => return Err(Error::invalid(format!("frame row {place}: no partner (-1) in a frame that was not merged"))),
        }
    }
    Ok(out)
}
