//! Reads little-endian numbers and bytes from a slice, never past its end.

use crate::error::{Error, Result, counted};

/// A position in a slice; `what` names the slice in errors.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    what: &'static str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { bytes, position: 0, what }
    }

    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken = rest.get(..len).ok_or_else(|| {
            Error::corrupt(format!("{}: needs {} at {}, found {}", self.what, counted(len, "byte"), self.position, rest.len()))
        })?;
        self.position += len;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads a `u32` length as a `usize`.
    pub(super) fn len32(&mut self) -> Result<usize> {
        usize::try_from(self.u32()?).map_err(|_| Error::unsupported("a 32-bit length exceeds the address space"))
    }

    /// Skips the zero padding up to the next multiple of 8.
    pub(super) fn pad8(&mut self) -> Result<()> {
        let padding = self.take(self.position.next_multiple_of(8) - self.position)?;
        if padding.iter().any(|byte| *byte != 0) {
            return Err(Error::corrupt(format!("{}: padding before {} is not zero", self.what, self.position)));
        }
        Ok(())
    }

    /// Checks that no bytes are left.
    pub(super) fn end(&self) -> Result<()> {
        if self.position == self.bytes.len() {
            return Ok(());
        }
        Err(Error::corrupt(format!("{}: {}, expected {}", self.what, counted(self.bytes.len(), "byte"), self.position)))
    }
}

/// Appends zeros up to the next multiple of 8.
pub(super) fn pad8(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
