//! Tests the binary with an S3 server: sessions of several processes, reads by URL, the self-test, the cache, and that no output
//! contains a secret.

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::binary::{Ran, tetrys};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tetrys_s3_server::{Fault, Server};

fn server() -> Server {
    let server = Server::start();
    server.create_bucket("data");
    server
}

fn command(server: &Server, folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    command.args(arguments.split(' ')).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ours = [("AWS_ENDPOINT_URL", server.endpoint()), ("AWS_SECRET_ACCESS_KEY", server.secret().to_owned())];
    command.envs(ours).env("AWS_ACCESS_KEY_ID", "tester").env("AWS_REGION", "us-east-1").env("HOME", folder);
    command.env("AWS_EC2_METADATA_DISABLED", "true");
    command
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(server: &Server, folder: &Path, arguments: &str) -> Ran {
    ended(command(server, folder, arguments).spawn().unwrap())
}

/// Uploads all files below a folder, under the prefix.
fn upload(server: &Server, folder: &Path, prefix: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let key = format!("{prefix}/{}", entry.file_name().to_str().unwrap());
        match entry.file_type().unwrap().is_dir() {
            true => upload(server, &entry.path(), &key),
            false => server.put("data", &key, std::fs::read(entry.path()).unwrap()),
        }
    }
}

/// Writes a frame for each log, and one frame with the rows of all logs.
fn frames(folder: &Path, logs: i64) {
    let rows = |logs: std::ops::Range<i64>| -> RecordBatch {
        let each = || logs.clone().flat_map(|log| (0..50).map(move |row| (log, row)));
        let columns: [(&str, ArrayRef); 3] = [
            ("log", Arc::new(StringArray::from_iter_values(each().map(|(log, _)| format!("log-{log}"))))),
            ("time", Arc::new(each().map(|(_, row)| 100 * row).collect::<Int64Array>())),
            ("text", Arc::new(StringArray::from_iter_values(each().map(|(log, row)| format!("{log}.{row}").repeat(200))))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    };
    let write = |name: String, batch: RecordBatch| {
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(File::create(folder.join(name)).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    (0..logs).for_each(|log| write(format!("{log}.parquet"), rows(log..log + 1)));
    write("all.parquet".to_owned(), rows(0..logs));
}

#[test]
fn a_zarr_group_on_the_server_is_ingested_like_a_folder() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    tetrys(folder, "generate l5 drives.zarr --scenes 3 --frames 10 --agents 6").ok();
    upload(&server, &folder.join("drives.zarr"), "raw/drives.zarr");
    // By default, a table in a bucket has other codecs than one in a folder.
    tetrys(folder, "ingest l5 drives.zarr local --preset compact -q").ok();
    run(&server, folder, "ingest l5 s3://data/raw/drives.zarr s3://data/drives --preset compact -q").ok();
    let groups = |ran: Ran| ran.json()["groups"].clone();
    let local = groups(tetrys(folder, "layout local --json"));
    assert!(local.as_array().is_some_and(|groups| !groups.is_empty()), "{local}");
    assert_eq!(groups(run(&server, folder, "layout s3://data/drives --json")), local);
    let missing = run(&server, folder, "ingest l5 s3://data/raw/none.zarr new -q");
    assert!(missing.fails(1).contains("s3://data/raw/none.zarr: not a zarr group: expected .zgroup"));
}

const CHOICES: &str = "--index log,time --sequence-by log --order-by time";

#[test]
fn four_processes_write_a_table_and_a_fifth_commits_it() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 4);
    run(&server, folder, &format!("session begin s3://data/drives 0.parquet {CHOICES} --preset compact --out ticket")).ok();
    assert!(run(&server, folder, "info s3://data/drives").fails(1).contains("no table there"));
    // The server executes every fifth put and loses its answer.
    let puts = AtomicU64::new(0);
    server.on_request(move |request| {
        let lost = request.method == "PUT" && puts.fetch_add(1, Ordering::Relaxed) % 5 == 2;
        lost.then_some(Fault::Lose)
    });
    let write = |number: i64, receipt: &str| {
        let arguments =
            format!("session write-partition s3://data/drives ticket {number} {number}.parquet {CHOICES} --out {receipt}");
        command(&server, folder, &arguments).spawn().unwrap()
    };
    // Two processes write partition 2 at the same time, as after a retry by a scheduler.
    let writers: Vec<Child> =
        [3, 1, 0, 2, 2].into_iter().enumerate().map(|(place, number)| write(number, &format!("{place}.receipt"))).collect();
    for writer in writers {
        ended(writer).ok();
    }
    let receipts = "4.receipt 3.receipt 2.receipt 1.receipt 0.receipt 1.receipt";
    let missing = run(&server, folder, "session commit s3://data/drives ticket --partitions 4 0.receipt 1.receipt 2.receipt");
    assert!(missing.fails(1).contains("no receipt for partition 2 of 4"));
    let found = run(&server, folder, "session commit s3://data/drives ticket --partitions 6 --found --abandon 5");
    assert!(found.fails(1).contains("no receipt for partition 4 of 6"), "all but one were found in the store, or left out");
    let commit = format!("session commit s3://data/drives ticket --partitions 4 {receipts}");
    assert_eq!(run(&server, folder, &commit).ok(), "s3://data/drives: 200 rows, 4 sequences\n");
    assert_eq!(
        run(&server, folder, &commit).ok(),
        "s3://data/drives: 200 rows, 4 sequences\n",
        "the same commit again is the same"
    );
    server.behave();
    assert!(!server.names("data").iter().any(|name| name.contains("/sessions/")), "a finished session leaves nothing");

    // One process that writes the same rows and partitions to a disk makes the same chunks, by a preset that does not regard the place.
    tetrys(folder, &format!("ingest parquet all.parquet here {CHOICES} --preset compact --partition-rows 1 -q")).ok();
    let chunks = |ran: Ran| ran.json()["groups"].clone();
    let there = run(&server, folder, "layout s3://data/drives --json");
    assert_eq!(chunks(there), chunks(tetrys(folder, "layout here --json")));
    assert!(run(&server, folder, "verify s3://data/drives").ok().starts_with("sound: "));

    // `explain` counts the requests that the server sees.
    let explained = run(&server, folder, "explain s3://data/drives@1 70 --offsets=-10..=0 --json").json();
    server.take_requests();
    run(&server, folder, "get s3://data/drives@1 70 --offsets=-10..=0 --json").ok();
    let ranges = server.take_requests().into_iter().filter(|request| request.range.is_some()).count();
    assert_eq!(explained["requests"], ranges);

    // `throughput` counts the requests that the server sees, and `plan` sends none for payload.
    run(&server, folder, "plan s3://data/drives --batch 16 --shuffle block").ok();
    assert!(server.take_requests().iter().all(|request| !request.key.contains("/chunks/")));
    let throughput = run(&server, folder, "throughput s3://data/drives --batch 16 --shuffle block -q --json").json();
    let chunks = server.take_requests().into_iter().filter(|request| request.key.contains("/chunks/")).count();
    assert_eq!(throughput["measured"]["requests"], chunks);
}

#[test]
fn a_frame_that_does_not_fit_the_session_is_refused() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    frames(folder.path(), 2);
    run(&server, folder.path(), &format!("session begin s3://data/drives 0.parquet {CHOICES} --preset compact --out ticket"))
        .ok();
    let other = run(&server, folder.path(), "session write-partition s3://data/drives ticket 1 1.parquet --index log");
    assert!(other.fails(1).contains("expected the columns of the other rows, with the same types, groups and order: "));
    std::fs::write(folder.path().join("broken"), "{}").unwrap();
    let broken = run(&server, folder.path(), "session write-partition s3://data/drives broken 1 1.parquet");
    assert!(broken.fails(1).contains("ticket of a session"));
}

#[test]
fn a_new_table_lies_beside_the_objects_of_others_and_not_among_them() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    std::fs::write(folder.join("rows.csv"), "id\n1\n").unwrap();
    server.put("data", "team/photos/1.jpg", "photo");
    server.put("data", "team/notes.txt", "note");
    for place in ["s3://data/team", "s3://data/team/photos", "s3://data"] {
        let message = run(&server, folder, &format!("ingest csv rows.csv {place}")).fails(1);
        assert!(message.contains("expected a new or empty folder for the table, found `"), "{place}: {message}");
    }
    let before = server.names("data");
    assert_eq!(before, ["team/notes.txt", "team/photos/1.jpg"]);
    // What a writer left that never committed is no object of others, and neither is a name that begins alike.
    server.put("data", "team/drives/chunks/aa/left", "left");
    server.put("data", "team/drives-old/notes.txt", "note");
    run(&server, folder, "session begin s3://data/team/drives rows.csv --out ticket").ok();
    run(&server, folder, "session write-partition s3://data/team/drives ticket 0 rows.csv --out receipt").ok();
    run(&server, folder, "ingest csv rows.csv s3://data/team/drives -q").ok();
    let message = run(&server, folder, "ingest csv rows.csv s3://data/team/drives").fails(1);
    assert!(message.contains("a table is there already, at version 1"), "{message}");
}

#[test]
fn an_ingest_reports_what_it_stored_without_a_listing_of_the_table() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    std::fs::write(folder.join("rows.csv"), "id,x\n1,2\n").unwrap();
    std::fs::write(folder.join("more.csv"), "id,x\n3,4\n5,6\n").unwrap();
    tetrys(folder, "generate l5 small.zarr --scenes 1 --frames 4 --agents 2 --seed 1").ok();
    tetrys(folder, "generate l5 more.zarr --scenes 1 --frames 5 --agents 3 --seed 2").ok();
    for (first, more) in [
        ("csv rows.csv s3://data/rows", "csv more.csv s3://data/rows --append"),
        ("l5 small.zarr s3://data/l5", "l5 more.zarr s3://data/l5 --overwrite"),
    ] {
        run(&server, folder, &format!("ingest {first}")).ok();
        let before: Vec<String> = server.names("data");
        server.take_requests();
        let output = run(&server, folder, &format!("ingest {more}")).ok();
        // A listing of a whole table has its root as prefix.
        let listed = server.take_requests().into_iter().filter(|request| request.is_list()).map(|request| request.query);
        let of_all = |query: &String| {
            query.split('&').any(|part| part.starts_with("prefix=") && !part[7..].trim_end_matches("%2F").contains("%2F"))
        };
        assert_eq!(listed.filter(of_all).collect::<Vec<_>>(), Vec::<String>::new(), "{more}");
        let url = more.split(' ').nth(2).unwrap();
        let version = run(&server, folder, &format!("info {url} --json")).json()["version"].clone();
        assert_eq!(version, 2);
        let added = server.names("data").into_iter().filter(|name| !before.contains(name) && !name.contains("/manifests/"));
        let added: usize = added.map(|name| server.get("data", &name).unwrap().len()).sum();
        let stored = output.lines().find_map(|line| line.strip_prefix("stored  ")).unwrap();
        let stored: f64 = stored.split(' ').next().unwrap().parse().unwrap();
        let factor = if output.contains(" kB") { 1000.0 } else { 1.0 };
        println!("{more}: {stored} of {added}: {output}");
        assert!((stored * factor - added as f64).abs() <= added as f64 / 100.0 + 1.0, "{added}: {output}");
    }
}

#[test]
fn a_store_is_tested_claim_by_claim() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let output = run(&server, folder.path(), "selftest s3://data/team").ok();
    assert_eq!(output.lines().filter(|line| line.starts_with("holds  ")).count(), 9, "{output}");
    assert_eq!(server.names("data"), Vec::<String>::new(), "it cleans up");
    server.ignore_conditions();
    let output = run(&server, folder.path(), "selftest s3://data/team");
    assert_eq!(output.code, 1);
    assert!(
        output.out.contains("FAILS  a second create-only put is refused") && output.out.contains("single_writer=true"),
        "{}",
        output.out
    );
    assert_eq!(tetrys(folder.path(), "selftest here").code, 0);
}

#[test]
fn nothing_that_is_printed_holds_a_secret() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    frames(folder.path(), 1);
    let canary = "canary-option-9d3f";
    let mut texts = Vec::new();
    let mut keep = |ran: Ran| texts.push(format!("{}{}", ran.out, ran.err));
    keep(run(&server, folder.path(), &format!("ingest parquet 0.parquet s3://data/t {CHOICES}")));
    let whole = |secret: &str| {
        format!("--option access_key_id=tester --option secret_access_key={secret} --option session_token={canary}")
    };
    keep(run(&server, folder.path(), &format!("info s3://data/t --json {}", whole(server.secret()))));
    keep(run(&server, folder.path(), &format!("info s3://data/t {}", whole(canary))));
    keep(run(&server, folder.path(), &format!("info s3://data/t --option aws_session_token={canary}")));
    keep(run(&server, folder.path(), &format!("info s3://data/t --option allow_http={canary}")));
    keep(run(&server, folder.path(), &format!("info s3://data/t --option {canary}")));
    keep(run(&server, folder.path(), &format!("info s3://tester:{canary}@data/t")));
    keep(run(&server, folder.path(), "versions s3://data/t --json"));
    keep(run(&server, folder.path(), &format!("session begin s3://data/new 0.parquet {CHOICES}")));
    assert!(texts[0].contains("50 rows") && texts[1].contains("\"rows\": 50"), "{texts:?}");
    assert!(texts[2].contains("SignatureDoesNotMatch"), "{}", texts[2]);
    for text in texts {
        assert!(!text.contains(canary) && !text.contains(server.secret()), "{text}");
    }
}

#[test]
fn a_cache_is_used_shown_and_emptied() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 2);
    run(&server, folder, &format!("ingest parquet all.parquet s3://data/drives {CHOICES} -q")).ok();
    assert!(run(&server, folder, "cache stats").fails(1).contains("TETRYS_CACHE"));
    let cached = |arguments: &str| {
        let mut command = command(&server, folder, arguments);
        command.env("TETRYS_CACHE", folder.join("cache")).env("TETRYS_CACHE_SIZE", "64MiB");
        ended(command.spawn().unwrap())
    };
    assert_eq!(cached("cache stats --json").json()["entries"], 0);
    assert!(!folder.join("cache").exists(), "looking at it does not make it");
    server.take_requests();
    let first = cached("get s3://data/drives 70 --offsets=-10..=0 --json").ok();
    assert!(server.take_requests().len() > 2);
    assert_eq!(cached("get s3://data/drives 70 --offsets=-10..=0 --json").ok(), first);
    assert_eq!(server.take_requests().len(), 3, "a listing, a manifest and its successor");
    let by_option = format!("--option cache={} --option cache_size=64MiB", folder.join("cache").display());
    assert_eq!(run(&server, folder, &format!("get s3://data/drives@1 70 --offsets=-10..=0 --json {by_option}")).ok(), first);
    assert_eq!(server.take_requests().len(), 1, "a manifest");

    let path = folder.join("cache").display().to_string();
    assert_eq!(cached("cache path").ok().trim_end(), path);
    let stats = cached("cache stats --json").json();
    assert_eq!((&stats["path"], &stats["at_most"], &stats["writers"]), (&path.into(), &(64 << 20).into(), &0.into()));
    assert!(stats["entries"].as_u64().unwrap() >= 3 && stats["bytes"].as_u64().unwrap() >= 3 * 4096, "{stats}");
    assert!(cached("cache stats").ok().contains("at most 67.1 MB, 0 writers now"));
    assert_eq!(cached("cache clear --json").json()["entries"], stats["entries"]);
    assert_eq!(cached("cache stats --json").json()["bytes"], 0);
    assert!(run(&server, folder, "cache path --option cache=c --option cache_size=lots").fails(1).contains("cache_size"));
}

#[test]
fn a_view_is_told_of_a_moved_table_with_the_options_of_the_command() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 2);
    // The environment has no settings for the server.
    let reached = format!(
        "--option endpoint={} --option access_key_id=tester --option secret_access_key={} --option region=us-east-1",
        server.endpoint(),
        server.secret()
    );
    let plain = |arguments: &str| tetrys(folder, &format!("{arguments} {reached}"));
    plain(&format!("ingest parquet all.parquet s3://data/drives {CHOICES} -q")).ok();
    plain("select s3://data/drives --where time=100 --out s3://data/some").ok();
    // Moves the table.
    for name in server.names("data").into_iter().filter(|name| name.starts_with("drives/")) {
        server.put("data", &name.replacen("drives/", "moved/", 1), server.get("data", &name).unwrap());
    }
    let output = plain("rebind s3://data/some s3://data/moved --json").json();
    assert_eq!((&output["version"], &output["stores"][0]["urls"][0]), (&2.into(), &"../moved".into()), "{output}");
}

#[test]
fn tables_on_the_web_are_merged_read_and_listed_by_their_versions() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 2);
    for table in ["drives", "labels"] {
        run(&server, folder, &format!("ingest parquet all.parquet s3://data/{table} {CHOICES} -q")).ok();
    }
    assert_eq!(run(&server, folder, "edit s3://data/drives --tag gold=1").code, 0);
    server.let_anybody_read();
    let web = |table: &str| format!("{}/data/{table}", server.endpoint());
    let (left, right) = (web("drives@2"), web("labels@1"));
    let merged = tetrys(folder, &format!("merge {left} {right} --on log,time --out view --allow-unpinned"));
    assert_eq!(merged.code, 0, "{}{}", merged.out, merged.err);
    let rows = tetrys(folder, &format!("get view 7 --json --allow {}/data", server.endpoint())).ok();
    assert!(rows.contains("text_right"), "{rows}");
    // A web server cannot list objects: only versions up to the named one are found.
    let versions = tetrys(folder, &format!("versions {left} --json")).json();
    let numbers: Vec<u64> = versions.as_array().unwrap().iter().map(|one| one["version"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!(tetrys(folder, &format!("versions {} --json", web("drives@1"))).json().as_array().unwrap().len(), 1);
    let refused = tetrys(folder, &format!("du {left}")).fails(1);
    assert!(refused.contains("does not list its objects") && !refused.contains("name the version"), "{refused}");
    let unnamed = tetrys(folder, &format!("info {}", web("drives"))).fails(1);
    assert!(unnamed.contains("name the version, as in URL@7"), "{unnamed}");
}

#[test]
fn quiet_commands_warn_of_owners_that_cannot_be_told() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 2);
    run(&server, folder, &format!("ingest parquet all.parquet s3://data/drives {CHOICES} -q")).ok();
    server.let_anybody_read();
    let owner = format!("{}/data/drives@1", server.endpoint());
    let ingest = |name: &str| format!("ingest parquet all.parquet {name} {CHOICES} --reference {owner}");
    let refused = tetrys(folder, &format!("{} -q", ingest("none"))).fails(1);
    assert!(refused.contains("--allow-unpinned"), "{refused}");
    for how in ["-q", "--json", "-q --json"] {
        let name = how.replace([' ', '-'], "");
        let ran = tetrys(folder, &format!("{} {how} --allow-unpinned", ingest(&name)));
        let warned = ran.err.contains("warning: ") && ran.err.contains("no pin was written to ");
        assert!(ran.code == 0 && warned, "{how}: {}", ran.err);
    }
    for how in ["", " --json"] {
        let name = if how.is_empty() { "view" } else { "view-json" };
        let ran = tetrys(folder, &format!("select {owner} --out {name} --allow-unpinned{how}"));
        assert!(ran.code == 0 && ran.err.contains("warning: ") && ran.err.contains("no pin was written to "), "{}", ran.err);
    }
}

/// Runs the binary without the credentials of this machine, with the given environment.
fn bare(folder: &Path, arguments: &str, environment: &[(&str, String)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    for (name, _) in std::env::vars() {
        if ["AWS_", "GOOGLE_", "AZURE_", "GCE_", "STORAGE_"].iter().any(|service| name.starts_with(service)) {
            command.env_remove(name);
        }
    }
    let environment = environment.iter().map(|(name, value)| (*name, value.as_str()));
    command.args(arguments.split(' ')).current_dir(folder).env("HOME", folder).envs(environment);
    ended(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

#[test]
fn google_is_looked_for_at_the_emulator_and_at_the_endpoint_that_is_named() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    let folder = folder.path();
    frames(folder, 1);
    run(&server, folder, &format!("ingest parquet all.parquet s3://data/drives {CHOICES} -q")).ok();
    server.let_anybody_read();
    let host = server.endpoint().trim_start_matches("http://").to_owned();
    let rows = |ran: Ran| ran.json()["rows"].clone();
    for emulator in [host, server.endpoint()] {
        assert_eq!(rows(bare(folder, "info gs://data/drives --json", &[("STORAGE_EMULATOR_HOST", emulator)])), 50);
    }
    let option = format!("info gs://data/drives --json --option endpoint={}", server.endpoint());
    assert_eq!(rows(bare(folder, &option, &[])), 50);
    // An option overrides the environment.
    let nowhere = [("STORAGE_EMULATOR_HOST", "127.0.0.1:1".to_owned())];
    assert_eq!(rows(bare(folder, &option, &nowhere)), 50);
}

#[test]
fn a_connection_string_of_azure_names_account_key_and_place() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    // The server does not speak the protocol of Azure, but records the requests.
    let string = format!("AccountName=lab;AccountKey=c2VjcmV0Y2FuYXJ5;BlobEndpoint={}/lab;", server.endpoint());
    server.take_requests();
    let refused = bare(
        folder.path(),
        "info az://data/drives@1 --option max_retries=0",
        &[("AZURE_STORAGE_CONNECTION_STRING", string.clone())],
    );
    assert!(!format!("{}{}", refused.out, refused.err).contains("c2VjcmV0Y2FuYXJ5"), "{}", refused.err);
    let asked = server.take_requests();
    assert!(asked.iter().any(|request| request.bucket == "lab" && request.key.starts_with("data/drives/")), "{asked:?}");
    let given = format!("info az://data/drives@1 --option max_retries=0 --option connection_string={string}");
    assert!(!bare(folder.path(), &given, &[]).err.contains("c2VjcmV0Y2FuYXJ5"));
    assert!(!server.take_requests().is_empty());
}

#[test]
fn without_credentials_the_error_says_so_and_where_they_were_looked_for() {
    let (server, folder) = (server(), tempfile::tempdir().unwrap());
    // A metadata service without credentials for this machine.
    let metadata = server.endpoint();
    let host = metadata.trim_start_matches("http://").to_owned();
    let s3 = [("AWS_METADATA_ENDPOINT", metadata.clone())];
    let google = [("GCE_METADATA_HOST", host.clone()), ("GCE_METADATA_IP", host)];
    let azure = [("AZURE_MSI_ENDPOINT", metadata), ("AZURE_STORAGE_ACCOUNT_NAME", "lab".to_owned())];
    for (url, environment, places) in [
        ("s3://nobody/t", &s3[..], ["access_key_id", "AWS_ACCESS_KEY_ID", "~/.aws/credentials"]),
        ("gs://nobody/t", &google, ["service_account", "GOOGLE_APPLICATION_CREDENTIALS", "application_default_credentials"]),
        ("az://nobody/t", &azure, ["account_key", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_CLIENT_ID"]),
    ] {
        let refused = bare(folder.path(), &format!("info {url}"), environment).fails(1);
        assert!(refused.contains("no credentials found") && refused.contains("skip_signature=true"), "{refused}");
        assert!(refused.contains("metadata service of this machine (40"), "{refused}");
        for place in places {
            assert!(refused.contains(place), "{place}: {refused}");
        }
    }
    let disabled = [("AWS_EC2_METADATA_DISABLED", "true".to_owned())];
    let refused = bare(folder.path(), "info s3://nobody/t", &disabled).fails(1);
    assert!(refused.contains("no credentials found") && refused.contains("AWS_ACCESS_KEY_ID"), "{refused}");
}

#[test]
fn an_import_reads_as_many_logs_at_once_as_the_variable_says() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("sync.toml"), crate::logs::RECIPE).unwrap();
    crate::logs::recording(&folder.join("log.mcap"));
    let names: Vec<String> = (0..6).map(|log| format!("logs/log{log}.mcap")).collect();
    names.iter().for_each(|name| server.put("data", name, std::fs::read(folder.join("log.mcap")).unwrap()));
    let urls: Vec<String> = names.iter().map(|name| format!("s3://data/{name}")).collect();
    let latency = std::time::Duration::from_millis(5);
    server.set_latency(tetrys_s3_server::Latency { per_request: latency, bytes_per_second: None });
    for (threads, expected) in [("1", true), ("4", false)] {
        server.take_requests();
        let arguments = format!("ingest logs {} table{threads} --recipe sync.toml", urls.join(" "));
        let ran = ended(command(&server, folder, &arguments).env("TETRYS_THREADS", threads).spawn().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.err);
        // The sizes of all files are asked for first, side by side: they say whether an earlier import of these files was interrupted.
        let reads = server.take_requests().into_iter().filter(|request| request.method == "GET");
        let mut asked: Vec<String> = reads.map(|request| request.key).filter(|key| key.ends_with(".mcap")).collect();
        asked.dedup();
        // One behind the other: each log is asked for in one run of requests.
        assert_eq!(asked == names, expected, "TETRYS_THREADS={threads}: {asked:?}");
    }
}
