//! Settings in environment variables.

use crate::error::{Error, Result};

/// Returns the value of an environment variable; `None` if the variable is not set.
///
/// # Errors
/// - `Invalid`: `parse` refuses the value. The message says what is `expected`.
pub(crate) fn setting<T>(variable: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>> {
    let Some(found) = std::env::var_os(variable) else { return Ok(None) };
    let value = found.to_str().and_then(parse);
    value.map(Some).ok_or_else(|| Error::invalid(format!("{variable}={}: expected {expected}", found.to_string_lossy())))
}
