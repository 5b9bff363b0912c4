//! How a session of new rows starts: before its first object it puts a file with the version that was the newest one, so that garbage
//! collections wait for it. Follows `format-spec/collections.md#sessions`.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use uuid::Uuid;

use super::files::{begin_name, remove_empty_folders};
use crate::{
    commit::{self, Decided, decisions},
    error::{Error, ErrorKind, Result},
    machine,
    store::{Put, Store},
    work::Once,
    write::Begin,
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
    /// The file, once it is there.
    file: Once<BeginFile>,
    /// Set once the look has found no collection that missed the file.
    looked: Once<()>,
    /// When this process put the file last, or found it.
    put_at: Mutex<Option<Instant>>,
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
            file: Once::default(),
            looked: Once::default(),
            put_at: Mutex::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Returns the version that was the newest one when the session began; 0 if there was none.
    pub(in crate::table) fn since(&self) -> u64 {
        self.since
    }

    /// Puts the file and looks for a collection that may not have seen it.
    ///
    /// # Errors
    /// Those of [`Begin::put`] and [`Begin::look`].
    pub(in crate::table) async fn begin(&self) -> Result<()> {
        self.put_file().await?;
        self.look_for_collection().await
    }

    async fn put_file(&self) -> Result<()> {
        let (store, session, since, process) = (self.store.clone(), self.session, self.since, self.process);
        let BeginFile { content, .. } = self.file.get_or_load(|| put_file(store, session, since, process).boxed()).await?;
        if self.is_old() && !self.is_over.load(Ordering::Relaxed) {
            self.ensure_open().await?;
            // A failure is harmless: the file is put again in ten minutes.
            let _ = self.store.replace(&begin_name(session, since), content).await;
        }
        Ok(())
    }

    async fn look_for_collection(&self) -> Result<()> {
        if self.file.get().is_some_and(|file| file.is_of_another) {
            return Ok(());
        }
        let (store, session, since) = (self.store.clone(), self.session, self.since);
        self.looked.get_or_load(|| look_for_collection(store, session, since).boxed()).await
    }

    /// Checks that the file is still there, if this process has put or found it.
    ///
    /// # Errors
    /// - `Conflict`: the session is over.
    /// - Errors of the store.
    pub(in crate::table) async fn ensure_open(&self) -> Result<()> {
        if self.file.get().is_none() {
            return Ok(());
        }
        let name = begin_name(self.session, self.since);
        match self.store.size(&name).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::conflict(format!(
                "{}: the session is over: its file {name} is gone, because the session was committed or aborted, or a garbage collection \
                 took it for abandoned; start a new session",
                self.store.url()
            ))
            .with_source(error)),
            found => found.map(drop),
        }
    }

    /// Notes that the session was committed: the file is not put again.
    pub(in crate::table) fn set_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Deletes the file of a session that has no other files, unless it was never put.
    ///
    /// # Errors
    /// - Errors of the store.
    pub(in crate::table) async fn delete_file(&self) -> Result<()> {
        if self.file.get().is_some() {
            self.store.delete(&begin_name(self.session, self.since)).await?;
            remove_empty_folders(&self.store).await;
        }
        Ok(())
    }

    /// Whether the file must be put again. The caller does it.
    fn is_old(&self) -> bool {
        let now = machine::now();
        let mut put_at = self.put_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_old = put_at.is_some_and(|put_at| now.duration_since(put_at) >= REFRESH);
        if is_old || put_at.is_none() {
            *put_at = Some(now);
        }
        is_old
    }
}

impl Begin for Start {
    fn put(self: Arc<Self>) -> BoxFuture<'static, Result<()>> {
        async move { self.put_file().await }.boxed()
    }

    fn look(self: Arc<Self>) -> BoxFuture<'static, Result<()>> {
        async move { self.look_for_collection().await }.boxed()
    }
}

/// The file by which a session begins.
#[derive(Clone, Debug)]
struct BeginFile {
    content: Bytes,
    /// Whether another process has put it, which looks for a collection.
    is_of_another: bool,
}

async fn put_file(store: Store, session: Uuid, since: u64, process: Uuid) -> Result<BeginFile> {
    let name = begin_name(session, since);
    let content = Bytes::from(format!("{{\"process\":\"{process}\"}}\n"));
    if store.put_new(&name, content.clone().into()).await? == Put::AlreadyThere {
        let found = store.get(&name, MAX_BEGIN).await?;
        if found != content {
            // Another process of the session has begun it, perhaps long ago.
            let _ = store.replace(&name, found.clone()).await;
            return Ok(BeginFile { content: found, is_of_another: true });
        }
    }
    Ok(BeginFile { content, is_of_another: false })
}

/// Reads the newest version, after the file was put. Deletes the file if there was a collection since this version.
async fn look_for_collection(store: Store, session: Uuid, since: u64) -> Result<()> {
    let is_newer = commit::newest_version(&store).await?.is_some_and(|newest| newest > since);
    if is_newer && let Some((newest, hash)) = commit::load_newest(&store).await? {
        let decided = Decided::by(&store, &newest, hash).await?;
        if !decisions::may_begin(&decided, since) {
            // No collection may wait for it, so no other process of the session must take it as begun.
            let _ = store.delete(&begin_name(session, since)).await;
            let (url, last) = (store.url(), decisions::Newest::collected(&decided));
            return Err(Error::conflict(format!(
                "{url}: this change starts from version {since}, and a garbage collection made version {last} since; open the table \
                 again and retry"
            )));
        }
    }
    Ok(())
}
