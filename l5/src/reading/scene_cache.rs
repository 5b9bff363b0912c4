//! Columns of whole scenes in memory: decoded from a zarr group, or read from a table whose scenes all fit.

use std::{ops::Range, sync::Arc};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use quick_cache::{Weighter, sync::Cache};
use tetrys::{Error, Result};

use super::{columns::Columns, wanted::Wanted};
use crate::zarr::Dataset;

/// Decoded scenes, by their first frames. The scenes that were used last stay in memory, up to a number of bytes.
#[derive(Debug)]
pub(super) struct SceneCache(Cache<u64, Arc<Columns>, Bytes>);

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<u64, Arc<Columns>> for Bytes {
    fn weight(&self, _: &u64, columns: &Arc<Columns>) -> u64 {
        columns.bytes()
    }
}

impl SceneCache {
    pub(super) fn new(cache_bytes: usize) -> Self {
        // A scene has about a megabyte.
        Self(Cache::with_weighter((cache_bytes >> 20).clamp(1, 1 << 20), cache_bytes as u64, Bytes))
    }

    pub(super) fn get(&self, first: u64) -> Option<Arc<Columns>> {
        self.0.get(&first)
    }

    pub(super) fn put(&self, first: u64, columns: &Arc<Columns>) {
        self.0.insert(first, Arc::clone(columns));
    }
}

/// Decodes a scene of a zarr group, by the frames that it has.
///
/// # Errors
/// - `Corrupt`: the data set is damaged.
/// - Errors of the file system.
pub(super) fn decode(dataset: &Dataset, frames: Range<u64>) -> Result<Columns> {
    let batches = dataset.rows(frames.clone())?.collect::<Result<Vec<RecordBatch>>>()?;
    let first = batches.first().ok_or_else(|| Error::internal(format!("frames {frames:?} have no batch")))?;
    let all = concat_batches(&first.schema(), &batches).map_err(|error| Error::internal(error.to_string()))?;
    let faces = all.column_by_name("tl_faces.face_id").is_some();
    let wanted = Wanted { agents: Some(0), labels: true, faces, ..Default::default() };
    let column = |name: &str| all.column_by_name(name).cloned().ok_or_else(|| Error::not_found(format!("no column `{name}`")));
    Columns::of(&column, &wanted)
}
