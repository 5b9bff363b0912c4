//! Vectorized samples, read from a table and computed batch by batch.

use tetrys::{Error, Result};

use crate::{
    parallel,
    reading::{FrameTable, FrameWindows, Scratch, Wanted},
    sampling::batch::HOST_BYTES,
    vectorized::{Batch, Request, Scratch as VectorScratch, Slot, Vectorizer},
};

/// Computes the samples of L5Kit's `EgoDatasetVectorized` and `EgoAgentDatasetVectorized`.
#[derive(Clone, Debug)]
pub struct VectorSampler {
    /// The settings and the map.
    pub vectorizer: Vectorizer,
    /// Whether traffic light faces are read. Without them, no face is active.
    pub faces: bool,
    /// Threads that compute a batch. 0 = `TETRYS_THREADS`, or the number of threads of the machine.
    pub threads: usize,
}

/// The centre of a vectorized sample: the ego car or an agent in a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorPlace {
    /// Position of the frame in the table.
    pub frame: u64,
    /// The track id of the agent in the centre. None: the ego.
    pub track_id: Option<u64>,
    /// The track ids of the agents to evaluate.
    pub valid_track_ids: Vec<u64>,
    /// Poses of the ego that replace those of the table, as a perturbation makes them.
    pub poses: Option<EgoPoses>,
}

/// Poses of the ego in all frames of a window, in the order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EgoPoses {
    /// `frames.ego_translation`, m.
    pub translations: Vec<[f64; 3]>,
    /// `frames.ego_rotation`, row by row.
    pub rotations: Vec<[[f64; 3]; 3]>,
}

/// A batch of vectorized samples.
#[derive(Clone, Debug, PartialEq)]
pub struct VectorBatch {
    /// All columns but those of the scene.
    pub vectors: Batch,
    /// `[B]`: the number of the scene.
    pub scene_index: Vec<i64>,
    /// `[B, 70]`: the host of the scene in ASCII, then zeros.
    pub host_id: Vec<u8>,
}

impl VectorSampler {
    /// Computes samples with one read plan.
    ///
    /// # Errors
    /// - `NotFound`: there is no such frame, or an element that controls a lane is not in the map.
    /// - `Invalid`: replaced poses have another number of frames than the window, or a host is not ASCII of at most 70 bytes.
    /// - The errors of [`Vectorizer::sample`] and of the store.
    pub async fn samples(&self, table: &FrameTable, places: &[VectorPlace]) -> Result<VectorBatch> {
        let settings = self.vectorizer.settings();
        let wanted = Wanted {
            history: settings.history_num_frames(),
            future: settings.future_num_frames,
            agents: Some(settings.future_num_frames),
            labels: true,
            faces: self.faces,
        };
        let positions: Vec<u64> = places.iter().map(|place| place.frame).collect();
        let windows = table.windows(&positions, wanted).await?;
        let mut batch = VectorBatch {
            vectors: self.vectorizer.batch(places.len())?,
            scene_index: Vec::with_capacity(places.len()),
            host_id: vec![0; places.len() * HOST_BYTES],
        };
        for (place, host_id) in places.iter().zip(batch.host_id.as_chunks_mut::<HOST_BYTES>().0) {
            let (scene, _) = table.scene_of(place.frame)?;
            let host = table.scenes().get(scene).map_or("", |scene| &scene.host);
            if host.len() > HOST_BYTES || !host.is_ascii() {
                return Err(Error::invalid(format!("host {host:?} must be ASCII of at most {HOST_BYTES} characters")));
            }
            host_id[..host.len()].copy_from_slice(host.as_bytes());
            batch.scene_index.push(scene as i64);
        }
        self.fill(places, &windows, &mut batch.vectors.slots())?;
        Ok(batch)
    }

    /// Fills all samples, each thread a part of them.
    fn fill(&self, places: &[VectorPlace], windows: &FrameWindows, slots: &mut [Slot<'_>]) -> Result<()> {
        let share = places.len().div_ceil(parallel::threads(self.threads)).max(1);
        let parts = places.chunks(share).zip(slots.chunks_mut(share)).enumerate();
        parallel::each(parts, |(number, (places, slots))| self.fill_part(places, windows, number * share, slots)).map(drop)
    }

    /// Fills some samples; `first` is the number of the first of them in the batch.
    fn fill_part(&self, places: &[VectorPlace], windows: &FrameWindows, first: usize, slots: &mut [Slot<'_>]) -> Result<()> {
        let (mut scratch, mut vectors) = (Scratch::default(), VectorScratch::default());
        for (number, (place, slot)) in places.iter().zip(slots).enumerate() {
            let at = |error: Error| error.at(format!("frame {}", place.frame));
            let (mut frames, current) = windows.frames(first + number, &mut scratch).map_err(at)?;
            if let Some(EgoPoses { translations, rotations }) = &place.poses {
                if translations.len() != frames.len() || rotations.len() != frames.len() {
                    let (expected, found) = (frames.len(), [translations.len(), rotations.len()]);
                    let message = format!("expected poses of {expected} frames, found {} and {}", found[0], found[1]);
                    return Err(at(Error::invalid(message)));
                }
                (frames.translations, frames.rotations) = (translations, rotations);
            }
            let request = Request { current, selected: place.track_id, valid_track_ids: &place.valid_track_ids };
            self.vectorizer.sample(&frames, request, &mut vectors, slot).map_err(at)?;
        }
        Ok(())
    }
}
