//! Runs the real binary and reads its output and files.

#![allow(dead_code, reason = "each suite uses its part")]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::common::npz::{self, Npy};

/// Exit code and output of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `tetrys` in `folder`. Arguments are separated by spaces.
pub(crate) fn tetrys(folder: &Path, arguments: &str) -> Ran {
    tetrys_with(folder, &arguments.split(' ').collect::<Vec<_>>())
}

/// Runs `tetrys` in `folder`.
pub(crate) fn tetrys_with(folder: &Path, arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tetrys"));
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().unwrap();
    let ran = Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert_plain(&ran.err, &arguments.join(" "));
    ran
}

/// Asserts that a message has no word of Rust, except words of the arguments.
pub(crate) fn assert_plain(message: &str, arguments: &str) {
    let words = include_str!("../../../tests/rust_words.txt").lines().filter(|word| !word.is_empty() && !word.starts_with('#'));
    let shown: Vec<&str> = words.filter(|word| message.contains(word) && !arguments.contains(word)).collect();
    assert!(shown.is_empty(), "tetrys {arguments}: words of Rust {shown:?} in: {message}");
}

impl Ran {
    /// Returns stdout. Asserts exit code 0 and an empty stderr.
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// Returns stdout as JSON. Asserts exit code 0 and an empty stderr.
    pub(crate) fn json(self) -> Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// Returns stderr. Asserts exit code `code` and an empty stdout.
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (code, ""), "{}", self.err);
        self.err
    }
}

/// Reads every array in a folder, by file name without `.npy`.
pub(crate) fn arrays(folder: &Path) -> BTreeMap<String, Npy> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
    files
        .map(|file| {
            let name = file.file_name().into_string().unwrap();
            (name.strip_suffix(".npy").unwrap().to_owned(), npz::parse(fs::read(file.path()).unwrap()))
        })
        .collect()
}

/// Generates the data set `zarr` of two scenes of `frames` frames, and the table `table` from it.
pub(crate) fn small_table(folder: &Path, frames: u32) {
    tetrys(folder, &format!("generate l5 zarr --scenes 2 --frames {frames} --agents 12 --seed 5 --mask")).ok();
    tetrys(folder, "ingest l5 zarr table --quiet").ok();
}
