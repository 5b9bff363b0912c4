//! Batches of vectorized samples.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::{prelude::*, types::PyDict};
use tetrys::ErrorKind;
use tetrys_l5::{
    EgoPoses, VectorBatch, VectorPlace, VectorSampler,
    vectorized::{AgentOrder, Column, LaneSettings, Settings, Values, Vectorizer},
};

use super::{Level5, map::L5Map, raise_as_l5kit};
use crate::{
    error::{no_element, wrong_value},
    runtime::wait_with,
};

/// Computes vectorized samples; the data sets of `tetrys.l5` make it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5Vectorizer(Arc<VectorSampler>);

/// Frame, track id, track ids to evaluate, and translations and rotations of the ego in all frames of the window.
type Place = (u64, Option<u64>, Vec<u64>, Option<(Vec<[f64; 3]>, Vec<[[f64; 3]; 3]>)>);

#[pymethods]
impl L5Vectorizer {
    #[new]
    #[pyo3(signature = (map, *, history_ego, history_agents, future, step_time, threshold, other_agents, max_agents_distance, max_lanes, lane_points, crosswalk_points, max_map_distance, max_crosswalks, order, ego_as_agent, faces, threads))]
    #[expect(clippy::too_many_arguments, reason = "the keys of a configuration")]
    fn new(
        py: Python<'_>,
        map: &L5Map,
        history_ego: usize,
        history_agents: usize,
        future: usize,
        step_time: f64,
        threshold: f64,
        other_agents: usize,
        max_agents_distance: f64,
        max_lanes: usize,
        lane_points: usize,
        crosswalk_points: usize,
        max_map_distance: f64,
        max_crosswalks: usize,
        order: &str,
        ego_as_agent: bool,
        faces: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let settings = Settings {
            history_num_frames_ego: history_ego,
            history_num_frames_agents: history_agents,
            future_num_frames: future,
            step_time,
            filter_agents_threshold: threshold,
            other_agents_num: other_agents,
            max_agents_distance,
            lanes: LaneSettings {
                max_num_lanes: max_lanes,
                max_points_per_lane: lane_points,
                max_points_per_crosswalk: crosswalk_points,
                max_retrieval_distance_m: max_map_distance,
                max_num_crosswalks: max_crosswalks,
            },
            order: match order {
                "python-set" => AgentOrder::PythonSet,
                "distance" => AgentOrder::Distance,
                _ => return Err(wrong_value(&format!("order {order:?}: expected \"python-set\" or \"distance\""))),
            },
            ego_as_agent,
        };
        let vectorizer = py.detach(|| Vectorizer::new(settings, Arc::clone(&map.0))).map_err(raise_as_l5kit)?;
        Ok(Self(Arc::new(VectorSampler { vectorizer, faces, threads })))
    }

    /// Computes samples. Returns arrays with one entry for each sample.
    fn batch<'py>(&self, py: Python<'py>, data: &Level5, places: Vec<Place>) -> PyResult<Bound<'py, PyDict>> {
        let (sampler, table) = (Arc::clone(&self.0), Arc::clone(&data.0));
        let places: Vec<VectorPlace> = places.into_iter().map(place).collect();
        let batch = wait_with(py, async { sampler.samples(&table, &places).await }, raise_here)?;
        dict_of(py, batch)
    }
}

fn place((frame, track_id, valid_track_ids, poses): Place) -> VectorPlace {
    let poses = poses.map(|(translations, rotations)| EgoPoses { translations, rotations });
    VectorPlace { frame, track_id, valid_track_ids, poses }
}

/// `NotFound` means an element of the map here: the frames were checked before.
fn raise_here(error: tetrys::Error) -> PyErr {
    match error.kind() {
        ErrorKind::NotFound => no_element(&error.to_string()),
        _ => raise_as_l5kit(error),
    }
}

/// Returns the columns in L5Kit's order.
fn dict_of(py: Python<'_>, batch: VectorBatch) -> PyResult<Bound<'_, PyDict>> {
    let VectorBatch { vectors, scene_index, host_id } = batch;
    let (found, samples, valid) = (PyDict::new(py), vectors.len(), vectors.dims().valid);
    let mut of_scene = Some((scene_index, host_id));
    for Column { name, shape, values } in vectors.into_columns() {
        if name == "timestamp"
            && let Some((scene_index, host_id)) = of_scene.take()
        {
            put(&found, "scene_index", scene_index, &[samples])?;
            put(&found, "host_id", host_id, &[samples, 70])?;
        }
        if name == "all_valid_agents_track_ids" && valid == 0 {
            continue;
        }
        match values {
            Values::F32(values) => put(&found, name, values, &shape)?,
            Values::F64(values) => put(&found, name, values, &shape)?,
            Values::I64(values) => put(&found, name, values, &shape)?,
            Values::Bool(values) => put(&found, name, values, &shape)?,
        }
    }
    Ok(found)
}

/// Adds an array of a shape, without copying it.
fn put<T: Element>(found: &Bound<'_, PyDict>, name: &str, values: Vec<T>, shape: &[usize]) -> PyResult<()> {
    found.set_item(name, PyArray1::from_vec(found.py(), values).reshape(shape)?)
}
