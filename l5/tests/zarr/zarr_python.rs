//! This library and zarr-python 2 read each other's files: the generator and the exporter against the reader of L5 users, and all
//! compressors that zarr-python may have used.

use crate::common;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use crate::common::l5::{batches, records};
use sha2::{Digest, Sha256};
use tetrys_l5::{Dataset, GeneratorSettings, export, zarr::source::ZarrGroup};

/// Returns the Python of a virtual environment with zarr-python 2, or `None` after recording why the test is skipped.
fn python() -> Option<PathBuf> {
    common::python(&["tests/zarr_python/requirements.txt"])
}

fn check(python: &Path, arguments: &[&str]) -> String {
    let script = common::root().join("tests/zarr_python/check.py");
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn their_hashes(python: &Path, group: &Path) -> BTreeMap<String, String> {
    let text = check(python, &["hashes", group.to_str().unwrap()]);
    text.lines().filter_map(|line| line.split_once(' ')).map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
}

fn our_hashes(group: &Path) -> BTreeMap<String, String> {
    let hash = |name: &str| Sha256::digest(records(group, name)).iter().map(|byte| format!("{byte:02x}")).collect();
    ZarrGroup::open(group).unwrap().arrays().unwrap().into_iter().map(|name| (name.clone(), hash(&name))).collect()
}

fn generated(folder: &Path) -> PathBuf {
    let path = folder.join("ours.zarr");
    let settings = GeneratorSettings { scenes: 3, frames_per_scene: 40, mask: true, chunk_len: 900, ..Default::default() };
    settings.generate(&path).unwrap();
    path
}

#[test]
fn zarr_python_reads_what_the_generator_and_the_exporter_write() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ours = generated(folder.path());
    let expected = our_hashes(&ours);
    assert_eq!(expected.len(), 5);
    assert_eq!(their_hashes(&python, &ours), expected);
    let dataset = Dataset::open(&ours).unwrap();
    let back = folder.path().join("back.zarr");
    export(dataset.properties(), batches(&dataset).into_iter().map(Ok), &back).unwrap();
    assert_eq!(their_hashes(&python, &back), expected);
}

#[test]
fn what_zarr_python_writes_with_any_of_the_compressors_reads_the_same() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ours = generated(folder.path());
    let (hashes, rows) = (our_hashes(&ours), batches(&Dataset::open(&ours).unwrap()));
    for how in ["lz4:0", "lz4:1", "lz4:2", "lz4hc:1", "zstd:0", "zstd:1", "zstd:2", "none"] {
        let theirs = folder.path().join(how.replace(':', "_"));
        check(&python, &["rewrite", ours.to_str().unwrap(), theirs.to_str().unwrap(), how]);
        assert_eq!(our_hashes(&theirs), hashes, "{how}");
        let dataset = Dataset::open(&theirs).unwrap();
        assert!(batches(&dataset) == rows, "{how}");
        let back = folder.path().join(format!("{}_back", how.replace(':', "_")));
        export(dataset.properties(), rows.iter().cloned().map(Ok), &back).unwrap();
        assert_eq!(their_hashes(&python, &back), hashes, "{how}");
    }
}
