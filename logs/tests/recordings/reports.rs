//! The report that a table keeps of all of its logs, and imports that are given up.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use tetrys::{Store, StoreOptions, Table};
use tetrys_logs::{IngestSettings, Ingested, LogSource, OpenOptions, REPORT, Recipe, ingest};

use crate::{
    rows::{STAMPED, stamped, topic},
    writing::{Message, Parts, write},
};

const RECIPE: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n";

fn recording(messages: u64) -> Vec<u8> {
    let messages: Vec<Message> = (0..messages).map(|at| stamped(0, 100 + at, 0, 0)).collect();
    write(&[topic("/a", "here/Value", STAMPED)], &messages, &Parts::default())
}

async fn imported(folder: &Path, names: &[&str]) -> Ingested {
    let path = |name: &&str| folder.join(format!("{name}.mcap")).display().to_string();
    let logs: Vec<LogSource> = names.iter().map(|name| LogSource::of(&path(name)).unwrap()).collect();
    let store = Store::open(folder.join("table").to_str().unwrap()).unwrap();
    ingest(&logs, store, &IngestSettings::new(Recipe::parse(RECIPE).unwrap()), |_| {}).await.unwrap()
}

/// The logs of the report in the attachment with their rows, and those that failed.
async fn reported(table: &Table) -> (Vec<(String, u64)>, Vec<String>) {
    let report: Value = serde_json::from_slice(&table.attachment(REPORT).await.unwrap()).unwrap();
    let log = |log: &Value| (log["log"].as_str().unwrap().to_owned(), log["rows"].as_u64().unwrap());
    let failed = report["failed"].as_object().unwrap().keys().cloned().collect();
    (report["logs"].as_array().unwrap().iter().map(log).collect(), failed)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_has_the_logs_of_all_imports() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, rows) in [("monday", 3), ("tuesday", 4), ("silent", 0)] {
        std::fs::write(folder.join(format!("{name}.mcap")), recording(rows)).unwrap();
    }
    std::fs::write(folder.join("broken.mcap"), "no recording").unwrap();
    let rows = |all: &[(&str, u64)]| all.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect::<Vec<_>>();
    let made = imported(folder, &["monday", "silent", "broken"]).await;
    assert_eq!(reported(&made.table).await, (rows(&[("monday", 3), ("silent", 0)]), vec!["broken".to_owned()]));
    // The next import has the earlier logs, and what failed and still does not work.
    let made = imported(folder, &["monday", "tuesday"]).await;
    assert_eq!((made.report.logs.len(), made.present.len()), (1, 1));
    let all = rows(&[("monday", 3), ("silent", 0), ("tuesday", 4)]);
    assert_eq!(reported(&made.table).await, (all, vec!["broken".to_owned()]));
    std::fs::write(folder.join("broken.mcap"), recording(5)).unwrap();
    let made = imported(folder, &["monday", "tuesday", "broken"]).await;
    let all = rows(&[("monday", 3), ("silent", 0), ("tuesday", 4), ("broken", 5)]);
    assert_eq!(reported(&made.table).await, (all, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_rows_is_imported_once() {
    let folder = tempfile::tempdir().unwrap();
    for (name, rows) in [("monday", 3), ("silent", 0)] {
        std::fs::write(folder.path().join(format!("{name}.mcap")), recording(rows)).unwrap();
    }
    let made = imported(folder.path(), &["monday", "silent"]).await;
    assert_eq!((made.table.version(), made.present.len()), (1, 0));
    let again = imported(folder.path(), &["monday", "silent"]).await;
    assert_eq!((again.table.version(), again.present), (1, vec!["monday".to_owned(), "silent".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_is_dropped_reads_and_writes_no_more() {
    let server = tetrys_s3_server::Server::start();
    server.create_bucket("data");
    let mut logs = Vec::new();
    for number in 0..8 {
        server.put("data", &format!("logs/{number}.mcap"), recording(5_000));
        logs.push(LogSource::of(&format!("s3://data/logs/{number}.mcap")).unwrap());
    }
    let options = StoreOptions::only(server.options());
    let settings = IngestSettings {
        open: OpenOptions { store: options.clone(), ..OpenOptions::default() },
        workers: 2,
        ..IngestSettings::new(Recipe::parse(RECIPE).unwrap())
    };
    let rows = Arc::new(AtomicU64::new(0));
    let (counted, store) = (Arc::clone(&rows), Store::open_with("s3://data/table", &options).unwrap());
    let import = ingest(&logs, store, &settings, move |rows| counted.store(rows, Ordering::Relaxed));
    let begun = async {
        while rows.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        made = import => panic!("the import was done before it was dropped: {made:?}"),
        () = begun => {}
    }
    // What is under way ends soon.
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.take_requests();
    let seen = rows.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!((server.take_requests().len(), rows.load(Ordering::Relaxed)), (0, seen));
    // Nothing is half written: there is no table, and the next import makes all of it.
    let table = Table::open_with("s3://data/table", &options).await;
    assert_eq!(table.unwrap_err().kind(), tetrys::ErrorKind::NotFound);
    let store = Store::open_with("s3://data/table", &options).unwrap();
    let made = ingest(&logs, store, &settings, |_| {}).await.unwrap();
    assert_eq!(made.table.rows(), 8 * 5_000);
}
