//! `tetrys edit`: renames and drops columns, asks for bloom filters, sets table properties and tags.

use std::io::Write;

use clap::Args;
use tetrys::{Error, schema::BLOOM_FILTER};

use crate::{
    commands::named_once,
    failure::{Failure, Outcome, committed},
};

#[derive(Args, Debug)]
#[command(
    after_help = "All options of one call together make one new version with the same rows. No payload is written, with one exception: if --drop leaves other columns in a group, that group is rewritten without the dropped column. Older versions keep their columns. Views cannot be edited.

Bloom filters let a condition such as --where \"id = 17\" skip the row groups without that value. They are useful for keys that the rows are not sorted by, and take about a byte for each distinct value. Rows that are written later get them; `tetrys compact --index` adds them to the rows that are there. Index segments without a tail, by default those of fewer than 16,384 rows, have no bloom filters.

Properties are free-form notes about the table; `tetrys info` shows them. A tag is a name for a version, which garbage collection then keeps.

Examples:
  tetrys edit drives --rename points=lidar.points --set license=CC0
  tetrys edit drives --drop labels.draft --tag gold
  tetrys edit drives --bloom-filter frame_id && tetrys compact drives --index
  tetrys edit drives --tag gold=3 && tetrys info drives@gold"
)]
pub(crate) struct EditCommand {
    /// The table: a path or URL
    table: String,
    /// Rename a column. May be repeated
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename: Vec<(String, String)>,
    /// Drop columns. A column group without columns disappears; a group that keeps other columns is rewritten
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    drop: Vec<String>,
    /// Store bloom filters of these index columns from now on
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    bloom_filter: Vec<String>,
    /// Store no bloom filters of these index columns from now on
    #[arg(long, value_name = "COLUMN,..", value_delimiter = ',')]
    no_bloom_filter: Vec<String>,
    /// Set a table property. VALUE is JSON, or text if it is not valid JSON. May be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Remove a table property. May be repeated
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Tag the version that TABLE names (not the new one), or version number VERSION: TABLE@NAME then opens it. May be repeated
    #[arg(long, value_name = "NAME[=VERSION]")]
    tag: Vec<String>,
    /// Remove a tag. May be repeated
    #[arg(long, value_name = "NAME")]
    untag: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Parses `old=new`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((left, right)) if !left.is_empty() => Ok((left.to_owned(), right.to_owned())),
        _ => Err("expected two words with `=` between them".to_owned()),
    }
}

impl EditCommand {
    pub(crate) async fn run(self, out: &mut dyn Write) -> Result<Outcome, Failure> {
        let table = crate::opening::table(&self.table).await?;
        let mut edit = table.edit();
        for (old, new) in &self.rename {
            edit = edit.rename_column(old, new);
        }
        if !self.drop.is_empty() {
            let names: Vec<&str> = self.drop.iter().map(String::as_str).collect();
            edit = edit.drop_columns(&names);
        }
        if let Some(column) = self.bloom_filter.iter().find(|column| self.no_bloom_filter.contains(column)) {
            return Err(Error::invalid(format!("column `{column}` is in --bloom-filter and in --no-bloom-filter")).into());
        }
        for column in &self.bloom_filter {
            edit = edit.set_column_property(column, BLOOM_FILTER, Some(true.into()));
        }
        for column in &self.no_bloom_filter {
            edit = edit.set_column_property(column, BLOOM_FILTER, None);
        }
        let properties = named_once(self.set, "--set")?;
        if let Some(key) = self.unset.iter().find(|key| properties.contains_key(*key)) {
            return Err(Error::invalid(format!("property `{key}` is in --set and in --unset")).into());
        }
        for (key, value) in properties {
            edit = edit.set_property(&key, serde_json::from_str(&value).unwrap_or(serde_json::Value::String(value)));
        }
        for key in &self.unset {
            edit = edit.remove_property(key);
        }
        let version = |tag: &String| match tag.split_once('=') {
            Some((name, version)) => match version.parse::<u64>() {
                Ok(number) => Ok((name.to_owned(), number)),
                Err(_) => Err(Error::invalid(format!("--tag {tag}: expected NAME or NAME=VERSION"))),
            },
            None => Ok((tag.clone(), table.version())),
        };
        let tags = named_once(self.tag.iter().map(version).collect::<Result<Vec<_>, _>>()?, "--tag")?;
        if let Some(name) = self.untag.iter().find(|name| tags.contains_key(*name)) {
            return Err(Error::invalid(format!("tag `{name}` is in --tag and in --untag")).into());
        }
        for (name, version) in tags {
            edit = edit.tag(&name, version);
        }
        for name in &self.untag {
            edit = edit.untag(name);
        }
        if edit.is_empty() {
            return Err(Error::invalid("nothing to change: no option names a change; see `tetrys edit --help`").into());
        }
        let next = edit.commit().await?;
        if next.version() != table.version() {
            committed(next.url(), next.version());
        }
        if self.json {
            let output = serde_json::json!({
                "url": next.url(), "version": next.version(), "properties": next.properties(), "tags": next.versions().tags(),
            });
            super::write_json(out, &output)?;
            return Ok(Outcome::Done);
        }
        match next.version() == table.version() {
            true => writeln!(out, "{}: nothing to change: still version {}", next.url(), next.version())?,
            false => writeln!(out, "{}: version {}", next.url(), next.version())?,
        }
        Ok(Outcome::Done)
    }
}
