//! The plan of a garbage collection: the versions that it keeps, and the objects that it condemns, marks and deletes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;
use serde::Serialize;

use super::pins::{listed_pins, pins};
use crate::{
    commit,
    error::{Error, Result, counted},
    format::{Condemned, Manifest, Pin, manifest_name, version_of_name},
    id::{Hash, ObjectRef},
    store::{Listed, Store},
    table::{
        changing::session_files::is_session_file,
        objects::{FOLDERS, Named, named, readable_versions, together},
        table::Table,
    },
};

/// Settings of a garbage collection.
#[derive(Clone, Copy, Debug)]
pub struct GcSettings {
    /// Number of newest versions to keep; 0 keeps all. Versions that have a tag or a pin are kept in any case. A version
    /// without a change, such as one that a garbage collection made, does not count: it is kept as long as the version that it repeats.
    pub keep_versions: usize,
    /// Minimum age of objects to condemn, and of condemnations to carry out. A commit in progress may need a younger object, and
    /// a reader of an old version may not have seen a younger condemnation. Use at least an hour while others use the table, and
    /// 0 only if nobody else does. The default is 7 days.
    pub age: Duration,
}

impl Default for GcSettings {
    fn default() -> Self {
        Self { keep_versions: 0, age: Duration::from_secs(7 * 24 * 3600) }
    }
}

/// The work of a garbage collection, planned or done.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GcPlan {
    /// Newest version when the plan was made; 0 if no version was ever committed.
    pub version: u64,
    /// Versions that are not kept, newest first.
    pub expired: Vec<u64>,
    /// Versions that are kept only because other tables use them.
    pub pinned: Vec<u64>,
    /// Objects to condemn, because no kept version names them: names and bytes.
    pub condemn: BTreeMap<String, u64>,
    /// Objects to mark and delete, because they were condemned long enough ago: names and bytes.
    pub delete: BTreeMap<String, u64>,
    /// Other objects to delete: manifests of expired versions, files that killed writers left behind, and dead pins, whose
    /// versions do not exist: names and bytes.
    pub sweep: BTreeMap<String, u64>,
    /// Number of unneeded objects that are younger than the age, or whose condemnation is.
    pub waiting: u64,
    /// Whether the plan was carried out.
    pub done: bool,
    /// The lists of condemned and marked objects for the next version. `None` if they equal those of the newest version.
    #[serde(skip)]
    pub(super) lists: Option<Lists>,
}

/// The objects that a version condemns, and those that it marks for deletion.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Lists {
    pub(super) condemned: Vec<Condemned>,
    pub(super) deleting: Vec<Condemned>,
}

impl GcPlan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.condemn.is_empty() && self.delete.is_empty() && self.sweep.is_empty() && self.lists.is_none()
    }
}

/// Returns the time, in milliseconds since 1970, at or before which an object must have been written to be old enough.
pub(in crate::table::upkeep) fn before(age: Duration, now: i64) -> i64 {
    now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

/// The folders of the objects that versions name.
pub(in crate::table::upkeep) const NAMED: [&str; 6] = ["attachments", "chunks", "hashes", "index", "joins", "layout"];

/// A plan, with the tables from which it was made.
pub(super) struct Survey {
    pub(super) plan: GcPlan,
    pub(super) newest: Table,
    /// Versions that are not kept, with the bytes of their manifests.
    pub(super) expired: Vec<(Table, Bytes)>,
}

/// An existing version.
struct Version {
    table: Table,
    bytes: Bytes,
    written: i64,
    is_kept: bool,
}

/// Reads all manifests, layouts, pins and listings, and makes the plan. Returns `None` if there is no version.
pub(super) async fn survey(store: &Store, settings: GcSettings, now: i64) -> Result<Option<Survey>> {
    let before = before(settings.age, now);
    let Some((mut versions, newest)) = versions(store).await? else { return Ok(None) };
    for version in &versions {
        // A later build may have made objects for the version that this one would not know to keep.
        version.table.may_be_collected()?;
    }
    let (listed, (pinned, dead_pins)) = futures::future::try_join(listed(store, &NAMED), pins(store, &newest, before)).await?;
    let mut plan = GcPlan { version: newest.version(), ..GcPlan::default() };
    plan.sweep.extend(dead_pins);
    plan.pinned = choose(&mut versions, &newest, settings.keep_versions, &pinned);
    let tables: Vec<Table> = versions.iter().map(|version| version.table.clone()).collect();
    let names: Vec<Named> = named(&tables).await?;
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    for (version, names) in versions.iter().zip(&names).filter(|(version, _)| version.is_kept) {
        if names.is_missing_layouts {
            // Fails and names the missing layout, unless another collection has deleted the version just now.
            version.table.objects().await?;
        }
        needed.extend(names.objects().map(|(name, _)| name.as_str()));
    }
    let manifest = newest.manifest();
    let condemned_since = since(&versions, |manifest| manifest.condemned.iter().map(Condemned::name).collect());
    let marked_since = since(&versions, |manifest| manifest.deleting.iter().flatten().map(Condemned::name).collect());
    let mut lists = Lists::default();
    let present: BTreeSet<&str> = listed.iter().map(|listed| listed.name.as_str()).collect();
    let unneeded = |name: &str| present.contains(name) && !needed.contains(name);
    let old_enough = condemned_since.iter().filter(|(name, since)| **since <= before && unneeded(name));
    let mut marks: BTreeSet<&str> = old_enough.map(|(name, _)| name.as_str()).collect();
    // The manifest of an expired version is deleted once the next version is old enough, and each object that only expired
    // versions name can be deleted now. As long as the manifest stays, no object that it names is deleted.
    let successors: Vec<i64> = versions.iter().skip(1).map(|version| version.written).collect();
    let expired: Vec<(&Version, &Named, i64)> = (versions.iter().zip(&names).zip(successors))
        .filter(|((version, _), _)| !version.is_kept)
        .map(|((version, names), successor)| (version, names, successor))
        .collect();
    let held = loop {
        let goes = |name: &str| !unneeded(name) || marks.contains(name) || marked_since.contains_key(name);
        let stays =
            |(_, names, successor): &(&Version, &Named, i64)| *successor > before || !names.objects().all(|(name, _)| goes(name));
        let stay: Vec<bool> = expired.iter().map(stays).collect();
        let staying = expired.iter().zip(&stay).filter(|(_, stays)| **stays);
        let held: BTreeSet<&str> =
            staying.flat_map(|((_, names, _), _)| names.objects().map(|(name, _)| name.as_str())).collect();
        let count = marks.len();
        marks.retain(|name| !held.contains(name));
        if marks.len() == count {
            for ((version, _, _), stays) in expired.iter().zip(stay) {
                plan.expired.push(version.table.version());
                if !stays {
                    plan.sweep.insert(manifest_name(version.table.version()), version.bytes.len() as u64);
                }
            }
            break held;
        }
    };
    for Listed { name, bytes, modified_ms, .. } in &listed {
        let Some(object) = condemned_of(name, *bytes).filter(|_| unneeded(name)) else { continue };
        if marked_since.contains_key(name) {
            // A crash left the marked object, or a writer wrote it again although its commit was bound to fail. Keep the mark.
            if !held.contains(name.as_str()) {
                plan.delete.insert(name.clone(), *bytes);
            }
        } else if marks.contains(name.as_str()) {
            plan.delete.insert(name.clone(), *bytes);
            lists.deleting.push(object);
        } else if condemned_since.contains_key(name) {
            plan.waiting += 1;
            lists.condemned.push(object);
        } else if *modified_ms <= before {
            plan.condemn.insert(name.clone(), *bytes);
            lists.condemned.push(object);
        } else {
            plan.waiting += 1;
        }
    }
    // A mark stays for an age, so that every collection which still deletes by this mark has ended before it is removed.
    for object in manifest.deleting.iter().flatten() {
        let name = object.name();
        let is_over = marked_since.get(&name).is_some_and(|since| *since <= before) && !unneeded(&name);
        if !is_over {
            lists.deleting.push(object.clone());
        }
    }
    lists.condemned.sort_by_key(Condemned::name);
    lists.deleting.sort_by_key(Condemned::name);
    let old = Lists { condemned: manifest.condemned.clone(), deleting: manifest.deleting.clone().unwrap_or_default() };
    plan.lists = Some(lists).filter(|lists| *lists != old);
    plan.expired.reverse();
    plan.sweep.extend(leftovers(store, before).await?);
    let expired = versions.into_iter().filter(|version| !version.is_kept);
    let expired = expired.map(|version| (version.table, version.bytes)).collect();
    Ok(Some(Survey { plan, newest, expired }))
}

/// Plans the deletion of the objects of writers that never committed a first version, if all of them are old enough.
///
/// # Errors
/// - `Exists`: there is a table, or other tables have pinned one.
/// - `NotFound`: there are no objects.
/// - Errors of the store.
pub(super) async fn abandoned(store: &Store, before: i64) -> Result<GcPlan> {
    if let Some(version) = commit::newest_version(store).await? {
        return Err(Error::exists(format!(
            "{}: a table is there, at version {version}, so nothing was abandoned; collect its garbage instead (`tetrys gc`, `Table.gc`)",
            store.url()
        )));
    }
    // A pin is put for a version that exists, so there was a table here.
    let pins = listed_pins(store).await?.len();
    if pins > 0 {
        return Err(Error::exists(format!(
            "{}: no manifest is there, and other tables have left {}, each of which names the version that it uses: the manifests of a table were lost, \
             and nothing is deleted; restore them from a copy, or delete the pins if the table is given up",
            store.url(),
            counted(pins, "pin")
        )));
    }
    let mut all = listed(store, &NAMED).await?;
    all.retain(|listed| condemned_of(&listed.name, listed.bytes).is_some());
    all.extend(store.list_all("sessions").await?.into_iter().filter(|listed| is_session_file(&listed.name)));
    all.extend(unfinished(store).await?);
    if all.is_empty() {
        return Err(Error::not_found(format!("{}: neither a table nor objects that a writer left", store.url())));
    }
    let mut plan = GcPlan::default();
    match all.iter().all(|listed| listed.modified_ms <= before) {
        true => plan.sweep.extend(all.into_iter().map(|listed| (listed.name, listed.bytes))),
        false => plan.waiting = all.len() as u64,
    }
    Ok(plan)
}

/// Returns the existing versions, oldest first, and the newest one as a table.
async fn versions(store: &Store) -> Result<Option<(Vec<Version>, Table)>> {
    let listed = commit::manifests(store).await?.into_iter();
    let written: BTreeMap<u64, i64> = listed.map(|(version, listed)| (version, listed.modified_ms)).collect();
    let Some(newest) = written.keys().next_back() else { return Ok(None) };
    let (opened, damaged) = readable_versions(store, written.keys().copied()).await?;
    if let Some(error) = damaged.get(newest) {
        let url = store.url();
        return Err(Error::corrupt(format!(
            "{error}; it is the newest version, so nothing is deleted: `tetrys doctor {url}` says what to do"
        )));
    }
    if let Some((version, error)) = damaged.into_iter().next_back() {
        return Err(Error::corrupt(format!(
            "{error}; nothing is deleted, because what version {version} needs is unknown: repair it with a copy of the table \
             (`tetrys verify TABLE --repair --from COPY`), or give the version up (`tetrys gc --give-up {version}`, `Table.give_up({version})`)"
        ))
        .with_source(error));
    }
    let Some((table, _)) = opened.last().filter(|(table, _)| table.version() == *newest) else {
        return Err(Error::conflict(format!("{}: version {newest} was listed and cannot be found; retry", store.url())));
    };
    let newest = table.clone();
    let versions = opened.into_iter().map(|(table, bytes)| {
        let written = written.get(&table.version()).copied().unwrap_or(i64::MAX);
        Version { table, bytes, written, is_kept: false }
    });
    Ok(Some((versions.collect(), newest)))
}

/// Sets `is_kept` of each version. Returns the versions that are kept only because of pins.
fn choose(versions: &mut [Version], newest: &Table, keep: usize, pinned: &BTreeSet<u64>) -> Vec<u64> {
    // For each version, the place of the version whose rows it has: its own, unless a garbage collection made it.
    let mut contents: Vec<usize> = Vec::with_capacity(versions.len());
    for (place, version) in versions.iter().enumerate() {
        let repeated = place.checked_sub(1).filter(|before| {
            let before = versions[*before].table.manifest();
            repeats(before, version.table.manifest())
        });
        contents.push(repeated.map_or(place, |before| contents[before]));
    }
    let distinct: BTreeSet<usize> = contents.iter().copied().collect();
    let first = match keep {
        0 => 0,
        keep => distinct.iter().rev().nth(keep - 1).copied().unwrap_or(0),
    };
    let tags: BTreeSet<u64> = newest.manifest().tags.values().copied().collect();
    let numbers: Vec<u64> = versions.iter().map(|version| version.table.version()).collect();
    let mut kept = Vec::new();
    for (place, version) in versions.iter_mut().enumerate().rev() {
        let is_named = |place: usize| tags.contains(&numbers[place]) || pinned.contains(&numbers[place]);
        let wanted = numbers[place] == newest.version() || contents[place] >= first;
        version.is_kept = wanted || is_named(place) || is_named(contents[place]);
        if !wanted && pinned.contains(&numbers[place]) {
            kept.push(numbers[place]);
        }
    }
    // An empty version has no pins of its own: those of the version that it repeats keep what both use.
    for place in (1..versions.len()).rev() {
        if versions[place].is_kept && contents[place] < place && is_made_by(versions[place].table.manifest(), "empty") {
            versions[place - 1].is_kept = true;
        }
    }
    kept
}

/// Whether a version was made by this operation.
fn is_made_by(manifest: &Manifest, operation: &str) -> bool {
    manifest.lineage.get("operation").is_some_and(|said| said == operation)
}

/// Whether the version `now` repeats the one before: a garbage collection made it, or it is an empty version, and the two differ in
/// their condemned and marked objects only.
fn repeats(before: &Manifest, now: &Manifest) -> bool {
    let lists = |manifest: &Manifest| (manifest.condemned.clone(), manifest.deleting.clone());
    let is_named = is_made_by(now, "gc") || is_made_by(now, "empty");
    let neutral = Manifest {
        version: before.version,
        parent: before.parent.clone(),
        commit_id: before.commit_id,
        lineage: before.lineage.clone(),
        condemned: before.condemned.clone(),
        deleting: before.deleting.clone(),
        ..now.clone()
    };
    (is_named || lists(before) != lists(now)) && neutral == *before
}

/// Returns the names that are on a list of the newest version, with the time since when they have been there: the time when the
/// oldest version of the unbroken series was written.
fn since(versions: &[Version], list: impl Fn(&Manifest) -> BTreeSet<String>) -> BTreeMap<String, i64> {
    let mut since = BTreeMap::new();
    let mut still: Option<BTreeSet<String>> = None;
    for version in versions.iter().rev() {
        let mut here = list(version.table.manifest());
        if let Some(still) = &still {
            here.retain(|name| still.contains(name));
        }
        since.extend(here.iter().map(|name| (name.clone(), version.written)));
        if here.is_empty() {
            break;
        }
        still = Some(here);
    }
    since
}

async fn listed(store: &Store, folders: &[&str]) -> Result<Vec<Listed>> {
    let lists: Vec<_> = folders.iter().map(|folder| store.list_all(folder)).collect();
    Ok(together(lists).await?.into_iter().flatten().collect())
}

/// Returns the objects of sessions in which nothing was written since `before`, and unfinished files that are at least as old.
async fn leftovers(store: &Store, before: i64) -> Result<Vec<(String, u64)>> {
    let session = |name: &str| name.split('/').nth(1).unwrap_or_default().to_owned();
    let (listed, begun) = futures::future::try_join(store.list_all("sessions"), unfinished(store)).await?;
    let live: BTreeSet<String> =
        listed.iter().filter(|listed| listed.modified_ms > before).map(|listed| session(&listed.name)).collect();
    let old = listed.into_iter().filter(|listed| is_session_file(&listed.name) && !live.contains(&session(&listed.name)));
    let old = old.chain(begun.into_iter().filter(|listed| listed.modified_ms <= before));
    Ok(old.map(|listed| (listed.name, listed.bytes)).collect())
}

/// Lists the unfinished files of killed writers: the names of objects of a table, followed by `#` and a number.
async fn unfinished(store: &Store) -> Result<Vec<Listed>> {
    let mut listed = store.list_unfinished(&FOLDERS).await?;
    listed.retain(|listed| is_ours(listed.name.rsplit_once('#').map_or("", |(name, _)| name)));
    Ok(listed)
}

/// Whether a writer of tables makes objects of this name. No other file is ever deleted.
pub(in crate::table::upkeep) fn is_ours(name: &str) -> bool {
    condemned_of(name, 0).is_some() || version_of_name(name).is_some() || Pin::is_name(name) || is_session_file(name)
}

/// Returns the object of this name; `None` for other names.
pub(in crate::table::upkeep) fn condemned_of(name: &str, bytes: u64) -> Option<Condemned> {
    let (folder, rest) = name.split_once('/')?;
    let hash = rest.rsplit('/').next()?.trim_end_matches(".parquet");
    let blake3: Hash = hash.parse().ok()?;
    let condemned = Condemned { folder: folder.to_owned(), object: ObjectRef { blake3, bytes } };
    // Do not delete a file whose name only resembles that of an object.
    (condemned.name() == name).then_some(condemned)
}
