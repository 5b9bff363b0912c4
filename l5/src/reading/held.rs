//! Columns of whole scenes in memory: arrays of a caller, or scenes that were decoded from a zarr group.

use std::{ops::Range, sync::Arc};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use quick_cache::{Weighter, sync::Cache};
use tetrys::{Error, Result};

use super::{columns::Columns, windows::Wanted};
use crate::zarr::Dataset;

/// Decoded scenes of a zarr group. The scenes that were used last stay in memory, up to a number of bytes.
#[derive(Debug)]
pub(super) struct ZarrScenes {
    dataset: Dataset,
    cache: Cache<u64, Arc<Columns>, Bytes>,
}

#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<u64, Arc<Columns>> for Bytes {
    fn weight(&self, _: &u64, columns: &Arc<Columns>) -> u64 {
        columns.bytes()
    }
}

impl ZarrScenes {
    pub(super) fn new(dataset: Dataset, cache_bytes: usize) -> Self {
        // A scene has about a megabyte.
        let scenes = (cache_bytes >> 20).clamp(1, 1 << 20);
        Self { dataset, cache: Cache::with_weighter(scenes, cache_bytes as u64, Bytes) }
    }

    /// Returns the columns of a scene, by the frames that it has.
    ///
    /// # Errors
    /// - `Corrupt`: the data set is damaged.
    /// - Errors of the file system.
    pub(super) fn scene(&self, frames: Range<u64>) -> Result<Arc<Columns>> {
        self.cache.get_or_insert_with(&frames.start, || {
            let batches = self.dataset.rows(frames.clone())?.collect::<Result<Vec<RecordBatch>>>()?;
            let first = batches.first().ok_or_else(|| Error::internal(format!("frames {frames:?} have no batch")))?;
            let all = concat_batches(&first.schema(), &batches).map_err(|error| Error::internal(error.to_string()))?;
            let wanted = Wanted {
                agents: Some(0),
                labels: true,
                faces: all.column_by_name("tl_faces.face_id").is_some(),
                ..Default::default()
            };
            let column =
                |name: &str| all.column_by_name(name).cloned().ok_or_else(|| Error::not_found(format!("no column `{name}`")));
            Ok(Arc::new(Columns::of(&column, &wanted)?))
        })
    }
}
