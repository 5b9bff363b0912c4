//! The one public error: a kind that says what the caller can do next, and a message that names the object, the place,
//! the expected and the found.

use std::fmt;

/// What went wrong, by what the caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The object, table, version, column or row asked for is not there.
    NotFound,
    /// The thing to be made is already there; choose another name.
    Exists,
    /// Somebody else committed first; reload and retry.
    Conflict,
    /// The store does not answer, is full or out of reach; retry later.
    Unavailable,
    /// The store refuses; change the rights and retry.
    Denied,
    /// Stored bytes are not what was written; restore them from elsewhere.
    Corrupt,
    /// The bytes are well-formed, and this build cannot read or write them.
    Unsupported,
    /// The request or the input breaks a rule; change it.
    Invalid,
    /// A commit may or may not have happened; read the table again before retrying.
    OutcomeUnknown,
    /// A defect of this library.
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
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The result of a fallible call of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! constructors {
    ($($name:ident $kind:ident),*) => {$(
        #[doc = concat!("An error of kind [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorKind::$kind, message)
        }
    )*};
}

impl Error {
    /// An error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    constructors!(
        not_found NotFound, exists Exists, conflict Conflict, unavailable Unavailable, denied Denied, corrupt Corrupt,
        unsupported Unsupported, invalid Invalid, outcome_unknown OutcomeUnknown, internal Internal
    );

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The same error with its cause attached (shown by `source()`, not by `Display`).
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error, its message opened by where it happened: `place: message`.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

/// Characters of a stored text that an error shows.
const SHOWN: usize = 200;

/// Some text as an error shows it: a stored name or type may have many megabytes.
pub(crate) fn short(text: impl fmt::Display) -> String {
    let text = text.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// A number of things, as an error says it: `1 byte`, `3 bytes`.
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
        Self::new(kind, error.to_string()).with_source(error)
    }
}

/// Lets a conversion that cannot fail stand where one that can is expected, as [`crate::Offsets`] for itself.
impl From<std::convert::Infallible> for Error {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
