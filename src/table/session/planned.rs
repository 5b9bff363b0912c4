//! The partitions that a session plans, and the receipts that its commit takes.

use uuid::Uuid;

use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    store::Store,
    write::Receipt,
};

/// The partitions of a session, if they are planned.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::table) struct Planned {
    /// Number of partitions, if it is known before.
    pub(in crate::table) partitions: Option<u32>,
    /// Names of the partitions: none, or one for each.
    pub(in crate::table) labels: Vec<String>,
}

impl Planned {
    /// Returns the receipts that the commit takes, in the order of their partitions.
    ///
    /// # Errors
    /// - `Invalid`: the session is over, or the receipts are not those of the planned partitions.
    /// - Errors of the store.
    pub(in crate::table) async fn chosen(&self, store: &Store, session: Uuid, given: Vec<Receipt>) -> Result<Vec<Receipt>> {
        ensure_open(store, session).await?;
        commit::planned(session, self.partitions, &self.labels, given)
    }
}

/// Checks that a session with a plan has neither been committed nor aborted.
///
/// # Errors
/// - `Invalid`: the session is over.
/// - Errors of the store.
pub(in crate::table) async fn ensure_open(store: &Store, session: Uuid) -> Result<()> {
    match store.size(&plan_name(session)).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::invalid(format!(
            "{}: session {session} is over: it was committed or aborted, or a garbage collection removed it; start a new one",
            store.url(),
        ))),
        Err(error) => Err(error),
    }
}

/// Returns the name of the object that holds the plan of a session.
pub(in crate::table) fn plan_name(session: Uuid) -> String {
    format!("sessions/{session}/plan.json")
}
