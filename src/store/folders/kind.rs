//! What a name in a folder is, and what it leads to.

/// What a name in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Other,
}

/// What a name in a folder leads to, behind any links.
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) modified_ms: i64,
}
