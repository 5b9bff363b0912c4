//! Crashes: whatever operation of a write and commit fails or ends the process, the table is then absent or complete, and the
//! same work succeeds when it is repeated. Also the errors of a commit whose outcome is unknown.

use crate::common;
use std::{
    env,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use crate::common::{
    hooked::{Act, Hooked, disk_failure, no_answer},
    tables::{self, block_on, joined, memory, over, overwrite, tiny_cuts, two_partitions},
};
use arrow_array::RecordBatch;
use futures::StreamExt;
use object_store::{ObjectStore, ObjectStoreExt, local::LocalFileSystem, memory::InMemory};
use tetrys::{
    ErrorKind, Result, Store, Table,
    format::manifest_name,
    store::{Fault, Faults, FaultyStore},
};

/// The fixed seed, so that child processes write the same table.
const SEED: u64 = 42;

/// Writes a table with an attachment and two partitions, always with the same rows.
async fn work(store: Store) -> Result<Table> {
    let (schema, partitions) = two_partitions(SEED);
    let writer = Table::create_in(store, schema, tables::cut_by(tiny_cuts())).await?;
    writer.attach("map", "a small map").await?;
    let mut receipts = Vec::new();
    for batch in &partitions {
        let mut partition = writer.partition()?;
        partition.write(batch).await?;
        receipts.push(partition.finish().await?);
    }
    writer.commit(receipts).await
}

fn written() -> RecordBatch {
    joined(&two_partitions(SEED).1)
}

/// Whether the table exists. Asserts that an existing table is complete and sound.
async fn is_complete(store: &Store) -> bool {
    let table = match Table::open_in(store.clone()).await {
        Ok(table) => table,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            return false;
        }
    };
    assert_eq!(table.version(), 1);
    let verified = table.storage().verify(|_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{verified:?}");
    assert_eq!(table.attachment("map").await.unwrap(), "a small map");
    let read: Vec<_> = table.row_loader().scan(1000).collect().await;
    let rows: Vec<_> = (0..table.rows()).map(Some).collect();
    tables::assert_rows(read[0].as_ref().unwrap(), &written(), &rows);
    true
}

/// Asserts that after a crash the table is absent or complete, and that the repeated work succeeds, or fails with `Exists`.
/// Returns whether the table was complete.
async fn absent_or_complete_and_rerun(store: &Store) -> bool {
    let complete = is_complete(store).await;
    match work(store.clone()).await {
        Ok(table) => assert!(!complete && table.version() == 1),
        Err(error) => assert!(complete && error.kind() == ErrorKind::Exists, "complete: {complete}, {error}"),
    }
    assert!(is_complete(store).await);
    assert_eq!(store.list("manifests").await.unwrap().len(), 1);
    complete
}

/// Returns the operations of the work without faults.
fn operations() -> Vec<String> {
    let faulty = FaultyStore::new(InMemory::new());
    block_on(work(over(Arc::new(faulty.clone())))).unwrap();
    faulty.log()
}

#[test]
fn a_store_lost_at_any_operation_leaves_the_table_absent_or_complete() {
    let operations = operations();
    let claim = operations.iter().position(|operation| operation.starts_with("put manifests/")).unwrap();
    let mut complete = 0;
    for (number, operation) in operations.iter().enumerate() {
        for fault in [Fault::Before, Fault::After] {
            let (raw, _) = memory();
            let faulty = FaultyStore::new(raw.clone());
            faulty.arm(Faults::none().at(number as u64, fault).then_crash());
            let result = block_on(work(over(Arc::new(faulty.clone()))));
            assert!(faulty.crashed());
            let there = block_on(absent_or_complete_and_rerun(&over(raw)));
            complete += usize::from(there);
            assert_eq!(there, number > claim || (number == claim && fault == Fault::After), "{operation}, {fault:?}");
            match result {
                // The deletion of the session's objects may fail after the commit.
                Ok(_) => assert!(number > claim, "{operation}, {fault:?}"),
                // The claim, and the listing that settles it.
                Err(error) if number == claim || number == claim + 1 => {
                    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{fault:?}: {error}");
                }
                Err(error) => assert!(number < claim, "{operation}, {fault:?}: {error}"),
            }
        }
    }
    println!("{} crash points by error, {complete} after the claim", operations.len() * 2);
}

#[test]
fn an_object_torn_by_the_store_is_never_committed() {
    let operations = operations();
    let mut torn = 0;
    for (number, operation) in operations.iter().enumerate().filter(|(_, operation)| operation.starts_with("put ")) {
        torn += 1;
        let (raw, store) = memory();
        let faulty = FaultyStore::new(raw);
        faulty.arm(Faults::none().at(number as u64, Fault::Torn).then_crash());
        block_on(async {
            assert!(work(over(Arc::new(faulty.clone()))).await.is_err());
            faulty.arm(Faults::none());
            let store = over(Arc::new(faulty.clone()));
            if operation.starts_with("put manifests/") {
                assert_eq!(Table::open_in(store).await.unwrap_err().kind(), ErrorKind::Corrupt);
                return;
            }
            assert!(!is_complete(&store).await);
            match work(store.clone()).await {
                Ok(_) => assert!(is_complete(&store).await, "{operation}"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt, "{operation}: {error}");
                    assert!(error.to_string().contains("another object has this name: expected"), "{error}");
                    assert!(!is_complete(&store).await);
                }
            }
        });
        drop(store);
    }
    println!("{torn} torn puts, none committed");
}

#[test]
fn a_store_that_fails_now_and_then_never_makes_half_a_table() {
    let seed = common::seed();
    let (mut done, runs) = (0, common::cases(60));
    for run in 0..runs as u64 {
        let (raw, _) = memory();
        let faulty = FaultyStore::new(raw.clone());
        // Torn puts have their own test: they leave objects whose names a repeated run cannot use.
        let script = (0..200).filter_map(|number| match Faults::seeded(seed ^ run, 25).of(number) {
            Some(Fault::Torn) | None => None,
            Some(fault) => Some((number, fault)),
        });
        faulty.arm(script.fold(Faults::none(), |faults, (number, fault)| faults.at(number, fault)));
        let result = block_on(work(over(Arc::new(faulty))));
        let complete = block_on(absent_or_complete_and_rerun(&over(raw)));
        match result {
            Ok(_) => assert!(complete, "run {run}"),
            Err(error) => assert!(!complete || error.kind() == ErrorKind::OutcomeUnknown, "run {run}: {error}"),
        }
        done += usize::from(complete);
    }
    println!("{runs} runs over a failing store, {done} committed");
}

/// Runs the work over a backend on which `act` decides each operation on manifests. Returns the result and the backend.
fn claimed(act: impl Fn(&str, &InMemory) -> Act + Send + Sync + 'static) -> (Result<Table>, Arc<InMemory>) {
    let (raw, _) = memory();
    let beside = raw.clone();
    let hooked = Hooked::new(raw.clone(), move |_, verb, place| match place.starts_with("manifests/") {
        true => act(verb, &beside),
        false => Act::Pass,
    });
    (block_on(work(over(Arc::new(hooked)))), raw)
}

/// Returns a hook that acts on the first `times` operations of a verb, and passes all others.
fn times(verb: &'static str, times: usize, act: impl Fn() -> Act + Send + Sync) -> impl Fn(&str) -> Act + Send + Sync {
    let left = Mutex::new(times);
    move |found| {
        let mut left = left.lock().unwrap();
        if found != verb || *left == 0 {
            return Act::Pass;
        }
        *left -= 1;
        act()
    }
}

#[test]
fn a_lost_answer_to_the_claim_is_success_with_exactly_one_version() {
    let lost = times("put", 1, || Act::After(no_answer()));
    let (result, raw) = claimed(move |verb, _| lost(verb));
    assert_eq!(result.unwrap().version(), 1);
    assert!(block_on(is_complete(&over(raw.clone()))));
    assert_eq!(block_on(over(raw).list("manifests")).unwrap().len(), 1);
}

#[test]
fn a_claim_that_did_not_happen_is_made_again() {
    let lost = times("put", 2, || Act::Before(no_answer()));
    let (result, raw) = claimed(move |verb, _| lost(verb));
    assert_eq!(result.unwrap().version(), 1);
    assert!(block_on(is_complete(&over(raw))));
}

#[test]
fn a_claim_of_the_first_version_without_any_answer_is_an_unknown_outcome() {
    let (result, raw) = claimed(|verb, _| if verb == "put" { Act::Before(no_answer()) } else { Act::Pass });
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
    let says = "memory://table: version 1: the store gave no clear answer; `tetrys resolve memory://table --version 1 --commit ";
    assert!(error.to_string().starts_with(says), "{error}");
    assert!(!block_on(absent_or_complete_and_rerun(&over(raw))));
}

#[test]
fn a_claim_that_cannot_be_read_back_is_an_unknown_outcome_with_the_commit_id_to_look_for() {
    for happened in [false, true] {
        let (result, raw) = claimed(move |verb, _| match verb {
            "put" if happened => Act::After(no_answer()),
            "put" | "get" => Act::Before(no_answer()),
            _ => Act::Pass,
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        assert!(
            error.to_string().contains("the versions there cannot be read; `tetrys resolve memory://table --version 1 --commit "),
            "{error}"
        );
        if happened {
            let table = block_on(Table::open_in(over(raw.clone()))).unwrap();
            assert!(error.to_string().contains(&table.manifest().commit_id.to_string()), "{error}");
        }
        assert_eq!(block_on(absent_or_complete_and_rerun(&over(raw))), happened);
    }
}

#[test]
fn another_writers_manifest_is_a_conflict_and_one_that_cannot_be_read_may_be_anybodys() {
    let other = {
        let (_, store) = memory();
        let table = block_on(work(store)).unwrap();
        table.manifest().to_bytes().unwrap().0
    };
    for (bytes, kind) in [
        (other, ErrorKind::Conflict),
        (b"{\"format\":2}".to_vec(), ErrorKind::OutcomeUnknown),
        (Vec::new(), ErrorKind::OutcomeUnknown),
    ] {
        let winner = bytes.clone();
        let (result, raw) = claimed(move |verb, raw| {
            if verb == "put" {
                futures::executor::block_on(overwrite(raw, &manifest_name(1), &winner));
            }
            Act::Pass
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        if kind == ErrorKind::Conflict {
            assert_eq!(error.to_string(), "memory://table: version 1 was committed by another writer; reload and retry");
        }
        let found = block_on(async { raw.get(&manifest_name(1).into()).await.unwrap().bytes().await.unwrap() });
        assert_eq!(found, bytes, "the winner's manifest is untouched");
    }
}

#[test]
fn a_claim_whose_fsync_failed_is_never_success() {
    for words in ["Unable to sync data to disk for manifests", "Unable to rename file"] {
        let (result, raw) = claimed(move |verb, _| match verb {
            "put" => Act::After(disk_failure(words, std::io::ErrorKind::Other)),
            _ => Act::Pass,
        });
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        assert!(error.to_string().contains("its manifest exists, but may not be durable; `tetrys resolve "), "{error}");
        assert!(block_on(is_complete(&over(raw))), "the name is not taken back");
    }
}

#[test]
fn an_object_whose_fsync_failed_is_never_committed() {
    for number in 0..operations().iter().filter(|operation| operation.starts_with("put ")).count() - 1 {
        let puts = Mutex::new(0);
        let (raw, _) = memory();
        let hooked = Hooked::new(raw.clone(), move |_, verb, _| {
            let mut puts = puts.lock().unwrap();
            *puts += usize::from(verb == "put");
            match verb == "put" && *puts == number + 1 {
                true => Act::After(disk_failure("Unable to sync data to disk for x", std::io::ErrorKind::Other)),
                false => Act::Pass,
            }
        });
        assert_eq!(block_on(work(over(Arc::new(hooked)))).unwrap_err().kind(), ErrorKind::OutcomeUnknown, "put {number}");
        assert!(!block_on(absent_or_complete_and_rerun(&over(raw))));
    }
}

const CHILD_FOLDER: &str = "TETRYS_CRASH_FOLDER";
const CHILD_OPERATION: &str = "TETRYS_CRASH_OPERATION";
const CHILD_STAGED: &str = "TETRYS_CRASH_STAGED";

/// Returns a local backend of the table's folder. A killed process loses no written data, so only a full run uses fsync.
fn local(folder: &Path) -> Arc<dyn ObjectStore> {
    Arc::new(LocalFileSystem::new_with_prefix(folder).unwrap().with_fsync(common::full()))
}

/// Not a test of its own: the process that is killed. It aborts at the start of the operation, as SIGKILL would. If asked to, a
/// put first leaves a half-written file under the staging name of the backend.
#[test]
fn the_process_that_is_killed() {
    let Some(folder) = env::var_os(CHILD_FOLDER).map(std::path::PathBuf::from) else { return };
    let last: u64 = env::var(CHILD_OPERATION).unwrap().parse().unwrap();
    let staged = env::var_os(CHILD_STAGED).is_some();
    let root = folder.clone();
    let hooked = Hooked::new(local(&folder), move |number, verb, place| {
        if number == last {
            let file = root.join(format!("{place}#1"));
            if staged && verb == "put" {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, "half of the byt").unwrap();
            }
            std::process::abort();
        }
        Act::Pass
    });
    block_on(work(Store::new(Arc::new(hooked), "".into(), "file:///table"))).unwrap();
}

/// Runs the work in a child process that dies at the start of operation `last`. Returns whether the process died.
fn killed(folder: &Path, last: usize, staged: bool) -> bool {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "crash::the_process_that_is_killed", "--nocapture"]);
    child.env(CHILD_FOLDER, folder).env(CHILD_OPERATION, last.to_string());
    if staged {
        child.env(CHILD_STAGED, "1");
    }
    !child.output().unwrap().status.success()
}

#[test]
fn a_process_killed_at_any_operation_leaves_the_table_absent_or_complete() {
    let operations = operations();
    let claim = operations.iter().position(|operation| operation.starts_with("put manifests/")).unwrap();
    let (mut points, mut complete) = (0, 0);
    for staged in [false, true] {
        for (last, operation) in operations.iter().enumerate().filter(|(_, operation)| !staged || operation.starts_with("put ")) {
            let folder = tempfile::tempdir().unwrap();
            assert!(killed(folder.path(), last, staged), "{operation}");
            points += 1;
            let there = block_on(async {
                let store = Store::open(folder.path().to_str().unwrap()).unwrap();
                assert_eq!(is_complete(&store).await, last > claim, "{operation}");
                absent_or_complete_and_rerun(&over(local(folder.path()))).await
            });
            complete += usize::from(there);
        }
    }
    assert!(!killed(tempfile::tempdir().unwrap().path(), operations.len(), false), "without a kill it ends well");
    println!("{points} crash points by kill, {complete} after the claim");
}
