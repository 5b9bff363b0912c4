//! Looks at the manifests: whether they can be read and are of one table, what they name, since when they condemn objects, and what
//! the tags name.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::{
    Cure, Doctor, MANIFESTS, NAMES,
    objects::{Compared, Present, layouts},
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted},
    format::{ForeignTable, Lists, Manifest, manifest_name, version_of_name},
    table::version::{objects::together, table::Table},
};

/// Versions from which on a table has many.
const MANY_VERSIONS: usize = 1_000;

/// The parts of a manifest that are compared with the objects that are there.
struct Seen {
    table: Uuid,
    compared: Compared,
    /// Layouts and other tables that the newest version does not name.
    more_layouts: Vec<String>,
    more_tables: Vec<(Uuid, u64)>,
    is_condemning: bool,
    is_marking: bool,
}

/// A version that was looked at.
struct Version {
    number: u64,
    written: i64,
    /// `None` if the version was deleted just now.
    seen: Option<Result<Seen>>,
}

fn tables(manifest: &Manifest) -> BTreeSet<(Uuid, u64)> {
    manifest.stores.iter().map(|ForeignTable { table, version, .. }| (*table, *version)).collect()
}

impl Doctor {
    /// Looks for the newest version whose manifest can be read, where that of the newest version cannot.
    pub(super) async fn newest_readable(&mut self, error: &Error) -> Result<Option<Table>> {
        let listed = self.store.list_first("manifests", NAMES).await?;
        let mut versions = listed.iter().filter_map(|name| version_of_name(name));
        self.top = versions.next().unwrap_or_default();
        for version in versions.take(MANIFESTS) {
            match commit::load(&self.store, version).await {
                Ok((manifest, hash)) => {
                    let top = self.top;
                    let what = format!("what version {top} has: its manifest cannot be read; version {version} was looked at");
                    self.found.not_checked.push(what);
                    return Ok(Some(Table::of(self.store.clone(), manifest, hash, Vec::new())));
                }
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Unsupported) => {}
                Err(error) => return Err(error),
            }
        }
        self.damage(format!("the newest manifest cannot be read, and no other can: {error}"), manifest_name(self.top), None);
        self.found.not_checked.push("all else: the manifests say what belongs to the table".to_owned());
        Ok(None)
    }

    /// Reads the newest manifests, and compares the objects that they name with those that are there, except chunks.
    pub(super) async fn versions(&mut self, newest: &Table, present: &Present) -> Result<()> {
        let (listed, whole) = self.listed("manifests").await?;
        // The name of a newer version sorts first.
        let written: Vec<(u64, i64)> =
            listed.iter().filter_map(|listed| Some((version_of_name(&listed.name)?, listed.modified_ms))).collect();
        let mut versions = self.read(newest, present, &written).await?;
        self.versions = whole.then(|| written.iter().copied().collect());
        if written.len() > MANIFESTS {
            let rest = counted(written.len() - MANIFESTS, "older version");
            let rest = if whole { rest } else { format!("more than {rest}") };
            self.found.not_checked.push(format!("{rest}; `verify` of all versions reads them"));
        }
        let strange = self.of_other_tables(&versions);
        versions.retain(|version| !strange.contains(&version.number));
        let (condemned, marked) = (since(&versions, |seen| seen.is_condemning), since(&versions, |seen| seen.is_marking));
        let (mut more_layouts, mut more_tables) = (BTreeSet::new(), BTreeSet::new());
        let lists = self.lists(newest).await?;
        for Version { number, written, seen } in &versions {
            let Some(Err(error)) = seen else { continue };
            if lists.expired_at(*number).is_some() {
                // Nobody needs it, and the next collections delete it.
                continue;
            }
            if error.kind() == ErrorKind::Unsupported {
                self.find(error.to_string(), manifest_name(*number), Some(*written), Cure::Upgrade);
                continue;
            }
            let what = match *number == self.top {
                true => format!("the newest manifest cannot be read, so that the table cannot be opened: {error}"),
                false => format!("version {number} cannot be read: {error}"),
            };
            let cure = match *number < newest.version() && newest.version() == self.top {
                true => Cure::GiveUp(*number),
                false => Cure::CopyOrMove(newest.version()),
            };
            self.find(what, manifest_name(*number), None, cure);
        }
        // The oldest first.
        for Version { number, seen, .. } in versions.into_iter().rev() {
            let Some(Ok(seen)) = seen else { continue };
            more_layouts.extend(seen.more_layouts);
            more_tables.extend(seen.more_tables);
            self.keep(number, seen.compared);
        }
        if !more_layouts.is_empty() {
            let count = counted(more_layouts.len(), "layout");
            let what = format!("the chunks of {count} that only older versions use; `verify` of all versions reads them");
            self.found.not_checked.push(what);
        }
        if !more_tables.is_empty() {
            let count = counted(more_tables.len(), "version");
            let what = format!("{count} of other tables that only older versions use; `verify` of all versions opens them");
            self.found.not_checked.push(what);
        }
        self.garbage(newest, condemned, marked);
        self.given_up(newest, &lists, present, &written);
        if written.len() >= MANY_VERSIONS {
            let (count, oldest) = (written.len(), written.last().map(|(_, written)| *written));
            let more = if whole { "" } else { "at least " };
            let what = format!("the table has {more}{}, and a garbage collection reads them all", counted(count, "version"));
            self.find(what, "manifests", oldest, Cure::KeepFewer);
        }
        self.tags(newest);
        Ok(())
    }

    /// Reads the manifests of the newest of these versions, newest first.
    async fn read(&self, newest: &Table, present: &Present, written: &[(u64, i64)]) -> Result<Vec<Version>> {
        let (layouts_of_newest, tables_of_newest) = (layouts(newest.manifest()), tables(newest.manifest()));
        let (layouts_of_newest, tables_of_newest, store) = (&layouts_of_newest, &tables_of_newest, &self.store);
        let read = |(number, written): (u64, i64)| async move {
            let seen = match commit::load(store, number).await {
                Ok((manifest, _)) => Some(Ok(Seen {
                    table: manifest.table,
                    compared: present.small(&manifest),
                    more_layouts: layouts(&manifest).difference(layouts_of_newest).cloned().collect(),
                    more_tables: tables(&manifest).difference(tables_of_newest).copied().collect(),
                    is_condemning: !manifest.condemned.is_empty(),
                    is_marking: manifest.deleting.as_ref().is_some_and(|marks| !marks.is_empty()),
                })),
                // A garbage collection may have deleted it just now.
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => Some(Err(error)),
                Err(error) => return Err(error),
            };
            Ok(Version { number, written, seen })
        };
        // Versions that were committed since are left out: their objects may not have been listed.
        let versions = written.iter().copied().skip_while(|(version, _)| *version > self.top).take(MANIFESTS);
        let reads: Vec<_> = versions.map(read).collect();
        together(reads).await
    }

    /// Notes the manifests of other tables: the table is the one of most manifests, and of the oldest one where they are even.
    fn of_other_tables(&mut self, versions: &[Version]) -> Vec<u64> {
        let read = || versions.iter().filter_map(|version| Some((version.number, version.seen.as_ref()?.as_ref().ok()?.table)));
        let mut counts: BTreeMap<Uuid, usize> = BTreeMap::new();
        read().for_each(|(_, table)| *counts.entry(table).or_default() += 1);
        // Of several that are greatest, this takes the last, which is that of the oldest version.
        let Some((_, own)) = read().max_by_key(|(_, table)| counts.get(table).copied()) else { return Vec::new() };
        let newest = read().find(|(_, table)| *table == own).map_or(0, |(number, _)| number);
        let strange: Vec<(u64, Uuid)> = read().filter(|(_, table)| *table != own).collect();
        for (number, table) in &strange {
            let what = format!("the manifest of version {number} is of table {table}, and others are of table {own}");
            self.find(what, manifest_name(*number), None, Cure::Move(newest));
        }
        strange.into_iter().map(|(number, _)| number).collect()
    }

    /// Notes what garbage collection may delete, and whether this build may write the next version.
    fn garbage(&mut self, newest: &Table, condemned: Option<i64>, marked: Option<i64>) {
        let (manifest, now) = (newest.manifest(), manifest_name(newest.version()));
        if let Some(since) = condemned.filter(|since| *since <= self.before) {
            let bytes: u64 = manifest.condemned.iter().map(|object| object.object.bytes).sum();
            let objects = counted(manifest.condemned.len(), "object");
            let what = format!("{objects} of {} are condemned, and may be deleted", counted(bytes, "byte"));
            self.find(what, now.as_str(), Some(since), Cure::CollectGarbage);
        }
        if let Some(since) = marked.filter(|since| *since <= self.before) {
            let objects = counted(manifest.deleting.iter().flatten().count(), "object");
            let what =
                format!("{objects} are marked for deletion; a garbage collection was not finished, or the next one is due");
            self.find(what, now.as_str(), Some(since), Cure::CollectGarbage);
        }
        if let Err(error) = newest.next_version_may_be_written() {
            self.find(error.to_string(), now, None, Cure::Upgrade);
        }
    }

    /// Returns what is kept and given up. Notes if that cannot be read.
    async fn lists(&mut self, newest: &Table) -> Result<Lists> {
        match commit::lists_of(&self.store, newest.manifest()).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let name = commit::lists_object(newest.manifest()).map_or_else(String::new, |object| object.name());
                self.damage(error.to_string(), name, None);
                Ok(Lists::default())
            }
            read => read,
        }
    }

    /// Notes what the next garbage collection may delete. The lists also have what is gone, until a later version leaves it out.
    fn given_up(&mut self, newest: &Table, lists: &Lists, present: &Present, written: &[(u64, i64)]) {
        // The version that listed something first may be gone.
        let since = |at: u64| written.iter().rev().find(|(version, _)| *version >= at).map(|(_, written)| *written);
        let old = |at: u64| since(at).filter(|since| *since <= self.before);
        let objects = lists.condemned.iter().filter(|given_up| present.may_have(&given_up.object.name()));
        let objects: Vec<_> = objects.filter(|given_up| old(given_up.at).is_some()).collect();
        let versions = lists.expired.iter().filter(|expired| self.exists(expired.version));
        let versions: Vec<u64> = versions.map(|expired| expired.at).filter(|at| old(*at).is_some()).collect();
        let ats = objects.iter().map(|given_up| given_up.at).chain(versions.iter().copied());
        if let Some(first) = ats.filter_map(old).min() {
            let bytes: u64 = objects.iter().map(|given_up| given_up.object.object.bytes).sum();
            let (objects, versions, bytes) =
                (counted(objects.len(), "object"), counted(versions.len(), "version"), counted(bytes, "byte"));
            let what = format!("{versions} and {objects} of {bytes} are given up, and may be deleted");
            self.find(what, manifest_name(newest.version()), Some(first), Cure::CollectGarbage);
        }
    }

    /// Notes the tags of versions that do not exist.
    fn tags(&mut self, newest: &Table) {
        for (tag, version) in &newest.manifest().tags {
            if !self.exists(*version) {
                let what = format!("tag `{tag}` is of version {version}, which does not exist");
                self.find(what, manifest_name(newest.version()), None, Cure::Untag(tag.clone()));
            }
        }
    }
}

/// Returns when the oldest version of the unbroken series was written that ends with the newest version and `says` so.
fn since(versions: &[Version], says: impl Fn(&Seen) -> bool) -> Option<i64> {
    let read = versions.iter().filter_map(|version| Some((version.written, version.seen.as_ref()?.as_ref().ok()?)));
    read.take_while(|(_, seen)| says(seen)).last().map(|(written, _)| written)
}
