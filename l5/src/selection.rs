//! Selects the reliable agents of a table, scene by scene.

use std::ops::Range;

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tetrys::{Error, Result};

use crate::{
    arrays::Frames,
    mask::{Rejected, Thresholds, select_agents, select_scenes},
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
        progress: impl Fn(u64) + Sync,
    ) -> Result<(Vec<[u32; 2]>, Rejected)> {
        let workers = match workers {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            workers => workers,
        };
        if !self.is_table() {
            return self.select_in_memory(thresholds, workers, progress);
        }
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

    /// Selects the agents of scenes that need no waiting: each thread decodes scenes of its own.
    fn select_in_memory(
        &self,
        thresholds: &Thresholds,
        threads: usize,
        progress: impl Fn(u64) + Sync,
    ) -> Result<(Vec<[u32; 2]>, Rejected)> {
        let total = self.agent_ends().last().copied().unwrap_or(0);
        let mut counts = vec![[0; 2]; usize::try_from(total).unwrap_or(0)];
        let before =
            |frame: u64| frame.checked_sub(1).and_then(|frame| self.agent_ends().get(frame as usize)).copied().unwrap_or(0);
        let mut done = 0;
        let visit = |scene: usize, select: &mut dyn FnMut(&Frames<'_>) -> Result<()>| {
            let Some(frames) = self.scenes().get(scene).map(|scene| scene.frames.clone()).filter(|frames| !frames.is_empty())
            else {
                return Ok(());
            };
            let wanted = whole_scene(&frames);
            let windows = self.windows(&[frames.end - 1], wanted).now_or_never();
            let windows = windows.ok_or_else(|| Error::internal("a scene in memory had to be waited for"))??;
            select(&windows.frames(0, &mut Scratch::default())?.0)
        };
        let store = |scene: usize, found: &[[u32; 2]]| {
            let frames = self.scenes().get(scene).map_or(0..0, |scene| scene.frames.clone());
            let start = before(frames.start) as usize;
            let place = counts.get_mut(start..start + found.len());
            place
                .ok_or_else(|| Error::corrupt(format!("scene {scene} has more agents than its frames say")))?
                .copy_from_slice(found);
            done += frames.end - frames.start;
            progress(done);
            Ok(())
        };
        let rejected = select_scenes(self.scenes().len(), thresholds, threads, visit, store)?;
        Ok((counts, rejected))
    }

    /// Selects the agents of one scene. Also returns its number of frames.
    async fn selected(&self, scene: usize, thresholds: &Thresholds) -> Result<(Vec<[u32; 2]>, Rejected, u64)> {
        let Some(frames) = self.scenes().get(scene).map(|scene| scene.frames.clone()).filter(|frames| !frames.is_empty()) else {
            return Ok(Default::default());
        };
        let len = frames.end - frames.start;
        let windows = self.windows(&[frames.end - 1], whole_scene(&frames)).await?;
        let mut scratch = Scratch::default();
        let (found, _) = windows.frames(0, &mut scratch)?;
        let mut counts = vec![[0; 2]; found.agents.track_ids.len()];
        let rejected = select_agents(&found, thresholds, &mut counts).map_err(|error| error.at(format!("scene {scene}")))?;
        Ok((counts, rejected, len))
    }
}

/// Returns what the window around the last frame of a scene must have to be the whole scene.
fn whole_scene(frames: &Range<u64>) -> Wanted {
    Wanted { history: (frames.end - frames.start - 1) as usize, agents: Some(0), labels: true, ..Default::default() }
}
