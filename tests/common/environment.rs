//! What every suite shares: the data beside the checkout, the seed of randomized tests, and how long a suite may take.
//!
//! A test whose data or tool is absent returns early after [`skip`]. Captured output would hide that, so the reason also goes
//! into the file named by `TETRYS_SKIPPED`, which `.ci/run` counts.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each suite uses its part")]

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// The root of the workspace, also for the tests of a member.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("format-spec").is_dir()).unwrap_or(package)
}

/// The folder of real data: `TETRYS_SHARED`, or `shared` beside the checkout. Where there is none, the test is recorded as
/// skipped and returns:
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

/// A path inside the folder of real data; as [`shared`] where it is absent.
pub(crate) fn shared_path(inside: &str) -> Option<PathBuf> {
    let path = shared()?.join(inside);
    if !path.exists() {
        skip(&format!("no {}", path.display()));
        return None;
    }
    Some(path)
}

/// Records that the running test leaves something out, and why.
pub(crate) fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: {reason}\n", thread.name().unwrap_or("a test"));
    print!("{line}");
    if let Some(file) = env::var_os("TETRYS_SKIPPED") {
        // One write, so that lines of tests that run beside each other do not mix.
        let opened = fs::OpenOptions::new().create(true).append(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("TETRYS_SKIPPED: {}: {error}", Path::new(&file).display()));
    }
}

/// The python of a virtual environment with what files of the checkout name (`tests/venv.sh`), or `None` after recording that
/// the test is skipped.
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

/// The seed of every randomized test: `TETRYS_SEED` (decimal, or hexadecimal behind `0x`) or a fixed one. It is printed, and
/// the test harness shows it where the test fails.
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

/// How many cases a randomized test draws: `few` in each run, twenty times as many in the long suites.
pub(crate) fn cases(few: usize) -> usize {
    if full() { few * 20 } else { few }
}
