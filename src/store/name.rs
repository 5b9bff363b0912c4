//! Names of objects: relative, with the characters `A-Z a-z 0-9 . _ / -`, without empty, `.` or `..` parts. A valid name means
//! the same object in every backend and cannot leave the root of the store.

use object_store::path::Path;

use crate::{Error, Result, error::counted};

/// Maximum length of the name of an object, in bytes.
const MAX_NAME: usize = 512;

/// Returns the path of `name` under `prefix`.
///
/// # Errors
/// - `Invalid`: the name violates a rule.
pub(super) fn locate(prefix: &Path, name: &str) -> Result<Path> {
    check(name)?;
    Ok(under(prefix, name))
}

/// Returns the path of the folder `folder` under `prefix`. The empty folder is the root; one trailing `/` is allowed.
///
/// # Errors
/// - `Invalid`: the name of the folder violates a rule.
pub(super) fn locate_folder(prefix: &Path, folder: &str) -> Result<Path> {
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    if folder.is_empty() { Ok(prefix.clone()) } else { locate(prefix, folder) }
}

/// Returns `location` as a name relative to `prefix`; `None` if `location` is not below `prefix`.
pub(super) fn relative(prefix: &Path, location: &Path) -> Option<String> {
    let (prefix, location) = (prefix.as_ref(), location.as_ref());
    if prefix.is_empty() {
        return Some(location.to_owned());
    }
    location.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned)
}

/// Checks the rules for names of objects.
pub(super) fn check(name: &str) -> Result<()> {
    let refuse = |why: &str| Err(Error::invalid(format!("object name {:?} {why}", shortened(name))));
    if name.is_empty() {
        return refuse("is empty");
    }
    if name.len() > MAX_NAME {
        return refuse(&format!("has {}; at most {MAX_NAME} are allowed", counted(name.len(), "byte")));
    }
    if name.starts_with('/') {
        return refuse("is absolute; names are relative to the root of the store");
    }
    for part in name.split('/') {
        if matches!(part, "" | "." | "..") {
            return refuse(&format!("has the part {part:?}; such a part could leave the store, or give one object two names"));
        }
    }
    match name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))) {
        Some(c) => refuse(&format!("has the character {c:?}; only A-Z a-z 0-9 . _ / - are allowed")),
        None => Ok(()),
    }
}

fn under(prefix: &Path, name: &str) -> Path {
    // A valid name has no character that `Path` would encode, so the path keeps the name byte for byte.
    name.split('/').fold(prefix.clone(), |path, part| path.join(part))
}

fn shortened(name: &str) -> String {
    if name.len() <= 80 { name.to_owned() } else { name.chars().take(64).chain("..".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_library_stay_as_they_are_under_any_prefix() {
        for name in ["manifests/18446744073709551614.json", "chunks/9f/9f2c", "a-b_c.D", "x..y/...z"] {
            assert_eq!(locate(&Path::default(), name).unwrap().as_ref(), name);
            let location = locate(&Path::from("one/two"), name).unwrap();
            assert_eq!(location.as_ref(), format!("one/two/{name}"));
            assert_eq!(relative(&Path::from("one/two"), &location).as_deref(), Some(name));
        }
        assert_eq!(relative(&Path::from("one"), &Path::from("onetwo/a")), None);
    }

    #[test]
    fn names_that_could_leave_the_root_are_refused() {
        for name in [
            "",
            "..",
            "../a",
            "a/../b",
            "a/..",
            "/etc/passwd",
            "a//b",
            "a/",
            "./a",
            "a/./b",
            "a\\b",
            "a b",
            "a%2e",
            "ä",
            "a#1",
            "a\0",
        ] {
            assert_eq!(locate(&Path::default(), name).unwrap_err().kind(), crate::ErrorKind::Invalid, "{name:?}");
        }
        assert!(check(&"x".repeat(MAX_NAME)).is_ok());
        assert!(check(&"x".repeat(MAX_NAME + 1)).is_err());
    }
}
