//! Recordings for the tests.

#![allow(dead_code, unreachable_pub, missing_docs, unused_imports, reason = "each suite uses its part")]

#[path = "../../../tests/common/environment.rs"]
mod environment;

pub(crate) use environment::*;

use std::{io::Read, path::Path};

/// Returns the names and the bytes of the files of an archive.
pub(crate) fn untar(archive: &Path) -> Vec<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    zstd::stream::read::Decoder::new(std::fs::File::open(archive).unwrap()).unwrap().read_to_end(&mut bytes).unwrap();
    let (mut files, mut at) = (Vec::new(), 0);
    while let Some(header) = bytes.get(at..at + 512).filter(|header| header[0] != 0) {
        let text = |from: usize, len: usize| {
            let field = &header[from..from + len];
            let end = field.iter().position(|byte| *byte == 0).unwrap_or(len);
            String::from_utf8_lossy(&field[..end]).trim().to_owned()
        };
        let size = usize::from_str_radix(&text(124, 12), 8).unwrap();
        if header[156] == b'0' {
            files.push((text(0, 100), bytes[at + 512..at + 512 + size].to_vec()));
        }
        at += 512 + size.next_multiple_of(512);
    }
    files
}

/// Returns the recordings in the test data of the crate `mcap`: those of a real drive. Cargo fetches them once.
pub(crate) fn recording(name: &str) -> Option<std::path::PathBuf> {
    let manifest = root().join("tests/mcap-files/Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let found = std::process::Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    let package = found["packages"].as_array().unwrap().iter().find(|package| package["name"] == "mcap").unwrap();
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
    Some(folder.join("tests/data").join(name)).filter(|path| path.exists())
}

/// A source of random numbers.
pub(crate) struct Rng(fastrand::Rng);

/// Returns a source of random numbers for a test.
pub(crate) fn random() -> Rng {
    Rng(fastrand::Rng::with_seed(seed()))
}

impl Rng {
    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0.usize(..bound)
    }

    /// Puts values in a random order.
    pub(crate) fn shuffle<T>(&mut self, values: &mut [T]) {
        self.0.shuffle(values);
    }
}
