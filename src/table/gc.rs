//! Garbage collection: what no version needs any more is condemned by a version, and deleted when that is old enough. Follows
//! `format-spec/manifest.md#condemned-objects` and `format-spec/pins.md#pin`.
//!
//! ```text
//! call 1:  plan -> publish a version that condemns        call 2, an age later:  plan -> publish -> list pins again -> delete
//! ```
//! A condemnation is a commit, so every other commit sees it or is seen by it; whoever began before and uses what is condemned
//! gets a conflict. Clocks are the store's.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::Serialize;
use serde_json::Value;

use super::{
    session::{Session, lineage},
    version::Table,
};
use crate::{
    commit,
    error::{ErrorKind, Result},
    format::{Condemned, MAX_PIN, Pin, manifest_name},
    id::{Hash, ObjectRef},
    store::Store,
};

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct GcSettings {
    /// So many versions, newest first, and every one that has a tag or is pinned; 0 keeps all.
    pub keep_versions: usize,
    /// What is younger is left alone: objects of commits that are on their way, and condemnations that readers of old versions
    /// have not seen.
    pub age: Duration,
}

impl Default for GcSettings {
    fn default() -> Self {
        Self { keep_versions: 0, age: Duration::from_secs(7 * 24 * 3600) }
    }
}

/// What a garbage collection would do, or did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GcPlan {
    /// The newest version when it was made.
    pub version: u64,
    /// Versions that are given up.
    pub expired: Vec<u64>,
    /// Versions that are kept because other tables use their chunks.
    pub pinned: Vec<u64>,
    /// Objects that nothing kept names, to be condemned: names and bytes.
    pub condemn: BTreeMap<String, u64>,
    /// Objects condemned long enough ago, to be deleted: names and bytes.
    pub delete: BTreeMap<String, u64>,
    /// Manifests of expired versions, leftovers of sessions, and pins that nobody stands behind: to be deleted with those.
    pub sweep: BTreeMap<String, u64>,
    /// Condemned objects and others that are too young.
    pub waiting: u64,
    /// Whether it was done.
    pub done: bool,
    /// Condemned objects that are there and that nothing kept names.
    #[serde(skip)]
    condemned: BTreeSet<String>,
}

impl GcPlan {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.condemn.is_empty() && self.delete.is_empty() && self.sweep.is_empty()
    }
}

/// The folders of what versions name.
const FOLDERS: [&str; 6] = ["attachments", "chunks", "hashes", "index", "joins", "layout"];

/// Milliseconds since 1970-01-01T00:00Z by the clock of this machine: the `now` of [`Table::plan_garbage`].
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Table {
    /// What [`Table::collect_garbage`] would do; `now` in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// `Unsupported` where the newest version needs a later writer; `Corrupt` where what a kept version names cannot be read, as
    /// nothing may be deleted then; errors of the store.
    pub async fn plan_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let newest = Self::open_store(store.clone()).await?;
        let manifest = newest.manifest();
        newest.next_version_may_be_written()?;
        let age = i64::try_from(settings.age.as_millis()).unwrap_or(i64::MAX);
        let mut plan = GcPlan { version: newest.version(), ..GcPlan::default() };
        let mut versions = commit::versions(store).await?;
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(*version));
        let (pinned, dead_pins) = pins(store, &newest, now - age).await?;
        plan.sweep.extend(dead_pins);
        let keep = if settings.keep_versions == 0 { usize::MAX } else { settings.keep_versions };
        let (mut named, mut condemned_since): (BTreeSet<String>, BTreeMap<String, i64>) = Default::default();
        let mut expired = Vec::new();
        let mut ever_since: Option<BTreeSet<String>> = None;
        for (place, version) in versions.iter().enumerate() {
            let tagged = manifest.tags.values().any(|tagged| tagged == version);
            let is_kept = place < keep || tagged || pinned.contains(version);
            if place >= keep && pinned.contains(version) {
                plan.pinned.push(*version);
            }
            let table = Self::open_version(store.clone(), *version).await?;
            let written = store.modified(&manifest_name(*version)).await?;
            // The oldest version that has condemned it ever since.
            let mut still: BTreeSet<String> = table.manifest().condemned.iter().map(name_of).collect();
            if let Some(since) = &ever_since {
                still.retain(|name| since.contains(name));
            }
            condemned_since.extend(still.iter().map(|name| (name.clone(), written)));
            ever_since = Some(still);
            match is_kept {
                true => named.extend(table.objects().await?.into_keys()),
                false => expired.push(table),
            }
        }
        let condemned: BTreeSet<String> = manifest.condemned.iter().map(name_of).collect();
        let mut present = BTreeSet::new();
        for folder in FOLDERS {
            for (name, bytes) in store.list(folder).await? {
                present.insert(name.clone());
                if named.contains(&name) {
                    continue;
                }
                if condemned.contains(&name) {
                    plan.condemned.insert(name.clone());
                }
                // What is condemned is not written again before it is gone, so its own age does not matter.
                match condemned.contains(&name) {
                    true if condemned_since.get(&name).is_some_and(|since| *since <= now - age) => {
                        plan.delete.insert(name, bytes);
                    }
                    true => plan.waiting += 1,
                    false if store.modified(&name).await? <= now - age => {
                        plan.condemn.insert(name, bytes);
                    }
                    false => plan.waiting += 1,
                }
            }
        }
        for (name, bytes) in store.list("sessions").await? {
            if store.modified(&name).await? <= now - age {
                plan.sweep.insert(name, bytes);
            }
        }
        // A version goes when nothing is left of what it alone has.
        for table in expired {
            plan.expired.push(table.version());
            let alone = table.objects().await;
            let alone = alone.map(|objects| objects.into_keys().filter(|name| !named.contains(name)).collect::<Vec<_>>());
            let is_gone = match alone {
                Ok(alone) => alone.iter().all(|name| plan.delete.contains_key(name) || !present.contains(name)),
                // Its layouts were deleted before: so was what they name.
                Err(error) if error.kind() == ErrorKind::Corrupt => true,
                Err(error) => return Err(error),
            };
            let name = manifest_name(table.version());
            let is_old = store.modified(&name).await? <= now - age;
            if is_old && is_gone {
                let bytes = store.size(&name).await?;
                plan.sweep.insert(name, bytes);
            }
        }
        Ok(plan)
    }

    /// Condemns what no kept version names, and deletes what was condemned an age ago. The first call frees nothing; one an age
    /// later does. Versions that other tables use, by their pins, are kept.
    ///
    /// # Errors
    /// `Conflict` where another writer committed in the meantime: plan again; as [`Table::plan_garbage`].
    pub async fn collect_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let mut plan = Self::plan_garbage(store, settings, now).await?;
        if plan.is_empty() {
            return Ok(plan);
        }
        let newest = Self::open_version(store.clone(), plan.version).await?;
        let session = Session::change(&newest, true).await?;
        let mut manifest = session.child()?;
        // What is deleted stays condemned until it is gone for certain: the next collection finds it gone, and drops it. What a
        // pinned version names is not condemned any more.
        let mut condemned = manifest.condemned;
        condemned.retain(|object| plan.condemned.contains(&name_of(object)));
        condemned.extend(plan.condemn.iter().filter_map(|(name, bytes)| condemned_of(name, *bytes)));
        manifest.condemned = condemned;
        let said = BTreeMap::from([
            ("condemned".to_owned(), Value::from(plan.condemn.len())),
            ("deleted".to_owned(), plan.delete.len().into()),
            ("expired".to_owned(), plan.expired.clone().into()),
        ]);
        manifest.lineage = lineage("gc", said)?;
        session.publish_alone(manifest).await?;
        // Whoever pinned before now is seen now; whoever pins later sees the condemnation.
        let again = Self::plan_garbage(store, settings, now).await?;
        plan.delete.retain(|name, _| again.delete.contains_key(name));
        plan.sweep.retain(|name, _| again.sweep.contains_key(name));
        // Chunks before the layouts that name them, manifests last: what is left by a crash is found again.
        let order = ["chunks/", "attachments/", "index/", "hashes/", "joins/", "layout/", "sessions/", "pins/", "manifests/"];
        for folder in order {
            for name in plan.delete.keys().chain(plan.sweep.keys()).filter(|name| name.starts_with(folder)) {
                store.delete(name).await?;
            }
        }
        plan.done = true;
        Ok(plan)
    }
}

fn name_of(condemned: &Condemned) -> String {
    condemned.object.name_in(&condemned.folder)
}

fn condemned_of(name: &str, bytes: u64) -> Option<Condemned> {
    let (folder, rest) = name.split_once('/')?;
    let hash = rest.rsplit('/').next()?.trim_end_matches(".parquet");
    let blake3: Hash = hash.parse().ok()?;
    let condemned = Condemned { folder: folder.to_owned(), object: ObjectRef { blake3, bytes } };
    // A file that only looks like an object of ours is nobody's to delete.
    (name_of(&condemned) == name).then_some(condemned)
}

/// The versions that other tables use, and the pins behind which no version stands any more, with their bytes.
async fn pins(store: &Store, newest: &Table, before: i64) -> Result<(BTreeSet<u64>, BTreeMap<String, u64>)> {
    let (mut versions, mut dead) = (BTreeSet::new(), BTreeMap::new());
    for (name, bytes) in store.list("pins").await? {
        let content = match store.get(&name, MAX_PIN).await {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        // A pin that cannot be read keeps everything: it is an error before anything is deleted.
        let pin = Pin::parse(&content, &name).map_err(|error| error.at(format!("{}: {name}", store.url())))?;
        if pin.owner.table != newest.manifest().table {
            continue;
        }
        // Of a commit that is on its way, nothing is known yet.
        match store.modified(&name).await? <= before && is_gone(store, &pin).await {
            true => drop(dead.insert(name, bytes)),
            false => drop(versions.insert(pin.owner.version)),
        }
    }
    Ok((versions, dead))
}

/// Whether the pinning version is known not to exist: its commit failed, or it was deleted. What cannot be reached exists.
async fn is_gone(store: &Store, pin: &Pin) -> bool {
    for url in pin.urls.iter().filter(|url| !url.contains("://")) {
        let Ok(other) = store.neighbour(url).and_then(|url| store.open_other(&url)) else { continue };
        let Ok(Some(newest)) = commit::newest_version(&other).await else { continue };
        match commit::load(&other, newest).await {
            Ok((manifest, _)) if manifest.table == pin.table => {}
            _ => continue,
        }
        return match commit::load(&other, pin.version).await {
            Ok((manifest, _)) => manifest.commit_id != pin.commit(),
            Err(error) => error.kind() == ErrorKind::NotFound && newest >= pin.version,
        };
    }
    false
}
