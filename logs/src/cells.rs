//! Values of columns, and the builders of their arrays.

use std::sync::Arc;

use arrow_array::{
    ArrayRef,
    builder::{LargeBinaryBuilder, LargeStringBuilder},
    make_array,
};
use arrow_array::{LargeListArray, StructArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use tetrys::{ColumnType, Error, Result};

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    /// The little-endian bytes of a number, a time or a duration.
    Fixed([u8; 8]),
    Text(String),
    Bytes(Bytes),
    /// An array of numbers, little-endian, in C order.
    Tensor(Vec<u32>, Bytes),
    /// An array of numbers some of which are null: for each number, whether it has a value.
    Masked(Vec<u32>, Bytes, Vec<bool>),
    List(Vec<Cell>),
}

/// The shape and the bytes of an array of numbers, and which of them have a value if not all do.
type Numbers<'a> = (&'a [u32], &'a Bytes, Option<&'a [bool]>);

impl Cell {
    /// Returns the shape, the bytes and the nulls of an array of numbers.
    pub(crate) fn numbers(&self) -> Option<Numbers<'_>> {
        match self {
            Self::Tensor(shape, bytes) => Some((shape, bytes, None)),
            Self::Masked(shape, bytes, valid) => Some((shape, bytes, Some(valid))),
            _ => None,
        }
    }

    /// Returns about how many bytes the value takes in memory.
    pub(crate) fn memory(&self) -> usize {
        let content = match self {
            Self::Null | Self::Fixed(_) => 0,
            Self::Text(text) => text.len(),
            Self::Bytes(bytes) | Self::Tensor(_, bytes) => bytes.len(),
            Self::Masked(_, bytes, valid) => bytes.len() + valid.len(),
            Self::List(items) => items.iter().map(Self::memory).sum(),
        };
        size_of::<Self>() + content
    }

    /// Makes an array of numbers with the nulls of `valid`, if there are any.
    pub(crate) fn masked(shape: Vec<u32>, bytes: impl Into<Bytes>, valid: Vec<bool>) -> Self {
        match valid.iter().all(|valid| *valid) {
            true => Self::Tensor(shape, bytes.into()),
            false => Self::Masked(shape, bytes.into(), valid),
        }
    }
}

/// Puts values of a type one behind the other: the value of a list column. A null stays null; one of an array makes all its numbers
/// null.
pub(crate) fn stack(item: &ColumnType, cells: Vec<Cell>) -> Cell {
    let (element, inner) = match item {
        ColumnType::Scalar(_) => (item.element_width(), Vec::new()),
        ColumnType::Tensor { shape, .. } if item.fixed_elements().is_some() => {
            let elements = usize::try_from(item.fixed_elements().unwrap_or(0)).unwrap_or(0);
            (elements * item.element_width(), shape.iter().map(|extent| extent.unwrap_or(0)).collect())
        }
        _ => return Cell::List(cells),
    };
    let width = item.element_width().max(1);
    let (mut bytes, mut valid) = (Vec::with_capacity(cells.len() * element), Vec::with_capacity(cells.len() * element / width));
    for cell in &cells {
        match cell {
            Cell::Fixed(number) => bytes.extend_from_slice(&number[..element]),
            Cell::Tensor(_, data) => bytes.extend_from_slice(data),
            Cell::Masked(_, data, of) => {
                bytes.extend_from_slice(data);
                valid.extend_from_slice(of);
            }
            _ => {
                bytes.resize(bytes.len() + element, 0);
                valid.resize(bytes.len() / width, false);
            }
        }
        valid.resize(bytes.len() / width, true);
    }
    let mut shape = vec![u32::try_from(cells.len()).unwrap_or(u32::MAX)];
    shape.extend(inner);
    Cell::masked(shape, bytes, valid)
}

/// Returns the type of any number of values of a type, or of a fixed number.
pub(crate) fn stacked(item: &ColumnType, length: Option<usize>) -> ColumnType {
    let extent = length.and_then(|length| u32::try_from(length).ok());
    match item {
        ColumnType::Scalar(element) => ColumnType::tensor(*element, [extent]),
        ColumnType::Tensor { element, shape } if item.fixed_elements().is_some() => {
            ColumnType::tensor(*element, [vec![extent], shape.clone()].concat())
        }
        _ => ColumnType::list(item.clone()),
    }
}

/// Returns the type whose values a column with this type has, any number in each row: what [`stacked`] was made from.
pub(crate) fn unstacked(ty: &ColumnType) -> Option<ColumnType> {
    match ty {
        ColumnType::List(item) => Some(ColumnType::clone(item)),
        ColumnType::Tensor { element, shape } => match shape.split_first()? {
            (None, []) => Some(ColumnType::Scalar(*element)),
            (None, inner) => Some(ColumnType::Tensor { element: *element, shape: inner.to_vec() }),
            _ => None,
        },
        _ => None,
    }
}

/// Builds the array of a column.
pub(crate) struct Builder {
    ty: ColumnType,
    kind: Kind,
}

enum Kind {
    /// Numbers, or tensors of a fixed shape.
    Fixed {
        data: MutableBuffer,
        /// Nulls among the numbers of tensors.
        inner: NullBufferBuilder,
        nulls: NullBufferBuilder,
    },
    Ragged {
        data: MutableBuffer,
        inner: NullBufferBuilder,
        lengths: Vec<usize>,
        extents: MutableBuffer,
        nulls: NullBufferBuilder,
    },
    Text(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    List {
        item: Box<Builder>,
        lengths: Vec<usize>,
        nulls: NullBufferBuilder,
    },
}

impl Builder {
    pub(crate) fn new(ty: &ColumnType) -> Self {
        let (data, inner, nulls) = (MutableBuffer::new(0), NullBufferBuilder::new(0), NullBufferBuilder::new(0));
        let kind = match ty {
            ColumnType::Utf8 | ColumnType::Categorical => Kind::Text(LargeStringBuilder::new()),
            ColumnType::Binary => Kind::Bytes(LargeBinaryBuilder::new()),
            ColumnType::List(item) => Kind::List { item: Box::new(Self::new(item)), lengths: Vec::new(), nulls },
            ty if ty.fixed_elements().is_some() => Kind::Fixed { data, inner, nulls },
            _ => Kind::Ragged { data, inner, lengths: Vec::new(), extents: MutableBuffer::new(0), nulls },
        };
        Self { ty: ty.clone(), kind }
    }

    /// Appends a value. Returns the bytes that it takes in the array, roughly.
    ///
    /// # Errors
    /// - `Invalid`: the value has another type or shape.
    pub(crate) fn append(&mut self, cell: &Cell) -> Result<usize> {
        let width = self.ty.element_width();
        let mut added = 8 + match cell {
            Cell::Null | Cell::Fixed(_) | Cell::List(_) => 0,
            Cell::Text(text) => text.len(),
            Cell::Bytes(bytes) | Cell::Tensor(_, bytes) | Cell::Masked(_, bytes, _) => bytes.len(),
        };
        let unfit = |ty: &ColumnType| {
            let found = match cell {
                Cell::Null => "no value".to_owned(),
                Cell::Fixed(_) => "a number".to_owned(),
                Cell::Text(_) => "text".to_owned(),
                Cell::Bytes(bytes) => format!("{} bytes", bytes.len()),
                Cell::Tensor(shape, _) | Cell::Masked(shape, ..) => format!("an array of shape {shape:?}"),
                Cell::List(items) => format!("a list of {}", items.len()),
            };
            Error::invalid(format!("expected {ty}, found {found}"))
        };
        match (&mut self.kind, cell) {
            (Kind::Fixed { data, inner, nulls }, Cell::Null) => {
                let elements = usize::try_from(self.ty.fixed_elements().unwrap_or(0)).unwrap_or(0);
                // A null takes as much as a value.
                data.extend_zeros(elements * width);
                inner.append_n_non_nulls(elements);
                added += elements * width;
                nulls.append_null();
            }
            (Kind::Fixed { data, nulls, .. }, Cell::Fixed(number)) if !matches!(self.ty, ColumnType::Tensor { .. }) => {
                data.extend_from_slice(&number[..width]);
                nulls.append_non_null();
            }
            (Kind::Fixed { data, inner, nulls }, Cell::Tensor(shape, bytes) | Cell::Masked(shape, bytes, _))
                if fits(&self.ty, shape, bytes) =>
            {
                data.extend_from_slice(bytes);
                append(inner, cell, bytes.len() / width);
                nulls.append_non_null();
            }
            (Kind::Ragged { lengths, extents, nulls, .. }, Cell::Null) => {
                lengths.push(0);
                if let ColumnType::Tensor { shape, .. } = &self.ty {
                    extents.extend_zeros(4 * shape.len());
                }
                nulls.append_null();
            }
            (
                Kind::Ragged { data, inner, lengths, extents, nulls },
                Cell::Tensor(shape, bytes) | Cell::Masked(shape, bytes, _),
            ) if fits(&self.ty, shape, bytes) => {
                data.extend_from_slice(bytes);
                append(inner, cell, bytes.len() / width);
                lengths.push(bytes.len() / width);
                for extent in shape {
                    let extent = i32::try_from(*extent).map_err(|_| Error::unsupported(format!("an extent of {extent}")))?;
                    extents.extend_from_slice(&extent.to_le_bytes());
                }
                nulls.append_non_null();
            }
            (Kind::Text(texts), Cell::Null) => texts.append_null(),
            (Kind::Text(texts), Cell::Text(text)) => texts.append_value(text),
            (Kind::Bytes(values), Cell::Null) => values.append_null(),
            (Kind::Bytes(values), Cell::Bytes(bytes)) => values.append_value(bytes),
            (Kind::List { lengths, nulls, .. }, Cell::Null) => {
                lengths.push(0);
                nulls.append_null();
            }
            (Kind::List { item, lengths, nulls }, Cell::List(items)) => {
                for cell in items {
                    added += item.append(cell)?;
                }
                lengths.push(items.len());
                nulls.append_non_null();
            }
            _ => return Err(unfit(&self.ty)),
        }
        Ok(added)
    }

    /// Returns the array, and starts anew.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef> {
        let element = match &self.ty {
            ColumnType::Tensor { element, .. } => element.arrow(),
            ty => ty.arrow(),
        };
        let width = self.ty.element_width();
        Ok(match &mut self.kind {
            Kind::Fixed { data, inner, nulls } => {
                let values = numbers(element, width, data, inner.finish())?;
                let nulls = nulls.finish();
                match &self.ty {
                    ColumnType::Tensor { .. } => fixed(self.ty.arrow(), &values, nulls, self.ty.fixed_elements().unwrap_or(0))?,
                    _ => of_data(values.to_data().into_builder().nulls(nulls))?,
                }
            }
            Kind::Ragged { data, inner, lengths, extents, nulls } => {
                let offsets = OffsetBuffer::<i64>::from_lengths(std::mem::take(lengths));
                let DataType::Struct(fields) = self.ty.arrow() else { return Err(Error::internal("a tensor of another type")) };
                let [data_field, shape_field] = &fields[..] else { return Err(Error::internal("a tensor of another type")) };
                let values = numbers(element, width, data, inner.finish())?;
                let item = item_of(data_field.data_type())?;
                let list: ArrayRef = Arc::new(list(item, offsets, values, None)?);
                let rank = if let ColumnType::Tensor { shape, .. } = &self.ty { shape.len() as u64 } else { 0 };
                let extents = numbers(DataType::Int32, 4, extents, None)?;
                let shape = fixed(shape_field.data_type().clone(), &extents, None, rank)?;
                Arc::new(StructArray::new(fields, vec![list, shape], nulls.finish()))
            }
            Kind::Text(texts) => Arc::new(texts.finish()),
            Kind::Bytes(values) => Arc::new(values.finish()),
            Kind::List { item, lengths, nulls } => {
                let offsets = OffsetBuffer::<i64>::from_lengths(std::mem::take(lengths));
                Arc::new(list(item_of(&self.ty.arrow())?, offsets, item.finish()?, nulls.finish())?)
            }
        })
    }
}

fn fits(ty: &ColumnType, found: &[u32], bytes: &[u8]) -> bool {
    let ColumnType::Tensor { shape, .. } = ty else { return false };
    let elements = found.iter().try_fold(1_usize, |product, extent| product.checked_mul(*extent as usize));
    found.len() == shape.len()
        && found.iter().zip(shape).all(|(found, extent)| extent.is_none_or(|extent| extent == *found))
        && elements.and_then(|elements| elements.checked_mul(ty.element_width())) == Some(bytes.len())
}

fn item_of(list: &DataType) -> Result<Arc<Field>> {
    match list {
        DataType::LargeList(item) => Ok(Arc::clone(item)),
        _ => Err(Error::internal("a list of another type")),
    }
}

fn list(item: Arc<Field>, offsets: OffsetBuffer<i64>, values: ArrayRef, nulls: Option<NullBuffer>) -> Result<LargeListArray> {
    LargeListArray::try_new(item, offsets, values, nulls).map_err(|error| Error::internal(format!("arrow: {error}")))
}

/// Appends which numbers of an array have a value.
fn append(nulls: &mut NullBufferBuilder, cell: &Cell, numbers: usize) {
    match cell {
        Cell::Masked(.., valid) => valid.iter().for_each(|valid| nulls.append(*valid)),
        _ => nulls.append_n_non_nulls(numbers),
    }
}

fn numbers(ty: DataType, width: usize, data: &mut MutableBuffer, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let bytes = std::mem::replace(data, MutableBuffer::new(0));
    let len = bytes.len() / width;
    let buffer: Buffer = match ty {
        DataType::Boolean => {
            let mut bits = BooleanBufferBuilder::new(len);
            bytes.iter().for_each(|byte| bits.append(*byte != 0));
            bits.finish().into_inner()
        }
        _ => bytes.into(),
    };
    of_data(ArrayData::builder(ty).len(len).add_buffer(buffer).nulls(nulls))
}

fn fixed(ty: DataType, values: &ArrayRef, nulls: Option<NullBuffer>, size: u64) -> Result<ArrayRef> {
    let rows = match (usize::try_from(size).unwrap_or(0), &nulls) {
        (_, Some(nulls)) => nulls.len(),
        (0, None) => return Err(Error::unsupported("an array without elements in every row")),
        (size, None) => values.len() / size,
    };
    of_data(ArrayData::builder(ty).len(rows).add_child_data(values.to_data()).nulls(nulls))
}

fn of_data(data: arrow_data::ArrayDataBuilder) -> Result<ArrayRef> {
    data.build().map(make_array).map_err(|error| Error::internal(format!("arrow: {error}")).with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tetrys::schema::Primitive;

    #[test]
    fn a_null_of_a_fixed_array_takes_its_memory() {
        let of = |ty: &ColumnType, cell: &Cell| Builder::new(ty).append(cell).unwrap();
        let tensor = ColumnType::tensor(Primitive::F64, [Some(1000)]);
        assert_eq!(of(&tensor, &Cell::Null), of(&tensor, &Cell::Tensor(vec![1000], vec![0; 8000].into())));
        assert_eq!(of(&ColumnType::tensor(Primitive::F64, [None]), &Cell::Null), 8);
        let list = ColumnType::list(ColumnType::Utf8);
        assert_eq!(of(&list, &Cell::List(vec![Cell::Text("abc".to_owned()); 2])), 8 + 2 * 11);
    }
}
