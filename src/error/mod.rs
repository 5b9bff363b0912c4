//! The public error type: a kind that tells the caller what to do next, and a message that names the object, the place, the
//! expected value and the found value.
//!
//! `guarded` makes an error of a panic of another crate, and `plain` puts a message of another crate into words that users know.
//! `nearest`, `hint` and `listed` name in a message what the caller may have meant.

#[cfg(feature = "frame")]
mod hints;
// `tetrys::extension` gives `guarded` to users.
pub(crate) mod panics;
mod words;

#[cfg(feature = "frame")]
pub(crate) use hints::{hint, listed, nearest};
#[cfg(feature = "frame")]
pub(crate) use panics::expect_of_threads;
pub(crate) use panics::guarded;
pub(crate) use words::plain;

use std::fmt;

/// The kind of an error. Each kind calls for a different reaction of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The requested object, table, version, column or row does not exist.
    NotFound,
    /// The object to be created exists already; choose another name.
    Exists,
    /// Another writer committed first; reload and retry.
    Conflict,
    /// The store does not answer, is full or cannot be reached; retry later.
    Unavailable,
    /// The store denies access; change the permissions and retry.
    Denied,
    /// Stored bytes are damaged; restore them from a copy.
    Corrupt,
    /// The bytes are well-formed, but this build cannot read or write them.
    Unsupported,
    /// The request or the input violates a rule; change the request or the input.
    Invalid,
    /// A commit may or may not have happened; reload the table before retrying.
    OutcomeUnknown,
    /// A bug in this library.
    Internal,
}

/// An error of this library.
///
/// ```
/// let error = tetrys::Error::invalid("row 7 is outside 0..5");
/// assert_eq!(error.kind(), tetrys::ErrorKind::Invalid);
/// assert_eq!(error.to_string(), "row 7 is outside 0..5");
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    mark: Option<Mark>,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A mark tells apart two errors of one kind, so that the library does not compare texts of its own messages. [`Error::at`] keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// `NotFound`: the store is there, and has no object of the name.
    NoObject,
    /// The merge of two indexes is impossible.
    Merge,
}

/// The result of a fallible call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! constructors {
    ($($name:ident $kind:ident),*) => {$(
        #[doc = concat!("Creates an error of kind [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorKind::$kind, message)
        }
    )*};
}

impl Error {
    /// Creates an error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, mark: None, message: bounded(message.into()), source: None }
    }

    constructors!(
        not_found NotFound, exists Exists, conflict Conflict, unavailable Unavailable, denied Denied, corrupt Corrupt,
        unsupported Unsupported, invalid Invalid, outcome_unknown OutcomeUnknown, internal Internal
    );

    /// Creates an error of kind [`ErrorKind::Invalid`] that says what is wrong with JSON, in words of JSON.
    ///
    /// ```
    /// let error = serde_json::from_str::<tetrys::Receipt>("{}").unwrap_err();
    /// assert_eq!(tetrys::Error::invalid_json(&error).at("t.receipt").to_string(), "t.receipt: the member `session` is missing");
    /// ```
    pub fn invalid_json(error: &serde_json::Error) -> Self {
        Self::invalid(json_fault(error))
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the error with a mark.
    pub(crate) fn marked(mut self, mark: Mark) -> Self {
        self.mark = Some(mark);
        self
    }

    /// Whether the error has a mark.
    pub(crate) fn is(&self, mark: Mark) -> bool {
        self.mark == Some(mark)
    }

    /// Returns the error with its cause attached. `source()` returns the cause; `Display` does not show it.
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the error with `place` in front of its message: `place: message`.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        // The message is bounded already: cut again, it would say twice what was left out.
        self.message = format!("{}: {}", bounded(place.to_string()), self.message);
        self
    }
}

/// Returns what is wrong with JSON: `the member `rows` is missing`. Names places only in text that is no JSON.
pub(crate) fn json_fault(error: &serde_json::Error) -> String {
    let message = error.to_string();
    if !error.is_data() {
        return message.replace("EOF while parsing", "the text ends inside");
    }
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    if let Some(name) = message.strip_prefix("missing field ") {
        return format!("the member {name} is missing");
    }
    let mismatch = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = mismatch.and_then(|message| message.rsplit_once(", expected ")) {
        let expected = match expected {
            "u8" => "a whole number from 0 to 255",
            "u16" => "a whole number from 0 to 65535",
            "u32" => "a whole number from 0 to 4294967295",
            "usize" | "u64" => "a whole number of 0 or more",
            "isize" | "i8" | "i16" | "i32" | "i64" => "a whole number",
            "f32" | "f64" => "a number",
            "a boolean" => "true or false",
            "a map" => "an object",
            "a sequence" => "a list",
            expected if expected.starts_with("struct ") => "an object",
            expected => expected,
        };
        let found = match found {
            "map" => "an object",
            "sequence" => "a list",
            found => found,
        };
        return format!("expected {expected}, found {found}");
    }
    if message.starts_with("data did not match any variant") {
        return "a value has a wrong type".to_owned();
    }
    message
        .replace("unknown field", "unknown member")
        .replace("duplicate field", "duplicate member")
        .replace("unknown variant", "unknown value")
}

/// Most characters of a message. Names and values in it may be of any length.
const LONGEST: usize = 2_000;
/// Characters at the end of a message that is cut: they often say what was expected.
const END: usize = 500;

/// Cuts out the middle of a message that is longer than [`LONGEST`].
fn bounded(message: String) -> String {
    // A character has at least one byte.
    if message.len() <= LONGEST {
        return message;
    }
    let count = message.chars().count();
    let from = |character: usize| message.char_indices().nth(character).map_or(message.len(), |(place, _)| place);
    match count.checked_sub(LONGEST) {
        None | Some(0) => message,
        Some(more) => {
            let (start, end) = (message.get(..from(LONGEST - END)), message.get(from(count - END)..));
            let more = counted(more, "character");
            format!("{} .. ({more} left out) .. {}", start.unwrap_or_default(), end.unwrap_or_default())
        }
    }
}

/// Number of characters of a stored text that an error message shows.
const SHOWN: usize = 200;

/// Shortens a text for an error message: a stored name or type may have many megabytes.
pub(crate) fn short(text: impl fmt::Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// Formats a number with its noun for an error message: `1 byte`, `3 bytes`.
pub(crate) fn counted<N: fmt::Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    let ending = if number == N::from(1) {
        ""
    } else if one.ends_with("sh") {
        "es"
    } else {
        "s"
    };
    format!("{number} {one}{ending}")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::AlreadyExists => ErrorKind::Exists,
            Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Denied,
            Io::InvalidData | Io::UnexpectedEof => ErrorKind::Corrupt,
            _ => ErrorKind::Unavailable,
        };
        // `tempfile` adds the name of a temporary file, which means nothing to users.
        let message = error.to_string();
        match message.split_once(" at path \"") {
            Some((message, _)) => Self::new(kind, message),
            None => Self::new(kind, message).with_source(error),
        }
    }
}

/// Allows an infallible conversion where a fallible one is expected, such as [`crate::Offsets`] into itself.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests may panic")]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_any_length_keeps_its_start_and_its_end() {
        let long = format!("`{}`: expected a number", "é".repeat(100_000));
        for error in [Error::invalid(long.as_str()), Error::invalid("expected a number").at(format!("`{}`", "é".repeat(100_000)))]
        {
            let message = error.at("table t").to_string();
            assert!(message.starts_with("table t: `éé") && message.ends_with("é`: expected a number"), "{message}");
            assert!(message.contains(" characters left out) .. ") && message.chars().count() < LONGEST + 100, "{message}");
        }
        assert_eq!(Error::invalid("é".repeat(LONGEST)).to_string(), "é".repeat(LONGEST));
    }

    #[test]
    fn no_message_names_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap().path().join("none");
        let error = tempfile::tempfile_in(&folder).map(drop).unwrap_err();
        let message = Error::from(error).to_string();
        assert!(message.contains("No such file") && !message.contains("at path"), "{message}");
        let error = tempfile::tempdir_in(&folder).map(drop).unwrap_err();
        assert_eq!(Error::from(error).to_string(), message);
    }

    #[test]
    fn faults_of_json_are_told_in_words_of_json() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "only parsed")]
        struct Given {
            count: usize,
            share: f64,
            names: Vec<String>,
            inner: Option<Box<Given>>,
        }
        for (text, expected) in [
            (r#"{"count": "many"}"#, "expected a whole number of 0 or more, found string \"many\""),
            (r#"{"count": -1}"#, "expected a whole number of 0 or more, found integer `-1`"),
            (r#"{"share": {}}"#, "expected a number, found an object"),
            (r#"{"names": 1}"#, "expected a list, found integer `1`"),
            (r#"{"inner": "x"}"#, "expected an object, found string \"x\""),
            (r#"{"count": 1}"#, "the member `share` is missing"),
            (r#"{"count""#, "the text ends inside an object at line 1 column 8"),
        ] {
            assert_eq!(json_fault(&serde_json::from_str::<Given>(text).unwrap_err()), expected, "{text}");
        }
    }
}
