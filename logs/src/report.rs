//! What became of the messages of a log: counts of each match and transform, and warnings.

use serde::{Deserialize, Serialize};

use crate::tf::TfReport;

/// Counts what a match found in a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct MatchReport {
    /// Name of the match, or of the clock.
    pub name: String,
    /// Its topic.
    pub topic: String,
    /// Messages of the topic.
    pub messages: u64,
    /// Rows that got a message.
    pub matched: u64,
    /// Messages that an earlier row had, too: how often.
    pub reused: u64,
    /// Messages that no row has.
    pub skipped: u64,
    /// Rows that got none.
    pub missing: u64,
    /// Messages that were left out because they were late.
    pub late: u64,
    /// Messages that were left out because their stamp was 0.
    pub without_stamp: u64,
    /// The largest distance of a row to its message, in nanoseconds.
    pub largest_dt: Option<u64>,
}

/// Reports the import of one log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct LogReport {
    /// Its name.
    pub log: String,
    /// Its rows.
    pub rows: u64,
    /// Ticks that were left out because a match was missing.
    pub dropped: u64,
    /// Parts, which gaps between rows separate.
    pub parts: u32,
    /// The clock, if a topic is the clock, and each match.
    pub matches: Vec<MatchReport>,
    /// Each transform between coordinate frames.
    pub transforms: Vec<TfReport>,
    /// Sentences about what is missing or damaged.
    pub warnings: Vec<String>,
}
