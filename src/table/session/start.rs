//! How a session of new rows starts: before its first object it puts a file with the version that was the newest one, so that garbage
//! collections wait for it. Follows `format-spec/collections.md#sessions`.

use bytes::Bytes;
use futures::FutureExt;
use uuid::Uuid;

use crate::{
    commit::{self, Decided, decisions},
    error::{Error, Result},
    machine,
    once::Once,
    store::{Put, Store},
};

/// Most bytes of the file by which a session begins.
const MAX_BEGIN: u64 = 4096;

/// The start of a session.
#[derive(Debug)]
pub(in crate::table) struct Start {
    store: Store,
    session: Uuid,
    /// The version that was the newest one; 0 if there was none.
    since: u64,
    /// Id of this process, which it puts into the file. So it recognises its own file later.
    process: Uuid,
    done: Once<()>,
}

/// Returns the name of the file by which a session begins.
pub(in crate::table) fn begin_name(session: Uuid, since: u64) -> String {
    format!("sessions/{session}/begin-{since}.json")
}

/// Returns the version from which a session begins, by the name of its file, without the folder.
pub(in crate::table) fn since_of(file: &str) -> Option<u64> {
    let digits = file.strip_prefix("begin-")?.strip_suffix(".json")?;
    let since: u64 = digits.parse().ok()?;
    (since.to_string() == digits).then_some(since)
}

impl Start {
    pub(in crate::table) fn new(store: Store, session: Uuid, since: u64) -> Self {
        Self { store, session, since, process: machine::new_id(), done: Once::default() }
    }

    /// Returns the version that was the newest one when the session began; 0 if there was none.
    pub(in crate::table) fn since(&self) -> u64 {
        self.since
    }

    /// Puts the file, unless this process has put it already, and looks for a collection that may not have seen it.
    ///
    /// # Errors
    /// - `Conflict`: there was a garbage collection since the version from which the session begins.
    /// - Errors of the store.
    pub(in crate::table) async fn begin(&self) -> Result<()> {
        let (store, session, since, process) = (self.store.clone(), self.session, self.since, self.process);
        self.done.get_or_load(|| begin(store, session, since, process).boxed()).await
    }
}

async fn begin(store: Store, session: Uuid, since: u64, process: Uuid) -> Result<()> {
    let name = begin_name(session, since);
    let content = Bytes::from(format!("{{\"process\":\"{process}\"}}\n"));
    // The first answer to this process may have been lost, and so may the look.
    if store.put_new(&name, content.clone().into()).await? == Put::AlreadyThere && store.get(&name, MAX_BEGIN).await? != content {
        // Another process of the session has begun it.
        return Ok(());
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
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file_has_the_version() {
        let name = begin_name(Uuid::nil(), 12);
        assert_eq!(since_of(name.rsplit('/').next().unwrap()), Some(12));
        assert_eq!(
            ["begin-.json", "begin-012.json", "begin--1.json", "begin-1", "begin-99999999999999999999.json"].map(since_of),
            [None; 5]
        );
    }
}
