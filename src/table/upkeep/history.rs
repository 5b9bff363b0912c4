//! The versions of a table: when each was made, by what, and what it added.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    commit,
    error::Result,
    format::manifest_name,
    store::Store,
    table::{objects::open_versions, table::Table},
};

/// One version of a table; what `tetrys versions` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VersionInfo {
    /// Its number.
    pub version: u64,
    /// The version that it was made from; the first has none.
    pub parent: Option<u64>,
    /// When its manifest was written, by the store's clock: milliseconds since 1970-01-01T00:00Z. `None` where the store does not
    /// tell.
    pub written_ms: Option<i64>,
    /// What made it: `create`, `append`, `delete`, ..
    pub operation: Option<String>,
    /// Its tags, as the newest version says.
    pub tags: Vec<String>,
    /// Its rows.
    pub rows: u64,
    /// Its sequences.
    pub sequences: u64,
    /// Bytes that were stored for it.
    pub bytes_added: Option<u64>,
    /// The preset that it was written with.
    pub preset: String,
    /// What wrote it.
    pub writer: Option<String>,
    /// The BLAKE3 of its manifest.
    pub manifest_blake3: String,
}

impl Table {
    /// The versions of the table in `store` that are there, newest first. Reads manifests and nothing else.
    ///
    /// ```no_run
    /// # async fn example() -> tetrys::Result<()> {
    /// use tetrys::{Store, Table};
    /// for version in Table::versions(&Store::open("/data/sensors")?).await? {
    ///     println!("{} {:?} {} rows, {:?}", version.version, version.operation, version.rows, version.tags);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// `Corrupt`, `Unsupported` for a manifest that cannot be read; errors of the store.
    pub async fn versions(store: &Store) -> Result<Vec<VersionInfo>> {
        let written = commit::manifests(store).await?.into_iter().map(|(version, listed)| (version, Some(listed.modified_ms)));
        Self::versions_among(store, written.collect()).await
    }

    /// The versions of this table that are there, newest first. Where the store does not list what it has, as a web server does
    /// not, those up to this one: at most 1,000 of them.
    ///
    /// # Errors
    /// As [`Table::versions`].
    pub async fn history(&self) -> Result<Vec<VersionInfo>> {
        const MOST: u64 = 1000;
        match self.store().lists() {
            true => Self::versions(self.store()).await,
            false => {
                let versions = self.version().saturating_sub(MOST).max(1)..=self.version();
                let mut written = BTreeMap::new();
                for version in versions {
                    written.insert(version, self.store().modified(&manifest_name(version)).await.ok());
                }
                Self::versions_among(self.store(), written).await
            }
        }
    }

    /// Versions and when they were written.
    async fn versions_among(store: &Store, written: BTreeMap<u64, Option<i64>>) -> Result<Vec<VersionInfo>> {
        let opened = open_versions(store, written.keys().rev().copied()).await?;
        let tables: Vec<(Option<i64>, Self)> =
            opened.into_iter().map(|(table, _)| (written.get(&table.version()).copied().flatten(), table)).collect();
        let known = tables.first().map(|(_, newest)| newest.manifest().tags.clone()).unwrap_or_default();
        let info = |(written_ms, table): &(Option<i64>, Self)| {
            let manifest = table.manifest();
            let said = |what: &str| manifest.lineage.get(what).and_then(|said| said.as_str()).map(str::to_owned);
            VersionInfo {
                version: table.version(),
                parent: manifest.parent.as_ref().map(|parent| parent.version),
                written_ms: *written_ms,
                operation: said("operation"),
                tags: known.iter().filter(|(_, version)| **version == table.version()).map(|(tag, _)| tag.clone()).collect(),
                rows: manifest.rows(),
                sequences: manifest.sequences(),
                bytes_added: manifest.lineage.get("bytes_added").and_then(serde_json::Value::as_u64),
                preset: manifest.preset.clone(),
                writer: said("writer"),
                manifest_blake3: table.manifest_hash().to_string(),
            }
        };
        Ok(tables.iter().map(info).collect())
    }
}
