//! Decoding of columns while a loader reads: pictures to pixels, for example.

use std::{collections::HashMap, fmt::Debug, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, cast::AsArray, make_array, types::UInt8Type};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use crate::{
    error::{Error, ErrorKind, Result, counted},
    offload::{Stop, offload},
    schema::{ColumnType, Primitive},
    table::{Rows, Windows},
    threads::{share, threads},
};

/// Decodes the values of a column of bytes to tensors, on the threads of the library, while a loader reads.
///
/// ```
/// use tetrys::{ColumnType, Error, Result, loader::Decode, schema::Primitive};
///
/// /// Bytes as numbers between 0 and 1.
/// #[derive(Debug)]
/// struct Scaled;
///
/// impl Decode for Scaled {
///     fn column_type(&self) -> ColumnType {
///         ColumnType::tensor(Primitive::F32, [Some(4)])
///     }
///
///     fn decode_into(&self, value: &[u8], elements: &mut [u8]) -> Result<()> {
///         let value: [u8; 4] = value.try_into().map_err(|_| Error::corrupt(format!("{value:?}, expected 4 bytes")))?;
///         let floats = value.iter().flat_map(|byte| (f32::from(*byte) / 255.0).to_ne_bytes());
///         elements.iter_mut().zip(floats).for_each(|(element, byte)| *element = byte);
///         Ok(())
///     }
/// }
/// ```
pub trait Decode: Debug + Send + Sync {
    /// Returns the type of the decoded values: a tensor of numbers, of at least one dimension.
    fn column_type(&self) -> ColumnType;

    /// Checks the settings of the decoder. A loader calls it once, before the first batch.
    ///
    /// # Errors
    /// - `Invalid`: a setting is impossible.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// Decodes a value to the elements of a tensor in row-major order, with the bytes in the order of this machine. `elements` is as
    /// long as a value of [`Decode::column_type`], aligned for its elements, and 0. It is called if that type has a fixed shape.
    ///
    /// # Errors
    /// - The value cannot be decoded. The loader takes an error of any kind as `Corrupt`: as one of this sample.
    fn decode_into(&self, value: &[u8], elements: &mut [u8]) -> Result<()>;

    /// Decodes a value to the shape and the elements of a tensor, as [`Decode::decode_into`] does. It is called if the type has a
    /// dimension that differs from row to row.
    ///
    /// # Errors
    /// As [`Decode::decode_into`].
    fn decode(&self, value: &[u8]) -> Result<(Vec<u32>, Vec<u8>)> {
        let _ = value;
        Err(Error::internal(format!("{self:?} decodes values of one shape")))
    }
}

/// A decoder and the columns that it decodes, by their names.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub(super) columns: Vec<String>,
    pub(super) decoder: Arc<dyn Decode>,
}

/// Checks that a column holds bytes, and that a decoder makes tensors.
///
/// # Errors
/// - `Invalid`: the column has another type, or the decoder makes something else.
pub(super) fn check(column: &str, ty: &ColumnType, decoder: &dyn Decode) -> Result<()> {
    let bytes = ColumnType::tensor(Primitive::U8, [None]);
    if *ty != ColumnType::Binary && *ty != bytes {
        return Err(Error::invalid(format!("column `{column}` is {ty}: only columns of binary or {bytes} can be decoded")));
    }
    decoder.check()?;
    match decoder.column_type() {
        ColumnType::Tensor { element, shape } if element != Primitive::Bool && !shape.is_empty() => Ok(()),
        other => Err(Error::invalid(format!("column `{column}`: a decoder makes tensors of numbers, found {other}"))),
    }
}

/// Replaces the columns that are decoded.
///
/// # Errors
/// - `Corrupt`: a value cannot be decoded. The message names the column.
pub(super) async fn decoded(parts: Vec<Windows>, decoders: &[Decoded]) -> Result<Vec<Windows>> {
    if decoders.is_empty() {
        return Ok(parts);
    }
    let decoders = decoders.to_vec();
    offload(move |stop| parts.into_iter().map(|part| part.try_map(|rows| replaced(rows, &decoders, stop))).collect()).await
}

fn replaced(rows: &Rows, decoders: &[Decoded], stop: &Stop) -> Result<Rows> {
    let (mut columns, mut types) = (rows.batch().columns().to_vec(), rows.column_types().to_vec());
    let schema = rows.batch().schema();
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for Decoded { columns: names, decoder } in decoders {
        for name in names {
            let Ok(place) = schema.index_of(name) else { continue };
            types[place] = decoder.column_type();
            columns[place] = column(&columns[place], &**decoder, stop).map_err(|error| error.at(format!("column `{name}`")))?;
            fields[place] = Arc::new(types[place].arrow_field(name));
        }
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
        .map_err(|error| Error::internal(format!("decoded columns: {error}")))?;
    Rows::from_parts(batch, types, rows.table_rows().to_vec(), rows.partners().map(<[_]>::to_vec))
}

fn column(array: &ArrayRef, decoder: &dyn Decode, stop: &Stop) -> Result<ArrayRef> {
    let ColumnType::Tensor { element, shape } = decoder.column_type() else { return Err(Error::internal("no tensor")) };
    let values: Vec<Option<&[u8]>> = (0..array.len()).map(|row| value(array, row)).collect();
    // Windows that overlap have values several times: each is decoded once.
    let mut rows_of: HashMap<[u8; 32], usize> = HashMap::new();
    let mut firsts: Vec<usize> = Vec::new();
    let places: Vec<Option<usize>> = values
        .iter()
        .enumerate()
        .map(|(row, value)| {
            value.map(|value| {
                *rows_of.entry(*blake3::hash(value).as_bytes()).or_insert_with(|| {
                    firsts.push(row);
                    firsts.len() - 1
                })
            })
        })
        .collect();
    let valid = NullBuffer::from_iter(values.iter().map(Option::is_some));
    let valid = Some(valid).filter(|valid| valid.null_count() > 0);
    let others = threads().saturating_sub(1).min(firsts.len().saturating_sub(1));
    let value_of = |place: usize| firsts.get(place).and_then(|row| values.get(*row).copied().flatten()).unwrap_or_default();
    let corrupt = |error: Error| if error.kind() == ErrorKind::Corrupt { error } else { Error::corrupt(error.to_string()) };
    let fixed: Option<Vec<u32>> = shape.iter().copied().collect();
    if let Some(fixed) = fixed {
        let len = fixed.iter().try_fold(1_usize, |len, extent| len.checked_mul(*extent as usize));
        let whole = len.and_then(|len| len.checked_mul(element.width())?.checked_mul(array.len().max(1)));
        let Some((len, _)) = len.zip(whole.filter(|bytes| isize::try_from(*bytes).is_ok())) else {
            return Err(Error::unsupported(format!("{} of {}", counted(array.len(), "value"), decoder.column_type())));
        };
        let bytes = len * element.width();
        let mut whole = MutableBuffer::from_len_zeroed(array.len() * bytes);
        if bytes > 0 {
            let (mut jobs, mut done) = (Vec::with_capacity(firsts.len()), 0);
            for (row, elements) in whole.as_slice_mut().chunks_exact_mut(bytes).enumerate() {
                if firsts.get(done) == Some(&row) {
                    jobs.push((done, elements));
                    done += 1;
                }
            }
            share(jobs, others, |(place, elements)| {
                stop.check()?;
                decoder.decode_into(value_of(place), elements).map_err(corrupt)
            })?;
            for (row, place) in places.iter().enumerate() {
                if let Some(first) = place.map(|place| firsts[place]).filter(|first| *first != row) {
                    whole.as_slice_mut().copy_within(first * bytes..(first + 1) * bytes, row * bytes);
                }
            }
        }
        let ty = decoder.column_type().arrow();
        let DataType::FixedSizeList(item, _) = &ty else { return Err(Error::internal(format!("tensors as {ty}"))) };
        let items = ArrayData::builder(item.data_type().clone()).len(array.len() * len).add_buffer(whole.into());
        let items = items.build().map_err(internal)?;
        let data = ArrayData::builder(ty).len(array.len()).nulls(valid).add_child_data(items).build();
        return Ok(make_array(data.map_err(internal)?));
    }
    let all: Vec<usize> = (0..firsts.len()).collect();
    let tensors = share(all, others, |place| {
        stop.check()?;
        decoder.decode(value_of(place)).map_err(corrupt)
    })?;
    let (mut shapes, mut lengths, mut data) = (Vec::<i32>::new(), Vec::new(), MutableBuffer::new(0));
    for place in places {
        match place.and_then(|place| tensors.get(place)) {
            Some((extents, elements)) => {
                let count = extents.iter().map(|extent| *extent as usize).product::<usize>();
                if extents.len() != shape.len() || count * element.width() != elements.len() {
                    let found = counted(elements.len(), "byte");
                    return Err(Error::internal(format!("{decoder:?} gave shape {extents:?} and {found}")));
                }
                shapes.extend(extents.iter().map(|extent| i32::try_from(*extent).unwrap_or(i32::MAX)));
                lengths.push(count);
                data.extend_from_slice(elements);
            }
            None => {
                shapes.extend(std::iter::repeat_n(0, shape.len()));
                lengths.push(0);
            }
        }
    }
    ragged(&decoder.column_type(), element, shapes, lengths, data, valid)
}

/// Makes tensors of different shapes.
fn ragged(
    ty: &ColumnType,
    element: Primitive,
    shapes: Vec<i32>,
    lengths: Vec<usize>,
    data: MutableBuffer,
    valid: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let DataType::Struct(fields) = ty.arrow() else { return Err(Error::internal(format!("tensors as {ty}"))) };
    let rows = lengths.len();
    let offsets = OffsetBuffer::<i64>::from_lengths(lengths.iter().copied());
    let child = |name: &str| fields.iter().find(|field| field.name() == name).map(|field| field.data_type().clone());
    let (Some(lists), Some(extents)) = (child("data"), child("shape")) else { return Err(Error::internal("no data or shape")) };
    let count = data.len() / element.width().max(1);
    let items = ArrayData::builder(element.arrow()).len(count).add_buffer(data.into()).build().map_err(internal)?;
    let lists = ArrayData::builder(lists).len(rows).add_buffer(offsets.into_inner().into_inner()).add_child_data(items).build();
    let lists = lists.map_err(internal)?;
    let numbers = ArrayData::builder(DataType::Int32).len(shapes.len()).add_buffer(Buffer::from_vec(shapes)).build();
    let extents = ArrayData::builder(extents).len(rows).add_child_data(numbers.map_err(internal)?).build();
    let extents = extents.map_err(internal)?;
    let children = fields.iter().map(|field| if field.name() == "data" { lists.clone() } else { extents.clone() });
    let children = children.map(make_array).collect();
    Ok(Arc::new(StructArray::try_new(fields, children, valid).map_err(|error| Error::internal(error.to_string()))?))
}

/// Returns the bytes in a row; `None` for a null.
fn value(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    if array.is_null(row) {
        return None;
    }
    if let Some(bytes) = array.as_binary_opt::<i64>() {
        return Some(bytes.value(row));
    }
    let data = array.as_struct_opt()?.column_by_name("data")?.as_list_opt::<i64>()?;
    let (start, end) = (*data.value_offsets().get(row)?, *data.value_offsets().get(row + 1)?);
    let values = data.values().as_primitive_opt::<UInt8Type>()?.values();
    values.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

fn internal(error: arrow_schema::ArrowError) -> Error {
    Error::internal(format!("decoded columns: {error}"))
}
