//! Recipes: which tables are put together, filtered, split and saved, as a TOML file says. The commands of the command line make one
//! too, so that all views are made one way and tell how. What is made of one: `make.rs`.

mod make;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use make::MadeView;

use crate::{
    error::{Error, Result},
    hints::{listed, nearest},
    index::Merge,
    read::Pick,
};

/// How views are made of tables: sources are opened and joined, columns computed, rows filtered, sorted and sampled, columns kept,
/// parts made and views saved, in this order.
///
/// ```
/// use tetrys::{Recipe, Schema, StoreOptions, Table, WriteOptions};
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?; let url = |name: &str| folder.path().join(name).display().to_string();
/// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
/// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
/// # let writer = Table::create(&url("sensors"), schema, WriteOptions::default()).await?;
/// # let mut partition = writer.partition()?;
/// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
/// # writer.commit([partition.finish().await?]).await?;
/// # let text =
/// r#"
///     from = "sensors"
///     filter = "id > 3"
///     sources = { sensors = "FOLDER/sensors" }
///     columns = { twice = "id * 2" }
///     output = { view = "FOLDER/late" }
/// "#;
/// # let text = format!("from = 'sensors'\nfilter = 'id > 3'\nsources = {{ sensors = '{}' }}\ncolumns = {{ twice = 'id * 2' }}\noutput = {{ view = '{}' }}", url("sensors"), url("late"));
/// let made = Recipe::parse(&text)?.run(&StoreOptions::from_env(), false).await?;
/// assert_eq!((made[0].size.rows, made[0].size.payload_bytes), (6, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Recipe {
    /// The tables, under the names by which the others call them.
    pub sources: BTreeMap<String, Source>,
    /// The source whose rows it starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Or several sources, one below the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concat: Vec<String>,
    /// Whether columns that some of those do not have are null there, and no error.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fill: bool,
    /// What is merged into it, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub join: Vec<Join>,
    /// More index columns, computed in SQL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// Conditions in SQL, all of which are true of the rows that stay.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub filter: Several,
    /// The index columns that order the rows.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub sort: Several,
    /// Whether the greatest come first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub descending: bool,
    /// So many rows, drawn at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<usize>,
    /// What they are drawn by.
    #[serde(default)]
    pub seed: u64,
    /// The index columns that stay, as patterns; all of them without any.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub keep: Several,
    /// Parts, each a view of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
    /// Where the view goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// A table, or some rows of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// Its URL.
    Table(String),
    /// Its URL, and conditions in SQL that all of its rows have to meet.
    Some {
        /// The URL.
        table: String,
        /// The conditions.
        #[serde(default)]
        filter: Several,
    },
}

/// What is merged, and how.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Join {
    /// The source on the right.
    pub with: String,
    /// The keys, `left=right` where their names differ; the last one of a join by time is the time.
    pub on: Several,
    /// `inner` (the default), `left` or `asof`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Of a join by time, which row is taken: `backward` (the default), `forward` or `nearest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// Of a join by time, how far away it may be: `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// Of a join by time, whether rows without a partner stay.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// Of several rows with the same keys the first is taken.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first: bool,
    /// Of several rows with the same keys the last is taken.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last: bool,
    /// Several rows with the same keys become lists.
    #[serde(default, skip_serializing_if = "is_false")]
    pub lists: bool,
    /// What is put behind names that are there on the left too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
}

/// Shares by the hash of a key.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Split {
    /// The index columns whose hash decides.
    pub by: Several,
    /// Another salt makes other parts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub salt: String,
    /// The parts and their shares; they stand in the order train, val, test, then by name.
    pub shares: BTreeMap<String, f64>,
}

/// Where the view goes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Output {
    /// The URL of the view; of parts, each lies below it.
    pub view: String,
    /// Whether it is the next version of a view that is there.
    #[serde(default, skip_serializing_if = "is_false")]
    pub update: bool,
}

/// One text, or several.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(from = "OneOrMany", into = "Vec<String>")]
pub struct Several(pub Vec<String>);

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
const JOIN_WORDS: &[&str] = &["with", "on", "how", "pick", "tolerance", "keep", "first", "last", "lists", "suffix"];
const SPLIT_WORDS: &[&str] = &["by", "salt", "shares"];
const OUTPUT_WORDS: &[&str] = &["view", "update"];
/// The kinds of joins, and for each its name in an error.
const HOW: &[&str] = &["inner", "left", "asof"];
const PICKS: &[&str] = &["backward", "forward", "nearest"];

impl Recipe {
    /// Reads a recipe from the text of a TOML file.
    ///
    /// # Errors
    /// `Invalid` for what is no TOML; as [`Recipe::from_value`].
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_value(toml::from_str(text).map_err(|error| Error::invalid(format!("recipe: {error}")))?)
    }

    /// The recipe that the same words make as JSON.
    ///
    /// # Errors
    /// `Invalid` for unknown words, naming the nearest known one, for values of other types, and for sources that are not there.
    pub fn from_value(value: Value) -> Result<Self> {
        check_words(&value, "the recipe", WORDS)?;
        for (name, source) in members(&value, "sources") {
            let place = format!("[sources.{name}]");
            match source {
                Value::String(_) => {}
                Value::Object(_) => check_words(source, &place, SOURCE_WORDS)?,
                _ => {
                    return Err(Error::invalid(format!(
                        "recipe: {place} is {source}, expected a URL or a table of: table, filter"
                    )));
                }
            }
            if source.is_object() && !source.get("table").is_some_and(Value::is_string) {
                return Err(Error::invalid(format!("recipe: {place} has no `table`: the URL of the source")));
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

    /// What is kept of it in the lineage of a view.
    fn lineage(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Join {
    /// How the index on the left and the one on the right become one.
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
        merge = match (self.first, self.last, self.lists) {
            (false, false, false) => merge,
            (true, false, false) => merge.first(),
            (false, true, false) => merge.last(),
            (false, false, true) => merge.group_to_list(),
            _ => return Err(Error::invalid("join: `first`, `last` and `lists`: choose one")),
        };
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
    let near = nearest(name, known.iter().copied()).map(|near| format!("; nearest: `{near}`")).unwrap_or_default();
    Error::invalid(format!("recipe: no {what} `{name}` in {place}{near}; there are: {}", listed(known)))
}
