//! `tetrys head`: the first rows of the index.

use std::io::Write;

use clap::Args;
use serde_json::Value;
use tetrys::Table;

use super::write_json;
use crate::{
    cells,
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tetrys head sample -n 3")]
pub(crate) struct Head {
    /// The table: a path or file:// URL; TABLE@3 is its version 3
    table: String,
    /// How many rows
    #[arg(short = 'n', long = "rows", value_name = "N", default_value_t = 10)]
    count: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Head {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = Table::open(&self.table).await?;
        let names: Vec<String> = table.schema().index().map(|column| column.name.clone()).collect();
        let mut rows: Vec<Vec<Value>> = Vec::new();
        for batch in table.index_batches().await? {
            let batch = batch?;
            let wanted = self.count - rows.len() as u64;
            for place in 0..batch.num_rows().min(usize::try_from(wanted).unwrap_or(usize::MAX)) {
                let columns = table.schema().index().zip(batch.columns());
                rows.push(columns.map(|(column, array)| cells::json(&column.ty, array, place)).collect());
            }
            if rows.len() as u64 == self.count {
                break;
            }
        }
        if self.json {
            let named = |(row, values): (usize, Vec<Value>)| {
                let mut object = serde_json::Map::from_iter([("row".to_owned(), row.into())]);
                object.extend(names.iter().cloned().zip(values));
                Value::Object(object)
            };
            write_json(out, &rows.into_iter().enumerate().map(named).collect::<Vec<_>>())?;
            return Ok(Outcome::Done);
        }
        let shown = |value: Value| match value {
            Value::String(text) => text::printable(&text),
            other => other.to_string(),
        };
        let lines: Vec<Vec<String>> = rows
            .into_iter()
            .enumerate()
            .map(|(row, values)| std::iter::once(row.to_string()).chain(values.into_iter().map(shown)).collect())
            .collect();
        let headings: Vec<String> =
            std::iter::once("row").chain(names.iter().map(String::as_str)).map(|name| format!(">{name}")).collect();
        write!(out, "{}", text::table(&headings.iter().map(String::as_str).collect::<Vec<_>>(), &lines))?;
        Ok(Outcome::Done)
    }
}
