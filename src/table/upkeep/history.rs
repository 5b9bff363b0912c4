//! Lists the versions of a table: when and by which operation each was made, and the bytes that it added.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use crate::{
    commit::{self, Fate},
    error::{ErrorKind, Result},
    format::{Manifest, manifest_name},
    id::Hash,
    store::Store,
    table::version::{objects::together, table::Table},
};

/// Description of one version of a table, as `tetrys versions` prints it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionInfo {
    /// Number of the version.
    pub version: u64,
    /// Number of the version that it was made from; `None` for the first version.
    pub parent: Option<u64>,
    /// Time when the manifest was written, by the store's clock, in milliseconds since 1970-01-01T00:00Z. `None` if the store
    /// does not report it.
    pub written_ms: Option<i64>,
    /// Operation that made the version: `create`, `append`, `delete`, ..
    pub operation: Option<String>,
    /// Tags of the version, according to the newest version.
    pub tags: Vec<String>,
    /// Number of rows.
    pub rows: u64,
    /// Number of sequences.
    pub sequences: u64,
    /// Bytes of the objects that were written for the version.
    pub bytes_added: Option<u64>,
    /// Preset of the version.
    pub preset: String,
    /// Program that wrote the version, such as `tetrys 0.1.0`.
    pub writer: Option<String>,
    /// BLAKE3 of the manifest.
    pub manifest_blake3: String,
    /// The error of the manifest, if it is damaged. Then all but the number, the time and the tags of the version is unknown,
    /// and `rows` and `sequences` are 0.
    pub damage: Option<String>,
}

impl Table {
    /// Does what `Versions::fate_of` says.
    pub(crate) async fn fate_of(store: &Store, version: u64, commit: Uuid) -> Result<Fate> {
        commit::fate_of(store, version, commit).await
    }

    /// Does what `Versions::rule_out` says.
    pub(crate) async fn rule_out(store: &Store, version: u64, commit: Uuid) -> Result<Fate> {
        commit::rule_out(store, version, commit).await
    }

    /// Does what `Versions::list` says.
    pub(crate) async fn versions_in(store: &Store) -> Result<Vec<VersionInfo>> {
        let written = commit::existing(store).await?.into_iter().map(|(version, listed)| (version, Some(listed.modified_ms)));
        Self::versions_among(store, written.collect(), None).await
    }

    /// Does what `Versions::list` says.
    pub(crate) async fn history(&self) -> Result<Vec<VersionInfo>> {
        Ok(self.recent_history(usize::MAX).await?.0)
    }

    /// Does what `Versions::recent` says.
    pub(crate) async fn recent_history(&self, limit: usize) -> Result<(Vec<VersionInfo>, bool)> {
        const MOST: u64 = 1000;
        if self.store().lists() {
            let existing = commit::existing(self.store()).await?;
            let older = existing.len().saturating_sub(limit);
            let written = existing.into_iter().skip(older).map(|(version, listed)| (version, Some(listed.modified_ms)));
            return Ok((Self::versions_among(self.store(), written.collect(), None).await?, older > 0));
        }
        let (first, mut end) = (self.version().saturating_sub(MOST).max(1), self.version() + 1);
        let mut found = Vec::new();
        // A number may have no version.
        while end > first && found.len() < limit {
            let wanted = u64::try_from(limit - found.len()).unwrap_or(MOST);
            let mut written = BTreeMap::new();
            for version in end.saturating_sub(wanted).max(first)..end {
                written.insert(version, self.store().modified(&manifest_name(version)).await.ok());
            }
            end -= written.len() as u64;
            found.extend(Self::versions_among(self.store(), written, Some(&self.manifest().tags)).await?);
        }
        Ok((found, end > 1))
    }

    /// Reads the manifests of the versions in `written`, a map from their numbers to the times when they were written. Each
    /// manifest is dropped when its description is made: a table may have ten thousand versions. Without `tags`, the newest of these versions
    /// tells the tags.
    async fn versions_among(
        store: &Store,
        written: BTreeMap<u64, Option<i64>>,
        tags: Option<&BTreeMap<String, u64>>,
    ) -> Result<Vec<VersionInfo>> {
        let read = |(version, written_ms): (u64, Option<i64>)| async move {
            match commit::load(store, version).await {
                Ok((manifest, hash)) => Ok(Some((info(&manifest, hash, written_ms), Some(manifest.tags)))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    let damage = Some(error.to_string());
                    Ok(Some((VersionInfo { version, written_ms, damage, ..VersionInfo::default() }, None)))
                }
                Err(error) => Err(error),
            }
        };
        let (mut infos, mut tags) = (Vec::with_capacity(written.len()), tags.cloned());
        for (info, of_version) in together(written.into_iter().rev().map(read)).await?.into_iter().flatten() {
            tags = tags.or(of_version);
            infos.push(info);
        }
        for (tag, version) in tags.unwrap_or_default() {
            if let Some(info) = infos.iter_mut().find(|info: &&mut VersionInfo| info.version == version) {
                info.tags.push(tag);
            }
        }
        Ok(infos)
    }
}

/// Describes a version, without its tags.
fn info(manifest: &Manifest, hash: Hash, written_ms: Option<i64>) -> VersionInfo {
    let lineage_text = |what: &str| manifest.lineage.get(what).and_then(|lineage_text| lineage_text.as_str()).map(str::to_owned);
    VersionInfo {
        version: manifest.version,
        parent: manifest.parent.as_ref().map(|parent| parent.version),
        written_ms,
        operation: lineage_text("operation"),
        tags: Vec::new(),
        rows: manifest.rows(),
        sequences: manifest.sequences(),
        bytes_added: manifest.lineage.get("bytes_added").and_then(serde_json::Value::as_u64),
        preset: manifest.preset.clone(),
        writer: lineage_text("writer"),
        manifest_blake3: hash.to_string(),
        damage: None,
    }
}
