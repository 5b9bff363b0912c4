//! Tickets: how other processes take part in a session. One process begins it and hands out its ticket; any number of others
//! join with it and write partitions; whoever has the receipts commits. A ticket and a receipt are texts; nothing secret is in
//! them. Who commits twice with one ticket commits once: the second time finds the first.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    session::{SESSION, Session},
    writer::{Rows, TableWriter},
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

/// What another process needs to write partitions of a session, and to commit it.
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
    /// The version that will be, before it has rows.
    plan: Manifest,
    write_memory: usize,
    segment_rows: u64,
    /// The version whose rows stay, of a session that adds rows to a table.
    append_to: Option<u64>,
    /// Whether to continue if an owner cannot be pinned; chosen by the process that began the session.
    allow_unpinned: bool,
}

/// The text of a ticket; the plan is a manifest as it would be stored, with the hash that ends it.
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
    /// The ticket as one line of JSON.
    pub fn to_json(&self) -> String {
        let plan = self.plan.to_bytes().map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let Self { session: tetrys_session, write_memory, segment_rows, append_to, allow_unpinned, .. } = *self;
        let record = Record { tetrys_session, plan, write_memory, segment_rows, append_to, allow_unpinned };
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// The ticket of such a text.
    ///
    /// # Errors
    /// `Invalid` where it is no ticket, or one that was changed; `Unsupported` for one of a later build.
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

    /// The session's number.
    pub fn session(&self) -> Uuid {
        self.session
    }

    /// The schema that rows must have.
    pub fn schema(&self) -> &Schema {
        &self.plan.schema
    }
}

impl TableWriter {
    /// The ticket by which other processes join this session.
    ///
    /// # Errors
    /// `Unsupported` for a session that puts other rows in the place of those of a table: it is written by one process. `Invalid`
    /// where no reader would take the schema.
    pub fn ticket(&self) -> Result<Ticket> {
        if self.rows == Rows::Overwritten {
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
        // What the other side will do with it.
        let (bytes, _) = plan.to_bytes()?;
        let (plan, _) = Manifest::parse(&bytes, 1).map_err(|error| Error::invalid(error.to_string()))?;
        let WriteOptions { write_memory, segment_rows, .. } = self.options;
        let allow_unpinned = self.session.allow_unpinned;
        Ok(Ticket { session: self.id, plan, write_memory, segment_rows, append_to, allow_unpinned })
    }

    /// Takes part in a session that another process began, in the store where it did.
    ///
    /// Numbers of partitions are agreed on between the processes: [`TableWriter::partition_at`]. Rows of a session that appends are
    /// put behind those that are there when it is committed. What joined processes write is not compared with what is stored.
    ///
    /// # Errors
    /// `Unsupported` for a preset of a later build.
    pub fn join(store: Store, ticket: &Ticket) -> Result<Self> {
        let preset = ticket.plan.preset.parse().map_err(|error: Error| Error::unsupported(error.to_string()))?;
        let Ticket { write_memory, segment_rows, allow_unpinned, .. } = *ticket;
        let cuts = ticket.plan.cuts;
        let options = WriteOptions { preset, cuts, write_memory, segment_rows, allow_unpinned, ..WriteOptions::default() };
        let (table, commit_id) = (ticket.plan.table, ticket.plan.commit_id);
        let session = Session { table, commit_id, allow_unpinned, ..Session::create(store) };
        let rows = if ticket.append_to.is_some() { Rows::Appended } else { Rows::Created };
        let writer = Self::of(session, rows, ticket.plan.schema.clone(), options)?;
        let writer = Self { id: ticket.session, joined: ticket.append_to, ..writer };
        writer.share(writer.joined);
        Ok(writer)
    }

    /// Notes that other processes take part in the session. A session that appends puts its id into the lineage of the version that
    /// it makes: a rebased commit has another `commit_id`, and every process of the session must find that version.
    fn share(&self, append_to: Option<u64>) {
        self.has_ticket.store(true, Ordering::Relaxed);
        if append_to.is_some() {
            self.extras().lineage.insert(SESSION.to_owned(), self.id.to_string().into());
        }
    }

    /// Says how many partitions there are: a commit without a receipt for each of them then names the missing one.
    pub fn expect_partitions(&self, partitions: u32) {
        self.partitions.fetch_max(partitions, Ordering::Relaxed);
    }
}

/// Whether the lineage of a version names this session.
fn made_by(manifest: &Manifest, session: Uuid) -> bool {
    manifest.lineage.get(SESSION).and_then(serde_json::Value::as_str) == Some(session.to_string().as_str())
}

impl Session {
    /// The version that this session made behind another one, where it has been committed already: by this commit, or by another
    /// process of the session.
    pub(in crate::table) async fn committed_after(&self, version: u64) -> Result<Option<Table>> {
        for number in commit::versions(&self.store).await?.into_iter().filter(|number| *number > version) {
            match commit::load(&self.store, number).await {
                Ok((manifest, hash))
                    if manifest.commit_id == self.commit_id || self.shared.is_some_and(|id| made_by(&manifest, id)) =>
                {
                    return Ok(Some(self.made(manifest, hash)));
                }
                Ok(_) => {}
                // Collected meanwhile, or of a later build.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The same session on the newest version of the table, to which it adds rows of this schema.
    ///
    /// # Errors
    /// `Conflict` where the table has other columns or cuts now, or is another one.
    pub(in crate::table) async fn on_newest(self, schema: &Schema, cuts: Cuts) -> Result<Self> {
        let base = Table::open_store(self.store.clone()).await?;
        if base.manifest().table != self.table || base.schema() != schema {
            return Err(Error::conflict(format!(
                "{} version {}: the table has other columns than when the session began; begin another one",
                base.url(),
                base.version()
            )));
        }
        if base.manifest().cuts != cuts {
            return Err(Error::conflict(format!(
                "{} version {}: rows are cut in another way than when the session began; begin another one",
                base.url(),
                base.version()
            )));
        }
        let session = Self::change_as(&base, true, self.allow_unpinned, self.commit_id).await?;
        Ok(Self { folds: true, shared: self.shared, ..session })
    }

    /// The table that this session made, where it has been committed already: by a process that died before it could say so, by
    /// one that was told that the outcome is unknown, or by another one with the same ticket.
    pub(in crate::table) async fn committed(&self) -> Result<Option<Table>> {
        match commit::load(&self.store, 1).await {
            Ok((manifest, hash)) if manifest.commit_id == self.commit_id => Ok(Some(self.made(manifest, hash))),
            // Another's, whether this build can read it or not: claiming the version will say so.
            Ok(_) => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::Corrupt) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
