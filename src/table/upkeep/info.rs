//! Statistics of a version: rows, bytes, column groups and codecs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::{commit, error::Result, id::ChunkId, table::version::table::Table};

/// Statistics of a version, as `tetrys info` prints them.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TableInfo {
    /// URL of the table.
    pub url: String,
    /// UUID of the table, the same in all versions.
    pub uuid: String,
    /// Number of the version.
    pub version: u64,
    /// Number of rows.
    pub rows: u64,
    /// Number of sequences.
    pub sequences: u64,
    /// Preset of the version.
    pub preset: String,
    /// Properties of the table.
    pub properties: BTreeMap<String, Value>,
    /// Tags, and the version that each names.
    pub tags: BTreeMap<String, u64>,
    /// Stored bytes of the index.
    pub index_bytes: u64,
    /// Stored bytes of the layouts.
    pub layout_bytes: u64,
    /// Stored bytes of the logical block hashes.
    pub hashes_bytes: u64,
    /// Number of different chunks.
    pub chunks: u64,
    /// Bytes of the table's own chunks.
    pub own_chunk_bytes: u64,
    /// Bytes of chunks that lie in other tables.
    pub referenced_chunk_bytes: u64,
    /// Stored bytes of the blocks in own chunks.
    pub own_bytes: u64,
    /// Stored bytes of the blocks that lie in other tables.
    pub referenced_bytes: u64,
    /// Stored bytes of the blocks in own chunks that the parent version uses too; 0 if the parent version no longer exists.
    pub shared_bytes: u64,
    /// Column groups.
    pub column_groups: Vec<GroupInfo>,
    /// URLs of the other tables that the version uses.
    pub references: Vec<String>,
    /// Sources of a view: the tables whose rows it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceInfo>,
}

/// A source of a view: a table whose rows the view has.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct SourceInfo {
    /// URLs where the table may be found, in the order in which they are tried.
    pub urls: Vec<String>,
    /// UUID of the table.
    pub uuid: String,
    /// Version of the table.
    pub version: u64,
    /// Number of rows of that version.
    pub rows: u64,
    /// Number of the source into which this one was merged; `None` for a base source, whose rows windows follow.
    pub merged_into: Option<usize>,
    /// Columns that the view reads from the source, with their types.
    pub columns: Vec<(String, String)>,
    /// Stored bytes of the join map and of the lists of the source.
    pub join_bytes: u64,
}

/// Statistics of one column group.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct GroupInfo {
    /// Name of the group.
    pub name: String,
    /// Columns and their types.
    pub columns: Vec<(String, String)>,
    /// Number of blocks.
    pub blocks: u64,
    /// Stored bytes of the blocks.
    pub bytes: u64,
    /// Bytes of the canonical form.
    pub logical_bytes: u64,
    /// Codec chains of each column, the one with the most rows first.
    pub codecs: Vec<Vec<String>>,
}

impl Table {
    /// Returns statistics of this version. Reads the layouts of this version and of its parent.
    ///
    /// # Errors
    /// - `Corrupt`: a layout of this version is damaged.
    /// - Errors of the store.
    pub async fn info(&self) -> Result<TableInfo> {
        let manifest = self.manifest();
        let mut chunks = BTreeMap::new();
        let mut column_groups = Vec::new();
        let before = self.blocks_before().await;
        let (mut own_bytes, mut referenced_bytes, mut shared_bytes) = (0, 0, 0);
        for (number, group) in manifest.schema.groups().iter().enumerate() {
            let layout = self.layout(number).await?;
            let mut codecs: Vec<BTreeMap<String, u64>> = vec![BTreeMap::new(); group.columns.len()];
            for run in layout.runs() {
                chunks.insert((run.owner, run.chunk), run.chunk_bytes);
                match run.owner {
                    0 => own_bytes += run.stored_bytes(),
                    _ => referenced_bytes += run.stored_bytes(),
                }
                if run.owner == 0 && before.contains(&run.chunk) {
                    shared_bytes += run.stored_bytes();
                }
                for (counts, chain) in codecs.iter_mut().zip(run.chains.iter()) {
                    *counts.entry(chain.to_string()).or_default() += run.rows;
                }
            }
            let segments = || manifest.segments.iter().map(|segment| &segment.groups[number]);
            let columns = group.columns.iter().filter_map(|id| self.schema().column(*id));
            column_groups.push(GroupInfo {
                name: group.name.clone(),
                columns: columns.map(|column| (column.name.clone(), column.ty.to_string())).collect(),
                blocks: segments().map(|group| group.blocks).sum(),
                bytes: segments().map(|group| group.stored_bytes).sum(),
                logical_bytes: segments().flat_map(|group| &group.columns).map(|column| column.logical).sum(),
                codecs: codecs
                    .into_iter()
                    .map(|counts| {
                        let mut names: Vec<_> = counts.into_iter().collect();
                        names.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
                        names.into_iter().map(|(name, _)| name).collect()
                    })
                    .collect(),
            });
        }
        let bytes_of = |own: bool| chunks.iter().filter(|((owner, _), _)| (*owner == 0) == own).map(|(_, bytes)| *bytes).sum();
        let groups = || manifest.segments.iter().flat_map(|segment| &segment.groups);
        Ok(TableInfo {
            url: self.url().to_owned(),
            uuid: manifest.table.to_string(),
            version: manifest.version,
            rows: manifest.rows(),
            sequences: manifest.sequences(),
            preset: manifest.preset.clone(),
            properties: manifest.properties.clone(),
            tags: manifest.tags.clone(),
            index_bytes: manifest.segments.iter().map(|segment| segment.index.bytes).sum(),
            layout_bytes: groups().map(|group| group.layout.bytes).sum(),
            hashes_bytes: groups().map(|group| group.hashes.bytes).sum(),
            chunks: chunks.len() as u64,
            own_chunk_bytes: bytes_of(true),
            referenced_chunk_bytes: bytes_of(false),
            own_bytes,
            referenced_bytes,
            shared_bytes,
            column_groups,
            sources: self.source_infos(),
            references: manifest.stores.iter().filter_map(|store| store.urls.first()).cloned().collect(),
        })
    }

    fn source_infos(&self) -> Vec<SourceInfo> {
        let sources = self.view().map(|view| view.sources.iter()).into_iter().flatten().enumerate();
        let infos = sources.filter_map(|(number, source)| {
            let store = self.manifest().stores.get((source.store as usize).checked_sub(1)?)?;
            Some(SourceInfo {
                urls: store.urls.clone(),
                uuid: store.table.to_string(),
                version: store.version,
                rows: source.rows,
                merged_into: (source.base != number).then_some(source.base),
                columns: source.columns.iter().map(|column| (column.name.clone(), source.type_of(column).to_string())).collect(),
                join_bytes: source.maps().map(|object| object.bytes).sum(),
            })
        });
        infos.collect()
    }

    /// Returns the own chunks of the parent version, as far as its layouts can be read.
    async fn blocks_before(&self) -> BTreeSet<ChunkId> {
        let mut chunks = BTreeSet::new();
        let Some(parent) = &self.manifest().parent else { return chunks };
        let Ok((manifest, hash)) = commit::load(self.store(), parent.version).await else { return chunks };
        let before = Self::of(self.store().clone(), manifest, hash, Vec::new());
        for group in 0..before.schema().groups().len() {
            let Ok(layout) = before.layout(group).await else { continue };
            chunks.extend(layout.runs().iter().filter(|run| run.owner == 0).map(|run| run.chunk));
        }
        chunks
    }
}
