//! Tickets, by which several processes share a write session. One process starts the session and hands out its ticket. Any number
//! of processes join with the ticket and write partitions. A process that has the receipts commits. Tickets and receipts are text
//! without secrets. If two processes commit with one ticket, there is one version: the second commit finds the first.
//!
//! The ticket numbers the owners (the tables whose chunks may be used): all workers write layouts with these numbers, and the
//! committer maps them to those of the manifest. The process that started the session has pinned the owners.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    joined::Joined,
    session::{Session, SessionKind},
    writer::TableWriter,
};
use crate::{
    error::{Error, ErrorKind, Result, json_fault},
    format::Manifest,
    id::{Hash, Salt},
    schema::Schema,
    store::Store,
    table::version::table::Table,
    write::{IndexTails, Locality, Reuse, WriteOptions},
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
    record: Record,
    /// Manifest of the planned version, without rows. Its `stores` are the owners.
    plan: Manifest,
}

/// JSON of a ticket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    #[serde(rename = "tetrys_session")]
    session: Uuid,
    /// The text of a stored manifest, with the hash at its end.
    plan: String,
    write_memory: usize,
    segment_rows: u64,
    /// The version that the session appends to; `None` for a new table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    append_to: Option<u64>,
    /// The version whose rows the session replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overwrites: Option<u64>,
    /// Whether to continue if an owner cannot be pinned; chosen by the process that started the session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_unpinned: bool,
    /// The numbers of the owners that are references.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    references: Vec<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    reuse: Reuse,
    #[serde(default, skip_serializing_if = "is_default")]
    locality: Locality,
    #[serde(default, skip_serializing_if = "is_default")]
    index_tails: IndexTails,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    share_repeats: bool,
    /// The version that was the newest one when the session began; `None` if that is the version that the session changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    /// Whether the objects of the session have a salt: its id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    salted: bool,
    /// The number of partitions that the process which made the ticket may have finished, and has in its memory.
    #[serde(default, skip_serializing_if = "is_default")]
    partitions: u32,
    /// The URL of the table where the session was started; tickets of earlier builds have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Record {
    fn kind(&self) -> SessionKind {
        match (self.append_to, self.overwrites) {
            (Some(_), _) => SessionKind::Append,
            (_, Some(_)) => SessionKind::Overwrite,
            _ => SessionKind::Create,
        }
    }

    /// Returns the version that the session changes; `None` for a new table.
    fn base(&self) -> Option<u64> {
        self.append_to.or(self.overwrites)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Ticket {
    /// Returns the ticket as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.record).unwrap_or_default()
    }

    /// Parses the text that [`Ticket::to_json`] returns.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a ticket, or was changed.
    /// - `Unsupported`: the ticket needs a later build.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |why: &dyn std::fmt::Display| Error::invalid(format!("ticket of a session: {why}"));
        let record: Record = serde_json::from_str(text).map_err(|error| invalid(&json_fault(&error)))?;
        let (plan, _) = Manifest::parse(record.plan.as_bytes(), 1).map_err(|error| match error.kind() {
            ErrorKind::Unsupported => error.at("ticket of a session"),
            _ => invalid(&error),
        })?;
        if record.append_to.is_some() && record.overwrites.is_some() {
            return Err(invalid(&"it both appends and overwrites"));
        }
        let owners = plan.stores.len();
        if let Some(number) = record.references.iter().find(|number| !(1..=owners as u64).contains(&u64::from(**number))) {
            return Err(invalid(&format!("reference {number} of {owners} stores")));
        }
        Ok(Self { record, plan })
    }

    /// Checks that a store has the table for which the session was started. A table that exists is found by its id, so its folder or
    /// URL may be another one on another machine. For a new table the URL must be the same, or the name of the local folder.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # use tetrys::{Schema, Store, Table, WriteOptions};
    /// # let folder = tempfile::tempdir()?; let place = |name: &str| folder.path().join(name).display().to_string();
    /// let schema = Schema::builder().index("id", "i64").build()?;
    /// let ticket = Table::create(&place("drives"), schema, WriteOptions::default()).await?.ticket()?;
    /// assert!(ticket.check_place(&Store::open(&place("mounted/drives"))?).await.is_ok());
    /// assert!(ticket.check_place(&Store::open(&place("other"))?).await.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// - `Invalid`: the session was started for another table, or changes a table and there is none. The message names both URLs.
    /// - Errors of the store.
    pub async fn check_place(&self, store: &Store) -> Result<()> {
        let name = |url: &str| url.strip_prefix("file://")?.trim_end_matches('/').rsplit('/').next().map(str::to_owned);
        let expected = self.record.url.as_deref().unwrap_or(store.url());
        let is_alike = expected == store.url() || name(expected).is_some_and(|own| name(store.url()) == Some(own));
        let is_its = match self.record.base() {
            // The table has an id, wherever it is mounted.
            Some(_) => match Table::open_in(store.clone()).await {
                Ok(table) => table.id() == self.plan.table,
                Err(error) if error.kind() == ErrorKind::NotFound => false,
                Err(error) => return Err(error),
            },
            None => is_alike,
        };
        match is_its {
            true => Ok(()),
            false => {
                let found = store.url();
                Err(Error::invalid(format!("the session was begun for another table: expected {expected}, found {found}")))
            }
        }
    }

    /// Returns what the session does: `create`, `append` or `overwrite`.
    pub(in crate::table) fn kind(&self) -> &'static str {
        self.record.kind().name()
    }

    /// Returns the id of the session.
    pub fn session(&self) -> Uuid {
        self.record.session
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &Schema {
        &self.plan.schema
    }
}

impl TableWriter {
    /// Returns the ticket with which other processes join this session ([`TableWriter::join`]). It has the properties and
    /// attachments that were set so far. If this writer has finished partitions before, it must commit the session itself: their parts
    /// are in its memory. The ticket has their number, so that another process that commits without them gets an error.
    ///
    /// # Errors
    /// - `Invalid`: readers would refuse the schema.
    pub fn ticket(&self) -> Result<Ticket> {
        let base = self.session.base.as_ref().map(Table::version).or(self.joined.as_ref().and_then(|joined| joined.base));
        self.share();
        let (stores, references) = match &self.joined {
            Some(joined) => (joined.planned.manifest().stores.clone(), joined.references.clone()),
            None => (self.session.owners.stores(), self.session.references.clone()),
        };
        let (attachments, properties) = self.extras().to_parts();
        let plan = Manifest { attachments, properties, stores, ..self.without_rows(&self.session) };
        // Check that the process that joins can parse the plan.
        let (bytes, _) = plan.to_bytes()?;
        let (plan, _) = Manifest::parse(&bytes, 1).map_err(|error| Error::invalid(error.to_string()))?;
        let record = Record {
            session: self.id,
            plan: String::from_utf8_lossy(&bytes).into_owned(),
            write_memory: self.options.write_memory,
            segment_rows: self.options.segment_rows,
            append_to: base.filter(|_| self.kind == SessionKind::Append),
            overwrites: base.filter(|_| self.kind == SessionKind::Overwrite),
            allow_unpinned: self.session.allow_unpinned,
            references,
            reuse: self.options.reuse,
            locality: self.options.locality,
            index_tails: self.options.index_tails,
            share_repeats: self.options.share_repeats,
            since: Some(self.start.since()).filter(|since| *since != base.unwrap_or(0)),
            salted: self.session.store.salt() != Salt::NONE,
            partitions: self.buffered.partitions_until().max(self.joined.as_ref().map_or(0, |joined| joined.partitions)),
            url: Some(self.session.store.url().to_owned()),
        };
        Ok(Ticket { record, plan })
    }

    /// Joins a session that another process started in the same store.
    ///
    /// The processes must agree on the numbers of their partitions, see [`TableWriter::partition_at`]. If the session appends,
    /// its rows follow those that the table has when the session is committed. Partitions of this process reuse stored blocks
    /// only after [`TableWriter::with_known_blocks`].
    ///
    /// # Errors
    /// - `Unsupported`: the session has a preset of a later build.
    /// - `Invalid`: the cut limits of the ticket are impossible.
    pub fn join(store: Store, ticket: &Ticket) -> Result<Self> {
        let Ticket { record, plan } = ticket.clone();
        let preset = plan.preset.parse().map_err(|error: Error| Error::unsupported(error.to_string()))?;
        let options = WriteOptions {
            preset,
            cuts: plan.cuts,
            write_memory: record.write_memory,
            segment_rows: record.segment_rows,
            reuse: record.reuse,
            locality: record.locality,
            allow_unpinned: record.allow_unpinned,
            index_tails: record.index_tails,
            share_repeats: record.share_repeats,
            ..Default::default()
        };
        let (table, commit_id, allow_unpinned) = (plan.table, plan.commit_id, record.allow_unpinned);
        let base = record.base();
        let since = record.since.or(base).unwrap_or(0);
        let id = record.session;
        let salted = store.salted(Salt(record.salted.then_some(id)));
        let session = Session { table, commit_id, allow_unpinned, since: Some(since), ..Session::create(salted) };
        let writer = Self::of(session, id, record.kind(), plan.schema.clone(), options)?;
        writer.extras().say(plan.attachments.clone(), plan.properties.clone());
        let planned = Table::of(store, plan, Hash::of(b""), Vec::new());
        let joined = Joined { planned, references: record.references, base, since, partitions: record.partitions };
        let writer = Self { joined: Some(joined), ..writer };
        writer.share();
        writer.expect_partitions(record.partitions);
        Ok(writer)
    }

    /// Sets [`WriteOptions::write_memory`] for the partitions that this process starts from now on. A ticket has that of the process
    /// which started the session; a process that joins may have other memory, or another number of partitions at a time. The rows that
    /// are stored do not depend on it.
    pub fn set_write_memory(&mut self, write_memory: usize) {
        self.options.write_memory = write_memory;
    }

    /// Finds the stored blocks that the partitions of this process can reuse: those of the session's references, and of the
    /// table itself, as [`Reuse`] says. A process that only commits does not need them.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{Int64Array, RecordBatch};
    /// # use tetrys::{Schema, Store, Table, TableWriter, WriteOptions};
    /// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?; let url = folder.path().join("table").display().to_string();
    /// # let batch = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2])) as _), ("x", Arc::new(Int64Array::from(vec![3, 4])) as _)])?;
    /// # let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
    /// # let writer = Table::create(&url, schema, WriteOptions::default()).await?;
    /// # let mut partition = writer.partition()?; partition.write(&batch).await?;
    /// let table = writer.commit([partition.finish().await?]).await?;
    /// let ticket = table.append(WriteOptions::default()).await?.ticket()?;
    ///
    /// // In another process:
    /// let worker = TableWriter::join(Store::open(&url)?, &ticket)?.with_known_blocks().await?;
    /// let mut partition = worker.partition_at(0)?;
    /// partition.write(&batch).await?; // the same rows again
    /// assert_eq!(partition.finish().await?.sharing.new_bytes, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - `Denied`, `NotFound`: a reference is not allowed ([`StoreOptions::allow`](crate::StoreOptions::allow)), or is not where
    ///   the ticket says.
    /// - `Conflict`: a referenced version no longer exists.
    /// - Errors of the stores.
    pub async fn with_known_blocks(mut self) -> Result<Self> {
        let Some(Joined { planned, references, base, since, .. }) = self.joined.clone() else { return Ok(self) };
        if base.is_some() {
            // Collections wait for the session from this version on. The base may be older, and name what is being deleted.
            self.session.newest = match Table::open_version_in(self.session.store.clone(), since).await {
                Ok(newest) => Some(newest),
                // A garbage collection deleted the version, so nothing can be reused of it.
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
        let mut tables = Vec::new();
        for (number, foreign) in (1..).zip(&planned.manifest().stores) {
            let mut store = planned.store_of(number).await;
            if references.contains(&number) {
                let there = store?;
                tables.push(Table::open_version_in(there.clone(), foreign.version).await?);
                store = Ok(there);
            }
            self.session.owners.adopt(foreign.clone(), store);
        }
        self.session.appends = self.kind == SessionKind::Append;
        let known = self.session.know_again(&tables, &self.options).await;
        // Only partitions use what was found; the commit starts from the ticket.
        self.session.newest = None;
        known.map(|()| self)
    }

    /// Removes the pins that the process which started the session left for it.
    pub(in crate::table) async fn unpin(&self) {
        if let Some(joined) = &self.joined {
            joined.unpin().await;
        }
    }

    /// Notes that other processes take part in the session.
    fn share(&self) {
        self.has_ticket.store(true, Ordering::Relaxed);
        self.buffered.share();
    }

    /// Sets the number of partitions to at least `partitions`. A commit without a receipt for each of them then fails and names
    /// the missing ones.
    pub fn expect_partitions(&self, partitions: u32) {
        self.partitions.fetch_max(partitions, Ordering::Relaxed);
    }
}
