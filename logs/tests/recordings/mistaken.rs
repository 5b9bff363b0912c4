//! Mistakes of newcomers: another file of the same name, times outside of the log, a tolerance that is too small, no messages.

use std::path::Path;

use tetrys::{ErrorKind, Store};
use tetrys_logs::{IngestSettings, Ingested, LogSource, OpenOptions, Recipe, info, ingest, plan};

use crate::{
    rows::{STAMPED, stamped, topic},
    writing::{Message, Parts, write},
};

const CLOCK: &str = "[clock]\ntopic = \"/a\"\nname = \"a\"\ntime = \"log\"\n";

/// A recording with messages of `/a` every millisecond, and of `/b` in bursts of 5, one every second.
fn recording(messages: u64) -> Vec<u8> {
    let ms = 1_000_000;
    let mut all: Vec<Message> = (0..messages).map(|at| stamped(0, at * ms, 0, 0)).collect();
    all.extend((0..messages.div_ceil(1_000)).flat_map(|burst| (0..5).map(move |at| stamped(1, (burst * 1_000 + at) * ms, 0, 0))));
    all.sort_by_key(|message| message.log_time);
    write(&["/a", "/b"].map(|name| topic(name, "here/Value", STAMPED)), &all, &Parts::default())
}

fn log(folder: &Path, name: &str) -> LogSource {
    LogSource::of(folder.join(format!("{name}.mcap")).to_str().unwrap()).unwrap()
}

async fn imported(folder: &Path, names: &[&str], span: (Option<i64>, Option<i64>)) -> tetrys::Result<Ingested> {
    let logs: Vec<LogSource> = names.iter().map(|name| log(folder, name)).collect();
    let store = Store::open(folder.join("table").to_str().unwrap()).unwrap();
    let settings = IngestSettings { span, ..IngestSettings::new(Recipe::parse(CLOCK).unwrap()) };
    ingest(&logs, store, &settings, |_| {}).await
}

fn why(made: &Ingested) -> Vec<(String, ErrorKind, String)> {
    made.failed.iter().map(|(log, error)| (log.clone(), error.kind(), error.to_string())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn another_file_of_a_name_does_not_count_as_imported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = recording(30);
    std::fs::write(folder.join("monday.mcap"), &whole[..whole.len() - 100]).unwrap();
    std::fs::write(folder.join("tuesday.mcap"), &whole).unwrap();
    imported(folder, &["monday"], (None, None)).await.unwrap();
    std::fs::write(folder.join("monday.mcap"), &whole).unwrap();
    let made = imported(folder, &["monday", "tuesday"], (None, None)).await.unwrap();
    let found = why(&made);
    assert_eq!(
        (found[0].0.as_str(), found[0].1, made.present.len(), made.report.logs.len()),
        ("monday", ErrorKind::Exists, 0, 1)
    );
    assert!(found[0].2.starts_with("this is not the file that was imported: "), "{found:?}");
    // It is named each time, and what the table says of the log stays.
    let again = imported(folder, &["monday", "tuesday"], (None, None)).await.unwrap();
    assert_eq!((why(&again), again.present), (found, vec!["tuesday".to_owned()]));
    // A file that is gone, or the same again, is no other one.
    std::fs::write(folder.join("monday.mcap"), &whole[..whole.len() - 100]).unwrap();
    std::fs::remove_file(folder.join("tuesday.mcap")).unwrap();
    let same = imported(folder, &["monday", "tuesday"], (None, None)).await.unwrap();
    assert_eq!((same.failed.len(), same.present.len()), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn times_that_a_log_does_not_have_are_named_with_those_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("monday.mcap"), recording(30)).unwrap();
    std::fs::write(folder.join("tuesday.mcap"), recording(2_100)).unwrap();
    let error = imported(folder, &["monday"], (Some(2_000_000_000), Some(1_000_000_000))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("found 1970-01-01T00:00:02Z and 1970-01-01T00:00:01Z"), "{error}");
    let made = imported(folder, &["monday", "tuesday"], (Some(2_000_000_000), None)).await.unwrap();
    let expected = "log monday: no row between 1970-01-01T00:00:02Z and the end: its messages are from 1970-01-01T00:00:00Z to \
                    1970-01-01T00:00:00.029Z";
    assert_eq!((made.table.rows(), why(&made)), (100, vec![("monday".to_owned(), ErrorKind::Invalid, expected.to_owned())]));
    // A log that has rows between other times is no log that is there.
    let made = imported(folder, &["monday", "tuesday"], (None, None)).await.unwrap();
    let found = why(&made);
    assert_eq!((made.table.rows(), found.len(), found[0].1), (130, 1, ErrorKind::Exists));
    assert!(
        found[0].2.contains("between 1970-01-01T00:00:02Z and the end, and these are between the start and the end"),
        "{found:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_that_most_rows_lack_gets_a_warning_and_a_plan_knows_bursts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("monday.mcap"), recording(2_000)).unwrap();
    let source = log(folder.path(), "monday");
    let planned = plan(&[info(&source, &OpenOptions::default()).await.unwrap()]).unwrap();
    // 996 ms between two bursts, 1 ms inside of one.
    assert!(planned.contains("tolerance = \"996ms\""), "{planned}");
    let matched = "[[match]]\nname = \"b\"\ntopic = \"/b\"\ntime = \"log\"\npolicy = \"last\"\n";
    let narrow = format!("{CLOCK}{matched}tolerance = 20\n");
    for (recipe, expected) in [
        (planned, None),
        (
            narrow,
            Some("log monday: 1990 of 2000 rows have no `b` within 20ns; its messages are up to 996 ms apart: see `tolerance`"),
        ),
    ] {
        let settings = IngestSettings::new(Recipe::parse(&recipe).unwrap());
        let made = ingest(std::slice::from_ref(&source), Store::open("memory://").unwrap(), &settings, |_| {}).await.unwrap();
        assert_eq!(made.report.logs[0].warnings, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_without_messages_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("monday.mcap"), "").unwrap();
    let error = imported(folder.path(), &["monday"], (None, None)).await.unwrap_err().to_string();
    assert!(error.ends_with("monday.mcap: the file is empty"), "{error}");
    std::fs::write(folder.path().join("monday.mcap"), write(&[], &[], &Parts::default())).unwrap();
    let error = imported(folder.path(), &["monday"], (None, None)).await.unwrap_err().to_string();
    assert!(error.starts_with("log monday: no topic /a: the log has no messages that can be read"), "{error}");
}
