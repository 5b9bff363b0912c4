//! Recipes: which tables are put together, filtered, split and saved, as a TOML file says. The one-line commands make one too, so
//! that all views are made one way and tell how.

use std::collections::BTreeMap;

use polars::prelude::col;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tetrys::{ColumnPattern, Error, Index, Merge, Pick, Result};

use crate::hints;

/// What a recipe says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Recipe {
    pub(crate) sources: BTreeMap<String, Source>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) concat: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) fill: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) join: Vec<Join>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) columns: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub(crate) filter: Several,
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub(crate) sort: Several,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) descending: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample: Option<usize>,
    #[serde(default)]
    pub(crate) seed: u64,
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub(crate) keep: Several,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) split: Option<Split>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Output>,
}

/// A table, or some rows of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum Source {
    Table(String),
    Some { table: String, filter: Several },
}

/// What is merged, and how.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(crate) struct Join {
    pub(crate) with: String,
    pub(crate) on: Several,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) how: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pick: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tolerance: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) keep: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) first: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) lists: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) suffix: Option<String>,
}

/// Shares by the hash of a key.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Split {
    pub(crate) by: Several,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) salt: String,
    pub(crate) shares: BTreeMap<String, f64>,
}

/// Where the view goes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Output {
    pub(crate) view: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) update: bool,
}

/// One text, or several.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
pub(crate) struct Several(pub(crate) Vec<String>);

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Several {
    fn from(given: OneOrMany) -> Self {
        match given {
            OneOrMany::One(one) => Self(vec![one]),
            OneOrMany::Many(many) => Self(many),
        }
    }
}

impl From<Several> for Vec<String> {
    fn from(several: Several) -> Self {
        several.0
    }
}

impl Several {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}

const WORDS: &[&str] = &[
    "sources",
    "from",
    "concat",
    "fill",
    "join",
    "columns",
    "filter",
    "sort",
    "descending",
    "sample",
    "seed",
    "keep",
    "split",
    "output",
];
const SOURCE_WORDS: &[&str] = &["table", "filter"];
const JOIN_WORDS: &[&str] = &["with", "on", "how", "pick", "tolerance", "keep", "first", "lists", "suffix"];
const SPLIT_WORDS: &[&str] = &["by", "salt", "shares"];
const OUTPUT_WORDS: &[&str] = &["view", "update"];
/// The kinds of joins, and for each its name in an error.
const HOW: &[&str] = &["inner", "left", "asof"];
const PICKS: &[&str] = &["backward", "forward", "nearest"];

impl Recipe {
    /// Reads a recipe.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let value: Value = toml::from_str(text).map_err(|error| Error::invalid(format!("recipe: {error}")))?;
        check_words(&value, "the recipe", WORDS)?;
        for (name, source) in members(&value, "sources") {
            if source.is_object() {
                check_words(source, &format!("[sources.{name}]"), SOURCE_WORDS)?;
            }
        }
        for join in value.get("join").and_then(Value::as_array).into_iter().flatten() {
            check_words(join, "[[join]]", JOIN_WORDS)?;
        }
        for (section, words) in [("split", SPLIT_WORDS), ("output", OUTPUT_WORDS)] {
            if let Some(found) = value.get(section) {
                check_words(found, &format!("[{section}]"), words)?;
            }
        }
        let recipe: Self = serde_json::from_value(value).map_err(|error| Error::invalid(format!("recipe: {error}")))?;
        recipe.check()?;
        Ok(recipe)
    }

    fn check(&self) -> Result<()> {
        for name in self.from.iter().chain(&self.concat).chain(self.join.iter().map(|join| &join.with)) {
            if !self.sources.contains_key(name) {
                return Err(unknown("source", name, "[sources]", self.sources.keys().map(String::as_str)));
            }
        }
        if self.from.is_some() != self.concat.is_empty() {
            return Err(Error::invalid(
                "recipe: say where the rows come from: `from = \"NAME\"`, or `concat = [\"NAME\", \"NAME\"]`",
            ));
        }
        Ok(())
    }

    /// The index that the recipe makes: one, or one for each part of its split.
    pub(crate) async fn execute(&self) -> Result<Vec<(Option<String>, Index)>> {
        let mut opened: BTreeMap<&str, Index> = BTreeMap::new();
        for name in self.from.iter().chain(&self.concat).chain(self.join.iter().map(|join| &join.with)) {
            if !opened.contains_key(name.as_str()) {
                opened.insert(name, self.open(name).await.map_err(|error| error.at(format!("source `{name}`")))?);
            }
        }
        let source = |name: &str| opened.get(name).ok_or_else(|| Error::internal(format!("source `{name}` is not open")));
        let mut index = match &self.from {
            Some(name) => source(name)?.clone(),
            None => {
                let all = self.concat.iter().map(|name| source(name)).collect::<Result<Vec<_>>>()?;
                if self.fill { Index::concat_filling(all)? } else { Index::concat(all)? }
            }
        };
        if !self.join.is_empty() {
            index = index.with_sources().await?;
        }
        for join in &self.join {
            index = index
                .merge(source(&join.with)?, &join.merge()?)
                .map_err(|error| error.at(format!("join with `{}`", join.with)))?;
        }
        if !self.columns.is_empty() {
            let columns = self.columns.iter().map(|(name, sql)| format!("({sql}) AS \"{}\"", name.replace('"', "\"\"")));
            index = sql(&index, &format!("SELECT *, {} FROM t", columns.collect::<Vec<_>>().join(", ")))?;
        }
        index = filtered(index, &self.filter)?;
        if !self.sort.is_empty() {
            index = index.sort(self.sort.0.iter().map(String::as_str), self.descending)?;
        }
        if let Some(rows) = self.sample {
            index = index.sample(rows, self.seed)?;
        }
        if !self.keep.is_empty() {
            index = keep(&index, &self.keep.0)?;
        }
        match &self.split {
            None => Ok(vec![(None, index)]),
            Some(split) => {
                let parts = index.split(&split.by.0, split.ordered(), &split.salt)?;
                Ok(parts.into_iter().map(|(name, part)| (Some(name), part)).collect())
            }
        }
    }

    async fn open(&self, name: &str) -> Result<Index> {
        let source = self.sources.get(name).ok_or_else(|| unknown("source", name, "[sources]", []))?;
        match source {
            Source::Table(table) => crate::opening::table(table).await?.index().await,
            Source::Some { table, filter } => filtered(crate::opening::table(table).await?.index().await?, filter),
        }
    }

    /// What is kept of it in the lineage of a view.
    pub(crate) fn lineage(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Join {
    fn merge(&self) -> Result<Merge> {
        let how = self.how.as_deref().unwrap_or("inner");
        if !HOW.contains(&how) {
            return Err(unknown("kind of join", how, "`how`", HOW.iter().copied()));
        }
        let mut keys: Vec<(&str, &str)> = self.on.0.iter().map(|key| key.split_once('=').unwrap_or((key, key))).collect();
        let time = if how == "asof" { keys.pop() } else { None };
        let mut merge = Merge::on_pairs(keys);
        if let Some((left, right)) = time {
            let pick = match self.pick.as_deref().unwrap_or("backward") {
                "backward" => Pick::Before,
                "forward" => Pick::After,
                "nearest" => Pick::Nearest,
                other => return Err(unknown("way to pick a row", other, "`pick`", PICKS.iter().copied())),
            };
            merge = merge.as_of_pair(left, right, pick);
        } else if how == "asof" {
            return Err(Error::invalid("join: `on` is empty: name the keys, and the time as the last of them"));
        }
        match &self.tolerance {
            Some(_) if how != "asof" => return Err(Error::invalid("join: a tolerance goes with `how = \"asof\"`")),
            Some(tolerance) => merge = merge.tolerance(tolerance)?,
            None => {}
        }
        if how == "left" || self.keep {
            merge = merge.left();
        }
        if self.first {
            merge = merge.first();
        }
        if self.lists {
            merge = merge.group_to_list();
        }
        Ok(match &self.suffix {
            Some(suffix) => merge.suffix(suffix),
            None => merge,
        })
    }
}

impl Split {
    /// The shares in the order in which they stand: train, val, test, then the others by name. The order decides who is where.
    fn ordered(&self) -> Vec<(String, f64)> {
        let place = |name: &str| ["train", "val", "test"].iter().position(|known| *known == name).unwrap_or(3);
        let mut shares: Vec<(String, f64)> = self.shares.iter().map(|(name, share)| (name.clone(), *share)).collect();
        shares.sort_by_key(|(name, _)| place(name));
        shares
    }
}

fn filtered(index: Index, filters: &Several) -> Result<Index> {
    filters.0.iter().try_fold(index, |index, filter| sql(&index, &format!("SELECT * FROM t WHERE {filter}")))
}

/// The rows that a query gives.
fn sql(index: &Index, query: &str) -> Result<Index> {
    // Over some queries polars panics; nothing is half done then.
    let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| index.sql(query)));
    let answer = answer.map_err(|_| Error::unsupported(format!("`{query}`: polars gave up over it")))?;
    answer.map_err(|error| {
        let said = error.to_string();
        // Behind it come the columns, with locators among them, and the plan.
        let said = said.split("; valid columns").next().and_then(|said| said.split("\n\n").next()).unwrap_or_default();
        let missing = said.split_once("unable to find column").and_then(|(_, said)| said.split(['"', '\'', '`']).nth(1));
        let near = missing.and_then(|column| hints::nearest(column, index.column_names()));
        let hint = match near {
            Some(near) => format!("nearest: `{near}`"),
            None => format!("index columns: {}", hints::listed(index.column_names())),
        };
        Error::invalid(format!("{said}\n  hint: {hint}"))
    })
}

/// The index columns that match any of the patterns.
fn keep(index: &Index, patterns: &[String]) -> Result<Index> {
    let mut kept: Vec<String> = Vec::new();
    for text in patterns {
        let pattern: ColumnPattern = text.parse()?;
        let found: Vec<&str> = index.column_names().filter(|name| pattern.matches(name)).collect();
        if found.is_empty() {
            return Err(unknown("column", text, "the index", index.column_names()));
        }
        for name in found {
            if !kept.iter().any(|held| held == name) {
                kept.push(name.to_owned());
            }
        }
    }
    index.select(kept.into_iter().map(col))
}

fn members<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.get(name).and_then(Value::as_object).into_iter().flatten()
}

fn check_words(value: &Value, place: &str, words: &[&str]) -> Result<()> {
    let Some(found) = value.as_object() else {
        return Err(Error::invalid(format!("recipe: {place} is {value}, expected a table of: {}", words.join(", "))));
    };
    match found.keys().find(|name| !words.contains(&name.as_str())) {
        Some(name) => Err(unknown("word", name, place, words.iter().copied())),
        None => Ok(()),
    }
}

fn unknown<'a>(what: &str, name: &str, place: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.into_iter().collect();
    let near = hints::nearest(name, known.iter().copied()).map(|near| format!("; nearest: `{near}`")).unwrap_or_default();
    Error::invalid(format!("recipe: no {what} `{name}` in {place}{near}; there are: {}", hints::listed(known)))
}
