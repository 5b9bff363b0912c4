//! Kills the binary at random moments while it makes views part by part: a view is then absent or complete, nothing is left in the
//! temporary folder that harms the next run, and the next run makes the right view. A command that is interrupted leaves nothing.

use crate::common;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::binary::{tetrys, tetrys_with};
use polars::prelude::DataFrame;
use tetrys::{ErrorKind, Table};

/// Numbers of keys. Products with odd numbers bring them into another order.
const KEYS: u64 = 1 << 13;

/// Writes a table whose keys are in no order.
fn table(folder: &Path, name: &str, factor: u64, step: usize) {
    let mut text = format!("key,note,{name}.value\n");
    for row in (0..KEYS).step_by(step) {
        text.push_str(&format!("{},the row {row} of {name} with a text,{row}\n", row * factor % KEYS));
    }
    fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    tetrys(folder, &format!("ingest csv {name}.csv {name} --index key,note --group {name}={name}.value -q")).ok();
}

/// Returns the rows of a view, with their locators; `None` if it does not exist. Asserts that the objects of a view are sound.
fn rows(folder: &Path, view: &str) -> Option<DataFrame> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = folder.join(view).display().to_string();
    match runtime.block_on(Table::open(&url)) {
        Ok(table) => {
            tetrys(folder, &format!("verify {view}")).ok();
            Some(runtime.block_on(table.index()).unwrap().to_frame())
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
            None
        }
    }
}

/// A command, and the views that it makes: none if it is a dry run.
struct Work {
    arguments: &'static str,
    views: &'static [&'static str],
}

const SMALL_MEMORY: &str = "--memory-limit 0 --temporary-folder scratch";

#[test]
fn a_killed_merge_or_split_leaves_each_view_absent_or_complete_and_the_next_run_is_right() {
    let all = [
        Work { arguments: "merge a b --on key --out view", views: &["view"] },
        Work { arguments: "merge a b --on key --out view --dry-run", views: &[] },
        Work { arguments: "select a --split key --shares train=0.7,test=0.3 --out parts", views: &["parts/train", "parts/test"] },
    ];
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("scratch")).unwrap();
    table(folder, "a", 40_503, 1);
    table(folder, "b", 48_271, 3);
    let remove = |view: &str| drop(fs::remove_dir_all(folder.join(view)));
    let mut random = common::seed();
    let (mut killed, mut complete, mut folders) = (0, 0, 0);
    for Work { arguments, views } in &all {
        tetrys(folder, arguments).ok();
        let expected: Vec<DataFrame> = views.iter().map(|view| rows(folder, view).unwrap()).collect();
        views.iter().for_each(|view| remove(view));
        let arguments: Vec<&str> = arguments.split(' ').chain(SMALL_MEMORY.split(' ')).collect();
        let begun = Instant::now();
        tetrys_with(folder, &arguments).ok();
        let whole = begun.elapsed();
        views.iter().for_each(|view| remove(view));
        for round in 0..if common::full() { 100 } else { 5 } {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
            command.args(&arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            // The first kill comes at once, so that some process is killed however the speed of the machine changes.
            let part = if round == 0 { 0.0 } else { (random >> 40) as f64 / (1_u64 << 24) as f64 };
            std::thread::sleep(whole.mul_f64(part).max(Duration::from_millis(1)));
            child.kill().unwrap();
            let status = child.wait().unwrap();
            assert!(status.signal() == Some(9) || status.success(), "{arguments:?}: {status}");
            killed += usize::from(!status.success());
            for (view, expected) in views.iter().zip(&expected) {
                let Some(found) = rows(folder, view) else { continue };
                assert!(found.equals_missing(expected), "{view} after a kill: {found} {expected}");
                complete += 1;
                remove(view);
            }
            // What is left are folders of dry runs. Other temporary files have no name.
            for entry in fs::read_dir(folder.join("scratch")).unwrap() {
                let entry = entry.unwrap();
                assert!(entry.file_name().to_string_lossy().starts_with(".tmp"), "{entry:?}");
                assert!(entry.metadata().unwrap().is_dir(), "{entry:?}");
                assert!(views.is_empty(), "{arguments:?}: {entry:?}");
            }
            tetrys_with(folder, &arguments).ok();
            for (view, expected) in views.iter().zip(&expected) {
                let found = rows(folder, view).unwrap();
                assert!(found.equals_missing(expected), "{view} after a kill and a run: {found} {expected}");
                remove(view);
            }
        }
        for entry in fs::read_dir(folder.join("scratch")).unwrap() {
            fs::remove_dir_all(entry.unwrap().path()).unwrap();
            folders += 1;
        }
    }
    println!("{killed} kills, {complete} views were complete, {folders} folders of dry runs were left");
    assert!(killed > 0);
}

/// Returns the names of all files and folders in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The signals that interrupt a command.
const SIGNALS: [(i32, &str); 3] = [(1, "HUP"), (2, "INT"), (15, "TERM")];

/// Sends a signal to a process.
fn send(name: &str, child: &Child) {
    Command::new("kill").args(["-s", name, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Returns the command of `tetrys`, for which no signal is ignored: the tests may run in the background of a shell, where SIGINT is.
fn with_signals() -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(env!("CARGO_BIN_EXE_tetrys"));
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_tetrys")]);
    command
}

/// Returns the names and the bytes of the files in a folder, or of one file.
fn sizes(path: &Path) -> BTreeMap<PathBuf, u64> {
    if path.is_file() {
        return BTreeMap::from([(path.to_owned(), path.metadata().unwrap().len())]);
    }
    fs::read_dir(path).unwrap().flat_map(|entry| sizes(&entry.unwrap().path())).collect()
}

#[test]
fn an_interrupted_command_leaves_nothing_and_ends_by_the_signal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    crate::binary::small_table(folder, 300);
    fs::create_dir(folder.join("temporary")).unwrap();
    let all: [&[&str]; 5] = [
        &["export parquet table --out out"],
        &["export arrow table --out out"],
        &["export l5 table out"],
        // A fast build may have made forty scenes before the signal arrives.
        &["generate l5 out --scenes 40", "generate l5 out --scenes 800"],
        &["get table 0 --offsets=0..=299 --out out"],
    ];
    for (signal, commands) in SIGNALS.iter().flat_map(|signal| all.iter().map(move |commands| (*signal, *commands))) {
        let tries = |number| if number + 1 < commands.len() { 10 } else { 200 };
        let mut numbered = commands.iter().enumerate();
        assert!(
            numbered.any(|(number, command)| is_interrupted(folder, command, signal, tries(number))),
            "{commands:?}: never interrupted"
        );
    }
}

/// Runs a command that makes `out` and sends it a signal, `tries` times at most. Returns whether a signal ended it before it was done.
/// Checks each time what is left.
fn is_interrupted(folder: &Path, arguments: &str, (signal, name): (i32, &str), tries: usize) -> bool {
    let (before, made) = (names(folder), folder.join("out"));
    let remove = || if made.is_dir() { fs::remove_dir_all(&made).unwrap() } else { fs::remove_file(&made).unwrap() };
    tetrys(folder, arguments).ok();
    let whole = sizes(&made);
    remove();
    for _ in 0..tries {
        let mut command = with_signals();
        command.args(arguments.split(' ')).env("TMPDIR", folder.join("temporary"));
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while names(folder) == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if child.try_wait().unwrap().is_none() {
            send(name, &child);
        }
        let status = child.wait().unwrap();
        if !status.success() {
            assert_eq!(status.signal(), Some(signal), "{arguments}: {status}");
        }
        // The signal may also come between the last step and the end of the process.
        let is_complete = status.success() || made.exists();
        if is_complete {
            assert_eq!(sizes(&made), whole, "{arguments} after SIG{name}");
            remove();
        }
        assert_eq!(names(folder), before, "{arguments} after SIG{name}");
        assert_eq!(names(&folder.join("temporary")), [""; 0], "{arguments} after SIG{name}");
        if !is_complete {
            return true;
        }
    }
    false
}

#[test]
fn an_interrupted_demo_or_dry_run_leaves_no_temporary_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let temporary = folder.join("temporary");
    fs::create_dir(&temporary).unwrap();
    table(folder, "a", 40_503, 1);
    table(folder, "b", 48_271, 3);
    let all = [
        "demo",
        "merge a b --on key --out view --dry-run --memory-limit 0",
        "select a --split key --shares train=0.7,test=0.3 --out parts --dry-run --memory-limit 0",
    ];
    for ((signal, name), arguments) in SIGNALS.iter().flat_map(|signal| all.iter().map(move |work| (*signal, *work))) {
        let mut interrupted = false;
        for _ in 0..200 {
            let mut command = with_signals();
            command.args(arguments.split(' ')).env("TMPDIR", &temporary);
            command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            while names(&temporary).is_empty() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            send(name, &child);
            let status = child.wait().unwrap();
            assert!(status.success() || status.signal() == Some(signal), "{arguments}: {status}");
            assert_eq!(names(&temporary), [""; 0], "{arguments} after SIG{name}");
            interrupted = !status.success();
            if interrupted {
                break;
            }
        }
        assert!(interrupted, "{arguments} was never interrupted");
    }
}

/// Whether a process has a file in this folder open, also one without a name.
#[cfg(target_os = "linux")]
fn has_open(child: &Child, folder: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|path| path.starts_with(folder)))
}

/// Only Linux tells which files a process has open.
#[cfg(target_os = "linux")]
#[test]
fn an_ingest_that_is_interrupted_or_killed_leaves_no_copy_of_its_input() {
    use std::io::Write;

    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    for (signal, name) in SIGNALS.into_iter().chain([(9, "KILL")]) {
        let mut command = with_signals();
        command.args("ingest csv - out --index key".split(' ')).env("TMPDIR", &temporary);
        command.current_dir(folder.path()).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        // Standard input stays open until the command has ended, so that it waits for more. `wait` would close the child's own handle.
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"key,value\n1,2\n").unwrap();
        while !has_open(&child, &temporary) {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_millis(1));
        }
        send(name, &child);
        let status = child.wait().unwrap();
        drop(input);
        assert_eq!(status.signal(), Some(signal), "{status}");
        assert_eq!(names(&temporary), [""; 0], "after SIG{name}");
        assert_eq!(names(folder.path()), ["temporary"]);
    }
}

#[test]
fn an_interrupted_import_of_logs_makes_no_table_and_the_same_command_makes_it_later() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names: Vec<String> = (0..20).map(|log| format!("log{log}.mcap")).collect();
    names.iter().for_each(|name| crate::logs::recording(&folder.join(name)));
    // So many rows take a while.
    let clock = "topic = \"/a\"\nname = \"a\"\ntime = \"stamp\"";
    let many = crate::logs::RECIPE.replace(clock, "rate = \"20000Hz\"");
    for (signal, name) in SIGNALS {
        fs::write(folder.join("sync.toml"), &many).unwrap();
        let arguments = format!("ingest logs {} table{signal} --recipe sync.toml --workers 2", names.join(" "));
        let mut command = with_signals();
        command.args(arguments.split(' ')).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        while !folder.join(format!("table{signal}")).exists() {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::sleep(Duration::from_millis(1));
        }
        send(name, &child);
        let output = child.wait_with_output().unwrap();
        // A shell says 128 and the signal: 130 after Ctrl-C.
        assert_eq!(output.status.signal(), Some(signal), "{}", output.status);
        let printed = String::from_utf8(output.stderr).unwrap();
        let expected = "interrupted: run the same command again to go on: logs that are written are not read again.";
        assert!(printed.contains(expected), "{printed}");
        tetrys(folder, &format!("info table{signal}")).fails(1);
        fs::write(folder.join("sync.toml"), crate::logs::RECIPE).unwrap();
        assert!(tetrys(folder, &arguments).ok().contains("400 rows, 20 sequences"));
    }
}

/// Returns the number of receipts of the sessions of a table.
fn receipts(table: &Path) -> usize {
    let sessions = fs::read_dir(table.join("sessions")).into_iter().flatten().flatten();
    let files = sessions.flat_map(|session| fs::read_dir(session.path()).into_iter().flatten().flatten());
    files.filter(|file| file.path().extension().is_some_and(|end| end == "receipt")).count()
}

#[test]
fn an_import_of_logs_that_is_killed_again_and_again_makes_the_table_of_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let names: Vec<String> = (0..8).map(|log| format!("log{log}.mcap")).collect();
    names.iter().for_each(|name| crate::logs::recording(&folder.join(name)));
    let clock = "topic = \"/a\"\nname = \"a\"\ntime = \"stamp\"";
    // Each row has a message.
    let recipe = crate::logs::RECIPE.replace(clock, "rate = \"1000Hz\"").replace("50ms", "200ms");
    fs::write(folder.join("sync.toml"), recipe).unwrap();
    let arguments = |table: &str| format!("ingest logs {} {table} --recipe sync.toml --workers 2 --json", names.join(" "));
    let whole = tetrys(folder, &arguments("whole")).json();
    assert_eq!(whole["resumed"].as_array().unwrap().len(), 0);
    let (mut killed, mut written) = (0, 0);
    let made = loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
        command.args(arguments("table").split(' ')).current_dir(folder);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        while receipts(&folder.join("table")) <= written && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            break serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap();
        }
        assert_eq!(output.status.signal(), Some(9), "{}", output.status);
        killed += 1;
        if folder.join("table/manifests").exists() {
            // It was killed behind its commit, so the next one has nothing to do.
            break tetrys(folder, &arguments("table")).json();
        }
        let now = receipts(&folder.join("table"));
        assert!(now > written, "{now} receipts after {written}: what was written is gone");
        written = now;
    };
    assert!(killed > 0, "the import was never killed");
    // It took over what had a receipt, unless it was killed so late that nothing was left to do.
    let count = |key: &str| made[key].as_array().unwrap().len();
    assert!(count("present") == 8 || count("resumed") == written, "{made}");
    assert_eq!((&made["rows"], &made["lineage"]["matches"]), (&whole["rows"], &whole["lineage"]["matches"]));
    // The rows are those of an import in one go, in the same order.
    let columns = ["log", "part", "time", "b.dt", "b.x"];
    let [found, expected] = ["table", "whole"].map(|table| rows(folder, table).unwrap().select(columns).unwrap());
    assert!(found.equals_missing(&expected), "{found} {expected}");
}

/// Only Linux tells a process which signals it ignores.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_the_parent_ignores_does_not_end_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The shell ignores the signals, and so does the command that it becomes.
    let script = "trap '' HUP INT TERM; exec \"$0\" generate l5 out --scenes 3 --frames 100";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_tetrys")]).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    while names(folder).is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    SIGNALS.iter().for_each(|(_, name)| send(name, &child));
    assert!(child.wait().unwrap().success());
    assert_eq!(names(folder), ["out"]);
}
