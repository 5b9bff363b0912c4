//! How a session of new rows starts: before its first object it puts a file with the version that was the newest one, so that garbage
//! collections wait for it. Follows `format-spec/collections.md#sessions`.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::FutureExt;
use uuid::Uuid;

use super::files::{begin_name, remove_empty_folders};
use crate::{
    commit::{self, Decided, decisions},
    error::{Error, Result},
    machine,
    once::Once,
    store::{Put, Store},
};

/// Most bytes of the file by which a session begins.
const MAX_BEGIN: u64 = 4096;

/// A writer puts the file again where it is older, so that a garbage collection waits for a session in which one partition takes longer than
/// the age. Much shorter than the age of any collection in use: an hour or more.
const REFRESH: Duration = Duration::from_secs(600);

/// The start of a session.
#[derive(Debug)]
pub(in crate::table) struct Start {
    store: Store,
    session: Uuid,
    /// The version that was the newest one; 0 if there was none.
    since: u64,
    /// Id of this process, which it puts into the file. So it recognises its own file later.
    process: Uuid,
    /// The content of the file.
    done: Once<Bytes>,
    /// When this process put the file last, or found it.
    seen: Mutex<Option<Instant>>,
    /// Whether the session was committed.
    is_over: AtomicBool,
}

impl Start {
    pub(in crate::table) fn new(store: Store, session: Uuid, since: u64) -> Self {
        Self {
            store,
            session,
            since,
            process: machine::new_id(),
            done: Once::default(),
            seen: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns the version that was the newest one when the session began; 0 if there was none.
    pub(in crate::table) fn since(&self) -> u64 {
        self.since
    }

    /// Puts the file and looks for a collection that may not have seen it. Later, puts the file again where it has become old: a
    /// collection takes a session for idle if all its files are old.
    ///
    /// # Errors
    /// - `Conflict`: there was a garbage collection since the version from which the session begins.
    /// - Errors of the store.
    pub(in crate::table) async fn begin(&self) -> Result<()> {
        let (store, session, since, process) = (self.store.clone(), self.session, self.since, self.process);
        let content = self.done.get_or_load(|| begin(store, session, since, process).boxed()).await?;
        if self.is_old() && !self.is_over.load(Ordering::Relaxed) {
            // A failure is harmless: the file is put again in ten minutes.
            let _ = self.store.replace(&begin_name(session, since), content).await;
        }
        Ok(())
    }

    /// Notes that the session was committed: the file is not put again.
    pub(in crate::table) fn is_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Deletes the file of a session that has no other files, unless it was never put.
    ///
    /// # Errors
    /// - Errors of the store.
    pub(in crate::table) async fn end(&self) -> Result<()> {
        if self.done.get().is_some() {
            self.store.delete(&begin_name(self.session, self.since)).await?;
            remove_empty_folders(&self.store).await;
        }
        Ok(())
    }

    /// Whether the file must be put again. The caller does it.
    fn is_old(&self) -> bool {
        let now = machine::now();
        let mut seen = self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_old = seen.is_some_and(|seen| now.duration_since(seen) >= REFRESH);
        if is_old || seen.is_none() {
            *seen = Some(now);
        }
        is_old
    }
}

/// Puts the file. Returns its content.
async fn begin(store: Store, session: Uuid, since: u64, process: Uuid) -> Result<Bytes> {
    let name = begin_name(session, since);
    let content = Bytes::from(format!("{{\"process\":\"{process}\"}}\n"));
    if store.put_new(&name, content.clone().into()).await? == Put::AlreadyThere {
        let found = store.get(&name, MAX_BEGIN).await?;
        if found != content {
            // Another process of the session has begun it, perhaps long ago.
            let _ = store.replace(&name, found.clone()).await;
            return Ok(found);
        }
        // The first answer to this process was lost, and so may be the look.
    }
    let is_newer = commit::newest_version(&store).await?.is_some_and(|newest| newest > since);
    if is_newer && let Some((newest, hash)) = commit::load_newest(&store).await? {
        let decided = Decided::by(&store, &newest, hash).await?;
        if !decisions::may_begin(&decided, since) {
            // No collection may wait for it, so no other process of the session must take it as begun.
            let _ = store.delete(&name).await;
            let (url, last) = (store.url(), decisions::Newest::collected(&decided));
            return Err(Error::conflict(format!(
                "{url}: this change starts from version {since}, and a garbage collection made version {last} since; open the table \
                 again and retry"
            )));
        }
    }
    Ok(content)
}
