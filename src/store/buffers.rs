//! Buffers that are filled again and again. Memory that went back to the system is mapped and cleared anew, page by page,
//! when it is next used: for a window of ten lidar sweeps that costs three times as much as reading it from the page cache and
//! checking it. So the last long buffers that nobody holds any more stay here, up to [`KEPT`] bytes of them.

use std::collections::VecDeque;
use std::sync::{Mutex, TryLockError};

/// Bytes that are kept for the next reads, in the whole process.
pub(super) const KEPT: usize = 64 << 20;
/// Shorter buffers come from the allocator, which has them at hand.
const LONG: usize = 64 << 10;

static FREE: Mutex<Free> = Mutex::new(Free { buffers: VecDeque::new(), bytes: 0 });

/// The buffers that nobody holds, the one given back first in front.
struct Free {
    buffers: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// Bytes of a buffer; the buffer is kept for another read when they are dropped.
pub(super) struct Lent {
    buffer: Vec<u8>,
    len: usize,
}

/// A kept buffer for `len` bytes, at most twice as long; they hold what was read before.
pub(super) fn take(len: usize) -> Option<Lent> {
    if len < LONG {
        return None;
    }
    let buffer = with(|free| {
        let fits = |buffer: &Vec<u8>| (len..=len.saturating_mul(2)).contains(&buffer.len());
        let fitting = free.buffers.iter().enumerate().filter(|(_, buffer)| fits(buffer));
        let (place, _) = fitting.min_by_key(|(_, buffer)| buffer.len())?;
        let buffer = free.buffers.remove(place)?;
        free.bytes -= buffer.len();
        Some(buffer)
    })??;
    Some(Lent { buffer, len })
}

impl Lent {
    /// All of a new buffer.
    pub(super) fn new(buffer: Vec<u8>) -> Self {
        Self { len: buffer.len(), buffer }
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }
}

impl AsMut<[u8]> for Lent {
    fn as_mut(&mut self) -> &mut [u8] {
        self.buffer.get_mut(..self.len).unwrap_or_default()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        if !(LONG..=KEPT).contains(&buffer.len()) {
            return;
        }
        with(|free| {
            free.bytes += buffer.len();
            free.buffers.push_back(buffer);
            while free.bytes > KEPT
                && let Some(oldest) = free.buffers.pop_front()
            {
                free.bytes -= oldest.len();
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
        drop(Lent::new(vec![7; odd]));
        let again = take(odd - 5).expect("the buffer dropped just now");
        assert_eq!(again.as_ref(), vec![7; odd - 5]);
        assert!(take(odd - 5).is_none_or(|other| other.buffer.as_ptr() != again.buffer.as_ptr()), "lent twice");
        drop(again);
        assert!(take(odd / 2 - 1).is_none_or(|lent| lent.buffer.len() != odd), "over twice as long as asked for");
        for _ in 0..100 {
            drop(Lent::new(vec![1; odd]));
        }
        assert_eq!(with(|free| free.bytes <= KEPT && free.bytes == free.buffers.iter().map(Vec::len).sum::<usize>()), Some(true));
        drop(Lent::new(vec![1; KEPT + 1]));
        drop(Lent::new(vec![1; LONG - 1]));
        assert!(take(LONG - 1).is_none() && take(KEPT + 1).is_none());
    }
}
