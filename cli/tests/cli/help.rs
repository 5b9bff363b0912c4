//! Tests the `--help` of every command, the completion scripts and the manual pages.
//!
//! `TETRYS_REWRITE=1` rewrites `help.txt`.

use crate::binary;
use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::binary::tetrys;

#[test]
fn every_help_is_what_was_reviewed() {
    let mut found = String::new();
    let topics = ["stores", "recipe"].map(|topic| vec!["help".to_owned(), topic.to_owned()]);
    for command in commands().into_iter().chain(topics) {
        found.push_str(&format!("$ tetrys {}\n", asked(&command).join(" ")));
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
    // Lets bash check its script, if bash is installed.
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

/// Returns the words of every command and subcommand; the program itself, without words, comes first.
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

/// Returns the words that ask for the help of a command, or for a topic.
fn asked(command: &[String]) -> Vec<String> {
    let is_topic = command.first().is_some_and(|word| word == "help");
    command.iter().cloned().chain((!is_topic).then(|| "--help".to_owned())).collect()
}

fn help(command: &[String]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    let output = program.args(asked(command)).env("COLUMNS", "120").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// One call of each command, in an order that works. `~` stands for a space.
const CALLS: &[(&str, &str)] = &[
    ("demo", "--scenes 1 --frames 2"),
    ("generate l5", "zarr --scenes 2 --frames 5 --agents 3"),
    ("ingest l5", "zarr table"),
    ("export l5", "table back"),
    ("l5 show", "table 3 --png frame.png --size 64"),
    ("export parquet", "table --out frame.parquet"),
    ("export arrow", "table --columns timestamp,host,ego.* --out frame.arrow"),
    ("ingest parquet", "frame.parquet p"),
    ("ingest arrow", "frame.arrow a"),
    ("ingest csv", "frame.csv c --index id --group x=x --group y=y"),
    ("ingest ndjson", "frame.ndjson n"),
    ("ingest petastorm", "frame.parquet m"),
    ("logs info", "monday.mcap"),
    ("logs plan", "monday.mcap"),
    ("ingest logs", "monday.mcap synced --recipe sync.toml"),
    ("session begin", "s frame.csv --out ticket"),
    ("session write-partition", "s ticket 0 frame.csv --out receipt"),
    ("session commit", "s ticket receipt"),
    ("session list", "s"),
    ("session abort", "s 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b"),
    ("info", "table"),
    ("schema", "table"),
    ("head", "table"),
    ("stats", "table"),
    ("query", "table SELECT~row~FROM~t"),
    ("versions", "table"),
    ("du", "table"),
    ("edit", "c --set place=lab --tag gold"),
    ("patch", "c patch.csv --on id"),
    ("replace-group", "c x x.csv"),
    ("add-group", "c z z.csv"),
    ("delete", "c --where id=2"),
    ("restore", "c@1"),
    ("resolve", "c --version 1 --commit 6c0e2c61-7b5b-4f0c-9a0e-2f6a4f4d0a3b"),
    ("compact", "c"),
    ("materialize", "c"),
    ("gc", "c"),
    ("get", "table 0"),
    ("explain", "table 0"),
    ("plan", "table --batch 2"),
    ("throughput", "table --batch 2"),
    ("layout", "table"),
    ("merge", "c s --on id --out merged"),
    ("concat", "c@1 c@2 --out both"),
    ("select", "c --where id<3 --out some"),
    ("run", "recipe.toml"),
    ("diff", "c@1 c"),
    ("rebind", "some c"),
    ("users", "c"),
    ("verify", "c"),
    ("doctor", "c"),
    ("selftest", "store"),
    ("limits", ""),
    ("cache path", "--option cache=cache"),
    ("cache stats", "--option cache=cache"),
    ("cache clear", "--option cache=cache"),
    ("completions", "bash"),
    ("man", ""),
];

#[test]
fn every_command_prints_one_json_document() {
    let leaves: BTreeSet<String> = commands()
        .into_iter()
        .filter(|command| !help(command).contains("\nCommands:\n"))
        .map(|command| command.join(" "))
        // It serves until it is ended.
        .filter(|command| command != "view")
        .collect();
    assert_eq!(CALLS.iter().map(|(command, _)| (*command).to_owned()).collect::<BTreeSet<_>>(), leaves, "each has its call");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, text) in [
        ("frame.csv", "id,x,y\n1,0.5,a\n2,1.5,b\n3,2.5,c\n"),
        ("patch.csv", "id,x\n2,7.5\n"),
        ("x.csv", "x\n1.5\n2.5\n3.5\n"),
        ("z.csv", "z\n1\n2\n3\n"),
        ("frame.ndjson", "{\"id\":1,\"x\":[1,2]}\n"),
        ("recipe.toml", "from = 'c'\nfilter = 'id < 3'\n[sources]\nc = 'c'\n[output]\nview = 'cooked'\n"),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    crate::logs::recording(&folder.join("monday.mcap"));
    fs::write(folder.join("sync.toml"), crate::logs::RECIPE).unwrap();
    for (command, arguments) in CALLS {
        let words = command.split(' ').chain(arguments.split(' ').filter(|word| !word.is_empty())).chain(["--json"]);
        let words: Vec<String> = words.map(|word| word.replace('~', " ")).collect();
        let ran = binary::tetrys_with(folder, &words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{command}: {}", ran.err);
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&ran.out) {
            panic!("{command}: {error}: {}", ran.out);
        }
    }
}
