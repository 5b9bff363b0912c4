//! Level 5: frames of a table, and the samples, masks and rasters of the crate `tetrys-l5`.

mod evaluation;
mod export;
mod kinematic;
mod map;
mod raster;
mod samples;
mod vectorized;
mod zarr;

use std::{
    ffi::CString,
    sync::{Arc, Mutex, PoisonError},
};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::{
    exceptions::PyUserWarning,
    prelude::*,
    types::{PyBytes, PyDict},
};
use tetrys::{ErrorKind, blocking::runtime};
use tetrys_l5::{
    Scene,
    mask::Thresholds,
    reading::{Arrays, FrameTable},
};

use crate::{
    error::{IntoPython, no_place, raise, wrong_value},
    place::{Place, options_of, store_of},
    runtime::wait_long,
    table::Table,
};

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Level5>()?;
    module.add_class::<map::L5Map>()?;
    module.add_class::<raster::L5Rasterizer>()?;
    module.add_class::<samples::L5Sampler>()?;
    module.add_class::<vectorized::L5Vectorizer>()?;
    module.add_class::<zarr::L5Zarr>()?;
    evaluation::add(module)?;
    module.add_function(wrap_pyfunction!(export::l5_export, module)?)?;
    module.add_function(wrap_pyfunction!(kinematic::l5_fit_ackerman_model_exact, module)?)?;
    module.add_function(wrap_pyfunction!(ingest_l5, module)?)
}

/// Makes the exception of an error: `IndexError` for what does not exist and `ValueError` for invalid input, as callers of L5Kit expect.
fn raise_as_l5kit(error: tetrys::Error) -> PyErr {
    match error.kind() {
        ErrorKind::NotFound => no_place(&error.to_string()),
        ErrorKind::Invalid => wrong_value(&error.to_string()),
        _ => raise(error),
    }
}

/// The scenes and frames of a table of Level 5 data.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct Level5(Arc<FrameTable>);

#[pymethods]
impl Level5 {
    #[staticmethod]
    fn open(py: Python<'_>, table: &Table, cache_bytes: usize) -> PyResult<Self> {
        let table = table.table.clone();
        wait_long(py, async move { FrameTable::open(&table, cache_bytes).await }).map(|found| Self(Arc::new(found)))
    }

    #[staticmethod]
    fn of_zarr(py: Python<'_>, zarr: &zarr::L5Zarr, cache_bytes: usize) -> PyResult<Self> {
        py.detach(|| FrameTable::of_zarr(zarr.dataset(), cache_bytes)).map(|found| Self(Arc::new(found))).map_err(raise)
    }

    /// Makes a data set of the fields of arrays, each flat.
    #[staticmethod]
    fn of_arrays(
        scenes: &Bound<'_, PyDict>,
        frames: &Bound<'_, PyDict>,
        agents: &Bound<'_, PyDict>,
        faces: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let (intervals, hosts) = (flat::<i64>(scenes, "frame_index_interval")?, texts(scenes, "host")?);
        let (starts, ends) = (flat::<i64>(scenes, "start_time")?, flat::<i64>(scenes, "end_time")?);
        let times = starts.into_iter().zip(ends);
        let scenes = intervals.as_chunks::<2>().0.iter().zip(hosts).zip(times).map(|((frames, host), (start_time, end_time))| {
            Scene { frames: frames[0] as u64..frames[1] as u64, host: host.into(), start_time, end_time }
        });
        let arrays = Arrays {
            timestamps: flat(frames, "timestamp")?,
            translations: flat(frames, "ego_translation")?,
            rotations: flat(frames, "ego_rotation")?,
            centroids: flat(agents, "centroid")?,
            extents: flat(agents, "extent")?,
            yaws: flat(agents, "yaw")?,
            track_ids: flat(agents, "track_id")?,
            label_probabilities: flat(agents, "label_probabilities")?,
            face_ids: texts(faces, "face_id")?,
            traffic_light_ids: texts(faces, "traffic_light_id")?,
            statuses: flat(faces, "traffic_light_face_status")?,
        };
        let found = FrameTable::of_arrays(scenes.collect(), flat(frames, "agent_ends")?, flat(frames, "face_ends")?, arrays);
        found.map(|found| Self(Arc::new(found))).map_err(raise_as_l5kit)
    }

    /// Number of scenes, frames, agents and traffic light faces.
    fn counts(&self) -> (usize, u64, u64, u64) {
        (self.0.scenes().len(), self.0.len(), self.0.agents_len(), self.0.faces_len())
    }

    /// The fields of all scenes.
    fn scenes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (found, scenes) = (PyDict::new(py), self.0.scenes());
        let intervals: Vec<i64> = scenes.iter().flat_map(|scene| [scene.frames.start as i64, scene.frames.end as i64]).collect();
        found.set_item("frame_index_interval", PyArray1::from_vec(py, intervals).reshape([scenes.len(), 2])?)?;
        found.set_item("host", scenes.iter().map(|scene| &*scene.host).collect::<Vec<_>>())?;
        found.set_item("start_time", PyArray1::from_iter(py, scenes.iter().map(|scene| scene.start_time)))?;
        found.set_item("end_time", PyArray1::from_iter(py, scenes.iter().map(|scene| scene.end_time)))?;
        Ok(found)
    }

    /// Time of each frame, and the number of agents and of faces up to the end of each frame.
    #[expect(clippy::type_complexity, reason = "three arrays")]
    fn frames<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>) {
        (
            PyArray1::from_slice(py, self.0.timestamps()),
            PyArray1::from_slice(py, self.0.agent_ends()),
            PyArray1::from_slice(py, self.0.face_ends()),
        )
    }

    /// Whether the data has traffic light faces.
    fn has_faces(&self) -> bool {
        self.0.has_faces()
    }

    /// The frames before and after each agent in which it stays valid, u32 [agents, 2], and the numbers of rejected agents.
    #[expect(clippy::too_many_arguments, reason = "the thresholds of L5Kit")]
    fn select_agents<'py>(
        &self,
        py: Python<'py>,
        threshold: f64,
        yaw: f64,
        extent: f64,
        distance: f64,
        workers: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<u32>>, Bound<'py, PyDict>)> {
        let thresholds =
            Thresholds { label_probability: threshold, yaw_degrees: yaw, extent_ratio: extent, ego_distance: distance };
        let table = Arc::clone(&self.0);
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        let (counts, rejected) =
            wait_for(py, table, move |table| async move { table.select_agents(&thresholds, workers, report).await })?;
        let len = counts.len();
        let found = PyDict::new(py);
        found.set_item("reject_th_agent_filter_probability_threshold", rejected.labels)?;
        found.set_item("reject_th_AV_distance", rejected.ego_distance)?;
        found.set_item("reject_th_hole", rejected.hole)?;
        found.set_item("reject_th_yaw", rejected.yaw)?;
        found.set_item("reject_th_extent", rejected.extent)?;
        let flat = PyArray1::from_vec(py, counts.into_iter().flatten().collect());
        Ok((flat.reshape([len, 2])?, found))
    }

    /// Whether each agent stays valid for at least so many frames before and after it, bool [agents]. `store` receives the counts of
    /// `select_agents` in order, as bytes.
    #[expect(clippy::too_many_arguments, reason = "the thresholds of L5Kit")]
    fn agents_mask<'py>(
        &self,
        py: Python<'py>,
        threshold: f64,
        yaw: f64,
        extent: f64,
        distance: f64,
        least: [i64; 2],
        store: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let thresholds =
            Thresholds { label_probability: threshold, yaw_degrees: yaw, extent_ratio: extent, ego_distance: distance };
        // The exception of `store`, which this call raises.
        let raised = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&raised);
        let keep = move |counts: &[[u32; 2]]| {
            let Some(store) = &store else { return Ok(()) };
            let bytes: Vec<u8> = counts.iter().flatten().flat_map(|count| count.to_le_bytes()).collect();
            Python::attach(|py| store.call1(py, (PyBytes::new(py, &bytes),)).map(drop)).map_err(|error| {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                tetrys::Error::unavailable("the counts of agents cannot be stored")
            })
        };
        let mask =
            wait_for(py, Arc::clone(&self.0), move |table| async move { table.agents_mask(&thresholds, least, 0, keep).await });
        match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(PyArray1::from_vec(py, mask?)),
        }
    }
}

/// Waits for long work on frames. Work on a zarr group blocks its thread, so it gets one that may be blocked.
fn wait_for<T, W>(py: Python<'_>, table: Arc<FrameTable>, work: impl FnOnce(Arc<FrameTable>) -> W + Send + 'static) -> PyResult<T>
where
    T: Send + 'static,
    W: Future<Output = tetrys::Result<T>> + Send + 'static,
{
    if table.is_table() {
        return wait_long(py, work(table));
    }
    wait_long(py, async move {
        let runtime = runtime()?;
        let done = runtime.spawn_blocking(move || runtime.block_on(work(table))).await;
        done.unwrap_or_else(|error| Err(tetrys::Error::internal(format!("a thread that reads a zarr group stopped: {error}"))))
    })
}

fn item<'py>(fields: &Bound<'py, PyDict>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    fields.get_item(name)?.ok_or_else(|| wrong_value(&format!("no field {name}")))
}

/// Returns a flat array of numbers.
fn flat<T: numpy::Element + Copy>(fields: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<T>> {
    Ok(item(fields, name)?.extract::<PyReadonlyArray1<'_, T>>()?.as_slice()?.to_vec())
}

fn texts(fields: &Bound<'_, PyDict>, name: &str) -> PyResult<Vec<String>> {
    item(fields, name)?.extract()
}

/// Imports a Level 5 data set into a new table.
#[pyfunction]
fn ingest_l5(
    py: Python<'_>,
    source: Place,
    place: Place,
    preset: &str,
    workers: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Table> {
    let mut settings = tetrys::ingest::IngestOptions { workers, ..Default::default() };
    settings.write.preset = crate::write::parse_preset(preset)?;
    let (source, options) = options_of(source);
    let dataset = py.detach(|| tetrys_l5::Dataset::open_with(&source, &options)).py()?;
    for warning in dataset.warnings() {
        let text = CString::new(warning.replace('\0', ""))?;
        // The caller of the function of the package.
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 2)?;
    }
    let store = store_of(place)?;
    let work = async move {
        let report = move |done: u64| {
            if let Some(progress) = &progress {
                // An exception of the function must not stop the ingest: it is printed and ignored.
                Python::attach(|py| progress.call1(py, (done,)).map(drop).unwrap_or_else(|error| error.print(py)));
            }
        };
        tetrys_l5::ingest(&dataset, store, &settings, report).await
    };
    wait_long(py, work).map(Table::from)
}
