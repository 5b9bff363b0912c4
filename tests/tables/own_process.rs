//! Runs a test again in a process of its own, to measure its memory or to fill its disk.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{MEMORY, common};

/// Returns what the parent process asks of this one, if this is the process of the test that has this environment variable.
pub(crate) fn asked(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Runs a test again with this value of its variable. Returns its output.
fn output_of(mut command: Command, test: &str, variable: &str, value: &str) -> String {
    let Output { status, stdout, stderr } = command.arg(test).env(variable, value).output().unwrap();
    let output = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{output} {}", String::from_utf8_lossy(&stderr));
    output
}

/// Runs a test again with files of at most 4 KiB: writing more is an error, as on a full disk. Returns its output.
pub(crate) fn on_full_disk(test: &str, variable: &str, folder: &Path) -> String {
    let mut shell = Command::new("sh");
    // Without the trap, the process would end by a signal.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" --exact --nocapture \"$1\"";
    shell.args(["-c", script]).arg(std::env::current_exe().unwrap());
    output_of(shell, test, variable, folder.to_str().unwrap())
}

/// Whether memory is measured here: only in a full run.
pub(crate) fn memory_is_measured() -> bool {
    common::full()
}

/// Returns the memory limit and the folder that the parent process asks for.
pub(crate) fn asked_limit(variable: &str) -> Option<(u64, PathBuf)> {
    let asked = asked(variable)?;
    let (limit, folder) = asked.split_once(' ').unwrap();
    Some((limit.parse().unwrap(), folder.into()))
}

/// Prints the peak of the memory that `work` allocates, above what the process has before.
pub(crate) fn print_peak(work: impl FnOnce()) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    println!("peak {} bytes", MEMORY.peak_usage().saturating_sub(before));
}

/// Runs a test again with this memory limit. Returns the peak of its memory, in bytes.
pub(crate) fn peak(test: &str, variable: &str, limit: u64, folder: &Path) -> u64 {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture"]);
    let output = output_of(command, test, variable, &format!("{limit} {}", folder.display()));
    output.split_once("peak ").and_then(|(_, output)| output.split_once(" bytes")?.0.parse().ok()).unwrap()
}

/// Runs a test again with this memory limit and without one. Asserts that the limit halves the peak of the memory.
pub(crate) fn assert_limit_halves_peak(test: &str, variable: &str, limit: u64, folder: &Path) {
    let (of_parts, of_all) = (peak(test, variable, limit, folder), peak(test, variable, u64::MAX, folder));
    println!("{of_parts} bytes with a limit of {limit} bytes, {of_all} in memory");
    assert!(of_parts < of_all / 2, "{of_parts} bytes with a limit of {limit} bytes, {of_all} in memory");
}
