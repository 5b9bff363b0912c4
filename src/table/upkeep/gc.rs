//! Garbage collection: what no version needs any more is condemned by a version, marked by another one an age later, and then
//! deleted. Follows `format-spec/manifest.md#condemned-objects` and `format-spec/pins.md#pin`.
//!
//! ```text
//! call 1: plan -> publish: condemned
//! call 2, an age later: plan -> publish: marked -> list pins again -> delete expired manifests, then what is marked
//! call 3, an age later: plan -> publish: marks taken back
//! ```
//! Condemnations and marks are commits, so every other commit sees them or is seen by them. A commit that needs a condemned object
//! withdraws the condemnation; nobody takes a mark back before an age has passed. Whatever a crash left undone, the next call does.
//! Clocks are the store's. The garbage collection is in `gc/`: `plan.rs` says what is to be done, `pins.rs` who else uses what.

mod pins;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serde_json::Value;

pub use self::plan::{GcPlan, GcSettings};
use self::plan::{Lists, Survey, abandoned, before, survey};
use crate::{
    commit::{self, Look},
    error::{Error, ErrorKind, Result},
    format::{Condemned, manifest_name},
    store::Store,
    table::{
        changing::session::{Session, lineage},
        objects::{named, together},
        table::Table,
    },
};

/// How often another plan is made where another writer was quicker.
const PLANS: usize = 8;
/// Objects that are deleted before the ground for it is looked at again.
const BATCH: usize = 256;

/// Milliseconds since 1970-01-01T00:00Z by the clock of this machine: the `now` of [`Table::plan_garbage`].
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Table {
    /// What [`Table::collect_garbage`] would do; `now` in milliseconds since 1970-01-01T00:00Z.
    ///
    /// # Errors
    /// `NotFound` where there is no table, and nothing of one that was begun; `Unsupported` where the newest version needs a later
    /// writer; `Corrupt` where what a kept version names cannot be read, as nothing may be deleted then; errors of the store.
    pub async fn plan_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        match survey(store, settings, now).await? {
            Some(survey) => Ok(survey.plan),
            None => abandoned(store, before(settings, now)).await,
        }
    }

    /// Condemns what no kept version names, and deletes what was condemned an age ago. The first call frees nothing; one an age
    /// later does. Versions that other tables use, by their pins, are kept. Where a first version was begun and never committed,
    /// it deletes what is there, if nothing of it is younger than the age.
    ///
    /// # Errors
    /// `Conflict` where other writers committed again and again in the meantime; `Denied` where a table that this one uses cannot
    /// be told of the version that condemns; as [`Table::plan_garbage`].
    pub async fn collect_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let mut tries = 1;
        loop {
            let Some(survey) = survey(store, settings, now).await? else {
                return collect_abandoned(store, before(settings, now)).await;
            };
            match survey.carry_out(store, before(settings, now)).await {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < PLANS => tries += 1,
                done => return done,
            }
        }
    }
}

impl Survey {
    async fn carry_out(mut self, store: &Store, before: i64) -> Result<GcPlan> {
        if self.plan.is_empty() {
            return Ok(self.plan);
        }
        self.publish().await?;
        // Whoever pinned before now is seen now; whoever pins later sees the marks.
        let mut look = Look::take(store).await?;
        for (version, _) in self.spare_wanted(store, before).await? {
            self.plan.sweep.remove(&manifest_name(version));
        }
        // Manifests before what they name: nobody finds a version that is not whole.
        let manifests = self.take_sweep(|name| name.starts_with("manifests/"));
        if !manifests.is_empty() {
            delete_all(store, &manifests).await?;
            // Whoever pinned or tagged a version while its manifest went gets it back.
            for (version, bytes) in self.spare_wanted(store, before).await? {
                let name = manifest_name(version);
                if manifests.contains(&name) {
                    store.put_new(&name, bytes.into()).await?;
                    self.plan.sweep.remove(&name);
                }
            }
        }
        let names: Vec<String> = self.plan.delete.keys().cloned().collect();
        for batch in names.chunks(BATCH) {
            if look.is_stale() {
                // Another collection may have found a mark to be old, and taken it back.
                look = Look::take(store).await?;
                self.spare_unmarked(store, look).await?;
                self.spare_wanted(store, before).await?;
            }
            let batch: Vec<String> = batch.iter().filter(|name| self.plan.delete.contains_key(*name)).cloned().collect();
            delete_all(store, &batch).await?;
        }
        let rest = self.plan.sweep.keys().filter(|name| !name.starts_with("manifests/")).cloned().collect::<Vec<_>>();
        delete_all(store, &rest).await?;
        store.remove_empty("sessions").await;
        self.plan.done = true;
        Ok(self.plan)
    }

    /// Publishes the version that condemns and marks, if these lists change.
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

    fn take_sweep(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.plan.sweep.keys().filter(|name| wanted(name)).cloned().collect()
    }

    /// Looks again at the pins and at the tags of the newest version, and keeps what the versions name that are wanted now. Gives
    /// those that the plan gave up, with the bytes of their manifests.
    async fn spare_wanted(&mut self, store: &Store, before: i64) -> Result<Vec<(u64, Bytes)>> {
        let (mut wanted, dead) = pins::pins(store, &self.newest, before).await?;
        self.plan.sweep.retain(|name, _| !name.starts_with("pins/") || dead.contains_key(name));
        let newest = commit::newest_version(store).await?.unwrap_or(0);
        if newest > self.newest.version() {
            self.newest = Table::open_version(store.clone(), newest).await?;
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

    /// Keeps what the newest version does not mark.
    async fn spare_unmarked(&mut self, store: &Store, look: Look) -> Result<()> {
        let newest = look.newest.ok_or_else(|| Error::not_found(format!("{}: no table there any more", store.url())))?;
        let (manifest, _) = commit::load(store, newest).await?;
        let marked: BTreeSet<String> = manifest.deleting.iter().flatten().map(Condemned::name).collect();
        self.plan.delete.retain(|name, _| marked.contains(name));
        Ok(())
    }
}

/// Deletes what writers left that never committed a first version: receipts and parts before what they name, so that whoever
/// commits meanwhile fails instead of naming what is gone.
async fn collect_abandoned(store: &Store, before: i64) -> Result<GcPlan> {
    let mut plan = abandoned(store, before).await?;
    let (parts, rest): (Vec<String>, Vec<String>) = plan.sweep.keys().cloned().partition(|name| name.starts_with("sessions/"));
    delete_all(store, &parts).await?;
    if !rest.is_empty() {
        // Somebody who goes on has written something since.
        let nobody = commit::newest_version(store).await?.is_none() && abandoned(store, before).await?.waiting == 0;
        if !nobody {
            return Err(Error::conflict(format!("{}: somebody writes a first version just now; retry later", store.url())));
        }
        delete_all(store, &rest).await?;
    }
    store.remove_empty("sessions").await;
    plan.done = !plan.sweep.is_empty();
    Ok(plan)
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
