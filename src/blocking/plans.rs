//! Write sessions of several processes without `async`: tickets, plans, and workers that join. Blocking variants of
//! [`crate::WritePlan`] and of the methods of [`crate::TableWriter`] that make and take tickets.

use uuid::Uuid;

use super::{Table, TableWriter, wait};
use crate::{Receipt, Result, Schema, Ticket, store::Store, table};

/// The plan of a write session: its ticket, and its partitions if they are known before. Blocking variant of
/// [`crate::WritePlan`].
///
/// ```
/// # use std::sync::Arc;
/// # use arrow_array::{Int64Array, RecordBatch};
/// use tetrys::{Schema, Store, WriteOptions, blocking::{Table, TableWriter, WritePlan}};
/// # let folder = tempfile::tempdir()?; let url = folder.path().join("table").display().to_string();
/// # let column = || Arc::new(Int64Array::from(vec![1, 2])) as _;
/// # let batch = RecordBatch::try_from_iter([("id", column()), ("x", column())])?;
/// let schema = Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build()?;
/// let plan = Table::create(&url, schema, WriteOptions::default())?.plan(Some(1), vec!["drive-7.zarr".to_owned()])?;
///
/// // In other processes, any number of times:
/// let worker = TableWriter::join(Store::open(&url)?, plan.ticket())?.with_known_blocks()?;
/// worker.ensure_open()?;
/// let mut partition = worker.partition_at(0)?.label("drive-7.zarr");
/// partition.write(&batch)?;
/// partition.finish()?;
///
/// // In any process: commits the receipts in the store.
/// let [found]: [WritePlan; 1] = WritePlan::open_in(&Store::open(&url)?)?.try_into().map_err(|_| "one session")?;
/// assert_eq!(found.commit(&Store::open(&url)?, None)?.rows(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WritePlan(table::WritePlan);

impl TableWriter {
    /// Joins a session that another process started in the same store, as [`crate::TableWriter::join`] does.
    ///
    /// # Errors
    /// - `Unsupported`: the session has a preset of a later build.
    /// - `Invalid`: the cut limits of the ticket are impossible.
    pub fn join(store: Store, ticket: &Ticket) -> Result<Self> {
        table::TableWriter::join(store, ticket).map(Self)
    }

    /// Finds the stored blocks that the partitions of this process can reuse, as [`crate::TableWriter::with_known_blocks`] does.
    ///
    /// # Errors
    /// - `Denied`, `NotFound`: a reference is not allowed, or is not where the ticket says.
    /// - `Conflict`: a referenced version no longer exists.
    /// - Errors of the stores.
    pub fn with_known_blocks(self) -> Result<Self> {
        wait(self.0.with_known_blocks()).map(Self)
    }

    /// Returns the ticket with which other processes join this session, as [`crate::TableWriter::ticket`] does.
    ///
    /// # Errors
    /// - `Invalid`: readers would refuse the schema.
    pub fn ticket(&self) -> Result<Ticket> {
        self.0.ticket()
    }

    /// Plans the partitions of this session, and stores the plan, as [`crate::TableWriter::plan`] does.
    ///
    /// # Errors
    /// - `Unsupported`: the store ignores create-only puts.
    /// - `Invalid`: the number of labels is not that of the partitions, or readers would refuse the schema.
    /// - Errors of the store.
    pub fn plan(&self, partitions: Option<u32>, labels: Vec<String>) -> Result<WritePlan> {
        wait(self.0.plan(partitions, labels)).map(WritePlan)
    }

    /// Checks that this session, which has a plan, has neither been committed nor aborted.
    ///
    /// # Errors
    /// - `Invalid`: the session is over.
    /// - Errors of the store.
    pub fn ensure_open(&self) -> Result<()> {
        wait(self.0.ensure_open())
    }
}

impl WritePlan {
    /// Returns the plans of the sessions in a store that are neither committed nor aborted, as [`crate::WritePlan::open_in`] does.
    ///
    /// # Errors
    /// - `Corrupt`: a plan cannot be read.
    /// - `Unsupported`: a plan needs a later build.
    /// - Errors of the store.
    pub fn open_in(store: &Store) -> Result<Vec<Self>> {
        wait(table::WritePlan::open_in(store)).map(|plans| plans.into_iter().map(Self).collect())
    }

    /// Returns the ticket with which processes join the session.
    pub fn ticket(&self) -> &Ticket {
        self.0.ticket()
    }

    /// Returns the id of the session.
    pub fn session(&self) -> Uuid {
        self.0.session()
    }

    /// Returns the schema of the rows.
    pub fn schema(&self) -> &Schema {
        self.0.schema()
    }

    /// Returns the number of partitions; `None` if it is not planned.
    pub fn partitions(&self) -> Option<u32> {
        self.0.partitions()
    }

    /// Returns the names of the partitions: none, or one for each.
    pub fn labels(&self) -> &[String] {
        self.0.labels()
    }

    /// Returns the plan as one line of JSON. It has no options of stores.
    pub fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Parses the text that [`WritePlan::to_json`] returns.
    ///
    /// # Errors
    /// - `Invalid`: the text is not a plan, or was changed.
    /// - `Unsupported`: the plan needs a later build.
    pub fn from_json(text: &str) -> Result<Self> {
        table::WritePlan::from_json(text).map(Self)
    }

    /// Returns the receipts in the store of partitions that are finished, one for each, as [`crate::WritePlan::found`] does.
    ///
    /// # Errors
    /// - `Corrupt`: a receipt cannot be read.
    /// - Errors of the store.
    pub fn found(&self, store: &Store) -> Result<Vec<Receipt>> {
        wait(self.0.found(store))
    }

    /// Commits exactly these receipts, or those in the store, as [`crate::WritePlan::commit`] does.
    ///
    /// # Errors
    /// Nothing is committed after an error, except `OutcomeUnknown`.
    /// - `Invalid`: receipts are missing, contradict each other or belong to another session; rows of one sequence are in several
    ///   partitions; or the session was aborted.
    /// - `Conflict`: another writer created the table or changed the same part.
    /// - `OutcomeUnknown`: it is unknown whether the version exists. Commit again: a version that exists is found.
    /// - Errors of the stores.
    pub fn commit(&self, store: &Store, receipts: Option<Vec<Receipt>>) -> Result<Table> {
        wait(self.0.commit(store, receipts)).map(Table)
    }

    /// Ends the session without a commit, as [`crate::WritePlan::abort`] does.
    ///
    /// # Errors
    /// - Errors of the store.
    pub fn abort(&self, store: &Store) -> Result<()> {
        wait(self.0.abort(store))
    }
}
