//! Buffers that are filled again and again. Memory that went back to the system is mapped and cleared anew, page by page,
//! when it is next used: for a window of ten lidar sweeps that costs three times as much as reading it from the page cache and
//! checking it. So the last long buffers that nobody holds any more stay here, those that were read to and those that results
//! lay in, up to [`KEPT`] bytes of them.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, TryLockError};

use arrow_buffer::Buffer;
use bytes::Bytes;

/// Bytes that are kept for the next reads, in the whole process: what a few batches take.
pub(super) const KEPT: usize = 512 << 20;
/// Shorter buffers come from the allocator, which has them at hand.
const LONG: usize = 64 << 10;

static FREE: Mutex<Free> = Mutex::new(Free { buffers: VecDeque::new(), bytes: 0 });

/// The buffers that nobody holds, the one given back first in front.
struct Free {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// A buffer that is kept for another read when it is dropped.
#[derive(Default)]
pub(crate) struct Lent(Vec<u8>);

/// A kept buffer for `len` bytes, with room for at most twice as many; it holds what it held.
pub(super) fn take(len: usize) -> Option<Lent> {
    if len < LONG {
        return None;
    }
    let buffer = with(|free| {
        let fits = |buffer: &Vec<u8>| (len..=len.saturating_mul(2)).contains(&buffer.capacity());
        // Of those of one size the last one given back, which may still be in a cache.
        let fitting = free.buffers.iter().enumerate().rev().filter(|(_, buffer)| fits(buffer));
        let (place, _) = fitting.min_by_key(|(_, buffer)| buffer.capacity())?;
        let buffer = free.buffers.remove(place)?;
        free.bytes -= buffer.capacity();
        Some(buffer)
    })??;
    Some(Lent(buffer))
}

impl Lent {
    /// An empty buffer with room for `bytes`.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        match take(bytes) {
            Some(mut kept) => {
                kept.clear();
                kept
            }
            None => Self(Vec::with_capacity(bytes)),
        }
    }

    /// A buffer of `len` bytes, of whatever value.
    pub(crate) fn of_len(len: usize) -> Self {
        match take(len) {
            Some(mut kept) => {
                kept.resize(len, 0);
                kept
            }
            None => Self(vec![0; len]),
        }
    }

    /// The bytes, to be shared; the buffer is kept once nobody holds any of them.
    pub(crate) fn into_arrow(mut self) -> Buffer {
        if self.0.capacity() < LONG {
            return Buffer::from_vec(std::mem::take(&mut self.0));
        }
        Buffer::from(Bytes::from_owner(self))
    }
}

impl From<Vec<u8>> for Lent {
    fn from(buffer: Vec<u8>) -> Self {
        Self(buffer)
    }
}

impl Deref for Lent {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if !(LONG..=KEPT).contains(&buffer.capacity()) {
            return;
        }
        with(|free| {
            free.bytes += buffer.capacity();
            free.buffers.push_back(buffer);
            while free.bytes > KEPT
                && let Some(oldest) = free.buffers.pop_front()
            {
                free.bytes -= oldest.capacity();
            }
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
    fn a_dropped_buffer_is_lent_again_and_no_more_than_the_bound_is_kept() {
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
        let most = KEPT / odd;
        for _ in 0..most + 50 {
            drop(Lent::from(Vec::with_capacity(odd)));
        }
        assert_eq!(
            with(|free| free.bytes <= KEPT && free.bytes == free.buffers.iter().map(Vec::capacity).sum::<usize>()),
            Some(true)
        );
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
