//! Samples of the ego car and of agents, read from a table and computed batch by batch.

use tetrys::{Error, Result};

use crate::{
    arrays::Agents,
    filter::keeps_labels,
    parallel,
    raster::{RasterInput, Rasterizer, Scratch as RasterScratch, SelectedAgent},
    reading::{FrameTable, FrameWindows, Scratch, Wanted},
    sampling::{Kind, Moment, SampleSettings, SampleShape, SampleSlots, Samples, fill_sample},
};

/// Computes samples of frames or of agents: L5Kit's `EgoDataset` and `AgentDataset` without their indices.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// Lengths of history and future, and the kind: ego car or agents.
    pub shape: SampleShape,
    /// Step time, label threshold and the place of the raster.
    pub settings: SampleSettings,
    /// The rasterizer that draws `image`.
    pub rasterizer: Rasterizer,
    /// Whether traffic light faces are read for the raster.
    pub faces: bool,
    /// Threads that compute a batch. 0 = `TETRYS_THREADS`, or the number of threads of the machine.
    pub threads: usize,
}

/// A batch of samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// All keys of the samples but `image`.
    pub samples: Samples,
    /// `image`, [B, channels, height, width].
    pub images: Vec<f32>,
}

/// The centre of a sample: the ego car in a frame, or an agent in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    frame: u64,
    /// Number of the agent in the frame.
    agent: Option<usize>,
}

impl Sampler {
    /// Computes the samples of the ego car at these frames.
    ///
    /// # Errors
    /// - `NotFound`: there is no such frame.
    /// - The errors of [`fill_sample`], of the rasterizer and of the store.
    pub async fn ego(&self, table: &FrameTable, frames: &[u64]) -> Result<Batch> {
        self.ego_in(table, frames, Vec::new()).await
    }

    /// Does what [`Self::ego`] does, and draws into the memory of `images`: the system takes as long to make new memory for large images
    /// as they take to be drawn.
    ///
    /// # Errors
    /// The errors of [`Self::ego`].
    pub async fn ego_in(&self, table: &FrameTable, frames: &[u64], images: Vec<f32>) -> Result<Batch> {
        self.batch(table, frames.iter().map(|frame| Place { frame: *frame, agent: None }).collect(), images).await
    }

    /// Computes the samples of agents by their rows.
    ///
    /// # Errors
    /// - `NotFound`: there is no such row, or its label probability is not above the threshold.
    /// - The errors of [`fill_sample`], of the rasterizer and of the store.
    pub async fn agents(&self, table: &FrameTable, rows: &[u64]) -> Result<Batch> {
        self.agents_in(table, rows, Vec::new()).await
    }

    /// Does what [`Self::agents`] does, and draws into the memory of `images`.
    ///
    /// # Errors
    /// The errors of [`Self::agents`].
    pub async fn agents_in(&self, table: &FrameTable, rows: &[u64], images: Vec<f32>) -> Result<Batch> {
        let place = |row: &u64| {
            let frame = table.frame_of_agent(*row)?;
            Ok(Place { frame, agent: Some((row - table.agents_of(frame).start) as usize) })
        };
        self.batch(table, rows.iter().map(place).collect::<Result<_>>()?, images).await
    }

    async fn batch(&self, table: &FrameTable, places: Vec<Place>, images: Vec<f32>) -> Result<Batch> {
        let positions: Vec<u64> = places.iter().map(|place| place.frame).collect();
        let windows = table.windows(&positions, self.wanted()).await?;
        self.computed(table, &places, &windows, images)
    }

    /// Returns what is read around each frame.
    fn wanted(&self) -> Wanted {
        let draws_boxes = self.rasterizer.draws_boxes();
        let agents = match self.shape.kind {
            Kind::Agent => Some(self.shape.future),
            Kind::Ego => draws_boxes.then_some(0),
        };
        Wanted {
            history: self.shape.history,
            future: self.shape.future,
            agents,
            labels: agents.is_some(),
            faces: self.faces && self.rasterizer.draws_faces(),
        }
    }

    fn computed(&self, table: &FrameTable, places: &[Place], windows: &FrameWindows, mut images: Vec<f32>) -> Result<Batch> {
        let mut samples = Samples::new(self.shape, places.len())?;
        let each = self.rasterizer.len();
        let values = each.checked_mul(places.len()).filter(|values| *values < isize::MAX as usize / 4);
        let values =
            values.ok_or_else(|| Error::invalid(format!("{} rasters of {each} values do not fit into memory", places.len())))?;
        // Zeroed memory costs nothing until it is touched.
        let are_zero = images.len() < values || self.rasterizer.is_blank();
        if are_zero {
            images = vec![0.0; values];
        }
        images.truncate(values);
        // Without a picture, a sample takes a few microseconds, and starting a thread takes longer than some hundred samples.
        let least = if self.rasterizer.is_blank() { 512 } else { 1 };
        let threads = parallel::threads(self.threads).min((places.len() / least).max(1));
        let share = places.len().div_ceil(threads).max(1);
        let (mut rest, mut parts) = (samples.slots(), Vec::new());
        let mut images_left = &mut images[..];
        for (number, places) in places.chunks(share).enumerate() {
            let (slots, later_slots) = rest.split_at(places.len())?;
            let (image, later_images) = images_left.split_at_mut(places.len() * each);
            parts.push((number * share, places, slots, image));
            (rest, images_left) = (later_slots, later_images);
        }
        parallel::each(parts, |(first, places, mut slots, images): (usize, &[Place], SampleSlots<'_>, &mut [f32])| {
            if !are_zero && self.rasterizer.draws_boxes() {
                images.fill(0.0);
            }
            self.part(table, windows, first, places, &mut slots, images)
        })?;
        Ok(Batch { samples, images })
    }

    /// Computes the samples of some places; `first` is the number of the first of them in the batch. `images` are zero where boxes are
    /// drawn.
    fn part(
        &self,
        table: &FrameTable,
        windows: &FrameWindows,
        first: usize,
        places: &[Place],
        slots: &mut SampleSlots<'_>,
        images: &mut [f32],
    ) -> Result<()> {
        let (mut scratch, mut raster) = (Scratch::default(), RasterScratch::default());
        let each = self.rasterizer.len();
        for (number, place) in places.iter().enumerate() {
            let (scene_index, frame_index) = table.scene_of(place.frame)?;
            let (frames, current) = windows.frames(first + number, &mut scratch)?;
            let here = if frames.agent_bounds.is_empty() { Default::default() } else { frames.agents_of(current) };
            let selected = place.agent.map(|agent| self.selected(&here, agent, place.frame)).transpose()?;
            let moment = Moment {
                frames,
                current,
                labels: here.label_probabilities,
                track_id: selected.map(|agent| agent.track_id),
                frame_index,
                scene_index,
                host: table.scenes().get(scene_index).map_or("", |scene| &scene.host),
            };
            fill_sample(&self.settings, &moment, slots, number)?;
            if self.rasterizer.is_blank() {
                continue;
            }
            let input = RasterInput { frames: frames.first(current + 1), agent: selected };
            self.rasterizer.rasterize_over_zeros(&input, &mut raster, &mut images[number * each..(number + 1) * each])?;
        }
        Ok(())
    }

    /// Returns the agent that a sample is drawn around: the first row of the frame with the track of row `agent` and a label probability
    /// above the threshold.
    fn selected(&self, here: &Agents<'_>, agent: usize, frame: u64) -> Result<SelectedAgent> {
        let track_id = here.track_ids.get(agent).copied();
        let track_id = track_id.ok_or_else(|| {
            let found = here.track_ids.len();
            Error::corrupt(format!("frame {frame}: the index counts an agent {agent}, but the frame has {found} agents"))
        })?;
        let passes = |labels: &[f32; 17]| keeps_labels(labels, self.settings.filter_threshold);
        let mut rows = here.track_ids.iter().zip(here.label_probabilities);
        let row = rows.position(|(id, labels)| *id == track_id && passes(labels)).unwrap_or(agent);
        match (here.centroids.get(row), here.yaws.get(row)) {
            (Some(centroid), Some(yaw)) => Ok(SelectedAgent { centroid: *centroid, yaw: *yaw, track_id }),
            _ => Err(Error::corrupt(format!("frame {frame}: agent {row} has no pose"))),
        }
    }
}
