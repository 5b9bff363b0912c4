//! A selection as Python, as Rust, as a command that prints it, and as a command that saves it as a view. Store options are left out, since
//! they may be secret.

use arrow_schema::Schema;
use serde_json::{Value, json};

use crate::asked::Choice;

/// Returns the texts for a choice of rows of the table at `url`, which names its version, and whose index has these columns.
pub(crate) fn copies(url: &str, choice: &Choice, index: &Schema) -> Value {
    let row = row_name(index);
    // No argument of a command has a character 0.
    let command = |text: Option<String>| text.filter(|text| !text.contains('\0'));
    json!({
        "python": python(url, choice, &row),
        "rust": rust(url, choice, &row),
        "command": command(Some(query(url, choice, &row))),
        "view": command(view(url, choice)),
    })
}

/// Returns the name of the row number in `tetrys query`: one that no column has.
fn row_name(index: &Schema) -> String {
    let mut name = "row".to_owned();
    while index.index_of(&name).is_ok() {
        name.push('_');
    }
    name
}

/// Returns one condition for the rows that are named and the conditions, by which an aggregation looks at all rows.
fn condition(choice: &Choice, row: &str) -> Option<String> {
    let only = choice.only.as_ref().map(|only| match only.is_empty() {
        true => "false".to_owned(),
        false => format!("{row} IN ({})", listed(only).trim_matches(['[', ']'])),
    });
    match (only, choice.condition()) {
        (Some(only), Some(condition)) => Some(format!("({only}) AND ({condition})")),
        (one, other) => one.or(other),
    }
}

fn python(url: &str, choice: &Choice, row: &str) -> String {
    let url = python_text(url);
    let mut lines = vec!["import tetrys as tt".to_owned(), String::new()];
    match (&choice.only, choice.condition()) {
        (None, None) => lines.push(format!("index = tt.read_index({url})")),
        (None, Some(condition)) => lines.push(format!("index = tt.read_index({url}, where={})", python_text(&condition))),
        (Some(only), None) => lines.push(format!("index = tt.read_index({url})[{}]", listed(only))),
        (Some(_), Some(_)) => {
            let condition = condition(choice, row).unwrap_or_default();
            lines.push(format!("index = tt.read_index({url})"));
            lines.push(format!("index = index.with_frame(index.to_polars().with_row_index({}))", python_text(row)));
            lines.push(format!("index = index.sql({})", python_text(&format!("SELECT * FROM t WHERE {condition}"))));
        }
    }
    if let Some((column, descending)) = &choice.sort {
        let descending = if *descending { ", descending=True" } else { "" };
        lines.push(format!("index = index.sort({}{descending})", python_text(column)));
    }
    lines.push("loader = tt.row_loader(index)".to_owned());
    lines.join("\n") + "\n"
}

fn rust(url: &str, choice: &Choice, row: &str) -> String {
    let mut lines = vec![format!("let table = tetrys::Table::open({url:?}).await?;")];
    match (&choice.only, choice.condition()) {
        (None, None) => lines.push("let index = table.index().await?;".to_owned()),
        (None, Some(condition)) => lines.push(format!("let index = table.index().filter_sql({condition:?}).await?;")),
        (Some(_), _) => {
            let condition = condition(choice, row).unwrap_or_default();
            lines.push("let index = table.index().await?;".to_owned());
            lines.push(format!("let numbered = index.to_frame().with_row_index({row:?}.into(), None)?;"));
            lines.push(format!("let index = index.with_frame(numbered)?.filter_sql({condition:?})?;"));
        }
    }
    if let Some((column, descending)) = &choice.sort {
        lines.push(format!("let index = index.sort([{column:?}], {descending})?;"));
    }
    lines.push("let loader = tetrys::RowLoader::new(&index)?;".to_owned());
    lines.join("\n") + "\n"
}

fn query(url: &str, choice: &Choice, row: &str) -> String {
    let condition = condition(choice, row).map(|condition| format!(" WHERE {condition}")).unwrap_or_default();
    let sort = choice.sort.as_ref().map(|(column, descending)| {
        // Rows of equal values stay in the order of the table.
        format!(" ORDER BY {} {} NULLS FIRST, {row}", quoted(column), if *descending { "DESC" } else { "ASC" })
    });
    let query = format!("SELECT * FROM t{condition}{}", sort.unwrap_or_default());
    format!("tetrys query {} {} --csv\n", shell(url), shell(&query))
}

fn view(url: &str, choice: &Choice) -> Option<String> {
    // A command for rows by their numbers does not exist, and one that sorts has commas between columns.
    if choice.only.is_some() || choice.sort.as_ref().is_some_and(|(column, _)| column.contains(',')) {
        return None;
    }
    // One condition: an aggregation in a second one would look at the rows of the first alone.
    let condition = choice.condition().map(|condition| format!(" --where={}", shell(&condition)));
    let sort = choice
        .sort
        .as_ref()
        .map(|(column, descending)| format!(" --sort={}{}", shell(column), if *descending { " --descending" } else { "" }));
    let options: String = condition.into_iter().chain(sort).collect();
    Some(format!("tetrys select {}{options} --out NAME\n", shell(url)))
}

/// Quotes a column for SQL.
fn quoted(column: &str) -> String {
    format!("\"{}\"", column.replace('"', "\"\""))
}

fn listed(rows: &[u64]) -> String {
    format!("[{}]", rows.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

/// Writes a text as a literal of Python, whose escapes include those of JSON, except of characters above the first plane, which stay.
fn python_text(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Quotes a word for a shell of Unix.
fn shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./:@=,+%".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field};

    use super::*;

    fn index(names: &[&str]) -> Schema {
        Schema::new(names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect::<Vec<_>>())
    }

    #[test]
    fn names_with_a_meaning_elsewhere_are_written_around() {
        let choice = Choice { sort: Some(("a,b".to_owned(), false)), only: None, conditions: Vec::new() };
        let lines = copies("t@1", &choice, &index(&["row", "row_", "a,b"]));
        assert_eq!(lines["command"], "tetrys query t@1 'SELECT * FROM t ORDER BY \"a,b\" ASC NULLS FIRST, row__' --csv\n");
        assert_eq!(lines["view"], Value::Null);
        let choice = Choice { conditions: vec!["-a > 3".to_owned()], ..Choice::default() };
        assert_eq!(copies("t@1", &choice, &index(&["a"]))["view"], "tetrys select t@1 --where='-a > 3' --out NAME\n");
    }

    #[test]
    fn a_choice_is_written_in_each_language() {
        let choice = Choice {
            conditions: vec!["speed > 3".to_owned(), "host = 'it''s'".to_owned()],
            sort: Some(("ego speed".to_owned(), true)),
            only: None,
        };
        let lines = copies("/data/my drives@3", &choice, &index(&["ego speed"]));
        assert_eq!(
            lines["python"],
            "import tetrys as tt\n\nindex = tt.read_index(\"/data/my drives@3\", where=\"(speed > 3) AND (host = 'it''s')\")\n\
             index = index.sort(\"ego speed\", descending=True)\nloader = tt.row_loader(index)\n"
        );
        assert_eq!(
            lines["rust"],
            "let table = tetrys::Table::open(\"/data/my drives@3\").await?;\n\
             let index = table.index().filter_sql(\"(speed > 3) AND (host = 'it''s')\").await?;\n\
             let index = index.sort([\"ego speed\"], true)?;\nlet loader = tetrys::RowLoader::new(&index)?;\n"
        );
        assert_eq!(
            lines["command"],
            "tetrys query '/data/my drives@3' 'SELECT * FROM t WHERE (speed > 3) AND (host = '\\''it'\\'''\\''s'\\'') \
             ORDER BY \"ego speed\" DESC NULLS FIRST, row' --csv\n"
        );
        assert_eq!(
            lines["view"],
            "tetrys select '/data/my drives@3' --where='(speed > 3) AND (host = '\\''it'\\'''\\''s'\\'')' --sort='ego speed' --descending --out NAME\n"
        );
    }

    #[test]
    fn rows_by_number_and_everything_are_written() {
        let lines = copies("t@1", &Choice { only: Some(vec![3, 9]), ..Choice::default() }, &index(&[]));
        assert_eq!(
            lines["python"],
            "import tetrys as tt\n\nindex = tt.read_index(\"t@1\")[[3, 9]]\nloader = tt.row_loader(index)\n"
        );
        assert_eq!(lines["command"], "tetrys query t@1 'SELECT * FROM t WHERE row IN (3, 9)' --csv\n");
        assert_eq!(lines["view"], Value::Null);
        let choice = Choice { only: Some(vec![3]), conditions: vec!["a = 'x\0'".to_owned()], sort: None };
        let lines = copies("t@1", &choice, &index(&["row"]));
        assert_eq!(
            lines["python"],
            "import tetrys as tt\n\nindex = tt.read_index(\"t@1\")\n\
             index = index.with_frame(index.to_polars().with_row_index(\"row_\"))\n\
             index = index.sql(\"SELECT * FROM t WHERE (row_ IN (3)) AND (a = 'x\\u0000')\")\nloader = tt.row_loader(index)\n"
        );
        assert_eq!((&lines["command"], &lines["view"]), (&Value::Null, &Value::Null), "no argument has a character 0");
        let lines = copies("t@1", &Choice::default(), &index(&[]));
        assert_eq!(lines["command"], "tetrys query t@1 'SELECT * FROM t' --csv\n");
        assert_eq!(lines["view"], "tetrys select t@1 --out NAME\n");
    }
}
