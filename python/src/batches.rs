//! Data loaders: batches for training.

use std::{
    path::PathBuf,
    process,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use numpy::PyArray1;
use pyo3::{prelude::*, types::PyDict};
use tetrys::{
    Window,
    loader::{Last, LoaderOptions, OnError, Shuffle, Stop, Trace},
};

use crate::{
    error::{IntoPython, Invalid},
    images::decoder_of,
    loader::{RowLoader, Rows, parse_window},
    runtime::{wait, wait_long},
};

/// Positions, whether each sample only fills the batch, the number of the loader of each, and the rows of each part with the length
/// of its windows.
type Found<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<bool>>, Bound<'py, PyArray1<u32>>, Vec<(Rows, Option<usize>)>);

/// Returns the bytes that this process reads ahead if the caller names no bound.
#[pyfunction]
pub(crate) fn shared_prefetch() -> PyResult<u64> {
    LoaderOptions::shared_prefetch().py()
}

/// Delivers the samples of an index in batches; `tetrys.DataLoader` wraps it.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct DataLoader {
    /// Taken out while a call uses it, so that the mutex is not locked while the GIL is released.
    loader: Mutex<Option<tetrys::loader::DataLoader>>,
    /// The length of the windows of each part behind the first.
    times: Vec<usize>,
    trace: Option<Trace>,
    /// The process whose threads read ahead.
    process: AtomicU32,
}

impl DataLoader {
    /// Runs `work` on the loader.
    fn with<T>(&self, work: impl FnOnce(&mut tetrys::loader::DataLoader) -> PyResult<T>) -> PyResult<T> {
        let mut taken = self.taken()?;
        let Some(loader) = &mut taken.loader else { return Err(Invalid::new_err("no loader")) };
        if self.process.swap(process::id(), Ordering::Relaxed) != process::id() {
            loader.restart_reads();
        }
        work(loader)
    }

    fn taken(&self) -> PyResult<Taken<'_>> {
        let current = self.loader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let loader = current.ok_or_else(|| Invalid::new_err("another thread waits for a batch of this loader"))?;
        Ok(Taken { loader: Some(loader), from: &self.loader })
    }

    /// Whether this process made or used the loader last; a forked child has not.
    fn is_own(&self) -> bool {
        self.process.load(Ordering::Relaxed) == process::id()
    }
}

impl Drop for DataLoader {
    fn drop(&mut self) {
        // A forked child that never used the loader still has the reads of its parent.
        if !self.is_own()
            && let Some(loader) = self.loader.get_mut().unwrap_or_else(PoisonError::into_inner)
        {
            loader.restart_reads();
        }
    }
}

/// A loader that a call uses. Dropping the value puts the loader back, also if the call panics.
struct Taken<'a> {
    loader: Option<tetrys::loader::DataLoader>,
    from: &'a Mutex<Option<tetrys::loader::DataLoader>>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        *self.from.lock().unwrap_or_else(PoisonError::into_inner) = self.loader.take();
    }
}

#[pymethods]
impl DataLoader {
    /// Makes a loader of the rows of a row loader. `shuffle` has the mode, the samples of a block, and the blocks of a window.
    #[new]
    #[pyo3(signature = (rows, *, batch_size, windows, decoders, shuffle, seed, rank, last, prefetch, skip, skip_incomplete, max_step, weights, classes, samples, trace))]
    #[expect(clippy::too_many_arguments, reason = "the arguments of the Python class")]
    fn new(
        py: Python<'_>,
        rows: &RowLoader,
        batch_size: u64,
        windows: Vec<(String, Bound<'_, PyAny>)>,
        decoders: Vec<(String, Bound<'_, PyAny>)>,
        shuffle: (String, u64, u64),
        seed: u64,
        rank: (u64, u64),
        last: &str,
        prefetch: u64,
        skip: Option<u64>,
        skip_incomplete: bool,
        max_step: Option<&str>,
        weights: Option<(Vec<f64>, bool)>,
        classes: Option<Vec<u32>>,
        samples: Option<u64>,
        trace: Option<PathBuf>,
    ) -> PyResult<Self> {
        let shuffle = match shuffle {
            (mode, ..) if mode == "none" => Shuffle::None,
            (mode, ..) if mode == "global" => Shuffle::Global,
            (mode, ..) if mode == "sequence" => Shuffle::Sequence,
            (mode, rows, window) if mode == "block" => Shuffle::Block { rows, window },
            (mode, ..) => return Err(Invalid::new_err(format!("shuffle `{mode}`: expected none, global, block or sequence"))),
        };
        let last = match last {
            "drop" => Last::Drop,
            "pad" => Last::Pad,
            "short" => Last::Short,
            other => return Err(Invalid::new_err(format!("last `{other}`: expected drop, pad or short"))),
        };
        let on_error = skip.map_or(OnError::Raise, |limit| OnError::Skip { limit });
        let mut options = LoaderOptions::new(batch_size).shuffle(shuffle).seed(seed).rank(rank.0, rank.1).last(last);
        options = options.prefetch(prefetch).on_error(on_error).skip_incomplete(skip_incomplete);
        if let Some(max_step) = max_step {
            options = options.max_step(max_step).py()?;
        }
        options = match (weights, classes) {
            (Some((weights, replace)), _) => options.weights(weights, replace, samples),
            (None, Some(classes)) => options.balanced(classes, samples),
            (None, None) => options,
        };
        let mut times = Vec::new();
        for (pattern, window) in windows {
            let window: Window = parse_window(&window)?;
            times.push(window.len());
            options = options.window(pattern, window).py()?;
        }
        for (pattern, decoder) in decoders {
            options = options.decode(pattern, decoder_of(&decoder)?);
        }
        let rows = rows.with(None)?;
        let mut loader = wait_long(py, async move { tetrys::loader::DataLoader::new(rows, options).await })?;
        // Last: a call that fails leaves no file behind.
        let trace = trace.map(Trace::create).transpose().py()?;
        if let Some(trace) = &trace {
            loader.set_trace(trace.clone());
        }
        Ok(Self { loader: Mutex::new(Some(loader)), times, trace, process: AtomicU32::new(process::id()) })
    }

    /// Mixes loaders by weight; an epoch ends after `samples` samples, or when the first or the longest loader is done.
    #[staticmethod]
    fn mix(loaders: Vec<PyRef<'_, Self>>, weights: Vec<f64>, longest: bool, samples: Option<u64>) -> PyResult<Self> {
        let stop = match (samples, longest) {
            (Some(samples), _) => Stop::Samples(samples),
            (None, true) => Stop::Longest,
            (None, false) => Stop::First,
        };
        let taken = loaders.iter().map(|loader| loader.taken()).collect::<PyResult<Vec<_>>>()?;
        let mixed =
            tetrys::loader::DataLoader::mix(taken.iter().filter_map(|taken| taken.loader.as_ref()), &weights, stop).py()?;
        let (times, trace) = loaders.first().map(|loader| (loader.times.clone(), loader.trace.clone())).unwrap_or_default();
        Ok(Self { loader: Mutex::new(Some(mixed)), times, trace, process: AtomicU32::new(process::id()) })
    }

    /// Returns a loader at the same place, which goes on from there by itself. Both share counts and trace.
    fn fork(&self) -> PyResult<Self> {
        let loader = self.with(|loader| Ok(loader.clone()))?;
        let (times, trace) = (self.times.clone(), self.trace.clone());
        Ok(Self { loader: Mutex::new(Some(loader)), times, trace, process: AtomicU32::new(process::id()) })
    }

    /// Adds an event to the trace that ends now and took `seconds`.
    fn traced(&self, name: &str, seconds: f64) {
        let ended = Instant::now();
        let took = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        if let (Some(trace), Some(began)) = (&self.trace, ended.checked_sub(took)) {
            trace.record(name, began, ended, &[]);
        }
    }

    /// Returns the next batch, or None at the end of an epoch.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Found<'py>>> {
        let Some(batch) = self.with(|loader| wait(py, loader.next()))? else { return Ok(None) };
        let times = std::iter::once(None).chain(self.times.iter().copied().map(Some));
        let parts = batch.parts.iter().zip(times).map(|(part, time)| (Rows(part.rows().clone()), time)).collect();
        let (positions, padding) = (PyArray1::from_vec(py, batch.positions), PyArray1::from_vec(py, batch.padding));
        let sources = PyArray1::from_vec(py, batch.sources);
        Ok(Some((positions, padding, sources, parts)))
    }

    /// Batches of this rank in a whole epoch, and until its end; samples of all ranks; the epoch.
    fn sizes(&self) -> PyResult<(u64, u64, u64, u64)> {
        self.with(|loader| Ok((loader.len(), loader.remaining(), loader.samples(), loader.epoch())))
    }

    fn set_epoch(&self, epoch: u64) -> PyResult<()> {
        self.with(|loader| {
            loader.set_epoch(epoch);
            Ok(())
        })
    }

    /// Returns the state as JSON.
    fn state(&self) -> PyResult<String> {
        self.with(|loader| serde_json::to_string(&loader.state()).map_err(|error| Invalid::new_err(error.to_string())))
    }

    fn load_state(&self, state: &str) -> PyResult<()> {
        let state = serde_json::from_str(state).map_err(|error| tetrys::Error::invalid_json(&error).at("loader state")).py()?;
        self.with(|loader| loader.load_state(&state).py())
    }

    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (stats, planned) = self.with(|loader| Ok((loader.stats(), loader.planned_reads())))?;
        let found = PyDict::new(py);
        found.set_item("batches", stats.batches)?;
        found.set_item("samples", stats.samples)?;
        found.set_item("bytes", stats.bytes)?;
        found.set_item("skipped", stats.skipped)?;
        found.set_item("requests", stats.requests)?;
        found.set_item("requested_bytes", stats.requested_bytes)?;
        found.set_item("planned_requests", planned.requests)?;
        found.set_item("planned_bytes", planned.bytes)?;
        found.set_item("blocks", stats.blocks)?;
        found.set_item("cached_blocks", stats.cached_blocks)?;
        found.set_item("consumer_waited", stats.consumer_waited.as_secs_f64())?;
        found.set_item("loader_waited", stats.loader_waited.as_secs_f64())?;
        found.set_item("wait_share", stats.wait_share())?;
        Ok(found)
    }

    /// Returns the quality of the shuffle.
    fn quality<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let quality = self.with(|loader| wait(py, loader.quality()))?;
        let found = PyDict::new(py);
        found.set_item("neighbour_distance", quality.neighbour_distance)?;
        found.set_item("perfect_distance", quality.perfect_distance)?;
        found.set_item("largest_share", quality.largest_share)?;
        found.set_item("perfect_share", quality.perfect_share)?;
        Ok(found)
    }
}
