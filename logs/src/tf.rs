//! Columns of transforms between coordinate frames (`[tf.NAME]`): their messages, and their values in rows.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use arrow_array::ArrayRef;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tetrys::{ColumnType, Error, Result, schema::Primitive};

use crate::{
    cells::{Builder, Cell},
    decoder::Decoder,
    log::{Log, Message as Logged, Place},
    recipe::{MAX_TIME, Recipe, Tf, Time},
    transforms::{Arrival, Frames, Sample, Transform},
    types::{Message, Type, Value},
};

/// The topics of transforms, if a recipe names no others.
const TOPIC: &str = "/tf";
const STATIC: &str = "/tf_static";
/// Maximum transforms of a log: each takes about 100 bytes of memory.
const MAX_SAMPLES: usize = 4 << 20;

/// Counts what became of a transform in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct TfReport {
    /// Its name.
    pub name: String,
    /// The frame whose coordinates it gives.
    pub target: String,
    /// The frame whose coordinates it takes.
    pub source: String,
    /// Rows that have it.
    pub found: u64,
    /// Rows without it, by the reason.
    pub missing: BTreeMap<String, u64>,
}

/// Returns the names and types of the columns of a transform.
pub(crate) fn outputs(name: &str) -> [(String, ColumnType); 2] {
    [("translation", 3), ("rotation", 4)]
        .map(|(column, extent)| (format!("{name}.{column}"), ColumnType::tensor(Primitive::F64, [Some(extent)])))
}

/// The transforms of a recipe, with the frames that each looks at.
pub(crate) struct Transforms {
    builders: Vec<TfBuilder>,
    frames: Vec<Frames>,
}

struct TfBuilder {
    of: Tf,
    /// Which of the frames.
    frames: usize,
    columns: [Builder; 2],
    report: TfReport,
}

/// Topics and settings that tell which frames a transform looks at.
type Key = (String, String, Time, i64);

impl Transforms {
    /// Reads the transforms of a log. Must be called before places of other messages are taken, because it may read the whole log.
    ///
    /// # Errors
    /// - `NotFound`: the log has no topic of transforms.
    /// - `Invalid`: the messages of a topic are none.
    /// - `Unsupported`: there are too many.
    /// - `Corrupt`: a chunk or a message is damaged.
    /// - Errors of the file system or the store.
    pub(crate) fn new(log: &mut Log, recipe: &Recipe) -> Result<Self> {
        let (mut keys, mut found) = (Vec::<Key>::new(), Self { builders: Vec::new(), frames: Vec::new() });
        let own = log.name().to_owned();
        for (name, of) in &recipe.tf {
            let place = |error: Error| error.at(format!("log {own}: transform `{}`", name.escape_debug()));
            let topic = of.topic.clone().unwrap_or_else(|| TOPIC.to_owned());
            let fixed = of.static_topic.clone().unwrap_or_else(|| STATIC.to_owned());
            // A transform has its own stamp, so it needs no word that says which time counts.
            let time = of.time.or(recipe.defaults.time).unwrap_or(Time::Stamp);
            let offset = of.offset.or(recipe.defaults.offset).map_or(0, |offset| offset.0);
            let key = (topic, fixed, time, offset);
            let frames = match keys.iter().position(|known| *known == key) {
                Some(known) => known,
                None => {
                    found.frames.push(frames(log, &key).map_err(place)?);
                    keys.push(key);
                    keys.len() - 1
                }
            };
            let report =
                TfReport { name: name.clone(), target: of.target.clone(), source: of.source.clone(), ..TfReport::default() };
            let columns = outputs(name).map(|(_, ty)| Builder::new(&ty));
            found.builders.push(TfBuilder { of: of.clone(), frames, columns, report });
        }
        Ok(found)
    }

    /// Cuts the transforms where parts of the log begin.
    pub(crate) fn settle(&mut self, cuts: Vec<Arrival>) {
        self.frames.iter_mut().for_each(|frames| frames.settle(cuts.clone()));
    }

    /// Appends the values of a row. `time_of` gives the time of the message that the row has of a match. Returns their bytes.
    pub(crate) fn append(&mut self, part: usize, time: i64, time_of: &dyn Fn(&str) -> Option<i64>) -> Result<usize> {
        let mut bytes = 0;
        for builder in &mut self.builders {
            let TfBuilder { of, frames, columns, report } = builder;
            let at = match of.at.as_str() {
                "row" => Ok(time),
                name => time_of(name).ok_or_else(|| format!("the row has no message of `{}`", name.escape_debug())),
            };
            let frames = self.frames.get(*frames).ok_or_else(|| Error::internal("a transform without frames"))?;
            let found = at.and_then(|at| frames.lookup(part, &of.target, &of.source, at, of.tolerance));
            let numbers = |numbers: &[f64]| {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                Cell::Tensor(vec![u32::try_from(numbers.len()).unwrap_or(0)], bytes.into())
            };
            let cells = match found {
                Ok(Transform { translation, rotation }) => {
                    report.found += 1;
                    [numbers(&translation), numbers(&rotation)]
                }
                Err(why) => {
                    *report.missing.entry(why).or_default() += 1;
                    [Cell::Null, Cell::Null]
                }
            };
            for (column, cell) in columns.iter_mut().zip(&cells) {
                bytes += column.append(cell)?;
            }
        }
        Ok(bytes)
    }

    /// Returns the columns of the rows since the last call.
    pub(crate) fn finish(&mut self) -> Result<Vec<(String, ArrayRef)>> {
        let mut found = Vec::new();
        for builder in &mut self.builders {
            for ((name, _), column) in outputs(&builder.report.name).into_iter().zip(&mut builder.columns) {
                found.push((name, column.finish()?));
            }
        }
        Ok(found)
    }

    /// Returns what became of each.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &TfReport> {
        self.builders.iter().map(|builder| &builder.report)
    }
}

/// Reads the frames of a log.
fn frames(log: &mut Log, (topic, fixed, time, offset): &Key) -> Result<Frames> {
    let topics: Vec<&str> = [topic.as_str(), fixed.as_str()].into_iter().filter(|name| log.topics.contains_key(*name)).collect();
    if topics.is_empty() {
        return Err(Error::not_found(format!("no topic `{}` and no topic `{}`", topic.escape_debug(), fixed.escape_debug())));
    }
    let mut readers = Vec::new();
    for name in &topics {
        let decoder = log.topic(name)?.decoder.clone();
        let layout = Layout::of(decoder.ty());
        let layout = layout.ok_or_else(|| {
            let why = decoder.reason().map(|why| format!(": {why}")).unwrap_or_default();
            Error::invalid(format!("topic {name}: expected transforms (tf2_msgs/TFMessage), found {}{why}", decoder.ty().name))
        })?;
        readers.push((decoder, layout, *name == fixed.as_str()));
    }
    let found = Mutex::new((Frames::default(), 0_usize));
    let lock = || found.lock().unwrap_or_else(PoisonError::into_inner);
    let visit = |number: usize, place: Place, log_time: i64, message: Option<&Logged>| {
        let message = message.ok_or_else(|| Error::internal("a message without its bytes"))?;
        let fail = |error: Error| error.at(format!("topic {}: message logged at {log_time}", topics[number]));
        let (decoder, layout, is_fixed) = &readers[number];
        let transforms = layout.read(decoder, &message.data).map_err(fail)?;
        let mut guard = lock();
        let (frames, count) = &mut *guard;
        for StampedTransform { stamp, parent, child, transform } in transforms {
            let time = match time {
                Time::Stamp => stamp,
                Time::Log => log_time,
                Time::Publish if message.publish_time == 0 => {
                    return Err(fail(Error::invalid("there is no publish time; use time = \"log\" or \"stamp\"")));
                }
                Time::Publish => message.publish_time,
            };
            let time = time.checked_add(*offset).filter(|time| (-MAX_TIME..=MAX_TIME).contains(time));
            let time = time.ok_or_else(|| fail(Error::invalid("the time is more than 146 years from 1970")))?;
            let (parent, child) = (frames.number(&parent), frames.number(&child));
            let arrival = (log_time, place.file, place.block, place.offset);
            let sample = Sample { time, arrival, parent, transform };
            match is_fixed {
                true => frames.fix(child, sample),
                false => {
                    *count += 1;
                    if *count > MAX_SAMPLES {
                        return Err(Error::unsupported(format!("over {MAX_SAMPLES} transforms: split the log")));
                    }
                    frames.add(child, sample);
                }
            }
        }
        Ok(())
    };
    log.visit(&topics, &vec![true; topics.len()], visit, || *lock() = (Frames::default(), 0))?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner).0)
}

/// A transform of a message.
struct StampedTransform {
    stamp: i64,
    parent: String,
    child: String,
    transform: Transform,
}

/// Where the parts of transforms are in a message: in each item of a list, or once.
struct Layout {
    list: Option<usize>,
    stamp: Vec<usize>,
    parent: Vec<usize>,
    child: Vec<usize>,
    translation: [Vec<usize>; 3],
    rotation: [Vec<usize>; 4],
}

impl Layout {
    /// Finds the parts in `tf2_msgs/TFMessage`, in `geometry_msgs/TransformStamped`, and in their twins of Foxglove.
    fn of(ty: &Arc<Message>) -> Option<Self> {
        let (list, item) = match ty.field("transforms") {
            Some((at, Type::Array(item, _))) => match &**item {
                Type::Message(item) => (Some(at), item),
                _ => return None,
            },
            _ => (None, ty),
        };
        let of = |names: [&str; 2], expected: &Type| {
            let found = names.iter().find_map(|name| item.path(name).filter(|(_, ty)| *ty == expected));
            found.map(|(path, _)| path)
        };
        let number = |of_ros: &str, of_foxglove: &str, axis: &str| {
            of([&format!("{of_ros}.{axis}"), &format!("{of_foxglove}.{axis}")], &Type::Number(Primitive::F64))
        };
        let translation = |axis| number("transform.translation", "translation", axis);
        let rotation = |axis| number("transform.rotation", "rotation", axis);
        Some(Self {
            list,
            stamp: of(["header.stamp", "timestamp"], &Type::Time)?,
            parent: of(["header.frame_id", "parent_frame_id"], &Type::Text)?,
            child: of(["child_frame_id", "child_frame_id"], &Type::Text)?,
            translation: [translation("x")?, translation("y")?, translation("z")?],
            rotation: [rotation("x")?, rotation("y")?, rotation("z")?, rotation("w")?],
        })
    }

    fn read(&self, decoder: &Decoder, bytes: &Bytes) -> Result<Vec<StampedTransform>> {
        let value = decoder.decode(bytes)?;
        let items = match self.list {
            None => std::slice::from_ref(&value),
            Some(at) => match value.at(&[at]) {
                Value::List(items) => items.as_slice(),
                _ => &[],
            },
        };
        let to_transform = |item: &Value| {
            let number = |path: &Vec<usize>| match item.at(path) {
                Value::Number(bytes) => f64::from_le_bytes(*bytes),
                _ => f64::NAN,
            };
            let text = |path: &[usize]| item.at(path).as_text().unwrap_or_default().to_owned();
            StampedTransform {
                stamp: item.at(&self.stamp).as_i64().unwrap_or(0),
                parent: text(&self.parent),
                child: text(&self.child),
                transform: Transform {
                    translation: self.translation.each_ref().map(number),
                    rotation: self.rotation.each_ref().map(number),
                },
            }
        };
        Ok(items.iter().map(to_transform).collect())
    }
}
