//! Plans of write sessions whose partitions are written by an engine such as Ray or Spark: any number of times, in any process.
//!
//! The plan is an object in the folder of its session (`sessions/{uuid}/plan.json`). So another driver finds the session if the
//! first one is lost, and a session without a plan is over: it was committed or aborted. These objects are temporary and no part
//! of the format of tables: `format-spec/README.md#objects`.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    files::sweep,
    planned::{Planned, ensure_open, plan_name},
    ticket::Ticket,
    writer::TableWriter,
};
use crate::{
    commit,
    error::{Error, ErrorKind, Result, counted, json_fault},
    schema::Schema,
    store::{Put, Store},
    table::version::{objects::together, table::Table},
    write::{Receipt, store_buffered},
};

/// Bytes of a partition, if an engine knows how many its rows have.
const PARTITION_BYTES: u64 = 1 << 30;
/// Largest stored plan, in bytes.
const MAX_PLAN: u64 = 256 << 20;

/// The plan of a write session: its ticket, and its partitions if they are known before.
///
/// Delivery is at least once: a partition may be written several times, at the same time, or half by a process that is killed.
/// The commit takes one complete attempt of each partition. Unlike a session without a plan, it takes exactly the receipts that
/// it is given, and all rows of a sequence must be in one partition.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use tetrys::{Schema, Store, Table, TableWriter, WriteOptions, WritePlan};
/// # tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?; let url = folder.path().join("table").display().to_string();
/// # let column = || Arc::new(Int64Array::from(vec![1, 2])) as _;
/// # let batch = RecordBatch::try_from_iter([("id", column()), ("x", column())])?;
/// let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
/// let writer = Table::create(&url, schema, WriteOptions::default()).await?;
/// let plan = writer.plan(Some(1), vec!["drive-7.zarr".to_owned()]).await?;
///
/// // In other processes, as often as the engine likes:
/// for _ in 0..2 {
///     let worker = TableWriter::join(Store::open(&url)?, plan.ticket())?.with_known_blocks().await?;
///     worker.ensure_open().await?;
///     let mut partition = worker.partition_at(0)?.label("drive-7.zarr");
///     partition.write(&batch).await?;
///     partition.finish().await?;
/// }
///
/// // The first driver was lost. Another one finds the session, and commits from the receipts in the store.
/// let store = Store::open(&url)?;
/// let found = WritePlan::open_in(&store).await?;
/// assert_eq!(found, [plan]);
/// assert_eq!(found[0].commit(&store, None).await?.rows(), 2);
/// assert!(WritePlan::open_in(&store).await?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?; Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan {
    ticket: Ticket,
    planned: Planned,
}

/// JSON of a plan. `ticket` is the text of the ticket.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    tetrys_plan: u32,
    ticket: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    partitions: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
}

/// The number of the form of plans.
const FORM: u32 = 1;

impl TableWriter {
    /// Plans the partitions of this session, and stores the plan in the folder of the session. After that, other processes write
    /// the partitions and commit, see [`WritePlan`].
    ///
    /// `partitions` is the number of partitions, if it is known: the commit then requires a receipt of each. `labels` has a name
    /// for each of them, such as the file that it is made from, or is empty.
    ///
    /// # Errors
    /// - `Unsupported`: the store ignores create-only puts.
    /// - `Invalid`: the number of labels is not that of the partitions, or readers would refuse the schema.
    /// - `Exists`: this session has another plan already.
    /// - Errors of the store.
    pub async fn plan(&self, partitions: Option<u32>, labels: Vec<String>) -> Result<WritePlan> {
        if !labels.is_empty() && partitions != u32::try_from(labels.len()).ok() {
            let planned = partitions.map_or("no number of partitions".to_owned(), |planned| counted(planned, "partition"));
            return Err(Error::invalid(format!("{} for {planned}: expected as many", counted(labels.len(), "label"))));
        }
        let store = &self.session.store;
        store.ensure_create_only().await?;
        self.start.begin().await?;
        // Any process may commit it, and finds the partitions that this one has finished.
        self.buffered.share();
        for receipt in self.buffered.receipts() {
            store_buffered(store, &self.buffered, &receipt).await?;
            self.buffered.forget(&receipt);
        }
        let plan = WritePlan { ticket: self.ticket()?, planned: Planned { partitions, labels } };
        let text = plan.to_json();
        if text.len() as u64 > MAX_PLAN {
            return Err(Error::invalid(format!("plan: {}, at most {MAX_PLAN}; use shorter labels", counted(text.len(), "byte"))));
        }
        let name = plan_name(self.id);
        // The backend may have sent the plan twice, and then finds its own.
        let is_new = store.put_new(&name, Bytes::from(text.clone()).into()).await? == Put::Created;
        match is_new || store.get(&name, MAX_PLAN).await? == text {
            true => Ok(plan),
            false => Err(Error::exists(format!(
                "{}: session {} has another plan already ({name}); abort it, or start a new session",
                store.url(),
                self.id
            ))),
        }
    }

    /// Checks that this session, which has a plan, has neither been committed nor aborted.
    ///
    /// # Errors
    /// - `Invalid`: the session is over.
    /// - Errors of the store.
    pub async fn ensure_open(&self) -> Result<()> {
        ensure_open(&self.session.store, self.id).await
    }
}

impl WritePlan {
    /// Returns the plans of the sessions in a store that are neither committed nor aborted, in the order of their ids, which are
    /// random. Their drivers may be lost, or may still be running.
    ///
    /// # Errors
    /// - `Corrupt`: a plan cannot be read.
    /// - `Unsupported`: a plan needs a later build.
    /// - Errors of the store.
    pub async fn open_in(store: &Store) -> Result<Vec<Self>> {
        let listed = store.list("sessions").await?;
        let reads: Vec<_> = listed.iter().filter_map(|(name, _)| session_of(name)).map(|id| Self::read(store, id)).collect();
        Ok(together(reads).await?.into_iter().flatten().collect())
    }

    /// Returns the plan of the open session whose partitions have these names, to write the partitions that it lacks; of several, the one with
    /// the most finished partitions. `None` if there is no such session.
    ///
    /// # Errors
    /// - `Corrupt`: a plan or a receipt cannot be read.
    /// - `Unsupported`: a plan needs a later build.
    /// - Errors of the store.
    pub async fn to_resume(store: &Store, labels: &[String]) -> Result<Option<Self>> {
        let mut plans = Self::open_in(store).await?;
        plans.retain(|plan| !labels.is_empty() && plan.labels() == labels);
        if plans.len() <= 1 {
            return Ok(plans.pop());
        }
        let mut most: Option<(usize, Self)> = None;
        for plan in plans {
            let done = plan.found(store).await?.len();
            if most.as_ref().is_none_or(|(highest, _)| *highest < done) {
                most = Some((done, plan));
            }
        }
        Ok(most.map(|(_, plan)| plan))
    }

    /// Returns the number of partitions that an engine should make of rows: one for each GiB, or, if their bytes are not known, two for
    /// each core.
    ///
    /// ```
    /// use tetrys::WritePlan;
    /// assert_eq!(WritePlan::usual_partitions(Some(5 << 29), 16), 3);
    /// assert_eq!(WritePlan::usual_partitions(None, 16), 32);
    /// ```
    pub fn usual_partitions(bytes: Option<u64>, cores: u64) -> u64 {
        bytes.filter(|bytes| *bytes > 0).map_or(cores.saturating_mul(2), |bytes| bytes.div_ceil(PARTITION_BYTES)).max(1)
    }

    /// Returns the numbers of the planned partitions that have no receipt among these, ascending.
    pub fn missing<'a>(&self, receipts: impl IntoIterator<Item = &'a Receipt>) -> Vec<u32> {
        let done: BTreeSet<u32> = receipts.into_iter().map(|receipt| receipt.partition).collect();
        (0..self.planned.partitions.unwrap_or(0)).filter(|number| !done.contains(number)).collect()
    }

    /// Reads the plan of a session; `None` if it has none, or has ended since it was listed.
    ///
    /// # Errors
    /// - `Corrupt`: the plan cannot be read.
    /// - `Unsupported`: the plan needs a later build.
    /// - Errors of the store.
    pub(in crate::table) async fn read(store: &Store, session: Uuid) -> Result<Option<Self>> {
        let name = plan_name(session);
        let text = match store.get(&name, MAX_PLAN).await {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        Self::from_json(&String::from_utf8_lossy(&text))
            .and_then(|plan| match plan.session() == session {
                true => Ok(Some(plan)),
                false => Err(Error::corrupt(format!("the plan of session {}, in the folder of another", plan.session()))),
            })
            .map_err(|error| match error.kind() {
                ErrorKind::Unsupported => error,
                _ => Error::corrupt(error.to_string()),
            })
            .map_err(|error| error.at(format!("{}: {name}", store.url())))
    }

    /// Returns the ticket with which processes join the session.
    pub fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    /// Returns the id of the session.
    pub fn session(&self) -> Uuid {
        self.ticket.session()
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &Schema {
        self.ticket.schema()
    }

    /// Returns the columns by which a task sorts its rows before it writes them: those that define sequences, then those that order the rows
    /// of a sequence. Both are columns of the table, also where rows are appended without naming them again.
    pub fn sorted_by(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for column in self.schema().sequence_by().chain(self.schema().order_by()) {
            if !names.contains(&column.name.as_str()) {
                names.push(&column.name);
            }
        }
        names
    }

    /// Returns the number of partitions; `None` if it is not planned.
    pub fn partitions(&self) -> Option<u32> {
        self.planned.partitions
    }

    /// Returns the names of the partitions: none, or one for each.
    pub fn labels(&self) -> &[String] {
        &self.planned.labels
    }

    /// Returns the plan as one line of JSON. It has no options of stores.
    pub fn to_json(&self) -> String {
        let (ticket, partitions, labels) = (self.ticket.to_json(), self.planned.partitions, self.planned.labels.clone());
        serde_json::to_string(&Record { tetrys_plan: FORM, ticket, partitions, labels }).unwrap_or_default()
    }

    /// Parses the text that [`WritePlan::to_json`] returns.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a plan, or was changed.
    /// - `Unsupported`: the plan needs a later build.
    pub fn from_json(text: &str) -> Result<Self> {
        let invalid = |why: &dyn std::fmt::Display| Error::invalid(format!("plan of a session: {why}"));
        let record: Record = serde_json::from_str(text).map_err(|error| invalid(&json_fault(&error)))?;
        let Record { tetrys_plan, ticket, partitions, labels } = record;
        if tetrys_plan != FORM {
            return Err(Error::unsupported(format!("plan of a session: form {tetrys_plan}, this build reads {FORM}")));
        }
        if !labels.is_empty() && partitions != u32::try_from(labels.len()).ok() {
            return Err(invalid(&"it has labels for another number of partitions"));
        }
        Ok(Self { ticket: Ticket::from_json(&ticket)?, planned: Planned { partitions, labels } })
    }

    /// Returns the receipts in the store of partitions that are finished, in the order of their partitions: of several attempts
    /// the first, by the names that the receipts have there.
    ///
    /// # Errors
    /// - `Corrupt`: a receipt cannot be read.
    /// - Errors of the store.
    pub async fn found(&self, store: &Store) -> Result<Vec<Receipt>> {
        Ok(commit::first_attempts(TableWriter::join(store.clone(), &self.ticket)?.receipts().await?))
    }

    /// Commits exactly these receipts, those that the engine chose; without `receipts`, the first complete attempt of each
    /// partition in the store, by the names that the receipts have there. Receipts that differ only in their attempts count as
    /// one.
    ///
    /// If the number of partitions is planned, each must have a receipt; otherwise partitions without one are left out. If the
    /// session was committed before, by this process or another one, returns the version of that commit.
    ///
    /// # Errors
    /// Nothing is committed after an error, except `OutcomeUnknown`. The session stays open, so that partitions can be written
    /// again and the commit repeated, unless the error is a `Conflict` that says otherwise.
    /// - `Invalid`: receipts are missing, contradict each other or belong to another session; rows of one sequence are in several
    ///   partitions; or the session was aborted.
    /// - `Conflict`: another writer created the table or changed the same part.
    /// - `OutcomeUnknown`: it is unknown whether the version exists. Commit again: a version that exists is found.
    /// - Errors of the stores.
    pub async fn commit(&self, store: &Store, receipts: Option<Vec<Receipt>>) -> Result<Table> {
        let mut writer = TableWriter::join(store.clone(), &self.ticket)?;
        writer.planned = Some(self.planned.clone());
        let given = match receipts {
            Some(given) => given,
            None => {
                let found = commit::first_attempts(writer.receipts().await?);
                if found.is_empty() && self.planned.partitions.is_none() && ensure_open(store, self.session()).await.is_ok() {
                    return Err(Error::invalid(format!(
                        "{}: session {} has no receipt in the store: no partition was finished; write \
                         partitions, or abort the session",
                        store.url(),
                        self.session()
                    )));
                }
                found
            }
        };
        let table = writer.commit(given).await.map_err(|error| match error.kind() {
            ErrorKind::Invalid => error.at(format!("{}: nothing was committed", store.url())),
            _ => error,
        })?;
        // A process that committed before may have been killed while it swept.
        let _ = sweep(store, self.session()).await;
        Ok(table)
    }

    /// Ends the session without a commit: deletes its plan, its receipts and its parts, and the pins that were left for it.
    /// Chunks stay until a [garbage collection](crate::table::Storage::collect_garbage). A process that still writes a partition may leave
    /// objects after this call; a garbage collection deletes these too. Nothing happens if the session is over.
    ///
    /// # Errors
    /// - Errors of the store.
    pub async fn abort(&self, store: &Store) -> Result<()> {
        // A session that was committed needs its pins.
        let is_open = match ensure_open(store, self.session()).await {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::Invalid => false,
            Err(error) => return Err(error),
        };
        // The plan goes first: without it, nobody commits.
        store.delete(&plan_name(self.session())).await?;
        sweep(store, self.session()).await?;
        if is_open {
            TableWriter::join(store.clone(), &self.ticket)?.unpin().await;
        }
        Ok(())
    }
}

/// Returns the session of a plan, by the name of the plan.
fn session_of(name: &str) -> Option<Uuid> {
    Uuid::try_parse(name.strip_prefix("sessions/")?.strip_suffix("/plan.json")?).ok()
}
