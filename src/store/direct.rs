//! Reads local files past the page cache (`O_DIRECT`): for data much larger than memory, of which each byte is read
//! once in a while. The kernel then neither looks for free pages nor evicts others.
//!
//! The system wants ranges, and addresses in memory, that are multiples of a block. So a read takes the blocks around its range.

use std::{fs::File, io, ops::Range, path::Path};

use bytes::Bytes;

use super::buffers::PooledBuffer;

/// The alignment of ranges and addresses: the largest block that file systems use.
const BLOCK: u64 = 4096;

/// Opens a file for reads past the page cache; `None` if its file system has none.
#[cfg(target_os = "linux")]
pub(super) fn open(path: &Path) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flag = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).ok()?;
    File::options().read(true).custom_flags(flag).open(path).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open(_: &Path) -> Option<File> {
    None
}

/// Returns the bytes of memory that [`read`] needs for a range.
pub(super) fn buffer_bytes(range: &Range<u64>) -> u64 {
    let blocks = blocks_of(range);
    blocks.end - blocks.start + BLOCK
}

fn blocks_of(range: &Range<u64>) -> Range<u64> {
    range.start / BLOCK * BLOCK..range.end.div_ceil(BLOCK).saturating_mul(BLOCK)
}

/// Reads a range of a file that [`open`] has opened, into a buffer of [`buffer_bytes`]. Returns fewer bytes if the file ends before, and
/// where the system reads a part of a block.
///
/// # Errors
/// Those of the system. A file system may open a file so and refuse to read it.
#[cfg(unix)]
pub(super) fn read(file: &File, range: &Range<u64>, mut buffer: PooledBuffer) -> io::Result<Bytes> {
    use std::os::unix::fs::FileExt;
    let too_long = || io::Error::from(io::ErrorKind::OutOfMemory);
    let blocks = blocks_of(range);
    let len = usize::try_from(blocks.end - blocks.start).map_err(|_| too_long())?;
    let block = usize::try_from(BLOCK).map_err(|_| too_long())?;
    let first = buffer.as_ptr().align_offset(block);
    let aligned = buffer.get_mut(first..first.saturating_add(len)).ok_or_else(too_long)?;
    let (mut done, wanted) = (0_usize, usize::try_from(range.end - blocks.start).map_err(|_| too_long())?);
    while done < wanted {
        match file.read_at(aligned.get_mut(done..).unwrap_or_default(), blocks.start + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // What is left at the end of a file is no whole block.
        if !(done as u64).is_multiple_of(BLOCK) {
            break;
        }
    }
    let before = usize::try_from(range.start - blocks.start).map_err(|_| too_long())?;
    let end = done.min(wanted).max(before);
    let found = first + before..first + end;
    // A few bytes do not keep the blocks around them in memory.
    match found.len() < buffer.len() / 2 {
        true => Ok(Bytes::copy_from_slice(buffer.get(found).unwrap_or_default())),
        false => Ok(buffer.into_bytes().slice(found)),
    }
}

#[cfg(not(unix))]
pub(super) fn read(_: &File, _: &Range<u64>, _: PooledBuffer) -> io::Result<Bytes> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn any_range_is_read_whole_and_no_further_than_the_file() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let content: Vec<u8> = (0..70_001_u32).map(|place| (place * 7 / 3) as u8).collect();
        file.write_all(&content).expect("written");
        // A file system without such reads is read as any other: then this test compares that.
        let direct = open(file.path()).unwrap_or_else(|| File::open(file.path()).expect("opened"));
        let read = |range: &Range<u64>| read(&direct, range, PooledBuffer::of_len(buffer_bytes(range) as usize));
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..400 {
            let start = random.u64(..70_001);
            let range = start..start + random.u64(1..=50_000);
            let expected = &content[start as usize..(range.end as usize).min(content.len())];
            assert_eq!(read(&range).expect("read"), expected, "{range:?}");
        }
        assert_eq!(read(&(0..70_001)).expect("read"), content);
        assert!(read(&(80_000..80_001)).expect("read").is_empty());
        for end in [1, 511, 512, 513, 4095, 4096, 4097, 8192] {
            assert_eq!(read(&(0..end)).expect("read"), &content[..end as usize]);
            assert_eq!(read(&(70_001 - end..70_001)).expect("read"), &content[70_001 - end as usize..]);
        }
    }
}
