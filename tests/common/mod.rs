//! Helpers of the integration tests.

#![allow(dead_code, unreachable_pub, missing_docs, reason = "each test file uses some of them, and none is an interface")]

pub mod l5;
pub mod npz;

use std::path::PathBuf;

/// The folder of shared data (`$TETRYS_SHARED`, or `../shared` beside the checkout), or `None` after saying why the test is
/// skipped.
pub fn shared(inside: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("TETRYS_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    };
    let path = folder.join(inside);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {} (set TETRYS_SHARED)", path.display());
    None
}
