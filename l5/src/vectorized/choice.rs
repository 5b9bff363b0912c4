//! The choice of the other agents: who is near now or was near before.

use super::{AgentOrder, SetOrder, Settings};
use crate::arrays::Frames;
use crate::filter::{keeps_labels, numpy_argsort};
use std::ops::Range;

/// L5Kit's fixed threshold for other agents.
const THRESHOLD: f64 = 0.5;

/// The memory that one thread needs to make samples. It is kept from sample to sample, so that nothing is allocated again.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// The rows of agents that are near and pass the threshold: those of the current frame first, then back in time.
    rows: Vec<usize>,
    distances: Vec<f64>,
    set: SetOrder,
    /// The chosen track ids. An agent's position here is its row in the sample.
    pub(super) chosen: Vec<u64>,
    table: Vec<u32>,
}

impl Scratch {
    /// Chooses the other agents, and writes the perception label of each.
    ///
    /// L5Kit takes the label of the row nearest to the ego, in whichever frame of the history that is.
    pub(super) fn choose(
        &mut self,
        settings: &Settings,
        frames: &Frames<'_>,
        history: Range<usize>,
        selected: Option<u64>,
        centroid: [f64; 2],
        types: &mut [i64],
    ) {
        let agents = &frames.agents;
        self.rows.clear();
        self.distances.clear();
        let mut current = 0;
        for (step, frame) in history.rev().enumerate() {
            let rows = frame_rows(frames, frame);
            for (row, [x, y]) in rows.clone().zip(&agents.centroids[rows]) {
                let (dx, dy) = (x - centroid[0], y - centroid[1]);
                let distance = (dx * dx + dy * dy).sqrt();
                if distance < settings.max_agents_distance && keeps_labels(&agents.label_probabilities[row], THRESHOLD) {
                    self.rows.push(row);
                    self.distances.push(distance);
                }
            }
            if step == 0 {
                current = self.rows.len();
            }
        }
        let near_now = numpy_argsort(&self.distances[..current]);
        let near = numpy_argsort(&self.distances);
        self.set.clear();
        self.chosen.clear();
        for place in near_now.iter().chain(&near) {
            if self.chosen.len() >= settings.other_agents_num {
                break;
            }
            let id = agents.track_ids[self.rows[*place]];
            if Some(id) != selected && self.set.insert(id) {
                self.chosen.push(id);
            }
        }
        if settings.order == AgentOrder::PythonSet {
            self.chosen.clear();
            self.chosen.extend(self.set.iter());
        }
        self.index();
        let mut missing = self.chosen.len();
        let mut known = vec![false; missing];
        for place in near {
            if missing == 0 {
                break;
            }
            let row = self.rows[place];
            if let Some(agent) = self.find(agents.track_ids[row])
                && !std::mem::replace(&mut known[agent], true)
            {
                types[agent] = argmax(&agents.label_probabilities[row]);
                missing -= 1;
            }
        }
    }

    /// Builds the table of [`find`](Self::find): at least three quarters of its slots stay free.
    fn index(&mut self) {
        self.table.clear();
        self.table.resize((self.chosen.len() * 4).next_power_of_two().max(8), 0);
        let mask = self.table.len() - 1;
        for (agent, id) in self.chosen.iter().enumerate() {
            let mut slot = first_slot(*id) & mask;
            while self.table[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.table[slot] = agent as u32 + 1;
        }
    }

    /// Returns the row of a track id in the sample.
    #[inline]
    pub(super) fn find(&self, id: u64) -> Option<usize> {
        let mask = self.table.len().wrapping_sub(1);
        let mut slot = first_slot(id) & mask;
        loop {
            let agent = (*self.table.get(slot)? as usize).checked_sub(1)?;
            if self.chosen[agent] == id {
                return Some(agent);
            }
            slot = (slot + 1) & mask;
        }
    }
}

/// Returns the rows of the agents of a frame.
pub(super) fn frame_rows(frames: &Frames<'_>, frame: usize) -> Range<usize> {
    match frames.agent_bounds {
        [] => 0..0,
        bounds => bounds[frame]..bounds[frame + 1],
    }
}

/// The first slot to look into, before it is cut to the size of the table. Track ids are small numbers in a row.
#[inline]
fn first_slot(id: u64) -> usize {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

/// Returns the first place of the largest value. NaN counts as the largest, as in NumPy.
pub(super) fn argmax(values: &[f32]) -> i64 {
    let mut best = 0;
    for (place, value) in values.iter().enumerate() {
        if values[best].is_nan() {
            break;
        }
        if *value > values[best] || value.is_nan() {
            best = place;
        }
    }
    best as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_values_is_the_largest() {
        assert_eq!(argmax(&[0.0, 0.5, 0.5]), 1);
        assert_eq!(argmax(&[0.0, f32::NAN, 9.0, f32::NAN]), 1);
        assert_eq!(argmax(&[f32::NAN, 9.0]), 0);
    }

    #[test]
    fn chosen_track_ids_are_found() {
        let mut scratch = Scratch::default();
        assert_eq!(scratch.find(3), None);
        scratch.chosen = (0..1000).map(|id| id * 64).collect();
        scratch.index();
        for id in 0..2000 {
            assert_eq!(scratch.find(id), (id % 64 == 0).then_some(id as usize / 64), "{id}");
        }
    }
}
