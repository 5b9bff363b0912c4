//! Concurrent commits: many writers claim the same versions while responses are lost. Exactly one writer wins each version, and
//! knows it. Each run tests a part; `TETRYS_FULL=1` runs everything (64 writers, 8 processes of 200 rounds, at least 500 lost
//! responses).

use crate::common;
use std::{
    collections::BTreeMap,
    env,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::common::{
    s3,
    tables::{self, Rng, block_on, cut_by, memory, over, tiny_cuts, two_partitions},
};
use tetrys::{
    Error, ErrorKind, Result, Store, StoreOptions, Table,
    commit::{hash_of, load, newest_version, publish},
    format::{Manifest, Parent},
};
use tetrys_s3_server::{Fault, Server};
use uuid::Uuid;

/// Writes a table with one version and returns its manifest.
async fn first_version(store: &Store) -> Manifest {
    let (schema, partitions) = two_partitions(1);
    tables::write(store.clone(), schema, cut_by(tiny_cuts()), &partitions).await.unwrap().manifest().clone()
}

/// Returns the manifest of another version of the same rows, by another commit. The version before it exists.
async fn next(store: &Store, first: &Manifest, version: u64) -> Manifest {
    let parent = match version - 1 {
        0 => None,
        before => Some(Parent { version: before, blake3: hash_of(store, before).await.unwrap() }),
    };
    Manifest { version, parent, commit_id: Uuid::new_v4(), ..first.clone() }
}

/// The outcomes that writers were told.
#[derive(Debug, Default)]
struct Heard {
    won: u64,
    lost: u64,
    unknown: u64,
}

/// Claims `version`, and counts the outcome that the writer was told.
async fn claim(store: &Store, first: &Manifest, version: u64, heard: &Mutex<Heard>) -> Result<()> {
    let mine = next(store, first, version).await;
    let result = publish(store, &mine).await;
    let mut heard = heard.lock().unwrap();
    match result {
        Ok(_) => heard.won += 1,
        Err(error) if error.kind() == ErrorKind::Conflict => heard.lost += 1,
        Err(error) if error.kind() == ErrorKind::OutcomeUnknown => {
            assert!(error.to_string().contains(&mine.commit_id.to_string()), "{error}");
            heard.unknown += 1;
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

/// `writers` tasks, each with its own store, concurrently claim versions 2 to `rounds + 1` of one table.
fn race(open: impl Fn() -> Store, checks: &Store, writers: usize, rounds: u64) -> Heard {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let heard = Arc::new(Mutex::new(Heard::default()));
    runtime.block_on(async {
        let first = Arc::new(first_version(checks).await);
        let stores: Vec<Store> = (0..writers).map(|_| open()).collect();
        for version in 2..=rounds + 1 {
            let before = heard.lock().unwrap().won;
            let claims = stores.iter().map(|store| {
                let (store, first, heard) = (store.clone(), Arc::clone(&first), Arc::clone(&heard));
                tokio::spawn(async move { claim(&store, &first, version, &heard).await })
            });
            for claim in futures::future::join_all(claims).await {
                claim.unwrap().unwrap();
            }
            let heard = heard.lock().unwrap();
            assert!(heard.won - before <= 1, "version {version}: {} writers were told that they won", heard.won - before);
            assert!(heard.won - before == 1 || heard.unknown > 0, "version {version}: nobody won");
        }
        assert_eq!(newest_version(checks).await.unwrap(), Some(rounds + 1));
    });
    Arc::into_inner(heard).unwrap().into_inner().unwrap()
}

fn sizes() -> (usize, u64) {
    if common::full() { (64, 60) } else { (16, 6) }
}

#[test]
fn of_many_writers_in_memory_one_wins_each_version() {
    let (writers, rounds) = sizes();
    let (objects, store) = memory();
    let heard = race(|| over(objects.clone()), &store, writers, rounds);
    assert_eq!((heard.won, heard.lost, heard.unknown), (rounds, rounds * (writers as u64 - 1), 0));
}

#[test]
fn of_many_writers_in_a_directory_one_wins_each_version() {
    let (writers, rounds) = sizes();
    let folder = tempfile::tempdir().unwrap();
    let open = || Store::open(folder.path().to_str().unwrap()).unwrap();
    let heard = race(open, &open(), writers, rounds);
    assert_eq!((heard.won, heard.lost, heard.unknown), (rounds, rounds * (writers as u64 - 1), 0));
}

#[test]
fn of_many_writers_on_s3_one_wins_each_version() {
    let (writers, rounds) = sizes();
    let server = s3::server();
    let heard = race(|| s3::store(&server, "t"), &s3::store(&server, "t"), writers, rounds);
    assert_eq!((heard.won, heard.lost, heard.unknown), (rounds, rounds * (writers as u64 - 1), 0));
}

/// Makes the server execute a third of the puts of manifests and lose the response, in several ways. Returns the counter of lost
/// responses.
fn lose_answers(server: &Server) -> Arc<AtomicU64> {
    let lost = Arc::new(AtomicU64::new(0));
    let (counted, rng) = (Arc::clone(&lost), Mutex::new(Rng(common::seed())));
    server.on_request(move |request| {
        let claim = request.method == "PUT" && request.key.contains("/manifests/");
        if !claim || !rng.lock().unwrap().once_in(3) {
            return None;
        }
        counted.fetch_add(1, Ordering::Relaxed);
        Some(match rng.lock().unwrap().below(6) {
            0 => Fault::DoneBut(500, "InternalError"),
            1 => Fault::DoneBut(503, "SlowDown"),
            2 => Fault::DoneBut(409, "ConditionalRequestConflict"),
            _ => Fault::Lose,
        })
    });
    lost
}

#[test]
fn lost_answers_make_no_false_conflict_and_no_false_success() {
    let server = s3::server();
    let checks = s3::store(&server, "t");
    let lost = lose_answers(&server);
    // With a single writer, no lost response may become a conflict.
    let rounds = if common::full() { 900 } else { 30 };
    block_on(async {
        let first = first_version(&checks).await;
        for version in 2..=rounds {
            let mine = next(&checks, &first, version).await;
            publish(&checks, &mine).await.unwrap_or_else(|error| panic!("version {version}: {error}"));
            assert_eq!(load(&checks, version).await.unwrap().0.commit_id, mine.commit_id);
        }
    });
    // With several writers, each version has one winner, whose commit is the one in the table.
    let (writers, rounds) = if common::full() { (16, 40) } else { (6, 4) };
    let heard = race(|| s3::store(&server, "race"), &s3::store(&server, "race"), writers, rounds);
    assert_eq!((heard.won, heard.unknown), (rounds, 0), "{heard:?}");
    let lost = lost.load(Ordering::Relaxed);
    println!("{lost} answers lost");
    assert!(lost >= if common::full() { 500 } else { 10 }, "{lost} answers lost");
}

#[test]
fn refusals_of_every_kind_are_told_apart() {
    let server = s3::server();
    let store = Store::open_with("s3://data/t", &s3::options_and(&server, &[("max_retries", "2")])).unwrap();
    block_on(async {
        let first = first_version(&store).await;
        let of = |fault: Fault| {
            server.on_request(move |request| {
                (request.method == "PUT" && request.key.contains("/manifests/")).then(|| fault.clone())
            });
        };
        for (fault, kind) in [
            // After these a request may still arrive, and the empty change that would rule it out is refused too.
            (Fault::Refuse(500, "InternalError"), ErrorKind::OutcomeUnknown),
            (Fault::Refuse(503, "SlowDown"), ErrorKind::OutcomeUnknown),
            (Fault::Refuse(403, "AccessDenied"), ErrorKind::Denied),
            (Fault::Refuse(400, "ExpiredToken"), ErrorKind::Denied),
            (Fault::Refuse(501, "NotImplemented"), ErrorKind::Unsupported),
            (Fault::Drop, ErrorKind::OutcomeUnknown),
            // The server says that the name is taken, but there is no object. The writer cannot know what happened.
            (Fault::Refuse(412, "PreconditionFailed"), ErrorKind::OutcomeUnknown),
        ] {
            let mine = next(&store, &first, 2).await;
            of(fault.clone());
            let error = publish(&store, &mine).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{fault:?}: {error}");
            server.behave();
            assert_eq!(newest_version(&store).await.unwrap(), Some(1), "{fault:?}");
        }
        let mine = next(&store, &first, 2).await;
        of(Fault::DoneBut(412, "PreconditionFailed"));
        publish(&store, &mine).await.expect("the name holds our own commit");
        server.behave();
    });
}

#[test]
fn a_read_that_lags_behind_the_claim_is_an_unknown_outcome_and_never_a_failure() {
    let server = s3::server();
    let store = s3::store(&server, "t");
    block_on(async {
        let first = first_version(&store).await;
        let mine = next(&store, &first, 2).await;
        let answered = AtomicU64::new(0);
        server.on_request(move |request| {
            let manifest = request.key.contains("/manifests/");
            match request.method.as_str() {
                "PUT" if manifest => (answered.fetch_add(1, Ordering::Relaxed) == 0).then_some(Fault::Lose),
                "GET" if manifest => Some(Fault::Hide),
                _ => None,
            }
        });
        let error = publish(&store, &mine).await.unwrap_err();
        server.behave();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        assert!(error.to_string().contains(&mine.commit_id.to_string()), "{error}");
        assert_eq!(load(&store, 2).await.unwrap().0.commit_id, mine.commit_id);
    });
}

#[test]
fn a_store_that_ignores_conditions_is_found_out_and_refused() {
    let server = s3::server();
    server.ignore_conditions();
    let (schema, partitions) = two_partitions(1);
    block_on(async {
        let error = Table::create_in(s3::store(&server, "t"), schema.clone(), cut_by(tiny_cuts())).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("single_writer=true"), "{error}");
        assert_eq!(server.names("data"), Vec::<String>::new(), "the probe is taken away again");
        // A writer that promises to be alone may write. The client then checks that it never overwrites.
        let alone = Store::open_with("s3://data/t", &s3::options_and(&server, &[("single_writer", "true")])).unwrap();
        let table = tables::write(alone.clone(), schema, cut_by(tiny_cuts()), &partitions).await.unwrap();
        let again = publish(&alone, &next(&alone, table.manifest(), 1).await).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
    });
}

const CHILD_STORE: &str = "TETRYS_RACE_STORE";
const CHILD_OPTIONS: &str = "TETRYS_RACE_OPTIONS";
const CHILD_ROUNDS: &str = "TETRYS_RACE_ROUNDS";

/// Not a test of its own: one of the racing processes. It prints a line for each version that it was told it won.
#[test]
fn a_process_that_races() {
    let Ok(url) = env::var(CHILD_STORE) else { return };
    let rounds: u64 = env::var(CHILD_ROUNDS).unwrap().parse().unwrap();
    let options = env::var(CHILD_OPTIONS).unwrap();
    let pairs = options.lines().map(|line| StoreOptions::parse_pair(line).unwrap());
    let store = Store::open_with(&url, &StoreOptions::only(pairs)).unwrap();
    block_on(async {
        let first = Table::open_version_in(store.clone(), 1).await.unwrap().manifest().clone();
        let mut version = 2;
        while version <= rounds + 1 {
            let mine = next(&store, &first, version).await;
            match publish(&store, &mine).await {
                Ok(_) => {
                    println!("won {version} {}", mine.commit_id);
                    version += 1;
                }
                // The process reloads and continues after the newest version, as a writer would.
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    version = newest_version(&store).await.unwrap().unwrap() + 1;
                }
                Err(error) => panic!("version {version}: {error}"),
            }
        }
    });
}

/// Runs `processes` of them on one table, and asserts that each version has exactly one winner, whose commit is the one in the
/// table.
fn processes_race(url: &str, options: &[(String, String)]) {
    let (processes, rounds) = if common::full() { (8, 200) } else { (3, 12) };
    let store = Store::open_with(url, &StoreOptions::only(options.to_vec())).unwrap();
    block_on(first_version(&store));
    let options: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let children: Vec<_> = (0..processes)
        .map(|_| {
            let mut child = Command::new(env::current_exe().unwrap());
            child
                .args(["--exact", "s3_commits::a_process_that_races", "--nocapture"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            child.env(CHILD_STORE, url).env(CHILD_OPTIONS, options.join("\n")).env(CHILD_ROUNDS, rounds.to_string());
            child.spawn().unwrap()
        })
        .collect();
    let mut won: BTreeMap<u64, String> = BTreeMap::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for line in
            String::from_utf8(output.stdout).unwrap().lines().filter_map(|line| line.split_once("won ").map(|(_, won)| won))
        {
            let (version, commit) = line.split_once(' ').unwrap();
            let before = won.insert(version.parse().unwrap(), commit.to_owned());
            assert_eq!(before, None, "two processes were told that they won version {version}");
        }
    }
    assert_eq!(won.keys().copied().collect::<Vec<_>>(), (2..=rounds + 1).collect::<Vec<_>>(), "each version has a winner");
    block_on(async {
        for (version, commit) in won {
            let (manifest, _) = load(&store, version).await.unwrap();
            assert_eq!(manifest.commit_id.to_string(), commit, "version {version}");
        }
    });
}

#[test]
fn of_several_processes_in_a_directory_one_wins_each_version() {
    let folder = tempfile::tempdir().unwrap();
    processes_race(folder.path().to_str().unwrap(), &[]);
}

#[test]
fn of_several_processes_on_s3_one_wins_each_version_though_answers_are_lost() {
    let server = s3::server();
    let lost = lose_answers(&server);
    processes_race("s3://data/t", &server.options());
    println!("{} answers lost", lost.load(Ordering::Relaxed));
}

#[test]
fn a_commit_over_a_network_that_fails_now_and_then_is_whole_or_absent() {
    let server = s3::server();
    let rng = Arc::new(Mutex::new(Rng(common::seed())));
    let options = s3::options_and(&server, &[("read_timeout", "2s")]);
    let (schema, partitions) = two_partitions(1);
    let rounds = common::cases(12);
    let (mut done, mut failed) = (0, Vec::<Error>::new());
    for round in 0..rounds {
        let rng = Arc::clone(&rng);
        server.on_request(move |_| {
            let mut rng = rng.lock().unwrap();
            if !rng.once_in(6) {
                return None;
            }
            Some(match rng.below(6) {
                0 => Fault::Drop,
                1 => Fault::Lose,
                2 => Fault::Refuse(503, "SlowDown"),
                3 => Fault::DoneBut(500, "InternalError"),
                4 => Fault::Wait(Duration::from_millis(30)),
                _ => Fault::Cut(rng.below(200) as usize),
            })
        });
        let store = Store::open_with(&format!("s3://data/{round}"), &options).unwrap();
        let result = block_on(tables::write(store.clone(), schema.clone(), cut_by(tiny_cuts()), &partitions));
        server.behave();
        let there = block_on(newest_version(&store)).unwrap().is_some();
        match result {
            Ok(table) => {
                assert!(there && block_on(table.storage().verify(|_, _| {})).unwrap().damage.is_empty());
                done += 1;
            }
            Err(error) => {
                assert!(!there || error.kind() == ErrorKind::OutcomeUnknown, "{error}");
                failed.push(error);
            }
        }
    }
    println!("{done} of {rounds} commits done; {failed:?}");
    assert!(done * 10 >= rounds * 9, "retries carry a writer through: {done} of {rounds}; {failed:?}");
}
