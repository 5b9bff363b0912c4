//! Sessions of one process keep parts and receipts in memory. Nevertheless, a session that was ended is not committed, a session that other
//! processes join loses no partition silently, and a plan stores what is in memory.

use std::{path::Path, time::Duration};

use crate::common::tables::{assert_reads, block_on, cut_by, joined, sensors, tiny_cuts, two_partitions};
use arrow_array::RecordBatch;
use tetrys::{
    ErrorKind, Receipt, Store, Table, TableWriter, Ticket, WritePlan,
    machine::Simulation,
    table::{Storage, now_ms},
};

const HOUR: Duration = Duration::from_secs(3600);

fn store(folder: &Path) -> Store {
    Store::open(folder.join("t").to_str().unwrap()).unwrap()
}

async fn write(writer: &TableWriter, number: u32, rows: &RecordBatch) -> tetrys::Result<Receipt> {
    let mut partition = writer.partition_at(number)?;
    partition.write(rows).await?;
    partition.finish().await
}

fn is_over(result: tetrys::Result<Table>) {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("is over: its file sessions/"), "{error}");
}

/// Returns the session in the store.
async fn session(store: &Store) -> uuid::Uuid {
    let sessions = Storage::of(store).sessions().await.unwrap();
    let [session] = &sessions[..] else { panic!("one session: {sessions:?}") };
    session.session
}

#[test]
fn a_create_whose_chunks_were_collected_is_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, rows) = two_partitions(3);
        let writer = Table::create_in(store(folder.path()), sensors(), cut_by(tiny_cuts())).await.unwrap();
        let receipt = write(&writer, 0, &rows[0]).await.unwrap();
        let plan = Storage::of(&store(folder.path())).collect_abandoned(HOUR, now_ms() + 7_200_000).await.unwrap();
        assert!(plan.done && plan.sweep.keys().any(|name| name.starts_with("chunks/")), "{plan:?}");
        is_over(writer.commit([receipt]).await);
        assert_eq!(Table::open_in(store(folder.path())).await.unwrap_err().kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_session_that_was_aborted_is_not_committed() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, rows) = two_partitions(3);
        let create = || Table::create_in(store(folder.path()), sensors(), cut_by(tiny_cuts()));
        let writer = create().await.unwrap();
        let receipt = write(&writer, 0, &rows[0]).await.unwrap();
        assert_eq!(Storage::of(&store(folder.path())).abort_session(session(&store(folder.path())).await).await.unwrap(), 1);
        is_over(writer.commit([receipt]).await);

        let writer = create().await.unwrap();
        let receipt = write(&writer, 0, &rows[0]).await.unwrap();
        let table = writer.commit([receipt]).await.unwrap();
        let changes =
            [table.append(cut_by(tiny_cuts())).await.unwrap(), table.overwrite(sensors(), cut_by(tiny_cuts())).await.unwrap()];
        for writer in changes {
            let receipt = write(&writer, 0, &rows[1]).await.unwrap();
            table.storage().abort_session(session(table.store()).await).await.unwrap();
            is_over(writer.commit([receipt]).await);
        }
        let newest = Table::open_in(store(folder.path())).await.unwrap();
        assert_eq!(newest.version(), 1);
        assert_reads(&newest, &rows[0]).await;
    });
}

/// A writer that puts its file again looks for it first.
#[test]
fn a_session_that_was_aborted_is_not_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Simulation::start(1);
    block_on(async {
        let (_, rows) = two_partitions(3);
        let writer = Table::create_in(store(folder.path()), sensors(), cut_by(tiny_cuts())).await.unwrap();
        let receipt = write(&writer, 0, &rows[0]).await.unwrap();
        Storage::of(&store(folder.path())).abort_session(session(&store(folder.path())).await).await.unwrap();
        machine.pass(HOUR);
        let error = write(&writer, 1, &rows[1]).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Conflict && error.to_string().contains("is over"), "{error}");
        writer.abandon(1);
        is_over(writer.commit([receipt]).await);
        assert!(Storage::of(&store(folder.path())).sessions().await.unwrap().is_empty());
    });
}

#[test]
fn a_ticket_of_a_process_that_joined_names_what_the_first_process_has() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, rows) = two_partitions(3);
        let first = Table::create_in(store(folder.path()), sensors(), cut_by(tiny_cuts())).await.unwrap();
        let receipt = write(&first, 1, &rows[1]).await.unwrap();
        let second = TableWriter::join(store(folder.path()), &first.ticket().unwrap()).unwrap();
        let text = second.ticket().unwrap().to_json();
        let third = TableWriter::join(store(folder.path()), &Ticket::from_json(&text).unwrap()).unwrap();
        let other = write(&third, 0, &rows[0]).await.unwrap();
        for writer in [&second, &third] {
            let error = writer.commit([other.clone()]).await.unwrap_err();
            assert!(error.to_string().contains("no receipt for partition 1 of 2"), "{error}");
        }
        let error = third.commit([other.clone(), receipt.clone()]).await.unwrap_err();
        assert!(error.to_string().contains("only that writer has the part"), "{error}");
        assert_reads(&first.commit([other, receipt]).await.unwrap(), &joined(&rows)).await;
    });
}

#[test]
fn a_plan_stores_what_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    block_on(async {
        let (_, rows) = two_partitions(3);
        let writer = Table::create_in(store(folder.path()), sensors(), cut_by(tiny_cuts())).await.unwrap();
        // One partition has ended, the other one has begun.
        write(&writer, 1, &rows[1]).await.unwrap();
        let mut partition = writer.partition_at(0).unwrap();
        partition.write(&rows[0]).await.unwrap();
        let plan = writer.plan(Some(2), Vec::new()).await.unwrap();
        partition.finish().await.unwrap();
        drop(writer);
        let [found] = &WritePlan::open_in(&store(folder.path())).await.unwrap()[..] else { panic!("one plan") };
        assert_eq!(*found, plan);
        assert_reads(&found.commit(&store(folder.path()), None).await.unwrap(), &joined(&rows)).await;
        assert!(store(folder.path()).list("sessions").await.unwrap().is_empty());
    });
}
