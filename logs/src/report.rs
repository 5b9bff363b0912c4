//! Reports of imports: counts of each match and transform of a log, warnings, and the logs that failed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

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
    /// Bytes of its files, from which another file of this name is told apart. `None`: the import did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// First and last time of rows of the import, in nanoseconds since 1970. `None`: the import did not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<(Option<i64>, Option<i64>)>,
}

impl LogReport {
    /// Whether two imports of a log have made the same rows of the same messages.
    pub(crate) fn is_of_same_rows(&self, other: &Self) -> bool {
        let of = |report: &Self| (report.rows, report.dropped, report.parts);
        of(self) == of(other) && self.matches == other.matches
    }
}

/// Reports the import of several logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Report {
    /// Each log.
    pub logs: Vec<LogReport>,
    /// Logs that failed, and why.
    pub failed: BTreeMap<String, String>,
    /// Warnings of logs whose rows were there already, and whose messages this import added to the table of a match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Report {
    /// Returns the report of a table to which logs were added.
    pub(crate) fn and(mut self, added: &Self) -> Self {
        let is_again = |log: &str| added.failed.contains_key(log) || added.logs.iter().any(|other| other.log == log);
        self.logs.retain(|log| !is_again(&log.log));
        self.failed.retain(|log, _| !is_again(log));
        self.logs.extend(added.logs.iter().cloned());
        self.failed.extend(added.failed.clone());
        self
    }

    /// Returns what the lineage of a version says of its import.
    pub(crate) fn lineage(&self) -> [(&'static str, Json); 2] {
        let source = json!({"kind": "logs", "logs": self.logs.len(), "failed": self.failed.len()});
        [("source", source), ("matches", totals(self))]
    }
}

/// Returns the sum of the reports of all logs, match by match.
fn totals(report: &Report) -> Json {
    let mut totals = serde_json::Map::new();
    for found in report.logs.iter().flat_map(|log| &log.matches) {
        let counts = [
            ("matched", found.matched),
            ("reused", found.reused),
            ("skipped", found.skipped),
            ("missing", found.missing),
            ("late", found.late + found.without_stamp),
        ];
        let total = totals.entry(found.name.clone()).or_insert_with(|| json!({"largest_dt": null}));
        for (key, count) in counts {
            let before = total.get(key).and_then(Json::as_u64).unwrap_or(0);
            total[key] = json!(before + count);
        }
        let largest = total["largest_dt"].as_u64().max(found.largest_dt);
        total["largest_dt"] = json!(largest);
    }
    totals.into()
}
