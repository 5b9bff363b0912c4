//! The write sessions that a garbage collection waits for, and those whose files it deletes.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::{
    commit::{
        Decided,
        decisions::{self, Newest},
    },
    error::Result,
    store::{Listed, Store},
    table::session::{is_session_file, since_of},
};

/// The write sessions that have files.
pub(super) struct Sessions {
    pub(super) files: BTreeMap<Uuid, SessionFiles>,
    /// Sessions that were committed.
    pub(super) committed: BTreeSet<Uuid>,
    /// A session is idle if its files were written at this time or before.
    pub(super) before: i64,
}

/// The files of a write session.
#[derive(Default)]
pub(super) struct SessionFiles {
    /// The version from which it began; 0 if no file says so.
    since: u64,
    has_begun: bool,
    last_ms: i64,
    files: Vec<(String, u64)>,
}

impl Sessions {
    fn is_idle(&self, session: &SessionFiles) -> bool {
        session.last_ms <= self.before
    }

    /// Returns the sessions that are open, with the versions from which they began.
    pub(super) fn open(&self, decided: &Decided<'_>) -> impl Iterator<Item = (Uuid, u64)> {
        let floor = decided.floor();
        let is_open = move |(id, session): &(&Uuid, &SessionFiles)| {
            decisions::is_open(session.since, floor, self.committed.contains(*id), self.is_idle(session))
        };
        self.files.iter().filter(is_open).map(|(id, session)| (*id, session.since))
    }

    /// Whether a version is needed to end an idle session: one with this floor, or, if the session began after the last collection, a
    /// collection after which a later one can do that.
    pub(super) fn wait_for_a_version(&self, decided: &Decided<'_>, floor: u64) -> bool {
        let idle = self.files.iter().filter(|(id, session)| !self.committed.contains(*id) && self.is_idle(session));
        // What began after the newest version is of another table, or of versions that were taken away.
        let newest = decided.version();
        let mut since = idle.map(|(_, session)| session.since).filter(|since| !decisions::is_fenced(*since, decided.floor()));
        since.any(|since| decisions::is_fenced(since, floor) || (decided.collected()..=newest).contains(&since))
    }

    /// Returns the files of the sessions that were committed, or are over with this floor.
    pub(super) fn over(&self, floor: u64) -> impl Iterator<Item = (String, u64)> {
        // Where the file is missing that says when a session began, its age decides.
        let is_over = move |(id, session): &(&Uuid, &SessionFiles)| {
            let is_known = session.has_begun || self.is_idle(session);
            self.committed.contains(*id) || is_known && decisions::is_fenced(session.since, floor)
        };
        self.files.iter().filter(is_over).flat_map(|(_, session)| session.files.iter().cloned())
    }
}

/// Returns the files of the write sessions, by their ids, and the files that self-tests have left.
pub(super) async fn sessions(store: &Store) -> Result<(BTreeMap<Uuid, SessionFiles>, Vec<Listed>)> {
    let (mut sessions, mut strays): (BTreeMap<Uuid, SessionFiles>, _) = (BTreeMap::new(), Vec::new());
    for listed in store.list_all("sessions").await?.into_iter().filter(|listed| is_session_file(&listed.name)) {
        let mut parts = listed.name.split('/').skip(1);
        let Some(session) = parts.next().and_then(|session| Uuid::try_parse(session).ok()) else {
            strays.push(listed);
            continue;
        };
        let of_session = sessions.entry(session).or_default();
        let since = parts.next().and_then(since_of);
        of_session.since = of_session.since.max(since.unwrap_or(0));
        of_session.has_begun |= since.is_some();
        of_session.last_ms = of_session.last_ms.max(listed.modified_ms);
        of_session.files.push((listed.name, listed.bytes));
    }
    Ok((sessions, strays))
}
