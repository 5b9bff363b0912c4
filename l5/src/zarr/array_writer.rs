//! Writes one zarr v2 array record by record: its `.zarray` as given, and chunks of full length. The last chunk is padded with
//! the fill value, as zarr does. Memory holds one chunk.

use std::{fs, path::PathBuf};

use super::{
    array::{ArrayMeta, Compressor},
    blosc,
    staging::Staging,
};
use tetrys::error::{Error, Result};

/// An array that is being written.
pub(super) struct ArrayWriter {
    name: String,
    folder: PathBuf,
    meta: ArrayMeta,
    buffer: Vec<u8>,
    chunk: u64,
    records: u64,
}

impl ArrayWriter {
    /// Starts the array `name` of a group.
    pub(super) fn create(group: &Staging, name: &str, meta: ArrayMeta) -> Result<Self> {
        group.write(&format!("{name}/.zarray"), meta.text.as_bytes())?;
        Ok(Self { name: name.to_owned(), folder: group.folder().join(name), meta, buffer: Vec::new(), chunk: 0, records: 0 })
    }

    /// Returns the metadata of the array.
    pub(super) fn meta(&self) -> &ArrayMeta {
        &self.meta
    }

    /// Returns the number of records so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Appends whole records.
    pub(super) fn push(&mut self, mut records: &[u8]) -> Result<()> {
        let chunk_bytes = self.meta.chunk_bytes();
        self.records += (records.len() / self.meta.record_len()) as u64;
        while !records.is_empty() {
            let (piece, rest) = records.split_at(records.len().min(chunk_bytes - self.buffer.len()));
            self.buffer.extend_from_slice(piece);
            records = rest;
            if self.buffer.len() == chunk_bytes {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    /// Writes the last chunk of an array whose length was unknown at first, and stores the final `meta`.
    pub(super) fn finish_as(mut self, meta: ArrayMeta) -> Result<()> {
        let path = self.folder.join(".zarray");
        fs::write(&path, &meta.text).map_err(|error| Error::from(error).at(path.display()))?;
        self.meta = meta;
        self.finish()
    }

    /// Writes the last chunk.
    ///
    /// # Errors
    /// - `Invalid`: the number of records differs from the array's shape.
    pub(super) fn finish(mut self) -> Result<()> {
        if self.records != self.meta.len {
            let (expected, found) = (self.meta.len, self.records);
            return Err(Error::invalid(format!("array {}: expected {expected} records, found {found}", self.name)));
        }
        if !self.buffer.is_empty() {
            while self.buffer.len() < self.meta.chunk_bytes() {
                self.buffer.extend_from_slice(&self.meta.fill);
            }
            self.write_chunk()?;
        }
        Ok(())
    }

    fn write_chunk(&mut self) -> Result<()> {
        let path = self.folder.join(self.meta.chunk_key(self.chunk));
        let typesize = self.meta.dtype.record_len();
        let encoded = match self.meta.compressor {
            None => None,
            Some(Compressor { codec, shuffle }) => Some(blosc::encode(&self.buffer, typesize, codec, shuffle)?),
        };
        let parent = if self.meta.separator == '/' { path.parent().map_or(Ok(()), fs::create_dir_all) } else { Ok(()) };
        parent
            .and_then(|()| fs::write(&path, encoded.as_ref().unwrap_or(&self.buffer)))
            .map_err(|error| Error::from(error).at(path.display()))?;
        self.buffer.clear();
        self.chunk += 1;
        Ok(())
    }
}
