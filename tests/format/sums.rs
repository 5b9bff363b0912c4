//! Lists of the SHA-256 of files that must never change, in the form of `sha256sum`. Lists are checked and extended, never
//! rewritten.

#![allow(dead_code, reason = "each suite uses its part")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use sha2::{Digest, Sha256};

/// The name of a list, in the folder whose files it lists.
pub(crate) const NAME: &str = "SHA256SUMS";

/// Returns all files below a folder, by their relative paths with `/` as separator.
pub(crate) fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(here) = open.pop() {
        for entry in fs::read_dir(&here).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let names: Vec<_> = path.strip_prefix(folder).unwrap().iter().map(|name| name.to_str().unwrap()).collect();
                found.insert(names.join("/"));
            }
        }
    }
    found
}

fn sum(file: &Path) -> String {
    Sha256::digest(fs::read(file).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of each listed path; empty if there is no list.
pub(crate) fn listed(folder: &Path) -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    let line = |line: &str| {
        let (sum, file) = line.split_once("  ").unwrap_or_else(|| panic!("{NAME}: {line}"));
        (file.to_owned(), sum.to_owned())
    };
    text.lines().map(line).collect()
}

/// Asserts that exactly the listed files exist, unchanged. The files of `free` are not checked.
#[track_caller]
pub(crate) fn check(folder: &Path, free: &[&str]) {
    let listed = listed(folder);
    let mut found = files(folder);
    found.retain(|file| file != NAME && !free.contains(&file.as_str()));
    let names: BTreeSet<String> = listed.keys().cloned().collect();
    assert_eq!(found, names, "{}: files, and files in {NAME}", folder.display());
    for (file, expected) in listed {
        assert_eq!(sum(&folder.join(&file)), expected, "{file}: a file that may never change did");
    }
}

/// Copies the files of `made` that `to` does not have, and lists them. Files that exist or were listed before are never written.
pub(crate) fn add(made: &Path, to: &Path, free: &[&str]) {
    let mut listed = listed(to);
    let mut added = Vec::new();
    for file in files(made) {
        let target = to.join(&file);
        assert!(target.exists() || !listed.contains_key(&file), "{file}: listed, and gone; nothing may make it anew");
        if !target.exists() {
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            let mut out = fs::OpenOptions::new().write(true).create_new(true).open(&target).unwrap();
            std::io::Write::write_all(&mut out, &fs::read(made.join(&file)).unwrap()).unwrap();
            listed.insert(file.clone(), sum(&target));
            added.push(file);
        }
    }
    let lines: String = listed.iter().map(|(file, sum)| format!("{sum}  {file}\n")).collect();
    fs::create_dir_all(to).unwrap();
    fs::write(to.join(NAME), lines).unwrap();
    println!("added {} files: {added:?}", added.len());
    check(to, free);
}
