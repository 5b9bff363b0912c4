//! Batches of samples.

use std::sync::Arc;

use numpy::{Element, PyArray1, PyArray3, PyArrayMethods};
use pyo3::{prelude::*, types::PyDict};
use tetrys_l5::{
    Batch, Sampler,
    picture::draw_sample,
    reading::{Scratch, Wanted},
    sampling::{Kind, SampleSettings, SampleShape},
};

use super::{Level5, raise_as_l5kit, raster::L5Rasterizer};
use crate::runtime::wait_with;

/// Computes samples; the data sets of `tetrys.l5` make it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5Sampler(Arc<Sampler>);

#[pymethods]
impl L5Sampler {
    #[new]
    #[pyo3(signature = (rasterizer, *, history, future, step_time, threshold, agents, faces, threads))]
    #[expect(clippy::too_many_arguments, reason = "the keys of a configuration")]
    fn new(
        rasterizer: &L5Rasterizer,
        history: usize,
        future: usize,
        step_time: f64,
        threshold: f64,
        agents: bool,
        faces: bool,
        threads: usize,
    ) -> Self {
        let raster_from_local = rasterizer.0.context().raster_from_local();
        Self(Arc::new(Sampler {
            shape: SampleShape { history, future, kind: if agents { Kind::Agent } else { Kind::Ego } },
            settings: SampleSettings { step_time, filter_threshold: threshold, raster_from_local },
            rasterizer: (*rasterizer.0).clone(),
            faces,
            threads,
        }))
    }

    /// Computes the samples of frames, or of rows of agents. Returns arrays with one entry for each sample.
    fn batch<'py>(&self, py: Python<'py>, data: &Level5, places: Vec<u64>) -> PyResult<Bound<'py, PyDict>> {
        let (sampler, table) = (Arc::clone(&self.0), Arc::clone(&data.0));
        let work = async {
            match sampler.shape.kind {
                Kind::Ego => sampler.ego(&table, &places).await,
                Kind::Agent => sampler.agents(&table, &places).await,
            }
        };
        let batch = wait_with(py, work, raise_as_l5kit)?;
        dict_of(py, &self.0, batch)
    }

    /// Draws the sample of a frame or of a row of an agent, with its past and future: u8 [height, width, 3].
    fn picture<'py>(&self, py: Python<'py>, data: &Level5, place: u64) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let (sampler, table) = (Arc::clone(&self.0), Arc::clone(&data.0));
        let [width, height] = sampler.rasterizer.context().raster_size();
        let work = async {
            let (batch, frame) = match sampler.shape.kind {
                Kind::Ego => (sampler.ego(&table, &[place]).await?, place),
                Kind::Agent => (sampler.agents(&table, &[place]).await?, table.frame_of_agent(place)?),
            };
            let windows = table.windows(&[frame], Wanted { faces: true, ..Default::default() }).await?;
            let mut scratch = Scratch::default();
            let (found, current) = windows.frames(0, &mut scratch)?;
            draw_sample(&sampler.rasterizer, &batch, 0, found.faces_of(current).statuses)
        };
        let pixels = wait_with(py, work, raise_as_l5kit)?;
        PyArray1::from_vec(py, pixels).reshape([height, width, 3])
    }
}

fn dict_of<'py>(py: Python<'py>, sampler: &Sampler, batch: Batch) -> PyResult<Bound<'py, PyDict>> {
    let Batch { samples, images } = batch;
    let (found, n) = (PyDict::new(py), samples.len);
    let (past, future) = (samples.shape.history, samples.shape.future);
    let [channels, height, width] = sampler.rasterizer.shape();
    put(&found, "frame_index", samples.frame_index, &[n])?;
    put(&found, "image", images, &[n, channels, height, width])?;
    put(&found, "target_positions", samples.target_positions, &[n, future, 2])?;
    put(&found, "target_yaws", samples.target_yaws, &[n, future, 1])?;
    put(&found, "target_velocities", samples.target_velocities, &[n, future, 2])?;
    put(&found, "target_availabilities", samples.target_availabilities, &[n, future])?;
    put(&found, "history_positions", samples.history_positions, &[n, past + 1, 2])?;
    put(&found, "history_yaws", samples.history_yaws, &[n, past + 1, 1])?;
    put(&found, "history_velocities", samples.history_velocities, &[n, past, 2])?;
    put(&found, "history_availabilities", samples.history_availabilities, &[n, past + 1])?;
    put(&found, "world_to_image", samples.raster_from_world.clone(), &[n, 3, 3])?;
    put(&found, "raster_from_agent", samples.raster_from_agent, &[n, 3, 3])?;
    put(&found, "raster_from_world", samples.raster_from_world, &[n, 3, 3])?;
    put(&found, "agent_from_world", samples.agent_from_world, &[n, 3, 3])?;
    put(&found, "world_from_agent", samples.world_from_agent, &[n, 3, 3])?;
    put(&found, "centroid", samples.centroid, &[n, 2])?;
    put(&found, "yaw", samples.yaw, &[n])?;
    match samples.shape.kind {
        Kind::Ego => put(&found, "extent", samples.ego_extent, &[n, 3])?,
        Kind::Agent => put(&found, "extent", samples.agent_extent, &[n, 3])?,
    }
    put(&found, "history_extents", samples.history_extents, &[n, past + 1, 2])?;
    put(&found, "future_extents", samples.future_extents, &[n, future, 2])?;
    if past > 0 {
        put(&found, "curr_speed", samples.curr_speed, &[n])?;
    }
    put(&found, "scene_index", samples.scene_index, &[n])?;
    put(&found, "host_id", samples.host_id, &[n, 70])?;
    put(&found, "timestamp", samples.timestamp, &[n])?;
    put(&found, "track_id", samples.track_id, &[n])?;
    Ok(found)
}

/// Adds an array of a shape, without copying it.
fn put<T: Element>(found: &Bound<'_, PyDict>, name: &str, values: Vec<T>, shape: &[usize]) -> PyResult<()> {
    found.set_item(name, PyArray1::from_vec(found.py(), values).reshape(shape)?)
}
