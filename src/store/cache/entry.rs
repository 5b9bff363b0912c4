//! Entries of the cache on disk: consecutive bytes of an object, each in its own file.
//!
//! Objects are divided into frames of 1 MiB, and an entry never crosses its frame, so a long range takes several entries. The key
//! of a frame is a BLAKE3 of the store, the location of the object, and the number of the frame. So equal names in two stores
//! have different keys, and keys reveal neither names nor URLs. The file name has the key and the byte range of the entry. The
//! file starts with both, followed by an XXH3-64 of each 64 KiB of the content, seeded with both and with its number. So a part of
//! an entry is read and checked without the rest. An entry that is damaged, truncated or in the wrong place fails this check.

use std::ops::Range;

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::store::{
    buffers::{LONG, PooledBuffer},
    ranges::RangeRequest,
};

/// Bytes of a frame.
pub(super) const FRAME: u64 = 1 << 20;
/// Bytes of the header of an entry before the checksums.
const HEAD: usize = 48;
/// Bytes of content that one checksum covers.
const PIECE: u32 = 64 << 10;
/// Maximum bytes of the header of an entry.
pub(super) const HEADER: usize = HEAD + 8 * (FRAME / PIECE as u64) as usize;
/// The bound of the cache counts each file as a multiple of this size.
const UNIT: u64 = 4096;
const MAGIC: [u8; 8] = *b"tetrysc2";

/// Key of an object of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectKey([u8; 32]);

/// Key of a frame of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameKey([u8; 32]);

impl ObjectKey {
    /// Returns the key of the object at `location` in the store with this identity; `None` if the name of the object is not the
    /// hash of its content, because then the object may change.
    pub(super) fn new(identity: &str, location: &str, name: &str) -> Option<Self> {
        const FOLDERS: [&str; 6] = ["chunks", "index", "layout", "hashes", "joins", "attachments"];
        let (folder, file) = name.split_once('/')?;
        let stem = file.rsplit('/').next()?.split('.').next()?;
        let is_hash = stem.len() == 64 && stem.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
        if !(FOLDERS.contains(&folder) && is_hash) {
            return None;
        }
        let mut hasher = blake3::Hasher::new_derive_key("tetrys cache 1 object");
        for part in [identity, location] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        Some(Self(*hasher.finalize().as_bytes()))
    }

    fn frame(self, number: u64) -> FrameKey {
        let mut hasher = blake3::Hasher::new_derive_key("tetrys cache 1 frame");
        FrameKey(*hasher.update(&self.0).update(&number.to_le_bytes()).finalize().as_bytes())
    }

    /// Returns the frames of a range: key, offset of the frame in the object, and the part of the frame within the range.
    pub(super) fn frames(self, range: Range<u64>) -> impl Iterator<Item = (FrameKey, u64, Range<u32>)> {
        let Range { start, end } = range;
        let numbers = if start < end { start / FRAME..(end - 1) / FRAME + 1 } else { 0..0 };
        numbers.map(move |number| {
            let first = number * FRAME;
            // Both are at most `FRAME`, so they fit.
            let within = |place: u64| u32::try_from(place.clamp(first, first + FRAME) - first).unwrap_or_default();
            (self.frame(number), first, within(start)..within(end))
        })
    }
}

impl FrameKey {
    /// Returns the folder of the entries of this frame: three hex digits.
    pub(super) fn shard(self) -> String {
        let [a, b, ..] = self.0;
        format!("{a:02x}{:x}", b >> 4)
    }

    /// Returns the common prefix of the file names of this frame.
    pub(super) fn stem(self) -> String {
        self.0.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the file name of an entry.
    pub(super) fn file(self, part: &Range<u32>) -> String {
        format!("{}-{:05x}-{:06x}", self.stem(), part.start, part.end)
    }

    fn seed(self, part: &Range<u32>) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h]) ^ (u64::from(part.start) << 32 | u64::from(part.end))
    }

    /// Returns the checksums of consecutive pieces of an entry, the first of which has this number.
    fn checksums(self, part: &Range<u32>, first: u32, pieces: &[u8]) -> impl Iterator<Item = [u8; 8]> {
        let seed = self.seed(part).wrapping_add(u64::from(first));
        let numbered = (seed..).zip(pieces.chunks(PIECE as usize));
        numbered.map(|(seed, piece)| XxHash3_64::oneshot_with_seed(seed, piece).to_le_bytes())
    }

    /// Returns the header of an entry.
    pub(super) fn header(self, part: &Range<u32>, content: &[u8]) -> Vec<u8> {
        let head: [&[u8]; 4] = [&MAGIC, &self.0, &part.start.to_le_bytes(), &part.end.to_le_bytes()];
        head.concat().into_iter().chain(self.checksums(part, 0, content).flatten()).collect()
    }

    /// Returns the content of `wanted` if `header` is that of this entry and `pieces` are undamaged: the content of [`pieces_of`].
    pub(super) fn content(self, part: &Range<u32>, header: &[u8], wanted: &Range<u32>, pieces: PooledBuffer) -> Option<Bytes> {
        let (head, sums) = header.split_at_checked(HEAD)?;
        let covered = pieces_of(part, wanted);
        let (sums, _) = sums.as_chunks::<8>();
        let number = |place: u32| ((place - part.start) / PIECE) as usize;
        let sums = sums.get(number(covered.start)..)?;
        let whole = pieces.len() as u64 == u64::from(covered.end.checked_sub(covered.start)?);
        let is_sound = head == self.header(part, &[])
            && whole
            && self
                .checksums(part, number(covered.start) as u32, &pieces)
                .eq(sums.iter().copied().take(pieces.len().div_ceil(PIECE as usize)));
        let within = |place: u32| (place - covered.start) as usize;
        let wanted = within(wanted.start)..within(wanted.end);
        // A short answer does not keep a long buffer in memory.
        let is_copied = wanted.len() < pieces.len() && wanted.len() < LONG;
        is_sound.then(|| match is_copied {
            true => Bytes::copy_from_slice(&pieces[wanted]),
            false => pieces.into_bytes().slice(wanted),
        })
    }
}

/// Returns the bytes of the header of an entry.
pub(super) fn header_len(part: &Range<u32>) -> usize {
    HEAD + 8 * part.end.saturating_sub(part.start).div_ceil(PIECE) as usize
}

/// Returns the pieces of an entry that cover `wanted`, which lies within the entry, as a part of the frame.
pub(super) fn pieces_of(part: &Range<u32>, wanted: &Range<u32>) -> Range<u32> {
    let start = (wanted.start - part.start) / PIECE * PIECE;
    let end = (wanted.end - part.start).div_ceil(PIECE) * PIECE;
    part.start + start..part.end.min(part.start + end)
}

/// Parses the stem and the part from a file name; `None` if it is not the name of an entry.
pub(super) fn parse_file(name: &str) -> Option<(&str, Range<u32>)> {
    let (stem, part) = name.split_at_checked(32)?;
    let (start, end) = part.strip_prefix('-')?.split_once('-')?;
    let hex = |text: &str| text.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c));
    if !(hex(stem) && hex(start) && hex(end) && start.len() == 5 && end.len() == 6) {
        return None;
    }
    let part = u32::from_str_radix(start, 16).ok()?..u32::from_str_radix(end, 16).ok()?;
    (part.start < part.end && u64::from(part.end) <= FRAME).then_some((stem, part))
}

/// Whether `name` is the name of a shard folder.
pub(super) fn is_shard(name: &str) -> bool {
    name.len() == 3 && name.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}

/// Returns the bytes that a file of this size counts towards the bound.
pub(super) fn cost(file_bytes: u64) -> u64 {
    file_bytes.div_ceil(UNIT).max(1).saturating_mul(UNIT)
}

/// Returns the bytes that an entry counts towards the bound.
pub(super) fn cost_of(part: &Range<u32>) -> u64 {
    cost(header_len(part) as u64 + u64::from(part.end.saturating_sub(part.start)))
}

/// Returns the key of the object of a request.
pub(super) fn key_of(identity: &str, prefix: &str, request: &RangeRequest) -> Option<ObjectKey> {
    ObjectKey::new(identity, &format!("{prefix}/{}", request.name), &request.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(folder: &str) -> String {
        format!("{folder}/{}", "0a".repeat(32))
    }

    fn key(identity: &str, location: &str) -> ObjectKey {
        ObjectKey::new(identity, location, &name("chunks/0a")).unwrap()
    }

    #[test]
    fn only_what_is_named_by_its_hash_has_a_key() {
        for name in [name("chunks/0a"), name("index") + ".parquet", name("layout") + ".parquet", name("attachments")] {
            assert!(ObjectKey::new("s3", &name, &name).is_some(), "{name}");
        }
        let others =
            ["manifests/18446744073709551614.json".to_owned(), name("sessions"), name("pins"), "chunks/0a/0a".to_owned()];
        for name in others.into_iter().chain([name("chunks").to_uppercase(), "0a".repeat(32)]) {
            assert_eq!(ObjectKey::new("s3", &name, &name), None, "{name}");
        }
    }

    #[test]
    fn stores_objects_and_frames_have_keys_of_their_own() {
        let a = key("one", "t/chunks/a");
        assert_ne!(a, key("two", "t/chunks/a"));
        assert_ne!(a, key("one", "u/chunks/a"));
        assert_ne!(key("ab", "c"), key("a", "bc"));
        let frames: Vec<_> = a.frames(FRAME - 1..2 * FRAME + 5).map(|(key, first, part)| (key.stem(), first, part)).collect();
        let parts: Vec<_> = frames.iter().map(|(_, first, part)| (*first, part.clone())).collect();
        let whole = FRAME as u32;
        assert_eq!(parts, [(0, whole - 1..whole), (FRAME, 0..whole), (2 * FRAME, 0..5)]);
        assert!(frames[0].0 != frames[1].0 && frames[1].0 != frames[2].0);
        assert_eq!(a.frames(7..7).count(), 0);
    }

    #[test]
    fn an_entry_with_any_byte_changed_cut_or_moved_is_none() {
        let (frame, first, part) = key("one", "t/chunks/a").frames(5..25).next().unwrap();
        assert_eq!((first, frame.file(&part)), (0, format!("{}-00005-000019", frame.stem())));
        assert_eq!(parse_file(&frame.file(&part)), Some((frame.stem().as_str(), part.clone())));
        let content = b"twenty bytes of data";
        let header = frame.header(&part, content);
        assert_eq!(header.len(), header_len(&part));
        let read = |frame: FrameKey, part: &Range<u32>, header: &[u8], content: &[u8]| {
            frame.content(part, header, part, content.to_vec().into())
        };
        assert_eq!(read(frame, &part, &header, content).unwrap(), &content[..]);
        for place in 0..header.len() + content.len() {
            let (mut head, mut body) = (header.clone(), content.to_vec());
            match place.checked_sub(header.len()) {
                Some(place) => body[place] ^= 1 << (place % 8),
                None => head[place] ^= 1 << (place % 8),
            }
            assert_eq!(read(frame, &part, &head, &body), None, "byte {place}");
        }
        (0..header.len()).for_each(|length| assert_eq!(read(frame, &part, &header[..length], content), None, "cut at {length}"));
        (0..content.len())
            .for_each(|length| assert_eq!(read(frame, &part, &header, &content[..length]), None, "cut at {length}"));
        assert_eq!(read(frame, &(6..26), &header, content), None);
        let (other, ..) = key("one", "t/chunks/b").frames(5..25).next().unwrap();
        assert_eq!(read(other, &part, &header, content), None);
    }

    #[test]
    fn a_part_of_an_entry_is_read_by_the_pieces_that_cover_it() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..300 {
            let start = random.u32(..FRAME as u32 - 1);
            let part = start..random.u32(start + 1..=FRAME as u32);
            let (frame, ..) = key("one", "t/chunks/a").frames(u64::from(part.start)..u64::from(part.end)).next().unwrap();
            let content: Vec<u8> = (part.clone()).map(|place| (place / 7) as u8).collect();
            let header = frame.header(&part, &content);
            let from = random.u32(part.clone());
            let wanted = from..random.u32(from + 1..=part.end);
            let covered = pieces_of(&part, &wanted);
            assert!(covered.start <= wanted.start && covered.end >= wanted.end && covered.end <= part.end, "{part:?} {wanted:?}");
            assert!(u64::from(covered.end - covered.start) < u64::from(wanted.end - wanted.start) + 2 * u64::from(PIECE));
            let place = |place: u32| (place - part.start) as usize;
            let pieces = &content[place(covered.start)..place(covered.end)];
            let found = frame.content(&part, &header, &wanted, pieces.to_vec().into()).unwrap();
            assert_eq!(found, &content[place(wanted.start)..place(wanted.end)]);
            let mut damaged = pieces.to_vec();
            let at = random.usize(..damaged.len());
            damaged[at] ^= 1 << random.u8(..8);
            assert_eq!(frame.content(&part, &header, &wanted, damaged.into()), None);
        }
    }

    #[test]
    fn names_of_others_are_not_names_of_entries() {
        let stem = "0123456789abcdef0123456789abcdef";
        assert!(parse_file(&format!("{stem}-00000-100000")).is_some());
        for name in ["", "photo.jpg", stem, &format!("{stem}-00000-100001"), &format!("{stem}-00005-000005")] {
            assert_eq!(parse_file(name), None, "{name}");
        }
        assert!(is_shard("0af") && !is_shard("0aF") && !is_shard("0a") && !is_shard("new"));
    }
}
