//! Garbage collection. A version condemns the objects that no kept version needs. A later version, an age after that, marks them
//! for deletion, and then they are deleted. Follows `format-spec/manifest.md#condemned-objects` and `format-spec/pins.md#pin`.
//!
//! ```text
//! call 1: plan -> publish: condemned
//! call 2, an age later: plan -> publish: marked -> list pins again -> delete expired manifests, then marked objects
//! call 3, an age later: plan -> publish: marks removed
//! ```
//! Condemnations and marks are published as commits. So of a collection and any other commit, the later one sees the earlier one.
//! A commit that needs a condemned object withdraws the condemnation. No one removes a mark before an age has passed. If a call
//! crashes, the next one finishes its work. All times are times of the store's clock. `gc/plan.rs` makes the plan, and
//! `gc/pins.rs` finds the versions that other tables use.

mod pins;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bytes::Bytes;
use serde_json::Value;

use self::plan::{Lists, Survey, abandoned, survey};
pub use self::{
    pins::User,
    plan::{GcPlan, GcSettings},
};
pub(super) use self::{
    pins::{listed_pins, read_pin, user},
    plan::{NAMED, before, condemned_of, is_ours},
};
use crate::{
    commit::{self, Look},
    error::{Error, ErrorKind, Result},
    format::{Condemned, Pin, manifest_name},
    store::Store,
    table::{
        changing::{
            session::{Session, lineage},
            session_files::remove_empty_folders,
        },
        objects::{named, together},
        table::Table,
    },
};

/// Maximum number of plans in one call. Another plan is made if another writer committed first.
const PLANS: usize = 8;
/// Number of objects in one batch of deletions. Between batches, an old listing of versions is renewed and the marks are checked.
const BATCH: usize = 256;

impl Table {
    /// Returns what [`Table::collect_garbage`] would do now: a dry run. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Denied`: a folder of a local table is a link.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the store.
    pub async fn plan_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        Ok(survey(store, settings, now).await?.ok_or_else(|| no_table(store))?.plan)
    }

    /// Condemns the objects that no kept version names, and deletes the objects that were condemned at least an age ago. So the
    /// first call frees no space, and a call an age later does. Versions that other tables have pinned are kept.
    ///
    /// Only objects whose names a writer of tables makes are deleted; other files stay. Where no manifest is, nothing is deleted: see
    /// [`Table::collect_abandoned`]. A copy of a table that lacks only its newest manifests looks like an older table with objects
    /// that nobody needs, so complete a copy before you collect its garbage.
    ///
    /// # Errors
    /// - `NotFound`: there is no table.
    /// - `Conflict`: other writers committed again and again meanwhile.
    /// - `Denied`: no pin can be written to a table that this one uses, or a folder of a local table is a link.
    /// - `Unsupported`: a version needs a later writer.
    /// - `Corrupt`: an object of a kept version cannot be read, so nothing may be deleted.
    /// - Errors of the stores.
    pub async fn collect_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let mut tries = 1;
        loop {
            let survey = survey(store, settings, now).await?.ok_or_else(|| no_table(store))?;
            match survey.carry_out(store, before(settings.age, now)).await {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < PLANS => tries += 1,
                done => return done,
            }
        }
    }

    /// Returns what [`Table::collect_abandoned`] would do now: a dry run. `now` is in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - Errors of the store.
    pub async fn plan_abandoned(store: &Store, age: Duration, now: i64) -> Result<GcPlan> {
        abandoned(store, before(age, now)).await
    }

    /// Deletes what writers left that started a first version and never committed it, if no part of it is younger than `age`. There
    /// must be no manifest. A copy of a table to which its manifests were not copied yet looks the same, and is deleted too.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use std::time::Duration;
    /// # use tetrys::{ErrorKind, Store, Table, table::{GcSettings, now_ms}};
    /// # let store = Store::open("memory://")?;
    /// # store.put_new("sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8/plan.json", "a plan".into()).await?;
    /// let error = Table::collect_garbage(&store, GcSettings::default(), now_ms()).await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::NotFound);
    /// let plan = Table::collect_abandoned(&store, Duration::ZERO, now_ms() + 1).await?;
    /// assert_eq!((plan.sweep.len(), plan.done), (1, true));
    /// # Ok::<(), tetrys::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// - `Exists`: there is a table.
    /// - `NotFound`: there is nothing that a writer left.
    /// - `Conflict`: a writer wrote something meanwhile.
    /// - `Denied`: a folder of a local directory is a link.
    /// - Errors of the store.
    pub async fn collect_abandoned(store: &Store, age: Duration, now: i64) -> Result<GcPlan> {
        collect_abandoned(store, before(age, now)).await
    }

    /// Deletes the manifest of a version that is damaged, so that the garbage of the others can be collected. What this version alone
    /// names becomes garbage. If there is a copy of the table, repair the manifest instead ([`Table::repair`]).
    ///
    /// # Errors
    /// - `NotFound`: there is no table, or no such version.
    /// - `Invalid`: the manifest is sound, or it is that of the newest version.
    /// - `Conflict`: the version has a tag, or another table uses it.
    /// - `Corrupt`: a pin cannot be read, and may keep this version.
    /// - Errors of the store.
    pub async fn give_up(&self, version: u64) -> Result<()> {
        let (store, url) = (self.store(), self.url());
        let newest = Self::open_in(store.clone()).await?;
        if version == newest.version() {
            return Err(Error::invalid(format!("{url}: version {version} is the newest and can be read; it is not given up")));
        }
        match commit::load(store, version).await {
            Ok(_) => {
                return Err(Error::invalid(format!(
                    "{url}: the manifest of version {version} is sound; expected a damaged one: `tetrys gc --keep N`, `Table.gc`, \
                     deletes versions that are not needed"
                )));
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            Err(error) => return Err(error),
        }
        if let Some((tag, _)) = newest.manifest().tags.iter().find(|(_, tagged)| **tagged == version) {
            return Err(Error::conflict(format!(
                "{url}: version {version} has the tag `{tag}`: remove the tag first (`tetrys edit --untag {tag}`, `Table.untag`)"
            )));
        }
        // A pin that cannot be read may be one of this version. Pins of any age count.
        let (pinned, _) = pins::pins(store, &newest, i64::MIN).await?;
        if pinned.contains(&version) {
            return Err(Error::conflict(format!(
                "{url}: another table uses version {version} (`tetrys doctor` names it): repair the manifest with a copy of the \
                 table (`tetrys verify TABLE --repair --from COPY`)"
            )));
        }
        store.delete(&manifest_name(version)).await?;
        store.settle("manifests").await
    }

    /// Checks that this build knows all objects that belong to the version.
    ///
    /// # Errors
    /// - `Unsupported`: the version has a write feature that this build does not know.
    fn may_be_collected(&self) -> Result<()> {
        self.next_version_may_be_written().map_err(|_| {
            let feature = self.manifest().write_features.first().map_or("", String::as_str);
            Error::unsupported(format!(
                "{} version {}: write feature `{feature}` is not known to this build, so objects that it needs could be deleted; a \
                 newer build must collect garbage here",
                self.url(),
                self.version()
            ))
        })
    }
}

fn no_table(store: &Store) -> Error {
    Error::not_found(format!(
        "{}: no table there (no manifest), so nothing is deleted; `tetrys gc --abandoned` or `collect_abandoned` deletes what a \
         writer left that never committed a first version",
        store.url()
    ))
}

impl Survey {
    async fn carry_out(mut self, store: &Store, before: i64) -> Result<GcPlan> {
        if self.plan.is_empty() {
            self.plan.done = true;
            return Ok(self.plan);
        }
        self.publish().await?;
        // A table that pinned before this moment is found now; a table that pins later sees the marks.
        let mut look = Look::take(store).await?;
        for (version, _) in self.spare_wanted(store, before).await? {
            self.plan.sweep.remove(&manifest_name(version));
        }
        // Delete the manifests before the objects that they name, so that no reader opens an incomplete version.
        let manifests = self.take_sweep(|name| name.starts_with("manifests/"));
        if !manifests.is_empty() {
            delete_all(store, &manifests).await?;
            // If a version was pinned or tagged while its manifest was deleted, write the manifest again.
            for (version, bytes) in self.spare_wanted(store, before).await? {
                let name = manifest_name(version);
                if manifests.contains(&name) {
                    put_back(store, &name, bytes).await?;
                    self.plan.sweep.remove(&name);
                }
            }
        }
        let names: Vec<String> = self.plan.delete.keys().cloned().collect();
        if !manifests.is_empty() || !names.is_empty() {
            // A power cut must not bring back a manifest whose objects are gone, here or in the tables that it used. An earlier call may
            // have deleted it.
            store.settle("manifests").await?;
        }
        for batch in names.chunks(BATCH) {
            if look.is_stale() {
                // Another collection may have removed a mark because of its age.
                look = Look::take(store).await?;
                self.spare_unmarked(store, look).await?;
                self.spare_wanted(store, before).await?;
            }
            let batch: Vec<String> = batch.iter().filter(|name| self.plan.delete.contains_key(*name)).cloned().collect();
            delete_all(store, &batch).await?;
        }
        let rest = self.plan.sweep.keys().filter(|name| !name.starts_with("manifests/")).cloned().collect::<Vec<_>>();
        delete_all(store, &rest).await?;
        remove_empty_folders(store).await;
        self.plan.done = true;
        Ok(self.plan)
    }

    /// Publishes the version with the new lists of condemned and marked objects, if the lists change.
    async fn publish(&mut self) -> Result<()> {
        let Some(Lists { condemned, deleting }) = self.plan.lists.clone() else { return Ok(()) };
        let session = Session::child_of(&self.newest, true, false).await?;
        let mut manifest = session.child()?;
        manifest.deleting = (!condemned.is_empty() || !deleting.is_empty()).then_some(deleting);
        manifest.condemned = condemned;
        let said = BTreeMap::from([
            ("condemned".to_owned(), Value::from(self.plan.condemn.len())),
            ("deleted".to_owned(), self.plan.delete.len().into()),
            ("expired".to_owned(), self.plan.expired.clone().into()),
        ]);
        manifest.lineage = lineage("gc", said)?;
        session.publish_alone(manifest).await?;
        Ok(())
    }

    /// Returns the names to sweep for which `wanted` is true.
    fn take_sweep(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.plan.sweep.keys().filter(|name| wanted(name)).cloned().collect()
    }

    /// Reads the pins and the tags of the newest version again, and removes from the plan the objects of versions that are now
    /// pinned or tagged. Returns those of them that had expired, with the bytes of their manifests.
    async fn spare_wanted(&mut self, store: &Store, before: i64) -> Result<Vec<(u64, Bytes)>> {
        let (mut wanted, dead) = pins::pins(store, &self.newest, before).await?;
        self.plan.sweep.retain(|name, _| !Pin::is_name(name) || dead.contains_key(name));
        let newest = commit::newest_version(store).await?.unwrap_or(0);
        if newest > self.newest.version() {
            self.newest = Table::open_version_in(store.clone(), newest).await?;
            self.newest.may_be_collected()?;
        }
        wanted.extend(self.newest.manifest().tags.values());
        let wanted: Vec<(Table, Bytes)> =
            self.expired.iter().filter(|(table, _)| wanted.contains(&table.version())).cloned().collect();
        let tables: Vec<Table> = wanted.iter().map(|(table, _)| table.clone()).collect();
        for named in named(&tables).await? {
            for (name, _) in named.objects() {
                self.plan.delete.remove(name);
            }
        }
        Ok(wanted.into_iter().map(|(table, bytes)| (table.version(), bytes)).collect())
    }

    /// Removes from the plan the objects that the newest version does not mark.
    async fn spare_unmarked(&mut self, store: &Store, look: Look) -> Result<()> {
        let newest = look.newest.ok_or_else(|| Error::not_found(format!("{}: the table no longer exists", store.url())))?;
        let (manifest, _) = commit::load(store, newest).await?;
        let marked: BTreeSet<String> = manifest.deleting.iter().flatten().map(Condemned::name).collect();
        self.plan.delete.retain(|name, _| marked.contains(name));
        Ok(())
    }
}

/// Deletes the objects of writers that never committed a first version. Receipts and parts go before the objects that they name,
/// so that a concurrent commit fails and never names a deleted object.
async fn collect_abandoned(store: &Store, before: i64) -> Result<GcPlan> {
    let mut plan = abandoned(store, before).await?;
    let (parts, rest): (Vec<String>, Vec<String>) = plan.sweep.keys().cloned().partition(|name| name.starts_with("sessions/"));
    delete_all(store, &parts).await?;
    if !rest.is_empty() {
        // A writer that is still active has written something since.
        let nobody = commit::newest_version(store).await?.is_none() && abandoned(store, before).await?.waiting == 0;
        if !nobody {
            return Err(Error::conflict(format!("{}: another writer is writing the first version; retry later", store.url())));
        }
        delete_all(store, &rest).await?;
    }
    remove_empty_folders(store).await;
    plan.done = !plan.sweep.is_empty();
    Ok(plan)
}

/// Writes a manifest again that was deleted a moment ago. The client does not send it again where a connection breaks.
async fn put_back(store: &Store, name: &str, bytes: Bytes) -> Result<()> {
    let mut tries = 1;
    loop {
        match store.put_new(name, bytes.clone().into()).await {
            Err(error) if error.kind() == ErrorKind::Unavailable && tries < PLANS => tries += 1,
            done => return done.map(drop),
        }
    }
}

async fn delete_all(store: &Store, names: &[String]) -> Result<()> {
    let delete = |name: String| async move {
        match name.contains('#') {
            true => store.delete_unfinished(&name).await,
            false => store.delete(&name).await,
        }
    };
    let deletes: Vec<_> = names.iter().cloned().map(delete).collect();
    together(deletes).await.map(drop)
}
