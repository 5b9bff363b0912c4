//! Appends rows of many blocks to one growing Arrow array. A block can be freed as soon as its rows are appended, so a read never
//! holds all blocks, or all fetched bytes, in addition to the result.

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::DataType;

use super::page::Page;
use crate::{
    error::{Error, Result, counted},
    format::fixed_to_array,
    store::PooledBuffer,
};

/// The rows appended so far to one column, or to one part of a nested column.
pub(super) struct Gather {
    ty: DataType,
    rows: usize,
    valid: NullBufferBuilder,
    values: Values,
}

/// The values in Arrow's layout, for the types that columns can have. All offsets have 64 bits.
enum Values {
    Bits(BooleanBufferBuilder),
    Fixed { width: usize, bytes: Stream },
    Bytes { ends: Ends, bytes: Stream },
    List { ends: Ends, items: Box<Gather> },
    FixedList { size: usize, items: Box<Gather> },
    Struct(Vec<Gather>),
}

/// The value stream of a column: the bytes of its innermost values.
enum Stream {
    /// Values are copied into this buffer.
    Here(PooledBuffer),
    /// This buffer already holds all values, one after another.
    There(Buffer),
}

impl Stream {
    /// Copies values into an own buffer; does nothing if the buffer already holds all values.
    fn append(&mut self, values: &[u8]) {
        if let Self::Here(bytes) = self {
            bytes.extend_from_slice(values);
        }
    }

    fn append_zeros(&mut self, count: usize) {
        if let Self::Here(bytes) = self {
            let len = bytes.len() + count;
            bytes.resize(len, 0);
        }
    }

    fn reserve(&mut self, more: usize) {
        if let Self::Here(bytes) = self {
            bytes.reserve(more);
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Here(bytes) => bytes.len(),
            Self::There(values) => values.len(),
        }
    }

    fn finish(self) -> Buffer {
        match self {
            Self::Here(bytes) => bytes.into_arrow(),
            Self::There(values) => values,
        }
    }
}

impl Gather {
    /// Creates an empty gatherer with room for `rows` rows. The type must be the Arrow type of a column.
    pub(super) fn new(ty: &DataType, rows: usize) -> Result<Self> {
        Self::with_stream(ty, rows, &|bytes| Stream::Here(PooledBuffer::with_capacity(bytes)))
    }

    /// Creates a gatherer like [`Gather::new`] whose memory does not come from the pool of reused buffers. The memory is no
    /// larger than the rows need if they are appended in one call.
    pub(super) fn apart(ty: &DataType, rows: usize) -> Result<Self> {
        Self::with_stream(ty, rows, &|bytes| Stream::Here(PooledBuffer::from(Vec::with_capacity(bytes))))
    }

    /// Creates a gatherer like [`Gather::new`] for rows whose values `values` already holds. Appending adds only lengths and
    /// validity.
    pub(super) fn around(ty: &DataType, rows: usize, values: &Buffer) -> Result<Self> {
        Self::with_stream(ty, rows, &|_| Stream::There(values.clone()))
    }

    fn with_stream(ty: &DataType, rows: usize, stream: &dyn Fn(usize) -> Stream) -> Result<Self> {
        let values = match ty {
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(rows)),
            DataType::LargeUtf8 | DataType::LargeBinary => Values::Bytes { ends: Ends::new(rows), bytes: stream(0) },
            DataType::LargeList(item) => {
                Values::List { ends: Ends::new(rows), items: Box::new(Self::with_stream(item.data_type(), 0, stream)?) }
            }
            DataType::FixedSizeList(item, size) => {
                let size = usize::try_from(*size).map_err(|_| Error::internal(format!("lists of {}", counted(*size, "item"))))?;
                let items = Self::with_stream(item.data_type(), rows.saturating_mul(size), stream)?;
                Values::FixedList { size, items: Box::new(items) }
            }
            // A tensor of varying shape: field 0 has the elements; the other fields have the shape, which `stream` does not hold.
            DataType::Struct(fields) => Values::Struct(
                fields
                    .iter()
                    .enumerate()
                    .map(|(number, field)| match number {
                        0 => Self::with_stream(field.data_type(), rows, stream),
                        _ => Self::new(field.data_type(), rows),
                    })
                    .collect::<Result<_>>()?,
            ),
            other => {
                let width = other.primitive_width().ok_or_else(|| Error::internal(format!("a column of type {other}")))?;
                Values::Fixed { width, bytes: stream(rows.saturating_mul(width)) }
            }
        };
        Ok(Self { ty: ty.clone(), rows: 0, valid: NullBufferBuilder::new(rows), values })
    }

    /// Appends rows `start..start + rows` of a page of this type.
    pub(super) fn append(&mut self, page: &Page, start: usize, rows: usize) -> Result<()> {
        let (values, page_rows) = match page {
            Page::Array(data) => return self.append_array(data, start, rows),
            Page::Fixed { rows, values } => (values, *rows),
        };
        let width = values.len() / page_rows.max(1);
        let taken = values.get(start.saturating_mul(width)..start.saturating_add(rows).saturating_mul(width));
        self.append_fixed(taken.ok_or_else(|| Error::internal(format!("rows {start}..{} of {page_rows}", start + rows)))?, rows)
    }

    /// Appends the values of rows of equal length without nulls.
    fn append_fixed(&mut self, values: &[u8], rows: usize) -> Result<()> {
        self.valid.append_n_non_nulls(rows);
        self.rows += rows;
        match &mut self.values {
            Values::Fixed { bytes, .. } => bytes.append(values),
            Values::FixedList { size, items } => items.append_fixed(values, rows * *size)?,
            _ => return Err(Error::internal(format!("rows of type {} do not have equal lengths", self.ty))),
        }
        Ok(())
    }

    /// Appends rows `start..start + rows` of an array of this type.
    pub(super) fn append_array(&mut self, array: &ArrayData, start: usize, rows: usize) -> Result<()> {
        let outside =
            || Error::internal(format!("rows {start}..{} of {} of type {}", start + rows, array.len(), array.data_type()));
        // Only debug builds compare the types: the comparison takes longer than copying a small row.
        debug_assert_eq!(*array.data_type(), self.ty);
        if start + rows > array.len() {
            return Err(outside());
        }
        let buffer = |number: usize| array.buffers().get(number).ok_or_else(outside);
        let child = |number: usize| array.child_data().get(number).ok_or_else(outside);
        match array.nulls() {
            Some(nulls) => self.valid.append_buffer(&nulls.slice(start, rows)),
            None => self.valid.append_n_non_nulls(rows),
        }
        self.rows += rows;
        let start = array.offset() + start;
        match &mut self.values {
            Values::Bits(bits) => bits.append_packed_range(start..start + rows, buffer(0)?),
            Values::Fixed { width, bytes } => {
                let stored = buffer(0)?.get(start * *width..(start + rows) * *width).ok_or_else(outside)?;
                bytes.append(stored);
            }
            Values::Bytes { ends, bytes } => {
                let taken = ends.append(buffer(0)?.typed_data(), start, rows).ok_or_else(outside)?;
                bytes.append(buffer(1)?.get(taken).ok_or_else(outside)?);
            }
            Values::List { ends, items } => {
                let taken = ends.append(buffer(0)?.typed_data(), start, rows).ok_or_else(outside)?;
                items.append_array(child(0)?, taken.start, taken.len())?;
            }
            Values::FixedList { size, items } => items.append_array(child(0)?, start * *size, rows * *size)?,
            Values::Struct(fields) => {
                for (number, field) in fields.iter_mut().enumerate() {
                    field.append_array(child(number)?, start, rows)?;
                }
            }
        }
        Ok(())
    }

    /// Appends null rows.
    pub(super) fn append_nulls(&mut self, rows: usize) {
        self.valid.append_n_nulls(rows);
        self.append_blank(rows);
    }

    /// Appends the values below null rows: zeros, or empty values.
    fn append_blank(&mut self, rows: usize) {
        self.rows += rows;
        let blank = |part: &mut Self, rows: usize| {
            part.valid.append_n_non_nulls(rows);
            part.append_blank(rows);
        };
        match &mut self.values {
            Values::Bits(bits) => bits.append_n(rows, false),
            Values::Fixed { width, bytes } => bytes.append_zeros(rows * *width),
            Values::Bytes { ends, .. } | Values::List { ends, .. } => ends.append_empty(rows),
            Values::FixedList { size, items } => blank(items, rows * *size),
            Values::Struct(fields) => fields.iter_mut().for_each(|field| blank(field, rows)),
        }
    }

    /// Reserves room for `rows` more rows, on the assumption that they are about 3% longer than the rows so far.
    pub(super) fn expect(&mut self, rows: usize) {
        let Some(so_far) = std::num::NonZero::new(self.rows) else { return };
        let more = |size_so_far: usize| size_so_far.saturating_mul(rows) / so_far;
        match &mut self.values {
            Values::Bits(_) | Values::Fixed { .. } => {}
            Values::Bytes { bytes, .. } => bytes.reserve(more(bytes.len() + bytes.len() / 32)),
            Values::List { items, .. } => {
                let rows = more(items.rows + items.rows / 32);
                items.reserve(rows);
                items.expect(rows);
            }
            Values::FixedList { size, items } => items.expect(rows.saturating_mul(*size)),
            Values::Struct(fields) => fields.iter_mut().for_each(|field| field.expect(rows)),
        }
    }

    fn reserve(&mut self, rows: usize) {
        match &mut self.values {
            Values::Bits(bits) => bits.reserve(rows),
            Values::Fixed { width, bytes } => bytes.reserve(rows.saturating_mul(*width)),
            Values::Bytes { ends, .. } | Values::List { ends, .. } => ends.0.reserve(rows.saturating_mul(size_of::<i64>())),
            Values::FixedList { size, items } => items.reserve(rows.saturating_mul(*size)),
            Values::Struct(fields) => fields.iter_mut().for_each(|field| field.reserve(rows)),
        }
    }

    /// Returns all rows as one array.
    ///
    /// # Errors
    /// - `Unsupported`: the rows do not fit in one Arrow array.
    pub(super) fn finish(mut self) -> Result<ArrayRef> {
        match self.take_fixed() {
            Some(values) => fixed_to_array(&self.ty, values, self.rows),
            None => self.data().map(make_array),
        }
    }

    /// Takes the values, if all rows have equal lengths and none is null.
    fn take_fixed(&mut self) -> Option<Buffer> {
        // The bits are not allocated as long as no row is null.
        if self.rows == 0 || self.valid.as_slice().is_some() {
            return None;
        }
        match &mut self.values {
            Values::Fixed { bytes, .. } => Some(std::mem::replace(bytes, Stream::There(Buffer::default())).finish()),
            Values::FixedList { items, .. } => items.take_fixed(),
            _ => None,
        }
    }

    /// Returns all rows as the data of one array.
    ///
    /// # Errors
    /// - `Unsupported`: the rows do not fit in one Arrow array.
    pub(super) fn data(mut self) -> Result<ArrayData> {
        let data = ArrayData::builder(self.ty.clone()).len(self.rows).nulls(self.valid.finish()).align_buffers(true);
        let data = match self.values {
            Values::Bits(mut bits) => data.add_buffer(bits.finish().into_inner()),
            Values::Fixed { bytes, .. } => data.add_buffer(bytes.finish()),
            Values::Bytes { ends, bytes } => data.add_buffer(ends.0.into()).add_buffer(bytes.finish()),
            Values::List { ends, items } => data.add_buffer(ends.0.into()).add_child_data(items.data()?),
            Values::FixedList { items, .. } => data.add_child_data(items.data()?),
            Values::Struct(fields) => {
                fields.into_iter().try_fold(data, |data, field| Ok::<_, Error>(data.add_child_data(field.data()?)))?
            }
        };
        data.build().map_err(|error| {
            Error::unsupported(format!("{} of type {} do not fit in one array: {error}", counted(self.rows, "row"), self.ty))
        })
    }
}

/// An Arrow offset buffer: 0, then the end of each value.
struct Ends(MutableBuffer);

impl Ends {
    fn new(rows: usize) -> Self {
        let mut ends = MutableBuffer::new(rows.saturating_add(1).saturating_mul(size_of::<i64>()));
        ends.push(0_i64);
        Self(ends)
    }

    /// Appends the ends of values `start..start + rows` of `offsets`, shifted to follow the last end; returns the range that
    /// these values cover.
    fn append(&mut self, offsets: &[i64], start: usize, rows: usize) -> Option<std::ops::Range<usize>> {
        let offsets = offsets.get(start..=start + rows)?;
        let (first, last) = (*offsets.first()?, *offsets.last()?);
        let shift = self.last() - first;
        self.0.extend(offsets.iter().skip(1).map(|end| end + shift));
        Some(usize::try_from(first).ok()?..usize::try_from(last).ok()?)
    }

    fn append_empty(&mut self, rows: usize) {
        let last = self.last();
        self.0.extend(std::iter::repeat_n(last, rows));
    }

    fn last(&self) -> i64 {
        self.0.typed_data::<i64>().last().copied().unwrap_or(0)
    }
}
