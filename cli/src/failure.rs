//! The exit code of a command, and the error message on stderr.

use std::{error::Error as _, fmt, io, io::Write, process::ExitCode};

use tetrys::{Error, ErrorKind};

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The table is damaged. The command has printed what is damaged.
    Damage,
    /// Two tables differ, and the caller asked for an exit code that says so.
    Differs,
}

impl Outcome {
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Damage => ExitCode::from(DAMAGE),
            Self::Differs => ExitCode::from(DIFFERS),
        }
    }
}

const ERROR: u8 = 1;
const DAMAGE: u8 = 3;
const DIFFERS: u8 = 4;

/// The reason why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of stdout closed the pipe. This is not an error.
    NobodyListens,
    /// An error of the table or of the request.
    Table(Error),
    /// An error of the input. `Corrupt` here means bad input, not a damaged table, so the exit code is 1.
    Input(Error),
}

impl Failure {
    /// Prints the error to stderr and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (error, code) = match self {
            Self::NobodyListens => return ExitCode::SUCCESS,
            Self::Table(error) if error.kind() == ErrorKind::Corrupt => (error, DAMAGE),
            Self::Table(error) | Self::Input(error) => (error, ERROR),
        };
        say(format_args!("error: {}", chain(&error)));
        ExitCode::from(code)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Table(error)
    }
}

/// Converts only errors of writing to stdout. Other I/O errors become an [`Error`] that names the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyListens,
            _ => Self::Table(Error::from(error).at("writing to stdout")),
        }
    }
}

/// Prints a line to stderr. Ignores a closed stderr.
pub(crate) fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", crate::safe::safe(&line.to_string()));
}

/// Formats the error and its causes, one per line. Leaves out a cause whose text is already in an outer message.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text.push_str(&format!("\n  caused by: {said}"));
        }
        cause = inner.source();
    }
    text
}
