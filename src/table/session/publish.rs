//! Publishes a version of a table. Writers, edits, saved views, rebinding and garbage collection all publish through here.
//! Follows `format-spec/manifest.md#commit` and `format-spec/manifest.md#condemned-objects`.
//!
//! ```text
//!   list the newest version <-------------------------------------------+
//!    -> rebase our change onto it, merge small segments (fold)          |
//!    -> is it committed already? is it over?                            |
//!    -> leave out of the lists what we need; final: Conflict            |
//!    -> pin the owners, then check what they delete                     |
//!    -> claim newest + 1, settled by the newest version --- not ours ---+
//! ```

use std::collections::{BTreeMap, BTreeSet};

use futures::future::join;
use serde_json::Value;

use super::{
    folding::fold_tail,
    rebase,
    session::{Session, join_sequences},
};
use crate::{
    commit::{
        self, Borrower, Decided, NOT_PINNED, Owners, Unpinned, WITHOUT_PINS,
        decisions::{self, MayCommit, Newest, Withdraw},
    },
    error::{Error, ErrorKind, Result},
    format::{Kept, Manifest, Parent, StoredLists, ViewSource},
    id::Hash,
    machine,
    table::version::{
        objects::{is_missing, named, new_objects, open_versions, together},
        table::Table,
    },
    work::boxed,
};

/// Maximum number of attempts to rebase and claim in one commit.
const REBASES: usize = 32;
/// Maximum number of later versions that are searched for an earlier change of the same handle.
const LOOKED_THROUGH: usize = 64;

impl Session {
    /// Publishes `ours`, rebased onto the versions that other writers published since the base version.
    ///
    /// # Errors
    /// - `Conflict`: another writer changed the same part, or a garbage collection deletes an object that `ours` needs, here or
    ///   at an owner.
    /// - `Denied`: no pin can be written to an owner.
    /// - `OutcomeUnknown`: it is unknown whether the version exists.
    /// - Errors of the stores.
    pub(in crate::table) async fn publish(mut self, ours: Manifest) -> Result<Table> {
        self.publish_with(&ours, true).await
    }

    /// Publishes `ours` if no other writer committed since the base version.
    ///
    /// # Errors
    /// - `Conflict`: another writer committed, or a garbage collection deletes an object that `ours` needs.
    /// - `Denied`: no pin can be written to an owner.
    /// - `OutcomeUnknown`: it is unknown whether the version exists.
    /// - Errors of the stores.
    pub(in crate::table) async fn publish_alone(mut self, ours: Manifest) -> Result<Table> {
        self.publish_with(&ours, false).await
    }

    /// Publishes as [`Session::publish`] does, or without `rebases` as [`Session::publish_alone`] does. The caller keeps the
    /// session.
    #[tracing::instrument(level = "debug", name = "commit", skip_all, fields(url = self.store.url()))]
    pub(in crate::table) async fn publish_with(&mut self, ours: &Manifest, rebases: bool) -> Result<Table> {
        // Boxed, because the states of this and of the changes around it are large for the stack of a thread.
        let published = boxed(|| self.claim(ours, rebases)).await;
        let is_ours = match &published {
            // Another process of the session may have made the version, and pinned for it.
            Ok(table) => table.manifest().commit_id == self.commit_id,
            // With an unknown outcome the version may exist, so its pins stay.
            Err(error) => error.kind() == ErrorKind::OutcomeUnknown,
        };
        if !is_ours {
            self.owners.unpin(|_| false).await;
        }
        match published {
            Err(error) if error.kind() == ErrorKind::Conflict => Err(self.with_own_version(error).await),
            published => published,
        }
    }

    /// Adds to a conflict that another change of the same handle made a version: one whose future was dropped, or whose result was not
    /// used.
    async fn with_own_version(&self, error: Error) -> Error {
        let Some(base) = &self.base else { return error };
        let claimed = base.claimed().clone();
        if claimed.iter().all(|commit| *commit == self.commit_id) {
            return error;
        }
        let Ok(versions) = commit::versions(&self.store).await else { return error };
        for version in versions.into_iter().filter(|version| *version > base.version()).take(LOOKED_THROUGH) {
            match commit::load(&self.store, version).await {
                Ok((manifest, _)) if claimed.contains(&manifest.commit_id) => {
                    return Error::conflict(format!(
                        "{error} (version {version} was made by an earlier change of this same handle: use the table that it returned, \
                         or open the table again)"
                    ))
                    .with_source(error);
                }
                _ => {}
            }
        }
        error
    }

    async fn claim(&mut self, ours: &Manifest, rebases: bool) -> Result<Table> {
        for attempt in 0..REBASES {
            let newest = commit::newest_version(&self.store);
            let (newest, there) = match &self.base {
                // Mostly the base is still the newest version. Its manifest is read at the same time.
                Some(base) if attempt == 0 => {
                    let (newest, there) = join(newest, self.is_there(base)).await;
                    (newest?, Some(there))
                }
                _ => (newest.await?, None),
            };
            let manifest = match boxed(|| self.prepared((newest, there), ours, rebases)).await {
                Ok(Prepared::Claim(manifest)) => *manifest,
                Ok(Prepared::Done(table)) => return Ok(table),
                Err(error) => {
                    // A garbage collection may have deleted the missing object. If there is a newer version, start again from it.
                    if self.base.is_some() && is_missing(&error) && commit::newest_version(&self.store).await? != newest {
                        continue;
                    }
                    return Err(error);
                }
            };
            if let Some(base) = &self.base {
                base.claimed().insert(manifest.commit_id);
            }
            match commit::publish(&self.store, &manifest).await {
                Ok(hash) => return Ok(self.made(manifest, hash)),
                Err(error) if error.kind() == ErrorKind::Conflict && rebases && self.base.is_some() => {
                    // This claim is no version and never becomes one.
                    if let Some(base) = &self.base {
                        base.claimed().remove(&self.commit_id);
                    }
                    self.commit_id = machine::new_id();
                }
                // Another process of the session may have claimed the first version.
                Err(error) if error.kind() == ErrorKind::Conflict => return self.committed().await?.ok_or(error),
                Err(error) => return Err(error),
            }
        }
        Err(Error::conflict(format!("{}: other writers won {REBASES} attempts to commit; retry", self.store.url())))
    }

    fn allowed(&self) -> Vec<String> {
        self.base.as_ref().map(|base| base.inner.allowed.clone()).unwrap_or_default()
    }

    /// Prepares the manifest of the next version. `there` is what [`Session::is_there`] found, if it was asked already.
    async fn prepared(
        &mut self,
        (newest, there): (Option<u64>, Option<Result<()>>),
        ours: &Manifest,
        rebases: bool,
    ) -> Result<Prepared> {
        let by_another = |version: u64| {
            let url = self.store.url();
            Error::conflict(format!("{url}: version {version} was committed by another writer; reload and retry"))
        };
        let Some(base) = self.base.clone() else {
            return match newest {
                None => self.ready(Manifest { commit_id: self.commit_id, ..ours.clone() }).await,
                Some(newest) => match self.committed().await? {
                    Some(table) => Ok(Prepared::Done(table)),
                    None => self.committed_after(0).await?.map(Prepared::Done).ok_or_else(|| by_another(newest)),
                },
            };
        };
        // On some stores a listing lags behind; the base was there when the change began.
        let newest = newest.unwrap_or(0).max(base.version());
        if newest == base.version() {
            match there {
                Some(there) => there?,
                None => self.is_there(&base).await?,
            }
        }
        let theirs = if newest == base.version() {
            base.clone()
        } else if rebases {
            let (theirs, hash) = commit::load(&self.store, newest).await?;
            Table::of(self.store.clone(), theirs, hash, self.allowed())
        } else {
            return Err(by_another(newest));
        };
        let decided = Decided::by(&self.store, theirs.manifest(), theirs.manifest_hash()).await?;
        let since = self.since.unwrap_or(base.version());
        if let Some(session) = self.shared {
            match decisions::may_commit(&decided, since, session) {
                MayCommit::Claim => {}
                MayCommit::Over => {
                    return boxed(|| self.made_or_over(theirs.manifest(), &decided, since)).await.map(Prepared::Done);
                }
                MayCommit::Already(version) => return self.done(version).await.map(Prepared::Done),
                // The versions up to the base were searched when the commit began.
                MayCommit::Search(first, end) => {
                    if let Some(table) = self.committed_among(first.max(base.version() + 1)..end).await? {
                        return Ok(Prepared::Done(table));
                    }
                }
            }
        }
        let mut manifest = match newest == base.version() {
            true => ours.clone(),
            false => boxed(|| self.rebase(&base, ours, &theirs)).await?,
        };
        if self.folds {
            // After an append, small segments at the end are merged.
            manifest = boxed(|| fold_tail(&self.store, manifest)).await?;
        }
        if self.pinned.is_some_and(|(version, _)| version != newest + 1) {
            // A pin names its version and is never rewritten, so another version needs another commit id and new pins.
            self.commit_id = machine::new_id();
        }
        manifest.version = newest + 1;
        manifest.parent = Some(Parent { version: newest, blake3: theirs.manifest_hash() });
        manifest.commit_id = self.commit_id;
        match &self.collects {
            Some(collections) => {
                (manifest.condemned, manifest.deleting) = (Vec::new(), None);
                manifest.collections = Some(collections.clone());
            }
            None => {
                let lists = boxed(|| self.spare(&mut manifest, base.manifest(), &theirs, &decided)).await?;
                let (theirs, hash) = (theirs.manifest(), theirs.manifest_hash());
                manifest.collections = commit::next_collections(theirs, hash, self.shared, lists);
            }
        }
        if manifest.stores != self.owners.stores() {
            // The other writer changed the owners. This version uses the same chunks, so it takes over its list.
            self.owners.unpin(|_| false).await;
            (self.owners, self.pinned) = (Owners::new(self.store.clone()), None);
            for (number, foreign) in (1..).zip(&manifest.stores) {
                self.owners.inherit(foreign.clone(), theirs.store_of(number).await);
            }
        }
        self.ready(manifest).await
    }

    /// Checks that the version that the change starts from is still there: somebody may have deleted the table and made another one.
    ///
    /// # Errors
    /// - `Conflict`: the version is gone, or it is another one.
    /// - Errors of the store.
    async fn is_there(&self, base: &Table) -> Result<()> {
        let (url, version) = (base.url(), base.version());
        match commit::hash_of(&self.store, version).await {
            Ok(hash) if hash == base.manifest_hash() => Ok(()),
            Ok(_) => Err(Error::conflict(format!(
                "{url}: another table is there now, with a version {version} of its own; open it again"
            ))),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::conflict(format!(
                "{url}: version {version}, from which this change starts, is no longer there; open the table again"
            ))
            .with_source(error)),
            Err(error) => Err(error),
        }
    }

    /// Pins the owners for this manifest, then checks that they keep the objects that it uses.
    async fn ready(&mut self, mut manifest: Manifest) -> Result<Prepared> {
        let borrower = Borrower { table: manifest.table, version: manifest.version, commit_id: manifest.commit_id };
        if self.pinned != Some((borrower.version, borrower.commit_id)) {
            self.pin(borrower).await?;
        }
        if !self.unpinned.is_empty()
            && let Value::Object(lineage) = &mut manifest.lineage
        {
            // A collection goes on without pins, but it does not accept that for the changes after it.
            let accepted = self.base.as_ref().map(|base| not_pinned(base.manifest())).unwrap_or_default();
            let is_accepted = |owner: &&Unpinned| self.collects.is_none() || accepted.contains(&owner.url);
            let (accepted, others): (Vec<_>, Vec<_>) = self.unpinned.iter().partition(is_accepted);
            for (key, owners) in [(NOT_PINNED, accepted), (WITHOUT_PINS, others)] {
                let urls: Vec<Value> = owners.into_iter().map(|owner| owner.url.clone().into()).collect();
                if !urls.is_empty() {
                    lineage.insert(key.to_owned(), urls.into());
                }
            }
        }
        self.check_owners(&manifest).await?;
        Ok(Prepared::Claim(Box::new(manifest)))
    }

    /// Writes a pin to every owner.
    ///
    /// # Errors
    /// - `Denied`: an owner cannot be pinned, and the caller did not allow to continue without the pin; `Unavailable` if its store gave no
    ///   answer.
    /// - The errors of [`Owners::pin`].
    pub(in crate::table) async fn pin(&mut self, borrower: Borrower) -> Result<()> {
        self.unpinned = self.owners.pin(borrower).await?;
        self.pinned = Some((borrower.version, borrower.commit_id));
        let accepted = self.base.as_ref().map(|base| not_pinned(base.manifest())).unwrap_or_default();
        match self.unpinned.iter().find(|owner| !self.allow_unpinned && !accepted.contains(&owner.url)) {
            None => Ok(()),
            Some(Unpinned { url, why }) => {
                let (kind, mend) = match self.owners.is_silent(url) {
                    true => (ErrorKind::Unavailable, "retry"),
                    false => (ErrorKind::Denied, "make it writable"),
                };
                let message = format!(
                    "no pin was written to {url} ({why}): a garbage collection there may delete chunks or rows that this table \
                     uses; {mend}, or accept that with --allow-unpinned (`allow_unpinned=True` in Python, `allow_unpinned` in \
                     Rust, or TETRYS_ALLOW_UNPINNED=1)"
                );
                self.owners.unpin(|_| false).await;
                Err(Error::new(kind, message))
            }
        }
    }

    /// Rebases `ours` onto `theirs`.
    async fn rebase(&self, base: &Table, ours: &Manifest, theirs: &Table) -> Result<Manifest> {
        let (before, newest, theirs) = (base.manifest(), theirs, theirs.manifest());
        let place = |error: Error| {
            let (url, made, newer) = (self.store.url(), before.version, theirs.version);
            error.at(format!("{url}: this change was made from version {made}, and version {newer} is newer"))
        };
        if theirs.table != before.table || !theirs.write_features.is_empty() {
            return Err(place(Error::conflict("it needs a later writer, or belongs to another table; reload and retry")));
        }
        let rebased = boxed(|| rebase::rebase(&self.store, before, ours, theirs)).await;
        let mut rebased = rebased.map_err(|error| match error.kind() {
            ErrorKind::Conflict => place(error),
            _ => error,
        })?;
        if ours.segments != before.segments && theirs.segments != before.segments {
            join_sequences(newest, &mut rebased).await.map_err(|error| match error.kind() {
                ErrorKind::Invalid => place(Error::conflict(format!("{error}; reload and retry"))),
                _ => error,
            })?;
        }
        Ok(rebased)
    }

    /// Leaves the objects and versions that `manifest` needs, and `theirs`, the newest version, does not name, out of what is given
    /// up. Returns other lists for the manifest, if they change.
    ///
    /// # Errors
    /// - `Conflict`: `manifest` needs what is given up for good, or what it has written may be deleted.
    /// - `NotFound`: `manifest` gives a tag to a version that does not exist; `Conflict` if there is a newer version than the base.
    async fn spare(
        &self,
        manifest: &mut Manifest,
        base: &Manifest,
        theirs: &Table,
        decided: &Decided<'_>,
    ) -> Result<Option<StoredLists>> {
        let (url, newest, floor) = (self.store.url(), theirs.manifest(), decided.floor());
        let since = self.since.unwrap_or(base.version);
        let tagged = self.newly_tagged(manifest, base, newest, decided).await?;
        let marked: BTreeSet<String> = newest.marked().map(|object| object.name()).collect();
        let condemned = decided.condemned();
        let is_fenced = decisions::is_fenced(since, floor);
        let copies = newest.collections.is_some() && may_copy(manifest, newest);
        let is_quiet = condemned.is_empty() && marked.is_empty() && newest.condemned.is_empty();
        if tagged.is_empty() && !is_fenced && is_quiet && !copies {
            return Ok(None);
        }
        let mut needed = new_objects(&self.store, manifest, newest).await?;
        if is_fenced && !needed.is_empty() {
            return Err(self.is_over(newest, since));
        }
        if copies {
            // Objects without a salt may have been there when the change found them, and deleted since.
            let look = |name: String| async move {
                self.store.size(&name).await.map_err(|error| match error.kind() {
                    ErrorKind::NotFound => Error::conflict(format!(
                        "{url}: a garbage collection deleted {name}, which this change needs; open the table again and repeat the change"
                    )),
                    _ => error,
                })
            };
            together(needed.keys().filter(|name| is_copied(manifest, name)).cloned().map(look).collect::<Vec<_>>()).await?;
        }
        // A tag keeps a version, so the objects of newly tagged versions are needed too.
        for objects in named(&tagged).await? {
            needed.extend(objects.objects().map(|(name, bytes)| (name.clone(), bytes)));
        }
        let (mut lists, mut back) = (decided.lists().clone(), BTreeSet::new());
        for name in needed.keys() {
            match decisions::withdraw(condemned.get(name).copied(), floor) {
                Withdraw::Nothing if !marked.contains(name) => {}
                Withdraw::LeaveOut => drop(back.insert(name.as_str())),
                Withdraw::Nothing | Withdraw::Conflict => {
                    return Err(Error::conflict(format!(
                        "{url}: this change needs {name}, which a garbage collection is deleting; repeat the change after the next \
                         collection"
                    )));
                }
            }
        }
        lists.condemned.retain(|given_up| !back.contains(given_up.object.name().as_str()));
        for table in &tagged {
            let (version, blake3) = (table.version(), table.manifest_hash());
            if let Some(place) = lists.expired.iter().position(|expired| expired.version == version) {
                lists.expired.remove(place);
                if version <= floor {
                    let place = lists.kept.partition_point(|kept| kept.version < version);
                    lists.kept.insert(place, Kept { version, blake3 });
                }
            }
        }
        // Another build condemned these.
        if manifest.deleting.is_some() {
            manifest.condemned.retain(|object| !needed.contains_key(&object.name()));
            let gives_up = !manifest.condemned.is_empty();
            manifest.deleting = manifest.deleting.take().filter(|marks| gives_up || !marks.is_empty());
        }
        match lists == *decided.lists() {
            true => Ok(None),
            false => Ok(Some(commit::store_lists(&self.store, lists, manifest.version).await?)),
        }
    }

    /// Returns the older versions to which `manifest` gives a tag that `theirs`, the newest version, does not have.
    ///
    /// # Errors
    /// - `NotFound`, `Conflict`: one of them does not exist: a garbage collection has deleted it, or will.
    async fn newly_tagged(
        &self,
        manifest: &Manifest,
        base: &Manifest,
        theirs: &Manifest,
        decided: &Decided<'_>,
    ) -> Result<Vec<Table>> {
        let is_new = |(name, version): &(&String, &u64)| theirs.tags.get(*name) != Some(version) && **version != theirs.version;
        let new: BTreeMap<u64, &String> = manifest.tags.iter().filter(is_new).map(|(name, version)| (*version, name)).collect();
        let mut found: Vec<Table> =
            open_versions(&self.store, new.keys().copied()).await?.into_iter().map(|(table, _)| table).collect();
        found.retain(|table| {
            let (version, hash) = (table.version(), table.manifest_hash());
            let expired = decided.lists().expired_at(version);
            let is_final = expired.is_some_and(|at| decisions::is_final(at, decided.floor()));
            !is_final && !decisions::is_void(decided, version, hash)
        });
        match new.iter().find(|(version, _)| found.iter().all(|table| table.version() != **version)) {
            Some((version, name)) => {
                let kind = if theirs.version > base.version { ErrorKind::Conflict } else { ErrorKind::NotFound };
                let url = self.store.url();
                Err(Error::new(
                    kind,
                    format!("{url}: tag `{name}`: no version {version}: its manifest is missing; tag a version that exists"),
                ))
            }
            None => Ok(found),
        }
    }

    /// Checks that the pinned versions still exist, and that no object of them that `manifest` uses is being deleted.
    async fn check_owners(&self, manifest: &Manifest) -> Result<()> {
        let marked = self.owners.marked().await?;
        if marked.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let marked: Vec<BTreeSet<String>> =
            marked.into_iter().map(|objects| objects.iter().map(|object| object.name()).collect()).collect();
        let of = |owner: u32| (owner as usize).checked_sub(1).and_then(|place| marked.get(place));
        let used = Table::of(self.store.clone(), manifest.clone(), Hash::of(b""), self.allowed());
        for group in 0..manifest.schema.groups().len() {
            let layout = used.layout(group).await?;
            let runs = layout.runs().iter().filter(|run| run.owner > 0);
            let mut gone = runs.filter(|run| of(run.owner).is_some_and(|marked| marked.contains(&run.chunk.object_name())));
            if let Some(run) = gone.next() {
                let url = self.owners.store(run.owner).map_or("another table", |store| store.url());
                return Err(Error::conflict(format!(
                    "{url}: a garbage collection is deleting chunk {}; refer to a newer version, or leave this reference out",
                    run.chunk
                )));
            }
        }
        let sources: BTreeMap<u32, u64> = (manifest.view.iter().flat_map(|view| &view.sources))
            .filter_map(|source| {
                let foreign = manifest.stores.get((source.store as usize).checked_sub(1)?)?;
                Some((source.store, foreign.version))
            })
            .collect();
        for (number, version) in sources {
            let (Some(marked), Some(store)) = (of(number).filter(|marked| !marked.is_empty()), self.owners.store(number)) else {
                continue;
            };
            let source = Table::open_version_in(store.clone(), version).await?;
            let objects = named(&[source]).await?;
            if objects.iter().any(|named| named.is_missing_layouts || named.objects().any(|(name, _)| marked.contains(name))) {
                let url = store.url();
                return Err(Error::conflict(format!(
                    "{url}: a garbage collection is deleting objects of version {version}; save a view of a newer version"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a version may name new objects that have no salt: attachments, and what was copied as it is.
fn may_copy(manifest: &Manifest, before: &Manifest) -> bool {
    let maps = |manifest: &Manifest| manifest.view.iter().flat_map(|view| &view.sources).flat_map(ViewSource::maps).count();
    manifest.attachments != before.attachments || maps(manifest) > 0 || is_materialized(manifest)
}

/// Whether an object that a version names newly may have been copied as it is, by its name.
fn is_copied(manifest: &Manifest, name: &str) -> bool {
    let folder = name.split('/').next().unwrap_or_default();
    matches!(folder, "attachments" | "joins") || folder == "chunks" && is_materialized(manifest)
}

fn is_materialized(manifest: &Manifest) -> bool {
    manifest.lineage.get("operation").is_some_and(|operation| operation == "materialize")
}

/// The owners that an earlier commit was allowed to use without a pin.
pub(in crate::table) fn not_pinned(manifest: &Manifest) -> BTreeSet<String> {
    let urls = manifest.lineage.get(NOT_PINNED).and_then(Value::as_array).into_iter().flatten();
    urls.filter_map(|url| url.as_str().map(str::to_owned)).collect()
}

/// The step that follows the preparation.
enum Prepared {
    /// The manifest to claim with.
    Claim(Box<Manifest>),
    /// Another process has committed this session already.
    Done(Table),
}
