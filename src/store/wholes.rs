//! What a store keeps of a web server that sends no ranges of bytes, such as `python3 -m http.server`: the object that was read last.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

use crate::once::Once;

/// Whether a web server sends no ranges, and the object that was read last.
#[derive(Default)]
pub(super) struct Wholes {
    found: AtomicBool,
    last: Mutex<Option<Whole>>,
}

/// An object that is read whole.
struct Whole {
    name: Arc<str>,
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

    /// Returns the content of an object of this size, which the first caller loads. Forgets the object before.
    pub(super) fn content(&self, name: &Arc<str>, bytes: u64) -> Arc<Once<Bytes>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(held) if (&held.name, held.bytes) == (name, bytes) => Arc::clone(&held.content),
            _ => {
                let content = Arc::new(Once::default());
                *last = Some(Whole { name: Arc::clone(name), bytes, content: Arc::clone(&content) });
                content
            }
        }
    }
}
