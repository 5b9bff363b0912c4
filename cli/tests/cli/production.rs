//! Tests that `docs/guide/production.md` lists the requests that each role sends: what its rights have to allow.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use tetrys_s3_server::Request;

use crate::{
    across::{CHOICES, Lab},
    common,
};

#[test]
fn each_role_sends_the_requests_that_the_chapter_lists() {
    let lab = Lab::with_tables();
    let frame = |name: &str, url: &str, more: &str| format!("ingest parquet {name}.parquet {url} {CHOICES} -q{more}");
    let run = |command: &str| {
        let ran = lab.run(command);
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
    };
    run(&frame("sensors", "s3://team/old", ""));
    run("delete s3://team/old --where time<1000");
    // The pin of this view keeps version 2. Version 1 is garbage.
    run("select s3://team/old --where time<3000 --out s3://lab/view-of-old");
    let read = [
        "get s3://team/labels 7 --offsets=-3..=0",
        "query s3://team/labels SELECT\u{a0}log\u{a0}FROM\u{a0}t",
        "verify s3://team/labels",
        "versions s3://team/labels",
    ];
    let ingest = frame("sensors", "s3://team/copy", " --reference s3://lab/sensors");
    let write = [
        "edit s3://team/labels --tag gold",
        "compact s3://team/labels --index",
        "delete s3://team/labels --where time>4000",
        &ingest,
    ];
    let begin = format!("session begin s3://team/week sensors.parquet {CHOICES} --out ticket");
    let partition = format!("session write-partition s3://team/week ticket 0 sensors.parquet {CHOICES} --out receipt");
    let session = [begin.as_str(), &partition, "session commit s3://team/week ticket receipt --partitions 1"];
    let view = ["merge s3://lab/sensors s3://team/labels --on log,time --out s3://team/labelled"];
    let collect = "gc s3://team/old --keep 1 --age 0 --yes";
    let roles: [(&str, &str, &[&str]); 6] = [
        ("reader", "team", &read),
        ("writer", "team", &write),
        ("processes of one session", "team", &session),
        ("writer, in a table that `--reference` names", "lab", &write),
        ("maker of views, in a table behind the view", "lab", &view),
        ("collector of garbage", "team", &[collect, collect, collect]),
    ];
    let page = fs::read_to_string(common::root().join("docs/guide/production.md")).unwrap();
    let (mut done, mut missing) = (BTreeMap::<&str, Vec<Request>>::new(), Vec::new());
    for (role, bucket, commands) in roles {
        let requests = done.entry(commands[0]).or_insert_with(|| {
            lab.take_requests();
            commands.iter().for_each(|command| run(command));
            lab.take_requests()
        });
        missing.push(line(role, requests.iter().filter(|request| request.bucket == bucket)));
    }
    missing.retain(|line| !page.contains(line));
    assert!(missing.is_empty(), "docs/guide/production.md does not have these lines:\n{}", missing.join("\n"));
}

/// Returns a role and the folders below the root of a table in which it reads, lists, creates and deletes, as a row of a table.
fn line<'a>(role: &str, requests: impl Iterator<Item = &'a Request>) -> String {
    let mut folders: [BTreeSet<String>; 4] = Default::default();
    for request in requests {
        let below = |name: &str| name.split('/').nth(1).filter(|folder| !folder.is_empty()).map(|folder| format!("`{folder}/`"));
        let prefix =
            request.query.split('&').find_map(|part| part.strip_prefix("prefix=")).map(|prefix| prefix.replace("%2F", "/"));
        let (kind, folder) = match request.method.as_str() {
            "GET" if request.is_list() => (1, prefix.as_deref().map(|prefix| below(prefix).unwrap_or("all".to_owned()))),
            "GET" | "HEAD" => (0, below(&request.key)),
            "DELETE" => (3, below(&request.key)),
            "PUT" | "POST" => (2, below(&request.key)),
            other => panic!("{other} {}", request.key),
        };
        folders[kind].extend(folder);
    }
    let cell = |folders: &BTreeSet<String>| folders.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    format!("| {role} | {} |", folders.each_ref().map(cell).join(" | "))
}
