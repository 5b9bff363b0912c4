//! `--help` of every command as text, and what is made from the commands: completions and the manual.
//!
//! `TETRYS_REWRITE=1` writes `help.txt` anew.

mod common;

mod binary;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use binary::tetrys;

#[test]
fn every_help_is_what_was_reviewed() {
    let mut found = String::new();
    for command in commands() {
        found.push_str(&format!("$ tetrys {}\n", [command.as_slice(), &["--help".to_owned()]].concat().join(" ")));
        found.push_str(&help(&command));
        found.push_str("\n================\n\n");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt");
    if std::env::var_os("TETRYS_REWRITE").is_some() {
        fs::write(&file, &found).unwrap();
    }
    let reviewed = fs::read_to_string(&file).unwrap_or_default();
    let differs = found.lines().zip(reviewed.lines()).find(|(found, reviewed)| found != reviewed);
    assert!(found == reviewed, "{differs:?}: review the change, then run with TETRYS_REWRITE=1");
}

#[test]
fn every_help_teaches_by_an_example() {
    for command in commands() {
        let help = help(&command);
        if help.contains("\nCommands:\n") {
            continue;
        }
        let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  tetrys ")).collect();
        assert!(!examples.is_empty(), "no example in {command:?}");
        let own = command.join(" ");
        assert!(examples.iter().any(|example| example.starts_with(&own)), "no example of {own}");
    }
}

#[test]
fn shells_get_completions_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tetrys(folder.path(), &format!("completions {shell}")).ok();
        for word in ["query", "layout", "ndjson", "sequence-by"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(
        tetrys(folder.path(), "completions tcsh").fails(2).contains("[possible values: bash, elvish, fish, powershell, zsh]")
    );
    // What bash thinks of its script, where there is a bash.
    fs::write(folder.path().join("script"), tetrys(folder.path(), "completions bash").ok()).unwrap();
    if let Ok(checked) = Command::new("bash").args(["-n", "script"]).current_dir(folder.path()).status() {
        assert!(checked.success());
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    assert!(tetrys(folder.path(), "man").ok().contains(".SH NAME\ntetrys"));
    tetrys(folder.path(), "man man1").ok();
    let pages: BTreeSet<String> =
        fs::read_dir(folder.path().join("man1")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    for command in commands() {
        let page = std::iter::once("tetrys").chain(command.iter().map(String::as_str)).collect::<Vec<_>>().join("-") + ".1";
        assert!(pages.contains(&page), "{page} in {pages:?}");
    }
    assert_eq!(tetrys(folder.path(), "man man1").fails(1), "error: man1: expected a new or empty folder, found files in it\n");
}

/// Every command by its words, the program itself first.
fn commands() -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut next = 0;
    while let Some(command) = commands.get(next).cloned() {
        let help = help(&command);
        let listed = help.split("\nCommands:\n").nth(1).unwrap_or_default();
        let names = listed.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        commands.extend(names.filter(|name| *name != "help").map(|name| [command.as_slice(), &[name.to_owned()]].concat()));
        next += 1;
    }
    commands.sort();
    commands
}

fn help(command: &[String]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    let output = program.args(command).arg("--help").env("COLUMNS", "120").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}
