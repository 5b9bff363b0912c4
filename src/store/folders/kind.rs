//! The kind of an entry of a folder: a file, a folder, a link or something else.

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// The object that an entry of a folder leads to, behind any links.
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) modified_ms: i64,
}
