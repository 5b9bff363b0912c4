//! The bytes that a frame is read from: the file of the user, or a copy in the temporary folder. A copy has no name, so the system
//! deletes it when it is closed, also if the process is killed. Several readers read the bytes at the same time.

use std::{
    fs::{File, Metadata},
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::PathBuf,
    sync::Arc,
    time::SystemTime,
};

use bytes::Bytes;
use parquet::{
    errors::ParquetError,
    file::reader::{ChunkReader, Length},
};

use crate::error::{Error, ErrorKind, Result, counted};

/// The bytes that a frame is read from.
#[derive(Clone, Debug)]
pub(super) enum Data {
    /// A file, which is opened for each reader.
    File(PathBuf),
    /// An unnamed copy.
    Copy(Arc<File>),
}

/// Size of a file, and when it was written last.
pub(super) type Stamp = (u64, Option<SystemTime>);

impl Data {
    /// Creates an unnamed file in the temporary folder.
    pub(super) fn temporary() -> Result<File> {
        tempfile::tempfile().map_err(|error| Error::from(error).at("a temporary file"))
    }

    /// Returns a reader at the start.
    pub(super) fn open(&self) -> Result<DataReader> {
        let file = match self {
            Self::File(path) => Arc::new(File::open(path)?),
            Self::Copy(file) => Arc::clone(file),
        };
        Ok(DataReader { file, place: 0 })
    }

    /// Returns the size, and when it was written last.
    pub(super) fn stamp(&self) -> Result<Stamp> {
        let metadata = match self {
            Self::File(path) => std::fs::metadata(path)?,
            Self::Copy(file) => file.metadata()?,
        };
        Ok((metadata.len(), metadata.modified().ok()))
    }

    /// Checks that the file is still the one that was opened.
    pub(super) fn check_unchanged(&self, opened: &Stamp) -> Result<()> {
        match self.stamp() {
            Ok(found) if found == *opened => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Err(Error::conflict("the file changed while it was read; read it again when nothing writes to it")),
        }
    }
}

/// A reader with a place of its own in the file.
#[derive(Clone)]
pub(super) struct DataReader {
    file: Arc<File>,
    place: u64,
}

impl Read for DataReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.place)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.place)?;
        self.place += read as u64;
        Ok(read)
    }
}

impl Seek for DataReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.place.checked_add_signed(by),
        };
        self.place = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.place)
    }
}

impl Length for DataReader {
    fn len(&self) -> u64 {
        self.file.metadata().as_ref().map_or(0, Metadata::len)
    }
}

impl ChunkReader for DataReader {
    type T = BufReader<Self>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(Self { file: Arc::clone(&self.file), place: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::with_capacity(length.min(1 << 20));
        let read = self.get_read(start)?.into_inner().take(length as u64).read_to_end(&mut bytes)?;
        match read == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("expected {} at {start}, found {read}", counted(length, "byte")))),
        }
    }
}
