//! Samples pages of one column, spread evenly over a chunk of unknown length: first every page, then every second one, every
//! fourth one, and so on as the chunk grows. The codec chain of the column is chosen from the sample
//! (`format-spec/codecs.md#choice`).

use crate::codec::SAMPLE;

/// Maximum pages in a sample.
const PAGES: usize = 32;
/// Maximum bytes in a sample, unless two pages have more.
const BYTES: usize = 512 << 10;

/// Sampled pages of a column. The first page is always among them.
#[derive(Debug)]
pub(super) struct Sample {
    /// One of this many pages is kept.
    stride: usize,
    seen: usize,
    pages: Vec<Vec<u8>>,
}

impl Sample {
    pub(super) fn new() -> Self {
        Self { stride: 1, seen: 0, pages: Vec::new() }
    }

    /// Passes the next page of the column to the sample.
    pub(super) fn push(&mut self, values: &[u8]) {
        let number = self.seen;
        self.seen += 1;
        if !number.is_multiple_of(self.stride) {
            return;
        }
        self.pages.push(values[..values.len().min(SAMPLE)].to_vec());
        while self.pages.len() > PAGES || (self.pages.len() > 2 && self.pages.iter().map(Vec::len).sum::<usize>() > BYTES) {
            let mut number = 0;
            self.pages.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// Returns the first [`SAMPLE`] bytes of each sampled page.
    pub(super) fn pages(&self) -> &[Vec<u8>] {
        &self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_spread_evenly_over_any_number_of_pages() {
        for (length, pages) in [(16, 1), (16, 32), (16, 33), (16, 5_000), (100_000, 40), (300_000, 7), (700_000, 200)] {
            let mut sample = Sample::new();
            for number in 0..pages {
                let mut page = vec![0; length];
                page[..4].copy_from_slice(&(number as u32).to_le_bytes());
                sample.push(&page);
            }
            let kept: Vec<usize> =
                sample.pages().iter().map(|page| u32::from_le_bytes(*page.first_chunk().unwrap()) as usize).collect();
            let expected: Vec<usize> = (0..pages).step_by(sample.stride).collect();
            assert_eq!(kept, expected, "{pages} pages of {length} bytes");
            let bytes: usize = sample.pages().iter().map(Vec::len).sum();
            assert!(kept.len() <= PAGES && (bytes <= BYTES || kept.len() <= 2), "{pages} pages of {length} bytes");
            assert!(kept.len() >= pages.min(2), "{pages} pages of {length} bytes: {kept:?}");
        }
    }
}
