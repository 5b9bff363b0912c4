//! Selects the reliable agents of a table, some scenes at a time.

use futures::{StreamExt, TryStreamExt, stream};
use tetrys::{Error, Result};

use crate::{
    mask::{Rejected, Thresholds, is_valid, select_agents},
    parallel,
    reading::{FrameTable, Scratch, Wanted},
    zarr::Scene,
};

/// Rounds of scenes that are read at a time.
const READ_AHEAD: usize = 2;

impl FrameTable {
    /// Returns how many frames before and after each agent it stays reliable, in the order of the rows, and how many rows were rejected
    /// and why: L5Kit's `select_agents`. Scenes are read and computed `workers` at a time; 0 stands for `TETRYS_THREADS`, or the number
    /// of threads of the machine. `progress` receives the number of frames done.
    ///
    /// # Errors
    /// - `Corrupt`: stored data is damaged.
    /// - Errors of the store.
    pub async fn select_agents(
        &self,
        thresholds: &Thresholds,
        workers: usize,
        progress: impl Fn(u64) + Sync,
    ) -> Result<(Vec<[u32; 2]>, Rejected)> {
        let mut counts = Vec::with_capacity(usize::try_from(self.agents_len()).unwrap_or(0));
        let take = |found: &[[u32; 2]]| {
            counts.extend_from_slice(found);
            Ok(())
        };
        let rejected = self.select_by_scene(thresholds, workers, progress, take).await?;
        Ok((counts, rejected))
    }

    /// Returns which agents are reliable for at least so many frames before and after them, one byte for each agent. `store` receives
    /// the counts of [`Self::select_agents`], scene by scene.
    ///
    /// # Errors
    /// Those of [`Self::select_agents`], and of `store`.
    pub async fn agents_mask(
        &self,
        thresholds: &Thresholds,
        least: [i64; 2],
        workers: usize,
        mut store: impl FnMut(&[[u32; 2]]) -> Result<()>,
    ) -> Result<Vec<bool>> {
        let mut mask = Vec::with_capacity(usize::try_from(self.agents_len()).unwrap_or(0));
        let take = |found: &[[u32; 2]]| {
            mask.extend(found.iter().map(|counts| is_valid(*counts, least)));
            store(found)
        };
        self.select_by_scene(thresholds, workers, |_| {}, take).await?;
        Ok(mask)
    }

    /// Counts the reliable frames of the agents of each scene, and passes them to `take` in the order of the scenes.
    async fn select_by_scene(
        &self,
        thresholds: &Thresholds,
        workers: usize,
        progress: impl Fn(u64) + Sync,
        mut take: impl FnMut(&[[u32; 2]]) -> Result<()>,
    ) -> Result<Rejected> {
        let scenes: Vec<(usize, Scene)> =
            self.scenes().iter().cloned().enumerate().filter(|(_, scene)| !scene.frames.is_empty()).collect();
        let rounds: Vec<_> = scenes.chunks(parallel::threads(workers)).map(<[_]>::to_vec).collect();
        let rounds = stream::iter(rounds).map(|round: Vec<(usize, Scene)>| async move {
            let lasts: Vec<u64> = round.iter().map(|(_, scene)| scene.frames.end - 1).collect();
            let longest = round.iter().map(|(_, scene)| &scene.frames).max_by_key(|frames| frames.end - frames.start);
            let wanted = longest.map(Wanted::scene).unwrap_or_default();
            let windows = self.windows(&lasts, wanted).await?;
            Ok::<_, Error>((round, windows))
        });
        let mut rounds = std::pin::pin!(rounds.buffered(READ_AHEAD));
        let (mut rejected, mut done) = (Rejected::default(), 0);
        while let Some((round, windows)) = rounds.try_next().await? {
            let found = parallel::each(0..round.len(), |place| {
                let mut scratch = Scratch::default();
                let (frames, _) = windows.frames(place, &mut scratch)?;
                let mut counts = vec![[0; 2]; frames.agents.track_ids.len()];
                let rejected = select_agents(&frames, thresholds, &mut counts);
                Ok((counts, rejected.map_err(|error| error.at(format!("scene {}", round[place].0)))?))
            })?;
            for ((_, scene), (counts, reasons)) in round.iter().zip(found) {
                take(&counts)?;
                rejected += reasons;
                done += scene.frames.end - scene.frames.start;
                progress(done);
            }
        }
        Ok(rejected)
    }
}
