//! Sessions of several processes, as a process that joined one sees them: the planned version, its owners, and the versions that
//! the session has committed already.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use uuid::Uuid;

use super::session::{Session, SessionKind};
use crate::{
    commit::{
        self, Decided, Fate,
        decisions::{self, MayCommit, Newest},
    },
    error::{Error, ErrorKind, Result},
    format::{Cuts, MAX_PIN, Manifest, Pin},
    id::Hash,
    schema::Schema,
    store::Store,
    table::version::table::Table,
    work::boxed,
};

/// What a process that joined a session knows from the ticket.
#[derive(Clone, Debug)]
pub(in crate::table) struct Joined {
    /// The planned version. Its owners have the numbers that are in the parts.
    pub(in crate::table) planned: Table,
    pub(in crate::table) references: Vec<u32>,
    /// The version from which the session changes the table; `None` if it creates the table.
    pub(in crate::table) base: Option<u64>,
    /// The version that was the newest one when the session began; 0 if there was none.
    pub(in crate::table) since: u64,
    /// The number of partitions that a process before this one may have finished, and has in its memory.
    pub(in crate::table) partitions: u32,
}

/// Whether this session made a version.
fn made_by(manifest: &Manifest, session: Uuid) -> bool {
    commit::session_of(manifest) == Some(session)
}

impl Joined {
    /// Starts the commit in a process that joined.
    ///
    /// # Errors
    /// - `Conflict`: the table is no longer the one that the session began with.
    /// - `Denied`: an owner cannot be pinned.
    /// - Errors of the stores.
    pub(in crate::table) async fn begin_commit(&self, session: Session, kind: SessionKind, schema: &Schema) -> Result<Session> {
        let begun = match (kind, self.base) {
            (SessionKind::Append, Some(_)) => session.on_newest(schema, self.planned.manifest().cuts).await?,
            (SessionKind::Overwrite, Some(version)) => session.in_place_of(version).await?,
            _ => session,
        };
        Ok(Session { since: Some(self.since), ..begun })
    }

    /// Adds the owners that the parts use to those of the session. Returns the number there of each, by its number in the parts.
    ///
    /// # Errors
    /// - `Invalid`: a part uses an owner that the ticket does not have.
    pub(in crate::table) async fn adopt(&self, session: &mut Session, used: &BTreeSet<u32>) -> Result<BTreeMap<u32, u32>> {
        let mut numbers = BTreeMap::new();
        for number in used.iter().copied().filter(|number| *number > 0) {
            let foreign = self.planned.manifest().stores.get(number as usize - 1).cloned();
            let foreign = foreign
                .ok_or_else(|| Error::invalid(format!("a receipt uses owner {number}, which the session does not have")))?;
            numbers.insert(number, session.owners.adopt(foreign, self.planned.store_of(number).await));
        }
        if !numbers.is_empty() {
            // These owners have no pin of this commit yet. The others may have pins for another version, and no pin is rewritten.
            session.start_over();
        }
        Ok(numbers)
    }

    /// Removes the pins that the process which started the session left for it. A failure is harmless: garbage collection there
    /// sees that no version belongs to them.
    pub(in crate::table) async fn unpin(&self) {
        let name = format!("pins/{}.json", self.planned.manifest().commit_id);
        for number in 1..=self.planned.manifest().stores.len() as u32 {
            if let Ok(owner) = self.planned.store_of(number).await
                && self.is_idle(&owner, &name).await
            {
                let _ = owner.delete(&name).await;
            }
        }
    }

    /// Whether a pin was left for this table, and for a version that does not exist. A plan is an object that anybody who can write
    /// to the table may have changed: the id in it may be that of a pin of somebody else, or of a version that was committed.
    async fn is_idle(&self, owner: &Store, name: &str) -> bool {
        let store = self.planned.store();
        let Ok(content) = owner.get(name, MAX_PIN).await else { return false };
        let Ok(pin) = Pin::parse(&content, name) else { return false };
        if pin.table != self.planned.manifest().table {
            return false;
        }
        match commit::load_newest(store).await {
            Ok(Some((newest, _))) if newest.table != pin.table => return false,
            Ok(Some(_)) => {}
            // The session creates the table: only its place tells whose the pin is.
            Ok(None) => {
                let leads_here = |url: &String| match url.contains("://") {
                    true => url.trim_end_matches('/') == store.url(),
                    false => owner.neighbour(url).is_ok_and(|there| there == store.url()),
                };
                return pin.urls.iter().any(leads_here);
            }
            Err(_) => return false,
        }
        match commit::load(store, pin.version).await {
            Ok((version, _)) => version.commit_id != pin.commit(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }
}

impl Session {
    /// Returns the version that this session has committed already, in this process or in another one; `None` if there is none.
    pub(in crate::table) async fn made_before(&self) -> Result<Option<Table>> {
        match &self.base {
            None => self.committed().await,
            Some(base) if self.shared.is_some() => self.committed_after(self.since.unwrap_or(base.version())).await,
            Some(_) => Ok(None),
        }
    }

    /// Returns the version after `version` that this session has committed already, by this commit or in another process; `None`
    /// if there is none.
    ///
    /// # Errors
    /// - `NotFound`: a garbage collection has deleted that version since.
    /// - `Conflict`: the session is over.
    /// - Errors of the store.
    pub(in crate::table) async fn committed_after(&self, version: u64) -> Result<Option<Table>> {
        let (Some(newest), Some(session)) = (commit::newest_version(&self.store).await?, self.shared) else { return Ok(None) };
        if newest <= version {
            return Ok(None);
        }
        let (manifest, hash) = match commit::load(&self.store, newest).await {
            Ok(loaded) => loaded,
            // A later build made the newest version.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
                return self.committed_among(version + 1..newest).await;
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                return Err(error.at(format!("whether this session was committed as version {newest} is unknown")));
            }
            Err(error) => return Err(error),
        };
        let decided = Decided::by(&self.store, &manifest, hash).await?;
        match decisions::may_commit(&decided, version, session) {
            MayCommit::Already(number) => self.done(number).await.map(Some),
            MayCommit::Search(first, end) => self.committed_among(first..end).await,
            MayCommit::Over if self.base.is_some() || version > 0 => {
                boxed(|| self.made_or_over(&manifest, &decided, version)).await.map(Some)
            }
            // Where the session was to create the table, the claim reports that another one has.
            MayCommit::Claim | MayCommit::Over => Ok(None),
        }
    }

    /// Returns the version that this session has made already.
    ///
    /// # Errors
    /// - `NotFound`: a garbage collection has deleted it.
    /// - Errors of the store.
    pub(in crate::table) async fn done(&self, version: u64) -> Result<Table> {
        let made = self.committed_among(version..version + 1).await?;
        made.ok_or_else(|| {
            Error::not_found(format!(
                "{}: this session was committed as version {version}, which a garbage collection has deleted since",
                self.store.url()
            ))
        })
    }

    /// Returns the version that this session has made, if a manifest above the floor is it.
    ///
    /// # Errors
    /// - `Conflict`: there is none: the session is over.
    /// - Errors of the store.
    pub(in crate::table) async fn made_or_over(&self, newest: &Manifest, decided: &Decided<'_>, since: u64) -> Result<Table> {
        let reached = decided.recent().map(|ancestor| ancestor.version).min().unwrap_or(newest.version);
        let made = self.committed_among(since.max(decided.floor()) + 1..reached).await?;
        made.ok_or_else(|| self.is_over(newest, since))
    }

    /// Returns the error of a change that is over, if it is.
    ///
    /// # Errors
    /// - Errors of the store.
    pub(in crate::table) async fn over_by_now(&self) -> Result<Option<Error>> {
        let since = self.since.or(self.base.as_ref().map(Table::version));
        let (Some(since), Some((newest, _))) = (since, commit::load_newest(&self.store).await?) else { return Ok(None) };
        let floor = newest.floor();
        Ok((self.base.is_some() && decisions::is_fenced(since, floor)).then(|| self.is_over(&newest, since)))
    }

    /// The error of a change for which garbage collections no longer wait, as the newest version says.
    pub(in crate::table) fn is_over(&self, newest: &Manifest, since: u64) -> Error {
        let (url, floor) = (self.store.url(), newest.floor());
        let why = match self.shared {
            Some(session) => format!(
                "session {session} is over: nothing was written in it for the age of a garbage collection, or another process has \
                 committed it as a version that was given up since; look at the rows before you repeat it"
            ),
            None => "this change is over: it paused for longer than the age of a garbage collection".to_owned(),
        };
        Error::conflict(format!(
            "{url}: {why}. It began at version {since}; the floor is {floor} now, so that what it has written may be deleted. Open the \
             table again to repeat it"
        ))
    }

    /// Returns the version among these that this session has made; `None` if there is none.
    pub(in crate::table) async fn committed_among(&self, versions: Range<u64>) -> Result<Option<Table>> {
        for number in versions.rev() {
            match commit::load(&self.store, number).await {
                Ok((manifest, hash))
                    if manifest.commit_id == self.commit_id || self.shared.is_some_and(|id| made_by(&manifest, id)) =>
                {
                    if self.is_in_chain(number, hash).await? {
                        return Ok(Some(self.made(manifest, hash)));
                    }
                }
                Ok(_) => {}
                // A garbage collection deleted the version meanwhile, or a later build made it.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    return Err(error.at(format!("whether this session was committed as version {number} is unknown")));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether a manifest that this session has put is a version, and does not only lie where one was deleted.
    ///
    /// # Errors
    /// - `OutcomeUnknown`: a later version was deleted, so that nobody can tell.
    async fn is_in_chain(&self, version: u64, hash: Hash) -> Result<bool> {
        match commit::fate_of_hash(&self.store, version, hash).await? {
            Fate::Committed => Ok(true),
            Fate::NotCommitted | Fate::Open => Ok(false),
            Fate::CannotTell => Err(Error::outcome_unknown(format!(
                "{}: this session has put version {version}, and a version after it was deleted since, so that nobody can tell whether \
                 it was committed: look at the rows, and start a new session if they are missing",
                self.store.url()
            ))),
        }
    }

    /// Bases the session on the newest version of the table, to which it appends rows of this schema.
    ///
    /// # Errors
    /// - `Conflict`: the table now has another schema or other cut limits, or is another table.
    /// - `Denied`: an owner cannot be pinned.
    /// - Errors of the stores.
    pub(in crate::table) async fn on_newest(self, schema: &Schema, cuts: Cuts) -> Result<Self> {
        let base = Table::open_in(self.store.clone()).await?;
        if base.manifest().table != self.table || base.schema() != schema {
            return Err(Error::conflict(format!(
                "{} version {}: the table is not the one that the session began with, or its schema changed; start a new session",
                base.url(),
                base.version()
            )));
        }
        if base.manifest().cuts != cuts {
            return Err(Error::conflict(format!(
                "{} version {}: the cut limits of the table changed since the session began; start a new session",
                base.url(),
                base.version()
            )));
        }
        let session = Self::change_as(&base, true, self.allow_unpinned, self.commit_id).await?;
        Ok(Self { folds: true, shared: self.shared, ..session })
    }

    /// Bases the session on this version of the table, whose rows it replaces.
    ///
    /// # Errors
    /// - `Conflict`: a garbage collection has deleted the version.
    /// - Errors of the stores.
    async fn in_place_of(self, version: u64) -> Result<Self> {
        let url = self.store.url().to_owned();
        let base = Table::open_version_in(self.store.clone(), version).await.map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::conflict(format!(
                "{url}: version {version}, whose rows the session replaces, no longer exists; start a new session"
            ))
            .with_source(error),
            _ => error,
        })?;
        let session = Self::change_as(&base, false, self.allow_unpinned, self.commit_id).await?;
        // With the salt of the ticket: this version may be older than the first collection.
        Ok(Self { store: self.store, shared: self.shared, ..session })
    }

    /// Returns the table that this session has created already; `None` if it has not. The commit may have been made by a process
    /// that died or got `OutcomeUnknown`, or by another process with the same ticket.
    pub(in crate::table) async fn committed(&self) -> Result<Option<Table>> {
        match commit::load(&self.store, 1).await {
            Ok((manifest, hash))
                if manifest.commit_id == self.commit_id || self.shared.is_some_and(|id| made_by(&manifest, id)) =>
            {
                Ok(self.is_in_chain(1, hash).await?.then(|| self.made(manifest, hash)))
            }
            // Another writer's table, whether this build can read it or not. The claim of the version reports the conflict.
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Corrupt) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
