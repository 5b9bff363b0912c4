//! How a command ends: its exit code, and what is said on stderr where it failed.

use std::{error::Error as _, fmt, io, io::Write, process::ExitCode};

use tetrys::{Error, ErrorKind};

/// How a command that ran to its end ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The table is damaged; what is damaged has been said.
    Damage,
    /// Two tables differ, and the caller wanted to know by the exit code.
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

/// Why a command could not go on.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Whoever read the output has gone away: there is nobody to tell, and nothing is wrong.
    NobodyListens,
    /// The table, or what was asked of it.
    Table(Error),
    /// The input that was to become a table. Damage there is bad input, not a damaged table.
    Input(Error),
}

impl Failure {
    /// Says what happened on stderr; gives the exit code.
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

/// Only writing to stdout ends in this one; other failures of the system become an [`Error`] that names the file.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyListens,
            _ => Self::Table(Error::from(error).at("writing to stdout")),
        }
    }
}

/// A line on stderr. A closed stderr is no reason to stop.
pub(crate) fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", crate::safe::safe(&line.to_string()));
}

/// The error and its causes, each on a line of its own; a cause that an outer message already has in it is left out.
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
