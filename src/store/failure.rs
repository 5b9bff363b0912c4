//! Converts errors of backends and of the operating system: the kind says what to do next, and the message names the object and
//! the store. Messages must not leak secrets. Query strings are cut out, because they carry signatures and tokens. Only code and
//! message of a server's error response are shown, because some responses repeat the request. Values of options that may be
//! secret are replaced everywhere.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::OnceLock;

use crate::{
    Error, ErrorKind, Result,
    error::{Mark, counted},
};

/// The text of an error about an answer that is no listing. A listing is asked for again, because a bit may have flipped.
pub(super) const NO_LISTING: &str = "the answer to the request for a listing is no listing";

/// The operation that failed: for the message, and for what the failure may have left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
    Listing,
    Deleting,
}

impl Doing {
    fn word(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Listing => "listing",
            Self::Deleting => "deleting",
        }
    }
}

/// An error whose cause is known where it happens. Backends wrap it; [`backend`] finds it among the causes of their errors.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) kind: ErrorKind,
    pub(super) text: String,
}

impl fmt::Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Known {}

/// Returns the known cause of an error, if it has one.
pub(super) fn known<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Known> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(known) = error.downcast_ref() {
            return Some(known);
        }
        next = error.source();
    }
    None
}

/// The message where the store is there, and the object is not.
const NO_OBJECT: &str = "no such object";

/// The end of the message of a known cause where the client sent the request more than once.
const SENT_AGAIN: &str = " (the request was sent more than once)";

/// More retries than fit into any time: the time decides.
pub(super) const UNCOUNTED: usize = 100_000;

/// Whether the client sent a request more than once, by the error that `object_store` gave (`RetryError`). It sends a put of a manifest
/// again after an answer of the kind 5xx, 408 or 429.
pub(crate) fn was_sent_again(error: &Error) -> bool {
    is_of_several(&error.to_string())
}

fn is_of_several(message: &str) -> bool {
    [" retries, max_retries: ", " retries, retry_timeout: ", SENT_AGAIN].iter().any(|phrase| message.contains(phrase))
}

/// Converts an error of a backend. `doing` is the operation on `name` in the store at `url`; `secrets` are values of its options.
pub(super) fn backend(error: object_store::Error, doing: Doing, name: &str, url: &str, secrets: &[String]) -> Error {
    use object_store::Error as E;
    if let Some(Known { kind, text }) = known(&error) {
        let text = &if is_of_several(&error.to_string()) { format!("{text}{SENT_AGAIN}") } else { text.clone() };
        return place(*kind, doing, name, url, &without_secrets(&without_queries(text), secrets));
    }
    let kind = match &error {
        E::NotFound { .. } => ErrorKind::NotFound,
        E::AlreadyExists { source, .. } if is_other_conflict(&error) => of_answer(&source.to_string()),
        E::AlreadyExists { .. } => ErrorKind::Exists,
        E::Precondition { .. } | E::NotModified { .. } => ErrorKind::Conflict,
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => ErrorKind::Denied,
        E::NotSupported { .. } | E::NotImplemented { .. } => ErrorKind::Unsupported,
        E::InvalidPath { .. } | E::UnknownConfigurationKey { .. } => ErrorKind::Invalid,
        E::JoinError { .. } => ErrorKind::Internal,
        E::Generic { store: "LocalFileSystem", .. } => match cause(&error) {
            Some(io) => return of_disk(io, publishing(&error, doing), doing, name, url),
            None => ErrorKind::Unavailable,
        },
        _ => of_answer(&error.to_string()),
    };
    let text = match kind {
        ErrorKind::NotFound => {
            return match no_bucket(&error.to_string()) {
                Some(what) => place(kind, doing, name, url, &no_such(what, url)),
                None => place(kind, doing, name, url, NO_OBJECT).marked(Mark::NoObject),
            };
        }
        ErrorKind::Exists => "the object is already there".to_owned(),
        ErrorKind::Invalid if matches!(error, E::InvalidPath { .. }) => "a name there is no valid name of an object".to_owned(),
        _ => {
            // Where time decides, the number of retries says nothing.
            let text = match &error {
                E::AlreadyExists { source, .. } => source.to_string(),
                _ => error.to_string(),
            };
            let text = text.replace(&format!(", max_retries: {UNCOUNTED}"), "");
            let text = printable(&without_secrets(&without_queries(&of_server(&text)), secrets));
            match is_refused_head(&text) {
                true => {
                    format!("{text}(the answer to HEAD has no reason; S3 gives it for an expired token and for another region)")
                }
                false => text,
            }
        }
    };
    place(kind, doing, name, url, &text)
}

/// Whether the store answers a write with 409 for another reason than an object of that name. `object_store` takes each 409 for such an
/// object. An answer that gives no reason counts as one.
pub(super) fn is_other_conflict(error: &object_store::Error) -> bool {
    let object_store::Error::AlreadyExists { source, .. } = error else { return false };
    let text = source.to_string();
    text.contains("409 Conflict") && text.contains("<Code>") && !text.contains("AlreadyExists")
}

/// Returns the kind of a server error, by the codes that S3, Google and Azure document. Any other error counts as temporary.
fn of_answer(text: &str) -> ErrorKind {
    const DENIED: [&str; 11] = [
        "ExpiredToken",
        "InvalidToken",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "RequestTimeTooSkewed",
        "AuthorizationHeaderMalformed",
        "TokenRefreshRequired",
        "BlobImmutableDueToPolicy",
        "SnapshotsPresent",
        "403 Forbidden",
        "401 Unauthorized",
    ];
    const UNSUPPORTED: [&str; 3] = ["501 Not Implemented", "405 Method Not Allowed", "Received non-partial response"];
    const INVALID: [&str; 4] =
        ["InvalidBucketName", "PermanentRedirect", "IllegalLocationConstraint", "Received redirect without LOCATION"];
    let says = |codes: &[&str]| codes.iter().any(|code| text.contains(code));
    match () {
        () if no_bucket(text).is_some() => ErrorKind::NotFound,
        () if says(&DENIED) || is_refused_head(text) => ErrorKind::Denied,
        () if says(&UNSUPPORTED) => ErrorKind::Unsupported,
        () if says(&INVALID) => ErrorKind::Invalid,
        () => ErrorKind::Unavailable,
    }
}

/// Whether S3 has refused a request whose answer has no body, such as one with an expired token.
fn is_refused_head(text: &str) -> bool {
    text.contains("Generic S3 error: Error performing HEAD") && text.contains("400 Bad Request")
}

/// Returns `bucket` or `container` if the error says that the whole bucket or container does not exist.
fn no_bucket(text: &str) -> Option<&'static str> {
    match () {
        () if text.contains("NoSuchBucket") || text.contains("The specified bucket does not exist") => Some("bucket"),
        () if text.contains("ContainerNotFound") || text.contains("The specified container does not exist") => Some("container"),
        () => None,
    }
}

fn no_such(what: &str, url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    // `abfss://container@account.host/path` has the container before the host.
    let name = rest.split(['/', '@']).next().unwrap_or_default();
    format!("no such {what}: `{name}`")
}

/// Shortens a server response in `text` to its code and message.
fn of_server(text: &str) -> String {
    let begin = ["<?xml", "<Error", "<html", "<!DOCTYPE", "{"].iter().filter_map(|mark| text.find(mark)).min();
    let Some(begin) = begin else { return text.to_owned() };
    let (before, answer) = text.split_at(begin);
    let field = |name: &str| {
        let (_, rest) = answer.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(value, _)| value.trim())
    };
    let short = |text: &str| text.chars().take(200).collect::<String>();
    match (field("Code"), field("Message")) {
        (Some(code), Some(message)) => format!("{before}{}: {}", short(code), short(message)),
        (Some(code), None) => format!("{before}{}", short(code)),
        _ => format!("{before}(an answer of {})", counted(answer.len(), "byte")),
    }
}

/// Longest text of a server in a message, in characters.
const LONGEST_TEXT: usize = 1_000;

/// Cuts a text of a server, and escapes what a terminal would obey: control characters and changes of the direction of writing.
pub(super) fn printable(text: &str) -> String {
    let obeyed = |c: char| {
        c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let mut shown = String::new();
    for (place, c) in text.chars().enumerate() {
        match c {
            _ if place >= LONGEST_TEXT => return format!("{shown}.. (cut after {LONGEST_TEXT} characters)"),
            '\n' | '\r' | '\t' => shown.push(' '),
            c if obeyed(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// Replaces each of `secrets` in `text`.
pub(super) fn without_secrets(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
}

/// Converts an error of the operating system. `doing` is the operation on `name` in the store at `url`.
pub(super) fn disk(error: &io::Error, doing: Doing, name: &str, url: &str) -> Error {
    of_disk(error, false, doing, name, url)
}

/// Converts an error of the operating system that came when the object `name` became visible, or after that.
pub(super) fn disk_publishing(error: &io::Error, name: &str, url: &str) -> Error {
    of_disk(error, true, Doing::Writing, name, url)
}

/// Creates the error for the object or folder `name` in the folder `folder`, which is a link.
pub(super) fn linked_folder(folder: &str, doing: Doing, name: &str, url: &str) -> Error {
    let text = format!(
        "its folder {folder} is a symbolic link, and may lead to files of others: nothing was changed; put the folder itself in \
         the place of the link (the root of a table may be a link, its folders may not)"
    );
    place(ErrorKind::Denied, doing, name, url, &text)
}

fn of_disk(error: &io::Error, publishing: bool, doing: Doing, name: &str, url: &str) -> Error {
    use io::ErrorKind as Io;
    let (kind, text) = match error.kind() {
        Io::NotFound => (ErrorKind::NotFound, NO_OBJECT.to_owned()),
        Io::AlreadyExists => (ErrorKind::Exists, "the object is already there".to_owned()),
        Io::PermissionDenied => (ErrorKind::Denied, "permission denied by the file system".to_owned()),
        Io::ReadOnlyFilesystem => (ErrorKind::Denied, "the file system is read-only".to_owned()),
        Io::Unsupported => (ErrorKind::Unsupported, format!("the file system cannot do this: {error}")),
        // Syncing the directory may fail after the new name is visible, so the object is neither durable nor absent.
        _ if publishing => (ErrorKind::OutcomeUnknown, format!("it may or may not be durable: {error}")),
        Io::StorageFull => (ErrorKind::Unavailable, "the disk is full".to_owned()),
        Io::QuotaExceeded => (ErrorKind::Unavailable, "the disk quota is used up".to_owned()),
        // What a reader finds in the place of an object is damage of the table.
        Io::NotADirectory if doing == Doing::Reading && name.contains('/') => {
            (ErrorKind::Corrupt, "a file is in the place of its folder".to_owned())
        }
        Io::NotADirectory => (ErrorKind::Invalid, "a part of the path is a file, not a directory".to_owned()),
        Io::IsADirectory => (ErrorKind::Invalid, "it is a directory, not an object".to_owned()),
        Io::InvalidInput | Io::InvalidFilename => (ErrorKind::Invalid, error.to_string()),
        _ if is_out_of_files(error) => (ErrorKind::Unavailable, out_of_files(error)),
        _ => (ErrorKind::Unavailable, error.to_string()),
    };
    let mut found = place(kind, doing, name, url, &text);
    if kind == ErrorKind::NotFound {
        found = found.marked(Mark::NoObject);
    }
    if let Some(code) = error.raw_os_error() {
        found = found.with_source(io::Error::from_raw_os_error(code));
    }
    found
}

/// Converts an error of the operating system that no object and no store has caused.
pub(super) fn of_system(error: &io::Error) -> Error {
    match is_out_of_files(error) {
        true => Error::unavailable(out_of_files(error)),
        false => Error::from(io::Error::new(error.kind(), error.to_string())),
    }
}

/// Whether the process or the system may not open more files.
pub(super) fn is_out_of_files(error: &io::Error) -> bool {
    const OF_SYSTEM: i32 = 23;
    const OF_PROCESS: i32 = 24;
    cfg!(unix) && matches!(error.raw_os_error(), Some(OF_SYSTEM | OF_PROCESS))
}

/// Returns the message for too many open files: the limit of the process, and what to do.
fn out_of_files(error: &io::Error) -> String {
    let most = open_files_limit().map(|most| format!(": this process may have {most} open")).unwrap_or_default();
    format!("{error}{most}; close tables and loaders that are not used any more, or raise the limit (`ulimit -n`)")
}

/// Returns the number of files that this process may have open. Linux tells it in a file, which cannot be opened once the limit is
/// reached: so the first call, when the first store is opened, keeps the number for later.
pub(super) fn open_files_limit() -> Option<u64> {
    static KEPT: OnceLock<Option<u64>> = OnceLock::new();
    let read = || {
        let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
        let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let now = read();
    let kept = *KEPT.get_or_init(|| now);
    now.or(kept)
}

/// Whether a local write failed while or after its object became visible.
///
/// The error type of the backend is private, so this matches its messages. A test in this file checks the messages.
fn publishing(error: &object_store::Error, doing: Doing) -> bool {
    let text = error.to_string();
    doing == Doing::Writing && (text.contains("Unable to rename file") || text.contains("Unable to sync data"))
}

/// Whether a listing began to arrive and then broke off, and whether it arrived and cannot be parsed. The backend has already retried
/// refusals.
///
/// The error types of the backends are private, so this matches their messages. `tests/stores/s3_faults.rs` tests the messages.
pub(super) fn broken_listing(error: &object_store::Error) -> (bool, bool) {
    let text = error.to_string();
    let invalid = [NO_LISTING, "invalid list response", "object with invalid path"];
    let invalid = invalid.iter().any(|phrase| text.contains(phrase));
    (!invalid && text.contains("list response body"), invalid)
}

/// Whether the error is a timeout: another request would only wait again.
pub(super) fn is_silence(error: &Error) -> bool {
    let text = error.to_string();
    text.contains("read_timeout") || text.contains("retry_timeout)")
}

/// Creates the error for an object or an answer of wrong length.
pub(super) fn length(name: &str, url: &str, what: &str, expected: u64, found: u64) -> Error {
    Error::corrupt(format!("{name} in {url}: {what}: expected {}, found {found}", counted(expected, "byte")))
}

/// Allocates memory for `bytes` bytes. Failure is an error, not an abort.
pub(super) fn reserve(bytes: u64, name: &str, url: &str) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    match usize::try_from(bytes).map(|bytes| buffer.try_reserve_exact(bytes)) {
        Ok(Ok(())) => Ok(buffer),
        _ => Err(place(ErrorKind::Unavailable, Doing::Reading, name, url, &format!("no memory for {}", counted(bytes, "byte")))),
    }
}

fn place(kind: ErrorKind, doing: Doing, name: &str, url: &str, text: &str) -> Error {
    let name = if name.is_empty() { "the root" } else { name };
    Error::new(kind, format!("{} {name} in {url}: {text}", doing.word()))
}

/// Returns the innermost I/O error among the causes of `error`, if there is one.
fn cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a io::Error> {
    let mut next = Some(error);
    let mut found = None;
    while let Some(error) = next {
        found = error.downcast_ref::<io::Error>().or(found);
        next = error.source();
    }
    found
}

/// Formats an error and its causes in one line.
pub(super) fn chain(error: &dyn StdError) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(next) = cause {
        let message = next.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = next.source();
    }
    text
}

/// Replaces everything between a `?` and the next space, quote or closing bracket in `text`.
pub(super) fn without_queries(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut cutting = false;
    for c in text.chars() {
        if cutting && (c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '>')) {
            cutting = false;
        }
        if !cutting {
            kept.push(c);
        }
        if c == '?' && !cutting {
            kept.push_str("..");
            cutting = true;
        }
    }
    kept
}

/// Removes the parts of `url` that may be secret: user, password, query and fragment.
pub(super) fn public_url(url: &str) -> String {
    let kept = url.split(['?', '#']).next().unwrap_or(url);
    match kept.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            // Azure writes `container@account.host`, which is not secret. With a colon, it would be a user and a password.
            let container = matches!(scheme, "abfs" | "abfss") && !host.contains(':');
            let host = if container { host } else { host.rsplit_once('@').map_or(host, |(_, host)| host) };
            format!("{scheme}://{host}{path}")
        }
        None => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Outer(&'static str, io::Error);
    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}: {}", self.0, self.1)
        }
    }
    impl StdError for Outer {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.1)
        }
    }

    fn generic(words: &'static str, code: i32) -> object_store::Error {
        let source = Box::new(Outer(words, io::Error::from_raw_os_error(code)));
        object_store::Error::Generic { store: "LocalFileSystem", source }
    }

    #[test]
    fn a_full_disk_says_so() {
        let error = backend(generic("Unable to copy data to file", 28), Doing::Writing, "chunks/aa/x", "file:///t", &[]);
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.to_string(), "writing chunks/aa/x in file:///t: the disk is full");
    }

    #[test]
    fn a_failed_sync_is_never_called_a_clean_failure() {
        for words in ["Unable to rename file", "Unable to sync data to disk for x"] {
            for code in [5, 28, 122] {
                let error = backend(generic(words, code), Doing::Writing, "a", "file:///t", &[]);
                assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{words} {code}");
            }
        }
        assert_eq!(backend(generic("Unable to rename file", 1), Doing::Writing, "a", "u", &[]).kind(), ErrorKind::Denied);
        assert_eq!(backend(generic("Unable to open file", 13), Doing::Writing, "a", "u", &[]).kind(), ErrorKind::Denied);
    }

    #[test]
    fn secrets_in_addresses_do_not_reach_messages() {
        assert_eq!(without_queries("GET \"https://h/p?sig=abc&x=1\" failed, why?"), "GET \"https://h/p?..\" failed, why?..");
        assert_eq!(public_url("s3://key:secret@bucket/a/b?token=t#f"), "s3://bucket/a/b");
        assert_eq!(public_url("/plain/path"), "/plain/path");
        assert_eq!(public_url("abfss://data@account.dfs.core.windows.net/a"), "abfss://data@account.dfs.core.windows.net/a");
        assert_eq!(public_url("abfss://u:p@account.dfs.core.windows.net/a"), "abfss://account.dfs.core.windows.net/a");
        assert_eq!(without_secrets("a hunter2 b", &["hunter2".to_owned()]), "a *** b");
    }

    #[test]
    fn of_a_server_s_answer_its_code_and_message_are_kept() {
        let answer = "403 Forbidden: <?xml version=\"1.0\"?><Error><Code>InvalidToken</Code><Message>bad token</Message><Token-0>hunter2</Token-0></Error>";
        assert_eq!(of_server(answer), "403 Forbidden: InvalidToken: bad token");
        assert_eq!(of_server("500: <html>hunter2</html>"), "500: (an answer of 20 bytes)");
        assert_eq!(of_server("nothing of it"), "nothing of it");
    }
}
