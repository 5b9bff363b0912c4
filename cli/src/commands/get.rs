//! `tetrys get`: reads a row or a window, and prints it or writes NumPy files.

use std::{io::Write, path::PathBuf};

use arrow_array::ArrayRef;
use clap::Args;
use serde_json::{Value, json};
use tetrys::{ColumnType, Error, Table, table::Rows};

use crate::{
    arrays, cells,
    cells::Cell,
    failure::{Failure, Outcome},
    output::{Format, row_name},
    reading::Reading,
    staging::Staging,
    text,
};

/// Number of elements of a value that the text output shows.
const SHOWN: usize = 4;

#[derive(Args, Debug)]
#[command(
    after_help = "Without --offsets and --times, reads one row; with one of them, a window. A window contains only rows of the sequence of ROW. The default output shows the first elements of each value; --json, --ndjson and --csv print all values, and --out writes NumPy files.

With --out, each column X becomes X.npy. Arrays of a window have a leading axis of rows, and mask.npy says which rows exist. If rows differ in length, X.npy has them one after another, and row i is X[offsets[i]:offsets[i+1]] with the offsets in X.offsets.npy.

A window over a view follows a table behind the view and also reads rows that the view left out. Its rows have the row numbers of that table (`source_row` in JSON); ROW itself is a row number of the view.

Examples:
  tetrys get sample 120 --columns 'agents.*' --columns 'ego.*'
  tetrys get sample 120 --columns 'agents.*' --offsets=-10..=0 --out rows
  tetrys get sample 120 --columns 'ego.*' --times=-1s,-500ms,0s --tolerance 50ms --ndjson"
)]
pub(crate) struct Get {
    #[command(flatten)]
    reading: Reading,
    /// Write NumPy files into this new folder, one for each column
    #[arg(long, value_name = "DIR", conflicts_with = "format")]
    out: Option<PathBuf>,
    /// Print JSON: the columns, and the rows with all values; bytes are hexadecimal digits
    #[arg(long, group = "format")]
    json: bool,
    /// Print NDJSON: one line with an object for each row
    #[arg(long, group = "format")]
    ndjson: bool,
    /// Print CSV with a header line; tensors and lists are JSON in their cell
    #[arg(long, group = "format")]
    csv: bool,
}

impl Get {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        // First, so that an existing target is refused before anything is read.
        let staging = self.out.as_deref().map(Staging::new).transpose()?;
        let (table, loader) = self.reading.open().await?;
        let row = self.reading.row;
        let asked = self.reading.choice.window(&table)?;
        let window = asked.is_some();
        let rows = match asked {
            Some(around) => loader.get_rows(row, around).await?,
            None => loader.take(&[row]).await?,
        };
        let types = types(&table, &rows)?;
        let numbers = Numbers::of(&table, &rows, (!window).then_some(row));
        if let (Some(staging), Some(folder)) = (staging, &self.out) {
            let files = arrays::write(&rows, &types, window, staging.folder())?;
            staging.publish()?;
            let lines: Vec<_> =
                files.iter().map(|(name, npy)| vec![name.clone(), npy.descr.clone(), text::shape(&npy.shape)]).collect();
            writeln!(out, "{}: {}", folder.display(), numbers_text(&numbers, window))?;
            write!(out, "{}", text::table(&["", "", ""], &lines))?;
        } else if self.json {
            // On one line, because indented tensors are mostly white space.
            writeln!(out, "{}", as_json(&rows, &types, &numbers))?;
        } else if self.ndjson || self.csv {
            let format = Format { json: false, ndjson: self.ndjson, csv: self.csv };
            let names: Vec<&str> = columns(&rows, &types).map(|(name, ..)| name).collect();
            let heading = row_name(if numbers.of_source { "source_row" } else { "row" }, &names);
            let names: Vec<String> = std::iter::once(heading).chain(names.into_iter().map(str::to_owned)).collect();
            let values = numbers.rows.iter().enumerate().map(|(place, row)| {
                let values = columns(&rows, &types).map(|(_, ty, array)| cells::json(ty, array, place));
                Ok(std::iter::once((*row).into()).chain(values).collect())
            });
            format.write(out, &names, values)?;
        } else {
            print(out, &table, &rows, &types, &numbers, window).await?;
        }
        Ok(Outcome::Done)
    }
}

fn types(table: &Table, rows: &Rows) -> Result<Vec<ColumnType>, Error> {
    let type_of = |name: &str| table.schema().column_named(name).map(|column| column.ty.clone());
    let fields = rows.batch().schema_ref().fields().iter();
    fields.map(|field| type_of(field.name()).ok_or_else(|| Error::internal(format!("no column `{}`", field.name())))).collect()
}

fn columns<'a>(rows: &'a Rows, types: &'a [ColumnType]) -> impl Iterator<Item = (&'a str, &'a ColumnType, &'a ArrayRef)> {
    let batch = rows.batch();
    let named = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    named.zip(types).zip(batch.columns()).map(|((name, ty), array)| (name, ty, array))
}

/// Row numbers of the table or, in a window over a view, of the table behind the view that the window follows.
struct Numbers {
    rows: Vec<Option<u64>>,
    of_source: bool,
}

impl Numbers {
    /// `single` is the requested row if no window was requested.
    fn of(table: &Table, rows: &Rows, single: Option<u64>) -> Self {
        match single {
            Some(row) => Self { rows: vec![Some(row)], of_source: false },
            None => Self { rows: rows.table_rows().to_vec(), of_source: table.is_view() },
        }
    }
}

fn as_json(rows: &Rows, types: &[ColumnType], numbers: &Numbers) -> Value {
    let described: Vec<_> = columns(rows, types).map(|(name, ty, _)| json!({"name": name, "type": ty.to_string()})).collect();
    let name = if numbers.of_source { "source_row" } else { "row" };
    let row = |(place, row): (usize, &Option<u64>)| match row {
        Some(row) => json!({name: row, "values": cells::json_row(columns(rows, types), place)}),
        None => json!({name: null, "values": null}),
    };
    json!({"columns": described, "rows": numbers.rows.iter().enumerate().map(row).collect::<Vec<_>>()})
}

async fn print(
    out: &mut dyn Write,
    table: &Table,
    rows: &Rows,
    types: &[ColumnType],
    numbers: &Numbers,
    window: bool,
) -> Result<(), Failure> {
    writeln!(out, "{}", numbers_text(numbers, window))?;
    let Some(shown) = numbers.rows.iter().position(Option::is_some) else { return Ok(()) };
    let mut lines = Vec::new();
    for (name, ty, array) in columns(rows, types) {
        let values = match Cell::of(ty, array, shown) {
            Some(cell) => cell.preview(SHOWN),
            None => "null".to_owned(),
        };
        let shapes: Vec<Vec<usize>> = (0..rows.len()).filter_map(|row| Cell::of(ty, array, row)).map(|cell| cell.shape).collect();
        let unit = table.schema().column_named(name).and_then(text::unit);
        let ty = unit.map_or_else(|| ty.to_string(), |unit| format!("{ty} ({unit})"));
        lines.push(vec![text::printable(name), ty, text::shapes(&shapes), values]);
    }
    if let Some(row) = numbers.rows[shown].filter(|_| !window) {
        for (name, value) in index_values(table, row).await? {
            writeln!(out, "  {name}: {value}")?;
        }
    }
    let values = if window { format!("values of row {}", numbers.rows[shown].unwrap_or_default()) } else { "values".to_owned() };
    writeln!(out)?;
    write!(out, "{}", text::table(&["column", "type", "shape", &values], &lines))?;
    Ok(())
}

/// Returns the names and values of the index columns in one row.
async fn index_values(table: &Table, row: u64) -> Result<Vec<(String, Value)>, Error> {
    let found = table.take_index(&[row]).await?;
    let columns = table.schema().index().zip(found.columns());
    Ok(columns.map(|(column, array)| (column.name.clone(), cells::json(&column.ty, array, 0))).collect())
}

/// Describes the rows: `rows 110..=120, all 11 exist`.
fn numbers_text(numbers: &Numbers, window: bool) -> String {
    let there: Vec<u64> = numbers.rows.iter().flatten().copied().collect();
    let of = if numbers.of_source { " of the table behind the view" } else { "" };
    let (Some(first), Some(last)) = (there.first(), there.last()) else {
        return format!("{}, none exists", text::counted(numbers.rows.len() as u64, "row"));
    };
    if !window {
        return format!("row {first}");
    }
    let consecutive = there.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    let named = match consecutive {
        true => format!("rows {first}..={last}{of}"),
        false => format!("{} between {first} and {last}{of}", text::counted(there.len() as u64, "row")),
    };
    match numbers.rows.len() - there.len() {
        0 => format!("{named}, all {} exist", numbers.rows.len()),
        missing => format!("{named}, {missing} of {} have no row in the sequence", numbers.rows.len()),
    }
}
