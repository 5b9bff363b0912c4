//! The plan of a garbage collection: the versions that it keeps, and the versions and objects that it gives up and deletes. The decisions
//! are those of `commit/decisions.rs`; the rules are explained in `docs/protocol.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::try_join4;
use serde::Serialize;
use uuid::Uuid;

use super::{
    pins::{listed_pins, pins},
    sessions::{Sessions, sessions},
};
use crate::{
    commit::{
        self, Decided,
        decisions::{self, Newest},
    },
    error::{Error, ErrorKind, Result, counted},
    format::{Ancestor, Condemned, Expired, GivenUp, Kept, Lists, MAX_RECENT, Manifest, OBJECT_FOLDERS, Pin, version_of_name},
    id::{Hash, ObjectRef},
    store::{Listed, Store},
    table::{
        session::is_session_file,
        version::{
            objects::{FOLDERS, Layouts, Named, readable_versions, together},
            table::Table,
        },
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
#[non_exhaustive]
pub struct GcPlan {
    /// Newest version when the plan was made; 0 if no version was ever committed.
    pub version: u64,
    /// Versions that are not kept, newest first.
    pub expired: Vec<u64>,
    /// Versions that are kept only because other tables use them.
    pub pinned: Vec<u64>,
    /// Objects to condemn, because no kept version names them: names and bytes.
    pub condemn: BTreeMap<String, u64>,
    /// Objects to delete, because they were condemned long enough ago: names and bytes.
    pub delete: BTreeMap<String, u64>,
    /// Other objects to delete: manifests of expired versions, files that killed writers left behind, and dead pins, whose
    /// versions do not exist: names and bytes.
    pub sweep: BTreeMap<String, u64>,
    /// Number of unneeded objects that are younger than the age, or whose condemnation is.
    pub waiting: u64,
    /// Open write sessions for which what was given up since they began waits.
    pub open_sessions: Vec<Uuid>,
    /// The earliest time, in milliseconds since 1970, at which a later collection may delete something that is given up; `None` if
    /// nothing waits.
    pub until_ms: Option<i64>,
    /// Whether the plan was carried out.
    pub done: bool,
    /// Whether a version is committed that decides this.
    #[serde(skip)]
    pub(super) publishes: bool,
}

impl GcPlan {
    /// Whether this collection commits a version, which lists what is given up or already deleted.
    pub fn writes_version(&self) -> bool {
        self.publishes
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.condemn.is_empty() && self.delete.is_empty() && self.sweep.is_empty() && !self.publishes
    }
}

/// Returns the time, in milliseconds since 1970, at or before which an object must have been written to be old enough.
pub(in crate::table::upkeep) fn before(age: Duration, now: i64) -> i64 {
    now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
}

/// Most objects that are given up at a time: their list must not outgrow what readers take.
const MOST_CONDEMNED: usize = 1_000_000;

/// A plan, with the version from which it was made, and what was seen after it.
pub(super) struct Survey {
    pub(super) plan: GcPlan,
    pub(super) newest: Table,
    pub(super) seen: Seen,
    /// What the next version decides; `None` if the plan needs no other version.
    pub(super) next: Option<Next>,
}

/// The decisions of the next version.
pub(super) struct Next {
    pub(super) floor: u64,
    pub(super) recent: Vec<Ancestor>,
    pub(super) lists: Lists,
}

/// A version of the table that is there and can be read.
struct Version {
    table: Table,
    is_kept: bool,
}

/// What was listed and read after the newest version. All that was written before a later collection reads the newest version is in its
/// listings: sessions, pins and objects. They hold until the next collection: no session that began later is below the floor that this
/// one may set, and nothing that a later pin holds is given up.
pub(super) struct Seen {
    /// The table, and its last collection with the floor that it set, when this was listed.
    at: (Uuid, u64, u64),
    manifests: BTreeMap<u64, Listed>,
    opened: BTreeMap<u64, Table>,
    damaged: BTreeMap<u64, Error>,
    /// The hashes that damaged manifests state at their ends.
    stated: BTreeMap<u64, Hash>,
    layouts: Layouts,
    objects: Vec<Listed>,
    sessions: Sessions,
    /// Files of self-tests, and unfinished files.
    strays: Vec<Listed>,
    pinned: BTreeSet<u64>,
    dead_pins: BTreeMap<String, u64>,
}

impl Seen {
    /// Takes over what an earlier plan listed, if there was no collection since. Manifests are listed again.
    async fn after(store: &Store, newest: &Table, decided: &Decided<'_>, before: i64, earlier: Option<Self>) -> Result<Self> {
        let at = (newest.id(), decided.collected(), decided.floor());
        let (mut manifests, mut seen) = match earlier.filter(|earlier| earlier.at == at) {
            Some(earlier) => (commit::manifests(store).await?, earlier),
            None => {
                let listings = try_join4(
                    commit::manifests(store),
                    listed(store, &OBJECT_FOLDERS),
                    sessions(store),
                    pins(store, newest, before),
                );
                let (manifests, objects, (files, mut strays), (pinned, dead_pins)) = listings.await?;
                strays.extend(unfinished(store).await?);
                let sessions = Sessions { files, committed: BTreeSet::new(), before };
                let (opened, damaged, stated, layouts) = Default::default();
                let manifests_then = BTreeMap::new();
                let seen = Self {
                    at,
                    manifests: manifests_then,
                    opened,
                    damaged,
                    stated,
                    layouts,
                    objects,
                    sessions,
                    strays,
                    pinned,
                    dead_pins,
                };
                (manifests, seen)
            }
        };
        manifests.retain(|version, _| *version <= newest.version());
        seen.read(store, newest, manifests).await?;
        Ok(seen)
    }

    /// Reads the manifests that were listed, apart from those that were read before.
    async fn read(&mut self, store: &Store, newest: &Table, manifests: BTreeMap<u64, Listed>) -> Result<()> {
        let is_known = |version: &u64| self.opened.contains_key(version) && self.manifests.get(version) == manifests.get(version);
        let known: BTreeSet<u64> = manifests.keys().copied().filter(is_known).chain([newest.version()]).collect();
        let (opened, damaged) =
            readable_versions(store, manifests.keys().copied().filter(|version| !known.contains(version))).await?;
        self.stated.clear();
        for version in damaged.keys() {
            // Where the hash is lost too, the version can only be given up.
            self.stated.insert(*version, commit::stated_hash(store, *version).await?.unwrap_or(Hash::of(b"")));
        }
        self.opened.retain(|version, _| known.contains(version));
        self.opened.extend(opened.into_iter().map(|(table, _)| (table.version(), table)));
        self.opened.insert(newest.version(), newest.clone());
        let recent = newest.manifest().collections.iter().flat_map(|collections| &collections.recent);
        let made = self.opened.values().filter_map(|table| commit::session_of(table.manifest()));
        self.sessions.committed = made.chain(recent.filter_map(|ancestor| ancestor.session)).collect();
        (self.manifests, self.damaged) = (manifests, damaged);
        Ok(())
    }

    /// The newest version that is as old as the age; 0 if there is none. What began at it or later is younger.
    fn aged(&self, before: i64) -> u64 {
        let old = self.manifests.iter().filter(|(_, listed)| listed.modified_ms <= before);
        old.map(|(version, _)| *version).max().unwrap_or(0)
    }
}

/// Reads the newest version, and after it all others, sessions, pins and listings, and makes the plan. The versions in `give_up` are
/// damaged, and are not kept. `earlier` is what a plan saw before which another writer committed. Returns `None` if there is no version.
pub(super) async fn survey(
    store: &Store,
    settings: GcSettings,
    now: i64,
    give_up: &BTreeSet<u64>,
    earlier: Option<Seen>,
) -> Result<Option<Survey>> {
    let before = before(settings.age, now);
    let Some((newest, hash)) = commit::load_newest(store).await.map_err(|error| newest_is_damaged(store, error))? else {
        return Ok(None);
    };
    let newest = Table::of(store.clone(), newest, hash, Vec::new());
    let decided = &Decided::by(store, newest.manifest(), hash).await?;
    let mut seen = Seen::after(store, &newest, decided, before, earlier).await?;
    let members = Members::of(&newest, decided, &seen);
    refuse_damage(&newest, &mut seen, &members, decided, give_up)?;
    let (versions, pinned) = chosen(&newest, decided, &seen, &members, settings.keep_versions, give_up)?;
    let kept: Vec<Table> = versions.into_iter().filter(|version| version.is_kept).map(|version| version.table).collect();
    let names: Vec<Named> = seen.layouts.named(&kept).await?;
    for (table, _) in kept.iter().zip(&names).filter(|(_, names)| names.is_missing_layouts) {
        // Fails and names the missing layout, unless another collection has deleted the version just now.
        table.objects().await?;
    }

    // The floor waits for the collection before, for open sessions, and for an age.
    let since = seen.sessions.open(decided).map(|(_, since)| since).chain([seen.aged(before)]);
    let raised = decisions::next_floor(decided, since).max(members.floor);
    let next_version = newest.version() + 1;
    let needed: BTreeSet<&str> = names.iter().flat_map(Named::objects).map(|(name, _)| name.as_str()).collect();
    let mut kept: BTreeSet<u64> = kept.iter().map(Table::version).collect();
    // Of several damaged versions, each is given up by itself.
    kept.extend(members.unread(&seen).filter(|version| !is_given_up(decided, give_up, *version)));
    let (mut plan, lists) = given_up(&newest, decided, &seen, &members, (&kept, &needed), (before, raised));
    plan.pinned = pinned;

    // Whether the next version decides anything.
    let becomes_final = |at: u64| at > decided.floor() && at <= raised;
    let is_other = (&lists.expired, &lists.condemned) != (&decided.lists().expired, &decided.lists().condemned);
    plan.publishes = is_other
        || !give_up.is_empty()
        || !newest.manifest().condemned.is_empty()
        || newest.manifest().deleting.is_some()
        || lists.ats().any(becomes_final)
        || seen.sessions.wait_for_a_version(decided, raised)
        || members.voids(&seen, raised).count() > members.voids(&seen, decided.floor()).count();
    let floor = if plan.publishes { raised } else { decided.floor() };

    // What goes: all that is final in the next version.
    let final_versions = lists.expired.iter().filter(|expired| decisions::is_final(expired.at, floor));
    for version in final_versions.map(|expired| expired.version).chain(members.voids(&seen, floor)) {
        if let Some(listed) = seen.manifests.get(&version) {
            plan.sweep.insert(listed.name.clone(), listed.bytes);
        }
    }
    for given_up in &lists.condemned {
        match decisions::is_final(given_up.at, floor) {
            // No commit names what is given up for good. If one did, what it names must stay.
            true if needed.contains(given_up.object.name().as_str()) => {}
            true => drop(plan.delete.insert(given_up.object.name(), given_up.object.object.bytes)),
            false if given_up.at < next_version => plan.waiting += 1,
            false => {}
        }
    }
    plan.sweep.extend(seen.sessions.over(floor));
    let strays = seen.strays.iter().filter(|listed| listed.modified_ms <= before);
    plan.sweep.extend(strays.map(|listed| (listed.name.clone(), listed.bytes)));
    plan.sweep.extend(seen.dead_pins.clone());

    // What waits, and until when.
    let waiting: BTreeSet<u64> = lists.ats().filter(|at| *at > floor).collect();
    if let Some(last) = waiting.last() {
        let open = seen.sessions.open(decided).filter(|(_, since)| since < last);
        plan.open_sessions = open.map(|(session, _)| session).collect();
        // The version that listed something first may be gone; the next one is not there yet.
        let written = |at: &u64| seen.manifests.range(at..).next().map_or(now, |(_, listed)| listed.modified_ms);
        let age = i64::try_from(settings.age.as_millis()).unwrap_or(i64::MAX);
        plan.until_ms = waiting.iter().map(|at| written(at).saturating_add(age)).min();
    }
    let next = plan.publishes.then(|| Next { floor, recent: members.recent(&newest), lists });
    Ok(Some(Survey { plan, newest, seen, next }))
}

/// Whether a version is being given up, or was.
fn is_given_up(decided: &Decided<'_>, give_up: &BTreeSet<u64>, version: u64) -> bool {
    give_up.contains(&version) || decided.lists().expired_at(version).is_some()
}

/// Checks that what each version needs is known.
///
/// # Errors
/// - `Corrupt`: a version that is not given up is damaged.
fn refuse_damage(
    newest: &Table,
    seen: &mut Seen,
    members: &Members,
    decided: &Decided<'_>,
    give_up: &BTreeSet<u64>,
) -> Result<()> {
    if !give_up.is_empty() {
        // Nothing else is given up with it, and what is damaged beside it stays.
        return Ok(());
    }
    let is_given_up = |version: u64| is_given_up(decided, give_up, version);
    // A build that did not write `collections` has no list of what it kept.
    let may_be_kept = |version: &u64| newest.manifest().collections.is_none() || members.versions.contains_key(version);
    let is_needed = |version: &u64| may_be_kept(version) && !is_given_up(*version);
    let is_there = |version: u64, hash: Hash| members.is_whole(seen, version, hash) || seen.damaged.contains_key(&version);
    let kept = decided.kept().filter(|kept| !is_there(kept.version, kept.hash)).map(|kept| kept.version);
    if let Some(version) = members.lost.iter().copied().chain(kept).find(|version| !is_given_up(*version)) {
        let url = newest.url();
        return Err(Error::corrupt(format!(
            "{url}: the manifest of version {version}, which is kept, is missing or another one; nothing is deleted: repair it with a copy \
             of the table (`tetrys verify TABLE --repair --from COPY`), or give the version up (`tetrys gc --give-up {version}`, \
             `Table.give_up({version})`)"
        )));
    }
    let Some(version) = seen.damaged.keys().copied().rev().find(is_needed) else { return Ok(()) };
    let Some(error) = seen.damaged.remove(&version) else { return Ok(()) };
    Err(Error::corrupt(format!(
        "{error}; nothing is deleted, because what version {version} needs is unknown: repair it with a copy of the table \
         (`tetrys verify TABLE --repair --from COPY`), or give the version up (`tetrys gc --give-up {version}`, \
         `Table.give_up({version})`)"
    ))
    .with_source(error))
}

/// Returns the versions that are not given up for good, with those that are kept, and the versions that are kept only because of pins.
///
/// # Errors
/// - `Unsupported`: a version needs a later writer: it may need objects that this build would not know to keep.
fn chosen(
    newest: &Table,
    decided: &Decided<'_>,
    seen: &Seen,
    members: &Members,
    keep: usize,
    give_up: &BTreeSet<u64>,
) -> Result<(Vec<Version>, Vec<u64>)> {
    let expired_at = |version: u64| decided.lists().expired_at(version);
    let mut versions = Vec::new();
    for (version, blake3) in &members.versions {
        let Some(table) = seen.opened.get(version).filter(|table| table.manifest_hash() == *blake3) else { continue };
        table.may_be_collected()?;
        if expired_at(*version).is_none_or(|at| !decisions::is_final(at, decided.floor())) {
            versions.push(Version { table: table.clone(), is_kept: false });
        }
    }
    let pinned = choose(&mut versions, newest, keep, &seen.pinned);
    if !give_up.is_empty() {
        // Earlier decisions stay.
        let tags = &newest.manifest().tags;
        let is_named = |version: u64| seen.pinned.contains(&version) || tags.values().any(|tagged| *tagged == version);
        for version in versions.iter_mut().filter(|version| expired_at(version.table.version()).is_some()) {
            version.is_kept &= is_named(version.table.version());
        }
    }
    Ok((versions, pinned))
}

/// Makes the lists of the next version, whose floor is `raised`. Only what was written at `before` or earlier is condemned anew.
fn given_up(
    newest: &Table,
    decided: &Decided<'_>,
    seen: &Seen,
    members: &Members,
    (kept, needed): (&BTreeSet<u64>, &BTreeSet<&str>),
    (before, raised): (i64, u64),
) -> (GcPlan, Lists) {
    let (floor, next_version) = (decided.floor(), newest.version() + 1);
    let (mut plan, mut lists) = (GcPlan { version: newest.version(), ..GcPlan::default() }, Lists::default());
    for (version, blake3) in &members.versions {
        let (version, blake3) = (*version, *blake3);
        match decisions::given_up(decided.lists().expired_at(version), kept.contains(&version), floor, next_version) {
            Some(at) => lists.expired.push(Expired { version, blake3, at }),
            None if version <= raised => lists.kept.push(Kept { version, blake3 }),
            None => {}
        }
    }
    plan.expired = lists.expired.iter().rev().map(|expired| expired.version).collect();
    let mut condemned = decided.condemned();
    // What another build marked is final. What it only condemned is condemned anew.
    condemned.extend(newest.manifest().marked().map(|object| (object.name(), 0)));
    for Listed { name, bytes, modified_ms, .. } in &seen.objects {
        let Some(object) = condemned_of(name, *bytes) else { continue };
        let (at, is_needed) = (condemned.get(name).copied(), needed.contains(name.as_str()));
        // What is young, and more than one version can list, waits for the next collection.
        if at.is_none() && !is_needed && (*modified_ms > before || lists.condemned.len() >= MOST_CONDEMNED) {
            plan.waiting += 1;
            continue;
        }
        if let Some(at) = decisions::given_up(at, is_needed, floor, next_version) {
            if at == next_version {
                plan.condemn.insert(name.clone(), *bytes);
            }
            lists.condemned.push(GivenUp { object, at });
        }
    }
    lists.condemned.sort_by_key(|given_up| (given_up.object.folder.clone(), given_up.object.object.blake3));
    (plan, lists)
}

/// The versions of the table whose manifests are there, or damaged, and their ancestors.
struct Members {
    versions: BTreeMap<u64, Hash>,
    /// The nearest ancestors of the newest version, newest first.
    ancestors: Vec<Ancestor>,
    /// The highest number that another build deleted, before the first collection of this one.
    floor: u64,
    /// The versions above the floor whose manifests are missing, although nothing deletes them there.
    lost: BTreeSet<u64>,
}

impl Members {
    fn of(newest: &Table, decided: &Decided<'_>, Seen { manifests, opened, damaged, stated, .. }: &Seen) -> Self {
        let mut found = Self { versions: BTreeMap::new(), ancestors: Vec::new(), floor: 0, lost: BTreeSet::new() };
        found.versions.insert(newest.version(), newest.manifest_hash());
        // At or below the floor the lists tell.
        let listed = decided.kept().map(|kept| (kept.version, kept.hash));
        let listed = listed.chain(decided.expired().map(|expired| (expired.version, expired.hash)));
        found.versions.extend(listed.filter(|(version, _)| manifests.contains_key(version)));
        // Above it, the chain of parents.
        let mut next = newest.manifest().parent.as_ref().map(|parent| (parent.version, parent.blake3));
        let recent = newest.manifest().collections.iter().flat_map(|collections| collections.recent.iter());
        found.ancestors.extend(recent.cloned());
        let mut is_unbroken = true;
        while let Some((version, blake3)) = next.filter(|(version, _)| *version > decided.floor()) {
            let table = opened.get(&version).filter(|table| table.manifest_hash() == blake3);
            match table.is_some() || damaged.contains_key(&version) {
                true => drop(found.versions.insert(version, blake3)),
                false if newest.manifest().collections.is_none() => break,
                // Nothing deletes manifests above the floor: this one was lost. Older ones are still needed.
                false => {
                    found.versions.insert(version, blake3);
                    found.lost.insert(version);
                }
            }
            // Without a gap: what is between two of them is no version.
            is_unbroken &= table.is_some();
            if let Some(table) = table
                && is_unbroken
                && newest.manifest().collections.is_none()
            {
                found.ancestors.push(commit::ancestor(table.manifest(), blake3));
            }
            let before = || found.ancestors.iter().find(|ancestor| ancestor.version < version);
            let ours = || opened.range(..version).rev().map(|(_, table)| table).find(|table| table.id() == newest.id());
            let there = || {
                let ours = ours().map(|table| (table.version(), table.manifest_hash()));
                // It may be a version of this table, and then what it needs is needed.
                ours.max(stated.range(..version).next_back().map(|(version, hash)| (*version, *hash)))
            };
            next = match table {
                Some(table) => table.manifest().parent.as_ref().map(|parent| (parent.version, parent.blake3)),
                // What a damaged manifest descends from, later ones tell.
                None => before().map(|ancestor| (ancestor.version, ancestor.blake3)).or_else(there),
            };
        }
        if newest.manifest().collections.is_none() {
            // A build that did not write `collections` deleted manifests, and what is there below is a version.
            let lowest = found.versions.keys().next().copied().unwrap_or(0);
            found.floor = lowest.saturating_sub(1);
            let ours = opened.iter().filter(|(_, table)| table.id() == newest.id());
            let below = ours.filter(|(version, _)| **version < lowest);
            found.versions.extend(below.map(|(version, table)| (*version, table.manifest_hash())));
        }
        found
    }

    /// Returns the versions whose manifests are damaged or lost.
    fn unread<'a>(&'a self, seen: &'a Seen) -> impl Iterator<Item = u64> + 'a {
        self.versions.keys().copied().filter(|version| seen.damaged.contains_key(version) || self.lost.contains(version))
    }

    /// Whether the manifest of a version is there, with this hash.
    fn is_whole(&self, seen: &Seen, version: u64, hash: Hash) -> bool {
        self.versions.contains_key(&version) && seen.opened.get(&version).is_some_and(|table| table.manifest_hash() == hash)
    }

    /// Returns the numbers at or below the floor whose manifests are no versions: late requests put them where versions were given up.
    fn voids<'a>(&'a self, seen: &'a Seen, floor: u64) -> impl Iterator<Item = u64> + 'a {
        let numbers = seen.manifests.keys().copied();
        numbers.filter(move |version| *version <= floor && !self.versions.contains_key(version))
    }

    /// Returns the ancestors of the version after the newest one.
    fn recent(&self, newest: &Table) -> Vec<Ancestor> {
        let own = commit::ancestor(newest.manifest(), newest.manifest_hash());
        std::iter::once(own).chain(self.ancestors.iter().cloned()).take(MAX_RECENT).collect()
    }
}

/// Returns the error for a newest version that cannot be read.
fn newest_is_damaged(store: &Store, error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => {
            let url = store.url();
            Error::corrupt(format!(
                "{error}; it is the newest version, so nothing is deleted: `tetrys doctor {url}` says what to do"
            ))
        }
        _ => error,
    }
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
    let mut all = listed(store, &OBJECT_FOLDERS).await?;
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
    // An empty version has no pins of its own, and that of a collection may have none: those of the version that it repeats keep what both
    // use.
    for place in (1..versions.len()).rev() {
        let manifest = versions[place].table.manifest();
        let is_unpinned = is_made_by(manifest, "empty") || manifest.lineage.get(commit::WITHOUT_PINS).is_some();
        if versions[place].is_kept && contents[place] < place && is_unpinned {
            versions[place - 1].is_kept = true;
        }
    }
    kept
}

/// Whether a version was made by this operation.
fn is_made_by(manifest: &Manifest, operation: &str) -> bool {
    manifest.lineage.get("operation").is_some_and(|name| name == operation)
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
        collections: before.collections.clone(),
        ..now.clone()
    };
    (is_named || lists(before) != lists(now)) && neutral == *before
}

async fn listed(store: &Store, folders: &[&str]) -> Result<Vec<Listed>> {
    let lists: Vec<_> = folders.iter().map(|folder| store.list_all(folder)).collect();
    Ok(together(lists).await?.into_iter().flatten().collect())
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
    let hash = rest.rsplit('/').next()?.trim_end_matches(".parquet").trim_end_matches(".json");
    let blake3: Hash = hash.parse().ok()?;
    let condemned = Condemned { folder: folder.to_owned(), object: ObjectRef { blake3, bytes } };
    // Do not delete a file whose name only resembles that of an object.
    (condemned.name() == name).then_some(condemned)
}
