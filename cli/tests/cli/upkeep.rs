//! Tests `restore`, `resolve`, `doctor`, progress bars, and the topics of the help.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    binary::{tetrys, tetrys_with},
    common,
};
use serde_json::{Value, json};

fn table(folder: &Path) {
    fs::write(folder.join("rows.csv"), "id,x\n1,1\n2,2\n3,3\n").unwrap();
    tetrys(folder, "ingest csv rows.csv t --index id --group g=x -q").ok();
}

#[test]
fn an_earlier_version_is_restored_by_number_and_by_tag() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let url = format!("file://{}/t", folder.canonicalize().unwrap().display());
    tetrys(folder, "delete t --where id=1").ok();
    tetrys(folder, "edit t --tag gold=1").ok();
    assert_eq!(tetrys(folder, "restore t@1").ok(), format!("{url}: version 4 with the content of version 1, 3 rows\n"));
    let versions = tetrys(folder, "versions t --json").json();
    assert_eq!((&versions[0]["operation"], &versions[0]["bytes_added"]), (&json!("restore"), &json!(0)));
    assert_eq!(versions[3]["tags"], json!("gold"), "a tag stays where it is");
    let output = tetrys(folder, "restore t@gold").ok();
    assert_eq!(output, format!("{url}: nothing to restore: version 4 has the content of version 1 already\n"));
    let output = tetrys(folder, "restore t").ok();
    assert_eq!(output, format!("{url}: nothing to restore: version 4 is the newest; name an earlier one, as in TABLE@1\n"));
    assert_eq!(tetrys(folder, "restore t@2 --json").json(), json!({"url": url, "version": 5, "restored": 2, "rows": 2}));
    assert_eq!(tetrys(folder, "restore t@5 --json").json(), json!({"url": url, "version": 5, "restored": null, "rows": 2}));
    assert_eq!(tetrys(folder, "verify t --json").json()["damage"], json!([]));

    assert!(tetrys(folder, "restore t@9").fails(1).contains("no version 9: the newest is 5, and the first was 1"));
    assert!(tetrys(folder, "restore t@silver").fails(1).contains("no tag `silver`"));
    assert!(tetrys(folder, "restore nowhere@1").fails(1).contains("nowhere"));
    tetrys(folder, "edit t --untag gold").ok();
    for _ in 0..3 {
        tetrys(folder, "gc t --keep 1 --age 0 --yes").ok();
    }
    let output = tetrys(folder, "restore t@1").fails(1);
    assert!(output.contains(": no version 1: its manifest is missing; the table has "), "{output}");
}

#[test]
fn commands_about_all_versions_refuse_the_name_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let id = "6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b";
    for command in [
        format!("resolve t@1 --version 1 --commit {id}"),
        "users t@1".to_owned(),
        "session list t@1".to_owned(),
        format!("session abort t@1 {id}"),
        "restore t@1@1".to_owned(),
    ] {
        let message = tetrys(folder, &command).fails(1);
        assert!(message.contains("expected `t`, found the name of one version"), "{command}: {message}");
    }
}

#[test]
fn a_version_that_is_not_there_is_named_with_those_that_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let url = format!("file://{}/t", folder.canonicalize().unwrap().display());
    tetrys(folder, "delete t --where id=1").ok();
    tetrys(folder, "delete t --where id=2").ok();
    for command in ["info", "verify", "restore"] {
        let message = tetrys(folder, &format!("{command} t@9")).fails(1);
        assert_eq!(message, format!("error: {url}: no version 9: the newest is 3, and the first was 1\n"), "{command}");
    }
    // Somebody deleted it: nothing says that a garbage collection did.
    fs::remove_file(manifest(folder, 2)).unwrap();
    for command in ["info", "verify", "restore"] {
        let message = tetrys(folder, &format!("{command} t@2")).fails(1);
        assert_eq!(message, format!("error: {url}: no version 2: its manifest is missing; the table has 1, 3\n"), "{command}");
    }
    // These look at all versions.
    for command in ["doctor", "gc"] {
        for version in ["t@1", "t@9", "t@gold"] {
            let message = tetrys(folder, &format!("{command} {version}")).fails(1);
            assert!(message.contains(": expected `t`, found the name of one version"), "{command}: {message}");
        }
        assert!(tetrys(folder, &format!("{command} nowhere@1")).fails(1).contains("no table there"));
    }
    fs::rename(folder.join("t"), folder.join("t@1")).unwrap();
    tetrys(folder, "doctor t@1").ok();
}

/// Returns the file of a version's manifest.
fn manifest(folder: &Path, version: u64) -> std::path::PathBuf {
    folder.join(format!("t/manifests/{:020}.json", u64::MAX - version))
}

#[test]
fn a_collection_with_nothing_to_do_says_what_it_did_and_not_what_it_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let output = tetrys(folder, "gc t --keep 1 --yes").ok();
    assert_eq!(output, "condemned  0 objects, 0 B\ndeleted  0 objects, 0 B\nswept  0 objects, 0 B\nnothing to collect now\n");
    let output = tetrys(folder, "gc t --keep 1").ok();
    assert_eq!(
        output,
        "to condemn  0 objects, 0 B\nto delete  0 objects, 0 B\nto sweep  0 objects, 0 B\nnothing to collect now\n"
    );
    assert_eq!(tetrys(folder, "gc t --keep 1 --yes --json").json()["done"], json!(true));
}

#[test]
fn the_doctor_gives_a_command_that_runs_or_steps_to_take() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    // The age that was asked for goes into the command.
    let session = folder.join("t/sessions/6ba7b810-9dad-41d1-80b4-00c04fd430c8");
    fs::create_dir_all(&session).unwrap();
    fs::write(session.join("plan.json"), "{}").unwrap();
    let findings = doctor(folder, "t --age 0");
    assert_eq!(findings["findings"][0]["command"], "tetrys gc t --age 0 --yes", "{findings}");
    assert_eq!(findings["findings"][0]["advice"], Value::Null);
    assert!(tetrys(folder, "doctor t").ok().contains(": nothing found\n"), "it is not a week old");
    // One version ends the session, and its files are deleted after that.
    tetrys(folder, "gc t --age 0 --yes").ok();
    assert!(session.exists());
    tetrys(folder, "gc t --age 0 --yes").ok();
    assert!(!session.exists());

    // A manifest that nobody wrote is moved away by the steps, which are prose and no command.
    fs::write(manifest(folder, 1_000_000), "mine").unwrap();
    assert!(tetrys(folder, "info t").fails(3).contains("version 1000000"));
    let findings = doctor(folder, "t");
    let finding = &findings["findings"][0];
    assert_eq!((&finding["command"], &finding["cure"]), (&Value::Null, &json!({"copy_or_move": 3})), "{findings}");
    let advice = finding["advice"].as_str().unwrap();
    assert!(advice.contains("so that version 3 is the newest: mv t/manifests/"), "{advice}");
    let moves = advice.split(": ").find(|part| part.starts_with("mv ")).unwrap().trim_end_matches(", then");
    assert!(Command::new("sh").args(["-c", moves]).current_dir(folder).status().unwrap().success(), "{moves}");
    assert!(tetrys(folder, "doctor t").ok().contains(" version 3: nothing found\n"));
    assert!(!manifest(folder, 1_000_000).exists());

    // A view whose table is gone: nobody knows the place.
    tetrys(folder, "select t --where id<3 --out some").ok();
    fs::rename(folder.join("t"), folder.join("moved")).unwrap();
    let findings = doctor(folder, "some");
    assert_eq!(findings["findings"][0]["command"], Value::Null);
    assert!(findings["findings"][0]["advice"].as_str().unwrap().starts_with("tetrys rebind some NEW_PLACE"), "{findings}");
}

/// Runs `tetrys doctor` on a table where it finds something.
fn doctor(folder: &Path, arguments: &str) -> Value {
    let ran = tetrys(folder, &format!("doctor {arguments} --json"));
    assert!([3, 5].contains(&ran.code), "{}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn sessions_are_listed_and_ended_and_users_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    assert!(tetrys(folder, "session list t").ok().ends_with("/t: no session has files there\n"));
    tetrys(folder, "session begin t rows.csv --append --out ticket").ok();
    tetrys(folder, "session write-partition t ticket 0 rows.csv --out receipt").ok();
    let listed = tetrys(folder, "session list t --json").json();
    let id = listed[0]["session"].as_str().unwrap();
    assert_eq!((&listed[0]["finished"], &listed[0]["kind"], &listed[0]["damage"]), (&json!(1), &json!(null), &json!(null)));
    assert!(tetrys(folder, "session list t").ok().contains(id));
    let message = tetrys(folder, "session abort t nonsense").fails(1);
    assert!(message.contains("expected the id of a session, which `tetrys session list` shows, found `nonsense`"), "{message}");
    assert!(tetrys(folder, &format!("session abort t {id}")).ok().contains(" ended: "));
    assert!(tetrys(folder, &format!("session abort t {id}")).ok().contains("has no files: it was committed or aborted"));
    assert!(tetrys(folder, &format!("session abort nowhere {id}")).fails(1).contains("neither a table nor files of a session"));
    assert_eq!(tetrys(folder, "session list t --json").json(), json!([]));
    assert!(!tetrys(folder, "session commit t ticket receipt").fails(1).is_empty(), "nobody commits it any more");

    assert!(tetrys(folder, "users t").ok().ends_with("/t: no other table uses it\n"));
    assert!(tetrys(folder, "users nowhere").fails(1).contains("no table there"));
    tetrys(folder, "select t --where id>1 --out some").ok();
    tetrys(folder, "select t --where id>2 --out few").ok();
    fs::remove_dir_all(folder.join("few")).unwrap();
    let users = tetrys(folder, "users t --json").json();
    let state = |url: &str| users.as_array().unwrap().iter().find(|user| user["url"] == url).unwrap()["state"].clone();
    assert_eq!((state("../some"), state("../few")), (json!("exists"), json!("not_there")));
    let message = tetrys(folder, "users t").ok();
    assert!(message.contains("../some") && message.contains("exists") && message.contains("not there"), "{message}");
    let pin = users[0]["pin"].as_str().unwrap();
    fs::write(folder.join("t").join(pin), "nonsense").unwrap();
    assert!(tetrys(folder, "users t").ok().contains("damaged: "));
}

#[test]
fn a_damaged_version_is_given_up_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    tetrys(folder, "delete t --where id=1").ok();
    fs::write(folder.join("t").join(tetrys::format::manifest_name(1)), "{}").unwrap();
    let versions = tetrys(folder, "versions t").ok();
    assert!(versions.contains("(damaged)") && versions.contains("damaged: "), "{versions}");
    assert!(tetrys(folder, "du t").ok().contains("version 1 is damaged: "));
    assert!(tetrys(folder, "doctor t").out.contains("tetrys gc t --give-up 1 --yes"));
    assert!(tetrys(folder, "gc t").fails(3).contains("or give the version up (`tetrys gc --give-up 1`"));
    assert!(tetrys(folder, "gc t --give-up 1").fails(2).contains("--yes"));
    assert!(tetrys(folder, "gc t --give-up 2 --yes").fails(1).contains("version 2 is the newest"));
    assert_eq!(tetrys(folder, "gc t --give-up 1 --yes --json").json()["given_up"], json!([1]));
    // The version stays until a later collection, and nobody is told of it any more.
    assert!(tetrys(folder, "gc t --give-up 1 --yes").ok().contains("given up  version 1\n"));
    assert!(!tetrys(folder, "doctor t").ok().contains("--give-up"));
    assert!(tetrys(folder, "gc t --yes").ok().contains("nothing to collect now"));
    for _ in 0..2 {
        tetrys(folder, "gc t --yes --age 0").ok();
    }
    assert!(tetrys(folder, "gc t --give-up 1 --yes").fails(1).contains("no version 1"));
}

#[test]
fn what_became_of_a_commit_is_told_by_its_version_and_id() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let url = format!("file://{}/t", folder.canonicalize().unwrap().display());
    let manifest = fs::read_to_string(folder.join("t").join(tetrys::format::manifest_name(1))).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let (ours, other) = (manifest["commit_id"].as_str().unwrap(), "6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b");
    let resolve = |version: u64, commit: &str, more: &str| {
        tetrys(folder, format!("resolve t --version {version} --commit {commit} {more}").trim_end())
    };
    assert_eq!(
        resolve(1, ours, "").ok(),
        format!("{url}: commit {ours}: committed: it made version 1; do not repeat the change\n")
    );
    let output = json!({"url": url, "version": 1, "commit": other, "outcome": "not_committed"});
    assert_eq!(resolve(1, other, "--json").json(), output);
    assert!(resolve(2, other, "").ok().contains("open: there is no version 2 yet; wait, or rule it out with --rule-out"));
    assert!(resolve(3, other, "--rule-out").fails(1).contains("the version before it does not exist"));
    assert!(resolve(2, other, "--rule-out").ok().contains("not committed: another commit made version 2; repeat the change"));
    assert_eq!(tetrys(folder, "versions t --json").json()[0]["operation"], json!("empty"));
    assert_eq!(tetrys(folder, "info t --json").json()["rows"], json!(3));
    fs::remove_file(folder.join("t").join(tetrys::format::manifest_name(1))).unwrap();
    assert!(resolve(1, ours, "").ok().contains("cannot tell: version 1, or one after it, was deleted"));
    let message = resolve(1, "nonsense", "").fails(1);
    assert!(
        message.contains("--commit: expected an id such as 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b, found `nonsense`"),
        "{message}"
    );
    let message = tetrys(folder, &format!("resolve nowhere --version 2 --commit {other}")).fails(1);
    assert!(message.contains("nowhere: no table there"), "{message}");
}

#[test]
fn the_doctor_names_what_is_wrong_and_the_command_that_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let url = format!("file://{}/t", folder.canonicalize().unwrap().display());
    let bytes = "the bytes of objects: names and sizes were compared; `verify` reads them";
    assert_eq!(tetrys(folder, "doctor t").ok(), format!("{url} version 1: nothing found\nnot checked: {bytes}\n"));
    let sound = json!({"url": url, "version": 1, "findings": [], "notes": [], "not_checked": [bytes]});
    assert_eq!(tetrys(folder, "doctor t --json").json(), sound);

    // What is not damage has an exit code of its own, and its command mends it.
    tetrys(folder, "edit t --tag gold").ok();
    fs::remove_file(manifest(folder, 1)).unwrap();
    let ran = tetrys(folder, "doctor t");
    assert_eq!((ran.code, ran.err.as_str()), (5, ""));
    assert!(ran.out.contains("tag `gold` is of version 1, which does not exist\n  tetrys edit t --untag gold\n"), "{}", ran.out);
    assert!(ran.out.contains(": 1 finding\n"), "{}", ran.out);
    tetrys(folder, "edit t --untag gold").ok();
    assert!(tetrys(folder, "doctor t").ok().contains(": nothing found\n"));

    // Damage has the exit code of `verify`.
    fs::remove_dir_all(folder.join("t/chunks")).unwrap();
    let ran = tetrys(folder, "doctor t --json");
    let output: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &output["findings"][0]["cure"]), (3, &json!("copy")));
    let (place, advice) = (&output["findings"][0]["where"], &output["findings"][0]["advice"]);
    assert!(place.as_str().unwrap().starts_with("chunks/"), "{output}");
    assert_eq!(advice, "with a copy of the table: tetrys verify t --repair --from COPY");
    assert_eq!(output["findings"][0]["command"], Value::Null);

    assert!(tetrys(folder, "doctor nowhere").fails(1).contains("no table there"));
}

#[test]
fn a_table_is_repaired_with_a_copy_and_what_is_left_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let copied = std::process::Command::new("cp").args(["-r", "t", "copy"]).current_dir(folder).status().unwrap();
    assert!(copied.success());
    let nothing = tetrys(folder, "verify t --repair --from copy").ok();
    assert!(nothing.starts_with("0 objects repaired: "), "{nothing}");

    fs::remove_dir_all(folder.join("t/chunks")).unwrap();
    assert_eq!(tetrys(folder, "verify t").code, 3);
    let output = tetrys(folder, "verify t --repair --from copy --json").json();
    assert_eq!(output["damage"], json!([]), "{output}");
    assert!(output["repaired"].as_array().unwrap().iter().all(|name| name.as_str().unwrap().starts_with("chunks/")), "{output}");
    assert!(tetrys(folder, "verify t --all-versions").ok().starts_with("sound: "));

    // The copy lacks it too.
    fs::remove_dir_all(folder.join("t/chunks")).unwrap();
    fs::remove_dir_all(folder.join("copy/chunks")).unwrap();
    let ran = tetrys(folder, "verify t --repair --from copy");
    assert!(ran.code == 3 && ran.out.contains("damage left: chunks/") && ran.out.contains("; the copy: "), "{}", ran.out);

    // Words that do not go together, and places where no table is.
    for wrong in ["verify t --repair", "verify t --from copy", "verify t --repair --from copy --sources"] {
        assert_eq!(tetrys(folder, wrong).code, 2, "{wrong}");
    }
    for (wrong, why) in [
        ("verify t --repair --from t", "expected a copy of the table, found the table itself"),
        ("verify t@1 --repair --from copy", "found the name of one version"),
        ("verify nowhere --repair --from copy", "no table there"),
        ("verify t --repair --from nowhere", "expected a copy of "),
    ] {
        assert!(tetrys(folder, wrong).fails(1).contains(why), "{wrong}");
    }
}

#[test]
fn a_view_whose_table_was_moved_is_mended_by_a_rebind() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    tetrys(folder, "select t --where id<3 --out some").ok();
    fs::rename(folder.join("t"), folder.join("moved")).unwrap();
    let ran = tetrys(folder, "doctor some");
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.out.starts_with("../t@1: rows of this view are in a table that cannot be opened: "), "{}", ran.out);
    assert!(ran.out.contains("\n  tetrys rebind some NEW_PLACE, if "), "{}", ran.out);
    tetrys(folder, "rebind some moved").ok();
    assert!(tetrys(folder, "doctor some").ok().contains(": nothing found\n"));
}

/// Runs a command with a terminal as its stdout and stderr, and returns what it printed. `None` if there is no `script`.
fn on_a_terminal(folder: &Path, arguments: &str) -> Option<String> {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_tetrys"));
    let ran = Command::new("script").args(["-qefc", &line, "/dev/null"]).current_dir(folder).stdin(Stdio::null()).output();
    match ran {
        Ok(ran) => {
            assert!(ran.status.success(), "{arguments}: {}", String::from_utf8_lossy(&ran.stdout));
            Some(String::from_utf8_lossy(&ran.stdout).into_owned())
        }
        Err(_) => {
            common::skip("there is no `script`, which runs a command on a terminal");
            None
        }
    }
}

#[test]
fn long_commands_show_their_progress_on_a_terminal_only() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    fs::write(folder.join("patch.csv"), "id,x\n2,7\n").unwrap();
    fs::write(folder.join("x.csv"), "x\n4\n5\n6\n").unwrap();
    tetrys(folder, "ingest csv rows.csv s --index id --group h=x -q").ok();
    tetrys(folder, "ingest csv rows.csv again --index id --group g=x --reference t -q").ok();
    tetrys(folder, "ingest csv rows.csv many --index id --group g=x -q").ok();
    for _ in 0..3 {
        tetrys(folder, "ingest csv rows.csv many --append -q").ok();
    }
    let commands = [
        ("patch", "patch t patch.csv --on id"),
        ("replace-group", "replace-group t g x.csv"),
        ("diff", "diff t@1 t"),
        ("merge", "merge t s --on id --out merged"),
        ("select", "select t --where id=1 --out some"),
        ("delete", "delete t --where id=2"),
        ("compact", "compact many"),
        ("compact", "compact many --runs --extra-ranges 0"),
        ("materialize", "materialize again"),
    ];
    for (name, command) in commands {
        let Some(text) = on_a_terminal(folder, command) else { return };
        assert!(text.contains(&format!("{name} [")) || text.contains(&format!("{name}: ")), "{command}: {text:?}");
        assert!(text.contains(" so far"), "{command}: {text:?}");
    }
    // A bar that counts rows has no phases, and is there from the start.
    for (command, bar) in [
        ("export parquet t --out t.parquet", "export ["),
        ("export arrow t --out t.arrow", "export ["),
        ("ingest csv rows.csv new", "ingest ["),
    ] {
        let Some(text) = on_a_terminal(folder, command) else { return };
        assert!(text.contains(bar) && text.contains("] 0 of "), "{command}: {text:?}");
        let Some(text) = on_a_terminal(folder, &format!("{command}2 --quiet")) else { return };
        assert!(!text.contains(bar), "{command}: {text:?}");
    }
    // Elsewhere stderr stays empty.
    for command in ["diff t@1 t", "select t --where id<3 --out more", "compact many", "export parquet t --out again.parquet"] {
        tetrys(folder, command).ok();
    }
}

#[test]
fn shared_options_are_explained_once() {
    let folder = tempfile::tempdir().unwrap();
    let topic = tetrys(folder.path(), "help stores").ok();
    for words in ["--option NAME=VALUE", "--allow URL", "--allow-unpinned", "TETRYS_ALLOW", "Keep secrets in the environment"] {
        assert!(topic.contains(words), "{words}: {topic}");
    }
    assert_eq!(tetrys(folder.path(), "stores").ok().trim_end(), topic.trim_end());
    let help = tetrys(folder.path(), "--help").ok();
    assert!(help.contains("tetrys help stores") && help.lines().count() < 90, "{} lines", help.lines().count());
    let options = tetrys_with(folder.path(), &["help", "delete"]).ok();
    assert!(options.contains("see `tetrys help stores`") && !options.contains("Keep secrets"), "{options}");
}
