//! The cache on disk: finds cached bytes of a range, adds fetched bytes, and drops bad entries.
//!
//! An entry is written to another name and renamed, so no reader sees half an entry. Files are not synced: an entry that a power
//! failure damaged fails its checksum and is dropped. A look-up in a frame first tries the file of exactly the requested range,
//! then all files whose ranges overlap it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::{
    entry::{FrameKey, HEADER, ObjectKey, cost_of, header_len, parse_file, pieces_of},
    folder,
    space::Space,
    warn,
};
use crate::{machine, store::buffers::PooledBuffer};

/// Minimum interval between updates of the time of last use of an entry.
const TOUCH: Duration = Duration::from_secs(10);

/// A cache on disk.
pub(super) struct Disk {
    folder: PathBuf,
    space: Space,
    warned: AtomicBool,
}

/// The cached bytes of a range: pieces that do not overlap, in order.
pub(super) struct Found {
    range: Range<u64>,
    pieces: Vec<(u64, Bytes)>,
}

impl Found {
    /// Creates a result without cached bytes.
    pub(super) fn nothing(range: Range<u64>) -> Self {
        Self { range, pieces: Vec::new() }
    }

    /// Whether no byte of the range is cached.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Returns the range to fetch: from the first missing byte to the last. Empty if the whole range is cached.
    pub(super) fn missing(&self) -> Range<u64> {
        let Range { mut start, mut end } = self.range;
        for (first, bytes) in &self.pieces {
            if *first == start {
                start += bytes.len() as u64;
            }
        }
        for (first, bytes) in self.pieces.iter().rev() {
            if start < end && *first + bytes.len() as u64 == end {
                end = (*first).max(start);
            }
        }
        start..end
    }

    /// Joins the cached bytes and the bytes `fetched` for [`Found::missing`] to the whole range.
    pub(super) fn join(self, fetched: Bytes) -> Bytes {
        let missing = self.missing();
        if missing == self.range {
            return fetched;
        }
        if let ([(_, only)], true) = (self.pieces.as_slice(), fetched.is_empty()) {
            return only.clone();
        }
        let length = usize::try_from(self.range.end - self.range.start).unwrap_or_default();
        let mut whole = PooledBuffer::with_capacity(length);
        for (first, bytes) in &self.pieces {
            if *first < missing.start {
                whole.extend_from_slice(bytes);
            }
        }
        whole.extend_from_slice(&fetched);
        for (first, bytes) in &self.pieces {
            if *first >= missing.end {
                whole.extend_from_slice(bytes);
            }
        }
        whole.into_bytes()
    }
}

impl Disk {
    pub(super) fn new(folder: PathBuf, bound: u64) -> Self {
        let space = Space::new(&folder, bound);
        Self { folder, space, warned: AtomicBool::new(false) }
    }

    /// Finds the cached bytes of a range of an object.
    pub(super) fn find(&self, object: ObjectKey, range: Range<u64>) -> Found {
        let mut found = Found::nothing(range.clone());
        for (frame, first, part) in object.frames(range) {
            let pieces = self.pieces(frame, part);
            found.pieces.extend(pieces.into_iter().map(|(start, bytes)| (first + u64::from(start), bytes)));
        }
        found
    }

    /// Adds bytes of an object while there is room.
    pub(super) fn add(&self, object: ObjectKey, start: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (frame, _, part) in object.frames(start..start + bytes.len() as u64) {
            let length = usize::try_from(part.end - part.start).unwrap_or_default();
            let Some((content, behind)) = rest.split_at_checked(length) else { return };
            rest = behind;
            match self.write(frame, &part, content) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    self.space.rest();
                    if !self.warned.swap(true, Ordering::Relaxed) {
                        warn(&self.folder, &format!("writing: {error}"));
                    }
                    return;
                }
            }
        }
    }

    /// Drops every entry that overlaps a range.
    pub(super) fn drop_range(&self, object: ObjectKey, range: Range<u64>) {
        for (frame, _, part) in object.frames(range) {
            for stored in self.overlapping(frame, &part) {
                folder::remove(&self.path(frame, &stored));
            }
        }
    }

    fn path(&self, frame: FrameKey, part: &Range<u32>) -> PathBuf {
        self.folder.join(frame.shard()).join(frame.file(part))
    }

    /// Finds the cached bytes of a part of a frame.
    fn pieces(&self, frame: FrameKey, part: Range<u32>) -> Vec<(u32, Bytes)> {
        if !folder::is_folder(&self.folder.join(frame.shard())) {
            return Vec::new();
        }
        if let Some(content) = self.read(frame, &part, &part) {
            return vec![(part.start, content)];
        }
        let (mut pieces, mut at) = (Vec::new(), part.start);
        for stored in self.overlapping(frame, &part) {
            let wanted = at.max(stored.start)..part.end.min(stored.end);
            if wanted.is_empty() || stored == part {
                continue;
            }
            let Some(content) = self.read(frame, &stored, &wanted) else { continue };
            at = wanted.end;
            pieces.push((wanted.start, content));
        }
        pieces
    }

    /// Returns the entries that overlap a part of a frame, sorted by start, longer ones first.
    fn overlapping(&self, frame: FrameKey, part: &Range<u32>) -> Vec<Range<u32>> {
        let stem = frame.stem();
        let names = folder::files(&self.folder.join(frame.shard()));
        let parts = names.filter_map(|(name, _)| parse_file(&name).filter(|(own, _)| *own == stem).map(|(_, part)| part));
        let mut stored: Vec<Range<u32>> = parts.filter(|stored| stored.start < part.end && part.start < stored.end).collect();
        stored.sort_unstable_by_key(|stored| (stored.start, std::cmp::Reverse(stored.end)));
        stored
    }

    /// Reads a part of the content of an entry, and as much around it as the checksums need. A damaged entry is dropped.
    fn read(&self, frame: FrameKey, part: &Range<u32>, wanted: &Range<u32>) -> Option<Bytes> {
        let path = self.path(frame, part);
        let found = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let head = header_len(part);
        let content = match found.len() == head as u64 + u64::from(part.end - part.start) {
            true => {
                let mut file = File::open(&path).ok()?;
                let mut header = [0; HEADER];
                let header = header.get_mut(..head)?;
                file.read_exact(header).ok()?;
                let covered = pieces_of(part, wanted);
                if covered.start > part.start {
                    file.seek(SeekFrom::Start(head as u64 + u64::from(covered.start - part.start))).ok()?;
                }
                let length = u64::from(covered.end - covered.start);
                let mut pieces = PooledBuffer::with_capacity(usize::try_from(length).ok()?);
                Read::by_ref(&mut file).take(length).read_to_end(&mut pieces).ok()?;
                let content = frame.content(part, header, wanted, pieces);
                let now = machine::time_of_day();
                let is_old = |used| used < self.space.opened() || now.duration_since(used).is_ok_and(|since| since > TOUCH);
                if found.modified().is_ok_and(is_old) {
                    let _ = file.set_modified(now);
                }
                content
            }
            false => None,
        };
        if content.is_none() {
            folder::remove(&path);
        }
        content
    }

    /// Writes an entry. Returns false if there is no room.
    fn write(&self, frame: FrameKey, part: &Range<u32>, content: &[u8]) -> io::Result<bool> {
        let path = self.path(frame, part);
        if folder::is_file(&path) || !folder::clear_place(&path) {
            // The entry exists already, or its path is blocked.
            return Ok(true);
        }
        let Some(turn) = self.space.take(cost_of(part))? else { return Ok(false) };
        let written = || {
            let mut file = File::create_new(&turn.new)?;
            file.write_all(&frame.header(part, content))?;
            file.write_all(content)?;
            drop(file);
            place(&turn.new, &path)
        };
        let done = written();
        if done.is_err() {
            folder::remove(&turn.new);
        }
        done.map(|()| true)
    }
}

/// Renames a finished file to the name of the entry. The folder must not be a link.
fn place(new: &Path, path: &Path) -> io::Result<()> {
    let shard = path.parent().unwrap_or(path);
    // Two attempts: another process may clear the cache in between.
    for _ in 0..2 {
        if !folder::is_folder(shard) {
            folder::make_shard(shard)?;
        }
        if !folder::is_folder(shard) {
            // The shard is a link or a file.
            folder::remove(new);
            return Ok(());
        }
        match fs::rename(new, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            done => return done,
        }
    }
    Err(io::Error::from(io::ErrorKind::NotFound))
}
