//! Builds the arrays of columns, value by value: converts each value to the type that the schema declares, and refuses what does
//! not fit.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, StructArray,
    builder::{Int32Builder, LargeBinaryBuilder, LargeListBuilder, LargeStringBuilder},
    make_array,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, MutableBuffer, NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use half::f16;
use tetrys::{ColumnType, Error, Result, schema::Primitive};

use crate::{
    cells::Cell,
    columns::{Array, Column, Stored, shape_fits},
    npy::{self, Descr, Header},
    pictures,
};

/// Maximum elements of an array of texts: a file of few bytes may claim many empty ones.
const MAX_TEXTS: u64 = 1 << 24;

/// Builds the columns of one field.
pub(crate) struct Builder {
    stored: Stored,
    values: Values,
    /// Bytes of the values so far.
    bytes: usize,
}

enum Values {
    Flat { ty: ColumnType, elements: Elements, nulls: NullBufferBuilder },
    Ragged { ty: ColumnType, elements: Elements, lengths: Vec<usize>, extents: Elements, nulls: NullBufferBuilder },
    Text(LargeStringBuilder),
    Bytes(LargeBinaryBuilder),
    Texts { texts: Texts, shape: Option<(usize, Elements, Int32Builder, NullBufferBuilder)> },
}

enum Texts {
    Utf8(LargeListBuilder<LargeStringBuilder>),
    Bytes(LargeListBuilder<LargeBinaryBuilder>),
}

/// Numbers of one type, little-endian as Arrow has them.
struct Elements {
    ty: DataType,
    bytes: MutableBuffer,
    len: usize,
}

impl Elements {
    fn new(ty: DataType) -> Self {
        Self { ty, bytes: MutableBuffer::new(0), len: 0 }
    }

    fn push(&mut self, bytes: &[u8], elements: usize) {
        self.bytes.extend_from_slice(bytes);
        self.len += elements;
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        let bytes = std::mem::replace(&mut self.bytes, MutableBuffer::new(0));
        let len = std::mem::take(&mut self.len);
        let buffer: Buffer = match self.ty {
            DataType::Boolean => {
                let mut bits = BooleanBufferBuilder::new(len);
                bytes.iter().for_each(|byte| bits.append(*byte != 0));
                bits.finish().into_inner()
            }
            _ => bytes.into(),
        };
        of_data(ArrayData::builder(self.ty.clone()).len(len).add_buffer(buffer))
    }
}

fn of_data(data: arrow_data::ArrayDataBuilder) -> Result<ArrayRef> {
    data.build().map(make_array).map_err(|error| Error::internal(format!("arrow: {error}")).with_source(error))
}

impl Builder {
    pub(crate) fn new(column: &Column) -> Self {
        let ty = column.stored.column_type();
        let values = match (&column.stored, &ty) {
            (Stored::Texts { bytes, shape, file }, _) => Values::Texts {
                texts: if *bytes { Texts::Bytes(LargeListBuilder::default()) } else { Texts::Utf8(LargeListBuilder::default()) },
                shape: (*file != Array::List)
                    .then(|| (shape.len(), Elements::new(DataType::Int32), Int32Builder::new(), NullBufferBuilder::new(0))),
            },
            (_, ColumnType::Utf8) => Values::Text(LargeStringBuilder::new()),
            (_, ColumnType::Binary) => Values::Bytes(LargeBinaryBuilder::new()),
            (_, ColumnType::Tensor { element, .. }) if ty.fixed_elements().is_none() => Values::Ragged {
                elements: Elements::new(element.arrow()),
                ty,
                lengths: Vec::new(),
                extents: Elements::new(DataType::Int32),
                nulls: NullBufferBuilder::new(0),
            },
            _ => {
                let element = match &ty {
                    ColumnType::Tensor { element, .. } => element.arrow(),
                    ty => ty.arrow(),
                };
                Values::Flat { ty, elements: Elements::new(element), nulls: NullBufferBuilder::new(0) }
            }
        };
        Self { stored: column.stored.clone(), values, bytes: 0 }
    }

    /// Returns the bytes of the values so far.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends a value.
    ///
    /// # Errors
    /// - `Invalid`: the value does not fit the declared type or shape.
    /// - `Corrupt`, `Unsupported`: the file of an array or picture cannot be decoded.
    pub(crate) fn append(&mut self, cell: &Cell<'_>) -> Result<()> {
        let unfit = |expected: &str| Error::invalid(format!("expected {expected}, found {}", cell.described()));
        if matches!(cell, Cell::Null) {
            self.append_null();
            return Ok(());
        }
        match &self.stored {
            Stored::Number(primitive) => {
                let (bytes, width) = number(*primitive, cell).ok_or_else(|| unfit(primitive.name()))?;
                self.flat(&bytes[..width], 1, &[])
            }
            Stored::Date => match cell {
                Cell::Date(days) => self.flat(&days.to_le_bytes(), 1, &[]),
                _ => Err(unfit("a date")),
            },
            Stored::Time(..) => match cell {
                Cell::Time(ticks) => self.flat(&ticks.to_le_bytes(), 1, &[]),
                _ => Err(unfit("a time")),
            },
            Stored::Text => match cell {
                Cell::Text(text) => self.text(text),
                Cell::Bytes(bytes) => self.text(std::str::from_utf8(bytes).map_err(|_| unfit("UTF-8 text"))?),
                Cell::Int(number) => self.text(&number.to_string()),
                Cell::Decimal(text) => self.text(text),
                _ => Err(unfit("text")),
            },
            Stored::Decimal { .. } => match cell {
                Cell::Decimal(text) => self.text(text),
                _ => Err(unfit("a decimal number")),
            },
            Stored::Bytes => match cell {
                Cell::Bytes(bytes) => self.binary(bytes),
                Cell::Text(text) => self.binary(text.as_bytes()),
                _ => Err(unfit("bytes")),
            },
            Stored::Tensor { element, file: Array::List, .. } => {
                let Cell::List(items) = cell else { return Err(unfit("a list")) };
                let element = *element;
                let mut elements = Vec::with_capacity(items.len() * element.width());
                for row in 0..items.len() {
                    let item = Cell::of(items, row);
                    let (bytes, width) = number(element, &item).ok_or_else(|| {
                        Error::invalid(format!("item {row}: expected {}, found {}", element.name(), item.described()))
                    })?;
                    elements.extend_from_slice(&bytes[..width]);
                }
                self.flat(&elements, items.len(), &[items.len() as u64])
            }
            Stored::Texts { file: Array::List, .. } => {
                let Cell::List(items) = cell else { return Err(unfit("a list")) };
                let items: Vec<Cell<'_>> = (0..items.len()).map(|row| Cell::of(items, row)).collect();
                self.texts(items.into_iter())
            }
            Stored::Tensor { element, shape, file } => {
                let Cell::Bytes(bytes) = cell else { return Err(unfit("the bytes of an array")) };
                let fits = |header: &Header| fits(header, *element, shape);
                let unzipped = (*file == Array::Npz).then(|| npy::unzip(bytes, fits)).transpose()?;
                let (header, elements) = npy::parse(unzipped.as_deref().unwrap_or(bytes))?;
                fits(&header)?;
                let elements = npy::in_c_order(&header, elements);
                self.flat(&elements, usize::try_from(header.elements()).unwrap_or(usize::MAX), &header.shape)
            }
            Stored::Texts { bytes: binary, shape, file } => {
                let Cell::Bytes(bytes) = cell else { return Err(unfit("the bytes of an array")) };
                let fits = |header: &Header| texts_fit(header, *binary, shape);
                let unzipped = (*file == Array::Npz).then(|| npy::unzip(bytes, fits)).transpose()?;
                let (header, elements) = npy::parse(unzipped.as_deref().unwrap_or(bytes))?;
                fits(&header)?;
                let elements = npy::in_c_order(&header, elements);
                self.array_of_texts(&header, &elements)
            }
            Stored::File { element, shape, file } => {
                let Cell::Bytes(bytes) = cell else { return Err(unfit("the bytes of an array")) };
                let fits = |header: &Header| {
                    let found = (header.descr.kind, header.descr.width);
                    if found != *element {
                        let shown = |(kind, width): (u8, usize)| format!("`{}{width}`", char::from(kind));
                        let (expected, found) = (shown(*element), shown(found));
                        return Err(Error::invalid(format!("expected an array of numpy's type {expected}, found {found}")));
                    }
                    shape_fits(&header.shape, shape)
                };
                let unzipped = (*file == Array::Npz).then(|| npy::unzip(bytes, fits)).transpose()?;
                fits(&npy::parse(unzipped.as_deref().unwrap_or(bytes))?.0)?;
                self.binary(bytes)
            }
            Stored::Picture { element, shape, decode } => {
                let Cell::Bytes(bytes) = cell else { return Err(unfit("the bytes of a picture")) };
                if *decode {
                    let (size, pixels) = pictures::decode(bytes, *element, shape)?;
                    return self.flat(&pixels, pixels.len() / element_width(&self.stored), &size);
                }
                pictures::check(bytes, *element, shape)?;
                self.binary(bytes)
            }
        }
    }

    fn append_null(&mut self) {
        match &mut self.values {
            Values::Flat { ty, elements, nulls } => {
                let count = usize::try_from(ty.fixed_elements().unwrap_or(1)).unwrap_or(0);
                let bytes = count * ty.element_width();
                elements.bytes.extend_zeros(bytes);
                elements.len += count;
                self.bytes += bytes;
                nulls.append_null();
            }
            Values::Ragged { ty, lengths, extents, nulls, .. } => {
                lengths.push(0);
                let dimensions = if let ColumnType::Tensor { shape, .. } = ty { shape.len() } else { 0 };
                extents.bytes.extend_zeros(4 * dimensions);
                extents.len += dimensions;
                nulls.append_null();
            }
            Values::Text(texts) => texts.append_null(),
            Values::Bytes(bytes) => bytes.append_null(),
            Values::Texts { texts, shape } => {
                match texts {
                    Texts::Utf8(list) => list.append_null(),
                    Texts::Bytes(list) => list.append_null(),
                }
                if let Some((dimensions, extents, widths, nulls)) = shape {
                    extents.bytes.extend_zeros(4 * *dimensions);
                    extents.len += *dimensions;
                    widths.append_null();
                    nulls.append_null();
                }
            }
        }
        self.bytes += 8;
    }

    fn flat(&mut self, bytes: &[u8], count: usize, shape: &[u64]) -> Result<()> {
        match &mut self.values {
            Values::Flat { elements, nulls, .. } => {
                elements.push(bytes, count);
                nulls.append_non_null();
            }
            Values::Ragged { elements, lengths, extents, nulls, .. } => {
                elements.push(bytes, count);
                lengths.push(count);
                push_extents(extents, shape)?;
                nulls.append_non_null();
            }
            _ => return Err(Error::internal("numbers for a column of texts")),
        }
        self.bytes += bytes.len() + 8;
        Ok(())
    }

    fn text(&mut self, text: &str) -> Result<()> {
        let Values::Text(texts) = &mut self.values else { return Err(Error::internal("a text for a column of numbers")) };
        texts.append_value(text);
        self.bytes += text.len() + 8;
        Ok(())
    }

    fn binary(&mut self, bytes: &[u8]) -> Result<()> {
        let Values::Bytes(values) = &mut self.values else { return Err(Error::internal("bytes for a column of numbers")) };
        values.append_value(bytes);
        self.bytes += bytes.len() + 8;
        Ok(())
    }

    fn texts<'a>(&mut self, items: impl Iterator<Item = Cell<'a>>) -> Result<()> {
        let Values::Texts { texts, .. } = &mut self.values else { return Err(Error::internal("texts for another column")) };
        for item in items {
            match (&mut *texts, &item) {
                (Texts::Utf8(list), Cell::Text(text)) => list.values().append_value(text),
                (Texts::Bytes(list), Cell::Bytes(bytes)) => list.values().append_value(bytes),
                _ => return Err(Error::invalid(format!("expected a list of texts, found an item that is {}", item.described()))),
            }
            self.bytes += match item {
                Cell::Text(text) => 8 + text.len(),
                Cell::Bytes(bytes) => 8 + bytes.len(),
                _ => 8,
            };
        }
        match texts {
            Texts::Utf8(list) => list.append(true),
            Texts::Bytes(list) => list.append(true),
        }
        Ok(())
    }

    fn array_of_texts(&mut self, header: &Header, elements: &[u8]) -> Result<()> {
        let Values::Texts { texts, shape: Some((_, extents, widths, nulls)) } = &mut self.values else {
            return Err(Error::internal("texts for another column"));
        };
        let (width, count) = (header.descr.width, usize::try_from(header.elements()).unwrap_or(0));
        let element = |number: usize| elements.get(number * width..(number + 1) * width).unwrap_or_default();
        for number in 0..count {
            match texts {
                Texts::Bytes(list) => list.values().append_value(npy::without_nuls(element(number))),
                Texts::Utf8(list) => list.values().append_value(npy::text(element(number)).ok_or_else(|| {
                    Error::invalid(format!("element {number}: expected text, found code points that are no characters"))
                })?),
            }
        }
        match texts {
            Texts::Utf8(list) => list.append(true),
            Texts::Bytes(list) => list.append(true),
        }
        let characters = if header.descr.kind == b'U' { width / 4 } else { width };
        push_extents(extents, &header.shape)?;
        widths.append_value(i32::try_from(characters).unwrap_or(i32::MAX));
        nulls.append_non_null();
        self.bytes += elements.len() + 8 * count;
        Ok(())
    }

    /// Returns the arrays of the columns, and starts anew.
    pub(crate) fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.bytes = 0;
        Ok(match &mut self.values {
            Values::Flat { ty, elements, nulls } => {
                let values = elements.finish()?;
                let nulls = nulls.finish();
                let rows = if matches!(ty, ColumnType::Tensor { .. }) { None } else { Some(values.len()) };
                vec![match rows {
                    Some(_) => of_data(values.to_data().into_builder().nulls(nulls))?,
                    None => fixed(ty.arrow(), values, nulls, ty.fixed_elements().unwrap_or(1))?,
                }]
            }
            Values::Ragged { ty, elements, lengths, extents, nulls } => {
                let offsets = OffsetBuffer::<i64>::from_lengths(std::mem::take(lengths));
                let rows = offsets.len() - 1;
                let DataType::Struct(fields) = ty.arrow() else { return Err(Error::internal("a tensor of another type")) };
                let [data, shape] = &fields[..] else { return Err(Error::internal("a tensor of another type")) };
                let values = elements.finish()?;
                let list = ArrayData::builder(data.data_type().clone()).len(rows).add_buffer(offsets.into_inner().into_inner());
                let list = of_data(list.add_child_data(values.to_data()))?;
                let DataType::FixedSizeList(_, dimensions) = shape.data_type() else { return Err(Error::internal("no shape")) };
                let dimensions = u64::from(dimensions.unsigned_abs());
                let shape = fixed(shape.data_type().clone(), extents.finish()?, None, dimensions)?;
                vec![Arc::new(StructArray::new(fields, vec![list, shape], nulls.finish()))]
            }
            Values::Text(texts) => vec![Arc::new(texts.finish())],
            Values::Bytes(bytes) => vec![Arc::new(bytes.finish())],
            Values::Texts { texts, shape } => {
                let list: ArrayRef = match texts {
                    Texts::Utf8(list) => Arc::new(list.finish()),
                    Texts::Bytes(list) => Arc::new(list.finish()),
                };
                let mut arrays = vec![list];
                if let Some((dimensions, extents, widths, nulls)) = shape {
                    let ty = ColumnType::tensor(Primitive::I32, [u32::try_from(*dimensions).ok()]).arrow();
                    arrays.push(fixed(ty, extents.finish()?, nulls.finish(), *dimensions as u64)?);
                    arrays.push(Arc::new(widths.finish()));
                }
                arrays
            }
        })
    }
}

fn element_width(stored: &Stored) -> usize {
    stored.column_type().element_width()
}

fn push_extents(extents: &mut Elements, shape: &[u64]) -> Result<()> {
    for extent in shape {
        let extent =
            i32::try_from(*extent).map_err(|_| Error::unsupported(format!("an extent of {extent}: expected below 2^31")))?;
        extents.push(&extent.to_le_bytes(), 1);
    }
    Ok(())
}

/// Makes a list of fixed size of flat values.
fn fixed(ty: DataType, values: ArrayRef, nulls: Option<NullBuffer>, size: u64) -> Result<ArrayRef> {
    let rows = match (usize::try_from(size).unwrap_or(0), &nulls) {
        (_, Some(nulls)) => nulls.len(),
        (0, None) => 0,
        (size, None) => values.len() / size,
    };
    of_data(ArrayData::builder(ty).len(rows).add_child_data(values.to_data()).nulls(nulls))
}

/// Converts a value to a number as numpy's types do, but refuses what they would wrap around. Returns its bytes, and how many.
fn number(primitive: Primitive, cell: &Cell<'_>) -> Option<([u8; 8], usize)> {
    let mut out = [0; 8];
    let mut put = |bytes: &[u8]| {
        out[..bytes.len()].copy_from_slice(bytes);
        Some((out, bytes.len()))
    };
    let float = || match cell {
        Cell::Float(number) => Some(*number),
        #[expect(clippy::cast_precision_loss, reason = "as numpy does")]
        Cell::Int(number) => Some(*number as f64),
        Cell::Bool(value) => Some(f64::from(*value)),
        Cell::Text(text) => text.trim().parse().ok(),
        Cell::Decimal(text) => text.parse().ok(),
        _ => None,
    };
    let int = || match cell {
        Cell::Int(number) => Some(*number),
        Cell::Bool(value) => Some(i128::from(*value)),
        Cell::Text(text) => text.trim().parse().ok(),
        Cell::Decimal(text) => text.parse().ok(),
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers of at most 2^64")]
        Cell::Float(number) if number.fract() == 0.0 && number.abs() <= 18_446_744_073_709_551_616.0 => Some(*number as i128),
        _ => None,
    };
    macro_rules! whole {
        ($ty:ty) => {
            put(&<$ty>::try_from(int()?).ok()?.to_le_bytes())
        };
    }
    match primitive {
        Primitive::Bool => {
            let value = match cell {
                Cell::Bool(value) => *value,
                Cell::Text(text) if text.eq_ignore_ascii_case("true") => true,
                Cell::Text(text) if text.eq_ignore_ascii_case("false") => false,
                _ => match int()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            };
            put(&[u8::from(value)])
        }
        Primitive::I8 => whole!(i8),
        Primitive::I16 => whole!(i16),
        Primitive::I32 => whole!(i32),
        Primitive::I64 => whole!(i64),
        Primitive::U8 => whole!(u8),
        Primitive::U16 => whole!(u16),
        Primitive::U32 => whole!(u32),
        Primitive::U64 => whole!(u64),
        Primitive::F16 => put(&f16::from_f64(float()?).to_le_bytes()),
        Primitive::Bf16 => None,
        #[expect(clippy::cast_possible_truncation, reason = "as numpy does")]
        Primitive::F32 => put(&(float()? as f32).to_le_bytes()),
        Primitive::F64 => put(&float()?.to_le_bytes()),
    }
}

/// Checks type and shape of an array of numbers.
fn fits(header: &Header, element: Primitive, shape: &[Option<u32>]) -> Result<()> {
    let kind = match element {
        Primitive::Bool => b'b',
        Primitive::I8 | Primitive::I16 | Primitive::I32 | Primitive::I64 => b'i',
        Primitive::U8 | Primitive::U16 | Primitive::U32 | Primitive::U64 => b'u',
        _ => b'f',
    };
    let Descr { kind: found, width, .. } = header.descr;
    if (found, width) != (kind, element.width()) {
        let found = format!("{}{width}", char::from(found));
        return Err(Error::invalid(format!("expected an array of {}, found one of numpy's type `{found}`", element.name())));
    }
    shape_fits(&header.shape, shape)
}

fn texts_fit(header: &Header, bytes: bool, shape: &[Option<u32>]) -> Result<()> {
    let (kind, name) = if bytes { (b'S', "bytes (`S`)") } else { (b'U', "text (`U`)") };
    if header.descr.kind != kind {
        let found = char::from(header.descr.kind);
        return Err(Error::invalid(format!("expected an array of {name}, found one of numpy's kind `{found}`")));
    }
    if header.elements() > MAX_TEXTS {
        return Err(Error::unsupported(format!("an array of {} texts: expected at most {MAX_TEXTS}", header.elements())));
    }
    shape_fits(&header.shape, shape)
}

#[cfg(test)]
mod tests;
