//! `tetrys edit`: a version with the same rows, of which other things are said.

use std::io::Write;

use clap::Args;
use tetrys::Error;

use crate::failure::{Failure, Outcome};

#[derive(Args, Debug)]
#[command(
    after_help = "All changes are one new version. No payload is written, but where a column is dropped whose group keeps others: that group is written anew without it, and costs the bytes of what is left of it.\n\nExamples:\n  tetrys edit drives --rename points=lidar.points --set license=CC0\n  tetrys edit drives --drop labels.draft --tag gold\n  tetrys edit drives --tag gold=3 && tetrys info drives@gold"
)]
pub(crate) struct EditCommand {
    /// The table: a path or file:// URL
    table: String,
    /// Give a column another name
    #[arg(long, value_name = "OLD=NEW", value_parser = pair)]
    rename: Vec<(String, String)>,
    /// Leave columns out; a column group goes with its last column, and one that keeps others is written anew
    #[arg(long, value_name = "C,..", value_delimiter = ',')]
    drop: Vec<String>,
    /// Say something of the table; JSON, or else text
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    set: Vec<(String, String)>,
    /// Do not say something of the table any more
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Give this version, or another one, a name: TABLE@NAME opens it
    #[arg(long, value_name = "NAME[=VERSION]")]
    tag: Vec<String>,
    /// Take the name of a version back
    #[arg(long, value_name = "NAME")]
    untag: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `old=new`.
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
        for (key, value) in self.set {
            edit = edit.set_property(&key, serde_json::from_str(&value).unwrap_or(serde_json::Value::String(value)));
        }
        for key in &self.unset {
            edit = edit.remove_property(key);
        }
        for tag in &self.tag {
            let (name, version) = match tag.split_once('=') {
                Some((name, version)) => {
                    let number =
                        version.parse().map_err(|_| Error::invalid(format!("--tag {tag}: expected NAME or NAME=VERSION")))?;
                    (name, number)
                }
                None => (tag.as_str(), table.version()),
            };
            edit = edit.tag(name, version);
        }
        for name in &self.untag {
            edit = edit.untag(name);
        }
        if edit.is_empty() {
            return Err(Error::invalid("nothing to change; see tetrys edit --help").into());
        }
        let next = edit.commit().await?;
        if self.json {
            let said = serde_json::json!({
                "url": next.url(), "version": next.version(), "properties": next.properties(), "tags": next.tags(),
            });
            super::write_json(out, &said)?;
            return Ok(Outcome::Done);
        }
        writeln!(out, "{}: version {}", next.url(), next.version())?;
        Ok(Outcome::Done)
    }
}
