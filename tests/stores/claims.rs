//! Claims that arrive late, twice or after others: a commit that succeeded is in the table once, one that "was not committed" never is,
//! and one with an unknown outcome can be resolved. No clock decides.

use crate::common;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::common::{
    hooked::{Act, Hooked, Late, no_answer},
    s3,
    tables::{Rng, block_on, memory, over},
};
use arrow_array::{Int64Array, RecordBatch};
use object_store::{memory::InMemory, path::Path};
use tetrys::{
    ErrorKind, Result, Schema, Store, Table, TableWriter, WriteOptions,
    format::manifest_name,
    table::{Fate, GcSettings, Storage, Versions, now_ms},
};
use tetrys_s3_server::Fault;
use uuid::Uuid;

fn schema() -> Schema {
    Schema::builder().index("id", "i64").group("x", [("x", "i64")]).build().unwrap()
}

fn rows(from: i64, count: i64) -> RecordBatch {
    let column = || Arc::new(Int64Array::from_iter_values(from..from + count)) as _;
    RecordBatch::try_from_iter([("id", column()), ("x", column())]).unwrap()
}

async fn create(store: Store, count: i64) -> Result<Table> {
    let writer = Table::create_in(store, schema(), WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&rows(0, count)).await?;
    writer.commit([partition.finish().await?]).await
}

async fn append(table: &Table, count: i64) -> Result<Table> {
    let writer = table.append(WriteOptions::default()).await?;
    let mut partition = writer.partition()?;
    partition.write(&rows(1000, count)).await?;
    writer.commit([partition.finish().await?]).await
}

/// Returns version and commit of a message that says `tetrys resolve URL --version N --commit ID`.
fn named(message: &str) -> (u64, Uuid) {
    let after = |option: &str| {
        let (_, rest) = message.split_once(option).unwrap_or_else(|| panic!("{option}: {message}"));
        rest.split([' ', '`']).next().unwrap()
    };
    (after("--version ").parse().unwrap(), after("--commit ").parse().unwrap())
}

/// Runs `work` to its end on a thread of its own: hooks are called inside another runtime.
fn aside<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| block_on(work)).join().unwrap())
}

/// What happens to the put of a manifest.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Answered,
    Unanswered,
    Lost,
    Late,
}

const SENT: [Sent; 4] = [Sent::Answered, Sent::Unanswered, Sent::Lost, Sent::Late];

/// One row is appended to three, while the puts of manifests are treated as `sent` says, and what is under way arrives before
/// operation `arrival` on manifests; what is left arrives in the end. Another writer appends ten rows before operation `other`.
fn appended(sent: [Sent; 4], arrival: u64, other: Option<u64>) {
    let case = format!("{sent:?}, arrival {arrival}, other {other:?}");
    let (raw, store) = memory();
    block_on(create(store.clone(), 3)).unwrap();
    let (late, operations, puts) = (Late::default(), AtomicU64::new(0), AtomicU64::new(0));
    let (beside, others, delivered) = (raw.clone(), store.clone(), late.clone());
    let hooked = Hooked::new(raw.clone(), move |_, verb, place| {
        if !place.contains("manifests") {
            return Act::Pass;
        }
        let operation = operations.fetch_add(1, Ordering::Relaxed);
        if operation == arrival {
            delivered.deliver(&*beside);
        }
        if Some(operation) == other {
            aside(async { append(&Table::open_in(others.clone()).await.unwrap(), 10).await.unwrap() });
        }
        if verb != "put" {
            return Act::Pass;
        }
        match sent.get(puts.fetch_add(1, Ordering::Relaxed) as usize).copied().unwrap_or(Sent::Answered) {
            Sent::Answered => Act::Pass,
            Sent::Unanswered => Act::After(no_answer()),
            Sent::Lost => Act::Before(no_answer()),
            Sent::Late => Act::Later(no_answer()),
        }
    })
    .with_late(late.clone());
    let result = block_on(async { append(&Table::open_in(over(Arc::new(hooked))).await?, 1).await });
    let resolved = |error: &tetrys::Error| {
        let (version, commit) = named(&error.to_string());
        (version, commit, block_on(Versions::of(&store).fate_of(version, commit)).unwrap())
    };
    let before = result.as_ref().err().filter(|error| error.kind() == ErrorKind::OutcomeUnknown).map(resolved);
    late.deliver(&*raw);
    let found = block_on(Table::open_in(store.clone())).unwrap();
    assert!(block_on(found.storage().verify(|_, _| {})).unwrap().damage.is_empty(), "{case}");
    let ours = found.rows() % 10 - 3;
    match &result {
        Ok(table) => assert!(ours == 1 && table.rows() % 10 == 4, "{case}: {ours} times in the table"),
        Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
            let (version, commit, fate) = before.unwrap();
            let (.., after) = resolved(error);
            assert!(fate == Fate::Open || fate == after, "{case}: {fate}, then {after}");
            assert_eq!(u64::from(after == Fate::Committed), ours, "{case}: {after}");
            // Once it is ruled out, nothing changes any more.
            let settled = block_on(Versions::of(&store).rule_out(version, commit)).unwrap();
            assert!(settled != Fate::Open && (after == Fate::Open || settled == after), "{case}: {settled}");
        }
        Err(error) => assert_eq!(ours, 0, "{case}: {error}"),
    }
}

#[test]
fn a_commit_is_in_the_table_once_or_never_however_late_its_requests_arrive() {
    // What goes wrong twice, at every moment.
    for (first, second) in
        [(Sent::Late, Sent::Late), (Sent::Late, Sent::Lost), (Sent::Late, Sent::Answered), (Sent::Lost, Sent::Late)]
    {
        for arrival in 0..14 {
            appended([first, second, Sent::Lost, Sent::Answered], arrival, None);
        }
    }
    // And any other history.
    let mut rng = Rng(common::seed());
    for _ in 0..common::cases(150) {
        let sent = [(); 4].map(|()| *rng.pick(&SENT));
        let other = rng.once_in(2).then(|| rng.below(16));
        appended(sent, rng.below(16), other);
    }
}

#[test]
fn an_append_whose_first_put_lands_after_the_second_is_not_applied_twice() {
    // The put times out, the name is absent, the put is sent again without an answer; then the first one lands.
    appended([Sent::Late, Sent::Lost, Sent::Answered, Sent::Answered], 5, None);
    // Three puts time out, and the empty change takes the number before they land.
    appended([Sent::Late, Sent::Late, Sent::Late, Sent::Answered], 99, None);
}

/// Returns a store in which a writer sleeps before it puts this version: meanwhile others do `work`, and the version is deleted as a
/// garbage collection does.
fn sleepy(version: u64, work: impl Fn(&Store) + Send + Sync + 'static) -> (Store, Store) {
    let (raw, store) = memory();
    let (slept, others) = (Mutex::new(false), store.clone());
    let hooked = Hooked::new(raw, move |_, verb, place| {
        let mut slept = slept.lock().unwrap();
        if verb == "put" && place.ends_with(&manifest_name(version)) && !std::mem::replace(&mut slept, true) {
            work(&others);
            aside(async { others.delete(&manifest_name(version)).await.unwrap() });
        }
        Act::Pass
    });
    (over(Arc::new(hooked)), store)
}

#[test]
fn a_writer_that_slept_does_not_take_a_number_that_was_given_up() {
    let others = |store: &Store| {
        aside(async {
            let second = append(&Table::open_in(store.clone()).await.unwrap(), 10).await.unwrap();
            append(&second, 10).await.unwrap();
        });
    };
    for joins in [false, true] {
        let (sleeping, store) = sleepy(2, others);
        block_on(create(store.clone(), 3)).unwrap();
        let ours = block_on(async {
            let writer = Table::open_in(sleeping.clone()).await?.append(WriteOptions::default()).await?;
            let writer = if joins { TableWriter::join(sleeping, &writer.ticket()?)? } else { writer };
            let mut partition = writer.partition_at(0)?;
            partition.write(&rows(1000, 1)).await?;
            writer.commit([partition.finish().await?]).await
        });
        let newest = block_on(Table::open_in(store)).unwrap();
        let found = (ours.unwrap().version(), newest.version(), newest.rows());
        assert_eq!(found, (4, 4, 24), "joins: {joins}: it is committed on top of the others");
    }
}

#[test]
fn a_create_that_slept_does_not_take_the_place_of_a_table() {
    let (sleeping, store) = sleepy(1, |store| {
        aside(async { append(&create(store.clone(), 3).await.unwrap(), 10).await.unwrap() });
    });
    let error = block_on(create(sleeping, 5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(block_on(Table::open_in(store)).unwrap().rows(), 13);
}

#[test]
fn a_refusal_of_a_second_request_says_nothing_about_the_first() {
    let server = s3::server();
    let store = s3::store(&server, "t");
    let table = block_on(create(store.clone(), 3)).unwrap();
    let puts = AtomicU64::new(0);
    server.on_request(move |request| {
        let is_claim = request.method == "PUT" && request.key.contains("/manifests/");
        is_claim.then(|| match puts.fetch_add(1, Ordering::Relaxed) {
            0 => Fault::DoneBut(500, "InternalError"),
            _ => Fault::Refuse(403, "AccessDenied"),
        })
    });
    let committed = block_on(append(&table, 1));
    server.behave();
    assert_eq!(committed.unwrap().version(), 2, "the first request was carried out");
    assert_eq!(block_on(Table::open_in(store)).unwrap().rows(), 4);
}

/// A table that uses chunks of another one gets an empty version, which is then tagged: the chunks stay as long as the tag.
#[test]
fn an_empty_version_keeps_what_the_version_that_it_repeats_uses() {
    block_on(async {
        let (owner, labels) = (Store::open("memory://empty/owner").unwrap(), Store::open("memory://empty/labels").unwrap());
        let first = create(owner.clone(), 500).await.unwrap();
        let writer = Table::create_in(labels.clone(), schema(), WriteOptions::default()).await.unwrap();
        let writer = writer.references([&first]).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows(0, 500)).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert_eq!(table.manifest().stores.len(), 1, "it uses chunks of the owner");
        assert_eq!(Versions::of(&labels).rule_out(2, Uuid::new_v4()).await.unwrap(), Fate::NotCommitted);
        let table = Table::open_in(labels.clone()).await.unwrap().edit().tag("kept", 2).commit().await.unwrap();
        table.overwrite(schema(), WriteOptions::default()).await.unwrap().commit([]).await.unwrap();
        let settings = GcSettings { keep_versions: 1, age: Duration::from_secs(3600) };
        let writer = first.overwrite(schema(), WriteOptions::default()).await.unwrap();
        writer.commit([]).await.unwrap();
        for hours in [2, 4, 6, 8, 10] {
            for store in [&labels, &owner] {
                Storage::of(store).collect_garbage(settings, now_ms() + hours * 3_600_000).await.unwrap();
            }
        }
        let kept = Table::open_version_in(labels.clone(), 2).await.unwrap();
        assert!(kept.storage().verify(|_, _| {}).await.unwrap().damage.is_empty());
    });
}

/// The folder is deleted, and another table is made there.
fn replaced(store: &Store, appends: i64) {
    block_on(async {
        for (name, _) in store.list("").await.unwrap() {
            store.delete(&name).await.unwrap();
        }
        let mut table = create(store.clone(), 3).await.unwrap();
        for _ in 0..appends {
            table = append(&table, 10).await.unwrap();
        }
    });
}

#[test]
fn a_change_of_a_table_that_was_replaced_is_refused() {
    for appends in [0, 1, 2] {
        let (_, store) = memory();
        let old = block_on(async { append(&create(store.clone(), 3).await.unwrap(), 10).await.unwrap() });
        let writer = block_on(old.append(WriteOptions::default())).unwrap();
        replaced(&store, appends);
        let error = block_on(async {
            let mut partition = writer.partition().unwrap();
            partition.write(&rows(5000, 1)).await.unwrap();
            writer.commit([partition.finish().await.unwrap()]).await.unwrap_err()
        });
        assert_eq!(error.kind(), ErrorKind::Conflict, "{appends}: {error}");
        let table = block_on(Table::open_in(store)).unwrap();
        assert_eq!((table.version(), table.rows()), (1 + appends as u64, 3 + 10 * appends as u64));
    }
}

#[test]
fn an_owner_that_gives_no_answer_is_not_one_that_takes_no_pin() {
    let is_silent = Arc::new(AtomicBool::new(false));
    let silent = Arc::clone(&is_silent);
    let hooked = Hooked::new(Arc::new(InMemory::new()), move |_, verb, place| {
        match verb == "get" && place.starts_with("t/") && silent.load(Ordering::Relaxed) {
            true => Act::Before(no_answer()),
            false => Act::Pass,
        }
    });
    let store = |table: &str| Store::new(Arc::new(hooked.clone()), Path::from(table), format!("hooked://bucket/{table}"));
    block_on(async {
        let owner = create(store("t"), 3).await.unwrap();
        let writer = Table::create_in(store("u"), schema(), WriteOptions::default()).await.unwrap();
        let writer = writer.references([&owner]).await.unwrap();
        let mut partition = writer.partition().unwrap();
        partition.write(&rows(0, 3)).await.unwrap();
        let table = writer.commit([partition.finish().await.unwrap()]).await.unwrap();
        assert_eq!(table.manifest().stores.len(), 1);
        is_silent.store(true, Ordering::Relaxed);
        let error = append(&Table::open_in(store("u")).await.unwrap(), 1).await.unwrap_err();
        assert!(error.kind() == ErrorKind::Unavailable && error.to_string().contains("; retry, or accept"), "{error}");
        is_silent.store(false, Ordering::Relaxed);
        assert_eq!(append(&Table::open_in(store("u")).await.unwrap(), 1).await.unwrap().rows(), 4);
    });
}

#[test]
fn what_became_of_a_commit_can_be_asked_at_any_time() {
    let (_, store) = memory();
    let nobody = Uuid::new_v4();
    block_on(async {
        assert_eq!(Versions::of(&store).fate_of(4, nobody).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(Versions::of(&store).fate_of(1, nobody).await.unwrap(), Fate::Open);
        let mut tables = vec![create(store.clone(), 3).await.unwrap()];
        for _ in 0..3 {
            tables.push(append(tables.last().unwrap(), 10).await.unwrap());
        }
        for table in &tables {
            let (version, commit) = (table.version(), table.manifest().commit_id);
            assert_eq!(Versions::of(&store).fate_of(version, commit).await.unwrap(), Fate::Committed, "version {version}");
            assert_eq!(Versions::of(&store).fate_of(version, nobody).await.unwrap(), Fate::NotCommitted, "version {version}");
            assert_eq!(Versions::of(&store).rule_out(version, nobody).await.unwrap(), Fate::NotCommitted, "version {version}");
        }
        assert_eq!(Versions::of(&store).fate_of(5, nobody).await.unwrap(), Fate::Open);
        assert_eq!(Versions::of(&store).fate_of(0, nobody).await.unwrap(), Fate::NotCommitted);
        assert_eq!(Versions::of(&store).fate_of(u64::MAX, nobody).await.unwrap(), Fate::Open);
        assert_eq!(Versions::of(&store).rule_out(u64::MAX, nobody).await.unwrap_err().kind(), ErrorKind::Invalid);
        let error = Versions::of(&store).rule_out(6, nobody).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert_eq!(Versions::of(&store).rule_out(5, nobody).await.unwrap(), Fate::NotCommitted);
        let newest = Table::open_in(store.clone()).await.unwrap();
        assert_eq!((newest.version(), newest.rows()), (5, tables[3].rows()), "a version without a change");
        // Version 2 is given up: version 3 still tells whose it was not, and nobody can tell whether it was this commit.
        store.delete(&manifest_name(2)).await.unwrap();
        assert_eq!(Versions::of(&store).fate_of(2, tables[1].manifest().commit_id).await.unwrap(), Fate::CannotTell);
        assert_eq!(Versions::of(&store).fate_of(1, tables[0].manifest().commit_id).await.unwrap(), Fate::CannotTell);
        assert_eq!(Versions::of(&store).fate_of(3, tables[2].manifest().commit_id).await.unwrap(), Fate::Committed);
    });
}
