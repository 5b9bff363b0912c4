//! Rows as people and programs read them: a table, JSON, JSON lines or CSV.

use std::io::{IsTerminal, Write};

use clap::Args;
use serde_json::Value;
use tetrys::Error;

use crate::{failure::Failure, text};

/// How rows are printed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Format {
    /// Print JSON: a list of objects
    #[arg(long, group = "format")]
    pub(crate) json: bool,
    /// Print JSON lines: an object a row
    #[arg(long, group = "format")]
    pub(crate) ndjson: bool,
    /// Print CSV with a line of names; what has no place in a cell stands there as JSON
    #[arg(long, group = "format")]
    pub(crate) csv: bool,
}

impl Format {
    /// Whether people read it.
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
            // A file or another program gets what is stored, byte for byte; a terminal sees no control characters.
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
                |(name, number): (&String, &bool)| format!("{}{}", if *number { ">" } else { "" }, text::printable(name));
            let headings: Vec<String> = names.iter().zip(&numbers).map(heading).collect();
            write!(out, "{}", text::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines))?;
        }
        Ok(())
    }
}

/// The name of a column of row numbers beside columns of these names: `row`, with as many underscores behind it as it takes.
pub(crate) fn row_name(wanted: &str, names: &[&str]) -> String {
    let mut name = wanted.to_owned();
    while names.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// An object on one line, its members in the order of the names.
fn object(names: &[String], values: &[Value]) -> String {
    let member = |(name, value): (&String, &Value)| format!("{}:{value}", Value::from(name.as_str()));
    format!("{{{}}}", names.iter().zip(values).map(member).collect::<Vec<_>>().join(","))
}

/// A value in a table that people read.
pub(crate) fn cell(value: Value) -> String {
    match value {
        Value::String(text) => text::printable(&text),
        Value::Null => "null".to_owned(),
        other => other.to_string(),
    }
}

/// A value in CSV; nothing for null.
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
