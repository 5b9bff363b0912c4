//! Folders of rosbag2: which recordings they have, in their order.

use std::path::Path;

use tetrys::{Error, Result};

/// Returns the recordings of a folder: those that `metadata.yaml` lists, or all of them by their numbers.
///
/// # Errors
/// - `NotFound`: there are none.
/// - `Unsupported`: the folder is compressed by rosbag2, or has SQLite files.
/// - Errors of the file system.
pub(crate) fn recordings(folder: &str) -> Result<Vec<String>> {
    let place = |error: std::io::Error| Error::from(error).at(folder);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(place)? {
        let entry = entry.map_err(place)?;
        let name = entry.file_name().to_str().map(str::to_owned);
        names.extend(name.filter(|_| entry.path().is_file()));
    }
    if let Some(other) = names.iter().find(|name| [".db3", ".zstd"].iter().any(|end| name.ends_with(end))) {
        return Err(Error::unsupported(format!("{folder}: `{other}`: SQLite bags and files compressed by rosbag2 are not read")));
    }
    names.retain(|name| name.ends_with(".mcap"));
    // `drive_10.mcap` comes after `drive_9.mcap`.
    names.sort_by_key(|name| (number(name), name.clone()));
    let metadata = std::fs::read_to_string(Path::new(folder).join("metadata.yaml")).ok();
    // Only the metadata say that messages are compressed one by one.
    let compressed =
        metadata.as_ref().and_then(|text| text.lines().find_map(|line| line.trim().strip_prefix("compression_mode:")));
    if let Some(mode) = compressed.map(|mode| mode.trim().trim_matches(['"', '\''])).filter(|mode| !["", "NONE"].contains(mode)) {
        let mode = mode.escape_debug();
        return Err(Error::unsupported(format!("{folder}: rosbag2 compressed it (mode {mode}), which is not read; convert it")));
    }
    let listed = metadata.map(|text| listed(&text));
    if let Some(listed) = listed.filter(|listed| !listed.is_empty()) {
        if let Some(missing) = listed.iter().find(|name| !names.contains(name)) {
            return Err(Error::not_found(format!(
                "{folder}: metadata.yaml lists `{}`, which is missing",
                missing.escape_debug()
            )));
        }
        names = listed;
    }
    match names.is_empty() {
        true => Err(Error::not_found(format!("{folder}: expected a folder with recordings (*.mcap), found none"))),
        false => Ok(names.iter().map(|name| Path::new(folder).join(name).display().to_string()).collect()),
    }
}

fn number(name: &str) -> u64 {
    let stem = name.trim_end_matches(".mcap");
    stem.rsplit('_').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the names under `relative_file_paths` of rosbag2's metadata.
fn listed(yaml: &str) -> Vec<String> {
    let mut lines = yaml.lines().skip_while(|line| line.trim() != "relative_file_paths:").skip(1);
    let mut names = Vec::new();
    while let Some(item) = lines.next().and_then(|line| line.trim().strip_prefix("- ")) {
        names.push(item.trim().trim_matches(['"', '\'']).to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_folder_are_in_the_order_of_its_metadata_or_of_their_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        assert!(recordings(path).unwrap_err().to_string().ends_with("expected a folder with recordings (*.mcap), found none"));
        for name in ["drive_10.mcap", "drive_9.mcap", "drive_0.mcap"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let names = || {
            let of = |path: String| path.rsplit('/').next().unwrap().to_owned();
            recordings(path).unwrap().into_iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["drive_0.mcap", "drive_9.mcap", "drive_10.mcap"]);
        let yaml = "rosbag2_bagfile_information:\n  version: 5\n  relative_file_paths:\n    - drive_9.mcap\n    - 'drive_0.mcap'\n  duration:\n    nanoseconds: 1\n";
        std::fs::write(folder.path().join("metadata.yaml"), yaml).unwrap();
        assert_eq!(names(), ["drive_9.mcap", "drive_0.mcap"]);
        std::fs::write(folder.path().join("metadata.yaml"), format!("{yaml}  compression_mode: MESSAGE\n")).unwrap();
        assert!(recordings(path).unwrap_err().to_string().contains("rosbag2 compressed it (mode MESSAGE)"));
        std::fs::write(folder.path().join("metadata.yaml"), yaml).unwrap();
        std::fs::remove_file(folder.path().join("drive_9.mcap")).unwrap();
        assert!(recordings(path).unwrap_err().to_string().contains("metadata.yaml lists `drive_9.mcap`, which is missing"));
    }
}
