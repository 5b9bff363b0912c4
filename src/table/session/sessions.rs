//! The write sessions of a table that left files: what they are, and how to end one that nobody will commit.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use super::{
    files::{is_session_file, sweep},
    plan::WritePlan,
    planned::plan_name,
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    store::{Listed, Store},
    table::version::{objects::together, table::Table},
};

/// A write session that has files in a store: it was not committed, or its files were not deleted yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Id of the session.
    pub session: Uuid,
    /// The change that the session makes: `create`, `append` or `overwrite`. `None` without a plan: then only its processes know.
    pub kind: Option<String>,
    /// Number of partitions that are planned.
    pub partitions: Option<u32>,
    /// Number of partitions that are finished, whose receipts the store has: 0 where one process keeps them in its memory.
    pub finished: u64,
    /// Number of files.
    pub files: u64,
    /// Bytes of the files. The chunks that the session wrote are not among them.
    pub bytes: u64,
    /// Time when the first file was written that is still there, by the clock of the store, in milliseconds since 1970-01-01T00:00Z.
    pub first_ms: i64,
    /// Time when the last file was written.
    pub last_ms: i64,
    /// The error of the plan, if it cannot be read.
    pub damage: Option<String>,
}

impl Table {
    /// Does what `Storage::sessions` says.
    pub(crate) async fn sessions(store: &Store) -> Result<Vec<SessionInfo>> {
        let mut files: BTreeMap<Uuid, Vec<Listed>> = BTreeMap::new();
        for listed in store.list_all("sessions").await?.into_iter().filter(|listed| is_session_file(&listed.name)) {
            if let Some(Ok(session)) = listed.name.split('/').nth(1).map(Uuid::try_parse) {
                files.entry(session).or_default().push(listed);
            }
        }
        let look = |(session, files): (Uuid, Vec<Listed>)| async move {
            let (plan, damage) = match files.iter().any(|file| file.name == plan_name(session)) {
                true => match WritePlan::read(store, session).await {
                    Ok(plan) => (plan, None),
                    Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => {
                        (None, Some(error.to_string()))
                    }
                    Err(error) => return Err(error),
                },
                false => (None, None),
            };
            // A partition that was written twice has two receipts.
            let finished = files.iter().filter_map(|file| file.name.strip_suffix(".receipt")?.rsplit('/').next()?.get(..10));
            let times = || files.iter().map(|file| file.modified_ms);
            Ok(SessionInfo {
                session,
                kind: plan.as_ref().map(|plan| plan.ticket().kind().to_owned()),
                partitions: plan.as_ref().and_then(WritePlan::partitions),
                finished: finished.collect::<std::collections::BTreeSet<_>>().len() as u64,
                files: files.len() as u64,
                bytes: files.iter().map(|file| file.bytes).sum(),
                first_ms: times().min().unwrap_or(0),
                last_ms: times().max().unwrap_or(0),
                damage,
            })
        };
        let mut sessions = together(files.into_iter().map(look)).await?;
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_ms));
        Ok(sessions)
    }

    /// Does what `Storage::abort_session` says.
    pub(crate) async fn abort_session(store: &Store, session: Uuid) -> Result<u64> {
        let listed = store.list(&format!("sessions/{session}")).await?;
        let files = listed.iter().filter(|(name, _)| is_session_file(name)).count() as u64;
        if files == 0 {
            if commit::newest_version(store).await?.is_none() && Self::sessions(store).await?.is_empty() {
                return Err(Error::not_found(format!("{}: neither a table nor files of a session there", store.url())));
            }
            return Ok(0);
        }
        match WritePlan::read(store, session).await {
            Ok(Some(plan)) => plan.abort(store).await?,
            // Pins that were left for it belong to no version, so that a garbage collection there deletes them.
            Ok(None) => sweep(store, session).await?,
            Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported) => sweep(store, session).await?,
            Err(error) => return Err(error),
        }
        Ok(files)
    }
}
