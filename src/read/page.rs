//! Decoded pages, and errors of reads that they come from.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use bytes::Bytes;

use crate::{
    error::{Error, ErrorKind, Result},
    format::{DecodedPage, PagePlace, fixed_to_array},
};

/// The decoded values of one column in one block.
#[derive(Clone, Debug)]
pub enum Page {
    /// Rows of equal length without nulls: their values, one after another, as Arrow stores them.
    Fixed {
        /// Number of rows, at least 1.
        rows: usize,
        /// The values.
        values: Bytes,
    },
    /// Any other rows.
    Array(Arc<ArrayData>),
}

impl Page {
    /// Converts a decoded page; `width` has the bytes of each row, if all rows have as many and Arrow stores the same bytes.
    pub(super) fn new(decoded: DecodedPage, place: &PagePlace<'_>, width: Option<usize>) -> Result<Self> {
        let rows = place.rows as usize;
        if let Some(width) = width
            && rows > 0
            && decoded.values.len() == rows.saturating_mul(width)
            && decoded.structure.is_all_valid()
        {
            return Ok(Self::Fixed { rows, values: decoded.values });
        }
        Ok(Self::Array(Arc::new(decoded.to_array(place.ty)?.to_data())))
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fixed { rows, .. } => *rows,
            Self::Array(data) => data.len(),
        }
    }

    /// Returns the bytes that the page takes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Fixed { values, .. } => values.len(),
            Self::Array(data) => data.get_array_memory_size(),
        }
    }

    /// Returns all rows as an array of this type, without a copy if the values are aligned.
    pub(super) fn into_array(self, ty: &DataType) -> Result<ArrayRef> {
        match self {
            Self::Fixed { rows, values } => fixed_to_array(ty, Buffer::from(values), rows),
            Self::Array(data) => Ok(make_array(Arc::unwrap_or_clone(data))),
        }
    }
}

/// Returns the error for a store whose objects are no local files.
pub(super) fn not_local() -> Error {
    Error::internal("a store that is not local")
}

/// Makes `Corrupt` of `NotFound`: an object that the layout names is missing, because it was lost or deleted.
pub(super) fn lost(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::corrupt(error.to_string()).with_source(error),
        _ => error,
    }
}
