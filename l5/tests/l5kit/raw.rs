//! The decoded arrays of a data set (`raw.npz`), as the input of the computations.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this reader")]

use tetrys_l5::arrays::{Agents, Faces, Frames};

use crate::npz::Npz;

/// The columns of all scenes.
pub struct Raw {
    /// The first and the end frame of each scene.
    pub scenes: Vec<[usize; 2]>,
    /// The host of each scene.
    pub hosts: Vec<String>,
    timestamps: Vec<i64>,
    translations: Vec<[f64; 3]>,
    rotations: Vec<[[f64; 3]; 3]>,
    /// The bounds of the frames in the agent rows, from 0 on.
    pub agent_bounds: Vec<usize>,
    centroids: Vec<[f64; 2]>,
    extents: Vec<[f32; 3]>,
    yaws: Vec<f32>,
    velocities: Vec<[f32; 2]>,
    /// The track ids of all agents.
    pub track_ids: Vec<u64>,
    label_probabilities: Vec<[f32; 17]>,
}

impl Raw {
    /// Takes the columns from a file.
    pub fn new(npz: &Npz) -> Self {
        let pairs = |name: &str| -> Vec<[usize; 2]> {
            npz.i64(name).as_chunks::<2>().0.iter().map(|pair| pair.map(|value| usize::try_from(value).unwrap())).collect()
        };
        let mut agent_bounds = vec![0];
        agent_bounds.extend(pairs("frames.agent_index_interval").iter().map(|interval| interval[1]));
        Self {
            scenes: pairs("scenes.frame_index_interval"),
            hosts: npz.text("scenes.host"),
            timestamps: npz.i64("frames.timestamp"),
            translations: npz.f64("frames.ego_translation").as_chunks().0.to_vec(),
            rotations: npz.f64("frames.ego_rotation").as_chunks::<3>().0.as_chunks().0.to_vec(),
            agent_bounds,
            centroids: npz.f64("agents.centroid").as_chunks().0.to_vec(),
            extents: npz.f32("agents.extent").as_chunks().0.to_vec(),
            yaws: npz.f32("agents.yaw"),
            velocities: npz.f32("agents.velocity").as_chunks().0.to_vec(),
            track_ids: npz.u64("agents.track_id"),
            label_probabilities: npz.f32("agents.label_probabilities").as_chunks().0.to_vec(),
        }
    }

    /// Returns consecutive frames with all agent columns. Faces are left out.
    ///
    /// The bounds are those in all agent rows, and so are the agents.
    pub fn frames(&self, frames: std::ops::Range<usize>) -> Frames<'_> {
        Frames {
            timestamps: &self.timestamps[frames.clone()],
            translations: &self.translations[frames.clone()],
            rotations: &self.rotations[frames.clone()],
            agent_bounds: &self.agent_bounds[frames.start..=frames.end],
            agents: Agents {
                centroids: &self.centroids,
                extents: &self.extents,
                yaws: &self.yaws,
                velocities: &self.velocities,
                track_ids: &self.track_ids,
                label_probabilities: &self.label_probabilities,
            },
            face_bounds: &[],
            faces: Faces::default(),
        }
    }
}
