//! Selects the reliable agents of a table, scene by scene.

use futures::{StreamExt, TryStreamExt, stream};
use tetrys::Result;

use crate::{
    mask::{Rejected, Thresholds, select_agents},
    reading::{FrameTable, Scratch, Wanted},
};

impl FrameTable {
    /// Returns how many frames before and behind each agent it stays reliable, in the order of the rows, and how many rows were rejected
    /// and why: L5Kit's `select_agents`. Scenes are read `workers` at a time; 0 stands for the threads of the machine. `progress`
    /// receives the number of frames done.
    ///
    /// # Errors
    /// - `Invalid`: the threshold of the label probability is not a number.
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub async fn select_agents(
        &self,
        thresholds: &Thresholds,
        workers: usize,
        progress: impl Fn(u64),
    ) -> Result<(Vec<[u32; 2]>, Rejected)> {
        let workers = match workers {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            workers => workers,
        };
        let total = self.agent_ends().last().copied().unwrap_or(0);
        let (mut counts, mut rejected, mut done) =
            (Vec::with_capacity(usize::try_from(total).unwrap_or(0)), Rejected::default(), 0);
        let scenes = stream::iter(0..self.scenes().len()).map(|scene| self.selected(scene, thresholds)).buffered(workers);
        let mut scenes = std::pin::pin!(scenes);
        while let Some((of_scene, reasons, frames)) = scenes.try_next().await? {
            counts.extend(of_scene);
            rejected += reasons;
            done += frames;
            progress(done);
        }
        Ok((counts, rejected))
    }

    /// Selects the agents of one scene. Also returns its number of frames.
    async fn selected(&self, scene: usize, thresholds: &Thresholds) -> Result<(Vec<[u32; 2]>, Rejected, u64)> {
        let Some(frames) = self.scenes().get(scene).map(|scene| scene.frames.clone()).filter(|frames| !frames.is_empty()) else {
            return Ok(Default::default());
        };
        let len = frames.end - frames.start;
        // The window up to the last frame of the scene is the whole scene.
        let wanted = Wanted { history: (len - 1) as usize, agents: Some(0), labels: true, ..Default::default() };
        let windows = self.windows(&[frames.end - 1], wanted).await?;
        let mut scratch = Scratch::default();
        let (found, _) = windows.frames(0, &mut scratch)?;
        let mut counts = vec![[0; 2]; found.agents.track_ids.len()];
        let rejected = select_agents(&found, thresholds, &mut counts).map_err(|error| error.at(format!("scene {scene}")))?;
        Ok((counts, rejected, len))
    }
}
