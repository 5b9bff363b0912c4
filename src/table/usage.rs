//! Who uses what: the objects that versions name, and how many bytes each version shares with others.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::version::Table;
use crate::{
    commit,
    error::{ErrorKind, Result},
    format::{ViewSource, manifest_name},
    id::ChunkId,
    store::Store,
};

/// What `tetrys du` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Usage {
    /// Where the table lies.
    pub url: String,
    /// Bytes of everything below its root.
    pub stored_bytes: u64,
    /// Bytes of what no version names: left by writers that did not commit, or of versions that are gone.
    pub unnamed_bytes: u64,
    /// Versions of other tables that use chunks of this one.
    pub pins: u64,
    /// Each version, newest first.
    pub versions: Vec<VersionUsage>,
}

/// One version.
#[derive(Clone, Debug, Serialize)]
pub struct VersionUsage {
    /// Its number.
    pub version: u64,
    /// What made it: `create`, `append`, `delete`, ..
    pub operation: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes of the table's own objects that it names.
    pub own_bytes: u64,
    /// Those among them that no other version names: what deleting it would free.
    pub alone_bytes: u64,
    /// Those among them that other versions name too.
    pub shared_bytes: u64,
    /// Bytes of its blocks that lie in other tables.
    pub referenced_bytes: u64,
    /// Bytes of own objects that no version before it names.
    pub added_bytes: u64,
}

impl Table {
    /// The table's own objects that this version names, and their sizes: with every one of them there it can be read.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn objects(&self) -> Result<BTreeMap<String, u64>> {
        let manifest = self.manifest();
        let mut objects = BTreeMap::new();
        for segment in &manifest.segments {
            objects.insert(segment.index.name_in("index"), segment.index.bytes);
            for group in &segment.groups {
                objects.insert(group.layout.name_in("layout"), group.layout.bytes);
                objects.insert(group.hashes.name_in("hashes"), group.hashes.bytes);
            }
        }
        for attachment in manifest.attachments.values() {
            objects.insert(attachment.name_in("attachments"), attachment.bytes);
        }
        let joins = manifest.view.iter().flat_map(|view| &view.sources);
        for object in joins.flat_map(ViewSource::maps) {
            objects.insert(object.name_in("joins"), object.bytes);
        }
        for group in 0..manifest.schema.groups().len() {
            let layout = self.layout(group).await?;
            let mut last: Option<ChunkId> = None;
            for run in layout.runs().iter().filter(|run| run.owner == 0) {
                if last.replace(run.chunk) != Some(run.chunk) {
                    objects.insert(run.chunk.object_name(), run.chunk_bytes);
                }
            }
        }
        Ok(objects)
    }

    /// What the table takes, version by version. Loads the layouts of all of them.
    ///
    /// # Errors
    /// As [`Table::layout`].
    pub async fn usage(store: &Store) -> Result<Usage> {
        let mut found = Vec::new();
        let mut users: BTreeMap<String, u64> = BTreeMap::new();
        let mut numbers = commit::versions(store).await?;
        numbers.sort_unstable();
        for version in numbers {
            let table = match Self::open_version(store.clone(), version).await {
                Ok(table) => table,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let mut objects = table.objects().await?;
            objects.insert(manifest_name(version), store.size(&manifest_name(version)).await?);
            objects.keys().for_each(|name| *users.entry(name.clone()).or_default() += 1);
            let mut referenced = 0;
            for group in 0..table.manifest().schema.groups().len() {
                let layout = table.layout(group).await?;
                referenced += layout.runs().iter().filter(|run| run.owner > 0).map(|run| run.stored_bytes()).sum::<u64>();
            }
            found.push((table, objects, referenced));
        }
        let mut before: BTreeSet<String> = BTreeSet::new();
        let mut versions = Vec::new();
        for (table, objects, referenced_bytes) in found {
            let sum = |wanted: &dyn Fn(&String) -> bool| -> u64 {
                objects.iter().filter(|(name, _)| wanted(name)).map(|(_, bytes)| bytes).sum()
            };
            let operation = table.manifest().lineage.get("operation").and_then(|operation| operation.as_str());
            let (own_bytes, alone_bytes) = (sum(&|_| true), sum(&|name| users.get(name) == Some(&1)));
            versions.push(VersionUsage {
                version: table.version(),
                operation: operation.unwrap_or("create").to_owned(),
                rows: table.rows(),
                own_bytes,
                alone_bytes,
                shared_bytes: own_bytes - alone_bytes,
                referenced_bytes,
                added_bytes: sum(&|name| !before.contains(name)),
            });
            before.extend(objects.into_keys());
        }
        versions.reverse();
        let everything = store.list("").await?;
        let is_pin = |name: &String| name.starts_with("pins/");
        let unnamed = everything.iter().filter(|(name, _)| !before.contains(name) && !is_pin(name));
        Ok(Usage {
            url: store.url().to_owned(),
            stored_bytes: everything.iter().map(|(_, bytes)| bytes).sum(),
            unnamed_bytes: unnamed.map(|(_, bytes)| bytes).sum(),
            pins: everything.iter().filter(|(name, _)| is_pin(name)).count() as u64,
            versions,
        })
    }
}
