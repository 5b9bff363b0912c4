//! Environment of all suites: the data beside the checkout, the seed of randomized tests, and the length of the suites.
//!
//! A test whose data or tool is absent returns early after [`skip`]. Captured output would hide the skip, so the reason also goes
//! into the file named by `TETRYS_SKIPPED`, which `.ci/run` counts.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each suite uses its part")]

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the root of the workspace, also for the tests of a member package.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("format-spec").is_dir()).unwrap_or(package)
}

/// Returns the folder of real data: `TETRYS_SHARED`, or `shared` beside the checkout. If there is none, the test is recorded as
/// skipped and should return:
///
/// ```ignore
/// let Some(shared) = common::shared() else { return };
/// ```
pub(crate) fn shared() -> Option<PathBuf> {
    let folder = match env::var_os("TETRYS_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => root().parent()?.join("shared"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("no folder of real data at {}; TETRYS_SHARED names another", folder.display()));
    None
}

/// Returns a path inside the folder of real data. If there is no such folder, the test is recorded as skipped and should return.
/// A folder without this path is incomplete, and the test fails.
#[track_caller]
pub(crate) fn shared_path(inside: &str) -> Option<PathBuf> {
    let path = shared()?.join(inside);
    assert!(path.exists(), "the folder of real data is incomplete: no {}", path.display());
    Some(path)
}

/// Records that the running test skips something, and why.
pub(crate) fn skip(reason: &str) {
    record("skipped", reason);
}

/// Records that the running test is a part of the tests that runs only on request: with the variable in `how`.
pub(crate) fn leave_out(what: &str, how: &str) {
    record("left out", &format!("{what}; {how} runs them"));
}

fn record(kind: &str, reason: &str) {
    let thread = std::thread::current();
    let line = format!("{kind}: {}: {reason}\n", thread.name().unwrap_or("a test"));
    print!("{line}");
    if let Some(file) = env::var_os("TETRYS_SKIPPED") {
        // A single write, so that lines of concurrent tests do not mix.
        let opened = fs::OpenOptions::new().create(true).append(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("TETRYS_SKIPPED: {}: {error}", Path::new(&file).display()));
    }
}

/// Returns the Python of a virtual environment with the packages of these requirement files (`tests/venv.sh`). If there is no
/// suitable Python, records the test as skipped and returns `None`.
pub(crate) fn python(requirements: &[&str]) -> Option<PathBuf> {
    let files = requirements.iter().map(|file| root().join(file));
    let output = Command::new("sh").arg(root().join("tests/venv.sh")).args(files).output().ok();
    match output {
        Some(output) if output.status.success() => Some(String::from_utf8(output.stdout).unwrap().trim().into()),
        Some(output) if output.status.code() != Some(3) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        _ => {
            skip("no python3 of 3.10 or later with venv and pip");
            None
        }
    }
}

/// Returns the seed of every randomized test: `TETRYS_SEED` (decimal, or hexadecimal after `0x`) or a fixed one. Prints it, so
/// that the test harness shows it if the test fails.
pub(crate) fn seed() -> u64 {
    let seed = match env::var("TETRYS_SEED") {
        Ok(text) => {
            let parsed = text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
            parsed.unwrap_or_else(|error| panic!("TETRYS_SEED `{text}`: {error}"))
        }
        Err(_) => 0x7465_7472_7973,
    };
    println!("TETRYS_SEED={seed:#x}");
    seed
}

/// Whether the long suites run: `TETRYS_FULL=1`.
pub(crate) fn full() -> bool {
    is_on("TETRYS_FULL")
}

/// Whether a variable is 1.
pub(crate) fn is_on(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| value == "1")
}

/// Returns the number of cases of a randomized test: `few`, or twenty times as many in the long suites.
pub(crate) fn cases(few: usize) -> usize {
    if full() { few * 20 } else { few }
}
