//! The first pass over a log: its messages, sorted and cut into the parts of the log; its ticks and its columns.

use tetrys::{Error, ErrorKind, Result, Schema};

use crate::{
    entries::{Entry, LEAST},
    layout::{Stream, find_columns, streams},
    log::Log,
    matching::{Runs, Ticks, aligned, runs},
    recipe::{Recipe, Topic},
    report::MatchReport,
    tf::Transforms,
};

/// A log whose messages are found.
pub(crate) struct Found {
    pub(crate) log: Log,
    /// The streams of the recipe. They have columns behind [`Found::with_columns`].
    pub(crate) streams: Vec<Stream>,
    pub(crate) messages: Messages,
    /// Maximum bytes of messages in memory.
    memory: usize,
}

/// The messages of a log.
pub(crate) struct Messages {
    /// Those of each stream.
    pub(crate) runs: Vec<Runs>,
    /// The beginning of the report of each stream.
    pub(crate) reports: Vec<MatchReport>,
    pub(crate) transforms: Transforms,
}

impl Found {
    /// Finds the messages of a log. If its index leads to damage, all of it is read. Their times and places take at most about `memory`
    /// bytes; beyond that, they lie in temporary files.
    ///
    /// # Errors
    /// - `NotFound`: a topic is missing.
    /// - `Invalid`: a stamp is missing, a message is late, or topics jump differently.
    /// - `Corrupt`: a chunk or a message is damaged.
    /// - Errors of the file system or the store.
    pub(crate) fn of(mut log: Log, recipe: &Recipe, memory: usize) -> Result<Self> {
        let mut found = messages(&mut log, recipe, memory);
        if is_damaged(&log, &found) {
            log.scan()?;
            found = messages(&mut log, recipe, memory);
        }
        Ok(Self { streams: streams(recipe), messages: found?, log, memory })
    }

    /// Finds the columns of each stream, which depend on the schema of the table if that is known.
    ///
    /// # Errors
    /// Those of [`Found::of`] and of [`find_columns`].
    pub(crate) fn with_columns(mut self, recipe: &Recipe, table: Option<&Schema>) -> Result<Self> {
        self.streams = streams(recipe);
        let mut found = find_columns(&self.log, recipe, &mut self.streams, &self.messages.runs, table);
        if is_damaged(&self.log, &found) {
            self.log.scan()?;
            self = Self::of(self.log, recipe, self.memory)?;
            found = find_columns(&self.log, recipe, &mut self.streams, &self.messages.runs, table);
        }
        found.map(|()| self)
    }

    /// Returns the ticks of the clock up to a time.
    ///
    /// # Errors
    /// - `Invalid`: two messages of the clock have the same time, or there would be too many rows.
    pub(crate) fn ticks(&self, recipe: &Recipe, to: Option<i64>) -> Result<Ticks> {
        let runs = &self.messages.runs;
        let found = match (recipe.clock.rate, runs.first()) {
            (Some(rate), _) => Ticks::of_rate(rate, &recipe.clock, runs, to),
            (None, Some(clock)) => Ticks::of_topic(clock, recipe.clock.on_equal, to),
            (None, None) => Err(Error::internal("a recipe without a clock")),
        };
        found.map_err(|error| error.at(format!("log {}", self.log.name())))
    }
}

/// Whether an index has led to damage, so that reading the whole log tells what is left.
fn is_damaged<T>(log: &Log, found: &Result<T>) -> bool {
    log.is_indexed() && found.as_ref().is_err_and(|error| error.kind() == ErrorKind::Corrupt)
}

fn messages(log: &mut Log, recipe: &Recipe, memory: usize) -> Result<Messages> {
    let mut transforms = Transforms::new(log, recipe)?;
    let streams = streams(recipe);
    let wanted: Vec<(&str, &Topic)> = streams.iter().map(|stream| (stream.topic.as_str(), &stream.settings)).collect();
    let bound = (memory / size_of::<Entry>() / streams.len().max(1)).max(4 * LEAST);
    let found = log.entries(&wanted, bound)?;
    let place = |error: Error| error.at(format!("log {}", log.name()));
    let (mut all, mut reports) = (Vec::new(), Vec::new());
    for ((found, without_stamp), stream) in found.into_iter().zip(&streams) {
        let messages = found.len() as u64 + without_stamp;
        let runs = runs(found, &stream.settings, bound).map_err(|error| error.at(format!("topic {}", stream.topic)));
        let (runs, late) = runs.map_err(place)?;
        let (name, topic) = (stream.name.clone(), stream.topic.clone());
        reports.push(MatchReport { name, topic, messages, late, without_stamp, ..MatchReport::default() });
        all.push((stream.topic.as_str(), runs));
    }
    let (runs, cuts) = aligned(all, recipe.clock.topic.is_some(), bound).map_err(place)?;
    transforms.settle(cuts);
    Ok(Messages { runs, reports, transforms })
}
