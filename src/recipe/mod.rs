//! Recipes: descriptions, often as TOML files, of how to join, filter, split and save tables as views. The commands of the
//! command line build recipes too, so every view has one in its lineage. `make.rs` runs a recipe.

mod make;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use make::MadeView;

use crate::{
    error::{Error, Result, listed, nearest, short},
    index::Merge,
    read::Pick,
};

/// Description of how to make views of tables. The steps run in this order: open and join the sources, compute columns, filter,
/// sort and sample rows, keep columns, split, and save the views.
///
/// ```
/// use tetrys::{Recipe, Schema, StoreOptions, Table, ViewOptions, WriteOptions};
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
/// let made = Recipe::parse(&text)?.run(&StoreOptions::from_env(), &ViewOptions::default()).await?;
/// assert_eq!((made[0].size.rows, made[0].size.payload_bytes), (6, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Recipe {
    /// Tables, by the names that the other members use.
    pub sources: BTreeMap<String, Source>,
    /// Name of the source to start with, the left side of the first join. A recipe has either `from` or `concat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Names of the sources to start with, whose rows are concatenated in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concat: Vec<String>,
    /// Whether `concat` fills columns that a source lacks with nulls. If false, a missing column is an error.
    #[serde(default, skip_serializing_if = "is_false")]
    pub fill: bool,
    /// Sources to merge, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub join: Vec<Join>,
    /// New index columns: names and SQL expressions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub columns: BTreeMap<String, String>,
    /// SQL conditions. A row stays if all of them are true.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub filter: Several,
    /// Index columns by which the rows are sorted.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub sort: Several,
    /// Whether the order of `sort` is descending.
    #[serde(default, skip_serializing_if = "is_false")]
    pub descending: bool,
    /// Number of rows to draw at random; all rows if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<usize>,
    /// Seed of the random sample.
    #[serde(default)]
    pub seed: u64,
    /// Patterns of the index columns to keep; all if empty.
    #[serde(default, skip_serializing_if = "Several::is_empty")]
    pub keep: Several,
    /// Split of the rows into parts. Each part becomes a view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<KeySplit>,
    /// The view to save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
}

/// A table, or some rows of a table.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Source {
    /// URL of a table, all rows of which are used.
    Table(String),
    /// A table of which only some rows are used.
    Some {
        /// URL of the table.
        table: String,
        /// SQL conditions. A row is used if all of them are true.
        #[serde(default)]
        filter: Several,
    },
}

/// A merge with another source.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Join {
    /// Name of the source to merge, the right side.
    pub with: String,
    /// Key columns, as `left=right` if their names differ. With `asof`, the last one is the time.
    pub on: Several,
    /// Kind of the join: `inner` (the default), `left` or `asof`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// With `asof`, the row to pick by its time: `backward` (the default), `forward` or `nearest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pick: Option<String>,
    /// With `asof`, the maximum distance in time, such as `50ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<String>,
    /// Whether left rows without a partner stay, also with `asof`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub keep: bool,
    /// Whether to take the first of several right rows with equal keys.
    #[serde(default, skip_serializing_if = "is_false")]
    pub first: bool,
    /// Whether to take the last of several right rows with equal keys.
    #[serde(default, skip_serializing_if = "is_false")]
    pub last: bool,
    /// Whether to take all of several right rows with equal keys, as lists. Recipes of older views call it `lists`.
    #[serde(default, alias = "lists", skip_serializing_if = "is_false")]
    pub group_to_list: bool,
    /// Suffix for right columns whose names exist on the left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
}

/// A split of rows into parts by the hash of a key.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct KeySplit {
    /// Index columns that are hashed. Rows with equal values are in one part.
    pub by: Several,
    /// Salt of the hash. Another salt makes other parts.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub salt: String,
    /// Names of the parts and their shares. The parts are in the order train, val, test, then by name.
    pub shares: BTreeMap<String, f64>,
}

/// The view to save.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Output {
    /// URL of the view. With a split, each part is saved below it: `VIEW/train`.
    pub view: String,
    /// Whether to save the next version of an existing view.
    #[serde(default, skip_serializing_if = "is_false")]
    pub update: bool,
}

/// One string, or a list of strings.
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What a word of a recipe is set to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    Texts,
    TextOrTexts,
    Flag,
    Whole,
    Mapping,
    Mappings,
    TextOfNames,
    NumberOfNames,
}

impl Kind {
    fn holds(self, value: &Value) -> bool {
        let all = |is: fn(&Value) -> bool| value.as_array().is_some_and(|values| values.iter().all(is));
        let named = |is: fn(&Value) -> bool| value.as_object().is_some_and(|members| members.values().all(is));
        match self {
            Self::Text => value.is_string(),
            Self::Texts => all(Value::is_string),
            Self::TextOrTexts => value.is_string() || all(Value::is_string),
            Self::Flag => value.is_boolean(),
            Self::Whole => value.is_u64(),
            Self::Mapping => value.is_object(),
            Self::Mappings => all(Value::is_object),
            Self::TextOfNames => named(Value::is_string),
            Self::NumberOfNames => named(Value::is_number),
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::TextOrTexts => "a text or a list of texts",
            Self::Flag => "true or false",
            Self::Whole => "a whole number of 0 or more",
            Self::Mapping => "a mapping",
            Self::Mappings => "a list of mappings",
            Self::TextOfNames => "a mapping of names to texts",
            Self::NumberOfNames => "a mapping of names to numbers",
        }
    }
}

const WORDS: &[(&str, Kind)] = &[
    ("sources", Kind::Mapping),
    ("from", Kind::Text),
    ("concat", Kind::Texts),
    ("fill", Kind::Flag),
    ("join", Kind::Mappings),
    ("columns", Kind::TextOfNames),
    ("filter", Kind::TextOrTexts),
    ("sort", Kind::TextOrTexts),
    ("descending", Kind::Flag),
    ("sample", Kind::Whole),
    ("seed", Kind::Whole),
    ("keep", Kind::TextOrTexts),
    ("split", Kind::Mapping),
    ("output", Kind::Mapping),
];
const SOURCE_WORDS: &[(&str, Kind)] = &[("table", Kind::Text), ("filter", Kind::TextOrTexts)];
const JOIN_WORDS: &[(&str, Kind)] = &[
    ("with", Kind::Text),
    ("on", Kind::TextOrTexts),
    ("how", Kind::Text),
    ("pick", Kind::Text),
    ("tolerance", Kind::Text),
    ("keep", Kind::Flag),
    ("first", Kind::Flag),
    ("last", Kind::Flag),
    ("group_to_list", Kind::Flag),
    ("suffix", Kind::Text),
];
const SPLIT_WORDS: &[(&str, Kind)] = &[("by", Kind::TextOrTexts), ("salt", Kind::Text), ("shares", Kind::NumberOfNames)];
const OUTPUT_WORDS: &[(&str, Kind)] = &[("view", Kind::Text), ("update", Kind::Flag)];
/// Kinds of joins.
const HOW: &[&str] = &["inner", "left", "asof"];
const PICKS: &[&str] = &["backward", "forward", "nearest"];

impl Recipe {
    /// Parses the text of a TOML file.
    ///
    /// # Errors
    /// - `Invalid`: the text is not TOML; a word is unknown (the message names the nearest known one); a value has a wrong type;
    ///   a source is not in `sources`.
    pub fn parse(text: &str) -> Result<Self> {
        Self::from_value(toml::from_str(text).map_err(|error| Error::invalid(format!("recipe: {error}")))?)
    }

    /// Reads a recipe from JSON with the same words.
    ///
    /// # Errors
    /// - `Invalid`: a word is unknown (the message names the nearest known one); a value has a wrong type; a source is not in
    ///   `sources`.
    pub fn from_value(value: Value) -> Result<Self> {
        check_words(&value, "the recipe", WORDS, &[])?;
        for (name, source) in members(&value, "sources") {
            let place = format!("[sources.{name}]");
            match source {
                Value::String(_) => {}
                Value::Object(_) => check_words(source, &place, SOURCE_WORDS, &[])?,
                _ => {
                    return Err(Error::invalid(format!(
                        "recipe: {place} is {source}, expected a URL or a mapping with: table, filter"
                    )));
                }
            }
            if source.is_object() && !source.get("table").is_some_and(Value::is_string) {
                return Err(Error::invalid(format!("recipe: {place} has no `table`: the URL of the source")));
            }
        }
        for join in value.get("join").and_then(Value::as_array).into_iter().flatten() {
            check_words(join, "[[join]]", JOIN_WORDS, &["lists"])?;
        }
        for (section, words) in [("split", SPLIT_WORDS), ("output", OUTPUT_WORDS)] {
            if let Some(found) = value.get(section) {
                check_words(found, &format!("[{section}]"), words, &[])?;
            }
        }
        let recipe: Self = serde_json::from_value(value).map_err(|error| Error::invalid_json(&error).at("recipe"))?;
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

    /// Returns the recipe as JSON for the lineage of a view.
    fn lineage(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Join {
    /// Returns the settings of the merge.
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
            return Err(Error::invalid("join: `on` is empty: name the key columns, and the time column last"));
        }
        match &self.tolerance {
            Some(_) if how != "asof" => return Err(Error::invalid("join: `tolerance` needs `how = \"asof\"`")),
            Some(tolerance) => merge = merge.tolerance(tolerance)?,
            None => {}
        }
        if how == "left" || self.keep {
            merge = merge.left();
        }
        merge = match (self.first, self.last, self.group_to_list) {
            (false, false, false) => merge,
            (true, false, false) => merge.first(),
            (false, true, false) => merge.last(),
            (false, false, true) => merge.group_to_list(),
            _ => return Err(Error::invalid("join: set only one of `first`, `last` and `group_to_list`")),
        };
        Ok(match &self.suffix {
            Some(suffix) => merge.suffix(suffix),
            None => merge,
        })
    }
}

impl KeySplit {
    /// Returns the shares in the order train, val, test, then by name. The order decides which part a hash falls into.
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

/// Checks that all members of `value` are among `words`, or among the names that older builds wrote, and are of their kind.
fn check_words(value: &Value, place: &str, words: &[(&str, Kind)], older: &[&str]) -> Result<()> {
    let known = || words.iter().map(|(word, _)| *word);
    let Some(found) = value.as_object() else {
        let known: Vec<&str> = known().collect();
        return Err(Error::invalid(format!("recipe: {place} is {value}, expected a mapping with: {}", known.join(", "))));
    };
    for (name, value) in found {
        match words.iter().find(|(word, _)| word == name) {
            Some((_, kind)) if !value.is_null() && !kind.holds(value) => {
                return Err(Error::invalid(format!(
                    "recipe: `{name}` in {place} is {}, expected {}",
                    short(value),
                    kind.describe()
                )));
            }
            None if !older.contains(&name.as_str()) => return Err(unknown("word", name, place, known())),
            _ => {}
        }
    }
    Ok(())
}

fn unknown<'a>(what: &str, name: &str, place: &str, known: impl IntoIterator<Item = &'a str>) -> Error {
    let known: Vec<&str> = known.into_iter().collect();
    let near = nearest(name, known.iter().copied()).map(|near| format!("; nearest: `{near}`")).unwrap_or_default();
    Error::invalid(format!("recipe: no {what} `{name}` in {place}{near}; there are: {}", listed(known)))
}
