//! Definitions of ROS messages for recordings that lack them: in folders of `.msg` and `.idl` files, and those of the standard packages
//! of ROS 2.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use tetrys::{Error, Result, extension::LocalFile};

use crate::msg::short;

/// Maximum bytes of a definition.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum types that a definition uses.
const MAX_TYPES: usize = 4096;
/// Definitions of the standard packages of ROS 2: those that are the same in all of its releases. A bag does not say which one wrote it.
const STANDARD: &str = include_str!("standard/ros2.txt");

/// The `.msg` and the `.idl` files of folders, by the names of their types: `package/Type`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    files: BTreeMap<String, PathBuf>,
    idls: BTreeMap<String, PathBuf>,
}

impl Definitions {
    /// Finds the files `package/msg/Type.msg` and `package/Type.msg` below folders, such as `/opt/ros/humble/share`, and the same with
    /// `.idl`. Of a type that two folders have, that of the first one counts.
    ///
    /// # Errors
    /// - `NotFound`: a folder is missing, or has no such file.
    /// - Errors of the file system.
    pub(crate) fn find(folders: &[String]) -> Result<Self> {
        let (mut files, mut idls) = (BTreeMap::new(), BTreeMap::new());
        for folder in folders {
            let place = |error: std::io::Error| Error::from(error).at(folder);
            let mut open = vec![std::fs::canonicalize(folder).map_err(place)?];
            let (mut found, mut found_idls) = (BTreeSet::new(), BTreeSet::new());
            while let Some(folder) = open.pop() {
                for entry in std::fs::read_dir(&folder).map_err(place)? {
                    let entry = entry.map_err(place)?;
                    // A folder behind a link may lead back.
                    match entry.file_type().map_err(place)?.is_dir() {
                        true => open.push(entry.path()),
                        false => {
                            found.extend(type_of(&entry.path(), ".msg").map(|name| (name, entry.path())));
                            found_idls.extend(type_of(&entry.path(), ".idl").map(|name| (name, entry.path())));
                        }
                    }
                }
            }
            if found.is_empty() && found_idls.is_empty() {
                return Err(Error::not_found(format!("{folder}: expected a folder with files such as std_msgs/msg/Header.msg")));
            }
            for (name, path) in found {
                files.entry(name).or_insert(path);
            }
            for (name, path) in found_idls {
                idls.entry(name).or_insert(path);
            }
        }
        Ok(Self { files, idls })
    }

    /// Returns the definition in IDL of a type and of all types that it includes, as recordings have them. `None` if no folder has it.
    ///
    /// # Errors
    /// - Those of [`Definitions::text_of`].
    pub(crate) fn idl_of(&self, name: &str) -> Result<Option<String>> {
        let name = short(name);
        let (mut text, mut wanted, mut seen) = (String::new(), vec![name.clone()], BTreeSet::new());
        while let Some(other) = wanted.pop() {
            let Some(path) = self.idls.get(&other) else { continue };
            if !seen.insert(other) {
                continue;
            }
            if seen.len() > MAX_TYPES {
                return Err(Error::unsupported(format!("`{name}` uses over {MAX_TYPES} types")));
            }
            let own = LocalFile::text(path, MAX_BYTES)?;
            wanted.extend(own.lines().filter_map(included));
            text.push_str(&own);
            text.push('\n');
        }
        Ok((!seen.is_empty()).then_some(text))
    }

    /// Returns the paths of the files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.values().chain(self.idls.values()).map(PathBuf::as_path)
    }

    /// Returns the definition of a type and of all types that it uses, as recordings have them. `None` if no folder has it as `.msg`.
    /// With `standard`, types that no folder has, also not as `.idl`, are those of the standard packages of ROS 2.
    ///
    /// # Errors
    /// - `Invalid`: a file is no text, or larger than 1 MiB.
    /// - `Unsupported`: the type uses too many others.
    /// - Errors of the file system.
    pub(crate) fn text_of(&self, name: &str, standard: bool) -> Result<Option<String>> {
        let name = short(name);
        let (mut text, mut wanted, mut seen) = (String::new(), vec![name.clone()], BTreeSet::new());
        while let Some(other) = wanted.pop() {
            let is_standard = standard && !self.idls.contains_key(&other);
            let known = is_standard.then(|| standard_of(&other)).flatten().map(Cow::Borrowed);
            let own = match self.files.get(&other) {
                Some(path) => Some(Cow::Owned(LocalFile::text(path, MAX_BYTES)?)),
                None => known,
            };
            // The parser knows some types, and names those that are missing.
            let Some(own) = own else { continue };
            if !seen.insert(other.clone()) {
                continue;
            }
            if seen.len() > MAX_TYPES {
                return Err(Error::unsupported(format!("`{name}` uses over {MAX_TYPES} types")));
            }
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

/// Returns the definition of a type of the standard packages of ROS 2, without those that it uses.
fn standard_of(name: &str) -> Option<&'static str> {
    static ALL: OnceLock<BTreeMap<&'static str, &'static str>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let types = STANDARD.split("MSG: ").skip(1);
        types.filter_map(|text| text.split_once('\n')).collect()
    });
    all.get(name).copied()
}

/// Returns the name of the type that a line of a definition in IDL includes.
fn included(line: &str) -> Option<String> {
    let file = line.trim().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim();
    let file = file.strip_prefix('"').and_then(|file| file.strip_suffix('"'));
    Some(short(file?.strip_suffix(".idl")?))
}

/// Returns the name of the type that a file with this end defines.
fn type_of(path: &Path, end: &str) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(end)?;
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
        let text = definitions.text_of("here/msg/It", false).unwrap().unwrap();
        assert!(!text.contains("Unused"));
        let message = parse("here/msg/It", &text, Ros::Two).unwrap();
        let (_, parts) = message.path("parts").unwrap();
        assert!(format!("{parts:?}").contains("Inner"), "{parts:?}");
        let float = |name: &str| message.path(name).map(|(_, ty)| format!("{ty:?}"));
        assert_eq!((float("at.x"), float("header.frame_id")), (Some("Number(F64)".to_owned()), Some("Text".to_owned())));
        assert_eq!(definitions.text_of("here/Nothing", true).unwrap(), None);
        // The first folder counts.
        let other = Definitions::find(&[path("mine"), path("ros")]).unwrap();
        assert_eq!(other.text_of("other/Point", true).unwrap().unwrap(), "float32 x\n");
        std::fs::create_dir(path("empty")).unwrap();
        let error = Definitions::find(&[path("empty")]).unwrap_err().to_string();
        assert!(error.ends_with("empty: expected a folder with files such as std_msgs/msg/Header.msg"), "{error}");
        assert_eq!(Definitions::find(&[path("none")]).unwrap_err().kind(), tetrys::ErrorKind::NotFound);
    }

    #[test]
    fn every_standard_type_is_defined_with_all_that_it_uses() {
        let none = Definitions::default();
        let names: Vec<&str> = STANDARD.lines().filter_map(|line| line.strip_prefix("MSG: ")).collect();
        assert!(names.len() > 150, "{}", names.len());
        for name in names {
            let text = none.text_of(name, true).unwrap().unwrap();
            let message = parse(name, &format!("{text}\n"), Ros::Two).unwrap_or_else(|error| panic!("{name}: {error}"));
            let is_field = |line: &str| !line.trim().is_empty() && !line.replace("<=", "").contains('=');
            assert_eq!(message.fields.is_empty(), !standard_of(name).unwrap().lines().any(is_field), "{name}");
            assert_eq!(none.text_of(name, false).unwrap(), None);
        }
        // A folder counts more, also for the types that a standard type uses.
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("std_msgs")).unwrap();
        std::fs::write(folder.path().join("std_msgs/Header.msg"), "uint32 seq\nbuiltin_interfaces/Time stamp\nstring frame_id\n")
            .unwrap();
        let own = Definitions::find(&[folder.path().display().to_string()]).unwrap();
        let text = own.text_of("sensor_msgs/msg/Imu", true).unwrap().unwrap();
        let message = parse("sensor_msgs/msg/Imu", &text, Ros::Two).unwrap();
        assert!(message.path("header.seq").is_some() && message.path("orientation.w").is_some(), "{message:?}");
        // Types that have changed between releases.
        for name in ["sensor_msgs/Range", "visualization_msgs/Marker", "visualization_msgs/MarkerArray"] {
            assert_eq!(none.text_of(name, true).unwrap(), None, "{name}");
        }
    }

    #[test]
    fn a_type_in_idl_has_all_files_that_it_includes() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let wrapped = |package: &str, body: &str| format!("module {package} {{ module msg {{ {body} }}; }};");
        write(
            "here/msg/It.idl",
            &format!("#include \"other/msg/Part.idl\"\n{}", wrapped("here", "struct It { other::msg::Part p; };")),
        );
        write("other/msg/Part.idl", &format!("# include \"here/msg/It.idl\"\n{}", wrapped("other", "struct Part { long x; };")));
        let definitions = Definitions::find(&[folder.path().display().to_string()]).unwrap();
        let text = definitions.idl_of("here/msg/It").unwrap().unwrap();
        let found = crate::idl::parse("here/msg/It", &text).unwrap();
        assert_eq!(found, parse("here/msg/It", "other/Part p\n===\nMSG: other/Part\nint32 x\n", Ros::Two).unwrap());
        assert_eq!((definitions.idl_of("here/Nothing").unwrap(), definitions.text_of("here/It", true).unwrap()), (None, None));
        assert_eq!(definitions.paths().count(), 2);
        // A folder counts more than what is built in, also with an `.idl` file.
        assert!(definitions.text_of("geometry_msgs/Pose", true).unwrap().is_some());
        write("geometry_msgs/msg/Pose.idl", &wrapped("geometry_msgs", "struct Pose { double x; };"));
        let definitions = Definitions::find(&[folder.path().display().to_string()]).unwrap();
        assert_eq!(definitions.text_of("geometry_msgs/Pose", true).unwrap(), None);
        assert!(definitions.idl_of("geometry_msgs/Pose").unwrap().is_some());
    }

    #[test]
    fn types_that_use_each_other_end() {
        let folder = tempfile::tempdir().unwrap();
        let msg = folder.path().join("here/msg");
        std::fs::create_dir_all(&msg).unwrap();
        std::fs::write(msg.join("A.msg"), "B b\n").unwrap();
        std::fs::write(msg.join("B.msg"), "A a\n").unwrap();
        let definitions = Definitions::find(&[msg.display().to_string()]).unwrap();
        let text = definitions.text_of("here/A", false).unwrap().unwrap();
        assert_eq!(text, "B b\n\n====\nMSG: here/B\nA a\n");
        assert!(parse("here/A", &text, Ros::Two).is_err());
    }
}
