//! The processes of a simulation, the answers that they got, and the checks of the tables afterwards.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use arrow_array::{Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use futures::{StreamExt, future::join_all};
use object_store::path::Path;
use tetrys::{
    Error, ErrorKind, Receipt, Result, Schema, Store, Table, TableWriter, Ticket, WriteOptions, commit,
    machine::Simulation,
    table::{Fate, GcSettings, Storage, VerifyReach, Versions},
};
use uuid::Uuid;

use super::{
    scheduler::{Scheduler, Task},
    store::SimulatedStore,
};
use crate::common::tables::Rng;

/// The age of the simulated collections.
const AGE: Duration = Duration::from_secs(3600);
/// Rows of an append.
const ROWS: i64 = 3;
/// `x` is `id + PATCH_STEP * patch`; larger than every id.
const PATCH_STEP: i64 = 1_000_000;
/// Files that are not of a table.
const FOREIGN: [&str; 4] = ["readme.txt", "chunks/notes", "sessions/2024/plan.json", "manifests/old.json"];

/// The work of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Append,
    /// An append whose one partition two processes write, and which two commit.
    Session,
    /// A session that is given up after a partition.
    Abandon,
    Tag,
    Compact,
    /// Deletes the rows of an append.
    Delete,
    /// Gives the rows of an append another value.
    Patch,
    /// Commits a version with the content of an earlier one.
    Restore,
    Collect,
    /// Another table uses the chunks of the newest version.
    Borrow,
    Read,
    /// An append with a handle of the table that was here before.
    StaleAppend,
    /// The commit of a session of the table that was here before.
    StaleSession,
    /// A tag with a handle of the table that was here before.
    StaleTag,
}

const STALE: [What; 3] = [What::StaleAppend, What::StaleSession, What::StaleTag];

const MIX: [What; 17] = [
    What::Append,
    What::Append,
    What::Append,
    What::Session,
    What::Abandon,
    What::Tag,
    What::Compact,
    What::Delete,
    What::Delete,
    What::Patch,
    What::Patch,
    What::Restore,
    What::Collect,
    What::Collect,
    What::Borrow,
    What::Borrow,
    What::Read,
];

/// Processes that run at the same time, and the time that passes after them.
#[derive(Clone, Debug)]
pub(super) struct Together {
    pub(super) tasks: Vec<What>,
    deaths: u64,
    pass_ms: i64,
}

/// A history: it follows from its seed.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) seed: u64,
    /// One in so many requests goes wrong; 0 for none.
    faults: u64,
    /// How long processes sleep, and requests are under way, at most: also many ages.
    jumps_ms: u64,
    /// Whether the clocks of collections are wrong.
    skewed: bool,
    /// Before this part, somebody deletes the tables and makes another one in the same folder.
    replaced: Option<usize>,
    pub(super) parts: Vec<Together>,
}

impl History {
    pub(super) fn of(seed: u64) -> Self {
        let mut rng = Rng(seed);
        let parts = (0..2 + rng.below(4)).map(|_| Together {
            tasks: (0..2 + rng.below(3)).map(|_| *rng.pick(&MIX)).collect(),
            deaths: rng.below(3).saturating_sub(1),
            pass_ms: *rng.pick(&[0, 1_000, 1_800_000, 3_700_000, 9_000_000]),
        });
        let mut parts: Vec<Together> = parts.collect();
        let (faults, jumps_ms) = (*rng.pick(&[0, 0, 60, 20]), *rng.pick(&[90_000, 5_000_000, 400_000_000]));
        let skewed = rng.once_in(3);
        let replaced = rng.once_in(4).then(|| 1 + rng.below(parts.len() as u64 - 1) as usize);
        for part in parts.iter_mut().skip(replaced.unwrap_or(usize::MAX)) {
            part.tasks.extend((0..1 + rng.below(2)).map(|_| *rng.pick(&STALE)));
        }
        Self { seed, faults, jumps_ms, skewed, replaced, parts }
    }
}

/// The outcome of a change, as its process was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The process has no answer yet, or was killed.
    Open,
    Done,
    /// Nothing was committed.
    Refused,
    /// The outcome is unknown: the version and the commit.
    Unknown(u64, Uuid),
}

/// A delete or a patch.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// The append whose rows it changes.
    of: i64,
    deletes: bool,
    outcome: Outcome,
    /// The version that it made, if it is done.
    version: u64,
}

/// A restored version.
#[derive(Clone, Debug)]
struct Restore {
    /// The appends whose rows it has, with the patches from which these have their values.
    content: BTreeMap<i64, i64>,
    outcome: Outcome,
    /// The version that it made, or found to have this content already, if it is done.
    version: u64,
}

/// A handle, a ticket and a receipt from before the table was replaced.
struct Stale {
    table: Table,
    ticket: Ticket,
    receipt: Receipt,
}

/// The rows of an append that a table has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rows {
    count: i64,
    /// The patches from which they have their values; 0 for none.
    patches: BTreeSet<i64>,
}

impl Rows {
    /// Whether all rows are there, with values of one patch.
    fn are_whole(&self) -> bool {
        self.count == ROWS && self.patches.len() == 1
    }
}

#[derive(Default)]
struct Ledger {
    /// The rows of each append, by their number.
    rows: BTreeMap<i64, Outcome>,
    /// Sessions of which neither of two committers knows the outcome: the claim of the second one.
    second_claims: BTreeMap<i64, (u64, Uuid)>,
    /// The version of each tag, once it is known.
    tags: BTreeMap<String, (Option<u64>, Outcome)>,
    /// The versions of the appends since the last check.
    made: BTreeMap<i64, u64>,
    /// The restores since the last check.
    restores: BTreeMap<i64, Restore>,
    /// How many restores were done.
    restored: u64,
    /// The deletes and patches since the last check, by their numbers.
    changes: BTreeMap<i64, Change>,
    /// The appends whose rows were deleted.
    gone: BTreeSet<i64>,
    /// The patch from which the rows of an append have their values.
    patched: BTreeMap<i64, i64>,
    /// How many rows of an append the last check found.
    seen: BTreeMap<i64, i64>,
    /// How many deletes and patches were done.
    changed: u64,
    /// The outcome of each append to the other table.
    borrowed: BTreeMap<i64, Outcome>,
    /// Claims that a process saw violated.
    problems: Vec<String>,
}

/// Counts of what happened.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) done: u64,
    pub(super) refused: u64,
    pub(super) unknown: u64,
    pub(super) changed: u64,
    pub(super) restored: u64,
    pub(super) checks: u64,
}

struct World {
    scheduler: Scheduler,
    objects: SimulatedStore,
    ledger: Arc<Mutex<Ledger>>,
    next: i64,
    skewed: bool,
    stale: Option<Arc<Stale>>,
}

fn schema() -> Schema {
    Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build().unwrap()
}

/// The rows of an append, with the values of a patch; 0 for none.
fn rows(number: i64, patch: i64) -> RecordBatch {
    let ids = number * ROWS..(number + 1) * ROWS;
    let x = Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| id + PATCH_STEP * patch))) as _;
    RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from_iter_values(ids)) as _), ("x", x)]).unwrap()
}

async fn written(writer: &TableWriter, place: u32, number: i64) -> Result<Receipt> {
    let mut partition = writer.partition_at(place)?;
    partition.write(&rows(number, 0)).await?;
    partition.finish().await
}

/// Runs a history. The error says which claim is violated.
pub(super) fn run(history: &History) -> std::result::Result<(Tally, Vec<String>), (String, Vec<String>)> {
    let machine = Simulation::start(history.seed);
    let scheduler = Scheduler::new(history.seed, history.jumps_ms);
    let objects = SimulatedStore::new(scheduler.clone(), history.faults);
    let mut world = World { scheduler, objects, ledger: Arc::default(), next: 0, skewed: history.skewed, stale: None };
    let mut log = Vec::new();
    world.create();
    for (number, part) in history.parts.iter().enumerate() {
        if history.replaced == Some(number) {
            world.replace();
        }
        let tasks = part.tasks.iter().enumerate().map(|(place, what)| {
            world.scheduler.record(format!("process {place} of part {number}: {what:?}"));
            Some(world.task(*what))
        });
        let tasks = tasks.collect::<Vec<_>>();
        world.scheduler.run(tasks, part.deaths, &machine);
        log.extend(world.scheduler.log());
        world.scheduler.pass(part.pass_ms);
        machine.pass(Duration::from_millis(part.pass_ms as u64));
        if let Err(error) = now(world.check()) {
            return Err((format!("after part {number}: {error}"), log));
        }
    }
    let ledger = world.ledger.lock().unwrap();
    let count = |wanted: fn(&Outcome) -> bool| ledger.rows.values().filter(|outcome| wanted(outcome)).count() as u64;
    let tally = Tally {
        done: count(|outcome| *outcome == Outcome::Done),
        refused: count(|outcome| *outcome == Outcome::Refused),
        unknown: count(|outcome| matches!(outcome, Outcome::Unknown(..))),
        changed: ledger.changed,
        restored: ledger.restored,
        checks: history.parts.len() as u64,
    };
    Ok((tally, log))
}

/// Runs what waits for nobody: the test itself looks at the store.
fn now<T>(work: impl Future<Output = T>) -> T {
    futures::executor::block_on(work)
}

impl World {
    fn store(&self, table: &str) -> Store {
        Store::new(Arc::new(self.objects.clone()), Path::from(table), format!("simulated://bucket/{table}"))
    }

    fn create(&mut self) {
        let number = self.number();
        now(async {
            let writer = Table::create_in(self.store("t"), schema(), WriteOptions::default()).await.unwrap();
            let receipt = written(&writer, 0, number).await.unwrap();
            writer.commit([receipt]).await.unwrap();
            for name in FOREIGN {
                self.store("t").put_new(name, "somebody else's".into()).await.unwrap();
            }
        });
        self.note(number, Outcome::Done);
    }

    /// Deletes all tables, and makes another one where the first was. Nothing of the old ones is under way.
    fn replace(&mut self) {
        let number = self.number();
        let store = self.store("t");
        self.stale = Some(Arc::new(now(async {
            let table = Table::open_in(store).await.unwrap();
            let writer = table.append(WriteOptions::default()).await.unwrap();
            let ticket = writer.ticket().unwrap();
            Stale { receipt: written(&writer, 0, number).await.unwrap(), ticket, table }
        })));
        self.objects.clear();
        *self.ledger.lock().unwrap() = Ledger::default();
        self.create();
    }

    fn number(&mut self) -> i64 {
        self.next += 1;
        self.next
    }

    fn note(&self, number: i64, outcome: Outcome) {
        self.ledger.lock().unwrap().rows.insert(number, outcome);
    }

    fn task(&mut self, what: What) -> Task {
        let (table, other, ledger) = (self.store("t"), self.store("u"), Arc::clone(&self.ledger));
        let (scheduler, number, skewed) = (self.scheduler.clone(), self.number(), self.skewed);
        let stale = self.stale.clone();
        let record = move |what: What, error: &Error| {
            scheduler.record(format!("{what:?}: {error}"));
            let is_expected = match error.kind() {
                ErrorKind::Conflict | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown => true,
                // A collection deletes versions, and two processes create the other table.
                ErrorKind::NotFound => [What::Tag, What::Restore].contains(&what),
                ErrorKind::Exists => what == What::Borrow,
                // Anything else would be damage, or a mistake of the library.
                _ => false,
            };
            if !is_expected {
                ledger.lock().unwrap().problems.push(format!("{what:?}: {:?}: {error}", error.kind()));
            }
        };
        let (ledger, clock) = (Arc::clone(&self.ledger), self.scheduler.clone());
        match what {
            What::Append => {
                self.note(number, Outcome::Open);
                Box::pin(async move {
                    let done = async {
                        let writer = Table::open_in(table).await?.append(WriteOptions::default()).await?;
                        let receipt = written(&writer, 0, number).await?;
                        writer.commit([receipt]).await
                    };
                    let done = done.await;
                    let outcome = outcome(&done, |error| record(what, error));
                    let mut ledger = ledger.lock().unwrap();
                    ledger.made.extend(done.map(|table| (number, table.version())).ok());
                    ledger.rows.insert(number, outcome);
                })
            }
            What::Session => {
                self.note(number, Outcome::Open);
                Box::pin(async move {
                    let done = session(&table, number).await;
                    let results = match &done {
                        Ok(results) => results.iter().map(|result| outcome(result, |error| record(what, error))).collect(),
                        Err(error) => {
                            record(what, error);
                            vec![Outcome::Refused]
                        }
                    };
                    let mut unknown = results.iter().filter_map(|outcome| match outcome {
                        Outcome::Unknown(version, commit) => Some((*version, *commit)),
                        _ => None,
                    });
                    let outcome = match (results.contains(&Outcome::Done), unknown.next()) {
                        (true, _) => Outcome::Done,
                        (false, Some((version, commit))) => Outcome::Unknown(version, commit),
                        (false, None) => Outcome::Refused,
                    };
                    let mut ledger = ledger.lock().unwrap();
                    ledger.second_claims.extend(unknown.next().map(|claim| (number, claim)));
                    let version = done.iter().flatten().flatten().map(Table::version).next();
                    ledger.made.extend(version.map(|version| (number, version)));
                    ledger.rows.insert(number, outcome);
                })
            }
            What::Abandon => {
                self.note(number, Outcome::Refused);
                Box::pin(async move {
                    let begun = async {
                        let writer = Table::open_in(table).await?.append(WriteOptions::default()).await?;
                        written(&writer, 0, number).await
                    };
                    if let Err(error) = begun.await {
                        record(what, &error);
                    }
                })
            }
            What::Tag => {
                let tag = format!("tag-{number}");
                self.ledger.lock().unwrap().tags.insert(tag.clone(), (None, Outcome::Open));
                Box::pin(async move {
                    let mut chosen = None;
                    let done = async {
                        let newest = Table::open_in(table.clone()).await?;
                        let versions = commit::versions(&table).await?;
                        let version = versions[number as usize % versions.len()].min(newest.version());
                        chosen = Some(version);
                        newest.edit().tag(&tag, version).commit().await
                    };
                    let outcome = outcome(&done.await, |error| record(what, error));
                    ledger.lock().unwrap().tags.insert(tag, (chosen, outcome));
                })
            }
            What::Compact => Box::pin(async move {
                let done = async { Table::open_in(table).await?.storage().compact(1 << 20).await };
                if let Err(error) = done.await {
                    record(what, &error);
                }
            }),
            What::Delete | What::Patch => Box::pin(async move {
                let done = async {
                    let table = Table::open_in(table).await?;
                    let ids = ids(&table).await?;
                    let appends: BTreeSet<i64> = ids.iter().map(|id| append_of(*id)).collect();
                    let of = appends.iter().nth(number as usize % appends.len().max(1)).copied().filter(|_| appends.len() > 1);
                    let Some(of) = of else { return Ok(table) };
                    let change = Change { of, deletes: what == What::Delete, outcome: Outcome::Open, version: 0 };
                    ledger.lock().unwrap().changes.insert(number, change);
                    match what {
                        What::Delete => {
                            let places = (0..).zip(ids).filter(|(_, id)| append_of(*id) == of).map(|(place, _)| place);
                            table.delete(places, WriteOptions::default()).await
                        }
                        _ => table.patch(&["id"], &rows(of, number), WriteOptions::default()).await,
                    }
                };
                let done = done.await;
                let outcome = outcome(&done, |error| record(what, error));
                if let Some(change) = ledger.lock().unwrap().changes.get_mut(&number) {
                    change.outcome = outcome;
                    change.version = done.map_or(0, |table| table.version());
                }
            }),
            What::Restore => Box::pin(async move {
                let done = async {
                    let newest = Table::open_in(table.clone()).await?;
                    let earlier: Vec<u64> = commit::versions(&table).await?;
                    let earlier: Vec<u64> = earlier.into_iter().filter(|version| *version < newest.version()).collect();
                    let version = earlier.get(number as usize % earlier.len().max(1)).copied().unwrap_or(1);
                    let earlier = Table::open_version_in(table, version).await?;
                    // A collection may be deleting its rows.
                    let Ok(rows) = rows_by_append(&earlier).await else { return Ok(newest) };
                    let content = rows.into_iter().map(|(append, rows)| {
                        assert!(rows.are_whole(), "version {version} has {rows:?} of append {append}");
                        (append, *rows.patches.first().unwrap())
                    });
                    let restore = Restore { content: content.collect(), outcome: Outcome::Open, version: 0 };
                    ledger.lock().unwrap().restores.insert(number, restore);
                    newest.versions().restore(version).await
                };
                let done = done.await;
                let outcome = outcome(&done, |error| record(what, error));
                if let Some(restore) = ledger.lock().unwrap().restores.get_mut(&number) {
                    restore.outcome = outcome;
                    restore.version = done.map_or(0, |table| table.version());
                }
            }),
            What::StaleAppend | What::StaleSession | What::StaleTag => Box::pin(async move {
                let Some(stale) = stale else { return };
                let tag = format!("stale-{number}");
                let done = match what {
                    What::StaleAppend => {
                        ledger.lock().unwrap().rows.insert(number, Outcome::Refused);
                        let done = async {
                            let writer = stale.table.append(WriteOptions::default()).await?;
                            let receipt = written(&writer, 0, number).await?;
                            writer.commit([receipt]).await
                        };
                        done.await
                    }
                    What::StaleSession => {
                        let writer = TableWriter::join(table, &stale.ticket);
                        let commit = async { writer?.commit([stale.receipt.clone()]).await };
                        commit.await
                    }
                    _ => {
                        ledger.lock().unwrap().tags.insert(tag.clone(), (None, Outcome::Refused));
                        stale.table.edit().tag(&tag, stale.table.version()).commit().await
                    }
                };
                match done {
                    Err(error) => record(what, &error),
                    Ok(made) => {
                        let problem = format!("{what:?}: version {} of the table that was here before", made.version());
                        ledger.lock().unwrap().problems.push(problem);
                    }
                }
            }),
            What::Collect => Box::pin(async move {
                let settings = GcSettings { keep_versions: 1 + number as usize % 3, age: AGE };
                // Hours before and after the time of the store.
                let ahead = if skewed { [-30, -1, 0, 1, 200][clock.draw(5) as usize] } else { 0 };
                let now = clock.now_ms() + ahead * 3_600_000;
                if let Err(error) = Storage::of(&table).collect_garbage(settings, now).await {
                    record(what, &error);
                }
            }),
            What::Borrow => Box::pin(async move {
                ledger.lock().unwrap().borrowed.insert(number, Outcome::Open);
                let done = async {
                    let owner = Table::open_in(table).await?;
                    let writer = match Table::open_in(other.clone()).await {
                        Err(error) if error.kind() == ErrorKind::NotFound => {
                            Table::create_in(other, schema(), WriteOptions::default()).await?
                        }
                        found => found?.append(WriteOptions::default()).await?,
                    };
                    let writer = writer.references([&owner]).await?;
                    // Rows that the owner has, so that their blocks are used, unless they were patched.
                    let appends = rows_by_append(&owner).await?;
                    let of = appends.keys().nth(number as usize % appends.len().max(1)).copied().unwrap_or(1);
                    let receipt = written(&writer, 0, of).await?;
                    writer.commit([receipt]).await
                };
                let outcome = outcome(&done.await, |error| record(what, error));
                ledger.lock().unwrap().borrowed.insert(number, outcome);
            }),
            What::Read => Box::pin(async move {
                let done = async {
                    let table = Table::open_in(table).await?;
                    rows_by_append(&table).await
                };
                match done.await {
                    Err(error) => record(what, &error),
                    Ok(found) => {
                        let wrong = found.iter().find(|(_, rows)| !rows.are_whole());
                        let problem = wrong.map(|(number, rows)| format!("read of append {number}: {rows:?}"));
                        ledger.lock().unwrap().problems.extend(problem);
                    }
                }
            }),
        }
    }

    /// Checks the tables and what the processes were told.
    async fn check(&mut self) -> std::result::Result<(), String> {
        let mut ledger = std::mem::take(&mut *self.ledger.lock().unwrap());
        let checked = self.compare(&mut ledger).await;
        *self.ledger.lock().unwrap() = ledger;
        checked
    }

    async fn compare(&self, ledger: &mut Ledger) -> std::result::Result<(), String> {
        if let Some(problem) = ledger.problems.first() {
            return Err(problem.clone());
        }
        let store = self.store("t");
        let table = Table::open_in(store.clone()).await.map_err(|error| format!("the table: {error}"))?;
        let found = rows_by_append(&table).await.map_err(|error| format!("reading: {error}"))?;
        let is_restored = ledger.restored(&store, &found).await?;
        for (number, change) in &mut ledger.changes {
            if let Outcome::Unknown(version, commit) = change.outcome {
                change.version = version;
                change.outcome = match Versions::of(&store).fate_of(version, commit).await.map_err(|error| error.to_string())? {
                    Fate::Committed => Outcome::Done,
                    Fate::NotCommitted | Fate::Open => Outcome::Refused,
                    _ => Outcome::Open,
                };
            }
            ledger.changed += u64::from(change.outcome == Outcome::Done);
            // The process read these rows in a version, so the append was committed.
            match ledger.rows.get_mut(&change.of) {
                Some(outcome @ (Outcome::Open | Outcome::Unknown(..))) => *outcome = Outcome::Done,
                Some(Outcome::Done) => {}
                found => return Err(format!("change {number} found rows of append {}, which is {found:?}", change.of)),
            }
        }
        for (number, outcome) in &mut ledger.rows {
            let rows = found.get(number).cloned().unwrap_or_default();
            let there = rows.count;
            let changes = ledger.changes.iter().filter(|(_, change)| change.of == *number && change.outcome != Outcome::Refused);
            let (deletes, patches): (Vec<_>, Vec<_>) = changes.partition(|(_, change)| change.deletes);
            let is_done = |changes: &[(&i64, &Change)]| changes.iter().any(|(_, change)| change.outcome == Outcome::Done);
            if there == 0 && *outcome == Outcome::Done && !deletes.is_empty() || is_done(&deletes) {
                ledger.gone.insert(*number);
            }
            if ledger.gone.contains(number) {
                if there > 0 {
                    return Err(format!("{there} rows of append {number} are there, which were deleted"));
                }
                continue;
            }
            if there > 0 {
                // The values are those of the last patch that was done, or of one whose process has no answer.
                let last =
                    patches.iter().filter(|(_, patch)| patch.outcome == Outcome::Done).max_by_key(|(_, patch)| patch.version);
                let before = ledger.patched.get(number).copied().unwrap_or(0);
                let open = patches.iter().filter(|(_, patch)| patch.outcome == Outcome::Open).map(|(number, _)| **number);
                let values: BTreeSet<i64> = open.chain([last.map_or(before, |(number, _)| **number)]).collect();
                match rows.patches.first() {
                    Some(patch) if rows.are_whole() && values.contains(patch) => drop(ledger.patched.insert(*number, *patch)),
                    _ => return Err(format!("append {number}: {rows:?}, expected {ROWS} with values of one of {values:?}")),
                }
            }
            let expected = match *outcome {
                Outcome::Done => Some(ROWS),
                Outcome::Refused => Some(0),
                Outcome::Open => None,
                Outcome::Unknown(version, commit) => {
                    let mut expected = Some(0);
                    for (version, commit) in ledger.second_claims.get(number).copied().into_iter().chain([(version, commit)]) {
                        match Versions::of(&store).fate_of(version, commit).await.map_err(|error| error.to_string())? {
                            Fate::Committed => expected = Some(ROWS),
                            Fate::NotCommitted | Fate::Open => {}
                            // Known of neither, unless the other one was committed.
                            _ => expected = expected.filter(|rows| *rows == ROWS),
                        }
                    }
                    expected
                }
            };
            if expected.is_some_and(|expected| expected != there) || ![0, ROWS].contains(&there) {
                return Err(format!("{there} of {ROWS} rows of append {number} are there, which is {outcome:?}"));
            }
            // Nothing is under way: what is there now stays, and what is not there never comes.
            if let Some(before) = ledger.seen.insert(*number, there).filter(|before| *before != there) {
                return Err(format!("{there} rows of append {number} are there, and {before} were there before"));
            }
            // A restore may have undone it, and another one may do it again.
            if *outcome == Outcome::Open && (there == ROWS || !is_restored) {
                *outcome = if there == ROWS { Outcome::Done } else { Outcome::Refused };
            }
        }
        ledger.changes.clear();
        ledger.made.clear();
        if let Some(number) = found.keys().find(|number| !ledger.rows.contains_key(number)) {
            return Err(format!("rows of append {number}, which nobody wrote"));
        }
        for (tag, (chosen, outcome)) in &mut ledger.tags {
            let version = table.manifest().tags.get(tag).copied();
            let is_right = match outcome {
                Outcome::Done => version == *chosen,
                Outcome::Refused => version.is_none(),
                Outcome::Open | Outcome::Unknown(..) => version.is_none() || chosen.is_none() || version == *chosen,
            };
            if !is_right {
                return Err(format!("tag {tag} of version {chosen:?} is {outcome:?}, found {version:?}"));
            }
            if let Some(version) = version {
                (*chosen, *outcome) = (Some(version), Outcome::Done);
                Table::open_version_in(store.clone(), version).await.map_err(|error| format!("tag {tag}: {error}"))?;
            } else if *outcome == Outcome::Open {
                *outcome = Outcome::Refused;
            }
        }
        for name in FOREIGN {
            store.size(name).await.map_err(|error| format!("a file that is not of the table: {error}"))?;
        }
        sound(&table).await?;
        let borrowed = match Table::open_in(self.store("u")).await {
            Ok(borrower) => {
                sound(&borrower).await?;
                borrower.rows() as i64
            }
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error.to_string()),
        };
        let count = |wanted: fn(&Outcome) -> bool| ledger.borrowed.values().filter(|outcome| wanted(outcome)).count() as i64;
        let least = ROWS * count(|outcome| *outcome == Outcome::Done);
        let most = least + ROWS * count(|outcome| matches!(outcome, Outcome::Open | Outcome::Unknown(..)));
        match (least..=most).contains(&borrowed) {
            true => Ok(()),
            false => Err(format!(
                "the other table has {borrowed} rows, at least {least} and at most {most} were appended: {:?}",
                ledger.borrowed
            )),
        }
    }
}

impl Ledger {
    /// Applies the last restore since the last check: what was done before it is undone. Returns whether there was one, or may have been.
    async fn restored(&mut self, store: &Store, found: &BTreeMap<i64, Rows>) -> std::result::Result<bool, String> {
        let mut last: Option<Restore> = None;
        for (_, mut restore) in std::mem::take(&mut self.restores) {
            if let Outcome::Unknown(version, commit) = restore.outcome {
                restore.version = version;
                restore.outcome = match Versions::of(store).fate_of(version, commit).await.map_err(|error| error.to_string())? {
                    Fate::Committed => Outcome::Done,
                    Fate::NotCommitted | Fate::Open => Outcome::Refused,
                    _ => Outcome::Open,
                };
            }
            match restore.outcome {
                Outcome::Done => {
                    self.restored += 1;
                    last = last.into_iter().chain([restore]).max_by_key(|restore| restore.version);
                }
                // It may have been done at any time, so what is there counts, if all of it is whole.
                Outcome::Open => {
                    self.changes.clear();
                    for (number, outcome) in self.rows.iter_mut().filter(|(_, outcome)| **outcome != Outcome::Refused) {
                        self.seen.remove(number);
                        match found.get(number) {
                            None => drop(self.gone.insert(*number)),
                            Some(rows) => {
                                *outcome = Outcome::Done;
                                self.gone.remove(number);
                                self.patched.extend(rows.patches.first().map(|patch| (*number, *patch)));
                            }
                        }
                    }
                    return Ok(true);
                }
                Outcome::Refused | Outcome::Unknown(..) => {}
            }
        }
        let Some(restore) = last else { return Ok(false) };
        for (number, outcome) in &mut self.rows {
            let version = match outcome {
                Outcome::Open => None,
                Outcome::Unknown(version, _) => Some(*version),
                Outcome::Done => Some(self.made.get(number).copied().unwrap_or(0)),
                Outcome::Refused => continue,
            };
            match restore.content.get(number) {
                Some(patch) => {
                    *outcome = Outcome::Done;
                    self.gone.remove(number);
                    self.seen.remove(number);
                    self.patched.insert(*number, *patch);
                }
                None if version.is_some_and(|version| version < restore.version) => {
                    self.gone.insert(*number);
                    self.seen.remove(number);
                }
                None => {}
            }
        }
        if let Some(number) = restore.content.keys().find(|number| !self.rows.contains_key(number)) {
            return Err(format!("version {} has rows of append {number}, which nobody wrote", restore.version));
        }
        self.changes.retain(|_, change| match change.outcome {
            Outcome::Done => change.version > restore.version,
            Outcome::Unknown(version, _) => version > restore.version,
            Outcome::Open | Outcome::Refused => true,
        });
        Ok(true)
    }
}

/// Checks every version of a table.
async fn sound(table: &Table) -> std::result::Result<(), String> {
    let reach = VerifyReach { all_versions: true, sources: true };
    let verified = table.storage().verify_more(reach, |_, _| {}).await.map_err(|error| error.to_string())?;
    match verified.damage.as_slice() {
        [] => Ok(()),
        damage => Err(format!("{} is damaged: {damage:?}", table.url())),
    }
}

/// Returns the values of `x`, in the order of the rows.
async fn values(table: &Table) -> Result<Vec<i64>> {
    let mut values = Vec::new();
    let mut rows = table.row_loader().scan(1000);
    while let Some(rows) = rows.next().await {
        values.extend(rows?.column("x")?.as_primitive::<Int64Type>().values());
    }
    Ok(values)
}

/// Returns the ids of the rows, as their index has them.
async fn ids(table: &Table) -> Result<Vec<i64>> {
    let mut ids = Vec::new();
    for batch in table.index_batches().await? {
        ids.extend(batch?.column_by_name("id").unwrap().as_primitive::<Int64Type>().values());
    }
    Ok(ids)
}

fn append_of(id: i64) -> i64 {
    id.div_euclid(ROWS)
}

/// Returns the rows of each append that a table has.
async fn rows_by_append(table: &Table) -> Result<BTreeMap<i64, Rows>> {
    let (mut found, mut seen): (BTreeMap<i64, Rows>, _) = (BTreeMap::new(), BTreeSet::new());
    let (ids, values) = (ids(table).await?, values(table).await?);
    assert_eq!(ids.len(), values.len());
    for (id, x) in ids.into_iter().zip(values) {
        let rows = found.entry(append_of(id)).or_default();
        rows.patches.insert(x.div_euclid(PATCH_STEP));
        // A row that is there twice, or that has the values of another one, counts as wrong, whatever was expected.
        rows.count += if seen.insert(id) && x.rem_euclid(PATCH_STEP) == id { 1 } else { 100 };
    }
    Ok(found)
}

/// Appends with a session: two processes write its one partition, and two commit at once.
async fn session(store: &Store, number: i64) -> Result<Vec<Result<Table>>> {
    let ticket = Table::open_in(store.clone()).await?.append(WriteOptions::default()).await?.ticket()?.to_json();
    let ticket = Ticket::from_json(&ticket)?;
    let write = || async { written(&TableWriter::join(store.clone(), &ticket)?, 0, number).await };
    let receipts: Vec<Result<Receipt>> = join_all([write(), write()]).await;
    let receipt = receipts.into_iter().reduce(|one, other| one.or(other)).unwrap()?;
    let commit = || async { TableWriter::join(store.clone(), &ticket)?.commit([receipt.clone()]).await };
    Ok(join_all([commit(), commit()]).await)
}

/// Returns what a process was told.
fn outcome(done: &Result<Table>, record: impl Fn(&Error)) -> Outcome {
    let Err(error) = done else { return Outcome::Done };
    record(error);
    if error.kind() != ErrorKind::OutcomeUnknown {
        return Outcome::Refused;
    }
    let message = error.to_string();
    let after = |option: &str| message.split_once(option).and_then(|(_, rest)| rest.split([' ', '`']).next().map(str::to_owned));
    match (after("--version ").and_then(|text| text.parse().ok()), after("--commit ").and_then(|text| text.parse().ok())) {
        (Some(version), Some(commit)) => Outcome::Unknown(version, commit),
        _ => Outcome::Open,
    }
}
