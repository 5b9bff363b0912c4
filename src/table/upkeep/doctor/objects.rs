//! Compares the names and sizes of the objects that versions name with those that are there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cure, Doctor, EACH, Lost, NAMES, READS};
use crate::{
    error::{ErrorKind, Result, counted},
    format::{Manifest, OBJECT_FOLDERS},
    table::{
        upkeep::verify::ranges,
        version::{
            objects::{read_layouts, small},
            table::Table,
        },
    },
};

/// The names and sizes of the objects that are there, as far as they were listed.
pub(super) struct Present {
    bytes: BTreeMap<String, u64>,
    /// The last name that was listed of each folder that has more.
    ends: BTreeMap<&'static str, String>,
}

/// The state of an object.
enum State {
    There,
    /// Its name stands behind those that were listed.
    Unlisted,
    /// It is missing, or has this size.
    Lost(Option<u64>),
}

/// The small objects of a version that are not as they should be.
#[derive(Default)]
pub(super) struct Compared {
    /// Name, expected size, and found size.
    lost: Vec<(String, u64, Option<u64>)>,
    unlisted: Vec<String>,
}

impl Present {
    fn state(&self, name: &str, bytes: u64) -> State {
        match self.bytes.get(name) {
            Some(found) if *found == bytes => State::There,
            Some(found) => State::Lost(Some(*found)),
            None if self.may_have(name) => State::Unlisted,
            None => State::Lost(None),
        }
    }

    /// Whether an object is there, or may be: not all names were listed.
    pub(super) fn may_have(&self, name: &str) -> bool {
        let end = name.split('/').next().and_then(|folder| self.ends.get(folder));
        self.bytes.contains_key(name) || end.is_some_and(|end| name > end.as_str())
    }

    /// Compares the objects of a version that are not chunks.
    pub(super) fn small(&self, manifest: &Manifest) -> Compared {
        self.compared(small(manifest))
    }

    fn compared(&self, objects: impl IntoIterator<Item = (String, u64)>) -> Compared {
        let mut compared = Compared::default();
        for (name, bytes) in objects {
            match self.state(&name, bytes) {
                State::There => {}
                State::Unlisted => compared.unlisted.push(name),
                State::Lost(found) => compared.lost.push((name, bytes, found)),
            }
        }
        compared
    }
}

/// Returns the names of the layouts of a version.
pub(super) fn layouts(manifest: &Manifest) -> BTreeSet<String> {
    let groups = manifest.segments.iter().flat_map(|segment| &segment.groups);
    groups.map(|group| group.layout.name_in("layout")).collect()
}

impl Doctor {
    /// Lists the objects that versions name.
    pub(super) async fn present(&mut self) -> Result<Present> {
        let mut present = Present { bytes: BTreeMap::new(), ends: BTreeMap::new() };
        for folder in OBJECT_FOLDERS {
            let (listed, whole) = self.listed(folder).await?;
            if !whole {
                present.ends.insert(folder, listed.last().map(|last| last.name.clone()).unwrap_or_default());
            }
            present.bytes.extend(listed.into_iter().map(|listed| (listed.name, listed.bytes)));
        }
        Ok(present)
    }

    /// Keeps what the comparison of a version found. Call it for older versions first.
    pub(super) fn keep(&mut self, version: u64, compared: Compared) {
        self.unlisted.extend(compared.unlisted);
        for (name, expected, found) in compared.lost {
            let lost = self.lost.entry(name).or_insert(Lost { expected, found, versions: Vec::new() });
            if lost.versions.last() != Some(&version) {
                lost.versions.push(version);
            }
        }
    }

    /// Reads the layouts of the newest version, and compares the chunks that they name.
    pub(super) async fn chunks(&mut self, newest: &Table, present: &Present) -> Result<()> {
        let layouts = layouts(newest.manifest());
        if layouts.len() > READS {
            let count = counted(layouts.len(), "layout");
            let what = format!("chunks: the newest version has {count}, and at most {READS} are read; `verify` reads them all");
            self.found.not_checked.push(what);
            return Ok(());
        }
        let lost = &self.lost;
        let (mut chunks, mut unread) = (BTreeMap::new(), layouts.iter().filter(|name| lost.contains_key(*name)).count());
        for (name, layout) in read_layouts(newest, |name| !lost.contains_key(name)).await? {
            match layout {
                Ok(named) => chunks.extend(named),
                Err(error) => {
                    unread += 1;
                    self.damage(error.to_string(), name, None);
                }
            }
        }
        if unread > 0 {
            let what = format!("the chunks of {} that cannot be read", counted(unread, "layout"));
            self.found.not_checked.push(what);
        }
        self.keep(newest.version(), present.compared(chunks));
        Ok(())
    }

    /// Notes the objects that are missing or have another size: first those of the newest of the versions.
    pub(super) async fn lost(&mut self) {
        if !self.unlisted.is_empty() {
            let what = counted(self.unlisted.len(), "object");
            let what = format!("{what} whose names stand behind the first {NAMES} of their folder; `verify` reads them");
            self.found.not_checked.push(what);
        }
        let mut lost: Vec<(String, Lost)> = std::mem::take(&mut self.lost).into_iter().collect();
        lost.sort_by_key(|(_, lost)| std::cmp::Reverse(lost.versions.last().copied()));
        let rest = lost.len().saturating_sub(EACH);
        let next = lost.get(EACH).map(|(name, _)| name.clone()).unwrap_or_default();
        for (name, Lost { expected, found, versions }) in lost.into_iter().take(EACH) {
            let noun = if versions.len() == 1 { "version" } else { "versions" };
            let object = format!("an object of {noun} {}", ranges(&versions));
            let what = match found {
                Some(found) => format!("{object} has {}, expected {expected}", counted(found, "byte")),
                // A folder or a pipe is no object in a listing.
                None => match self.store.size(&name).await {
                    Err(error) if error.kind() == ErrorKind::Corrupt => format!("{object} is missing: {error}"),
                    _ => format!("{object} is missing"),
                },
            };
            self.find(what, name, None, Cure::Copy);
        }
        if rest > 0 {
            let what = match rest {
                1 => "another object is missing, or has another size".to_owned(),
                _ => format!("this one and {} more are missing, or have another size", counted(rest - 1, "object")),
            };
            self.damage(what, next, None);
        }
    }
}
