//! Looks for what is wrong with a table, in a bounded number of requests, and says what mends it. Reads the newest manifests,
//! listings, layouts of the newest version, pins, and the manifests of the tables that it uses; no payload. What was not looked at
//! is listed. `verify` reads every byte.
//!
//! `doctor/versions.rs` looks at the manifests, `doctor/objects.rs` at the objects that they name, and `doctor/others.rs` at other
//! tables and their pins.

mod objects;
mod others;
mod versions;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use super::gc::{before, is_ours};
use crate::{
    error::{ErrorKind, Result, counted},
    format::{MAX_SEGMENT_ROWS, Manifest},
    store::{Listed, Store},
    table::version::{objects::FOLDERS, table::Table},
    work::waves,
};

/// Newest manifests that are read.
const MANIFESTS: usize = 256;
/// Names that are listed of each folder: 20 requests to S3.
const NAMES: usize = 20_000;
/// Pins, layouts and tables that are read.
const READS: usize = 256;
/// Findings of one kind that are named one by one.
const EACH: usize = 10;
/// Segments and runs of blocks from which on a table has many.
const MANY_PIECES: u64 = 32;
/// Rows of a window whose blocks should lie in one run.
const WINDOW: u64 = 16;

/// Result of [`Storage::diagnose`](crate::table::Storage::diagnose): the faults of a table, and the parts that were not checked.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// URL of the table.
    pub url: String,
    /// Newest version; `None` if its manifest cannot be read, or there is none.
    pub version: Option<u64>,
    /// The faults; empty if none was found in what was checked.
    pub findings: Vec<Finding>,
    /// Objects in the table's folders that are no fault and that no command deletes, such as files of others. Each note names them, and
    /// says how to delete them.
    pub notes: Vec<String>,
    /// Parts that were not checked, and what checks them. The bytes within objects are always among them.
    pub not_checked: Vec<String>,
}

impl Diagnosis {
    /// Whether stored data is missing or damaged.
    pub fn is_damaged(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| matches!(finding.cure, Cure::Copy | Cure::CopyOrMove(_) | Cure::GiveUp(_) | Cure::Move(_)))
    }
}

/// A fault of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// A sentence that describes the fault.
    pub what: String,
    /// The object, column group or other table that it is about, below the root of the table or as a URL.
    pub place: String,
    /// The time since when, by the store's clock, in milliseconds since 1970-01-01T00:00Z; `None` if unknown.
    pub since_ms: Option<i64>,
    /// The step that mends the fault.
    pub cure: Cure,
}

/// The step that mends a [`Finding`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cure {
    /// Replace the object of this name by that of a copy of the table: [`Storage::repair`](crate::table::Storage::repair).
    Copy,
    /// Replace the manifest of this name by that of a copy of the table: [`Storage::repair`](crate::table::Storage::repair). If there is no copy, move the manifest out of the table: its version
    /// is lost then, and this version is the newest.
    CopyOrMove(u64),
    /// Replace the manifest of this name by that of a copy of the table: [`Storage::repair`](crate::table::Storage::repair). If there is no copy, give this version up: [`Versions::give_up`](crate::table::Versions::give_up).
    GiveUp(u64),
    /// Move the manifest of this name, which is of another table, out of this one: then this version is the newest.
    Move(u64),
    /// Collect garbage: [`Storage::collect_garbage`](crate::table::Storage::collect_garbage).
    CollectGarbage,
    /// Keep fewer versions: [`Storage::collect_garbage`](crate::table::Storage::collect_garbage) with [`GcSettings::keep_versions`](super::GcSettings::keep_versions).
    KeepFewer,
    /// Delete what a writer left that never committed: [`Storage::collect_abandoned`](crate::table::Storage::collect_abandoned).
    CollectAbandoned,
    /// Merge index segments: [`Storage::compact`](crate::table::Storage::compact).
    Compact,
    /// Merge index segments, and copy scattered blocks side by side: [`Storage::compact_runs`](crate::table::Storage::compact_runs).
    CompactRuns,
    /// Record where the other table is now: [`Table::rebind`].
    Rebind,
    /// Allow references to this URL: [`StoreOptions::allow`](crate::StoreOptions::allow).
    Allow(String),
    /// Give this user the right to read the other table.
    Permit,
    /// Look again later: the store of the other table did not answer.
    Retry,
    /// Make the table or view at this place anew from a version that exists.
    MakeAnew(String),
    /// Copy the chunks of the other table: [`Storage::materialize`](crate::table::Storage::materialize); for a view, keep the other table.
    Materialize,
    /// Remove this tag: [`Edit::untag`](crate::table::Edit::untag).
    Untag(String),
    /// Use a newer build.
    Upgrade,
}

impl Table {
    /// Does what `Storage::diagnose` says.
    pub(crate) async fn diagnose(store: &Store, age: Duration, now: i64) -> Result<Diagnosis> {
        let mut doctor = Doctor::new(store.clone(), before(age, now));
        if let Some(newest) = doctor.newest().await? {
            // Listed before the manifests are read: garbage collection deletes the manifest of a version before its objects.
            let present = doctor.present().await?;
            doctor.versions(&newest, &present).await?;
            doctor.chunks(&newest, &present).await?;
            doctor.lost().await;
            doctor.owners(&newest).await?;
            doctor.pins(&newest).await?;
            doctor.leftovers().await?;
            doctor.pieces(newest.manifest());
            doctor.strangers();
            let bytes = "the bytes of objects: names and sizes were compared; `verify` reads them";
            doctor.found.not_checked.push(bytes.to_owned());
        }
        Ok(doctor.found)
    }
}

/// An object that is missing, or has another size.
struct Lost {
    expected: u64,
    found: Option<u64>,
    /// The versions that name it, ascending.
    versions: Vec<u64>,
}

/// The state of a diagnosis.
struct Doctor {
    store: Store,
    /// Objects that were written at this time or earlier have passed the age, in milliseconds since 1970-01-01T00:00Z.
    before: i64,
    found: Diagnosis,
    /// The newest version that was listed; its manifest may be unreadable.
    top: u64,
    /// The versions that exist, and when they were written; `None` if there are more than were listed.
    versions: Option<BTreeMap<u64, i64>>,
    /// Objects that are missing or have another size, by name.
    lost: BTreeMap<String, Lost>,
    /// Objects whose names stand behind those that were listed.
    unlisted: BTreeSet<String>,
    /// Number of files whose names no writer of tables makes, and the first of these names.
    strangers: (u64, String),
}

impl Doctor {
    fn new(store: Store, before: i64) -> Self {
        let found = Diagnosis { url: store.url().to_owned(), ..Diagnosis::default() };
        let (lost, unlisted, strangers) = (BTreeMap::new(), BTreeSet::new(), (0, String::new()));
        Self { store, before, found, top: 0, versions: None, lost, unlisted, strangers }
    }

    fn find(&mut self, what: impl Into<String>, place: impl Into<String>, since_ms: Option<i64>, cure: Cure) {
        self.found.findings.push(Finding { what: what.into(), place: place.into(), since_ms, cure });
    }

    fn damage(&mut self, what: impl Into<String>, place: impl Into<String>, since_ms: Option<i64>) {
        self.find(what, place, since_ms, Cure::Copy);
    }

    /// Whether a version exists. Takes it that it does if not all versions were listed.
    fn exists(&self, version: u64) -> bool {
        self.versions.as_ref().is_none_or(|versions| versions.contains_key(&version))
    }

    /// Lists a folder up to the bound. Returns also whether these are all of its names. Files of others are counted and left out.
    async fn listed(&mut self, folder: &str) -> Result<(Vec<Listed>, bool)> {
        let listed = self.store.list_expected(folder, NAMES, |_| true).await?;
        let whole = listed.len() < NAMES;
        Ok((self.without_strangers(listed, is_ours), whole))
    }

    /// Counts the files whose names are not those of a table, and returns the others.
    fn without_strangers(&mut self, listed: Vec<Listed>, is_ours: impl Fn(&str) -> bool) -> Vec<Listed> {
        let (ours, strange): (Vec<Listed>, Vec<Listed>) = listed.into_iter().partition(|listed| is_ours(&listed.name));
        if let Some(first) = strange.first().filter(|_| self.strangers.0 == 0) {
            first.name.clone_into(&mut self.strangers.1);
        }
        self.strangers.0 += strange.len() as u64;
        ours
    }

    /// Opens the newest version that can be read. Notes what a writer left if there is no version.
    async fn newest(&mut self) -> Result<Option<Table>> {
        match Table::open_in(self.store.clone()).await {
            Ok(newest) => {
                (self.found.version, self.top) = (Some(newest.version()), newest.version());
                Ok(Some(newest))
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => self.newest_readable(&error).await,
            Err(error) if error.kind() == ErrorKind::NotFound => match self.abandoned().await? {
                true => Ok(None),
                false => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    /// Notes what a writer left that never committed a first version. Returns whether there is anything.
    async fn abandoned(&mut self) -> Result<bool> {
        // A pin is put for a version that exists.
        let (pins, _) = self.listed("pins").await?;
        if let Some(pin) = pins.first() {
            let what = "no manifest is there, but other tables use versions of this one: its manifests were lost";
            self.damage(what, "manifests", Some(pin.modified_ms));
            return Ok(true);
        }
        for folder in ["sessions", "chunks", "index"] {
            let (listed, _) = self.listed(folder).await?;
            let Some(Listed { name, modified_ms, .. }) = listed.into_iter().max_by_key(|listed| listed.modified_ms) else {
                continue;
            };
            let what = "a writer began a table here, and no version was committed";
            match modified_ms <= self.before {
                true => self.find(what, name, Some(modified_ms), Cure::CollectAbandoned),
                false => {
                    self.found.not_checked.push(format!("{what}: the writer may be at work, and there is nothing else to check"))
                }
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Looks for sessions and unfinished files that nobody has written to for an age.
    async fn leftovers(&mut self) -> Result<()> {
        let (listed, whole) = self.listed("sessions").await?;
        if !whole {
            self.found.not_checked.push(format!("files of sessions behind the first {NAMES}"));
        }
        let mut sessions: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for listed in listed {
            let session = listed.name.split('/').nth(1).unwrap_or_default();
            let (files, last) = sessions.entry(format!("sessions/{session}")).or_insert((0, i64::MIN));
            (*files, *last) = (*files + 1, (*last).max(listed.modified_ms));
        }
        let old: Vec<_> = sessions.into_iter().filter(|(_, (_, last))| *last <= self.before).collect();
        let (rest, oldest) = (old.len().saturating_sub(EACH), old.iter().map(|(_, (_, last))| *last).min());
        for (session, (files, last)) in old.into_iter().take(EACH) {
            let what = format!("a session left {} and was neither committed nor aborted", counted(files, "file"));
            self.find(what, session, Some(last), Cure::CollectGarbage);
        }
        if rest > 0 {
            self.find(format!("{} more were left", counted(rest, "session")), "sessions", oldest, Cure::CollectGarbage);
        }
        let begun = self.store.list_unfinished(&FOLDERS).await?;
        let mut begun = self.without_strangers(begun, |name| name.rsplit_once('#').is_some_and(|(name, _)| is_ours(name)));
        begun.retain(|listed| listed.modified_ms <= self.before);
        if let Some(first) = begun.iter().min_by_key(|listed| listed.modified_ms) {
            let what = format!("killed writers left {}", counted(begun.len(), "unfinished file"));
            self.find(what, first.name.as_str(), Some(first.modified_ms), Cure::CollectGarbage);
        }
        Ok(())
    }

    /// Notes the files of others, once.
    fn strangers(&mut self) {
        let (count, first) = &self.strangers;
        let message = match count {
            0 => return,
            1 => format!("{first}: a file with a name that Tetrys gives to none; no command deletes it: remove it by hand"),
            _ => format!(
                "{first}, and {} more: files with names that Tetrys gives to none; no command deletes them: remove them by hand",
                count - 1
            ),
        };
        self.found.notes.push(message);
    }

    /// Looks for many small segments, and for rows whose neighbours lie elsewhere.
    fn pieces(&mut self, manifest: &Manifest) {
        let segments = manifest.segments.len() as u64;
        let merged = waves(manifest.segments.iter().map(|segment| segment.rows), MAX_SEGMENT_ROWS, usize::MAX).len() as u64;
        if segments >= MANY_PIECES && merged * 4 <= segments {
            let what = format!(
                "the index has {}, and {merged} would do: opening the table takes more requests",
                counted(segments, "segment")
            );
            self.find(what, "index", None, Cure::Compact);
        }
        for (number, group) in manifest.schema.groups().iter().enumerate() {
            let stored = manifest.segments.iter().filter_map(|segment| segment.groups.get(number));
            let (runs, bytes) = stored.fold((0, 0), |(runs, bytes), group| (runs + group.runs, bytes + group.stored_bytes));
            if runs >= MANY_PIECES && manifest.rows() / runs < WINDOW && bytes / runs < manifest.cuts.chunk_min / 4 {
                let what = format!(
                    "its blocks lie in {} of {} on average: windows of neighbouring rows take more requests",
                    counted(runs, "run"),
                    counted(bytes / runs, "byte")
                );
                self.find(what, format!("column group `{}`", group.name), None, Cure::CompactRuns);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_damage_asks_for_a_copy() {
        let finding = |cure| Finding { what: String::new(), place: String::new(), since_ms: None, cure };
        let found = |cure| Diagnosis { findings: vec![finding(cure)], ..Diagnosis::default() };
        assert!(found(Cure::Copy).is_damaged() && !found(Cure::Compact).is_damaged());
    }
}
