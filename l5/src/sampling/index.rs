//! Finds what an index of a data set means: the scene and the state of a frame, and the row, frame and scene of an agent.
//!
//! Frames and agents are found by the ends of their intervals. `scene_ends` are the second values of `scenes.frame_index_interval`, and
//! `agent_ends` those of `frames.agent_index_interval`. As in L5Kit, each interval starts where the one before ends.

use std::ops::Range;

use tetrys::{Error, Result};

/// Returns the place of an index of a data set with `len` samples. A negative index counts from the end.
///
/// ```
/// use tetrys_l5::sampling::index::position;
/// assert_eq!(position(2, 5).unwrap(), 2);
/// assert_eq!(position(-1, 5).unwrap(), 4);
/// assert!(position(5, 5).is_err());
/// ```
///
/// # Errors
/// `NotFound` if the index is too large, where L5Kit raises `IndexError`. `Invalid` if a negative index goes beyond the first sample,
/// where L5Kit raises `ValueError`.
pub fn position(index: i64, len: usize) -> Result<usize> {
    let distance = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    if index < 0 {
        let below = || Error::invalid(format!("index {index}: absolute value of index should not exceed dataset length {len}"));
        return len.checked_sub(distance).ok_or_else(below);
    }
    if distance < len { Ok(distance) } else { Err(Error::not_found(format!("index {index} of a data set of {len} samples"))) }
}

/// Returns the scene of a frame, and its state: the place of the frame in the scene.
///
/// ```
/// use tetrys_l5::sampling::index::scene_of_frame;
/// assert_eq!(scene_of_frame(&[248, 348, 385], 300).unwrap(), (1, 52));
/// ```
///
/// # Errors
/// `NotFound` if no scene has the frame, where L5Kit raises `IndexError`.
pub fn scene_of_frame(scene_ends: &[usize], frame: usize) -> Result<(usize, usize)> {
    let (scene, start) = interval_of(scene_ends, frame).ok_or_else(|| {
        let frames = scene_ends.last().copied().unwrap_or(0);
        Error::not_found(format!("frame {frame} is in no scene: the {} scenes end at frame {frames}", scene_ends.len()))
    })?;
    Ok((scene, frame - start))
}

/// Returns the frame of an agent row.
///
/// # Errors
/// `NotFound` if no frame has the row, where L5Kit raises `IndexError`.
pub fn frame_of_row(agent_ends: &[usize], row: usize) -> Result<usize> {
    let (frame, _) = interval_of(agent_ends, row).ok_or_else(|| {
        let rows = agent_ends.last().copied().unwrap_or(0);
        Error::not_found(format!("agent row {row} is in no frame: the {} frames end at row {rows}", agent_ends.len()))
    })?;
    Ok(frame)
}

/// Returns the frames of a scene, which are its indices in an `EgoDataset` too: `get_scene_indices`. A negative scene counts from the end.
///
/// # Errors
/// `NotFound` if there is no such scene. L5Kit raises `AssertionError` if the number is too large, and `IndexError` if it is too small.
pub fn frames_of_scene(scene_ends: &[usize], scene: i64) -> Result<Range<usize>> {
    let scenes = scene_ends.len();
    let place = position(scene, scenes).map_err(|_| Error::not_found(format!("scene {scene} of {scenes}")))?;
    Ok(interval(scene_ends, place))
}

/// Returns the frames of a scene that a sample needs, and the place of the current frame in them.
///
/// The window has `history` frames before the current one and `future` frames after it, as far as the scene has them.
///
/// ```
/// use tetrys_l5::sampling::index::window;
/// assert_eq!(window(100, 248, 10, 50).unwrap(), (90..151, 10));
/// assert_eq!(window(3, 20, 10, 50).unwrap(), (0..20, 3));
/// ```
///
/// # Errors
/// `NotFound` if the scene has no such frame, where L5Kit raises `IndexError`.
pub fn window(state: usize, frames: usize, history: usize, future: usize) -> Result<(Range<usize>, usize)> {
    if state >= frames {
        return Err(Error::not_found(format!("frame {state} of a scene of {frames} frames")));
    }
    let start = state.saturating_sub(history);
    Ok((start..state.saturating_add(future).saturating_add(1).min(frames), state - start))
}

/// The rows of the agents that an `AgentDataset` gives samples of, in ascending order.
///
/// It takes 8 bytes per valid row, and nothing for the others. L5Kit's lists of indices are ranges here: the valid rows between two rows
/// are neighbours.
///
/// ```
/// use tetrys_l5::sampling::index::ValidRows;
/// let valid = ValidRows::from_mask(&[true, false, false, true, true], 5)?;
/// let agent_ends = [2, 2, 5];
/// assert_eq!(valid.row(1)?, 3);
/// assert_eq!(valid.in_frame(&agent_ends, 2)?, 1..3);
/// # Ok::<(), tetrys::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidRows(Vec<u64>);

impl ValidRows {
    /// Takes the rows for which the mask is true.
    ///
    /// # Errors
    /// `Invalid` if the mask has another length than the data set has agent rows.
    pub fn from_mask(mask: &[bool], agents: usize) -> Result<Self> {
        if mask.len() != agents {
            return Err(Error::invalid(format!("the agents mask has {} values, expected {agents}: one per agent", mask.len())));
        }
        Ok(mask.iter().zip(0_u64..).filter_map(|(valid, row)| valid.then_some(row)).collect())
    }

    /// Returns the number of valid rows: of samples.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no row is valid.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the valid rows: `agents_indices`.
    pub fn rows(&self) -> &[u64] {
        &self.0
    }

    /// Returns the agent row of a sample. A negative index counts from the end.
    ///
    /// # Errors
    /// Those of [`position`].
    pub fn row(&self, index: i64) -> Result<usize> {
        let place = position(index, self.len())?;
        Ok(self.0.get(place).copied().unwrap_or_default() as usize)
    }

    /// Returns the indices of the valid agents of a frame of the data set: `get_frame_indices`.
    ///
    /// As in L5Kit, a negative frame gives the agents of all frames up to the one that Python's negative index means.
    ///
    /// # Errors
    /// `NotFound` if there is no such frame. L5Kit raises `AssertionError` if the number is too large, and `IndexError` if it is too small.
    pub fn in_frame(&self, agent_ends: &[usize], frame: i64) -> Result<Range<usize>> {
        let frames = agent_ends.len();
        let place = position(frame, frames).map_err(|_| Error::not_found(format!("frame {frame} of {frames}")))?;
        let rows = interval(agent_ends, place);
        Ok(self.within(if frame < 0 { 0 } else { rows.start }..rows.end))
    }

    /// Returns the indices of the valid agents of a scene: `get_scene_indices`. A negative scene counts from the end.
    ///
    /// # Errors
    /// Those of [`frames_of_scene`], and `NotFound` if the scene has no frames or ends beyond them, where L5Kit raises `IndexError`.
    pub fn in_scene(&self, scene_ends: &[usize], agent_ends: &[usize], scene: i64) -> Result<Range<usize>> {
        let frames = frames_of_scene(scene_ends, scene)?;
        if frames.is_empty() || frames.end > agent_ends.len() {
            let found = agent_ends.len();
            return Err(Error::not_found(format!("scene {scene} has the frames {frames:?} of a data set of {found} frames")));
        }
        Ok(self.within(interval(agent_ends, frames.start).start..interval(agent_ends, frames.end - 1).end))
    }

    /// Returns the indices of the valid ones among some agent rows.
    pub fn within(&self, rows: Range<usize>) -> Range<usize> {
        let before = |end: usize| self.0.partition_point(|row| *row < end as u64);
        let start = before(rows.start);
        start..before(rows.end).max(start)
    }

    /// Returns the valid ones among some agent rows, counted from the first of them: the mask of a data set of one scene.
    #[must_use]
    pub fn cut(&self, rows: Range<usize>) -> Self {
        let start = rows.start as u64;
        self.0.get(self.within(rows)).unwrap_or_default().iter().map(|row| row - start).collect()
    }
}

/// Takes valid rows in ascending order, such as those of [`valid_rows`](crate::mask::valid_rows).
impl FromIterator<usize> for ValidRows {
    fn from_iter<I: IntoIterator<Item = usize>>(rows: I) -> Self {
        rows.into_iter().map(|row| row as u64).collect()
    }
}

impl FromIterator<u64> for ValidRows {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        let mut rows: Vec<u64> = rows.into_iter().collect();
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        rows.shrink_to_fit();
        Self(rows)
    }
}

/// Returns the interval that holds a row, and its start.
fn interval_of(ends: &[usize], row: usize) -> Option<(usize, usize)> {
    let place = ends.partition_point(|end| *end <= row);
    (place < ends.len()).then(|| (place, interval(ends, place).start))
}

/// Returns an interval. Beyond the last one, all are empty.
fn interval(ends: &[usize], place: usize) -> Range<usize> {
    let end = |place: usize| ends.get(place).copied().unwrap_or_else(|| ends.last().copied().unwrap_or(0));
    let start = if place == 0 { 0 } else { end(place - 1) };
    start..end(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_indices_count_from_the_end_and_errors_are_l5kits() {
        assert_eq!(position(-5, 5).unwrap(), 0);
        assert_eq!(position(-6, 5).unwrap_err().kind(), tetrys::ErrorKind::Invalid);
        assert_eq!(position(5, 5).unwrap_err().kind(), tetrys::ErrorKind::NotFound);
        assert_eq!(position(i64::MIN, 5).unwrap_err().kind(), tetrys::ErrorKind::Invalid);
        assert_eq!(position(0, 0).unwrap_err().kind(), tetrys::ErrorKind::NotFound);
    }

    #[test]
    fn empty_frames_and_scenes_hold_no_row() {
        let ends = [3, 3, 3, 7];
        assert_eq!((0..7).map(|row| frame_of_row(&ends, row).unwrap()).collect::<Vec<_>>(), [0, 0, 0, 3, 3, 3, 3]);
        assert!(frame_of_row(&ends, 7).is_err());
        assert_eq!(scene_of_frame(&[0, 2, 2, 5], 2).unwrap(), (3, 0));
        assert_eq!(scene_of_frame(&[], 0).unwrap_err().to_string(), "frame 0 is in no scene: the 0 scenes end at frame 0");
    }

    #[test]
    fn indices_of_frames_and_scenes_are_ranges() {
        let valid: ValidRows = [1_usize, 2, 6, 9].into_iter().collect();
        let (scene_ends, agent_ends) = ([2, 2, 4], [2, 5, 5, 10]);
        let in_frames: Vec<_> = (0..4).map(|frame| valid.in_frame(&agent_ends, frame).unwrap()).collect();
        assert_eq!(in_frames, [0..1, 1..2, 2..2, 2..4]);
        assert_eq!(valid.in_frame(&agent_ends, -1).unwrap(), 0..4, "as L5Kit");
        assert!(valid.in_frame(&agent_ends, 4).is_err());
        assert_eq!(valid.in_scene(&scene_ends, &agent_ends, 0).unwrap(), 0..2);
        assert_eq!(valid.in_scene(&scene_ends, &agent_ends, -1).unwrap(), 2..4);
        assert!(valid.in_scene(&scene_ends, &agent_ends, 1).is_err(), "no frames");
        assert!(valid.in_scene(&scene_ends, &agent_ends, 3).is_err());
        assert_eq!(valid.cut(5..10).rows(), [1, 4]);
        assert!(ValidRows::from_mask(&[true], 2).is_err());
    }
}
