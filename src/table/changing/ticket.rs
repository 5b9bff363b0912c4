//! Tickets, by which several processes share a write session. One process starts the session and hands out its ticket. Any number
//! of processes join with the ticket and write partitions. A process that has the receipts commits. Tickets and receipts are text
//! without secrets. If two processes commit with one ticket, there is one version: the second commit finds the first.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    session::{SESSION, Session},
    writer::{SessionKind, TableWriter},
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result},
    format::{Cuts, Manifest},
    schema::Schema,
    store::Store,
    table::table::Table,
    write::WriteOptions,
};

/// Description of a write session, by which another process can write partitions and commit.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use tetrys::{Schema, Store, Table, TableWriter, Ticket, WriteOptions};
/// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?; let url = folder.path().join("table").display().to_string();
/// # let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2])) as _), ("x", Arc::new(Int64Array::from(vec![3, 4])) as _)])?;
/// let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
/// let ticket: String = Table::create(&url, schema, WriteOptions::default()).await?.ticket()?.to_json();
///
/// // In another process:
/// let worker = TableWriter::join(Store::open(&url)?, &Ticket::from_json(&ticket)?)?;
/// let mut partition = worker.partition_at(0)?;
/// partition.write(&batch).await?;
/// let receipt: String = serde_json::to_string(&partition.finish().await?)?;
///
/// // In a third:
/// let committer = TableWriter::join(Store::open(&url)?, &Ticket::from_json(&ticket)?)?;
/// let table = committer.commit([serde_json::from_str(&receipt)?]).await?;
/// assert_eq!(table.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ticket {
    session: Uuid,
    /// Manifest of the planned version, without rows.
    plan: Manifest,
    write_memory: usize,
    segment_rows: u64,
    /// The version that the session appends to; `None` for a new table.
    append_to: Option<u64>,
    /// Whether to continue if an owner cannot be pinned; chosen by the process that started the session.
    allow_unpinned: bool,
}

/// JSON of a ticket. `plan` is the text of a stored manifest, with the hash at its end.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    tetrys_session: Uuid,
    plan: String,
    write_memory: usize,
    segment_rows: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    append_to: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_unpinned: bool,
}

impl Ticket {
    /// Returns the ticket as one line of JSON.
    pub fn to_json(&self) -> String {
        let plan = self.plan.to_bytes().map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let Self { session: tetrys_session, write_memory, segment_rows, append_to, allow_unpinned, .. } = *self;
        let record = Record { tetrys_session, plan, write_memory, segment_rows, append_to, allow_unpinned };
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// Parses the text that [`Ticket::to_json`] returns.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a ticket, or was changed.
    /// - `Unsupported`: the ticket needs a later build.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |why: &dyn std::fmt::Display| Error::invalid(format!("ticket of a session: {why}"));
        let record: Record = serde_json::from_str(text).map_err(|error| invalid(&error))?;
        let (plan, _) = Manifest::parse(record.plan.as_bytes(), 1).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => error.at("ticket of a session"),
            _ => invalid(&error),
        })?;
        let Record { tetrys_session: session, write_memory, segment_rows, append_to, allow_unpinned, .. } = record;
        Ok(Self { session, plan, write_memory, segment_rows, append_to, allow_unpinned })
    }

    /// Returns the id of the session.
    pub fn session(&self) -> Uuid {
        self.session
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &Schema {
        &self.plan.schema
    }
}

impl TableWriter {
    /// Returns the ticket with which other processes join this session ([`TableWriter::join`]).
    ///
    /// # Errors
    /// - `Unsupported`: the session overwrites a table, which one process must do alone.
    /// - `Invalid`: readers would refuse the schema.
    pub fn ticket(&self) -> Result<Ticket> {
        if self.kind == SessionKind::Overwrite {
            return Err(Error::unsupported(
                "a session of several processes makes a new table or appends to one; overwrite a table from one process",
            ));
        }
        let append_to = self.session.base.as_ref().map(Table::version).or(self.joined);
        self.share(append_to);
        let plan = Manifest {
            table: self.session.table,
            version: 1,
            parent: None,
            commit_id: self.session.commit_id,
            schema: Schema::clone(&self.schema),
            preset: self.options.preset.name().to_owned(),
            cuts: self.options.cuts,
            segments: Vec::new(),
            attachments: Default::default(),
            properties: Default::default(),
            tags: Default::default(),
            lineage: serde_json::Value::Object(Default::default()),
            stores: Vec::new(),
            condemned: Vec::new(),
            deleting: None,
            write_features: Vec::new(),
            view: None,
        };
        // Check that the process that joins can parse the plan.
        let (bytes, _) = plan.to_bytes()?;
        let (plan, _) = Manifest::parse(&bytes, 1).map_err(|error| Error::invalid(error.to_string()))?;
        let WriteOptions { write_memory, segment_rows, .. } = self.options;
        let allow_unpinned = self.session.allow_unpinned;
        Ok(Ticket { session: self.id, plan, write_memory, segment_rows, append_to, allow_unpinned })
    }

    /// Joins a session that another process started in the same store.
    ///
    /// The processes must agree on the numbers of their partitions, see [`TableWriter::partition_at`]. If the session appends,
    /// its rows follow those that the table has when the session is committed. A process that joined reuses no stored blocks.
    ///
    /// # Errors
    /// - `Unsupported`: the session has a preset of a later build.
    /// - `Invalid`: the cut limits of the ticket are impossible.
    pub fn join(store: Store, ticket: &Ticket) -> Result<Self> {
        let preset = ticket.plan.preset.parse().map_err(|error: Error| Error::unsupported(error.to_string()))?;
        let Ticket { write_memory, segment_rows, allow_unpinned, .. } = *ticket;
        let cuts = ticket.plan.cuts;
        let options = WriteOptions { preset, cuts, write_memory, segment_rows, allow_unpinned, ..WriteOptions::default() };
        let (table, commit_id) = (ticket.plan.table, ticket.plan.commit_id);
        let session = Session { table, commit_id, allow_unpinned, ..Session::create(store) };
        let kind = if ticket.append_to.is_some() { SessionKind::Append } else { SessionKind::Create };
        let writer = Self::of(session, kind, ticket.plan.schema.clone(), options)?;
        let writer = Self { id: ticket.session, joined: ticket.append_to, ..writer };
        writer.share(writer.joined);
        Ok(writer)
    }

    /// Notes that other processes take part in the session. A session that appends puts its id into the lineage of the version
    /// that it makes: a rebased commit has another `commit_id`, and every process of the session must find that version.
    fn share(&self, append_to: Option<u64>) {
        self.has_ticket.store(true, Ordering::Relaxed);
        if append_to.is_some() {
            self.extras().lineage.insert(SESSION.to_owned(), self.id.to_string().into());
        }
    }

    /// Sets the number of partitions to at least `partitions`. A commit without a receipt for each of them then fails and names
    /// the missing ones.
    pub fn expect_partitions(&self, partitions: u32) {
        self.partitions.fetch_max(partitions, Ordering::Relaxed);
    }
}

/// Whether the lineage of a version names this session.
fn made_by(manifest: &Manifest, session: Uuid) -> bool {
    manifest.lineage.get(SESSION).and_then(serde_json::Value::as_str) == Some(session.to_string().as_str())
}

impl Session {
    /// Returns the version that this session has committed already, in this process or in another one; `None` if there is none.
    pub(in crate::table) async fn made_before(&self) -> Result<Option<Table>> {
        match &self.base {
            None => self.committed().await,
            Some(base) if self.shared.is_some() => self.committed_after(base.version()).await,
            Some(_) => Ok(None),
        }
    }

    /// Returns the version after `version` that this session has committed already, by this commit or in another process; `None`
    /// if there is none.
    pub(in crate::table) async fn committed_after(&self, version: u64) -> Result<Option<Table>> {
        for number in commit::versions(&self.store).await?.into_iter().filter(|number| *number > version) {
            match commit::load(&self.store, number).await {
                Ok((manifest, hash))
                    if manifest.commit_id == self.commit_id || self.shared.is_some_and(|id| made_by(&manifest, id)) =>
                {
                    return Ok(Some(self.made(manifest, hash)));
                }
                Ok(_) => {}
                // A garbage collection deleted the version meanwhile, or a later build made it.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
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

    /// Returns the table that this session has created already; `None` if it has not. The commit may have been made by a process
    /// that died or got `OutcomeUnknown`, or by another process with the same ticket.
    pub(in crate::table) async fn committed(&self) -> Result<Option<Table>> {
        match commit::load(&self.store, 1).await {
            Ok((manifest, hash)) if manifest.commit_id == self.commit_id => Ok(Some(self.made(manifest, hash))),
            // Another writer's table, whether this build can read it or not. The claim of the version reports the conflict.
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Corrupt) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
