//! One Python exception for each kind of error, all subclasses of `tetrys.Error`.

use pyo3::{PyErr, create_exception, exceptions::PyException, prelude::*};
use tetrys::ErrorKind;

macro_rules! exceptions {
    ($($kind:ident $doc:literal),* $(,)?) => {
        create_exception!(tetrys, Error, PyException, "Base class of all errors. The subclass says what to do next.");
        $(create_exception!(tetrys, $kind, Error, $doc);)*

        /// Converts an error to its exception, with the causes in the message.
        pub(crate) fn raise(error: tetrys::Error) -> PyErr {
            let mut message = error.to_string();
            let mut cause = std::error::Error::source(&error);
            while let Some(next) = cause {
                let text = next.to_string();
                if !message.contains(&text) {
                    message = format!("{message}: {text}");
                }
                cause = next.source();
            }
            match error.kind() {
                $(ErrorKind::$kind => $kind::new_err(message),)*
                _ => Error::new_err(message),
            }
        }

        pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add("Error", module.py().get_type::<Error>())?;
            $(module.add(stringify!($kind), module.py().get_type::<$kind>())?;)*
            Ok(())
        }
    };
}

exceptions! {
    NotFound "The object, table, version, column or row does not exist.",
    Exists "The object to be created already exists; choose another name.",
    Conflict "Another writer committed first; reload and retry.",
    Unavailable "The store does not respond, is full or unreachable; retry later.",
    Denied "The store refuses access; change the access rights and retry.",
    Corrupt "Stored bytes differ from what was written; restore them from a copy.",
    Unsupported "The request or the bytes are valid, but this build cannot handle them.",
    Invalid "The request or the input breaks a rule; change it.",
    OutcomeUnknown "A commit may or may not have happened; reload the table before a retry.",
    Internal "A defect of this library; please report it.",
}

/// Makes an exception that is both a `tetrys.Error` and the built-in exception of Python, such as `TypeError` or `IndexError`.
fn twofold(class: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let made = py.import("tetrys._errors").and_then(|module| module.getattr(class)?.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Returns the text of a value for a message, shortened.
pub(crate) fn short(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("tetrys._errors")?.getattr("short")?.call1((value,))?.extract()
}

/// Returns the type of a value for a message, and its text if that is short.
pub(crate) fn found(value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("tetrys._errors")?.getattr("found")?.call1((value,))?.extract()
}

/// Returns an argument that must be text.
pub(crate) fn text(what: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.py().import("tetrys._arguments")?.getattr("text")?.call1((what, value))?.extract()
}

/// Makes the error for a value of another type than expected.
pub(crate) fn wrong_type(message: &str) -> PyErr {
    twofold("WrongType", message)
}

/// Makes the error for an object that cannot be pickled. `instead` says what to do.
pub(crate) fn unpicklable(what: &str, instead: &str) -> PyErr {
    wrong_type(&format!("{what} cannot be pickled: {instead}"))
}

/// Makes the error for a row that does not exist.
pub(crate) fn no_place(message: &str) -> PyErr {
    twofold("OutOfRange", message)
}

/// Makes the error for a value that breaks a rule.
pub(crate) fn wrong_value(message: &str) -> PyErr {
    twofold("WrongValue", message)
}

/// Makes the error for an element of a map that does not exist.
pub(crate) fn no_element(message: &str) -> PyErr {
    twofold("NoElement", message)
}

/// Makes the error for a file that is damaged.
pub(crate) fn damaged_file(message: &str) -> PyErr {
    twofold("DamagedFile", message)
}

/// Makes the error for a column that does not exist.
pub(crate) fn no_column(message: &str) -> PyErr {
    twofold("NoColumn", message)
}

/// Converts errors of the library to exceptions, for use with `?`: `.py()?`.
pub(crate) trait IntoPython<T> {
    fn py(self) -> PyResult<T>;
}

impl<T> IntoPython<T> for tetrys::Result<T> {
    fn py(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
