//! One Python exception for each kind of error, all below `tetrys.Error`.

use pyo3::{PyErr, create_exception, exceptions::PyException, prelude::*};
use tetrys::ErrorKind;

macro_rules! exceptions {
    ($($kind:ident $doc:literal),* $(,)?) => {
        create_exception!(tetrys, Error, PyException, "What went wrong; its subclasses say what can be done about it.");
        $(create_exception!(tetrys, $kind, Error, $doc);)*

        /// The exception of an error, with its causes in the message.
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
    NotFound "The object, table, version, column or row asked for is not there.",
    Exists "The thing to be made is already there; choose another name.",
    Conflict "Somebody else committed first; reload and retry.",
    Unavailable "The store does not answer, is full or out of reach; retry later.",
    Denied "The store refuses; change the rights and retry.",
    Corrupt "Stored bytes are not what was written; restore them from elsewhere.",
    Unsupported "The bytes are well-formed, and this build cannot read or write them.",
    Invalid "The request or the input breaks a rule; change it.",
    OutcomeUnknown "A commit may or may not have happened; read the table again before retrying.",
    Internal "A defect of this library.",
}

/// An exception that is an `Invalid`, and what Python raises itself for such a thing: a `TypeError`, an `IndexError`.
fn twofold(class: &str, message: &str) -> PyErr {
    Python::attach(|py| {
        let made = py.import("tetrys._errors").and_then(|module| module.getattr(class)?.call1((message,)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// A value of another type than is expected.
pub(crate) fn wrong_type(message: &str) -> PyErr {
    twofold("WrongType", message)
}

/// A row that is not there.
pub(crate) fn no_place(message: &str) -> PyErr {
    twofold("OutOfRange", message)
}

/// A column that is not there.
pub(crate) fn no_column(message: &str) -> PyErr {
    twofold("NoColumn", message)
}

/// Lets `?` turn an error of the library into its exception: `.py()?`.
pub(crate) trait IntoPython<T> {
    fn py(self) -> PyResult<T>;
}

impl<T> IntoPython<T> for tetrys::Result<T> {
    fn py(self) -> PyResult<T> {
        self.map_err(raise)
    }
}
