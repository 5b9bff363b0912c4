//! Decoding of columns while a loader reads: pictures to pixels, for example.

use std::{collections::HashMap, fmt::Debug, sync::Arc};

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray, cast::AsArray, make_array, types::UInt8Type};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, OffsetBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};

use crate::{
    error::{Error, ErrorKind, Result, counted},
    schema::{ColumnType, Primitive},
    table::{Rows, Windows},
    work::{Stop, offload, share, threads},
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

    /// Returns the decoder of one sample, if each sample is decoded in its own way, as random crops are; `None`, the default, if not.
    ///
    /// `random` is a random number of the sample: that of [`sample_random`](super::sample_random). All values of a sample, such as the
    /// frames of a window, are decoded by the same decoder. Its [`Decode::column_type`] is that of this one.
    fn of_sample(&self, random: u64) -> Option<Arc<dyn Decode>> {
        let _ = random;
        None
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

/// Replaces the columns that are decoded. `randoms` has the random number of each sample.
///
/// # Errors
/// - `Corrupt`: a value cannot be decoded. The message names the column.
pub(super) async fn decoded(parts: Vec<Windows>, decoders: &[Decoded], randoms: Vec<u64>) -> Result<Vec<Windows>> {
    if decoders.is_empty() {
        return Ok(parts);
    }
    let decoders = decoders.to_vec();
    let replace = move |part: Windows, stop: &Stop| {
        let lengths = part.starts().windows(2).map(|window| window[1] - window[0]);
        let samples: Vec<usize> = lengths.enumerate().flat_map(|(sample, rows)| std::iter::repeat_n(sample, rows)).collect();
        part.try_map(|rows| replaced(rows, &decoders, &randoms, &samples, stop))
    };
    offload(move |stop| parts.into_iter().map(|part| replace(part, stop)).collect()).await
}

fn replaced(rows: &Rows, decoders: &[Decoded], randoms: &[u64], samples: &[usize], stop: &Stop) -> Result<Rows> {
    let (mut columns, mut types) = (rows.batch().columns().to_vec(), rows.column_types().to_vec());
    let schema = rows.batch().schema();
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    for Decoded { columns: names, decoder } in decoders {
        let of_samples = randoms.iter().map(|random| decoder.of_sample(*random)).collect::<Option<Vec<_>>>().unwrap_or_default();
        let decoders = Decoders { all: &**decoder, of_samples, samples };
        for name in names {
            let Ok(place) = schema.index_of(name) else { continue };
            types[place] = decoder.column_type();
            columns[place] = column(&columns[place], &decoders, stop).map_err(|error| error.at(format!("column `{name}`")))?;
            fields[place] = Arc::new(types[place].arrow_field(name));
        }
    }
    // A loader whose columns all have windows has a part without columns.
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .map_err(|error| Error::internal(format!("decoded columns: {error}")))?;
    Rows::from_parts(batch, types, rows.table_rows().to_vec(), rows.partners().map(<[_]>::to_vec))
}

/// The decoders of the rows of a column.
struct Decoders<'a> {
    all: &'a dyn Decode,
    /// The decoder of each sample; none if `all` decodes all of them.
    of_samples: Vec<Arc<dyn Decode>>,
    /// The sample of each row.
    samples: &'a [usize],
}

impl Decoders<'_> {
    /// Returns the sample of a row; 0 if all samples have one decoder.
    fn sample(&self, row: usize) -> usize {
        if self.of_samples.is_empty() { 0 } else { self.samples.get(row).copied().unwrap_or(0) }
    }

    fn of_row(&self, row: usize) -> &dyn Decode {
        self.of_samples.get(self.sample(row)).map_or(self.all, |decoder| &**decoder)
    }
}

/// Decodes a column of bytes.
fn column(array: &ArrayRef, decoders: &Decoders<'_>, stop: &Stop) -> Result<ArrayRef> {
    let ColumnType::Tensor { element, shape } = decoders.all.column_type() else { return Err(Error::internal("no tensor")) };
    let values = Values::of(array, decoders);
    match shape.iter().copied().collect::<Option<Vec<u32>>>() {
        Some(shape) => of_one_shape(&values, decoders, element, &shape, stop),
        None => of_any_shape(&values, decoders, element, shape.len(), stop),
    }
}

/// The values of a column, each distinct value once: windows that overlap hold a value several times. A value that several samples
/// decode in their own way is distinct in each of them.
struct Values<'a> {
    distinct: Vec<&'a [u8]>,
    /// The row in which each distinct value comes first, in ascending order.
    first_rows: Vec<usize>,
    /// The distinct value of each row; `None` for a null.
    of_rows: Vec<Option<usize>>,
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef, decoders: &Decoders<'_>) -> Self {
        let (mut distinct, mut first_rows, mut places) = (Vec::new(), Vec::new(), HashMap::new());
        let place = |row| {
            let value = value(array, row)?;
            let next = distinct.len();
            let place = *places.entry((decoders.sample(row), *blake3::hash(value).as_bytes())).or_insert(next);
            if place == next {
                distinct.push(value);
                first_rows.push(row);
            }
            Some(place)
        };
        let of_rows = (0..array.len()).map(place).collect();
        Self { distinct, first_rows, of_rows }
    }

    /// Returns which rows are not null; `None` if all are.
    fn valid(&self) -> Option<NullBuffer> {
        let valid = NullBuffer::from_iter(self.of_rows.iter().map(Option::is_some));
        Some(valid).filter(|valid| valid.null_count() > 0)
    }

    /// Returns the number of threads that help this one.
    fn helpers(&self) -> usize {
        threads().saturating_sub(1).min(self.distinct.len().saturating_sub(1))
    }
}

/// An error of a decoder is one of its sample.
fn corrupt(error: Error) -> Error {
    if error.kind() == ErrorKind::Corrupt { error } else { Error::corrupt(error.to_string()) }
}

/// Decodes values to tensors that all have `shape`, each in its place in the result.
fn of_one_shape(
    values: &Values<'_>,
    decoders: &Decoders<'_>,
    element: Primitive,
    shape: &[u32],
    stop: &Stop,
) -> Result<ArrayRef> {
    let rows = values.of_rows.len();
    let len = shape.iter().try_fold(1_usize, |len, extent| len.checked_mul(*extent as usize));
    let total = len.and_then(|len| len.checked_mul(element.width())?.checked_mul(rows.max(1)));
    let Some((len, _)) = len.zip(total.filter(|bytes| isize::try_from(*bytes).is_ok())) else {
        return Err(Error::unsupported(format!("{} of {}", counted(rows, "value"), decoders.all.column_type())));
    };
    let bytes = len * element.width();
    let mut whole = MutableBuffer::from_len_zeroed(rows * bytes);
    if bytes > 0 {
        let mut places = values.first_rows.iter().zip(&values.distinct).peekable();
        let of_row =
            |(row, elements)| places.next_if(|(first, _)| **first == row).map(|(first, value)| (*first, *value, elements));
        let jobs = whole.as_slice_mut().chunks_exact_mut(bytes).enumerate().filter_map(of_row).collect();
        share(jobs, values.helpers(), |(row, value, elements): (usize, &[u8], &mut [u8])| {
            stop.check()?;
            decoders.of_row(row).decode_into(value, elements).map_err(corrupt)
        })?;
        for (row, place) in values.of_rows.iter().enumerate() {
            if let Some(first) = place.map(|place| values.first_rows[place]).filter(|first| *first != row) {
                whole.as_slice_mut().copy_within(first * bytes..(first + 1) * bytes, row * bytes);
            }
        }
    }
    let ty = decoders.all.column_type().arrow();
    let DataType::FixedSizeList(item, _) = &ty else { return Err(Error::internal(format!("tensors as {ty}"))) };
    let items = ArrayData::builder(item.data_type().clone()).len(rows * len).add_buffer(whole.into());
    let items = items.build().map_err(internal)?;
    let data = ArrayData::builder(ty).len(rows).nulls(values.valid()).add_child_data(items).build();
    Ok(make_array(data.map_err(internal)?))
}

/// Decodes values to tensors whose shapes, of `dimensions` extents, may differ.
fn of_any_shape(
    values: &Values<'_>,
    decoders: &Decoders<'_>,
    element: Primitive,
    dimensions: usize,
    stop: &Stop,
) -> Result<ArrayRef> {
    let jobs = values.first_rows.iter().copied().zip(values.distinct.iter().copied()).collect();
    let tensors = share(jobs, values.helpers(), |(row, value): (usize, &[u8])| {
        stop.check()?;
        decoders.of_row(row).decode(value).map_err(corrupt)
    })?;
    let (mut shapes, mut lengths, mut data) = (Vec::<i32>::new(), Vec::new(), MutableBuffer::new(0));
    for place in &values.of_rows {
        match place.and_then(|place| tensors.get(place)) {
            Some((extents, elements)) => {
                let count = extents.iter().map(|extent| *extent as usize).product::<usize>();
                if extents.len() != dimensions || count * element.width() != elements.len() {
                    let found = counted(elements.len(), "byte");
                    return Err(Error::internal(format!("{:?} gave shape {extents:?} and {found}", decoders.all)));
                }
                shapes.extend(extents.iter().map(|extent| i32::try_from(*extent).unwrap_or(i32::MAX)));
                lengths.push(count);
                data.extend_from_slice(elements);
            }
            None => {
                shapes.extend(std::iter::repeat_n(0, dimensions));
                lengths.push(0);
            }
        }
    }
    ragged(&decoders.all.column_type(), element, shapes, lengths, data, values.valid())
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
