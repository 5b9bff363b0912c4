//! Looks for what is wrong with a table, in a bounded number of requests, and says what mends it. Reads the newest manifests,
//! listings, layouts of the newest version, pins, and the manifests of the tables that it uses; no payload. What a bound leaves out
//! is listed. `verify` reads every byte.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use super::gc::{before, is_gone};
use crate::{
    commit,
    error::{ErrorKind, Result, counted},
    format::{MAX_PIN, MAX_SEGMENT_ROWS, Manifest, Pin, manifest_name, version_of_name},
    store::{Listed, Store},
    table::{
        changing::{publish::not_pinned, session_files::is_session_file},
        objects::{FOLDERS, Named, named, small, together},
        table::Table,
    },
    waves::waves,
};

/// Newest manifests that are read.
const MANIFESTS: usize = 64;
/// Names that are listed of each folder: 20 requests to S3.
const NAMES: usize = 20_000;
/// Pins, layouts and tables that are read.
const READS: usize = 256;
/// Findings of one kind that are named one by one.
const EACH: usize = 10;
/// Versions from which on a table has many.
const MANY_VERSIONS: usize = 1_000;
/// Segments and runs of blocks from which on a table has many.
const MANY_PIECES: u64 = 32;
/// Rows of a window whose blocks should lie in one run.
const WINDOW: u64 = 16;

/// Result of [`Table::diagnose`]: the faults of a table, and the parts that were not checked.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// URL of the table.
    pub url: String,
    /// Newest version; `None` if its manifest cannot be read, or there is none.
    pub version: Option<u64>,
    /// The faults; empty if the table is sound.
    pub findings: Vec<Finding>,
    /// Parts that were left out, because the table is too large to look at everything.
    pub not_checked: Vec<String>,
}

impl Diagnosis {
    /// Whether stored data is missing or damaged.
    pub fn is_damaged(&self) -> bool {
        self.findings.iter().any(|finding| finding.cure == Cure::Copy)
    }
}

/// A fault of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// Copy the object of this name from a copy of the table, then verify.
    Copy,
    /// Collect garbage: [`Table::collect_garbage`].
    CollectGarbage,
    /// Keep fewer versions: [`Table::collect_garbage`] with [`GcSettings::keep_versions`](super::GcSettings::keep_versions).
    KeepFewer,
    /// Delete what a writer left that never committed: [`Table::collect_abandoned`].
    CollectAbandoned,
    /// Merge index segments: [`Table::compact`].
    Compact,
    /// Merge index segments, and copy scattered blocks side by side: [`Table::compact_runs`].
    CompactRuns,
    /// Record where the other table is now: [`Table::rebind`].
    Rebind,
    /// Allow references to this URL: [`StoreOptions::allow`](crate::StoreOptions::allow).
    Allow(String),
    /// Make the table or view at this place anew from a version that exists.
    MakeAnew(String),
    /// Copy the chunks of the other table: [`Table::materialize`]; for a view, keep the other table.
    Materialize,
    /// Remove this tag: [`Edit::untag`](crate::table::Edit::untag).
    Untag(String),
    /// Use a newer build.
    Upgrade,
}

impl Table {
    /// Looks for what is wrong with the table in `store`: objects of the newest version that are missing or have another size,
    /// manifests and pins that cannot be read, other tables that are gone, sessions and garbage that are older than `age`, tags of
    /// versions that do not exist, and many small pieces. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// Reads no payload, and sends at most about 2,000 requests, whatever the size of the table; to a small table, some twenty.
    /// [`Diagnosis::not_checked`] lists what these bounds leave out. Bytes within an object are not compared with its hash:
    /// [`Table::verify`] does.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Store, Table, WriteOptions, table::{Cure, now_ms}};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("t").display().to_string();
    /// # let column = || Arc::new(Int64Array::from_iter_values(0..10)) as _;
    /// # let schema = Schema::builder().index("id", "i64").group("square", [("square.side", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?;
    /// # partition.write(&RecordBatch::try_from_iter([("id", column()), ("square.side", column())])?).await?;
    /// # writer.commit([partition.finish().await?]).await?;
    /// let (store, week) = (Store::open(&url)?, Duration::from_secs(7 * 24 * 3600));
    /// assert!(Table::diagnose(&store, week, now_ms()).await?.findings.is_empty());
    /// std::fs::remove_dir_all(folder.path().join("t/chunks"))?;
    /// let found = Table::diagnose(&store, week, now_ms()).await?;
    /// assert!(found.findings[0].what.contains("missing") && found.findings[0].cure == Cure::Copy);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A fault of the table is no error: [`Diagnosis::findings`] lists it.
    /// - `NotFound`: there is no table, and nothing that a writer left.
    /// - `Unsupported`: the newest version needs a newer build to be read, or the store cannot list its objects.
    /// - Errors of the store.
    pub async fn diagnose(store: &Store, age: Duration, now: i64) -> Result<Diagnosis> {
        let mut doctor = Doctor::new(store.clone(), before(age, now));
        let newest = match Self::open_in(store.clone()).await {
            Ok(newest) => Some(newest),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let version = commit::newest_version(store).await?.unwrap_or_default();
                doctor.damage(format!("the newest manifest cannot be read: {error}"), manifest_name(version), None);
                doctor.found.not_checked.push("all else: the newest manifest says what belongs to the table".to_owned());
                None
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if !doctor.abandoned().await? {
                    return Err(error);
                }
                None
            }
            Err(error) => return Err(error),
        };
        if let Some(newest) = newest {
            doctor.found.version = Some(newest.version());
            doctor.versions(&newest).await?;
            doctor.objects(&newest).await?;
            doctor.owners(&newest).await?;
            doctor.pins(&newest).await?;
            doctor.leftovers().await?;
            doctor.pieces(newest.manifest());
        }
        Ok(doctor.found)
    }
}

/// The state of a diagnosis.
struct Doctor {
    store: Store,
    /// Objects that were written at this time or earlier have passed the age, in milliseconds since 1970-01-01T00:00Z.
    before: i64,
    found: Diagnosis,
    /// The versions that exist, and when they were written; `None` if there are more than were listed.
    versions: Option<BTreeMap<u64, i64>>,
}

impl Doctor {
    fn new(store: Store, before: i64) -> Self {
        let found = Diagnosis { url: store.url().to_owned(), ..Diagnosis::default() };
        Self { store, before, found, versions: None }
    }

    fn note(&mut self, what: impl Into<String>, place: impl Into<String>, since_ms: Option<i64>, cure: Cure) {
        self.found.findings.push(Finding { what: what.into(), place: place.into(), since_ms, cure });
    }

    fn damage(&mut self, what: impl Into<String>, place: impl Into<String>, since_ms: Option<i64>) {
        self.note(what, place, since_ms, Cure::Copy);
    }

    /// Whether a version exists. Takes it that it does if not all versions were listed.
    fn exists(&self, version: u64) -> bool {
        self.versions.as_ref().is_none_or(|versions| versions.contains_key(&version))
    }

    /// Lists a folder up to the bound. Returns also whether these are all of its names.
    async fn listed(&self, folder: &str) -> Result<(Vec<Listed>, bool)> {
        let listed = self.store.list_expected(folder, NAMES, |_| true).await?;
        let whole = listed.len() < NAMES;
        Ok((listed, whole))
    }

    /// Notes what a writer left that never committed a first version. Returns whether there is anything.
    async fn abandoned(&mut self) -> Result<bool> {
        // A pin is put for a version that exists.
        let (pins, _) = self.listed("pins").await?;
        if let Some(pin) = pins.iter().find(|listed| Pin::is_name(&listed.name)) {
            let what = "no manifest is there, but other tables use versions of this one: its manifests were lost";
            self.damage(what, "manifests", Some(pin.modified_ms));
            return Ok(true);
        }
        for folder in ["sessions", "chunks", "index"] {
            let first = self.store.list_expected(folder, 1, |_| true).await?;
            if let Some(Listed { name, modified_ms, .. }) = first.into_iter().next() {
                let what = "a writer began a table here, and no version was committed";
                self.note(what, name, Some(modified_ms), Cure::CollectAbandoned);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Looks at the manifests: whether the newest ones can be read, since when they condemn objects, and what the tags name.
    async fn versions(&mut self, newest: &Table) -> Result<()> {
        let (listed, whole) = self.listed("manifests").await?;
        // The name of a newer version sorts first.
        let written: Vec<(u64, i64)> =
            listed.iter().filter_map(|listed| Some((version_of_name(&listed.name)?, listed.modified_ms))).collect();
        let store = self.store.clone();
        let reads = written.iter().copied().skip_while(|(version, _)| *version > newest.version()).take(MANIFESTS);
        let reads = reads.map(|(version, written)| {
            let store = store.clone();
            async move {
                match commit::load(&store, version).await {
                    Ok((manifest, _)) => Ok((version, written, Some(manifest), None)),
                    // A garbage collection may have deleted it just now.
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok((version, written, None, None)),
                    Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                        Ok((version, written, None, Some(error)))
                    }
                    Err(error) => Err(error),
                }
            }
        });
        let (mut condemned, mut marked) = (None, None);
        let (mut still_condemned, mut still_marked) = (true, true);
        for (version, written, manifest, error) in together(reads.collect::<Vec<_>>()).await? {
            match error {
                Some(error) if error.kind() == ErrorKind::Corrupt => {
                    self.damage(format!("version {version} cannot be read: {error}"), manifest_name(version), None);
                }
                Some(error) => self.note(error.to_string(), manifest_name(version), Some(written), Cure::Upgrade),
                None => {}
            }
            let Some(manifest) = manifest else { continue };
            still_condemned &= !manifest.condemned.is_empty();
            still_marked &= manifest.deleting.as_ref().is_some_and(|marks| !marks.is_empty());
            condemned = if still_condemned { Some(written) } else { condemned };
            marked = if still_marked { Some(written) } else { marked };
        }
        if written.len() > MANIFESTS {
            let rest = counted(written.len() - MANIFESTS, "older version");
            self.found.not_checked.push(if whole { rest } else { format!("more than {rest}") });
        }
        let manifest = newest.manifest();
        let bytes: u64 = manifest.condemned.iter().map(|object| object.object.bytes).sum();
        let now = manifest_name(newest.version());
        if let Some(since) = condemned.filter(|since| *since <= self.before) {
            let objects = counted(manifest.condemned.len(), "object");
            self.note(
                format!("{objects} of {} are condemned, and may be deleted", counted(bytes, "byte")),
                now.as_str(),
                Some(since),
                Cure::CollectGarbage,
            );
        }
        if let Some(since) = marked.filter(|since| *since <= self.before) {
            let objects = counted(manifest.deleting.iter().flatten().count(), "object");
            let what =
                format!("{objects} are marked for deletion; a garbage collection was not finished, or the next one is due");
            self.note(what, now.as_str(), Some(since), Cure::CollectGarbage);
        }
        if let Err(error) = newest.next_version_may_be_written() {
            self.note(error.to_string(), now.as_str(), None, Cure::Upgrade);
        }
        if written.len() >= MANY_VERSIONS {
            let (count, oldest) = (written.len(), written.last().map(|(_, written)| *written));
            let more = if whole { "" } else { "at least " };
            let what = format!("the table has {more}{}, and a garbage collection reads them all", counted(count, "version"));
            self.note(what, "manifests", oldest, Cure::KeepFewer);
        }
        self.versions = whole.then(|| written.into_iter().collect());
        let lost: Vec<(String, u64)> = manifest
            .tags
            .iter()
            .filter(|(_, version)| !self.exists(**version))
            .map(|(tag, version)| (tag.clone(), *version))
            .collect();
        for (tag, version) in lost {
            let what = format!("tag `{tag}` is of version {version}, which does not exist");
            self.note(what, now.as_str(), None, Cure::Untag(tag));
        }
        Ok(())
    }

    /// Compares the names and sizes of the objects of the newest version with those that are there.
    async fn objects(&mut self, newest: &Table) -> Result<()> {
        let manifest = newest.manifest();
        let mut needed: BTreeMap<String, u64> = small(manifest).collect();
        let layouts: BTreeSet<_> =
            manifest.segments.iter().flat_map(|segment| &segment.groups).map(|group| group.layout.blake3).collect();
        if layouts.len() <= READS {
            match named(std::slice::from_ref(newest)).await {
                Ok(found) => needed.extend(found.iter().flat_map(Named::objects).map(|(name, bytes)| (name.clone(), bytes))),
                Err(error) if error.kind() == ErrorKind::Corrupt => self.damage(error.to_string(), "layout", None),
                Err(error) => return Err(error),
            }
        } else {
            let count = counted(layouts.len(), "layout");
            self.found.not_checked.push(format!("chunks: the newest version has {count}, and at most {READS} are read"));
        }
        let folders: BTreeSet<&str> = needed.keys().filter_map(|name| name.split('/').next()).collect();
        let (mut present, mut ends) = (BTreeMap::new(), BTreeMap::new());
        for folder in folders {
            let (listed, whole) = self.listed(folder).await?;
            if !whole {
                ends.insert(folder, listed.last().map(|last| last.name.clone()).unwrap_or_default());
            }
            present.extend(listed.into_iter().map(|listed| (listed.name, listed.bytes)));
        }
        let (mut unknown, mut lost) = (0_u64, Vec::new());
        for (name, bytes) in &needed {
            let end = name.split('/').next().and_then(|folder| ends.get(folder));
            match present.get(name) {
                Some(found) if found == bytes => {}
                Some(found) => {
                    let (version, found) = (newest.version(), counted(*found, "byte"));
                    lost.push((format!("an object of version {version} has {found}, expected {bytes}"), name));
                }
                None if end.is_some_and(|end| name > end) => unknown += 1,
                None => lost.push((format!("an object of version {} is missing", newest.version()), name)),
            }
        }
        if unknown > 0 {
            let what = counted(unknown, "object");
            self.found.not_checked.push(format!("{what} whose names stand behind the first {NAMES} of their folder"));
        }
        let rest = lost.len().saturating_sub(EACH);
        for (what, name) in lost.into_iter().take(EACH) {
            self.damage(what, name.as_str(), None);
        }
        if rest > 0 {
            self.damage(format!("{} more are missing, or have another size", counted(rest, "object")), "chunks", None);
        }
        Ok(())
    }

    /// Looks for the other tables that the newest version uses, and for the pins that it could not leave there.
    async fn owners(&mut self, newest: &Table) -> Result<()> {
        let stores = &newest.manifest().stores;
        let looks = (1..)
            .zip(stores)
            .take(READS)
            .map(|(number, foreign)| async move { Ok((foreign, newest.store_of(number).await.err())) });
        for (foreign, error) in together(looks.collect::<Vec<_>>()).await? {
            let Some(error) = error else { continue };
            let url = foreign.urls.first().cloned().unwrap_or_default();
            let what = match newest.is_view() {
                true => "rows of this view are in a table that cannot be opened",
                false => "chunks of this table are in another one that cannot be opened",
            };
            let cure = match error.kind() {
                ErrorKind::Denied if url.contains("://") => Cure::Allow(url.clone()),
                _ => Cure::Rebind,
            };
            self.note(format!("{what}: {error}"), format!("{url}@{}", foreign.version), None, cure);
        }
        if stores.len() > READS {
            self.found.not_checked.push(counted(stores.len() - READS, "other table"));
        }
        let written = self.versions.as_ref().and_then(|versions| versions.get(&newest.version()).copied());
        for url in not_pinned(newest.manifest()) {
            let what = "no pin could be left in a table that this one uses: a garbage collection there may delete what it needs";
            self.note(what, url, written, Cure::Materialize);
        }
        Ok(())
    }

    /// Reads the pins: those of versions that do not exist keep garbage, and those that name a lost version tell of a broken table.
    async fn pins(&mut self, newest: &Table) -> Result<()> {
        let (mut listed, whole) = self.listed("pins").await?;
        listed.retain(|listed| Pin::is_name(&listed.name));
        if listed.len() > READS {
            let rest = counted(listed.len() - READS, "pin");
            self.found.not_checked.push(if whole { rest } else { format!("more than {rest}") });
        }
        let (store, before) = (self.store.clone(), self.before);
        let looks = listed.into_iter().take(READS).map(|listed| {
            let store = store.clone();
            async move {
                let content = match store.get(&listed.name, MAX_PIN).await {
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                    read => read,
                };
                let pin = match content.and_then(|content| Pin::parse(&content, &listed.name)) {
                    Err(error) if error.kind() != ErrorKind::Corrupt => return Err(error),
                    pin => pin,
                };
                let dead = match &pin {
                    Ok(pin) => listed.modified_ms <= before && is_gone(&store, pin).await,
                    Err(_) => false,
                };
                Ok(Some((listed, pin, dead)))
            }
        });
        for (listed, pin, dead) in together(looks.collect::<Vec<_>>()).await?.into_iter().flatten() {
            let since = Some(listed.modified_ms);
            match pin {
                Err(error) => {
                    let what =
                        format!("a pin cannot be read, so that no garbage is collected: {error}; delete it if no table needs it");
                    self.damage(what, listed.name, since);
                }
                // The folder of another table was copied here.
                Ok(pin) if pin.owner.table != newest.manifest().table => {}
                Ok(_) if dead => self.note("a pin is of a version that does not exist", listed.name, since, Cure::CollectGarbage),
                Ok(pin) => {
                    if !self.exists(pin.owner.version) {
                        let (user, version) = (pin.urls.first().cloned().unwrap_or_default(), pin.owner.version);
                        let what = format!("another table or view uses version {version}, which does not exist");
                        self.note(what, user.as_str(), since, Cure::MakeAnew(user.clone()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks for sessions and unfinished files that nobody has written to for an age.
    async fn leftovers(&mut self) -> Result<()> {
        let (listed, whole) = self.listed("sessions").await?;
        if !whole {
            self.found.not_checked.push(format!("files of sessions behind the first {NAMES}"));
        }
        let mut sessions: BTreeMap<String, (u64, i64)> = BTreeMap::new();
        for listed in listed.into_iter().filter(|listed| is_session_file(&listed.name)) {
            let session = listed.name.split('/').nth(1).unwrap_or_default();
            let (files, last) = sessions.entry(format!("sessions/{session}")).or_insert((0, i64::MIN));
            (*files, *last) = (*files + 1, (*last).max(listed.modified_ms));
        }
        let old: Vec<_> = sessions.into_iter().filter(|(_, (_, last))| *last <= self.before).collect();
        let (rest, oldest) = (old.len().saturating_sub(EACH), old.iter().map(|(_, (_, last))| *last).min());
        for (session, (files, last)) in old.into_iter().take(EACH) {
            let what = format!("a session left {} and was neither committed nor aborted", counted(files, "file"));
            self.note(what, session, Some(last), Cure::CollectGarbage);
        }
        if rest > 0 {
            self.note(format!("{} more were left", counted(rest, "session")), "sessions", oldest, Cure::CollectGarbage);
        }
        let begun = self.store.list_unfinished(&FOLDERS).await?;
        let begun: Vec<&Listed> = begun.iter().filter(|listed| listed.modified_ms <= self.before).collect();
        if let Some(first) = begun.iter().min_by_key(|listed| listed.modified_ms) {
            let what = format!("killed writers left {}", counted(begun.len(), "unfinished file"));
            self.note(what, first.name.as_str(), Some(first.modified_ms), Cure::CollectGarbage);
        }
        Ok(())
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
            self.note(what, "index", None, Cure::Compact);
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
                self.note(what, format!("column group `{}`", group.name), None, Cure::CompactRuns);
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
