//! Chooses the rows of a selection and their order. A choice that nobody waits for any more ends at its next part.

use std::{collections::BTreeSet, ops::Range};

use tetrys::{
    Error, Index, Result, Table,
    polars::{
        error::PolarsError,
        prelude::{Column, DataFrame, IdxCa},
    },
};

use crate::{
    asked::Choice,
    order::ordered,
    work::{Stop, Turn, on_blocking_thread},
};

/// Rows of an index in memory that are filtered at once.
const PART: usize = 256 << 10;

/// Chooses rows of a table that is no view: only what the conditions need is read.
pub(crate) async fn of_table(table: &Table, choice: &Choice, turn: &Turn) -> Result<Vec<u64>> {
    let mut request = match &choice.sort {
        Some((column, _)) if table.schema().index().all(|other| other.name != *column) => {
            return Err(Error::not_found(format!("no index column `{column}`")));
        }
        // Columns are chosen by patterns: a name that would be one is among all columns.
        Some((column, _)) if column.contains(['*', '?', '[', ']', '{', '}', '!', '\\']) => table.index(),
        sort => table.index().columns(sort.iter().map(|(column, _)| column)),
    };
    if let Some(condition) = choice.condition() {
        request = request.filter_sql(condition);
    }
    let (index, choice, table) = (request.await?, choice.clone(), table.clone());
    on_blocking_thread(Some(turn), move |stop| {
        let (rows, all) = (choice.condition().map(|_| index.rows_of(&table)).transpose()?, index.len());
        stop.check()?;
        let sort = match &choice.sort {
            Some((column, descending)) => Some((index.to_frame().column(column).map_err(internal)?.clone(), *descending)),
            None => None,
        };
        drop(index);
        let rows = in_order(rows, all, sort, stop)?;
        Ok(only(rows, &choice))
    })
    .await
}

/// Chooses rows of an index in memory.
pub(crate) async fn of_index(index: &Index, choice: &Choice, turn: &Turn) -> Result<Vec<u64>> {
    let (index, choice) = (index.clone(), choice.clone());
    on_blocking_thread(Some(turn), move |stop| {
        let rows = match choice.condition() {
            Some(condition) => Some(filtered(&index, &condition, stop)?),
            None => None,
        };
        let sort = match &choice.sort {
            None => None,
            Some((name, _)) if index.column_names().all(|other| other != name) => {
                return Err(Error::not_found(format!("no index column `{name}`")));
            }
            Some((name, descending)) => {
                let column = index.to_frame().column(name).map_err(internal)?.clone();
                let column = match &rows {
                    None => column,
                    Some(rows) => {
                        let places = IdxCa::from_vec("rows".into(), rows.iter().map(|row| *row as u32).collect());
                        column.take(&places).map_err(internal)?
                    }
                };
                Some((column, *descending))
            }
        };
        let rows = in_order(rows, index.len(), sort, stop)?;
        Ok(only(rows, &choice))
    })
    .await
}

/// Returns the numbers of the rows for which a condition is true: part by part, if it looks at one row at a time.
fn filtered(index: &Index, condition: &str, stop: &Stop) -> Result<Vec<u64>> {
    let mut name = "row".to_owned();
    while index.column_names().any(|other| other == name) {
        name.push('_');
    }
    let among = |rows: Range<usize>| {
        let part = index.slice(rows.start as i64, rows.len());
        let numbers = Column::new(name.as_str().into(), (rows.start as u64..rows.end as u64).collect::<Vec<_>>());
        let frame = part.to_frame();
        let columns = frame.columns().iter().cloned().chain([numbers]).collect();
        let numbered = part.with_frame(DataFrame::new(frame.height(), columns).map_err(internal)?)?;
        let frame = numbered.filter_sql(condition)?.to_frame();
        let found = frame.column(&name).map_err(internal)?.u64().map_err(internal)?;
        Ok::<_, Error>(found.into_no_null_iter().collect::<Vec<_>>())
    };
    if index.len() <= PART || !index.is_by_row(condition)? {
        return among(0..index.len());
    }
    let mut rows = Vec::new();
    for start in (0..index.len()).step_by(PART) {
        stop.check()?;
        rows.extend(among(start..index.len().min(start + PART))?);
    }
    Ok(rows)
}

/// Returns rows (`None`: the first `all`) in the order of a column that has a value for each of them.
fn in_order(rows: Option<Vec<u64>>, all: usize, sort: Option<(Column, bool)>, stop: &Stop) -> Result<Vec<u64>> {
    let Some((column, descending)) = sort else { return Ok(rows.unwrap_or_else(|| (0..all as u64).collect())) };
    let places = ordered(column, descending, stop)?;
    let Some(rows) = rows else { return Ok(places.into_iter().map(u64::from).collect()) };
    let row = |place: u32| rows.get(place as usize).copied().ok_or_else(|| Error::internal("a place outside the rows"));
    places.into_iter().map(row).collect()
}

fn only(mut rows: Vec<u64>, choice: &Choice) -> Vec<u64> {
    if let Some(only) = &choice.only {
        let only: BTreeSet<u64> = only.iter().copied().collect();
        rows.retain(|row| only.contains(row));
    }
    rows
}

fn internal(error: PolarsError) -> Error {
    Error::internal(error.to_string())
}
