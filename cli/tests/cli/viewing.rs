//! Tests `tetrys view` as users start it: the address on its first line, what it refuses, and that it ends when it is told to.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use crate::binary::{small_table, tetrys};

/// A viewer that is killed when it is dropped.
pub(crate) struct Viewer(Child);

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a viewer, and returns its host and token.
pub(crate) fn started(folder: &Path, arguments: &[&str]) -> (Viewer, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    command.arg("view").args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let (host, token) = line.trim().strip_prefix("http://").unwrap().split_once("/#token=").unwrap();
    (Viewer(child), host.to_owned(), token.to_owned())
}

/// Returns the body of an answer, which ends with its connection.
pub(crate) fn asked(host: &str, token: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nSec-Fetch-Site: same-origin\r\nAuthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    bytes.split_off(end + 4)
}

/// Runs a command that the page gave for copying, in a shell.
pub(crate) fn run_copied(folder: &Path, command: &str) -> String {
    let command = command.strip_prefix("tetrys ").unwrap();
    let script = format!("'{}' {command}", env!("CARGO_BIN_EXE_tetrys"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_viewer_prints_its_address_first_and_shows_what_the_copied_command_prints() {
    let folder = tempfile::tempdir().unwrap();
    small_table(folder.path(), 6);
    let (_viewer, host, token) = started(folder.path(), &["table", "--no-open"]);
    assert!(host.starts_with("127.0.0.1:") && token.len() == 64, "{host} {token}");
    let condition = "where=frame_index%20%3E%202&sort=frame_index&descending=1";
    let selected: Value = serde_json::from_slice(&asked(&host, &token, &format!("/api/select?table=0&{condition}"))).unwrap();
    let copies: Value = serde_json::from_slice(&asked(&host, &token, &format!("/api/copies?table=0&{condition}"))).unwrap();
    let printed = run_copied(folder.path(), copies["command"].as_str().unwrap());
    assert_eq!(printed.lines().count() as u64 - 1, selected["rows"].as_u64().unwrap(), "{printed}");
    run_copied(folder.path(), &copies["view"].as_str().unwrap().replace("NAME", "late"));
    assert_eq!(tetrys(folder.path(), "info late --json").json()["rows"], selected["rows"]);
}

#[test]
fn the_viewer_refuses_what_it_cannot_show() {
    let folder = tempfile::tempdir().unwrap();
    small_table(folder.path(), 3);
    let refused = tetrys(folder.path(), "view nothing --no-open").fails(1);
    assert!(refused.contains("nothing"), "{refused}");
    let refused = tetrys(folder.path(), "view table --no-open --bind 0.0.0.0").fails(2);
    assert!(refused.contains("--bind 0.0.0.0 --port 8000 --allow-host gpu7:8000"), "{refused}");
    let refused = tetrys(folder.path(), "view table --no-open --allow-host a/b").fails(2);
    assert!(refused.contains("HOST:PORT, such as gpu7:8000, found a/b"), "{refused}");
    std::fs::write(folder.path().join("monday.mcap"), "anything").unwrap();
    let refused = tetrys(folder.path(), "view monday.mcap --no-open").fails(2);
    assert!(refused.contains("monday.mcap: this is a log: `tetrys logs info` shows it"), "{refused}");
    assert!(tetrys(folder.path(), "view --no-open").fails(2).contains("TABLE"));
    assert!(tetrys(folder.path(), "view table --no-open --port 65536").fails(2).contains("65535"));
    assert!(tetrys(folder.path(), "view table --no-open --bind here").fails(2).contains("127.0.0.1"));
}

#[test]
fn frames_of_level_5_are_shown_from_above_and_a_map_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    small_table(folder.path(), 6);
    let (_viewer, host, token) = started(folder.path(), &["table", "--no-open"]);
    let answer: Value = serde_json::from_slice(&asked(&host, &token, "/api/scene?table=0&row=3&before=2&after=2")).unwrap();
    assert!(
        !answer["agents"].as_array().unwrap().is_empty() && answer["hint"].as_str().unwrap().contains("--l5-map"),
        "{answer}"
    );
    assert_eq!(answer["failures"], serde_json::json!({}));
    let refused = tetrys(folder.path(), "view table --no-open --l5-map nothing.pb").fails(1);
    assert!(refused.contains("nothing.pb"), "{refused}");
    std::fs::write(folder.path().join("map.pb"), []).unwrap();
    assert!(tetrys(folder.path(), "view table --no-open --l5-map map.pb").fails(1).contains("meta.json"));
    std::fs::write(folder.path().join("meta.json"), "{}").unwrap();
    assert!(tetrys(folder.path(), "view table --no-open --l5-map map.pb").fails(1).contains("world_to_ecef"));
    assert!(tetrys(folder.path(), "view table --no-open --l5-meta meta.json").fails(2).contains("--l5-map"));
}
