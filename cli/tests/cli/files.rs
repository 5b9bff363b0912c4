//! Tests what each command does with the files that it reads: regular files, pipes, and things that are no files.

use std::{
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    os::unix::net::UnixListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use serde_json::json;

use crate::binary::{Ran, tetrys};

const ROWS: i64 = 40;

/// What the place of a file may be.
const KINDS: [&str; 10] = ["regular", "empty", "-", "pipe", "/dev/fd/N", "FIFO", "socket", "device", "folder", "growing"];

/// A command that reads the file `{}`, and what it reads.
struct Reading {
    command: &'static str,
    content: fn() -> Vec<u8>,
    /// Whether `-` is standard input.
    takes_stdin: bool,
    /// Returns a value of the table that depends on the last row of the file.
    last: fn(&Path) -> serde_json::Value,
    expected: fn() -> serde_json::Value,
}

fn csv(column: &str) -> Vec<u8> {
    (0..ROWS).fold(format!("id,{column}\n"), |text, row| format!("{text}{row},{}\n", 10 * row + 1)).into_bytes()
}

fn ndjson() -> Vec<u8> {
    (0..ROWS).map(|row| format!("{{\"id\":{row},\"x\":{}}}\n", 10 * row + 1)).collect::<String>().into_bytes()
}

fn batch() -> RecordBatch {
    let columns = [("id", (0..ROWS).collect::<Int64Array>()), ("x", (0..ROWS).map(|row| 10 * row + 1).collect())];
    RecordBatch::try_from_iter(columns.map(|(name, values)| (name, Arc::new(values) as ArrayRef))).unwrap()
}

fn parquet() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch().schema(), None).unwrap();
    writer.write(&batch()).unwrap();
    writer.close().unwrap();
    bytes
}

fn arrow() -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch().schema()).unwrap();
    writer.write(&batch()).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

/// The files of a folder in which each command runs: a table, a session of another one with a ticket and a receipt.
fn prepare(folder: &Path) {
    let base = (0..ROWS).fold("id,x\n".to_owned(), |text, row| format!("{text}{row},0\n"));
    fs::write(folder.join("base.csv"), base).unwrap();
    fs::write(folder.join("part.csv"), csv("x")).unwrap();
    tetrys(folder, "ingest csv base.csv t --index id --group g=x -q").ok();
    tetrys(folder, "session begin joint base.csv --index id --group g=x --out ticket").ok();
    tetrys(folder, "session write-partition joint ticket 0 part.csv --index id --group g=x --out receipt").ok();
}

fn cell(folder: &Path, table: &str, row: i64, column: &str) -> serde_json::Value {
    tetrys(folder, &format!("get {table} {row} --columns {column} --json")).json()["rows"][0]["values"][column].clone()
}

fn rows(folder: &Path, table: &str) -> serde_json::Value {
    tetrys(folder, &format!("info {table} --json")).json()["rows"].clone()
}

fn last_x() -> serde_json::Value {
    json!(10 * ROWS - 9)
}

fn commands() -> Vec<Reading> {
    fn last_of_t(folder: &Path) -> serde_json::Value {
        cell(folder, "t", ROWS - 1, "x")
    }
    fn last_of_new(folder: &Path) -> serde_json::Value {
        cell(folder, "new", ROWS - 1, "x")
    }
    fn last_of_joint(folder: &Path) -> serde_json::Value {
        if folder.join("again").exists() {
            tetrys(folder, "session commit joint ticket again").ok();
        }
        cell(folder, "joint", ROWS - 1, "x")
    }
    fn all_of_busy(folder: &Path) -> serde_json::Value {
        rows(folder, "busy")
    }
    let of = |command, content: fn() -> Vec<u8>, last: fn(&Path) -> serde_json::Value| Reading {
        command,
        content,
        takes_stdin: true,
        last,
        expected: last_x,
    };
    let x = || csv("x");
    let y = || csv("y");
    vec![
        of("ingest csv {} new --index id -q", x, last_of_new),
        of("ingest ndjson {} new --index id -q", ndjson, last_of_new),
        of("ingest parquet {} new --index id -q", parquet, last_of_new),
        of("ingest arrow {} new --index id -q", arrow, last_of_new),
        of("ingest csv {} t --append -q", x, |folder| cell(folder, "t", 2 * ROWS - 1, "x")),
        of("ingest ndjson {} t --append -q", ndjson, |folder| cell(folder, "t", 2 * ROWS - 1, "x")),
        of("ingest csv {} t --overwrite -q", x, last_of_t),
        of("ingest parquet {} t --overwrite -q", parquet, last_of_t),
        of("patch t {} --on id --format csv", x, last_of_t),
        of("patch t {} --on id --format arrow", arrow, last_of_t),
        of("replace-group t g {} --format csv --on id", x, last_of_t),
        of("replace-group t g {} --format ndjson --drop id", ndjson, last_of_t),
        of("add-group t h {} --format csv --on id", y, |folder| cell(folder, "t", ROWS - 1, "y")),
        of("session begin new {} --format csv --index id --out new.ticket", x, |folder| {
            tetrys(folder, "session write-partition new new.ticket 0 part.csv --index id --out r").ok();
            tetrys(folder, "session commit new new.ticket r").ok();
            cell(folder, "new", ROWS - 1, "x")
        }),
        of("session write-partition joint ticket 0 {} --format csv --index id --group g=x --out again", x, last_of_joint),
        Reading {
            command: "session write-partition joint {ticket} 0 part.csv --index id --group g=x --out again",
            content: Vec::new,
            takes_stdin: false,
            last: last_of_joint,
            expected: last_x,
        },
        Reading {
            command: "session commit joint ticket {receipt}",
            content: Vec::new,
            takes_stdin: false,
            last: last_of_joint,
            expected: last_x,
        },
        Reading {
            command: "run {}",
            content: || b"from = 't'\nfilter = 'id >= 0'\n[sources]\nt = 't'\n[output]\nview = 'busy'\n".to_vec(),
            takes_stdin: false,
            last: all_of_busy,
            expected: || json!(ROWS),
        },
    ]
}

/// Runs a command line of a shell, whose variable `T` is the binary. Ends it if it hangs.
fn shell(folder: &Path, line: &str) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("T", env!("CARGO_BIN_EXE_tetrys")).current_dir(folder).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(120);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{line}: hangs");
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Something that feeds the file until it is dropped.
enum Feeder {
    Nothing,
    Process(Child),
    Listener(#[expect(dead_code, reason = "kept open")] UnixListener),
    Thread(Arc<AtomicBool>, Option<thread::JoinHandle<()>>),
}

impl Drop for Feeder {
    fn drop(&mut self) {
        match self {
            Self::Process(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Self::Thread(stop, thread) => {
                stop.store(true, Ordering::Relaxed);
                thread.take().unwrap().join().unwrap();
            }
            Self::Nothing | Self::Listener(_) => {}
        }
    }
}

/// Appends to a file until it is told to stop. Returns when it has begun.
fn growing(path: &Path, bytes: &[u8]) -> Feeder {
    fs::write(path, bytes).unwrap();
    let mut file = File::options().append(true).open(path).unwrap();
    let line = bytes.split_inclusive(|byte| *byte == b'\n').next_back().unwrap().to_vec();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let (begun, begins) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        // Enough for any command, and too little to fill a disk.
        for _ in 0..200_000 {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            file.write_all(&line).unwrap();
            let _ = begun.send(());
            thread::sleep(Duration::from_micros(50));
        }
    });
    begins.recv().unwrap();
    Feeder::Thread(stop, Some(thread))
}

/// Runs a command with its file at a place of this kind.
fn run(folder: &Path, command: &str, content: &[u8], kind: &str) -> Ran {
    fs::write(folder.join("content"), content).unwrap();
    let place = folder.join("place");
    let with = |path: &str| command.replace("{}", path);
    let line = |path: &str| format!("\"$T\" {}", with(path));
    let mut feeder = Feeder::Nothing;
    let line = match kind {
        "regular" => line("content"),
        "empty" => {
            fs::write(&place, "").unwrap();
            line("place")
        }
        "-" => format!("cat content | {}", line("-")),
        "pipe" => format!("cat content | {}", line("/dev/stdin")),
        // What a shell makes of `<(cat content)`.
        "/dev/fd/N" => format!("cat content | {{ exec 9<&0 </dev/null; {}; }}", line("/dev/fd/9")),
        "FIFO" => {
            assert!(Command::new("mkfifo").arg(&place).status().unwrap().success());
            let feeding = Command::new("sh").args(["-c", "cat content > place"]).current_dir(folder).spawn().unwrap();
            feeder = Feeder::Process(feeding);
            line("place")
        }
        "socket" => {
            feeder = Feeder::Listener(UnixListener::bind(&place).unwrap());
            line("place")
        }
        "device" => line("/dev/zero"),
        "folder" => {
            fs::create_dir(&place).unwrap();
            line("place")
        }
        "growing" => {
            feeder = growing(&place, content);
            line("place")
        }
        kind => panic!("{kind}"),
    };
    let ran = shell(folder, &line);
    drop(feeder);
    ran
}

#[test]
fn a_file_is_read_whole_wherever_its_bytes_come_from_or_it_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let base = root.path().join("base");
    fs::create_dir(&base).unwrap();
    prepare(&base);
    let mut matrix = String::new();
    for (number, reading) in commands().iter().enumerate() {
        for (column, kind) in KINDS.into_iter().enumerate() {
            let folder = root.path().join(format!("{number}-{column}"));
            assert!(Command::new("cp").arg("-r").args([&base, &folder]).status().unwrap().success());
            let mut content = (reading.content)();
            let mut command = reading.command.to_owned();
            for file in ["ticket", "receipt"] {
                if command.contains(&format!("{{{file}}}")) {
                    content = fs::read(folder.join(file)).unwrap();
                    command = command.replace(&format!("{{{file}}}"), "{}");
                }
            }
            let ran = run(&folder, &command, &content, kind);
            let outcome = match ran.code {
                0 => "read",
                1 => "refused",
                code => panic!("{command}, {kind}: {code}: {}", ran.err),
            };
            writeln!(matrix, "{command:90} {kind:10} {outcome} {}", ran.err.lines().next().unwrap_or_default()).unwrap();
            let says = match kind {
                "socket" => "expected a file or a pipe, found a socket",
                "device" => "expected a file or a pipe, found a device",
                "folder" => "expected a file or a pipe, found a folder",
                "-" if !reading.takes_stdin => "-: No such file",
                _ => "",
            };
            let refused = (kind == "empty" || kind == "growing") && ran.code == 1 || !says.is_empty();
            assert_eq!(ran.code, i32::from(refused), "{matrix}");
            if refused {
                assert!(ran.err.contains(says) && ran.err.starts_with("error: "), "{command}, {kind}: {}", ran.err);
            } else {
                // A file that grows may have more rows when it is read.
                assert!(kind != "empty", "{command}, {kind}: {}", ran.out);
                assert_eq!((reading.last)(&folder), (reading.expected)(), "{matrix}");
            }
        }
    }
    println!("{matrix}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_whose_output_is_lost_fails_and_says_what_it_committed() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    prepare(folder);
    fs::write(folder.join("recipe.toml"), "from = 't'\nfilter = 'id >= 0'\n[sources]\nt = 't'\n[output]\nview = 'made'\n")
        .unwrap();
    fs::write(folder.join("h.csv"), csv("y")).unwrap();
    for (command, committed) in [
        ("ingest csv part.csv new --index id", Some("new: version 1 was committed before this error")),
        ("ingest csv part.csv new --append --json", Some("new: version 2 was committed")),
        ("patch t part.csv --on id", Some("t: version 2 was committed")),
        ("add-group t h h.csv --on id", Some("t: version 3 was committed")),
        ("replace-group t h h.csv --on id", Some("t: version 4 was committed")),
        ("edit t --set a=1", Some("t: version 5 was committed")),
        ("edit t --set a=1", None),
        ("delete t --where id=3", Some("t: version 6 was committed")),
        ("gc t --yes --keep 1 --age 0", Some("t: the garbage was collected before this error")),
        ("gc t", None),
        ("session commit joint ticket receipt", Some("joint: version 1 was committed")),
        ("concat t t --out both", Some("both: version 1 was committed")),
        ("run recipe.toml", Some("made: version 1 was committed")),
        ("info t", None),
        ("query t 'SELECT * FROM t' --csv", None),
        ("help", None),
        ("help ingest csv", None),
        ("--help", None),
        ("ingest --help", None),
        ("--version", None),
        ("completions bash", None),
    ] {
        let message = shell(folder, &format!("\"$T\" {command} >/dev/full")).fails(1);
        assert!(message.starts_with("error: writing to stdout: "), "{command}: {message}");
        match committed {
            Some(says) => assert!(message.contains("\nnote: ") && message.contains(says), "{command}: {message}"),
            None => assert!(!message.contains("before this error"), "{command}: {message}"),
        }
    }
    // A reader that has seen enough is no error.
    for command in ["help", "ingest csv part.csv more --index id"] {
        shell(folder, &format!("\"$T\" {command} | true")).ok();
    }
}

#[test]
fn a_data_set_in_a_folder_is_no_pipe() {
    let root = tempfile::tempdir().unwrap();
    for command in ["ingest l5 {} new", "ingest petastorm {} new"] {
        for (kind, found) in
            [("pipe", "pipe"), ("/dev/fd/N", "pipe"), ("FIFO", "pipe"), ("socket", "socket"), ("device", "device")]
        {
            let folder = root.path().join(format!("{}-{}", command.len(), kind.replace('/', "-")));
            fs::create_dir(&folder).unwrap();
            let ran = run(&folder, command, &parquet(), kind);
            println!("{command:30} {kind:10} {}", ran.err);
            let message = ran.fails(1);
            assert!(
                message.contains("expected a folder or a ") && message.contains(&format!("found a {found}")),
                "{command}: {message}"
            );
        }
    }
}

#[test]
fn a_pipe_has_no_name_that_says_a_format_and_lies_in_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path();
    prepare(folder);
    let message = run(folder, "patch t {} --on id", &csv("x"), "/dev/fd/N").fails(1);
    assert!(message.contains("not a valid Parquet file") && message.contains("set --format"), "{message}");
    fs::write(folder.join("note.txt"), "rain").unwrap();
    run(folder, "ingest csv {} noted --blob note=path --drop path -q", b"id,path\n1,note.txt\n", "pipe").ok();
    assert_eq!(tetrys(folder, "head noted --columns note --json").json()[0]["note"]["bytes"], 4);
}
