//! `tetrys schema`: shows the columns of a table, with their types and column groups.

use std::{collections::BTreeMap, io::Write};

use clap::Args;
use serde_json::{Value, json};
use tetrys::schema::Column;

use super::write_json;
use crate::{
    failure::{Failure, Outcome},
    text,
};

#[derive(Args, Debug)]
#[command(
    after_help = "Lists the index columns, the columns of each column group with type and description, the sequence and order columns, and table properties. Index columns are held in memory and can be queried in SQL. The columns of a group are stored together and read by row. `f32[?,2]` is a tensor whose first extent differs from row to row.

Example:
  tetrys schema sample
  tetrys schema sample --json"
)]
pub(crate) struct SchemaCommand {
    /// The table or view: a path or URL; TABLE@3 is version 3
    table: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl SchemaCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let schema = table.schema();
        let index: Vec<&Column> = schema.index().collect();
        let members: Vec<(&str, Vec<&Column>)> = schema
            .groups()
            .iter()
            .map(|group| (group.name.as_str(), group.columns.iter().filter_map(|id| schema.column(*id)).collect()))
            .collect();
        let names = |columns: &mut dyn Iterator<Item = &Column>| columns.map(|column| column.name.clone()).collect::<Vec<_>>();
        let (sequence_by, order_by) = (names(&mut schema.sequence_by()), names(&mut schema.order_by()));
        let attachments: Vec<&str> = table.attachments().map(|(name, _)| name).collect();
        let properties = table.properties();
        if self.json {
            let described = |columns: &[&Column]| -> Vec<Value> {
                let describe = |column: &&Column| json!({"name": column.name, "type": column.ty.to_string(), "properties": column.properties});
                columns.iter().map(describe).collect()
            };
            let groups: Vec<_> =
                members.iter().map(|(name, columns)| json!({"name": name, "columns": described(columns)})).collect();
            let all = json!({
                "index": described(&index),
                "sequence_by": sequence_by,
                "order_by": order_by,
                "column_groups": groups,
                "properties": properties,
                "attachments": attachments,
            });
            write_json(out, &all)?;
            return Ok(Outcome::Done);
        }
        let mut lines = vec![vec!["index".to_owned()]];
        let line =
            |column: &&Column| vec![format!("  {}", text::printable(&column.name)), column.ty.to_string(), column_text(column)];
        lines.extend(index.iter().map(line));
        for (name, columns) in &members {
            lines.push(vec![format!("group {}", text::printable(name))]);
            lines.extend(columns.iter().map(line));
        }
        write!(out, "{}", text::table(&["", "", ""], &lines))?;
        let listed = [("sequence by", sequence_by), ("order by", order_by)];
        let attachments = ("attachments", attachments.into_iter().map(str::to_owned).collect());
        for (what, names) in listed.into_iter().chain([attachments]).filter(|(_, names)| !names.is_empty()) {
            writeln!(out, "{what} {}", text::printable(&names.join(", ")))?;
        }
        write!(out, "{}", properties_text(properties))?;
        Ok(Outcome::Done)
    }
}

/// Most characters of a property's value that are shown.
const SHOWN: usize = 100;

/// Returns one line for each property of a table.
pub(super) fn properties_text(properties: &BTreeMap<String, Value>) -> String {
    let shortened = |value: &Value| {
        let whole = text::printable(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        // A property may hold a whole document; --json prints it in full.
        if whole.chars().count() > SHOWN { whole.chars().take(SHOWN).chain("..".chars()).collect() } else { whole }
    };
    let lines: Vec<_> =
        properties.iter().map(|(key, value)| vec!["property".to_owned(), text::printable(key), shortened(value)]).collect();
    text::table(&["", "", ""], &lines)
}

/// Returns the description of a column or, without one, all its properties.
fn column_text(column: &Column) -> String {
    let text = match column.properties.get("description").and_then(Value::as_str) {
        Some(description) => description.to_owned(),
        None => column.properties.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "),
    };
    text::printable(&text)
}
