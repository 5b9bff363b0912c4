//! Who uses what: the objects that versions name, and how many bytes each version shares with others.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join;
use serde::Serialize;

use crate::{
    error::Result,
    format::{manifest_name, version_of_name},
    store::Store,
    table::{
        objects::{Named, named, open_versions},
        table::Table,
    },
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
        let named = named(std::slice::from_ref(self)).await?;
        if named.iter().any(|named| named.is_missing_layouts) {
            for group in 0..self.manifest().schema.groups().len() {
                self.layout(group).await?;
            }
        }
        Ok(named.iter().flat_map(Named::objects).map(|(name, bytes)| (name.clone(), bytes)).collect())
    }

    /// What the table takes, version by version. Reads each layout that some version names, once.
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` for a manifest or a layout that cannot be read; errors of the store.
    pub async fn usage(store: &Store) -> Result<Usage> {
        let (listed, begun) = try_join(store.list_all(""), store.list_unfinished(&[""])).await?;
        let sizes: BTreeMap<&str, u64> = listed.iter().chain(&begun).map(|listed| (listed.name.as_str(), listed.bytes)).collect();
        let numbers: BTreeSet<u64> = sizes.keys().filter_map(|name| version_of_name(name)).collect();
        let tables: Vec<Self> = open_versions(store, numbers).await?.into_iter().map(|(table, _)| table).collect();
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
        let is_pin = |name: &str| name.starts_with("pins/");
        let unnamed = sizes.iter().filter(|(name, _)| !before.contains(**name) && !is_pin(name));
        Ok(Usage {
            url: store.url().to_owned(),
            stored_bytes: sizes.values().sum(),
            unnamed_bytes: unnamed.map(|(_, bytes)| bytes).sum(),
            pins: sizes.keys().filter(|name| is_pin(name)).count() as u64,
            versions,
        })
    }
}
