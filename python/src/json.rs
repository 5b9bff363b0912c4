//! Converts JSON values between Rust and Python.

use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{Internal, IntoPython};

/// Converts a value to Python dicts, lists, numbers and text.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(value).map_err(|error| Internal::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}

/// Converts a Python value that JSON can represent.
pub(crate) fn from_python<T: serde::de::DeserializeOwned>(what: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let json: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&json).map_err(|error| tetrys::Error::invalid_json(&error).at(what)).py()
}
