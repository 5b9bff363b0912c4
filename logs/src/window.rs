//! Reads ranges of a file in order through a window, so that small records take few requests.

use bytes::Bytes;
use tetrys::Result;

use crate::input::Input;

/// Bytes that are read at a time.
pub(crate) const WINDOW: u64 = 4 << 20;

/// The part of a file that was read last.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    pub(crate) input: &'a Input,
    start: u64,
    bytes: Bytes,
}

impl<'a> Window<'a> {
    pub(crate) fn new(input: &'a Input) -> Self {
        Self { input, start: 0, bytes: Bytes::new() }
    }

    /// Returns a range, which must lie inside of the file.
    ///
    /// # Errors
    /// - Errors of the file system or the store.
    pub(crate) fn get(&mut self, at: u64, len: u64) -> Result<Bytes> {
        let inside = at >= self.start && at + len <= self.start + self.bytes.len() as u64;
        if !inside {
            let ahead = len.max(WINDOW).min(self.input.size() - at);
            (self.bytes, self.start) = (self.input.read(at, ahead)?, at);
        }
        let from = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(from..from + usize::try_from(len).unwrap_or(usize::MAX)))
    }

    /// Returns how many bytes from `at` on are in the window.
    pub(crate) fn bytes_from(&self, at: u64) -> u64 {
        match at >= self.start {
            true => (self.start + self.bytes.len() as u64).saturating_sub(at),
            false => 0,
        }
    }
}
