//! Metrics of predictions, and their files.

use std::{
    io::{self, BufReader, Read, Write},
    sync::{Mutex, PoisonError},
};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyString},
};
use tetrys_l5::evaluation::{
    self as l5, Forecast, Metric,
    closed_loop::{self, Car},
    number::Number,
};

use super::raise_as_l5kit;
use crate::error::wrong_type;

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<L5CsvRows>()?;
    module.add_function(wrap_pyfunction!(l5_metric, module)?)?;
    module.add_function(wrap_pyfunction!(l5_compute_metrics_csv, module)?)?;
    module.add_function(wrap_pyfunction!(l5_write_gt_csv, module)?)?;
    module.add_function(wrap_pyfunction!(l5_write_pred_csv, module)?)?;
    module.add_function(wrap_pyfunction!(l5_detect_collision, module)?)
}

/// Computes a metric of one forecast: one value, or one for each mode or step. All arrays are flat.
#[pyfunction]
fn l5_metric(
    name: &str,
    truth: PyReadonlyArray1<'_, f64>,
    predicted: PyReadonlyArray1<'_, f64>,
    confidences: PyReadonlyArray1<'_, f64>,
    availabilities: PyReadonlyArray1<'_, f64>,
    coords: usize,
) -> PyResult<Vec<f64>> {
    let metric: Metric = name.parse().map_err(raise_as_l5kit)?;
    let (truth, predicted) = (truth.as_slice()?, predicted.as_slice()?);
    let (confidences, availabilities) = (confidences.as_slice()?, availabilities.as_slice()?);
    let forecast = Forecast::new(truth, predicted, confidences, availabilities, coords).map_err(raise_as_l5kit)?;
    Ok(metric.compute(&forecast))
}

/// Averages metrics over two open files.
#[pyfunction]
fn l5_compute_metrics_csv(
    py: Python<'_>,
    ground_truth: Py<PyAny>,
    predictions: Py<PyAny>,
    names: Vec<String>,
) -> PyResult<Vec<(&'static str, Vec<f64>)>> {
    let metrics = names.iter().map(|name| name.parse()).collect::<tetrys::Result<Vec<Metric>>>().map_err(raise_as_l5kit)?;
    let averages = py.detach(|| l5::compute_metrics_csv(PyFile::reader(ground_truth), PyFile::reader(predictions), &metrics));
    Ok(averages.map_err(raise_as_l5kit)?.into_iter().map(|(metric, values)| (metric.name(), values)).collect())
}

/// Writes the ground truth to an open file. `coords` and `avails` are flat.
#[pyfunction]
fn l5_write_gt_csv(
    py: Python<'_>,
    file: Py<PyAny>,
    timestamps: &Bound<'_, PyAny>,
    track_ids: &Bound<'_, PyAny>,
    coords: PyReadonlyArray1<'_, f64>,
    avails: &Bound<'_, PyAny>,
    steps: usize,
) -> PyResult<()> {
    let (timestamps, track_ids, avails) = (values(timestamps)?, values(track_ids)?, values(avails)?);
    let coords = coords.as_slice()?;
    py.detach(|| l5::write_gt_csv(PyFile::new(file), &timestamps, &track_ids, coords, &avails, steps)).map_err(raise_as_l5kit)
}

/// Writes predictions to an open file. `coords` and `confidences` are flat.
#[pyfunction]
fn l5_write_pred_csv(
    py: Python<'_>,
    file: Py<PyAny>,
    timestamps: &Bound<'_, PyAny>,
    track_ids: &Bound<'_, PyAny>,
    coords: PyReadonlyArray1<'_, f64>,
    confidences: Option<&Bound<'_, PyAny>>,
    steps: usize,
) -> PyResult<()> {
    let (timestamps, track_ids, coords) = (values(timestamps)?, values(track_ids)?, coords.as_slice()?);
    let write = |out: PyFile| match confidences {
        None => Ok(py.detach(|| l5::write_pred_csv::<_, _, f64>(out, &timestamps, &track_ids, coords, None, steps))),
        Some(single) if single.extract::<PyReadonlyArray1<'_, f32>>().is_ok() => {
            let single = single.extract::<PyReadonlyArray1<'_, f32>>()?;
            let single = single.as_slice()?;
            Ok(py.detach(|| l5::write_pred_csv(out, &timestamps, &track_ids, coords, Some(single), steps)))
        }
        Some(double) => {
            let double = double.extract::<PyReadonlyArray1<'_, f64>>()?;
            let double = double.as_slice()?;
            Ok::<_, PyErr>(py.detach(|| l5::write_pred_csv(out, &timestamps, &track_ids, coords, Some(double), steps)))
        }
    };
    write(PyFile::new(file))?.map_err(raise_as_l5kit)
}

/// The first of other cars that the ego car hits: the side, and the number of the car. `extents` has lengths and widths.
#[pyfunction]
fn l5_detect_collision(
    centroid: [f64; 2],
    yaw: f64,
    extent: [f64; 2],
    others: Vec<([f64; 2], f64, [f64; 2])>,
) -> Option<(u8, usize)> {
    let others: Vec<Car> = others.into_iter().map(|(centroid, yaw, extent)| Car { centroid, yaw, extent }).collect();
    closed_loop::detect_collision(&Car { centroid, yaw, extent }, &others).map(|(side, car)| (side as u8, car))
}

type Row = (String, String, Vec<f64>, Vec<f64>);
type Rows = Box<dyn Iterator<Item = tetrys::Result<Row>> + Send>;

/// The lines of an open file of ground truth or predictions.
#[pyclass(frozen, module = "tetrys._tetrys")]
pub(crate) struct L5CsvRows(Mutex<Rows>);

#[pymethods]
impl L5CsvRows {
    #[new]
    fn new(file: Py<PyAny>, predictions: bool) -> PyResult<Self> {
        let file = PyFile::reader(file);
        let rows: Rows = if predictions {
            let rows = l5::read_pred_csv(file).map_err(raise_as_l5kit)?;
            Box::new(rows.map(|row| row.map(|row| (row.track_id, row.timestamp, row.coords, row.confidences))))
        } else {
            let rows = l5::read_gt_csv(file).map_err(raise_as_l5kit)?;
            Box::new(rows.map(|row| row.map(|row| (row.track_id, row.timestamp, row.coords, row.avails))))
        };
        Ok(Self(Mutex::new(rows)))
    }

    fn __iter__(found: Py<Self>) -> Py<Self> {
        found
    }

    /// Track id, timestamp, coordinates, and availabilities or confidences of the next line.
    #[expect(clippy::type_complexity, reason = "two texts and two arrays")]
    fn __next__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(String, String, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        let row = next.transpose().map_err(raise_as_l5kit)?;
        Ok(row.map(|(track_id, timestamp, coords, others)| {
            (track_id, timestamp, PyArray1::from_vec(py, coords), PyArray1::from_vec(py, others))
        }))
    }
}

/// A number as its array has it, so that it is written as Python writes it.
#[derive(Clone, Copy)]
enum Value {
    Signed(i64),
    Unsigned(u64),
    Single(f32),
    Double(f64),
    Truth(bool),
}

impl Number for Value {
    fn write(self, text: &mut String) {
        match self {
            Self::Signed(number) => number.write(text),
            Self::Unsigned(number) => number.write(text),
            Self::Single(number) => number.write(text),
            Self::Double(number) => number.write(text),
            Self::Truth(number) => number.write(text),
        }
    }
}

/// Returns the numbers of a flat array of any of five types.
fn values(array: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    fn of<T: numpy::Element + Copy>(array: &Bound<'_, PyAny>, value: fn(T) -> Value) -> Option<Vec<Value>> {
        let array = array.extract::<PyReadonlyArray1<'_, T>>().ok()?;
        Some(array.as_array().iter().copied().map(value).collect())
    }
    of(array, Value::Signed)
        .or_else(|| of(array, Value::Unsigned))
        .or_else(|| of(array, Value::Single))
        .or_else(|| of(array, Value::Double))
        .or_else(|| of(array, Value::Truth))
        .ok_or_else(|| wrong_type(&format!("expected a flat array of numbers, found {array}")))
}

/// A file object of Python, of text or bytes.
struct PyFile {
    file: Py<PyAny>,
    /// Bytes that were read from the file, and the number of them that the caller has taken.
    read: Vec<u8>,
    taken: usize,
    is_text: bool,
}

impl PyFile {
    fn new(file: Py<PyAny>) -> Self {
        let is_text = Python::attach(|py| {
            let base = py.import("io").and_then(|module| module.getattr("TextIOBase"));
            base.and_then(|base| file.bind(py).is_instance(&base)).unwrap_or(false)
        });
        Self { file, read: Vec::new(), taken: 0, is_text }
    }

    fn reader(file: Py<PyAny>) -> BufReader<Self> {
        BufReader::with_capacity(1 << 16, Self::new(file))
    }
}

impl Read for PyFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.read.len() {
            self.read = Python::attach(|py| {
                let part = self.file.bind(py).call_method1("read", (1 << 16,))?;
                Ok::<_, PyErr>(match part.cast::<PyString>() {
                    Ok(text) => text.to_str()?.as_bytes().to_vec(),
                    Err(_) => part.extract::<Vec<u8>>()?,
                })
            })
            .map_err(io::Error::other)?;
            self.taken = 0;
        }
        let part = &self.read[self.taken..];
        let len = part.len().min(buffer.len());
        buffer[..len].copy_from_slice(&part[..len]);
        self.taken += len;
        Ok(len)
    }
}

impl Write for PyFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let file = self.file.bind(py);
            if self.is_text {
                let text = String::from_utf8(bytes.to_vec())?;
                file.call_method1("write", (text,))?;
            } else {
                file.call_method1("write", (PyBytes::new(py, bytes),))?;
            }
            Ok::<_, PyErr>(bytes.len())
        })
        .map_err(io::Error::other)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
