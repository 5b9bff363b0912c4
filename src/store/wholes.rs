//! A web server that sends no ranges of bytes, such as `python3 -m http.server`: the store reads whole objects and keeps the last one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use object_store::path::Path;

use crate::work::{BoundedLock, Once};

/// Whether a web server sends no ranges, and the object that was read last.
#[derive(Default)]
pub(super) struct Wholes {
    found: AtomicBool,
    last: BoundedLock<Option<Whole>>,
}

/// An object that is read whole.
struct Whole {
    location: Path,
    bytes: u64,
    content: Arc<Once<Bytes>>,
}

impl Wholes {
    /// Whether an answer has shown that the server sends no ranges.
    pub(super) fn are_needed(&self) -> bool {
        self.found.load(Ordering::Relaxed)
    }

    /// Notes that the server sends no ranges.
    pub(super) fn set_needed(&self) {
        self.found.store(true, Ordering::Relaxed);
    }

    /// Returns the place for the content of an object of this size; the first caller loads the content. The place replaces that of the
    /// object that was read before.
    pub(super) fn content(&self, location: &Path, bytes: u64) -> Arc<Once<Bytes>> {
        // Without the lock, which a forked child may find held for ever, the content is not kept.
        let Some(mut last) = self.last.lock() else { return Arc::default() };
        match &*last {
            Some(existing) if (&existing.location, existing.bytes) == (location, bytes) => Arc::clone(&existing.content),
            _ => {
                let content = Arc::new(Once::default());
                let before = last.replace(Whole { location: location.clone(), bytes, content: Arc::clone(&content) });
                drop(last);
                drop(before);
                content
            }
        }
    }
}
