//! Definitions of ROS messages in folders of `.msg` files, for recordings that lack them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use tetrys::{Error, Result, ingest::LocalFile};

use crate::msg::short;

/// Maximum bytes of a definition.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum types that a definition uses.
const MAX_TYPES: usize = 4096;

/// The `.msg` files of folders, by the names of their types: `package/Type`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    files: BTreeMap<String, PathBuf>,
}

impl Definitions {
    /// Finds the files `package/msg/Type.msg` and `package/Type.msg` below folders, such as `/opt/ros/humble/share`. Of a type that two
    /// folders have, that of the first one counts.
    ///
    /// # Errors
    /// - `NotFound`: a folder is missing, or has no `.msg` file.
    /// - Errors of the file system.
    pub(crate) fn find(folders: &[String]) -> Result<Self> {
        let mut files = BTreeMap::new();
        for folder in folders {
            let place = |error: std::io::Error| Error::from(error).at(folder);
            let mut open = vec![std::fs::canonicalize(folder).map_err(place)?];
            let mut found = BTreeSet::new();
            while let Some(folder) = open.pop() {
                for entry in std::fs::read_dir(&folder).map_err(place)? {
                    let entry = entry.map_err(place)?;
                    // A folder behind a link may lead back.
                    match entry.file_type().map_err(place)?.is_dir() {
                        true => open.push(entry.path()),
                        false => found.extend(type_of(&entry.path()).map(|name| (name, entry.path()))),
                    }
                }
            }
            if found.is_empty() {
                return Err(Error::not_found(format!("{folder}: expected a folder with files such as std_msgs/msg/Header.msg")));
            }
            for (name, path) in found {
                files.entry(name).or_insert(path);
            }
        }
        Ok(Self { files })
    }

    /// Returns the definition of a type and of all types that it uses, as recordings have them. `None` if no folder has it.
    ///
    /// # Errors
    /// - `Invalid`: a file is no text, or larger than 1 MiB.
    /// - `Unsupported`: the type uses too many others.
    /// - Errors of the file system.
    pub(crate) fn text_of(&self, name: &str) -> Result<Option<String>> {
        let name = short(name);
        let (mut text, mut wanted, mut seen) = (String::new(), vec![name.clone()], BTreeSet::new());
        while let Some(other) = wanted.pop() {
            // The parser knows some types, and names those that are missing.
            let Some(path) = self.files.get(&other) else { continue };
            if !seen.insert(other.clone()) {
                continue;
            }
            if seen.len() > MAX_TYPES {
                return Err(Error::unsupported(format!("`{name}` uses over {MAX_TYPES} types")));
            }
            let own = LocalFile::text(path, MAX_BYTES)?;
            if other != name {
                text.push_str(&format!("\n====\nMSG: {other}\n"));
            }
            text.push_str(&own);
            let package = other.rsplit_once('/').map_or("", |(package, _)| package);
            wanted.extend(own.lines().filter_map(|line| used(line, package)));
        }
        Ok((!seen.is_empty()).then_some(text))
    }
}

/// Returns the name of the type that a file defines.
fn type_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".msg")?;
    let folder = path.parent()?;
    let package = if folder.file_name()? == "msg" { folder.parent()? } else { folder };
    Some(format!("{}/{name}", package.file_name()?.to_str()?))
}

/// Returns the name of the type that a line of a definition may use.
fn used(line: &str, package: &str) -> Option<String> {
    let word = line.split('#').next()?.split_whitespace().next()?;
    let ty = word.split(['[', '<']).next()?;
    Some(match ty {
        "Header" => "std_msgs/Header".to_owned(),
        ty if ty.contains('/') => short(ty),
        ty => format!("{package}/{ty}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::{Ros, parse};

    #[test]
    fn a_definition_has_those_of_all_types_that_it_uses() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("ros/here/msg/It.msg", "std_msgs/Header header\nPart[<=3] parts # of here\nother/msg/Point at\nother/Point to\n");
        write("ros/here/msg/Part.msg", "Inner[2] inner\n");
        write("ros/here/msg/Inner.msg", "float64 x\n");
        write("ros/other/msg/Point.msg", "float64 x\nfloat64 y\n");
        write("ros/other/msg/Unused.msg", "float64 x\n");
        write("mine/other/Point.msg", "float32 x\n");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let definitions = Definitions::find(&[path("ros"), path("mine")]).unwrap();
        let text = definitions.text_of("here/msg/It").unwrap().unwrap();
        assert!(!text.contains("Unused"));
        let message = parse("here/msg/It", &text, Ros::Two).unwrap();
        let (_, parts) = message.path("parts").unwrap();
        assert!(format!("{parts:?}").contains("Inner"), "{parts:?}");
        let float = |name: &str| message.path(name).map(|(_, ty)| format!("{ty:?}"));
        assert_eq!((float("at.x"), float("header.frame_id")), (Some("Number(F64)".to_owned()), Some("Text".to_owned())));
        assert_eq!(definitions.text_of("here/Nothing").unwrap(), None);
        // The first folder counts.
        let other = Definitions::find(&[path("mine"), path("ros")]).unwrap();
        assert_eq!(other.text_of("other/Point").unwrap().unwrap(), "float32 x\n");
        std::fs::create_dir(path("empty")).unwrap();
        let error = Definitions::find(&[path("empty")]).unwrap_err().to_string();
        assert!(error.ends_with("empty: expected a folder with files such as std_msgs/msg/Header.msg"), "{error}");
        assert_eq!(Definitions::find(&[path("none")]).unwrap_err().kind(), tetrys::ErrorKind::NotFound);
    }

    #[test]
    fn types_that_use_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let msg = folder.path().join("here/msg");
        std::fs::create_dir_all(&msg).unwrap();
        std::fs::write(msg.join("A.msg"), "B b\n").unwrap();
        std::fs::write(msg.join("B.msg"), "A a\n").unwrap();
        let definitions = Definitions::find(&[msg.display().to_string()]).unwrap();
        let text = definitions.text_of("here/A").unwrap().unwrap();
        assert_eq!(text, "B b\n\n====\nMSG: here/B\nA a\n");
        assert!(parse("here/A", &text, Ros::Two).is_err());
    }
}
