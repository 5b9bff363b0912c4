//! The columns of a table of logs: what a recipe chooses of the types of its topics.

use serde_json::{Map, Value as Json, json};
use tetrys::{
    ColumnType, Error, Result, Schema, TimeUnit,
    schema::{ColumnPattern, Primitive},
};

use crate::{
    cells::{stacked, unstacked},
    columns::{Column, are_known, columns, is_telling},
    entries::{Entries, Entry},
    log::{Log, TopicInfo},
    matching::Runs,
    recipe::{Match, Policy, Recipe, Topic, name_of},
    slerp::has_quaternions,
    tf,
    types::Value,
};

/// Names of the index columns of every table of logs.
pub const LOG: &str = "log";
/// The part of the log: a new one begins behind each gap.
pub const PART: &str = "part";
/// The time of the row.
pub const TIME: &str = "time";

/// Property of a column: the topic of its messages.
const TOPIC: &str = "logs.topic";
/// Messages of a topic that are looked at for what its pictures or points are.
const SAMPLES: usize = 16;

/// The messages that the clock or a match takes its values from, and their columns.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    /// Prefix of the names of the columns.
    pub(crate) name: String,
    pub(crate) topic: String,
    pub(crate) settings: Topic,
    /// `None`: the messages of the clock themselves.
    pub(crate) matched: Option<Match>,
    pub(crate) columns: Vec<Column>,
    /// Whether the log has no messages of the topic. While there is no table, also whether none of the first messages says what its
    /// pictures or points are.
    pub(crate) is_silent: bool,
    /// Why the columns are not known: the log has no messages that say what they are.
    pub(crate) unknown: Option<String>,
}

impl Stream {
    /// Returns the columns that a table has of this stream. `names` are those of all streams.
    fn columns_of(&self, schema: &Schema, names: &[String]) -> Vec<Column> {
        let is_own = |column: &str| {
            let is_below = |name: &&String| column.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'));
            // Of the streams `a` and `a.b`, `a.b.x` is a column of the second.
            names.iter().filter(is_below).max_by_key(|name| name.len()) == Some(&self.name)
        };
        let of_messages = schema.columns().iter().filter(|column| {
            column.properties.get(TOPIC).and_then(Json::as_str) == Some(self.topic.as_str()) && is_own(&column.name)
        });
        let columns = of_messages.filter_map(|column| {
            let ty = match self.policy() {
                Some(Policy::All) => unstacked(&column.ty)?,
                _ => column.ty.clone(),
            };
            Some(Column::of_table(column.name.get(self.name.len() + 1..)?, ty))
        });
        columns.collect()
    }

    /// Returns the type of a column of the table.
    fn ty(&self, column: &Column) -> ColumnType {
        match self.policy() {
            Some(Policy::All) => stacked(&column.ty, None),
            _ => column.ty.clone(),
        }
    }

    pub(crate) fn policy(&self) -> Option<Policy> {
        self.matched.as_ref().map(|matched| matched.policy)
    }

    /// Whether the messages are in a table of their own: the rows have the time difference alone.
    pub(crate) fn is_apart(&self) -> bool {
        self.matched.as_ref().is_some_and(|matched| matched.table.is_some())
    }

    /// Whether a row gets a value between those of two messages.
    pub(crate) fn is_between(&self) -> bool {
        self.policy().is_some_and(Policy::is_between)
    }

    pub(crate) fn has_dt(&self) -> bool {
        self.matched.as_ref().is_some_and(|matched| matched.dt)
    }

    /// Returns the name, the type and the properties of each column of the table, and whether it is in the index.
    pub(crate) fn outputs(&self) -> Vec<(String, ColumnType, Map<String, Json>, bool)> {
        let is_all = self.policy() == Some(Policy::All);
        let duration = ColumnType::Duration(TimeUnit::Nanosecond);
        let mut outputs = Vec::new();
        if self.has_dt() {
            let ty = if is_all { ColumnType::list(duration.clone()) } else { duration.clone() };
            outputs.push((format!("{}.dt", self.name), ty, Map::new(), !is_all));
            if self.is_between() {
                outputs.push((format!("{}.gap", self.name), duration, Map::new(), true));
            }
        }
        for column in &self.columns {
            let ty = self.ty(column);
            let is_short = !matches!(ty, ColumnType::Utf8)
                || ["frame_id", "format", "encoding", "child_frame_id"].contains(&column.name.as_str());
            let is_index = ty.is_indexable() && is_short;
            let mut properties = column.properties.clone();
            properties.insert(TOPIC.to_owned(), json!(self.topic));
            outputs.push((format!("{}.{}", self.name, column.name), ty, properties, is_index));
        }
        outputs
    }
}

/// Returns the streams of a recipe with their settings, the clock first. They have no columns yet.
pub(crate) fn streams(recipe: &Recipe) -> Vec<Stream> {
    let clock = recipe.clock.topic.as_ref().map(|topic| Stream {
        name: recipe.clock.name.clone().unwrap_or_else(|| name_of(topic)),
        topic: topic.clone(),
        settings: recipe.clock.of.or(&recipe.defaults),
        matched: None,
        columns: Vec::new(),
        is_silent: true,
        unknown: None,
    });
    let matches = recipe.matches.iter().map(|matched| Stream {
        name: matched.name.clone(),
        topic: matched.topic.clone(),
        settings: matched.of.or(&recipe.defaults),
        matched: Some(matched.clone()),
        columns: Vec::new(),
        is_silent: true,
        unknown: None,
    });
    clock.into_iter().chain(matches).collect()
}

/// Finds the columns of each stream. `runs` has the messages of each. A stream without messages has the columns of the table, if
/// there is one already. Before, the messages of another log may say which columns there are.
///
/// # Errors
/// - `NotFound`: a topic is missing, or a pattern of `fields` matches nothing.
/// - `Invalid`, `Unsupported`: columns cannot be interpolated; a topic has messages of two types.
pub(crate) fn find_columns(
    log: &Log,
    recipe: &Recipe,
    streams: &mut [Stream],
    runs: &[Runs],
    table: Option<&Schema>,
) -> Result<()> {
    let names: Vec<String> = streams.iter().map(|stream| stream.name.clone()).collect();
    for (stream, runs) in streams.iter_mut().zip(runs) {
        let place = |error: Error| error.at(format!("log {}: topic {}", log.name(), stream.topic));
        let topic = log.topic(&stream.topic)?;
        if stream.is_apart() {
            stream.is_silent = false;
            continue;
        }
        stream.is_silent = runs.entries.len() == 0;
        if let Some(table) = table.filter(|_| stream.is_silent) {
            stream.columns = stream.columns_of(table, &names);
            continue;
        }
        let sample = sample(log, topic, &runs.entries).map_err(place)?;
        let all = columns(topic.decoder.ty(), sample.as_ref()).map_err(place)?;
        let is_known = are_known(topic.decoder.ty(), sample.as_ref());
        stream.is_silent |= table.is_none() && !is_known;
        let fields = match &stream.matched {
            Some(matched) => matched.fields.as_deref(),
            None => recipe.clock.fields.as_deref(),
        };
        stream.columns = match chosen(all, fields, stream.policy()) {
            // Messages of another log may say which columns there are.
            Err(error) if stream.is_silent => {
                stream.unknown = Some(error.to_string());
                Vec::new()
            }
            found => {
                let found = found.map_err(place)?;
                if fields.is_none() && !is_known {
                    let why =
                        format!("pictures and points are described by messages, and the first {SAMPLES} are missing or empty");
                    stream.unknown = Some(why);
                }
                found
            }
        };
    }
    Ok(())
}

/// Returns the first message that says what the pictures or points of a topic are, or else the first one that is not empty: a sensor that
/// has just been started may send empty ones.
fn sample(log: &Log, topic: &TopicInfo, messages: &Entries) -> Result<Option<Value>> {
    let place = |entry: &Entry| (entry.file, entry.block, entry.offset);
    let mut firsts: Vec<Entry> = Vec::new();
    for number in 0..messages.len() {
        firsts.push(messages.get(number)?);
        if firsts.len() == 64 * SAMPLES {
            firsts.select_nth_unstable_by_key(SAMPLES, place);
            firsts.truncate(SAMPLES);
        }
    }
    firsts.sort_unstable_by_key(place);
    firsts.truncate(SAMPLES);
    let mut first = None;
    for entry in &firsts {
        let found = topic.decoder.decode(&log.message(entry)?)?;
        if is_telling(topic.decoder.ty(), &found) {
            return Ok(Some(found));
        }
        first = first.filter(|first| are_known(topic.decoder.ty(), Some(first))).or(Some(found));
    }
    Ok(first)
}

fn is_float(ty: &ColumnType) -> bool {
    let element = match ty {
        ColumnType::Scalar(element) => element,
        ColumnType::Tensor { element, .. } => element,
        _ => return false,
    };
    matches!(element, Primitive::F32 | Primitive::F64)
}

/// Chooses columns: those that `fields` names, or the default ones that the policy can interpolate.
fn chosen(all: Vec<Column>, fields: Option<&[String]>, policy: Option<Policy>) -> Result<Vec<Column>> {
    let (can, needs): (fn(&ColumnType) -> bool, _) = match policy {
        Some(Policy::Linear) => (is_float, "linear needs numbers with a fraction"),
        Some(Policy::Slerp) => (has_quaternions, "slerp needs quaternions"),
        _ => (|_| true, ""),
    };
    let listed = |columns: &[Column]| columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(fields) = fields else {
        let is_good = |column: &Column| {
            let is_fit = match policy {
                Some(Policy::Linear) => !column.is_rotation,
                Some(Policy::Slerp) => column.is_rotation,
                _ => true,
            };
            column.is_default && is_fit && can(&column.ty)
        };
        let names = listed(&all);
        let kept: Vec<Column> = all.into_iter().filter(is_good).collect();
        return match kept.is_empty() && policy.is_some_and(Policy::is_between) {
            true => Err(Error::invalid(format!("{needs}; there are: {names}"))),
            false => Ok(kept),
        };
    };
    let mut kept: Vec<Column> = Vec::new();
    for field in fields {
        let pattern: ColumnPattern = field.parse().map_err(|error: Error| error.at("fields"))?;
        let matching: Vec<&Column> = all.iter().filter(|column| pattern.matches(&column.name)).collect();
        if matching.is_empty() {
            return Err(Error::not_found(format!(
                "fields: none matches `{}`; there are: {}",
                field.escape_debug(),
                listed(&all)
            )));
        }
        if let Some(column) = matching.iter().find(|column| !can(&column.ty)) {
            let (name, choice) = match policy {
                Some(Policy::Slerp) => ("slerp", "f32[4] or f64[4]"),
                _ => ("linear", "f32 or f64"),
            };
            return Err(Error::invalid(format!(
                "fields: {name} cannot interpolate `{}` of type {}; choose fields of {choice}, or another policy",
                column.name, column.ty
            )));
        }
        for column in matching {
            if kept.iter().all(|other| other.name != column.name) {
                kept.push(column.clone());
            }
        }
    }
    Ok(kept)
}

/// Returns the schema of the table.
///
/// # Errors
/// - `Invalid`: two columns have the same name.
pub(crate) fn schema(streams: &[Stream], recipe: &Recipe) -> Result<Schema> {
    let mut builder = Schema::builder()
        .index(LOG, ColumnType::Utf8)
        .index(PART, ColumnType::Scalar(Primitive::U32))
        .index(TIME, ColumnType::Timestamp(TimeUnit::Nanosecond, None))
        .required(LOG)
        .required(PART)
        .required(TIME);
    let mut groups = Vec::new();
    let mut all_properties = Vec::new();
    for stream in streams {
        let mut group = Vec::new();
        for (name, ty, properties, is_index) in stream.outputs() {
            all_properties.extend(properties.into_iter().map(|(key, value)| (name.clone(), key, value)));
            match is_index {
                true => builder = builder.index(name, ty),
                false => group.push((name, ty)),
            }
        }
        groups.extend((!group.is_empty()).then(|| (stream.name.clone(), group)));
    }
    groups.extend(recipe.tf.keys().map(|name| (name.clone(), tf::outputs(name).to_vec())));
    for (name, group) in groups {
        builder = builder.group(name, group);
    }
    for (column, key, value) in all_properties {
        builder = builder.property(column, key, value);
    }
    builder.sequence_by([LOG, PART]).order_by([TIME]).build()
}
