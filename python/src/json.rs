//! Values that JSON has, from Rust to Python and back.

use pyo3::prelude::*;
use serde::Serialize;

use crate::error::{Internal, Invalid};

/// A value as Python has it: dicts, lists, numbers, text.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let json = serde_json::to_string(value).map_err(|error| Internal::new_err(error.to_string()))?;
    py.import("json")?.call_method1("loads", (json,))
}

/// A value of Python that JSON has too.
pub(crate) fn from_python<T: serde::de::DeserializeOwned>(what: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let json: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&json).map_err(|error| Invalid::new_err(format!("{what}: {error}")))
}
