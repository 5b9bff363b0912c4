//! Folders of rosbag2: which recordings they have, in their order.

use std::{collections::BTreeSet, io, path::Path};

use tetrys::{Error, ErrorKind, Result, extension::LocalFile};

use crate::{bag, sqlite::is_bag};

/// Ends of the names of recordings.
const ENDS: [&str; 6] = [".mcap", ".mcap.zstd", ".mcap.zst", ".db3", ".db3.zstd", ".db3.zst"];

/// Maximum bytes of `metadata.yaml`.
const MAX_METADATA: u64 = 16 << 20;

/// The recordings of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Their paths, in their order.
    pub(crate) files: Vec<String>,
    /// Sentences about files that are left out.
    pub(crate) warnings: Vec<String>,
}

/// Returns the name of a recording without the end that says what it is.
pub(crate) fn stem(name: &str) -> &str {
    ENDS.iter().chain(&bag::ENDS).find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Finds the recordings of a folder: those that `metadata.yaml` lists, or all of them by their numbers. A recording that is there and
/// not listed is left out with a warning, and so is a SQLite bag beside an MCAP file of the same name; a `metadata.yaml` that lists
/// nothing gives a warning, too. With `strict`, each of these is an error.
///
/// # Errors
/// - `NotFound`: there are none, or a listed one is missing.
/// - `Invalid`: without a list, the files are no parts of one recording; a file is listed twice; with `strict`, there would be a
///   warning; `metadata.yaml` is no file, no text, or over 16 MiB.
/// - `Unsupported`: the folder has a compression that is not zstd.
/// - Errors of the file system.
pub(crate) fn open(folder: &str, strict: bool) -> Result<Folder> {
    let names = names(folder).map_err(|error| Error::from(error).at(folder))?;
    let path = Path::new(folder).join("metadata.yaml");
    // Opening a pipe would wait for a writer.
    let metadata = match LocalFile::regular(&path, "a file") {
        Ok(_) => Some(Metadata::parse(&LocalFile::text(&path, MAX_METADATA)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let found = chosen(&names, metadata.as_ref()).map_err(|error| error.at(folder))?;
    let place = |warning: &String| format!("{folder}: {warning}");
    match found.warnings.first() {
        Some(warning) if strict => Err(Error::invalid(warning.clone()).at(folder)),
        _ => Ok(Folder {
            files: found.files.iter().map(|name| Path::new(folder).join(name).display().to_string()).collect(),
            warnings: found.warnings.iter().map(place).collect(),
        }),
    }
}

/// Returns the names of the files in a folder.
fn names(folder: &str) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_str().map(str::to_owned);
        names.extend(name.filter(|_| entry.path().is_file()));
    }
    Ok(names)
}

/// The entries about files in the metadata of rosbag2.
#[derive(Debug, Default, PartialEq, Eq)]
struct Metadata {
    /// The files of the recording, in their order.
    listed: Vec<String>,
    /// How they are compressed: `NONE`, `FILE` or `MESSAGE`, and the name of the codec.
    mode: String,
    codec: String,
}

impl Metadata {
    /// Reads the keys that matter: rosbag2 writes each on a line of its own, and lists in blocks or in brackets.
    fn parse(yaml: &str) -> Self {
        let mut found = Self::default();
        let mut is_list = false;
        for line in yaml.lines() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(item) = line.strip_prefix("- ").filter(|_| is_list) {
                found.listed.push(unquoted(item));
                continue;
            }
            is_list = false;
            let Some((key, value)) = line.split_once(':') else { continue };
            match key.trim_start_matches("- ").trim() {
                "relative_file_paths" => {
                    is_list = value.trim().is_empty();
                    let items = value.trim().strip_prefix('[').and_then(|value| value.strip_suffix(']'));
                    let items = items.into_iter().flat_map(|items| items.split(',')).map(unquoted);
                    found.listed.extend(items.filter(|item| !item.is_empty()));
                }
                "compression_mode" => found.mode = unquoted(value).to_uppercase(),
                "compression_format" => found.codec = unquoted(value),
                _ => {}
            }
        }
        found
    }
}

fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

/// Chooses the recordings among the names of the files of a folder.
fn chosen(names: &BTreeSet<String>, metadata: Option<&Metadata>) -> Result<Folder> {
    if let Some(Metadata { mode, codec, .. }) = metadata
        && !["", "NONE"].contains(&mode.as_str())
        && codec != "zstd"
    {
        let (mode, codec) = (mode.escape_debug(), codec.escape_debug());
        return Err(Error::unsupported(format!("metadata.yaml has the compression `{codec}` (mode {mode}): expected `zstd`")));
    }
    let recordings: BTreeSet<&String> = names.iter().filter(|name| ENDS.iter().any(|end| name.ends_with(end))).collect();
    let Some(listed) = metadata.map(|metadata| &metadata.listed).filter(|listed| !listed.is_empty()) else {
        return by_number(&recordings, metadata.is_some());
    };
    let mut files: Vec<String> = Vec::new();
    for path in listed {
        // Early versions of rosbag2 put the name of the folder before it.
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        // The recording may have been compressed, or decompressed, since it was listed.
        let others = ENDS.map(|end| format!("{}{end}", stem(name)));
        let here = [name.to_owned()].into_iter().chain(others).find(|name| recordings.contains(name));
        let Some(here) = here else {
            let path = path.escape_debug();
            return Err(Error::not_found(format!("metadata.yaml lists `{path}`, which is missing")));
        };
        if files.contains(&here) {
            return Err(Error::invalid(format!("metadata.yaml lists `{}` twice", path.escape_debug())));
        }
        files.push(here);
    }
    // A copy of a listed recording has nothing more.
    let is_new = |name: &&&String| !files.iter().any(|file| stem(file) == stem(name));
    let left_out: Vec<String> = recordings.iter().filter(is_new).map(|name| format!("`{}`", name.escape_debug())).collect();
    let warning = (!left_out.is_empty()).then(|| {
        format!(
            "metadata.yaml does not list {}: left out. Correct the list (`ros2 bag reindex`), or import the files instead of the \
             folder",
            left_out.join(", ")
        )
    });
    Ok(Folder { files, warnings: warning.into_iter().collect() })
}

/// Takes all recordings of a folder without a list, which must be parts of one.
fn by_number(recordings: &BTreeSet<&String>, has_metadata: bool) -> Result<Folder> {
    let mut files: Vec<&String> = Vec::new();
    let mut left_out = Vec::new();
    // rosbag2 deletes a file after it has compressed it, so the file itself is the complete one.
    let rank = |name: &String| (is_bag(name), name.len());
    for name in recordings.iter().copied() {
        let Some(file) = files.iter_mut().find(|file| stem(file) == stem(name)) else {
            files.push(name);
            continue;
        };
        let before = *file;
        let (kept, other) = if rank(name) < rank(before) { (name, before) } else { (before, name) };
        left_out.extend((is_bag(kept) != is_bag(other)).then(|| format!("`{}`", other.escape_debug())));
        *file = kept;
    }
    if files.is_empty() {
        return Err(Error::not_found("expected a folder with recordings (*.mcap, *.db3), found none"));
    }
    let series: BTreeSet<&str> = files.iter().map(|file| part_of(file).0).collect();
    if series.len() > 1 {
        let names: Vec<String> = series.iter().map(|name| format!("`{}`", name.escape_debug())).collect();
        return Err(Error::invalid(format!(
            "no metadata.yaml lists the parts of one recording, and there are files of {}: {}; import the files instead of the \
             folder",
            series.len(),
            names.join(", ")
        )));
    }
    // `drive_10.mcap` comes after `drive_9.mcap`.
    files.sort_by_key(|file| part_of(file).1);
    let unlisted = has_metadata.then(|| "metadata.yaml lists no files: all recordings of the folder are read".to_owned());
    let doubled = (!left_out.is_empty()).then(|| {
        format!(
            "beside MCAP files of the same names: {} left out. Import the files instead of the folder to have all",
            left_out.join(", ")
        )
    });
    Ok(Folder { files: files.into_iter().cloned().collect(), warnings: unlisted.into_iter().chain(doubled).collect() })
}

/// Returns the name of the recording that a file is part of, and the number of the part.
fn part_of(name: &str) -> (&str, Option<u64>) {
    let stem = stem(name);
    let part = stem.rsplit_once('_').and_then(|(name, number)| Some((name, number.parse().ok()?)));
    part.map_or((stem, None), |(name, number)| (name, Some(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "rosbag2_bagfile_information:\n  version: 5\n  relative_file_paths:\n    - drive_9.mcap\n    - 'drive_0.mcap'\n  \
        duration:\n    nanoseconds: 1\n";

    /// Returns the names that are chosen, and the warnings; or the error.
    fn of(names: &[&str], yaml: Option<&str>) -> std::result::Result<(Vec<String>, Vec<String>), String> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let found = chosen(&names, yaml.map(Metadata::parse).as_ref());
        found.map(|found| (found.files, found.warnings)).map_err(|error| error.to_string())
    }

    fn files(names: &[&str], yaml: Option<&str>) -> Vec<String> {
        let (files, warnings) = of(names, yaml).unwrap();
        assert_eq!(warnings, [] as [String; 0]);
        files
    }

    #[test]
    fn the_files_of_a_folder_are_in_the_order_of_its_metadata_or_of_their_numbers() {
        let names = ["drive_10.mcap", "drive_9.mcap", "drive_0.mcap", "notes.txt"];
        assert_eq!(files(&names, None), ["drive_0.mcap", "drive_9.mcap", "drive_10.mcap"]);
        assert_eq!(files(&names[1..], Some(YAML)), ["drive_9.mcap", "drive_0.mcap"]);
        let in_brackets = "  relative_file_paths: [drive_9.mcap, \"drive_0.mcap\"]  # two\n";
        assert_eq!(files(&names[1..], Some(in_brackets)), ["drive_9.mcap", "drive_0.mcap"]);
        let with_comments = YAML.replace("    - 'drive_0", "\n# the first\n    # was repaired\n    - 'drive_0");
        assert_eq!(files(&names[1..], Some(&with_comments)), ["drive_9.mcap", "drive_0.mcap"]);
        let with_folder = YAML.replace("- drive_9", "- drive/drive_9");
        assert_eq!(files(&names[1..], Some(&with_folder)), ["drive_9.mcap", "drive_0.mcap"]);
        assert_eq!(files(&["drive.mcap"], None), ["drive.mcap"]);
        assert_eq!(files(&["drive_1.db3", "drive_0.db3", "drive_1.db3-wal"], None), ["drive_0.db3", "drive_1.db3"]);
    }

    #[test]
    fn recordings_that_are_not_listed_are_named() {
        let (files, warnings) = of(&["drive_10.mcap", "drive_9.mcap", "drive_0.mcap", "fixed.mcap"], Some(YAML)).unwrap();
        assert_eq!(files, ["drive_9.mcap", "drive_0.mcap"]);
        assert!(warnings[0].starts_with("metadata.yaml does not list `drive_10.mcap`, `fixed.mcap`: left out. "), "{warnings:?}");
        for text in ["", "  relative_file_paths: []\n"] {
            let (files, warnings) = of(&["drive_1.mcap", "drive_0.mcap"], Some(text)).unwrap();
            assert_eq!(files, ["drive_0.mcap", "drive_1.mcap"]);
            assert_eq!(warnings, ["metadata.yaml lists no files: all recordings of the folder are read"]);
        }
    }

    #[test]
    fn folders_without_one_recording_are_refused() {
        let with = |text: &str| Some(format!("{YAML}{text}"));
        let lz4 = with("  compression_format: lz4\n  compression_mode: MESSAGE\n");
        let twice = Some(YAML.replace("drive_9", "drive_0"));
        for (names, yaml, expected) in [
            (&[][..], &None, "expected a folder with recordings (*.mcap, *.db3), found none"),
            (&["drive_0.mcap"], &with(""), "metadata.yaml lists `drive_9.mcap`, which is missing"),
            (&["drive_0.mcap", "drive_9.mcap"], &twice, "metadata.yaml lists `drive_0.mcap` twice"),
            (&["drive_0.mcap", "drive_9.mcap"], &lz4, "metadata.yaml has the compression `lz4` (mode MESSAGE): expected `zstd`"),
            (&["monday.mcap", "tuesday_0.mcap"], &None, "there are files of 2: `monday`, `tuesday`; import the files instead"),
        ] {
            let error = of(names, yaml.as_deref()).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_recording_and_its_compressed_copy_are_one() {
        let zstd = format!("{}  compression_format: zstd\n  compression_mode: FILE\n", YAML.replace(".mcap", ".mcap.zstd"));
        assert_eq!(files(&["drive_0.mcap.zstd", "drive_9.mcap.zstd"], Some(&zstd)), ["drive_9.mcap.zstd", "drive_0.mcap.zstd"]);
        // rosbag2 was stopped while it compressed the last file.
        let names = ["drive_0.mcap.zstd", "drive_1.mcap", "drive_1.mcap.zstd"];
        assert_eq!(files(&names, None), ["drive_0.mcap.zstd", "drive_1.mcap"]);
        assert_eq!(files(&["drive_0.mcap.zst", "drive_9.mcap"], Some(&zstd)), ["drive_9.mcap", "drive_0.mcap.zst"]);
    }

    #[test]
    fn of_an_mcap_file_and_a_sqlite_bag_of_one_name_the_first_is_read() {
        let (files, warnings) = of(&["drive_0.db3", "drive_0.db3.zstd", "drive_0.mcap", "drive_1.db3"], None).unwrap();
        assert_eq!(files, ["drive_0.mcap", "drive_1.db3"]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].starts_with("beside MCAP files of the same names: `drive_0.db3` left out. "), "{warnings:?}");
    }

    #[test]
    fn a_folder_on_disk_is_opened_and_strict_refuses_what_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        for name in ["drive_0.mcap", "drive_9.mcap", "drive_10.mcap"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::write(folder.path().join("metadata.yaml"), YAML).unwrap();
        let found = open(path, false).unwrap();
        assert!(found.files[0].ends_with("drive_9.mcap") && found.files.len() == 2);
        let expected = format!("{path}: metadata.yaml does not list `drive_10.mcap`: left out.");
        assert!(found.warnings[0].starts_with(&expected), "{:?}", found.warnings);
        let error = open(path, true).unwrap_err();
        assert_eq!(error.kind(), tetrys::ErrorKind::Invalid);
        assert!(error.to_string().starts_with(&expected), "{error}");
        std::fs::write(folder.path().join("metadata.yaml"), [0xff]).unwrap();
        assert!(open(path, false).unwrap_err().to_string().contains("metadata.yaml"));
        std::fs::write(folder.path().join("metadata.yaml"), vec![b'#'; (16 << 20) + 1]).unwrap();
        assert!(open(path, false).unwrap_err().to_string().contains("expected at most"));
        std::fs::remove_file(folder.path().join("metadata.yaml")).unwrap();
        std::fs::create_dir(folder.path().join("metadata.yaml")).unwrap();
        assert!(open(path, false).unwrap_err().to_string().contains("metadata.yaml: expected a file, found a folder"));
    }
}
