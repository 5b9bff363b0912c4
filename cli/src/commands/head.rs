//! `tetrys head`: shows the first rows of the index, and shapes, sizes and picture formats of the other columns.

use std::io::Write;

use arrow_array::{Array, ArrayRef, cast::AsArray};
use clap::Args;
use serde_json::{Map, Value, json};
use tetrys::{ColumnType, Table, table::Rows};

use crate::{
    cells::{self, Cell},
    failure::{Failure, Outcome},
    numbers::whole,
    output::{Format, row_name},
    pictures, text,
};

/// Most rows whose group columns are read: one row may have hundreds of megabytes.
const READ: u64 = 10;

#[derive(Args, Debug)]
#[command(
    after_help = "Prints the index of the first rows, and below it a summary of the other columns in these rows: shapes of tensors, sizes of binary values, format and size of pictures. The summary reads at most 10 rows; --index-only leaves it out. To see values, use `tetrys get`.

Examples:
  tetrys head sample -n 3
  tetrys head sample --columns '*.jpeg' --json
  tetrys head sample -n 1000 --csv > index.csv"
)]
pub(crate) struct Head {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Number of rows to show
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 10, value_parser = whole(0..=u64::MAX))]
    count: u64,
    /// Summarise these columns of groups, as a pattern: `*.jpeg`. May be repeated [default: all; none with --json, --ndjson or
    /// --csv]
    #[arg(long, value_name = "PATTERN", conflicts_with = "index_only")]
    columns: Vec<String>,
    /// Read and show only the index
    #[arg(long)]
    index_only: bool,
    #[command(flatten)]
    format: Format,
}

impl Head {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut rows = self.index(&table).await?;
        let mut names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
        let taken: Vec<&str> = table.schema().columns().iter().map(|column| column.name.as_str()).collect();
        names.insert(0, row_name("row", &taken));
        let payload = match !self.columns.is_empty() || (self.format.is_text() && !self.index_only) {
            true => self.payload(&table, rows.len() as u64).await?,
            false => None,
        };
        if let Some(payload) = payload.as_ref().filter(|_| !self.format.is_text()) {
            // Rows that were not read get nulls.
            let described = columns(&table, payload);
            names.extend(described.iter().map(|(name, ..)| (*name).to_owned()));
            for (place, row) in rows.iter_mut().enumerate() {
                row.extend(
                    described
                        .iter()
                        .map(|(_, ty, array)| if place < payload.len() { json_of(ty, array, place) } else { Value::Null }),
                );
            }
        }
        let read = payload.as_ref().map_or(0, Rows::len);
        let mut lines: Vec<Vec<String>> = payload
            .iter()
            .flat_map(|payload| columns(&table, payload))
            .map(|(name, ty, array)| {
                let unit = table.schema().column_named(name).and_then(text::unit).unwrap_or_default();
                vec![text::printable(name), ty.to_string(), unit, spread(ty, array)]
            })
            .collect();
        self.format.write(out, &names, rows.into_iter().map(Ok))?;
        if self.format.is_text() && !lines.is_empty() {
            let read = format!("in {}", text::counted(read as u64, "row"));
            let mut headings = vec!["column", "type", "unit", &read];
            if lines.iter().all(|line| line[2].is_empty()) {
                headings.remove(2);
                lines.iter_mut().for_each(|line| drop(line.remove(2)));
            }
            write!(out, "\n{}", text::table(&headings, &lines))?;
        }
        Ok(Outcome::Done)
    }

    async fn index(&self, table: &Table) -> Result<Vec<Vec<Value>>, Failure> {
        let positions: Vec<u64> = (0..self.count.min(table.rows())).collect();
        let found = table.take_index(&positions).await?;
        let row = |(place, row): (usize, u64)| {
            let columns = table.schema().index().zip(found.columns());
            std::iter::once(row.into()).chain(columns.map(|(column, array)| cells::json(&column.ty, array, place))).collect()
        };
        Ok(positions.into_iter().enumerate().map(row).collect())
    }

    /// Reads the group columns of the first rows.
    async fn payload(&self, table: &Table, rows: u64) -> Result<Option<Rows>, Failure> {
        let mut loader = table.row_loader();
        if !self.columns.is_empty() {
            loader = loader.columns(&self.columns)?;
        }
        let positions: Vec<u64> = (0..rows.min(READ)).collect();
        Ok(if positions.is_empty() { None } else { Some(loader.take(&positions).await?) })
    }
}

fn columns<'a>(table: &'a Table, rows: &'a Rows) -> Vec<(&'a str, &'a ColumnType, &'a ArrayRef)> {
    let named = rows.batch().schema_ref().fields().iter().zip(rows.batch().columns());
    named
        .filter_map(|(field, array)| {
            table.schema().column_named(field.name()).map(|column| (column.name.as_str(), &column.ty, array))
        })
        .collect()
}

/// Describes one value: the value itself if it is one number or text, otherwise its shape or size.
fn json_of(ty: &ColumnType, array: &ArrayRef, row: usize) -> Value {
    match (ty, Cell::of(ty, array, row)) {
        (_, None) => Value::Null,
        (ColumnType::Binary, _) => {
            let bytes = array.as_binary::<i64>().value(row);
            let mut entry = Map::from_iter([("bytes".to_owned(), Value::from(bytes.len()))]);
            if let Some(picture) = pictures::picture(bytes) {
                entry.insert("picture".to_owned(), picture.format.into());
                if let Some((width, height)) = picture.size {
                    entry.extend([("width".to_owned(), width.into()), ("height".to_owned(), height.into())]);
                }
            }
            entry.into()
        }
        (_, Some(cell)) if cell.shape.is_empty() => cells::json(ty, array, row),
        (_, Some(cell)) => json!({"shape": cell.shape}),
    }
}

/// Summarises the values of a column in a few words.
fn spread(ty: &ColumnType, array: &ArrayRef) -> String {
    let there: Vec<usize> = (0..array.len()).filter(|row| array.is_valid(*row)).collect();
    let mut words = Vec::new();
    match ty {
        ColumnType::Binary => {
            let bytes = array.as_binary::<i64>();
            words.push(pictures::described(there.iter().map(|row| bytes.value(*row))));
        }
        _ => {
            let cells: Vec<Cell> = there.iter().filter_map(|row| Cell::of(ty, array, *row)).collect();
            words.push(match cells.first() {
                Some(first) if first.shape.is_empty() => {
                    cells.iter().take(3).map(|cell| cell.preview(1)).collect::<Vec<_>>().join(" ")
                }
                _ => text::shapes(&cells.iter().map(|cell| cell.shape.clone()).collect::<Vec<_>>()),
            });
            if cells.len() > 3 && cells[0].shape.is_empty() {
                words.push("..".to_owned());
            }
        }
    }
    match array.len() - there.len() {
        0 => {}
        nulls => words.push(text::counted(nulls as u64, "null")),
    }
    words.retain(|word| !word.is_empty());
    words.join(" ")
}
