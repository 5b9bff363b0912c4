//! Buffers that are filled again and again. Memory that went back to the system is mapped and cleared anew, page by page,
//! when it is next used: for a window of ten lidar sweeps that costs three times as much as reading it from the page cache and
//! checking it. So long buffers that nobody holds any more stay here, those that were read to and those that results lay in.
//!
//! What stays is bounded by what reads need: buffers in use and kept ones together are at most twice what was in use at a time
//! lately, and kept ones at most [`KEPT`]. What is beyond that goes back to the allocator when a buffer is next asked for or given
//! back. [`release_buffers`] gives all of it back.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use bytes::Bytes;

/// Bytes that are kept for the next reads at most, in the whole process.
pub(super) const KEPT: usize = 512 << 20;
/// Shorter buffers come from the allocator, which has them at hand.
const LONG: usize = 64 << 10;
/// How long use counts as lately: until the span after that in which it was is over.
const SPAN: Duration = Duration::from_secs(2);

static FREE: Mutex<Free> = Mutex::new(Free { buffers: VecDeque::new(), bytes: 0, before: 0, since: None });
/// Bytes of long buffers in use.
static USED: AtomicUsize = AtomicUsize::new(0);
/// The most of them at a time in this span.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The buffers that nobody holds, the one given back first in front.
struct Free {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The most bytes in use at a time in the span before this one.
    before: usize,
    /// When this span began.
    since: Option<Instant>,
}

impl Free {
    /// Lets go of what is kept beyond the bound, the oldest first.
    fn trim(&mut self, now: Instant) {
        let used = USED.load(Ordering::Relaxed);
        let passed = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        if self.since.is_none() || passed >= SPAN {
            let most = MOST.swap(used, Ordering::Relaxed);
            self.before = if passed < 2 * SPAN { most } else { used };
            self.since = Some(now);
        }
        let lately = self.before.max(MOST.load(Ordering::Relaxed));
        let bound = (2 * lately).saturating_sub(used).min(KEPT);
        while self.bytes > bound
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.capacity();
        }
    }
}

/// Gives memory back that earlier reads left for later ones, and says how many bytes that was: for a process that has read what it
/// needs. Reads work as before; the next ones take longer. What is kept without this call is at most twice what results took at a
/// time in the last seconds, less what they take now, and 512 MiB.
///
/// ```
/// let bytes = tetrys::store::release_buffers();
/// println!("{bytes} bytes went back");
/// ```
pub fn release_buffers() -> usize {
    let all = with(|free| (std::mem::take(&mut free.buffers), std::mem::take(&mut free.bytes)));
    all.map_or(0, |(_, bytes)| bytes)
}

/// A buffer that is kept for another read when it is dropped.
#[derive(Default)]
pub(crate) struct Lent {
    buffer: Vec<u8>,
    /// How many bytes of it are counted as used.
    counted: usize,
}

/// A kept buffer for `len` bytes, with room for at most twice as many; it holds what it held.
pub(super) fn take(len: usize) -> Option<Lent> {
    if len < LONG {
        return None;
    }
    let buffer = with(|free| {
        let fits = |buffer: &Vec<u8>| (len..=len.saturating_mul(2)).contains(&buffer.capacity());
        // Of those of one size the last one given back, which may still be in a cache.
        let fitting = free.buffers.iter().enumerate().rev().filter(|(_, buffer)| fits(buffer));
        let place = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(place, _)| place);
        let buffer = place.and_then(|place| free.buffers.remove(place));
        match &buffer {
            Some(buffer) => free.bytes -= buffer.capacity(),
            // Before the allocator is asked for more.
            None => free.trim(Instant::now()),
        }
        buffer
    })??;
    Some(Lent::from(buffer))
}

impl Lent {
    /// An empty buffer with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        match take(bytes) {
            Some(mut kept) => {
                kept.clear();
                kept
            }
            None => Self::from(Vec::with_capacity(bytes)),
        }
    }

    /// A buffer of `len` bytes, of whatever value.
    pub(crate) fn of_len(len: usize) -> Self {
        match take(len) {
            Some(mut kept) => {
                kept.resize(len, 0);
                kept
            }
            None => Self::from(vec![0; len]),
        }
    }

    /// The bytes, to be shared; the buffer is kept once nobody holds any of them.
    pub(crate) fn into_arrow(mut self) -> Buffer {
        self.count();
        if self.buffer.capacity() < LONG {
            return Buffer::from_vec(std::mem::take(&mut self.buffer));
        }
        Buffer::from(Bytes::from_owner(self))
    }

    /// Counts what is used of it: it may have grown.
    fn count(&mut self) {
        let bytes = if self.buffer.capacity() < LONG { 0 } else { self.buffer.capacity() };
        if bytes != self.counted {
            let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes - self.counted;
            USED.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = bytes;
            MOST.fetch_max(used, Ordering::Relaxed);
        }
    }
}

impl From<Vec<u8>> for Lent {
    fn from(buffer: Vec<u8>) -> Self {
        let mut lent = Self { buffer, counted: 0 };
        lent.count();
        lent
    }
}

impl Deref for Lent {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.buffer
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.count();
        USED.fetch_sub(self.counted, Ordering::Relaxed);
        let buffer = std::mem::take(&mut self.buffer);
        if !(LONG..=KEPT).contains(&buffer.capacity()) {
            return;
        }
        with(|free| {
            free.bytes += buffer.capacity();
            free.buffers.push_back(buffer);
            free.trim(Instant::now());
        });
    }
}

/// Nobody waits here: while another thread looks, the allocator is asked. (A forked child may find the lock held for ever.)
fn with<T>(look: impl FnOnce(&mut Free) -> T) -> Option<T> {
    match FREE.try_lock() {
        Ok(mut free) => Some(look(&mut free)),
        Err(TryLockError::Poisoned(free)) => Some(look(&mut free.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, since the buffers are those of the process.
    #[test]
    fn a_dropped_buffer_is_lent_again_and_no_more_is_kept_than_was_used_lately() {
        let odd = (1 << 20) + 77;
        drop(Lent::from(vec![7; odd]));
        let again = Lent::of_len(odd - 5);
        assert_eq!(again.as_ref(), vec![7; odd - 5], "the buffer dropped just now");
        assert!(take(odd - 5).is_none_or(|other| other.as_ptr() != again.as_ptr()), "lent twice");
        drop(again);
        assert!(take(odd / 2 - 1).is_none_or(|lent| lent.capacity() != odd), "over twice as long as asked for");
        let shared = Lent::of_len(odd).into_arrow();
        let at = shared.as_ptr();
        let part = shared.slice_with_length(5, 10);
        drop(shared);
        assert!(take(odd).is_none_or(|lent| lent.as_ptr() != at), "lent while a part of it is held");
        drop(part);
        let empty = Lent::with_capacity(odd);
        assert_eq!((empty.len(), empty.as_ptr()), (0, at));
        drop(empty);
        // Buffers of all sizes, few at a time: no more is kept than twice what was in use at a time.
        release_buffers();
        USED.store(0, Ordering::Relaxed);
        MOST.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let mut most = 0;
        for round in 0..300 {
            let several: Vec<Lent> =
                (0..4).map(|number| Lent::with_capacity(odd + (round * 7919 + number) * 977 % (8 * odd))).collect();
            most = most.max(several.iter().map(|lent| lent.capacity()).sum());
            drop(several);
            let kept = with(|free| (free.bytes, free.buffers.iter().map(Vec::capacity).sum::<usize>())).expect("free");
            assert!(kept.0 == kept.1 && kept.0 <= 2 * most, "{kept:?} kept, {most} used at a time");
        }
        let kept = with(|free| free.bytes).expect("free");
        assert!(kept > most / 2 || start.elapsed() > SPAN, "{kept} kept, {most} used at a time");
        // What was used long ago is not kept for; meanwhile only a little is used.
        let little = Lent::with_capacity(LONG);
        let later = |spans: u32| with(|free| (free.trim(start + spans * 2 * SPAN), free.bytes).1).expect("free");
        assert!(later(1) <= kept);
        assert_eq!(later(5), 0, "kept for nobody");
        drop(little);
        release_buffers();
        assert_eq!(release_buffers(), 0);
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, &vec![3; 2 * odd]).expect("written");
        let (long, short) = (1_900_001, 1_100_001);
        for bytes in [long, short].repeat(40) {
            let read = super::super::local::read_part(&file, "a", "b", 0..bytes).expect("read");
            assert_eq!((read.len() as u64, read.last()), (bytes, Some(&3)));
        }
        let of_these =
            |free: &mut Free| free.buffers.iter().filter(|buffer| (short..=long).contains(&(buffer.capacity() as u64))).count();
        assert!(with(|free| of_these(free)).is_some_and(|count| count <= 2), "reads of two lengths leave a buffer each behind");
        drop(Lent::from(Vec::with_capacity(KEPT + 1)));
        drop(Lent::from(Vec::with_capacity(LONG - 1)));
        assert!(take(LONG - 1).is_none() && take(KEPT + 1).is_none());
    }
}
