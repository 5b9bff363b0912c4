//! Tests `restore`, `doctor`, progress bars, and the topics of the help.

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
    let said = tetrys(folder, "restore t@gold").ok();
    assert_eq!(said, format!("{url}: nothing to restore: version 4 has the content of version 1 already\n"));
    let said = tetrys(folder, "restore t").ok();
    assert_eq!(said, format!("{url}: nothing to restore: version 4 is the newest; name an earlier one, as in TABLE@1\n"));
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
    let said = tetrys(folder, "restore t@1").fails(1);
    assert!(said.contains("version 1 was deleted by a garbage collection and cannot be restored; the table has "), "{said}");
}

#[test]
fn the_doctor_names_what_is_wrong_and_the_command_that_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    table(folder);
    let url = format!("file://{}/t", folder.canonicalize().unwrap().display());
    assert_eq!(tetrys(folder, "doctor t").ok(), format!("{url} version 1: sound\n"));
    let sound = json!({"url": url, "version": 1, "findings": [], "not_checked": []});
    assert_eq!(tetrys(folder, "doctor t --json").json(), sound);

    // What is not damage has an exit code of its own, and its command mends it.
    tetrys(folder, "edit t --tag gold").ok();
    let manifests = folder.join("t/manifests");
    fs::remove_file(manifests.join(format!("{:020}.json", u64::MAX - 1))).unwrap();
    let ran = tetrys(folder, "doctor t");
    assert_eq!((ran.code, ran.err.as_str()), (5, ""));
    assert!(ran.out.contains("tag `gold` is of version 1, which does not exist\n  tetrys edit t --untag gold\n"), "{}", ran.out);
    assert!(ran.out.ends_with(": 1 finding\n"), "{}", ran.out);
    tetrys(folder, "edit t --untag gold").ok();
    assert!(tetrys(folder, "doctor t").ok().ends_with(": sound\n"));

    // Damage has the exit code of `verify`.
    fs::remove_dir_all(folder.join("t/chunks")).unwrap();
    let ran = tetrys(folder, "doctor t --json");
    let said: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &said["findings"][0]["cure"]), (3, &json!("copy")));
    let (place, command) = (&said["findings"][0]["where"], &said["findings"][0]["command"]);
    assert!(place.as_str().unwrap().starts_with("chunks/"), "{said}");
    assert_eq!(command, "copy it from a copy of the table, then: tetrys verify t");

    assert!(tetrys(folder, "doctor nowhere").fails(1).contains("no table there"));
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
    assert!(ran.out.contains("\n  tetrys rebind some NEW_PLACE\n"), "{}", ran.out);
    tetrys(folder, "rebind some moved").ok();
    assert!(tetrys(folder, "doctor some").ok().ends_with(": sound\n"));
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
        let Some(told) = on_a_terminal(folder, command) else { return };
        assert!(told.contains(&format!("{name} [")) || told.contains(&format!("{name}: ")), "{command}: {told:?}");
        assert!(told.contains(" so far"), "{command}: {told:?}");
    }
    // A bar that counts rows has no phases, and is there from the start.
    for (command, bar) in [
        ("export parquet t --out t.parquet", "export ["),
        ("export arrow t --out t.arrow", "export ["),
        ("ingest csv rows.csv new", "ingest ["),
    ] {
        let Some(told) = on_a_terminal(folder, command) else { return };
        assert!(told.contains(bar) && told.contains("] 0 of "), "{command}: {told:?}");
        let Some(told) = on_a_terminal(folder, &format!("{command}2 --quiet")) else { return };
        assert!(!told.contains(bar), "{command}: {told:?}");
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
