//! Prints rows as a text table, JSON, NDJSON or CSV.

use std::io::{IsTerminal, Write};

use clap::Args;
use serde_json::Value;
use tetrys::Error;

use crate::{failure::Failure, text};

/// The output format of rows. A text table if no flag is set.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Print JSON: a list of objects
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Print NDJSON: one line with an object for each row
    #[arg(long, group = "format")]
    pub(crate) ndjson: bool,
    /// Print CSV with a header line; values that are not a single number or text are JSON in their cell
    #[arg(long, group = "format")]
    pub(crate) csv: bool,
}

impl Format {
    /// Whether the output is a text table for people.
    pub(crate) fn is_text(self) -> bool {
        !(self.json || self.ndjson || self.csv)
    }

    /// Writes the rows; each has a value for every name.
    pub(crate) fn write(
        self,
        out: &mut dyn Write,
        names: &[String],
        rows: impl Iterator<Item = Result<Vec<Value>, Failure>>,
    ) -> Result<(), Failure> {
        if self.json {
            // Row by row: the list may be longer than memory.
            let mut first = true;
            for row in rows {
                write!(out, "{}\n  {}", if first { "[" } else { "," }, object(names, &row?))?;
                first = false;
            }
            writeln!(out, "{}", if first { "[]" } else { "\n]" })?;
        } else if self.ndjson {
            for row in rows {
                writeln!(out, "{}", object(names, &row?))?;
            }
        } else if self.csv {
            out.flush()?;
            // A file or another program gets the stored bytes; on a terminal, control characters are escaped.
            let mut stdout = std::io::stdout();
            let out: &mut dyn Write = if stdout.is_terminal() { out } else { &mut stdout };
            let mut writer = csv::Writer::from_writer(out);
            writer.write_record(names).map_err(csv_failure)?;
            for row in rows {
                writer.write_record(row?.into_iter().map(field)).map_err(csv_failure)?;
            }
            writer.flush()?;
        } else {
            let mut numbers = vec![true; names.len()];
            let mut lines = Vec::new();
            for row in rows {
                let row = row?;
                for (number, value) in numbers.iter_mut().zip(&row) {
                    *number &= matches!(value, Value::Number(_) | Value::Null);
                }
                lines.push(row.into_iter().map(cell).collect::<Vec<_>>());
            }
            let heading =
                |(name, number): (&String, &bool)| format!("{}{}", if *number { ">" } else { "<" }, text::printable(name));
            let headings: Vec<String> = names.iter().zip(&numbers).map(heading).collect();
            write!(out, "{}", text::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines))?;
        }
        Ok(())
    }
}

/// Returns a name for the column of row numbers: `wanted`, with underscores appended until no column has that name.
pub(crate) fn row_name(wanted: &str, names: &[&str]) -> String {
    let mut name = wanted.to_owned();
    while names.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// Formats an object on one line, with its members in the order of the names.
fn object(names: &[String], values: &[Value]) -> String {
    let member = |(name, value): (&String, &Value)| format!("{}:{value}", Value::from(name.as_str()));
    format!("{{{}}}", names.iter().zip(values).map(member).collect::<Vec<_>>().join(","))
}

/// Formats a value for a text table.
pub(crate) fn cell(value: Value) -> String {
    match value {
        Value::String(text) => text::printable(&text),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

/// Formats a value for CSV; null becomes an empty cell.
fn field(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn csv_failure(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => Error::internal(format!("{other:?}")).into(),
    }
}
