//! Storage use: the objects that each version names, and the bytes that it shares with other versions.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join;
use serde::Serialize;

use crate::{
    error::Result,
    format::{Pin, manifest_name, version_of_name},
    store::Store,
    table::version::{
        objects::{Named, named, readable_versions},
        table::Table,
    },
};

/// Storage use of a table, as `tetrys du` prints it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// URL of the table.
    pub url: String,
    /// Bytes of all objects below the root of the table.
    pub stored_bytes: u64,
    /// Bytes of objects that no version names that can be read: writers that did not commit left them, or their versions were deleted
    /// or are damaged.
    pub unnamed_bytes: u64,
    /// Number of pins, by which versions of other tables keep chunks or rows of this one.
    pub pins: u64,
    /// Versions, newest first.
    pub versions: Vec<VersionUsage>,
    /// Versions whose manifests are damaged, newest first. What they name is unknown.
    pub damaged: Vec<u64>,
}

/// Storage use of one version.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct VersionUsage {
    /// Number of the version.
    pub version: u64,
    /// Operation that made the version: `create`, `append`, `delete`, ..
    pub operation: String,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of the table's own objects that the version names, with its manifest.
    pub own_bytes: u64,
    /// The part of `own_bytes` that no other version names, which deleting the version would free.
    pub alone_bytes: u64,
    /// The part of `own_bytes` that other versions name too.
    pub shared_bytes: u64,
    /// Bytes of the version's blocks in other tables.
    pub referenced_bytes: u64,
    /// The part of `own_bytes` that no earlier version names.
    pub added_bytes: u64,
}

impl Table {
    /// Does what `Storage::objects` says.
    pub(crate) async fn objects(&self) -> Result<BTreeMap<String, u64>> {
        let named = named(std::slice::from_ref(self)).await?;
        if named.iter().any(|named| named.is_missing_layouts) {
            for group in 0..self.manifest().schema.groups().len() {
                self.layout(group).await?;
            }
        }
        Ok(named.iter().flat_map(Named::objects).map(|(name, bytes)| (name.clone(), bytes)).collect())
    }

    /// Does what `Storage::usage` says.
    pub(crate) async fn usage(store: &Store) -> Result<Usage> {
        let (listed, begun) = try_join(store.list_all(""), store.list_unfinished(&[""])).await?;
        let sizes: BTreeMap<&str, u64> = listed.iter().chain(&begun).map(|listed| (listed.name.as_str(), listed.bytes)).collect();
        let numbers: BTreeSet<u64> = sizes.keys().filter_map(|name| version_of_name(name)).collect();
        let (tables, damaged) = readable_versions(store, numbers).await?;
        let tables: Vec<Self> = tables.into_iter().map(|(table, _)| table).collect();
        let names = named(&tables).await?;
        let objects = |table: &Self, named: &Named| -> BTreeMap<String, u64> {
            let manifest = manifest_name(table.version());
            let bytes = sizes.get(manifest.as_str()).copied().unwrap_or(0);
            named.objects().map(|(name, bytes)| (name.clone(), bytes)).chain([(manifest, bytes)]).collect()
        };
        let mut users: BTreeMap<String, u64> = BTreeMap::new();
        for (table, named) in tables.iter().zip(&names) {
            objects(table, named).into_keys().for_each(|name| *users.entry(name).or_default() += 1);
        }
        let mut before: BTreeSet<String> = BTreeSet::new();
        let mut versions = Vec::new();
        for (table, named) in tables.iter().zip(&names) {
            let objects = objects(table, named);
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
                referenced_bytes: named.referenced_bytes(),
                added_bytes: sum(&|name| !before.contains(name)),
            });
            before.extend(objects.into_keys());
        }
        versions.reverse();
        let unnamed = sizes.iter().filter(|(name, _)| !before.contains(**name) && !Pin::is_name(name));
        Ok(Usage {
            url: store.url().to_owned(),
            stored_bytes: sizes.values().sum(),
            unnamed_bytes: unnamed.map(|(_, bytes)| bytes).sum(),
            pins: sizes.keys().filter(|name| Pin::is_name(name)).count() as u64,
            versions,
            damaged: damaged.into_keys().rev().collect(),
        })
    }
}
