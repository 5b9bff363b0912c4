//! Garbage collection. A version lists what is given up: versions that are not kept, and objects that no kept version names. A later
//! collection raises the floor to that version, if an age has passed and no open session began before it; then what is listed is final,
//! and is deleted. Follows `format-spec/collections.md` and `format-spec/pins.md#pin`; `docs/protocol.md` explains the rules.
//!
//! ```text
//! call 1: plan -> publish: expired and condemned, at this version
//! call 2, an age later: plan -> publish: the floor is that version -> delete manifests, then objects
//! call 3: plan -> publish: what is gone leaves the lists
//! ```
//! Each of these is a commit. So of a collection and any other commit, the later one sees what the earlier one decided: a commit takes
//! back what it needs and is not final. If a call crashes, the next one finishes its work. A clock decides only when the floor rises.
//! `gc/plan.rs` makes the plan, `gc/pins.rs` finds the versions that other tables use, and `gc/sessions.rs` the open sessions.

mod pins;
mod plan;
mod sessions;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use self::plan::{Next, Survey, abandoned, survey};
pub use self::{
    pins::User,
    plan::{GcPlan, GcSettings},
};
pub(super) use self::{
    pins::{listed_pins, read_pin, user},
    plan::{before, condemned_of, is_ours},
};
use crate::{
    commit::{
        self, Decided,
        decisions::{self, Numbered},
    },
    error::{Error, ErrorKind, Result},
    format::Collections,
    id::Hash,
    store::Store,
    table::{
        session::{Session, lineage, remove_empty_folders},
        version::{objects::together, table::Table},
    },
    work::boxed,
};

/// Maximum number of plans in one call. Another plan is made if another writer committed first. It lists nothing again but manifests,
/// so that it is made sooner than most writers commit again.
const PLANS: usize = 16;

impl Table {
    /// Does what `Storage::plan_garbage` says.
    pub(crate) async fn plan_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let nothing = BTreeSet::new();
        Ok(boxed(|| survey(store, settings, now, &nothing, None)).await?.ok_or_else(|| no_table(store))?.plan)
    }

    /// Does what `Storage::collect_garbage` says.
    pub(crate) async fn collect_garbage(store: &Store, settings: GcSettings, now: i64) -> Result<GcPlan> {
        let (mut tries, mut seen, nothing) = (1, None, BTreeSet::new());
        loop {
            let survey = boxed(|| survey(store, settings, now, &nothing, seen.take())).await?;
            let mut survey = survey.ok_or_else(|| no_table(store))?;
            match boxed(|| survey.carry_out(store)).await {
                Err(error) if error.kind() == ErrorKind::Conflict && tries < PLANS => {
                    (tries, seen) = (tries + 1, Some(survey.seen));
                }
                done => return done.map(|()| survey.plan),
            }
        }
    }

    /// Does what `Storage::plan_abandoned` says.
    pub(crate) async fn plan_abandoned(store: &Store, age: Duration, now: i64) -> Result<GcPlan> {
        abandoned(store, before(age, now)).await
    }

    /// Does what `Storage::collect_abandoned` says.
    pub(crate) async fn collect_abandoned(store: &Store, age: Duration, now: i64) -> Result<GcPlan> {
        collect_abandoned(store, before(age, now)).await
    }

    /// Does what `Versions::give_up` says.
    pub(crate) async fn give_up(&self, version: u64) -> Result<()> {
        let (store, url) = (self.store(), self.url());
        let newest = Self::open_in(store.clone()).await?;
        if version == newest.version() {
            return Err(Error::invalid(format!("{url}: version {version} is the newest and can be read; it is not given up")));
        }
        let expected = expected_hash(store, &newest, version).await?;
        match commit::load(store, version).await {
            Ok((_, found)) if expected.is_none_or(|expected| expected == found) => {
                return Err(Error::invalid(format!(
                    "{url}: the manifest of version {version} is sound; expected a damaged one: `tetrys gc --keep N`, `Table.gc`, \
                     deletes versions that are not needed"
                )));
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {}
            // Another manifest lies there, or none.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound && expected.is_some() => {}
            Err(error) => return Err(error),
        }
        if let Some((tag, _)) = newest.manifest().tags.iter().find(|(_, tagged)| **tagged == version) {
            return Err(Error::conflict(format!(
                "{url}: version {version} has the tag `{tag}`: remove the tag first (`tetrys edit --untag {tag}`, `Table.untag`)"
            )));
        }
        // A pin that cannot be read may be one of this version. One that holds nothing any more does not count, whatever its age.
        let (pinned, _) = pins::pins(store, &newest, i64::MAX).await?;
        if pinned.contains(&version) {
            return Err(Error::conflict(format!(
                "{url}: another table uses version {version} (`tetrys doctor` names it): repair the manifest with a copy of the \
                 table (`tetrys verify TABLE --repair --from COPY`)"
            )));
        }
        // Nothing else is given up, whatever its age: an object of now is younger than the age.
        let settings = GcSettings { keep_versions: 0, age: Duration::MAX };
        let given_up = BTreeSet::from([version]);
        let survey = boxed(|| survey(store, settings, 0, &given_up, None)).await?;
        let mut survey = survey.ok_or_else(|| no_table(store))?;
        boxed(|| survey.carry_out(store)).await
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

/// Returns the hash of the manifest of a version that is not given up, as the newest version says; `None` if it does not say.
async fn expected_hash(store: &Store, newest: &Table, version: u64) -> Result<Option<Hash>> {
    let decided = Decided::by(store, newest.manifest(), newest.manifest_hash()).await?;
    let lists = decided.lists();
    Ok(match decisions::numbered(&decided, version) {
        _ if version <= newest.manifest().floor() => lists.kept_hash(version),
        Numbered::Has(hash) if lists.expired_at(version).is_none() => Some(hash),
        _ => None,
    })
}

fn no_table(store: &Store) -> Error {
    Error::not_found(format!(
        "{}: no table there (no manifest), so nothing is deleted; `tetrys gc --abandoned` or `collect_abandoned` deletes what a \
         writer left that never committed a first version",
        store.url()
    ))
}

impl Survey {
    /// # Errors
    /// - `Conflict`: another writer committed after this plan was made. Nothing was deleted.
    async fn carry_out(&mut self, store: &Store) -> Result<()> {
        if self.plan.is_empty() {
            self.plan.done = true;
            return Ok(());
        }
        if let Some(next) = self.next.take() {
            self.publish(next).await?;
        }
        // Delete the manifests before the objects that they name, so that no reader opens an incomplete version.
        let (manifests, rest): (Vec<String>, Vec<String>) =
            self.plan.sweep.keys().cloned().partition(|name| name.starts_with("manifests/"));
        let settles = !manifests.is_empty() || !self.plan.delete.is_empty();
        delete_all(store, manifests).await?;
        if settles {
            // A power cut must not bring back a manifest whose objects are gone, here or in the tables that it used. An earlier call may
            // have deleted it.
            store.settle("manifests").await?;
        }
        delete_all(store, self.plan.delete.keys().cloned().collect()).await?;
        delete_all(store, rest).await?;
        remove_empty_folders(store).await;
        self.plan.done = true;
        Ok(())
    }

    /// Publishes the version that decides this.
    async fn publish(&self, next: Next) -> Result<()> {
        // Where no pin can be put, the version that this one repeats is kept as long as this one, and its pins.
        let mut session = Session::child_of(&self.newest, true, true).await?;
        let mut manifest = session.child()?;
        let Next { floor, recent, lists } = next;
        let lists = commit::store_lists(&session.store, lists, manifest.version).await?;
        session.collects = Some(Collections { floor, last: manifest.version, session: None, recent, lists });
        let details = BTreeMap::from([
            ("condemned".to_owned(), Value::from(self.plan.condemn.len())),
            ("deleted".to_owned(), self.plan.delete.len().into()),
            ("expired".to_owned(), self.plan.expired.clone().into()),
        ]);
        manifest.lineage = lineage("gc", details)?;
        session.publish_alone(manifest).await?;
        Ok(())
    }
}

/// Deletes the objects of writers that never committed a first version. Receipts and parts go before the objects that they name,
/// so that a concurrent commit fails and never names a deleted object.
async fn collect_abandoned(store: &Store, before: i64) -> Result<GcPlan> {
    let mut plan = abandoned(store, before).await?;
    let (parts, rest): (Vec<String>, Vec<String>) = plan.sweep.keys().cloned().partition(|name| name.starts_with("sessions/"));
    delete_all(store, parts).await?;
    if !rest.is_empty() {
        // A writer that is still active has written something since.
        let nobody = commit::newest_version(store).await?.is_none() && abandoned(store, before).await?.waiting == 0;
        if !nobody {
            return Err(Error::conflict(format!("{}: another writer is writing the first version; retry later", store.url())));
        }
        delete_all(store, rest).await?;
    }
    remove_empty_folders(store).await;
    plan.done = !plan.sweep.is_empty();
    Ok(plan)
}

async fn delete_all(store: &Store, names: Vec<String>) -> Result<()> {
    let (unfinished, objects): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| name.contains('#'));
    store.delete_all(objects).await?;
    together(unfinished.into_iter().map(|name| async move { store.delete_unfinished(&name).await })).await.map(drop)
}
