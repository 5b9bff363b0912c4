//! The motion of a car, fitted to a trajectory.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::{prelude::*, types::PyTuple};
use tetrys_l5::kinematic::{ExactFit, ExactSettings, fit_ackerman_model_exact_until};

use super::raise_as_l5kit;
use crate::runtime::wait_long;

/// Fits the path of a car that starts at `start` (x, y, yaw and speed) to goals; `tetrys.l5.fit_ackerman_model_exact` calls it.
/// `efforts` has the weights of steering and acceleration. Returns x, y, yaw, speed, acceleration and steering of each step.
#[pyfunction]
pub(super) fn l5_fit_ackerman_model_exact<'py>(
    py: Python<'py>,
    start: [f64; 4],
    goals: [PyReadonlyArray1<'py, f64>; 4],
    weights: [PyReadonlyArray1<'py, f64>; 4],
    efforts: [f64; 2],
    steer: [f64; 2],
    acceleration: [f64; 2],
) -> PyResult<Bound<'py, PyTuple>> {
    let (goals, weights) = (goals.each_ref().map(copied), weights.each_ref().map(copied));
    let [steer_weight, acceleration_weight] = efforts;
    let settings = ExactSettings { steer_weight, acceleration_weight, acceleration, steer };
    let over = Arc::new(AtomicBool::new(false));
    // After Ctrl-C, the thread that fits stops too.
    let stopped = Stopped(Arc::clone(&over));
    let fitted = wait_long(py, async move {
        let (goals, weights) = (goals.each_ref().map(Vec::as_slice), weights.each_ref().map(Vec::as_slice));
        Ok(fit_ackerman_model_exact_until(start, goals, weights, settings, || over.load(Ordering::Relaxed)))
    })?;
    drop(stopped);
    let ExactFit { x, y, yaw, speed, acceleration, steer } = fitted.map_err(raise_as_l5kit)?;
    PyTuple::new(py, [x, y, yaw, speed, acceleration, steer].map(|values| PyArray1::from_vec(py, values)))
}

/// Stops a fit when it is dropped.
struct Stopped(Arc<AtomicBool>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn copied(values: &PyReadonlyArray1<'_, f64>) -> Vec<f64> {
    values.as_array().to_vec()
}
