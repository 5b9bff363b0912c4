//! The exit code of a command, and the error message on stderr.

use std::{
    borrow::Cow,
    error::Error as _,
    fmt, io,
    io::Write,
    process::ExitCode,
    sync::{Mutex, PoisonError},
};

use tetrys::{Error, ErrorKind};

use crate::{safe::safe, text};

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// The table is damaged. The command has printed what is damaged.
    Damage,
    /// Two tables differ, and the caller asked for an exit code that says so.
    Differs,
    /// Something should be mended in a table that is not damaged. The command has printed what.
    Findings,
}

impl Outcome {
    pub(crate) fn code(self) -> ExitCode {
        match self {
            Self::Done => ExitCode::SUCCESS,
            Self::Damage => ExitCode::from(DAMAGE),
            Self::Differs => ExitCode::from(DIFFERS),
            Self::Findings => ExitCode::from(FINDINGS),
        }
    }
}

const ERROR: u8 = 1;
const MISUSE: u8 = 2;
const DAMAGE: u8 = 3;
const DIFFERS: u8 = 4;
const FINDINGS: u8 = 5;

/// Sentences about the changes that this command has made. A later error does not undo them, so its message is followed by them.
static DONE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that a version of a table was committed. If the command fails later, for example because the disk of stdout is full, its
/// message says so.
pub(crate) fn committed(url: &str, version: u64) {
    done(format!("{}: version {version} was committed before this error", text::printable(url)));
}

/// Notes what was done, as a sentence for a message of an error that comes later.
pub(crate) fn done(what: String) {
    DONE.lock().unwrap_or_else(PoisonError::into_inner).push(what);
}

/// The reason why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of stdout closed the pipe. This is not an error.
    NobodyListens,
    /// An error of the table or of the request.
    Table(Error),
    /// Wrong use of the command line that clap does not know.
    Misuse(String),
    /// An error of the input. `Corrupt` here means bad input, not a damaged table, so the exit code is 1.
    Input(Error),
}

impl Failure {
    /// Prints the error to stderr and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        let (error, code) = match self {
            Self::NobodyListens => return ExitCode::SUCCESS,
            Self::Misuse(message) => (Error::invalid(message), MISUSE),
            Self::Table(error) if error.kind() == ErrorKind::Corrupt => (error, DAMAGE),
            Self::Table(error) | Self::Input(error) => (error, ERROR),
        };
        say(format_args!("error: {}", chain(&error)));
        DONE.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|done| say(format_args!("note: {done}")));
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

/// Most characters of a message. Names and values inside of it may be of any length.
const LONGEST: usize = 4000;
/// Characters at the end of a message that is cut: they often say what is wrong, or what to do.
const END: usize = 1000;

/// Prints a line to stderr. Cuts out the middle of a very long one. Ignores a closed stderr.
pub(crate) fn say(line: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", safe(&bounded(&line.to_string())));
}

/// Prints what is wrong with the arguments, or the help that was asked for, and returns the exit code.
pub(crate) fn report_misuse(error: &clap::Error) -> ExitCode {
    let message = error.render().to_string();
    // clap repeats arguments as they are. It also colours its messages, which only happens to those that need no change.
    if error.use_stderr() && (message.chars().count() > LONGEST || safe(&message) != message) {
        say(message.trim_end());
    } else if let Err(failed) = error.print().and_then(|()| io::stdout().flush())
        && !error.use_stderr()
    {
        return Failure::from(failed).report();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(ERROR))
}

/// Cuts out the middle of a text that is longer than [`LONGEST`].
fn bounded(text: &str) -> Cow<'_, str> {
    let count = text.chars().count();
    let at = |character: usize| text.char_indices().nth(character).map_or(text.len(), |(place, _)| place);
    match count > LONGEST {
        false => text.into(),
        true => {
            let (start, end) = text.split_at(at(count - END));
            let left_out = text::count((count - LONGEST) as u64);
            format!("{} .. ({left_out} characters are left out) .. {end}", &start[..at(LONGEST - END)]).into()
        }
    }
}

/// Formats the error and its causes, one per line. Leaves out a cause whose text is already in an outer message.
pub(crate) fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text.push_str(&format!("\n  caused by: {message}"));
        }
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_keeps_its_start_and_its_end() {
        let long = format!("error: `{}`: expected a number", "é".repeat(1_000_000));
        let message = bounded(&long);
        assert!(message.starts_with("error: `éé") && message.ends_with("é`: expected a number"), "{message}");
        let left_out = format!(" .. ({} characters are left out) .. ", text::count((long.chars().count() - LONGEST) as u64));
        assert!(message.contains(&left_out), "{message}");
        assert_eq!(message.chars().count(), LONGEST + left_out.len());
        assert_eq!(bounded(&"é".repeat(LONGEST)), "é".repeat(LONGEST));
    }
}
