//! Recycles long buffers. The system maps and clears memory page by page whenever the allocator returns it and requests it again.
//! For a window of ten lidar sweeps, that costs three times as much as reading the bytes from the page cache and verifying them.
//! So dropped buffers of reads and of results are kept here for later reads.
//!
//! The amount is bounded: buffers in use and kept buffers together are at most the recent peak of buffers in use, or up to twice that
//! peak as long as the kept buffers are at most 256 MiB. [`VARIABLE`] sets a bound of the kept buffers alone. The next request for a
//! buffer, or the next drop, frees the excess. [`release_buffers`] frees all kept buffers.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow_buffer::Buffer;
use bytes::Bytes;

use super::{failure, size::parse_size};
use crate::{Result, environment::setting, machine, work::BoundedLock};

/// The environment variable with the maximum bytes of kept buffers in the process, such as `64MiB`; `0` keeps none.
const VARIABLE: &str = "TETRYS_BUFFERS";
/// Kept bytes up to which the process may hold more than the recent peak, if the variable is not set: eight windows of ten sweeps of 3 MB.
const KEPT: usize = 256 << 20;
/// Minimum length of a recycled buffer. The allocator recycles shorter ones itself.
pub(super) const LONG: usize = 64 << 10;
/// Length of a time span. The recent peak is the peak of the current and the previous span.
const SPAN: Duration = Duration::from_secs(2);

/// Returns the value of the variable, if it is set.
fn most_kept() -> Option<usize> {
    static MOST_KEPT: OnceLock<Option<usize>> = OnceLock::new();
    *MOST_KEPT.get_or_init(|| configured().ok().flatten())
}

/// Returns the bound of the kept bytes, while `used` bytes are in use and `lately` were at most.
fn bound(used: usize, lately: usize) -> usize {
    let twice = lately.saturating_mul(2).saturating_sub(used);
    match most_kept() {
        Some(most) => twice.min(most),
        None => twice.min(KEPT).max(lately.saturating_sub(used)),
    }
}

fn configured() -> Result<Option<usize>> {
    setting(VARIABLE, "a size such as 64MiB, or 0", |text| usize::try_from(parse_size(text)?).ok())
}

/// Checks that the variable, if it is set, holds a size.
///
/// # Errors
/// - `Invalid`: the value is not a size.
pub(super) fn check() -> Result<()> {
    configured().map(drop)
}

static FREE: BoundedLock<Free> = BoundedLock::new(Free { buffers: VecDeque::new(), bytes: 0, before: 0, since: None });
/// Bytes of long buffers in use.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Peak of [`USED`] in the current span.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// The kept buffers, the oldest first.
struct Free {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Peak of [`USED`] in the previous span.
    before: usize,
    /// Start of the current span.
    since: Option<Instant>,
}

impl Free {
    /// Takes out the kept buffers beyond the bound, the oldest first. The caller drops them when others may use the kept buffers.
    fn trim(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let used = USED.load(Ordering::Relaxed);
        let passed = self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        if self.since.is_none() || passed >= SPAN {
            let most = MOST.swap(used, Ordering::Relaxed);
            self.before = if passed < 2 * SPAN { most } else { used };
            self.since = Some(now);
        }
        let bound = bound(used, self.before.max(MOST.load(Ordering::Relaxed)));
        let mut excess = Vec::new();
        while self.bytes > bound
            && let Some(oldest) = self.buffers.pop_front()
        {
            self.bytes -= oldest.capacity();
            excess.push(oldest);
        }
        excess
    }
}

/// Frees the memory that is kept for later reads and returns its size in bytes. For a process that has finished reading. Later
/// reads work as before, but the next ones take longer. Without this call, the kept memory is at most the peak of results in the last
/// seconds minus their current size; or 256 MiB, and twice that peak minus their current size (`TETRYS_BUFFERS` sets another bound).
///
/// ```
/// let bytes = tetrys::store::release_buffers();
/// println!("{bytes} bytes went back");
/// ```
pub fn release_buffers() -> usize {
    let all = with(|free| {
        // Nor does what was in use until now make later buffers stay.
        free.before = USED.load(Ordering::Relaxed);
        MOST.store(free.before, Ordering::Relaxed);
        (std::mem::take(&mut free.buffers), std::mem::take(&mut free.bytes))
    });
    all.map_or(0, |(_, bytes)| bytes)
}

/// A buffer that is kept for later reads when dropped.
#[derive(Default)]
pub(crate) struct PooledBuffer {
    buffer: Vec<u8>,
    /// Bytes of this buffer that [`USED`] includes.
    counted: usize,
}

/// Returns a kept buffer with a capacity of `len` to `2 * len` bytes. Its old content is not cleared.
pub(super) fn take(len: usize) -> Option<PooledBuffer> {
    if len < LONG {
        return None;
    }
    let buffer = with(|free| {
        let fits = |buffer: &Vec<u8>| (len..=len.saturating_mul(2)).contains(&buffer.capacity());
        // Among buffers of one size, the one that was kept last may still be in the CPU cache.
        let fitting = free.buffers.iter().enumerate().rev().filter(|(_, buffer)| fits(buffer));
        let place = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(place, _)| place);
        match place.and_then(|place| free.buffers.remove(place)) {
            Some(buffer) => {
                free.bytes -= buffer.capacity();
                (Some(buffer), Vec::new())
            }
            // The caller will allocate: free the excess first.
            None => (None, free.trim(machine::now())),
        }
    });
    let (buffer, excess) = buffer?;
    drop(excess);
    buffer.map(PooledBuffer::from)
}

/// Returns a buffer of `bytes` bytes with arbitrary content, for a read of the object `name`.
///
/// # Errors
/// - `Unavailable`: there is no memory for it.
pub(super) fn room(bytes: u64, name: &str, url: &str) -> Result<PooledBuffer> {
    let len = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut buffer = match take(len) {
        Some(kept) => kept,
        None => PooledBuffer::from(failure::reserve(bytes, name, url)?),
    };
    buffer.resize(len, 0);
    Ok(buffer)
}

impl PooledBuffer {
    /// Returns an empty buffer with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        match take(bytes) {
            Some(mut kept) => {
                kept.clear();
                kept
            }
            None => Self::from(Vec::with_capacity(bytes)),
        }
    }

    /// Returns a buffer of `len` bytes with arbitrary content.
    pub(crate) fn of_len(len: usize) -> Self {
        match take(len) {
            Some(mut kept) => {
                kept.resize(len, 0);
                kept
            }
            None => Self::from(vec![0; len]),
        }
    }

    /// Converts the buffer to bytes, zero-copy. The memory is recycled after its last slice is dropped.
    pub(super) fn into_bytes(mut self) -> Bytes {
        match self.buffer.capacity() < LONG {
            true => Bytes::from(std::mem::take(&mut self.buffer)),
            false => Bytes::from_owner(self),
        }
    }

    /// Converts the buffer to an Arrow buffer, zero-copy. The memory is recycled after its last slice is dropped.
    pub(crate) fn into_arrow(mut self) -> Buffer {
        self.count();
        if self.buffer.capacity() < LONG {
            return Buffer::from_vec(std::mem::take(&mut self.buffer));
        }
        Buffer::from(Bytes::from_owner(self))
    }

    /// Updates [`USED`]: the buffer may have grown.
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

impl From<Vec<u8>> for PooledBuffer {
    fn from(buffer: Vec<u8>) -> Self {
        let mut pooled = Self { buffer, counted: 0 };
        pooled.count();
        pooled
    }
}

impl Deref for PooledBuffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.buffer
    }
}

impl DerefMut for PooledBuffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.count();
        USED.fetch_sub(self.counted, Ordering::Relaxed);
        let buffer = std::mem::take(&mut self.buffer);
        if buffer.capacity() < LONG || most_kept().is_some_and(|most| buffer.capacity() > most) {
            return;
        }
        let excess = with(|free| {
            free.bytes += buffer.capacity();
            free.buffers.push_back(buffer);
            free.trim(machine::now())
        });
        drop(excess);
    }
}

/// Calls `look` with the kept buffers; `None` if another thread holds the lock all the time. The caller uses the allocator then.
fn with<T>(look: impl FnOnce(&mut Free) -> T) -> Option<T> {
    FREE.lock_spinning().map(|mut free| look(&mut free))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A single test, because the process has only one set of kept buffers.
    #[test]
    fn a_dropped_buffer_is_lent_again_and_no_more_is_kept_than_was_used_lately() {
        let odd = (1 << 20) + 77;
        drop(PooledBuffer::from(vec![7; odd]));
        let again = PooledBuffer::of_len(odd - 5);
        assert_eq!(again.as_ref(), vec![7; odd - 5], "the buffer dropped just now");
        assert!(take(odd - 5).is_none_or(|other| other.as_ptr() != again.as_ptr()), "lent twice");
        drop(again);
        assert!(take(odd / 2 - 1).is_none_or(|pooled| pooled.capacity() != odd), "over twice as long as asked for");
        let shared = PooledBuffer::of_len(odd).into_arrow();
        let at = shared.as_ptr();
        let part = shared.slice_with_length(5, 10);
        drop(shared);
        assert!(take(odd).is_none_or(|pooled| pooled.as_ptr() != at), "lent while a part of it is held");
        drop(part);
        let empty = PooledBuffer::with_capacity(odd);
        assert_eq!((empty.len(), empty.as_ptr()), (0, at));
        drop(empty);
        // Buffers of many sizes, a few at a time: the kept bytes are at most twice the peak in use.
        release_buffers();
        USED.store(0, Ordering::Relaxed);
        MOST.store(0, Ordering::Relaxed);
        let start = Instant::now();
        let mut most = 0;
        for round in 0..300 {
            let several: Vec<PooledBuffer> =
                (0..4).map(|number| PooledBuffer::with_capacity(odd + (round * 7919 + number) * 977 % (8 * odd))).collect();
            most = most.max(several.iter().map(|pooled| pooled.capacity()).sum());
            drop(several);
            let kept = with(|free| (free.bytes, free.buffers.iter().map(Vec::capacity).sum::<usize>())).expect("free");
            assert!(kept.0 == kept.1 && kept.0 <= 2 * most, "{kept:?} kept, {most} used at a time");
        }
        let kept = with(|free| free.bytes).expect("free");
        assert!(kept > most / 2 || start.elapsed() > SPAN, "{kept} kept, {most} used at a time");
        // A peak of long ago does not count; since then only a little is in use.
        let little = PooledBuffer::with_capacity(LONG);
        let begun = Instant::now();
        let later = |spans: u32| with(|free| (drop(free.trim(begun + spans * 2 * SPAN)), free.bytes).1).expect("free");
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
        drop(PooledBuffer::from(Vec::with_capacity(LONG - 1)));
        assert!(take(LONG - 1).is_none());
        // Above 256 MiB, the process keeps what it used lately, and no more.
        release_buffers();
        let large: Vec<PooledBuffer> = (0..3).map(|_| PooledBuffer::with_capacity(KEPT / 2)).collect();
        drop(large);
        assert!(with(|free| free.buffers.len()).is_some_and(|count| count >= 3));
        assert_eq!((bound(KEPT, 3 * KEPT), bound(0, KEPT / 4), bound(0, 3 * KEPT)), (2 * KEPT, KEPT / 2, 3 * KEPT));
    }
}
