//! The versions of a table: when each was made, by what, and what it added.

use futures::future::try_join_all;
use serde::Serialize;

use super::version::Table;
use crate::{
    commit,
    error::{ErrorKind, Result},
    format::manifest_name,
    store::Store,
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
        Self::versions_among(store, commit::versions(store).await?).await
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
                Self::versions_among(self.store(), versions.collect()).await
            }
        }
    }

    async fn versions_among(store: &Store, versions: Vec<u64>) -> Result<Vec<VersionInfo>> {
        let opened = versions.into_iter().map(|version| async move {
            match Self::open_version(store.clone(), version).await {
                Ok(table) => Ok(Some((store.modified(&manifest_name(version)).await.ok(), table))),
                // Removed since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        });
        let mut tables: Vec<(Option<i64>, Self)> = try_join_all(opened).await?.into_iter().flatten().collect();
        tables.sort_unstable_by_key(|(_, table)| std::cmp::Reverse(table.version()));
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
