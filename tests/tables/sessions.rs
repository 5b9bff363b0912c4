//! Write sessions of several processes: partitions are written several times, at the same time and by halves; drivers are lost,
//! commit twice and abort. The table has the rows of one attempt of each partition, or does not change, and a garbage collection
//! finds everything else.

#![allow(clippy::single_range_in_vec_init, reason = "one range of rows is meant")]

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crate::common::{
    self,
    tables::{Rng, Taste, assert_reads, block_on, column, joined, tiny_cuts},
};
use arrow_array::{ArrayRef, Int64Array, LargeStringArray, RecordBatch, cast::AsArray, types::Int64Type};
use arrow_select::take::take_record_batch;
use futures::future::join_all;
use tetrys::{
    ErrorKind, Receipt, Schema, Store, Table, TableWriter, WriteOptions, WritePlan,
    table::{Cuts, GcSettings, Storage, now_ms},
};

const NOW: GcSettings = GcSettings { keep_versions: 0, age: Duration::ZERO };

fn schema() -> Schema {
    let builder =
        Schema::builder().index("log", "utf8").index("time", "i64").group("a", [("a.bytes", "binary"), ("a.pose", "f32[3]")]);
    builder.group("b", [("b.points", "f32[?,2]")]).sequence_by(["log"]).order_by(["time"]).build().unwrap()
}

/// Returns rows of some logs. Each time occurs twice, so that rows can be sorted in several ways.
fn rows(rng: &mut Rng, name: &str, logs: u64, each: i64) -> RecordBatch {
    let logs: Vec<String> = (0..logs).map(|log| format!("{name}-{log}")).collect();
    let names: Vec<&str> = logs.iter().flat_map(|log| (0..each).map(move |_| log.as_str())).collect();
    let times: Vec<i64> = logs.iter().flat_map(|_| 0..each).map(|row| row / 2).collect();
    let count = names.len();
    let of = |column: &str| schema().column_named(column).unwrap().ty.clone();
    let mut made = |name: &str| column(rng, &of(name), count, Taste::NOISE);
    let columns: [(&str, ArrayRef); 5] = [
        ("a.bytes", made("a.bytes")),
        ("a.pose", made("a.pose")),
        ("b.points", made("b.points")),
        ("log", Arc::new(LargeStringArray::from(names))),
        ("time", Arc::new(Int64Array::from(times))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

/// Returns the rows with those of equal time exchanged, as another sort may order them.
fn ties_exchanged(batch: &RecordBatch) -> RecordBatch {
    let order: Vec<u64> = (0..batch.num_rows() as u64).map(|row| (row ^ 1).min(batch.num_rows() as u64 - 1)).collect();
    let order = if batch.num_rows().is_multiple_of(2) { order } else { (0..batch.num_rows() as u64).collect() };
    take_record_batch(batch, &arrow_array::UInt64Array::from(order)).unwrap()
}

fn options() -> WriteOptions {
    WriteOptions::default().cuts(tiny_cuts())
}

/// Writes a partition in pieces, as a worker does that joined with the ticket.
async fn written(store: &Store, plan: &WritePlan, number: u32, batch: &RecordBatch) -> tetrys::Result<Receipt> {
    let worker = TableWriter::join(store.clone(), plan.ticket())?.with_known_blocks().await?;
    worker.ensure_open().await?;
    let mut partition = worker.partition_at(number)?;
    if let Some(label) = plan.labels().get(number as usize) {
        partition = partition.label(label);
    }
    let half = batch.num_rows() / 2;
    partition.write(&batch.slice(0, half)).await?;
    partition.write(&batch.slice(half, batch.num_rows() - half)).await?;
    partition.finish().await
}

/// Writes half of a partition and stops, like a worker that is killed.
async fn broken_off(store: &Store, plan: &WritePlan, number: u32, batch: &RecordBatch) {
    let worker = TableWriter::join(store.clone(), plan.ticket()).unwrap().with_known_blocks().await.unwrap();
    let mut partition = worker.partition_at(number).unwrap();
    partition.write(&batch.slice(0, batch.num_rows() / 2)).await.unwrap();
}

async fn left_in_sessions(store: &Store) -> Vec<String> {
    store.list("sessions").await.unwrap().into_iter().map(|(name, _)| name).collect()
}

/// Asserts that garbage collections leave nothing that is not part of a version, and that all versions are whole.
async fn collected(store: &Store) {
    if Table::open_in(store.clone()).await.is_err() {
        if !store.list("").await.unwrap().is_empty() {
            Storage::of(store).collect_abandoned(Duration::ZERO, now_ms() + 1000).await.unwrap();
        }
        assert_eq!(store.list("").await.unwrap(), []);
        return;
    }
    for call in 1..=4 {
        Storage::of(store).collect_garbage(NOW, now_ms() + 1000 * call).await.unwrap();
    }
    let plan = Storage::of(store).plan_garbage(NOW, now_ms() + 10_000).await.unwrap();
    assert!(plan.is_empty() && plan.waiting == 0, "{plan:?}");
    assert_eq!(left_in_sessions(store).await, Vec::<String>::new());
    let reach = tetrys::table::VerifyReach { all_versions: true, sources: false };
    let verified = Table::open_in(store.clone()).await.unwrap().storage().verify_more(reach, |_, _| {}).await.unwrap();
    assert!(verified.damage.is_empty(), "{:?}", verified.damage);
}

/// What a history does at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// Commits the receipts that the engine chose.
    Winners,
    /// A driver that only has the store commits.
    Lost,
    Abort,
}

async fn history(seed: u64) {
    let mut rng = Rng(seed);
    let place = format!("memory://sessions-{seed}");
    let (store, elsewhere) = (Store::open(&format!("{place}/t")).unwrap(), Store::open(&format!("{place}/r")).unwrap());
    let mode = rng.below(3);
    let parts: Vec<RecordBatch> = (0..1 + rng.below(4))
        .map(|part| {
            let (logs, each) = (1 + rng.below(2), 2 * (rng.below(5) as i64));
            rows(&mut rng, &format!("part {part}"), logs, each)
        })
        .collect();
    // The rows before, and a reference that has some of the rows.
    let before = rows(&mut rng, "before", 2, 6);
    if mode > 0 {
        common::tables::write(store.clone(), schema(), options(), std::slice::from_ref(&before)).await.unwrap();
    }
    let reference = match rng.below(2) {
        0 => None,
        _ => {
            let other = rows(&mut rng, "other", 2, 4);
            Some(common::tables::write(elsewhere.clone(), schema(), options(), &[parts[0].clone(), other]).await.unwrap())
        }
    };
    let writer = match mode {
        0 => Table::create_in(store.clone(), schema(), options()).await.unwrap(),
        1 => Table::open_in(store.clone()).await.unwrap().append(options()).await.unwrap(),
        _ => Table::open_in(store.clone()).await.unwrap().overwrite(schema(), options()).await.unwrap(),
    };
    let writer = writer.references(&reference).await.unwrap();
    writer.set_property("made by", "history");
    let is_planned = rng.below(2) == 0;
    let count = parts.len() as u32;
    let labels: Vec<String> = (0..count).map(|number| format!("source-{number}.zarr")).collect();
    let plan = match is_planned {
        true => writer.plan(Some(count), labels).await.unwrap(),
        false => writer.plan(None, Vec::new()).await.unwrap(),
    };
    drop(writer);
    assert_eq!(WritePlan::from_json(&plan.to_json()).unwrap(), plan);

    // Attempts: whole, twice, at the same time, with ties in another order, and by halves. Unplanned partitions may be missing.
    let mut winners: Vec<Receipt> = Vec::new();
    let mut rows_of_attempts: BTreeMap<String, RecordBatch> = BTreeMap::new();
    for (number, batch) in (0..).zip(&parts) {
        let is_missing = !is_planned && rng.below(4) == 0;
        if rng.below(2) == 0 || is_missing {
            broken_off(&store, &plan, number, batch).await;
        }
        if is_missing {
            continue;
        }
        let variants = [batch.clone(), ties_exchanged(batch)];
        let tries: Vec<usize> = (0..1 + rng.below(3)).map(|_| rng.below(2) as usize).collect();
        let receipts = join_all(tries.iter().map(|variant| written(&store, &plan, number, &variants[*variant]))).await;
        let receipts: Vec<Receipt> = receipts.into_iter().map(Result::unwrap).collect();
        let winner = rng.below(receipts.len() as u64) as usize;
        let first = (0..receipts.len()).min_by_key(|attempt| receipts[*attempt].attempt).unwrap();
        let found = plan.found(&store).await.unwrap();
        assert_eq!(found.iter().find(|receipt| receipt.partition == number), Some(&receipts[first]));
        winners.push(receipts[winner].clone());
        let variants = tries.iter().map(|variant| variants[*variant].clone());
        rows_of_attempts.extend(receipts.iter().map(|receipt| receipt.attempt.to_string()).zip(variants));
    }
    let by_store = plan.found(&store).await.unwrap();
    if mode == 1 && rng.below(2) == 0 {
        // Another writer appends meanwhile.
        let other = Table::open_in(store.clone()).await.unwrap().append(options()).await.unwrap();
        let mut partition = other.partition().unwrap();
        partition.write(&rows(&mut rng, "meanwhile", 1, 4)).await.unwrap();
        other.commit([partition.finish().await.unwrap()]).await.unwrap();
    }
    let table_before = Table::open_in(store.clone()).await.ok();
    let rows_before = match &table_before {
        Some(table) => table.rows(),
        None => 0,
    };

    assert_eq!(WritePlan::open_in(&store).await.unwrap(), std::slice::from_ref(&plan));
    let end = *rng.pick(&[End::Winners, End::Winners, End::Lost, End::Lost, End::Abort]);
    let nothing = winners.is_empty();
    if end == End::Abort || (nothing && end == End::Lost) {
        if nothing {
            let error = plan.commit(&store, None).await.unwrap_err();
            assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("no partition was finished"), "{error}");
        }
        plan.abort(&store).await.unwrap();
        plan.abort(&store).await.unwrap();
        assert_eq!(left_in_sessions(&store).await, Vec::<String>::new());
        let error = plan.commit(&store, Some(winners)).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("is over"), "{error}");
        let error = written(&store, &plan, 0, &parts[0]).await.unwrap_err();
        assert!(error.to_string().contains("is over"), "{error}");
        let after = Table::open_in(store.clone()).await.ok();
        assert_eq!(after.map(|table| table.version()), table_before.map(|table| table.version()));
    } else {
        // Committers in several processes at once: one version.
        let found = WritePlan::open_in(&store).await.unwrap().remove(0);
        let given = (end == End::Winners).then_some(winners.clone());
        let commits = join_all((0..1 + rng.below(3)).map(|_| found.commit(&store, given.clone()))).await;
        let tables: Vec<Table> = commits.into_iter().map(Result::unwrap).collect();
        assert!(tables.iter().all(|table| table.manifest_hash() == tables[0].manifest_hash()));
        let again = plan.commit(&store, None).await.unwrap();
        assert_eq!(again.manifest_hash(), tables[0].manifest_hash());
        let table = Table::open_in(store.clone()).await.unwrap();
        assert_eq!(table.manifest_hash(), again.manifest_hash());
        assert_eq!(table.properties()["made by"], "history");
        // The rows are those of the chosen attempts.
        let committed = if end == End::Winners { &winners } else { &by_store };
        let expected: Vec<RecordBatch> =
            committed.iter().map(|receipt| rows_of_attempts[&receipt.attempt.to_string()].clone()).collect();
        let expected = if expected.is_empty() { parts[0].slice(0, 0) } else { joined(&expected) };
        let first = if mode == 1 { rows_before } else { 0 };
        assert_eq!(table.rows(), first + expected.num_rows() as u64);
        let (_, index) = table.index_rows(&[first..table.rows()]).await.unwrap();
        let logs = |batches: &[RecordBatch]| batches.iter().map(|batch| batch.column(0).clone()).collect::<Vec<_>>();
        let logs = logs(&index);
        let logs: Vec<&dyn arrow_array::Array> = logs.iter().map(|column| column.as_ref()).collect();
        if !logs.is_empty() {
            let logs = arrow_select::concat::concat(&logs).unwrap();
            assert_eq!(&logs, expected.column_by_name("log").unwrap());
        }
        let positions: Vec<u64> = (first..table.rows()).collect();
        let found = table.row_loader().take(&positions).await.unwrap();
        for (field, column) in found.batch().schema().fields().iter().zip(found.batch().columns()) {
            assert_eq!(column, expected.column_by_name(field.name()).unwrap(), "seed {seed}, column {}", field.name());
        }
        // A worker that is late leaves objects, or finds that the session is over.
        let late = TableWriter::join(store.clone(), plan.ticket()).unwrap();
        if rng.below(2) == 0 {
            let mut partition = late.partition_at(0).unwrap();
            partition.write(&parts[0]).await.unwrap();
            partition.finish().await.unwrap();
        }
        assert_eq!(plan.commit(&store, None).await.unwrap().manifest_hash(), again.manifest_hash());
        assert!(WritePlan::open_in(&store).await.unwrap().is_empty());
        plan.abort(&store).await.unwrap();
    }
    collected(&store).await;
    if let Some(reference) = reference {
        // Pins that no version needs are dead, and the others stay.
        collected(&elsewhere).await;
        let pins = elsewhere.list("pins").await.unwrap().len();
        let uses = Table::open_in(store.clone()).await.is_ok_and(|table| !table.manifest().stores.is_empty());
        assert_eq!(pins > 0, uses, "seed {seed}: {pins} pins at {}", reference.url());
        if uses {
            Table::open_in(store).await.unwrap().storage().verify(|_, _| {}).await.unwrap();
        }
    }
}

#[test]
fn random_histories_of_sessions_give_one_table_or_none() {
    let cases = common::cases(60) as u64;
    for case in 0..cases {
        block_on(history(common::seed().wrapping_add(case)));
    }
}

async fn planned(name: &str, labels: &[&str]) -> (Store, WritePlan) {
    let store = Store::open(&format!("memory://sessions/{name}")).unwrap();
    let writer = Table::create_in(store.clone(), schema(), options()).await.unwrap();
    let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
    let plan = writer.plan(u32::try_from(labels.len()).ok(), labels).await.unwrap();
    (store, plan)
}

#[test]
fn a_commit_that_is_refused_names_partition_and_label_and_can_be_repeated() {
    block_on(async {
        let (store, plan) = planned("refused", &["a.zarr", "b.zarr", "c.zarr"]).await;
        let mut rng = Rng(7);
        let [one, two, three] = ["x", "y", "z"].map(|name| rows(&mut rng, name, 1, 6));
        let first = written(&store, &plan, 0, &one).await.unwrap();
        let again = written(&store, &plan, 1, &one).await.unwrap();
        let third = written(&store, &plan, 2, &three).await.unwrap();
        let error_text = |result: tetrys::Result<Table>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            error.to_string()
        };
        let missing = error_text(plan.commit(&store, Some(vec![first.clone()])).await);
        assert!(missing.contains("no receipt for partition 1 (`b.zarr`), partition 2 (`c.zarr`), of 3"), "{missing}");
        // Rows of one sequence in neighbouring partitions, and in others.
        let text = error_text(plan.commit(&store, Some(vec![first.clone(), again.clone(), third.clone()])).await);
        let both = "partition 1 (`b.zarr`): its first rows continue the last sequence of partition 0 (`a.zarr`)";
        assert!(text.contains("partition 1 (`b.zarr`)"), "{text}");
        let later = written(&store, &plan, 1, &joined(&[two.clone(), one.clone()])).await.unwrap();
        let text = error_text(plan.commit(&store, Some(vec![first.clone(), later, third.clone()])).await);
        assert!(text.contains("partition 1 (`b.zarr`): row 12: sequence log=`x-0` appears again"), "{text}");
        let continued = rows(&mut rng, "x", 1, 12).slice(6, 6);
        let continued = written(&store, &plan, 1, &continued).await.unwrap();
        let text = error_text(plan.commit(&store, Some(vec![first.clone(), continued, third.clone()])).await);
        assert!(text.contains(both), "{text}");
        // A receipt of another session, and two different ones of one partition.
        let (_, other) = planned("other", &["a.zarr"]).await;
        let other_store = Store::open("memory://sessions/other").unwrap();
        let foreign = Receipt { session: other.session(), ..first.clone() };
        let text = error_text(plan.commit(&store, Some(vec![foreign])).await);
        assert!(text.contains("receipt of partition 0 (`a.zarr`) is of session"), "{text}");
        let text = error_text(plan.commit(&store, Some(vec![first.clone(), again.clone(), Receipt { rows: 9, ..again }])).await);
        assert!(text.contains("two different receipts for partition 1 (`b.zarr`)"), "{text}");
        assert!(Table::open_in(store.clone()).await.is_err());
        drop(other_store);
        // Rows that do not fit the schema, and rows that are not sorted.
        let error = written(&store, &plan, 1, &one.project(&[0, 1, 3, 4]).unwrap()).await.unwrap_err();
        assert!(error.to_string().starts_with("partition 1 (`b.zarr`), rows from 0: no column `b.points`"), "{error}");
        let falling = take_record_batch(&two, &arrow_array::UInt64Array::from(vec![5, 0, 1, 2, 3, 4])).unwrap();
        let error = written(&store, &plan, 1, &falling).await.unwrap_err();
        assert!(error.to_string().contains("partition 1 (`b.zarr`): row 1: time=0 is less than in the row before"), "{error}");
        // The session is still open.
        let second = written(&store, &plan, 1, &two).await.unwrap();
        let table = plan.commit(&store, Some(vec![third, first, second])).await.unwrap();
        assert_reads(&table, &joined(&[one, two, three])).await;
        collected(&store).await;
    });
}

#[test]
fn the_note_of_a_partition_is_in_its_receipt_in_the_store() {
    block_on(async {
        let (store, plan) = planned("noted", &["a.zarr", "b.zarr"]).await;
        let worker = TableWriter::join(store.clone(), plan.ticket()).unwrap();
        for (number, note) in [(0, Some("7 frames without a lidar sweep")), (1, None)] {
            let mut partition = worker.partition_at(number).unwrap();
            note.into_iter().for_each(|note| partition.note(note));
            let receipt = partition.finish().await.unwrap();
            assert_eq!(receipt.note.as_deref(), note);
            // A process that goes on finds it.
            assert_eq!(plan.found(&store).await.unwrap()[number as usize], receipt);
        }
        let text = serde_json::to_string(&plan.found(&store).await.unwrap()).unwrap();
        assert_eq!(text.matches("note").count(), 1, "{text}");
        assert_eq!(plan.commit(&store, None).await.unwrap().rows(), 0);
    });
}

#[test]
fn a_process_that_joined_an_overwriting_session_fails_if_the_rows_were_changed() {
    block_on(async {
        let store = Store::open("memory://sessions/overwritten").unwrap();
        let mut rng = Rng(3);
        let old = rows(&mut rng, "old", 2, 4);
        let table = common::tables::write(store.clone(), schema(), options(), &[old]).await.unwrap();
        let plan = table.overwrite(schema(), options()).await.unwrap().plan(Some(1), Vec::new()).await.unwrap();
        let receipt = written(&store, &plan, 0, &rows(&mut rng, "new", 2, 4)).await.unwrap();
        let other = table.delete(vec![0], WriteOptions::default()).await.unwrap();
        let error = plan.commit(&store, Some(vec![receipt])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(Table::open_in(store.clone()).await.unwrap().version(), other.version());
        plan.abort(&store).await.unwrap();
        collected(&store).await;
    });
}

#[test]
fn workers_share_blocks_with_references_and_earlier_versions() {
    block_on(async {
        let (one, two) = (Store::open("memory://shared/one").unwrap(), Store::open("memory://shared/two").unwrap());
        let mut rng = Rng(11);
        let [first, second, third] = ["a", "b", "c"].map(|name| rows(&mut rng, name, 2, 40));
        let reference = common::tables::write(one.clone(), schema(), options(), &[first.clone(), second.clone()]).await.unwrap();
        let writer = Table::create_in(two.clone(), schema(), options()).await.unwrap().references([&reference]).await.unwrap();
        let plan = writer.plan(Some(2), Vec::new()).await.unwrap();
        let receipts = [written(&two, &plan, 0, &first).await.unwrap(), written(&two, &plan, 1, &third).await.unwrap()];
        assert_eq!((receipts[0].sharing.new_bytes, receipts[1].sharing.blocks), (0, 0));
        let table = plan.commit(&two, Some(receipts.to_vec())).await.unwrap();
        assert_reads(&table, &joined(&[first.clone(), third.clone()])).await;
        assert_eq!((table.manifest().stores.len(), one.list("pins").await.unwrap().len()), (1, 1));
        // The next version: the reference is an owner of the base, and a new reference comes after it.
        let more = Store::open("memory://shared/more").unwrap();
        let other = common::tables::write(more.clone(), schema(), options(), &[rows(&mut rng, "m", 1, 40)]).await.unwrap();
        let writer = table.append(options()).await.unwrap().references([&other]).await.unwrap();
        let plan = writer.plan(None, Vec::new()).await.unwrap();
        let again = take_record_batch(&second, &arrow_array::UInt64Array::from_iter_values(0..80)).unwrap();
        let receipt = written(&two, &plan, 4, &again).await.unwrap();
        // `second` is in the reference of the table, which this session does not name as a reference.
        assert!(
            receipt.sharing.blocks == 0 || receipt.parts.as_ref().unwrap().groups.iter().all(|group| group.owners.len() <= 1)
        );
        let table = plan.commit(&two, None).await.unwrap();
        assert_reads(&table, &joined(&[first, third, second])).await;
        for store in [&one, &two, &more] {
            collected(store).await;
        }
    });
}

#[test]
fn a_ticket_or_plan_that_was_changed_is_refused_without_a_panic() {
    block_on(async {
        let (_, plan) = planned("hostile", &["a"]).await;
        let text = plan.to_json();
        assert!(!text.contains("options") && WritePlan::from_json(&text).is_ok());
        for place in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[place] ^= 1;
            if let Ok(changed) = std::str::from_utf8(&bytes)
                && let Ok(parsed) = WritePlan::from_json(changed)
            {
                // Labels, and numbers that are as good as others, have no checksum.
                assert!(parsed != plan || changed.contains("write_memory"));
            }
            assert!(WritePlan::from_json(&text[..place]).is_err());
        }
        for wrong in [r#"{"tetrys_plan":2,"ticket":""}"#, "[]", "null", "{}"] {
            assert!(WritePlan::from_json(wrong).is_err());
        }
    });
}

#[test]
fn a_plan_says_by_what_its_tasks_sort_rows() {
    block_on(async {
        let (store, plan) = planned("sorted", &["a"]).await;
        assert_eq!(plan.sorted_by(), ["log", "time"]);
        let receipt = written(&store, &plan, 0, &rows(&mut Rng(3), "x", 1, 6)).await.unwrap();
        let table = plan.commit(&store, Some(vec![receipt])).await.unwrap();
        let appended = table.append(options()).await.unwrap().plan(Some(1), Vec::new()).await.unwrap();
        assert_eq!(appended.sorted_by(), ["log", "time"], "as the table says");
    });
    block_on(async {
        let schema = Schema::builder().index("log", "utf8").index("time", "i64").group("a", [("a", "i64")]);
        for (schema, sorted_by) in [
            (schema.clone().sequence_by(["log"]).order_by(["log", "time"]), vec!["log", "time"]),
            (schema.clone().order_by(["time"]), vec!["time"]),
            (schema, vec![]),
        ] {
            let store = Store::open(&format!("memory://sessions/sorted-{}", sorted_by.len())).unwrap();
            let writer = Table::create_in(store, schema.build().unwrap(), options()).await.unwrap();
            assert_eq!(writer.plan(None, Vec::new()).await.unwrap().sorted_by(), sorted_by);
        }
    });
}

#[test]
fn a_session_has_one_plan_and_planning_it_again_stores_no_other() {
    let folder = tempfile::tempdir().unwrap();
    for url in ["memory://sessions/again", folder.path().join("again").to_str().unwrap()] {
        block_on(async {
            let store = Store::open(url).unwrap();
            let writer = Table::create_in(store.clone(), schema(), options()).await.unwrap();
            let labels = |first: &str| vec![first.to_owned(), "b".to_owned()];
            let plan = writer.plan(Some(2), labels("a")).await.unwrap();
            assert_eq!(writer.plan(Some(2), labels("a")).await.unwrap(), plan, "the same plan");
            // Of equal length, shorter and longer.
            for (partitions, labels) in [(Some(2), labels("x")), (None, Vec::new()), (Some(2), labels("a longer label"))] {
                let error = writer.plan(partitions, labels).await.unwrap_err();
                let text = error.to_string();
                assert!(error.kind() == ErrorKind::Exists && text.contains("another plan already"), "{text}");
                assert!(text.contains(&plan.session().to_string()), "{text}");
                assert_eq!(WritePlan::open_in(&store).await.unwrap(), std::slice::from_ref(&plan));
            }
        });
    }
}

#[test]
fn the_session_to_resume_is_the_one_with_these_labels_and_the_most_finished_partitions() {
    let mut rng = Rng(common::seed());
    for case in 0..common::cases(20) {
        block_on(async {
            let store = Store::open(&format!("memory://sessions/resume{case}")).unwrap();
            // A plain model: the labels of each session, and its finished partitions.
            let mut model: Vec<(WritePlan, Vec<u32>)> = Vec::new();
            for _ in 0..rng.below(4) {
                let labels = [&["a", "b", "c"][..], &["a", "b"]][rng.below(2) as usize];
                let writer = Table::create_in(store.clone(), schema(), options()).await.unwrap();
                let count = u32::try_from(labels.len()).unwrap();
                let plan = writer.plan(Some(count), labels.iter().map(|label| (*label).to_owned()).collect()).await.unwrap();
                let done: Vec<u32> = (0..count).filter(|_| rng.below(2) == 0).collect();
                for number in &done {
                    let batch = rows(&mut rng, &format!("log {number}"), 1, 3);
                    written(&store, &plan, *number, &batch).await.unwrap();
                }
                model.push((plan, done));
            }
            for labels in [&["a", "b", "c"][..], &["a", "b"], &["b", "a"], &[]] {
                let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
                let found = WritePlan::to_resume(&store, &labels).await.unwrap();
                let fit = model.iter().filter(|(plan, _)| !labels.is_empty() && plan.labels() == labels);
                let most = fit.map(|(_, done)| done.len()).max();
                assert_eq!(found.is_some(), most.is_some());
                let Some(found) = found else { continue };
                let (_, done) = model.iter().find(|(plan, _)| *plan == found).unwrap();
                assert_eq!(Some(done.len()), most);
                let left: Vec<u32> = (0..found.partitions().unwrap()).filter(|number| !done.contains(number)).collect();
                assert_eq!(found.missing(&found.found(&store).await.unwrap()), left);
            }
        });
    }
}

#[test]
fn labels_and_partitions_of_a_plan_must_agree() {
    block_on(async {
        let store = Store::open("memory://sessions/labels").unwrap();
        let writer = Table::create_in(store.clone(), schema(), WriteOptions::default().cuts(Cuts::default())).await.unwrap();
        for (partitions, labels) in [(None, 2), (Some(1), 2), (Some(3), 2)] {
            let error = writer.plan(partitions, vec!["x".to_owned(); labels]).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
        assert!(store.list("").await.unwrap().is_empty());
        let plan = writer.plan(Some(0), Vec::new()).await.unwrap();
        assert_eq!(plan.commit(&store, None).await.unwrap().rows(), 0);
    });
}

#[test]
fn a_commit_of_more_partitions_than_are_read_together_has_all_rows_in_order() {
    let parts = if common::full() { 5_000 } else { 1_100 };
    let schema = Schema::builder().index("log", "i64").index("time", "i64").group("x", [("x", "i64")]).sequence_by(["log"]);
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("t").to_str().unwrap()).unwrap();
    block_on(async {
        let writer = Table::create_in(store, schema.build().unwrap(), options().segment_rows(1_500)).await.unwrap();
        let mut receipts = Vec::new();
        for number in 0..parts {
            let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
            // Every third partition goes on with the log of the one before.
            let log = number - i64::from(number % 3 == 2);
            let rows = [("log", column(vec![log; 2])), ("time", column(vec![2 * number, 2 * number + 1]))];
            let rows = rows.into_iter().chain([("x", column(vec![number, -number]))]);
            let mut partition = writer.partition().unwrap();
            partition.write(&RecordBatch::try_from_iter(rows).unwrap()).await.unwrap();
            receipts.push(partition.finish().await.unwrap());
        }
        receipts.reverse();
        let table = writer.commit(receipts).await.unwrap();
        assert_eq!((table.rows(), table.storage().segment_count()), (2 * parts as u64, (2 * parts as usize).div_ceil(1_500)));
        assert_eq!(table.sequence_count(), (0..parts).filter(|number| number % 3 != 2).count() as u64);
        let mut next = 0;
        for batch in table.index_batches().await.unwrap() {
            for time in batch.unwrap().column(1).as_primitive::<Int64Type>().values() {
                assert_eq!(*time, next);
                next += 1;
            }
        }
        assert_eq!(next, 2 * parts);
        let last = table.row_loader().get_row(table.rows() - 1).await.unwrap();
        assert_eq!(last.tensor::<i64>("x").unwrap().values(), [1 - parts]);
        assert!(table.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
}
