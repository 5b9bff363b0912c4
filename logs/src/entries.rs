//! The messages of a topic, sorted: in memory up to a bound, and beyond it in temporary files.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    fs::File,
    io::{self, BufWriter, Read, Seek, SeekFrom, Write},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tetrys::{Error, Result};

use crate::transforms::Arrival;

/// A message: its part of the log, its time, and where it is. Ordered by part and time; equal times keep the order in which they arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) part: u32,
    pub(crate) time: i64,
    pub(crate) log_time: i64,
    pub(crate) file: u32,
    pub(crate) block: u32,
    pub(crate) offset: u64,
    pub(crate) channel: u16,
}

/// Bytes of a message in a temporary file.
const WIDTH: usize = 38;
/// Messages that are read from a temporary file at a time.
const PAGE: usize = 1024;
/// Messages of a run that are read at a time at least, while runs are merged.
pub(crate) const LEAST: usize = 64;
/// Maximum pages of a list that are kept.
const PAGES: usize = 16;

impl Entry {
    /// Returns the place of the message in the order of arrival.
    pub(crate) fn arrival(&self) -> Arrival {
        (self.log_time, self.file, self.block, self.offset)
    }

    /// Returns what orders messages as they arrived.
    pub(crate) fn by_arrival(&self) -> Self {
        Self { part: 0, time: 0, channel: 0, ..*self }
    }

    /// Returns what orders messages by part and time.
    pub(crate) fn by_time(&self) -> Self {
        *self
    }

    fn to_bytes(self) -> [u8; WIDTH] {
        let mut bytes = [0; WIDTH];
        bytes[..4].copy_from_slice(&self.part.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.time.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.log_time.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.file.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.block.to_le_bytes());
        bytes[28..36].copy_from_slice(&self.offset.to_le_bytes());
        bytes[36..].copy_from_slice(&self.channel.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8; WIDTH]) -> Self {
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default());
        let eight = |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().unwrap_or_default() };
        Self {
            part: four(0),
            time: i64::from_le_bytes(eight(4)),
            log_time: i64::from_le_bytes(eight(12)),
            file: four(20),
            block: four(24),
            offset: u64::from_le_bytes(eight(28)),
            channel: u16::from_le_bytes([bytes[36], bytes[37]]),
        }
    }
}

/// Sorts messages. Beyond the bound of memory, sorted runs of them lie in a temporary file, and are merged. If they are so many that a
/// page of each exceeds the bound, groups of them are merged into longer runs first.
#[derive(Debug)]
pub(crate) struct Sorter {
    key: fn(&Entry) -> Entry,
    /// Maximum messages in memory.
    bound: usize,
    entries: Vec<Entry>,
    file: Option<File>,
    /// The number of messages of each run in the file.
    runs: Vec<usize>,
}

impl Sorter {
    /// Creates a sorter by a key, [`Entry::by_arrival`] or [`Entry::by_time`], that has at most `bound` messages in memory.
    pub(crate) fn new(key: fn(&Entry) -> Entry, bound: usize) -> Self {
        Self { key, bound: bound.max(1), entries: Vec::new(), file: None, runs: Vec::new() }
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.runs.iter().sum::<usize>() + self.entries.len()
    }

    /// Adds a message.
    ///
    /// # Errors
    /// - Errors of the temporary file.
    pub(crate) fn push(&mut self, entry: Entry) -> Result<()> {
        if self.entries.len() == self.bound {
            self.spill()?;
        }
        self.entries.push(entry);
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        self.entries.sort_unstable_by_key(self.key);
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile().map_err(failed)?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        append(file, self.entries.iter().map(|entry| Ok(*entry)))?;
        self.runs.push(self.entries.len());
        self.entries.clear();
        Ok(())
    }

    /// Returns the messages in their order.
    ///
    /// # Errors
    /// - Errors of the temporary file.
    pub(crate) fn sorted(mut self) -> Result<Sorted> {
        if self.file.is_some() {
            self.spill()?;
        }
        let Some(file) = self.file.take() else {
            self.entries.sort_unstable_by_key(self.key);
            return Ok(Sorted::Memory(self.entries.into_iter()));
        };
        Ok(Sorted::Merged(self.merged(file)?.0))
    }

    /// Merges the runs in the file. Returns also how often all of them were merged into longer ones before, each time in a new file.
    fn merged(self, file: File) -> Result<(Merged, usize)> {
        let Self { key, bound, entries, mut runs, .. } = self;
        drop(entries);
        let (mut file, mut levels) = (Arc::new(file), 0);
        let most = (bound / LEAST).max(2);
        while runs.len() > most {
            let longer = tempfile::tempfile().map_err(failed)?;
            let (mut first, mut lengths) = (0, Vec::new());
            for group in runs.chunks(most) {
                let mut merged = Merged::of(Arc::clone(&file), first, group, key, bound)?;
                append(&longer, std::iter::from_fn(|| merged.next().transpose()))?;
                let len: usize = group.iter().sum();
                first += len;
                lengths.push(len);
            }
            (file, runs) = (Arc::new(longer), lengths);
            levels += 1;
        }
        Ok((Merged::of(file, 0, &runs, key, bound)?, levels))
    }

    /// Returns the messages by their numbers in their order.
    ///
    /// # Errors
    /// - Errors of the temporary files.
    pub(crate) fn list(self) -> Result<Entries> {
        let (len, most) = (self.len(), (self.bound / PAGE).clamp(1, PAGES));
        match self.sorted()? {
            Sorted::Memory(entries) => Ok(Entries::Memory(entries.collect())),
            mut sorted => {
                let file = tempfile::tempfile().map_err(failed)?;
                append(&file, std::iter::from_fn(|| sorted.next().transpose()))?;
                let (near, pages) = (AtomicUsize::new(0), Mutex::default());
                Ok(Entries::File(Pages { file, len, near, most, pages }))
            }
        }
    }
}

/// Messages in their order, one after the other.
#[derive(Debug)]
pub(crate) enum Sorted {
    Memory(std::vec::IntoIter<Entry>),
    Merged(Merged),
}

impl Sorted {
    /// Returns the next message.
    ///
    /// # Errors
    /// - Errors of the temporary file.
    pub(crate) fn next(&mut self) -> Result<Option<Entry>> {
        match self {
            Self::Memory(entries) => Ok(entries.next()),
            Self::Merged(merged) => merged.next(),
        }
    }
}

/// Merges the sorted runs of a temporary file.
#[derive(Debug)]
pub(crate) struct Merged {
    file: Arc<File>,
    key: fn(&Entry) -> Entry,
    /// Messages of a run that are read at a time.
    page: usize,
    readers: Vec<Reader>,
    /// The next message of each run: its key, the number of the run, and the message.
    heap: BinaryHeap<Reverse<(Entry, usize, Entry)>>,
}

/// The rest of a run.
#[derive(Debug)]
struct Reader {
    next: usize,
    end: usize,
    page: std::vec::IntoIter<Entry>,
}

impl Merged {
    /// Merges runs of these lengths, of which the first one begins at message `first` of the file. About `bound` messages are in memory.
    fn of(file: Arc<File>, first: usize, runs: &[usize], key: fn(&Entry) -> Entry, bound: usize) -> Result<Self> {
        let page = (bound / runs.len().max(1)).clamp(1, PAGE);
        let mut end = first;
        let reader = |len: &usize| {
            end += *len;
            Reader { next: end - *len, end, page: Vec::new().into_iter() }
        };
        let readers = runs.iter().map(reader).collect();
        let mut merged = Self { file, key, page, readers, heap: BinaryHeap::new() };
        for number in 0..merged.readers.len() {
            merged.advance(number)?;
        }
        Ok(merged)
    }

    fn next(&mut self) -> Result<Option<Entry>> {
        let Some(Reverse((_, number, entry))) = self.heap.pop() else { return Ok(None) };
        self.advance(number)?;
        Ok(Some(entry))
    }

    fn advance(&mut self, number: usize) -> Result<()> {
        let Some(reader) = self.readers.get_mut(number) else { return Ok(()) };
        if reader.page.as_slice().is_empty() && reader.next < reader.end {
            let page = read(&self.file, reader.next, self.page.min(reader.end - reader.next))?;
            reader.next += page.len();
            reader.page = page.into_iter();
        }
        if let Some(entry) = reader.page.next() {
            self.heap.push(Reverse(((self.key)(&entry), number, entry)));
        }
        Ok(())
    }
}

/// Sorted messages by their numbers.
#[derive(Debug)]
pub(crate) enum Entries {
    Memory(Vec<Entry>),
    File(Pages),
}

/// Messages in a temporary file, read page by page.
#[derive(Debug)]
pub(crate) struct Pages {
    file: File,
    len: usize,
    /// The answer of the last search.
    near: AtomicUsize,
    /// Maximum pages that are kept.
    most: usize,
    /// The pages that were read last, by their numbers.
    pages: Mutex<VecDeque<(usize, Arc<Vec<Entry>>)>>,
}

impl Entries {
    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Memory(entries) => entries.len(),
            Self::File(pages) => pages.len,
        }
    }

    /// Returns a message.
    ///
    /// # Errors
    /// - `Internal`: there is none of this number.
    /// - Errors of the temporary file.
    pub(crate) fn get(&self, number: usize) -> Result<Entry> {
        let found = match self {
            Self::Memory(entries) => entries.get(number).copied(),
            Self::File(pages) => pages.get(number)?,
        };
        found.ok_or_else(|| Error::internal(format!("message {number} of {}", self.len())))
    }

    /// Returns the number of the first message of a range that is not `before`. Those that are come first.
    ///
    /// # Errors
    /// - Errors of the temporary file.
    pub(crate) fn partition_point(&self, range: Range<usize>, before: impl Fn(&Entry) -> bool) -> Result<usize> {
        match self {
            Self::Memory(entries) => {
                let start = range.start;
                Ok(start + entries.get(range).unwrap_or_default().partition_point(before))
            }
            Self::File(pages) => {
                let is_before = |number: usize| self.get(number).map(|entry| before(&entry));
                let (mut low, mut high, mut step) = (range.start, range.end, 1);
                // Searches follow each other in time, so the answer is usually near the one before.
                let near = pages.near.load(Ordering::Relaxed).clamp(low, high);
                if near < high && is_before(near)? {
                    low = near + 1;
                    while low < high {
                        let probe = (low + step - 1).min(high - 1);
                        if !is_before(probe)? {
                            high = probe;
                            break;
                        }
                        (low, step) = (probe + 1, 2 * step);
                    }
                } else {
                    high = near;
                    while low < high {
                        let probe = high.saturating_sub(step).max(low);
                        if is_before(probe)? {
                            low = probe + 1;
                            break;
                        }
                        (high, step) = (probe, 2 * step);
                    }
                }
                while low < high {
                    let probe = low + (high - low) / 2;
                    match is_before(probe)? {
                        true => low = probe + 1,
                        false => high = probe,
                    }
                }
                pages.near.store(low, Ordering::Relaxed);
                Ok(low)
            }
        }
    }
}

impl Pages {
    fn get(&self, number: usize) -> Result<Option<Entry>> {
        if number >= self.len {
            return Ok(None);
        }
        let (wanted, at) = (number / PAGE, number % PAGE);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = pages.iter().find(|(page, _)| *page == wanted) {
            return Ok(page.get(at).copied());
        }
        let first = wanted * PAGE;
        let page = Arc::new(read(&self.file, first, PAGE.min(self.len - first))?);
        pages.push_front((wanted, Arc::clone(&page)));
        pages.truncate(self.most);
        Ok(page.get(at).copied())
    }
}

/// Appends messages to a file that was only written so far. They may be read from another file.
fn append(file: &File, entries: impl Iterator<Item = Result<Entry>>) -> Result<()> {
    let mut out = BufWriter::with_capacity(PAGE * WIDTH, file);
    for entry in entries {
        out.write_all(&entry?.to_bytes()).map_err(failed)?;
    }
    out.flush().map_err(failed)
}

fn read(mut file: &File, first: usize, len: usize) -> Result<Vec<Entry>> {
    let mut bytes = vec![0; len * WIDTH];
    let start = first as u64 * WIDTH as u64;
    file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut bytes)).map_err(failed)?;
    Ok(bytes.as_chunks::<WIDTH>().0.iter().map(Entry::of_bytes).collect())
}

/// Returns the error of a temporary file. A file that is too short says nothing about the log.
fn failed(error: io::Error) -> Error {
    let folder = std::env::temp_dir();
    Error::unavailable(format!(
        "{}: a temporary file for the messages of a log: {error}; free space there, or set TMPDIR",
        folder.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages whose times and places are in no order, some of them equal.
    fn messages(count: u64) -> Vec<Entry> {
        let mixed = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let small = |number: u64| u32::try_from(number % 3).unwrap();
        let entry = |number: u64| Entry {
            part: small(mixed(number)),
            time: i64::try_from(mixed(number) % (1 + count / 2)).unwrap() - 100,
            log_time: i64::try_from(mixed(number + 7)).unwrap(),
            file: small(number),
            block: u32::MAX - small(number),
            offset: u64::MAX - number,
            channel: u16::try_from(number % 9).unwrap(),
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn messages_are_sorted_and_found_in_any_memory() {
        let all = messages(5_000);
        let keys: [fn(&Entry) -> Entry; 3] = [Entry::by_arrival, Entry::by_time, Entry::by_time];
        for (key, bound) in keys.into_iter().zip([1_700, 3, 5_000]) {
            let mut sorter = Sorter::new(key, bound);
            all.iter().for_each(|entry| sorter.push(*entry).unwrap());
            assert_eq!(sorter.len(), all.len());
            let mut expected = all.clone();
            expected.sort_by_key(key);
            let entries = sorter.list().unwrap();
            assert_eq!(matches!(entries, Entries::Memory(_)), bound == 5_000);
            assert_eq!((0..all.len()).map(|number| entries.get(number).unwrap()).collect::<Vec<_>>(), expected);
            assert!(entries.get(all.len()).is_err());
            for number in (0..all.len()).step_by(37).chain([4_999, 0, 2_500]) {
                for range in [0..all.len(), 100..4_000, 7..7] {
                    let before = |entry: &Entry| key(entry) < key(&expected[number]);
                    let found = entries.partition_point(range.clone(), before).unwrap();
                    assert_eq!(found, range.start + expected[range].partition_point(before), "{number}");
                }
            }
        }
    }

    #[test]
    fn many_runs_are_merged_in_several_levels_and_give_the_order_of_one() {
        let all = messages(5_000);
        let mut expected = all.clone();
        expected.sort_by_key(Entry::by_time);
        // With 3 messages in memory there are 1,667 runs, of which 2 are merged at a time; with 200, 25 and 3; with 1,700, 3 and 26.
        for (bound, expected_levels) in [(3, 10), (200, 2), (1_700, 0)] {
            let mut sorter = Sorter::new(Entry::by_time, bound);
            all.iter().for_each(|entry| sorter.push(*entry).unwrap());
            sorter.spill().unwrap();
            let file = sorter.file.take().unwrap();
            let (mut merged, levels) = sorter.merged(file).unwrap();
            assert_eq!(levels, expected_levels, "{bound}");
            assert!(merged.readers.len() * merged.page <= bound.max(2), "{bound}: {} of {}", merged.readers.len(), merged.page);
            let found: Vec<Entry> = std::iter::from_fn(|| merged.next().unwrap()).collect();
            assert!(found == expected, "{bound}");
        }
    }

    #[test]
    fn a_list_with_more_pages_than_it_keeps_gives_messages_in_any_order() {
        let all = messages(20 * PAGE as u64 + 7);
        let mut expected = all.clone();
        expected.sort_by_key(Entry::by_time);
        for (bound, kept) in [(17 * PAGE, PAGES), (2 * PAGE + 1, 2), (LEAST, 1)] {
            let mut sorter = Sorter::new(Entry::by_time, bound);
            all.iter().for_each(|entry| sorter.push(*entry).unwrap());
            let entries = sorter.list().unwrap();
            // Each step leads to another page, and later steps back to each.
            for number in (0..2_500).map(|at| at * 7_919 % all.len()) {
                assert_eq!(entries.get(number).unwrap(), expected[number], "{bound}: message {number}");
            }
            let Entries::File(pages) = &entries else { panic!("{bound}: all messages are in memory") };
            assert_eq!(pages.pages.lock().unwrap().len(), kept, "{bound}");
        }
    }

    #[test]
    fn few_messages_stay_in_memory_and_none_are_a_list() {
        let mut sorter = Sorter::new(Entry::by_time, 2);
        assert_eq!(Sorter::new(Entry::by_time, 0).list().unwrap().len(), 0);
        messages(2).into_iter().for_each(|entry| sorter.push(entry).unwrap());
        assert!(matches!(sorter.list().unwrap(), Entries::Memory(_)));
    }
}
